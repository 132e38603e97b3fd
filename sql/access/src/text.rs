//! SHOW GRANTS and SHOW CREATE USER.

use crate::name::quoted;
use crate::{Account, AccountName, Accounts, Lifetime, Privileges, Require, TableGrant};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// The lines of SHOW GRANTS; with the grants of `using`, roles that the account has, and of theirs.
pub fn grants(
    accounts: &Accounts,
    account: &Account,
    using: &BTreeSet<AccountName>,
) -> Vec<String> {
    let roles = accounts.closure(using);
    let all = with_roles(account, &roles);
    let to = account.name.quoted();
    let mut lines = vec![global_line(all.grants.global, &to)];
    lines.extend(dynamic_lines(&all.grants.dynamic, &to));
    for (schema, set) in &all.grants.schemas {
        let on = format!("{}.*", quoted(schema));
        lines.push(level_line(*set, Privileges::OF_SCHEMA, &on, &to));
    }
    lines.extend(all.grants.restrictions.iter().map(|(schema, taken)| {
        let names = taken.names().collect::<Vec<_>>().join(", ");
        format!("REVOKE {names} ON {}.* FROM {to}", quoted(schema))
    }));
    // As the hash of a server has them: what was granted as a whole comes before what has columns, each by name.
    let (plain, with_columns): (Vec<_>, Vec<_>) =
        all.grants.tables.iter().partition(|(_, grant)| grant.columns.is_empty());
    for ((schema, table), grant) in plain.into_iter().chain(with_columns) {
        let on = format!("{}.{}", quoted(schema), quoted(table));
        lines.push(table_line(grant, &on, &to));
    }
    for (proxied, grant) in &account.grants.proxies {
        let option = if grant.with_grant { " WITH GRANT OPTION" } else { "" };
        lines.push(format!("GRANT PROXY ON {} TO {to}{option}", proxied.quoted()));
    }
    lines.extend(role_lines(&account.roles, &to));
    lines
}

/// The account as if it had been granted what its roles have.
fn with_roles(account: &Account, roles: &[Arc<Account>]) -> Account {
    let mut all = account.clone();
    for role in roles {
        let grants = &role.grants;
        all.grants.add_global(grants.global);
        for (name, may_grant) in &grants.dynamic {
            *all.grants.dynamic.entry(name.clone()).or_default() |= may_grant;
        }
        grants.schemas.iter().for_each(|(schema, set)| all.grants.add_schema(schema, *set));
        for (table, grant) in &grants.tables {
            let into = all.grants.tables.entry(table.clone()).or_default();
            into.privileges |= grant.privileges;
            for (key, column) in &grant.columns {
                let of = into.columns.entry(key.clone()).or_default();
                of.name.clone_from(&column.name);
                of.privileges |= column.privileges;
            }
        }
    }
    all
}

fn global_line(set: Privileges, to: &str) -> String {
    let names: Vec<_> = (set & Privileges::ALL).names().collect();
    let names = if names.is_empty() { "USAGE".to_string() } else { names.join(", ") };
    format!("GRANT {names} ON *.* TO {to}{}", option(set))
}

fn option(set: Privileges) -> &'static str {
    if set.has(Privileges::GRANT) { " WITH GRANT OPTION" } else { "" }
}

fn dynamic_lines(dynamic: &BTreeMap<String, bool>, to: &str) -> Vec<String> {
    let line = |may_grant: bool| {
        let names = dynamic.iter().filter(|(_, may)| **may == may_grant).map(|(name, _)| &**name);
        let names: Vec<&str> = names.collect();
        let option = if may_grant { " WITH GRANT OPTION" } else { "" };
        (!names.is_empty()).then(|| format!("GRANT {} ON *.* TO {to}{option}", names.join(",")))
    };
    [line(false), line(true)].into_iter().flatten().collect()
}

fn level_line(set: Privileges, all: Privileges, on: &str, to: &str) -> String {
    let names = match set & all {
        names if names == all => "ALL PRIVILEGES".to_string(),
        names if names.is_empty() => "USAGE".to_string(),
        names => names.names().collect::<Vec<_>>().join(", "),
    };
    format!("GRANT {names} ON {on} TO {to}{}", option(set))
}

fn table_line(grant: &TableGrant, on: &str, to: &str) -> String {
    if grant.columns.is_empty() {
        return level_line(grant.privileges, Privileges::OF_TABLE, on, to);
    }
    let mut names = Vec::new();
    for (one, name) in (grant.privileges | grant.of_columns()).each() {
        if one == Privileges::GRANT {
            continue;
        }
        let columns = grant.columns.values().filter(|c| c.privileges.has(one));
        let mut columns: Vec<_> = columns.map(|c| quoted(&c.name)).collect();
        columns.sort();
        if !columns.is_empty() {
            names.push(format!("{name} ({})", columns.join(", ")));
        }
        if grant.privileges.has(one) {
            names.push(name.to_string());
        }
    }
    format!("GRANT {} ON {on} TO {to}{}", names.join(", "), option(grant.privileges))
}

fn role_lines(roles: &BTreeMap<AccountName, bool>, to: &str) -> Vec<String> {
    let line = |admin: bool| {
        let names = roles.iter().filter(|(_, may)| **may == admin).map(|(role, _)| role.quoted());
        let names: Vec<String> = names.collect();
        let option = if admin { " WITH ADMIN OPTION" } else { "" };
        (!names.is_empty()).then(|| format!("GRANT {} TO {to}{option}", names.join(",")))
    };
    [line(false), line(true)].into_iter().flatten().collect()
}

