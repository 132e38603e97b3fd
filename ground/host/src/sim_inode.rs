//! A simulated file's contents: what is durable, what is only cached, and what a crash leaves.
//!
//! 1. A block is `cached` from its write to the sync that makes it durable; reading prefers it.
//! 2. Blocks that were never written take no room and read as zero. A block that was given back takes none
//!    either; until it is durable a crash may bring it back, as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use stdx::rng::Rng;

use crate::disk::BLOCK_BYTES;

/// The unit that a disk writes wholly or not at all, in bytes.
pub const SECTOR_BYTES: usize = 512;

pub(crate) type Block = [u8; BLOCK_BYTES];

/// A block that was written and not yet made durable.
#[derive(Clone)]
pub(crate) struct Dirty {
    pub(crate) bytes: Arc<Block>,
    /// A failed sync has dropped it: readable until the crash, and written by no later sync.
    lost: bool,
    /// First block of the atomic write that it belongs to: their fate is one.
    unit: Option<u64>,
    /// It was given back: zeroes that take no room.
    hole: bool,
}

impl Dirty {
    fn new(bytes: Block, unit: Option<u64>) -> Dirty {
        Dirty { bytes: Arc::new(bytes), lost: false, unit, hole: false }
    }
}

/// A file's contents, apart from its names.
#[derive(Clone, Default)]
pub(crate) struct Inode {
    pub(crate) durable: BTreeMap<u64, Arc<Block>>,
    durable_bytes: u64,
    pub(crate) cached: BTreeMap<u64, Dirty>,
    pub(crate) bytes: u64,
    /// The length waits for a sync.
    length_dirty: bool,
    /// Blocks that have room and were never written; a crash forgets them.
    reserved: BTreeSet<u64>,
}

impl Inode {
    pub(crate) fn block(&self, number: u64) -> Option<&Block> {
        match self.cached.get(&number) {
            Some(dirty) => Some(&dirty.bytes),
            None => self.durable.get(&number).map(|b| &**b),
        }
    }

    pub(crate) fn has_room_for(&self, number: u64) -> bool {
        match self.cached.get(&number) {
            Some(dirty) => !dirty.hole,
            None => self.durable.contains_key(&number) || self.reserved.contains(&number),
        }
    }

    /// Gives blocks back; how many had room. What they were may have reached the disk before, and what
    /// becomes of each is not the others' fate.
    pub(crate) fn give_back(&mut self, numbers: Range<u64>, rng: &mut Rng) -> u64 {
        let mut given = 0;
        let end = self.bytes.div_ceil(BLOCK_BYTES as u64).min(numbers.end);
        for number in numbers.start..end {
            if !self.has_room_for(number) {
                continue;
            }
            given += 1;
            if !self.reserved.remove(&number) {
                self.write_unit(number, &[[0; BLOCK_BYTES]], rng);
                self.cached.entry(number).and_modify(|dirty| dirty.hole = true);
            }
        }
        given
    }

    /// Makes room for blocks, which keep what they hold.
    pub(crate) fn make_room(&mut self, numbers: Range<u64>) {
        for number in numbers {
            match self.cached.get_mut(&number) {
                Some(dirty) => dirty.hole = false,
                None if self.durable.contains_key(&number) => {}
                None => drop(self.reserved.insert(number)),
            }
        }
    }

    /// How many blocks have room.
    pub(crate) fn blocks_with_room(&self) -> u64 {
        let others = self.durable.keys().chain(&self.reserved);
        let others = others.filter(|n| !self.cached.contains_key(n)).count();
        (others + self.cached.values().filter(|dirty| !dirty.hole).count()) as u64
    }

    /// Puts one block into the cache. Before it replaces a dirty one, some of that one's sectors
    /// may have reached the disk on their own.
    pub(crate) fn write_block(&mut self, number: u64, bytes: &Block, rng: &mut Rng) {
        if let Some(old) = self.cached.get(&number).filter(|d| !d.lost)
            && rng.chance(1, 4)
        {
            let (old, whole) = (old.bytes.clone(), old.hole);
            let durable = self.durable.get(&number).map_or([0; BLOCK_BYTES], |b| **b);
            let reached = if whole { *old } else { mix(&durable, &old, rng) };
            self.durable.insert(number, Arc::new(reached));
        }
        self.reserved.remove(&number);
        self.cached.insert(number, Dirty::new(*bytes, None));
    }

