//! SHOW ENGINE INNODB STATUS: MySQL's monitor text, with the sections that have something behind them.

use crate::deadlocks::{self, clock};
use crate::server::Server;
use engine::{InstanceStats, PoolStatus};
use instrument::{Counter, Totals};
use std::fmt::Write;

/// Counters since the printout before, per second.
struct Rates {
    now: Totals,
    before: Totals,
    seconds: f64,
}

impl Rates {
    fn take(server: &Server) -> Rates {
        let (now_ns, now) = (sync::now_ns(), instrument::totals());
        let mut last = server.last_printout.lock();
        let (since_ns, before) = last
            .replace((now_ns, now.clone()))
            .unwrap_or_else(|| (server.started_ns, Totals::new()));
        let seconds = (now_ns.saturating_sub(since_ns) as f64 / 1e9).max(0.001);
        Rates { now, before, seconds }
    }

    fn total(&self, c: Counter) -> u64 {
        self.now.counter(c)
    }

    fn since(&self, c: Counter) -> u64 {
        self.now.counter(c).saturating_sub(self.before.counter(c))
    }

    fn per_second(&self, c: Counter) -> f64 {
        self.since(c) as f64 / self.seconds
    }
}

/// The text.
pub fn text(server: &Server) -> String {
    let rates = Rates::take(server);
    let rule = "=====================================";
    let mut out = String::new();
    let _ = writeln!(out, "\n{rule}\n{} 0 INNODB MONITOR OUTPUT\n{rule}", clock());
    let seconds = rates.seconds as u64;
    let _ = writeln!(out, "Per second averages calculated from the last {seconds} seconds");
    if let Some(deadlock) = server.last_deadlock() {
        section(&mut out, "LATEST DETECTED DEADLOCK");
        out.push_str(&deadlock);
    }
    section(&mut out, "TRANSACTIONS");
    transactions(&mut out, server);
    deadlocks::transactions(server, &mut out);
    section(&mut out, "FILE I/O");
    file_io(&mut out, &rates);
    section(&mut out, "LOG");
    log(&mut out, server, &rates);
    section(&mut out, "BUFFER POOL AND MEMORY");
    buffer_pool(&mut out, server, &rates);
    section(&mut out, "ROW OPERATIONS");
    row_operations(&mut out, &rates);
    let end =
        "----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================";
    let _ = writeln!(out, "{end}");
    out
}

fn section(out: &mut String, title: &str) {
    let rule = "-".repeat(title.len());
    let _ = writeln!(out, "{rule}\n{title}\n{rule}");
}

fn transactions(out: &mut String, server: &Server) {
    let engine = &server.engine;
    let _ = writeln!(
        out,
        "Trx id counter {}\nHistory list length {}",
        engine.next_trx_id(),
        engine.history_len(),
    );
    let (used, max) = (engine.locks().memory_bytes(), engine.locks().memory_bytes_max());
    let _ = writeln!(out, "Row locks take {used} bytes of {max}");
    if let Some(lsn) = engine.oldest_view() {
        let _ = writeln!(out, "Oldest read view at log sequence number {lsn}");
    }
}

fn file_io(out: &mut String, rates: &Rates) {
    use Counter as C;
    let reads = rates.since(C::InnodbDataReads);
    let read_bytes = rates.since(C::InnodbDataRead).checked_div(reads).unwrap_or(0);
    let fsyncs = rates.total(C::InnodbDataFsyncs) + rates.total(C::InnodbOsLogFsyncs);
    let _ = writeln!(
        out,
        "{} OS file reads, {} OS file writes, {fsyncs} OS fsyncs\n\
         {:.2} reads/s, {read_bytes} avg bytes/read, {:.2} writes/s, {:.2} fsyncs/s",
        rates.total(C::InnodbDataReads),
        rates.total(C::InnodbDataWrites) + rates.total(C::InnodbLogWrites),
        rates.per_second(C::InnodbDataReads),
        rates.per_second(C::InnodbDataWrites) + rates.per_second(C::InnodbLogWrites),
        rates.per_second(C::InnodbDataFsyncs) + rates.per_second(C::InnodbOsLogFsyncs),
    );
}

fn log(out: &mut String, server: &Server, rates: &Rates) {
    let log = server.engine.log();
    let status = log.status();
    let files: Vec<_> = log.files().iter().map(|f| f.file_id).collect();
    let lines = [
        ("Log capacity", log.capacity_bytes()),
        ("Log capacity used", status.physical_size),
        ("Log sequence number", status.current_lsn.0),
        ("Log written up to", log.written().0),
        ("Log flushed up to", status.flushed_to_disk_lsn.0),
        ("Added dirty pages up to", log.dirty_floor().0),
        ("Last checkpoint at", status.checkpoint_lsn.0),
        ("Log minimum file id is", files.iter().copied().min().unwrap_or(0)),
        ("Log maximum file id is", files.iter().copied().max().unwrap_or(0)),
    ];
    for (what, n) in lines {
        let _ = writeln!(out, "{what:<28} {n}");
    }
    let done = rates.total(Counter::InnodbLogWrites);
    let per_second = rates.per_second(Counter::InnodbLogWrites);
    let _ = writeln!(out, "{done} log i/o's done, {per_second:.2} log i/o's/second");
}

