//! Files that are damaged, foreign, newer, missing, or do not fit: one clear error each.

use base::Error;
use host::{AlignedBuf, BLOCK_BYTES, Disk, OpenMode, SimDisk};

use super::*;
use crate::control::CONTROL_NAME;
use crate::file::name as file_name;

fn made(seed: u64) -> Arc<SimDisk> {
    let disk = SimDisk::new(seed);
    let one = One::create(&disk);
    for n in 0..20u8 {
        one.log.commit(one.append(&[n; 500]).unwrap()).unwrap();
    }
    disk
}

fn open_error(disk: &Arc<SimDisk>) -> Error {
    match One::open(disk).and_then(|(_, replay)| bodies(replay)) {
        Ok(_) => panic!("the log opened"),
        Err(e) => e,
    }
}

/// Changes a block of a file and seals it with its checksum at offset 8.
fn rewrite(disk: &SimDisk, name: &str, block: u64, change: impl FnOnce(&mut [u8])) {
    let file = disk.open(name, OpenMode::ReadWrite).unwrap();
    let mut buf = AlignedBuf::zeroed(BLOCK_BYTES);
    file.read_exact_at(&mut buf, block * BLOCK_BYTES as u64).unwrap();
    change(&mut buf);
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &buf[12..]) as u32;
    buf[8..12].copy_from_slice(&crc.to_le_bytes());
    file.write_at(&buf, block * BLOCK_BYTES as u64).unwrap();
    file.sync_data().unwrap();
}

#[test]
fn one_damaged_control_block_is_survived_two_are_refused() {
    for block in 0..2 {
        let disk = made(1);
        disk.flip_bit(CONTROL_NAME, block * BLOCK_BYTES as u64 + 40, 2);
        let (_, replay) = One::open(&disk).unwrap();
        assert_eq!(bodies(replay).unwrap().len(), 20);
    }
    let disk = made(1);
    disk.flip_bit(CONTROL_NAME, 40, 2);
    disk.flip_bit(CONTROL_NAME, BLOCK_BYTES as u64 + 40, 2);
    let e = open_error(&disk);
    assert!(matches!(e, Error::CorruptLog { .. }), "{e}");
}

#[test]
fn every_flipped_bit_of_a_control_block_is_noticed() {
    let disk = made(1);
    let (one, _) = One::recover(&disk).unwrap();
    let good = one.log.tail();
    for at in 0..90 {
        let disk = disk.kill();
        disk.flip_bit(CONTROL_NAME, at, (at % 8) as u8);
        let (one, _) = One::recover(&disk).unwrap();
        assert_eq!(one.log.tail(), good, "byte {at}");
    }
}

#[test]
fn a_newer_format_is_refused_by_name() {
    for name in [CONTROL_NAME.to_string(), file_name(1)] {
        let disk = made(1);
        rewrite(&disk, &name, 0, |b| b[12..16].copy_from_slice(&9u32.to_le_bytes()));
        let e = open_error(&disk);
        assert!(matches!(e, Error::Foreign { .. }), "{e}");
        assert!(e.to_string().contains(&name) && e.to_string().contains("version 9"), "{e}");
    }
}

#[test]
fn foreign_files_are_refused_by_name() {
    for name in [CONTROL_NAME.to_string(), file_name(0)] {
        let disk = made(1);
        let file = disk.open(&name, OpenMode::ReadWrite).unwrap();
        let mut text = AlignedBuf::zeroed(2 * BLOCK_BYTES);
        text.fill(b'x');
        file.write_at(&text, 0).unwrap();
        let e = open_error(&disk);
        assert!(matches!(&e, Error::Foreign { path, .. } if *path == name), "{e}");
    }
}

#[test]
fn a_file_of_another_log_is_refused() {
    let (disk, other) = (made(1), made(2));
    let mut header = AlignedBuf::zeroed(BLOCK_BYTES);
    other.open(&file_name(1), OpenMode::Read).unwrap().read_exact_at(&mut header, 0).unwrap();
    disk.open(&file_name(1), OpenMode::ReadWrite).unwrap().write_at(&header, 0).unwrap();
    let e = open_error(&disk);
    assert!(e.to_string().contains("another redo log"), "{e}");
}

