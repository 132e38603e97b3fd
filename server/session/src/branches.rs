//! All branches of distributed transactions (XA) that a server knows: those that sessions work on, by their names alone, and
//! those that are prepared.
//!
//! 1. A name is there once. 2. A prepared branch is taken out by one session, which ends it, or puts it back. 3. No statement but XA's
//! looks here.

use catalog::PreparedBranch;
use engine::Xid;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use sync::Mutex;

instrument::classes! {
    static BRANCHES: MutexClass = "wait/synch/mutex/sql/LOCK_transaction_cache";
}

/// What is known of a branch.
enum Known {
    /// A session works on it, or ends it.
    InHand,
    /// It is prepared; with a session's id it is that session's only.
    Prepared(Box<PreparedBranch>, Option<u64>),
}

/// All branches.
pub(crate) struct Branches {
    known: Mutex<HashMap<Xid, Known>>,
}

impl Branches {
    /// With those that recovery found.
    pub fn new(recovered: Vec<PreparedBranch>) -> Branches {
        let known = recovered
            .into_iter()
            .map(|branch| (branch.xid().clone(), Known::Prepared(Box::new(branch), None)));
        Branches { known: Mutex::new(&BRANCHES, known.collect()) }
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
    }

    /// A branch is prepared; `session`: it is that one's only.
    pub fn put(&self, branch: Box<PreparedBranch>, session: Option<u64>) {
        let xid = branch.xid().clone();
        self.known.lock().insert(xid, Known::Prepared(branch, session));
    }

    /// Takes a prepared branch to end it, unless it is another session's.
    pub fn take(&self, xid: &Xid, session: u64) -> Option<Box<PreparedBranch>> {
        let mut known = self.known.lock();
        let place = known.get_mut(xid)?;
        match place {
            Known::Prepared(_, of) if of.is_none_or(|id| id == session) => {
                match std::mem::replace(place, Known::InHand) {
                    Known::Prepared(branch, _) => Some(branch),
                    Known::InHand => None,
                }
            }
            _ => None,
        }
    }

    /// A session ends: its prepared branch is anybody's.
    pub fn detach(&self, xid: &Xid) {
        if let Some(Known::Prepared(_, of)) = self.known.lock().get_mut(xid) {
            *of = None;
        }
    }

    /// The names of the prepared branches, ordered.
    pub fn prepared(&self) -> Vec<Xid> {
        let known = self.known.lock();
        let prepared = known.iter().filter(|(_, known)| matches!(known, Known::Prepared(..)));
        let mut names: Vec<Xid> = prepared.map(|(xid, _)| xid.clone()).collect();
        names.sort();
        names
    }
}
