//! What sessions keep, and what the Performance Schema keeps of them: told, given back, limited.

use crate::with_table;
use testkit::raw::RawClient;
use testkit::{Conversation, Server, TempDir};

fn number(server: &Server, query: &str) -> i64 {
    server.sql(query).parse().unwrap_or_else(|_| panic!("no number: {query}"))
}

/// Bytes that are used, and that were at most, of an instrument in a summary by thread, account, user or host.
fn bytes(server: &Server, by: &str, instrument: &str, condition: &str) -> [i64; 2] {
    let row = server.sql(&format!(
        "SELECT SUM(CURRENT_NUMBER_OF_BYTES_USED), SUM(HIGH_NUMBER_OF_BYTES_USED)
         FROM performance_schema.memory_summary_by_{by}_by_event_name WHERE EVENT_NAME = 'memory/{instrument}' AND {condition}"
    ));
    let numbers: Vec<i64> = row.split('\t').map(|n| n.parse().unwrap_or(-1)).collect();
    numbers.try_into().unwrap()
}

fn own(session: &mut Conversation) -> String {
    format!("THREAD_ID = {}", session.ask("SELECT PS_CURRENT_THREAD_ID()")[0])
}

fn gone(server: &Server, own: &str) {
    super::until_rows(
        server,
        &format!(
            "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM performance_schema.threads WHERE {own})"
        ),
    );
}

#[test]
fn what_a_session_keeps_is_told_by_thread_and_account() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("CREATE TABLE d.sorted (a INT, b CHAR(60)); SET cte_max_recursion_depth = 20000;
        INSERT INTO d.sorted WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9000) SELECT n, MD5(n) FROM r");
    let sort = "SELECT a FROM d.sorted ORDER BY b, a DESC LIMIT 8999, 1";
    let mut session = server.converse();
    let own = own(&mut session);
    let buffers = bytes(&server, "thread", "sql/NET::buff", &own);
    assert!(buffers[0] >= 32 << 10, "{buffers:?}");
    assert!(bytes(&server, "thread", "sql/THD", &own)[0] > 500);
    session.ask(sort);
    let rows = bytes(&server, "thread", "sql/statement_rows", &own);
    assert!(rows[0] == 0 && rows[1] > 200_000, "{rows:?}");
    // Its statement, its digest, the session and its account tell the same.
    let of_event = format!(
        "SELECT MAX_CONTROLLED_MEMORY FROM performance_schema.events_statements_history WHERE {own} AND SQL_TEXT = '{sort}'"
    );
    let controlled = number(&server, &of_event);
    assert!(controlled >= rows[1], "{controlled}");
    session.ask("DO 1");
    let of_do = format!(
        "SELECT MAX_CONTROLLED_MEMORY < 65536 FROM performance_schema.events_statements_history WHERE {own} AND SQL_TEXT = 'DO 1'"
    );
    assert_eq!(number(&server, &of_do), 1);
    let of_digest = "SELECT MAX_CONTROLLED_MEMORY, MAX_TOTAL_MEMORY >= MAX_CONTROLLED_MEMORY FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE '%FROM `d` . `sorted` ORDER%'";
    assert_eq!(server.sql(of_digest), format!("{controlled}\t1"));
    let thread = server.sql(&format!(
        "SELECT CONTROLLED_MEMORY < 65536, MAX_CONTROLLED_MEMORY >= {controlled}, TOTAL_MEMORY > 32768, MAX_TOTAL_MEMORY >= MAX_CONTROLLED_MEMORY
         FROM performance_schema.threads WHERE {own}"
    ));
    assert_eq!(thread, "1\t1\t1\t1");
    for list in ["accounts", "users", "hosts"] {
        let of = if list == "hosts" { "HOST = 'localhost'" } else { "USER = 'root'" };
        let most = format!(
            "SELECT MAX_SESSION_CONTROLLED_MEMORY >= {controlled}, MAX_SESSION_TOTAL_MEMORY > {controlled} FROM performance_schema.{list} WHERE {of}"
        );
        assert_eq!(server.sql(&most), "1\t1", "{list}");
    }
    // TRUNCATE begins with what is used.
    server.sql("TRUNCATE performance_schema.memory_summary_by_thread_by_event_name");
    assert_eq!(bytes(&server, "thread", "sql/statement_rows", &own), [0, 0]);
    let buffers = bytes(&server, "thread", "sql/NET::buff", &own);
    assert!(buffers[0] == buffers[1] && buffers[0] >= 32 << 10, "{buffers:?}");
    let over = "SELECT SUM(COUNT_ALLOC) > 0, SUM(COUNT_ALLOC - COUNT_FREE), SUM(SUM_NUMBER_OF_BYTES_ALLOC) > 200000
        FROM performance_schema.memory_summary_by_account_by_event_name WHERE USER = 'root' AND EVENT_NAME = 'memory/sql/statement_rows'";
    assert_eq!(server.sql(over), "1\t0\t1", "what is over is the account's");
    // Nothing is left of who went; one asks.
    drop(session);
    gone(&server, &own);
    let [used, _] = bytes(&server, "user", "sql/THD", "USER = 'root'");
    let own_size = number(
        &server,
        "SELECT CURRENT_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_by_thread_by_event_name WHERE EVENT_NAME = 'memory/sql/THD' AND THREAD_ID = PS_CURRENT_THREAD_ID()",
    );
    assert_eq!(used, own_size);
    server.sql("TRUNCATE performance_schema.memory_summary_by_user_by_event_name");
    let counted = "SELECT SUM(COUNT_FREE) FROM performance_schema.memory_summary_by_user_by_event_name WHERE EVENT_NAME = 'memory/sql/THD' AND USER = 'root'";
    assert!(number(&server, counted) <= 1, "the one who truncated");
}

