//! What recovery leaves for later: pages whose redo waits, losers, purges, files of no table.
//!
//! 1. [`Engine::open`] returns when the log was read and the transactions that did not end are known:
//!    whoever touches a page gives it its redo first, whoever meets a loser's row waits for that
//!    transaction's end. So clients may come at once, and nothing here is needed for correctness but
//!    patience. Guard: `a_losers_rows_are_protected_until_they_are_undone`.
//! 2. Sweepers read in the pages that nobody touches; until they are through, the checkpoint stays where
//!    this recovery began. A crash or a stop in between is a recovery from there. Guard:
//!    `a_crash_at_any_moment_of_recovery_is_recovered_from`, `a_stop_during_recovery_leaves_the_rest_to_the_next_start`.
//! 3. **Rollback in the background against DDL.** It takes no metadata lock, so DDL never waits for a
//!    big loser. Instead: it goes in steps under the mutex `finishing`, asks the dictionary for each
//!    step's table anew and keeps no table between steps. DROP and TRUNCATE first take the old
//!    definition back, then drop the file under `finishing`: from then on the dictionary says that the table
//!    is gone and the loser's records of it are skipped. CREATE INDEX waits for the owner of every row
//!    that a loser has changed (`ddl.rs`), so no loser is left that does not know the new index. Guard:
//!    `a_table_with_a_loser_can_be_dropped_before_and_while_it_is_undone`,
//!    `an_index_is_built_over_the_rows_as_they_are_without_the_loser`; the asserts of `engine::Leftovers`.
//! 4. Redo of a table whose file is gone, damaged in page 0 or foreign is not given up unasked: recovery goes
//!    on when no table of the dictionary lies there, or when `force_recovery` says so; else opening fails, the
//!    checkpoint stays before that redo, and the file may be put back. Guard:
//!    `redo_of_a_damaged_file_is_kept_until_somebody_gives_it_up`.
//! 5. Where `force_recovery` says so, no client changes a row of a table of the dictionary: what is left can be read
//!    and dropped. Recovery itself and the dictionary go on writing. Guard:
//!    `rows_are_read_and_not_changed_where_recovery_is_forced`.
//!
//! An error stops nothing else: what failed is tried again after a second and told once.

use crate::background::{Background, Stop};
use crate::config::Notes;
use crate::engine::Engine;
use crate::files::{FIRST_USER_SPACE, space_name, space_of_name};
use crate::rollback::Lookup;
use crate::{RecoveryReport, Table};
use base::{Error, Result, SpaceId, TableId};
use pool::Sweep;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, Mutex, Stage, WaitResult, WorkerSlot};

instrument::classes! {
    static TOLD: MutexClass = "wait/synch/mutex/limpid/recovery_told";
    static MADE: MutexClass = "wait/synch/mutex/limpid/recovery_new_spaces", across_io;
    static REPORT: MutexClass = "wait/synch/mutex/limpid/recovery_report";
    static SETTLED: CondClass = "wait/synch/cond/limpid/recovery_settled";
}

/// Undo records that one step of the background rollback undoes at most.
pub(crate) const STEP_ROWS: u64 = 64;
const TELL_EVERY: Duration = Duration::from_secs(1);
const TRY_AGAIN: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Finds the table of an id in the dictionary, opening it; `None`: it was dropped.
pub type TableFinder = dyn Fn(TableId) -> Result<Option<Arc<Table>>> + Send + Sync;

/// What recovery is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecoveryPhase {
    /// Reading the log.
    Scan = 0,
    /// Applying redo to the pages that nobody has touched yet.
    Apply = 1,
    /// Undoing transactions that did not end.
    Rollback = 2,
    /// Removing what committed transactions left behind, and files of no table.
    Purge = 3,
    /// There is nothing left to do.
    Done = 4,
}

impl RecoveryPhase {
    /// Its name, as reports show it.
    pub fn name(self) -> &'static str {
        match self {
            RecoveryPhase::Scan => "scan",
            RecoveryPhase::Apply => "apply",
            RecoveryPhase::Rollback => "rollback",
            RecoveryPhase::Purge => "purge",
            RecoveryPhase::Done => "done",
        }
    }
}

