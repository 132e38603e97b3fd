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
use crate::keyrange::{Key, KeyRanges, whole};
use crate::{Environment, ExecError, SqlError};
use engine::Table;
use expr::{Expr, Frame, damaged};
use planner::query_plan::{KeyRange, KeyValue, LastPart};
use std::cell::Cell;
use std::ops::Bound;
use value::collation::Cut;
use value::{ColumnType, Date, Datum, KeyPart, KeySpec, Kind, RowLayout};

/// Cut keys that are looked up one by one; beyond them a range is read.
const CUT_KEYS_MAX: usize = 64;

/// A part of a key, and the column that it keeps.
type Column<'t> = (&'t KeyPart, &'t ColumnType);

/// A bound as it is asked for: its value, and whether that belongs to the range.
type BoundExpr<'e> = Option<&'e (Expr, bool)>;

/// The ends of a range that is being encoded.
type Encoded = (Bound<Key>, Bound<Key>);

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

    #[inline]
    fn column(&self, part: usize) -> Option<Column<'t>> {
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
            let Some(column) = self.column(n) else { return Ok(self.shorter()) };
            let (spec, ty) = column;
            // Equal texts that were cut need not have equal keys.
            if spec.prefix_chars.is_some() && ty.collation.cut() != Cut::Keeps {
                return Ok(self.shorter());
            }
            let prefix = match run.parameter(&part.value) {
                Some(value) => append_equal(column, (&value, part.null_safe), &*run.env, key),
                None => {
                    let value = run.eval(&part.value, frame)?;
                    append_equal(column, (&value.get(), part.null_safe), &*run.env, key)
                }
            };
            match prefix {
                Prefix::Whole => {}
                Prefix::Shorter => return Ok(self.shorter()),
                Prefix::Nothing => return Ok(Prefix::Nothing),
            }
        }
        Ok(Prefix::Whole)
    }

    fn shorter(&self) -> Prefix {
        self.widened.set(true);
        Prefix::Shorter
    }

    /// Encodes ranges; `touching` ones become one.
    ///
    /// # Errors
    /// Those of evaluating their values; 1114 for keys of more than 4 GB.
    pub fn ranges(
        &self,
        (ranges, touching): (&[KeyRange], bool),
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut KeyRanges,
    ) -> Result<(), SqlError> {
        found.clear();
        // Of one range, as most have, it does not pay to ask.
        let first = if ranges.len() > 1 { self.column(0) } else { None };
        let whole_column = first.filter(|(spec, _)| spec.prefix_chars.is_none());
        for range in ranges {
            let is_done = whole_column.is_some_and(|column| point(column, range, run, found));
            if !is_done {
                self.range_behind((0, &[]), range, run, frame, found)?;
            }
        }
        settle(touching, found)
    }

    /// Encodes the ranges of those keys that begin with `before`, which is of so many parts, and have what a range asks
    /// of the parts behind; disjoint, in order.
    ///
    /// # Errors
    /// Those of evaluating its values; 1114 for keys of more than 4 GB.
    pub fn ranges_behind(
        &self,
        before: (usize, &[u8]),
        range: &KeyRange,
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut KeyRanges,
    ) -> Result<(), SqlError> {
        found.clear();
        self.range_behind(before, range, run, frame, found)?;
        settle(true, found)
    }

    fn range_behind(
        &self,
        (parts, before): (usize, &[u8]),
        range: &KeyRange,
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut KeyRanges,
    ) -> Result<(), SqlError> {
        let start = found.bytes().len();
        if !before.is_empty() {
            found.add(before);
        }
        let prefix = match range.equal.is_empty() {
            true => Prefix::Whole,
            false => self.prefix_from(parts, &range.equal, run, frame, found.bytes())?,
        };
        let key = found.key_from(start);
        match prefix {
            Prefix::Nothing => {}
            Prefix::Shorter => found.push_whole(key),
            Prefix::Whole => {
                self.last((parts + range.equal.len(), key), &range.last, run, frame, found)?;
            }
        }
        Ok(())
    }

    fn last(
        &self,
        (part, before): (usize, Key),
        asked: &LastPart,
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut KeyRanges,
    ) -> Result<(), SqlError> {
        let column = match asked {
            LastPart::Any => None,
            _ => self.column(part),
        };
        let Some(column) = column else {
            found.push_whole(before);
            return Ok(());
        };
        let (spec, ty) = column;
        if spec.descending {
            return self.last_descending(column, asked, before, run, frame, found);
        }
        match asked {
            LastPart::Any => found.push_whole(before),
            LastPart::NotNull => {
                let range = not_null(ty, before, found);
                found.push(range);
            }
            LastPart::Between { low, high } => {
                let ends = (low.as_ref(), high.as_ref());
                let Some((low, high)) = self.bounds(column, ends, before, run, frame, found)?
                else {
                    return Ok(());
                };
                if spec.prefix_chars.is_some() {
                    between_cut(ty, before, (low, high), found);
                    return Ok(());
                }
                let low = match low {
                    Bound::Unbounded => not_null(ty, before, found).0,
                    low => low,
                };
                found.push((low, or_end(high, whole(before).1)));
            }
            LastPart::Like { pattern, escape } => {
                let value = run.eval(pattern, frame)?;
                if value.get().is_null() {
                    return Ok(());
                }
                let like = like(column, &value.get(), *escape, before, found);
                let range = like.unwrap_or_else(|| not_null(ty, before, found));
                found.push(range);
            }
        }
        Ok(())
    }

    /// As [`Self::last`] of a part whose larger values lie first, and NULL last.
    fn last_descending(
        &self,
        column: Column<'_>,
        asked: &LastPart,
        before: Key,
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut KeyRanges,
    ) -> Result<(), SqlError> {
        let (first, last) = whole(before);
        let LastPart::Between { low, high } = asked else {
            found.push((first, last));
            return Ok(());
        };
        let ends = (low.as_ref(), high.as_ref());
        let Some((low, high)) = self.bounds(column, ends, before, run, frame, found)? else {
            return Ok(());
        };
        match column.0.prefix_chars {
            Some(_) => found.push((first, last)),
            None => found.push((or_end(high, first), or_end(low, last))),
        }
        Ok(())
    }

    /// The ends of a range, unbounded where a side is open. `None`: the range is empty.
    #[inline]
    fn bounds(
        &self,
        column: Column<'_>,
        (low, high): (BoundExpr<'_>, BoundExpr<'_>),
        before: Key,
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut KeyRanges,
    ) -> Result<Option<Encoded>, SqlError> {
        let (low, is_low_never) = self.bound(column, low, before, run, frame, found)?;
        let (high, is_high_never) = self.bound(column, high, before, run, frame, found)?;
        Ok((!is_low_never && !is_high_never).then_some((low, high)))
    }

    /// One of them, and whether nothing is equal to it.
    #[inline(always)]
    fn bound(
        &self,
        column: Column<'_>,
        bound: BoundExpr<'_>,
        before: Key,
        run: &mut Run<'_>,
        frame: &Frame,
        found: &mut KeyRanges,
    ) -> Result<(Bound<Key>, bool), SqlError> {
        let Some((value, inclusive)) = bound else { return Ok((Bound::Unbounded, false)) };
        let start = found.begin(before);
        let part = match run.parameter(value) {
            Some(value) => append_bound(column, &value, &*run.env, found.bytes()),
            None => {
                let value = run.eval(value, frame)?;
                append_computed_bound(column, &value.get(), &*run.env, found.bytes())
            }
        };
        let key = found.key_from(start);
        if part == Part::Exact {
            let end = if *inclusive { Bound::Included(key) } else { Bound::Excluded(key) };
            return Ok((end, false));
        }
        if part == Part::Never {
            return Ok((Bound::Unbounded, true));
        }
        self.widened.set(true);
        let end = if part == Part::Near { Bound::Included(key) } else { Bound::Unbounded };
        Ok((end, false))
    }
}

