//! Fixed columns where they lie: the order of one value as a number, and one column of many rows as a vector.
//!
//! 1. The rank of a value orders as the value does, within its column. 2. A vector holds the very values that
//!    [`RowLayout::decode`] gives: decimals unscaled, dates packed. 3. Where a value is NULL the vector has 0.
//!    4. Whatever cannot be read this way (a damaged row, a value too long) answers `None`: who decodes it then
//!    learns why.

use super::{NOT_NULL, RowLayout, VARIABLE, end_offset, int_bits};
use crate::{ColumnType, Datum, Kind};

/// A column whose values are told apart by at most 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Ranked {
    ty: ColumnType,
    null_bit: u32,
    at: usize,
    width: usize,
    form: Form,
}

/// How the bytes of a value become its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Little-endian integers; signed ones have their sign bit turned.
    Signed,
    Unsigned,
    /// Big-endian, in the order of the values already.
    Ordered,
}

/// Numbers of one column or expression, by row.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Each has at most 18 digits.
    Narrow(Vec<i64>),
    /// Each has at most 38 digits.
    Wide(Vec<i128>),
    /// Doubles.
    Doubles(Vec<f64>),
}

/// The rows in which a vector is NULL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nulls {
    words: Vec<u64>,
    any: bool,
}

/// Values of one column or expression, by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// The values.
    pub numbers: Numbers,
    /// Where they are NULL.
    pub nulls: Nulls,
}

/// Digits that a narrow number may have.
pub const NARROW_DIGITS: u32 = 18;
/// Digits that a wide number may have.
pub const WIDE_DIGITS: u32 = 38;

impl Nulls {
    /// No NULL in `rows` rows.
    pub fn clear(&mut self, rows: usize) {
        self.words.clear();
        self.words.resize(rows.div_ceil(64), 0);
        self.any = false;
    }

    /// Makes a row NULL.
    #[inline]
    pub fn set(&mut self, row: usize) {
        self.words[row / 64] |= 1 << (row % 64);
        self.any = true;
    }

    /// Whether a row is NULL.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> bool {
        self.any && self.words[row / 64] & 1 << (row % 64) != 0
    }

    /// Whether there is a NULL.
    #[inline]
    #[must_use]
    pub fn any(&self) -> bool {
        self.any
    }

    /// Makes NULL whatever is NULL in either of two; `self` is replaced.
    pub fn unite(&mut self, a: &Nulls, b: &Nulls) {
        self.words.clear();
        self.words.extend(a.words.iter().zip(&b.words).map(|(a, b)| a | b));
        self.any = a.any || b.any;
    }
}

impl Vector {
    /// Memory it takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let numbers = match &self.numbers {
            Numbers::Narrow(v) => 8 * v.capacity(),
            Numbers::Wide(v) => 16 * v.capacity(),
            Numbers::Doubles(v) => 8 * v.capacity(),
        };
        numbers + 8 * self.nulls.words.capacity()
    }
}

/// Digits of the numbers of a type; `None`: they are no exact numbers.
#[must_use]
pub fn digits_of(ty: &ColumnType) -> Option<u32> {
    Some(match ty.kind {
        Kind::TinyInt => 3,
        Kind::SmallInt => 5,
        Kind::MediumInt => 8,
        Kind::Int => 10,
        Kind::BigInt => 19 + u32::from(ty.unsigned),
        Kind::Decimal if ty.length > 0 => ty.length,
        _ => return None,
    })
}

/// A vector of the right form for a column, without rows; `None`: its values are no numbers of a vector.
#[must_use]
pub fn vector_of(ty: &ColumnType) -> Option<Vector> {
    let numbers = match ty.kind {
        Kind::Double | Kind::Float => Numbers::Doubles(Vec::new()),
        Kind::Date => Numbers::Narrow(Vec::new()),
        _ => match digits_of(ty)? {
            digits if digits <= NARROW_DIGITS => Numbers::Narrow(Vec::new()),
            digits if digits <= WIDE_DIGITS => Numbers::Wide(Vec::new()),
            _ => return None,
        },
    };
    Some(Vector { numbers, nulls: Nulls::default() })
}

impl Ranked {
    /// The column's type.
    #[must_use]
    pub fn column_type(&self) -> &ColumnType {
        &self.ty
    }

    /// The rank of a row's value: outer `None` when the row is too short, inner `None` for NULL.
    #[inline]
    #[must_use]
    pub fn rank(&self, row: &[u8]) -> Option<Option<u64>> {
        if self.is_null(row)? { Some(None) } else { self.bits(row).map(Some) }
    }

