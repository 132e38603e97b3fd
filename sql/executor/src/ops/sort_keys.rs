//! Keys of sorts over stored rows: made as far as they are needed.
//!
//! 1. The start of a key is what the whole key begins with; two keys are in the order of their starts, unless one start
//! begins with the other. Only then the whole keys are made, each of them once. 2. A whole key needs nothing but the packed row.

use super::keys::Rule;
use super::pack::Packer;
use super::stored::stored_column;
use crate::SqlError;
use expr::damaged;
use planner::plan::SortKey;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use value::RowLayout;

/// A key that is a column as it is stored.
#[derive(Debug)]
struct StoredKey {
    column: usize,
    rule: Rule,
    descending: bool,
}

/// The keys of a sort, all of them stored columns of one leaf.
#[derive(Debug)]
pub struct StoredKeys {
    keys: Vec<StoredKey>,
    /// How rows come.
    full: Arc<RowLayout>,
    /// How they are packed.
    packed: Arc<RowLayout>,
}

impl StoredKeys {
    /// Of these keys over the rows of `leaf`; `None`: there are others among them.
    pub fn new(
        keys: &[SortKey],
        leaf: u16,
        full: &Arc<RowLayout>,
        packed: &Arc<RowLayout>,
    ) -> Option<StoredKeys> {
        let key = |key: &SortKey| {
            let column = stored_column(&key.value.expr, leaf, full)?;
            let (rule, descending) = (Rule::of(&key.value.ty), key.descending);
            Some(StoredKey { column, rule, descending })
        };
        let keys = keys.iter().map(key).collect::<Option<_>>()?;
        Some(StoredKeys { keys, full: Arc::clone(full), packed: Arc::clone(packed) })
    }

    /// Appends the start of the key of a row that comes; whether it is less than all of it.
    ///
    /// # Errors
    /// The row is damaged.
    #[inline]
    pub fn append_start(&self, row: &[u8], out: &mut Vec<u8>) -> Result<bool, SqlError> {
        for key in &self.keys {
            if let (Rule::Text(collation), Some(text)) = (key.rule, self.full.text(row, key.column))
                && Rule::append_start(collation, text, key.descending, out)
            {
                return Ok(true);
            }
            key.append(row, &self.full, out)?;
        }
        Ok(false)
    }

    /// Appends the key of a row that comes.
    ///
    /// # Errors
    /// The row is damaged.
    pub fn append(&self, row: &[u8], out: &mut Vec<u8>) -> Result<(), SqlError> {
        self.keys.iter().try_for_each(|key| key.append(row, &self.full, out))
    }

    /// Appends the key of a packed row.
    ///
    /// # Errors
    /// The row is damaged.
    pub fn append_packed(&self, packed: &[u8], out: &mut Vec<u8>) -> Result<(), SqlError> {
        let row = Packer::stored_row(packed)?;
        self.keys.iter().try_for_each(|key| key.append(row, &self.packed, out))
    }
}

impl StoredKey {
    #[inline]
    fn append(&self, row: &[u8], layout: &RowLayout, out: &mut Vec<u8>) -> Result<(), SqlError> {
        let value = layout.decode(row, self.column).map_err(damaged)?;
        self.rule.append(&value, self.descending, out);
        Ok(())
    }
}

/// Whole keys of rows of which only the starts were kept.
#[derive(Debug, Default)]
pub struct WholeKeys {
    bytes: Vec<u8>,
    /// Where the key of each row lies, by the row's number; empty ranges are of rows that have none here.
    places: Vec<Range<usize>>,
    /// A row could not be read.
    failed: Option<SqlError>,
}

impl WholeKeys {
    /// Where the whole key of a row lies, which `make` appends when it is asked for first.
    fn place(
        &mut self,
        row: usize,
        make: impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Range<usize> {
        if self.places.len() <= row {
            self.places.resize(row + 1, 0..0);
        }
        if self.places[row].is_empty() {
            let start = self.bytes.len();
            if let Err(error) = make(&mut self.bytes) {
                self.failed.get_or_insert(error);
            }
            self.places[row] = start..self.bytes.len();
        }
        self.places[row].clone()
    }

    /// The whole key of a row, which `make` appends when it is asked for first.
    pub fn key(
        &mut self,
        row: usize,
        make: impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>,
    ) -> &[u8] {
        let place = self.place(row, make);
        &self.bytes[place]
    }

    /// The order of two rows' whole keys.
    pub fn compare(
        &mut self,
        a: (usize, impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>),
        b: (usize, impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>),
    ) -> Ordering {
        let (a, b) = (self.place(a.0, a.1), self.place(b.0, b.1));
        self.bytes[a].cmp(&self.bytes[b])
    }

    /// Memory they take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<Range<usize>>()
    }

    /// Forgets the keys: the rows get other numbers.
    pub fn clear(&mut self) {
        self.places.clear();
        self.bytes.clear();
    }

    /// Whether all rows could be read.
    ///
    /// # Errors
    /// What the first one failed with.
    pub fn check(&mut self) -> Result<(), SqlError> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_key_is_made_once() {
        let mut keys = WholeKeys::default();
        let made = std::cell::Cell::new(0);
        let make = |row: u8| {
            let made = &made;
            let make = move |out: &mut Vec<u8>| {
                made.set(made.get() + 1);
                out.extend_from_slice(&[7, row % 3]);
                Ok(())
            };
            (usize::from(row), make)
        };
        assert_eq!(keys.compare(make(4), make(5)), Ordering::Less);
        assert_eq!(keys.compare(make(5), make(1)), Ordering::Greater);
        assert_eq!(keys.compare(make(1), make(4)), Ordering::Equal);
        assert_eq!((keys.key(5, |_| unreachable!()), made.get()), (&[7, 2][..], 3));
        keys.clear();
        let damaged = keys.key(5, |_| Err(SqlError::Storage(base::Error::Internal("damage"))));
        assert_eq!(damaged, []);
        assert!(keys.check().is_err() && keys.check().is_ok());
    }
}
