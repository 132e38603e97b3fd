//! DEFAULT(column) in an expression: the value that the definition gives, as a constant.
//!
//! 1. A default that is computed for each row has no such value (3773), CURRENT_TIMESTAMP is NULL or zero here, as in
//! MySQL. 2. Statements are planned anew when a definition changes, so the constant is never an old one.

use crate::error::PlanError;
use crate::logical::{Leaf, Source};
use catalog::{ColumnDef, DefaultValue, TableCache};
use expr::SqlError;
use expr::build::call_of;
use expr::functions::IN_ZONE;
use expr::tree::{Expr, OwnedDatum, Typed};
use value::Kind;

/// The default of a column of a table.
///
/// # Errors
/// 1364 without one, 3773 for an expression.
pub(crate) fn default_of(column: &ColumnDef) -> Result<Typed, SqlError> {
    let mut scratch = Vec::new();
    let value = match &column.default {
        DefaultValue::Expr(_) => {
            return Err(PlanError::DefaultOfExpression.into());
        }
        DefaultValue::None if column.auto_increment => OwnedDatum::Int(0),
        DefaultValue::None => return Err(none(&column.name)),
        _ if column.generated.is_some() => return Err(none(&column.name)),
        DefaultValue::Now(_) if !column.ty.nullable => {
            OwnedDatum::of(&value::coerce::implicit_default(&column.ty, &mut scratch))
        }
        DefaultValue::Now(_) | DefaultValue::Null => OwnedDatum::Null,
        DefaultValue::Int(_) | DefaultValue::Bytes(_) => {
            column.stored_default().unwrap_or(OwnedDatum::Null)
        }
    };
    let constant = Typed::new(Expr::Const(value), column.ty);
    Ok(match column.ty.kind {
        Kind::Timestamp => Typed { expr: call_of(&IN_ZONE, &constant, column.ty), ..constant },
        _ => constant,
    })
}

/// The default of a leaf's column: that of the stored column which it shows, however deep.
///
/// # Errors
/// As [`default_of`]; 1364 for what is no stored column.
pub(crate) fn default_of_leaf(
    leaf: &Leaf,
    column: usize,
    tables: &TableCache,
) -> Result<Typed, SqlError> {
    let name = || leaf.columns.get(column).map_or("", |c| &c.result.name);
    match &leaf.source {
        Source::Table(table) => default_of(&tables.def(*table).columns[column]),
        Source::Derived { block, .. } => {
            let shown = block.outputs.get(column).map(|output| &output.value.expr);
            let Some(Expr::Column(place)) = shown else { return Err(none(name())) };
            match block.leaves.get(usize::from(place.leaf)).filter(|_| place.depth == 0) {
                Some(leaf) => default_of_leaf(leaf, usize::from(place.column), tables),
                None => Err(none(name())),
            }
        }
        _ => Err(none(name())),
    }
}

fn none(column: &str) -> SqlError {
    PlanError::NoDefault(column).into()
}