/// How far recovery is. The figures of what is done only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryProgress {
    /// What it is at.
    pub phase: RecoveryPhase,
    /// Bytes of redo between the checkpoint and the log's end.
    pub redo_bytes_total: u64,
    /// As much of it as the pages brought up to date stand for.
    pub redo_bytes_done: u64,
    /// Pages that lacked redo, at most.
    pub pages_total: u64,
    /// Pages brought up to date, or found to be.
    pub pages_done: u64,
    /// Transactions that did not end.
    pub losers_total: u64,
    /// Those rolled back.
    pub losers_done: u64,
    /// Undo records undone for them.
    pub rows_undone: u64,
    /// When the engine was opened, in microseconds since 1970.
    pub began_at_us: u64,
    /// Seconds left of this phase; `None`: not known.
    pub estimate_s: Option<u64>,
}

/// The state of recovery.
pub(crate) struct Recovery {
    pub notes: Notes,
    began: Instant,
    began_at_us: u64,
    /// When the log was read.
    scanned: Instant,
    redo_bytes: u64,
    /// The tablespaces made since the start, until the orphans are removed.
    pub made: Mutex<Option<BTreeSet<SpaceId>>>,
    opening: SharedAtomic<bool, { class::OTHER }>,
    /// Nothing is left to do, or nobody does it any more.
    ended: SharedAtomic<bool, { class::OTHER }>,
    done: SharedAtomic<bool, { class::OTHER }>,
    losers_total: SharedAtomic<u64, { class::OTHER }>,
    losers_done: SharedAtomic<u64, { class::OTHER }>,
    pub rows_undone: SharedAtomic<u64, { class::OTHER }>,
    told: Mutex<Instant>,
    report: Mutex<RecoveryReport>,
    settled: Event,
}

impl Recovery {
    pub fn new(notes: Notes, began: Instant, redo_bytes: u64) -> Recovery {
        let now = host::clock::now();
        let ago = u64::try_from(now.duration_since(began).as_micros()).unwrap_or(0);
        Recovery {
            notes,
            began,
            began_at_us: host::clock::unix_micros().saturating_sub(ago),
            scanned: now,
            redo_bytes,
            made: Mutex::new(&MADE, Some(BTreeSet::new())),
            opening: SharedAtomic::new(true),
            ended: SharedAtomic::new(false),
            done: SharedAtomic::new(false),
            losers_total: SharedAtomic::new(0),
            losers_done: SharedAtomic::new(0),
            rows_undone: SharedAtomic::new(0),
            told: Mutex::new(&TOLD, now),
            report: Mutex::new(&REPORT, RecoveryReport::default()),
            settled: Event::new(&SETTLED),
        }
    }

    /// `open` has not returned yet: only system tables are known.
    pub fn is_opening(&self) -> bool {
        self.opening.load(Ordering::Acquire)
    }

    pub fn opened(&self) {
        self.opening.store(false, Ordering::Release);
    }

    pub fn found_losers(&self, n: u64) {
        self.losers_total.store(n, Ordering::Release);
    }

    pub fn undone(&self, losers: u64) {
        self.losers_done.fetch_add(losers, Ordering::AcqRel);
    }

