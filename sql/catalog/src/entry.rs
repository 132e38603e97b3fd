//! A name with its lock object, its version, and what it means at the moment.
//!
//! 1. What is published changes only under an X lock on the name; `version` is raised then, and when new statistics ask for new
//!    plans; a reader that holds any lock on the name and sees its cached version again may use its cached definition.
//! 2. A definition is in memory as long as somebody has it, or it is among those that are kept ([`DefinitionCache`]); else it is read
//!    again ([`sync::Loaded`], whose invariants these are). Who publishes has the definition that he replaces: his handle's, from
//!    when he locked the name. 3. What a definition is found by stays ([`Brief`]).

use crate::TableRef;
use crate::brief::Brief;
use crate::definition::Definition;
use crate::definition_cache::DefinitionCache;
use crate::names::Names;
use crate::open::OpenHandles;
use instrument::{Counter, TableFigures};
use mdl::{Namespace, Object};
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Entry, Loaded, Mutex};

instrument::classes! {
    static DEFINITION: MutexClass = "wait/synch/mutex/sql/table_definition";
}

/// The number of a name, by which plans of all sessions refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NameId(pub(crate) u64);

/// Names that were met so far, each temporary table's among them.
static MET: SharedAtomic<u64, { class::DICT }> = SharedAtomic::new(0);

impl NameId {
    fn next() -> NameId {
        NameId(MET.fetch_add(1, Ordering::Relaxed))
    }
}

/// Versions of one publication: as many changes of statistics ask for new plans before it counts as a publication.
const TOUCHES: u64 = 1 << 20;

/// The publication that a version belongs to: open tables are good as long as it is the same.
#[inline]
pub(crate) fn publication(version: u64) -> u64 {
    version / TOUCHES
}

/// What a name means, and who has it open.
#[derive(Default)]
struct Current {
    /// `None`: nothing.
    meaning: Option<Meaning>,
    /// How many handles of this publication are open, by instance of the table cache.
    handles: Vec<(usize, u64)>,
    /// It was opened: it counts as a definition that is in memory.
    cached: bool,
}

/// What a name means.
struct Meaning {
    brief: Arc<Brief>,
    definition: Loaded<Definition>,
    /// Its place among the definitions that are kept.
    age: Option<u64>,
    /// It was taken over since it came, or since it was looked at last whether it goes.
    used: bool,
}

impl Meaning {
    fn of(definition: &Arc<Definition>) -> Meaning {
        let brief = Arc::new(Brief::of(&definition.def));
        Meaning { brief, definition: Loaded::of(Arc::clone(definition)), age: None, used: false }
    }
}

/// What is found of a name.
pub(crate) enum Found {
    /// It means nothing.
    Nothing,
    /// Its definition, which is in memory.
    Here(Arc<Definition>),
    /// Its definition has to be read.
    Stored(Arc<Brief>),
}

/// A name with its lock object and what it means at the moment.
pub struct NameEntry {
    /// Its number.
    pub id: NameId,
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub name: String,
    /// Metadata lock object of the name.
    pub object: Arc<Object>,
    version: SharedAtomic<u64, { class::DICT }>,
    current: Mutex<Current>,
    open: Arc<OpenHandles>,
    /// It is a temporary table's, and in no directory.
    private: bool,
    /// What was done to the rows of its tables.
    pub io: Arc<TableFigures>,
}

impl Entry for NameEntry {
    fn is_void(&self) -> bool {
        self.current.lock().meaning.is_none()
    }
}

impl NameEntry {
    pub(crate) fn new(names: &Names, (schema, name): (&str, &str), object: Arc<Object>) -> Self {
        NameEntry {
            id: NameId::next(),
            schema: schema.to_string(),
            name: name.to_string(),
            object,
            version: SharedAtomic::new(TOUCHES),
            current: Mutex::new(&DEFINITION, Current::default()),
            open: Arc::clone(&names.open),
            private: false,
            io: Arc::default(),
        }
    }

    /// An entry that no other session finds.
    pub(crate) fn private(names: &Names, (schema, name): (&str, &str), made: Definition) -> Self {
        // No table name begins with a number sign and a schema's name.
        let id = format!("#{}", made.def.id.0);
        let object = names.mdl().intern(Namespace::Table, "#temporary", &id);
        let new = NameEntry::new(names, (schema, name), object);
        let entry = NameEntry { private: true, ..new };
        entry.publish_private(Some(Arc::new(made)));
        entry
    }

    /// Whether it is a temporary table's.
    pub(crate) fn is_private(&self) -> bool {
        self.private
    }

    /// Whether another definition was published, or the table flushed, since a plan was made.
    pub fn has_changed(&self, since: TableRef) -> bool {
        publication(self.version()) != publication(since.version())
    }

    /// Version of the published definition; one load.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// What it means, with the version that this belongs to.
    pub(crate) fn look(&self) -> (u64, Found) {
        let mut current = self.current.lock();
        let found = match &mut current.meaning {
            None => Found::Nothing,
            Some(meaning) => match meaning.definition.get() {
                Some(definition) => {
                    meaning.used = true;
                    Found::Here(definition)
                }
                None => Found::Stored(Arc::clone(&meaning.brief)),
            },
        };
        (self.version(), found)
    }

    /// A definition was read that [`Self::look`] has not found in memory: the one that is used from now on; `None`: what the
    /// name means has changed since.
    pub(crate) fn settle(&self, version: u64, read: &Arc<Definition>) -> Option<Arc<Definition>> {
        let mut current = self.current.lock();
        if self.version() != version {
            return None;
        }
        current.meaning.as_mut().map(|meaning| meaning.definition.settle(Arc::clone(read)))
    }

