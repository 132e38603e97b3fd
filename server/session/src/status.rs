//! SHOW STATUS: the counters of a session or of the server, and what is computed from its state.

use crate::compression;
use crate::engine_status;
use crate::password_rules;
use crate::server::Server;
use crate::transport;
use catalog::ConnectedBy;
use instrument::{ClassKind, Counter, RowsOf};
use stdx::Ordering;
use sync::SessionSlot;
use tls::Secured;
use wire::compressed::Algorithm;

/// Names and values, ordered by name.
///
/// `secured`, `compression`: of the connection that asks, which MySQL shows as the server's, too.
pub fn list(
    server: &Server,
    slot: &SessionSlot,
    (secured, compression): (Option<&Secured>, Option<Algorithm>),
    global: bool,
) -> Vec<(String, String)> {
    let all = instrument::totals();
    let session =
        (!global).then(|| server.registry.status(server.engine.slots().session_index(slot)));
    let value = |c: &Counter| match &session {
        Some(session) if !is_global(*c) => session.get(*c as usize).copied().unwrap_or(0),
        _ => all.counter(*c),
    };
    let counted = Counter::ALL.iter();
    let mut list: Vec<(String, String)> =
        counted.map(|c| (c.name().to_string(), value(c).to_string())).collect();
    list.extend(computed(server).into_iter().map(|(n, v)| (n.to_string(), v.to_string())));
    list.extend(transport::status(server, secured).into_iter().map(|(n, v)| (n.to_string(), v)));
    let validation = password_rules::status(&server.globals, &server.dictionary);
    list.extend(validation.into_iter().map(|(n, v)| (n.to_string(), v)));
    list.extend(compression::status(compression).map(|(n, v)| (n.to_string(), v)));
    list.extend(engine_status::list(&server.engine).into_iter().map(|(n, v)| (n.to_string(), v)));
    list.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    list
}

/// What is the server's, whoever asks: the engine's counters, and what MySQL counts for all sessions together.
fn is_global(c: Counter) -> bool {
    use Counter::{
        AbortedClients, AbortedConnects, FlushCommands, Queries, TableLocksImmediate,
        TableLocksWaited,
    };
    let global = [
        AbortedClients,
        AbortedConnects,
        FlushCommands,
        Queries,
        TableLocksImmediate,
        TableLocksWaited,
    ];
    global.contains(&c) || c.name().starts_with("Innodb_")
}

/// What the Performance Schema had no room for.
fn lost(server: &Server) -> Vec<(&'static str, u64)> {
    let connected = server.registry.connected.lost();
    let files = instrument::files_lost();
    let mut list = vec![
        ("Performance_schema_digest_lost", instrument::digests_lost()),
        ("Performance_schema_prepared_statements_lost", instrument::prepared_lost()),
        ("Performance_schema_file_handles_lost", files.handles),
        ("Performance_schema_file_instances_lost", files.instances),
        ("Performance_schema_socket_instances_lost", RowsOf::Sockets.lost()),
        ("Performance_schema_mutex_instances_lost", RowsOf::Mutexes.lost()),
        ("Performance_schema_rwlock_instances_lost", RowsOf::RwLocks.lost()),
        ("Performance_schema_cond_instances_lost", RowsOf::Conds.lost()),
        ("Performance_schema_table_instances_lost", RowsOf::Tables.lost()),
        ("Performance_schema_table_lock_stat_lost", RowsOf::TableLocks.lost()),
        ("Performance_schema_index_stat_lost", RowsOf::Indexes.lost()),
        ("Performance_schema_thread_instances_lost", RowsOf::Threads.lost()),
        ("Performance_schema_metadata_lock_lost", RowsOf::MetadataLocks.lost()),
        ("Performance_schema_table_handles_lost", RowsOf::TableHandles.lost()),
        ("Performance_schema_locker_lost", instrument::events_lost()),
        ("Performance_schema_accounts_lost", connected[ConnectedBy::Account as usize]),
        ("Performance_schema_users_lost", connected[ConnectedBy::User as usize]),
        ("Performance_schema_hosts_lost", connected[ConnectedBy::Host as usize]),
        ("Performance_schema_cond_classes_lost", instrument::lost(ClassKind::Cond)),
        ("Performance_schema_file_classes_lost", instrument::lost(ClassKind::File)),
        ("Performance_schema_memory_classes_lost", instrument::lost(ClassKind::Memory)),
        ("Performance_schema_mutex_classes_lost", instrument::lost(ClassKind::Mutex)),
        ("Performance_schema_rwlock_classes_lost", instrument::lost(ClassKind::RwLock)),
        ("Performance_schema_socket_classes_lost", instrument::lost(ClassKind::Socket)),
        ("Performance_schema_stage_classes_lost", instrument::lost(ClassKind::Stage)),
        ("Performance_schema_statement_classes_lost", instrument::lost(ClassKind::Statement)),
        ("Performance_schema_thread_classes_lost", host::thread_classes::lost()),
    ];
    list.extend([
        ("Performance_schema_session_connect_attrs_longest_seen", instrument::longest_attributes()),
        ("Performance_schema_session_connect_attrs_lost", instrument::attributes_lost()),
    ]);
    list.extend(OF_PROGRAMS.map(|name| (name, 0)));
    list
}

/// What only stored programs could lose.
const OF_PROGRAMS: [&str; 2] =
    ["Performance_schema_nested_statement_lost", "Performance_schema_program_lost"];

fn computed(server: &Server) -> Vec<(&'static str, u64)> {
    let open = u64::from(server.connections_open());
    let slots = server.engine.slots().sessions();
    let live = slots.filter(|s| s.session_id.load(Ordering::Relaxed) != 0).count() as u64;
    let mut list = vec![
        ("Connections", server.connections_total()),
        ("Open_table_definitions", server.catalog.open_handles().definitions()),
        ("Open_tables", server.catalog.open_handles().handles()),
        ("Max_used_connections", u64::from(server.connections_open_max())),
        ("Prepared_stmt_count", server.statements_open().max(0) as u64),
        ("Threads_cached", server.threads.cached()),
        ("Threads_connected", open.max(live)),
        ("Threads_created", server.threads.created()),
        ("Threads_running", server.registry.running()),
        ("Limpid_plan_cache_bytes", server.programs.bytes()),
        ("Uptime", server.uptime_s()),
        ("Uptime_since_flush_status", server.uptime_since_flush_s()),
    ];
    list.extend(lost(server));
    list
}
