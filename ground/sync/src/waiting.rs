//! The bracket around every wait: published while it lasts, counted and timed when it ends.
//!
//! 1. `start_ns` and `object` are stored before `class` (Release), so a reader that finds a class finds
//!    what belongs to it or something newer.
//! 2. A wait that ends counts once. A part of a longer one ([`LongWait`]) counts nothing: that one does, when it is over.

use crate::{hold, now_ns, sched, with_current};
use instrument::{Class, InstanceCell, Operation, Wait, WaitObject};
use stdx::Ordering;

/// What is waited for, and what tells of it.
#[derive(Clone, Copy)]
pub(crate) struct Awaited<'o> {
    pub(crate) class: &'static Class,
    pub(crate) operation: Operation,
    /// An address.
    pub(crate) object: usize,
    pub(crate) instance: Option<&'o InstanceCell>,
    pub(crate) about: Option<About<'o>>,
}

/// A wait that has begun; dropping it ends it.
pub(crate) struct Waiting<'o> {
    what: Awaited<'o>,
    start_ns: u64,
    long: Option<&'o mut LongWait>,
}

/// Says which object is waited for, where that has names: its number, and those.
pub type About<'o> = &'o dyn Fn() -> (u64, WaitObject);

/// A wait in parts, between which the waiter looks, or even does something else ([`crate::Event::wait_part`]). While a part
/// lasts it is told as one since the first began; all together count once, when [`crate::Event::end_wait`] says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct LongWait(Option<Span>);

/// The parts of a wait so far.
#[derive(Debug, Clone, Copy)]
struct Span {
    operation: Operation,
    start_ns: u64,
    /// When the last part ended.
    end_ns: u64,
}

impl LongWait {
    /// Whether it has had a part.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// Another part has ended.
    fn add(&mut self, operation: Operation, start_ns: u64, end_ns: u64) {
        self.0 = Some(Span { operation, start_ns, end_ns });
    }

    /// What for, and how long, unless it never came to a part.
    pub(crate) fn whole(&self) -> Option<(Operation, u64)> {
        self.0.map(|span| (span.operation, span.end_ns.saturating_sub(span.start_ns)))
    }
}

impl Awaited<'_> {
    /// A wait for it is over.
    #[cold]
    pub(crate) fn count(&self, wait_ns: u64) {
        instrument::contended(self.class, wait_ns);
        hold::waited(self.class, self.object, wait_ns);
        if let Some(instance) = self.instance {
            instance.waited(self.class, wait_ns);
        }
        if self.class.recorded() {
            self.record(wait_ns);
        }
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
}

impl<'o> Waiting<'o> {
    /// Publishes the wait for `object` (an address) in the current session's slot.
    #[cold]
    pub(crate) fn begin(
        class: &'static Class,
        operation: Operation,
        object: usize,
        instance: impl Into<Option<&'o InstanceCell>>,
    ) -> Self {
        let instance = instance.into();
        Self::begin_part(Awaited { class, operation, object, instance, about: None }, None)
    }

    /// The same, perhaps as a part of a longer wait.
    #[cold]
    pub(crate) fn begin_part(what: Awaited<'o>, long: Option<&'o mut LongWait>) -> Self {
        let begun = long.as_ref().and_then(|long| long.0);
        let start_ns = begun.map_or_else(now_ns, |span| span.start_ns);
        let Awaited { class, operation, object, instance, .. } = what;
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
        Self { what, start_ns, long }
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
        let end_ns = now_ns();
        match &mut self.long {
            Some(long) => long.add(self.what.operation, self.start_ns, end_ns),
            None => self.what.count(end_ns.saturating_sub(self.start_ns)),
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
