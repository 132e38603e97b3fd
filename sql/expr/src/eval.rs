//! Evaluates expressions over one row, with MySQL's three-valued logic.

use crate::functions::{Function, FunctionId};
use crate::like::like;
use crate::row::Subqueries;
use crate::row::{Row, column};
use crate::tree::{Arithmetic, Comparison, Expr, OwnedDatum, Truth};
use crate::{Environment, SqlError, strings};
use std::cmp::Ordering;
use value::{Collation, Datum};

/// A value, borrowed from the row or the plan where possible.
#[derive(Debug, Clone)]
pub enum Value<'v> {
    /// Borrowed.
    Datum(Datum<'v>),
    /// Computed text.
    Owned(OwnedDatum),
}

impl Value<'_> {
    /// The value.
    pub fn get(&self) -> Datum<'_> {
        match self {
            Value::Datum(datum) => *datum,
            Value::Owned(owned) => owned.datum(),
        }
    }

    /// A copy that owns its bytes.
    pub fn into_owned(self) -> OwnedDatum {
        match self {
            Value::Datum(datum) => OwnedDatum::of(&datum),
            Value::Owned(owned) => owned,
        }
    }
}

const NULL: Value<'static> = Value::Datum(Datum::Null);

fn truth(value: Option<bool>) -> Value<'static> {
    Value::Datum(value.map_or(Datum::Null, |b| Datum::Int(i64::from(b))))
}

/// Evaluates an expression.
///
/// # Errors
/// Numbers out of range (1690), a damaged row, an unknown variable.
pub fn eval<'v>(
    expr: &'v Expr,
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Value<'v>, SqlError> {
    Ok(match expr {
        Expr::Const(value) => Value::Datum(value.datum()),
        Expr::Param(n) => Value::Datum(row.params.get(*n).copied().unwrap_or_default()),
        Expr::Column(n) => match column(row, *n)? {
            Datum::Timestamp(micros, fsp) => Value::Datum(local(micros, fsp, env)),
            value => Value::Datum(value),
        },
        Expr::Subquery(plan) => subqueries(row)?.scalar(*plan, row, env)?,
        Expr::Exists(plan) => truth(Some(subqueries(row)?.exists(*plan, row, env)?)),
        Expr::Quantified(q) => truth(subqueries(row)?.quantified(q, row, env)?),
        Expr::Aggregate(n) => Value::Datum(row.aggregates[*n].datum()),
        Expr::SystemVar(global, name) => Value::Owned(env.system_variable(*global, name)?),
        Expr::UserVar(name) => Value::Owned(env.user_variable(name)),
        Expr::AssignUserVar(name, value) => {
            let value = eval(value, row, env)?.into_owned();
            env.set_user_variable(name, value.clone());
            Value::Owned(value)
        }
        Expr::Arith(op, a, b) => {
            let (a, b) = (eval(a, row, env)?, eval(b, row, env)?);
            Value::Datum(arithmetic(*op, a.get(), b.get())?)
        }
        Expr::Neg(a) => Value::Datum(value::neg(eval(a, row, env)?.get())?),
        Expr::Compare(op, a, b, collation) => {
            let (a, b) = (eval(a, row, env)?, eval(b, row, env)?);
            truth(compare(*op, &a.get(), &b.get(), *collation))
        }
        Expr::And(..) | Expr::Or(..) | Expr::Xor(..) | Expr::Not(_) | Expr::Is(..) => {
            truth(condition(expr, row, env)?)
        }
        Expr::In(value, list, collation) => truth(is_in(value, list, *collation, row, env)?),
        Expr::Like(value, pattern, escape, collation) => {
            let (value, pattern) = (eval(value, row, env)?, eval(pattern, row, env)?);
            truth(like(&value.get(), &pattern.get(), *escape, *collation))
        }
        Expr::Case(branches, otherwise) => {
            for (when, then) in branches {
                if condition(when, row, env)? == Some(true) {
                    return eval(then, row, env);
                }
            }
            match otherwise {
                Some(value) => eval(value, row, env)?,
                None => NULL,
            }
        }
        Expr::Call(function, arguments) => call(function, arguments, row, env)?,
    })
}

/// A TIMESTAMP in the session's time zone.
#[cold]
fn local(micros: i64, fsp: u8, env: &dyn Environment) -> Datum<'static> {
    let zero = value::DateTime::ZERO.with_fsp(fsp);
    let moment =
        if micros == 0 { None } else { env.convert_mode().time_zone.to_local(micros, fsp) };
    Datum::DateTime(moment.unwrap_or(zero))
}

/// Evaluates a condition: true, false or unknown.
///
/// # Errors
/// As [`eval`].
pub fn condition(
    expr: &Expr,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Result<Option<bool>, SqlError> {
    match expr {
        Expr::And(a, b) => match condition(a, row, env)? {
            Some(false) => Ok(Some(false)),
            Some(true) => condition(b, row, env),
            None => Ok(condition(b, row, env)?.filter(|b| !b)),
        },
        Expr::Or(a, b) => match condition(a, row, env)? {
            Some(true) => Ok(Some(true)),
            Some(false) => condition(b, row, env),
            None => Ok(condition(b, row, env)?.filter(|b| *b)),
        },
        Expr::Xor(a, b) => {
            let (a, b) = (condition(a, row, env)?, condition(b, row, env)?);
            Ok(a.zip(b).map(|(a, b)| a != b))
        }
        Expr::Not(a) => Ok(condition(a, row, env)?.map(|a| !a)),
        Expr::Is(a, Truth::Null, negated) => {
            Ok(Some(eval(a, row, env)?.get().is_null() != *negated))
        }
        Expr::Is(a, what, negated) => {
            let a = condition(a, row, env)?;
            let holds = match what {
                Truth::True => a == Some(true),
                Truth::False => a == Some(false),
                Truth::Null | Truth::Unknown => a.is_none(),
            };
            Ok(Some(holds != *negated))
        }
        other => Ok(is_true(&eval(other, row, env)?.get())),
    }
}

/// A value as a condition: zero is false, NULL unknown, text is read as a number.
fn is_true(value: &Datum<'_>) -> Option<bool> {
    let equal = value::compare(value, &Datum::Int(0), Collation::Binary)?;
    Some(equal != Ordering::Equal)
}

fn subqueries<'v>(row: &Row<'v>) -> Result<&'v dyn Subqueries, SqlError> {
    let missing = base::Error::Internal("subquery where none can run");
    row.subqueries.ok_or(SqlError::Storage(missing))
}

