//! Nested loops: the inner side is opened anew for each outer row.

use super::{Operator, Run};
use crate::SqlError;
use expr::{Expr, Frame};
use planner::query_plan::JoinKind;

/// A nested-loop join.
pub struct NestedLoop<'p> {
    pub(super) kind: JoinKind,
    pub(super) outer: Box<dyn Operator + 'p>,
    pub(super) inner: Box<dyn Operator + 'p>,
    pub(super) on: Option<&'p Expr>,
    /// Leaves of the inner side.
    pub(super) inner_leaves: Vec<u16>,
    /// The outer row has not been left yet, and whether it had a partner.
    pub(super) row: Option<bool>,
}

impl NestedLoop<'_> {
    /// The next partner of the present outer row.
    fn partner(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        while self.inner.next(run, frame)? {
            if run.passes(self.on, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Operator for NestedLoop<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.row = None;
        self.outer.open(run, frame)
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        loop {
            let had_partner = match self.row {
                Some(had) => had,
                None => {
                    if !self.outer.next(run, frame)? {
                        return Ok(false);
                    }
                    self.inner.open(run, frame)?;
                    false
                }
            };
            run.tick()?;
            let found = self.partner(run, frame)?;
            match self.kind {
                JoinKind::Inner | JoinKind::Left if found => {
                    self.row = Some(true);
                    return Ok(true);
                }
                JoinKind::Semi if found => {
                    self.row = None;
                    return Ok(true);
                }
                JoinKind::Anti if !found => {
                    self.row = None;
                    return Ok(true);
                }
                JoinKind::Left if !had_partner => {
                    self.row = None;
                    for leaf in &self.inner_leaves {
                        frame.leaves[usize::from(*leaf)].null = true;
                    }
                    return Ok(true);
                }
                _ => self.row = None,
            }
        }
    }

    fn close(&mut self) {
        self.outer.close();
        self.inner.close();
    }
}
