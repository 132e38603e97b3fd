//! What a pool is made with, and what may be changed while it runs.
//!
//! 1. A value outside its variable's range is brought into it; the caller that must complain compares what it
//!    gave with what it gets. Guard: `values_are_brought_into_range`.
//!
//! Settings are read where they are used, so a change acts on the next use.

use host::FlushMethod;
use stdx::{Ordering, SharedAtomic, class};

/// What happens to a page before it is written in place (`innodb_doublewrite`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doublewrite {
    /// Its copy is durable elsewhere, so a torn page is repaired at the next start.
    On,
    /// Nothing: a torn page is lost. For devices that do not tear, found out by themselves.
    Off,
    /// What [`Doublewrite::On`] is called, too.
    DetectAndRecover,
    /// Nothing either: a torn page is found by its checksum when it is read, and is lost.
    DetectOnly,
}

impl Doublewrite {
    /// All modes.
    pub const ALL: [Doublewrite; 4] =
        [Doublewrite::On, Doublewrite::Off, Doublewrite::DetectAndRecover, Doublewrite::DetectOnly];

    /// The name, as the variable shows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Doublewrite::On => "ON",
            Doublewrite::Off => "OFF",
            Doublewrite::DetectAndRecover => "DETECT_AND_RECOVER",
            Doublewrite::DetectOnly => "DETECT_ONLY",
        }
    }

    /// The mode of a name in any case, or of the numbers and names of a switch.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Doublewrite> {
        match name.to_ascii_lowercase().as_str() {
            "1" | "true" => Some(Doublewrite::On),
            "0" | "false" => Some(Doublewrite::Off),
            _ => Doublewrite::ALL.into_iter().find(|m| m.name().eq_ignore_ascii_case(name)),
        }
    }
}

/// What a pool is made with. Callers name the fields they care about and take the rest from
/// [`PoolConfig::default`].
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// Memory for pages, in bytes; at least 64 pages per instance are made.
    pub bytes: usize,
    /// How far [`crate::Pool::resize`] may go, in bytes of address space; 0 = the machine's memory
    /// (and `bytes`, if that is more).
    pub bytes_max: usize,
    /// Instances (`innodb_buffer_pool_instances`), at most 64; 0 = one below 1 GiB, else one per
    /// GiB up to eight.
    pub instances: usize,
    /// Threads for read-ahead (`innodb_read_io_threads`).
    pub read_io_threads: usize,
    /// `innodb_doublewrite`.
    pub doublewrite: Doublewrite,
    /// How data files are written and made durable; how they are opened is the disk's.
    pub flush_method: FlushMethod,
}

impl Default for PoolConfig {
    /// 128 MiB.
    fn default() -> PoolConfig {
        PoolConfig {
            bytes: 128 << 20,
            bytes_max: 0,
            instances: 0,
            read_io_threads: 4,
            doublewrite: Doublewrite::On,
            flush_method: FlushMethod::ODirect,
        }
    }
}

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident / $set:ident: $ty:ty = $default:literal in $min:literal..=$max:literal;)*) => {
        /// Settings that may be changed at any time; each is one relaxed load.
        #[derive(Debug)]
        pub struct PoolSettings {
            $($name: SharedAtomic<$ty, { class::POOL }>,)*
            switches: Switches,
        }

        impl PoolSettings {
            pub(crate) fn new() -> PoolSettings {
                PoolSettings {
                    $($name: SharedAtomic::new($default),)*
                    switches: Switches::new(),
                }
            }

            $(
                $(#[$doc])*
                pub fn $name(&self) -> $ty {
                    self.$name.load(Ordering::Relaxed)
                }

                /// Sets it, brought into the variable's range.
                pub fn $set(&self, value: $ty) {
                    self.$name.store(value.clamp($min, $max), Ordering::Relaxed);
                }
            )*
        }
    };
}

