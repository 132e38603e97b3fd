//! One client's view of the engine: its transaction and its buffers.
//!
//! 1. A transaction takes an id and an undo segment with its first write, not before. Guard:
//!    `a_failed_fsync_is_final_and_told`.
//! 2. Commit: the segment's state in a mini-transaction is the commit record; then others see the
//!    rows; then the log is made durable; then what the transaction left becomes history and the
//!    segment is free for the next one; then a little of what is older is purged. Guard: the assert of
//!    [`trx::TrxSystem::leave`], `what_many_writers_were_told_survives_a_power_cut`.
//! 3. A client is out of its transaction after `commit` or `rollback` whatever they answer. What
//!    could not be undone or purged is the engine's to finish. Guard: `a_failed_fsync_is_final_and_told`; the full disks
//!    and orphans of `one_runner`.

mod changes;

use crate::TemporaryFiles;
use crate::engine::{Engine, Unfinished};
use crate::history::Purger;
use crate::last_found::LastFound;
use crate::locked_range::LockedRange;
use crate::locking::{LockMode, Locker, RowLock, Stamp, TableLocks, inherited};
use crate::outside::Need;
use crate::progress::{Progress, Undoing};
use crate::rollback::Lookup;
use crate::row::{HEADER_BYTES, RowHeader, Seen, row_bytes};
use crate::scan::{Reader, Viewer};
use crate::version::{Eyes, Sight};
use crate::writer::{Buffers, Writer};
use crate::{Scan, Table};
use base::{Error, Isolation, Lsn, Result, TrxId};
use instrument::Counter;
use lock::{Owner, Shape, Target};
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Bound;
use std::sync::Arc;
use stdx::CacheLine;
use sync::{SessionSlot, SessionSlotRef, WorkerSlot, WorkerSlotRef};
use trx::{Ended, Segment, State, UndoPos, View};

/// A place in a transaction's undo to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoMark(UndoPos);

/// Tables that a client keeps between its transactions.
const TABLES_KEPT_MAX: usize = 8;

/// What comes after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Perhaps others.
    More,
    /// [`Client::commit`]: the change is all that the transaction does. It may be committed with it at once, in one
    /// mini-transaction; then nothing undoes it any more. The log is made durable by [`Client::commit`].
    Commit,
}

/// A transaction that has written.
pub(crate) struct Running {
    pub segment: Box<Segment>,
    /// The tables it wrote to, for rollback and purge.
    pub tables: Vec<Arc<Table>>,
    /// Its only change was its commit, at this place of the log; others see it.
    ended: Option<Lsn>,
}

/// The worker slot of a client, from its first write on: every round of the log looks at all slots that are taken.
struct OwnWorker(OnceCell<WorkerSlotRef>);

impl OwnWorker {
    #[inline]
    fn of(&self, engine: &Engine) -> Result<&WorkerSlotRef> {
        match self.0.get() {
            Some(worker) => Ok(worker),
            None => self.take(engine),
        }
    }

    #[cold]
    fn take(&self, engine: &Engine) -> Result<&WorkerSlotRef> {
        let worker = engine.slots().acquire_worker().ok_or(Error::TooManyTransactions)?;
        Ok(self.0.get_or_init(|| worker))
    }
}

/// One client of the engine; used by one thread at a time. What each statement looks at comes first.
#[repr(C)]
pub struct Client {
    slot: SessionSlotRef,
    engine: Arc<Engine>,
    /// Its row locks.
    owner: Arc<Owner>,
    /// `None`: reads see the latest committed versions, as whoever changes the dictionary must.
    isolation: Option<Isolation>,
    /// The transaction has more than one statement.
    spans_statements: bool,
    /// The running statement reads the latest committed versions where it locks nothing.
    reads_latest: bool,
    begun: Cell<bool>,
    /// The row that was read last without a view was changed of late.
    meets_young: bool,
    /// A statement could not be undone: the transaction can only be rolled back.
    doomed: bool,
    /// The open read view.
    view: Cell<Option<View>>,
    running: Option<Running>,
    worker: OwnWorker,
    lock_wait_timeout_s: Option<u32>,
    /// Rows that the running statement has found to change: see [`Client::intend_change`].
    intended: Cell<u64>,
    /// Rows of the transaction that were set to what they were: see [`Client::note_same`].
    same: Cell<u64>,
    /// The tables of the transaction before, for the next one: so that who changes the same table again and again does not count its
    /// handles up and down, which all its writers would.
    tables_before: Vec<Arc<Table>>,
    /// The empty memory of such a list.
    tables_spare: Vec<Arc<Table>>,
    /// How far its transaction is.
    progress: Arc<CacheLine<Progress>>,
    /// What else its weight is made of.
    tables: RefCell<TableLocks>,
    /// For single rows that are read with locks.
    locked: RefCell<Option<Box<LockedRange>>>,
    last_found: LastFound,
    /// A free segment, kept for the next transaction.
    cached: Option<Box<Segment>>,
    /// What it purges with, once it has.
    purger: Option<Box<Purger>>,
    buffers: Buffers,
    /// For scans of its own, once there was one: a reader, and the row that it has found.
    scan: Option<Box<(Reader, Vec<u8>)>>,
}