    /// Appends the column's values, each of which `read` reads where it begins; `None`: a row is too short.
    #[inline]
    fn numbers<'r>(
        &self,
        rows: impl Iterator<Item = &'r [u8]>,
        (nulls, numbers): (&mut Nulls, &mut Vec<i64>),
        read: impl Fn(&'r [u8]) -> Option<i64>,
    ) -> Option<()> {
        for (n, row) in rows.enumerate() {
            let number = match self.is_null(row)? {
                true => {
                    nulls.set(n);
                    0
                }
                false => read(row.get(self.at..)?)?,
            };
            numbers.push(number);
        }
        Some(())
    }

    #[inline]
    fn is_null(&self, row: &[u8]) -> Option<bool> {
        Some(
            self.null_bit != NOT_NULL
                && row.get((self.null_bit / 8) as usize)? & 1 << (self.null_bit % 8) != 0,
        )
    }

    #[inline]
    fn bits(&self, row: &[u8]) -> Option<u64> {
        let (at, width) = (self.at, self.width);
        let unused = 64 - 8 * width as u32;
        if self.form == Form::Ordered {
            // One load that ends where the column does, if the row has so many bytes before it.
            if let Some(start) = (at + width).checked_sub(8) {
                let eight = row.get(start..)?.first_chunk::<8>()?;
                return Some(u64::from_be_bytes(*eight) << unused >> unused);
            }
            let bytes = row.get(at..at + width)?;
            return Some(bytes.iter().fold(0, |v, &b| v << 8 | u64::from(b)));
        }
        let bytes = row.get(at..)?;
        let raw = match (bytes.first_chunk::<8>(), bytes.get(..width)?) {
            (Some(eight), _) => u64::from_le_bytes(*eight) << unused >> unused,
            (None, bytes) => bytes.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b)),
        };
        Some(self.rank_of_int(raw))
    }

    /// The rank of an integer from its low bits.
    #[inline]
    fn rank_of_int(&self, raw: u64) -> u64 {
        let unused = 64 - 8 * self.width as u32;
        match self.form {
            Form::Signed => ((raw << unused) as i64 >> unused) as u64 ^ 1 << 63,
            _ => raw,
        }
    }

    /// The rank of a value of the column's own type; `None`: it is none of it.
    #[must_use]
    pub fn rank_of(&self, value: &Datum<'_>) -> Option<u64> {
        if self.ty.kind.is_int() {
            return int_bits(&self.ty, value).map(|raw| self.rank_of_int(raw));
        }
        let mut bytes = [0; 8];
        super::fixed::put(&self.ty, value, &mut bytes[..self.width]).ok()?;
        Some(bytes[..self.width].iter().fold(0, |v, &b| v << 8 | u64::from(b)))
    }

    /// The value with a rank as a narrow number.
    #[inline]
    fn number(&self, rank: u64) -> i64 {
        match self.ty.kind {
            Kind::Decimal => {
                let sign = 1u64 << (8 * self.width as u32 - 1);
                let negative = rank & sign == 0;
                // All bits of a negative one are turned.
                let magnitude = if negative { !rank } else { rank } & (sign - 1);
                if negative { -(magnitude as i64) } else { magnitude as i64 }
            }
            _ if self.form == Form::Signed => (rank ^ 1 << 63) as i64,
            _ => rank as i64,
        }
    }
}

impl RowLayout {
    /// The ranks of a column; `None`: it has none of 64 bits. Those of doubles are left out, whose zeros
    /// have one rank and compare as two values; so are TIMESTAMPs, which expressions see in local time.
    #[must_use]
    pub fn ranked(&self, column: usize) -> Option<Ranked> {
        let place = self.places.get(column)?;
        let (ty, width) = (place.ty, place.width);
        let form = match ty.kind {
            kind if kind.is_int() && ty.unsigned => Form::Unsigned,
            kind if kind.is_int() => Form::Signed,
            Kind::Decimal if ty.length > 0 => Form::Ordered,
            Kind::Date | Kind::DateTime => Form::Ordered,
            _ => return None,
        };
        if width == VARIABLE || width == 0 || width > 8 {
            return None;
        }
        let (at, width) = (place.at as usize, width as usize);
        Some(Ranked { ty, null_bit: place.null_bit, at, width, form })
    }

