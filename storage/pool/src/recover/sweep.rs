//! Reading in the pages whose redo waits and that nobody asks for.
//!
//! 1. A page that is damaged on disk and not made anew by its redo is given up: its records are dropped and
//!    told of, the page itself stays unreadable. Any other error leaves the records waiting. Guard:
//!    `a_damaged_page_is_rebuilt_by_a_record_that_makes_it_anew_and_by_no_other`,
//!    `a_disk_error_leaves_the_redo_waiting`.
//!
//! Pages are given out in page order, a run at a time, to any number of threads; neighbours are read by one
//! read.

use super::Damage;
use crate::Pool;
use crate::clock::Purpose;
use crate::tablespace::Tablespace;
use base::{Error, PAGE_BYTES, PageId, PageNo, Result};
use host::AlignedBuf;
use host::thread::JoinHandle;
use std::sync::Arc;

/// Pages that a thread takes at once.
const RUN_PAGES: usize = 16;

/// How a step of the sweep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep {
    /// There is more to do.
    More,
    /// All pages were given out; some may be in other hands, or have failed.
    GivenOut,
    /// No page waits any more.
    Done,
}

impl Pool {
    /// Brings up to date a run of pages whose redo waits. An error (of the disk; no frame) leaves its
    /// page waiting.
    pub fn sweep(&self) -> Result<Sweep> {
        if self.pending.left() == 0 {
            return Ok(Sweep::Done);
        }
        self.failure.check()?;
        let _no_space_is_dropped = self.pending.sweeping.read();
        let run = self.pending.next_pages(RUN_PAGES);
        if run.is_empty() {
            return Ok(Sweep::GivenOut);
        }
        self.read_together(&run);
        let mut first_error = None;
        for id in run {
            if let Err(e) = self.sweep_page(id) {
                first_error = first_error.or(Some(e));
            }
        }
        first_error.map_or(Ok(Sweep::More), Err)
    }

    /// Reads pages that lie one after another by one read, as far as there are free frames. What fails is
    /// tried again page by page.
    fn read_together(&self, run: &[PageId]) {
        let mut buffer = AlignedBuf::new();
        let mut rest = run;
        while let Some(first) = rest.first() {
            let follows = |(i, id): &(usize, &PageId)| {
                **id == PageId::new(first.space, PageNo(first.page.0 + *i as u32))
            };
            let wanted = |(_, id): &(usize, &PageId)| self.pending.wants_reading(**id);
            let n = rest.iter().enumerate().take_while(follows).take_while(wanted).count();
            if n > 1 {
                buffer.resize(n * PAGE_BYTES);
                self.read_run(*first, n as u32, Purpose::Asked, &mut buffer);
            }
            rest = &rest[n.max(1)..];
        }
    }

    /// After [`Sweep::GivenOut`]: what still waits is given out once more.
    pub fn sweep_again(&self) {
        self.pending.sweep_again();
    }

    fn sweep_page(&self, id: PageId) -> Result<()> {
        if !self.pending.waits(id) {
            return Ok(());
        }
        let Some(ts) = self.tablespace(id.space) else {
            self.pending.forget(id);
            return Ok(());
        };
        match self.bring_up_to_date(&ts, id) {
            Err(e @ Error::Corrupt { .. }) => {
                if let Some(redo) = self.pending.take(id) {
                    let records = redo.places().len() as u64;
                    self.damaged.lock().push(Damage { page: id, records, error: e });
                    self.pending.settle(1);
                }
                Ok(())
            }
            done => done,
        }
    }

    fn bring_up_to_date(&self, ts: &Arc<Tablespace>, id: PageId) -> Result<()> {
        let word = ts.word(id.page)?;
        let seen = word.load();
        if seen.evicted() {
            return self.read_in(ts, id.page, word, seen);
        }
        // In memory from an earlier batch, or somebody was faster.
        let Ok(held) = word.lock_exclusive() else { return Ok(()) };
        let Some(redo) = self.pending.take(id) else {
            word.release_unchanged();
            return Ok(());
        };
        let frame = held.frame();
        // SAFETY: the word is held exclusively.
        let bytes = unsafe { self.frame_bytes(frame).as_mut() };
        match self.apply_or_condemn(ts, id.page, bytes, redo) {
            Ok(oldest) => {
                if let Some(start) = oldest {
                    self.mark_dirty(frame, start);
                }
                word.release_exclusive();
                self.page_redone();
                Ok(())
            }
            Err(e) => {
                // What is half changed is thrown away; the file has the condemned page.
                self.throw_away(frame);
                word.evict();
                self.give_back(frame);
                Err(e)
            }
        }
    }

    /// Applies everything that waits, on several threads; returns when nothing waits any more.
    pub fn sweep_all(&self, threads: usize) -> Result<()> {
        loop {
            self.on_threads(threads, |pool| {
                while pool.sweep()? == Sweep::More {}
                Ok(())
            })?;
            if self.pending.left() == 0 {
                return Ok(());
            }
            // In other hands, or put back by them.
            sync::yield_now();
            self.pending.sweep_again();
        }
    }

    /// Runs `work` on so many threads, this one included; the first error.
    fn on_threads(&self, threads: usize, work: fn(&Pool) -> Result<()>) -> Result<()> {
        let me = self.me.upgrade().ok_or(Error::Shutdown)?;
        let helper = |_| {
            let pool = Arc::clone(&me);
            host::thread::spawn("redo_sweeper", move || work(&pool)).ok()
        };
        let helpers: Vec<JoinHandle<Result<()>>> = (1..threads).filter_map(helper).collect();
        let mine = work(self);
        let died = |_| Err(Error::Internal("a thread that applied redo has died"));
        let theirs = helpers.into_iter().map(|h| h.join().unwrap_or_else(died));
        theirs.fold(mine, Result::and)
    }

    /// Between the last batch and the first session: pages that are in memory take their redo now.
    pub(super) fn apply_to_resident(&self, threads: usize) -> Result<()> {
        self.on_threads(threads, |pool| {
            loop {
                let run = pool.pending.next_pages(RUN_PAGES);
                if run.is_empty() {
                    return Ok(());
                }
                for id in run {
                    let Some(ts) = pool.tablespace(id.space) else { continue };
                    if !ts.word(id.page)?.load().evicted() {
                        pool.sweep_page(id)?;
                    }
                }
            }
        })?;
        self.pending.sweep_again();
        Ok(())
    }
}
