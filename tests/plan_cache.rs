//! Plans that are kept for texts: whatever size the cache has, the answers are those of plans made anew.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use testkit::{Conversation, Server, ServerBuilder, TempDir};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql")
}

/// Figures gathered in the midst of a script would change its plans.
fn with_steady_figures() -> ServerBuilder {
    Server::with().option("--innodb-stats-auto-recalc=OFF")
}

fn without_plans() -> ServerBuilder {
    with_steady_figures().option("--limpid-plan-cache-size=0")
}

#[test]
fn recorded_conversations_come_out_the_same_without_and_with_little_room_for_plans() {
    let folder = TempDir::new();
    let server = without_plans().start(folder.path());
    testkit::golden::run_folder(&server, &scripts());
    // Room for one or two plans in each shard.
    server.sql("SET GLOBAL limpid_plan_cache_size = 131072");
    testkit::golden::run_folder(&server, &scripts());
}

/// The script with copies of each one-line statement beside it whose literals are others, so that plans are
/// made for some values and used for others.
fn with_other_literals(script: &str) -> String {
    let mut rng = stdx::rng::Rng::new(17);
    let mut out = String::new();
    for line in script.lines() {
        let verb = line.split(' ').next().unwrap_or_default();
        let varied = matches!(verb, "SELECT" | "WITH" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE");
        let varied = varied && line.ends_with(';') && line.matches(';').count() == 1;
        // Not even the same text has the same answer twice, or it takes as long as it is told.
        let moments = [
            "RAND()",
            "RANDOM_BYTES(",
            "NOW(",
            "SYSDATE(",
            "CURTIME(",
            "CURRENT_TIME",
            "UTC_TIME",
            "SLEEP(",
            "BENCHMARK(",
        ];
        let varied = varied && !moments.iter().any(|word| line.contains(word));
        // Which row of a query without an order meets a duplicate key first is open.
        let varied = varied && !(verb == "INSERT" && line.contains(" SELECT "));
        let mut copy = |out: &mut String| {
            if varied {
                out.push_str(&other_literals(line, &mut rng));
                out.push('\n');
            }
        };
        copy(&mut out);
        copy(&mut out);
        out.push_str(line);
        out.push('\n');
        copy(&mut out);
    }
    out
}

/// The text with some of its numbers and strings replaced.
fn other_literals(line: &str, rng: &mut stdx::rng::Rng) -> String {
    let mut out = String::new();
    for (number, part) in line.split('\'').enumerate() {
        if number > 0 {
            out.push('\'');
        }
        if number % 2 == 1 {
            let keeps = part.contains('\\') || rng.below(3) > 0;
            out.push_str(if keeps { part } else { ["", "b", "5"][rng.below(3) as usize] });
            continue;
        }
        let mut rest = part;
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            let digits = rest[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - at);
            let inside = |c: char| c.is_alphanumeric() || "_.@`\"".contains(c);
            let alone = !rest[..at].ends_with(inside) && !rest[at + digits..].starts_with(inside);
            out.push_str(&rest[..at]);
            match rest[at..at + digits].parse::<u32>() {
                Ok(n) if alone && rng.below(2) == 0 => {
                    let other = [n.saturating_add(1), n.saturating_sub(1), n / 2, 300];
                    out.push_str(&other[rng.below(4) as usize].to_string());
                }
                _ => out.push_str(&rest[at..at + digits]),
            }
            rest = &rest[at + digits..];
        }
        out.push_str(rest);
    }
    out
}

