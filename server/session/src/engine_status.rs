//! What the storage engine shows in SHOW STATUS, by MySQL's names.

use engine::Engine;

/// Names and values that are no counters, in no order.
pub fn list(engine: &Engine) -> Vec<(&'static str, String)> {
    let (pool, log) = (engine.pool().status(), engine.log().status());
    let locks = engine.locks();
    let n = |n: u64| n.to_string();
    vec![
        ("Innodb_buffer_pool_dump_status", pool.dump_status),
        ("Innodb_buffer_pool_load_status", pool.load_status),
        ("Innodb_buffer_pool_resize_status", pool.resize_status),
        ("Innodb_buffer_pool_resize_status_code", n(pool.resize_status_code)),
        ("Innodb_buffer_pool_resize_status_progress", n(pool.resize_status_progress)),
        ("Innodb_buffer_pool_pages_data", n(pool.pages_data)),
        ("Innodb_buffer_pool_bytes_data", n(pool.bytes_data)),
        ("Innodb_buffer_pool_pages_dirty", n(pool.pages_dirty)),
        ("Innodb_buffer_pool_bytes_dirty", n(pool.bytes_dirty)),
        ("Innodb_buffer_pool_pages_flushed", n(pool.pages_flushed)),
        ("Innodb_buffer_pool_pages_free", n(pool.pages_free)),
        ("Innodb_buffer_pool_pages_misc", n(pool.pages_misc)),
        ("Innodb_buffer_pool_pages_total", n(pool.pages_total)),
        ("Innodb_buffer_pool_read_ahead_rnd", n(pool.read_ahead_rnd)),
        ("Innodb_buffer_pool_read_ahead", n(pool.read_ahead)),
        ("Innodb_buffer_pool_read_ahead_evicted", n(pool.read_ahead_evicted)),
        // Reads and writes are not queued here: who issues one waits for it.
        ("Innodb_data_pending_fsyncs", n(0)),
        ("Innodb_data_pending_reads", n(0)),
        ("Innodb_data_pending_writes", n(0)),
        ("Innodb_os_log_pending_fsyncs", n(0)),
        ("Innodb_os_log_pending_writes", n(0)),
        ("Innodb_row_lock_current_waits", n(locks.waiting())),
        ("Innodb_row_lock_time_max", n(locks.wait_ns_max() / 1_000_000)),
        ("Innodb_page_size", n(base::PAGE_BYTES as u64)),
        ("Innodb_redo_log_enabled", "ON".into()),
        ("Innodb_redo_log_read_only", if log.read_only { "ON" } else { "OFF" }.into()),
        ("Innodb_redo_log_uuid", n(log.uuid)),
        ("Innodb_redo_log_checkpoint_lsn", n(log.checkpoint_lsn.0)),
        ("Innodb_redo_log_current_lsn", n(log.current_lsn.0)),
        ("Innodb_redo_log_flushed_to_disk_lsn", n(log.flushed_to_disk_lsn.0)),
        ("Innodb_redo_log_logical_size", n(log.logical_size)),
        ("Innodb_redo_log_physical_size", n(log.physical_size)),
        ("Innodb_redo_log_capacity_resized", n(log.capacity_resized)),
        ("Innodb_redo_log_resize_status", log.resize_status.into()),
    ]
}
