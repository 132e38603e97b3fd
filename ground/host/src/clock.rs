//! Clocks: the one place that reads time.
//!
//! 1. In a simulation (`sync::sched`) all of them follow its virtual time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sync::{Deadline, Event, WaitResult};

instrument::classes! {
    static SLEEP: CondClass = "wait/synch/cond/host/sleep";
}

/// The wall clock at which every simulation begins, in microseconds.
const SIMULATED_EPOCH_MICROS: u64 = 1_800_000_000_000_000;

/// The monotonic clock.
#[must_use]
pub fn now() -> Instant {
    sync::now()
}

/// Wall clock: microseconds since 1970-01-01 UTC; 0 when the clock stands before that.
#[must_use]
pub fn unix_micros() -> u64 {
    if sync::sched::is_simulated() {
        return SIMULATED_EPOCH_MICROS + sync::now_ns() / 1000;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// [`unix_micros`] as it is stored and subtracted: signed.
#[must_use]
pub fn now_us() -> i64 {
    i64::try_from(unix_micros()).unwrap_or(i64::MAX)
}

/// Time that the calling thread spent on a processor, in nanoseconds: never 0.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    if sync::sched::is_simulated() {
        return sync::now_ns().max(1);
    }
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (s, ns) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    (s.unwrap_or(0) * 1_000_000_000 + ns.unwrap_or(0)).max(1)
}

/// Year, month and day of a number of days since 1970-01-01 (Howard Hinnant's public-domain
/// `civil_from_days`).
#[must_use]
pub fn date_of(days: u64) -> (u64, u64, u64) {
    // Days since 0000-03-01, so that leap days come last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// Sleeps, unless or until the current session is killed: `Killed` then, else `TimedOut`.
pub fn sleep(duration: Duration) -> WaitResult {
    let deadline = Deadline::after(duration);
    Event::new(&SLEEP).wait_until(deadline, || false)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(11_016), (2000, 2, 29));
        assert_eq!(date_of(20_778), (2026, 11, 21));
        assert_eq!(date_of(47_540), (2100, 2, 28));
        assert_eq!(date_of(47_541), (2100, 3, 1));
    }

    #[test]
    fn sleeps_at_least_as_long_as_asked() {
        let begin = now();
        assert_eq!(sleep(Duration::from_millis(5)), WaitResult::TimedOut);
        assert!(begin.elapsed() >= Duration::from_millis(5));
        assert!(unix_micros() > 1_700_000_000_000_000);
    }

    #[test]
    fn a_killed_session_does_not_sleep() {
        let slots = sync::SlotTable::new(1, 1);
        let session = slots.acquire_session().expect("one slot is free");
        session.kill(1);
        let _entered = sync::enter(&session);
        assert_eq!(sleep(Duration::from_secs(60)), WaitResult::Killed);
    }
}
