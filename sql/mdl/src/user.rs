//! GET_LOCK's names: what a session has until it gives it back.
//!
//! 1. A name is an exclusive ticket of its object in USER LEVEL LOCK, one for a session; the session counts how often
//!    it took it.
//! 2. There are no weak modes there, so nothing is closed and no slot is scanned.
//! 3. Who asks waits in the queue, whatever turn its statement takes (`turns`): such a lock is part of no set.

use crate::locks::{Mdl, MdlError};
use crate::mode::{Mode, Namespace};
use crate::object::Object;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use sync::{Deadline, SessionSlot};

/// A lock, and how often the session took it.
#[derive(Debug)]
struct Taken {
    object: Arc<Object>,
    times: u64,
}

/// The user-level locks of one session.
pub struct UserLocks {
    mdl: Arc<Mdl>,
    taken: HashMap<Box<str>, Taken>,
}

impl fmt::Debug for UserLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserLocks").field("taken", &self.taken).finish_non_exhaustive()
    }
}

impl UserLocks {
    /// None yet.
    #[must_use]
    pub fn new(mdl: Arc<Mdl>) -> Self {
        Self { mdl, taken: HashMap::new() }
    }

    /// Takes a lock, once more if the session has it; `false` when the deadline passed before. The name is folded.
    ///
    /// # Errors
    /// [`MdlError::Deadlock`], [`MdlError::Killed`].
    pub fn get(
        &mut self,
        slot: &SessionSlot,
        name: &str,
        deadline: Deadline,
    ) -> Result<bool, MdlError> {
        if let Some(taken) = self.taken.get_mut(name) {
            taken.times += 1;
            return Ok(true);
        }
        let object = self.mdl.intern(Namespace::UserLevelLock, "", name);
        match self.mdl.acquire_alone(slot, &object, deadline) {
            Ok(()) => {
                self.taken.insert(name.into(), Taken { object, times: 1 });
                Ok(true)
            }
            Err(MdlError::TimedOut) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives a lock back that was taken once, or takes one less; `Some(false)`: another session has it, `None`: nobody.
    pub fn release(&mut self, slot: &SessionSlot, name: &str) -> Option<bool> {
        let Some(taken) = self.taken.get_mut(name) else {
            return self.owner(name).map(|_| false);
        };
        taken.times -= 1;
        if taken.times == 0
            && let Some(taken) = self.taken.remove(name)
        {
            self.mdl.release(slot, &taken.object, Mode::X);
        }
        Some(true)
    }

    /// Gives every lock back; how often they were taken, together.
    pub fn release_all(&mut self, slot: &SessionSlot) -> u64 {
        let mut times = 0;
        for (_, taken) in self.taken.drain() {
            times += taken.times;
            self.mdl.release(slot, &taken.object, Mode::X);
        }
        times
    }

    /// The processlist id of the session that has a lock.
    #[must_use]
    pub fn owner(&self, name: &str) -> Option<u64> {
        let object = self.mdl.find(Namespace::UserLevelLock, "", name)?;
        let slot = object.state().granted.first()?.owner;
        Some(self.mdl.session_id(slot as usize))
    }
}
