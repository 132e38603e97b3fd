//! Listening sockets: TCP and Unix, one thread each that accepts and hands over to connection threads.
//!
//! 1. A connection above the limit is answered 1040 by the accepting thread: it costs no thread.
//! 2. A Unix socket file that nobody listens on is replaced; one that somebody listens on is an error, and so
//!    is a file that is no socket.
//! 3. TCP is bound early, so that a port in use is told before recovery, but listens only when clients may
//!    come: until then they are refused rather than kept waiting.

use crate::connection::{self, Socket};
use crate::process::Process;
use instrument::{Operation, SocketHandle, SocketPlace};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, bind, listen, shutdown, socket_with, sockopt,
};
use session::{Peer, STACK_BYTES_MIN, Server, Session, Severity, Wake};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wire::proxy::Networks;

instrument::classes! {
    static TCP: SocketClass = "wait/io/socket/sql/server_tcpip_socket";
    static UNIX: SocketClass = "wait/io/socket/sql/server_unix_socket";
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// Seconds for the refusal of a connection to be taken.
const REFUSE_S: u64 = 1;

/// A bound socket.
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// TCP, for administrators.
    Administrative(TcpListener),
    /// Unix.
    Unix(UnixListener),
}

/// Addresses of `bind_address`: `*` is all, names other than `localhost` are not resolved.
pub fn addresses(text: &str) -> Result<Vec<IpAddr>, String> {
    let one = |part: &str| match part.trim() {
        "*" => Ok(IpAddr::from([0_u16; 8])),
        "localhost" => Ok(IpAddr::from([127, 0, 0, 1])),
        other => other.parse().map_err(|_| {
            format!("bind-address '{other}' is no IP address (names are not resolved)")
        }),
    };
    text.split(',').map(one).collect()
}

impl Listener {
    /// Binds TCP; clients are refused until [`Listener::open`]. The error is one sentence for the user.
    pub fn tcp(address: IpAddr, port: u16) -> Result<Self, String> {
        let at = SocketAddr::new(address, port);
        bind_tcp(at).map(Self::Tcp).map_err(|e| tcp_error(at, e))
    }

    /// As [`Listener::tcp`], for administrators.
    pub fn administrative(address: IpAddr, port: u16) -> Result<Self, String> {
        let at = SocketAddr::new(address, port);
        bind_tcp(at).map(Self::Administrative).map_err(|e| tcp_error(at, e))
    }

    /// Lets clients in. The error is one sentence for the user.
    pub fn open(&self) -> Result<(), String> {
        // Again for a Unix socket, which does no harm.
        match self {
            Self::Tcp(l) | Self::Administrative(l) => {
                listen(l, BACKLOG).map_err(|e| match l.local_addr() {
                    Ok(at) => tcp_error(at, e),
                    Err(_) => format!("Can't start server: cannot listen: {e}"),
                })
            }
            Self::Unix(l) => listen(l, BACKLOG).map_err(|e| e.to_string()),
        }
    }

    /// Binds a Unix socket. The error is one sentence for the user.
    pub fn unix(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        if let Ok(found) = std::fs::symlink_metadata(path) {
            if !std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) {
                return Err(format!(
                    "Can't start server: {shown} exists and is no socket. Choose another one with \
                     --socket=PATH."
                ));
            }
            if UnixStream::connect(path).is_ok() {
                return Err(format!(
                    "Can't start server: another server is using the socket {shown}. Choose another \
                     one with --socket=PATH."
                ));
            }
            std::fs::remove_file(path).map_err(|e| {
                format!("Can't start server: cannot replace the socket {shown}: {e}")
            })?;
        }
        let bound = UnixListener::bind(path).and_then(|l| {
            listen(&l, BACKLOG)?;
            // Anyone may knock; who may enter is decided by the login.
            let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
            std::fs::set_permissions(path, everyone)?;
            Ok(l)
        });
        bound
            .map(Self::Unix)
            .map_err(|e| format!("Can't start server: cannot listen on the socket {shown}: {e}"))
    }

    /// Where it is counted: as the main thread's, which opened it.
    fn handle(&self) -> SocketHandle {
        let threads = host::thread::background();
        let main = threads.iter().find(|thread| thread.name == "main");
        let (class, descriptor, address) = match self {
            Self::Tcp(l) | Self::Administrative(l) => {
                (TCP.class(), l.as_raw_fd(), l.local_addr().ok())
            }
            Self::Unix(l) => (UNIX.class(), l.as_raw_fd(), None),
        };
        let place = SocketPlace {
            thread_id: main.map_or(0, |main| main.id),
            descriptor,
            ip: address.map_or_else(String::new, |a| a.ip().to_string()),
            port: address.map_or(0, |a| a.port()),
        };
        SocketHandle::open(class, place)
    }

    /// Makes the accepting thread return.
    pub fn stop(&self) {
        let _ = match self {
            Self::Tcp(l) | Self::Administrative(l) => shutdown(l.as_fd(), Shutdown::Both),
            Self::Unix(l) => shutdown(l.as_fd(), Shutdown::Both),
        };
    }

    fn accept(&self) -> io::Result<(OwnedFd, Peer)> {
        match self {
            Self::Tcp(l) | Self::Administrative(l) => {
                let (stream, address) = l.accept()?;
                // A reply is one send: waiting to fill packets only costs time. Neither call fails unless
                // the client is gone, which the first read tells as well.
                let _ = stream.set_nodelay(true);
                let _ = sockopt::set_socket_keepalive(&stream, true);
                let address = SocketAddr::new(address.ip().to_canonical(), address.port());
                Ok((stream.into(), Peer::Tcp(address)))
            }
            Self::Unix(l) => {
                let (stream, _) = l.accept()?;
                let owner = sockopt::socket_peercred(&stream).ok().map(|peer| peer.uid.as_raw());
                Ok((stream.into(), Peer::Socket(owner)))
            }
        }
    }
}

