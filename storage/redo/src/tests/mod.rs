//! Tests of the whole log on a simulated disk.

mod bad_files;
mod commit;
mod crash;
mod resize;
mod threads;

use std::sync::Arc;

use base::{Lsn, Result};
use host::{Disk, SimDisk};
use sync::{SlotTable, WorkerSlotRef};

use crate::{Log, LogConfig, Replay};

/// The smallest log there can be: laps come often.
fn small() -> LogConfig {
    LogConfig { ring_bytes: 64 << 10, capacity_bytes: 256 << 10 }
}

fn slots() -> Arc<SlotTable> {
    SlotTable::new(1, 16)
}

/// A log with one worker, for tests with one thread.
struct One {
    log: Arc<Log>,
    worker: WorkerSlotRef,
}

impl One {
    fn wrap(log: Arc<Log>) -> One {
        let worker = log.slots.acquire_worker().expect("16 slots are enough");
        One { log, worker }
    }

    fn create(disk: &Arc<SimDisk>) -> One {
        One::wrap(Log::create(&as_disk(disk), &small(), slots()).expect("the disk is sound"))
    }

    fn open(disk: &Arc<SimDisk>) -> Result<(One, Replay)> {
        let (log, replay) = Log::open(&as_disk(disk), &small(), slots())?;
        Ok((One::wrap(log), replay))
    }

    /// Opens and reads: the bodies, and a log that can be appended to.
    fn recover(disk: &Arc<SimDisk>) -> Result<(One, Vec<Vec<u8>>)> {
        let (one, mut replay) = One::open(disk)?;
        let found = read(&mut replay)?;
        one.log.resume(replay)?;
        Ok((one, found))
    }

    fn append(&self, body: &[u8]) -> Result<Lsn> {
        self.log.append(&self.worker, body, |_, _| {})
    }
}

fn as_disk(disk: &Arc<SimDisk>) -> Arc<dyn Disk> {
    Arc::clone(disk) as Arc<dyn Disk>
}

/// Bodies of a replay, in order.
fn bodies(mut replay: Replay) -> Result<Vec<Vec<u8>>> {
    read(&mut replay)
}

/// The same, and the replay stays for [`Log::resume`].
fn read(replay: &mut Replay) -> Result<Vec<Vec<u8>>> {
    replay.frames().map(|frame| frame.map(|(_, _, body)| body)).collect()
}

/// The same log on a real file system, `O_DIRECT` where it has it.
#[test]
fn works_on_a_real_disk() {
    let folder = std::env::temp_dir().join(format!("limpid-redo-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut expected = Vec::new();
    for round in 0..3u8 {
        let disk: Arc<dyn Disk> = host::RealDisk::open(&folder).expect("a temporary folder");
        let log = if round == 0 {
            Log::create(&disk, &small(), slots()).unwrap()
        } else {
            let (log, mut replay) = Log::open(&disk, &small(), slots()).unwrap();
            assert_eq!(read(&mut replay).unwrap(), expected);
            log.resume(replay).unwrap();
            log
        };
        let one = One::wrap(log);
        for n in 1..40u8 {
            let body = vec![round * 64 + n; usize::from(n) * 70];
            one.log.commit(one.append(&body).unwrap()).unwrap();
            expected.push(body);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}
