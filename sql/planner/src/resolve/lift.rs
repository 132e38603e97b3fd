//! Literals that become parameters: those of WHERE and ON that are compared with a column.
//!
//! 1. Only conjuncts count: the planner finds what the alternatives of an OR have in common by their values. A
//!    subquery in a select list is part of a column's name, and its literals with it. 2. A parameter has its literal's type, and the comparison needs no conversion, so that what is built is
//!    what the literal would have made, but for the value.

use super::Resolver;
use crate::transform::may_move;
use expr::SqlError;
use expr::build::is_stringy;
use expr::tree::{Comparison, Expr, OwnedDatum, Typed};
use parser::ast::{self, BinaryOp};
use value::{Charset, ColumnType, Kind};

impl Resolver<'_, '_> {
    /// A condition of rows: WHERE or ON.
    pub(crate) fn row_condition(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let value = self.conjunct(e)?;
        if self.context.parameters.searches() {
            self.infer_condition(e);
        }
        match value.expr {
            Expr::Row(_) => Err(super::one_column()),
            _ => {
                let truth = self.build.truth_of(value);
                let expr = self.without_constants(truth.expr);
                Ok(Typed { expr, ..truth })
            }
        }
    }

    /// A condition without the parts of AND and OR whose truth constants decide: what stands beside `TRUE` in an OR
    /// is not computed, so that it neither warns nor ends a change. Unknown is as good as false here.
    fn without_constants(&self, condition: Expr) -> Expr {
        let simpler = |e: Box<Expr>| Box::new(self.without_constants(*e));
        let known = |e: &Expr| match e {
            Expr::Const(OwnedDatum::Int(truth)) => Some(*truth != 0),
            _ => None,
        };
        match condition {
            Expr::And(a, b) => match (simpler(a), simpler(b)) {
                (a, b) if known(&a) == Some(true) || known(&b) == Some(false) && may_move(&a) => *b,
                (a, b) if known(&b) == Some(true) || known(&a) == Some(false) && may_move(&b) => *a,
                (a, b) => Expr::And(a, b),
            },
            Expr::Or(a, b) => match (simpler(a), simpler(b)) {
                (a, b) if known(&a) == Some(false) || known(&b) == Some(true) && may_move(&a) => *b,
                (a, b) if known(&b) == Some(false) || known(&a) == Some(true) && may_move(&b) => *a,
                (a, b) => Expr::Or(a, b),
            },
            other => {
                let truth = Typed::new(other, ColumnType::int(Kind::BigInt, false));
                match expr::build::folded(&truth, &self.context.settings) {
                    Some(value) => Expr::Const(OwnedDatum::Int(i64::from(
                        value::compare::truth(&value.datum()) == Some(true),
                    ))),
                    None => truth.expr,
                }
            }
        }
    }

    /// As [`Resolver::value_or_row`].
    fn conjunct(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let value = self.conjunct_of(e)?;
        if self.context.parameters.searches() {
            self.look_for_parameters(e, &value);
        }
        Ok(value)
    }

    fn conjunct_of(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        use ast::Expr as E;
        match e {
            E::Binary(BinaryOp::And, a, b) => {
                let (a, b) = (self.conjunct(a)?, self.conjunct(b)?);
                self.operator(BinaryOp::And, a, b)
            }
            E::Binary(op, a, b) if matches!((&**a, &**b), (E::Column(_), E::Lifted(..))) => {
                let a = self.bind(a)?;
                let b = self.operand_for(&a, b)?;
                self.operator(*op, a, b)
            }
            E::Between { expr, low, high, negated } if matches!(**expr, E::Column(_)) => {
                let value = self.bind(expr)?;
                let (low, high) = (self.operand_for(&value, low)?, self.operand_for(&value, high)?);
                let (low, high) = (self.limit(low, &value), self.limit(high, &value));
                self.build.between(value, low, high, *negated)
            }
            E::In { expr, list, negated } if matches!(**expr, E::Column(_)) => {
                let value = self.bind(expr)?;
                let list = self.list_for(&value, list)?;
                self.build.in_list(value, list, *negated)
            }
            E::InQuery { expr, query, negated: false }
            | E::Quantified { op: BinaryOp::Eq, expr, all: false, query } => {
                self.quantified(Comparison::Eq, false, expr, query, true)
            }
            other => self.value_or_row(other),
        }
    }

    /// What a value is looked for in: what one item is made of may hang on the others.
    fn list_for(&mut self, value: &Typed, list: &[ast::Expr]) -> Result<Vec<Typed>, SqlError> {
        let mut alike = true;
        for item in list {
            alike &= match item {
                ast::Expr::Lifted(_, literal) => comparable(value, &self.build.literal(literal)?),
                _ => false,
            };
        }
        let mut bind = |e| if alike { self.operand_for(value, e) } else { self.value_or_row(e) };
        list.iter().map(&mut bind).collect()
    }

    /// What a value is compared with.
    fn operand_for(&mut self, value: &Typed, e: &ast::Expr) -> Result<Typed, SqlError> {
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
