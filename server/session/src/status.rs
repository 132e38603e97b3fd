//! SHOW STATUS: the counters of a session or of the server, and what is computed from its state.

use crate::engine_status;
use crate::server::Server;
use instrument::{Counter, Totals};
use stdx::Ordering;
use sync::SessionSlot;

/// What MySQL shows of TLS where it has none.
const TLS: &[(&str, &str)] = &[
    ("Ssl_accept_renegotiates", "0"),
    ("Ssl_accepts", "0"),
    ("Ssl_callback_cache_hits", "0"),
    ("Ssl_cipher", ""),
    ("Ssl_cipher_list", ""),
    ("Ssl_client_connects", "0"),
    ("Ssl_connect_renegotiates", "0"),
    ("Ssl_ctx_verify_depth", "0"),
    ("Ssl_ctx_verify_mode", "0"),
    ("Ssl_default_timeout", "0"),
    ("Ssl_finished_accepts", "0"),
    ("Ssl_finished_connects", "0"),
    ("Ssl_server_not_after", ""),
    ("Ssl_server_not_before", ""),
    ("Ssl_session_cache_hits", "0"),
    ("Ssl_session_cache_misses", "0"),
    ("Ssl_session_cache_mode", "NONE"),
    ("Ssl_session_cache_overflows", "0"),
    ("Ssl_session_cache_size", "0"),
    ("Ssl_session_cache_timeout", "0"),
    ("Ssl_session_cache_timeouts", "0"),
    ("Ssl_sessions_reused", "0"),
    ("Ssl_used_session_cache_entries", "0"),
    ("Ssl_verify_depth", "0"),
    ("Ssl_verify_mode", "0"),
    ("Ssl_version", ""),
];

/// Names and values, ordered by name.
pub fn list(
    server: &Server,
    (slot, before): (&SessionSlot, &[u64]),
    global: bool,
) -> Vec<(String, String)> {
    let totals = match global {
        true => instrument::totals(),
        false => {
            let mut session = Totals::new();
            session.add_page(&slot.counters, 0);
            session
        }
    };
    let all = if global { totals.clone() } else { instrument::totals() };
    let counted = Counter::ALL.iter().filter(|c| !is_computed(**c));
    let mut list: Vec<(String, String)> = counted
        .map(|c| {
            // What the engine does is the server's, whoever asks.
            let (of, before) = match c.name().starts_with("Innodb_") || global {
                true => (&all, 0),
                false => (&totals, before.get(*c as usize).copied().unwrap_or(0)),
            };
            (c.name().to_string(), of.counter(*c).saturating_sub(before).to_string())
        })
        .collect();
    list.extend(computed(server, &all).into_iter().map(|(n, v)| (n.to_string(), v.to_string())));
    list.extend(TLS.iter().map(|(n, v)| (n.to_string(), v.to_string())));
    list.extend(engine_status::list(&server.engine).into_iter().map(|(n, v)| (n.to_string(), v)));
    list.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    list
}

/// The counters of a session, by their numbers.
pub fn of_session(slot: &SessionSlot) -> Vec<u64> {
    let mut session = Totals::new();
    session.add_page(&slot.counters, 0);
    Counter::ALL.iter().map(|c| session.counter(*c)).collect()
}

fn is_computed(c: Counter) -> bool {
    matches!(c, Counter::Connections | Counter::ThreadsCreated)
}

fn computed(server: &Server, totals: &Totals) -> Vec<(&'static str, u64)> {
    let open = u64::from(server.connections_open());
    let processes = server.registry.processes();
    let running =
        processes.iter().filter(|p| p.line.command != "Sleep" && !p.line.leaves).count() as u64;
    let slots = server.engine.slots().sessions();
    let live = slots.filter(|s| s.session_id.load(Ordering::Relaxed) != 0).count() as u64;
    vec![
        ("Connections", server.connections_total()),
        ("Max_used_connections", u64::from(server.connections_open_max())),
        ("Prepared_stmt_count", server.statements_open().max(0) as u64),
        ("Threads_cached", 0),
        ("Threads_connected", open.max(live)),
        ("Threads_created", server.connections_total()),
        ("Threads_running", running),
        ("Limpid_plan_cache_bytes", server.programs.bytes()),
        ("Uptime", server.uptime_s()),
        ("Uptime_since_flush_status", server.uptime_s()),
        ("Open_tables", totals.counter(Counter::TableOpenCacheMisses)),
    ]
}
