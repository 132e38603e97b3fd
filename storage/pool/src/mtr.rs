//! Mini-transactions: latched pages, changed op by op, logged as one unit.
//!
//! 1. An exclusive latch is held until the commit; every change goes through [`Mtr::apply`], which applies the
//!    op with the function that recovery uses and encodes it for the log. Guard: `get` asserts that the page is
//!    still held; `redo_of_everything_gives_the_live_pages`.
//! 2. At commit, after the log space is reserved and before the copy into the log, every changed page gets the
//!    end LSN and, if it was clean, the start LSN as its oldest change; then the latches are released. Guard:
//!    `Pool::debug_assert_marked`; the cleaner asserts that a mark is below its page's LSN (`copy_page`).
//! 3. A mini-transaction is committed, or has changed nothing: dropped with changes in the pages that are not
//!    in the log, it would corrupt them for good, so the process is aborted (unless the pool has failed: then
//!    nothing is written any more). Guard: `die`, on drop; `a_mini_transaction_dropped_with_changes_aborts`.
//! 4. A mini-transaction takes its frames before its first change: what waits for one afterwards could neither
//!    go on nor back while a device stalls. Where several steps make one ([`Mtr::be_hasty`]), a later one that
//!    finds no frame is an error at once, before its own first change, and the caller commits what came before.
//!    Guard: the debug assertion where frames are taken (`Pool::take_frame`).
//!
//! The buffers come from the thread and go back to it: a warm mini-transaction allocates nothing.

use crate::clock::{Patience, Purpose};
use crate::read::Optimistic;
use crate::{Pool, Tablespace, order, page_class};
use base::{Error, Lsn, PageBuf, PageId, PageNo, Result};
use instrument::Counter;
use page::PageOp;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use sync::{PageWord, WorkerSlot};

/// Redo buffers above this are not kept for the next mini-transaction, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

thread_local! {
    static BUFFERS: Cell<Option<Buffers>> = const { Cell::new(None) };
}

/// A page latched by a mini-transaction: the number that its methods take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held(u32);

#[derive(Default)]
struct Buffers {
    body: Vec<u8>,
    held: Vec<HeldPage>,
}

/// How a page came to be held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It has content.
    Read,
    /// To be made anew; its old content, if it was in memory, is of no meaning.
    Fresh,
    /// To be made anew in a frame that holds no page, which must not survive without an Init.
    Blank,
}

struct HeldPage {
    word: NonNull<PageWord>,
    bytes: NonNull<PageBuf>,
    id: PageId,
    frame: u32,
    origin: Origin,
    changed: bool,
    released: bool,
}

impl HeldPage {
    fn word(&self) -> &PageWord {
        // SAFETY: words live as long as their tablespace, which outlives the mini-transaction
        // (`'p` of `Mtr`), which outlives this.
        unsafe { self.word.as_ref() }
    }

    fn bytes_mut(&mut self) -> &mut PageBuf {
        debug_assert!(!self.released);
        // SAFETY: the word is held exclusively until `released`.
        unsafe { self.bytes.as_mut() }
    }
}

/// A mini-transaction. `'p` is the life of the pool, of the worker's slot and of every tablespace
/// whose pages it latches: they must have been there before it.
pub struct Mtr<'p> {
    pool: &'p Pool,
    worker: &'p WorkerSlot,
    buffers: Buffers,
    hasty: bool,
    /// Not `Send`: latches are released by the thread that took them.
    life: PhantomData<(&'p Tablespace, *const ())>,
}