/// What the stock client prints of a script, errors and column types too.
fn answers(server: &Server, name: &str, script: &str) -> String {
    let folder = TempDir::new();
    server.sql(&format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}"));
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, script).unwrap();
    let file = std::fs::File::create(&output).unwrap();
    let mut command = server.client();
    command.args(["--force", "--verbose", "--verbose", "--show-warnings", "--column-names"]);
    command.args(["--column-type-info", "--unbuffered", name]);
    command.stdin(Stdio::from(std::fs::File::open(&input).unwrap()));
    command.stdout(file.try_clone().unwrap()).stderr(file);
    command.status().unwrap();
    let text = std::fs::read(&output).unwrap();
    let text = String::from_utf8_lossy(&text);
    // When a histogram was made is no answer of a plan's, nor is the name of a copy that has the process's number.
    let lines =
        text.lines().filter(|line| !line.contains("last-updated") && !line.contains("#sql-"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn plans_made_for_other_literals_give_the_same_answers() {
    let (a, b) = (TempDir::new(), TempDir::new());
    let anew = without_plans().start(a.path());
    let kept = with_steady_figures().start(b.path());
    let mut paths: Vec<_> =
        std::fs::read_dir(scripts()).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "sql"));
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let Ok(script) = String::from_utf8(bytes) else { continue };
        let script = with_other_literals(&script);
        let (expected, got) = (answers(&anew, &name, &script), answers(&kept, &name, &script));
        for (number, (e, g)) in expected.lines().zip(got.lines()).enumerate() {
            assert_eq!(g, e, "{name}, line {number} of the answers");
        }
        assert_eq!(got.lines().count(), expected.lines().count(), "{name}");
    }
    let hits = status(&mut kept.converse(), "GLOBAL", "hits");
    assert!(hits > 1000, "{hits} hits");
}

/// A counter of the cache.
fn status(session: &mut Conversation, scope: &str, name: &str) -> u64 {
    let rows = session.ask(&format!("SHOW {scope} STATUS LIKE 'Limpid_plan_cache_{name}'"));
    rows[0].split('\t').nth(1).unwrap().parse().unwrap()
}

/// How many texts of `session` found a plan of its own, one of another session, or none, since the last call.
struct Counts([u64; 3]);

impl Counts {
    fn of(session: &mut Conversation) -> Counts {
        Counts(["hits", "shared_hits", "misses"].map(|name| status(session, "SESSION", name)))
    }

    fn since(&mut self, session: &mut Conversation) -> [u64; 3] {
        let now = Counts::of(session);
        let found = std::array::from_fn(|n| now.0[n] - self.0[n]);
        *self = now;
        found
    }
}

const TABLES: &str = "CREATE DATABASE d; USE d; \
    CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20), KEY (a), KEY (s)); \
    CREATE TABLE u (id INT PRIMARY KEY, tid INT, n INT); \
    INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, 'three'); \
    INSERT INTO u VALUES (1, 1, 7), (2, 1, 8), (3, 2, 9); \
    CREATE VIEW v AS SELECT id, a FROM t WHERE a > 15";

fn join(id: u32) -> String {
    format!("SELECT t.s, u.n FROM t JOIN u ON u.id = t.id WHERE t.id = {id}")
}

#[test]
fn a_text_with_other_literals_finds_its_plan_in_its_session_and_in_others() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(TABLES);
    let (mut a, mut b) = (server.converse(), server.converse());
    a.ask("USE d");
    b.ask("USE d");
    let (mut of_a, mut of_b) = (Counts::of(&mut a), Counts::of(&mut b));
    assert_eq!(a.ask(&join(1)), ["one\t7"]);
    assert_eq!(of_a.since(&mut a)[..2], [0, 0]);
    assert_eq!(a.ask(&join(2)), ["two\t8"]);
    assert_eq!(a.ask(&join(9)), Vec::<String>::new());
    assert_eq!(of_a.since(&mut a)[0], 2);
    assert_eq!(b.ask(&join(3)), ["three\t9"]);
    // The lines by which a conversation marks its answers are shared, too.
    let found = of_b.since(&mut b);
    assert!(found[0] == 0 && found[1] >= 1, "{found:?}");
    assert_eq!(b.ask(&join(1)), ["one\t7"]);
    assert_eq!(of_b.since(&mut b)[0], 1);
    // Changes of rows.
    for (id, n) in [(4, 40), (5, 50), (6, 60)] {
        a.ask(&format!("INSERT INTO t (id, a, s) VALUES ({id}, {n}, 'it''s {id}')"));
        a.ask(&format!("UPDATE t SET a = {n}1 WHERE id = {id}"));
    }
    a.ask("DELETE FROM t WHERE id = 4");
    a.ask("DELETE FROM t WHERE id = 5");
    assert_eq!(of_a.since(&mut a)[0], 5);
    assert_eq!(a.ask("SELECT id, a, s FROM t WHERE id > 3 AND a > 100"), ["6\t601\tit's 6"]);
    // A literal in the select list is part of the statement.
    assert_eq!(a.ask("SELECT a + 1, s FROM t WHERE s = 'one'"), ["11\tone"]);
    assert_eq!(a.ask("SELECT a + 2, s FROM t WHERE s = 'two'"), ["22\ttwo"]);
    assert_eq!(a.ask("SELECT a + 1, s FROM t WHERE s = 'TWO'"), ["21\ttwo"]);
    // A string is no number.
    assert_eq!(a.ask("SELECT s FROM t WHERE a = 10 AND id < 9"), ["one"]);
    assert_eq!(a.ask("SELECT s FROM t WHERE a = '10x' AND id < 9"), ["one"]);
}

