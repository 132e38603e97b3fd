//! Sockets and idle sessions of the Performance Schema.

use crate::with_table;
use testkit::TempDir;

const WAITS: &str = "performance_schema.events_waits_summary_global_by_event_name";

#[test]
fn the_time_between_statements_is_idle() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    session.ask("SELECT 1");
    let idle = format!(
        "SELECT COUNT_STAR, MAX_TIMER_WAIT DIV 1000000000 FROM {WAITS} WHERE EVENT_NAME = 'idle'"
    );
    server.sql(&format!("TRUNCATE {WAITS}"));
    testkit::pause(120);
    for _ in 0..5 {
        session.ask("DO 0");
    }
    let told = session.ask(&idle).join("");
    let (count, milliseconds) = told.split_once('\t').unwrap();
    let numbers: [u64; 2] = [count, milliseconds].map(|n| n.parse().unwrap());
    // The five and this one; each is followed by one that ends the answer.
    assert!(numbers[0] >= 6 && numbers[1] >= 100, "{told}");
    server
        .sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = 'idle'");
    server.sql(&format!("TRUNCATE {WAITS}"));
    session.ask("DO 0");
    assert_eq!(session.ask(&idle), ["0\t0"]);
}

#[test]
fn sockets_are_listed_and_count_when_they_are_asked_to() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    session.ask("SELECT 1");
    let own = "FROM performance_schema.socket_instances WHERE THREAD_ID = PS_CURRENT_THREAD_ID()";
    let told = format!("SELECT EVENT_NAME, IP, PORT, STATE, SOCKET_ID > 2 {own}");
    assert_eq!(session.ask(&told), ["wait/io/socket/sql/client_connection\t\t0\tACTIVE\t1"]);
    let idle = "SELECT STATE FROM performance_schema.socket_instances WHERE EVENT_NAME LIKE '%client%' AND STATE = 'IDLE'";
    assert_eq!(server.sql(idle), "IDLE", "the session that asks nothing");
    let listening =
        "SELECT EVENT_NAME, IP, PORT > 0, THREAD_ID, STATE FROM performance_schema.socket_instances
                     WHERE EVENT_NAME LIKE '%server%' ORDER BY 1";
    assert_eq!(
        server.sql(listening),
        "wait/io/socket/sql/server_tcpip_socket\t127.0.0.1\t1\t1\tACTIVE\n\
         wait/io/socket/sql/server_unix_socket\t\t0\t1\tACTIVE"
    );

    let all = "SELECT COUNT_READ > 0, SUM_NUMBER_OF_BYTES_READ, COUNT_WRITE, SUM_NUMBER_OF_BYTES_WRITE DIV 1000, SUM_TIMER_WRITE > 0
               FROM performance_schema.socket_summary_by_event_name WHERE EVENT_NAME LIKE '%client%'";
    assert_eq!(server.sql(all), "0\t0\t0\t0\t0", "off unless switched on");
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE 'wait/io/socket/%'");
    let before = figures(&server);
    session.ask("SELECT REPEAT('x', 5000)");
    let after = figures(&server);
    assert!(after[0] > before[0] && after[1] - before[1] >= 5000, "{before:?} {after:?}");
    let here = "SELECT SUM_NUMBER_OF_BYTES_WRITE >= 5000 FROM performance_schema.socket_summary_by_instance s
                JOIN performance_schema.socket_instances i USING (OBJECT_INSTANCE_BEGIN) WHERE i.THREAD_ID = PS_CURRENT_THREAD_ID()";
    assert_eq!(session.ask(here), ["1"]);
    drop(session);
    assert!(figures(&server)[1] >= after[1], "what closed sockets counted stays");
    let accepted = "SELECT COUNT_MISC > 0, COUNT_READ FROM performance_schema.socket_summary_by_event_name WHERE EVENT_NAME LIKE '%unix%'";
    assert_eq!(server.sql(accepted), "1\t0");
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME LIKE 'wait/io/socket/%'");
    server.sql("TRUNCATE performance_schema.socket_summary_by_event_name");
    assert_eq!(server.sql(all), "0\t0\t0\t0\t0");
}

/// Bytes that clients sent, and that they were sent.
fn figures(server: &testkit::Server) -> [u64; 2] {
    let row = server.sql(
        "SELECT SUM_NUMBER_OF_BYTES_READ, SUM_NUMBER_OF_BYTES_WRITE FROM performance_schema.socket_summary_by_event_name
         WHERE EVENT_NAME LIKE '%client%'",
    );
    let (read, written) = row.split_once('\t').unwrap();
    [read.parse().unwrap(), written.parse().unwrap()]
}
