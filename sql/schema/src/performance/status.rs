//! What SHOW STATUS and SHOW VARIABLES print, as tables.

use crate::information::{Cell, Rows, cells};
use catalog::{ConnectedBy, ReadContext, ServerList};
use instrument::Counter;

/// Characters of a value; MySQL cuts longer ones, too.
const VALUE_CHARS_MAX: usize = 1024;
/// Characters of a name.
const NAME_CHARS_MAX: usize = 64;

pub(super) fn global_status(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    list(context, ServerList::GlobalStatus, rows);
}

/// What sessions that went counted is forgotten, that of all goes on: as FLUSH STATUS, without the sessions that are there.
pub(super) fn truncate(context: &ReadContext<'_>) {
    let all = [ConnectedBy::Account, ConnectedBy::User, ConnectedBy::Host];
    all.into_iter().for_each(|by| context.viewer.truncate_status(Some(by)));
}

pub(super) fn session_status(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    list(context, ServerList::SessionStatus, rows);
}

pub(super) fn global_variables(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    list(context, ServerList::GlobalVariables, rows);
}

pub(super) fn session_variables(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    list(context, ServerList::SessionVariables, rows);
}

pub(super) fn persisted_variables(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    list(context, ServerList::PersistedVariables, rows);
}

/// `tls_channel_status`: the one channel.
pub(super) fn tls_channel(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    const PROPERTIES: &[&str] = &[
        "Ssl_accept_renegotiates",
        "Ssl_accepts",
        "Ssl_callback_cache_hits",
        "Ssl_client_connects",
        "Ssl_connect_renegotiates",
        "Ssl_ctx_verify_depth",
        "Ssl_ctx_verify_mode",
        "Current_tls_ca",
        "Current_tls_capath",
        "Current_tls_cert",
        "Current_tls_cipher",
        "Current_tls_ciphersuites",
        "Current_tls_crl",
        "Current_tls_crlpath",
        "Current_tls_key",
        "Current_tls_version",
        "Ssl_finished_accepts",
        "Ssl_finished_connects",
        "Ssl_server_not_after",
        "Ssl_server_not_before",
        "Ssl_session_cache_hits",
        "Ssl_session_cache_misses",
        "Ssl_session_cache_mode",
        "Ssl_session_cache_overflows",
        "Ssl_session_cache_size",
        "Ssl_session_cache_timeouts",
        "Ssl_used_session_cache_entries",
        "Ssl_session_cache_timeout",
    ];
    let status = context.viewer.list(ServerList::GlobalStatus);
    let is_offered =
        status.iter().any(|(name, value)| name == "Current_tls_cert" && !value.is_empty());
    rows.push(&cells!["mysql_main", "Enabled", if is_offered { "Yes" } else { "No" }]);
    for property in PROPERTIES {
        let value = status.iter().find(|(name, _)| name == property);
        rows.push(&cells!["mysql_main", *property, value.map_or("", |(_, value)| value)]);
    }
}

/// Whether a counter is a session's own: what is the server's is not shown of a part of it, nor are counts of statements,
/// which `performance_schema` leaves to the summaries of statements.
fn is_of_sessions(counter: Counter) -> bool {
    use Counter::{ComStmtReprepare, TableLocksImmediate, TableLocksWaited};
    let name = counter.name();
    match counter {
        ComStmtReprepare => true,
        Counter::AbortedClients | Counter::AbortedConnects | Counter::FlushCommands => false,
        TableLocksImmediate | TableLocksWaited => false,
        _ => !["Com_", "Innodb_", "Limpid_"].iter().any(|prefix| name.starts_with(prefix)),
    }
}

fn by(context: &ReadContext<'_>, by: Option<ConnectedBy>, rows: &mut Rows<'_, '_>) {
    let mut counters = Counter::ALL.to_vec();
    counters.retain(|c| is_of_sessions(*c));
    counters.sort_by_key(|c| c.name());
    for row in context.viewer.status_by(by) {
        for counter in &counters {
            let n = row.counts.get(*counter as usize).copied().unwrap_or(0).to_string();
            match by {
                None => rows.push(&cells![row.thread_id, counter.name(), n]),
                Some(ConnectedBy::Account) => {
                    rows.push(&cells![&row.user, &row.host, counter.name(), n]);
                }
                Some(ConnectedBy::User) => rows.push(&cells![&row.user, counter.name(), n]),
                Some(ConnectedBy::Host) => rows.push(&cells![&row.host, counter.name(), n]),
            }
        }
    }
}

pub(super) fn by_thread(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    by(context, None, rows);
}

pub(super) fn by_account(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    by(context, Some(ConnectedBy::Account), rows);
}

pub(super) fn by_user(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    by(context, Some(ConnectedBy::User), rows);
}

pub(super) fn by_host(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    by(context, Some(ConnectedBy::Host), rows);
}

/// As much of a value as there is room for.
fn cut(value: &str) -> &str {
    cut_at(value, VALUE_CHARS_MAX)
}

fn cut_at(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn list(context: &ReadContext<'_>, which: ServerList, rows: &mut Rows<'_, '_>) {
    for (name, value) in context.viewer.list(which) {
        rows.push(&cells![name, cut(&value)]);
    }
}

pub(super) fn variables_by_thread(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    context.viewer.session_variables(&mut |thread_id, name, value| {
        rows.push(&cells![thread_id, name, value.map(cut)]);
    });
}

pub(super) fn user_variables_by_thread(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    context.viewer.user_variables(&mut |thread_id, name, value| {
        let value = value.map_or(Cell::Null, |text| Cell::Bytes(text.into()));
        rows.push(&cells![thread_id, cut_at(name, NAME_CHARS_MAX), value]);
    });
}

pub(super) fn variables_info(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for row in context.viewer.variables_info() {
        let (set, user, host) = match row.set {
            Some((us, user, host)) => {
                let us = i64::try_from(us).unwrap_or(i64::MAX);
                (Cell::Time(us), Some(user), Some(host))
            }
            None => (Cell::Null, None, None),
        };
        let (min, max) = row.range;
        rows.push(&cells![row.name, row.source, cut(&row.path), min, max, set, user, host]);
    }
}
