//! What statements need that no plan asks for: definitions, administration, SHOW.
//!
//! 1. Asked before the statement begins, after what it commits is committed. What is asked of a table does not depend on whether
//! it is there, but for SHOW COLUMNS and SHOW INDEX, as in MySQL. 2. A temporary table is its session's own: nothing is needed of it. 3. Which kind needs what stands in its line
//! of [`crate::kinds`]; here is what the lines say.

use crate::core::Core;
use crate::errors::SessionError;
use access::{AccountName, Privileges};
use executor::SqlError;
use parser::ast::{
    Account, AlterAction, AlterTable, CreateTable, CreateView, FlushTarget, KeyDef, LockTable,
    Maintain, MaintainVerb, ObjectName, References,
};

impl Core {
    fn schema_of(&self, name: &ObjectName) -> Result<String, SqlError> {
        let current = || self.env.database.clone().ok_or(SqlError::NoDatabase);
        let schema = name.schema.clone().map_or_else(current, Ok)?;
        Ok(catalog::virtual_schema(&schema).map_or(schema, str::to_string))
    }

    /// Privileges of a table, or of any of its columns.
    pub(crate) fn needs_table(
        &self,
        name: &ObjectName,
        privileges: Privileges,
    ) -> Result<(), SqlError> {
        let schema = self.schema_of(name)?;
        if self.tables.is_temporary(&schema, &name.name) {
            return Ok(());
        }
        Ok(self.env.login.rights.check_table(&schema, &name.name, privileges)?)
    }

    /// Privileges of a schema.
    pub(crate) fn needs_schema(
        &self,
        schema: &str,
        privileges: Privileges,
    ) -> Result<(), SqlError> {
        Ok(self.env.login.rights.check_schema(schema, privileges)?)
    }

    /// A global privilege.
    pub(crate) fn needs(&self, privilege: Privileges) -> Result<(), SqlError> {
        Ok(self.env.login.rights.check_global(privilege, &[], &privilege.listed())?)
    }

    /// A global privilege, or one of the dynamic ones that came beside it.
    pub(crate) fn needs_any(
        &self,
        privilege: Privileges,
        dynamic: &[&str],
        words: &str,
    ) -> Result<(), SqlError> {
        Ok(self.env.login.rights.check_global(privilege, dynamic, words)?)
    }

    /// SHOW COLUMNS and SHOW INDEX: any privilege of a table that is there; everybody hears which one is not. What nobody may see
    /// of `performance_schema` is an empty list.
    pub(crate) fn needs_listing(&self, name: &ObjectName) -> Result<(), SqlError> {
        let schema = self.schema_of(name)?;
        let open = schema == "performance_schema";
        match !open && self.env.server.catalog.knows(&schema, &name.name) {
            true => self.needs_sight(name, "SELECT"),
            false => Ok(()),
        }
    }

    /// Any privilege of a table.
    pub(crate) fn needs_sight(&self, name: &ObjectName, command: &str) -> Result<(), SqlError> {
        let schema = self.schema_of(name)?;
        if self.tables.is_temporary(&schema, &name.name) {
            return Ok(());
        }
        Ok(self.env.login.rights.check_seen(&schema, &name.name, command)?)
    }

    /// SHOW CREATE TABLE: any privilege of a table; of a view, to see its query.
    pub(crate) fn needs_create_text(&self, name: &ObjectName) -> Result<(), SqlError> {
        let schema = self.schema_of(name)?;
        match self.env.server.catalog.is_view(&schema, &name.name) {
            Some(true) => {
                self.needs_table(name, Privileges::SELECT)?;
                self.needs_table(name, Privileges::SHOW_VIEW)
            }
            _ => self.needs_sight(name, "SHOW"),
        }
    }

    /// Any privilege in a schema that is there.
    pub(crate) fn needs_use(&self, schema: Option<&str>) -> Result<(), SqlError> {
        let Some(schema) = schema.or(self.env.database.as_deref()) else { return Ok(()) };
        let known = self.env.server.catalog.schema(schema);
        match known.is_none_or(|known| self.env.login.rights.uses_schema(&known.name)) {
            true => Ok(()),
            false => Err(self.env.login.rights.denied_schema(schema).into()),
        }
    }

    /// Privileges of a schema, or of the current one.
    pub(crate) fn needs_current_schema(
        &self,
        schema: Option<&str>,
        privileges: Privileges,
    ) -> Result<(), SqlError> {
        let schema = schema.or(self.env.database.as_deref()).ok_or(SqlError::NoDatabase)?;
        self.needs_schema(schema, privileges)
    }

    /// CREATE TABLE.
    pub(crate) fn needs_of_create(&self, create: &CreateTable) -> Result<(), SqlError> {
        let schema = self.schema_of(&create.name)?;
        if create.temporary {
            self.needs_schema(&schema, Privileges::CREATE_TEMPORARY)?;
        } else {
            let inserts = create.query.is_some();
            let more = if inserts { Privileges::INSERT } else { Privileges::NONE };
            let rights = &self.env.login.rights;
            rights.check_table(&schema, &create.name.name, Privileges::CREATE | more)?;
        }
        if let Some(like) = &create.like {
            self.needs_table(like, Privileges::SELECT)?;
        }
        let inline = create.columns.iter().filter_map(|column| column.references.as_deref());
        let keys = create.keys.iter().filter_map(parent_of);
        inline.chain(keys).try_for_each(|parent| self.needs_parent(&schema, parent))
    }

    /// A foreign key's parent.
    fn needs_parent(&self, schema: &str, parent: &References) -> Result<(), SqlError> {
        let of = parent.table.schema.as_deref().unwrap_or(schema);
        let (name, rights) = (&parent.table.name, &self.env.login.rights);
        match rights.check_table(of, name, Privileges::REFERENCES) {
            Ok(()) => Ok(()),
            Err(_) => Err(SessionError::ParentDenied(&rights.shown(), of, name).into()),
        }
    }

