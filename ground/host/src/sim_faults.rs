//! What goes wrong on a simulated disk, and how slow it is.
//!
//! 1. Faults end with `heal` and are not carried over by a crash; the disk's nature (its latency, the
//!    syncs that it ignores) stays as long as the disk and what crashes leave of it.

use std::io;
use std::time::Duration;

use instrument::CondClass;
use stdx::rng::Rng;
use sync::{Deadline, Event};

static SIM_IO: CondClass = CondClass::new("wait/synch/cond/host/sim_io");

/// How long operations of a simulated disk take at most, in nanoseconds of virtual time; each takes a
/// random part of it. Outside a simulation they take none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// A read.
    pub read_ns: u64,
    /// A write, a change of a length or of names.
    pub write_ns: u64,
    /// A sync of a file or of the folder.
    pub sync_ns: u64,
}

/// What the disk is like, faults apart.
#[derive(Clone, Default)]
pub(crate) struct Nature {
    pub(crate) latency: Latency,
    /// Files whose names begin so are never made durable by a sync, which answers that they are.
    pub(crate) ignored_syncs: Vec<String>,
    /// The same for the folder's names.
    pub(crate) ignores_dir_syncs: bool,
    /// What an atomic write may be long; 0 = there are none.
    pub(crate) atomic_write_bytes: usize,
}

impl Nature {
    pub(crate) fn ignores(&self, name: &str) -> bool {
        self.ignored_syncs.iter().any(|prefix| name.starts_with(prefix))
    }
}

/// What goes wrong until healed.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) fail_syncs: u32,
    pub(crate) fail_reads: u32,
    pub(crate) short_reads: u32,
    pub(crate) fail_writes_after: Option<u64>,
    pub(crate) power_off_after: Option<u64>,
    pub(crate) free_bytes: Option<u64>,
}

impl Faults {
    /// Counts one changing operation; fails when the power is off.
    pub(crate) fn operation(&mut self) -> io::Result<()> {
        match &mut self.power_off_after {
            Some(0) => Err(power_is_off()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(crate) fn powered(&self) -> io::Result<()> {
        if self.power_off_after == Some(0) { Err(power_is_off()) } else { Ok(()) }
    }

    /// What becomes of a read of so many bytes: an error, or how many are given.
    pub(crate) fn read(&mut self, bytes: usize, block: usize, rng: &mut Rng) -> io::Result<usize> {
        self.powered()?;
        if self.fail_reads > 0 {
            self.fail_reads -= 1;
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        if self.short_reads > 0 && bytes > 0 {
            self.short_reads -= 1;
            return Ok(rng.below(bytes.div_ceil(block) as u64) as usize * block);
        }
        Ok(bytes)
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("simulated disk: the power is off")
}

/// Waits in virtual time; nothing outside a simulation.
pub(crate) fn pause(ns: u64) {
    if ns == 0 || !sync::sched::is_simulated() {
        return;
    }
    let deadline = Deadline::after(Duration::from_nanos(ns));
    let event = Event::new(&SIM_IO);
    while event.wait_unkillable(event.prepare(), deadline) == sync::WaitResult::Woken {}
}
