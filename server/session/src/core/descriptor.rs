//! What the session knows of a kind of statement.
//!
//! 1. Every kind has one descriptor, a line of `kinds`: the only match over all statements. 2. Who parses a
//! statement looks its descriptor up; everybody else asks that. 3. The privileges that a kind needs
//! stand here; those of the tables whose rows it reads or changes are its program's.

use super::Core;
use crate::net::Net;
use executor::{ResultColumn, RowSink, SqlError};
use instrument::Counter;
use parser::ast::Statement;

/// What the session knows of a kind of statement.
#[derive(Clone, Copy)]
pub(crate) struct Descriptor {
    /// Who runs it, and the shape of its result.
    pub runner: Runner,
    /// Its `Com_` counter.
    pub counter: Option<Counter>,
    /// It commits the open transaction before it runs.
    pub implicit_commit: bool,
    /// A READ ONLY transaction takes it. Who changes rows is told when it opens their table.
    pub in_read_only: bool,
    /// LOCK TABLES takes it, as far as that depends on its kind.
    pub under_lock_tables: bool,
    /// PREPARE takes it: the others answer 1295.
    pub preparable: bool,
    /// What it does to the diagnostics area.
    pub diagnostics: DiagnosticsUse,
    /// How long it holds its metadata locks.
    pub locks: LockDuration,
    /// A client whose password expired may run it.
    pub with_expired_password: bool,
    /// What it needs beside what its rows need, for which the planner asks.
    pub needs: Option<CheckNeeds>,
}

/// What a statement does to the conditions of the statement before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiagnosticsUse {
    /// They go before it runs.
    Clears,
    /// It reads them and may add its own; its OK counts those alone.
    Adds,
    /// It lists them and has none itself.
    Lists,
}

/// How long metadata locks are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockDuration {
    /// Until the transaction ends.
    Transaction,
    /// Until the statement ends.
    Statement,
}

/// Asks whether the session may run a statement.
pub(crate) type CheckNeeds = fn(&Core, &Statement) -> Result<(), SqlError>;
/// Answers with an OK packet.
pub(crate) type RunSession = fn(&mut Core, &Statement) -> Result<Done, SqlError>;
/// The columns of a result, without running for it.
pub(crate) type Columns = fn(&Core, &Statement) -> Result<Vec<ResultColumn>, SqlError>;
/// Sends the rows of a result whose columns were sent.
pub(crate) type SendRows = fn(&mut Core, &Statement, &mut dyn RowSink) -> Result<(), SqlError>;
/// Runs other statements and writes their replies; false when one ended in an error.
pub(crate) type RunNested = fn(&mut Core, &Statement, &mut dyn Net) -> bool;

/// Who runs statements of a kind.
#[derive(Clone, Copy)]
pub(crate) enum Runner {
    /// The executor, which tells of each whether it has rows.
    Executor,
    /// The session; the answer is an OK.
    Session(RunSession),
    /// The session; the answer is a result set.
    Rows(Columns, SendRows),
    /// The statement that it names, with that one's answer.
    Nested(RunNested),
    /// Nobody: 1235 with these words.
    Refused(fn(&Statement) -> &str),
}

/// What the OK of a statement says that the session ran.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    /// Rows changed, as MySQL counts them.
    pub affected_rows: u64,
    /// Words for the client.
    pub info: &'static str,
}

impl From<()> for Done {
    fn from((): ()) -> Done {
        Done::default()
    }
}

impl Descriptor {
    /// A statement of the executor that every transaction and PREPARE take.
    pub const PLAIN: Descriptor = Descriptor {
        runner: Runner::Executor,
        counter: None,
        implicit_commit: false,
        in_read_only: true,
        under_lock_tables: true,
        preparable: true,
        diagnostics: DiagnosticsUse::Clears,
        locks: LockDuration::Transaction,
        with_expired_password: false,
        needs: None,
    };

    /// A statement that changes definitions or accounts.
    pub const DDL: Descriptor =
        Descriptor { implicit_commit: true, in_read_only: false, ..Descriptor::PLAIN };

    /// The same, counted.
    pub const fn counts(self, counter: Counter) -> Descriptor {
        Descriptor { counter: Some(counter), ..self }
    }

    /// The same, for clients whose password expired, too.
    pub const fn with_expired_password(self) -> Descriptor {
        Descriptor { with_expired_password: true, ..self }
    }

    /// The same, refused by PREPARE.
    pub const fn not_preparable(self) -> Descriptor {
        Descriptor { preparable: false, ..self }
    }

    /// The same, refused by LOCK TABLES.
    pub const fn not_under_lock_tables(self) -> Descriptor {
        Descriptor { under_lock_tables: false, ..self }
    }

    /// The same, which looks at the diagnostics area. That is no matter for a prepared statement.
    pub const fn with_diagnostics(self, diagnostics: DiagnosticsUse) -> Descriptor {
        Descriptor { diagnostics, ..self.not_preparable() }
    }
}
