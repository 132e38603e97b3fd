//! SQL's PREPARE, EXECUTE and DEALLOCATE PREPARE: statements by name, parameters from user variables.

use crate::core::{Core, Done, Executed, PreparedStatement, StatementCode};
use crate::errors::SessionError;
use crate::net::Net;
use executor::{Environment, OwnedDatum, SqlError};
use expr::UserVariable;
use instrument::count;
use parser::ast::{Execute, Prepare, PrepareSource};
use std::sync::Arc;
use value::{ColumnType, Datum};

impl Core {
    /// PREPARE: whatever had the name is gone, even when the new text is refused.
    pub fn prepare_named(&mut self, prepare: &Prepare) -> Result<Done, SqlError> {
        let name = prepare.name.to_lowercase();
        self.forget_named(&name);
        let sql = match &prepare.source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::UserVar(variable) => {
                match self.env.user_variable(variable).map(UserVariable::value) {
                    None | Some(OwnedDatum::Null) => b"NULL".to_vec(),
                    Some(value) => value::format::to_text(&value.datum()).into_bytes(),
                }
            }
        };
        let begun_ns = sync::now_ns();
        let mut one = self.make(&sql)?;
        self.env.server.count_statements(1);
        self.statements.by_name += 1;
        let key = (self.statements.by_name, Some(prepare.name.as_str()));
        one.listed = self.listed(&one, key, begun_ns).map(Box::new);
        self.statements.name(name, Box::new(one));
        self.env.link.tracker.state_changed();
        Ok(Done { info: "Statement prepared", ..Done::default() })
    }

    /// DEALLOCATE PREPARE.
    pub fn deallocate_named(&mut self, name: &str) -> Result<(), SqlError> {
        match self.forget_named(&name.to_lowercase()) {
            true => {
                self.env.link.tracker.state_changed();
                Ok(())
            }
            false => Err(SessionError::UnknownStatement(name, "DEALLOCATE PREPARE").into()),
        }
    }

    fn forget_named(&mut self, name: &str) -> bool {
        let found = self.statements.forget(name).is_some();
        if found {
            self.env.server.count_statements(-1);
        }
        found
    }

    /// EXECUTE; false when it ended in an error.
    pub fn execute_named(&mut self, execute: &Execute, net: &mut dyn Net) -> bool {
        let name = execute.name.to_lowercase();
        // Taken out for the time of its run, so that the session can be borrowed beside it.
        let Some(mut one) = self.statements.take_named(&name) else {
            self.send_error(&SessionError::UnknownStatement(&execute.name, "EXECUTE").into());
            return false;
        };
        let (text, row) = (Arc::clone(&one.sql), one.figures().cloned());
        self.statements.executed = Some(Executed { text, row });
        let left = self.enter_schema(&mut one.schema);
        let went_well = self.run_named(&mut one, &execute.using, net);
        self.return_to_schema(left);
        self.statements.put_back_named(name, one);
        went_well
    }

    fn run_named(
        &mut self,
        one: &mut PreparedStatement,
        using: &[String],
        net: &mut dyn Net,
    ) -> bool {
        if using.len() != one.params() {
            self.send_error(&SessionError::WrongArguments("EXECUTE").into());
            return false;
        }
        if let Some(counter) = one.kind.counter {
            count(counter, 1);
        }
        let params: Vec<OwnedDatum> = using.iter().map(|v| self.parameter_of(v)).collect();
        let text = (&one.sql[..], one.read_as, one.params());
        let prepared = match &mut one.program {
            StatementCode::Compiled(prepared) => prepared,
            StatementCode::Session(statement) => {
                return self.run_with_parameters(statement, one.kind, params, false, net);
            }
        };
        let allowed = self.before(one.kind);
        let allowed = allowed.and_then(|()| self.check_needs(one.kind, prepared.statement()));
        if let Err(error) = allowed {
            self.send_error(&error);
            return false;
        }
        let mut data: Vec<Datum<'_>> = params.iter().map(OwnedDatum::datum).collect();
        prepared.settle(&mut data, &mut self.env);
        let hinted = self.hinted(prepared);
        let went_well = match self.lock_prepared(prepared, text, one.listed.as_deref()) {
            Ok(()) => self.run_compiled(prepared, &data, false, net),
            Err(error) => self.refuse(error),
        };
        if let Some(hinted) = hinted {
            self.unset_hinted(hinted);
        }
        went_well
    }

    /// A user variable as a parameter: text is of the connection's character set.
    fn parameter_of(&self, name: &str) -> OwnedDatum {
        let Some(variable) = self.env.user_variable(name) else { return OwnedDatum::Null };
        match variable.value() {
            OwnedDatum::Bytes(_) => {
                let collation = self.env.connection_collation();
                variable.read(&ColumnType::varchar(u32::MAX, collation))
            }
            number => number.clone(),
        }
    }
}
