//! Where transactions end, and what their end does to locks and to what others see of them.
//!
//! 1. Metadata locks are given back with the transaction, or with the statement outside of one, or that could not open all of
//! its tables. 2. A deadlock rolls the
//! whole transaction back, any other error only the statement (the executor has done that by then).

use crate::core::{BranchPhase, Characteristics, Core, Holding};
use crate::process::Severity;
use catalog::{BranchEnd, CatalogError};
use engine::{Client, Xid};
use executor::{Environment, SqlError};
use instrument::{Counter, count};
use wire::constants::StatusFlags;

const LOCK_WAIT_TIMEOUT: u16 = 1205;
const LOCK_TABLE_FULL: u16 = 1206;
const DEADLOCK: u16 = 1213;

impl Core {
    /// Ends a statement, which may have failed: commits or rolls back what it did if it stands alone.
    ///
    /// # Errors
    /// Those of committing or rolling back.
    #[inline]
    pub fn end_statement(&mut self, failed: Option<&SqlError>) -> Result<(), SqlError> {
        self.client.end_statement();
        if let Some(SqlError::Catalog(CatalogError::BranchRolledBack(_))) = failed {
            self.branch.is_told();
        }
        let holding = std::mem::take(&mut self.transaction.holding);
        if let Holding::Since(mark) = holding {
            self.tables.release_since(self.client.slot(), mark);
        }
        let has_touched = self.count_end(failed.is_none());
        if self.transaction.open {
            self.tables.end_statement(self.client.slot());
            self.transaction.held_before = self.tables.mark();
            match failed {
                Some(error) if self.ends_transaction(error) => {
                    self.rollback_work();
                    self.branch_was_rolled_back(error);
                }
                _ => self.publish_transaction(),
            }
            return Ok(());
        }
        if !self.env.autocommit()
            && holding != Holding::Nothing
            && (self.tables.mark() > 0 || self.client.has_written())
        {
            self.enter_transaction();
            return self.end_statement(failed);
        }
        // What fails before it changes anything is no transaction.
        let was_one = has_touched && (failed.is_none() || self.client.in_transaction());
        let ended = match failed {
            _ if !self.client.in_transaction() => Ok(()),
            None => self.commit_changes(),
            Some(_) => self.client.rollback().map_err(SqlError::from),
        };
        if was_one {
            let went_well = failed.is_none() && ended.is_ok();
            self.events.transactions.was_own(self.transaction.kind(), went_well);
            if self.transaction.one_shot {
                self.take_characteristics();
            }
        }
        self.release_tables();
        ended
    }

    /// A statement has failed before it ran: gives back the metadata locks that it has taken, if it could not open all that it
    /// names.
    #[cold]
    pub(crate) fn release_opened(&mut self, error: &SqlError) {
        if matches!(error, SqlError::Catalog(_)) {
            let mark = self.transaction.held_before.min(self.tables.mark());
            self.tables.release_since(self.client.slot(), mark);
        }
    }

