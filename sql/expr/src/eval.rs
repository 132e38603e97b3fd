//! Evaluates expressions over one row, with MySQL's three-valued logic.

use crate::functions::{self, Nulls, Run, Values};
use crate::like::like;
use crate::row::Subqueries;
use crate::row::{Row, column};
use crate::tree::{Arithmetic, CallSite, Column, Comparison, Expr, OwnedDatum, Truth};
use crate::variables::UserVariable;
use crate::{Environment, SqlError, WarningLevel, print};
use std::borrow::Cow;
use std::cmp::Ordering;
use value::{Collation, Datum};

/// A value, borrowed from the row or the plan where possible.
#[derive(Debug, Clone)]
pub enum Value<'v> {
    /// Borrowed, or of no bytes.
    Datum(Datum<'v>),
    /// A computed string.
    Bytes(Vec<u8>),
    /// A computed JSON document.
    Json(Vec<u8>),
}

// Values are moved much: an owned one takes no more room than a borrowed one.
const _: () = assert!(size_of::<Value<'_>>() == size_of::<Datum<'_>>());

impl Value<'_> {
    /// The value.
    #[inline]
    pub fn get(&self) -> Datum<'_> {
        match self {
            Value::Datum(datum) => *datum,
            Value::Bytes(bytes) => Datum::Bytes(bytes),
            Value::Json(bytes) => Datum::Json(bytes),
        }
    }

    /// A copy that owns its bytes.
    pub fn into_owned(self) -> OwnedDatum {
        match self {
            Value::Datum(datum) => OwnedDatum::of(&datum),
            Value::Bytes(bytes) => OwnedDatum::Bytes(bytes),
            Value::Json(bytes) => OwnedDatum::Json(bytes),
        }
    }
}

impl From<OwnedDatum> for Value<'_> {
    fn from(owned: OwnedDatum) -> Self {
        match owned {
            OwnedDatum::Bytes(bytes) => Value::Bytes(bytes),
            OwnedDatum::Json(bytes) => Value::Json(bytes),
            other => Value::Datum(other.scalar().unwrap_or_default()),
        }
    }
}

/// SQL NULL.
pub const NULL: Value<'static> = Value::Datum(Datum::Null);

fn truth(value: Option<bool>) -> Value<'static> {
    Value::Datum(value.map_or(Datum::Null, |b| Datum::Int(i64::from(b))))
}

/// Evaluates an expression.
///
/// # Errors
/// Numbers out of range (1690), a damaged row, an unknown variable.
#[inline]
pub fn eval<'v>(
    expr: &'v Expr,
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Value<'v>, SqlError> {
    match expr {
        Expr::Call(site) => call(site, row, env),
        expr => uncalled(expr, row, env),
    }
}

/// The value of what is no call.
#[inline(never)]
fn uncalled<'v>(
    expr: &'v Expr,
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Value<'v>, SqlError> {
    match plain(expr, row, env)? {
        Some(value) => Ok(Value::Datum(value)),
        None => eval_other(expr, row, env),
    }
}

/// The value of what most expressions are made of: it is borrowed or copied, never owned. `None`: the
/// expression is something else.
// Nothing is put into memory to be given back where it stands in its caller.
#[inline(always)]
fn plain<'v>(
    expr: &'v Expr,
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Option<Datum<'v>>, SqlError> {
    Ok(Some(match expr {
        Expr::Const(value) => value.datum(),
        Expr::Param(n) => row.params.get(*n).copied().unwrap_or_default(),
        Expr::Column(n) => shown(column(row, *n)?, env),
        Expr::Arith(op, a, b) => computed(*op, (a, b), expr, row, env)?,
        _ => return Ok(None),
    }))
}

/// The value of an arithmetic expression.
fn computed(
    op: Arithmetic,
    (a, b): (&Expr, &Expr),
    expr: &Expr,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Result<Datum<'static>, SqlError> {
    let Some(x) = plain(a, row, env)? else {
        let (a, b) = (eval_other(a, row, env)?, eval(b, row, env)?);
        return arithmetic(op, a.get(), b.get(), expr, row, env);
    };
    if let Some(y) = plain(b, row, env)? {
        return arithmetic(op, x, y, expr, row, env);
    }
    let b = eval_other(b, row, env)?;
    arithmetic(op, x, b.get(), expr, row, env)
}

