//! UPDATE and DELETE: the query that finds the rows, and what is done to them.
//!
//! 1. The outputs of the block are columns of the targets and the values of SET: whatever is merged into the
//!    block (a view) moves them to the tables that it is made of. 2. Names are resolved in MySQL's order: FROM,
//!    WHERE, SET, ORDER BY. 3. A subquery does not read a target, but in a derived table, whose rows are kept.

use super::names::Scope;
use super::updatable::{check_of, is_join, is_target, not_a_column, several_tables, view_of};
use super::{Resolver, WritePrivileges};
use crate::PlanContext;
use crate::error::PlanError;
use crate::logical::{Block, Leaf, Source, conjunction, conjuncts, subquery_of};
use crate::make::Builder;
use crate::physical::Planner;
use crate::plan::{ChangePlan, ChangeTarget, Found, InsertValue, Output, ResultColumn, RowCheck};
use crate::query_plan::{Node, QueryStatement, Read, RowLock};
use crate::stats::Sampled;
use crate::transform::transform;
use access::Privileges;
use catalog::{TableCache, TableDef, TableRef};
use expr::SqlError;
use expr::build::Settings;
use expr::tree::{Column, Expr, Typed};
use parser::ast;

/// What the statements have in common.
struct Written<'a> {
    verb: &'static str,
    hints: Option<&'a ast::Hints>,
    with: Option<&'a ast::With>,
    tables: &'a [ast::TableRef],
    /// Which tables of FROM are opened for writing.
    writing: Writing,
    filter: Option<&'a ast::Expr>,
    order_by: &'a [ast::OrderItem],
    limit: Option<&'a ast::Limit>,
    ignore: bool,
}

/// Which tables of FROM are opened for writing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Writing {
    /// None.
    #[default]
    Nothing,
    /// All of them.
    All,
    /// Those that are called so.
    Named(Vec<ast::ObjectName>),
}

impl Writing {
    pub(super) fn includes(&self, alias: &str) -> bool {
        match self {
            Writing::Nothing => false,
            Writing::All => true,
            Writing::Named(names) => names.iter().any(|n| n.name == alias),
        }
    }
}

/// An assignment: the outputs of its column and of its value; no value is DEFAULT.
type Assigned = (usize, Option<usize>);

