//! Passwords: how they are stored, which may come again, and those that the server makes.

use crate::core::Core;
use crate::errors::{self, SessionError};
use crate::logins::DAY_US;
use access::{Account, AccountName, Privileges};
use executor::{RowSink, SqlError, WarningLevel};
use host::clock::now_us;
use parser::ast::{self, AccountOption, AccountSpec, Secret};
use value::Datum;
use wire::auth::Plugin;
use wire::handshake::Scramble;
use zeroize::Zeroizing;

/// Characters of a random password.
const ALPHABET: &[u8] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-*/@,.;:!?=()[]{}<>_^%&$#";

/// A password that was made for an account, to be told once.
pub(crate) struct Made {
    pub user: String,
    pub host: String,
    pub password: Zeroizing<String>,
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
        let replace = spec.replace.as_ref().map(|password| &password[..]);
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
        let made = match new.secret {
            Secret::Random => Some(self.made_for(account)?),
            _ => None,
        };
        if !plugin.has_passwords() {
            say_who(account, new.secret);
            return Ok(made);
        }
        let clear = match (new.secret, &made) {
            (Secret::Password(password), _) => Some(&password[..]),
            (Secret::Hash(_), _) => None,
            (_, made) => Some(made.as_ref().map_or(&[][..], |made| made.password.as_bytes())),
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

    /// What the component `validate_password` says of a password that somebody gives.
    ///
    /// # Errors
    /// 1819, 4165.
    pub(super) fn check_policy(
        &self,
        account: &Account,
        new: &NewPassword<'_>,
    ) -> Result<(), SqlError> {
        let given = match new.secret {
            Secret::Password(password) => &password[..],
            Secret::Hash(hash) if !hash.is_empty() => return Ok(()),
            Secret::Random => return Ok(()),
            Secret::Hash(_) | Secret::None => &[],
        };
        match has_password(account) {
            true => self.env.check_policy(given, new.replace),
            false => Ok(()),
        }
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
        let own = account.name == self.env.login.rights.name;
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
                && !self.env.login.rights.global().has(Privileges::CREATE_USER) =>
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

    fn made_for(&self, account: &Account) -> Result<Made, SqlError> {
        let chars = self.env.vars.number("generated_random_password_length") as usize;
        let (user, host) = (account.name.user.clone(), account.name.host.clone());
        Ok(Made { user, host, password: random_password(chars)? })
    }

    /// What an account that has no password cannot have either: it does not expire, and nothing is remembered of it.
    ///
    /// # Errors
    /// 3671.
    pub(super) fn fit_plugin(
        &mut self,
        account: &mut Account,
        options: &[AccountOption],
    ) -> Result<(), SqlError> {
        use AccountOption::{Expire, History, Lifetime, ReuseDays};
        if has_password(account) {
            return Ok(());
        }
        let expires = |o: &AccountOption| matches!(o, Expire | Lifetime(ast::Lifetime::Days(_)));
        if options.iter().any(expires) {
            return Err(SessionError::NoPasswordExpiry(&account.plugin).into());
        }
        let remembers =
            |o: &AccountOption| matches!(o, History(Some(n)) | ReuseDays(Some(n)) if *n > 0);
        if options.iter().any(remembers) {
            let AccountName { user, host } = &account.name;
            let ignored = SessionError::NoPasswordHistory(user, host, &account.plugin).into();
            self.env.warn_of(WarningLevel::Warning, &ignored);
        }
        if account.history.is_some_and(|n| n > 0) || account.reuse_days.is_some_and(|n| n > 0) {
            (account.history, account.reuse_days) = (None, None);
        }
        Ok(())
    }

    /// What a client may do with the password of its own account.
    ///
    /// # Errors
    /// 1227 where there are two, 1045 where there is none.
    pub(super) fn check_own_password(
        &self,
        account: &Account,
        new: Option<&NewPassword<'_>>,
        of_two: bool,
    ) -> Result<(), SqlError> {
        const OF_TWO: &str = "APPLICATION_PASSWORD_ADMIN";
        let rights = &self.env.login.rights;
        if of_two {
            let needed = "CREATE USER or APPLICATION_PASSWORD_ADMIN";
            rights.check_global(Privileges::CREATE_USER, &[OF_TWO], needed)?;
        }
        if new.is_some() && !has_password(account) && !rights.global().has(Privileges::CREATE_USER)
        {
            let AccountName { user, host } = &account.name;
            return Err(SessionError::AccessDenied(user, host, "YES").into());
        }
        Ok(())
    }
}

/// Whether an account proves itself by a password.
pub(super) fn has_password(account: &Account) -> bool {
    Plugin::from_name(&account.plugin).is_none_or(Plugin::has_passwords)
}

/// Names the user of the system whom an account without a password is of, as well as of its own user.
fn say_who(account: &mut Account, secret: &Secret) {
    account.secret = match secret {
        Secret::Hash(name) => name.clone(),
        _ => Vec::new(),
    };
    (account.second_secret, account.changed_us, account.expired) = (None, 0, false);
    account.past.clear();
}

/// A password that the server makes; one of the few with no letter, capital, digit or mark in it is made once more.
fn random_password(chars: usize) -> Result<Zeroizing<String>, SqlError> {
    loop {
        let password = random_text(chars)?;
        let has = |is: fn(&u8) -> bool| password.as_bytes().iter().any(is);
        if has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_punctuation)
        {
            return Ok(password);
        }
    }
}

fn random_text(chars: usize) -> Result<Zeroizing<String>, SqlError> {
    // It never grows: nothing of it is left elsewhere.
    let mut password = Zeroizing::new(String::with_capacity(chars));
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
pub fn make_password() -> Result<(Zeroizing<String>, Vec<u8>), String> {
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
        Plugin::Socket => false,
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
        let texts = [user.as_str(), host, password.as_str()];
        let texts = texts.map(|text| Datum::Bytes(text.as_bytes()));
        let [user, host, password] = texts;
        sink.row(&[user, host, password, Datum::Int(1)])?;
    }
    Ok(())
}
