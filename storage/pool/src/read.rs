//! Reading pages: optimistically (no write at all), under a shared latch, and from the disk.
//!
//! 1. [`Tablespace::optimistic`] on a page in memory loads the word and writes nothing; a marked
//!    page costs one compare-exchange, a missing one its read.
//! 2. A read that fails leaves the word evicted and wakes the waiters: each of them tries for
//!    itself and gets its own error.

use crate::tablespace::{Tablespace, offset};
use crate::{Pool, io, order};
use base::{Error, PageBuf, PageNo, Result};
use instrument::Counter;
use page::RacyNode;
use std::ops::Deref;
use std::ptr::NonNull;
use sync::{PageWord, WordValue, state};

/// What a page read from the disk may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accept {
    /// A sound page only.
    Written,
    /// Redo: also one that was never written.
    Unwritten,
}

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

impl Deref for SharedPage<'_> {
    type Target = PageBuf;

    fn deref(&self) -> &PageBuf {
        // SAFETY: the shared latch keeps writers and the clock away from the frame.
        unsafe { self.bytes.as_ref() }
    }
}

impl Drop for SharedPage<'_> {
    fn drop(&mut self) {
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

    /// As [`Tablespace::optimistic`], for a page that is read in passing: it stays no longer in
    /// memory for it.
    #[inline]
    pub fn optimistic_scan(&self, page: PageNo) -> Result<Optimistic<'_>> {
        self.optimistic(page)
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
            // If this fails somebody else has touched the page, which is as good.
            word.unmark(seen);
            return Ok(self.reading(page, word, seen));
        }
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
        if !word.begin_io(seen) {
            return Ok(());
        }
        instrument::count(Counter::InnodbBufferPoolReads, 1);
        match self.fill_frame(ts, page) {
            Ok(frame) => {
                word.publish(frame);
                Ok(())
            }
            Err(e) => {
                word.abort_io();
                Err(e)
            }
        }
    }

    /// A frame holding the page, which is known to nobody yet.
    fn fill_frame(&self, ts: &Tablespace, page: PageNo) -> Result<u32> {
        let frame = self.take_frame()?;
        // SAFETY: a frame from the free list is this thread's alone; racy readers that still hold
        // its address read by atomic loads and will not validate.
        let bytes = unsafe { self.frame_bytes(frame).as_mut() };
        let id = ts.page_id(page);
        let waiting = self.pending.take(id);
        let redone = waiting.is_some();
        let read = match waiting {
            Some(redo) => self.read_and_redo(ts, page, bytes, redo),
            None => read_page(ts, page, bytes, Accept::Written).map(|()| None),
        };
        let changed = read.inspect_err(|_| self.give_back(frame))?;
        instrument::count(Counter::InnodbPagesRead, 1);
        self.frames[frame as usize].set_page(id);
        if let Some(oldest) = changed {
            self.frames[frame as usize].dirty(oldest);
        }
        if redone {
            self.page_redone();
        }
        Ok(frame)
    }

    /// A zeroed frame for a page that is made anew; the word is io-pending and stays so.
    pub(crate) fn blank_frame(&self, ts: &Tablespace, page: PageNo) -> Result<u32> {
        let frame = self.take_frame()?;
        // SAFETY: as in `fill_frame`.
        let bytes = unsafe { self.frame_bytes(frame).as_mut() };
        bytes.fill(0);
        page::header::set_page_id(bytes, ts.page_id(page));
        self.pending.forget(ts.page_id(page));
        self.frames[frame as usize].set_page(ts.page_id(page));
        Ok(frame)
    }
}

/// Reads a page from its file and checks it.
pub(crate) fn read_page(
    ts: &Tablespace,
    page: PageNo,
    bytes: &mut PageBuf,
    accept: Accept,
) -> Result<()> {
    let id = ts.page_id(page);
    io::read_or_zero(&*ts.file, &mut bytes[..], offset(page))?;
    match page::header::verify(bytes, id)? {
        true => Ok(()),
        false if accept == Accept::Written => Err(Error::corrupt(id, "the page was never written")),
        false => {
            page::header::set_page_id(bytes, id);
            Ok(())
        }
    }
}
