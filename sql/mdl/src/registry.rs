//! Names to objects and numbers to objects.
//!
//! Invariants
//! 1. An object's place never changes and its memory stays until the registry goes.
//! 2. An object in the map is that name's; one outside the map waits in `free` for another name.
//! 3. It leaves the map only under the write latch, when the registry holds its only handle, no slot
//!    holds a grant of it (looked at after a heavy fence) and it has no ticket.

use crate::mode::Namespace;
use crate::object::{ClosedCount, Id, Name, Object, PLACE_BITS};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use stdx::Ordering;
use sync::{RwLatch, RwReadGuard, SlotTable, asym};

instrument::classes! {
    static REGISTRY: RwLockClass = "wait/synch/rwlock/sql/MDL_registry";
}

const CHUNK: usize = 4096;
const CHUNKS: usize = (1 << PLACE_BITS) / CHUNK;
/// Names below which unused ones are not looked for.
const SWEEP_MIN: usize = 4096;

type Chunk = Box<[OnceLock<Arc<Object>>]>;

/// All names ever locked and not yet forgotten.
#[derive(Debug)]
pub struct Registry {
    chunks: Box<[OnceLock<Chunk>]>,
    names: RwLatch<Names>,
    pub(crate) closed_count: Arc<ClosedCount>,
}

#[derive(Debug)]
pub(crate) struct Names {
    map: HashMap<Name, Arc<Object>>,
    free: Vec<Arc<Object>>,
    places: usize,
    /// New names are closed to weak modes ([`crate::shards`]).
    no_fast_path: bool,
    sweep_at: usize,
}

impl Registry {
    pub(crate) fn new() -> Self {
        let (map, free) = (HashMap::new(), Vec::new());
        let names = Names { map, free, places: 0, no_fast_path: false, sweep_at: SWEEP_MIN };
        Self {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            names: RwLatch::new(&REGISTRY, names),
            closed_count: ClosedCount::new(),
        }
    }

    /// The object of a name, made at the first call.
    pub(crate) fn intern(&self, name: Name, slots: &SlotTable) -> Arc<Object> {
        if let Some(object) = self.names.read().map.get(&name) {
            return Arc::clone(object);
        }
        let mut names = self.names.write();
        if let Some(object) = names.map.get(&name) {
            return Arc::clone(object);
        }
        if names.map.len() >= names.sweep_at {
            sweep(&mut names, slots);
        }
        let object = match names.free.pop() {
            Some(object) => {
                let old = object.id();
                let id = Id::new(name.namespace, old.generation() + 1, old.place() as u32);
                object.rename(id, name.clone(), names.no_fast_path);
                object
            }
            None => self.place(&mut names, name.clone()),
        };
        names.map.insert(name, Arc::clone(&object));
        object
    }

    /// The object of a name, if there is one.
    pub(crate) fn find(&self, name: &Name) -> Option<Arc<Object>> {
        self.names.read().map.get(name).cloned()
    }

    fn place(&self, names: &mut Names, name: Name) -> Arc<Object> {
        let place = names.places;
        assert!(place < 1 << PLACE_BITS, "16 million names are locked or held at once");
        names.places += 1;
        let id = Id::new(name.namespace, 1, place as u32);
        let object = Arc::new(Object::new(id, name, names.no_fast_path, &self.closed_count));
        let chunk = self.chunks[place / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
        chunk[place % CHUNK]
            .set(Arc::clone(&object))
            .expect("a place is given once, under the latch");
        object
    }

    /// The object at an id's place; it may serve another name by now.
    #[inline]
    pub(crate) fn by_place(&self, id: Id) -> Option<&Arc<Object>> {
        self.chunks.get(id.place() / CHUNK)?.get()?.get(id.place() % CHUNK)?.get()
    }

    /// Says whether weak modes may be granted in slots, of every object there is and will be.
    pub(crate) fn set_fast_path(&self, on: bool) {
        self.names.write().no_fast_path = !on;
        self.all().iter().for_each(|object| object.set_fast_path(on));
    }

    /// Every object that has a name now, by place: the same in each run of a model.
    pub(crate) fn all(&self) -> Vec<Arc<Object>> {
        let mut all: Vec<_> = self.names.read().map.values().cloned().collect();
        all.sort_by_key(|object| object.id().place());
        all
    }

    /// While this is held no name is forgotten, and none is new.
    pub(crate) fn keep_names(&self) -> RwReadGuard<'_, Names> {
        self.names.read()
    }

    /// Forgets unused names now. Tests call it; otherwise growth does.
    pub(crate) fn sweep(&self, slots: &SlotTable) -> usize {
        let mut names = self.names.write();
        let before = names.map.len();
        sweep(&mut names, slots);
        before - names.map.len()
    }
}

/// Rule 3. The handles of a named object are the map's and the place's; new ones come from the map only,
/// whose latch we hold.
fn sweep(names: &mut Names, slots: &SlotTable) {
    let unused: Vec<Name> = names
        .map
        .iter()
        .filter(|(name, o)| Arc::strong_count(o) == 2 && name.namespace.scope_byte().is_none())
        .map(|(name, _)| name.clone())
        .collect();
    asym::heavy();
    let granted: HashSet<Id> = slots
        .sessions()
        .flat_map(|slot| slot.grants_in_use())
        .filter_map(|word| Id::of_grant(word.load(Ordering::Acquire)))
        .map(|(id, _)| id)
        .collect();
    for name in unused {
        let idle = names.map.get(&name).is_some_and(|o| {
            let state = o.state();
            state.granted.is_empty() && state.pending.is_empty() && !granted.contains(&o.id())
        });
        if idle && let Some(object) = names.map.remove(&name) {
            names.free.push(object);
        }
    }
    names.sweep_at = SWEEP_MIN.max(2 * names.map.len());
}

/// A name from its parts.
pub(crate) fn name_of(namespace: Namespace, schema: &str, name: &str) -> Name {
    Name { namespace, schema: schema.into(), name: name.into() }
}
