//! What statements cost beside many sessions and many tables: user instructions of the real binary by callgrind, one number by another.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use testkit::Server;
use testkit::callgrind::CountedServer;

/// When whoever came is silent, and rests.
const SILENT_MS: u64 = 8_000;
/// Ten times as many sessions may make the list cost so much more.
const LIST_FACTOR_MAX: f64 = 12.0;

/// What SHOW PROCESSLIST costs with so many sessions, and with ten times as many.
fn list_costs_by_session(sessions: [usize; 2]) {
    let most = format!("--max-connections={}", sessions[1] + 100);
    let mut counted = CountedServer::start(&Server::with().option(most));
    let mut clients = Vec::new();
    let costs = sessions.map(|sessions| {
        while clients.len() < sessions {
            let mut client = testkit::raw::RawClient::connect(&counted.server);
            client.set_patience(None);
            client.login();
            clients.push(client);
        }
        let first = &mut clients[0];
        // Those who have just come give memory back when they have been silent for five seconds.
        testkit::pause(SILENT_MS);
        // The second one counts: the first one makes its session's memory.
        [(); 2].map(|()| {
            let work = |_: &Server| {
                first.command(3, b"SHOW PROCESSLIST");
                first.skip_result();
            };
            counted.during(work).statement
        })[1]
    });
    println!("SHOW PROCESSLIST of {sessions:?} sessions: {costs:.0?} instructions");
    assert!(costs[0] > 10_000.0, "callgrind saw nothing: {costs:?}");
    assert!(costs[1] <= LIST_FACTOR_MAX * costs[0], "{costs:.0?} for {sessions:?} sessions");
}

#[test]
fn the_process_list_costs_by_session_and_not_by_their_square() {
    list_costs_by_session([30, 300]);
}

/// A minute, which is that of a thousand connects under callgrind.
#[test]
#[ignore = "cargo xtask soak"]
fn the_process_list_of_a_thousand_sessions_costs_by_session() {
    list_costs_by_session([100, 1_000]);
}

/// Tables beside which DDL runs, and what more of them may make it cost.
const TABLES: [u32; 2] = [10, 10_000];
const DDL_FACTOR_MAX: f64 = 2.0;
/// Sessions that have tables open meanwhile.
const USERS: u32 = 64;

/// Makes tables `d.t0`, `d.t1` and so on, several at a time.
fn make_tables(server: &Server, tables: u32) {
    const AT_ONCE: u32 = 8;
    server.sql("CREATE DATABASE d");
    std::thread::scope(|scope| {
        for first in 0..AT_ONCE {
            scope.spawn(move || {
                let mut client = testkit::raw::RawClient::connect(server);
                client.login();
                for n in (first..tables).step_by(AT_ONCE as usize) {
                    let text = format!("CREATE TABLE d.t{n} (id INT PRIMARY KEY, a INT, KEY (a))");
                    client.command(3, text.as_bytes());
                    assert_eq!(client.packet().expect("an answer")[0], 0);
                }
            });
        }
    });
}

#[test]
fn ddl_costs_the_same_beside_many_tables_and_their_users() {
    let costs = TABLES.map(|tables| {
        let fill = |server: &Server| make_tables(server, tables);
        let mut counted = CountedServer::over(&Server::with(), fill, |_| ());
        let connect = || {
            let mut client = testkit::raw::RawClient::connect(&counted.server);
            client.set_patience(None);
            client.login();
            client
        };
        let users: Vec<_> = (0..USERS)
            .map(|user| {
                let mut client = connect();
                for n in 0..4 {
                    let table = (user * 4 + n) * (tables / 10) % tables;
                    client.command(3, format!("SELECT a FROM d.t{table}").as_bytes());
                    client.skip_result();
                }
                client
            })
            .collect();
        let mut client = connect();
        let mut one = |_: u32| {
            for text in [
                "CREATE TABLE d.n (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES d.t0 (id))",
                "ALTER TABLE d.n ADD COLUMN b INT",
                "CREATE INDEX k ON d.n (b)",
                "RENAME TABLE d.n TO d.m",
                "DROP TABLE d.m",
            ] {
                client.command(3, text.as_bytes());
                let answer = client.packet().expect("an answer");
                assert_eq!(answer[0], 0, "{text}: {}", String::from_utf8_lossy(&answer));
            }
        };
        (0..5).for_each(&mut one);
        const ROUNDS: [u32; 2] = [5, 25];
        let totals = ROUNDS.map(|rounds| counted.during(|_| (0..rounds).for_each(&mut one)).statement);
        drop(users);
        (totals[1] - totals[0]) / f64::from(ROUNDS[1] - ROUNDS[0])
    });
    println!("five statements of DDL beside {TABLES:?} tables: {costs:.0?} instructions");
    assert!(costs[0] > 10_000.0, "callgrind saw nothing: {costs:?}");
    assert!(costs[1] <= DDL_FACTOR_MAX * costs[0], "{costs:.0?} beside {TABLES:?} tables");
}
