//! Making what recovery has read durable, and opening the log for appending.
//!
//! **Why it must be written once more.** Reading bytes proves nothing about the disk: the process
//! may have died between its write and its `fdatasync`; and after a failed `fdatasync` the system
//! may show bytes that it has given up writing, and a later `fdatasync` will not write them. A page
//! written with the LSN of such redo could outlive it.
//!
//! **Why only from the durable mark on.** Let `D` be the control file's durable mark and `C` its
//! checkpoint.
//! - Every byte of `[C, D)` was covered by an `fdatasync` that returned success before the block
//!   with `D` was written: `durable` moves only then (`flush` 4), and never after an error.
//! - Nothing has changed these bytes since. A place of the files is given to other log only after
//!   a checkpoint above it is durable, and both control blocks say it before that; `C` is the
//!   latest. The one block that is written again with log of `[C, D)` in it is the block that
//!   holds `D`, and its bytes below `D` are the same each time: each sector, old or new, has them.
//! - So whatever happened after `D` became durable, be it a failed write, a failed `fdatasync` or
//!   a power cut, the disk holds `[C, D)` as it is read, or it has rotted and the checksums tell.
//!
//! What is read beyond `D` has no such past, so it is written again and synced, from the block that
//! holds `D` on. The mark is moved up afterwards: the tail that a later recovery finds lies never
//! below what pages were allowed to be written for. The mark moves with every checkpoint, and about
//! once a second besides, so this is a second's worth of log.

use base::{Error, Lsn, Result};
use host::{AlignedBuf, BLOCK_BYTES};
use stdx::Ordering;

use crate::flush::Writer;
use crate::log::Log;
use crate::replay::Replay;

const BLOCK: u64 = BLOCK_BYTES as u64;
/// Bytes of one write.
const CHUNK: u64 = 1 << 20;

impl Log {
    /// Makes everything that `replay` has read durable, so that pages with LSNs up to
    /// [`Replay::at`] may be written. Costs nothing when that was durable before.
    pub fn secure(&self, replay: &mut Replay) -> Result<()> {
        self.check()?;
        let to = replay.at().0;
        if to <= replay.secured().0 {
            return Ok(());
        }
        let mut writer = self.writer.lock();
        self.rewrite(&mut writer, replay.secured().0, to)
            .and_then(|()| {
                let mut control = self.control.lock();
                control.control.durable = to;
                control.write_one()
            })
            .inspect_err(|e| self.fail(e))?;
        replay.secured = to;
        self.move_marks(to);
        Ok(())
    }

    /// Ends recovery once `replay` has come to the tail: secures the rest, begins a new
    /// incarnation behind it, and opens the log for appending. Returns the tail.
    pub fn resume(&self, mut replay: Replay) -> Result<Lsn> {
        if !replay.ended {
            return Err(Error::Internal("replay stopped early"));
        }
        self.secure(&mut replay)?;
        let tail = replay.at().0;
        let mut writer = self.writer.lock();
        let mut control = self.control.lock();
        let begun = self.load_last_block(&mut writer, tail).and_then(|()| {
            control.control.incarnation = self.incarnation();
            control.control.incarnation_start = tail;
            control.control.durable = tail;
            control.control.last_file = self.files.last().map_or(0, |f| f.number);
            control.write()
        });
        drop(control);
        drop(writer);
        begun.and_then(|()| self.adopt()).inspect_err(|e| self.fail(e))?;
        self.move_marks(tail);
        self.open_for_appending();
        Ok(Lsn(tail))
    }

    /// Writes `[from, to)` once more, in whole blocks, and syncs.
    fn rewrite(&self, writer: &mut Writer, from: u64, to: u64) -> Result<()> {
        let end = to.next_multiple_of(BLOCK);
        let mut at = from / BLOCK * BLOCK;
        let mut chunk = AlignedBuf::zeroed(CHUNK.min(end - at) as usize);
        while at < end {
            let part = CHUNK.min(end - at) as usize;
            self.files.read(at, &mut chunk[..part])?;
            self.files.write(&mut writer.output, at, &chunk[..part])?;
            at += part as u64;
        }
        self.files.sync(&mut writer.output)
    }

    /// Gives the writer the block that holds the tail, with zeros behind it.
    fn load_last_block(&self, writer: &mut Writer, tail: u64) -> Result<()> {
        let used = (tail % BLOCK) as usize;
        if used > 0 {
            self.files.read(tail / BLOCK * BLOCK, &mut writer.chunk[..BLOCK as usize])?;
        }
        writer.chunk[used..].fill(0);
        writer.note_last_word(used);
        Ok(())
    }

    /// Everything below `lsn` is there and durable; nobody appends yet.
    fn move_marks(&self, lsn: u64) {
        self.tail.store(lsn, Ordering::Release);
        self.marks.flight.store(lsn, Ordering::Release);
        self.marks.written.store(lsn, Ordering::Release);
        self.marks.durable.store(lsn, Ordering::Release);
    }
}
