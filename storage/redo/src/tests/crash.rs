//! Append, commit, crash, open again, many times over: nothing acknowledged is lost, and what is
//! replayed is exactly a prefix of what was appended since the checkpoint.

use base::{Error, Lsn};
use host::SimDisk;
use stdx::rng::Rng;

use super::*;
use crate::FlushMode;

/// What a correct log would hold.
#[derive(Default)]
struct Model {
    /// Start LSN and body of every frame since the checkpoint.
    frames: Vec<(u64, Vec<u8>)>,
    /// Frames up to this LSN were acknowledged in mode 1.
    acknowledged: u64,
    /// Checkpoints that may be in force: a crash may fall into the writing of the second.
    checkpoints: Vec<u64>,
    next: u64,
}

impl Model {
    fn body(&mut self, rng: &mut Rng, fixed: bool) -> Vec<u8> {
        let bytes = match rng.below(10) {
            _ if fixed => 488,
            0 => 8 + rng.below(4000) as usize,
            _ => 8 + rng.below(300) as usize,
        };
        let mut body = vec![self.next as u8; bytes];
        body[..8].copy_from_slice(&self.next.to_le_bytes());
        self.next += 1;
        body
    }

    /// Compares a replay and takes over what it proved to be there.
    fn check(&mut self, replay: &mut Replay, seed: u64) {
        let found: Vec<(u64, u64, Vec<u8>)> = replay
            .frames()
            .map(|frame| frame.map(|(s, e, b)| (s.0, e.0, b)))
            .collect::<Result<_>>()
            .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let tail = replay.at().0;
        let start = found.first().map_or(tail, |f| f.0);
        assert!(self.checkpoints.contains(&start), "seed {seed}: replay starts at {start}");
        self.frames.retain(|f| f.0 >= start);
        assert!(found.len() <= self.frames.len(), "seed {seed}: frames out of nothing");
        for ((start, _, body), expected) in found.iter().zip(&self.frames) {
            assert!((start, body) == (&expected.0, &expected.1), "seed {seed}: garbage at {start}");
        }
        let end = found.last().map_or(tail, |f| f.1);
        assert_eq!(end, tail, "seed {seed}");
        assert!(end >= self.acknowledged, "seed {seed}: {end} < {}", self.acknowledged);
        self.frames.truncate(found.len());
        self.checkpoints = vec![start];
    }
}

/// One life of the log, until the power goes off or the steps are done.
fn live(one: &One, model: &mut Model, rng: &mut Rng, fixed: bool) -> Result<()> {
    for _ in 0..rng.below(120) {
        match rng.below(14) {
            0 => {
                let mode = FlushMode::from_value(rng.below(3) as u8).expect("0, 1 or 2");
                one.log.settings().set_flush_mode(mode);
            }
            1 => one.log.flush_timer_tick()?,
            12 => one.log.govern()?,
            13 if rng.chance(1, 3) => one.log.set_capacity((256 + rng.below(512)) << 10)?,
            2 | 3 if one.log.pressure() > 0.3 => {
                // As if all pages changed below some frame had been written.
                let at = rng.below(model.frames.len() as u64 + 1) as usize;
                let lsn = model.frames.get(at).map_or(one.log.tail().0, |f| f.0);
                model.checkpoints.push(lsn);
                one.log.checkpoint(Lsn(lsn), &lsn.to_le_bytes())?;
                model.acknowledged = model.acknowledged.max(lsn);
                model.frames.retain(|f| f.0 >= lsn);
                model.checkpoints = vec![lsn];
            }
            _ if one.log.pressure() > 0.8 => {}
            _ => {
                let body = model.body(rng, fixed);
                let start = one.log.tail().0;
                model.frames.push((start, body.clone()));
                let end = one.append(&body)?;
                if rng.chance(1, 3) {
                    one.log.commit(end)?;
                    if one.log.settings().flush_mode() == FlushMode::Sync {
                        model.acknowledged = end.0;
                    }
                }
            }
        }
    }
    Ok(())
}

fn campaign(seed: u64) {
    let mut rng = Rng::new(seed);
    let fixed = seed.is_multiple_of(2);
    let mut disk = SimDisk::new(seed);
    let mut one = One::create(&disk);
    let mut model = Model { checkpoints: vec![one.log.tail().0], ..Model::default() };
    for _ in 0..8 {
        if rng.chance(2, 3) {
            disk.power_off_after(rng.below(60));
        }
        let result = live(&one, &mut model, &mut rng, fixed);
        assert!(result.is_ok() || one.log.failed() || matches!(result, Err(Error::Io { .. })));
        // What a process that was killed had not synced is seen by the next one, and not durable.
        let killed = rng.chance(1, 3);
        disk = if killed { disk.kill() } else { disk.crash() };
        // A crash during recovery must do no harm either.
        if killed || rng.chance(1, 3) {
            disk.power_off_after(rng.below(12));
            if let Ok((next, mut replay)) = One::open(&disk)
                && replay.next_window().is_ok()
                && next.log.secure(&mut replay).is_ok()
            {
                // Pages may have been written for what was secured: it is not lost any more.
                model.acknowledged = model.acknowledged.max(replay.secured().0);
                while let Ok(Some(_)) = replay.next_window() {}
                let _ = next.log.resume(replay);
            }
            disk = disk.crash();
        }
        let (next, mut replay) = One::open(&disk).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        model.check(&mut replay, seed);
        model.acknowledged = next.log.resume(replay).unwrap().0;
        one = next;
    }
}