/// Evaluates what is not [`plain`].
fn eval_other<'v>(
    expr: &'v Expr,
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Value<'v>, SqlError> {
    Ok(match expr {
        Expr::Const(_) | Expr::Param(_) | Expr::Column(_) | Expr::Arith(..) | Expr::Call(_) => {
            return eval(expr, row, env);
        }
        Expr::Subquery(plan, output) => subqueries(row)?.scalar(*plan, *output, row, env)?,
        Expr::SystemVar(global, name) => env.system_variable(*global, name)?.into(),
        Expr::UserVar(name, ty) => {
            let read = env.user_variable(name).map(|variable| variable.read(ty));
            read.unwrap_or_default().into()
        }
        Expr::AssignUserVar(name, value, ty) => {
            let value = eval(value, row, env)?.into_owned();
            let variable = UserVariable::of(value, ty);
            let kept = variable.value().clone();
            env.set_user_variable(name, variable);
            kept.into()
        }
        Expr::Neg(a) => {
            let value = eval(a, row, env)?;
            let number = as_number(value.get(), a, row, env);
            Value::Datum(value::neg(number).map_err(|e| out_of_range(e, expr, row))?)
        }
        Expr::Compare(..)
        | Expr::In(..)
        | Expr::Like(..)
        | Expr::Exists(_)
        | Expr::Quantified(_)
        | Expr::And(..)
        | Expr::Or(..)
        | Expr::Xor(..)
        | Expr::Not(_)
        | Expr::Is(..) => truth(condition(expr, row, env)?),
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
        Expr::Row(_) | Expr::Interval(..) => {
            let unbuilt = base::Error::Internal("a row or an interval by itself");
            return Err(SqlError::Storage(unbuilt));
        }
    })
}

/// A column's value, a TIMESTAMP in the session's time zone.
#[inline(always)]
fn shown<'v>(value: Datum<'v>, env: &dyn Environment) -> Datum<'v> {
    match value {
        Datum::Timestamp(micros, fsp) => local(micros, fsp, env),
        value => value,
    }
}

/// A TIMESTAMP in the session's time zone.
#[cold]
fn local(micros: i64, fsp: u8, env: &dyn Environment) -> Datum<'static> {
    Datum::DateTime(env.convert_mode().time_zone.shown(micros, fsp))
}

/// Whether a condition is true, for who does not tell false from unknown (WHERE, ON, HAVING, IF): behind an operand of AND
/// that is not true nothing is evaluated, so that it cannot complain.
///
/// # Errors
/// As [`eval`].
pub fn holds(expr: &Expr, row: &Row<'_>, env: &mut dyn Environment) -> Result<bool, SqlError> {
    match expr {
        Expr::And(a, b) => Ok(holds(a, row, env)? && holds(b, row, env)?),
        Expr::Or(a, b) => Ok(holds(a, row, env)? || holds(b, row, env)?),
        other => Ok(condition(other, row, env)? == Some(true)),
    }
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
            let Some(a) = condition(a, row, env)? else { return Ok(None) };
            Ok(condition(b, row, env)?.map(|b| a != b))
        }
        Expr::Not(a) => Ok(condition(a, row, env)?.map(|a| !a)),
        Expr::Is(a, Truth::Null, negated) => Ok(Some(is_null(a, row, env)? != *negated)),
        Expr::Is(a, Truth::Unknown, negated) if has_known_nulls(a) => {
            Ok(Some(is_null(a, row, env)? != *negated))
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
        Expr::Compare(op, a, b, collation) => compared(*op, (a, b), *collation, row, env),
        Expr::Like(value, pattern, escape, collation) => {
            let (value, pattern) = (eval(value, row, env)?, eval(pattern, row, env)?);
            Ok(like(&value.get(), &pattern.get(), *escape, *collation))
        }
        Expr::In(value, list, collation) => is_in(value, list, *collation, row, env),
        Expr::Exists(plan) => Ok(Some(subqueries(row)?.exists(*plan, row, env)?)),
        Expr::Quantified(q) => subqueries(row)?.quantified(q, row, env),
        other => {
            let value = eval(other, row, env)?;
            Ok(value::compare::truth(&as_number(value.get(), other, row, env)))
        }
    }
}

