//! A range whose rows are locked as they are read.
//!
//! 1. For each entry: its lock is asked for, then the spot it was read from is looked at again. A spot that
//!    is current then has shown the entry, and what is not in the gap before it, as they stay.
//! 2. What is locked is InnoDB's: the next key of each entry; the record alone where a unique key is given
//!    whole and found; the gap alone behind a range that has a definite end; with each secondary entry the
//!    record of its row. Levels without gap locks lock the records they answer, and nothing else; they wait for
//!    the one behind a range, though, and give it back.
//! 3. An answered row is the latest committed version, or the own one.
//! 4. An entry without a mark that nobody else has locked is a row with that key: where shared locks are taken
//!    and the entry says all that is asked for, its row is neither read nor locked.
//! 5. With [`LockWait::IfWanted`] a row of others is shown before it is waited for.

use crate::blob::Fetched;
use crate::deleted_rows::Run;
use crate::lock_run::LockRun;
use crate::locking::{LockMode, LockWait, Locker, RowLock, shape};
use crate::row::{RowHeader, row_bytes};
use crate::scan::Direction;
use crate::table::{Secondary, Table, is_marked, split_entry};
use crate::version::{Eyes, Latest, Sight};
use base::{Error, IndexId, Result, TrxId};
use btree::{Spot, Tree};
use lock::{Granted, Kind, Shape, Target};
use std::ops::Bound;

/// One side of a range.
#[derive(Default)]
pub(crate) struct Side {
    pub key: Vec<u8>,
    pub open: bool,
}

/// A lock that the row read last got, and could give back. (One that was waited for stays, as in InnoDB.)
struct Fresh {
    index: IndexId,
    key: Vec<u8>,
    shape: Shape,
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

/// A range being read with locks; its memory is used again by the next range.
#[derive(Default)]
pub(crate) struct LockedRange {
    lock: Option<RowLock>,
    index: usize,
    pub direction: Direction,
    low: Side,
    /// The end of the range: keys at or above it are behind.
    pub high: Side,
    /// One key, or the beginning of one, is looked for.
    equal: bool,
    low_included: bool,
    high_included: bool,
    pub spot: Spot,
    placed: bool,
    /// The rows that are answered are changed before the next one is asked for, so that a copied leaf would be old by
    /// then: entries are copied one by one.
    changing: bool,
    started: bool,
    done: bool,
    /// An entry behind the range was passed over: it was deleted, or left out.
    beyond: bool,
    /// The entry that was dealt with last.
    pub passed: Option<Vec<u8>>,
    /// The entry that was waited for, without gap locks: what came in before it meanwhile is not looked at, as in
    /// InnoDB, whose cursor stays where it waits.
    awaited: Option<Vec<u8>>,
    /// Deleted rows on the way.
    pub run: Run,
    pub lock_run: LockRun,
    fresh: Vec<Fresh>,
    entry: Vec<u8>,
    /// What is outside of the range is told by the entry alone: the row behind it is not locked.
    pub sifted: bool,
    /// Invariant 4; and where the key parts of the entry answered last end.
    pub covered: bool,
    parts: usize,
    /// The row answered last is another's (invariant 5).
    others: bool,
    /// The row with this clustered key is waited for.
    insists: bool,
    /// So is the present one.
    patient: bool,
    /// The row answered last: clustered key and payload.
    pub key: Vec<u8>,
    pub payload: Vec<u8>,
    undo: Vec<u8>,
    other: Vec<u8>,
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
        for (side, key) in [(&mut self.low, low), (&mut self.high, high)] {
            side.open = key.is_none();
            side.key.clear();
            side.key.extend_from_slice(key.unwrap_or(&[]));
        }
        self.lock = Some(lock);
        (self.index, self.direction) = (index, direction);
        (self.low_included, self.high_included) = (low_included, high_included);
        self.equal = low_included && high_included && low.is_some_and(|l| self.ends_behind(l));
        (self.placed, self.started, self.changing) = (false, false, false);
        self.beyond = false;
        self.done = high.is_some_and(<[u8]>::is_empty);
        (self.passed, self.awaited) = (None, None);
        self.run = Run::default();
        self.lock_run.begin();
        (self.others, self.insists, self.patient, self.covered) = (false, false, true, false);
        self.sifted = false;
        self.fresh.clear();
    }

