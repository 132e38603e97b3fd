//! Instances: each mutex, latch and event has figures of its own.
//!
//! 1. An instance comes into being when its owner is used while its class is counted, or is waited for; until then nobody
//!    knows of it, and it is a null pointer. 2. Its memory is apart from its owner's, which may move.
//! 3. Who holds a mutex or writes under a latch writes its figures alone; readers of a latch, and waiters at an event, may do
//!    so together.
//! 4. It ends with its owner, and its figures with it: those of the class stay.

use crate::registry::{page, window};
use crate::room::RowsOf;
use crate::stat::{StatTotals, least};
use crate::{Class, ClassKind};
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use stdx::lock;

/// The figures of one mutex, latch or event.
#[derive(Debug)]
struct Instance {
    class: &'static Class,
    uses: AtomicU64,
    waits: AtomicU64,
    wait_ns_sum: AtomicU64,
    wait_ns_min: AtomicU64,
    wait_ns_max: AtomicU64,
    /// The thread that has it alone, 0: none that was seen to take it; and the window of holds in which it was seen.
    locked_by: AtomicU64,
    locked_in: AtomicU64,
    /// Threads that have it together, of those that were seen to take it in that window.
    readers: AtomicU64,
    /// How often instances had been emptied when this was written last.
    emptied: AtomicU64,
    /// Where it is in the list; changed under the list's mutex.
    place: AtomicUsize,
}

crate::classes! {
    static MEMORY: OwnMemory = "memory/performance_schema/sync_instances";
}
static INSTANCES: Mutex<Vec<Arc<Instance>>> = Mutex::new(Vec::new());
static EMPTIED: AtomicU64 = AtomicU64::new(0);

/// The rows that instances of a kind are among.
fn rows_of(kind: ClassKind) -> RowsOf {
    match kind {
        ClassKind::Mutex => RowsOf::Mutexes,
        ClassKind::RwLock => RowsOf::RwLocks,
        _ => RowsOf::Conds,
    }
}

fn list() -> MutexGuard<'static, Vec<Arc<Instance>>> {
    lock(&INSTANCES)
}

/// An owner's reference to its instance, if there is one.
pub struct InstanceCell(AtomicPtr<Instance>);

/// In a cell whose instance found no room: nobody asks again. It is never followed.
const NO_ROOM: *mut Instance = ptr::without_provenance_mut(align_of::<Instance>());

impl InstanceCell {
    /// No instance yet.
    pub const fn new() -> InstanceCell {
        InstanceCell(AtomicPtr::new(ptr::null_mut()))
    }

    /// Its instance; `None`: there is no room for one.
    fn get(&self, class: &'static Class) -> Option<&Instance> {
        let mut found = self.0.load(Ordering::Acquire);
        if found.is_null() {
            found = self.create(class);
        }
        if found == NO_ROOM {
            return None;
        }
        // SAFETY: it comes from `Arc::into_raw`, and the count that belongs to this cell is given back when the cell is
        // dropped, which nobody can do while it is borrowed.
        unsafe { found.as_ref() }
    }

    #[cold]
    fn create(&self, class: &'static Class) -> *mut Instance {
        let mut list = list();
        // Others of the same owner may have been faster: the list's mutex decides.
        let found = self.0.load(Ordering::Acquire);
        if !found.is_null() {
            return found;
        }
        if !rows_of(class.kind()).take_with(|| MEMORY.try_take(size_of::<Instance>())) {
            self.0.store(NO_ROOM, Ordering::Release);
            return NO_ROOM;
        }
        let new = Arc::new(Instance {
            class,
            uses: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            wait_ns_sum: AtomicU64::new(0),
            wait_ns_min: AtomicU64::new(0),
            wait_ns_max: AtomicU64::new(0),
            locked_by: AtomicU64::new(0),
            locked_in: AtomicU64::new(0),
            readers: AtomicU64::new(0),
            emptied: AtomicU64::new(EMPTIED.load(Relaxed)),
            place: AtomicUsize::new(list.len()),
        });
        list.push(Arc::clone(&new));
        let new = Arc::into_raw(new).cast_mut();
        self.0.store(new, Ordering::Release);
        new
    }

    /// The owner was taken by one thread that has it alone.
    pub fn used(&self, class: &'static Class) {
        if class.enabled() {
            let Some(instance) = self.get(class) else { return };
            instance.renew();
            instance.uses.store(instance.uses.load(Relaxed) + 1, Relaxed);
            instance.begin_window();
            instance.locked_by.store(page().thread_id(), Relaxed);
        }
    }

