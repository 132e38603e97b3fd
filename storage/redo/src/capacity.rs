//! How the capacity is divided into files.
//!
//! 1. Redo from the checkpoint to the tail may take `room` bytes: two files less than the capacity, since the
//!    first file may be needed for its last byte only, and the next is made ahead. Guard:
//!    `the_room_fits_into_the_files_however_they_are_cut`.

use crate::file::{BLOCK, HEADER_BYTES};

const MIB: u64 = 1 << 20;
/// MySQL's bounds; this crate's tests want many small files.
pub(crate) const CAPACITY_MIN: u64 = if cfg!(test) { 256 << 10 } else { 8 * MIB };
const CAPACITY_MAX: u64 = 512 << 30;
/// What a capacity is rounded down to.
const CAPACITY_STEP: u64 = if cfg!(test) { BLOCK } else { MIB };
const FILES_WANTED: u64 = 32;
const FILE_SIZE_MIN: u64 = if cfg!(test) { 16 << 10 } else { 64 << 10 };
const FILE_SIZE_MAX: u64 = 512 * MIB;
/// Files up to this size together are made with the log.
const FIRST_BYTES: u64 = 128 * MIB;
/// Files up to this size together are made without need, in the background.
const READY_BYTES: u64 = 1 << 30;
/// The longest frame, at every capacity: eight of them fit into what pacing keeps free.
pub(crate) const FRAME_BYTES_MAX: u64 = CAPACITY_MIN / 64;

/// A capacity within bounds, in bytes on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity(u64);

impl Capacity {
    /// The capacity that stands for `bytes`.
    pub(crate) fn new(bytes: u64) -> Capacity {
        let bytes = bytes.clamp(CAPACITY_MIN, CAPACITY_MAX);
        Capacity(bytes / CAPACITY_STEP * CAPACITY_STEP)
    }

    pub(crate) fn bytes(self) -> u64 {
        self.0
    }

    fn file_size(self) -> u64 {
        (self.0 / FILES_WANTED).clamp(FILE_SIZE_MIN, FILE_SIZE_MAX) / BLOCK * BLOCK
    }

    /// Log bytes in each new file.
    pub(crate) fn file_bytes(self) -> u64 {
        self.file_size() - HEADER_BYTES
    }

    /// Log bytes from the checkpoint to the tail at most.
    pub(crate) fn room(self) -> u64 {
        (self.0 / self.file_size() - 2) * self.file_bytes()
    }

    /// Files that a new log begins with: all, up to [`FIRST_BYTES`].
    pub(crate) fn files_at_first(self) -> u64 {
        (self.0.min(FIRST_BYTES) / self.file_size()).max(2)
    }

    /// Whether a spare is to be made when all files take `physical` bytes, and the spares have room
    /// for `ready` bytes of log: always up to [`READY_BYTES`], so that a full disk is no trouble;
    /// beyond that only ahead of need.
    pub(crate) fn wants_more(self, physical: u64, ready: u64) -> bool {
        let ahead = (self.0 / 8).min(READY_BYTES / 4);
        physical + self.file_size() <= self.0 && (physical < READY_BYTES || ready < ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_fits_into_the_files_however_they_are_cut() {
        for bytes in [0, 256 << 10, 300_000, 8 << 20, 100 << 20, 1 << 30, 128 << 30, u64::MAX] {
            let capacity = Capacity::new(bytes);
            let file = capacity.file_bytes();
            assert!(file.is_multiple_of(BLOCK) && capacity.room().is_multiple_of(BLOCK));
            // A range of that length touches one file more than it fills; one is ahead.
            let files = capacity.room().div_ceil(file) + 2;
            assert!(files * (file + HEADER_BYTES) <= capacity.bytes(), "{bytes}");
            assert!(capacity.room() >= capacity.bytes() / 100 * 60, "{bytes}");
            assert!(FRAME_BYTES_MAX * 4 <= capacity.room() / 8, "{bytes}");
        }
        assert!(Capacity::new(8 << 30).room() > (8u64 << 30) / 100 * 90);
    }
}
