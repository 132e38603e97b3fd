//! Files without names.

use crate::{Error, Result};
use std::sync::Arc;

/// Makes files that are there as long as somebody holds them, for one session.
pub struct TemporaryFiles {
    pub(crate) disk: Arc<dyn host::Disk>,
    pub(crate) slot: usize,
}

impl TemporaryFiles {
    /// Makes one.
    ///
    /// # Errors
    /// The disk's.
    pub fn create(&self) -> Result<Arc<dyn host::File>> {
        for number in 0u64.. {
            // A crash between the making and the removal may have left a name.
            let name = format!("limpid-temporary-{}-{number}", self.slot);
            match self.disk.open(&name, host::OpenMode::Create) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("create", name, e)),
                Ok(file) => {
                    self.disk.remove(&name).map_err(|e| Error::io("remove", name, e))?;
                    return Ok(file);
                }
            }
        }
        Err(Error::Internal("no name is left for a temporary file"))
    }
}
