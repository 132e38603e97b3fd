//! One entry per table name ever seen: its lock object, its version, its current definition.
//!
//! 1. An entry is made once and never removed: its address and lock object are stable, so a session
//!    may cache it. 2. `version` changes only under an X lock on the name; a reader that holds any
//!    lock on the name and sees its cached version again may use its cached definition.

use crate::TableDef;
use mdl::{Mdl, Namespace, Object};
use std::collections::HashMap;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

static NAMES: instrument::MutexClass =
    instrument::MutexClass::new("wait/synch/mutex/sql/table_names");
static DEFINITION: instrument::MutexClass =
    instrument::MutexClass::new("wait/synch/mutex/sql/table_definition");

/// A definition together with the engine's open table.
pub struct Definition {
    /// What the table looks like.
    pub def: TableDef,
    /// The engine's table of that shape.
    pub table: Arc<engine::Table>,
}

/// A name with its lock object and what it means at the moment.
pub struct NameEntry {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub name: String,
    /// Metadata lock object of the name.
    pub object: Arc<Object>,
    version: SharedAtomic<u64, { class::DICT }>,
    current: Mutex<Option<Arc<Definition>>>,
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
                schema: schema.to_string(),
                name: name.to_string(),
                object: self.mdl.intern(Namespace::Table, schema, name),
                version: SharedAtomic::new(1),
                current: Mutex::new(&DEFINITION, None),
            })
        });
        Arc::clone(made)
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