    /// Begins a range of one whole clustered key.
    pub fn open_at(&mut self, lock: RowLock, key: &[u8]) {
        let mut above = key.to_vec();
        let high = value::key::successor(&mut above).then_some(&above[..]);
        self.open(lock, 0, Direction::Forward, (Some(key), high), (true, true));
    }

    /// Whether the range ends with the keys that begin with `key`.
    fn ends_behind(&self, key: &[u8]) -> bool {
        let mut above = key.to_vec();
        match value::key::successor(&mut above) {
            true => !self.high.open && above == self.high.key,
            false => self.high.open,
        }
    }

    /// Goes to the next row and locks it: it is then in `key` and `payload`. `false`: there is none.
    pub fn step(&mut self, l: &Locker<'_>, table: &Table) -> Result<bool> {
        let tree = table.tree(self.index).ok_or(Error::Internal("no such index"))?;
        if std::mem::take(&mut self.others) {
            self.leave_answered(l, tree)?;
        }
        self.look_back(tree)?;
        while !self.done {
            self.place(l, tree)?;
            if self.done {
                break;
            }
            if !self.placed {
                continue;
            }
            let Some((entry, payload)) = self.spot.entry()? else {
                self.lock_end(l, tree)?;
                continue;
            };
            self.entry.clear();
            self.entry.extend_from_slice(entry);
            let behind = match self.direction {
                Direction::Forward => !self.high.open && self.entry >= self.high.key,
                Direction::Backward => self.entry < self.low.key,
            };
            if behind {
                self.other.clear();
                self.other.extend_from_slice(payload);
                self.lock_behind(l, table, tree)?;
                continue;
            }
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            let found = match self.index.checked_sub(1) {
                None => self.clustered(l, table, tree)?,
                Some(i) => self.secondary(l, table, &table.secondaries[i])?,
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The entry of the row answered last, and where its key parts end.
    pub fn entry(&self) -> (&[u8], usize) {
        (&self.entry, self.parts)
    }

    /// Whether the row answered last is another's.
    pub fn is_others(&self) -> bool {
        self.others
    }

    /// Waits for the row answered last, which is another's, at the next step.
    pub fn insist(&mut self) {
        (self.others, self.insists, self.placed) = (false, true, false);
    }

    /// Gives back what the row answered last was locked with, if nothing had it locked before.
    pub fn unlock_last(&mut self, l: &Locker<'_>) {
        for f in self.fresh.drain(..).rev() {
            l.unlock(Target::record(f.index, &f.key), f.shape);
        }
    }

    /// Whether the leaf has changed since its row was answered; if so, its copy is not asked for a lock in vain.
    fn look_back(&mut self, tree: &Tree) -> Result<()> {
        if self.index == 0 && self.direction == Direction::Forward && self.passed.is_some() {
            self.changing = !self.spot.seems_current(tree)?;
            self.placed &= !self.changing;
        }
        Ok(())
    }

    /// Goes to the first entry above a key that was passed.
    fn place_above(&mut self, tree: &Tree, key: &[u8]) -> Result<()> {
        if self.changing {
            self.spot.seek_alone(tree, key)?;
            let row = self.spot.entry()?.map(|(_, payload)| RowHeader::read(payload));
            if !row.transpose()?.is_some_and(|h| h.deleted()) {
                return Ok(());
            }
            // Others like it may follow, and be passed over in their leaf.
        }
        self.spot.seek(tree, Bound::Excluded(key))
    }

    /// Goes to the entry after the one passed last, in the range's direction.
    fn place(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<()> {
        if self.placed {
            return Ok(());
        }
        self.placed = true;
        if let Some(key) = self.awaited.take() {
            self.spot.seek(tree, Bound::Included(&key))?;
            let there = self.spot.entry()?.is_some_and(|(entry, _)| entry == key);
            if there || self.direction == Direction::Forward {
                return Ok(());
            }
            self.done = !self.spot.prev(tree)?;
            return Ok(());
        }
        if self.direction == Direction::Forward {
            let Some(key) = self.passed.take() else {
                return self.spot.seek(tree, Bound::Included(&self.low.key));
            };
            let placed = self.place_above(tree, &key);
            self.passed = Some(key);
            return placed;
        }
        match &self.passed {
            Some(key) => self.spot.seek(tree, Bound::Included(key))?,
            None if self.high.open => self.spot.seek_end(tree)?,
            None => self.spot.seek(tree, Bound::Included(&self.high.key))?,
        }
        if !self.started && !l.gapless {
            // Nothing is to come in behind the range.
            let at = self.spot.entry()?.map(|(key, _)| key.to_vec());
            let target = Target { index: tree.index, key: at.as_deref() };
            let kind = if at.is_some() { Kind::Gap } else { Kind::NextKey };
            match self.ask(l, tree, target, kind)? {
                Locked::Again => return Ok(()),
                Locked::Yes | Locked::Skip => {}
            }
        }
        self.started = true;
        self.done = !self.spot.prev(tree)?;
        Ok(())
    }

    pub fn mode(&self) -> LockMode {
        self.lock.map_or(LockMode::Exclusive, |l| l.mode)
    }

    fn wait(&self) -> LockWait {
        let wait = self.lock.map_or(LockWait::Wait, |l| l.wait);
        if wait == LockWait::IfWanted && self.patient { LockWait::Wait } else { wait }
    }

    fn skips(&self) -> bool {
        matches!(self.wait(), LockWait::SkipLocked | LockWait::IfWanted)
    }

    /// Asks for a lock that goes with the spot.
    pub fn ask(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        target: Target<'_>,
        kind: Kind,
    ) -> Result<Locked> {
        let shape = Shape::new(self.mode(), kind);
        let granted = match l.lock(target, shape, self.wait()) {
            Err(Error::LockNotAvailable) if self.skips() => return Ok(Locked::Skip),
            granted => granted?,
        };
        self.note_fresh(target, granted);
        if granted.waited || !self.spot.is_current(tree)? {
            self.placed = false;
            self.awaited = target.key.filter(|_| granted.waited && l.gapless).map(<[u8]>::to_vec);
            return Ok(Locked::Again);
        }
        Ok(Locked::Yes)
    }

    /// What was locked for the present entry could be given back.
    pub fn note_fresh(&mut self, target: Target<'_>, granted: Granted) {
        if let (Some(shape), Some(key), false) = (granted.fresh, target.key, granted.waited) {
            self.fresh.push(Fresh { index: target.index, key: key.to_vec(), shape });
        }
    }

    /// The spot's leaf has changed.
    pub fn look_again(&mut self) {
        (self.placed, self.awaited) = (false, None);
    }

    /// Whether the entry alone tells that it is behind the range. Of one key nothing is left to try on entries, but
    /// forwards that key is compared.
    fn is_sifted(&self) -> bool {
        let compared = self.direction == Direction::Forward || !self.equal;
        self.sifted && self.index > 0 && compared
    }

    /// Behind the last entry of the index.
    fn lock_end(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<()> {
        if l.gapless || self.beyond && !self.is_sifted() {
            return self.end_unlocked(tree);
        }
        let asked = self.ask(l, tree, Target::supremum(tree.index), Kind::NextKey)?;
        self.done = !matches!(asked, Locked::Again);
        Ok(())
    }

    /// Ends a range without a lock behind it, unless something may have come in while its last row was waited
    /// for: then it is looked at again.
    fn end_unlocked(&mut self, tree: &Tree) -> Result<()> {
        self.done = self.spot.is_current(tree)?;
        self.placed = self.done;
        Ok(())
    }

    /// The first entry outside of the range.
    fn lock_behind(&mut self, l: &Locker<'_>, table: &Table, tree: &Tree) -> Result<()> {
        let forward = self.direction == Direction::Forward;
        if l.gapless && self.equal && forward {
            return self.end_unlocked(tree);
        }
        let gap_only = !l.gapless && forward && (self.index == 0 || self.equal);
        if gap_only {
            let entry = std::mem::take(&mut self.entry);
            let target = Target::record(tree.index, &entry);
            let locked = self.writer_of_entry(l, table, &entry).and_then(|writer| {
                // As InnoDB, though the record is not asked for.
                l.show_writer(writer, target);
                self.ask(l, tree, target, Kind::Gap)
            });
            self.entry = entry;
            self.done = !matches!(locked?, Locked::Again);
            return Ok(());
        }
        let entry = std::mem::take(&mut self.entry);
        let busy = self.writer_of_entry(l, table, &entry);
        self.entry = entry;
        self.patient = self.index > 0;
        let busy = self.keep_own(l, tree, busy?);
        let locked = self.lock_entry(l, tree, shape(self.mode(), l.gapless), busy)?;
        if matches!(locked, Locked::Again) {
            return Ok(());
        }
        let marked = match self.index {
            0 => RowHeader::read(&self.other)?.deleted(),
            _ => is_marked(&self.other),
        };
        let sifted = self.is_sifted();
        let row = self.index > 0 && !marked && !self.covered && !sifted;
        let mut skipped = matches!(locked, Locked::Skip);
        if row && !skipped {
            let key = split_entry(&self.entry, &self.other)?.1.to_vec();
            match self.lock_row(l, table, &key) {
                Err(Error::LockNotAvailable) if self.skips() => skipped = true,
                done => drop(done?),
            }
        }
        // As in InnoDB, which looks whether the range has ended at rows that it has locked: the first behind it that is free
        // and there. What is locked of an entry that is left out stays so, and of the last backwards.
        let skipped = skipped && self.wait() == LockWait::SkipLocked;
        if l.gapless && !skipped && (forward || sifted) {
            self.unlock_last(l);
        }
        self.done = !marked && !skipped;
        self.beyond |= !self.done;
        if self.done { Ok(()) } else { self.pass(tree) }
    }

    /// The active transaction that has written what the spot's entry stands for (its payload is in `other`).
    fn writer_of_entry(&mut self, l: &Locker<'_>, table: &Table, entry: &[u8]) -> Result<TrxId> {
        let Some(index) = self.index.checked_sub(1) else {
            let trx = RowHeader::read(&self.other)?.trx;
            return Ok(if l.wrote(trx) || l.is_busy(trx) { trx } else { TrxId::NONE });
        };
        let (mut payload, undo) = (Vec::new(), &mut self.undo);
        let entry = (entry, &self.other[..]);
        l.engine.writer_of_entry(l.me, (table, index), entry, (&mut payload, undo))
    }

    /// As InnoDB: of what one has written oneself only the gap is asked for. The writer, if another.
    fn keep_own(&self, l: &Locker<'_>, tree: &Tree, writer: TrxId) -> TrxId {
        if !l.wrote(writer) {
            return writer;
        }
        // A run takes what its owner wrote with the rest.
        if !self.makes_runs() {
            l.show_writer(writer, Target::record(tree.index, &self.entry));
        }
        TrxId::NONE
    }

    fn note_passed(&mut self) {
        let passed = self.passed.get_or_insert_default();
        passed.clear();
        passed.extend_from_slice(&self.entry);
    }

    /// The spot's entry is dealt with.
    fn pass(&mut self, tree: &Tree) -> Result<()> {
        self.note_passed();
        match self.direction {
            Direction::Forward => self.spot.next(tree),
            Direction::Backward if self.spot.prev(tree)? => Ok(()),
            Direction::Backward => self.end_unlocked(tree),
        }
    }

    /// An entry that is no row of the answer: what levels without gaps locked of it is given back.
    fn reject(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<bool> {
        if l.gapless {
            self.unlock_last(l);
        }
        self.pass(tree)?;
        Ok(false)
    }

    /// Locks the spot's entry; its row's writer, if active, is `busy`.
    fn lock_entry(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        shape: Shape,
        busy: TrxId,
    ) -> Result<Locked> {
        // Locks of an entry that has gone meanwhile are not this one's.
        self.fresh.retain(|f| f.index == tree.index && f.key == self.entry);
        let entry = std::mem::take(&mut self.entry);
        let target = Target::record(tree.index, &entry);
        let locked = self.lock_record(l, tree, target, shape, busy);
        self.entry = entry;
        locked
    }

    fn lock_record(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        target: Target<'_>,
        shape: Shape,
        busy: TrxId,
    ) -> Result<Locked> {
        if busy != TrxId::NONE {
            // One's own lock is of a record that was there before this one.
            self.give_up(l, target);
            match l.settle_writer(busy, target, self.wait()) {
                Err(Error::LockNotAvailable) if self.skips() => return Ok(Locked::Skip),
                settled => settled?,
            }
        }
        if busy == TrxId::NONE
            && let Some(locked) = self.extend_run(l, tree, target, shape.kind)?
        {
            return Ok(locked);
        }
        self.ask(l, tree, target, shape.kind)
    }

    /// Gives back one's own locks on a record that another transaction has made.
    fn give_up(&mut self, l: &Locker<'_>, target: Target<'_>) {
        let locks = l.engine.locks();
        for mode in [LockMode::Shared, LockMode::Exclusive] {
            for kind in [Kind::Record, Kind::NextKey] {
                if locks.has(l.owner, target, Shape::new(mode, kind)) {
                    l.unlock(target, Shape::new(mode, kind));
                }
            }
        }
        self.fresh.retain(|f| Target::record(f.index, &f.key) != target);
    }

    fn clustered(&mut self, l: &Locker<'_>, table: &Table, tree: &Tree) -> Result<bool> {
        let h = RowHeader::read(&self.payload)?;
        let whole_low = self.low_included && self.entry == self.low.key;
        if !h.deleted() {
            self.run.ends();
        } else if !whole_low && self.pass_over(l, tree)? {
            return Ok(false);
        }
        let forward = !h.deleted() && self.direction == Direction::Forward;
        let alone = whole_low && (self.equal || forward);
        let shape = if alone {
            Shape::new(self.mode(), Kind::Record)
        } else {
            shape(self.mode(), l.gapless)
        };
        let busy = if l.is_busy(h.trx) { h.trx } else { TrxId::NONE };
        self.patient = self.equal && whole_low || self.insists && self.entry == self.key;
        let writer = if l.wrote(h.trx) { h.trx } else { busy };
        let busy = self.keep_own(l, tree, writer);
        match self.lock_entry(l, tree, shape, busy)? {
            Locked::Again => return Ok(false),
            Locked::Skip if self.wait() == LockWait::IfWanted => {
                return self.show_others(l, table, tree);
            }
            Locked::Skip => return self.pass(tree).map(|()| false),
            Locked::Yes if l.is_busy(h.trx) => {
                // Active again in the copy's version: it was not settled.
                self.placed = false;
                return Ok(false);
            }
            Locked::Yes => {}
        }
        if h.deleted() {
            // As in InnoDB: nothing else has this key, and who inserts it meets this lock.
            let one = self.equal && whole_low;
            self.reject(l, tree)?;
            self.done |= one;
            return Ok(false);
        }
        self.key.clone_from(&self.entry);
        self.leave_answered(l, tree)?;
        Ok(true)
    }

    /// Goes on from a row of the clustered index that was answered.
    fn leave_answered(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<()> {
        let whole_low = self.low_included && self.key == self.low.key;
        let alone = self.equal && whole_low;
        let last = self.direction == Direction::Forward
            && self.high_included
            && self.ends_behind(&self.key);
        if self.changing && !last {
            self.note_passed();
            self.placed = false;
            self.done |= alone;
            return Ok(());
        }
        self.pass(tree)?;
        // InnoDB locks what is behind the last entry of all, though the range cannot reach there.
        self.done |= alone || last && !l.gapless && self.spot.entry()?.is_some();
        Ok(())
    }

    /// Answers the spot's row, which another has locked, as it was committed last, if it was.
    fn show_others(&mut self, l: &Locker<'_>, table: &Table, tree: &Tree) -> Result<bool> {
        let eyes = Eyes { me: l.me, sight: Sight::Committed };
        let (payload, undo) = (&mut self.payload, &mut self.undo);
        let seen = l.engine.read_visible(eyes, table, &self.entry, payload, undo)?;
        if !seen.is_there() {
            return self.pass(tree).map(|()| false);
        }
        self.key.clone_from(&self.entry);
        self.others = true;
        if !seen.is_plain() {
            // Values outside of it may be gone by the time they are read.
            self.insist();
            return Ok(false);
        }
        Ok(true)
    }

    fn secondary(&mut self, l: &Locker<'_>, table: &Table, s: &Secondary) -> Result<bool> {
        let tree = &s.tree;
        let marked = is_marked(&self.payload);
        let (parts, key) = split_entry(&self.entry, &self.payload)?;
        let (parts, key) = (parts.len(), key.to_vec());
        self.other.clear();
        self.other.extend_from_slice(&self.payload);
        let entry = std::mem::take(&mut self.entry);
        let busy = self.writer_of_entry(l, table, &entry);
        self.entry = entry;
        let busy = self.keep_own(l, tree, busy?);
        let unique = s.spec.unique
            && self.equal
            && !marked
            && self.entry[..parts] == self.low.key
            && self.row_has_no_null(table, s, &key)?;
        let kind = if unique { Kind::Record } else { shape(self.mode(), l.gapless).kind };
        match self.lock_entry(l, tree, Shape::new(self.mode(), kind), busy)? {
            Locked::Again => return Ok(false),
            Locked::Skip => return self.pass(tree).map(|()| false),
            Locked::Yes => {}
        }
        if marked {
            return self.reject(l, tree);
        }
        if self.covered {
            (self.key, self.parts) = (key, parts);
            self.pass(tree)?;
            self.done |= unique;
            return Ok(true);
        }
        let there = match self.lock_row(l, table, &key) {
            // The entry stays locked, as in InnoDB.
            Err(Error::LockNotAvailable) if self.skips() => {
                return self.pass(tree).map(|()| false);
            }
            there => there?,
        };
        if !there || !self.row_has_entry(l, table, s, parts)? {
            return self.reject(l, tree);
        }
        self.key = key;
        self.pass(tree)?;
        self.done |= unique;
        Ok(true)
    }

    /// Whether no part of the key is NULL; a row that is not there has none.
    fn row_has_no_null(&mut self, table: &Table, s: &Secondary, key: &[u8]) -> Result<bool> {
        if !table.clustered.get(key, &mut self.payload)? {
            return Ok(true);
        }
        s.has_null(table.layout(), row_bytes(&self.payload)).map(|null| !null)
    }

    /// Whether the locked row in `payload` has the entry, whose parts have this length.
    fn row_has_entry(
        &mut self,
        l: &Locker<'_>,
        table: &Table,
        s: &Secondary,
        parts: usize,
    ) -> Result<bool> {
        match l.engine.entry_prefix(table, s, row_bytes(&self.payload), &mut self.other)? {
            Fetched::Done => Ok(self.other == self.entry[..parts]),
            Fetched::Gone(e) => Err(e),
        }
    }

    /// Locks the row of a secondary entry, and puts its latest version into `payload`. `false`: there is
    /// none.
    fn lock_row(&mut self, l: &Locker<'_>, table: &Table, key: &[u8]) -> Result<bool> {
        let index = table.clustered.index;
        let target = Target::record(index, key);
        let shape = Shape::new(self.mode(), Kind::Record);
        loop {
            let seen = l.engine.read_latest(l.me, table, key, &mut self.payload)?;
            if let Latest::Busy(trx) = seen {
                self.give_up(l, target);
                l.settle_writer(trx, target, self.wait())?;
            }
            let granted = l.lock(target, shape, self.wait())?;
            if let (Some(shape), false) = (granted.fresh, granted.waited) {
                self.fresh.push(Fresh { index, key: key.to_vec(), shape });
            }
            // Whoever changes the row from here on finds the lock.
            match l.engine.read_latest(l.me, table, key, &mut self.payload)? {
                Latest::Missing => return Ok(false),
                Latest::Row => return Ok(true),
                Latest::Busy(_) => {}
            }
        }
    }
}
