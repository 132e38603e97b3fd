//! Counter pages: what one session or thread counted.
//!
//! 1. One writer at a time ([`crate::stat`]). A class has its row by its number; one without a row counts nowhere.
//! 2. All-zero bytes are a valid empty page: a page may lie in fresh anonymous memory and only the parts
//!    that are used get backed by it. 3. What every session writes lies in the first 4 KB.

use crate::errors::{ERROR_ROWS, ErrorRow, ErrorTotals, row_of};
use crate::figures::{FIGURES, Figures, PageFigures};
use crate::histogram::{Buckets, STATEMENT_BUCKETS};
use crate::memory::MemoryTotals;
use crate::page_memory::{PageMemory, SessionMemorySums};
use crate::past;
use crate::registry;
use crate::run::RunTotals;
use crate::stage::StageWords;
use crate::stat::{Stat, StatTotals, Tally, least};
use crate::statement::{IS_SELDOM, STATEMENTS_MAX, STATEMENTS_OF_ALL, StatementRow};
use crate::transaction::{TransactionRow, TransactionTotals};
use crate::{
    Class, ClassKind, Consumer, Counter, StatementEnd, StatementTotals, consumes, note_switch,
};
use std::collections::BTreeMap;

/// Rows for classes in a page, by number: those of all kinds before stages. Each has a histogram.
const ROWS: usize = rows_before(ClassKind::Stage);
const STAGES: usize = ClassKind::Stage.numbers().1 as usize;
/// From here on rows are of what most sessions use.
const NEAR: usize = rows_before(ClassKind::TableIo);
/// The row of waits for clients.
const IDLE_ROW: usize = rows_before(ClassKind::Idle);
/// Rows of latches, which are held.
const HOLDS: usize = rows_before(ClassKind::Cond);

const fn rows_before(kind: ClassKind) -> usize {
    kind.numbers().0 as usize
}

/// Buckets of a wait histogram: bucket 0 holds waits under 1 us, each further one four times as long.
pub const HISTOGRAM_BUCKETS: usize = 16;

#[derive(Debug)]
struct Row {
    count: Tally,
    waits: Stat,
}

/// What was held, of one class; written at synch level only.
#[derive(Debug)]
struct HoldRow {
    acquisitions: Tally,
    contended: Tally,
    wait_ns_sum: Tally,
    wait_ns_max: Tally,
    hold_ns_sum: Tally,
    hold_ns_max: Tally,
}

type Histogram = [Tally; HISTOGRAM_BUCKETS];

/// Counters of one session (inside its slot) or of one thread without a session.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct CounterPage {
    /// Grows with `lock_ns`, `memory` and each counter of [`IS_SELDOM`]. Before `status`: the end of each statement looks at it, which
    /// counts what comes first there.
    seldom: Tally,
    status: [Tally; Counter::COUNT],
    /// The THREAD_ID of its writer; 0: it has none.
    thread_id: Tally,
    /// Not 0: `threads.INSTRUMENTED` is NO. Whoever switches it writes it.
    uninstrumented: Tally,
    /// Time that was spent waiting for locks of tables and rows.
    lock_ns: Tally,
    /// How often each of the figures had been emptied when the page was written last: behind that they mean nothing any
    /// more ([`registry::emptied`]).
    emptied: [Tally; FIGURES],
    stage: StageWords,
    transactions: TransactionRow,
    memory: PageMemory,
    /// Waits of kinds that most sessions have: tables, locks, the client.
    near_rows: [Row; ROWS - NEAR],
    /// Those of [`STATEMENTS_OF_ALL`](crate::statement::STATEMENTS_OF_ALL) come first.
    statements: [StatementRow; STATEMENTS_MAX],
    /// Those of other kinds.
    rows: [Row; NEAR],
    stages: [Stat; STAGES],
    /// Statements without a digest by the time that they took.
    times: [Tally; STATEMENT_BUCKETS],
    histograms: [Histogram; ROWS],
    errors: [ErrorRow; ERROR_ROWS],
    /// The window that `holds` belongs to; of another one they mean nothing any more.
    window: Tally,
    holds: [HoldRow; HOLDS],
}

