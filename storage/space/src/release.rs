//! Giving back all pages of an index, in small mini-transactions and bounded steps.
//!
//! 1. What is still there is found from what describes the extents alone, so it may be done again after a
//!    crash, and whatever the pages hold by now. Guard: `segments_are_freed_again_after_a_crash`.
//! 2. A step goes through at most so many pieces and ends at an extent's end; extents behind it have nothing of
//!    the index any more (damage excepted), since nobody adds to it. Guard: test `an_index_is_freed_in_bounded_steps`.

use crate::alloc::Work;
use crate::extent::{State, map_of};
use crate::report::Maps;
use crate::{Segment, SegmentKind};
use base::{Error, IndexId, PageNo, Result};
use page::PageKind;
use pool::{Mtr, Pool, Tablespace};
use sync::WorkerSlot;

/// Extents, or pages of shared extents, that one mini-transaction frees.
const BATCH: usize = 32;
/// Looking at the description of an extent costs so much less than a piece.
const LOOKS_PER_PIECE: u32 = 64;

/// How far an index is freed; after a crash it begins anew.
#[derive(Clone, Copy, Default, Debug)]
pub struct Release {
    /// The first extent that may have pages of the index.
    extent: u32,
    looks: u32,
}

/// What a mini-transaction or two are to free; all in one page of descriptions.
#[derive(Default)]
struct Found {
    owned: Vec<u32>,
    fragments: Vec<(Segment, PageNo)>,
}

impl Release {
    /// Frees pages of every segment of `index` but `kept`, its root, which the caller frees
    /// ([`crate::free`]) in the mini-transaction that ends its own record of the drop. Takes what it does off
    /// `pieces`: extents freed, pages of shared extents looked at. True when nothing is left; false when
    /// `pieces` is 0 before.
    ///
    /// Nobody else uses the index any more. A damaged page of a shared extent cannot say whose it is:
    /// it stays taken, and CHECK reports it.
    pub fn step(
        &mut self,
        pool: &Pool,
        worker: &WorkerSlot,
        ts: &Tablespace,
        (index, kept): (IndexId, PageNo),
        pieces: &mut u64,
    ) -> Result<bool> {
        let mut maps = Maps::new(ts)?;
        while self.extent < maps.extents() {
            if *pieces == 0 {
                return Ok(false);
            }
            let mut found = Found::default();
            let mut extent = self.extent;
            let map = map_of(extent);
            while extent < maps.extents() && map_of(extent) == map && *pieces > 0 {
                if found.owned.len() + found.fragments.len() >= BATCH {
                    break;
                }
                let cost = self.look(&mut maps, ts, extent, (index, kept), &mut found)?;
                *pieces = pieces.saturating_sub(cost);
                extent += 1;
            }
            found.free(pool, worker, ts, index)?;
            self.extent = extent;
        }
        Ok(true)
    }

    /// Adds what an extent has of the index; how many pieces that is.
    fn look(
        &mut self,
        maps: &mut Maps<'_>,
        ts: &Tablespace,
        extent: u32,
        (index, kept): (IndexId, PageNo),
        into: &mut Found,
    ) -> Result<u64> {
        let found = maps.extent(extent)?;
        self.looks += 1;
        let mut cost = u64::from(self.looks.is_multiple_of(LOOKS_PER_PIECE));
        match found.state {
            State::Owned(segment) if segment.index == index => {
                into.owned.push(extent);
                cost += 1;
            }
            State::Shared => {
                let first = map_of(extent);
                for page in found.used_pages(extent).filter(|p| *p != kept && *p != first) {
                    let segment = fragment(ts, index, page)?;
                    into.fragments.extend(segment.map(|segment| (segment, page)));
                    cost += 1;
                }
            }
            _ => {}
        }
        Ok(cost)
    }
}

impl Found {
    fn free(self, pool: &Pool, worker: &WorkerSlot, ts: &Tablespace, index: IndexId) -> Result<()> {
        let in_one = |free: &dyn Fn(&mut Work<'_, '_>) -> Result<()>| {
            let mut m = Mtr::new(pool, worker);
            let mut work = Work::begin(&mut m, ts)?;
            let freed = free(&mut work);
            // What was freed before damage was met is whole.
            drop(work);
            m.commit()?;
            freed
        };
        for batch in self.owned.chunks(BATCH) {
            in_one(&|work| batch.iter().try_for_each(|e| work.free_extent(index, *e).map(drop)))?;
        }
        for batch in self.fragments.chunks(BATCH) {
            in_one(&|work| batch.iter().try_for_each(|(s, page)| work.free(*s, *page)))?;
        }
        Ok(())
    }
}

/// [`Release::step`] to the end.
pub fn free_segments(
    pool: &Pool,
    worker: &WorkerSlot,
    ts: &Tablespace,
    index: IndexId,
    kept: PageNo,
) -> Result<()> {
    Release::default().step(pool, worker, ts, (index, kept), &mut { u64::MAX }).map(drop)
}

/// The segment of a used page of a shared extent, if it is one of the index's. No latch is held
/// while another is waited for: the page may be another index's, whose writer waits for page 0.
fn fragment(ts: &Tablespace, index: IndexId, page: PageNo) -> Result<Option<Segment>> {
    let bytes = match ts.shared(page) {
        Ok(bytes) => bytes,
        Err(Error::Corrupt { .. }) => return Ok(None),
        Err(e) => return Err(e),
    };
    if page::header::index_id(&bytes) != index {
        return Ok(None);
    }
    let kind = match page::header::kind(&bytes) {
        Some(PageKind::Leaf) => SegmentKind::Leaf,
        Some(PageKind::Inner) => SegmentKind::Inner,
        Some(PageKind::ExtentMap | PageKind::SpaceHeader) | None => return Ok(None),
        Some(_) => SegmentKind::Blob,
    };
    Ok(Some(Segment::new(index, kind)))
}
