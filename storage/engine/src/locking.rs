//! Row locks of a client: asking, settling with a row's writer, looking before a write.
//!
//! 1. A row whose writer is active is locked by him; whoever is to wait for it makes that lock an
//!    explicit one first, and queues behind it ([`Locker::settle_writer`]). Guard:
//!    `a_writer_has_its_row_locked_without_a_lock_until_somebody_asks`; a lost row in the sums of `one_runner`.
//! 2. A write, under its leaf's latch, looks whether anybody has locks near; mostly nobody has, and that is
//!    one load. It makes no lock itself. Guard: the assert of `Locker::request` (who asks and may wait holds no latch).
//! 3. An insert looks at the locks of the next key, wherever that lies. Leaves that were read to find it
//!    must be unchanged after the look; so a lock that moved to another key meanwhile is not missed. Guard:
//!    `a_phantom_does_not_come_into_a_locked_range`, `nobody_meets_a_phantom_among_deleted_rows`.
//! 4. Before an entry goes, who has locked it is given the gap behind it ([`Writer::leave_locks`]). Guard:
//!    `a_removed_row_leaves_its_gap_to_who_had_it_locked`.

use crate::blob::Fetched;
use crate::client::{Client, Then};
use crate::engine::Engine;
use crate::outside::Need;
use crate::progress::Progress;
use crate::row::{RowHeader, row_bytes};
use crate::table::{Secondary, Table};
use crate::version::Latest;
use crate::writer::{NeededLock, Try, Writer};
use base::{Error, IndexId, Result, RollPtr, TableId, TrxId};
use btree::{Following, Position, Tree};
use lock::{Granted, Inherited, Kind, OtherLocks, Owner, Patience, Request, Shape, Target};
use pool::Mtr;
use std::cell::RefCell;
use std::time::Duration;
use sync::{Deadline, SessionSlot};

pub use lock::Mode as LockMode;

/// What a locking read does about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockWait {
    /// It waits, as long as `innodb_lock_wait_timeout` says.
    #[default]
    Wait,
    /// [`Error::LockNotAvailable`].
    NoWait,
    /// The row is left out.
    SkipLocked,
    /// A row of the clustered index that is not named by its whole key is answered as it was committed last,
    /// without a lock; [`crate::Reader::insist`] waits for it.
    IfWanted,
}

/// How a read locks the rows that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLock {
    /// How strongly.
    pub mode: LockMode,
    /// What it does about the locks of others.
    pub wait: LockWait,
}

impl RowLock {
    /// As FOR UPDATE does it.
    pub const UPDATE: RowLock = RowLock { mode: LockMode::Exclusive, wait: LockWait::Wait };
    /// As FOR SHARE does it.
    pub const SHARE: RowLock = RowLock { mode: LockMode::Shared, wait: LockWait::Wait };
}

/// Which version of a row somebody has read: a change that depends on it is made to no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    trx: TrxId,
    roll: RollPtr,
}

impl Stamp {
    pub(crate) fn of(h: &RowHeader) -> Stamp {
        Stamp { trx: h.trx, roll: h.roll }
    }

    /// Whether transaction `trx` has changed the row; who has only inserted it has not.
    pub(crate) fn is_changed_by(self, trx: TrxId) -> bool {
        self.trx == trx && !self.roll.is_insert()
    }
}

/// How a change of a row that was read before ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is made.
    Done,
    /// The row is not what it was, or gone; nothing was done.
    Changed,
}

impl Change {
    fn made(made: bool) -> Change {
        if made { Change::Done } else { Change::Changed }
    }
}

/// What a transaction has locked without a lock object, for its weight: InnoDB counts lock structures.
#[derive(Default)]
pub(crate) struct TableLocks {
    /// Intentions on tables; the weaker one stays when the stronger one comes.
    intended: Vec<(TableId, LockMode)>,
    /// Clustered indexes of which rows were changed that have no lock of their own.
    changed: Vec<IndexId>,
}

impl TableLocks {
    /// Rows of a table are going to be locked or changed.
    pub fn note(&mut self, table: TableId, mode: LockMode, shown: &Progress) {
        if !self.intended.iter().rev().any(|(t, m)| *t == table && *m >= mode) {
            shown.set_intention(self.intended.len(), (table, mode));
            self.intended.push((table, mode));
        }
    }

