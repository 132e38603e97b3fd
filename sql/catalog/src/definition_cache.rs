//! Definitions that stay in memory though nobody has them, as many as `table_definition_cache` says, and how others are read.
//!
//! 1. A definition comes in when it is read for a statement, for purge or for recovery, and when it is published; what only shows
//! definitions keeps none. 2. As long as there are more than the limit, each one that comes or is taken over has
//! [`LOOKS`] of the oldest looked at: what nobody has used since the last look goes, the others come last. Nobody walks through
//! all. There may be more as long as they are in use.
//! 3. A latch of a name may be held when this one is taken, not the other way round, and neither while something is read.

use crate::brief::Brief;
use crate::definition::Definition;
use crate::dictionary::System;
use crate::entry::{Found, NameEntry};
use crate::{Catalog, CatalogError, TableDef};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};
use sync::Mutex;
use value::Datum;

instrument::classes! {
    static KEPT: MutexClass = "wait/synch/mutex/sql/table_definitions";
}

/// Until the variables are known: `table_definition_cache`.
const LIMIT: u64 = 2000;
/// Definitions that are looked at whenever one comes beyond the limit.
const LOOKS: usize = 8;

/// See the module.
pub(crate) struct DefinitionCache {
    limit: LocalAtomic<u64>,
    /// How many there are; written under the latch.
    count: SharedAtomic<u64, { class::DICT }>,
    names: Mutex<ByAge>,
}

#[derive(Default)]
struct ByAge {
    next: u64,
    names: BTreeMap<u64, Arc<NameEntry>>,
}

impl Default for DefinitionCache {
    fn default() -> Self {
        DefinitionCache {
            limit: LocalAtomic::new(LIMIT),
            count: SharedAtomic::new(0),
            names: Mutex::new(&KEPT, ByAge::default()),
        }
    }
}

impl DefinitionCache {
    /// `table_definition_cache`: it acts when a definition comes next.
    pub fn set_limit(&self, definitions: u64) {
        self.limit.store(definitions, Ordering::Relaxed);
    }

    /// A name's definition comes last; its age.
    pub fn add(&self, entry: &Arc<NameEntry>) -> u64 {
        let mut all = self.names.lock();
        let age = all.next;
        all.next += 1;
        all.names.insert(age, Arc::clone(entry));
        self.note(&all);
        age
    }

    /// The definition of an age is there no more.
    pub fn remove(&self, age: u64) {
        let mut all = self.names.lock();
        let gone = all.names.remove(&age);
        self.note(&all);
        drop(all);
        drop(gone);
    }

    /// Lets definitions go that are too many, as far as nobody uses them.
    pub fn trim(&self) {
        for _ in 0..LOOKS {
            if self.count.load(Ordering::Relaxed) <= self.limit.load(Ordering::Relaxed) {
                return;
            }
            let oldest = {
                let mut all = self.names.lock();
                let oldest = all.names.pop_first();
                self.note(&all);
                oldest
            };
            let Some((age, entry)) = oldest else { return };
            entry.leave(age, self);
        }
    }

    fn note(&self, all: &ByAge) {
        self.count.store(all.names.len() as u64, Ordering::Relaxed);
    }

    /// How many definitions are kept.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.names.lock().names.len()
    }

    /// The names and this refer to each other.
    pub fn clear(&self) {
        let all = std::mem::take(&mut self.names.lock().names);
        drop(all);
    }
}

impl Catalog {
    /// What a name means, in memory from now on as long as there is room, with the version that it belongs to.
    ///
    /// # Errors
    /// Those of reading the definition.
    pub(crate) fn meaning(
        &self,
        entry: &Arc<NameEntry>,
    ) -> Result<(u64, Option<Arc<Definition>>), CatalogError> {
        let (version, found) = self.glance(entry)?;
        if let Some(definition) = &found {
            entry.keep(definition, self.names().cache());
            self.names().cache().trim();
        }
        Ok((version, found))
    }

    /// As [`Self::meaning`], of who only looks at it: it stays as long as he has it.
    pub(crate) fn glance(
        &self,
        entry: &NameEntry,
    ) -> Result<(u64, Option<Arc<Definition>>), CatalogError> {
        loop {
            let (version, found) = entry.look();
            let brief = match found {
                Found::Nothing => return Ok((version, None)),
                Found::Here(definition) => return Ok((version, Some(definition))),
                Found::Stored(brief) => brief,
            };
            let read = self.read_definition(&brief);
            // Another version: it was published anew, and what was read may be nonsense.
            match read {
                Ok(read) => {
                    if let Some(settled) = entry.settle(version, &Arc::new(read)) {
                        return Ok((version, Some(settled)));
                    }
                }
                Err(error) if entry.version() == version => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Reads a definition and what is known about its rows.
    fn read_definition(&self, brief: &Brief) -> Result<Definition, CatalogError> {
        let (schema, name) = &brief.name;
        let key = [Datum::Bytes(schema.as_bytes()), Datum::Bytes(name.as_bytes())];
        let mut stored = Vec::new();
        self.each_row_of(System::Tables, &key, |c, row| {
            let body = c.column(System::Tables, row, 3)?;
            stored.extend_from_slice(body.as_bytes().unwrap_or_default());
            Ok(())
        })?;
        let bad = |what| CatalogError::BadDefinition { object: format!("{schema}.{name}"), what };
        let def = TableDef::decode(&stored).map_err(bad)?;
        if Brief::of(&def) != *brief {
            return Err(bad("another definition than its name says"));
        }
        let statistics = match def.view {
            None => self.read_statistics(def.id)?,
            Some(_) => Default::default(),
        };
        let definition = Definition::closed(def).related(self.names().children(&brief.name));
        definition.set_statistics(statistics);
        Ok(definition)
    }
}
