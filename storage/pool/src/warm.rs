//! The warm set: which pages are in memory, kept over a restart.
//!
//! 1. The file is MySQL's: a line `space,page` for each page, hottest first. It is written under another name
//!    and renamed, so there is never half of one. Guard: `what_was_hot_before_a_restart_is_in_memory_after_it`;
//!    the file is renamed when it is whole.
//! 2. Heat is what the clock knows: pages used since its hand last came, then the others, then those on
//!    probation; of each kind those that the hand passed last first. Guard:
//!    `a_part_of_the_pages_is_the_hotter_part`.
//! 3. What the file says is a wish: lines that cannot be read, pages and tablespaces that are not there are
//!    passed over. Pages are read in their order, some at a time, no faster than `io_capacity`, and only while
//!    frames are free: loading evicts nothing. Guard:
//!    `nonsense_in_the_file_is_passed_over_and_loading_evicts_nothing`.

use crate::clock::Purpose;
use crate::frames::probation;
use crate::read_ahead::READ_MAX;
use crate::{Pool, Tablespace};
use base::{Error, PAGE_BYTES, PageId, PageNo, Result, SpaceId};
use host::{AlignedBuf, OpenMode};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, Stage, state};

instrument::classes! {
    static WARM_MUTEX: MutexClass = "wait/synch/mutex/innodb/buf_dump_mutex";
    static LOAD: StageClass = "stage/innodb/buffer pool load";
}

/// Name of the file in the data folder, unless `innodb_buffer_pool_filename` says otherwise.
pub const DUMP_FILE_NAME: &str = "ib_buffer_pool";

/// Longest file that is read, in bytes: some 25 million pages.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// What dumps and loads are doing.
pub(crate) struct Warm {
    texts: Mutex<Texts>,
    abort: SharedAtomic<bool, { class::POOL }>,
}

struct Texts {
    dump: String,
    load: String,
}

impl Warm {
    pub(crate) fn new() -> Warm {
        let dump = "Dumping of buffer pool not started".into();
        let load = "Loading of buffer pool not started".into();
        Warm {
            texts: Mutex::new(&WARM_MUTEX, Texts { dump, load }),
            abort: SharedAtomic::new(false),
        }
    }
}

