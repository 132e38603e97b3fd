//! Accounts and what they were granted, as the tables of the `mysql` schema and of `information_schema` tell it.
//!
//! 1. In `information_schema` everybody sees what is their own; who may read the `mysql` schema sees all.

use crate::information::{Cell, Fill, Rows, cells};
use access::{Account, AccountName, Accounts, Lifetime, Privileges, Require, Rights, TableGrant};
use catalog::{MYSQL_SCHEMA, ReadContext};
use std::collections::BTreeSet;

/// Tables of the `mysql` schema that this module fills.
pub(crate) const SYSTEM_FILLS: &[(&str, Fill)] = &[
    ("user", users),
    ("db", schemas),
    ("tables_priv", tables),
    ("columns_priv", columns),
    ("proxies_priv", proxies),
    ("global_grants", dynamic),
    ("role_edges", role_edges),
    ("default_roles", default_roles),
    ("password_history", passwords),
];

/// The accounts, by host and user.
fn accounts(context: &ReadContext<'_>, f: &mut dyn FnMut(&Account)) {
    context.catalog.accounts().by_host().into_iter().for_each(|account| f(account));
}

/// A row by its columns' names.
fn push_named<'a>(rows: &mut Rows<'_, '_>, value: impl Fn(&str) -> Cell<'a>) {
    let cells: Vec<_> = rows.columns().map(value).collect();
    rows.push(&cells);
}

fn flag(on: bool) -> Cell<'static> {
    Cell::from(if on { "Y" } else { "N" })
}

fn yes(on: bool) -> &'static str {
    if on { "YES" } else { "NO" }
}

fn users(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    accounts(context, &mut |account| push_named(rows, |column| user_cell(account, column)));
}

fn user_cell<'a>(account: &'a Account, column: &str) -> Cell<'a> {
    if let Some(granted) = account.grants.global.column(column) {
        return flag(granted);
    }
    let (subject, issuer, cipher) = match &account.require {
        Require::Specified { subject, issuer, cipher } => (&**subject, &**issuer, &**cipher),
        _ => ("", "", ""),
    };
    match column {
        "Host" => Cell::from(&account.name.host),
        "User" => Cell::from(&account.name.user),
        "plugin" => Cell::from(&account.plugin),
        "authentication_string" => Cell::Bytes(account.secret.as_slice().into()),
        "ssl_type" => Cell::from(match account.require {
            Require::None => "",
            Require::Ssl => "ANY",
            Require::X509 => "X509",
            Require::Specified { .. } => "SPECIFIED",
        }),
        "ssl_cipher" => Cell::from(cipher),
        "x509_issuer" => Cell::from(issuer),
        "x509_subject" => Cell::from(subject),
        "max_questions" => Cell::from(u64::from(account.limits.queries)),
        "max_updates" => Cell::from(u64::from(account.limits.updates)),
        "max_connections" => Cell::from(u64::from(account.limits.connections)),
        "max_user_connections" => Cell::from(u64::from(account.limits.at_once)),
        "password_expired" => flag(account.expired),
        "account_locked" => flag(account.locked),
        "password_last_changed" if account.changed_us == 0 => Cell::Null,
        "password_last_changed" => Cell::Time(account.changed_us),
        "password_lifetime" => match account.lifetime {
            Lifetime::Default => Cell::Null,
            Lifetime::Never => Cell::UInt(0),
            Lifetime::Days(days) => Cell::UInt(u64::from(days)),
        },
        "Password_reuse_history" => account.history.map(u64::from).into(),
        "Password_reuse_time" => account.reuse_days.map(u64::from).into(),
        "Password_require_current" => account.require_current.map_or(Cell::Null, flag),
        "User_attributes" => attributes(account),
        _ => Cell::Null,
    }
}

