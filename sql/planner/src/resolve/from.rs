//! FROM: tables, joins, derived tables, and the names that they give to columns.

use super::change::Writing;
use super::locking::RequestedLocks;
use super::names::{Scope, Visible, ambiguous};
use super::{CteEntry, Resolver, WritePrivileges};
use crate::definition::CompiledDefinition;
use crate::error::PlanError;
use crate::hints::{IndexChoice, index_choice};
use crate::logical::{Block, From, Leaf, LeafColumn, Source, View, conjuncts};
use crate::needs::definer_of;
use crate::plan::{KeyFlags, Output, ResultColumn};
use crate::query_plan::{JoinKind, RowLock};
use access::Privileges;
use catalog::{ColumnDef, DefaultValue, INFORMATION_SCHEMA, TableDef, ViewDef};
use expr::SqlError;
use expr::tree::Comparison;
use mdl::Mode;
use parser::ast;
use std::sync::Arc;
use value::name::same_name;
use value::{Collation, ColumnType, Kind};

/// A part of FROM with the unqualified names it gives.
type Joined = (From, Vec<Visible>);

impl Resolver<'_, '_> {
    /// Resolves FROM into the innermost scope.
    pub(crate) fn sources(&mut self, list: &[ast::TableRef]) -> Result<Vec<From>, SqlError> {
        let mut items = Vec::new();
        let mut visible = Vec::new();
        for table in list {
            if is_dual(table) {
                continue;
            }
            let (from, names) = self.table_ref(table)?;
            items.push(from);
            visible.extend(names);
            self.scope().visible.clone_from(&visible);
        }
        self.scope().visible = visible;
        Ok(items)
    }

    fn table_ref(&mut self, table: &ast::TableRef) -> Result<Joined, SqlError> {
        match table {
            ast::TableRef::Table(factor) => {
                let leaf = self.table(factor)?;
                self.add_leaf(leaf)
            }
            ast::TableRef::Derived { lateral, query, alias, columns } => {
                let leaf = self.derived(query, alias, columns, *lateral)?;
                self.add_leaf(leaf)
            }
            ast::TableRef::JsonTable(table) => {
                let leaf = self.json_table(table)?;
                self.add_leaf(leaf)
            }
            ast::TableRef::Join(join) => self.join(join),
            ast::TableRef::List(list) => {
                let mut all: Option<Joined> = None;
                for item in list {
                    let (from, names) = self.table_ref(item)?;
                    all = Some(match all {
                        None => (from, names),
                        Some((left, mut visible)) => {
                            visible.extend(names);
                            (inner(left, from), visible)
                        }
                    });
                }
                all.ok_or_else(|| SqlError::from(PlanError::EmptyTableList))
            }
        }
    }

    fn add_leaf(&mut self, leaf: Leaf) -> Result<Joined, SqlError> {
        self.context.opens = true;
        let scope = self.scope();
        let taken = |l: &Leaf| l.name == leaf.name && l.schema == leaf.schema;
        if scope.leaves.iter().any(taken) {
            return Err(PlanError::NotUniqueTable(&leaf.name).into());
        }
        let number = scope.leaves.len() as u16;
        let names = leaf
            .columns
            .iter()
            .enumerate()
            .filter(|(_, c)| c.listed)
            .map(|(column, c)| Visible { name: c.result.name.clone(), leaf: number, column })
            .collect::<Vec<_>>();
        scope.leaves.push(leaf);
        // LATERAL sees what is to its left.
        scope.visible.extend(names.iter().cloned());
        Ok((From::Leaf(number), names))
    }

