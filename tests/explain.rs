//! What plans look like: statistics, histograms, functional and descending indexes and hints as EXPLAIN shows
//! them, FORMAT=JSON as a whole, EXPLAIN ANALYZE with its times masked.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use testkit::{Server, TempDir};

const TABLES: &str = "CREATE DATABASE d; USE d;
    CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(20), e INT, KEY b (b), KEY bc (b DESC, c), KEY f ((e * 2)), \
        KEY l ((LOWER(c))));
    CREATE TABLE u (a INT PRIMARY KEY, x INT, KEY x (x));
    SET cte_max_recursion_depth = 5000;
    INSERT INTO t WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 2000) \
        SELECT n, n % 400, CONCAT('T', n % 100), IF(n > 1990, n, 5) FROM r;
    INSERT INTO u SELECT a, a % 500 FROM t;
    ANALYZE TABLE t, u;";

fn start(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    let made = server.try_sql(TABLES);
    assert!(made.ok, "{}", made.err);
    server
}

/// The answer of a statement in the database; of EXPLAIN's rows: table, type, key, rows, filtered, Extra.
///
/// The client strips comments, and hints with them, but not those in a string.
fn ask(server: &Server, sql: &str) -> String {
    let quoted = sql.replace('\'', "''");
    let answer = server.try_sql(&format!("USE d; PREPARE s FROM '{quoted}'; EXECUTE s"));
    assert!(answer.ok, "{sql}: {}", answer.err);
    answer.out.trim_end().to_string()
}

fn rows(server: &Server, sql: &str) -> Vec<String> {
    let out = ask(server, &format!("EXPLAIN FORMAT=TRADITIONAL {sql}"));
    let line = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        [2, 4, 6, 9, 10, 11].map(|n| cells[n]).join(" ")
    };
    out.lines().map(line).collect()
}

/// Numbers of times become `#`.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for (n, part) in text.split("actual time=").enumerate() {
        match n {
            0 => out.push_str(part),
            _ => {
                let rest =
                    part.trim_start_matches(|c: char| c.is_ascii_digit() || ".e-".contains(c));
                out.push_str("actual time=#");
                out.push_str(rest);
            }
        }
    }
    out
}

#[test]
fn histograms_count_in_estimates() {
    let folder = TempDir::new();
    let server = start(&folder);
    let query = "SELECT a FROM t WHERE e > 1000";
    assert_eq!(rows(&server, query), ["t ALL NULL 2000 33.33 Using where"]);
    ask(&server, "ANALYZE TABLE t UPDATE HISTOGRAM ON e WITH 20 BUCKETS");
    assert_eq!(rows(&server, query), ["t ALL NULL 2000 0.50 Using where"]);
    assert_eq!(
        rows(&server, "SELECT a FROM t WHERE e = 5")[0],
        "t ALL NULL 2000 99.50 Using where"
    );
    // The few rows that pass are read first, although the other table is written first.
    let join = "SELECT t.a FROM u JOIN t ON u.x = t.a WHERE t.e > 1000";
    assert_eq!(rows(&server, join)[0], "t ALL NULL 2000 0.50 Using where");
    ask(&server, "ANALYZE TABLE t DROP HISTOGRAM ON e");
    assert_eq!(rows(&server, query), ["t ALL NULL 2000 33.33 Using where"]);
}