fn bind_tcp(at: SocketAddr) -> Result<TcpListener, Errno> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // A restarted server must not wait for the old one's connections to be forgotten.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &at)?;
    Ok(TcpListener::from(socket))
}

fn tcp_error(at: SocketAddr, error: Errno) -> String {
    match error {
        Errno::ADDRINUSE => format!(
            "Can't start server: port {} on {} is in use. Do you already have another server running \
             there? Choose another one with --port=N.",
            at.port(),
            at.ip()
        ),
        error => format!("Can't start server: cannot listen on {at}: {error}"),
    }
}

/// Accepts until [`Listener::stop`].
pub fn accept_all(process: &Arc<Process>, server: &Arc<Server>, listener: &Listener) {
    let handle = listener.handle();
    while !process.is_stopping() {
        match listener.accept() {
            Ok((fd, peer)) if !process.is_stopping() => {
                if handle.counted().is_some() {
                    // How long nobody came says nothing.
                    handle.add(Operation::Open, None, 0);
                }
                let administrative = matches!(listener, Listener::Administrative(_));
                begin(process, server, fd, (peer, administrative));
            }
            Ok(_) => return,
            Err(error) => {
                if process.is_stopping() {
                    return;
                }
                if matches!(error.kind(), io::ErrorKind::ConnectionAborted) {
                    continue;
                }
                let text = format!("Error in accept: {error}");
                process.log.write(Severity::Error, "MY-010283", &text);
                // Out of file descriptors, most likely: connections that end give some back.
                let _ = host::clock::sleep(Duration::from_millis(100));
            }
        }
    }
}

fn begin(
    process: &Arc<Process>,
    server: &Arc<Server>,
    fd: OwnedFd,
    (peer, administrative): (Peer, bool),
) {
    let socket = Socket::new(fd);
    let wake: Arc<dyn Wake> = Arc::clone(&socket) as _;
    let from = peer.clone();
    let session = match Session::at(server, peer, wake, administrative) {
        Ok(session) => Box::new(session),
        Err(refused) => {
            let _ = socket.send_all(&refused.0, REFUSE_S);
            return;
        }
    };
    socket.carries(&session, &from);
    let proxied = may_be_proxied(server, &from);
    let shared = Arc::clone(process);
    let stack = stack_bytes(server);
    host::lent_stack::set_bytes(stack);
    let serve = move || connection::serve(&shared, session, &socket, proxied);
    let spawned = process.threads(server).run(stack, Box::new(serve));
    if let Err(error) = spawned {
        let text = format!("Can't create thread to handle new connection: {error}");
        process.log.write(Severity::Error, "MY-010249", &text);
    }
}

/// Whether a header of the PROXY protocol is taken from here.
fn may_be_proxied(server: &Server, from: &Peer) -> bool {
    let list = server.globals.word("proxy_protocol_networks");
    !list.is_empty() && Networks::of(&list).is_some_and(|networks| networks.have(from.address()))
}

fn stack_bytes(server: &Server) -> usize {
    (server.globals.number("thread_stack") as usize).max(STACK_BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_listed() {
        assert_eq!(addresses("127.0.0.1,::1").unwrap().len(), 2);
        assert!(addresses("*").unwrap()[0].is_unspecified());
        assert!(addresses("db.example.com").unwrap_err().contains("db.example.com"));
    }

    #[test]
    fn a_port_in_use_is_named() {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let Err(text) = Listener::tcp(IpAddr::from([127, 0, 0, 1]), port) else {
            panic!("bound twice");
        };
        assert!(text.contains(&format!("port {port}")) && text.contains("in use"), "{text}");
    }

    #[test]
    fn a_dead_socket_file_is_replaced_and_a_live_one_is_not() {
        let path = std::env::temp_dir().join(format!("limpid-sock-{}", std::process::id()));
        let first = Listener::unix(&path).ok().unwrap();
        assert!(Listener::unix(&path).is_err());
        drop(first);
        assert!(Listener::unix(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, b"precious").unwrap();
        assert!(Listener::unix(&path).err().unwrap().contains("no socket"));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn clients_are_refused_until_the_listener_opens() {
        let listener = Listener::tcp(IpAddr::from([127, 0, 0, 1]), 0).unwrap();
        let Listener::Tcp(socket) = &listener else { panic!("no TCP") };
        let at = socket.local_addr().unwrap();
        assert!(std::net::TcpStream::connect(at).is_err());
        listener.open().unwrap();
        assert!(std::net::TcpStream::connect(at).is_ok());
    }
}
