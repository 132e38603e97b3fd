//! What statements cost, by instrument: a row of figures in the page of the session that ran them.
//!
//! 1. The instruments are a fixed list ([`STATEMENTS`]): a row's number is the place in it, known when the server is built.
//! 2. A row is written once for each statement, when it ends. What seldom happens (a sort, a temporary table) is told
//!    from the session's status counters, which are compared only if one of them was counted ([`IS_SELDOM`]).

use crate::run::RunTotals;
use crate::stat::{Stat, StatTotals, Tally};
pub use crate::statement_names::STATEMENTS;
use crate::statement_names::{FIRST, NAMES};
use crate::{Counter, CounterPage};

/// Statement instruments for which there is room.
pub const STATEMENTS_MAX: usize = 220;

/// The first so many are those that most sessions run.
pub(crate) const STATEMENTS_OF_ALL: usize = FIRST.len();

const _: () = assert!(NAMES.len() <= STATEMENTS_MAX, "statement instruments without rows");

macro_rules! sums {
    ($($(#[$doc:meta])* $name:ident $(= $counter:ident)?,)*) => {
        /// What is added up of statements besides their time.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Sum {
            $($(#[$doc])* $name,)*
        }

        /// How many sums there are.
        pub const SUMS: usize = [$(Sum::$name),*].len();

        /// The sums that status counters tell of.
        const SELDOM: &[(Sum, Counter)] = &[$($((Sum::$name, Counter::$counter),)?)*];
    };
}

sums! {
    /// Nanoseconds that were spent waiting for locks of tables and rows.
    LockNs,
    /// Errors.
    Errors,
    /// Warnings, notes included.
    Warnings,
    /// Rows changed.
    RowsAffected,
    /// Rows sent to the client.
    RowsSent,
    /// Rows that the engine read.
    RowsExamined,
    /// Temporary tables that went to disk.
    CreatedTmpDiskTables = CreatedTmpDiskTables,
    /// Temporary tables.
    CreatedTmpTables = CreatedTmpTables,
    /// Joins without an index.
    SelectFullJoin = SelectFullJoin,
    /// Joins by a range of an index.
    SelectFullRangeJoin = SelectFullRangeJoin,
    /// Ranges of the first table.
    SelectRange = SelectRange,
    /// Joins that look at each row which index is best.
    SelectRangeCheck = SelectRangeCheck,
    /// Scans of the first table.
    SelectScan = SelectScan,
    /// Merges of sorted runs.
    SortMergePasses = SortMergePasses,
    /// Sorts of ranges.
    SortRange = SortRange,
    /// Rows that were sorted.
    SortRows = SortRows,
    /// Sorts of scans.
    SortScan = SortScan,
    /// Statements that read a table without an index.
    NoIndexUsed,
    /// Statements that found no index good enough.
    NoGoodIndexUsed,
    /// Nanoseconds on a processor.
    CpuNs,
    /// The most that a statement took of the memory that is controlled, in bytes.
    MaxControlledMemory,
    /// The most that it took of all memory, in bytes.
    MaxTotalMemory,
}

/// What a statement did, or many of them together, by [`Sum`].
pub type Sums = [u64; SUMS];

/// From here on, what is told of many is the largest.
const MAXIMA: usize = Sum::MaxControlledMemory as usize;

/// What one statement did that is seldom done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventSums {
    sums: Sums,
    /// A bit for each that is not 0: they are few.
    present: u32,
}

/// What a statement did that has read a range of one table, and is plain otherwise.
pub static ONE_RANGE: EventSums = {
    let mut sums = [0; SUMS];
    sums[Sum::SelectRange as usize] = 1;
    EventSums { sums, present: 1 << Sum::SelectRange as u32 }
};

/// [`Sum::SelectRange`] in [`SELDOM`].
const SELECT_RANGE: usize = {
    let mut n = 0;
    while SELDOM[n].1 as usize != Counter::SelectRange as usize {
        n += 1;
    }
    n
};

impl EventSums {
    /// Says one of them.
    #[inline]
    pub fn set(&mut self, sum: Sum, n: u64) {
        self.sums[sum as usize] = n;
        self.present |= u32::from(n != 0) << sum as u32;
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// All of them.
    pub fn all(&self) -> &Sums {
        &self.sums
    }

    /// Adds them.
    pub(crate) fn add_to(&self, tallies: &[Tally; SUMS]) {
        let mut left = self.present;
        while left != 0 {
            let n = left.trailing_zeros() as usize;
            left &= left - 1;
            let (tally, more) = (&tallies[n], self.sums[n]);
            if n < MAXIMA { tally.add(more) } else { tally.raise(more) }
        }
    }
}

/// The row of an instrument.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct StatementRow {
    stat: Stat,
    sums: [Tally; SUMS],
}

impl StatementRow {
    #[inline(always)]
    pub fn add(&self, event: &StatementEnd<'_>) {
        match event.ns {
            Some(ns) => self.stat.add(ns),
            None => self.stat.add_untimed(),
        }
        self.sums[Sum::RowsSent as usize].add(event.rows_sent);
        self.sums[Sum::RowsExamined as usize].add(event.rows_examined);
        if event.rows_affected != 0 {
            self.sums[Sum::RowsAffected as usize].add(event.rows_affected);
        }
        if let Some(sums) = event.more {
            sums.add_to(&self.sums);
        }
    }

    /// Adds statements that were alike.
    pub fn add_run(&self, run: &RunTotals) {
        self.stat.add_totals(&run.stat);
        self.sums[Sum::RowsSent as usize].add(run.rows_sent);
        self.sums[Sum::RowsExamined as usize].add(run.rows_examined);
        if run.rows_affected != 0 {
            self.sums[Sum::RowsAffected as usize].add(run.rows_affected);
        }
        if run.ranges != 0 {
            self.sums[Sum::SelectRange as usize].add(run.ranges);
        }
    }

    pub fn read(&self, get: impl Fn(&Tally) -> u64) -> StatementTotals {
        let stat = self.stat.read(&get);
        // What never ran leaves its memory untouched.
        let sums =
            if stat.count == 0 { [0; SUMS] } else { std::array::from_fn(|n| get(&self.sums[n])) };
        StatementTotals { stat, sums }
    }
}

/// A statement that ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatementEnd<'s> {
    /// How long it took, in nanoseconds; `None` where it is not timed.
    pub ns: Option<u64>,
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows read.
    pub rows_examined: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Everything else that it did, if it did; the rows above are not in it.
    pub more: Option<&'s EventSums>,
}

/// Statements of an instrument, or of a digest, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatementTotals {
    /// Their number and times.
    pub stat: StatTotals,
    /// What they did, by [`Sum`].
    pub sums: Sums,
}

