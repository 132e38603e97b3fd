//! Expressions: columns, aggregates and subqueries get their places; the rest is [`crate::make`]'s.

use super::names::Scope;
use super::{Resolver, invalid_group_function, one_column};
use crate::error::PlanError;
use crate::logical::{GROUP_LEAF, Subquery, column_of};
use crate::parameters::ParameterType;
use crate::query_plan::SubplanKind;
use access::Privileges;
use expr::SqlError;
use expr::aggregate::AggregateCall;
use expr::tree::{Column, Comparison, Expr, OwnedDatum, Quantified, Typed};
use parser::ast::{self, BinaryOp};
use value::{ColumnType, Kind};

/// Aggregates are numbered from here until the number of group keys is known.
pub(crate) const FIRST_AGGREGATE: u16 = 0x8000;
/// GROUPING() calls likewise.
pub(crate) const FIRST_GROUPING: u16 = 0x4000;

impl Resolver<'_, '_> {
    /// Binds an expression of one value.
    pub(crate) fn bind(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let value = self.value_or_row(e)?;
        if value.is_row() { Err(one_column()) } else { Ok(value) }
    }

    /// Binds an operand, which may be a row where the operator takes one.
    pub(super) fn value_or_row(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let value = self.value_or_row_of(e)?;
        if self.context.parameters.searches() {
            self.look_for_parameters(e, &value);
        }
        Ok(value)
    }

    fn value_or_row_of(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        use ast::Expr as E;
        if !stdx::stack::has_room() {
            return Err(expr::stack_overrun());
        }
        match e {
            E::Param(number) => {
                let free = self.build.free(e)?;
                Ok(match self.context.parameters.planned(*number) {
                    ParameterType::Text => free,
                    other => Typed::new(free.expr, other.column_type(free.ty.collation)),
                })
            }
            E::UserVar(name) => Ok(self.user_variable(name)),
            E::SystemVar(variable) => self.system_variable(variable),
            E::Lifted(number, literal) => {
                self.context.literals.constant(*number);
                self.build.literal(literal)
            }
            E::Literal(literal) => self.literal(literal),
            E::Column(column) => self.column(column).map(|value| self.padded(value)),
            E::AssignUserVar(name, value) => {
                let value = self.bind(value)?;
                Ok(self.assignment(name, value))
            }
            E::Binary(op, a, b) => self.binary(*op, a, b),
            E::Call(call) => self.call(call),
            E::Aggregate(aggregate) => self.aggregate(aggregate),
            E::Subquery(query) => self.scalar(query),
            E::Exists(query) => {
                let (number, _) = self.subquery(query, SubplanKind::Exists)?;
                let exists = crate::bind::boolean(Expr::Exists(number));
                Ok(Typed { ty: exists.ty.not_null(), ..exists })
            }
            E::InQuery { expr, query, negated } => {
                let (op, all) = match negated {
                    false => (Comparison::Eq, false),
                    true => (Comparison::Ne, true),
                };
                self.quantified(op, all, expr, query, false)
            }
            E::Quantified { op, expr, all, query } => {
                let op = comparison(*op).ok_or_else(|| {
                    SqlError::unsupported(format!("{} with ANY or ALL", op.construct()))
                })?;
                self.quantified(op, *all, expr, query, false)
            }
            E::DefaultOf(column) => self.default_of(column),
            E::ValuesOf(column) => self.values_of(column),
            E::Between { expr, low, high, negated } => {
                let value = self.value_or_row(expr)?;
                let (low, high) = (self.value_or_row(low)?, self.value_or_row(high)?);
                let low = self.limit(low, &value);
                let high = self.limit(high, &value);
                self.build.between(value, low, high, *negated)
            }
            other => {
                let build = self.build;
                build
                    .compose(other, &mut |e| self.value_or_row(e))?
                    .ok_or_else(|| SqlError::unsupported("subquery"))
            }
        }
    }

