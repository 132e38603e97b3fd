//! Cursors of the binary protocol.

use super::statements::with_table;
use super::*;
use wire::constants::StatusFlags;

/// A prepared statement that is run with a cursor.
struct Opened {
    id: u32,
    status: StatusFlags,
}

/// The status at the end of a result: clients that are tested understand OK there.
fn status_of(end: &[u8]) -> StatusFlags {
    assert_eq!(end[0], 0xFE, "{end:?}");
    StatusFlags(u16::from_le_bytes([end[3], end[4]]))
}

impl Client {
    fn execute_with(&mut self, id: u32, flags: u8) -> Vec<Vec<u8>> {
        self.command(&[&[0x17][..], &id.to_le_bytes(), &[flags, 1, 0, 0, 0]].concat())
    }

    fn open(&mut self, sql: &str) -> Opened {
        let id = self.prepare(sql);
        let replies = self.execute_with(id, 1);
        let columns = usize::from(replies[0][0]);
        assert_eq!(replies.len(), columns + 2, "columns and the end: {:?}", text_of(&replies));
        Opened { id, status: status_of(&replies[columns + 1]) }
    }

    /// A cursor over `n` rows of 50 characters and their number, counted from 1.
    fn open_rows(&mut self, n: u32) -> Opened {
        self.run("SET SESSION cte_max_recursion_depth = 100000");
        let series = format!("SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < {n}");
        self.open(&format!(
            "WITH RECURSIVE n AS ({series}) SELECT CONCAT(REPEAT('x', 50), i) FROM n"
        ))
    }

    /// Rows of one column of text, and the status behind them.
    fn fetch(&mut self, id: u32, rows: u32) -> (Vec<String>, StatusFlags) {
        let replies = self.fetch_packets(id, rows);
        let (end, rows) = replies.split_last().expect("an end");
        let text = |row: &Vec<u8>| String::from_utf8_lossy(&row[3..]).into_owned();
        (rows.iter().map(text).collect(), status_of(end))
    }

    fn fetch_packets(&mut self, id: u32, rows: u32) -> Vec<Vec<u8>> {
        self.command(&[&[0x1C][..], &id.to_le_bytes(), &rows.to_le_bytes()].concat())
    }
}

#[test]
fn rows_are_fetched_in_pieces_and_the_end_closes_the_cursor() {
    let (_server, mut client) = with_table();
    let opened = client.open("SELECT c FROM t ORDER BY id");
    assert!(opened.status.has(StatusFlags::CURSOR_EXISTS));
    let (rows, status) = client.fetch(opened.id, 2);
    assert_eq!(rows, ["one", "two"]);
    assert!(status.has(StatusFlags::CURSOR_EXISTS));
    let (rows, status) = client.fetch(opened.id, 2);
    assert_eq!(rows, ["three"]);
    assert!(status.has(StatusFlags::LAST_ROW_SENT) && !status.has(StatusFlags::CURSOR_EXISTS));
    assert_eq!(error_of(&client.fetch_packets(opened.id, 1)), 1421);
    assert_eq!(error_of(&client.fetch_packets(99, 1)), 1243);
    // As many rows as there are: only the next fetch finds the end.
    let opened = client.open("SELECT c FROM t ORDER BY id");
    let (rows, status) = client.fetch(opened.id, 3);
    assert!(rows.len() == 3 && status.has(StatusFlags::CURSOR_EXISTS));
    let (rows, status) = client.fetch(opened.id, 3);
    assert!(rows.is_empty() && status.has(StatusFlags::LAST_ROW_SENT));
}

#[test]
fn several_cursors_are_open_at_once_and_outlive_changes_and_transactions() {
    let (_server, mut client) = with_table();
    client.run("BEGIN");
    let up = client.open("SELECT c FROM t ORDER BY id");
    let down = client.open("SELECT c FROM t ORDER BY id DESC FOR UPDATE");
    assert_eq!(client.fetch(up.id, 1).0, ["one"]);
    assert_eq!(client.fetch(down.id, 1).0, ["three"]);
    client.run("DELETE FROM t");
    client.run("COMMIT");
    assert_eq!(client.fetch(up.id, 1).0, ["two"]);
    client.run("DROP TABLE t");
    assert_eq!(client.fetch(down.id, 9).0, ["two", "one"]);
    assert_eq!(client.fetch(up.id, 9).0, ["three"]);
}