    /// ALTER TABLE.
    pub(crate) fn needs_of_alter(&self, alter: &AlterTable) -> Result<(), SqlError> {
        let renamed = alter.actions.iter().find_map(|action| match action {
            AlterAction::Rename(to) => Some(to),
            _ => None,
        });
        let drops = if renamed.is_some() { Privileges::DROP } else { Privileges::NONE };
        self.needs_table(&alter.table, Privileges::ALTER | drops)?;
        let schema = self.schema_of(&alter.table)?;
        if let Some(to) = renamed {
            let to_schema = to.schema.as_deref().unwrap_or(&schema);
            let new = Privileges::INSERT | Privileges::CREATE;
            self.env.login.rights.check_table(to_schema, &to.name, new)?;
        }
        for action in &alter.actions {
            let parents = parents_of(action);
            parents.into_iter().try_for_each(|parent| self.needs_parent(&schema, parent))?;
        }
        Ok(())
    }

    /// RENAME TABLE.
    pub(crate) fn needs_of_rename(
        &self,
        pairs: &[(ObjectName, ObjectName)],
    ) -> Result<(), SqlError> {
        for (from, to) in pairs {
            self.needs_table(from, Privileges::ALTER | Privileges::DROP)?;
            let schema = self.schema_of(to)?;
            let new = Privileges::INSERT | Privileges::CREATE;
            self.env.login.rights.check_table(&schema, &to.name, new)?;
        }
        Ok(())
    }

    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
    pub(crate) fn needs_of_maintain(&self, maintain: &Maintain) -> Result<(), SqlError> {
        let privileges = match maintain.verb {
            MaintainVerb::Check | MaintainVerb::Checksum => Privileges::SELECT,
            _ => Privileges::SELECT | Privileges::INSERT,
        };
        maintain.tables.iter().try_for_each(|table| self.needs_table(table, privileges))
    }

    /// LOAD DATA of a file of the server.
    pub(crate) fn needs_of_load(&self, local: bool) -> Result<(), SqlError> {
        match local || self.env.login.rights.global().has(Privileges::FILE) {
            true => Ok(()),
            false => Err(self.denied_with_password()),
        }
    }

    /// LOCK TABLES.
    pub(crate) fn needs_of_lock(&self, list: &[LockTable]) -> Result<(), SqlError> {
        for lock in list {
            let schema = self.schema_of(&lock.table)?;
            if self.tables.is_temporary(&schema, &lock.table.name) {
                continue;
            }
            self.needs_schema(&schema, Privileges::LOCK_TABLES)?;
            self.needs_table(&lock.table, Privileges::SELECT)?;
        }
        Ok(())
    }

    /// FLUSH.
    pub(crate) fn needs_of_flush(&self, targets: &[FlushTarget]) -> Result<(), SqlError> {
        for target in targets {
            let dynamic = match target {
                FlushTarget::Tables { .. } => "FLUSH_TABLES",
                FlushTarget::Privileges => "FLUSH_PRIVILEGES",
                FlushTarget::Status => "FLUSH_STATUS",
                FlushTarget::Other(what) if what == "OPTIMIZER_COSTS" => "FLUSH_OPTIMIZER_COSTS",
                FlushTarget::Other(what) if what == "USER_RESOURCES" => "FLUSH_USER_RESOURCES",
                FlushTarget::Other(_) => "",
            };
            let words = match dynamic {
                "" => "RELOAD".to_string(),
                name => format!("RELOAD or {name}"),
            };
            self.needs_any(Privileges::RELOAD, &[dynamic], &words)?;
        }
        Ok(())
    }

    /// SHOW CREATE DATABASE, whether there is such a schema or not.
    pub(crate) fn needs_database(&self, schema: &str) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        let name = catalog::virtual_schema(schema).unwrap_or(schema);
        if rights.uses_schema(name) { Ok(()) } else { Err(rights.denied_sight(schema).into()) }
    }

    /// CREATE VIEW and ALTER VIEW: of the view; what its query reads is asked for where it is resolved.
    pub(crate) fn needs_of_view(&self, view: &CreateView, replaces: bool) -> Result<(), SqlError> {
        let CreateView { name, definer, .. } = view;
        if let Some(Account::Named { user, host }) = definer
            && AccountName::new(user, host) != self.env.login.rights.name
        {
            let words = "SUPER or SET_ANY_DEFINER";
            self.needs_any(Privileges::SUPER, &["SET_ANY_DEFINER"], words)?;
        }
        self.needs_table(name, Privileges::CREATE_VIEW)?;
        match replaces {
            true => self.needs_table(name, Privileges::DROP),
            false => Ok(()),
        }
    }
}

/// The parent that a foreign key names.
fn parent_of(key: &KeyDef) -> Option<&References> {
    match key {
        KeyDef::Foreign { references, .. } => Some(references),
        KeyDef::Index(_) | KeyDef::Check(_) => None,
    }
}

/// The parents that an action of ALTER TABLE names.
fn parents_of(action: &AlterAction) -> Vec<&References> {
    match action {
        AlterAction::AddColumn { column, .. }
        | AlterAction::ChangeColumn { column, .. }
        | AlterAction::ModifyColumn { column, .. } => {
            column.references.as_deref().into_iter().collect()
        }
        AlterAction::AddElements { columns, keys } => {
            let inline = columns.iter().filter_map(|column| column.references.as_deref());
            inline.chain(keys.iter().filter_map(parent_of)).collect()
        }
        AlterAction::AddKey(key) => parent_of(key).into_iter().collect(),
        _ => Vec::new(),
    }
}
