//! All branches of distributed transactions (XA) that a server knows: those that sessions work on, by their names alone, and
//! those that are prepared.
//!
//! 1. A name is there once, whatever its format is. 2. A prepared branch is taken out by one session, which ends it, or gives it
//! back, also when it panics ([`Ending`]); until then it is listed, and who wants to end it, too, waits. 3. No statement but XA's looks here.

use base::TableId;
use catalog::PreparedBranch;
use engine::Xid;
use std::collections::BTreeMap;
use sync::{Deadline, Event, Mutex, WaitResult};

instrument::classes! {
    static BRANCHES: MutexClass = "wait/synch/mutex/sql/LOCK_transaction_cache";
    static ENDED: CondClass = "wait/synch/cond/limpid/branch_ended";
}

/// What is known of a branch.
enum Known {
    /// A session works on it.
    InHand,
    /// A session ends it, which was prepared.
    Ending,
    /// It is prepared; with a session's id it is that session's only.
    Prepared(Box<PreparedBranch>, Option<u64>),
}

/// Why a branch is not had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotHad {
    /// There is none of this name that is prepared and the session's to end.
    Unknown,
    /// The session was killed while another one was ending it.
    Killed,
}

/// A branch that a session has taken out to end it. When this goes, be it by a panic, others may have what is left.
pub(crate) struct Ending<'b> {
    branches: &'b Branches,
    xid: Xid,
    /// `None` only while it is being given back.
    branch: Option<Box<PreparedBranch>>,
    of: Option<u64>,
}

impl Ending<'_> {
    /// Ends it by `end`.
    pub fn end<E>(
        &mut self,
        end: impl FnOnce(&mut PreparedBranch) -> Result<(), E>,
    ) -> Result<(), E> {
        self.branch.as_mut().map_or(Ok(()), |branch| end(branch))
    }

    /// It is over.
    pub fn has_ended(&self) -> bool {
        !self.branch.as_ref().is_some_and(|branch| branch.has_written())
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        match self.branch.take().filter(|branch| branch.has_written()) {
            Some(branch) => self.branches.put(branch, self.of),
            None => self.branches.end(&self.xid),
        }
    }
}

/// All branches.
pub(crate) struct Branches {
    known: Mutex<BTreeMap<Xid, Known>>,
    ended: Event,
}

impl Branches {
    /// With those that recovery found.
    pub fn new(recovered: Vec<PreparedBranch>) -> Branches {
        let known = recovered
            .into_iter()
            .map(|branch| (branch.xid().clone(), Known::Prepared(Box::new(branch), None)));
        Branches { known: Mutex::new(&BRANCHES, known.collect()), ended: Event::new(&ENDED) }
    }

    /// A session begins a branch; false: there is one of this name, which may be of another format.
    pub fn begin(&self, xid: &Xid) -> bool {
        let mut known = self.known.lock();
        let is_taken = known.range(xid.of_any_format()).next().is_some();
        if !is_taken {
            known.insert(xid.clone(), Known::InHand);
        }
        !is_taken
    }

    /// A branch is over.
    pub fn end(&self, xid: &Xid) {
        self.known.lock().remove(xid);
        self.ended.notify_all();
    }

    /// A branch is prepared; `session`: it is that one's only.
    pub fn put(&self, branch: Box<PreparedBranch>, session: Option<u64>) {
        let xid = branch.xid().clone();
        self.known.lock().insert(xid, Known::Prepared(branch, session));
        self.ended.notify_all();
    }

    /// Whether there is such a branch that is prepared, or being ended, and not another session's.
    pub fn may_take(&self, xid: &Xid, session: u64) -> bool {
        match self.known.lock().get(xid) {
            Some(Known::Prepared(_, of)) => of.is_none_or(|id| id == session),
            Some(Known::Ending) => true,
            Some(Known::InHand) | None => false,
        }
    }

    /// Takes a prepared branch to end it, unless it is another session's. What another session is ending is waited for: whether that
    /// lasts is known then.
    pub fn take(&self, xid: &Xid, session: u64) -> Result<Ending<'_>, NotHad> {
        loop {
            let seen = self.ended.prepare();
            {
                let mut known = self.known.lock();
                let place = known.get_mut(xid).ok_or(NotHad::Unknown)?;
                match std::mem::replace(place, Known::Ending) {
                    Known::Prepared(branch, of) if of.is_none_or(|id| id == session) => {
                        return Ok(Ending {
                            branches: self,
                            xid: xid.clone(),
                            branch: Some(branch),
                            of,
                        });
                    }
                    Known::Ending => {}
                    other => {
                        *place = other;
                        return Err(NotHad::Unknown);
                    }
                }
            }
            if self.ended.wait(seen, Deadline::Never) == WaitResult::Killed {
                return Err(NotHad::Killed);
            }
        }
    }

    /// These tables of the session that has prepared the branch will be gone.
    pub fn forget(&self, xid: &Xid, tables: &[TableId]) {
        if let Some(Known::Prepared(branch, _)) = self.known.lock().get_mut(xid) {
            branch.forget(tables);
        }
    }

    /// A session ends: its prepared branch is anybody's.
    pub fn detach(&self, xid: &Xid) {
        if let Some(Known::Prepared(_, of)) = self.known.lock().get_mut(xid) {
            *of = None;
        }
    }

    /// The names of the prepared branches, ordered; those that are being ended are among them.
    pub fn prepared(&self) -> Vec<Xid> {
        let known = self.known.lock();
        let prepared = known.iter().filter(|(_, known)| !matches!(known, Known::InHand));
        prepared.map(|(xid, _)| xid.clone()).collect()
    }
}
