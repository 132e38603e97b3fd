//! The log: appending, and what others may ask about it.
//!
//! 1. `durable <= written <= tail`; all three only grow. Guard: the assertions in `flush.rs` (`round`) and
//!    [`Log::commit`].
//! 2. A worker's `copying` is at most the start of every frame it has reserved and not yet copied; its
//!    `dirtying` at most the start of every frame whose pages are not stamped yet. Both are stored before the
//!    `fetch_add` that reserves (an `AcqRel` in whose release sequence every later value of `tail` stands), so
//!    whoever reads `tail` first and the slots afterwards sees them, or newer values, each of which is again
//!    such a bound. Guard: the models `a_watermark_after_the_reservation_is_noticed`,
//!    `a_relaxed_watermark_is_noticed`, `the_contiguous_end_holds_only_copied_frames`,
//!    `the_checkpoint_bound_misses_no_dirty_page`.
//! 3. A frame is at most a quarter of the ring. Guard: `bodies_are_bounded_before_anything_is_reserved`.
//!
//! **A full ring does not deadlock.** The appender reserves first, stamps its pages, lets go of
//! its latches, and only then waits for room (`end <= written + ring`), holding nothing but its
//! `copying` mark, which it has raised to the exact start of its frame. Take the lowest start `S`
//! among the frames that wait. Every frame below `S` is copied or being copied by a thread that
//! does not wait for the log, so the contiguous end reaches `S` in finite time: no thread's mark is
//! below `S` for good (a thread between its first mark and the `fetch_add` is runnable). Whoever
//! then leads a write moves `written` to `S`, and `S + frame <= S + ring / 4 < written + ring`: the
//! frame at `S` has room. Somebody leads, because each waiter leads itself when nobody does
//! (`Log::wait_for_room`). By induction over `S` all get through. The one other thing a write waits
//! for is room in the files, which checkpoints give (`pace`).

use std::sync::{Arc, OnceLock};

use base::{Error, Lsn, Result};
use host::Disk;
use instrument::{Counter, count};
use stdx::{CacheLine, Ordering, SharedAtomic, class};
use sync::{Event, Mutex, SlotTable, WorkerSlot};

use crate::capacity::{Capacity, FRAME_BYTES_MAX};
use crate::config::{CHECKPOINT_PAYLOAD_MAX, FlushMode, LogConfig, LogEvent, LogSettings};
use crate::control::{CONTROL_NAME, Control, ControlFile};
use crate::files::{Files, corrupt};
use crate::flush::Writer;
use crate::frame::{self, HEADER_BYTES, Key};
use crate::govern::{self, Governor};
use crate::pace::Limits;
use crate::replay::Replay;
use crate::ring::Ring;

instrument::classes! {
    static WRITER_MUTEX: MutexClass = "wait/synch/mutex/innodb/log_writer_mutex", across_io;
    static CONTROL_MUTEX: MutexClass = "wait/synch/mutex/innodb/log_checkpointer_mutex", across_io;
    static COMMIT_COND: CondClass = "wait/synch/cond/innodb/log_flushed";
    static GOVERNOR_MUTEX: MutexClass = "wait/synch/mutex/innodb/log_governor_mutex", across_io;
    static GOVERNOR_COND: CondClass = "wait/synch/cond/innodb/log_governor";
    static ROOM_COND: CondClass = "wait/synch/cond/innodb/log_ring_full";
    static SPACE_COND: CondClass = "wait/synch/cond/innodb/log_files_full";
    static WORK_COND: CondClass = "wait/synch/cond/innodb/log_wants_checkpoint";
}

/// The first LSN of a new log: 0 stays "before everything".
pub(crate) const FIRST_LSN: u64 = 4096;
/// Room for mini-transactions of a few pages; this crate's tests want a ring that is full soon.
const RING_BYTES_MIN: usize = if cfg!(test) { 64 << 10 } else { 256 << 10 };

/// Called once, with the first error of a write or sync; a server ends its process here.
pub type FatalHook = Box<dyn Fn(&Error) + Send + Sync>;
/// Told what happens to the log, in order; for tests.
pub type TraceHook = Box<dyn Fn(LogEvent) + Send + Sync>;

/// Positions that committers and writers exchange.
pub(crate) struct Marks {
    /// Everything below was handed to the operating system; ring space below may be used again.
    pub written: SharedAtomic<u64, { class::LOG_DURABLE }>,
    /// Everything below is durable.
    pub durable: SharedAtomic<u64, { class::LOG_DURABLE }>,
    /// The end of the write in flight or last done, a multiple of 8, plus its group (0 or 1).
    pub flight: SharedAtomic<u64, { class::LOG_DURABLE }>,
}

