//! What every change of a row is made with: a transaction's undo, a worker, buffers, and the wait
//! for others.
//!
//! 1. An attempt is one mini-transaction. What it cannot do under its latches it asks for
//!    ([`Try`]): end the mini-transaction, do that, attempt again. Guard: the assert of `Writer::retry_waiting`.
//! 2. Inside an attempt the order is: latch the row's leaf, latch undo, change the row, append
//!    undo, commit. All that can fail comes before the first change. Guard: the assert of
//!    [`Writer::log_change`]; `Mtr` aborts when it is dropped with changes.

use crate::engine::Engine;
use crate::locking::{Locker, Stamp};
use crate::progress::Progress;
use crate::rollback::IndexRelease;
use crate::row::RowHeader;
use crate::table::Secondary;
use base::{IndexId, Lsn, Result, TrxId};
use btree::{Near, Tree};
use lock::{Inherited, Owner, Shape, Target};
use pool::{Held, Mtr};
use sync::WorkerSlot;
use trx::{Latched, NewRecord, Segment, State};

/// A lock that an attempt needs and does not have.
pub(crate) struct NeededLock {
    index: IndexId,
    /// `None`: the supremum.
    key: Option<Vec<u8>>,
    pub shape: Shape,
    /// Who has it by having written the row; none: it is another's explicit one.
    pub busy: TrxId,
    /// The lock is made even if it is free by now.
    pub keep: bool,
}

impl NeededLock {
    pub fn record(index: IndexId, key: &[u8], shape: Shape, busy: TrxId) -> NeededLock {
        NeededLock::on(Target::record(index, key), shape, busy)
    }

    pub fn on(target: Target<'_>, shape: Shape, busy: TrxId) -> NeededLock {
        let key = target.key.map(<[u8]>::to_vec);
        NeededLock { index: target.index, key, shape, busy, keep: false }
    }

    /// The same, to be kept when it is free.
    pub fn and_keep(self) -> NeededLock {
        NeededLock { keep: true, ..self }
    }

    /// The gap before `next`, to insert into it.
    pub fn gap(next: Target<'_>) -> NeededLock {
        NeededLock::on(next, Shape::INSERT, TrxId::NONE)
    }

    pub fn target(&self) -> Target<'_> {
        Target { index: self.index, key: self.key.as_deref() }
    }
}

/// How an attempt ended.
pub(crate) enum Try<T> {
    /// With a result.
    Done(T),
    /// Others have locks that must go first.
    Wait(NeededLock),
    /// The leaf that covers this key must be looked at without latches first.
    Look(Vec<u8>),
    /// Undo needs room for a record of so many bytes.
    Undo(usize),
    /// The leaf of the key must be split for so many bytes.
    Split(usize),
}

/// Reusable memory of a client.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Clustered key of the row being written.
    pub key: Vec<u8>,
    /// Its payload as it was.
    pub before: Vec<u8>,
    /// Its payload as it will be.
    pub after: Vec<u8>,
    /// Its stored form, when values of it lie outside.
    pub stored: Vec<u8>,
    /// Secondary keys.
    pub entry: Vec<u8>,
    pub old_entry: Vec<u8>,
    /// Another row, looked at for a unique check or a purge.
    pub other: Vec<u8>,
    pub undo: Vec<u8>,
    /// The undo record that is being purged.
    pub record: Vec<u8>,
    /// Where the clustered index was written last.
    pub near: Near,
}

/// The means to change rows for one transaction.
pub(crate) struct Writer<'a> {
    pub engine: &'a Engine,
    pub worker: &'a WorkerSlot,
    /// `None`: never waits for another transaction (rollback, purge).
    pub locker: Option<Locker<'a>>,
    /// Undoing a part of a transaction: whose locks stay, and what becomes of them when records go.
    pub keeper: Option<(&'a Owner, Inherited)>,
    /// Undoing for a session: where it says how far that is.
    pub progress: Option<&'a Progress>,
    /// How far the freeing of an index goes; `None`: to the end.
    pub release: Option<&'a mut IndexRelease>,
    /// A row is being inserted (1) or deleted (-1), and has its version in the clustered index already.
    pub halfway: i32,
    /// The version of the row that is to be changed; another one is not.
    pub expects: Option<Stamp>,
    /// The change is all that the transaction does: it commits with it, if one mini-transaction will do.
    pub ends: bool,
    /// The secondary entry that is written next is the last of the change: the transaction may end with it.
    pub is_last_entry: bool,
    /// It did so, here.
    pub ended: Option<Lsn>,
    pub segment: &'a mut Segment,
}

impl<T> Try<T> {
    /// With another result.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Try<U> {
        match self {
            Try::Done(result) => Try::Done(f(result)),
            Try::Wait(wanted) => Try::Wait(wanted),
            Try::Look(key) => Try::Look(key),
            Try::Undo(bytes) => Try::Undo(bytes),
            Try::Split(bytes) => Try::Split(bytes),
        }
    }
}

