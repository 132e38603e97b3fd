//! Time on a processor.

use crate::with_table;
use testkit::{Server, TempDir};

/// Nanoseconds on a processor, and in all, of the statements of a digest, and how many there were.
fn times(server: &Server, digest: &str) -> [u64; 3] {
    let row = server.sql(&format!(
        "SELECT SUM_CPU_TIME DIV 1000, SUM_TIMER_WAIT DIV 1000, COUNT_STAR
         FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE '{digest}'"
    ));
    let numbers: Vec<u64> = row.split('\t').map(|n| n.parse().unwrap_or(0)).collect();
    numbers.try_into().unwrap()
}

#[test]
fn time_on_a_processor_is_told_while_somebody_asks() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let switch = |on: &str| {
        server.sql(&format!("UPDATE performance_schema.setup_consumers SET ENABLED = '{on}' WHERE NAME = 'events_statements_cpu'"));
    };
    let mut session = server.converse();
    let work = "SELECT BENCHMARK(300000, MD5('a'))";
    let rest = "SELECT SLEEP(0.3)";
    session.ask(work);
    assert_eq!(times(&server, "SELECT `BENCHMARK`%")[0], 0, "off");
    switch("YES");
    session.ask(work);
    session.ask(rest);
    let [cpu, all, count] = times(&server, "SELECT `BENCHMARK`%");
    assert!(count == 2 && cpu > 1_000_000 && cpu <= all, "{cpu} of {all}");
    let [cpu, all, _] = times(&server, "SELECT `SLEEP`%");
    assert!(cpu > 0 && cpu < all / 4, "{cpu} of {all}");
    let event = server.sql(
        "SELECT CPU_TIME > 1000000000, CPU_TIME <= TIMER_WAIT FROM performance_schema.events_statements_history
         WHERE SQL_TEXT LIKE 'SELECT BENCHMARK%' ORDER BY EVENT_ID DESC LIMIT 1",
    );
    assert_eq!(event, "1\t1");
    let of_account = "SELECT SUM_CPU_TIME > 1000000000 FROM performance_schema.events_statements_summary_by_account_by_event_name
        WHERE USER = 'root' AND EVENT_NAME = 'statement/sql/select'";
    assert_eq!(server.sql(of_account), "1");
    switch("NO");
    let before = times(&server, "SELECT `BENCHMARK`%");
    session.ask(work);
    let after = times(&server, "SELECT `BENCHMARK`%");
    assert_eq!((after[0], after[2]), (before[0], before[2] + 1));
}
