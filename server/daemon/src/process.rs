//! The running process: its log, its stop, and what sessions ask of it.

use crate::log::Log;
use session::{Host, Severity};
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};

/// What listeners and connections share.
pub struct Process {
    /// Error log.
    pub log: Log,
    stopping: SharedAtomic<bool, { class::OTHER }>,
    shutdown_asked: SharedAtomic<bool, { class::OTHER }>,
}

impl Process {
    /// A process that is not stopping.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            log: Log::stderr(),
            stopping: SharedAtomic::new(false),
            shutdown_asked: SharedAtomic::new(false),
        })
    }

    /// Whether the server is going down: new connections are refused.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// From now on the server is going down.
    pub fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}

impl Host for Process {
    fn shutdown(&self, by: &str) {
        let text = format!("Received SHUTDOWN from user {by}. Shutting down.");
        self.log.write(Severity::System, "MY-013172", &text);
        // Once: a second signal would cut the stop short.
        if !self.shutdown_asked.swap(true, Ordering::AcqRel) {
            host::signal::terminate_self();
        }
    }

    fn log(&self, severity: Severity, text: &str) {
        self.log.write(severity, "MY-010000", text);
    }
}