fn buffer_pool(out: &mut String, server: &Server, rates: &Rates) {
    let pool = server.engine.pool();
    let instances = pool.instance_stats();
    let status = pool.status();
    let _ = writeln!(
        out,
        "Total large memory allocated {}",
        status.pages_total * base::PAGE_BYTES as u64
    );
    pool_figures(out, &summed(&instances, &status), rates);
    if instances.len() > 1 {
        section(out, "INDIVIDUAL BUFFER POOL INFO");
        for one in &instances {
            let _ = writeln!(out, "---BUFFER POOL {}", one.pool_id);
            pool_figures(out, one, rates);
        }
    }
}

/// The instances as one.
fn summed(instances: &[InstanceStats], status: &PoolStatus) -> InstanceStats {
    let sum = |field: fn(&InstanceStats) -> u64| instances.iter().map(field).sum::<u64>();
    let rate = |field: fn(&InstanceStats) -> f64| instances.iter().map(field).sum::<f64>();
    InstanceStats {
        pool_size: status.pages_total,
        free_buffers: status.pages_free,
        database_pages: status.pages_data,
        old_database_pages: sum(|i| i.old_database_pages),
        modified_database_pages: status.pages_dirty,
        pending_reads: sum(|i| i.pending_reads),
        pending_flush_lru: sum(|i| i.pending_flush_lru),
        pending_flush_list: sum(|i| i.pending_flush_list),
        pages_made_young: sum(|i| i.pages_made_young),
        pages_not_made_young: sum(|i| i.pages_not_made_young),
        pages_made_young_rate: rate(|i| i.pages_made_young_rate),
        pages_made_not_young_rate: rate(|i| i.pages_made_not_young_rate),
        number_pages_read: sum(|i| i.number_pages_read),
        number_pages_created: sum(|i| i.number_pages_created),
        number_pages_written: sum(|i| i.number_pages_written),
        pages_read_rate: rate(|i| i.pages_read_rate),
        pages_create_rate: rate(|i| i.pages_create_rate),
        pages_written_rate: rate(|i| i.pages_written_rate),
        read_ahead_rate: rate(|i| i.read_ahead_rate),
        read_ahead_evicted_rate: rate(|i| i.read_ahead_evicted_rate),
        ..InstanceStats::default()
    }
}

fn pool_figures(out: &mut String, of: &InstanceStats, rates: &Rates) {
    let lines = [
        ("Buffer pool size", of.pool_size),
        ("Free buffers", of.free_buffers),
        ("Database pages", of.database_pages),
        ("Old database pages", of.old_database_pages),
        ("Modified db pages", of.modified_database_pages),
        ("Pending reads", of.pending_reads),
    ];
    for (what, n) in lines {
        let _ = writeln!(out, "{what:<18} {n}");
    }
    let _ = writeln!(
        out,
        "Pending writes: LRU {}, flush list {}, single page 0\n\
         Pages made young {}, not young {}\n{:.2} youngs/s, {:.2} non-youngs/s\n\
         Pages read {}, created {}, written {}\n{:.2} reads/s, {:.2} creates/s, {:.2} writes/s",
        of.pending_flush_lru,
        of.pending_flush_list,
        of.pages_made_young,
        of.pages_not_made_young,
        of.pages_made_young_rate,
        of.pages_made_not_young_rate,
        of.number_pages_read,
        of.number_pages_created,
        of.number_pages_written,
        of.pages_read_rate,
        of.pages_create_rate,
        of.pages_written_rate,
    );
    let gets = rates.since(Counter::InnodbBufferPoolReadRequests);
    let misses = rates.since(Counter::InnodbBufferPoolReads).min(gets);
    let _ = match (1000 * misses).checked_div(gets) {
        None => writeln!(out, "No buffer pool page gets since the last printout"),
        Some(missed) => writeln!(out, "Buffer pool hit rate {} / 1000", 1000 - missed),
    };
    let _ = writeln!(
        out,
        "Pages read ahead {:.2}/s, evicted without access {:.2}/s, Random read ahead 0.00/s\n\
         LRU len: {}, unzip_LRU len: 0",
        of.read_ahead_rate, of.read_ahead_evicted_rate, of.database_pages,
    );
}

fn row_operations(out: &mut String, rates: &Rates) {
    use Counter as C;
    let _ = writeln!(
        out,
        "0 queries inside InnoDB, 0 queries in queue\n0 read views open inside InnoDB\n\
         Process ID={}, Main thread ID=0 , state=sleeping\n\
         Number of rows inserted {}, updated {}, deleted {}, read {}\n\
         {:.2} inserts/s, {:.2} updates/s, {:.2} deletes/s, {:.2} reads/s",
        std::process::id(),
        rates.total(C::InnodbRowsInserted),
        rates.total(C::InnodbRowsUpdated),
        rates.total(C::InnodbRowsDeleted),
        rates.total(C::InnodbRowsRead),
        rates.per_second(C::InnodbRowsInserted),
        rates.per_second(C::InnodbRowsUpdated),
        rates.per_second(C::InnodbRowsDeleted),
        rates.per_second(C::InnodbRowsRead),
    );
}
