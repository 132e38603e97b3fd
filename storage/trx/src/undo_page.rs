//! An undo page: what it says besides its records, and how a record is read from it.
//!
//! 1. `top` of a segment's first page names the page that is written now; the fields of that page
//!    are the segment's. What other pages say there is of no meaning, but for the stamp. Guard: the assert of
//!    `Segment::put`, `a_crash_leaves_the_records_up_to_the_last_one_that_counts`.
//! 2. The stamp says whose records a page holds: since it was begun, the `starter` wrote there and
//!    transactions that took their ids afterwards, none of them below `next`. A page is begun anew only when
//!    everybody who wrote there has ended and is purged. So a record that transaction t wrote there is
//!    there still if and only if t is the starter or not below `next`. Guard: the assert of `Segment::put`,
//!    `records_of_an_ended_transaction_are_there_until_their_page_is_written_again`.
//!
//! ```text
//!  64 next page of the segment u32, its first page u32, its top page u32 (first page only)
//!  76 state u8, flags u8, trx id u48, last page u32, last offset u16       (hot: every record)
//!  90 rseg u8, slot u16, purged-to trx id u48, newest commit record page u32, offset u16, trx id u48
//! 111 stamp: starter u48, next u48                                     128 records
//! ```

use crate::record::{RecordKind, UndoRecord, record_bytes};
use crate::segment::{State, UndoPos};
use base::{Error, IndexId, PAGE_BYTES, PageBuf, PageId, PageNo, Result, TrxId, UNDO_SPACE};
use page::header::{self, read_u32};
use page::{BODY_AT, PageKind, PageOp};
use pool::{Held, Mtr, Tablespace};
use stdx::bytes::{Put, Reader, Truncated};

pub(crate) const NEXT_AT: u16 = BODY_AT as u16;
pub(crate) const TOP_AT: u16 = NEXT_AT + 8;
const FIELDS_AT: u16 = NEXT_AT + 12;
const HOT_BYTES: usize = 14;
const FIELDS_BYTES: usize = 47;
const STAMP_AT: usize = FIELDS_AT as usize + FIELDS_BYTES - 12;
/// Where a page's first record lies.
pub(crate) const RECORDS_AT: u16 = 128;
/// Bytes of a commit record, for which there is always room left.
pub(crate) const COMMIT_BYTES: usize = record_bytes(0, 12);
/// The longest record that a page takes.
pub(crate) const RECORD_BYTES_MAX: usize = PAGE_BYTES - RECORDS_AT as usize - COMMIT_BYTES;

const PURGE: u8 = 1;
const DROPS: u8 = 2;

const _: () = assert!(FIELDS_AT as usize + FIELDS_BYTES <= RECORDS_AT as usize);
const _: () = assert!(record_bytes(0, 0) + page::ENTRY_BYTES_MAX + 64 <= RECORD_BYTES_MAX);

/// Invariant 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub starter: TrxId,
    pub next: TrxId,
}

impl Stamp {
    pub fn has(self, trx: TrxId) -> bool {
        trx == self.starter || trx >= self.next
    }

    fn of(page: &PageBuf) -> Stamp {
        Stamp { starter: get_u48(page, STAMP_AT), next: get_u48(page, STAMP_AT + 6) }
    }
}

/// What the top page says of its segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub state: State,
    /// Some record asks for work after the commit.
    pub purge: bool,
    /// Some record drops an index.
    pub drops: bool,
    /// Whose the segment is, or was last.
    pub trx: TrxId,
    /// The last record that counts.
    pub last: UndoPos,
    pub rseg: u8,
    pub slot: u16,
    /// Commit records up to this transaction's are purged.
    pub purged_to: TrxId,
    /// The newest commit record, and whose it is.
    pub commit: UndoPos,
    pub commit_trx: TrxId,
    pub stamp: Stamp,
}

