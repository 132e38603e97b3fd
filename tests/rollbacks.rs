//! Long rollbacks: INNODB_TRX counts down what is still to be undone, whoever caused them, and no KILL stops them.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use testkit::raw::Breaker;
use testkit::text::Rows;
use testkit::{Failure, Server, TempDir, TextClient};

/// As many that a rollback is looked at many times.
const ROWS: u64 = 32_768;
const PATIENCE: Duration = Duration::from_secs(120);
const CHANGE_ALL: &str = "UPDATE d.t SET a = a + 1, c = 'changed'";

fn with_rows(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a INT, c CHAR(50), KEY (a), KEY (c), KEY (c, a)); \
         INSERT INTO d.t VALUES (0, 0, 'as it was')",
    );
    let mut rows = 1;
    while rows < ROWS {
        server.sql(&format!("INSERT INTO d.t SELECT id + {rows}, a + {rows}, c FROM d.t"));
        rows *= 2;
    }
    server
}

/// Nothing is left of a change: rows, index.
fn assert_unchanged(server: &Server) {
    let sum = ROWS * (ROWS - 1) / 2;
    for index in ["PRIMARY", "a"] {
        let counted = server.sql(&format!(
            "SELECT COUNT(*), SUM(a), SUM(c = 'as it was') FROM d.t FORCE INDEX ({index}) WHERE a >= 0"
        ));
        assert_eq!(counted, format!("{ROWS}\t{sum}\t{ROWS}"), "by {index}");
    }
    assert!(server.sql("CHECK TABLE d.t").ends_with("status\tOK"));
}

/// A connection whose long statement runs in a thread.
struct Session {
    id: u64,
    client: Option<TextClient>,
    breaker: Breaker,
}

type Running = JoinHandle<(TextClient, Option<Result<Rows, Failure>>)>;

impl Session {
    fn open(server: &Server) -> Session {
        let (mut client, breaker) = TextClient::connect_patient(server.socket());
        let id = text(&client.query("SELECT CONNECTION_ID()").unwrap(), 0).unwrap();
        Session { id: id.parse().unwrap(), client: Some(client), breaker }
    }

    fn ask(&mut self, sql: &str) -> Rows {
        self.client.as_mut().unwrap().query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"))
    }

    /// Sends a statement; [`Session::answer`] takes what comes of it.
    fn send(&mut self, sql: &'static str) -> Running {
        let mut client = self.client.take().unwrap();
        std::thread::spawn(move || {
            let answer = client.attempt(sql);
            (client, answer)
        })
    }

    /// `None`: the connection was lost.
    fn answer(&mut self, running: Running) -> Option<Result<Rows, Failure>> {
        let (client, answer) = running.join().unwrap();
        self.client = Some(client);
        answer
    }
}

fn text(rows: &Rows, column: usize) -> Option<String> {
    let value = rows.rows.first()?[column].as_ref()?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// A line of INNODB_TRX.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    state: String,
    operation: Option<String>,
    changes: u64,
    query: Option<String>,
}

/// Looks at transactions through a connection of its own.
struct Watch(TextClient);

impl Watch {
    fn open(server: &Server) -> Watch {
        Watch(TextClient::connect(server.socket()))
    }

    /// The transaction of a session.
    fn line(&mut self, id: u64) -> Option<Line> {
        let sql = format!(
            "SELECT trx_state, trx_operation_state, trx_rows_modified, trx_query \
             FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = {id}"
        );
        let rows = self.0.query(&sql).unwrap();
        Some(Line {
            state: text(&rows, 0)?,
            operation: text(&rows, 1),
            changes: text(&rows, 2)?.parse().unwrap(),
            query: text(&rows, 3),
        })
    }

    /// Command and state in the process list.
    fn process(&mut self, id: u64) -> Option<(String, String)> {
        let sql =
            format!("SELECT command, state FROM information_schema.PROCESSLIST WHERE id = {id}");
        let rows = self.0.query(&sql).unwrap();
        Some((text(&rows, 0)?, text(&rows, 1)?))
    }

    /// Until the session's transaction satisfies.
    fn until(&mut self, id: u64, wanted: impl Fn(&Option<Line>) -> bool) -> Option<Line> {
        let begin = Instant::now();
        loop {
            let line = self.line(id);
            if wanted(&line) {
                return line;
            }
            assert!(begin.elapsed() < PATIENCE, "{line:?}");
        }
    }

    fn until_rolling_back(&mut self, id: u64) -> Line {
        self.until(id, |l| l.as_ref().is_some_and(|l| l.state == "ROLLING BACK")).unwrap()
    }

