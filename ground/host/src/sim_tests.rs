//! Tests of the simulated disk itself: each fault can happen, and what must not happen does not.

use super::*;
use crate::AlignedBuf;
use crate::SECTOR_BYTES;

const BLOCK: u64 = BLOCK_BYTES as u64;

fn block(value: u8) -> AlignedBuf {
    let mut buf = AlignedBuf::zeroed(BLOCK_BYTES);
    buf.fill(value);
    buf
}

fn read(disk: &SimDisk, name: &str) -> AlignedBuf {
    let file = disk.open(name, OpenMode::Read).unwrap();
    let mut buf = AlignedBuf::zeroed(file.len().unwrap() as usize);
    file.read_exact_at(&mut buf, 0).unwrap();
    buf
}

/// A disk with file `a` of four durable blocks of 1.
fn with_file(seed: u64) -> (Arc<SimDisk>, Arc<dyn File>) {
    let disk = SimDisk::new(seed);
    let file = disk.open("a", OpenMode::Create).unwrap();
    for n in 0..4 {
        file.write_at(&block(1), n * BLOCK).unwrap();
    }
    file.sync_data().unwrap();
    disk.sync_dir().unwrap();
    (disk, file)
}

#[test]
fn what_is_synced_survives_every_crash() {
    for seed in 0..100 {
        let (disk, file) = with_file(seed);
        let after = disk.crash();
        assert!(read(&after, "a").iter().all(|b| *b == 1));
        file.write_at(&block(2), 0).unwrap();
        file.sync_data().unwrap();
        file.write_at(&block(3), BLOCK).unwrap();
        let after = read(&disk.crash(), "a");
        assert!(after[..BLOCK_BYTES].iter().all(|b| *b == 2));
        assert!(after[2 * BLOCK_BYTES..].iter().all(|b| *b == 1));
    }
}

#[test]
fn unsynced_sectors_are_old_or_new_one_by_one_across_files() {
    let (mut torn, mut reordered) = (0, 0);
    for seed in 0..200 {
        let (disk, file) = with_file(seed);
        let other = disk.open("b", OpenMode::Create).unwrap();
        other.write_at(&block(1), 0).unwrap();
        other.sync_data().unwrap();
        disk.sync_dir().unwrap();
        file.write_at(&block(2), 0).unwrap();
        other.write_at(&block(2), 0).unwrap();
        let after = disk.crash();
        let (first, second) = (read(&after, "a"), read(&after, "b"));
        for sector in first.chunks(SECTOR_BYTES).chain(second.chunks(SECTOR_BYTES)) {
            assert!(sector.iter().all(|b| *b == sector[0]), "a sector is never torn");
            assert!(sector[0] == 1 || sector[0] == 2);
        }
        let news = first[..BLOCK_BYTES].iter().filter(|b| **b == 2).count();
        torn += usize::from(news > 0 && news < BLOCK_BYTES);
        // The later write of another file may be there without the earlier one.
        reordered += usize::from(news == 0 && second.iter().all(|b| *b == 2));
        // Reading before the crash sees the new bytes in any case.
        assert!(read(&disk, "a")[..BLOCK_BYTES].iter().all(|b| *b == 2));
    }
    assert!(torn > 20 && reordered > 2, "torn {torn}, reordered {reordered}");
}

#[test]
fn a_sector_written_twice_may_hold_the_first_write() {
    let firsts = (0..200).filter(|seed| {
        let (disk, file) = with_file(*seed);
        file.write_at(&block(2), 0).unwrap();
        file.write_at(&block(3), 0).unwrap();
        read(&disk.crash(), "a").contains(&2)
    });
    assert!(firsts.count() > 5);
}

