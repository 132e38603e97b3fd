//! Who holds and who waits for what, for performance_schema.metadata_locks and for messages.
//!
//! The rows are a picture, not a snapshot: grants in slots may come and go while it is taken.

use crate::locks::{Mdl, scope_count};
use crate::mode::{Mode, Namespace};
use crate::object::{Id, Name, Object, Ticket};
use crate::queue::blockers;
use crate::wait::Waiting;
use std::sync::Arc;
use stdx::Ordering;
use sync::SessionSlot;

/// Whether a row is a grant or a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `GRANTED`.
    Granted,
    /// `PENDING`.
    Pending,
    /// `VICTIM`: about to end as a deadlock's victim.
    Victim,
}

/// One grant or request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRow {
    /// The kind of name.
    pub namespace: Namespace,
    /// The database; may be empty.
    pub schema: String,
    /// The name; may be empty.
    pub name: String,
    /// How it is or is to be locked.
    pub mode: Mode,
    /// Granted or not.
    pub status: Status,
    /// The owner's slot number.
    pub slot: usize,
    /// The owner's processlist id.
    pub session_id: u64,
    /// Distinguishes the grants and requests that are there at a time: an address or what is made of one.
    pub id: u64,
}

/// Who was in the way of a request that gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// What was to be locked: the kind of name, the database, the name.
    pub what: (Namespace, String, String),
    /// The conflicting grants and the requests before it.
    pub blockers: Vec<Blocker>,
}

/// A grant or request in the way of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// The owner's slot number.
    pub slot: usize,
    /// How it locks.
    pub mode: Mode,
    /// Granted or pending.
    pub status: Status,
}

impl LockRow {
    /// `performance_schema.metadata_locks.LOCK_DURATION`. A kind of lock has one duration in MySQL, that of LOCK TABLES
    /// too: what GLOBAL keeps writers by ends with their statement, what FLUSH TABLES WITH READ LOCK, LOCK INSTANCE and
    /// GET_LOCK took is given back by their own statements, all else ends with the transaction.
    #[must_use]
    pub const fn duration(&self) -> &'static str {
        match (self.namespace, self.mode) {
            (Namespace::Global, Mode::IX) => "STATEMENT",
            (Namespace::Global | Namespace::Commit | Namespace::UserLevelLock, _)
            | (Namespace::BackupLock, Mode::S) => "EXPLICIT",
            _ => "TRANSACTION",
        }
    }
}

impl Status {
    /// `performance_schema.metadata_locks.LOCK_STATUS`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Status::Granted => "GRANTED",
            Status::Pending => "PENDING",
            Status::Victim => "VICTIM",
        }
    }
}

impl Mdl {
    /// Every grant and request of every session.
    #[must_use]
    pub fn locks(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for slot in self.slots.sessions() {
            let index = self.slots.session_index(slot);
            for word in slot.grants_in_use() {
                if let Some((id, mode)) = Id::of_grant(word.load(Ordering::Acquire))
                    && let Some(object) = self.registry.by_place(id)
                {
                    let id = std::ptr::from_ref(word).addr() as u64;
                    let name = object.name();
                    rows.push(LockRow { id, ..self.row(&name, mode, Status::Granted, index) });
                }
            }
            for object in [self.global(), self.backup_lock(), self.commit()] {
                let counted = std::ptr::from_ref(&slot.scoped_ix).addr() as u64;
                let name = object.name();
                for n in 0..scope_count(slot, object.id()).unwrap_or(0) {
                    let id = counted + ((name.namespace as u64) << 56 | n << 48);
                    let row = self.row(&name, Mode::IX, Status::Granted, index);
                    rows.push(LockRow { id, ..row });
                }
            }
        }
        for object in self.registry.all() {
            let (name, granted, pending) = object.tickets();
            let granted = granted.iter().map(|t| (t, Status::Granted));
            let pending = pending
                .iter()
                .map(|t| (t, if t.victim { Status::Victim } else { Status::Pending }));
            for (ticket, status) in granted.chain(pending) {
                let id = object.row_id(ticket.number);
                let row = self.row(&name, ticket.mode, status, ticket.owner as usize);
                rows.push(LockRow { id, ..row });
            }
        }
        rows
    }

    /// The processlist ids of the sessions that a request would wait for now: names for a message.
    #[must_use]
    pub fn blockers(&self, slot: &SessionSlot, object: &Arc<Object>, mode: Mode) -> Vec<u64> {
        let owner = self.slots.session_index(slot) as u64;
        let ticket = Ticket { number: 0, owner, mode, victim: false, paused: false };
        let found = {
            let state = object.state();
            blockers(object, &state, &self.holders(object), &ticket)
        };
        found.into_iter().map(|o| self.session_id(o as usize)).collect()
    }

    /// Who was in the way of the session's last request if it timed out; tells it once.
    #[must_use]
    pub fn take_blame(&self, slot: &SessionSlot) -> Option<Blame> {
        self.waiters.take_blame(self.slots.session_index(slot) as u64)
    }

    /// Keeps for [`Mdl::take_blame`] who was in the session's way, where that was no request for a lock.
    pub fn blame_for(&self, slot: &SessionSlot, blame: Blame) {
        self.waiters.keep_blame(self.slots.session_index(slot) as u64, blame);
    }

    /// Keeps for [`Mdl::take_blame`] who is in the way of a request that is about to give up.
    #[cold]
    pub(crate) fn blame(&self, w: &Waiting<'_>) {
        if w.alone {
            return;
        }
        let (namespace, name) = (w.object.namespace(), w.object.name());
        let of = |slot: u64, mode, status| Blocker { slot: slot as usize, mode, status };
        let holders = self.holders(w.object);
        let in_slots = holders.iter().map(|(owner, mode)| of(*owner, *mode, Status::Granted));
        let blockers = {
            let state = w.object.state();
            let granted = w.mode.conflicts_granted(namespace);
            let pending = state.fair.tired.behind(w.mode, namespace);
            let tickets = state.granted.iter().map(|t| of(t.owner, t.mode, Status::Granted));
            let first = state.pending.iter().filter(|t| t.number != w.number && !t.paused);
            let first = first.map(|t| of(t.owner, t.mode, Status::Pending));
            let all = in_slots.chain(tickets).chain(first);
            all.filter(|b| {
                let conflicting = if b.status == Status::Granted { granted } else { pending };
                b.slot as u64 != w.owner && conflicting & b.mode.bit() != 0
            })
            .collect()
        };
        let what = (namespace, name.schema.to_string(), name.name.to_string());
        self.waiters.keep_blame(w.owner, Blame { what, blockers });
    }

    fn row(&self, name: &Name, mode: Mode, status: Status, slot: usize) -> LockRow {
        LockRow {
            namespace: name.namespace,
            schema: name.schema.to_string(),
            name: name.name.to_string(),
            mode,
            status,
            slot,
            session_id: self.session_id(slot),
            id: 0,
        }
    }

    /// 0 when the session has gone.
    pub(crate) fn session_id(&self, index: usize) -> u64 {
        self.slots.session(index).session_id.load(Ordering::Relaxed)
    }
}
