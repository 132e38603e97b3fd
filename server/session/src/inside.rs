//! Sessions that the server has with itself: what it shows on its own pages comes by SQL, as any reader's.
//!
//! 1. Packets go in and come out as a client's do, so statements are run, counted and ended as a client's are. 2. A login is
//! a login: everything that refuses a client of MySQL's protocol refuses this one. 3. The session of the server's own is
//! counted among those of administrators, never against `max_connections`; its thread is not instrumented, so what it
//! reads does not hold its own reading.

use crate::login::Peer;
use crate::net::{Net, NoClient};
use crate::server::Server;
use crate::session::{Next, Session};
use access::Account;
use catalog::Catalog;
use client::{Client, Failure, Login, Secrecy};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use wire::auth::Plugin;

/// Whether somebody comes in as root without being asked for anything.
pub fn root_is_open(catalog: &Catalog) -> bool {
    let asks = |account: &Account| Plugin::from_name(&account.plugin) == Some(Plugin::Socket);
    let accounts = catalog.accounts();
    accounts.all().iter().any(|a| a.name.user == "root" && a.secret.is_empty() && !asks(a))
}

impl Server {
    /// Whether nobody has to say who he is: root has no password, or the grant tables are skipped.
    pub fn asks_nobody(&self) -> bool {
        self.skips_grants() || root_is_open(&self.catalog)
    }
}

/// A client of this process.
pub type Inside = Client<Steps>;

/// A session without a socket, as a stream: each write steps it, and what came out is read.
pub struct Steps {
    session: Session,
    came: Collected,
    /// What of that was read.
    read_bytes: usize,
    is_over: bool,
}

/// Takes what a statement sends before its end.
#[derive(Default)]
struct Collected(Vec<u8>);

impl Net for Collected {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// A session of the server's own under a name of its own, as who may do everything. It is in no log of statements.
///
/// # Errors
/// There is no room for a session.
pub fn unlimited(server: &Arc<Server>, name: &str) -> Result<Inside, Failure> {
    let mut steps = Steps::of(Session::at(server, Peer::Socket(None), Arc::new(NoClient), true))?;
    // It is somebody already: nobody reads the greeting.
    steps.session.sent();
    steps.session.is_the_server_s(name);
    let mut inside = Client::at(steps);
    // What reads a second by a second would fill the logs.
    inside.run("SET SESSION sql_log_off = ON, long_query_time = 31536000")?;
    Ok(inside)
}

/// Logs in as a client from this address would that names this user and knows this password.
///
/// # Errors
/// What the client would be told.
pub fn log_in(
    server: &Arc<Server>,
    from: SocketAddr,
    user: &str,
    password: &str,
) -> Result<Inside, Failure> {
    let mut steps = Steps::of(Session::new(server, Peer::Tcp(from), Arc::new(NoClient)))?;
    steps.collect();
    Client::over(steps, &Login { user, password, secrecy: Secrecy::Clear })
}

impl Steps {
    fn of(session: Result<Session, crate::session::Refused>) -> Result<Steps, Failure> {
        let mut session =
            session.map_err(|refused| Failure::of(refused.0.get(4..).unwrap_or_default()))?;
        session.runs_here();
        Ok(Steps { session, came: Collected::default(), read_bytes: 0, is_over: false })
    }

    /// Whether it may see what everybody does: PROCESS, and SELECT on `performance_schema`.
    pub fn may_watch(&self) -> bool {
        self.session.may_watch()
    }

    fn collect(&mut self) {
        self.came.0.extend_from_slice(self.session.outgoing());
        self.session.sent();
    }
}

impl Write for Steps {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let space = self.session.space();
        let n = bytes.len().min(space.len());
        space[..n].copy_from_slice(&bytes[..n]);
        self.session.received(n);
        let next = self.session.step(&mut self.came);
        self.collect();
        self.is_over = next != Next::Continue;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Steps {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut rest = &self.came.0[self.read_bytes..];
        let n = rest.read(into)?;
        self.read_bytes += n;
        if self.read_bytes == self.came.0.len() {
            // The buffer serves the next statement, too.
            self.came.0.clear();
            self.read_bytes = 0;
        }
        Ok(n)
    }
}
