//! Rollback segments: the 128 pages from which every undo segment can be found after a crash.
//!
//! 1. Pages 1..=128 of the undo space; a slot holds the first page of an undo segment, 0 when
//!    empty. Guard: the errors of `Rseg::create`, `first_pages` and `Rseg::recover`.
//! 2. A slot once used keeps its segment: free segments wait in memory for the next transaction.
//!    Guard: the assert of `Rseg::give_back`; after a crash the error of `Rseg::recover`.
//! 3. `histories` are those of all segments, also of those in use: purge finds them here. Guard: the purges of
//!    `tests/segments.rs`, which find whatever ended.

use crate::history::History;
use crate::ids::{IdKind, Ids};
use crate::segment::{PAGES_KEPT, Segment, State};
use base::{Error, IndexId, Lsn, PageBuf, PageNo, Result, UNDO_SPACE};
use page::header::read_u32;
use page::{BODY_AT, PageKind, PageOp};
use pool::{Mtr, Pool, Tablespace};
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, WorkerSlot};

instrument::classes! {
    static RSEG: MutexClass = "wait/synch/mutex/innodb/rseg_mutex";
    static HISTORIES: MutexClass = "wait/synch/mutex/limpid/rseg_histories";
}

/// Number of rollback segments.
pub const RSEGS: usize = 128;
/// Undo segments of one rollback segment.
const SLOTS: usize = 1024;
const SLOTS_AT: usize = BODY_AT + 64;
/// Pages that one look at a free segment takes from it at most.
const CUT_AT_ONCE: usize = 64;

const _: () = assert!(SLOTS_AT + SLOTS * 4 <= base::PAGE_BYTES);

/// What the rollback segments held after a crash.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Segments of transactions that did not end.
    pub active: Vec<Segment>,
    /// Segments of prepared transactions.
    pub prepared: Vec<Segment>,
    /// Segments of committed transactions whose purge, or dropping of indexes, did not end.
    pub committed: Vec<Segment>,
}

/// Where a rollback segment lies.
pub(crate) fn page_of(number: u8) -> PageNo {
    PageNo(u32::from(number) + 1)
}

/// One rollback segment in memory.
pub(crate) struct Rseg {
    number: u8,
    free: Mutex<Vec<Segment>>,
    /// No free segment has more pages; written with their mutex, read without it: a round of purge looks at all 128.
    longest: SharedAtomic<usize, { class::OTHER }>,
    histories: Mutex<Vec<Arc<History>>>,
}

impl Rseg {
    pub(crate) fn new(number: u8) -> Rseg {
        Rseg {
            number,
            free: Mutex::new(&RSEG, Vec::new()),
            longest: SharedAtomic::new(0),
            histories: Mutex::new(&HISTORIES, Vec::new()),
        }
    }

    fn page(&self) -> PageNo {
        page_of(self.number)
    }

    /// Makes the page in a new instance.
    pub(crate) fn create(&self, pool: &Pool, worker: &WorkerSlot, undo: &Tablespace) -> Result<()> {
        let mut mtr = Mtr::new(pool, worker);
        let no = space::allocate(&mut mtr, undo, space::Segment::ROLLBACK)?;
        let held = mtr.fresh(undo, no)?;
        let kind = PageKind::RollbackSegment;
        let index_id = IndexId(0);
        let init = PageOp::Init { kind, level: 0, index_id, low_fence: &[], high_fence: None };
        mtr.apply(held, &init)?;
        mtr.commit()?;
        if no != self.page() {
            return Err(Error::Internal("a new undo space gives its pages out of order"));
        }
        Ok(())
    }

    /// A free segment: one that waits (a short one if there is), or a new one. `None`: every slot is in
    /// use.
    pub(crate) fn acquire(
        &self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
        ids: &Arc<Ids>,
    ) -> Result<Option<Segment>> {
        {
            let mut free = self.free.lock();
            let short = free.iter().rposition(|segment| !segment.is_long(PAGES_KEPT));
            match short {
                Some(i) => return Ok(Some(free.swap_remove(i))),
                None if !free.is_empty() => return Ok(free.pop()),
                None => {}
            }
        }
        let mut mtr = Mtr::new(pool, worker);
        let held = mtr.exclusive(undo, self.page())?;
        let empty = |i: &usize| read_u32(mtr.page(held), SLOTS_AT + i * 4) == 0;
        let Some(slot) = (0..SLOTS).find(empty) else { return Ok(None) };
        let segment = Segment::create(&mut mtr, undo, (self.number, slot as u16), ids)?;
        let first = segment.first().0.to_le_bytes();
        mtr.apply(held, &PageOp::Write { at: (SLOTS_AT + slot * 4) as u16, bytes: &first })?;
        mtr.commit()?;
        self.histories.lock().push(Arc::clone(segment.history()));
        Ok(Some(segment))
    }

