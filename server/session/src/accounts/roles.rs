//! Roles: who has them, which are active.

use crate::accounts::operation_failed;
use crate::core::Core;
use crate::errors::SessionError;
use access::{Account, AccountName, Accounts, Denied, Privileges};
use executor::SqlError;
use parser::ast::{self, RoleSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// 3530.
fn role_not_granted(role: &AccountName, to: &AccountName) -> SqlError {
    SessionError::RoleNotGranted(&role.quoted(), &to.quoted()).into()
}

impl Core {
    /// Grants roles to accounts.
    pub(super) fn grant_roles(
        &mut self,
        roles: &[AccountName],
        to: &[ast::Account],
        with_admin: bool,
    ) -> Result<(), SqlError> {
        self.change_accounts(|core, accounts, changes| {
            core.may_give_roles(accounts, roles)?;
            for to in to {
                let to = core.account_name(to);
                let unknown = |name: &AccountName| {
                    SqlError::from(SessionError::UnknownAuthorizationId(&name.quoted()))
                };
                let Some(receiver) = accounts.find(&to) else { return Err(unknown(&to)) };
                core.may_change(receiver)?;
                for role in roles {
                    let Some(given) = accounts.find(role) else { return Err(unknown(role)) };
                    core.may_change(given)?;
                    if *role == to || accounts.has_role(role, &to) {
                        let (role, to) = (role.quoted(), to.quoted());
                        return Err(SessionError::RoleLoop(&to, &role).into());
                    }
                    if let Some(account) = changes.account(accounts, &to) {
                        *account.roles.entry(role.clone()).or_default() |= with_admin;
                    }
                }
            }
            Ok(())
        })
    }

    /// Takes roles from accounts.
    pub(super) fn revoke_roles(
        &mut self,
        roles: &[AccountName],
        revoke: &ast::Revoke,
    ) -> Result<(), SqlError> {
        self.change_accounts(|core, accounts, changes| {
            core.may_give_roles(accounts, roles)?;
            for from in &revoke.from {
                let from = core.account_name(from);
                let unknown = |name: &AccountName| {
                    SqlError::from(SessionError::UnknownAuthorizationId(&name.quoted()))
                };
                let Some(holder) = accounts.find(&from) else {
                    match revoke.ignore_unknown {
                        true => core.warn_unknown(&from),
                        false => return Err(unknown(&from)),
                    }
                    continue;
                };
                core.may_change(holder)?;
                for role in roles {
                    core.refuse_mandatory(accounts, role)?;
                    match accounts.find(role) {
                        Some(taken) => core.may_change(taken)?,
                        None if revoke.if_exists => core.warn_missing(&unknown(role)),
                        None => return Err(unknown(role)),
                    }
                    if let Some(account) = changes.account(accounts, &from) {
                        account.roles.remove(role);
                        account.default_roles.remove(role);
                    }
                }
            }
            Ok(())
        })
    }

    /// WITH ADMIN OPTION, ROLE_ADMIN or SUPER.
    ///
    /// # Errors
    /// 1227.
    pub(super) fn may_give_roles(
        &self,
        accounts: &Accounts,
        roles: &[AccountName],
    ) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        let admin = |role: &AccountName| {
            accounts.find(&rights.name).is_some_and(|own| own.roles.get(role) == Some(&true))
        };
        match rights.is_super_or("ROLE_ADMIN") || roles.iter().all(admin) {
            true => Ok(()),
            false => Err(Denied::Needs("WITH ADMIN, ROLE_ADMIN, SUPER".into()).into()),
        }
    }

    /// 3628.
    pub(super) fn refuse_mandatory(
        &self,
        accounts: &Accounts,
        role: &AccountName,
    ) -> Result<(), SqlError> {
        match accounts.mandatory().any(|mandatory| mandatory == role) {
            true => Err(SessionError::MandatoryRole(&role.quoted()).into()),
            false => Ok(()),
        }
    }

    /// The roles that a statement means for an account.
    pub(super) fn roles_of_set(
        &self,
        accounts: &Accounts,
        account: &Account,
        set: &RoleSet,
    ) -> BTreeSet<AccountName> {
        let all = || account.roles.keys().chain(accounts.mandatory()).cloned();
        let named = |list: &[ast::Account]| {
            list.iter().map(|role| self.account_name(role)).collect::<BTreeSet<_>>()
        };
        match set {
            RoleSet::Default => account.default_roles.clone(),
            RoleSet::None => BTreeSet::new(),
            RoleSet::All(except) => {
                let except = named(except);
                all().filter(|role| !except.contains(role)).collect()
            }
            RoleSet::Roles(list) => named(list),
        }
    }

    /// Gives an account its default roles.
    ///
    /// # Errors
    /// 3530.
    pub(super) fn set_default_roles_named(
        &self,
        accounts: &Accounts,
        account: &mut Account,
        roles: BTreeSet<AccountName>,
    ) -> Result<(), SqlError> {
        let has = |role: &AccountName| {
            account.roles.contains_key(role) || accounts.mandatory().any(|m| m == role)
        };
        if let Some(role) = roles.iter().find(|role| !has(role)) {
            return Err(role_not_granted(role, &account.name));
        }
        account.default_roles = roles;
        Ok(())
    }

    /// SET DEFAULT ROLE.
    pub(crate) fn set_default_role(
        &mut self,
        set: &RoleSet,
        to: &[ast::Account],
    ) -> Result<(), SqlError> {
        self.change_accounts(|core, accounts, changes| {
            for to in to {
                let name = core.account_name(to);
                let own = name == core.env.login.rights.name;
                if !own {
                    core.may_default_roles(accounts.find(&name), set)?;
                }
                let Some(account) = changes.account(accounts, &name) else {
                    return Err(match set {
                        RoleSet::None => continue,
                        RoleSet::Roles(roles) if !roles.is_empty() => {
                            role_not_granted(&core.account_name(&roles[0]), &name)
                        }
                        _ => operation_failed("SET DEFAULT ROLE", &[name]),
                    });
                };
                let roles = core.roles_of_set(accounts, account, set);
                core.set_default_roles_named(accounts, account, roles)?;
            }
            Ok(())
        })
    }

    /// Whether the session may say which roles another account has by default; in MySQL's order.
    ///
    /// # Errors
    /// 1227.
    fn may_default_roles(&self, of: Option<&Arc<Account>>, set: &RoleSet) -> Result<(), SqlError> {
        if *set == RoleSet::None {
            self.check_create_user()?;
        }
        of.map_or(Ok(()), |account| self.may_change(account))?;
        self.check_create_user()
    }

    /// SET ROLE.
    pub(crate) fn set_role(&mut self, set: &RoleSet) -> Result<(), SqlError> {
        let accounts = self.all_accounts();
        let name = self.env.login.rights.name.clone();
        let Some(account) = accounts.find(&name) else {
            return match set {
                RoleSet::Roles(roles) if !roles.is_empty() => {
                    Err(role_not_granted(&self.account_name(&roles[0]), &name))
                }
                _ => Ok(()),
            };
        };
        let roles = self.roles_of_set(&accounts, account, set);
        if let Some(role) = roles.iter().find(|role| !accounts.was_given(&name, role)) {
            return Err(role_not_granted(role, &name));
        }
        self.env.activate_roles(&accounts, roles);
        self.tables.is_super = self.env.login.rights.is_super_or("CONNECTION_ADMIN");
        Ok(())
    }

    /// The roles that are active when an account connects.
    pub(crate) fn roles_at_login(
        &self,
        accounts: &Accounts,
        account: &Account,
    ) -> BTreeSet<AccountName> {
        let all = self.env.server.globals.number("activate_all_roles_on_login") != 0;
        let set = if all { RoleSet::All(Vec::new()) } else { RoleSet::Default };
        let roles = self.roles_of_set(accounts, account, &set);
        roles.into_iter().filter(|role| accounts.was_given(&account.name, role)).collect()
    }

    /// SHOW GRANTS ... USING: the account has these roles.
    ///
    /// # Errors
    /// 3530.
    pub(super) fn roles_used(
        &self,
        accounts: &Accounts,
        account: &Account,
        roles: &[ast::Account],
    ) -> Result<BTreeSet<AccountName>, SqlError> {
        let roles: BTreeSet<_> = roles.iter().map(|role| self.account_name(role)).collect();
        match roles.iter().find(|role| !accounts.was_given(&account.name, role)) {
            Some(role) => Err(role_not_granted(role, &account.name)),
            None => Ok(roles),
        }
    }
}

impl Core {
    /// Whether the session may see what others were granted.
    pub(super) fn sees_grants(&self, name: &AccountName) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        let own = *name == rights.name || rights.active().contains(name);
        match own || rights.of_schema("mysql").has(Privileges::SELECT) {
            true => Ok(()),
            false => Ok(rights.check_table("mysql", "user", Privileges::SELECT)?),
        }
    }
}
