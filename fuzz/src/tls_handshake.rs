//! A client that has asked for TLS: any bytes where its handshake is expected, or in the midst of one.
//!
//! 1. Before a handshake ends, a client sends so much and no more: what is kept of it is bounded. 2. No byte that a client did not
//! encrypt comes through to the session, and none before the handshake has ended. 3. Keys are others each time, so an input that
//! fails may have to be run again.

use super::login::{Nobody, new_server};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, version};
use session::{Next, Peer, Server, Session};
use std::io::Write;
use std::sync::{Arc, OnceLock};
use tls::{Channel, Context, Progress, Settings, certificates};

/// The packet that asks for TLS: capabilities and nothing else.
const REQUEST: [u8; 36] = {
    let mut packet = [0; 36];
    (packet[0], packet[3]) = (32, 1);
    packet[5] = 0x8A;
    packet
};

/// Bytes that a handshake is made of at most.
const HANDSHAKE_BYTES_MAX: usize = 1 << 18;
/// Bytes that one input becomes by being repeated.
const SENT_BYTES_MAX: usize = 1 << 19;

/// A server that offers TLS, and clients of TLS 1.3 and 1.2 that trust it.
struct Both {
    server: Arc<Server>,
    clients: [Arc<ClientConfig>; 2],
}

fn both() -> &'static Both {
    static BOTH: OnceLock<Both> = OnceLock::new();
    BOTH.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("limpid-fuzz-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let names = ["localhost".to_string()];
        certificates::make_files(&folder, "8.4.0", &names).expect("certificates");
        let settings = Settings {
            ca: Some(folder.join(certificates::CA)),
            cert: folder.join(certificates::SERVER_CERT),
            key: folder.join(certificates::SERVER_KEY),
            versions: "TLSv1.2,TLSv1.3".into(),
            ..Settings::default()
        };
        let context = Context::load(&settings).expect("certificates").expect("versions");
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(folder.join(certificates::CA)).expect("one");
        roots.add(authority).expect("an authority");
        let _ = std::fs::remove_dir_all(&folder);
        let client = |version| {
            let builder = ClientConfig::builder_with_protocol_versions(&[version]);
            Arc::new(builder.with_root_certificates(roots.clone()).with_no_client_auth())
        };
        let server = new_server();
        server.tls.offer(Some(context));
        Both { server, clients: [client(&version::TLS13), client(&version::TLS12)] }
    })
}

/// What the server has of a connection whose client asked for TLS.
struct Edge {
    session: Session,
    channel: Channel,
    /// Bytes of the handshake.
    taken: usize,
    /// Clear bytes that came through.
    clear: usize,
    open: bool,
}

impl Edge {
    /// The client sent `early` with its request.
    fn new(early: &[u8]) -> (Edge, Vec<u8>) {
        let peer = Peer::Tcp("203.0.113.7:4000".parse().expect("an address"));
        let session = Session::new(&both().server, peer, Arc::new(Nobody));
        let mut session = session.expect("a connection is taken");
        session.sent();
        let sent = [&REQUEST, early].concat();
        let space = session.space();
        assert!(space.len() >= sent.len(), "what comes with the greeting's answer has room");
        space[..sent.len()].copy_from_slice(&sent);
        session.received(sent.len());
        assert!(session.step(&mut Nobody) == Next::Secure, "the request is understood");
        let (context, came) = session.secure().expect("what was offered");
        assert_eq!(came, early);
        let channel = Channel::new(&context).expect("randomness");
        (Edge { session, channel, taken: 0, clear: 0, open: false }, came)
    }

    /// Takes what the client sends: the answer; none: the connection is over.
    fn take(&mut self, mut sent: &[u8]) -> Option<Vec<u8>> {
        let mut answer = Vec::new();
        while !sent.is_empty() {
            let before = sent.len();
            let progress = self.channel.read_from(&mut sent);
            answer.extend(self.channel.take().expect("memory takes everything"));
            let progress = progress.ok()??;
            if !self.open {
                self.taken += before - sent.len();
                assert!(self.taken <= HANDSHAKE_BYTES_MAX, "a handshake without an end");
                if progress == Progress::Open {
                    self.session.secured(self.channel.secured().expect("a version and a cipher"));
                    self.open = true;
                }
            }
            self.hand_on(&mut answer)?;
        }
        Some(answer)
    }

    /// Gives the session what is clear.
    fn hand_on(&mut self, answer: &mut Vec<u8>) -> Option<()> {
        let mut room = [0; 500];
        while let n @ 1.. = self.channel.clear(&mut room).ok()?? {
            assert!(self.open, "before the handshake has ended");
            self.clear += n;
            self.session.space()[..n].copy_from_slice(&room[..n]);
            self.session.received(n);
            let next = self.session.step(&mut Nobody);
            let send = |bytes: &[u8]| {
                answer.extend_from_slice(bytes);
                Ok(())
            };
            self.channel.write(self.session.outgoing(), send).expect("memory takes everything");
            self.session.sent();
            assert!(!self.session.is_logged_in(), "nobody has an account there");
            if next != Next::Continue {
                return None;
            }
        }
        Some(())
    }
}

