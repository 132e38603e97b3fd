//! Giving disk space that undo needs no more back to the file system.
//!
//! Why that is safe is told in `space::shrink`. What fails here is no failure of the server: the space stays where it is.
//!
//! 1. It begins when the file takes more than `innodb_max_undo_log_size`, and ends when no more free extents
//!    than the reserve are left, as in MySQL, which cuts an undo tablespace back to its first size. But no
//!    view and no transaction has to end for it, and nobody is kept from the file: free extents go one by
//!    one, each under the latch that an allocation takes too. Guard:
//!    `undo_that_somebody_needs_survives_crashes_behind_extents_given_back`.
//! 2. Meanwhile free undo segments keep no more than a page ([`trx::TrxSystem::keep_few_pages`]): sixteen, each
//!    in an extent of its own, would keep sixteen MiB. Guard: `transactions_share_pages_and_use_them_again` (of `trx`).

use crate::engine::Engine;
use base::{Error, Result};
use space::GivenBack;
use std::time::{Duration, Instant};
use stdx::{Ordering, SharedAtomic, class};
use sync::WorkerSlot;

/// How often the size of the file is looked at, and whether more extents may go.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// So many extents are given back at a time, then others have the file for themselves.
const AT_ONCE: usize = 8;
const PAUSE: Duration = Duration::from_millis(20);
/// After an error.
const ERROR_PAUSE: Duration = Duration::from_secs(60);

/// What was given back since the engine was opened.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    times: SharedAtomic<u64, { class::OTHER }>,
    extents: SharedAtomic<u64, { class::OTHER }>,
    bytes: SharedAtomic<u64, { class::OTHER }>,
    us: SharedAtomic<u64, { class::OTHER }>,
}

/// See [`Engine::undo_given_back`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UndoGivenBack {
    /// How often the file had become too large and was brought back to what it needs.
    pub times: u64,
    /// Extents of 1 MiB.
    pub extents: u64,
    /// By how much the file takes less of the file system, in bytes.
    pub bytes: u64,
    /// How long that took, in microseconds.
    pub us: u64,
}

/// Who gives back, between the rounds.
pub(crate) struct Giver {
    due: Instant,
    /// The file had become too large.
    begun: bool,
    /// Bytes since then.
    bytes: u64,
    /// It cannot be done here.
    ended: bool,
}

impl Giver {
    pub fn new() -> Giver {
        Giver { due: host::clock::now(), begun: false, bytes: 0, ended: false }
    }
}

impl Engine {
    /// How much disk space undo has given back.
    pub fn undo_given_back(&self) -> UndoGivenBack {
        let f = &self.undo_room;
        UndoGivenBack {
            times: f.times.load(Ordering::Relaxed),
            extents: f.extents.load(Ordering::Relaxed),
            bytes: f.bytes.load(Ordering::Relaxed),
            us: f.us.load(Ordering::Relaxed),
        }
    }

    /// Gives one free extent of undo back, if one may be, whatever the file's size; whether it did.
    pub fn step_undo_room(&self) -> Result<bool> {
        self.trx().keep_few_pages(true);
        self.with_worker(|worker| Ok(matches!(self.give_extent_back(worker)?, GivenBack::Bytes(_))))
    }

    fn give_extent_back(&self, worker: &WorkerSlot) -> Result<GivenBack> {
        let start = host::clock::now();
        let kept = self.settings().undo_kept();
        let given = space::give_back(self.pool(), worker, self.trx().undo(), kept)?;
        if let GivenBack::Bytes(bytes) = given {
            let us = host::clock::now().saturating_duration_since(start).as_micros();
            self.undo_room.extents.fetch_add(1, Ordering::Relaxed);
            self.undo_room.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.undo_room.us.fetch_add(us as u64, Ordering::Relaxed);
        }
        Ok(given)
    }

    /// One round, when it is due: gives some extents back if undo takes too much.
    pub(crate) fn undo_room_round(&self, worker: &WorkerSlot, giver: &mut Giver) {
        let now = host::clock::now();
        if giver.ended || now < giver.due {
            return;
        }
        giver.due = now + LOOK_EVERY;
        let wanted = self.settings().undo_log_truncate();
        if wanted && let Err(e) = self.give_undo_back(worker, giver) {
            // That of a full disk or a damaged page: others meet it, too, and are told.
            self.recovery.notes.note(&format!("undo keeps its disk space for now: {e}"));
            giver.due = now + ERROR_PAUSE;
        }
        self.trx().keep_few_pages(wanted && giver.begun);
    }

    fn give_undo_back(&self, worker: &WorkerSlot, giver: &mut Giver) -> Result<()> {
        if self.pool().failed() {
            return Err(Error::Internal("nothing is written any more"));
        }
        let takes = self.trx().undo().allocated_bytes()?;
        if !giver.begun && takes <= self.settings().max_undo_log_size() {
            return Ok(());
        }
        giver.begun = true;
        for _ in 0..AT_ONCE {
            match self.give_extent_back(worker)? {
                GivenBack::Bytes(bytes) => giver.bytes += bytes,
                GivenBack::NotYet => return Ok(()),
                GivenBack::Nothing => {
                    giver.begun = false;
                    self.tell_given_back(std::mem::take(&mut giver.bytes));
                    return Ok(());
                }
                GivenBack::Unsupported => {
                    (giver.begun, giver.ended) = (false, true);
                    let what = "the file system, or innodb_flush_method, does not allow to give disk space of undo back";
                    self.recovery.notes.note(what);
                    return Ok(());
                }
            }
        }
        giver.due = host::clock::now() + PAUSE;
        Ok(())
    }

    fn tell_given_back(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.undo_room.times.fetch_add(1, Ordering::Relaxed);
        let takes = self.trx().undo().allocated_bytes().unwrap_or(0);
        let mib = |bytes: u64| bytes >> 20;
        let text = format!("undo gave {} MiB back and takes {} MiB", mib(bytes), mib(takes));
        self.recovery.notes.note(&text);
    }
}
