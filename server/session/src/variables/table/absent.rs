//! Variables of what is not there, and facts: they are taken, shown and kept, so that stock configurations, dumps and
//! clients work, or have their default only.

use super::{ALL, CACHES, F, FACT, G, NO_REPLICATION, U32, YEAR, v};
use crate::variables::Scope::{Both, Global, Session};
use crate::variables::Variable;
use crate::variables::kind::Kind::{Bool, Double, Enum, Int, Text};

const NO_BINLOG: &str = "There is no binary log.";
const NOT_LOGGED: &str =
    "There is no binary log: the value is kept and logs nothing, as in MySQL without one.";
const NO_GTID: &str = "There is no binary log, so no transaction has a global id.";
const NO_PROGRAMS: &str = "There are no stored programs.";
const NO_EVENTS: &str = "There are no events.";
const NO_MYISAM: &str = "There are no MyISAM tables.";
const ONLY_BY_STATEMENT: &str =
    "Locks are of low priority where a statement says LOW_PRIORITY, not by this.";
const NO_DELAYED: &str = "There is no delayed INSERT.";
const ONE_AUTHORITY_FILE: &str = "Authorities are read from one file (ssl_ca).";
const ONE_REVOCATION_FILE: &str = "Lists of revoked certificates are read from one file (ssl_crl).";
const NO_VALIDATION: &str =
    "A server whose certificate cannot be used starts without TLS and says so.";
const NO_FULLTEXT: &str = "There are no full-text indexes.";
const NO_GEOMETRY: &str = "There are no spatial types.";
const NO_TRACE: &str = "The optimizer is not traced.";
const NO_SECONDARY: &str = "There is no secondary engine.";
const NO_MEMORY_LIMIT: &str = "Memory of connections is not limited.";
const ALLOCATED: &str = "Memory of statements is allocated by need, not in blocks.";
const QUERY_CACHE: &str = "There is no query cache, in MySQL neither.";

