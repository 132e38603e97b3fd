//! Statements in both protocols: replies, transactions, variables, diagnostics.

use super::*;
use wire::constants::StatusFlags;

impl Client {
    pub(super) fn query(&mut self, sql: &str) -> Vec<Vec<u8>> {
        self.command(&[b"\x03", sql.as_bytes()].concat())
    }

    pub(super) fn run(&mut self, sql: &str) {
        let replies = self.query(sql);
        assert_ok(&replies);
    }

    /// Rows of a text result.
    pub(super) fn rows(&mut self, sql: &str) -> Vec<String> {
        let replies = self.query(sql);
        assert_ne!(replies[0][0], 0xFF, "{sql}: {:?}", text_of(&replies));
        let columns = usize::from(replies[0][0]);
        replies[1 + columns..replies.len() - 1].iter().map(|row| row_text(row)).collect()
    }

    pub(super) fn fails(&mut self, sql: &str) -> u16 {
        error_of(&self.query(sql))
    }

    /// Status flags of the OK that a statement answers.
    fn status_after(&mut self, sql: &str) -> StatusFlags {
        let replies = self.query(sql);
        assert_ok(&replies);
        StatusFlags(u16::from_le_bytes([replies[0][3], replies[0][4]]))
    }

    pub(super) fn prepare(&mut self, sql: &str) -> u32 {
        let replies = self.command(&[b"\x16", sql.as_bytes()].concat());
        assert_eq!(replies[0][0], 0, "{:?}", text_of(&replies));
        u32::from_le_bytes(replies[0][1..5].try_into().expect("four bytes"))
    }

    pub(super) fn execute(&mut self, id: u32, rest: &[u8]) -> Vec<Vec<u8>> {
        let head = [&[0x17][..], &id.to_le_bytes(), &[0, 1, 0, 0, 0]].concat();
        self.command(&[&head[..], rest].concat())
    }
}

fn row_text(row: &[u8]) -> String {
    let mut r = stdx::bytes::Reader::new(row);
    let mut values = Vec::new();
    while !r.is_empty() {
        if r.peek() == Some(wire::lenenc::NULL) {
            r.u8().expect("peeked");
            values.push("NULL".to_string());
            continue;
        }
        let v = wire::lenenc::bytes(&mut r).expect("a value");
        values.push(String::from_utf8_lossy(v).into_owned());
    }
    values.join("|")
}

pub(super) fn with_table() -> (Arc<Server>, Client) {
    let server = server();
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE db");
    client.run("USE db");
    client.run(
        "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT, c CHAR(20) NOT NULL, PRIMARY KEY (id))",
    );
    client.run("INSERT INTO t (c) VALUES ('one'), ('two'), ('three')");
    (server, client)
}

#[test]
fn text_point_reads_share_a_plan() {
    let (_server, mut client) = with_table();
    for (id, c) in [(1, "one"), (2, "two"), (3, "three")] {
        assert_eq!(client.rows(&format!("SELECT c FROM t WHERE id={id}")), [c]);
    }
    assert!(client.rows("SELECT c FROM t WHERE id=4").is_empty());
    assert_eq!(client.rows("SHOW SESSION STATUS LIKE 'limpid_plan_cache_hits'").len(), 1);
    // Another schema, then a changed table: the plan must follow.
    client.run("CREATE DATABASE other");
    client.run("USE other");
    assert_eq!(client.fails("SELECT c FROM t WHERE id=1"), 1146);
    client.run("USE db");
    assert_eq!(client.rows("SELECT c FROM t WHERE id=1"), ["one"]);
    client.run("TRUNCATE TABLE t");
    assert!(client.rows("SELECT c FROM t WHERE id=1").is_empty());
    client.run("DROP TABLE t");
    assert_eq!(client.fails("SELECT c FROM t WHERE id=1"), 1146);
}

