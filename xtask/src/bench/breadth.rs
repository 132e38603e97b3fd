//! Everyday statements beside a peer, one after the other: processor time of the servers, and the answers compared.
//!
//! 1. The same statement goes to both in turns, A B, B A; what counts is the median of the rounds. 2. Processor time is that of the
//!    server's threads in nanoseconds (`/proc/PID/task/*/schedstat`), so that a busy machine matters little; a thread that ends
//!    meanwhile takes its time along (MySQL's parallel builds of an index): such lines are marked. 3. Rows are made by the servers
//!    themselves, the same on both.

use super::Settings;
use super::median;
use super::target::{Own, Target};
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::{Peer, TextClient, text::Rows};

/// Rows of the table.
const ROWS: u32 = 100_000;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// What is made on each server first.
const TABLES: [&str; 4] = [
    "CREATE TABLE orders (id INT PRIMARY KEY, client INT, branch INT, note VARCHAR(100), day DATE, placed DATETIME,
        amount DECIMAL(10,2), KEY (client))",
    "CREATE TABLE copy (id INT PRIMARY KEY, client INT, note VARCHAR(100))",
    // MariaDB has another name for it.
    "SET SESSION /*M! max_recursive_iterations */ /*!80000 cte_max_recursion_depth */ = 1000000",
    "INSERT INTO orders WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ROWS)
        SELECT n, n * 7919 % ROWS, n * 104729 % 1000, CONCAT('order ', n * 7919 % ROWS, ' ', REPEAT('x', 5 + n % 55)),
        DATE_ADD('2024-01-01', INTERVAL n * 31 % 365 DAY), DATE_ADD('2024-01-01', INTERVAL n * 7919 MINUTE),
        n * 7919 % 100000 / 100 FROM s",
];
/// A name, and statements parted by `;`, of which the last one's answer counts.
const STATEMENTS: [(&str, &str); 39] = [
    ("count rows", "SELECT COUNT(*) FROM orders"),
    ("sum of decimals", "SELECT SUM(amount) FROM orders"),
    ("text with LIKE", "SELECT COUNT(*) FROM orders WHERE note LIKE '%99%'"),
    (
        "range of dates",
        "SELECT COUNT(*) FROM orders WHERE day BETWEEN '2024-03-01' AND '2024-06-30'",
    ),
    (
        "groups by number",
        "SELECT branch, COUNT(*), AVG(amount) FROM orders GROUP BY branch ORDER BY branch",
    ),
    ("groups by date", "SELECT day, SUM(amount) FROM orders GROUP BY day ORDER BY day"),
    (
        "groups by month",
        "SELECT YEAR(day) y, MONTH(day) m, SUM(amount) FROM orders GROUP BY y, m ORDER BY y, m",
    ),
    ("groups by text", "SELECT LEFT(note, 8) n, COUNT(*) FROM orders GROUP BY n ORDER BY n"),
    ("distinct texts", "SELECT COUNT(DISTINCT note) FROM orders"),
    (
        "pivot by CASE",
        "SELECT SUM(CASE WHEN YEAR(day) = 2024 AND MONTH(day) % 2 = 0 THEN amount ELSE 0 END) FROM orders",
    ),
    (
        "counts by IF",
        "SELECT SUM(IF(amount > 500, 1, 0)), COUNT(CASE WHEN branch IN (1, 2, 3) THEN 1 END) FROM orders",
    ),
    ("first texts", "SELECT * FROM orders ORDER BY note, id LIMIT 20"),
    ("texts in order", "SELECT note FROM orders ORDER BY note, id LIMIT 90000, 5"),
    ("numbers in order", "SELECT id FROM orders ORDER BY amount, id LIMIT 90000, 5"),
    (
        "join by primary key",
        "SELECT COUNT(*), SUM(b.amount) FROM orders a JOIN orders b ON b.id = a.client",
    ),
    (
        "join by index",
        "SELECT COUNT(*) FROM orders a JOIN orders b ON b.client = a.id WHERE a.branch < 200",
    ),
    (
        "join of texts",
        "SELECT COUNT(*) FROM orders a JOIN orders b ON a.note = b.note WHERE a.branch < 50",
    ),
    (
        "join of number and text",
        "SELECT COUNT(*) FROM orders a JOIN (SELECT CONCAT(client) AS c FROM orders) b ON a.id = b.c",
    ),
    (
        "join in lower case",
        "SELECT COUNT(*) FROM orders a JOIN orders b ON LOWER(a.note) = LOWER(b.note) WHERE a.branch < 50",
    ),
    (
        "join by day of moment",
        "SELECT COUNT(*) FROM orders a JOIN orders b ON a.day = DATE(b.placed) WHERE a.branch < 20",
    ),
    ("join by a computed number", "SELECT COUNT(*) FROM orders a JOIN orders b ON a.id = b.id + 1"),
    (
        "IN (subquery)",
        "SELECT COUNT(*) FROM orders WHERE client IN (SELECT id FROM orders WHERE branch < 100)",
    ),
    (
        "EXISTS",
        "SELECT COUNT(*) FROM orders a WHERE EXISTS (SELECT 1 FROM orders b WHERE b.client = a.id)",
    ),
    (
        "rank in windows",
        "SELECT MAX(r) FROM (SELECT RANK() OVER (PARTITION BY branch ORDER BY amount) r FROM orders) x",
    ),
    (
        "running sum",
        "SELECT MAX(s) FROM (SELECT SUM(amount) OVER (PARTITION BY branch ORDER BY id) s FROM orders) x",
    ),
    (
        "recursion",
        "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT SUM(n) FROM s",
    ),
    (
        "JSON",
        "SELECT SUM(JSON_EXTRACT(JSON_OBJECT('a', id, 'b', note), '$.a')) FROM orders WHERE branch < 300",
    ),
    ("texts made", "SELECT SUM(LENGTH(UPPER(CONCAT(note, day)))) FROM orders"),
    ("dates shown", "SELECT SUM(LENGTH(DATE_FORMAT(placed, '%Y-%m'))) FROM orders"),
    ("regular expression", "SELECT COUNT(*) FROM orders WHERE note REGEXP '^order [0-9]+5 '"),
    ("rows sent", "SELECT * FROM orders WHERE branch < 300 ORDER BY id"),
    ("INSERT ... SELECT", "TRUNCATE copy; INSERT INTO copy SELECT id, client, note FROM orders"),
    ("UPDATE of all rows", "UPDATE orders SET amount = amount + 1"),
    ("UPDATE of an index", "UPDATE orders SET client = client + 1 WHERE branch < 300"),
    ("DELETE of half", "DELETE FROM copy WHERE id % 2 = 0"),
    (
        "UPDATE, rolled back",
        "START TRANSACTION; UPDATE orders SET amount = amount + 1 WHERE branch < 500; ROLLBACK",
    ),
    (
        "index made (threads end)",
        "CREATE INDEX by_note ON orders (note); DROP INDEX by_note ON orders",
    ),
    (
        "column with a default",
        "ALTER TABLE orders ADD COLUMN z INT DEFAULT 5; ALTER TABLE orders DROP COLUMN z",
    ),
    (
        "CREATE TABLE ... SELECT",
        "DROP TABLE IF EXISTS other; CREATE TABLE other AS SELECT * FROM orders",
    ),
];

