//! Reading the log at recovery, once: verified windows from the checkpoint to the tail.
//!
//! 1. The tail is the first place that has no frame written there: length, LSN echo, incarnation and checksum
//!    must all hold (see `frame`). What lies beyond is never looked at. Guard:
//!    `a_torn_tail_ends_the_log_without_an_error`, `leftovers_beyond_the_tail_are_never_taken_for_new_log`.
//! 2. Below the start of the latest incarnation, and below the durable mark of the control file, frames were
//!    durable once; a hole there is damage, and an error. From the start of the latest incarnation on a frame
//!    must carry it. Guard: `rot_in_redo_that_was_durable_at_the_last_opening_is_an_error`.
//! 3. Reading ends where the files end, at the latest. Guard: `Reader::next`; reading beyond is an error of
//!    `Files::find`.
//! 4. A frame lies in one window: what the end of a chunk of the files cuts off is put in front of the next
//!    chunk. Guard: `many_laps_round_the_files`, with chunks of 32 KiB.
//! 5. A log longer than one chunk is read by a thread of its own, which lives no longer than the [`Replay`], so
//!    that the disk works while the caller's thread verifies. It reads beyond the tail; an error there reaches
//!    nobody. Guard: `ReadAhead::drop` joins the thread.

use std::collections::VecDeque;
use std::sync::Arc;

use base::{Lsn, Result};
use host::thread::JoinHandle;
use host::{AlignedBuf, BLOCK_BYTES};
use sync::{Deadline, Event, Mutex};

use crate::capacity::FRAME_BYTES_MAX;
use crate::control::Control;
use crate::files::{Files, corrupt};
use crate::frame::{HEADER_BYTES, Header, frame_bytes};

instrument::classes! {
    static AHEAD_MUTEX: MutexClass = "wait/synch/mutex/limpid/redo_read_ahead";
    static AHEAD_COND: CondClass = "wait/synch/cond/limpid/redo_read_ahead";
}

const BLOCK: u64 = BLOCK_BYTES as u64;
/// Room in front of a chunk for the beginning of a frame that the chunk before has cut.
const HEAD_BYTES: usize = frame_bytes(FRAME_BYTES_MAX as usize).next_multiple_of(BLOCK_BYTES);
/// Bytes read at once: with the room in front as large as huge pages. This crate's tests want frames
/// that are cut.
const CHUNK_BYTES: u64 = if cfg!(test) { 32 << 10 } else { (4 << 20) - HEAD_BYTES as u64 };
/// Chunks that are read ahead.
const AHEAD_MAX: usize = 3;

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

    /// The frame that byte `at` of this window belongs to, if any.
    #[must_use]
    pub fn frame_of(&self, at: u32) -> Option<&FrameRef> {
        let after = self.frames.partition_point(|f| f.at <= at);
        self.frames[..after].last().filter(|f| at - f.at < f.len)
    }

    /// The LSN of byte `at`, which lies in a frame of this window.
    #[must_use]
    pub fn lsn(&self, at: u32) -> Lsn {
        let first = &self.frames[0];
        Lsn(first.start.0 + HEADER_BYTES as u64 + u64::from(at) - u64::from(first.at))
    }
}

/// What stands at a place of the log.
enum Found {
    /// A whole frame with a body of so many bytes.
    Frame(usize),
    /// The beginning of something that the chunk's end cuts.
    Cut,
    /// No frame.
    Tail,
}

/// A piece of the log as it was read, behind room for [`HEAD_BYTES`].
struct Chunk {
    /// The LSN of its first byte.
    base: u64,
    bytes: AlignedBuf,
}

/// Reads, one chunk after the other, as far as the files go.
#[derive(Clone)]
struct Reader {
    files: Arc<Files>,
    next: u64,
    limit: u64,
}

impl Reader {
    fn next(&mut self) -> Result<Option<Chunk>> {
        if self.next >= self.limit {
            return Ok(None);
        }
        let base = self.next;
        self.next = (base + CHUNK_BYTES).min(self.limit);
        let mut bytes = AlignedBuf::zeroed(HEAD_BYTES + (self.next - base) as usize);
        self.files.read(base, &mut bytes[HEAD_BYTES..])?;
        Ok(Some(Chunk { base, bytes }))
    }
}

/// Verifies, one window after the other.
struct Scanner {
    chunks: Source,
    log_id: u64,
    incarnation: u32,
    incarnation_start: u64,
    /// Up to here the log is known to be whole (invariant 2).
    whole: u64,
    /// Where the next frame must stand.
    at: u64,
    /// The log's bytes from there to the next chunk.
    rest: Vec<u8>,
    /// The tail was found.
    ended: bool,
}

