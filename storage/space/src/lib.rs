//! Tablespaces: extents, segments and page allocation inside a data file.
//!
//! 1. A file is a row of extents of 64 pages. Every 16,384th page, page 0 first, describes the 256 extents from
//!    itself on: free, shared, or owned by one segment, and which pages are in use. Page 0 also says how many
//!    extents are described (those above were never used), and how many pages and extents each segment has.
//!    There is no other truth: a page's own bytes say nothing. Guard: [`report`] and [`audit`]: CHECK TABLE,
//!    and after each step of the tests (`check`).
//! 2. All of it changes by logged writes inside the caller's mini-transaction, so a crash takes page and use
//!    back together. Guard: `pages_are_handed_out_once_and_come_back_over_a_crash`,
//!    `redo_makes_the_same_descriptions`.
//! 3. A segment's first 32 pages come from shared extents, then it gets extents of its own: small indexes share
//!    extents, large ones are contiguous, leaves apart from inner nodes. An extent whose last page is freed is
//!    free again. Guard: `the_first_pages_are_shared_and_the_others_in_order`,
//!    `an_extent_is_free_when_its_last_page_is`.
//! 4. The file grows before anything is changed: a full disk is [`Error::NoSpace`] and nothing else. A file may
//!    be longer than what is described, and shorter. Guard: `a_full_disk_is_reported_and_nothing_is_changed`.
//! 5. Page 0 is latched last (the pool's latch order), and held to the commit; the other pages of descriptions
//!    under its latch only. Guard: `pool::Mtr` asserts in debug builds that no page is waited for after page 0.
//! 6. Opening reads nothing: what is remembered of the extents ([`hints`]) is gathered when pages are taken and
//!    given back, and checked before it is used. Guard: `hints.rs` 1.

use base::{Error, IndexId, PageBuf, PageNo, Result};
use page::PageOp;
use page::header::{read_u32, read_u64};
use pool::spacefile::{AUTOINC_AT, EXTENTS_AT};
use pool::{Held, Mtr, Tablespace};

mod alloc;
mod extent;
mod hints;
mod pages;
mod release;
mod report;
mod shrink;
#[cfg(test)]
mod tests;

pub use pages::PageSet;
pub use release::{Release, free_segments};
pub use report::{Claim, Problem, SegmentReport, SpaceReport};
pub use report::{audit, owner, report, report_file};
pub use shrink::{GivenBack, Limits, give_back, is_in_use};

instrument::classes! {
    static HINTS_MUTEX: MutexClass = "wait/synch/mutex/limpid/extent_hints", across_io;
}

/// The page that says what is in the file.
const HEADER: PageNo = PageNo(0);

/// How near the end of the file [`prepare`] lets the pages in use come.
const PAGES_AHEAD: u32 = 16;

/// What the pages of a segment hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum SegmentKind {
    /// Inner nodes of a tree, and its root whatever its level.
    Inner = 2,
    /// Leaves of a tree.
    Leaf = 3,
    /// Overflow pages of a tree's rows. Their page header names the tree's index.
    Blob = 4,
    /// Undo pages: one segment of the undo space, index 0.
    Undo = 5,
    /// Headers of rollback segments, from shared extents only, so that they are the undo space's
    /// first pages.
    Rollback = 6,
}

impl SegmentKind {
    fn from_u8(kind: u8) -> Option<SegmentKind> {
        Some(match kind {
            2 => SegmentKind::Inner,
            3 => SegmentKind::Leaf,
            4 => SegmentKind::Blob,
            5 => SegmentKind::Undo,
            6 => SegmentKind::Rollback,
            _ => return None,
        })
    }

    /// Never gets an extent of its own.
    fn is_scattered(self) -> bool {
        self == SegmentKind::Rollback
    }
}

/// Pages that belong together: they are allocated near each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Segment {
    /// The index whose pages they are, below 2^56; 0 where there is none.
    pub index: IndexId,
    /// What they hold.
    pub kind: SegmentKind,
}

impl Segment {
    /// The segment of `index` for pages of `kind`.
    pub const fn new(index: IndexId, kind: SegmentKind) -> Segment {
        Segment { index, kind }
    }