#[test]
fn a_missing_or_shortened_file_is_an_error_with_its_name() {
    let disk = made(1);
    disk.open(&file_name(1), OpenMode::ReadWrite).unwrap().set_len(BLOCK_BYTES as u64).unwrap();
    assert!(open_error(&disk).to_string().contains(&file_name(1)));
    disk.remove(&file_name(1)).unwrap();
    let e = open_error(&disk);
    assert!(matches!(&e, Error::Foreign { path, .. } if *path == file_name(1)), "{e}");
}

/// A log of many files, most of them behind the checkpoint or in use; all of them durable.
fn long(seed: u64) -> (Arc<SimDisk>, Vec<u64>) {
    let disk = SimDisk::new(seed);
    let one = One::create(&disk);
    for n in 0..400u32 {
        one.log.commit(one.append(&[n as u8; 500]).unwrap()).unwrap();
        if n % 100 == 99 {
            one.log.govern().unwrap();
        }
        if n == 200 {
            one.log.checkpoint(one.log.tail(), b"").unwrap();
        }
    }
    let numbers: Vec<u64> = one.log.files().iter().map(|f| f.file_id).collect();
    assert!(numbers.len() > 5 && numbers[0] > 3, "{numbers:?}");
    (disk, numbers)
}

fn rename(disk: &SimDisk, from: &str, to: &str) {
    disk.rename(from, to).unwrap();
    disk.sync_dir().unwrap();
}

fn copy(from: &SimDisk, name: &str, to: &SimDisk, other: &str) {
    let file = from.open(name, OpenMode::Read).unwrap();
    let mut bytes = AlignedBuf::zeroed(file.len().unwrap() as usize);
    file.read_exact_at(&mut bytes, 0).unwrap();
    if to.exists(other).unwrap() {
        to.remove(other).unwrap();
    }
    to.open(other, OpenMode::Create).unwrap().write_at(&bytes, 0).unwrap();
}

#[test]
fn any_missing_file_is_noticed_be_it_the_last() {
    let (disk, numbers) = long(3);
    let (_, replay) = One::open(&disk.kill()).unwrap();
    assert!(bodies(replay).unwrap().len() > 150);
    for number in numbers {
        let disk = disk.kill();
        disk.remove(&file_name(number)).unwrap();
        let e = open_error(&disk);
        assert!(matches!(&e, Error::Foreign { path, .. } if *path == file_name(number)), "{e}");
        assert!(e.to_string().contains("missing"), "{e}");
    }
}

#[test]
fn swapped_and_copied_files_are_refused() {
    let (disk, numbers) = long(4);
    for pair in numbers.windows(2) {
        let (a, b) = (file_name(pair[0]), file_name(pair[1]));
        let swapped = disk.kill();
        rename(&swapped, &a, "redo/x");
        rename(&swapped, &b, &a);
        rename(&swapped, "redo/x", &b);
        assert!(open_error(&swapped).to_string().contains("under another name"));
        let copied = disk.kill();
        copy(&copied, &a, &copied, &b);
        assert!(open_error(&copied).to_string().contains("is a copy of file"));
    }
    // A copy under a name that no file has yet.
    let beyond = file_name(numbers[numbers.len() - 1] + 5);
    copy(&disk, &file_name(numbers[1]), &disk, &beyond);
    let e = open_error(&disk);
    assert!(matches!(&e, Error::Foreign { path, .. } if *path == beyond), "{e}");
}

#[test]
fn files_of_another_time_are_refused_or_seen_to_lack_what_was_durable() {
    let disk = SimDisk::new(5);
    let one = One::create(&disk);
    let fill = |one: &One| {
        for n in 0..60u8 {
            one.log.commit(one.append(&[n; 500]).unwrap()).unwrap();
        }
    };
    fill(&one);
    one.log.govern().unwrap();
    let (before, tail) = (disk.kill(), one.log.tail());
    fill(&one);
    one.log.checkpoint(one.log.checkpoint_lsn(), b"later").unwrap();
    // An old copy of the file that both have: its end is not written yet.
    let rows = one.log.files();
    let name = &rows.iter().find(|f| f.end_lsn > tail).unwrap().file_name;
    let mixed = disk.kill();
    copy(&before, name, &mixed, name);
    let e = open_error(&mixed);
    assert!(matches!(e, Error::CorruptLog { .. }), "{e}");
    // An old control file: it does not know of the files that were made since.
    let mixed = disk.kill();
    copy(&before, CONTROL_NAME, &mixed, CONTROL_NAME);
    let e = open_error(&mixed);
    assert!(e.to_string().contains("the control file is older"), "{e}");
}

