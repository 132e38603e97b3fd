//! Locks that outlast statements and transactions: LOCK TABLES, FLUSH TABLES WITH READ LOCK, LOCK INSTANCE.
//!
//! 1. While tables are locked, a statement uses no table but those, under the aliases they were locked by,
//!    each alias once; what it needs is covered by explicit grants, so it never waits.
//! 2. A plan kept from before is admitted by the names that it has for its tables ([`NamedTable`]) each time it runs.
//! 3. The list of locked names follows DDL: a dropped table leaves it, a renamed one keeps its lock.

use crate::{CatalogError, FullName, InBranch, ReadOnly, TableCache};
use engine::Client;
use mdl::{Held, Mode, Namespace};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use sync::{Deadline, SessionSlot};

/// One table that LOCK TABLES names, or a table below a view that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLock {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// The only name it may be used by.
    pub alias: String,
    /// WRITE.
    pub write: bool,
}

/// Tables that foreign keys join to tables that LOCK TABLES locks by WRITE, and whether a change of these changes them:
/// they are locked, too, so that no change waits, but no statement may name them.
pub type Relatives = BTreeMap<FullName, bool>;

/// How a statement names a table.
#[derive(Debug, Clone, Copy)]
pub enum Alias<'a> {
    /// By this name in the statement.
    Named(&'a str),
    /// From inside of a view.
    InView,
}

struct Locked {
    what: TableLock,
    /// The statement that is being planned uses it already.
    used: bool,
}

/// How a planned statement names a table, so that LOCK TABLES can be asked again when it runs.
#[derive(Debug, Clone)]
pub struct NamedTable {
    schema: String,
    name: String,
    /// `None`: from inside of a view.
    alias: Option<String>,
    write: bool,
}

/// What a session holds beyond statements and transactions.
#[derive(Default)]
#[repr(C)]
pub(crate) struct ExplicitLocks {
    tables: Vec<Locked>,
    /// Virtual tables that LOCK TABLES names with READ alone: they are not locked, but their rows are not changed.
    read_virtuals: Vec<FullName>,
    /// FLUSH TABLES WITH READ LOCK is in force.
    read_lock: bool,
    /// LOCK INSTANCE FOR BACKUP is in force.
    backup_lock: bool,
    /// What is being planned, as far as it has named its tables.
    naming: Option<Vec<NamedTable>>,
    /// What the session's branch forbids.
    pub(crate) in_branch: InBranch,
    pub(crate) held: Held,
    /// LOCK TABLES is in force (also of temporary tables only).
    active: bool,
    /// A kept plan asks before it locks: LOCK TABLES is in force, or there is a branch.
    pub(crate) asks: bool,
}

impl ExplicitLocks {
    /// Refuses a table that LOCK TABLES does not cover: 1100, 1099.
    fn admit(
        &mut self,
        schema: &str,
        name: &str,
        alias: Alias<'_>,
        write: bool,
    ) -> Result<(), CatalogError> {
        let shown = match alias {
            Alias::Named(alias) => alias,
            Alias::InView => name,
        };
        let fits = |l: &&mut Locked| {
            let same = l.what.schema == schema && l.what.name == name;
            same && match alias {
                Alias::Named(alias) => !l.used && l.what.alias.eq_ignore_ascii_case(alias),
                Alias::InView => true,
            }
        };
        let found = self.tables.iter_mut().filter(fits).max_by_key(|l| l.what.write);
        let found = found.ok_or_else(|| CatalogError::TableNotLocked(shown.to_string()))?;
        if write && !found.what.write {
            return Err(CatalogError::TableReadLocked(shown.to_string()));
        }
        found.used |= matches!(alias, Alias::Named(_));
        Ok(())
    }

