//! What published definitions are found by besides their names: ids, tablespaces, and what their foreign keys refer to.
//!
//! 1. It says what the published definitions say; a publication brings it up to date under its mutex. 2. Nothing in it is
//! walked through: each question and each change costs as much as its answer.

use crate::definition::Definition;
use crate::{FullName, TableDef};
use base::SpaceId;
use engine::TableId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use value::name::folded_name;

/// See the module.
#[derive(Default)]
pub(crate) struct Index {
    ids: HashMap<TableId, Arc<Definition>>,
    spaces: HashMap<SpaceId, Arc<Definition>>,
    children: BTreeMap<FullName, BTreeSet<FullName>>,
    /// Tables by the schema and the folded names of their foreign keys.
    foreign_keys: HashMap<FullName, BTreeSet<String>>,
}

impl Index {
    pub fn by_id(&self, id: TableId) -> Option<Arc<Definition>> {
        self.ids.get(&id).cloned()
    }

    pub fn by_space(&self, space: SpaceId) -> Option<Arc<Definition>> {
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
    pub fn add(&mut self, new: &Arc<Definition>) {
        let def = &new.def;
        self.ids.insert(def.id, Arc::clone(new));
        if def.view.is_none() {
            self.spaces.insert(def.storage.space, Arc::clone(new));
        }
        for key in &def.foreign_keys {
            self.children.entry(key.parent.clone()).or_default().insert(def.full_name());
            let named = self.foreign_keys.entry(key_of(def, &key.name)).or_default();
            named.insert(def.name.clone());
        }
    }

    /// A definition is published no more.
    pub fn remove(&mut self, old: &Arc<Definition>) {
        let def = &old.def;
        if self.ids.get(&def.id).is_some_and(|d| Arc::ptr_eq(d, old)) {
            self.ids.remove(&def.id);
        }
        if self.spaces.get(&def.storage.space).is_some_and(|d| Arc::ptr_eq(d, old)) {
            self.spaces.remove(&def.storage.space);
        }
        for key in &def.foreign_keys {
            forget(&mut self.children, &key.parent, &def.full_name());
            let named = key_of(def, &key.name);
            if let Some(tables) = self.foreign_keys.get_mut(&named) {
                tables.remove(&def.name);
                if tables.is_empty() {
                    self.foreign_keys.remove(&named);
                }
            }
        }
    }
}

fn key_of(def: &TableDef, key: &str) -> FullName {
    (def.schema.clone(), folded_name(key))
}

fn forget(map: &mut BTreeMap<FullName, BTreeSet<FullName>>, key: &FullName, gone: &FullName) {
    if let Some(names) = map.get_mut(key) {
        names.remove(gone);
        if names.is_empty() {
            map.remove(key);
        }
    }
}
