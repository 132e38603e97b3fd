//! Branches: transactions that are prepared (XA) and have no client any more.
//!
//! 1. A prepared transaction is in a session slot of its own, in which nobody runs: there its row locks are, and the metadata
//!    locks that whoever prepared it gives to the slot. So others wait for it as for a session's, until it ends. Guard:
//!    `a_prepared_branch_keeps_its_locks_and_its_client_goes_on`; the models of `lock` and `mdl`.
//! 2. It ends by [`Client::commit_branch`] or [`Client::rollback_branch`] alone, or it is prepared as before, also when one of
//!    them panics; what was undone in part is a loser's: `a_branch_whose_rollback_panics_is_a_loser`. A branch that is dropped stays prepared on the
//!    disk: the server stops. Guard: `branches_are_there_after_every_crash`.
//! 3. One that has written nothing is no transaction any more, and is not found again after a crash, as in MySQL. Guard:
//!    `a_branch_that_has_written_nothing_locks_no_row`.
//! 4. Recovery makes them before the first client comes, with the tables to be locked. Rows they have written are locked; locks
//!    that were more than that are gone, as in MySQL. Guard: `a_recovered_branch_locks_what_it_has_written`.

use crate::client::Running;
use crate::engine::{Engine, Unfinished};
use crate::rollback::{IndexRelease, Lookup};
use crate::{Client, Table};
use base::{Error, Result, TableId, TrxId};
use std::collections::BTreeMap;
use std::sync::Arc;
use sync::{Mutex, SessionSlot, SessionSlotRef, WorkerSlot};
use trx::{Prepared, Segment, State, Xid};

instrument::classes! {
    static PLACES: MutexClass = "wait/synch/mutex/limpid/prepared_transactions";
}

/// What a branch has written.
struct Work {
    segment: Segment,
    /// The tables, as far as whoever wrote had them open.
    open: Vec<Arc<Table>>,
}

/// A prepared transaction, for lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parked {
    /// Its session slot, where its locks and [`Engine::progress`] are.
    pub slot: usize,
    /// Since when it is prepared, or found to be by recovery, in microseconds since 1970.
    pub since_us: u64,
}

/// The prepared transactions that there are. No more than so many: their slots are not to be missing to sessions.
pub(crate) struct Places {
    taken: Mutex<BTreeMap<usize, Parked>>,
    max: usize,
}

/// A prepared transaction's place.
struct Place(Arc<Places>, usize);

impl Places {
    pub fn new(max: usize) -> Places {
        Places { taken: Mutex::new(&PLACES, BTreeMap::new()), max }
    }

    /// A place for who is in that slot; `None`: there is none left, and `beyond` does not ask for one all the same.
    fn take(self: &Arc<Places>, slot: usize, beyond: bool) -> Option<Place> {
        let mut taken = self.taken.lock();
        if taken.len() >= self.max && !beyond {
            return None;
        }
        taken.insert(slot, Parked { slot, since_us: host::clock::unix_micros() });
        Some(Place(Arc::clone(self), slot))
    }

    pub fn list(&self) -> Vec<Parked> {
        self.taken.lock().values().copied().collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.lock().remove(&self.1);
    }
}

/// A prepared transaction.
pub struct Branch {
    xid: Xid,
    /// Those it has written to.
    tables: Vec<TableId>,
    /// `None`: it has written nothing, or has ended.
    work: Option<Work>,
    // Before the slot, which somebody else may have when it is given back.
    _place: Place,
    slot: SessionSlotRef,
}

impl Branch {
    /// Its name.
    pub fn xid(&self) -> &Xid {
        &self.xid
    }

    /// The slot that its locks are in.
    pub fn slot(&self) -> &SessionSlot {
        &self.slot
    }

    /// The tables it has written to.
    pub fn tables(&self) -> &[TableId] {
        &self.tables
    }

    /// These tables will be gone before it ends: there will be nothing to undo in them.
    pub fn forget(&mut self, tables: &[TableId]) {
        let work = self.work.iter_mut();
        work.for_each(|work| work.open.retain(|table| !tables.contains(&table.id())));
    }

    /// Its transaction, while there is something that is neither committed nor rolled back.
    pub fn trx_id(&self) -> Option<TrxId> {
        self.work.as_ref().map(|work| work.segment.trx())
    }

