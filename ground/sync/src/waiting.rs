//! The bracket around every wait: published while it lasts, counted and timed when it ends.
//!
//! 1. `start_ns` and `object` are stored before `class` (Release), so a reader that finds a class finds
//!    what belongs to it or something newer.

use crate::{hold, now_ns, sched, with_current};
use instrument::{Class, InstanceCell, Operation, Wait, WaitObject};
use stdx::Ordering;

/// A wait that has begun; dropping it ends it.
pub(crate) struct Waiting<'o> {
    class: &'static Class,
    operation: Operation,
    object: usize,
    start_ns: u64,
    instance: Option<&'o InstanceCell>,
    about: Option<About<'o>>,
}

/// Says which object is waited for, where that has names: its number, and those.
pub type About<'o> = &'o dyn Fn() -> (u64, WaitObject);

impl<'o> Waiting<'o> {
    /// Publishes the wait for `object` (an address) in the current session's slot.
    #[cold]
    pub(crate) fn begin(
        class: &'static Class,
        operation: Operation,
        object: usize,
        instance: impl Into<Option<&'o InstanceCell>>,
    ) -> Self {
        let start_ns = now_ns();
        let instance = instance.into();
        let number = instance.map_or(object as u64, |instance| instance.number(class));
        sched::waits_for(Some((class.name(), object)));
        with_current(|slot| {
            if let Some(slot) = slot {
                slot.wait_start_ns.store(start_ns, Ordering::Relaxed);
                slot.wait_object.store(number, Ordering::Relaxed);
                let class = u32::from(class.id()) + 1;
                slot.wait_class.store((operation as u32) << 16 | class, Ordering::Release);
            }
        });
        Self { class, operation, object, start_ns, instance, about: None }
    }

    /// The same of something that has names.
    pub(crate) fn about(self, about: Option<About<'o>>) -> Self {
        let mut this = self;
        this.about = about;
        this
    }

    /// Keeps it among the waits that are over.
    #[cold]
    fn record(&self, wait_ns: u64) {
        let (number, object) = match (self.instance, self.about) {
            (_, Some(about)) => about(),
            (Some(instance), None) => (instance.number(self.class), WaitObject::default()),
            (None, None) => (self.object as u64, WaitObject::default()),
        };
        let ns = self.class.timed().then_some(wait_ns);
        let wait = Wait { operation: self.operation, ns, number, object, amount: None };
        instrument::record_wait(self.class, wait);
    }

    /// Whether the wait is still young enough to spin: only with cores to spare, at most 2 us.
    pub(crate) fn may_spin(&self) -> bool {
        if !spinning_pays() || sched::is_simulated() || now_ns() - self.start_ns > 2000 {
            return false;
        }
        for _ in 0..16 {
            std::hint::spin_loop();
        }
        true
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // A model that fails unwinds every thread, and loom's thread-locals are gone by then.
        if cfg!(loom) && std::thread::panicking() {
            return;
        }
        with_current(|slot| {
            if let Some(slot) = slot {
                slot.wait_class.store(0, Ordering::Release);
            }
        });
        sched::waits_for(None);
        let wait_ns = now_ns().saturating_sub(self.start_ns);
        instrument::contended(self.class, wait_ns);
        hold::waited(self.class, self.object, wait_ns);
        if let Some(instance) = self.instance {
            instance.waited(self.class, wait_ns);
        }
        if self.class.recorded() {
            self.record(wait_ns);
        }
    }
}

#[cfg(not(loom))]
fn spinning_pays() -> bool {
    static CORES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)) > 2
}

#[cfg(loom)]
fn spinning_pays() -> bool {
    false
}