/// Whether the engine has figures of a table, and how many rows they count, once they are as `wanted`, or after
/// ten seconds, in which the background looks twice.
fn figures(server: &Server, table: &str, wanted: &str) -> String {
    let name = format!("name = 'd/{table}'");
    let sql = format!(
        "SELECT stats_initialized, num_rows FROM information_schema.innodb_tablestats WHERE {name}"
    );
    for _ in 0..100 {
        if ask(server, &sql) == wanted {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    ask(server, &sql)
}

#[test]
fn figures_are_kept_and_renewed_as_the_variables_say() {
    let folder = TempDir::new();
    let server = start(&folder);
    ask(&server, "SET GLOBAL innodb_stats_auto_recalc = OFF, GLOBAL innodb_stats_persistent = ON");
    let tables = "CREATE TABLE old (a INT PRIMARY KEY);
        CREATE TABLE fresh (a INT PRIMARY KEY) STATS_AUTO_RECALC=1;
        CREATE TABLE light (a INT PRIMARY KEY) STATS_PERSISTENT=0;
        INSERT INTO old VALUES (1), (2); INSERT INTO fresh SELECT a FROM old; INSERT INTO light SELECT a FROM old";
    tables.split(';').for_each(|sql| drop(ask(&server, sql.trim())));
    // Those that say so themselves, and those that are not kept, are looked after in any case.
    assert_eq!(figures(&server, "fresh", "Initialized\t2"), "Initialized\t2");
    assert_eq!(figures(&server, "light", "Initialized\t2"), "Initialized\t2");
    assert!(ask(&server, "SELECT stats_initialized FROM information_schema.innodb_tablestats WHERE name = 'd/old'").starts_with("Un"));
    ask(&server, "ANALYZE TABLE old");
    assert_eq!(figures(&server, "old", "Initialized\t2"), "Initialized\t2");
    ask(&server, "SET GLOBAL innodb_stats_auto_recalc = ON");
    ask(&server, "INSERT INTO old VALUES (3), (4)");
    assert_eq!(figures(&server, "old", "Initialized\t4"), "Initialized\t4");
    // What is not kept is gone after a restart.
    ask(&server, "SET GLOBAL innodb_stats_auto_recalc = OFF");
    let mut server = server;
    assert!(server.stop().success());
    let server = Server::with().option("--innodb-stats-auto-recalc=OFF").start(folder.path());
    let state = "SELECT name, stats_initialized FROM information_schema.innodb_tablestats \
                 WHERE name IN ('d/old', 'd/light') ORDER BY name";
    assert_eq!(ask(&server, state), "d/light\tUninitialized\nd/old\tInitialized");
    let kept = "SELECT table_name, n_rows FROM mysql.innodb_table_stats WHERE table_name IN ('old', 'light')";
    assert_eq!(ask(&server, kept), "old\t4");
}

#[test]
fn functional_and_descending_indexes_are_used() {
    let folder = TempDir::new();
    let server = start(&folder);
    assert_eq!(
        rows(&server, "SELECT a FROM t WHERE e * 2 = 3990")[0],
        "t ref f 1 100.00 Using where"
    );
    assert!(
        rows(&server, "SELECT a FROM t WHERE e * 2 BETWEEN 3984 AND 3988")[0].contains("range f ")
    );
    assert!(rows(&server, "SELECT a FROM t WHERE LOWER(c) = 't7'")[0].contains("ref l 20 "));
    assert_eq!(ask(&server, "SELECT a FROM t WHERE e * 2 = 3990"), "1995");
    assert_eq!(ask(&server, "SELECT COUNT(*) FROM t WHERE LOWER(c) = 't7'"), "20");
    // In the order of (b DESC, c), and against it, nothing is sorted.
    let forward = rows(&server, "SELECT b, c FROM t ORDER BY b DESC, c LIMIT 3");
    assert!(
        forward[0].starts_with("t index bc") && !forward[0].contains("filesort"),
        "{forward:?}"
    );
    let back = rows(&server, "SELECT b, c FROM t ORDER BY b, c DESC LIMIT 3");
    assert!(back[0].contains("Backward index scan") && !back[0].contains("filesort"), "{back:?}");
    let other = rows(&server, "SELECT b, c FROM t ORDER BY b, c LIMIT 3");
    assert!(other[0].contains("Using filesort"), "{other:?}");
    let within =
        rows(&server, "SELECT b, c FROM t FORCE INDEX (bc) WHERE b >= 395 ORDER BY b DESC, c");
    assert!(within[0].starts_with("t range bc") && !within[0].contains("filesort"), "{within:?}");
    assert_eq!(ask(&server, "SELECT b, c FROM t ORDER BY b DESC, c LIMIT 2"), "399\tT99\n399\tT99");
}

#[test]
fn hints_choose_indexes_and_orders() {
    let folder = TempDir::new();
    let server = start(&folder);
    let key = |sql: &str| rows(&server, sql)[0].split(' ').nth(2).unwrap().to_string();
    for (hint, from, wanted) in [
        ("", "FORCE INDEX (b)", "b"),
        ("", "USE INDEX (bc)", "bc"),
        ("", "IGNORE INDEX (b, bc)", "NULL"),
        ("", "USE INDEX ()", "NULL"),
        ("/*+ NO_INDEX(t b) */", "", "bc"),
        ("/*+ NO_INDEX(t bc) */", "", "b"),
        ("/*+ NO_INDEX(t) */", "", "NULL"),
        ("/*+ JOIN_INDEX(t bc) */", "", "bc"),
        ("/*+ INDEX(@q t bc) QB_NAME(q) */", "FORCE INDEX (b)", "bc"),
        ("/*+ INDEX(t@q b) QB_NAME(q) */", "FORCE INDEX (bc)", "b"),
    ] {
        let sql = format!("SELECT {hint} a FROM t {from} WHERE b = 7");
        assert_eq!(key(&sql), wanted, "{sql}");
    }
    let range = "a FROM t FORCE INDEX (b) WHERE b > 390";
    assert_eq!(key(&format!("SELECT {range}")), "b");
    // The index has all that is needed: then it is read in whole.
    let whole = format!("SELECT /*+ NO_RANGE_OPTIMIZATION(t) */ {range}");
    assert!(rows(&server, &whole)[0].starts_with("t index b "), "{whole}");
    let first = |hint: &str| {
        let join = "t.a FROM t JOIN u ON u.a = t.a JOIN u v ON v.a = u.a WHERE t.b < 300";
        let rows = rows(&server, &format!("SELECT {hint} {join}"));
        rows.iter().map(|r| r.split(' ').next().unwrap().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(first("/*+ JOIN_ORDER(v, u, t) */"), "v u t");
    assert_eq!(first("/*+ JOIN_FIXED_ORDER() */"), "t u v");
    assert!(first("/*+ JOIN_PREFIX(v) */").starts_with('v'));
    assert!(first("/*+ JOIN_SUFFIX(t) */").ends_with('t'));
    assert_eq!(first("STRAIGHT_JOIN"), "t u v");
    let hashed = |hint: &str| {
        let sql = format!("SELECT {hint} t.a FROM t JOIN u ON u.x = t.e");
        rows(&server, &sql).join(";").contains("hash join")
    };
    assert!(hashed(""));
    assert!(!hashed("/*+ NO_BNL() */"));
    let derived = "d.a FROM (SELECT a FROM t) d WHERE d.a = 3";
    assert_eq!(rows(&server, &format!("SELECT {derived}")).len(), 1);
    assert_eq!(rows(&server, &format!("SELECT /*+ NO_MERGE(d) */ {derived}")).len(), 2);
    let within = "a FROM t WHERE b IN (SELECT";
    let semi =
        |hint: &str| ask(&server, &format!("EXPLAIN FORMAT=TREE SELECT {within} {hint} x FROM u)"));
    assert!(semi("").contains("semijoin"));
    assert!(!semi("/*+ NO_SEMIJOIN() */").contains("semijoin"));
}

#[test]
fn analyze_measures_every_operator() {
    let folder = TempDir::new();
    let server = start(&folder);
    let text = ask(
        &server,
        "EXPLAIN ANALYZE SELECT /*+ JOIN_FIXED_ORDER() */ u.x FROM t JOIN u ON u.a = t.a \
         WHERE t.b = 7 ORDER BY u.x LIMIT 2",
    );
    let text = masked(&text.replace("\\n", "\n"));
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let wanted = [
        ("-> Limit: 2 row(s)", "(actual time=# rows=2 loops=1)"),
        ("-> Sort: u.x, limit input to 2 row(s) per chunk", "(actual time=# rows=2 loops=1)"),
        ("-> Nested loop inner join", "(actual time=# rows=5 loops=1)"),
        ("-> Covering index lookup on t using b (b = 7)", "(actual time=# rows=5 loops=1)"),
        (
            "-> Single-row index lookup on u using PRIMARY (a = t.a)",
            "(actual time=# rows=1 loops=5)",
        ),
    ];
    assert_eq!(lines.len(), wanted.len(), "{text}");
    for (line, (operation, measured)) in lines.iter().zip(wanted) {
        assert!(line.starts_with(operation) && line.ends_with(measured), "{line}");
    }
    let never =
        ask(&server, "EXPLAIN ANALYZE SELECT * FROM t JOIN u ON u.a = t.a WHERE t.a = 9999");
    assert!(never.contains("(never executed)"), "{never}");
    // A subquery's own operators are measured too.
    let sub = ask(
        &server,
        "EXPLAIN ANALYZE SELECT (SELECT MAX(x) FROM u WHERE u.x = t.b) FROM t WHERE a < 4",
    );
    assert!(masked(&sub).contains("rows=1 loops=3)"), "{sub}");
}

#[test]
fn json_is_a_document_of_blocks() {
    let folder = TempDir::new();
    let server = start(&folder);
    let text = ask(
        &server,
        "EXPLAIN FORMAT=JSON SELECT u.x FROM t FORCE INDEX (b) JOIN u ON u.a = t.a WHERE t.b = 7 \
         AND t.c > (SELECT MIN(c) FROM t) ORDER BY u.x",
    );
    let wanted = include_str!("explain.json");
    if std::env::var_os("EXPLAIN_RECORD").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explain.json");
        std::fs::write(path, format!("{}\n", text.replace("\\n", "\n"))).unwrap();
        return;
    }
    assert_eq!(text.replace("\\n", "\n"), wanted.trim_end());
}
