//! Comparisons, three-valued logic, choices and parts of dates, as steps of a [`Program`].
//!
//! What is true is 1, what is false 0, and where it is unknown 0 stands beside the NULL: who chooses need not ask. Arithmetic
//! leaves anything beside NULL.

use super::numbers::Exact;
use super::{Form, Program, Shape, Step};
use crate::functions::AS_ALIKE;
use crate::tree::{Arithmetic, CallSite, Comparison, Expr, Extra, Truth};
use value::row::gather::{NARROW_DIGITS, Nulls, Numbers, Vector};
use value::time::Unit;
use value::{ColumnType, Datum, Kind, RowLayout};

/// What of a date is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Year,
    Quarter,
    Month,
    Day,
}

/// Most items of a list that are compared one after the other.
const ITEMS_MAX: usize = 16;
/// What is true or false.
const CONDITION: Shape = Shape { form: Form::Int, digits: 1 };

impl Part {
    /// The part that a function gives.
    fn of(site: &CallSite) -> Option<Part> {
        Some(match (site.function.name, site.extra) {
            ("year", _) | ("extract", Extra::Unit(Unit::Year)) => Part::Year,
            ("quarter", _) | ("extract", Extra::Unit(Unit::Quarter)) => Part::Quarter,
            ("month", _) | ("extract", Extra::Unit(Unit::Month)) => Part::Month,
            ("day" | "dayofmonth", _) | ("extract", Extra::Unit(Unit::Day)) => Part::Day,
            _ => return None,
        })
    }

    /// Of a packed date.
    #[inline]
    fn get(self, packed: i64) -> i64 {
        let month = packed >> 5 & 15;
        match self {
            Part::Year => packed >> 9,
            Part::Quarter => (month + 2) / 3,
            Part::Month => month,
            Part::Day => packed & 31,
        }
    }
}

