//! Asymmetric fences: free for those who publish, expensive for those who scan.
//!
//! 1. Store, `light`, load on one thread and store, `heavy`, load on another: at least one of the two
//!    loads sees the other thread's store. `heavy` is a `membarrier` over the process, `light` then only
//!    keeps the compiler from reordering.
//! 2. Where membarrier is missing, both are full fences. The mode is fixed before the first `light`
//!    returns; a light fence may always be stronger than the mode asks for, a heavy one never weaker.

#[cfg(not(loom))]
pub use real::{force_fallback, heavy, is_membarrier, light};

#[cfg(loom)]
pub use model::{heavy, light};

#[cfg(loom)]
mod model {
    use stdx::{Ordering, fence};

    /// In a model both sides are full fences: loom does not know membarrier.
    pub fn light() {
        fence(Ordering::SeqCst);
    }

    /// See [`light`].
    pub fn heavy() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(not(loom))]
mod real {
    use std::sync::OnceLock;
    use stdx::{Ordering, SharedAtomic, class, compiler_fence, fence};

    const UNKNOWN: u8 = 0;
    const MEMBARRIER: u8 = 1;
    const FENCES: u8 = 2;

    const CMD_PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const CMD_REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    type Mode = SharedAtomic<u8, { class::OTHER }>;

    /// What `light` does; read-mostly.
    static LIGHT: Mode = Mode::new(UNKNOWN);
    /// What `heavy` does.
    static HEAVY: Mode = Mode::new(UNKNOWN);
    static REGISTERED: OnceLock<bool> = OnceLock::new();

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes no pointers; an unknown command is an error and nothing else.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Whether the kernel gives this process expedited barriers; asks once, and sets the mode.
    fn registered() -> bool {
        *REGISTERED.get_or_init(|| {
            let ok =
                membarrier(CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(CMD_PRIVATE_EXPEDITED);
            let mode = if ok { MEMBARRIER } else { FENCES };
            HEAVY.store(mode, Ordering::SeqCst);
            LIGHT.store(mode, Ordering::SeqCst);
            ok
        })
    }

    /// The publisher's side: between the store that publishes and the load that checks.
    #[inline(always)]
    pub fn light() {
        if LIGHT.load(Ordering::Relaxed) == MEMBARRIER {
            compiler_fence(Ordering::SeqCst);
        } else {
            light_slow();
        }
    }

    #[cold]
    fn light_slow() {
        // Without sync points: others would wait for the `OnceLock` where the scheduler does not see it.
        crate::sched::quiet(registered);
        fence(Ordering::SeqCst);
    }

    /// The scanner's side: between the store that closes and the scan. About 10 us; not per transaction.
    pub fn heavy() {
        if crate::sched::is_simulated() {
            // The threads of a simulation take turns, which orders everything.
            return crate::sched::point("heavy");
        }
        let ok = registered();
        fence(Ordering::SeqCst);
        if ok && HEAVY.load(Ordering::SeqCst) == MEMBARRIER && !membarrier(CMD_PRIVATE_EXPEDITED) {
            // Registration succeeded, so the only way here is a filter installed since. Publishers that
            // run now use compiler fences: there is no safe way to go on.
            panic!("membarrier stopped working: {}", std::io::Error::last_os_error());
        }
        fence(Ordering::SeqCst);
    }

    /// Whether `heavy` is a membarrier at the moment.
    pub fn is_membarrier() -> bool {
        registered();
        HEAVY.load(Ordering::SeqCst) == MEMBARRIER
    }

    /// Test switch: makes both sides full fences (`true`), or what the kernel offers again (`false`). No
    /// `heavy` may run during the switch back.
    pub fn force_fallback(on: bool) {
        if !registered() {
            return;
        }
        if on {
            // Publishers first; the barrier ends every light fence that still went by the old mode.
            LIGHT.store(FENCES, Ordering::SeqCst);
            membarrier(CMD_PRIVATE_EXPEDITED);
            HEAVY.store(FENCES, Ordering::SeqCst);
        } else {
            HEAVY.store(MEMBARRIER, Ordering::SeqCst);
            LIGHT.store(MEMBARRIER, Ordering::SeqCst);
        }
    }
}
