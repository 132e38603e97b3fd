//! Text to syntax tree, digest and key; no catalog, no session.
//!
//! Reading order: [`token`], [`lex`], [`ast`], then the grammar by statement family, [`digest`], [`cut`].
//!
//! 1. Input is any bytes; the worst outcome is a [`ParseError`] with its place. Nothing panics or overflows the stack.
//! 2. What MySQL 8.4 accepts and this server cannot run is a tree or [`ast::Statement::Unsupported`], never an error.

mod account;
mod admin;
mod alter;
pub mod ast;
mod body;
mod column;
mod cursor;
pub mod cut;
mod ddl;
mod deprecated;
pub mod digest;
mod dml;
mod error;
mod expr;
mod functions;
mod hints;
mod json;
mod keywords;
pub mod lex;
mod literal;
mod load;
mod mode;
mod partition;
mod primary;
pub mod print;
mod program;
mod query;
mod refused;
mod replication;
mod set;
mod show;
mod special;
mod statement;
mod storage;
mod table;
pub mod template;
pub mod token;
mod view;

pub use deprecated::{Warning, of_copied};
pub use error::{ErrorKind, ParseError};
pub use keywords::Kw;
pub use keywords::all as keywords;
pub use keywords::{is_called, is_keyword};
pub use literal::{literal_value, unescape};
pub use mode::SqlMode;
pub use refused::Refused;
pub use statement::{Parsed, parse, parse_digested, parse_next};

/// Deepest nesting of expressions and queries that is accepted; a call takes two levels.
pub const DEPTH_MAX: usize = 2000;

/// Longest left-deep chain (`a + b + c ...`, joins) that is accepted.
pub const HEIGHT_MAX: usize = 1000;
