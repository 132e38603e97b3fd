//! Listener, connection threads, configuration, start and stop.

pub mod optfile;
pub mod options;
