//! The engine: what all clients share, and the steps of its background work.
//!
//! 1. Work that a client could not finish (`unfinished`) stays here; its transactions stay active
//!    until it is done, so nobody sees the rows. What is taken out for a step is named there meanwhile
//!    ([`Leftovers`]), so whoever lists it waits for no step. Guard: the asserts of [`Leftovers`].
//! 2. The engine's own worker slot is used under its mutex; who works in the background has one of its own,
//!    since it may wait for room in the log. Guard: the type of `Engine::worker`.

use crate::autoinc::Counters;
use crate::background::{Background, Periodic};
use crate::branch::Places;
use crate::files::space_name;
use crate::progress::{Abandoned, Progress};
use crate::recovery::{Recovery, TableFinder};
use crate::registry::Registry;
use crate::rollback::{IndexRelease, Lookup, Tables};
use crate::spaces::Spaces;
use crate::writer::{Buffers, Writer};
use crate::{Branch, Client, Settings, Table, TableSpec, TableStorage, undo_room};
use base::{Error, IndexId, Lsn, Result, SpaceId, TableId, TrxId};
use host::Disk;
use pool::{Pool, Tablespace};
use redo::{FlushMode, Log};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use stdx::{CacheLine, Ordering};
use sync::waits::WaitsFor;
use sync::{Mutex, SlotTable, WorkerSlot, WorkerSlotRef};
use trx::{IdKind, RecordCount, Segment, State, TrxSystem, UndoPos};

instrument::classes! {
    static MAKERS: MutexClass = "wait/synch/mutex/limpid/index_makers";
    static UNFINISHED: MutexClass = "wait/synch/mutex/limpid/unfinished_transactions";
    static FINISHING: MutexClass = "wait/synch/mutex/limpid/finish_transactions", across_io;
    static WORKER: MutexClass = "wait/synch/mutex/limpid/engine_worker", across_io;
    static THREADS: MutexClass = "wait/synch/mutex/limpid/engine_threads";
    static BRANCHES: MutexClass = "wait/synch/mutex/limpid/recovered_branches";
    static RECOVERING: MutexClass = "wait/synch/mutex/limpid/recovery_threads";
}

/// Pages that one step of the cleaner writes at most.
const CLEAN_PAGES: usize = 64;
/// A shutdown leaves longer histories to the next start.
const PURGED_AT_SHUTDOWN: usize = 10_000;
/// Reading an undo record costs about a hundredth of undoing it, or of purging what it tells of.
const COUNTED_PER_ROW: u64 = 100;

/// Where a purge goes on, and how many records it may read.
type PurgeStep<'a> = (&'a mut Option<UndoPos>, &'a mut u64);

/// Transactions and the last record of each.
type Unpurged = Vec<(TrxId, UndoPos)>;

/// A segment with something to finish: a rollback (state active), dropped indexes to be freed (committed), or
/// what recovery found unpurged (free).
pub(crate) struct Unfinished {
    segment: Segment,
    tables: Vec<Arc<Table>>,
    /// Tables dropped meanwhile: there is nothing to do for them any more.
    dropped: Vec<TableId>,
    /// What recovery found unpurged, the newest transaction first, once it was looked for.
    history: Option<Unpurged>,
    /// Where a purge that was interrupted goes on.
    purge_at: Option<UndoPos>,
    /// Since when it is here, in microseconds since 1970.
    since_us: u64,
    /// How far the records of a recovered transaction are counted; `None`: to the end.
    count: Option<RecordCount>,
    release: IndexRelease,
}

/// Everything that there is to finish.
#[derive(Default)]
pub(crate) struct Leftovers {
    list: VecDeque<Unfinished>,
    /// What a step has in its hands.
    in_hand: Option<(State, Abandoned)>,
}