    /// What is left to be undone only becomes less, until the rollback is over; the transaction then.
    fn count_down(&mut self, id: u64) -> Option<Line> {
        let mut figures = Vec::new();
        let begin = Instant::now();
        let after = loop {
            match self.line(id) {
                Some(line) if line.state == "ROLLING BACK" => figures.push(line.changes),
                other => break other,
            }
            assert!(begin.elapsed() < PATIENCE, "{figures:?}");
        };
        assert!(figures.is_sorted_by(|a, b| a >= b), "{figures:?}");
        figures.dedup();
        assert!(figures.len() > 1, "{figures:?}");
        after
    }

    /// As [`Watch::count_down`], of a whole transaction.
    fn count_down_to_the_end(&mut self, id: u64) {
        let after = self.count_down(id);
        // The list may find it in the moment between the last change undone and its end.
        assert!(after.as_ref().is_none_or(|l| l.changes == 0), "{after:?}");
        self.until(id, Option::is_none);
    }

    fn kill(&mut self, what: &str, id: u64) -> Result<Rows, Failure> {
        self.0.query(&format!("KILL {what} {id}"))
    }
}

fn is_running(line: &Option<Line>) -> bool {
    line.as_ref().is_some_and(|l| l.state == "RUNNING" && l.changes > 0)
}

#[test]
fn a_statement_is_seen_to_write_and_its_rollback_to_undo() {
    let folder = TempDir::new();
    let server = with_rows(&folder);
    let (mut s, mut watch) = (Session::open(&server), Watch::open(&server));
    s.ask("BEGIN");
    let running = s.send(CHANGE_ALL);
    let first = watch.until(s.id, is_running).unwrap();
    assert_eq!(first.query.as_deref(), Some(CHANGE_ALL));
    let later = watch.until(s.id, |l| l.as_ref().is_some_and(|l| l.changes > first.changes));
    assert!(later.unwrap().changes <= ROWS);
    assert_eq!(s.answer(running).unwrap().unwrap().affected, ROWS);
    assert_eq!(watch.line(s.id).unwrap().changes, ROWS);

    let running = s.send("ROLLBACK");
    let line = watch.until_rolling_back(s.id);
    assert_eq!(line.operation.as_deref(), Some("rollback"));
    assert_eq!(line.query.as_deref(), Some("ROLLBACK"));
    let status = server.sql("SHOW ENGINE INNODB STATUS");
    let entries = status.split_once("\\nROLLING BACK ").expect(&status).1;
    let entries = entries.split_once("undo log entries ").unwrap().1;
    let entries = entries.split_once("\\n").unwrap().0.parse::<u64>().unwrap();
    assert!(entries > 0 && entries <= line.changes, "{entries} {line:?}");
    watch.count_down_to_the_end(s.id);
    assert!(s.answer(running).unwrap().is_ok());
    assert_unchanged(&server);
}

#[test]
fn no_kill_ends_the_rollback_of_a_killed_statement() {
    let folder = TempDir::new();
    let server = with_rows(&folder);
    let (mut s, mut watch) = (Session::open(&server), Watch::open(&server));
    s.ask("BEGIN");
    s.ask("UPDATE d.t SET c = 'mine' WHERE id = 5");
    let running = s.send(CHANGE_ALL);
    watch.until(s.id, |l| l.as_ref().is_some_and(|l| l.changes > ROWS / 2));
    watch.kill("QUERY", s.id).unwrap();
    let line = watch.until_rolling_back(s.id);
    assert_eq!(line.operation.as_deref(), Some("rollback of SQL statement"));
    assert_eq!(watch.process(s.id), Some(("Query".into(), "query end".into())));
    watch.kill("QUERY", s.id).unwrap();
    let after = watch.count_down(s.id).unwrap();
    assert_eq!((after.state.as_str(), after.changes), ("RUNNING", 1));
    assert_eq!(s.answer(running).unwrap().unwrap_err().number, 1317);
    assert_eq!(text(&s.ask("SELECT c FROM d.t WHERE id = 5"), 0).unwrap(), "mine");
    s.ask("ROLLBACK");
    assert_unchanged(&server);
}

#[test]
fn a_session_killed_while_it_rolls_back_loses_its_client_and_goes_on() {
    let folder = TempDir::new();
    let server = with_rows(&folder);
    let (mut s, mut watch) = (Session::open(&server), Watch::open(&server));
    s.ask("BEGIN");
    s.ask(CHANGE_ALL);
    let running = s.send("ROLLBACK");
    watch.until_rolling_back(s.id);
    assert_eq!(watch.process(s.id), Some(("Query".into(), "starting".into())));
    watch.kill("QUERY", s.id).unwrap();
    watch.kill("", s.id).unwrap();
    assert!(s.answer(running).is_none(), "the client is cut off");
    assert_eq!(watch.process(s.id), Some(("Killed".into(), "starting".into())));
    assert_eq!(watch.line(s.id).unwrap().state, "ROLLING BACK", "and the rollback goes on");
    watch.kill("", s.id).unwrap();
    watch.count_down_to_the_end(s.id);
    assert_unchanged(&server);
}