    /// Binds a literal, and warns of what is odd about it.
    fn literal(&mut self, literal: &ast::Literal) -> Result<Typed, SqlError> {
        let value = self.build.literal(literal)?;
        match literal {
            ast::Literal::String(text) => {
                let malformed = self.build.malformed(text).map(|text| (1300, text));
                self.context.warnings.extend(malformed);
            }
            ast::Literal::Temporal(kind, text) if *kind != ast::TemporalKind::Time => {
                let warning = value::time::parse::delimiter_warning(text, 1);
                self.context.warnings.extend(warning);
            }
            _ => {}
        }
        Ok(value)
    }

    /// Binds a condition: an expression whose truth counts.
    pub(crate) fn condition(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let value = self.bind(e)?;
        if self.context.parameters.searches() {
            self.infer_condition(e);
        }
        Ok(self.build.truth_of(value))
    }

    fn binary(&mut self, op: BinaryOp, a: &ast::Expr, b: &ast::Expr) -> Result<Typed, SqlError> {
        let (a, b) = match comparison(op) {
            Some(_) => (self.compared(a)?, self.compared(b)?),
            None => (self.value_or_row(a)?, self.value_or_row(b)?),
        };
        self.operator(op, a, b)
    }

    /// `a op b`, of values that are bound.
    pub(super) fn operator(&mut self, op: BinaryOp, a: Typed, b: Typed) -> Result<Typed, SqlError> {
        let column = self.column_name(&a).or_else(|| self.column_name(&b));
        let (a, b) = if comparison(op).is_some() { self.tried(a, b) } else { (a, b) };
        self.build.binary(op, a, b).inspect_err(|error| {
            self.warn_of_date(error, column.as_deref());
        })
    }

    /// Binds a side of a comparison: a subquery may yield a row.
    fn compared(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let ast::Expr::Subquery(query) = e else { return self.value_or_row(e) };
        let mut parts = self.row_of(query)?;
        match parts.len() {
            1 => {
                self.context.parameters.note(e, parts[0].ty);
                Ok(parts.remove(0))
            }
            _ => Ok(self.build.row(parts)),
        }
    }

    /// The name of a column of a table.
    pub(super) fn column_name(&self, value: &Typed) -> Option<String> {
        let Expr::Column(place) = value.expr else { return None };
        let scope = self.scopes.iter().rev().nth(usize::from(place.depth))?;
        let leaf = scope.leaves.get(usize::from(place.leaf))?;
        leaf.columns.get(usize::from(place.column)).map(|c| c.result.name.clone())
    }

    /// Error 1525 stands behind the warning of the conversion that failed.
    fn warn_of_date(&mut self, error: &SqlError, column: Option<&str>) {
        let SqlError::Other(1525, _, text) = error else { return };
        let Some((kind, value)) =
            text.strip_prefix("Incorrect ").and_then(|t| t.split_once(" value: "))
        else {
            return;
        };
        let kind = if kind == "DATE" { "date" } else { "datetime" };
        let text = match column {
            Some(column) => {
                format!("Incorrect {kind} value: {value} for column '{column}' at row 1")
            }
            None => format!("Truncated incorrect {kind} value: {value}"),
        };
        self.context.warnings.push((1292, text));
    }

    fn call(&mut self, call: &ast::Call) -> Result<Typed, SqlError> {
        let name = call.name.name.to_ascii_uppercase();
        if call.over.is_some() {
            return self.window_function(call);
        }
        let builtin = call.name.schema.is_none();
        if builtin && name == "FOUND_ROWS" {
            self.context.deprecated(
                "FOUND_ROWS() is deprecated and will be removed in a future release. Consider \
                 using COUNT(*) instead.",
            );
        }
        if builtin && name == "GROUPING" {
            return self.grouping(call);
        }
        let arguments =
            call.args.iter().map(|a| self.bind(a)).collect::<Result<Vec<_>, SqlError>>()?;
        let mut arguments = arguments;
        if builtin
            && name == "NULLIF"
            && let [_, _] = &arguments[..]
        {
            let (b, a) = (arguments.pop(), arguments.pop());
            if let (Some(a), Some(b)) = (a, b) {
                let (a, b) = self.tried(a, b);
                arguments = vec![a, b];
            }
        }
        if builtin
            && name == "ANY_VALUE"
            && let [value] = &arguments[..]
        {
            // Outside of a grouped query it is its argument; inside, a column that is not grouped.
            return self.any_value(value.clone());
        }
        if call.modifier.is_some() {
            return Err(SqlError::unsupported(format!("function {name}")));
        }
        if builtin && name == "NAME_CONST" {
            refuse_name_const(call)?;
        }
        self.build.call(call, arguments).map_err(|error| match error {
            SqlError::Other(1305, ..) => self.no_function(&call.name, error),
            other => other,
        })
    }

