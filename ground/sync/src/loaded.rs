//! A value that is read from where it is stored when somebody needs it, and that goes when nobody does.
//!
//! 1. As long as somebody has the value there is no other one: who has read it beside others gets the first one's
//! ([`Loaded::settle`]). 2. Who begins to read notes the version, and whoever changes what is stored raises it when he publishes
//! the new value; what was read under another version is read again. So nothing that was read before a change is taken for what
//! is stored after it. 3. Whoever changes what is stored has the value from before the change until he has published: so
//! nobody who looks meanwhile finds that it has to be read, and half of a change is never settled.
//!
//! The owner keeps it under a latch, which is not held while the value is read.

use std::sync::{Arc, Weak};

/// See the module.
pub struct Loaded<T> {
    kept: Option<Arc<T>>,
    last: Weak<T>,
}

impl<T> Default for Loaded<T> {
    fn default() -> Self {
        Loaded { kept: None, last: Weak::new() }
    }
}

impl<T> Loaded<T> {
    /// A value that stays until [`Self::let_go`].
    pub fn of(value: Arc<T>) -> Self {
        Loaded { last: Arc::downgrade(&value), kept: Some(value) }
    }

    /// The value, if it stays or somebody has it; `None`: it has to be read.
    pub fn get(&self) -> Option<Arc<T>> {
        self.kept.clone().or_else(|| self.last.upgrade())
    }

    /// The value that is used from now on: `read`, or the one that somebody has. The version is what it was before the read.
    pub fn settle(&mut self, read: Arc<T>) -> Arc<T> {
        self.get().unwrap_or_else(|| {
            self.last = Arc::downgrade(&read);
            read
        })
    }

    /// It stays, whether or not somebody has it.
    pub fn keep(&mut self, value: &Arc<T>) {
        debug_assert!(self.get().is_some_and(|own| Arc::ptr_eq(&own, value)), "another value");
        self.kept = Some(Arc::clone(value));
    }

    /// Whether it stays, and nobody has it.
    pub fn is_unused(&self) -> bool {
        self.kept.as_ref().is_some_and(|value| Arc::strong_count(value) == 1)
    }

    /// It goes as soon as nobody has it; to be dropped without the latch.
    pub fn let_go(&mut self) -> Option<Arc<T>> {
        self.kept.take()
    }
}