impl Fields {
    /// Those of a segment that nobody has written yet.
    pub fn new((rseg, slot): (u8, u16), stamp: Stamp) -> Fields {
        Fields {
            state: State::Free,
            purge: false,
            drops: false,
            trx: TrxId::NONE,
            last: UndoPos::NONE,
            rseg,
            slot,
            purged_to: TrxId::NONE,
            commit: UndoPos::NONE,
            commit_trx: TrxId::NONE,
            stamp,
        }
    }

    /// Writes the fields, or the hot ones only.
    pub fn write(&self, mtr: &mut Mtr<'_>, page: Held, hot: bool) -> Result<()> {
        let mut out = [0u8; FIELDS_BYTES];
        let flags = if self.purge { PURGE } else { 0 } | if self.drops { DROPS } else { 0 };
        out[0] = self.state as u8;
        out[1] = flags;
        put_u48(&mut out, 2, self.trx);
        put_pos(&mut out, 8, self.last);
        out[14] = self.rseg;
        out[15..17].copy_from_slice(&self.slot.to_le_bytes());
        put_u48(&mut out, 17, self.purged_to);
        put_pos(&mut out, 23, self.commit);
        put_u48(&mut out, 29, self.commit_trx);
        put_u48(&mut out, 35, self.stamp.starter);
        put_u48(&mut out, 41, self.stamp.next);
        let bytes = if hot { &out[..HOT_BYTES] } else { &out[..] };
        mtr.apply(page, &PageOp::Write { at: FIELDS_AT, bytes })
    }

    /// Reads the fields of a top page.
    pub fn read(page: &PageBuf, no: PageNo) -> Result<Fields> {
        let bad = || Error::corrupt(PageId::new(UNDO_SPACE, no), "bad state of an undo segment");
        let fields = Self::decode(&page[usize::from(FIELDS_AT)..]);
        fields.map_err(|_| bad())?.ok_or_else(bad)
    }

    fn decode(bytes: &[u8]) -> std::result::Result<Option<Fields>, Truncated> {
        let mut r = Reader::new(bytes);
        let pos =
            |r: &mut Reader<'_>| Ok(UndoPos { page: PageNo(r.u32_le()?), offset: r.u16_le()? });
        let state = match r.u8()? {
            0 => State::Free,
            1 => State::Active,
            2 => State::Prepared,
            3 => State::Committed,
            _ => return Ok(None),
        };
        let flags = r.u8()?;
        Ok(Some(Fields {
            state,
            purge: flags & PURGE != 0,
            drops: flags & DROPS != 0,
            trx: TrxId(r.u48_le()?),
            last: pos(&mut r)?,
            rseg: r.u8()? & 0x7f,
            slot: r.u16_le()?,
            purged_to: TrxId(r.u48_le()?),
            commit: pos(&mut r)?,
            commit_trx: TrxId(r.u48_le()?),
            stamp: Stamp { starter: TrxId(r.u48_le()?), next: TrxId(r.u48_le()?) },
        }))
    }
}

fn put_u48(out: &mut [u8], at: usize, trx: TrxId) {
    out[at..at + 6].copy_from_slice(&trx.0.to_le_bytes()[..6]);
}

fn put_pos(out: &mut [u8], at: usize, pos: UndoPos) {
    out[at..at + 4].copy_from_slice(&pos.page.0.to_le_bytes());
    out[at + 4..at + 6].copy_from_slice(&pos.offset.to_le_bytes());
}

fn get_u48(page: &PageBuf, at: usize) -> TrxId {
    let high = u64::from(u16::from_le_bytes([page[at + 4], page[at + 5]]));
    TrxId(u64::from(read_u32(page, at)) | high << 32)
}

/// The page after `page` in its segment's chain.
pub(crate) fn next_of(page: &PageBuf) -> PageNo {
    PageNo(read_u32(page, usize::from(NEXT_AT)))
}

/// The top page that a first page names.
pub(crate) fn top_of(page: &PageBuf) -> PageNo {
    PageNo(read_u32(page, usize::from(TOP_AT)))
}

/// An error unless `page` is an undo page.
pub(crate) fn checked(page: Box<PageBuf>, no: PageNo) -> Result<Box<PageBuf>> {
    match header::kind(&page) {
        Some(PageKind::Undo) => Ok(page),
        _ => Err(Error::corrupt(PageId::new(UNDO_SPACE, no), "not an undo page")),
    }
}

