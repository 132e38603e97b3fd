//! Reading the log and sorting its records by page, on several threads.
//!
//! 1. One thread reads windows; every parser looks at every frame in order and keeps the pages of its own
//!    shards. So a page's frames stay in log order, and nothing is shared while sorting.
//! 2. A frame that makes a page anew drops the page's earlier ones: whatever they did is overwritten.
//! 3. A space is asked for when the first record of it is met. One without a file was dropped (a file is
//!    made before its redo): its records are skipped.
//! 4. What is kept of the log and the index over it is bounded: when the bound is reached before the tail,
//!    what was read is made durable and applied to all its pages, and reading goes on.

use super::pending::{PageRedo, Place, SHARDS, Shard, shard_of};
use super::{RecoverOptions, Recovered};
use crate::{Pool, Tablespace};
use base::{Error, PageId, PageNo, Result, SpaceId};
use host::thread::JoinHandle;
use instrument::{CondClass, MutexClass};
use page::PageOp;
use redo::body::{Record, records};
use redo::{Replay, Window};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, Mutex};

static FEED_MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/limpid/recovery_feed");
static FEED_COND: CondClass = CondClass::new("wait/synch/cond/limpid/recovery_feed");

/// Memory of a page in a shard's map, about.
const PAGE_ENTRY_BYTES: usize = 80;

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
    closed: bool,
}

