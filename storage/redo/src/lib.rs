//! Redo log: ring, group commit, checkpoints, reader.
//!
//! 1. A mini-transaction's redo is in the log wholly or not at all: one frame, one checksum. Guard:
//!    `acknowledged_commits_survive_and_replay_is_a_prefix`, `a_torn_tail_ends_the_log_without_an_error`.
//! 2. Log order is reservation order; an LSN is a byte position in the endless stream of frames. Guard:
//!    `what_was_appended_comes_back_with_its_places`; replay takes a frame at its own LSN only.
//! 3. What [`Log::commit`] acknowledged in mode 1 was covered by an `fdatasync` before. Guard: the assertion in
//!    [`Log::commit`]; `no_acknowledgement_before_a_sync_that_covers_it`.
//! 4. No byte at or above the checkpoint is overwritten, however far the writers run ahead. Guard:
//!    `write_until` asserts that a file is for it;
//!    `writers_wait_for_a_checkpoint_and_never_overwrite_what_it_needs`.
//! 5. The first error of a write or sync is the last: nothing is acknowledged after it. Guard:
//!    `the_first_error_is_the_last_word`, `a_failing_write_is_an_error_for_every_waiter`.
//!
//! How appending works is told in [`Log::append`], group commit in the module `flush`, why a full
//! ring cannot deadlock in `log`, what is on disk in `frame`, `control` and `file`, how files come and
//! go in `govern`, why recovery may read the log once in `secure`.

pub mod body;
mod capacity;
mod config;
mod control;
mod file;
mod files;
mod flush;
mod frame;
mod govern;
pub mod kind;
mod log;
mod pace;
mod replay;
mod ring;
mod secure;
mod status;

pub use config::{CHECKPOINT_PAYLOAD_MAX, FlushMode, LogConfig, LogEvent, LogSettings};
pub use log::{FatalHook, Log, TraceHook};
pub use replay::{FrameRef, Frames, Replay, Window};
pub use status::{FileStatus, LogStatus};

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