#[test]
fn a_balance_stays_right_while_its_instrument_is_switched() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let (mut early, mut late) = (server.converse(), server.converse());
    let instrument = "sql/Prepared_statement::main_mem_root";
    let used = |server: &Server| bytes(server, "user", instrument, "USER = 'root'")[0];
    let switch = |on: &str| {
        server.sql(&format!("UPDATE performance_schema.setup_instruments SET ENABLED = '{on}' WHERE NAME = 'memory/{instrument}'"));
    };
    early.ask("PREPARE a FROM 'SELECT 1'");
    let one = used(&server);
    assert!(one > 100, "{one}");
    switch("NO");
    late.ask("PREPARE b FROM 'SELECT 2'");
    assert_eq!(used(&server), one);
    early.ask("DEALLOCATE PREPARE a");
    assert_eq!(used(&server), 0, "what was counted is given back");
    switch("YES");
    late.ask("DEALLOCATE PREPARE b");
    assert_eq!(used(&server), 0, "what was not counted is not");
    let global = format!(
        "SELECT CURRENT_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_global_by_event_name WHERE EVENT_NAME = 'memory/{instrument}'"
    );
    assert_eq!(number(&server, &global), 0);
}

/// What the Performance Schema keeps that its limit is for.
const KEPT: &str = "SELECT IFNULL(SUM(CURRENT_NUMBER_OF_BYTES_USED), 0) FROM performance_schema.memory_summary_global_by_event_name
    WHERE EVENT_NAME LIKE 'memory/performance\\_schema/%' AND EVENT_NAME NOT LIKE '%counter\\_pages'";

fn lost(server: &Server, what: &str) -> i64 {
    number(
        server,
        &format!(
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Performance_schema_{what}_lost'"
        ),
    )
}

/// Statements of so many digests.
fn run_digests(server: &Server, from: usize, to: usize) {
    let statements: String = (from..to).map(|n| format!("SELECT 1 AS digest_{n};")).collect();
    server.sql(&statements);
}

