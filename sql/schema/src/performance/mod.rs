//! `performance_schema`: what the server does, and who waits for what.
//!
//! 1. `tables.tsv` has the columns and keys of every table that MySQL 8.4 has; a table is visible when [`SHOWN`] or [`EMPTY`]
//!    names it. To make one visible: a function that makes its rows, in the file of its subject, and a line in [`SHOWN`]. A
//!    table whose rows nobody makes yet is not found, rather than found empty.
//! 2. A table of [`EMPTY`] is about something that this server does not do: no rows are the truth.
//! 3. Rows of a table are made without holding anything that a session takes to connect, to leave or to run a statement:
//!    figures are copied first and put into rows afterwards.

mod events;
mod file_io;
mod live_waits;
mod memory;
mod metadata;
mod server;
mod setup;
mod sockets;
mod stages;
mod statements;
mod status;
mod summaries;
mod table_io;
mod threads;
mod transactions;
mod waits;

pub(crate) use statements::hex;

use crate::information::server as information;
use crate::information::{Fill, Information, Truncate, definition};
use crate::locks;
use catalog::{Changes, ConnectedBy, FiguresBy, PERFORMANCE_SCHEMA, TableDef, VirtualTable};
use instrument::Figures;
use std::sync::Arc;

const TABLES: &str = include_str!("tables.tsv");

const ACCOUNT: FiguresBy = FiguresBy::Connected(ConnectedBy::Account);
const HOST: FiguresBy = FiguresBy::Connected(ConnectedBy::Host);
const USER: FiguresBy = FiguresBy::Connected(ConnectedBy::User);

