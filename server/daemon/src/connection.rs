//! One thread per connection: read, step, send.
//!
//! 1. A statement costs two system calls: `recv(MSG_DONTWAIT)` and `send`. `poll` is called only when there
//!    is nothing to read, so that a busy client is answered without a second context switch.
//! 2. A panic ends the session, not the server: the session rolls back and the panic's line is in the log.
//! 3. What a connection seldom does has frames of its own, so that the stack of one that waits is two pages of memory.
//! 4. Every wait for the client has a time-out, and ends when the session is killed; a login has one for all its packets,
//!    however slowly they come. Waits for others end when the client has gone ([`sync::with_client`]).

use host::watched;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use session::hosts::Came;
use session::{Net, Next, Peer, Session, Wake};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use stdx::{Ordering, SharedAtomic, class};

use wire::proxy::{self, First};

use crate::line::Line;
use crate::process::Process;
use instrument::{Counter, Operation, SocketHandle, SocketPlace};
use session::Severity;

instrument::classes! {
    /// Clients' sockets.
    pub static CLIENT: SocketClass = "wait/io/socket/sql/client_connection";
}

/// How often a blocked send looks whether its session was killed.
const SEND_CHECK: Duration = Duration::from_millis(500);

/// A client's socket; shared with whoever may kill the session.
pub struct Socket {
    fd: OwnedFd,
    /// Where it is counted; nowhere before there is a session.
    handle: OnceLock<SocketHandle>,
    woken: SharedAtomic<bool, { class::SESSION }>,
}

impl Socket {
    /// A connected socket.
    pub fn new(fd: OwnedFd) -> Arc<Self> {
        Arc::new(Self { fd, handle: OnceLock::new(), woken: SharedAtomic::new(false) })
    }

    /// It carries a session from now on.
    pub fn carries(&self, session: &Session, peer: &Peer) {
        let (ip, port) = match peer {
            Peer::Tcp(address) => (address.ip().to_string(), address.port()),
            Peer::Socket(_) => (String::new(), 0),
        };
        let (thread_id, descriptor) = (session.thread_id(), self.fd.as_raw_fd());
        let place = SocketPlace { thread_id, descriptor, ip, port };
        self.handle.get_or_init(|| SocketHandle::open(CLIENT.class(), place));
    }

    /// Where it is counted, while sockets are.
    #[inline(always)]
    fn counted(&self) -> Option<&SocketHandle> {
        if CLIENT.class().enabled() { self.handle.get() } else { None }
    }

    /// Receives what is there; none: the client has gone.
    #[inline(always)]
    pub fn receive(&self, into: &mut [u8]) -> Result<usize, Errno> {
        let recv = || recv(&self.fd, into, RecvFlags::DONTWAIT).map(|(n, _)| n);
        watched::on_socket(self.counted(), Operation::Receive, recv, |n| *n)
    }

