//! Sessions over an engine on a simulated disk, spoken to in packets as a client would.

use crate::server::Server;
use crate::variables::{self, Assign, Globals};
use crate::{Host, Net, Next, Peer, Session, Severity, Wake};
use catalog::Catalog;
use engine::{Engine, EngineConfig};
use host::SimDisk;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use wire::auth::{self, Plugin};
use wire::constants::Capabilities;
use wire::handshake::Scramble;

struct Nobody;

impl Host for Nobody {
    fn shutdown(&self, _by: &str) {}
    fn log(&self, _severity: Severity, _text: &str) {}
    fn user_name(&self, uid: u32) -> Option<String> {
        Some(if uid == 7 { "owner" } else { "somebody" }.to_string())
    }
}

impl Wake for Nobody {
    fn wake(&self) {}
    fn cut(&self) {}
}

/// Takes what is sent in the middle of a result.
#[derive(Default)]
struct Sent {
    bytes: Vec<u8>,
    refuses: bool,
}

impl Net for Sent {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.refuses {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

fn server() -> Arc<Server> {
    server_on(SimDisk::new(1))
}

fn config() -> EngineConfig {
    EngineConfig {
        pool_bytes: 8 << 20,
        log_ring_bytes: 1 << 20,
        redo_capacity_bytes: 16 << 20,
        sessions_max: 64,
        workers_max: 64,
        trx_states: 1 << 12,
        system_tables: catalog::system_tables(),
        ..EngineConfig::default()
    }
}

fn server_on(disk: Arc<SimDisk>) -> Arc<Server> {
    server_with(config(), disk)
}

fn server_with(config: EngineConfig, disk: Arc<SimDisk>) -> Arc<Server> {
    let (engine, _) = Engine::open(config, disk).expect("engine");
    let mdl = Arc::new(mdl::Mdl::new(Arc::clone(engine.slots())));
    let catalog = Catalog::open(engine, mdl).expect("catalog");
    let globals = Globals::new(&[], BTreeMap::new(), None);
    Server::new(catalog, globals, Arc::new(Nobody))
}

fn set_password(server: &Server, user: &str, plugin: Plugin, password: &[u8]) {
    set_password_at(server, user, "localhost", plugin, password);
}

fn set_password_at(server: &Server, user: &str, host: &str, plugin: Plugin, password: &[u8]) {
    let secret = plugin.store(password, &[b's'; 20]).into_bytes();
    let name = access::AccountName::new(user, host);
    let mut account = access::Account { secret, ..catalog::all_mighty(name, plugin.name()) };
    if user != "root" {
        // What the server is about is root's.
        account.grants.global = access::Privileges::OF_SCHEMA;
        account.grants.dynamic.clear();
    }
    let mut client = server.engine.client().expect("client");
    server.catalog.change_accounts(&mut client, &[account], &[]).expect("account");
}

/// What clients can that send nothing before their statements and want all of a result.
const PLAIN: Capabilities = wire::constants::SERVER_CAPABILITIES
    .without(Capabilities::QUERY_ATTRIBUTES)
    .without(Capabilities::OPTIONAL_RESULTSET_METADATA);

/// A client that speaks packets.
struct Client {
    session: Session,
    scramble: Scramble,
    seq: u8,
    /// The session asked to be closed.
    closed: bool,
}

fn tcp() -> Peer {
    Peer::Tcp("127.0.0.1:4000".parse().expect("address"))
}

impl Client {
    fn knock(server: &Arc<Server>, peer: Peer) -> Client {
        let Ok(session) = Session::new(server, peer, Arc::new(Nobody)) else {
            panic!("not let in");
        };
        let mut client = Client { session, scramble: [0; 20], seq: 0, closed: false };
        let greeting = client.replies().remove(0);
        let after_version = greeting.iter().position(|&b| b == 0).expect("version") + 1;
        client.scramble[..8].copy_from_slice(&greeting[after_version + 4..after_version + 12]);
        let rest = after_version + 4 + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 10;
        client.scramble[8..].copy_from_slice(&greeting[rest..rest + 12]);
        client
    }