    /// The thread that had the owner alone is about to give it back.
    pub fn freed(&self) {
        let found = self.0.load(Ordering::Acquire);
        if !found.is_null() && found != NO_ROOM {
            // SAFETY: as in `get`.
            unsafe { &*found }.locked_by.store(0, Relaxed);
        }
    }

    /// The owner was taken by a thread that may not be the only one.
    pub fn used_shared(&self, class: &'static Class) {
        if class.enabled() {
            let Some(instance) = self.get(class) else { return };
            instance.renew();
            instance.uses.fetch_add(1, Relaxed);
        }
    }

    /// As [`InstanceCell::used_shared`], by a thread that gives it back ([`InstanceCell::freed_shared`]).
    pub fn shared(&self, class: &'static Class) {
        self.used_shared(class);
        if class.held() {
            let Some(instance) = self.get(class) else { return };
            instance.begin_window();
            instance.readers.fetch_add(1, Relaxed);
        }
    }

    /// A thread that was seen to take the owner in this window, not alone, is about to give it back.
    pub fn freed_shared(&self) {
        let found = self.0.load(Ordering::Acquire);
        if !found.is_null() && found != NO_ROOM {
            // SAFETY: as in `get`.
            let instance = unsafe { &*found };
            let one_less = |n: u64| n.checked_sub(1);
            let _ = instance.readers.fetch_update(Relaxed, Relaxed, one_less);
        }
    }

    /// OBJECT_INSTANCE_BEGIN of an owner that is waited for; 0: there is no room for the instance.
    pub fn number(&self, class: &'static Class) -> u64 {
        self.get(class).map_or(0, |instance| ptr::from_ref(instance).addr() as u64)
    }

    /// The owner was waited for.
    pub fn waited(&self, class: &'static Class, ns: u64) {
        let Some(instance) = self.get(class) else { return };
        instance.renew();
        // As the class counts: who waits uses it, whether uses are counted or not.
        if !class.enabled() {
            instance.uses.fetch_add(1, Relaxed);
        }
        instance.waits.fetch_add(1, Relaxed);
        instance.wait_ns_sum.fetch_add(ns, Relaxed);
        instance.wait_ns_max.fetch_max(ns, Relaxed);
        let min = instance.wait_ns_min.load(Relaxed);
        instance.wait_ns_min.store(least(min, ns.max(1)), Relaxed);
    }
}

impl Instance {
    /// Forgets what was counted before instances were emptied.
    fn renew(&self) {
        let emptied = EMPTIED.load(Relaxed);
        if self.emptied.load(Relaxed) != emptied {
            self.emptied.store(emptied, Relaxed);
            for figure in
                [&self.uses, &self.waits, &self.wait_ns_sum, &self.wait_ns_min, &self.wait_ns_max]
            {
                figure.store(0, Relaxed);
            }
        }
    }

    /// Who has it is told of this window from now on: who took it in another one may have given it back unseen.
    fn begin_window(&self) {
        let window = window();
        if self.locked_in.load(Relaxed) != window {
            self.locked_in.store(window, Relaxed);
            self.locked_by.store(0, Relaxed);
            self.readers.store(0, Relaxed);
        }
    }

    fn report(self: &Arc<Instance>) -> InstanceReport {
        let current = self.emptied.load(Relaxed) == EMPTIED.load(Relaxed);
        let get = |figure: &AtomicU64| if current { figure.load(Relaxed) } else { 0 };
        // Who took it in another window may have given it back unseen.
        let seen = self.class.held() && self.locked_in.load(Relaxed) == window();
        let locked_by = if seen { self.locked_by.load(Relaxed) } else { 0 };
        InstanceReport {
            class: self.class,
            locked_by: (locked_by != 0).then_some(locked_by),
            readers: if seen { self.readers.load(Relaxed) } else { 0 },
            number: Arc::as_ptr(self).addr() as u64,
            uses: get(&self.uses),
            waits: StatTotals {
                count: get(&self.waits),
                ns_sum: get(&self.wait_ns_sum),
                ns_min: get(&self.wait_ns_min),
                ns_max: get(&self.wait_ns_max),
            },
        }
    }
}

impl Default for InstanceCell {
    fn default() -> InstanceCell {
        InstanceCell::new()
    }
}

