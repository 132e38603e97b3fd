//! Reading the log and sorting its records by page, on several threads.
//!
//! 1. One thread reads windows; each parser takes the next one, and notes in maps of its own, page by page,
//!    where the records are. These maps are joined when the batch is complete. Guard:
//!    `memory_for_waiting_redo_is_bounded`, with one thread and with three.
//! 2. Logical records are taken when the batch is complete, in log order. Guard: `read_batch` sorts them by
//!    their place; the engine's campaign.
//! 3. A space is asked for when the first record of it is met. One without a sound file was dropped (a file is
//!    made before its redo), or its file is lost or damaged: which, the dictionary knows, which cannot be read
//!    yet. Its records are skipped, the space is noted, and no checkpoint passes them until somebody has
//!    decided ([`Pool::forget_skipped`]; `Pending::bound`). Guard:
//!    `redo_takes_a_mini_transaction_once_and_skips_what_has_no_file`.
//! 4. What is kept of the log and the index over it is bounded: when the bound is reached before the tail, what
//!    was read is made durable and applied to all its pages, and reading goes on. Guard:
//!    `memory_for_waiting_redo_is_bounded`.

use super::page_redo::{PageRedo, Place};
use super::pending::{PageHasher, SHARDS, Shard, shard_of};
use super::{RecoverOptions, Recovered};
use crate::{Pool, Tablespace};
use base::{Error, Lsn, PageId, PageNo, Result, SpaceId};
use host::thread::JoinHandle;
use redo::body::{Record, records};
use redo::{Replay, Window};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, Mutex};

instrument::classes! {
    static FEED_MUTEX: MutexClass = "wait/synch/mutex/limpid/recovery_feed";
    static FEED_COND: CondClass = "wait/synch/cond/limpid/recovery_feed";
}

/// Memory of a page in a shard's map, about.
const PAGE_ENTRY_BYTES: usize = 100;

/// What the parsers of one batch share.
struct Feed {
    pool: Arc<Pool>,
    options: Arc<RecoverOptions>,
    windows: Mutex<Windows>,
    more: Event,
    /// Bytes of the index over the windows.
    index_bytes: SharedAtomic<u64, { class::POOL }>,
}

#[derive(Default)]
struct Windows {
    list: Vec<Arc<Window>>,
    /// So many of them were given to parsers.
    given: usize,
    closed: bool,
}

impl Windows {
    fn give(&mut self) -> Option<(u32, Arc<Window>)> {
        let window = self.list.get(self.given)?;
        self.given += 1;
        Some((self.given as u32 - 1, Arc::clone(window)))
    }
}

impl Feed {
    /// The next window and its number, waiting for it; `None`: the batch has no more.
    fn window(&self) -> Option<(u32, Arc<Window>)> {
        loop {
            let seen = self.more.prepare();
            let mut windows = self.windows.lock();
            let given = windows.give();
            if given.is_some() || windows.closed {
                return given;
            }
            drop(windows);
            let _ = self.more.wait_unkillable(seen, Deadline::Never);
        }
    }

    fn push(&self, window: Arc<Window>) {
        self.windows.lock().list.push(window);
        self.more.notify_all();
    }

    fn close(&self) {
        self.windows.lock().closed = true;
        self.more.notify_all();
    }
}

/// Start of its mini-transaction, kind, bytes.
type Logical = (Lsn, u8, Vec<u8>);

/// Sorts the records of the windows that it takes.
struct Parser {
    feed: Arc<Feed>,
    found: Found,
}

/// What parsers found.
#[derive(Default)]
struct Found {
    shards: Vec<Shard>,
    /// How far each space reaches; `None`: it has no file.
    spaces: HashMap<SpaceId, Option<PageNo>, BuildHasherDefault<PageHasher>>,
    logical: Vec<Logical>,
    records: u64,
}

impl Parser {
    fn new(feed: &Arc<Feed>) -> Parser {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        Parser { feed: Arc::clone(feed), found: Found { shards, ..Found::default() } }
    }

    fn run(mut self) -> Result<Found> {
        while let Some((number, window)) = self.feed.window() {
            self.window(number, &window)?;
        }
        Ok(self.found)
    }