#[test]
fn running_resetting_and_closing_the_statement_close_its_cursor() {
    let (_server, mut client) = with_table();
    let opened = client.open("SELECT c FROM t ORDER BY id");
    assert_ok(&client.command(&[&[0x1A][..], &opened.id.to_le_bytes()].concat()));
    assert_eq!(error_of(&client.fetch_packets(opened.id, 1)), 1421);
    client.execute_with(opened.id, 1);
    assert_eq!(client.fetch(opened.id, 2).0, ["one", "two"]);
    client.execute_with(opened.id, 1);
    assert_eq!(client.fetch(opened.id, 1).0, ["one"], "it was opened anew");
    let replies = client.execute_with(opened.id, 0);
    assert_eq!(replies.len(), 1 + 1 + 3 + 1, "without a cursor the rows follow");
    assert_eq!(error_of(&client.fetch_packets(opened.id, 1)), 1421);
    client.execute_with(opened.id, 1);
    assert!(client.command(&[&[0x19][..], &opened.id.to_le_bytes()].concat()).is_empty());
    assert_eq!(error_of(&client.fetch_packets(opened.id, 1)), 1243);
}

#[test]
fn what_sends_no_rows_has_no_cursor() {
    let (_server, mut client) = with_table();
    let insert = client.prepare("INSERT INTO t (c) VALUES ('four')");
    assert_ok(&client.execute_with(insert, 1));
    assert_eq!(error_of(&client.fetch_packets(insert, 1)), 1421);
    let into = client.prepare("SELECT c FROM t WHERE id = 1 INTO @c");
    assert_eq!(error_of(&client.execute_with(into, 1)), 1323);
    let none = client.open("SELECT c FROM t WHERE id = 99");
    let (rows, status) = client.fetch(none.id, 1);
    assert!(rows.is_empty() && status.has(StatusFlags::LAST_ROW_SENT));
}

#[test]
fn a_cursor_of_many_rows_goes_to_a_file_and_comes_back_whole() {
    let (_server, mut client) = with_table();
    let opened = client.open_rows(20000);
    let mut seen = 0;
    loop {
        let (rows, status) = client.fetch(opened.id, 700);
        for row in rows {
            seen += 1;
            assert!(row.ends_with(&format!("x{seen}")), "{row}");
        }
        if status.has(StatusFlags::LAST_ROW_SENT) {
            break;
        }
    }
    assert_eq!(seen, 20_000);
}

/// Kills the statement of a session when the first piece of its result is sent.
struct Killing {
    server: Arc<Server>,
    victim: u64,
    pieces: usize,
}

impl Net for Killing {
    fn send(&mut self, _: &[u8]) -> io::Result<()> {
        self.pieces += 1;
        let (server, kill) = (Arc::clone(&self.server), format!("KILL QUERY {}", self.victim));
        // Another session runs on a thread of its own.
        let killer = host::thread::spawn("killer", move || Client::root(&server).run(&kill))?;
        killer.join().map_err(|_| io::ErrorKind::Other.into())
    }
}

#[test]
fn a_fetch_that_is_killed_ends_and_the_session_goes_on() {
    let (server, mut client) = with_table();
    let opened = client.open_rows(5000);
    let mut net = Killing { server: Arc::clone(&server), victim: client.session.id(), pieces: 0 };
    let fetch = [&[0x1C][..], &opened.id.to_le_bytes(), &5000u32.to_le_bytes()].concat();
    let packet = [&(fetch.len() as u32).to_le_bytes()[..], &fetch].concat();
    let replies = client.raw_over(&packet, &mut net);
    assert_eq!((error_of(&replies), net.pieces), (1317, 1));
    assert_eq!(error_of(&client.fetch_packets(opened.id, 1)), 1421, "its cursor is closed");
    assert_eq!(client.rows("SELECT 1"), ["1"]);
}