// What every session writes lies together, in the first page of memory: an idle session keeps no more.
const _: () = assert!(
    std::mem::offset_of!(CounterPage, statements) + STATEMENTS_OF_ALL * size_of::<StatementRow>()
        <= 4096
);

// What a short statement counts lies in the first two lines.
const _: () = assert!(
    std::mem::offset_of!(CounterPage, status) / size_of::<Tally>() + (Counter::BytesSent as usize)
        < 16
);

/// How a latch class was held, in one window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HoldTotals {
    /// Holds that ended.
    pub acquisitions: u64,
    /// Those of them that were waited for.
    pub contended: u64,
    /// Their waits together, in nanoseconds.
    pub wait_ns_sum: u64,
    /// The longest wait, in nanoseconds.
    pub wait_ns_max: u64,
    /// The holds together, in nanoseconds.
    pub hold_ns_sum: u64,
    /// The longest hold, in nanoseconds.
    pub hold_ns_max: u64,
}

impl HoldTotals {
    fn add(&mut self, other: &Self) {
        self.acquisitions = self.acquisitions.wrapping_add(other.acquisitions);
        self.contended = self.contended.wrapping_add(other.contended);
        self.wait_ns_sum = self.wait_ns_sum.wrapping_add(other.wait_ns_sum);
        self.wait_ns_max = self.wait_ns_max.max(other.wait_ns_max);
        self.hold_ns_sum = self.hold_ns_sum.wrapping_add(other.hold_ns_sum);
        self.hold_ns_max = self.hold_ns_max.max(other.hold_ns_max);
    }
}

impl HoldRow {
    fn read(&self, get: impl Fn(&Tally) -> u64) -> HoldTotals {
        HoldTotals {
            acquisitions: get(&self.acquisitions),
            contended: get(&self.contended),
            wait_ns_sum: get(&self.wait_ns_sum),
            wait_ns_max: get(&self.wait_ns_max),
            hold_ns_sum: get(&self.hold_ns_sum),
            hold_ns_max: get(&self.hold_ns_max),
        }
    }
}

/// Sums of holds over pages, of one window.
#[derive(Debug, Clone)]
pub(crate) struct HoldSums {
    /// By class number; empty while there are none.
    rows: Vec<HoldTotals>,
}

impl HoldSums {
    pub(crate) const fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// Adds what a page holds, if it belongs to `window`.
    pub(crate) fn add_page(&mut self, page: &CounterPage, window: u64) {
        if page.window.get() != window {
            return;
        }
        self.rows.resize(HOLDS, HoldTotals::default());
        for (sum, row) in self.rows.iter_mut().zip(&page.holds) {
            sum.add(&row.read(Tally::get));
        }
    }

    /// Adds other sums of the same window.
    pub(crate) fn add(&mut self, other: &HoldSums) {
        if !other.rows.is_empty() {
            self.rows.resize(HOLDS, HoldTotals::default());
        }
        for (sum, other) in self.rows.iter_mut().zip(&other.rows) {
            sum.add(other);
        }
    }

    /// What is known of a class number.
    pub(crate) fn row(&self, id: u16) -> HoldTotals {
        self.rows.get(usize::from(id)).copied().unwrap_or_default()
    }
}

/// Sums of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassTotals {
    /// Uses: all of them while the class is enabled, and those that had to wait at any time.
    pub count: u64,
    /// Waits, or timed events.
    pub waits: u64,
    /// Their time together, in nanoseconds.
    pub wait_ns_sum: u64,
    /// The shortest, in nanoseconds; 0 where there was none.
    pub wait_ns_min: u64,
    /// The longest, in nanoseconds.
    pub wait_ns_max: u64,
    /// Waits by length; of what is no wait, none.
    pub histogram: [u64; HISTOGRAM_BUCKETS],
}