#[test]
fn what_changes_the_meaning_of_a_text_is_seen_at_once() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(TABLES);
    let (mut a, mut b) = (server.converse(), server.converse());
    a.ask("USE d");
    b.ask("USE d");
    let star = |n: u32| format!("SELECT * FROM t WHERE a = {n}");
    let view = |n: u32| format!("SELECT COUNT(*) FROM v WHERE id < {n}");
    for session in [&mut a, &mut b] {
        assert_eq!(session.ask(&star(10)), ["1\t10\tone"]);
        assert_eq!(session.ask(&view(9)), ["2"]);
    }
    // ALTER, a view replaced, ANALYZE, DROP and CREATE, by another session.
    b.ask("ALTER TABLE t ADD x INT DEFAULT 5, MODIFY a VARCHAR(20)");
    b.ask("CREATE OR REPLACE VIEW v AS SELECT id FROM t");
    for session in [&mut a, &mut b] {
        assert_eq!(session.ask(&star(20)), ["2\t20\ttwo\t5"]);
        assert_eq!(session.ask(&view(9)), ["3"]);
    }
    b.ask("ANALYZE TABLE t, u");
    assert_eq!(a.ask(&star(30)), ["3\t30\tthree\t5"]);
    b.ask("DROP TABLE t");
    assert_eq!(a.ask(&star(30)), Vec::<String>::new());
    b.ask("CREATE TABLE t (a INT, z INT)");
    b.ask("INSERT INTO t VALUES (30, 1)");
    for session in [&mut a, &mut b] {
        assert_eq!(session.ask(&star(30)), ["30\t1"]);
    }
    // A temporary table hides the table, until it goes.
    a.ask("CREATE TEMPORARY TABLE t (a INT)");
    a.ask("INSERT INTO t VALUES (1), (30)");
    assert_eq!(a.ask(&star(30)), ["30"]);
    assert_eq!(b.ask(&star(30)), ["30\t1"]);
    a.ask("DROP TEMPORARY TABLE t");
    assert_eq!(a.ask(&star(30)), ["30\t1"]);
    // Under LOCK TABLES a table that was not locked cannot be read.
    a.ask("LOCK TABLES u READ");
    assert_eq!(a.ask(&star(30)), Vec::<String>::new());
    a.ask("UNLOCK TABLES");
    assert_eq!(a.ask(&star(30)), ["30\t1"]);
    // READ ONLY transactions refuse what was run before.
    for id in [7, 8] {
        a.ask(&format!("INSERT INTO u VALUES ({id}, 1, 1)"));
    }
    a.ask("START TRANSACTION READ ONLY");
    a.ask("INSERT INTO u VALUES (9, 1, 1)");
    a.ask("COMMIT");
    assert_eq!(a.ask("SELECT COUNT(*) FROM u"), ["5"]);
}

