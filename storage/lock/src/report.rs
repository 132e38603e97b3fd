//! What operators see of row locks: a listing, figures, the last deadlock.
//!
//! A listing takes one shard after the other: each is one state of itself, all together are not. Names of tables and
//! sessions are not known here: who prints a deadlock gives them.

use crate::locks::{Locks, by};
use crate::mode::{Shape, index_of_deleted_rows};
use crate::owner::{Owner, Place};
use crate::queue::Lock;
use crate::runs::{Run, group_of};
use base::{IndexId, TrxId};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use stdx::Ordering;

instrument::classes! {
    pub(crate) static LAST: MutexClass = "wait/synch/mutex/limpid/lock_latest_deadlock";
}

/// Hears of every deadlock, in the thread that found it, before the victim knows.
pub(crate) type Hook = Box<dyn Fn(&Deadlock) + Send + Sync>;

/// One lock, or a request that waits.
#[derive(Clone, Debug)]
pub struct LockInfo {
    /// Its owner's session slot.
    pub slot: usize,
    /// The owner's transaction, none when it has not written.
    pub trx: TrxId,
    /// The index.
    pub index: IndexId,
    /// The encoded key; `None` is the supremum.
    pub key: Option<Box<[u8]>>,
    /// Mode and kind.
    pub shape: Shape,
    /// It is not granted.
    pub waiting: bool,
}

/// Locks of one shape on all records between two keys.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// Their owner's session slot.
    pub slot: usize,
    /// The owner's transaction, none when it has not written.
    pub trx: TrxId,
    /// The index.
    pub index: IndexId,
    /// Mode and kind.
    pub shape: Shape,
    pub(crate) run: Run,
}

impl RunInfo {
    /// Where it begins: no key below is among them.
    pub fn low(&self) -> &[u8] {
        &self.run.low.0
    }

    /// No key above is among them.
    pub fn high(&self) -> &[u8] {
        &self.run.high.0
    }

    /// The lock on a record, if it is among them.
    pub fn lock(&self, key: &[u8]) -> Option<LockInfo> {
        let RunInfo { slot, trx, index, shape, .. } = *self;
        let lock = || LockInfo { slot, trx, index, key: Some(key.into()), shape, waiting: false };
        self.run.contains(key).then(lock)
    }
}

/// All row locks.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The single locks.
    pub locks: Vec<LockInfo>,
    /// The others.
    pub runs: Vec<RunInfo>,
    /// Positions in `locks`: a request, and a lock that it waits for.
    pub waits: Vec<(usize, usize)>,
}

/// Figures of one session slot's transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerInfo {
    /// Locks, waiting ones included.
    pub row_locks: u64,
    /// What InnoDB would call lock structures.
    pub structs: u64,
    /// When the present wait began, in [`sync::now_ns`] nanoseconds.
    pub waiting_since_ns: Option<u64>,
}

/// A transaction of a deadlock.
#[derive(Clone, Debug)]
pub struct DeadlockMember {
    /// Its session slot.
    pub slot: usize,
    /// Its id, none when it has not written.
    pub trx: TrxId,
    /// What InnoDB would call lock structures, those of tables too.
    pub structs: u64,
    /// Its locks.
    pub row_locks: u64,
    /// Undo records.
    pub undo: u64,
    pub(crate) holds: Vec<(Place, Shape)>,
    pub(crate) waits: Option<(Place, Shape)>,
}

/// A deadlock. Each member waits for the next, the last for the first, which closed the cycle.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// The transactions.
    pub members: Vec<DeadlockMember>,
    /// Which of them is rolled back.
    pub victim: usize,
}

/// Who gives names to what a deadlock's text is about.
pub trait Names {
    /// A transaction's lines behind "*** (n) TRANSACTION:", with line ends.
    fn transaction(&self, member: &DeadlockMember) -> String;
    /// An index, as in "index PRIMARY of table `d`.`t`", with what comes before it.
    fn index(&self, index: IndexId) -> String;
}

impl Deadlock {
    /// The text of "LATEST DETECTED DEADLOCK" without its headline and date.
    pub fn text(&self, names: &dyn Names) -> String {
        let mut out = String::new();
        for (i, m) in self.members.iter().enumerate() {
            let n = i + 1;
            let _ = write!(out, "*** ({n}) TRANSACTION:\n{}", names.transaction(m));
            let _ = write!(out, "\n*** ({n}) HOLDS THE LOCK(S):\n");
            m.holds.iter().for_each(|l| line(&mut out, names, m.trx, l, ""));
            let _ = write!(out, "\n*** ({n}) WAITING FOR THIS LOCK TO BE GRANTED:\n");
            m.waits.iter().for_each(|l| line(&mut out, names, m.trx, l, " waiting"));
            out.push('\n');
        }
        let _ = writeln!(out, "*** WE ROLL BACK TRANSACTION ({})", self.victim + 1);
        out
    }
}

