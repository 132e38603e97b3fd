//! Free frames, and the clock that makes more of them.
//!
//! 1. A frame is in the free list, or named by exactly one page word, or in the hands of the one
//!    thread that is moving it between the two.
//! 2. The clock moves only when the free list is empty: a set of pages that fits into memory is
//!    never marked. First pass over a free page: marked; next pass: evicted if it is clean.
//! 3. A page with changes that the data file may lack (in memory or in flight) keeps its frame.

use crate::tablespace::Tablespace;
use crate::{Pool, doublewrite};
use base::{Error, Result, SpaceId};
use instrument::Counter;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use stdx::Ordering;
use sync::{Deadline, state};

/// Most frames that one turn of the clock sets free.
const TURN_MAX: usize = 32;

/// How long a wait for a frame sleeps before it looks again: latched pages become free silently.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How long a thread waits for a frame before it calls that a bug or a pool far too small.
const GIVE_UP: Duration = Duration::from_secs(30);

/// The free list and the clock's hand.
pub(crate) struct FreeFrames {
    list: Vec<u32>,
    hand: usize,
}

impl FreeFrames {
    pub(crate) fn all(frames: u32) -> FreeFrames {
        FreeFrames { list: (0..frames).rev().collect(), hand: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}

impl Pool {
    /// A frame that nobody else has. Waits for the cleaner when all clean pages are in use; a kill
    /// does not end the wait (the caller may hold latches and must be able to finish).
    pub(crate) fn take_frame(&self) -> Result<u32> {
        let give_up = host::clock::now() + GIVE_UP;
        loop {
            let seen = self.freed.prepare();
            if let Some(frame) = self.try_take() {
                return Ok(frame);
            }
            self.failure.check()?;
            if host::clock::now() >= give_up {
                return Err(Error::Internal("no frame of the buffer pool became free"));
            }
            instrument::count(Counter::InnodbBufferPoolWaitFree, 1);
            if !self.background.load(Ordering::Acquire)
                && self.clean_some(doublewrite::BATCH_MAX)? > 0
            {
                continue;
            }
            self.work.notify_one();
            let _ = self.freed.wait_unkillable(seen, Deadline::after(LOOK_AGAIN));
        }
    }

    fn try_take(&self) -> Option<u32> {
        let mut free = self.free.lock();
        if free.list.is_empty() {
            self.turn(&mut free);
        }
        free.list.pop()
    }

    /// Puts back a frame whose page was not published.
    pub(crate) fn give_back(&self, frame: u32) {
        self.frames[frame as usize].clear();
        self.free.lock().list.push(frame);
        self.freed.notify_one();
    }

    /// Moves the hand until some frames are free, at most two rounds.
    fn turn(&self, free: &mut FreeFrames) {
        let spaces = self.spaces.read();
        for _ in 0..2 * self.frames.len() {
            let no = free.hand;
            free.hand = (no + 1) % self.frames.len();
            if self.visit(no, &spaces) {
                free.list.push(no as u32);
                if free.list.len() >= TURN_MAX {
                    return;
                }
            }
        }
    }

    /// The hand passes a frame; true when the frame is free now.
    fn visit(&self, no: usize, spaces: &HashMap<SpaceId, Arc<Tablespace>>) -> bool {
        let frame = &self.frames[no];
        let Some(id) = frame.page() else { return false };
        let Some(ts) = spaces.get(&id.space) else { return false };
        let Ok(word) = ts.word(id.page) else { return false };
        let seen = word.load();
        if seen.frame() as usize != no {
            return false;
        }
        match seen.state() {
            state::FREE => {
                word.mark(seen);
                false
            }
            state::MARKED if !frame.is_clean() => {
                frame.want();
                false
            }
            // Clean when looked at, and a change since then would have made `seen` stale.
            state::MARKED if word.try_exclusive(seen) => {
                frame.clear();
                word.evict();
                true
            }
            _ => false,
        }
    }

    /// Frees every frame of a tablespace, whatever is in it. The cleaner's mutex is held.
    pub(crate) fn discard(&self, ts: &Tablespace) -> Result<()> {
        let mut free = self.free.lock();
        for (no, frame) in self.frames.iter().enumerate() {
            let Some(id) = frame.page() else { continue };
            if id.space != ts.id() {
                continue;
            }
            let word = ts.word(id.page)?;
            let seen = word.load();
            if seen.frame() as usize != no || !word.try_exclusive(seen) {
                return Err(Error::Internal("a tablespace was closed while in use"));
            }
            frame.clear();
            word.evict();
            free.list.push(no as u32);
        }
        Ok(())
    }
}
