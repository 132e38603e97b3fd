//! Long runs of deleted rows that old views keep: how locking reads get past them.
//!
//! 1. Without gap locks nothing of them is locked. With gap locks a reader locks the first [`RUN`] of them one by one, as
//!    InnoDB does; then it takes one lock of all deleted rows of the index ([`Target::deleted_rows`]), looks at its leaf
//!    again, and passes over the rest. The first other entry is locked as ever, with the gap before it.
//!    Guard: `a_few_locks_keep_everybody_out_of_a_run_of_deleted_rows`, `without_gap_locks_nothing_of_them_is_locked`.
//! 2. Only rows whose deletion is committed are passed over. Nobody brings one back but who inserts its key. Guard:
//!    `nobody_meets_a_phantom_among_deleted_rows`.
//! 3. Who inserts beside a deleted row or over one asks under its leaf's latch for the gap of the deleted rows. The reader had
//!    its lock before it copied the leaf, or looked at the leaf again since: so either it has seen the new row, or the
//!    inserter sees the lock, as with any gap (`locking`, invariant 3). Guard: `nobody_meets_a_phantom_among_deleted_rows`.
//! 4. Whose own the lock is may insert; the new row takes the lock over, for it is no deleted row any more. Guard:
//!    `what_the_reader_inserts_itself_parts_the_gap`.
//! 5. A deleted row that is purged leaves nothing: the gap before the entry behind it is locked. Guard:
//!    `nobody_meets_a_phantom_among_deleted_rows`.

use crate::locked_range::{Locked, LockedRange};
use crate::locking::Locker;
use crate::row::RowHeader;
use crate::scan::Direction;
use crate::writer::{NeededLock, Writer};
use base::{Result, TrxId};
use btree::{Position, Tree};
use lock::{Kind, Shape, Target};
use pool::Mtr;

/// So many deleted rows in a row are locked one by one.
const RUN: u32 = 16;

/// How a range gets on with deleted rows.
#[derive(Default)]
pub(crate) struct Run {
    /// Deleted rows met since the last other one.
    met: u32,
    /// Those of the index are locked.
    locked: bool,
}

impl Run {
    /// A row that is not deleted.
    pub fn ends(&mut self) {
        self.met = 0;
    }
}

fn is_over(payload: &[u8], ended_below: TrxId) -> bool {
    RowHeader::read(payload).is_ok_and(|h| h.deleted() && h.trx < ended_below)
}

impl LockedRange {
    /// Passes over the deleted row that the spot stands on, and those that follow in its leaf, if they may be. `false`: it is
    /// to be locked like any other.
    pub fn pass_over(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<bool> {
        let ended_below = l.engine.trx().all_ended_below();
        if self.ask.direction == Direction::Backward || !is_over(self.payload(), ended_below) {
            return Ok(false);
        }
        if !self.ask.high.open && !self.walk.leaf_is_below(&self.ask.high.key)? {
            // The first entry behind the range is to be met.
            return Ok(false);
        }
        if !l.gapless && !self.deleted.locked {
            self.deleted.met += 1;
            if self.deleted.met <= RUN {
                return Ok(false);
            }
            match self.lock_here(l, tree, Target::deleted_rows(tree.index), Kind::Gap)? {
                Locked::Again => return Ok(true),
                Locked::Skip => return Ok(false),
                Locked::Yes => self.deleted.locked = true,
            }
        }
        self.walk.pass_while(tree, |payload| is_over(payload, ended_below))?;
        Ok(true)
    }
}

impl Writer<'_> {
    /// What keeps this transaction from inserting `key` at `pos` of a clustered index, or over the deleted row there: somebody
    /// has passed over deleted rows.
    pub fn keeps_from_deleted(
        &self,
        tree: &Tree,
        mtr: &Mtr<'_>,
        pos: &Position,
        key: &[u8],
    ) -> Result<Option<NeededLock>> {
        let Some(locker) = &self.locker else { return Ok(None) };
        let (locks, rows) = (self.engine.locks(), Target::deleted_rows(tree.index));
        if locks.is_free(rows) || !is_beside_deleted(mtr, pos)? {
            return Ok(None);
        }
        if !locks.check(locker.owner, rows, Shape::INSERT) {
            return Ok(Some(NeededLock::gap(rows)));
        }
        locks.inserted(Target::record(tree.index, key), rows);
        Ok(None)
    }
}

/// Whether the entry at a position is a deleted row, as far as its leaf says; at the end of a leaf another one may begin with
/// one.
fn is_beside_deleted(mtr: &Mtr<'_>, pos: &Position) -> Result<bool> {
    let node = pos.node(mtr)?;
    if pos.slot < node.count() {
        return Ok(RowHeader::read(node.payload(pos.slot)?)?.deleted());
    }
    Ok(node.high_fence().is_some())
}
