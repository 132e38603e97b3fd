//! The socket of a [`Client`](crate::Client) that connects by itself: of this machine, or of a network.

use crate::dsn::Dsn;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connected socket.
#[derive(Debug)]
pub enum Socket {
    /// Of this machine.
    Unix(UnixStream),
    /// Of a network, which may be the loopback.
    Tcp(TcpStream),
}

impl Socket {
    /// Connects to the server of a DSN.
    pub(crate) fn connect(dsn: &Dsn) -> io::Result<Socket> {
        match (&dsn.socket, &dsn.host) {
            (Some(path), _) => UnixStream::connect(path).map(Socket::Unix),
            (None, Some((host, port))) => tcp(host, *port, dsn.connect_wait).map(Socket::Tcp),
            (None, None) => Err(io::Error::other("no socket and no host is named")),
        }
    }

    /// Changes how long a read may take; `None` is for ever.
    pub(crate) fn set_read_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.set_read_timeout(longest),
            Socket::Tcp(stream) => stream.set_read_timeout(longest),
        }
    }

    /// What is written leaves this machine.
    pub(crate) fn leaves_machine(&self) -> bool {
        match self {
            Socket::Unix(_) => false,
            Socket::Tcp(stream) => !stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
        }
    }

    /// The process at the other end of a Unix socket.
    pub(crate) fn peer_pid(&self) -> Option<u32> {
        let Socket::Unix(stream) = self else { return None };
        let credentials = rustix::net::sockopt::socket_peercred(stream).ok()?;
        u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
    }
}

/// The first address of a host that answers.
fn tcp(host: &str, port: u16, longest: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, longest) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.read(into),
            Socket::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.write(bytes),
            Socket::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