impl Client {
    pub(crate) fn new(engine: &Arc<Engine>) -> Result<Client> {
        let slots = engine.slots();
        let slot = slots.acquire_session().ok_or(Error::TooManyTransactions)?;
        Ok(Client {
            owner: Arc::clone(engine.locks().owner(slot.index())),
            progress: Arc::clone(engine.progress_of(slot.index())),
            tables: RefCell::default(),
            locked: RefCell::new(None),
            last_found: LastFound::default(),
            slot,
            worker: OwnWorker(OnceCell::new()),
            engine: Arc::clone(engine),
            lock_wait_timeout_s: None,
            isolation: None,
            spans_statements: false,
            reads_latest: false,
            view: Cell::new(None),
            begun: Cell::new(false),
            intended: Cell::new(0),
            same: Cell::new(0),
            running: None,
            tables_before: Vec::new(),
            tables_spare: Vec::new(),
            meets_young: false,
            doomed: false,
            cached: None,
            purger: None,
            buffers: Buffers::default(),
            scan: None,
        })
    }

    /// The engine it belongs to.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Its session slot, where its waits are visible and killable.
    pub fn slot(&self) -> &SessionSlot {
        &self.slot
    }

    /// Number of its session slot: its name in the waits-for graph.
    pub fn slot_index(&self) -> usize {
        self.slot.index()
    }

    /// Its worker slot.
    ///
    /// # Errors
    /// It had none yet, and all are taken.
    pub(crate) fn worker(&self) -> Result<&WorkerSlot> {
        Ok(self.worker.of(&self.engine)?)
    }

    /// The client will do nothing for a while: gives back what others have to look at.
    pub fn rest(&mut self) {
        if !self.in_transaction() {
            self.worker = OwnWorker(OnceCell::new());
        }
    }

    /// Sets how long this client waits for another transaction's row, in seconds.
    pub fn set_lock_wait_timeout(&mut self, seconds: u32) {
        self.lock_wait_timeout_s = Some(seconds);
    }

    /// Begins a transaction; nothing happens until it writes. In a transaction already: nothing.
    pub fn begin(&mut self) {
        self.begun.set(true);
    }

    /// Between [`Self::begin`] (or the first write or lock) and the end.
    pub fn in_transaction(&self) -> bool {
        self.begun.get() || self.running.is_some()
    }

    /// It was committed with its only change ([`Then::Commit`]).
    fn has_ended(&self) -> bool {
        self.running.as_ref().is_some_and(|r| r.ended.is_some())
    }

    /// The transaction has changed something.
    pub fn has_written(&self) -> bool {
        self.running.as_ref().is_some_and(|r| !r.segment.last().is_none())
    }

    /// The transaction's id, once it has written.
    pub fn trx_id(&self) -> Option<TrxId> {
        self.running.as_ref().map(|r| r.segment.trx())
    }

