//! Files that are damaged, foreign, newer, missing, or do not fit: one clear error each.

use base::Error;
use host::{AlignedBuf, BLOCK_BYTES, Disk, OpenMode, SimDisk};

use super::*;
use crate::control::CONTROL_NAME;
use crate::files::file_name;

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
    assert!(matches!(&e, Error::Io { op: "open", path, .. } if *path == file_name(1)), "{e}");
}

#[test]
fn rot_in_redo_that_was_durable_at_the_last_opening_is_an_error() {
    let disk = made(1);
    drop(One::recover(&disk).unwrap());
    for at in [0, 700, 9000] {
        let disk = disk.kill();
        // The first frame stands at LSN 4096: behind the header block and one block of log.
        disk.flip_bit(&file_name(0), 2 * BLOCK_BYTES as u64 + at, 1);
        let e = open_error(&disk);
        assert!(matches!(e, Error::CorruptLog { .. }), "{e}");
    }
}

#[test]
fn a_disk_too_small_gives_one_error_and_keeps_nothing() {
    for blocks in [0, 1, 3, 40, 66] {
        let disk = SimDisk::new(1);
        disk.enospc_after(blocks * BLOCK_BYTES as u64);
        let e = Log::create(&as_disk(&disk), &small(), slots()).unwrap_err();
        assert!(matches!(e, Error::NoSpace { .. }), "{blocks} blocks: {e}");
        assert!(!Log::exists(&*disk).unwrap());
        disk.heal();
        let one = One::create(&disk);
        one.log.commit(one.append(b"fits").unwrap()).unwrap();
    }
}

#[test]
fn a_creation_cut_short_anywhere_can_be_repeated() {
    for operations in 0..25 {
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
