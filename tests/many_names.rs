//! Names that come and go through SQL leave memory where it was.

// Tests panic to fail, and wait for processes.
#![allow(clippy::unwrap_used)]

use testkit::{Server, TempDir};

/// Sessions that create and drop, each its own names.
const SESSIONS: u64 = 8;
/// Names until memory is measured first, as a share of all: pages, pools and lists have their size by then.
const WARM: u64 = 10;
/// KiB that may be more afterwards: 1,000,000 names that leave a hundred bytes each take six times as many.
const GROWTH_MAX_KB: u64 = 16 << 10;

fn resident_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap()
}

/// Creates and drops a table of each of the names.
fn come_and_go(server: &Server, names: std::ops::Range<u64>) {
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let names = names.clone();
            scope.spawn(move || {
                let mut client = testkit::raw::RawClient::connect(server);
                client.login();
                for n in names.skip(session as usize).step_by(SESSIONS as usize) {
                    let texts = [
                        format!("CREATE TABLE d.name{n} (id INT PRIMARY KEY)"),
                        format!("DROP TABLE d.name{n}"),
                    ];
                    for text in texts {
                        client.command(3, text.as_bytes());
                        let answer = client.packet().expect("an answer");
                        assert_eq!(answer[0], 0, "{}", String::from_utf8_lossy(&answer));
                    }
                }
            });
        }
    });
}

#[test]
#[ignore = "takes hours: cargo xtask soak"]
fn names_that_come_and_go_leave_memory_where_it_was() {
    let names = std::env::var("LIMPID_NAMES").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d");
    let warm = names / WARM;
    come_and_go(&server, 0..warm);
    let before = resident_kb(&server);
    come_and_go(&server, warm..names);
    let after = resident_kb(&server);
    println!("{names} names: {before} KiB after {warm} of them, {after} KiB after all");
    assert!(after <= before + GROWTH_MAX_KB, "{before} KiB, then {after} KiB");
    let open = server.sql("SHOW GLOBAL STATUS LIKE 'Open_table%'");
    assert_eq!(open, "Open_table_definitions\t0\nOpen_tables\t0");
}
