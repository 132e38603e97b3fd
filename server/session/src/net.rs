//! The way to the client, in the middle of a statement.

/// The way to the client.
pub trait Net {
    /// Sends bytes; blocks up to `net_write_timeout`. An error means that the client is gone.
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()>;
    /// Receives bytes in the middle of a statement; blocks up to `net_read_timeout`. None: the client has
    /// gone. Fails where nothing can be received.
    fn receive(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let _ = into;
        Err(std::io::ErrorKind::Unsupported.into())
    }
    /// The number of the next frame, where packets come and go in packed frames: an answer has that, whatever number its statement's
    /// packets had.
    fn next_frame(&self) -> Option<u8> {
        None
    }
}

/// Nobody: who hears what runs before the first client, and what `init_connect` answers.
pub(crate) struct NoClient;

impl Net for NoClient {
    fn send(&mut self, _bytes: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}
