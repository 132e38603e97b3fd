//! Writing changed pages back, and the checkpoint that follows.
//!
//! 1. Always from a copy: the page is latched for the copying only, writers never wait for I/O. Guard:
//!    `copy_page` lets go of the latch before `write_batch`;
//!    `a_page_that_was_changed_while_its_copy_was_in_flight_holds_the_checkpoint`.
//! 2. Order of a batch: copy; log durable up to the newest copy; doublewrite file, synced; pages in place,
//!    synced; only then are the changes forgotten (`frames.rs` 3). Batches of one instance do not overlap;
//!    batches of different instances have no page in common. What is written is the page that its place says,
//!    and sound. Guard: `write_batch` asserts the log's mark, `assert_is_sound` the pages (nodes wholly in
//!    debug builds); `whatever_was_acknowledged_is_there_after_a_crash` tears what was not synced.
//! 3. The cleaner waits for no page latch: a page that stays latched is left for later, behind all others, so a
//!    writer that waits for a frame while it holds latches always gets one. Guard:
//!    `pages_that_stay_latched_do_not_keep_others_from_being_written`.
//! 4. Checkpoint bound: the log's dirty floor first, then every instance's stack drained into its buckets and
//!    the oldest taken, so a change is seen by one or the other (`engine.md` P-E). It waits for no I/O of a
//!    batch. Guard: debug assertions in `checkpoint_with` (all frames) and `mark_dirty`;
//!    `no_order_of_steps_lets_a_checkpoint_pass_a_change`; redo's model
//!    `the_checkpoint_bound_misses_no_dirty_page`.

use crate::dirty::Entry;
use crate::doublewrite::{BATCH_MAX, Batch, DoublewriteFile};
use crate::instance::{EXTENT_PAGES, Instance};
use crate::io;
use crate::tablespace::{Tablespace, offset};
use crate::{Doublewrite, Pool, doublewrite};
use base::{Error, Lsn, PAGE_BYTES, PageBuf, PageId, PageNo, Result};
use instrument::Counter;
use page::PageKind;
use std::sync::Arc;
use stdx::Ordering;

/// How often a latched page is tried again before it is left for later.
const LATCH_TRIES: u32 = 200;

/// How often [`Pool::flush_all`] looks again at pages that stay latched.
const FLUSH_TRIES: u32 = 10_000;

/// Which changed pages a batch is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pages {
    /// Those the clock would like to free.
    Wanted,
    /// Those with the oldest changes.
    Oldest,
    /// The former, then the latter.
    Both,
}

/// What the one at work on an instance's batch holds between the steps.
pub(crate) struct Flusher {
    file: DoublewriteFile,
    batch: Batch,
    /// Tablespace and frame of each page of the batch, in its order.
    flights: Vec<(Arc<Tablespace>, u32)>,
    picks: Vec<Entry>,
    wanted: Vec<u32>,
    /// Pages written so far because their frames were wanted.
    pub(crate) for_frames: u64,
}

impl Flusher {
    pub(crate) fn new(file: DoublewriteFile) -> Flusher {
        let (flights, picks, wanted) = (Vec::new(), Vec::new(), Vec::new());
        Flusher { file, batch: Batch::new(), flights, picks, wanted, for_frames: 0 }
    }
}

impl Pool {
    /// [`Pool::clean_instance`] for all instances, of which each writes up to `limit` pages.
    pub fn clean_some(&self, limit: usize) -> Result<usize> {
        (0..self.instances.len()).try_fold(0, |n, i| Ok(n + self.clean_instance(i, limit)?))
    }

    /// Writes one batch of at most `limit` (and 64) changed pages of an instance: those the clock
    /// wants first, then those with the oldest changes. Returns how many; 0 when no page is
    /// changed, or those that are stay latched.
    ///
    /// An error is final: [`Pool::failed`] is true from then on and every later call fails.
    pub fn clean_instance(&self, instance: usize, limit: usize) -> Result<usize> {
        self.clean(instance, limit, Pages::Both)
    }

