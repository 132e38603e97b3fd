//! The branch of a distributed transaction (XA) that a session works on.
//!
//! 1. While there is one, the session's transaction is open and nothing but XA statements ends it. 2. A prepared branch is
//! a session's only with `xa_detach_on_prepare=OFF`, and only until that session ends.

use catalog::{Barred, BranchEnd, CatalogError, InBranch};
use engine::Xid;
use executor::SqlError;
use instrument::BranchState;

/// How far a session's branch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchPhase {
    /// XA START: statements work on it.
    Active,
    /// XA END.
    Idle,
    /// It was rolled back; XA ROLLBACK is all that is left.
    RollbackOnly(BranchEnd),
    /// XA PREPARE, and it is still this session's.
    Prepared,
}

/// A session's branch, if it works on one.
#[derive(Debug, Default)]
pub(crate) struct SessionBranch {
    known: Option<(Xid, BranchPhase)>,
    /// The client was told that it was rolled back by more than the error that did it.
    is_told: bool,
}

impl SessionBranch {
    /// Its name and how far it is.
    pub fn get(&self) -> Option<(&Xid, BranchPhase)> {
        self.known.as_ref().map(|(xid, phase)| (xid, *phase))
    }

    /// How far it is.
    pub fn phase(&self) -> Option<BranchPhase> {
        self.known.as_ref().map(|(_, phase)| *phase)
    }

    pub(crate) fn set(&mut self, branch: Option<(Xid, BranchPhase)>) {
        (self.known, self.is_told) = (branch, false);
    }

    pub(crate) fn set_phase(&mut self, to: BranchPhase) {
        self.known.iter_mut().for_each(|(_, phase)| *phase = to);
    }

    /// The client is told that the branch was rolled back: from then on it is said to be so, as in MySQL.
    pub(crate) fn is_told(&mut self) {
        self.is_told = true;
    }

    /// 1399: in this state the statement cannot be run.
    pub fn wrong_state(&self) -> SqlError {
        CatalogError::BranchState(match self.phase() {
            None => "NON-EXISTING",
            Some(BranchPhase::RollbackOnly(_)) if !self.is_told => BranchPhase::Active.name(),
            Some(phase) => phase.name(),
        })
        .into()
    }

    /// Refuses what ends transactions.
    ///
    /// # Errors
    /// 1399.
    pub fn admit_end(&self) -> Result<(), SqlError> {
        if self.known.is_some() { Err(self.wrong_state()) } else { Ok(()) }
    }

    /// Refuses what is about the transaction of a branch on which nobody works.
    ///
    /// # Errors
    /// 1399.
    pub fn admit_savepoint(&self) -> Result<(), SqlError> {
        match self.phase() {
            Some(BranchPhase::Idle | BranchPhase::Prepared) => Err(self.wrong_state()),
            _ => Ok(()),
        }
    }
}

impl BranchPhase {
    /// MySQL's word.
    pub fn name(self) -> &'static str {
        match self {
            BranchPhase::Active => "ACTIVE",
            BranchPhase::Idle => "IDLE",
            BranchPhase::RollbackOnly(_) => "ROLLBACK ONLY",
            BranchPhase::Prepared => "PREPARED",
        }
    }

    /// The same, for events.
    pub fn state(self) -> BranchState {
        match self {
            BranchPhase::Active => BranchState::Active,
            BranchPhase::Idle => BranchState::Idle,
            BranchPhase::RollbackOnly(_) => BranchState::RollbackOnly,
            BranchPhase::Prepared => BranchState::Prepared,
        }
    }

    /// What it forbids statements; `detaches`: the branch leaves the session when it is prepared.
    pub fn forbids(self, detaches: bool) -> InBranch {
        let tables = match self {
            BranchPhase::Active => Barred::No,
            BranchPhase::Idle | BranchPhase::Prepared => Barred::State(self.name()),
            BranchPhase::RollbackOnly(end) => Barred::RolledBack(end),
        };
        InBranch { tables, temporary: detaches }
    }
}
