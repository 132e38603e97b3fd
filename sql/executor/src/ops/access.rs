//! Access paths with their values: bounds become encoded keys, overlapping ranges one.
//!
//! 1. Ranges come out sorted and disjoint: no row is found twice. They may hold too many rows, never too
//!    few: the filter decides. 2. A value that the column cannot hold exactly widens its bound; one that has
//!    no key at all (a number for a text column) opens it. 3. A part that keeps a prefix only widens: where a
//!    character has one weight both bounds are cut and become inclusive; elsewhere (0900_ai_ci: 'ss' = 'ß')
//!    a row at or above `v` has a key above `v` or one of `v`'s weights cut off somewhere. 4. Moments are kept
//!    in UTC and compared as local times of the session's zone: a bound is moved to UTC. A local time
//!    that comes twice, when clocks go back, has no key: rows of both hours are equal to it.

use super::Run;
use super::cells::convert_at;
use crate::keyrange::{merge, whole};
use crate::{Environment, SqlError};
use engine::Table;
use expr::{Expr, Frame, damaged};
use planner::query_plan::{KeyRange, KeyValue, LastPart};
use std::cell::Cell;
use std::ops::Bound;
use value::collation::Cut;
use value::{ColumnType, Date, Datum, KeyPart, KeySpec, Kind, RowLayout};

pub use crate::keyrange::KeyRange as Encoded;

/// Room for the key of a part: that of a number.
const KEY_BYTES: usize = 16;
/// Cut keys that are looked up one by one; beyond them a range is read.
const CUT_KEYS_MAX: usize = 64;

/// What became of a value as a part of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Nothing is equal to it.
    Never,
    /// It has no key.
    Open,
    /// Its key is that of a value beside it.
    Near,
    Exact,
}

/// What became of the values of the first parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// No row has them.
    Nothing,
    /// The key is that of fewer parts than asked for.
    Shorter,
    /// All of them are in the key.
    Whole,
}

/// Encodes keys of one index of a table.
pub struct Encoder<'t> {
    table: &'t Table,
    spec: &'t KeySpec,
    /// Some bound was moved or left out: its range holds rows that it need not.
    widened: Cell<bool>,
}

