//! The body of a frame: the records of one mini-transaction.
//!
//! 1. `body = record*`; `record = kind u8 | length u24 | payload`; a page record's payload starts with `space
//!    u32 | page u32`. Numbers are little-endian. Guard: `records_come_back_as_they_were_pushed`.
//! 2. A record's length covers its payload exactly, so a reader can step over any record. Guard:
//!    `every_cut_is_an_error_and_not_a_panic`; `close_record` asserts the length.

use base::{Error, Lsn, PageId, PageNo, Result, SpaceId};
use stdx::bytes::{Reader, Truncated};

use crate::kind;

/// Bytes in front of every record's payload.
const RECORD_HEADER_BYTES: usize = 4;
/// The longest payload, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = (1 << 24) - 1;

/// One record of a mini-transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A change of one page, in the page layer's encoding.
    Page {
        /// The page.
        page: PageId,
        /// The encoded operation.
        op: &'a [u8],
    },
    /// Anything else; see [`crate::kind`].
    Logical {
        /// Its kind.
        kind: u8,
        /// Its bytes.
        bytes: &'a [u8],
    },
}

/// Appends a page record whose operation `encode` writes.
///
/// # Panics
/// When the operation is longer than [`PAYLOAD_BYTES_MAX`]: no page operation comes near it.
pub fn push_page(body: &mut Vec<u8>, page: PageId, encode: impl FnOnce(&mut Vec<u8>)) {
    let at = body.len();
    let mut head = [kind::PAGE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    head[RECORD_HEADER_BYTES..8].copy_from_slice(&page.space.0.to_le_bytes());
    head[8..].copy_from_slice(&page.page.0.to_le_bytes());
    body.extend_from_slice(&head);
    encode(body);
    close_record(body, at);
}

/// Appends a logical record.
///
/// # Panics
/// When `bytes` is longer than [`PAYLOAD_BYTES_MAX`], or the kind is unknown or the page kind.
pub fn push_logical(body: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    assert!(kind::is_known(kind) && kind != kind::PAGE, "{kind} is no logical kind");
    let at = open_record(body, kind);
    body.extend_from_slice(bytes);
    close_record(body, at);
}

fn open_record(body: &mut Vec<u8>, kind: u8) -> usize {
    let at = body.len();
    body.extend_from_slice(&[kind, 0, 0, 0]);
    at
}

fn close_record(body: &mut [u8], at: usize) {
    let bytes = body.len() - at - RECORD_HEADER_BYTES;
    assert!(bytes <= PAYLOAD_BYTES_MAX, "a redo record of {bytes} bytes");
    body[at + 1..at + RECORD_HEADER_BYTES].copy_from_slice(&(bytes as u32).to_le_bytes()[..3]);
}

/// The records of a body, checked; after the first error the iterator ends.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    reader: Reader<'a>,
    lsn: Lsn,
}

/// Iterates over the records of a frame that starts at `lsn` (named in errors).
#[must_use]
pub fn records(body: &[u8], lsn: Lsn) -> Records<'_> {
    Records { reader: Reader::new(body), lsn }
}

impl<'a> Records<'a> {
    /// Where the next record begins in the body.
    #[must_use]
    pub fn position(&self) -> usize {
        self.reader.position()
    }

    fn parse(&mut self) -> std::result::Result<Record<'a>, &'static str> {
        let cut = |_: Truncated| "a redo record is cut off";
        let kind = self.reader.u8().map_err(cut)?;
        let bytes = self.reader.u24_le().map_err(cut)? as usize;
        let payload = self.reader.take(bytes).map_err(cut)?;
        if !kind::is_known(kind) {
            return Err("unknown kind of redo record");
        }
        if kind != kind::PAGE {
            return Ok(Record::Logical { kind, bytes: payload });
        }
        let mut payload = Reader::new(payload);
        let space = SpaceId(payload.u32_le().map_err(cut)?);
        let page = PageNo(payload.u32_le().map_err(cut)?);
        Ok(Record::Page { page: PageId { space, page }, op: payload.rest() })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    fn next(&mut self) -> Option<Result<Record<'a>>> {
        if self.reader.is_empty() {
            return None;
        }
        let parsed = self.parse();
        Some(parsed.map_err(|what| {
            self.reader = Reader::new(&[]);
            Error::CorruptLog { lsn: self.lsn, what }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageId = PageId::new(SpaceId(7), PageNo(9));

    fn sample() -> Vec<u8> {
        let mut body = Vec::new();
        push_page(&mut body, PAGE, |out| out.extend_from_slice(b"op"));
        push_logical(&mut body, kind::TRX, b"");
        push_page(&mut body, PAGE, |_| {});
        push_logical(&mut body, kind::BINLOG_EVENT, &[1; 300]);
        body
    }

    #[test]
    fn records_come_back_as_they_were_pushed() {
        let body = sample();
        let found: Vec<Record> = records(&body, Lsn(1)).map(Result::unwrap).collect();
        let expected = [
            Record::Page { page: PAGE, op: b"op" },
            Record::Logical { kind: kind::TRX, bytes: b"" },
            Record::Page { page: PAGE, op: b"" },
            Record::Logical { kind: kind::BINLOG_EVENT, bytes: &[1; 300] },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn every_cut_is_an_error_and_not_a_panic() {
        let body = sample();
        let whole = records(&body, Lsn(1)).count();
        for cut in 0..body.len() {
            let results: Vec<_> = records(&body[..cut], Lsn(1)).collect();
            let good = results.iter().filter(|r| r.is_ok()).count();
            assert!(good < whole);
            assert!(results.len() - good <= 1, "the iterator ends at the first error");
        }
    }

    #[test]
    fn damaged_bytes_never_panic_and_unknown_kinds_are_refused() {
        let mut rng = stdx::rng::Rng::new(3);
        for _ in 0..2000 {
            let mut body = sample();
            for _ in 0..1 + rng.below(4) {
                let at = rng.below(body.len() as u64) as usize;
                body[at] = rng.next_u64() as u8;
            }
            for _ in records(&body, Lsn(1)) {}
        }
        let mut body = sample();
        body[0] = 250;
        assert!(matches!(
            records(&body, Lsn(5)).next(),
            Some(Err(Error::CorruptLog { lsn: Lsn(5), .. }))
        ));
    }
}