/// What MySQL keeps in one JSON document: the attribute, the lock of wrong passwords, restrictions, the second password.
fn attributes(account: &Account) -> Cell<'static> {
    let mut parts = Vec::new();
    if let Some(attribute) = &account.attribute {
        parts.push(format!("\"metadata\": {attribute}"));
    }
    let restrictions: Vec<String> = account.grants.restrictions.iter().map(restriction).collect();
    if !restrictions.is_empty() {
        parts.push(format!("\"Restrictions\": [{}]", restrictions.join(", ")));
    }
    let lock = account.login_lock;
    if lock.attempts != 0 || lock.days != 0 {
        parts.push(format!(
            "\"Password_locking\": {{\"failed_login_attempts\": {}, \"password_lock_time_days\": {}}}",
            lock.attempts, lock.days
        ));
    }
    if let Some(second) = &account.second_secret {
        let second = String::from_utf8_lossy(second);
        let second = second.replace('\\', "\\\\").replace('"', "\\\"");
        parts.push(format!("\"additional_password\": \"{second}\""));
    }
    if parts.is_empty() {
        return Cell::Null;
    }
    let text = format!("{{{}}}", parts.join(", "));
    let mut document = Vec::new();
    match value::json::parse(text.as_bytes(), &mut document) {
        Ok(()) => Cell::Json(document),
        Err(_) => Cell::Null,
    }
}

fn restriction((schema, taken): (&String, &Privileges)) -> String {
    let names: Vec<String> = taken.names().map(|name| format!("\"{name}\"")).collect();
    let schema = schema.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{{\"Database\": \"{schema}\", \"Privileges\": [{}]}}", names.join(", "))
}

fn schemas(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    accounts(context, &mut |account| {
        for (schema, set) in &account.grants.schemas {
            push_named(rows, |column| match column {
                "Host" => Cell::from(&account.name.host),
                "Db" => Cell::from(schema),
                "User" => Cell::from(&account.name.user),
                _ => flag(set.column(column) == Some(true)),
            });
        }
    });
}

fn tables(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    accounts(context, &mut |account| {
        for ((schema, table), grant) in &account.grants.tables {
            push_named(rows, |column| match column {
                "Host" => Cell::from(&account.name.host),
                "Db" => Cell::from(schema),
                "User" => Cell::from(&account.name.user),
                "Table_name" => Cell::from(table),
                "Grantor" => Cell::from(&grant.grantor),
                "Timestamp" => Cell::Time(grant.granted_us),
                "Table_priv" => Cell::from(grant.privileges.as_set()),
                _ => Cell::from(grant.of_columns().as_set()),
            });
        }
    });
}

fn columns(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    accounts(context, &mut |account| {
        for ((schema, table), grant) in &account.grants.tables {
            for column in grant.columns.values() {
                rows.push(&cells![
                    &account.name.host,
                    schema,
                    &account.name.user,
                    table,
                    &column.name,
                    Cell::Time(grant.granted_us),
                    column.privileges.as_set(),
                ]);
            }
        }
    });
}

fn proxies(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    accounts(context, &mut |account| {
        for (proxied, grant) in &account.grants.proxies {
            rows.push(&cells![
                &account.name.host,
                &account.name.user,
                &proxied.host,
                &proxied.user,
                i64::from(grant.with_grant),
                &grant.grantor,
                Cell::Time(grant.granted_us),
            ]);
        }
    });
}

fn dynamic(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let all = context.catalog.accounts();
    let mut list: Vec<_> = all.all().iter().collect();
    list.sort_by_key(|account| &account.name);
    for account in list {
        for (name, may_grant) in &account.grants.dynamic {
            let AccountName { user, host } = &account.name;
            rows.push(&cells![user, host, name, flag(*may_grant)]);
        }
    }
}

fn role_edges(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let mut edges = Vec::new();
    accounts(context, &mut |account| {
        let to = &account.name;
        edges.extend(account.roles.iter().map(|(role, admin)| (role.clone(), to.clone(), *admin)));
    });
    edges.sort_by(|(a, b, _), (c, d, _)| (&a.host, &a.user, b).cmp(&(&c.host, &c.user, d)));
    for (role, to, admin) in edges {
        rows.push(&cells![role.host, role.user, to.host, to.user, flag(admin)]);
    }
}

fn default_roles(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    accounts(context, &mut |account| {
        let AccountName { user, host } = &account.name;
        for role in &account.default_roles {
            rows.push(&cells![host, user, &role.host, &role.user]);
        }
    });
}

fn passwords(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    accounts(context, &mut |account| {
        let AccountName { user, host } = &account.name;
        for (set_us, secret) in &account.past {
            let secret = Cell::Bytes(secret.as_slice().into());
            rows.push(&cells![host, user, Cell::Time(*set_us), secret]);
        }
    });
}

/// Whether the reader sees what others were granted.
fn sees_all(rights: &Rights) -> bool {
    rights.of_schema(MYSQL_SCHEMA).has(Privileges::SELECT)
}

/// The accounts whose grants the reader sees.
fn seen(context: &ReadContext<'_>, f: &mut dyn FnMut(&Account)) {
    let rights = context.viewer.rights();
    let all = sees_all(rights);
    accounts(context, &mut |account| {
        if all || account.name == rights.name {
            f(account);
        }
    });
}

/// USER_PRIVILEGES.
pub(crate) fn user_privileges(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    seen(context, &mut |account| {
        let grantee = account.name.to_string();
        let set = account.grants.global;
        let mut push = |name: &str, grantable: bool| {
            rows.push(&cells![&grantee, "def", name, yes(grantable)]);
        };
        let plain = set & Privileges::ALL;
        if plain.is_empty() {
            push("USAGE", set.has(Privileges::GRANT));
        }
        plain.names().for_each(|name| push(name, set.has(Privileges::GRANT)));
        account.grants.dynamic.iter().for_each(|(name, may_grant)| push(name, *may_grant));
    });
}

/// SCHEMA_PRIVILEGES.
pub(crate) fn schema_privileges(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    seen(context, &mut |account| {
        let grantee = account.name.to_string();
        for (schema, set) in &account.grants.schemas {
            let grantable = yes(set.has(Privileges::GRANT));
            for name in listed(*set) {
                rows.push(&cells![&grantee, "def", schema, name, grantable]);
            }
        }
    });
}

/// The names of privileges but GRANT OPTION; USAGE where there are no others.
fn listed(set: Privileges) -> Vec<&'static str> {
    let plain = set & Privileges::ALL;
    if plain.is_empty() { vec!["USAGE"] } else { plain.names().collect() }
}

