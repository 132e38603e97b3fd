//! An undo segment: the undo pages that one client at a time writes, for one transaction after the other.
//!
//! 1. The fields of the top page say in which state the segment is, whose, and which record is
//!    the last that still counts (`undo_page`); an append, an end and a step back write them with the rest
//!    of their mini-transaction. A crash loses no more than what the log lost. Guard: the assert of `Segment::put`,
//!    `a_crash_leaves_the_records_up_to_the_last_one_that_counts`.
//! 2. Records are appended only: a statement rollback moves `last` back, never the top. What an ended
//!    transaction wrote stays as long as its item is in the history, also when it was rolled back: a reader
//!    with a view may follow a roll pointer of a row that it copied before. A transaction that only
//!    inserted is written over at once: nobody but its rollback follows an insert's roll pointer. Guard: the asserts of
//!    `Segment::put` and `Segment::take_back`, `what_may_be_needed_is_there_whatever_happens`.
//! 3. A page that nobody needs any more is written again by the owner. The mini-transaction that begins it
//!    anew writes its stamp and `purged_to`, so recovery looks for no commit record in it. Guard: the asserts of
//!    `Segment::put` (stamp) and `Segment::next_page` (every page of the chain is used or free, never both).
//! 4. Of the transactions that have ended, recovery needs those with something to purge: each has a
//!    commit record, which names the one before it. Ids grow from one to the next, so `purged_to` tells where to stop.
//!    Guard: the assert of `Segment::set_committed`; reading, the error of `reader::unpurged`.
//! 5. A prepared transaction ([`crate::branch`]) has its prepare records last, and in the top page: behind them goes its
//!    commit record. Rolling it back makes it active again first. Guard: the error of `Segment::go_on`; the campaigns of
//!    the engine's branches.
//! 6. Latch order: table pages, first page, other undo pages, space header. Guard: `Mtr::assert_order` (header last);
//!    a circle of latches stops a seed of the engine's `one_runner`.

use crate::history::{Claim, History, Item, Tail};
use crate::ids::{IdKind, Ids};
use crate::reader::ReadPage;
use crate::record::{RecordKind, UndoRecord, record_bytes};
use crate::undo_page::{COMMIT_BYTES, checked, commit_body, new_page, next_of, top_of};
use crate::undo_page::{Fields, NEXT_AT, RECORD_BYTES_MAX, RECORDS_AT, Stamp, TOP_AT};
use base::{Error, Lsn, PAGE_BYTES, PageId, PageNo, Result, RollPtr, TableId, TrxId, UNDO_SPACE};
use page::PageOp;
use pool::{Held, Mtr, Pool, Tablespace};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use sync::WorkerSlot;

/// A free segment keeps so many pages.
pub(crate) const PAGES_KEPT: usize = 16;
/// And while undo gives disk space back, so many: pages that lie here and there would keep an extent each.
pub(crate) const PAGES_KEPT_MIN: usize = 1;

/// State of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// No transaction runs on it.
    Free = 0,
    /// Its transaction runs; after a crash it is a loser.
    Active = 1,
    /// Its transaction is prepared (XA): nobody but XA COMMIT or XA ROLLBACK ends it.
    Prepared = 2,
    /// Its transaction committed; indexes that it dropped are still to be freed.
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

/// The top page of a segment latched in a mini-transaction, ready for one append.
#[derive(Clone, Copy, Debug)]
pub struct Latched {
    page: Held,
    at: UndoPos,
}

/// An undo segment in the hands of its owner.
pub struct Segment {
    fields: Fields,
    /// Not only the hot fields have changed since they were written to the top page.
    cold: bool,
    /// Its pages as far as they are known: the first one, then the others from the chain's end on.
    chain: Vec<PageNo>,
    /// Where the chain goes on behind the first page, when the others are not known.
    rest: Option<PageNo>,
    /// Pages that are written, or kept for the history, in the order in which they were begun; the last one is the top.
    used: VecDeque<PageNo>,
    /// The others.
    free: Vec<PageNo>,
    /// Offset in the top page of the next record.
    top: u16,
    /// Where the transaction's first record lies or would lie.
    begun: UndoPos,
    /// It has written a record.
    written: bool,
    /// How many of the transaction's records count.
    records: u64,
    /// It has written a record that others may follow.
    versions: bool,
    /// As recovery found it: how far the top page is written is not known.
    recovered: bool,
    /// Recovery found its pages in another order than that in which they were begun: nothing is written again before
    /// nobody needs any of them.
    unordered: bool,
    history: Arc<History>,
    /// What of the history nobody else has to know yet.
    tail: Tail,
    ids: Arc<Ids>,
    scratch: Vec<u8>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("fields", &self.fields).field("used", &self.used).finish()
    }
}

