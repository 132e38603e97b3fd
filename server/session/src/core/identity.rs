//! Who the client is, as the connection knows it; what statements see of that is in `Env`.
//!
//! 1. Until the phase is [`Phase::Commands`] no command of the client is looked at. 2. The challenge of the greeting
//! stays: COM_CHANGE_USER of a client that knows no plugins answers it.

use crate::compression::Offer;
use crate::login::{Login, Peer};
use std::sync::Arc;
use tls::Context;
use wire::compressed::Algorithm;
use wire::handshake::Scramble;

/// How far a connection is.
pub(crate) enum Phase {
    /// It has to prove who it is.
    Login(Box<Login>),
    /// It proves that it is somebody else.
    ChangingUser(Box<Login>),
    /// It is known.
    Commands,
}

/// Who the client is.
#[repr(C)]
pub(crate) struct Identity {
    pub peer: Peer,
    /// Nobody else can listen on the way to the client, or to the proxy that it came by.
    pub is_near: bool,
    /// The last challenge.
    pub scramble: Scramble,
    /// The TLS that the greeting offered, until the client has come in.
    pub offered: Option<Arc<Context>>,
    /// The connection is one above `max_connections`: root's only.
    pub over_limit: bool,
    /// It came to the administrative interface.
    pub administrative: bool,
    /// The compression that the greeting offered.
    pub compressions: Offer,
    /// What the client has settled on, until whoever has its socket is told.
    pub compresses: Option<Algorithm>,
    pub phase: Phase,
}

impl Identity {
    /// Nobody yet.
    pub fn new(
        peer: Peer,
        scramble: Scramble,
        offered: Option<Arc<Context>>,
        (over_limit, administrative): (bool, bool),
        compressions: Offer,
    ) -> Identity {
        let login = Box::new(Login::new(scramble, &peer));
        Identity {
            phase: Phase::Login(login),
            is_near: peer.is_local(),
            peer,
            scramble,
            offered,
            over_limit,
            administrative,
            compressions,
            compresses: None,
        }
    }

    /// The client comes from here, says a proxy. What it sends goes over the way to the proxy: that alone says who can listen.
    pub fn comes_from(&mut self, client: Peer) {
        let mut login = Box::new(Login::new(self.scramble, &client));
        login.is_open(!self.is_near);
        (self.phase, self.peer) = (Phase::Login(login), client);
    }

    /// Whether the client has proved who it is.
    pub fn is_logged_in(&self) -> bool {
        !matches!(self.phase, Phase::Login(_))
    }

    /// Whether a client that asks for TLS now can have it.
    pub fn may_be_secured(&self) -> bool {
        matches!(&self.phase, Phase::Login(login) if login.is_new()) && self.offered.is_some()
    }

    /// Whether commands are taken.
    #[inline]
    pub fn takes_commands(&self) -> bool {
        matches!(self.phase, Phase::Commands)
    }
}
