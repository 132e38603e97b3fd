//! What the pool knows about each frame: whose page it holds and whether the disk has it.
//!
//! 1. `page` changes only while its changer alone may touch the frame: taken from the free list, or its page
//!    word held exclusively. Guard: `set_page` asserts that there was none; `assert_is_clean`.
//! 2. `rec_lsn` is the start of the oldest mini-transaction whose change to this page the data file may lack
//!    and no copy in flight has, 0 when there is none. It is set under the exclusive latch, and the frame
//!    pushed on its instance's stack, before that mini-transaction's `dirtying` watermark is cleared. Guard:
//!    `copy_page` asserts that the mark is below the page's LSN; in debug builds `Pool::debug_assert_marked` at
//!    each commit.
//! 3. The cleaner, holding a shared latch, first sets `in_flight`, then clears `rec_lsn`; `in_flight` is
//!    cleared after the `fdatasync` that covers the write. So who reads `rec_lsn` before `in_flight` always
//!    sees a change that the file lacks. Guard: `a_change_is_seen_until_its_copy_is_durable`,
//!    `no_order_of_steps_lets_a_checkpoint_pass_a_change`.
//! 4. A frame of zeroes is a frame without a page: headers of frames that were never used take no memory.
//!    Guard: `frames_are_aligned_for_direct_io_and_start_zeroed`.

use base::{Lsn, PageId, PageNo, SpaceId};
use stdx::{LocalAtomic, Ordering};
use sync::Link;

/// Pages that are read in passing.
pub(crate) mod probation {
    /// Not such a page; not in the instance's list of them.
    pub const NONE: u8 = 0;
    /// Loaded by a scan or ahead of need, and listed.
    pub const ON: u8 = 1;
    /// Still listed, and no such page any more.
    pub const OVER: u8 = 2;
}

/// One frame's state. Written by the holder of the page's latch, read by scans without a latch.
#[repr(C, align(32))]
pub(crate) struct Frame {
    /// The complement of space and page; 0 = none.
    page: LocalAtomic<u64>,
    rec_lsn: LocalAtomic<u64>,
    pub(crate) link: Link,
    /// When a page on probation was loaded, in milliseconds of the pool's clock.
    loaded_ms: LocalAtomic<u32>,
    in_flight: LocalAtomic<bool>,
    /// The clock wanted this frame and found it changed: the cleaner takes it first.
    wanted: LocalAtomic<bool>,
    probation: LocalAtomic<u8>,
    /// Read ahead, and not asked for since.
    ahead: LocalAtomic<bool>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Frame>() == 32);

impl Frame {
    #[cfg(test)]
    pub(crate) fn new() -> Frame {
        Frame {
            page: LocalAtomic::new(0),
            rec_lsn: LocalAtomic::new(0),
            link: Link::new(),
            loaded_ms: LocalAtomic::new(0),
            in_flight: LocalAtomic::new(false),
            wanted: LocalAtomic::new(false),
            probation: LocalAtomic::new(0),
            ahead: LocalAtomic::new(false),
        }
    }

    /// The page it holds, if any.
    pub(crate) fn page(&self) -> Option<PageId> {
        match self.page.load(Ordering::Acquire) {
            0 => None,
            both => Some(PageId::new(SpaceId((!both >> 32) as u32), PageNo(!both as u32))),
        }
    }

    /// Says whose page it holds from now on.
    pub(crate) fn set_page(&self, id: PageId) {
        let both = u64::from(id.space.0) << 32 | u64::from(id.page.0);
        debug_assert_ne!(both, u64::MAX, "no page has this number");
        assert!(self.page().is_none(), "a frame of page {:?} becomes that of {id}", self.page());
        self.page.store(!both, Ordering::Release);
    }

    /// Forgets the page and all changes to it.
    pub(crate) fn clear(&self) {
        self.page.store(0, Ordering::Release);
        self.rec_lsn.store(0, Ordering::Release);
        self.in_flight.store(false, Ordering::Release);
        self.wanted.store(false, Ordering::Relaxed);
        self.ahead.store(false, Ordering::Relaxed);
        self.end_probation();
    }

    /// Notes a change by the mini-transaction that starts at `start`; exclusive latch held. True:
    /// it was clean, so it goes on its instance's stack next.
    #[inline]
    #[must_use]
    pub(crate) fn dirty(&self, start: Lsn) -> bool {
        if self.rec_lsn.load(Ordering::Relaxed) != 0 {
            return false;
        }
        // 0 means clean, and a log may start at 0.
        self.rec_lsn.store(start.0.max(1), Ordering::Release);
        true
    }

