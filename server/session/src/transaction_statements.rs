//! START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT.

use crate::core::{Characteristics, Core, Savepoint};
use crate::diagnostics::Level;
use crate::errors::SessionError;
use crate::tracking::Begun;
use executor::SqlError;
use instrument::{Counter, count};
use parser::ast::{Completion, Isolation, StartTransaction};

impl Core {
    /// BEGIN, START TRANSACTION. What SET TRANSACTION said of the next transaction holds for this one, also where
    /// another is committed first.
    pub fn start_transaction(&mut self, start: &StartTransaction) -> Result<(), SqlError> {
        self.branch.admit_end()?;
        self.unlock_tables()?;
        let committed = self.commit_open();
        self.leave_transaction(committed.is_ok());
        committed?;
        self.enter_transaction();
        self.env.link.tracker.begins(Begun {
            explicit: true,
            read_only: start.read_only,
            snapshot: start.consistent_snapshot,
        });
        if let Some(read_only) = start.read_only {
            self.characterise(
                Characteristics { read_only, ..self.transaction.characteristics },
                true,
            );
        }
        if start.consistent_snapshot {
            self.take_snapshot();
        }
        Ok(())
    }

    /// START TRANSACTION WITH CONSISTENT SNAPSHOT.
    fn take_snapshot(&mut self) {
        if self.transaction.characteristics.isolation == Isolation::RepeatableRead {
            self.client.open_view();
        } else {
            let text = "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used \
                        with REPEATABLE READ isolation level.";
            self.env.diagnostics.add(Level::Warning, 138, text.into());
        }
    }

    /// COMMIT and ROLLBACK with AND CHAIN and RELEASE.
    pub fn complete(&mut self, how: &Completion, commit: bool) -> Result<(), SqlError> {
        self.branch.admit_end()?;
        let default = self.env.vars.number("completion_type");
        let chain = how.chain.unwrap_or(default == 1 && how.release != Some(true));
        let release = how.release.unwrap_or(default == 2 && how.chain != Some(true));
        if chain && release {
            return Err(SessionError::WrongArguments("COMMIT").into());
        }
        let ended = match commit {
            true => self.commit_open(),
            false => {
                self.warn_of_lasting();
                self.rollback_open();
                Ok(())
            }
        };
        self.leave_transaction(commit && ended.is_ok());
        match chain && ended.is_ok() {
            true => {
                self.enter_transaction();
                let read_only = self.transaction.characteristics.read_only;
                let read_only =
                    (read_only != self.transaction.defaults.read_only).then_some(read_only);
                self.env.link.tracker.begins(Begun { explicit: true, read_only, snapshot: false });
            }
            false => self.take_characteristics(),
        }
        if release && ended.is_ok() {
            self.reply.close();
        }
        ended
    }

    /// SAVEPOINT; outside a transaction it is over as soon as it is set.
    pub fn savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        self.branch.admit_savepoint()?;
        if !self.transaction.open && self.env.autocommit() {
            return Ok(());
        }
        let name = name.to_lowercase();
        count(Counter::HandlerSavepoint, 1);
        let begun = self.tables.mark() > 0 || self.client.has_written();
        if let Some(counts) = self.events.transactions.savepoints() {
            counts.set += 1;
        }
        let (mark, locked) = (self.client.mark(), self.tables.mark());
        self.transaction.set_savepoint(Savepoint { name, mark, locked, begun });
        Ok(())
    }

    /// ROLLBACK TO: later savepoints are gone, this one stays. Row locks are kept until the transaction ends, but for
    /// those of one that had touched no table at the savepoint. Metadata locks that came after it are given back by who
    /// has locked no row and written no table, as in MySQL.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.transaction.savepoint(name)?;
        self.branch.admit_savepoint()?;
        self.warn_of_lasting();
        count(Counter::HandlerSavepointRollback, 1);
        if self.transaction.savepoints[at].begun {
            self.client.rollback_to_savepoint(self.transaction.savepoints[at].mark)?;
        } else {
            self.client.rollback()?;
            self.client.begin();
        }
        let (engine, slot) = (&self.env.server.engine, self.slot);
        // Whoever locks a row has locked its table for that.
        if engine.lock_figures(slot, &engine.progress(slot)).structs == 0 {
            let locked = self.transaction.savepoints[at].locked;
            self.tables.release_since(self.client.slot(), locked);
        }
        self.transaction.savepoints.truncate(at + 1);
        if let Some(counts) = self.events.transactions.savepoints() {
            counts.rolled_back_to += 1;
        }
        Ok(())
    }

    /// RELEASE SAVEPOINT: this one and later ones are gone.
    pub fn release_savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self.transaction.savepoint(name)?;
        self.branch.admit_savepoint()?;
        self.transaction.savepoints.truncate(at);
        if let Some(counts) = self.events.transactions.savepoints() {
            counts.released += 1;
        }
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
}