#[test]
fn a_repeated_header_follows_the_collation_and_the_definition() {
    let (_server, mut client) = with_table();
    let id = client.prepare("SELECT c FROM t WHERE id=?");
    let first = client.execute(id, b"\0\x01\x08\0\x01\0\0\0\0\0\0\0");
    let again = |client: &mut Client| client.execute(id, b"\0\0\x01\0\0\0\0\0\0\0");
    assert_eq!(again(&mut client), first);
    let text = client.command(b"\x03SELECT c FROM t WHERE id=1");
    assert_eq!(text[..2], first[..2]);
    assert_eq!(client.command(b"\x03SELECT c FROM t WHERE id=1"), text);
    client.run("SET NAMES binary");
    let other = again(&mut client);
    assert_ne!(other[1], first[1], "the collation is in the definition");
    assert_eq!(other[2..], first[2..]);
    assert_eq!(client.command(b"\x03SELECT c FROM t WHERE id=1")[1], other[1]);
    client.run("SET NAMES utf8mb4");
    assert_eq!(again(&mut client), first);
    // The same name, another type.
    client.run("DROP TABLE t");
    client.run("CREATE TABLE t (id INT PRIMARY KEY, c BIGINT)");
    client.run("INSERT INTO t VALUES (1, 77)");
    let changed = again(&mut client);
    assert_ne!(changed[1], first[1]);
    assert_eq!(changed[2], b"\0\0\x4D\0\0\0\0\0\0\0", "{changed:?}");
    assert_eq!(client.rows("SELECT c FROM t WHERE id=1"), ["77"]);
}

#[test]
fn prepared_statements() {
    let (_server, mut client) = with_table();
    let id = client.prepare("SELECT c FROM t WHERE id=?");
    let replies = client.execute(id, b"\0\x01\x08\0\x02\0\0\0\0\0\0\0");
    assert_eq!(replies[2], b"\0\0\x03two");
    // Types are kept.
    let replies = client.execute(id, b"\0\0\x03\0\0\0\0\0\0\0");
    assert_eq!(replies[2], b"\0\0\x05three");
    assert_eq!(error_of(&client.execute(id, b"\0\x01\x08\0\x02")), 1210);
    assert_eq!(error_of(&client.execute(id + 1, b"")), 1243);
    let insert = client.prepare("INSERT INTO t (c) VALUES (?)");
    let long = [&[0x18][..], &insert.to_le_bytes(), &[0, 0], b"lo"].concat();
    assert!(client.command(&long).is_empty());
    assert!(client.command(&[&long[..7], b"ng"].concat()).is_empty());
    assert_ok(&client.execute(insert, b"\0\x01\xFD\0"));
    assert_eq!(client.rows("SELECT c FROM t WHERE id=4"), ["long"]);
    assert_ok(&client.execute(insert, b"\0\x01\xFD\0\x05again"));
    assert_eq!(client.rows("SELECT c FROM t WHERE id=5"), ["again"]);
    let commit = client.prepare("COMMIT");
    assert_ok(&client.execute(commit, b""));
    let show = client.prepare("SHOW VARIABLES LIKE 'port'");
    assert_eq!(client.execute(show, b"")[0], [2]);
    assert_eq!(error_of(&client.command(b"\x16SHOW WARNINGS")), 1295);
    assert_eq!(error_of(&client.command(b"\x16BEGIN")), 1295);
    assert!(client.command(&[&[0x19][..], &id.to_le_bytes()].concat()).is_empty());
    assert_eq!(error_of(&client.execute(id, b"\0\0\x03\0\0\0\0\0\0\0")), 1243);
    let replies = client.command(b"\x16SELECT ? FROM nosuch");
    assert_eq!(error_of(&replies), 1146);
}

#[test]
fn several_statements_in_one_text() {
    let (_server, mut client) = with_table();
    let replies = client
        .query("SELECT c FROM t WHERE id=1; INSERT INTO t (c) VALUES ('x'); nonsense; SELECT 1");
    assert_eq!(error_of(&replies), 1064);
    assert!(text_of(&replies).iter().any(|t| t.contains("near 'nonsense")));
    assert_eq!(client.rows("SELECT count(*) FROM t"), ["4"]);
    client.command(b"\x1B\x01\0");
    assert_eq!(client.fails("SELECT 1; SELECT 2"), 1064);
    assert_eq!(client.rows("SELECT 1;"), ["1"]);
    assert_eq!(client.fails(""), 1065);
}

