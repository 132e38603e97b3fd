//! Tables that exist get other definitions: over the same rows, with other indexes, with copied rows,
//! under other names.
//!
//! 1. The name is locked SU before its definition is looked at: others go on reading and writing, and nobody else
//!    changes it; a new name is locked X before it is taken. While rows are copied or an index is built, it is locked
//!    SNW: others read. X only for the switch: from before the dictionary is written until the new definition is
//!    published. So it is for the tables that foreign keys join to it. What fails or is killed leaves what was.
//! 2. Indexes are built and rows copied before the transaction that changes the dictionary commits; if
//!    it does not, the engine takes away what was made.
//! 3. Pages of a dropped index are freed by the transaction's purge, after the commit; a dropped table's
//!    file goes when the new definition is published.
//! 4. Tables that refer to the altered one get their definitions in the same transaction, and are published with it.
//! 5. Everybody who looks for a table by its id sees it under its old or its new name.

use crate::definition::Definition;
use crate::{Catalog, CatalogError, IndexDef, Renames, Statistics, TableCache, TableDef};
use base::IndexId;
use engine::{Client, Table};
use mdl::{MdlError, Mode};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use sync::Deadline;

/// How the rows of an altered table come along.
pub enum Alter<'f, E> {
    /// They stay. Indexes without an id are built, those that the definition lacks any more are dropped; columns keep
    /// their places and the form of their bytes, and rows their order. Or else the definition has taken the rows over
    /// ([`TableDef::take_over_rows`]): then no index is built.
    InPlace,
    /// Into new storage, by this function, which gets the old table and the new one.
    Copy(&'f mut CopyRows<'f, E>),
}

/// What [`Catalog::alter_table`] does.
pub struct Work<'f, E> {
    /// To the rows.
    pub how: Alter<'f, E>,
    /// The AUTO_INCREMENT counter is at least that afterwards (copied rows raise it further).
    pub autoinc_start: u64,
    /// Copied rows: the counter goes on where it was, too.
    pub goes_on: bool,
    /// Nobody reads meanwhile: LOCK=EXCLUSIVE.
    pub alone: bool,
}

/// See [`Alter::Copy`].
pub type CopyRows<'f, E> = dyn FnMut(&mut Client, &Table, &Table) -> Result<(), E> + 'f;

/// A new definition, those of other tables that change with it, and what locks them all exclusively.
type NewTable<'a> = (
    TableDef,
    &'a [(Arc<Definition>, TableDef)],
    &'a mut dyn FnMut(&Client) -> Result<(), CatalogError>,
);

/// A schema's and a table's name.
pub type FullName = (String, String);

impl Catalog {
    /// Locks a table for [`Self::alter_table`], SU or X.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchTable`], lock errors.
    pub fn open_for_alter(
        &self,
        client: &Client,
        cache: &mut TableCache,
        (schema, name): (&str, &str),
        mode: Mode,
        deadline: Deadline,
    ) -> Result<Arc<Definition>, CatalogError> {
        cache.changing.clear();
        let handle = match cache.temporary(schema, name) {
            Some(handle) => handle,
            None => {
                cache.admit_change(schema, name)?;
                self.lock_schema(client, cache, schema, Mode::IX, deadline)?;
                self.lock_table_as(client, cache, (schema, name), mode, deadline)?
            }
        };
        match self.existing(cache, handle) {
            Err(CatalogError::NoSuchTable { .. }) if self.schema(schema).is_none() => {
                Err(CatalogError::UnknownDatabase(schema.to_string()))
            }
            other => other,
        }
    }

