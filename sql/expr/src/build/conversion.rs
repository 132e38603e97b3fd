//! Conversion of what IF, CASE and NULLIF choose, where a number, a text or a moment is wanted.
//!
//! 1. Their text is that of all branches; a number is read from the chosen branch by itself: a date gives its
//! digits, ENUM its place, `x'41'` 65. 2. CAST AS SIGNED and COALESCE read the text (MySQL's ways).
//! 3. Numbers are read without a warning from columns of TEXT and BLOB and from what COALESCE, IFNULL, GREATEST
//! and LEAST give. 4. A decimal's text has the digits of the chosen branch.

use super::derive::{call, is_stringy};
use super::operand_coercion::is_column;
use super::operators::bits_as_number;
use super::widths::DOUBLE_CHARS;
use crate::functions::{
    AS_ALIKE, AS_INTEGER_QUIETLY, AS_NUMBER_QUIETLY, BARE_WHOLE, DOUBLE_WITHIN, TEMPORAL_OF_TEXT,
    ZERO_KEPT, moments_of, number_of_bits,
};
use crate::tree::{Arithmetic, CallSite, Expr, OwnedDatum, Typed};
use std::ops::Range;
use value::{Collation, ColumnType, Kind};

/// A value that is wanted as a double.
pub(crate) fn as_number(value: Typed) -> Typed {
    let value = as_chosen(as_chosen_moment(padded_variable(value)));
    match is_quiet(&value) {
        true => {
            let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::double() };
            Typed { expr: call(&AS_NUMBER_QUIETLY, &value, ty), ..value }
        }
        false => value,
    }
}

/// A user variable that is a decimal has, where it is computed with, all digits of its type.
pub(super) fn padded_variable(value: Typed) -> Typed {
    match value.expr {
        Expr::UserVar(..) if value.ty.kind == Kind::Decimal => {
            Typed { expr: call(&crate::functions::CAST, &value, value.ty), ..value }
        }
        _ => value,
    }
}