#[test]
fn without_memory_nothing_is_kept_and_all_runs() {
    let folder = TempDir::new();
    let server = Server::with().option("--performance-schema-memory-limit=0").start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 1), (2, 2)");
    let mut session = server.converse();
    session.ask("PREPARE p FROM 'SELECT c FROM d.t WHERE id = ?'");
    session.ask("SET @id = 2");
    assert_eq!(session.ask("EXECUTE p USING @id"), ["2"]);
    session.ask("BEGIN");
    session.ask("UPDATE d.t SET c = 5");
    session.ask("COMMIT");
    run_digests(&server, 0, 300);
    assert_eq!(number(&server, KEPT), 0);
    for what in [
        "digest",
        "locker",
        "prepared_statements",
        "accounts",
        "users",
        "hosts",
        "file_instances",
        "socket_instances",
    ] {
        assert!(lost(&server, what) > 0, "{what}");
    }
    for table in [
        "events_statements_summary_by_digest",
        "events_statements_history",
        "events_transactions_history",
        "prepared_statements_instances",
        "file_instances",
        "socket_instances",
    ] {
        assert_eq!(
            number(&server, &format!("SELECT COUNT(*) FROM performance_schema.{table}")),
            0,
            "{table}"
        );
    }
    let selects = "SELECT COUNT_STAR > 300 FROM performance_schema.events_statements_summary_global_by_event_name WHERE EVENT_NAME = 'statement/sql/select'";
    assert_eq!(number(&server, selects), 1, "figures by instrument are there");
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    server.sql("SELECT * FROM d.t; SELECT COUNT(*) FROM performance_schema.mutex_instances");
    server.sql("SET GLOBAL limpid_instrument_level = default");
    server.sql("FLUSH STATUS");
    assert!(lost(&server, "file_instances") < 50);
}

#[test]
fn with_little_memory_what_comes_later_is_lost() {
    const LIMIT: i64 = 1 << 20;
    let folder = TempDir::new();
    let server = Server::with().option("--performance-schema-memory-limit=1M").start(folder.path());
    assert_eq!(server.sql("SELECT @@performance_schema_memory_limit"), LIMIT.to_string());
    for part in 0..20 {
        run_digests(&server, part * 1000, part * 1000 + 1000);
        let kept = number(&server, KEPT);
        assert!(kept > 0 && kept <= LIMIT, "{kept}");
    }
    let digests = number(
        &server,
        "SELECT COUNT(*) FROM performance_schema.events_statements_summary_by_digest",
    );
    assert!((100..10_000).contains(&digests), "{digests}");
    let lost_digests = lost(&server, "digest");
    assert!(lost_digests > 10_000, "{lost_digests}");
    // What is given back is there for others.
    server.sql("TRUNCATE performance_schema.events_statements_summary_by_digest");
    assert!(number(&server, KEPT) < LIMIT / 2);
    server.sql("SELECT 'again'");
    let again = "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT = 'SELECT ?'";
    assert_eq!(number(&server, again), 1);
}

/// What is kept of sessions' statements.
fn of_sessions(server: &Server) -> i64 {
    number(
        server,
        "SELECT SUM(CURRENT_NUMBER_OF_BYTES_USED) FROM performance_schema.memory_summary_global_by_event_name
         WHERE EVENT_NAME IN ('memory/performance_schema/digests_of_sessions', 'memory/performance_schema/statement_texts',
            'memory/performance_schema/events_statements_history', 'memory/performance_schema/events_transactions_history')",
    )
}

#[test]
fn instruments_keep_little_of_a_session_less_of_a_silent_one_and_nothing_of_one_that_went() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    // What the digests keep for all sessions is there before.
    run_digests(&server, 0, 100);
    of_sessions(&server);
    let before = of_sessions(&server);
    let mut session = server.converse();
    let own = own(&mut session);
    for n in 0..100 {
        session.ask(&format!("SELECT 1 AS digest_{n}"));
    }
    let busy = of_sessions(&server) - before;
    assert!((100_000..=256 << 10).contains(&busy), "{busy} bytes");
    testkit::pause(11_000);
    let silent = of_sessions(&server) - before;
    assert!(silent <= 8 << 10, "{silent} bytes");
    drop(session);
    gone(&server, &own);
    let left = of_sessions(&server) - before;
    // A digest's slowest statement may be another one.
    assert!(left <= 1024, "{left} bytes");
}

