//! A whole session before and after its login, which is fed with any bytes.

use catalog::Catalog;
use engine::{Engine, EngineConfig};
use host::SimDisk;
use session::variables::{self, Globals, Value};
use session::{Host, Net, Next, Peer, Server, Session, Severity, Wake};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// What a session needs of its host, and does not get.
pub(super) struct Nobody;

impl Host for Nobody {
    fn shutdown(&self, _by: &str) {}
    fn log(&self, _severity: Severity, _text: &str) {}
}

impl Wake for Nobody {
    fn wake(&self) {}
    fn cut(&self) {}
}

impl Net for Nobody {
    fn send(&mut self, _bytes: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}

fn server() -> &'static Arc<Server> {
    static SERVER: OnceLock<Arc<Server>> = OnceLock::new();
    SERVER.get_or_init(new_server)
}

/// An engine without files.
pub(super) fn new_engine() -> Arc<Engine> {
    let config = EngineConfig {
        pool_bytes: 8 << 20,
        log_ring_bytes: 1 << 20,
        redo_capacity_bytes: 16 << 20,
        sessions_max: 64,
        workers_max: 64,
        trx_states: 1 << 12,
        system_tables: catalog::system_tables(),
        ..EngineConfig::default()
    };
    Engine::open(config, SimDisk::new(1)).expect("an engine").0
}

/// A server without files, tables and accounts.
pub(super) fn new_server() -> Arc<Server> {
    let engine = new_engine();
    let mdl = Arc::new(mdl::Mdl::new(Arc::clone(engine.slots())));
    let catalog = Catalog::open(engine, mdl).expect("a dictionary");
    let globals = Globals::new(&[], BTreeMap::new(), None);
    // Else the client's host is blocked after a hundred inputs, and all others come back at once.
    globals.set(variables::id("host_cache_size"), Value::UInt(0));
    Server::new(catalog, globals, Arc::new(Nobody))
}

/// Bytes that a client answers the greeting with, over TCP; whoever gets in does not get as far as a statement.
pub fn login(bytes: &[u8]) {
    let Some((&step, bytes)) = bytes.split_first() else { return };
    let peer = Peer::Tcp("203.0.113.7:4000".parse().expect("an address"));
    let session = Session::new(server(), peer, Arc::new(Nobody));
    let mut session = session.expect("a connection is taken");
    session.sent();
    for piece in bytes.chunks(usize::from(step).max(1)) {
        let space = session.space();
        let n = piece.len().min(space.len());
        space[..n].copy_from_slice(&piece[..n]);
        session.received(n);
        if session.step(&mut Nobody) != Next::Continue {
            return;
        }
        assert!(!session.is_logged_in(), "nobody has an account there");
        assert!(session.outgoing().len() < 1 << 16);
        session.sent();
    }
}
