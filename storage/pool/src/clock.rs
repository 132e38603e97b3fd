//! Free frames, and the clock that makes more of them.
//!
//! 1. A frame is in its instance's free list, or named by exactly one page word, or in the hands of the one
//!    thread that is moving it between the two, or withdrawn (`resize.rs`). Guard: `try_take` asserts that a
//!    free frame has no page, `Frame::set_page` as well; `shrink` that each is withdrawn once.
//! 2. The clock moves only when frames are needed: a set of pages that fits into memory is never marked. First
//!    pass over a free page: marked; next pass: evicted if it is clean. Guard:
//!    `a_warm_optimistic_read_writes_nothing_shared`, `more_pages_than_frames_keep_their_contents`.
//! 3. A page with changes that the data file may lack (in memory or in flight) keeps its frame. Guard:
//!    `Frame::assert_is_clean`, where a frame is taken from its page.
//! 4. Pages that were read in passing are listed, oldest first. While they have more than their share
//!    (`old_blocks_pct`) they are the first to go, and the clock's hand stands still: a scan then lives off its
//!    own frames. Within their share they have no privilege and no handicap beyond being marked from the start.
//!    Guard: `a_scan_of_five_pools_does_not_push_out_what_is_used`,
//!    `scans_that_come_again_live_in_what_is_free_and_promote_nothing`.

use crate::frames::probation;
use crate::instance::{Instance, add};
use crate::tablespace::Tablespace;
use crate::{Pool, doublewrite};
use base::{Error, Result, SpaceId};
use instrument::Counter;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use stdx::Ordering;
use sync::{Deadline, WaitResult, WordValue, state};

/// Most frames that one turn of the clock sets free.
pub(crate) const TURN_MAX: usize = 32;

/// Most frames that one turn looks at: how long the free list's mutex is held.
const VISITS_MAX: usize = 256;

/// Changed frames that a thread passes before it waits for the cleaner to write some.
const WANTED_MAX: usize = 64;

/// How long a wait for a frame sleeps before it looks again: latched pages become free silently.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How long a thread that has changed nothing waits for a frame: then its statement fails.
const GIVE_UP: Duration = Duration::from_secs(30);

/// What a frame is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A page that somebody asked for.
    Asked,
    /// A page read in passing, by a scan.
    Scan,
    /// A page that may be asked for soon.
    Ahead,
}

/// What somebody does who finds no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// Waits, until it was long enough or its session is killed.
    Usual,
    /// Waits as long as it takes: it has changed pages and must get to its end.
    MustEnd,
    /// Does without.
    None,
}

/// The free list and the clock's hand of an instance.
pub(crate) struct FreeFrames {
    list: Vec<u32>,
    /// The next to be visited, counted within the instance.
    hand: u32,
    /// Frames of pages on probation, oldest first; also some whose probation is over.
    passing: VecDeque<u32>,
    /// Changed frames that the clock would have liked to free.
    pub(crate) wanted: Vec<u32>,
    /// Frames taken since the start.
    pub(crate) taken: u64,
}

/// What one turn of the clock came to.
#[derive(Default)]
pub(crate) struct Turn {
    freed: usize,
    visits: usize,
    wanted: usize,
}

type Spaces = HashMap<SpaceId, Arc<Tablespace>>;

impl FreeFrames {
    pub(crate) fn new() -> FreeFrames {
        let (list, passing, wanted) = (Vec::new(), VecDeque::new(), Vec::new());
        FreeFrames { list, hand: 0, passing, wanted, taken: 0 }
    }

    /// How many frames are free.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// How many pages are on probation, or were until lately.
    pub(crate) fn passing(&self) -> usize {
        self.passing.len()
    }

    /// The hand's place, counted within the instance.
    pub(crate) fn hand(&self) -> u32 {
        self.hand
    }

    /// Adds free frames; the first is the first to be taken.
    pub(crate) fn add(&mut self, frames: impl DoubleEndedIterator<Item = u32>) {
        self.list.extend(frames.rev());
    }

    /// Takes out the frames at and above `limit`; how many.
    pub(crate) fn withdraw(&mut self, limit: u32) -> u32 {
        let before = self.list.len();
        self.list.retain(|&no| no < limit);
        (before - self.list.len()) as u32
    }
}

