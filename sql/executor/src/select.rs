//! SELECT over one table or none: filter, group, sort, distinct, limit, project.
//!
//! Without grouping, sorting or DISTINCT, rows stream to the sink as they are read; otherwise they
//! are collected in memory first.

use crate::rows::{self, Source};
use crate::{Context, Environment, Outcome, ResultColumn, RowSink, SqlError, views};
use expr::tree::{AggregateCall, AggregateKind, Expr, OwnedDatum};
use expr::{Leaves, Row, Value, condition, eval};
use planner::plan::{Output, SelectPlan, SortKey};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::ControlFlow;
use value::{Collation, Datum, Decimal};

/// Runs the plan and sends its rows.
///
/// # Errors
/// Storage, evaluation and network errors, 1317 when killed.
pub fn run(
    plan: &SelectPlan,
    header: &[ResultColumn],
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let (skip, count) = limits(plan, context.env, params)?;
    let mut sender = Sender { sink, skip, left: count, sent: 0 };
    sender.sink.header(header)?;
    if count > 0 {
        if !plan.grouped && !plan.distinct && plan.order_by.is_empty() {
            stream(plan, context, params, &mut sender)?;
        } else {
            let mut rows = if plan.grouped {
                group(plan, context, params)?
            } else {
                collect(plan, context, params)?
            };
            if plan.distinct {
                distinct(plan, &mut rows);
            }
            sort(&plan.order_by, &mut rows);
            for row in &rows {
                let values: Vec<_> = row.values.iter().map(OwnedDatum::datum).collect();
                if sender.send(&values)?.is_break() {
                    break;
                }
            }
        }
    }
    Ok(Outcome { has_rows: true, rows_sent: sender.sent, ..Outcome::default() })
}

struct Sender<'s> {
    sink: &'s mut dyn RowSink,
    skip: u64,
    left: u64,
    sent: u64,
}