    /// What the name of a function ends in that is not there: who may run none of its schema's hears no more than that.
    fn no_function(&self, name: &ast::ObjectName, error: SqlError) -> SqlError {
        let Some(schema) = name.schema.as_deref().or(self.context.database) else {
            return SqlError::NoDatabase;
        };
        let rights = self.context.rights;
        if !rights.of_schema(schema).has(Privileges::EXECUTE) {
            let routine = format!("{schema}.{}", name.name);
            return PlanError::RoutineDenied(&rights.name.to_string(), &routine).into();
        }
        match name.schema.is_some() {
            true => error,
            false => expr::build::no_function(schema, &name.name),
        }
    }

    /// ANY_VALUE in a clause that allows aggregates.
    fn any_value(&mut self, value: Typed) -> Result<Typed, SqlError> {
        let (build, scope) = (self.build, self.scope());
        if !scope.aggregates_allowed || scope.in_aggregate > 0 {
            return Ok(value);
        }
        // An aggregate of its own would make the query grouped; marked, it becomes one if the query is.
        let call = build.any_value(value)?;
        Ok(scope.add_aggregate(call, 0))
    }

    fn grouping(&mut self, call: &ast::Call) -> Result<Typed, SqlError> {
        let arguments =
            call.args.iter().map(|a| self.bind(a)).collect::<Result<Vec<_>, SqlError>>()?;
        let scope = self.scope();
        if !scope.aggregates_allowed {
            return Err(invalid_group_function());
        }
        scope.groupings.push(arguments);
        let number = FIRST_GROUPING + (scope.groupings.len() - 1) as u16;
        Ok(Typed::new(
            Expr::Column(Column { depth: 0, leaf: GROUP_LEAF, column: number }),
            ColumnType { length: 21, ..ColumnType::int(value::Kind::BigInt, false) },
        ))
    }

    fn aggregate(&mut self, aggregate: &ast::Aggregate) -> Result<Typed, SqlError> {
        if aggregate.over.is_some() {
            return self.window_aggregate(aggregate);
        }
        let call = self.aggregate_call(aggregate)?;
        let mut levels: Option<u8> = None;
        let mut nested = false;
        let mut look = |e: &Expr| {
            if let Expr::Column(c) = e {
                levels = Some(levels.map_or(c.depth, |l: u8| l.min(c.depth)));
                nested |= c.leaf == GROUP_LEAF && c.column >= FIRST_AGGREGATE;
            }
        };
        call.arguments.iter().for_each(|a| a.expr.visit(&mut look));
        if nested {
            return Err(invalid_group_function());
        }
        // It belongs to the nearest block whose columns it looks at, if that takes aggregates now; one that
        // looks at none to the nearest block that does.
        let last = self.scopes.len() - 1;
        let takes = |depth: &usize| {
            let scope = &self.scopes[last - depth];
            scope.aggregates_allowed && scope.in_aggregate == 0
        };
        let depth = match levels {
            Some(nearest) => (0..=usize::from(nearest)).rev().find(takes),
            None => (0..=last).find(takes),
        };
        let depth = depth.ok_or_else(invalid_group_function)?;
        let mut call = call;
        call.for_each_expr_mut(&mut |e| {
            e.rewrite(&mut |e| {
                if let Expr::Column(c) = e {
                    c.depth -= depth as u8;
                }
                false
            });
        });
        Ok(self.scopes[last - depth].add_aggregate(call, depth as u8))
    }