impl std::fmt::Debug for Mtr<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pages = self.buffers.held.iter().filter(|p| !p.released).map(|p| p.id);
        f.debug_struct("Mtr").field("pages", &pages.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

impl<'p> Mtr<'p> {
    /// Begins one. Waits while the log is nearly full, so the thread holds no page latch yet.
    pub fn new(pool: &'p Pool, worker: &'p WorkerSlot) -> Mtr<'p> {
        order::assert_none("a mini-transaction begins");
        // A log that has failed says so at the commit; a reader need not care.
        let _ = pool.pace(worker);
        let buffers = BUFFERS.take().unwrap_or_default();
        Mtr { pool, worker, buffers, hasty: false, life: PhantomData }
    }

    /// From its first change on a frame that is not at hand is [`Error::NoFrame`] at once. The caller commits
    /// what it has changed so far, and begins another one.
    pub fn be_hasty(&mut self) {
        self.hasty = true;
    }

    fn patience(&self) -> Patience {
        match (self.has_changes(), self.hasty) {
            (false, _) => Patience::Usual,
            (true, true) => Patience::None,
            (true, false) => Patience::MustEnd,
        }
    }

    /// The pool it works on.
    pub fn pool(&self) -> &'p Pool {
        self.pool
    }

    /// The worker's slot it was given.
    pub fn worker(&self) -> &'p WorkerSlot {
        self.worker
    }

    /// Latches a page exclusively, waiting for its holders, loading it when it is not in memory.
    /// A page that is held already is returned again. Errors as [`Tablespace::optimistic`].
    ///
    /// Order (asserted in debug builds): after page 0 of a tablespace no other page is waited for.
    pub fn exclusive(&mut self, ts: &'p Tablespace, page: PageNo) -> Result<Held> {
        if let Some(held) = self.find(ts.page_id(page)) {
            return Ok(held);
        }
        self.assert_order(page);
        self.latch(ts, page)
    }

    /// As [`Mtr::exclusive`], for a page that other threads reach only through a page that this
    /// mini-transaction holds (a free page behind its tablespace's page 0): any order will do.
    pub fn exclusive_private(&mut self, ts: &'p Tablespace, page: PageNo) -> Result<Held> {
        match self.find(ts.page_id(page)) {
            Some(held) => Ok(held),
            None => self.latch(ts, page),
        }
    }

    fn latch(&mut self, ts: &'p Tablespace, page: PageNo) -> Result<Held> {
        let word = ts.word(page)?;
        loop {
            match word.lock_exclusive() {
                Ok(held) => return Ok(self.push(ts, page, word, held.frame(), Origin::Read)),
                Err(seen) => {
                    let how = (Purpose::Asked, self.patience());
                    self.pool.read_in_for(ts, page, word, seen, how)?;
                }
            }
        }
    }

    /// Latches the page of an optimistic read exclusively if it has not changed since; does not
    /// wait. `None`: start over.
    pub fn try_upgrade(&mut self, read: &Optimistic<'p>) -> Option<Held> {
        if !read.word.try_exclusive(read.seen) {
            return self.upgrade_remarked(read);
        }
        Some(self.push(read.ts, read.page_no(), read.word, read.seen.frame(), Origin::Read))
    }

    /// The clock may have marked the page, or unmarked it, since it was read: same version.
    #[cold]
    fn upgrade_remarked(&mut self, read: &Optimistic<'p>) -> Option<Held> {
        let now = read.word.load();
        let same = now.version() == read.seen.version() && now.frame() == read.seen.frame();
        if !same || !read.word.try_exclusive(now) {
            return None;
        }
        Some(self.push(read.ts, read.page_no(), read.word, now.frame(), Origin::Read))
    }

    /// Latches a page that is about to be made anew: its content is not read, and the first op
    /// applied must be an Init or an Image. The file must have room for it
    /// ([`Tablespace::grow`]).
    pub fn fresh(&mut self, ts: &'p Tablespace, page: PageNo) -> Result<Held> {
        if let Some(held) = self.find(ts.page_id(page)) {
            return Ok(held);
        }
        let word = ts.word(page)?;
        loop {
            match word.lock_exclusive() {
                Ok(held) => return Ok(self.push(ts, page, word, held.frame(), Origin::Fresh)),
                Err(seen) if word.begin_io(seen) => {
                    match self.pool.blank_frame(ts, page, self.patience()) {
                        Ok(frame) => {
                            word.publish_exclusive(frame);
                            self.pool.count_created(frame);
                            return Ok(self.push(ts, page, word, frame, Origin::Blank));
                        }
                        Err(e) => {
                            word.abort_io();
                            return Err(e);
                        }
                    }
                }
                Err(_) => {}
            }
        }
    }

    fn push(
        &mut self,
        ts: &'p Tablespace,
        page: PageNo,
        word: &'p PageWord,
        frame: u32,
        origin: Origin,
    ) -> Held {
        order::took();
        self.buffers.held.push(HeldPage {
            word: NonNull::from(word),
            bytes: self.pool.frame_bytes(frame),
            id: ts.page_id(page),
            frame,
            origin,
            changed: false,
            released: false,
        });
        Held(self.buffers.held.len() as u32 - 1)
    }

    fn find(&self, id: PageId) -> Option<Held> {
        let at = self.buffers.held.iter().position(|p| p.id == id && !p.released)?;
        Some(Held(at as u32))
    }

    /// Whether it holds this page.
    pub fn holds(&self, ts: &Tablespace, page: PageNo) -> Option<Held> {
        self.find(ts.page_id(page))
    }

    fn assert_order(&self, page: PageNo) {
        debug_assert!(
            page.0 == 0 || !self.buffers.held.iter().any(|p| p.id.page.0 == 0 && !p.released),
            "page {page} is latched after page 0 of a tablespace"
        );
    }

    fn get(&self, h: Held) -> &HeldPage {
        let page = &self.buffers.held[h.0 as usize];
        assert!(!page.released, "page {} was released before", page.id);
        page
    }

    /// A held page's bytes.
    pub fn page(&self, h: Held) -> &PageBuf {
        // SAFETY: the word is held exclusively, and `apply` needs this borrow to have ended.
        unsafe { self.get(h).bytes.as_ref() }
    }

    /// A held page's number.
    pub fn page_no(&self, h: Held) -> PageNo {
        self.get(h).id.page
    }

    /// Applies an op to a held page and adds it to the redo.
    ///
    /// On an error nothing has changed: [`Error::LogFull`] when the mini-transaction would become
    /// longer than the log takes, else what [`page::apply`] says.
    pub fn apply(&mut self, h: Held, op: &PageOp<'_>) -> Result<()> {
        let id = self.get(h).id;
        let Buffers { body, held } = &mut self.buffers;
        let held = &mut held[h.0 as usize];
        let anew = matches!(op, PageOp::Init { .. } | PageOp::Image { .. });
        if held.origin != Origin::Read && !anew {
            return Err(Error::Internal("a fresh page was changed before it was made"));
        }
        let before = body.len();
        redo::body::push_page(body, id, |out| op.encode(out));
        let applied = if body.len() > self.pool.log.mtr_bytes_max() {
            Err(Error::LogFull)
        } else {
            page::apply(held.bytes_mut(), op)
        };
        if applied.is_err() {
            body.truncate(before);
            return applied;
        }
        held.changed = true;
        held.origin = Origin::Read;
        Ok(())
    }

    /// Adds a logical record (see [`redo::kind`]). [`Error::LogFull`] as [`Mtr::apply`].
    pub fn log_logical(&mut self, kind: u8, bytes: &[u8]) -> Result<()> {
        let body = &mut self.buffers.body;
        let before = body.len();
        redo::body::push_logical(body, kind, bytes);
        if body.len() > self.pool.log.mtr_bytes_max() {
            body.truncate(before);
            return Err(Error::LogFull);
        }
        Ok(())
    }

    /// How many bytes of redo it has collected.
    pub fn redo_bytes(&self) -> usize {
        self.buffers.body.len()
    }

    /// Whether it has changed anything: then it must be committed.
    pub fn has_changes(&self) -> bool {
        !self.buffers.body.is_empty()
    }

    /// Releases a page that was not changed.
    ///
    /// # Panics
    /// When it was changed: its latch is the commit's to release.
    pub fn release(&mut self, h: Held) {
        assert!(!self.get(h).changed, "a changed page is released by the commit only");
        self.pool.let_go(&mut self.buffers.held[h.0 as usize]);
    }

    /// Logs the changes and releases all pages. Returns the LSN to wait for ([`redo::Log::commit`])
    /// when the changes must be durable; [`Lsn::ZERO`] when there were none.
    ///
    /// An error means that the log has failed, and the pool with it: nothing more is written.
    pub fn commit(mut self) -> Result<Lsn> {
        let pool = self.pool;
        if !self.has_changes() {
            self.release_all();
            return Ok(Lsn::ZERO);
        }
        let Buffers { body, held } = &mut self.buffers;
        let mut changed = 0;
        let logged = pool.log.append(self.worker, body, |start, end| {
            for page in held.iter_mut().filter(|p| !p.released) {
                if page.changed {
                    page::header::set_lsn(page.bytes_mut(), end);
                    pool.mark_dirty(page.frame, start);
                    pool.debug_assert_marked(page.frame, start);
                    changed += 1;
                }
                pool.let_go(page);
            }
        });
        instrument::count(Counter::InnodbBufferPoolWriteRequests, changed);
        if let Err(e) = &logged {
            // Before the latches go: what these pages hold now must never be written.
            pool.failure.latch(e);
        }
        self.release_all();
        self.buffers.body.clear();
        logged
    }

    fn release_all(&mut self) {
        for page in self.buffers.held.iter_mut().filter(|p| !p.released) {
            self.pool.let_go(page);
        }
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        // After a failure no page is written any more, so unlogged changes cannot reach a file; the error
        // that ended this mini-transaction may be that failure (a frame that could not be cleaned).
        if self.has_changes() && !self.pool.failed() {
            die(&self.buffers.held);
        }
        self.release_all();
        self.buffers.held.clear();
        self.buffers.body.clear();
        let mut buffers = std::mem::take(&mut self.buffers);
        if buffers.body.capacity() > KEPT_BYTES_MAX {
            buffers.body = Vec::new();
        }
        BUFFERS.set(Some(buffers));
    }
}

/// Unlogged changes cannot be taken back: the process stops before they reach a file.
#[cold]
fn die(held: &[HeldPage]) -> ! {
    let changed: Vec<PageId> = held.iter().filter(|p| p.changed).map(|p| p.id).collect();
    eprintln!(
        "[ERROR] bug: a mini-transaction was dropped with changes that are not in the redo log \
         (pages {changed:?}); aborting before they reach a data file"
    );
    std::process::abort();
}

impl Pool {
    /// Releases a page of a mini-transaction.
    fn let_go(&self, page: &mut HeldPage) {
        if PageWord::holds_are_timed() {
            let kind = page::header::kind(page.bytes_mut());
            page_class::tell(page.word(), kind);
        }
        page.released = true;
        order::released(1);
        if page.changed {
            page.word().release_exclusive();
        } else if page.origin == Origin::Blank {
            // What the frame holds is no version of this page.
            self.arena.header(page.frame).clear();
            page.word().evict();
            self.give_back(page.frame);
        } else {
            page.word().release_unchanged();
        }
    }
}
