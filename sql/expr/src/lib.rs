//! Compiled expressions: their trees, the function registry, and their evaluation.
//!
//! Reading order: [`tree`] (what an expression is), [`row`] (what it sees), [`eval`] (what it comes to),
//! [`vector`] (what many rows at once come to), [`variables`] (what a session keeps under `@name`), [`functions`] and [`aggregate`] (the registries), [`error`] (everything a statement can end in),
//! `refused` (what expressions and functions refuse).
//!
//! 1. An expression knows no table and no lock: whoever runs it puts rows before it. 2. Values are borrowed
//! from the row, the parameters or the tree where they lie there; only what is computed is owned.

pub mod aggregate;
pub mod build;
pub mod environment;
pub mod error;
pub mod eval;
pub mod functions;
mod like;
pub mod print;
mod refused;
mod rewrite;
pub mod row;
pub mod tree;
pub mod variables;
pub mod vector;

pub use environment::{AutoincMode, Environment, WarningLevel};
pub use error::{SqlError, convert_error, parse_error, stack_overrun};
pub use eval::{Value, condition, eval, holds, text};
pub use like::like;
pub use row::{Frame, LeafRow, Leaves, Row, Subqueries, column, damaged};
pub use tree::{Column, Expr, OwnedDatum, Quantified, SortKey, Typed};
pub use variables::{UserVariable, Variables};
