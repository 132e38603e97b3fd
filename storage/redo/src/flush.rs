//! Writing the ring to the files, and group commit.
//!
//! 1. One write is in flight at a time: whoever holds the writer's mutex leads. It is only ever tried, never
//!    waited for. Guard: the type: [`Writer`] is only behind its mutex.
//! 2. A leader publishes in `flight` how far its write will reach and its group (alternating 0, 1). A committer
//!    that is covered waits for that group's event, one that is not for the other's. When the write is over the
//!    leader wakes one of the other group, who leads next, and the whole of its own: so nobody is woken by a
//!    write that does not concern him. Guard: the model `every_committer_is_woken`,
//!    `every_group_commit_gets_its_answer`.
//! 3. No wake-up is lost: a waiter announces itself, then tries to lead; a leader lets go of the mutex, then
//!    notifies. One of them sees the other. A waiter that leaves without having led passes the call to lead on,
//!    if nobody leads (`Log::pass_on`). Guard: the models `every_committer_is_woken` and
//!    `a_next_leader_that_is_not_called_is_noticed`.
//! 4. `durable` moves only after `fdatasync` has returned success for every file written since the last time.
//!    After an error it never moves again. Guard: the assertions in `round` (written and synced before
//!    `durable` moves) and [`Log::commit`]; `the_first_error_is_the_last_word`.
//! 5. A round ends at a frame's end, also when the files have no room for more. So does `durable`. Guard:
//!    `a_full_log_waits_for_space_even_when_nobody_paced`; replay refuses a durable mark beyond the last
//!    whole frame.
//! 6. The last block is written again when the log grows inside it; the bytes before are the same, so each of
//!    its sectors, old or new, has them. Guard: `Writer::assert_kept`, at every write.
//! 7. A leader that panics fails the log: nobody waits for what it was about to write. Guard: [`Leading`];
//!    `a_leader_that_panics_leaves_nobody_waiting`.

use base::{Error, Lsn, Result};
use host::{AlignedBuf, BLOCK_BYTES};
use instrument::{Counter, count};
use stdx::Ordering;
use sync::{Deadline, MutexGuard};

use crate::config::LogEvent;
use crate::files::Output;
use crate::frame::{self, ALIGN_BYTES};
use crate::log::Log;

const BLOCK: u64 = BLOCK_BYTES as u64;
/// Bytes of one write at most; ring room is given back after each.
const CHUNK: u64 = 1 << 20;

/// What the leader works with.
pub(crate) struct Writer {
    /// Begins with the block that holds the end of what is written, as it stands in the file; behind that are zeros.
    /// During a write, with all blocks of it.
    pub chunk: AlignedBuf,
    pub output: Output,
    group: u64,
    /// What stands before the end of what is written, if that is inside a block.
    pub(crate) last_word: [u8; ALIGN_BYTES],
}

impl Writer {
    pub(crate) fn new() -> Writer {
        let chunk = AlignedBuf::zeroed(BLOCK_BYTES);
        Writer { chunk, output: Output::default(), group: 0, last_word: [0; ALIGN_BYTES] }
    }

    /// The log is written up to byte `end` of `chunk`.
    pub(crate) fn note_last_word(&mut self, end: usize) {
        if let Some(word) = self.chunk[..end].last_chunk() {
            self.last_word = *word;
        }
    }

    /// What is written of the block in `chunk`, up to byte `head`, is still what the file has.
    fn assert_kept(&self, head: usize) {
        let kept = self.chunk[..head].last_chunk().is_none_or(|word| *word == self.last_word);
        assert!(kept, "the log's last block is written again without its beginning");
    }
}

/// What a round of writing came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Something was written or synced.
    Done,
    /// A mini-transaction below is still being copied.
    Copying,
    /// The files have no room for the next frame, which ends here.
    Full(u64),
}

/// Invariant 7.
struct Leading<'l>(&'l Log);

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(&Error::Internal("an invariant of the log is broken"));
        }
    }
}

impl Log {
    /// Returns when everything below `lsn` is written, and durable if asked.
    pub(crate) fn reach(&self, lsn: u64, durable: bool) -> Result<()> {
        let mark = if durable { &self.marks.durable } else { &self.marks.written };
        if mark.load(Ordering::Acquire) >= lsn {
            return self.check();
        }
        if lsn > self.tail().0 {
            return Err(Error::Internal("an LSN beyond the log's end was waited for"));
        }
        let mut waited = false;
        loop {
            let reached = mark.load(Ordering::Acquire) >= lsn;
            if reached || self.failed() {
                if waited {
                    self.pass_on();
                }
                return self.check();
            }
            if let Some(writer) = self.writer.try_lock() {
                self.lead(writer, durable)?;
                continue;
            }
            let flight = self.marks.flight.load(Ordering::Acquire);
            let (end, group) = (flight & !7, (flight & 1) as usize);
            let event = &self.groups[if end >= lsn { group } else { 1 - group }];
            let seen = event.prepare();
            if mark.load(Ordering::Acquire) >= lsn
                || self.failed()
                || flight != self.marks.flight.load(Ordering::Acquire)
            {
                continue;
            }
            if let Some(writer) = self.writer.try_lock() {
                drop(seen);
                self.lead(writer, durable)?;
                continue;
            }
            let _ = event.wait_unkillable(seen, Deadline::Never);
            waited = true;
        }
    }

