//! Who did it: waits by thread, account, user and host, and threads that nobody looks at.

use crate::with_table;
use testkit::{Conversation, Server, TempDir};

const TABLE_IO: &str = "wait/io/table/sql/handler";

fn number(server: &Server, query: &str) -> u64 {
    server.sql(query).parse().unwrap_or_else(|_| panic!("no number: {query}"))
}

/// COUNT_STAR of an instrument of waits in all rows of a summary for which a condition holds.
fn waits(server: &Server, by: &str, instrument: &str, condition: &str) -> u64 {
    let query = format!(
        "SELECT CAST(IFNULL(SUM(COUNT_STAR), 0) AS UNSIGNED) FROM performance_schema.events_waits_summary_{by}_by_event_name
         WHERE EVENT_NAME = '{instrument}' AND {condition}"
    );
    number(server, &query)
}

fn thread_of(session: &mut Conversation) -> String {
    session.ask("SELECT PS_CURRENT_THREAD_ID()").remove(0)
}

#[test]
fn reads_of_tables_are_those_of_threads_and_then_of_accounts() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("INSERT INTO d.t (id) VALUES (101), (102), (103), (104)");
    let of_all = |server: &Server| waits(server, "global", TABLE_IO, "TRUE");
    let mut session = server.converse();
    let thread = thread_of(&mut session);
    let own = format!("THREAD_ID = {thread}");
    let (before, rows) = (of_all(&server), ["101", "102", "103", "104"]);
    assert_eq!(session.ask("SELECT id FROM d.t WHERE id > 100"), rows);
    assert_eq!(session.ask("SELECT id FROM d.t WHERE id = 101"), ["101"]);
    assert_eq!(waits(&server, "by_thread", TABLE_IO, &own), 5);
    assert_eq!(of_all(&server), before + 5);
    for by in ["account", "user", "host"] {
        let by = format!("by_{by}");
        assert_eq!(waits(&server, &by, TABLE_IO, "TRUE"), of_all(&server), "{by}");
    }
    // Its time is there, too.
    let timed = format!("SELECT SUM_TIMER_WAIT > 0, MIN_TIMER_WAIT <= AVG_TIMER_WAIT, AVG_TIMER_WAIT <= MAX_TIMER_WAIT
        FROM performance_schema.events_waits_summary_by_thread_by_event_name WHERE EVENT_NAME = '{TABLE_IO}' AND {own}");
    assert_eq!(server.sql(&timed), "1\t1\t1");
    // A table that is closed, and one that is gone.
    session.ask("CREATE TABLE d.other (a INT)");
    session.ask("INSERT INTO d.other VALUES (1), (2)");
    session.ask("DROP TABLE d.other");
    session.ask("FLUSH TABLES");
    session.ask("CREATE TEMPORARY TABLE d.own (a INT)");
    session.ask("INSERT INTO d.own VALUES (1)");
    session.ask("DROP TEMPORARY TABLE d.own");
    assert_eq!(waits(&server, "by_thread", TABLE_IO, &own), 8);
    assert_eq!(of_all(&server), before + 8);
    // TRUNCATE by thread gives all to the accounts; of tables, it is none of theirs.
    server.sql("TRUNCATE performance_schema.table_io_waits_summary_by_table");
    assert_eq!((waits(&server, "by_thread", TABLE_IO, &own), of_all(&server)), (8, 0));
    assert_eq!(waits(&server, "by_account", TABLE_IO, "TRUE"), before + 8);
    server.sql("TRUNCATE performance_schema.events_waits_summary_by_thread_by_event_name");
    assert_eq!(waits(&server, "by_thread", TABLE_IO, &own), 0);
    assert_eq!(waits(&server, "by_account", TABLE_IO, "TRUE"), before + 8);
    session.ask("SELECT id FROM d.t WHERE id = 101");
    assert_eq!(waits(&server, "by_thread", TABLE_IO, &own), 1);
    assert_eq!(waits(&server, "by_user", TABLE_IO, "USER = 'root'"), before + 9);
    drop(session);
    for _ in 0..200 {
        if waits(&server, "by_thread", TABLE_IO, &own) == 0 {
            break;
        }
        testkit::pause(25);
    }
    assert_eq!(waits(&server, "by_user", TABLE_IO, "USER = 'root'"), before + 9);
    assert_eq!(waits(&server, "by_host", TABLE_IO, "HOST = 'localhost'"), before + 9);
    server.sql("TRUNCATE performance_schema.events_waits_summary_global_by_event_name");
    assert_eq!(waits(&server, "by_account", TABLE_IO, "TRUE"), 0);
}

#[test]
fn operations_on_files_and_sockets_are_those_of_threads() {
    let folder = TempDir::new();
    let server = Server::with().option("--secure-file-priv=").start(folder.path());
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE 'wait/io/socket/%'");
    let mut session = server.converse();
    let own = format!("THREAD_ID = {}", thread_of(&mut session));
    let out = folder.path().join("rows.txt");
    session.ask(&format!("SELECT 1 INTO OUTFILE '{}'", out.display()));
    let files = "wait/io/file/sql/select_to_file";
    let written = waits(&server, "by_thread", files, &own);
    assert!(written > 0, "{written}");
    let sockets = "wait/io/socket/sql/client_connection";
    assert!(waits(&server, "by_thread", sockets, &own) >= 2);
    drop(session);
    super::until_rows(
        &server,
        &format!(
            "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM performance_schema.threads WHERE {own})"
        ),
    );
    assert_eq!(waits(&server, "global", files, "TRUE"), written);
    assert_eq!(waits(&server, "by_account", files, "USER = 'root'"), written);
    // Threads, live and ended, did what all did.
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME LIKE 'wait/io/socket/%'");
    let of = |by: &str| waits(&server, by, sockets, "TRUE");
    assert_eq!(of("by_host"), of("global"));
}

