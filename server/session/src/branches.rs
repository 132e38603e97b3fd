//! All branches of distributed transactions (XA) that a server knows: those that sessions work on, by their names alone, and
//! those that are prepared.
//!
//! 1. A name is there once. 2. A prepared branch is taken out by one session, which ends it, or puts it back; until then it is listed,
//! and who wants to end it, too, waits. 3. No statement but XA's looks here.

use catalog::PreparedBranch;
use engine::Xid;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

/// All branches.
pub(crate) struct Branches {
    known: Mutex<HashMap<Xid, Known>>,
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

    /// A session begins a branch; false: there is one of this name.
    pub fn begin(&self, xid: &Xid) -> bool {
        match self.known.lock().entry(xid.clone()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(Known::InHand);
                true
            }
        }
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
    pub fn take(&self, xid: &Xid, session: u64) -> Result<Box<PreparedBranch>, NotHad> {
        loop {
            let seen = self.ended.prepare();
            {
                let mut known = self.known.lock();
                let place = known.get_mut(xid).ok_or(NotHad::Unknown)?;
                match std::mem::replace(place, Known::Ending) {
                    Known::Prepared(branch, of) if of.is_none_or(|id| id == session) => {
                        return Ok(branch);
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
        let mut names: Vec<Xid> = prepared.map(|(xid, _)| xid.clone()).collect();
        names.sort();
        names
    }
}