/// The redo log.
pub struct Log {
    /// The next LSN to reserve.
    pub(crate) tail: CacheLine<SharedAtomic<u64, { class::LOG_TAIL }>>,
    pub(crate) marks: CacheLine<Marks>,
    pub(crate) limits: CacheLine<Limits>,
    pub(crate) failed: CacheLine<SharedAtomic<bool, { class::LOG_DURABLE }>>,
    pub(crate) slots: Arc<SlotTable>,
    pub(crate) ring: Ring,
    pub(crate) files: Arc<Files>,
    key: Key,
    body_bytes_max: usize,
    pub(crate) settings: LogSettings,
    pub(crate) writer: CacheLine<Mutex<Writer>>,
    pub(crate) control: Mutex<ControlFile>,
    pub(crate) governor: Mutex<Governor>,
    pub(crate) governor_work: Event,
    /// What was asked for, and what was reached last.
    pub(crate) capacity: SharedAtomic<u64, { class::OTHER }>,
    pub(crate) resized: SharedAtomic<u64, { class::OTHER }>,
    /// Committers wait for the write of their group here: each on its own line, since those of one announce themselves while the
    /// other is woken.
    pub(crate) groups: [CacheLine<Event>; 2],
    /// Appenders wait for ring room here.
    pub(crate) room: Event,
    /// Everybody waits for a checkpoint here.
    pub(crate) space: Event,
    pub(crate) work: Event,
    first_error: OnceLock<Error>,
    fatal: OnceLock<FatalHook>,
    trace: OnceLock<TraceHook>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("tail", &self.tail())
            .field("written", &self.written())
            .field("durable", &self.durable())
            .field("checkpoint", &self.checkpoint_lsn())
            .field("failed", &self.failed())
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Whether the disk holds a log: its control file is in place.
    pub fn exists(disk: &dyn Disk) -> Result<bool> {
        disk.exists(CONTROL_NAME).map_err(|e| Error::io("look for", CONTROL_NAME, e))
    }

    /// Makes an empty log. All or nothing: after a crash in the middle [`Log::exists`] is false
    /// and creating again works. [`Error::NoSpace`] when the files do not fit on the disk.
    pub fn create(
        disk: &Arc<dyn Disk>,
        config: &LogConfig,
        slots: Arc<SlotTable>,
    ) -> Result<Arc<Log>> {
        let log_id = random_id();
        let capacity = Capacity::new(config.capacity_bytes);
        let (files, governor) = govern::create(disk, log_id, FIRST_LSN, capacity)?;
        let control = Control {
            sequence: 0,
            log_id,
            incarnation: 1,
            incarnation_start: FIRST_LSN,
            last_file: files.last().map_or(0, |f| f.number),
            checkpoint: FIRST_LSN,
            durable: FIRST_LSN,
            payload: Vec::new(),
        };
        let control =
            ControlFile::create(&**disk, control).inspect_err(|_| govern::discard(&**disk))?;
        let key = Key { log_id, incarnation: 1 };
        let log = Log::start(config, slots, (Arc::new(files), governor), control, key, FIRST_LSN);
        log.open_for_appending();
        Ok(log)
    }

    /// Opens a log for recovery; does not read it yet. The caller takes the windows of [`Replay`]
    /// up to the tail and then calls [`Log::resume`]; nothing can be appended before.
    ///
    /// [`Error::Foreign`] for files that are not ours or of a newer format.
    pub fn open(
        disk: &Arc<dyn Disk>,
        config: &LogConfig,
        slots: Arc<SlotTable>,
    ) -> Result<(Arc<Log>, Replay)> {
        let control = ControlFile::open(&**disk)?;
        let was = control.control.clone();
        govern::check_names(&**disk, &was)?;
        let files = Arc::new(Files::open(disk, &was)?);
        // A process that was killed may have named the last file a moment ago: the name is durable before log is
        // secured in that file, or the control file tells of it.
        govern::sync_dir(&files)?;
        let incarnation = was
            .incarnation
            .checked_add(1)
            .ok_or(corrupt(was.incarnation_start, "the log was opened too many times"))?;
        let key = Key { log_id: was.log_id, incarnation };
        let replay = Replay::new(Arc::clone(&files), &was);
        let governor = Governor::new(files.last().map_or(0, |f| f.number) + 1);
        let log = Log::start(config, slots, (files, governor), control, key, was.durable);
        Ok((log, replay))
    }

