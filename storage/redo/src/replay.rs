//! Reading the log at recovery, once: verified windows from the checkpoint to the tail.
//!
//! 1. The tail is the first place that has no frame written there: length, LSN echo, incarnation
//!    and checksum must all hold (see `frame`). What lies beyond is never looked at.
//! 2. Below the start of the latest incarnation, and below the durable mark of the control file,
//!    frames were durable once; a hole there is damage, and an error. From the start of the latest
//!    incarnation on a frame must carry it.
//! 3. Reading ends where the files end, at the latest.
//! 4. A frame lies in one window: one that a window's end cuts begins the next window.
//! 5. A log longer than one window is read ahead by a thread of its own, which lives no longer
//!    than the [`Replay`].

use std::collections::VecDeque;
use std::sync::Arc;

use base::{Lsn, Result};
use host::thread::JoinHandle;
use host::{AlignedBuf, BLOCK_BYTES};
use instrument::{CondClass, MutexClass};
use sync::{Deadline, Event, Mutex};

use crate::capacity::FRAME_BYTES_MAX;
use crate::control::Control;
use crate::files::{Files, corrupt};
use crate::frame::{HEADER_BYTES, Header, frame_bytes};

static AHEAD_MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/limpid/redo_read_ahead");
static AHEAD_COND: CondClass = CondClass::new("wait/synch/cond/limpid/redo_read_ahead");

const BLOCK: u64 = BLOCK_BYTES as u64;
/// Bytes read at once; this crate's tests want frames that are cut.
const WINDOW_BYTES: u64 = if cfg!(test) { 32 << 10 } else { 4 << 20 };
/// Windows that are read ahead.
const AHEAD_MAX: usize = 2;

/// A stretch of the log as it was read, with the frames that were verified in it.
#[derive(Clone, Debug)]
pub struct Window {
    /// The bytes; those outside the frames mean nothing.
    pub bytes: Arc<AlignedBuf>,
    /// The frames in order, without gaps; at least one.
    pub frames: Vec<FrameRef>,
}

/// Where a frame lies: in the log, and its body in a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRef {
    /// The frame's first LSN.
    pub start: Lsn,
    /// The LSN behind it.
    pub end: Lsn,
    /// The body's first byte in the window.
    pub at: u32,
    /// The body's length in bytes.
    pub len: u32,
}

impl Window {
    /// The body of one of this window's frames.
    #[must_use]
    pub fn body(&self, frame: &FrameRef) -> &[u8] {
        &self.bytes[frame.at as usize..][..frame.len as usize]
    }
}

/// What stands at a place of the log.
enum Found {
    /// A whole frame with a body of so many bytes.
    Frame(usize),
    /// The beginning of something of so many bytes that the window's end cuts.
    Cut(u64),
    /// No frame.
    Tail,
}

/// Reads and verifies, one window after the other.
struct Scanner {
    files: Arc<Files>,
    log_id: u64,
    incarnation: u32,
    incarnation_start: u64,
    /// Up to here the log is known to be whole (invariant 2).
    whole: u64,
    /// Where the files end.
    limit: u64,
    /// Where the next frame must stand.
    at: u64,
    /// The tail was found.
    ended: bool,
    /// Buffers given out; one that nobody else holds any more is used again: fresh memory costs
    /// more than the checksums.
    given: VecDeque<Arc<AlignedBuf>>,
}

