//! Driving purge: by threads of its own, by committing clients, by hand.
//!
//! Threads share the rollback segments out among themselves. A committing client purges up to
//! [`QUOTA`] old transactions of its own segment, of few records: so history is made no faster than
//! it is removed when no view is in the way. It asks no dictionary; what that is needed for, and
//! what is long, is left to the threads.
//!
//! 1. A transaction is purged when the horizon has passed its end, after the older ones of its segment; segments
//!    are independent of each other. One step holds the history's `step`: nobody else purges it meanwhile. Guard: the
//!    asserts of [`trx::History`], the errors of `Writer::purge_from`.
//! 2. Whoever drops a tablespace or frees an index tells the registry, then waits for all steps under way
//!    ([`Engine::stop_purge_of`]). Guard: the registry's, and drops in `campaign` and `one_runner`.
//! 3. Behind a view history grows without a limit, unless `innodb_max_purge_lag` slows the writers down. Guard:
//!    `writers_are_slowed_down_as_far_as_history_is_too_long`.

use crate::engine::Engine;
use crate::recovery::TableFinder;
use crate::registry::Handles;
use crate::rollback::Lookup;
use crate::writer::{Buffers, Writer};
use base::{Lsn, Result};
use std::time::Duration;
use sync::WorkerSlot;
use trx::{History, RSEGS, Segment};

/// Old transactions that a committing client purges at most.
const QUOTA: Limits = Limits { transactions: 2, records: 16 };
/// What one step in the background purges at most.
pub(crate) const STEP: Limits = Limits { transactions: 256, records: 512 };

/// How far a step goes.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub transactions: usize,
    pub records: u64,
}

/// What who purges works with.
pub(crate) struct Purger {
    segment: Segment,
    handles: Handles,
    buffers: Buffers,
    bytes: Vec<u8>,
    /// Where somebody else purges, it waits its turn.
    waits: bool,
}

impl Purger {
    pub fn new(engine: &Engine) -> Purger {
        Purger {
            segment: engine.trx().stand_in(),
            handles: Handles::default(),
            buffers: Buffers::default(),
            bytes: Vec::new(),
            waits: false,
        }
    }
}

impl Engine {
    /// Purges some of a history, unless somebody else does; how many records.
    pub(crate) fn purge_history(
        &self,
        worker: &WorkerSlot,
        history: &History,
        p: &mut Purger,
        limits: Limits,
        finder: Option<&TableFinder>,
    ) -> Result<u64> {
        let mut step = match p.waits {
            true => history.step(),
            false => match history.try_step() {
                Some(step) => step,
                None => return Ok(0),
            },
        };
        p.handles.refresh(&self.registry);
        let handles = &p.handles;
        let lookup = |id| match (handles.find(id, &self.registry), finder) {
            (Lookup::Later, Some(finder)) => Ok(self.registry.checked(finder(id)?)),
            (found, _) => Ok(found),
        };
        let mut left = limits.records;
        for _ in 0..limits.transactions {
            let Some((commit, interrupted)) = step.next(self.trx().horizon()) else { break };
            let (trx, last) = self.trx().read_commit(commit, &mut p.bytes)?;
            p.segment.stand_for(trx);
            let mut at = interrupted.unwrap_or(last);
            let mut writer = Writer::alone(self, worker, &mut p.segment);
            match writer.purge(&mut at, &lookup, &mut left, &mut p.buffers) {
                Ok(true) => step.done(trx),
                stopped => {
                    step.stop_at(at);
                    stopped?;
                    break;
                }
            }
        }
        Ok(limits.records - left)
    }

    /// What a client does after its commit.
    pub(crate) fn purge_quota(&self, worker: &WorkerSlot, history: &History, p: &mut Purger) {
        if self.settings().purge_at_commit() {
            // An error is the threads' to meet and tell.
            let _ = self.purge_history(worker, history, p, QUOTA, None);
        }
    }

