//! Reading pages before they are asked for.
//!
//! 1. Who asks never waits: a bounded queue takes pages that are not in memory, threads read them, pages next
//!    to each other by one read. What does not fit into the queue, or finds no free frame, is not read: it will
//!    be when somebody needs it. Guard: `pages_asked_for_are_there_when_they_are_needed`; `ask` takes what the
//!    queue has room for, `claim` what is free.
//! 2. Pages read ahead are on probation, and known as such until somebody asks for them. Guard:
//!    `pages_read_ahead_in_vain_are_counted`.
//! 3. A thread announces itself at the tablespace while it reads, so that closing waits for it. Guard:
//!    `a_tablespace_is_closed_while_its_pages_are_read_ahead`.

use crate::clock::Purpose;
use crate::instance::{EXTENT_PAGES, add};
use crate::tablespace::{as_page, offset};
use crate::{Pool, Tablespace, io};
use base::{Error, PAGE_BYTES, PageId, PageNo, SpaceId};
use host::AlignedBuf;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};
use sync::{Deadline, Event, Mutex};

instrument::classes! {
    static QUEUE_MUTEX: MutexClass = "wait/synch/mutex/innodb/read_ahead_mutex";
    static QUEUE_COND: CondClass = "wait/synch/cond/innodb/read_ahead_cond";
}

/// Most pages in the queue.
const QUEUE_MAX: usize = 1024;

/// Most pages of one read.
pub(crate) const READ_MAX: usize = 32;

/// Pages of an extent in memory from which on `innodb_random_read_ahead` reads the others.
const RANDOM_THRESHOLD: usize = 13;

/// How often a thread looks whether it shall end.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What the read-ahead threads share.
pub(crate) struct ReadAhead {
    threads_wanted: usize,
    queue: Mutex<VecDeque<PageId>>,
    event: Event,
    /// Running threads; nothing is queued while there is none.
    threads: SharedAtomic<u32, { class::POOL }>,
    /// Pages asked for by `innodb_random_read_ahead`.
    pub(crate) random: SharedAtomic<u64, { class::POOL }>,
}

impl ReadAhead {
    pub(crate) fn new(threads_wanted: usize) -> ReadAhead {
        ReadAhead {
            threads_wanted,
            queue: Mutex::new(&QUEUE_MUTEX, VecDeque::new()),
            event: Event::new(&QUEUE_COND),
            threads: SharedAtomic::new(0),
            random: SharedAtomic::new(0),
        }
    }
}

/// Pages that a scan had to wait for, or found read ahead, one after the other in their order.
/// Several scans at once spoil it for each other, which costs read-ahead only.
#[derive(Debug, Default)]
pub(crate) struct Run {
    next: LocalAtomic<u32>,
    pages: LocalAtomic<u32>,
}

impl Run {
    /// Adds a page; how many pages in order end with it.
    fn add(&self, page: u32) -> u32 {
        let follows = self.next.load(Ordering::Relaxed) == page;
        let pages = if follows { self.pages.load(Ordering::Relaxed).saturating_add(1) } else { 1 };
        self.next.store(page.wrapping_add(1), Ordering::Relaxed);
        self.pages.store(pages, Ordering::Relaxed);
        pages
    }
}

impl Tablespace {
    /// Asks the read-ahead threads for pages that will be needed soon. Never waits; asks for
    /// nothing while the threads have enough to do, or when there are none. Pages that are in
    /// memory cost a look at their words.
    pub fn prefetch(&self, pages: &[PageNo]) {
        self.prefetch_each(pages.iter().copied());
    }

    /// How many were asked for.
    fn prefetch_each(&self, pages: impl Iterator<Item = PageNo>) -> usize {
        let mut missing = pages.filter(|p| self.is_missing(*p)).peekable();
        if missing.peek().is_none() {
            return 0;
        }
        let Ok(pool) = self.pool() else { return 0 };
        pool.ask(self.id(), missing)
    }

    fn is_missing(&self, page: PageNo) -> bool {
        match self.word_made(page.0) {
            Some(word) => word.load().evicted(),
            None => page.0 < self.pages_in_file(),
        }
    }

    /// A scan had to wait for this page, or found it read ahead: asks for the next extent when it
    /// has come far enough in this one, or for the rest of this one.
    pub(crate) fn scanned(&self, page: PageNo) {
        let pages = self.run.add(page.0);
        let extent = page.0 / EXTENT_PAGES * EXTENT_PAGES;
        let threshold = self.shared.settings.read_ahead_threshold();
        if threshold > 0 && pages >= threshold && page.0 - extent == threshold - 1 {
            let next = extent.saturating_add(EXTENT_PAGES);
            self.prefetch_each((next..next.saturating_add(EXTENT_PAGES)).map(PageNo));
        }
        if self.shared.settings.random_read_ahead() {
            let all = (extent..extent.saturating_add(EXTENT_PAGES)).map(PageNo);
            let missing = all.clone().filter(|p| self.is_missing(*p)).count();
            if EXTENT_PAGES as usize - missing >= RANDOM_THRESHOLD {
                let asked = self.prefetch_each(all) as u64;
                if let Ok(pool) = self.pool() {
                    pool.read_ahead.random.fetch_add(asked, Ordering::Relaxed);
                }
            }
        }
    }
}

