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

mod access;
mod accounts;
mod admin;
mod charsets;
mod cursors;
mod descriptor;
mod engine_status;
mod env;
mod hints;
mod kinds;
mod locks;
mod logs;
mod monitor;
mod prepared;
mod query;
mod run;
mod set;
mod shared_plans;
mod show;
mod signals;
mod sink;
mod statement;
mod states;
mod status;
mod stored_programs;
mod text_plans;
mod transaction;

pub use login::Peer;
pub use registry::Wake;
pub use server::{Host, QueryLog, Server, Severity, VERSION};
pub use session::{Next, Refused, STACK_BYTES_MIN, Session};
pub use sink::Net;

#[cfg(test)]
mod tests;
