//! Where transactions begin and end.
//!
//! 1. `in_transaction` is what the client is told; the engine's transaction begins with the first write.
//! 2. Metadata locks are given back with the transaction, or with the statement outside of one.
//! 3. A deadlock rolls the whole transaction back, any other error only the statement (the executor has
//!    done that by then). 4. What a transaction is (its isolation level, READ ONLY) is settled before it begins
//!    and stays: SET TRANSACTION of the session is about the next one.

use crate::diagnostics::Level;
use crate::env::Env;
use crate::errors;
use crate::registry;
use crate::session::Core;
use engine::Client;
use executor::{Environment, Outcome, SqlError};
use instrument::{Counter, count};
use parser::ast::{Completion, Isolation, StartTransaction};

/// What SET TRANSACTION says of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Characteristics {
    /// Isolation level.
    pub isolation: Isolation,
    /// It writes no table that other sessions know.
    pub read_only: bool,
}

impl Default for Characteristics {
    fn default() -> Self {
        Characteristics { isolation: Isolation::RepeatableRead, read_only: false }
    }
}

impl Characteristics {
    /// What the session's variables say.
    fn of(env: &Env) -> Characteristics {
        let isolation = isolation_numbered(env.vars.number("transaction_isolation"));
        let read_only = env.vars.number("transaction_read_only") != 0;
        Characteristics { isolation, read_only }
    }
}

/// What becomes of a statement's metadata locks where no autocommit ends it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Holding {
    /// They are the transaction's.
    #[default]
    Transaction,
    /// The statement commits by itself: no transaction begins with it.
    Nothing,
    /// Those that were taken since this mark go with the statement.
    Since(usize),
}

/// Where ROLLBACK TO goes back to.
#[derive(Debug)]
pub(crate) struct Savepoint {
    /// In lower case.
    name: String,
    mark: engine::UndoMark,
    /// The transaction had read or written a table.
    begun: bool,
}

