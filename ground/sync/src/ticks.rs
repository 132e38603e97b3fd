//! The processor's own clock, for what is timed so often that reading the system's would cost more than it tells.
//!
//! 1. It is used where the processor says that it runs evenly, whatever the cores do, and once [`calibrate`] has compared it
//! with the system's clock; before and elsewhere a tick is a nanosecond of [`crate::now_ns`]. So in simulations, whose time is
//! virtual. 2. A time between two readings may be some nanoseconds wrong, and is never less than nothing.

use crate::now_ns;
#[cfg(not(loom))]
use stdx::{LocalAtomic, Ordering};

/// Nanoseconds in a tick, times 2^32; 0 while ticks are nanoseconds.
#[cfg(not(loom))]
static SCALE: LocalAtomic<u64> = LocalAtomic::new(0);

#[cfg(not(loom))]
#[inline]
fn scale() -> u64 {
    SCALE.load(Ordering::Relaxed)
}

/// A model has no time.
#[cfg(loom)]
fn scale() -> u64 {
    0
}

/// How long the clocks are compared.
#[cfg(not(loom))]
const COMPARED_NS: u64 = 2_000_000;

/// Now, in ticks.
#[inline]
pub fn ticks() -> u64 {
    if scale() == 0 { now_ns() } else { counter() }
}

/// The time since a reading of [`ticks`], in nanoseconds.
#[inline]
pub fn ns_since(start: u64) -> u64 {
    match scale() {
        0 => now_ns().saturating_sub(start),
        scale => {
            let passed = counter().saturating_sub(start);
            ((u128::from(passed) * u128::from(scale)) >> 32) as u64
        }
    }
}

/// Compares the processor's clock with the system's, for two milliseconds; called once, when a server starts.
#[cfg(not(loom))]
pub fn calibrate() {
    if !is_even() || scale() != 0 {
        return;
    }
    let (start_ns, start) = (now_ns(), counter());
    while now_ns() < start_ns + COMPARED_NS {
        std::hint::spin_loop();
    }
    let (passed_ns, passed) = (now_ns() - start_ns, counter().wrapping_sub(start));
    if passed > 0 {
        SCALE.store(((u128::from(passed_ns) << 32) / u128::from(passed)) as u64, Ordering::Relaxed);
    }
}

#[cfg(all(target_arch = "x86_64", not(loom)))]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and the system does not forbid it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_arch = "x86_64", not(loom))))]
fn counter() -> u64 {
    now_ns()
}

/// Whether the processor's clock runs evenly.
#[cfg(all(target_arch = "x86_64", not(loom)))]
fn is_even() -> bool {
    use std::arch::x86_64::__cpuid;
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0
}

#[cfg(not(any(target_arch = "x86_64", loom)))]
fn is_even() -> bool {
    false
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ticks_measure_what_the_systems_clock_measures() {
        let before = ticks();
        assert!(ns_since(before) < 1_000_000_000);
        calibrate();
        let (start_ns, start) = (now_ns(), ticks());
        while now_ns() < start_ns + 5_000_000 {}
        let (passed_ns, measured_ns) = (now_ns() - start_ns, ns_since(start));
        // Another thread may have run between the two readings.
        assert!(
            measured_ns >= 4_900_000 && measured_ns < passed_ns + 50_000_000,
            "{passed_ns} {measured_ns}"
        );
    }
}