/// Carries bytes both ways until neither side has any; `change` is between them. None: the connection is over.
fn carry(
    edge: &mut Edge,
    client: &mut ClientConnection,
    step: usize,
    mut change: impl FnMut(&mut Vec<u8>),
) -> Option<()> {
    loop {
        let mut sent = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut sent).ok()?;
        }
        change(&mut sent);
        if sent.is_empty() {
            return Some(());
        }
        for piece in sent.chunks(step) {
            let answer = edge.take(piece)?;
            let mut answer = &answer[..];
            while !answer.is_empty() {
                client.read_tls(&mut answer).ok()?;
                client.process_new_packets().ok()?;
            }
        }
    }
}

fn client(how: u8) -> ClientConnection {
    let name = ServerName::try_from("localhost").expect("a name");
    let config = &both().clients[usize::from(how >> 2 & 1)];
    ClientConnection::new(Arc::clone(config), name).expect("a client")
}

/// The first byte says in which pieces bytes come, the second what they are.
pub fn tls_handshake(bytes: &[u8]) {
    let [step, how, rest @ ..] = bytes else { return };
    let step = usize::from(*step).max(1);
    let times = (1 << (how >> 4)).min(SENT_BYTES_MAX / rest.len().max(1)).max(1);
    match how & 3 {
        0 => in_its_place(&rest.repeat(times), step, how & 8 != 0),
        1 => behind_it(&rest.repeat(times), step, client(*how)),
        2 => changed(rest, step, client(*how)),
        _ => by_the_rules(&rest.repeat(times.min(64)), step, client(*how)),
    }
}

/// In the place of a handshake; `early`: the first of them come with the request.
fn in_its_place(sent: &[u8], step: usize, early: bool) {
    let (first, later) = sent.split_at(if early { step.min(sent.len()) } else { 0 });
    let (mut edge, came) = Edge::new(first);
    let mut pieces = std::iter::once(&came[..]).chain(later.chunks(step));
    let _ = pieces.try_for_each(|piece| edge.take(piece).map(drop));
    assert!(!edge.open, "nobody knows the keys");
}

/// Behind a handshake, by somebody who has not its keys.
fn behind_it(sent: &[u8], step: usize, mut client: ClientConnection) {
    let (mut edge, _) = Edge::new(b"");
    carry(&mut edge, &mut client, step, |_| {}).expect("a handshake");
    assert!(edge.open && !client.is_handshaking());
    let _ = sent.chunks(step).try_for_each(|piece| edge.take(piece).map(drop));
    assert_eq!(edge.clear, 0, "not the client's");
}

/// In a client's handshake, whose bytes are changed: three for each, where (of those that it sends in all) and by what.
fn changed(changes: &[u8], step: usize, mut client: ClientConnection) {
    let (mut edge, _) = Edge::new(b"");
    let mut passed = 0;
    let change = |sent: &mut Vec<u8>| {
        for change in changes.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
            if let Some(byte) = at.checked_sub(passed).and_then(|at| sent.get_mut(at)) {
                *byte ^= change[2];
            }
        }
        passed += sent.len();
    };
    let done = carry(&mut edge, &mut client, step, change);
    // A client may have done its part and the server wait, for the rest of a record that says it is longer.
    assert!(done.is_none() || !edge.open || !client.is_handshaking(), "open for whom?");
    assert_eq!(edge.clear, 0, "nothing was said");
}

/// What a client does that keeps to the protocol, one byte each: words, other keys, a goodbye, or a bit that is lost on the way.
fn by_the_rules(acts: &[u8], step: usize, mut client: ClientConnection) {
    let (mut edge, _) = Edge::new(b"");
    carry(&mut edge, &mut client, step, |_| {}).expect("a handshake");
    let mut said = 0;
    for act in acts {
        let mut lost = 0;
        match act & 3 {
            0 => {
                said += client
                    .writer()
                    .write(&acts[..usize::from(act >> 2).min(acts.len())])
                    .unwrap_or(0)
            }
            1 => drop(client.refresh_traffic_keys()),
            2 => client.send_close_notify(),
            _ => lost = act >> 2 | 1,
        }
        let change = |sent: &mut Vec<u8>| {
            if let Some(byte) = sent.last_mut() {
                *byte ^= lost;
            }
        };
        if carry(&mut edge, &mut client, step, change).is_none() {
            break;
        }
        assert!(edge.clear <= said, "more than was said");
    }
}
