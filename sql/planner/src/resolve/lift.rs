//! Literals that become parameters: those of WHERE and ON that are compared with a column.
//!
//! 1. Only conjuncts count: the planner finds what the alternatives of an OR have in common by their values. A
//!    subquery in a select list is part of a column's name, and its literals with it. 2. A parameter has its literal's type, and the comparison needs no conversion, so that what is built is
//!    what the literal would have made, but for the value.

use super::Resolver;
use expr::SqlError;
use expr::build::is_stringy;
use expr::tree::{Expr, Typed};
use parser::ast::{self, BinaryOp};
use value::{Charset, Kind};

impl Resolver<'_, '_> {
    /// A condition of rows: WHERE or ON.
    pub(crate) fn row_condition(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let value = self.conjunct(e)?;
        match value.expr {
            Expr::Row(_) => Err(super::one_column()),
            _ => Ok(self.build.truth_of(value)),
        }
    }

    /// As [`Resolver::value_or_row`].
    fn conjunct(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        use ast::Expr as E;
        match e {
            E::Binary(BinaryOp::And, a, b) => {
                let (a, b) = (self.conjunct(a)?, self.conjunct(b)?);
                self.operator(BinaryOp::And, a, b)
            }
            E::Binary(op, a, b) if matches!((&**a, &**b), (E::Column(_), E::Lifted(..))) => {
                let a = self.bind(a)?;
                let b = self.beside(&a, b)?;
                self.operator(*op, a, b)
            }
            E::Between { expr, low, high, negated } if matches!(**expr, E::Column(_)) => {
                let value = self.bind(expr)?;
                let (low, high) = (self.beside(&value, low)?, self.beside(&value, high)?);
                let (low, high) = (self.limit(low, &value), self.limit(high, &value));
                self.build.between(value, low, high, *negated)
            }
            E::In { expr, list, negated } if matches!(**expr, E::Column(_)) => {
                let value = self.bind(expr)?;
                let list = self.list_beside(&value, list)?;
                self.build.in_list(value, list, *negated)
            }
            other => self.value_or_row(other),
        }
    }

    /// What a value is looked for in: what one item is made of may hang on the others.
    fn list_beside(&mut self, value: &Typed, list: &[ast::Expr]) -> Result<Vec<Typed>, SqlError> {
        let mut alike = true;
        for item in list {
            alike &= match item {
                ast::Expr::Lifted(_, literal) => comparable(value, &self.build.literal(literal)?),
                _ => false,
            };
        }
        let mut bind = |e| if alike { self.beside(value, e) } else { self.value_or_row(e) };
        list.iter().map(&mut bind).collect()
    }

    /// What a value is compared with.
    fn beside(&mut self, value: &Typed, e: &ast::Expr) -> Result<Typed, SqlError> {
        let ast::Expr::Lifted(number, literal) = e else { return self.value_or_row(e) };
        let operand = self.build.literal(literal)?;
        if self.lifts && comparable(value, &operand) && !self.has_histograms() {
            return Ok(self.context.literals.parameter(*number, operand));
        }
        self.context.literals.constant(*number);
        Ok(operand)
    }

    /// A value that is stored as it is.
    pub(crate) fn stored_literal(
        &mut self,
        number: u32,
        literal: &ast::Literal,
    ) -> Result<Typed, SqlError> {
        let value = self.build.literal(literal)?;
        Ok(self.context.literals.parameter(number, value))
    }

    /// Histograms are asked about constants only.
    fn has_histograms(&self) -> bool {
        let tables = &self.context.tables;
        self.tables.iter().any(|(table, _)| !tables.statistics(*table).histograms.is_empty())
    }
}

/// A column beside a literal whose value nothing but the comparison itself looks at.
fn comparable(value: &Typed, literal: &Typed) -> bool {
    let (a, b) = (&value.ty, &literal.ty);
    if !matches!(value.expr, Expr::Column(_)) {
        return false;
    }
    if b.kind.is_int() {
        return a.kind.is_int() || a.kind.is_float() || a.kind == Kind::Decimal;
    }
    let (own, other) = (a.collation.charset(), b.collation.charset());
    is_stringy(a) && !a.kind.has_members() && (own == other || own == Charset::Binary)
}