/// TABLE_PRIVILEGES.
pub(crate) fn table_privileges(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    seen(context, &mut |account| {
        let grantee = account.name.to_string();
        for ((schema, table), grant) in &account.grants.tables {
            // What was granted of columns alone has its own table.
            if grant.privileges.is_empty() {
                continue;
            }
            let grantable = yes(grant.privileges.has(Privileges::GRANT));
            for name in listed(grant.privileges) {
                rows.push(&cells![&grantee, "def", schema, table, name, grantable]);
            }
        }
    });
}

/// COLUMN_PRIVILEGES.
pub(crate) fn column_privileges(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    seen(context, &mut |account| {
        let grantee = account.name.to_string();
        for ((schema, table), grant) in &account.grants.tables {
            let grantable = yes(grant.privileges.has(Privileges::GRANT));
            for column in grant.columns.values() {
                for name in column.privileges.names() {
                    let place = (schema, table, &column.name);
                    rows.push(&cells![&grantee, "def", place.0, place.1, place.2, name, grantable]);
                }
            }
        }
    });
}

/// USER_ATTRIBUTES.
pub(crate) fn user_attributes(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let rights = context.viewer.rights();
    let all = sees_all(rights) || rights.global().has(Privileges::CREATE_USER);
    accounts(context, &mut |account| {
        if all || account.name == rights.name {
            let AccountName { user, host } = &account.name;
            rows.push(&cells![user, host, account.attribute.as_ref()]);
        }
    });
}

/// A role that the reader has, itself or through another one.
struct Applicable<'a> {
    to: &'a AccountName,
    role: &'a AccountName,
    admin: bool,
    is_default: bool,
    is_mandatory: bool,
}