/// What a silent session may have resident for instruments.
const SILENT_KB_MAX: f64 = 14.0;

/// Resident memory of a server, in kilobytes.
fn resident_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Kilobytes that a session has resident: with 100 digests, after a silence, and after its end.
fn resident_of_a_session(option: &str) -> [f64; 3] {
    const SESSIONS: usize = 100;
    let folder = TempDir::new();
    let server = Server::with().option(option).start(folder.path());
    let ask = |client: &mut RawClient, n: usize| {
        assert!(client.command(3, format!("SELECT 1 AS digest_{n}").as_bytes()));
        client.skip_result();
    };
    let connect = || {
        let sessions = (0..SESSIONS).map(|_| {
            let mut client = RawClient::connect(&server);
            client.login();
            client
        });
        sessions.collect::<Vec<_>>()
    };
    // What all digests and so many connections need once is there before.
    let mut first = connect();
    (0..SESSIONS).for_each(|n| ask(&mut first[n], n));
    drop(first);
    testkit::pause(1_000);
    let before = resident_kb(&server) as f64;
    let mut sessions = connect();
    sessions.iter_mut().for_each(|client| (0..100).for_each(|n| ask(client, n)));
    let each = |now: u64| (now as f64 - before) / SESSIONS as f64;
    let busy = each(resident_kb(&server));
    // They rest after ten seconds; ten more, and the allocator gives back what they left.
    testkit::pause(22_000);
    let silent = each(resident_kb(&server));
    drop(sessions);
    testkit::pause(13_000);
    [busy, silent, each(resident_kb(&server))]
}

/// All that sessions have resident for instruments, pages of counters and what the allocator keeps included: what they have more
/// than where nothing is instrumented.
#[test]
#[ignore = "cargo xtask soak"]
fn a_session_has_little_resident_for_instruments() {
    let [with, without] = std::thread::scope(|scope| {
        let measure = |option| scope.spawn(move || resident_of_a_session(option));
        ["--performance-schema=ON", "--performance-schema=OFF"]
            .map(measure)
            .map(|thread| thread.join().unwrap())
    });
    let more: Vec<f64> = with.iter().zip(without).map(|(with, without)| with - without).collect();
    println!(
        "a session's resident kB with, without and for instruments: {with:.1?}, {without:.1?}, {more:.1?}"
    );
    assert!(more[0] > 20.0, "nothing was measured: {with:?}, {without:?}");
    assert!(more[0] <= 256.0, "{more:?} kB busy, silent, gone");
    // 8 is the aim, which what is counted of it meets: pages of counters are whole ones.
    assert!(more[1] <= SILENT_KB_MAX, "{more:?} kB busy, silent, gone");
    // A quarter of a megabyte of all that came and went.
    assert!(more[2] <= 2.5, "{more:?} kB busy, silent, gone");
}

/// Sessions that come, run a statement, and go.
fn come_and_go(server: &Server, n: usize) {
    for _ in 0..n {
        let mut client = RawClient::connect(server);
        client.login();
        assert!(client.command(3, b"SELECT id FROM d.t WHERE id = 1"));
        for _ in 0..5 {
            client.packet().expect("an answer");
        }
    }
}

/// Resident memory before and after so many sessions.
fn memory_of_sessions(n: usize) {
    let folder = TempDir::new();
    let server = with_table(&folder);
    come_and_go(&server, 500);
    let before = resident_kb(&server);
    come_and_go(&server, n);
    let after = resident_kb(&server);
    println!("resident: {before} kB before, {after} kB after {n} sessions");
    let within = before * 95..=before * 105;
    assert!(within.contains(&(after * 100)), "{before} kB before, {after} kB after");
}

#[test]
fn sessions_that_went_leave_no_memory() {
    memory_of_sessions(2_000);
}

#[test]
#[ignore = "cargo xtask soak"]
fn ten_thousand_sessions_that_went_leave_no_memory() {
    memory_of_sessions(10_000);
}
