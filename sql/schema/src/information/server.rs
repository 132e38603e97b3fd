//! What the server is and who is in it.

use super::{Cell, Rows, cells};
use catalog::ReadContext;

/// What root may do: everything. Accounts of other kinds do not exist yet.
const PRIVILEGES: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
];

/// Name, type and description of what MySQL calls plugins.
const PLUGINS: &[(&str, &str, &str)] = &[
    ("mysql_native_password", "AUTHENTICATION", "Native MySQL authentication"),
    ("caching_sha2_password", "AUTHENTICATION", "Caching sha2 authentication"),
    ("InnoDB", "STORAGE ENGINE", ENGINE),
    ("PERFORMANCE_SCHEMA", "STORAGE ENGINE", "Performance Schema"),
];

const ENGINE: &str = "Supports transactions and row-level locking";

pub(super) fn engines(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    rows.push(&cells!["InnoDB", "DEFAULT", ENGINE, "YES", "NO", "NO"]);
    rows.push(&cells!["PERFORMANCE_SCHEMA", "YES", "Performance Schema", "NO", "NO", "NO"]);
}

pub(super) fn plugins(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for (name, kind, description) in PLUGINS {
        let null = || Cell::Null;
        rows.push(&cells![
            *name,
            "1.0",
            "ACTIVE",
            *kind,
            "1.0",
            null(),
            null(),
            "Limpid",
            *description,
            "MIT",
            "FORCE",
        ]);
    }
}

pub(super) fn processlist(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for p in context.viewer.processes() {
        rows.push(&cells![
            p.id,
            p.user,
            p.host,
            p.db,
            p.command,
            i64::try_from(p.time_s).unwrap_or(i64::MAX),
            p.state,
            p.info,
        ]);
    }
}

pub(super) fn user_privileges(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for account in context.catalog.accounts().iter() {
        let grantee = format!("'{}'@'{}'", account.user, account.host);
        for privilege in PRIVILEGES {
            rows.push(&cells![grantee.clone(), "def", *privilege, "YES"]);
        }
    }
}

pub(super) fn user_attributes(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for account in context.catalog.accounts().iter() {
        rows.push(&cells![&account.user, &account.host, Cell::Null]);
    }
}
