//! Limits of the service, over a server inside the test's process.

use super::{HEAD_TIME, accept_all, address};
use crate::gate::Gate;
use crate::pages::{Shared, VIEWERS_MAX};
use crate::panels::Panels;
use catalog::Catalog;
use engine::{Engine, EngineConfig};
use mdl::Mdl;
use session::variables::Globals;
use session::{Host, Server, Severity};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

#[test]
fn only_loopback_is_listened_on() {
    assert!(address("127.0.0.1").is_ok() && address("::1").is_ok() && address("localhost").is_ok());
    for other in ["0.0.0.0", "::", "192.168.0.1", "10.0.0.1"] {
        assert!(address(other).unwrap_err().contains("TLS"), "{other}");
    }
    assert!(address("example.com").unwrap_err().contains("no IP address"));
}

/// The process around the server: there is none.
struct Nobody;

impl Host for Nobody {
    fn shutdown(&self, _by: &str) {}
    fn log(&self, _severity: Severity, _text: &str) {}
}

/// A server over an empty folder.
fn server(folder: &std::path::Path) -> (Arc<Server>, Arc<Engine>) {
    let disk = host::RealDisk::open(folder).unwrap();
    let config = EngineConfig {
        pool_bytes: 16 << 20,
        log_ring_bytes: 4 << 20,
        sessions_max: 16,
        workers_max: 32,
        system_tables: catalog::system_tables(),
        ..EngineConfig::default()
    };
    let (engine, _) = Engine::open(config, disk).unwrap();
    let mdl = Arc::new(Mdl::with_graph(Arc::clone(engine.slots()), Arc::clone(engine.waits())));
    let catalog = Catalog::open(Arc::clone(&engine), mdl).unwrap();
    (Server::new(catalog, Globals::new(&[], BTreeMap::new(), None), Arc::new(Nobody)), engine)
}

/// Asks for the stream of events with a small buffer for the answer.
async fn ask(at: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let stream = socket.connect(at).await.unwrap();
    stream.writable().await.unwrap();
    const REQUEST: &[u8] = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(stream.try_write(REQUEST).unwrap(), REQUEST.len());
    stream
}

/// The first bytes of an answer.
async fn status(stream: &TcpStream) -> String {
    let mut line = [0; 12];
    loop {
        stream.readable().await.unwrap();
        match stream.try_read(&mut line) {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            read => return String::from_utf8_lossy(&line[..read.unwrap()]).into_owned(),
        }
    }
}

#[test]
fn who_reads_nothing_does_not_keep_his_place() {
    const STREAM_TIME: Duration = Duration::from_millis(500);
    /// More than the system keeps for a connection.
    const MUCH: usize = 16 << 20;
    let folder = std::env::temp_dir().join(format!("limpid-dashboard-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (server, engine) = server(&folder);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let shared = Shared::new(&server, Gate::new(&server, at), STREAM_TIME);
        tokio::spawn(accept_all(listener, Arc::clone(&shared)));
        let mut silent = Vec::new();
        for _ in 0..VIEWERS_MAX {
            let stream = ask(at).await;
            assert_eq!(status(&stream).await, "HTTP/1.1 200");
            silent.push(stream);
        }
        shared.publish(Panels::of_bytes(MUCH));
        // Every stream's own time is over, and its write waits for a reader.
        tokio::time::sleep(3 * STREAM_TIME).await;
        assert_eq!(status(&ask(at).await).await, "HTTP/1.1 503");
        tokio::time::sleep(HEAD_TIME).await;
        assert_eq!(status(&ask(at).await).await, "HTTP/1.1 200");
        assert_eq!(silent.len(), VIEWERS_MAX);
    });
    drop((runtime, server));
    engine.shutdown().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}
