//! JSON documents: binary form, text, comparison, paths, changes.
//!
//! Reading order: [`JsonRef`] (the binary form, read where it lies), [`tree`] (a document in memory, to
//! build and to change), [`parse()`] and [`print`] (text), [`path`], [`compare()`], [`modify`].
//!
//! ```text
//! null 00 | false 01 | true 02 | int 03 i64 | uint 04 u64 | double 05 f64 | decimal 06 28 bytes
//! date 07 u32 | time 08 i64 | datetime 09 u64 | string 0A u32 bytes | opaque 0B type u8, u32, bytes
//! array 0C u32 all bytes, u32 count, u32 end of each element | elements
//! object 0D u32 all bytes, u32 count, (u32 end of key, u32 end of value) each | key value key value..
//! timestamp 0E u64
//! ```
//! Invariants
//! 1. Numbers are little-endian; ends count from the first byte behind the table. Keys are in MySQL's
//!    order: by length, then bytes; no key is there twice.
//! 2. Every offset is checked when it is followed: what contradicts itself reads as `null`, and never
//!    panics. [`check`] looks at a whole document.

mod compare;
mod key;
pub mod modify;
mod parse;
pub mod path;
mod print;
mod size;
#[cfg(test)]
mod tests;
pub mod tree;

pub use compare::{compare, contains, overlaps};
pub use key::append_key;
pub use parse::{JsonError, parse_tree};
pub use path::{Leg, Path, PathError};
pub use print::{append_pretty, append_quoted, append_text, to_text};
pub use size::storage_size;
pub use tree::JsonValue;

use crate::{Date, DateTime, Decimal, Time};

/// Deepest nesting of arrays and objects (error 3157 beyond).
pub const DEPTH_MAX: usize = 100;

pub(crate) const NULL: u8 = 0;
pub(crate) const FALSE: u8 = 1;
pub(crate) const TRUE: u8 = 2;
pub(crate) const INT: u8 = 3;
pub(crate) const UINT: u8 = 4;
pub(crate) const DOUBLE: u8 = 5;
pub(crate) const DECIMAL: u8 = 6;
pub(crate) const DATE: u8 = 7;
pub(crate) const TIME: u8 = 8;
pub(crate) const DATETIME: u8 = 9;
pub(crate) const STRING: u8 = 10;
pub(crate) const OPAQUE: u8 = 11;
pub(crate) const ARRAY: u8 = 12;
pub(crate) const OBJECT: u8 = 13;
pub(crate) const TIMESTAMP: u8 = 14;

/// Tag, size of all, count: bytes before an array's or object's table.
const HEAD: usize = 9;

