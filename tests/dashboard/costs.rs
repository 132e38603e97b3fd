//! What dashboard and history cost a server: time at its start, and memory while somebody looks. Measured beside a server without them.

use super::{address, builder, get, look};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use testkit::{Server, ServerBuilder, TempDir};

/// Most that a start may take longer, in milliseconds.
const START_MS_MAX: f64 = 20.0;
/// Most memory that they may take, in KiB.
const MEMORY_KIB_MAX: u64 = 8 << 10;
/// Starts with them and without, in turns.
const PAIRS: usize = 11;

/// A server with both, and one with neither.
fn with_and_without() -> [ServerBuilder; 2] {
    let history = |of: ServerBuilder, on: &str| of.option(format!("--limpid-session-history={on}"));
    [history(builder(), "ON"), history(Server::with(), "OFF")]
}

/// Milliseconds of a start: by the clock, until the server speaks to who connects; processor time of its threads, when all that it
/// begins has begun.
fn started(with: &ServerBuilder, folder: &Path) -> [f64; 2] {
    let begun = Instant::now();
    let mut server = with.spawn(folder);
    let greets = || {
        let stream = UnixStream::connect(server.socket());
        stream.and_then(|mut stream| stream.read_exact(&mut [0_u8])).is_ok()
    };
    while !greets() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", server.log());
        testkit::pause(1);
    }
    let clock = begun.elapsed().as_secs_f64();
    testkit::pause(300);
    let processor = processor_ns(server.pid());
    assert!(server.stop().success());
    [clock * 1e3, processor as f64 / 1e6]
}

/// Processor time of a process's threads that are there.
fn processor_ns(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let spent = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    tasks.filter_map(spent).sum()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The clock is the machine's as much as the server's, so of it the fastest start of each kind counts; of processor time the
/// median of what the two of a pair differ by.
#[test]
#[ignore = "a benchmark: cargo xtask soak"]
fn a_start_takes_no_longer() {
    let folder = TempDir::new();
    let builders = with_and_without();
    // The first one makes the data folder.
    started(&builders[0], folder.path());
    let mut runs: [Vec<[f64; 2]>; 2] = Default::default();
    for pair in 0..PAIRS {
        for which in [pair % 2, 1 - pair % 2] {
            runs[which].push(started(&builders[which], folder.path()));
        }
    }
    let [with, without] = &runs;
    let fastest = |of: &[[f64; 2]]| of.iter().map(|run| run[0]).fold(f64::MAX, f64::min);
    let clock = fastest(with) - fastest(without);
    let processor = median(with.iter().zip(without).map(|(a, b)| a[1] - b[1]).collect());
    println!(
        "a start takes longer by {clock:.1} ms, by processor time {processor:.1} ms: {runs:?}"
    );
    assert!(clock <= START_MS_MAX && processor <= START_MS_MAX, "{clock}, {processor}: {runs:?}");
}

/// A line of a process's status that is a number of KiB.
fn kib(server: &Server, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Both have answered somebody before: code of statements that is read for the first time (5 MiB) is not the dashboard's.
#[test]
#[ignore = "takes a minute: cargo xtask soak"]
fn memory_is_within_its_limit_while_somebody_looks() {
    let folders = [TempDir::new(), TempDir::new()];
    let [with, without] = with_and_without();
    let [with, without] = [with.start(folders[0].path()), without.start(folders[1].path())];
    for server in [&with, &without] {
        let mut doctor = Command::new(testkit::server::binary());
        doctor.arg("doctor").arg(format!("--socket={}", server.socket().display()));
        let answer = testkit::run(&mut doctor);
        assert!(answer.ok, "{}{}", answer.out, answer.err);
    }
    let at = address(&with);
    let _looking = [look(at), look(at)];
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(50) {
        assert_eq!(get(at, "/history?minutes=60").status, 200);
        testkit::pause(1000);
    }
    for name in ["VmRSS", "RssAnon"] {
        let [with, without] = [&with, &without].map(|server| kib(server, name));
        println!("{name}: {with} KiB with dashboard and history, {without} KiB without");
        assert!(with <= without + MEMORY_KIB_MAX, "{name}: {with} KiB, {without} KiB without");
    }
}
