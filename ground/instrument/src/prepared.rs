//! Prepared statements: what the executions of each cost.
//!
//! 1. Figures lie with the statement and are written by its session alone. 2. Emptying the table begins a new generation: figures of
//! another one are none, and the session forgets them before it adds to them. 3. There is room for so many; others are not listed.

use crate::digest::Digest;
use crate::registry;
use crate::run::{Run, RunTotals};
use crate::stat::{Stat, Tally};
use crate::statement::{EventSums, SUMS, StatementEnd, StatementTotals, Sum};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

crate::classes! {
    static MEMORY: OwnMemory = "memory/performance_schema/prepared_statements_instances";
}

static GENERATION: AtomicU64 = AtomicU64::new(0);
/// Rows that are there.
static ROWS: AtomicU64 = AtomicU64::new(0);
/// For how many there is room.
static ROWS_MAX: AtomicU64 = AtomicU64::new(u64::MAX);
/// Statements that found no room.
static LOST: AtomicU64 = AtomicU64::new(0);

/// What is known of a prepared statement from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub struct PreparedOf {
    /// Its text; first, as it is looked at beside the figures in front of it ([`PreparedRow`]).
    pub text: Arc<[u8]>,
    /// Its number in its session.
    pub id: u64,
    /// The name of SQL's PREPARE.
    pub name: Option<Box<str>>,
    /// The event that prepared it.
    pub event_id: u64,
}

/// Texts of prepared statements that histories and runs share with them; longer ones are copied, or told at once.
const KEPT_TEXT_MAX: usize = 1024;

/// A prepared statement's figures. What each execution looks at comes first: run and text.
#[derive(Debug)]
#[repr(C)]
pub struct PreparedRow {
    /// Executions that are not told yet.
    run: Run,
    of: PreparedOf,
    generation: Tally,
    stat: Stat,
    rows_sent: Tally,
    rows_examined: Tally,
    rows_affected: Tally,
    /// What seldom happens, once it has.
    more: OnceLock<Box<[Tally; SUMS]>>,
    prepare_ns: Tally,
    reprepared: Tally,
    /// The digest of its first execution that had one.
    digest: OnceLock<Arc<Digest>>,
}

/// Memory of a statement's row.
fn bytes_of(of: &PreparedOf) -> usize {
    size_of::<PreparedRow>() + of.name.as_ref().map_or(0, |name| name.len())
}

/// A prepared statement and what it cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedReport {
    /// What it is.
    pub of: PreparedOf,
    /// Tells it from all others that are there.
    pub instance: u64,
    /// How long it took to be prepared, in nanoseconds.
    pub prepare_ns: u64,
    /// How often it was compiled anew.
    pub reprepared: u64,
    /// Its executions.
    pub executions: StatementTotals,
}

impl PreparedRow {
    /// A statement whose preparation took so long; `None`: there is no room for it.
    pub fn new(of: PreparedOf, prepare_ns: u64) -> Option<PreparedRow> {
        if !registry::is_on() {
            return None;
        }
        let is_full = ROWS.fetch_add(1, Relaxed) >= ROWS_MAX.load(Relaxed);
        if is_full || !MEMORY.try_take(bytes_of(&of)) {
            ROWS.fetch_sub(1, Relaxed);
            LOST.fetch_add(1, Relaxed);
            return None;
        }
        let row = PreparedRow {
            of,
            generation: Tally::default(),
            run: Run::default(),
            stat: Stat::default(),
            rows_sent: Tally::default(),
            rows_examined: Tally::default(),
            rows_affected: Tally::default(),
            more: OnceLock::new(),
            prepare_ns: Tally::default(),
            reprepared: Tally::default(),
            digest: OnceLock::new(),
        };
        row.generation.set(GENERATION.load(Relaxed));
        row.prepare_ns.set(prepare_ns);
        Some(row)
    }

    /// Adds an execution. Only the statement's session calls this and the next.
    #[inline]
    pub fn add(&self, end: &StatementEnd<'_>) {
        self.refresh();
        match end.ns {
            Some(ns) => self.stat.add(ns),
            None => self.stat.add_untimed(),
        }
        self.rows_sent.add(end.rows_sent);
        self.rows_examined.add(end.rows_examined);
        if end.rows_affected != 0 {
            self.rows_affected.add(end.rows_affected);
        }
        if let Some(sums) = end.more {
            self.add_more(sums);
        }
    }

    /// Executions that are not told yet.
    #[inline(always)]
    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// Whether those who outlive the statement may keep its text.
    #[inline(always)]
    pub(crate) fn is_short(&self) -> bool {
        self.of.text.len() <= KEPT_TEXT_MAX
    }

    /// Adds executions that were alike. The history of its session is locked.
    pub(crate) fn add_run(&self, run: &RunTotals) {
        self.refresh();
        self.stat.add_totals(&run.stat);
        self.rows_sent.add(run.rows_sent);
        self.rows_examined.add(run.rows_examined);
        self.rows_affected.add(run.rows_affected);
        if run.ranges != 0 {
            let mut sums = EventSums::default();
            sums.set(Sum::SelectRange, run.ranges);
            self.add_more(&sums);
        }
    }

