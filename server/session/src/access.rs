//! Who may write and who may connect: `read_only`, `super_read_only`, `offline_mode`, `max_user_connections`.
//!
//! 1. `read_only`, `offline_mode` and `init_connect` are not about those who have SUPER or CONNECTION_ADMIN.
//! 2. `super_read_only` is never on without `read_only`.

use crate::core::Core;
use crate::env::Login;
use crate::errors::SessionError;
use crate::logins::{DAY_US, Use, exceeded};
use crate::process::Severity;
use crate::server::Server;
use crate::variables::{self, Value};
use access::{Account, AccountName, Lifetime, Require};
use catalog::ReadOnly;
use executor::SqlError;
use parser::ast::{self, RoleSet, Statement};
use std::sync::Arc;
use wire::constants::Capabilities;

const READ_ONLY: &str = "read_only";
const SUPER_READ_ONLY: &str = "super_read_only";
const OFFLINE_MODE: &str = "offline_mode";
const MANDATORY_ROLES: &str = "mandatory_roles";
const PARTIAL_REVOKES: &str = "partial_revokes";

/// The roles that `mandatory_roles` names, as SET ROLE would.
///
/// # Errors
/// 1231.
fn roles_named(text: &str) -> Result<Vec<AccountName>, SqlError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let wrong = || SqlError::from(SessionError::WrongValue(MANDATORY_ROLES, text));
    let written = format!("SET ROLE {text}");
    match parser::parse(written.as_bytes(), parser::SqlMode::DEFAULT) {
        Ok(Statement::SetRole(RoleSet::Roles(roles))) => roles
            .iter()
            .map(|role| match role {
                ast::Account::Named { user, host } => Ok(AccountName::new(user, host)),
                ast::Account::Current => Err(wrong()),
            })
            .collect(),
        _ => Err(wrong()),
    }
}

/// What the options say when the server starts.
pub fn start(server: &Server) {
    let globals = &server.globals;
    if globals.number(SUPER_READ_ONLY) != 0 {
        globals.set(variables::id(READ_ONLY), Value::UInt(1));
    }
    let level = level(globals.number(READ_ONLY) != 0, globals.number(SUPER_READ_ONLY) != 0);
    server.catalog.set_read_only(level);
    let accounts = server.catalog.accounts();
    let is_restricted = accounts.all().iter().any(|a| !a.grants.restrictions.is_empty());
    if is_restricted && globals.number(PARTIAL_REVOKES) == 0 {
        // What was taken of single schemas means nothing where their names are patterns.
        globals.set(variables::id(PARTIAL_REVOKES), Value::UInt(1));
        let text =
            "partial_revokes is ON: accounts have privileges that were taken of single schemas";
        server.host.log(Severity::Warning, text);
    }
    if globals.number(PARTIAL_REVOKES) != 0 {
        server.catalog.set_exact_schemas(true);
    }
    let id = variables::id(MANDATORY_ROLES);
    if let Ok(roles) = roles_named(&id.get().kind.show(&globals.value(id)))
        && !roles.is_empty()
    {
        server.catalog.set_mandatory_roles(roles);
    }
}

fn level(users: bool, all: bool) -> ReadOnly {
    match (users, all) {
        (_, true) => ReadOnly::All,
        (true, false) => ReadOnly::Users,
        (false, false) => ReadOnly::No,
    }
}

impl Core {
    /// SET GLOBAL of a variable of this module.
    pub(crate) fn set_access(
        &mut self,
        name: &'static str,
        text: &str,
        on: bool,
    ) -> Result<(), SqlError> {
        match name {
            MANDATORY_ROLES => {
                let roles = roles_named(text)?;
                self.check_mandatory(&roles)?;
                self.env.server.catalog.set_mandatory_roles(roles);
                return Ok(());
            }
            PARTIAL_REVOKES => {
                let accounts = self.env.server.catalog.accounts();
                let some = accounts.all().iter().any(|a| !a.grants.restrictions.is_empty());
                if some && !on {
                    return Err(SessionError::PartialRevokesExist.into());
                }
                self.env.server.catalog.set_exact_schemas(on);
                return Ok(());
            }
            _ => {}
        }
        if name == OFFLINE_MODE {
            if on {
                self.env.server.registry.kill_where(|is_super| !is_super);
            }
            return Ok(());
        }
        let globals = &self.env.server.globals;
        let all =
            if name == SUPER_READ_ONLY { on } else { on && globals.number(SUPER_READ_ONLY) != 0 };
        let users = if name == READ_ONLY { on } else { on || globals.number(READ_ONLY) != 0 };
        // As in MySQL: the stronger one may be switched where the weaker one is on.
        let is_free = name == SUPER_READ_ONLY && (!on || globals.number(READ_ONLY) != 0);
        if !is_free && (self.is_in_transaction() || self.tables.tables_are_locked()) {
            return Err(SessionError::LockedOrInTransaction.into());
        }
        executor::in_turns(None, &mut self.context(), |context| {
            let (slot, deadline) = (context.client.slot(), context.env.lock_deadline());
            Ok(context.tables.set_read_only(slot, level(users, all), deadline)?)
        })?;
        let globals = &self.env.server.globals;
        globals.set(variables::id(READ_ONLY), Value::UInt(u64::from(users)));
        globals.set(variables::id(SUPER_READ_ONLY), Value::UInt(u64::from(all)));
        Ok(())
    }

