//! Which table an id means to those who purge: its newest handle.
//!
//! 1. Whoever purges keeps what he was told (`Handles`) no longer than `version` stays the same, and looks at
//!    it in every step, under the history's `step`. DDL that takes pages away changes the registry first and
//!    then waits for every step that is under way: what begins later knows. Guard: drops under purge in `campaign` and
//!    `one_runner`.
//! 2. A handle with an index that was freed is never answered: until the dictionary has a newer one, purge waits. Guard:
//!    `Known::is_stale` at every answer; indexes that come and go in `campaign`.
//! 3. Ids are never given again, so "dropped" stays true. Guard:
//!    `ids_are_never_given_twice` (of `trx`).
//! 4. A table that is held still is answered as `Later`: whoever holds it has waited for every step under way, and
//!    nobody purges it, or rolls back in it in the background, until he lets it go ([`Engine::hold_still`]). Guard: the
//!    `expect` of `Registry::let_go`, `a_check_while_values_are_purged_finds_nothing_wrong`.

use crate::Table;
use crate::engine::Engine;
use crate::rollback::Lookup;
use base::{IndexId, SpaceId, TableId};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static KNOWN: MutexClass = "wait/synch/mutex/limpid/tables_to_purge";
}

enum Entry {
    Open(SpaceId, Weak<Table>),
    Dropped,
}

#[derive(Default)]
struct Known {
    tables: HashMap<TableId, Entry>,
    freed: HashSet<IndexId>,
    /// Invariant 4: one entry for each who holds it.
    held: Vec<TableId>,
}

impl Known {
    fn is_stale(&self, table: &Table) -> bool {
        !self.freed.is_empty() && table.secondaries.iter().any(|s| self.freed.contains(&s.spec.id))
    }
}

/// The tables of an engine, by id.
pub(crate) struct Registry {
    known: Mutex<Known>,
    version: SharedAtomic<u64, { class::OTHER }>,
}

impl Registry {
    pub fn new() -> Registry {
        Registry { known: Mutex::new(&KNOWN, Known::default()), version: SharedAtomic::new(1) }
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = self.known.lock();
        change(&mut known);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// A handle was opened: it takes the older one's place.
    pub fn opened(&self, table: &Arc<Table>) {
        let entry = Entry::Open(table.ts.id(), Arc::downgrade(table));
        self.change(|known| drop(known.tables.insert(table.id(), entry)));
    }

    /// The newest handle of a table, if somebody has it: who works with the table without its definition.
    pub fn newest(&self, id: TableId) -> Option<Arc<Table>> {
        match self.known.lock().tables.get(&id)? {
            Entry::Open(_, table) => table.upgrade(),
            Entry::Dropped => None,
        }
    }

    /// A tablespace is about to be dropped.
    pub fn dropping(&self, space: SpaceId) {
        self.change(|known| {
            for entry in known.tables.values_mut() {
                if matches!(entry, Entry::Open(of, _) if *of == space) {
                    *entry = Entry::Dropped;
                }
            }
        });
    }

    /// The pages of an index are about to be freed.
    pub fn freeing(&self, index: IndexId) {
        self.change(|known| {
            known.freed.insert(index);
        });
    }

    fn hold(&self, table: TableId) {
        self.change(|known| known.held.push(table));
    }

    fn let_go(&self, table: TableId) {
        self.change(|known| {
            let held = known.held.iter().position(|id| *id == table);
            known.held.swap_remove(held.expect("who lets go has held"));
        });
    }

    /// Invariant 4.
    pub fn is_held(&self, table: TableId) -> bool {
        self.known.lock().held.contains(&table)
    }

    /// Nothing is left to be purged: what was dropped and closed need not be known any more.
    pub fn tidy(&self) {
        let mut known = self.known.lock();
        known.tables.retain(|_, e| matches!(e, Entry::Open(_, table) if table.strong_count() > 0));
    }

    /// The newest handle; `Later`: nobody has one.
    fn find(&self, id: TableId) -> Lookup {
        let known = self.known.lock();
        match known.tables.get(&id) {
            _ if known.held.contains(&id) => Lookup::Later,
            Some(Entry::Dropped) => Lookup::Dropped,
            Some(Entry::Open(_, table)) => match table.upgrade() {
                Some(table) if !known.is_stale(&table) => Lookup::Open(table),
                _ => Lookup::Later,
            },
            None => Lookup::Later,
        }
    }

    /// What the dictionary answered, unless it is too old or the table is held still.
    pub fn checked(&self, table: Option<Arc<Table>>) -> Lookup {
        let Some(table) = table else { return Lookup::Dropped };
        let known = self.known.lock();
        if known.is_stale(&table) || known.held.contains(&table.id()) {
            return Lookup::Later;
        }
        Lookup::Open(table)
    }
}

/// A table in which nothing happens in the background until this is dropped.
#[must_use = "the table is let go when this is dropped"]
pub(crate) struct Still<'e> {
    engine: &'e Engine,
    table: TableId,
}

impl Engine {
    /// Keeps purge and the rollbacks in the background out of a table, and waits for the steps under way.
    pub(crate) fn hold_still(&self, table: TableId) -> Still<'_> {
        let still = Still { engine: self, table };
        self.stop_purge_of(|| self.registry.hold(table));
        self.wait_for_rollback_step();
        still
    }
}

impl Drop for Still<'_> {
    fn drop(&mut self) {
        self.engine.registry.let_go(self.table);
    }
}

/// What somebody who purges remembers of the registry (invariant 1).
#[derive(Default)]
pub(crate) struct Handles {
    version: u64,
    tables: RefCell<Vec<(TableId, Weak<Table>)>>,
}

impl Handles {
    /// Forgets what may be too old; at the beginning of a step.
    pub fn refresh(&mut self, registry: &Registry) {
        let version = registry.version.load(Ordering::Acquire);
        if self.version != version {
            self.tables.get_mut().clear();
            self.version = version;
        }
    }

    /// See [`Registry::find`].
    pub fn find(&self, id: TableId, registry: &Registry) -> Lookup {
        let mut tables = self.tables.borrow_mut();
        let known = tables.iter().find(|(i, _)| *i == id);
        if let Some(table) = known.and_then(|(_, table)| table.upgrade()) {
            return Lookup::Open(table);
        }
        let found = registry.find(id);
        if let Lookup::Open(table) = &found {
            tables.retain(|(i, _)| *i != id);
            tables.push((id, Arc::downgrade(table)));
        }
        found
    }
}
