//! What is remembered of logins until the server stops: digests of passwords, wrong ones, and what accounts with limits used.
//!
//! 1. Accounts without limits leave nothing here but the digest of their password. 2. Everything is asked for at the connect,
//! and by statements of accounts with limits alone.

use crate::errors::SessionError;
use access::{Account, AccountName, Limits};
use executor::SqlError;
use host::clock::now_us;
use std::collections::HashMap;
use sync::Mutex;
use wire::auth::CachedDigest;

instrument::classes! {
    static DIGESTS: MutexClass = "wait/synch/mutex/sql/sha2_cache";
    static FAILED: MutexClass = "wait/synch/mutex/sql/LOCK_password_lock";
    static USED: MutexClass = "wait/synch/mutex/sql/LOCK_user_conn";
}

const HOUR_US: i64 = 3_600_000_000;
pub(crate) const DAY_US: i64 = 24 * HOUR_US;

/// What is stored for a password, and its digest.
type Digests = HashMap<AccountName, Vec<(Vec<u8>, CachedDigest)>>;

/// Wrong passwords one behind the other.
#[derive(Debug, Clone, Copy, Default)]
struct Failed {
    attempts: u16,
    /// When the account was locked for them, in microseconds since 1970.
    locked_us: Option<i64>,
}

/// What an account used of its limits in this hour.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    since_us: i64,
    queries: u32,
    updates: u32,
    connections: u32,
}

/// What is counted of an account with limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Query,
    Update,
    Connect,
}

/// What a server remembers of logins.
pub(crate) struct Logins {
    digests: Mutex<Digests>,
    failed: Mutex<HashMap<AccountName, Failed>>,
    used: Mutex<HashMap<AccountName, Used>>,
}

impl Logins {
    pub fn new() -> Logins {
        Logins {
            digests: Mutex::new(&DIGESTS, HashMap::new()),
            failed: Mutex::new(&FAILED, HashMap::new()),
            used: Mutex::new(&USED, HashMap::new()),
        }
    }

    /// The cached digests of an account's passwords that are still stored so.
    pub fn digests(&self, account: &Account) -> Vec<CachedDigest> {
        let digests = self.digests.lock();
        let Some(known) = digests.get(&account.name) else { return Vec::new() };
        known.iter().filter(|(of, _)| account.stores(of)).map(|(_, digest)| *digest).collect()
    }

    /// Remembers the digest of what is stored for an account's password.
    pub fn keep_digest(&self, account: &Account, stored: &[u8], digest: CachedDigest) {
        let mut digests = self.digests.lock();
        let known = digests.entry(account.name.clone()).or_default();
        known.retain(|(of, _)| account.stores(of) && of != stored);
        known.push((stored.to_vec(), digest));
    }

    /// FLUSH PRIVILEGES: each password is checked in full once more, nobody is locked for wrong ones, and hours begin anew.
    pub fn flush(&self) {
        self.digests.lock().clear();
        self.failed.lock().clear();
        self.flush_used();
    }

    /// Nobody is locked for wrong passwords of this account.
    pub fn forget(&self, name: &AccountName) {
        self.failed.lock().remove(name);
    }

    /// The hour of this account begins anew: it was given limits.
    pub fn forget_used(&self, name: &AccountName) {
        self.used.lock().remove(name);
    }