impl Leftovers {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.in_hand.is_none()
    }

    /// Takes the next one in this state for a step.
    fn take(&mut self, state: State) -> Option<Unfinished> {
        assert!(self.in_hand.is_none(), "two steps at once finish what clients left");
        let at = self.list.iter().position(|u| u.state() == state)?;
        let work = self.list.remove(at)?;
        self.in_hand = Some((state, work.shown()));
        Some(work)
    }

    /// The step has ended; `rest` is what is left of it.
    fn put_back(&mut self, rest: Option<Unfinished>) {
        assert!(self.in_hand.take().is_some(), "nothing of what clients left is being finished");
        self.list.extend(rest);
    }

    /// The transactions that are to be rolled back.
    fn active(&self) -> impl Iterator<Item = Abandoned> {
        let in_list = self.list.iter().map(|u| (u.state(), u.shown()));
        let all = in_list.chain(self.in_hand);
        all.filter(|(state, _)| *state == State::Active).map(|(_, shown)| shown)
    }
}

/// What a round of [`Engine::finish`] did.
#[derive(Clone, Copy, Default)]
pub(crate) struct Finished {
    pub losers: u64,
    pub purged: u64,
    /// Undo records looked up, and pieces of indexes freed; 0: nothing could go on.
    pub rows: u64,
}

impl Unfinished {
    pub fn new(segment: Segment, tables: Vec<Arc<Table>>) -> Unfinished {
        let count = segment.is_recovered().then(|| RecordCount::of(&segment));
        let since_us = host::clock::unix_micros();
        let (dropped, history, purge_at) = (Vec::new(), None, None);
        let release = IndexRelease::step_of(0);
        Unfinished { segment, tables, dropped, history, purge_at, since_us, count, release }
    }

    pub fn state(&self) -> State {
        self.segment.state()
    }

    fn shown(&self) -> Abandoned {
        let (trx, changes) = (self.segment.trx(), self.segment.records());
        Abandoned { trx, changes, since_us: self.since_us }
    }

    /// The tables of a tablespace are gone.
    fn forget_space(&mut self, space: SpaceId) {
        let gone = self.tables.iter().filter(|t| t.ts.id() == space).map(|t| t.id());
        self.dropped.extend(gone);
        self.tables.retain(|t| t.ts.id() != space);
    }
}

/// A storage engine over one data folder.
pub struct Engine {
    pub(crate) disk: Arc<dyn Disk>,
    log: Arc<Log>,
    pool: Arc<Pool>,
    trx: TrxSystem,
    pub(crate) registry: Registry,
    /// Finds tables in the dictionary, once there is one.
    pub(crate) finder: OnceLock<Arc<TableFinder>>,
    locks: lock::Locks,
    /// By session slot, made when it is first used.
    progress: Box<[OnceLock<Arc<CacheLine<Progress>>>]>,
    slots: Arc<SlotTable>,
    waits: Arc<WaitsFor>,
    settings: Settings,
    spaces: Spaces,
    pub(crate) counters: Counters,
    /// Which transactions made indexes that a view may still be too old for.
    makers: Mutex<HashMap<IndexId, TrxId>>,
    pub(crate) system: OnceLock<Vec<Arc<Table>>>,
    pub(crate) unfinished: Mutex<Leftovers>,
    /// Held for each step of a rollback or purge in the background, and while a tablespace is dropped.
    finishing: Mutex<()>,
    worker: Mutex<WorkerSlotRef>,
    pub(crate) background: Mutex<Option<Background>>,
    /// What somebody upstairs does every now and then.
    pub(crate) periodic: OnceLock<Periodic>,
    pub(crate) recovery: Recovery,
    pub(crate) recovering: Mutex<Option<Background>>,
    pub(crate) recovery_threads: usize,
    pub(crate) force_recovery: u8,
    pub(crate) purge_threads: usize,
    pub(crate) undo_room: undo_room::Figures,
    /// Those that recovery found, until somebody takes them.
    pub(crate) branches: Mutex<Vec<Branch>>,
    pub(crate) branch_places: Arc<Places>,
}

/// What an engine is put together from.
pub(crate) struct Parts {
    pub disk: Arc<dyn Disk>,
    pub log: Arc<Log>,
    pub pool: Arc<Pool>,
    pub slots: Arc<SlotTable>,
    pub waits: Arc<WaitsFor>,
    pub trx: TrxSystem,
    pub spaces: Spaces,
    pub worker: WorkerSlotRef,
    pub recovery: Recovery,
    pub recovery_threads: usize,
    pub force_recovery: u8,
    pub purge_threads: usize,
    pub branches_max: usize,
}

