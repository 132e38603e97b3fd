//! The latch of the first failed write: after it the pool writes nothing more.
//!
//! 1. Nothing is written after it: the operating system may drop dirty bytes of a failed `fdatasync` and report
//!    success the next time, so a retry would believe pages durable that are not. Guard:
//!    `the_first_failed_sync_is_the_last_write`, `a_change_that_cannot_be_logged_never_reaches_a_file`.

use base::{Error, Result};
use std::sync::OnceLock;

/// What the server does when its data can no longer be written.
pub type FatalHook = Box<dyn Fn(&Error) + Send + Sync>;

/// First error, and the hook it runs.
pub(crate) struct Failure {
    first: OnceLock<Error>,
    hook: OnceLock<FatalHook>,
}

impl Failure {
    pub(crate) fn new() -> Failure {
        Failure { first: OnceLock::new(), hook: OnceLock::new() }
    }

    pub(crate) fn set_hook(&self, hook: FatalHook) {
        let _ = self.hook.set(hook);
    }

    pub(crate) fn failed(&self) -> bool {
        self.first.get().is_some()
    }

    /// `Err` with the first error once there was one.
    pub(crate) fn check(&self) -> Result<()> {
        self.first.get().map_or(Ok(()), |e| Err(e.duplicate()))
    }

    /// Latches an error; the hook runs for the first one only.
    pub(crate) fn latch(&self, e: &Error) {
        if self.first.set(e.duplicate()).is_ok()
            && let Some(hook) = self.hook.get()
        {
            hook(e);
        }
    }
}