/// A server with a session on it.
struct Side {
    target: Target,
    client: TextClient,
}

impl Side {
    fn new(target: Target) -> Result<Side, String> {
        let peer = Peer { user: target.user.clone(), ..Peer::from(Path::new(&target.socket)) };
        let client =
            TextClient::try_connect(peer).map_err(|e| format!("{}: {}", target.name, e.text))?;
        client.set_patience(Some(PATIENCE));
        let mut side = Side { target, client };
        side.all("DROP DATABASE IF EXISTS breadth; CREATE DATABASE breadth; USE breadth")?;
        for statement in TABLES {
            side.one(&statement.replace("ROWS", &ROWS.to_string()))?;
        }
        side.one("ANALYZE TABLE orders")?;
        Ok(side)
    }

    fn one(&mut self, statement: &str) -> Result<Rows, String> {
        let failed =
            |e: testkit::text::Failure| format!("{}: {statement}: {}", self.target.name, e.text);
        self.client.query(statement).map_err(failed)
    }

    fn all(&mut self, statements: &str) -> Result<Rows, String> {
        let mut last = Rows::default();
        for statement in statements.split("; ") {
            last = self.one(statement)?;
        }
        Ok(last)
    }

    /// The answer, and what it took: processor time where the process is known, else time by the clock.
    fn timed(&mut self, statements: &str) -> Result<(Rows, f64), String> {
        let (begin, before) = (Instant::now(), self.target.pid.and_then(cpu_ms));
        let answer = self.all(statements)?;
        let elapsed = begin.elapsed().as_secs_f64() * 1e3;
        let after = self.target.pid.and_then(cpu_ms);
        Ok((answer, before.zip(after).map_or(elapsed, |(before, after)| after - before)))
    }
}

/// What the threads of a process have run so far, in milliseconds.
fn cpu_ms(pid: u32) -> Option<f64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let ran_ns = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    Some(tasks.filter_map(ran_ns).sum::<f64>() / 1e6)
}

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--innodb-buffer-pool-size=1G"])?;
    let mut sides = vec![Side::new(own.target())?];
    if let Some(peer) = settings.peer()? {
        sides.push(Side::new(peer)?);
    }
    println!("{ROWS} rows, {} rounds, processor time of the server in ms", settings.rounds);
    let mut differ = Vec::new();
    let is_wanted =
        |name: &str| settings.only.as_ref().is_none_or(|part| name.contains(part.as_str()));
    for (name, statements) in STATEMENTS.into_iter().filter(|(name, _)| is_wanted(name)) {
        let mut times = vec![Vec::new(); sides.len()];
        let mut answers = vec![Rows::default(); sides.len()];
        for round in 0..settings.rounds {
            let mut order: Vec<usize> = (0..sides.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for n in order {
                let (answer, ms) = sides[n].timed(statements)?;
                times[n].push(ms);
                answers[n] = answer;
            }
        }
        let medians: Vec<f64> = times.iter().map(|times| median(times, |ms| *ms)).collect();
        match medians[..] {
            [own, peer] => println!("{name:26} {:6.2} {own:9.1} {peer:9.1}", own / peer),
            _ => println!("{name:26} {:9.1}", medians[0]),
        }
        if answers.windows(2).any(|pair| pair[0].rows != pair[1].rows) {
            differ.push(name);
        }
    }
    match differ.is_empty() {
        true => Ok(()),
        false => Err(format!("other answers than the peer's: {}", differ.join(", "))),
    }
}
