//! Page 0 of a tablespace: what tells a file of ours from another, and whose it is.
//!
//! 1. The first three fields never change after the file was made; the rest belongs to the crate `space`, which
//!    changes it by logged writes. Guard: `check`, at every opening.
//! 2. Page 0 is written and durable before the file is used, so a file without it is not ours. Guard:
//!    `files_that_are_not_ours_are_refused`, `a_torn_page_0_does_not_keep_the_tablespace_from_opening`.

use base::{Error, FORMAT_VERSION, IndexId, PAGE_BYTES, PageBuf, PageId, PageNo, Result, SpaceId};
use page::header::read_u32;
use page::{BODY_AT, PageKind, PageOp};

/// First bytes of the body of page 0.
pub const MAGIC: &[u8; 8] = b"LIMPIDTS";
/// Offset of the format version, u32.
pub const FORMAT_AT: usize = BODY_AT + 8;
/// Offset of the tablespace's id, u32.
pub const SPACE_ID_AT: usize = BODY_AT + 12;
/// Offset of the number of extents that are described, u32; those above were never used.
pub const EXTENTS_AT: usize = BODY_AT + 16;
/// Offset of the last AUTO_INCREMENT value reserved, u64.
pub const AUTOINC_AT: usize = BODY_AT + 24;
/// Offset of the flags, u32; none is defined yet.
pub const FLAGS_AT: usize = BODY_AT + 32;
/// First byte after the header's fields.
const END: usize = BODY_AT + 36;

/// Pages of an extent: the unit in which a file grows and in which large segments get their pages.
pub const EXTENT_PAGES: u32 = 64;
/// Extents that one page describes: page 0 the first ones, page 16384 the next ones, and so on.
pub const MAP_EXTENTS: u32 = 256;
/// Bytes that describe one extent: map of used pages u64, then owner and state (crate `space`).
pub const EXTENT_BYTES: usize = 16;
/// Offset of the descriptions, in page 0 and in every other page that has them.
pub const MAP_AT: usize = 256;
/// Number of segments that page 0 has room for.
pub const SEGMENTS: usize = 512;
/// Bytes of one segment's entry (crate `space`).
pub const SEGMENT_BYTES: usize = 16;
/// Offset of the segments' entries in page 0.
pub const SEGMENTS_AT: usize = MAP_AT + MAP_EXTENTS as usize * EXTENT_BYTES;
/// State byte of an extent whose pages are given out one by one; its owner is 0.
pub const EXTENT_SHARED: u8 = 1;

/// What describes the first extent that a page of descriptions covers while only that page itself
/// is used: the extent is shared.
pub const FIRST_EXTENT: [u8; EXTENT_BYTES] =
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, EXTENT_SHARED];

/// Page 0 of a new tablespace, sealed.
pub(crate) fn first_page(id: SpaceId, page: &mut PageBuf) -> Result<()> {
    page.fill(0);
    page::header::set_page_id(page, PageId::new(id, PageNo(0)));
    let init = PageOp::Init {
        kind: PageKind::SpaceHeader,
        level: 0,
        index_id: IndexId(0),
        low_fence: b"",
        high_fence: None,
    };
    page::apply(page, &init)?;
    let mut body = [0u8; END - BODY_AT];
    let mut put = |at: usize, bytes: &[u8]| {
        body[at - BODY_AT..at - BODY_AT + bytes.len()].copy_from_slice(bytes);
    };
    put(BODY_AT, MAGIC);
    put(FORMAT_AT, &FORMAT_VERSION.to_le_bytes());
    put(SPACE_ID_AT, &id.0.to_le_bytes());
    put(EXTENTS_AT, &1u32.to_le_bytes());
    page::apply(page, &PageOp::Write { at: BODY_AT as u16, bytes: &body })?;
    page::apply(page, &PageOp::Write { at: MAP_AT as u16, bytes: &FIRST_EXTENT })?;
    page::header::seal(page);
    Ok(())
}

/// Checks that page 0, whose checksum is known to be good or bad, begins a tablespace `id`.
pub(crate) fn check(page: &PageBuf, id: SpaceId, path: &str) -> Result<()> {
    let foreign = |what: String| Err(Error::Foreign { path: path.into(), what });
    if !page[BODY_AT..].starts_with(MAGIC) {
        return foreign("not a Limpid tablespace".into());
    }
    let version = read_u32(page, FORMAT_AT);
    if version > FORMAT_VERSION {
        return foreign(format!("format {version} is newer than this server's {FORMAT_VERSION}"));
    }
    let found = read_u32(page, SPACE_ID_AT);
    if found != id.0 {
        return foreign(format!("holds tablespace {found}, not {id}"));
    }
    page::header::verify(page, PageId::new(id, PageNo(0))).map(|_| ())
}

const _: () = assert!(END <= MAP_AT && SEGMENTS_AT + SEGMENTS * SEGMENT_BYTES <= PAGE_BYTES);