impl ClassTotals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.waits = self.waits.wrapping_add(other.waits);
        self.wait_ns_sum = self.wait_ns_sum.wrapping_add(other.wait_ns_sum);
        self.wait_ns_min = least(self.wait_ns_min, other.wait_ns_min);
        self.wait_ns_max = self.wait_ns_max.max(other.wait_ns_max);
        for (mine, theirs) in self.histogram.iter_mut().zip(other.histogram) {
            *mine = mine.wrapping_add(theirs);
        }
    }
}

/// Sums over pages.
#[derive(Debug, Clone)]
pub struct Totals {
    status: [u64; Counter::COUNT],
    /// By class number; empty while there are none.
    classes: Vec<ClassTotals>,
    /// By number; empty while there are none.
    stages: Vec<StatTotals>,
    /// By number; empty while there are none.
    statements: Vec<StatementTotals>,
    times: Buckets,
    transactions: TransactionTotals,
    /// By row; those that were never raised are missing.
    errors: BTreeMap<u16, ErrorTotals>,
}

impl Totals {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self {
            status: [0; Counter::COUNT],
            classes: Vec::new(),
            stages: Vec::new(),
            statements: Vec::new(),
            times: Buckets::new(),
            transactions: TransactionTotals::new(),
            errors: BTreeMap::new(),
        }
    }

    /// The status counters of a page, and nothing else of it.
    pub fn of_status(page: &CounterPage) -> Self {
        let mut sums = Self::new();
        sums.merge_status(page, Tally::get);
        sums
    }

    /// A status counter.
    pub fn counter(&self, c: Counter) -> u64 {
        self.status[c as usize]
    }

    /// A class; zeros when it was never used.
    pub fn class(&self, class: &crate::Class) -> ClassTotals {
        let row = class.id_if_registered().and_then(|id| self.classes.get(usize::from(id)));
        row.copied().unwrap_or_default()
    }

    /// A stage.
    pub fn stage(&self, class: &crate::Class) -> StatTotals {
        let row = class.stage_number().and_then(|n| self.stages.get(usize::from(n)));
        row.copied().unwrap_or_default()
    }

    /// Transactions.
    pub fn transactions(&self) -> TransactionTotals {
        self.transactions
    }

    /// Errors of a row: 0 is that of those which are not listed, 1 the first of [`crate::errors`].
    pub fn error(&self, row: u16) -> ErrorTotals {
        self.errors.get(&row).copied().unwrap_or_default()
    }

    fn add_errors(&mut self, errors: impl IntoIterator<Item = (u16, ErrorTotals)>) {
        for (row, totals) in errors {
            self.errors.entry(row).or_default().add(&totals);
        }
    }

    /// Statements of an instrument, by its number.
    pub fn statement(&self, number: u16) -> StatementTotals {
        self.statements.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// Statements without a digest by the time that they took; [`digest_times`](crate::digest_times) has the others.
    pub fn times(&self) -> &Buckets {
        &self.times
    }

    /// Adds everything a page holds now.
    pub fn add_page(&mut self, page: &CounterPage) {
        self.merge(page, Tally::get);
    }

    /// Moves everything a page holds into these sums. The page must have no writer any more.
    pub(crate) fn absorb(&mut self, page: &CounterPage) {
        self.merge(page, Tally::take);
        page.lock_ns.take();
        page.seldom.take();
        if page.thread_id() != 0 {
            page.set_thread_id(0);
        }
        page.uninstrumented.take();
        page.memory.forget();
        Figures::ALL.into_iter().for_each(|figures| page.renew(figures));
    }

    /// Adds figures of a page.
    pub(crate) fn add_figures(&mut self, figures: &PageFigures) {
        self.reserve();
        for (id, totals) in figures.waits() {
            self.classes[usize::from(*id)].add(totals);
        }
        for (n, stat) in figures.stages() {
            self.stages[usize::from(*n)].add(stat);
        }
        for (n, totals) in figures.statements() {
            self.statements[usize::from(*n)].add(totals);
        }
        self.transactions.add(&figures.transactions());
        self.add_errors(figures.errors().iter().map(|(row, totals)| (*row, *totals)));
    }

    /// Adds other sums.
    pub fn add(&mut self, other: &Totals) {
        for (sum, n) in self.status.iter_mut().zip(other.status) {
            *sum = sum.wrapping_add(n);
        }
        self.reserve();
        self.classes.iter_mut().zip(&other.classes).for_each(|(sum, n)| sum.add(n));
        self.stages.iter_mut().zip(&other.stages).for_each(|(sum, n)| sum.add(n));
        self.statements.iter_mut().zip(&other.statements).for_each(|(sum, n)| sum.add(n));
        self.times.add(&other.times);
        self.transactions.add(&other.transactions);
        self.add_errors(other.errors.iter().map(|(row, totals)| (*row, *totals)));
    }

    fn reserve(&mut self) {
        self.classes.resize(ROWS, ClassTotals::default());
        self.stages.resize(STAGES, StatTotals::default());
        self.statements.resize(STATEMENTS_MAX, StatementTotals::default());
    }

    fn merge_status(&mut self, page: &CounterPage, get: impl Fn(&Tally) -> u64) {
        for (sum, tally) in self.status.iter_mut().zip(&page.status) {
            *sum = sum.wrapping_add(get(tally));
        }
    }

    fn merge(&mut self, page: &CounterPage, get: impl Fn(&Tally) -> u64 + Copy) {
        self.merge_status(page, get);
        self.reserve();
        if page.is_current(Figures::Waits) {
            for id in registry::ids() {
                if let Some(sum) = self.classes.get_mut(usize::from(id)) {
                    sum.add(&page.row(usize::from(id), get));
                }
            }
        }
        if page.is_current(Figures::Stages) {
            for (sum, stat) in self.stages.iter_mut().zip(&page.stages) {
                sum.add(&stat.read(get));
            }
        }
        if page.is_current(Figures::Transactions) {
            self.transactions.add(&page.transactions(get));
        }
        if page.is_current(Figures::Errors) {
            let rows = (0..).zip(&page.errors).map(|(row, errors)| (row, errors.read(get)));
            self.add_errors(rows.filter(|(_, totals)| totals.raised != 0));
        }
        if page.is_current(Figures::Statements) {
            for (sum, row) in self.statements.iter_mut().zip(&page.statements) {
                sum.add(&row.read(get));
            }
        }
        if page.is_current(Figures::Times) {
            self.times.merge(page.times.iter().map(get));
        }
    }

    /// Forgets some of the figures.
    pub(crate) fn empty(&mut self, figures: Figures) {
        match figures {
            Figures::Waits => self.classes.clear(),
            Figures::Stages => self.stages.clear(),
            Figures::Transactions => self.transactions = TransactionTotals::new(),
            Figures::Errors => self.errors.clear(),
            Figures::Statements => self.statements.clear(),
            Figures::Times => self.times = Buckets::new(),
            // That of all is counted beside the instruments.
            Figures::Memory => {}
        }
    }
}