/// Now, as MySQL writes it into status texts: `261121  7:10:09`, in UTC.
pub(crate) fn timestamp() -> String {
    let seconds = host::clock::unix_micros() / 1_000_000;
    let (y, m, d) = host::clock::date_of(seconds / 86_400);
    let (h, min, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{:02}{m:02}{d:02} {h:2}:{min:02}:{s:02}", y % 100)
}

impl Pool {
    /// Writes the names of the hottest pages (`dump_pct` of those in memory, per instance) to the
    /// file `name`.
    pub fn dump(&self, name: &str) -> Result<()> {
        self.say_dump(format!("Dumping buffer pool(s) to {name}"));
        let done = self.write_dump(name);
        match &done {
            Ok(()) => self.say_dump(format!("Buffer pool(s) dump completed at {}", timestamp())),
            Err(e) => self.say_dump(format!("Cannot write '{name}': {e}")),
        }
        done
    }

    fn write_dump(&self, name: &str) -> Result<()> {
        let mut text = String::new();
        for i in 0..self.instances.len() {
            for id in self.hottest(i) {
                let _ = writeln!(text, "{},{}", id.space.0, id.page.0);
            }
        }
        let mut bytes = AlignedBuf::new();
        bytes.extend_from_slice(text.as_bytes());
        bytes.pad_to_block();
        let incomplete = format!("{name}.incomplete");
        let io = |op| move |e| Error::io(op, name, e);
        if self.disk.exists(&incomplete).map_err(io("look for"))? {
            self.disk.remove(&incomplete).map_err(io("remove an old"))?;
        }
        let file = self.disk.open(&incomplete, OpenMode::Create).map_err(io("create"))?;
        file.write_at(&bytes, 0).map_err(io("write"))?;
        file.set_len(text.len() as u64).map_err(io("cut"))?;
        file.sync_data().map_err(io("fdatasync"))?;
        self.disk.rename(&incomplete, name).map_err(io("rename"))?;
        self.disk.sync_dir().map_err(io("make durable the name of"))
    }

    /// The hottest pages of an instance, hottest first.
    fn hottest(&self, instance: usize) -> Vec<PageId> {
        let (n, frames) = (self.instances.len(), self.frames_of(instance));
        let hand = self.instances[instance].free.lock().hand() as usize;
        let mut kinds: [Vec<PageId>; 3] = Default::default();
        for back in 1..=frames {
            let at = (hand + frames - back) % frames;
            let header = self.arena.header((at * n + instance) as u32);
            let Some(id) = header.page() else { continue };
            let Some(ts) = self.tablespace(id.space) else { continue };
            let Some(word) = ts.word_made(id.page.0) else { continue };
            let seen = word.load();
            let kind = match seen.state() {
                _ if seen.evicted() || header.page() != Some(id) => continue,
                _ if header.probation() == probation::ON => 2,
                state::MARKED => 1,
                _ => 0,
            };
            kinds[kind].push(id);
        }
        let mut all = kinds.concat();
        all.truncate((all.len() * self.settings().dump_pct() as usize).div_ceil(100));
        all
    }

    /// Reads the pages that the file `name` names, in their order, at the pace of
    /// `io_capacity`; `open` gives a tablespace, or says that there is none. Returns when done or
    /// aborted: call it on a thread of its own.
    ///
    /// [`Error::Io`] when the file cannot be read.
    pub fn load(
        &self,
        name: &str,
        open: &dyn Fn(SpaceId) -> Option<Arc<Tablespace>>,
    ) -> Result<()> {
        self.warm.abort.store(false, Ordering::Relaxed);
        self.say_load(format!("Loading buffer pool(s) from {name}"));
        let spaces = match self.read_dump(name) {
            Ok(spaces) => spaces,
            Err(e) => {
                self.say_load(format!("Cannot open '{name}' for reading: {e}"));
                return Err(e);
            }
        };
        let done = self.load_pages(&spaces, open);
        let how = if done { "completed at" } else { "aborted on request at" };
        self.say_load(format!("Buffer pool(s) load {how} {}", timestamp()));
        Ok(())
    }

    /// The pages that a dump names, in order.
    fn read_dump(&self, name: &str) -> Result<BTreeMap<SpaceId, Vec<PageNo>>> {
        let io = |op| move |e| Error::io(op, name, e);
        let file = self.disk.open(name, OpenMode::Read).map_err(io("open"))?;
        let bytes = file.len().map_err(io("measure"))?.min(FILE_BYTES_MAX) as usize;
        let mut buf = AlignedBuf::zeroed(bytes.next_multiple_of(host::BLOCK_BYTES));
        let got = file.read_at(&mut buf, 0).map_err(io("read"))?;
        let mut spaces: BTreeMap<SpaceId, Vec<PageNo>> = BTreeMap::new();
        // No more than fits: the file's order is the heat's.
        let most = self.frames() - self.frames() / 8;
        let lines = buf[..got].split(|b| *b == b'\n').filter_map(parse_line).take(most);
        for (space, page) in lines {
            spaces.entry(space).or_default().push(page);
        }
        for pages in spaces.values_mut() {
            pages.sort_unstable();
            pages.dedup();
        }
        Ok(spaces)
    }

    /// False: aborted.
    fn load_pages(
        &self,
        spaces: &BTreeMap<SpaceId, Vec<PageNo>>,
        open: &dyn Fn(SpaceId) -> Option<Arc<Tablespace>>,
    ) -> bool {
        let total: usize = spaces.values().map(Vec::len).sum();
        let stage = Stage::begin(&LOAD, total as u64);
        let mut buffer = AlignedBuf::zeroed(READ_MAX * PAGE_BYTES);
        let (start, mut loaded) = (sync::now(), 0);
        for (space, pages) in spaces {
            let exists = open(*space).is_some();
            for run in runs(pages) {
                if self.warm.abort.load(Ordering::Relaxed) || self.failed() {
                    return false;
                }
                if exists {
                    let first = PageId::new(*space, run[0]);
                    self.read_run(first, run.len() as u32, Purpose::Asked, &mut buffer);
                }
                loaded += run.len();
                stage.has_done(loaded as u64);
                self.say_load(format!("Loaded {loaded}/{total} pages"));
                self.keep_pace(loaded, sync::now().saturating_duration_since(start));
            }
        }
        true
    }

    /// Waits while more was read than `io_capacity` allows.
    fn keep_pace(&self, pages: usize, elapsed: Duration) {
        let due = Duration::from_secs_f64(pages as f64 / self.settings().io_capacity() as f64);
        if let Some(early) = due.checked_sub(elapsed) {
            let _ = host::clock::sleep(early);
        }
    }

    /// Ends a running load.
    pub fn load_abort(&self) {
        self.warm.abort.store(true, Ordering::Relaxed);
    }

    fn say_dump(&self, text: String) {
        self.warm.texts.lock().dump = text;
    }

    fn say_load(&self, text: String) {
        self.warm.texts.lock().load = text;
    }

    /// What `Innodb_buffer_pool_dump_status` shows.
    pub fn dump_status(&self) -> String {
        self.warm.texts.lock().dump.clone()
    }

    /// What `Innodb_buffer_pool_load_status` shows.
    pub fn load_status(&self) -> String {
        self.warm.texts.lock().load.clone()
    }
}

fn parse_line(line: &[u8]) -> Option<(SpaceId, PageNo)> {
    let (space, page) = std::str::from_utf8(line).ok()?.trim().split_once(',')?;
    Some((SpaceId(space.parse().ok()?), PageNo(page.parse().ok()?)))
}

/// Pages next to each other, at most [`READ_MAX`] at a time.
fn runs(pages: &[PageNo]) -> impl Iterator<Item = &[PageNo]> {
    pages.chunk_by(|a, b| a.0 + 1 == b.0).flat_map(|run| run.chunks(READ_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_cannot_be_read_are_none() {
        assert_eq!(parse_line(b"63,4"), Some((SpaceId(63), PageNo(4))));
        assert_eq!(parse_line(b"63,4\r"), Some((SpaceId(63), PageNo(4))));
        for bad in ["", "63", "63,", "63,-1", "a,b", "63,4294967296", "\u{fffd},1"] {
            assert_eq!(parse_line(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn pages_in_a_row_are_read_together() {
        let pages: Vec<PageNo> = [3, 4, 5, 9].into_iter().chain(20..60).map(PageNo).collect();
        let lengths: Vec<usize> = runs(&pages).map(<[PageNo]>::len).collect();
        assert_eq!(lengths, [3, 1, 32, 8]);
    }
}