impl Program {
    /// What is no column, constant, sum, difference or product.
    pub(super) fn other(
        &mut self,
        expr: &Expr,
        layout: &RowLayout,
        params: &[Datum<'_>],
    ) -> Option<usize> {
        match expr {
            Expr::Arith(Arithmetic::Mod, a, b) => {
                let a = self.compile(a, layout, params)?;
                let b = self.compile(b, layout, params)?;
                self.remainder(a, b)
            }
            Expr::Case(branches, otherwise) => {
                let mut choice = match otherwise {
                    Some(value) => Some(self.compile(value, layout, params)?),
                    None => None,
                };
                for (when, then) in branches.iter().rev() {
                    let when = self.condition(when, layout, params)?;
                    let then = self.compile(then, layout, params)?;
                    choice = Some(self.choice(when, then, choice)?);
                }
                choice
            }
            Expr::Call(site) => self.call(site, layout, params),
            Expr::Compare(..)
            | Expr::And(..)
            | Expr::Or(..)
            | Expr::Not(_)
            | Expr::Is(..)
            | Expr::In(..) => self.condition(expr, layout, params),
            // Not `condition` for anything else: it asks `compile` for what is a number, which would ask here again.
            _ => None,
        }
    }

    fn call(&mut self, site: &CallSite, layout: &RowLayout, params: &[Datum<'_>]) -> Option<usize> {
        match (site.function.name, site.arguments.as_slice()) {
            ("if", [when, then, otherwise]) => {
                let when = self.condition(when, layout, params)?;
                let then = self.compile(then, layout, params)?;
                let otherwise = self.compile(otherwise, layout, params)?;
                self.choice(when, then, Some(otherwise))
            }
            ("ifnull" | "coalesce", [first @ .., last]) => {
                let mut choice = self.compile(last, layout, params)?;
                for value in first.iter().rev() {
                    let value = self.compile(value, layout, params)?;
                    let known = self.push(Step::IsNull(value, true), CONDITION);
                    choice = self.choice(known, value, Some(choice))?;
                }
                Some(choice)
            }
            (_, [value]) if site.function == &AS_ALIKE => {
                let value = self.compile(value, layout, params)?;
                self.alike_of_type(value, &site.ty)
            }
            (_, [date]) => {
                let part = Part::of(site)?;
                let date = self.compile(date, layout, params)?;
                let digits = if part == Part::Year { 4 } else { 2 };
                let shape = Shape { form: Form::Int, digits };
                let is_date = self.steps[date].1.form == Form::Date;
                is_date.then(|| self.push(Step::Part(part, date), shape))
            }
            _ => None,
        }
    }

    /// An exact number as one of a type that has room for each of its values.
    fn alike_of_type(&mut self, n: usize, ty: &ColumnType) -> Option<usize> {
        let (step, shape) = self.steps[n].clone();
        let whole = shape.digits.saturating_sub(shape.scale().into());
        match (shape.form, ty.kind) {
            (Form::Int, kind) if kind.is_int() && !ty.unsigned => Some(n),
            (Form::UInt, kind) if kind.is_int() && ty.unsigned => Some(n),
            (Form::Int, kind) if kind.is_int() => match step {
                Step::Exact(v @ 0..) => self.exact(v, Form::UInt),
                _ => None,
            },
            (Form::Int | Form::UInt | Form::Decimal(_), Kind::Decimal)
                if shape.scale() < ty.decimals
                    && whole <= ty.length.saturating_sub(ty.decimals.into()) =>
            {
                self.scaled(n, ty.decimals)
            }
            _ => None,
        }
    }

    /// An expression as a condition.
    fn condition(
        &mut self,
        expr: &Expr,
        layout: &RowLayout,
        params: &[Datum<'_>],
    ) -> Option<usize> {
        let step = match expr {
            Expr::Compare(op, a, b, _) if *op != Comparison::NullSafeEq => {
                let a = self.compile(a, layout, params)?;
                let b = self.compile(b, layout, params)?;
                return self.comparison(*op, a, b);
            }
            Expr::In(value, list, _) if list.len() <= ITEMS_MAX => {
                let value = self.compile(value, layout, params)?;
                let mut found = None;
                for item in list {
                    let item = self.compile(item, layout, params)?;
                    let equal = self.comparison(Comparison::Eq, value, item)?;
                    found = Some(match found {
                        Some(found) => self.push(Step::Or(found, equal), CONDITION),
                        None => equal,
                    });
                }
                return found;
            }
            Expr::And(a, b) => {
                Step::And(self.condition(a, layout, params)?, self.condition(b, layout, params)?)
            }
            Expr::Or(a, b) => {
                Step::Or(self.condition(a, layout, params)?, self.condition(b, layout, params)?)
            }
            Expr::Not(a) => Step::Not(self.condition(a, layout, params)?),
            Expr::Is(a, Truth::Null, negated) => {
                Step::IsNull(self.compile(a, layout, params)?, *negated)
            }
            Expr::Column(_) | Expr::Const(_) | Expr::Param(_) | Expr::Arith(..) => {
                let number = self.compile(expr, layout, params)?;
                if self.steps[number].1.form == Form::Date {
                    return None;
                }
                Step::Truth(number)
            }
            Expr::Case(..) | Expr::Call(_) => Step::Truth(self.other(expr, layout, params)?),
            _ => return None,
        };
        Some(self.push(step, CONDITION))
    }

    fn comparison(&mut self, op: Comparison, a: usize, b: usize) -> Option<usize> {
        let (a, b) = self.alike(a, b)?;
        Some(self.push(Step::Compare(op, a, b), CONDITION))
    }

    fn choice(&mut self, when: usize, then: usize, otherwise: Option<usize>) -> Option<usize> {
        let Some(otherwise) = otherwise else {
            let shape = self.steps[then].1;
            let choice = self.push(Step::Choice(when, then, None), shape);
            if self.mixed.contains(&then) {
                self.mixed.push(choice);
            }
            return Some(choice);
        };
        let is_mixed = self.steps[then].1.form != self.steps[otherwise].1.form
            || self.mixed.contains(&then)
            || self.mixed.contains(&otherwise);
        let (then, otherwise) = self.alike(then, otherwise)?;
        let (x, y) = (self.steps[then].1, self.steps[otherwise].1);
        let digits = x.digits.max(y.digits);
        let form = match (x.form, y.form) {
            (x, y) if x == y => x,
            // As BIGINT, which a large one is not.
            _ if digits <= NARROW_DIGITS => Form::Int,
            _ => return None,
        };
        let shape = Shape { form, digits };
        let choice = self.push(Step::Choice(when, then, Some(otherwise)), shape);
        if is_mixed {
            self.mixed.push(choice);
        }
        Some(choice)
    }

    /// Two vectors with equally many digits behind the point, two of doubles, or two of dates.
    fn alike(&mut self, a: usize, b: usize) -> Option<(usize, usize)> {
        let (x, y) = (self.steps[a].1, self.steps[b].1);
        let is_exact = |form| !matches!(form, Form::Double | Form::Date);
        if !is_exact(x.form) || !is_exact(y.form) {
            return (x.form == y.form).then_some((a, b));
        }
        let scale = x.scale().max(y.scale());
        Some((self.scaled(a, scale)?, self.scaled(b, scale)?))
    }

    fn remainder(&mut self, a: usize, b: usize) -> Option<usize> {
        let shape = self.steps[a].1;
        if self.mixed.contains(&a) {
            return None;
        }
        match (shape.form, &self.steps[b]) {
            // By 0 it is NULL, and warns.
            (
                Form::Int | Form::UInt,
                (Step::Exact(by), Shape { form: Form::Int | Form::UInt, .. }),
            ) if *by != 0 => {
                let step = Step::Remainder(a, *by);
                Some(self.push(step, shape))
            }
            _ => None,
        }
    }
}

/// Computes a step of this module; `None`: the rows are to be evaluated one by one.
pub(super) fn compute(step: &Step, before: &[Vector], out: &mut Vector) -> Option<()> {
    let nulls = &mut out.nulls;
    match *step {
        Step::Remainder(a, by) => {
            nulls.unite(&before[a].nulls, &before[a].nulls);
            match (&before[a].numbers, &mut out.numbers) {
                (Numbers::Narrow(a), Numbers::Narrow(out)) => match i64::try_from(by) {
                    Ok(by) => fill(out, a.iter().map(|v| v.wrapping_rem(by))),
                    Err(_) => fill(out, a.iter().copied()),
                },
                (Numbers::Wide(a), Numbers::Wide(out)) => {
                    fill(out, a.iter().map(|v| v.wrapping_rem(by)));
                }
                _ => return None,
            }
        }
        Step::Part(part, date) => {
            nulls.unite(&before[date].nulls, &before[date].nulls);
            let (Numbers::Narrow(dates), Numbers::Narrow(out)) =
                (&before[date].numbers, &mut out.numbers)
            else {
                return None;
            };
            fill(out, dates.iter().map(|date| part.get(*date)));
        }
        Step::Compare(op, a, b) => {
            nulls.unite(&before[a].nulls, &before[b].nulls);
            compare(op, &before[a].numbers, &before[b].numbers, conditions(&mut out.numbers)?)?;
            zero_nulls(out)?;
        }
        Step::And(a, b) => logic(&before[a], &before[b], false, out)?,
        Step::Or(a, b) => logic(&before[a], &before[b], true, out)?,
        Step::Not(a) => {
            nulls.unite(&before[a].nulls, &before[a].nulls);
            fill(conditions(&mut out.numbers)?, truths(&before[a])?.iter().map(|v| 1 - v));
            zero_nulls(out)?;
        }
        Step::Truth(a) => {
            nulls.unite(&before[a].nulls, &before[a].nulls);
            let truths = conditions(&mut out.numbers)?;
            match &before[a].numbers {
                Numbers::Narrow(v) => fill(truths, v.iter().map(|v| i64::from(*v != 0))),
                Numbers::Wide(v) => fill(truths, v.iter().map(|v| i64::from(*v != 0))),
                Numbers::Doubles(v) => fill(truths, v.iter().map(|v| i64::from(*v != 0.0))),
            }
            zero_nulls(out)?;
        }
        Step::IsNull(a, negated) => {
            let of = &before[a].nulls;
            let rows = len(&before[a].numbers);
            fill(conditions(&mut out.numbers)?, (0..rows).map(|n| i64::from(of.get(n) != negated)));
        }
        Step::Choice(when, then, otherwise) => {
            choose(&before[when], &before[then], otherwise.map(|n| &before[n]), out)?;
        }
        _ => return None,
    }
    Some(())
}

fn fill<T>(out: &mut Vec<T>, values: impl Iterator<Item = T>) {
    out.clear();
    out.extend(values);
}

fn len(numbers: &Numbers) -> usize {
    match numbers {
        Numbers::Narrow(v) => v.len(),
        Numbers::Wide(v) => v.len(),
        Numbers::Doubles(v) => v.len(),
    }
}

fn conditions(numbers: &mut Numbers) -> Option<&mut Vec<i64>> {
    if let Numbers::Narrow(out) = numbers { Some(out) } else { None }
}

fn truths(vector: &Vector) -> Option<&[i64]> {
    if let Numbers::Narrow(v) = &vector.numbers { Some(v) } else { None }
}

/// Puts 0 where a condition is unknown.
fn zero_nulls(out: &mut Vector) -> Option<()> {
    if out.nulls.any() {
        for (n, v) in conditions(&mut out.numbers)?.iter_mut().enumerate() {
            *v &= i64::from(!out.nulls.get(n));
        }
    }
    Some(())
}

fn compare(op: Comparison, a: &Numbers, b: &Numbers, out: &mut Vec<i64>) -> Option<()> {
    match (a, b) {
        (Numbers::Narrow(a), Numbers::Narrow(b)) => compare_each(op, a, b, |v| *v, out),
        (Numbers::Doubles(a), Numbers::Doubles(b)) => compare_each(op, a, b, |v| *v, out),
        (Numbers::Wide(a), Numbers::Wide(b)) => compare_each(op, a, b, |v| *v, out),
        (Numbers::Narrow(a), Numbers::Wide(b)) => {
            let a: Vec<i128> = a.iter().map(|v| v.wide()).collect();
            compare_each(op, &a, b, |v| *v, out);
        }
        (Numbers::Wide(_), Numbers::Narrow(_)) => return compare(op.flipped(), b, a, out),
        _ => return None,
    }
    Some(())
}

/// One loop for each operator, without a choice inside.
fn compare_each<T, V: PartialOrd>(
    op: Comparison,
    a: &[T],
    b: &[T],
    value: impl Fn(&T) -> V,
    out: &mut Vec<i64>,
) {
    let pairs = a.iter().zip(b).map(|(a, b)| (value(a), value(b)));
    match op {
        Comparison::Eq | Comparison::NullSafeEq => fill(out, pairs.map(|(a, b)| i64::from(a == b))),
        Comparison::Ne => fill(out, pairs.map(|(a, b)| i64::from(a != b))),
        Comparison::Lt => fill(out, pairs.map(|(a, b)| i64::from(a < b))),
        Comparison::Le => fill(out, pairs.map(|(a, b)| i64::from(a <= b))),
        Comparison::Gt => fill(out, pairs.map(|(a, b)| i64::from(a > b))),
        Comparison::Ge => fill(out, pairs.map(|(a, b)| i64::from(a >= b))),
    }
}

/// AND and OR: `decisive` is the operand that alone decides, false of AND and true of OR.
fn logic(a: &Vector, b: &Vector, decisive: bool, out: &mut Vector) -> Option<()> {
    let (x, y) = (truths(a)?, truths(b)?);
    let results = conditions(&mut out.numbers)?;
    let pairs = x.iter().zip(y);
    match decisive {
        false => fill(results, pairs.map(|(x, y)| x & y)),
        true => fill(results, pairs.map(|(x, y)| x | y)),
    }
    if a.nulls.any() || b.nulls.any() {
        let decides = |of: &Vector, v: i64, n: usize| !of.nulls.get(n) && (v != 0) == decisive;
        for (n, (x, y)) in x.iter().zip(y).enumerate() {
            let unknown = a.nulls.get(n) || b.nulls.get(n);
            if unknown && !decides(a, *x, n) && !decides(b, *y, n) {
                out.nulls.set(n);
                results[n] = 0;
            }
        }
    }
    Some(())
}

fn choose(
    when: &Vector,
    then: &Vector,
    otherwise: Option<&Vector>,
    out: &mut Vector,
) -> Option<()> {
    // NULL has 0, so that what is unknown chooses as what is false.
    let when = truths(when)?;
    choose_nulls(when, &then.nulls, otherwise.map(|o| &o.nulls), &mut out.nulls);
    let none = Numbers::Narrow(Vec::new());
    match (&then.numbers, otherwise.map_or(&none, |o| &o.numbers), &mut out.numbers) {
        (Numbers::Doubles(a), Numbers::Doubles(b), Numbers::Doubles(out)) => {
            fill(
                out,
                when.iter().zip(a.iter().zip(b)).map(|(w, (a, b))| if *w != 0 { *a } else { *b }),
            );
        }
        (Numbers::Doubles(a), _, Numbers::Doubles(out)) if otherwise.is_none() => {
            fill(out, when.iter().zip(a).map(|(w, a)| if *w != 0 { *a } else { 0.0 }));
        }
        (Numbers::Narrow(a), Numbers::Narrow(b), Numbers::Narrow(out)) => match otherwise {
            Some(_) => {
                fill(
                    out,
                    when.iter()
                        .zip(a.iter().zip(b))
                        .map(|(w, (a, b))| if *w != 0 { *a } else { *b }),
                );
            }
            None => fill(out, when.iter().zip(a).map(|(w, a)| if *w != 0 { *a } else { 0 })),
        },
        (Numbers::Narrow(a), b, Numbers::Wide(out)) => wide(when, a, b, out)?,
        (Numbers::Wide(a), b, Numbers::Wide(out)) => wide(when, a, b, out)?,
        _ => return None,
    }
    Some(())
}

/// [`choose`] of numbers of which one is wide; an empty second one is 0.
fn wide<A: Exact>(when: &[i64], a: &[A], b: &Numbers, out: &mut Vec<i128>) -> Option<()> {
    let get = |n: usize| match b {
        Numbers::Narrow(b) => b.get(n).copied().unwrap_or(0).into(),
        Numbers::Wide(b) => b.get(n).copied().unwrap_or(0),
        Numbers::Doubles(_) => 0,
    };
    let chosen = when.iter().zip(a).enumerate();
    fill(out, chosen.map(|(n, (w, a))| if *w != 0 { a.wide() } else { get(n) }));
    Some(())
}

fn choose_nulls(when: &[i64], then: &Nulls, otherwise: Option<&Nulls>, out: &mut Nulls) {
    if !then.any() && otherwise.is_some_and(|o| !o.any()) {
        return;
    }
    for (n, w) in when.iter().enumerate() {
        let null = match *w != 0 {
            true => then.get(n),
            false => otherwise.is_none_or(|o| o.get(n)),
        };
        if null {
            out.set(n);
        }
    }
}
