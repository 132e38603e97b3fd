//! How fast recovery is: `recovery [redo MB [rows [pool MB [clients]]]]`, in a folder under `$TMPDIR`.
//!
//! Makes redo by random updates of rows with no checkpoint in between, drops the engine as a crash would,
//! opens it again and says how long reading the log, the first read of a row and all pages took. With two
//! sizes of redo (1, 4) the last lines compare them.

use engine::TableSpec;
use engine::{Engine, EngineConfig, Error, IndexId, KeyPart, Notes, Result, Table, TableId};
use host::{Disk, RealDisk};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdx::rng::Rng;
use value::{ColumnType, Datum, Kind};

const PAD_BYTES: usize = 180;
/// Rows of one transaction.
const ROWS_PER_COMMIT: u64 = 4;

struct Setup {
    redo_bytes: u64,
    rows: u64,
    pool_bytes: usize,
    clients: u64,
}

fn spec() -> TableSpec {
    TableSpec {
        id: TableId(1),
        name: "t".into(),
        columns: vec![
            ColumnType::int(Kind::BigInt, false).not_null(),
            ColumnType::varbinary(PAD_BYTES as u32).not_null(),
        ],
        clustered_id: IndexId(1),
        clustered: vec![KeyPart::whole(0)],
        secondaries: Vec::new(),
        autoinc_column: None,
        older: Vec::new(),
        private: false,
    }
}

fn config(setup: &Setup) -> EngineConfig {
    EngineConfig {
        pool_bytes: setup.pool_bytes,
        redo_capacity_bytes: setup.redo_bytes * 3 + (512 << 20),
        system_tables: vec![spec()],
        notes: Notes::to(|_, text| println!("    {text}")),
        ..EngineConfig::default()
    }
}

fn row(table: &Table, id: u64, pad: &[u8]) -> Result<Vec<u8>> {
    let mut row = Vec::new();
    let encoded = table.layout().encode(&[Datum::Int(id as i64), Datum::Bytes(pad)], &mut row);
    encoded.map_err(|_| Error::Internal("a row of the example"))?;
    Ok(row)
}

fn key(table: &Table, id: u64) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    let spec = table.key(0).ok_or(Error::Internal("a table without key"))?;
    let encoded = spec.encode_prefix(&table.spec().columns, &[Datum::Int(id as i64)], &mut key);
    encoded.map_err(|_| Error::Internal("a key of the example"))?;
    Ok(key)
}

/// Random updates until there is so much redo.
fn update(engine: &Arc<Engine>, setup: &Setup, seed: u64, until: u64) -> Result<()> {
    let table = engine.system_table(0);
    let mut client = engine.client()?;
    let mut rng = Rng::new(seed);
    let mut n = 0;
    while engine.log().tail().0 < until {
        let id = rng.below(setup.rows);
        let pad = [rng.next_u64() as u8; PAD_BYTES];
        client.update(&table, &key(&table, id)?, &row(&table, id, &pad)?)?;
        n += 1;
        if n % ROWS_PER_COMMIT == 0 {
            client.commit()?;
        }
    }
    client.commit()
}

fn make(disk: Arc<dyn Disk>, setup: &Setup) -> Result<()> {
    let (engine, _) = Engine::open(config(setup), disk)?;
    engine.set_flush_log_at_trx_commit(0);
    let table = engine.system_table(0);
    let mut client = engine.client()?;
    for id in 0..setup.rows {
        client.insert(&table, &row(&table, id, &[7; PAD_BYTES])?)?;
        if id % 1000 == 0 {
            client.commit()?;
        }
    }
    client.commit()?;
    drop(client);
    // A clean shutdown: redo begins here.
    engine.shutdown()?;
    let until = engine.log().tail().0 + setup.redo_bytes;
    std::thread::scope(|s| {
        let clients: Vec<_> = (0..setup.clients)
            .map(|seed| {
                let engine = &engine;
                s.spawn(move || update(engine, setup, seed, until))
            })
            .collect();
        clients.into_iter().try_for_each(|c| c.join().unwrap_or(Err(Error::Shutdown)))
    })?;
    engine.log().flush_to(engine.log().tail())
}

/// Processor seconds this process has used: on a busy machine they tell more than the clock.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or("");
    let ticks = |i| after_name.split_whitespace().nth(i).and_then(|t| t.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

/// Time until the first row was read, and until all redo was applied; bytes of redo.
fn recover(disk: Arc<dyn Disk>, setup: &Setup) -> Result<(Duration, Duration, u64)> {
    let (start, cpu) = (Instant::now(), cpu_s());
    let (engine, report) = Engine::open(config(setup), disk)?;
    let (opened, opened_cpu) = (start.elapsed(), cpu_s() - cpu);
    engine.start_background()?;
    engine.start_recovery(Arc::new(|_| Ok(None)), BTreeSet::new())?;
    let table = engine.system_table(0);
    let mut client = engine.client()?;
    let mut out = Vec::new();
    assert!(client.get(&table, &key(&table, setup.rows / 2)?, &mut out)?);
    let first = start.elapsed();
    engine.wait_recovered()?;
    let all = start.elapsed();
    let all_cpu = cpu_s() - cpu;
    println!("  open {opened:.2?}, first row {first:.2?}, everything applied {all:.2?}");
    println!("  processor time: open {opened_cpu:.2} s, everything {all_cpu:.2} s");
    drop(client);
    engine.shutdown()?;
    Ok((first, all, report.redo_bytes))
}

fn run(setup: &Setup) -> Result<f64> {
    let folder = std::env::temp_dir().join(format!("limpid-recovery-{}", std::process::id()));
    let open = || RealDisk::open(&folder).map_err(|_| Error::Internal("the folder"));
    println!("{} MB of redo over {} rows", setup.redo_bytes >> 20, setup.rows);
    let done = make(open()?, setup).and_then(|()| recover(open()?, setup));
    let _ = std::fs::remove_dir_all(&folder);
    let (_, all, bytes) = done?;
    println!("  {:.3} GB/s of redo", bytes as f64 / 1e9 / all.as_secs_f64());
    Ok(all.as_secs_f64())
}

fn main() -> Result<()> {
    let args: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let arg = |i: usize, default| args.get(i).copied().unwrap_or(default);
    let setup = |mb| Setup {
        redo_bytes: mb << 20,
        rows: arg(1, 400_000),
        pool_bytes: (arg(2, 1024) << 20) as usize,
        clients: arg(3, 2),
    };
    let n = arg(0, 256);
    let once = run(&setup(n))?;
    let four = run(&setup(4 * n))?;
    println!("4n takes {:.2} times n", four / once);
    Ok(())
}