    /// Counts the end of a statement that touched tables, or whose transaction did; whether it is one.
    #[inline]
    fn count_end(&self, committed: bool) -> bool {
        if self.tables.mark() > 0 || self.client.has_written() {
            let counter = if committed { Counter::HandlerCommit } else { Counter::HandlerRollback };
            self.client.slot().counters.add(counter, 1);
            return true;
        }
        false
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

    /// The session's branch (XA) is another one; `None`: there is none any more.
    pub(crate) fn set_branch(&mut self, branch: Option<(Xid, BranchPhase)>) {
        let detaches = self.detaches_branches();
        let forbids = branch.as_ref().map(|(_, phase)| phase.forbids(detaches));
        self.branch.set(branch);
        self.tables.set_in_branch(forbids.unwrap_or_default());
        self.env.login.in_branch = self.branch.get().is_some();
        self.env.judge_limits();
    }

    /// How far the session's branch is.
    pub(crate) fn set_branch_phase(&mut self, phase: BranchPhase) {
        self.branch.set_phase(phase);
        self.tables.set_in_branch(phase.forbids(self.detaches_branches()));
        self.events.transactions.branch_is(phase.state());
    }

    /// Whether a transaction is open, or a branch that was not rolled back.
    pub(crate) fn is_in_transaction(&self) -> bool {
        let is_lost = |phase| matches!(phase, BranchPhase::RollbackOnly(_));
        self.transaction.open || self.branch.phase().is_some_and(|phase| !is_lost(phase))
    }

    /// Whether a branch leaves the session when it is prepared. It cannot be changed while there is one.
    pub(crate) fn detaches_branches(&self) -> bool {
        self.env.vars.number("xa_detach_on_prepare") != 0
    }

    /// Ends the branch that the session works on; what was not committed is rolled back.
    pub(crate) fn end_own_branch(&mut self, xid: &Xid, committed: bool) {
        if !committed {
            self.rollback_open();
        }
        self.leave_transaction(committed);
        self.take_characteristics();
        self.set_branch(None);
        self.env.server.branches.end(xid);
    }

    /// The session ends, or starts anew: the branch that it works on is rolled back, one that is prepared is anybody's, without
    /// what it did to the session's own tables, which go.
    pub(crate) fn leave_branch(&mut self) {
        let Some((xid, phase)) = self.branch.get() else { return };
        let xid = xid.clone();
        match phase {
            BranchPhase::Prepared => {
                self.set_branch(None);
                // Before others may end it: nobody undoes anything in them.
                let server = self.env.server.clone();
                server.branches.forget(&xid, &self.tables.temporary_ids());
                self.tables.drop_temporary_tables(&self.client);
                server.branches.detach(&xid);
            }
            _ => self.end_own_branch(&xid, false),
        }
    }

    /// Whether a statement's error rolls the whole transaction back.
    #[cold]
    fn ends_transaction(&self, error: &SqlError) -> bool {
        match error.parts().0 {
            DEADLOCK | LOCK_TABLE_FULL => true,
            LOCK_WAIT_TIMEOUT => {
                matches!(error, SqlError::Storage(_))
                    && self.env.server.globals.number("innodb_rollback_on_timeout") != 0
            }
            _ => false,
        }
    }

    /// A statement's error has rolled back what the session's branch had done, if there is one.
    #[cold]
    fn branch_was_rolled_back(&mut self, error: &SqlError) {
        if self.branch.get().is_some() {
            let end = match error.parts().0 {
                DEADLOCK => BranchEnd::Deadlock,
                LOCK_WAIT_TIMEOUT => BranchEnd::Timeout,
                _ => BranchEnd::Error,
            };
            self.set_branch_phase(BranchPhase::RollbackOnly(end));
        }
    }

    /// Shows others the transaction that goes on.
    fn publish_transaction(&self) {
        if self.tables.mark() == 0 && !self.client.has_written() {
            return;
        }
        let entry = &self.entry;
        if !entry.is_in_transaction() {
            entry.begin_transaction(host::clock::unix_micros(), self.transaction.bits());
        }
    }

    /// A transaction begins that goes on beyond the statement.
    pub fn enter_transaction(&mut self) {
        self.client.begin();
        self.transaction.open = true;
        self.events.transactions.begins();
        self.show_transaction();
    }

    /// Says what the present transaction is, or the next one; `one_shot`: that one alone.
    pub(crate) fn characterise(&mut self, these: Characteristics, one_shot: bool) {
        self.transaction.characteristics = these;
        self.transaction.one_shot = one_shot;
        self.tables.read_only = these.read_only;
        self.show_transaction();
    }

    /// The next transaction is what the session's variables say.
    pub(crate) fn take_characteristics(&mut self) {
        self.env.link.tracker.next_is_default();
        self.characterise(self.transaction.defaults, false);
    }

    /// Commits what is open and gives back its locks.
    pub fn commit_work(&mut self) -> Result<(), SqlError> {
        let committed = self.commit_open();
        self.leave_transaction(committed.is_ok());
        self.take_characteristics();
        committed
    }

    /// Commits what is open; its locks stay.
    pub fn commit_open(&mut self) -> Result<(), SqlError> {
        if self.transaction.open {
            let _ = self.count_end(true);
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
        self.leave_transaction(false);
        self.take_characteristics();
    }

    /// Rolls back what is open; its locks stay.
    pub fn rollback_open(&mut self) {
        if self.client.in_transaction() {
            count(Counter::HandlerRollback, 1);
            // What could not be undone now is the engine's to finish; the client is out of it.
            if let Err(error) = self.client.rollback() {
                let text = format!("Rollback is left to the background: {error}");
                self.env.server.host.log(Severity::Warning, &text);
            }
        }
    }

    /// Gives back the locks of a transaction that was committed or rolled back.
    pub fn leave_transaction(&mut self, committed: bool) {
        self.events.transactions.ends(self.transaction.kind(), committed);
        self.entry.end_transaction();
        self.transaction.savepoints.clear();
        self.env.link.tracker.ends();
        self.tables.release_all(self.client.slot());
        (self.transaction.open, self.transaction.held_before) = (false, 0);
        self.show_transaction();
    }

    /// Sets the flags that every OK carries.
    pub fn show_transaction(&mut self) {
        self.env.link.status.set(StatusFlags::IN_TRANSACTION, self.transaction.open);
        let read_only = self.transaction.is_read_only();
        self.env.link.status.set(StatusFlags::IN_READ_ONLY_TRANSACTION, read_only);
        self.set_up_reads();
    }

    /// Tells the client how its reads are isolated.
    pub fn set_up_reads(&mut self) {
        if !self.transaction.open {
            let entry = &self.entry;
            entry.publish_bits(self.transaction.bits());
        }
        self.client.set_spans_statements(self.transaction.open || !self.env.autocommit());
        self.client.set_isolation(self.transaction.characteristics.isolation);
    }
}
