//! How far transactions are: what lists show of them while they run and while they are rolled back.
//!
//! A reader may see two moments at once, also those of two transactions. What no session has any more (losers of a
//! crash, rollbacks that failed) is asked of its list.
//!
//! 1. Each session slot has a place here that its own thread alone writes, by plain stores; a statement writes nothing
//!    that another session writes. Guard: `an_update_writes_few_shared_lines`.

use crate::engine::Engine;
use base::{IndexId, TableId, TrxId};
use lock::{Mode, OwnerInfo};
use stdx::{LocalAtomic, Ordering};

/// Tables of a transaction that are shown.
const TABLES_MAX: usize = 16;

/// What is being undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Undoing {
    /// A whole transaction.
    Transaction = 1,
    /// What came after a savepoint.
    Savepoint = 2,
    /// A statement that failed.
    Statement = 3,
}

impl Undoing {
    /// InnoDB's words for it.
    pub fn words(self) -> &'static str {
        match self {
            Undoing::Transaction => "rollback",
            Undoing::Savepoint => "rollback to a savepoint",
            Undoing::Statement => "rollback of SQL statement",
        }
    }
}

/// How far a session's transaction is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrxProgress {
    /// Its id, none until it writes.
    pub trx: TrxId,
    /// Undo records that it has written and not undone: about as many as rows that it has changed.
    pub changes: u64,
    /// What is being undone.
    pub undoing: Option<Undoing>,
    /// The tables that it has locked by intention, before rows of theirs are locked or changed.
    pub tables: Vec<Intention>,
    /// Rows that it has changed because their keys were named: they are locked without a lock.
    pub named: u64,
}

/// That a transaction locks or changes rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intention {
    /// The table.
    pub table: TableId,
    /// How its rows are locked.
    pub mode: Mode,
    /// Its clustered index, when rows were changed because their keys were named.
    pub changed: Option<IndexId>,
}

/// A transaction without a session that is to be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// Its id.
    pub trx: TrxId,
    /// Undo records that are still to be undone; 0 until they were counted.
    pub changes: u64,
    /// Since when it has no session, in microseconds since 1970.
    pub since_us: u64,
}

/// A session slot's place.
#[derive(Debug)]
pub(crate) struct Progress {
    trx: LocalAtomic<u64>,
    changes: LocalAtomic<u64>,
    undoing: LocalAtomic<u8>,
    /// Intentions: twice the table's id, and one more for an exclusive one; 0 behind the last.
    tables: [LocalAtomic<u64>; TABLES_MAX],
    /// [`Intention::changed`], or 0.
    changed: [LocalAtomic<u64>; TABLES_MAX],
    named: LocalAtomic<u64>,
}

impl Progress {
    pub fn new() -> Progress {
        Progress {
            trx: LocalAtomic::new(TrxId::NONE.0),
            changes: LocalAtomic::new(0),
            undoing: LocalAtomic::new(0),
            tables: std::array::from_fn(|_| LocalAtomic::new(0)),
            changed: std::array::from_fn(|_| LocalAtomic::new(0)),
            named: LocalAtomic::new(0),
        }
    }

    /// A transaction begins to write.
    pub fn begin(&self, trx: TrxId) {
        self.set_changes(0);
        self.trx.store(trx.0, Ordering::Relaxed);
    }

    /// Its `n`th intention, from 0.
    pub fn set_intention(&self, n: usize, (table, mode): (TableId, Mode)) {
        if let Some(behind) = self.tables.get(n + 1) {
            behind.store(0, Ordering::Relaxed);
        }
        if let (Some(place), Some(changed)) = (self.tables.get(n), self.changed.get(n)) {
            changed.store(0, Ordering::Relaxed);
            place.store(table.0 << 1 | u64::from(mode == Mode::Exclusive), Ordering::Relaxed);
        }
    }

    /// A row was changed because its key was named, in the table of the `n`th intention, whose clustered index this is.
    pub fn set_changed(&self, n: usize, clustered: IndexId) {
        if let Some(place) = self.changed.get(n) {
            place.store(clustered.0, Ordering::Relaxed);
        }
    }

    /// One more of [`TrxProgress::named`].
    pub fn add_named(&self) {
        self.named.store(self.named.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// It locks nothing more.
    pub fn end_intentions(&self) {
        self.tables[0].store(0, Ordering::Relaxed);
        self.named.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub fn set_changes(&self, changes: u64) {
        self.changes.store(changes, Ordering::Relaxed);
    }

    pub fn set_undoing(&self, what: Option<Undoing>) {
        self.undoing.store(what.map_or(0, |what| what as u8), Ordering::Relaxed);
    }

    /// The transaction has ended.
    #[inline]
    pub fn end(&self) {
        self.trx.store(TrxId::NONE.0, Ordering::Relaxed);
        self.set_undoing(None);
        self.end_intentions();
    }

    fn read(&self) -> TrxProgress {
        let intentions = self.tables.iter().zip(&self.changed).map(|(table, changed)| {
            (table.load(Ordering::Relaxed), changed.load(Ordering::Relaxed))
        });
        let tables = intentions.take_while(|(table, _)| *table != 0).map(|(table, changed)| {
            let mode = if table & 1 == 1 { Mode::Exclusive } else { Mode::Shared };
            let changed = (changed != 0).then_some(IndexId(changed));
            Intention { table: TableId(table >> 1), mode, changed }
        });
        let (tables, named) = (tables.collect(), self.named.load(Ordering::Relaxed));
        let trx = TrxId(self.trx.load(Ordering::Relaxed));
        if trx == TrxId::NONE {
            return TrxProgress { tables, named, ..TrxProgress::default() };
        }
        let kinds = [Undoing::Transaction, Undoing::Savepoint, Undoing::Statement];
        let undoing = self.undoing.load(Ordering::Relaxed);
        TrxProgress {
            trx,
            changes: self.changes.load(Ordering::Relaxed),
            undoing: kinds.into_iter().find(|kind| *kind as u8 == undoing),
            tables,
            named,
        }
    }
}

impl Engine {
    /// How far the transaction of a session slot is.
    pub fn progress(&self, slot: usize) -> TrxProgress {
        self.progress_known(slot).map(Progress::read).unwrap_or_default()
    }

    /// What the transaction of a session slot has locked, with or without locks; those of tables are among the
    /// structures.
    pub fn lock_figures(&self, slot: usize, progress: &TrxProgress) -> OwnerInfo {
        let changed: Vec<IndexId> = progress.tables.iter().filter_map(|i| i.changed).collect();
        let mut info = self.locks().owner_info(self.locks().owner(slot), &changed);
        info.row_locks += progress.named;
        info.structs += progress.tables.len() as u64;
        info
    }
}