    /// Gives its transaction, in whose slot it is from now on, its place among those that others see.
    fn show(&self, engine: &Engine, changes: u64) {
        let Some(work) = &self.work else { return };
        let progress = &engine.progress_of(self.slot.index()).0;
        progress.begin(work.segment.trx());
        progress.set_changes(changes);
        let tables = self.tables.iter().enumerate();
        tables.for_each(|(n, table)| progress.set_intention(n, (*table, lock::Mode::Exclusive)));
    }

    /// Its locks are nobody's any more. Comes after what makes its rows so.
    fn unlock(&self, engine: &Engine) {
        engine.locks().end(engine.locks().owner(self.slot.index()));
        engine.progress_of(self.slot.index()).0.end();
    }
}

impl Client {
    /// Prepares the transaction, durably as `innodb_flush_log_at_trx_commit` says: what it has written and locked is the branch's
    /// from now on, and the client is out of it. After an error the transaction is still the client's, to be rolled back.
    ///
    /// # Errors
    /// [`Error::TooManyTransactions`]: there are as many as may be; those of writing.
    pub fn prepare(&mut self, xid: Xid) -> Result<Branch> {
        if self.is_doomed() {
            return Err(Error::Internal("a statement could not be undone: roll back first"));
        }
        let engine = Arc::clone(self.engine());
        let slot = engine.slots().acquire_session().ok_or(Error::TooManyTransactions)?;
        let place = engine.branch_places.take(slot.index(), false);
        let place = place.ok_or(Error::TooManyTransactions)?;
        let mut branch = Branch { xid, slot, tables: Vec::new(), work: None, _place: place };
        if !self.has_written() {
            self.commit()?;
            return Ok(branch);
        }
        let (running, worker) = self.running_parts()?;
        let changes = running.segment.records();
        branch.tables = running.tables.iter().map(|table| table.id()).collect();
        let (xid, tables) = (&branch.xid, &branch.tables);
        let lsn = engine.trx().prepare(worker, &mut running.segment, xid, tables)?;
        engine.log().commit(lsn)?;
        if let Some(Running { segment, tables, .. }) = self.leave_transaction() {
            let (trx, to) = (segment.trx(), branch.slot.index());
            branch.work = Some(Work { segment: *segment, open: tables });
            branch.show(&engine, changes);
            engine.trx().give_to(trx, Some(self.slot()), to);
            engine.locks().give_to(self.owner(), engine.locks().owner(to));
        }
        Ok(branch)
    }

    /// Commits a branch; the client is in no transaction. Durable on return, as [`Self::commit`].
    ///
    /// # Errors
    /// Those of the log: the branch is prepared still when [`Branch::trx_id`] says so.
    pub fn commit_branch(&mut self, branch: &mut Branch) -> Result<()> {
        let Some(work) = &mut branch.work else { return Ok(()) };
        let engine = Arc::clone(self.engine());
        let still_prepared = StillPrepared(Some(&mut work.segment));
        let ended =
            still_prepared.try_end(|segment| engine.trx().commit(self.worker()?, segment))?;
        let Some(Work { mut segment, .. }) = branch.work.take() else { return Ok(()) };
        engine.trx().end(segment.trx(), ended.lsn, None);
        branch.unlock(&engine);
        let durable = engine.log().commit(ended.lsn);
        engine.trx().leave(&mut segment, ended.lsn, true);
        engine.trx().give_back(segment);
        durable
    }

    /// Rolls a branch back; the client is in no transaction. What cannot be undone now is left to the background.
    ///
    /// # Errors
    /// Those of the log: the branch is prepared still when [`Branch::trx_id`] says so.
    pub fn rollback_branch(&mut self, branch: &mut Branch) -> Result<()> {
        let Some(work) = &mut branch.work else { return Ok(()) };
        let engine = Arc::clone(self.engine());
        let still_prepared = StillPrepared(Some(&mut work.segment));
        let begun = still_prepared
            .try_end(|segment| engine.trx().take_back_prepare(self.worker()?, segment))?;
        engine.log().commit(begun)?;
        let _must_end = sync::shield();
        let work = branch.work.take();
        let mut undoing = Undoing { engine: &engine, branch, work };
        let undone = match undoing.finish(self.worker()?) {
            true => undoing.work.take(),
            false => None,
        };
        drop(undoing);
        undone.into_iter().for_each(|work| engine.trx().give_back(work.segment));
        Ok(())
    }
}

