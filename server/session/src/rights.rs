//! What a session may do, as its statements ask.
//!
//! 1. Programs remember in which state of the rights they were allowed ([`Env::rights_state`]): whatever makes other rights of
//! them counts it up. 2. Before each command the version of the accounts is compared: one load of a word that seldom changes.

use crate::env::Env;
use access::{AccountName, Accounts, Rights};
use std::collections::BTreeSet;

impl Env {
    /// The session has other rights from now on.
    pub(crate) fn set_rights(&mut self, rights: Rights) {
        *self.login.rights = rights;
        self.rights_are_others();
    }

    fn rights_are_others(&mut self) {
        self.login.rights_version = self.login.rights.version();
        self.login.rights_state = self.login.rights_state.wrapping_add(1);
    }

    /// Takes the accounts as they are now, if somebody changed them.
    #[inline]
    pub(crate) fn refresh_rights(&mut self) {
        if !self.server.catalog.accounts_are(self.login.rights_version) {
            self.take_accounts();
        }
    }

    #[cold]
    fn take_accounts(&mut self) {
        let after = self.server.catalog.accounts_after(self.login.rights.version());
        let Some(accounts) = after else { return };
        self.login.rights.take(&accounts);
        self.rights_are_others();
    }

    /// SET ROLE.
    pub(crate) fn activate_roles(&mut self, accounts: &Accounts, roles: BTreeSet<AccountName>) {
        self.login.rights.activate(accounts, roles);
        self.login.rights.use_schema(self.database.as_deref());
        self.rights_are_others();
    }

    /// The current schema is another one.
    pub(crate) fn rights_in_schema(&mut self) {
        self.login.rights.use_schema(self.database.as_deref());
        self.rights_are_others();
    }

    /// CURRENT_ROLE().
    pub(crate) fn active_roles(&self) -> String {
        let roles: Vec<String> =
            self.login.rights.active().iter().map(AccountName::quoted).collect();
        if roles.is_empty() { "NONE".to_string() } else { roles.join(",") }
    }
}
