//! Query expressions: set operations, VALUES, TABLE, common table expressions.

use super::from::{block_columns, derived_leaf};
use super::locking::moved_inside;
use super::names::{Aliases, Scope};
use super::select::too_nested;
use super::{CteEntry, Resolver, SharedBlock, self_reference};
use crate::error::PlanError;
use crate::hints::IndexChoice;
use crate::logical::{Block, From, Leaf, LeafColumn, Source};
use crate::plan::{Output, ResultColumn, SortKey};
use expr::SqlError;
use expr::tree::Typed;
use parser::ast::{self, QueryBody, SetOperator};
use std::rc::Rc;
use value::ColumnType;
use value::collation::aggregate::{Purpose, aggregate};

/// Blocks within each other: a column names its own by a byte.
const SCOPES_MAX: usize = 190;

impl Resolver<'_, '_> {
    /// Resolves a query expression.
    pub(crate) fn query(&mut self, query: &ast::Query) -> Result<Block, SqlError> {
        if !stdx::stack::has_room() {
            return Err(expr::stack_overrun());
        }
        let ctes = self.ctes.len();
        if let Some(with) = &query.with {
            self.add_ctes(with)?;
        }
        let block = self.body(query);
        self.ctes.truncate(ctes);
        block
    }

    pub(super) fn add_ctes(&mut self, with: &ast::With) -> Result<(), SqlError> {
        for (position, cte) in with.tables.iter().enumerate() {
            if with.tables[..position].iter().any(|c| c.name == cte.name) {
                return Err(PlanError::NotUniqueTable(&cte.name).into());
            }
            self.ctes.push(CteEntry::Written {
                cte: Rc::new(cte.clone()),
                recursive: with.recursive,
                shared: None,
                hidden: false,
            });
        }
        Ok(())
    }

    fn body(&mut self, query: &ast::Query) -> Result<Block, SqlError> {
        if let Some(query) = moved_inside(query) {
            return self.body(&query);
        }
        match &query.body {
            QueryBody::Select(select) => {
                self.enter_locking(&select.from, &query.locking)?;
                let inside = std::mem::take(&mut self.writing_inside);
                let writing = std::mem::replace(&mut self.writing, inside);
                let block = self.select(select, &query.order_by, query.limit.as_ref());
                self.writing = writing;
                block
            }
            QueryBody::Nested(nested) => {
                let plain = nested.order_by.is_empty() && nested.limit.is_none();
                if query.order_by.is_empty() && query.limit.is_none() {
                    return self.query(nested);
                }
                if plain && nested.with.is_none() && nested.locking.is_empty() {
                    let body = nested.body.clone();
                    return self.body(&ast::Query { body, with: None, ..query.clone() });
                }
                self.around(query, |resolver| {
                    let block = resolver.query(nested)?;
                    derived_leaf(block, "", &[], false)
                })
            }
            QueryBody::SetOperation { op, all, left, right } => self.around(query, |resolver| {
                // What is requested of a view is not requested of a union's tables.
                resolver.locking = super::locking::RequestedLocks::default();
                let mut inputs = Vec::new();
                resolver.set_inputs(*op, *all, left, &mut inputs)?;
                inputs.push(resolver.operand(right)?);
                resolver.set_leaf(*op, *all, inputs)
            }),
            QueryBody::Values(rows) => self.around(query, |resolver| resolver.values(rows)),
            QueryBody::Table(name) => {
                let select = ast::Select::of_table(name.clone());
                let select = ast::QueryBody::Select(Box::new(select));
                self.body(&ast::Query { body: select, with: None, ..query.clone() })
            }
        }
    }

    /// A block of one leaf that is not a table, with the query's order and limit.
    fn around(
        &mut self,
        query: &ast::Query,
        leaf: impl FnOnce(&mut Self) -> Result<Leaf, SqlError>,
    ) -> Result<Block, SqlError> {
        if self.scopes.len() >= SCOPES_MAX {
            return Err(too_nested());
        }
        let mut scope = Scope::new("field list");
        scope.hidden = true;
        self.scopes.push(scope);
        let block = self.around_in_scope(query, leaf);
        self.scopes.pop();
        block
    }

