//! Batches and passing rows that end early or are led by lists: lists of every length, an error at each row, KILL in the middle,
//! no memory left (what it takes besides: `memory_limit.rs`).

use super::Chance;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::{Server, TempDir, TextClient};

/// Types of an indexed column, and values that a list may have besides small numbers.
const LISTED: [(&str, &[&str]); 4] = [
    ("INT", &["NULL", "-1", "'3a'", "4.0", "4.5", "2147483648", "'5'"]),
    ("BIGINT UNSIGNED NOT NULL", &["NULL", "-1", "18446744073709551615", "1e3", "'x'", "7.5"]),
    ("SMALLINT", &["NULL", "-32768", "70000", "'0009'", "TRUE"]),
    ("MEDIUMINT UNSIGNED", &["NULL", "-1", "16777216", "DATE'2000-01-01'", "'11 '"]),
];

/// A list of so many numbers, some of them twice and some odd.
fn list(chance: &mut Chance, length: usize, odd: &[&str]) -> String {
    let one = |_| match chance.below(12) {
        0 if length < 1000 => chance.one(odd).to_string(),
        _ => chance.below(3 * length + 20).to_string(),
    };
    (0..length).map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn lists_find_what_their_condition_says() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE lists; SET GLOBAL cte_max_recursion_depth = 1000000");
    let mut client = TextClient::connect(server.socket());
    let chance = &mut Chance(17);
    let mut found = 0;
    for (ty, odd) in LISTED {
        let make = format!(
            "USE lists; DROP TABLE IF EXISTS l; CREATE TABLE l (id INT PRIMARY KEY, k {ty}, v INT, KEY (k)); \
             INSERT INTO l WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 4000) \
             SELECT n, IF(n % 97 = 0 AND '{ty}' NOT LIKE '%NOT%', NULL, n * 7919 % 5000), n FROM s; ANALYZE TABLE l"
        );
        server.sql(&make);
        client.query("USE lists").unwrap();
        for length in [1, 2, 3, 10, 50, 333, 10_000] {
            for _ in 0..if length < 100 { 6 } else { 1 } {
                let values = list(chance, length, odd);
                let mut ask = |way: &str, columns: &str, key: &str| {
                    let sql = format!(
                        "SELECT {columns} FROM l {way} WHERE {key} IN ({values}) ORDER BY id"
                    );
                    client.query(&sql).map(|answer| answer.rows)
                };
                for (columns, key) in [("id, k, v", "k"), ("id, k", "k"), ("*", "id")] {
                    let by_index = ask("FORCE INDEX (k, PRIMARY)", columns, key);
                    let by_row = ask("IGNORE INDEX (k, PRIMARY)", columns, key);
                    assert_eq!(by_index, by_row, "{ty}, {columns}: {key} IN ({values})");
                    found += by_row.map_or(0, |rows| rows.len());
                }
            }
        }
    }
    assert!(found > 10_000, "{found}");
}

/// Rows of the table of which one cannot be computed.
const ROWS: u32 = 600;

#[test]
fn a_row_that_fails_fails_where_it_is_wanted() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(&format!(
        "CREATE DATABASE fails; USE fails; CREATE TABLE f (id INT PRIMARY KEY, v BIGINT NOT NULL, c CHAR(120)); \
         INSERT INTO f WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {ROWS}) \
         SELECT n, n, 'x' FROM s"
    ));
    let mut client = TextClient::connect(server.socket());
    client.query("USE fails").unwrap();
    let large = i64::MAX;
    for at in (1..=20).chain([63, 64, 65, 127, 128, 200, 255, 256, 257, 599, 600]) {
        client.query(&format!("UPDATE f SET v = {large} WHERE id = {at}")).unwrap();
        for fails in [
            "SELECT id, v + 1 FROM f",
            "SELECT SUM(v + 1) FROM f",
            "SELECT id % 7, SUM(v + 1) FROM f GROUP BY id % 7",
            "SELECT id FROM f ORDER BY v + 1, id",
            "SELECT id FROM f WHERE v + 1 > 0",
            "SELECT SUM(v + 1) OVER (ORDER BY id) FROM f",
            "UPDATE f SET c = v + 1",
        ] {
            let error = client.query(fails).expect_err(fails);
            assert_eq!(error.number, 1690, "row {at}: {fails}: {error:?}");
        }
        // Rows behind the last one that is wanted are not looked at.
        let first = format!("SELECT id, v + 1 FROM f ORDER BY id LIMIT {}", at - 1);
        assert_eq!(client.query(&first).unwrap().rows.len(), at as usize - 1, "{first}");
        let plain = client.query("SELECT v, c FROM f ORDER BY id LIMIT 600").unwrap();
        assert_eq!(plain.rows.len(), ROWS as usize);
        client.query(&format!("UPDATE f SET v = {at} WHERE id = {at}")).unwrap();
    }
}

