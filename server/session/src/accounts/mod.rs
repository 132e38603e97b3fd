//! Statements about accounts, roles and privileges.
//!
//! Reading order: this file (how accounts are changed), `users`, `options`, `passwords`, `roles`, `grant`,
//! `restrictions`, `shown`.
//!
//! 1. A statement changes all of its accounts or none: what is to be is computed of one version, stored in one transaction,
//! and published then. 2. Nobody changes an account that has SYSTEM_USER without having it. 3. A password is in no message, and
//! its digest in no error.

mod grant;
mod options;
mod passwords;
mod restrictions;
mod roles;
mod shown;
mod users;

pub use passwords::make_password;
pub(crate) use passwords::send_made;

use crate::core::Core;
use crate::errors::SessionError;
use access::{Account, AccountName, Accounts, Denied, Privileges};
use executor::{Environment, SqlError, WarningLevel};
use parser::ast;
use std::sync::Arc;

/// Characters of a user's name.
const USER_CHARS_MAX: usize = 32;
/// Bytes of a host's name.
const HOST_BYTES_MAX: usize = 255;

const SYSTEM_USER: &str = "SYSTEM_USER";

/// The accounts that a statement leaves behind.
#[derive(Default)]
struct Changes {
    changed: Vec<Account>,
    gone: Vec<AccountName>,
}

impl Changes {
    /// The account to be changed, as earlier parts of the statement left it.
    fn account(&mut self, accounts: &Accounts, name: &AccountName) -> Option<&mut Account> {
        let at = match self.changed.iter().position(|account| account.name == *name) {
            Some(at) => at,
            None => {
                let found = accounts.find(name).filter(|_| !self.gone.contains(name))?;
                self.changed.push(Account::clone(found));
                self.changed.len() - 1
            }
        };
        self.changed.get_mut(at)
    }
}

/// `'user'@'host'`s, as a message lists them.
fn listed(names: &[AccountName]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// 1396 of accounts.
fn operation_failed(operation: &str, names: &[AccountName]) -> SqlError {
    SessionError::OperationFailed(operation, &listed(names)).into()
}

/// 1141.
fn no_such_grant(name: &AccountName) -> SqlError {
    SessionError::NoSuchGrant(&name.user, &name.host).into()
}

impl Core {
    /// The account that a statement names, which may not be there.
    fn account_name(&self, written: &ast::Account) -> AccountName {
        match written {
            ast::Account::Named { user, host } => AccountName::new(user, host),
            ast::Account::Current => self.env.login.rights.name.clone(),
        }
    }

    /// CREATE USER, or what it takes to write the `mysql` schema that way.
    ///
    /// # Errors
    /// 1227.
    pub(crate) fn needs_create_user(&self, of_mysql: Privileges) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        match rights.of_schema("mysql").has(of_mysql) {
            true => Ok(()),
            false => Ok(rights.check_global(Privileges::CREATE_USER, &[], "CREATE USER")?),
        }
    }

    /// Who may alter accounts.
    fn check_create_user(&self) -> Result<(), SqlError> {
        self.needs_create_user(Privileges::UPDATE)
    }

    /// IGNORE UNKNOWN USER.
    fn warn_unknown(&mut self, name: &AccountName) {
        let error = SqlError::from(SessionError::AuthorizationIdMissing(&name.user));
        self.env.warn_of(WarningLevel::Warning, &error);
    }

    /// IF EXISTS.
    fn warn_missing(&mut self, error: &SqlError) {
        self.env.warn_of(WarningLevel::Warning, error);
    }

    fn all_accounts(&self) -> Arc<Accounts> {
        self.env.server.catalog.accounts()
    }

    /// Changes accounts: nobody else does meanwhile. What `plan` returns is stored, if it went well.
    fn change_accounts<T>(
        &mut self,
        plan: impl FnOnce(&mut Core, &Accounts, &mut Changes) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if self.env.server.skips_grants() {
            return Err(SessionError::GrantTablesSkipped.into());
        }
        let deadline = self.env.lock_deadline();
        let locked = self.tables.lock_accounts(self.client.slot(), deadline);
        let done = locked.map_err(SqlError::from).and_then(|()| {
            let accounts = self.all_accounts();
            let mut changes = Changes::default();
            let value = plan(self, &accounts, &mut changes)?;
            let catalog = Arc::clone(&self.env.server.catalog);
            if !changes.changed.is_empty() || !changes.gone.is_empty() {
                catalog.change_accounts(&mut self.client, &changes.changed, &changes.gone)?;
            }
            Ok(value)
        });
        self.tables.end_statement(self.client.slot());
        self.env.refresh_rights();
        done
    }

    /// An account that has SYSTEM_USER is changed by such accounts alone.
    ///
    /// # Errors
    /// 1227.
    fn may_change(&self, account: &Account) -> Result<(), SqlError> {
        let is_system = account.grants.dynamic.contains_key(SYSTEM_USER);
        match is_system && !self.env.login.rights.dynamic(SYSTEM_USER) {
            true => Err(Denied::Needs(SYSTEM_USER.into()).into()),
            false => Ok(()),
        }
    }

    fn note_unknown_account(&mut self, name: &AccountName) {
        let error = SqlError::from(SessionError::AuthorizationIdMissing(&name.to_string()));
        self.env.warn_of(WarningLevel::Note, &error);
    }

    /// Names are no longer than the dictionary has room.
    ///
    /// # Errors
    /// 1470.
    fn check_length(&self, name: &AccountName) -> Result<(), SqlError> {
        if name.user.chars().count() > USER_CHARS_MAX {
            return Err(SessionError::NameTooLong(&name.user, "user name", "32").into());
        }
        if name.host.len() > HOST_BYTES_MAX {
            return Err(SessionError::NameTooLong(&name.host, "host name", "255").into());
        }
        Ok(())
    }
}
