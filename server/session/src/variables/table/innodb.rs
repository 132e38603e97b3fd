//! InnoDB's variables.

use super::{ALL, CACHES, F, FACT, G, K, M, NO_ENCRYPTION, NO_REPLICATION, ONE_FOLDER, U32, e, v};
use crate::variables::Effect as E;
use crate::variables::Scope::{Both, Global};
use crate::variables::Variable;
use crate::variables::kind::Kind::{Bool, Double, Enum, Int, Steps, Text};

const NO_COMPRESSED: &str = "There are no compressed tables.";
const SPINS: &str = "Waits spin and park by their own measure.";
const NO_TICKETS: &str = "Threads inside the engine are not limited.";
const NO_HASH_INDEX: &str = "There is no adaptive hash index.";
const NO_CHANGE_BUFFER: &str = "Changes of secondary indexes are made at once.";
const LOG_WRITER: &str = "Committing sessions write the log themselves.";
const DDL_MEMORY: &str = "Indexes are built in the memory that sorts have.";
const PRELOADS: &str = "Pages are purged and extended by the engine's own measure.";

pub(super) const LIST: &[Variable] = &[
    e("innodb_adaptive_flushing", Global, Bool, "ON", E::Setting),
    e("innodb_adaptive_flushing_lwm", Global, Int(0, 70), "10", E::Setting),
    v("innodb_adaptive_hash_index", Global, Bool, "OFF").ignored(NO_HASH_INDEX),
    F("innodb_adaptive_hash_index_parts", Int(1, 512), "8").ignored(NO_HASH_INDEX),
    v("innodb_adaptive_max_sleep_delay", Global, Int(0, 1_000_000), "150000").ignored(NO_TICKETS),
    v("innodb_autoextend_increment", Global, Int(1, 1000), "64")
        .ignored("A table's file grows by the extent."),
    F("innodb_autoinc_lock_mode", Int(0, 2), "2"),
    F("innodb_buffer_pool_chunk_size", Steps(M, ALL, M), "134217728"),
    v("innodb_buffer_pool_dump_at_shutdown", Global, Bool, "ON"),
    e("innodb_buffer_pool_dump_now", Global, Bool, "OFF", E::Engine),
    e("innodb_buffer_pool_dump_pct", Global, Int(1, 100), "25", E::Setting),
    e("innodb_buffer_pool_filename", Global, Text, "ib_buffer_pool", E::Engine),
    v("innodb_buffer_pool_in_core_file", Global, Bool, "OFF")
        .ignored("A core file never has the buffer pool."),
    // 0: as many as the size suggests; shown as what it came to.
    F("innodb_buffer_pool_instances", Int(0, 64), "0"),
    e("innodb_buffer_pool_load_abort", Global, Bool, "OFF", E::Engine),
    F("innodb_buffer_pool_load_at_startup", Bool, "ON"),
    e("innodb_buffer_pool_load_now", Global, Bool, "OFF", E::Engine),
    e("innodb_buffer_pool_size", Global, Steps(5 * M, ALL, M), "134217728", E::Engine),
    v("innodb_change_buffer_max_size", Global, Int(0, 50), "25").ignored(NO_CHANGE_BUFFER),
    v(
        "innodb_change_buffering",
        Global,
        Enum(&["none", "inserts", "deletes", "changes", "purges", "all"]),
        "none",
    )
    .ignored(NO_CHANGE_BUFFER),
    v(
        "innodb_checksum_algorithm",
        Global,
        Enum(&["crc32", "strict_crc32", "innodb", "strict_innodb", "none", "strict_none"]),
        "crc32",
    )
    .only("Pages carry a CRC-32C that is always checked."),
    v("innodb_cmp_per_index_enabled", Global, Bool, "OFF").only(NO_COMPRESSED),
    v("innodb_commit_concurrency", Global, Int(0, 1000), "0").ignored(NO_TICKETS),
    v("innodb_compression_failure_threshold_pct", Global, Int(0, 100), "5").ignored(NO_COMPRESSED),
    v("innodb_compression_level", Global, Int(0, 9), "6").ignored(NO_COMPRESSED),
    v("innodb_compression_pad_pct_max", Global, Int(0, 75), "50").ignored(NO_COMPRESSED),
    v("innodb_concurrency_tickets", Global, Int(1, U32), "5000").ignored(NO_TICKETS),
    F("innodb_data_file_path", Text, "ibdata1:12M:autoextend").only(ONE_FOLDER),
    F("innodb_data_home_dir", Text, "").only(ONE_FOLDER),
    v("innodb_ddl_buffer_size", Both, Int(65536, U32), "1048576").ignored(DDL_MEMORY),
    v("innodb_ddl_threads", Both, Int(1, 64), "4").ignored(DDL_MEMORY),
    e("innodb_deadlock_detect", Global, Bool, "ON", E::Setting),
    F("innodb_dedicated_server", Bool, "OFF").only("Sizes are as they are set."),
    v("innodb_default_row_format", Global, Enum(&["redundant", "compact", "dynamic"]), "dynamic")
        .only("Rows have one format."),
    F("innodb_directories", Text, "").only(ONE_FOLDER),
    v("innodb_disable_sort_file_cache", Global, Bool, "OFF").ignored(DDL_MEMORY),
    F(
        "innodb_doublewrite",
        Enum(&["OFF", "ON", "DETECT_ONLY", "DETECT_AND_RECOVER", "auto"]),
        "ON",
    ),
    F("innodb_doublewrite_batch_size", Int(0, 256), "0")
        .ignored("The cleaner chooses the doublewrite file's batches."),
    F("innodb_doublewrite_dir", Text, "").only(ONE_FOLDER),
    F("innodb_doublewrite_files", Int(0, 256), "2")
        .ignored("The cleaner chooses the doublewrite file's batches."),
    F("innodb_doublewrite_pages", Int(0, 512), "128")
        .ignored("The cleaner chooses the doublewrite file's batches."),
    v("innodb_extend_and_initialize", Global, Bool, "ON").ignored(PRELOADS),
    e("innodb_fast_shutdown", Global, Int(0, 2), "1", E::Setting),
    v("innodb_file_per_table", Global, Bool, "ON").only("Each table has a file of its own."),
    v("innodb_fill_factor", Global, Int(10, 100), "100")
        .ignored("Pages of new indexes are filled by the rows that come."),
    v("innodb_flush_log_at_timeout", Global, Int(1, 2700), "1")
        .only("What commits left to the timer is flushed every second."),
    e("innodb_flush_log_at_trx_commit", Global, Int(0, 2), "1", E::FlushLogAtTrxCommit),
    F(
        "innodb_flush_method",
        Enum(&["fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"]),
        "O_DIRECT",
    ),
    e("innodb_flush_neighbors", Global, Int(0, 2), "0", E::Setting),
    v("innodb_flush_sync", Global, Bool, "ON")
        .ignored("A checkpoint that is due is never held back by innodb_io_capacity."),
    e("innodb_flushing_avg_loops", Global, Int(1, 1000), "30", E::Setting),
    F("innodb_force_load_corrupted", Bool, "OFF")
        .only("Damaged tables are opened and say what is damaged when it is read."),
    F("innodb_force_recovery", Int(0, 6), "0"),
    v("innodb_fsync_threshold", Global, Int(0, ALL), "0")
        .ignored("A file is made durable once it is written."),
    e("innodb_idle_flush_pct", Global, Int(0, 100), "100", E::Setting),
    e("innodb_io_capacity", Global, Int(100, U32), "10000", E::Setting),
    e("innodb_io_capacity_max", Global, Int(100, U32), "20000", E::Setting),
    e("innodb_lock_wait_timeout", Both, Int(1, 1_073_741_824), "50", E::LockWaitTimeout),
    F("innodb_log_buffer_size", Int(256 * K, G), "16777216"),
    v("innodb_log_checksums", Global, Bool, "ON").only("Each block of the log has its checksum."),
    v("innodb_log_compressed_pages", Global, Bool, "ON").ignored(NO_COMPRESSED),
    F("innodb_log_file_size", Int(4 << 20, ALL), "50331648"),
    F("innodb_log_files_in_group", Int(2, 100), "2"),
    F("innodb_log_group_home_dir", Text, "./").only(ONE_FOLDER),
    v("innodb_log_spin_cpu_abs_lwm", Global, Int(0, U32), "80").ignored(LOG_WRITER),
    v("innodb_log_spin_cpu_pct_hwm", Global, Int(0, 100), "50").ignored(LOG_WRITER),
    v("innodb_log_wait_for_flush_spin_hwm", Global, Int(0, U32), "400").ignored(LOG_WRITER),
    v("innodb_log_write_ahead_size", Global, Int(512, 16_384), "8192").ignored(LOG_WRITER),
    v("innodb_log_writer_threads", Global, Bool, "OFF").ignored(LOG_WRITER),
    e("innodb_lru_scan_depth", Global, Int(100, U32), "1024", E::Setting),
    e("innodb_max_dirty_pages_pct", Global, Double(0.0, 99.999), "90", E::Setting),
    e("innodb_max_dirty_pages_pct_lwm", Global, Double(0.0, 99.999), "10", E::Setting),
    e("innodb_max_purge_lag", Global, Int(0, U32), "0", E::Setting),
    e("innodb_max_purge_lag_delay", Global, Int(0, 10_000_000), "0", E::Setting),
    e("innodb_max_undo_log_size", Global, Int(10 * M, ALL), "1073741824", E::Setting),
    v("innodb_monitor_disable", Global, Text, "").only("INNODB_METRICS has no switches."),
    v("innodb_monitor_enable", Global, Text, "").only("INNODB_METRICS has no switches."),
    v("innodb_monitor_reset", Global, Text, "").only("INNODB_METRICS has no switches."),
    v("innodb_monitor_reset_all", Global, Text, "").only("INNODB_METRICS has no switches."),
    F("innodb_numa_interleave", Bool, "OFF").only("Memory is placed by the system."),
    e("innodb_old_blocks_pct", Global, Int(5, 95), "37", E::Setting),
    e("innodb_old_blocks_time", Global, Int(0, U32), "1000", E::Setting),
    v("innodb_online_alter_log_max_size", Global, Int(65536, ALL), "134217728")
        .ignored("ALTER TABLE keeps no log of changes beside it."),
    F("innodb_open_files", Int(10, U32), "4000").ignored(CACHES),
    F("innodb_page_cleaners", Int(1, 64), "1")
        .ignored("Each instance of the buffer pool has a cleaner."),
    F("innodb_page_size", Int(4096, 65536), "16384").only("Pages have 16 KiB."),
    v("innodb_parallel_read_threads", Both, Int(1, 256), "4").ignored(DDL_MEMORY),
    v("innodb_print_all_deadlocks", Global, Bool, "OFF"),
    v("innodb_print_ddl_logs", Global, Bool, "OFF")
        .ignored("Changes of definitions are undone by their transaction."),
    v("innodb_purge_batch_size", Global, Int(1, 5000), "300").ignored(PRELOADS),
    v("innodb_purge_rseg_truncate_frequency", Global, Int(1, 128), "128").ignored(PRELOADS),
    F("innodb_purge_threads", Int(1, 32), "1"),
    e("innodb_random_read_ahead", Global, Bool, "OFF", E::Setting),
    e("innodb_read_ahead_threshold", Global, Int(0, 64), "56", E::Setting),
    F("innodb_read_io_threads", Int(1, 64), "4"),
    F("innodb_read_only", Bool, "OFF")
        .only("The engine always writes; super_read_only refuses changes."),
    v("innodb_redo_log_archive_dirs", Global, Text, "").only("The log is not archived."),
    e("innodb_redo_log_capacity", Global, Steps(8 * M, 512 * G, M), "104857600", E::Engine),
    v("innodb_redo_log_encrypt", Global, Bool, "OFF").only(NO_ENCRYPTION),
    v("innodb_replication_delay", Global, Int(0, U32), "0").ignored(NO_REPLICATION),
    F("innodb_rollback_on_timeout", Bool, "OFF"),
    e("innodb_rollback_segments", Global, Int(1, 128), "128", E::Setting),
    v("innodb_segment_reserve_factor", Global, Double(0.03, 40.0), "12.5").ignored(PRELOADS),
    F("innodb_sort_buffer_size", Int(65536, 67_108_864), "1048576").ignored(DDL_MEMORY),
    v("innodb_spin_wait_delay", Global, Int(0, 1000), "6").ignored(SPINS),
    v("innodb_spin_wait_pause_multiplier", Global, Int(0, 100), "50").ignored(SPINS),
    e("innodb_stats_auto_recalc", Global, Bool, "ON", E::Setting),
    v("innodb_stats_include_delete_marked", Global, Bool, "OFF")
        .only("Figures leave out what is deleted."),
    v(
        "innodb_stats_method",
        Global,
        Enum(&["nulls_equal", "nulls_unequal", "nulls_ignored"]),
        "nulls_equal",
    )
    .only("Figures count NULLs as equal."),
    v("innodb_stats_on_metadata", Global, Bool, "OFF")
        .ignored("Figures are gathered by ANALYZE TABLE and in the background."),
    e("innodb_stats_persistent", Global, Bool, "ON", E::Setting),
    e("innodb_stats_persistent_sample_pages", Global, Int(1, ALL), "20", E::Setting),
    e("innodb_stats_transient_sample_pages", Global, Int(1, ALL), "8", E::Setting),
    v("innodb_status_output", Global, Bool, "OFF")
        .only("The engine's figures are not written to the error log."),
    v("innodb_status_output_locks", Global, Bool, "OFF")
        .only("The engine's figures are not written to the error log."),
    v("innodb_strict_mode", Both, Bool, "ON")
        .ignored("Table options are refused or noted alike in both modes."),
    F("innodb_sync_array_size", Int(1, 1024), "1").ignored(SPINS),
    v("innodb_sync_spin_loops", Global, Int(0, U32), "30").ignored(SPINS),
    v("innodb_table_locks", Both, Bool, "ON")
        .ignored("LOCK TABLES excludes others by metadata locks."),
    F("innodb_temp_data_file_path", Text, "ibtmp1:12M:autoextend").only(ONE_FOLDER),
    F("innodb_temp_tablespaces_dir", Text, "./#innodb_temp/").only(ONE_FOLDER),
    v("innodb_thread_concurrency", Global, Int(0, 1000), "0").ignored(NO_TICKETS),
    v("innodb_thread_sleep_delay", Global, Int(0, 1_000_000), "10000").ignored(NO_TICKETS),
    v("innodb_tmpdir", Both, Text, "").only(ONE_FOLDER),
    F("innodb_undo_directory", Text, "./").only(ONE_FOLDER),
    v("innodb_undo_log_encrypt", Global, Bool, "OFF").only(NO_ENCRYPTION),
    e("innodb_undo_log_truncate", Global, Bool, "ON", E::Setting),
    v("innodb_undo_tablespaces", Global, Int(2, 127), "2")
        .ignored("Undo lies in one file; innodb_undo_log_truncate gives its space back."),
    v("innodb_use_fdatasync", Global, Bool, "OFF")
        .ignored("Data files are made durable by fdatasync."),
    F("innodb_use_native_aio", Bool, "OFF").ignored("Reads and writes wait in threads."),
    F("innodb_validate_tablespace_paths", Bool, "ON")
        .ignored("A table's file is looked for in the data folder."),
    F("innodb_version", Text, "8.4.0").only(FACT),
    F("innodb_write_io_threads", Int(1, 64), "4").ignored("Reads and writes wait in threads."),
];
