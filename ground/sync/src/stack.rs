//! A lock-free stack of numbers: many push, one takes everything.
//!
//! 1. A number is in the stack at most once: its [`Link`] says whether it is. Who finds it there
//!    leaves it there, and what it wrote before [`Stack::push`] is seen by the next
//!    [`Stack::take_all`] all the same.
//! 2. Only whole stacks are taken, so a head that was read stays the right one for a push as long as
//!    it is the head: numbers that came and went in between do no harm.
//! 3. `take_all` reads a number's link before it marks the number as out: from then on another
//!    push may write the link.

use stdx::{Ordering, SharedAtomic, class};

/// What the stack needs beside each number. All zero when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Link {
    /// The number below, plus one; 0 = none.
    next: SharedAtomic<u32, { class::POOL }>,
    inside: SharedAtomic<bool, { class::POOL }>,
}

/// The stack. All zero when new.
#[derive(Debug, Default)]
pub struct Stack {
    /// The number on top, plus one; 0 = empty.
    head: SharedAtomic<u32, { class::POOL }>,
}

impl Link {
    const_fn! {
        /// Of a number that is in no stack.
        pub fn new() -> Self {
            Self { next: SharedAtomic::new(0), inside: SharedAtomic::new(false) }
        }
    }

    /// Whether the number is in the stack, or about to be.
    pub fn is_inside(&self) -> bool {
        self.inside.load(Ordering::Acquire)
    }
}

impl Stack {
    const_fn! {
        /// An empty one.
        pub fn new() -> Self {
            Self { head: SharedAtomic::new(0) }
        }
    }

    /// Puts a number, whose link this is, into the stack unless it is there. Pushes of the same
    /// number by several threads at once must be excluded by the callers.
    #[inline]
    pub fn push(&self, number: u32, link: &Link) {
        // Acquire and release both ways: either this sees that the number was taken out, or who
        // takes it out sees what was written before.
        if link.inside.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            link.next.store(head, Ordering::Relaxed);
            let pushed = self.head.compare_exchange_weak(
                head,
                number + 1,
                Ordering::Release,
                Ordering::Relaxed,
            );
            match pushed {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes all numbers out, newest first; `link` gives each one's link. When `each` is called
    /// with a number, it may be pushed again.
    pub fn take_all<'l>(&self, link: impl Fn(u32) -> &'l Link, mut each: impl FnMut(u32)) {
        // Loom does not go back before a load that found nothing: it would explore too little.
        #[cfg(not(loom))]
        if self.head.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut top = self.head.swap(0, Ordering::Acquire);
        while top != 0 {
            let link = link(top - 1);
            let below = link.next.load(Ordering::Relaxed);
            link.inside.swap(false, Ordering::AcqRel);
            each(top - 1);
            top = below;
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_once_and_may_come_again() {
        let links = [const { Link::new() }; 4];
        let stack = Stack::new();
        let take = || {
            let mut out = Vec::new();
            stack.take_all(|n| &links[n as usize], |n| out.push(n));
            out
        };
        assert!(take().is_empty());
        for n in [2, 0, 2, 3] {
            stack.push(n, &links[n as usize]);
        }
        assert!(links[2].is_inside() && !links[1].is_inside());
        assert_eq!(take(), [3, 0, 2]);
        assert!(take().is_empty() && !links[2].is_inside());
        stack.push(2, &links[2]);
        assert_eq!(take(), [2]);
    }
}