pub(super) const LIST: &[Variable] = &[
    v("automatic_sp_privileges", Global, Bool, "ON").ignored(NO_PROGRAMS),
    v("binlog_cache_size", Global, Int(4096, ALL), "32768").ignored(NO_BINLOG),
    v("binlog_expire_logs_seconds", Global, Int(0, U32), "2592000").ignored(NO_BINLOG),
    v("binlog_format", Both, Enum(&["MIXED", "STATEMENT", "ROW"]), "ROW").ignored(NOT_LOGGED),
    v("binlog_row_image", Both, Enum(&["MINIMAL", "NOBLOB", "FULL"]), "FULL").ignored(NOT_LOGGED),
    v("binlog_stmt_cache_size", Global, Int(4096, ALL), "32768").ignored(NO_BINLOG),
    v("bulk_insert_buffer_size", Both, Int(0, ALL), "8388608").ignored(NO_MYISAM),
    F("character_set_system", Text, "utf8mb3").only(FACT),
    F("character_sets_dir", Text, "./").only(FACT),
    v("concurrent_insert", Global, Enum(&["NEVER", "AUTO", "ALWAYS"]), "AUTO").ignored(NO_MYISAM),
    v("connection_memory_chunk_size", Both, Int(1, 536_870_912), "8192").only(NO_MEMORY_LIMIT),
    v("connection_memory_limit", Both, Int(2097152, ALL), "18446744073709551615")
        .only(NO_MEMORY_LIMIT),
    v("delay_key_write", Global, Enum(&["OFF", "ON", "ALL"]), "ON").ignored(NO_MYISAM),
    v("delayed_insert_limit", Global, Int(1, ALL), "100").ignored(NO_DELAYED),
    v("delayed_insert_timeout", Global, Int(1, 31_536_000), "300").ignored(NO_DELAYED),
    v("delayed_queue_size", Global, Int(1, ALL), "1000").ignored(NO_DELAYED),
    v("enforce_gtid_consistency", Global, Enum(&["OFF", "ON", "WARN"]), "OFF").only(NO_GTID),
    v("event_scheduler", Global, Enum(&["OFF", "ON", "DISABLED"]), "OFF").only(NO_EVENTS),
    v("expire_logs_days", Global, Int(0, 99), "0").ignored(NO_BINLOG),
    v("flush_time", Global, Int(0, YEAR), "0").ignored(NO_MYISAM),
    v("ft_boolean_syntax", Global, Text, "+ -><()~*:\"\"&|").ignored(NO_FULLTEXT),
    F("ft_max_word_len", Int(10, 84), "84").ignored(NO_FULLTEXT),
    F("ft_min_word_len", Int(1, 82), "4").ignored(NO_FULLTEXT),
    v("global_connection_memory_limit", Global, Int(16777216, ALL), "18446744073709551615")
        .only(NO_MEMORY_LIMIT),
    v("global_connection_memory_tracking", Both, Bool, "OFF").only(NO_MEMORY_LIMIT),
    F("gtid_executed", Text, "").only(NO_GTID),
    v("gtid_mode", Global, Enum(&["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]), "OFF")
        .only(NO_GTID),
    v("gtid_next", Session, Text, "AUTOMATIC").only(NO_GTID),
    F("gtid_owned", Text, "").only(NO_GTID),
    F("have_compress", Text, "YES").only(FACT),
    F("have_dynamic_loading", Text, "NO").only(FACT),
    F("have_geometry", Text, "NO").only(FACT),
    F("have_profiling", Text, "NO").only(FACT),
    F("have_query_cache", Text, "NO").only(FACT),
    F("have_rtree_keys", Text, "NO").only(FACT),
    F("have_statement_timeout", Text, "YES").only(FACT),
    F("have_symlink", Text, "DISABLED").only(FACT),
    F("hostname", Text, "localhost").only(FACT),
    v("keep_files_on_create", Both, Bool, "OFF").ignored(NO_MYISAM),
    v("key_buffer_size", Global, Int(0, ALL), "8388608").ignored(NO_MYISAM),
    v("key_cache_age_threshold", Global, Int(100, ALL), "300").ignored(NO_MYISAM),
    v("key_cache_block_size", Global, Int(512, 16_384), "1024").ignored(NO_MYISAM),
    v("key_cache_division_limit", Global, Int(1, 100), "100").ignored(NO_MYISAM),
    F("large_files_support", Bool, "ON").only(FACT),
    F("license", Text, "MIT OR Apache-2.0").only(FACT),
    F("locked_in_memory", Bool, "OFF").only(FACT),
    F("log_bin", Bool, "OFF").only(NO_BINLOG),
    F("log_bin_basename", Text, "").only(NO_BINLOG),
    F("log_bin_index", Text, "").only(NO_BINLOG),
    v("log_bin_trust_function_creators", Global, Bool, "OFF").ignored(NO_BINLOG),
    F("log_replica_updates", Bool, "OFF").ignored(NO_BINLOG),
    v("log_slow_replica_statements", Global, Bool, "OFF").only(NO_REPLICATION),
    v("low_priority_updates", Both, Bool, "OFF").ignored(ONLY_BY_STATEMENT),
    F("lower_case_file_system", Bool, "OFF").only(FACT),
    F("lower_case_table_names", Int(0, 0), "0").only(FACT),
    v("max_binlog_cache_size", Global, Int(4096, ALL), "18446744073709547520").ignored(NO_BINLOG),
    v("max_binlog_size", Global, Int(4096, G), "1073741824").ignored(NO_BINLOG),
    v("max_binlog_stmt_cache_size", Global, Int(4096, ALL), "18446744073709547520")
        .ignored(NO_BINLOG),
    v("max_delayed_threads", Both, Int(0, 16384), "20").ignored(NO_DELAYED),
    v("max_insert_delayed_threads", Both, Int(0, 16_384), "20").ignored(NO_DELAYED),
    v("max_points_in_geometry", Both, Int(3, 1_048_576), "65536").ignored(NO_GEOMETRY),
    v("max_sp_recursion_depth", Both, Int(0, 255), "0").ignored(NO_PROGRAMS),
    v("myisam_data_pointer_size", Global, Int(2, 7), "6").ignored(NO_MYISAM),
    v(
        "myisam_max_sort_file_size",
        Global,
        Int(0, 9_223_372_036_854_775_807),
        "9223372036853727232",
    )
    .ignored(NO_MYISAM),
    F("myisam_mmap_size", Int(7, ALL), "18446744073709551615").ignored(NO_MYISAM),
    F("myisam_recover_options", Text, "OFF").ignored(NO_MYISAM),
    v("myisam_sort_buffer_size", Both, Int(4096, ALL), "8388608").ignored(NO_MYISAM),
    v(
        "myisam_stats_method",
        Both,
        Enum(&["nulls_unequal", "nulls_equal", "nulls_ignored"]),
        "nulls_unequal",
    )
    .ignored(NO_MYISAM),
    v("myisam_use_mmap", Global, Bool, "OFF").ignored(NO_MYISAM),
    v("optimizer_trace", Both, Text, "enabled=off,one_line=off").only(NO_TRACE),
    v(
        "optimizer_trace_features",
        Both,
        Text,
        "greedy_search=on,range_optimizer=on,dynamic_range=on,repeated_subselect=on",
    )
    .only(NO_TRACE),
    v("optimizer_trace_limit", Both, Int(0, U32), "1").ignored(NO_TRACE),
    v("optimizer_trace_max_mem_size", Both, Int(0, U32), "1048576").ignored(NO_TRACE),
    v("preload_buffer_size", Both, Int(1024, G), "32768").ignored(NO_MYISAM),
    F("protocol_version", Int(10, 10), "10").only(FACT),
    v("query_alloc_block_size", Both, Int(1024, U32), "8192").ignored(ALLOCATED),
    v("query_cache_size", Global, Int(0, 0), "0").only(QUERY_CACHE),
    v("query_cache_type", Both, Enum(&["OFF"]), "OFF").only(QUERY_CACHE),
    v("query_prealloc_size", Both, Int(8192, ALL), "8192").ignored(ALLOCATED),
    v("range_alloc_block_size", Both, Int(4096, U32), "4096").ignored(ALLOCATED),
    F("relay_log", Text, "").ignored(NO_REPLICATION),
    F("report_host", Text, "").ignored(NO_REPLICATION),
    F("report_port", Int(0, 65535), "3306").ignored(NO_REPLICATION),
    v("schema_definition_cache", Global, Int(256, 524_288), "256").ignored(CACHES),
    v("secondary_engine_cost_threshold", Session, Double(0.0, f64::MAX), "100000")
        .ignored(NO_SECONDARY),
    F("server_id_bits", Int(0, 32), "32").ignored(NO_REPLICATION),
    v("session_track_gtids", Both, Enum(&["OFF", "OWN_GTID", "ALL_GTIDS"]), "OFF").only(NO_GTID),
    F("skip_external_locking", Bool, "ON").ignored(NO_MYISAM),
    v("sql_log_bin", Session, Bool, "ON").ignored(NOT_LOGGED),
    v("sql_slave_skip_counter", Global, Int(0, U32), "0").ignored(NO_REPLICATION),
    v("ssl_capath", Global, Text, "").only(ONE_AUTHORITY_FILE),
    v("ssl_crlpath", Global, Text, "").only(ONE_REVOCATION_FILE),
    v("stored_program_cache", Global, Int(16, 524_288), "256").ignored(NO_PROGRAMS),
    v("stored_program_definition_cache", Global, Int(256, 524_288), "256").ignored(NO_PROGRAMS),
    v("sync_binlog", Global, Int(0, U32), "1").only(NO_BINLOG),
    F("system_time_zone", Text, "UTC").only(FACT),
    v("tablespace_definition_cache", Global, Int(256, 524_288), "256").ignored(CACHES),
    F("tls_certificates_enforced_validation", Bool, "OFF").only(NO_VALIDATION),
    v("transaction_alloc_block_size", Both, Int(1024, 131_072), "8192").ignored(ALLOCATED),
    v("transaction_prealloc_size", Both, Int(1024, 131_072), "4096").ignored(ALLOCATED),
    v("use_secondary_engine", Session, Enum(&["OFF", "ON", "FORCED"]), "ON").ignored(NO_SECONDARY),
    F("version", Text, "").only(FACT),
    F("version_comment", Text, "Limpid").only(FACT),
    F("version_compile_machine", Text, "x86_64").only(FACT),
    F("version_compile_os", Text, "Linux").only(FACT),
    F("version_compile_zlib", Text, "").only(FACT),
];