impl Feed {
    /// Window number `i`, waiting for it; `None`: the batch has no more.
    fn window(&self, i: usize) -> Option<Arc<Window>> {
        let mut found = None;
        loop {
            let seen = self.more.prepare();
            let windows = self.windows.lock();
            match windows.list.get(i) {
                Some(window) => found = Some(Arc::clone(window)),
                None if !windows.closed => {
                    drop(windows);
                    let _ = self.more.wait_unkillable(seen, Deadline::Never);
                    continue;
                }
                None => {}
            }
            return found;
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

/// Sorts the records of the shards with `shard % of == number`.
struct Parser {
    number: usize,
    of: usize,
    feed: Arc<Feed>,
    shards: Vec<(usize, Shard)>,
    /// How far each space reaches; `None`: it has no file.
    spaces: HashMap<SpaceId, Option<PageNo>>,
    records: u64,
    /// Page entries and places added since the feed was told.
    added_bytes: u64,
}

impl Parser {
    fn new(number: usize, of: usize, feed: &Arc<Feed>) -> Parser {
        Parser {
            number,
            of,
            feed: Arc::clone(feed),
            shards: (number..SHARDS).step_by(of).map(|i| (i, Shard::default())).collect(),
            spaces: HashMap::new(),
            records: 0,
            added_bytes: 0,
        }
    }

    fn run(mut self) -> Result<Parser> {
        let mut i = 0;
        while let Some(window) = self.feed.window(i) {
            self.window(i as u32, &window)?;
            i += 1;
        }
        Ok(self)
    }

    fn window(&mut self, number: u32, window: &Window) -> Result<()> {
        for (i, frame) in window.frames.iter().enumerate() {
            let place = Place { window: number, frame: i as u32 };
            for record in records(window.body(frame), frame.start) {
                match record? {
                    Record::Page { page, op } => self.page_record(place, page, op)?,
                    Record::Logical { kind, bytes } if self.number == 0 => {
                        self.records += 1;
                        (self.feed.options.logical)(frame.start, kind, bytes)?;
                    }
                    Record::Logical { .. } => {}
                }
            }
        }
        let added = std::mem::take(&mut self.added_bytes);
        self.feed.index_bytes.fetch_add(added, Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    fn page_record(&mut self, place: Place, page: PageId, op: &[u8]) -> Result<()> {
        let shard = shard_of(page);
        if shard % self.of != self.number {
            return Ok(());
        }
        self.records += 1;
        if !self.reaches(page)? {
            return Ok(());
        }
        let waiting = self.shards[shard / self.of].1.entry(page).or_insert_with(|| {
            self.added_bytes += PAGE_ENTRY_BYTES as u64;
            PageRedo::default()
        });
        if waiting.frames.last() == Some(&place) {
            return Ok(());
        }
        if PageOp::makes_anew(op) {
            waiting.frames.clear();
            waiting.anew = true;
        }
        waiting.frames.push(place);
        self.added_bytes += size_of::<Place>() as u64;
        Ok(())
    }

    /// Whether the page's space has a file; notes how far it must reach.
    #[inline]
    fn reaches(&mut self, page: PageId) -> Result<bool> {
        if let Some(known) = self.spaces.get_mut(&page.space) {
            if let Some(last) = known {
                *last = page.page.max(*last);
            }
            return Ok(known.is_some());
        }
        let found = self.feed.pool.space_for_redo(page.space, &self.feed.options)?;
        let known = found.map(|_| page.page);
        self.spaces.insert(page.space, known);
        Ok(known.is_some())
    }
}

/// The parsers of one batch: threads, or one that the reader steps itself.
enum Parsers {
    Here(Box<Parser>, usize),
    Threads(Vec<JoinHandle<Result<Parser>>>),
}

impl Parsers {
    fn start(feed: &Arc<Feed>) -> Result<Parsers> {
        let threads = feed.options.threads.clamp(1, SHARDS);
        if threads == 1 {
            return Ok(Parsers::Here(Box::new(Parser::new(0, 1, feed)), 0));
        }
        let spawn = |i| {
            let parser = Parser::new(i, threads, feed);
            host::thread::spawn("redo_parser", move || parser.run())
                .map_err(|e| Error::io("start thread", "redo_parser", e))
        };
        let started: Result<Vec<_>> = (0..threads).map(spawn).collect();
        if started.is_err() {
            feed.close();
        }
        started.map(Parsers::Threads)
    }

    /// A window was pushed.
    fn step(&mut self, window: &Window) -> Result<()> {
        if let Parsers::Here(parser, next) = self {
            parser.window(*next as u32, window)?;
            *next += 1;
        }
        Ok(())
    }

    fn join(self) -> Result<Vec<Parser>> {
        match self {
            Parsers::Here(parser, _) => Ok(vec![*parser]),
            Parsers::Threads(threads) => {
                // All are waited for, whatever the first of them says.
                let ended: Vec<_> = threads.into_iter().map(JoinHandle::join).collect();
                let died = |_| Error::Internal("a thread that read the log has died");
                ended.into_iter().map(|e| e.map_err(died)?).collect()
            }
        }
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
        let mut reach: BTreeMap<SpaceId, PageNo> = BTreeMap::new();
        let mut shards = Vec::new();
        for parser in parsed? {
            done.records += parser.records;
            shards.extend(parser.shards);
            for (space, last) in parser.spaces {
                if let Some(last) = last {
                    let reach = reach.entry(space).or_insert(last);
                    *reach = last.max(*reach);
                }
            }
        }
        for (space, last) in reach {
            if let Some(ts) = self.tablespace(space) {
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
            // Dropped; or damaged in page 0, which opening the table will say.
            Err(Error::MissingSpace(_) | Error::Foreign { .. } | Error::Corrupt { .. }) => Ok(None),
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
        let window = Arc::new(window);
        if let (Some(first), Some(last)) = (window.frames.first(), window.frames.last()) {
            done.bytes += last.end.0 - first.start.0;
            done.end = last.end;
        }
        done.frames += window.frames.len() as u64;
        window_bytes += window.bytes.len() as u64;
        feed.push(Arc::clone(&window));
        parsers.step(&window)?;
        let held = window_bytes + feed.index_bytes.load(Ordering::Relaxed);
        done.held_bytes_max = held.max(done.held_bytes_max);
        if held >= feed.options.memory_bytes as u64 {
            return Ok(true);
        }
    }
    Ok(false)
}