    /// Puts blocks into the cache that reach the disk together or not at all; so may those that they
    /// replace have done.
    pub(crate) fn write_unit(&mut self, first: u64, blocks: &[Block], rng: &mut Rng) {
        let numbers = first..first + blocks.len() as u64;
        if rng.chance(1, 4) {
            for number in numbers.clone() {
                if let Some(old) = self.cached.get(&number).filter(|d| !d.lost) {
                    self.durable.insert(number, old.bytes.clone());
                }
            }
        }
        for (number, bytes) in numbers.zip(blocks) {
            self.reserved.remove(&number);
            self.cached.insert(number, Dirty::new(*bytes, Some(first)));
        }
    }

    pub(crate) fn set_bytes(&mut self, bytes: u64) {
        if bytes == self.bytes {
            return;
        }
        if bytes < self.bytes {
            // What is cut off reads as zero if the file grows again.
            let first = bytes.div_ceil(BLOCK_BYTES as u64);
            let last = self.bytes.div_ceil(BLOCK_BYTES as u64);
            for number in first..last {
                if self.has_room_for(number) {
                    self.cached.insert(number, Dirty::new([0; BLOCK_BYTES], None));
                }
            }
        }
        self.bytes = bytes;
        self.length_dirty = true;
    }

    pub(crate) fn sync(&mut self) {
        let cached = std::mem::take(&mut self.cached);
        for (number, dirty) in cached {
            if dirty.lost {
                self.cached.insert(number, dirty);
            } else if dirty.hole {
                self.durable.remove(&number);
            } else {
                self.durable.insert(number, dirty.bytes);
            }
        }
        if self.length_dirty {
            self.durable_bytes = self.bytes;
            self.length_dirty = false;
        }
    }

    pub(crate) fn fail_sync(&mut self, rng: &mut Rng) {
        let mut durable = std::mem::take(&mut self.durable);
        self.reach_disk(&mut durable, rng, |rng| rng.chance(1, 4));
        self.durable = durable;
        self.cached.values_mut().for_each(|dirty| dirty.lost = true);
        self.length_dirty = false;
    }

    /// Lets some of what is cached reach the disk: blocks that `may`, sector by sector, and atomic
    /// writes as a whole.
    fn reach_disk(
        &self,
        durable: &mut BTreeMap<u64, Arc<Block>>,
        rng: &mut Rng,
        mut may: impl FnMut(&mut Rng) -> bool,
    ) {
        let mut units: BTreeMap<u64, bool> = BTreeMap::new();
        for (number, dirty) in &self.cached {
            let reaches = match dirty.unit {
                _ if dirty.lost => false,
                None => may(rng),
                Some(unit) => *units.entry(unit).or_insert_with(|| may(rng) && rng.chance(1, 2)),
            };
            if reaches {
                let old = durable.get(number).map_or([0; BLOCK_BYTES], |b| **b);
                let new = match dirty.unit {
                    Some(_) => *dirty.bytes,
                    None => mix(&old, &dirty.bytes, rng),
                };
                durable.insert(*number, Arc::new(new));
            }
        }
    }

    pub(crate) fn after_crash(&self, rng: &mut Rng) -> Inode {
        let mut durable = self.durable.clone();
        self.reach_disk(&mut durable, rng, |_| true);
        let bytes =
            if self.length_dirty && rng.chance(1, 2) { self.bytes } else { self.durable_bytes };
        let end = bytes.div_ceil(BLOCK_BYTES as u64);
        durable.retain(|number, _| *number < end);
        Inode { durable, durable_bytes: bytes, bytes, ..Inode::default() }
    }
}

/// A block each sector of which is old or new: all old, all new, or drawn one by one.
fn mix(old: &Block, new: &Block, rng: &mut Rng) -> Block {
    let mut out = *old;
    let style = rng.below(4);
    for (at, sector) in new.chunks_exact(SECTOR_BYTES).enumerate() {
        let keep_new = match style {
            0 => false,
            1 => true,
            _ => rng.chance(1, 2),
        };
        if keep_new {
            out[at * SECTOR_BYTES..][..SECTOR_BYTES].copy_from_slice(sector);
        }
    }
    out
}
