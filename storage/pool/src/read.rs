//! Reading pages: optimistically (no write at all), under a shared latch, and from the disk.
//!
//! 1. [`Tablespace::optimistic`] on a page in memory loads the word and writes nothing; a marked page costs one
//!    compare-exchange, a missing one its read. Guard: `a_warm_optimistic_read_writes_nothing_shared`.
//! 2. A page that is read in passing ([`Tablespace::optimistic_scan`]) or ahead of need is published marked: it
//!    is on probation. Scans leave it so; another reader makes it an ordinary page, if it comes
//!    `old_blocks_time` after the loading at least. Guard:
//!    `probation_ends_when_somebody_comes_after_old_blocks_time`,
//!    `a_scan_of_five_pools_does_not_push_out_what_is_used`.
//! 3. A read that fails leaves the word evicted and wakes the waiters: each of them tries for itself and gets
//!    its own error. Guard: `a_read_error_reaches_every_reader_and_passes`.
//! 4. What comes from the file is the page that its place says, sound, and no younger than the log; else it is
//!    an error, and nobody sees it. Guard: `a_damaged_page_is_an_error_that_names_it`,
//!    `a_page_of_another_log_is_an_error_that_names_it`.

use crate::clock::{Patience, Purpose};
use crate::frames::probation;
use crate::instance::{self, add};
use crate::tablespace::{Tablespace, offset};
use crate::{Pool, io, order, page_class};
use base::{Error, PageBuf, PageId, PageNo, Result};
use instrument::Counter;
use page::RacyNode;
use std::ops::Deref;
use std::ptr::NonNull;
use stdx::Ordering;
use sync::{PageWord, WordValue, state};

/// A page read without a latch: what it says counts only if [`Optimistic::validate`] says so
/// afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Optimistic<'t> {
    page: PageNo,
    pub(crate) ts: &'t Tablespace,
    pub(crate) word: &'t PageWord,
    pub(crate) seen: WordValue,
    bytes: NonNull<PageBuf>,
}

impl<'t> Optimistic<'t> {
    /// The page's bytes as a B+tree node that may be changing.
    #[inline]
    pub fn node(&self) -> RacyNode<'t> {
        // SAFETY: a frame is aligned and stays mapped while the tablespace, which holds the arena,
        // lives; `RacyNode` reads it by atomic loads.
        unsafe { RacyNode::new(self.bytes.as_ptr().cast()) }
    }

    /// Whether all that was read since this was made belongs to one version of the page.
    #[inline]
    pub fn validate(&self) -> bool {
        self.word.validate(self.seen)
    }

    /// Which page it is.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.page
    }

    /// The version read, to compare with another read of the same page.
    #[inline]
    pub fn version(&self) -> u32 {
        self.seen.version()
    }
}

/// A page under a shared latch, released on drop. Not for holding while waiting for anything else.
#[derive(Debug)]
pub struct SharedPage<'t> {
    word: &'t PageWord,
    bytes: NonNull<PageBuf>,
}

impl SharedPage<'_> {
    /// The version that the latch keeps, as in [`Optimistic::version`].
    pub fn version(&self) -> u32 {
        self.word.load().version()
    }
}

impl Deref for SharedPage<'_> {
    type Target = PageBuf;

    fn deref(&self) -> &PageBuf {
        // SAFETY: the shared latch keeps writers and the clock away from the frame.
        unsafe { self.bytes.as_ref() }
    }
}

impl Drop for SharedPage<'_> {
    fn drop(&mut self) {
        if PageWord::holds_are_timed() {
            page_class::tell(self.word, page::header::kind(self));
        }
        self.word.release_shared();
        order::released(1);
    }
}

