//! XA START, END, PREPARE, COMMIT, ROLLBACK, RECOVER: a transaction that another server's commits depend on.
//!
//! 1. Which statement is taken in which state is MySQL's; `tests/xa/states.talk` has been recorded from it. 2. What was answered OK to
//! XA PREPARE is there until XA COMMIT or XA ROLLBACK was: the engine's [`engine::Branch`] says how.

use crate::branches::NotHad;
use crate::core::{BranchPhase, Core};
use crate::errors::SessionError;
use crate::show;
use crate::tracking::Begun;
use catalog::{BranchEnd, CatalogError};
use engine::Xid;
use executor::{Environment, ResultColumn, RowSink, SqlError};
use instrument::{BranchName, Counter, count};
use parser::ast;
use value::types::NOT_FIXED;
use value::{Collation, ColumnType, Datum, Kind};

/// The engine's form of a name.
fn named(xid: &ast::Xid) -> Result<Xid, SqlError> {
    let name = Xid::new(xid.format, &xid.gtrid, &xid.bqual);
    name.ok_or_else(|| SessionError::BranchInvalid.into())
}

/// What has rolled back a branch that was to be prepared or committed: behind it, SHOW WARNINGS tells that it is gone.
fn rolled_back_by(error: SqlError) -> SqlError {
    error.followed_by(&CatalogError::BranchRolledBack(BranchEnd::Error).into())
}

/// The name as events tell it.
fn event_name(xid: &Xid) -> BranchName {
    BranchName { format: xid.format(), gtrid: xid.gtrid().into(), bqual: xid.bqual().into() }
}

/// Columns of XA RECOVER, sent to a client that reads text by this collation: a name is bytes, which are said to be
/// of its character set and are not converted.
pub(crate) fn recover_columns(read_by: Collation) -> Vec<ResultColumn> {
    let int = ColumnType { length: 12, ..ColumnType::int(Kind::BigInt, false) };
    let number = |name| show::integer(name, int.not_null());
    let data = ColumnType::varchar(2 * 2 * Xid::PART_BYTES_MAX as u32 + 2, read_by);
    let data = ResultColumn::computed("data", data.not_null(), NOT_FIXED);
    vec![number("formatID"), number("gtrid_length"), number("bqual_length"), data]
}

impl Core {
    /// XA START.
    pub fn xa_start(&mut self, xid: &ast::Xid, how: Option<&str>) -> Result<(), SqlError> {
        let xid = named(xid)?;
        if let (Some("RESUME"), Some((own, BranchPhase::Idle))) = (how, self.branch.get()) {
            if *own != xid {
                return Err(SessionError::UnknownBranch.into());
            }
            self.set_branch_phase(BranchPhase::Active);
            return Ok(());
        }
        if how.is_some() {
            return Err(SessionError::BranchInvalid.into());
        }
        self.branch.admit_end()?;
        if self.transaction.open || self.tables.tables_are_locked() {
            return Err(SessionError::OutsideBranch.into());
        }
        let server = self.env.server.clone();
        if !server.branches.begin(&xid) {
            // As in MySQL, it was a transaction, which is over.
            self.events.transactions.begins();
            self.events.transactions.is_branch(event_name(&xid));
            self.events.transactions.ends(self.transaction.kind(), false);
            return Err(SessionError::BranchExists.into());
        }
        self.enter_transaction();
        self.events.transactions.is_branch(event_name(&xid));
        self.env.link.tracker.begins(Begun { explicit: true, read_only: None, snapshot: false });
        self.set_branch(Some((xid, BranchPhase::Active)));
        Ok(())
    }

    /// XA END.
    pub fn xa_end(&mut self, xid: &ast::Xid, how: Option<&str>) -> Result<(), SqlError> {
        let xid = named(xid)?;
        if how.is_some() {
            return Err(SessionError::BranchInvalid.into());
        }
        match self.branch.get() {
            Some((own, BranchPhase::Active)) if *own != xid => {
                Err(SessionError::UnknownBranch.into())
            }
            Some((_, BranchPhase::Active)) => {
                self.set_branch_phase(BranchPhase::Idle);
                Ok(())
            }
            Some((own, BranchPhase::RollbackOnly(_))) if *own != xid => {
                Err(SessionError::UnknownBranch.into())
            }
            Some((_, BranchPhase::RollbackOnly(end))) => {
                self.branch.is_told();
                Err(CatalogError::BranchRolledBack(end).into())
            }
            _ => Err(self.branch.wrong_state()),
        }
    }

    /// XA PREPARE.
    pub fn xa_prepare(&mut self, xid: &ast::Xid) -> Result<(), SqlError> {
        let xid = named(xid)?;
        match self.branch.get() {
            Some((own, BranchPhase::Idle)) if *own != xid => {
                return Err(SessionError::UnknownBranch.into());
            }
            Some((_, BranchPhase::Idle)) => {}
            _ => return Err(self.branch.wrong_state()),
        }
        let deadline = self.env.lock_deadline();
        let branch = match self.tables.prepare(&mut self.client, xid.clone(), deadline) {
            Ok(branch) => Box::new(branch),
            Err(error) => {
                // As in MySQL, nothing is left of what could not be prepared.
                self.end_own_branch(&xid, false);
                return Err(rolled_back_by(error.into()));
            }
        };
        count(Counter::HandlerPrepare, 1);
        let session = (!self.detaches_branches()).then_some(self.env.link.id);
        self.env.server.branches.put(branch, session);
        self.events.transactions.branch_is_prepared(self.transaction.kind());
        self.leave_transaction(true);
        self.take_characteristics();
        self.set_branch(session.map(|_| (xid, BranchPhase::Prepared)));
        Ok(())
    }

