//! Stored programs: procedures, functions, triggers, events. There are none yet.
//!
//! 1. What such a statement names is missing, so the answer is MySQL's for what is missing: an error, or with IF EXISTS
//! a note. Migrations and dump files drop before they create. 2. What would make one answers 1235.

use crate::core::Core;
use crate::errors::{self, SessionError};
use executor::{SqlError, WarningLevel};
use parser::ast::{AlterRoutine, DropProgram, EventDef, ObjectName, ProgramKind};

impl Core {
    /// The schema of a program's name.
    fn program_schema(&self, name: &ObjectName) -> Result<String, SqlError> {
        let written = name.schema.clone().or_else(|| self.env.database.clone());
        written.ok_or(SqlError::NoDatabase)
    }

    fn has_schema(&self, schema: &str) -> bool {
        self.env.server.catalog.schema(schema).is_some()
    }

    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    pub fn drop_program(&mut self, drop: &DropProgram) -> Result<(), SqlError> {
        let missing = self.missing_program(drop)?;
        if !drop.if_exists {
            return Err(missing);
        }
        self.env.warn_of(WarningLevel::Note, &missing);
        Ok(())
    }

    /// What IF EXISTS turns into a note.
    fn missing_program(&self, drop: &DropProgram) -> Result<SqlError, SqlError> {
        let name = &drop.name;
        let kind = match drop.kind {
            ProgramKind::Procedure => "PROCEDURE",
            // Without a database a function's name is that of a loadable one.
            ProgramKind::Function if name.schema.is_none() && self.env.database.is_none() => {
                return Ok(SqlError::from(SessionError::DoesNotExist(
                    "FUNCTION (UDF)",
                    &name.name,
                )));
            }
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => {
                let schema = self.program_schema(name)?;
                return Ok(match self.has_schema(&schema) {
                    true => SqlError::from(SessionError::UnknownTrigger),
                    false => SqlError::from(SessionError::UnknownDatabase(&schema)),
                });
            }
            ProgramKind::Event => {
                let schema = self.program_schema(name)?;
                if schema.eq_ignore_ascii_case("information_schema") {
                    let (user, host) =
                        (&self.env.login.rights.name.user, &self.env.login.rights.name.host);
                    return Err(SessionError::SchemaDenied(user, host, &schema).into());
                }
                return Ok(match drop.if_exists {
                    true => SqlError::from(SessionError::DoesNotExist("Event", &name.name)),
                    false => SqlError::from(SessionError::UnknownEvent(&name.name)),
                });
            }
        };
        let schema = self.program_schema(name)?;
        Ok(SqlError::from(SessionError::DoesNotExist(kind, &format!("{schema}.{}", name.name))))
    }

    /// ALTER PROCEDURE, ALTER FUNCTION.
    pub fn alter_routine(&self, alter: &AlterRoutine) -> Result<(), SqlError> {
        let kind = if alter.function { "FUNCTION" } else { "PROCEDURE" };
        let schema = self.program_schema(&alter.name)?;
        Err(SessionError::DoesNotExist(kind, &format!("{schema}.{}", alter.name.name)).into())
    }

    /// ALTER EVENT.
    pub fn alter_event(&self, alter: &EventDef) -> Result<(), SqlError> {
        self.program_schema(&alter.name)?;
        if let Some(to) = &alter.rename {
            let schema = self.program_schema(to)?;
            if !self.has_schema(&schema) {
                return Err(SessionError::UnknownDatabase(&schema).into());
            }
        }
        Err(SessionError::UnknownEvent(&alter.name.name).into())
    }

    /// CALL.
    pub fn call(&self, name: &ObjectName) -> Result<(), SqlError> {
        Err(self.no_procedure(name))
    }

    /// No procedure has the name.
    pub fn no_procedure(&self, name: &ObjectName) -> SqlError {
        match self.program_schema(name) {
            Ok(schema) => SqlError::from(SessionError::DoesNotExist(
                "PROCEDURE",
                &format!("{schema}.{}", name.name),
            )),
            Err(error) => error,
        }
    }

    /// SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT.
    pub fn no_program_to_show(&self, kind: &str, name: &ObjectName) -> SqlError {
        let schema = match self.program_schema(name) {
            Ok(schema) => schema,
            Err(error) => return error,
        };
        match kind {
            "TRIGGER" if !self.has_schema(&schema) => {
                SqlError::from(SessionError::UnknownDatabase(&schema))
            }
            "TRIGGER" => SqlError::from(SessionError::UnknownTrigger),
            "EVENT" => SqlError::from(SessionError::UnknownEvent(&name.name)),
            "PROCEDURE" | "FUNCTION" => {
                SqlError::from(SessionError::DoesNotExist(kind, &name.name))
            }
            _ => errors::unsupported(&format!("SHOW CREATE {kind}")),
        }
    }
}
