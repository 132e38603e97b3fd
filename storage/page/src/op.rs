//! Page operations and their bytes in the redo log.
//!
//! 1. `decode(encode(op)) == op`, and the encoding has one form only. Guard: `apply_twice`,
//!    `garbage_ops_decode_or_fail`.
//! 2. Decoding checks lengths and kinds; whether an op fits its page is [`crate::apply`]'s to say. Guard:
//!    `garbage_ops_decode_or_fail`.

use crate::header::PageKind;
use base::{Error, IndexId, Lsn, PAGE_BYTES, Result, TrxId};
use stdx::bytes::{Put, Reader, Truncated};

/// One change of one page.
///
/// Keys and fences are whole keys; the page strips its prefix itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageOp<'a> {
    /// Makes the page an empty one of `kind`: everything but its id and LSN is reset.
    Init {
        /// The new kind.
        kind: PageKind,
        /// Height above the leaves; 0 unless `kind` is `Inner`.
        level: u8,
        /// Owner; 0 where there is none.
        index_id: IndexId,
        /// Smallest key that may be here; empty: no bound.
        low_fence: &'a [u8],
        /// Every key here is smaller; `None`: no bound.
        high_fence: Option<&'a [u8]>,
    },
    /// Inserts an entry before `slot`; keys stay in order, inside the fences.
    Insert {
        /// Slot that the new entry gets.
        slot: u16,
        /// Whole key.
        key: &'a [u8],
        /// Payload.
        payload: &'a [u8],
    },
    /// Adds entries after the last one, in order (the right half of a split).
    Append {
        /// What the keys begin with and `entries` leaves out; the page's own prefix is this or longer.
        prefix: &'a [u8],
        /// `{key_len u16, payload_len u16, key after prefix, payload}` each; see [`AppendBuf`].
        entries: &'a [u8],
    },
    /// Removes an entry.
    Remove {
        /// Its slot.
        slot: u16,
    },
    /// Gives an entry another payload, of any length that fits.
    Replace {
        /// Its slot.
        slot: u16,
        /// The new payload.
        payload: &'a [u8],
    },
    /// Overwrites bytes inside an entry's payload.
    Patch {
        /// Its slot.
        slot: u16,
        /// First byte inside the payload.
        at: u16,
        /// The new bytes.
        bytes: &'a [u8],
    },
    /// Packs the heap so that all free bytes are in one piece.
    Compact,
    /// Drops the entries from `slot` on and lowers the high fence (the left half of a split).
    Truncate {
        /// First slot that goes.
        slot: u16,
        /// The new high fence; above every key that stays.
        high_fence: &'a [u8],
    },
    /// Sets `max_trx_id` in the header.
    SetMaxTrxId {
        /// The new value.
        trx: TrxId,
    },
    /// Replaces the whole page but its id, LSN and checksum. A node image must pass [`crate::check_node`].
    Image {
        /// `PAGE_BYTES` bytes.
        bytes: &'a [u8],
    },
    /// Overwrites body bytes of a page that is no B+tree node.
    Write {
        /// First byte inside the page, from [`crate::BODY_AT`] up.
        at: u16,
        /// The new bytes.
        bytes: &'a [u8],
    },
}

const INIT: u8 = 1;
const INIT_RIGHTMOST: u8 = 2;
const INSERT: u8 = 3;
const APPEND: u8 = 4;
const REMOVE: u8 = 5;
const REPLACE: u8 = 6;
const PATCH: u8 = 7;
const COMPACT: u8 = 8;
const TRUNCATE: u8 = 9;
const SET_MAX_TRX_ID: u8 = 10;
const IMAGE: u8 = 11;
const WRITE: u8 = 12;

fn put_short(out: &mut Vec<u8>, bytes: &[u8]) {
    debug_assert!(bytes.len() <= PAGE_BYTES);
    out.put_u16_le(bytes.len() as u16);
    out.put_bytes(bytes);
}

/// A tag and the numbers behind it, at once.
fn put_tag<const N: usize>(out: &mut Vec<u8>, tag: u8, numbers: [u16; N]) {
    const LONGEST: usize = 7;
    let mut head = [tag; LONGEST];
    for (to, number) in head[1..].as_chunks_mut::<2>().0.iter_mut().zip(numbers) {
        *to = number.to_le_bytes();
    }
    out.put_bytes(&head[..1 + 2 * N]);
}

fn take_short<'a>(r: &mut Reader<'a>) -> std::result::Result<&'a [u8], Truncated> {
    let n = r.u16_le()?;
    r.take(usize::from(n))
}

impl<'a> PageOp<'a> {
    /// Whether an encoded op makes its page anew, whatever was there: what came before it is of no
    /// meaning then. Looks at the first byte only.
    pub fn makes_anew(encoded: &[u8]) -> bool {
        matches!(encoded.first(), Some(&(INIT | INIT_RIGHTMOST | IMAGE)))
    }