    /// The definition stays in memory when nobody has it, unless it is another one by now.
    pub(crate) fn keep(self: &Arc<Self>, definition: &Arc<Definition>, cache: &DefinitionCache) {
        let mut current = self.current.lock();
        let Some(meaning) = &mut current.meaning else { return };
        if self.private
            || meaning.age.is_some()
            || meaning.definition.get().is_none_or(|own| !Arc::ptr_eq(&own, definition))
        {
            return;
        }
        meaning.definition.keep(definition);
        meaning.age = Some(cache.add(self));
    }

    /// Its turn has come to go from among the definitions that are kept: it does if nobody uses it, else it comes last.
    pub(crate) fn leave(self: &Arc<Self>, age: u64, cache: &DefinitionCache) {
        let gone = {
            let mut current = self.current.lock();
            let Current { meaning: Some(meaning), handles, cached } = &mut *current else { return };
            if meaning.age != Some(age) {
                return;
            }
            let used = std::mem::take(&mut meaning.used) || !handles.is_empty();
            if used || !meaning.definition.is_unused() {
                meaning.age = Some(cache.add(self));
                return;
            }
            meaning.age = None;
            if std::mem::take(cached) {
                self.open.remove_definition();
            }
            meaning.definition.let_go()
        };
        drop(gone);
    }

    /// What it is found by, if it means something.
    pub(crate) fn brief(&self) -> Option<Arc<Brief>> {
        self.current.lock().meaning.as_ref().map(|meaning| Arc::clone(&meaning.brief))
    }

    /// The definition, if it is in memory.
    pub fn in_memory(&self) -> Option<Arc<Definition>> {
        self.current.lock().meaning.as_ref()?.definition.get()
    }

    /// Plans for the name are made anew: more is known about its table. No lock is needed, since the
    /// definition stays.
    pub fn touch(&self) {
        let _nobody_publishes = self.current.lock();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The server starts: the name has a definition, which is read when it is needed.
    pub(crate) fn begin(&self, brief: Arc<Brief>) {
        let definition = Loaded::default();
        let meaning = Meaning { brief, definition, age: None, used: false };
        self.current.lock().meaning = Some(meaning);
    }

    /// Publishes a definition (or none); the caller holds X on the name. Nobody has it open any more. What it is found by.
    pub(crate) fn publish(
        self: &Arc<Self>,
        definition: Option<&Arc<Definition>>,
        cache: &DefinitionCache,
    ) -> Option<Arc<Brief>> {
        let mut current = self.current.lock();
        let before = current.meaning.take();
        let age = before.as_ref().and_then(|meaning| meaning.age);
        if let Some(age) = age {
            cache.remove(age);
        }
        current.meaning = definition.map(Meaning::of);
        if let Some(meaning) = &mut current.meaning {
            meaning.age = Some(cache.add(self));
        }
        self.close_all(&mut current);
        let brief = current.meaning.as_ref().map(|meaning| Arc::clone(&meaning.brief));
        drop(current);
        drop(before);
        if definition.is_none() {
            self.io.leave();
        }
        brief
    }

    /// As [`Self::publish`], of a temporary table.
    pub(crate) fn publish_private(&self, definition: Option<Arc<Definition>>) {
        let mut current = self.current.lock();
        current.meaning = definition.as_ref().map(Meaning::of);
        self.close_all(&mut current);
    }

    /// FLUSH: nobody has the table open any more; it is opened anew, and plans are made anew.
    pub(crate) fn flush(&self) {
        let mut current = self.current.lock();
        if current.cached {
            self.close_all(&mut current);
        }
    }

    /// Its definition is read anew, or was: it is another one, though what is stored is the same.
    pub(crate) fn outdate(&self) {
        self.close_all(&mut self.current.lock());
    }

    /// It is opened: definitions are loaded at first use, and after each publication and FLUSH.
    pub(crate) fn load(&self) {
        let mut current = self.current.lock();
        if !std::mem::replace(&mut current.cached, true) {
            self.open.add_definition();
            instrument::count(Counter::OpenedTableDefinitions, 1);
        }
    }

    /// Whether it was opened since the last publication and FLUSH.
    pub fn is_loaded(&self) -> bool {
        self.current.lock().cached
    }

    fn close_all(&self, current: &mut Current) {
        let next = (publication(self.version()) + 1) * TOUCHES;
        self.version.store(next, Ordering::Release);
        for (instance, handles) in current.handles.drain(..) {
            self.open.remove(instance, handles);
        }
        if std::mem::replace(&mut current.cached, false) {
            self.open.remove_definition();
        }
    }

    /// Counts a handle in that a session opens of the definition of `version`; false when that is another one by now.
    pub(crate) fn add_handle(&self, instance: usize, version: u64) -> bool {
        let mut current = self.current.lock();
        if publication(self.version()) != publication(version) {
            return false;
        }
        match current.handles.iter_mut().find(|(of, _)| *of == instance) {
            Some((_, handles)) => *handles += 1,
            None => current.handles.push((instance, 1)),
        }
        self.open.add(instance);
        true
    }

    /// Counts handles out that were opened of the definition of `version`, unless its end has done so.
    pub(crate) fn remove_handles(&self, instance: usize, version: u64, handles: u64) {
        let mut current = self.current.lock();
        if publication(self.version()) != publication(version) {
            return;
        }
        let Some(at) = current.handles.iter().position(|(of, _)| *of == instance) else { return };
        current.handles[at].1 -= handles;
        if current.handles[at].1 == 0 {
            current.handles.swap_remove(at);
        }
        self.open.remove(instance, handles);
    }
}
