//! Aggregates: what is kept of a group while its rows come.
//!
//! 1. Sums of integers are exact and wide; of decimals exact; of anything else doubles. 2. DISTINCT looks
//!    at values as GROUP BY does. 3. A state grows only as its values demand; `add` answers by how much.

use super::Run;
use super::keys::Rule;
use super::table::{KeyTable, hash};
use crate::{SqlError, WarningLevel};
use expr::{Frame, OwnedDatum};
use planner::query_plan::{AggregateCall, AggregateFunction as F};
use std::cmp::Ordering;
use value::{Datum, Decimal, Kind};

/// What one aggregate keeps of one group.
pub enum State {
    Count(u64),
    SumInt { sum: i128, count: u64 },
    SumExact { sum: Decimal, count: u64 },
    SumDouble { sum: f64, count: u64 },
    Extreme(OwnedDatum),
    First(Option<OwnedDatum>),
    Bits(u64),
    Spread { count: u64, mean: f64, squares: f64 },
    Concat(Vec<(Vec<u8>, Vec<u8>)>),
    Distinct(Box<(KeyTable, State)>),
}

/// What an aggregate begins with.
///
/// # Errors
/// 1235 for those that are not there yet.
pub fn start(call: &AggregateCall) -> Result<State, SqlError> {
    let state = plain(call)?;
    // The extremes of a set are those of its values.
    let counts = !matches!(call.function, F::Min | F::Max | F::AnyValue | F::BitAnd | F::BitOr);
    Ok(match call.distinct && counts {
        true => State::Distinct(Box::new((KeyTable::default(), state))),
        false => state,
    })
}

fn plain(call: &AggregateCall) -> Result<State, SqlError> {
    Ok(match call.function {
        F::CountAll | F::Count => State::Count(0),
        F::Sum | F::Avg => match call.arguments.first().map(|a| a.ty.kind) {
            Some(kind) if kind.is_int() || matches!(kind, Kind::Year | Kind::Bit) => {
                State::SumInt { sum: 0, count: 0 }
            }
            Some(Kind::Decimal) => State::SumExact { sum: Decimal::ZERO, count: 0 },
            _ => State::SumDouble { sum: 0.0, count: 0 },
        },
        F::Min | F::Max => State::Extreme(OwnedDatum::Null),
        F::AnyValue => State::First(None),
        F::BitAnd => State::Bits(u64::MAX),
        F::BitOr | F::BitXor => State::Bits(0),
        F::StddevPop | F::StddevSamp | F::VarPop | F::VarSamp => {
            State::Spread { count: 0, mean: 0.0, squares: 0.0 }
        }
        F::GroupConcat => State::Concat(Vec::new()),
        F::JsonArrayAgg => return Err(SqlError::unsupported("JSON_ARRAYAGG")),
        F::JsonObjectAgg => return Err(SqlError::unsupported("JSON_OBJECTAGG")),
    })
}

