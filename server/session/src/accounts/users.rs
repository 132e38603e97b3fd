//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD.

use super::passwords::{Made, NewPassword, has_password, refuse_factors};
use super::{Changes, operation_failed, options};
use crate::core::Core;
use crate::errors::{self, SessionError};
use access::{Account, AccountName, Accounts, Privileges};
use executor::{SqlError, WarningLevel};
use host::clock::now_us;
use parser::ast::{self, AccountOption, AccountSpec, AlterUser, CreateUser, Secret, SetPassword};
use wire::auth::Plugin;

impl Core {
    /// CREATE USER; the passwords that were made.
    pub(crate) fn create_users(&mut self, create: &CreateUser) -> Result<Vec<Made>, SqlError> {
        self.change_accounts(|core, accounts, changes| {
            let mut there = Vec::new();
            let mut made = Vec::new();
            for spec in &create.accounts {
                let name = core.account_name(&spec.account);
                core.check_length(&name)?;
                if accounts.find(&name).is_some()
                    || changes.changed.iter().any(|account| account.name == name)
                {
                    there.push(name);
                    continue;
                }
                let mut account = Account::new(name, Plugin::CachingSha2.name());
                options::apply(&mut account, &create.options)?;
                made.extend(core.identify(&mut account, spec, true)?);
                account.expired = create.options.contains(&AccountOption::Expire);
                core.fit_plugin(&mut account, &create.options)?;
                core.set_default_roles(accounts, &mut account, &create.default_roles)?;
                changes.changed.push(account);
            }
            core.refuse_existing("CREATE USER", create.if_not_exists, &there)?;
            Ok(made)
        })
    }

    /// CREATE ROLE.
    pub(crate) fn create_roles(
        &mut self,
        if_not_exists: bool,
        roles: &[ast::Account],
    ) -> Result<(), SqlError> {
        self.change_accounts(|core, accounts, changes| {
            let mut there = Vec::new();
            for role in roles {
                let name = core.account_name(role);
                core.check_length(&name)?;
                if changes.account(accounts, &name).is_some() {
                    there.push(name);
                    continue;
                }
                let role = Account::new(name, Plugin::CachingSha2.name());
                let changed_us = now_us();
                changes.changed.push(Account { locked: true, expired: true, changed_us, ..role });
            }
            // Those that are there are no changes.
            changes.changed.retain(|account| !there.contains(&account.name));
            core.refuse_existing("CREATE ROLE", if_not_exists, &there)
        })
    }

    fn refuse_existing(
        &mut self,
        operation: &str,
        if_not_exists: bool,
        there: &[AccountName],
    ) -> Result<(), SqlError> {
        if !there.is_empty() && !if_not_exists {
            return Err(operation_failed(operation, there));
        }
        for name in there {
            let error = SqlError::from(SessionError::AuthorizationIdExists(&name.to_string()));
            self.env.warn_of(WarningLevel::Note, &error);
        }
        Ok(())
    }

    /// Takes an account's plugin and password.
    fn identify(
        &self,
        account: &mut Account,
        spec: &AccountSpec,
        is_new: bool,
    ) -> Result<Option<Made>, SqlError> {
        refuse_factors(spec)?;
        let plugin = spec.identified.as_ref().and_then(|identified| identified.plugin.as_ref());
        if let Some(plugin) = plugin {
            if plugin == "sha256_password" {
                return Err(errors::unsupported("sha256_password"));
            }
            let known = self.env.server.plugin(plugin);
            let plugin = known.ok_or(SessionError::UnknownPlugin(plugin))?;
            let changes = account.plugin != plugin.name() || !plugin.has_passwords();
            if changes && spec.retain_current {
                let name = &account.name;
                return Err(SessionError::PluginChanges(&name.user, &name.host).into());
            }
            account.plugin = plugin.name().to_string();
        }
        if spec.discard_old {
            account.second_secret = None;
        }
        let none = NewPassword { secret: &Secret::None, replace: None, retain_current: false };
        match NewPassword::of(spec) {
            Some(new) => {
                // Another plugin alone is no password yet.
                if is_new || *new.secret != Secret::None {
                    self.check_policy(account, &new)?;
                }
                let made = self.give_password(account, &new)?;
                // Who was given another plugin and no password has to choose one.
                account.expired = !is_new && *new.secret == Secret::None && has_password(account);
                Ok(made)
            }
            None if is_new => {
                self.check_policy(account, &none)?;
                self.give_password(account, &none)
            }
            None => Ok(None),
        }
    }

