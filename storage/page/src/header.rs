//! The 64-byte header that every page begins with.
//!
//! 1. Accessors never fail: they read fixed offsets of a whole page. Guard: the type [`PageBuf`].
//! 2. The checksum covers everything after itself; it is stamped into a copy just before the write. Guard:
//!    `checksum_and_identity_are_verified`; every read and write of the pool's crash campaigns.
//! 3. A page of zeroes only was never written. Guard: [`verify`], `checksum_and_identity_are_verified`.
//!
//! ```text
//!  0 crc32c u32      4 space u32       8 page u32    12 kind u8, level u8, format u8, flags u8
//! 16 page_lsn u64                     24 index_id u64
//! 32 max_trx_id u64                   40 slots u16, heap_low u16, garbage u16, prefix_len u16
//! 48 low fence off u16, len u16, high fence off u16, len u16
//! 56 reserved
//! ```

use base::{Error, FORMAT_VERSION, IndexId, Lsn, PAGE_BYTES, PageBuf, PageId, PageNo, Result};
use base::{SpaceId, TrxId};

/// Bytes of the header.
pub const BYTES: usize = 64;

pub(crate) const SPACE: usize = 4;
pub(crate) const PAGE: usize = 8;
pub(crate) const KIND: usize = 12;
pub(crate) const LEVEL: usize = 13;
pub(crate) const FORMAT: usize = 14;
pub(crate) const FLAGS: usize = 15;
pub(crate) const LSN: usize = 16;
pub(crate) const INDEX: usize = 24;
pub(crate) const MAX_TRX: usize = 32;
pub(crate) const SLOTS: usize = 40;
pub(crate) const HEAP_LOW: usize = 42;
pub(crate) const GARBAGE: usize = 44;
pub(crate) const PREFIX_LEN: usize = 46;
pub(crate) const LOW_OFF: usize = 48;
pub(crate) const LOW_LEN: usize = 50;
pub(crate) const HIGH_OFF: usize = 52;
pub(crate) const HIGH_LEN: usize = 54;

/// Flag: the node has a high fence (without it, the node is the rightmost of its level).
pub(crate) const HAS_HIGH: u8 = 1;

/// What a page is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum PageKind {
    /// Never used.
    Free = 0,
    /// B+tree leaf (slotted).
    Leaf = 1,
    /// B+tree inner node (slotted).
    Inner = 2,
    /// Page 0 of a tablespace.
    SpaceHeader = 3,
    /// Header of a rollback segment.
    RollbackSegment = 4,
    /// Undo records.
    Undo = 5,
    /// Bytes of one owner's own layout (doublewrite header).
    Raw = 6,
    /// Which pages of a tablespace are whose: every 16,384th page but page 0, which says it too.
    ExtentMap = 7,
    /// A piece of a value that lies outside of its row; the header names the row's index.
    Blob = 8,
}

impl PageKind {
    /// The kind with this number, if there is one.
    pub const fn from_u8(v: u8) -> Option<PageKind> {
        Some(match v {
            0 => PageKind::Free,
            1 => PageKind::Leaf,
            2 => PageKind::Inner,
            3 => PageKind::SpaceHeader,
            4 => PageKind::RollbackSegment,
            5 => PageKind::Undo,
            6 => PageKind::Raw,
            7 => PageKind::ExtentMap,
            8 => PageKind::Blob,
            _ => return None,
        })
    }

    /// A slotted B+tree page.
    pub const fn is_node(self) -> bool {
        matches!(self, PageKind::Leaf | PageKind::Inner)
    }
}

/// Two bytes of the page, little endian. `at` is within the page: offsets are constants or checked before.
pub(crate) fn read_u16(page: &PageBuf, at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}

/// Four bytes of the page, little endian; `at` as in `read_u16`.
pub fn read_u32(page: &PageBuf, at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// Eight bytes of the page, little endian; `at` as in `read_u16`.
pub fn read_u64(page: &PageBuf, at: usize) -> u64 {
    let mut b = [0; 8];
    b.copy_from_slice(&page[at..at + 8]);
    u64::from_le_bytes(b)
}

pub(crate) fn put_u16(page: &mut PageBuf, at: usize, v: u16) {
    page[at..at + 2].copy_from_slice(&v.to_le_bytes());
}

pub(crate) fn put_u64(page: &mut PageBuf, at: usize, v: u64) {
    page[at..at + 8].copy_from_slice(&v.to_le_bytes());
}

/// The page's own idea of which page it is.
pub fn page_id(page: &PageBuf) -> PageId {
    PageId::new(SpaceId(read_u32(page, SPACE)), PageNo(read_u32(page, PAGE)))
}

/// Stamps which page this is; ops keep it. Done once when a page is made, and by redo on a fresh page.
pub fn set_page_id(page: &mut PageBuf, id: PageId) {
    page[SPACE..SPACE + 4].copy_from_slice(&id.space.0.to_le_bytes());
    page[PAGE..PAGE + 4].copy_from_slice(&id.page.0.to_le_bytes());
}

/// End of the last mini-transaction that changed the page.
pub fn lsn(page: &PageBuf) -> Lsn {
    Lsn(read_u64(page, LSN))
}

/// Stamps [`lsn`]; ops keep it.
pub fn set_lsn(page: &mut PageBuf, lsn: Lsn) {
    put_u64(page, LSN, lsn.0);
}

/// What the page is for; `None` when the byte is no known kind.
pub fn kind(page: &PageBuf) -> Option<PageKind> {
    PageKind::from_u8(page[KIND])
}

/// Height above the leaves; 0 for a leaf and for pages that are no nodes.
pub fn level(page: &PageBuf) -> u8 {
    page[LEVEL]
}

/// The index that a node belongs to.
pub fn index_id(page: &PageBuf) -> IndexId {
    IndexId(read_u64(page, INDEX))
}

/// The highest transaction that changed a secondary leaf, as far as its owner recorded it.
pub fn max_trx_id(page: &PageBuf) -> TrxId {
    TrxId(read_u64(page, MAX_TRX))
}

/// Stamps the checksum; call on the copy that is written, after [`set_page_id`] and [`set_lsn`].
pub fn seal(page: &mut PageBuf) {
    let crc = crc_of(page);
    page[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Checks what was read from disk for page `id`: checksum, identity, kind and format.
///
/// `Ok(false)`: all zeroes, the page was never written. Errors: [`Error::Corrupt`].
pub fn verify(page: &PageBuf, id: PageId) -> Result<bool> {
    if read_u32(page, 0) != crc_of(page) {
        if page.iter().all(|&b| b == 0) {
            return Ok(false);
        }
        return Err(Error::corrupt(id, "checksum mismatch"));
    }
    if page_id(page) != id {
        return Err(Error::Corrupt {
            page: id,
            offset: SPACE as u32,
            what: "another page's bytes",
        });
    }
    if kind(page).is_none() {
        return Err(Error::Corrupt { page: id, offset: KIND as u32, what: "unknown page kind" });
    }
    if u32::from(page[FORMAT]) > FORMAT_VERSION {
        return Err(Error::Corrupt { page: id, offset: FORMAT as u32, what: "newer page format" });
    }
    Ok(true)
}

fn crc_of(page: &PageBuf) -> u32 {
    let covered = &page[4..PAGE_BYTES];
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, covered) as u32
}