    /// Gives the table that [`Self::open_for_alter`] locked another definition, perhaps another name; `others` are
    /// new definitions of tables that refer to it, whose names the caller has locked.
    ///
    /// # Errors
    /// [`CatalogError::TableExists`], duplicates among the rows, those of copying; nothing has changed then.
    pub fn alter_table<E: From<CatalogError>>(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        old: &Arc<Definition>,
        (new, mut others): (TableDef, Vec<(Arc<Definition>, TableDef)>),
        work: Work<'_, E>,
        deadline: Deadline,
    ) -> Result<(), E> {
        let renamed = (&old.def.schema, &old.def.name) != (&new.schema, &new.name);
        if renamed {
            self.claim(client, cache, &new, deadline)?;
            self.rename_references(client, cache, (&old.def, &new), &mut others, deadline)?;
        }
        self.claim_checks(client, cache, (Some(&old.def), &new), deadline)?;
        let changes = old.def.foreign_keys != new.foreign_keys;
        if renamed || changes {
            self.lock_parents(client, cache, &old.def, Mode::SU, deadline)?;
            self.lock_parents(client, cache, &new, Mode::SU, deadline)?;
        }
        let to = (new.schema.clone(), new.name.clone());
        let copies = matches!(work.how, Alter::Copy(_));
        let id = if copies { base::TableId(0) } else { old.def.id };
        let def = self.with_ids(TableDef { id, ..new })?;
        let builds = def.indexes.iter().any(|i| old.def.indexes.iter().all(|o| o.id != i.id));
        match work.alone {
            true => cache.strengthen(client.slot(), Mode::X, deadline)?,
            false if copies || builds => cache.strengthen(client.slot(), Mode::SNW, deadline)?,
            false => {}
        }
        // The last wait: it comes when the rows are there.
        let alone = &mut |client: &Client| cache.strengthen(client.slot(), Mode::X, deadline);
        let new: NewTable<'_> = (def, &others[..], alone);
        let made = match work.how {
            Alter::InPlace => self.change_in_place(client, old, new, work.autoinc_start)?,
            Alter::Copy(fill) => {
                let counter = (work.autoinc_start, work.goes_on);
                self.copy_table(client, old, new, counter, fill)?
            }
        };
        self.republish(cache, old, Arc::new(made), others)?;
        if renamed && !old.def.temporary {
            let from = (old.def.schema.clone(), old.def.name.clone());
            cache.locked_renamed(client.slot(), &[(from, to)]);
        }
        if copies {
            self.drop_storage(cache, client, old)?;
        }
        Ok(())
    }

    /// Tables that refer to a renamed one are going to name it as it is called then.
    fn rename_references(
        &self,
        client: &Client,
        cache: &mut TableCache,
        (old, new): (&TableDef, &TableDef),
        others: &mut Vec<(Arc<Definition>, TableDef)>,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if new.temporary {
            return Ok(());
        }
        let renames = Renames::from([(old.full_name(), new.full_name())]);
        others.iter_mut().for_each(|(_, def)| def.follow(&renames));
        for (definition, def) in self.followers(client, cache, &renames, Mode::SU, deadline)? {
            if others.iter().all(|(_, known)| known.full_name() != def.full_name()) {
                others.push((definition, def));
            }
        }
        Ok(())
    }

    /// Locks a name that must be free.
    fn claim(
        &self,
        client: &Client,
        cache: &mut TableCache,
        new: &TableDef,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if new.temporary {
            return match cache.temporary(&new.schema, &new.name) {
                Some(_) => Err(CatalogError::TableExists(new.name.clone())),
                None => Ok(()),
            };
        }
        self.free_name(client, cache, &new.schema, &new.name, deadline).map(drop)
    }

