//! Sessions and the server's own threads, and who is connected.
//!
//! 1. A session and a thread of the server have one number from one counter, THREAD_ID; the number of a connection is
//! beside it. 2. What MySQL measures of a thread's memory is not measured: those columns are 0.

use super::setup::yes_no;
use crate::information::{Cell, Rows, cells};
use catalog::{Changes, ConnectedBy, ProcessRow, ReadContext};
use host::thread::Background;
use sync::{HISTORY, MONITORED};
use value::Datum;

/// What MySQL calls a thread of this name, with what comes behind the last underline left out if it is a number.
const NAMES: &[(&str, &str)] = &[
    ("main", "thread/sql/main"),
    ("signal", "thread/sql/signal_handler"),
    ("checkpointer", "thread/innodb/log_checkpointer_thread"),
    ("log_timer", "thread/innodb/log_flusher_thread"),
    ("log_governor", "thread/innodb/log_files_governor_thread"),
    ("statistics", "thread/innodb/dict_stats_thread"),
    ("purge", "thread/innodb/srv_purge_thread"),
    ("cleaner", "thread/innodb/page_flush_coordinator_thread"),
    ("read_ahead", "thread/innodb/io_read_thread"),
    ("buf_dump", "thread/innodb/buf_dump_thread"),
    ("buf_load", "thread/innodb/buf_dump_thread"),
    ("buf_resize", "thread/innodb/buf_resize_thread"),
    ("rollback", "thread/innodb/trx_recovery_rollback_thread"),
];

/// A thread's name as instruments have it.
fn name_of(name: &str) -> String {
    let kind = match name.rsplit_once('_') {
        Some((kind, number)) if number.bytes().all(|b| b.is_ascii_digit()) => kind,
        _ => name,
    };
    match NAMES.iter().find(|(own, _)| *own == kind) {
        Some((_, mysqls)) => (*mysqls).to_string(),
        None => format!("thread/limpid/{kind}"),
    }
}

/// `threads`: ordered by THREAD_ID.
pub(super) fn threads(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let clients = context.viewer.processes().into_iter().filter(|p| !p.leaves);
    let mut all: Vec<(u64, Vec<Cell<'static>>)> =
        clients.map(|p| (p.thread_id, session(p))).collect();
    all.extend(host::thread::background().into_iter().map(|t| (t.id, background(&t))));
    all.sort_by_key(|(id, _)| *id);
    all.iter().for_each(|(_, cells)| rows.push(cells));
}

/// What UPDATE changes: what is collected of a session or a thread from its next statement on.
pub(super) const CHANGES: Changes = Changes {
    columns: &["INSTRUMENTED", "HISTORY"],
    update: |context, old, new| {
        let bit = |column: usize, bit| match new[column] {
            Datum::Enum(_, 1) => bit,
            _ => 0,
        };
        if let Datum::UInt(thread_id) = old[0] {
            context.viewer.set_monitoring(thread_id, bit(13, MONITORED) | bit(14, HISTORY));
        }
        Ok(())
    },
    insert: None,
    delete: None,
};

fn session(p: ProcessRow) -> Vec<Cell<'static>> {
    let (host, connection) = match p.host.rsplit_once(':') {
        Some((host, _)) => (host.to_string(), "TCP/IP"),
        None => (p.host, "Socket"),
    };
    let on = |bit| yes_no(p.monitoring & bit != 0);
    cells![
        p.thread_id,
        "thread/sql/one_connection",
        "FOREGROUND",
        p.id,
        p.user,
        host,
        p.db,
        p.command,
        i64::try_from(p.time_s).unwrap_or(i64::MAX),
        p.state.filter(|s| !s.is_empty()),
        p.info,
        Cell::Null,
        Cell::Null,
        on(MONITORED),
        on(HISTORY),
        connection,
        (p.os_id != 0).then_some(p.os_id),
        Cell::Null,
        "PRIMARY",
        0_u64,
        0_u64,
        0_u64,
        0_u64,
        "NO",
    ]
    .into()
}

fn background(t: &Background) -> Vec<Cell<'static>> {
    let null = || Cell::Null;
    let on = |bit| yes_no(t.monitoring & bit != 0);
    cells![
        t.id,
        name_of(&t.name),
        "BACKGROUND",
        null(),
        null(),
        null(),
        null(),
        null(),
        null(),
        null(),
        null(),
        null(),
        null(),
        on(MONITORED),
        on(HISTORY),
        null(),
        (t.os_id != 0).then_some(t.os_id),
        null(),
        "PRIMARY",
        0_u64,
        0_u64,
        0_u64,
        0_u64,
        "NO",
    ]
    .into()
}

pub(super) fn accounts(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    connected(context, ConnectedBy::Account, rows);
}

pub(super) fn users(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    connected(context, ConnectedBy::User, rows);
}

pub(super) fn hosts(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    connected(context, ConnectedBy::Host, rows);
}

/// The server's own threads are those of nobody.
fn connected(context: &ReadContext<'_>, by: ConnectedBy, rows: &mut Rows<'_, '_>) {
    let own = host::thread::background().len() as u64;
    let cells = |name: [Cell<'static>; 2], now: u64, total: u64| -> Vec<Cell<'static>> {
        let [user, host] = name;
        let named = match by {
            ConnectedBy::Account => vec![user, host],
            ConnectedBy::User => vec![user],
            ConnectedBy::Host => vec![host],
        };
        named.into_iter().chain(cells![now, total, 0_u64, 0_u64]).collect()
    };
    rows.push(&cells([Cell::Null, Cell::Null], own, host::thread::started()));
    for row in context.viewer.connected(by) {
        rows.push(&cells([row.user.into(), row.host.into()], row.now, row.total));
    }
}

pub(super) fn truncate_accounts(context: &ReadContext<'_>) {
    context.viewer.truncate_connected(ConnectedBy::Account);
}

pub(super) fn truncate_users(context: &ReadContext<'_>) {
    context.viewer.truncate_connected(ConnectedBy::User);
}

pub(super) fn truncate_hosts(context: &ReadContext<'_>) {
    context.viewer.truncate_connected(ConnectedBy::Host);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_called_as_mysqls_or_as_they_are() {
        assert_eq!(name_of("cleaner_3"), "thread/innodb/page_flush_coordinator_thread");
        assert_eq!(name_of("read_ahead_0"), "thread/innodb/io_read_thread");
        assert_eq!(name_of("log_timer"), "thread/innodb/log_flusher_thread");
        assert_eq!(name_of("horizon"), "thread/limpid/horizon");
        assert_eq!(name_of("redo_reader"), "thread/limpid/redo_reader");
    }
}