    fn start(
        config: &LogConfig,
        slots: Arc<SlotTable>,
        (files, governor): (Arc<Files>, Governor),
        control: ControlFile,
        key: Key,
        tail: u64,
    ) -> Arc<Log> {
        let ring_bytes = config.ring_bytes.max(RING_BYTES_MIN).next_power_of_two();
        let capacity = Capacity::new(config.capacity_bytes);
        let frame_max = (ring_bytes as u64 / 4).min(FRAME_BYTES_MAX) as usize;
        let limits = Limits::new(capacity.room(), control.control.checkpoint, files.end());
        Arc::new(Log {
            tail: CacheLine(SharedAtomic::new(tail)),
            marks: CacheLine(Marks {
                written: SharedAtomic::new(tail),
                durable: SharedAtomic::new(tail),
                flight: SharedAtomic::new(tail),
            }),
            limits: CacheLine(limits),
            failed: CacheLine(SharedAtomic::new(false)),
            slots,
            ring: Ring::new(ring_bytes),
            key,
            body_bytes_max: frame_max - HEADER_BYTES,
            settings: LogSettings::new(),
            writer: CacheLine(Mutex::new(&WRITER_MUTEX, Writer::new())),
            files,
            control: Mutex::new(&CONTROL_MUTEX, control),
            governor: Mutex::new(&GOVERNOR_MUTEX, governor),
            governor_work: Event::new(&GOVERNOR_COND),
            capacity: SharedAtomic::new(capacity.bytes()),
            resized: SharedAtomic::new(capacity.bytes()),
            groups: [CacheLine(Event::new(&COMMIT_COND)), CacheLine(Event::new(&COMMIT_COND))],
            room: Event::new(&ROOM_COND),
            space: Event::new(&SPACE_COND),
            work: Event::new(&WORK_COND),
            first_error: OnceLock::new(),
            fatal: OnceLock::new(),
            trace: OnceLock::new(),
        })
    }

    /// The number of this opening.
    pub(crate) fn incarnation(&self) -> u32 {
        self.key.incarnation
    }

    pub(crate) fn is_open_for_appending(&self) -> bool {
        self.limits.body_bytes_max.load(Ordering::Acquire) > 0
    }

    /// Lets [`Log::append`] in: the tail is known and durable.
    pub(crate) fn open_for_appending(&self) {
        self.limits.set_target(self.capacity().room(), self.tail().0);
        self.limits.body_bytes_max.store(self.body_bytes_max as u64, Ordering::Release);
    }

    /// The addresses where log bytes lie, for tests that look at stores.
    #[must_use]
    pub fn ring_range(&self) -> std::ops::Range<usize> {
        self.ring.range()
    }

    /// The longest body of one mini-transaction, in bytes.
    #[must_use]
    pub fn mtr_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    /// Appends one mini-transaction's redo and returns its end LSN; it is not durable yet.
    ///
    /// `stamped(start, end)` is called between reservation and copying: there the caller stamps
    /// page LSNs (`end`) and dirty marks (`start`) and releases its latches. Nothing before it
    /// waits, and no latch is held when this waits for room. The order of the steps is
    /// `engine.md` P-E; invariant 2 tells why it is right.
    ///
    /// [`Error::LogFull`] for a body above [`Log::mtr_bytes_max`] and [`Error::Io`] when the log
    /// has failed before: nothing is reserved and `stamped` is dropped uncalled. When the log
    /// fails while this waits for room, `stamped` was called and the frame is lost.
    pub fn append(
        &self,
        worker: &WorkerSlot,
        body: &[u8],
        stamped: impl FnOnce(Lsn, Lsn),
    ) -> Result<Lsn> {
        if body.is_empty() {
            return Err(Error::Internal("a mini-transaction without redo was appended"));
        }
        if body.len() as u64 > self.limits.body_bytes_max.load(Ordering::Relaxed) {
            return Err(self.refusal());
        }
        self.check()?;
        let digest = frame::digest(body);
        let bytes = frame::frame_bytes(body.len()) as u64;
        let low = self.tail.load(Ordering::Acquire);
        // Release: whoever reads this mark instead of the last frame's "done" must see that copy.
        worker.copying.store(low, Ordering::Release);
        worker.dirtying.store(low, Ordering::Release);
        sync::sched::point("redo: reserve");
        let start = self.tail.fetch_add(bytes, Ordering::AcqRel);
        sync::sched::point("redo: stamp");
        // The exact start, so that the write that makes our room is not held up by ourselves.
        worker.copying.store(start, Ordering::Release);
        let end = start + bytes;
        stamped(Lsn(start), Lsn(end));
        worker.dirtying.store(u64::MAX, Ordering::Release);
        if end > worker.room.load(Ordering::Relaxed)
            && let Err(e) = self.find_room(worker, end)
        {
            worker.copying.store(u64::MAX, Ordering::Release);
            return Err(e);
        }
        sync::sched::point("redo: copy");
        let header = frame::header(digest, body.len() as u32, start, self.key);
        self.ring.put(start, &header);
        self.ring.put(start + HEADER_BYTES as u64, body);
        sync::sched::point("redo: done");
        worker.copying.store(u64::MAX, Ordering::Release);
        count(Counter::InnodbLogWriteRequests, 1);
        Ok(Lsn(end))
    }

