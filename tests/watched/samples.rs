//! The active session history: who was at what, and in whose way, after it is over.

use super::{until_answered, until_rows, with_table};
use testkit::{Server, TempDir};

const SAMPLER: &str =
    "SELECT COUNT(*) FROM performance_schema.threads WHERE NAME = 'thread/limpid/session_sampler'";

fn count(server: &Server) -> u64 {
    let count = server.sql("SELECT COUNT(*) FROM performance_schema.limpid_session_samples");
    count.parse().expect("a number")
}

#[test]
fn a_blocker_and_its_victims_are_found_afterwards() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let (mut blocker, mut row, mut ddl) = (server.converse(), server.converse(), server.converse());
    let connection = |session: &mut testkit::Conversation| {
        session.ask("USE d");
        session.ask("SELECT CONNECTION_ID()").concat()
    };
    let ids = [&mut blocker, &mut row, &mut ddl].map(connection);
    blocker.ask("BEGIN");
    blocker.ask("UPDATE t SET c = 70 WHERE id = 1");
    row.send("UPDATE t SET c = 71 WHERE id = 1");
    let of = |id: &str, columns: &str, condition: &str| {
        format!(
            "SELECT DISTINCT {columns} FROM performance_schema.limpid_session_samples
             WHERE PROCESSLIST_ID = {id} AND {condition}"
        )
    };
    let seen = |id: &str, condition: &str| {
        until_rows(&server, &of(id, "1", condition));
    };
    seen(&ids[1], "WAIT_SECONDS > 1");
    // Row locks are seen without the search for deadlocks, too.
    server.sql("SET GLOBAL innodb_deadlock_detect = OFF");
    ddl.send("ALTER TABLE t ADD x INT");
    seen(&ids[2], "EVENT_NAME = 'wait/lock/metadata/sql/mdl'");
    let mut other = server.converse();
    other.send("UPDATE d.t SET c = 72 WHERE id = 1 LIMIT 1");
    until_rows(
        &server,
        "SELECT 1 FROM performance_schema.limpid_session_samples WHERE SQL_TEXT LIKE '%72%'
         AND EVENT_NAME = 'wait/lock/innodb/row' AND BLOCKING_THREAD_ID IS NOT NULL LIMIT 1",
    );
    let at = server.sql("SELECT NOW(6)");
    until_rows(&server, &of(&ids[1], "1", &format!("SAMPLE_TIME > '{at}'")));
    blocker.ask("ROLLBACK");
    row.receive();
    other.receive();
    ddl.receive();
    drop((blocker, row, ddl));
    // It is over, and they are gone.
    let blocked = |id: &str, columns: &str| {
        server.sql(&of(
            id,
            columns,
            "EVENT_NAME LIKE 'wait/lock/%' AND BLOCKING_PROCESSLIST_ID IS NOT NULL",
        ))
    };
    let row = blocked(
        &ids[1],
        "USER, DB, COMMAND, STATE, EVENT_NAME, OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, BLOCKING_PROCESSLIST_ID, SQL_TEXT",
    );
    assert_eq!(
        row,
        format!(
            "root\td\tQuery\tupdating\twait/lock/innodb/row\tTABLE\td\tt\tPRIMARY\t{}\tUPDATE t SET c = 71 WHERE id = 1",
            ids[0]
        )
    );
    let ddl = blocked(&ids[2], "OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, STATE, SQL_TEXT");
    let waits = "TABLE\td\tt\tWaiting for table metadata lock\tALTER TABLE t ADD x INT";
    assert_eq!(ddl, waits);
    // Who was in the way was idle in a transaction, whose age is told, and so is what it ran last.
    let idle = of(
        &ids[0],
        "COMMAND, STATE, EVENT_NAME, SQL_TEXT, BLOCKING_THREAD_ID",
        "TRANSACTION_SECONDS > 1 AND TRANSACTION_SECONDS < 300 AND COMMAND_SECONDS <= TRANSACTION_SECONDS + 0.1",
    );
    let idle = server.sql(&idle);
    assert_eq!(idle, "Sleep\t\tidle\tSELECT 'answered 4'\tNULL");
    let thread = "SELECT COUNT(*) FROM performance_schema.limpid_session_samples v
        JOIN performance_schema.limpid_session_samples b ON b.THREAD_ID = v.BLOCKING_THREAD_ID AND b.SAMPLE_TIME = v.SAMPLE_TIME
        WHERE v.SQL_TEXT LIKE '%71%' AND b.SQL_TEXT LIKE '%answered%'";
    assert_ne!(server.sql(thread), "0");
    // The digest is that of the statement's figures.
    let digest = "SELECT DISTINCT d.DIGEST_TEXT FROM performance_schema.limpid_session_samples s
        JOIN performance_schema.events_statements_summary_by_digest d ON d.DIGEST = s.DIGEST AND d.SCHEMA_NAME = s.DB
        WHERE s.SQL_TEXT LIKE '%71%'";
    assert_eq!(server.sql(digest), "UPDATE `t` SET `c` = ? WHERE `id` = ?");
}