    /// A named table: a common table expression, a virtual table, a stored one or a view.
    fn table(&mut self, factor: &ast::TableFactor) -> Result<Leaf, SqlError> {
        if !factor.partitions.is_empty() {
            return Err(SqlError::unsupported("PARTITION"));
        }
        let alias = factor.alias.as_deref().unwrap_or(&factor.name.name);
        if factor.name.schema.is_none()
            && let Some(position) = self.find_cte(&factor.name.name)
        {
            return self.cte_leaf(position, alias);
        }
        let name = &self.qualified(&factor.name);
        let need = self.need_of(name, alias)?;
        if let Some(need) = need.filter(|_| self.view_schemas.is_empty())
            && self.lock_of(alias).is_some_and(|lock| lock.exclusive)
        {
            self.context.need_locking(need)?;
        }
        if let Some(table) = self.context.virtual_table(name)? {
            let def = table.def();
            if let Some(view) = &def.view {
                let names = (def.schema.clone(), def.name.clone());
                let columns = table_columns(def, alias);
                let query = table.compiled(CompiledDefinition::compile)?.query.clone();
                let leaf = self.view((view, query), names, (alias, None), columns)?;
                return Ok(Leaf { need, ..leaf });
            }
            self.refuse_lock_of(&table, alias)?;
            return Ok(Leaf {
                name: alias.to_string(),
                schema: def.schema.clone(),
                columns: table_columns(def, alias),
                source: Source::Virtual(table.clone()),
                null_row: false,
                need,
                hints: IndexChoice::default(),
                lock: None,
                keys: unique_keys(def),
            });
        }
        let lock = self.lock_of(alias);
        let mode = match lock {
            _ if self.writing.includes(alias) => self.context.write_mode,
            Some(lock) if lock.exclusive => Mode::SW,
            _ => self.context.read_mode,
        };
        let named = match self.view_schemas.is_empty() {
            true => catalog::Alias::Named(alias),
            false => catalog::Alias::InView,
        };
        let table = self.context.open_as(name, named, mode)?;
        self.note_table(table, mode);
        let def = self.context.tables.def(table);
        if let Some(view) = &def.view {
            let (view, name) = (view.clone(), def.name.clone());
            let columns = table_columns(def, alias);
            let schema = def.schema.clone();
            let query = CompiledDefinition::of(self.context.tables, table)?.query.clone();
            let leaf = self.view((&view, query), (schema, name), (alias, lock), columns)?;
            return Ok(Leaf { need, ..leaf });
        }
        Ok(Leaf {
            name: alias.to_string(),
            schema: def.schema.clone(),
            columns: table_columns(def, alias),
            source: Source::Table(table),
            null_row: false,
            need,
            hints: index_choice(def, factor)?,
            lock,
            keys: unique_keys(def),
        })
    }

    /// Asks for a table, as this FROM uses it.
    fn need_of(&mut self, name: &ast::ObjectName, alias: &str) -> Result<Option<usize>, SqlError> {
        let schema = self.context.schema_of(name)?;
        if self.context.tables.is_temporary(&schema, &name.name) {
            return Ok(None);
        }
        let definer = self.definers.last().cloned();
        let virtual_schema = catalog::virtual_schema(&schema);
        let schema = virtual_schema.unwrap_or(&schema);
        if !self.view_schemas.is_empty() {
            self.context.need_sight_below_view(schema, &name.name)?;
        }
        let (definer, name) = (definer.as_ref(), (schema, &*name.name));
        if !self.writing.includes(alias) {
            return self.context.need_table(definer, name, Privileges::SELECT);
        }
        match self.write_privileges {
            // Of several tables those are updated of which a column may be.
            WritePrivileges::UpdateOrSelect => {
                self.context.need_table_or_read(definer, name, (Privileges::UPDATE, true))
            }
            WritePrivileges::All(privileges) => self.context.need_table(definer, name, privileges),
        }
    }

    /// A name inside of a view lies in the view's own schema.
    fn qualified(&self, name: &ast::ObjectName) -> ast::ObjectName {
        let schema = name.schema.clone().or_else(|| self.view_schemas.last().cloned());
        ast::ObjectName { schema, name: name.name.clone() }
    }

