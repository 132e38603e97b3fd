//! Expressions made of operands that are bound already: types and collations derived.

use crate::bind;
use crate::query_plan::{AggregateCall, AggregateFunction};
use expr::SqlError;
use expr::tree::{AggregateKind, Expr, Typed};
use parser::ast;
use value::{Collation, ColumnType};

/// Makes expressions under a session's settings.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    /// Collation of literals.
    pub collation: Collation,
    /// What needs no plan.
    pub core: expr::build::Builder,
}

impl std::ops::Deref for Builder {
    type Target = expr::build::Builder;

    fn deref(&self) -> &expr::build::Builder {
        &self.core
    }
}

impl Builder {
    /// A builder whose literals have this collation.
    pub fn collated(collation: Collation) -> Builder {
        Builder { collation, core: expr::build::Builder::collated(collation) }
    }

    fn scope(&self) -> bind::Scope<'static> {
        bind::Scope::new(None, "field list").collated(self.collation)
    }

    /// A parameter, a system variable or the value of a user variable.
    pub fn free(&self, expr: &ast::Expr) -> Result<Typed, SqlError> {
        self.scope().bind(expr)
    }

    /// Collation under which two values compare.
    pub fn collation_of(&self, a: &Typed, b: &Typed) -> Result<Collation, SqlError> {
        let (_, _, collation) = self.core.comparable(a.clone(), b.clone(), "=")?;
        Ok(collation)
    }

    /// The type that holds the values of all of `values`.
    pub fn common(&self, values: &[&Typed]) -> ColumnType {
        let same = values.windows(2).all(|pair| {
            let any = |ty: ColumnType| ColumnType { nullable: true, ..ty };
            any(pair[0].ty) == any(pair[1].ty)
        });
        let text = values.iter().find(|v| v.ty.is_text()).map(|v| v.ty.collation);
        let common = expr::build::common::common(values, text.unwrap_or(self.collation));
        match values.first().filter(|_| same) {
            Some(first) => ColumnType { nullable: common.nullable, ..first.ty },
            None => common,
        }
    }

    /// An aggregate over bound arguments.
    pub fn aggregate(
        &self,
        aggregate: &ast::Aggregate,
        arguments: Vec<Typed>,
    ) -> Result<AggregateCall, SqlError> {
        use ast::AggregateKind as A;
        let (function, kind) = match aggregate.kind {
            A::Count if arguments.is_empty() => {
                (AggregateFunction::CountAll, AggregateKind::CountAll)
            }
            A::Count => (AggregateFunction::Count, AggregateKind::Count),
            A::Sum => (AggregateFunction::Sum, AggregateKind::Sum),
            A::Min => (AggregateFunction::Min, AggregateKind::Min),
            A::Max => (AggregateFunction::Max, AggregateKind::Max),
            A::Avg => (AggregateFunction::Avg, AggregateKind::Avg),
            other => return Err(SqlError::unsupported(format!("{other:?}").to_ascii_uppercase())),
        };
        let one = Typed::bigint(Expr::int(1));
        let first = arguments.first().unwrap_or(&one);
        let ty = bind::aggregate_type(kind, first);
        Ok(AggregateCall {
            function,
            distinct: aggregate.distinct,
            collation: first.ty.collation,
            arguments,
            order_by: Vec::new(),
            separator: aggregate.separator.clone().unwrap_or_default(),
            ty,
            decimals: ty.decimals,
        })
    }

    /// The value of any row of a group.
    pub fn any_value(&self, value: Typed) -> AggregateCall {
        AggregateCall {
            function: AggregateFunction::AnyValue,
            distinct: false,
            order_by: Vec::new(),
            separator: Vec::new(),
            ty: value.ty,
            decimals: value.ty.decimals,
            collation: value.ty.collation,
            arguments: vec![value],
        }
    }
}
