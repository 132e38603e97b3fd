//! What the pool tells about itself: the fields of MySQL's tables and status variables.
//!
//! Figures of an instance are counted under its own mutexes or by its own threads, each by itself; a report is
//! a sum of moments close together, not one moment.

use crate::Pool;
use crate::instance::Counts;
use instrument::Counter;
use std::time::Instant;
use stdx::Ordering;

instrument::classes! {
    pub(crate) static REPORTED_MUTEX: MutexClass = "wait/synch/mutex/innodb/buf_pool_stats_mutex";
}

/// What the last report said, for the rates of the next.
#[derive(Default)]
pub(crate) struct Reported {
    at: Option<Instant>,
    rows: Vec<InstanceStats>,
}

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
    /// One row per instance. Rates are those since the call before.
    ///
    /// Not known here: how often a page was asked for and found (nothing is written then). So
    /// `number_pages_get` and what is derived from it are this process's
    /// `Innodb_buffer_pool_read_requests`, in equal parts.
    pub fn instance_stats(&self) -> Vec<InstanceStats> {
        let gets = instrument::totals().counter(Counter::InnodbBufferPoolReadRequests)
            / self.instances.len() as u64;
        let mut rows: Vec<InstanceStats> =
            (0..self.instances.len()).map(|i| self.row(i, gets)).collect();
        let mut reported = self.reported.lock();
        let now = sync::now();
        if let Some(at) = reported.at {
            let seconds = now.saturating_duration_since(at).as_secs_f64().max(1e-3);
            for (row, old) in rows.iter_mut().zip(&reported.rows) {
                row.set_rates(old, seconds);
            }
        }
        (reported.at, reported.rows) = (Some(now), rows.clone());
        rows
    }

    fn row(&self, i: usize, gets: u64) -> InstanceStats {
        let inst = &self.instances[i];
        let frames = self.frames_of(i) as u64;
        let (free, passing) = {
            let free = inst.free.lock();
            (free.len() as u64, free.passing() as u64)
        };
        let Counts { read, created, written, made_young, not_made_young, .. } =
            &self.shared.counts[i];
        let Counts { read_ahead, read_ahead_evicted, pending_reads, .. } = &self.shared.counts[i];
        let get = |count: &crate::instance::Count| count.load(Ordering::Relaxed);
        let database_pages = frames - free.min(frames);
        InstanceStats {
            pool_id: i as u64,
            pool_size: frames,
            free_buffers: free,
            database_pages,
            old_database_pages: passing.min(database_pages),
            modified_database_pages: self.dirty_of(inst) as u64,
            pending_reads: get(pending_reads),
            pages_made_young: get(made_young),
            pages_not_made_young: get(not_made_young),
            number_pages_read: get(read),
            number_pages_created: get(created),
            number_pages_written: get(written),
            number_pages_get: gets,
            hit_rate: 1000,
            number_pages_read_ahead: get(read_ahead),
            number_read_ahead_evicted: get(read_ahead_evicted),
            ..InstanceStats::default()
        }
    }

    /// What SHOW STATUS shows.
    pub fn status(&self) -> PoolStatus {
        let (resize_status_code, resize_status_progress) = self.resize_progress();
        let mut s = PoolStatus {
            dump_status: self.dump_status(),
            load_status: self.load_status(),
            resize_status: self.resize_status(),
            resize_status_code,
            resize_status_progress,
            read_ahead_rnd: self.read_ahead.random.load(Ordering::Relaxed),
            ..PoolStatus::default()
        };
        for i in (0..self.instances.len()).map(|i| self.row(i, 0)) {
            s.pages_total += i.pool_size;
            s.pages_free += i.free_buffers;
            s.pages_data += i.database_pages;
            s.pages_dirty += i.modified_database_pages;
            s.pages_flushed += i.number_pages_written;
            s.read_ahead += i.number_pages_read_ahead;
            s.read_ahead_evicted += i.number_read_ahead_evicted;
        }
        s.read_ahead -= s.read_ahead_rnd.min(s.read_ahead);
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

impl InstanceStats {
    fn set_rates(&mut self, old: &InstanceStats, seconds: f64) {
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        self.pages_made_young_rate = rate(self.pages_made_young, old.pages_made_young);
        self.pages_made_not_young_rate = rate(self.pages_not_made_young, old.pages_not_made_young);
        self.pages_read_rate = rate(self.number_pages_read, old.number_pages_read);
        self.pages_create_rate = rate(self.number_pages_created, old.number_pages_created);
        self.pages_written_rate = rate(self.number_pages_written, old.number_pages_written);
        self.read_ahead_rate = rate(self.number_pages_read_ahead, old.number_pages_read_ahead);
        self.read_ahead_evicted_rate =
            rate(self.number_read_ahead_evicted, old.number_read_ahead_evicted);
        let gets = self.number_pages_get.saturating_sub(old.number_pages_get);
        let per_thousand = |n: u64| (n * 1000).checked_div(gets).unwrap_or(0).min(1000);
        if gets > 0 {
            let reads = self.number_pages_read.saturating_sub(old.number_pages_read);
            self.hit_rate = 1000 - per_thousand(reads);
        }
        let young = self.pages_made_young - old.pages_made_young;
        let not_young = self.pages_not_made_young - old.pages_not_made_young;
        self.young_make_per_thousand_gets = per_thousand(young);
        self.not_young_make_per_thousand_gets = per_thousand(not_young);
    }
}