impl Engine {
    pub(crate) fn assemble(p: Parts) -> Arc<Engine> {
        Arc::new(Engine {
            disk: p.disk,
            log: p.log,
            pool: p.pool,
            trx: p.trx,
            registry: Registry::new(),
            finder: OnceLock::new(),
            locks: lock::Locks::new(p.slots.sessions_max(), &p.waits),
            progress: (0..p.slots.sessions_max()).map(|_| OnceLock::new()).collect(),
            slots: p.slots,
            waits: p.waits,
            settings: Settings::new(),
            spaces: p.spaces,
            counters: Counters::new(),
            makers: Mutex::new(&MAKERS, HashMap::new()),
            system: OnceLock::new(),
            periodic: OnceLock::new(),
            unfinished: Mutex::new(&UNFINISHED, Leftovers::default()),
            finishing: Mutex::new(&FINISHING, ()),
            worker: Mutex::new(&WORKER, p.worker),
            background: Mutex::new(&THREADS, None),
            recovery: p.recovery,
            recovering: Mutex::new(&RECOVERING, None),
            recovery_threads: p.recovery_threads,
            force_recovery: p.force_recovery,
            purge_threads: p.purge_threads,
            undo_room: undo_room::Figures::default(),
            branches: Mutex::new(&BRANCHES, Vec::new()),
            branch_places: Arc::new(Places::new(p.branches_max)),
        })
    }

    /// The buffer pool, for its settings and figures, resizing, dumping and loading.
    #[inline]
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The redo log, for its settings, figures and hooks.
    #[inline]
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    #[inline]
    pub(crate) fn trx(&self) -> &TrxSystem {
        &self.trx
    }

    /// How far the transaction of a session slot is.
    ///
    /// # Panics
    /// When there is no such slot.
    pub(crate) fn progress_of(&self, slot: usize) -> &Arc<CacheLine<Progress>> {
        self.progress[slot].get_or_init(|| Arc::new(CacheLine(Progress::new())))
    }

    /// The same, if there was a transaction in that slot.
    pub(crate) fn progress_known(&self, slot: usize) -> Option<&Progress> {
        self.progress.get(slot)?.get().map(|progress| &progress.0)
    }

    /// The row locks, for listings, figures and settings.
    #[inline]
    pub fn locks(&self) -> &lock::Locks {
        &self.locks
    }

    /// Runs `f` with the engine's own worker slot.
    pub(crate) fn with_worker<R>(&self, f: impl FnOnce(&WorkerSlot) -> R) -> R {
        f(&self.worker.lock())
    }

    /// The settings that may change at any time.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets `innodb_flush_log_at_trx_commit`: 0, 1 or 2; anything else is 1.
    pub fn set_flush_log_at_trx_commit(&self, mode: u8) {
        let mode = FlushMode::from_value(mode).unwrap_or(FlushMode::Sync);
        self.log.settings().set_flush_mode(mode);
        self.settings.note_flush_log_at_trx_commit(mode as u8);
    }

    /// What to do when the log or a data file cannot be made durable: the daemon ends the process.
    /// The first registration counts.
    pub fn on_fatal(&self, hook: Box<dyn Fn(&Error) + Send + Sync>) {
        let hook = Arc::new(hook);
        let same = Arc::clone(&hook);
        self.log.set_fatal_hook(Box::new(move |e| hook(e)));
        self.pool.set_fatal_hook(Box::new(move |e| same(e)));
    }

    /// The slots of all sessions and workers; metadata locks use the same.
    pub fn slots(&self) -> &Arc<SlotTable> {
        &self.slots
    }

    /// The waits-for graph of row waits. Its nodes are session slot numbers, as those of metadata
    /// locks.
    pub fn waits(&self) -> &Arc<WaitsFor> {
        &self.waits
    }

    /// A new client.
    ///
    /// Errors: [`base::Error::TooManyTransactions`] when all slots are taken.
    pub fn client(self: &Arc<Self>) -> Result<Client> {
        Client::new(self)
    }