    /// One round over the rollback segments `first`, `first + every` and so on: purges, then cuts the free
    /// segments that have become long. How much was done.
    pub(crate) fn purge_round(
        &self,
        worker: &WorkerSlot,
        (first, every): (usize, usize),
        p: &mut Purger,
        stop: &dyn Fn() -> bool,
    ) -> Result<u64> {
        let finder = self.finder.get();
        let finder = finder.map(|finder| &**finder);
        let mut done = 0;
        let mut failed = Ok(());
        for rseg in (first..RSEGS).step_by(every.max(1)) {
            for history in self.trx().waiting_histories(rseg) {
                if stop() {
                    return Ok(done);
                }
                match self.purge_history(worker, &history, p, STEP, finder) {
                    Ok(n) => done += n,
                    Err(e) => failed = failed.and(Err(e)),
                }
            }
            match self.trx().trim(worker, rseg) {
                Ok(more) => done += u64::from(more),
                Err(e) => failed = failed.and(Err(e)),
            }
        }
        failed.map(|()| done)
    }

    /// Purges all that no view keeps from it, in the caller's thread. For tools and tests, and before a
    /// table is checked. What a table is missing for stays.
    pub fn purge_all(&self) -> Result<()> {
        self.trx().refresh_horizon();
        self.with_worker(|worker| {
            let mut p = Purger { waits: true, ..Purger::new(self) };
            while self.purge_round(worker, (0, 1), &mut p, &|| false)? > 0 {}
            self.trx().note_purged(worker)
        })
    }

    /// How many transactions have ended but are kept: for older views, or since purge has not come to
    /// them yet.
    pub fn history_len(&self) -> usize {
        self.trx().history_len()
    }

    /// The oldest read view: what ended behind it is kept. As the background found it.
    pub fn oldest_view(&self) -> Option<Lsn> {
        self.trx().oldest_view()
    }

    /// In how many of the rollback segments transactions begin (`innodb_rollback_segments`).
    pub fn set_rollback_segments(&self, n: usize) {
        self.trx().set_rollback_segments(n);
    }

    /// After the registry was told that something goes away: waits for the steps that may still know
    /// it.
    pub(crate) fn stop_purge_of(&self, tell: impl FnOnce()) {
        tell();
        for rseg in 0..RSEGS {
            self.trx().histories(rseg).iter().for_each(|h| drop(h.step()));
        }
    }

    /// Looks how long history is, and says by how much writers are slowed down.
    pub(crate) fn look_at_purge_lag(&self) {
        let most = self.settings().max_purge_lag();
        let length = self.history_len() as u64;
        self.settings().set_purge_delay(delay(length, most, self.settings().max_purge_lag_delay()));
        if length == 0 {
            self.registry.tidy();
        }
    }

    /// Slows a writer down when history is too long, before it takes a latch.
    #[inline]
    pub(crate) fn keep_to_purge_lag(&self) {
        let delay = self.settings().purge_delay();
        if !delay.is_zero() {
            let _ = host::clock::sleep(delay);
        }
    }
}

/// As MySQL: `(length / most - 0.9995) * 10000` microseconds once history is longer than `most`.
fn delay(length: u64, most: u64, delay_max_us: u64) -> Duration {
    if most == 0 || length <= most {
        return Duration::ZERO;
    }
    let us = ((length as f64 / most as f64 - 0.9995) * 10_000.0) as u64;
    let us = if delay_max_us == 0 { us } else { us.min(delay_max_us) };
    // A mistake in a setting must not stop the server.
    Duration::from_micros(us.min(10_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_slowed_down_as_far_as_history_is_too_long() {
        let us = |length, most, max| delay(length, most, max).as_micros();
        assert_eq!(us(1_000_000, 0, 0), 0, "switched off");
        assert_eq!(us(1000, 1000, 0), 0);
        assert_eq!(us(2000, 1000, 0), 10_005);
        assert_eq!(us(2000, 1000, 300), 300);
        assert_eq!(us(u64::MAX, 1, 0), 10_000_000);
    }
}