#[test]
fn settings_are_part_of_the_key() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(TABLES);
    server.sql("CREATE DATABASE e; CREATE TABLE e.t (id INT, a INT, s VARCHAR(9)); INSERT INTO e.t VALUES (1, 0, 'E')");
    let mut a = server.converse();
    a.ask("SET NAMES utf8mb4");
    a.ask("USE d");
    let concat = |id: u32| format!("SELECT a || id, a / 3 FROM t WHERE id = {id} AND a > 0");
    assert_eq!(a.ask(&concat(1)), ["1\t3.3333"]);
    a.ask("SET sql_mode = 'PIPES_AS_CONCAT'");
    assert_eq!(a.ask(&concat(2)), ["202\t6.6667"]);
    a.ask("SET div_precision_increment = 2");
    assert_eq!(a.ask(&concat(2)), ["202\t6.67"]);
    a.ask("SET sql_mode = DEFAULT, div_precision_increment = DEFAULT");
    assert_eq!(a.ask(&concat(2)), ["1\t6.6667"]);
    let collated = "SELECT COLLATION('a'), s FROM t WHERE id < 2 AND s <> 'x'";
    assert_eq!(a.ask(collated), ["utf8mb4_0900_ai_ci\tone"]);
    a.ask("SET collation_connection = utf8mb4_bin");
    assert_eq!(a.ask(collated), ["utf8mb4_bin\tone"]);
    a.ask("SET NAMES utf8mb4");
    a.ask("USE e");
    assert_eq!(a.ask(collated), ["utf8mb4_0900_ai_ci\tE"]);
    // What is evaluated when a statement runs is never kept.
    let now = "SELECT COUNT(*) FROM d.u WHERE id < 9 AND NOW(6) > '2020-01-01' AND RAND() < 2";
    assert_eq!(a.ask(now), ["3"]);
    a.ask("SET timestamp = 1000");
    assert_eq!(a.ask(now), ["0"]);
}

#[test]
fn a_plan_is_made_anew_where_the_estimates_differ() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY (a)); \
         INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) \
         SELECT i, IF(i < 900, 1, i), i FROM n; ANALYZE TABLE t",
    );
    let mut a = server.converse();
    a.ask("USE d");
    let count = |n: u32| format!("SELECT COUNT(b) FROM t WHERE a = {n}");
    let mut counts = Counts::of(&mut a);
    assert_eq!(a.ask(&count(950)), ["1"]);
    assert_eq!(a.ask(&count(951)), ["1"]);
    assert_eq!(counts.since(&mut a)[0], 1);
    // Nearly all rows: another plan, which is kept beside the first.
    assert_eq!(a.ask(&count(1)), ["899"]);
    let found = counts.since(&mut a);
    assert_eq!(found[0], 0, "{found:?}");
    assert_eq!(a.ask(&count(960)), ["1"]);
    assert_eq!(a.ask(&count(1)), ["899"]);
    assert_eq!(counts.since(&mut a)[0], 2);
}

#[test]
fn size_zero_keeps_nothing_and_a_small_size_evicts() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(TABLES);
    let mut a = server.converse();
    a.ask("USE d");
    a.ask(&join(1));
    assert!(status(&mut a, "GLOBAL", "bytes") > 0);
    a.ask("SET GLOBAL limpid_plan_cache_size = 0");
    assert_eq!(status(&mut a, "GLOBAL", "bytes"), 0);
    let mut counts = Counts::of(&mut a);
    assert_eq!(a.ask(&join(2)), ["two\t8"]);
    assert_eq!(counts.since(&mut a), [0; 3]);
    a.ask("SET GLOBAL limpid_plan_cache_size = 131072");
    for n in 0..200 {
        assert_eq!(
            a.ask(&format!("SELECT n AS n{n} FROM u WHERE id IN (1, {n}) AND tid < 1")).len(),
            0
        );
    }
    assert!(status(&mut a, "GLOBAL", "bytes") <= 131_072);
    assert!(status(&mut a, "SESSION", "evictions") > 0);
}

