//! Listener, connection threads, configuration, start and stop.
