//! An undo segment: the chain of undo pages that one transaction writes.
//!
//! 1. The first page's header says whose segment it is, in which state, and which record is the
//!    last that still counts; a crash loses no more than what the log lost.
//! 2. Records are appended only: a statement rollback moves `last` back, never `top` (so a roll
//!    pointer that a reader holds stays true while its transaction is active).
//! 3. Pages of the chain stay with the segment when it becomes free; long chains are cut.
//! 4. Latch order: table pages, segment header, record page, space header.
//! 5. Records of an earlier transaction stay until later ones are written over them, perhaps in the
//!    middle of one, and what then stands there may well look like a record. The header names the
//!    transaction from its first record to the next one's: as long as it does, and the state is not
//!    free, all of its records are there ([`read_kept_record`]). Every page says where the header is.
//!
//! ```text
//! every page:  64 next page u32, header page u32
//! header page: 72 state u8, rseg u8, slot u16    76 trx id u64
//!              84 last page u32, last offset u16, purge u8
//! ```

use crate::reader::ReadPage;
use crate::record::{RecordKind, UndoRecord, record_bytes};
use base::{Error, PAGE_BYTES, PageBuf, PageId, PageNo, Result, RollPtr, TableId, TrxId};
use base::{IndexId, UNDO_SPACE};
use page::header::read_u32;
use page::{BODY_AT, PageKind, PageOp, header};
use pool::{Held, Mtr, Pool, Tablespace};
use std::collections::HashSet;
use stdx::bytes::Put;
use sync::WorkerSlot;

const NEXT_AT: u16 = BODY_AT as u16;
const FIRST_AT: u16 = NEXT_AT + 4;
const STATE_AT: u16 = NEXT_AT + 8;
const STATE_BYTES: usize = 19;
/// Room behind the header's fields is kept for an XID.
const FIRST_RECORDS_AT: u16 = 256;
const RECORDS_AT: u16 = NEXT_AT + 8;
/// A free segment keeps so many pages.
const PAGES_KEPT: usize = 16;

const _: () = assert!(STATE_AT as usize + STATE_BYTES <= FIRST_RECORDS_AT as usize);
const _: () = assert!(
    record_bytes(0, 0) + page::ENTRY_BYTES_MAX + 64 <= PAGE_BYTES - FIRST_RECORDS_AT as usize
);

/// State of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// Nobody's: ended without work left.
    Free = 0,
    /// Its transaction runs; after a crash it is a loser.
    Active = 1,
    /// Its transaction is prepared (XA). Reserved: nothing makes it yet.
    Prepared = 2,
    /// Its transaction committed; old versions are still to be removed.
    Committed = 3,
}

/// A place in the undo pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub struct UndoPos {
    /// The page; 0: nowhere.
    pub page: PageNo,
    /// The byte inside.
    pub offset: u16,
}

impl UndoPos {
    /// Nowhere: the end of the chain of records.
    pub const NONE: UndoPos = UndoPos { page: PageNo(0), offset: 0 };

    /// Whether this is nowhere.
    pub fn is_none(self) -> bool {
        self == UndoPos::NONE
    }

    /// The place a roll pointer points to.
    pub fn of(roll: RollPtr) -> UndoPos {
        UndoPos { page: roll.page(), offset: roll.offset() }
    }
}

/// A record to be appended.
#[derive(Clone, Copy, Debug)]
pub struct NewRecord<'a> {
    /// What it undoes.
    pub kind: RecordKind,
    /// After the commit there is something to remove.
    pub purge: bool,
    /// The table, for row records.
    pub table: TableId,
    /// The clustered key, for row records.
    pub key: &'a [u8],
    /// See [`RecordKind`].
    pub body: &'a [u8],
}

/// The pages of a segment latched in a mini-transaction, ready for one append.
#[derive(Clone, Copy)]
pub struct Latched {
    header: Held,
    page: Held,
    at: UndoPos,
}