impl Scanner {
    fn next(&mut self) -> Result<Option<Window>> {
        while !self.ended {
            let Some(Chunk { base, mut bytes }) = self.chunks.next()? else {
                break;
            };
            bytes[HEAD_BYTES - self.rest.len()..HEAD_BYTES].copy_from_slice(&self.rest);
            self.rest.clear();
            let frames = self.frames(base, &bytes);
            if !frames.is_empty() {
                return Ok(Some(Window { bytes: Arc::new(bytes), frames }));
            }
        }
        if self.at < self.whole {
            return Err(corrupt(self.at, "redo that was durable is missing or damaged"));
        }
        Ok(None)
    }

    /// The frames of a chunk and what was put in front of it; keeps what its end cuts.
    fn frames(&mut self, base: u64, bytes: &[u8]) -> Vec<FrameRef> {
        let mut frames = Vec::new();
        loop {
            let place = (HEAD_BYTES as u64 + self.at - base) as usize;
            match self.look(&bytes[place..]) {
                Found::Frame(body_bytes) => {
                    let (start, at) = (Lsn(self.at), (place + HEADER_BYTES) as u32);
                    self.at += frame_bytes(body_bytes) as u64;
                    let (end, len) = (Lsn(self.at), body_bytes as u32);
                    frames.push(FrameRef { start, end, at, len });
                }
                Found::Cut => {
                    self.rest.extend_from_slice(&bytes[place..]);
                    return frames;
                }
                Found::Tail => {
                    self.ended = true;
                    return frames;
                }
            }
        }
    }

    /// What stands at the beginning of `bytes`, which is the log from `self.at` on.
    fn look(&self, bytes: &[u8]) -> Found {
        let Some(raw) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Found::Cut;
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
            return Found::Cut;
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
    ready: VecDeque<Result<Option<Chunk>>>,
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

    /// The reading thread: ends at the end of the files, after an error, or when nobody takes any more.
    fn fill(&self, mut reader: Reader) {
        loop {
            let next = reader.next();
            let last = !matches!(next, Ok(Some(_)));
            self.state.lock().ready.push_back(next);
            self.changed.notify_all();
            self.wait_while(|s| s.ready.len() >= AHEAD_MAX && !s.closed);
            if last || self.state.lock().closed {
                return;
            }
        }
    }

    fn take(&self) -> Result<Option<Chunk>> {
        self.wait_while(|s| s.ready.is_empty());
        let next = self.state.lock().ready.pop_front();
        self.changed.notify_all();
        next.unwrap_or(Ok(None))
    }
}

/// The reading thread and what it shares with its taker, who ends it by dropping this.
struct ReadAhead {
    ahead: Arc<Ahead>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.ahead.state.lock().closed = true;
        self.ahead.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// Where chunks come from.
enum Source {
    /// The caller's thread reads.
    Here(Reader),
    /// Another one does.
    Thread(ReadAhead),
}

impl Source {
    fn next(&mut self) -> Result<Option<Chunk>> {
        match self {
            Source::Here(reader) => reader.next(),
            Source::Thread(thread) => thread.ahead.take(),
        }
    }

    /// Starts the thread. Without one the caller reads.
    fn read_ahead(&mut self) {
        let Source::Here(reader) = self else { return };
        let state = Mutex::new(&AHEAD_MUTEX, AheadState::default());
        let ahead = Arc::new(Ahead { state, changed: Event::new(&AHEAD_COND) });
        let (theirs, reader) = (Arc::clone(&ahead), reader.clone());
        if let Ok(thread) = host::thread::spawn("redo_reader", move || theirs.fill(reader)) {
            *self = Source::Thread(ReadAhead { ahead, thread: Some(thread) });
        }
    }
}

/// The log from the checkpoint on, read once.
pub struct Replay {
    /// Gone when the tail or an error was reached.
    scanner: Option<Scanner>,
    at: u64,
    durable: u64,
    pub(crate) secured: u64,
    pub(crate) ended: bool,
}

impl Replay {
    pub(crate) fn new(files: Arc<Files>, control: &Control) -> Replay {
        let (next, limit) = (control.checkpoint / BLOCK * BLOCK, files.end());
        let scanner = Scanner {
            chunks: Source::Here(Reader { files, next, limit }),
            log_id: control.log_id,
            incarnation: control.incarnation,
            incarnation_start: control.incarnation_start,
            whole: control.durable.max(control.incarnation_start),
            at: control.checkpoint,
            rest: Vec::new(),
            ended: false,
        };
        Replay {
            at: scanner.at,
            durable: control.durable,
            secured: control.durable,
            scanner: Some(scanner),
            ended: false,
        }
    }

    /// The next frames, or `None` at the tail. [`base::Error::CorruptLog`] when redo that was
    /// durable cannot be read; nothing comes after an error.
    pub fn next_window(&mut self) -> Result<Option<Window>> {
        let Some(scanner) = &mut self.scanner else { return Ok(None) };
        let next = scanner.next();
        if let Ok(Some(window)) = &next {
            self.at = window.frames.last().map_or(self.at, |f| f.end.0);
            if !scanner.ended {
                scanner.chunks.read_ahead();
            }
        } else {
            self.ended = next.is_ok();
            self.scanner = None;
        }
        next
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
