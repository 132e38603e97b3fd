//! How fast the log is written and read: `cargo run --release -p redo --example scan -- FOLDER [MiB] [body bytes]`.

#![allow(clippy::unwrap_used, reason = "an example")]

use host::{Disk, RealDisk, clock};
use redo::{FlushMode, Log, LogConfig};
use std::sync::Arc;
use sync::SlotTable;

fn cpu_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("a folder");
    let mib: u64 = args.next().map_or(1024, |a| a.parse().unwrap());
    let bytes: usize = args.next().map_or(120, |a| a.parse().unwrap());
    let _ = std::fs::remove_dir_all(&folder);
    let disk: Arc<dyn Disk> = RealDisk::open(&folder).unwrap();
    let config = LogConfig { ring_bytes: 16 << 20, capacity_bytes: (mib + mib / 8) << 20 };
    let slots = SlotTable::new(1, 4);
    let worker = slots.acquire_worker().unwrap();
    let log = Log::create(&disk, &config, slots).unwrap();
    let governor = {
        let log = Arc::clone(&log);
        host::thread::spawn("governor", move || {
            while log.status().flushed_to_disk_lsn.0 < mib << 20 {
                log.govern().unwrap();
                let _ = clock::sleep(std::time::Duration::from_millis(10));
            }
        })
        .unwrap()
    };
    log.settings().set_flush_mode(FlushMode::Write);
    let (begin, before) = (clock::now(), cpu_ms());
    let body = vec![7u8; bytes];
    while log.tail().0 < (mib << 20) + (1 << 20) {
        log.append(&worker, &body, |_, _| {}).unwrap();
    }
    log.flush_to(log.tail()).unwrap();
    println!("written: {mib} MiB in {:?}, {} ms of processor", begin.elapsed(), cpu_ms() - before);
    governor.join().unwrap();
    drop(log);
    for round in 0..3 {
        let (begin, before) = (clock::now(), cpu_ms());
        let (log, mut replay) = Log::open(&disk, &config, SlotTable::new(1, 4)).unwrap();
        let (mut frames, mut sum) = (0u64, 0u64);
        while let Some(window) = replay.next_window().unwrap() {
            frames += window.frames.len() as u64;
            sum += window.frames.iter().map(|f| u64::from(window.body(f)[0])).sum::<u64>();
        }
        let (scanned, cpu) = (begin.elapsed(), cpu_ms() - before);
        println!("read {round}: {frames} frames in {scanned:?}, {cpu} ms of processor ({sum})");
        log.resume(replay).unwrap();
        println!("  open for appending after {:?}", begin.elapsed());
    }
}
