//! Where batches take their rows from: a stored table, or a nested query.

use crate::SqlError;
use crate::ops::derived::Derived;
use crate::ops::pushed_predicate::PushedPredicate;
use crate::ops::read::ReadTable;
use crate::ops::{Operator, Run, stored::TakeRow};
use expr::Frame;
use std::sync::Arc;
use value::RowLayout;

/// An operator that fills one leaf, and shows its rows where they lie.
pub enum Source<'p> {
    /// A stored table.
    Table(Box<ReadTable<'p>>),
    /// A nested query.
    Derived(Box<Derived<'p>>),
}

impl<'p> Source<'p> {
    /// The operator that it is.
    pub fn into_operator(self) -> Box<dyn Operator + 'p> {
        match self {
            Source::Table(read) => read,
            Source::Derived(derived) => derived,
        }
    }

    /// The leaf it fills.
    pub fn leaf(&self) -> u16 {
        match self {
            Source::Table(read) => read.leaf(),
            Source::Derived(derived) => derived.leaf(),
        }
    }

    /// How its rows lie.
    pub fn layout(&self) -> &Arc<RowLayout> {
        match self {
            Source::Table(read) => read.layout(),
            Source::Derived(derived) => derived.layout(),
        }
    }

    /// The conditions on its rows.
    pub fn predicate(&self) -> &PushedPredicate<'p> {
        match self {
            Source::Table(read) => read.predicate(),
            Source::Derived(derived) => derived.predicate(),
        }
    }

    /// See [`Operator::open`].
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        match self {
            Source::Table(read) => read.open(run, frame),
            Source::Derived(derived) => derived.open(run, frame),
        }
    }

    /// See [`Operator::pass`].
    ///
    /// # Errors
    /// Whatever the statement may end in.
    pub fn pass(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        match self {
            Source::Table(read) => read.pass(run, frame, take),
            Source::Derived(derived) => derived.pass(run, frame, take),
        }
    }

    /// How many rows are left.
    ///
    /// # Errors
    /// Whatever reading may end in.
    pub fn count_left(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<u64, SqlError> {
        match self {
            Source::Table(read) => read.count_left(run),
            Source::Derived(derived) => {
                let mut rows = 0;
                derived.pass(run, frame, &mut |_| {
                    rows += 1;
                    false
                })?;
                Ok(rows)
            }
        }
    }

    /// See [`Operator::close`].
    pub fn close(&mut self) {
        match self {
            Source::Table(read) => read.close(),
            Source::Derived(derived) => derived.close(),
        }
    }
}