    /// Why no body of that length can be appended.
    #[cold]
    fn refusal(&self) -> Error {
        if self.limits.body_bytes_max.load(Ordering::Relaxed) == 0 {
            return Error::Internal("the log is not open for appending yet");
        }
        Error::LogFull
    }

    /// Looks for room up to `end`, whatever the worker knew of it; waits if there is none. Room only grows.
    fn find_room(&self, worker: &WorkerSlot, end: u64) -> Result<()> {
        if end > self.room_end() {
            self.wait_for_room(end)?;
        }
        let room = self.room_end();
        assert!(end <= room, "log is copied over what is not written yet");
        worker.room.store(room, Ordering::Relaxed);
        Ok(())
    }

    /// Ring space below this may be written by its reservers.
    pub(crate) fn room_end(&self) -> u64 {
        self.marks.written.load(Ordering::Acquire) + self.ring.bytes()
    }

    /// Every frame below is wholly in the ring or the files (invariant 2).
    pub(crate) fn contiguous_end(&self) -> u64 {
        let tail = self.tail.load(Ordering::Acquire);
        let marks = self.slots.workers().map(|w| w.copying.look("worker_slot", Ordering::Acquire));
        marks.fold(tail, u64::min)
    }

    /// Pages of every frame below are stamped and marked dirty: a checkpoint bound takes this
    /// first and the frames' dirty marks afterwards. It may lie below an earlier one, and below the checkpoint: what a
    /// worker has stored may be a tail that it read long before it reserved. Who checkpoints takes the higher.
    #[must_use]
    pub fn dirty_floor(&self) -> Lsn {
        let tail = self.tail.load(Ordering::Acquire);
        let marks = self.slots.workers().map(|w| w.dirtying.look("worker_slot", Ordering::Acquire));
        Lsn(marks.fold(tail, u64::min))
    }

    /// The end of everything reserved.
    #[must_use]
    pub fn tail(&self) -> Lsn {
        Lsn(self.tail.load(Ordering::Acquire))
    }

    /// Everything below was handed to the operating system.
    #[must_use]
    pub fn written(&self) -> Lsn {
        Lsn(self.marks.written.load(Ordering::Acquire))
    }

    /// Everything below is durable.
    #[must_use]
    pub fn durable(&self) -> Lsn {
        Lsn(self.marks.durable.load(Ordering::Acquire))
    }

    /// What is switchable at run time.
    #[must_use]
    pub fn settings(&self) -> &LogSettings {
        &self.settings
    }

    /// Makes a commit that ends at `lsn` as durable as the flush mode asks, then returns.
    pub fn commit(&self, lsn: Lsn) -> Result<()> {
        let mode = self.settings.flush_mode();
        match mode {
            FlushMode::Sync => {
                self.reach(lsn.0, true)?;
                let durable = self.durable();
                assert!(
                    durable >= lsn,
                    "{lsn:?} is acknowledged, the log is durable to {durable:?}"
                );
            }
            FlushMode::Write => self.reach(lsn.0, false)?,
            FlushMode::Timer => self.check()?,
        }
        self.tell(LogEvent::Acknowledged(lsn, mode));
        Ok(())
    }

    /// Makes everything below `lsn` durable, whatever the mode.
    pub fn flush_to(&self, lsn: Lsn) -> Result<()> {
        self.reach(lsn.0, true)
    }

