//! A range whose rows are locked as they are read.
//!
//! Reading order: this file (what is asked of a range, what it answers, its steps), `walk` (where it is), `entry` (locking
//! the entries of the range), `behind` (locking what is behind it).
//!
//! 1. For each entry: its lock is asked for, then the spot it was read from is looked at again. A spot that
//!    is current then has shown the entry, and what is not in the gap before it, as they stay; where it is not, a lock
//!    that was had at once is given back. Guard: the model `a_run_meets_inserts_into_its_leaf` of `lock`,
//!    `a_phantom_does_not_come_into_a_locked_range` and
//!    `what_was_locked_in_a_leaf_that_changed_meanwhile_is_given_back` of `--test locks`.
//! 2. What is locked is InnoDB's: the next key of each entry; the record alone where a unique key is given
//!    whole and found; the gap alone behind a range that has a definite end; with each secondary entry the
//!    record of its row. Levels without gap locks lock the records they answer, and nothing else; they wait for
//!    the one behind a range, though, and give it back. Guard: `a_range_locks_what_mysql_locks` of `--test locks`, and
//!    `--test isolation` of the server, recorded from MySQL.
//! 3. An answered row is the latest committed version, or the own one. Guard: `transfers_under_locks_keep_the_total`.
//! 4. An entry without a mark that nobody else has locked is a row with that key: where shared locks are taken
//!    and the entry says all that is asked for, its row is neither read nor locked. Guard: `LockedRange::entry` asserts
//!    that who is answered by entries asked for it; what they say, `--test isolation`.
//! 5. With [`LockWait::IfWanted`] a row of others is shown before it is waited for. Guard: [`Whose`], and `--test isolation`.

mod behind;
mod entry;
mod walk;

use crate::deleted_rows::Run;
use crate::lock_run::LockRun;
use crate::locking::{LockMode, LockWait, Locker, RowLock};
use crate::scan::Direction;
use crate::table::Table;
use base::{Error, IndexId, Result};
use btree::Tree;
use lock::{Granted, Kind, Shape, Target};
use walk::Walk;

/// The upper side of a range.
#[derive(Default)]
pub(crate) struct Side {
    pub key: Vec<u8>,
    /// There is no key: it is the end of the index.
    pub open: bool,
}

/// What is asked of a range, from its beginning to its end.
pub(crate) struct Ask {
    lock: RowLock,
    index: usize,
    pub direction: Direction,
    /// The beginning of the range.
    low: Vec<u8>,
    /// The end of the range: keys at or above it are behind.
    pub high: Side,
    /// Whether each was given as the beginning of keys that belong to the range.
    low_included: bool,
    high_included: bool,
    /// One key, or the beginning of one, is looked for.
    equal: bool,
    /// What is outside of the range is told by the entry alone: the row behind it is not locked.
    pushed_down: bool,
    /// Invariant 4.
    covered: bool,
}

impl Default for Ask {
    fn default() -> Ask {
        Ask {
            lock: RowLock::UPDATE,
            index: 0,
            direction: Direction::Forward,
            low: Vec::new(),
            high: Side::default(),
            low_included: false,
            high_included: false,
            equal: false,
            pushed_down: false,
            covered: false,
        }
    }
}

impl Ask {
    pub fn mode(&self) -> LockMode {
        self.lock.mode
    }

    /// How an entry is waited for; `wanted`: it certainly is.
    fn wait(&self, wanted: bool) -> LockWait {
        match self.lock.wait {
            LockWait::IfWanted if wanted => LockWait::Wait,
            wait => wait,
        }
    }

    fn is_forward(&self) -> bool {
        self.direction == Direction::Forward
    }

    /// Whether an entry that the range comes to is not in it any more.
    fn is_behind(&self, entry: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => !self.high.open && *entry >= self.high.key[..],
            Direction::Backward => *entry < self.low[..],
        }
    }

    /// Whether an entry has the whole key that the range begins with.
    fn is_whole_low(&self, entry: &[u8]) -> bool {
        self.low_included && *entry == self.low[..]
    }

    /// Whether the range ends with the keys that begin with `key`: with the smallest one above them, if there is one.
    fn ends_behind(&self, key: &[u8]) -> bool {
        let kept = key.iter().rposition(|byte| *byte != 0xFF);
        let above = kept.map(|last| (&key[..last], key[last] + 1));
        match (above, self.high.key.split_last()) {
            (None, _) => self.high.open,
            (Some(above), Some((last, before))) => !self.high.open && above == (before, *last),
            (Some(_), None) => false,
        }
    }

    /// Whether the entry alone tells that it is behind the range. Of one key nothing is left to try on entries, but
    /// forwards that key is compared.
    fn pushes_down(&self) -> bool {
        self.pushed_down && self.index > 0 && (self.is_forward() || !self.equal)
    }
}

