//! One statement from bytes to result: variables, transactions, errors.
//!
//! Reading order: [`server`] (what sessions share), [`session`] (a command packet in, a reply out),
//! [`login`], `query` and `statement` (text), `prepared` (binary protocol), `transaction`, `set`, `show`,
//! `admin`, [`variables`], [`errors`] (every MySQL number the session gives), [`registry`].

mod deadlocks;
pub mod diagnostics;
pub mod errors;
mod local_file;
pub mod login;
pub mod registry;
pub mod server;
pub mod session;
pub mod tuning;
pub mod variables;

mod absent;
mod access;
mod admin;
mod charsets;
mod cursors;
mod engine_status;
mod env;
mod hints;
mod locks;
mod logs;
mod monitor;
mod prepared;
mod query;
mod set;
mod shared_plans;
mod show;
mod signals;
mod sink;
mod statement;
mod states;
mod status;
mod text_plans;
mod transaction;

pub use login::Peer;
pub use registry::Wake;
pub use server::{Host, QueryLog, Server, Severity, VERSION};
pub use session::{Next, Refused, STACK_BYTES_MIN, Session};
pub use sink::Net;

#[cfg(test)]
mod tests;