/// Tables with rows; ordered by name.
const SHOWN: &[Shown] = &[
    Shown::new("accounts", threads::accounts).truncated_by(threads::truncate_accounts),
    Shown::new("cond_instances", waits::cond_instances),
    Shown::new("data_lock_waits", locks::data_lock_waits),
    Shown::new("data_locks", locks::data_locks),
    Shown::new("error_log", server::error_log),
    Shown::new("events_errors_summary_by_account_by_error", summaries::errors_by_account)
        .truncated_by(|c| c.viewer.truncate_figures(ACCOUNT, Figures::Errors)),
    Shown::new("events_errors_summary_by_host_by_error", summaries::errors_by_host)
        .truncated_by(|c| c.viewer.truncate_figures(HOST, Figures::Errors)),
    Shown::new("events_errors_summary_by_thread_by_error", summaries::errors_by_thread)
        .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Thread, Figures::Errors)),
    Shown::new("events_errors_summary_by_user_by_error", summaries::errors_by_user)
        .truncated_by(|c| c.viewer.truncate_figures(USER, Figures::Errors)),
    Shown::new("events_errors_summary_global_by_error", summaries::errors_global)
        .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Everything, Figures::Errors)),
    // Stages that go on stay.
    Shown::new("events_stages_current", stages::current).truncated_by(|_| ()),
    Shown::new("events_stages_history", stages::history)
        .truncated_by(|_| instrument::empty_stage_histories()),
    Shown::new("events_stages_history_long", stages::history_long)
        .truncated_by(|_| instrument::empty_long_stage_history()),
    Shown::new("events_stages_summary_by_account_by_event_name", summaries::stages_by_account)
        .truncated_by(|c| c.viewer.truncate_figures(ACCOUNT, Figures::Stages)),
    Shown::new("events_stages_summary_by_host_by_event_name", summaries::stages_by_host)
        .truncated_by(|c| c.viewer.truncate_figures(HOST, Figures::Stages)),
    Shown::new("events_stages_summary_by_thread_by_event_name", summaries::stages_by_thread)
        .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Thread, Figures::Stages)),
    Shown::new("events_stages_summary_by_user_by_event_name", summaries::stages_by_user)
        .truncated_by(|c| c.viewer.truncate_figures(USER, Figures::Stages)),
    Shown::new("events_stages_summary_global_by_event_name", summaries::stages_global)
        .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Everything, Figures::Stages)),
    // Statements that run stay, as transactions that go on do.
    Shown::new("events_statements_current", events::current)
        .truncated_by(|_| instrument::empty_last_statements()),
    Shown::new("events_statements_histogram_by_digest", statements::histogram_by_digest)
        .truncated_by(|_| instrument::empty_digest_histograms()),
    Shown::new("events_statements_histogram_global", statements::histogram_global)
        .truncated_by(|_| instrument::empty(Figures::Times)),
    Shown::new("events_statements_history", events::history)
        .truncated_by(|_| instrument::empty_statement_histories()),
    Shown::new("events_statements_history_long", events::history_long)
        .truncated_by(|_| instrument::empty_long_statement_history()),
    Shown::new(
        "events_statements_summary_by_account_by_event_name",
        summaries::statements_by_account,
    )
    .truncated_by(|c| c.viewer.truncate_figures(ACCOUNT, Figures::Statements)),
    Shown::new("events_statements_summary_by_digest", statements::by_digest)
        .truncated_by(|_| instrument::forget_digests()),
    Shown::new("events_statements_summary_by_host_by_event_name", summaries::statements_by_host)
        .truncated_by(|c| c.viewer.truncate_figures(HOST, Figures::Statements)),
    Shown::new(
        "events_statements_summary_by_thread_by_event_name",
        summaries::statements_by_thread,
    )
    .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Thread, Figures::Statements)),
    Shown::new("events_statements_summary_by_user_by_event_name", summaries::statements_by_user)
        .truncated_by(|c| c.viewer.truncate_figures(USER, Figures::Statements)),
    Shown::new("events_statements_summary_global_by_event_name", statements::global)
        .truncated_by(statements::truncate),
    Shown::new("events_transactions_current", transactions::current)
        .truncated_by(|_| instrument::empty_last_transactions()),
    Shown::new("events_transactions_history", transactions::history)
        .truncated_by(|_| instrument::empty_transaction_histories()),
    Shown::new("events_transactions_history_long", transactions::history_long)
        .truncated_by(|_| instrument::empty_long_transaction_history()),
    Shown::new(
        "events_transactions_summary_by_account_by_event_name",
        summaries::transactions_by_account,
    )
    .truncated_by(|c| c.viewer.truncate_figures(ACCOUNT, Figures::Transactions)),
    Shown::new(
        "events_transactions_summary_by_host_by_event_name",
        summaries::transactions_by_host,
    )
    .truncated_by(|c| c.viewer.truncate_figures(HOST, Figures::Transactions)),
    Shown::new(
        "events_transactions_summary_by_thread_by_event_name",
        summaries::transactions_by_thread,
    )
    .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Thread, Figures::Transactions)),
    Shown::new(
        "events_transactions_summary_by_user_by_event_name",
        summaries::transactions_by_user,
    )
    .truncated_by(|c| c.viewer.truncate_figures(USER, Figures::Transactions)),
    Shown::new("events_transactions_summary_global_by_event_name", summaries::transactions_global)
        .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Everything, Figures::Transactions)),
    // Waits that go on stay.
    Shown::new("events_waits_current", live_waits::current)
        .truncated_by(|_| instrument::empty_last_waits()),
    Shown::new("events_waits_history", live_waits::history)
        .truncated_by(|_| instrument::empty_wait_histories()),
    Shown::new("events_waits_history_long", live_waits::history_long)
        .truncated_by(|_| instrument::empty_long_wait_history()),
    Shown::new("events_waits_summary_by_account_by_event_name", summaries::waits_by_account)
        .truncated_by(|c| c.viewer.truncate_figures(ACCOUNT, Figures::Waits)),
    Shown::new("events_waits_summary_by_host_by_event_name", summaries::waits_by_host)
        .truncated_by(|c| c.viewer.truncate_figures(HOST, Figures::Waits)),
    Shown::new("events_waits_summary_by_instance", waits::by_instance)
        .truncated_by(|_| waits::truncate_instances()),
    Shown::new("events_waits_summary_by_thread_by_event_name", summaries::waits_by_thread)
        .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Thread, Figures::Waits)),
    Shown::new("events_waits_summary_by_user_by_event_name", summaries::waits_by_user)
        .truncated_by(|c| c.viewer.truncate_figures(USER, Figures::Waits)),
    Shown::new("events_waits_summary_global_by_event_name", waits::global)
        .truncated_by(waits::truncate),
    Shown::new("file_instances", file_io::instances),
    Shown::new("file_summary_by_event_name", file_io::by_event_name)
        .truncated_by(|_| instrument::empty_files()),
    Shown::new("file_summary_by_instance", file_io::by_instance)
        .truncated_by(|_| instrument::empty_files()),
    Shown::new("global_status", status::global_status).truncated_by(status::truncate),
    Shown::new("global_variables", status::global_variables),
    Shown::new("host_cache", threads::host_cache).truncated_by(|c| c.viewer.truncate_hosts()),
    Shown::new("hosts", threads::hosts).truncated_by(threads::truncate_hosts),
    Shown::new("innodb_redo_log_files", server::redo_log_files),
    Shown::new("log_status", server::log_status),
    Shown::new("memory_summary_by_account_by_event_name", summaries::memory_by_account)
        .truncated_by(|c| c.viewer.truncate_figures(ACCOUNT, Figures::Memory)),
    Shown::new("memory_summary_by_host_by_event_name", summaries::memory_by_host)
        .truncated_by(|c| c.viewer.truncate_figures(HOST, Figures::Memory)),
    Shown::new("memory_summary_by_thread_by_event_name", summaries::memory_by_thread)
        .truncated_by(|c| c.viewer.truncate_figures(FiguresBy::Thread, Figures::Memory)),
    Shown::new("memory_summary_by_user_by_event_name", summaries::memory_by_user)
        .truncated_by(|c| c.viewer.truncate_figures(USER, Figures::Memory)),
    Shown::new("memory_summary_global_by_event_name", memory::global)
        .truncated_by(|_| instrument::empty_memory()),
    Shown::new("metadata_locks", metadata::metadata_locks),
    Shown::new("mutex_instances", waits::mutex_instances),
    Shown::new("objects_summary_global_by_type", table_io::objects)
        .truncated_by(table_io::truncate_objects),
    Shown::new("performance_timers", server::timers),
    Shown::new("persisted_variables", status::persisted_variables),
    Shown::new("prepared_statements_instances", statements::prepared)
        .truncated_by(|_| instrument::empty_prepared()),
    Shown::new("processlist", information::performance_processlist),
    Shown::new("rwlock_instances", waits::rwlock_instances),
    Shown::new("session_account_connect_attrs", information::own_connect_attributes),
    Shown::new("session_connect_attrs", information::connect_attributes),
    Shown::new("session_status", status::session_status),
    Shown::new("session_variables", status::session_variables),
    Shown::new("setup_actors", setup::actors)
        .truncated_by(|_| instrument::clear_actors())
        .changed_by(&setup::ACTORS),
    Shown::new("setup_consumers", setup::consumers).changed_by(&setup::CONSUMERS),
    Shown::new("setup_instruments", setup::instruments).changed_by(&setup::INSTRUMENTS),
    Shown::new("setup_objects", setup::objects)
        .truncated_by(|_| instrument::clear_objects())
        .changed_by(&setup::OBJECTS),
    Shown::new("setup_threads", setup::threads).changed_by(&setup::THREADS),
    Shown::new("socket_instances", sockets::instances),
    Shown::new("socket_summary_by_event_name", sockets::by_event_name)
        .truncated_by(|_| instrument::empty_sockets()),
    Shown::new("socket_summary_by_instance", sockets::by_instance)
        .truncated_by(|_| instrument::empty_sockets()),
    Shown::new("status_by_account", status::by_account)
        .truncated_by(|c| c.viewer.truncate_status(Some(ConnectedBy::Account))),
    Shown::new("status_by_host", status::by_host)
        .truncated_by(|c| c.viewer.truncate_status(Some(ConnectedBy::Host))),
    Shown::new("status_by_thread", status::by_thread)
        .truncated_by(|c| c.viewer.truncate_status(None)),
    Shown::new("status_by_user", status::by_user)
        .truncated_by(|c| c.viewer.truncate_status(Some(ConnectedBy::User))),
    Shown::new("table_handles", metadata::table_handles),
    Shown::new("table_io_waits_summary_by_index_usage", table_io::by_index)
        .truncated_by(|_| instrument::empty_table_io()),
    Shown::new("table_io_waits_summary_by_table", table_io::by_table)
        .truncated_by(|_| instrument::empty_table_io()),
    Shown::new("table_lock_waits_summary_by_table", table_io::locks)
        .truncated_by(table_io::truncate_locks),
    Shown::new("threads", threads::threads).changed_by(&threads::CHANGES),
    Shown::new("tls_channel_status", status::tls_channel),
    Shown::new("user_variables_by_thread", status::user_variables_by_thread),
    Shown::new("users", threads::users).truncated_by(threads::truncate_users),
    Shown::new("variables_by_thread", status::variables_by_thread),
    Shown::new("variables_info", status::variables_info),
];

