//! Expressions made of operands that are bound already: types and collations derived.

use crate::bind;
use expr::SqlError;
use expr::build::Settings;
use expr::tree::Typed;
use parser::ast;
use value::collation::aggregate::{Purpose, aggregate};
use value::{ColumnType, Kind};

/// Makes expressions under a session's settings.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
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
    /// A builder for a session.
    pub fn new(settings: Settings) -> Builder {
        Builder { core: expr::build::Builder::new(settings) }
    }

    fn scope(&self) -> bind::Scope<'static> {
        bind::Scope::new(None, "field list").under(self.settings)
    }

    /// A parameter.
    pub fn free(&self, expr: &ast::Expr) -> Result<Typed, SqlError> {
        self.scope().bind(expr)
    }

    /// The type that holds the values of all of `values`.
    pub fn common(&self, values: &[&Typed]) -> ColumnType {
        let same = values.windows(2).all(|pair| {
            let any = |ty: ColumnType| ColumnType { nullable: true, ..ty };
            any(pair[0].ty) == any(pair[1].ty)
        });
        let texts =
            values.iter().filter(|v| expr::build::is_stringy(&v.ty) || v.ty.kind == Kind::Json);
        let texts: Vec<_> = texts.collect();
        let claims: Vec<_> = texts.iter().map(|v| expr::build::claim(v, &self.settings)).collect();
        let met = aggregate(&claims, Purpose::Compare, self.settings.collation);
        let text = match (met, texts.first()) {
            (_, None) => self.settings.collation,
            (Ok(met), _) => met.collation,
            (Err(_), Some(first)) => first.ty.collation,
        };
        let common = expr::build::common::common(values, text);
        // Members are texts where several meet.
        let kept = |first: &&&Typed| same && (values.len() == 1 || !first.ty.kind.has_members());
        match values.first().filter(kept) {
            Some(first) => ColumnType { nullable: common.nullable, ..first.ty },
            None => common,
        }
    }
}