#[test]
fn a_cut_off_control_file_is_refused() {
    let disk = made(1);
    disk.open(CONTROL_NAME, OpenMode::ReadWrite).unwrap().set_len(0).unwrap();
    assert!(matches!(open_error(&disk), Error::Foreign { .. }));
    let disk = made(1);
    disk.open(CONTROL_NAME, OpenMode::ReadWrite).unwrap().set_len(BLOCK_BYTES as u64).unwrap();
    let (_, replay) = One::open(&disk).unwrap();
    assert_eq!(bodies(replay).unwrap().len(), 20, "one block is enough");
}

#[test]
fn every_flipped_bit_of_a_header_is_noticed() {
    let disk = made(1);
    for at in 0..64 {
        let disk = disk.kill();
        disk.flip_bit(&file_name(0), at, (at % 8) as u8);
        let e = open_error(&disk);
        assert!(matches!(&e, Error::Foreign { path, .. } if *path == file_name(0)), "{e}");
    }
}

#[test]
fn an_older_format_is_refused_by_name() {
    let disk = made(1);
    rewrite(&disk, CONTROL_NAME, 0, |b| b[12..16].copy_from_slice(&1u32.to_le_bytes()));
    let e = open_error(&disk);
    assert!(e.to_string().contains("version 1 is older"), "{e}");
}

#[test]
fn spares_are_room_whatever_is_in_them() {
    let disk = made(1);
    let (one, found) = One::recover(&disk).unwrap();
    one.log.govern().unwrap();
    let spares: Vec<String> =
        disk.list().unwrap().into_iter().filter(|n| n.ends_with("_tmp")).collect();
    assert!(!spares.is_empty());
    drop(one);
    for name in &spares {
        // A whole file of this very log: what it says must not be believed.
        copy(&disk, &file_name(0), &disk, name);
    }
    let (one, again) = One::recover(&disk).unwrap();
    assert_eq!(again, found);
    for n in 0..100u8 {
        one.log.commit(one.append(&[n; 700]).unwrap()).unwrap();
    }
    let (_, replay) = One::open(&disk.crash()).unwrap();
    assert_eq!(bodies(replay).unwrap().len(), 120);
}

#[test]
fn rot_in_redo_that_was_durable_at_the_last_opening_is_an_error() {
    let disk = made(1);
    drop(One::recover(&disk).unwrap());
    for at in [0, 700, 9000] {
        let disk = disk.kill();
        // The first frame stands at LSN 4096: behind the header block.
        disk.flip_bit(&file_name(0), BLOCK_BYTES as u64 + at, 1);
        let e = open_error(&disk);
        assert!(matches!(e, Error::CorruptLog { .. }), "{e}");
    }
}

#[test]
fn a_disk_too_small_gives_one_error_and_keeps_nothing() {
    for blocks in [0, 1, 3, 5, 40, 65] {
        let disk = SimDisk::new(1);
        disk.enospc_after(blocks * BLOCK_BYTES as u64);
        let e = Log::create(&as_disk(&disk), &small(), slots()).unwrap_err();
        assert!(matches!(e, Error::NoSpace { .. }), "{blocks} blocks: {e}");
        assert!(!Log::exists(&*disk).unwrap());
        let left = disk.list().unwrap();
        assert!(left.iter().all(|n| n == "redo/control.new"), "{blocks} blocks: {left:?}");
        disk.heal();
        let one = One::create(&disk);
        one.log.commit(one.append(b"fits").unwrap()).unwrap();
    }
}

#[test]
fn a_creation_cut_short_anywhere_can_be_repeated() {
    for operations in 0..90 {
        let disk = SimDisk::new(operations);
        disk.power_off_after(operations);
        let finished = Log::create(&as_disk(&disk), &small(), slots()).is_ok();
        for _ in 0..4 {
            let disk = disk.crash();
            if Log::exists(&*disk).unwrap() {
                let (_, replay) = One::open(&disk).unwrap();
                assert!(bodies(replay).unwrap().is_empty());
            } else {
                assert!(!finished, "after {operations} operations");
                One::create(&disk);
            }
        }
    }
}
