//! Syntax to expressions: names become positions, types and collations are derived.

use crate::error::PlanError;
use crate::parameters::ParameterType;
use crate::plan::{InsertValue, Output};
use catalog::TableDef;
use expr::SqlError;
use expr::build::{Builder, Settings};
use expr::tree::{Column, Expr, Typed};
use parser::ast;
use value::collation::aggregate::Coercibility;
use value::{ColumnType, Kind};

/// Where names are looked up while an expression is bound.
pub struct Scope<'a> {
    /// The table and the name it goes by.
    pub table: Option<(&'a TableDef, &'a str)>,
    /// Named in 1054: `field list`, `where clause`, ...
    pub clause: &'static str,
    /// Outputs whose aliases are seen before the table's columns: HAVING and ORDER BY.
    pub aliases: &'a [Output],
    /// What of the session counts.
    pub settings: Settings,
}

impl<'a> Scope<'a> {
    /// A scope over a table or none.
    pub fn new(table: Option<(&'a TableDef, &'a str)>, clause: &'static str) -> Scope<'a> {
        Scope { table, clause, aliases: &[], settings: Settings::default() }
    }

    /// The same scope under a session's settings.
    #[must_use]
    pub fn under(self, settings: Settings) -> Scope<'a> {
        Scope { settings, ..self }
    }

    /// Binds an expression of one value.
    pub fn bind(&mut self, expr: &ast::Expr) -> Result<Typed, SqlError> {
        match self.value_or_row(expr)? {
            Typed { expr: Expr::Row(_), .. } => Err(crate::resolve::one_column()),
            value => Ok(value),
        }
    }

    fn value_or_row(&mut self, expr: &ast::Expr) -> Result<Typed, SqlError> {
        use ast::Expr as E;
        match expr {
            E::Param(n) => Ok(Typed {
                coercibility: Coercibility::Coercible,
                ..Typed::new(
                    Expr::Param(*n as usize),
                    ParameterType::Text.column_type(self.settings.collation),
                )
            }),
            E::Column(column) => self.column(column),
            E::DefaultOf(column) => match (self.column(column)?.expr, self.table) {
                (Expr::Column(place), Some((def, _))) => {
                    crate::defaults::default_of(&def.columns[usize::from(place.column)])
                }
                _ => Err(SqlError::unsupported("DEFAULT of what is no column")),
            },
            E::UserVar(_) | E::AssignUserVar(..) | E::SystemVar(_) => {
                Err(SqlError::unsupported("variable"))
            }
            E::Call(call) => self.call(call),
            E::Aggregate(aggregate) => match aggregate.over {
                Some(_) => Err(SqlError::unsupported("window function")),
                None => Err(PlanError::InvalidGroupFunction.into()),
            },
            E::Subquery(_) | E::Exists(_) | E::InQuery { .. } | E::Quantified { .. } => {
                Err(SqlError::unsupported("subquery"))
            }
            other => {
                let build = Builder::new(self.settings);
                build
                    .compose(other, &mut |e| self.value_or_row(e))?
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

    fn call(&mut self, call: &ast::Call) -> Result<Typed, SqlError> {
        if call.over.is_some() {
            return Err(SqlError::unsupported("window function"));
        }
        if call.modifier.is_some() {
            return Err(SqlError::unsupported(format!("function {}", call.name.name)));
        }
        let arguments = call.args.iter().map(|a| self.bind(a)).collect::<Result<Vec<_>, _>>()?;
        Builder::new(self.settings).call(call, arguments)
    }
}

/// A truth value.
pub(crate) fn boolean(expr: Expr) -> Typed {
    let ty = ColumnType { length: 1, ..ColumnType::int(Kind::BigInt, false) };
    Typed::new(expr, ty)
}
