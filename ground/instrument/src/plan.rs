//! What is collected of a session's statements and transactions: looked up when something was switched, not at each statement.
//!
//! 1. A plan holds as long as [`switched`] says what it said when the plan was made; the session asks when a
//! statement begins and when it ends. 2. Making one renews the figures of statements in the session's page, so that adding to them need not ask whether
//! they were emptied.

use crate::{
    Consumer, CounterPage, ENABLED, IDLE, INSTRUMENTS, OwnMask, RECORDED, STATEMENTS, TIMED,
    TRANSACTION, consumes, switched,
};

/// How statements are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Not at all, nor are transactions.
    Nothing,
    /// All of them are counted and timed, the history has both or no transactions, and nothing else need be asked.
    Plain,
    /// Each asks its own instrument.
    Full,
}

/// What is collected of a session.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    switched: u64,
    /// Statements.
    pub depth: Depth,
    /// The processor's time of statements is measured.
    pub cpu: bool,
    /// Digests are made.
    pub digests: bool,
    /// The session's history has its statements.
    pub history: bool,
    /// The history of all sessions has them.
    pub history_long: bool,
    /// What is counted of statements' own transactions.
    pub transactions: OwnMask,
    /// What the history, or who looks at what goes on, is told of transactions.
    pub tells_transactions: OwnMask,
    /// Waits for the client are counted and timed, and nothing else.
    pub is_idle_plain: bool,
    /// They are counted.
    pub idle: bool,
    /// They are timed.
    pub times_idle: bool,
    /// They are kept among the waits that are over.
    pub records_idle: bool,
}

impl Plan {
    /// That of a session that has not looked yet.
    pub const fn unknown() -> Plan {
        Plan {
            switched: 0,
            depth: Depth::Nothing,
            cpu: false,
            digests: false,
            history: false,
            history_long: false,
            transactions: OwnMask::NOTHING,
            tells_transactions: OwnMask::NOTHING,
            is_idle_plain: false,
            idle: false,
            times_idle: false,
            records_idle: false,
        }
    }

    /// Whether nothing was switched since. One load.
    #[inline(always)]
    pub fn is_present(&self) -> bool {
        self.switched == switched()
    }

    /// What is collected now of the session whose page this is; only its own thread calls this.
    #[cold]
    pub fn of(page: &CounterPage, keeps_history: bool) -> Plan {
        let switched = switched();
        page.renew_statements();
        if !INSTRUMENTS || !page.is_instrumented() {
            return Plan { switched, ..Plan::unknown() };
        }
        let keeps = |consumer| keeps_history && consumes(consumer);
        let (idle, transaction) = (IDLE.flags(), TRANSACTION.flags());
        let all_timed = STATEMENTS.iter().all(|class| class.timed());
        let none = STATEMENTS.iter().all(|class| !class.enabled());
        let transactions = transaction & ENABLED != 0;
        let asks = [
            Consumer::StatementsHistoryLong,
            Consumer::TransactionsHistoryLong,
            Consumer::StatementsCpu,
        ];
        let history = keeps(Consumer::StatementsHistory);
        let tells_transactions = transactions && consumes(Consumer::TransactionsCurrent);
        let transaction_history = keeps(Consumer::TransactionsHistory);
        let is_plain = all_timed
            && (!tells_transactions || history && transaction_history)
            && (!transactions || transaction & TIMED != 0)
            && !asks.into_iter().any(consumes);
        Plan {
            switched,
            depth: match (none && !transactions, is_plain) {
                (true, _) => Depth::Nothing,
                (_, true) => Depth::Plain,
                _ => Depth::Full,
            },
            cpu: !none && consumes(Consumer::StatementsCpu),
            digests: consumes(Consumer::StatementsDigest),
            history,
            history_long: keeps(Consumer::StatementsHistoryLong),
            transactions: OwnMask::of(transactions),
            tells_transactions: OwnMask::of(tells_transactions),
            is_idle_plain: idle & (ENABLED | TIMED | RECORDED) == ENABLED | TIMED,
            idle: idle & ENABLED != 0,
            times_idle: idle & TIMED != 0,
            records_idle: idle & RECORDED != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The switches are the process's: what other tests of this crate switch makes a plan old, never wrong.
    #[test]
    fn a_plan_is_present_until_something_is_switched() {
        let page = CounterPage::boxed();
        assert!(!Plan::unknown().is_present());
        let plan = Plan::of(&page, true);
        crate::note_switch();
        assert!(!plan.is_present());
    }
}