impl Default for Totals {
    fn default() -> Self {
        Self::new()
    }
}

/// The histogram bucket of a wait.
fn bucket_of(wait_ns: u64) -> usize {
    let kilo = wait_ns >> 10;
    let log4 = (u64::BITS - kilo.leading_zeros()).div_ceil(2) as usize;
    log4.min(HISTOGRAM_BUCKETS - 1)
}

impl CounterPage {
    /// An empty page.
    pub const fn new() -> Self {
        // SAFETY: a page consists of `AtomicU64`s only, for which zero bytes are valid (invariant 2).
        unsafe { std::mem::zeroed() }
    }

    /// An empty page on the heap, backed by memory only where it gets used.
    pub fn boxed() -> Box<Self> {
        // SAFETY: a page consists of `AtomicU64`s only, for which zero bytes are valid (invariant 2).
        unsafe { Box::new_zeroed().assume_init() }
    }

    /// Adds to a status counter. Only the page's writer calls it.
    #[inline(always)]
    pub fn add(&self, c: Counter, n: u64) {
        self.status[c as usize].add(n);
        if IS_SELDOM[c as usize] {
            self.seldom.add(1);
        }
    }

    /// The value of a status counter.
    pub fn counter(&self, c: Counter) -> u64 {
        self.status[c as usize].get()
    }