/// Whether a condition is unknown exactly where an operand is NULL.
fn has_known_nulls(expr: &Expr) -> bool {
    match expr {
        Expr::Compare(op, ..) => *op != Comparison::NullSafeEq,
        Expr::Xor(..) => true,
        Expr::Not(a) => has_known_nulls(a),
        _ => false,
    }
}

/// Whether a value is NULL. Of a comparison that is asked of its operands: nothing is compared. Beside a constant, and
/// in XOR, texts are not made numbers, so that nothing is warned of; MySQL converts both of two that are none before.
fn is_null(expr: &Expr, row: &Row<'_>, env: &mut dyn Environment) -> Result<bool, SqlError> {
    match expr {
        Expr::Compare(_, a, b, _) | Expr::Xor(a, b) if has_known_nulls(expr) => {
            let fixed = a.is_row_constant() || b.is_row_constant();
            let quiet = fixed || matches!(expr, Expr::Xor(..));
            let mut operand = |operand: &Expr| match operand {
                Expr::Call(site) if quiet && functions::is_number_of_text(site.function) => {
                    is_null(&site.arguments[0], row, env)
                }
                operand => is_null(operand, row, env),
            };
            Ok(operand(a)? || operand(b)?)
        }
        Expr::Not(a) if has_known_nulls(a) => is_null(a, row, env),
        other => Ok(eval(other, row, env)?.get().is_null()),
    }
}

fn compared(
    op: Comparison,
    (a, b): (&Expr, &Expr),
    collation: Collation,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Result<Option<bool>, SqlError> {
    if let Some(x) = plain(a, row, env)? {
        if let Some(y) = plain(b, row, env)? {
            return Ok(compare(op, &x, &y, collation));
        }
        // Beside NULL nothing else is computed, nor warned of.
        if x.is_null() && op != Comparison::NullSafeEq {
            return Ok(None);
        }
        let b = eval_other(b, row, env)?;
        return Ok(compare(op, &x, &b.get(), collation));
    }
    let a = eval_other(a, row, env)?;
    if a.get().is_null() && op != Comparison::NullSafeEq {
        return Ok(None);
    }
    Ok(compare(op, &a.get(), &eval(b, row, env)?.get(), collation))
}

fn subqueries<'v>(row: &Row<'v>) -> Result<&'v dyn Subqueries, SqlError> {
    let missing = base::Error::Internal("subquery where none can run");
    row.subqueries.ok_or(SqlError::Storage(missing))
}

/// Compares two values; `None` is unknown.
#[inline]
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

/// A value as a number: text as the double it starts with (warning 1292 when there is more, or nothing),
/// JSON as a double. `source` is what it came from.
#[inline]
fn as_number<'d>(
    datum: Datum<'d>,
    source: &Expr,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Datum<'d> {
    match datum {
        Datum::Bytes(text) => text_as_number(text, env),
        Datum::Json(bytes) => Datum::Double(functions::json::number_of(bytes, source, row, env)),
        other => other,
    }
}

#[cold]
fn text_as_number(text: &[u8], env: &mut dyn Environment) -> Datum<'static> {
    Datum::Double(functions::double_of(&Datum::Bytes(text), env))
}

#[cold]
fn out_of_range(error: value::ArithError, expr: &Expr, row: &Row<'_>) -> SqlError {
    let kind = error.to_string();
    let kind = kind.strip_suffix(" value is out of range").unwrap_or(&kind);
    SqlError::OutOfRange(kind.to_string(), print::expression(expr, Some(&RowNames(row))))
}

/// Names of a row's columns and of those of the rows around it.
struct RowNames<'r>(&'r Row<'r>);