    /// An aggregate's call with its arguments bound, not yet in a block's list.
    pub(crate) fn aggregate_call(
        &mut self,
        aggregate: &ast::Aggregate,
    ) -> Result<AggregateCall, SqlError> {
        let window = aggregate.over.is_some();
        if !window {
            self.scope().in_aggregate += 1;
        }
        let arguments =
            aggregate.args.iter().map(|a| self.bind(a)).collect::<Result<Vec<_>, SqlError>>();
        let order_by = arguments.as_ref().map_or(Ok(Vec::new()), |arguments| {
            aggregate.order_by.iter().map(|item| self.order_in_call(item, arguments)).collect()
        });
        if !window {
            self.scope().in_aggregate -= 1;
        }
        self.build.aggregate(aggregate, arguments?, order_by?)
    }

    /// A key of GROUP_CONCAT's ORDER BY: an expression, or the position of an argument.
    fn order_in_call(
        &mut self,
        item: &ast::OrderItem,
        arguments: &[Typed],
    ) -> Result<crate::plan::SortKey, SqlError> {
        let value = match &item.expr {
            ast::Expr::Literal(ast::Literal::Int(n)) => {
                let found = usize::try_from(*n).ok().and_then(|n| arguments.get(n.checked_sub(1)?));
                let name = n.to_string();
                let unknown = || SqlError::UnknownColumn { name, clause: "order clause" };
                found.cloned().ok_or_else(unknown)?
            }
            other => self.bind(other)?,
        };
        Ok(crate::plan::SortKey { value, descending: item.descending })
    }

    /// Resolves a subquery of the innermost block; its number and its outputs.
    pub(crate) fn subquery(
        &mut self,
        query: &ast::Query,
        kind: SubplanKind,
    ) -> Result<(usize, Vec<Typed>), SqlError> {
        let locking = std::mem::take(&mut self.locking);
        let block = self.query(query);
        self.locking = locking;
        let block = block?;
        let outputs = block.outputs.iter().map(|o| o.value.clone()).collect();
        let scope = self.scope();
        scope.subqueries.push(Subquery { block, kind });
        Ok((scope.subqueries.len() - 1, outputs))
    }

    fn scalar(&mut self, query: &ast::Query) -> Result<Typed, SqlError> {
        let mut parts = self.row_of(query)?;
        if parts.len() == 1 { Ok(parts.remove(0)) } else { Err(one_column()) }
    }

    /// The values of a subquery's one row.
    fn row_of(&mut self, query: &ast::Query) -> Result<Vec<Typed>, SqlError> {
        let (number, outputs) = self.subquery(query, SubplanKind::Scalar)?;
        let value = |(place, output): (usize, Typed)| Typed {
            expr: Expr::Subquery(number, place as u16),
            ty: ColumnType { nullable: true, ..output.ty },
            coercibility: output.coercibility,
        };
        Ok(outputs.into_iter().enumerate().map(value).collect())
    }

