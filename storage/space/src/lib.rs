//! Tablespaces: page allocation inside a data file.
//!
//! 1. Page 0 says how many pages were ever handed out and heads the list of free ones; a page is in
//!    the list, or above the count, or its owner's. All of it changes by logged writes inside the
//!    caller's mini-transaction, so a crash takes page and use back together.
//! 2. A free page's kind is `Free` and its body begins with the next free page.
//! 3. The file grows before anything is changed: a full disk is [`Error::NoSpace`] and nothing else.
//! 4. Page 0 is latched last (the pool's latch order), and held to the commit.

use base::{Error, IndexId, PageBuf, PageId, PageNo, Result};
use page::{BODY_AT, PageKind, PageOp};
use pool::spacefile::{
    AUTOINC_AT, AUX_ROOT_AT, FREE_COUNT_AT, FREE_HEAD_AT, PAGE_COUNT_AT, read_u32, read_u64,
};
use pool::{Held, Mtr, Tablespace};

#[cfg(test)]
mod tests;

/// The page that says what is in the file.
const HEADER: PageNo = PageNo(0);

/// What page 0 says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Pages ever handed out, page 0 included.
    pub page_count: u32,
    /// First free page; [`PageNo::NONE`] when there is none.
    pub free_head: PageNo,
    /// Pages in the free list.
    pub free_count: u32,
    /// Last AUTO_INCREMENT value that may have been used.
    pub autoinc: u64,
    /// Root page of a half-built index; [`PageNo::NONE`] when there is none.
    pub aux_root: PageNo,
}

impl Header {
    fn of(page: &PageBuf) -> Header {
        Header {
            page_count: read_u32(page, PAGE_COUNT_AT),
            free_head: PageNo(read_u32(page, FREE_HEAD_AT)),
            free_count: read_u32(page, FREE_COUNT_AT),
            autoinc: read_u64(page, AUTOINC_AT),
            aux_root: PageNo(read_u32(page, AUX_ROOT_AT)),
        }
    }
}

/// Reads page 0 under a shared latch.
pub fn header(ts: &Tablespace) -> Result<Header> {
    Ok(Header::of(&*ts.shared(HEADER)?))
}

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
    /// Rollback segments and undo pages: one segment of the undo space, index 0.
    Undo = 5,
}

/// Pages that belong together: they are allocated near each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Segment {
    /// The index whose pages they are; 0 where there is none.
    pub index: IndexId,
    /// What they hold.
    pub kind: SegmentKind,
}

impl Segment {
    /// The segment of `index` for pages of `kind`.
    pub const fn new(index: IndexId, kind: SegmentKind) -> Segment {
        Segment { index, kind }
    }

    /// The only segment of the undo space.
    pub const UNDO: Segment = Segment::new(IndexId(0), SegmentKind::Undo);
}

/// Takes a page of `segment` for the caller, who makes it anew ([`Mtr::fresh`], then an Init with
/// the segment's index id) in the same mini-transaction.
///
/// [`Error::NoSpace`]: nothing has changed. [`Error::Corrupt`] when the free list contradicts
/// itself, [`Error::Io`].
pub fn allocate<'p>(m: &mut Mtr<'p>, ts: &'p Tablespace, segment: Segment) -> Result<PageNo> {
    allocate_near(m, ts, segment, PageNo::NONE)
}

/// As [`allocate`], close behind page `near` if there is room.
pub fn allocate_near<'p>(
    m: &mut Mtr<'p>,
    ts: &'p Tablespace,
    _segment: Segment,
    _near: PageNo,
) -> Result<PageNo> {
    let page0 = m.exclusive(ts, HEADER)?;
    let header = Header::of(m.page(page0));
    if header.free_head != PageNo::NONE {
        return take_free(m, ts, page0, &header);
    }
    let page = PageNo(header.page_count);
    ts.grow(page)?;
    write(m, page0, PAGE_COUNT_AT, &(page.0 + 1).to_le_bytes())?;
    Ok(page)
}

/// Unlinks the head of the free list.
fn take_free<'p>(
    m: &mut Mtr<'p>,
    ts: &'p Tablespace,
    page0: Held,
    header: &Header,
) -> Result<PageNo> {
    let page = header.free_head;
    let corrupt = |at: PageNo, offset: usize, what| {
        let page = PageId::new(ts.id(), at);
        Err(Error::Corrupt { page, offset: offset as u32, what })
    };
    if page == HEADER || page.0 >= header.page_count || header.free_count == 0 {
        return corrupt(HEADER, FREE_HEAD_AT, "the free list begins with an impossible page");
    }
    let held = m.exclusive_private(ts, page)?;
    if page::header::kind(m.page(held)) != Some(PageKind::Free) {
        return corrupt(page, 0, "a page of the free list is in use");
    }
    let next = read_u32(m.page(held), BODY_AT);
    // Head and count lie apart; two small writes are less than one that spans them.
    write(m, page0, FREE_HEAD_AT, &next.to_le_bytes())?;
    write(m, page0, FREE_COUNT_AT, &(header.free_count - 1).to_le_bytes())?;
    Ok(page)
}

/// Gives a page back. The caller has made sure that nothing refers to it; its content is gone.
pub fn free<'p>(m: &mut Mtr<'p>, ts: &'p Tablespace, page: PageNo) -> Result<()> {
    let page0 = m.exclusive(ts, HEADER)?;
    let header = Header::of(m.page(page0));
    if page == HEADER || page.0 >= header.page_count {
        return Err(Error::Internal("a page that was never allocated was freed"));
    }
    let held = m.fresh(ts, page)?;
    let init = PageOp::Init {
        kind: PageKind::Free,
        level: 0,
        index_id: IndexId(0),
        low_fence: b"",
        high_fence: None,
    };
    m.apply(held, &init)?;
    write(m, held, BODY_AT, &header.free_head.0.to_le_bytes())?;
    write(m, page0, FREE_HEAD_AT, &page.0.to_le_bytes())?;
    write(m, page0, FREE_COUNT_AT, &(header.free_count + 1).to_le_bytes())
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

/// Remembers (or, with [`PageNo::NONE`], forgets) the root of an index that is being built, so that
/// recovery can free its pages.
pub fn set_aux_root<'p>(m: &mut Mtr<'p>, ts: &'p Tablespace, root: PageNo) -> Result<()> {
    let page0 = m.exclusive(ts, HEADER)?;
    write(m, page0, AUX_ROOT_AT, &root.0.to_le_bytes())
}

fn write(m: &mut Mtr<'_>, held: Held, at: usize, bytes: &[u8]) -> Result<()> {
    m.apply(held, &PageOp::Write { at: at as u16, bytes })
}
