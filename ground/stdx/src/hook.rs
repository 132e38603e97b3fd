//! A function of this thread that is called before every operation on a shared atomic.
//!
//! 1. Without the feature `one-runner`, and under loom, there is none: [`touch`] is nothing.
//! 2. With it a thread without a hook pays one load of a thread-local and a branch.
//! 3. While a hook runs, its own thread has none, so a hook may use atomics.

#[cfg(all(feature = "one-runner", not(loom)))]
mod set {
    use std::cell::Cell;

    thread_local! {
        static HOOK: Cell<Option<fn()>> = const { Cell::new(None) };
    }

    /// Makes `hook` this thread's hook; returns the one before.
    pub fn replace(hook: Option<fn()>) -> Option<fn()> {
        HOOK.replace(hook)
    }

    /// Calls this thread's hook, if there is one.
    #[inline(always)]
    pub fn touch() {
        if HOOK.get().is_some() {
            call();
        }
    }

    /// Puts the hook back, also when it unwinds.
    struct Restore(Option<fn()>);

    impl Drop for Restore {
        fn drop(&mut self) {
            HOOK.set(self.0);
        }
    }

    #[cold]
    fn call() {
        let hook = Restore(HOOK.replace(None));
        if let Some(hook) = hook.0 {
            hook();
        }
    }
}

#[cfg(not(all(feature = "one-runner", not(loom))))]
mod set {
    /// There are no hooks in this build.
    #[inline(always)]
    pub fn touch() {}
}

#[cfg(all(feature = "one-runner", not(loom)))]
pub use set::replace;
pub use set::touch;
