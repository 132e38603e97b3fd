//! Finds the rows of an UPDATE or DELETE and computes what their columns are assigned.
//!
//! 1. A row of a target is found once, however many rows it meets in a join; what it met first counts. 2. With
//!    a row that is found by itself alone nothing is kept but its key. 3. Rows are found one by one, each changed
//!    before the next is looked for, where MySQL does so and nobody could tell but by locks and waits
//!    ([`is_one_by_one`]); else all are found first.

use crate::locking::{Use, read_for_change, unnamed};
use crate::memory::Budget;
use crate::operators::{Operators, Running};
use crate::ops::block::Block;
use crate::ops::store::RowStore;
use crate::ops::table::{KeyTable, hash};
use crate::ops::{Rest, Run, Statement};
use crate::write::convert::{convert, default_of};
use crate::write::encode::{append, encode};
use crate::{Context, SqlError};
use catalog::{ColumnDef, TableCache, TableDef};
use engine::Client;
use expr::{Environment, Frame, LeafRow, OwnedDatum, Row, Typed, damaged, eval};
use planner::plan::{ChangePlan, ChangeTarget, Found, InsertValue};
use planner::query_plan::{LeafDef, Node, ReadAccess};
use std::sync::Arc;
use value::{ColumnType, Datum, Kind, RowLayout};

/// The clustered key of the one row that is looked at; `None`: the rows have to be searched.
///
/// # Errors
/// Those of evaluating the key.
pub fn point(
    plan: &ChangePlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Option<Vec<u8>>, SqlError> {
    let (Node::Read(read), Found::Alone(_)) = (&plan.query.query.root, &plan.found) else {
        return Ok(None);
    };
    let ReadAccess::Point { index: 0, key: parts } = &read.access else { return Ok(None) };
    let table = context.tables.table(read.table);
    let Some(spec) = table.key(0) else { return Ok(None) };
    let types = &table.spec().columns;
    let row = Row { params, ..Row::default() };
    let mut key = Vec::new();
    for (part, spec) in parts.iter().zip(&spec.parts) {
        let value = eval(&part.value, &row, context.env)?;
        if !spec.append_exact(&types[spec.column], &value.get(), &mut key) {
            return Ok(None);
        }
    }
    instrument::count(instrument::Counter::HandlerReadKey, 1);
    Ok(Some(key))
}

/// The rows of one target, in the order in which they were found.
pub struct FoundRows(RowStore);

/// One of them.
pub struct FoundRow<'b> {
    /// Its clustered key.
    pub key: &'b [u8],
    /// Values of the assigned columns in [`assigned_layout`].
    pub assigned: &'b [u8],
}

impl FoundRows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Row `n`, in the memory of `bytes`.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn get<'b>(&mut self, n: usize, bytes: &'b mut Vec<u8>) -> Result<FoundRow<'b>, SqlError> {
        self.0.get(n, bytes)?;
        FoundRow::of(bytes)
    }
}

impl FoundRow<'_> {
    /// What a [`Taker`] has recorded.
    fn of(record: &[u8]) -> Result<FoundRow<'_>, SqlError> {
        let cut = || SqlError::Storage(base::Error::Internal("a found row is cut"));
        let (length, rest) = record.split_first_chunk::<4>().ok_or_else(cut)?;
        let (key, assigned) =
            rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        Ok(FoundRow { key, assigned })
    }
}

/// The columns of a row that finding it and computing its values look at.
struct Seen {
    narrow: Arc<RowLayout>,
    needed: Vec<usize>,
}

impl Seen {
    /// Of rows of this layout.
    fn new(layout: &RowLayout, leaf: &LeafDef) -> Seen {
        let nothing = ColumnType::int(Kind::TinyInt, false);
        let mut types = vec![nothing; layout.columns()];
        for column in &leaf.needed {
            if let Some(ty) = layout.column_type(*column) {
                types[*column] = ColumnType { nullable: true, ..*ty };
            }
        }
        Seen { narrow: Arc::new(RowLayout::new(&types)), needed: leaf.needed.clone() }
    }

