//! Ids of pages, log positions, transactions and dictionary objects.
//!
//! 1. Every id orders and hashes as its number does.
//! 2. [`RollPtr`] uses 56 bits, so that it travels in seven bytes.

use std::fmt;

/// Number of a page inside its tablespace, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PageNo(pub u32);

/// Number of a tablespace (one file).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SpaceId(pub u32);

/// Log sequence number: a byte position in the redo log's endless stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(pub u64);

/// Number of a transaction; 0 means none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TrxId(pub u64);

/// Number of a table in the dictionary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TableId(pub u64);

/// Number of an index in the dictionary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct IndexId(pub u64);

/// A page: its tablespace and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PageId {
    /// The tablespace.
    pub space: SpaceId,
    /// The page inside it.
    pub page: PageNo,
}

impl PageNo {
    /// "No page": the end of a chain. Never the number of a real page.
    pub const NONE: PageNo = PageNo(u32::MAX);
}

impl Lsn {
    /// Before the whole log; as a page's LSN: never changed by a logged operation.
    pub const ZERO: Lsn = Lsn(0);
    /// Above every real position: "no bound".
    pub const MAX: Lsn = Lsn(u64::MAX);
}

impl TrxId {
    /// No transaction.
    pub const NONE: TrxId = TrxId(0);
}

impl PageId {
    /// Page `page` of tablespace `space`.
    pub const fn new(space: SpaceId, page: PageNo) -> PageId {
        PageId { space, page }
    }
}

/// Where a row's previous version lies in the undo pages.
///
/// 56 bits on disk: insert flag 1 (highest) | rollback segment 7 | page 32 | offset 16.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RollPtr(pub u64);

impl RollPtr {
    /// No previous version and no insert: all zero.
    pub const NONE: RollPtr = RollPtr(0);
    /// Bytes of a roll pointer on disk.
    pub const BYTES: usize = 7;

    /// Packs the four parts; only the low 7 bits of `rseg` are kept.
    pub const fn new(insert: bool, rseg: u8, page: PageNo, offset: u16) -> RollPtr {
        RollPtr(
            ((insert as u64) << 55)
                | (((rseg & 0x7f) as u64) << 48)
                | ((page.0 as u64) << 16)
                | offset as u64,
        )
    }

    /// The undo record is an insert's: there is no older version.
    pub const fn is_insert(self) -> bool {
        self.0 >> 55 & 1 == 1
    }

    /// Rollback segment, 0..=127.
    pub const fn rseg(self) -> u8 {
        (self.0 >> 48) as u8 & 0x7f
    }

    /// Undo page.
    pub const fn page(self) -> PageNo {
        PageNo((self.0 >> 16) as u32)
    }

    /// Byte offset inside the undo page.
    pub const fn offset(self) -> u16 {
        self.0 as u16
    }

    /// The seven bytes kept in a row, little-endian.
    pub const fn to_bytes(self) -> [u8; RollPtr::BYTES] {
        let b = self.0.to_le_bytes();
        [b[0], b[1], b[2], b[3], b[4], b[5], b[6]]
    }

    /// The roll pointer kept in seven bytes.
    pub const fn from_bytes(b: [u8; RollPtr::BYTES]) -> RollPtr {
        RollPtr(u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], 0]))
    }
}

macro_rules! display_number {
    ($($name:ident)*) => { $(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )* };
}
display_number!(PageNo SpaceId Lsn TrxId TableId IndexId);

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.space, self.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roll_pointer_keeps_its_parts_in_seven_bytes() {
        for (insert, rseg, page, offset) in
            [(true, 127, u32::MAX, u16::MAX), (false, 0, 0, 0), (true, 5, 77, 16000)]
        {
            let r = RollPtr::new(insert, rseg, PageNo(page), offset);
            assert_eq!(r.0 >> 56, 0);
            let r = RollPtr::from_bytes(r.to_bytes());
            assert_eq!(
                (r.is_insert(), r.rseg(), r.page().0, r.offset()),
                (insert, rseg, page, offset)
            );
        }
    }

    #[test]
    fn a_page_id_reads_as_space_and_page() {
        assert_eq!(PageId::new(SpaceId(16), PageNo(3)).to_string(), "16:3");
    }
}

/// Isolation level of a transaction, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Isolation {
    /// Reads see the newest version of a row, committed or not.
    ReadUncommitted = 0,
    /// Each statement sees what was committed when it began.
    ReadCommitted = 1,
    /// All reads of a transaction see what was committed at the first of them.
    #[default]
    RepeatableRead = 2,
    /// As `RepeatableRead`; the reads of a transaction lock what they read.
    Serializable = 3,
}
