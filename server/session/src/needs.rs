//! What statements need that no plan asks for: definitions, administration, SHOW.
//!
//! 1. Asked before the statement begins, after what it commits is committed. What is asked of a table does not depend on whether
//! it is there, but for SHOW COLUMNS and SHOW INDEX, as in MySQL. 2. A temporary table is its session's own: nothing is needed of it. 3. Which kind needs what stands in its line
//! of [`crate::kinds`]; here is what the lines say.

use crate::core::Core;
use crate::errors::SessionError;
use access::Privileges;
use executor::SqlError;
use parser::ast::{
    AlterAction, AlterTable, CreateTable, CreateView, DropProgram, FlushTarget, KeyCacheTable,
    KeyDef, LockTable, Maintain, MaintainVerb, ObjectName, ProgramKind, References, Replication,
    TableOption,
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
        match self.is_temporary(name)? {
            true => Ok(()),
            false => self.needs_stored(name, privileges),
        }
    }

    /// Whether the name is that of a temporary table of the session, who may do anything with it.
    fn is_temporary(&self, name: &ObjectName) -> Result<bool, SqlError> {
        Ok(self.tables.is_temporary(&self.schema_of(name)?, &name.name))
    }

    /// As [`Self::needs_table`], of what is stored under the name, whatever the session has of that name for itself.
    pub(crate) fn needs_stored(
        &self,
        name: &ObjectName,
        privileges: Privileges,
    ) -> Result<(), SqlError> {
        let schema = self.schema_of(name)?;
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

    /// 1045 of a client that is in already.
    pub(crate) fn denied_with_password(&self) -> SqlError {
        self.env.login.rights.denied_client().into()
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

    /// SHOW COLUMNS and SHOW INDEX, of a table that is there; everybody hears which one is not. What nobody may see
    /// of `performance_schema` is an empty list.
    pub(crate) fn needs_listing(&self, name: &ObjectName) -> Result<(), SqlError> {
        let schema = self.schema_of(name)?;
        let open = schema == "performance_schema";
        match !open && self.env.server.catalog.knows(&schema, &name.name) {
            true => self.needs_any_of(name, Privileges::SELECT),
            false => Ok(()),
        }
    }

    /// Privileges of a table's schema, or anything that was granted of the table itself.
    pub(crate) fn needs_any_of(
        &self,
        name: &ObjectName,
        privileges: Privileges,
    ) -> Result<(), SqlError> {
        if self.is_temporary(name)? {
            return Ok(());
        }
        Ok(self.env.login.rights.check_any(&self.schema_of(name)?, &name.name, privileges)?)
    }

    /// Those of a schema whose tables nobody defines.
    fn refuse_definition(&self, schema: &str) -> Result<(), SqlError> {
        match schema == "performance_schema" {
            true => Err(self.env.login.rights.denied_schema(schema).into()),
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
                self.needs_sight(name, "SHOW")?;
                self.needs_table(name, Privileges::SHOW_VIEW)
            }
            _ => self.needs_sight(name, "SHOW"),
        }
    }

    /// SHOW CREATE VIEW: who may read hears what is no view.
    pub(crate) fn needs_view_text(&self, name: &ObjectName) -> Result<(), SqlError> {
        self.needs_stored(name, Privileges::SELECT)?;
        let schema = self.schema_of(name)?;
        match self.env.server.catalog.is_view(&schema, &name.name) {
            Some(true) => self.needs_stored(name, Privileges::SHOW_VIEW),
            _ => Ok(()),
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
        let is_directory = |option: &TableOption| matches!(option, TableOption::Other(name, _) if name.ends_with(" DIRECTORY"));
        if create.options.iter().any(is_directory) {
            self.needs_file()?;
        }
        self.refuse_definition(&schema)?;
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
        let schema = self.schema_of(&alter.table)?;
        self.refuse_definition(&schema)?;
        self.needs_table(&alter.table, Privileges::ALTER | drops)?;
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
            self.needs_stored(from, Privileges::ALTER | Privileges::DROP)?;
            self.needs_stored(to, Privileges::INSERT | Privileges::CREATE)?;
        }
        Ok(())
    }

    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
    pub(crate) fn needs_of_maintain(&self, maintain: &Maintain) -> Result<(), SqlError> {
        let tables = &maintain.tables;
        let privileges = match maintain.verb {
            MaintainVerb::Check => {
                return tables.iter().try_for_each(|t| self.needs_any_of(t, Privileges::SELECT));
            }
            MaintainVerb::Checksum => Privileges::SELECT,
            _ => Privileges::SELECT | Privileges::INSERT,
        };
        if maintain.verb == MaintainVerb::Optimize && maintain.local {
            self.needs_dynamic("OPTIMIZE_LOCAL_TABLE")?;
        }
        tables.iter().try_for_each(|table| self.needs_table(table, privileges))
    }

    /// LOAD DATA of a file of the server.
    pub(crate) fn needs_of_load(&self, local: bool) -> Result<(), SqlError> {
        if local { Ok(()) } else { self.needs_file() }
    }

    /// FILE.
    fn needs_file(&self) -> Result<(), SqlError> {
        match self.env.login.rights.global().has(Privileges::FILE) {
            true => Ok(()),
            false => Err(self.denied_with_password()),
        }
    }

    /// A dynamic privilege alone.
    pub(crate) fn needs_dynamic(&self, name: &str) -> Result<(), SqlError> {
        self.needs_any(Privileges::NONE, &[name], name)
    }

    /// SUPER, or the dynamic privilege that came instead of it.
    pub(crate) fn needs_super_or(&self, dynamic: &str) -> Result<(), SqlError> {
        self.needs_any(Privileges::SUPER, &[dynamic], &format!("SUPER or {dynamic}"))
    }

    /// Privileges of a stored program, which there is none of: they are those of its schema.
    ///
    /// # Errors
    /// 1370 with the first that is not there.
    pub(crate) fn needs_routine(
        &self,
        name: &ObjectName,
        privileges: Privileges,
    ) -> Result<(), SqlError> {
        let schema = self.schema_of(name)?;
        let rights = &self.env.login.rights;
        let Some((one, word)) = (privileges & !rights.of_schema(&schema)).each().next() else {
            return Ok(());
        };
        let word = if one == Privileges::GRANT { "grant".into() } else { word.to_lowercase() };
        let routine = format!("{schema}.{}", name.name);
        Err(SessionError::RoutineDenied(&word, &rights.name.to_string(), &routine).into())
    }

    /// DROP PROCEDURE, FUNCTION, EVENT; of a trigger that is not there nothing is needed.
    pub(crate) fn needs_of_drop(&self, drop: &DropProgram) -> Result<(), SqlError> {
        let unnamed = drop.name.schema.is_none() && self.env.database.is_none();
        match drop.kind {
            ProgramKind::Trigger => Ok(()),
            ProgramKind::Event => self.needs_event(&drop.name),
            // That is a loadable one.
            ProgramKind::Function if unnamed => Ok(()),
            _ => self.needs_routine(&drop.name, Privileges::ALTER_ROUTINE),
        }
    }

    /// EVENT, in the schema of an event.
    pub(crate) fn needs_event(&self, name: &ObjectName) -> Result<(), SqlError> {
        self.needs_schema(&self.schema_of(name)?, Privileges::EVENT)
    }

    /// CREATE ROUTINE, in the schema of a stored program.
    pub(crate) fn needs_new_routine(&self, name: &ObjectName) -> Result<(), SqlError> {
        self.needs_schema(&self.schema_of(name)?, Privileges::CREATE_ROUTINE)
    }

    /// CACHE INDEX and LOAD INDEX.
    pub(crate) fn needs_of_key_cache(&self, tables: &[KeyCacheTable]) -> Result<(), SqlError> {
        tables.iter().try_for_each(|of| self.needs_any_of(&of.table, Privileges::INDEX))
    }

    /// INSTALL and UNINSTALL PLUGIN, which change `mysql.plugin`.
    pub(crate) fn needs_plugins(&self, privilege: Privileges) -> Result<(), SqlError> {
        Ok(self.env.login.rights.check_table("mysql", "plugin", privilege)?)
    }

    /// Replication.
    pub(crate) fn needs_of_replication(&self, of: &Replication) -> Result<(), SqlError> {
        use Replication as R;
        match of {
            R::ChangeSource { .. }
            | R::ChangeFilter { .. }
            | R::StartReplica { .. }
            | R::StopReplica { .. } => self.needs_super_or("REPLICATION_SLAVE_ADMIN"),
            R::StartGroup(_) | R::StopGroup => self.needs_super_or("GROUP_REPLICATION_ADMIN"),
            R::PurgeTo(_) | R::PurgeBefore(_) => self.needs_super_or("BINLOG_ADMIN"),
            R::ResetBinaryLogs(_) | R::ResetReplica { .. } | R::ResetMany(_) => {
                self.needs(Privileges::RELOAD)
            }
            R::Binlog(_) => self.needs_any(
                Privileges::SUPER,
                &["BINLOG_ADMIN", "REPLICATION_APPLIER"],
                "SUPER, BINLOG_ADMIN or REPLICATION_APPLIER",
            ),
        }
    }

    /// ALTER INSTANCE.
    pub(crate) fn needs_of_instance(&self, action: &str) -> Result<(), SqlError> {
        match action {
            a if a.starts_with("RELOAD TLS") => self.needs_dynamic("CONNECTION_ADMIN"),
            a if a.starts_with("ROTATE INNODB") => self.needs_super_or("ENCRYPTION_KEY_ADMIN"),
            a if a.starts_with("ROTATE BINLOG") => self.needs_super_or("BINLOG_ENCRYPTION_ADMIN"),
            a if a.ends_with("REDO_LOG") => self.needs_dynamic("INNODB_REDO_LOG_ENABLE"),
            _ => self.needs_dynamic("ENCRYPTION_KEY_ADMIN"),
        }
    }

    /// LOCK TABLES.
    pub(crate) fn needs_of_lock(&self, list: &[LockTable]) -> Result<(), SqlError> {
        list.iter().try_for_each(|lock| match self.is_temporary(&lock.table)? {
            true => Ok(()),
            false => self.needs_lock_of(&lock.table),
        })
    }

    /// To lock what is stored under a name.
    fn needs_lock_of(&self, table: &ObjectName) -> Result<(), SqlError> {
        self.needs_schema(&self.schema_of(table)?, Privileges::LOCK_TABLES)?;
        self.needs_stored(table, Privileges::SELECT)
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
            if let FlushTarget::Tables { tables, read_lock, for_export } = target
                && (*read_lock || *for_export)
            {
                tables.iter().try_for_each(|table| self.needs_lock_of(table))?;
            }
        }
        Ok(())
    }

    /// SHOW CREATE DATABASE, whether there is such a schema or not.
    pub(crate) fn needs_database(&self, schema: &str) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        let name = catalog::virtual_schema(schema).unwrap_or(schema);
        if rights.uses_schema(name) { Ok(()) } else { Err(rights.denied_sight(schema).into()) }
    }

    /// CREATE VIEW and ALTER VIEW: of the view; what its query reads is asked for where it is resolved, and who may name its definer
    /// where it is made.
    pub(crate) fn needs_of_view(&self, view: &CreateView, replaces: bool) -> Result<(), SqlError> {
        let name = &view.name;
        self.refuse_definition(&self.schema_of(name)?)?;
        self.needs_stored(name, Privileges::CREATE_VIEW)?;
        match replaces {
            true => self.needs_stored(name, Privileges::DROP),
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
