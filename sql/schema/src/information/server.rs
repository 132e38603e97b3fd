//! What the server is and who is in it.

use super::{Cell, Rows, cells};
use catalog::{ProcessRow, ReadContext, SessionOrder};

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
    each_client(context, SessionOrder::Connection, |p| rows.push(&process(p)));
}

/// Calls `each` with the sessions that have a client.
pub(crate) fn each_client(
    context: &ReadContext<'_>,
    order: SessionOrder,
    mut each: impl FnMut(&ProcessRow),
) {
    context.viewer.each_process(order, &mut |p| {
        if !p.leaves {
            each(p);
        }
    });
}

fn process(p: &ProcessRow) -> [Cell<'_>; 8] {
    cells![
        p.id,
        p.who.user(),
        p.who.host(),
        p.who.db(),
        p.command,
        i64::try_from(p.time_s).unwrap_or(i64::MAX),
        p.state,
        p.info.as_ref(),
    ]
}

/// `performance_schema.processlist`.
pub(crate) fn performance_processlist(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_client(context, SessionOrder::Connection, |p| {
        if !p.has_thread() {
            return;
        }
        let [id, user, host, db, command, time, state, info] = process(p);
        rows.push(&[id, user, host, db, command, time, state, info, "PRIMARY".into()]);
    });
}

/// `session_connect_attrs`: what clients said of themselves when they connected.
pub(crate) fn connect_attributes(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    attributes(context, |_| true, rows);
}

/// `session_account_connect_attrs`: the same of the reader's own account.
pub(crate) fn own_connect_attributes(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let own = context.viewer.account();
    attributes(context, |user| own.starts_with(&format!("'{user}'@")), rows);
}

fn attributes(context: &ReadContext<'_>, of: impl Fn(&str) -> bool, rows: &mut Rows<'_, '_>) {
    for (id, client) in context.viewer.clients() {
        if of(&client.user) {
            for (number, (name, value)) in (0i64..).zip(client.attributes.iter()) {
                rows.push(&cells![id, name, value, number]);
            }
        }
    }
}