#[test]
fn a_definition_is_compiled_once_for_all_statements_and_sessions() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; USE d; \
         CREATE TABLE p (id INT PRIMARY KEY, a INT, b INT DEFAULT (a + 1), c INT AS (a * 2) STORED, \
         CHECK (a >= 0), KEY ((a + b))); \
         CREATE TABLE k (id INT PRIMARY KEY, p INT, q INT AS (p + 1), CHECK (id > 0), \
         FOREIGN KEY (p) REFERENCES p (id) ON UPDATE CASCADE)",
    );
    let compiled = |session: &mut Conversation| -> u64 {
        let rows = session.ask("SHOW GLOBAL STATUS LIKE 'Limpid_definitions_compiled'");
        rows[0].split('\t').nth(1).unwrap().parse().unwrap()
    };
    let every_way = |session: &mut Conversation, n: u32| {
        let ways = [
            format!("INSERT INTO d.p (id, a) VALUES ({n}, {n}) ON DUPLICATE KEY UPDATE a = a + 1"),
            format!("INSERT INTO d.k (id, p) VALUES ({n}, {n})"),
            format!("UPDATE d.p SET a = a + 1 WHERE id = {n}"),
            format!("UPDATE d.p SET id = id + 500 WHERE id = {n}"),
            format!("SELECT id FROM d.p WHERE a + b = {n} + {n}"),
            format!("REPLACE INTO d.p (id, a) SELECT {n}, 1"),
            format!("DELETE FROM d.p WHERE id = {n}"),
        ];
        ways.iter().for_each(|sql| drop(session.ask(sql)));
    };
    let (mut a, mut b) = (server.converse(), server.converse());
    every_way(&mut a, 1);
    let first = compiled(&mut a);
    for n in 2..12 {
        every_way(&mut a, n);
        every_way(&mut b, 100 + n);
    }
    assert_eq!(compiled(&mut a), first, "140 statements");
    assert_eq!(b.ask("SELECT p, q FROM d.k WHERE id = 105"), ["605\t606"]);
    a.ask("ALTER TABLE d.p ADD CHECK (a <> 60)");
    b.ask("UPDATE d.p SET a = 60 WHERE id = 605");
    assert_eq!(b.ask("SELECT a FROM d.p WHERE id = 605"), ["106"], "the new CHECK refuses 60");
    assert!(compiled(&mut a) > first, "another version");
}

#[test]
fn the_text_of_a_view_is_parsed_once_for_all_statements_and_sessions() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, c INT); \
         INSERT INTO t VALUES (1, 2), (2, 3); \
         CREATE VIEW v AS SELECT id, c FROM t; CREATE VIEW w AS SELECT id, c + 1 AS e FROM v",
    );
    let compiled = |session: &mut Conversation| -> u64 {
        let rows = session.ask("SHOW GLOBAL STATUS LIKE 'Limpid_definitions_compiled'");
        rows[0].split('\t').nth(1).unwrap().parse().unwrap()
    };
    let (mut a, mut b) = (server.converse(), server.converse());
    let before = compiled(&mut a);
    assert_eq!(a.ask("SELECT e FROM d.w WHERE id = 1"), ["3"]);
    assert_eq!(compiled(&mut a), before + 1, "that of w; who made w has parsed that of v");
    for n in 0..5 {
        assert_eq!(a.ask(&format!("SELECT e AS e{n} FROM d.w WHERE id = 1")), ["3"]);
        assert_eq!(b.ask(&format!("SELECT {n}, SUM(c) FROM d.v")), [format!("{n}\t5")]);
    }
    assert_eq!(compiled(&mut b), before + 1);
    a.ask("CREATE OR REPLACE VIEW d.v AS SELECT id, c * 10 AS c FROM d.t");
    assert_eq!(b.ask("SELECT e FROM d.w WHERE id = 1"), ["21"], "the view's new version");
    assert_eq!(compiled(&mut b), before + 2);
    // One of the server's own as well, and those that it reads.
    a.ask("SELECT user FROM sys.user_summary");
    let before = compiled(&mut a);
    for n in 0..5 {
        a.ask(&format!("SELECT user AS u{n} FROM sys.user_summary"));
        b.ask(&format!("SELECT {n}, COUNT(*) FROM sys.user_summary"));
    }
    assert_eq!(compiled(&mut a), before);
}

/// Texts that are recognised by their beginning, and too long to be kept: one has not the plan of another.
#[test]
fn texts_beyond_the_longest_that_is_kept_have_answers_of_their_own() {
    let folder = TempDir::new();
    let server = with_steady_figures().start(folder.path());
    let lengths = [100, 1000, 100_000, 5_000, 200_000];
    let select = |function: &str, n: usize| format!("SELECT {function}('{}');\n", "x".repeat(n));
    let of = |function| lengths.map(|n| select(function, n)).concat();
    let expected = lengths.map(|n| n.to_string()).join("\n");
    // In this session, and in another one, which would find the plans of this.
    for _ in 0..2 {
        let script = of("LENGTH") + &of("BIT_LENGTH");
        let answers = server.sql(&script);
        let bits = lengths.map(|n| (n * 8).to_string()).join("\n");
        assert_eq!(answers, format!("{expected}\n{bits}"));
    }
}
