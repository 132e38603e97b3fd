//! What grouping makes of a block: what is evaluated behind it looks at the group's leaf only.

use super::expressions::{FIRST_AGGREGATE, FIRST_GROUPING};
use super::full_group::Dependence;
use super::invalid_group_function;
use crate::error::PlanError;
use crate::logical::{Block, GROUP_LEAF, Grouping, WINDOW_LEAF, column_of, deeper};
use crate::make::Builder;
use expr::SqlError;
use expr::aggregate::{ANY_VALUE, AggregateCall};
use expr::tree::{Arithmetic, Comparison, Expr, Typed};
use value::{Collation, ColumnType};

/// What a block's clauses gave for its grouping.
pub(crate) struct GroupInput {
    pub(crate) keys: Vec<Typed>,
    pub(crate) aggregates: Vec<AggregateCall>,
    pub(crate) groupings: Vec<Vec<Typed>>,
    pub(crate) rollup: bool,
    /// ONLY_FULL_GROUP_BY is on.
    pub(crate) full_group_by: bool,
}

impl GroupInput {
    /// Makes the block a grouped one if it is.
    pub(crate) fn finish(mut self, block: &mut Block, build: Builder) -> Result<(), SqlError> {
        if self.keys.is_empty() && !self.groupings.is_empty() {
            return Err(invalid_group_function());
        }
        let real = |a: &AggregateCall| *a.function != ANY_VALUE;
        if self.keys.is_empty() && !self.aggregates.iter().any(real) {
            self.undo_any_value(block);
            return Ok(());
        }
        if self.keys.is_empty() {
            // One row needs no order.
            block.order_by.clear();
        }
        self.use_keys(block);
        let dependence = self.full_group_by.then(|| Dependence::of(block, &self.keys));
        if let Some(dependence) = &dependence {
            dependence.require(block, &self.keys)?;
        }
        let first = self.keys.len();
        let aggregates = &mut self.aggregates;
        let leaves: Vec<_> = block.leaves.iter().map(|l| (l.null_row, l.columns.clone())).collect();
        block.rewrite_grouped(
            0,
            &mut |e, depth| {
                let Expr::Column(c) = e else { return false };
                if c.depth != depth {
                    return false;
                }
                if c.leaf == GROUP_LEAF && c.column >= FIRST_AGGREGATE {
                    c.column = c.column - FIRST_AGGREGATE + first as u16;
                } else if c.leaf < WINDOW_LEAF {
                    let (null_row, columns) = &leaves[usize::from(c.leaf)];
                    let column = &columns[usize::from(c.column)];
                    let ty = ColumnType { nullable: column.ty.nullable || *null_row, ..column.ty };
                    let expr = column_of(c.leaf, usize::from(c.column));
                    let value = Typed::new(expr, ty);
                    let call = build.first_value(value);
                    let place = aggregates.iter().position(|a| *a == call).unwrap_or_else(|| {
                        aggregates.push(call);
                        aggregates.len() - 1
                    });
                    (c.leaf, c.column) = (GROUP_LEAF, (first + place) as u16);
                }
                true
            },
            true,
        );
        self.use_groupings(block)?;
        if self.rollup {
            for output in &mut block.outputs {
                if uses_key(&output.value.expr, first) {
                    output.value.ty.nullable = true;
                    output.column.ty.nullable = true;
                }
            }
        }
        block.group =
            Some(Grouping { keys: self.keys, aggregates: self.aggregates, rollup: self.rollup });
        Ok(())
    }

    /// Whatever equals a key is the key's column.
    fn use_keys(&self, block: &mut Block) {
        let keys = &self.keys;
        let mut use_key = |e: &mut Expr, depth: u8| {
            let same = |key: &Typed| match depth {
                0 => key.expr == *e,
                _ => deeper(&key.expr, depth) == *e,
            };
            let constant = matches!(e, Expr::Const(_) | Expr::Param(_));
            let Some(key) = keys.iter().position(same).filter(|_| !constant) else {
                return false;
            };
            *e = deeper(&column_of(GROUP_LEAF, key), depth);
            true
        };
        // A subquery that is itself a key is asked before grouping and looks at the rows: it must have left
        // the outputs before those that they use are looked into.
        block.rewrite_grouped(0, &mut use_key, false);
        block.rewrite_grouped(0, &mut use_key, true);
    }

    /// ANY_VALUE without grouping is its argument.
    fn undo_any_value(&self, block: &mut Block) {
        let aggregates = &self.aggregates;
        if aggregates.is_empty() {
            return;
        }
        block.rewrite_grouped(
            0,
            &mut |e, depth| {
                let Expr::Column(c) = e else { return false };
                if c.depth == depth && c.leaf == GROUP_LEAF {
                    let call = &aggregates[usize::from(c.column - FIRST_AGGREGATE)];
                    *e = deeper(&call.arguments[0].expr, depth);
                    return true;
                }
                false
            },
            true,
        );
    }

    /// GROUPING(a, b): one bit per argument, set where the key is rolled up.
    fn use_groupings(&self, block: &mut Block) -> Result<(), SqlError> {
        let count = self.keys.len();
        let rolled = column_of(GROUP_LEAF, count + self.aggregates.len());
        let mut values = Vec::new();
        for arguments in &self.groupings {
            let mut value: Option<Expr> = None;
            for (number, argument) in arguments.iter().enumerate() {
                let own = |key: &Typed| key.expr == argument.expr;
                let Some(key) = self.keys.iter().position(own) else {
                    let number = number + 1;
                    return Err(PlanError::GroupingNotGrouped(number).into());
                };
                if !self.rollup {
                    continue;
                }
                let bit = Expr::Compare(
                    Comparison::Ge,
                    Box::new(rolled.clone()),
                    Box::new(Expr::int((count - key) as i64)),
                    Collation::Binary,
                );
                value = Some(match value {
                    None => bit,
                    Some(bits) => {
                        let double =
                            Expr::Arith(Arithmetic::Mul, Box::new(bits), Box::new(Expr::int(2)));
                        Expr::Arith(Arithmetic::Add, Box::new(double), Box::new(bit))
                    }
                });
            }
            values.push(value.unwrap_or(Expr::int(0)));
        }
        block.rewrite_grouped(
            0,
            &mut |e, depth| {
                let Expr::Column(c) = e else { return false };
                let number = c.column.checked_sub(FIRST_GROUPING).map(usize::from);
                if c.depth == depth
                    && c.leaf == GROUP_LEAF
                    && let Some(value) = number.and_then(|n| values.get(n))
                {
                    *e = deeper(value, depth);
                    return true;
                }
                false
            },
            true,
        );
        Ok(())
    }
}

fn uses_key(expr: &Expr, keys: usize) -> bool {
    let mut found = false;
    expr.visit(&mut |e| {
        found |= matches!(e, Expr::Column(c)
            if c.depth == 0 && c.leaf == GROUP_LEAF && usize::from(c.column) < keys);
    });
    found
}
