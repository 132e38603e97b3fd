//! The header in front of a row's bytes in the clustered index.
//!
//! ```text
//! 0 trx id u48    6 roll pointer u56    13 row version u8, flags u8    15 row bytes
//! ```

use base::{Error, Result, RollPtr, TrxId};

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 15;

/// Flag: the row was deleted; committed, it waits for its removal.
const DELETED: u8 = 1;
/// Flag: values of the row lie outside of it (see `blob`).
const OUTSIDE: u8 = 2;

/// Who wrote a row, and where its version before is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowHeader {
    pub trx: TrxId,
    pub roll: RollPtr,
    /// Which of the table's layouts its bytes have (`older_rows`).
    pub version: u8,
    flags: u8,
}

/// What a reader may see of a row: its flags, and whether its layout is an older one; or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u16);

impl Seen {
    /// There is no row.
    pub const NOTHING: Seen = Seen(DELETED as u16);

    /// There is a row, all of which lies in its payload under the present layout: one test for the usual case.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.0 == 0
    }

    /// There is a row.
    #[inline]
    pub fn is_there(self) -> bool {
        self.0 & u16::from(DELETED) == 0
    }
}

impl RowHeader {
    /// Of a row that is written for table version `version`.
    pub fn new(trx: TrxId, roll: RollPtr, version: u8, outside: bool) -> RowHeader {
        RowHeader { trx, roll, version, flags: if outside { OUTSIDE } else { 0 } }
    }

    /// The same row with another writer, perhaps deleted.
    pub fn taken_by(self, trx: TrxId, roll: RollPtr, delete: bool) -> RowHeader {
        let deleted = if delete { DELETED } else { 0 };
        RowHeader { trx, roll, version: self.version, flags: self.flags & !DELETED | deleted }
    }

    /// The row has a delete mark.
    #[inline]
    pub fn deleted(&self) -> bool {
        self.flags & DELETED != 0
    }

    /// Values of the row lie outside of it.
    #[inline]
    pub fn outside(&self) -> bool {
        self.flags & OUTSIDE != 0
    }

    /// What somebody sees who may see this version, of a table whose present layout is number `present`.
    #[inline]
    pub fn seen(&self, present: u8) -> Seen {
        Seen(u16::from(self.version ^ present) << 8 | u16::from(self.flags))
    }

    /// Reads the header of a clustered payload.
    #[inline]
    pub fn read(payload: &[u8]) -> Result<RowHeader> {
        let Some(h) = payload.first_chunk::<HEADER_BYTES>() else {
            return Err(Error::Internal("a clustered entry without a row header"));
        };
        let trx = u64::from_le_bytes([h[0], h[1], h[2], h[3], h[4], h[5], 0, 0]);
        Ok(RowHeader {
            trx: TrxId(trx),
            roll: RollPtr::from_bytes([h[6], h[7], h[8], h[9], h[10], h[11], h[12]]),
            version: h[13],
            flags: h[14],
        })
    }

    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut h = [0; HEADER_BYTES];
        h[..6].copy_from_slice(&self.trx.0.to_le_bytes()[..6]);
        h[6..13].copy_from_slice(&self.roll.to_bytes());
        h[13] = self.version;
        h[14] = self.flags;
        h
    }

    /// Puts the payload of a row into `out` (cleared first).
    pub fn payload(&self, row: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.bytes());
        out.extend_from_slice(row);
    }
}

/// The row bytes of a payload whose header was read.
pub(crate) fn row_bytes(payload: &[u8]) -> &[u8] {
    payload.get(HEADER_BYTES..).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::PageNo;

    #[test]
    fn the_header_comes_back() {
        let roll = RollPtr::new(true, 99, PageNo(70_000), 16_000);
        let h = RowHeader { trx: TrxId((1 << 48) - 1), roll, version: 7, flags: DELETED | OUTSIDE };
        let mut payload = Vec::new();
        h.payload(b"row", &mut payload);
        assert_eq!(RowHeader::read(&payload).unwrap(), h);
        assert_eq!(row_bytes(&payload), b"row");
        assert!(RowHeader::read(&payload[..14]).is_err());
    }
}