    /// Counts one use of a class. Only the page's writer calls it.
    #[inline(always)]
    pub fn add_use(&self, id: u16) {
        self.renew(Figures::Waits);
        if let Some(row) = self.wait_row(usize::from(id)) {
            row.count.add(1);
        }
    }

    /// The THREAD_ID of who writes it; 0: nobody has one.
    pub fn thread_id(&self) -> u64 {
        self.thread_id.get()
    }

    /// Whose page it is; 0: nobody's any more, since its figures went elsewhere.
    pub fn set_thread_id(&self, thread_id: u64) {
        let before = self.thread_id.get();
        self.thread_id.set(thread_id);
        if before != 0 && before != thread_id {
            past::forget(before);
        }
    }

    /// Whether its writer is in a stage.
    pub(crate) fn is_in_stage(&self) -> bool {
        self.stage.is_on()
    }

    /// Says what `threads.INSTRUMENTED` is of who writes it. Callable by anyone.
    pub fn set_instrumented(&self, on: bool) {
        if (self.uninstrumented.get() == 0) != on {
            self.uninstrumented.set(u64::from(!on));
            note_switch();
        }
    }

    /// Whether what its writer does is counted at all: it is not where `threads.INSTRUMENTED` is NO, as long as somebody looks
    /// at threads.
    #[inline(always)]
    pub fn is_instrumented(&self) -> bool {
        self.uninstrumented.get() == 0 || !consumes(Consumer::Threads)
    }

    /// How often memory was taken or given back.
    pub(crate) fn memory_changes(&self) -> u64 {
        self.memory.changes()
    }

    /// A piece of memory has another size. Only the page's writer calls it.
    pub(crate) fn change_memory(&self, class: &Class, is_controlled: bool, from: u64, to: u64) {
        self.renew(Figures::Memory);
        if let Some(id) = class.id_if_registered() {
            self.memory.change(id, is_controlled, from, to);
        }
        self.seldom.add(1);
    }

    /// What the statement that ended took at most of the memory that is controlled, and of all. Only the page's writer calls it.
    pub(crate) fn take_statement_memory(&self) -> (u64, u64) {
        self.memory.take_statement()
    }

    /// What its writer keeps.
    pub fn memory_sums(&self) -> SessionMemorySums {
        self.memory.sums()
    }

    /// The instruments of memory that it has figures of.
    pub(crate) fn used_memory(&self) -> impl Iterator<Item = (u16, MemoryTotals)> {
        self.memory.used(!self.is_current(Figures::Memory))
    }

    /// Adds events of a class that were counted elsewhere. Only the page's writer calls it.
    pub(crate) fn add_events(&self, id: u16, events: &StatTotals) {
        self.renew(Figures::Waits);
        if let Some(row) = self.wait_row(usize::from(id)) {
            row.count.add(events.count);
            row.waits.add_totals(events);
        }
    }

    /// Adds a transaction that ended, timed or not. Only the page's writer calls it, under a present [`Plan`](crate::Plan), with
    /// its history locked.
    pub fn add_transaction(&self, is_read_only: bool, ns: Option<u64>) {
        self.transactions.add(is_read_only, ns);
    }

    /// Adds transactions that were alike. Who calls it settles the runs of the page's writer.
    pub(crate) fn add_transactions(&self, is_read_only: bool, stat: &StatTotals) {
        if self.is_current(Figures::Transactions) {
            self.transactions.add_totals(is_read_only, stat);
        }
    }

    /// The stage that goes on.
    pub(crate) fn stage(&self) -> &StageWords {
        &self.stage
    }