/// The number of the date, time or moment that IF and CASE choose: its own, with the digits of all.
pub(super) fn as_chosen_moment(value: Typed) -> Typed {
    let moment = |ty: &ColumnType| ty.kind.has_date() || ty.kind == Kind::Time;
    let digits = ColumnType { nullable: true, ..ColumnType::decimal(30, value.ty.decimals) };
    let number = |site: &CallSite| {
        let converted = site.function == &AS_ALIKE && moment(&site.types[0]);
        let inner = || Typed::new(site.arguments[0].clone(), site.types[0]);
        converted.then(|| call(&crate::functions::CAST, &inner(), digits))
    };
    match through(&value.expr, &number).filter(|_| moment(&value.ty)) {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

/// A value that is wanted as an integer.
pub(super) fn as_integer(value: Typed) -> Typed {
    let value = as_chosen(as_chosen_moment(value));
    match is_quiet(&value) {
        true => {
            let ty = ColumnType::int(Kind::BigInt, false);
            let ty = ColumnType { nullable: value.ty.nullable, ..ty };
            Typed { expr: call(&AS_INTEGER_QUIETLY, &value, ty), ..value }
        }
        false => value,
    }
}

/// A value that is wanted as a number of any kind.
pub(super) fn as_chosen(value: Typed) -> Typed {
    if !is_stringy(&value.ty) {
        return as_chosen_float(value);
    }
    match chosen(&value.expr) {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

/// The number that is chosen among FLOATs: its own, with the digits that a FLOAT has no room for.
pub(super) fn as_chosen_float(value: Typed) -> Typed {
    if value.ty.kind != Kind::Float {
        return value;
    }
    let results = |site: &CallSite| match site.function.name {
        "coalesce" | "ifnull" => Some(0..site.arguments.len()),
        _ => passed_on(site),
    };
    let own = in_branches(&value.expr, &results, &|e| match e {
        Expr::Call(site) if site.function == &AS_ALIKE && site.types[0].kind.is_number() => {
            Some(site.arguments[0].clone())
        }
        _ => None,
    });
    match own {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

fn is_quiet(value: &Typed) -> bool {
    let quiet = match &value.expr {
        Expr::Column(_) => value.ty.kind.is_large(),
        Expr::Call(site) => {
            matches!(site.function.name, "coalesce" | "ifnull" | "greatest" | "least")
        }
        _ => false,
    };
    quiet && value.ty.kind.is_string()
}

/// The expression with branches that are numbers by themselves; `None` if none is.
fn chosen(expr: &Expr) -> Option<Expr> {
    through(expr, &|site| match site.function.name {
        _ if site.function == &AS_ALIKE => own_number(&site.arguments[0], &site.types[0]),
        "greatest" | "least" => moment_as_number(site).or_else(|| extreme_as_number(site)),
        _ => {
            let double = ColumnType { length: DOUBLE_CHARS, ..ColumnType::double() };
            let ty = ColumnType { nullable: true, ..ColumnType::temporal(Kind::DateTime, 6) };
            let temporal = Typed::new(temporal_of_text(site)?, ty);
            Some(call(&crate::functions::CAST, &temporal, double))
        }
    })
}

/// What ADDTIME or an interval makes of text, which is text of a date or time, as one; `None` for other calls.
fn temporal_of_text(site: &CallSite) -> Option<Expr> {
    let hybrid = matches!(site.function.name, "addtime" | "subtime" | "+ interval" | "- interval");
    if !hybrid || !is_stringy(&site.ty) {
        return None;
    }
    let text = Typed::new(Expr::Call(Box::new(site.clone())), site.ty);
    Some(call(&TEMPORAL_OF_TEXT, &text, site.ty))
}

/// A value that is wanted as text: of the decimals that IF and CASE choose among, each shows the digits that it
/// has by itself.
pub fn as_text(value: Typed) -> Typed {
    if value.ty.kind != Kind::Decimal {
        return value;
    }
    match bare(&value.expr, &|ty| ty.kind.is_int() || ty.kind == Kind::Decimal) {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

/// A decimal that is stored as text, kept among texts, or put into a document: COALESCE, GREATEST and their kin, too,
/// give the digits of what they choose, and the zero that a difference, a product or a quotient comes to has none
/// behind the point. `micros` is how many of them UNIX_TIMESTAMP shows of a second's fraction.
pub(super) fn with_own_digits(value: Typed, micros: u8) -> Typed {
    if value.ty.kind != Kind::Decimal {
        return value;
    }
    match own_digits(&value.expr, &value.ty, micros) {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

/// The expression of a decimal with the digits that MySQL computes it with; `None` if those are its type's.
fn own_digits(expr: &Expr, ty: &ColumnType, micros: u8) -> Option<Expr> {
    let own = |e: &Expr| own_digits(e, ty, micros);
    let or_as_it_is = |e: &Expr| Box::new(own(e).unwrap_or_else(|| e.clone()));
    match expr {
        Expr::Neg(inner) => own(inner).map(|e| Expr::Neg(Box::new(e))),
        Expr::Arith(op, a, b) => {
            let (a, b) = match op {
                Arithmetic::Div(_) => (a.clone(), b.clone()),
                _ => (or_as_it_is(a), or_as_it_is(b)),
            };
            Some(call(&ZERO_KEPT, &Typed::new(Expr::Arith(*op, a, b), *ty), *ty))
        }
        Expr::Case(branches, otherwise) => {
            let branches = branches.iter().map(|(when, then)| (when.clone(), *or_as_it_is(then)));
            Some(Expr::Case(branches.collect(), otherwise.as_ref().map(|e| or_as_it_is(e))))
        }
        Expr::Call(site) => own_digits_of_call(site, micros),
        _ => None,
    }
}

fn own_digits_of_call(site: &CallSite, micros: u8) -> Option<Expr> {
    let exact = |ty: &ColumnType| ty.kind.is_int() || ty.kind == Kind::Decimal;
    let passed = match site.function.name {
        _ if site.function == &AS_ALIKE && exact(&site.types[0]) => {
            let (inner, ty) = (&site.arguments[0], &site.types[0]);
            return Some(own_digits(inner, ty, micros).unwrap_or_else(|| inner.clone()));
        }
        "unix_timestamp" if site.ty.kind == Kind::Decimal => {
            let ty = ColumnType { decimals: micros, ..site.ty };
            let moment = Expr::Call(Box::new(CallSite { ty, ..site.clone() }));
            return Some(call(&BARE_WHOLE, &Typed::new(moment, ty), ty));
        }
        "coalesce" | "ifnull" | "greatest" | "least" => 0..site.arguments.len(),
        "abs" => 0..1,
        _ => passed_on(site)?,
    };
    let mut site = site.clone();
    for n in passed {
        if let Some(own) = own_digits(&site.arguments[n], &site.types[n], micros) {
            site.arguments[n] = own;
        }
    }
    Some(Expr::Call(Box::new(site)))
}

/// A year that is wanted as text: the zero of one that is computed is one digit. IF, CASE and NULLIF pass on what
/// they choose.
pub(super) fn year_as_text(value: Typed) -> Typed {
    if value.ty.kind != Kind::Year {
        return value;
    }
    let int = ColumnType::int(Kind::Int, true);
    let int = ColumnType { length: 4, nullable: value.ty.nullable, ..int };
    let number = |expr: Expr| call(&AS_ALIKE, &Typed::new(expr, value.ty), int);
    match &value.expr {
        Expr::Call(site) if !matches!(site.function.name, "if" | "nullif") => {
            Typed { expr: number(value.expr.clone()), ty: int, ..value }
        }
        expr => match through(expr, &|site| Some(number(Expr::Call(Box::new(site.clone()))))) {
            Some(expr) => Typed { expr, ..value },
            None => value,
        },
    }
}

/// A year, bits or a number with leading zeros that is stored as text or kept among texts: a plain number, but a
/// column's own text in a column of TEXT or BLOB (`large`).
pub(super) fn kept_number(value: Typed, large: bool) -> Typed {
    let ty = value.ty;
    if !matches!(ty.kind, Kind::Year | Kind::Bit) && !ty.zerofill {
        return value;
    }
    if large && is_column(&value) {
        let text = super::string(super::widths::chars(&ty), Collation::Binary);
        let text = ColumnType { nullable: ty.nullable, ..text };
        return Typed { expr: call(&AS_ALIKE, &value, text), ty: text, ..value };
    }
    let int = ColumnType { nullable: ty.nullable, ..ColumnType::int(Kind::BigInt, true) };
    Typed { expr: call(&AS_ALIKE, &value, int), ty: int, ..value }
}

/// A FLOAT column of a set operation whose column is text: as many digits of the double as that has room for; its own
/// text in a column of TEXT or BLOB.
pub(super) fn kept_float(value: Typed, to: &ColumnType) -> Typed {
    if value.ty.kind != Kind::Float || !is_column(&value) {
        return value;
    }
    let (function, chars) = match to.kind.is_large() {
        true => (&AS_ALIKE, super::widths::chars(&value.ty)),
        false => (&DOUBLE_WITHIN, to.length),
    };
    let ty = super::string(chars, to.collation);
    let ty = ColumnType { nullable: value.ty.nullable, ..ty };
    Typed { expr: call(function, &value, ty), ty, ..value }
}

/// A value that is wanted as a moment: a date or time that is chosen among texts is read by itself.
pub(super) fn as_moment(value: Typed) -> Typed {
    if !is_stringy(&value.ty) {
        return value;
    }
    let value = as_written_moment(value);
    match through(&value.expr, &temporal_of_text) {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

/// As [`as_moment`]; what ADDTIME or an interval makes of text is text.
pub(super) fn as_written_moment(value: Typed) -> Typed {
    if !is_stringy(&value.ty) {
        return value;
    }
    let moment = |ty: &ColumnType| ty.kind.has_date() || ty.kind == Kind::Time;
    match bare(&value.expr, &moment) {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

/// As [`as_moment`], for functions and casts: a number is read from the chosen branch, too (101 is 2000-01-01).
pub(super) fn as_moment_or_number(value: Typed) -> Typed {
    let value = as_moment(value);
    if !is_stringy(&value.ty) {
        return value;
    }
    match bare(&value.expr, &|ty| ty.kind.is_number()) {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

/// A value that is wanted as a time: as [`as_moment`], and a time that is chosen among moments is itself.
pub(super) fn as_time(value: Typed) -> Typed {
    if !matches!(value.ty.kind, Kind::DateTime | Kind::Timestamp) {
        return as_moment(value);
    }
    match bare(&value.expr, &|ty| ty.kind == Kind::Time) {
        Some(expr) => Typed { expr, ..value },
        None => value,
    }
}

/// The expression with branches of some types as they stand, not converted to the type of all.
fn bare(expr: &Expr, counts: &dyn Fn(&ColumnType) -> bool) -> Option<Expr> {
    through(expr, &|site| {
        let inner = site.arguments.first()?;
        let converted = site.function == &AS_ALIKE && counts(&site.types[0]);
        converted.then(|| bare(inner, counts).unwrap_or_else(|| inner.clone()))
    })
}

/// The expression with other calls in the branches of IF, CASE and NULLIF; `None` if `change` changes none.
fn through(expr: &Expr, change: &dyn Fn(&CallSite) -> Option<Expr>) -> Option<Expr> {
    in_branches(expr, &passed_on, &|e| match e {
        Expr::Call(site) => change(site),
        _ => None,
    })
}

/// The arguments of IF and NULLIF that they pass on; `None` for other calls.
fn passed_on(site: &CallSite) -> Option<Range<usize>> {
    match site.function.name {
        "if" => Some(1..3),
        "nullif" => Some(0..1),
        _ => None,
    }
}

/// The expression with others in the branches of CASE and of the calls whose `results` are some of their arguments;
/// `None` if `change` changes none.
fn in_branches(
    expr: &Expr,
    results: &dyn Fn(&CallSite) -> Option<Range<usize>>,
    change: &dyn Fn(&Expr) -> Option<Expr>,
) -> Option<Expr> {
    let mut found = false;
    let mut branch = |branch: &Expr| {
        let changed = in_branches(branch, results, change);
        found |= changed.is_some();
        changed.unwrap_or_else(|| branch.clone())
    };
    let changed = match expr {
        Expr::Case(branches, otherwise) => {
            let branches = branches.iter().map(|(when, then)| (when.clone(), branch(then)));
            let branches = branches.collect();
            let otherwise = otherwise.as_ref().map(|e| Box::new(branch(e)));
            Expr::Case(branches, otherwise)
        }
        Expr::Call(site) => {
            let Some(results) = results(site) else { return change(expr) };
            let mut site = site.clone();
            for result in &mut site.arguments[results] {
                *result = branch(result);
            }
            Expr::Call(site)
        }
        _ => return change(expr),
    };
    found.then_some(changed)
}

/// Whether an expression chooses among its parts: IF, CASE and their kin.
pub(super) fn chooses(expr: &Expr) -> bool {
    match expr {
        Expr::Case(..) => true,
        Expr::Call(site) => {
            matches!(site.function.name, "if" | "ifnull" | "coalesce" | "nullif")
        }
        _ => false,
    }
}

/// Whether an expression is IF, CASE or NULLIF.
pub(crate) fn is_chosen(expr: &Expr) -> bool {
    match expr {
        Expr::Case(..) => true,
        Expr::Call(site) => matches!(site.function.name, "if" | "nullif"),
        _ => false,
    }
}

/// Whether an expression is NULL whatever is chosen: MySQL gives it no type.
pub fn is_nothing(expr: &Expr) -> bool {
    match expr {
        Expr::Const(value) => *value == OwnedDatum::Null,
        Expr::Case(branches, otherwise) => {
            branches.iter().all(|(_, then)| is_nothing(then))
                && otherwise.iter().all(|e| is_nothing(e))
        }
        Expr::Call(site) => match site.function.name {
            "if" => site.arguments[1..].iter().all(is_nothing),
            "ifnull" | "coalesce" => site.arguments.iter().all(is_nothing),
            _ => false,
        },
        _ => false,
    }
}

/// As [`is_nothing`], and NULLIF, LEAST and GREATEST: what says nothing of the type beside others, though MySQL
/// announces it as text by itself.
pub(super) fn has_no_type(expr: &Expr) -> bool {
    match expr {
        Expr::Call(site) => match site.function.name {
            "nullif" => site.arguments.first().is_some_and(has_no_type),
            "least" | "greatest" | "ifnull" | "coalesce" => site.arguments.iter().all(has_no_type),
            "if" => site.arguments[1..].iter().all(has_no_type),
            _ => is_nothing(expr),
        },
        Expr::Case(branches, otherwise) => {
            branches.iter().all(|(_, then)| has_no_type(then))
                && otherwise.iter().all(|e| has_no_type(e))
        }
        Expr::UserVar(..) => crate::variables::is_unset(expr),
        _ => is_nothing(expr),
    }
}

/// The digits of the date that GREATEST or LEAST chooses among values that are no dates by themselves.
fn moment_as_number(site: &CallSite) -> Option<Expr> {
    let kind = moments_of(site.types.iter())?;
    let ty = ColumnType { nullable: true, ..ColumnType::temporal(kind, 0) };
    let moment = Expr::Call(Box::new(CallSite { ty, ..site.clone() }));
    let double = ColumnType { length: DOUBLE_CHARS, ..ColumnType::double() };
    Some(call(&crate::functions::CAST, &Typed::new(moment, ty), double))
}

/// The date that GREATEST or LEAST chooses, where a whole number is wanted: its digits.
pub(super) fn extreme_moment(value: Typed) -> Typed {
    let number = match &value.expr {
        Expr::Call(site) if matches!(site.function.name, "greatest" | "least") => {
            moment_as_number(site)
        }
        _ => None,
    };
    match number {
        Some(expr) => {
            let ty = ColumnType { length: DOUBLE_CHARS, ..ColumnType::double() };
            Typed { expr, ty: ColumnType { nullable: value.ty.nullable, ..ty }, ..value }
        }
        None => value,
    }
}

/// An argument as it was before it took the type of all.
pub(super) fn written<'e>(argument: &'e Expr, ty: &'e ColumnType) -> (&'e Expr, &'e ColumnType) {
    match argument {
        Expr::Call(inner) if inner.function == &AS_ALIKE => (&inner.arguments[0], &inner.types[0]),
        _ => (argument, ty),
    }
}

/// GREATEST or LEAST of times or years among texts compares numbers where a number is wanted.
fn extreme_as_number(site: &CallSite) -> Option<Expr> {
    let written: Vec<(&Expr, &ColumnType)> = site
        .arguments
        .iter()
        .zip(&site.types)
        .map(|(argument, ty)| written(argument, ty))
        .collect();
    if !is_stringy(&site.ty)
        || !written.iter().any(|(_, ty)| matches!(ty.kind, Kind::Time | Kind::Year))
    {
        return None;
    }
    let double = ColumnType { length: DOUBLE_CHARS, nullable: true, ..ColumnType::double() };
    let number = |(value, ty): (&Expr, &ColumnType)| {
        let cast = || call(&crate::functions::CAST, &Typed::new(value.clone(), *ty), double);
        own_number(value, ty).unwrap_or_else(cast)
    };
    Some(Expr::Call(Box::new(CallSite {
        types: vec![double; written.len()],
        arguments: written.into_iter().map(number).collect(),
        ty: double,
        ..site.clone()
    })))
}

/// The number that a value is which is among texts; `None` where it is the number that its text is.
fn own_number(value: &Expr, ty: &ColumnType) -> Option<Expr> {
    let written_as_bits = match value {
        Expr::Const(OwnedDatum::Bytes(bytes)) => number_of_bits(ty, bytes).is_some(),
        _ => false,
    };
    let moment = ty.kind.has_date() || ty.kind == Kind::Time;
    if !moment && !ty.kind.has_members() && !written_as_bits {
        return None;
    }
    let value = bits_as_number(Typed::new(value.clone(), *ty));
    let double = ColumnType { length: DOUBLE_CHARS, ..ColumnType::double() };
    Some(call(&crate::functions::CAST, &value, double))
}