    pub(crate) fn clean(&self, instance: usize, limit: usize, pages: Pages) -> Result<usize> {
        let inst = &self.instances[instance];
        let mut flusher = inst.flusher.lock();
        self.failure.check()?;
        self.pick(inst, &mut flusher, limit.min(BATCH_MAX), pages);
        self.copy_pages(inst, &mut flusher);
        if flusher.flights.is_empty() && limit < BATCH_MAX {
            // Those few are latched, perhaps by somebody who waits for a frame: others will do.
            self.pick(inst, &mut flusher, BATCH_MAX, pages);
            self.copy_pages(inst, &mut flusher);
        }
        let cleaned = flusher.flights.len();
        if cleaned > 0
            && let Err(e) = self.write_batch(&mut flusher)
        {
            self.failure.latch(&e);
            inst.freed.notify_all();
            return Err(e);
        }
        for (_, frame) in &flusher.flights {
            self.arena.header(*frame).landed();
        }
        inst.dirty.lock().landed();
        // Drops the references to tablespaces, which may be closed next.
        flusher.flights.clear();
        drop(flusher);
        if cleaned > 0 {
            self.shared.counts[instance].written.fetch_add(cleaned as u64, Ordering::Relaxed);
            inst.freed.notify_all();
        }
        Ok(cleaned)
    }

    /// The `limit` most urgent changed frames, in the order of their pages.
    fn pick(&self, inst: &Instance, flusher: &mut Flusher, limit: usize, pages: Pages) {
        let Flusher { picks, wanted, for_frames, .. } = flusher;
        picks.clear();
        wanted.clear();
        if pages != Pages::Oldest {
            let mut free = inst.free.lock();
            let from = free.wanted.len().saturating_sub(limit);
            wanted.extend(free.wanted.drain(from..));
        }
        let mut dirty = inst.dirty.lock();
        dirty.drain(&inst.changed, &self.arena);
        for &frame in wanted.iter() {
            let header = self.arena.header(frame);
            header.unwant();
            picks.extend(header.rec_lsn().map(|lsn| Entry { lsn, frame }));
        }
        *for_frames += picks.len() as u64;
        dirty.pick(if pages == Pages::Wanted { 0 } else { limit }, &self.arena, picks);
        if self.settings().flush_neighbors() > 0 {
            self.add_neighbours(BATCH_MAX, picks);
            dirty.fly(picks);
        }
        drop(dirty);
        picks.sort_by_cached_key(|e| (self.arena.header(e.frame).page(), e.frame));
        picks.dedup_by_key(|e| e.frame);
    }

    /// Adds changed neighbours of the picked pages: those next to them, or all of their extents.
    fn add_neighbours(&self, limit: usize, picks: &mut Vec<Entry>) {
        let whole_extents = self.settings().flush_neighbors() > 1;
        for i in 0..picks.len() {
            let Some(id) = self.arena.header(picks[i].frame).page() else { continue };
            let Some(ts) = self.tablespace(id.space) else { continue };
            let changed = |page: u32| {
                let seen = ts.word_made(page)?.load();
                let frame = (!seen.evicted()).then_some(seen.frame())?;
                let header = self.arena.header(frame);
                let same = header.page() == Some(PageId::new(id.space, PageNo(page)));
                header.rec_lsn().filter(|_| same).map(|lsn| Entry { lsn, frame })
            };
            let first = id.page.0 / EXTENT_PAGES * EXTENT_PAGES;
            let up = (id.page.0 + 1..first + EXTENT_PAGES).map(changed);
            let down = (first..id.page.0).rev().map(changed);
            let room = limit.saturating_sub(picks.len());
            match whole_extents {
                true => picks.extend(down.chain(up).flatten().take(room)),
                false => {
                    let near = down.map_while(|e| e).chain(up.map_while(|e| e));
                    picks.extend(near.take(room));
                }
            }
        }
    }

    /// Copies the picked pages into the batch; what stays latched is put back.
    fn copy_pages(&self, inst: &Instance, flusher: &mut Flusher) {
        flusher.batch.clear();
        flusher.flights.clear();
        for i in 0..flusher.picks.len() {
            let frame = flusher.picks[i].frame;
            self.copy_page(flusher, frame);
        }
        let mut dirty = inst.dirty.lock();
        // Whatever kept a page from being copied: while its change is there it must not be lost.
        let left = flusher.picks.iter().filter(|e| crate::dirty::counts(e, &self.arena));
        left.for_each(|e| dirty.put_back(*e));
        dirty.taken_off(flusher.flights.len());
    }