/// The segment of a branch that is about to end. Until it has, it is prepared, also when an error or a panic is in the way.
struct StillPrepared<'s>(Option<&'s mut Segment>);

impl StillPrepared<'_> {
    fn try_end<T>(mut self, end: impl FnOnce(&mut Segment) -> Result<T>) -> Result<T> {
        let segment = self.0.as_deref_mut().ok_or(Error::Internal("a branch without a segment"))?;
        let ended = end(segment)?;
        self.0 = None;
        Ok(ended)
    }
}

impl Drop for StillPrepared<'_> {
    fn drop(&mut self) {
        if let Some(segment) = &mut self.0 {
            segment.restore_state(State::Prepared);
        }
    }
}

/// A branch that is being rolled back. What is left of it when this goes, be it by a panic, is a loser as others are.
struct Undoing<'b> {
    engine: &'b Engine,
    branch: &'b Branch,
    work: Option<Work>,
}

impl Undoing<'_> {
    /// Whether all of it could be undone.
    fn finish(&mut self, worker: &WorkerSlot) -> bool {
        let undone = self.work.as_mut().map(|work| self.engine.undo_branch(worker, work));
        matches!(undone, Some(Ok(true)))
    }
}

impl Drop for Undoing<'_> {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            self.engine.trx().disown(work.segment.trx());
        }
        self.branch.unlock(self.engine);
        if let Some(work) = self.work.take() {
            self.engine.leave_unfinished(Unfinished::new(work.segment, work.open));
        }
    }
}

impl Engine {
    /// Undoes what a branch has written, and ends it; `false`: a table is not known yet.
    fn undo_branch(&self, worker: &WorkerSlot, work: &mut Work) -> Result<bool> {
        let open = &work.open;
        let lookup = |id| {
            if let Lookup::Open(table) = Engine::lookup_in(open, id) {
                return Ok(Lookup::Open(table));
            }
            // It is as it was when it was written to: the branch has it locked.
            match (self.registry.newest(id), self.finder.get()) {
                (Some(table), _) => Ok(Lookup::Open(table)),
                (None, Some(find)) => Ok(find(id)?.map_or(Lookup::Dropped, Lookup::Open)),
                (None, None) => Ok(Lookup::Later),
            }
        };
        let mut whole = IndexRelease::step_of(u64::MAX);
        self.finish_rollback(worker, &mut work.segment, &mut whole, &lookup)
    }

    /// Makes the branches that recovery found.
    pub(crate) fn recover_branches(&self, segments: Vec<Segment>) -> Result<()> {
        for mut segment in segments {
            let prepared = match self.trx().recover_branch(&mut segment) {
                Err(e) if self.recovery_is_forced() => {
                    let what = "a prepared transaction cannot be ended, its rows stay locked";
                    self.recovery.notes.error(&format!("recovery: {e}; {what}"));
                    continue;
                }
                prepared => prepared?,
            };
            let slot = self.slots().acquire_session().ok_or(Error::TooManyTransactions)?;
            // They are there, however many they may be.
            let place = self.branch_places.take(slot.index(), true);
            let place = place.ok_or(Error::TooManyTransactions)?;
            let (trx, to) = (segment.trx(), slot.index());
            let work = Some(Work { segment, open: Vec::new() });
            let Prepared { xid, tables, changes } = prepared;
            let branch = Branch { xid, slot, tables, work, _place: place };
            branch.show(self, changes);
            self.trx().give_to(trx, None, to);
            self.locks().owner(to).set_trx(trx);
            self.branches.lock().push(branch);
        }
        Ok(())
    }

    /// The prepared transactions, also those that have written nothing.
    pub fn parked(&self) -> Vec<Parked> {
        self.branch_places.list()
    }

    /// The branches that recovery found, once.
    pub fn take_branches(&self) -> Vec<Branch> {
        std::mem::take(&mut *self.branches.lock())
    }
}
