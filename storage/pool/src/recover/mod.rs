//! Recovery: torn pages from the doublewrite file, then redo, page by page and on demand.
//!
//! 1. A page with a doublewrite copy is replaced by it, once and before anything else is written: the copy is
//!    the newest thing ever written there (`doublewrite.rs` 2 and 3). Guard:
//!    `pages_that_only_look_written_are_written_again`,
//!    `a_torn_page_0_does_not_keep_the_tablespace_from_opening`.
//! 2. Redo takes a mini-transaction as a whole: whether a page lacks it is decided once, at its first record
//!    there, and the page's LSN is set after the last one. Guard:
//!    `redo_takes_a_mini_transaction_once_and_skips_what_has_no_file`.
//! 3. [`Pool::recover`] reads the log and notes what each page lacks (`scan`, `pending`). A page gets it when
//!    it is read in, by whomever (`apply`); the rest are read in by the sweep. Guard:
//!    `a_page_read_on_demand_is_the_swept_page_byte_for_byte`.

mod apply;
mod page_redo;
pub(crate) mod pending;
mod scan;
mod sweep;

pub use sweep::Sweep;

use crate::tablespace::{as_page, offset};
use crate::{Pool, Tablespace, io};
use base::{Error, Lsn, PAGE_BYTES, PageId, Result, SpaceId};
use host::AlignedBuf;
use std::sync::Arc;

/// Takes a logical record: start of its mini-transaction, kind, bytes.
pub type LogicalTaker = Box<dyn Fn(Lsn, u8, &[u8]) -> Result<()> + Send + Sync>;

/// How [`Pool::recover`] goes about it.
pub struct RecoverOptions {
    /// Threads that sort records; 1: the caller's own, and no other.
    pub threads: usize,
    /// Memory for waiting redo, in bytes: with more than that, all but the rest is applied before
    /// [`Pool::recover`] returns.
    pub memory_bytes: usize,
    /// Mini-transactions that are redone at most: a test may look at every state in between.
    pub frames_max: u64,
    /// The file of a tablespace.
    pub space_name: Box<dyn Fn(SpaceId) -> String + Send + Sync>,
    /// Takes logical records: start of the mini-transaction, kind, bytes. Called by the caller's thread,
    /// in order.
    pub logical: LogicalTaker,
    /// Told when the memory is full, before what waits is applied.
    pub on_batch: Box<dyn Fn(&Recovered) + Send + Sync>,
}

/// The least memory for waiting redo, in bytes.
pub const REDO_MEMORY_MIN: usize = 64 << 20;

impl RecoverOptions {
    /// One thread, the least memory, nobody told.
    pub fn new(
        space_name: impl Fn(SpaceId) -> String + Send + Sync + 'static,
        logical: impl Fn(Lsn, u8, &[u8]) -> Result<()> + Send + Sync + 'static,
    ) -> RecoverOptions {
        RecoverOptions {
            threads: 1,
            memory_bytes: REDO_MEMORY_MIN,
            frames_max: u64::MAX,
            space_name: Box::new(space_name),
            logical: Box::new(logical),
            on_batch: Box::new(|_| {}),
        }
    }
}

impl std::fmt::Debug for RecoverOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecoverOptions")
            .field("threads", &self.threads)
            .field("memory_bytes", &self.memory_bytes)
            .finish_non_exhaustive()
    }
}

/// What [`Pool::recover`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// Bytes of redo read.
    pub bytes: u64,
    /// Mini-transactions in them.
    pub frames: u64,
    /// The end of the last of them.
    pub end: Lsn,
    /// Records in them, logical ones included.
    pub records: u64,
    /// Pages that they change, once for each batch.
    pub pages: u64,
    /// How often the memory for waiting redo was filled; only the last filling waits.
    pub batches: u64,
    /// The most memory that was used for waiting redo, in bytes.
    pub held_bytes_max: u64,
}

/// A page that redo could not be applied to.
#[derive(Debug)]
pub struct Damage {
    /// The page; reading it is an error from now on.
    pub page: PageId,
    /// Records that were to change it, as far as later ones do not make them needless.
    pub records: u64,
    /// What is wrong with it.
    pub error: Error,
}

impl Pool {
    /// Repairs the torn pages of all open tablespaces and forgets the doublewrite copies. Returns
    /// how many pages were torn since the pool was made (opening a tablespace repairs too).
    ///
    /// All tablespaces of [`Pool::copied_spaces`] that still have a file must be open by now: the next
    /// batch of the cleaner overwrites the copies.
    pub fn repair_torn_pages(&self) -> Result<usize> {
        for ts in self.tablespaces() {
            self.repair(&ts)?;
        }
        let mut copies = self.copies.lock();
        copies.pages.clear();
        Ok(copies.repaired)
    }

    /// The tablespaces that the doublewrite file has pages of, in order.
    pub fn copied_spaces(&self) -> Vec<SpaceId> {
        let mut ids: Vec<SpaceId> = self.copies.lock().pages.keys().map(|id| id.space).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Writes the doublewrite copies of one tablespace's pages in place and forgets them.
    pub(crate) fn repair(&self, ts: &Tablespace) -> Result<()> {
        let mut copies = self.copies.lock();
        let mut mine: Vec<PageId> =
            copies.pages.keys().filter(|id| id.space == ts.id()).copied().collect();
        mine.sort_unstable();
        let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
        let mut torn = 0;
        for id in &mine {
            io::read_or_zero(&*ts.file, &mut buf, offset(id.page))?;
            torn += usize::from(page::header::verify(as_page(&mut buf), *id).is_err());
            buf.copy_from_slice(&copies.pages[id][..]);
            page::header::verify(as_page(&mut buf), *id)?;
            io::write(&*ts.file, &buf, offset(id.page))?;
        }
        if !mine.is_empty() {
            io::sync_data(&*ts.file)?;
        }
        copies.pages.retain(|id, _| id.space != ts.id());
        copies.repaired += torn;
        Ok(())
    }

    /// The spaces without a sound file that the log has changes to, and what is wrong with each.
    /// Until [`Pool::forget_skipped`] no checkpoint passes these changes.
    pub fn skipped_redo(&self) -> Vec<(SpaceId, Error)> {
        self.pending.skipped()
    }

    /// What was skipped is not wanted: the tables were dropped, or somebody has given the changes up.
    pub fn forget_skipped(&self) {
        self.pending.forget_skipped();
    }

    /// Pages whose redo waits or is being applied.
    pub fn redo_pages_left(&self) -> u64 {
        self.pending.left()
    }

    /// Pages whose redo ever waited.
    pub fn redo_pages_total(&self) -> u64 {
        self.pending.total()
    }

    /// The pages found damaged since the last call.
    pub fn take_damage(&self) -> Vec<Damage> {
        std::mem::take(&mut self.damaged.lock())
    }

    /// The open tablespaces, by id.
    pub fn tablespaces(&self) -> Vec<Arc<Tablespace>> {
        let mut all: Vec<_> = self.spaces.read().values().cloned().collect();
        all.sort_by_key(|ts| ts.id());
        all
    }
}