impl Pool {
    /// A frame that nobody else has. Waits for the cleaner when all clean pages are in use.
    ///
    /// Errors: [`Error::NoFrame`] and [`Error::Killed`] as `patience` says; the pool has failed.
    pub(crate) fn take_frame(
        &self,
        instance: usize,
        purpose: Purpose,
        patience: Patience,
    ) -> Result<u32> {
        let inst = &self.instances[instance];
        let give_up = host::clock::now() + GIVE_UP;
        loop {
            let seen = inst.freed.prepare();
            if let Some(frame) = self.try_take(instance, purpose) {
                return Ok(frame);
            }
            self.failure.check()?;
            let late = patience == Patience::Usual && host::clock::now() >= give_up;
            if late || patience == Patience::None {
                return Err(Error::NoFrame);
            }
            // A mini-transaction takes its frames before its first change (`mtr.rs`, invariant 4).
            debug_assert!(
                patience != Patience::MustEnd,
                "a wait for a frame after the first change"
            );
            instrument::count(Counter::InnodbBufferPoolWaitFree, 1);
            if !self.background.load(Ordering::Acquire)
                && self.clean_instance(instance, doublewrite::BATCH_MAX)? > 0
            {
                continue;
            }
            inst.waiters.fetch_add(1, Ordering::SeqCst);
            inst.work.notify_one();
            let deadline = Deadline::after(LOOK_AGAIN);
            let ended = match patience == Patience::Usual && !sync::is_shielded() {
                true => inst.freed.wait(seen, deadline),
                false => inst.freed.wait_unkillable(seen, deadline),
            };
            inst.waiters.fetch_sub(1, Ordering::Relaxed);
            if ended == WaitResult::Killed {
                return Err(Error::Killed);
            }
        }
    }

    /// A free frame, if there is one or the clock finds one. It goes twice round at most, and only
    /// until it has passed enough changed pages to keep the cleaner busy.
    pub(crate) fn try_take(&self, instance: usize, purpose: Purpose) -> Option<u32> {
        let inst = &self.instances[instance];
        let (mut visits, mut wanted) = (0, 0);
        loop {
            let mut free = inst.free.lock();
            if free.list.is_empty() {
                let turn = self.turn(instance, &mut free, TURN_MAX);
                visits += turn.visits.max(1);
                wanted += turn.wanted;
            }
            if let Some(frame) = free.list.pop() {
                if frame >= self.limit() {
                    self.withdrawn(1);
                    continue;
                }
                let page = self.arena.header(frame).page();
                assert!(page.is_none(), "a free frame holds page {page:?}");
                free.taken += 1;
                if purpose != Purpose::Asked {
                    let header = self.arena.header(frame);
                    if header.begin_probation(self.shared.now_ms(), purpose == Purpose::Ahead) {
                        free.passing.push_back(frame);
                    }
                }
                return Some(frame);
            }
            if visits >= 2 * self.frames_of(instance) || wanted >= WANTED_MAX {
                return None;
            }
        }
    }

    /// Puts back a frame whose page was not published.
    pub(crate) fn give_back(&self, frame: u32) {
        self.arena.header(frame).clear();
        let inst = self.instance_of_frame(frame);
        if frame >= self.limit() {
            self.withdrawn(1);
        } else {
            inst.free.lock().list.push(frame);
        }
        inst.freed.notify_one();
    }

    /// Keeps frames ready: moves the clock until `ready` frames are free, or it has found as many
    /// changed pages as are missing. Returns how many are still missing.
    pub(crate) fn make_ready(&self, instance: usize, ready: usize) -> usize {
        let inst = &self.instances[instance];
        let (mut visits, mut wanted) = (0, 0);
        loop {
            let mut free = inst.free.lock();
            let missing = ready.saturating_sub(free.list.len());
            if missing == 0 || visits >= 2 * self.frames_of(instance) || wanted >= missing {
                return missing;
            }
            let turn = self.turn(instance, &mut free, missing.min(TURN_MAX));
            drop(free);
            visits += turn.visits.max(1);
            wanted += turn.wanted;
            if turn.freed > 0 {
                inst.freed.notify_all();
            }
        }
    }

    /// Sets up to `most` frames free, looking at a bounded number of them.
    fn turn(&self, instance: usize, free: &mut FreeFrames, most: usize) -> Turn {
        let spaces = self.spaces.read();
        let mut turn = Turn::default();
        let frames = self.frames_of(instance);
        let share = frames * self.settings().old_blocks_pct() as usize / 100;
        while turn.freed < most && turn.visits < VISITS_MAX && free.passing.len() > share {
            turn.visits += 1;
            self.pass_by(instance, free, &spaces, &mut turn);
        }
        if turn.freed > 0 {
            return turn;
        }
        let n = self.instances.len() as u32;
        while turn.freed < most && turn.visits < VISITS_MAX {
            turn.visits += 1;
            let at = if (free.hand as usize) < frames { free.hand } else { 0 };
            free.hand = at + 1;
            self.visit(at * n + instance as u32, free, &spaces, &mut turn);
        }
        turn
    }