/// Each goes through its rows in another way; `#` stands for a list of numbers.
const KILLED: [&str; 13] = [
    "SELECT id, c FROM k WHERE id > 0",
    "SELECT c FROM k WHERE n BETWEEN 0 AND 1000",
    "SELECT c FROM k WHERE n IN (#)",
    "SELECT id, c FROM k ORDER BY n, id LIMIT 5000, 10",
    "SELECT SUM(n), COUNT(*) FROM k",
    "SELECT n, SUM(id) FROM k GROUP BY n ORDER BY n",
    "SELECT n, SUM(m) FROM (SELECT n, id * 2 m FROM k WHERE id > 0) q GROUP BY n ORDER BY n",
    "SELECT DISTINCT n FROM k ORDER BY n",
    "SELECT id FROM k WHERE c LIKE '%none%'",
    "SELECT COUNT(*) FROM k x JOIN k y ON x.id + 0 = y.id + 0 AND x.c = y.c",
    "SELECT id, SUM(n) OVER (ORDER BY id) FROM k ORDER BY id",
    "WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 20000) SELECT SUM(i) FROM r",
    "SELECT n FROM k UNION SELECT id FROM k",
];

/// Changes that leave nothing when they are killed.
const UNDONE: [&str; 5] = [
    "UPDATE k SET c = CONCAT('z', n)",
    "UPDATE k SET n = n + 1 WHERE id > 0",
    "DELETE FROM k WHERE id % 2 = 0",
    "INSERT INTO k SELECT id + 100000, n, c FROM k",
    "REPLACE INTO k SELECT id, n + 1, c FROM k",
];

const CHECK: &str = "SELECT COUNT(*), SUM(id), SUM(n), SUM(CRC32(c)) FROM k";

fn killable(folder: &TempDir) -> Server {
    let server = Server::with().option("--cte-max-recursion-depth=100000").start(folder.path());
    server.sql(
        "CREATE DATABASE killed; USE killed; \
         CREATE TABLE k (id INT PRIMARY KEY, n INT, c CHAR(120), KEY (n)); \
         INSERT INTO k WITH RECURSIVE s (m) AS (SELECT 1 UNION ALL SELECT m + 1 FROM s WHERE m < 20000) \
         SELECT m, m * 7919 % 1000, REPEAT('y', 100) FROM s",
    );
    server
}

