//! Functions that choose one of their arguments.

use super::call::{Answer, Call, NULL};
use super::{Function, MANY, Nulls, Purity, Run, Shape, function};
use crate::build::Derive;
use crate::eval::{Value, condition, eval, holds};
use crate::row::Row;
use crate::tree::CallSite;
use crate::{Environment, SqlError};
use value::{ColumnType, Datum};

pub static FUNCTIONS: &[Function] = &[
    lazy("if", (3, 3), if_type, choose, "the second argument if the first is true, else the third"),
    lazy(
        "ifnull",
        (2, 2),
        coalesce_type,
        coalesce,
        "the first argument unless it is NULL, else the second",
    ),
    lazy("coalesce", (1, MANY), coalesce_type, coalesce, "the first argument that is not NULL"),
    lazy("nullif", (2, 2), nullif_type, nullif, "NULL if the arguments are equal, else the first")
        .written(Shape::NullIf),
    function("isnull", (1, 1), isnull_type, isnull, "whether the argument is NULL").sees_null(),
    function("any_value", (1, 1), same_type, same, "the argument").sees_null(),
];

/// A function that computes its arguments itself, as far as it needs them.
pub(super) const fn lazy(
    name: &'static str,
    arity: (usize, usize),
    derive: super::DeriveType,
    run: for<'v> fn(&'v CallSite, &Row<'v>, &mut dyn Environment) -> Answer<'v>,
    doc: &'static str,
) -> Function {
    Function {
        name,
        arity,
        nulls: Nulls::Own,
        purity: Purity::Constant,
        shape: Shape::Call,
        derive,
        run: Run::Lazy(run),
        doc,
    }
}

type Derived = Result<ColumnType, SqlError>;

fn if_type(d: &mut Derive<'_>) -> Derived {
    d.common(1..3)
}

fn coalesce_type(d: &mut Derive<'_>) -> Derived {
    let all = d.args.len();
    let ty = d.common(0..all)?;
    Ok(ColumnType { nullable: d.args.iter().all(|a| a.ty.nullable), ..ty })
}

/// Its second argument is the comparison of both.
fn nullif_type(d: &mut Derive<'_>) -> Derived {
    d.coercibility = Some(d.args[0].coercibility);
    Ok(ColumnType { nullable: true, ..d.ty(0) })
}

fn isnull_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: false, ..d.int(1) })
}

fn same_type(d: &mut Derive<'_>) -> Derived {
    d.coercibility = Some(d.args[0].coercibility);
    Ok(d.ty(0))
}

fn choose<'v>(site: &'v CallSite, row: &Row<'v>, env: &mut dyn Environment) -> Answer<'v> {
    let chosen = if holds(&site.arguments[0], row, env)? { 1 } else { 2 };
    eval(&site.arguments[chosen], row, env)
}

fn coalesce<'v>(site: &'v CallSite, row: &Row<'v>, env: &mut dyn Environment) -> Answer<'v> {
    for argument in &site.arguments {
        let value = eval(argument, row, env)?;
        if !value.get().is_null() {
            return Ok(value);
        }
    }
    Ok(NULL)
}

fn nullif<'v>(site: &'v CallSite, row: &Row<'v>, env: &mut dyn Environment) -> Answer<'v> {
    match condition(&site.arguments[1], row, env)? {
        Some(true) => Ok(NULL),
        _ => eval(&site.arguments[0], row, env),
    }
}

fn isnull<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(Value::Datum(Datum::Int(i64::from(c.is_null(0)))))
}

fn same<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.take(0))
}