    /// Writes and syncs what there is: once a second in modes 0 and 2.
    pub fn flush_timer_tick(&self) -> Result<()> {
        self.reach(self.contiguous_end(), true)
    }

    /// Moves the start of recovery to `lsn`, keeping `payload` (at most
    /// [`CHECKPOINT_PAYLOAD_MAX`] bytes) with it, and gives the space below back.
    ///
    /// Every page change below `lsn` must be durable in its file. `lsn` must be a start of a
    /// frame, as [`Log::dirty_floor`] and page dirty marks are. It may be above what is durable of
    /// the log itself: nothing below it is needed any more. So this never waits for log space; on a
    /// full disk the checkpoint may come out lower than asked for.
    pub fn checkpoint(&self, lsn: Lsn, payload: &[u8]) -> Result<()> {
        if payload.len() > CHECKPOINT_PAYLOAD_MAX {
            return Err(Error::Internal("a checkpoint payload is too long"));
        }
        self.check()?;
        if lsn > self.tail() {
            return Err(Error::Internal("a checkpoint beyond the log's end"));
        }
        let (asked, lsn) = (lsn, self.inside_files(lsn)?);
        let mut control = self.control.lock();
        let old = &control.control;
        if asked.0 < old.checkpoint {
            return Err(Error::Internal("a checkpoint went backwards"));
        }
        let lsn = lsn.max(Lsn(old.checkpoint));
        if lsn.0 == old.checkpoint && payload == old.payload {
            return Ok(());
        }
        control.control.checkpoint = lsn.0;
        control.control.durable = self.durable().max(lsn).0;
        control.control.payload = payload.to_vec();
        control.write().inspect_err(|e| self.fail(e))?;
        self.limits.moved(lsn.0, self.tail().0);
        drop(control);
        self.tell(LogEvent::Checkpoint(lsn));
        self.space.notify_all();
        self.governor_work.notify_all();
        Ok(())
    }

    /// Recovery begins in a file: for a checkpoint beyond the last one, files are made; on a full
    /// disk it can only be where the durable log ends, which is a frame's start.
    fn inside_files(&self, lsn: Lsn) -> Result<Lsn> {
        if lsn.0 <= self.limits.files_end() {
            return Ok(lsn);
        }
        self.extend(lsn.0)?;
        if lsn.0 <= self.limits.files_end() { Ok(lsn) } else { Ok(self.durable()) }
    }

    /// The payload of the last checkpoint; empty for a log that never had one.
    #[must_use]
    pub fn checkpoint_payload(&self) -> Vec<u8> {
        self.control.lock().control.payload.clone()
    }

    /// Where recovery would start.
    #[must_use]
    pub fn checkpoint_lsn(&self) -> Lsn {
        Lsn(self.limits.checkpoint())
    }

    /// True after the first error of a write or sync: nothing is acknowledged any more.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// The first error, for everybody who comes later.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.failed() {
            return Ok(());
        }
        Err(self.first_error.get().map_or(Error::Internal("the log has failed"), Error::duplicate))
    }

    /// Registers what to do at the first error; the first registration counts.
    pub fn set_fatal_hook(&self, hook: FatalHook) {
        let _ = self.fatal.set(hook);
    }

    /// Registers a listener for [`LogEvent`]s; the first registration counts.
    pub fn set_trace_hook(&self, hook: TraceHook) {
        let _ = self.trace.set(hook);
    }

    pub(crate) fn tell(&self, event: LogEvent) {
        if let Some(hook) = self.trace.get() {
            hook(event);
        }
    }

    /// Latches the first error; true for the caller that was first. A leader calls this before it lets go of the writer: a second sync might "succeed".
    pub(crate) fn latch(&self, error: &Error) -> bool {
        let first = self.first_error.set(error.duplicate()).is_ok();
        self.failed.store(true, Ordering::SeqCst);
        first
    }

    /// Latches an error, wakes everybody and runs the fatal hook, once.
    pub(crate) fn fail(&self, error: &Error) {
        let first = self.latch(error);
        self.announce_failure(first, error);
    }

    pub(crate) fn announce_failure(&self, first: bool, error: &Error) {
        let others = [&self.room, &self.space, &self.work, &self.governor_work];
        for event in self.groups.iter().map(|group| &**group).chain(others) {
            event.notify_all();
        }
        if first && let Some(hook) = self.fatal.get() {
            hook(error);
        }
    }
}

/// A number that no other log has, good enough to tell files apart.
fn random_id() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u64(host::clock::unix_micros());
    hasher.finish()
}
