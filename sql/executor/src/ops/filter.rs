//! Operators that pass rows on: one row, no row, a condition, a limit.

use super::stored::{StoredLeaf, TakeRow};
use super::{Operator, Run};
use crate::SqlError;
use expr::{Expr, Frame};
use planner::PlanError;

/// One row without leaves.
pub struct One {
    pub(super) left: bool,
}

impl Operator for One {
    fn open(&mut self, _: &mut Run<'_>, _: &mut Frame) -> Result<(), SqlError> {
        self.left = true;
        Ok(())
    }

    fn next(&mut self, _: &mut Run<'_>, _: &mut Frame) -> Result<bool, SqlError> {
        Ok(std::mem::take(&mut self.left))
    }

    fn close(&mut self) {}
}

/// No row.
pub struct Nothing;

impl Operator for Nothing {
    fn open(&mut self, _: &mut Run<'_>, _: &mut Frame) -> Result<(), SqlError> {
        Ok(())
    }

    fn next(&mut self, _: &mut Run<'_>, _: &mut Frame) -> Result<bool, SqlError> {
        Ok(false)
    }

    fn close(&mut self) {}
}

/// Rows that satisfy a condition.
pub struct Filter<'p> {
    pub(super) input: Box<dyn Operator + 'p>,
    pub(super) filter: &'p Expr,
}

impl Operator for Filter<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.input.open(run, frame)
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        while self.input.next(run, frame)? {
            if run.holds(self.filter, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self) {
        self.input.close();
    }
}

/// LIMIT.
pub struct Limit<'p> {
    pub(super) input: Box<dyn Operator + 'p>,
    pub(super) skip: &'p Expr,
    pub(super) count: &'p Expr,
    pub(super) to_skip: u64,
    pub(super) left: u64,
}

/// A number of a LIMIT clause.
///
/// # Errors
/// 1210 for anything but a non-negative integer.
pub fn limit_value(expr: &Expr, run: &mut Run<'_>, frame: &Frame) -> Result<u64, SqlError> {
    let value = run.eval(expr, frame)?;
    let wrong = || SqlError::from(PlanError::WrongArguments("LIMIT"));
    value.get().as_u64().ok_or_else(wrong)
}

impl Operator for Limit<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.to_skip = limit_value(self.skip, run, frame)?;
        self.left = limit_value(self.count, run, frame)?;
        if self.left > 0 { self.input.open(run, frame) } else { Ok(()) }
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        if self.left == 0 {
            return Ok(false);
        }
        while self.to_skip > 0 {
            self.to_skip -= 1;
            if !self.input.next(run, frame)? {
                self.left = 0;
                return Ok(false);
            }
        }
        self.left -= 1;
        let found = self.input.next(run, frame)?;
        if !found {
            self.left = 0;
        }
        Ok(found)
    }

    fn stored(&self) -> Option<StoredLeaf<'_>> {
        self.input.stored()
    }

    fn pass(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        if self.left == 0 {
            return Ok(false);
        }
        let (to_skip, left) = (&mut self.to_skip, &mut self.left);
        let more = self.input.pass(run, frame, &mut |row| {
            if *to_skip > 0 {
                *to_skip -= 1;
                return false;
            }
            *left -= 1;
            take(row) || *left == 0
        })?;
        if !more {
            self.left = 0;
        }
        Ok(self.left > 0)
    }

    fn close(&mut self) {
        self.input.close();
    }
}
