//! What becomes of the session's transactions with the statement that runs, told when it ends.
//!
//! 1. A transaction begins and ends with statements, and takes their times: no clock is read for it. 2. A statement may end
//! the transaction that went on, have one of its own and begin one, in this order. 3. Whether transactions are counted is
//! asked when they end. 4. A branch (XA) that is prepared goes on until its session ends it, or has another transaction: as in
//! MySQL, one that others may end has no end here. Guard: `tests/xa/events.talk`, recorded from it.

use instrument::{
    BranchName, BranchState, Consumer, CounterPage, ENABLED, HistoryWriter, OwnTransaction,
    SavepointCounts, TIMED, TRANSACTION, TransactionKind, TransactionRecord,
};
use std::sync::Arc;

/// A transaction that goes on beyond its statement.
#[derive(Debug, Clone, Default)]
struct Open {
    begin_ns: u64,
    savepoints: SavepointCounts,
    branch: Option<(Arc<BranchName>, BranchState)>,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy)]
struct Ending {
    kind: TransactionKind,
    is_committed: bool,
}

/// From when to when the statement ran, in nanoseconds.
pub(crate) type Times = (u64, u64);

/// The session's transactions. What each statement looks at comes last.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct TransactionEvents {
    open: Option<Open>,
    /// `open` was begun by the present statement.
    begun: bool,
    /// `open` is a branch that is farther than it was.
    has_branch_news: bool,
    /// `open` is a branch that is prepared, which was of this kind.
    prepared: Option<TransactionKind>,
    /// The one that the present statement ended; where it had begun it as well, its time is not known yet.
    ended: Option<(Open, Ending)>,
    /// The one that was the present statement's own.
    own: OwnTransaction,
    /// The present statement ended one that went on, or began one.
    has_others: bool,
}

impl TransactionEvents {
    /// A transaction begins that goes on beyond the statement.
    pub fn begins(&mut self) {
        (self.open, self.prepared) = (Some(Open::default()), None);
        (self.begun, self.has_others) = (true, true);
    }

    /// It ends; one that is prepared does not.
    pub fn ends(&mut self, kind: TransactionKind, is_committed: bool) {
        if self.prepared.is_some() {
            return;
        }
        if let Some(mut open) = self.open.take() {
            if let Some((_, state)) = &mut open.branch {
                *state =
                    if is_committed { BranchState::Committed } else { BranchState::RollbackOnly };
            }
            self.begun = false;
            self.ended = Some((open, Ending { kind, is_committed }));
            self.has_others = true;
        }
    }

    /// The one that goes on is this branch.
    pub fn is_branch(&mut self, name: BranchName) {
        if let Some(open) = &mut self.open {
            open.branch = Some((Arc::new(name), BranchState::Active));
        }
    }

    /// The branch is so far.
    pub fn branch_is(&mut self, state: BranchState) {
        if let Some((_, known)) = self.open.as_mut().and_then(|open| open.branch.as_mut()) {
            *known = state;
            (self.has_branch_news, self.has_others) = (true, true);
        }
    }

    /// The branch, a transaction of this kind, is prepared.
    pub fn branch_is_prepared(&mut self, kind: TransactionKind) {
        self.branch_is(BranchState::Prepared);
        self.prepared = Some(kind);
    }

    /// The session ends the branch that it has prepared.
    pub fn prepared_ends(&mut self, is_committed: bool) {
        if let Some(kind) = self.prepared.take() {
            self.ends(kind, is_committed);
        }
    }

    /// The statement was a transaction of its own.
    #[inline]
    pub fn was_own(&mut self, kind: TransactionKind, is_committed: bool) {
        self.own = OwnTransaction::new(kind, is_committed);
    }

    /// Counts of savepoints of the transaction that goes on.
    pub fn savepoints(&mut self) -> Option<&mut SavepointCounts> {
        self.open.as_mut().map(|open| &mut open.savepoints)
    }

    /// Whether the statement ended or began one that goes on beyond a statement.
    #[inline(always)]
    pub fn has_others(&self) -> bool {
        self.has_others
    }

