//! What published definitions are found by besides their names: ids, tablespaces, what their foreign keys refer to, and names of
//! constraints.
//!
//! 1. It says what the published definitions say, in memory or not; a publication brings it up to date under its mutex.
//! 2. Nothing in it is walked through: each question and each change costs as much as its answer.

use crate::FullName;
use crate::brief::Brief;
use crate::constraints::Kind;
use base::SpaceId;
use engine::TableId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use value::name::folded_name;

/// See the module.
#[derive(Default)]
pub(crate) struct Index {
    ids: HashMap<TableId, Arc<Brief>>,
    spaces: HashMap<SpaceId, Arc<Brief>>,
    children: BTreeMap<FullName, BTreeSet<FullName>>,
    foreign_keys: Constraints,
    checks: Constraints,
}

/// Tables by the schema and the folded names of their constraints of a kind.
#[derive(Default)]
struct Constraints(HashMap<FullName, BTreeSet<String>>);

impl Constraints {
    fn add(&mut self, of: &Brief, name: &str) {
        let tables = self.0.entry((of.name.0.clone(), folded_name(name))).or_default();
        tables.insert(of.name.1.clone());
    }

    fn remove(&mut self, of: &Brief, name: &str) {
        let key = (of.name.0.clone(), folded_name(name));
        if let Some(tables) = self.0.get_mut(&key) {
            tables.remove(&of.name.1);
            if tables.is_empty() {
                self.0.remove(&key);
            }
        }
    }
}

impl Index {
    pub fn by_id(&self, id: TableId) -> Option<Arc<Brief>> {
        self.ids.get(&id).cloned()
    }

    pub fn by_space(&self, space: SpaceId) -> Option<Arc<Brief>> {
        self.spaces.get(&space).cloned()
    }

    /// The tables whose foreign keys refer to a name.
    pub fn children(&self, parent: &FullName) -> Vec<FullName> {
        self.children.get(parent).into_iter().flatten().cloned().collect()
    }

    /// Whether a table of the schema has a constraint of that name, other than those that `goes` names.
    pub fn has_constraint(
        &self,
        kind: Kind,
        (schema, name): (&str, &str),
        goes: &dyn Fn(&str) -> bool,
    ) -> bool {
        let constraints = match kind {
            Kind::ForeignKey => &self.foreign_keys,
            Kind::Check => &self.checks,
        };
        let tables = constraints.0.get(&(schema.to_string(), folded_name(name)));
        tables.into_iter().flatten().any(|table| !goes(table))
    }

    /// A definition is published.
    pub fn add(&mut self, new: &Arc<Brief>) {
        self.ids.insert(new.id, Arc::clone(new));
        if let Some(space) = new.space {
            self.spaces.insert(space, Arc::clone(new));
        }
        for (key, parent) in &new.keys {
            self.children.entry(parent.clone()).or_default().insert(new.name.clone());
            self.foreign_keys.add(new, key);
        }
        new.checks.iter().for_each(|check| self.checks.add(new, check));
    }

    /// A definition is published no more.
    pub fn remove(&mut self, old: &Arc<Brief>) {
        if self.ids.get(&old.id).is_some_and(|known| Arc::ptr_eq(known, old)) {
            self.ids.remove(&old.id);
        }
        if let Some(space) = old.space
            && self.spaces.get(&space).is_some_and(|known| Arc::ptr_eq(known, old))
        {
            self.spaces.remove(&space);
        }
        for (key, parent) in &old.keys {
            forget(&mut self.children, parent, &old.name);
            self.foreign_keys.remove(old, key);
        }
        old.checks.iter().for_each(|check| self.checks.remove(old, check));
    }
}

fn forget(map: &mut BTreeMap<FullName, BTreeSet<FullName>>, key: &FullName, gone: &FullName) {
    if let Some(names) = map.get_mut(key) {
        names.remove(gone);
        if names.is_empty() {
            map.remove(key);
        }
    }
}