    /// ALTER USER; the passwords that were made.
    pub(crate) fn alter_users(&mut self, alter: &AlterUser) -> Result<Vec<Made>, SqlError> {
        let made = self.change_accounts(|core, accounts, changes| {
            let (mut missing, mut made) = (Vec::new(), Vec::new());
            for spec in &alter.accounts {
                let name = core.account_name(&spec.account);
                let new = NewPassword::of(spec);
                core.check_expired(&name, new.as_ref())?;
                let Some(account) = changes.account(accounts, &name) else {
                    // Which account is not there, only those hear who may alter it.
                    core.check_create_user()?;
                    missing.push(name);
                    continue;
                };
                if is_own_password(core, alter, spec, &name) {
                    let of_two = spec.retain_current || spec.discard_old;
                    core.check_own_password(account, new.as_ref(), of_two)?;
                } else if !is_own_default_role(core, alter, &name) {
                    core.check_create_user()?;
                    core.may_change(account)?;
                }
                if let Some(new) = new {
                    core.check_replaced(account, &new)?;
                }
                options::apply(account, &alter.options)?;
                made.extend(core.identify(account, spec, false)?);
                account.expired |= alter.options.contains(&AccountOption::Expire);
                core.fit_plugin(account, &alter.options)?;
                if let Some(roles) = &alter.default_role {
                    let names = core.roles_of_set(accounts, account, roles);
                    core.set_default_roles_named(accounts, account, names)?;
                }
            }
            if !missing.is_empty() && !alter.if_exists {
                return Err(operation_failed("ALTER USER", &missing));
            }
            missing.iter().for_each(|name| core.note_unknown_account(name));
            Ok(made)
        })?;
        self.were_altered(alter);
        Ok(made)
    }

    /// What sessions and logins keep of accounts that were altered.
    fn were_altered(&mut self, alter: &AlterUser) {
        let has = &alter.options;
        for spec in &alter.accounts {
            let name = self.account_name(&spec.account);
            if has.contains(&AccountOption::Lock(false)) {
                self.env.server.logins.forget(&name);
            }
            if has.iter().any(|option| matches!(option, AccountOption::Limit(..))) {
                self.env.server.logins.forget_used(&name);
            }
            let is_new = NewPassword::of(spec).is_some_and(|new| *new.secret != Secret::None);
            if is_new && !has.contains(&AccountOption::Expire) {
                self.password_was_set(&name);
            }
        }
    }

    /// An account has a new password: a session whose own expired may go on.
    fn password_was_set(&mut self, name: &AccountName) {
        if *name == self.env.login.rights.name {
            self.env.login.password_expired = false;
            self.env.judge_limits();
        }
    }

    /// Whose password expired gives itself another one, and nothing to others.
    ///
    /// # Errors
    /// 1820.
    fn check_expired(
        &self,
        name: &AccountName,
        new: Option<&NewPassword<'_>>,
    ) -> Result<(), SqlError> {
        let is_own = *name == self.env.login.rights.name;
        let sets = is_own && new.is_some_and(|new| *new.secret != Secret::None);
        match self.env.login.password_expired && !sets {
            true => Err(SessionError::MustChangePassword.into()),
            false => Ok(()),
        }
    }

    /// SET PASSWORD; the password that was made.
    pub(crate) fn set_password(&mut self, set: &SetPassword) -> Result<Vec<Made>, SqlError> {
        let name = self.account_name(set.account.as_ref().unwrap_or(&ast::Account::Current));
        let made = self.change_accounts(|core, accounts, changes| {
            if name != core.env.login.rights.name
                && core.env.login.rights.check_schema("mysql", Privileges::UPDATE).is_err()
            {
                return Err(core.env.login.rights.denied_schema("mysql").into());
            }
            let account = changes.account(accounts, &name).ok_or(SessionError::NoSuchUser)?;
            core.may_change(account)?;
            if !has_password(account) {
                return Err(SessionError::PasswordNotStored(&name.user, &name.host).into());
            }
            let random = Secret::Random;
            let given = set.password.clone().map(Secret::Password);
            let new = NewPassword {
                secret: given.as_ref().unwrap_or(&random),
                replace: set.replace.as_ref().map(|password| &password[..]),
                retain_current: set.retain_current,
            };
            core.check_expired(&name, Some(&new))?;
            if name == core.env.login.rights.name {
                core.check_own_password(account, Some(&new), set.retain_current)?;
            }
            core.check_replaced(account, &new)?;
            core.check_policy(account, &new)?;
            let made = core.give_password(account, &new)?;
            Ok(made.into_iter().collect())
        })?;
        self.password_was_set(&name);
        Ok(made)
    }

