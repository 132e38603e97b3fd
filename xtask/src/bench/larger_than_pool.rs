//! Point selects over five times the pool: throughput beside the peer, and memory that stays.
//!
//! Gates: at least 0.8 of the peer's throughput; resident memory at most the pool and 256 MB, and no
//! growth from the first round to the last.

use super::Settings;
use super::rounds::compare;
use super::target::Own;

const POOL_MB: f64 = 128.0;
const OVERHEAD_MB_MAX: f64 = 256.0;
const GROWTH_MB_MAX: f64 = 8.0;
const QPS_RATIO_MIN: f64 = 0.8;
const TABLES: u32 = 8;
/// sysbench's rows take some 220 bytes: 8 tables of this size are a good 640 MB.
const ROWS: u32 = 400_000;

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--innodb-buffer-pool-size=128M"])?;
    let mut targets = vec![own.target()];
    targets.extend(settings.peer()?);
    targets.iter().try_for_each(|t| t.prepare(TABLES, ROWS))?;
    for target in &targets {
        let pool = target.sql("SELECT @@innodb_buffer_pool_size")?;
        println!("{}: buffer pool of {pool} bytes", target.name);
    }
    let one = Settings { rounds: 1, peers: Vec::new(), only: None, ..*settings };
    compare("warming up", &targets, &load(), &one)?;
    let before = targets[0].rss_mb().ok_or("no memory figure")?;
    let ratio = compare("data 5 times the pool", &targets, &load(), settings)?;
    let after = targets[0].rss_mb().ok_or("no memory figure")?;
    println!("limpid's resident memory: {before:.0} MB after warming up, {after:.0} MB at the end");
    if after > POOL_MB + OVERHEAD_MB_MAX || after - before > GROWTH_MB_MAX {
        return Err("GATE FAILED: memory".into());
    }
    match ratio {
        Some(ratio) if ratio < QPS_RATIO_MIN => Err(format!("GATE FAILED: QPS ratio {ratio:.2}")),
        _ => Ok(()),
    }
}

/// sysbench's options of a uniform point select load.
fn load() -> [String; 4] {
    [
        format!("--tables={TABLES}"),
        format!("--table-size={ROWS}"),
        "--db-ps-mode=auto".to_string(),
        "--rand-type=uniform".to_string(),
    ]
}
