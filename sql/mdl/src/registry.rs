//! Names to objects and numbers to objects.
//!
//! Invariants
//! 1. An object's place never changes and its memory stays until the registry goes.
//! 2. An object in the map is that name's; one outside the map waits in `free` for another name.
//! 3. It leaves the map only under the write latch, when the registry holds its only handle, no slot
//!    holds a grant of it (looked at after a heavy fence) and it has no ticket.
//! 4. Nobody walks over all names under the latch. A hand goes round the places, two for each name that comes, in steps of
//!    `STEP` with one fence and one look through the slots, as a pair would need them, too; so there are about twice as many
//!    names as are in use at most. Lists go through the places without a latch.

use crate::mode::Namespace;
use crate::object::{ClosedCount, Id, Name, Object, PLACE_BITS};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use stdx::Ordering;
use sync::{RwLatch, RwReadGuard, SlotTable, asym};

instrument::classes! {
    static REGISTRY: RwLockClass = "wait/synch/rwlock/sql/MDL_registry";
}

const CHUNK: usize = 4096;
const CHUNKS: usize = (1 << PLACE_BITS) / CHUNK;
/// Names below which unused ones are not looked for.
const KEPT_MIN: usize = 4096;
/// Places that are looked at under the latch at a time.
const STEP: usize = 64;
/// Names that come between two steps: half as many, so that the hand comes round before there are twice as many.
const NAMES_A_STEP: usize = STEP / 2;

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
    /// Names that have come since the last step.
    come: usize,
    /// Where the next step begins.
    hand: usize,
}

impl Registry {
    pub(crate) fn new() -> Self {
        let (map, free) = (HashMap::new(), Vec::new());
        let names = Names { map, free, places: 0, no_fast_path: false, come: 0, hand: 0 };
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
        names.come += 1;
        if names.come >= NAMES_A_STEP && names.map.len() >= KEPT_MIN {
            self.step(&mut names, slots);
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
        self.at(id.place())
    }

    #[inline]
    fn at(&self, place: usize) -> Option<&Arc<Object>> {
        self.chunks.get(place / CHUNK)?.get()?.get(place % CHUNK)?.get()
    }

    /// Says whether weak modes may be granted in slots, of every object there is and will be.
    pub(crate) fn set_fast_path(&self, on: bool) {
        self.names.write().no_fast_path = !on;
        self.all().for_each(|object| object.set_fast_path(on));
    }

    /// Every object there is, by place: the same in each run of a model. Without a latch: one may have no name, or get another
    /// meanwhile. Places are given in their order, so the first one that is empty is the end.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Object>> {
        (0..1 << PLACE_BITS).map_while(move |place| self.at(place))
    }

    /// While this is held no name is forgotten, and none is new.
    pub(crate) fn keep_names(&self) -> RwReadGuard<'_, Names> {
        self.names.read()
    }

    /// Forgets unused names now, in one round. Tests call it; otherwise growth does, step by step.
    pub(crate) fn sweep(&self, slots: &SlotTable) -> usize {
        let steps = self.names.read().places.div_ceil(STEP);
        (0..steps).map(|_| self.step(&mut self.names.write(), slots)).sum()
    }

    /// Looks at the next places, and forgets the names there that nobody uses; how many. Rule 3: the handles of a named object
    /// are the map's and the place's; new ones come from the map only, whose latch we hold.
    fn step(&self, names: &mut Names, slots: &SlotTable) -> usize {
        let (first, end) = (names.hand, names.places.min(names.hand + STEP));
        names.hand = if end < names.places { end } else { 0 };
        names.come = 0;
        let each = (first..end).map(|place| self.at(place).filter(|o| names.has_alone(o)));
        let mut unused: Vec<Option<&Arc<Object>>> = each.collect();
        if unused.iter().all(Option::is_none) {
            return 0;
        }
        asym::heavy();
        for word in slots.sessions().flat_map(|slot| slot.grants_in_use()) {
            if let Some((id, _)) = Id::of_grant(word.load(Ordering::Acquire))
                && let Some(granted) = unused.get_mut(id.place().wrapping_sub(first))
            {
                *granted = None;
            }
        }
        let before = names.free.len();
        for object in unused.into_iter().flatten().filter(|object| !object.has_tickets()) {
            names.free.extend(names.map.remove(&*object.name()));
        }
        names.free.len() - before
    }
}

impl Names {
    /// Whether an object has a name, and nobody but the map and its place has a handle. Others hold the scopes' ([`crate::Mdl`]).
    fn has_alone(&self, object: &Arc<Object>) -> bool {
        let is_named = |name: &Name| self.map.get(name).is_some_and(|o| Arc::ptr_eq(o, object));
        Arc::strong_count(object) == 2 && is_named(&object.name())
    }
}

/// A name from its parts.
pub(crate) fn name_of(namespace: Namespace, schema: &str, name: &str) -> Name {
    Name { namespace, schema: schema.into(), name: name.into() }
}
