//! MySQL packets in, packets out; owns no socket.
//!
//! Reading order: [`constants`], [`lenenc`], [`packet`] (framing both ways), [`handshake`] and [`auth`]
//! (how a connection begins), [`command`] (what a client asks), [`reply`] (OK, ERR, EOF, columns),
//! [`row`] (text and binary rows), [`prepared`] (parameters of a prepared statement).
//!
//! 1. Everything a client sends is checked before it is believed: a malformed packet is [`Malformed`] with
//!    the part it broke in, never a panic, never a read outside the packet, never an allocation larger than
//!    what the client really sent.
//! 2. Everything a server sends is appended to one reusable buffer ([`packet::Outbox`]); a warm row costs no
//!    allocation.

pub mod attributes;
pub mod auth;
pub mod command;
pub mod compressed;
pub mod constants;
pub mod handshake;
pub mod lenenc;
pub mod number;
pub mod packet;
pub mod prepared;
pub mod proxy;
pub mod reply;
pub mod row;
pub mod sha_crypt;

pub use command::Command;
pub use constants::{Capabilities, ColumnCode, ColumnFlags, StatusFlags};
pub use packet::{FrameError, Inbox, Outbox, Packet};

use std::fmt;

/// A packet that does not follow the protocol, with the part that broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed packet: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// Names the part that was cut off.
pub(crate) trait OrMalformed<T> {
    /// The value, or [`Malformed`] with `part`.
    fn or_malformed(self, part: &'static str) -> Result<T, Malformed>;
}

impl<T> OrMalformed<T> for Result<T, stdx::bytes::Truncated> {
    #[inline]
    fn or_malformed(self, part: &'static str) -> Result<T, Malformed> {
        self.map_err(|_| Malformed(part))
    }
}
