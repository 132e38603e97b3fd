//! Stages of the Performance Schema: how far statements are that take long.

use super::until_answered;
use crate::with_table;
use testkit::{Conversation, Server, TempDir};

const ROWS: u32 = 1 << 16;

/// A row of the table of present stages and what goes with it, seen while `statements` ran one after the other; none after all.
fn seen_during(
    (observer, worker): (&mut Conversation, &mut Conversation),
    query: &str,
    statements: [&str; 2],
) -> Vec<String> {
    for statement in statements.iter().cycle().take(20) {
        worker.send(statement);
        // The worker is known to be done when it is idle again.
        let idle = "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_COMMAND = 'Query' AND TYPE = 'FOREGROUND'";
        let mut begun = false;
        loop {
            let rows = observer.ask(query);
            if !rows.is_empty() {
                worker.receive();
                return rows;
            }
            let runs = observer.ask(idle) != ["1"];
            if begun && !runs {
                break;
            }
            begun |= runs;
        }
        worker.receive();
    }
    Vec::new()
}

#[test]
fn a_copying_alter_tells_how_far_it_is() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let (mut observer, mut worker) = (server.converse(), server.converse());
    worker.ask("CREATE TABLE d.big (id INT AUTO_INCREMENT PRIMARY KEY, n INT)");
    worker.ask("INSERT INTO d.big (n) VALUES (1)");
    for _ in 0..ROWS.ilog2() {
        worker.ask("INSERT INTO d.big (n) SELECT n FROM d.big");
    }
    worker.ask("ANALYZE TABLE d.big");
    let stages = "SELECT s.EVENT_NAME, s.WORK_COMPLETED <= s.WORK_ESTIMATED * 2, s.WORK_ESTIMATED > 1000, s.TIMER_WAIT > 0, s.END_EVENT_ID,
                         s.NESTING_EVENT_TYPE, e.SQL_TEXT, t.PROCESSLIST_STATE
                  FROM performance_schema.events_stages_current s
                  JOIN performance_schema.events_statements_current e ON e.THREAD_ID = s.THREAD_ID AND e.EVENT_ID = s.NESTING_EVENT_ID
                  JOIN performance_schema.threads t ON t.THREAD_ID = s.THREAD_ID";
    let alters =
        ["ALTER TABLE d.big MODIFY n VARCHAR(20)", "ALTER TABLE d.big MODIFY n DECIMAL(20, 2)"];
    let setup = "performance_schema.setup_instruments WHERE NAME LIKE 'stage/%' AND ENABLED = 'YES' AND PROPERTIES = 'progress'";
    assert_eq!(server.sql(&format!("SELECT COUNT(*) FROM {setup}")), "6");
    server.sql("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_stages_current'");
    let rows = seen_during((&mut observer, &mut worker), stages, alters);
    let mut cells: Vec<&str> = rows.first().expect("a stage").split('\t').collect();
    let text = cells.remove(6);
    assert!(alters.contains(&text), "{text}");
    let stage = "stage/sql/copy to tmp table";
    // Joined row by row: the list of threads may have been made behind the end.
    let state = cells.pop();
    assert!(
        matches!(state, Some("copy to tmp table" | "altering table" | "NULL" | "")),
        "{state:?}"
    );
    assert_eq!(cells, [stage, "1", "1", "1", "NULL", "STATEMENT"]);
    let gone = "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM performance_schema.events_stages_current)";
    until_answered(|| observer.ask(gone).concat(), gone);
    worker.ask("CREATE INDEX by_n ON d.big (n)");
    let counted =
        "SELECT EVENT_NAME FROM performance_schema.events_stages_summary_global_by_event_name
                   WHERE COUNT_STAR > 0 AND MAX_TIMER_WAIT > 0 ORDER BY 1";
    let build = "stage/innodb/alter table (read PK and internal sort)";
    assert_eq!(server.sql(counted), format!("{build}\n{stage}"));
    rolled_back(&server, &mut worker);
    // It may have the first one's type already.
    worker.ask(alters[1]);
    over(&server, &mut worker, (alters[0], stage));
    server.sql("TRUNCATE performance_schema.events_stages_summary_global_by_event_name");
    server.sql(
        "UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME LIKE 'stage/%'",
    );
    worker.ask(alters[0]);
    assert_eq!(server.sql(counted), "");
}

/// A rollback of many rows tells how far it is.
fn rolled_back(server: &Server, worker: &mut Conversation) {
    let long = "performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'events_stages_history_long'";
    server.sql(&format!("UPDATE {}", long.replace("NO", "YES")));
    worker.ask("BEGIN; UPDATE d.big SET n = n + 1; ROLLBACK");
    let told = "SELECT EVENT_NAME, WORK_COMPLETED = WORK_ESTIMATED, WORK_ESTIMATED > 1000, NESTING_EVENT_TYPE
                FROM performance_schema.events_stages_history_long";
    assert_eq!(server.sql(told), "stage/limpid/rolling back\t1\t1\tSTATEMENT");
    server.sql(&format!("TRUNCATE performance_schema.events_stages_history_long; UPDATE {long}"));
}

/// Stages that are over, of a statement that copies the table.
fn over(server: &Server, worker: &mut Conversation, (alter, stage): (&str, &str)) {
    let tables = ["events_stages_history", "events_stages_history_long"];
    let count =
        |table: &str| server.sql(&format!("SELECT COUNT(*) FROM performance_schema.{table}"));
    assert_eq!(tables.map(count), ["0", "0"], "nobody asked for them");
    for name in tables {
        server.sql(&format!(
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = '{name}'"
        ));
    }
    worker.ask(alter);
    for table in tables {
        let rows = server.sql(&format!(
            "SELECT h.EVENT_NAME, h.END_EVENT_ID = h.EVENT_ID, h.TIMER_WAIT = h.TIMER_END - h.TIMER_START AND h.TIMER_WAIT > 0, h.WORK_COMPLETED,
                    h.NESTING_EVENT_TYPE, s.SQL_TEXT
             FROM performance_schema.{table} h
             JOIN performance_schema.events_statements_history s ON s.THREAD_ID = h.THREAD_ID AND s.EVENT_ID = h.NESTING_EVENT_ID"
        ));
        assert_eq!(rows, format!("{stage}\t1\t1\t{ROWS}\tSTATEMENT\t{alter}"), "{table}");
        server.sql(&format!("TRUNCATE performance_schema.{table}"));
    }
    assert_eq!(tables.map(count), ["0", "0"]);
}