/// A fresh undo page in the caller's mini-transaction, for the segment whose first page is `first`
/// (`None`: this one), with the links given; its fields are to be written.
pub(crate) fn new_page<'p>(
    mtr: &mut Mtr<'p>,
    undo: &'p Tablespace,
    first: Option<PageNo>,
    next: PageNo,
) -> Result<(Held, PageNo)> {
    let no = space::allocate(mtr, undo, space::Segment::UNDO)?;
    let held = mtr.fresh(undo, no)?;
    let (kind, index_id) = (PageKind::Undo, IndexId(0));
    mtr.apply(held, &PageOp::Init { kind, level: 0, index_id, low_fence: &[], high_fence: None })?;
    let mut links = Vec::with_capacity(12);
    links.put_u32_le(next.0);
    links.put_u32_le(first.unwrap_or(no).0);
    links.put_u32_le(no.0);
    mtr.apply(held, &PageOp::Write { at: NEXT_AT, bytes: &links })?;
    Ok((held, no))
}

/// Copies the record at `pos` into `out`. Errors: [`Error::Corrupt`] when there is none (any more).
pub(crate) fn read_record(undo: &Tablespace, pos: UndoPos, out: &mut Vec<u8>) -> Result<()> {
    let page = undo.shared(pos.page)?;
    out.clear();
    out.extend_from_slice(record_in(&page, pos)?);
    Ok(())
}

/// Copies the record that transaction `trx` wrote at `pos` into `out`. `false`: it is not there any more
/// (invariant 2).
pub(crate) fn read_kept_record(
    undo: &Tablespace,
    pos: UndoPos,
    trx: TrxId,
    out: &mut Vec<u8>,
) -> Result<bool> {
    for may_be_old in [true, true, false] {
        let page = match undo.shared(pos.page) {
            // Its page was freed, and the room of a free page may be given back: then it is no page.
            Err(Error::Corrupt { .. }) if may_be_old => match space::is_in_use(undo, pos.page)? {
                false => return Ok(false),
                // Damage; or somebody has just made the page anew.
                true => continue,
            },
            page => page?,
        };
        if header::kind(&page) != Some(PageKind::Undo) || !Stamp::of(&page).has(trx) {
            return Ok(false);
        }
        out.clear();
        out.extend_from_slice(record_in(&page, pos)?);
        return Ok(true);
    }
    Err(Error::Internal("the last look at an undo page has an answer"))
}

/// The bytes of the record at `pos` of its page.
pub(crate) fn record_in(page: &PageBuf, pos: UndoPos) -> Result<&[u8]> {
    let place = PageId::new(UNDO_SPACE, pos.page);
    let bad = |what| Error::Corrupt { page: place, offset: u32::from(pos.offset), what };
    if pos.offset < RECORDS_AT {
        return Err(bad("undo position outside of the records"));
    }
    if header::kind(page) != Some(PageKind::Undo) {
        return Err(bad("not an undo page"));
    }
    let bytes = page.get(usize::from(pos.offset)..).unwrap_or(&[]);
    let n = UndoRecord::length(bytes).ok_or_else(|| bad("undo record runs out of its page"))?;
    Ok(&bytes[..n])
}

/// The body of a commit record: the commit record before it in the segment, and whose that is.
pub(crate) fn commit_body(before: UndoPos, trx: TrxId) -> [u8; 12] {
    let mut body = [0; 12];
    put_pos(&mut body, 0, before);
    put_u48(&mut body, 6, trx);
    body
}

/// See [`commit_body`]; `None`: it is no commit record.
pub(crate) fn commit_before(record: &UndoRecord<'_>) -> Option<(UndoPos, TrxId)> {
    if record.kind != RecordKind::Commit {
        return None;
    }
    let mut r = Reader::new(record.body);
    let pos = UndoPos { page: PageNo(r.u32_le().ok()?), offset: r.u16_le().ok()? };
    Some((pos, TrxId(r.u48_le().ok()?)))
}
