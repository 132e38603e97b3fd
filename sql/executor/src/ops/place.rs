//! Window functions that number rows: what a row and those before it tell.
//!
//! 1. Rows come in the order of their keys; a key begins with that of the row's partition. 2. Peers are rows with equal keys.

use planner::query_plan::WindowFunction as W;
use value::Datum;

/// Whether a function's value is known before the rows behind have come.
pub fn is_told(function: &W) -> bool {
    matches!(function, W::RowNumber | W::Rank | W::DenseRank)
}

/// Whether two keys are equal. The bytes of empty ones lie nowhere: to compare them there takes the processor a hundred cycles.
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Where a row is in its partition, told by it and those before it.
#[derive(Default)]
pub struct Place {
    /// The row's key, of which so many bytes are that of the partition; none before the first row.
    key: Vec<u8>,
    partition_bytes: usize,
    /// Rows of the partition up to it, those before its first peer, and groups of peers before its own.
    at: usize,
    first_peer: usize,
    group: usize,
}

impl Place {
    /// Goes on to a row with that key, which takes the place of the last one.
    pub fn go_to(&mut self, key: &mut Vec<u8>, partition_bytes: usize) {
        let (partition, order) = key.split_at(partition_bytes.min(key.len()));
        match self.key.split_at_checked(self.partition_bytes) {
            Some((last, last_order)) if self.at > 0 && is_same(last, partition) => {
                if !is_same(last_order, order) {
                    self.group += 1;
                    self.first_peer = self.at;
                }
            }
            _ => (self.at, self.first_peer, self.group) = (0, 0, 0),
        }
        self.at += 1;
        self.partition_bytes = partition_bytes;
        std::mem::swap(&mut self.key, key);
    }

    /// The value of a function that needs no more than this; NULL for others.
    pub fn value(&self, function: &W) -> Datum<'static> {
        Datum::UInt(match function {
            W::RowNumber => self.at as u64,
            W::Rank => self.first_peer as u64 + 1,
            W::DenseRank => self.group as u64 + 1,
            _ => return Datum::Null,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_by_partition_and_peers() {
        let mut place = Place::default();
        // Partitions are told by the first byte, also where keys are equal behind it.
        let keys = ["aa", "ab", "ab", "ac", "bc", "bc", "b", "c"];
        let numbers = keys.map(|key| {
            place.go_to(&mut key.as_bytes().to_vec(), 1);
            [W::RowNumber, W::Rank, W::DenseRank].map(|f| place.value(&f).as_u64().unwrap())
        });
        let wanted =
            [[1, 1, 1], [2, 2, 2], [3, 2, 2], [4, 4, 3], [1, 1, 1], [2, 1, 1], [3, 3, 2], [1; 3]];
        assert_eq!(numbers, wanted);
    }

    #[test]
    fn without_keys_all_rows_are_peers() {
        let mut place = Place::default();
        let numbers = [0; 3].map(|_| {
            place.go_to(&mut Vec::new(), 0);
            [W::RowNumber, W::Rank, W::DenseRank].map(|f| place.value(&f).as_u64().unwrap())
        });
        assert_eq!(numbers, [[1, 1, 1], [2, 1, 1], [3, 1, 1]]);
        assert!(!is_told(&W::PercentRank) && place.value(&W::PercentRank).is_null());
    }
}
