//! The operators that find the rows of a change, or the rows that an INSERT copies.
//!
//! 1. A program's are kept from run to run, as those of a query are ([`crate::states`]): taken when it begins, given back when
//! it went well. 2. They may rest between two rows, each of which is changed or inserted before the next is looked for.

use crate::memory::Budget;
use crate::ops::block::Block;
use crate::query::{self, Purpose};
use crate::states::{OpenBlock, Opened, Own, Place, State};
use crate::{Context, SqlError};
use planner::query_plan::QueryStatement;
use std::sync::Arc;
use value::Datum;

/// A program that runs, and where its state is.
pub(crate) type Running<'r> = (&'r Own, &'r mut Place);

/// Operators of one run.
pub(crate) enum Operators<'p> {
    /// Of a query that no program runs.
    Once(OpenBlock<'p>),
    /// Of a program's query.
    Cached(Opened),
}

impl<'p> Operators<'p> {
    /// Those of a query that is run once.
    ///
    /// # Errors
    /// 1235 for what cannot run yet.
    pub fn once(
        query: &'p QueryStatement,
        params: &[Datum<'_>],
        context: &Context<'_>,
    ) -> Result<Operators<'p>, SqlError> {
        query::open_block(query, params, Purpose::Change, context).map(Operators::Once)
    }

    /// Those of a program's query: of its last run, if there are any.
    ///
    /// # Errors
    /// As [`Operators::once`].
    pub fn of(
        (program, place): Running<'_>,
        params: &[Datum<'_>],
        context: &mut Context<'_>,
    ) -> Result<Operators<'p>, SqlError> {
        if let Some(State::Query(mut opened)) = context.states.take(program, place) {
            opened.with_dependent_mut(|_, open| Budget::renew(&mut open.budget, &*context.env));
            return Ok(Operators::Cached(opened));
        }
        query::opened(program, params, Purpose::Change, context).map(Operators::Cached)
    }

    /// What the rows that they keep are counted against.
    pub fn budget(&self) -> Arc<Budget> {
        match self {
            Operators::Once(open) => Arc::clone(&open.budget),
            Operators::Cached(opened) => opened.with_dependent(|_, open| Arc::clone(&open.budget)),
        }
    }

    /// Runs their block.
    pub fn with<T>(&mut self, run: impl FnOnce(&mut Block<'_>) -> T) -> T {
        match self {
            Operators::Once(open) => run(&mut open.block),
            Operators::Cached(opened) => opened.with_dependent_mut(|_, open| run(&mut open.block)),
        }
    }

    /// The run went well: the program keeps them for its next one.
    pub fn keep(self, (program, place): Running<'_>, context: &mut Context<'_>) {
        if let Operators::Cached(mut opened) = self {
            opened.close();
            context.states.put(program, place, State::Query(opened));
        }
    }
}
