//! The costs of statements of the real binary: user instructions by callgrind (point select and update with a stock client, a join
//! and a range with packets of our own), and system calls by strace. Counts, so they are tests; times are benchmarks.

// Tests panic to fail, and wait for processes, which no event of ours announces; what orders tests is no latch of the server's.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use testkit::callgrind::{CountedServer, Instructions, each};
use testkit::{Server, ServerBuilder, TempDir};

/// User instructions per query. What was reached is held with some room, so that a regression is seen.
/// With the Performance Schema as it is when a server starts: statement, transaction, digest, histories, table I/O and idle time of each. The aims are
/// 4,000 and 4,400; it is 3,710 to 3,780 and 4,040.
const PREPARED_INSTRUCTIONS_MAX: f64 = 3_950.0;
const TEXT_INSTRUCTIONS_MAX: f64 = 4_250.0;
/// Of a join of two look-ups by primary key, as text whose program is kept.
const JOIN_INSTRUCTIONS_MAX: f64 = 15_000.0;
/// Of an INSERT as text into a table of 5 generated columns and 3 checks, durable; the aim is half of what it was when both were parsed
/// by each statement, 143,208.
const COMPUTED_INSTRUCTIONS_MAX: f64 = 40_000.0;
/// Of what a prepared range costs besides its rows, which cost 460 each (1,132 before they passed as they lie, and 7,225
/// besides them): with the Performance Schema as it is at start, and without, where the aim is 6,000 (5,979).
const RANGE_INSTRUCTIONS_MAX: [f64; 2] = [6_900.0, 6_300.0];
/// Of an update of a column without index by primary key, prepared, autocommit, durable (the session leads the log's
/// writes itself). The architecture's gate is 30,000.
const UPDATE_INSTRUCTIONS_MAX: f64 = 25_000.0;
/// Of an insert with AUTO_INCREMENT and an index, the same way, but as text, as sysbench sends it. The aim is 25,000.
const INSERT_INSTRUCTIONS_MAX: f64 = 28_000.0;
/// What the Performance Schema may add to a warm point select, prepared and as text, as it is when a server starts, to what it costs
/// with `performance_schema=OFF`. The aim is 300 above a build without instruments, which OFF comes within 20 of.
const SCHEMA_INSTRUCTIONS_MAX: [f64; 2] = [450.0, 460.0];
/// Of the same with `performance_schema=OFF`. The aims are 3,600 and 3,850; it is 3,380 and 3,670.
const BARE_INSTRUCTIONS_MAX: [f64; 2] = [3_550.0, 3_800.0];
/// Point selects of two runs. What connecting costs differs by 50,000 instructions from run to run (TLS), which among 1,200 events
/// would be 40 each.
const POINTS: (u64, u64) = (500, 8_500);
/// The same of statements that cost more.
const CHANGES: (u64, u64) = (300, 1_500);
/// What a test of this file holds while it runs. Two that count at once make each other's clients late, and a late client costs
/// its session some 200 instructions a statement: nothing to read, a wait, another read.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // Another test's failure has left nothing behind.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_warm_point_select_and_an_update_stay_within_their_instruction_budgets() {
    let _alone = alone();
    let mut counted = CountedServer::start(&Server::with());
    let mut over = Vec::new();
    for (user, script, mode, most) in [
        ("root", "oltp_point_select", "auto", PREPARED_INSTRUCTIONS_MAX),
        ("root", "oltp_point_select", "disable", TEXT_INSTRUCTIONS_MAX),
        // Who has privileges of tables pays no more than who has all.
        ("reader", "oltp_point_select", "auto", PREPARED_INSTRUCTIONS_MAX),
        ("reader", "oltp_point_select", "disable", TEXT_INSTRUCTIONS_MAX),
        ("root", "oltp_update_non_index", "auto", UPDATE_INSTRUCTIONS_MAX),
        ("root", "oltp_insert", "auto", INSERT_INSTRUCTIONS_MAX),
    ] {
        let events = if script == "oltp_point_select" { POINTS } else { CHANGES };
        let Instructions { statement, background } =
            counted.sysbench_event((user, script, mode), events, most);
        println!(
            "{user}, {script}, ps-mode {mode}: {statement:.0} user instructions per event, in the background {background:.0}"
        );
        if statement > most {
            over.push(format!("{user}, {script}, {mode}: {statement:.0}, at most {most}"));
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// The other gates have no dashboard: many servers would want its port.
#[test]
fn a_point_select_costs_no_more_while_somebody_looks() {
    let _alone = alone();
    let mut counted = CountedServer::start(
        &Server::with().option("--limpid-dashboard=ON").option("--limpid-dashboard-port=0"),
    );
    assert_eq!(counted.server.sql("SELECT @@limpid_session_history"), "1");
    let log = counted.server.log();
    // The first one was of the server that made the tables.
    let (_, rest) = log.rsplit_once("Dashboard: http://").expect("a dashboard");
    let at = rest.split('/').next().unwrap();
    let (seen, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    /// Ends who looks, also where a measurement fails.
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let look = || {
        // A stream ends after a minute.
        while !stop.load(Ordering::Relaxed) {
            let mut stream = TcpStream::connect(at).unwrap();
            let request = format!("GET /events HTTP/1.1\r\nHost: {at}\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut bytes = [0; 1 << 16];
            while !stop.load(Ordering::Relaxed)
                && let Ok(n @ 1..) = stream.read(&mut bytes)
            {
                seen.fetch_add(n as u64, Ordering::Relaxed);
            }
        }
    };
    let mut over = Vec::new();
    std::thread::scope(|scope| {
        let _ends = Ends(&stop);
        scope.spawn(look);
        for (mode, most) in
            [("auto", PREPARED_INSTRUCTIONS_MAX), ("disable", TEXT_INSTRUCTIONS_MAX)]
        {
            let before = seen.load(Ordering::Relaxed);
            let of = ("root", "oltp_point_select", mode);
            // Always the least of several: what the pages do at first would be taken from an event.
            let each = counted.sysbench_event(of, POINTS, 0.0).statement;
            let looked = seen.load(Ordering::Relaxed) - before;
            println!("{mode}: {each:.0} instructions, while {looked} bytes were looked at");
            if each > most || looked == 0 {
                over.push(format!(
                    "{mode}: {each:.0} instructions, at most {most}; {looked} bytes"
                ));
            }
        }
    });
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// What is collected of a point select as a server starts, and how to ask how much of it there is.
const COLLECTED: [(&str, &str); 5] = [
    (
        "statements",
        "SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_global_by_event_name \
         WHERE EVENT_NAME IN ('statement/com/Execute', 'statement/sql/select') AND SUM_TIMER_WAIT > 0",
    ),
    (
        "transactions",
        "SELECT COUNT_STAR FROM performance_schema.events_transactions_summary_global_by_event_name \
         WHERE SUM_TIMER_WAIT > 0",
    ),
    (
        "digests",
        "SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_by_digest \
         WHERE SCHEMA_NAME = 'sbtest' AND DIGEST_TEXT LIKE 'SELECT `c` FROM `sbtest%' AND QUANTILE_95 > 0",
    ),
    (
        "rows",
        "SELECT SUM(COUNT_FETCH) FROM performance_schema.table_io_waits_summary_by_index_usage \
         WHERE OBJECT_SCHEMA = 'sbtest' AND INDEX_NAME = 'PRIMARY' AND SUM_TIMER_FETCH > 0",
    ),
    (
        "waits for the client",
        "SELECT COUNT_STAR FROM performance_schema.events_waits_summary_global_by_event_name \
         WHERE EVENT_NAME = 'idle' AND SUM_TIMER_WAIT > 0",
    ),
];

#[test]
fn the_performance_schema_adds_little_to_a_warm_point_select() {
    let _alone = alone();
    let cost = |option: &str, most: [f64; 2]| {
        let mut counted = CountedServer::start(&Server::with().option(option));
        let mut of = |mode, most| {
            let of = ("root", "oltp_point_select", mode);
            counted.sysbench_event(of, POINTS, most).statement
        };
        let costs = [of("auto", most[0]), of("disable", most[1])];
        (costs, COLLECTED.map(|(_, figure)| counted.server.sql(figure)))
    };
    let (off, none) = cost("--performance-schema=OFF", [0.0; 2]);
    let most = std::array::from_fn(|n| off[n] + SCHEMA_INSTRUCTIONS_MAX[n]);
    let (on, collected) = cost("--performance-schema=ON", most);
    assert!(
        none.iter().all(|n| n.parse::<u64>().unwrap_or(0) == 0),
        "collected while OFF: {none:?}"
    );
    // What was measured was collected: each of these has all of both runs.
    let least = 2 * (POINTS.0 + POINTS.1);
    for ((what, _), n) in COLLECTED.iter().zip(&collected) {
        assert!(n.parse::<u64>().unwrap_or(0) >= least, "{what}: {n}, at least {least}");
    }
    let added: [f64; 2] = std::array::from_fn(|n| on[n] - off[n]);
    println!("OFF {off:.0?}, as it is at start {on:.0?}: {added:.0?} instructions more");
    let is_bare = off.iter().zip(BARE_INSTRUCTIONS_MAX).all(|(off, most)| *off <= most);
    assert!(is_bare, "{off:.0?} instructions without it, at most {BARE_INSTRUCTIONS_MAX:?}");
    let is_within = added.iter().zip(SCHEMA_INSTRUCTIONS_MAX).all(|(added, most)| *added <= most);
    assert!(is_within, "{added:.0?} instructions, at most {SCHEMA_INSTRUCTIONS_MAX:?}");
}

/// Levels, and what each may add to a point select, prepared, to what the build without instruments takes: the aims of the
/// specification.
const LEVELS: [(&str, f64); 4] =
    [("none", 20.0), ("tables", 120.0), ("statements", 250.0), ("def", 300.0)];
/// What the level def may add to one as text. What was reached is held.
const DEF_AS_TEXT_MAX: f64 = 390.0;

#[test]
#[ignore = "cargo xtask soak"]
fn each_level_costs_little_more_than_a_build_without_instruments() {
    const STATEMENT: &str = "session::session::Session::step";
    let _alone = alone();
    let bare = std::env::var_os("LIMPID_BARE").expect("LIMPID_BARE: the build without instruments");
    let of = |server: ServerBuilder, mode: &str| {
        let mut counted = CountedServer::start_inside(&server, STATEMENT);
        counted.sysbench_event(("root", "oltp_point_select", mode), POINTS, 0.0).statement
    };
    let without = |mode| of(Server::with().binary(Path::new(&bare)), mode);
    let at = |level: &str, mode| {
        of(Server::with().option(format!("--limpid-instrument-level={level}")), mode)
    };
    let base = without("auto");
    let added = LEVELS.map(|(level, _)| at(level, "auto") - base);
    let as_text = at("def", "disable") - without("disable");
    println!("bare {base:.1}, {LEVELS:?}: {added:.1?}, def as text {as_text:.1}");
    assert!(base > 2_000.0, "{base:.1} instructions");
    for ((level, most), added) in LEVELS.into_iter().zip(added) {
        assert!(added <= most, "{level}: {added:.1} instructions more, at most {most}");
    }
    assert!(as_text <= DEF_AS_TEXT_MAX, "{as_text:.1} instructions more as text");
    // What is counted is what is collected.
    assert!(added[3] > added[0] + 100.0, "{added:.1?}");
}

/// Misses of a data cache of 48 KB by a point select, prepared, where 16 sessions take turns: 111 where each row is as likely, 101 as
/// sysbench draws them. Before the Performance Schema came, the latter were 158. The aim is 70.
const MISSES_MAX: f64 = 120.0;

#[test]
#[ignore = "cargo xtask soak"]
fn sessions_that_take_turns_miss_the_cache_no_oftener_than_before_the_performance_schema() {
    const EVENTS: (u64, u64) = (3_200, 19_200);
    let _alone = alone();
    let mut counted = CountedServer::start_misses(&Server::with());
    let of = ("root", "oltp_point_select --threads=16", "auto");
    let misses = counted.sysbench_event(of, EVENTS, MISSES_MAX).statement;
    println!("{misses:.1} misses");
    assert!(misses > 20.0 && misses <= MISSES_MAX, "{misses:.1} misses, at most {MISSES_MAX}");
}

#[test]
fn a_statement_that_is_already_there_costs_one_recv_and_one_send() {
    let _alone = alone();
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 2)");
    let mut client = testkit::raw::RawClient::connect(&server);
    client.login();
    let query = b"SELECT c FROM d.t WHERE id=1";
    for _ in 0..3 {
        client.command(3, query);
        client.skip_result();
    }
    // Attach to the one connection thread, then let the client always be ahead by one statement, so
    // that recv seldom finds nothing.
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
        client.skip_result();
    }
    client.skip_result();
    testkit::signal(strace.id(), "INT");
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
    let received = calls(&["recvfrom", "read", "recvmsg"]);
    let sent = calls(&["sendto", "write", "sendmsg"]);
    let waited = calls(&["poll", "ppoll"]);
    println!("{STATEMENTS} statements: {received} recv, {sent} send, {waited} poll\n{text}");
    // Two statements that came together are read and answered together; a recv that finds nothing is
    // followed by a poll and another recv.
    assert!(sent >= STATEMENTS / 4, "strace saw nothing: {sent}");
    assert!(sent <= STATEMENTS + STATEMENTS / 10, "more than one send per statement: {sent}");
    assert!(
        received + waited <= STATEMENTS * 3 / 2,
        "one recv per statement: {received}, {waited}"
    );
}

/// Runs `work` while strace records the named system calls of all server threads, in order.
fn traced(server: &Server, folder: &TempDir, calls: &str, work: impl FnOnce()) -> String {
    let trace = folder.path().join("calls");
    let mut strace = Command::new("strace")
        .args(["-f", "-q", "-s", "16", "-e", &format!("trace={calls}")])
        .args(["-o", &trace.display().to_string(), "-p", &server.pid().to_string()])
        .spawn()
        .unwrap();
    testkit::pause(700);
    work();
    testkit::signal(strace.id(), "INT");
    let _ = strace.wait();
    std::fs::read_to_string(&trace).unwrap()
}

#[test]
fn no_ok_leaves_before_an_fdatasync_that_follows_its_statement() {
    const INSERTS: usize = 50;
    let _alone = alone();
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT)");
    let mut client = testkit::raw::RawClient::connect(&server);
    client.login();
    let trace = traced(&server, &folder, "recvfrom,sendto,fdatasync", || {
        for n in 0..INSERTS {
            client.command(3, format!("INSERT INTO d.t VALUES ({n}, {n})").as_bytes());
            assert_eq!(client.packet().expect("an answer")[0], 0);
        }
    });
    // One client, one statement at a time: its bytes come in, a sync of the log ends, the OK leaves.
    let (mut arrived, mut synced, mut acknowledged) = (false, false, 0);
    for line in trace.lines() {
        let ended_well = line.trim_end().ends_with("= 0");
        if line.contains("recvfrom") && line.contains("INSERT") {
            (arrived, synced) = (true, false);
        } else if line.contains("fdatasync") && ended_well {
            synced = true;
        } else if line.contains("sendto(") && arrived {
            assert!(synced, "an OK left before the log was durable:\n{trace}");
            arrived = false;
            acknowledged += 1;
        }
    }
    assert!(acknowledged >= INSERTS - 1, "{acknowledged} of {INSERTS} seen:\n{trace}");
    // Without the promise (mode 2) the same trace must show OKs that did not wait: the test can fail.
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    let trace = traced(&server, &folder, "sendto,fdatasync", || {
        for n in INSERTS..2 * INSERTS {
            client.command(3, format!("INSERT INTO d.t VALUES ({n}, {n})").as_bytes());
            assert_eq!(client.packet().expect("an answer")[0], 0);
        }
    });
    let syncs = trace.lines().filter(|l| l.contains("fdatasync")).count();
    assert!(syncs < INSERTS / 2, "mode 2 synced {syncs} times for {INSERTS} statements");
}

/// User instructions of one statement of a client's.
fn instructions_of(counted: &mut CountedServer, most: f64, mut one: impl FnMut(u32)) -> f64 {
    (0..50).for_each(&mut one);
    each((50, 250), most, |statements| {
        counted.during(|_| (100..100 + statements as u32).for_each(&mut one)).statement
    })
}

#[test]
fn a_join_a_computed_row_and_a_prepared_range_stay_within_their_instruction_budgets() {
    let _alone = alone();
    let mut counted = CountedServer::start(&Server::with());
    let mut client = testkit::raw::RawClient::connect(&counted.server);
    client.set_patience(None);
    client.login();
    let mut run_join = |n: u32| {
        let text = format!(
            "SELECT a.c, b.c FROM sbtest.sbtest1 a JOIN sbtest.sbtest2 b ON b.id = a.id WHERE a.id={}",
            1 + n * 7
        );
        client.command(3, text.as_bytes());
        client.skip_result();
    };
    let join = instructions_of(&mut counted, JOIN_INSTRUCTIONS_MAX, &mut run_join);
    println!("join, kept: {join:.0}");
    assert!(join <= JOIN_INSTRUCTIONS_MAX, "{join:.0} instructions for a join");
    counted.server.sql(
        "CREATE TABLE sbtest.computed (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, c VARCHAR(40), g1 INT AS (a + b) STORED,
            g2 INT AS (a * 2), g3 INT AS (b * 3) STORED, g4 VARCHAR(50) AS (CONCAT(c, 'x')), g5 INT AS (LENGTH(c)) STORED,
            CHECK (a >= 0), CHECK (b < 1000000), CHECK (c <> ''))",
    );
    let mut insert = |n: u32| {
        let text = format!("INSERT INTO sbtest.computed (a, b, c) VALUES ({n}, 2, 'abc')");
        client.command(3, text.as_bytes());
        assert_eq!(client.packet().expect("an answer")[0], 0);
    };
    let computed = instructions_of(&mut counted, COMPUTED_INSTRUCTIONS_MAX, &mut insert);
    println!("a row of 5 generated columns and 3 checks: {computed:.0}");
    assert!(computed <= COMPUTED_INSTRUCTIONS_MAX, "{computed:.0} instructions for a row");
    drop(client);
    range_stays_within(&mut counted, RANGE_INSTRUCTIONS_MAX[0]);
    let bare = Server::with().option("--performance-schema=OFF");
    range_stays_within(&mut CountedServer::start(&bare), RANGE_INSTRUCTIONS_MAX[1]);
}

/// Measures a prepared range whose parameters' types are sent each time.
fn range_stays_within(counted: &mut CountedServer, most: f64) {
    let mut client = testkit::raw::RawClient::connect(&counted.server);
    client.set_patience(None);
    client.login();
    client.command(0x16, b"SELECT c FROM sbtest.sbtest1 WHERE id BETWEEN ? AND ?");
    let id = client.packet().expect("a statement")[1..5].to_vec();
    // Two parameters and a column, each kind with an end behind it.
    (0..5).for_each(|_| drop(client.packet().expect("a description")));
    let mut range = |rows: u32, first: u32| {
        let bound = |n: u32| u64::from(n).to_le_bytes();
        let types = [0, 1, 8, 0, 8, 0];
        let (low, high) = (bound(first), bound(first + rows - 1));
        client.command(0x17, &[&id[..], &[0, 1, 0, 0, 0], &types, &low, &high].concat());
        client.skip_result();
    };
    // Of both the least of all tries, as it is their difference that counts.
    let one = instructions_of(counted, 0.0, |n| range(1, 1 + n * 7));
    let many = instructions_of(counted, 0.0, |n| range(101, 1 + n * 7));
    let row = (many - one) / 100.0;
    let fixed = one - row;
    println!("range: {fixed:.0} and {row:.0} for each row");
    assert!(fixed <= most, "{fixed:.0} instructions for a range without rows, at most {most}");
}

/// sysbench's other reads, each alone, as events of a script with options: of a hundred rows, of ten points of an indexed
/// column, with how many events a short run and a long one have. What was reached is held; MySQL 9.7 without its performance schema
/// takes 412,000, 341,000, 714,000, 984,000 and 575,000.
const OTHERS: [(&str, &str, (u64, u64), f64); 5] = [
    ("simple range", "--simple_ranges=1", FEW, 58_000.0),
    ("sum range", "--sum_ranges=1", FEW, 50_000.0),
    ("order range", "--order_ranges=1", FEW, 200_000.0),
    ("distinct range", "--distinct_ranges=1", FEW, 200_000.0),
    // Ten rows in the mean, but a few values of the column have most of them: less than some thousand events have nine or eleven,
    // at 1,700 a row. The aim is 40,000.
    ("random points", "select_random_points --random_points=10", POINTS, 42_000.0),
];
const FEW: (u64, u64) = (100, 600);
/// None of the statements of `oltp_read_only`.
const NONE_OF_THEM: &str = "--skip_trx=on --point_selects=0 --simple_ranges=0 --sum_ranges=0 --order_ranges=0 --distinct_ranges=0";

#[test]
fn ranges_and_points_stay_within_their_instruction_budgets() {
    let _alone = alone();
    let mut counted = CountedServer::start(&Server::with());
    let mut over = Vec::new();
    for (name, options, events, most) in OTHERS {
        let script = match options.starts_with("--") {
            true => format!("oltp_read_only {NONE_OF_THEM} {options}"),
            false => options.to_string(),
        };
        let each = counted.sysbench_event(("root", &script, "auto"), events, most).statement;
        println!("{name}: {each:.0} user instructions");
        if each > most {
            over.push(format!("{name}: {each:.0} instructions, at most {most}"));
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}