/// A document or a part of one, in binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonRef<'a>(&'a [u8]);

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum View<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// A double.
    Double(f64),
    /// A DECIMAL out of SQL.
    Decimal(Decimal),
    /// A DATE out of SQL.
    Date(Date),
    /// A TIME out of SQL, six digits of the second.
    Time(Time),
    /// A DATETIME out of SQL, six digits of the second.
    DateTime(DateTime),
    /// A TIMESTAMP out of SQL, in its session's time zone, six digits of the second.
    Timestamp(DateTime),
    /// A string: utf8mb4.
    String(&'a [u8]),
    /// Bytes out of SQL and the wire's number of their type (252 BLOB, 16 BIT, ..).
    Opaque(u8, &'a [u8]),
    /// An array.
    Array(Items<'a>),
    /// An object.
    Object(Members<'a>),
}

impl<'a> JsonRef<'a> {
    /// The document in these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> JsonRef<'a> {
        JsonRef(bytes)
    }

    /// The binary form: a document of its own, whatever it is a part of.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    fn tag(self) -> u8 {
        self.0.first().copied().unwrap_or(NULL)
    }

    /// What the value is.
    #[must_use]
    pub fn view(self) -> View<'a> {
        self.read().unwrap_or(View::Null)
    }

    fn read(self) -> Option<View<'a>> {
        let rest = self.0.get(1..)?;
        let eight = || rest.first_chunk::<8>().copied();
        Some(match self.tag() {
            FALSE => View::Bool(false),
            TRUE => View::Bool(true),
            INT => View::Int(i64::from_le_bytes(eight()?)),
            UINT => View::UInt(u64::from_le_bytes(eight()?)),
            DOUBLE => View::Double(f64::from_le_bytes(eight()?)),
            DECIMAL => View::Decimal(Decimal::from_bytes(rest.first_chunk()?)?),
            DATE => View::Date(Date::from_packed(u32_at(rest, 0)? as u32)?),
            TIME => View::Time(Time::from_micros(i64::from_le_bytes(eight()?), 6)?),
            DATETIME => View::DateTime(DateTime::from_packed(u64::from_le_bytes(eight()?), 6)?),
            TIMESTAMP => View::Timestamp(DateTime::from_packed(u64::from_le_bytes(eight()?), 6)?),
            STRING => View::String(rest.get(4..4 + u32_at(rest, 0)?)?),
            OPAQUE => View::Opaque(*rest.first()?, rest.get(5..5 + u32_at(rest, 1)?)?),
            ARRAY => View::Array(Items(Table::of(self.0, 1)?)),
            OBJECT => View::Object(Members(Table::of(self.0, 2)?)),
            _ => View::Null,
        })
    }

    /// The string, unless it is no string.
    #[must_use]
    pub fn as_str(self) -> Option<&'a [u8]> {
        match self.view() {
            View::String(s) => Some(s),
            _ => None,
        }
    }

    /// JSON_TYPE's word.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self.view() {
            View::Null => "NULL",
            View::Bool(_) => "BOOLEAN",
            View::Int(_) => "INTEGER",
            View::UInt(_) => "UNSIGNED INTEGER",
            View::Double(_) => "DOUBLE",
            View::Decimal(_) => "DECIMAL",
            View::Date(_) => "DATE",
            View::Time(_) => "TIME",
            View::DateTime(_) => "DATETIME",
            View::Timestamp(_) => "TIMESTAMP",
            View::String(_) => "STRING",
            View::Opaque(16, _) => "BIT",
            View::Opaque(249..=252 | 15 | 253 | 254, _) => "BLOB",
            View::Opaque(..) => "OPAQUE",
            View::Array(_) => "ARRAY",
            View::Object(_) => "OBJECT",
        }
    }

    /// JSON_DEPTH: 1 for scalars and what is empty.
    #[must_use]
    pub fn depth(self) -> usize {
        self.depth_within(DEPTH_MAX + 1)
    }

    fn depth_within(self, left: usize) -> usize {
        let deepest = match self.view() {
            _ if left == 0 => None,
            View::Array(items) => items.iter().map(|v| v.depth_within(left - 1)).max(),
            View::Object(members) => members.iter().map(|(_, v)| v.depth_within(left - 1)).max(),
            _ => None,
        }
        .unwrap_or(0);
        deepest + 1
    }

    /// JSON_LENGTH: 1 for scalars.
    #[must_use]
    pub fn length(self) -> usize {
        match self.view() {
            View::Array(items) => items.len(),
            View::Object(members) => members.len(),
            _ => 1,
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(u32::from_le_bytes(four) as usize)
}

/// The table of ends of an array (one end each) or object (two).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Table<'a> {
    ends: &'a [u8],
    body: &'a [u8],
    per_item: usize,
    count: usize,
}