    /// A view is a derived table that sees nothing of what is around it.
    fn view(
        &mut self,
        (view, query): (&ViewDef, Option<Arc<ast::Query>>),
        (schema, name): (String, String),
        (alias, lock): (&str, Option<RowLock>),
        columns: Vec<LeafColumn>,
    ) -> Result<Leaf, SqlError> {
        let invalid = || SqlError::from(PlanError::InvalidView(&schema, &name));
        self.context.need_sight_of_view(&schema, &name)?;
        let query = query.ok_or_else(invalid)?;
        let scopes = std::mem::take(&mut self.scopes);
        let ctes = std::mem::take(&mut self.ctes);
        let locking = std::mem::replace(&mut self.locking, RequestedLocks::of_view(lock));
        self.view_schemas.push(view.database.clone());
        let own = definer_of(view, (&schema, &name));
        if let Some(account) = &own.account {
            self.context.need_definer(account)?;
        }
        // Inside of another view its definer is the invoker.
        let around = self.definers.last().filter(|around| around.account.is_some()).cloned();
        let counts = around.filter(|_| own.account.is_none()).unwrap_or(own);
        self.definers.push(counts);
        if self.writing.includes(alias) {
            self.writing_inside = Writing::All;
        }
        // Its literals are what they were where it was made.
        let own = Collation::from_name(&view.connection_collation);
        let around = self.context.settings.collation;
        self.set_collation(own.unwrap_or(around));
        let block = self.query(&query);
        self.set_collation(around);
        self.writing_inside = Writing::Nothing;
        self.view_schemas.pop();
        self.definers.pop();
        (self.scopes, self.ctes, self.locking) = (scopes, ctes, locking);
        let block = block.map_err(|e| match e.parts().0 {
            1054 | 1109 | 1146 | 1049 | 1305 | 1356 | 1370 | 1142 | 1143 | 1227 => invalid(),
            _ => e,
        })?;
        if block.outputs.len() != columns.len() {
            return Err(invalid());
        }
        let mut block = block;
        block.view = Some(Box::new(View {
            schema: schema.clone(),
            name,
            check: view.check.as_deref().map(|check| match check {
                "LOCAL" => ast::CheckOption::Local,
                _ => ast::CheckOption::Cascaded,
            }),
            is_materialized: view.algorithm == "TEMPTABLE",
            lent: lock.is_some(),
        }));
        let names: Vec<String> = columns.iter().map(|c| c.result.name.clone()).collect();
        let mut leaf = derived_leaf(block, alias, &names, false)?;
        for (column, defined) in leaf.columns.iter_mut().zip(columns) {
            column.result = ResultColumn { ty: column.ty, ..defined.result };
        }
        leaf.schema = schema;
        Ok(leaf)
    }

    fn set_collation(&mut self, collation: Collation) {
        self.context.settings.collation = collation;
        self.build.core.settings.collation = collation;
    }

    fn find_cte(&self, name: &str) -> Option<usize> {
        let seen = |entry: &CteEntry| {
            entry.name() == name && !matches!(entry, CteEntry::Written { hidden: true, .. })
        };
        self.ctes.iter().rposition(seen)
    }

    fn derived(
        &mut self,
        query: &ast::Query,
        alias: &str,
        columns: &[String],
        lateral: bool,
    ) -> Result<Leaf, SqlError> {
        let was = std::mem::replace(&mut self.scope().hidden, !lateral);
        let locking = std::mem::take(&mut self.locking);
        let block = self.query(query);
        self.locking = locking;
        self.scope().hidden = was;
        derived_leaf(block?, alias, columns, lateral)
    }

