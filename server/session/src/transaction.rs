//! Where transactions begin and end.
//!
//! 1. `in_transaction` is what the client is told; the engine's transaction begins with the first write.
//! 2. Metadata locks are given back with the transaction, or with the statement outside of one.
//! 3. A deadlock rolls the whole transaction back, any other error only the statement (the executor has
//!    done that by then).

use crate::errors;
use crate::registry;
use crate::session::Core;
use engine::Client;
use executor::{Environment, Outcome, SqlError};
use instrument::{Counter, count};
use parser::ast::{Completion, StartTransaction};

impl Core {
    /// Ends a statement: commits or rolls back what it did if it stands alone. Its result, or the error of
    /// the commit.
    #[inline]
    pub fn end_statement(
        &mut self,
        result: Result<Outcome, SqlError>,
    ) -> Result<Outcome, SqlError> {
        if self.in_transaction {
            self.tables.end_statement(self.client.slot());
            if matches!(result, Err(SqlError::Storage(base::Error::Deadlock))) {
                self.rollback_work();
            } else {
                self.publish_transaction();
            }
            return result;
        }
        if !self.env.autocommit() && (self.tables.mark() > 0 || self.client.in_transaction()) {
            self.tables.end_statement(self.client.slot());
            self.in_transaction = true;
            self.show_transaction();
            self.publish_transaction();
            return result;
        }
        let mut result = result;
        if self.client.in_transaction() {
            let ended = if result.is_ok() {
                self.commit_changes()
            } else {
                self.client.rollback().map_err(SqlError::from)
            };
            if let Err(error) = ended {
                result = result.and(Err(error));
            }
        }
        self.tables.release_all(self.client.slot());
        result
    }

    /// Shows others the transaction that goes on.
    fn publish_transaction(&self) {
        let id = self.client.trx_id().map_or(0, |id| id.0);
        let entry = self.env.server.registry.entry(self.slot);
        if !entry.publish_transaction(id) {
            return;
        }
        let vars = &self.env.vars;
        let on = |name, bit| if vars.number(name) != 0 { bit } else { 0 };
        let bits = vars.number("transaction_isolation") as u32 & 3
            | if self.read_only { registry::READ_ONLY } else { 0 }
            | on("unique_checks", registry::UNIQUE_CHECKS)
            | on("foreign_key_checks", registry::FOREIGN_KEY_CHECKS);
        entry.begin_transaction(host::clock::unix_micros(), bits);
    }

    /// BEGIN, START TRANSACTION.
    pub fn start_transaction(&mut self, start: &StartTransaction) -> Result<(), SqlError> {
        self.unlock_tables()?;
        self.commit_work()?;
        self.in_transaction = true;
        let default = self.env.vars.number("transaction_read_only") != 0;
        let next = self.next_read_only.take().unwrap_or(default);
        self.read_only = start.read_only.unwrap_or(next);
        self.show_transaction();
        Ok(())
    }

    /// Commits what is open and gives back its locks.
    pub fn commit_work(&mut self) -> Result<(), SqlError> {
        let committed = match self.client.in_transaction() {
            true => {
                count(Counter::HandlerCommit, 1);
                self.commit_changes()
            }
            false => Ok(()),
        };
        self.leave_transaction();
        committed
    }

    /// Commits, unless FLUSH TABLES WITH READ LOCK of another session forbids it for longer than this one
    /// waits: then all is rolled back.
    fn commit_changes(&mut self) -> Result<(), SqlError> {
        let deadline = self.env.lock_deadline();
        match self.tables.commit(&mut self.client, deadline, Client::commit) {
            Ok(committed) => Ok(committed?),
            Err(error) => {
                self.client.rollback()?;
                Err(error.into())
            }
        }
    }

    /// Rolls back what is open and gives back its locks.
    pub fn rollback_work(&mut self) {
        if self.client.in_transaction() {
            count(Counter::HandlerRollback, 1);
            // What could not be undone now is the engine's to finish; the client is out of it.
            if let Err(error) = self.client.rollback() {
                let text = format!("Rollback is left to the background: {error}");
                self.env.server.host.log(crate::server::Severity::Warning, &text);
            }
        }
        self.leave_transaction();
    }

    /// The session ends or starts anew.
    pub fn end_transaction_for_ever(&mut self) {
        self.rollback_work();
        self.unlock_everything();
    }

    /// SAVEPOINT; outside a transaction it is over as soon as it is set.
    pub fn savepoint(&mut self, name: &str) {
        if !self.in_transaction && self.env.autocommit() {
            return;
        }
        let name = name.to_lowercase();
        self.savepoints.retain(|(other, _)| *other != name);
        self.savepoints.push((name, self.client.mark()));
    }

    /// ROLLBACK TO: later savepoints are gone, this one stays. Row and metadata locks are kept until the
    /// transaction ends.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.savepoint_named(name)?;
        self.client.rollback_to(self.savepoints[at].1)?;
        self.savepoints.truncate(at + 1);
        Ok(())
    }

    /// RELEASE SAVEPOINT: this one and later ones are gone.
    pub fn release_savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.savepoint_named(name)?;
        self.savepoints.truncate(at);
        Ok(())
    }

    fn savepoint_named(&self, name: &str) -> Result<usize, SqlError> {
        let lower = name.to_lowercase();
        let at = self.savepoints.iter().position(|(other, _)| *other == lower);
        at.ok_or_else(|| errors::no_such_savepoint(name))
    }

    fn leave_transaction(&mut self) {
        self.env.server.registry.entry(self.slot).end_transaction();
        self.savepoints.clear();
        self.tables.release_all(self.client.slot());
        self.in_transaction = false;
        self.read_only = false;
        self.show_transaction();
    }

    /// COMMIT and ROLLBACK with AND CHAIN and RELEASE.
    pub fn complete(&mut self, how: &Completion, commit: bool) -> Result<(), SqlError> {
        let default = self.env.vars.number("completion_type");
        let chain = how.chain.unwrap_or(default == 1 && how.release != Some(true));
        let release = how.release.unwrap_or(default == 2 && how.chain != Some(true));
        if chain && release {
            return Err(errors::wrong_arguments("COMMIT"));
        }
        let read_only = self.read_only;
        if commit {
            self.commit_work()?;
        } else {
            self.rollback_work();
        }
        if chain {
            self.in_transaction = true;
            self.read_only = read_only;
            self.show_transaction();
        }
        self.closing = release;
        Ok(())
    }
}
