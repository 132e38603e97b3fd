//! The way to a client: its socket, what secures it once something does, and what packs it, if anything does.
//!
//! 1. Without TLS and compression it is the socket: nothing is copied, nothing is called besides. 2. With TLS a receive takes what one receive of
//! the socket brings, and what is sent goes out by one send for each piece. 3. A client has the time of a login for its
//! handshake, however slowly it sends. 4. What is packed is packed first and encrypted then.

use crate::connection::Socket;
use rustix::event::PollFlags;
use rustix::io::Errno;
use session::Session;
use std::io::{self, Read};
use std::time::Instant;
use tls::{Channel, Progress};
use wire::compressed::{Algorithm, Broken, Compressed, ReadError};

/// Seconds that an alert or an answer of the protocol's own may take.
const ALERT_S: u64 = 1;

/// The way to a client.
pub struct Line<'s> {
    pub socket: &'s Socket,
    /// When a client must have logged in.
    pub login_until: Instant,
    /// What comes and goes is what the socket has.
    plain: bool,
    channel: Option<Box<Channel>>,
    compressed: Option<Box<Compressed>>,
    broken: Option<Broken>,
}

/// The socket as a source of encrypted bytes.
struct Encrypted<'s>(&'s Socket);

impl Read for Encrypted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.receive(into)?)
    }
}

impl<'s> Line<'s> {
    /// A way in clear.
    pub fn new(socket: &'s Socket, login_until: Instant) -> Self {
        Self { socket, login_until, plain: true, channel: None, compressed: None, broken: None }
    }

    /// Receives what is there; none: the client has gone.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Result<usize, Errno> {
        match self.plain {
            true => self.socket.receive(into),
            false => self.receive_wrapped(into),
        }
    }

    fn receive_wrapped(&mut self, into: &mut [u8]) -> Result<usize, Errno> {
        let Self { socket, channel, compressed, broken, .. } = self;
        let Some(compressed) = compressed else { return receive_clear(channel, socket, into) };
        let read = compressed.read(into, |packed| receive_clear(channel, socket, packed));
        read.map_err(|error| match error {
            ReadError::Source(errno) => errno,
            ReadError::Broken(why) => {
                *broken = Some(why);
                Errno::PROTO
            }
        })
    }

    /// The number of the frame that comes next, once what comes and goes is compressed.
    #[inline]
    pub fn next_frame(&self) -> Option<u8> {
        self.compressed.as_ref().map(|compressed| compressed.next_frame())
    }

    /// What was wrong with the frames of a client that is compressed, once something was.
    pub fn broken(&mut self) -> Option<Broken> {
        self.broken.take()
    }

    /// What comes and goes is compressed from now on; `early`: what has come already.
    #[cold]
    #[inline(never)]
    pub fn compress(&mut self, algorithm: Algorithm, early: Vec<u8>) {
        self.compressed = Some(Box::new(Compressed::new(algorithm, early)));
        self.plain = false;
    }

    /// The client has been silent for a while: gives back what is made again when it is needed.
    pub fn rest(&mut self) {
        if let Some(compressed) = &mut self.compressed {
            compressed.rest();
        }
    }

    /// Sends everything, waiting up to `timeout_s` seconds for room.
    #[inline]
    pub fn send_all(&mut self, bytes: &[u8], timeout_s: u64) -> io::Result<()> {
        match self.plain {
            true => self.socket.send_all(bytes, timeout_s),
            false => self.send_wrapped(bytes, timeout_s),
        }
    }

    fn send_wrapped(&mut self, bytes: &[u8], timeout_s: u64) -> io::Result<()> {
        let Self { socket, channel, compressed, .. } = self;
        match compressed {
            None => send_clear(channel, socket, bytes, timeout_s),
            Some(compressed) => {
                compressed.write(bytes, |packed| send_clear(channel, socket, packed, timeout_s))
            }
        }
    }

    /// Says goodbye, where there is something to say it by.
    pub fn close(&mut self) {
        if let Some(Ok(bytes)) = self.channel.as_mut().map(|channel| channel.close()) {
            let _ = self.socket.send_all(&bytes, ALERT_S);
        }
    }

    /// The handshake that the client has asked for.
    ///
    /// # Errors
    /// The client goes, takes too long, or does not keep to the protocol, of which it is told.
    #[cold]
    #[inline(never)]
    pub fn secure(&mut self, session: &mut Session) -> io::Result<()> {
        let (context, early) = session.secure().ok_or(io::ErrorKind::InvalidData)?;
        let mut channel = Box::new(Channel::new(&context)?);
        let mut early = &early[..];
        loop {
            let progress = match early.is_empty() {
                true => self.shake(&mut channel, self.login_until),
                false => channel.read_from(&mut early),
            };
            // Its part of the handshake, or what was wrong with the client's.
            self.socket.send_all(&channel.take()?, session.write_timeout_s())?;
            match progress? {
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(Progress::Open) if early.is_empty() => break,
                Some(_) => {}
            }
        }
        let how = channel.secured().ok_or(io::ErrorKind::InvalidData)?;
        session.secured(how);
        self.channel = Some(channel);
        self.plain = false;
        Ok(())
    }

    /// Brings the handshake on by what the client sends next.
    fn shake(&self, channel: &mut Channel, until: Instant) -> io::Result<Option<Progress>> {
        loop {
            match channel.read_from(&mut Encrypted(self.socket)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = until.saturating_duration_since(host::clock::now());
                    if left.is_zero() || !self.socket.wait(PollFlags::IN, left)? {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                done => return done,
            }
        }
    }
}

fn receive_clear(
    channel: &mut Option<Box<Channel>>,
    socket: &Socket,
    into: &mut [u8],
) -> Result<usize, Errno> {
    match channel {
        None => socket.receive(into),
        Some(channel) => receive_decrypted(channel, socket, into),
    }
}

fn send_clear(
    channel: &mut Option<Box<Channel>>,
    socket: &Socket,
    bytes: &[u8],
    timeout_s: u64,
) -> io::Result<()> {
    match channel {
        None => socket.send_all(bytes, timeout_s),
        Some(channel) => channel.write(bytes, |bytes| socket.send_all(bytes, timeout_s)),
    }
}

#[cold]
fn alert(channel: &mut Channel, socket: &Socket) -> Errno {
    if let Ok(bytes) = channel.take() {
        let _ = socket.send_all(&bytes, ALERT_S);
    }
    Errno::PROTO
}

fn receive_decrypted(
    channel: &mut Channel,
    socket: &Socket,
    into: &mut [u8],
) -> Result<usize, Errno> {
    loop {
        match channel.clear(into) {
            Ok(Some(0)) => {}
            Ok(n) => return Ok(n.unwrap_or(0)),
            Err(_) => return Err(Errno::CONNRESET),
        }
        match channel.read_from(&mut Encrypted(socket)) {
            Ok(None) => return Ok(0),
            Ok(Some(_)) => {
                // Answers of the protocol's own: new keys.
                let answer = channel.take().map_err(|_| Errno::PROTO)?;
                if !answer.is_empty() && socket.send_all(&answer, ALERT_S).is_err() {
                    return Err(Errno::CONNRESET);
                }
            }
            Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(errno) => return Err(errno),
                None => return Err(alert(channel, socket)),
            },
        }
    }
}
