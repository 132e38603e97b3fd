//! How many handles of tables are open, by instance of the table cache, and how many may be.
//!
//! 1. A session belongs to the instance of its number, and keeps its handles to itself: what it opened before it finds
//! again without a look at anything shared. It reserves a place in its instance when it opens a handle that it has not.
//! 2. An instance holds more than its limit only while the handles are in use: who opens one beyond it, or parks one then,
//! closes handles that it does not use until there is room. 3. With `limpid_table_cache_local = OFF` sessions that connect
//! park their handles in the instance, under its mutex, for everybody in it: as MySQL does ([`Parked`]).

use crate::entry::{NameEntry, NameId, publication};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use stdx::{CacheLine, LocalAtomic, Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static INSTANCE: MutexClass = "wait/synch/mutex/sql/LOCK_table_cache";
}

/// Most instances.
const INSTANCES_MAX: usize = 64;
/// Until the variables are known: `table_open_cache` and `table_open_cache_instances`.
const DEFAULTS: (u64, u64) = (4000, 16);

/// Handles of an instance.
struct Instance {
    handles: CacheLine<SharedAtomic<u64, { class::DICT }>>,
    parked: Mutex<Parked>,
}

/// Handles that nobody uses, the longest unused first.
#[derive(Default)]
struct Parked {
    next: u64,
    by_age: BTreeMap<u64, (Arc<NameEntry>, u64)>,
    by_name: HashMap<NameId, Vec<u64>>,
}

impl Parked {
    /// Takes out the handle of a name that was parked last: the version that it is of.
    fn pop_newest(&mut self, name: NameId) -> Option<u64> {
        let ages = self.by_name.get_mut(&name)?;
        let age = ages.pop();
        if ages.is_empty() {
            self.by_name.remove(&name);
        }
        self.by_age.remove(&age?).map(|(_, version)| version)
    }

    fn pop_oldest(&mut self) -> Option<(Arc<NameEntry>, u64)> {
        let (age, (entry, version)) = self.by_age.pop_first()?;
        if let Some(ages) = self.by_name.get_mut(&entry.id) {
            ages.retain(|of| *of != age);
            if ages.is_empty() {
                self.by_name.remove(&entry.id);
            }
        }
        Some((entry, version))
    }
}

/// Whether handles of a definition of `version` are open still.
fn is_open(entry: &NameEntry, version: u64) -> bool {
    publication(entry.version()) == publication(version)
}

/// See the module.
pub struct OpenHandles {
    instances: Box<[Instance]>,
    limit: LocalAtomic<u64>,
    used: LocalAtomic<u64>,
    local: LocalAtomic<u64>,
    /// Sessions have parked handles since the start, or may have.
    shared: LocalAtomic<u64>,
    definitions: SharedAtomic<u64, { class::DICT }>,
}

impl Default for OpenHandles {
    fn default() -> Self {
        let instance = || Instance {
            handles: CacheLine(SharedAtomic::new(0)),
            parked: Mutex::new(&INSTANCE, Parked::default()),
        };
        OpenHandles {
            instances: (0..INSTANCES_MAX).map(|_| instance()).collect(),
            limit: LocalAtomic::new(DEFAULTS.0),
            used: LocalAtomic::new(DEFAULTS.1),
            local: LocalAtomic::new(1),
            shared: LocalAtomic::new(0),
            definitions: SharedAtomic::new(0),
        }
    }
}

impl OpenHandles {
    /// `table_open_cache`: it acts when a handle is opened or parked next.
    pub fn set_limit(&self, handles: u64) {
        self.limit.store(handles, Ordering::Relaxed);
    }

    /// `table_open_cache_instances`, before the first session.
    pub fn set_instances(&self, instances: u64) {
        self.used.store(instances.clamp(1, INSTANCES_MAX as u64), Ordering::Relaxed);
    }

    /// `limpid_table_cache_local`, of sessions that connect from now on.
    pub fn set_local(&self, local: bool) {
        self.local.store(u64::from(local), Ordering::Relaxed);
        if !local {
            self.shared.store(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_local(&self) -> bool {
        self.local.load(Ordering::Relaxed) != 0
    }

    /// The instance of a connection.
    pub(crate) fn instance_of(&self, connection: u64) -> usize {
        (connection % self.used.load(Ordering::Relaxed)) as usize
    }

    /// `Open_tables`.
    pub fn handles(&self) -> u64 {
        self.instances.iter().map(|i| i.handles.load(Ordering::Relaxed)).sum()
    }

    /// `Open_table_definitions`.
    pub fn definitions(&self) -> u64 {
        self.definitions.load(Ordering::Relaxed)
    }

    pub(crate) fn add_definition(&self) {
        self.definitions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_definition(&self) {
        self.definitions.fetch_sub(1, Ordering::Relaxed);
    }

    /// Handles that an instance has room for.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed) / self.used.load(Ordering::Relaxed)
    }

    /// Whether an instance holds more than its limit.
    pub(crate) fn is_over(&self, instance: usize) -> bool {
        self.instances[instance].handles.load(Ordering::Relaxed) > self.limit()
    }

    pub(crate) fn add(&self, instance: usize) {
        self.instances[instance].handles.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, instance: usize, handles: u64) {
        self.instances[instance].handles.fetch_sub(handles, Ordering::Relaxed);
    }

    /// Takes a parked handle of a name's definition of `version`; false when there is none.
    pub(crate) fn take(&self, instance: usize, entry: &NameEntry, version: u64) -> bool {
        let mut parked = self.instances[instance].parked.lock();
        while let Some(of) = parked.pop_newest(entry.id) {
            if publication(of) == publication(version) {
                return true;
            }
        }
        false
    }

    /// Parks a handle, and closes those that are too many; how many.
    pub(crate) fn park(&self, instance: usize, entry: &Arc<NameEntry>, version: u64) -> u64 {
        let mut parked = self.instances[instance].parked.lock();
        // What was closed by DDL or FLUSH goes by and by: two of it for each that comes.
        for _ in 0..2 {
            let oldest = parked.by_age.first_key_value();
            if oldest.is_some_and(|(_, (entry, of))| !is_open(entry, *of)) {
                parked.pop_oldest();
            }
        }
        if is_open(entry, version) {
            let age = parked.next;
            parked.next += 1;
            parked.by_age.insert(age, (Arc::clone(entry), version));
            parked.by_name.entry(entry.id).or_default().push(age);
        }
        self.close_oldest(instance, &mut parked)
    }

    /// Closes parked handles of an instance that holds too many; how many.
    pub(crate) fn evict(&self, instance: usize) -> u64 {
        if self.shared.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.close_oldest(instance, &mut self.instances[instance].parked.lock())
    }

    fn close_oldest(&self, instance: usize, parked: &mut Parked) -> u64 {
        let mut closed = 0;
        while self.is_over(instance) {
            let Some((entry, version)) = parked.pop_oldest() else { break };
            if is_open(&entry, version) {
                entry.remove_handles(instance, version, 1);
                closed += 1;
            }
        }
        closed
    }
}
