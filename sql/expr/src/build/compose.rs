//! One syntax expression at a time: everything that needs no name, no subquery and no aggregate.

use super::Builder;
use crate::SqlError;
use crate::tree::{Expr, OwnedDatum, Typed};
use parser::ast;
use value::collation::aggregate::Coercibility;

/// Binds an operand.
pub type Bind<'b> = &'b mut dyn FnMut(&ast::Expr) -> Result<Typed, SqlError>;

impl Builder {
    /// Builds an expression out of operands that `bind` binds; `None` for what is the planner's: columns,
    /// variables, parameters, calls, aggregates, subqueries and comparisons with them.
    ///
    /// # Errors
    /// Those of the operands, and of what is built.
    pub fn compose(&self, e: &ast::Expr, bind: Bind<'_>) -> Result<Option<Typed>, SqlError> {
        use ast::Expr as E;
        Ok(Some(match e {
            E::Literal(literal) | E::Lifted(_, literal) => self.literal(literal)?,
            E::Unary(op, operand) => self.unary(*op, bind(operand)?)?,
            E::Binary(_, a, b) if is_query(a) || is_query(b) => return Ok(None),
            E::Binary(op, a, b) => {
                let (a, b) = (bind(a)?, bind(b)?);
                self.binary(*op, a, b)?
            }
            E::Is { expr, what, negated } => self.is(bind(expr)?, *what, *negated)?,
            E::Between { expr, low, high, negated } => {
                let (value, low, high) = (bind(expr)?, bind(low)?, bind(high)?);
                self.between(value, low, high, *negated)?
            }
            E::In { expr, list, negated } => {
                let value = bind(expr)?;
                let list = list.iter().map(&mut *bind).collect::<Result<Vec<_>, _>>()?;
                self.in_list(value, list, *negated)?
            }
            E::Like { expr, pattern, escape, negated } => {
                let (value, pattern) = (bind(expr)?, bind(pattern)?);
                let escape = escape.as_deref().map(bind).transpose()?;
                self.like(value, pattern, escape, *negated)?
            }
            E::Regexp { expr, pattern, negated } => {
                let (value, pattern) = (bind(expr)?, bind(pattern)?);
                self.regexp(value, pattern, *negated)?
            }
            E::Case { operand, branches, otherwise } => {
                let operand = operand.as_deref().map(&mut *bind).transpose()?;
                let pairs = branches.iter().map(|(when, then)| Ok((bind(when)?, bind(then)?)));
                let pairs = pairs.collect::<Result<Vec<_>, SqlError>>()?;
                let otherwise = otherwise.as_deref().map(bind).transpose()?;
                self.case(operand, pairs, otherwise)?
            }
            E::Row(parts) => self.row(parts.iter().map(bind).collect::<Result<Vec<_>, _>>()?),
            E::Cast { expr, to, array, at_time_zone: None } => {
                self.cast(bind(expr)?, to, *array)?
            }
            E::Cast { .. } => return Err(SqlError::unsupported("AT TIME ZONE")),
            E::ConvertUsing(operand, name) => self.convert_using(bind(operand)?, name)?,
            E::Collate(operand, name) => self.collate(bind(operand)?, name)?,
            E::Interval(n, unit) => self.interval(bind(n)?, *unit),
            E::MemberOf(value, array) => {
                let (value, array) = (bind(value)?, bind(array)?);
                self.member_of(value, array)?
            }
            E::JsonPath { column, path, unquote } => {
                let column = bind(&E::Column(column.clone()))?;
                let path = self.text_constant(path);
                let found = self.named("json_extract", vec![column, path])?;
                if *unquote { self.named("json_unquote", vec![found])? } else { found }
            }
            E::Odbc(_, operand) => bind(operand)?,
            E::Match { .. } => return Err(SqlError::unsupported("MATCH ... AGAINST")),
            E::JsonValue(call) => {
                let document = bind(&call.document)?;
                self.json_value(document, call, bind)?
            }
            E::Default | E::DefaultOf(_) => {
                return Err(SqlError::unsupported("DEFAULT in an expression"));
            }
            E::ValuesOf(_) => return Err(SqlError::unsupported("VALUES()")),
            E::Param(_)
            | E::Column(_)
            | E::UserVar(_)
            | E::AssignUserVar(..)
            | E::SystemVar(_)
            | E::InQuery { .. }
            | E::Quantified { .. }
            | E::Exists(_)
            | E::Subquery(_)
            | E::Call(_)
            | E::Aggregate(_) => return Ok(None),
        }))
    }

    fn text_constant(&self, text: &str) -> Typed {
        let collation = self.settings.collation;
        let ty = super::string(text.chars().count() as u32, collation).not_null();
        let expr = Expr::Const(OwnedDatum::Bytes(text.as_bytes().to_vec()));
        Typed { expr, ty, coercibility: Coercibility::Coercible }
    }
}

/// A row beside a subquery is compared as a whole, which the planner does.
fn is_query(e: &ast::Expr) -> bool {
    matches!(e, ast::Expr::Subquery(_))
}