/// A lock that the row read last got, and could give back. (One that was waited for stays, as in InnoDB.)
struct Fresh {
    index: IndexId,
    key: Vec<u8>,
    shape: Shape,
}

/// Whose the row answered last is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Whose {
    /// This transaction has it locked.
    #[default]
    Own,
    /// Another's, as it was committed last; the walk stands on it (invariant 5).
    Others,
    /// It was another's and is wanted: it is waited for where the range comes to it again.
    Wanted,
}

/// The row answered last, or about to be.
#[derive(Default)]
struct Row {
    /// Its clustered key.
    key: Vec<u8>,
    payload: Vec<u8>,
    whose: Whose,
    /// Where the key parts of its entry end, if the entry alone was answered.
    parts: usize,
    fresh: Vec<Fresh>,
}

/// What became of an attempt to lock.
pub(crate) enum Locked {
    /// It is, and what was read stands.
    Yes,
    /// Read again.
    Again,
    /// Another has it, and rows of others are left out.
    Skip,
}

/// What a range has come to.
enum Met {
    Entry,
    /// An entry that is not in it.
    Behind,
    /// The end of the index.
    End,
}

/// A range being read with locks; its memory is used again by the next range.
#[derive(Default)]
pub(crate) struct LockedRange {
    pub ask: Ask,
    pub walk: Walk,
    row: Row,
    /// What the present entry's locks do about those of others.
    wait: LockWait,
    /// Deleted rows on the way.
    pub deleted: Run,
    pub lock_run: LockRun,
    /// The present entry, and its payload where that is not a row to be answered.
    entry: Vec<u8>,
    other: Vec<u8>,
    undo: Vec<u8>,
}

impl LockedRange {
    /// Begins a range of an index. `low` is included in it, `high` is not; `included` says whether each was
    /// given as the beginning of keys that belong to the range.
    pub fn open(
        &mut self,
        lock: RowLock,
        index: usize,
        direction: Direction,
        (low, high): (Option<&[u8]>, Option<&[u8]>),
        (low_included, high_included): (bool, bool),
    ) {
        let ask = &mut self.ask;
        (ask.lock, ask.index, ask.direction) = (lock, index, direction);
        (ask.low_included, ask.high_included) = (low_included, high_included);
        (ask.pushed_down, ask.covered) = (false, false);
        ask.high.open = high.is_none();
        for (side, key) in [(&mut ask.low, low), (&mut ask.high.key, high)] {
            side.clear();
            side.extend_from_slice(key.unwrap_or(&[]));
        }
        ask.equal = low_included && high_included && low.is_some_and(|low| ask.ends_behind(low));
        self.wait = ask.wait(true);
        self.walk.begin(high.is_some_and(<[u8]>::is_empty));
        self.deleted = Run::default();
        self.lock_run.begin();
        self.row.whose = Whose::Own;
        self.row.fresh.clear();
    }

    /// Begins a range of one whole clustered key.
    pub fn open_at(&mut self, lock: RowLock, key: &[u8]) {
        let mut above = key.to_vec();
        let high = value::key::successor(&mut above).then_some(&above[..]);
        self.open(lock, 0, Direction::Forward, (Some(key), high), (true, true));
    }

    /// The entries tell what is outside of the range. After [`Self::open`].
    pub fn push_down(&mut self) {
        self.ask.pushed_down = true;
    }

    /// Rows may be answered by their entries (invariant 4). After [`Self::open`].
    pub fn cover(&mut self, covered: bool) {
        assert!(
            !covered || self.ask.mode() == LockMode::Shared,
            "a row to change is locked itself"
        );
        self.ask.covered = covered;
    }

    /// Whether rows are answered by their entries.
    pub fn is_covered(&self) -> bool {
        self.ask.covered
    }

