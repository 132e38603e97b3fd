//! How often anything was switched or emptied: who has looked at many switches looks again when this number has grown.
//!
//! 1. Switches change before the number does: whoever sees the number sees them ([`switched`] acquires). 2. The number lies alone on
//! its cache line, which is read by every statement and written by hand.

use std::sync::atomic::{AtomicU64, Ordering};

#[repr(align(128))]
struct Alone(AtomicU64);

static SWITCHED: Alone = Alone(AtomicU64::new(1));

/// How often anything was switched or emptied. One load of a line that is seldom written.
#[inline(always)]
pub fn switched() -> u64 {
    SWITCHED.0.load(Ordering::Acquire)
}

/// Something was switched or emptied.
pub fn note_switch() {
    SWITCHED.0.fetch_add(1, Ordering::Release);
}
