//! The tablespaces that were opened; a table's handles keep theirs alive.
//!
//! 1. A file is opened once: who wants it meanwhile waits for that. The latch is not held while it is opened, so others
//! open theirs. Guard: the error of [`pool::Pool::open_tablespace`] (opened twice); debug builds do no I/O under the latch.

use base::{Result, SpaceId};
use pool::Tablespace;
use std::collections::HashMap;
use std::sync::Arc;
use sync::{Deadline, Event, Mutex};

instrument::classes! {
    static SPACES: MutexClass = "wait/synch/mutex/innodb/fil_system_mutex";
    static OPENED: CondClass = "wait/synch/cond/limpid/tablespace_opened";
}

/// See the module.
pub(crate) struct Spaces {
    /// `None`: somebody is opening it.
    known: Mutex<HashMap<SpaceId, Option<Arc<Tablespace>>>>,
    opened: Event,
}

/// That the caller opens a tablespace; whatever comes of it, others go on when this is dropped.
struct Opening<'s> {
    spaces: &'s Spaces,
    id: SpaceId,
    opened: Option<Arc<Tablespace>>,
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        {
            let mut known = self.spaces.known.lock();
            match self.opened.take() {
                Some(ts) => known.insert(self.id, Some(ts)),
                None => known.remove(&self.id),
            };
        }
        self.spaces.opened.notify_all();
    }
}

impl Spaces {
    pub fn new(open: impl Iterator<Item = Arc<Tablespace>>) -> Spaces {
        let known = open.map(|ts| (ts.id(), Some(ts))).collect();
        Spaces { known: Mutex::new(&SPACES, known), opened: Event::new(&OPENED) }
    }

    /// What is known of a tablespace that nobody is opening.
    fn settled<R>(
        &self,
        id: SpaceId,
        f: impl FnOnce(&mut HashMap<SpaceId, Option<Arc<Tablespace>>>) -> R,
    ) -> R {
        loop {
            let seen = self.opened.prepare();
            let mut known = self.known.lock();
            if !matches!(known.get(&id), Some(None)) {
                return f(&mut known);
            }
            drop(known);
            let _woken = self.opened.wait_unkillable(seen, Deadline::Never);
        }
    }

    /// A tablespace, opened by `open` if need be; `None`: `open` has found none.
    pub fn get_or_open(
        &self,
        id: SpaceId,
        open: impl FnOnce() -> Result<Option<Arc<Tablespace>>>,
    ) -> Result<Option<Arc<Tablespace>>> {
        let found = self.settled(id, |known| match known.get(&id) {
            Some(found) => found.clone(),
            None => {
                known.insert(id, None);
                None
            }
        });
        if found.is_some() {
            return Ok(found);
        }
        let mut opening = Opening { spaces: self, id, opened: None };
        opening.opened = open()?;
        Ok(opening.opened.clone())
    }

    /// A tablespace was made.
    pub fn add(&self, ts: Arc<Tablespace>) {
        self.known.lock().insert(ts.id(), Some(ts));
    }

    /// Takes a tablespace out that goes; `None`: it is not open.
    pub fn remove(&self, id: SpaceId) -> Option<Arc<Tablespace>> {
        self.settled(id, |known| known.remove(&id)).flatten()
    }
}
