//! A hash table from keys to numbers, in two pieces of memory.
//!
//! 1. Keys get the numbers 0, 1, 2, ... in the order in which they come. 2. Keys lie behind each other in
//!    one byte string; a slot holds a key's number and a part of its hash.

use xxhash_rust::xxh3::xxh3_64;

/// Keys and their numbers.
#[derive(Default)]
pub struct KeyTable {
    /// Number of the key plus one, and upper half of its hash; 0 is free. A power of two of them.
    slots: Vec<(u32, u32)>,
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
}

/// The hash of a key.
#[inline]
pub fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

impl KeyTable {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.slots.len() * 8 + self.bytes.len() + self.ends.len() * 8
    }

    /// Forgets the keys.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    /// The key with this number.
    pub fn key(&self, n: usize) -> &[u8] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.bytes[start..self.ends[n]]
    }

    /// The number of a key.
    #[inline]
    pub fn find(&self, key: &[u8], hash: u64) -> Option<usize> {
        self.probe(key, hash).ok()
    }

    /// The number of a key, and whether it is new.
    #[inline]
    pub fn insert(&mut self, key: &[u8], hash: u64) -> (usize, bool) {
        if self.slots.len() < (self.len() + 1) * 2 {
            self.grow();
        }
        match self.probe(key, hash) {
            Ok(n) => (n, false),
            Err(slot) => {
                let n = self.ends.len();
                self.slots[slot] = (n as u32 + 1, (hash >> 32) as u32);
                self.bytes.extend_from_slice(key);
                self.ends.push(self.bytes.len());
                (n, true)
            }
        }
    }

    /// The key's number, or the slot where it would be.
    #[inline]
    fn probe(&self, key: &[u8], hash: u64) -> Result<usize, usize> {
        if self.slots.is_empty() {
            return Err(0);
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let (number, part) = self.slots[slot];
            if number == 0 {
                return Err(slot);
            }
            let n = number as usize - 1;
            if part == (hash >> 32) as u32 && self.key(n) == key {
                return Ok(n);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        self.slots.clear();
        self.slots.resize(size, (0, 0));
        for n in 0..self.ends.len() {
            let hash = hash(self.key(n));
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot].0 != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = (n as u32 + 1, (hash >> 32) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_numbers_while_the_table_grows() {
        let mut table = KeyTable::default();
        assert_eq!(table.find(b"x", hash(b"x")), None);
        for round in 0..2 {
            for n in 0..1000u32 {
                let key = n.to_string();
                let key = key.as_bytes();
                assert_eq!(table.insert(key, hash(key)), (n as usize, round == 0));
                assert_eq!(table.key(n as usize), key);
            }
        }
        assert_eq!(table.find(b"", hash(b"")), None);
        assert_eq!(table.insert(b"", hash(b"")), (1000, true));
    }
}
