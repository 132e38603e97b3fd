//! What CREATE USER and ALTER USER say behind the accounts.

use crate::errors::SessionError;
use access::{Account, Lifetime, Limits, Require};
use executor::SqlError;
use parser::ast::{self, AccountOption, LimitKind};
use value::json;

/// Most of PASSWORD HISTORY and REUSE INTERVAL.
const NUMBER_MAX: u64 = 65_535;

/// Takes the options that a statement gives all of its accounts.
///
/// # Errors
/// 3982, and what is out of range.
pub(super) fn apply(account: &mut Account, options: &[AccountOption]) -> Result<(), SqlError> {
    options.iter().try_for_each(|option| apply_one(account, option))
}

fn apply_one(account: &mut Account, option: &AccountOption) -> Result<(), SqlError> {
    match option {
        AccountOption::Lock(on) => account.locked = *on,
        AccountOption::Expire => account.expired = true,
        AccountOption::Lifetime(lifetime) => account.lifetime = lifetime_of(*lifetime)?,
        // More than there is room for is as much as there is.
        AccountOption::History(n) => account.history = n.map(|n| n.min(NUMBER_MAX) as u32),
        AccountOption::ReuseDays(n) => account.reuse_days = n.map(|n| n.min(NUMBER_MAX) as u32),
        AccountOption::RequireCurrent(required) => account.require_current = *required,
        AccountOption::Attempts(n) => {
            account.login_lock.attempts = in_lock_range(*n, "FAILED_LOGIN_ATTEMPTS")? as u16;
        }
        AccountOption::LockDays(None) => account.login_lock.days = -1,
        AccountOption::LockDays(Some(days)) => {
            account.login_lock.days = in_lock_range(*days, "PASSWORD_LOCK_TIME")?;
        }
        AccountOption::Require(require) => account.require = require_of(require),
        AccountOption::Limit(kind, n) => limit(&mut account.limits, *kind, *n),
        AccountOption::Comment(text) => {
            let text = String::from_utf8_lossy(text);
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            merge(account, format!("{{\"comment\": \"{text}\"}}").as_bytes())?;
        }
        AccountOption::Attribute(text) => merge(account, text)?,
    }
    Ok(())
}

fn lifetime_of(lifetime: ast::Lifetime) -> Result<Lifetime, SqlError> {
    match lifetime {
        ast::Lifetime::Default => Ok(Lifetime::Default),
        ast::Lifetime::Never => Ok(Lifetime::Never),
        ast::Lifetime::Days(days) => match u16::try_from(days) {
            Ok(days) if days > 0 => Ok(Lifetime::Days(days)),
            _ => Err(SessionError::WrongValueOf("DAY", &days.to_string()).into()),
        },
    }
}

fn in_lock_range(n: u64, what: &str) -> Result<i16, SqlError> {
    match i16::try_from(n) {
        Ok(n) => Ok(n),
        Err(_) => Err(SessionError::WrongValueOf(what, &n.to_string()).into()),
    }
}

fn require_of(require: &ast::Require) -> Require {
    let text = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().map_or(String::new(), |b| String::from_utf8_lossy(b).into_owned())
    };
    match require {
        ast::Require::None => Require::None,
        ast::Require::Ssl => Require::Ssl,
        ast::Require::X509 => Require::X509,
        ast::Require::Specified { subject, issuer, cipher } => Require::Specified {
            subject: text(subject),
            issuer: text(issuer),
            cipher: text(cipher),
        },
    }
}

fn limit(limits: &mut Limits, kind: LimitKind, n: u64) {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    match kind {
        LimitKind::Queries => limits.queries = n,
        LimitKind::Updates => limits.updates = n,
        LimitKind::Connections => limits.connections = n,
        LimitKind::AtOnce => limits.at_once = n,
    }
}

/// Merges a JSON object into the account's attribute; what becomes NULL goes.
fn merge(account: &mut Account, patch: &[u8]) -> Result<(), SqlError> {
    let not_json = || SqlError::from(SessionError::BadAttribute);
    let patch = json::parse_tree(patch).map_err(|_| not_json())?;
    if !matches!(patch, json::JsonValue::Object(_)) {
        return Err(not_json());
    }
    let old = account.attribute.as_deref().unwrap_or("{}");
    let old = json::parse_tree(old.as_bytes()).map_err(|_| not_json())?;
    let merged = json::modify::merge_patch(old, patch);
    let mut text = Vec::new();
    json::append_text(&merged.to_bytes(), &mut text);
    let text = String::from_utf8(text).map_err(|_| not_json())?;
    account.attribute = Some(text).filter(|text| text != "{}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use access::AccountName;

    #[test]
    fn attributes_are_merged() {
        let mut account = Account::new(AccountName::new("u", "%"), "p");
        apply(&mut account, &[AccountOption::Attribute(b"{\"x\": 1}".to_vec())]).unwrap();
        apply(&mut account, &[AccountOption::Comment(b"a\"b".to_vec())]).unwrap();
        assert_eq!(account.attribute.as_deref(), Some(r#"{"x": 1, "comment": "a\"b"}"#));
        let gone = AccountOption::Attribute(br#"{"x": null, "comment": null}"#.to_vec());
        apply(&mut account, &[gone]).unwrap();
        assert_eq!(account.attribute, None);
        assert!(apply(&mut account, &[AccountOption::Attribute(b"[1]".to_vec())]).is_err());
    }

    #[test]
    fn numbers_are_checked() {
        let mut account = Account::new(AccountName::new("u", "%"), "p");
        let days = |days| AccountOption::Lifetime(ast::Lifetime::Days(days));
        assert!(apply(&mut account, &[days(0)]).is_err());
        assert!(apply(&mut account, &[days(65_536)]).is_err());
        assert!(apply(&mut account, &[AccountOption::Attempts(32_768)]).is_err());
        apply(&mut account, &[days(65_535), AccountOption::LockDays(None)]).unwrap();
        assert_eq!((account.lifetime, account.login_lock.days), (Lifetime::Days(65_535), -1));
    }
}