impl Pool {
    fn ask(&self, space: SpaceId, pages: impl Iterator<Item = PageNo>) -> usize {
        if self.read_ahead.threads.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut queue = self.read_ahead.queue.lock();
        let room = QUEUE_MAX - queue.len();
        let before = queue.len();
        queue.extend(pages.take(room).map(|page| PageId::new(space, page)));
        let asked = queue.len() - before;
        drop(queue);
        self.read_ahead.event.notify_one();
        asked
    }

    /// How many threads shall run [`Pool::read_ahead_thread`].
    pub fn read_io_threads(&self) -> usize {
        self.read_ahead.threads_wanted
    }

    /// What a read-ahead thread (`innodb_read_io_threads`) runs; returns soon after `stop` does.
    pub fn read_ahead_thread(&self, stop: &dyn Fn() -> bool) {
        let ahead = &self.read_ahead;
        ahead.threads.fetch_add(1, Ordering::Relaxed);
        let mut buffer = AlignedBuf::zeroed(READ_MAX * PAGE_BYTES);
        while !stop() {
            let seen = ahead.event.prepare();
            match self.next_run() {
                Some((first, pages)) => {
                    self.read_run(first, pages, Purpose::Ahead, &mut buffer);
                }
                None => {
                    let _ = ahead.event.wait_unkillable(seen, Deadline::after(LOOK_AGAIN));
                }
            }
        }
        ahead.threads.fetch_sub(1, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn read_ahead_threads(&self) -> u32 {
        self.read_ahead.threads.load(Ordering::Relaxed)
    }

    /// Wakes the read-ahead threads to let them see that they shall end.
    pub fn wake_read_ahead(&self) {
        self.read_ahead.event.notify_all();
    }

    /// The next page in the queue, and how many that follow it in its file and in the queue.
    fn next_run(&self) -> Option<(PageId, u32)> {
        let mut queue = self.read_ahead.queue.lock();
        let first = queue.pop_front()?;
        let mut pages = 1;
        let follows = |pages: u32| PageId::new(first.space, PageNo(first.page.0 + pages));
        while (pages as usize) < READ_MAX && queue.front() == Some(&follows(pages)) {
            queue.pop_front();
            pages += 1;
        }
        if !queue.is_empty() {
            self.read_ahead.event.notify_one();
        }
        Some((first, pages))
    }

    /// Reads pages of a file that lie one after another, those that are not in memory. Read for
    /// [`Purpose::Asked`] they take free frames only: nothing is evicted for them.
    pub(crate) fn read_run(
        &self,
        first: PageId,
        pages: u32,
        purpose: Purpose,
        buffer: &mut AlignedBuf,
    ) {
        let Some(ts) = self.tablespace(first.space) else { return };
        if ts.begin_read() {
            let end = (first.page.0.saturating_add(pages)).min(ts.pages_in_file());
            self.read_open_run(&ts, first.page.0..end, purpose, buffer);
            ts.end_read();
        }
    }

    fn read_open_run(
        &self,
        ts: &Arc<Tablespace>,
        mut pages: Range<u32>,
        purpose: Purpose,
        buffer: &mut AlignedBuf,
    ) {
        // What is in memory at both ends is not read.
        let missing = |page: &u32| ts.is_missing(PageNo(*page));
        let Some(from) = pages.find(missing) else { return };
        let to = pages.rev().find(missing).map_or(from, |last| last) + 1;
        let bytes = &mut buffer[..(to - from) as usize * PAGE_BYTES];
        let claimed: Vec<(u32, u32)> =
            (from..to).filter_map(|page| Some((page, self.claim(ts, page, purpose)?))).collect();
        if claimed.is_empty() {
            return;
        }
        // An error is found again, and reported, by who needs the page.
        let read = io::read_or_zero(&*ts.file, bytes, offset(PageNo(from)));
        for (page, frame) in claimed {
            let at = (page - from) as usize * PAGE_BYTES;
            let source = as_page(&mut bytes[at..at + PAGE_BYTES]);
            let word = ts.word(PageNo(page)).expect("the page exists since it was claimed");
            let copied = self.take_in(ts, PageNo(page), frame, |bytes| {
                read.as_ref().map_err(Error::duplicate)?;
                bytes.copy_from_slice(source);
                self.check_read(ts.page_id(PageNo(page)), bytes)
            });
            match purpose {
                _ if copied.is_err() => {
                    self.give_back(frame);
                    word.abort_io();
                }
                Purpose::Asked => word.publish(frame),
                Purpose::Scan | Purpose::Ahead => {
                    add(&self.counts_of_frame(frame).read_ahead);
                    word.publish_marked(frame);
                }
            }
        }
    }

    /// Takes a page's reading-in over, with a frame for it; `None` when it is in memory, somebody
    /// else reads it, or there is no frame for it.
    fn claim(&self, ts: &Tablespace, page: u32, purpose: Purpose) -> Option<u32> {
        let word = ts.word(PageNo(page)).ok()?;
        let instance = self.instance_of(ts.page_id(PageNo(page)));
        if purpose == Purpose::Asked && self.instances[instance].free.lock().len() == 0 {
            return None;
        }
        if !word.begin_io(word.load()) {
            return None;
        }
        let frame = self.try_take(instance, purpose);
        if frame.is_none() {
            word.abort_io();
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_pages_in_their_order() {
        let run = Run::default();
        assert_eq!([5, 6, 7, 9, 10, 9].map(|p| run.add(p)), [1, 2, 3, 1, 2, 1]);
        assert_eq!([u32::MAX, 0].map(|p| run.add(p)), [1, 2]);
    }
}