    /// Values of the columns; the others are NULL.
    fn values(&self, layout: &RowLayout, row: &[u8]) -> Result<Vec<OwnedDatum>, SqlError> {
        let mut values = vec![OwnedDatum::Null; self.narrow.columns()];
        for column in &self.needed {
            values[*column] = OwnedDatum::of(&layout.decode(row, *column).map_err(damaged)?);
        }
        Ok(values)
    }
}

/// The layout of a target's assigned values.
pub fn assigned_layout(target: &ChangeTarget, def: &TableDef) -> RowLayout {
    let ty = |(column, _): &(usize, InsertValue)| ColumnType {
        nullable: true,
        ..def.columns[*column].ty
    };
    RowLayout::new(&target.assignments.iter().map(ty).collect::<Vec<_>>())
}

/// Finds the rows of every target.
///
/// # Errors
/// Everything a query can end in, and those of converting values.
pub fn collect(
    (plan, (program, place)): (&ChangePlan, Running<'_>),
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Vec<FoundRows>, SqlError> {
    let used = used(plan);
    let mut operators = Operators::of((program, place), params, context)?;
    let found =
        read_for_change(used, context, |context| find(plan, &mut operators, context, params));
    context.client.change_intended();
    if found.is_ok() {
        operators.keep((program, place), context);
    }
    found
}

/// Finds the rows of the only target, and hands each out before it looks for the next.
///
/// # Errors
/// As [`collect`], and those of `change`.
pub fn each(
    (plan, (program, place)): (&ChangePlan, Running<'_>),
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    mut change: impl FnMut(&FoundRow<'_>, &mut Context<'_>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let operators = Operators::of((program, place), params, context)?;
    let mut search = Search { plan, params, operators, taker: None, rest: None };
    context.client.change_as_found(true);
    let done = loop {
        let changed = match search.next(context) {
            Ok(Some(row)) => change(&row, context),
            Ok(None) => break Ok(()),
            Err(error) => Err(error),
        };
        if changed.is_err() {
            break changed;
        }
    };
    context.client.change_as_found(false);
    if done.is_ok() {
        search.operators.keep((program, place), context);
    }
    done
}

/// A search that rests while each row that it finds is changed.
struct Search<'p> {
    plan: &'p ChangePlan,
    params: &'p [Datum<'p>],
    operators: Operators<'p>,
    /// `None`: it has not begun.
    taker: Option<Taker<'p>>,
    rest: Option<Rest>,
}

impl Search<'_> {
    /// The next row; `None`: there is none.
    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<FoundRow<'_>>, SqlError> {
        let Search { plan, params, operators, taker, rest } = self;
        let found = read_for_change(used(plan), context, |context| {
            let around = (&*context.client, &*context.tables);
            // What it runs with is put together anew.
            let mut st = statement(plan, around, params, operators.budget());
            if let Some(rest) = rest.take() {
                st.resume(rest);
            }
            let found = operators.with(|block| {
                let taker = match taker {
                    Some(taker) => taker,
                    none => none.insert(begin(plan, block, (&st, context.env))?),
                };
                taker.next(block, (&st, context.env))
            })?;
            *rest = Some(st.rest());
            Ok::<_, SqlError>(found)
        })?;
        match &self.taker {
            Some(taker) if found => FoundRow::of(&taker.record).map(Some),
            _ => Ok(None),
        }
    }
}

fn begin<'p>(
    plan: &'p ChangePlan,
    block: &mut Block<'_>,
    (st, env): (&Statement<'_>, &mut dyn Environment),
) -> Result<Taker<'p>, SqlError> {
    let nothing = || SqlError::Storage(base::Error::Internal("a change of no table"));
    let target = plan.targets.first().ok_or_else(nothing)?;
    block.open(st, env, None)?;
    Ok(Taker::new(plan, target, st))
}

