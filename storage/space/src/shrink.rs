//! Giving the room of free extents back to the file system.
//!
//! 1. An extent is given back only while it is free, under page 0's exclusive latch, which everybody needs who
//!    takes or frees one. So nobody takes it meanwhile. Guard: [`give_back`] works through [`Work`], which
//!    holds page 0; it compares the extent read.
//! 2. And only when the checkpoint has passed a place of the log that lies behind the redo of its last owner,
//!    and nobody has taken it since ([`Rest`]). So recovery, which begins at or behind the checkpoint, finds it
//!    free, and has no redo for its pages but such as begins with making them anew; and no frame holds changes
//!    of them that are not in the file. The place is the log's tail as seen under page 0's latch: whoever freed
//!    the extent held the latch until his redo had its place. That holds for what was freed before a start as
//!    well. Guard: `nothing_in_use_is_lost_over_crashes`,
//!    `an_extent_goes_when_it_has_rested_and_the_checkpoint_has_passed`; `pool::Tablespace::give_back` asserts
//!    that no page of it has changes.
//! 3. Nobody reads pages of a free extent from the file and relies on what he finds: whoever takes a page makes
//!    it anew without reading it. Whoever follows an old reference asks [`is_in_use`] when he finds no sound
//!    page. Reading ahead of need and loading the warm set pass over what is no page. Guard:
//!    `nothing_in_use_is_lost_over_crashes`; the engine's campaign, with values outside of rows.
//! 4. A doublewrite copy of such a page may be written in place by recovery: it takes the room again, with the
//!    bytes that were there, and does no harm. Guard: `nothing_in_use_is_lost_over_crashes`.
//! 5. Whoever takes an extent has made room for it first (`alloc.rs` 1), so no page's write meets a full disk.
//!    After a crash that may have to be done again, as growing has to. Guard:
//!    `a_full_disk_refuses_an_extent_without_room_and_takes_one_that_has_some`.
//! 6. Some extents are kept ([`Limits::reserve`]), the lowest ones, which are taken first: so traffic that
//!    takes and frees extents all the time has them without asking the file system. Guard:
//!    `an_extent_goes_when_it_has_rested_and_the_checkpoint_has_passed`.

use crate::alloc::Work;
use crate::extent::{Extent, State, extent_of, page_of};
use crate::hints::Rest;
use crate::report::Maps;
use base::{PageNo, Result};
use pool::spacefile::EXTENT_PAGES;
use pool::{Mtr, Pool, Tablespace};
use std::time::Duration;
use sync::WorkerSlot;

/// What [`give_back`] keeps.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many free extents.
    pub reserve: usize,
    /// Extents that are free for less than this.
    pub rest: Duration,
}

/// What [`give_back`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GivenBack {
    /// So many bytes of an extent; there may be more.
    Bytes(u64),
    /// None has been free for long enough yet, but more than the reserve are free, or may be.
    NotYet,
    /// There are no more than the reserve.
    Nothing,
    /// The file system cannot.
    Unsupported,
}

/// Gives one free extent back, the highest that may be. Others wait for it as for an allocation.
///
/// # Errors
/// Damage of what describes the extents; of the file system, and then nothing has changed that anybody sees.
pub fn give_back(
    pool: &Pool,
    worker: &WorkerSlot,
    ts: &Tablespace,
    limits: Limits,
) -> Result<GivenBack> {
    let mut m = Mtr::new(pool, worker);
    let mut work = Work::begin(&mut m, ts)?;
    let more = work.scan()?;
    let now = sync::now();
    work.hints.rest(Rest { lsn: pool.log().tail(), since: now });
    let checkpoint = pool.log().checkpoint_lsn();
    let rested = now.checked_sub(limits.rest);
    let rested = rested.map(|since| Rest { lsn: checkpoint, since });
    let Some(extent) = rested.and_then(|until| work.hints.rested(limits.reserve, until)) else {
        let waiting = more || work.hints.free_with_room() > limits.reserve;
        return Ok(if waiting { GivenBack::NotYet } else { GivenBack::Nothing });
    };
    let found = work.extent(extent)?;
    if found != Extent::FREE {
        work.hints.note(extent, State::Free, &found);
        return Ok(GivenBack::NotYet);
    }
    let before = ts.allocated_bytes()?;
    if !ts.give_back(page_of(extent, 0), EXTENT_PAGES)? {
        return Ok(GivenBack::Unsupported);
    }
    work.hints.set_hole(extent);
    Ok(GivenBack::Bytes(before.saturating_sub(ts.allocated_bytes()?)))
}

/// Whether somebody has the page. For who follows a reference that may be old, holding no latch.
///
/// # Errors
/// What describes the extents cannot be read.
pub fn is_in_use(ts: &Tablespace, page: PageNo) -> Result<bool> {
    let mut maps = Maps::new(ts)?;
    let extent = extent_of(page);
    Ok(extent < maps.extents() && maps.extent(extent)?.used >> (page.0 % EXTENT_PAGES) & 1 == 1)
}