/// What is done to the rows.
enum What<'a> {
    /// These leaves lose them.
    Delete(&'a [u16]),
    /// They get other values; `several` tables were written.
    Update { assigned: &'a [Assigned], several: bool },
}

/// Plans UPDATE.
///
/// # Errors
/// Those of names, 1093, 1221, 1288, 1706, 3105, lock errors; 1235.
pub fn plan_update(
    context: &mut PlanContext<'_>,
    update: &ast::Update,
) -> Result<ChangePlan, SqlError> {
    let several = is_several(&update.tables);
    let clauses = [(!update.order_by.is_empty(), "ORDER BY"), (update.limit.is_some(), "LIMIT")];
    if let Some((_, clause)) = clauses.iter().find(|(written, _)| several && *written) {
        return Err(PlanError::IncorrectUsage("UPDATE", clause).into());
    }
    let written = Written {
        verb: "UPDATE",
        hints: update.hints.as_deref(),
        with: update.with.as_ref(),
        tables: &update.tables,
        writing: Writing::All,
        filter: update.filter.as_ref(),
        order_by: &update.order_by,
        limit: update.limit.as_ref(),
        ignore: update.ignore,
    };
    context.set_low_priority(update.low_priority);
    let mut resolver = Resolver::new(context);
    let (block, assigned) =
        resolver.change(&written, |resolver| resolver.assignments(&update.assignments))?;
    resolver.plan_change(block, &written, What::Update { assigned: &assigned, several })
}

/// Plans DELETE.
///
/// # Errors
/// Those of names, 1093, 1109, 1288, lock errors; 1235.
pub fn plan_delete(
    context: &mut PlanContext<'_>,
    delete: &ast::Delete,
) -> Result<ChangePlan, SqlError> {
    let targets = &delete.targets;
    if let Some(twice) = (1..targets.len()).find(|n| targets[..*n].contains(&targets[*n])) {
        return Err(PlanError::NotUniqueTable(&targets[twice].name).into());
    }
    let written = Written {
        verb: "DELETE",
        hints: delete.hints.as_deref(),
        with: delete.with.as_ref(),
        tables: &delete.tables,
        writing: match targets.is_empty() {
            true => Writing::All,
            false => Writing::Named(targets.clone()),
        },
        filter: delete.filter.as_ref(),
        order_by: &delete.order_by,
        limit: delete.limit.as_ref(),
        ignore: delete.ignore,
    };
    context.set_low_priority(delete.low_priority);
    let mut resolver = Resolver::new(context);
    let (block, leaves) = resolver.change(&written, |resolver| resolver.delete_targets(targets))?;
    resolver.plan_change(block, &written, What::Delete(&leaves))
}

/// More than one table, or one that is not simply named.
fn is_several(tables: &[ast::TableRef]) -> bool {
    match tables {
        [ast::TableRef::Table(_)] => false,
        [ast::TableRef::List(list)] => is_several(list),
        _ => true,
    }
}

pub(super) fn output(value: Typed) -> Output {
    let column = ResultColumn::computed(String::new(), value.ty, value.ty.decimals);
    Output { value, column }
}

fn not_updatable(name: &str, verb: &str) -> SqlError {
    PlanError::NotUpdatable(name, verb).into()
}

impl Resolver<'_, '_> {
    /// Resolves what finds the rows; `outputs` fills the scope's outputs between WHERE and ORDER BY.
    fn change<T>(
        &mut self,
        written: &Written<'_>,
        outputs: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<(Block, T), SqlError> {
        self.build = Builder::new(Settings { changes: true, ..self.build.settings });
        if let Some(with) = written.with {
            self.add_ctes(with)?;
        }
        self.blocks += 1;
        let number = self.blocks;
        self.enter_hints(number, written.hints);
        self.scopes.push(Scope { number, ..Scope::new("field list") });
        self.writing = written.writing.clone();
        let several = is_several(written.tables);
        self.write_privileges = match written.verb {
            // The targets are known behind FROM.
            "DELETE" if several => WritePrivileges::All(Privileges::SELECT),
            "DELETE" => WritePrivileges::All(Privileges::DELETE),
            // Each column says what is needed of it.
            _ if several => WritePrivileges::UpdateOrSelect,
            _ => WritePrivileges::All(Privileges::UPDATE),
        };
        self.counted = false;
        let from = self.sources(written.tables)?;
        // SET stands before WHERE and is resolved after it.
        self.counted = written.verb == "DELETE" && self.blocks == number;
        self.writing = Writing::Nothing;
        let mut filter = Vec::new();
        if let Some(condition) = written.filter {
            self.scope().clause = "where clause";
            conjuncts(self.row_condition(condition)?.expr, &mut filter);
        }
        self.scope().clause = "field list";
        let made = outputs(self)?;
        let outputs = std::mem::take(&mut self.scope().outputs);
        let order_by = self.order_by(written.order_by, false)?;
        let limit = written.limit.map(|limit| self.limit_of(limit)).transpose()?;
        let scope = self.scope();
        let mut block = Block {
            leaves: std::mem::take(&mut scope.leaves),
            from,
            filter,
            outputs,
            order_by,
            limit,
            subqueries: std::mem::take(&mut scope.subqueries),
            number,
            ..Block::default()
        };
        self.scopes.pop();
        self.hints.leave(number, &mut block, self.context.tables);
        self.finish_hints();
        Ok((block, made))
    }

    /// A column that gets another value.
    fn assigned(&mut self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        let found = self.place_of(column)?;
        self.need_column_of(&found, Privileges::UPDATE, false)?;
        Ok(found)
    }

    fn assignments(&mut self, list: &[ast::Assignment]) -> Result<Vec<Assigned>, SqlError> {
        let columns =
            list.iter().map(|a| self.assigned(&a.column)).collect::<Result<Vec<_>, _>>()?;
        let mut assigned = Vec::with_capacity(list.len());
        let mut outputs: Vec<Output> = columns.into_iter().map(output).collect();
        for (position, assignment) in list.iter().enumerate() {
            self.context.parameters.stored(&assignment.value, &outputs[position].value.ty);
            let value = match self.insert_value(&assignment.value)? {
                InsertValue::Default => None,
                InsertValue::Expr(value) => {
                    outputs.push(output(value));
                    Some(outputs.len() - 1)
                }
            };
            assigned.push((position, value));
        }
        self.scope().outputs = outputs;
        Ok(assigned)
    }

    /// The leaves whose rows go.
    fn delete_targets(&mut self, targets: &[ast::ObjectName]) -> Result<Vec<u16>, SqlError> {
        if targets.is_empty() {
            return Ok(vec![0]);
        }
        let scope = self.scope();
        let leaf = |name: &ast::ObjectName| {
            scope
                .leaf_named(name.schema.as_deref(), &name.name)
                .ok_or_else(|| SqlError::from(PlanError::NotInMultiDelete(&name.name)))
        };
        let leaves = targets.iter().map(leaf).collect::<Result<Vec<u16>, _>>()?;
        for number in &leaves {
            if let Some(need) = self.scope().leaves[usize::from(*number)].need {
                self.context.need_more(need, Privileges::DELETE)?;
            }
        }
        Ok(leaves)
    }

    /// From the resolved block to the plan.
    fn plan_change(
        mut self,
        mut block: Block,
        written: &Written<'_>,
        what: What<'_>,
    ) -> Result<ChangePlan, SqlError> {
        let written_leaves = block.leaves.clone();
        let mut read = Vec::new();
        read_by_subqueries(&block, None, &mut read);
        let targets = match what {
            What::Delete(leaves) => {
                leaves.iter().try_for_each(|leaf| check_delete(&block, *leaf, written.verb))?;
                transform(&mut block, &self.shared);
                deleted(&block, leaves, written.verb)?
            }
            What::Update { assigned, .. } => {
                let shown = assigned_columns(&block, assigned, written.verb)?;
                transform(&mut block, &self.shared);
                self.updated(&block, &written_leaves, &shown, written.verb)?
            }
        };
        self.need_below_views(&block, &what)?;
        refuse_read(&targets, &written_leaves, &read, written.verb)?;
        block.targets = targets.iter().map(|t| t.leaf).collect();
        for target in &targets {
            block.leaves[usize::from(target.leaf)].lock = Some(RowLock::FOR_CHANGE);
        }
        let filter = conjunction(block.filter.iter().cloned());
        let alone = block.leaves.len() == 1 && block.subqueries.is_empty();
        let sampled = Sampled::new(self.context.tables);
        let mut planner = Planner::new(self.context, &sampled, &self.shared);
        planner.locks = true;
        // So it is in MySQL, and what is locked follows from it.
        planner.no_intersections =
            matches!((&what, &written.writing), (What::Delete(_), Writing::All));
        let query = planner.block(block)?;
        let shared = planner.done;
        let query = QueryStatement {
            query,
            shared,
            tables: self.tables,
            into: None,
            count_all: false,
            execution_ms_max: None,
        };
        let mut plan = ChangePlan {
            query,
            targets,
            delete: matches!(what, What::Delete(_)),
            several: is_several(written.tables),
            found: if alone { Found::Alone(filter) } else { Found::Joined },
            immediate: false,
            ignore: written.ignore,
            reads_assigned: false,
        };
        if let What::Update { assigned, several } = what {
            assign(&mut plan, self.context.tables, assigned)?;
            settle_order(&mut plan, self.context.tables, several)?;
            plan.reads_assigned = reads_assigned(&plan);
        }
        plan.query.query.outputs.clear();
        Ok(plan)
    }

    /// Asks for the columns of tables that are changed through views.
    fn need_below_views(&mut self, block: &Block, what: &What<'_>) -> Result<(), SqlError> {
        let What::Update { assigned, .. } = what else { return Ok(()) };
        for (output, _) in assigned.iter() {
            let Expr::Column(place) = block.outputs[*output].value.expr else { continue };
            let leaf = &block.leaves[usize::from(place.leaf)];
            let column = &leaf.columns[usize::from(place.column)].result.org_name;
            if let Some(need) = leaf.need {
                self.context.need_column(need, column, Privileges::UPDATE, false)?;
            }
        }
        Ok(())
    }

    /// The leaves that the assigned columns are of, each once; a view has become its tables.
    fn updated(
        &self,
        block: &Block,
        written: &[Leaf],
        shown: &[(u16, usize)],
        verb: &str,
    ) -> Result<Vec<ChangeTarget>, SqlError> {
        let mut targets: Vec<ChangeTarget> = Vec::new();
        for (output, (shown_leaf, column)) in block.outputs.iter().zip(shown) {
            let view = &written[usize::from(*shown_leaf)];
            let Expr::Column(Column { leaf, .. }) = output.value.expr else {
                return Err(not_a_column(&view.columns[*column].result.name));
            };
            let Source::Table(table) = block.leaves[usize::from(leaf)].source else {
                return Err(not_updatable(&view.name, verb));
            };
            if let Some(known) = targets.iter().find(|t| t.shown == *shown_leaf)
                && known.leaf != leaf
                && let Some((view, _)) = view_of(view)
            {
                return Err(several_tables(view));
            }
            if targets.iter().any(|t| t.leaf == leaf) {
                continue;
            }
            let check = match view_of(view) {
                Some((view, block)) => check_of(block, table, &self.shared)?
                    .map(|condition| RowCheck { view: view.full_name(), condition }),
                None => None,
            };
            let assignments = Vec::new();
            targets.push(ChangeTarget { table, leaf, shown: *shown_leaf, assignments, check });
        }
        Ok(targets)
    }
}

/// Rows of the leaf can be deleted.
fn check_delete(block: &Block, leaf: u16, verb: &str) -> Result<(), SqlError> {
    let leaf = &block.leaves[usize::from(leaf)];
    if !is_target(leaf) {
        return Err(not_updatable(&leaf.name, verb));
    }
    match view_of(leaf) {
        Some((view, block)) if is_join(block) => {
            Err(PlanError::JoinViewDelete(&view.full_name()).into())
        }
        _ => Ok(()),
    }
}

/// Targets of a DELETE: the only table of a view is its leaf now.
fn deleted(block: &Block, leaves: &[u16], verb: &str) -> Result<Vec<ChangeTarget>, SqlError> {
    let target = |leaf: &u16| {
        let place = &block.leaves[usize::from(*leaf)];
        let Source::Table(table) = place.source else {
            return Err(not_updatable(&place.name, verb));
        };
        Ok(ChangeTarget { table, leaf: *leaf, shown: *leaf, assignments: Vec::new(), check: None })
    };
    leaves.iter().map(target).collect()
}

/// Leaf and column of each assignment, before views are merged.
fn assigned_columns(
    block: &Block,
    assigned: &[Assigned],
    verb: &str,
) -> Result<Vec<(u16, usize)>, SqlError> {
    let shown = |(column, _): &Assigned| {
        let Expr::Column(Column { leaf, column, .. }) = block.outputs[*column].value.expr else {
            return Err(not_a_column(""));
        };
        let place = &block.leaves[usize::from(leaf)];
        match is_target(place) {
            true => Ok((leaf, usize::from(column))),
            false => Err(not_updatable(&place.name, verb)),
        }
    };
    assigned.iter().map(shown).collect()
}

/// 1093 for a target that a subquery reads, 1443 where one of them is a view.
fn refuse_read(
    targets: &[ChangeTarget],
    written: &[Leaf],
    read: &[(TableRef, Option<String>)],
    verb: &str,
) -> Result<(), SqlError> {
    for target in targets {
        let Some((_, view)) = read.iter().find(|(table, _)| *table == target.table) else {
            continue;
        };
        let shown = &written[usize::from(target.shown)];
        let name = &shown.name;
        let own = view_of(shown).map(|_| name.clone());
        let view = own.or_else(|| view.clone());
        return Err(reads_target(name, view.as_deref(), verb));
    }
    Ok(())
}

/// 1093, or 1443 where a view is in between: `name` is changed and read.
pub(super) fn reads_target(name: &str, view: Option<&str>, verb: &str) -> SqlError {
    match view {
        None => SqlError::from(PlanError::TargetRead(name)),
        Some(view) => SqlError::from(PlanError::ViewPrevents(view, verb, name)),
    }
}

/// Tables that subqueries read, but those of derived tables in them.
/// `view`: the name of the view that is around.
fn read_by_subqueries(
    block: &Block,
    view: Option<&str>,
    read: &mut Vec<(TableRef, Option<String>)>,
) {
    for subquery in &block.subqueries {
        read_by(&subquery.block, view, read);
    }
}

fn read_by(block: &Block, view: Option<&str>, read: &mut Vec<(TableRef, Option<String>)>) {
    for leaf in &block.leaves {
        match &leaf.source {
            Source::Table(table) => read.push((*table, view.map(str::to_string))),
            Source::Set { inputs, .. } => inputs.iter().for_each(|b| read_by(b, view, read)),
            _ => {
                if let Some((_, inner)) = view_of(leaf) {
                    read_by(inner, view.or(Some(&leaf.name)), read);
                }
            }
        }
    }
    read_by_subqueries(block, view, read);
}

/// Gives the targets their assignments.
fn assign(
    plan: &mut ChangePlan,
    tables: &TableCache,
    assigned: &[Assigned],
) -> Result<(), SqlError> {
    let outputs = &plan.query.query.outputs;
    for (column, value) in assigned {
        let Expr::Column(Column { leaf, column, .. }) = outputs[*column].value.expr else {
            continue;
        };
        let target = plan.targets.iter_mut().find(|t| t.leaf == leaf);
        let target = target.expect("every assigned column made its leaf a target");
        let def = tables.def(target.table);
        let value = match value {
            Some(value) => {
                let kind = def.columns[usize::from(column)].ty.kind;
                InsertValue::Expr(expr::build::stored(&outputs[*value].value, kind))
            }
            None if def.columns[usize::from(column)].generated.is_some() => continue,
            None => InsertValue::Default,
        };
        refuse_generated(def, usize::from(column), &value)?;
        target.assignments.push((usize::from(column), value));
    }
    Ok(())
}

/// Whether the conditions and values of one table's UPDATE read every column that it assigns.
fn reads_assigned(plan: &ChangePlan) -> bool {
    let (Found::Alone(filter), [target]) = (&plan.found, &plan.targets[..]) else { return false };
    let values = target.assignments.iter().filter_map(|(_, value)| match value {
        InsertValue::Expr(value) => Some(&value.expr),
        InsertValue::Default => None,
    });
    let read = expr::tree::columns_of(filter.iter().chain(values));
    target.assignments.iter().all(|(column, _)| read.contains(column))
}

/// A generated column takes no value but DEFAULT.
pub(super) fn refuse_generated(
    def: &TableDef,
    column: usize,
    value: &InsertValue,
) -> Result<(), SqlError> {
    let named = &def.columns[column];
    if named.generated.is_none() || matches!(value, InsertValue::Default) {
        return Ok(());
    }
    Err(not_allowed(&named.name, &def.name))
}

/// 3105.
pub fn not_allowed(column: &str, table: &str) -> SqlError {
    PlanError::GeneratedValue(column, table).into()
}

/// MySQL changes the table that drives the join while it reads it, so that what is computed after an
/// assignment sees it, and the others at the end, from the values that their rows had. That table comes first.
fn settle_order(plan: &mut ChangePlan, tables: &TableCache, several: bool) -> Result<(), SqlError> {
    let clustered = |target: &ChangeTarget| {
        let def = tables.def(target.table);
        let parts = def.clustered().map(|index| &index.parts);
        parts.is_some_and(|parts| {
            parts.iter().any(|p| target.assignments.iter().any(|(c, _)| *c == p.column))
        })
    };
    for (n, target) in plan.targets.iter().enumerate() {
        let twin = plan.targets[..n].iter().find(|t| t.table == target.table);
        if let Some(twin) = twin.filter(|twin| clustered(twin) || clustered(target)) {
            let name = |t: &ChangeTarget| &plan.query.query.leaves[usize::from(t.leaf)].name;
            return Err(PlanError::KeyUpdateTwice(name(twin), name(target)).into());
        }
    }
    let driving = driving(&plan.query.query.root);
    let place = plan.targets.iter().position(|t| driving.is_some_and(|r| r.leaf == t.leaf));
    let first = match (several, place) {
        (false, _) => 0,
        (true, None) => return Ok(()),
        (true, Some(place)) => {
            let (read, target) = (driving.expect("it has a place"), &plan.targets[place]);
            let mut key = tables.table(read.table).key(read.access.index()).map(|k| k.parts.iter());
            let moves = |column: usize| target.assignments.iter().any(|(c, _)| *c == column);
            if clustered(target) || key.as_mut().is_some_and(|k| k.any(|p| moves(p.column))) {
                return Ok(());
            }
            place
        }
    };
    plan.targets.swap(0, first);
    plan.immediate = sees_assigned(plan);
    Ok(())
}

/// The table that is read first.
fn driving(node: &Node) -> Option<&Read> {
    match node {
        Node::Read(read) => Some(read),
        Node::Join { outer: node, .. }
        | Node::HashJoin { probe: node, .. }
        | Node::Filter { input: node, .. }
        | Node::Sort { input: node, .. }
        | Node::Limit { input: node, .. } => driving(node),
        _ => None,
    }
}

/// Whether a value may look at a column of the first target that was assigned before.
fn sees_assigned(plan: &ChangePlan) -> bool {
    let Some(first) = plan.targets.first() else { return false };
    let mut before: Vec<usize> = Vec::new();
    for (n, target) in plan.targets.iter().enumerate() {
        for (column, value) in &target.assignments {
            let mut sees = false;
            if let InsertValue::Expr(value) = value {
                value.expr.visit(&mut |e| {
                    sees |= match e {
                        Expr::Column(c) => {
                            c.leaf == first.leaf && before.contains(&usize::from(c.column))
                        }
                        // It may be looked at from inside.
                        other => subquery_of(other).is_some() && !before.is_empty(),
                    };
                });
            }
            if sees {
                return true;
            }
            if n == 0 {
                before.push(*column);
            }
        }
    }
    false
}