    /// Sends everything, waiting up to `timeout_s` seconds for room.
    pub fn send_all(&self, mut bytes: &[u8], timeout_s: u64) -> io::Result<()> {
        let mut until = None;
        while !bytes.is_empty() {
            let send = || send(&self.fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            match watched::on_socket(self.counted(), Operation::Send, send, |n| *n) {
                Ok(n) => bytes = &bytes[n..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let end = *until
                        .get_or_insert_with(|| host::clock::now() + Duration::from_secs(timeout_s));
                    self.wait_for_room(end)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn wait_for_room(&self, until: Instant) -> io::Result<()> {
        if self.woken.load(Ordering::Relaxed) || host::clock::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = until.saturating_duration_since(host::clock::now()).min(SEND_CHECK);
        self.wait_within(PollFlags::OUT, left).map(drop)
    }

    /// As [`Self::wait`], in the middle of a command.
    fn wait_within(&self, what: PollFlags, left: Duration) -> io::Result<bool> {
        let wait = || self.wait(what, left);
        watched::on_socket(self.counted(), Operation::Select, wait, |_| 0)
    }

    /// Receives what is there, or comes until then.
    pub fn receive_until(&self, into: &mut [u8], until: Instant) -> io::Result<usize> {
        loop {
            match self.receive(into) {
                Ok(n) => return Ok(n),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let left = until.saturating_duration_since(host::clock::now());
                    if left.is_zero() || !self.wait(PollFlags::IN, left)? {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until the socket is ready or the time is over; false when it is over.
    pub fn wait(&self, what: PollFlags, left: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.fd, what)];
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(n) => Ok(n > 0),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the client has closed its end of the connection.
    fn is_lost(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::RDHUP)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n| n > 0)
    }
}

impl Wake for Socket {
    fn wake(&self) {
        self.woken.store(true, Ordering::Relaxed);
        // The reader sees the end of the stream; what is being written may still arrive.
        let _ = shutdown(&self.fd, Shutdown::Read);
    }

    fn cut(&self) {
        self.woken.store(true, Ordering::Relaxed);
        let _ = shutdown(&self.fd, Shutdown::Both);
    }
}

/// The way out, for results that are sent before their statement ends.
struct Out<'a, 's> {
    line: &'a mut Line<'s>,
    timeout_s: u64,
    read_timeout_s: u64,
}

impl Net for Out<'_, '_> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.line.send_all(bytes, self.timeout_s)
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.line.receive(into) {
                Ok(n) => return Ok(n),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let left = Duration::from_secs(self.read_timeout_s);
                    if !self.line.socket.wait_within(PollFlags::IN, left)? {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn next_frame(&self) -> Option<u8> {
        self.line.next_frame()
    }
}

/// Why a connection ended, when the client did not say goodbye.
enum Lost {
    Quit,
    Read,
    Tls,
    Write,
    Idle,
    Killed,
}

/// A session whose client is silent for so long gives memory back.
const RESTS_AFTER: Duration = Duration::from_secs(5);

/// Serves a client until it leaves. `session` has written its greeting.
/// `proxied`: a header of the PROXY protocol may come before its first packet.
pub fn serve(process: &Process, mut session: Box<Session>, socket: &Socket, proxied: bool) {
    session.runs_here();
    let (slots, slot) = session.place();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        // What comes in and goes out is the session's.
        let slot = slots.session(slot);
        let _entered = sync::enter(slot);
        let was_lost = Cell::new(false);
        let is_lost = || {
            was_lost.set(socket.is_lost());
            was_lost.get()
        };
        match sync::with_client(slot, &is_lost, || talk(&mut session, socket, proxied)) {
            // Nobody killed it.
            Lost::Killed if was_lost.get() => Lost::Read,
            lost => lost,
        }
    }));
    let id = session.id();
    match ended {
        Ok(lost) => report(process, &session, &lost),
        Err(_) => report_bug(process, id, "ended by a bug; it was rolled back, others go on"),
    }
    // Rolling back may meet the same bug again.
    if catch_unwind(AssertUnwindSafe(|| drop(session))).is_err() {
        report_bug(process, id, "could not be rolled back in the foreground");
    }
    // Perhaps there were many clients, and no more will come.
    host::lent_stack::trim();
}

#[cold]
#[inline(never)]
fn report_bug(process: &Process, id: u64, what: &str) {
    process.log.write(Severity::Error, "MY-010000", &format!("Connection {id} {what}."));
}

#[cold]
#[inline(never)]
fn report(process: &Process, session: &Session, lost: &Lost) {
    let why = match lost {
        Lost::Quit => return,
        Lost::Read | Lost::Tls => "Got an error reading communication packets",
        Lost::Write => "Got an error writing communication packets",
        Lost::Idle => "Got timeout reading communication packets",
        Lost::Killed => "KILL_CONNECTION",
    };
    let counter =
        if session.is_logged_in() { Counter::AbortedClients } else { Counter::AbortedConnects };
    session.count(counter);
    if !session.is_logged_in() {
        session.did_not_come(if let Lost::Tls = lost { Came::Ssl } else { Came::Handshake });
    }
    let text = format!("Aborted connection {} ({why}).", session.who());
    process.log.write(Severity::Note, "MY-010914", &text);
}

fn talk(session: &mut Session, socket: &Socket, proxied: bool) -> Lost {
    let login_until = host::clock::now() + Duration::from_secs(session.timeout_s());
    let mut line = Line::new(socket, login_until);
    let header = if proxied { take_header(session, &mut line) } else { Ok(false) };
    let lost = header.map_or_else(|lost| lost, |more| converse(session, &mut line, more));
    line.close();
    lost
}

/// Greets, and takes what a proxy says of the client, if it says anything; whether something of the client has come with it.
#[cold]
#[inline(never)]
fn take_header(session: &mut Session, line: &mut Line<'_>) -> Result<bool, Lost> {
    answer(session, line)?;
    let mut bytes = Vec::new();
    loop {
        match proxy::first(&bytes) {
            First::Packet => break,
            First::Header(len, client) => {
                bytes.drain(..len);
                if client.is_some_and(|client| !session.comes_from(Peer::Tcp(client))) {
                    let _ = line.send_all(session.outgoing(), 1);
                    return Err(Lost::Quit);
                }
                break;
            }
            First::Malformed => {
                session.refuse_header();
                let _ = line.send_all(session.outgoing(), 1);
                return Err(Lost::Quit);
            }
            First::More => {
                let mut more = [0; 256];
                match line.socket.receive_until(&mut more, line.login_until) {
                    Ok(0) | Err(_) => return Err(Lost::Read),
                    Ok(n) => bytes.extend_from_slice(&more[..n]),
                }
            }
        }
    }
    let space = session.space();
    let n = bytes.len().min(space.len());
    space[..n].copy_from_slice(&bytes[..n]);
    session.received(n);
    Ok(n > 0)
}

/// Sends what there is to be sent.
#[inline]
fn answer(session: &mut Session, line: &mut Line<'_>) -> Result<(), Lost> {
    if !session.outgoing().is_empty() {
        if line.send_all(session.outgoing(), session.write_timeout_s()).is_err() {
            return Err(Lost::Write);
        }
        session.sent();
    }
    Ok(())
}

/// `more`: something has come that nobody has looked at.
fn converse(session: &mut Session, line: &mut Line<'_>, mut more: bool) -> Lost {
    loop {
        if let Err(lost) = answer(session, line) {
            return lost;
        }
        if !std::mem::take(&mut more)
            && let Err(lost) = receive(session, line)
        {
            return lost;
        }
        let (timeout_s, read_timeout_s) = (session.write_timeout_s(), session.read_timeout_s());
        let mut out = Out { line: &mut *line, timeout_s, read_timeout_s };
        // What it writes to a stack is in this core's cache from the session before.
        match host::lent_stack::work(|| session.step(&mut out)) {
            Next::Continue => {}
            Next::Secure => {
                if line.secure(session).is_err() {
                    return Lost::Tls;
                }
            }
            Next::Compress(algorithm) => {
                if answer(session, line).is_err() {
                    return Lost::Write;
                }
                line.compress(algorithm, session.take_rest());
            }
            Next::Close => {
                let sent = line.send_all(session.outgoing(), session.write_timeout_s());
                session.sent();
                return match sent {
                    _ if session.is_killed() => Lost::Killed,
                    Ok(()) => Lost::Quit,
                    Err(_) => Lost::Write,
                };
            }
        }
    }
}

/// What comes next goes to the session.
#[inline]
fn receive(session: &mut Session, line: &mut Line<'_>) -> Result<(), Lost> {
    match read(session, line) {
        Ok(0) if session.is_killed() => Err(Lost::Killed),
        Ok(0) => Err(Lost::Read),
        Ok(n) => {
            session.received(n);
            if let Some(next) = line.next_frame() {
                session.follow_frame(next);
            }
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            session.refuse_idle();
            let _ = line.send_all(session.outgoing(), 1);
            Err(Lost::Idle)
        }
        Err(_) => {
            if let Some(why) = line.broken() {
                session.refuse_frames(why);
                let _ = line.send_all(session.outgoing(), 1);
            }
            Err(Lost::Read)
        }
    }
}

/// Waits for a client that has been silent, and keeps little meanwhile; false when the time is over.
#[cold]
#[inline(never)]
fn sleep(session: &mut Session, line: &mut Line<'_>, left: Duration) -> io::Result<bool> {
    session.rest();
    line.rest();
    host::lent_stack::trim();
    host::rest::rest();
    let came = line.socket.wait(PollFlags::IN, left);
    host::rest::wake();
    came
}

/// Reads what is there; waits only when nothing is. `TimedOut` when nothing came in time.
fn read(session: &mut Session, line: &mut Line<'_>) -> io::Result<usize> {
    loop {
        match line.receive(session.space()) {
            Ok(n) => return Ok(n),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if !session.is_logged_in() => wait_for_login(line)?,
            Err(Errno::AGAIN) => {
                let whole = Duration::from_secs(session.timeout_s());
                let first = whole.min(RESTS_AFTER);
                if !line.socket.wait(PollFlags::IN, first)?
                    && (first == whole || !sleep(session, line, whole - first)?)
                {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for a client that has to say who it is: it has one time for that, however slowly it sends.
#[cold]
fn wait_for_login(line: &Line<'_>) -> io::Result<()> {
    let left = line.login_until.saturating_duration_since(host::clock::now());
    match !left.is_zero() && line.socket.wait(PollFlags::IN, left)? {
        true => Ok(()),
        false => Err(io::ErrorKind::TimedOut.into()),
    }
}
