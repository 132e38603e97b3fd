//! Sizes, commit modes and events of the log.

use base::Lsn;
use stdx::{Ordering, SharedAtomic, class};

/// The longest payload of a checkpoint, in bytes.
pub const CHECKPOINT_PAYLOAD_MAX: usize = 256;

/// Sizes of a log.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Memory between appending and writing, in bytes; made a power of two, at least 256 KiB.
    pub ring_bytes: usize,
    /// Redo files on disk, in bytes, 8 MiB to 512 GiB, whole MiB: out of bounds is moved to the
    /// nearest. Changed online by [`crate::Log::set_capacity`].
    pub capacity_bytes: u64,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig { ring_bytes: 16 << 20, capacity_bytes: 100 << 20 }
    }
}

/// `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlushMode {
    /// 0: a commit waits for nothing; the timer writes and syncs.
    Timer = 0,
    /// 1: a commit waits for an `fdatasync` that covers it.
    Sync = 1,
    /// 2: a commit waits for the write; the timer syncs.
    Write = 2,
}

impl FlushMode {
    /// The mode of a MySQL value; `None` when there is no such mode.
    #[must_use]
    pub const fn from_value(value: u8) -> Option<FlushMode> {
        match value {
            0 => Some(FlushMode::Timer),
            1 => Some(FlushMode::Sync),
            2 => Some(FlushMode::Write),
            _ => None,
        }
    }
}

/// What can be switched while the log runs.
#[derive(Debug)]
pub struct LogSettings {
    flush_at_commit: SharedAtomic<u8, { class::OTHER }>,
}

impl LogSettings {
    pub(crate) fn new() -> LogSettings {
        LogSettings { flush_at_commit: SharedAtomic::new(FlushMode::Sync as u8) }
    }

    /// What a commit waits for.
    #[must_use]
    pub fn flush_mode(&self) -> FlushMode {
        let value = self.flush_at_commit.load(Ordering::Relaxed);
        FlushMode::from_value(value).unwrap_or(FlushMode::Sync)
    }

    /// Switches the mode for the commits that follow.
    pub fn set_flush_mode(&self, mode: FlushMode) {
        self.flush_at_commit.store(mode as u8, Ordering::Relaxed);
    }
}

/// What the trace hook is told, in the order in which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEvent {
    /// Everything below was handed to the operating system.
    Written(Lsn),
    /// Everything below is durable: an `fdatasync` has returned.
    Durable(Lsn),
    /// A commit of this LSN is about to be acknowledged, in this mode.
    Acknowledged(Lsn, FlushMode),
    /// Recovery may start here from now on.
    Checkpoint(Lsn),
}
