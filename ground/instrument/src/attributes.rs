//! Connection attributes: for how many bytes of them a session has room, and what was lost.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// `performance_schema_session_connect_attrs_size`.
static BYTES_MAX: AtomicUsize = AtomicUsize::new(512);
static LONGEST: AtomicU64 = AtomicU64::new(0);
static LOST: AtomicU64 = AtomicU64::new(0);

/// For how many bytes of a session's attributes there is room.
pub fn set_attribute_bytes_max(bytes: usize) {
    BYTES_MAX.store(bytes, Relaxed);
}

/// A client sent attributes of so many bytes, the lengths before names and values among them; for how many there is room.
pub fn attributes_sent(bytes: usize) -> usize {
    LONGEST.fetch_max(bytes as u64, Relaxed);
    let bytes_max = BYTES_MAX.load(Relaxed);
    if bytes > bytes_max {
        LOST.fetch_add(1, Relaxed);
    }
    bytes_max
}

/// `Performance_schema_session_connect_attrs_longest_seen`: bytes of the longest attributes of a connection.
pub fn longest_attributes() -> u64 {
    LONGEST.load(Relaxed)
}

/// `Performance_schema_session_connect_attrs_lost`: connections whose attributes found no room.
pub fn attributes_lost() -> u64 {
    LOST.load(Relaxed)
}

/// `FLUSH STATUS`: what was lost counts from zero again.
pub fn forget_attributes_lost() {
    LOST.store(0, Relaxed);
}
