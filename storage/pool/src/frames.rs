//! What the pool knows about each frame: whose page it holds and whether the disk has it.
//!
//! 1. `page` changes only while its changer alone may touch the frame: taken from the free list, or
//!    its page word held exclusively.
//! 2. `rec_lsn` is the start of the oldest mini-transaction whose change to this page the data
//!    file may lack, 0 when it lacks none. It is set under the exclusive latch, before that
//!    mini-transaction's `dirtying` watermark is cleared.
//! 3. The cleaner, holding a shared latch, first copies `rec_lsn` to `flight_lsn`, then clears it;
//!    `flight_lsn` is cleared after the `fdatasync` that covers the write. So a scan that reads
//!    `rec_lsn` before `flight_lsn` always sees a change that the file lacks.

use base::{Lsn, PageId, PageNo, SpaceId};
use stdx::{LocalAtomic, Ordering};

/// `Frame::page` of a frame that holds no page.
const NO_PAGE: u64 = u64::MAX;

/// One frame's state. Written by the holder of the page's latch, read by scans without a latch.
#[repr(align(32))]
pub(crate) struct Frame {
    page: LocalAtomic<u64>,
    rec_lsn: LocalAtomic<u64>,
    flight_lsn: LocalAtomic<u64>,
    /// The clock wanted this frame and found it dirty: the cleaner takes it first.
    wanted: LocalAtomic<bool>,
}

impl Frame {
    pub(crate) fn new() -> Frame {
        Frame {
            page: LocalAtomic::new(NO_PAGE),
            rec_lsn: LocalAtomic::new(0),
            flight_lsn: LocalAtomic::new(0),
            wanted: LocalAtomic::new(false),
        }
    }

    /// The page it holds, if any.
    pub(crate) fn page(&self) -> Option<PageId> {
        match self.page.load(Ordering::Acquire) {
            NO_PAGE => None,
            both => Some(PageId::new(SpaceId((both >> 32) as u32), PageNo(both as u32))),
        }
    }

    /// Says whose page it holds from now on.
    pub(crate) fn set_page(&self, id: PageId) {
        let both = u64::from(id.space.0) << 32 | u64::from(id.page.0);
        self.page.store(both, Ordering::Release);
    }

    /// Forgets the page and all changes to it.
    pub(crate) fn clear(&self) {
        self.page.store(NO_PAGE, Ordering::Release);
        self.rec_lsn.store(0, Ordering::Release);
        self.flight_lsn.store(0, Ordering::Release);
        self.wanted.store(false, Ordering::Relaxed);
    }

    /// Notes a change by the mini-transaction that starts at `start`; exclusive latch held.
    #[inline]
    pub(crate) fn dirty(&self, start: Lsn) {
        if self.rec_lsn.load(Ordering::Relaxed) == 0 {
            // 0 means clean, and a log may start at 0.
            self.rec_lsn.store(start.0.max(1), Ordering::Release);
        }
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
        self.flight_lsn.store(self.rec_lsn.load(Ordering::Relaxed), Ordering::Release);
        self.rec_lsn.store(0, Ordering::Release);
        self.wanted.store(false, Ordering::Relaxed);
    }

    /// The copy in flight is durable.
    pub(crate) fn landed(&self) {
        self.flight_lsn.store(0, Ordering::Release);
    }

    /// The oldest change that the data file may lack, in memory or in flight.
    pub(crate) fn oldest(&self) -> Lsn {
        // This order is invariant 3.
        let rec = self.rec_lsn.load(Ordering::Acquire);
        let flight = self.flight_lsn.load(Ordering::Acquire);
        let or_max = |lsn| if lsn == 0 { Lsn::MAX } else { Lsn(lsn) };
        or_max(rec).min(or_max(flight))
    }

    /// Everything in it is on disk: it may be given away.
    pub(crate) fn is_clean(&self) -> bool {
        self.oldest() == Lsn::MAX
    }

    /// Asks the cleaner to take this one first.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_until_its_copy_is_durable() {
        let f = Frame::new();
        assert!(f.is_clean() && f.page().is_none());
        f.set_page(PageId::new(SpaceId(3), PageNo(u32::MAX - 1)));
        assert_eq!(f.page(), Some(PageId::new(SpaceId(3), PageNo(u32::MAX - 1))));
        f.dirty(Lsn(100));
        f.dirty(Lsn(200));
        assert_eq!(f.oldest(), Lsn(100));
        f.take_off();
        assert_eq!((f.oldest(), f.rec_lsn()), (Lsn(100), None));
        f.dirty(Lsn(300));
        assert_eq!(f.oldest(), Lsn(100));
        f.landed();
        assert_eq!((f.oldest(), f.is_clean()), (Lsn(300), false));
        f.clear();
        assert!(f.is_clean() && f.page().is_none());
    }
}