    /// Adds a stage that ended, timed or not, by its number. Only the page's writer calls it.
    pub fn add_stage(&self, number: u16, ns: Option<u64>) {
        self.renew(Figures::Stages);
        let Some(stat) = self.stages.get(usize::from(number)) else { return };
        match ns {
            Some(ns) => stat.add(ns),
            None => stat.add_untimed(),
        }
    }

    /// Adds an error or warning that was raised. Only the page's writer calls it.
    pub fn add_error(&self, number: u16, now_us: u64) {
        self.renew(Figures::Errors);
        self.errors[row_of(number)].add(now_us);
    }

    /// What was emptied of the figures that statements write is none any more. Only the page's writer calls it.
    pub(crate) fn renew_statements(&self) {
        let written = [Figures::Statements, Figures::Times, Figures::Transactions, Figures::Waits];
        written.into_iter().for_each(|figures| self.renew(figures));
    }

    /// Adds statements that were alike to the row of their instrument. Who calls it settles the runs of the page's writer.
    pub(crate) fn add_run(&self, number: u16, run: &RunTotals) {
        if self.is_current(Figures::Statements)
            && let Some(row) = self.statements.get(usize::from(number))
        {
            row.add_run(run);
        }
    }

    /// Adds a statement that ended to the row of its instrument. Only the page's writer calls it, under a present
    /// [`Plan`](crate::Plan), with its history locked.
    pub(crate) fn add_statement(&self, number: u16, end: &StatementEnd<'_>) {
        if let Some(row) = self.statements.get(usize::from(number)) {
            row.add(end);
        }
    }

    /// Adds a statement without a digest to those that took about as long. Only the page's writer calls it, under a present
    /// [`Plan`](crate::Plan).
    #[inline(always)]
    pub fn add_time(&self, bucket: usize) {
        if let Some(times) = self.times.get(bucket) {
            times.add(1);
        }
    }

    /// Whether figures were written since they were emptied last.
    #[inline(always)]
    pub(crate) fn is_current(&self, figures: Figures) -> bool {
        self.emptied[figures as usize].get() == registry::emptied(figures)
    }

    /// Clears figures that were written before they were emptied last. Only the page's writer calls it.
    #[inline(always)]
    fn renew(&self, figures: Figures) {
        if !self.is_current(figures) {
            self.clear(figures);
        }
    }

    #[cold]
    fn clear(&self, figures: Figures) {
        match figures {
            Figures::Stages => {
                for stat in &self.stages {
                    stat.read(Tally::take);
                }
            }
            Figures::Transactions => {
                self.transactions(Tally::take);
            }
            Figures::Errors => {
                for row in &self.errors {
                    row.read(Tally::take);
                }
            }
            Figures::Waits => {
                for row in 0..ROWS {
                    self.row(row, Tally::take);
                }
            }
            Figures::Statements => {
                for row in &self.statements {
                    row.read(Tally::take);
                }
            }
            Figures::Times => {
                for tally in &self.times {
                    tally.take();
                }
            }
            Figures::Memory => self.memory.empty(),
        }
        self.emptied[figures as usize].set(registry::emptied(figures));
    }

    /// Forgets what is told by thread. Only the page's writer calls it.
    pub(crate) fn forget_figures(&self) {
        let told = Figures::ALL.into_iter().filter(|figures| *figures != Figures::Times);
        told.for_each(|figures| self.clear(figures));
    }

    /// Time that was spent waiting for locks of tables and rows, in nanoseconds.
    #[inline(always)]
    pub fn lock_ns(&self) -> u64 {
        self.lock_ns.get()
    }

    /// How often something was counted that statements tell of and seldom happens.
    #[inline(always)]
    pub(crate) fn seldom(&self) -> u64 {
        self.seldom.get()
    }

    /// Adds to [`CounterPage::lock_ns`]. Only the page's writer calls it.
    pub(crate) fn add_lock_ns(&self, ns: u64) {
        self.lock_ns.add(ns);
        self.seldom.add(1);
    }