    /// `left op ANY | ALL (query)`; IN is `= ANY`. `is_conjunct`: it is a condition of WHERE by itself.
    pub(super) fn quantified(
        &mut self,
        op: Comparison,
        all: bool,
        left: &ast::Expr,
        query: &ast::Query,
        is_conjunct: bool,
    ) -> Result<Typed, SqlError> {
        if query.limit.is_some() {
            return Err(SqlError::unsupported("LIMIT & IN/ALL/ANY/SOME subquery"));
        }
        let written = left;
        let left = match self.compared(left)? {
            Typed { expr: Expr::Row(parts), .. } => parts,
            one => vec![one],
        };
        // A row has no place in an order of ANY and ALL.
        if left.len() > 1 && !matches!((op, all), (Comparison::Eq, false) | (Comparison::Ne, true))
        {
            return Err(one_column());
        }
        let (subplan, mut outputs) = self.subquery(query, SubplanKind::Quantified)?;
        if outputs.len() != left.len() {
            return Err(PlanError::OperandColumns(left.len()).into());
        }
        if self.context.parameters.searches() {
            self.infer_beside_query(written, &outputs);
        }
        let mut left = left;
        let text = |v: &Typed| expr::build::is_stringy(&v.ty) && v.constant().is_none();
        for (place, (value, output)) in left.iter_mut().zip(&mut outputs).enumerate() {
            // A time beside texts is text, as for an operator.
            if value.ty.kind == Kind::Time && text(output) {
                *value = self.build.to_text(value.clone());
            } else if output.ty.kind == Kind::Time && text(value) {
                *output = self.build.to_text(output.clone());
                let block = &mut self.scope().subqueries[subplan].block;
                block.outputs[place].value = output.clone();
            }
        }
        let build = self.build;
        let block = &mut self.scope().subqueries[subplan].block;
        // MySQL leaves out a conjunct's subquery whose condition is false before it looks at collations.
        let plain = block.group.as_ref().is_none_or(|g| g.aggregates.is_empty() && !g.rollup);
        let empty = is_conjunct && plain && block.filter.iter().any(is_false);
        let mut collations = Vec::new();
        for (place, (value, output)) in left.iter_mut().zip(&mut outputs).enumerate() {
            let met = build.comparable(value.clone(), output.clone(), "=");
            let (a, b, collation) = match met {
                Err(_) if empty => (value.clone(), output.clone(), value.ty.collation),
                met => met?,
            };
            collations.push(collation);
            // Texts of two character sets are compared in one, a time beside moments as one of today.
            let texts = [&*value, &*output].iter().all(|v| expr::build::is_stringy(&v.ty));
            let timed = value.ty.kind == Kind::Time && output.ty.kind.has_date()
                || value.ty.kind.has_date() && output.ty.kind == Kind::Time;
            let converts = texts || timed;
            if converts && a.expr != value.expr {
                *value = a;
            }
            if converts && b.expr != output.expr {
                block.outputs[place].value = b;
            }
        }
        let left = left.into_iter().map(|l| l.expr).collect();
        let quantified = Quantified { op, all, left, subplan, collations };
        Ok(crate::bind::boolean(Expr::Quantified(Box::new(quantified))))
    }
}

impl Scope {
    /// Adds an aggregate unless it is there; its value as seen from so many levels further in.
    pub(crate) fn add_aggregate(&mut self, call: AggregateCall, depth: u8) -> Typed {
        let ty = call.ty;
        let position = self.aggregates.iter().position(|c| *c == call).unwrap_or_else(|| {
            self.aggregates.push(call);
            self.aggregates.len() - 1
        });
        let mut expr = column_of(GROUP_LEAF, usize::from(FIRST_AGGREGATE) + position);
        if let Expr::Column(column) = &mut expr {
            column.depth = depth;
        }
        Typed::new(expr, ty)
    }
}

/// A constant that is not true.
fn is_false(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(OwnedDatum::Int(0) | OwnedDatum::Null))
}

fn comparison(op: BinaryOp) -> Option<Comparison> {
    Some(match op {
        BinaryOp::Eq => Comparison::Eq,
        BinaryOp::NullSafeEq => Comparison::NullSafeEq,
        BinaryOp::Ne => Comparison::Ne,
        BinaryOp::Lt => Comparison::Lt,
        BinaryOp::Le => Comparison::Le,
        BinaryOp::Gt => Comparison::Gt,
        BinaryOp::Ge => Comparison::Ge,
        _ => return None,
    })
}

/// NAME_CONST takes literals alone.
fn refuse_name_const(call: &ast::Call) -> Result<(), SqlError> {
    use ast::{Expr as E, Literal as L, UnaryOp};
    let literal = |e: &E| matches!(e, E::Literal(l) if !matches!(l, L::Bool(_) | L::Temporal(..)));
    let [name, value] = &call.args[..] else { return Ok(()) };
    let plain = match value {
        E::Unary(UnaryOp::Neg | UnaryOp::Plus, inner) | E::Collate(inner, _) => literal(inner),
        value => literal(value),
    };
    if matches!(name, E::Literal(L::Null)) {
        return Err(PlanError::ReservedSyntax.into());
    }
    if !literal(name) || !plain {
        return Err(PlanError::WrongArguments("NAME_CONST").into());
    }
    Ok(())
}
