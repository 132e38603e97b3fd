//! FOREIGN KEY: its definition, and how the tables that it joins find each other.
//!
//! 1. A child's definition names its parent; there may be no such table (`foreign_key_checks = 0`). A published
//!    [`Definition`] lists the names of the tables that refer to it: whoever publishes keeps that true
//!    ([`Names::publish_all`](crate::names::Names::publish_all)), holding X on every name concerned.
//! 2. Names of parents follow a renamed table or column in the transaction that renames it.

use crate::definition::Definition;
use crate::{Catalog, CatalogError, FullName, TableCache, TableDef, TableRef};
use engine::Client;
use mdl::Mode;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use sync::{Deadline, SessionSlot};
use value::KeyPart;

/// Names of tables that change, and what they are afterwards.
pub type Renames = HashMap<FullName, FullName>;

/// What happens to the rows that refer to one that goes or changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Referential {
    /// NO ACTION, also when nothing is written: as RESTRICT.
    #[default]
    NoAction,
    /// RESTRICT: the change is refused.
    Restrict,
    /// CASCADE: they go or change, too.
    Cascade,
    /// SET NULL: they refer to nothing.
    SetNull,
    /// SET DEFAULT: InnoDB does as with RESTRICT.
    SetDefault,
}

impl Referential {
    /// As it is written.
    pub fn words(self) -> &'static str {
        match self {
            Referential::NoAction => "NO ACTION",
            Referential::Restrict => "RESTRICT",
            Referential::Cascade => "CASCADE",
            Referential::SetNull => "SET NULL",
            Referential::SetDefault => "SET DEFAULT",
        }
    }

    /// Whether children are changed.
    pub fn changes(self) -> bool {
        matches!(self, Referential::Cascade | Referential::SetNull)
    }
}

/// One FOREIGN KEY of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeyDef {
    /// Name; unique in the schema, whatever its case.
    pub name: String,
    /// Positions of its columns.
    pub columns: Vec<usize>,
    /// The table that it refers to.
    pub parent: FullName,
    /// Names of the columns that it refers to.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: Referential,
    /// ON UPDATE.
    pub on_update: Referential,
}

impl ForeignKeyDef {
    /// What happens to rows of the child when one of the parent is deleted, or updated.
    pub fn action(&self, delete: bool) -> Referential {
        if delete { self.on_delete } else { self.on_update }
    }

    /// Its number, when its name is one that the server made for a table of that name.
    pub fn generated_number(&self, table: &str) -> Option<u64> {
        let digits = self.name.strip_prefix(table)?.strip_prefix("_ibfk_")?;
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten()
    }
}

/// The index whose first columns are these, in order and whole; an ascending one, if there is one.
fn index_over(def: &TableDef, columns: &[usize]) -> Option<usize> {
    let fits = |parts: &[KeyPart]| {
        parts.len() >= columns.len()
            && parts.iter().zip(columns).all(|(p, c)| p.column == *c && p.prefix_chars.is_none())
    };
    let descends = |parts: &[KeyPart]| parts[..columns.len()].iter().any(|p| p.descending);
    let all = || (0..def.indexes.len()).filter(|i| fits(&def.indexes[*i].parts));
    all().find(|i| !descends(&def.indexes[*i].parts)).or_else(|| all().next())
}

impl TableDef {
    /// The full name.
    pub fn full_name(&self) -> FullName {
        (self.schema.clone(), self.name.clone())
    }

    /// Foreign keys that refer to a table.
    pub fn referring<'d>(
        &'d self,
        parent: &'d FullName,
    ) -> impl Iterator<Item = &'d ForeignKeyDef> {
        self.foreign_keys.iter().filter(move |key| key.parent == *parent)
    }

    /// The other tables that foreign keys refer to.
    pub fn parents(&self) -> BTreeSet<FullName> {
        let own = self.full_name();
        self.foreign_keys.iter().map(|k| k.parent.clone()).filter(|p| *p != own).collect()
    }

    /// Positions of the columns of these names; `Err`: the name of one that is not there.
    pub fn positions<'n>(&self, names: &'n [String]) -> Result<Vec<usize>, &'n String> {
        names.iter().map(|name| self.column(name).ok_or(name)).collect()
    }

    /// Position in [`TableDef::indexes`] of an index by which rows are found that have values in these columns.
    pub fn index_of_columns(&self, columns: &[usize]) -> Option<usize> {
        index_over(self, columns)
    }

    /// The number that the engine gives to the index at a position of [`TableDef::indexes`].
    pub fn engine_index(&self, position: usize) -> usize {
        if self.clustered().is_some() { position } else { position + 1 }
    }

    /// The unique index over exactly these columns in this order: what a foreign key refers to by the standard.
    pub fn unique_over(&self, columns: &[usize]) -> Option<usize> {
        self.indexes.iter().position(|i| {
            let same = |p: &KeyPart, c: &usize| p.column == *c && p.prefix_chars.is_none();
            i.unique
                && i.parts.len() == columns.len()
                && i.parts.iter().zip(columns).all(|(p, c)| same(p, c))
        })
    }

    /// Gives the tables that foreign keys refer to their new names.
    pub fn follow(&mut self, renames: &Renames) {
        for key in &mut self.foreign_keys {
            if let Some(to) = renames.get(&key.parent) {
                key.parent.clone_from(to);
            }
        }
    }
}

