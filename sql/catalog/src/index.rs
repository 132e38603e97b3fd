//! What published definitions are found by besides their names: ids, tablespaces, and what their foreign keys refer to.
//!
//! 1. It says what the published definitions say, in memory or not; a publication brings it up to date under its mutex.
//! 2. Nothing in it is walked through: each question and each change costs as much as its answer.

use crate::FullName;
use crate::brief::Brief;
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
    /// Tables by the schema and the folded names of their foreign keys.
    foreign_keys: HashMap<FullName, BTreeSet<String>>,
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

    pub fn has_foreign_key(&self, schema: &str, key: &str, table: Option<&str>) -> bool {
        let tables = self.foreign_keys.get(&(schema.to_string(), folded_name(key)));
        tables.into_iter().flatten().any(|t| Some(t.as_str()) != table)
    }

    /// A definition is published.
    pub fn add(&mut self, new: &Arc<Brief>) {
        self.ids.insert(new.id, Arc::clone(new));
        if let Some(space) = new.space {
            self.spaces.insert(space, Arc::clone(new));
        }
        for (key, parent) in &new.keys {
            self.children.entry(parent.clone()).or_default().insert(new.name.clone());
            let named = self.foreign_keys.entry(key_of(new, key)).or_default();
            named.insert(new.name.1.clone());
        }
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
            let named = key_of(old, key);
            if let Some(tables) = self.foreign_keys.get_mut(&named) {
                tables.remove(&old.name.1);
                if tables.is_empty() {
                    self.foreign_keys.remove(&named);
                }
            }
        }
    }
}

fn key_of(of: &Brief, key: &str) -> FullName {
    (of.name.0.clone(), folded_name(key))
}

fn forget(map: &mut BTreeMap<FullName, BTreeSet<FullName>>, key: &FullName, gone: &FullName) {
    if let Some(names) = map.get_mut(key) {
        names.remove(gone);
        if names.is_empty() {
            map.remove(key);
        }
    }
}
