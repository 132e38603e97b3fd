//! What a lock may be, what conflicts with what, what covers what: InnoDB's rules, nothing else.
//!
//! 1. A lock on [`Target::key`] `None` (the supremum) is a gap lock whatever its kind says. Guard: `tests/rules.rs`, all
//!    shapes beside the documented rules.
//! 2. Locks of one owner never conflict. Guard: `Locked::conflicts`, `Line::conflict` ask for the owner
//!    first; the plays of `locks/tests.rs`.

use base::IndexId;
use std::fmt;

/// Strength of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Others may read with locks, none may write.
    Shared,
    /// Others may do neither.
    Exclusive,
}

/// What of a target a lock is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The record alone.
    Record,
    /// The gap before it alone: nothing is inserted there.
    Gap,
    /// The record and the gap before it.
    NextKey,
    /// Permission to insert into the gap before it; blocks nobody.
    InsertIntention,
}

/// Whether a lock on a record that goes becomes one of the gap where it was, but see [`crate::Owner::inherit_all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherited {
    /// At levels with gap locks.
    Always,
    /// Of an insert that waits for what may be a duplicate: it is looking for its place.
    WhileWaiting,
    /// At levels without gap locks.
    Never,
}

/// Marks an index in [`Target::deleted_rows`].
const DELETED_ROWS: u64 = 1 << 63;

/// A bit that no hash has: hashes are numbers of queues ([`sync::waits::queue_node`]).
const NO_HASH: u64 = 1 << 63;

/// The lowest bits of a hash are those of its index.
const GROUPS: u64 = 15;

/// The index whose [`Target::deleted_rows`] these are.
pub(crate) fn index_of_deleted_rows(index: IndexId) -> Option<IndexId> {
    (index.0 & DELETED_ROWS != 0).then_some(IndexId(index.0 & !DELETED_ROWS))
}

/// What is locked: a key of an index, or with `None` what is behind its last key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target<'k> {
    /// The index.
    pub index: IndexId,
    /// The whole encoded key; `None` is the supremum.
    pub key: Option<&'k [u8]>,
}

/// A mode and a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// How strong.
    pub mode: Mode,
    /// Of what.
    pub kind: Kind,
}

impl Mode {
    /// Whether locks of these modes on the same thing exclude each other.
    pub fn conflicts(self, other: Mode) -> bool {
        self == Mode::Exclusive || other == Mode::Exclusive
    }
}

impl<'k> Target<'k> {
    /// The record `key` of `index`.
    pub fn record(index: IndexId, key: &'k [u8]) -> Target<'k> {
        Target { index, key: Some(key) }
    }

    /// Behind the last record of `index`.
    pub fn supremum(index: IndexId) -> Target<'k> {
        Target { index, key: None }
    }

    /// The deleted rows of `index` over which somebody has passed without a lock of each: a gap to insert beside
    /// them.
    pub fn deleted_rows(index: IndexId) -> Target<'static> {
        Target { index: IndexId(index.0 | DELETED_ROWS), key: Some(&[]) }
    }

    /// Equal targets have equal hashes; cheap, since every inserted or changed row asks for it.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        const K: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut h = self.index.0.wrapping_mul(K);
        if let Some(key) = self.key {
            h = (h ^ (key.len() as u64 + 1)).wrapping_mul(K);
            let (words, rest) = key.as_chunks::<8>();
            for word in words {
                h = (h.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(K);
            }
            for byte in rest {
                h = (h.rotate_left(9) ^ u64::from(*byte)).wrapping_mul(K);
            }
        }
        // Keys are big-endian: what tells neighbours apart is in the highest bits by now, the shard's number
        // in the lowest (the finish of MurmurHash3, in the public domain).
        h = (h ^ h >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ h >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^= h >> 33;
        // An index has shards of its own, so that one that is locked much pushes few others off the fast path.
        (h & !GROUPS | self.index.0 & GROUPS) & !NO_HASH
    }
}