/// Sorts the ranges that were encoded.
fn settle(touching: bool, found: &mut KeyRanges) -> Result<(), SqlError> {
    if found.has_overflowed() {
        return Err(ExecError::TableFull("<temporary>").into());
    }
    found.merge(touching);
    Ok(())
}

/// Adds the range of what equals a parameter in the first part, if that is all that is asked, and the value is of the column's kind: what
/// lists are made of. Else nothing is done.
#[inline(always)]
fn point((spec, ty): Column<'_>, range: &KeyRange, run: &Run<'_>, found: &mut KeyRanges) -> bool {
    let ([only], LastPart::Any) = (&*range.equal, &range.last) else { return false };
    let Some(value) = run.parameter(&only.value) else { return false };
    let start = found.bytes().len();
    let is_exact = spec.append_exact(ty, &value, found.bytes());
    if is_exact {
        let key = found.key_from(start);
        found.push_whole(key);
    }
    is_exact
}

/// Appends the part of a bound: a part that keeps a prefix is written whole where a cut text's key is no beginning of the text's.
#[inline(always)]
fn append_bound(
    column: Column<'_>,
    value: &Datum<'_>,
    env: &dyn Environment,
    key: &mut Vec<u8>,
) -> Part {
    let (spec, ty) = column;
    if spec.prefix_chars.is_none() || ty.collation.cut() == Cut::Keeps {
        return append(column, value, env, key);
    }
    append((&KeyPart { prefix_chars: None, ..*spec }, ty), value, env, key)
}

/// As [`append_bound`], out of line: most bounds are parameters.
#[inline(never)]
fn append_computed_bound(
    column: Column<'_>,
    value: &Datum<'_>,
    env: &dyn Environment,
    key: &mut Vec<u8>,
) -> Part {
    append_bound(column, value, env, key)
}

/// Appends the key of a value of the column's kind; `false`: it has none.
fn put((spec, ty): Column<'_>, value: Datum<'_>, key: &mut Vec<u8>) -> bool {
    let start = key.len();
    spec.append(ty, &value, key).map_err(|_| key.truncate(start)).is_ok()
}

