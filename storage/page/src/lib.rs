//! Page and record layouts as typed views over bytes; no I/O.
//!
//! 1. Every change of a page is a [`PageOp`], applied by the same [`apply`] when it is made and when it is
//!    redone: the same page and the same op give the same bytes, byte for byte. Guard: `apply_twice` (every op
//!    of the model test through its logged form); `redo_of_everything_gives_the_live_pages` (pool).
//! 2. [`apply`] checks an op against the page before it writes: on `Err` the page is as it was. Guard:
//!    `apply_twice`, `garbage_pages_and_ops_never_panic`.
//! 3. [`Node`] reads a page that nobody writes meanwhile; [`RacyNode`] one that may change under it. Both check
//!    every offset they find; neither panics on any bytes. Guard: `garbage_pages_and_ops_never_panic`,
//!    `readers_survive_a_scribbler`.
//!
//! Multi-byte numbers are little-endian, except the key heads, which compare like the bytes they stand for.
// RacyNode reads bytes that another thread may be writing: that needs raw pointers and atomic loads over them.
#![allow(unsafe_code)]

mod apply;
mod check;
pub mod header;
mod node;
mod op;
mod racy;
mod rebuild;
#[cfg(test)]
mod tests;

pub use apply::{apply, node_prefix_len};
pub use check::check_node;
pub use header::PageKind;
pub use node::{Found, Layout, Node, common_prefix, head_of};
pub use op::{AppendBuf, PageOp};
pub use racy::RacyNode;

use base::PAGE_BYTES;

/// First byte after the page header: where slots, or a non-node page's body, begin.
pub const BODY_AT: usize = header::BYTES;

/// Bytes of one slot.
pub const SLOT_BYTES: usize = 8;

/// Bytes an entry takes in the heap besides its key and payload (the payload's length).
pub const ENTRY_HEADER_BYTES: usize = 2;

/// The longest key of a node, in bytes. An inner node always has room for two fences and two separators of it.
///
/// Room for an index of 3,072 bytes of columns, encoded (an eighth more, and a few for each of 16 parts), and 400
/// bytes of a clustered key behind them.
pub const KEY_BYTES_MAX: usize = 4064;

/// The longest key of an entry with more payload than [`SHORT_PAYLOAD_BYTES`]: 3,072 bytes of columns, encoded.
///
/// The entries of one tree either all have short payloads, or all have keys of at most this length; so its fences
/// have as well.
pub const ROW_KEY_BYTES_MAX: usize = 3640;

/// The largest payload of an entry whose key is longer than [`ROW_KEY_BYTES_MAX`], in bytes.
pub const SHORT_PAYLOAD_BYTES: usize = 8;

/// The largest key plus payload of a leaf, in bytes: fits next to two fences of the largest size.
pub const ENTRY_BYTES_MAX: usize = PAGE_BYTES - BODY_AT - entry_bytes(0, 0) - 2 * ROW_KEY_BYTES_MAX;

const _: () = assert!(
    2 * KEY_BYTES_MAX + 2 * entry_bytes(KEY_BYTES_MAX, 4) <= PAGE_BYTES - BODY_AT
        && 2 * KEY_BYTES_MAX + entry_bytes(KEY_BYTES_MAX, SHORT_PAYLOAD_BYTES)
            <= PAGE_BYTES - BODY_AT
);

/// Bytes of a slotted page that an entry takes, slot included; `suffix` is the key without the page's prefix.
pub const fn entry_bytes(suffix: usize, payload: usize) -> usize {
    SLOT_BYTES + ENTRY_HEADER_BYTES + suffix + payload
}
