//! One entry per table name ever seen: its lock object, its version, its current definition.
//!
//! 1. An entry is made once and never removed: its address and lock object are stable, so a session
//!    may cache it. 2. What is published changes only under an X lock on the name; `version` is raised then, and when
//!    new statistics ask for new plans; a reader that holds any
//!    lock on the name and sees its cached version again may use its cached definition.
//! 3. A published definition lists the tables that refer to it as they are published.
//! 4. What a definition computes is compiled by floors that know expressions, once, and kept beside it: one published later
//!    begins without. Whoever reads it writes nothing.

use crate::{FullName, Statistics, TableDef};
use engine::{Engine, Table, TableId};
use instrument::{Counter, TableFigures};
use mdl::{Mdl, Namespace, Object};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static NAMES: MutexClass = "wait/synch/mutex/sql/table_names";
    static OPENING: MutexClass = "wait/synch/mutex/sql/table_opening";
    static STATISTICS: MutexClass = "wait/synch/mutex/sql/table_statistics";
    static DEFINITION: MutexClass = "wait/synch/mutex/sql/table_definition";
}

/// A definition together with the engine's table, which is opened when it is needed first: a start
/// touches no table's file.
pub struct Definition {
    /// What the table looks like.
    pub def: TableDef,
    /// Names of the tables whose foreign keys refer to it.
    children: Vec<FullName>,
    /// See [`Definition::compiled`].
    compiled: OnceLock<Box<dyn Any + Send + Sync>>,
    stored: Arc<Stored>,
}

/// What two definitions of the same rows share: the counters of a table exist once.
struct Stored {
    table: OnceLock<Arc<Table>>,
    opening: Mutex<()>,
    statistics: Mutex<Statistics>,
}

impl Definition {
    /// A definition whose table is opened later.
    pub fn closed(def: TableDef) -> Self {
        let stored = Stored {
            table: OnceLock::new(),
            opening: Mutex::new(&OPENING, ()),
            statistics: Mutex::new(&STATISTICS, Statistics::default()),
        };
        Definition {
            def,
            children: Vec::new(),
            compiled: OnceLock::new(),
            stored: Arc::new(stored),
        }
    }

    /// A definition of a table that is open.
    pub fn opened(def: TableDef, table: Arc<Table>) -> Self {
        let made = Definition::closed(def);
        instrument::count(Counter::OpenedTableDefinitions, 1);
        let _first = made.stored.table.set(table);
        made
    }

    /// The same rows under another definition with the same columns and indexes.
    pub fn redefined(&self, def: TableDef) -> Definition {
        Definition {
            def,
            children: self.children.clone(),
            compiled: OnceLock::new(),
            stored: Arc::clone(&self.stored),
        }
    }

    /// What is compiled of it, always the same type. It is compiled when it is asked for first; of two sessions that come
    /// at once the first one's is kept.
    ///
    /// # Errors
    /// Those of `compile`, which are not kept.
    pub fn compiled<T: Any + Send + Sync, E>(
        &self,
        compile: impl FnOnce(&TableDef) -> Result<T, E>,
    ) -> Result<&T, E> {
        let kept = match self.compiled.get() {
            Some(kept) => kept,
            None => {
                instrument::count(Counter::LimpidDefinitionsCompiled, 1);
                let made: Box<dyn Any + Send + Sync> = Box::new(compile(&self.def)?);
                self.compiled.get_or_init(|| made)
            }
        };
        Ok(kept.downcast_ref().expect("one type is compiled of definitions"))
    }

    /// The tables whose foreign keys refer to it.
    #[inline]
    pub fn children(&self) -> &[FullName] {
        &self.children
    }

    /// The engine's table of that shape. Errors: of opening it.
    pub fn open(&self, engine: &Engine) -> Result<&Arc<Table>, engine::Error> {
        let Stored { table: opened, opening, .. } = &*self.stored;
        if let Some(table) = opened.get() {
            return Ok(table);
        }
        // Once: a table's counters must exist once.
        let _one_at_a_time = opening.lock();
        if let Some(table) = opened.get() {
            return Ok(table);
        }
        let table = engine.open_table(&self.def.spec(), self.def.storage.clone())?;
        instrument::count(Counter::OpenedTableDefinitions, 1);
        Ok(opened.get_or_init(|| table))
    }

    /// What is known about its rows.
    pub fn statistics(&self) -> Statistics {
        self.stored.statistics.lock().clone()
    }

    /// Replaces what is known about its rows.
    pub(crate) fn set_statistics(&self, statistics: Statistics) {
        *self.stored.statistics.lock() = statistics;
    }

    /// The table, if it was opened.
    #[inline]
    pub fn table(&self) -> Option<&Arc<Table>> {
        self.stored.table.get()
    }
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
    current: Mutex<Option<Arc<Definition>>>,
    /// What was done to the rows of its tables.
    pub io: Arc<TableFigures>,
}

impl NameEntry {
    /// Version of the published definition; one load.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The published definition, with the version it belongs to. The caller holds a metadata lock.
    pub fn current(&self) -> (u64, Option<Arc<Definition>>) {
        let current = self.current.lock();
        (self.version(), current.clone())
    }

    /// An entry that no other session finds.
    pub(crate) fn private(mdl: &Mdl, (schema, name): (&str, &str), definition: Definition) -> Self {
        // No table name begins with a number sign and a schema's name.
        let id = format!("#{}", definition.def.id.0);
        NameEntry {
            id: NameId::next(),
            schema: schema.to_string(),
            name: name.to_string(),
            object: mdl.intern(Namespace::Table, "#temporary", &id),
            version: SharedAtomic::new(2),
            current: Mutex::new(&DEFINITION, Some(Arc::new(definition))),
            io: Arc::default(),
        }
    }

