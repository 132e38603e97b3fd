//! What connections keep while their clients are silent, and the threads that serve them.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use testkit::raw::RawClient;
use testkit::{Server, TempDir, TextClient};

/// Connections that are idle, and what each of them may keep. docs/figures.md has what 10,000 keep.
const IDLE: usize = 1_000;
const IDLE_KIB_MAX: f64 = 45.0;

fn rss_kib(server: &Server) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn connected(server: &Server) -> RawClient {
    let mut client = RawClient::connect(server);
    client.login();
    client
}

/// Asks for the only row, and reads it.
fn select(client: &mut RawClient) {
    client.command(3, b"SELECT c FROM d.t WHERE id=1");
    let mut ends = 0;
    while ends < 2 {
        let packet = client.packet().expect("a result");
        assert_ne!(packet[0], 0xff, "{}", String::from_utf8_lossy(&packet));
        ends += usize::from(packet[0] == 0xfe && packet.len() < 9);
    }
}

#[test]
fn a_silent_connection_keeps_little_and_goes_on_when_it_is_asked() {
    let folder = TempDir::new();
    let server = Server::with().option("--max-connections=2000").start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 2)");
    select(&mut connected(&server));
    let before = rss_kib(&server);
    let mut clients: Vec<_> = (0..IDLE).map(|_| connected(&server)).collect();
    clients.iter_mut().for_each(select);
    let each = |after: f64| (after - before) / IDLE as f64;
    let used = each(rss_kib(&server));
    // Five seconds of silence, the allocator's three, and how often it looks.
    testkit::pause(10_000);
    let idle = each(rss_kib(&server));
    println!("{IDLE} connections: {used:.1} KiB each after a select, {idle:.1} KiB when idle");
    assert!(idle <= IDLE_KIB_MAX, "{idle:.1} KiB for an idle connection");
    clients.iter_mut().for_each(select);
    clients.iter_mut().for_each(select);
}

fn status(client: &mut TextClient, name: &str) -> u64 {
    let rows = client.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap();
    let value = rows.rows[0][1].as_ref().expect("a number");
    String::from_utf8_lossy(value).parse().unwrap()
}

#[test]
fn threads_whose_clients_have_gone_serve_others_as_many_as_the_variable_says() {
    let folder = TempDir::new();
    let server = Server::with().option("--thread-cache-size=2").start(folder.path());
    let mut watcher = TextClient::connect(server.socket());
    let cached = |watcher: &mut TextClient, wanted: u64| {
        let until = Instant::now() + Duration::from_secs(20);
        while status(watcher, "Threads_cached") != wanted {
            assert!(Instant::now() < until, "{}", status(watcher, "Threads_cached"));
            testkit::pause(10);
        }
    };
    let some = |n: usize| (0..n).map(|_| connected(&server)).collect::<Vec<_>>();
    drop(some(4));
    cached(&mut watcher, 2);
    let created = status(&mut watcher, "Threads_created");
    // Both are used again, and a third is started.
    let three = some(3);
    cached(&mut watcher, 0);
    assert_eq!(status(&mut watcher, "Threads_created"), created + 1);
    drop(three);
    cached(&mut watcher, 2);
    // Both end at once: no connection comes.
    watcher.query("SET GLOBAL thread_cache_size = 0").unwrap();
    assert_eq!(status(&mut watcher, "Threads_cached"), 0);
    drop(some(1));
    cached(&mut watcher, 0);
    drop(some(1));
    cached(&mut watcher, 0);
}