impl Scanner {
    fn next(&mut self) -> Result<Option<Window>> {
        let mut wanted = WINDOW_BYTES;
        while !self.ended {
            let base = self.at / BLOCK * BLOCK;
            let to = (base + wanted).min(self.limit);
            let mut bytes = self.buffer((to - base) as usize);
            let window = Arc::get_mut(&mut bytes).expect("a buffer nobody else holds");
            self.files.read(base, &mut window[..(to - base) as usize])?;
            let mut frames = Vec::new();
            loop {
                let place = (self.at - base) as usize;
                match self.look(&bytes[place..(to - base) as usize]) {
                    Found::Frame(body_bytes) => {
                        let (start, at) = (Lsn(self.at), (place + HEADER_BYTES) as u32);
                        self.at += frame_bytes(body_bytes) as u64;
                        let (end, len) = (Lsn(self.at), body_bytes as u32);
                        frames.push(FrameRef { start, end, at, len });
                    }
                    Found::Cut(_) if to == self.limit => self.ended = true,
                    Found::Cut(needs) => {
                        wanted = WINDOW_BYTES.max(place as u64 + needs).next_multiple_of(BLOCK);
                        break;
                    }
                    Found::Tail => self.ended = true,
                }
                if self.ended {
                    break;
                }
            }
            self.given.push_back(Arc::clone(&bytes));
            if !frames.is_empty() {
                return Ok(Some(Window { bytes, frames }));
            }
        }
        if self.at < self.whole {
            return Err(corrupt(self.at, "redo that was durable is missing or damaged"));
        }
        Ok(None)
    }

    /// A buffer of at least so many bytes.
    fn buffer(&mut self, bytes: usize) -> Arc<AlignedBuf> {
        while let Some(mut old) = self.given.pop_front() {
            if Arc::get_mut(&mut old).is_some() {
                if old.len() >= bytes {
                    return old;
                }
            } else if self.given.len() <= AHEAD_MAX {
                self.given.push_front(old);
                break;
            }
        }
        Arc::new(AlignedBuf::zeroed(bytes))
    }

    /// What stands at the beginning of `bytes`, which is the log from `self.at` on.
    fn look(&self, bytes: &[u8]) -> Found {
        let Some(raw) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Found::Cut(HEADER_BYTES as u64);
        };
        let header = Header::parse(raw);
        let incarnation_fits = if self.at >= self.incarnation_start {
            header.incarnation == self.incarnation
        } else {
            header.incarnation < self.incarnation
        };
        if !header.plausible(self.at, FRAME_BYTES_MAX) || !incarnation_fits {
            return Found::Tail;
        }
        let body_bytes = header.body_bytes as usize;
        let needs = frame_bytes(body_bytes);
        if bytes.len() < needs {
            return Found::Cut(needs as u64);
        }
        let body = &bytes[HEADER_BYTES..][..body_bytes];
        if header.matches(body, self.log_id) { Found::Frame(body_bytes) } else { Found::Tail }
    }
}

/// What the reading thread has ready.
struct Ahead {
    state: Mutex<AheadState>,
    changed: Event,
}

#[derive(Default)]
struct AheadState {
    ready: VecDeque<Result<Option<Window>>>,
    /// Nobody takes any more.
    closed: bool,
}

impl Ahead {
    fn wait_while(&self, condition: impl Fn(&AheadState) -> bool) {
        loop {
            let seen = self.changed.prepare();
            if !condition(&self.state.lock()) {
                return;
            }
            let _ = self.changed.wait_unkillable(seen, Deadline::Never);
        }
    }

    /// The reading thread: ends behind the tail, after an error, or when nobody takes any more.
    fn fill(&self, mut scanner: Scanner) {
        loop {
            let next = scanner.next();
            let last = !matches!(next, Ok(Some(_)));
            self.state.lock().ready.push_back(next);
            self.changed.notify_all();
            self.wait_while(|s| s.ready.len() >= AHEAD_MAX && !s.closed);
            if last || self.state.lock().closed {
                return;
            }
        }
    }

    fn take(&self) -> Result<Option<Window>> {
        self.wait_while(|s| s.ready.is_empty());
        let next = self.state.lock().ready.pop_front();
        self.changed.notify_all();
        next.unwrap_or(Ok(None))
    }
}

/// Where windows come from.
enum Source {
    /// The caller's thread reads.
    Here(Box<Scanner>),
    /// Another one does.
    Thread(Arc<Ahead>, Option<JoinHandle<()>>),
    /// The tail or an error was reached.
    Nothing,
}

/// The log from the checkpoint on, read once.
pub struct Replay {
    source: Source,
    at: u64,
    durable: u64,
    pub(crate) secured: u64,
    pub(crate) ended: bool,
}

