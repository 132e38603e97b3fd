//! Expressions made of operands that are bound already: types and collations derived.

use crate::bind;
use crate::query_plan::{AggregateCall, AggregateFunction};
use expr::SqlError;
use expr::functions;
use expr::tree::{AggregateKind, Comparison, Expr, Truth, Typed};
use parser::ast::{self, BinaryOp, IsWhat, UnaryOp};
use value::{Collation, ColumnType, Kind};

/// Makes expressions under a session's settings.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    /// Collation of literals.
    pub collation: Collation,
}

impl Builder {
    fn scope(&self) -> bind::Scope<'static> {
        bind::Scope::new(None, "field list").collated(self.collation)
    }

    /// A literal.
    pub fn literal(&self, literal: &ast::Literal) -> Result<Typed, SqlError> {
        self.scope().bind(&ast::Expr::Literal(literal.clone()))
    }

    /// A parameter, a system variable or the value of a user variable.
    pub fn free(&self, expr: &ast::Expr) -> Result<Typed, SqlError> {
        self.scope().bind(expr)
    }

    /// A prefix operator.
    pub fn unary(&self, op: UnaryOp, value: Typed) -> Result<Typed, SqlError> {
        bind::unary(op, value)
    }

    /// An infix operator.
    pub fn binary(&self, op: BinaryOp, a: Typed, b: Typed) -> Result<Typed, SqlError> {
        self.scope().binary_of(op, a, b)
    }

    /// A comparison.
    pub fn compare(&self, op: Comparison, a: Typed, b: Typed) -> Result<Typed, SqlError> {
        Ok(bind::compare(op, a, b, self.collation))
    }

    /// Collation under which two values compare.
    pub fn collation_of(&self, a: &Typed, b: &Typed) -> Result<Collation, SqlError> {
        Ok(bind::collation_of(a, self.collation)
            .or(bind::collation_of(b, self.collation))
            .unwrap_or(self.collation))
    }

    /// IS.
    pub fn is(&self, value: Typed, what: IsWhat, negated: bool) -> Result<Typed, SqlError> {
        let truth = match what {
            IsWhat::Null => Truth::Null,
            IsWhat::True => Truth::True,
            IsWhat::False => Truth::False,
            IsWhat::Unknown => Truth::Unknown,
        };
        Ok(bind::boolean(Expr::Is(Box::new(value.expr), truth, negated)))
    }

    /// BETWEEN.
    pub fn between(
        &self,
        value: Typed,
        low: Typed,
        high: Typed,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let above = bind::compare(Comparison::Ge, value.clone(), low, self.collation);
        let below = bind::compare(Comparison::Le, value, high, self.collation);
        let both = Expr::And(Box::new(above.expr), Box::new(below.expr));
        Ok(bind::boolean(if negated { Expr::Not(Box::new(both)) } else { both }))
    }

    /// IN over a list.
    pub fn in_list(
        &self,
        value: Typed,
        list: Vec<Typed>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let collation = list
            .iter()
            .fold(bind::collation_of(&value, self.collation), |c, item| {
                c.or(bind::collation_of(item, self.collation))
            })
            .unwrap_or(self.collation);
        let items = list.into_iter().map(|item| item.expr).collect();
        let inside = Expr::In(Box::new(value.expr), items, collation);
        Ok(bind::boolean(if negated { Expr::Not(Box::new(inside)) } else { inside }))
    }

    /// LIKE.
    pub fn like(
        &self,
        value: Typed,
        pattern: Typed,
        escape: Option<u8>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let collation = self.collation_of(&value, &pattern)?;
        let escape = escape.unwrap_or(b'\\');
        let like = Expr::Like(Box::new(value.expr), Box::new(pattern.expr), escape, collation);
        Ok(bind::boolean(if negated { Expr::Not(Box::new(like)) } else { like }))
    }

    /// CASE.
    pub fn case(
        &self,
        operand: Option<Typed>,
        branches: Vec<(Typed, Typed)>,
        otherwise: Option<Typed>,
    ) -> Result<Typed, SqlError> {
        let mut types: Vec<ColumnType> = branches.iter().map(|(_, then)| then.ty).collect();
        types.extend(otherwise.iter().map(|e| e.ty));
        let mut bound = Vec::new();
        for (when, then) in branches {
            let condition = match &operand {
                Some(value) => self.compare(Comparison::Eq, value.clone(), when)?.expr,
                None => when.expr,
            };
            bound.push((condition, then.expr));
        }
        let ty = functions::common(&types);
        Ok(Typed::new(Expr::Case(bound, otherwise.map(|e| Box::new(e.expr))), ty))
    }

    /// A function of the registry.
    pub fn call(&self, call: &ast::Call, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        self.scope().function(&call.name.name, arguments)
    }

    /// COLLATE.
    pub fn collate(&self, value: Typed, name: &str) -> Result<Typed, SqlError> {
        let collation = bind::collate(&value, name, self.collation)?;
        Ok(Typed { ty: ColumnType { collation, ..value.ty }, ..value })
    }

    /// The type that holds the values of all of `values`.
    pub fn common(&self, values: &[&Typed]) -> (ColumnType, u8) {
        let types: Vec<_> = values.iter().map(|v| v.ty).collect();
        let same = types.windows(2).all(|pair| {
            ColumnType { nullable: true, ..pair[0] } == ColumnType { nullable: true, ..pair[1] }
        });
        let mut ty = if same { types[0] } else { functions::common(&types) };
        ty.nullable = types.iter().any(|t| t.nullable);
        let decimals = values.iter().map(|v| v.decimals).max().unwrap_or(0);
        (ty, if matches!(ty.kind, Kind::Decimal | Kind::Double) { decimals } else { 0 })
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
        let (ty, decimals) = bind::aggregate_type(kind, first);
        Ok(AggregateCall {
            function,
            distinct: aggregate.distinct,
            collation: bind::collation_of(first, self.collation).unwrap_or(self.collation),
            arguments,
            order_by: Vec::new(),
            separator: aggregate.separator.clone().unwrap_or_default(),
            ty,
            decimals,
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
            decimals: value.decimals,
            collation: value.ty.collation,
            arguments: vec![value],
        }
    }
}