impl StatementTotals {
    /// Adds other statements.
    pub fn add(&mut self, other: &Self) {
        self.stat.add(&other.stat);
        for (n, (sum, more)) in self.sums.iter_mut().zip(other.sums).enumerate() {
            *sum = if n < MAXIMA { sum.wrapping_add(more) } else { (*sum).max(more) };
        }
    }

    /// One sum.
    pub fn sum(&self, sum: Sum) -> u64 {
        self.sums[sum as usize]
    }
}

/// The number of the instrument of statements with a `Com_` counter.
pub fn statement_of(counter: Counter) -> u16 {
    STATEMENT_OF[counter as usize]
}

/// The number of an instrument, for a `const`.
///
/// # Panics
/// There is none of this name: the server does not build.
pub const fn statement_named(name: &str) -> u16 {
    let mut n = 0;
    while n < NAMES.len() {
        if same(NAMES[n].as_bytes(), 0, name.as_bytes(), 0) {
            return n as u16;
        }
        n += 1;
    }
    panic!("no such statement instrument");
}

/// By counter; statements of counters without an instrument are not told apart.
static STATEMENT_OF: [u16; Counter::COUNT] = {
    let mut numbers = [statement_named("statement/abstract/Query"); Counter::COUNT];
    let mut c = 0;
    while c < Counter::COUNT {
        let name = Counter::ALL[c].name().as_bytes();
        let mut n = 0;
        while n < NAMES.len() {
            // "Com_select" and "statement/sql/select"
            let instrument = NAMES[n].as_bytes();
            let is_command = name[0] == b'C' && name[3] == b'_';
            if is_command && same(instrument, 14, name, 4) && instrument[10] == b's' {
                numbers[c] = n as u16;
            }
            n += 1;
        }
        c += 1;
    }
    numbers
};

/// Whether two texts are the same from these places on.
pub(crate) const fn same(a: &[u8], mut at: usize, b: &[u8], mut bt: usize) -> bool {
    if a.len() < at || b.len() < bt || a.len() - at != b.len() - bt {
        return false;
    }
    while at < a.len() {
        if a[at] != b[bt] {
            return false;
        }
        at += 1;
        bt += 1;
    }
    true
}

