//! One tablespace: its file, its page words, how far the file reaches.
//!
//! 1. `pages` is how many whole pages the file has room for: no page at or above it is read, latched or given a
//!    word. It only grows while the tablespace is open. Guard: `Tablespace::word`, the only way to a word;
//!    `pages_without_content_are_errors_that_name_them`.
//! 2. Growing writes zeroes, so that a page's later write in place cannot meet a full disk. Whoever takes pages
//!    whose room may have been given back makes room for them first ([`Tablespace::make_room`]). Guard:
//!    `a_full_disk_stops_growth_and_nothing_else`; space's
//!    `a_full_disk_refuses_an_extent_without_room_and_takes_one_that_has_some`; `give_back` asserts that no
//!    page of it has changes.

use crate::arena::Arena;
use crate::read_ahead::Run;
use crate::spacefile::EXTENT_PAGES;
use crate::words::Words;
use crate::{Pool, Shared, io, spacefile};
use base::{Error, PAGE_BYTES, PageBuf, PageId, PageNo, Result, SpaceId};
use host::{AlignedBuf, File, OpenMode};
use std::any::Any;
use std::io::ErrorKind;
use std::sync::{Arc, OnceLock, Weak};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, PageWord};

instrument::classes! {
    static GROWTH_MUTEX: MutexClass = "wait/synch/mutex/innodb/fil_grow_mutex", across_io;
}

/// A file up to so many pages grows by one extent; a larger one by its 16th part, within bounds.
const SMALL_FILE_PAGES: u32 = 32 * EXTENT_PAGES;
/// Fewest and most pages that a larger file grows by: 4 to 16 MiB.
const GROW_MIN: u32 = 4 * EXTENT_PAGES;
const GROW_MAX: u32 = 16 * EXTENT_PAGES;

/// How many pages a file of `have` gets when it must grow: a file of less than an extent doubles,
/// any other ends with a whole extent.
fn grown(have: u32) -> u32 {
    if have < EXTENT_PAGES {
        return (have * 2).clamp(4, EXTENT_PAGES);
    }
    let more = match have {
        0..=SMALL_FILE_PAGES => EXTENT_PAGES,
        _ => (have / 16).clamp(GROW_MIN, GROW_MAX),
    };
    have.saturating_add(more) / EXTENT_PAGES * EXTENT_PAGES
}

/// An open tablespace. On lines of its own: every reader looks at it, and what lies beside it on the heap are page words.
#[repr(align(128))]
pub struct Tablespace {
    id: SpaceId,
    name: String,
    pub(crate) file: Arc<dyn File>,
    words: Words,
    pub(crate) arena: Arc<Arena>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) pool: Weak<Pool>,
    pages: SharedAtomic<u32, { class::POOL }>,
    growth: Mutex<()>,
    attachment: OnceLock<Box<dyn Any + Send + Sync>>,
    sync_growth: bool,
    /// Page writes are made durable by themselves, wherever they go.
    syncs_data: bool,
    /// Some pages of the file may have no room; where, nobody remembers.
    has_holes: SharedAtomic<bool, { class::POOL }>,
    /// Pages that read-ahead threads are about to read or reading.
    loading: SharedAtomic<u32, { class::POOL }>,
    /// No more of those: it is being closed.
    closing: SharedAtomic<bool, { class::POOL }>,
    pub(crate) run: Run,
}

impl std::fmt::Debug for Tablespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tablespace({} {:?}, {} pages)", self.id, self.name, self.pages_in_file())
    }
}

impl Tablespace {
    fn with_file(pool: &Pool, id: SpaceId, name: &str, file: Arc<dyn File>, pages: u32) -> Self {
        Tablespace {
            id,
            name: name.to_owned(),
            file,
            words: Words::new(),
            arena: pool.arena.clone(),
            shared: pool.shared.clone(),
            pool: pool.me.clone(),
            pages: SharedAtomic::new(pages),
            growth: Mutex::new(&GROWTH_MUTEX, ()),
            attachment: OnceLock::new(),
            sync_growth: pool.flush_method.syncs_growth() && !pool.flush_method.syncs_data(),
            syncs_data: pool.flush_method.syncs_data(),
            has_holes: SharedAtomic::new(false),
            loading: SharedAtomic::new(0),
            closing: SharedAtomic::new(false),
            run: Run::default(),
        }
    }