/// An undo segment in the hands of its owner.
#[derive(Debug)]
pub struct Segment {
    rseg: u8,
    slot: u16,
    trx: TrxId,
    state: State,
    /// Its pages, as far as they are known.
    chain: Vec<PageNo>,
    /// The page after those, if there are more.
    rest: Option<PageNo>,
    /// Index in `chain`, and offset, of the next record.
    top: (usize, u16),
    last: UndoPos,
    purge: bool,
    scratch: Vec<u8>,
}

impl Segment {
    /// Makes the header page of a new segment in the caller's mini-transaction.
    pub(crate) fn create<'p>(
        mtr: &mut Mtr<'p>,
        undo: &'p Tablespace,
        rseg: u8,
        slot: u16,
    ) -> Result<Segment> {
        let header = new_page(mtr, undo, None)?;
        let segment = Segment {
            rseg,
            slot,
            trx: TrxId::NONE,
            state: State::Free,
            chain: vec![header.1],
            rest: None,
            top: (0, FIRST_RECORDS_AT),
            last: UndoPos::NONE,
            purge: false,
            scratch: Vec::new(),
        };
        segment.write_header(mtr, header.0)?;
        Ok(segment)
    }

    /// Reads a segment back after a crash: its header page. The rest of the chain is looked at when it
    /// is needed ([`Segment::complete`]), since a loser's may be as long as its transaction.
    pub(crate) fn load(read: ReadPage<'_>, first: PageNo) -> Result<Segment> {
        let place = PageId::new(UNDO_SPACE, first);
        let mut fields = [0; STATE_BYTES - 3];
        let mut flags = [0; 3];
        let page = read_undo_page(read, first)?;
        let at = usize::from(STATE_AT);
        fields.copy_from_slice(&page[at..at + STATE_BYTES - 3]);
        flags.copy_from_slice(&page[at + STATE_BYTES - 3..at + STATE_BYTES]);
        let rest =
            Some(PageNo(read_u32(&page, usize::from(NEXT_AT)))).filter(|p| *p != PageNo::NONE);
        let state = match fields[0] {
            0 => State::Free,
            1 => State::Active,
            2 => State::Prepared,
            3 => State::Committed,
            _ => return Err(Error::corrupt(place, "unknown state of an undo segment")),
        };
        let u32_at = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| fields[at + i]));
        Ok(Segment {
            rseg: fields[1] & 0x7f,
            slot: u16::from_le_bytes([fields[2], fields[3]]),
            trx: TrxId(u64::from(u32_at(4)) | u64::from(u32_at(8)) << 32),
            state,
            top: (0, FIRST_RECORDS_AT),
            chain: vec![first],
            rest,
            last: UndoPos {
                page: PageNo(u32_at(12)),
                offset: u16::from_le_bytes([flags[0], flags[1]]),
            },
            purge: flags[2] != 0,
            scratch: Vec::new(),
        })
    }

    /// Looks at the pages of the chain that are not known yet.
    pub(crate) fn complete(&mut self, read: ReadPage<'_>) -> Result<()> {
        let Some(mut next) = self.rest else { return Ok(()) };
        let mut chain = self.chain.clone();
        let mut seen: HashSet<PageNo> = chain.iter().copied().collect();
        while next != PageNo::NONE {
            if !seen.insert(next) {
                let place = PageId::new(UNDO_SPACE, self.first());
                return Err(Error::corrupt(place, "the undo pages form a circle"));
            }
            chain.push(next);
            next = PageNo(read_u32(&*read_undo_page(read, next)?, usize::from(NEXT_AT)));
        }
        (self.chain, self.rest) = (chain, None);
        Ok(())
    }

    fn complete_in(&mut self, undo: &Tablespace) -> Result<()> {
        match self.rest {
            Some(_) => self.complete(&mut |no| Ok(Box::new(*undo.shared(no)?))),
            None => Ok(()),
        }
    }

    /// Hands a free segment to a transaction. In memory only: its first record makes it so on disk.
    pub(crate) fn start(&mut self, trx: TrxId) {
        self.trx = trx;
        self.state = State::Active;
        self.top = (0, FIRST_RECORDS_AT);
        self.last = UndoPos::NONE;
        self.purge = false;
    }

    /// Whose it is.
    pub fn trx(&self) -> TrxId {
        self.trx
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The last record that counts.
    pub fn last(&self) -> UndoPos {
        self.last
    }

    /// Some record asks for work after the commit.
    pub fn needs_purge(&self) -> bool {
        self.purge
    }

    /// Takes back a state that could not be written.
    pub fn restore_state(&mut self, state: State) {
        self.state = state;
    }

    /// How many pages its chain has.
    pub(crate) fn pages(&self) -> usize {
        self.chain.len()
    }

    /// Its header page.
    pub(crate) fn first(&self) -> PageNo {
        self.chain[0]
    }

    pub(crate) fn place(&self) -> (u8, u16) {
        (self.rseg, self.slot)
    }

    /// Makes sure that a record of `bytes` fits, in a mini-transaction of its own. Before table
    /// pages are latched.
    pub fn reserve(
        &mut self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
        bytes: usize,
    ) -> Result<()> {
        if self.fits(bytes) {
            return Ok(());
        }
        if bytes > PAGE_BYTES - usize::from(RECORDS_AT) {
            return Err(Error::RowTooLarge { bytes, limit: page::ENTRY_BYTES_MAX });
        }
        self.complete_in(undo)?;
        if self.top.0 + 1 == self.chain.len() {
            let mut mtr = Mtr::new(pool, worker);
            let tail = mtr.exclusive(undo, self.chain[self.top.0])?;
            let (_, no) = new_page(&mut mtr, undo, Some(self.first()))?;
            mtr.apply(tail, &PageOp::Write { at: NEXT_AT, bytes: &no.0.to_le_bytes() })?;
            mtr.commit()?;
            self.chain.push(no);
        }
        self.top = (self.top.0 + 1, RECORDS_AT);
        Ok(())
    }

    /// Whether a record of `bytes` fits as it is.
    pub fn fits(&self, bytes: usize) -> bool {
        usize::from(self.top.1) + bytes <= PAGE_BYTES
    }

    /// Where the next record will lie.
    pub fn next_pos(&self) -> UndoPos {
        UndoPos { page: self.chain[self.top.0], offset: self.top.1 }
    }

    /// The roll pointer to the next record.
    pub fn next_roll(&self, insert: bool) -> RollPtr {
        let at = self.next_pos();
        RollPtr::new(insert, self.rseg, at.page, at.offset)
    }

    /// Latches what [`Self::append`] will write, after the table page and before anything is
    /// changed.
    pub fn latch<'p>(&self, mtr: &mut Mtr<'p>, undo: &'p Tablespace) -> Result<Latched> {
        let header = mtr.exclusive(undo, self.chain[0])?;
        let at = self.next_pos();
        let page = if self.top.0 == 0 { header } else { mtr.exclusive(undo, at.page)? };
        Ok(Latched { header, page, at })
    }

    /// Writes a record that [`Self::reserve`] made room for.
    pub fn append(&mut self, mtr: &mut Mtr<'_>, at: Latched, new: NewRecord<'_>) -> Result<()> {
        let record = UndoRecord {
            kind: new.kind,
            purge: new.purge,
            previous: self.last,
            trx: self.trx,
            table: new.table,
            key: new.key,
            body: new.body,
        };
        self.scratch.clear();
        record.encode(&mut self.scratch);
        mtr.apply(at.page, &PageOp::Write { at: at.at.offset, bytes: &self.scratch })?;
        self.top.1 += self.scratch.len() as u16;
        self.last = at.at;
        self.purge |= new.purge || new.kind.keeps_a_version();
        self.write_header(mtr, at.header)
    }

    /// Latches the header for [`Self::step_back`] or [`Self::set_state`], after the table page.
    pub fn latch_header<'p>(&self, mtr: &mut Mtr<'p>, undo: &'p Tablespace) -> Result<Held> {
        mtr.exclusive(undo, self.chain[0])
    }

    /// The last record is undone by this mini-transaction; `previous` is the one before it.
    pub fn step_back(&mut self, mtr: &mut Mtr<'_>, header: Held, previous: UndoPos) -> Result<()> {
        self.last = previous;
        self.write_header(mtr, header)
    }

    /// Writes another state: the commit record, or the end of a transaction's work.
    pub fn set_state(&mut self, mtr: &mut Mtr<'_>, header: Held, state: State) -> Result<()> {
        self.state = state;
        self.write_header(mtr, header)
    }

    fn write_header(&self, mtr: &mut Mtr<'_>, header: Held) -> Result<()> {
        let mut fields = Vec::with_capacity(STATE_BYTES);
        fields.put_u8(self.state as u8);
        fields.put_u8(self.rseg);
        fields.put_u16_le(self.slot);
        fields.put_u64_le(self.trx.0);
        fields.put_u32_le(self.last.page.0);
        fields.put_u16_le(self.last.offset);
        fields.put_u8(u8::from(self.purge));
        debug_assert_eq!(fields.len(), STATE_BYTES);
        mtr.apply(header, &PageOp::Write { at: STATE_AT, bytes: &fields })
    }

    /// Cuts a long chain of a free segment.
    pub(crate) fn trim(
        &mut self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
    ) -> Result<()> {
        self.complete_in(undo)?;
        while self.chain.len() > PAGES_KEPT {
            let n = self.chain.len();
            let mut mtr = Mtr::new(pool, worker);
            let before = mtr.exclusive(undo, self.chain[n - 2])?;
            let none = PageNo::NONE.0.to_le_bytes();
            space::free(&mut mtr, undo, space::Segment::UNDO, self.chain[n - 1])?;
            mtr.apply(before, &PageOp::Write { at: NEXT_AT, bytes: &none })?;
            mtr.commit()?;
            self.chain.pop();
        }
        Ok(())
    }
}