    /// XA COMMIT.
    pub fn xa_commit(&mut self, xid: &ast::Xid, one_phase: bool) -> Result<(), SqlError> {
        let xid = named(xid)?;
        match self.branch.get() {
            None => self.end_prepared(&xid, true),
            Some((own, _)) if *own != xid => Err(self.branch.wrong_state()),
            Some((_, BranchPhase::RollbackOnly(end))) => {
                self.end_own_branch(&xid, false);
                Err(CatalogError::BranchRolledBack(end).into())
            }
            Some((_, BranchPhase::Idle)) if one_phase => {
                let committed = self.commit_open();
                self.end_own_branch(&xid, committed.is_ok());
                committed.map_err(rolled_back_by)
            }
            Some((_, BranchPhase::Prepared)) if !one_phase => self.end_prepared(&xid, true),
            Some(_) => Err(self.branch.wrong_state()),
        }
    }

    /// XA ROLLBACK.
    pub fn xa_rollback(&mut self, xid: &ast::Xid) -> Result<(), SqlError> {
        let xid = named(xid)?;
        match self.branch.get() {
            None => self.end_prepared(&xid, false),
            Some((own, _)) if *own != xid => Err(self.branch.wrong_state()),
            Some((_, BranchPhase::Prepared)) => self.end_prepared(&xid, false),
            Some((_, BranchPhase::Idle | BranchPhase::RollbackOnly(_))) => {
                self.end_own_branch(&xid, false);
                Ok(())
            }
            Some((_, BranchPhase::Active)) => Err(self.branch.wrong_state()),
        }
    }

    /// Ends a prepared branch. Who waits for the right to end it has not taken it: others see it, and may end it.
    fn end_prepared(&mut self, xid: &Xid, commit: bool) -> Result<(), SqlError> {
        if self.transaction.open {
            return Err(self.branch.wrong_state());
        }
        if !self.env.server.branches.may_take(xid, self.env.link.id) {
            return Err(SessionError::UnknownBranch.into());
        }
        if let Err(error) = self.tables.lock_for_end(&self.client, self.env.lock_deadline()) {
            let is_own = self.branch.get().is_some();
            // MySQL asks for a retry but where a session rolls back its own, which is still prepared as well.
            let why = if is_own && !commit {
                SessionError::BranchFailed
            } else {
                SessionError::BranchRetry
            };
            return Err(SqlError::from(error).followed_by(&why.into()));
        }
        let ended = self.end_locked(xid, commit);
        self.tables.unlock_for_end(&self.client);
        ended
    }

    fn end_locked(&mut self, xid: &Xid, commit: bool) -> Result<(), SqlError> {
        let server = self.env.server.clone();
        let mut ending = server.branches.take(xid, self.env.link.id).map_err(|why| match why {
            NotHad::Unknown => SqlError::from(SessionError::UnknownBranch),
            NotHad::Killed => SqlError::Storage(base::Error::Killed),
        })?;
        let (tables, client) = (&self.tables, &mut self.client);
        let ended = ending.end(|branch| tables.end_branch(client, branch, commit));
        if !ending.has_ended() {
            return Ok(ended?);
        }
        drop(ending);
        if self.branch.get().is_some() {
            self.events.transactions.prepared_ends(commit);
        }
        self.set_branch(None);
        self.take_characteristics();
        let counter = if commit { Counter::HandlerCommit } else { Counter::HandlerRollback };
        count(counter, 1);
        Ok(ended?)
    }

    /// Refuses a statement that is as one that opens a table, if the session's branch does.
    ///
    /// # Errors
    /// 1399, 1402, 1613, 1614.
    pub fn admit_opening(&self) -> Result<(), SqlError> {
        Ok(self.tables.admit_opening()?)
    }

    /// Who sees the branches of others.
    ///
    /// # Errors
    /// 1401.
    pub fn needs_xa_recover(&self) -> Result<(), SqlError> {
        match self.env.login.rights.dynamic("XA_RECOVER_ADMIN") {
            true => Ok(()),
            false => Err(SessionError::BranchFailed.into()),
        }
    }

    /// XA RECOVER.
    pub fn xa_recover(
        &mut self,
        hexadecimal: bool,
        sink: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        for xid in self.env.server.branches.prepared() {
            let mut data = [xid.gtrid(), xid.bqual()].concat();
            if hexadecimal {
                let digits: String = data.iter().map(|byte| format!("{byte:02X}")).collect();
                data = format!("0x{digits}").into_bytes();
            }
            sink.row(&[
                Datum::Int(xid.format() as i64),
                Datum::Int(xid.gtrid().len() as i64),
                Datum::Int(xid.bqual().len() as i64),
                Datum::Bytes(&data),
            ])?;
        }
        Ok(())
    }
}