    /// The transaction that the statement was by itself. For statements that did nothing else to transactions.
    #[inline(always)]
    pub fn take_own(&mut self) -> OwnTransaction {
        std::mem::take(&mut self.own)
    }

    /// Whether the statement that ends has done anything to transactions.
    pub fn has_news(&self) -> bool {
        !self.own.is_none() | self.has_others
    }

    /// Adds what ended with the statement to the page's figures, if transactions are counted: whether they are.
    pub fn count(&mut self, page: &CounterPage, times: Times) -> bool {
        let flags = TRANSACTION.flags();
        if flags & ENABLED == 0 {
            self.are_told();
            return false;
        }
        let took = |begin_ns: u64| (flags & TIMED != 0).then_some(times.1.saturating_sub(begin_ns));
        if !self.own.is_none() {
            page.add_transaction(self.own.kind().is_read_only, took(times.0));
        }
        if self.has_others {
            self.settle(times.0);
            if let Some((open, ending)) = &self.ended {
                page.add_transaction(ending.kind.is_read_only, took(open.begin_ns));
            }
        }
        true
    }

    /// What the statement began, began with it.
    #[cold]
    fn settle(&mut self, begin_ns: u64) {
        let ended = self.ended.as_mut().map(|(open, _)| open).filter(|open| open.begin_ns == 0);
        let begun = self.open.as_mut().filter(|_| self.begun);
        ended.into_iter().chain(begun).for_each(|open| open.begin_ns = begin_ns);
    }

    /// Adds the news to the history, behind the statement; `kind` is that of the transaction that goes on. A thread whose
    /// history is not kept has a present transaction all the same.
    pub fn record(
        &self,
        history: &mut HistoryWriter<'_>,
        keep: bool,
        times: Times,
        kind: TransactionKind,
    ) {
        let long = keep && instrument::consumes(Consumer::TransactionsHistoryLong);
        let keep = keep && instrument::consumes(Consumer::TransactionsHistory);
        if let Some((open, ending)) = &self.ended {
            let ended = record(open, *ending, times.1, false);
            // It began with this statement, too.
            if open.begin_ns == times.0 {
                history.begin_transaction(ended.clone());
            }
            history.end_transaction(ended, keep, long);
        }
        if !self.own.is_none() {
            let open = Open { begin_ns: times.0, ..Open::default() };
            let own = Ending { kind: self.own.kind(), is_committed: self.own.is_committed() };
            history.end_transaction(record(&open, own, times.1, true), keep, long);
        }
        if self.has_branch_news
            && let Some(branch) = self.branch()
        {
            history.change_branch(branch);
        }
        if self.begun {
            self.record_begun(history, kind);
        }
    }

    #[cold]
    fn record_begun(&self, history: &mut HistoryWriter<'_>, kind: TransactionKind) {
        if let Some(open) = &self.open {
            let going_on = Ending { kind, is_committed: false };
            history.begin_transaction(record(open, going_on, 0, false));
        }
    }

    fn branch(&self) -> Option<&(Arc<BranchName>, BranchState)> {
        self.open.as_ref()?.branch.as_ref()
    }

    /// The news are told, or not wanted.
    pub fn are_told(&mut self) {
        if self.has_others {
            if self.prepared.is_some() && !self.own.is_none() {
                (self.open, self.prepared) = (None, None);
            }
            (self.begun, self.has_branch_news, self.ended) = (false, false, None);
            // The next transaction of a statement's own is to find a prepared one here.
            self.has_others = self.prepared.is_some();
        }
        self.own = OwnTransaction::NONE;
    }
}

fn record(open: &Open, ending: Ending, end_ns: u64, is_autocommit: bool) -> TransactionRecord {
    TransactionRecord {
        begin_ns: open.begin_ns,
        end_ns,
        kind: ending.kind,
        is_committed: ending.is_committed,
        is_timed: TRANSACTION.timed(),
        is_autocommit,
        savepoints: open.savepoints,
        branch: open.branch.clone(),
        ..TransactionRecord::default()
    }
}