/// Every edge from the reader's account to its roles and on to theirs.
fn applicable(accounts: &Accounts, own: &AccountName, f: &mut dyn FnMut(Applicable<'_>)) {
    let Some(account) = accounts.find(own) else { return };
    let mut seen = BTreeSet::new();
    let mut open = vec![account];
    while let Some(account) = open.pop() {
        if !seen.insert(&account.name) {
            continue;
        }
        let of_reader = account.name == *own;
        let mandatory = accounts.mandatory().filter(|_| of_reader).map(|role| (role, false, true));
        let own_roles = account.roles.iter().map(|(role, admin)| (role, *admin, false));
        for (role, admin, is_mandatory) in own_roles.chain(mandatory) {
            let is_default = of_reader && account.default_roles.contains(role);
            f(Applicable { to: &account.name, role, admin, is_default, is_mandatory });
            open.extend(accounts.find(role));
        }
    }
}

fn roles(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>, administrable: bool) {
    let own = &context.viewer.rights().name;
    applicable(&context.catalog.accounts(), own, &mut |edge| {
        if administrable && !edge.admin {
            return;
        }
        rows.push(&cells![
            &own.user,
            &own.host,
            &edge.to.user,
            &edge.to.host,
            &edge.role.user,
            &edge.role.host,
            yes(edge.admin),
            yes(edge.is_default),
            yes(edge.is_mandatory),
        ]);
    });
}

/// APPLICABLE_ROLES.
pub(crate) fn applicable_roles(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    roles(context, rows, false);
}

/// ADMINISTRABLE_ROLE_AUTHORIZATIONS.
pub(crate) fn administrable_roles(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    roles(context, rows, true);
}

/// ENABLED_ROLES.
pub(crate) fn enabled_roles(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let rights = context.viewer.rights();
    let accounts = context.catalog.accounts();
    let account = accounts.find(&rights.name);
    for role in rights.active() {
        let is_default = account.is_some_and(|a| a.default_roles.contains(role));
        let is_mandatory = accounts.mandatory().any(|mandatory| mandatory == role);
        rows.push(&cells![&role.user, &role.host, yes(is_default), yes(is_mandatory)]);
    }
}

/// What is called with a role, schema and table, and the grant.
type EachGrant<'f> = dyn FnMut(&AccountName, (&str, &str), &TableGrant) + 'f;

/// Calls `f` with each grant of a table to an active role, or to one that it has.
fn granted_to_roles(context: &ReadContext<'_>, f: &mut EachGrant<'_>) {
    let accounts = context.catalog.accounts();
    for role in accounts.closure(context.viewer.rights().active()) {
        for ((schema, table), grant) in &role.grants.tables {
            f(&role.name, (schema, table), grant);
        }
    }
}

/// Who granted: user and host.
fn grantor(grant: &TableGrant) -> (&str, &str) {
    grant.grantor.rsplit_once('@').unwrap_or((&grant.grantor, ""))
}

/// ROLE_TABLE_GRANTS.
pub(crate) fn role_table_grants(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    granted_to_roles(context, &mut |role, (schema, table), grant| {
        let ((user, host), set) = (grantor(grant), grant.privileges);
        let grantable = yes(set.has(Privileges::GRANT));
        let (to, to_host, set) = (&role.user, &role.host, set.as_set());
        rows.push(&cells![user, host, to, to_host, "def", schema, table, set, grantable]);
    });
}

/// ROLE_COLUMN_GRANTS.
pub(crate) fn role_column_grants(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    granted_to_roles(context, &mut |role, (schema, table), grant| {
        let (user, host) = grantor(grant);
        let grantable = yes(grant.privileges.has(Privileges::GRANT));
        for column in grant.columns.values() {
            let (to, to_host, set) = (&role.user, &role.host, column.privileges.as_set());
            let name = &column.name;
            rows.push(&cells![user, host, to, to_host, "def", schema, table, name, set, grantable]);
        }
    });
}
