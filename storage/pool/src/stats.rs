//! What the pool tells about itself: the fields of MySQL's tables and status variables.
//!
//! 1. Figures of an instance are counted under its own mutexes or by its own threads, each by
//!    itself; a report is a sum of moments close together, not one moment.

use crate::Pool;
use instrument::Counter;

/// A row of INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS, in its order. Rates are per second since
/// the report before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct InstanceStats {
    pub pool_id: u64,
    pub pool_size: u64,
    pub free_buffers: u64,
    pub database_pages: u64,
    pub old_database_pages: u64,
    pub modified_database_pages: u64,
    pub pending_decompress: u64,
    pub pending_reads: u64,
    pub pending_flush_lru: u64,
    pub pending_flush_list: u64,
    pub pages_made_young: u64,
    pub pages_not_made_young: u64,
    pub pages_made_young_rate: f64,
    pub pages_made_not_young_rate: f64,
    pub number_pages_read: u64,
    pub number_pages_created: u64,
    pub number_pages_written: u64,
    pub pages_read_rate: f64,
    pub pages_create_rate: f64,
    pub pages_written_rate: f64,
    pub number_pages_get: u64,
    pub hit_rate: u64,
    pub young_make_per_thousand_gets: u64,
    pub not_young_make_per_thousand_gets: u64,
    pub number_pages_read_ahead: u64,
    pub number_read_ahead_evicted: u64,
    pub read_ahead_rate: f64,
    pub read_ahead_evicted_rate: f64,
    pub lru_io_total: u64,
    pub lru_io_current: u64,
    pub uncompress_total: u64,
    pub uncompress_current: u64,
}

/// What SHOW STATUS shows as `Innodb_buffer_pool_*`, summed over the instances.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct PoolStatus {
    pub dump_status: String,
    pub load_status: String,
    pub resize_status: String,
    /// 0 = not running or done, else which step of a resize runs.
    pub resize_status_code: u64,
    /// How far the step is, in percent.
    pub resize_status_progress: u64,
    pub pages_data: u64,
    pub bytes_data: u64,
    pub pages_dirty: u64,
    pub bytes_dirty: u64,
    pub pages_flushed: u64,
    pub pages_free: u64,
    pub pages_misc: u64,
    pub pages_total: u64,
    pub read_ahead_rnd: u64,
    pub read_ahead: u64,
    pub read_ahead_evicted: u64,
    pub read_requests: u64,
    pub reads: u64,
    pub wait_free: u64,
    pub write_requests: u64,
}

impl Pool {
    /// One row per instance.
    pub fn instance_stats(&self) -> Vec<InstanceStats> {
        let pool_size = self.frames() as u64;
        let free_buffers = self.free.lock().len() as u64;
        vec![InstanceStats {
            pool_size,
            free_buffers,
            database_pages: pool_size - free_buffers.min(pool_size),
            modified_database_pages: self.dirty_frames() as u64,
            ..InstanceStats::default()
        }]
    }

    /// What SHOW STATUS shows.
    pub fn status(&self) -> PoolStatus {
        let mut s = PoolStatus {
            dump_status: self.dump_status(),
            load_status: self.load_status(),
            resize_status: self.resize_status(),
            ..PoolStatus::default()
        };
        for i in self.instance_stats() {
            s.pages_total += i.pool_size;
            s.pages_free += i.free_buffers;
            s.pages_data += i.database_pages;
            s.pages_dirty += i.modified_database_pages;
            s.pages_flushed += i.number_pages_written;
            s.read_ahead += i.number_pages_read_ahead;
            s.read_ahead_evicted += i.number_read_ahead_evicted;
        }
        s.bytes_data = s.pages_data * base::PAGE_BYTES as u64;
        s.bytes_dirty = s.pages_dirty * base::PAGE_BYTES as u64;
        let counts = instrument::totals();
        s.read_requests = counts.counter(Counter::InnodbBufferPoolReadRequests);
        s.reads = counts.counter(Counter::InnodbBufferPoolReads);
        s.wait_free = counts.counter(Counter::InnodbBufferPoolWaitFree);
        s.write_requests = counts.counter(Counter::InnodbBufferPoolWriteRequests);
        s
    }
}