impl Shape {
    /// An exclusive lock on the record alone: what a write needs.
    pub const WRITE: Shape = Shape { mode: Mode::Exclusive, kind: Kind::Record };
    /// What an insert needs of the gap it goes into.
    pub const INSERT: Shape = Shape { mode: Mode::Exclusive, kind: Kind::InsertIntention };

    /// A mode and a kind.
    pub const fn new(mode: Mode, kind: Kind) -> Shape {
        Shape { mode, kind }
    }

    fn has_gap(self, supremum: bool) -> bool {
        supremum || matches!(self.kind, Kind::Gap | Kind::NextKey)
    }

    fn has_record(self, supremum: bool) -> bool {
        !supremum && matches!(self.kind, Kind::Record | Kind::NextKey)
    }

    /// Whether a request of this shape has to wait for another owner's lock (granted, or asked for
    /// earlier) of shape `other` on the same target.
    pub fn waits_for(self, other: Shape, supremum: bool) -> bool {
        if !self.mode.conflicts(other.mode) || other.kind == Kind::InsertIntention {
            return false;
        }
        match self.kind {
            // Gap locks only keep inserts out, never each other.
            Kind::InsertIntention => other.has_gap(supremum),
            _ => self.has_record(supremum) && other.has_record(supremum),
        }
    }

    /// Whether the owner of a granted lock of this shape has all that one of shape `wanted` would
    /// give him.
    pub fn covers(self, wanted: Shape, supremum: bool) -> bool {
        if self.kind == Kind::InsertIntention || wanted.kind == Kind::InsertIntention {
            return false;
        }
        self.mode >= wanted.mode
            && (!wanted.has_record(supremum) || self.has_record(supremum))
            && (!wanted.has_gap(supremum) || self.has_gap(supremum))
    }

    /// The name in performance_schema.data_locks.
    pub fn name(self, supremum: bool) -> &'static str {
        match (self.mode, self.kind) {
            (Mode::Shared, Kind::Record) => "S,REC_NOT_GAP",
            (Mode::Shared, Kind::Gap) if !supremum => "S,GAP",
            (Mode::Shared, Kind::NextKey | Kind::Gap) => "S",
            (Mode::Exclusive, Kind::Record) => "X,REC_NOT_GAP",
            (Mode::Exclusive, Kind::Gap) if !supremum => "X,GAP",
            (Mode::Exclusive, Kind::NextKey | Kind::Gap) => "X",
            (_, Kind::InsertIntention) if supremum => "X,INSERT_INTENTION",
            (_, Kind::InsertIntention) => "X,GAP,INSERT_INTENTION",
        }
    }

    /// The words of SHOW ENGINE INNODB STATUS.
    pub fn words(self, supremum: bool) -> &'static str {
        match (self.mode, self.kind) {
            (Mode::Shared, Kind::Record) => "lock mode S locks rec but not gap",
            (Mode::Shared, Kind::Gap) if !supremum => "lock mode S locks gap before rec",
            (Mode::Shared, Kind::NextKey | Kind::Gap) => "lock mode S",
            (Mode::Exclusive, Kind::Record) => "lock_mode X locks rec but not gap",
            (Mode::Exclusive, Kind::Gap) if !supremum => "lock_mode X locks gap before rec",
            (Mode::Exclusive, Kind::NextKey | Kind::Gap) => "lock_mode X",
            (_, Kind::InsertIntention) if supremum => "lock_mode X insert intention",
            (_, Kind::InsertIntention) => "lock_mode X locks gap before rec insert intention",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_numbers_are_spread_over_the_shards() {
        for bytes in [4, 8, 12] {
            let mut shards = vec![0u32; 1024];
            for n in 0..10_240u64 {
                let key: Vec<u8> = [&[0x80; 8][..], &n.to_be_bytes()[..]].concat();
                let target = Target::record(IndexId(1025), &key[key.len() - bytes..]);
                shards[(target.hash() >> 4) as usize % 1024] += 1;
            }
            assert!(shards.iter().all(|n| *n < 40), "{bytes}: {:?}", shards.iter().max());
        }
    }
}