impl print::Names for RowNames<'_> {
    fn column(&self, place: Column) -> String {
        let mut row = self.0;
        for _ in 0..place.depth {
            match row.outer {
                Some(outer) => row = outer,
                None => break,
            }
        }
        match row.names {
            Some(names) => names.column(Column { depth: 0, ..place }),
            None => format!("`{}`", place.column),
        }
    }
}

/// An error of a function that names nothing yet names what its arguments are.
#[cold]
fn named(error: SqlError, site: &CallSite, row: &Row<'_>) -> SqlError {
    match error {
        SqlError::OutOfRange(kind, text) if text.is_empty() => {
            SqlError::OutOfRange(kind, print::call(site, Some(&RowNames(row))))
        }
        error => error,
    }
}

/// The value of an operator, `expr`, on two numbers.
#[inline]
pub(crate) fn arithmetic(
    op: Arithmetic,
    a: Datum<'_>,
    b: Datum<'_>,
    expr: &Expr,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Result<Datum<'static>, SqlError> {
    if a.is_null() || b.is_null() {
        return Ok(Datum::Null);
    }
    let (a, b) = match expr {
        Expr::Arith(_, x, y) => (as_number(a, x, row, env), as_number(b, y, row, env)),
        _ => (a, b),
    };
    let result = match op {
        Arithmetic::Add => value::add(a, b),
        Arithmetic::Sub => value::sub(a, b),
        Arithmetic::SubSigned => value::sub_signed(a, b),
        Arithmetic::Mul => value::mul(a, b),
        Arithmetic::Div(increment) => value::div_with(a, b, increment),
        Arithmetic::IntDiv => value::int_div(a, b),
        Arithmetic::Mod => value::rem(a, b),
    };
    let result = result.map_err(|error| out_of_range(error, expr, row))?;
    if result.is_null()
        && env.sql_mode() & functions::moments::mode::ERROR_FOR_DIVISION_BY_ZERO != 0
    {
        env.warn(WarningLevel::Warning, 1365, "Division by 0".into());
    }
    Ok(result)
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

/// A value as text, where it lies if it is text.
pub fn text_cow<'v>(value: &Datum<'v>) -> Cow<'v, [u8]> {
    match *value {
        Datum::Bytes(bytes) => Cow::Borrowed(bytes),
        ref other => Cow::Owned(text(other)),
    }
}

#[inline(never)]
fn call<'v>(
    site: &'v CallSite,
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Value<'v>, SqlError> {
    let run = match site.function.run {
        Run::Lazy(run) => return run(site, row, env),
        Run::Values(run) => run,
    };
    // Few arguments need no memory, and as little room as they are.
    match site.arguments.len() {
        0 | 1 => call_with(run, &mut [NULL; 1], site, row, env),
        2 => call_with(run, &mut [NULL; 2], site, row, env),
        3 | 4 => call_with(run, &mut [NULL; 4], site, row, env),
        count => call_with(run, &mut vec![NULL; count], site, row, env),
    }
}

/// Calls a function with the values of its arguments, for which there is room in `args`.
#[inline(always)]
fn call_with<'v>(
    run: Values,
    args: &mut [Value<'v>],
    site: &'v CallSite,
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Value<'v>, SqlError> {
    let args = &mut args[..site.arguments.len()];
    let propagates = site.function.nulls == Nulls::Propagate;
    for (place, argument) in args.iter_mut().zip(&site.arguments) {
        // What most arguments are, without a call.
        *place = match argument {
            Expr::Const(value) => Value::Datum(value.datum()),
            Expr::Column(n) => Value::Datum(shown(column(row, *n)?, env)),
            argument => eval(argument, row, env)?,
        };
        if propagates && matches!(place, Value::Datum(Datum::Null)) {
            return Ok(NULL);
        }
    }
    let mut call = functions::Call { args, site, env };
    match run(&mut call) {
        Ok(Value::Datum(value)) => Ok(Value::Datum(value)),
        Ok(made) => call.bounded(made),
        Err(error) => Err(named(error, site, row)),
    }
}