impl Sender<'_> {
    fn send(&mut self, values: &[Datum<'_>]) -> Result<ControlFlow<()>, SqlError> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(ControlFlow::Continue(()));
        }
        self.sink.row(values)?;
        self.sent += 1;
        self.left -= 1;
        Ok(if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// LIMIT's two numbers; both are non-negative integers or it is error 1327's family.
fn limits(
    plan: &SelectPlan,
    env: &mut dyn Environment,
    params: &[Datum<'_>],
) -> Result<(u64, u64), SqlError> {
    let Some((skip, count)) = &plan.limit else { return Ok((0, u64::MAX)) };
    Ok((limit_value(skip, env, params)?, limit_value(count, env, params)?))
}

/// One number of a LIMIT clause.
pub fn limit_value(
    expr: &Expr,
    env: &mut dyn Environment,
    params: &[Datum<'_>],
) -> Result<u64, SqlError> {
    let row = Row { params, ..Row::default() };
    let value = eval(expr, &row, env)?;
    value
        .get()
        .as_u64()
        .ok_or_else(|| SqlError::Other(1210, "HY000", "Incorrect arguments to LIMIT".into()))
}

fn stream(
    plan: &SelectPlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sender: &mut Sender<'_>,
) -> Result<(), SqlError> {
    each(plan, context, params, &mut |row, env| {
        let values = evaluate_outputs(&plan.outputs, row, env)?;
        let datums: Vec<_> = values.iter().map(Value::get).collect();
        sender.send(&datums)
    })
}

/// The rows of the plan's source; without a table there is one row without columns.
fn each(
    plan: &SelectPlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    visit: &mut rows::Visit<'_>,
) -> Result<(), SqlError> {
    let filter = plan.filter.as_ref();
    if let Some(view) = &plan.made {
        return views::each(view, filter, context, params, visit);
    }
    let Some(table) = plan.table else {
        let row = Row { params, ..Row::default() };
        let wanted = match filter {
            Some(filter) => condition(filter, &row, context.env)? == Some(true),
            None => true,
        };
        return if wanted { visit(&row, context.env).map(drop) } else { Ok(()) };
    };
    if plan.locking {
        // Locking reads take the rows as UPDATE would; the row locks themselves come with the
        // transaction work, so refuse rather than read without a lock.
        return Err(SqlError::unsupported("SELECT ... FOR UPDATE"));
    }
    let columns = Some(plan.columns.as_slice());
    rows::each(context, Source { table, access: &plan.access, filter, columns, params }, visit)
}

fn evaluate_outputs<'v>(
    outputs: &'v [Output],
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Result<Vec<Value<'v>>, SqlError> {
    outputs.iter().map(|o| eval(&o.value.expr, row, env)).collect()
}

/// An output row with its sort key.
struct Collected {
    values: Vec<OwnedDatum>,
    sort: Vec<OwnedDatum>,
}

fn collected(
    plan: &SelectPlan,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Result<Collected, SqlError> {
    let values = evaluate_outputs(&plan.outputs, row, env)?;
    let values = values.into_iter().map(Value::into_owned).collect();
    let sort = plan
        .order_by
        .iter()
        .map(|key| Ok(eval(&key.value.expr, row, env)?.into_owned()))
        .collect::<Result<_, SqlError>>()?;
    Ok(Collected { values, sort })
}

fn collect(
    plan: &SelectPlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Vec<Collected>, SqlError> {
    let mut found = Vec::new();
    each(plan, context, params, &mut |row, env| {
        found.push(collected(plan, row, env)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

fn distinct(plan: &SelectPlan, rows: &mut Vec<Collected>) {
    let collations: Vec<_> = plan.outputs.iter().map(|o| o.value.ty.collation).collect();
    let mut seen = std::collections::HashSet::new();
    rows.retain(|row| {
        let mut key = Vec::new();
        row.values.iter().zip(&collations).for_each(|(v, c)| identity(v, *c, &mut key));
        seen.insert(key)
    });
}

/// Appends bytes that are equal exactly for values that GROUP BY and DISTINCT take for equal.
fn identity(value: &OwnedDatum, collation: Collation, out: &mut Vec<u8>) {
    match value {
        OwnedDatum::Null => out.push(0),
        OwnedDatum::Bytes(bytes) => {
            let start = out.len();
            out.extend([1, 0, 0, 0, 0]);
            collation.sort_key(bytes, out);
            let length = (out.len() - start - 5) as u32;
            out[start + 1..start + 5].copy_from_slice(&length.to_le_bytes());
        }
        number => {
            out.push(2);
            value::format::append_text(&number.datum(), out);
            out.push(0);
        }
    }
}

fn sort(keys: &[SortKey], rows: &mut [Collected]) {
    rows.sort_by(|a, b| order(keys, &a.sort, &b.sort));
}

/// Order of two sort keys; NULL comes first.
pub fn order(keys: &[SortKey], a: &[OwnedDatum], b: &[OwnedDatum]) -> Ordering {
    for ((key, a), b) in keys.iter().zip(a).zip(b) {
        let (a, b) = (a.datum(), b.datum());
        let order = value::compare(&a, &b, key.value.ty.collation)
            .unwrap_or_else(|| b.is_null().cmp(&a.is_null()));
        let order = if key.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// State of one aggregate in one group.
#[derive(Clone)]
struct Accumulator {
    value: OwnedDatum,
    count: u64,
    seen: Option<std::collections::HashSet<Vec<u8>>>,
}

struct Group {
    first: Vec<u8>,
    accumulators: Vec<Accumulator>,
}

fn group(
    plan: &SelectPlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Vec<Collected>, SqlError> {
    let mut positions: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    each(plan, context, params, &mut |row, env| {
        let mut key = Vec::new();
        for by in &plan.group_by {
            let value = eval(&by.expr, row, env)?.into_owned();
            identity(&value, by.ty.collation, &mut key);
        }
        let position = *positions.entry(key).or_insert_with(|| {
            groups.push(new_group(plan, row.stored().map_or(&[], |(_, bytes)| bytes)));
            groups.len() - 1
        });
        let group = &mut groups[position];
        for (call, accumulator) in plan.aggregates.iter().zip(&mut group.accumulators) {
            let value = eval(&call.argument, row, env)?;
            accumulator.add(call, &value.get())?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if groups.is_empty() && plan.group_by.is_empty() {
        groups.push(new_group(plan, &[]));
    }
    finish(plan, groups, context, params)
}

fn new_group(plan: &SelectPlan, first: &[u8]) -> Group {
    let accumulators = plan.aggregates.iter().map(|call| Accumulator {
        value: OwnedDatum::Null,
        count: 0,
        seen: call.distinct.then(Default::default),
    });
    Group { first: first.to_vec(), accumulators: accumulators.collect() }
}

fn finish(
    plan: &SelectPlan,
    groups: Vec<Group>,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Vec<Collected>, SqlError> {
    let made = plan.made.as_ref().map(catalog::VirtualRef::layout);
    let layout = plan.table.map(|t| context.tables.table(t).layout()).or(made);
    let mut found = Vec::with_capacity(groups.len());
    for group in groups {
        let aggregates: Vec<_> = plan
            .aggregates
            .iter()
            .zip(group.accumulators)
            .map(|(call, a)| a.result(call))
            .collect::<Result<_, _>>()?;
        let leaves = match layout.filter(|_| !group.first.is_empty()) {
            Some(layout) => Leaves::One(layout, &group.first),
            None => Leaves::None,
        };
        let row = Row { leaves, params, aggregates: &aggregates, ..Row::default() };
        let wanted = match &plan.having {
            Some(having) => condition(having, &row, context.env)? == Some(true),
            None => true,
        };
        if wanted {
            found.push(collected(plan, &row, context.env)?);
        }
    }
    Ok(found)
}

impl Accumulator {
    fn add(&mut self, call: &AggregateCall, value: &Datum<'_>) -> Result<(), SqlError> {
        if value.is_null() {
            return Ok(());
        }
        if let Some(seen) = &mut self.seen {
            let mut key = Vec::new();
            identity(&OwnedDatum::of(value), call.collation, &mut key);
            if !seen.insert(key) {
                return Ok(());
            }
        }
        self.count += 1;
        match call.kind {
            AggregateKind::CountAll | AggregateKind::Count => {}
            AggregateKind::Sum | AggregateKind::Avg => {
                let value = exact(value);
                self.value = match &self.value {
                    OwnedDatum::Null => OwnedDatum::of(&value),
                    sum => OwnedDatum::of(&value::add(sum.datum(), value)?),
                };
            }
            AggregateKind::Min => self.keep(value, call.collation, Ordering::Less),
            AggregateKind::Max => self.keep(value, call.collation, Ordering::Greater),
        }
        Ok(())
    }

    fn keep(&mut self, value: &Datum<'_>, collation: Collation, wanted: Ordering) {
        let better = match &self.value {
            OwnedDatum::Null => true,
            kept => value::compare(value, &kept.datum(), collation) == Some(wanted),
        };
        if better {
            self.value = OwnedDatum::of(value);
        }
    }

    fn result(self, call: &AggregateCall) -> Result<OwnedDatum, SqlError> {
        Ok(match call.kind {
            AggregateKind::CountAll | AggregateKind::Count => OwnedDatum::Int(self.count as i64),
            AggregateKind::Avg if self.count > 0 => {
                OwnedDatum::of(&value::div(self.value.datum(), Datum::Int(self.count as i64))?)
            }
            _ => self.value,
        })
    }
}

/// Integers are summed as DECIMAL, so that a sum cannot overflow BIGINT; text as DOUBLE.
fn exact<'a>(value: &Datum<'a>) -> Datum<'a> {
    match *value {
        Datum::Int(v) => Datum::Decimal(Decimal::from(v)),
        Datum::UInt(v) => Datum::Decimal(Decimal::from(v)),
        other => other,
    }
}
