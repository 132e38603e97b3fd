//! The capacity as an administrator sees it: changing it, and what MySQL shows of the log.

use base::{Lsn, Result};
use stdx::Ordering;

use crate::capacity::Capacity;
use crate::log::Log;

/// One row of `performance_schema.innodb_redo_log_files`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// The number in the name.
    pub file_id: u64,
    /// The name inside the data folder.
    pub file_name: String,
    /// The file's first LSN.
    pub start_lsn: Lsn,
    /// The LSN behind its last.
    pub end_lsn: Lsn,
    /// Bytes on disk.
    pub size_in_bytes: u64,
    /// Whether the log has gone beyond it.
    pub is_full: bool,
    /// Which consumer needs it; the checkpoint is the only one, 0.
    pub consumer_level: u32,
}

/// The values of the status variables `Innodb_redo_log_*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogStatus {
    /// `_checkpoint_lsn`.
    pub checkpoint_lsn: Lsn,
    /// `_current_lsn`.
    pub current_lsn: Lsn,
    /// `_flushed_to_disk_lsn`.
    pub flushed_to_disk_lsn: Lsn,
    /// `_logical_size`: bytes from the checkpoint to the last written block.
    pub logical_size: u64,
    /// `_physical_size`: bytes of all files, without spares.
    pub physical_size: u64,
    /// `_capacity_resized`: the capacity that was reached last, in bytes.
    pub capacity_resized: u64,
    /// `_resize_status`: `OK` or `Resizing down`.
    pub resize_status: &'static str,
    /// `_read_only`.
    pub read_only: bool,
    /// `_uuid`: a number of this log's own.
    pub uuid: u64,
}

impl Log {
    /// `innodb_redo_log_capacity`, in bytes: what was asked for last, within bounds.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity().bytes()
    }

    pub(crate) fn capacity(&self) -> Capacity {
        Capacity::new(self.capacity.load(Ordering::Relaxed))
    }

    /// Asks for another capacity (bounds and rounding as in [`crate::LogConfig`]). More is in
    /// force at once; less when checkpoints and [`Log::govern`] have made it so:
    /// [`LogStatus::resize_status`] tells.
    pub fn set_capacity(&self, bytes: u64) -> Result<()> {
        self.check()?;
        let capacity = Capacity::new(bytes);
        let control = self.control.lock();
        self.capacity.store(capacity.bytes(), Ordering::Relaxed);
        self.limits.set_target(capacity.room(), self.tail().0);
        drop(control);
        self.space.notify_all();
        self.work.notify_all();
        self.governor_work.notify_all();
        Ok(())
    }

    /// The files, oldest first, without spares.
    #[must_use]
    pub fn files(&self) -> Vec<FileStatus> {
        let written = self.written().0;
        let row = |f: &std::sync::Arc<crate::file::RedoFile>| FileStatus {
            file_id: f.number,
            file_name: f.name(),
            start_lsn: Lsn(f.start),
            end_lsn: Lsn(f.end),
            size_in_bytes: f.size(),
            is_full: f.end <= written,
            consumer_level: 0,
        };
        self.files.all().iter().map(row).collect()
    }

    /// What the status variables say.
    #[must_use]
    pub fn status(&self) -> LogStatus {
        let checkpoint = self.checkpoint_lsn();
        let resized = self.resized.load(Ordering::Relaxed);
        let down = resized > self.capacity_bytes();
        LogStatus {
            checkpoint_lsn: checkpoint,
            current_lsn: self.tail(),
            flushed_to_disk_lsn: self.durable(),
            logical_size: self.written().0.saturating_sub(checkpoint.0),
            physical_size: self.files.size(),
            capacity_resized: resized,
            resize_status: if down { "Resizing down" } else { "OK" },
            read_only: false,
            uuid: self.files.log_id,
        }
    }
}
