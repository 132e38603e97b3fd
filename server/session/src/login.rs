//! How a connection proves who it is: handshake, plugin switch, fast and full authentication.
//!
//! States: `Response` (the greeting was sent) -> [`Switched` ->] [`Full` -> `Encrypted`] -> done. Each
//! packet moves one step; a wrong one ends the connection. COM_CHANGE_USER enters at the second step.
//!
//! 1. A wrong user and a wrong password look alike.
//! 2. Full authentication takes the password in clear over TLS, over the Unix socket and over loopback, which nobody
//!    else can listen to (MariaDB's client library sends it so); over any other TCP connection it must be
//!    encrypted with the server's public key.
//! 3. `auth_socket` asks the system, not the client, who has the client's process: nobody comes in so who is not at the Unix
//!    socket itself (a proxy's header makes a client one of TCP). With the client a plugin of passwords is spoken meanwhile, whose
//!    answer does not count.
//! 4. A client that asks for TLS does so before it says anything of itself, once; [`Session`](crate::Session) sees to that.

use crate::errors::SessionError;
use crate::server::Server;
use access::{Account, Client};
use executor::SqlError;
use std::net::IpAddr;
use std::sync::Arc;
use wire::Outbox;
use wire::auth::{self, CachedDigest, Plugin};
use wire::constants::Capabilities;
use wire::handshake::{self, SCRAMBLE_BYTES, Scramble};

/// Where a client comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// The Unix socket; the number of the user whose process the client is, as the system tells it.
    Socket(Option<u32>),
    /// TCP, from this address.
    Tcp(std::net::SocketAddr),
}

impl Peer {
    /// Whether it is on this machine's socket.
    pub fn is_socket(&self) -> bool {
        matches!(self, Peer::Socket(_))
    }

    /// Host as accounts name it; loopback is `localhost`, as a MySQL server that resolves names says.
    pub fn host(&self) -> String {
        match self {
            Peer::Socket(_) => "localhost".into(),
            Peer::Tcp(a) if a.ip().is_loopback() => "localhost".into(),
            Peer::Tcp(a) => a.ip().to_string(),
        }
    }

    /// The number of the user whose process it is, where the system knows that.
    pub fn owner(&self) -> Option<u32> {
        match self {
            Peer::Socket(uid) => *uid,
            Peer::Tcp(_) => None,
        }
    }