    pub(crate) fn create(pool: &Pool, id: SpaceId, name: &str) -> Result<Tablespace> {
        let io = |op| move |e| Error::io(op, name, e);
        let file = pool.disk.open(name, OpenMode::Create).map_err(io("create"))?;
        let made = (|| {
            let ts = Tablespace::with_file(pool, id, name, file.clone(), 0);
            ts.grow(PageNo(0))?;
            let mut first = AlignedBuf::zeroed(PAGE_BYTES);
            spacefile::first_page(id, as_page(&mut first))?;
            io::write(&*file, &first, 0)?;
            io::sync_data(&*file)?;
            pool.disk.sync_dir().map_err(io("make durable the name of"))?;
            Ok(ts)
        })();
        if made.is_err() {
            // The error being reported matters more; a file left over is an orphan to be swept.
            let _ = pool.disk.remove(name);
        }
        made
    }

    pub(crate) fn open(pool: &Pool, id: SpaceId, name: &str) -> Result<Tablespace> {
        let file = pool.disk.open(name, OpenMode::ReadWrite).map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::MissingSpace(id),
            _ => Error::io("open", name, e),
        })?;
        let ts = Tablespace::with_file(pool, id, name, file, 0);
        pool.repair(&ts)?;
        let bytes = ts.file.len().map_err(|e| Error::io("measure", name, e))?;
        let pages = u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
        ts.pages.store(pages, Ordering::Release);
        // Where it cannot be asked there are none that matter.
        let room = ts.file.allocated_bytes().unwrap_or(bytes);
        ts.has_holes.store(room < bytes, Ordering::Release);
        let mut first = AlignedBuf::zeroed(PAGE_BYTES);
        io::read_or_zero(&*ts.file, &mut first, 0)?;
        spacefile::check(as_page(&mut first), id, name)?;
        Ok(ts)
    }

    /// Its id.
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// Its file's name in the data folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many pages the file has room for.
    pub fn pages_in_file(&self) -> u32 {
        self.pages.load(Ordering::Acquire)
    }

    /// What the crate `space` remembers of this tablespace, made when it is first asked for. All
    /// callers name the same type.
    pub fn attachment<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Result<&T> {
        let attached = self.attachment.get_or_init(|| Box::new(make()));
        attached.downcast_ref().ok_or(Error::Internal("a tablespace remembers something else"))
    }

    /// Makes room for `page` in the file, and for some more when there is any.
    ///
    /// [`Error::NoSpace`]: the disk is full and nothing has changed. [`Error::Io`].
    pub fn grow(&self, page: PageNo) -> Result<()> {
        if page.0 < self.pages_in_file() {
            return Ok(());
        }
        let _one_at_a_time = self.growth.lock();
        let have = self.pages_in_file();
        if page.0 < have {
            return Ok(());
        }
        if page == PageNo::NONE {
            return Err(Error::NoSpace { path: self.name.clone() });
        }
        let need = page.0 + 1;
        let want = need.max(grown(have));
        let reached = match self.write_zeroes(have, want) {
            Err(Error::NoSpace { .. }) if want > need => self.write_zeroes(have, need),
            done => done,
        };
        if reached.is_err() {
            // Gives back what was written of it; the tablespace is right with or without.
            let _ = self.file.set_len(u64::from(have) * PAGE_BYTES as u64);
        }
        self.pages.store(reached?, Ordering::Release);
        Ok(())
    }

    /// Writes zeroes over pages `from..to`; returns `to`.
    fn write_zeroes(&self, from: u32, to: u32) -> Result<u32> {
        let zeroes = AlignedBuf::zeroed(EXTENT_PAGES.min(to - from) as usize * PAGE_BYTES);
        let mut at = from;
        while at < to {
            let n = EXTENT_PAGES.min(to - at);
            let bytes = &zeroes[..n as usize * PAGE_BYTES];
            let write = io::write(&*self.file, bytes, offset(PageNo(at)));
            write.map_err(no_space)?;
            at += n;
        }
        if self.sync_growth {
            // Page writes are not synced: the new length must not be lost under them.
            io::sync_data(&*self.file)?;
        }
        Ok(to)
    }

    /// How much of the file system the file takes, in bytes; its length where that is not known.
    pub fn allocated_bytes(&self) -> Result<u64> {
        self.file.allocated_bytes().map_err(|e| Error::io("measure", &*self.name, e))
    }

    /// Gives the room of pages back to the file system: they read as never written from now on, or, after a
    /// crash, as whatever mixture of that and of what they were. `false`: it cannot be given back here.
    ///
    /// The caller knows that nobody reads the pages, that no redo which recovery might read changes them,
    /// and that nobody takes them meanwhile (crate `space`).
    pub fn give_back(&self, first: PageNo, pages: u32) -> Result<bool> {
        // Otherwise a later write there could be lost with the room that it was given.
        if !self.syncs_data {
            return Ok(false);
        }
        let pages = pages.min(self.pages_in_file().saturating_sub(first.0));
        let (at, bytes) = (offset(first), u64::from(pages) * PAGE_BYTES as u64);
        // What cannot be had again safely is kept: asked of page 0, which has its room.
        if pages == 0 || !io::make_room(&*self.file, 0, PAGE_BYTES as u64)? {
            return Ok(false);
        }
        self.has_holes.store(true, Ordering::Release);
        (first.0..first.0 + pages).for_each(|page| self.assert_no_changes(page));
        io::give_back(&*self.file, at, bytes)
    }

    /// A page whose room goes has no change in memory: writing it would bring the room back.
    fn assert_no_changes(&self, page: u32) {
        let Some(seen) = self.word_made(page).map(PageWord::load).filter(|w| !w.evicted()) else {
            return;
        };
        // The clock may give the frame to another page meanwhile: looked at before and after.
        let frame = self.arena.header(seen.frame());
        let is_its = || frame.page() == Some(self.page_id(PageNo(page)));
        let changed = is_its() && !frame.is_clean() && is_its();
        assert!(!changed, "page {page} of {} has changes, and its room is given back", self.name);
    }

    /// Makes sure that pages which the file has can be written, whatever becomes of the disk's other room.
    ///
    /// [`Error::NoSpace`]: the disk is full. [`Error::Io`].
    pub fn make_room(&self, first: PageNo, pages: u32) -> Result<()> {
        if !self.has_holes.load(Ordering::Acquire) {
            return Ok(());
        }
        let pages = pages.min(self.pages_in_file().saturating_sub(first.0));
        let (at, bytes) = (offset(first), u64::from(pages) * PAGE_BYTES as u64);
        // Who cannot promise room has not given any back.
        io::make_room(&*self.file, at, bytes).map(drop).map_err(no_space)
    }

    /// The id of a page of this tablespace.
    pub(crate) fn page_id(&self, page: PageNo) -> PageId {
        PageId::new(self.id, page)
    }

    /// The word of a page; `Err` above the end of the file.
    #[inline]
    pub(crate) fn word(&self, page: PageNo) -> Result<&PageWord> {
        if page.0 >= self.pages.load(Ordering::Acquire) {
            return Err(self.beyond_end(page));
        }
        let word = self.words.word(page.0);
        word.alias(|| match (self.id, page.0) {
            (_, 0) => "space_header_page",
            (base::UNDO_SPACE, _) => "undo_page",
            _ => "tree_page",
        });
        Ok(word)
    }

    /// The word of a page that has one.
    pub(crate) fn word_made(&self, page: u32) -> Option<&PageWord> {
        (page < self.pages_in_file()).then(|| self.words.get(page))?
    }

    /// All words made so far, with their pages.
    pub(crate) fn words_made(&self) -> impl Iterator<Item = (u32, &PageWord)> {
        (0..self.pages_in_file()).filter_map(|page| Some((page, self.words.get(page)?)))
    }

    /// How much of a write the device does wholly or not at all, in bytes; 0 = it does not say.
    pub(crate) fn atomic_write_bytes(&self) -> usize {
        self.file.atomic_write_bytes()
    }

    /// Announces reads that nobody waits for; false: it is being closed. Each success is ended by
    /// [`Tablespace::end_read`].
    pub(crate) fn begin_read(&self) -> bool {
        self.loading.fetch_add(1, Ordering::SeqCst);
        let open = !self.closing.load(Ordering::SeqCst);
        if !open {
            self.end_read();
        }
        open
    }

    pub(crate) fn end_read(&self) {
        self.loading.fetch_sub(1, Ordering::SeqCst);
    }

    /// Lets no more such reads begin and waits for those that have: milliseconds at most.
    pub(crate) fn end_background_reads(&self) {
        self.closing.store(true, Ordering::SeqCst);
        while self.loading.load(Ordering::SeqCst) > 0 {
            sync::yield_now();
        }
    }

    #[cold]
    fn beyond_end(&self, page: PageNo) -> Error {
        Error::corrupt(self.page_id(page), "a page beyond the end of its file is referred to")
    }

    /// The pool, unless it is being torn down.
    pub(crate) fn pool(&self) -> Result<Arc<Pool>> {
        self.pool.upgrade().ok_or(Error::Shutdown)
    }
}

/// Byte offset of a page in its file.
pub(crate) fn offset(page: PageNo) -> u64 {
    u64::from(page.0) * PAGE_BYTES as u64
}

/// The bytes of a buffer that is one page long.
pub(crate) fn as_page(buf: &mut [u8]) -> &mut PageBuf {
    buf.try_into().expect("the buffer is one page long")
}

/// An error that is that of a full disk says so.
fn no_space(e: Error) -> Error {
    match e {
        Error::Io { source, path, .. } if is_full(&source) => Error::NoSpace { path },
        other => other,
    }
}

fn is_full(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