    /// Adds one timed wait or event of a class. Only the page's writer calls it.
    pub fn add_wait(&self, id: u16, wait_ns: u64) {
        self.renew(Figures::Waits);
        let Some(row) = self.wait_row(usize::from(id)) else { return };
        row.waits.add(wait_ns);
        if let Some(histogram) = self.histograms.get(usize::from(id)) {
            histogram[bucket_of(wait_ns)].add(1);
        }
    }

    /// Adds a wait of the session for its client's next command. Only the page's writer calls it, under a
    /// [`Plan`](crate::Plan).
    #[inline(always)]
    pub fn add_idle(&self, ns: Option<u64>) {
        let row = &self.near_rows[IDLE_ROW - NEAR];
        row.count.add(1);
        if let Some(ns) = ns {
            row.waits.add(ns);
        }
    }

    /// Adds a hold of a class that ended, in a window; `waited_ns` is 0 when it was not waited for. Only
    /// the page's writer calls it.
    pub(crate) fn add_hold(&self, window: u64, id: u16, waited_ns: u64, held_ns: u64) {
        if self.window.get() != window {
            for row in &self.holds {
                row.read(Tally::take);
            }
            self.window.set(window);
        }
        let Some(row) = self.holds.get(usize::from(id)) else { return };
        row.acquisitions.add(1);
        row.hold_ns_sum.add(held_ns);
        row.hold_ns_max.raise(held_ns);
        if waited_ns != 0 {
            row.contended.add(1);
            row.wait_ns_sum.add(waited_ns);
            row.wait_ns_max.raise(waited_ns);
        }
    }

    /// Forgets all holds: the page ends, and its next user begins anew.
    pub(crate) fn forget_holds(&self) {
        if self.window.take() != 0 {
            for row in &self.holds {
                row.read(Tally::take);
            }
        }
    }

    /// What the page holds of a class.
    pub fn class(&self, class: &crate::Class) -> ClassTotals {
        class
            .id_if_registered()
            .filter(|_| self.is_current(Figures::Waits))
            .map_or_else(ClassTotals::default, |id| self.row(usize::from(id), Tally::get))
    }

    /// What the page holds of the statements of an instrument, by its number.
    pub fn statement(&self, number: u16) -> StatementTotals {
        let current = self.is_current(Figures::Statements);
        let row = self.statements.get(usize::from(number)).filter(|_| current);
        row.map_or_else(StatementTotals::default, |row| row.read(Tally::get))
    }

    pub(crate) fn transactions(&self, get: impl Fn(&Tally) -> u64) -> TransactionTotals {
        self.transactions.read(get)
    }

    /// The errors that were raised, by row.
    pub(crate) fn raised_errors(&self) -> impl Iterator<Item = (u16, ErrorTotals)> {
        let all = (0..).zip(&self.errors).map(|(row, errors)| (row, errors.read(Tally::get)));
        all.filter(|(_, totals)| totals.raised != 0)
    }

    /// The classes that it has figures of.
    pub(crate) fn used_classes(&self) -> impl Iterator<Item = (u16, ClassTotals)> {
        let rows = registry::ids().filter(|id| usize::from(*id) < ROWS);
        let all = rows.map(|id| (id, self.row(usize::from(id), Tally::get)));
        all.filter(|(_, totals)| totals.count | totals.waits != 0)
    }

    /// The stages that it has figures of.
    pub(crate) fn used_stages(&self) -> impl Iterator<Item = (u16, StatTotals)> {
        let all = (0..).zip(&self.stages).map(|(n, stat)| (n, stat.read(Tally::get)));
        all.filter(|(_, stat)| stat.count != 0)
    }

    /// The statement instruments that it has figures of.
    pub(crate) fn used_statements(&self) -> impl Iterator<Item = (u16, StatementTotals)> {
        let all = (0..).zip(&self.statements).map(|(n, row)| (n, row.read(Tally::get)));
        all.filter(|(_, totals)| totals.stat.count != 0)
    }

    #[inline(always)]
    fn wait_row(&self, row: usize) -> Option<&Row> {
        match row.checked_sub(NEAR) {
            Some(near) => self.near_rows.get(near),
            None => self.rows.get(row),
        }
    }

