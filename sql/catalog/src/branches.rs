//! What a prepared transaction (XA) keeps locked when its session goes on, and what its statements may not touch.
//!
//! 1. A branch has the metadata locks that its session had when it was prepared, in the branch's own slot, until it has ended.
//!    Guard: `tests/xa/prepared.talk`, recorded from MySQL. 2. One that recovery found has those of the tables it has written to,
//!    before the first session comes. Guard: `a_branch_outlives_the_server` of `tests/xa.rs`. 3. While a branch is idle its session
//!    opens no table, planned or kept, and reads no virtual or derived one. Guard: `tests/xa/matrix.talk`.

use crate::{Catalog, CatalogError, TableCache};
use base::TableId;
use engine::{Branch, Client, Xid};
use mdl::{Held, Mdl, Mode};
use sync::Deadline;

/// A prepared transaction with all that it has locked.
pub struct PreparedBranch {
    branch: Branch,
    held: Held,
}

/// What a session's branch forbids its statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InBranch {
    /// Tables of any kind.
    pub tables: Barred,
    /// The session's own tables, whatever is said of others: the branch leaves the session when it is prepared (4091).
    pub temporary: bool,
}

/// Whether a session's branch keeps its statements from opening tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Barred {
    /// There is none, or statements work on it.
    #[default]
    No,
    /// It is in this state (1399).
    State(&'static str),
    /// It was rolled back (1402, 1613, 1614).
    RolledBack(BranchEnd),
}

/// Why a branch was rolled back that nobody asked to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchEnd {
    /// An error (1402).
    Error,
    /// A row lock was waited for too long (1613).
    Timeout,
    /// A deadlock (1614).
    Deadlock,
}

impl InBranch {
    /// Refuses what opens anything.
    pub(crate) fn admit(self) -> Result<(), CatalogError> {
        match self.tables {
            Barred::No => Ok(()),
            Barred::State(state) => Err(CatalogError::BranchState(state)),
            Barred::RolledBack(end) => Err(CatalogError::BranchRolledBack(end)),
        }
    }

    /// Refuses a statement that changes something and opens nothing: a branch that was rolled back has no say in it.
    pub(crate) fn admit_without_table(self) -> Result<(), CatalogError> {
        match self.tables {
            Barred::State(_) => self.admit(),
            Barred::No | Barred::RolledBack(_) => Ok(()),
        }
    }

    /// Refuses a table of the session's own.
    pub(crate) fn admit_temporary(self) -> Result<(), CatalogError> {
        match self.temporary {
            true => Err(CatalogError::TemporaryInBranch),
            false => self.admit(),
        }
    }
}

impl PreparedBranch {
    /// Its name.
    pub fn xid(&self) -> &Xid {
        self.branch.xid()
    }

    /// These tables will be gone: there will be nothing to undo in them.
    pub fn forget(&mut self, tables: &[TableId]) {
        self.branch.forget(tables);
    }

    /// Whether its end would change something.
    pub fn has_written(&self) -> bool {
        self.branch.trx_id().is_some()
    }
}

impl TableCache {
    /// Says what the session's branch forbids from now on.
    pub fn set_in_branch(&mut self, what: InBranch) {
        self.explicit.set_in_branch(what);
    }

    /// Refuses a statement that opens, makes or drops a table of the session's own.
    ///
    /// # Errors
    /// 4091, 1399, 1402, 1613, 1614.
    pub fn admit_temporary(&self) -> Result<(), CatalogError> {
        self.explicit.in_branch.admit_temporary()
    }

    /// The session's own tables, and those that it had when its transaction began.
    pub fn temporary_ids(&self) -> Vec<TableId> {
        let own = self.temporary.values().filter_map(|handle| self.definition(*handle));
        own.chain(&self.retired).map(|definition| definition.def.id).collect()
    }

    /// Refuses a statement that opens anything, be it stored, virtual or derived.
    ///
    /// # Errors
    /// 1399, 1402, 1613, 1614.
    pub fn admit_opening(&self) -> Result<(), CatalogError> {
        self.explicit.in_branch.admit()
    }

    /// Prepares the session's transaction, which is the branch's from then on, with its locks.
    ///
    /// # Errors
    /// Those of waiting for the right to commit, and of the engine: nothing is prepared then.
    pub fn prepare(
        &mut self,
        client: &mut Client,
        xid: Xid,
        deadline: Deadline,
    ) -> Result<PreparedBranch, CatalogError> {
        let branch = self.commit(client, deadline, |client| client.prepare(xid))??;
        self.catalog.mdl().give_to(client.slot(), branch.slot(), &self.held);
        let held = std::mem::take(&mut self.held);
        Ok(PreparedBranch { branch, held })
    }

    /// The right to end a branch, which FLUSH TABLES WITH READ LOCK of another session takes from all; until [`TableCache::unlock_for_end`].
    ///
    /// # Errors
    /// Those of waiting.
    pub fn lock_for_end(&self, client: &Client, deadline: Deadline) -> Result<(), CatalogError> {
        let mdl = self.catalog.mdl();
        Ok(mdl.acquire(client.slot(), mdl.commit(), Mode::IX, deadline)?)
    }

    /// Gives that right back.
    pub fn unlock_for_end(&self, client: &Client) {
        let mdl = self.catalog.mdl();
        mdl.release(client.slot(), mdl.commit(), Mode::IX);
    }

    /// Commits a branch or rolls it back, whatever `read_only` says: it was admitted when it was prepared. Then its locks are
    /// given back.
    ///
    /// # Errors
    /// Those of the log. It is still prepared then, when [`PreparedBranch::has_written`] says so.
    pub fn end_branch(
        &self,
        client: &mut Client,
        prepared: &mut PreparedBranch,
        commit: bool,
    ) -> Result<(), CatalogError> {
        let ending = Ending { mdl: self.catalog.mdl(), prepared };
        let ended = match commit {
            true => client.commit_branch(&mut ending.prepared.branch),
            false => client.rollback_branch(&mut ending.prepared.branch),
        };
        Ok(ended?)
    }
}

/// A branch that is being ended. Has it when this goes, be it by a panic, then its metadata locks go, too.
struct Ending<'b> {
    mdl: &'b Mdl,
    prepared: &'b mut PreparedBranch,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.prepared.has_written() {
            self.mdl.release_all(self.prepared.branch.slot(), &mut self.prepared.held);
        }
    }
}

impl Catalog {
    /// The branches that recovery found, once. Their tables are locked: no session is there yet.
    pub fn recovered_branches(&self) -> Vec<PreparedBranch> {
        let mdl = self.mdl();
        let lock = |branch: Branch| {
            let mut held = Held::new();
            for brief in branch.tables().iter().filter_map(|id| self.names().by_id(*id)) {
                let object = &self.names().entry(&brief.name.0, &brief.name.1).object;
                let taken = mdl.take(branch.slot(), &mut held, object, Mode::SW, Deadline::Never);
                debug_assert!(taken.is_ok(), "somebody has locked {:?} already", brief.name);
            }
            PreparedBranch { branch, held }
        };
        self.engine().take_branches().into_iter().map(lock).collect()
    }
}