/// Calls `run` again and again, with a connection that others kill the statements of, until so many were killed of 200.
fn under_kills(
    server: &Server,
    victim: &mut TextClient,
    kills: u32,
    mut run: impl FnMut(&mut TextClient) -> bool,
) -> u32 {
    let id = sure(victim, "SELECT CONNECTION_ID()")[0][0].clone().unwrap();
    let kill = format!("KILL QUERY {}", String::from_utf8(id).unwrap());
    let stop = AtomicBool::new(false);
    let mut killed = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut killer = TextClient::connect(server.socket());
            let mut wait_us = 300;
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(wait_us));
                wait_us = wait_us * 5 / 3 % 40_011;
                killer.query(&kill).unwrap();
            }
        });
        for _ in 0..200 {
            killed += u32::from(run(victim));
            if killed >= kills {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    // A KILL that came between two statements has no effect on the next but one.
    let _ = victim.query("DO 0");
    killed
}

/// The rows of a statement that goes through in the end.
fn sure(client: &mut TextClient, sql: &str) -> Vec<Vec<Option<Vec<u8>>>> {
    loop {
        match client.query(sql) {
            Ok(answer) => return answer.rows,
            Err(error) => assert_eq!(error.number, 1317, "{sql}: {error:?}"),
        }
    }
}

#[test]
fn a_statement_is_killed_in_the_middle_of_its_rows() {
    let folder = TempDir::new();
    let server = killable(&folder);
    let mut victim = TextClient::connect(server.socket());
    victim.query("USE killed").unwrap();
    let list = (0..1000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    for sql in KILLED {
        let sql = sql.replace('#', &list);
        let whole = victim.query(&sql).unwrap().rows;
        let killed = under_kills(&server, &mut victim, 10, |victim| match victim.query(&sql) {
            Ok(answer) => {
                assert_eq!(answer.rows, whole, "{sql}");
                false
            }
            Err(error) => {
                assert_eq!(error.number, 1317, "{sql}: {error:?}");
                true
            }
        });
        assert!(killed > 0, "nothing was killed: {sql}");
        assert_eq!(victim.query(&sql).unwrap().rows, whole, "{sql}");
    }
}

#[test]
fn a_change_that_is_killed_in_the_middle_of_its_rows_leaves_nothing() {
    let folder = TempDir::new();
    let server = killable(&folder);
    let mut victim = TextClient::connect(server.socket());
    victim.query("USE killed").unwrap();
    let before = victim.query(CHECK).unwrap().rows;
    for sql in UNDONE {
        let mut changed = None;
        let killed = under_kills(&server, &mut victim, 5, |victim| {
            sure(victim, "BEGIN");
            let done = victim.query(sql);
            let now = sure(victim, CHECK);
            match &done {
                // Whatever else goes through does the same.
                Ok(_) => assert_eq!(*changed.get_or_insert(now.clone()), now, "{sql}"),
                Err(error) => {
                    assert_eq!(error.number, 1317, "{sql}: {error:?}");
                    assert_eq!(now, before, "{sql}");
                }
            }
            sure(victim, "ROLLBACK");
            done.is_err()
        });
        assert!(killed > 0, "nothing was killed: {sql}");
        assert_eq!(victim.query(CHECK).unwrap().rows, before, "{sql}");
    }
    assert_eq!(server.sql("CHECK TABLE killed.k").matches("OK").count(), 1);
}

/// Which of [`KILLED`] and [`UNDONE`] keep rows, so that files help them out when they may keep next to none.
const KEPT: [&str; 6] = [KILLED[6], KILLED[9], KILLED[10], KILLED[12], UNDONE[3], UNDONE[4]];

#[test]
fn a_statement_that_may_keep_nothing_answers_the_same_from_files() {
    let folder = TempDir::new();
    let server = killable(&folder);
    let [mut roomy, mut narrow] = [(); 2].map(|()| TextClient::connect(server.socket()));
    let limits = "SET tmp_table_size = 1024, max_heap_table_size = 16384, sort_buffer_size = 32768, \
                  join_buffer_size = 128";
    narrow.query(limits).unwrap();
    let list = (0..1000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let mut kept = Vec::new();
    for client in [&mut roomy, &mut narrow] {
        client.query("USE killed").unwrap();
    }
    for sql in KILLED {
        let text = sql.replace('#', &list);
        let mut whole = roomy.query(&text).unwrap().rows;
        let before = files(&mut narrow);
        let mut rows = narrow.query(&text).unwrap().rows;
        if !sql.contains("ORDER BY") {
            // Rows come back from files in another order.
            whole.sort();
            rows.sort();
        }
        assert!(rows == whole, "{sql}: {} rows, {}", rows.len(), whole.len());
        kept.extend((files(&mut narrow) > before).then_some(sql));
    }
    for sql in UNDONE {
        let changed = |client: &mut TextClient| {
            client.query("BEGIN").unwrap();
            client.query(sql).unwrap();
            let rows = client.query(CHECK).unwrap().rows;
            client.query("ROLLBACK").unwrap();
            rows
        };
        let whole = changed(&mut roomy);
        let before = files(&mut narrow);
        assert_eq!(changed(&mut narrow), whole, "{sql}");
        kept.extend((files(&mut narrow) > before).then_some(sql));
    }
    assert_eq!(kept, KEPT);
}

/// How many files a session's statements have used.
fn files(client: &mut TextClient) -> u64 {
    let status = "SELECT SUM(variable_value) FROM performance_schema.session_status \
                  WHERE variable_name IN ('Created_tmp_disk_tables', 'Created_tmp_files', 'Sort_merge_passes')";
    let answer = client.query(status).unwrap().rows[0][0].clone().unwrap();
    String::from_utf8(answer).unwrap().parse::<f64>().unwrap() as u64
}
