//! A file that the client sends in the middle of a statement: LOAD DATA LOCAL.
//!
//! 1. The client sends packets until an empty one, whatever becomes of the statement: what is left is read and
//!    forgotten. 2. The statement's reply goes on behind the last packet's sequence number, or the last frame's.

use crate::net::Net;
use std::io::{self, Read};
use wire::Outbox;

/// First byte of the packet that asks for a file; its name follows.
pub const LOCAL_FILE_REQUEST: u8 = 0xfb;

const HEADER_BYTES: usize = 4;
/// Length of a packet that another one continues.
const FULL_BYTES: usize = 0xff_ffff;
const CHUNK_BYTES: usize = 64 << 10;

/// The file's bytes.
pub struct LocalFile<'a> {
    net: &'a mut dyn Net,
    out: &'a mut Outbox,
    /// Set when the client is gone.
    gone: &'a mut bool,
    buffer: Vec<u8>,
    at: usize,
    /// Bytes of the packet that are to come.
    left: usize,
    /// The packet before was full: an empty one only ends it.
    full: bool,
    ended: bool,
}

impl<'a> LocalFile<'a> {
    /// Of a client that was asked.
    pub fn new(net: &'a mut dyn Net, out: &'a mut Outbox, gone: &'a mut bool) -> LocalFile<'a> {
        let buffer = Vec::new();
        LocalFile { net, out, gone, buffer, at: 0, left: 0, full: false, ended: false }
    }

    /// Receives until so many bytes are in the buffer.
    fn hold(&mut self, bytes: usize) -> io::Result<()> {
        while self.buffer.len() - self.at < bytes {
            self.buffer.drain(..self.at);
            self.at = 0;
            let held = self.buffer.len();
            self.buffer.resize(held + CHUNK_BYTES, 0);
            let received = self.net.receive(&mut self.buffer[held..]);
            self.buffer.truncate(held + *received.as_ref().unwrap_or(&0));
            if !matches!(received, Ok(n) if n > 0) {
                (*self.gone, self.ended) = (true, true);
                return received.and(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        Ok(())
    }

    /// Begins the next packet.
    fn begin(&mut self) -> io::Result<()> {
        self.hold(HEADER_BYTES)?;
        let header = &self.buffer[self.at..self.at + HEADER_BYTES];
        let (length, seq) = (u32::from_le_bytes([header[0], header[1], header[2], 0]), header[3]);
        self.at += HEADER_BYTES;
        self.out.set_seq(self.net.next_frame().unwrap_or(seq.wrapping_add(1)));
        self.left = length as usize;
        self.ended = self.left == 0 && !self.full;
        self.full = self.left == FULL_BYTES;
        Ok(())
    }
}

impl Read for LocalFile<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 {
            if self.ended {
                return Ok(0);
            }
            self.begin()?;
        }
        self.hold(1)?;
        let held = &self.buffer[self.at..];
        let n = held.len().min(self.left).min(into.len());
        into[..n].copy_from_slice(&held[..n]);
        self.at += n;
        self.left -= n;
        Ok(n)
    }
}

impl Drop for LocalFile<'_> {
    fn drop(&mut self) {
        let mut rest = [0; 4096];
        while matches!(self.read(&mut rest), Ok(n) if n > 0) {}
    }
}
