//! EXPLAIN ANALYZE: what each operator did.
//!
//! 1. A node is known by its address, which stays while its plan does. 2. Times are those of the operator and of
//! all below it. 3. Nothing is measured, and nothing is in the way, unless the statement asks for it.

use super::{Operator, Run};
use crate::SqlError;
use expr::Frame;
use planner::query_plan::Node;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

/// What one node did, all openings together.
#[derive(Debug, Clone, Copy, Default)]
struct Measure {
    loops: u64,
    rows: u64,
    /// Until the first row, or the end where there was none.
    first: Duration,
    total: Duration,
}

/// What the nodes of a statement did.
#[derive(Debug, Default)]
pub struct Measures {
    nodes: RefCell<HashMap<usize, Measure>>,
}

fn address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

impl Measures {
    /// What a node did, as EXPLAIN ANALYZE prints it: means over all openings, times in milliseconds.
    pub fn text(&self, node: &Node) -> String {
        let nodes = self.nodes.borrow();
        let Some(m) = nodes.get(&address(node)).filter(|m| m.loops > 0) else {
            return " (never executed)".to_string();
        };
        let mean_ms =
            |time: Duration| planner::explain::number(time.as_secs_f64() * 1000.0 / m.loops as f64);
        let rows = planner::explain::number(m.rows as f64 / m.loops as f64);
        let (first, total) = (mean_ms(m.first), mean_ms(m.total));
        format!(" (actual time={first}..{total} rows={rows} loops={})", m.loops)
    }
}

/// An operator that is measured.
pub struct Measured<'p> {
    operator: Box<dyn Operator + 'p>,
    node: usize,
    begun: bool,
}

impl<'p> Measured<'p> {
    /// Measures the operator of a node.
    pub fn new(operator: Box<dyn Operator + 'p>, node: &Node) -> Measured<'p> {
        Measured { operator, node: address(node), begun: false }
    }

    fn note(&self, run: &Run<'_>, f: impl FnOnce(&mut Measure)) {
        if let Some(measures) = &run.st.measures {
            f(measures.nodes.borrow_mut().entry(self.node).or_default());
        }
    }
}

impl Operator for Measured<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        let start = host::clock::now();
        let opened = self.operator.open(run, frame);
        let time = start.elapsed();
        self.begun = false;
        self.note(run, |m| {
            m.loops += 1;
            m.first += time;
            m.total += time;
        });
        opened
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let start = host::clock::now();
        let found = self.operator.next(run, frame);
        let time = start.elapsed();
        let first = !std::mem::replace(&mut self.begun, true);
        let row = matches!(found, Ok(true));
        self.note(run, |m| {
            m.rows += u64::from(row);
            m.total += time;
            if first {
                m.first += time;
            }
        });
        found
    }

    fn close(&mut self) {
        self.operator.close();
    }
}