    /// First byte and length of an encoded [`PageOp::Write`]. Looks at these fields only.
    pub fn raw_write(encoded: &[u8]) -> Option<(u16, u16)> {
        match encoded {
            [WRITE, a, b, c, d, ..] => {
                Some((u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d])))
            }
            _ => None,
        }
    }

    /// Appends the op's bytes. Its byte strings are at most a page long (what [`crate::apply`] accepts is).
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            PageOp::Init { kind, level, index_id, low_fence, high_fence } => {
                out.put_u8(if high_fence.is_some() { INIT } else { INIT_RIGHTMOST });
                out.put_u8(kind as u8);
                out.put_u8(level);
                out.put_u64_le(index_id.0);
                put_short(out, low_fence);
                if let Some(high) = high_fence {
                    put_short(out, high);
                }
            }
            PageOp::Insert { slot, key, payload } => {
                debug_assert!(key.len() <= PAGE_BYTES);
                put_tag(out, INSERT, [slot, key.len() as u16]);
                out.put_bytes(key);
                put_short(out, payload);
            }
            PageOp::Append { prefix, entries } => {
                out.put_u8(APPEND);
                put_short(out, prefix);
                put_short(out, entries);
            }
            PageOp::Remove { slot } => {
                out.put_u8(REMOVE);
                out.put_u16_le(slot);
            }
            PageOp::Replace { slot, payload } => {
                debug_assert!(payload.len() <= PAGE_BYTES);
                put_tag(out, REPLACE, [slot, payload.len() as u16]);
                out.put_bytes(payload);
            }
            PageOp::Patch { slot, at, bytes } => {
                debug_assert!(bytes.len() <= PAGE_BYTES);
                put_tag(out, PATCH, [slot, at, bytes.len() as u16]);
                out.put_bytes(bytes);
            }
            PageOp::Compact => out.put_u8(COMPACT),
            PageOp::Truncate { slot, high_fence } => {
                out.put_u8(TRUNCATE);
                out.put_u16_le(slot);
                put_short(out, high_fence);
            }
            PageOp::SetMaxTrxId { trx } => {
                out.put_u8(SET_MAX_TRX_ID);
                out.put_u64_le(trx.0);
            }
            PageOp::Image { bytes } => {
                out.put_u8(IMAGE);
                put_short(out, bytes);
            }
            PageOp::Write { at, bytes } => {
                debug_assert!(bytes.len() <= PAGE_BYTES);
                put_tag(out, WRITE, [at, bytes.len() as u16]);
                out.put_bytes(bytes);
            }
        }
    }

    /// Reads one op from the front of `bytes`, and how many bytes it took.
    ///
    /// Errors: [`Error::CorruptLog`] with LSN 0; the caller knows the position.
    pub fn decode(bytes: &'a [u8]) -> Result<(PageOp<'a>, usize)> {
        let bad = |what| Error::CorruptLog { lsn: Lsn::ZERO, what };
        let mut r = Reader::new(bytes);
        let op = Self::read(&mut r).map_err(|Truncated| bad("page operation is cut short"))?;
        let op = op.ok_or_else(|| bad("unknown page operation"))?;
        Ok((op, r.position()))
    }

    fn read(r: &mut Reader<'a>) -> std::result::Result<Option<PageOp<'a>>, Truncated> {
        Ok(Some(match r.u8()? {
            tag @ (INIT | INIT_RIGHTMOST) => {
                let kind = PageKind::from_u8(r.u8()?);
                let level = r.u8()?;
                let index_id = IndexId(r.u64_le()?);
                let low_fence = take_short(r)?;
                let high_fence = if tag == INIT { Some(take_short(r)?) } else { None };
                let Some(kind) = kind else { return Ok(None) };
                PageOp::Init { kind, level, index_id, low_fence, high_fence }
            }
            INSERT => {
                PageOp::Insert { slot: r.u16_le()?, key: take_short(r)?, payload: take_short(r)? }
            }
            APPEND => PageOp::Append { prefix: take_short(r)?, entries: take_short(r)? },
            REMOVE => PageOp::Remove { slot: r.u16_le()? },
            REPLACE => PageOp::Replace { slot: r.u16_le()?, payload: take_short(r)? },
            PATCH => PageOp::Patch { slot: r.u16_le()?, at: r.u16_le()?, bytes: take_short(r)? },
            COMPACT => PageOp::Compact,
            TRUNCATE => PageOp::Truncate { slot: r.u16_le()?, high_fence: take_short(r)? },
            SET_MAX_TRX_ID => PageOp::SetMaxTrxId { trx: TrxId(r.u64_le()?) },
            IMAGE => PageOp::Image { bytes: take_short(r)? },
            WRITE => PageOp::Write { at: r.u16_le()?, bytes: take_short(r)? },
            _ => return Ok(None),
        }))
    }
}

/// Builds the bytes of [`PageOp::Append`].
#[derive(Default, Debug)]
pub struct AppendBuf(Vec<u8>);

impl AppendBuf {
    /// An empty one.
    pub fn new() -> AppendBuf {
        AppendBuf::default()
    }

    /// Makes it empty; the memory stays.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds an entry; `suffix` is its key without the prefix that [`AppendBuf::op`] is given.
    pub fn push(&mut self, suffix: &[u8], payload: &[u8]) {
        self.0.put_u16_le(suffix.len() as u16);
        self.0.put_u16_le(payload.len() as u16);
        self.0.put_bytes(suffix);
        self.0.put_bytes(payload);
    }

    /// The op that adds these entries, all of whose keys begin with `prefix`.
    pub fn op<'a>(&'a self, prefix: &'a [u8]) -> PageOp<'a> {
        PageOp::Append { prefix, entries: &self.0 }
    }
}

/// The entries of an [`PageOp::Append`]; `None` inside when the bytes are cut short.
pub(crate) struct Entries<'a>(pub Reader<'a>);

impl<'a> Entries<'a> {
    fn read(&mut self) -> std::result::Result<(&'a [u8], &'a [u8]), Truncated> {
        let (k, p) = (self.0.u16_le()?, self.0.u16_le()?);
        Ok((self.0.take(usize::from(k))?, self.0.take(usize::from(p))?))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Option<(&'a [u8], &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() { None } else { Some(self.read().ok()) }
    }
}
