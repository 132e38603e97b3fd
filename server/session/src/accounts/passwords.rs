//! Passwords: how they are stored, which may come again, and those that the server makes.

use crate::core::Core;
use crate::errors::{self, SessionError};
use crate::logins::DAY_US;
use access::Account;
use executor::{RowSink, SqlError};
use host::clock::now_us;
use parser::ast::{AccountSpec, Secret};
use value::Datum;
use wire::auth::Plugin;
use wire::handshake::Scramble;

/// Characters of a random password.
const ALPHABET: &[u8] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-*/@,.;:!?=()[]{}<>_^%&$#";

/// A password that was made for an account, to be told once.
pub(crate) struct Made {
    pub user: String,
    pub host: String,
    pub password: String,
}

/// What a statement says of an account's password.
pub(super) struct NewPassword<'a> {
    pub secret: &'a Secret,
    /// REPLACE.
    pub replace: Option<&'a [u8]>,
    /// RETAIN CURRENT PASSWORD.
    pub retain_current: bool,
}

impl<'a> NewPassword<'a> {
    /// That of CREATE USER and ALTER USER.
    pub fn of(spec: &'a AccountSpec) -> Option<NewPassword<'a>> {
        let identified = spec.identified.as_ref()?;
        let replace = spec.replace.as_deref();
        Some(NewPassword {
            secret: &identified.secret,
            replace,
            retain_current: spec.retain_current,
        })
    }
}

impl Core {
    /// Gives an account another password; the one that was made, if it is a random one.
    ///
    /// # Errors
    /// 1524, 1827, 3638, 3878, 3895.
    pub(super) fn give_password(
        &self,
        account: &mut Account,
        new: &NewPassword<'_>,
    ) -> Result<Option<Made>, SqlError> {
        let plugin = Plugin::from_name(&account.plugin)
            .ok_or(SessionError::UnknownPlugin(&account.plugin))?;
        let mut made = None;
        let random;
        let clear = match new.secret {
            Secret::None => Some(&[][..]),
            Secret::Password(password) => Some(&password[..]),
            Secret::Random => {
                random = self.random_password()?;
                let (user, host) = (account.name.user.clone(), account.name.host.clone());
                made = Some(Made { user, host, password: random.clone() });
                Some(random.as_bytes())
            }
            Secret::Hash(_) => None,
        };
        let secret = match (clear, new.secret) {
            (Some([]), _) => Vec::new(),
            (Some(password), _) => {
                self.refuse_reuse(account, plugin, password)?;
                store(plugin, password)?
            }
            (None, Secret::Hash(hash)) => {
                let text = String::from_utf8_lossy(hash).into_owned();
                if !plugin.accepts_stored(&text) {
                    return Err(SessionError::BadPasswordHash.into());
                }
                text.into_bytes()
            }
            (None, _) => Vec::new(),
        };
        if new.retain_current {
            retain(account, &secret)?;
        }
        account.secret = secret;
        account.changed_us = now_us();
        account.expired = false;
        self.remember(account);
        Ok(made)
    }

    /// What a client must say of its old password when it changes its own.
    ///
    /// # Errors
    /// 3891, 3892, 3893.
    pub(super) fn check_replaced(
        &self,
        account: &Account,
        new: &NewPassword<'_>,
    ) -> Result<(), SqlError> {
        let own = account.name == self.env.rights.name;
        let required = account
            .require_current
            .unwrap_or_else(|| self.env.server.globals.number("password_require_current") != 0);
        match new.replace {
            Some(_) if !own => Err(SessionError::PasswordOfOthers.into()),
            Some(old) if !is_password(account, old) => {
                Err(SessionError::WrongCurrentPassword.into())
            }
            None if own
                && required
                && !self.env.rights.global().has(access::Privileges::CREATE_USER) =>
            {
                Err(SessionError::MissingCurrentPassword.into())
            }
            _ => Ok(()),
        }
    }

    /// PASSWORD HISTORY and REUSE INTERVAL.
    fn refuse_reuse(
        &self,
        account: &Account,
        plugin: Plugin,
        password: &[u8],
    ) -> Result<(), SqlError> {
        let (history, days) = self.kept_passwords(account);
        let oldest_us = now_us().saturating_sub(days.saturating_mul(DAY_US));
        let counts = |n: usize, set_us: i64| n < history || (days > 0 && set_us > oldest_us);
        let same = |secret: &[u8]| matches_secret(plugin, secret, password);
        let mut past = account.past.iter().enumerate();
        match past.any(|(n, (set_us, secret))| counts(n, *set_us) && same(secret)) {
            true => {
                let name = &account.name;
                Err(SessionError::PasswordReused(&name.user, &name.host).into())
            }
            false => Ok(()),
        }
    }