impl<'a> Table<'a> {
    fn of(bytes: &'a [u8], per_item: usize) -> Option<Table<'a>> {
        let all = bytes.get(..u32_at(bytes, 1)?)?;
        let count = u32_at(bytes, 5)?;
        let table = count.checked_mul(4 * per_item)?;
        let ends = all.get(HEAD..HEAD.checked_add(table)?)?;
        Some(Table { ends, body: &all[HEAD + table..], per_item, count })
    }

    /// The bytes of slot `n` (an element, a key, a member's value); empty when the table is wrong.
    fn slot(&self, n: usize) -> &'a [u8] {
        let end = |n: usize| u32_at(self.ends, 4 * n);
        let begin = if n == 0 { Some(0) } else { end(n - 1) };
        match (begin, end(n)) {
            (Some(begin), Some(end)) => self.body.get(begin..end).unwrap_or(&[]),
            _ => &[],
        }
    }
}

/// The elements of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Items<'a>(Table<'a>);

impl<'a> Items<'a> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.count == 0
    }

    /// The element of this number.
    #[must_use]
    pub fn get(&self, n: usize) -> Option<JsonRef<'a>> {
        (n < self.0.count).then(|| JsonRef(self.0.slot(n)))
    }

    /// All elements in order.
    pub fn iter(self) -> impl Iterator<Item = JsonRef<'a>> {
        (0..self.0.count).map(move |n| JsonRef(self.0.slot(n)))
    }
}

/// The members of an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Members<'a>(Table<'a>);

impl<'a> Members<'a> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.count == 0
    }

    /// All members in the order of their keys.
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], JsonRef<'a>)> {
        (0..self.0.count).map(move |n| (self.key(n), JsonRef(self.0.slot(2 * n + 1))))
    }

    fn key(&self, n: usize) -> &'a [u8] {
        self.0.slot(2 * n)
    }

    /// The member with this key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<JsonRef<'a>> {
        let (mut low, mut high) = (0, self.0.count);
        while low < high {
            let middle = low.midpoint(high);
            match key_order(self.key(middle), key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(JsonRef(self.0.slot(2 * middle + 1))),
            }
        }
        None
    }
}

/// Invariant 1: the order of keys in an object.
pub(crate) fn key_order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Whether the bytes are a whole document in binary form.
#[must_use]
pub fn check(bytes: &[u8]) -> bool {
    check_within(bytes, DEPTH_MAX + 1)
}

fn check_within(bytes: &[u8], left: usize) -> bool {
    let value = JsonRef(bytes);
    if left == 0 || bytes.is_empty() {
        return false;
    }
    match (value.tag(), value.read()) {
        (NULL, _) => bytes.len() == 1,
        (_, Some(View::Array(items))) => items.iter().all(|v| check_within(v.0, left - 1)),
        (_, Some(View::Object(members))) => {
            let all: Vec<_> = members.iter().collect();
            let ordered = all.windows(2).all(|w| key_order(w[0].0, w[1].0).is_lt());
            ordered && all.iter().all(|(_, v)| check_within(v.0, left - 1))
        }
        (_, Some(View::String(s))) => std::str::from_utf8(s).is_ok(),
        (_, Some(View::Null)) | (_, None) => false,
        (_, Some(_)) => true,
    }
}

/// Bytes of a key in an object that is stored.
pub const KEY_BYTES_MAX: usize = 65_535;

/// Whether an object in the document has a key above [`KEY_BYTES_MAX`].
#[must_use]
pub fn has_long_key(value: JsonRef<'_>) -> bool {
    if value.0.len() <= KEY_BYTES_MAX {
        return false;
    }
    match value.view() {
        View::Array(items) => items.iter().any(has_long_key),
        View::Object(members) => {
            members.iter().any(|(key, v)| key.len() > KEY_BYTES_MAX || has_long_key(v))
        }
        _ => false,
    }
}

/// Appends the document `null`.
pub fn append_null(out: &mut Vec<u8>) {
    out.push(NULL);
}

/// Appends the binary form of a text in utf8mb4.
///
/// # Errors
/// It is no JSON text, or nested too deeply.
pub fn parse(text: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError> {
    parse_tree(text)?.encode(out);
    Ok(())
}