/// What becomes of the rows that are read of tables which stay as they are.
fn used(plan: &ChangePlan) -> Use {
    if plan.delete || plan.several { Use::Needed } else { Use::Copied }
}

/// Whether MySQL changes each row when it is found: one table, read in the order of an index that the change
/// leaves as it is.
fn is_direct(plan: &ChangePlan, context: &Context<'_>) -> bool {
    let root = match &plan.query.query.root {
        Node::Limit { input, .. } => input,
        root => root,
    };
    let (Node::Read(read), [target]) = (root, &plan.targets[..]) else { return false };
    let (table, columns) =
        (context.tables.table(target.table), &context.tables.def(target.table).columns);
    let changes = |column: usize| {
        let assigned = target.assignments.iter().any(|(named, _)| *named == column);
        let follows = |c: &ColumnDef| c.generated.is_some() || c.on_update.is_some();
        assigned || columns.get(column).is_some_and(follows)
    };
    let read = read.access.indexes();
    let mut keys = read.into_iter().chain([0]).filter_map(|index| table.key(index));
    plan.delete || !keys.any(|key| key.parts.iter().any(|part| changes(part.column)))
}

/// Whether [`each`] may be used: what the statement does changes neither which rows it finds nor what it gives them.
/// Nobody sees when the rows of a temporary table change; they are read without locks, from copies of pages.
pub fn is_one_by_one(plan: &ChangePlan, context: &Context<'_>) -> bool {
    let lonely = plan.query.shared.is_empty() && plan.query.query.subplans.is_empty();
    let unrelated = |target: &ChangeTarget| {
        context.tables.children(target.table).is_empty() && !context.tables.is_own(target.table)
    };
    lonely && plan.targets.iter().all(unrelated) && is_direct(plan, context)
}

/// What the search of the rows runs with.
fn statement<'s>(
    plan: &'s ChangePlan,
    (client, tables): (&'s Client, &'s TableCache),
    params: &'s [Datum<'s>],
    budget: Arc<Budget>,
) -> Statement<'s> {
    let mut st = Statement::new(client, tables, params, &plan.query.shared, budget);
    st.unnamed = unnamed(used(plan), client);
    // As in MySQL: only an UPDATE of one table, where rows that do not match stay unlocked.
    st.semi_consistent = !plan.delete && !plan.several && !client.locks_gaps();
    st
}

fn find(
    plan: &ChangePlan,
    operators: &mut Operators<'_>,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Vec<FoundRows>, SqlError> {
    let direct = is_direct(plan, context);
    let client = &*context.client;
    let st = statement(plan, (client, &*context.tables), params, operators.budget());
    let takers = plan.targets.iter().map(|target| {
        let rows = FoundRows(RowStore::new(&st));
        (Taker::new(plan, target, &st), rows)
    });
    let mut takers: Vec<(Taker<'_>, FoundRows)> = takers.collect();
    operators.with(|block| {
        block.open(&st, context.env, None)?;
        while block.next(&st, context.env, None)? {
            block.try_on((&st, context.env), |run, frame| {
                let mut before = None;
                for (taker, rows) in &mut takers {
                    let Some(shown) = taker.take(run, frame)? else { continue };
                    rows.0.push(run.st, &taker.record)?;
                    before = before.or(shown.map(|leaf| (usize::from(taker.target.leaf), leaf)));
                }
                if direct {
                    client.intend_change();
                }
                if let Some((leaf, row)) = before {
                    frame.leaves[leaf] = row;
                }
                Ok(())
            })?;
        }
        Ok::<_, SqlError>(())
    })?;
    Ok(takers.into_iter().map(|(_, rows)| rows).collect())
}

/// Takes the rows of one target out of the joined ones.
struct Taker<'p> {
    target: &'p ChangeTarget,
    alone: bool,
    /// The values see what was assigned before.
    immediate: bool,
    /// Keys of the rows that were taken, where one may come again.
    keys: Option<KeyTable>,
    seen: Seen,
    assigned: RowLayout,
    number: u64,
    /// What the row taken last is assigned, in the order of the assignments.
    values: Vec<OwnedDatum>,
    /// The row taken last: see [`FoundRow::of`].
    record: Vec<u8>,
}

