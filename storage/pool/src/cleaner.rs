//! Writing changed pages back, and the checkpoint that follows.
//!
//! 1. Always from a copy: the page is latched for the copying only, writers never wait for I/O.
//! 2. Order of a batch: copy; log durable up to the newest copy; doublewrite file, synced; pages in
//!    place, synced; only then are the changes forgotten (`frames.rs` 3). Batches do not overlap.
//! 3. The cleaner waits for no page latch: a page that stays latched is left for the next batch,
//!    so a writer that waits for a frame while it holds latches always gets one.
//! 4. Checkpoint bound: the log's dirty floor first, the frames' marks afterwards, so a change is
//!    seen by one or the other (`engine.md` P-E).

use crate::doublewrite::{BATCH_MAX, Batch};
use crate::io::{self, Of};
use crate::tablespace::{Tablespace, offset};
use crate::{Pool, doublewrite};
use base::{Error, Lsn, Result};
use host::File;
use instrument::Counter;
use std::sync::Arc;

/// How often a latched page is tried again before it is left for the next batch.
const LATCH_TRIES: u32 = 200;

/// How often [`Pool::flush_all`] looks again at pages that stay latched.
const FLUSH_TRIES: u32 = 10_000;

/// What the one cleaner at work holds between the steps.
pub(crate) struct Cleaner {
    file: Arc<dyn File>,
    batch: Batch,
    /// Number of the batch, for whoever looks at the file.
    number: u64,
    /// Tablespace and frame of each page of the batch, in its order.
    flights: Vec<(Arc<Tablespace>, u32)>,
    picks: Vec<(bool, Lsn, u32)>,
}

impl Cleaner {
    pub(crate) fn new(file: Arc<dyn File>) -> Cleaner {
        let (flights, picks) = (Vec::new(), Vec::new());
        Cleaner { file, batch: Batch::new(), number: 0, flights, picks }
    }
}

impl Pool {
    /// Writes one batch of at most `limit` (and 64) changed pages: those the clock wants first,
    /// then those with the oldest changes. Returns how many; 0 when no page is changed, or those
    /// that are stay latched.
    ///
    /// An error is final: [`Pool::failed`] is true from then on and every later call fails.
    pub fn clean_some(&self, limit: usize) -> Result<usize> {
        let mut cleaner = self.cleaner.lock();
        self.failure.check()?;
        self.pick(&mut cleaner.picks, limit.min(BATCH_MAX));
        cleaner.batch.clear();
        cleaner.flights.clear();
        for i in 0..cleaner.picks.len() {
            let frame = cleaner.picks[i].2;
            self.copy_page(&mut cleaner, frame);
        }
        if cleaner.flights.is_empty() {
            return Ok(0);
        }
        if let Err(e) = self.write_batch(&mut cleaner) {
            self.failure.latch(&e);
            self.freed.notify_all();
            return Err(e);
        }
        for (_, frame) in &cleaner.flights {
            self.frames[*frame as usize].landed();
        }
        let cleaned = cleaner.flights.len();
        // Drops the references to tablespaces, which may be closed next.
        cleaner.flights.clear();
        drop(cleaner);
        self.freed.notify_all();
        Ok(cleaned)
    }

    /// As [`Pool::clean_some`], for one instance.
    pub fn clean_instance(&self, instance: usize, limit: usize) -> Result<usize> {
        let _ = instance;
        self.clean_some(limit)
    }

    /// The `limit` most urgent changed frames, in the order of their pages. Looks at every
    /// frame, so its cost grows with the pool: above some 10 GiB an ordered structure would pay.
    fn pick(&self, picks: &mut Vec<(bool, Lsn, u32)>, limit: usize) {
        picks.clear();
        for (no, frame) in self.frames.iter().enumerate() {
            if let Some(lsn) = frame.rec_lsn() {
                picks.push((!frame.is_wanted(), lsn, no as u32));
            }
        }
        if picks.len() > limit {
            picks.select_nth_unstable(limit);
            picks.truncate(limit);
        }
        picks.sort_unstable_by_key(|&(_, _, no)| self.frames[no as usize].page());
    }

