//! Variables of the Performance Schema: whether there is one, and for how much there is room.

use super::{F, e, v};
use crate::variables::Effect as E;
use crate::variables::Scope::Global;
use crate::variables::Variable;
use crate::variables::kind::{
    Kind::{Bool, Int, Sized},
    NO_LIMIT,
};

// Sizes that are -1 and no limit by that are chosen when the server starts (`crate::variables::chosen`).

const NO_PROGRAMS: &str = "There are no stored programs.";

pub(super) const LIST: &[Variable] = &[
    F("performance_schema", Bool, "ON"),
    F("performance_schema_accounts_size", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_digests_size", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_error_size", Int(0, 1 << 20), "1947"),
    F("performance_schema_events_stages_history_long_size", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_events_stages_history_size", Sized(1024, NO_LIMIT), "-1"),
    F("performance_schema_events_statements_history_long_size", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_events_statements_history_size", Sized(1024, NO_LIMIT), "-1"),
    F("performance_schema_events_transactions_history_long_size", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_events_transactions_history_size", Sized(1024, NO_LIMIT), "-1"),
    F("performance_schema_events_waits_history_long_size", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_events_waits_history_size", Sized(1024, NO_LIMIT), "-1"),
    F("performance_schema_hosts_size", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_cond_classes", Int(0, 1024), "150"),
    F("performance_schema_max_cond_instances", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_digest_length", Int(0, 1 << 20), "1024"),
    e("performance_schema_max_digest_sample_age", Global, Int(0, 1 << 20), "60", E::Setting),
    F("performance_schema_max_file_classes", Int(0, 1024), "80"),
    F("performance_schema_max_file_handles", Int(0, 1 << 20), "32768"),
    F("performance_schema_max_file_instances", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_index_stat", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_memory_classes", Int(0, 1024), "470"),
    F("performance_schema_max_metadata_locks", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_mutex_classes", Int(0, 1024), "350"),
    F("performance_schema_max_mutex_instances", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_prepared_statements_instances", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_program_instances", Sized(1 << 20, NO_LIMIT), "-1")
        .ignored(NO_PROGRAMS),
    F("performance_schema_max_rwlock_classes", Int(0, 1024), "100"),
    F("performance_schema_max_rwlock_instances", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_socket_classes", Int(0, 1024), "10"),
    F("performance_schema_max_socket_instances", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_sql_text_length", Int(0, 1 << 20), "1024"),
    F("performance_schema_max_stage_classes", Int(0, 1024), "175"),
    F("performance_schema_max_statement_classes", Int(0, 1024), "220"),
    F("performance_schema_max_statement_stack", Int(1, 256), "10").ignored(NO_PROGRAMS),
    F("performance_schema_max_table_handles", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_table_instances", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_table_lock_stat", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_max_thread_classes", Int(0, 1024), "100"),
    F("performance_schema_max_thread_instances", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_memory_limit", Sized(1 << 40, NO_LIMIT), "-1"),
    F("performance_schema_session_connect_attrs_size", Sized(1 << 20, 512), "512"),
    F("performance_schema_setup_actors_size", Sized(1 << 20, NO_LIMIT), "-1"),
    F("performance_schema_setup_objects_size", Sized(1 << 20, NO_LIMIT), "-1"),
    v("performance_schema_show_processlist", Global, Bool, "OFF")
        .ignored("SHOW PROCESSLIST has the same rows either way."),
    F("performance_schema_users_size", Sized(1 << 20, NO_LIMIT), "-1"),
];