    /// The histories of all its segments.
    pub(crate) fn histories(&self) -> Vec<Arc<History>> {
        self.histories.lock().clone()
    }

    /// Those in which purge may find something.
    pub(crate) fn waiting_histories(&self) -> Vec<Arc<History>> {
        let histories = self.histories.lock();
        histories.iter().filter(|h| h.is_waiting()).cloned().collect()
    }

    /// How many ended transactions are kept.
    pub(crate) fn history_len(&self, horizon: Lsn) -> usize {
        self.histories.lock().iter().map(|h| h.len(horizon)).sum()
    }

    /// Writes how far the free segments are purged.
    pub(crate) fn note_purged(
        &self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
    ) -> Result<()> {
        let free = std::mem::take(&mut *self.free.lock());
        let mut done = Ok(());
        for mut segment in free {
            if done.is_ok() {
                done = segment.note_purged(pool, worker, undo);
            }
            self.give_back(segment);
        }
        done
    }

    /// Cuts the free segments down to `kept` pages; whether there is more to cut. A segment of which nothing can be cut
    /// yet stays where it is: who looks for one meanwhile would have to make another.
    pub(crate) fn trim(
        &self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
        kept: usize,
    ) -> Result<bool> {
        if self.longest.load(Ordering::Acquire) <= kept {
            return Ok(false);
        }
        let long: Vec<Segment> = {
            let mut free = self.free.lock();
            let long = free.extract_if(.., |segment| segment.can_be_cut(kept)).collect();
            let left = free.iter().map(Segment::pages).max().unwrap_or(0);
            self.longest.store(left, Ordering::Release);
            long
        };
        let (mut more, mut done) = (false, Ok(()));
        for mut segment in long {
            if done.is_ok() {
                match segment.trim(pool, worker, undo, (kept, CUT_AT_ONCE)) {
                    Ok(left) => more |= left,
                    Err(e) => done = Err(e),
                }
            }
            self.give_back(segment);
        }
        done.map(|()| more)
    }

    /// Takes a free segment back.
    pub(crate) fn give_back(&self, segment: Segment) {
        assert_eq!(segment.state(), State::Free, "a segment in use is given back");
        assert_eq!(
            segment.place().0,
            self.number,
            "a segment is given to another rollback segment"
        );
        self.put(segment);
    }

    fn put(&self, segment: Segment) {
        let mut free = self.free.lock();
        if segment.pages() > self.longest.load(Ordering::Relaxed) {
            self.longest.store(segment.pages(), Ordering::Release);
        }
        free.push(segment);
    }

    /// Reads all segments after a crash; free ones stay here.
    pub(crate) fn recover(
        &self,
        undo: &Tablespace,
        ids: &Arc<Ids>,
        found: &mut Recovered,
    ) -> Result<()> {
        let firsts = first_pages(&*undo.shared(self.page())?, self.page())?;
        for first in firsts {
            let segment = Segment::load(&mut |no| Ok(Box::new(*undo.shared(no)?)), first, ids)?;
            let bad = |what| Error::corrupt(base::PageId::new(UNDO_SPACE, first), what);
            if segment.place().0 != self.number {
                return Err(bad("an undo segment of another rollback segment"));
            }
            if segment.newest_id().0 >= ids.next(IdKind::Trx) {
                return Err(bad("undo of a transaction that there was not"));
            }
            self.histories.lock().push(Arc::clone(segment.history()));
            match segment.state() {
                State::Free if segment.unpurged().is_some() => found.committed.push(segment),
                State::Free => self.put(segment),
                State::Active => found.active.push(segment),
                State::Committed => found.committed.push(segment),
                State::Prepared => found.prepared.push(segment),
            }
        }
        Ok(())
    }
}

/// First pages of the segments that a rollback segment's page names.
pub(crate) fn first_pages(page: &PageBuf, no: PageNo) -> Result<Vec<PageNo>> {
    if page::header::kind(page) != Some(PageKind::RollbackSegment) {
        return Err(Error::corrupt(base::PageId::new(UNDO_SPACE, no), "not a rollback segment"));
    }
    let slots = (0..SLOTS).map(|slot| read_u32(page, SLOTS_AT + slot * 4));
    Ok(slots.filter(|&first| first != 0).map(PageNo).collect())
}