    /// Plans for the name are made anew: more is known about its table. No lock is needed, since the
    /// definition stays.
    pub fn touch(&self) {
        let _nobody_publishes = self.current.lock();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Publishes a definition (or none); the caller holds X on the name.
    pub fn publish(&self, definition: Option<Arc<Definition>>) {
        let mut current = self.current.lock();
        *current = definition;
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// All names; the map is touched when a session meets a name for the first time, and by SHOW.
pub struct Names {
    mdl: Arc<Mdl>,
    entries: Mutex<HashMap<(String, String), Arc<NameEntry>>>,
}

impl Names {
    /// An empty map.
    pub fn new(mdl: Arc<Mdl>) -> Self {
        Names { mdl, entries: Mutex::new(&NAMES, HashMap::new()) }
    }

    /// The entry of a name, made at first sight.
    pub fn entry(&self, schema: &str, name: &str) -> Arc<NameEntry> {
        let key = (schema.to_string(), name.to_string());
        let mut entries = self.entries.lock();
        let made = entries.entry(key).or_insert_with(|| {
            Arc::new(NameEntry {
                id: NameId::next(),
                schema: schema.to_string(),
                name: name.to_string(),
                object: self.mdl.intern(Namespace::Table, schema, name),
                version: SharedAtomic::new(1),
                current: Mutex::new(&DEFINITION, None),
                io: Arc::default(),
            })
        });
        Arc::clone(made)
    }

    /// The definition published with a table id; looks at all names.
    pub fn by_id(&self, id: TableId) -> Option<Arc<Definition>> {
        self.find(|d| d.def.id == id)
    }

    /// Publishes several definitions; who looks through all names sees all of them or none. The tables that they
    /// refer to, or referred to, learn of it; the caller holds X on all of these names.
    pub fn publish_all(&self, list: Vec<(Arc<NameEntry>, Option<Arc<Definition>>)>) {
        let entries = self.entries.lock();
        let mut concerned = BTreeSet::new();
        for (entry, new) in &list {
            concerned.insert((entry.schema.clone(), entry.name.clone()));
            for definition in [&entry.current().1, new].into_iter().flatten() {
                concerned.extend(definition.def.foreign_keys.iter().map(|k| k.parent.clone()));
            }
        }
        list.into_iter().for_each(|(entry, definition)| entry.publish(definition));
        relate(&entries, Some(&concerned));
    }

    /// Tells all tables which others refer to them: at start.
    pub fn relate_all(&self) {
        relate(&self.entries.lock(), None);
    }

    /// The published definition of a name, if there is one.
    pub fn known(&self, schema: &str, name: &str) -> Option<Arc<Definition>> {
        let key = (schema.to_string(), name.to_string());
        self.entries.lock().get(&key).cloned()?.current().1
    }

    /// A published definition that is wanted; looks through all of them.
    pub fn find(&self, wanted: impl Fn(&Definition) -> bool) -> Option<Arc<Definition>> {
        let entries = self.entries.lock();
        entries.values().filter_map(|e| e.current().1).find(|d| wanted(d))
    }

    /// The published definitions that are wanted.
    pub fn all(&self, wanted: impl Fn(&Definition) -> bool) -> Vec<Arc<Definition>> {
        let entries = self.entries.lock();
        entries.values().filter_map(|e| e.current().1).filter(|d| wanted(d)).collect()
    }

    /// The names that have a definition, with it; ordered.
    pub fn defined(&self) -> Vec<(Arc<NameEntry>, Arc<Definition>)> {
        let entries: Vec<_> = self.entries.lock().values().cloned().collect();
        let defined =
            |entry: Arc<NameEntry>| entry.current().1.map(|definition| (entry, definition));
        let mut found: Vec<_> = entries.into_iter().filter_map(defined).collect();
        found.sort_by(|(a, _), (b, _)| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        found
    }

    /// Definitions published for a schema, ordered by name.
    pub fn of_schema(&self, schema: &str) -> Vec<Arc<Definition>> {
        let entries = self.entries.lock();
        let mut found: Vec<_> =
            entries.values().filter(|e| e.schema == schema).filter_map(|e| e.current().1).collect();
        found.sort_by(|a, b| a.def.name.cmp(&b.def.name));
        found
    }
}

/// Brings the lists of children up to date; of these names, or of all.
fn relate(entries: &HashMap<FullName, Arc<NameEntry>>, concerned: Option<&BTreeSet<FullName>>) {
    let mut children: BTreeMap<FullName, BTreeSet<FullName>> = BTreeMap::new();
    for entry in entries.values() {
        let Some(child) = entry.current().1 else { continue };
        for key in &child.def.foreign_keys {
            if concerned.is_none_or(|names| names.contains(&key.parent)) {
                children.entry(key.parent.clone()).or_default().insert(child.def.full_name());
            }
        }
    }
    let all: Vec<&FullName> = match concerned {
        Some(names) => names.iter().collect(),
        None => children.keys().collect(),
    };
    for name in all {
        let Some(entry) = entries.get(name) else { continue };
        let Some(known) = entry.current().1 else { continue };
        let list: Vec<FullName> = children.get(name).into_iter().flatten().cloned().collect();
        if known.children != list {
            let related = Definition { children: list, ..known.redefined(known.def.clone()) };
            entry.publish(Some(Arc::new(related)));
        }
    }
}
