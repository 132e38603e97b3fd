//! The session's own state: its schema, what it takes over from its variables, and what others see of it.

use crate::core::{Core, PrepareSchema, Programs};
use crate::env::Env;
use crate::errors::SessionError;
use crate::registry::Activity;
use executor::SqlError;
use expr::build::Settings;
use std::sync::Arc;

/// The schema that was left for that of a PREPARE.
pub(crate) struct LeftSchema(Option<String>);

impl Core {
    /// Makes a schema the current one.
    pub fn use_schema(&mut self, schema: &str) -> Result<(), SqlError> {
        if schema.is_empty() {
            return Err(SqlError::NoDatabase);
        }
        let known = self.env.server.catalog.schema(schema);
        let name = known.as_ref().map_or(schema, |known| &known.name);
        if !self.env.login.rights.uses_schema(name) {
            return Err(self.env.login.rights.denied_schema(name).into());
        }
        let schema = known.ok_or(SessionError::UnknownDatabase(schema))?;
        self.env.database = Some(schema.name.clone());
        self.env.rights_in_schema();
        self.env.database_changes += 1;
        self.env.link.tracker.schema_changed();
        self.env.take_database(schema.collation);
        self.publish_identity();
        Ok(())
    }

    /// The current schema, for a statement that is prepared now.
    pub fn schema_of_prepare(&mut self) -> Arc<PrepareSchema> {
        let Env { database, database_changes, .. } = &self.env;
        let known = self.statements.schema.as_ref();
        if let Some(known) = known.filter(|known| known.database_changes == *database_changes) {
            return Arc::clone(known);
        }
        let name = database.as_deref().map(Into::into);
        let schema = Arc::new(PrepareSchema { name, database_changes: *database_changes });
        self.statements.schema = Some(Arc::clone(&schema));
        schema
    }

    /// Makes the schema of a statement's PREPARE the current one for its run; the one that was left for it, if any.
    #[inline]
    pub fn enter_schema(&mut self, prepared_in: &mut Arc<PrepareSchema>) -> Option<LeftSchema> {
        match prepared_in.database_changes == self.env.database_changes {
            true => None,
            false => self.enter_other_schema(prepared_in),
        }
    }

    #[cold]
    fn enter_other_schema(&mut self, prepared_in: &mut Arc<PrepareSchema>) -> Option<LeftSchema> {
        if prepared_in.name.as_deref() == self.env.database.as_deref() {
            *prepared_in = self.schema_of_prepare();
            return None;
        }
        let left = self.env.database.take();
        self.be_in_schema(prepared_in.name.as_deref());
        Some(LeftSchema(left))
    }

    /// Makes the schema the current one again that was before a run.
    #[inline]
    pub fn return_to_schema(&mut self, left: Option<LeftSchema>) {
        if let Some(LeftSchema(schema)) = left {
            self.be_in_schema(schema.as_deref());
            // The statement may have dropped it.
            self.env.database_changes += u32::from(schema != self.env.database);
        }
    }

    /// Makes a schema the current one, or none where it is gone. Nobody is told.
    #[cold]
    fn be_in_schema(&mut self, schema: Option<&str>) {
        let found = schema.and_then(|name| self.env.server.catalog.schema(name));
        let collation = found.as_ref().map(|schema| schema.collation);
        self.env.database = found.map(|schema| schema.name.clone());
        self.env.take_database(
            collation.unwrap_or_else(|| executor::Environment::server_collation(&self.env)),
        );
    }

    /// Shows user and schema in the process list.
    pub fn publish_identity(&mut self) {
        let env = &self.env;
        if env.server.registry.rename(self.slot, &env.login.user, env.database.as_deref()) {
            self.events.look(self.client.slot());
        }
    }

    /// Shows in the process list that the session waits for its client.
    #[inline]
    pub fn publish_sleep(&self) {
        self.entry.publish(Activity::Sleep, sync::now_ns(), b"");
        self.env.server.registry.has_ended();
    }

    /// Takes over the variables that a step looks at.
    pub fn refresh(&mut self) {
        self.caches.programs.settings = Settings::of(&self.env);
        let seconds = self.env.vars.number("innodb_lock_wait_timeout");
        self.client.set_lock_wait_timeout(seconds as u32);
        self.transaction.take_variables(&self.env);
        self.set_up_reads();
        self.env.refresh_tracking();
        self.protocol.take_variables(&self.env);
    }

    /// What is open is rolled back, and all locks are given back: the session ends or starts anew.
    pub fn release_everything(&mut self) {
        self.leave_branch();
        self.rollback_work();
        self.tables.unlock_everything(self.client.slot());
        self.env.user_locks.release_all(self.client.slot());
    }

    /// Everything back to a new session's state.
    pub fn reset(&mut self) {
        self.release_everything();
        self.tables.drop_temporary_tables(&self.client);
        self.env.server.count_statements(-(self.statements.len() as i64));
        self.statements.clear();
        self.caches.programs = Programs::default();
        self.caches.states = executor::States::default();
        self.env.reset();
        self.refresh();
        self.take_characteristics();
    }
}
