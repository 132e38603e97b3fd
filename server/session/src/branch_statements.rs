//! XA START, END, PREPARE, COMMIT, ROLLBACK, RECOVER: a transaction that another server's commits depend on.
//!
//! 1. Which statement is taken in which state is MySQL's; `tests/xa/states.talk` has been recorded from it. 2. What was answered OK to
//! XA PREPARE is there until XA COMMIT or XA ROLLBACK was: the engine's [`engine::Branch`] says how.

use crate::branches::NotHad;
use crate::core::{BranchPhase, Core};
use crate::errors::SessionError;
use crate::show;
use crate::tracking::Begun;
use catalog::CatalogError;
use engine::Xid;
use executor::{Environment, ResultColumn, RowSink, SqlError};
use instrument::{Counter, count};
use parser::ast;
use value::{ColumnType, Datum, Kind};

/// The engine's form of a name.
fn named(xid: &ast::Xid) -> Result<Xid, SqlError> {
    let name = Xid::new(xid.format, &xid.gtrid, &xid.bqual);
    name.ok_or_else(|| SessionError::BranchInvalid.into())
}

/// Columns of XA RECOVER.
pub(crate) fn recover_columns() -> Vec<ResultColumn> {
    let number = |name| show::integer(name, ColumnType::int(Kind::BigInt, false));
    let data = ResultColumn::text("data", 2 * 2 * Xid::PART_BYTES_MAX as u32 + 2);
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
            return Err(SessionError::BranchExists.into());
        }
        self.enter_transaction();
        self.env.tracker.begins(Begun { explicit: true, read_only: None, snapshot: false });
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
            Some((_, BranchPhase::RollbackOnly(end))) => {
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
                return Err(error.into());
            }
        };
        count(Counter::HandlerPrepare, 1);
        let detaches = self.env.vars.number("xa_detach_on_prepare") != 0;
        let session = (!detaches).then_some(self.env.id);
        self.env.server.branches.put(branch, session);
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
                committed
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
        if !self.env.server.branches.may_take(xid, self.env.id) {
            return Err(SessionError::UnknownBranch.into());
        }
        self.tables.lock_for_end(&self.client, self.env.lock_deadline())?;
        let ended = self.end_locked(xid, commit);
        self.tables.unlock_for_end(&self.client);
        ended
    }

    fn end_locked(&mut self, xid: &Xid, commit: bool) -> Result<(), SqlError> {
        let server = self.env.server.clone();
        let mut branch = server.branches.take(xid, self.env.id).map_err(|why| match why {
            NotHad::Unknown => SqlError::from(SessionError::UnknownBranch),
            NotHad::Killed => SqlError::Storage(base::Error::Killed),
        })?;
        let ended = self.tables.end_branch(&mut self.client, &mut branch, commit);
        if branch.has_written() {
            let session = self.branch.get().map(|_| self.env.id);
            server.branches.put(branch, session);
            return Ok(ended?);
        }
        server.branches.end(xid);
        self.set_branch(None);
        self.take_characteristics();
        let counter = if commit { Counter::HandlerCommit } else { Counter::HandlerRollback };
        count(counter, 1);
        Ok(ended?)
    }

    /// Who sees the branches of others.
    ///
    /// # Errors
    /// 1401.
    pub fn needs_xa_recover(&self) -> Result<(), SqlError> {
        match self.env.rights.dynamic("XA_RECOVER_ADMIN") {
            true => Ok(()),
            false => Err(SessionError::BranchesHidden.into()),
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