    /// Copies a changed page into the batch and notes that its changes are in flight; nothing if
    /// it stays latched, or is just being read in.
    fn copy_page(&self, flusher: &mut Flusher, no: u32) {
        let frame = self.arena.header(no);
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
        if frame.page() == Some(id)
            && let Some(oldest) = frame.rec_lsn()
        {
            // SAFETY: the shared latch keeps writers and the clock away from the frame.
            let bytes = unsafe { self.frame_bytes(no).as_ref() };
            // Both are of our own mini-transactions, or recovery's, since the page came in.
            let newest = page::header::lsn(bytes);
            assert!(
                oldest < newest,
                "page {id} of {newest:?} is marked changed from {oldest:?} on"
            );
            flusher.batch.push(id).copy_from_slice(bytes);
            frame.take_off();
            flusher.flights.push((ts.clone(), no));
        }
        word.release_shared();
    }

    fn write_batch(&self, flusher: &mut Flusher) -> Result<()> {
        let Flusher { file, batch, flights, .. } = flusher;
        let mut newest = Lsn::ZERO;
        for i in 0..batch.len() {
            let id = batch.ids()[i];
            let page = batch.page_mut(i);
            assert_is_sound(id, page);
            newest = newest.max(page::header::lsn(page));
            page::header::seal(page);
        }
        self.log.flush_to(newest)?;
        let durable = self.log.durable();
        assert!(durable >= newest, "pages up to {newest:?} go out, the log up to {durable:?}");
        // A mini-transaction that could not be logged has latched the failure before it released
        // its pages; such a page must not reach the disk.
        self.failure.check()?;
        self.forget_old_copies()?;
        let atomic = flights.iter().all(|(ts, _)| ts.atomic_write_bytes() >= PAGE_BYTES);
        if !atomic {
            self.write_copies(file, batch)?;
        }
        self.write_in_place(batch, flights, atomic)?;
        instrument::count(Counter::InnodbPagesWritten, batch.len() as u64);
        Ok(())
    }

    /// The copies, durable elsewhere, as `innodb_doublewrite` says.
    fn write_copies(&self, file: &mut DoublewriteFile, batch: &mut Batch) -> Result<()> {
        match self.settings().doublewrite() {
            Doublewrite::Off | Doublewrite::DetectOnly => return Ok(()),
            Doublewrite::On | Doublewrite::DetectAndRecover => file.write(batch)?,
        }
        instrument::count(Counter::InnodbDblwrWrites, 1);
        instrument::count(Counter::InnodbDblwrPagesWritten, batch.len() as u64);
        Ok(())
    }

    /// Writes the batch's pages where they belong and syncs each file once: neighbours in one
    /// write, or each page by itself when that is what makes it atomic.
    fn write_in_place(
        &self,
        batch: &Batch,
        flights: &[(Arc<Tablespace>, u32)],
        atomic: bool,
    ) -> Result<()> {
        let ids = batch.ids();
        let mut from = 0;
        while from < ids.len() {
            let to = if atomic { from + 1 } else { end_of_run(ids, from) };
            let (file, at) = (&*flights[from].0.file, offset(ids[from].page));
            match atomic {
                true => io::write_atomic(file, batch.range(from, to), at)?,
                false => io::write(file, batch.range(from, to), at)?,
            }
            from = to;
        }
        for (i, (ts, _)) in flights.iter().enumerate() {
            let last_of_file = i + 1 == ids.len() || ids[i + 1].space != ids[i].space;
            if last_of_file && self.flush_method.syncs_data() {
                io::sync_data(&*ts.file)?;
            }
        }
        Ok(())
    }

    /// The oldest change that a data file may lack; [`Lsn::MAX`] when there is none.
    pub fn oldest_dirty(&self) -> Lsn {
        self.instances.iter().map(|i| self.oldest_of(i)).min().unwrap_or(Lsn::MAX)
    }

    pub(crate) fn oldest_of(&self, inst: &Instance) -> Lsn {
        let mut dirty = inst.dirty.lock();
        dirty.drain(&inst.changed, &self.arena);
        dirty.oldest(&self.arena)
    }