    fn window(&mut self, number: u32, window: &Window) -> Result<()> {
        let mut added_bytes = 0;
        for frame in &window.frames {
            let mut all = records(window.body(frame), frame.start);
            let mut at = frame.at;
            while let Some(record) = all.next() {
                self.found.records += 1;
                match record? {
                    Record::Page { page, op } => {
                        added_bytes += self.page_record(Place { window: number, at }, page, op)?;
                    }
                    Record::Logical { kind, bytes } => {
                        self.found.logical.push((frame.start, kind, bytes.to_vec()));
                        added_bytes += size_of::<Logical>() + bytes.len();
                    }
                }
                at = frame.at + all.position() as u32;
            }
        }
        self.feed.index_bytes.fetch_add(added_bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Notes a record; how many bytes of memory that took.
    #[inline]
    fn page_record(&mut self, place: Place, page: PageId, op: &[u8]) -> Result<usize> {
        let shard = shard_of(page);
        if let Some(waiting) = self.found.shards[shard].get_mut(&page) {
            return Ok(waiting.push(place, op));
        }
        if !self.reaches(page)? {
            return Ok(0);
        }
        let mut waiting = PageRedo::default();
        let bytes = waiting.push(place, op);
        self.found.shards[shard].insert(page, waiting);
        Ok(PAGE_ENTRY_BYTES + bytes)
    }

    /// Whether the page's space has a file; notes how far it must reach.
    fn reaches(&mut self, page: PageId) -> Result<bool> {
        let known = match self.found.spaces.entry(page.space) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let found = self.feed.pool.space_for_redo(page.space, &self.feed.options)?;
                unknown.insert(found.map(|_| page.page))
            }
        };
        if let Some(last) = known {
            *last = page.page.max(*last);
        }
        Ok(known.is_some())
    }
}

impl Found {
    /// Adds what another parser found.
    fn join(&mut self, other: Found) {
        for (mine, theirs) in self.shards.iter_mut().zip(other.shards) {
            for (page, redo) in theirs {
                mine.entry(page).or_default().join(redo);
            }
        }
        for (space, last) in other.spaces {
            let mine = self.spaces.entry(space).or_insert(last);
            *mine = last.max(*mine);
        }
        self.logical.extend(other.logical);
        self.records += other.records;
    }
}

/// The parsers of one batch: threads, or one that the reader steps itself.
enum Parsers {
    Here(Box<Parser>),
    Threads(Vec<JoinHandle<Result<Found>>>),
}

impl Parsers {
    fn start(feed: &Arc<Feed>) -> Result<Parsers> {
        if feed.options.threads <= 1 {
            return Ok(Parsers::Here(Box::new(Parser::new(feed))));
        }
        let spawn = |_| {
            let parser = Parser::new(feed);
            host::thread::spawn("redo_parser", move || parser.run())
                .map_err(|e| Error::io("start thread", "redo_parser", e))
        };
        let started: Result<Vec<_>> = (0..feed.options.threads).map(spawn).collect();
        if started.is_err() {
            feed.close();
        }
        started.map(Parsers::Threads)
    }

    /// A window was pushed.
    fn step(&mut self) -> Result<()> {
        match self {
            Parsers::Here(parser) => match parser.feed.window() {
                Some((number, window)) => parser.window(number, &window),
                None => Ok(()),
            },
            Parsers::Threads(_) => Ok(()),
        }
    }

    fn join(self) -> Result<Found> {
        let threads = match self {
            Parsers::Here(parser) => return Ok(parser.found),
            Parsers::Threads(threads) => threads,
        };
        // All are waited for, whatever the first of them says.
        let ended: Vec<_> = threads.into_iter().map(JoinHandle::join).collect();
        let died = |_| Error::Internal("a thread that read the log has died");
        let mut all: Option<Found> = None;
        for found in ended {
            let found = found.map_err(died)??;
            match &mut all {
                Some(all) => all.join(found),
                None => all = Some(found),
            }
        }
        Ok(all.unwrap_or_default())
    }
}

