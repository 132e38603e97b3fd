//! Transactions: ids, undo, rollback segments, waiting for another transaction's end.
//!
//! Reading order: `states` (who is active), `views` (who sees whom), `ids` (numbers that survive a crash),
//! `record` (one undo record's bytes), `undo_page` (what a page of them says), `history` (what ended
//! transactions have left), `segment` (the undo pages of one client), `rseg` (where segments are found after a
//! crash), `system` (all of it together), `branch` (what is prepared).
//!
//! 1. A row's trx id says who wrote it; the row is committed unless that transaction is active. When a
//!    transaction ended says its entry in the ring, and so who sees it. Guard: asserts of `States`, `tests/models.rs`.
//! 2. A transaction never writes the same undo place twice, and nobody writes over its records before the
//!    horizon has passed its end: a roll pointer stays true for its readers, and for views as long as they may
//!    need it. Guard: asserts of `Segment::put`, `what_may_be_needed_is_there_whatever_happens`.
//! 3. A row change and its undo record are in one mini-transaction; so are a row's undoing and the
//!    step back of the segment's last record. Guard: crashes in the engine's `campaign`.

mod branch;
mod history;
mod ids;
mod reader;
mod record;
mod rseg;
mod segment;
mod states;
mod system;
mod undo_page;
mod views;

pub use branch::{Prepared, Xid};
pub use history::{History, Step};
pub use ids::{IDS_PAYLOAD_BYTES, IdKind, Ids, Reservations};
pub use reader::{ReadPage, RecordCount, SegmentInfo, UndoReader};
pub use record::{RecordKind, UndoRecord, record_bytes};
pub use rseg::{RSEGS, Recovered};
pub use segment::{Latched, NewRecord, Segment, State, UndoPos};
pub use states::{End, Past, STATES_MAX, States};
pub use system::{Ended, TrxSystem};
pub use views::View;
#[cfg(loom)]
pub use {
    history::{Claim, Item, Tail},
    views::Views,
};
