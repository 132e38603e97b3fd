//! What a session knows of its transaction. Locks and changes themselves are the engine's and the table cache's.
//!
//! 1. `open` is what the client is told; the engine's transaction begins with the first write. 2. What a transaction
//! is (its isolation level, READ ONLY) is settled before it begins and stays: SET TRANSACTION of the session is about
//! the next one. 3. Savepoints are those of the open transaction, oldest first; no two have the same name.

use crate::env::Env;
use crate::errors::SessionError;
use crate::registry;
use executor::SqlError;
use instrument::TransactionKind;
use parser::ast::Isolation;

/// What SET TRANSACTION says of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Characteristics {
    /// Isolation level.
    pub isolation: Isolation,
    /// It writes no table that other sessions know.
    pub read_only: bool,
}

impl Default for Characteristics {
    fn default() -> Self {
        Characteristics { isolation: Isolation::RepeatableRead, read_only: false }
    }
}

/// What becomes of a statement's metadata locks where no autocommit ends it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Holding {
    /// They are the transaction's.
    #[default]
    Transaction,
    /// The statement commits by itself: no transaction begins with it.
    Nothing,
    /// Those that were taken since this mark go with the statement.
    Since(usize),
}

/// Where ROLLBACK TO goes back to.
#[derive(Debug)]
pub(crate) struct Savepoint {
    /// In lower case.
    pub name: String,
    pub mark: engine::UndoMark,
    /// The metadata locks that it had.
    pub locked: usize,
    /// The transaction had read or written a table.
    pub begun: bool,
}

/// The transaction of a session, or what its next one will be. What each statement looks at comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Transaction {
    /// What becomes of the present statement's metadata locks.
    pub holding: Holding,
    /// A transaction was begun explicitly, or autocommit is off and a statement began one.
    pub open: bool,
    /// They were set for that one alone.
    pub one_shot: bool,
    /// What this transaction is, or else the next one.
    pub characteristics: Characteristics,
    /// Savepoints of this transaction, oldest first.
    pub savepoints: Vec<Savepoint>,
    /// How many metadata locks it had when the statement before ended.
    pub held_before: usize,
    /// What the variables say of transactions.
    pub defaults: Characteristics,
    /// `unique_checks` and `foreign_key_checks`, as the registry has them.
    check_bits: u32,
}

impl Transaction {
    /// Takes over the variables that transactions look at.
    pub fn take_variables(&mut self, env: &Env) {
        let on = |name, bit| if env.vars.number(name) != 0 { bit } else { 0 };
        self.check_bits = on("unique_checks", registry::UNIQUE_CHECKS)
            | on("foreign_key_checks", registry::FOREIGN_KEY_CHECKS);
        self.defaults = Characteristics {
            isolation: isolation_numbered(env.vars.number("transaction_isolation")),
            read_only: env.vars.number("transaction_read_only") != 0,
        };
    }

    /// What lists show of the transaction besides its locks.
    pub fn bits(&self) -> u32 {
        self.characteristics.isolation as u32
            | if self.characteristics.read_only { registry::READ_ONLY } else { 0 }
            | self.check_bits
    }

    /// What events tell of the transaction.
    pub fn kind(&self) -> TransactionKind {
        let Characteristics { isolation, read_only } = self.characteristics;
        TransactionKind { is_read_only: read_only, isolation: isolation as u8 }
    }

    /// Whether a READ ONLY transaction is open.
    pub fn is_read_only(&self) -> bool {
        self.open && self.characteristics.read_only
    }

    /// Sets a savepoint; one of the same name is forgotten.
    pub fn set_savepoint(&mut self, savepoint: Savepoint) {
        self.savepoints.retain(|other| other.name != savepoint.name);
        self.savepoints.push(savepoint);
    }

    /// Position of a savepoint.
    ///
    /// # Errors
    /// 1305.
    pub fn savepoint(&self, name: &str) -> Result<usize, SqlError> {
        let lower = name.to_lowercase();
        let at = self.savepoints.iter().position(|other| other.name == lower);
        at.ok_or_else(|| SqlError::from(SessionError::DoesNotExist("SAVEPOINT", name)))
    }
}

/// The level with this number in `transaction_isolation`.
pub(crate) fn isolation_numbered(number: u64) -> Isolation {
    match number {
        0 => Isolation::ReadUncommitted,
        1 => Isolation::ReadCommitted,
        3 => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}
