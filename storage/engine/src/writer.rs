//! What every change of a row is made with: a transaction's undo, a worker, buffers, and the wait
//! for others.
//!
//! 1. An attempt is one mini-transaction. What it cannot do under its latches it asks for
//!    ([`Try`]): end the mini-transaction, do that, attempt again.
//! 2. Inside an attempt the order is: latch the row's leaf, latch undo, change the row, append
//!    undo, commit. All that can fail comes before the first change.

use crate::engine::Engine;
use base::{Result, TrxId};
use btree::Tree;
use pool::Mtr;
use std::time::Duration;
use sync::{Deadline, SessionSlot, WorkerSlot};
use trx::Segment;

/// How an attempt ended.
pub(crate) enum Try<T> {
    /// With a result.
    Done(T),
    /// Another transaction must end first.
    Wait(TrxId),
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
}

/// Who waits, and how long.
pub(crate) struct Waiter<'a> {
    pub slot: &'a SessionSlot,
    pub index: usize,
    pub timeout_s: u32,
}

/// The means to change rows for one transaction.
pub(crate) struct Writer<'a> {
    pub engine: &'a Engine,
    pub worker: &'a WorkerSlot,
    /// `None`: never waits for another transaction (rollback, purge).
    pub waiter: Option<Waiter<'a>>,
    pub segment: &'a mut Segment,
}

impl<'a> Writer<'a> {
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

    /// Attempts until done; `tree` and `key` say where a split is needed.
    pub fn retry<T>(
        &mut self,
        tree: &Tree,
        key: &[u8],
        mut attempt: impl FnMut(&mut Self) -> Result<Try<T>>,
    ) -> Result<T> {
        loop {
            match attempt(self)? {
                Try::Done(result) => return Ok(result),
                Try::Wait(trx) => self.wait_for(trx)?,
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

    /// Waits for another transaction's end; see [`trx::TrxSystem::wait_for_end`].
    pub fn wait_for(&self, trx: TrxId) -> Result<()> {
        let Some(waiter) = &self.waiter else {
            return Err(base::Error::Internal("rollback met another transaction's row"));
        };
        let _entered = sync::enter(waiter.slot);
        let deadline = Deadline::after(Duration::from_secs(u64::from(waiter.timeout_s)));
        self.engine.trx().wait_for_end(trx, waiter.index, deadline)
    }
}
