//! Rows for which an option may leave less room than would come: `performance_schema_max_..._instances` and their kin.
//!
//! 1. A row takes its place when it is first known what it is about, and gives it back when that ends. 2. What finds no place is lost:
//! that is counted once, and nothing is told of it. 3. A limit leaves those that have their places. 4. Rows that are made as they are
//! read take no place, so that what they are about costs nothing more: a reader is told of as many as there is room for, and the
//! others are lost to it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What rows are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum RowsOf {
    /// `mutex_instances`.
    Mutexes,
    /// `rwlock_instances`.
    RwLocks,
    /// `cond_instances`.
    Conds,
    /// `socket_instances`.
    Sockets,
    /// What is done to tables.
    Tables,
    /// How often tables are locked.
    TableLocks,
    /// What is done by an index, or without one.
    Indexes,
    /// `threads`.
    Threads,
    /// `metadata_locks`; made as they are read.
    MetadataLocks,
    /// `table_handles`; made as they are read.
    TableHandles,
}

/// How many there are of [`RowsOf`].
const KINDS: usize = RowsOf::TableHandles as usize + 1;

#[derive(Debug)]
struct Room {
    max: AtomicU64,
    taken: AtomicU64,
    lost: AtomicU64,
}

static ROOMS: [Room; KINDS] = [const {
    Room { max: AtomicU64::new(u64::MAX), taken: AtomicU64::new(0), lost: AtomicU64::new(0) }
}; KINDS];

impl RowsOf {
    fn room(self) -> &'static Room {
        &ROOMS[self as usize]
    }

    /// Sets for how many there is room.
    pub fn set_max(self, rows: u64) {
        self.room().max.store(rows, Relaxed);
    }

    /// How many found no room: `Performance_schema_..._lost`.
    pub fn lost(self) -> u64 {
        self.room().lost.load(Relaxed)
    }

    /// Takes so many places, or as many as there are; how many it took. The others are lost.
    pub fn take(self, rows: u64) -> u64 {
        let Room { max, taken, lost } = self.room();
        let max = max.load(Relaxed);
        let mut found = 0;
        let _ = taken.fetch_update(Relaxed, Relaxed, |taken| {
            found = rows.min(max.saturating_sub(taken));
            Some(taken + found)
        });
        if found < rows {
            lost.fetch_add(rows - found, Relaxed);
        }
        found
    }

    /// Takes a place and what its row needs besides; false: there is no room for either, and the row is lost.
    pub(crate) fn take_with(self, rest: impl FnOnce() -> bool) -> bool {
        let found = self.take(1) == 1;
        if found && !rest() {
            self.give_back(1);
            self.room().lost.fetch_add(1, Relaxed);
            return false;
        }
        found
    }

    /// Gives places back.
    pub fn give_back(self, rows: u64) {
        self.room().taken.fetch_sub(rows, Relaxed);
    }

    /// Of how many of so many rows that are made as they are read a reader is told; the others are lost to it.
    pub fn told(self, rows: usize) -> usize {
        let Room { max, lost, .. } = self.room();
        let told = rows.min(usize::try_from(max.load(Relaxed)).unwrap_or(usize::MAX));
        lost.fetch_add((rows - told) as u64, Relaxed);
        told
    }
}

/// `FLUSH STATUS`: what was lost counts from zero again.
pub fn forget_lost_rows() {
    ROOMS.iter().for_each(|room| room.lost.store(0, Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_place_is_lost_and_one_given_back_is_there_for_others() {
        let _alone = stdx::lock(&crate::EMPTIES);
        let rows = RowsOf::Indexes;
        let (taken, lost) = (rows.room().taken.load(Relaxed), rows.lost());
        rows.set_max(taken + 3);
        assert_eq!((rows.take(2), rows.take(4), rows.lost()), (2, 1, lost + 3));
        assert_eq!((rows.take_with(|| true), rows.lost()), (false, lost + 4));
        rows.give_back(2);
        assert_eq!((rows.take_with(|| false), rows.lost()), (false, lost + 5), "no memory for it");
        assert!(rows.take_with(|| true) && rows.take_with(|| true));
        rows.set_max(0);
        assert_eq!((rows.take(0), rows.take(1), rows.lost()), (0, 0, lost + 6));
        rows.give_back(3);
        rows.set_max(u64::MAX);
        assert_eq!(rows.room().taken.load(Relaxed), taken);
    }

    #[test]
    fn a_reader_is_told_of_as_many_rows_as_there_is_room_for() {
        // Nothing else in these tests makes such rows.
        let rows = RowsOf::TableHandles;
        assert_eq!((rows.told(5), rows.lost()), (5, 0));
        rows.set_max(3);
        assert_eq!((rows.told(5), rows.told(3), rows.lost()), (3, 3, 2));
        rows.set_max(0);
        assert_eq!((rows.told(0), rows.told(4), rows.lost()), (0, 0, 6));
        rows.set_max(u64::MAX);
    }
}