    /// Oldest change that is not yet on its way to the disk; `None` = no such change.
    pub(crate) fn rec_lsn(&self) -> Option<Lsn> {
        match self.rec_lsn.load(Ordering::Acquire) {
            0 => None,
            lsn => Some(Lsn(lsn)),
        }
    }

    /// Moves the changes in flight: their copy is about to be written. Shared latch held.
    pub(crate) fn take_off(&self) {
        self.in_flight.store(true, Ordering::Release);
        self.rec_lsn.store(0, Ordering::Release);
        self.wanted.store(false, Ordering::Relaxed);
    }

    /// The copy in flight is durable.
    pub(crate) fn landed(&self) {
        self.in_flight.store(false, Ordering::Release);
    }

    /// Everything in it is on disk: it may be given away.
    pub(crate) fn is_clean(&self) -> bool {
        // This order is invariant 3.
        self.rec_lsn().is_none() && !self.in_flight.load(Ordering::Acquire)
    }

    /// Its page is about to lose it: nothing may be in it that the data file lacks.
    pub(crate) fn assert_is_clean(&self) {
        assert!(self.is_clean(), "a frame with changes is taken from its page {:?}", self.page());
    }

    /// Asks the cleaner to take this one first; false when that was done before.
    pub(crate) fn want(&self) -> bool {
        if self.wanted.load(Ordering::Relaxed) {
            return false;
        }
        self.wanted.store(true, Ordering::Relaxed);
        true
    }

    /// The cleaner has heard it.
    pub(crate) fn unwant(&self) {
        self.wanted.store(false, Ordering::Relaxed);
    }

    /// Begins probation at `now_ms`; true: it has to be listed.
    pub(crate) fn begin_probation(&self, now_ms: u32, ahead: bool) -> bool {
        self.loaded_ms.store(now_ms, Ordering::Relaxed);
        self.ahead.store(ahead, Ordering::Relaxed);
        let before = self.probation.load(Ordering::Relaxed);
        self.probation.store(probation::ON, Ordering::Relaxed);
        before == probation::NONE
    }

    /// How it stands, see [`probation`].
    pub(crate) fn probation(&self) -> u8 {
        self.probation.load(Ordering::Relaxed)
    }

    /// The page stays on its own merit from now on.
    pub(crate) fn end_probation(&self) {
        if self.probation.load(Ordering::Relaxed) == probation::ON {
            self.probation.store(probation::OVER, Ordering::Relaxed);
        }
    }

    /// It was taken out of the list.
    pub(crate) fn unlist(&self) {
        self.probation.store(probation::NONE, Ordering::Relaxed);
    }

    /// How long ago a page on probation was loaded, in milliseconds.
    pub(crate) fn age_ms(&self, now_ms: u32) -> u32 {
        now_ms.wrapping_sub(self.loaded_ms.load(Ordering::Relaxed))
    }

    /// Whether it was read ahead and nobody has asked for it yet.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead.load(Ordering::Relaxed)
    }

    /// Somebody has asked for it.
    pub(crate) fn asked_for(&self) {
        self.ahead.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_until_its_copy_is_durable() {
        let f = Frame::new();
        assert!(f.is_clean() && f.page().is_none());
        f.set_page(PageId::new(SpaceId(3), PageNo(u32::MAX - 1)));
        assert_eq!(f.page(), Some(PageId::new(SpaceId(3), PageNo(u32::MAX - 1))));
        assert!(f.dirty(Lsn(100)));
        assert!(!f.dirty(Lsn(200)));
        assert_eq!(f.rec_lsn(), Some(Lsn(100)));
        f.take_off();
        assert_eq!((f.is_clean(), f.rec_lsn()), (false, None));
        assert!(f.dirty(Lsn(300)));
        f.landed();
        assert_eq!((f.rec_lsn(), f.is_clean()), (Some(Lsn(300)), false));
        f.clear();
        assert!(f.is_clean() && f.page().is_none());
    }

    #[test]
    fn a_frame_is_listed_once() {
        let f = Frame::new();
        assert!(f.begin_probation(10, true));
        assert!(f.is_ahead() && f.age_ms(25) == 15);
        f.clear();
        assert_eq!((f.probation(), f.is_ahead()), (probation::OVER, false));
        assert!(!f.begin_probation(u32::MAX, false), "it is still listed");
        assert_eq!(f.age_ms(4), 5);
        f.unlist();
        assert!(f.begin_probation(0, false));
    }
}
