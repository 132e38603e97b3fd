//! How a range that is read with locks makes runs of them (`lock::Locks::lock_next`).
//!
//! 1. The first [`SINGLE`] entries of a range are locked one by one: small ranges look as they do in InnoDB, and are
//!    nobody's meeting point. Guard: `--test isolation` of the server, recorded from MySQL.
//! 2. From there on an entry is locked as the next one of a run, up or down: the spot was current after the lock before was
//!    made, and the entry follows directly on that one (`Walk::passed`), as the spot says. Where it does not (something was
//!    passed over, was waited for, was given back), a run begins. A lock whose spot is not current is taken back, for it says
//!    nothing about what is beside it. Guard: the model `a_run_meets_inserts_into_its_leaf` of `lock`.
//! 3. Only locks of the shape that all of the range's entries get. Guard: `List::extend` of `lock` asserts that no key is in a
//!    list twice; lists have one shape.
//! 4. The rows of a secondary index's entries are usually scattered, and single locks. Where one is the neighbour of the
//!    row locked before, above or below, as the clustered index says, it is the next one of a run; if a few are not, fewer
//!    and fewer are looked at. Guard: `rows_in_key_order_are_runs_and_scattered_ones_are_not` of `--test locks`.

use crate::locked_range::{Locked, LockedRange};
use crate::locking::{Locker, shape};
use base::Result;
use btree::{Spot, Tree};
use lock::{Granted, Kind, Shape, Target};
use std::ops::Bound;

/// So many entries are locked one by one.
const SINGLE: u32 = 32;

/// At most so many rows are locked without a look whether they are neighbours.
const BLIND_MAX: u32 = 1 << 10;

/// How far a range is with its run.
#[derive(Default)]
pub(crate) struct LockRun {
    single: u32,
    /// The end of the run, with its lock: the key after it may follow.
    end: Option<Vec<u8>>,
    rows: Neighbours,
}

/// Rows of a secondary index's entries that are locked one after the other.
#[derive(Default)]
struct Neighbours {
    /// The row locked last; empty: none.
    last: Vec<u8>,
    /// Its lock is the end of a run.
    in_run: bool,
    /// Stands on it, if `stands`.
    spot: Option<Box<Spot>>,
    stands: bool,
    /// So many rows are not looked at after the next one that is no neighbour, and so many from here on.
    pause: u32,
    blind: u32,
}

impl LockRun {
    /// Another range begins.
    pub fn begin(&mut self) {
        (self.single, self.end) = (0, None);
        let rows = &mut self.rows;
        rows.last.clear();
        (rows.in_run, rows.stands, rows.pause, rows.blind) = (false, false, 0, 0);
    }
}

impl Neighbours {
    /// Whether `key` is the neighbour of the row locked last; then the spot stands on it. It is found by the entry alone
    /// upwards, where leaves that are written meanwhile are not copied for each row.
    fn is_next(&mut self, tree: &Tree, key: &[u8]) -> Result<bool> {
        if self.last.is_empty() || self.blind > 0 {
            self.blind = self.blind.saturating_sub(1);
            return Ok(false);
        }
        let spot = self.spot.get_or_insert_default();
        let stands = std::mem::take(&mut self.stands) && spot.seems_current(tree)?;
        let found = match (*key > self.last[..], stands) {
            (true, true) => spot.next(tree).map(|()| true)?,
            (true, false) => spot.seek_alone(tree, &self.last).map(|()| true)?,
            (false, true) => spot.prev(tree)?,
            (false, false) => {
                spot.seek(tree, Bound::Included(&self.last))?;
                spot.prev(tree)?
            }
        };
        let next = found && spot.entry()?.is_some_and(|(entry, _)| entry == key);
        self.stands = next;
        self.pause = if next { 0 } else { (2 * self.pause + 1).min(BLIND_MAX) };
        self.blind = self.pause;
        Ok(next)
    }

    /// This row was locked; as a part of a run, or by itself.
    fn note(&mut self, key: &[u8], in_run: bool) {
        self.last.clear();
        self.last.extend_from_slice(key);
        self.in_run = in_run;
    }
}

impl LockedRange {
    /// Whether entries are locked as runs by now.
    pub fn makes_runs(&self) -> bool {
        self.lock_run.single >= SINGLE
    }

    /// Locks the spot's entry as the next one of a run. `None`: it is to be locked by itself.
    pub fn extend_run(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        target: Target<'_>,
        kind: Kind,
    ) -> Result<Option<Locked>> {
        let shape = shape(self.ask.mode(), l.gapless);
        if !self.makes_runs() || kind != shape.kind {
            self.lock_run.single += 1;
            return Ok(None);
        }
        let Some(key) = target.key else { return Ok(None) };
        let after = self.lock_run.end.as_deref().filter(|end| self.walk.passed() == *end);
        let Some(granted) = l.lock_next(target, shape, after)? else {
            self.lock_run.end = None;
            return Ok(None);
        };
        if !self.walk.is_current(tree)? {
            granted.fresh.into_iter().for_each(|shape| l.unlock(target, shape));
            self.walk.lose();
            return Ok(Some(Locked::Again));
        }
        self.note_fresh(l, target, granted);
        let end = self.lock_run.end.get_or_insert_default();
        end.clear();
        end.extend_from_slice(key);
        Ok(Some(Locked::Yes))
    }

    /// Locks the row of a secondary index's entry as the next one of a run, where it is the neighbour of the one before.
    /// `None`: it is to be locked by itself.
    pub fn extend_rows(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        key: &[u8],
        shape: Shape,
    ) -> Result<Option<Granted>> {
        if !self.makes_runs() {
            return Ok(None);
        }
        let (rows, target) = (&mut self.lock_run.rows, Target::record(tree.index, key));
        if !rows.is_next(tree, key)? {
            rows.note(key, false);
            return Ok(None);
        }
        let after = rows.in_run.then_some(&rows.last[..]);
        let granted = l.lock_next(target, shape, after)?;
        let is_current = match &rows.spot {
            Some(spot) => spot.is_current(tree)?,
            None => false,
        };
        rows.note(key, is_current && granted.is_some());
        match granted {
            Some(granted) if !is_current => {
                granted.fresh.into_iter().for_each(|shape| l.unlock(target, shape));
                Ok(None)
            }
            granted => Ok(granted),
        }
    }
}