#[test]
fn transactions_and_their_flags() {
    let (server, mut client) = with_table();
    let mut other = Client::root(&server);
    other.run("USE db");
    assert!(client.status_after("BEGIN").has(StatusFlags::IN_TRANSACTION));
    client.run("INSERT INTO t (c) VALUES ('mine')");
    assert_eq!(other.rows("SELECT count(*) FROM t"), ["3"]);
    assert!(!client.status_after("ROLLBACK").has(StatusFlags::IN_TRANSACTION));
    assert_eq!(client.rows("SELECT count(*) FROM t"), ["3"]);
    assert!(!client.status_after("SET autocommit=0").has(StatusFlags::AUTOCOMMIT));
    client.run("INSERT INTO t (c) VALUES ('mine')");
    // SET autocommit=1 commits.
    client.run("SET autocommit=1");
    assert_eq!(other.rows("SELECT count(*) FROM t"), ["4"]);
    // DDL commits what is open.
    client.run("BEGIN");
    client.run("INSERT INTO t (c) VALUES ('more')");
    client.run("CREATE TABLE u (id INT PRIMARY KEY)");
    client.run("ROLLBACK");
    assert_eq!(other.rows("SELECT count(*) FROM t"), ["5"]);
    client.run("START TRANSACTION READ ONLY");
    assert_eq!(client.fails("INSERT INTO t (c) VALUES ('no')"), 1792);
    client.run("COMMIT");
    // A session that ends rolls back and leaves no lock.
    client.run("BEGIN");
    client.run("INSERT INTO t (c) VALUES ('gone')");
    drop(client);
    assert_eq!(other.rows("SELECT count(*) FROM t"), ["5"]);
    other.run("DROP TABLE t");
}

/// Administrative statements commit first; what the session is then, READ ONLY or not, says whether they run.
#[test]
fn analyze_is_no_statement_of_a_read_only_session() {
    let (_server, mut client) = with_table();
    client.run("SET SESSION TRANSACTION READ ONLY");
    assert_eq!(client.fails("ANALYZE TABLE t"), 1792);
    assert_eq!(client.fails("ANALYZE TABLE t UPDATE HISTOGRAM ON c"), 1792);
    assert_eq!(client.rows("CHECK TABLE t"), ["db.t|check|status|OK"]);
    client.run("SET SESSION TRANSACTION READ WRITE");
    client.run("START TRANSACTION READ ONLY");
    assert_eq!(client.rows("ANALYZE TABLE t"), ["db.t|analyze|status|OK"]);
}

/// Nobody locks rows of most virtual tables, but a clause is about the tables that it names, and none of a derived table.
#[test]
fn a_locking_clause_may_stand_beside_virtual_tables() {
    let (_server, mut client) = with_table();
    let counted = "SELECT COUNT(*) > 0 AS n FROM performance_schema.performance_timers";
    let joined = format!("SELECT d.n FROM ({counted}) d JOIN t ON t.id = d.n FOR UPDATE");
    for sql in [
        "SELECT t.id FROM t, information_schema.schemata s WHERE s.schema_name = 'db' AND id = 1 FOR UPDATE OF t",
        "SELECT t.id FROM t, information_schema.schemata s WHERE s.schema_name = 'db' AND id = 1 FOR SHARE OF t",
        "SELECT d.id FROM (SELECT 1 AS id FROM performance_schema.performance_timers LIMIT 1) d FOR UPDATE",
        "SELECT d.id FROM (SELECT DISTINCT 1 AS id FROM performance_schema.performance_timers) d FOR SHARE",
        joined.as_str(),
        "SELECT id FROM t WHERE id = (SELECT MIN(1) FROM performance_schema.performance_timers) FOR UPDATE",
    ] {
        assert_eq!(client.rows(sql), ["1"], "{sql}");
    }
    let merged = "SELECT COUNT(*) > 0 FROM (SELECT timer_name FROM performance_schema.performance_timers) d FOR UPDATE";
    assert_eq!(client.rows(merged), ["1"]);
    for (sql, error) in [
        ("SELECT 1 FROM t, information_schema.schemata s FOR UPDATE OF s", 1142),
        ("SELECT 1 FROM t, information_schema.schemata s FOR UPDATE", 1142),
        ("SELECT 1 FROM t, information_schema.schemata s FOR SHARE OF s FOR UPDATE OF t", 3550),
        ("SELECT 1 FROM (SELECT 1 FROM performance_schema.performance_timers FOR UPDATE) d", 1142),
        ("SELECT (SELECT MIN(1) FROM performance_schema.performance_timers FOR UPDATE)", 1142),
    ] {
        assert_eq!(client.fails(sql), error, "{sql}");
    }
}

