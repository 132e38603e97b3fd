//! COUNT, SUM, AVG, variances and deviations.
//!
//! 1. Sums of integers are exact and wide; of decimals exact; of anything else doubles. 2. Dates and times
//! take part as the decimals that they are as numbers. 3. A double that has grown beyond all bounds is 0,
//! as MySQL prints it.

use super::{Accumulator, Aggregate, AggregateCall, aggregate};
use crate::SqlError;
use crate::build::{Derive, widths};
use crate::functions::MANY;
use crate::tree::{OwnedDatum, Typed};
use value::types::NOT_FIXED;
use value::{ArithError, ColumnType, Datum, Decimal, Kind};

/// COUNT.
pub static COUNT: Aggregate = aggregate(
    "count",
    (0, MANY),
    |_| Ok(ColumnType { length: 21, ..ColumnType::int(Kind::BigInt, false).not_null() }),
    |_| Accumulator::Count(0),
    "rows, or rows in which no argument is NULL",
);
/// SUM.
pub static SUM: Aggregate =
    aggregate("sum", (1, 1), sum_type, start_sum, "the sum of values; NULL of none");
/// AVG.
pub static AVG: Aggregate =
    aggregate("avg", (1, 1), average_type, start_sum, "the mean of values; NULL of none");
pub(super) static STD: Aggregate =
    aggregate("std", (1, 1), spread_type, start_spread, "standard deviation of a population");
pub(super) static STDDEV_SAMP: Aggregate =
    aggregate("stddev_samp", (1, 1), spread_type, start_spread, "standard deviation of a sample");
pub(super) static VARIANCE: Aggregate =
    aggregate("variance", (1, 1), spread_type, start_spread, "variance of a population");
pub(super) static VAR_SAMP: Aggregate =
    aggregate("var_samp", (1, 1), spread_type, start_spread, "variance of a sample");

pub(super) static AGGREGATES: &[&Aggregate] =
    &[&COUNT, &SUM, &AVG, &STD, &STDDEV_SAMP, &VARIANCE, &VAR_SAMP];

/// Digits that a sum may have beyond its terms'.
const SUM_DIGITS: u32 = 22;

fn is_exact(ty: &ColumnType) -> bool {
    ty.kind.is_int()
        || ty.kind.is_temporal()
        || matches!(ty.kind, Kind::Decimal | Kind::Bit | Kind::Year)
}

fn digits(ty: &ColumnType) -> u32 {
    if ty.kind == Kind::Bit { ty.length.max(1) } else { widths::precision(ty) }
}

fn double(of: &Typed, more: u8) -> ColumnType {
    /// Digits of a double, with sign and point.
    const DIGITS: u32 = 17;
    let decimals = crate::build::value_digits(of);
    let fixed = decimals.saturating_add(more);
    match decimals < NOT_FIXED && fixed < NOT_FIXED {
        true => ColumnType {
            length: DIGITS + u32::from(fixed),
            decimals: fixed,
            ..ColumnType::double()
        },
        false => ColumnType { length: widths::DOUBLE_CHARS, ..ColumnType::double() },
    }
}

fn sum_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    let ty = d.ty(0);
    if !is_exact(&ty) {
        return Ok(double(&d.args[0], 0));
    }
    let (digits, scale) = (digits(&ty), widths::scale(&ty));
    Ok(widths::decimal(digits.saturating_sub(scale) + SUM_DIGITS, scale, false))
}

fn average_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    let (ty, more) = (d.ty(0), d.settings.div_increment);
    if !is_exact(&ty) {
        return Ok(double(&d.args[0], more));
    }
    let (digits, scale) = (digits(&ty), widths::scale(&ty));
    Ok(widths::decimal(digits.saturating_sub(scale), scale + u32::from(more), false))
}

fn spread_type(_: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    Ok(ColumnType { length: widths::DOUBLE_CHARS, ..ColumnType::double() })
}

fn start_sum(call: &AggregateCall) -> Accumulator {
    let ty = call.first();
    match ty.kind {
        kind if kind.is_int() || matches!(kind, Kind::Year | Kind::Bit) => {
            Accumulator::Integers(Integers::default())
        }
        _ if is_exact(&ty) => {
            Accumulator::Decimals(Decimals::of(Decimal::ZERO, 0, widths::scale(&ty) as u8))
        }
        _ => Accumulator::Doubles(Doubles::default()),
    }
}

fn start_spread(call: &AggregateCall) -> Accumulator {
    let (function, root) = (call.function, [&STD, &STDDEV_SAMP]);
    Accumulator::Spread(Spread {
        sample: [&STDDEV_SAMP, &VAR_SAMP].contains(&function),
        root: root.contains(&function),
        ..Spread::default()
    })
}

/// An exact sum, divided for AVG.
fn exact(call: &AggregateCall, sum: Decimal, count: u64) -> OwnedDatum {
    if *call.function != AVG {
        return OwnedDatum::Decimal(sum);
    }
    let count = Decimal::from_i128(i128::from(count), 0);
    let mean = sum.div_with(&count, call.settings.div_increment);
    mean.map_or(OwnedDatum::Null, OwnedDatum::Decimal)
}

/// The sum of integers.
#[derive(Debug, Default)]
pub struct Integers {
    sum: i128,
    count: u64,
}

fn whole(value: &Datum<'_>) -> Option<i128> {
    match *value {
        Datum::Int(v) => Some(i128::from(v)),
        Datum::UInt(v) | Datum::Bits(v, _) => Some(i128::from(v)),
        Datum::Year(v) => Some(i128::from(v)),
        _ => None,
    }
}