    pub fn note_changed(&mut self, table: TableId, clustered: IndexId, shown: &Progress) {
        if !self.changed.contains(&clustered) {
            if let Some(n) = self.intended.iter().position(|(t, _)| *t == table) {
                shown.set_changed(n, clustered);
            }
            self.changed.push(clustered);
        }
    }

    /// `shown`: where they are not shown any more either.
    pub fn clear(&mut self, shown: Option<&Progress>) {
        if let Some(shown) = shown.filter(|_| !self.intended.is_empty()) {
            shown.end_intentions();
        }
        self.intended.clear();
        self.changed.clear();
    }
}

/// Who locks rows, and how patient he is.
pub(crate) struct Locker<'a> {
    pub engine: &'a Engine,
    pub slot: &'a SessionSlot,
    pub owner: &'a Owner,
    /// Its transaction, or none.
    pub me: TrxId,
    pub timeout_s: u32,
    /// The isolation level locks records only.
    pub gapless: bool,
    /// Undo records that InnoDB would have for the transaction.
    pub undo: u64,
    /// Those among them of rows that were set to what they were.
    pub same: u64,
    /// What else its weight is made of.
    pub tables: &'a RefCell<TableLocks>,
    /// How a duplicate that an insert meets is locked.
    pub duplicate: LockMode,
}

impl Locker<'_> {
    fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.timeout_s))
    }

    /// Asks for a lock; see [`lock::Locks::lock`]. No latch is held.
    pub fn lock(&self, target: Target<'_>, shape: Shape, wait: LockWait) -> Result<Granted> {
        self.request(target, shape, wait, (false, inherited(self.gapless)))
    }

    /// Asks for the lock on the record behind that of `after`; see [`lock::Locks::lock_next`].
    pub fn lock_next(
        &self,
        target: Target<'_>,
        shape: Shape,
        after: Option<&[u8]>,
    ) -> Result<Option<Granted>> {
        let (implicit, inherited, patience) = (false, inherited(self.gapless), Patience::None);
        let (undo, others) = (self.undo, OtherLocks::default());
        let request = Request { target, shape, implicit, inherited, undo, others, patience };
        self.engine.locks().lock_next(self.owner, &request, after)
    }

    fn request(
        &self,
        target: Target<'_>,
        shape: Shape,
        wait: LockWait,
        (implicit, inherited): (bool, Inherited),
    ) -> Result<Granted> {
        let _entered = sync::enter(self.slot);
        pool::assert_no_latches("a row lock is asked for");
        let patience = match wait {
            LockWait::Wait => Patience::For(self.patience()),
            LockWait::NoWait | LockWait::SkipLocked | LockWait::IfWanted => Patience::None,
        };
        let (undo, tables) = (self.undo, self.tables.borrow());
        let others = OtherLocks { tables: tables.intended.len() as u64, changed: &tables.changed };
        let request = Request { target, shape, implicit, inherited, undo, others, patience };
        self.engine.locks().lock(self.owner, &request)
    }

    /// Whether `trx` is another transaction that has not ended.
    pub fn is_busy(&self, trx: TrxId) -> bool {
        trx != self.me && self.engine.trx().is_active(trx)
    }

    /// Whether `trx` is the own transaction.
    pub fn wrote(&self, trx: TrxId) -> bool {
        trx == self.me && trx != TrxId::NONE
    }

    /// Gives a transaction of another session the lock that it has by having written the record; false: it is in no session's
    /// slot (any more). One that was given to another slot meanwhile has it there.
    fn convert(&self, trx: TrxId, target: Target<'_>) -> bool {
        let system = self.engine.trx();
        while let Some(slot) = system.session(trx) {
            let still = || system.session(trx) == Some(slot);
            if self.engine.locks().convert(slot, target, still) {
                return true;
            }
        }
        false
    }

    /// Makes the lock that `trx` has by having written the record an explicit one (invariant 1). A
    /// transaction that no session has any more is waited for.
    pub fn settle_writer(&self, trx: TrxId, target: Target<'_>, wait: LockWait) -> Result<()> {
        let system = self.engine.trx();
        if !self.convert(trx, target) && system.is_active(trx) {
            if wait != LockWait::Wait {
                return Err(Error::LockNotAvailable);
            }
            let _entered = sync::enter(self.slot);
            system.wait_for_end(trx, self.owner.slot(), Deadline::after(self.patience()))?;
        }
        Ok(())
    }

    /// Makes the lock that `trx`, this transaction or another active one, has by having written the record an explicit
    /// one, as InnoDB does whenever somebody comes to it.
    pub fn show_writer(&self, trx: TrxId, target: Target<'_>) {
        if self.wrote(trx) {
            self.engine.locks().keep(self.owner, target, inherited(self.gapless));
        } else if trx != TrxId::NONE {
            self.convert(trx, target);
        }
    }

    /// Gives back a lock that this transaction got for nothing.
    pub fn unlock(&self, target: Target<'_>, shape: Shape) {
        self.engine.locks().unlock(self.owner, target, shape);
    }
}