/// Statements, waits for tables, transactions and errors of the account, and of all.
fn figures(server: &Server, of: &str, condition: &str) -> [u64; 4] {
    let query = format!(
        "SELECT (SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_{of}_by_event_name WHERE EVENT_NAME = 'statement/sql/do' AND {condition}),
                (SELECT SUM(COUNT_STAR) FROM performance_schema.events_waits_summary_{of}_by_event_name WHERE EVENT_NAME = '{TABLE_IO}' AND {condition}),
                (SELECT SUM(COUNT_STAR) FROM performance_schema.events_transactions_summary_{of}_by_event_name WHERE {condition}),
                (SELECT SUM(SUM_ERROR_RAISED) FROM performance_schema.events_errors_summary_{of}_by_error WHERE ERROR_NUMBER = 1146 AND {condition})"
    );
    let row = server.sql(&query);
    let numbers: Vec<u64> = row.split('\t').map(|n| n.parse().unwrap_or(0)).collect();
    numbers.try_into().unwrap()
}

/// One of each that is in [`figures`].
fn do_all(session: &mut Conversation) {
    session.ask("DO 1");
    session.ask("SELECT id FROM d.t WHERE id = 101");
    session.ask("BEGIN");
    session.ask("COMMIT");
    session.ask("SELECT * FROM d.nothing");
}

#[test]
fn without_thread_instrumentation_only_what_all_did_goes_on() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("INSERT INTO d.t (id) VALUES (101)");
    let mut session = server.converse();
    let own = format!("THREAD_ID = {}", thread_of(&mut session));
    let switch = |on: &str| {
        server.sql(&format!("UPDATE performance_schema.setup_consumers SET ENABLED = '{on}' WHERE NAME = 'thread_instrumentation'"));
    };
    do_all(&mut session);
    let first = figures(&server, "by_thread", &own);
    assert!(first[0] == 1 && first[1] == 1 && first[2] >= 2 && first[3] == 1, "{first:?}");
    let global = figures(&server, "global", "TRUE");
    switch("NO");
    do_all(&mut session);
    let digests = "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT = 'DO ?'";
    assert_eq!(server.sql(digests), "2", "digests are nobody's");
    assert_eq!(figures(&server, "by_thread", &own), first);
    let account = figures(&server, "by_account", "USER = 'root'");
    let more = figures(&server, "global", "TRUE");
    for n in 0..4 {
        assert!(more[n] > global[n], "{n}: {global:?} {more:?}");
    }
    assert_eq!(account[0], 1);
    // Who comes and goes meanwhile did nothing.
    server.sql("DO 1");
    assert_eq!(figures(&server, "by_account", "USER = 'root'")[0], 1);
    assert_eq!(figures(&server, "global", "TRUE")[0], 3);
    switch("YES");
    assert_eq!(figures(&server, "by_thread", &own), first, "what was done meanwhile is nobody's");
    do_all(&mut session);
    let second = figures(&server, "by_thread", &own);
    assert_eq!([second[0], second[1], second[3]], [2, 2, 2]);
    assert_eq!(figures(&server, "global", "TRUE")[0], 4);
    server.sql("TRUNCATE performance_schema.events_statements_summary_by_thread_by_event_name");
    assert_eq!(figures(&server, "by_thread", &own), [0, second[1], second[2], second[3]]);
    assert_eq!(figures(&server, "by_account", "USER = 'root'")[0], 2);
    drop(session);
    super::until_rows(
        &server,
        &format!(
            "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM performance_schema.threads WHERE {own})"
        ),
    );
    assert_eq!(figures(&server, "by_user", "USER = 'root'")[0], 2);
    assert_eq!(figures(&server, "global", "TRUE")[0], 4);
}

#[test]
fn what_a_thread_does_that_is_not_instrumented_counts_nowhere() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("INSERT INTO d.t (id) VALUES (101)");
    let mut session = server.converse();
    let own = format!("THREAD_ID = {}", thread_of(&mut session));
    let switch = |on: &str| {
        server.sql(&format!(
            "UPDATE performance_schema.threads SET INSTRUMENTED = '{on}' WHERE {own}"
        ));
    };
    do_all(&mut session);
    let first = figures(&server, "by_thread", &own);
    let io = |server: &Server| waits(server, "global", TABLE_IO, "TRUE");
    let (errors, reads) = (figures(&server, "global", "TRUE")[3], io(&server));
    switch("NO");
    do_all(&mut session);
    assert_eq!(figures(&server, "by_thread", &own), first);
    assert_eq!(figures(&server, "global", "TRUE")[0], 1);
    assert_eq!((figures(&server, "global", "TRUE")[3], io(&server)), (errors, reads));
    let digests = "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT = 'DO ?'";
    assert_eq!(server.sql(digests), "1");
    let history = format!(
        "SELECT COUNT(*) FROM performance_schema.events_statements_history WHERE {own} AND SQL_TEXT = 'DO 1'"
    );
    assert_eq!(server.sql(&history), "1");
    // Where nobody looks at threads, what they do counts for all.
    let consumer = |on: &str| {
        server.sql(&format!("UPDATE performance_schema.setup_consumers SET ENABLED = '{on}' WHERE NAME = 'thread_instrumentation'"));
    };
    consumer("NO");
    do_all(&mut session);
    assert_eq!(figures(&server, "global", "TRUE")[0], 2);
    assert_eq!(io(&server), reads + 1);
    consumer("YES");
    switch("YES");
    do_all(&mut session);
    assert_eq!(figures(&server, "by_thread", &own)[0], 2);
    assert_eq!(figures(&server, "by_thread", &own)[1], 2);
}