    /// DROP USER and DROP ROLE.
    pub(crate) fn drop_accounts(
        &mut self,
        operation: &str,
        if_exists: bool,
        written: &[ast::Account],
    ) -> Result<(), SqlError> {
        self.change_accounts(|core, accounts, changes| {
            let mut missing = Vec::new();
            for written in written {
                let name = core.account_name(written);
                match accounts.find(&name).filter(|_| !changes.gone.contains(&name)) {
                    Some(account) => {
                        core.may_change(account)?;
                        // DROP ROLE alone is about roles, who cannot log in.
                        if operation == "DROP ROLE" && !account.locked {
                            core.needs_create_user(Privileges::DELETE)?;
                        }
                        core.refuse_mandatory(accounts, &name)?;
                        changes.gone.push(name);
                    }
                    None => missing.push(name),
                }
            }
            if !missing.is_empty() && !if_exists {
                return Err(operation_failed(operation, &missing));
            }
            missing.iter().for_each(|name| core.note_unknown_account(name));
            forget_roles(accounts, changes);
            Ok(())
        })
    }

    /// RENAME USER.
    pub(crate) fn rename_users(
        &mut self,
        pairs: &[(ast::Account, ast::Account)],
    ) -> Result<(), SqlError> {
        self.change_accounts(|core, accounts, changes| {
            let mut failed = Vec::new();
            for (from, to) in pairs {
                let (from, to) = (core.account_name(from), core.account_name(to));
                core.check_length(&to)?;
                let is_role = |a: &std::sync::Arc<Account>| a.roles.contains_key(&from);
                if accounts.all().iter().any(is_role) {
                    return Err(SessionError::RoleRenamed.into());
                }
                let known = accounts.find(&to).is_some() && !changes.gone.contains(&to);
                let taken = known || changes.changed.iter().any(|account| account.name == to);
                let Some(account) = changes.account(accounts, &from).filter(|_| !taken) else {
                    failed.push(from);
                    continue;
                };
                account.name = to;
                changes.gone.push(from);
            }
            if !failed.is_empty() {
                return Err(operation_failed("RENAME USER", &failed));
            }
            for account in &changes.changed {
                core.may_change(account)?;
            }
            Ok(())
        })
    }

    /// The default roles of a new account.
    fn set_default_roles(
        &self,
        accounts: &Accounts,
        account: &mut Account,
        roles: &[ast::Account],
    ) -> Result<(), SqlError> {
        let roles: Vec<AccountName> = roles.iter().map(|role| self.account_name(role)).collect();
        self.may_give_roles(accounts, &roles)?;
        for role in roles {
            let Some(found) = accounts.find(&role) else {
                return Err(SessionError::AuthorizationIdMissing(&role.quoted()).into());
            };
            self.may_change(found)?;
            // CREATE USER grants them, too.
            account.roles.entry(role.clone()).or_insert(false);
            account.default_roles.insert(role);
        }
        Ok(())
    }
}

/// ALTER USER own IDENTIFIED BY, and nothing else.
fn is_own_password(core: &Core, alter: &AlterUser, spec: &AccountSpec, name: &AccountName) -> bool {
    let names_plugin = spec.identified.as_ref().is_some_and(|given| given.plugin.is_some());
    !names_plugin
        && alter.options.is_empty()
        && alter.default_role.is_none()
        && *name == core.env.login.rights.name
}

/// ALTER USER own DEFAULT ROLE.
fn is_own_default_role(core: &Core, alter: &AlterUser, name: &AccountName) -> bool {
    alter.default_role.is_some() && alter.options.is_empty() && *name == core.env.login.rights.name
}

/// Takes roles that go from all that have them.
fn forget_roles(accounts: &Accounts, changes: &mut Changes) {
    let gone = changes.gone.clone();
    let has = |account: &Account| gone.iter().any(|role| account.roles.contains_key(role));
    let having = accounts.all().iter().filter(|a| has(a) && !changes.gone.contains(&a.name));
    let names: Vec<AccountName> = having.map(|account| account.name.clone()).collect();
    for name in names {
        if let Some(account) = changes.account(accounts, &name) {
            for role in &gone {
                account.roles.remove(role);
                account.default_roles.remove(role);
            }
        }
    }
}