    /// Its address; none of the Unix socket.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Peer::Socket(_) => None,
            Peer::Tcp(a) => Some(a.ip()),
        }
    }

    /// Whether the client is on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Peer::Socket(_) => true,
            Peer::Tcp(a) => a.ip().is_loopback(),
        }
    }

    /// Host and port as the process list shows it.
    pub fn shown(&self) -> String {
        match self {
            Peer::Socket(_) => "localhost".into(),
            Peer::Tcp(a) => format!("{}:{}", self.host(), a.port()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Response,
    Switched,
    Full,
    Encrypted,
}

/// What a step of a login came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// Wait for the client's next packet.
    More,
    /// The client is who it says.
    Done,
}

/// A login that is going on.
#[derive(Debug)]
pub struct Login {
    state: State,
    scramble: Scramble,
    plugin: Plugin,
    secure: bool,
    /// User name as given.
    pub user: String,
    /// Schema to use.
    pub schema: Option<String>,
    /// Collation number of the connection.
    pub collation: u16,
    /// Account that was matched.
    pub account: Option<Arc<Account>>,
    /// The client gave a password.
    pub used_password: bool,
    /// What the client says of itself: names and values, see [`attributes_of`].
    pub attributes: Vec<(String, String)>,
    /// The level of zstd that the client asks for.
    pub zstd_level: Option<u8>,
    /// The system's name of the user that `auth_socket` let in.
    pub external_user: String,
    host: String,
    address: Option<IpAddr>,
    owner: Option<u32>,
}

/// The plugin the greeting names.
pub const DEFAULT_PLUGIN: Plugin = Plugin::CachingSha2;

/// The first of a client's attributes for which there is room; what is lost is counted in an attribute of its own, if there is room at
/// all.
fn attributes_of(sent: &[handshake::Attribute<'_>]) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // Each has its length before it.
    let size = |(name, value): &handshake::Attribute<'_>| name.len() + value.len() + 2;
    let bytes_max = instrument::attributes_sent(sent.iter().map(size).sum());
    let (mut kept, mut bytes, mut lost) = (Vec::new(), 0, 0);
    for attribute in sent {
        let ((name, value), size) = (attribute, size(attribute));
        match lost == 0 && bytes + size <= bytes_max && name.len() <= 32 {
            true => {
                bytes += size;
                kept.push((text(name), text(value)));
            }
            false => lost += size,
        }
    }
    if lost > 0 && bytes_max > 0 {
        kept.push(("_truncated".into(), lost.to_string()));
    }
    kept
}

/// A fresh challenge; none when the system has no randomness.
pub fn new_scramble() -> Option<Scramble> {
    let mut random = [0; SCRAMBLE_BYTES];
    tls::random(&mut random).then(|| handshake::scramble_of(random))
}

impl Login {
    /// A login whose greeting carried `scramble`.
    pub fn new(scramble: Scramble, peer: &Peer) -> Self {
        Self {
            state: State::Response,
            scramble,
            plugin: DEFAULT_PLUGIN,
            secure: peer.is_local(),
            user: String::new(),
            schema: None,
            collation: wire::constants::COLLATION_0900_AI_CI,
            account: None,
            used_password: false,
            attributes: Vec::new(),
            zstd_level: None,
            external_user: String::new(),
            host: peer.host(),
            address: peer.address(),
            owner: peer.owner(),
        }
    }

    /// Nobody else can listen: a password may come in clear.
    pub fn is_secured(&mut self) {
        self.secure = true;
    }

    /// Whether somebody else may listen.
    pub fn is_open(&mut self, open: bool) {
        self.secure = !open;
    }

    /// Whether nothing has come of the client yet.
    pub fn is_new(&self) -> bool {
        self.state == State::Response
    }

    /// The challenge that was answered.
    pub fn scramble(&self) -> &Scramble {
        &self.scramble
    }

    /// The next packet answers a switch of plugins: there was no greeting.
    pub fn expect_switch(&mut self) {
        self.state = State::Switched;
    }

    /// Takes a packet of the client; `caps` is set by the first.
    pub fn step(
        &mut self,
        packet: &[u8],
        caps: &mut Capabilities,
        server: &Server,
        out: &mut Outbox,
    ) -> Result<Progress, SqlError> {
        match self.state {
            State::Response => {
                let r = handshake::response(packet).map_err(|_| SessionError::BadHandshake)?;
                *caps = r.caps;
                let sent =
                    handshake::attributes(r.attributes).map_err(|_| SessionError::BadHandshake)?;
                self.attributes = attributes_of(&sent);
                self.zstd_level = r.zstd_level;
                let collation = u16::from(r.collation);
                self.begin(r.user, r.schema, collation, r.plugin, r.auth, server, out)
            }
            State::Switched => self.check(packet, server, out),
            State::Full if packet == [auth::KEY_REQUEST] => {
                let key = server.keys.public_pem().map_err(|error| {
                    SqlError::from(SessionError::Internal(&format!("no key pair: {error}")))
                })?;
                handshake::auth_more_data(out, key.as_bytes());
                self.state = State::Encrypted;
                Ok(Progress::More)
            }
            State::Full if self.secure => self.full(Some(packet), server),
            State::Full => Err(self.denied(true)),
            State::Encrypted => {
                let clear = server.keys.decrypt(packet, &self.scramble);
                self.full(clear.as_ref().map(|clear| &clear[..]), server)
            }
        }
    }

    /// Takes the body of COM_CHANGE_USER. Clients answer the last challenge that they saw, whichever that was, or nothing, and
    /// wait for one: as by MySQL, who knows plugins is told to switch, with a fresh challenge.
    pub fn change_user(
        &mut self,
        body: &[u8],
        caps: Capabilities,
        server: &Server,
        out: &mut Outbox,
    ) -> Result<Progress, SqlError> {
        let c = handshake::change_user(body, caps).map_err(|_| SessionError::MalformedPacket)?;
        let collation = c.collation.unwrap_or(self.collation);
        self.account = None;
        if let Ok(sent) = handshake::attributes(c.attributes) {
            self.attributes = attributes_of(&sent);
        }
        let plugin = c.plugin.map(|_| &b""[..]);
        self.begin(c.user, c.schema, collation, plugin, c.auth, server, out)
    }

    #[allow(clippy::too_many_arguments)] // The fields of one packet.
    fn begin(
        &mut self,
        user: &[u8],
        schema: Option<&[u8]>,
        collation: u16,
        plugin: Option<&[u8]>,
        answer: &[u8],
        server: &Server,
        out: &mut Outbox,
    ) -> Result<Progress, SqlError> {
        self.user = String::from_utf8_lossy(user).into_owned();
        self.schema = schema.map(|s| String::from_utf8_lossy(s).into_owned());
        self.collation = collation;
        let client = Client { host: &self.host, address: self.address };
        self.account = server.catalog.accounts().of_client(&self.user, client).cloned();
        if server.skips_grants() {
            return Ok(Progress::Done);
        }
        self.plugin = match &self.account {
            None => DEFAULT_PLUGIN,
            Some(account) => server
                .plugin(&account.plugin)
                .ok_or_else(|| SqlError::from(SessionError::UnknownPlugin(&account.plugin)))?,
        };
        let spoken = plugin.map_or(Plugin::Native.name().as_bytes(), |p| p);
        if self.plugin == Plugin::Socket {
            return self.by_owner(spoken, answer, server, out);
        }
        // Any other plugin is told to switch, even where an empty answer would do: a client that is
        // still loading its plugin names a stand-in which waits for the switch.
        if spoken == self.plugin.name().as_bytes() {
            return self.check(answer, server, out);
        }
        self.switch_to(self.plugin, out)
    }

    fn switch_to(&mut self, plugin: Plugin, out: &mut Outbox) -> Result<Progress, SqlError> {
        self.scramble = new_scramble().ok_or_else(|| {
            SqlError::from(SessionError::Internal("no randomness for a challenge"))
        })?;
        handshake::auth_switch(out, plugin.name(), &self.scramble);
        self.state = State::Switched;
        Ok(Progress::More)
    }

    fn check(
        &mut self,
        answer: &[u8],
        server: &Server,
        out: &mut Outbox,
    ) -> Result<Progress, SqlError> {
        if self.plugin == Plugin::Socket {
            return self.owner_comes_in(answer, server, out);
        }
        self.used_password = !is_empty_answer(answer);
        let known = self.account.as_deref();
        let open = known.is_some_and(|account| account.secret.is_empty());
        if open || !self.used_password {
            return self.end(server, open && !self.used_password);
        }
        match (self.plugin, known) {
            (Plugin::Socket | Plugin::Native, account) => {
                let right = |secret: &[u8]| {
                    auth::check_native(&String::from_utf8_lossy(secret), &self.scramble, answer)
                };
                let right = account.is_some_and(|account| account.secrets().any(right));
                self.end(server, right)
            }
            (Plugin::CachingSha2, account) => {
                let digests = account.map(|account| server.logins.digests(account));
                let fits = |d: &CachedDigest| auth::check_fast(d, &self.scramble, answer);
                if digests.is_some_and(|digests| digests.iter().any(fits)) {
                    handshake::auth_more_data(out, &[auth::FAST_OK]);
                    return self.end(server, true);
                }
                // Of a user who is not there, too.
                handshake::auth_more_data(out, &[auth::FULL_NEEDED]);
                self.state = State::Full;
                Ok(Progress::More)
            }
        }
    }

    /// The client's process has to be its user's, or that of the user whom `AS` names.
    fn by_owner(
        &mut self,
        spoken: &[u8],
        answer: &[u8],
        server: &Server,
        out: &mut Outbox,
    ) -> Result<Progress, SqlError> {
        self.used_password = false;
        self.external_user =
            self.owner.and_then(|uid| server.host.user_name(uid)).unwrap_or_default();
        let named = self.account.as_ref().map_or(&b""[..], |account| &account.secret);
        let owner = &self.external_user;
        let right = !owner.is_empty() && (*owner == self.user || owner.as_bytes() == named);
        match Plugin::from_name(&String::from_utf8_lossy(spoken)) {
            _ if !right => self.end(server, false),
            Some(Plugin::CachingSha2) => self.owner_comes_in(answer, server, out),
            // As for passwords: it may wait for the switch.
            Some(Plugin::Native) => self.switch_to(Plugin::Native, out),
            _ => self.switch_to(DEFAULT_PLUGIN, out),
        }
    }

    /// What the client says of a password does not count, but who said something waits to be told that it was right.
    fn owner_comes_in(
        &self,
        answer: &[u8],
        server: &Server,
        out: &mut Outbox,
    ) -> Result<Progress, SqlError> {
        if answer.len() == size_of::<CachedDigest>() {
            handshake::auth_more_data(out, &[auth::FAST_OK]);
        }
        self.end(server, true)
    }

    fn full(&self, clear: Option<&[u8]>, server: &Server) -> Result<Progress, SqlError> {
        let password = clear.and_then(auth::clear_password).ok_or_else(|| self.denied(true))?;
        let Some(account) = self.account.as_deref() else { return Err(self.denied(true)) };
        let right = |secret: &&[u8]| auth::check_full(&String::from_utf8_lossy(secret), password);
        let found = account.secrets().find(right);
        if let Some(secret) = found {
            server.logins.keep_digest(account, secret, auth::cached_digest(password));
        }
        self.end(server, found.is_some())
    }

    /// The client has proved who it is, or not.
    fn end(&self, server: &Server, right: bool) -> Result<Progress, SqlError> {
        if let Some(account) = &self.account {
            server.logins.note(account, right, &self.host)?;
        }
        if right { Ok(Progress::Done) } else { Err(self.denied(self.used_password)) }
    }

    fn denied(&self, used_password: bool) -> SqlError {
        if self.plugin == Plugin::Socket {
            let who = format!("'{}'@'{}'", self.user, self.host);
            return SessionError::Denied(&who).into();
        }
        SqlError::from(SessionError::AccessDenied(
            &self.user,
            &self.host,
            if used_password { "YES" } else { "NO" },
        ))
    }
}

fn is_empty_answer(answer: &[u8]) -> bool {
    // caching_sha2_password answers an empty password by one zero byte.
    answer.is_empty() || answer == [0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_localhost() {
        assert_eq!(Peer::Socket(None).host(), "localhost");
        let tcp = |a: &str| Peer::Tcp(a.parse().unwrap());
        assert_eq!(tcp("127.0.0.1:5").shown(), "localhost:5");
        assert_eq!(tcp("[::1]:5").host(), "localhost");
        assert_eq!(tcp("10.0.0.7:5").host(), "10.0.0.7");
    }
}
