//! What a program needs, kept with it, and what is missing.
//!
//! 1. A need is checked where it is found, so that a refused statement learns nothing of what it may not see, and again
//! when the accounts have changed since.

use crate::{AccountName, Accounts, Privileges, Rights};
use std::fmt;

/// A view, and whose rights count inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definer {
    /// Who made it; none: it says INVOKER, and the session's count.
    pub account: Option<AccountName>,
    /// The view, as messages write it.
    pub view: String,
}

/// What is needed of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNeed {
    /// The column.
    pub name: String,
    /// What it or its table must have.
    pub privileges: Privileges,
    /// Nobody named it: all columns were asked for, and its name is not told.
    pub by_star: bool,
}

/// What is needed of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Need {
    /// The view that it is needed in; none: the statement names it itself.
    pub definer: Option<Definer>,
    /// Schema; empty: the privileges are global ones.
    pub schema: String,
    /// Table or view.
    pub table: String,
    /// Privileges that it or any of its columns must have.
    pub privileges: Privileges,
    /// To have SELECT will do as well.
    pub or_read: bool,
    /// What single columns must have.
    pub columns: Vec<ColumnNeed>,
    /// Its rows are locked for a change, though only shown: that takes a privilege to change something.
    pub locks: bool,
}

impl Need {
    /// What is missing.
    ///
    /// # Errors
    /// 1142, 1143, 1227.
    pub fn check(&self, rights: &Rights) -> Result<(), Denied> {
        if rights.are_all() {
            return Ok(());
        }
        if self.schema.is_empty() {
            return rights.check_global(self.privileges, &[], &self.privileges.listed());
        }
        let checked = rights.check_table(&self.schema, &self.table, self.privileges);
        if self.or_read && checked.is_err() {
            rights.check_table(&self.schema, &self.table, Privileges::SELECT)?;
        } else {
            checked?;
        }
        if self.locks {
            self.check_locking(rights)?;
        }
        self.columns.iter().try_for_each(|column| self.check_column(rights, column))
    }

    /// FOR UPDATE; for FOR SHARE it takes no more than to read.
    ///
    /// # Errors
    /// 1142.
    pub fn check_locking(&self, rights: &Rights) -> Result<(), Denied> {
        let any = Privileges::UPDATE | Privileges::DELETE | Privileges::LOCK_TABLES;
        let has = rights.of_table(&self.schema, &self.table)
            | rights.of_columns(&self.schema, &self.table);
        match has.has_any(any) {
            true => Ok(()),
            false => Err(rights.denied_table("SELECT with locking clause".into(), &self.table)),
        }
    }

    /// What is missing for a column.
    ///
    /// # Errors
    /// 1142, 1143.
    pub fn check_column(&self, rights: &Rights, column: &ColumnNeed) -> Result<(), Denied> {
        let Need { schema, table, .. } = self;
        let missing = column.privileges & !rights.of_column(schema, table, &column.name);
        if missing.is_empty() || rights.reads_openly(schema, table, missing) {
            return Ok(());
        }
        let command = missing.listed();
        Err(match column.by_star {
            true => rights.denied_table(command, table),
            false => Denied::Column {
                command,
                who: rights.shown(),
                column: column.name.clone(),
                table: table.clone(),
            },
        })
    }
}

/// What a program needs.
#[derive(Debug, Clone, Default)]
pub struct Needs(pub Vec<Need>);

impl Needs {
    /// Needs that a program keeps: in no more memory than they take.
    pub fn compact(mut needs: Vec<Need>) -> Needs {
        needs.iter_mut().for_each(|need| need.columns.shrink_to_fit());
        needs.shrink_to_fit();
        Needs(needs)
    }

    /// Whether the session may run it.
    ///
    /// # Errors
    /// What is missing; [`Denied::View`] where a view's definer lacks it.
    pub fn check(&self, rights: &Rights, accounts: &Accounts) -> Result<(), Denied> {
        for need in &self.0 {
            match &need.definer {
                None => need.check(rights)?,
                Some(Definer { account, view }) => {
                    let missing = || Denied::View(view.clone());
                    let of_definer = |account| Rights::of_account(accounts, account);
                    let checked = match account {
                        Some(account) => need.check(&of_definer(account).ok_or_else(missing)?),
                        None => need.check(rights),
                    };
                    checked.map_err(|_| missing())?;
                }
            }
        }
        Ok(())
    }

    /// Memory, in bytes.
    pub fn bytes(&self) -> usize {
        let column = |column: &ColumnNeed| size_of::<ColumnNeed>() + column.name.len();
        let columns = |need: &Need| need.columns.iter().map(column).sum::<usize>();
        let names = |need: &Need| need.schema.len() + need.table.len();
        self.0.iter().map(|need| size_of::<Need>() + names(need) + columns(need)).sum()
    }
}

/// Why something may not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// 1142.
    Table {
        /// Privileges that are missing.
        command: String,
        /// The session, as messages write it.
        who: String,
        /// The table.
        table: String,
    },
    /// 1143.
    Column {
        /// Privileges that are missing.
        command: String,
        /// The session, as messages write it.
        who: String,
        /// The column.
        column: String,
        /// Its table.
        table: String,
    },
    /// 1044.
    Schema {
        /// The session, as messages write it.
        who: String,
        /// The schema.
        schema: String,
    },
    /// 1045 of a client that is in already.
    Client {
        /// The session, as messages write it.
        who: String,
        /// It gave a password.
        used_password: bool,
    },
    /// 1227: one of these privileges.
    Needs(String),
    /// 1356: who made this view lacks rights.
    View(String),
}

impl Denied {
    /// Number and SQLSTATE.
    pub fn code(&self) -> (u16, &'static str) {
        match self {
            Denied::Table { .. } => (1142, "42000"),
            Denied::Column { .. } => (1143, "42000"),
            Denied::Schema { .. } => (1044, "42000"),
            Denied::Client { .. } => (1045, "28000"),
            Denied::Needs(_) => (1227, "42000"),
            Denied::View(_) => (1356, "HY000"),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denied::Table { command, who, table } => {
                write!(f, "{command} command denied to user {who} for table '{table}'")
            }
            Denied::Column { command, who, column, table } => write!(
                f,
                "{command} command denied to user {who} for column '{column}' in table '{table}'"
            ),
            Denied::Schema { who, schema } => {
                write!(f, "Access denied for user {who} to database '{schema}'")
            }
            Denied::Client { who, used_password } => {
                let using = if *used_password { "YES" } else { "NO" };
                write!(f, "Access denied for user {who} (using password: {using})")
            }
            Denied::Needs(privileges) => write!(
                f,
                "Access denied; you need (at least one of) the {privileges} privilege(s) for this \
                 operation"
            ),
            Denied::View(view) => write!(
                f,
                "View '{view}' references invalid table(s) or column(s) or function(s) or definer/invoker of view \
                 lack rights to use them"
            ),
        }
    }
}

impl std::error::Error for Denied {}