#[test]
fn a_statement_that_is_alone_is_rolled_back_as_a_transaction() {
    let folder = TempDir::new();
    let server = with_rows(&folder);
    let (mut s, mut watch) = (Session::open(&server), Watch::open(&server));
    let running = s.send(CHANGE_ALL);
    watch.until(s.id, |l| l.as_ref().is_some_and(|l| l.changes > ROWS / 2));
    watch.kill("", s.id).unwrap();
    assert!(s.answer(running).is_none());
    let line = watch.until_rolling_back(s.id);
    assert_eq!(line.operation.as_deref(), Some("rollback"));
    // The statement is undone, and then the transaction, which is nothing else.
    watch.count_down_to_the_end(s.id);
    assert_unchanged(&server);
}

#[test]
fn a_client_that_is_gone_is_no_process_but_still_a_transaction() {
    let folder = TempDir::new();
    let server = with_rows(&folder);
    let (mut s, mut watch) = (Session::open(&server), Watch::open(&server));
    s.ask("BEGIN");
    s.ask(CHANGE_ALL);
    s.breaker.cut();
    let line = watch.until_rolling_back(s.id);
    assert_eq!((line.operation.as_deref(), line.query), (Some("rollback"), None));
    assert_eq!(watch.process(s.id), None);
    assert_eq!(watch.kill("", s.id).unwrap_err().number, 1094);
    watch.count_down_to_the_end(s.id);
    assert_unchanged(&server);
}

#[test]
fn a_savepoint_is_gone_back_to() {
    let folder = TempDir::new();
    let server = with_rows(&folder);
    let (mut s, mut watch) = (Session::open(&server), Watch::open(&server));
    s.ask("BEGIN");
    s.ask("UPDATE d.t SET c = 'first' WHERE id < 10");
    s.ask("SAVEPOINT x");
    s.ask(CHANGE_ALL);
    let running = s.send("ROLLBACK TO x");
    let line = watch.until_rolling_back(s.id);
    assert_eq!(line.operation.as_deref(), Some("rollback to a savepoint"));
    let after = watch.count_down(s.id).unwrap();
    assert_eq!((after.state.as_str(), after.changes), ("RUNNING", 10));
    assert!(s.answer(running).unwrap().is_ok());
    s.ask("UPDATE d.t SET c = 'second' WHERE id < 5");
    assert_eq!(watch.line(s.id).unwrap().changes, 15);
    s.ask("ROLLBACK");
    assert_unchanged(&server);
}

#[test]
fn a_waiting_session_is_killed_at_once() {
    let folder = TempDir::new();
    let server = with_rows(&folder);
    let (mut s, mut watch) = (Session::open(&server), Watch::open(&server));
    let mut other = Session::open(&server);
    other.ask("BEGIN");
    other.ask("UPDATE d.t SET c = 'held' WHERE id = 20");
    s.ask("BEGIN");
    s.ask("UPDATE d.t SET c = 'mine' WHERE id = 5");
    let running = s.send("UPDATE d.t SET c = 'wanted' WHERE id BETWEEN 10 AND 20");
    let line = watch.until(s.id, |l| l.as_ref().is_some_and(|l| l.state == "LOCK WAIT")).unwrap();
    assert!(line.changes <= 11, "{line:?}");
    watch.kill("QUERY", s.id).unwrap();
    assert_eq!(s.answer(running).unwrap().unwrap_err().number, 1317);
    assert_eq!(watch.line(s.id).unwrap().changes, 1, "the statement alone is undone");
    let running = s.send("DELETE FROM d.t WHERE id = 20");
    watch.until(s.id, |l| l.as_ref().is_some_and(|l| l.state == "LOCK WAIT"));
    watch.kill("", s.id).unwrap();
    assert!(s.answer(running).is_none());
    watch.until(s.id, Option::is_none);
    other.ask("UPDATE d.t SET c = 'as it was' WHERE id = 5");
    other.ask("ROLLBACK");
    assert_unchanged(&server);
}

#[test]
fn what_a_crash_left_is_rolled_back_in_sight() {
    let folder = TempDir::new();
    let mut server = with_rows(&folder);
    let mut s = Session::open(&server);
    s.ask("BEGIN");
    s.ask(CHANGE_ALL);
    // Its commit brings what was logged before to the disk.
    server.sql("CREATE TABLE d.u (id INT)");
    server.kill();
    let server = Server::start(folder.path());
    let mut watch = Watch::open(&server);
    let line = watch.until_rolling_back(0);
    assert_eq!((line.operation.as_deref(), line.query), (Some("rollback"), None));
    watch.until(0, |l| l.as_ref().is_none_or(|l| l.changes > 0));
    watch.count_down_to_the_end(0);
    assert_unchanged(&server);
}
