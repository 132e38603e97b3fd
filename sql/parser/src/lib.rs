//! Text to syntax tree, digest and shape; no catalog, no session.
//!
//! Reading order: [`token`], [`lex`], [`ast`], then the grammar by statement family, [`digest`], [`shape`].
//!
//! 1. Input is any bytes; the worst outcome is a [`ParseError`] with its place. Nothing panics or overflows the stack.
//! 2. What MySQL 8.4 accepts and this server cannot run is a tree or [`ast::Statement::Unsupported`], never an error.

mod admin;
pub mod ast;
mod cursor;
mod ddl;
pub mod digest;
mod dml;
mod error;
mod expr;
mod functions;
mod keywords;
pub mod lex;
mod literal;
mod mode;
mod primary;
mod query;
pub mod shape;
mod statement;
pub mod template;
pub mod token;

pub use error::{ErrorKind, ParseError};
pub use keywords::Kw;
pub use literal::{literal_value, unescape};
pub use mode::SqlMode;
pub use statement::{Parsed, parse, parse_digested, parse_next};

/// Deepest nesting of expressions and queries that is accepted.
pub const DEPTH_MAX: usize = 200;

/// Longest left-deep chain (`a + b + c ...`, joins) that is accepted.
pub const HEIGHT_MAX: usize = 1000;
