//! Changes of the pool that take their time: loading the warm set, resizing. Each runs on a thread of
//! its own; the pool's status texts tell how far it is.

use crate::engine::Engine;
use base::{Error, Result};
use std::sync::Arc;

impl Engine {
    /// Begins to read the pages that a dump of the pool names, from the file `name` of the data
    /// folder ([`pool::Pool::load_status`]). Tablespaces that are gone are passed over.
    pub fn start_pool_load(self: &Arc<Self>, name: &str) -> Result<()> {
        let (engine, name) = (Arc::downgrade(self), name.to_string());
        let pool = Arc::clone(self.pool());
        let open = move |id| engine.upgrade()?.space(id).ok().flatten();
        // A failure is in the status text.
        spawn("buf_load", move || drop(pool.load(&name, &open)))
    }

    /// Begins to change the pool's size, in bytes ([`pool::Pool::resize_status`]).
    pub fn start_pool_resize(&self, bytes: usize) -> Result<()> {
        let pool = Arc::clone(self.pool());
        spawn("buf_resize", move || drop(pool.resize(bytes)))
    }
}

fn spawn(name: &'static str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let spawned = host::thread::spawn(name, work);
    spawned.map(drop).map_err(|e| Error::io("start thread", name, e))
}
