//! Exceptions of single variables, which their line in the table does not tell: warnings when they are set, sessions
//! that may not set theirs, those without a default.

use super::Variable;

/// Variables whose SET warns that they will go.
const DEPRECATED: &[&str] = &[
    "binlog_format",
    "max_delayed_threads",
    "max_insert_delayed_threads",
    "max_length_for_sort_data",
    "profiling",
    "profiling_history_size",
    "query_prealloc_size",
    "terminology_use_previous",
    "transaction_prealloc_size",
];

/// Variables whose SET warns that they will not be settable any more.
const READ_ONLY_SOON: &[&str] =
    &["character_set_database", "collation_database", "default_collation_for_utf8mb4"];

/// Variables that every session has and that only SET GLOBAL changes.
const SESSION_FIXED: &[&str] = &["max_allowed_packet", "max_user_connections", "net_buffer_length"];

/// Variables whose session value says something of all: SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN sets it.
const RESTRICTED: &[&str] = &[
    "binlog_direct_non_transactional_updates",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "bulk_insert_buffer_size",
    "character_set_database",
    "character_set_filesystem",
    "connection_memory_chunk_size",
    "connection_memory_limit",
    "global_connection_memory_tracking",
    "gtid_next",
    "histogram_generation_max_mem_size",
    "immediate_server_version",
    "internal_tmp_mem_storage_engine",
    "low_priority_updates",
    "max_delayed_threads",
    "max_error_count",
    "max_insert_delayed_threads",
    "min_examined_row_limit",
    "original_commit_timestamp",
    "original_server_version",
    "preload_buffer_size",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
    "pseudo_thread_id",
    "select_into_buffer_size",
    "select_into_disk_sync_delay",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_log_off",
    "sql_require_primary_key",
    "xa_detach_on_prepare",
];

/// Whether a session needs a privilege to set its own value.
pub fn is_restricted(variable: &Variable) -> bool {
    RESTRICTED.binary_search(&variable.name).is_ok()
}

/// Of [`RESTRICTED`] those that SUPER is not enough for.
const BEYOND_SUPER: &[&str] = &[
    "internal_tmp_mem_storage_engine",
    "low_priority_updates",
    "max_delayed_threads",
    "max_error_count",
    "max_insert_delayed_threads",
    "min_examined_row_limit",
    "preload_buffer_size",
    "select_into_buffer_size",
    "select_into_disk_sync_delay",
];

/// Whether SUPER is enough to set a session's value of a restricted variable.
pub fn is_set_by_super(variable: &Variable) -> bool {
    !BEYOND_SUPER.contains(&variable.name)
}

/// Variables without a default.
const UNSET: &[&str] = &["identity", "insert_id", "last_insert_id", "rand_seed1", "rand_seed2"];

/// Fixed variables that tell what the server is or where its files are: SET PERSIST_ONLY does not change them.
const NOT_PERSISTENT: &[&str] = &[
    "basedir",
    "character_set_system",
    "character_sets_dir",
    "datadir",
    "gtid_executed",
    "gtid_owned",
    "have_openssl",
    "have_ssl",
    "hostname",
    "innodb_version",
    "license",
    "lower_case_file_system",
    "lower_case_table_names",
    "persisted_globals_load",
    "pid_file",
    "plugin_dir",
    "protocol_version",
    "secure_file_priv",
    "server_uuid",
    "socket",
    "system_time_zone",
    "tmpdir",
    "version",
    "version_comment",
    "version_compile_machine",
    "version_compile_os",
    "version_compile_zlib",
];

/// The warning of a SET of this variable.
pub fn set_warning(v: &Variable) -> Option<(u16, String)> {
    let name = v.name;
    if DEPRECATED.contains(&name) {
        let text = format!("'@@{name}' is deprecated and will be removed in a future release.");
        return Some((1287, text));
    }
    if READ_ONLY_SOON.contains(&name) {
        let text = format!(
            "Updating '{name}' is deprecated. It will be made read-only in a future release."
        );
        return Some((1681, text));
    }
    (name == "restrict_fk_on_non_standard_key")
        .then(|| (1681, format!("'{name}' is deprecated and will be removed in a future release.")))
}

/// Only SET GLOBAL changes it, although sessions have a value of their own (1621).
pub fn is_session_fixed(v: &Variable) -> bool {
    SESSION_FIXED.contains(&v.name)
}

/// SET x = DEFAULT is possible (else 1230).
pub fn has_default(v: &Variable) -> bool {
    !UNSET.contains(&v.name)
}

/// SET PERSIST_ONLY refuses it.
pub(super) fn is_not_persistent(name: &str) -> bool {
    NOT_PERSISTENT.contains(&name)
}
