//! Tests of the trees over the real pool, log and simulated disk.

mod damage;
pub(crate) mod env;
mod model;
mod near;
mod parts;
mod plans;
mod redo;
mod stress;