#[test]
fn a_failed_statement_leaves_nothing_and_is_diagnosed() {
    let (_server, mut client) = with_table();
    assert_eq!(client.fails("INSERT INTO t (id, c) VALUES (10,'a'), (11,'b'), (1,'c')"), 1062);
    assert_eq!(client.rows("SELECT count(*) FROM t"), ["3"]);
    assert_eq!(client.fails("SELECT nosuch FROM t"), 1054);
    let warnings = client.rows("SHOW WARNINGS");
    assert_eq!(warnings, ["Error|1054|Unknown column 'nosuch' in 'field list'"]);
    assert_eq!(client.rows("SHOW COUNT(*) ERRORS"), ["1"]);
    client.rows("SELECT 1");
    assert!(client.rows("SHOW WARNINGS").is_empty());
}

#[test]
fn variables_by_sql() {
    let (server, mut client) = with_table();
    client.run("SET wait_timeout=11, @@session.net_read_timeout=12, @a='x'");
    assert_eq!(client.rows("SELECT @@wait_timeout, @@net_read_timeout, @a"), ["11|12|x"]);
    assert_eq!(client.session.timeout_s(), 11);
    client.run("SET GLOBAL wait_timeout=99");
    assert_eq!(client.rows("SELECT @@global.wait_timeout, @@wait_timeout"), ["99|11"]);
    client.run("SET wait_timeout=DEFAULT");
    assert_eq!(client.rows("SELECT @@wait_timeout"), ["99"]);
    assert_eq!(client.fails("SET nosuch=1"), 1193);
    assert_eq!(client.fails("SET port=1"), 1238);
    assert_eq!(client.fails("SET max_connections=1"), 1229);
    assert_eq!(client.fails("SET GLOBAL timestamp=1"), 1228);
    assert_eq!(client.fails("SET autocommit='maybe'"), 1231);
    assert_eq!(client.fails("SET wait_timeout='x'"), 1232);
    // The first value is not stored when the second is wrong.
    assert_eq!(client.fails("SET net_read_timeout=77, wait_timeout='x'"), 1232);
    assert_eq!(client.rows("SELECT @@net_read_timeout"), ["12"]);
    client.run("SET wait_timeout=-1");
    assert_eq!(client.rows("SHOW WARNINGS").len(), 1);
    assert_eq!(
        client.rows("SHOW VARIABLES WHERE variable_name IN ('autocommit','port')"),
        ["autocommit|ON", "port|3306"]
    );
    client.run("SET sql_mode='ANSI_QUOTES'");
    assert_eq!(client.rows("SELECT \"id\" FROM t WHERE id=1"), ["1"]);
    client.run("SET GLOBAL innodb_flush_log_at_trx_commit=2");
    assert_eq!(server.engine.settings().flush_log_at_trx_commit(), 2);
    client.run("SET NAMES latin1");
    assert_eq!(client.fails("SET NAMES klingon"), 1115);
    client.run("SET PERSIST wait_timeout=5");
    client.run("RESET PERSIST wait_timeout");
    assert_eq!(client.fails("RESET PERSIST wait_timeout"), 3615);
    client.command(b"\x1F");
    assert_eq!(client.rows("SELECT @@wait_timeout, @a"), ["5|NULL"]);
    // An interactive client starts with the other time-out.
    let mut interactive = Client::root(&server);
    assert_eq!(interactive.rows("SELECT @@wait_timeout"), ["28800"]);
}

