//! AUTO_INCREMENT: a counter in memory, kept in the tablespace's header page.
//!
//! 1. A value is given after a counter above it was logged, so no value is given twice, not even
//!    after a crash; log order puts the counter before the rows that use it. Guard: `counters_go_on_after_a_crash`,
//!    `campaign`.
//! 2. The counter only grows; rollback does not give values back. Guard: the asserts of [`Autoinc::reserve`].
//! 3. It ends at the largest value of the column, which it then gives again and again, as InnoDB does: the primary
//!    key refuses it. Guard: `autoinc_ends_with_its_type`.
//! 4. What is logged runs ahead of what is given, twice as far each time, so that a statement in hundreds latches the header
//!    page. After a crash the counter goes on there: what lies between is a gap. A shutdown logs the counters as they are. Guard: `counters_run_ahead_and_stop_where_they_are`.
//! 5. A tablespace has one counter as long as the engine is open, whatever handles of its table come and go. Guard:
//!    `counters_run_ahead_and_stop_where_they_are`.
//! 6. A settled counter ([`Counter::settle`]) says that nothing is logged, then is read again under the header's latch. Who
//!    takes values moves the counter first and looks at what is logged then: so either he logs them himself, or the
//!    settling has seen them. Guard: `settled_counters_give_nothing_twice`.

use crate::engine::Engine;
use base::{Error, Result, SpaceId};
use pool::{Mtr, Tablespace};
use std::collections::HashMap;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, WorkerSlot};
use value::ColumnType;

instrument::classes! {
    static COUNTERS: MutexClass = "wait/synch/mutex/limpid/autoinc_counters";
}

/// Values that are logged ahead at most.
const AHEAD_MAX: u64 = 1000;

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

/// The counter of a tablespace, on a line of its own.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Counter {
    /// The next value to be given.
    next: SharedAtomic<u64, { class::AUTOINC }>,
    /// No value from here on may be given before more is logged.
    logged: SharedAtomic<u64, { class::AUTOINC }>,
    /// How many values will be logged ahead when that is done next.
    ahead: SharedAtomic<u64, { class::AUTOINC }>,
}

impl Counter {
    pub fn new(next: u64) -> Counter {
        let next = next.max(1);
        let word = SharedAtomic::new;
        Counter { next: word(next), logged: word(next), ahead: SharedAtomic::new(0) }
    }

    /// How far to log ahead now. It grows as values are taken, so that a table with few rows has small gaps.
    fn step_ahead(&self) -> u64 {
        let ahead = self.ahead.load(Ordering::Relaxed);
        self.ahead.store((2 * ahead).clamp(1, AHEAD_MAX), Ordering::Relaxed);
        ahead
    }

    /// Logs the counter as it is, if more was logged (invariant 6).
    fn settle(&self, engine: &Engine, worker: &WorkerSlot, ts: &Tablespace) -> Result<()> {
        if self.logged.load(Ordering::SeqCst) <= self.next.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.logged.swap(0, Ordering::SeqCst);
        let mut mtr = Mtr::new(engine.pool(), worker);
        let mut next = 0;
        space::settle_autoinc(&mut mtr, ts, || {
            next = self.next.load(Ordering::SeqCst);
            next - 1
        })?;
        mtr.commit()?;
        self.logged.fetch_max(next, Ordering::SeqCst);
        Ok(())
    }
}

/// The counters of all tablespaces whose tables were opened.
pub(crate) struct Counters(Mutex<HashMap<SpaceId, Arc<Counter>>>);

impl Counters {
    pub fn new() -> Counters {
        Counters(Mutex::new(&COUNTERS, HashMap::new()))
    }

    /// That of a tablespace; `next`: what its header page says, for the first who asks.
    pub fn of(&self, space: SpaceId, next: u64) -> Arc<Counter> {
        let mut counters = self.0.lock();
        Arc::clone(counters.entry(space).or_insert_with(|| Arc::new(Counter::new(next))))
    }

    /// The tablespace goes.
    pub fn forget(&self, space: SpaceId) {
        self.0.lock().remove(&space);
    }

    fn all(&self) -> Vec<(SpaceId, Arc<Counter>)> {
        self.0.lock().iter().map(|(space, counter)| (*space, Arc::clone(counter))).collect()
    }
}

impl Engine {
    /// Logs every AUTO_INCREMENT counter as it is, so that none has a gap after a shutdown. One that cannot be logged has.
    pub fn settle_autoinc(&self) {
        self.with_worker(|worker| {
            for (space, counter) in self.counters.all() {
                if let Ok(Some(ts)) = self.space(space) {
                    let _ = counter.settle(self, worker, &ts);
                }
            }
        });
    }
}

/// The counter of a table.
pub(crate) struct Autoinc {
    counter: Arc<Counter>,
    /// The largest value of the column.
    max: u64,
}

impl Autoinc {
    pub fn new(ty: &ColumnType, counter: Arc<Counter>) -> Autoinc {
        Autoinc { counter, max: u64::try_from(ty.int_range().1).unwrap_or(u64::MAX) }
    }

    /// Takes `n` values; the first.
    pub fn reserve(
        &self,
        engine: &Engine,
        worker: &WorkerSlot,
        ts: &Arc<Tablespace>,
        (n, steps): (u64, Steps),
    ) -> Result<u64> {
        let counter = &self.counter;
        let mut next = counter.next.load(Ordering::Relaxed);
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
            match counter.next.compare_exchange(next, end, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => {
                    self.log(engine, worker, ts, (end, true))?;
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
        if above <= self.counter.next.load(Ordering::Acquire) {
            return Ok(());
        }
        self.counter.next.fetch_max(above, Ordering::SeqCst);
        self.log(engine, worker, ts, (above, false))
    }

    /// The next value that would be given.
    pub fn peek(&self) -> u64 {
        self.counter.next.load(Ordering::Acquire)
    }

    /// Logs a counter that moves to `next`; `more`: ahead of it, as others will follow.
    fn log(
        &self,
        engine: &Engine,
        worker: &WorkerSlot,
        ts: &Arc<Tablespace>,
        (next, more): (u64, bool),
    ) -> Result<()> {
        if next <= self.counter.logged.load(Ordering::SeqCst) {
            return Ok(());
        }
        let ahead = if more { self.counter.step_ahead() } else { 0 };
        let ahead = next.saturating_add(ahead).min(self.max.max(next));
        let mut mtr = Mtr::new(engine.pool(), worker);
        space::bump_autoinc(&mut mtr, ts, ahead - 1)?;
        mtr.commit()?;
        self.counter.logged.fetch_max(ahead, Ordering::SeqCst);
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
