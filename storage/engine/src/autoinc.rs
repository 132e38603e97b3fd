//! AUTO_INCREMENT: a counter in memory, kept in the tablespace's header page.
//!
//! 1. A value is given after the counter above it was logged, so no value is given twice, not even
//!    after a crash; log order puts the counter before the rows that use it.
//! 2. The counter only grows; rollback does not give values back.

use crate::engine::Engine;
use base::{Error, Result};
use pool::{Mtr, Tablespace};
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::WorkerSlot;
use value::ColumnType;

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
        n: u64,
    ) -> Result<u64> {
        let mut first = self.next.load(Ordering::Relaxed);
        loop {
            let end = first.checked_add(n).ok_or(Error::AutoincExhausted)?;
            if n > 0 && end - 1 > self.max {
                return Err(Error::AutoincExhausted);
            }
            match self.next.compare_exchange(first, end, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    self.log(engine, worker, ts, end)?;
                    return Ok(first);
                }
                Err(now) => first = now,
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
        let above = value.saturating_add(1);
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