    /// As [`ExplicitLocks::admit`], of a table that a kept plan uses.
    pub(crate) fn admit_again(
        &mut self,
        schema: &str,
        name: &str,
        mode: Mode,
    ) -> Result<(), CatalogError> {
        self.in_branch.admit()?;
        match self.active {
            true => self.admit(schema, name, Alias::InView, is_write(mode)),
            false => Ok(()),
        }
    }

    fn set_active(&mut self, active: bool) {
        self.active = active;
        self.asks = active || self.in_branch != InBranch::default();
    }

    pub(crate) fn set_in_branch(&mut self, what: InBranch) {
        self.in_branch = what;
        self.set_active(self.active);
    }
}

/// Whether rows or the definition may change under the mode.
fn is_write(mode: Mode) -> bool {
    matches!(mode, Mode::SW | Mode::SWLP | Mode::SU | Mode::X)
}

impl TableCache {
    /// Whether LOCK TABLES is in force.
    pub fn tables_are_locked(&self) -> bool {
        self.explicit.active
    }

    /// Whether a plan from before has to be admitted: LOCK TABLES is in force, or there is a branch.
    #[inline]
    pub fn asks(&self) -> bool {
        self.explicit.asks
    }

    /// A statement begins to be planned: each alias may be used again.
    pub fn begin_planning(&mut self) {
        self.begin_round();
        self.explicit.tables.iter_mut().for_each(|l| l.used = false);
        if let Some(named) = &mut self.explicit.naming {
            named.clear();
        }
    }

    /// What is planned from now on says how it names its tables, until [`TableCache::take_names`].
    pub fn keep_names(&mut self) {
        self.explicit.naming = Some(Vec::new());
    }

    /// How what was planned since [`TableCache::keep_names`] names its tables.
    pub fn take_names(&mut self) -> Vec<NamedTable> {
        self.explicit.naming.take().unwrap_or_default()
    }

    /// Refuses a planned statement that names tables which LOCK TABLES does not cover.
    ///
    /// # Errors
    /// 1100, 1099.
    #[cold]
    pub fn admit_names(&mut self, named: &[NamedTable]) -> Result<(), CatalogError> {
        self.begin_planning();
        named.iter().try_for_each(|NamedTable { schema, name, alias, write }| {
            let alias = alias.as_deref().map_or(Alias::InView, Alias::Named);
            self.explicit.admit(schema, name, alias, *write)
        })
    }

