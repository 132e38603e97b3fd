//! Prepared statements of a session, for those who look at all: `prepared_statements_instances`.
//!
//! 1. The list is written when a statement is prepared and when it goes, under a mutex that nobody else takes but who reads that
//! table. 2. A statement is listed exactly as long as its [`Listed`] is there.

use instrument::{PreparedReport, PreparedRow};
use std::sync::Arc;
use sync::Mutex;

instrument::classes! {
    static LIST: MutexClass = "wait/synch/mutex/limpid/prepared_statements";
}

/// The prepared statements of a session, in the order in which they were prepared.
#[derive(Debug)]
pub struct PreparedList(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    /// Ordered by the number that is beside each.
    rows: Vec<(u64, Arc<PreparedRow>)>,
    last: u64,
}

impl Default for PreparedList {
    fn default() -> Self {
        PreparedList(Mutex::new(&LIST, Rows::default()))
    }
}

/// A prepared statement that is in the list.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Listed {
    /// Its figures.
    pub row: Arc<PreparedRow>,
    number: u64,
    list: Arc<PreparedList>,
}

impl PreparedList {
    /// Adds a statement.
    pub(crate) fn add(self: &Arc<Self>, row: PreparedRow) -> Listed {
        let row = Arc::new(row);
        let mut rows = self.0.lock();
        rows.last += 1;
        let number = rows.last;
        rows.rows.push((number, Arc::clone(&row)));
        Listed { row, number, list: Arc::clone(self) }
    }

    /// What they are and what they cost.
    pub fn reports(&self) -> Vec<PreparedReport> {
        instrument::settle();
        let rows: Vec<Arc<PreparedRow>> =
            self.0.lock().rows.iter().map(|(_, row)| Arc::clone(row)).collect();
        rows.iter().map(PreparedRow::report).collect()
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.row.is_closed();
        let mut list = self.list.0.lock();
        if let Ok(at) = list.rows.binary_search_by_key(&self.number, |(number, _)| *number) {
            list.rows.remove(at);
        }
    }
}