    fn change_in_place(
        &self,
        client: &mut Client,
        old: &Arc<Definition>,
        (mut def, others, alone): NewTable<'_>,
        autoinc_start: u64,
    ) -> Result<Definition, CatalogError> {
        let is_in = |list: &[IndexDef], id: IndexId| list.iter().any(|i| i.id == id);
        let gone: Vec<IndexId> =
            old.def.indexes.iter().map(|i| i.id).filter(|id| !is_in(&def.indexes, *id)).collect();
        def.storage = old.def.storage.clone();
        def.storage.roots.retain(|(id, _)| !gone.contains(id));
        let old_table = Arc::clone(old.open(self.engine())?);
        let mut statistics = Statistics::default();
        let relaid = def.older.len() != old.def.older.len();
        self.transact(client, |c, client| {
            for index in def.indexes.iter().filter(|i| !is_in(&old.def.indexes, i.id)) {
                let rows = old.statistics().rows();
                let root = c.engine().create_index(client, &old_table, (&index.spec(), rows))?;
                def.storage.roots.push((index.id, root));
            }
            alone(client)?;
            if !gone.is_empty() && !c.engine().is_settled() {
                // Since the way was chosen something has been left to the background: another way, from the start.
                return Err(MdlError::Yielded.into());
            }
            if autoinc_start > 1 && old_table.autoinc_next().is_some() {
                client.note_autoinc(&old_table, autoinc_start - 1)?;
            }
            c.replace_table(client, &old.def, &def)?;
            if relaid {
                c.engine().relay(client, &old_table);
            }
            statistics = c.carry_statistics(client, old, &def)?;
            others.iter().try_for_each(|(_, other)| c.store_table(client, other))?;
            // Last: their records must be the transaction's last ones.
            gone.iter().try_for_each(|id| c.engine().drop_index(client, &old_table, *id))?;
            Ok::<_, CatalogError>(())
        })?;
        let (spec, storage) = (def.spec(), def.storage.clone());
        let table = match relaid {
            true => self.engine().open_relaid(&spec, storage)?,
            false => self.engine().open_table(&spec, storage)?,
        };
        let made = Definition::opened(def, table);
        made.set_statistics(statistics);
        Ok(made)
    }

    fn copy_table<E: From<CatalogError>>(
        &self,
        client: &mut Client,
        old: &Arc<Definition>,
        (mut def, others, alone): NewTable<'_>,
        (autoinc_start, goes_on): (u64, bool),
        fill: &mut CopyRows<'_, E>,
    ) -> Result<Definition, E> {
        let old_table = Arc::clone(old.open(self.engine()).map_err(CatalogError::from)?);
        def.forget_older();
        self.transact(client, |c, client| {
            let made = c.engine().create_table(client, &def.spec()).map_err(CatalogError::from)?;
            def.storage = made.storage();
            let before = old_table.autoinc_next().filter(|_| goes_on).unwrap_or(1);
            let autoinc_start = autoinc_start.max(before);
            if autoinc_start > 1 && made.autoinc_next().is_some() {
                client.note_autoinc(&made, autoinc_start - 1).map_err(CatalogError::from)?;
            }
            fill(client, &old_table, &made)?;
            alone(client)?;
            c.erase_statistics(client, old)?;
            c.replace_table(client, &old.def, &def)?;
            others.iter().try_for_each(|(_, other)| c.store_table(client, other))?;
            Ok(Definition::opened(def, made))
        })
    }

    /// Writes a definition in place of another one, perhaps under another name.
    fn replace_table(
        &self,
        client: &mut Client,
        old: &TableDef,
        new: &TableDef,
    ) -> Result<(), CatalogError> {
        if new.temporary {
            return Ok(());
        }
        if (&old.schema, &old.name) != (&new.schema, &new.name) {
            self.erase_table(client, &old.schema, &old.name)?;
        }
        self.store_table(client, new)
    }

    fn republish(
        &self,
        cache: &mut TableCache,
        old: &Definition,
        new: Arc<Definition>,
        others: Vec<(Arc<Definition>, TableDef)>,
    ) -> Result<(), CatalogError> {
        if new.def.temporary {
            return cache.replace_temporary(&old.def, new);
        }
        let (from, to) = (&old.def, &new.def);
        let mut list = vec![(self.names().entry(&to.schema, &to.name), Some(Arc::clone(&new)))];
        if (&from.schema, &from.name) != (&to.schema, &to.name) {
            list.push((self.names().entry(&from.schema, &from.name), None));
        }
        for (definition, def) in others {
            let entry = self.names().entry(&def.schema, &def.name);
            list.push((entry, Some(Arc::new(definition.redefined(def)))));
        }
        self.names().publish_all(list);
        Ok(())
    }

