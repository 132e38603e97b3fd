//! Point selects over five times the pool: throughput beside the peer, and memory that stays; the lab's experiment.
//!
//! Gates, which are the experiment's aims: at least 0.8 of the peer's throughput; resident memory at most the pool and 256 MB, and no
//! growth from the first round to the last.

use super::{Settings, lab};

/// The lab's pool, in bytes.
const POOL_BYTES: u64 = 128 << 20;

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let mut options = lab::options(settings);
    options.extend(["--driver=sysbench".to_string(), format!("--users={}", settings.threads)]);
    options.extend(settings.peers.first().map(|dsn| format!("--dsn={dsn}")));
    println!("limpid: buffer pool of {POOL_BYTES} bytes");
    if let Some(peer) = settings.peer()? {
        let bytes = peer.sql("SELECT @@innodb_buffer_pool_size")?;
        println!("{}: buffer pool of {bytes} bytes", peer.name);
    }
    let folder = lab::run("larger-than-pool", &options)?;
    let cells = lab::lines(&folder, "cells.csv")?;
    lab::compare("data 5 times the pool", &cells.iter().collect::<Vec<_>>(), settings);
    lab::gates(&folder, "")
}