impl Catalog {
    /// The tables whose foreign keys refer to this name, whether or not it means a table.
    ///
    /// # Errors
    /// Those of reading their definitions.
    pub fn children_of(&self, parent: &FullName) -> Result<Vec<Arc<Definition>>, CatalogError> {
        let mut children = Vec::new();
        for (schema, name) in self.names().children(parent) {
            let known = self.definition(&schema, &name)?;
            children.extend(known.filter(|d| d.def.referring(parent).next().is_some()));
        }
        Ok(children)
    }

    /// Locks another table that a foreign key joins to the one being defined: X, or for [`Self::alter_table`] SU; its
    /// definition, if there is one.
    ///
    /// # Errors
    /// Lock errors.
    pub fn lock_relative(
        &self,
        client: &Client,
        cache: &mut TableCache,
        name: &FullName,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<Option<Arc<Definition>>, CatalogError> {
        if self.schema(&name.0).is_some() {
            self.lock_schema(client, cache, &name.0, Mode::IX, deadline)?;
        }
        let handle = self.lock_table_as(client, cache, (&name.0, &name.1), mode, deadline)?;
        Ok(cache.definition(handle).cloned())
    }

    /// Refuses to take away tables that others refer to.
    pub(crate) fn refuse_orphans(&self, gone: &[&FullName]) -> Result<(), CatalogError> {
        let names: HashSet<&FullName> = gone.iter().copied().collect();
        for parent in gone {
            let others = self.children_of(parent)?;
            let stays = |d: &&Arc<Definition>| !names.contains(&d.def.full_name());
            let mut keys = others.iter().filter(stays).flat_map(|d| {
                d.def.referring(parent).map(|key| (key.name.clone(), d.def.name.clone()))
            });
            if let Some((constraint, child)) = keys.next() {
                let parent = parent.1.clone();
                return Err(CatalogError::ParentDropped { parent, constraint, child });
            }
        }
        Ok(())
    }

    /// Refuses to empty a table that others refer to.
    pub(crate) fn refuse_truncation(&self, parent: &FullName) -> Result<(), CatalogError> {
        let others = self.children_of(parent)?;
        let other = others.iter().find(|d| d.def.full_name() != *parent);
        match other.and_then(|d| d.def.referring(parent).next().map(|key| (d, key))) {
            Some((d, key)) => {
                let constraint = key.name.clone();
                Err(CatalogError::ParentTruncated { child: d.def.full_name(), constraint })
            }
            None => Ok(()),
        }
    }

    /// Locks the tables that a definition refers to: their lists of children are going to change.
    pub(crate) fn lock_parents(
        &self,
        client: &Client,
        cache: &mut TableCache,
        def: &TableDef,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        for parent in def.parents() {
            self.lock_relative(client, cache, &parent, mode, deadline)?;
        }
        Ok(())
    }

    /// Locks the tables that refer to tables that get other names, and gives them definitions
    /// that name the tables as they will be.
    pub(crate) fn followers(
        &self,
        client: &Client,
        cache: &mut TableCache,
        renames: &Renames,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<Vec<(Arc<Definition>, TableDef)>, CatalogError> {
        let mut names = BTreeSet::new();
        for from in renames.keys() {
            names.extend(self.names().children(from));
        }
        let mut followers = Vec::new();
        for name in names.iter().filter(|n| !renames.contains_key(*n)) {
            let Some(old) = self.lock_relative(client, cache, name, mode, deadline)? else {
                continue;
            };
            let mut new = old.def.clone();
            new.follow(renames);
            followers.push((old, new));
        }
        Ok(followers)
    }
}

impl TableCache {
    /// The tables whose foreign keys refer to an open one.
    #[inline]
    pub fn children(&self, table: TableRef) -> &[FullName] {
        self.opened(table).children()
    }

    /// Opens a table that a foreign key joins to one that is open; neither LOCK TABLES nor a temporary table of
    /// that name stands in the way. `None`: there is no such table.
    ///
    /// # Errors
    /// Lock and storage errors.
    pub fn open_relative(
        &mut self,
        slot: &SessionSlot,
        (schema, name): (&str, &str),
        mode: Mode,
        deadline: Deadline,
    ) -> Result<Option<TableRef>, CatalogError> {
        let handle = self.lock_base_name(slot, schema, name, mode, deadline)?;
        self.enter(handle)?;
        match self.definition(handle) {
            Some(definition) if definition.def.view.is_none() => {
                definition.open(self.catalog.engine())?;
                Ok(Some(self.reference(handle)))
            }
            _ => Ok(None),
        }
    }
}