impl fmt::Debug for InstanceCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InstanceCell({:?})", self.0.load(Relaxed))
    }
}

impl Drop for InstanceCell {
    fn drop(&mut self) {
        let found = *self.0.get_mut();
        if found.is_null() || found == NO_ROOM {
            return;
        }
        // SAFETY: it comes from `Arc::into_raw`, and this is the only time that its count is given back.
        let instance = unsafe { Arc::from_raw(found) };
        let mut list = list();
        let place = instance.place.load(Relaxed);
        MEMORY.give_back(size_of::<Instance>());
        rows_of(instance.class.kind()).give_back(1);
        list.swap_remove(place);
        if let Some(moved) = list.get(place) {
            moved.place.store(place, Relaxed);
        }
    }
}

/// An instance and its figures.
#[derive(Debug, Clone)]
pub struct InstanceReport {
    /// Its class.
    pub class: &'static Class,
    /// What tells it from others while it is there: OBJECT_INSTANCE_BEGIN.
    pub number: u64,
    /// The THREAD_ID of who has it alone; `None`: nobody, or its holds are not timed.
    pub locked_by: Option<u64>,
    /// How many threads have it together; 0 where its holds are not timed.
    pub readers: u64,
    /// Uses: all while the class is counted, and those that had to wait at any time.
    pub uses: u64,
    /// Waits.
    pub waits: StatTotals,
}

/// The instances of some kinds of class that are known now.
pub fn instances(is_wanted: impl Fn(ClassKind) -> bool) -> Vec<InstanceReport> {
    let known = list().clone();
    let wanted = known.iter().filter(|instance| is_wanted(instance.class.kind()));
    wanted.map(Instance::report).collect()
}

/// Empties the figures of all instances.
pub fn empty_instances() {
    EMPTIED.fetch_add(1, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CondClass, ENABLED, MutexClass};

    #[test]
    fn an_instance_begins_with_a_use_that_counts_and_ends_with_its_owner() {
        static CLASS: MutexClass = MutexClass::new("wait/synch/mutex/test/instance");
        let of = |n: u64| instances(|_| true).into_iter().find(|i| i.number == n);
        let mine = || -> Vec<u64> {
            let all = instances(|kind| kind == ClassKind::Mutex).into_iter();
            all.filter(|i| i.class.name() == CLASS.name()).map(|i| i.number).collect()
        };
        let (a, b) = (InstanceCell::new(), InstanceCell::new());
        a.used(&CLASS);
        assert!(mine().is_empty(), "its class is not counted");
        a.waited(&CLASS, 7);
        let first = mine()[0];
        CLASS.set_flags(ENABLED);
        a.used(&CLASS);
        b.used_shared(&CLASS);
        a.waited(&CLASS, 3);
        let report = of(first).unwrap();
        assert_eq!(report.uses, 2, "one waited uncounted, one was counted when it was got");
        assert_eq!((report.waits.count, report.waits.ns_min, report.waits.ns_max), (2, 3, 7));
        let moved = Box::new(a);
        moved.used(&CLASS);
        assert_eq!(of(first).unwrap().uses, 3);
        drop(moved);
        assert_eq!((of(first).is_none(), mine().len()), (true, 1));
        empty_instances();
        assert_eq!(of(mine()[0]).unwrap().uses, 0);
        b.used_shared(&CLASS);
        assert_eq!(of(mine()[0]).unwrap().uses, 1);
    }

    #[test]
    fn an_instance_without_a_place_is_lost_once_and_counts_in_its_class_alone() {
        static CLASS: CondClass = CondClass::new("wait/synch/cond/test/without_place");
        CLASS.set_flags(ENABLED);
        let there = || instances(|_| true).iter().any(|i| i.class.name() == CLASS.name());
        let lost = RowsOf::Conds.lost();
        RowsOf::Conds.set_max(0);
        let cell = InstanceCell::new();
        cell.used_shared(&CLASS);
        cell.waited(&CLASS, 5);
        assert_eq!((cell.number(&CLASS), RowsOf::Conds.lost(), there()), (0, lost + 1, false));
        RowsOf::Conds.set_max(u64::MAX);
        cell.used_shared(&CLASS);
        assert!(!there(), "nobody asks again");
        drop(cell);
        let other = InstanceCell::new();
        other.used_shared(&CLASS);
        assert!(there());
    }
}