impl<'p> Taker<'p> {
    fn new(plan: &'p ChangePlan, target: &'p ChangeTarget, st: &Statement<'_>) -> Taker<'p> {
        let leaves = &plan.query.query.leaves;
        let layout = st.tables.table(target.table).layout();
        Taker {
            target,
            alone: plan.found != Found::Joined,
            immediate: plan.immediate && std::ptr::eq(target, &plan.targets[0]),
            keys: (leaves.len() > 1).then(KeyTable::default),
            seen: Seen::new(layout, &leaves[usize::from(target.leaf)]),
            assigned: assigned_layout(target, st.tables.def(target.table)),
            number: 0,
            values: Vec::new(),
            record: Vec::new(),
        }
    }

    /// Records the next row of a block, of which this is the only target; `false`: there is none.
    fn next(
        &mut self,
        block: &mut Block<'_>,
        (st, env): (&Statement<'_>, &mut dyn Environment),
    ) -> Result<bool, SqlError> {
        let leaf = usize::from(self.target.leaf);
        while block.next(st, env, None)? {
            let taken = block.try_on((st, env), |run, frame| {
                let taken = self.take(run, frame)?;
                if let Some(Some(row)) = taken {
                    frame.leaves[leaf] = row;
                    return Ok(true);
                }
                Ok(taken.is_some())
            })?;
            if taken {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Records the present row; `None`: it is none of the target's, or was taken before. If values see those
    /// assigned before, the frame shows what the row becomes, and the row that was there is handed out.
    fn take(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<Option<Option<LeafRow>>, SqlError> {
        let leaf = &frame.leaves[usize::from(self.target.leaf)];
        if leaf.null {
            return Ok(None);
        }
        if let Some(keys) = &mut self.keys
            && !keys.insert(&leaf.key, hash(&leaf.key)).1
        {
            return Ok(None);
        }
        self.number += 1;
        self.record.clear();
        self.record.extend_from_slice(&(leaf.key.len() as u32).to_le_bytes());
        self.record.extend_from_slice(&leaf.key);
        if self.alone {
            return Ok(Some(None));
        }
        let before = self.evaluate(run, frame)?;
        append(&self.assigned, &self.values, &mut self.record)?;
        Ok(Some(before))
    }

    /// Puts the values of the assignments into `values`.
    fn evaluate(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<Option<LeafRow>, SqlError> {
        let def = run.st.tables.def(self.target.table);
        let leaf = usize::from(self.target.leaf);
        let (mut shown, mut before) = (Vec::new(), None);
        if self.immediate {
            let row = &frame.leaves[leaf];
            shown = self.seen.values(&row.layout, &row.bytes)?;
            let mut bytes = Vec::new();
            encode(&self.seen.narrow, &shown, &mut bytes)?;
            let layout = Arc::clone(&self.seen.narrow);
            let made = LeafRow { layout, bytes, null: false, key: row.key.clone() };
            before = Some(std::mem::replace(&mut frame.leaves[leaf], made));
        }
        self.values.clear();
        for (column, value) in &self.target.assignments {
            let named = &def.columns[*column];
            let value = match value {
                InsertValue::Expr(Typed { expr, ty, .. }) => {
                    let value = run.eval(expr, frame)?.into_owned();
                    let value = (&value.datum(), Some(ty));
                    convert(value, &def.name, named, self.number, run.env)?
                }
                InsertValue::Default => default_of(named, run.env)?,
            };
            if self.immediate {
                shown[*column] = value.clone();
                encode(&self.seen.narrow, &shown, &mut frame.leaves[leaf].bytes)?;
            }
            self.values.push(value);
        }
        Ok(before)
    }
}