impl Segment {
    fn over(fields: Fields, first: PageNo, top: UndoPos, ids: &Arc<Ids>) -> Segment {
        Segment {
            fields,
            cold: false,
            chain: vec![first],
            rest: None,
            used: VecDeque::from([top.page]),
            free: Vec::new(),
            top: top.offset,
            begun: top,
            written: false,
            records: 0,
            versions: false,
            recovered: false,
            unordered: false,
            history: Arc::<History>::default(),
            tail: Tail::default(),
            ids: Arc::clone(ids),
            scratch: Vec::new(),
        }
    }

    /// Makes the first page of a new segment in the caller's mini-transaction.
    pub(crate) fn create<'p>(
        mtr: &mut Mtr<'p>,
        undo: &'p Tablespace,
        place: (u8, u16),
        ids: &Arc<Ids>,
    ) -> Result<Segment> {
        let (held, first) = new_page(mtr, undo, None, PageNo::NONE)?;
        let next = TrxId(ids.next(IdKind::Trx));
        let fields = Fields::new(place, Stamp { starter: TrxId::NONE, next });
        fields.write(mtr, held, false)?;
        Ok(Segment::over(fields, first, UndoPos { page: first, offset: RECORDS_AT }, ids))
    }

    /// Stands for the transactions of others in the hands of who purges them; it is never written.
    pub(crate) fn stand_in(ids: &Arc<Ids>) -> Segment {
        let full = UndoPos { page: PageNo(0), offset: PAGE_BYTES as u16 };
        Segment::over(Fields::new((0, 0), Stamp::default()), full.page, full, ids)
    }

    /// See [`crate::TrxSystem::stand_in`].
    pub fn stand_for(&mut self, trx: TrxId) {
        self.fields.trx = trx;
    }

    /// Reads a segment back after a crash: its first page and its top. The rest of the chain is looked at when it
    /// is needed ([`Segment::complete`]), since a loser's may be as long as its transaction.
    pub(crate) fn load(read: ReadPage<'_>, first: PageNo, ids: &Arc<Ids>) -> Result<Segment> {
        let page = checked(read(first)?, first)?;
        let (top, rest) = (top_of(&page), next_of(&page));
        let page = if top == first { page } else { checked(read(top)?, top)? };
        let fields = Fields::read(&page, top)?;
        // How far the top page is written is not known: it counts as full.
        let top = UndoPos { page: top, offset: PAGE_BYTES as u16 };
        let mut segment = Segment::over(fields, first, top, ids);
        segment.written = fields.state != State::Free;
        segment.versions = segment.written;
        segment.recovered = true;
        match rest {
            PageNo::NONE if top.page != first => {
                return Err(segment.top_astray());
            }
            PageNo::NONE => {}
            rest => segment.rest = Some(rest),
        }
        Ok(segment)
    }

    /// Looks at the pages of the chain that are not known yet.
    pub(crate) fn complete(&mut self, read: ReadPage<'_>) -> Result<()> {
        let Some(mut next) = self.rest else { return Ok(()) };
        let mut chain = Vec::new();
        let mut seen = HashSet::from([self.first()]);
        while next != PageNo::NONE {
            if !seen.insert(next) {
                let place = PageId::new(UNDO_SPACE, self.first());
                return Err(Error::corrupt(place, "the undo pages form a circle"));
            }
            chain.push(next);
            next = next_of(&*checked(read(next)?, next)?);
        }
        self.chain.extend(chain.into_iter().rev());
        // Which of them readers may still come to is not known.
        self.unordered = true;
        let top = self.top_page();
        if !self.chain.contains(&top) {
            return Err(self.top_astray());
        }
        self.used = self.chain.iter().copied().filter(|no| *no != top).collect();
        self.used.push_back(top);
        self.rest = None;
        Ok(())
    }

    fn top_astray(&self) -> Error {
        let place = PageId::new(UNDO_SPACE, self.first());
        Error::corrupt(place, "the top undo page is not in the chain")
    }

    fn complete_in(&mut self, undo: &Tablespace) -> Result<()> {
        match self.rest {
            Some(_) => self.complete(&mut |no| Ok(Box::new(*undo.shared(no)?))),
            None => Ok(()),
        }
    }

    /// Hands a free segment to a transaction. In memory only: its first record makes it so on disk.
    pub(crate) fn start(&mut self, trx: TrxId) {
        let f = &mut self.fields;
        (f.trx, f.state, f.last, f.purge, f.drops) =
            (trx, State::Active, UndoPos::NONE, false, false);
        (self.written, self.versions, self.recovered) = (false, false, false);
        self.records = 0;
        self.begun = self.next_pos();
    }

    /// Whose it is.
    pub fn trx(&self) -> TrxId {
        self.fields.trx
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.fields.state
    }

    /// The last record that counts.
    pub fn last(&self) -> UndoPos {
        self.fields.last
    }

    /// The transaction has written a record.
    pub fn has_written(&self) -> bool {
        self.written
    }

    /// How many records count: those that were written and not undone; of a recovered transaction as far as they were
    /// counted.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// So many records count, as was found out after a crash.
    pub(crate) fn set_records(&mut self, records: u64) {
        self.records = records;
    }

    /// Some record asks for work after the commit.
    pub fn needs_purge(&self) -> bool {
        self.fields.purge
    }

    /// Some record drops an index.
    pub fn drops_index(&self) -> bool {
        self.fields.drops
    }

    /// As recovery found it: no transaction was started on it since.
    pub fn is_recovered(&self) -> bool {
        self.recovered
    }

    /// What recovery found committed and not purged: the newest commit record and whose it is.
    pub fn unpurged(&self) -> Option<(UndoPos, TrxId)> {
        let f = &self.fields;
        (self.recovered && f.commit_trx > f.purged_to).then_some((f.commit, f.commit_trx))
    }

    /// Commit records up to this transaction's are purged.
    pub fn purged_to(&self) -> TrxId {
        self.fields.purged_to
    }

    /// Commit records up to the one of `trx` are purged.
    pub fn set_purged_to(&mut self, trx: TrxId) {
        self.fields.purged_to = self.fields.purged_to.max(trx);
        self.cold = true;
    }

    /// Takes back a state that could not be written.
    pub fn restore_state(&mut self, state: State) {
        self.fields.state = state;
    }

    /// What its ended transactions have left.
    pub fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// How many pages its chain has.
    pub(crate) fn pages(&self) -> usize {
        self.chain.len()
    }

    /// Whether it has more pages than a segment that waits should have.
    pub(crate) fn is_long(&self, kept: usize) -> bool {
        self.chain.len() > kept || self.rest.is_some()
    }

    /// The newest transaction that its fields name.
    pub(crate) fn newest_id(&self) -> TrxId {
        let f = &self.fields;
        f.trx.max(f.commit_trx).max(f.purged_to)
    }

    /// Its first page.
    pub(crate) fn first(&self) -> PageNo {
        self.chain[0]
    }

    pub(crate) fn place(&self) -> (u8, u16) {
        (self.fields.rseg, self.fields.slot)
    }

    fn top_page(&self) -> PageNo {
        *self.used.back().expect("the top page is used")
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
        if bytes > RECORD_BYTES_MAX {
            return Err(Error::RowTooLarge { bytes, limit: page::ENTRY_BYTES_MAX });
        }
        self.complete_in(undo)?;
        let stamp = Stamp { starter: self.trx(), next: TrxId(self.ids.next(IdKind::Trx)) };
        if self.recycle() && !self.written {
            // Nobody needs what is in the top page. The first record writes the stamp.
            (self.top, self.fields.stamp, self.cold) = (RECORDS_AT, stamp, true);
        } else {
            self.next_page(pool, worker, undo, stamp)?;
        }
        if !self.written {
            self.begun = self.next_pos();
        }
        Ok(())
    }

    /// Makes another page the top.
    fn next_page(
        &mut self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
        stamp: Stamp,
    ) -> Result<()> {
        let mut mtr = Mtr::new(pool, worker);
        let first = mtr.exclusive(undo, self.first())?;
        let recycled = self.free.last().copied();
        let (held, no) = match recycled {
            Some(no) => (mtr.exclusive(undo, no)?, no),
            None => {
                let next = next_of(mtr.page(first));
                let (held, no) = new_page(&mut mtr, undo, Some(self.first()), next)?;
                mtr.apply(first, &PageOp::Write { at: NEXT_AT, bytes: &no.0.to_le_bytes() })?;
                (held, no)
            }
        };
        mtr.apply(first, &PageOp::Write { at: TOP_AT, bytes: &no.0.to_le_bytes() })?;
        let state = if self.written { self.fields.state } else { State::Free };
        Fields { state, stamp, ..self.fields }.write(&mut mtr, held, false)?;
        mtr.commit()?;
        match recycled {
            Some(_) => drop(self.free.pop()),
            None => self.chain.push(no),
        }
        self.used.push_back(no);
        (self.top, self.fields.stamp, self.cold) = (RECORDS_AT, stamp, false);
        let (used, free) = (self.used.len(), self.free.len());
        assert_eq!(self.chain.len(), used + free, "{used} used and {free} free pages of a chain");
        Ok(())
    }

    /// Takes back the pages that the history has released; whether nothing is pending in it.
    fn recycle(&mut self) -> bool {
        let Claim { released, pending, purged_to } = self.history.claim(&mut self.tail);
        if purged_to > self.fields.purged_to {
            self.set_purged_to(purged_to);
        }
        self.unordered &= pending;
        let until = match pending {
            true => released.filter(|_| !self.unordered),
            false => Some(self.begun.page),
        };
        if let Some(until) = until {
            while let Some(&no) = self.used.front().filter(|no| **no != until)
                && self.used.len() > 1
            {
                self.free.push(no);
                self.used.pop_front();
            }
        }
        !pending
    }

    /// Whether a record of `bytes` fits as it is.
    pub fn fits(&self, bytes: usize) -> bool {
        usize::from(self.top) + bytes + COMMIT_BYTES <= PAGE_BYTES
    }

    /// Where the next record will lie.
    pub fn next_pos(&self) -> UndoPos {
        UndoPos { page: self.top_page(), offset: self.top }
    }

    /// The roll pointer to the next record.
    pub fn next_roll(&self, insert: bool) -> RollPtr {
        let at = self.next_pos();
        RollPtr::new(insert, self.fields.rseg, at.page, at.offset)
    }

    /// Latches what [`Self::append`] will write, after the table page and before anything is
    /// changed.
    pub fn latch<'p>(&self, mtr: &mut Mtr<'p>, undo: &'p Tablespace) -> Result<Latched> {
        let at = self.next_pos();
        Ok(Latched { page: mtr.exclusive(undo, at.page)?, at })
    }

    /// Writes a record that [`Self::reserve`] made room for.
    pub fn append(&mut self, mtr: &mut Mtr<'_>, at: Latched, new: NewRecord<'_>) -> Result<()> {
        self.put_next(mtr, at, new)?;
        self.write_fields(mtr, at.page)
    }

    /// As [`Self::append`], with the transaction's commit: it has done all it does. For
    /// [`crate::TrxSystem::commit_with`].
    pub fn append_last(
        &mut self,
        mtr: &mut Mtr<'_>,
        at: Latched,
        new: NewRecord<'_>,
    ) -> Result<()> {
        self.put_next(mtr, at, new)?;
        self.commit_in(mtr, at.page)
    }

    /// The transaction's commit, in a mini-transaction that holds the top page ([`Self::latch_header`]). For
    /// [`crate::TrxSystem::commit_with`].
    pub fn commit_in(&mut self, mtr: &mut Mtr<'_>, top: Held) -> Result<()> {
        match self.fields.purge {
            true => self.set_committed(mtr, top),
            false => self.set_state(mtr, top, State::Free),
        }
    }

    fn put_next(&mut self, mtr: &mut Mtr<'_>, at: Latched, new: NewRecord<'_>) -> Result<()> {
        let bytes = record_bytes(new.key.len(), new.body.len());
        assert!(self.fits(bytes), "no room was made for an undo record of {bytes} bytes");
        let ends = self.fields.drops && new.kind != RecordKind::DropIndex;
        assert!(!ends, "{:?} after the records of dropped indexes", new.kind);
        self.put(mtr, at, new)?;
        self.fields.last = at.at;
        self.fields.purge |= new.purge;
        self.fields.drops |= new.kind == RecordKind::DropIndex;
        self.written = true;
        self.records += 1;
        self.versions |= new.kind.keeps_a_version();
        Ok(())
    }

    fn put(&mut self, mtr: &mut Mtr<'_>, at: Latched, new: NewRecord<'_>) -> Result<()> {
        let Fields { trx, stamp, last, .. } = self.fields;
        assert_eq!(at.at, self.next_pos(), "undo is written at its end only");
        assert!(stamp.has(trx), "{stamp:?} says that nothing of {trx:?} is in its page");
        assert!(last.page != at.at.page || last < at.at, "{last:?} does not come before {at:?}");
        let record = UndoRecord {
            kind: new.kind,
            purge: new.purge,
            previous: self.fields.last,
            trx: self.fields.trx,
            table: new.table,
            key: new.key,
            body: new.body,
        };
        self.scratch.clear();
        record.encode(&mut self.scratch);
        mtr.apply(at.page, &PageOp::Write { at: at.at.offset, bytes: &self.scratch })?;
        self.top += self.scratch.len() as u16;
        Ok(())
    }

    /// Latches the page with the fields, for [`Self::step_back`] or [`Self::set_state`], after the
    /// table page.
    pub fn latch_header<'p>(&self, mtr: &mut Mtr<'p>, undo: &'p Tablespace) -> Result<Held> {
        mtr.exclusive(undo, self.top_page())
    }

    /// The last record is undone by this mini-transaction; `previous` is the one before it.
    pub fn step_back(&mut self, mtr: &mut Mtr<'_>, top: Held, previous: UndoPos) -> Result<()> {
        self.fields.last = previous;
        // A recovered transaction's were never counted.
        self.records = self.records.saturating_sub(1);
        self.write_fields(mtr, top)
    }

    /// Writes another state: the end of a transaction that leaves nothing to be purged.
    pub(crate) fn set_state(&mut self, mtr: &mut Mtr<'_>, top: Held, state: State) -> Result<()> {
        self.fields.state = state;
        self.write_fields(mtr, top)
    }

    /// The last of a transaction's prepare records, which makes it prepared.
    pub(crate) fn append_prepare(
        &mut self,
        mtr: &mut Mtr<'_>,
        at: Latched,
        new: NewRecord<'_>,
    ) -> Result<()> {
        self.put_next(mtr, at, new)?;
        self.set_state(mtr, at.page, State::Prepared)
    }

    /// Makes a prepared transaction that recovery found one as others are (invariant 5): its records end behind
    /// `last_bytes` of the last one, and what its segment's earlier transactions left unpurged, the oldest first, is in the
    /// history again.
    pub(crate) fn go_on(
        &mut self,
        last_bytes: usize,
        records: u64,
        unpurged: &[UndoPos],
    ) -> Result<()> {
        let last = self.fields.last;
        if last.page != self.top_page() {
            let place = PageId::new(UNDO_SPACE, last.page);
            return Err(Error::corrupt(
                place,
                "a prepared transaction does not end in the top page",
            ));
        }
        self.top = last.offset + last_bytes as u16;
        self.begun = self.next_pos();
        (self.recovered, self.records) = (false, records);
        for at in unpurged {
            // It ended before the start: everybody sees it.
            self.history.push(&mut self.tail, Item::new(Lsn::ZERO, *at, true), Lsn::ZERO);
        }
        Ok(())
    }

    /// Writes the end of a transaction that leaves something to be purged, with its commit record.
    pub(crate) fn set_committed(&mut self, mtr: &mut Mtr<'_>, top: Held) -> Result<()> {
        let at = self.next_pos();
        // After a failure of the log the same end may be tried again, in vain.
        let grows = self.fields.commit_trx < self.fields.trx || mtr.pool().failed();
        assert!(grows, "{:?} ends before {:?}", self.fields.trx, self.fields.commit_trx);
        let body = commit_body(self.fields.commit, self.fields.commit_trx);
        let (kind, table) = (RecordKind::Commit, TableId(0));
        let new = NewRecord { kind, purge: false, table, key: &[], body: &body };
        self.put(mtr, Latched { page: top, at }, new)?;
        (self.fields.commit, self.fields.commit_trx, self.cold) = (at, self.fields.trx, true);
        self.set_state(mtr, top, State::Free)
    }

    fn write_fields(&mut self, mtr: &mut Mtr<'_>, top: Held) -> Result<()> {
        self.fields.write(mtr, top, !self.cold)?;
        self.cold = false;
        Ok(())
    }

    /// The transaction ended at `lsn` and everybody sees so. What it wrote goes to the history, if anybody
    /// may need it. Whether the oldest transaction there has work that may be done at `horizon`.
    pub(crate) fn leave(&mut self, lsn: Lsn, committed: bool, horizon: Lsn) -> bool {
        // One that has written nothing has not been to the disk.
        self.fields.state = State::Free;
        if !self.versions {
            self.take_back();
            return false;
        }
        let work = committed && self.fields.purge;
        let at = if work { self.fields.commit } else { self.next_pos() };
        self.history.push(&mut self.tail, Item::new(lsn, at, work), horizon)
    }

    /// What the transaction wrote is written over.
    fn take_back(&mut self) {
        assert!(!self.versions, "records that others may follow are written over");
        if self.begun.page == self.top_page() {
            self.top = self.begun.offset;
            return;
        }
        // The pages in between, and the top, have nothing else.
        self.top = RECORDS_AT;
        let from = self.used.iter().position(|no| *no == self.begun.page);
        if let Some(from) = from {
            let last = self.used.len() - 1;
            self.free.extend(self.used.drain(from + 1..last));
        }
    }

    /// Writes how far the history of a free segment is purged, when that is not written yet.
    pub(crate) fn note_purged(
        &mut self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
    ) -> Result<()> {
        self.begun = self.next_pos();
        self.recycle();
        if self.cold && self.fields.commit_trx > TrxId::NONE {
            let mut mtr = Mtr::new(pool, worker);
            let top = self.latch_header(&mut mtr, undo)?;
            self.write_fields(&mut mtr, top)?;
            mtr.commit()?;
        }
        Ok(())
    }

    /// Whether a free segment has more than `kept` pages and some of them are needed no more.
    pub(crate) fn can_be_cut(&mut self, kept: usize) -> bool {
        if self.chain.len() <= kept {
            return false;
        }
        self.begun = self.next_pos();
        self.recycle();
        let first = self.first();
        self.free.iter().any(|no| *no != first || kept == PAGES_KEPT_MIN)
    }

    /// The next transaction begins in the first page, if nobody needs what is there, so that its present top can
    /// be cut.
    fn begin_at_first(
        &mut self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
    ) -> Result<()> {
        let first = self.first();
        let Some(at) = self.free.iter().position(|no| *no == first) else { return Ok(()) };
        let last = self.free.len() - 1;
        self.free.swap(at, last);
        // No transaction goes on there: what the last one wrote may have been in this very page.
        let stamp = Stamp { starter: TrxId::NONE, next: TrxId(self.ids.next(IdKind::Trx)) };
        self.next_page(pool, worker, undo, stamp)?;
        self.begun = self.next_pos();
        self.recycle();
        Ok(())
    }

    /// Cuts the chain of a free segment down to `kept` pages, as far as they are needed no more, but by at most
    /// `most`; whether more are to be cut.
    pub(crate) fn trim(
        &mut self,
        pool: &Pool,
        worker: &WorkerSlot,
        undo: &Tablespace,
        (kept, most): (usize, usize),
    ) -> Result<bool> {
        self.complete_in(undo)?;
        if self.chain.len() <= kept {
            return Ok(false);
        }
        // Recovery must not look for a commit record in what is cut.
        self.note_purged(pool, worker, undo)?;
        if kept == PAGES_KEPT_MIN {
            self.begin_at_first(pool, worker, undo)?;
        }
        let first = self.first();
        let mut cut: HashSet<PageNo> =
            self.free.iter().copied().filter(|no| *no != first).collect();
        if cut.is_empty() {
            return Ok(false);
        }
        let mut left = most.min(self.chain.len() - kept);
        let (mut chain, mut done) = (vec![first], Ok(()));
        let others = self.chain.split_off(1);
        // From the first page along the chain, which is the vector from its end on.
        for i in (0..others.len()).rev() {
            let no = others[i];
            if done.is_ok() && left > 0 && cut.remove(&no) {
                let next = if i == 0 { PageNo::NONE } else { others[i - 1] };
                let before = *chain.last().unwrap_or(&first);
                done = cut_page(pool, worker, undo, (before, no, next));
                left -= 1;
                if done.is_ok() {
                    continue;
                }
                cut.insert(no);
            }
            chain.push(no);
        }
        self.free.retain(|no| *no == first || cut.contains(no));
        self.chain.extend(chain.into_iter().skip(1).rev());
        done?;
        Ok(self.chain.len() > kept && !cut.is_empty())
    }
}

/// Takes page `no` out of its chain, between `before` and `next`.
fn cut_page(
    pool: &Pool,
    worker: &WorkerSlot,
    undo: &Tablespace,
    (before, no, next): (PageNo, PageNo, PageNo),
) -> Result<()> {
    let mut mtr = Mtr::new(pool, worker);
    let held = mtr.exclusive(undo, before)?;
    space::free(&mut mtr, undo, space::Segment::UNDO, no)?;
    mtr.apply(held, &PageOp::Write { at: NEXT_AT, bytes: &next.0.to_le_bytes() })?;
    mtr.commit()?;
    Ok(())
}