    fn join(&mut self, join: &ast::Join) -> Result<Joined, SqlError> {
        let (left, left_names) = self.table_ref(&join.left)?;
        let right_join = join.kind == ast::JoinKind::Right;
        let seen = self.scope().unseen.len();
        if right_join {
            self.scope().unseen.extend(left.leaves());
        }
        let right = self.table_ref(&join.right);
        self.scope().unseen.truncate(seen);
        let (right, right_names) = right?;
        let outer = right_join || join.kind == ast::JoinKind::Left;
        let mut on = Vec::new();
        let names = if join.natural || !join.using.is_empty() {
            let using = (!join.natural).then_some(&join.using[..]);
            let (first, second) = match right_join {
                true => (&right_names, &left_names),
                false => (&left_names, &right_names),
            };
            self.common_columns(first, second, using, &mut on)?
        } else {
            left_names.into_iter().chain(right_names).collect()
        };
        if let Some(condition) = &join.on {
            let mut leaves = left.leaves();
            leaves.extend(right.leaves());
            let scope = self.scope();
            let before = (scope.only_leaves.replace(leaves), scope.clause);
            let visible = std::mem::replace(&mut scope.visible, names.clone());
            scope.clause = "on clause";
            let bound = self.row_condition(condition);
            let scope = self.scope();
            (scope.only_leaves, scope.clause) = before;
            scope.visible = visible;
            conjuncts(bound?.expr, &mut on);
        }
        let (left, right) = if right_join { (right, left) } else { (left, right) };
        if outer {
            for leaf in right.leaves() {
                self.scope().leaves[usize::from(leaf)].null_row = true;
            }
        }
        let kind = if outer { JoinKind::Left } else { JoinKind::Inner };
        let straight = join.kind == ast::JoinKind::Straight;
        let from = From::Join { kind, left: Box::new(left), right: Box::new(right), on, straight };
        Ok((from, names))
    }

    /// NATURAL and USING: equalities, and the names with common columns once.
    fn common_columns(
        &mut self,
        first: &[Visible],
        second: &[Visible],
        using: Option<&[String]>,
        on: &mut Vec<expr::Expr>,
    ) -> Result<Vec<Visible>, SqlError> {
        let unknown =
            |name: &str| SqlError::UnknownColumn { name: name.to_string(), clause: "from clause" };
        let is_common = |name: &str| match using {
            Some(names) => names.iter().any(|n| same_name(n, name)),
            None => second.iter().any(|v| same_name(&v.name, name)),
        };
        for name in using.unwrap_or_default() {
            for side in [first, second] {
                match side.iter().filter(|v| same_name(&v.name, name)).count() {
                    0 => return Err(unknown(name)),
                    1 => {}
                    _ => return Err(ambiguous(name, "from clause")),
                }
            }
        }
        let common: Vec<&Visible> = first.iter().filter(|v| is_common(&v.name)).collect();
        for (position, column) in common.iter().enumerate() {
            let mut others = second.iter().filter(|v| same_name(&v.name, &column.name));
            let Some(other) = others.next() else { return Err(unknown(&column.name)) };
            let twice = common[..position].iter().any(|v| same_name(&v.name, &column.name));
            if twice || others.next().is_some() {
                return Err(ambiguous(&column.name, "from clause"));
            }
            let scope = self.scope();
            let a = scope.column(column.leaf, column.column);
            let b = scope.column(other.leaf, other.column);
            let (a, b) = (self.padded(a), self.padded(b));
            for side in [&a, &b] {
                self.need_column_of(side, Privileges::SELECT, false)?;
            }
            on.push(self.build.compare(Comparison::Eq, a, b)?.expr);
        }
        let once = |side: &[Visible]| {
            let common = &common;
            side.iter()
                .filter(|v| !common.iter().any(|c| same_name(&c.name, &v.name)))
                .cloned()
                .collect::<Vec<_>>()
        };
        let mut names: Vec<Visible> = common.iter().map(|v| (*v).clone()).collect();
        names.extend(once(first));
        names.extend(once(second));
        Ok(names)
    }

