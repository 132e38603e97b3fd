//! Syntax to expressions: names become positions, types and collations are derived.

use crate::plan::{InsertValue, Output};
use catalog::TableDef;
use expr::SqlError;
use expr::build::{Builder, widths};
use expr::tree::{AggregateCall, AggregateKind, Column, Expr, Typed};
use parser::ast;
use value::{Collation, ColumnType, Kind};

/// Where names are looked up while an expression is bound.
pub struct Scope<'a> {
    /// The table and the name it goes by.
    pub table: Option<(&'a TableDef, &'a str)>,
    /// Named in 1054: `field list`, `where clause`, ...
    pub clause: &'static str,
    /// Where aggregates are collected; `None` where they are not allowed.
    pub aggregates: Option<&'a mut Vec<AggregateCall>>,
    /// Outputs whose aliases are seen before the table's columns: HAVING and ORDER BY.
    pub aliases: &'a [Output],
    /// Default collation of literals.
    pub collation: Collation,
}

impl<'a> Scope<'a> {
    /// A scope over a table or none, without aggregates.
    pub fn new(table: Option<(&'a TableDef, &'a str)>, clause: &'static str) -> Scope<'a> {
        Scope {
            table,
            clause,
            aggregates: None,
            aliases: &[],
            collation: Collation::Utf8mb4_0900AiCi,
        }
    }

    /// The same scope with another default collation of literals.
    #[must_use]
    pub fn collated(self, collation: Collation) -> Scope<'a> {
        Scope { collation, ..self }
    }

    /// Binds an expression.
    pub fn bind(&mut self, expr: &ast::Expr) -> Result<Typed, SqlError> {
        use ast::Expr as E;
        match expr {
            E::Param(n) => Ok(Typed::new(
                Expr::Param(*n as usize),
                ColumnType::varchar(16_383, self.collation),
            )),
            E::Column(column) => self.column(column),
            E::UserVar(name) => Ok(Typed::new(
                Expr::UserVar(name.clone()),
                ColumnType::varchar(16_383, self.collation),
            )),
            E::AssignUserVar(name, value) => {
                let value = self.bind(value)?;
                let expr = Expr::AssignUserVar(name.clone(), Box::new(value.expr));
                Ok(Typed { expr, ..value })
            }
            E::SystemVar(var) => self.system_variable(var),
            E::Call(call) => self.call(call),
            E::Aggregate(aggregate) => self.aggregate(aggregate),
            E::Subquery(_) | E::Exists(_) | E::InQuery { .. } | E::Quantified { .. } => {
                Err(SqlError::unsupported("subquery"))
            }
            other => {
                let build = Builder::collated(self.collation);
                build
                    .compose(other, &mut |e| self.bind(e))?
                    .ok_or_else(|| SqlError::unsupported("subquery"))
            }
        }
    }

    /// Binds a value of INSERT or UPDATE, where DEFAULT may stand alone.
    pub fn bind_value(&mut self, expr: &ast::Expr) -> Result<InsertValue, SqlError> {
        match expr {
            ast::Expr::Default => Ok(InsertValue::Default),
            other => Ok(InsertValue::Expr(self.bind(other)?)),
        }
    }

    fn column(&self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        let written = [column.schema.as_deref(), column.table.as_deref(), Some(&column.column)];
        let name = written.into_iter().flatten().collect::<Vec<_>>().join(".");
        let unknown = || SqlError::UnknownColumn { name: name.clone(), clause: self.clause };
        let aliased = |o: &&Output| value::name::same_name(&o.column.name, &column.column);
        if let Some(output) = self.aliases.iter().find(aliased).filter(|_| column.table.is_none()) {
            return Ok(output.value.clone());
        }
        let (def, alias) = self.table.ok_or_else(unknown)?;
        let schema_differs = column.schema.as_ref().is_some_and(|s| *s != def.schema);
        if schema_differs || column.table.as_ref().is_some_and(|t| t != alias) {
            return Err(unknown());
        }
        let position = def.column(&column.column).ok_or_else(unknown)?;
        Ok(Typed::new(Expr::Column(Column::first(position)), def.columns[position].ty))
    }