impl<'t> Encoder<'t> {
    /// Of this index.
    ///
    /// # Errors
    /// It is not there, or has no key.
    pub fn new(table: &'t Table, index: usize) -> Result<Encoder<'t>, SqlError> {
        let missing = || super::internal("plan names an index that is not there");
        let spec = table.key(index).ok_or_else(missing)?;
        Ok(Encoder { table, spec, widened: Cell::new(false) })
    }

    /// Whether every bound that was encoded is the very value that was asked for.
    pub fn is_exact(&self) -> bool {
        !self.widened.get()
    }

    /// The column of the first part, if that keeps whole values, the smallest first.
    pub fn first_column(&self) -> Option<usize> {
        let (part, _) = self.column(0)?;
        (part.prefix_chars.is_none() && !part.descending).then_some(part.column)
    }

    fn column(&self, part: usize) -> Option<(&'t KeyPart, &'t ColumnType)> {
        let own = &self.spec.parts;
        // Entries end with the clustered key.
        let behind = || {
            let clustered = self.table.key(0).filter(|key| !std::ptr::eq(*key, self.spec))?;
            clustered.parts.get(part - own.len())
        };
        let part = own.get(part).or_else(behind)?;
        self.table.spec().columns.get(part.column).map(|ty| (part, ty))
    }

    /// Appends the key of values for the first parts.
    ///
    /// # Errors
    /// Those of evaluating them.
    pub fn prefix(
        &self,
        values: &[KeyValue],
        run: &mut Run<'_>,
        frame: &Frame,
        key: &mut Vec<u8>,
    ) -> Result<Prefix, SqlError> {
        self.prefix_from(0, values, run, frame, key)
    }

    /// Appends the key of a row's values for the first parts.
    ///
    /// # Errors
    /// The row contradicts its table.
    pub fn prefix_of_row(
        &self,
        parts: usize,
        (layout, row): (&RowLayout, &[u8]),
        key: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        for n in 0..parts {
            let missing = || super::internal("plan names a part that is not there");
            let (spec, ty) = self.column(n).ok_or_else(missing)?;
            let value = layout.decode(row, spec.column).map_err(damaged)?;
            if spec.append(ty, &value, key).is_err() {
                return Err(super::internal("a row's value has no key"));
            }
        }
        Ok(())
    }

    /// As [`Self::prefix`], for parts from this one on.
    fn prefix_from(
        &self,
        first: usize,
        values: &[KeyValue],
        run: &mut Run<'_>,
        frame: &Frame,
        key: &mut Vec<u8>,
    ) -> Result<Prefix, SqlError> {
        for (n, part) in values.iter().enumerate().map(|(n, part)| (first + n, part)) {
            // Equal texts that were cut need not have equal keys.
            let cut = |(spec, ty): (&KeyPart, &ColumnType)| {
                spec.prefix_chars.is_some() && ty.collation.cut() != Cut::Keeps
            };
            if self.column(n).is_some_and(cut) {
                return Ok(Prefix::Shorter);
            }
            let value = run.eval(&part.value, frame)?;
            let value = value.get();
            if value.is_null() && part.null_safe {
                if !self.column(n).is_some_and(|(_, ty)| ty.nullable) {
                    return Ok(Prefix::Nothing);
                }
                self.put(n, Datum::Null, false, key);
                continue;
            }
            match self.append(n, &value, &*run.env, false, key)? {
                Part::Never => return Ok(Prefix::Nothing),
                Part::Near if is_number(&value) => return Ok(Prefix::Nothing),
                Part::Near | Part::Open => return Ok(Prefix::Shorter),
                Part::Exact => {}
            }
        }
        Ok(Prefix::Whole)
    }

    /// A part; `uncut`: as if it kept all of a value.
    fn part(&self, part: usize, uncut: bool) -> Option<(KeyPart, &'t ColumnType)> {
        let (spec, ty) = self.column(part)?;
        let prefix_chars = spec.prefix_chars.filter(|_| !uncut);
        Some((KeyPart { prefix_chars, ..*spec }, ty))
    }

    /// Appends the key of a value of the column's kind; `false`: it has none.
    fn put(&self, part: usize, value: Datum<'_>, uncut: bool, key: &mut Vec<u8>) -> bool {
        let Some((spec, ty)) = self.part(part, uncut) else { return false };
        let start = key.len();
        spec.append(ty, &value, key).map_err(|_| key.truncate(start)).is_ok()
    }

    /// Appends one part; what is [`Part::Open`] appends nothing. `uncut`: a part that keeps a prefix is
    /// written whole.
    fn append(
        &self,
        part: usize,
        value: &Datum<'_>,
        env: &dyn Environment,
        uncut: bool,
        key: &mut Vec<u8>,
    ) -> Result<Part, SqlError> {
        let Some((spec, ty)) = self.part(part, uncut) else { return Ok(Part::Open) };
        if value.is_null() {
            return Ok(Part::Never);
        }
        if spec.append_exact(ty, value, key) {
            return Ok(Part::Exact);
        }
        if ty.kind.is_string() || ty.kind == Kind::Json {
            return Ok(Part::Open);
        }
        let (zone, mut scratch) = (env.convert_mode().time_zone, Vec::new());
        let Ok(converted) = convert_at(*value, ty, zone, &mut scratch) else {
            return Ok(Part::Open);
        };
        // A moment is compared as the local time that it is in the session's zone.
        let shown = match converted {
            Datum::Timestamp(micros, fsp) => match zone.to_local(micros, fsp) {
                Some(local) if !zone.is_repeated(local) => Datum::DateTime(local),
                _ => return Ok(Part::Open),
            },
            other => other,
        };
        let same = value::equals(&shown, value, ty.collation) == Some(true);
        if !same && !is_near(&converted) || !self.put(part, converted, uncut, key) {
            return Ok(Part::Open);
        }
        Ok(if same { Part::Exact } else { Part::Near })
    }

    /// The encoded ranges, in the memory of `found`; `touching` ones become one.
    ///
    /// # Errors
    /// Those of evaluating their values.
    pub fn ranges(
        &self,
        (ranges, touching): (&[KeyRange], bool),
        mut found: Vec<Encoded>,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<Vec<Encoded>, SqlError> {
        found.clear();
        for range in ranges {
            self.range_behind((0, &[]), range, run, frame, &mut found)?;
        }
        Ok(merge(found, touching))
    }

    /// The encoded ranges of those keys that begin with `before`, which is of so many parts, and have what a range asks
    /// of the parts behind; disjoint, in order.
    ///
    /// # Errors
    /// Those of evaluating its values.
    pub fn ranges_behind(
        &self,
        before: (usize, &[u8]),
        range: &KeyRange,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<Vec<Encoded>, SqlError> {
        let mut found = Vec::new();
        self.range_behind(before, range, run, frame, &mut found)?;
        Ok(merge(found, true))
    }

    fn range_behind(
        &self,
        (parts, before): (usize, &[u8]),
        range: &KeyRange,
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut Vec<Encoded>,
    ) -> Result<(), SqlError> {
        let mut key = before.to_vec();
        match self.prefix_from(parts, &range.equal, run, frame, &mut key)? {
            Prefix::Nothing => Ok(()),
            Prefix::Shorter => {
                found.push(whole(&key));
                Ok(())
            }
            Prefix::Whole => {
                let part = parts + range.equal.len();
                self.last(part, &range.last, &key, run, frame, found)
            }
        }
    }

    fn last(
        &self,
        part: usize,
        asked: &LastPart,
        before: &[u8],
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut Vec<Encoded>,
    ) -> Result<(), SqlError> {
        if self.column(part).is_some_and(|(spec, _)| spec.descending) {
            return self.last_descending(part, asked, before, run, frame, found);
        }
        let (first, last) = self.not_null(part, before);
        match asked {
            LastPart::Any => found.push(whole(before)),
            LastPart::NotNull => found.push((first, last)),
            LastPart::Between { low, high } => {
                let cut = self.column(part).is_some_and(|(spec, _)| spec.prefix_chars.is_some());
                let low = self.bound(part, low.as_ref(), before, run, frame)?;
                let high = self.bound(part, high.as_ref(), before, run, frame)?;
                let (Some(low), Some(high)) = (low, high) else { return Ok(()) };
                if cut {
                    self.between_cut(part, before, low, high, found);
                    return Ok(());
                }
                found.push((low.map_or(first, low_end), high.map_or(last, high_end)));
            }
            LastPart::Like { pattern, escape } => {
                let value = run.eval(pattern, frame)?;
                if value.get().is_null() {
                    return Ok(());
                }
                found.push(self.like(part, &value.get(), *escape, before).unwrap_or((first, last)));
            }
        }
        Ok(())
    }

    /// As [`Self::last`] of a part whose larger values lie first, and NULL last.
    fn last_descending(
        &self,
        part: usize,
        asked: &LastPart,
        before: &[u8],
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut Vec<Encoded>,
    ) -> Result<(), SqlError> {
        let cut = self.column(part).is_some_and(|(spec, _)| spec.prefix_chars.is_some());
        let (first, last) = whole(before);
        let LastPart::Between { low, high } = asked else {
            found.push((first, last));
            return Ok(());
        };
        let low = self.bound(part, low.as_ref(), before, run, frame)?;
        let high = self.bound(part, high.as_ref(), before, run, frame)?;
        let (Some(low), Some(high)) = (low, high) else { return Ok(()) };
        match cut {
            true => found.push((first, last)),
            false => found.push((high.map_or(first, low_end), low.map_or(last, high_end))),
        }
        Ok(())
    }

    /// Every key that begins with `before` and whose next part is not NULL.
    fn not_null(&self, part: usize, before: &[u8]) -> Encoded {
        if !self.column(part).is_some_and(|(_, ty)| ty.nullable) {
            return whole(before);
        }
        let mut key = before.to_vec();
        key.push(1);
        (Bound::Included(key), whole(before).1)
    }

    /// `None`: the range is empty. `Some(None)`: this side is open.
    #[allow(clippy::option_option, clippy::type_complexity)]
    fn bound(
        &self,
        part: usize,
        bound: Option<&(Expr, bool)>,
        before: &[u8],
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<Option<Option<(Vec<u8>, bool)>>, SqlError> {
        let Some((value, inclusive)) = bound else { return Ok(Some(None)) };
        let value = run.eval(value, frame)?;
        let mut key = Vec::with_capacity(before.len() + KEY_BYTES);
        key.extend_from_slice(before);
        let many = self.column(part).is_some_and(|(_, ty)| ty.collation.cut() != Cut::Keeps);
        let appended = self.append(part, &value.get(), &*run.env, many, &mut key)?;
        self.widened.set(self.widened.get() || matches!(appended, Part::Open | Part::Near));
        Ok(match appended {
            Part::Never => None,
            Part::Open => Some(None),
            Part::Near => Some(Some((key, true))),
            Part::Exact => Some(Some((key, *inclusive))),
        })
    }

    fn between_cut(
        &self,
        part: usize,
        before: &[u8],
        low: Option<(Vec<u8>, bool)>,
        high: Option<(Vec<u8>, bool)>,
        found: &mut Vec<Encoded>,
    ) {
        let Some((_, ty)) = self.column(part) else { return };
        let (first, last) = self.not_null(part, before);
        if ty.collation.cut() == Cut::Anything {
            found.push((first, last));
            return;
        }
        let high = high.map_or(last, |(key, _)| high_end((key, true)));
        let Some((mut low, _)) = low else {
            found.push((first, high));
            return;
        };
        if ty.collation.cut() == Cut::FewerWeights {
            let start = before.len() + usize::from(ty.nullable);
            let mut cut: Vec<_> = value::key::fewer_weights(&low, start, CUT_KEYS_MAX).collect();
            if cut.len() == CUT_KEYS_MAX {
                // The longest of them is where the range begins.
                low = cut.pop().unwrap_or(low);
            }
            found.extend(cut.iter().map(|key| whole(key)));
        }
        found.push((low_end((low, true)), high));
    }

    /// The keys of text that begins like the pattern; `None`: all of them.
    fn like(&self, part: usize, pattern: &Datum<'_>, escape: u8, before: &[u8]) -> Option<Encoded> {
        let (spec, ty) = self.column(part)?;
        let pattern = pattern.as_bytes()?;
        // Beyond one weight per character a literal beginning is no beginning of keys.
        if !ty.kind.is_string() {
            return None;
        }
        let mut literal = Vec::new();
        let mut rest = pattern.iter();
        while let Some(&byte) = rest.next() {
            match byte {
                b'%' | b'_' => break,
                byte if byte == escape && escape != 0 => match rest.next() {
                    Some(&next) => literal.push(next),
                    None => literal.push(byte),
                },
                byte => literal.push(byte),
            }
        }
        let literal = match spec.prefix_chars {
            Some(chars) => ty.collation.prefix(&literal, chars as usize),
            None => &literal,
        };
        if literal.is_empty() || ty.collation.cut() != Cut::Keeps && !literal.is_ascii() {
            return None;
        }
        // Every text that begins so is at or above it, and below what follows all of them.
        let mut low = before.to_vec();
        if ty.nullable {
            low.push(1);
        }
        let start = low.len();
        ty.collation.sort_key(literal, &mut low);
        if !self.is_beginning(ty, literal, &low[start..]) {
            return None;
        }
        let mut high = low.clone();
        let high = match value::key::successor(&mut high) {
            true => Bound::Excluded(high),
            false => Bound::Unbounded,
        };
        Some((Bound::Included(low), high))
    }

    /// Whether the keys of all longer texts begin with `key`.
    fn is_beginning(&self, ty: &ColumnType, literal: &[u8], key: &[u8]) -> bool {
        let longer = |tail: &[u8]| {
            let mut out = Vec::new();
            ty.collation.key_part(&[literal, tail].concat(), &mut out);
            out.starts_with(key)
        };
        [&b""[..], b" ", b"\t", b"a", "\u{fffd}".as_bytes()].iter().all(|tail| longer(tail))
    }
}

fn is_number(value: &Datum<'_>) -> bool {
    matches!(value, Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) | Datum::Decimal { .. })
}

/// Whether what a value was converted to lies beside it: years have numbers of their own, and what is no date or time
/// is zero.
fn is_near(converted: &Datum<'_>) -> bool {
    match converted {
        Datum::Year(_) | Datum::Timestamp(0, _) => false,
        Datum::Date(v) => *v != Date::ZERO,
        Datum::DateTime(v) => !v.is_zero(),
        Datum::Time(v) => v.micros() != 0,
        _ => true,
    }
}

fn low_end((key, inclusive): (Vec<u8>, bool)) -> Bound<Vec<u8>> {
    crate::keyrange::Limit { key, inclusive }.into_low()
}

fn high_end((key, inclusive): (Vec<u8>, bool)) -> Bound<Vec<u8>> {
    crate::keyrange::Limit { key, inclusive }.into_high()
}
