//! Clocks: the one place that reads time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The monotonic clock.
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// Wall clock: microseconds since 1970-01-01 UTC; 0 when the clock stands before that.
#[must_use]
pub fn unix_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