fn line(
    out: &mut String,
    names: &dyn Names,
    trx: TrxId,
    (place, shape): &(Place, Shape),
    end: &str,
) {
    let words = shape.words(place.key.is_none());
    let index = names.index(place.index);
    let _ = writeln!(out, "RECORD LOCKS {index} trx id {} {words}{end}", trx.0);
    match &place.key {
        None => out.push_str("Record lock, heap no 1 PHYSICAL RECORD: supremum\n"),
        Some(key) => {
            out.push_str("Record lock, key ");
            for b in key {
                let _ = write!(out, "{b:02x}");
            }
            out.push('\n');
        }
    }
}

impl Locks {
    /// All locks and waits.
    pub fn snapshot(&self) -> Snapshot {
        let mut all = Snapshot::default();
        for shard in self.shards().filter(|s| !s.is_empty()) {
            // Copied under the mutex, paired without it; who waits is paired with the locks of its own place.
            let locks: Vec<Lock> = shard.lock().all().cloned().collect();
            let first = all.locks.len();
            let mut places: HashMap<(IndexId, Option<&[u8]>), Vec<usize>> = HashMap::new();
            for (i, lock) in locks.iter().enumerate() {
                let place = (lock.place.index, lock.place.key.as_deref());
                places.entry(place).or_default().push(i);
            }
            for (i, a) in locks.iter().enumerate() {
                // Deleted rows have no place of their own: they are shown as the index's end.
                let deleted = index_of_deleted_rows(a.place.index);
                all.locks.push(LockInfo {
                    slot: a.by.slot,
                    trx: self.owner(a.by.slot).trx(),
                    index: deleted.unwrap_or(a.place.index),
                    key: a.place.key.as_deref().filter(|_| deleted.is_none()).map(Box::from),
                    shape: a.shape,
                    waiting: !a.granted(),
                });
                if a.granted() {
                    continue;
                }
                let waits = |j: usize| {
                    let b = &locks[j];
                    let order = b.granted() || j < i;
                    order && a.by != b.by && a.shape.waits_for(b.shape, a.place.key.is_none())
                };
                let beside = places.get(&(a.place.index, a.place.key.as_deref()));
                let on = beside.into_iter().flatten().filter(|j| waits(**j));
                all.waits.extend(on.map(|j| (first + i, first + j)));
            }
        }
        for group in self.groups().filter(|g| !g.is_empty()) {
            for list in group.lock().all() {
                let trx = self.owner(list.by.slot).trx();
                let (slot, index, shape) = (list.by.slot, list.index, list.shape);
                all.runs.extend(list.runs().map(|run| RunInfo { slot, trx, index, shape, run }));
            }
        }
        all
    }

    /// Locks and lock structures of an owner, see [`Owner::sizes`]; those of runs are counted row by row.
    pub(crate) fn sizes(&self, owner: &Owner, changed: &[IndexId]) -> (u64, u64) {
        let (mut rows, structs) = owner.sizes(changed);
        let by = by(owner);
        for (index, shape) in owner.runs() {
            let mut runs = group_of(self.run_groups(), index).lock();
            rows += runs.list(index, by, shape).map_or(0, |list| list.rows);
        }
        (rows, structs)
    }

    /// Figures of a session slot's transaction, which has changed records of these indexes without a lock.
    pub fn owner_info(&self, owner: &Owner, changed: &[IndexId]) -> OwnerInfo {
        let (row_locks, structs) = self.sizes(owner, changed);
        let waiting_since_ns = owner.waiting_request().map(|w| w.since_ns);
        OwnerInfo { row_locks, structs, waiting_since_ns }
    }

    /// The index of which the owner waits to lock a record or a gap, if it waits.
    pub fn awaited_index(&self, owner: &Owner) -> Option<IndexId> {
        let index = owner.waiting_request()?.place.index;
        Some(index_of_deleted_rows(index).unwrap_or(index))
    }

    /// The session slot of one whom the owner waits for, if it waits: as its queue says, not the waits-for graph, which has no
    /// rows' waits without the search for deadlocks.
    pub fn blocker(&self, owner: &Owner) -> Option<usize> {
        let waiting_request = owner.waiting_request()?;
        let (target, by) = (waiting_request.place.target(), by(owner));
        let hash = target.hash();
        let blockers =
            self.shard(hash).lock().line(hash, target).blockers_of(by, waiting_request.number)?;
        blockers.first().map(|blocker| blocker.slot)
    }

    /// How many requests wait now (`Innodb_row_lock_current_waits`).
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The longest wait that has ended, in nanoseconds (`Innodb_row_lock_time_max`).
    pub fn wait_ns_max(&self) -> u64 {
        self.wait_ns_max.load(Ordering::Relaxed)
    }

    /// The deadlock that was found last.
    pub fn last_deadlock(&self) -> Option<Arc<Deadlock>> {
        self.last_deadlock.lock().clone()
    }

    /// Who hears of every deadlock, in the thread that found it. The first registration counts.
    pub fn on_deadlock(&self, hook: Box<dyn Fn(&Deadlock) + Send + Sync>) {
        let _ = self.hook.set(hook);
    }

    /// Whether nobody's wait is in the waits-for graph.
    pub fn graph_is_empty(&self) -> bool {
        self.graph.edges().is_empty()
    }
}