    /// Refuses a table by LOCK TABLES, and protects a write of one that other sessions know.
    pub(crate) fn admit(
        &mut self,
        slot: &SessionSlot,
        (schema, name): (&str, &str),
        alias: Alias<'_>,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if self.is_temporary(schema, name) {
            return self.explicit.in_branch.admit_temporary();
        }
        // That there is none is said first.
        if self.explicit.in_branch.admit().is_err() && self.catalog.knows(schema, name) {
            return self.explicit.in_branch.admit();
        }
        if self.explicit.active {
            self.explicit.admit(schema, name, alias, is_write(mode))?;
        }
        if let Some(named) = &mut self.explicit.naming {
            let (schema, name, write) = (schema.to_string(), name.to_string(), is_write(mode));
            let alias = match alias {
                Alias::Named(alias) => Some(alias.to_string()),
                Alias::InView => None,
            };
            named.push(NamedTable { schema, name, alias, write });
        }
        match is_write(mode) {
            true => self.protect(slot, deadline),
            false => Ok(()),
        }
    }

    /// Refuses DDL of a table that is not locked by WRITE while LOCK TABLES is in force.
    pub(crate) fn admit_change(&mut self, schema: &str, name: &str) -> Result<(), CatalogError> {
        if !self.explicit.active {
            return Ok(());
        }
        self.begin_planning();
        let tables = &self.explicit.tables;
        let known = tables.iter().find(|l| l.what.schema == schema && l.what.name == name);
        let alias = known.map_or(name, |l| l.what.alias.as_str()).to_string();
        self.explicit.admit(schema, name, Alias::Named(&alias), true).map_err(|e| match e {
            CatalogError::TableReadLocked(_) => CatalogError::TableReadLocked(name.to_string()),
            other => other,
        })
    }

    /// Says which virtual tables the LOCK TABLES that is in force names with READ alone.
    pub fn note_read_virtuals(&mut self, names: Vec<FullName>) {
        self.explicit.read_virtuals = names;
    }

    /// Refuses a change of a virtual table's rows that LOCK TABLES names with READ.
    ///
    /// # Errors
    /// 1099.
    pub fn admit_virtual_change(&self, schema: &str, name: &str) -> Result<(), CatalogError> {
        let mut named = self.explicit.read_virtuals.iter();
        match named.any(|(s, n)| (&**s, &**n) == (schema, name)) {
            true => Err(CatalogError::TableReadLocked(name.to_string())),
            false => Ok(()),
        }
    }

    /// The answer to CREATE TABLE while LOCK TABLES is in force: the table exists, or is not locked.
    pub(crate) fn refuse_creation(&self, schema: &str, name: &str) -> Result<(), CatalogError> {
        let mut tables = self.explicit.tables.iter();
        match tables.any(|l| l.what.schema == schema && l.what.name == name) {
            _ if !self.explicit.active => Ok(()),
            true => Err(CatalogError::TableExists(name.to_string())),
            false => Err(CatalogError::TableNotLocked(name.to_string())),
        }
    }

    /// FLUSH TABLES of tables (none: all that are locked) while LOCK TABLES is in force.
    ///
    /// # Errors
    /// 1100, 1099.
    pub fn admit_flush(&mut self, names: &[FullName]) -> Result<(), CatalogError> {
        let locked = self.explicit.tables.iter();
        let all = || locked.map(|l| (l.what.schema.clone(), l.what.name.clone())).collect();
        let flushed: Vec<FullName> = if names.is_empty() { all() } else { names.to_vec() };
        for (schema, name) in &flushed {
            // A view is locked, but it is not open.
            match self.catalog.is_view(schema, name) == Some(true) {
                true if names.is_empty() => {}
                true => return Err(CatalogError::TableNotLocked(name.clone())),
                false => self.admit_change(schema, name)?,
            }
        }
        Ok(())
    }

    /// The right to write until the statement ends: FLUSH TABLES WITH READ LOCK waits for it, and a READ ONLY
    /// transaction has none.
    #[inline]
    pub(crate) fn protect(
        &mut self,
        slot: &SessionSlot,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if self.read_only {
            return Err(CatalogError::ReadOnlyTransaction);
        }
        self.admit_writing()?;
        if self.explicit.read_lock {
            return Err(CatalogError::ReadLocked);
        }
        self.writes = true;
        self.protect_from_all_reads(slot, deadline)
    }

    /// FLUSH TABLES WITH READ LOCK waits for the end of the statement, unless LOCK TABLES has seen to that.
    fn protect_from_all_reads(
        &mut self,
        slot: &SessionSlot,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let mdl = self.catalog.mdl();
        if self.explicit.held.covers(mdl.global(), Mode::IX) {
            return Ok(());
        }
        Ok(mdl.take(slot, &mut self.statement, mdl.global(), Mode::IX, deadline)?)
    }

    /// What `read_only` and `super_read_only` say.
    ///
    /// # Errors
    /// 1290.
    #[inline]
    pub fn admit_writing(&self) -> Result<(), CatalogError> {
        match self.catalog.read_only() {
            ReadOnly::No => Ok(()),
            ReadOnly::Users if self.is_super => Ok(()),
            _ if self.is_super => Err(CatalogError::ReadOnlyServer("super-read-only")),
            _ => Err(CatalogError::ReadOnlyServer("read-only")),
        }
    }

    /// Sets what [`Catalog::read_only`] says. Waits for the statements that write and for the commits that are under
    /// way: nobody whom it forbids commits any more when this returns.
    ///
    /// # Errors
    /// Those of waiting; nothing has changed then.
    pub fn set_read_only(
        &mut self,
        slot: &SessionSlot,
        what: ReadOnly,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let locked = self.explicit.read_lock;
        if what != ReadOnly::No {
            self.lock_all_reads(slot, deadline)?;
        }
        self.catalog.set_read_only(what);
        if !locked {
            self.unlock_all_reads(slot);
        }
        Ok(())
    }

    /// As [`TableCache::protect`], of definitions and files: LOCK INSTANCE FOR BACKUP waits for it, too.
    pub fn protect_change(
        &mut self,
        slot: &SessionSlot,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        self.protect(slot, deadline)?;
        self.protect_files(slot, deadline)
    }

    /// As [`TableCache::protect_files`], of what is written of a table besides its rows: FLUSH TABLES WITH READ LOCK waits
    /// for it, too.
    ///
    /// # Errors
    /// 1223, those of waiting.
    pub fn protect_histograms(
        &mut self,
        slot: &SessionSlot,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if self.explicit.read_lock {
            return Err(CatalogError::ReadLocked);
        }
        self.protect_from_all_reads(slot, deadline)?;
        self.protect_files(slot, deadline)
    }

    /// LOCK INSTANCE FOR BACKUP waits for the end of the statement, which looks at a table or changes it as a whole.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn protect_files(
        &mut self,
        slot: &SessionSlot,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let mdl = self.catalog.mdl();
        Ok(mdl.take(slot, &mut self.statement, mdl.backup_lock(), Mode::IX, deadline)?)
    }

    /// Commits by `commit` what the session wrote, unless FLUSH TABLES WITH READ LOCK of another session
    /// forbids that for longer than this one waits.
    ///
    /// # Errors
    /// Those of waiting; `commit` was not called then.
    #[inline]
    pub fn commit<T>(
        &self,
        client: &mut Client,
        deadline: Deadline,
        commit: impl FnOnce(&mut Client) -> T,
    ) -> Result<T, CatalogError> {
        if !self.writes {
            return Ok(commit(client));
        }
        let mdl = self.catalog.mdl();
        mdl.acquire(client.slot(), mdl.commit(), Mode::IX, deadline)?;
        // Asked again under the lock: who sets `read_only` waits for it, so nobody commits afterwards.
        let committed = self.admit_writing().map(|()| commit(client));
        mdl.release(client.slot(), mdl.commit(), Mode::IX);
        committed
    }

    /// LOCK TABLES, once each; a view is named together with what lies below it. The session holds no
    /// other lock by now. With `flush` nobody else writes or changes them, and views are refused. There may be no
    /// table of a relative's name.
    ///
    /// # Errors
    /// 1146, 1049, 1347, 1223, those of waiting; nothing is locked then.
    pub fn lock_tables(
        &mut self,
        client: &Client,
        (list, relatives): (Vec<TableLock>, &Relatives),
        flush: bool,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let locked = self.lock_each(client, (&list, relatives), flush, deadline);
        if let Err(error) = locked {
            self.keep_none();
            let mdl = Arc::clone(self.catalog.mdl());
            mdl.release_all(client.slot(), &mut self.explicit.held);
            return Err(error);
        }
        for TableLock { schema, name, write, .. } in &list {
            self.count_explicit_lock(schema, name, *write);
        }
        self.explicit.set_active(true);
        self.explicit.tables = list.into_iter().map(|what| Locked { what, used: false }).collect();
        Ok(())
    }

    fn lock_each(
        &mut self,
        client: &Client,
        (list, relatives): (&[TableLock], &Relatives),
        flush: bool,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let slot = client.slot();
        let mdl = Arc::clone(self.catalog.mdl());
        let writes = list.iter().any(|l| l.write);
        if writes {
            self.admit_writing()?;
        }
        if writes && self.explicit.read_lock {
            return Err(CatalogError::ReadLocked);
        }
        let held = &mut self.explicit.held;
        if writes {
            mdl.take(slot, held, mdl.global(), Mode::IX, deadline)?;
        }
        if flush {
            mdl.take(slot, held, mdl.backup_lock(), Mode::IX, deadline)?;
        }
        // In order of names, so that two of these do not wait for each other.
        let mut names: BTreeMap<(&String, &String), (bool, bool)> = BTreeMap::new();
        for l in list {
            let (write, named) = names.entry((&l.schema, &l.name)).or_default();
            (*write, *named) = (*write || l.write, true);
        }
        for ((schema, name), changes) in relatives {
            names.entry((schema, name)).or_default().0 |= changes;
        }
        for ((schema, name), (write, named)) in names {
            if write || flush {
                let object = mdl.intern(Namespace::Schema, schema, "");
                mdl.take(slot, &mut self.explicit.held, &object, Mode::IX, deadline)?;
            }
            let mode = match (flush, write) {
                (true, _) => Mode::SNW,
                (false, false) => Mode::SRO,
                (false, true) => Mode::SNRW,
            };
            match named {
                true => self.lock_one(client, schema, name, mode, deadline)?,
                false => {
                    let object = mdl.intern(Namespace::Table, schema, name);
                    mdl.take(slot, &mut self.explicit.held, &object, mode, deadline)?;
                }
            }
        }
        Ok(())
    }

    fn lock_one(
        &mut self,
        client: &Client,
        schema: &str,
        name: &str,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let slot = client.slot();
        let mdl = Arc::clone(self.catalog.mdl());
        let handle = self.base_handle((schema.to_string(), name.to_string()));
        let object = Arc::clone(&self.entry(handle).object);
        mdl.take(slot, &mut self.explicit.held, &object, mode, deadline)?;
        // LOCK TABLES has opened it, once for each alias, when it looked for views; FLUSH TABLES has not.
        self.refresh(handle)?;
        let h = &self.handles[handle];
        if h.uses.0 != self.parking.round || h.opened == 0 {
            self.enter(handle)?;
        }
        self.keep(handle);
        if self.catalog().schema(schema).is_none() {
            return Err(CatalogError::UnknownDatabase(schema.to_string()));
        }
        let named = || (schema.to_string(), name.to_string());
        let Some(definition) = self.definition(handle) else {
            let (schema, name) = named();
            return Err(CatalogError::NoSuchTable { schema, name });
        };
        if mode == Mode::SNW && definition.def.view.is_some() {
            let (schema, name) = named();
            return Err(CatalogError::NotBaseTable { schema, name });
        }
        Ok(())
    }

    /// UNLOCK TABLES of LOCK TABLES; whether there was something.
    pub fn unlock_tables(&mut self, slot: &SessionSlot) -> bool {
        if !self.explicit.active {
            return false;
        }
        self.explicit.set_active(false);
        self.explicit.tables.clear();
        self.explicit.read_virtuals.clear();
        self.keep_none();
        let mdl = Arc::clone(self.catalog.mdl());
        mdl.release_all(slot, &mut self.explicit.held);
        true
    }

    /// FLUSH TABLES WITH READ LOCK: nobody writes, then nobody commits.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn lock_all_reads(
        &mut self,
        slot: &SessionSlot,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if self.explicit.read_lock {
            return Ok(());
        }
        let mdl = self.catalog.mdl();
        mdl.acquire(slot, mdl.global(), Mode::S, deadline)?;
        if let Err(error) = mdl.acquire(slot, mdl.commit(), Mode::S, deadline) {
            mdl.release(slot, mdl.global(), Mode::S);
            return Err(error.into());
        }
        self.explicit.read_lock = true;
        Ok(())
    }

    /// Ends [`TableCache::lock_all_reads`].
    pub fn unlock_all_reads(&mut self, slot: &SessionSlot) {
        if std::mem::take(&mut self.explicit.read_lock) {
            let mdl = self.catalog.mdl();
            mdl.release(slot, mdl.commit(), Mode::S);
            mdl.release(slot, mdl.global(), Mode::S);
        }
    }

    /// LOCK INSTANCE FOR BACKUP: no DDL of others.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn lock_instance(
        &mut self,
        slot: &SessionSlot,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if !self.explicit.backup_lock {
            let mdl = self.catalog.mdl();
            mdl.acquire(slot, mdl.backup_lock(), Mode::S, deadline)?;
            self.explicit.backup_lock = true;
        }
        Ok(())
    }

    /// UNLOCK INSTANCE.
    pub fn unlock_instance(&mut self, slot: &SessionSlot) {
        if std::mem::take(&mut self.explicit.backup_lock) {
            let mdl = self.catalog.mdl();
            mdl.release(slot, mdl.backup_lock(), Mode::S);
        }
    }

    /// The session ends, or starts anew.
    pub fn unlock_everything(&mut self, slot: &SessionSlot) {
        self.unlock_tables(slot);
        self.unlock_all_reads(slot);
        self.unlock_instance(slot);
    }

    /// Tables are gone that may be locked; with the last of them LOCK TABLES ends.
    pub(crate) fn locked_dropped(&mut self, slot: &SessionSlot, names: &[&FullName]) {
        if !self.explicit.active || names.is_empty() {
            return;
        }
        let gone: HashSet<_> = names.iter().map(|(schema, name)| (&**schema, &**name)).collect();
        self.explicit.tables.retain(|l| !gone.contains(&(&*l.what.schema, &*l.what.name)));
        self.unlock_names(slot, names.iter().copied());
        if self.explicit.tables.is_empty() {
            self.unlock_tables(slot);
        }
    }

    /// Tables have other names, in this order; their new names are locked exclusively.
    pub(crate) fn locked_renamed(&mut self, slot: &SessionSlot, pairs: &[(FullName, FullName)]) {
        if !self.explicit.active {
            return;
        }
        let mut at: HashMap<FullName, Vec<usize>> = HashMap::new();
        for (i, l) in self.explicit.tables.iter().enumerate() {
            at.entry((l.what.schema.clone(), l.what.name.clone())).or_default().push(i);
        }
        for (from, to) in pairs {
            let Some(moved) = at.remove(from) else { continue };
            for i in &moved {
                let what = &mut self.explicit.tables[*i].what;
                if what.alias == what.name {
                    what.alias.clone_from(&to.1);
                }
                (what.schema, what.name) = to.clone();
            }
            at.entry(to.clone()).or_default().extend(moved);
        }
        let names: BTreeSet<&FullName> = pairs.iter().flat_map(|(from, to)| [from, to]).collect();
        let (stay, gone): (Vec<_>, Vec<_>) = names.into_iter().partition(|n| at.contains_key(*n));
        self.unlock_names(slot, gone.into_iter());
        let mdl = Arc::clone(self.catalog.mdl());
        let objects = stay.iter().map(|(schema, name)| mdl.intern(Namespace::Table, schema, name));
        let new = objects.filter(|object| !self.explicit.held.covers(object, Mode::SNRW)).collect();
        for object in self.held.forget_all(new, Mode::X) {
            mdl.downgrade(slot, &object, Mode::X, Mode::SNRW);
            self.explicit.held.note(&object, Mode::SNRW);
        }
    }

    fn unlock_names<'n>(&mut self, slot: &SessionSlot, names: impl Iterator<Item = &'n FullName>) {
        let mdl = Arc::clone(self.catalog.mdl());
        let objects = names.map(|(schema, name)| mdl.intern(Namespace::Table, schema, name));
        for object in self.explicit.held.forget_all(objects.collect(), Mode::SNRW) {
            mdl.release(slot, &object, Mode::SNRW);
        }
    }
}
