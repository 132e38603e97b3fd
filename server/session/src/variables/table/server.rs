//! Variables of the server alone, but InnoDB's.

use super::{ALL, F, NO_ENCRYPTION, ONE_FOLDER, U32, YEAR, e, told, v};
use crate::variables::Effect as E;
use crate::variables::Scope::{Both, Global};
use crate::variables::Variable;
use crate::variables::kind::{
    Kind::{Bool, Checked, Enum, Int, Text},
    THREADS,
};
use std::net::IpAddr;

const UTC_LOGS: &str = "Logs are written in UTC.";
const ONE_ENGINE: &str = "All tables are InnoDB's.";

/// Whether `admin_address` may be this: nothing, or an address that is one.
fn is_one_address(text: &str) -> bool {
    let one = |ip: IpAddr| !ip.is_unspecified();
    text.is_empty() || text == "localhost" || text.parse().is_ok_and(one)
}

pub(super) const LIST: &[Variable] = &[
    v("activate_all_roles_on_login", Global, Bool, "OFF"),
    F("admin_address", Checked(is_one_address), ""),
    F("admin_port", Int(0, 65535), "33062"),
    v("authentication_policy", Global, Text, "*,,")
        .only("An account has one way to prove who it is."),
    F("auto_generate_certs", Bool, "ON"),
    F("back_log", Int(1, 65535), "151")
        .ignored("The listener's queue is as long as the system allows."),
    F("basedir", Text, "./").ignored("Nothing is read from the folder of the installation."),
    F("bind_address", Text, "127.0.0.1"),
    v("check_proxy_users", Global, Bool, "OFF").only("There are no proxied accounts."),
    v("connect_timeout", Global, Int(2, YEAR), "10"),
    F("core_file", Bool, "OFF"),
    F("datadir", Text, "./limpid-data/"),
    v("default_authentication_plugin", Global, Text, "caching_sha2_password")
        .only("New passwords are kept for caching_sha2_password."),
    v("default_password_lifetime", Global, Int(0, 65535), "0"),
    F("disabled_storage_engines", Text, "").only(ONE_ENGINE),
    F("create_admin_listener_thread", Bool, "OFF")
        .ignored("Each address that is listened on has a thread of its own."),
    F("disconnect_on_expired_password", Bool, "ON"),
    // Who `auth_socket` let in, as the system names it.
    told("external_user", ""),
    v("flush", Global, Bool, "OFF").only("There are no MyISAM tables to flush."),
    e("general_log", Global, Bool, "OFF", E::Logs),
    e("general_log_file", Global, Text, "general.log", E::Logs),
    v("generated_random_password_length", Both, Int(5, 255), "20"),
    v("gtid_purged", Global, Text, "")
        .ignored("There is no binary log: what a dump says of global ids is kept, and not used."),
    // What MySQL 8.0 has: whether TLS is offered.
    F("have_openssl", Text, "DISABLED"),
    F("have_ssl", Text, "DISABLED"),
    v("host_cache_size", Global, Int(0, 65_536), "279"),
    v("init_connect", Global, Text, ""),
    F("init_file", Text, ""),
    F("large_page_size", Int(0, 0), "0").only("The buffer pool uses ordinary pages."),
    F("large_pages", Bool, "OFF").only("The buffer pool uses ordinary pages."),
    F("lc_messages_dir", Text, "./").ignored("Messages are part of the program."),
    // How much is measured: a state of setup_instruments and setup_consumers; `custom` is any other state.
    e(
        "limpid_instrument_level",
        Global,
        Enum(&["none", "def", "tables", "statements", "synch", "custom", "default"]),
        "def",
        E::Setting,
    ),
    // Pages for a browser; its place is of this machine alone.
    e("limpid_dashboard", Global, Bool, "ON", E::Setting),
    F("limpid_dashboard_address", Text, "127.0.0.1"),
    F("limpid_dashboard_port", Int(0, 65535), "3380"),
    // Ends transactions that have been idle for so many seconds when DDL waits for them; 0: none.
    v("limpid_ddl_kill_idle_blockers", Global, Int(0, YEAR), "0"),
    // For experiments: ON lets each command ask for its privileges under one latch.
    e("limpid_grant_lock", Global, Bool, "OFF", E::Setting),
    // Memory for all row locks: who asks for a free one beyond it gets error 1206.
    e("limpid_lock_memory_max", Global, Int(1 << 20, ALL), "1073741824", E::Setting),
    // For experiments: OFF sends every metadata lock through the mutex of a shard; how an object finds its shard.
    e("limpid_mdl_fast_path", Global, Bool, "ON", E::Setting),
    e("limpid_mdl_hash", Global, Enum(&["id", "name", "bad"]), "id", E::Setting),
    // Memory for plans that sessions share; 0: plans of texts are not kept.
    e("limpid_plan_cache_size", Global, Int(0, ALL), "16777216", E::Setting),
    // For experiments: whether committing sessions purge a little, and whether the purge threads work.
    e("limpid_purge_at_commit", Global, Bool, "ON", E::Setting),
    e("limpid_purge_in_background", Global, Bool, "ON", E::Setting),
    // The active session history: whether there is one, and how much memory it may take.
    e("limpid_session_history", Global, Bool, "ON", E::Engine),
    e("limpid_session_history_size", Global, Int(0, ALL), "67108864", E::Setting),
    // For experiments: OFF parks the open tables of sessions that connect in their instance of the table cache.
    e("limpid_table_cache_local", Global, Bool, "ON", E::Setting),
    v("local_infile", Global, Bool, "OFF"),
    F("log_error", Text, "stderr"),
    v("log_error_services", Global, Text, "log_filter_internal; log_sink_internal")
        .only("The error log has one form."),
    v("log_error_suppression_list", Global, Text, "").only("The error log leaves nothing out."),
    e("log_error_verbosity", Global, Int(1, 3), "2", E::Setting),
    e("log_output", Global, Text, "FILE", E::Logs),
    v("log_queries_not_using_indexes", Global, Bool, "OFF")
        .only("The slow log looks at time alone."),
    v("log_raw", Global, Bool, "OFF").only("The general log hides passwords."),
    v("log_slow_admin_statements", Global, Bool, "OFF"),
    v("log_slow_extra", Global, Bool, "OFF").only("The slow log has its short form."),
    v("log_throttle_queries_not_using_indexes", Global, Int(0, ALL), "0")
        .only("The slow log looks at time alone."),
    v("log_timestamps", Global, Enum(&["UTC", "SYSTEM"]), "UTC").only(UTC_LOGS),
    v("max_connect_errors", Global, Int(1, ALL), "100"),
    v("max_connections", Global, Int(1, 100_000), "151"),
    v("max_digest_length", Global, Int(0, 1 << 20), "1024"),
    v("max_prepared_stmt_count", Global, Int(0, 4_194_304), "16382"),
    e("max_write_lock_count", Global, Int(1, ALL), "18446744073709551615", E::Setting),
    F("metadata_locks_cache_size", Int(1, 1 << 20), "1024")
        .ignored("Metadata locks lie in the sessions that hold them."),
    // Shards of the locks that go through them: see limpid_mdl_fast_path.
    F("metadata_locks_hash_instances", Int(1, 1024), "8"),
    e("offline_mode", Global, Bool, "OFF", E::Access),
    F("old_alter_table", Bool, "OFF").only("ALTER TABLE chooses its way by what it changes."),
    F("open_files_limit", Int(0, U32), "10000")
        .ignored("As many files are open as the system allows."),
    e("mandatory_roles", Global, Text, "", E::Access),
    e("partial_revokes", Global, Bool, "OFF", E::Access),
    v("password_history", Global, Int(0, U32), "0"),
    v("password_require_current", Global, Bool, "OFF"),
    v("password_reuse_interval", Global, Int(0, U32), "0"),
    F("persisted_globals_load", Bool, "ON"),
    F("pid_file", Text, ""),
    F("plugin_dir", Text, "./").ignored("There are no plugins to load."),
    F("port", Int(0, 65535), "3306"),
    v(
        "protocol_compression_algorithms",
        Global,
        Checked(wire::compressed::is_list),
        "zlib,zstd,uncompressed",
    ),
    // MariaDB's: who may tell where its clients come from, by a header of the PROXY protocol.
    v("proxy_protocol_networks", Global, Checked(wire::proxy::Networks::is_list), ""),
    told("proxy_user", "").only("There are no proxied accounts."),
    e("read_only", Global, Bool, "OFF", E::Access),
    v("regexp_stack_limit", Global, Int(0, 2_147_483_647), "8000000")
        .ignored("The time of matching is bounded by max_execution_time alone."),
    v("regexp_time_limit", Global, Int(0, 2_147_483_647), "32")
        .ignored("The time of matching is bounded by max_execution_time alone."),
    v("require_secure_transport", Global, Bool, "OFF"),
    F("secure_file_priv", Text, "NULL"),
    v("server_id", Global, Int(0, U32), "1"),
    F("server_uuid", Text, "00000000-0000-0000-0000-000000000000"),
    F("skip_name_resolve", Bool, "ON").only("Host names of clients are not looked up."),
    F("skip_networking", Bool, "OFF"),
    F("skip_show_database", Bool, "OFF")
        .only("SHOW DATABASES shows every schema that the account may see."),
    v("slow_launch_time", Global, Int(0, YEAR), "2")
        .ignored("Threads that start slowly are not counted."),
    e("slow_query_log", Global, Bool, "OFF", E::Logs),
    e("slow_query_log_file", Global, Text, "slow.log", E::Logs),
    e("table_definition_cache", Global, Int(400, 524_288), "2000", E::Setting),
    e("table_open_cache", Global, Int(1, 524_288), "4000", E::Setting),
    F("table_open_cache_instances", Int(1, 64), "16"),
    v("ssl_ca", Global, Text, ""),
    v("ssl_cert", Global, Text, ""),
    v("ssl_cipher", Global, Text, ""),
    v("ssl_crl", Global, Text, ""),
    v("ssl_key", Global, Text, ""),
    F("socket", Text, ""),
    e("super_read_only", Global, Bool, "OFF", E::Access),
    v("table_encryption_privilege_check", Global, Bool, "OFF").only(NO_ENCRYPTION),
    v("temptable_max_mmap", Global, Int(0, ALL), "1073741824")
        .ignored("Temporary rows beyond temptable_max_ram lie in files."),
    e("temptable_max_ram", Global, Int(2 << 20, ALL), "1073741824", E::Setting),
    F("thread_handling", Enum(THREADS), "one-thread-per-connection")
        .only("Each connection has a thread."),
    F("thread_pool_size", Int(1, 1024), "16").ignored("Each connection has a thread."),
    e("thread_cache_size", Global, Int(0, 16384), "18", E::Setting),
    F("thread_stack", Int(131_072, ALL), "1048576"),
    v("tls_ciphersuites", Global, Text, ""),
    v("tls_version", Global, Text, "TLSv1.2,TLSv1.3"),
    F("tmpdir", Text, "/tmp").only(ONE_FOLDER),
    // Of the component `validate_password`: not there before it is installed.
    e("validate_password.changed_characters_percentage", Global, Int(0, 100), "0", E::Passwords),
    e("validate_password.check_user_name", Global, Bool, "ON", E::Passwords),
    e("validate_password.dictionary_file", Global, Text, "", E::Passwords),
    e("validate_password.length", Global, Int(0, 0x7fff_ffff), "8", E::Passwords),
    e("validate_password.mixed_case_count", Global, Int(0, 0x7fff_ffff), "1", E::Passwords),
    e("validate_password.number_count", Global, Int(0, 0x7fff_ffff), "1", E::Passwords),
    e(
        "validate_password.policy",
        Global,
        Enum(&["LOW", "MEDIUM", "STRONG"]),
        "MEDIUM",
        E::Passwords,
    ),
    e("validate_password.special_char_count", Global, Int(0, 0x7fff_ffff), "1", E::Passwords),
];