    /// It was compiled anew.
    pub fn is_reprepared(&self) {
        self.refresh();
        self.reprepared.add(1);
    }

    #[cold]
    fn add_more(&self, sums: &EventSums) {
        let more = self.more.get_or_init(|| Box::new(std::array::from_fn(|_| Tally::default())));
        sums.add_to(more);
    }

    #[inline]
    fn refresh(&self) {
        let generation = GENERATION.load(Relaxed);
        if self.generation.get() != generation {
            self.begin_anew(generation);
        }
    }

    #[cold]
    fn begin_anew(&self, generation: u64) {
        self.stat.read(Tally::take);
        let few = [&self.rows_sent, &self.rows_examined, &self.rows_affected];
        let few = few.into_iter().chain([&self.prepare_ns, &self.reprepared]);
        let more = self.more.get().into_iter().flat_map(|more| more.iter());
        few.chain(more).for_each(|tally| tally.set(0));
        self.generation.set(generation);
    }

    /// What it is and what it cost, as far as its session is settled ([`crate::settle`]).
    pub fn report(self: &Arc<Self>) -> PreparedReport {
        let is_present = self.generation.get() == GENERATION.load(Relaxed);
        let mut executions = StatementTotals::default();
        if is_present {
            executions.stat = self.stat.read(Tally::get);
            if let Some(more) = self.more.get() {
                executions.sums = std::array::from_fn(|n| more[n].get());
            }
            executions.sums[Sum::RowsSent as usize] = self.rows_sent.get();
            executions.sums[Sum::RowsExamined as usize] = self.rows_examined.get();
            executions.sums[Sum::RowsAffected as usize] = self.rows_affected.get();
        }
        let shown = |tally: &Tally| if is_present { tally.get() } else { 0 };
        PreparedReport {
            of: self.of.clone(),
            instance: Arc::as_ptr(self) as u64,
            prepare_ns: shown(&self.prepare_ns),
            reprepared: shown(&self.reprepared),
            executions,
        }
    }
}

impl PreparedRow {
    /// Its statement is closed: there is room for another one. Histories may have it for longer.
    pub fn is_closed(&self) {
        ROWS.fetch_sub(1, Relaxed);
        MEMORY.give_back(bytes_of(&self.of));
    }

    /// Whether an execution of this digest is of the statement's own, which the first one's is.
    #[inline(always)]
    pub(crate) fn is_of(&self, digest: &Arc<Digest>) -> bool {
        Arc::ptr_eq(self.digest.get_or_init(|| Arc::clone(digest)), digest)
    }

    /// Its own digest, once an execution had one.
    pub(crate) fn digest(&self) -> Option<&Digest> {
        self.digest.get().map(|digest| &**digest)
    }

    /// What is known of the statement.
    pub(crate) fn text(&self) -> &[u8] {
        &self.of.text
    }
}

/// For how many prepared statements there is room.
pub fn set_prepared_limit(rows_max: u64) {
    ROWS_MAX.store(rows_max, Relaxed);
}

/// Prepared statements that found no room.
pub fn prepared_lost() -> u64 {
    LOST.load(Relaxed)
}

/// Counts them from zero again.
pub fn forget_prepared_lost() {
    LOST.store(0, Relaxed);
}

/// Sets the figures of all prepared statements to zero.
pub fn empty_prepared() {
    registry::settle();
    GENERATION.fetch_add(1, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_another_generation_are_none() {
        let _alone = stdx::lock(&crate::EMPTIES);
        let of = PreparedOf { id: 1, name: None, text: Arc::from(&b"SELECT ?"[..]), event_id: 2 };
        let row = Arc::new(PreparedRow::new(of, 30).unwrap());
        let mut sums = EventSums::default();
        sums.set(Sum::Warnings, 4);
        let end = |rows_affected, more| {
            let (ns, rows_sent, rows_examined) = (Some(7), 1, 3);
            StatementEnd { ns, rows_sent, rows_examined, rows_affected, more }
        };
        row.add(&end(0, None));
        row.add(&end(5, Some(&sums)));
        row.is_reprepared();
        let report = row.report();
        assert_eq!((report.prepare_ns, report.reprepared), (30, 1));
        assert_eq!((report.executions.stat.count, report.executions.stat.ns_sum), (2, 14));
        let sum = |report: &PreparedReport, sum| report.executions.sum(sum);
        assert_eq!((sum(&report, Sum::RowsExamined), sum(&report, Sum::Warnings)), (6, 4));
        assert_eq!(sum(&report, Sum::RowsAffected), 5);
        empty_prepared();
        let report = row.report();
        assert_eq!((report.prepare_ns, report.executions), (0, StatementTotals::default()));
        row.add(&end(0, None));
        let report = row.report();
        assert_eq!((report.executions.stat.count, sum(&report, Sum::Warnings)), (1, 0));
    }
}
