//! Reading the log at recovery: frames from the checkpoint to the tail.
//!
//! 1. The tail is the first place that has no frame written there: length, LSN echo, incarnation
//!    and checksum must all hold (see `frame`). What lies beyond is never looked at.
//! 2. Below the start of the latest incarnation frames were durable once; a hole there is damage,
//!    and an error. From that start on a frame must carry the latest incarnation.
//! 3. No more than the capacity is read: a full lap cannot be taken for new log.

use std::sync::Arc;

use base::{Lsn, Result};
use host::{AlignedBuf, BLOCK_BYTES};

use crate::control::Control;
use crate::files::{Files, corrupt};
use crate::flush::Writer;
use crate::frame::{HEADER_BYTES, Header, frame_bytes};
use crate::log::frame_bytes_max;

const BLOCK: u64 = BLOCK_BYTES as u64;
/// Bytes read at once.
const WINDOW_BYTES: u64 = 1 << 20;

/// The frames from the checkpoint to the tail: `(start, end, body)` each.
pub struct Replay {
    files: Arc<Files>,
    log_id: u64,
    incarnation: u32,
    incarnation_start: u64,
    /// The first LSN that cannot be part of this log.
    limit: u64,
    /// Known end; `u64::MAX` while it is being looked for.
    tail: u64,
    at: u64,
    window: AlignedBuf,
    window_at: u64,
    /// A parse error was returned: nothing more comes.
    ended: bool,
}

impl Replay {
    pub(crate) fn new(files: Arc<Files>, control: &Control, tail: u64) -> Replay {
        Replay {
            log_id: control.log_id,
            incarnation: control.incarnation,
            incarnation_start: control.incarnation_start,
            limit: control.checkpoint / BLOCK * BLOCK + files.capacity(),
            tail,
            at: control.checkpoint,
            window: AlignedBuf::new(),
            window_at: 0,
            ended: false,
            files,
        }
    }

    /// The next frame's LSN.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// Where the log ends, for [`crate::Log::resume`].
    #[must_use]
    pub fn tail(&self) -> Lsn {
        Lsn(self.tail)
    }

    /// The next LSN that will be yielded; with [`Replay::tail`] tells the progress.
    #[must_use]
    pub fn at(&self) -> Lsn {
        Lsn(self.at)
    }

    /// Makes `[at, at + bytes)` available in the window; false when that is beyond the limit.
    fn load(&mut self, bytes: u64) -> Result<bool> {
        let end = self.at + bytes;
        if end > self.limit {
            return Ok(false);
        }
        let have = self.window_at + self.window.len() as u64;
        if self.at >= self.window_at && end <= have {
            return Ok(true);
        }
        self.window_at = self.at / BLOCK * BLOCK;
        let to = (self.window_at + WINDOW_BYTES).max(end.next_multiple_of(BLOCK)).min(self.limit);
        self.window.clear();
        self.window.resize((to - self.window_at) as usize);
        self.files.read(self.window_at, &mut self.window)?;
        Ok(true)
    }

    fn bytes(&self, from: usize, bytes: usize) -> &[u8] {
        let base = (self.at - self.window_at) as usize + from;
        &self.window[base..base + bytes]
    }

    /// The next frame, or `None` at the tail: start, end, and the body's length in the window.
    pub(crate) fn step(&mut self) -> Result<Option<(u64, u64, &[u8])>> {
        if self.at >= self.tail || self.ended {
            return Ok(None);
        }
        let Some(body_bytes) = self.check()? else {
            if self.tail == u64::MAX && self.at >= self.incarnation_start {
                return Ok(None);
            }
            self.ended = true;
            return Err(corrupt(self.at, "redo that was durable is damaged"));
        };
        let (start, end) = (self.at, self.at + frame_bytes(body_bytes) as u64);
        self.at = end;
        let base = (start - self.window_at) as usize + HEADER_BYTES;
        Ok(Some((start, end, &self.window[base..base + body_bytes])))
    }

    /// The body's length if a whole frame stands here.
    fn check(&mut self) -> Result<Option<usize>> {
        if !self.load(HEADER_BYTES as u64)? {
            return Ok(None);
        }
        let Some(raw) = self.bytes(0, HEADER_BYTES).first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let header = Header::parse(raw);
        let incarnation_fits = if self.at >= self.incarnation_start {
            header.incarnation == self.incarnation
        } else {
            header.incarnation < self.incarnation
        };
        if !header.plausible(self.at, frame_bytes_max(self.files.capacity())) || !incarnation_fits {
            return Ok(None);
        }
        let body_bytes = header.body_bytes as usize;
        if !self.load(frame_bytes(body_bytes) as u64)? {
            return Ok(None);
        }
        let body = self.bytes(HEADER_BYTES, body_bytes);
        Ok(header.matches(body, self.log_id).then_some(body_bytes))
    }
}

impl Iterator for Replay {
    type Item = Result<(Lsn, Lsn, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().map(|f| f.map(|(s, e, body)| (Lsn(s), Lsn(e), body.to_vec())));
        if step.is_err() {
            self.ended = true;
        }
        step.transpose()
    }
}

/// Makes `[checkpoint, tail)` durable by writing it once more.
///
/// Reading it proves nothing: after a failed `fdatasync` the system may show bytes that it has
/// given up writing, and a later `fdatasync` will not write them. The last block is written with
/// zeros beyond the tail, and kept by the writer.
pub(crate) fn secure(files: &Files, checkpoint: u64, tail: u64, writer: &mut Writer) -> Result<()> {
    let mut at = checkpoint / BLOCK * BLOCK;
    let mut window = AlignedBuf::new();
    while at < tail {
        let to = (at + WINDOW_BYTES).min(tail);
        window.clear();
        window.resize((to - at).next_multiple_of(BLOCK) as usize);
        files.read(at, &mut window)?;
        window[(to - at) as usize..].fill(0);
        files.write(at, &window, &mut writer.unsynced)?;
        let last = window.len() - BLOCK_BYTES;
        writer.last_block.copy_from_slice(&window[last..]);
        at = to;
    }
    files.sync(&mut writer.unsynced)
}
