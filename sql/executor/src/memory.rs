//! Memory that the operators of a statement keep, counted against one limit.
//!
//! 1. Whoever keeps rows holds a [`Charge`] and tells it how much it keeps; dropped, it gives all of it
//!    back. 2. Above the soft limit those who can move their rows to a temporary file. 3. Above the hard
//!    limit the statement ends with error 1114: nothing is aborted.

use crate::{Environment, SqlError};
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering};

/// No limit is below this, in bytes.
const LEAST_BYTES: u64 = 32 << 10;

/// What a statement may keep in memory.
#[derive(Debug)]
pub struct Budget {
    soft: u64,
    hard: u64,
    /// Nobody but the statement's thread counts.
    used: LocalAtomic<u64>,
}

impl Budget {
    /// A budget with these limits, in bytes.
    pub fn new(soft: u64, hard: u64) -> Arc<Budget> {
        Arc::new(Budget { soft, hard: hard.max(soft), used: LocalAtomic::new(0) })
    }

    /// The session's.
    pub fn of_session(env: &dyn Environment) -> Arc<Budget> {
        let (soft, hard) = env.memory_bytes();
        // Who can move rows to a file begins with it before the others end.
        let hard = hard.max(2 * LEAST_BYTES);
        Budget::new(soft.clamp(LEAST_BYTES, hard / 2), hard)
    }

    /// Begins to count something.
    pub fn charge(self: &Arc<Budget>) -> Charge {
        Charge { budget: Arc::clone(self), bytes: 0 }
    }
}

/// What one operator keeps.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    /// Says how much is kept now, in bytes.
    pub fn set(&mut self, bytes: usize) {
        let used = self.budget.used.load(Ordering::Relaxed) - self.bytes;
        self.bytes = bytes as u64;
        self.budget.used.store(used + self.bytes, Ordering::Relaxed);
    }

    /// The statement keeps more than it should: this operator moves rows to a file, if it has any that
    /// are worth it.
    pub fn is_over(&self) -> bool {
        self.budget.used.load(Ordering::Relaxed) > self.budget.soft
    }

    /// For what cannot be moved to a file.
    ///
    /// # Errors
    /// 1114 above the hard limit.
    pub fn check(&self) -> Result<(), SqlError> {
        if self.budget.used.load(Ordering::Relaxed) > self.budget.hard {
            let text = "The table '<temporary>' is full".to_string();
            return Err(SqlError::Other(1114, "HY000", text));
        }
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_add_up_and_are_given_back() {
        let budget = Budget::new(100, 200);
        let (mut a, mut b) = (budget.charge(), budget.charge());
        a.set(60);
        assert!(!a.is_over());
        b.set(50);
        assert!(a.is_over() && b.is_over() && b.check().is_ok());
        a.set(160);
        assert_eq!(a.check().unwrap_err().parts().0, 1114);
        drop(a);
        assert!(!b.is_over());
        drop(b);
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }
}
