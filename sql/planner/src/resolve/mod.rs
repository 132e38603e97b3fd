//! Names become places: from the syntax tree to [`crate::logical`] blocks.
//!
//! Reading order: this file (what is carried along), [`names`] (how a name is looked up), [`from`],
//! [`expressions`], [`lift`] (literals that become parameters), [`select`], [`group`] (what grouping makes of a block), [`windows`], [`queries`] (set
//! operations, common table expressions), [`insert`], [`on_duplicate`], [`change`], [`updatable`]
//! (what a change of a view changes).
//!
//! 1. The innermost scope is the last; a column at depth `d` belongs to the scope `d` before it. Each
//!    block pushes exactly one scope, so depths are those of [`crate::query_plan`]. 2. Errors are found in
//!    MySQL's order: FROM, select list, WHERE, GROUP BY, HAVING, ORDER BY.

mod aliases;
mod change;
mod constants;
mod expressions;
mod from;
mod full_group;
mod group;
mod insert;
mod json_table;
mod lift;
mod load;
mod locking;
mod names;
mod on_duplicate;
mod parameters;
mod queries;
mod select;
mod self_reference;
mod updatable;
mod variables;
mod windows;

use crate::error::PlanError;
pub use change::{not_allowed, plan_delete, plan_update};
pub use insert::plan_insert;
pub use load::plan_load;
use names::Scope;
pub use updatable::{is_mergeable, is_updatable};
pub(crate) use windows::materialized_type;

use crate::PlanContext;
use crate::hints::StatementHints;
use crate::logical::Block;
use crate::make::Builder;
use access::Privileges;
use access::need::Definer;
use catalog::TableRef;
use expr::SqlError;
pub(crate) use expr::build::one_column;
use mdl::Mode;
use parser::ast;
use std::rc::Rc;

/// What one statement's names resolve to.
#[derive(Debug)]
pub struct Resolved {
    /// The statement's query.
    pub block: Block,
    /// Common table expressions that leaves refer to by number.
    pub shared: Vec<SharedBlock>,
    /// Tables that were opened.
    pub tables: Vec<(TableRef, Mode)>,
    /// MAX_EXECUTION_TIME in milliseconds, where a hint says so.
    pub execution_ms_max: Option<u32>,
}

/// A common table expression that was resolved by itself.
#[derive(Debug, Clone)]
pub struct SharedBlock {
    /// Its name.
    pub name: String,
    /// Its query; it sees nothing around it.
    pub block: Block,
    /// How many leaves refer to it.
    pub uses: usize,
}

/// A common table expression in sight.
#[derive(Debug, Clone)]
enum CteEntry {
    /// Resolved when it is first used.
    Written { cte: Rc<ast::Cte>, recursive: bool, shared: Option<usize>, hidden: bool },
    /// The one whose recursive part is being resolved: its columns, and how often it was read.
    Recursing {
        name: String,
        recursion: usize,
        columns: Vec<crate::logical::LeafColumn>,
        reads: usize,
    },
}

impl CteEntry {
    fn name(&self) -> &str {
        match self {
            CteEntry::Written { cte, .. } => &cte.name,
            CteEntry::Recursing { name, .. } => name,
        }
    }
}

/// What is needed of a table that a statement changes, or of any of its columns.
#[derive(Debug, Clone, Copy)]
enum WritePrivileges {
    /// These.
    All(Privileges),
    /// UPDATE, or SELECT: what is done to it is not known yet.
    UpdateOrSelect,
}

/// Resolves one statement.
pub(crate) struct Resolver<'a, 'c> {
    pub(crate) context: &'a mut PlanContext<'c>,
    pub(crate) scopes: Vec<Scope>,
    ctes: Vec<CteEntry>,
    pub(crate) shared: Vec<SharedBlock>,
    pub(crate) tables: Vec<(TableRef, Mode)>,
    recursions: usize,
    blocks: u32,
    /// SELECTs around what is being resolved.
    nesting: usize,
    /// Blocks are numbered as MySQL numbers them, by where they are written: none in FROM, whose blocks come first
    /// here, is or was resolved.
    counted: bool,
    hints: StatementHints,
    /// The statement is a query.
    alone: bool,
    pub(crate) build: Builder,
    /// Literals may become parameters: what is being resolved gives no column its name.
    lifts: bool,
    /// Row locks that are requested of the tables of the FROM that is being resolved.
    locking: locking::RequestedLocks,
    /// Schemas of the views around what is being resolved, the innermost last.
    view_schemas: Vec<String>,
    /// Whose rights count in those views.
    definers: Vec<Definer>,
    /// What is needed of the tables that a change takes rows of.
    write_privileges: WritePrivileges,
    /// Tables of the FROM that is being resolved which a change may take rows of.
    writing: change::Writing,
    /// The same of the FROM of a view's query that is about to be resolved.
    writing_inside: change::Writing,
}

impl<'a, 'c> Resolver<'a, 'c> {
    pub(crate) fn new(context: &'a mut PlanContext<'c>) -> Self {
        let build = Builder::new(context.settings);
        Resolver {
            context,
            scopes: Vec::new(),
            ctes: Vec::new(),
            shared: Vec::new(),
            tables: Vec::new(),
            recursions: 0,
            blocks: 0,
            nesting: 0,
            counted: true,
            hints: StatementHints::default(),
            alone: false,
            build,
            lifts: true,
            locking: locking::RequestedLocks::default(),
            view_schemas: Vec::new(),
            definers: Vec::new(),
            write_privileges: WritePrivileges::All(Privileges::NONE),
            writing: change::Writing::Nothing,
            writing_inside: change::Writing::Nothing,
        }
    }

    fn note_table(&mut self, table: TableRef, mode: Mode) {
        match self.tables.iter_mut().find(|(t, _)| *t == table) {
            Some(known) => {
                if mode.changes_rows() {
                    known.1 = mode;
                }
            }
            None => self.tables.push((table, mode)),
        }
    }

    /// Takes the hints of a block, but of a view's.
    fn enter_hints(&mut self, number: u32, hints: Option<&ast::Hints>) {
        if self.view_schemas.is_empty() {
            self.hints.enter(number, hints, self.alone && number == 1);
        }
    }

    /// Raises what the hints of the statement deserve.
    fn finish_hints(&mut self) {
        self.hints.finish();
        self.context.warnings.append(&mut self.hints.warnings);
    }

    pub(crate) fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a scope is pushed while expressions are bound")
    }
}

/// Resolves a query.
///
/// # Errors
/// Unknown and ambiguous names, grouping errors, locks; 1235 for what is not there yet.
pub fn resolve(context: &mut PlanContext<'_>, query: &ast::Query) -> Result<Resolved, SqlError> {
    let mut resolver = Resolver::new(context);
    resolver.alone = true;
    let block = resolver.query(query)?;
    resolver.finish_hints();
    let Resolver { shared, tables, hints, .. } = resolver;
    Ok(Resolved { block, shared, tables, execution_ms_max: hints.execution_ms_max })
}

pub(crate) fn invalid_group_function() -> SqlError {
    PlanError::InvalidGroupFunction.into()
}
