//! The warm set: which pages are in memory, kept over a restart.

use crate::{Pool, Tablespace};
use base::{Result, SpaceId};
use std::sync::Arc;

/// Name of the file in the data folder, unless `innodb_buffer_pool_filename` says otherwise.
pub const DUMP_FILE_NAME: &str = "ib_buffer_pool";

impl Pool {
    /// Writes the names of the hottest pages to the file `name`.
    pub fn dump(&self, name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// Reads the pages that the file `name` names, in their order, at the pace of
    /// `io_capacity`; `open` gives a tablespace, or says that there is none. Returns when done or
    /// aborted: call it on a thread of its own.
    pub fn load(
        &self,
        name: &str,
        open: &dyn Fn(SpaceId) -> Option<Arc<Tablespace>>,
    ) -> Result<()> {
        let _ = (name, open);
        Ok(())
    }

    /// Ends a running load.
    pub fn load_abort(&self) {}

    /// What `Innodb_buffer_pool_dump_status` shows.
    pub fn dump_status(&self) -> String {
        "Dumping of buffer pool not started".into()
    }

    /// What `Innodb_buffer_pool_load_status` shows.
    pub fn load_status(&self) -> String {
        "Loading of buffer pool not started".into()
    }
}