/// Compares two values; `None` is unknown.
pub fn compare(op: Comparison, a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<bool> {
    if op == Comparison::NullSafeEq && (a.is_null() || b.is_null()) {
        return Some(a.is_null() && b.is_null());
    }
    let order = value::compare(a, b, collation)?;
    Some(match op {
        Comparison::Eq | Comparison::NullSafeEq => order == Ordering::Equal,
        Comparison::Ne => order != Ordering::Equal,
        Comparison::Lt => order == Ordering::Less,
        Comparison::Le => order != Ordering::Greater,
        Comparison::Gt => order == Ordering::Greater,
        Comparison::Ge => order != Ordering::Less,
    })
}

fn arithmetic(op: Arithmetic, a: Datum<'_>, b: Datum<'_>) -> Result<Datum<'static>, SqlError> {
    Ok(match op {
        Arithmetic::Add => value::add(a, b)?,
        Arithmetic::Sub => value::sub(a, b)?,
        Arithmetic::Mul => value::mul(a, b)?,
        Arithmetic::Div => value::div(a, b)?,
        Arithmetic::IntDiv => value::int_div(a, b)?,
        Arithmetic::Mod => value::rem(a, b)?,
    })
}

fn is_in(
    value: &Expr,
    list: &[Expr],
    collation: Collation,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Result<Option<bool>, SqlError> {
    let value = eval(value, row, env)?;
    let mut unknown = false;
    for item in list {
        let item = eval(item, row, env)?;
        match value::equals(&value.get(), &item.get(), collation) {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(false) })
}

/// A value as text.
pub fn text(value: &Datum<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    if !value.is_null() {
        value::format::append_text(value, &mut out);
    }
    out
}

fn call<'v>(
    function: &Function,
    arguments: &'v [Expr],
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Value<'v>, SqlError> {
    let bytes = |text: String| Value::Owned(OwnedDatum::Bytes(text.into_bytes()));
    Ok(match function.id {
        FunctionId::Database => match env.database() {
            Some(name) => bytes(name.to_string()),
            None => NULL,
        },
        FunctionId::User => bytes(env.user()),
        FunctionId::Version => bytes(env.version()),
        FunctionId::ConnectionId => Value::Datum(Datum::UInt(env.connection_id())),
        FunctionId::LastInsertId => Value::Datum(Datum::UInt(env.last_insert_id())),
        FunctionId::RowCount => Value::Datum(Datum::Int(env.row_count())),
        FunctionId::FoundRows => Value::Datum(Datum::Int(env.found_rows() as i64)),
        FunctionId::Concat
        | FunctionId::Length
        | FunctionId::CharLength
        | FunctionId::Left
        | FunctionId::LeftBytes
        | FunctionId::Right
        | FunctionId::RightBytes
        | FunctionId::Substring
        | FunctionId::SubstringBytes
        | FunctionId::Repeat
        | FunctionId::Hex
        | FunctionId::Crc32 => {
            let mut values = Vec::with_capacity(arguments.len());
            for argument in arguments {
                let value = eval(argument, row, env)?;
                if value.get().is_null() {
                    return Ok(NULL);
                }
                values.push(value);
            }
            strings::call(function, &values, env)?
        }
        FunctionId::If => {
            let chosen = if condition(&arguments[0], row, env)? == Some(true) { 1 } else { 2 };
            eval(&arguments[chosen], row, env)?
        }
        FunctionId::IfNull | FunctionId::Coalesce => {
            for argument in arguments {
                let value = eval(argument, row, env)?;
                if !value.get().is_null() {
                    return Ok(value);
                }
            }
            NULL
        }
        FunctionId::NullIf => {
            let (a, b) = (eval(&arguments[0], row, env)?, eval(&arguments[1], row, env)?);
            let same = value::equals(&a.get(), &b.get(), Collation::Utf8mb4_0900AiCi) == Some(true);
            if same { NULL } else { a }
        }
        FunctionId::Abs => {
            let value = eval(&arguments[0], row, env)?;
            if let Datum::Bytes(_) = value.get() {
                return Ok(Value::Datum(Datum::Double(
                    value::compare::to_double(&value.get()).abs(),
                )));
            }
            let negative = value::compare(&value.get(), &Datum::Int(0), Collation::Binary);
            match negative {
                Some(Ordering::Less) => Value::Datum(value::neg(value.get())?),
                _ => value,
            }
        }
        FunctionId::Sleep => {
            let seconds = eval(&arguments[0], row, env)?;
            let seconds = String::from_utf8_lossy(&text(&seconds.get())).parse().unwrap_or(0.0);
            Value::Datum(Datum::Int(i64::from(!env.sleep(seconds))))
        }
    })
}