    fn system_variable(&self, var: &ast::SystemVar) -> Result<Typed, SqlError> {
        if var.component.is_some() {
            return Err(SqlError::unsupported("structured system variable"));
        }
        let global = var.scope == ast::Scope::Global;
        let expr = Expr::SystemVar(global, var.name.to_ascii_lowercase());
        Ok(Typed::new(expr, ColumnType::varchar(1024, self.collation)))
    }

    fn call(&mut self, call: &ast::Call) -> Result<Typed, SqlError> {
        if call.over.is_some() {
            return Err(SqlError::unsupported("window function"));
        }
        if call.modifier.is_some() {
            return Err(SqlError::unsupported(format!("function {}", call.name.name)));
        }
        let arguments = call.args.iter().map(|a| self.bind(a)).collect::<Result<Vec<_>, _>>()?;
        Builder::collated(self.collation).call(call, arguments)
    }

    fn aggregate(&mut self, aggregate: &ast::Aggregate) -> Result<Typed, SqlError> {
        use ast::AggregateKind as A;
        if aggregate.over.is_some() {
            return Err(SqlError::unsupported("window function"));
        }
        if self.aggregates.is_none() {
            return Err(SqlError::Other(1111, "HY000", "Invalid use of group function".into()));
        }
        let kind = match aggregate.kind {
            A::Count if aggregate.args.is_empty() => AggregateKind::CountAll,
            A::Count => AggregateKind::Count,
            A::Sum => AggregateKind::Sum,
            A::Min => AggregateKind::Min,
            A::Max => AggregateKind::Max,
            A::Avg => AggregateKind::Avg,
            other => return Err(SqlError::unsupported(format!("{other:?}").to_ascii_uppercase())),
        };
        if aggregate.args.len() > 1 {
            return Err(SqlError::unsupported("COUNT(DISTINCT) of several expressions"));
        }
        let outer = self.aggregates.take();
        let argument = aggregate.args.first().map(|a| self.bind(a)).transpose();
        self.aggregates = outer;
        let argument = argument?.unwrap_or_else(|| Typed::bigint(Expr::int(1)));
        let ty = aggregate_type(kind, &argument);
        let collation = argument.ty.collation;
        let call = AggregateCall {
            kind,
            distinct: aggregate.distinct,
            argument: argument.expr,
            collation,
        };
        let calls = self.aggregates.as_mut().expect("checked above");
        let position = calls.iter().position(|c| *c == call).unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Ok(Typed::new(Expr::Aggregate(position), ty))
    }
}

/// Type of an aggregate's result.
pub(crate) fn aggregate_type(kind: AggregateKind, argument: &Typed) -> ColumnType {
    let ty = &argument.ty;
    let exact = ty.kind.is_int()
        || ty.kind == Kind::Decimal
        || ty.kind.is_temporal()
        || ty.kind == Kind::Bit;
    let (precision, scale) = (widths::precision(ty), widths::scale(ty));
    match kind {
        AggregateKind::CountAll | AggregateKind::Count => {
            ColumnType { length: 21, ..ColumnType::int(Kind::BigInt, false).not_null() }
        }
        AggregateKind::Min | AggregateKind::Max => {
            ColumnType { nullable: true, zerofill: false, ..*ty }
        }
        AggregateKind::Sum | AggregateKind::Avg if !exact => {
            ColumnType { length: widths::DOUBLE_CHARS, ..ColumnType::double() }
        }
        AggregateKind::Sum => widths::decimal(precision - scale.min(precision) + 22, scale, false),
        AggregateKind::Avg => widths::decimal(precision - scale.min(precision), scale + 4, false),
    }
}

/// A truth value.
pub(crate) fn boolean(expr: Expr) -> Typed {
    let ty = ColumnType { length: 1, ..ColumnType::int(Kind::BigInt, false) };
    Typed::new(expr, ty)
}
