//! A reader who stops behind the first row of a table of the Performance Schema holds nobody up: each table, one by one.

use super::statements::with_table;
use super::*;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Who waits for a reader waits for ever.
const LONGEST: Duration = Duration::from_secs(20);

/// The way to a client who says when something comes, and takes nothing until he is let go; then he is gone.
struct Stopped {
    /// True: stopped; false: the result has ended.
    tells: Sender<bool>,
    goes: Receiver<()>,
}

impl Net for Stopped {
    fn send(&mut self, _bytes: &[u8]) -> io::Result<()> {
        let _ = self.tells.send(true);
        // Its sender is dropped.
        let _ = self.goes.recv();
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

/// Reads a table whose first row is more than is gathered before it is sent.
fn read(server: &Arc<Server>, table: &str, mut net: Stopped) {
    let mut client = Client::root(server);
    let sql = format!("\x03SELECT t.*, REPEAT('x', 200000) FROM performance_schema.{table} t");
    let mut bytes = (sql.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(sql.as_bytes());
    client.raw_over(&bytes, &mut net);
    let _ = net.tells.send(false);
}

/// A session comes, with statements of all kinds, and goes.
fn come_and_go(server: &Arc<Server>) {
    let mut client = Client::root(server);
    client.run("USE db");
    assert_eq!(client.rows("SELECT c FROM t WHERE id = 2"), ["two"]);
    client.run("CREATE TABLE n (id INT PRIMARY KEY)");
    client.run("INSERT INTO n VALUES (1)");
    client.run("DROP TABLE n");
}

/// Whether a reader of the table stopped in a row; fails, and names the table, when others did not go on meanwhile.
fn stops(server: &Arc<Server>, table: &str) -> bool {
    let (tells, told) = channel();
    let (go, goes) = channel();
    let (done, is_done) = channel();
    let (mut stopped, mut went_on) = (false, true);
    std::thread::scope(|scope| {
        scope.spawn(move || read(server, table, Stopped { tells, goes }));
        stopped = told.recv_timeout(LONGEST).unwrap_or_else(|_| panic!("{table} has no end"));
        if stopped {
            scope.spawn(move || {
                come_and_go(server);
                let _ = done.send(());
            });
            went_on = is_done.recv_timeout(LONGEST).is_ok();
        }
        // The reader's client is gone: whoever waits for the reader goes on.
        drop(go);
    });
    assert!(went_on, "others wait for a reader of {table}");
    stopped
}

#[test]
fn whatever_table_a_reader_stops_in_sessions_and_ddl_go_on() {
    let (server, mut client) = with_table();
    client.run("BEGIN");
    client.run("UPDATE t SET c = 'four' WHERE id = 1");
    let tables = client.rows(
        "SELECT LOWER(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema'",
    );
    let stopped: Vec<&String> = tables.iter().filter(|table| stops(&server, table)).collect();
    assert!(stopped.len() > 40, "readers stopped in {stopped:?} of {} tables", tables.len());
}