/// Whether a status counter is one of those that statements tell of ([`SELDOM`]).
pub(crate) const IS_SELDOM: [bool; Counter::COUNT] = {
    let mut is_seldom = [false; Counter::COUNT];
    let mut n = 0;
    while n < SELDOM.len() {
        is_seldom[SELDOM[n].1 as usize] = true;
        n += 1;
    }
    is_seldom
};

/// The status counters of a session as they were when its last statement ended.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Watch {
    /// [`CounterPage::seldom`] then.
    seldom: u64,
    each: [u64; SELDOM.len()],
    lock_ns: u64,
    memory_changes: u64,
}

impl Watch {
    /// Whether a counter has changed since.
    #[inline(always)]
    pub fn has_changed(&self, page: &CounterPage) -> bool {
        self.seldom != page.seldom()
    }

    /// Whether all that has changed is that one range was read: then it is remembered, and [`ONE_RANGE`] is what to add.
    #[inline(always)]
    pub fn takes_range(&mut self, page: &CounterPage) -> bool {
        // Each of the other changes is one more.
        let is_range = page.seldom() == self.seldom + 1
            && page.counter(Counter::SelectRange) == self.each[SELECT_RANGE] + 1;
        self.seldom += u64::from(is_range);
        self.each[SELECT_RANGE] += u64::from(is_range);
        is_range
    }

    /// Adds what was counted since to the sums, and remembers the present values.
    #[cold]
    pub fn take(&mut self, page: &CounterPage, sums: &mut EventSums) {
        let lock_ns = page.lock_ns();
        sums.set(Sum::LockNs, lock_ns.wrapping_sub(self.lock_ns));
        (self.lock_ns, self.seldom) = (lock_ns, page.seldom());
        let memory_changes = page.memory_changes();
        if self.memory_changes != memory_changes {
            self.memory_changes = memory_changes;
            let (controlled, total) = page.take_statement_memory();
            sums.set(Sum::MaxControlledMemory, controlled);
            sums.set(Sum::MaxTotalMemory, total);
        }
        for ((sum, c), before) in SELDOM.iter().zip(&mut self.each) {
            let now = page.counter(*c);
            sums.set(*sum, now.wrapping_sub(*before));
            *before = now;
        }
        let all = sums.all();
        let scans = all[Sum::SelectScan as usize] + all[Sum::SelectFullJoin as usize];
        sums.set(Sum::NoIndexUsed, u64::from(scans > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_instruments_have_the_same_names() {
        let name = |c| STATEMENTS[usize::from(statement_of(c))].name();
        assert_eq!(name(Counter::ComSelect), "statement/sql/select");
        assert_eq!(name(Counter::ComInsert), "statement/sql/insert");
        assert_eq!(name(Counter::ComXaStart), "statement/sql/xa_start");
        assert_eq!(name(Counter::Questions), "statement/abstract/Query");
        assert_eq!(
            STATEMENTS[usize::from(statement_named("statement/com/Execute"))].name(),
            "statement/com/Execute"
        );
    }

    #[test]
    fn one_range_is_told_apart_from_whatever_else_seldom_happens() {
        let mut watch = Watch::default();
        let page = CounterPage::boxed();
        assert!(!watch.takes_range(&page));
        page.add(Counter::SelectRange, 1);
        assert!(watch.takes_range(&page) && !watch.has_changed(&page));
        page.add(Counter::SelectScan, 1);
        assert!(!watch.takes_range(&page));
        page.add(Counter::SelectRange, 1);
        assert!(!watch.takes_range(&page));
        let mut sums = EventSums::default();
        watch.take(&page, &mut sums);
        let all = sums.all();
        assert_eq!((all[Sum::SelectRange as usize], all[Sum::SelectScan as usize]), (1, 1));
        let mut one = EventSums::default();
        one.set(Sum::SelectRange, 1);
        assert_eq!(one, ONE_RANGE);
    }

    #[test]
    fn what_seldom_happens_is_told_once() {
        let mut watch = Watch::default();
        let page = CounterPage::boxed();
        assert!(!watch.has_changed(&page));
        page.add(Counter::SelectScan, 2);
        assert!(watch.has_changed(&page));
        let mut sums = EventSums::default();
        watch.take(&page, &mut sums);
        assert_eq!(
            (sums.all()[Sum::SelectScan as usize], sums.all()[Sum::NoIndexUsed as usize]),
            (2, 1)
        );
        assert!(!watch.has_changed(&page));
        sums = EventSums::default();
        watch.take(&page, &mut sums);
        assert!(sums.is_empty());
    }
}