    fn row(&self, row: usize, get: impl Fn(&Tally) -> u64) -> ClassTotals {
        let Some(r) = self.wait_row(row) else { return ClassTotals::default() };
        let StatTotals { count, ns_sum, ns_min, ns_max } = r.waits.read(&get);
        let histogram = match self.histograms.get(row) {
            Some(buckets) if count != 0 => std::array::from_fn(|b| get(&buckets[b])),
            _ => [0; HISTOGRAM_BUCKETS],
        };
        ClassTotals {
            count: get(&r.count),
            waits: count,
            wait_ns_sum: ns_sum,
            wait_ns_min: ns_min,
            wait_ns_max: ns_max,
            histogram,
        }
    }
}

impl Default for CounterPage {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::LOST;

    #[test]
    fn buckets_grow_by_four_from_a_microsecond() {
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_of(1023), 0);
        assert_eq!(bucket_of(1024), 1);
        assert_eq!(bucket_of(4 * 1024 - 1), 1);
        assert_eq!(bucket_of(4 * 1024), 2);
        assert_eq!(bucket_of(u64::MAX), HISTOGRAM_BUCKETS - 1);
    }

    #[test]
    fn a_class_without_a_row_counts_in_none() {
        let page = CounterPage::boxed();
        page.add_use(LOST);
        page.add_wait(LOST, 5);
        page.add_hold(1, LOST, 0, 5);
        assert!((0..ROWS).all(|row| page.row(row, Tally::get) == ClassTotals::default()));
    }

    fn figures_that_were_emptied_are_none_until_they_are_written_again() {
        let page = CounterPage::boxed();
        let end =
            StatementEnd { ns: Some(5), rows_sent: 1, rows_examined: 2, ..StatementEnd::default() };
        page.add_statement(4, &end);
        page.add_time(0);
        page.add_statement(5, &end);
        page.add_time(0);
        registry::empty(Figures::Statements);
        assert_eq!(page.statement(4), StatementTotals::default());
        page.renew_statements();
        page.add_statement(4, &end);
        page.add_time(0);
        assert_eq!((page.statement(4).stat.count, page.statement(5).stat.count), (1, 0));
        let mut sums = Totals::new();
        sums.absorb(&page);
        assert_eq!((sums.statement(4).stat.count, sums.times().count(0)), (1, 3));
    }

    // One after the other: what is emptied is the process's.
    #[test]
    fn absorb_moves_and_add_page_copies() {
        let _alone = stdx::lock(&crate::EMPTIES);
        figures_that_were_emptied_are_none_until_they_are_written_again();
        static CLASS: crate::FileClass = crate::FileClass::new("wait/io/file/test/absorbed");
        let page = CounterPage::boxed();
        page.renew_statements();
        page.add(Counter::Questions, 3);
        page.add_wait(CLASS.id(), 7);
        page.add_wait(CLASS.id(), 2000);
        page.add_statement(
            3,
            &StatementEnd {
                ns: Some(5),
                rows_sent: 1,
                rows_examined: 2,
                ..StatementEnd::default()
            },
        );
        page.add_time(7);
        let mut sums = Totals::new();
        sums.add_page(&page);
        sums.absorb(&page);
        assert_eq!(page.counter(Counter::Questions), 0);
        sums.add_page(&page);
        assert_eq!(sums.counter(Counter::Questions), 6);
        let row = sums.class(&CLASS);
        assert_eq!((row.waits, row.wait_ns_sum), (4, 4014));
        assert_eq!((row.wait_ns_min, row.wait_ns_max), (7, 2000));
        assert_eq!(row.histogram[..2], [2, 2]);
        let statements = sums.statement(3);
        assert_eq!((statements.stat.count, statements.stat.ns_sum), (2, 10));
        assert_eq!(statements.sum(crate::Sum::RowsExamined), 4);
        assert_eq!((sums.times().count(7), sums.times().count(8)), (2, 0));
    }
}
