//! What the server is and who is in it.

use super::{Cell, Rows, cells};
use catalog::{ProcessRow, ReadContext};

/// Name, type and description of what MySQL calls plugins.
const PLUGINS: &[(&str, &str, &str)] = &[
    ("mysql_native_password", "AUTHENTICATION", "Native MySQL authentication"),
    ("caching_sha2_password", "AUTHENTICATION", "Caching sha2 authentication"),
    ("auth_socket", "AUTHENTICATION", "Unix Socket based authentication"),
    ("InnoDB", "STORAGE ENGINE", ENGINE),
    ("PERFORMANCE_SCHEMA", "STORAGE ENGINE", "Performance Schema"),
];

const ENGINE: &str = "Supports transactions, row-level locking, and foreign keys";

pub(super) fn engines(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    rows.push(&cells!["InnoDB", "DEFAULT", ENGINE, "YES", "NO", "YES"]);
    rows.push(&cells!["PERFORMANCE_SCHEMA", "YES", "Performance Schema", "NO", "NO", "NO"]);
    // What CREATE TABLE takes by these names it makes in InnoDB, with warning 1266.
    for name in ["MEMORY", "MyISAM"] {
        rows.push(&cells![name, "YES", "Served by InnoDB", "YES", "NO", "YES"]);
    }
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

pub(super) fn keywords(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for (word, reserved) in parser::keywords() {
        rows.push(&cells![word, i64::from(reserved)]);
    }
}

pub(super) fn processlist(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    clients(context).for_each(|p| rows.push(&process(&p)));
}

fn clients(context: &ReadContext<'_>) -> impl Iterator<Item = ProcessRow> {
    context.viewer.processes().into_iter().filter(|p| !p.leaves)
}

/// Those of them whose threads `performance_schema` tells of.
fn told(context: &ReadContext<'_>) -> impl Iterator<Item = ProcessRow> {
    clients(context).filter(ProcessRow::has_thread)
}

fn process(p: &ProcessRow) -> [Cell<'_>; 8] {
    cells![
        p.id,
        &p.client.user,
        &p.client.host,
        p.client.db.as_ref(),
        p.command,
        i64::try_from(p.time_s).unwrap_or(i64::MAX),
        p.state,
        p.info.as_ref(),
    ]
}

/// `performance_schema.processlist`.
pub(crate) fn performance_processlist(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for p in told(context) {
        let cells: Vec<_> = process(&p).into_iter().chain(cells!["PRIMARY"]).collect();
        rows.push(&cells);
    }
}

/// `session_connect_attrs`: what clients said of themselves when they connected.
pub(crate) fn connect_attributes(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    attributes(told(context), rows);
}

/// `session_account_connect_attrs`: the same of the reader's own account.
pub(crate) fn own_connect_attributes(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let own = context.viewer.account();
    let of = |user: &str| own.starts_with(&format!("'{user}'@"));
    attributes(told(context).filter(|p| of(&p.client.user)), rows);
}

fn attributes(of: impl Iterator<Item = ProcessRow>, rows: &mut Rows<'_, '_>) {
    for process in of {
        for (number, (name, value)) in (0i64..).zip(process.client.attributes.iter()) {
            rows.push(&cells![process.id, name, value, number]);
        }
    }
}
