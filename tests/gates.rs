//! The costs of a warm point select of the real binary: user instructions by callgrind with a stock
//! client, and system calls by strace. Counts, so they are tests; times are benchmarks.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{Server, TempDir};

/// First gates of the architecture, in user instructions per query.
const PREPARED_INSTRUCTIONS_MAX: f64 = 10_000.0;
const TEXT_INSTRUCTIONS_MAX: f64 = 16_000.0;
const EVENTS: (u64, u64) = (500, 3500);
const SHAPE: [&str; 2] = ["--tables=8", "--table-size=10000"];

fn load(server: &Server, events: u64, mode: &str) {
    let (events, mode) = (format!("--events={events}"), format!("--db-ps-mode={mode}"));
    let run =
        ["oltp_point_select", "--threads=1", "--time=0", "--rand-type=uniform", &events, &mode];
    let answer = server.sysbench(false, &[&run[..], &SHAPE[..], &["run"]].concat());
    assert!(answer.ok, "{}\n{}", answer.out, answer.err);
}

fn control(argument: &str, pid: u32) {
    let done =
        Command::new("callgrind_control").args([argument, &pid.to_string()]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Instructions in the newest dump of callgrind.
fn dumped(folder: &Path, number: usize) -> f64 {
    let path: PathBuf = folder.join(format!("cg.out.{number}"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let line = text.lines().rfind(|l| l.starts_with("totals:") || l.starts_with("summary:"));
    line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse().ok()).expect("a total")
}

#[test]
fn a_warm_point_select_stays_within_its_instruction_budget() {
    let folder = TempDir::new();
    let mut plain = Server::start(folder.path());
    plain.sql("CREATE DATABASE sbtest");
    let made = plain.sysbench(false, &[&["oltp_point_select"], &SHAPE[..], &["prepare"]].concat());
    assert!(made.ok, "{}", made.err);
    plain.stop();
    let out = format!("--callgrind-out-file={}", folder.path().join("cg.out").display());
    let server = Server::with()
        .under(&[
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--dump-instr=no",
            "--quiet",
            &out,
        ])
        .start(folder.path());
    for table in 1..=8 {
        server.sql(&format!("SELECT SUM(k), COUNT(c) FROM sbtest.sbtest{table}"));
    }
    control("--instr=on", server.pid());
    let mut number = 0;
    for (mode, most) in [("auto", PREPARED_INSTRUCTIONS_MAX), ("disable", TEXT_INSTRUCTIONS_MAX)] {
        load(&server, 500, mode);
        let mut totals = Vec::new();
        for events in [EVENTS.0, EVENTS.1] {
            control("--zero", server.pid());
            load(&server, events, mode);
            control("--dump", server.pid());
            number += 1;
            totals.push(dumped(folder.path(), number));
        }
        let per_query = (totals[1] - totals[0]) / (EVENTS.1 - EVENTS.0) as f64;
        println!("point select, ps-mode {mode}: {per_query:.0} user instructions per query");
        assert!(per_query > 500.0, "callgrind saw nothing: {totals:?}");
        assert!(per_query <= most, "ps-mode {mode}: {per_query:.0} instructions, at most {most}");
    }
}

#[test]
fn a_statement_that_is_already_there_costs_one_recv_and_one_send() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 2)");
    let mut client = testkit::raw::RawClient::connect(&server);
    client.login();
    let query = b"SELECT c FROM d.t WHERE id=1";
    for _ in 0..3 {
        client.command(3, query);
        read_result(&mut client);
    }
    // Attach to the one connection thread, then let the client always be ahead by one statement, so
    // that recv never finds nothing.
    let trace = folder.path().join("trace");
    let mut strace = Command::new("strace")
        .args([
            "-f",
            "-c",
            "-U",
            "name,calls",
            "-o",
            &trace.display().to_string(),
            "-p",
            &server.pid().to_string(),
        ])
        .spawn()
        .unwrap();
    testkit::pause(700);
    const STATEMENTS: u64 = 2000;
    client.command(3, query);
    for _ in 0..STATEMENTS {
        client.command(3, query);
        read_result(&mut client);
    }
    read_result(&mut client);
    let _ = Command::new("kill").args(["-INT", &strace.id().to_string()]).status();
    let _ = strace.wait();
    let text = std::fs::read_to_string(&trace).unwrap();
    let calls = |names: &[&str]| -> u64 {
        text.lines()
            .filter_map(|l| {
                let mut words = l.split_whitespace();
                let (name, calls) = (words.next()?, words.next()?);
                names.contains(&name).then(|| calls.parse::<u64>().ok()).flatten()
            })
            .sum()
    };
    let (received, sent) =
        (calls(&["recvfrom", "read", "recvmsg"]), calls(&["sendto", "write", "sendmsg"]));
    println!("{STATEMENTS} statements: {received} recv, {sent} send\n{text}");
    assert!(
        (STATEMENTS..=STATEMENTS + STATEMENTS / 10).contains(&sent),
        "one send per statement: {sent}"
    );
    // A recv may find two statements (then the next needs none) or nothing (then poll and another recv).
    assert!(received <= STATEMENTS * 3 / 2, "one recv per statement: {received}");
}

/// Reads a result set of one column and one row, EOF style.
fn read_result(client: &mut testkit::raw::RawClient) {
    let mut ends = 0;
    while ends < 2 {
        let packet = client.packet().expect("a result");
        assert_ne!(packet[0], 0xff, "{}", String::from_utf8_lossy(&packet));
        ends += usize::from(packet[0] == 0xfe && packet.len() < 9);
    }
}