impl State {
    /// Adds the frame's row; answers by how many bytes the state has grown.
    ///
    /// # Errors
    /// Those of evaluating the arguments; 1690.
    pub fn add(
        &mut self,
        call: &AggregateCall,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<usize, SqlError> {
        if call.function == F::CountAll {
            if let State::Count(count) = self {
                *count += 1;
            }
            return Ok(0);
        }
        if let State::Concat(_) = self {
            return self.add_text(call, run, frame);
        }
        if let State::Distinct(distinct) = self {
            let (seen, state) = &mut **distinct;
            let mut key = Vec::new();
            for argument in &call.arguments {
                let value = run.eval(&argument.expr, frame)?;
                if value.get().is_null() {
                    return Ok(0);
                }
                rule_of(call, &argument.ty).append(&value.get(), false, &mut key);
            }
            if !seen.insert(&key, hash(&key)).1 {
                return Ok(0);
            }
            return Ok(state.add(call, run, frame)? + key.len() + 16);
        }
        let Some(argument) = call.arguments.first() else { return Ok(0) };
        if let State::Count(count) = self {
            for argument in &call.arguments {
                if run.eval(&argument.expr, frame)?.get().is_null() {
                    return Ok(0);
                }
            }
            *count += 1;
            return Ok(0);
        }
        let value = run.eval(&argument.expr, frame)?;
        let value = value.get();
        if let State::First(first @ None) = self {
            *first = Some(OwnedDatum::of(&value));
            return Ok(value.as_stored_bytes().map_or(0, <[u8]>::len));
        }
        if value.is_null() { Ok(0) } else { self.add_value(call, &value) }
    }

    fn add_value(&mut self, call: &AggregateCall, value: &Datum<'_>) -> Result<usize, SqlError> {
        match self {
            State::SumInt { sum, count } => {
                match *value {
                    Datum::Int(v) => *sum += i128::from(v),
                    Datum::UInt(v) | Datum::Bits(v, _) => *sum += i128::from(v),
                    Datum::Year(v) => *sum += i128::from(v),
                    _ => {
                        // A value of another kind than its type says.
                        let kept = Decimal::from_i128(*sum, 0);
                        let count = *count;
                        *self = State::SumExact { sum: kept, count };
                        return self.add_value(call, value);
                    }
                }
                *count += 1;
            }
            State::SumExact { sum, count } => {
                let added = match *value {
                    Datum::Decimal(v) => sum.add(&v),
                    Datum::Int(v) => sum.add(&Decimal::from_i128(i128::from(v), 0)),
                    Datum::UInt(v) => sum.add(&Decimal::from_i128(i128::from(v), 0)),
                    _ => {
                        let (sum, count) = (sum.to_f64(), *count);
                        *self = State::SumDouble { sum, count };
                        return self.add_value(call, value);
                    }
                };
                *sum = added.ok_or(value::ArithError::DecimalOutOfRange)?;
                *count += 1;
            }
            State::SumDouble { sum, count } => {
                *sum += value::compare::to_double(value);
                *count += 1;
            }
            State::Extreme(kept) => {
                let wanted =
                    if call.function == F::Min { Ordering::Less } else { Ordering::Greater };
                let order = value::compare(value, &kept.datum(), call.collation);
                if order.is_none_or(|order| order == wanted) {
                    *kept = OwnedDatum::of(value);
                }
            }
            State::Bits(bits) => {
                let value = to_bits(value);
                match call.function {
                    F::BitAnd => *bits &= value,
                    F::BitOr => *bits |= value,
                    _ => *bits ^= value,
                }
            }
            State::Spread { count, mean, squares } => {
                let value = value::compare::to_double(value);
                *count += 1;
                let delta = value - *mean;
                *mean += delta / *count as f64;
                *squares += delta * (value - *mean);
            }
            _ => {}
        }
        Ok(0)
    }

    fn add_text(
        &mut self,
        call: &AggregateCall,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<usize, SqlError> {
        let State::Concat(texts) = self else { return Ok(0) };
        let mut text = Vec::new();
        for argument in &call.arguments {
            let value = run.eval(&argument.expr, frame)?;
            if value.get().is_null() {
                return Ok(0);
            }
            value::format::append_text(&value.get(), &mut text);
        }
        let mut key = Vec::new();
        super::sort::append_sort_keys(&call.order_by, run, frame, &mut key)?;
        let grown = text.len() + key.len() + 48;
        texts.push((key, text));
        Ok(grown)
    }

    /// The aggregate of what was added.
    ///
    /// # Errors
    /// 1690.
    pub fn result(
        &mut self,
        call: &AggregateCall,
        run: &mut Run<'_>,
    ) -> Result<OwnedDatum, SqlError> {
        Ok(match self {
            State::Count(count) => OwnedDatum::Int(*count as i64),
            State::SumInt { count: 0, .. }
            | State::SumExact { count: 0, .. }
            | State::SumDouble { count: 0, .. } => OwnedDatum::Null,
            State::SumInt { sum, count } => exact(call, Decimal::from_i128(*sum, 0), *count, run)?,
            State::SumExact { sum, count } => exact(call, *sum, *count, run)?,
            State::SumDouble { sum, count } => {
                let count = if call.function == F::Avg { *count as f64 } else { 1.0 };
                OwnedDatum::Double(*sum / count)
            }
            State::Extreme(kept) => kept.clone(),
            State::First(first) => first.clone().unwrap_or_default(),
            State::Bits(bits) => OwnedDatum::UInt(*bits),
            State::Spread { count, squares, .. } => spread(call.function, *count, *squares),
            State::Concat(texts) => concat(texts, call, run)?,
            State::Distinct(distinct) => distinct.1.result(call, run)?,
        })
    }
}

fn rule_of(call: &AggregateCall, ty: &value::ColumnType) -> Rule {
    match Rule::of(ty) {
        Rule::Text(_) if call.arguments.len() == 1 => Rule::Text(call.collation),
        rule => rule,
    }
}

fn exact(
    call: &AggregateCall,
    sum: Decimal,
    count: u64,
    run: &mut Run<'_>,
) -> Result<OwnedDatum, SqlError> {
    if call.function != F::Avg {
        return Ok(OwnedDatum::Decimal(sum));
    }
    let increment = match run.env.system_variable(false, "div_precision_increment") {
        Ok(OwnedDatum::UInt(n)) => n as u8,
        Ok(OwnedDatum::Int(n)) => n as u8,
        _ => 4,
    };
    let count = Decimal::from_i128(i128::from(count), 0);
    Ok(sum.div_with(&count, increment).map_or(OwnedDatum::Null, OwnedDatum::Decimal))
}

fn to_bits(value: &Datum<'_>) -> u64 {
    match *value {
        Datum::Int(v) => v as u64,
        Datum::UInt(v) | Datum::Bits(v, _) => v,
        Datum::Decimal(v) => v.round_to_i128().map_or(0, |v| v as u64),
        ref other => {
            let v = value::compare::to_double(other).round();
            if v < 0.0 { v as i64 as u64 } else { v as u64 }
        }
    }
}

fn spread(function: F, count: u64, squares: f64) -> OwnedDatum {
    let sample = matches!(function, F::StddevSamp | F::VarSamp);
    if count == 0 || sample && count == 1 {
        return OwnedDatum::Null;
    }
    let variance = squares / (count - u64::from(sample)) as f64;
    let root = matches!(function, F::StddevPop | F::StddevSamp);
    OwnedDatum::Double(if root { variance.sqrt() } else { variance })
}

fn concat(
    texts: &mut [(Vec<u8>, Vec<u8>)],
    call: &AggregateCall,
    run: &mut Run<'_>,
) -> Result<OwnedDatum, SqlError> {
    if texts.is_empty() {
        return Ok(OwnedDatum::Null);
    }
    texts.sort_by(|a, b| a.0.cmp(&b.0));
    let most = match run.env.system_variable(false, "group_concat_max_len") {
        Ok(OwnedDatum::UInt(n)) => n as usize,
        Ok(OwnedDatum::Int(n)) => n as usize,
        _ => 1024,
    };
    let mut out = Vec::new();
    for (n, (_, text)) in texts.iter().enumerate() {
        if n > 0 {
            out.extend_from_slice(&call.separator);
        }
        out.extend_from_slice(text);
        if out.len() > most {
            out.truncate(most);
            // No half character.
            if call.ty.is_text() {
                let whole = std::str::from_utf8(&out).map_or_else(|e| e.valid_up_to(), str::len);
                out.truncate(whole);
            }
            let text = format!("Row {} was cut by GROUP_CONCAT()", n + 1);
            run.env.warn(WarningLevel::Warning, 1260, text);
            break;
        }
    }
    Ok(OwnedDatum::Bytes(out))
}