#[test]
fn what_is_not_there_yet_says_so() {
    let (_server, mut client) = with_table();
    for sql in ["HANDLER t OPEN", "FLUSH TABLES t FOR EXPORT"] {
        let replies = client.query(sql);
        assert_eq!(error_of(&replies), 1235, "{sql}");
    }
    assert_eq!(client.fails("SELEC 1"), 1064);
}

#[test]
fn a_statement_of_the_session_that_commits_leaves_the_next_one_its_transaction() {
    let (_server, mut client) = with_table();
    client.run("SET autocommit = 0");
    client.run("SET PASSWORD = ''");
    client.run("INSERT INTO t (c) VALUES ('four')");
    client.run("ROLLBACK");
    assert_eq!(client.rows("SELECT COUNT(*) FROM t"), ["3"]);
}

#[test]
fn a_client_that_vanishes_in_the_middle_of_a_result_ends_its_session_only() {
    let (server, mut client) = with_table();
    let row = format!("('{}')", "x".repeat(20));
    let many = vec![row.as_str(); 1000].join(",");
    for _ in 0..4 {
        client.run(&format!("INSERT INTO t (c) VALUES {many}"));
    }
    let mut gone = Client::root(&server);
    gone.run("USE db");
    let query = b"\x03SELECT id, c, c, c FROM t";
    let mut bytes = (query.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(query);
    gone.session.space()[..bytes.len()].copy_from_slice(&bytes);
    gone.session.received(bytes.len());
    let mut closed_pipe = Sent { refuses: true, ..Sent::default() };
    assert_eq!(gone.session.step(&mut closed_pipe), Next::Close);
    drop(gone);
    assert_eq!(server.connections_open(), 1);
    client.run("DROP TABLE t");
}

#[test]
fn a_large_result_is_sent_in_pieces() {
    let (_server, mut client) = with_table();
    let row = format!("('{}')", "y".repeat(20));
    let many = vec![row.as_str(); 3000].join(",");
    client.run(&format!("INSERT INTO t (c) VALUES {many}"));
    let query = b"\x03SELECT id, c FROM t";
    let mut bytes = (query.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(query);
    client.session.space()[..bytes.len()].copy_from_slice(&bytes);
    client.session.received(bytes.len());
    let mut sent = Sent::default();
    assert_eq!(client.session.step(&mut sent), Next::Continue);
    assert!(sent.bytes.len() > 60_000, "{}", sent.bytes.len());
    assert!(client.session.outgoing().len() < 80_000);
}

#[test]
fn kill_query_interrupts_a_sleep_and_nothing_else() {
    let (server, mut client) = with_table();
    let id = client.session.id();
    let sleeper = host::thread::spawn("sleeper", move || {
        let rows = client.rows("SELECT SLEEP(30)");
        (rows, client.rows("SELECT 1"))
    })
    .expect("a thread");
    let mut killer = Client::root(&server);
    while !killer.rows("SHOW PROCESSLIST").iter().any(|r| r.contains("SLEEP")) {
        std::thread::yield_now();
    }
    while !sleeper.is_finished() {
        // 1094 when it has just left.
        killer.query(&format!("KILL QUERY {id}"));
        std::thread::yield_now();
    }
    let (slept, after) = sleeper.join().expect("no panic");
    assert_eq!((slept, after), (vec!["1".to_string()], vec!["1".to_string()]));
    assert_eq!(killer.fails("KILL 4711"), 1094);
}

#[test]
fn a_process_list_shows_what_runs_and_cuts_its_text_unless_it_is_full() {
    let (server, mut client) = with_table();
    let comment = format!("/* {} */", "ä".repeat(200));
    let mut short = client.rows(&format!("SHOW PROCESSLIST {comment}"));
    let mut full = client.rows(&format!("SHOW FULL PROCESSLIST {comment}"));
    let (short, full) = (short.remove(0), full.remove(0));
    let id = client.session.id();
    let columns: Vec<&str> = short.splitn(8, '|').collect();
    assert_eq!(columns[0], id.to_string());
    assert_eq!((columns[1], columns[4], columns[6]), ("root", "Query", "init"));
    assert_eq!(columns[7].chars().count(), 100);
    assert!(full.ends_with(&format!("|SHOW FULL PROCESSLIST {comment}")), "{full}");
    let mut other = Client::root(&server);
    let idle = other.rows("SHOW PROCESSLIST").remove(0);
    let columns: Vec<&str> = idle.splitn(8, '|').collect();
    assert_eq!((columns[4], columns[6], columns[7]), ("Sleep", "", "NULL"), "{idle}");
}

#[test]
fn the_deepest_statements_fit_the_stack() {
    let (_server, mut client) = with_table();
    let deep = |open: &str, core: &str, close: &str, n: usize| {
        format!("SELECT {}{core}{} FROM t WHERE id=1", open.repeat(n), close.repeat(n))
    };
    let texts = [
        ("(", "1", ")"),
        ("- ", "1", ""),
        ("NOT ", "1", ""),
        ("ABS(", "1", ")"),
        ("CASE WHEN 1 THEN ", "1", " END"),
        ("(SELECT ", "1", ")"),
        ("1 + ", "1", ""),
        ("1 OR ", "1", ""),
        ("id <> 7 AND ", "1", ""),
        ("JSON_ARRAY(", "1", ")"),
        ("EXISTS (SELECT 1 WHERE ", "1", ")"),
        ("1 IN (SELECT ", "1", ")"),
        ("1 BETWEEN 0 AND ", "1", ""),
        ("(SELECT * FROM (SELECT ", "1", ") t)"),
        ("(SELECT 1 UNION SELECT ", "1", ")"),
        ("(WITH c AS (SELECT 1 UNION SELECT ", "1", ") SELECT * FROM c LIMIT 1)"),
    ];
    let check = move || {
        for (open, core, close) in texts {
            // Every depth up to one that is refused, in growing steps.
            for n in [10, 50, 90, 99, 150, 190, 198, 199, 200, 400, 900, 999, 1000, 5000, 50_000] {
                let replies = client.query(&deep(open, core, close, n));
                assert!(!replies.is_empty(), "{open} {n}");
            }
        }
    };
    let thread = host::thread::spawn_with_stack("deep", crate::STACK_BYTES_MIN, check);
    thread.expect("a thread").join().expect("no panic");
}

/// The number of a statement's error; 0: it went well.
fn outcome(client: &mut Client, sql: &str) -> u16 {
    let replies = client.query(sql);
    if replies[0][0] == 0xFF { error_of(&replies) } else { 0 }
}

/// MySQL's limits: calls 900 deep and SELECTs 64 deep go well, chains of conditions have none.
#[test]
fn what_is_too_deep_fails_alone() {
    let (_server, mut client) = with_table();
    let check = move || {
        for n in [900, 10_000] {
            let refused = if n == 900 { 0 } else { 1436 };
            let sql = format!("{}id{}", "ABS(".repeat(n), ")".repeat(n));
            assert_eq!(outcome(&mut client, &format!("SELECT {sql} FROM t")), refused);
            assert_eq!(outcome(&mut client, &format!("EXPLAIN SELECT {sql} FROM t")), refused);
            let any: Vec<_> = (0..n).map(|n| format!("id = {n} AND id <> {n}")).collect();
            for word in [" OR ", " AND "] {
                let sql = format!("SELECT * FROM t WHERE {}", any.join(word));
                assert_eq!(outcome(&mut client, &sql), 0);
            }
        }
        for (n, refused) in [(63, 0), (64, 1473), (900, 1473)] {
            let sql = format!("SELECT {}1{}", "(SELECT ".repeat(n), ")".repeat(n));
            assert_eq!(outcome(&mut client, &sql), refused, "{n}");
        }
        let mut chain = String::from("WITH c0 AS (SELECT 1 a)");
        for n in 1..10_000 {
            chain += &format!(", c{n} AS (SELECT a FROM c{})", n - 1);
        }
        assert_eq!(outcome(&mut client, &format!("{chain} SELECT * FROM c9999")), 1473);
        // Each view names the column of the one below twice.
        client.run("CREATE VIEW v0 AS SELECT id a FROM t");
        for n in 1..64 {
            let sql = format!("CREATE VIEW v{n} AS SELECT a + a a FROM v{}", n - 1);
            assert_eq!(outcome(&mut client, &sql), 0, "{n}");
        }
        assert_eq!(outcome(&mut client, "CREATE VIEW v64 AS SELECT a FROM v63"), 1473);
        assert_eq!(outcome(&mut client, "SELECT * FROM v20 WHERE a > 1"), 0);
    };
    let thread = host::thread::spawn_with_stack("deep", crate::STACK_BYTES_MIN, check);
    thread.expect("a thread").join().expect("no panic");
}

/// Every function of the registry, with arguments from which long texts could come.
#[test]
fn no_function_makes_more_than_a_packet() {
    let (server, mut client) = with_table();
    client.run("SET GLOBAL max_allowed_packet = 2048");
    drop(client);
    let mut client = Client::root(&server);
    let arguments = [
        "REPEAT('a', 2000)",
        "REPEAT(X'27', 1500)",
        "REPEAT(',', 1800)",
        "1",
        "2000",
        "-1",
        "JSON_ARRAY(REPEAT('a', 1900))",
        "'$[0]'",
        "'a'",
        "'%W'",
        "NOW()",
        "X'FFFF'",
    ];
    let mut rng = stdx::rng::Rng::new(7);
    let mut answered = 0;
    for function in expr::functions::all().filter(|f| f.shape == expr::functions::Shape::Call) {
        if ["sleep", "benchmark", "get_lock", "load_file"].contains(&function.name) {
            continue;
        }
        for _ in 0..40 {
            let least = function.arity.0 as u64;
            let most = (function.arity.1 as u64).min(least + 3);
            let count = least + rng.below(most - least + 1);
            let given = (0..count).map(|_| arguments[rng.below(arguments.len() as u64) as usize]);
            let call = format!("{}({})", function.name, given.collect::<Vec<_>>().join(", "));
            let replies = client.query(&format!("SELECT LENGTH({call})"));
            if replies.len() < 3 {
                continue;
            }
            let length = row_text(&replies[replies.len() - 2]).parse::<usize>().unwrap_or(0);
            assert!(length <= 2048, "{call}: {length}");
            answered += 1;
        }
    }
    assert!(answered > 2000, "{answered}");
}

#[test]
fn random_texts_never_panic() {
    let (_server, mut client) = with_table();
    let words = [
        "SELECT", "c", "FROM", "t", "WHERE", "id", "=", "1", "'x'", "(", ")", ",", "INSERT",
        "INTO", "VALUES", "UPDATE", "SET", "DELETE", "@@", "@a", "AND", "OR", "NULL", "*", "LIMIT",
        "?", ";", "SHOW", "TABLES", "--", "`", "\"", "ORDER BY", "GROUP BY", "BEGIN", "COMMIT",
        "-", ".5",
    ];
    let mut rng = stdx::rng::Rng::new(9);
    for _ in 0..3000 {
        let n = 1 + rng.below(12);
        let sql: Vec<&str> =
            (0..n).map(|_| words[rng.below(words.len() as u64) as usize]).collect();
        let replies = client.query(&sql.join(" "));
        assert!(!replies.is_empty());
    }
}