    /// `*`, `t.*` as outputs.
    pub(crate) fn wildcard(
        &mut self,
        of: Option<&ast::ObjectName>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), SqlError> {
        let scope = self.scope();
        let Some(name) = of else {
            if scope.leaves.is_empty() {
                return Err(PlanError::NoTables.into());
            }
            let shown: Vec<Output> =
                scope.visible.iter().map(|v| output(scope, v.leaf, v.column)).collect();
            return self.add_starred(shown, outputs);
        };
        let Some(leaf) = scope.leaf_named(name.schema.as_deref(), &name.name) else {
            return Err(PlanError::NoSuchTable(&name.name).into());
        };
        let columns = &scope.leaves[usize::from(leaf)].columns;
        let listed = (0..columns.len()).filter(|p| columns[*p].listed);
        let shown: Vec<Output> = listed.map(|p| output(scope, leaf, p)).collect();
        self.add_starred(shown, outputs)
    }

    /// Adds the columns of a `*`.
    fn add_starred(
        &mut self,
        shown: Vec<Output>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), SqlError> {
        for output in shown {
            self.need_column_of(&output.value, Privileges::SELECT, true)?;
            outputs.push(self.padded_output(output));
        }
        Ok(())
    }

    fn padded_output(&self, output: Output) -> Output {
        Output { value: self.padded(output.value), ..output }
    }
}

fn output(scope: &Scope, leaf: u16, column: usize) -> Output {
    let value = scope.column(leaf, column);
    let result = scope.leaves[usize::from(leaf)].columns[column].result.clone();
    Output { column: ResultColumn { ty: value.ty, ..result }, value }
}

fn inner(left: From, right: From) -> From {
    From::Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        on: Vec::new(),
        straight: false,
    }
}

fn is_dual(table: &ast::TableRef) -> bool {
    matches!(table, ast::TableRef::Table(factor) if factor.name.schema.is_none()
        && factor.alias.is_none()
        && factor.name.name.eq_ignore_ascii_case("dual"))
}

pub(super) fn table_columns(def: &TableDef, alias: &str) -> Vec<LeafColumn> {
    def.columns
        .iter()
        .enumerate()
        .map(|(position, column)| {
            let result = table_column(def, alias, position, &column.name);
            let listed = column.is_listed();
            LeafColumn { ty: result.ty, decimals: result.decimals, listed, result }
        })
        .collect()
}

/// Integers of information_schema that MySQL declares as others than the functions behind them give: table, column,
/// what they give, unsigned.
const SCHEMA_INTEGERS: &[(&str, &str, Kind, bool)] = &[
    ("COLUMNS", "NUMERIC_PRECISION", Kind::Int, true),
    ("COLUMNS", "NUMERIC_SCALE", Kind::Int, true),
    ("STATISTICS", "NON_UNIQUE", Kind::BigInt, false),
];

/// Characters that a column of information_schema has which is called TEXT.
const SCHEMA_TEXT_CHARS: u32 = 2048;

/// The type that a column is read as: of information_schema that of the function behind it.
fn read_type(def: &TableDef, column: &ColumnDef) -> ColumnType {
    let declared = column.ty;
    if def.schema != INFORMATION_SCHEMA {
        return declared;
    }
    let integer = SCHEMA_INTEGERS
        .iter()
        .find(|(table, name, ..)| *table == def.name && *name == column.name)
        .map(|(_, _, kind, unsigned)| ColumnType::int(*kind, *unsigned));
    let read = match integer {
        Some(integer) => integer,
        None if declared.kind == Kind::Text => {
            ColumnType::varchar(SCHEMA_TEXT_CHARS, declared.collation)
        }
        None => declared,
    };
    ColumnType { nullable: declared.nullable, ..read }
}

