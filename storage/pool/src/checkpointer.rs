//! What moves the checkpoint, and can do nothing else.
//!
//! 1. A checkpoint makes the room that writers of redo wait for, so who makes it writes none: whoever has no
//!    more than this cannot. The pool inside is private; a mini-transaction and an append begin with a pool or
//!    a log. Guard: the compiler.

use crate::Pool;
use base::{Lsn, Result};
use std::sync::Arc;
use sync::Event;

/// See [`Pool::checkpointer`].
#[derive(Debug)]
pub struct Checkpointer {
    pool: Arc<Pool>,
}

impl Pool {
    /// The means to make checkpoints, for a thread that must not write redo.
    ///
    /// # Panics
    /// While the pool is being torn down.
    pub fn checkpointer(&self) -> Checkpointer {
        Checkpointer { pool: self.me.upgrade().expect("the caller holds the pool") }
    }
}

impl Checkpointer {
    /// See [`Pool::checkpoint_with`].
    pub fn make(&self, payload: impl FnOnce() -> Vec<u8>) -> Result<Lsn> {
        self.pool.checkpoint_with(payload)
    }

    /// Whether the log is filling up.
    pub fn are_wanted(&self) -> bool {
        self.pool.log.wants_checkpoint()
    }

    /// The log's end.
    pub fn tail(&self) -> Lsn {
        self.pool.log.tail()
    }

    /// Lets the cleaners write what keeps the checkpoint back.
    pub fn urge_cleaners(&self) {
        self.pool.urge_cleaners();
    }

    /// Notified while writers find that the log fills up.
    pub fn work(&self) -> &Event {
        self.pool.log.work()
    }
}
