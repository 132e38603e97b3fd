//! How a row is written: its values completed and checked.
//!
//! Reading order: [`compute`].

pub mod compute;