/// Appends the part that equals a value, with `null_safe` also NULL.
#[inline]
fn append_equal(
    column: Column<'_>,
    (value, null_safe): (&Datum<'_>, bool),
    env: &dyn Environment,
    key: &mut Vec<u8>,
) -> Prefix {
    if value.is_null() && null_safe {
        if !column.1.nullable {
            return Prefix::Nothing;
        }
        put(column, Datum::Null, key);
        return Prefix::Whole;
    }
    match append(column, value, env, key) {
        Part::Never => Prefix::Nothing,
        Part::Near if is_number(value) => Prefix::Nothing,
        Part::Near | Part::Open => Prefix::Shorter,
        Part::Exact => Prefix::Whole,
    }
}

/// Appends one part; what is [`Part::Open`] appends nothing.
#[inline(always)]
fn append(column: Column<'_>, value: &Datum<'_>, env: &dyn Environment, key: &mut Vec<u8>) -> Part {
    let (spec, ty) = column;
    if value.is_null() {
        return Part::Never;
    }
    if spec.append_exact(ty, value, key) {
        return Part::Exact;
    }
    append_converted(column, value, env, key)
}

/// As [`append`], of a value that is not of the column's kind.
fn append_converted(
    column: Column<'_>,
    value: &Datum<'_>,
    env: &dyn Environment,
    key: &mut Vec<u8>,
) -> Part {
    let (_, ty) = column;
    if ty.kind.is_string() || ty.kind == Kind::Json {
        return Part::Open;
    }
    let (zone, mut scratch) = (env.convert_mode().time_zone, Vec::new());
    let Ok(converted) = convert_at(*value, ty, zone, &mut scratch) else { return Part::Open };
    // A moment is compared as the local time that it is in the session's zone.
    let shown = match converted {
        Datum::Timestamp(micros, fsp) => match zone.to_local(micros, fsp) {
            Some(local) if !zone.is_repeated(local) => Datum::DateTime(local),
            _ => return Part::Open,
        },
        other => other,
    };
    let same = value::equals(&shown, value, ty.collation) == Some(true);
    if !same && !is_near(&converted) || !put(column, converted, key) {
        return Part::Open;
    }
    if same { Part::Exact } else { Part::Near }
}

/// Every key that begins with `before` and whose next part, of this type, is not NULL.
fn not_null(ty: &ColumnType, before: Key, found: &mut KeyRanges) -> Encoded {
    let (first, last) = whole(before);
    if !ty.nullable {
        return (first, last);
    }
    let start = found.begin(before);
    found.bytes().push(1);
    (Bound::Included(found.key_from(start)), last)
}

/// A bound, or where it is open the end of what it may hold.
fn or_end(bound: Bound<Key>, end: Bound<Key>) -> Bound<Key> {
    if bound == Bound::Unbounded { end } else { bound }
}

/// A range of a part that keeps the beginning of a text.
fn between_cut(ty: &ColumnType, before: Key, (low, high): Encoded, found: &mut KeyRanges) {
    let (first, last) = not_null(ty, before, found);
    if ty.collation.cut() == Cut::Anything {
        found.push((first, last));
        return;
    }
    let high = match high {
        Bound::Included(key) | Bound::Excluded(key) => Bound::Included(key),
        Bound::Unbounded => last,
    };
    let (Bound::Included(mut low) | Bound::Excluded(mut low)) = low else {
        found.push((first, high));
        return;
    };
    if ty.collation.cut() == Cut::FewerWeights {
        let start = found.key(before).len() + usize::from(ty.nullable);
        let whole_key = found.key(low).to_vec();
        let cut = value::key::fewer_weights(&whole_key, start, CUT_KEYS_MAX);
        let mut cut: Vec<Key> = cut.map(|key| found.add(&key)).collect();
        if cut.len() == CUT_KEYS_MAX {
            // The longest of them is where the range begins.
            low = cut.pop().unwrap_or(low);
        }
        cut.into_iter().for_each(|key| found.push_whole(key));
    }
    found.push((Bound::Included(low), high));
}

/// The keys of text that begins like the pattern; `None`: all of them.
fn like(
    (spec, ty): Column<'_>,
    pattern: &Datum<'_>,
    escape: u8,
    before: Key,
    found: &mut KeyRanges,
) -> Option<Encoded> {
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
    let mut low = found.key(before).to_vec();
    if ty.nullable {
        low.push(1);
    }
    let start = low.len();
    ty.collation.sort_key(literal, &mut low);
    if !is_beginning(ty, literal, &low[start..]) {
        return None;
    }
    let mut high = low.clone();
    let high = match value::key::successor(&mut high) {
        true => Bound::Excluded(found.add(&high)),
        false => Bound::Unbounded,
    };
    Some((Bound::Included(found.add(&low)), high))
}

/// Whether the keys of all longer texts begin with `key`.
fn is_beginning(ty: &ColumnType, literal: &[u8], key: &[u8]) -> bool {
    let longer = |tail: &[u8]| {
        let mut out = Vec::new();
        ty.collation.key_part(&[literal, tail].concat(), &mut out);
        out.starts_with(key)
    };
    [&b""[..], b" ", b"\t", b"a", "\u{fffd}".as_bytes()].iter().all(|tail| longer(tail))
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