impl Replay {
    pub(crate) fn new(files: Arc<Files>, control: &Control) -> Replay {
        let scanner = Scanner {
            log_id: control.log_id,
            incarnation: control.incarnation,
            incarnation_start: control.incarnation_start,
            whole: control.durable.max(control.incarnation_start),
            limit: files.end(),
            at: control.checkpoint,
            ended: false,
            given: VecDeque::new(),
            files,
        };
        Replay {
            at: scanner.at,
            durable: control.durable,
            secured: control.durable,
            source: Source::Here(Box::new(scanner)),
            ended: false,
        }
    }

    /// The next frames, or `None` at the tail. [`base::Error::CorruptLog`] when redo that was
    /// durable cannot be read; nothing comes after an error.
    pub fn next_window(&mut self) -> Result<Option<Window>> {
        let next = match &mut self.source {
            Source::Here(scanner) => scanner.next(),
            Source::Thread(ahead, _) => ahead.take(),
            Source::Nothing => return Ok(None),
        };
        match &next {
            Ok(Some(window)) => {
                self.at = window.frames.last().map_or(self.at, |f| f.end.0);
                self.read_ahead();
            }
            Ok(None) => {
                self.ended = true;
                self.source = Source::Nothing;
            }
            Err(_) => self.source = Source::Nothing,
        }
        next
    }

    /// After the first window of a longer log: starts the thread. Without one the caller reads.
    fn read_ahead(&mut self) {
        if !matches!(&self.source, Source::Here(s) if !s.ended) {
            return;
        }
        let Source::Here(scanner) = std::mem::replace(&mut self.source, Source::Nothing) else {
            return;
        };
        let state = Mutex::new(&AHEAD_MUTEX, AheadState::default());
        let ahead = Arc::new(Ahead { state, changed: Event::new(&AHEAD_COND) });
        // The scanner waits in a box that comes back when there is no thread to be had.
        let slot = Arc::new(Mutex::new(&AHEAD_MUTEX, Some(scanner)));
        let (theirs, taken) = (Arc::clone(&ahead), Arc::clone(&slot));
        let started = host::thread::spawn("redo_reader", move || {
            let scanner = taken.lock().take();
            if let Some(scanner) = scanner {
                theirs.fill(*scanner);
            }
        });
        self.source = match started {
            Ok(thread) => Source::Thread(ahead, Some(thread)),
            Err(_) => slot.lock().take().map_or(Source::Nothing, Source::Here),
        };
    }

    /// The frames one by one, `(start, end, body)`: slower, for tests and tools.
    pub fn frames(&mut self) -> Frames<'_> {
        Frames { replay: self, window: None, next: 0 }
    }

    /// The end of what was read; the log's tail once [`Replay::next_window`] gave `None`.
    #[must_use]
    pub fn at(&self) -> Lsn {
        Lsn(self.at)
    }

    /// The log goes at least up to here.
    #[must_use]
    pub fn durable(&self) -> Lsn {
        Lsn(self.durable)
    }

    /// Everything read below is durable: pages with such LSNs may be written.
    #[must_use]
    pub fn secured(&self) -> Lsn {
        Lsn(self.secured)
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if let Source::Thread(ahead, thread) = &mut self.source {
            ahead.state.lock().closed = true;
            ahead.changed.notify_all();
            if let Some(thread) = thread.take() {
                // A panic in it was printed when it happened.
                let _ = thread.join();
            }
        }
    }
}

/// Iterator over single frames; see [`Replay::frames`]. What is left of its window when it is
/// dropped is lost.
pub struct Frames<'a> {
    replay: &'a mut Replay,
    window: Option<Window>,
    next: usize,
}

impl Iterator for Frames<'_> {
    type Item = Result<(Lsn, Lsn, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(window) = &self.window
                && let Some(frame) = window.frames.get(self.next)
            {
                self.next += 1;
                return Some(Ok((frame.start, frame.end, window.body(frame).to_vec())));
            }
            self.next = 0;
            self.window = match self.replay.next_window() {
                Ok(Some(window)) => Some(window),
                Ok(None) => return None,
                Err(e) => return Some(Err(e)),
            };
        }
    }
}