impl<'a> Writer<'a> {
    /// One that never waits: for rollback and purge.
    pub fn alone(engine: &'a Engine, worker: &'a WorkerSlot, segment: &'a mut Segment) -> Self {
        let (locker, keeper, progress, release, expects) = (None, None, None, None, None);
        let (ends, is_last_entry, ended, halfway) = (false, false, None, 0);
        Writer {
            engine,
            worker,
            locker,
            keeper,
            progress,
            release,
            halfway,
            expects,
            ends,
            is_last_entry,
            ended,
            segment,
        }
    }

    /// Whether a row is in the version that the change is for.
    pub fn is_expected(&self, h: &RowHeader) -> bool {
        self.expects.is_none_or(|stamp| stamp == Stamp::of(h))
    }

    pub fn mtr(&self) -> Mtr<'a> {
        Mtr::new(self.engine.pool(), self.worker)
    }

    pub fn me(&self) -> TrxId {
        self.segment.trx()
    }

    /// Whether `trx` is another transaction that has not ended.
    pub fn is_busy(&self, trx: TrxId) -> bool {
        trx != self.me() && self.engine.trx().is_active(trx)
    }

    /// Appends the undo record of a change and ends its mini-transaction. `last`: nothing else of the change
    /// follows.
    pub fn log_change(
        &mut self,
        mut mtr: Mtr<'_>,
        undo: Latched,
        new: NewRecord<'_>,
        last: bool,
    ) -> Result<()> {
        assert!(mtr.has_changes(), "the undo of a change that was not made");
        assert!(self.ended.is_none(), "a change after its transaction's commit");
        if !(self.ends && last) {
            self.segment.append(&mut mtr, undo, new)?;
            return mtr.commit().map(drop);
        }
        self.segment.append_last(&mut mtr, undo, new)?;
        self.commit_with(mtr)
    }

    /// Before a secondary entry is changed: the page for the transaction's end, if it ends with that.
    pub fn latch_end<'p>(&self, mtr: &mut Mtr<'p>) -> Result<Option<Held>>
    where
        'a: 'p,
    {
        let ends = self.ends && self.is_last_entry;
        ends.then(|| self.segment.latch_header(mtr, self.engine.trx().undo())).transpose()
    }

    /// Ends the mini-transaction of a secondary entry, and the transaction with it if [`Self::latch_end`] has said so.
    pub fn log_entry(&mut self, mut mtr: Mtr<'_>, end: Option<Held>) -> Result<()> {
        let Some(top) = end else { return mtr.commit().map(drop) };
        assert!(self.ended.is_none(), "a change after its transaction's commit");
        self.segment.commit_in(&mut mtr, top)?;
        self.commit_with(mtr)
    }

    fn commit_with(&mut self, mtr: Mtr<'_>) -> Result<()> {
        let ended = self.engine.trx().commit_with(self.me(), mtr);
        if ended.is_err() {
            self.segment.restore_state(State::Active);
        }
        self.ended = Some(ended?);
        Ok(())
    }

    /// Attempts until done; `tree` and `key` say where a split is needed.
    pub fn retry<T>(
        &mut self,
        tree: &Tree,
        key: &[u8],
        attempt: impl FnMut(&mut Self) -> Result<Try<T>>,
    ) -> Result<T> {
        self.retry_waiting(tree, key, attempt, |w, wanted| w.wait_for(wanted))
    }

    /// As [`Self::retry`], of a row's entry in a secondary index.
    pub fn retry_entry<T>(
        &mut self,
        s: &Secondary,
        entry: &[u8],
        attempt: impl FnMut(&mut Self) -> Result<Try<T>>,
    ) -> Result<T> {
        self.retry_waiting(&s.tree, entry, attempt, |w, wanted| w.wait_for_entry(s, wanted))
    }

    fn retry_waiting<T>(
        &mut self,
        tree: &Tree,
        key: &[u8],
        mut attempt: impl FnMut(&mut Self) -> Result<Try<T>>,
        wait: impl Fn(&mut Self, &NeededLock) -> Result<()>,
    ) -> Result<T> {
        loop {
            let tried = attempt(self)?;
            pool::assert_no_latches("an attempt has ended");
            match tried {
                Try::Done(result) => return Ok(result),
                Try::Wait(wanted) => wait(self, &wanted)?,
                Try::Look(key) => drop(tree.get(&key, &mut Vec::new())?),
                Try::Undo(bytes) => {
                    let undo = self.engine.trx().undo();
                    self.segment.reserve(self.engine.pool(), self.worker, undo, bytes)?;
                }
                Try::Split(bytes) => {
                    tree.split(self.engine.pool(), self.worker, key, bytes)?;
                }
            }
        }
    }
}
