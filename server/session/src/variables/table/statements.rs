//! Variables that each session has, for its statements.

use super::{ALL, G, ISOLATIONS, K, NO_ENCRYPTION, SWITCH, U32, YEAR, e, session, v};
use crate::variables::Effect as E;
use crate::variables::Scope::{Both, Session};
use crate::variables::Variable;
use crate::variables::kind::{
    AI_CI, CHARSETS, COLLATIONS, DEFAULT_SQL_MODE,
    Kind::{Bool, Double, Enum, Int, Modes, NullableEnum, Text},
};

const BY_NEED: &str = "Memory is taken by need.";
const PLANNER: &str = "The planner does not bound its work this way.";

pub(super) const LIST: &[Variable] = &[
    v("auto_increment_increment", Both, Int(1, 65535), "1"),
    v("auto_increment_offset", Both, Int(1, 65535), "1"),
    e("autocommit", Both, Bool, "ON", E::Autocommit),
    v("big_tables", Both, Bool, "OFF")
        .ignored("Temporary rows go to disk when they do not fit in memory."),
    v("block_encryption_mode", Both, Text, "aes-128-ecb"),
    e("character_set_client", Both, Enum(CHARSETS), "utf8mb4", E::Names),
    e("character_set_connection", Both, Enum(CHARSETS), "utf8mb4", E::Names),
    e("character_set_database", Both, Enum(CHARSETS), "utf8mb4", E::Names),
    e("character_set_filesystem", Both, Enum(CHARSETS), "binary", E::Names),
    e("character_set_results", Both, NullableEnum(CHARSETS), "utf8mb4", E::Names),
    e("character_set_server", Both, Enum(CHARSETS), "utf8mb4", E::Names),
    e("collation_connection", Both, Enum(COLLATIONS), AI_CI, E::Names),
    e("collation_database", Both, Enum(COLLATIONS), AI_CI, E::Names),
    e("collation_server", Both, Enum(COLLATIONS), AI_CI, E::Names),
    v("completion_type", Both, Enum(&["NO_CHAIN", "CHAIN", "RELEASE"]), "NO_CHAIN"),
    v("cte_max_recursion_depth", Both, Int(0, U32), "1000"),
    e("default_collation_for_utf8mb4", Both, Enum(COLLATIONS), AI_CI, E::Names),
    v("default_storage_engine", Both, Enum(&["InnoDB"]), "InnoDB"),
    v("default_table_encryption", Both, Bool, "OFF").only(NO_ENCRYPTION),
    v("default_tmp_storage_engine", Both, Enum(&["InnoDB"]), "InnoDB"),
    v("default_week_format", Both, Int(0, 7), "0"),
    v("div_precision_increment", Both, Int(0, 30), "4"),
    v("end_markers_in_json", Both, Bool, "OFF").only("EXPLAIN in JSON has no end markers."),
    v("eq_range_index_dive_limit", Both, Int(0, U32), "200").ignored(PLANNER),
    session("error_count", E::ErrorCount),
    v("explain_format", Both, Enum(&["TRADITIONAL", "JSON", "TREE"]), "TRADITIONAL"),
    v("explain_json_format_version", Both, Int(1, 2), "1"),
    v("explicit_defaults_for_timestamp", Both, Bool, "ON")
        .only("TIMESTAMP columns get no defaults of their own."),
    v("foreign_key_checks", Both, Bool, "ON"),
    v("group_concat_max_len", Both, Int(4, ALL), "1024"),
    v("histogram_generation_max_mem_size", Both, Int(1000000, ALL), "20000000")
        .ignored("A histogram is built from all values of its column."),
    e("identity", Session, Int(0, ALL), "0", E::LastInsertId),
    v("information_schema_stats_expiry", Both, Int(0, YEAR), "86400")
        .ignored("Figures are read when they are asked for."),
    e("insert_id", Session, Int(0, ALL), "0", E::InsertId),
    v("interactive_timeout", Both, Int(1, YEAR), "28800"),
    v("internal_tmp_mem_storage_engine", Both, Enum(&["MEMORY", "TempTable"]), "TempTable")
        .ignored("Temporary rows are kept in one way; temptable_max_ram bounds them."),
    v("join_buffer_size", Both, Int(128, ALL), "262144"),
    e("last_insert_id", Session, Int(0, ALL), "0", E::LastInsertId),
    v("lc_messages", Both, Text, "en_US").only("Messages are in English."),
    v("lc_time_names", Both, Text, "en_US").only("Names of days and months are English."),
    // Seconds that DDL, LOCK TABLES and FLUSH TABLES WITH READ LOCK wait while lock_wait_timeout is a year.
    v("limpid_ddl_lock_wait_timeout", Both, Int(1, YEAR), "60"),
    // How they wait: in slices, between which everyone passes, or in the queue, as in MySQL.
    v("limpid_ddl_wait", Both, Enum(&["slices", "queue"]), "slices"),
    v("lock_wait_timeout", Both, Int(1, YEAR), "31536000"),
    v("long_query_time", Both, Double(0.0, YEAR as f64), "10"),
    v("max_allowed_packet", Both, Int(1024, G), "67108864"),
    v("max_error_count", Both, Int(0, 65535), "1024"),
    v("max_execution_time", Both, Int(0, U32), "0"),
    v("max_heap_table_size", Both, Int(16384, ALL), "16777216"),
    v("max_join_size", Both, Int(1, ALL), "18446744073709551615"),
    v("max_length_for_sort_data", Both, Int(4, 8 << 20), "4096").ignored(PLANNER),
    v("max_seeks_for_key", Both, Int(1, ALL), "18446744073709551615").ignored(PLANNER),
    v("max_sort_length", Both, Int(4, 8 << 20), "1024")
        .ignored("Sorts compare whole values, as MySQL 9.7 does with texts, BLOBs and JSON."),
    v("max_user_connections", Both, Int(0, U32), "0"),
    v("min_examined_row_limit", Both, Int(0, ALL), "0").only("The slow log looks at time alone."),
    v("net_buffer_length", Both, Int(1024, 1 << 20), "16384").ignored(BY_NEED),
    v("net_read_timeout", Both, Int(1, YEAR), "30"),
    v("net_retry_count", Both, Int(1, U32), "10")
        .ignored("A write that was interrupted is always tried again."),
    v("net_write_timeout", Both, Int(1, YEAR), "60"),
    v("new", Both, Bool, "OFF").only("It changes nothing in MySQL either."),
    v("optimizer_max_subgraph_pairs", Both, Int(1, 2_147_483_647), "100000").ignored(PLANNER),
    v("optimizer_prune_level", Both, Int(0, 1), "1").ignored(PLANNER),
    v("optimizer_search_depth", Both, Int(0, 62), "62").ignored(PLANNER),
    v("optimizer_switch", Both, SWITCH, "default"),
    v("parser_max_mem_size", Both, Int(10_000_000, ALL), "18446744073709551615")
        .only("A statement's parser memory is bounded by max_allowed_packet alone."),
    v("print_identified_with_as_hex", Both, Bool, "OFF"),
    v("profiling", Both, Bool, "OFF").only("Statements are not profiled."),
    v("profiling_history_size", Both, Int(0, 100), "15").ignored("Statements are not profiled."),
    session("pseudo_thread_id", E::ConnectionId),
    v("rand_seed1", Session, Int(0, ALL), "0").only("RAND() cannot be given its state."),
    v("rand_seed2", Session, Int(0, ALL), "0").only("RAND() cannot be given its state."),
    v("range_optimizer_max_mem_size", Both, Int(0, ALL), "8388608").ignored(PLANNER),
    v("read_buffer_size", Both, Int(8192, 2 * G), "131072").ignored(BY_NEED),
    v("read_rnd_buffer_size", Both, Int(1, 2 * G), "262144").ignored(BY_NEED),
    v("restrict_fk_on_non_standard_key", Both, Bool, "ON"),
    v("resultset_metadata", Session, Enum(&["NONE", "FULL"]), "FULL"),
    v("select_into_buffer_size", Both, Int(8192, 2_147_479_552), "131072").ignored(BY_NEED),
    v("select_into_disk_sync", Both, Bool, "OFF")
        .only("Files of SELECT ... INTO are written without fsync."),
    v("select_into_disk_sync_delay", Both, Int(0, 31_536_000), "0")
        .ignored("Files of SELECT ... INTO are written without fsync."),
    v("session_track_schema", Both, Bool, "ON"),
    v("session_track_state_change", Both, Bool, "OFF"),
    v(
        "session_track_system_variables",
        Both,
        Text,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
    ),
    v("session_track_transaction_info", Both, Enum(&["OFF", "STATE", "CHARACTERISTICS"]), "OFF"),
    v("set_operations_buffer_size", Both, Int(16384, ALL), "262144")
        .ignored("Set operations have the memory of sorts and temporary tables."),
    v("show_create_table_verbosity", Both, Bool, "OFF")
        .only("SHOW CREATE TABLE leaves out a row format that nobody asked for."),
    v("show_gipk_in_create_table_and_information_schema", Both, Bool, "ON")
        .ignored("There are no generated invisible primary keys."),
    v("sort_buffer_size", Both, Int(32 * K, ALL), "262144"),
    v("sql_auto_is_null", Both, Bool, "OFF").only("A comparison with NULL finds nothing."),
    v("sql_big_selects", Both, Bool, "ON"),
    v("sql_buffer_result", Both, Bool, "OFF")
        .ignored("Rows are copied before they are sent: no client keeps a lock by reading slowly."),
    v("sql_generate_invisible_primary_key", Both, Bool, "OFF")
        .only("There are no generated invisible primary keys."),
    v("sql_log_off", Both, Bool, "OFF"),
    e("sql_mode", Both, Modes, DEFAULT_SQL_MODE, E::SqlMode),
    v("sql_notes", Both, Bool, "ON"),
    v("sql_quote_show_create", Both, Bool, "ON"),
    v("sql_require_primary_key", Both, Bool, "OFF"),
    v("sql_safe_updates", Both, Bool, "OFF"),
    v("sql_select_limit", Both, Int(0, ALL), "18446744073709551615"),
    v("sql_warnings", Both, Bool, "OFF")
        .ignored("The OK packet tells the number of warnings, whatever this says."),
    v("terminology_use_previous", Both, Enum(&["NONE", "BEFORE_8_0_26", "BEFORE_8_2_0"]), "NONE")
        .ignored("Instruments have one name."),
    v("time_zone", Both, Text, "SYSTEM"),
    e("timestamp", Session, Double(0.0, U32 as f64), "0", E::Timestamp),
    v("tmp_table_size", Both, Int(1024, ALL), "16777216"),
    v("transaction_allow_batching", Session, Bool, "OFF").ignored("Only NDB batches."),
    e("transaction_isolation", Both, ISOLATIONS, "REPEATABLE-READ", E::Isolation),
    e("transaction_read_only", Both, Bool, "OFF", E::ReadOnly),
    v("unique_checks", Both, Bool, "ON"),
    v("updatable_views_with_limit", Both, Bool, "ON")
        .ignored("An UPDATE through a view with LIMIT is run, as with YES."),
    v("wait_timeout", Both, Int(1, YEAR), "28800"),
    session("warning_count", E::WarningCount),
    v("windowing_use_high_precision", Both, Bool, "ON")
        .ignored("Window functions always compute with high precision."),
    v("xa_detach_on_prepare", Both, Bool, "ON"),
];
