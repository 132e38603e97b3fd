//! Accounts: their passwords, and statements about rights and roles, of which there are none to give yet.
//!
//! 1. What is missing is answered as MySQL answers it: an error, or with IF EXISTS a note. Dump files drop before they
//! create. 2. What would make or change something beside a password answers 1235.

use crate::core::Core;
use crate::errors::{self, SessionError};
use crate::show::{send_texts, texts};
use catalog::Account;
use executor::{Environment, ResultColumn, RowSink, SqlError, WarningLevel};
use parser::ast::{self, AlterUser, Grant, Revoke, RoleSet, Secret, SetPassword};
use wire::auth::Plugin;
use wire::handshake::Scramble;

impl Core {
    /// ALTER USER: passwords. Other options answer 1235.
    pub fn alter_user(&mut self, alter: &AlterUser) -> Result<(), SqlError> {
        if alter.default_role.is_some() {
            return Err(errors::unsupported("ALTER USER ... DEFAULT ROLE"));
        }
        if !alter.options.is_empty() {
            return Err(errors::unsupported("ALTER USER with account options"));
        }
        for spec in &alter.accounts {
            if !spec.factors.is_empty() {
                return Err(errors::unsupported("multi-factor authentication"));
            }
            if spec.retain_current || spec.discard_old {
                return Err(errors::unsupported("dual passwords"));
            }
            let mut account = match self.account_of(&spec.account) {
                Ok(account) => account,
                Err(_) if alter.if_exists => {
                    self.note_unknown_account(&spec.account);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(identified) = &spec.identified else { continue };
            if let Some(plugin) = &identified.plugin {
                let plugin =
                    Plugin::from_name(plugin).ok_or(SessionError::UnknownPlugin(plugin))?;
                account.plugin = plugin.name().to_string();
            }
            account.auth_string = secret(&account, &identified.secret)?;
            self.store_account(&account)?;
        }
        Ok(())
    }

    /// SET PASSWORD.
    pub fn set_password(&mut self, set: &SetPassword) -> Result<(), SqlError> {
        if set.retain_current {
            return Err(errors::unsupported("dual passwords"));
        }
        let Some(password) = &set.password else {
            return Err(errors::unsupported("SET PASSWORD TO RANDOM"));
        };
        let written = set.account.as_ref().unwrap_or(&ast::Account::Current);
        let mut account = self.account_of(written).map_err(|_| SessionError::NoSuchUser)?;
        account.auth_string = secret(&account, &Secret::Password(password.clone()))?;
        self.store_account(&account)
    }

    /// The account that a statement names.
    ///
    /// # Errors
    /// 1396: there is none.
    fn account_of(&self, written: &ast::Account) -> Result<Account, SqlError> {
        let (user, host) = match written {
            ast::Account::Named { user, host } => (user.as_str(), host.as_str()),
            ast::Account::Current => (self.env.user.as_str(), self.env.account_host.as_str()),
        };
        let accounts = self.env.server.catalog.accounts();
        let found = accounts.iter().find(|a| a.user == user && a.host.eq_ignore_ascii_case(host));
        found.cloned().ok_or_else(|| {
            SqlError::from(SessionError::OperationFailed(
                "ALTER USER",
                &format!("'{user}'@'{host}'"),
            ))
        })
    }

    fn store_account(&mut self, account: &Account) -> Result<(), SqlError> {
        let deadline = self.env.lock_deadline();
        self.tables.protect_change(self.client.slot(), deadline)?;
        let catalog = std::sync::Arc::clone(&self.env.server.catalog);
        let stored = catalog.set_account(&mut self.client, account);
        self.tables.end_statement(self.client.slot());
        Ok(stored?)
    }

    /// DROP and RENAME of accounts; those that are there stay (1235).
    pub fn drop_accounts(
        &mut self,
        operation: &str,
        if_exists: bool,
        accounts: &[ast::Account],
    ) -> Result<(), SqlError> {
        if accounts.iter().any(|account| self.account_of(account).is_ok()) {
            return Err(errors::unsupported(operation));
        }
        if !if_exists {
            let names: Vec<String> = accounts.iter().map(listed).collect();
            return Err(SessionError::OperationFailed(operation, &names.join(",")).into());
        }
        accounts.iter().for_each(|account| self.note_unknown_account(account));
        Ok(())
    }

    fn note_unknown_account(&mut self, account: &ast::Account) {
        let error = SqlError::from(SessionError::AuthorizationIdMissing(&listed(account)));
        self.env.warn_of(WarningLevel::Note, &error);
    }

    /// GRANT.
    pub fn grant(&self, grant: &Grant) -> Result<(), SqlError> {
        let unknown = grant.to.iter().find(|account| self.account_of(account).is_err());
        let Some(unknown) = unknown else { return Err(errors::unsupported("GRANT")) };
        match grant.on.is_none() && grant.proxy.is_none() {
            true => Err(SessionError::UnknownAuthorizationId(&quoted(unknown)).into()),
            false => Err(SessionError::GrantCreatesNoUser.into()),
        }
    }

    /// REVOKE.
    pub fn revoke(&mut self, revoke: &Revoke) -> Result<(), SqlError> {
        let unknown = revoke.from.iter().find(|account| self.account_of(account).is_err());
        let Some(account) = unknown else { return Err(errors::unsupported("REVOKE")) };
        if revoke.ignore_unknown && revoke.from.len() == 1 {
            let user = match account {
                ast::Account::Named { user, .. } => user,
                ast::Account::Current => &self.env.user,
            };
            let error = SqlError::from(SessionError::AuthorizationIdMissing(user));
            self.env.warn_of(WarningLevel::Warning, &error);
            return Ok(());
        }
        match revoke.on.is_none() && revoke.proxy.is_none() {
            true => Err(SessionError::CannotRevokeAll.into()),
            false => Err(no_such_grant(account)),
        }
    }

    /// SET ROLE.
    pub fn set_role(&self, roles: &RoleSet) -> Result<(), SqlError> {
        match roles {
            RoleSet::Default | RoleSet::None | RoleSet::All(_) => Ok(()),
            RoleSet::Roles(roles) => {
                Err(role_not_granted(roles, &self.env.account().replace('\'', "`")))
            }
        }
    }

    /// SET DEFAULT ROLE.
    pub fn set_default_role(
        &self,
        roles: &RoleSet,
        accounts: &[ast::Account],
    ) -> Result<(), SqlError> {
        match (roles, accounts.first()) {
            (RoleSet::Roles(roles), Some(account)) => {
                Err(role_not_granted(roles, &quoted(account)))
            }
            _ => Ok(()),
        }
    }

    /// SHOW GRANTS ... USING: 1141 or 3530.
    pub fn roles_not_granted(&self, account: &ast::Account, roles: &[ast::Account]) -> SqlError {
        match self.account_of(account) {
            Ok(_) => role_not_granted(roles, &quoted(account)),
            Err(_) => no_such_grant(account),
        }
    }

    /// The column of SHOW GRANTS.
    pub fn grant_columns(
        &self,
        written: Option<&ast::Account>,
    ) -> Result<Vec<ResultColumn>, SqlError> {
        let account = self.granted(written)?;
        Ok(texts(&[&format!("Grants for {}@{}", account.user, account.host)]))
    }

    /// The row of SHOW GRANTS: every account may do everything, so far.
    pub fn show_grants(
        &self,
        written: Option<&ast::Account>,
        sink: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        let Account { user, host, .. } = self.granted(written)?;
        let all = schema::ACCOUNT_PRIVILEGES.join(", ");
        let text = format!("GRANT {all} ON *.* TO `{user}`@`{host}` WITH GRANT OPTION");
        send_texts([&*text], sink)
    }

    fn granted(&self, written: Option<&ast::Account>) -> Result<Account, SqlError> {
        let written = written.unwrap_or(&ast::Account::Current);
        self.account_of(written).map_err(|_| match written {
            ast::Account::Current => {
                SqlError::from(SessionError::Internal("a session without an account"))
            }
            ast::Account::Named { .. } => no_such_grant(written),
        })
    }

    /// The column of SHOW CREATE USER.
    pub fn create_user_columns(
        &self,
        written: &ast::Account,
    ) -> Result<Vec<ResultColumn>, SqlError> {
        let account = self.created(written)?;
        Ok(texts(&[&format!("CREATE USER for {}@{}", account.user, account.host)]))
    }

    /// The row of SHOW CREATE USER.
    pub fn show_create_user(
        &self,
        written: &ast::Account,
        sink: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        let Account { user, host, plugin, auth_string } = self.created(written)?;
        let secret = match std::str::from_utf8(&auth_string) {
            Ok("") => String::new(),
            Ok(text) if !text.contains(['\'', '\\']) => format!(" AS '{text}'"),
            _ => {
                let digits: String = auth_string.iter().map(|b| format!("{b:02X}")).collect();
                format!(" AS 0x{digits}")
            }
        };
        let text = format!(
            "CREATE USER `{user}`@`{host}` IDENTIFIED WITH '{plugin}'{secret} REQUIRE NONE PASSWORD EXPIRE \
             DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD \
             REQUIRE CURRENT DEFAULT"
        );
        send_texts([&*text], sink)
    }

    fn created(&self, written: &ast::Account) -> Result<Account, SqlError> {
        let account = self.account_of(written);
        account.map_err(|_| {
            SqlError::from(SessionError::OperationFailed("SHOW CREATE USER", &listed(written)))
        })
    }
}

/// `'user'@'host'`.
fn listed(account: &ast::Account) -> String {
    match account {
        ast::Account::Named { user, host } => format!("'{user}'@'{host}'"),
        ast::Account::Current => "CURRENT_USER".into(),
    }
}

/// The account's names in backquotes.
fn quoted(account: &ast::Account) -> String {
    listed(account).replace('\'', "`")
}

fn role_not_granted(roles: &[ast::Account], to: &str) -> SqlError {
    SqlError::from(SessionError::RoleNotGranted(&roles.first().map_or(String::new(), quoted), to))
}

fn no_such_grant(account: &ast::Account) -> SqlError {
    match account {
        ast::Account::Named { user, host } => SqlError::from(SessionError::NoSuchGrant(user, host)),
        ast::Account::Current => SqlError::from(SessionError::NoSuchGrant("", "")),
    }
}

/// What is stored for an account's new secret.
fn secret(account: &Account, secret: &Secret) -> Result<Vec<u8>, SqlError> {
    let plugin =
        Plugin::from_name(&account.plugin).ok_or(SessionError::UnknownPlugin(&account.plugin))?;
    match secret {
        Secret::None => Ok(Vec::new()),
        Secret::Password(password) => {
            let mut salt: Scramble = [0; 20];
            if !tls::random(&mut salt) {
                return Err(SessionError::Internal("no randomness for a salt").into());
            }
            Ok(plugin.store(password, &salt).into_bytes())
        }
        Secret::Hash(hash) => {
            let text = String::from_utf8_lossy(hash).into_owned();
            match plugin.accepts_stored(&text) {
                true => Ok(text.into_bytes()),
                false => Err(SessionError::BadPasswordHash.into()),
            }
        }
        Secret::Random => Err(errors::unsupported("IDENTIFIED BY RANDOM PASSWORD")),
    }
}