    /// A table id that was never given before; at least 1024.
    pub fn new_table_id(&self) -> Result<TableId> {
        self.with_worker(|w| self.trx.ids.take(IdKind::Table, &self.pool, w)).map(TableId)
    }

    /// An index id that was never given before; at least 1024.
    pub fn new_index_id(&self) -> Result<IndexId> {
        self.with_worker(|w| self.trx.ids.take(IdKind::Index, &self.pool, w)).map(IndexId)
    }

    /// System table number `i` of the configuration.
    ///
    /// # Panics
    /// When the configuration has no such table.
    pub fn system_table(&self, i: usize) -> Arc<Table> {
        let tables = self.system.get().expect("set before `open` returns");
        Arc::clone(&tables[i])
    }

    /// Opens a table that the dictionary describes.
    ///
    /// Errors: [`base::Error::MissingSpace`] when its file is gone.
    pub fn open_table(&self, spec: &TableSpec, storage: TableStorage) -> Result<Arc<Table>> {
        let ts = self.space(storage.space)?.ok_or(Error::MissingSpace(storage.space))?;
        let last = space::autoinc(&ts)?;
        let counter = self.counters.of(ts.id(), last.saturating_add(1));
        let table = Table::new(spec, &storage, &ts, &counter, &self.makers.lock())?;
        self.registry.opened(&table);
        Ok(table)
    }

    /// The open table that the dictionary describes so; opened now unless it is. The caller sees to it that nobody else asks
    /// for it meanwhile.
    ///
    /// Errors: as [`Self::open_table`].
    pub fn table(&self, spec: &TableSpec, storage: TableStorage) -> Result<Arc<Table>> {
        let open = self.registry.newest(spec.id);
        match open.filter(|table| table.ts.id() == storage.space && table.spec() == spec) {
            Some(table) => Ok(table),
            None => self.open_table(spec, storage),
        }
    }

    /// Opens a table anew whose rows are written under another layout from now on: while nobody works in it in the background
    /// with the handle of before. The caller has it locked exclusively.
    ///
    /// Errors: as [`Self::open_table`].
    pub fn open_relaid(&self, spec: &TableSpec, storage: TableStorage) -> Result<Arc<Table>> {
        let _still = self.hold_still(spec.id);
        self.open_table(spec, storage)
    }

    /// Remembers that transaction `trx` makes these indexes: older views cannot read them.
    pub(crate) fn note_makers(&self, trx: TrxId, indexes: impl Iterator<Item = IndexId>) {
        let mut makers = self.makers.lock();
        makers.retain(|_, maker| !self.trx.all_see(*maker));
        makers.extend(indexes.map(|index| (index, trx)));
    }

    /// See [`Self::note_makers`].
    pub(crate) fn makers(&self) -> HashMap<IndexId, TrxId> {
        self.makers.lock().clone()
    }

    /// An open tablespace, opened if need be; `None`: there is no file.
    pub(crate) fn space(&self, id: SpaceId) -> Result<Option<Arc<Tablespace>>> {
        self.spaces.get_or_open(id, || {
            let name = space_name(id);
            match self.disk.exists(&name).map_err(|e| Error::io("look for", &*name, e))? {
                true => self.pool.open_tablespace(id, &name).map(Some),
                false => Ok(None),
            }
        })
    }

    /// Makes a tablespace of an id that was never given before.
    pub(crate) fn create_space(&self, id: SpaceId) -> Result<Arc<Tablespace>> {
        let ts = self.create_file(id)?;
        self.spaces.add(Arc::clone(&ts));
        Ok(ts)
    }

    fn create_file(&self, id: SpaceId) -> Result<Arc<Tablespace>> {
        // No orphan of this id is looked for meanwhile; once they are gone, nobody waits for the file of another table.
        let mut made = self.recovery.made.lock();
        let Some(ids) = &mut *made else {
            drop(made);
            return self.pool.create_tablespace(id, &space_name(id));
        };
        // A crash may have left a file and lost that its id was given: such a file is an orphan.
        self.remove_file(id)?;
        ids.insert(id);
        self.pool.create_tablespace(id, &space_name(id))
    }

