//! The tables of `information_schema`, `performance_schema` and `mysql`, made from the server's state when read.
//!
//! Reading order: [`table`] (how such a table is described), then one module per subject.
//!
//! 1. A table that MySQL has bears MySQL's name and columns, in MySQL's order; `limpid_*` are our own.
//! 2. Making rows takes no lock that a statement could wait for under load longer than the copy takes.

mod buffer;
mod grants;
mod holds;
mod information;
mod locks;
mod open_tables;
mod performance;
mod recovery;
mod samples;
mod sys;
mod system;
mod table;

pub use locks::{LockNames, names_of_index};

use catalog::VirtualTable;
use engine::Engine;
use std::sync::Arc;

/// Every virtual table over an engine.
pub fn tables(engine: &Arc<Engine>) -> Vec<Arc<dyn VirtualTable>> {
    let mut all: Vec<Arc<dyn VirtualTable>> = performance::tables();
    all.extend(information::tables(&["INNODB_BUFFER_POOL_STATS"]));
    all.extend(system::tables());
    all.extend(sys::tables());
    all.push(Arc::new(holds::LatchHolds::new()));
    all.push(samples::table());
    all.push(Arc::new(open_tables::OpenTables::new()));
    all.push(Arc::new(buffer::PoolStats::new(engine)));
    all.push(Arc::new(recovery::Recovery::new(engine)));
    all
}

#[cfg(test)]
mod tests;
