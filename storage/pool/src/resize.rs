//! Changing the pool's size while it is used.
//!
//! 1. Address space for the largest size was reserved at the start (`arena.rs`), so no frame ever moves.
//!    Growing opens frames and gives them to their instances' free lists. Guard: `Arena::range` asserts it;
//!    `a_pool_grows_and_shrinks_between_its_bounds`.
//! 2. Shrinking lowers the limit first: frames above it are taken no more. Then each is withdrawn once, by
//!    whoever has it: from the free list, from its page (clean pages are evicted, changed ones written first),
//!    or by the thread that was about to use it. When all are, their memory goes back to the system. Guard:
//!    `shrink` asserts that each frame is withdrawn once; `a_pool_is_resized_under_readers_and_writers`.
//! 3. One resize at a time. A shrink waits as long as pages stay latched; it can be called off by nothing but
//!    the end of the pool. Guard: `resize` tries the mutex `one` and answers an error.

use crate::cleaner::Pages;
use crate::doublewrite::BATCH_MAX;
use crate::{FRAMES_MIN, Pool};
use base::{Error, PAGE_BYTES, Result};
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static FRAMES: MemoryUse = "memory/innodb/buf_buf_pool";
    static RESIZE_MUTEX: MutexClass = "wait/synch/mutex/innodb/buf_pool_resize_mutex", across_io;
}

/// How long a shrink waits between its rounds.
const ROUND: Duration = Duration::from_millis(5);

type Number = SharedAtomic<u32, { class::POOL }>;

/// What a resize is doing.
pub(crate) struct Resizing {
    one: Mutex<()>,
    /// Frames that were ever opened: the limit at its highest.
    opened: Number,
    /// Frames withdrawn by the running shrink.
    withdrawn: Number,
    status: Mutex<Status>,
}

#[derive(Default)]
struct Status {
    text: String,
    code: u64,
    progress: u64,
}

impl Resizing {
    pub(crate) fn new() -> Resizing {
        Resizing {
            one: Mutex::new(&RESIZE_MUTEX, ()),
            opened: SharedAtomic::new(0),
            withdrawn: SharedAtomic::new(0),
            status: Mutex::new(&RESIZE_MUTEX, Status::default()),
        }
    }
}

/// MySQL's rule: a whole number of chunks for every instance.
#[must_use]
pub fn rounded_bytes(bytes: usize, chunk_bytes: usize, instances: usize) -> usize {
    let unit = chunk_bytes.max(1) * instances.max(1);
    bytes.div_ceil(unit).max(1) * unit
}

impl Pool {
    /// Changes the pool to `bytes`, in whole pages. Returns when it has happened: growing at once,
    /// shrinking when the pages above the new size have left; so call it on a thread of its own
    /// ([`Pool::resize_status`] tells how far it is).
    ///
    /// [`Error::Internal`] above `PoolConfig::bytes_max` or below 64 pages per instance, or when
    /// another resize runs; [`Error::Io`] when the system has no memory, or pages cannot be
    /// written.
    pub fn resize(&self, bytes: usize) -> Result<()> {
        let Some(_one) = self.resizing.one.try_lock() else {
            return Err(Error::Internal("another resize of the buffer pool is running"));
        };
        let (old, new) = (self.limit(), bytes / PAGE_BYTES);
        if new > self.arena.frames() as usize || new < FRAMES_MIN * self.instances.len() {
            return Err(Error::Internal("a size that the buffer pool cannot have"));
        }
        let new = new as u32;
        if new == old {
            let text = format!(
                "Size did not change (old size = new size = {}. Nothing to do.",
                old as usize * PAGE_BYTES
            );
            self.tell(text, 0, 0);
            return Ok(());
        }
        let of = |frames: u32| frames as usize * PAGE_BYTES;
        let text = format!("Resizing buffer pool from {} to {}.", of(old), of(new));
        self.tell(text, 1, 0);
        let done = if new > old { self.add_frames(old, new) } else { self.shrink(old, new) };
        match &done {
            Ok(()) => self.tell(
                format!("Completed resizing buffer pool at {}.", crate::warm::timestamp()),
                0,
                100,
            ),
            Err(e) => self.tell(format!("Resizing buffer pool failed: {e}"), 0, 100),
        }
        done
    }

    /// Opens frames `from..to` and makes them free.
    pub(crate) fn add_frames(&self, from: u32, to: u32) -> Result<()> {
        self.arena.open(from, to)?;
        FRAMES.take((to - from) as usize * PAGE_BYTES);
        self.resizing.opened.fetch_max(to, Ordering::AcqRel);
        self.limit.store(to, Ordering::Release);
        let n = self.instances.len() as u32;
        for (i, inst) in self.instances.iter().enumerate() {
            let first = (from + n - 1 - i as u32) / n * n + i as u32;
            inst.free.lock().add((first..to).step_by(n as usize));
            inst.freed.notify_all();
        }
        Ok(())
    }

    fn shrink(&self, old: u32, new: u32) -> Result<()> {
        self.tell("Withdrawing blocks to be shrunken.".into(), 3, 0);
        self.resizing.withdrawn.store(0, Ordering::Release);
        self.limit.store(new, Ordering::Release);
        let target = old - new;
        loop {
            for inst in &self.instances {
                let taken = inst.free.lock().withdraw(new);
                self.withdrawn(taken);
            }
            for no in new..old {
                self.drive_out(no);
            }
            let withdrawn = self.resizing.withdrawn.load(Ordering::Acquire);
            if withdrawn >= target {
                assert_eq!(withdrawn, target, "each frame is withdrawn once");
                self.arena.release(new, old)?;
                FRAMES.give_back(target as usize * PAGE_BYTES);
                return Ok(());
            }
            let percent = u64::from(withdrawn) * 100 / u64::from(target);
            self.tell("Withdrawing blocks to be shrunken.".into(), 3, percent);
            let mut written = 0;
            for i in 0..self.instances.len() {
                written += self.clean(i, BATCH_MAX, Pages::Wanted)?;
            }
            if written == 0 {
                let _ = host::clock::sleep(ROUND);
            }
        }
    }

    /// Frames at or above the limit are in nobody's hands any more.
    pub(crate) fn withdrawn(&self, frames: u32) {
        self.resizing.withdrawn.fetch_add(frames, Ordering::AcqRel);
    }

    /// Frames that were ever opened.
    pub(crate) fn frames_opened(&self) -> u32 {
        self.resizing.opened.load(Ordering::Acquire)
    }

    fn tell(&self, text: String, code: u64, progress: u64) {
        *self.resizing.status.lock() = Status { text, code, progress };
    }

    /// What `Innodb_buffer_pool_resize_status` shows.
    pub fn resize_status(&self) -> String {
        self.resizing.status.lock().text.clone()
    }

    /// What `Innodb_buffer_pool_resize_status_code` and `.._progress` show: 0 = nothing runs; how
    /// far the step is, in percent.
    pub fn resize_progress(&self) -> (u64, u64) {
        let status = self.resizing.status.lock();
        (status.code, status.progress)
    }
}

#[cfg(test)]
mod tests {
    use super::rounded_bytes;

    #[test]
    fn sizes_are_whole_chunks_for_every_instance() {
        let mib = 1 << 20;
        assert_eq!(rounded_bytes(5_000_000, 128 * mib, 1), 128 * mib);
        assert_eq!(rounded_bytes(129 * mib, 128 * mib, 1), 256 * mib);
        assert_eq!(rounded_bytes(9 << 30, 128 * mib, 16), 10 << 30);
        assert_eq!(rounded_bytes(0, mib, 3), 3 * mib);
    }
}