    /// Waits until the ring has room up to `end`; leads when nobody else does.
    #[cold]
    pub(crate) fn wait_for_room(&self, end: u64) -> Result<()> {
        count(Counter::InnodbLogWaits, 1);
        while end > self.room_end() {
            self.check()?;
            if let Some(writer) = self.writer.try_lock() {
                self.lead(writer, false)?;
                continue;
            }
            let seen = self.room.prepare();
            if end <= self.room_end() || self.failed() {
                continue;
            }
            if let Some(writer) = self.writer.try_lock() {
                drop(seen);
                self.lead(writer, false)?;
                continue;
            }
            let _ = self.room.wait_unkillable(seen, Deadline::Never);
        }
        // A failed log gives no room: what it did not write may not be overwritten as if it were.
        self.check()
    }

    /// One round as the leader, then whatever must be waited for without the mutex.
    fn lead(&self, writer: MutexGuard<'_, Writer>, sync: bool) -> Result<()> {
        // Dropped behind the guard: who is woken finds the mutex free.
        let _leading = Leading(self);
        let mut writer = writer;
        let result = self.round(&mut writer, sync);
        let group = (writer.group & 1) as usize;
        let first = result.as_ref().is_err_and(|e| self.latch(e));
        drop(writer);
        sync::sched::point("redo: lead over");
        if let Err(e) = &result {
            self.announce_failure(first, e);
        }
        // Who leads next first: the file is idle until then.
        self.groups[1 - group].notify_one();
        self.groups[group].notify_all();
        self.room.notify_all();
        match result? {
            Round::Done => Ok(()),
            Round::Copying => {
                sync::yield_now();
                Ok(())
            }
            Round::Full(end) => self.wait_for_space(end),
        }
    }

    /// Hands the call to lead to another waiter, unless somebody leads.
    pub(crate) fn pass_on(&self) {
        if let Some(writer) = self.writer.try_lock() {
            drop(writer);
            self.groups[0].notify_one();
            self.groups[1].notify_one();
            self.room.notify_all();
        }
    }

    fn round(&self, writer: &mut Writer, sync: bool) -> Result<Round> {
        let end = self.contiguous_end();
        // After the slots: a frame that was given up when the log failed is never written.
        self.check()?;
        let written = self.marks.written.load(Ordering::Relaxed);
        let durable = self.marks.durable.load(Ordering::Relaxed);
        assert!(durable <= written, "the log is durable to {durable}, written to {written}");
        let (end, too_much) = self.fitting(written, end);
        if let Some(next) = too_much
            && end == written
            && (!sync || durable == written)
        {
            return Ok(Round::Full(next));
        }
        if end == written && (!sync || durable == written) {
            return Ok(Round::Copying);
        }
        writer.group += 1;
        self.marks.flight.store(end | (writer.group & 1), Ordering::Release);
        self.write_until(writer, written, end)?;
        if sync && durable < end {
            self.files.sync(&mut writer.output)?;
            count(Counter::InnodbOsLogFsyncs, 1);
            assert!(writer.output.is_synced(), "log is called durable that was not synced");
            assert!(self.written().0 >= end, "log is called durable that was not written");
            self.tell(LogEvent::Durable(Lsn(end)));
            self.marks.durable.store(end, Ordering::Release);
        }
        Ok(Round::Done)
    }

    /// How far the frames of `[from, end)` fit into the files, and where the next one would end.
    fn fitting(&self, from: u64, end: u64) -> (u64, Option<u64>) {
        let limit = self.limits.write_end();
        let mut at = from;
        if end <= limit {
            return (end, None);
        }
        loop {
            let mut header = [0; ALIGN_BYTES];
            self.ring.get(at, &mut header);
            let next = at + frame::frame_bytes(frame::body_bytes(header)) as u64;
            if next > limit {
                return (at, Some(next));
            }
            at = next;
        }
    }

    /// Writes `[from, end)`, whole frames for which the files have room.
    fn write_until(&self, writer: &mut Writer, mut from: u64, end: u64) -> Result<()> {
        assert!(end <= self.limits.files_end(), "log up to {end} is written, no file is for it");
        while from < end {
            let base = from / BLOCK * BLOCK;
            let to = end.min(base + CHUNK);
            let (head, bytes) = ((from - base) as usize, (to - base) as usize);
            writer.assert_kept(head);
            let Writer { chunk, output, .. } = &mut *writer;
            let whole = bytes.next_multiple_of(BLOCK_BYTES);
            if chunk.len() < whole {
                chunk.resize(whole);
            }
            self.ring.get(from, &mut chunk[head..bytes]);
            let file = output.number();
            self.files.write(output, base, &chunk[..whole])?;
            if output.number() != file {
                // The next file is the last: the one after it is to be made.
                sync::sched::point("redo: file switch");
                self.governor_work.notify_all();
            }
            count(Counter::InnodbLogWrites, 1);
            count(Counter::InnodbOsLogWritten, whole as u64);
            writer.note_last_word(bytes);
            keep_last_block(&mut writer.chunk, bytes);
            self.tell(LogEvent::Written(Lsn(to)));
            self.marks.written.store(to, Ordering::Release);
            self.room.notify_all();
            from = to;
        }
        Ok(())
    }
}

/// Leaves the block in which the next write begins: the last one of which `bytes`, those that are used, have a part, or
/// an empty one behind them.
fn keep_last_block(chunk: &mut [u8], bytes: usize) {
    let last = bytes / BLOCK_BYTES * BLOCK_BYTES;
    if last > 0 {
        chunk.copy_within(last..bytes, 0);
        chunk[bytes - last..bytes].fill(0);
    }
}