settings! {
    /// Pages per second that background writing may cost in quiet times (`innodb_io_capacity`).
    io_capacity / set_io_capacity: u64 = 10_000 in 100..=4_294_967_295;
    /// Pages per second that background writing may cost at most (`innodb_io_capacity_max`).
    io_capacity_max / set_io_capacity_max: u64 = 20_000 in 100..=4_294_967_295;
    /// Changed pages, in thousandths of a percent of the pool, above which all is done to write
    /// them (`innodb_max_dirty_pages_pct` is this by 1000).
    max_dirty_pages_millipct / set_max_dirty_pages_millipct: u32 = 90_000 in 0..=99_999;
    /// As above, from where on writing begins (`innodb_max_dirty_pages_pct_lwm`); 0 = off.
    max_dirty_pages_lwm_millipct / set_max_dirty_pages_lwm_millipct: u32 = 10_000 in 0..=99_999;
    /// Share of the redo capacity, in percent, from where on adaptive flushing writes
    /// (`innodb_adaptive_flushing_lwm`).
    adaptive_flushing_lwm / set_adaptive_flushing_lwm: u32 = 10 in 0..=70;
    /// Seconds over which the rate of redo is averaged (`innodb_flushing_avg_loops`).
    flushing_avg_loops / set_flushing_avg_loops: u32 = 30 in 1..=1000;
    /// Share of `io_capacity`, in percent, that is used while nothing is changed
    /// (`innodb_idle_flush_pct`).
    idle_flush_pct / set_idle_flush_pct: u32 = 100 in 0..=100;
    /// 0: none; 1: changed neighbours of a page in the same extent are written with it; 2: and all
    /// changed pages of the extent (`innodb_flush_neighbors`).
    flush_neighbors / set_flush_neighbors: u32 = 0 in 0..=2;
    /// Most frames that are kept free ahead of need, per instance (`innodb_lru_scan_depth`).
    lru_scan_depth / set_lru_scan_depth: u32 = 1024 in 100..=4_294_967_295;
    /// Share of the pool, in percent, that pages on probation may take before they are the first
    /// to go (`innodb_old_blocks_pct`).
    old_blocks_pct / set_old_blocks_pct: u32 = 37 in 5..=95;
    /// How long a page stays on probation at least, in milliseconds (`innodb_old_blocks_time`).
    old_blocks_time_ms / set_old_blocks_time_ms: u32 = 1000 in 0..=4_294_967_295;
    /// Pages of an extent read in order before the next extent is asked for
    /// (`innodb_read_ahead_threshold`); 0 = never.
    read_ahead_threshold / set_read_ahead_threshold: u32 = 56 in 0..=64;
    /// Share of the pages in memory, in percent, that a dump names (`innodb_buffer_pool_dump_pct`).
    dump_pct / set_dump_pct: u32 = 25 in 1..=100;
}

/// Settings that are on or off, or a name.
#[derive(Debug)]
struct Switches {
    doublewrite: SharedAtomic<u8, { class::POOL }>,
    adaptive_flushing: SharedAtomic<bool, { class::POOL }>,
    random_read_ahead: SharedAtomic<bool, { class::POOL }>,
}

impl Switches {
    fn new() -> Switches {
        Switches {
            doublewrite: SharedAtomic::new(Doublewrite::On as u8),
            adaptive_flushing: SharedAtomic::new(true),
            random_read_ahead: SharedAtomic::new(false),
        }
    }
}

impl PoolSettings {
    /// `innodb_doublewrite`; a change acts on the next batch.
    pub fn doublewrite(&self) -> Doublewrite {
        let mode = self.switches.doublewrite.load(Ordering::Relaxed);
        Doublewrite::ALL[usize::from(mode)]
    }

    /// Sets [`Self::doublewrite`].
    pub fn set_doublewrite(&self, mode: Doublewrite) {
        self.switches.doublewrite.store(mode as u8, Ordering::Relaxed);
    }

    /// Whether changed pages are written in proportion to the redo's age
    /// (`innodb_adaptive_flushing`); without it only when the redo files are nearly full.
    pub fn adaptive_flushing(&self) -> bool {
        self.switches.adaptive_flushing.load(Ordering::Relaxed)
    }

    /// Sets [`Self::adaptive_flushing`].
    pub fn set_adaptive_flushing(&self, on: bool) {
        self.switches.adaptive_flushing.store(on, Ordering::Relaxed);
    }

    /// Whether an extent with many pages in memory is completed (`innodb_random_read_ahead`).
    pub fn random_read_ahead(&self) -> bool {
        self.switches.random_read_ahead.load(Ordering::Relaxed)
    }

    /// Sets [`Self::random_read_ahead`].
    pub fn set_random_read_ahead(&self, on: bool) {
        self.switches.random_read_ahead.store(on, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_brought_into_range() {
        let s = PoolSettings::new();
        s.set_old_blocks_pct(3);
        s.set_read_ahead_threshold(100);
        s.set_io_capacity(1);
        assert_eq!((s.old_blocks_pct(), s.read_ahead_threshold(), s.io_capacity()), (5, 64, 100));
    }

    #[test]
    fn doublewrite_modes_have_the_variables_names() {
        assert_eq!(Doublewrite::from_name("detect_only"), Some(Doublewrite::DetectOnly));
        assert_eq!(Doublewrite::from_name("1"), Some(Doublewrite::On));
        assert_eq!(Doublewrite::from_name("FALSE"), Some(Doublewrite::Off));
        assert_eq!(Doublewrite::from_name("maybe"), None);
    }
}