    /// No role that everybody has has SYSTEM_USER: nobody could take it any more.
    ///
    /// # Errors
    /// 3880.
    fn check_mandatory(&self, roles: &[AccountName]) -> Result<(), SqlError> {
        let accounts = self.env.server.catalog.accounts();
        let system = |role: &&AccountName| {
            accounts.find(role).is_some_and(|a| a.grants.dynamic.contains_key("SYSTEM_USER"))
        };
        match roles.iter().find(system) {
            Some(role) => Err(SessionError::MandatorySystemUser(&role.quoted()).into()),
            None => Ok(()),
        }
    }

    /// Whether the session is one that limits are not about: SUPER or CONNECTION_ADMIN.
    pub(crate) fn is_super(&self) -> bool {
        self.env.login.rights.is_super_or("CONNECTION_ADMIN")
    }

    /// Whether a client that has proved who it is may stay; an account is not there without grant tables.
    ///
    /// # Errors
    /// 1045, 1203, 1226, 1862, 3032, 3118.
    pub(crate) fn admit_account(&mut self, account: Option<&Account>) -> Result<(), SqlError> {
        self.tables.is_super = self.is_super();
        let is_system = self.env.login.rights.dynamic("SYSTEM_USER");
        self.env.server.registry.set_super(self.slot, self.tables.is_super, is_system);
        if let Some(account) = account {
            self.admit_by_account(account)?;
        }
        let server = &self.env.server;
        if server.globals.number(OFFLINE_MODE) != 0 && !self.is_super() {
            return Err(SessionError::Offline.into());
        }
        let user = &self.env.login.user;
        let most = server.globals.number("max_user_connections");
        let own = account.map_or(0, |account| account.limits.at_once);
        if own == 0 && most > 0 && server.registry.count_of(user, self.env.link.id) >= most {
            return Err(SessionError::TooManyOfUser(user).into());
        }
        Ok(())
    }

    /// What the account itself says: REQUIRE, ACCOUNT LOCK, PASSWORD EXPIRE, limits.
    fn admit_by_account(&mut self, account: &Account) -> Result<(), SqlError> {
        let Login { user, host, .. } = &self.env.login;
        if !self.meets(&account.require) {
            let using = if self.env.login.rights.used_password { "YES" } else { "NO" };
            return Err(SessionError::AccessDenied(user, host, using).into());
        }
        if account.locked {
            return Err(SessionError::AccountLocked(user, host).into());
        }
        let server = Arc::clone(&self.env.server);
        let limits = account.limits;
        let at_once = u64::from(limits.at_once);
        if at_once > 0 && server.registry.count_of(user, self.env.link.id) >= at_once {
            return Err(exceeded(&account.name, "max_user_connections", limits.at_once));
        }
        let hourly = [limits.queries, limits.updates, limits.connections].iter().any(|n| *n > 0);
        if hourly {
            server.logins.count(&account.name, limits, Use::Connect)?;
        }
        self.env.login.limits = hourly.then_some(limits);
        self.env.login.password_expired = is_expired(account, &server);
        self.env.judge_limits();
        let understands = self.env.link.caps.has(Capabilities::EXPIRED_PASSWORDS);
        let disconnects = server.globals.number("disconnect_on_expired_password") != 0;
        match self.env.login.password_expired && disconnects && !understands {
            true => Err(SessionError::PasswordExpiredAtLogin.into()),
            false => Ok(()),
        }
    }

    /// Whether the connection is what REQUIRE says.
    fn meets(&self, require: &Require) -> bool {
        let secured = self.env.link.secured.as_ref();
        let fits = |wanted: &str, has: Option<&str>| wanted.is_empty() || has == Some(wanted);
        match require {
            Require::None => true,
            Require::Ssl => secured.is_some(),
            Require::X509 => secured.is_some_and(|s| s.certificate.is_some()),
            Require::Specified { subject, issuer, cipher } => secured.is_some_and(|secured| {
                let certificate = secured.certificate.as_ref();
                fits(cipher, Some(secured.cipher))
                    && fits(subject, certificate.map(|c| c.subject.as_str()))
                    && fits(issuer, certificate.map(|c| c.issuer.as_str()))
                    && (certificate.is_some() || subject.is_empty() && issuer.is_empty())
            }),
        }
    }
}

/// Whether an account's password has to be changed.
fn is_expired(account: &Account, server: &Server) -> bool {
    let days = match account.lifetime {
        Lifetime::Never => 0,
        Lifetime::Days(days) => i64::from(days),
        Lifetime::Default => {
            i64::try_from(server.globals.number("default_password_lifetime")).unwrap_or(0)
        }
    };
    let old = days > 0 && host::clock::now_us() >= account.changed_us.saturating_add(days * DAY_US);
    account.expired || (old && account.changed_us > 0)
}