#[test]
fn names_are_lost_or_kept_until_the_folder_is_synced() {
    let (mut created, mut removed, mut renamed) = (0, 0, 0);
    for seed in 0..100 {
        let (disk, _file) = with_file(seed);
        let file = disk.open("new", OpenMode::Create).unwrap();
        file.write_at(&block(9), 0).unwrap();
        file.sync_data().unwrap();
        disk.rename("a", "z").unwrap();
        let after = disk.crash();
        created += usize::from(after.exists("new").unwrap());
        let (old, new) = (after.exists("a").unwrap(), after.exists("z").unwrap());
        assert!(old != new, "a renaming happens wholly or not at all");
        renamed += usize::from(new);
        disk.sync_dir().unwrap();
        disk.remove("new").unwrap();
        let after = disk.crash();
        assert!(after.exists("z").unwrap());
        removed += usize::from(!after.exists("new").unwrap());
    }
    for (count, what) in [(created, "created"), (removed, "removed"), (renamed, "renamed")] {
        assert!((20..80).contains(&count), "{what} {count} of 100");
    }
}

#[test]
fn a_length_is_old_or_new_and_what_was_never_written_is_zero() {
    let (mut old, mut new) = (0, 0);
    for seed in 0..100 {
        let (disk, file) = with_file(seed);
        file.write_at(&block(5), 6 * BLOCK).unwrap();
        let after = read(&disk.crash(), "a");
        match after.len() as u64 / BLOCK {
            4 => old += 1,
            7 => new += 1,
            other => panic!("{other} blocks"),
        }
        assert!(after[4 * BLOCK_BYTES..].iter().all(|b| *b == 0 || *b == 5));
        file.set_len(2 * BLOCK).unwrap();
        file.set_len(3 * BLOCK).unwrap();
        file.sync_data().unwrap();
        let after = read(&disk.crash(), "a");
        assert_eq!(after.len(), 3 * BLOCK_BYTES);
        assert!(after[2 * BLOCK_BYTES..].iter().all(|b| *b == 0), "cut bytes do not come back");
    }
    assert!(old > 20 && new > 20, "old {old}, new {new}");
}

#[test]
fn a_failed_sync_loses_the_bytes_and_then_reports_success() {
    let mut lost = 0;
    for seed in 0..50 {
        let (disk, file) = with_file(seed);
        file.write_at(&block(2), 0).unwrap();
        disk.fail_next_sync();
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        assert!(read(&disk, "a")[..BLOCK_BYTES].iter().all(|b| *b == 2), "still read back");
        assert!(read(&disk.kill(), "a")[..BLOCK_BYTES].iter().all(|b| *b == 2));
        lost += usize::from(read(&disk.crash(), "a").iter().all(|b| *b == 1));
        // Written again it is an ordinary write.
        file.write_at(&block(2), 0).unwrap();
        file.sync_data().unwrap();
        assert!(read(&disk.crash(), "a")[..BLOCK_BYTES].iter().all(|b| *b == 2));
    }
    assert!(lost > 25, "lost {lost} of 50");
}

#[test]
fn killing_the_process_loses_nothing_that_was_written() {
    let (disk, file) = with_file(1);
    file.write_at(&block(2), 0).unwrap();
    disk.open("new", OpenMode::Create).unwrap();
    let after = disk.kill();
    assert!(read(&after, "a")[..BLOCK_BYTES].iter().all(|b| *b == 2));
    assert!(after.exists("new").unwrap());
    let torn = (0..50).filter(|_| read(&after.crash(), "a")[..BLOCK_BYTES].contains(&1));
    assert!(torn.count() > 5, "still not durable");
}

#[test]
fn a_full_disk_refuses_growth_and_nothing_else() {
    let (disk, file) = with_file(1);
    disk.enospc_after(2 * BLOCK);
    let e = file.write_at(&AlignedBuf::zeroed(3 * BLOCK_BYTES), 4 * BLOCK).unwrap_err();
    assert_eq!(e.kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 4 * BLOCK, "nothing was written");
    file.write_at(&block(7), 4 * BLOCK).unwrap();
    file.write_at(&block(7), 5 * BLOCK).unwrap();
    assert!(file.write_at(&block(7), 6 * BLOCK).is_err());
    file.write_at(&block(8), 0).unwrap();
    disk.heal();
    file.write_at(&block(7), 6 * BLOCK).unwrap();
}