#[test]
fn acknowledged_commits_survive_and_replay_is_a_prefix() {
    for seed in 0..400 {
        campaign(seed);
    }
}

#[test]
fn many_laps_round_the_files() {
    let disk = SimDisk::new(1);
    let one = One::create(&disk);
    let mut rng = Rng::new(2);
    let mut model = Model::default();
    while one.log.tail().0 < 40 * one.log.capacity_bytes() {
        let body = model.body(&mut rng, false);
        model.frames.push((one.log.tail().0, body.clone()));
        let end = one.append(&body).unwrap();
        if rng.chance(1, 8) {
            one.log.commit(end).unwrap();
        }
        if one.log.wants_checkpoint() {
            let lsn = model.frames[model.frames.len() / 2].0;
            one.log.checkpoint(Lsn(lsn), b"half").unwrap();
            model.frames.retain(|f| f.0 >= lsn);
            model.checkpoints = vec![lsn];
        }
    }
    one.log.flush_to(one.log.tail()).unwrap();
    model.acknowledged = one.log.tail().0;
    let (again, mut replay) = One::open(&disk.crash()).unwrap();
    assert_eq!(again.log.checkpoint_payload(), b"half");
    model.check(&mut replay, 0);
    assert_eq!(replay.at(), one.log.tail());
}

#[test]
fn a_torn_tail_ends_the_log_without_an_error() {
    let mut cut = 0;
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let one = One::create(&disk);
        one.log.settings().set_flush_mode(FlushMode::Write);
        let ends: Vec<Lsn> = (0..30u8).map(|n| one.append(&[n; 700]).unwrap()).collect();
        one.log.commit(ends[29]).unwrap();
        let (_, replay) = One::open(&disk.crash()).unwrap();
        let found = bodies(replay).unwrap();
        for (n, body) in found.iter().enumerate() {
            assert_eq!(body[..], [n as u8; 700]);
        }
        cut += usize::from(found.len() < 30);
    }
    assert!(cut > 20, "the crash tore the log only {cut} times of 60");
}

#[test]
fn leftovers_beyond_the_tail_are_never_taken_for_new_log() {
    // Frames of equal size: after a hole, new frames end exactly where old ones start.
    let mut holes = 0;
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let one = One::create(&disk);
        one.log.settings().set_flush_mode(FlushMode::Write);
        let mut end = Lsn(0);
        for n in 0..60u8 {
            end = one.append(&[n; 488]).unwrap();
        }
        one.log.commit(end).unwrap();
        let disk = disk.crash();
        let (one, before) = One::recover(&disk).unwrap();
        // Up to the end of a block: behind it the file still has what it had.
        let mut fresh = 0;
        while fresh == 0 || !one.log.tail().0.is_multiple_of(4096) {
            one.log.commit(one.append(&[200; 488]).unwrap()).unwrap();
            fresh += 1;
        }
        let (_, replay) = One::open(&disk.crash()).unwrap();
        let after = bodies(replay).unwrap();
        assert_eq!(after.len(), before.len() + fresh, "seed {seed}: the old tail came back");
        assert!(after[before.len()..].iter().all(|b| b[..] == [200; 488]), "seed {seed}");
        holes += usize::from(before.len() < 58);
    }
    assert!(holes > 50, "only {holes} of 200 crashes left a hole");
}

#[test]
fn what_a_failed_sync_left_behind_is_made_durable_by_recovery() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let one = One::create(&disk);
        one.log.commit(one.append(b"first").unwrap()).unwrap();
        disk.fail_next_sync();
        // Longer than a block: what is appended later does not happen to write it again.
        one.append(&[2; 4000]).unwrap();
        let end = one.append(&[2; 4000]).unwrap();
        assert!(matches!(one.log.commit(end), Err(Error::Io { op: "fdatasync", .. })));
        // The server ends itself; the system still shows the bytes it will never write.
        let disk = disk.kill();
        let (one, found) = One::recover(&disk).unwrap();
        one.log.commit(one.append(b"third").unwrap()).unwrap();
        let (_, replay) = One::open(&disk.crash()).unwrap();
        let after = bodies(replay).unwrap();
        assert_eq!(after[..found.len()], found[..], "seed {seed}");
        assert_eq!(after[found.len()..], [b"third".to_vec()], "seed {seed}");
    }
}
