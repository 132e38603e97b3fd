//! AUTO_INCREMENT: a counter in memory, kept in the tablespace's header page.
//!
//! 1. A value is given after the counter above it was logged, so no value is given twice, not even
//!    after a crash; log order puts the counter before the rows that use it. Guard: the asserts of
//!    [`Autoinc::reserve`], `counters_go_on_after_a_crash`.
//! 2. The counter only grows; rollback does not give values back. Guard: the asserts of [`Autoinc::reserve`].
//! 3. It ends at the largest value of the column, which it then gives again and again, as InnoDB does: the primary
//!    key refuses it. Guard: `autoinc_ends_with_its_type`.

use crate::engine::Engine;
use base::{Error, Result};
use pool::{Mtr, Tablespace};
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::WorkerSlot;
use value::ColumnType;

/// Which values a statement may generate: `auto_increment_increment` and `auto_increment_offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    increment: u64,
    offset: u64,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps::new(1, 1)
    }
}

impl Steps {
    /// `offset`, and from there on every `increment`th value; an offset above the increment is none.
    pub fn new(increment: u64, offset: u64) -> Steps {
        let increment = increment.max(1);
        Steps { increment, offset: if offset > increment { 0 } else { offset } }
    }

    /// The smallest of the values at or above `value`.
    pub fn at_or_above(self, value: u64) -> u64 {
        let Steps { increment, offset } = self;
        let behind = (value % increment + increment - offset % increment) % increment;
        if behind == 0 { value } else { value.saturating_add(increment - behind) }
    }

    /// Where the counter stands when `value` is in a row.
    pub fn above(self, value: u64) -> u64 {
        match self.offset {
            0 | 1 => value.saturating_add(self.increment),
            _ => self.at_or_above(value.saturating_add(1)),
        }
    }

    /// The `n`th of the values behind `value`, which is one of them.
    pub fn after(self, value: u64, n: u64) -> u64 {
        value.saturating_add(n.saturating_mul(self.increment))
    }
}

/// The counter of a table.
pub(crate) struct Autoinc {
    /// The next value to be given.
    next: SharedAtomic<u64, { class::AUTOINC }>,
    /// `next` as it was logged last; never above it.
    logged: SharedAtomic<u64, { class::AUTOINC }>,
    /// The largest value of the column.
    max: u64,
}

impl Autoinc {
    pub fn new(ty: &ColumnType, next: u64) -> Autoinc {
        let max = u64::try_from(ty.int_range().1).unwrap_or(u64::MAX);
        let next = next.max(1);
        Autoinc { next: SharedAtomic::new(next), logged: SharedAtomic::new(next), max }
    }

    /// Takes `n` values; the first.
    pub fn reserve(
        &self,
        engine: &Engine,
        worker: &WorkerSlot,
        ts: &Arc<Tablespace>,
        (n, steps): (u64, Steps),
    ) -> Result<u64> {
        let mut next = self.next.load(Ordering::Relaxed);
        loop {
            let first = steps.at_or_above(next);
            if first > self.max {
                return Err(Error::AutoincExhausted);
            }
            let end = steps.after(first, n).min(self.max);
            assert!(
                next <= first && first <= end,
                "a counter at {next} gives {first} and is at {end}"
            );
            match self.next.compare_exchange(next, end, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    self.log(engine, worker, ts, end)?;
                    let logged = self.logged.load(Ordering::Relaxed);
                    assert!(logged >= end, "a counter is at {end} and is logged up to {logged}");
                    return Ok(first);
                }
                Err(now) => next = now,
            }
        }
    }

    /// Moves the counter above `value`.
    pub fn note(
        &self,
        engine: &Engine,
        worker: &WorkerSlot,
        ts: &Arc<Tablespace>,
        value: u64,
    ) -> Result<()> {
        let above = value.saturating_add(1).min(self.max);
        if above <= self.logged.load(Ordering::Acquire) {
            return Ok(());
        }
        self.next.fetch_max(above, Ordering::AcqRel);
        self.log(engine, worker, ts, above)
    }

    /// The next value that would be given.
    pub fn peek(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    fn log(
        &self,
        engine: &Engine,
        worker: &WorkerSlot,
        ts: &Arc<Tablespace>,
        next: u64,
    ) -> Result<()> {
        if next <= self.logged.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut mtr = Mtr::new(engine.pool(), worker);
        space::bump_autoinc(&mut mtr, ts, next - 1)?;
        mtr.commit()?;
        self.logged.fetch_max(next, Ordering::AcqRel);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Steps;

    #[test]
    fn steps_meet_their_offset() {
        let of = |increment, offset, value| Steps::new(increment, offset).at_or_above(value);
        assert_eq!([of(1, 1, 7), of(10, 1, 1), of(10, 1, 2), of(10, 1, 5055)], [7, 1, 11, 5061]);
        assert_eq!([of(10, 3, 1), of(10, 3, 5121), of(10, 3, 7005)], [3, 5123, 7013]);
        assert_eq!([of(10, 20, 7033), of(2, 2, 1), of(2, 2, 2)], [7040, 2, 2]);
        assert_eq!(Steps::new(10, 3).after(3, 2), 23);
        assert_eq!(Steps::new(10, 3).at_or_above(u64::MAX - 1), u64::MAX);
    }
}
