//! What IF, CASE and NULLIF choose, where a number is wanted.
//!
//! 1. Their text is that of all branches; a number is read from the chosen branch by itself: a date gives its
//! digits, ENUM its place, `x'41'` 65. 2. CAST AS SIGNED and COALESCE read the text (MySQL's ways).
//! 3. Numbers are read without a warning from columns of TEXT and BLOB and from what COALESCE, IFNULL, GREATEST
//! and LEAST give.

use super::derive::{call, is_stringy};
use super::operators::bits_as_number;
use super::widths::DOUBLE_CHARS;
use crate::functions::{AS_ALIKE, AS_NUMBER_QUIETLY, moments_of, number_of_bits};
use crate::tree::{CallSite, Expr, Typed};
use value::{ColumnType, Kind};

/// A value that is wanted as a double.
pub(super) fn as_number(value: Typed) -> Typed {
    let value = as_chosen(value);
    match is_quiet(&value) {
        true => {
            let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::double() };
            Typed { expr: call(&AS_NUMBER_QUIETLY, &value, ty), ..value }
        }
        false => value,
    }
}

/// A value that is wanted as a number of any kind.
pub(super) fn as_chosen(value: Typed) -> Typed {
    if !is_stringy(&value.ty) {
        return value;
    }
    match chosen(&value.expr) {
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
    let mut found = false;
    let mut number = |branch: &Expr| {
        let number = chosen(branch);
        found |= number.is_some();
        number.unwrap_or_else(|| branch.clone())
    };
    let chosen = match expr {
        Expr::Case(branches, otherwise) => {
            let branches = branches.iter().map(|(when, then)| (when.clone(), number(then)));
            let branches = branches.collect();
            let otherwise = otherwise.as_ref().map(|e| Box::new(number(e)));
            Expr::Case(branches, otherwise)
        }
        Expr::Call(site) if site.function == &AS_ALIKE => {
            return own_number(&site.arguments[0], &site.types[0]);
        }
        Expr::Call(site) if matches!(site.function.name, "if" | "nullif") => {
            let mut site = site.clone();
            let results = if site.function.name == "if" { 1..3 } else { 0..1 };
            for result in &mut site.arguments[results] {
                *result = number(result);
            }
            Expr::Call(site)
        }
        Expr::Call(site) if matches!(site.function.name, "greatest" | "least") => {
            return moment_as_number(site);
        }
        _ => return None,
    };
    found.then_some(chosen)
}

/// The digits of the date that GREATEST or LEAST chooses among values that are no dates by themselves.
fn moment_as_number(site: &CallSite) -> Option<Expr> {
    let kind = moments_of(site.types.iter())?;
    let ty = ColumnType { nullable: true, ..ColumnType::temporal(kind, 0) };
    let moment = Expr::Call(Box::new(CallSite { ty, ..site.clone() }));
    let double = ColumnType { length: DOUBLE_CHARS, ..ColumnType::double() };
    Some(call(&crate::functions::CAST, &Typed::new(moment, ty), double))
}

/// The number that a value is which is among texts; `None` where it is the number that its text is.
fn own_number(value: &Expr, ty: &ColumnType) -> Option<Expr> {
    let written_as_bits = match value {
        Expr::Const(crate::tree::OwnedDatum::Bytes(bytes)) => number_of_bits(ty, bytes).is_some(),
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