impl Pool {
    /// Reads the log from the checkpoint to the tail and notes for every page what it lacks; then opens
    /// the log for appending. The records are applied when a page is read in
    /// ([`Pool::sweep`] reads in those that nobody asks for).
    ///
    /// Torn pages were repaired. [`Error::CorruptLog`], [`Error::NoSpace`] (a file must grow),
    /// [`Error::Io`].
    pub fn recover(&self, mut replay: Replay, options: RecoverOptions) -> Result<Recovered> {
        let me = self.me.upgrade().ok_or(Error::Shutdown)?;
        let options = Arc::new(options);
        let mut done = Recovered::default();
        self.pending.start_reading(self.log.checkpoint_lsn());
        loop {
            let feed = Arc::new(Feed {
                pool: Arc::clone(&me),
                options: Arc::clone(&options),
                windows: Mutex::new(&FEED_MUTEX, Windows::default()),
                more: Event::new(&FEED_COND),
                index_bytes: SharedAtomic::new(0),
            });
            let more = self.read_batch(&feed, &mut replay, &mut done)?;
            done.batches += 1;
            if !more {
                break;
            }
            (options.on_batch)(&done);
            self.log.secure(&mut replay)?;
            self.sweep_all(options.threads)?;
        }
        self.log.resume(replay)?;
        self.pending.end_reading();
        if done.batches > 1 {
            self.apply_to_resident(options.threads)?;
        }
        Ok(done)
    }

    /// Reads until the tail (`false`) or until the memory is used up (`true`).
    fn read_batch(
        &self,
        feed: &Arc<Feed>,
        replay: &mut Replay,
        done: &mut Recovered,
    ) -> Result<bool> {
        let mut parsers = Parsers::start(feed)?;
        let read = feed_windows(feed, replay, &mut parsers, done);
        feed.close();
        let parsed = parsers.join();
        let more = read?;
        let Found { shards, spaces, mut logical, records } = parsed?;
        done.records += records;
        logical.sort_by_key(|(start, ..)| *start);
        for (start, kind, bytes) in logical {
            (feed.options.logical)(start, kind, &bytes)?;
        }
        let mut reach: Vec<_> = spaces.into_iter().collect();
        reach.sort_unstable();
        for (space, last) in reach {
            if let (Some(ts), Some(last)) = (self.tablespace(space), last) {
                ts.grow(last)?;
            }
        }
        let windows = std::mem::take(&mut feed.windows.lock().list);
        self.pending.install(windows, shards);
        done.pages = self.pending.total();
        Ok(more)
    }

    /// The space of a record: open, opened now, or `None` when it has no sound file of its own.
    fn space_for_redo(
        &self,
        id: SpaceId,
        options: &RecoverOptions,
    ) -> Result<Option<Arc<Tablespace>>> {
        // Parsers meet a space at the same time.
        let _one_opens = self.opening.lock();
        if let Some(ts) = self.tablespace(id) {
            return Ok(Some(ts));
        }
        match self.open_tablespace(id, &(options.space_name)(id)) {
            Ok(ts) => Ok(Some(ts)),
            Err(e @ (Error::MissingSpace(_) | Error::Foreign { .. } | Error::Corrupt { .. })) => {
                self.pending.skip(id, e);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
}

fn feed_windows(
    feed: &Feed,
    replay: &mut Replay,
    parsers: &mut Parsers,
    done: &mut Recovered,
) -> Result<bool> {
    let mut window_bytes = 0;
    while let Some(mut window) = replay.next_window()? {
        let left = feed.options.frames_max - done.frames;
        window.frames.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if let (Some(first), Some(last)) = (window.frames.first(), window.frames.last()) {
            done.bytes += last.end.0 - first.start.0;
            done.end = last.end;
        }
        done.frames += window.frames.len() as u64;
        window_bytes += window.bytes.len() as u64;
        feed.push(Arc::new(window));
        parsers.step()?;
        let held = window_bytes + feed.index_bytes.load(Ordering::Relaxed);
        done.held_bytes_max = held.max(done.held_bytes_max);
        if held >= feed.options.memory_bytes as u64 {
            return Ok(true);
        }
    }
    Ok(false)
}
