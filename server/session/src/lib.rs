//! One statement from bytes to result: variables, transactions, errors.
//!
//! Reading order: [`server`] (what sessions share), `core` (what a session is), [`session`] (a command packet in, a
//! reply out), `query` and `texts`, `prepared` (binary protocol), `kinds` (every kind of statement, and who runs it), then
//! the statements: `set`, `show`, `accounts` and their neighbours. [`errors`] has every MySQL number that a session gives.
//!
//! The modules stand on floors, as the crates do: each uses only what is on the floors above it in this file
//! (`cargo xtask tidy` checks it).

// Words that all others use.
pub mod diagnostics;
mod net;
mod process;
mod states;
mod thread_counts;
pub mod variables;

// MySQL's numbers, and who is connected.
mod connected;
pub mod errors;
pub mod hosts;
mod prepared_list;

pub mod registry;

// Character sets, files and logs.
mod charsets;
mod local_file;
mod logs;
mod secrets;
mod shared_programs;
mod ticker;

// What sessions share.
mod branches;
mod logins;
mod password_rules;

pub mod server;

// The active session history.
pub mod sampler;

// What a server does and shows by itself.
mod compression;
mod deadlocks;
mod engine_status;
pub mod login;
mod transport;
pub mod tuning;

mod monitor;
mod status;

// What statements see of their session, and what of its changes its client is told of.
mod tracking;

mod env;

mod password_policy;
mod rights;

mod environment;
mod sink;

// What a session is.
mod core;

// Where statements begin and end.
mod events;

mod commit;
mod compile;
mod flush;
mod statement;

mod command_log;
mod execute;
mod locks;
mod session_state;

// Statements that the session runs itself.
mod access;
mod cursors;
mod run;
mod show;
mod signals;
mod stored_programs;
mod transaction_statements;

// What statements need.
mod needs;

mod accounts;
mod branch_statements;
mod process_list;
mod set;

mod admin;
mod components;
mod hints;

// Texts and prepared statements.
mod texts;

mod prepared;

mod query;

// Every kind of statement, and how a client comes in.
mod admission;
mod kinds;

// A connection, and the server that it is to.
pub mod session;

mod startup;

// Sessions of the server with itself.
pub mod inside;

pub use accounts::make_password;
pub use inside::{Inside, root_is_open};
pub use login::Peer;
pub use net::Net;
pub use process::{Host, QueryLog, Severity};
pub use registry::Wake;
pub use server::{Server, VERSION};
pub use session::{Next, Refused, STACK_BYTES_MIN, Session};
pub use startup::run_at_start;
pub use thread_counts::ThreadCounts;

#[cfg(test)]
mod tests;