#[test]
fn it_is_switched_off_and_on_and_emptied() {
    let folder = TempDir::new();
    let server = Server::with().option("--limpid-session-history=OFF").start(folder.path());
    assert_eq!(server.sql(SAMPLER), "0");
    let mut sleeper = server.converse();
    sleeper.send("SELECT SLEEP(1000)");
    server.find_session("SLEEP");
    server.sql("SET GLOBAL limpid_session_history = ON; SET GLOBAL limpid_session_history = ON");
    assert_eq!(server.sql(SAMPLER), "1");
    until_answered(|| if count(&server) > 1 { "some".into() } else { String::new() }, "samples");
    let sleeps =
        "SELECT DISTINCT STATE, EVENT_NAME, OBJECT_NAME, BLOCKING_THREAD_ID, TRANSACTION_SECONDS
        FROM performance_schema.limpid_session_samples WHERE SQL_TEXT = 'SELECT SLEEP(1000)'";
    assert_eq!(server.sql(sleeps), "User sleep\twait/synch/cond/host/sleep\tNULL\tNULL\tNULL");
    server.sql("SET GLOBAL limpid_session_history = OFF");
    until_rows(&server, &format!("SELECT 1 FROM DUAL WHERE ({SAMPLER}) = 0"));
    // What is there stays until it is emptied, and nothing comes.
    assert!(count(&server) > 0);
    server.sql("TRUNCATE performance_schema.limpid_session_samples");
    testkit::pause(1500);
    assert_eq!(count(&server), 0);
    let refused = server.sql_error("DELETE FROM performance_schema.limpid_session_samples");
    assert!(refused.contains("1142"), "{refused}");
    // Passwords are in no sample.
    let secret = "CREATE USER IF NOT EXISTS u IDENTIFIED BY 'sesame' ATTRIBUTE '{\"a\": 1}'";
    server.sql("SET GLOBAL limpid_session_history = ON");
    let mut owner = server.converse();
    owner.ask("FLUSH TABLES WITH READ LOCK");
    let mut waiter = server.converse();
    waiter.send(secret);
    until_answered(
        || {
            server.sql(
                "SELECT SQL_TEXT FROM performance_schema.limpid_session_samples
                 WHERE SQL_TEXT LIKE 'CREATE USER%' LIMIT 1",
            )
        },
        "a statement that waits",
    );
    owner.ask("UNLOCK TABLES");
    waiter.receive();
    let told = "SELECT COUNT(*) FROM performance_schema.limpid_session_samples
        WHERE SQL_TEXT LIKE '%sesa_e%' AND SQL_TEXT NOT LIKE '%SELECT%'";
    assert_eq!(server.sql(told), "0");
}

#[test]
fn the_oldest_make_room() {
    let folder = TempDir::new();
    let server = Server::with().option("--limpid-session-history-size=2000").start(folder.path());
    let mut sleepers: Vec<_> = (0..3).map(|_| server.converse()).collect();
    sleepers.iter_mut().for_each(|sleeper| sleeper.send("DO SLEEP(1000)"));
    let oldest = "SELECT MIN(SAMPLE_TIME) FROM performance_schema.limpid_session_samples";
    let first = until_rows(&server, &format!("{oldest} HAVING COUNT(*) > 0"));
    until_rows(&server, &format!("{oldest} HAVING MIN(SAMPLE_TIME) > '{first}'"));
    let used = "SELECT CURRENT_COUNT_USED, CURRENT_NUMBER_OF_BYTES_USED BETWEEN 300 AND 2000
        FROM performance_schema.memory_summary_global_by_event_name WHERE EVENT_NAME LIKE '%limpid_session_samples'";
    let used = server.sql(used);
    let (pieces, within) = used.split_once('\t').expect("two columns");
    let pieces: u64 = pieces.parse().expect("a number");
    assert!((3..9).contains(&pieces) && within == "1", "{used}");
    assert_eq!(
        server.sql("SHOW GLOBAL STATUS LIKE 'Performance_schema_locker_lost'"),
        "Performance_schema_locker_lost\t0"
    );
}

#[test]
fn the_performance_schema_s_limit_is_the_history_s_too() {
    let folder = TempDir::new();
    let with = Server::with().option("--performance-schema-memory-limit=0");
    let server = with.start(folder.path());
    let mut sleeper = server.converse();
    sleeper.send("DO SLEEP(1000)");
    server.find_session("SLEEP");
    let lost = "SELECT VARIABLE_VALUE FROM performance_schema.global_status
        WHERE VARIABLE_NAME = 'Performance_schema_locker_lost' AND VARIABLE_VALUE > 5";
    until_rows(&server, lost);
    assert_eq!(count(&server), 0);
}