    /// RENAME TABLE: the pairs in order, so that names may be exchanged. Temporary tables do not count.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchTable`], [`CatalogError::TableExists`], [`CatalogError::ViewToSchema`], lock
    /// and storage errors.
    pub fn rename_tables(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        pairs: &[(FullName, FullName)],
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let mut now: BTreeMap<FullName, Option<Arc<Definition>>> = BTreeMap::new();
        let made: HashSet<_> = pairs.iter().map(|(_, to)| to).collect();
        for (from, _) in pairs.iter().filter(|(from, _)| !made.contains(&from)) {
            cache.admit_change(&from.0, &from.1)?;
        }
        let mut names: Vec<&FullName> = pairs.iter().flat_map(|(from, to)| [from, to]).collect();
        names.sort();
        for name in names {
            self.lock_schema(client, cache, &name.0, Mode::IX, deadline)?;
            let handle = self.lock_table(client, cache, &name.0, &name.1, deadline)?;
            now.insert(name.clone(), cache.definition(handle).cloned());
        }
        for (from, to) in pairs {
            let missing = [&from.0, &to.0].into_iter().find(|schema| self.schema(schema).is_none());
            if let Some(schema) = missing {
                return Err(CatalogError::UnknownDatabase(schema.clone()));
            }
            let missing =
                || CatalogError::NoSuchTable { schema: from.0.clone(), name: from.1.clone() };
            if now.get(to).is_some_and(Option::is_some) {
                return Err(CatalogError::TableExists(to.1.clone()));
            }
            let moved = now.insert(from.clone(), None).flatten().ok_or_else(missing)?;
            if moved.def.view.is_some() && from.0 != to.0 {
                return Err(CatalogError::ViewToSchema { from: from.0.clone(), to: to.0.clone() });
            }
            if moved.def.view.is_none() && self.engine().recovery_is_forced() {
                return Err(CatalogError::RenameRefused { from: from.clone(), to: to.clone() });
            }
            now.insert(to.clone(), Some(moved));
        }
        let renamed: Vec<TableDef> = now.iter().filter_map(renamed).collect();
        let goes = |name: &FullName| now[name].as_ref().is_none_or(|d| d.def.full_name() != *name);
        let gone: HashSet<FullName> = now.keys().filter(|name| goes(name)).cloned().collect();
        self.claim_renamed(client, cache, (&renamed, &gone), deadline)?;
        let renames = final_names(pairs);
        for definition in now.values().flatten() {
            self.lock_parents(client, cache, &definition.def, Mode::X, deadline)?;
        }
        let mut after = Vec::new();
        for (old, new) in self.followers(client, cache, &renames, Mode::X, deadline)? {
            after.push((new.full_name(), Some(Arc::new(old.redefined(new)))));
        }
        for (name, definition) in now {
            let made = definition.map(|d| {
                let mut def = d.def.clone();
                def.follow(&renames);
                def.rename(&name.0, &name.1);
                Arc::new(d.redefined(def))
            });
            after.push((name, made));
        }
        self.transact(client, |c, client| {
            for ((schema, name), definition) in &after {
                match definition {
                    Some(definition) => c.store_table(client, &definition.def)?,
                    None => c.erase_table(client, schema, name)?,
                }
            }
            Ok::<_, CatalogError>(())
        })?;
        let entries =
            after.into_iter().map(|((s, n), d)| (self.names().entry(&s, &n), d)).collect();
        self.names().publish_all(entries);
        cache.locked_renamed(client.slot(), pairs);
        Ok(())
    }
}

/// What a table becomes that is called so afterwards; `None`: there is none, or it is called so already.
fn renamed(
    ((schema, name), definition): (&FullName, &Option<Arc<Definition>>),
) -> Option<TableDef> {
    let mut def = definition.as_ref()?.def.clone();
    if (schema, name) == (&def.schema, &def.name) {
        return None;
    }
    def.rename(schema, name);
    Some(def)
}

/// The first and the last name of each table, where one is renamed several times.
fn final_names(pairs: &[(FullName, FullName)]) -> Renames {
    let mut first_of: Renames = HashMap::new();
    for (from, to) in pairs {
        let first = first_of.remove(from).unwrap_or_else(|| from.clone());
        first_of.insert(to.clone(), first);
    }
    first_of.into_iter().map(|(last, first)| (first, last)).collect()
}