/// Tables with rows where `performance_schema` is OFF.
const ALWAYS: &[&str] = &[
    "error_log",
    "global_status",
    "global_variables",
    "host_cache",
    "innodb_redo_log_files",
    "log_status",
    "persisted_variables",
    "session_status",
    "session_variables",
    "tls_channel_status",
    "variables_info",
];

/// Tables of things that this server does not have: stored programs, replication, clone, a binary log, keyrings, loadable functions.
const EMPTY: &[&str] = &[
    "binary_log_transaction_compression_stats",
    "clone_progress",
    "clone_status",
    "events_statements_summary_by_program",
    "keyring_component_status",
    "keyring_keys",
    "replication_applier_configuration",
    "replication_applier_filters",
    "replication_applier_global_filters",
    "replication_applier_status",
    "replication_applier_status_by_coordinator",
    "replication_applier_status_by_worker",
    "replication_asynchronous_connection_failover",
    "replication_asynchronous_connection_failover_managed",
    "replication_connection_configuration",
    "replication_connection_status",
    "replication_group_communication_information",
    "replication_group_configuration_version",
    "replication_group_member_actions",
    "replication_group_member_stats",
    "replication_group_members",
    "user_defined_functions",
];

/// Those of [`EMPTY`] that TRUNCATE may name.
const EMPTIED: &[&str] =
    &["binary_log_transaction_compression_stats", "events_statements_summary_by_program"];