    /// A login came to its end: a wrong password is counted, a right one ends the count.
    ///
    /// # Errors
    /// 3955 while the account is locked for wrong passwords.
    pub fn note(&self, account: &Account, right: bool, host: &str) -> Result<(), SqlError> {
        let lock = account.login_lock;
        if lock.attempts == 0 || lock.days == 0 {
            return Ok(());
        }
        let mut all = self.failed.lock();
        let failed = all.entry(account.name.clone()).or_default();
        let length_us = i64::from(lock.days).saturating_mul(DAY_US);
        let over = |since_us: i64| lock.days > 0 && now_us() >= since_us.saturating_add(length_us);
        if failed.locked_us.is_some_and(over) {
            *failed = Failed::default();
        }
        if failed.locked_us.is_none() {
            if right {
                all.remove(&account.name);
                return Ok(());
            }
            failed.attempts = failed.attempts.saturating_add(1);
            if failed.attempts < lock.attempts {
                return Ok(());
            }
            failed.locked_us = Some(now_us());
        }
        let since_us = failed.locked_us.unwrap_or_default();
        let left_us = since_us.saturating_add(length_us) - now_us();
        let (days, left) = match lock.days {
            -1 => ("unlimited".to_string(), "unlimited".to_string()),
            days => (days.to_string(), (left_us + DAY_US - 1).div_euclid(DAY_US).to_string()),
        };
        let (user, attempts) = (&account.name.user, lock.attempts.to_string());
        Err(SessionError::BlockedByWrongPasswords(user, host, &days, &left, &attempts).into())
    }

    /// Counts what an account with limits does.
    ///
    /// # Errors
    /// 1226.
    pub fn count(&self, name: &AccountName, limits: Limits, what: Use) -> Result<(), SqlError> {
        let mut all = self.used.lock();
        let used = all.entry(name.clone()).or_default();
        if now_us() >= used.since_us.saturating_add(HOUR_US) {
            *used = Used { since_us: now_us(), ..Used::default() };
        }
        let (count, most, resource) = match what {
            Use::Query => (&mut used.queries, limits.queries, "max_questions"),
            Use::Update => (&mut used.updates, limits.updates, "max_updates"),
            Use::Connect => (&mut used.connections, limits.connections, "max_connections_per_hour"),
        };
        if most > 0 && *count >= most {
            return Err(exceeded(name, resource, most));
        }
        *count = count.saturating_add(1);
        Ok(())
    }

    /// FLUSH USER_RESOURCES.
    pub fn flush_used(&self) {
        self.used.lock().clear();
    }
}

/// 1226.
pub(crate) fn exceeded(name: &AccountName, resource: &str, most: u32) -> SqlError {
    SessionError::LimitReached(&name.user, resource, &most.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use access::LoginLock;

    fn account(attempts: u16, days: i16) -> Account {
        let mut account = Account::new(AccountName::new("u", "%"), "p");
        account.login_lock = LoginLock { attempts, days };
        account
    }

    #[test]
    fn wrong_passwords_lock_an_account() {
        let logins = Logins::new();
        let account = account(2, 3);
        assert!(logins.note(&account, false, "h").is_ok());
        assert!(logins.note(&account, true, "h").is_ok(), "a right one ends the count");
        assert!(logins.note(&account, false, "h").is_ok());
        let error = logins.note(&account, false, "h").unwrap_err();
        let text = "Access denied for user 'u'@'h'. Account is blocked for 3 day(s) (3 day(s) remaining) due to 2 \
                    consecutive failed logins.";
        assert_eq!((error.parts().0, &*error.parts().2), (3955, text));
        assert!(logins.note(&account, true, "h").is_err(), "the right one is no help");
        logins.forget(&account.name);
        assert!(logins.note(&account, true, "h").is_ok());
    }

    #[test]
    fn limits_are_of_an_hour() {
        let logins = Logins::new();
        let name = AccountName::new("u", "%");
        let limits = Limits { queries: 2, ..Limits::default() };
        let ask = || logins.count(&name, limits, Use::Query).map_err(|e| e.parts().2);
        assert!(ask().is_ok() && ask().is_ok());
        let text = "User 'u' has exceeded the 'max_questions' resource (current value: 2)";
        assert_eq!(ask(), Err(text.to_string()));
        assert!(logins.count(&name, limits, Use::Update).is_ok());
        logins.flush_used();
        assert!(logins.count(&name, limits, Use::Query).is_ok());
    }
}