/// Result column of a table's column.
fn table_column(def: &TableDef, alias: &str, position: usize, name: &str) -> ResultColumn {
    let column = &def.columns[position];
    let ty = read_type(def, column);
    let first_of = |unique: bool| {
        def.secondaries().iter().any(|i| {
            i.parts.first().is_some_and(|p| p.column == position)
                && (i.unique && i.parts.len() == 1) == unique
        })
    };
    ResultColumn {
        schema: def.schema.clone(),
        table: alias.to_string(),
        org_table: def.name.clone(),
        name: name.to_string(),
        org_name: column.name.clone(),
        ty,
        decimals: ty.decimals,
        null_literal: false,
        is_materialized: false,
        keys: KeyFlags {
            primary: def
                .primary()
                .is_some_and(|p| p.parts.iter().any(|part| part.column == position)),
            unique: first_of(true),
            multiple: first_of(false),
            auto_increment: column.auto_increment,
            no_default: !column.ty.nullable
                && column.default == DefaultValue::None
                && !column.auto_increment,
        },
    }
}

/// Sets of columns that identify a row: unique indexes over whole columns that are NOT NULL.
fn unique_keys(def: &TableDef) -> Vec<Vec<usize>> {
    def.indexes
        .iter()
        .filter(|index| index.unique)
        .filter(|index| {
            index
                .parts
                .iter()
                .all(|part| part.prefix_chars.is_none() && !def.columns[part.column].ty.nullable)
        })
        .map(|index| index.parts.iter().map(|part| part.column).collect())
        .collect()
}

/// A leaf over a nested query.
pub(crate) fn derived_leaf(
    block: Block,
    alias: &str,
    columns: &[String],
    lateral: bool,
) -> Result<Leaf, SqlError> {
    let columns = block_columns(&block, alias, columns)?;
    Ok(Leaf {
        name: alias.to_string(),
        schema: String::new(),
        keys: derived_keys(&block),
        source: Source::Derived { block: Box::new(block), lateral },
        columns,
        null_row: false,
        need: None,
        hints: IndexChoice::default(),
        lock: None,
    })
}

/// The columns of a nested query under a name.
pub(crate) fn block_columns(
    block: &Block,
    alias: &str,
    names: &[String],
) -> Result<Vec<LeafColumn>, SqlError> {
    if !names.is_empty() && names.len() != block.outputs.len() {
        return Err(PlanError::ColumnListCount.into());
    }
    let mut columns: Vec<LeafColumn> = Vec::with_capacity(block.outputs.len());
    for (position, output) in block.outputs.iter().enumerate() {
        let name = names.get(position).unwrap_or(&output.column.name);
        if columns.iter().any(|c| same_name(&c.result.name, name)) {
            return Err(PlanError::DuplicateColumn(name).into());
        }
        let result = ResultColumn {
            table: alias.to_string(),
            org_name: name.clone(),
            is_materialized: true,
            null_literal: output.column.null_literal,
            ..ResultColumn::computed(name.clone(), output.value.ty, output.value.ty.decimals)
        };
        let (ty, decimals) = (output.value.ty, output.value.ty.decimals);
        columns.push(LeafColumn { ty, decimals, listed: true, result });
    }
    Ok(columns)
}

/// Columns of a nested query that no two rows agree in.
fn derived_keys(block: &Block) -> Vec<Vec<usize>> {
    let place = |expr: &expr::Expr| block.outputs.iter().position(|o| o.value.expr == *expr);
    let all_of = |columns: Vec<Option<usize>>| columns.into_iter().collect::<Option<Vec<_>>>();
    let mut keys = Vec::new();
    if let Some(group) = &block.group {
        let places = (0..group.keys.len())
            .map(|key| place(&crate::logical::column_of(crate::logical::GROUP_LEAF, key)));
        if !group.rollup {
            keys.extend(all_of(places.collect()));
        }
    } else if let [leaf] = &block.leaves[..] {
        for key in &leaf.keys {
            let places = key.iter().map(|column| place(&crate::logical::column_of(0, *column)));
            keys.extend(all_of(places.collect()));
        }
    }
    keys
}