impl Client {
    /// Puts the row with this clustered key into `out`, the latest committed version or the own one, and
    /// locks it until the transaction's end; with gap locks (REPEATABLE READ and up) a row that is not
    /// there is kept from coming. `columns`: those that will be decoded, `None` all. `false`: there is no
    /// such row, or it was left out.
    ///
    /// # Errors
    /// [`Error::LockWaitTimeout`], [`Error::Deadlock`], [`Error::Killed`], [`Error::LockNotAvailable`],
    /// [`Error::LockTableFull`]; damage, failed reads.
    pub fn get_locked(
        &mut self,
        table: &Table,
        key: &[u8],
        columns: Option<&[usize]>,
        lock: RowLock,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let need = columns.map_or(Need::All, Need::Columns);
        self.get_with_lock(table, key, need, lock, out)
    }

    /// Puts the latest committed or own version of a row into `out`, and makes no lock; a lock of others is
    /// waited for. [`Self::update_stamped`] and [`Self::delete_stamped`] change that version, or nothing.
    /// `columns` as in [`Self::get_locked`]. `None`: there is no such row.
    ///
    /// # Errors
    /// Those of the wait; damage, failed reads.
    pub fn read_latest(
        &mut self,
        table: &Table,
        key: &[u8],
        columns: Option<&[usize]>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Stamp>> {
        // As InnoDB, whether there is a row or not.
        self.intend(table, LockMode::Exclusive);
        let mut payload = std::mem::take(self.before());
        if self.last_found().take(table.id(), key, &mut payload) {
            out.clear();
            out.extend_from_slice(row_bytes(&payload));
            let stamp = RowHeader::read(&payload).map(|h| Stamp::of(&h));
            *self.before() = payload;
            return stamp.map(Some);
        }
        let read = self.read_latest_into(table, key, columns, &mut payload, out);
        *self.before() = payload;
        read
    }

    fn read_latest_into(
        &self,
        table: &Table,
        key: &[u8],
        columns: Option<&[usize]>,
        payload: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Stamp>> {
        let engine = self.engine();
        let target = Target::record(table.clustered.index, key);
        out.clear();
        loop {
            let busy = match engine.read_latest(self.me(), table, key, payload)? {
                Latest::Missing => return Ok(None),
                Latest::Busy(trx) => trx,
                Latest::Row => TrxId::NONE,
            };
            let free = busy == TrxId::NONE && engine.locks().is_free(target);
            if !free {
                let locker = self.locking(table, LockMode::Exclusive);
                if busy != TrxId::NONE {
                    locker.settle_writer(busy, target, LockWait::Wait)?;
                }
                let got = locker.request(
                    target,
                    Shape::WRITE,
                    LockWait::Wait,
                    (true, inherited(locker.gapless)),
                )?;
                if got.waited || busy != TrxId::NONE {
                    continue;
                }
            }
            let h = RowHeader::read(payload)?;
            if h.seen(table.version()).is_plain() {
                out.extend_from_slice(row_bytes(payload));
                return Ok(Some(Stamp::of(&h)));
            }
            let need = columns.map_or(Need::All, Need::Columns);
            match engine.complete(table, payload, need, out)? {
                Fetched::Done => return Ok(Some(Stamp::of(&h))),
                // Changed since: read again; the same row without its values is damage.
                Fetched::Gone(e) => {
                    let mut now = Vec::new();
                    if table.clustered.get(key, &mut now)? && now == *payload {
                        return Err(e);
                    }
                }
            }
        }
    }

    /// Takes the lock of a table's AUTO_INCREMENT counter, until [`Self::unlock_autoinc`] or the transaction's
    /// end. With `if_wanted` only where somebody else has it. It is the lock of an empty key, which no row has.
    ///
    /// # Errors
    /// Those of the wait.
    pub fn lock_autoinc(&self, table: &Table, if_wanted: bool) -> Result<bool> {
        let target = Target::record(table.clustered.index, &[]);
        if if_wanted {
            let locker = self.locker();
            let locks = self.engine().locks();
            if locks.is_free(target) || locks.check(locker.owner, target, Shape::WRITE) {
                return Ok(false);
            }
        }
        let locker = self.locking(table, LockMode::Exclusive);
        locker.lock(target, Shape::WRITE, LockWait::Wait)?;
        Ok(true)
    }

    /// Gives back what [`Self::lock_autoinc`] took.
    pub fn unlock_autoinc(&self, table: &Table) {
        self.locker().unlock(Target::record(table.clustered.index, &[]), Shape::WRITE);
    }

    /// Gives a row other contents, as [`Self::update`], if its version is still the one that was read.
    ///
    /// # Errors
    /// As [`Self::update`].
    pub fn update_stamped(
        &mut self,
        table: &Table,
        key: &[u8],
        stamp: Stamp,
        (row, then): (&[u8], Then),
    ) -> Result<Change> {
        self.update_if((table, key, Some(stamp)), row, then).map(Change::made)
    }

    /// Deletes a row, as [`Self::delete`], if its version is still the one that was read.
    ///
    /// # Errors
    /// As [`Self::delete`].
    pub fn delete_stamped(
        &mut self,
        table: &Table,
        key: &[u8],
        stamp: Stamp,
        then: Then,
    ) -> Result<Change> {
        self.delete_if((table, key, Some(stamp)), then).map(Change::made)
    }
}

impl Writer<'_> {
    /// Waits for what an attempt could not have.
    pub fn wait_for(&mut self, needed: &NeededLock) -> Result<()> {
        let undo = self.segment.records();
        let Some(locker) = &mut self.locker else {
            return Err(Error::Internal("rollback met another transaction's row"));
        };
        locker.undo = locker.same + undo;
        let target = needed.target();
        if needed.busy != TrxId::NONE {
            locker.settle_writer(needed.busy, target, LockWait::Wait)?;
        }
        let duplicate = needed.keep && locker.gapless;
        let inherited = if duplicate { Inherited::WhileWaiting } else { inherited(locker.gapless) };
        let how = (!needed.keep, inherited);
        locker.request(target, needed.shape, LockWait::Wait, how).map(drop)
    }

    /// As [`Self::wait_for`], for a row's entry in a secondary index: meanwhile the row may be halfway in, or out.
    pub fn wait_for_entry(&mut self, s: &Secondary, needed: &NeededLock) -> Result<()> {
        let _halfway = s.halfway(self.halfway);
        self.wait_for(needed)
    }

    /// What keeps this transaction from changing an entry that it found under its leaf's latch: `busy`, the
    /// row's writer, or locks of others.
    #[inline]
    pub fn keeps_from(&self, index: IndexId, key: &[u8], busy: TrxId) -> Option<NeededLock> {
        if busy == self.me() {
            return None;
        }
        if self.engine.trx().is_active(busy) {
            return Some(NeededLock::record(index, key, Shape::WRITE, busy));
        }
        let locker = self.locker.as_ref()?;
        let (locks, target) = (self.engine.locks(), Target::record(index, key));
        if locks.is_free(target) || locks.check(locker.owner, target, Shape::WRITE) {
            return None;
        }
        Some(NeededLock::record(index, key, Shape::WRITE, TrxId::NONE))
    }

    /// As [`Self::keeps_from`], for a row that is found where one is to be inserted: it stays locked when it
    /// is a duplicate.
    pub fn keeps_from_over(&self, index: IndexId, key: &[u8], h: &RowHeader) -> Option<NeededLock> {
        if h.trx == self.me() {
            if !h.deleted() {
                self.keep_own(index, key);
            }
            return None;
        }
        let busy = self.engine.trx().is_active(h.trx);
        if h.deleted() && !busy {
            return self.keeps_from(index, key, TrxId::NONE);
        }
        let mode = self.locker.as_ref().map_or(LockMode::Shared, |l| l.duplicate);
        let busy = if busy { h.trx } else { TrxId::NONE };
        self.lacks(Target::record(index, key), Shape::new(mode, Kind::Record), busy)
    }

    /// A lock to keep that this transaction does not have yet, or not with `busy` active.
    pub fn lacks(&self, target: Target<'_>, shape: Shape, busy: TrxId) -> Option<NeededLock> {
        let locker = self.locker.as_ref()?;
        if locker.gapless {
            locker.owner.inherit_all();
        }
        let has = || self.engine.locks().has(locker.owner, target, shape);
        (busy != TrxId::NONE || !has()).then(|| NeededLock::on(target, shape, busy).and_keep())
    }

    /// What this transaction has written is a possible duplicate of what it inserts: it is locked, as by InnoDB, with a
    /// lock of its own from here on, so that no more than the gap is asked for.
    pub fn keep_own(&self, index: IndexId, key: &[u8]) {
        let Some(locker) = &self.locker else { return };
        if locker.gapless {
            locker.owner.inherit_all();
        }
        let target = Target::record(index, key);
        self.engine.locks().keep(locker.owner, target, inherited(locker.gapless));
    }

    /// What keeps this transaction from inserting `key` at a position that found nothing; if nothing does,
    /// the gap's locks are those of both its halves from here on.
    pub fn keeps_from_gap<T>(
        &self,
        tree: &Tree,
        mtr: &Mtr<'_>,
        pos: &Position,
        key: &[u8],
        next: &mut Vec<u8>,
    ) -> Result<Option<Try<T>>> {
        let Some(locker) = &self.locker else { return Ok(None) };
        let mut read = Vec::new();
        let target = match tree.following(mtr, pos, pos.slot, next, &mut read)? {
            Following::Entry => Target::record(tree.index, next),
            Following::End => Target::supremum(tree.index),
            Following::Unknown => return Ok(Some(Try::Look(next.clone()))),
        };
        let locks = self.engine.locks();
        if !locks.is_free(target) {
            if !locks.check(locker.owner, target, Shape::INSERT) {
                return Ok(Some(Try::Wait(NeededLock::gap(target))));
            }
            locks.inserted(Target::record(tree.index, key), target);
        }
        // Invariant 3.
        let sure = tree.is_unchanged(&read)?;
        Ok((!sure).then(|| Try::Look(next.clone())))
    }

    /// Gives the locks of an entry that is about to be removed to the gap behind it. `Some`: a leaf that
    /// covers this key must be looked at first, without latches.
    pub fn leave_locks(
        &self,
        tree: &Tree,
        mtr: &Mtr<'_>,
        pos: &Position,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let (locks, from) = (self.engine.locks(), Target::record(tree.index, key));
        if locks.is_free(from) {
            return Ok(None);
        }
        let (mut next, mut read) = (Vec::new(), Vec::new());
        loop {
            read.clear();
            let heir = match tree.following(mtr, pos, pos.slot + 1, &mut next, &mut read)? {
                Following::Entry => Target::record(tree.index, &next),
                Following::End => Target::supremum(tree.index),
                Following::Unknown => return Ok(Some(next)),
            };
            locks.leave(from, heir);
            if tree.is_unchanged(&read)? {
                break;
            }
        }
        locks.gone(from);
        Ok(None)
    }

    /// Before a row's change is undone while its transaction goes on: it stays locked. Of a row that was
    /// inserted only the gap would be, which the level may not lock.
    pub fn keep_lock(&self, index: IndexId, key: &[u8], inserted: bool) {
        if let Some((owner, inherited)) = self.keeper
            && !(inserted && inherited == Inherited::Never)
        {
            self.engine.locks().keep(owner, Target::record(index, key), inherited);
        }
    }
}

/// What becomes of a lock when its record goes.
pub(crate) fn inherited(gapless: bool) -> Inherited {
    if gapless { Inherited::Never } else { Inherited::Always }
}

/// The shape of a lock on a record, with the gap before it unless the level has none.
pub(crate) fn shape(mode: LockMode, gapless: bool) -> Shape {
    Shape::new(mode, if gapless { Kind::Record } else { Kind::NextKey })
}
