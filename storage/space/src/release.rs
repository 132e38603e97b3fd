//! Giving back all pages of an index, in small mini-transactions.
//!
//! 1. What is still there is found from what describes the extents alone, so it may be done again after a
//!    crash, and whatever the pages hold by now. Guard: `segments_are_freed_again_after_a_crash`.

use crate::alloc::Work;
use crate::extent::{State, extent_of, map_of};
use crate::report::Maps;
use crate::{Segment, SegmentKind};
use base::{Error, IndexId, PageNo, Result};
use page::PageKind;
use pool::{Mtr, Pool, Tablespace};
use sync::WorkerSlot;

/// Extents, or pages of shared extents, that one mini-transaction frees.
const BATCH: usize = 32;

/// Frees every page of every segment of `index` but `kept`, its root, which the caller frees
/// ([`crate::free`]) in the mini-transaction that ends its own record of the drop.
///
/// Nobody else uses the index any more. A damaged page of a shared extent cannot say whose it is:
/// it stays taken, and CHECK reports it.
pub fn free_segments(
    pool: &Pool,
    worker: &WorkerSlot,
    ts: &Tablespace,
    index: IndexId,
    kept: PageNo,
) -> Result<()> {
    let mut owned = Vec::new();
    let mut fragments = Vec::new();
    let mut maps = Maps::new(ts)?;
    for extent in 0..maps.extents() {
        let found = maps.extent(extent)?;
        match found.state {
            State::Owned(segment) if segment.index == index => owned.push(extent),
            State::Shared => {
                let first = map_of(extent);
                for page in found.used_pages(extent).filter(|p| *p != kept && *p != first) {
                    fragments.extend(fragment(ts, index, page)?.map(|segment| (segment, page)));
                }
            }
            _ => {}
        }
    }
    // A batch changes one page of descriptions, and page 0.
    let by_map = owned.chunk_by(|a, b| map_of(*a) == map_of(*b));
    for batch in by_map.flat_map(|extents| extents.chunks(BATCH)) {
        let mut m = Mtr::new(pool, worker);
        let mut work = Work::begin(&mut m, ts)?;
        let freed = batch.iter().try_for_each(|e| work.free_extent(index, *e).map(drop));
        // What was freed before damage was met is whole.
        drop(work);
        m.commit()?;
        freed?;
    }
    let by_map =
        fragments.chunk_by(|(_, a), (_, b)| map_of(extent_of(*a)) == map_of(extent_of(*b)));
    for batch in by_map.flat_map(|pages| pages.chunks(BATCH)) {
        let mut m = Mtr::new(pool, worker);
        let mut work = Work::begin(&mut m, ts)?;
        let freed = batch.iter().try_for_each(|(segment, page)| work.free(*segment, *page));
        drop(work);
        m.commit()?;
        freed?;
    }
    Ok(())
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