impl Tablespace {
    /// Starts an optimistic read, loading the page when it is not in memory.
    ///
    /// [`Error::Corrupt`] (also for a page that was never written or lies beyond the file: the
    /// caller that took the number from an unvalidated page validates that one first),
    /// [`Error::Io`].
    #[inline]
    pub fn optimistic(&self, page: PageNo) -> Result<Optimistic<'_>> {
        let word = self.word(page)?;
        let seen = word.load();
        if seen.state() <= state::SHARED_MAX {
            return Ok(self.reading(page, word, seen));
        }
        self.optimistic_slow(page, word)
    }

    /// As [`Tablespace::optimistic`], for a page that is read in passing: one that is loaded for it
    /// is on probation, and one that is there stays no longer for it.
    #[inline]
    pub fn optimistic_scan(&self, page: PageNo) -> Result<Optimistic<'_>> {
        let word = self.word(page)?;
        let seen = word.load();
        if seen.state() <= state::SHARED_MAX {
            return Ok(self.reading(page, word, seen));
        }
        self.scan_slow(page, word)
    }

    /// As [`Tablespace::optimistic`], and waits for nothing: `None` when the page is being written, or not
    /// in memory. For a thread that holds a latch.
    pub fn optimistic_at_once(&self, page: PageNo) -> Result<Option<Optimistic<'_>>> {
        let word = self.word(page)?;
        let seen = word.load();
        let there = seen.state() <= state::SHARED_MAX || seen.state() == state::MARKED;
        Ok(there.then(|| self.reading(page, word, seen)))
    }

    #[inline]
    fn reading<'t>(&'t self, page: PageNo, word: &'t PageWord, seen: WordValue) -> Optimistic<'t> {
        Optimistic { page, ts: self, word, seen, bytes: self.arena.frame(seen.frame()) }
    }

    #[cold]
    fn optimistic_slow<'t>(&'t self, page: PageNo, word: &'t PageWord) -> Result<Optimistic<'t>> {
        loop {
            let seen = word.wait_readable();
            if seen.evicted() {
                self.pool()?.read_in(self, page, word, seen)?;
                continue;
            }
            if seen.state() == state::MARKED && self.may_stay(seen.frame()) {
                // If this fails somebody else has touched the page, which is as good.
                word.unmark(seen);
            }
            return Ok(self.reading(page, word, seen));
        }
    }

    #[cold]
    fn scan_slow<'t>(&'t self, page: PageNo, word: &'t PageWord) -> Result<Optimistic<'t>> {
        loop {
            let seen = word.wait_readable();
            if seen.evicted() {
                let how = (Purpose::Scan, Patience::Usual);
                self.pool()?.read_in_for(self, page, word, seen, how)?;
                self.scanned(page);
                continue;
            }
            let header = self.arena.header(seen.frame());
            if header.is_ahead() {
                header.asked_for();
                self.scanned(page);
            }
            return Ok(self.reading(page, word, seen));
        }
    }

    /// A marked page was asked for: whether that keeps it. One on probation stays on it for some
    /// time, so that the accesses of one passing do not count as many.
    fn may_stay(&self, frame: u32) -> bool {
        let header = self.arena.header(frame);
        if header.probation() != probation::ON {
            return true;
        }
        header.asked_for();
        let counts = self.shared.counts_of_frame(frame);
        if header.age_ms(self.shared.now_ms()) < self.shared.settings.old_blocks_time_ms() {
            add(&counts.not_made_young);
            return false;
        }
        header.end_probation();
        add(&counts.made_young);
        true
    }

    /// The page under a shared latch, loaded when it is not in memory. Errors as
    /// [`Tablespace::optimistic`].
    pub fn shared(&self, page: PageNo) -> Result<SharedPage<'_>> {
        let word = self.word(page)?;
        loop {
            match word.lock_shared() {
                Ok(seen) => {
                    order::took();
                    return Ok(SharedPage { word, bytes: self.arena.frame(seen.frame()) });
                }
                Err(seen) => {
                    self.pool()?.read_in(self, page, word, seen)?;
                }
            }
        }
    }
}

impl Pool {
    /// Reads a page that was `seen` evicted into a frame, unless another thread does. Afterwards
    /// the caller looks at the word again.
    pub(crate) fn read_in(
        &self,
        ts: &Tablespace,
        page: PageNo,
        word: &PageWord,
        seen: WordValue,
    ) -> Result<()> {
        self.read_in_for(ts, page, word, seen, (Purpose::Asked, Patience::Usual))
    }

    pub(crate) fn read_in_for(
        &self,
        ts: &Tablespace,
        page: PageNo,
        word: &PageWord,
        seen: WordValue,
        (purpose, patience): (Purpose, Patience),
    ) -> Result<()> {
        if !word.begin_io(seen) {
            return Ok(());
        }
        instrument::count(Counter::InnodbBufferPoolReads, 1);
        match self.fill_frame(ts, page, (purpose, patience)) {
            Ok(frame) => {
                match purpose {
                    Purpose::Asked => word.publish(frame),
                    Purpose::Scan | Purpose::Ahead => word.publish_marked(frame),
                }
                Ok(())
            }
            Err(e) => {
                word.abort_io();
                Err(e)
            }
        }
    }