    /// The packets the session has written.
    fn replies(&mut self) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        let mut bytes = self.session.outgoing();
        while let [a, b, c, seq, rest @ ..] = bytes {
            let len = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            self.seq = seq.wrapping_add(1);
            packets.push(rest[..len].to_vec());
            bytes = &rest[len..];
        }
        self.session.sent();
        packets
    }

    fn raw(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.raw_over(bytes, &mut Sent::default())
    }

    fn raw_over(&mut self, mut bytes: &[u8], net: &mut dyn Net) -> Vec<Vec<u8>> {
        while !bytes.is_empty() {
            let space = self.session.space();
            let n = space.len().min(bytes.len());
            space[..n].copy_from_slice(&bytes[..n]);
            self.session.received(n);
            bytes = &bytes[n..];
        }
        self.closed = self.session.step(net) == Next::Close;
        self.replies()
    }

    fn packet(&mut self, payload: &[u8]) -> Vec<Vec<u8>> {
        let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
        bytes[3] = self.seq;
        bytes.extend_from_slice(payload);
        self.raw(&bytes)
    }

    fn command(&mut self, payload: &[u8]) -> Vec<Vec<u8>> {
        self.seq = 0;
        self.packet(payload)
    }

    fn log_in(&mut self, user: &str, plugin: Plugin, answer: &[u8]) -> Vec<Vec<u8>> {
        self.log_in_with(PLAIN, user, plugin, answer)
    }

    fn log_in_with(
        &mut self,
        caps: Capabilities,
        user: &str,
        plugin: Plugin,
        answer: &[u8],
    ) -> Vec<Vec<u8>> {
        let caps = caps.without(Capabilities::CONNECT_WITH_DB).without(Capabilities::CONNECT_ATTRS);
        let mut p = caps.0.to_le_bytes().to_vec();
        p.extend_from_slice(&(1u32 << 24).to_le_bytes());
        p.push(255);
        p.extend_from_slice(&[0; 23]);
        p.extend_from_slice(user.as_bytes());
        p.push(0);
        wire::lenenc::put_bytes(&mut p, answer);
        p.extend_from_slice(plugin.name().as_bytes());
        p.push(0);
        self.packet(&p)
    }

