//! What a session keeps: the rows of memory in its page, and how much that is at most.
//!
//! 1. A row is written by the page's writer alone; a piece may be taken by one session and given back by another, so that what
//! is used may be less than nothing, as in MySQL. 2. When figures of memory are emptied, what is used stays: the writer brings
//! a row up to date at his next write, and a reader shows it as if he had ([`Amounts::read`]). 3. What a statement took is what
//! it kept at most beyond what the session had when the statement before ended.

use crate::ClassKind;
use crate::class::SESSION_MEMORIES;
use crate::memory::{AmountTotals, MemoryTotals};
use crate::stat::Tally;

/// Instruments of memory for which there is a row, by number.
const ROWS: usize = SESSION_MEMORIES as usize;

/// Amounts taken and given back, and between which bounds what is used was.
#[derive(Debug, Default)]
#[repr(C)]
struct Amounts {
    taken: Tally,
    given_back: Tally,
    low: Tally,
    high: Tally,
}

impl Amounts {
    fn used(&self) -> i64 {
        self.taken.get().wrapping_sub(self.given_back.get()) as i64
    }

    fn take(&self, n: u64) {
        self.taken.add(n);
        let high = (self.high.get() as i64).max(self.used());
        self.high.set(high as u64);
    }

    fn give_back(&self, n: u64) {
        self.given_back.add(n);
        let low = (self.low.get() as i64).min(self.used());
        self.low.set(low as u64);
    }

    /// What there is; `emptied`: nothing but what is used was counted since.
    fn read(&self, emptied: bool) -> AmountTotals {
        let used = self.used();
        if emptied {
            return AmountTotals::of_used(used);
        }
        AmountTotals {
            taken: self.taken.get(),
            given_back: self.given_back.get(),
            low: self.low.get() as i64,
            used,
            high: self.high.get() as i64,
        }
    }

    fn empty(&self) {
        let AmountTotals { taken, given_back, low, high, .. } = self.read(true);
        self.taken.set(taken);
        self.given_back.set(given_back);
        self.low.set(low as u64);
        self.high.set(high as u64);
    }

    fn forget(&self) {
        for tally in [&self.taken, &self.given_back, &self.low, &self.high] {
            tally.take();
        }
    }
}

#[derive(Debug, Default)]
#[repr(C)]
struct Row {
    pieces: Amounts,
    bytes: Amounts,
}

/// All memory of a session, or that of it which is controlled.
#[derive(Debug, Default)]
#[repr(C)]
struct Sum {
    used: Tally,
    max: Tally,
    /// What was used when the statement before ended.
    before: Tally,
    /// The most that was used since.
    statement_max: Tally,
}

impl Sum {
    fn change(&self, from: u64, to: u64) {
        // A piece that somebody else took makes less than nothing.
        let used = (self.used.get() as i64).saturating_add(to as i64 - from as i64).max(0) as u64;
        self.used.set(used);
        self.max.raise(used);
        self.statement_max.raise(used);
    }

    fn take_statement(&self) -> u64 {
        let used = self.used.get();
        let took = self.statement_max.get().saturating_sub(self.before.get());
        self.before.set(used);
        self.statement_max.set(used);
        took
    }

    fn forget(&self) {
        for tally in [&self.used, &self.max, &self.before, &self.statement_max] {
            tally.take();
        }
    }
}

/// What a session keeps, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionMemorySums {
    /// What statements keep, now.
    pub controlled: u64,
    /// At most.
    pub controlled_max: u64,
    /// Everything that is counted, now.
    pub total: u64,
    /// At most.
    pub total_max: u64,
}

impl SessionMemorySums {
    /// Adds another session: now together, at most the larger.
    pub fn add(&mut self, other: &SessionMemorySums) {
        self.controlled += other.controlled;
        self.total += other.total;
        self.controlled_max = self.controlled_max.max(other.controlled_max);
        self.total_max = self.total_max.max(other.total_max);
    }
}

/// The memory of a page's writer.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct PageMemory {
    changes: Tally,
    controlled: Sum,
    total: Sum,
    rows: [Row; ROWS],
}

/// The row of an instrument, by its class's number.
fn row_of(id: u16) -> Option<usize> {
    id.checked_sub(ClassKind::Memory.numbers().0).map(usize::from)
}

impl PageMemory {
    /// How often something was taken or given back.
    #[inline(always)]
    pub fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// A piece of an instrument, by its class's number, has another size.
    pub fn change(&self, id: u16, is_controlled: bool, from: u64, to: u64) {
        let Some(row) = row_of(id).and_then(|row| self.rows.get(row)) else { return };
        self.changes.add(1);
        match (from, to) {
            (0, _) => row.pieces.take(1),
            (_, 0) => row.pieces.give_back(1),
            _ => {}
        }
        match to > from {
            true => row.bytes.take(to - from),
            false => row.bytes.give_back(from - to),
        }
        self.total.change(from, to);
        if is_controlled {
            self.controlled.change(from, to);
        }
    }

    /// What the statement that ended took at most of what is controlled, and of everything.
    pub fn take_statement(&self) -> (u64, u64) {
        (self.controlled.take_statement(), self.total.take_statement())
    }

    pub fn sums(&self) -> SessionMemorySums {
        SessionMemorySums {
            controlled: self.controlled.used.get(),
            controlled_max: self.controlled.max.get(),
            total: self.total.used.get(),
            total_max: self.total.max.get(),
        }
    }

    /// The instruments that it has figures of, by their classes' numbers.
    pub fn used(&self, emptied: bool) -> impl Iterator<Item = (u16, MemoryTotals)> {
        let first = ClassKind::Memory.numbers().0;
        let totals = move |row: &Row| MemoryTotals {
            pieces: row.pieces.read(emptied),
            bytes: row.bytes.read(emptied),
        };
        let all = (first..).zip(&self.rows).map(move |(id, row)| (id, totals(row)));
        all.filter(|(_, totals)| totals.pieces.taken | totals.pieces.given_back != 0)
    }

    /// Counts anew from what is used now.
    pub fn empty(&self) {
        for row in &self.rows {
            if row.pieces.taken.get() | row.pieces.given_back.get() != 0 {
                row.pieces.empty();
                row.bytes.empty();
            }
        }
    }

    /// Forgets everything: the page ends.
    pub fn forget(&self) {
        if self.changes.take() == 0 {
            return;
        }
        self.controlled.forget();
        self.total.forget();
        for row in &self.rows {
            row.pieces.forget();
            row.bytes.forget();
        }
    }
}