    /// The bytes of a text, if the column has one that lies in the row in the common way.
    #[inline(always)]
    #[must_use]
    pub fn text<'r>(&self, row: &'r [u8], column: usize) -> Option<&'r [u8]> {
        let place = self.places.get(column)?;
        if place.width != VARIABLE || place.ty.kind == Kind::Json {
            return None;
        }
        self.stored(row, column)?
    }

    /// The value of an integer column of 1, 2, 4 or 8 bytes, two's complement; `None`: it is none, or NULL, or not there.
    #[inline(always)]
    #[must_use]
    pub fn int(&self, row: &[u8], column: usize) -> Option<i64> {
        let place = self.places.get(column)?;
        let bytes = row.get(place.at as usize..)?;
        let is_null = place.null_bit != NOT_NULL
            && row.get((place.null_bit / 8) as usize)? & 1 << (place.null_bit % 8) != 0;
        if is_null || !place.ty.kind.is_int() {
            return None;
        }
        match place.width {
            4 => Some(i32::from_le_bytes(*bytes.first_chunk()?).into()),
            8 => Some(i64::from_le_bytes(*bytes.first_chunk()?)),
            2 => Some(i16::from_le_bytes(*bytes.first_chunk()?).into()),
            1 => Some(i8::from_le_bytes(*bytes.first_chunk()?).into()),
            _ => None,
        }
    }

    /// The bytes that hold a column's value: equal ones hold equal values. Outer `None`: they do not lie in
    /// the row, or not in the common way; inner `None`: NULL.
    #[inline]
    #[must_use]
    pub fn stored<'r>(&self, row: &'r [u8], column: usize) -> Option<Option<&'r [u8]>> {
        let place = self.places.get(column)?;
        if place.null_bit != NOT_NULL
            && row.get((place.null_bit / 8) as usize)? & 1 << (place.null_bit % 8) != 0
        {
            return Some(None);
        }
        if place.width != VARIABLE {
            let at = place.at as usize;
            return row.get(at..at + place.width as usize).map(Some);
        }
        let at = self.ends_at + 2 * place.at as usize;
        let end = end_offset(row, at)?;
        let begin = match place.at {
            0 => self.bytes_min(),
            _ => end_offset(row, at - 2)?,
        };
        if begin < self.bytes_min() { None } else { row.get(begin..end).map(Some) }
    }

    /// Puts a column of `rows` into a vector that [`vector_of`] made for its type; `None`: a row cannot be
    /// read this way.
    #[must_use]
    pub fn gather<'r>(
        &self,
        column: usize,
        rows: impl Iterator<Item = &'r [u8]>,
        out: &mut Vector,
    ) -> Option<()> {
        let nulls = &mut out.nulls;
        match &mut out.numbers {
            Numbers::Narrow(numbers) => {
                let ranked = self.ranked(column)?;
                numbers.clear();
                let into = (nulls, numbers);
                match (ranked.form, ranked.width) {
                    (Form::Signed, 4) => {
                        ranked.numbers(rows, into, |at| {
                            Some(i32::from_le_bytes(*at.first_chunk()?).into())
                        })?;
                    }
                    (Form::Signed, 8) => {
                        ranked.numbers(rows, into, |at| {
                            Some(i64::from_le_bytes(*at.first_chunk()?))
                        })?;
                    }
                    _ => {
                        let (nulls, numbers) = into;
                        for (n, row) in rows.enumerate() {
                            let rank = ranked.rank(row)?;
                            if rank.is_none() {
                                nulls.set(n);
                            }
                            numbers.push(rank.map_or(0, |rank| ranked.number(rank)));
                        }
                    }
                }
            }
            Numbers::Wide(numbers) => {
                numbers.clear();
                for (n, row) in rows.enumerate() {
                    numbers.push(match self.decode(row, column).ok()? {
                        Datum::Int(v) => v.into(),
                        Datum::UInt(v) => v.into(),
                        Datum::Decimal(v) => v.unscaled()?,
                        Datum::Null => {
                            nulls.set(n);
                            0
                        }
                        _ => return None,
                    });
                }
            }
            Numbers::Doubles(numbers) => {
                numbers.clear();
                for (n, row) in rows.enumerate() {
                    numbers.push(match self.decode(row, column).ok()? {
                        Datum::Double(v) => v,
                        Datum::Null => {
                            nulls.set(n);
                            0.0
                        }
                        _ => return None,
                    });
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Date, DateTime, Decimal};
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn types() -> Vec<ColumnType> {
        let ints = [Kind::TinyInt, Kind::SmallInt, Kind::MediumInt, Kind::Int, Kind::BigInt];
        let ints = ints.into_iter().flat_map(|k| [false, true].map(|u| ColumnType::int(k, u)));
        let decimals = [(1, 0), (9, 2), (15, 2), (18, 18), (19, 0), (30, 4), (38, 10)];
        let decimals = decimals.map(|(p, s)| ColumnType::decimal(p, s));
        let other = [Kind::Date, Kind::Double].map(ColumnType::of);
        let moments = [0, 3, 6].map(|fsp| ColumnType::temporal(Kind::DateTime, fsp));
        ints.chain(decimals).chain(other).chain(moments).collect()
    }

    /// A value of the type, from arbitrary bits.
    fn value(ty: &ColumnType, bits: i128) -> Datum<'static> {
        match ty.kind {
            kind if kind.is_int() => {
                let unused = 64 - 8 * kind.int_bytes().unwrap() as u32;
                match ty.unsigned {
                    true => Datum::UInt(bits as u64 >> unused),
                    false => Datum::Int(bits as i64 >> unused),
                }
            }
            Kind::Decimal => {
                let v = bits % 10i128.pow(ty.length);
                Datum::Decimal(Decimal::new(v, ty.decimals).unwrap())
            }
            Kind::Double => Datum::Double(bits as f64 / 8.0),
            Kind::Date => Datum::Date(date(bits)),
            _ => {
                let micros = (bits >> 40) as i64 as u64 % 86_400_000_000;
                let moment = DateTime::of_day(date(bits), micros as i64, ty.decimals);
                Datum::DateTime(moment.unwrap().truncate(ty.decimals))
            }
        }
    }

    fn date(bits: i128) -> Date {
        let part = |shift: u32, modulus: u128| (bits as u128 >> shift) % modulus;
        Date::new(part(0, 10_000) as u16, part(16, 13) as u8, part(24, 32) as u8).unwrap()
    }

    proptest! {
        #[test]
        fn ranks_order_as_values_and_vectors_hold_what_is_decoded(
            kind in 0..types().len(),
            nullable in any::<bool>(),
            // A column before it moves it within the row, one behind it leaves it bytes.
            around in (any::<bool>(), any::<bool>()),
            bits in prop::collection::vec(prop::option::of(any::<i128>()), 1..40),
        ) {
            let ty = ColumnType { nullable, ..types()[kind] };
            let mut all = vec![ty];
            if around.0 {
                all.insert(0, ColumnType::int(Kind::BigInt, false));
            }
            if around.1 {
                all.push(ColumnType::int(Kind::BigInt, false));
            }
            let column = usize::from(around.0);
            let layout = RowLayout::new(&all);
            let values: Vec<Datum<'_>> = bits.iter().map(|bits| match bits {
                Some(bits) => value(&ty, *bits),
                None if nullable => Datum::Null,
                None => value(&ty, 7),
            }).collect();
            let rows: Vec<Vec<u8>> = values.iter().map(|v| {
                let mut row = vec![Datum::Int(-1); all.len()];
                row[column] = *v;
                let mut out = Vec::new();
                layout.encode(&row, &mut out).unwrap();
                out
            }).collect();
            if let Some(ranked) = layout.ranked(column) {
                for (row, v) in rows.iter().zip(&values) {
                    let rank = ranked.rank(row).unwrap();
                    prop_assert_eq!(rank, (!v.is_null()).then(|| ranked.rank_of(v).unwrap()));
                    for other in values.iter().filter(|o| !o.is_null() && !v.is_null()) {
                        let order = crate::compare(v, other, crate::Collation::Binary);
                        let ranks = rank.unwrap().cmp(&ranked.rank_of(other).unwrap());
                        prop_assert_eq!(order, Some(ranks));
                    }
                    prop_assert_eq!(ranked.rank(&[]), None);
                }
            }
            let Some(mut vector) = vector_of(&ty) else { return Ok(()) };
            vector.nulls.clear(rows.len());
            let gathered = layout.gather(column, rows.iter().map(|r| &r[..]), &mut vector);
            prop_assert_eq!(gathered, Some(()));
            for (n, v) in values.iter().enumerate() {
                prop_assert_eq!(vector.nulls.get(n), v.is_null());
                let exact = match *v {
                    Datum::Null => continue,
                    Datum::Int(v) => v.into(),
                    Datum::UInt(v) => v.into(),
                    Datum::Decimal(v) => v.unscaled().unwrap(),
                    Datum::Date(v) => v.packed().into(),
                    _ => 0,
                };
                match (&vector.numbers, *v) {
                    (Numbers::Narrow(all), _) => prop_assert_eq!(i128::from(all[n]), exact),
                    (Numbers::Wide(all), _) => prop_assert_eq!(all[n], exact),
                    (Numbers::Doubles(all), Datum::Double(v)) => {
                        prop_assert_eq!(all[n].total_cmp(&v), Ordering::Equal);
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }
}