/// A table and how its rows are made.
struct Shown {
    name: &'static str,
    fill: Fill,
    truncate: Option<Truncate>,
    changes: Option<&'static Changes>,
}

impl Shown {
    const fn new(name: &'static str, fill: Fill) -> Shown {
        Shown { name, fill, truncate: None, changes: None }
    }

    /// The same with a TRUNCATE.
    const fn truncated_by(self, truncate: Truncate) -> Shown {
        Shown { truncate: Some(truncate), ..self }
    }

    /// The same with rows that can be changed.
    const fn changed_by(self, changes: &'static Changes) -> Shown {
        Shown { changes: Some(changes), ..self }
    }
}

/// Columns and keys of every table, visible or not.
fn definitions() -> Vec<TableDef> {
    let mut tables = definition::parse(TABLES, PERFORMANCE_SCHEMA);
    for def in &mut tables {
        for column in &mut def.columns {
            // MySQL wrote the collation wherever it wrote a character set, and in one place the table's own.
            let of_text = column.ty.is_text() || column.ty.kind.has_members();
            let is_own = column.name == "LOCK_DATA";
            column.own_collation = of_text && column.ty.collation != def.collation || is_own;
        }
    }
    tables
}

/// The visible tables that MySQL has.
pub(crate) fn tables() -> Vec<Arc<dyn VirtualTable>> {
    let table = |def: TableDef| -> Option<Arc<dyn VirtualTable>> {
        if let Some(shown) = SHOWN.iter().find(|s| s.name == def.name) {
            let fill: Fill = match instrument::is_on() || ALWAYS.contains(&shown.name) {
                true => shown.fill,
                false => |_, _| (),
            };
            let table = Information::new(def, fill).truncated_by(shown.truncate);
            return Some(Arc::new(table.changed_by(shown.changes)));
        }
        let name = def.name.as_str();
        let nothing: Truncate = |_| ();
        let truncate = EMPTIED.contains(&name).then_some(nothing);
        let empty = EMPTY.contains(&name);
        empty.then(|| -> Arc<dyn VirtualTable> {
            Arc::new(Information::new(def, |_, _| ()).truncated_by(truncate))
        })
    };
    definitions().into_iter().filter_map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_tables_of_mysql_once() {
        let all = definitions();
        let mut names: Vec<&str> = SHOWN.iter().map(|s| s.name).collect();
        assert!(names.is_sorted() && EMPTY.is_sorted());
        assert!(EMPTIED.iter().all(|name| EMPTY.contains(name)));
        names.extend(EMPTY);
        for name in &names {
            assert!(all.iter().any(|d| d.name == *name), "{name}");
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!((names.len(), tables().len()), (count, count));
        assert_eq!(all.len(), 116);
        let columns: usize = all.iter().map(|d| d.columns.len()).sum();
        let keys: usize = all.iter().map(|d| d.indexes.len()).sum();
        let lines = TABLES.lines().filter(|l| !l.starts_with('#') && !l.contains("\tCOLLATION\t"));
        assert_eq!(columns + keys, lines.count());
    }
}