    fn root(server: &Arc<Server>) -> Client {
        let mut client = Client::knock(server, Peer::Socket(None));
        assert_ok(&client.log_in("root", Plugin::CachingSha2, b""));
        client
    }
}

fn assert_ok(replies: &[Vec<u8>]) {
    assert_eq!(replies.last().map(|p| p[0]), Some(0), "{:?}", text_of(replies));
}

fn text_of(replies: &[Vec<u8>]) -> Vec<String> {
    replies.iter().map(|p| String::from_utf8_lossy(p).into_owned()).collect()
}

/// Number of the error that the last reply is.
fn error_of(replies: &[Vec<u8>]) -> u16 {
    match replies.last().map(Vec::as_slice) {
        Some([0xFF, a, b, ..]) => u16::from_le_bytes([*a, *b]),
        other => panic!("no error: {other:?}"),
    }
}

#[test]
fn root_enters_without_a_password_and_with_one_only_by_it() {
    let server = server();
    let mut client = Client::root(&server);
    assert_ok(&client.command(b"\x0E"));
    let mut wrong = Client::knock(&server, Peer::Socket(None));
    let answer = auth::answer_fast(b"guess", &wrong.scramble);
    let replies = wrong.log_in("root", Plugin::CachingSha2, &answer);
    assert_eq!(error_of(&replies), 1045);
    assert!(text_of(&replies)[0].contains("'root'@'localhost' (using password: YES)"));
    assert!(wrong.closed);
}

#[test]
fn caching_sha2_goes_the_full_way_once_and_then_the_fast_one() {
    let server = server();
    set_password(&server, "root", Plugin::CachingSha2, b"secret");
    let mut first = Client::knock(&server, Peer::Socket(None));
    let answer = auth::answer_fast(b"secret", &first.scramble);
    assert_eq!(first.log_in("root", Plugin::CachingSha2, &answer), [[1, auth::FULL_NEEDED]]);
    assert_ok(&first.packet(b"secret\0"));
    let mut second = Client::knock(&server, tcp());
    let answer = auth::answer_fast(b"secret", &second.scramble);
    let replies = second.log_in("root", Plugin::CachingSha2, &answer);
    assert_eq!(replies[0], [1, auth::FAST_OK]);
    assert_ok(&replies);
    // A changed password makes the cached one worthless.
    set_password(&server, "root", Plugin::CachingSha2, b"other");
    let mut third = Client::knock(&server, Peer::Socket(None));
    let answer = auth::answer_fast(b"secret", &third.scramble);
    assert_eq!(third.log_in("root", Plugin::CachingSha2, &answer), [[1, auth::FULL_NEEDED]]);
    assert_eq!(error_of(&third.packet(b"secret\0")), 1045);
}

#[test]
fn over_the_network_a_password_must_be_encrypted() {
    let server = server();
    set_password_at(&server, "far", "%", Plugin::CachingSha2, b"secret");
    let far = || Peer::Tcp("10.0.0.7:4000".parse().expect("address"));
    let mut clear = Client::knock(&server, far());
    let answer = auth::answer_fast(b"secret", &clear.scramble);
    assert_eq!(clear.log_in("far", Plugin::CachingSha2, &answer), [[1, auth::FULL_NEEDED]]);
    assert_eq!(error_of(&clear.packet(b"secret\0")), 1045);
    let mut client = Client::knock(&server, far());
    let answer = auth::answer_fast(b"secret", &client.scramble);
    assert_eq!(client.log_in("far", Plugin::CachingSha2, &answer), [[1, auth::FULL_NEEDED]]);
    let key = client.packet(&[auth::KEY_REQUEST]).remove(0);
    let pem = std::str::from_utf8(&key[1..]).expect("PEM");
    let mut masked = b"secret\0".to_vec();
    masked.iter_mut().zip(client.scramble.iter().cycle()).for_each(|(b, m)| *b ^= m);
    let sent = tls::sealed(pem, &masked).expect("a key");
    assert_ok(&client.packet(&sent));
    let mut here = Client::knock(&server, tcp());
    let answer = auth::answer_fast(b"wrong", &here.scramble);
    assert_eq!(here.log_in("far", Plugin::CachingSha2, &answer), [[1, auth::FULL_NEEDED]]);
    assert_ok(&here.packet(b"secret\0"));
}

/// TLS as a server offers it that has made its certificates.
fn tls_context() -> tls::Context {
    let folder = std::env::temp_dir().join(format!("limpid-session-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    tls::certificates::make_files(&folder, "8.4.0", &[]).expect("certificates");
    let settings = tls::Settings {
        cert: folder.join(tls::certificates::SERVER_CERT),
        key: folder.join(tls::certificates::SERVER_KEY),
        versions: "TLSv1.3".into(),
        ..tls::Settings::default()
    };
    let context = tls::Context::load(&settings).expect("certificates").expect("a version");
    std::fs::remove_dir_all(&folder).expect("the folder");
    context
}

/// Capabilities with TLS, packet size, collation and filler.
fn tls_request() -> Vec<u8> {
    let caps = PLAIN.with(Capabilities::SSL);
    let mut request = caps.0.to_le_bytes().to_vec();
    request.resize(32, 0);
    request
}

#[test]
fn a_client_that_asks_for_tls_is_secured_before_it_says_who_it_is() {
    let server = server();
    set_password_at(&server, "far", "%", Plugin::CachingSha2, b"secret");
    let far = || Peer::Tcp("10.0.0.7:4000".parse().expect("address"));
    // Not offered: no answer to the greeting.
    let mut refused = Client::knock(&server, far());
    assert_eq!(error_of(&refused.packet(&tls_request())), 1043);
    server.tls.offer(Some(tls_context()));
    let mut client = Client::knock(&server, far());
    let mut bytes = vec![32, 0, 0, 1];
    bytes.extend_from_slice(&tls_request());
    // What comes with the request is the handshake's, whatever it looks like.
    bytes.extend_from_slice(b"\x05\0\0\x02\x03DO 0");
    assert!(client.raw(&bytes).is_empty() && !client.closed);
    let (_, early) = client.session.secure().expect("what was offered");
    assert_eq!(early, b"\x05\0\0\x02\x03DO 0");
    assert!(client.session.secure().is_none(), "once");
    let how = tls::Secured {
        version: "TLSv1.3",
        cipher: "TLS_AES_128_GCM_SHA256",
        certificate: None,
        resumed: false,
    };
    client.session.secured(how.clone());
    // The sequence goes on, and a password may come in clear.
    client.seq = 2;
    let answer = auth::answer_fast(b"secret", &client.scramble);
    assert_eq!(client.log_in("far", Plugin::CachingSha2, &answer), [[1, auth::FULL_NEEDED]]);
    assert_ok(&client.packet(b"secret\0"));
    let shown = text_of(&client.command(b"\x03SHOW STATUS LIKE 'Ssl_version'"));
    assert!(shown.iter().any(|row| row.contains("TLSv1.3")), "{shown:?}");
    // Asked for twice.
    let mut twice = Client::knock(&server, far());
    twice.packet(&tls_request());
    assert!(twice.session.secure().is_some());
    twice.session.secured(how);
    twice.seq = 2;
    assert_eq!(error_of(&twice.packet(&tls_request())), 1043);
    let done = server.tls.handshakes();
    assert_eq!((done.begun, done.finished), (2, 2));
}

#[test]
fn connections_in_clear_are_refused_where_transport_has_to_be_secure() {
    let server = server();
    server.globals.set(variables::id("require_secure_transport"), variables::Value::UInt(1));
    let mut clear = Client::knock(&server, tcp());
    let answer = auth::answer_fast(b"", &clear.scramble);
    assert_eq!(error_of(&clear.log_in("root", Plugin::CachingSha2, &answer)), 3159);
    assert!(clear.closed);
    Client::root(&server);
}

#[test]
fn a_client_is_switched_to_the_accounts_plugin() {
    let server = server();
    set_password(&server, "old", Plugin::Native, b"pw");
    let mut client = Client::knock(&server, tcp());
    let answer = auth::answer_fast(b"pw", &client.scramble);
    let replies = client.log_in("old", Plugin::CachingSha2, &answer);
    assert!(replies[0].starts_with(b"\xFEmysql_native_password\0"));
    let scramble: Scramble = replies[0][23..43].try_into().expect("challenge");
    assert_ok(&client.packet(&auth::answer_native(b"pw", &scramble)));
    let mut nobody = Client::knock(&server, tcp());
    let answer = auth::answer_native(b"pw", &nobody.scramble);
    let replies = nobody.log_in("nobody", Plugin::Native, &answer);
    assert!(replies[0].starts_with(b"\xFEcaching_sha2_password\0"), "an unknown user looks alike");
    assert_eq!(nobody.packet(&[7; 32]), [[1, auth::FULL_NEEDED]], "up to its end");
    assert_eq!(error_of(&nobody.packet(b"pw\0")), 1045);
}

#[test]
fn change_user_starts_anew_or_ends_the_connection() {
    let server = server();
    set_password(&server, "old", Plugin::Native, b"pw");
    let mut client = Client::root(&server);
    // Whatever challenge the answer is to: there is another one.
    let answer = auth::answer_native(b"pw", &client.scramble);
    let mut body = b"\x11old\0\x14".to_vec();
    body.extend_from_slice(&answer);
    body.extend_from_slice(b"\0\x2D\0mysql_native_password\0");
    let told = client.command(&body);
    assert!(told[0].starts_with(b"\xFEmysql_native_password\0"));
    let scramble: Scramble = told[0][23..43].try_into().expect("challenge");
    assert_ok(&client.packet(&auth::answer_native(b"pw", &scramble)));
    assert_eq!(server.registry.processes()[0].line.who.user(), b"old");
    assert_ok(&client.command(b"\x0E"));
    let mut wrong = Client::root(&server);
    wrong.command(b"\x11nosuch\0\0\0\x2D\0caching_sha2_password\0");
    assert_eq!(error_of(&wrong.packet(b"")), 1045);
    assert!(wrong.closed);
}

#[test]
fn commands_without_sql() {
    let server = server();
    let mut client = Client::root(&server);
    assert_eq!(error_of(&client.command(b"\x77")), 1047);
    assert_eq!(error_of(&client.command(b"\x02nosuch")), 1049);
    assert!(text_of(&client.command(b"\x09"))[0].starts_with("Uptime: "));
    assert_ok(&client.command(b"\x1F"));
    assert_eq!(client.command(b"\x1B\0\0")[0][0], 0xFE);
    assert_eq!(error_of(&client.command(b"\x0C\xFF\xFF\0\0")), 1047);
    assert_eq!(error_of(&client.command(b"\x17\x09\0\0\0\0\x01\0\0\0")), 1243);
    assert_eq!(error_of(&client.command(b"\x17\x09")), 1835);
    assert!(client.command(b"\x19\x09\0\0\0").is_empty(), "CLOSE has no answer");
    assert!(client.command(b"\x01").is_empty() && client.closed);
}

#[test]
fn broken_packets_end_only_their_session() {
    let server = server();
    let mut witness = Client::root(&server);
    let id = variables::id("max_allowed_packet");
    let kind = id.get().kind;
    server.globals.set(id, kind.check("max_allowed_packet", &Assign::Int(2048)).expect("2048").0);
    let mut oversized = Client::root(&server);
    assert_eq!(error_of(&oversized.raw(&[0xFF, 0xFF, 0xFF, 0, 3])[..]), 1153);
    assert!(oversized.closed);
    let mut jumping = Client::root(&server);
    assert_eq!(error_of(&jumping.raw(&[1, 0, 0, 9, 0x0E])), 1156);
    assert!(jumping.closed);
    let mut half = Client::root(&server);
    assert!(half.raw(&[5, 0, 0, 0, 0x0E]).is_empty() && !half.closed);
    drop(half);
    let mut garbled = Client::knock(&server, tcp());
    assert_eq!(error_of(&garbled.packet(&[0xAA; 40])), 1043);
    assert!(garbled.closed);
    drop((oversized, jumping, garbled));
    assert_ok(&witness.command(b"\x0E"));
    assert_eq!(server.connections_open(), 1);
    assert_eq!(server.registry.processes().len(), 1);
}

#[test]
fn random_packets_never_panic() {
    let server = server();
    let mut rng = stdx::rng::Rng::new(5);
    let mut client = Client::root(&server);
    for _ in 0..3000 {
        let mut payload = vec![0; 1 + rng.below(40) as usize];
        rng.fill(&mut payload);
        // COM_QUERY and COM_STMT_PREPARE carry text: those are the parser's to survive.
        if matches!(payload[0], 0x03 | 0x16 | 0x04) {
            payload[0] = 0x17;
        }
        let _ = client.command(&payload);
        if client.closed {
            client = Client::root(&server);
        }
    }
}

#[test]
fn above_max_connections_only_root_enters() {
    let server = server();
    set_password(&server, "old", Plugin::Native, b"");
    let id = variables::id("max_connections");
    let kind = id.get().kind;
    server.globals.set(id, kind.check("max_connections", &Assign::Int(2)).expect("2").0);
    let kept: Vec<_> = (0..2).map(|_| Client::root(&server)).collect();
    let mut other = Client::knock(&server, tcp());
    assert_eq!(error_of(&other.log_in("old", Plugin::Native, b"")), 1040);
    drop(other);
    let extra = Client::root(&server);
    for _ in 0..100 {
        let Err(refused) = Session::new(&server, tcp(), Arc::new(Nobody)) else {
            panic!("let in");
        };
        assert_eq!(&refused.0[4..7], b"\xFF\x10\x04");
    }
    drop((kept, extra));
    assert_eq!(server.connections_open(), 0);
    Client::root(&server);
}

#[test]
fn a_killed_session_closes() {
    let server = server();
    let mut killer = Client::root(&server);
    let mut victim = Client::root(&server);
    let kill = format!("\x03KILL {}", victim.session.id());
    assert_ok(&killer.command(kill.as_bytes()));
    assert!(victim.command(b"\x0E").is_empty() && victim.closed);
    assert_eq!(error_of(&killer.command(b"\x03KILL 99")), 1094);
}

#[cfg(debug_assertions)]
mod at_scale;
mod branch_ends;
mod by_owner;
mod checks;
mod cursors;
mod ddl_crashes;
mod definitions;
mod flush_tables;
mod insert_ids;
mod namespaces;
mod older_accounts;
mod parameters;
mod passwords;
mod rights;
mod schemas;
mod statements;
mod stopped_readers;
mod table_cache;
mod text;
mod unsettled;