    /// Removes a tablespace and its file, if they are there.
    pub(crate) fn drop_space(&self, id: SpaceId) -> Result<()> {
        self.counters.forget(id);
        if let Some(ts) = self.spaces.remove(id) {
            return self.pool.drop_tablespace(&ts);
        }
        self.remove_file(id)
    }

    fn remove_file(&self, id: SpaceId) -> Result<()> {
        let name = space_name(id);
        let io = |op| move |e| Error::io(op, space_name(id), e);
        if self.disk.exists(&name).map_err(io("look for"))? {
            self.disk.remove(&name).map_err(io("remove"))?;
            self.disk.sync_dir().map_err(io("make durable the removal of"))?;
        }
        Ok(())
    }

    /// Writes some dirty pages of every instance, finishes what clients left and purges; what the
    /// background threads do in a loop. The number of pages written.
    pub fn step_cleaner(&self) -> Result<usize> {
        let cleaned = self.pool.clean_some(CLEAN_PAGES)?;
        self.step_janitor(u64::MAX);
        self.purge_all()?;
        Ok(cleaned)
    }

    /// What the janitor does in a loop: one step of everything that clients left, at most `rows_max` undo records
    /// of each transaction, or pieces of an index (extents, or pages of shared ones). How many it was.
    pub fn step_janitor(&self, rows_max: u64) -> u64 {
        self.with_worker(|worker| self.finish_leftovers(worker, rows_max))
    }

    /// Looks for what every reader sees by now; a background thread does it all the time.
    pub fn refresh_views(&self) {
        self.trx.refresh_horizon();
    }

    /// Tries once more to finish what clients left, at most `rows_max` undo records of each transaction; how
    /// many it was.
    pub(crate) fn finish_leftovers(&self, worker: &WorkerSlot, rows_max: u64) -> u64 {
        if self.unfinished.lock().is_empty() {
            return 0;
        }
        // What is left of a branch that recovery found may have none of its tables open.
        let find = |id| match self.finder.get() {
            Some(find) => Ok(self.registry.checked(find(id)?)),
            None => Ok(Lookup::Later),
        };
        // After an error it is tried again at the next step.
        let done = self.finish(worker, &find, rows_max);
        done.map_or(0, |done| done.rows)
    }

    /// Advances the log's checkpoint as far as the dirty pages allow; its position.
    pub fn checkpoint(&self) -> Result<Lsn> {
        self.pool.checkpoint_with(|| self.trx.ids.checkpoint_payload())
    }

    /// Stops the unfinished work on a tablespace and drops it. The dictionary has it no more.
    pub(crate) fn stop_and_drop_space(&self, space: SpaceId) -> Result<()> {
        // No step is in the middle of it, and none begins before the file is gone.
        let _none_is_running = self.finishing.lock();
        self.unfinished.lock().list.iter_mut().for_each(|u| u.forget_space(space));
        self.stop_purge_of(|| self.registry.dropping(space));
        self.drop_space(space)
    }