fn read_undo_page(read: ReadPage<'_>, no: PageNo) -> Result<Box<PageBuf>> {
    let page = read(no)?;
    match header::kind(&page) {
        Some(PageKind::Undo) => Ok(page),
        _ => Err(Error::corrupt(PageId::new(UNDO_SPACE, no), "not an undo page")),
    }
}

/// A fresh undo page in the caller's mini-transaction, for the chain that begins with page `first`
/// (`None`: with this one).
fn new_page<'p>(
    mtr: &mut Mtr<'p>,
    undo: &'p Tablespace,
    first: Option<PageNo>,
) -> Result<(Held, PageNo)> {
    let no = space::allocate(mtr, undo, space::Segment::UNDO)?;
    let held = mtr.fresh(undo, no)?;
    let init = PageOp::Init {
        kind: PageKind::Undo,
        level: 0,
        index_id: IndexId(0),
        low_fence: &[],
        high_fence: None,
    };
    mtr.apply(held, &init)?;
    let mut links = Vec::with_capacity(8);
    links.put_u32_le(PageNo::NONE.0);
    links.put_u32_le(first.unwrap_or(no).0);
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

/// Copies the record of transaction `trx` at `pos` into `out`. `false`: `trx` has nothing left to
/// undo or to purge, and its records may be gone (invariant 5).
pub(crate) fn read_kept_record(
    undo: &Tablespace,
    pos: UndoPos,
    trx: TrxId,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let first = {
        let page = undo.shared(pos.page)?;
        if header::kind(&page) != Some(PageKind::Undo) {
            return Ok(false);
        }
        // Complete, if the header, looked at afterwards, says so.
        let rest = page.get(usize::from(pos.offset)..).unwrap_or(&[]);
        out.clear();
        out.extend_from_slice(&rest[..UndoRecord::length(rest).unwrap_or(0)]);
        PageNo(read_u32(&page, usize::from(FIRST_AT)))
    };
    let page = undo.shared(first)?;
    let is_header = header::kind(&page) == Some(PageKind::Undo)
        && read_u32(&page, usize::from(FIRST_AT)) == first.0;
    let state = page[usize::from(STATE_AT)];
    let owner = get_u48(&page, usize::from(STATE_AT) + 4);
    Ok(is_header && owner == trx.0 && state != State::Free as u8)
}

fn get_u48(page: &PageBuf, at: usize) -> u64 {
    let high = u64::from(u16::from_le_bytes([page[at + 4], page[at + 5]]));
    u64::from(read_u32(page, at)) | high << 32
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
