//! MIN and MAX of a table that are the first rows of reads.
//!
//! 1. There is one row, also of an empty table. 2. A read is asked for one row only: it looks at no more, and
//!    locks no more.

use super::cells::{Cells, made_layout};
use super::group::{fill, new_states, results};
use super::read::ReadTable;
use super::{Operator, Run};
use crate::SqlError;
use expr::Frame;
use planner::query_plan::Group;
use std::sync::Arc;
use value::RowLayout;

/// One group whose aggregates each have a read.
pub struct Ends<'p> {
    group: &'p Group,
    reads: Vec<ReadTable<'p>>,
    layout: Arc<RowLayout>,
    cells: Cells,
    done: bool,
}

impl<'p> Ends<'p> {
    /// The operator of a group; `reads` are those of its `ends`.
    pub fn new(group: &'p Group, reads: Vec<ReadTable<'p>>, frame: &Frame) -> Ends<'p> {
        let layout = Arc::clone(&frame.leaves[usize::from(group.leaf)].layout);
        Ends { group, reads, layout, cells: Cells::default(), done: false }
    }
}

impl Operator for Ends<'_> {
    fn open(&mut self, _: &mut Run<'_>, _: &mut Frame) -> Result<(), SqlError> {
        self.done = false;
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        let mut states: Vec<_> = new_states(self.group).collect();
        let calls = states.iter_mut().zip(&self.group.aggregates);
        for ((state, call), read) in calls.zip(&mut self.reads) {
            read.open(run, frame)?;
            if read.next(run, frame)? {
                state.add(call, run, frame)?;
            }
        }
        let results = results(self.group, &mut states, &mut Vec::new(), run)?;
        let none = (&made_layout(&[]), &[][..]);
        fill(self.group, none, 0, &results, &self.layout, &mut self.cells, frame)?;
        Ok(true)
    }

    fn close(&mut self) {
        self.reads.iter_mut().for_each(|read| read.close());
    }
}
