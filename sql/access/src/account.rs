//! What is kept of an account.
//!
//! 1. A role is an account that is locked and whose password is expired: each can become the other. 2. A password is
//! kept as its plugin stores it, never in clear; [`Account`]'s `Debug` leaves it out.

use crate::{AccountName, Grants};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a client's connection must have: REQUIRE.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Require {
    /// Nothing.
    #[default]
    None,
    /// TLS.
    Ssl,
    /// A certificate of an authority that the server trusts.
    X509,
    /// Such a certificate, of which is asked more; empty where it is not.
    Specified {
        /// Whom it is of.
        subject: String,
        /// Who gave it.
        issuer: String,
        /// The connection's cipher.
        cipher: String,
    },
}

/// MAX_QUERIES_PER_HOUR, MAX_UPDATES_PER_HOUR, MAX_CONNECTIONS_PER_HOUR, MAX_USER_CONNECTIONS; 0: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Statements in an hour.
    pub queries: u32,
    /// Statements that change something in an hour.
    pub updates: u32,
    /// Connects in an hour.
    pub connections: u32,
    /// Connections at the same time.
    pub at_once: u32,
}

/// When a password expires: PASSWORD EXPIRE ...
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// As `default_password_lifetime` says.
    #[default]
    Default,
    /// Never.
    Never,
    /// So many days after it was set.
    Days(u16),
}

/// FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoginLock {
    /// So many wrong passwords one behind the other lock the account; 0: they do not.
    pub attempts: u16,
    /// For so many days; -1: until it is unlocked; 0: not at all.
    pub days: i16,
}

/// An account or a role.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// User and host.
    pub name: AccountName,
    /// The plugin that proves it.
    pub plugin: String,
    /// What the plugin stores.
    pub secret: Vec<u8>,
    /// RETAIN CURRENT PASSWORD: the one before.
    pub second_secret: Option<Vec<u8>>,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// PASSWORD EXPIRE.
    pub expired: bool,
    /// When the password was set, in microseconds since 1970.
    pub changed_us: i64,
    /// When it expires.
    pub lifetime: Lifetime,
    /// PASSWORD HISTORY; none: as `password_history` says.
    pub history: Option<u32>,
    /// PASSWORD REUSE INTERVAL, in days; none: as `password_reuse_interval` says.
    pub reuse_days: Option<u32>,
    /// PASSWORD REQUIRE CURRENT; none: as `password_require_current` says.
    pub require_current: Option<bool>,
    /// Passwords it had, the newest first: when each was set, in microseconds since 1970, and what was stored.
    pub past: Vec<(i64, Vec<u8>)>,
    /// FAILED_LOGIN_ATTEMPTS, PASSWORD_LOCK_TIME.
    pub login_lock: LoginLock,
    /// REQUIRE.
    pub require: Require,
    /// WITH limits.
    pub limits: Limits,
    /// ATTRIBUTE and COMMENT: a JSON object.
    pub attribute: Option<String>,
    /// What it may do.
    pub grants: Grants,
    /// Roles that it has, and whether it may give them to others.
    pub roles: BTreeMap<AccountName, bool>,
    /// Those of them that are active when it connects.
    pub default_roles: BTreeSet<AccountName>,
}

impl Account {
    /// An account without rights and password.
    pub fn new(name: AccountName, plugin: &str) -> Account {
        Account { name, plugin: plugin.to_string(), ..Account::default() }
    }

    /// What is stored for its passwords: the present one, and one that was retained.
    pub fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        [Some(&self.secret), self.second_secret.as_ref()].into_iter().flatten().map(Vec::as_slice)
    }

    /// Whether this is stored for one of its passwords.
    pub fn stores(&self, secret: &[u8]) -> bool {
        self.secrets().any(|stored| stored == secret)
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({})", self.name)
    }
}