    /// All undo pages.
    pub const UNDO: Segment = Segment::new(IndexId(0), SegmentKind::Undo);

    /// The headers of all rollback segments.
    pub const ROLLBACK: Segment = Segment::new(IndexId(0), SegmentKind::Rollback);
}

/// What page 0 says of the whole space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Extents that are described; those above were never used.
    pub extents: u32,
    /// Last AUTO_INCREMENT value that may have been used.
    pub autoinc: u64,
}

impl Header {
    fn of(page: &PageBuf) -> Header {
        Header { extents: read_u32(page, EXTENTS_AT), autoinc: read_u64(page, AUTOINC_AT) }
    }
}

/// Reads page 0 under a shared latch.
pub fn header(ts: &Tablespace) -> Result<Header> {
    Ok(Header::of(&*ts.shared(HEADER)?))
}

/// Takes a page of `segment` for the caller, who makes it anew ([`Mtr::fresh`], then an Init with
/// the segment's index id) in the same mini-transaction.
///
/// It has its frame already, so that nothing is waited for after the first change.
///
/// [`Error::NoSpace`], [`Error::NoFrame`]: nothing has changed. [`Error::Corrupt`] when what describes the extents
/// contradicts itself, [`Error::Io`].
pub fn allocate<'p>(m: &mut Mtr<'p>, ts: &'p Tablespace, segment: Segment) -> Result<PageNo> {
    allocate_near(m, ts, segment, PageNo::NONE)
}

/// As [`allocate`], close behind page `near` if there is room.
pub fn allocate_near<'p>(
    m: &mut Mtr<'p>,
    ts: &'p Tablespace,
    segment: Segment,
    near: PageNo,
) -> Result<PageNo> {
    alloc::Work::begin(m, ts)?.allocate(segment, near)
}

/// Gives a page of `segment` back. The caller has made sure that nothing refers to it; its content
/// is gone.
///
/// [`Error::Internal`] when the page is not in use, or another segment's.
pub fn free<'p>(m: &mut Mtr<'p>, ts: &'p Tablespace, segment: Segment, page: PageNo) -> Result<()> {
    alloc::Work::begin(m, ts)?.free(segment, page)
}

/// Lets the file grow when the pages in use come near its end: before the caller takes latches, so
/// that [`allocate`] rarely has to write under them. A full disk is no error here.
pub fn prepare(ts: &Tablespace) -> Result<()> {
    let highest = alloc::hints(ts)?.lock().highest;
    let end = ts.pages_in_file();
    if highest == 0 || highest + PAGES_AHEAD < end {
        return Ok(());
    }
    match ts.grow(PageNo(end)) {
        Err(Error::NoSpace { .. }) => Ok(()),
        done => done,
    }
}

/// The last AUTO_INCREMENT value that may have been used; 0 at first.
pub fn autoinc(ts: &Tablespace) -> Result<u64> {
    Ok(header(ts)?.autoinc)
}

/// Raises the AUTO_INCREMENT value to `value`; a lower one changes nothing.
pub fn bump_autoinc<'p>(m: &mut Mtr<'p>, ts: &'p Tablespace, value: u64) -> Result<()> {
    let page0 = m.exclusive(ts, HEADER)?;
    if value <= Header::of(m.page(page0)).autoinc {
        return Ok(());
    }
    write(m, page0, AUTOINC_AT, &value.to_le_bytes())
}

/// Sets the AUTO_INCREMENT value, which is asked for when the header page is latched.
pub fn settle_autoinc<'p>(
    m: &mut Mtr<'p>,
    ts: &'p Tablespace,
    value: impl FnOnce() -> u64,
) -> Result<()> {
    let page0 = m.exclusive(ts, HEADER)?;
    write(m, page0, AUTOINC_AT, &value().to_le_bytes())
}

fn write(m: &mut Mtr<'_>, held: Held, at: usize, bytes: &[u8]) -> Result<()> {
    m.apply(held, &PageOp::Write { at: at as u16, bytes })
}
