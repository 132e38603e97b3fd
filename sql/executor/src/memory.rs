//! Memory that the operators of a statement keep, counted against one limit.
//!
//! 1. Whoever keeps rows holds a [`Charge`] and tells it how much it keeps; dropped, it gives all of it
//!    back. 2. Above the soft limit those who can move their rows to a temporary file. 3. Above the hard
//!    limit the statement ends with error 1114: nothing is aborted. 4. What all statements keep is known
//!    to be within [`STEP`] of the truth for each: those that keep little never write what is shared.

use crate::ExecError;
use crate::{Environment, SqlError};
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering};

instrument::classes! {
    static KEPT: SessionMemory = "memory/sql/statement_rows";
}

/// A statement's part of the memory of all changes by so many bytes.
const STEP: u64 = 64 << 10;

/// No limit is below this, in bytes.
const LEAST_BYTES: u64 = 32 << 10;

/// What a statement may keep in memory.
#[derive(Debug)]
pub struct Budget {
    soft: u64,
    hard: u64,
    /// Nobody but the statement's thread counts.
    used: LocalAtomic<u64>,
    /// What was told of it to [`KEPT`], and how much of that is counted.
    told: LocalAtomic<u64>,
    counted: LocalAtomic<u64>,
}

impl Budget {
    /// A budget with these limits, in bytes.
    pub fn new(soft: u64, hard: u64) -> Arc<Budget> {
        Arc::new(Budget {
            soft,
            hard: hard.max(soft),
            used: LocalAtomic::new(0),
            told: LocalAtomic::new(0),
            counted: LocalAtomic::new(0),
        })
    }

    /// The session's.
    pub fn of_session(env: &dyn Environment) -> Arc<Budget> {
        let (soft, hard) = session_limits(env);
        Budget::new(soft, hard)
    }

    /// As [`Budget::of_session`], in the memory of another one where nobody counts against that any more.
    pub fn renew(budget: &mut Arc<Budget>, env: &dyn Environment) {
        match Arc::get_mut(budget) {
            Some(Budget { soft, hard, .. }) => (*soft, *hard) = session_limits(env),
            None => *budget = Budget::of_session(env),
        }
    }

    fn set_used(&self, used: u64) {
        self.used.store(used, Ordering::Relaxed);
        let told = self.told.load(Ordering::Relaxed);
        if used >= told + STEP || told > 0 && (used == 0 || told >= used + STEP) {
            let counted = KEPT.set(self.counted.load(Ordering::Relaxed) as usize, used as usize);
            self.counted.store(counted as u64, Ordering::Relaxed);
            self.told.store(used, Ordering::Relaxed);
        }
    }

    /// Begins to count something.
    pub fn charge(self: &Arc<Budget>) -> Charge {
        Charge { budget: Arc::clone(self), bytes: 0 }
    }
}

/// The soft and the hard limit of a session's statements, in bytes.
fn session_limits(env: &dyn Environment) -> (u64, u64) {
    let (soft, hard) = env.memory_bytes();
    // Who can move rows to a file begins with it before the others end.
    let hard = hard.max(2 * LEAST_BYTES);
    (soft.clamp(LEAST_BYTES, hard / 2), hard)
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
        self.budget.set_used(used + self.bytes);
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
            return Err(ExecError::TableFull("<temporary>").into());
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