    /// A frame holding the page, which is known to nobody yet.
    fn fill_frame(
        &self,
        ts: &Tablespace,
        page: PageNo,
        (purpose, patience): (Purpose, Patience),
    ) -> Result<u32> {
        let frame = self.take_frame(self.instance_of(ts.page_id(page)), purpose, patience)?;
        let counts = self.counts_of_frame(frame);
        add(&counts.pending_reads);
        let read = self.take_in(ts, page, frame, |bytes| self.read_page(ts, page, bytes));
        counts.pending_reads.fetch_sub(1, Ordering::Relaxed);
        match read {
            Ok(()) => Ok(frame),
            Err(e) => {
                self.give_back(frame);
                Err(e)
            }
        }
    }

    /// Makes a frame, which nobody else has, that of a page whose word is io-pending: `read` fills
    /// it with the page, checked; redo that waits for the page is applied, if need be without that.
    /// After an error the caller gives the frame back.
    pub(crate) fn take_in(
        &self,
        ts: &Tablespace,
        page: PageNo,
        frame: u32,
        read: impl FnOnce(&mut PageBuf) -> Result<()>,
    ) -> Result<()> {
        let id = ts.page_id(page);
        // SAFETY: the frame is this thread's alone; racy readers that still hold its address read
        // by atomic loads and will not validate.
        let bytes = unsafe { self.frame_bytes(frame).as_mut() };
        let waiting = self.pending.take(id);
        let redone = waiting.is_some();
        let changed = match waiting {
            Some(redo) => self.read_and_redo(ts, page, bytes, redo, read)?,
            None => read(bytes).map(|()| None)?,
        };
        instrument::count(Counter::InnodbPagesRead, 1);
        add(&self.counts_of_frame(frame).read);
        self.arena.header(frame).set_page(id);
        if let Some(oldest) = changed {
            self.mark_dirty(frame, oldest);
        }
        if redone {
            self.page_redone();
        }
        Ok(())
    }

    /// The instance of a page.
    #[inline]
    pub(crate) fn instance_of(&self, id: PageId) -> usize {
        instance::of_page(id, self.instances.len())
    }

    /// Counts a page that was made anew.
    pub(crate) fn count_created(&self, frame: u32) {
        instrument::count(Counter::InnodbPagesCreated, 1);
        add(&self.counts_of_frame(frame).created);
    }

    /// A frame for a page that is made anew, whose header is zeroed: the rest is whatever was there, until the page is made.
    /// The word is io-pending and stays so.
    pub(crate) fn blank_frame(
        &self,
        ts: &Tablespace,
        page: PageNo,
        patience: Patience,
    ) -> Result<u32> {
        let instance = self.instance_of(ts.page_id(page));
        let frame = self.take_frame(instance, Purpose::Asked, patience)?;
        // SAFETY: as in `fill_frame`.
        let bytes = unsafe { self.frame_bytes(frame).as_mut() };
        bytes[..page::header::BYTES].fill(0);
        page::header::set_page_id(bytes, ts.page_id(page));
        self.pending.forget(ts.page_id(page));
        self.arena.header(frame).set_page(ts.page_id(page));
        Ok(frame)
    }

    /// Reads a page from its file and checks it.
    fn read_page(&self, ts: &Tablespace, page: PageNo, bytes: &mut PageBuf) -> Result<()> {
        io::read_or_zero(&*ts.file, &mut bytes[..], offset(page))?;
        self.check_read(ts.page_id(page), bytes)
    }

    /// Checks what was read from a page's place: written once, sound, and not of another time's log.
    pub(crate) fn check_read(&self, id: PageId, bytes: &PageBuf) -> Result<()> {
        if !page::header::verify(bytes, id)? {
            return Err(Error::corrupt(id, "the page was never written"));
        }
        // The next change would take its LSN back.
        if page::header::lsn(bytes) > self.log.tail() {
            return Err(Error::corrupt(id, "the page's LSN lies beyond the log's end"));
        }
        Ok(())
    }
}
