//! What a table's definition computes, compiled: default expressions, generated columns, CHECK. What a view reads, parsed.
//!
//! 1. A version of a table or view is compiled once, by whoever needs it first, for all sessions: the catalog keeps the result
//!    beside the definition ([`catalog::Definition::compiled`]). No statement but DDL reads texts of definitions again.
//! 2. Nothing of a session counts: the texts are bound under the default settings.

use crate::bind::Scope;
use crate::error::PlanError;
use catalog::{ColumnDef, DefaultValue, TableCache, TableDef, TableRef, ViewDef};
use expr::tree::{Expr, Typed, columns_of};
use expr::{OwnedDatum, SqlError};
use parser::ast::{self, Statement};
use std::sync::Arc;
use value::Kind;

/// The expressions of a definition, bound to its columns.
#[derive(Debug)]
pub struct CompiledDefinition {
    /// What each column holds as long as its value is not known: NULL, or zero or the empty string where it may not be NULL.
    pub unknown: Vec<OwnedDatum>,
    /// Default expressions in the order of their columns.
    pub defaults: Vec<ComputedColumn>,
    /// Generated columns in their order: each may look at those before it.
    pub generated: Vec<ComputedColumn>,
    /// CHECKs that are enforced, in the order in which they were made.
    pub checks: Vec<Check>,
    /// Hidden columns of functional key parts, and what they are computed from as a query would write it.
    pub functional: Vec<(usize, Expr)>,
    /// A view's query as it was written; a view has nothing of all the above. `None`: a table, or a view that cannot be read.
    pub query: Option<Arc<ast::Query>>,
}

/// A column whose value is computed.
#[derive(Debug)]
pub struct ComputedColumn {
    /// Its position.
    pub column: usize,
    /// Its value as a column of its kind takes it.
    pub value: Typed,
    /// The value looks at columns that are computed.
    pub sees_computed: bool,
}

/// CHECK.
#[derive(Debug)]
pub struct Check {
    /// Name.
    pub name: String,
    /// What must not be false.
    pub condition: Expr,
    /// The condition looks at columns that are computed.
    pub sees_computed: bool,
}

impl CompiledDefinition {
    /// That of an open table.
    ///
    /// # Errors
    /// As [`CompiledDefinition::compile`].
    #[inline]
    pub fn of(tables: &TableCache, table: TableRef) -> Result<&CompiledDefinition, SqlError> {
        tables.compiled(table, CompiledDefinition::compile)
    }

    /// Compiles a definition.
    ///
    /// # Errors
    /// 1812, those of binding.
    pub fn compile(def: &TableDef) -> Result<CompiledDefinition, SqlError> {
        let mut made = CompiledDefinition {
            unknown: def.columns.iter().map(unknown).collect(),
            defaults: Vec::new(),
            generated: Vec::new(),
            checks: Vec::new(),
            functional: Vec::new(),
            query: None,
        };
        if let Some(view) = &def.view {
            made.query = parse_view(view);
            return Ok(made);
        }
        for (column, computed) in def.columns.iter().enumerate() {
            let kind = computed.ty.kind;
            match (&computed.generated, &computed.default) {
                (Some(generated), _) => {
                    let value = bind(def, &generated.text, CLAUSE)?;
                    made.generated.push(ComputedColumn::of((def, column), &value, kind));
                    if computed.hidden {
                        made.functional.push((column, value.expr));
                    }
                }
                (None, DefaultValue::Expr(text)) => {
                    let value = bind(def, text, CLAUSE)?;
                    made.defaults.push(ComputedColumn::of((def, column), &value, kind));
                }
                _ => {}
            }
        }
        for check in def.checks.iter().filter(|c| c.enforced) {
            let condition = bind(def, &check.text, CLAUSE)?.expr;
            let sees_computed = sees_computed(def, &condition);
            made.checks.push(Check { name: check.name.clone(), condition, sees_computed });
        }
        Ok(made)
    }

    /// Nothing is computed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.defaults.is_empty() && self.generated.is_empty() && self.checks.is_empty()
    }
}

impl ComputedColumn {
    fn of((def, column): (&TableDef, usize), value: &Typed, kind: Kind) -> ComputedColumn {
        let value = expr::build::stored(value, kind);
        let sees_computed = sees_computed(def, &value.expr);
        ComputedColumn { column, value, sees_computed }
    }
}

fn sees_computed(def: &TableDef, expr: &Expr) -> bool {
    columns_of([expr]).into_iter().any(|c| {
        let column = &def.columns[c];
        column.generated.is_some() || matches!(column.default, DefaultValue::Expr(_))
    })
}

fn unknown(column: &ColumnDef) -> OwnedDatum {
    match column.ty.nullable {
        true => OwnedDatum::Null,
        false => OwnedDatum::of(&value::coerce::implicit_default(&column.ty, &mut Vec::new())),
    }
}

/// Where messages say that an expression of a definition stands.
const CLAUSE: &str = "definition";

/// Binds the text of an expression to a table's columns; `clause` is where messages say it stands.
///
/// # Errors
/// 1812: the text is no expression. Those of binding.
pub fn bind(def: &TableDef, text: &str, clause: &'static str) -> Result<Typed, SqlError> {
    Scope::new(Some((def, &def.name)), clause).bind(&parse(text)?)
}

/// The query of a view; `None`: its text is none.
fn parse_view(view: &ViewDef) -> Option<Arc<ast::Query>> {
    match parser::parse(view.query.as_bytes(), parser::SqlMode::DEFAULT) {
        Ok(Statement::Query(query)) => Some(Arc::from(query)),
        _ => None,
    }
}

fn parse(text: &str) -> Result<ast::Expr, SqlError> {
    let sql = format!("DO {text}");
    match parser::parse(sql.as_bytes(), parser::SqlMode::default()) {
        Ok(Statement::Do(mut list)) if list.len() == 1 => Ok(list.remove(0)),
        _ => Err(PlanError::UnreadableDefinition(text).into()),
    }
}
