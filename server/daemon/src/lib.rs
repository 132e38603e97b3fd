//! Listener, connection threads, configuration, start and stop.
//!
//! Reading order: [`options`] and [`optfile`] (what was asked), [`start`] (up and down again), `limits`, [`listener`],
//! `threads`, [`connection`] (one thread per client), `line` (its way to the client, which TLS may secure), [`process`], `dashboards`, [`log`], [`persisted`].

pub mod connection;
#[cfg(feature = "dashboard")]
mod dashboards;
pub mod first;
mod limits;
mod line;
mod listener;
pub mod log;
pub mod optfile;
pub mod options;
pub mod persisted;
pub mod process;
pub mod start;
mod threads;

pub use start::main;