    /// Copies a changed page into the batch and notes that its changes are in flight.
    fn copy_page(&self, cleaner: &mut Cleaner, no: u32) {
        let frame = &self.frames[no as usize];
        let Some(id) = frame.page() else { return };
        let Some(ts) = self.tablespace(id.space) else { return };
        let Ok(word) = ts.word(id.page) else { return };
        let mut tries = 0;
        loop {
            let seen = word.load();
            if seen.evicted() || seen.frame() != no {
                return;
            }
            if word.try_shared(seen) {
                break;
            }
            tries += 1;
            if tries > LATCH_TRIES {
                return;
            }
            sync::spin_wait();
        }
        if frame.page() == Some(id) && frame.rec_lsn().is_some() {
            // SAFETY: the shared latch keeps writers and the clock away from the frame.
            let bytes = unsafe { self.frame_bytes(no).as_ref() };
            cleaner.batch.push(id).copy_from_slice(bytes);
            frame.take_off();
            cleaner.flights.push((ts.clone(), no));
        }
        word.release_shared();
    }

    fn write_batch(&self, cleaner: &mut Cleaner) -> Result<()> {
        let Cleaner { file, batch, number, flights, .. } = cleaner;
        let mut newest = Lsn::ZERO;
        for i in 0..batch.len() {
            let page = batch.page_mut(i);
            newest = newest.max(page::header::lsn(page));
            page::header::seal(page);
        }
        self.log.flush_to(newest)?;
        // A mini-transaction that could not be logged has latched the failure before it released
        // its pages; such a page must not reach the disk.
        self.failure.check()?;
        *number += 1;
        io::write(Of::Doublewrite, &**file, batch.with_directory(*number), 0)?;
        io::sync_data(Of::Doublewrite, &**file)?;
        instrument::count(Counter::InnodbDblwrWrites, 1);
        instrument::count(Counter::InnodbDblwrPagesWritten, batch.len() as u64);
        write_in_place(batch, flights)?;
        instrument::count(Counter::InnodbPagesWritten, batch.len() as u64);
        Ok(())
    }

    /// The oldest change that a data file may lack; [`Lsn::MAX`] when there is none.
    pub fn oldest_dirty(&self) -> Lsn {
        self.frames.iter().map(|f| f.oldest()).min().unwrap_or(Lsn::MAX)
    }

    /// How many frames hold changes that their data file may lack.
    pub fn dirty_frames(&self) -> usize {
        self.frames.iter().filter(|f| !f.is_clean()).count()
    }

    /// Lets recovery start as late as the data files allow, keeping `payload` with the checkpoint.
    /// Returns where that is. Writes no page: [`Pool::clean_some`] does.
    pub fn checkpoint(&self, payload: &[u8]) -> Result<Lsn> {
        let _one_at_a_time = self.checkpointing.lock();
        // Redo that waits for its page first: once applied, the frame has its mark.
        let waiting = self.pending.bound();
        let floor = self.log.dirty_floor();
        let bound = waiting.min(floor).min(self.oldest_dirty());
        // A writer that was held up between reading the log's tail and publishing it makes the
        // floor step back; the last checkpoint stays right.
        let bound = bound.max(self.log.checkpoint_lsn());
        self.failure.check()?;
        self.log.checkpoint(bound, payload)?;
        Ok(bound)
    }

    /// Writes every changed page. With writers at work it ends when it has once found none.
    pub fn flush_all(&self) -> Result<()> {
        for _ in 0..FLUSH_TRIES {
            while self.clean_some(doublewrite::BATCH_MAX)? > 0 {}
            if self.dirty_frames() == 0 {
                return Ok(());
            }
            sync::yield_now();
        }
        Err(Error::Internal("a page stayed latched while all pages were to be flushed"))
    }
}

/// Writes the batch's pages where they belong, neighbours in one write, and syncs each file once.
fn write_in_place(batch: &Batch, flights: &[(Arc<Tablespace>, u32)]) -> Result<()> {
    let ids = batch.ids();
    let mut from = 0;
    while from < ids.len() {
        let mut to = from + 1;
        while to < ids.len()
            && ids[to].space == ids[from].space
            && ids[to].page.0 == ids[to - 1].page.0 + 1
        {
            to += 1;
        }
        let file = &*flights[from].0.file;
        io::write(Of::Data, file, batch.range(from, to), offset(ids[from].page))?;
        from = to;
    }
    for (i, (ts, _)) in flights.iter().enumerate() {
        if i + 1 == ids.len() || ids[i + 1].space != ids[i].space {
            io::sync_data(Of::Data, &*ts.file)?;
        }
    }
    Ok(())
}