    /// How many frames hold changes that their data file may lack.
    pub fn dirty_frames(&self) -> usize {
        self.instances.iter().map(|i| self.dirty_of(i)).sum()
    }

    pub(crate) fn dirty_of(&self, inst: &Instance) -> usize {
        let mut dirty = inst.dirty.lock();
        dirty.drain(&inst.changed, &self.arena);
        dirty.pages()
    }

    /// Notes a change of the page in `frame`, which the caller holds exclusively, by the
    /// mini-transaction that starts at `start`.
    #[inline]
    pub(crate) fn mark_dirty(&self, frame: u32, start: Lsn) {
        debug_assert!(
            start >= self.log.checkpoint_lsn(),
            "the checkpoint is beyond {start:?}, which no file has"
        );
        let header = self.arena.header(frame);
        if header.dirty(start) {
            self.instance_of_frame(frame).changed.push(frame, &header.link);
        }
    }

    /// Debug builds: the page in `frame`, held exclusively, is known to have changes from `start` on.
    #[inline]
    pub(crate) fn debug_assert_marked(&self, frame: u32, start: Lsn) {
        debug_assert!(
            self.arena.header(frame).rec_lsn().is_some_and(|oldest| oldest <= start),
            "a page changed at {start:?} is let go without its mark"
        );
    }

    /// No frame has a change from before `bound` that is not on its way to its file.
    fn debug_assert_passed(&self, bound: Lsn) {
        let older = |no: &u32| self.arena.header(*no).rec_lsn().is_some_and(|lsn| lsn < bound);
        let found =
            if cfg!(debug_assertions) { (0..self.frames_opened()).find(older) } else { None };
        assert!(found.is_none(), "frame {found:?} has a change that checkpoint {bound:?} passes");
    }

    /// Forgets a page and its changes; its word is held exclusively.
    pub(crate) fn throw_away(&self, frame: u32) {
        let inst = self.instance_of_frame(frame);
        let mut dirty = inst.dirty.lock();
        dirty.drain(&inst.changed, &self.arena);
        if self.arena.header(frame).rec_lsn().is_some() {
            dirty.discarded();
        }
        self.arena.header(frame).clear();
    }

    /// Lets recovery start as late as the data files allow, keeping `payload` with the checkpoint.
    /// Returns where that is. Writes no page: [`Pool::clean_some`] does.
    pub fn checkpoint(&self, payload: &[u8]) -> Result<Lsn> {
        self.checkpoint_with(|| payload.to_vec())
    }

    /// As [`Pool::checkpoint`]; `payload` is asked when the place is known: what the log says below it has
    /// happened before.
    pub fn checkpoint_with(&self, payload: impl FnOnce() -> Vec<u8>) -> Result<Lsn> {
        let _one_at_a_time = self.checkpointing.lock();
        // Redo that waits for its page first: once applied, the frame has its mark.
        let waiting = self.pending.bound();
        let floor = self.log.dirty_floor();
        let bound = waiting.min(floor).min(self.oldest_dirty());
        // A writer that was held up between reading the log's tail and publishing it makes the
        // floor step back; the last checkpoint stays right.
        let bound = bound.max(self.log.checkpoint_lsn());
        self.debug_assert_passed(bound);
        self.failure.check()?;
        self.log.checkpoint(bound, &payload())?;
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

/// No page that a bug has written over reaches the disk, where it would stay.
fn assert_is_sound(id: PageId, page: &PageBuf) {
    let named = page::header::page_id(page);
    assert_eq!(named, id, "a frame holds another page than the one that is written");
    if cfg!(debug_assertions) && page::header::kind(page).is_some_and(PageKind::is_node) {
        let checked = page::check_node(page);
        assert!(checked.is_ok(), "a damaged node is about to be written: {checked:?}");
    }
}

/// The end of the pages that follow page `from` in its file without a gap.
fn end_of_run(ids: &[PageId], from: usize) -> usize {
    let follows =
        |i: &usize| ids[*i].space == ids[from].space && ids[*i].page.0 == ids[*i - 1].page.0 + 1;
    from + 1 + (from + 1..ids.len()).take_while(follows).count()
}