    fn end(&self, done: bool) {
        self.done.store(done, Ordering::Release);
        self.ended.store(true, Ordering::Release);
        self.settled.notify_all();
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// Seconds left when `done` of `total` took `elapsed`.
fn estimate_s(done: u64, total: u64, elapsed: Duration) -> Option<u64> {
    if done == 0 {
        return None;
    }
    let left = total.saturating_sub(done) as f64 / done as f64;
    Some((elapsed.as_secs_f64() * left).ceil() as u64)
}

impl Engine {
    /// Finishes recovery in background threads: applies the redo that waits, rolls back the losers,
    /// finishes purges, removes the files of no table. `tables` finds the tables that losers wrote to;
    /// `live` are the spaces of all tables of the dictionary (the system tables' excepted). Once.
    ///
    /// Errors: a thread cannot be started; [`Error::RedoNotApplied`] (invariant 4).
    pub fn start_recovery(
        self: &Arc<Self>,
        tables: Arc<TableFinder>,
        live: BTreeSet<SpaceId>,
    ) -> Result<()> {
        self.settle_skipped(&live)?;
        // Purge goes on asking; the first one counts.
        let _ = self.finder.set(Arc::clone(&tables));
        let stop = Arc::new(Stop::new());
        let mut threads = Vec::new();
        let mut spawn = |name: &str, run: Box<dyn FnOnce(Weak<Engine>, Arc<Stop>) + Send>| {
            let (weak, stop) = (Arc::downgrade(self), Arc::clone(&stop));
            let spawned = host::thread::spawn(name, move || run(weak, stop));
            threads.push(spawned.map_err(|e| Error::io("start thread", name, e))?);
            Ok(())
        };
        if self.pool().redo_pages_left() > 0 {
            for i in 0..self.recovery_threads {
                spawn("redo_sweeper", Box::new(move |e, stop| sweeper(&e, &stop, i == 0)))?;
            }
        }
        spawn("rollback", Box::new(move |e, stop| finisher(&e, &stop, &*tables, &live)))?;
        *self.recovering.lock() = Some(Background { stop, threads });
        Ok(())
    }

    /// What [`Self::start_recovery`] does, in the caller's thread and to the end. For tools and tests.
    pub fn finish_recovery(
        &self,
        tables: &dyn Fn(TableId) -> Result<Option<Arc<Table>>>,
        live: &BTreeSet<SpaceId>,
    ) -> Result<RecoveryReport> {
        self.settle_skipped(live)?;
        self.with_worker(|worker| self.finish_with(worker, tables, u64::MAX))?;
        self.pool().sweep_all(1)?;
        self.tell_damage();
        self.remove_orphans(live)?;
        self.end_recovery();
        Ok(self.recovery.report.lock().clone())
    }

    /// Whether `innodb_force_recovery` is above 0.
    pub fn recovery_is_forced(&self) -> bool {
        self.force_recovery != 0
    }

    /// Refuses changes of a table's rows where invariant 5 says so.
    #[inline]
    pub(crate) fn admit_changes(&self, table: &Table) -> Result<()> {
        match self.recovery_is_forced() && table.ts.id() >= FIRST_USER_SPACE {
            true => Err(Error::RecoveryForced),
            false => Ok(()),
        }
    }

    /// Decides what becomes of redo that has no sound file (invariant 4).
    fn settle_skipped(&self, live: &BTreeSet<SpaceId>) -> Result<()> {
        let skipped = self.pool().skipped_redo().into_iter().filter(|(id, _)| live.contains(id));
        let tell = |(id, e): (SpaceId, Error)| (id, format!("{}: {e}", space_name(id)));
        let files: Vec<_> = skipped.map(tell).collect();
        if !files.is_empty() && self.force_recovery == 0 {
            return Err(Error::RedoNotApplied { files });
        }
        for (_, why) in files {
            let what = "its changes in the redo log are given up (innodb_force_recovery)";
            self.recovery.notes.error(&format!("recovery: {why}; {what}"));
        }
        self.pool().forget_skipped();
        Ok(())
    }

    /// Waits until nothing is left of recovery, or nobody works on it any more. What was done since
    /// [`Self::open`] returned.
    pub fn wait_recovered(&self) -> Result<RecoveryReport> {
        let r = &self.recovery;
        if self.recovering.lock().is_some() {
            let _ = r.settled.wait_until(Deadline::Never, || r.has_ended());
        }
        match r.done.load(Ordering::Acquire) {
            true => Ok(r.report.lock().clone()),
            false => Err(Error::Internal("recovery was not finished")),
        }
    }

    /// How far recovery is.
    pub fn recovery_progress(&self) -> RecoveryProgress {
        let r = &self.recovery;
        // Whether it is over before all else, what is left before the total: so "done" comes with the last figures,
        // and the difference never shows more than was done.
        let is_done = r.done.load(Ordering::Acquire);
        let left = self.pool().redo_pages_left();
        let pages_total = self.pool().redo_pages_total();
        let pages_done = pages_total.saturating_sub(left);
        let losers_done = r.losers_done.load(Ordering::Acquire);
        let losers_total = r.losers_total.load(Ordering::Acquire);
        let phase = match () {
            () if is_done => RecoveryPhase::Done,
            () if left > 0 => RecoveryPhase::Apply,
            () if losers_done < losers_total => RecoveryPhase::Rollback,
            () => RecoveryPhase::Purge,
        };
        let elapsed = host::clock::now().duration_since(r.scanned);
        let share = |n: u64| match pages_total {
            0 => r.redo_bytes,
            total => (u128::from(r.redo_bytes) * u128::from(n) / u128::from(total)) as u64,
        };
        RecoveryProgress {
            phase,
            redo_bytes_total: r.redo_bytes,
            redo_bytes_done: share(pages_done),
            pages_total,
            pages_done,
            losers_total,
            losers_done,
            rows_undone: r.rows_undone.load(Ordering::Acquire),
            began_at_us: r.began_at_us,
            estimate_s: match phase {
                RecoveryPhase::Done => Some(0),
                RecoveryPhase::Apply => estimate_s(pages_done, pages_total, elapsed),
                _ => None,
            },
        }
    }

    fn finish_with(
        &self,
        worker: &WorkerSlot,
        tables: &dyn Fn(TableId) -> Result<Option<Arc<Table>>>,
        rows_max: u64,
    ) -> Result<u64> {
        let lookup = |id| match self.lookup_system(id) {
            Lookup::Later => Ok(tables(id)?.map_or(Lookup::Dropped, Lookup::Open)),
            found => Ok(found),
        };
        let done = self.finish(worker, &lookup, rows_max)?;
        let mut report = self.recovery.report.lock();
        report.losers += done.losers;
        report.purged += done.purged;
        Ok(done.rows)
    }

    /// Removes the files that no table of the dictionary lies in, those made since the start excepted.
    /// Only names are looked at.
    fn remove_orphans(&self, live: &BTreeSet<SpaceId>) -> Result<()> {
        let names = self.disk.list().map_err(|e| Error::io("list", "the data folder", e))?;
        for name in names {
            let Some(id) = space_of_name(&name).filter(|id| !live.contains(id)) else { continue };
            let made = self.recovery.made.lock();
            if made.as_ref().is_some_and(|made| !made.contains(&id)) {
                self.drop_space(id)?;
                self.recovery.report.lock().orphans.push(name);
            }
        }
        *self.recovery.made.lock() = None;
        Ok(())
    }

    fn tell_damage(&self) {
        for d in self.pool().take_damage() {
            let text = format!(
                "recovery: page {} cannot be read from now on, {} changes to it are lost: {}",
                d.page, d.records, d.error
            );
            self.recovery.notes.error(&text);
            self.recovery.report.lock().damaged_pages += 1;
        }
    }

    /// Once per second.
    fn tell_progress(&self) {
        let r = &self.recovery;
        {
            let Some(mut told) = r.told.try_lock() else { return };
            let now = host::clock::now();
            if now.duration_since(*told) < TELL_EVERY {
                return;
            }
            *told = now;
        }
        let p = self.recovery_progress();
        match p.phase {
            RecoveryPhase::Apply => {
                let percent = p.pages_done * 100 / p.pages_total.max(1);
                let left = p.estimate_s.map_or(String::new(), |s| format!(", about {s} s left"));
                let (done, total) = (p.pages_done, p.pages_total);
                r.notes.note(&format!("recovery: {percent} % ({done} of {total} pages){left}"));
            }
            RecoveryPhase::Rollback => r.notes.note(&format!(
                "recovery: {} of {} transactions rolled back, {} changes undone",
                p.losers_done, p.losers_total, p.rows_undone
            )),
            _ => {}
        }
    }

    fn end_recovery(&self) {
        let r = &self.recovery;
        if r.has_ended() {
            return;
        }
        r.end(true);
        let p = self.recovery_progress();
        if p.pages_total + p.losers_total > 0 {
            r.notes.note(&format!(
                "recovery: done {:.1} s after the start: {} MB of redo, {} pages, {} transactions rolled back",
                host::clock::now().duration_since(r.began).as_secs_f64(),
                p.redo_bytes_total >> 20,
                p.pages_total,
                p.losers_done
            ));
        }
    }

    /// The threads have ended.
    pub(crate) fn recovery_stopped(&self) {
        if !self.recovery.has_ended() {
            self.recovery.end(false);
        }
    }
}

/// Waits; true when the thread is to stop.
fn pause(stop: &Stop, time: Duration) -> bool {
    let ended = stop.event.wait_until(Deadline::after(time), || stop.is_set());
    ended == WaitResult::Woken || stop.is_set()
}

/// Tells an error unless it is the one told last.
fn tell_once(engine: &Engine, told: &mut String, what: &str, error: &Error) {
    let text = format!("recovery: {what}: {error}; trying again");
    if *told != text {
        engine.recovery.notes.warning(&text);
        *told = text;
    }
}

instrument::classes! {
    static APPLY: StageClass = "stage/limpid/recovery: applying redo";
    static ROLL_BACK: StageClass = "stage/limpid/recovery: rolling back";
}

/// Applies waiting redo. The leader stays until nothing waits.
fn sweeper(engine: &Weak<Engine>, stop: &Stop, leader: bool) {
    let mut told = String::new();
    let mut stage = None;
    while !stop.is_set() {
        let Some(engine) = engine.upgrade() else { return };
        let swept = engine.pool().sweep();
        if leader {
            let (left, total) = (engine.pool().redo_pages_left(), engine.pool().redo_pages_total());
            let stage = stage.get_or_insert_with(|| Stage::begin(&APPLY, total));
            stage.has_done(total.saturating_sub(left));
            engine.tell_progress();
            engine.tell_damage();
        }
        match swept {
            // Lets sessions go first where cores are few.
            Ok(Sweep::More) => sync::yield_now(),
            Ok(Sweep::Done) => return,
            Ok(Sweep::GivenOut) if !leader => return,
            Ok(Sweep::GivenOut) => {
                engine.pool().sweep_again();
                drop(engine);
                if pause(stop, LOOK_AGAIN) {
                    return;
                }
            }
            Err(_) if engine.pool().failed() || engine.log().failed() => return,
            Err(e) => {
                tell_once(&engine, &mut told, "redo cannot be applied", &e);
                drop(engine);
                if pause(stop, TRY_AGAIN) {
                    return;
                }
            }
        }
    }
}

/// Rolls back, purges, removes orphans; ends when the sweep has ended too.
fn finisher(engine: &Weak<Engine>, stop: &Stop, tables: &TableFinder, live: &BTreeSet<SpaceId>) {
    let mut told = String::new();
    let mut stage = None;
    let mut orphans = true;
    // It may wait for room in the log: in nobody's way.
    let Some(worker) = engine.upgrade().and_then(|engine| engine.slots().acquire_worker()) else {
        return engine.upgrade().map_or((), |engine| engine.recovery_stopped());
    };
    while !stop.is_set() {
        let Some(engine) = engine.upgrade() else { return };
        let step = match () {
            () if !engine.all_finished() => engine.finish_with(&worker, tables, STEP_ROWS),
            () if orphans => engine.remove_orphans(live).map(|()| {
                orphans = false;
                1
            }),
            () if engine.pool().redo_pages_left() == 0 => {
                engine.tell_damage();
                engine.end_recovery();
                return;
            }
            () => Ok(0),
        };
        let p = engine.recovery_progress();
        if p.losers_total > 0 && stage.is_none() {
            stage = Some(Stage::begin(&ROLL_BACK, p.losers_total));
        }
        if let Some(stage) = &stage {
            stage.has_done(p.losers_done);
        }
        engine.tell_progress();
        let failed = engine.pool().failed() || engine.log().failed();
        let wait = match step {
            // The sweepers have gone.
            Ok(0) if failed => return engine.recovery_stopped(),
            Ok(0) => LOOK_AGAIN,
            Ok(_) => continue,
            Err(_) if failed => return engine.recovery_stopped(),
            Err(e) => {
                tell_once(&engine, &mut told, "a transaction cannot be finished", &e);
                TRY_AGAIN
            }
        };
        drop(engine);
        if pause(stop, wait) {
            return;
        }
    }
}