    fn around_in_scope(
        &mut self,
        query: &ast::Query,
        leaf: impl FnOnce(&mut Self) -> Result<Leaf, SqlError>,
    ) -> Result<Block, SqlError> {
        let leaf = leaf(self)?;
        let scope = self.scope();
        scope.hidden = false;
        let outputs = leaf.columns.iter().enumerate().map(|(position, column)| {
            let expr = crate::logical::column_of(0, position);
            let value = Typed::new(expr, column.ty);
            Output { value, column: ResultColumn { table: String::new(), ..column.result.clone() } }
        });
        scope.outputs = outputs.collect();
        scope.leaves.push(leaf);
        (scope.clause, scope.aliases) = ("order clause", Aliases::Second);
        let order_by = self.outer_order(&query.order_by)?;
        let limit = query.limit.as_ref().map(|limit| self.limit_of(limit)).transpose()?;
        let scope = self.scope();
        Ok(Block {
            leaves: std::mem::take(&mut scope.leaves),
            from: vec![From::Leaf(0)],
            outputs: std::mem::take(&mut scope.outputs),
            subqueries: std::mem::take(&mut scope.subqueries),
            order_by,
            limit,
            ..Block::default()
        })
    }

    /// ORDER BY of a set operation sees the names of the first SELECT's columns only.
    fn outer_order(&mut self, items: &[ast::OrderItem]) -> Result<Vec<SortKey>, SqlError> {
        let mut keys = Vec::new();
        for item in items {
            if let ast::Expr::Column(ast::ColumnRef { table: Some(table), .. }) = &item.expr {
                return Err(PlanError::TableInGlobalOrder(table).into());
            }
            let position = match &item.expr {
                ast::Expr::Literal(ast::Literal::Int(n)) if *n >= 0 => Some(*n),
                _ => None,
            };
            let value = match position {
                None => self.bind(&item.expr)?,
                Some(n) => {
                    let found = usize::try_from(n - 1).ok();
                    let output = found.and_then(|n| self.scope().outputs.get(n));
                    let unknown =
                        || SqlError::UnknownColumn { name: n.to_string(), clause: "order clause" };
                    output.ok_or_else(unknown)?.value.clone()
                }
            };
            keys.push(SortKey { value, descending: item.descending });
        }
        Ok(keys)
    }

    /// The inputs of a chain of the same associative operation become one list.
    fn set_inputs(
        &mut self,
        op: SetOperator,
        all: bool,
        left: &QueryBody,
        inputs: &mut Vec<Block>,
    ) -> Result<(), SqlError> {
        if let QueryBody::SetOperation { op: o, all: a, left, right } = left
            && *o == op
            && match op {
                // A UNION DISTINCT above takes away what a UNION ALL below it would have kept.
                SetOperator::Union => *a == all || !all,
                SetOperator::Except => *a == all,
                SetOperator::Intersect => !*a && !all,
            }
        {
            self.set_inputs(op, all, left, inputs)?;
            inputs.push(self.operand(right)?);
            return Ok(());
        }
        inputs.push(self.operand(left)?);
        Ok(())
    }

    fn operand(&mut self, body: &QueryBody) -> Result<Block, SqlError> {
        self.query(&ast::Query::of(body.clone()))
    }

    fn set_leaf(
        &mut self,
        op: SetOperator,
        all: bool,
        mut inputs: Vec<Block>,
    ) -> Result<Leaf, SqlError> {
        let mut columns = self.common_outputs(&inputs)?;
        for (place, column) in columns.iter_mut().enumerate() {
            let mut nullable = inputs.iter().map(|b| b.outputs[place].value.ty.nullable);
            column.ty.nullable = match op {
                SetOperator::Union => column.ty.nullable,
                SetOperator::Intersect => nullable.all(|n| n),
                SetOperator::Except => nullable.next().unwrap_or(true),
            };
            column.result.ty.nullable = column.ty.nullable;
            column.result.is_materialized = true;
        }
        for block in &mut inputs {
            for (output, column) in block.outputs.iter_mut().zip(&columns) {
                expr::build::united(&mut output.value, &column.ty);
            }
            // Without a limit its order is nobody's.
            if block.limit.is_none() {
                block.order_by.clear();
            }
        }
        let name = match op {
            SetOperator::Union => "<union temporary>",
            SetOperator::Except => "<except temporary>",
            SetOperator::Intersect => "<intersect temporary>",
        };
        Ok(Leaf {
            name: name.to_string(),
            schema: String::new(),
            source: Source::Set { op, all, inputs },
            columns,
            null_row: false,
            need: None,
            hints: IndexChoice::default(),
            lock: None,
            keys: Vec::new(),
        })
    }

