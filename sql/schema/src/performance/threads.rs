//! Sessions and the server's own threads, and who is connected.
//!
//! 1. A session and a thread of the server have one number from one counter, THREAD_ID; the number of a connection is
//! beside it. 2. Memory is told of sessions: the server's own threads keep what is the server's.

use super::setup::yes_no;
use crate::information::server::each_client;
use crate::information::{Cell, Rows, cells};
use catalog::{Changes, ConnectedBy, FiguresBy, ProcessRow, ReadContext, SessionOrder};
use host::thread::Background;
use host::thread_classes;
use instrument::{Figures, SessionMemorySums};
use sync::{HISTORY, MONITORED};
use value::Datum;

/// `threads`: ordered by THREAD_ID.
pub(super) fn threads(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let kept = instrument::kept_by_thread();
    let kept_of = |id: u64| {
        let place = kept.binary_search_by_key(&id, |(thread_id, _)| *thread_id);
        place.map_or_else(|_| SessionMemorySums::default(), |at| kept[at].1)
    };
    let slots = context.catalog.engine().slots();
    let mut own = host::thread::background();
    own.sort_by_key(|t| t.id);
    let mut own = own.iter().peekable();
    each_client(context, SessionOrder::Thread, |p| {
        if !p.has_thread() {
            return;
        }
        while let Some(t) = own.next_if(|t| t.id < p.thread_id) {
            rows.push(&background(kept_of(t.id), t));
        }
        rows.push(&session(kept_of(p.thread_id), slots.session(p.slot).monitoring(), p));
    });
    own.for_each(|t| rows.push(&background(kept_of(t.id), t)));
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

/// From CONTROLLED_MEMORY to MAX_TOTAL_MEMORY.
fn memory_cells(kept: SessionMemorySums) -> [u64; 4] {
    [kept.controlled, kept.controlled_max, kept.total, kept.total_max]
}

fn session(kept: SessionMemorySums, monitoring: u8, p: &ProcessRow) -> [Cell<'_>; 24] {
    let [controlled, controlled_max, total, total_max] = memory_cells(kept);
    let host = p.who.host();
    let (host, connection) = match host.iter().rposition(|byte| *byte == b':') {
        Some(colon) => (&host[..colon], "TCP/IP"),
        None => (host, "Socket"),
    };
    let connection = if p.secured { "SSL/TLS" } else { connection };
    let on = |bit| yes_no(monitoring & bit != 0);
    cells![
        p.thread_id,
        thread_classes::SESSIONS,
        "FOREGROUND",
        p.id,
        p.who.user(),
        host,
        p.who.db(),
        p.command,
        i64::try_from(p.time_s).unwrap_or(i64::MAX),
        p.state.filter(|s| !s.is_empty()),
        p.info.as_ref(),
        Cell::Null,
        Cell::Null,
        on(MONITORED),
        on(HISTORY),
        connection,
        (p.os_id != 0).then_some(p.os_id),
        Cell::Null,
        "PRIMARY",
        controlled,
        controlled_max,
        total,
        total_max,
        "NO",
    ]
}

fn background(kept: SessionMemorySums, t: &Background) -> [Cell<'static>; 24] {
    let [controlled, controlled_max, total, total_max] = memory_cells(kept);
    let null = || Cell::Null;
    let on = |bit| yes_no(t.monitoring & bit != 0);
    cells![
        t.id,
        thread_classes::class_of(&t.name),
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
        controlled,
        controlled_max,
        total,
        total_max,
        "NO",
    ]
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

/// Names of hosts are not looked up: what could fail in that never has.
pub(super) fn host_cache(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for h in context.viewer.hosts() {
        let time = |us: Option<i64>| us.map_or(Cell::Null, Cell::Time);
        let mut cells: Vec<Cell<'static>> =
            cells![h.ip, Cell::Null, "YES", h.connect_errors, h.blocked].into();
        cells.extend((0..9).map(|_| Cell::UInt(0)));
        cells.extend(cells![h.handshake, 0_u64, 0_u64, h.authentication, h.ssl]);
        cells.extend(cells![h.max_user_connections, h.max_user_connections_per_hour]);
        cells.extend(cells![h.default_database, h.init_connect, h.local, h.account_locked]);
        cells.extend(cells![h.temporary_account_locked, h.unknown]);
        cells.extend(cells![Cell::Time(h.first_seen_us), Cell::Time(h.last_seen_us)]);
        cells.extend(cells![time(h.first_error_us), time(h.last_error_us)]);
        rows.push(&cells);
    }
}

/// The server's own threads are those of nobody, and have a row where there is room for any.
fn connected(context: &ReadContext<'_>, by: ConnectedBy, rows: &mut Rows<'_, '_>) {
    let own = host::thread::background().len() as u64;
    let figures = context.viewer.figures_by(Some(by));
    // The half of the key by which is not counted is empty.
    let kept = |account: Option<(&str, &str)>| {
        let is_it = |key: &Option<(String, String)>| {
            key.as_ref().map(|(user, host)| (&**user, &**host)) == account
        };
        let row = figures.iter().find(|row| is_it(&row.account));
        row.map(|row| row.figures.kept()).unwrap_or_default()
    };
    let cells = |name: [Cell<'static>; 2],
                 now: u64,
                 total: u64,
                 kept: SessionMemorySums|
     -> Vec<Cell<'static>> {
        let [user, host] = name;
        let named = match by {
            ConnectedBy::Account => vec![user, host],
            ConnectedBy::User => vec![user],
            ConnectedBy::Host => vec![host],
        };
        named.into_iter().chain(cells![now, total, kept.controlled_max, kept.total_max]).collect()
    };
    if figures.iter().any(|row| row.account.is_none()) {
        rows.push(&cells([Cell::Null, Cell::Null], own, host::thread::started(), kept(None)));
    }
    for row in context.viewer.connected(by) {
        let of = kept(Some((&row.user, &row.host)));
        rows.push(&cells([row.user.into(), row.host.into()], row.now, row.total, of));
    }
}

/// Figures that are told of accounts, users and hosts.
const FIGURES: [Figures; 6] = [
    Figures::Waits,
    Figures::Stages,
    Figures::Statements,
    Figures::Transactions,
    Figures::Errors,
    Figures::Memory,
];

/// Counts connections anew, and what is told of these; what threads did is added to it first, so that they begin anew, too.
fn truncate(context: &ReadContext<'_>, all: &[ConnectedBy]) {
    for by in all {
        let truncate =
            |figures| context.viewer.truncate_figures(FiguresBy::Connected(*by), figures);
        FIGURES.into_iter().for_each(truncate);
        context.viewer.truncate_connected(*by);
    }
}

pub(super) fn truncate_accounts(context: &ReadContext<'_>) {
    truncate(context, &[ConnectedBy::Account]);
}

pub(super) fn truncate_users(context: &ReadContext<'_>) {
    truncate(context, &[ConnectedBy::Account, ConnectedBy::User]);
}

pub(super) fn truncate_hosts(context: &ReadContext<'_>) {
    truncate(context, &[ConnectedBy::Account, ConnectedBy::Host]);
}