impl Integers {
    /// `false` for a value that is no integer.
    #[inline]
    pub(super) fn add(&mut self, value: &Datum<'_>) -> bool {
        let Some(value) = whole(value) else { return false };
        self.add_whole(value);
        true
    }

    /// Adds the sum of so many integers.
    pub(super) fn add_wholes(&mut self, total: i128, count: u64) {
        self.sum += total;
        self.count += count;
    }

    /// As `add`, of an integer's value.
    #[inline]
    pub(super) fn add_whole(&mut self, value: i128) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn remove(&mut self, value: &Datum<'_>) -> bool {
        let Some(value) = whole(value) else { return false };
        self.sum -= value;
        self.count -= 1;
        true
    }

    pub(super) fn widened(&self) -> Decimals {
        Decimals::of(Decimal::from_i128(self.sum, 0), self.count, 0)
    }

    pub(super) fn result(&self, call: &AggregateCall) -> OwnedDatum {
        match self.count {
            0 => OwnedDatum::Null,
            count => exact(call, Decimal::from_i128(self.sum, 0), count),
        }
    }
}

/// The sum of exact numbers.
#[derive(Debug)]
pub struct Decimals {
    /// The sum of those of one scale, as long as it fits.
    near: i128,
    scale: u8,
    /// The sum of the others.
    far: Decimal,
    count: u64,
}

/// A value as a decimal; `None` for what is not exact.
fn decimal(value: &Datum<'_>) -> Option<Decimal> {
    match *value {
        Datum::Decimal(v) => Some(v),
        Datum::Int(v) => Some(Decimal::from(v)),
        Datum::UInt(v) => Some(Decimal::from(v)),
        ref other => match value::add(*other, Datum::Int(0)).ok()? {
            Datum::Decimal(v) => Some(v),
            Datum::Int(v) => Some(Decimal::from(v)),
            Datum::UInt(v) => Some(Decimal::from(v)),
            _ => None,
        },
    }
}

impl Decimals {
    fn of(sum: Decimal, count: u64, scale: u8) -> Decimals {
        Decimals { near: 0, scale, far: sum, count }
    }

    /// `false` for a value that is not exact.
    #[inline]
    pub(super) fn add(&mut self, value: &Datum<'_>) -> Result<bool, SqlError> {
        let Some(value) = decimal(value) else { return Ok(false) };
        match value.unscaled() {
            Some(unscaled) => self.add_unscaled(unscaled, value.scale())?,
            None => self.add_far(&value)?,
        }
        Ok(true)
    }

    /// Adds the digits of a sum of so many decimals; `false`: they have to be added one by one.
    pub(super) fn add_total(&mut self, total: i128, scale: u8, count: u64) -> bool {
        let near = self.near.checked_add(total).filter(|_| scale == self.scale);
        if let Some(near) = near {
            self.near = near;
            self.count += count;
        }
        near.is_some()
    }

    /// As `add`, of a decimal's digits.
    #[inline]
    pub(super) fn add_unscaled(&mut self, value: i128, scale: u8) -> Result<(), SqlError> {
        match self.near.checked_add(value) {
            Some(near) if scale == self.scale => {
                self.near = near;
                self.count += 1;
                Ok(())
            }
            _ => self.add_far(&Decimal::from_i128(value, scale)),
        }
    }

    fn add_far(&mut self, value: &Decimal) -> Result<(), SqlError> {
        self.far = self.far.add(value).ok_or(ArithError::DecimalOutOfRange)?;
        self.count += 1;
        Ok(())
    }

    pub(super) fn remove(&mut self, value: &Datum<'_>) -> bool {
        let Some(far) = decimal(value).and_then(|value| self.far.sub(&value)) else { return false };
        self.far = far;
        self.count -= 1;
        true
    }

    fn sum(&self) -> Decimal {
        let near = Decimal::from_i128(self.near, self.scale);
        // The bounds of DECIMAL are wider than what both parts can come to.
        self.far.add(&near).unwrap_or(self.far)
    }

    pub(super) fn widened(&self) -> Doubles {
        Doubles { sum: self.sum().to_f64(), count: self.count }
    }

    pub(super) fn result(&self, call: &AggregateCall) -> OwnedDatum {
        match self.count {
            0 => OwnedDatum::Null,
            count => exact(call, self.sum(), count),
        }
    }
}

/// The sum of doubles.
#[derive(Debug, Default)]
pub struct Doubles {
    sum: f64,
    count: u64,
}

fn finite(v: f64) -> OwnedDatum {
    OwnedDatum::Double(if v.is_finite() { v } else { 0.0 })
}

impl Doubles {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn result(&self, call: &AggregateCall) -> OwnedDatum {
        match self.count {
            0 => OwnedDatum::Null,
            count if *call.function == AVG => finite(self.sum / count as f64),
            _ => finite(self.sum),
        }
    }
}

/// Mean and sum of squared distances from it, as they go from value to value.
#[derive(Debug, Default)]
pub struct Spread {
    count: u64,
    mean: f64,
    squares: f64,
    /// Of a sample.
    sample: bool,
    /// The deviation instead of the variance.
    root: bool,
}

impl Spread {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    pub(super) fn result(&self) -> OwnedDatum {
        let others = self.count.saturating_sub(u64::from(self.sample));
        if others == 0 {
            return OwnedDatum::Null;
        }
        let variance = self.squares / others as f64;
        finite(if self.root { variance.sqrt() } else { variance })
    }
}