    /// Who reads with this client.
    #[inline]
    pub(crate) fn viewer(&self, table: &Table) -> Viewer<'_> {
        Viewer { engine: &self.engine, eyes: self.eyes().on(table) }
    }

    /// Sets the isolation level of this client's reads from here on. A client that never heard of one
    /// reads the latest committed versions.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = Some(isolation);
    }

    /// The isolation level of its reads; `RepeatableRead` unless told.
    pub fn isolation(&self) -> Isolation {
        self.isolation.unwrap_or_default()
    }

    /// Says whether the statements to come belong to one transaction: then a view that REPEATABLE READ has
    /// opened outlives its statement.
    pub fn set_spans_statements(&mut self, spans: bool) {
        self.spans_statements = spans;
    }

    /// Says whether reads without locks see the latest committed versions, whatever the level: for statements
    /// that change what foreign keys make them look at. Until [`Self::end_statement`].
    pub fn set_reads_latest(&mut self, latest: bool) {
        self.reads_latest = latest;
    }

    /// Whether the statements belong to one transaction, as [`Self::set_spans_statements`] said.
    pub fn spans_statements(&self) -> bool {
        self.spans_statements
    }

    /// Whether rows are locked that a statement only shows: in a SERIALIZABLE transaction.
    #[inline]
    pub fn shows_locked(&self) -> bool {
        self.isolation == Some(Isolation::Serializable) && self.spans_statements
    }

    /// Whether locking reads lock the gaps between rows, too.
    pub fn locks_gaps(&self) -> bool {
        !self.gapless()
    }

    /// Opens the read view now, if the level has one and none is open: START TRANSACTION WITH CONSISTENT
    /// SNAPSHOT.
    pub fn open_view(&self) {
        if self.isolation() > Isolation::ReadUncommitted {
            self.sight_of_view();
        }
    }

    /// The statement is over: its read view goes, unless it is the transaction's.
    #[inline]
    pub fn end_statement(&mut self) {
        self.reads_latest = false;
        self.owner.end_statement();
        let keeps = self.spans_statements && self.isolation() >= Isolation::RepeatableRead;
        if !keeps {
            self.close_view();
        }
    }

    #[inline]
    fn close_view(&self) {
        if self.view.take().is_some() {
            self.engine.trx().close_view(&self.slot);
        }
    }

    /// The transaction ends: it reads and locks nothing more.
    fn end_begun(&mut self) {
        self.begun.set(false);
        self.same.set(0);
        self.last_found.forget();
        self.close_view();
        // Who has written shows them until all is over, and a rollback may be long.
        let shown = self.running.is_none().then(|| self.progress());
        self.tables.borrow_mut().clear(shown);
    }

    fn sight_of_view(&self) -> Sight {
        let view = self.view.get().unwrap_or_else(|| {
            let view = self.engine.trx().open_view(&self.slot);
            self.view.set(Some(view));
            view
        });
        Sight::At(view)
    }

    /// Whose reads see what; opens the view if need be.
    #[inline]
    pub(crate) fn eyes(&self) -> Eyes {
        let sight = match self.isolation {
            None => Sight::Committed,
            Some(_) if self.reads_latest => Sight::Committed,
            Some(Isolation::ReadUncommitted) => Sight::Newest,
            Some(_) => self.sight_of_view(),
        };
        Eyes { me: self.me(), sight }
    }

    /// As [`Self::eyes`], if a view is open already.
    pub(crate) fn open_eyes(&self) -> Option<Eyes> {
        self.view.get().map(|_| self.eyes())
    }

    /// As [`Self::eyes`], for a statement that reads one row: the latest committed version is as good as
    /// a view of its own.
    #[inline]
    fn eyes_for_one(&self) -> Eyes {
        let own_view = !self.spans_statements || self.isolation == Some(Isolation::ReadCommitted);
        match own_view && self.view.get().is_none() {
            true if self.isolation != Some(Isolation::ReadUncommitted) => self.eyes_of_latest(),
            _ => self.eyes(),
        }
    }

    #[inline]
    fn eyes_of_latest(&self) -> Eyes {
        Eyes { me: self.me(), sight: Sight::Committed }
    }

    /// `trx_id`, or none.
    #[inline]
    pub(crate) fn me(&self) -> TrxId {
        self.running.as_ref().map_or(TrxId::NONE, |r| r.segment.trx())
    }

    /// Commits; durable on return as `innodb_flush_log_at_trx_commit` says. An error after the
    /// commit record was written is an error of the log, and final.
    pub fn commit(&mut self) -> Result<()> {
        if self.doomed {
            self.rollback()?;
            return Err(Error::Internal(
                "a statement could not be undone: its transaction was rolled back",
            ));
        }
        self.end_begun();
        let Some(mut running) = self.running.take() else {
            self.end_locks();
            return Ok(());
        };
        let segment = &mut running.segment;
        let ended = match running.ended {
            Some(lsn) => Ended { lsn, wrote: true },
            None => match self.engine.trx().commit(self.worker.of(&self.engine)?, segment) {
                Ok(ended) => self.end(segment.trx(), ended),
                Err(e) => {
                    // The log has failed: nothing is acknowledged any more, recovery decides.
                    segment.restore_state(State::Active);
                    self.leave_active(running);
                    return Err(e);
                }
            },
        };
        let durable = if ended.wrote { self.engine.log().commit(ended.lsn) } else { Ok(()) };
        if segment.drops_index() && (durable.is_err() || !self.free_dropped(segment)) {
            self.engine.leave_unfinished(Unfinished::new(*running.segment, running.tables));
            return durable;
        }
        self.keep_tables(running.tables);
        self.keep_segment(running.segment, ended.lsn, true);
        durable
    }

    /// Keeps a transaction's tables for the next one.
    fn keep_tables(&mut self, tables: Vec<Arc<Table>>) {
        self.tables_spare = std::mem::replace(&mut self.tables_before, tables);
        self.tables_spare.clear();
        self.tables_before.truncate(TABLES_KEPT_MAX);
        self.tables_before.retain(|table| !table.is_private());
    }

    /// The commit is in the log: lets others see it, and have what was locked.
    fn end(&self, trx: TrxId, ended: Ended) -> Ended {
        self.engine.trx().end(trx, ended.lsn, Some(&self.slot));
        self.engine.locks().end(&self.owner);
        self.progress().end();
        ended
    }

    /// A transaction that can only be rolled back.
    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed
    }

    /// What has been written so far, and the means to write more.
    pub(crate) fn running_parts(&mut self) -> Result<(&mut Running, &WorkerSlot)> {
        let running = self.running.as_mut().ok_or(Error::Internal("writing was not started"))?;
        Ok((running, self.worker.of(&self.engine)?))
    }

    /// Who has its row locks.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Is out of its transaction, which goes on without it; its row locks are the caller's to give away.
    pub(crate) fn leave_transaction(&mut self) -> Option<Running> {
        let running = self.running.take();
        self.end_begun();
        self.progress().end();
        running
    }

    /// Leaves an active transaction to the engine, which will roll it back.
    fn leave_active(&mut self, running: Running) {
        self.engine.trx().orphan(running.segment.trx(), &self.slot);
        self.progress().end();
        self.engine.locks().end(&self.owner);
        self.engine.leave_unfinished(Unfinished::new(*running.segment, running.tables));
    }

    /// Frees the indexes that a committed transaction dropped; `false`: that is left to be done.
    fn free_dropped(&self, segment: &mut Segment) -> bool {
        let engine = &*self.engine;
        let Ok(worker) = self.worker.of(&self.engine) else { return false };
        let mut writer = Writer::alone(engine, worker, segment);
        if !matches!(writer.free_dropped(), Ok(true)) {
            return false;
        }
        let freed = engine.trx().finish_commit(worker, segment).is_ok();
        if !freed {
            segment.restore_state(State::Committed);
        }
        freed
    }

    /// Leaves what a transaction wrote that ended at `lsn` to those who may still need it, and keeps the
    /// segment for the next one.
    fn keep_segment(&mut self, mut segment: Box<Segment>, lsn: Lsn, committed: bool) {
        let engine = &*self.engine;
        if engine.trx().leave(&mut segment, lsn, committed)
            && let Ok(worker) = self.worker.of(&self.engine)
        {
            let purger = self.purger.get_or_insert_with(|| Box::new(Purger::new(engine)));
            engine.purge_quota(worker, segment.history(), purger);
        }
        match engine.trx().is_long(&segment) {
            // There it can be cut.
            true => engine.trx().give_back(*segment),
            false => self.cached = Some(segment),
        }
    }

    /// Undoes the whole transaction. What cannot be undone now (disk full) is left to the
    /// background; the client is out of the transaction in any case.
    pub fn rollback(&mut self) -> Result<()> {
        self.end_begun();
        if self.running.is_none() {
            self.end_locks();
            return Ok(());
        }
        if self.has_ended() {
            self.doomed = false;
            self.commit()?;
            return Err(Error::Internal("a transaction that has ended cannot be rolled back"));
        }
        self.progress().set_undoing(Some(Undoing::Transaction));
        let _must_end = sync::shield();
        let undone = self.undo_to(UndoPos::NONE, false);
        self.doomed = false;
        let Some(mut running) = self.running.take() else { return undone };
        let segment = &mut running.segment;
        let freed = undone.and_then(|()| {
            let lsn = self.engine.trx().finish_rollback(self.worker.of(&self.engine)?, segment)?;
            self.engine.trx().end(segment.trx(), lsn, Some(&self.slot));
            self.engine.locks().end(&self.owner);
            self.progress.0.end();
            Ok(lsn)
        });
        match freed {
            Ok(lsn) => {
                self.keep_tables(running.tables);
                self.keep_segment(running.segment, lsn, false);
                Ok(())
            }
            Err(e) => {
                segment.restore_state(State::Active);
                self.leave_active(running);
                Err(e)
            }
        }
    }

    /// The present place, to which [`Self::rollback_to`] can go back: the beginning of a statement.
    pub fn mark(&self) -> UndoMark {
        UndoMark(self.running.as_ref().map_or(UndoPos::NONE, |r| r.segment.last()))
    }

    /// Undoes everything since `mark`, which is of the same transaction and statement. After an error the
    /// transaction can only be rolled back.
    pub fn rollback_to(&mut self, mark: UndoMark) -> Result<()> {
        self.rollback_part(mark, Undoing::Statement)
    }

    /// As [`Self::rollback_to`], for a mark that an earlier statement made.
    pub fn rollback_to_savepoint(&mut self, mark: UndoMark) -> Result<()> {
        self.rollback_part(mark, Undoing::Savepoint)
    }

    fn rollback_part(&mut self, mark: UndoMark, what: Undoing) -> Result<()> {
        if self.mark() == mark {
            return Ok(());
        }
        self.last_found.forget();
        self.progress().set_undoing(Some(what));
        let _must_end = sync::shield();
        let undone = self.undo_to(mark.0, true);
        self.progress().set_undoing(None);
        self.doomed |= undone.is_err() && !self.has_ended();
        undone
    }

    fn progress(&self) -> &Progress {
        &self.progress.0
    }

    /// `keep`: the transaction goes on, and what it had locked stays so.
    fn undo_to(&mut self, until: UndoPos, keep: bool) -> Result<()> {
        let inherited = inherited(self.gapless());
        let Some(running) = &mut self.running else { return Ok(()) };
        if running.ended.is_some() {
            return Err(Error::Internal("a change that is committed cannot be undone"));
        }
        let (segment, tables) = (&mut running.segment, &running.tables);
        let engine = &*self.engine;
        let mut writer = Writer::alone(engine, self.worker.of(&self.engine)?, segment);
        writer.keeper = keep.then_some((&*self.owner, inherited));
        writer.progress = Some(&self.progress.0);
        let lookup = |id| match Engine::lookup_in(tables, id) {
            Lookup::Later => Ok(Lookup::Dropped),
            found => Ok(found),
        };
        writer.undo_to(until, &lookup, &mut self.buffers)?;
        Ok(())
    }

    /// Runs `f` with this client's means to write to `table`; undoes its row when it fails.
    pub(crate) fn write<T>(
        &mut self,
        table: &Table,
        then: Then,
        f: impl FnOnce(&mut Writer<'_>, &mut Buffers) -> Result<T>,
    ) -> Result<T> {
        self.engine.relieve_log()?;
        self.engine.keep_to_purge_lag();
        self.start_writing(table)?;
        self.last_found.forget();
        let mark = self.mark();
        let ends = then == Then::Commit && !self.has_written();
        let (result, ended) = match self.means() {
            Ok((mut writer, buffers)) => {
                writer.ends = ends;
                (f(&mut writer, buffers), writer.ended)
            }
            Err(e) => (Err(e), None),
        };
        if let (Some(lsn), Some(running)) = (ended, &mut self.running) {
            running.ended = ended;
            self.end(self.me(), Ended { lsn, wrote: true });
            return result;
        }
        self.progress().set_changes(self.changes());
        if result.is_err() && self.mark() != mark {
            self.rollback_to(mark)?;
        }
        result
    }

    fn start_writing(&mut self, table: &Table) -> Result<()> {
        if self.doomed {
            return Err(Error::Internal("a statement could not be undone: roll back first"));
        }
        self.start_transaction()?;
        let Some(running) = &mut self.running else { return Ok(()) };
        if !running.tables.iter().any(|t| std::ptr::eq(&**t, table)) {
            self.engine.admit_changes(table)?;
            let before = self.tables_before.iter().position(|t| std::ptr::eq(&**t, table));
            let before = before.map(|at| self.tables_before.swap_remove(at));
            // A newer handle of a table (DDL in between) takes the older one's place.
            running.tables.retain(|t| t.id() != table.id());
            running.tables.push(match before {
                Some(handle) => handle,
                None => table.handle()?,
            });
            self.intend(table, LockMode::Exclusive);
        }
        Ok(())
    }

    /// Gives the transaction its id and undo segment.
    pub(crate) fn start_transaction(&mut self) -> Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let worker = self.worker.of(&self.engine)?;
        let session = self.slot.index();
        let cached = self.cached.take();
        let segment = self.engine.trx().start(worker, worker.index(), session, cached)?;
        self.owner.set_trx(segment.trx());
        self.progress().begin(segment.trx());
        self.running =
            Some(Running { segment, tables: std::mem::take(&mut self.tables_spare), ended: None });
        Ok(())
    }

    /// The means to write for this client's transaction, which has begun to write; waits for rows.
    pub(crate) fn writer(&mut self) -> Result<Writer<'_>> {
        self.means().map(|(writer, _)| writer)
    }

    /// As [`Self::writer`], with this client's memory for it.
    fn means(&mut self) -> Result<(Writer<'_>, &mut Buffers)> {
        let (timeout_s, gapless) = (self.timeout_s(), self.gapless());
        let running = self.running.as_mut().ok_or(Error::Internal("writing was not started"))?;
        let (engine, slot, owner) = (&*self.engine, &*self.slot, &*self.owner);
        let me = running.segment.trx();
        let mut writer = Writer::alone(engine, self.worker.of(&self.engine)?, &mut running.segment);
        let duplicate = LockMode::Shared;
        let (undo, same, tables) = (0, self.same.get(), &self.tables);
        let locker =
            Locker { engine, slot, owner, me, timeout_s, gapless, undo, same, tables, duplicate };
        writer.locker = Some(locker);
        Ok((writer, &mut self.buffers))
    }

    /// Whether rows are changed as soon as a reader of this client has found and locked them, one by one: then
    /// [`Self::read_latest`] need not search what was found last.
    pub fn change_as_found(&self, on: bool) {
        self.last_found.arm(on);
    }

    pub(crate) fn last_found(&self) -> &LastFound {
        &self.last_found
    }

    /// Says that the row with this clustered key is about to be changed because its key was named: its weight
    /// is that of a locked one.
    pub fn note_named(&self, table: &Table, key: &[u8]) {
        let (target, index) = (Target::record(table.clustered.index, key), table.clustered.index);
        if !self.engine.locks().has(&self.owner, target, Shape::WRITE) {
            self.tables.borrow_mut().note_changed(table.id(), index, self.progress());
        }
    }

    /// The row that [`Self::note_named`] told of was changed; it had been read as of `stamp`. Nothing when the transaction
    /// has ended with that ([`Then::Commit`]): it locks nothing any more.
    pub fn count_named(&self, table: &Table, key: &[u8], stamp: Stamp) {
        if self.has_ended() {
            return;
        }
        let target = Target::record(table.clustered.index, key);
        let counted = stamp.is_changed_by(self.me());
        if !counted && !self.engine.locks().has(&self.owner, target, Shape::WRITE) {
            self.progress().add_named();
        }
    }

    /// The segment of the transaction, for DDL.
    pub(crate) fn parts(&mut self) -> Result<(&Engine, &WorkerSlot, &mut Segment)> {
        self.start_transaction()?;
        let running = self.running.as_mut().ok_or(Error::Internal("writing was not started"))?;
        Ok((&self.engine, self.worker.of(&self.engine)?, &mut running.segment))
    }

    /// Puts the row with clustered key `key` into `out` (cleared first): the version
    /// that the isolation level says. `false`: there is none. Warm: nothing shared is written,
    /// nothing allocated.
    #[inline]
    pub fn get(&mut self, table: &Table, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let eyes = self.eyes_for_one().on(table);
        self.engine.check_age(eyes, table, 0)?;
        let seen = self.read_one(eyes, table, key, out)?;
        if !seen.is_plain() {
            return self.get_other((eyes, table, key), Need::All, seen, out);
        }
        strip_header(out);
        instrument::count(Counter::InnodbRowsRead, 1);
        Ok(true)
    }

    /// As [`Self::get`], for a caller that will decode these columns only: values of the others
    /// that lie outside of the row are not fetched, and cannot be decoded.
    #[inline]
    pub fn get_columns(
        &mut self,
        table: &Table,
        key: &[u8],
        columns: &[usize],
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let eyes = self.eyes_for_one().on(table);
        self.engine.check_age(eyes, table, 0)?;
        let seen = self.read_one(eyes, table, key, out)?;
        if !seen.is_plain() {
            return self.get_other((eyes, table, key), Need::Columns(columns), seen, out);
        }
        strip_header(out);
        instrument::count(Counter::InnodbRowsRead, 1);
        Ok(true)
    }

    /// Reads one row. Without a view what is known to have ended decides as long as rows are old, and the line of the log's
    /// tail is left to the writers; where they are young, it is looked at before the row is copied.
    #[inline]
    fn read_one(
        &mut self,
        eyes: Eyes,
        table: &Table,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Seen> {
        let committed = eyes.sight == Sight::Committed;
        if committed && !self.meets_young {
            // Ended before the row is copied: see `version`, invariant 1.
            let below = self.engine.trx().all_ended_below();
            if !table.clustered.get(key, out)? {
                return Ok(Seen::NOTHING);
            }
            let h = RowHeader::read(out)?;
            if h.trx < below {
                return Ok(h.seen(table.version()));
            }
            self.meets_young = true;
        }
        let seen = self.engine.read_visible(eyes, table, key, out, &mut self.buffers.undo)?;
        if committed && seen.is_there() {
            self.meets_young = RowHeader::read(out)?.trx >= self.engine.trx().all_ended_below();
        }
        Ok(seen)
    }

    /// No row in `out`, or one with values outside.
    #[cold]
    fn get_other(
        &mut self,
        (eyes, table, key): (Eyes, &Table, &[u8]),
        need: Need<'_>,
        seen: Seen,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if !seen.is_there() {
            out.clear();
            return Ok(false);
        }
        let mut complete = Vec::new();
        let undo = &mut self.buffers.undo;
        let into = (&mut *out, &mut complete);
        let found = self.engine.complete_visible(eyes, table, key, need, into, undo);
        if matches!(found, Ok(true)) {
            instrument::count(Counter::InnodbRowsRead, 1);
            *out = complete;
        } else {
            out.clear();
        }
        found
    }

    /// The rows of an index range in order, the latest committed or own versions of them. `index`: 0 the clustered
    /// index, then the secondaries from 1. A bound is a key of that index or the beginning of one
    /// (whole parts): a prefix stands for all keys that begin with it.
    pub fn scan<'a>(
        &'a mut self,
        table: &'a Table,
        index: usize,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Scan<'a>> {
        let viewer = Viewer { engine: &self.engine, eyes: self.eyes_of_latest() };
        let room = self.scan.get_or_insert_with(|| Box::new((Reader::new(), Vec::new())));
        let (reader, row) = &mut **room;
        Scan::open(viewer, table, index, (low, high), reader, row)
    }

    /// All rows of a table as the running statement sees them, by its clustered index; opens the view if need be.
    ///
    /// # Errors
    /// [`Error::TableDefChanged`]: the table was made after the view.
    pub fn scan_seen<'a>(&'a mut self, table: &'a Table) -> Result<Scan<'a>> {
        let viewer = Viewer { engine: &self.engine, eyes: self.eyes().on(table) };
        let room = self.scan.get_or_insert_with(|| Box::new((Reader::new(), Vec::new())));
        let (reader, row) = &mut **room;
        Scan::open(viewer, table, 0, (Bound::Unbounded, Bound::Unbounded), reader, row)
    }

    /// Makes files without names.
    pub fn temporary_files(&self) -> TemporaryFiles {
        TemporaryFiles { disk: Arc::clone(&self.engine.disk), slot: self.slot.index() }
    }

    /// Memory for a row as it is.
    pub(crate) fn before(&mut self) -> &mut Vec<u8> {
        &mut self.buffers.before
    }

    /// Who locks with this client.
    pub(crate) fn locker(&self) -> Locker<'_> {
        Locker {
            engine: &self.engine,
            slot: &self.slot,
            owner: &self.owner,
            me: self.me(),
            timeout_s: self.timeout_s(),
            gapless: self.gapless(),
            undo: self.changes() + self.intended.get() + self.same.get(),
            same: self.same.get(),
            tables: &self.tables,
            duplicate: LockMode::Shared,
        }
    }

    /// As [`Self::locker`], to lock something of a table: there is a transaction from here on.
    pub(crate) fn locking(&self, table: &Table, mode: LockMode) -> Locker<'_> {
        self.begun.set(true);
        self.intend(table, mode);
        self.locker()
    }

    /// Rows of a table are going to be locked or changed.
    pub(crate) fn intend(&self, table: &Table, mode: LockMode) {
        self.tables.borrow_mut().note(table.id(), mode, self.progress());
    }

    /// A row that was locked will be changed when all that the statement looks for are found. InnoDB changes it at
    /// once: until [`Self::change_intended`] it weighs as if it were changed when a victim is chosen.
    pub fn intend_change(&self) {
        self.intended.set(self.intended.get() + 1);
    }

    /// A row was set to what it was, by a statement that does not read what it sets: in MySQL the engine finds
    /// that nothing changes, when it has written undo for it. Until the transaction ends it weighs as if it were
    /// changed.
    pub fn note_same(&self) {
        self.same.set(self.same.get() + 1);
    }

    /// The rows that the statement looks for are found, or it has failed: from now on what is changed counts.
    pub fn change_intended(&self) {
        self.intended.set(0);
    }

    /// Undo records of the transaction so far: about as many as rows that it has changed.
    #[inline]
    fn changes(&self) -> u64 {
        self.running.as_ref().map_or(0, |r| r.segment.records())
    }

    fn timeout_s(&self) -> u32 {
        self.lock_wait_timeout_s.unwrap_or_else(|| self.engine.settings().lock_wait_timeout_s())
    }

    /// Whether the level locks records only.
    fn gapless(&self) -> bool {
        self.isolation.is_none_or(|level| level <= Isolation::ReadCommitted)
    }

    /// The end of a transaction that has not written.
    fn end_locks(&self) {
        if self.owner.has_locks() {
            self.engine.locks().end(&self.owner);
        }
    }

    pub(crate) fn get_with_lock(
        &self,
        table: &Table,
        key: &[u8],
        need: Need<'_>,
        lock: RowLock,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        out.clear();
        let mut range = self.locked.take().unwrap_or_default();
        range.open_at(lock, key);
        let found = range.step(&self.locking(table, lock.mode), table);
        if matches!(found, Ok(true)) {
            let payload = range.payload();
            match RowHeader::read(payload)?.seen(table.version()).is_plain() {
                true => out.extend_from_slice(row_bytes(payload)),
                false => self.engine.complete_own(table, payload, need, out)?,
            }
            instrument::count(Counter::InnodbRowsRead, 1);
        }
        self.locked.replace(Some(range));
        found
    }

    /// Gives back what [`Self::get_locked`] newly locked last: the row is not wanted after all. Does
    /// nothing at levels that keep such locks.
    pub fn unlock_last(&self) {
        let locker = self.locker();
        if let (Some(range), true) = (&mut *self.locked.borrow_mut(), locker.gapless) {
            range.unlock_last(&locker);
        }
    }
}

/// Leaves a row's bytes of its payload.
fn strip_header(payload: &mut Vec<u8>) {
    payload.drain(..HEADER_BYTES.min(payload.len()));
}

impl Drop for Client {
    fn drop(&mut self) {
        // What cannot be undone now is left to the engine.
        let _ = self.rollback();
        if let Some(segment) = self.cached.take() {
            self.engine.trx().give_back(*segment);
        }
    }
}