    /// Columns that hold the outputs of all inputs; names are the first's.
    fn common_outputs(&self, inputs: &[Block]) -> Result<Vec<LeafColumn>, SqlError> {
        let first = &inputs[0].outputs;
        if inputs.iter().any(|b| b.outputs.len() != first.len()) {
            return Err(PlanError::DifferentColumnCounts.into());
        }
        let columns = first.iter().enumerate().map(|(position, output)| {
            let values: Vec<_> = inputs.iter().map(|b| &b.outputs[position].value).collect();
            let ty = self.build.common(&values);
            self.one_collation(&values, &ty)?;
            Ok(made_column(&output.column.name, ty, ty.decimals))
        });
        columns.collect()
    }

    /// Error 1271 where texts of a set operation have no collation in common.
    fn one_collation(&self, values: &[&Typed], ty: &ColumnType) -> Result<(), SqlError> {
        let settings = &self.build.settings;
        let claims: Vec<_> = values.iter().map(|v| expr::build::claim(v, settings)).collect();
        if !ty.is_text() || aggregate(&claims, Purpose::Compare, settings.collation).is_ok() {
            return Ok(());
        }
        Err(PlanError::UnionCollations.into())
    }

    fn values(&mut self, rows: &[Vec<ast::Expr>]) -> Result<Leaf, SqlError> {
        let width = rows.first().map_or(0, Vec::len);
        let mut bound = Vec::with_capacity(rows.len());
        for (position, row) in rows.iter().enumerate() {
            if row.len() != width {
                return Err(PlanError::ValueCount(position + 1).into());
            }
            bound.push(row.iter().map(|e| self.bind(e)).collect::<Result<Vec<_>, _>>()?);
        }
        let columns = (0..width).map(|column| {
            let values: Vec<_> = bound.iter().map(|row| &row[column]).collect();
            let ty = self.build.common(&values);
            made_column(&format!("column_{column}"), ty, ty.decimals)
        });
        Ok(Leaf {
            name: "<values>".to_string(),
            schema: String::new(),
            columns: columns.collect(),
            source: Source::Values(bound),
            null_row: false,
            need: None,
            hints: IndexChoice::default(),
            lock: None,
            keys: Vec::new(),
        })
    }

    /// A reference to a common table expression.
    pub(super) fn cte_leaf(&mut self, position: usize, alias: &str) -> Result<Leaf, SqlError> {
        let (cte, recursive, shared) = match &mut self.ctes[position] {
            CteEntry::Recursing { recursion, columns, reads, .. } => {
                *reads += 1;
                let source = Source::Working(*recursion);
                let columns = columns.clone();
                return Ok(renamed(source, columns, alias, Vec::new()));
            }
            CteEntry::Written { cte, recursive, shared, .. } => (cte.clone(), *recursive, *shared),
        };
        let number = match shared {
            Some(number) => number,
            None => {
                // What stands before it in its WITH and around that is in sight, and nothing else.
                let later = self.ctes.split_off(position + usize::from(recursive));
                let was = std::mem::replace(&mut self.scope().hidden, true);
                let block = self.cte_block(&cte, recursive);
                self.scope().hidden = was;
                self.ctes.extend(later);
                let mut block = block?;
                if block.outer_depth() > 0 {
                    // It looks at the blocks around: it runs where it is used.
                    return derived_leaf(block, alias, &cte.columns, false);
                }
                self.shared.push(SharedBlock { name: cte.name.clone(), block, uses: 0 });
                let number = self.shared.len() - 1;
                if let CteEntry::Written { shared, .. } = &mut self.ctes[position] {
                    *shared = Some(number);
                }
                number
            }
        };
        let block = &self.shared[number].block;
        let columns = block_columns(block, alias, &cte.columns)?;
        self.shared[number].uses += 1;
        Ok(renamed(Source::Shared(number), columns, alias, Vec::new()))
    }