/// The text of SHOW CREATE USER. `shown`: the secret as a literal, empty for none.
pub fn create_user(account: &Account, secret: &str) -> String {
    let mut text =
        format!("CREATE USER {} IDENTIFIED WITH '{}'", account.name.quoted(), account.plugin);
    if !secret.is_empty() {
        text += &format!(" AS {secret}");
    }
    if !account.default_roles.is_empty() {
        let roles: Vec<_> = account.default_roles.iter().map(AccountName::quoted).collect();
        text += &format!(" DEFAULT ROLE {}", roles.join(","));
    }
    text += " REQUIRE";
    match &account.require {
        Require::None => text += " NONE",
        Require::Ssl => text += " SSL",
        Require::X509 => text += " X509",
        Require::Specified { subject, issuer, cipher } => {
            for (word, value) in [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)] {
                if !value.is_empty() {
                    text += &format!(" {word} {}", literal(value));
                }
            }
        }
    }
    limits(account, &mut text);
    password_options(account, &mut text);
    text
}

fn limits(account: &Account, text: &mut String) {
    let limits = account.limits;
    let all = [
        ("MAX_QUERIES_PER_HOUR", limits.queries),
        ("MAX_UPDATES_PER_HOUR", limits.updates),
        ("MAX_CONNECTIONS_PER_HOUR", limits.connections),
        ("MAX_USER_CONNECTIONS", limits.at_once),
    ];
    let mut word = " WITH";
    for (name, value) in all.into_iter().filter(|(_, value)| *value > 0) {
        *text += &format!("{word} {name} {value}");
        word = "";
    }
}

fn password_options(account: &Account, text: &mut String) {
    *text += match account.lifetime {
        _ if account.expired => " PASSWORD EXPIRE",
        Lifetime::Default => " PASSWORD EXPIRE DEFAULT",
        Lifetime::Never => " PASSWORD EXPIRE NEVER",
        Lifetime::Days(_) => " PASSWORD EXPIRE INTERVAL",
    };
    if let (Lifetime::Days(days), false) = (account.lifetime, account.expired) {
        *text += &format!(" {days} DAY");
    }
    *text += if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" };
    *text += &match account.history {
        Some(n) => format!(" PASSWORD HISTORY {n}"),
        None => " PASSWORD HISTORY DEFAULT".to_string(),
    };
    *text += &match account.reuse_days {
        Some(days) => format!(" PASSWORD REUSE INTERVAL {days} DAY"),
        None => " PASSWORD REUSE INTERVAL DEFAULT".to_string(),
    };
    *text += match account.require_current {
        None => " PASSWORD REQUIRE CURRENT DEFAULT",
        Some(true) => " PASSWORD REQUIRE CURRENT",
        Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
    };
    let lock = account.login_lock;
    if lock.attempts != 0 || lock.days != 0 {
        let _ = write!(text, " FAILED_LOGIN_ATTEMPTS {}", lock.attempts);
        *text += &match lock.days {
            -1 => " PASSWORD_LOCK_TIME UNBOUNDED".to_string(),
            days => format!(" PASSWORD_LOCK_TIME {days}"),
        };
    }
    if let Some(attribute) = &account.attribute {
        *text += &format!(" ATTRIBUTE {}", literal(attribute));
    }
}

/// Text as a literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnGrant;

    #[test]
    fn grants_are_listed_by_level() {
        let name = AccountName::new("a", "%");
        let role = AccountName::new("r", "%");
        let mut account = Account::new(name, "p");
        let g = &mut account.grants;
        g.dynamic = [("XA_RECOVER_ADMIN".into(), true), ("BACKUP_ADMIN".into(), false)].into();
        g.add_schema("s", Privileges::INSERT | Privileges::GRANT);
        let mut table = TableGrant { privileges: Privileges::UPDATE, ..TableGrant::default() };
        for column in ["b", "a"] {
            let grant = ColumnGrant { name: column.into(), privileges: Privileges::SELECT };
            table.columns.insert(column.into(), grant);
        }
        g.tables.insert(("s".into(), "t".into()), table);
        let whole = TableGrant { privileges: Privileges::OF_TABLE, ..TableGrant::default() };
        g.tables.insert(("s".into(), "u".into()), whole);
        account.roles.insert(role.clone(), false);
        let mut granted = Account::new(role.clone(), "p");
        granted.grants.add_schema("s", Privileges::EXECUTE);
        let all = Accounts::new([Arc::new(account.clone()), Arc::new(granted)], 1);
        let lines = grants(&all, &account, &[role].into());
        assert_eq!(
            lines,
            [
                "GRANT USAGE ON *.* TO `a`@`%`",
                "GRANT BACKUP_ADMIN ON *.* TO `a`@`%`",
                "GRANT XA_RECOVER_ADMIN ON *.* TO `a`@`%` WITH GRANT OPTION",
                "GRANT INSERT, EXECUTE ON `s`.* TO `a`@`%` WITH GRANT OPTION",
                "GRANT ALL PRIVILEGES ON `s`.`u` TO `a`@`%`",
                "GRANT SELECT (`a`, `b`), UPDATE ON `s`.`t` TO `a`@`%`",
                "GRANT `r`@`%` TO `a`@`%`",
            ]
        );
    }
}