    /// Goes to the next row and locks it: it is then in [`Self::key`] and [`Self::payload`]. `false`: there is none.
    pub fn step(&mut self, l: &Locker<'_>, table: &Table) -> Result<bool> {
        let tree = table.tree(self.ask.index).ok_or(Error::Internal("no such index"))?;
        if self.row.whose == Whose::Others {
            self.row.whose = Whose::Own;
            self.leave_answered(l, tree)?;
        }
        if self.ask.index == 0 && self.ask.is_forward() {
            self.walk.look_back(tree)?;
        }
        while !self.walk.is_done() {
            if !self.walk.is_at() {
                self.find(l, tree)?;
                continue;
            }
            let found = match self.meet()? {
                Met::End => self.lock_end(l, tree).map(|()| false)?,
                Met::Behind => self.lock_behind(l, table, tree).map(|()| false)?,
                Met::Entry => match self.ask.index.checked_sub(1) {
                    None => self.lock_clustered(l, table, tree)?,
                    Some(i) => self.lock_secondary(l, table, &table.secondaries[i])?,
                },
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to what is to be dealt with next.
    fn find(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<()> {
        if self.ask.is_forward() || !self.walk.is_unopened() {
            return self.walk.find(tree, &self.ask);
        }
        self.walk.seek_behind(tree, &self.ask)?;
        if l.gapless || self.lock_gap_behind(l, tree)? {
            self.walk.go_back(tree)?;
        }
        Ok(())
    }

    /// Takes over the entry that the walk stands on.
    fn meet(&mut self) -> Result<Met> {
        let Some((entry, payload)) = self.walk.entry()? else { return Ok(Met::End) };
        self.entry.clear();
        self.entry.extend_from_slice(entry);
        let behind = self.ask.is_behind(entry);
        let into = if behind { &mut self.other } else { &mut self.row.payload };
        into.clear();
        into.extend_from_slice(payload);
        Ok(if behind { Met::Behind } else { Met::Entry })
    }

    /// The clustered key of the row answered last.
    pub fn key(&self) -> &[u8] {
        &self.row.key
    }

    /// The row answered last, or that of the present entry; of a secondary index without its row the entry's payload.
    pub fn payload(&self) -> &[u8] {
        &self.row.payload
    }

    /// The entry of the row answered last, and where its key parts end.
    pub fn entry(&self) -> (&[u8], usize) {
        assert!(self.ask.covered, "rows, not entries, were asked for");
        (&self.entry, self.row.parts)
    }

    /// Whether the row answered last is another's.
    pub fn is_others(&self) -> bool {
        self.row.whose == Whose::Others
    }

    /// Waits for the row answered last, which is another's, at the next step.
    pub fn insist(&mut self) {
        if self.is_others() {
            self.row.whose = Whose::Wanted;
            self.walk.lose();
        }
    }

    /// Gives back what the row answered last was locked with, if nothing had it locked before.
    pub fn unlock_last(&mut self, l: &Locker<'_>) {
        for f in self.row.fresh.drain(..).rev() {
            l.unlock(Target::record(f.index, &f.key), f.shape);
        }
    }

    /// Asks for a lock that goes with the spot; one that was had at once stays only if the spot is current then.
    pub fn lock_here(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        target: Target<'_>,
        kind: Kind,
    ) -> Result<Locked> {
        let shape = Shape::new(self.ask.mode(), kind);
        let granted = match l.lock(target, shape, self.wait) {
            Err(Error::LockNotAvailable) if self.skips() => return Ok(Locked::Skip),
            granted => granted?,
        };
        if !granted.waited && self.walk.is_current(tree)? {
            self.note_fresh(l, target, granted);
            return Ok(Locked::Yes);
        }
        if !granted.waited {
            // What is come to instead may be another entry, and nobody would give this one back.
            granted.fresh.into_iter().for_each(|shape| l.unlock(target, shape));
        }
        match target.key {
            Some(key) if granted.waited && l.gapless => self.walk.lose_at(key),
            _ => self.walk.lose(),
        }
        Ok(Locked::Again)
    }

    /// What was locked for the present entry could be given back, at levels that do so.
    pub fn note_fresh(&mut self, l: &Locker<'_>, target: Target<'_>, granted: Granted) {
        if let (true, Some(shape), Some(key)) = (l.gapless, granted.fresh, target.key)
            && !granted.waited
        {
            self.row.fresh.push(Fresh { index: target.index, key: key.to_vec(), shape });
        }
    }

    /// Whether the present entry is left out if another has it locked.
    fn skips(&self) -> bool {
        matches!(self.wait, LockWait::SkipLocked | LockWait::IfWanted)
    }

    /// Calls `f` with the present entry.
    fn with_entry<T>(&mut self, f: impl FnOnce(&mut Self, &[u8]) -> T) -> T {
        let entry = std::mem::take(&mut self.entry);
        let result = f(self, &entry);
        self.entry = entry;
        result
    }

    /// What the walk stands on is dealt with.
    fn pass(&mut self, tree: &Tree) -> Result<()> {
        self.walk.pass(tree, self.ask.direction, &self.entry)
    }

    /// The present entry is no row of the answer: what levels without gaps locked of it is given back.
    fn reject(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<()> {
        if l.gapless {
            self.unlock_last(l);
        }
        self.pass(tree)
    }
}
