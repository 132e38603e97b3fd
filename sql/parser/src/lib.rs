//! Text to syntax tree, digest and shape; no catalog, no session.

pub mod ast;
mod error;
mod mode;

pub use error::{ErrorKind, ParseError};
pub use mode::SqlMode;

/// Deepest nesting of expressions and queries that is accepted.
pub const DEPTH_MAX: usize = 200;
