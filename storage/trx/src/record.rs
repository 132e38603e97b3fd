//! One undo record's bytes.
//!
//! 1. A record lies in one page; `length` covers it. Guard: the assert of `Segment::put_next`; reading, the
//!    errors of `undo_page::record_in`.
//! 2. `previous` is the transaction's record before it: rollback and purge follow it. Guard: the assert of
//!    `Segment::put`; reading, the errors of `reader::follow` and `RecordCount::step`.
//!
//! ```text
//!  0 length u16, kind u8, flags u8, previous page u32    8 previous offset u16, trx id u48
//! 16 table id u64                         24 key length u16, body length u16, key, body
//! ```

use crate::segment::UndoPos;
use base::{Error, PageId, PageNo, Result, TableId, TrxId};
use stdx::bytes::{Put, Reader, Truncated};

/// Bytes in front of the key.
const HEADER_BYTES: usize = 28;

/// Flag: after the commit there is something to remove.
const PURGE: u8 = 1;

/// What a record undoes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecordKind {
    /// A new row; no body.
    Insert = 1,
    /// A row was given another payload; the body is the payload before.
    Update = 2,
    /// Only the header of a row's payload changed (delete mark, lock); the body is the header
    /// before.
    Header = 3,
    /// A tablespace was made; the body is its id, u32.
    CreateSpace = 4,
    /// An index was made; the body is space u32, root page u32, index id u64.
    CreateIndex = 5,
    /// Pages are being written for a value outside of its row; the body is the first page, u32.
    BlobRun = 6,
    /// An index is dropped: its pages are freed after the commit. The body is as of `CreateIndex`.
    DropIndex = 7,
    /// A transaction that has something to purge has committed; `previous` is its last record. The
    /// body is the segment's commit record before: page u32, offset u16, and whose it is, u48.
    Commit = 8,
    /// The transaction is prepared. The body is the branch's name and tables that it wrote to, see
    /// [`crate::branch`]; one that wrote to many has several such records, one after the other.
    Prepare = 9,
}

impl RecordKind {
    /// The record has a version of a row that views may need.
    pub(crate) fn keeps_a_version(self) -> bool {
        matches!(self, RecordKind::Update | RecordKind::Header)
    }
}

/// A decoded undo record.
#[derive(Clone, Copy, Debug)]
pub struct UndoRecord<'a> {
    /// What it undoes.
    pub kind: RecordKind,
    /// After the commit there is something to remove.
    pub purge: bool,
    /// The record before it.
    pub previous: UndoPos,
    /// Whose it is.
    pub trx: TrxId,
    /// The table, for row records.
    pub table: TableId,
    /// The clustered key, for row records.
    pub key: &'a [u8],
    /// See [`RecordKind`].
    pub body: &'a [u8],
}

/// Bytes of a record with this key and body.
pub const fn record_bytes(key: usize, body: usize) -> usize {
    HEADER_BYTES + key + body
}

impl<'a> UndoRecord<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(record_bytes(self.key.len(), self.body.len()) as u16);
        out.put_u8(self.kind as u8);
        out.put_u8(if self.purge { PURGE } else { 0 });
        out.put_u32_le(self.previous.page.0);
        out.put_u16_le(self.previous.offset);
        out.put_u48_le(self.trx.0);
        out.put_u64_le(self.table.0);
        out.put_u16_le(self.key.len() as u16);
        out.put_u16_le(self.body.len() as u16);
        out.put_bytes(self.key);
        out.put_bytes(self.body);
    }

    /// Length that the record at the front of `bytes` claims.
    pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
        let n = usize::from(u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]));
        (n >= HEADER_BYTES && n <= bytes.len()).then_some(n)
    }

    /// Reads a record from its bytes; `page` and `at` name the place in errors.
    pub fn decode(bytes: &'a [u8], page: PageId, at: u16) -> Result<UndoRecord<'a>> {
        let bad = |what| Error::Corrupt { page, offset: u32::from(at), what };
        let record = Self::read(&mut Reader::new(bytes));
        record.map_err(|_| bad("undo record cut short"))?.ok_or_else(|| bad("bad undo record"))
    }

    fn read(r: &mut Reader<'a>) -> std::result::Result<Option<UndoRecord<'a>>, Truncated> {
        let _length = r.u16_le()?;
        let kind = match r.u8()? {
            1 => RecordKind::Insert,
            2 => RecordKind::Update,
            3 => RecordKind::Header,
            4 => RecordKind::CreateSpace,
            5 => RecordKind::CreateIndex,
            6 => RecordKind::BlobRun,
            7 => RecordKind::DropIndex,
            8 => RecordKind::Commit,
            9 => RecordKind::Prepare,
            _ => return Ok(None),
        };
        let flags = r.u8()?;
        let previous = UndoPos { page: PageNo(r.u32_le()?), offset: r.u16_le()? };
        let trx = TrxId(r.u48_le()?);
        let table = TableId(r.u64_le()?);
        let (key, body) = (usize::from(r.u16_le()?), usize::from(r.u16_le()?));
        let (key, body) = (r.take(key)?, r.take(body)?);
        let purge = flags & PURGE != 0;
        Ok(Some(UndoRecord { kind, purge, previous, trx, table, key, body }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_damaged_ones_are_errors() {
        let record = UndoRecord {
            kind: RecordKind::Update,
            purge: true,
            previous: UndoPos { page: PageNo(130), offset: 300 },
            trx: TrxId(77),
            table: TableId(1025),
            key: b"key",
            body: b"the payload before",
        };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        assert_eq!(UndoRecord::length(&bytes), Some(record_bytes(3, 18)));
        let place = PageId::default();
        let back = UndoRecord::decode(&bytes, place, 0).unwrap();
        assert_eq!(format!("{back:?}"), format!("{record:?}"));
        for cut in 0..bytes.len() {
            assert!(UndoRecord::decode(&bytes[..cut], place, 0).is_err());
            assert_eq!(UndoRecord::length(&bytes[..cut]), None);
        }
        bytes[2] = 99;
        assert!(UndoRecord::decode(&bytes, place, 0).is_err());
    }
}