/// The level with this number in `transaction_isolation`.
pub(crate) fn isolation_numbered(number: u64) -> Isolation {
    match number {
        0 => Isolation::ReadUncommitted,
        1 => Isolation::ReadCommitted,
        3 => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

impl Core {
    /// Ends a statement: commits or rolls back what it did if it stands alone. Its result, or the error of
    /// the commit.
    #[inline]
    pub fn end_statement(
        &mut self,
        result: Result<Outcome, SqlError>,
    ) -> Result<Outcome, SqlError> {
        self.client.end_statement();
        let holding = std::mem::take(&mut self.holding);
        if let Holding::Since(mark) = holding {
            self.tables.release_since(self.client.slot(), mark);
        }
        self.count_end(result.is_ok());
        if self.in_transaction {
            self.tables.end_statement(self.client.slot());
            match &result {
                Err(error) if self.ends_transaction(error) => self.rollback_work(),
                _ => self.publish_transaction(),
            }
            return result;
        }
        if !self.env.autocommit()
            && holding != Holding::Nothing
            && (self.tables.mark() > 0 || self.client.has_written())
        {
            self.enter_transaction();
            return self.end_statement(result);
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
        if self.one_shot && self.tables.mark() > 0 && result.is_ok() {
            self.take_characteristics();
        }
        self.release_tables();
        result
    }

    /// Counts the end of a statement that touched tables, or whose transaction did.
    #[inline]
    fn count_end(&self, committed: bool) {
        if self.tables.mark() > 0 || self.client.has_written() {
            let counter = if committed { Counter::HandlerCommit } else { Counter::HandlerRollback };
            self.client.slot().counters.add(counter, 1);
        }
    }

    /// Gives back the metadata locks. Without autocommit, what a statement did to temporary tables is remembered
    /// all the same.
    #[inline]
    fn release_tables(&mut self) {
        let lasting = self.tables.lasting;
        self.tables.release_all(self.client.slot());
        if !self.env.autocommit() {
            self.tables.lasting = lasting;
        }
    }

    /// Whether a statement's error rolls the whole transaction back.
    #[cold]
    fn ends_transaction(&self, error: &SqlError) -> bool {
        const LOCK_WAIT_TIMEOUT: u16 = 1205;
        const LOCK_TABLE_FULL: u16 = 1206;
        const DEADLOCK: u16 = 1213;
        match error.parts().0 {
            DEADLOCK | LOCK_TABLE_FULL => true,
            LOCK_WAIT_TIMEOUT => {
                matches!(error, SqlError::Storage(_))
                    && self.env.server.globals.number("innodb_rollback_on_timeout") != 0
            }
            _ => false,
        }
    }

    /// Shows others the transaction that goes on.
    fn publish_transaction(&self) {
        if self.tables.mark() == 0 && !self.client.has_written() {
            return;
        }
        let entry = self.env.server.registry.entry(self.slot);
        if !entry.is_in_transaction() {
            entry.begin_transaction(host::clock::unix_micros(), self.transaction_bits());
        }
    }

    /// What lists show of the transaction besides its locks.
    pub(crate) fn transaction_bits(&self) -> u32 {
        self.characteristics.isolation as u32
            | if self.characteristics.read_only { registry::READ_ONLY } else { 0 }
            | self.check_bits
    }

    /// Takes over the variables that transactions look at.
    pub(crate) fn refresh_transactions(&mut self) {
        let vars = &self.env.vars;
        let on = |name, bit| if vars.number(name) != 0 { bit } else { 0 };
        self.check_bits = on("unique_checks", registry::UNIQUE_CHECKS)
            | on("foreign_key_checks", registry::FOREIGN_KEY_CHECKS);
        self.usual = Characteristics::of(&self.env);
    }

    /// BEGIN, START TRANSACTION. What SET TRANSACTION said of the next transaction holds for this one, also where
    /// another is committed first.
    pub fn start_transaction(&mut self, start: &StartTransaction) -> Result<(), SqlError> {
        self.unlock_tables()?;
        let committed = self.commit_open();
        self.leave_transaction();
        committed?;
        self.enter_transaction();
        if let Some(read_only) = start.read_only {
            self.characterise(Characteristics { read_only, ..self.characteristics }, true);
        }
        if start.consistent_snapshot {
            self.take_snapshot();
        }
        Ok(())
    }

    fn enter_transaction(&mut self) {
        self.client.begin();
        self.in_transaction = true;
        self.show_transaction();
    }

    /// START TRANSACTION WITH CONSISTENT SNAPSHOT.
    fn take_snapshot(&mut self) {
        if self.characteristics.isolation == Isolation::RepeatableRead {
            self.client.open_view();
        } else {
            let text = "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used \
                        with REPEATABLE READ isolation level.";
            self.env.diagnostics.add(Level::Warning, 138, text.into());
        }
    }

    /// Says what the present transaction is, or the next one; `one_shot`: that one alone.
    pub(crate) fn characterise(&mut self, these: Characteristics, one_shot: bool) {
        self.characteristics = these;
        self.one_shot = one_shot;
        self.tables.read_only = these.read_only;
        self.show_transaction();
    }

    /// The next transaction is what the session's variables say.
    pub(crate) fn take_characteristics(&mut self) {
        self.characterise(self.usual, false);
    }

    /// Commits what is open and gives back its locks.
    pub fn commit_work(&mut self) -> Result<(), SqlError> {
        let committed = self.commit_open();
        self.leave_transaction();
        self.take_characteristics();
        committed
    }

    fn commit_open(&mut self) -> Result<(), SqlError> {
        if self.in_transaction {
            self.count_end(true);
        }
        if !self.client.in_transaction() {
            return Ok(());
        }
        self.commit_changes()
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
        self.rollback_open();
        self.leave_transaction();
        self.take_characteristics();
    }

    fn rollback_open(&mut self) {
        if self.client.in_transaction() {
            count(Counter::HandlerRollback, 1);
            // What could not be undone now is the engine's to finish; the client is out of it.
            if let Err(error) = self.client.rollback() {
                let text = format!("Rollback is left to the background: {error}");
                self.env.server.host.log(crate::server::Severity::Warning, &text);
            }
        }
    }

    /// The session ends or starts anew.
    pub fn end_transaction_for_ever(&mut self) {
        self.rollback_work();
        self.unlock_everything();
    }

    /// SAVEPOINT; outside a transaction it is over as soon as it is set.
    pub fn savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        if !self.in_transaction && self.env.autocommit() {
            return Ok(());
        }
        let name = name.to_lowercase();
        count(Counter::HandlerSavepoint, 1);
        let begun = self.tables.mark() > 0 || self.client.has_written();
        self.savepoints.retain(|other| other.name != name);
        self.savepoints.push(Savepoint { name, mark: self.client.mark(), begun });
        Ok(())
    }

    /// Warns of what ROLLBACK does not undo.
    fn warn_of_lasting(&mut self) {
        let catalog::Lasting { created, dropped } = self.tables.lasting;
        if created {
            let text = "The creation of some temporary tables could not be rolled back.";
            self.env.diagnostics.add(Level::Warning, 1751, text.into());
        }
        if dropped {
            let text = "Some temporary tables were dropped, but these operations could not be rolled back.";
            self.env.diagnostics.add(Level::Warning, 1752, text.into());
        }
    }

    /// ROLLBACK TO: later savepoints are gone, this one stays. Row and metadata locks are kept until the
    /// transaction ends, but for the row locks of one that had touched no table at the savepoint.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.savepoint_named(name)?;
        self.warn_of_lasting();
        count(Counter::HandlerSavepointRollback, 1);
        if self.savepoints[at].begun {
            self.client.rollback_to_savepoint(self.savepoints[at].mark)?;
        } else {
            self.client.rollback()?;
            self.client.begin();
        }
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
        let at = self.savepoints.iter().position(|other| other.name == lower);
        at.ok_or_else(|| errors::does_not_exist("SAVEPOINT", name))
    }

    fn leave_transaction(&mut self) {
        self.env.server.registry.entry(self.slot).end_transaction();
        self.savepoints.clear();
        self.tables.release_all(self.client.slot());
        self.in_transaction = false;
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
        let ended = match commit {
            true => self.commit_open(),
            false => {
                self.warn_of_lasting();
                self.rollback_open();
                Ok(())
            }
        };
        self.leave_transaction();
        match chain && ended.is_ok() {
            true => self.enter_transaction(),
            false => self.take_characteristics(),
        }
        self.closing |= release && ended.is_ok();
        ended
    }
}