    /// Makes room in the log when no thread does: before a writer begins, with no latch held.
    #[inline]
    pub(crate) fn relieve_log(&self) -> Result<()> {
        if self.log.wants_checkpoint() && self.background.lock().is_none() {
            while self.pool.clean_some(CLEAN_PAGES)? > 0 {}
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Takes over work that a client could not finish.
    pub(crate) fn leave_unfinished(&self, work: Unfinished) {
        self.unfinished.lock().list.push_back(work);
    }

    /// The transactions that are to be rolled back in the background.
    pub(crate) fn losers(&self) -> BTreeSet<TrxId> {
        self.unfinished.lock().active().map(|u| u.trx).collect()
    }

    /// The transactions of [`Self::losers`], and how far each was before its present step.
    pub fn abandoned(&self) -> Vec<Abandoned> {
        self.unfinished.lock().active().collect()
    }

    /// Whether nothing is left that recovery found or a client could not finish.
    pub(crate) fn all_finished(&self) -> bool {
        self.unfinished.lock().is_empty()
    }

    /// Waits for the step of a rollback in the background that is under way.
    pub(crate) fn wait_for_rollback_step(&self) {
        drop(self.finishing.lock());
    }

    /// One round over what there is to finish: rollbacks, then the rest, at most `rows_max` undo
    /// records of each that need a table, and [`COUNTED_PER_ROW`] times as many that need none. What needs a table
    /// that is not known stays.
    pub(crate) fn finish(
        &self,
        worker: &WorkerSlot,
        tables: &Tables<'_>,
        rows_max: u64,
    ) -> Result<Finished> {
        let mut done = Finished::default();
        let mut first_error = None;
        self.trx.refresh_horizon();
        let all = self.unfinished.lock().list.len();
        // Losers first: a purge then meets committed rows only, as far as possible.
        for state in [State::Active, State::Committed, State::Free] {
            for _ in 0..all {
                // What is taken out of the list is in nobody else's hands.
                let _one = self.finishing.lock();
                let Some(mut work) = self.unfinished.lock().take(state) else { break };
                let step = self.finish_one(worker, &mut work, tables, rows_max, &mut done);
                if let Err(e) = step {
                    first_error = first_error.or(Some(e));
                }
                let ended = work.state() == State::Free && work.segment.unpurged().is_none();
                if ended {
                    self.trx.give_back(work.segment);
                    self.unfinished.lock().put_back(None);
                } else {
                    self.unfinished.lock().put_back(Some(work));
                }
            }
        }
        self.recovery.undone(done.losers);
        first_error.map_or(Ok(done), Err)
    }

    /// Stops where there is more to do, or a table is not known yet.
    fn finish_one(
        &self,
        worker: &WorkerSlot,
        work: &mut Unfinished,
        tables: &Tables<'_>,
        rows_max: u64,
        done: &mut Finished,
    ) -> Result<()> {
        let Unfinished {
            segment, tables: known, dropped, history, purge_at, count, release, ..
        } = work;
        release.allow(rows_max);
        // What needs no table, and so is not looked up, costs reading only.
        let mut reads = rows_max.saturating_mul(COUNTED_PER_ROW);
        if let (State::Active, Some(counting)) = (segment.state(), count.as_mut())
            && !self.recovery.is_opening()
        {
            if !self.trx.count_records(segment, counting, reads)? {
                done.rows += 1;
                return Ok(());
            }
            *count = None;
        }
        let looked_up = Cell::new(0);
        // A table is asked for once in a step, and not kept longer (`recovery.rs` 3).
        let last = RefCell::new(None);
        let lookup = |id| {
            if looked_up.get() == rows_max {
                return Ok(Lookup::Later);
            }
            let found = match &*last.borrow() {
                Some((last, table)) if *last == id => Lookup::Open(Arc::clone(table)),
                _ => match Self::lookup_in(known, id) {
                    _ if dropped.contains(&id) => Lookup::Dropped,
                    _ if self.registry.is_held(id) => Lookup::Later,
                    Lookup::Later => tables(id)?,
                    found => found,
                },
            };
            if let Lookup::Open(table) = &found {
                *last.borrow_mut() = Some((id, Arc::clone(table)));
            }
            if !matches!(found, Lookup::Later) {
                looked_up.set(looked_up.get() + 1);
            }
            Ok(found)
        };
        let was = segment.state();
        let at = (purge_at, &mut reads);
        let result = match was {
            State::Active => {
                let ended = self.finish_rollback(worker, segment, release, &lookup)?;
                done.losers += u64::from(ended);
                Ok(())
            }
            State::Committed => {
                let ended = self.finish_commit(worker, segment, (at, release), &lookup)?;
                done.purged += u64::from(ended);
                Ok(())
            }
            _ => {
                let n = self.finish_history(worker, segment, (history, at), &lookup)?;
                done.purged += n;
                Ok(())
            }
        };
        done.rows += looked_up.get() + (rows_max - release.left()) + u64::from(reads == 0);
        if was == State::Active {
            self.recovery.rows_undone.fetch_add(looked_up.get(), Ordering::Relaxed);
        }
        result
    }

    /// Undoes a transaction that no session has any more, and ends it; `false`: a table is not known yet, or the step is over.
    pub(crate) fn finish_rollback(
        &self,
        worker: &WorkerSlot,
        segment: &mut Segment,
        release: &mut IndexRelease,
        lookup: &Tables<'_>,
    ) -> Result<bool> {
        let mut b = Buffers::default();
        let mut writer = Writer::alone(self, worker, segment);
        writer.release = Some(release);
        if !writer.undo_to(UndoPos::NONE, lookup, &mut b)? {
            return Ok(false);
        }
        match self.trx.finish_rollback(worker, segment) {
            Ok(lsn) => {
                self.trx.end(segment.trx(), lsn, None);
                self.trx.leave(segment, lsn, false);
                Ok(true)
            }
            Err(e) => {
                segment.restore_state(State::Active);
                Err(e)
            }
        }
    }

    /// Frees the indexes that a committed transaction dropped; the rest of it becomes history. Of one that recovery
    /// found nobody keeps a view: it is purged at once.
    fn finish_commit(
        &self,
        worker: &WorkerSlot,
        segment: &mut Segment,
        ((purge_at, reads), release): (PurgeStep<'_>, &mut IndexRelease),
        lookup: &Tables<'_>,
    ) -> Result<bool> {
        let mut b = Buffers::default();
        let mut writer = Writer::alone(self, worker, segment);
        writer.release = Some(release);
        if !writer.free_dropped()? {
            return Ok(false);
        }
        if writer.segment.is_recovered() {
            let at = purge_at.get_or_insert(writer.segment.last());
            if !writer.purge(at, lookup, reads, &mut b)? {
                return Ok(false);
            }
            *purge_at = None;
        }
        match self.trx.finish_commit(worker, segment) {
            Ok(_) if segment.is_recovered() => Ok(true),
            Ok(lsn) => {
                self.trx.leave(segment, lsn, true);
                Ok(true)
            }
            Err(e) => {
                segment.restore_state(State::Committed);
                Err(e)
            }
        }
    }

    /// Purges what recovery found unpurged in a segment; how many transactions. Nobody has a view from before
    /// them.
    fn finish_history(
        &self,
        worker: &WorkerSlot,
        segment: &mut Segment,
        (history, (purge_at, reads)): (&mut Option<Unpurged>, PurgeStep<'_>),
        lookup: &Tables<'_>,
    ) -> Result<u64> {
        // It may be long.
        if self.recovery.is_opening() {
            return Ok(0);
        }
        let history = match history {
            Some(history) => history,
            None => history.insert(self.trx.unpurged(segment)?),
        };
        let mut b = Buffers::default();
        let mut stand_in = self.trx.stand_in();
        let mut done = 0;
        while let Some(&(trx, last)) = history.last() {
            stand_in.stand_for(trx);
            let mut writer = Writer::alone(self, worker, &mut stand_in);
            let at = purge_at.get_or_insert(last);
            if !writer.purge(at, lookup, reads, &mut b)? {
                return Ok(done);
            }
            *purge_at = None;
            segment.set_purged_to(trx);
            history.pop();
            done += 1;
        }
        self.trx.finish_commit(worker, segment)?;
        Ok(done)
    }

    /// Ends the background threads, writes everything and leaves a clean checkpoint, or what
    /// [`Settings::fast_shutdown`] asks for. Clients must be gone.
    ///
    /// What recovery has not finished is left to the next start: the checkpoint then stays where
    /// recovery began.
    pub fn shutdown(&self) -> Result<()> {
        self.stop_background();
        let how = self.settings.fast_shutdown();
        if how == 0 || how == 1 && self.history_len() < PURGED_AT_SHUTDOWN {
            // What stays is purged after the next start.
            let _ = self.purge_all();
        }
        self.settle_autoinc();
        self.log.flush_to(self.log.tail())?;
        if how == 2 {
            return Ok(());
        }
        self.pool.flush_all()?;
        self.checkpoint()?;
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Not joined: the last handle may be a thread's own.
        self.signal_background();
        self.signal_recovery();
    }
}