    /// Looks at the oldest page that was read in passing.
    fn pass_by(&self, _instance: usize, free: &mut FreeFrames, spaces: &Spaces, turn: &mut Turn) {
        let Some(no) = free.passing.pop_front() else { return };
        let frame = self.arena.header(no);
        if frame.probation() != probation::ON {
            frame.unlist();
            return;
        }
        let Some((seen, _)) = self.resident(no, spaces) else {
            // It is being read.
            free.passing.push_back(no);
            return;
        };
        if seen.state() == state::FREE {
            // A latch has made it an ordinary page.
            frame.unlist();
        } else if self.visit(no, free, spaces, turn) {
            frame.unlist();
        } else {
            free.passing.push_back(no);
        }
    }

    /// The word of the page in a frame, if the page is there.
    fn resident<'s>(&self, no: u32, spaces: &'s Spaces) -> Option<(WordValue, &'s sync::PageWord)> {
        let id = self.arena.header(no).page()?;
        let word = spaces.get(&id.space)?.word(id.page).ok()?;
        let seen = word.load();
        (!seen.evicted() && seen.frame() == no && seen.state() != state::IO_PENDING)
            .then_some((seen, word))
    }

    /// The hand passes a frame; true when the frame is free now.
    fn visit(&self, no: u32, free: &mut FreeFrames, spaces: &Spaces, turn: &mut Turn) -> bool {
        let Some((seen, word)) = self.resident(no, spaces) else { return false };
        let frame = self.arena.header(no);
        match seen.state() {
            state::FREE => {
                word.mark(seen);
                false
            }
            state::MARKED if !frame.is_clean() => {
                turn.wanted += 1;
                if frame.want() {
                    free.wanted.push(no);
                }
                false
            }
            // Clean when looked at, and a change since then would have made `seen` stale.
            state::MARKED if word.try_exclusive(seen) => {
                if frame.is_ahead() {
                    add(&self.counts_of_frame(no).read_ahead_evicted);
                }
                frame.assert_is_clean();
                frame.clear();
                word.evict();
                if no >= self.limit() {
                    self.withdrawn(1);
                    return true;
                }
                free.list.push(no);
                turn.freed += 1;
                true
            }
            _ => false,
        }
    }

    /// Evicts the page in a frame that is to be withdrawn, whatever the clock thinks of it; true
    /// when the frame has no page any more, or is in somebody's hands who will give it back.
    pub(crate) fn drive_out(&self, no: u32) -> bool {
        let inst = self.instance_of_frame(no);
        let mut free = inst.free.lock();
        let frame = self.arena.header(no);
        if frame.page().is_none() {
            return true;
        }
        let spaces = self.spaces.read();
        let Some((seen, word)) = self.resident(no, &spaces) else { return false };
        if !frame.is_clean() {
            if frame.want() {
                free.wanted.push(no);
            }
            return false;
        }
        if !word.try_exclusive(seen) {
            return false;
        }
        frame.assert_is_clean();
        frame.clear();
        word.evict();
        self.withdrawn(1);
        true
    }

    /// Frees every frame of a tablespace, whatever is in it. All flushers' mutexes are held.
    pub(crate) fn discard(&self, ts: &Tablespace) -> Result<()> {
        let frames = self.limit();
        if ts.pages_in_file() <= frames {
            return ts.words_made().try_for_each(|(page, word)| {
                let seen = word.load();
                if seen.evicted() {
                    return Ok(());
                }
                self.discard_frame(seen.frame(), ts, page)
            });
        }
        (0..self.frames_opened()).try_for_each(|no| match self.arena.header(no).page() {
            Some(id) if id.space == ts.id() => self.discard_frame(no, ts, id.page.0),
            _ => Ok(()),
        })
    }

    fn discard_frame(&self, no: u32, ts: &Tablespace, page: u32) -> Result<()> {
        let inst: &Instance = self.instance_of_frame(no);
        let mut dirty = inst.dirty.lock();
        dirty.drain(&inst.changed, &self.arena);
        let mut free = inst.free.lock();
        let word = ts.word(base::PageNo(page))?;
        let seen = word.load();
        if seen.evicted() {
            // The clock was faster.
            return Ok(());
        }
        if seen.frame() != no || !word.try_exclusive(seen) {
            return Err(Error::Internal("a tablespace was closed while in use"));
        }
        let frame = self.arena.header(no);
        if frame.rec_lsn().is_some() {
            dirty.discarded();
        }
        frame.clear();
        word.evict();
        if no >= self.limit() {
            self.withdrawn(1);
        } else {
            free.list.push(no);
        }
        Ok(())
    }
}