    fn cte_block(&mut self, cte: &ast::Cte, recursive: bool) -> Result<Block, SqlError> {
        let locking = std::mem::take(&mut self.locking);
        let position = self.ctes.len();
        let block = if recursive && self_reference::reads_itself(cte) {
            self.recursive(cte)
        } else {
            // Its own name means something else inside of it.
            let hide = |entry: &mut CteEntry, on: bool| {
                if let CteEntry::Written { hidden, cte: other, .. } = entry
                    && other.name == cte.name
                {
                    *hidden = on;
                }
            };
            if recursive && let Some(own) = self.ctes.get_mut(position - 1) {
                hide(own, true);
            }
            let block = self.query(&cte.query);
            if recursive && let Some(own) = self.ctes.get_mut(position - 1) {
                hide(own, false);
            }
            block
        };
        self.locking = locking;
        block
    }

    fn recursive(&mut self, cte: &ast::Cte) -> Result<Block, SqlError> {
        let parts = self_reference::parts(&cte.query.body);
        let name = &cte.name;
        if parts.len() < 2 {
            return Err(PlanError::RecursiveWithoutUnion(name).into());
        }
        self_reference::check(cte, &parts)?;
        if cte.query.with.is_some() {
            return Err(SqlError::unsupported(
                "WITH inside of a recursive common table expression",
            ));
        }
        let query = &*cte.query;
        self.around(query, |resolver| resolver.recursion(cte, &parts))
    }

    fn recursion(
        &mut self,
        cte: &ast::Cte,
        parts: &[self_reference::Part<'_>],
    ) -> Result<Leaf, SqlError> {
        let name = &cte.name;
        let distinct = self_reference::distinct(name, parts)?;
        let alike = match distinct {
            true => None,
            false => self_reference::seeds_without_duplicates(name, parts),
        };
        let bodies: Vec<&QueryBody> = match &alike {
            None => parts.iter().map(|(body, _)| *body).collect(),
            Some((seeds, read)) => {
                std::iter::once(seeds).chain(parts[*read..].iter().map(|(body, _)| *body)).collect()
            }
        };
        let recursion = self.recursions;
        self.recursions += 1;
        let (mut seeds, mut steps): (Vec<Block>, Vec<Block>) = (Vec::new(), Vec::new());
        let mut columns: Vec<LeafColumn> = Vec::new();
        for body in bodies {
            self.ctes.push(CteEntry::Recursing {
                name: name.clone(),
                recursion,
                columns: columns.clone(),
                reads: 0,
            });
            let block = self.operand(body);
            let read =
                matches!(self.ctes.pop(), Some(CteEntry::Recursing { reads, .. }) if reads > 0);
            if read && seeds.is_empty() || !read && !steps.is_empty() {
                return Err(no_seed_before_steps(name));
            }
            let block = block?;
            if read {
                if block.group.is_some() || !block.windows.is_empty() {
                    return Err(step_with_groups(name));
                }
                steps.push(block);
            } else {
                seeds.push(block);
                columns = self.common_outputs(&seeds)?;
                rename_columns(&mut columns, &cte.columns);
                columns.iter_mut().for_each(|c| c.ty.nullable = true);
            }
        }
        if steps.iter().any(|b| b.outputs.len() != columns.len()) {
            return Err(PlanError::DifferentColumnCounts.into());
        }
        let source = Source::Recursive { recursion, seeds, steps, distinct };
        Ok(renamed(source, columns, name, Vec::new()))
    }
}

/// Columns have the names that are written with the table expression, if there is one for each.
fn rename_columns(columns: &mut [LeafColumn], written: &[String]) {
    if written.len() == columns.len() {
        for (column, name) in columns.iter_mut().zip(written) {
            column.result.name.clone_from(name);
            column.result.org_name.clone_from(name);
        }
    }
}

fn no_seed_before_steps(cte: &str) -> SqlError {
    PlanError::RecursiveWithoutSeed(cte).into()
}

fn step_with_groups(cte: &str) -> SqlError {
    PlanError::RecursiveAggregate(cte).into()
}

fn made_column(name: &str, ty: ColumnType, decimals: u8) -> LeafColumn {
    let result = ResultColumn::computed(name, ty, decimals);
    LeafColumn { ty, decimals, listed: true, result }
}

/// A leaf under another name.
fn renamed(source: Source, columns: Vec<LeafColumn>, alias: &str, keys: Vec<Vec<usize>>) -> Leaf {
    let columns = columns.into_iter().map(|mut column| {
        column.result.table = alias.to_string();
        column
    });
    Leaf {
        name: alias.to_string(),
        schema: String::new(),
        columns: columns.collect(),
        source,
        null_row: false,
        need: None,
        hints: IndexChoice::default(),
        lock: None,
        keys,
    }
}