    /// How many passwords, and of how many days, are remembered.
    fn kept_passwords(&self, account: &Account) -> (usize, i64) {
        let globals = &self.env.server.globals;
        let history = account.history.map_or_else(|| globals.number("password_history"), u64::from);
        let days =
            account.reuse_days.map_or_else(|| globals.number("password_reuse_interval"), u64::from);
        (history as usize, i64::try_from(days).unwrap_or(i64::MAX))
    }

    fn remember(&self, account: &mut Account) {
        let (history, days) = self.kept_passwords(account);
        if (history > 0 || days > 0) && !account.secret.is_empty() {
            account.past.insert(0, (account.changed_us, account.secret.clone()));
        }
        let oldest_us = now_us().saturating_sub(days.saturating_mul(DAY_US));
        let mut n = 0;
        account.past.retain(|(set_us, _)| {
            n += 1;
            n <= history || (days > 0 && *set_us > oldest_us)
        });
    }

    fn random_password(&self) -> Result<String, SqlError> {
        random_password(self.env.vars.number("generated_random_password_length") as usize)
    }
}

/// A password that the server makes.
fn random_password(chars: usize) -> Result<String, SqlError> {
    let mut password = String::with_capacity(chars);
    while password.len() < chars {
        let mut bytes = [0_u8; 32];
        if !tls::random(&mut bytes) {
            return Err(SessionError::Internal("no randomness for a password").into());
        }
        // Bytes beyond the last whole round of the alphabet would make some characters likelier.
        let even = 256 / ALPHABET.len() * ALPHABET.len();
        let usable = bytes.iter().map(|b| usize::from(*b)).filter(|b| *b < even);
        let left = chars - password.len();
        password.extend(usable.take(left).map(|b| char::from(ALPHABET[b % ALPHABET.len()])));
    }
    Ok(password)
}

/// A password for root of a new data folder, and what is stored of it.
///
/// # Errors
/// What is wrong, in words.
pub fn make_password() -> Result<(String, Vec<u8>), String> {
    /// Characters of it.
    const CHARS: usize = 12;
    let text = |error: SqlError| error.parts().2;
    let password = random_password(CHARS).map_err(text)?;
    let secret = store(Plugin::CachingSha2, password.as_bytes()).map_err(text)?;
    Ok((password, secret))
}

/// Keeps the password that was as the second one.
fn retain(account: &mut Account, new: &[u8]) -> Result<(), SqlError> {
    let name = &account.name;
    if account.secret.is_empty() {
        return Err(SessionError::EmptySecondPassword(&name.user, &name.host).into());
    }
    if new.is_empty() {
        return Err(SessionError::EmptyNewPassword(&name.user, &name.host).into());
    }
    account.second_secret = Some(account.secret.clone());
    Ok(())
}

/// Whether an account has this password.
fn is_password(account: &Account, password: &[u8]) -> bool {
    match Plugin::from_name(&account.plugin) {
        Some(_) if account.secret.is_empty() => password.is_empty(),
        Some(plugin) => matches_secret(plugin, &account.secret, password),
        None => false,
    }
}

fn matches_secret(plugin: Plugin, secret: &[u8], password: &[u8]) -> bool {
    let stored = String::from_utf8_lossy(secret);
    match plugin {
        Plugin::Native => plugin.store(password, &[0; 20]) == stored,
        Plugin::CachingSha2 => wire::auth::check_full(&stored, password),
    }
}

fn store(plugin: Plugin, password: &[u8]) -> Result<Vec<u8>, SqlError> {
    let mut salt: Scramble = [0; 20];
    if !tls::random(&mut salt) {
        return Err(SessionError::Internal("no randomness for a salt").into());
    }
    Ok(plugin.store(password, &salt).into_bytes())
}

/// Refuses what an account cannot have here.
pub(super) fn refuse_factors(spec: &AccountSpec) -> Result<(), SqlError> {
    match spec.factors.is_empty() {
        true => Ok(()),
        false => Err(errors::unsupported("multi-factor authentication")),
    }
}

/// Tells passwords that were made.
pub(crate) fn send_made(made: &[Made], sink: &mut dyn RowSink) -> Result<(), SqlError> {
    for Made { user, host, password } in made {
        let texts = [user, host, password].map(|text| Datum::Bytes(text.as_bytes()));
        let [user, host, password] = texts;
        sink.row(&[user, host, password, Datum::Int(1)])?;
    }
    Ok(())
}
