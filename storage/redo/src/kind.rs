//! Kinds of redo records: one byte each, never reused for another meaning.
//!
//! 1. A reader refuses a kind it does not know: redo of a newer format must not be half applied. Guard:
//!    `damaged_bytes_never_panic_and_unknown_kinds_are_refused`.

/// A page operation: `{space, page, op}`.
pub const PAGE: u8 = 1;
/// A transaction began or changed its state; the bytes are the transaction layer's.
pub const TRX: u8 = 16;
/// A dictionary change that recovery must know of.
pub const DICTIONARY: u8 = 17;
/// A tablespace file was made: recovery may meet its pages.
pub const SPACE_CREATE: u8 = 18;
/// A tablespace file was dropped: recovery skips its pages below this record.
pub const SPACE_DROP: u8 = 19;
/// A binary log event that travels in the redo log. Reserved.
pub const BINLOG_EVENT: u8 = 33;
/// A change to a secondary leaf that is not in memory. Reserved.
pub const CHANGE_BUFFER_ADD: u8 = 34;
/// Buffered changes were merged into their leaf. Reserved.
pub const CHANGE_BUFFER_MERGE: u8 = 35;
/// The first kind free for tests and other logical records of the engine.
pub const ENGINE: u8 = 64;

/// Whether this format has a meaning for the kind.
#[must_use]
pub const fn is_known(kind: u8) -> bool {
    matches!(kind, PAGE | TRX..=SPACE_DROP | BINLOG_EVENT..=CHANGE_BUFFER_MERGE | ENGINE..=127)
}