#[test]
fn writes_fail_after_a_count_and_the_power_goes_off_after_one() {
    let (disk, file) = with_file(3);
    disk.fail_writes_after(2);
    file.write_at(&block(2), 0).unwrap();
    file.write_at(&block(2), 0).unwrap();
    assert!(file.write_at(&block(2), 0).is_err());
    assert!(file.write_at(&block(2), 0).is_err());
    disk.heal();
    disk.power_off_after(1);
    file.sync_data().unwrap();
    assert!(file.write_at(&block(4), 0).is_err());
    assert!(file.sync_data().is_err() && disk.sync_dir().is_err());
    assert!(disk.remove("a").is_err() && disk.open("a", OpenMode::Read).is_err());
    assert!(!read(&disk.crash(), "a").contains(&4));
}

#[test]
fn rot_flips_one_bit_for_good() {
    let (disk, _file) = with_file(1);
    disk.flip_bit("a", 5000, 3);
    for image in [disk.kill(), disk.crash()] {
        let bytes = read(&image, "a");
        assert_eq!(bytes[5000], 1 ^ 8);
        assert_eq!(bytes.iter().filter(|b| **b != 1).count(), 1);
    }
}

#[test]
fn the_same_seed_gives_the_same_crashes() {
    let run = |seed| {
        let (disk, file) = with_file(seed);
        for n in 0..20u64 {
            file.write_at(&block(n as u8), (n % 6) * BLOCK).unwrap();
        }
        (0..5).map(|_| read(&disk.crash(), "a").to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn refuses_what_direct_io_would_refuse_and_what_is_not_there() {
    let (disk, file) = with_file(1);
    assert!(file.write_at(&block(1)[..512], 0).is_err());
    assert!(file.write_at(&block(1), 100).is_err());
    let reader = disk.open("a", OpenMode::Read).unwrap();
    assert!(reader.write_at(&block(1), 0).is_err() && reader.set_len(0).is_err());
    let kind = |r: io::Result<Arc<dyn File>>| r.err().unwrap().kind();
    assert_eq!(kind(disk.open("b", OpenMode::ReadWrite)), io::ErrorKind::NotFound);
    assert_eq!(kind(disk.open("a", OpenMode::Create)), io::ErrorKind::AlreadyExists);
    assert_eq!(kind(disk.open("x/a", OpenMode::Create)), io::ErrorKind::NotFound);
    disk.create_dir("x").unwrap();
    disk.open("x/a", OpenMode::Create).unwrap();
    assert_eq!(disk.list().unwrap(), ["a", "x/a"]);
}

#[test]
fn counts_what_was_asked() {
    let (disk, _file) = with_file(1);
    let expected = SimStats {
        writes: 4,
        written_bytes: 4 * BLOCK,
        syncs: 1,
        dir_syncs: 1,
        ..SimStats::default()
    };
    assert_eq!(disk.stats(), expected);
}

#[test]
fn reads_fail_and_come_up_short_as_often_as_asked() {
    let (disk, file) = with_file(1);
    let mut buf = AlignedBuf::zeroed(4 * BLOCK_BYTES);
    disk.fail_next_reads(1);
    assert!(file.read_at(&mut buf, 0).is_err());
    disk.short_next_reads(2);
    assert!(file.read_at(&mut buf, 0).unwrap() < buf.len());
    assert_eq!(file.read_exact_at(&mut buf, 0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), buf.len());
    assert!(buf.iter().all(|b| *b == 1));
}

#[test]
fn rot_is_somewhere_and_durable() {
    let (disk, _file) = with_file(1);
    let places = disk.rot("a", 3);
    assert_eq!(places.len(), 3);
    let after = read(&disk.crash(), "a");
    assert_ne!(after[places[0] as usize], 1);
}

#[test]
fn an_ignored_sync_answers_yes_and_a_crash_knows_better() {
    let mut lost = [0; 2];
    for seed in 0..50 {
        let (disk, file) = with_file(seed);
        disk.ignore_syncs_of("a");
        disk.ignore_dir_syncs();
        file.write_at(&block(2), 0).unwrap();
        file.sync_data().unwrap();
        let other = disk.open("b", OpenMode::Create).unwrap();
        other.write_at(&block(2), 0).unwrap();
        other.sync_data().unwrap();
        disk.sync_dir().unwrap();
        assert_eq!(disk.stats().ignored_syncs, 2);
        let after = disk.crash();
        lost[0] += u32::from(read(&after, "a")[..BLOCK_BYTES].contains(&1));
        lost[1] += u32::from(!after.exists("b").unwrap());
        let again = after.open("a", OpenMode::ReadWrite).unwrap();
        again.sync_data().unwrap();
        assert_eq!(after.stats().ignored_syncs, 1, "the lie outlives the crash");
    }
    assert!(lost.iter().all(|n| (10..45).contains(n)), "{lost:?}");
}

#[test]
fn the_power_goes_off_at_once() {
    let (disk, file) = with_file(1);
    assert!(!disk.is_off());
    disk.power_off();
    assert!(disk.is_off() && file.sync_data().is_err());
    assert!(!disk.crash().is_off());
}

/// What four threads did to one disk in a simulation: its crash image, and how long it took.
fn threads_on_a_disk(seed: u64) -> (Vec<u8>, u64, u64) {
    let outcome = sync::sched::run(seed, sync::sched::Options::default(), || {
        let (disk, _file) = with_file(seed);
        disk.set_latency(Latency { read_ns: 50_000, write_ns: 80_000, sync_ns: 500_000 });
        let threads: Vec<_> = (0..4u8)
            .map(|t| {
                let disk = Arc::clone(&disk);
                crate::thread::spawn("io", move || {
                    let file = disk.open("a", OpenMode::ReadWrite).unwrap();
                    for i in 0..4 {
                        file.write_at(&block(t * 8 + i), u64::from(i) * BLOCK).unwrap();
                        if i % 2 == 0 {
                            file.sync_data().unwrap();
                        }
                        let mut buf = AlignedBuf::zeroed(BLOCK_BYTES);
                        file.read_exact_at(&mut buf, u64::from(i) * BLOCK).unwrap();
                        assert!(buf.iter().all(|b| *b == buf[0]), "a block is never torn alive");
                    }
                })
                .unwrap()
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        read(&disk.crash(), "a").to_vec()
    });
    let (ns, hash) = (outcome.virtual_ns, outcome.trace_hash);
    (outcome.unwrap(), ns, hash)
}

#[test]
fn in_a_simulation_threads_share_a_disk_deterministically_and_take_time() {
    let mut images = BTreeSet::new();
    for seed in 0..20 {
        let first = threads_on_a_disk(seed);
        assert_eq!(first, threads_on_a_disk(seed), "seed {seed}");
        assert!(first.1 > 100_000, "{} ns", first.1);
        images.insert(first.0);
    }
    assert!(images.len() > 10);
}

#[test]
fn an_atomic_write_reaches_the_disk_wholly_or_not_at_all() {
    const UNIT: usize = 4 * BLOCK_BYTES;
    let (mut old, mut new, mut torn) = (0, 0, 0);
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.write_atomically(UNIT);
        let file = disk.open("a", OpenMode::Create).unwrap();
        disk.sync_dir().unwrap();
        assert_eq!(file.atomic_write_bytes(), UNIT);
        file.write_at(&AlignedBuf::zeroed(2 * UNIT), 0).unwrap();
        file.sync_data().unwrap();
        for n in 1..3u8 {
            let mut buf = AlignedBuf::zeroed(UNIT);
            buf.fill(n);
            file.write_atomic(&buf, 0).unwrap();
            file.write_at(&buf, UNIT as u64).unwrap();
        }
        let after = disk.crash().open("a", OpenMode::Read).unwrap();
        let mut buf = AlignedBuf::zeroed(2 * UNIT);
        after.read_exact_at(&mut buf, 0).unwrap();
        assert!(buf[..UNIT].iter().all(|b| *b == buf[0]), "seed {seed}");
        old += u32::from(buf[0] < 2);
        new += u32::from(buf[0] == 2);
        torn += u32::from(buf[UNIT..].iter().any(|b| *b != buf[UNIT]));
    }
    assert!(old > 10 && new > 10 && torn > 10, "{old} old, {new} new, {torn} others torn");
}

#[test]
fn a_block_that_was_given_back_is_there_or_gone_until_it_is_synced() {
    let (mut back, mut gone, mut first) = (0, 0, 0);
    for seed in 0..200 {
        let (disk, file) = with_file(seed);
        file.write_at(&block(2), 0).unwrap();
        assert!(file.give_back(0, 3 * BLOCK).unwrap());
        assert_eq!((file.len().unwrap(), file.allocated_bytes().unwrap()), (4 * BLOCK, BLOCK));
        assert!(read(&disk, "a")[..3 * BLOCK_BYTES].iter().all(|b| *b == 0));
        assert!(read(&disk.kill(), "a")[..3 * BLOCK_BYTES].iter().all(|b| *b == 0));
        let after = read(&disk.crash(), "a");
        for (n, found) in after.chunks(BLOCK_BYTES).enumerate() {
            // Only the block whose write was not durable may be torn between that and what was there.
            assert!(n == 0 || found.iter().all(|b| *b == found[0]), "a block has one fate");
            back += u32::from(found[0] != 0);
            gone += u32::from(found[0] == 0);
            first += u32::from(found.contains(&2));
        }
        assert!(after[3 * BLOCK_BYTES..].iter().all(|b| *b == 1));
        file.sync_data().unwrap();
        let after = disk.crash();
        assert!(read(&after, "a")[..3 * BLOCK_BYTES].iter().all(|b| *b == 0));
        let again = after.open("a", OpenMode::Read).unwrap();
        assert_eq!(again.allocated_bytes().unwrap(), BLOCK);
        assert_eq!(disk.stats().blocks_given_back, 3);
    }
    assert!(back > 50 && gone > 50 && first > 5, "{back} back, {gone} gone, {first} of the write");
}

#[test]
fn room_that_was_given_back_is_others_until_it_is_taken_again() {
    let (disk, file) = with_file(1);
    disk.enospc_after(0);
    file.give_back(0, 2 * BLOCK).unwrap();
    let other = disk.open("b", OpenMode::Create).unwrap();
    other.write_at(&block(3), 0).unwrap();
    let e = file.make_room(0, 4 * BLOCK).unwrap_err();
    assert_eq!(e.kind(), io::ErrorKind::StorageFull);
    assert!(file.make_room(0, BLOCK).unwrap());
    assert!(other.write_at(&block(3), BLOCK).is_err());
    file.write_at(&block(4), 0).unwrap();
    assert!(file.write_at(&block(4), BLOCK).is_err(), "the other block's room is gone");
    // What is there keeps its bytes.
    assert!(file.make_room(2 * BLOCK, 2 * BLOCK).unwrap());
    assert!(read(&disk, "a")[2 * BLOCK_BYTES..].iter().all(|b| *b == 1));
    // Room without bytes has to be taken again after a crash.
    disk.heal();
    assert!(file.make_room(BLOCK, BLOCK).unwrap());
    assert_eq!(file.allocated_bytes().unwrap(), 4 * BLOCK);
    assert!(file.give_back(100, BLOCK).is_err());
}

#[cfg(debug_assertions)]
mod latches {
    use super::*;
    use sync::Mutex;

    instrument::classes! {
        static SHORT: MutexClass = "wait/synch/mutex/test/short";
        static LONG: MutexClass = "wait/synch/mutex/test/long", across_io;
    }

    fn read_under(latch: &Mutex<()>) {
        let disk = SimDisk::new(1);
        let file = disk.open("f", OpenMode::Create).unwrap();
        let _held = latch.lock();
        file.sync_data().unwrap();
    }

    #[test]
    #[should_panic(expected = "I/O under latches: [\"wait/synch/mutex/test/short\"]")]
    fn a_latch_that_is_not_held_across_io_is_found_there() {
        read_under(&Mutex::new(&SHORT, ()));
    }

    #[test]
    fn one_that_says_so_is_and_one_that_was_given_back_is_no_matter() {
        let short = Mutex::new(&SHORT, ());
        drop(short.lock());
        read_under(&Mutex::new(&LONG, ()));
    }
}
