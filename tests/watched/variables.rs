//! Variables of sessions, seen by others.

use super::with_table;
use testkit::{Server, TempDir};

#[test]
fn variables_of_every_session_are_seen_by_all() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    let thread = session.ask("SELECT PS_CURRENT_THREAD_ID()").concat();
    server.sql("SET GLOBAL lock_wait_timeout = 77");
    let of_other = |names: &str| {
        server.sql(&format!(
            "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.variables_by_thread
             WHERE THREAD_ID = {thread} AND VARIABLE_NAME IN ({names}) ORDER BY 1"
        ))
    };
    let names =
        "'autocommit', 'lock_wait_timeout', 'max_connections', 'sort_buffer_size', 'timestamp'";
    session.ask("SET timestamp = 1700000000.5, sort_buffer_size = 65536, autocommit = 0");
    assert_eq!(
        of_other(names),
        "autocommit\tOFF\nlock_wait_timeout\t31536000\nsort_buffer_size\t65536\ntimestamp\t1700000000.500000",
        "a global value that changed later is none of the session's"
    );
    session.ask("USE d");
    session.ask("SET NAMES latin1");
    assert_eq!(
        of_other("'character_set_client', 'collation_connection', 'insert_id'"),
        "character_set_client\tlatin1\ncollation_connection\tlatin1_swedish_ci\ninsert_id\tNULL"
    );
    // A hint's value is the session's while the statement runs.
    let hinted = "PREPARE p FROM \"SELECT /*+ SET_VAR(sort_buffer_size = 131072) */ VARIABLE_VALUE FROM performance_schema.variables_by_thread
                  WHERE THREAD_ID = PS_CURRENT_THREAD_ID() AND VARIABLE_NAME = 'sort_buffer_size'\"";
    session.ask(hinted);
    assert_eq!(session.ask("EXECUTE p"), ["131072"]);
    assert_eq!(of_other("'sort_buffer_size'"), "sort_buffer_size\t65536");
    let same = "SELECT COUNT(*), COUNT(DISTINCT VARIABLE_NAME) = COUNT(*) FROM performance_schema.session_variables
                LEFT JOIN performance_schema.variables_by_thread v USING (VARIABLE_NAME, VARIABLE_VALUE)
                WHERE THREAD_ID = PS_CURRENT_THREAD_ID()";
    let own = "SELECT COUNT(*), 1 FROM performance_schema.variables_by_thread WHERE THREAD_ID = PS_CURRENT_THREAD_ID()";
    assert_eq!(session.ask(same), session.ask(own), "one's own are those of SHOW VARIABLES");
    assert!(server.sql_error("TRUNCATE performance_schema.variables_by_thread").contains("1142"));
}

#[test]
fn user_variables_of_every_session_are_seen_by_all() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    let thread = session.ask("SELECT PS_CURRENT_THREAD_ID()").concat();
    let of_other = || {
        server.sql(&format!(
            "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.user_variables_by_thread WHERE THREAD_ID = {thread} ORDER BY 1"
        ))
    };
    assert_eq!(of_other(), "");
    session
        .ask("SET @aB = 1, @b = 'text', @c = NULL, @d = 1.50, @e = 2.5e0, @f = DATE'2024-01-02'");
    session.ask("SELECT 7 INTO @g");
    session.ask("SET @ab = 3");
    assert_eq!(of_other(), "aB\t3\nb\ttext\nc\tNULL\nd\t1.50\ne\t2.5\nf\t2024-01-02\ng\t7");
    assert_eq!(session.ask("SELECT @ab, @AB"), ["3\t3"]);
    session.ask("SELECT @b := CONCAT(@b, c) FROM (SELECT 1 AS c UNION SELECT 2) AS n");
    assert!(of_other().contains("b\ttext12"), "{}", of_other());
    assert!(
        server.sql_error("TRUNCATE performance_schema.user_variables_by_thread").contains("1142")
    );
    assert!(
        server
            .sql_error("DELETE FROM performance_schema.user_variables_by_thread")
            .contains("1142")
    );
}

#[test]
fn where_values_of_variables_come_from_is_told() {
    let folder = TempDir::new();
    let mut server = Server::with().option("--net-read-timeout=55").start(folder.path());
    let of = |server: &Server, name: &str| {
        server.sql(&format!(
            "SELECT VARIABLE_SOURCE, VARIABLE_PATH LIKE '%mysqld-auto.cnf', MIN_VALUE, MAX_VALUE, SET_USER, SET_HOST,
                    SET_TIME BETWEEN NOW(6) - INTERVAL 1 MINUTE AND NOW(6)
             FROM performance_schema.variables_info WHERE VARIABLE_NAME = '{name}'"
        ))
    };
    assert_eq!(of(&server, "net_read_timeout"), "COMMAND_LINE\t0\t1\t31536000\tNULL\tNULL\tNULL");
    assert_eq!(of(&server, "wait_timeout"), "COMPILED\t0\t1\t31536000\tNULL\tNULL\tNULL");
    assert_eq!(of(&server, "autocommit"), "COMPILED\t0\t0\t0\tNULL\tNULL\tNULL");
    server.sql("SET SESSION wait_timeout = 7");
    assert_eq!(of(&server, "wait_timeout"), "COMPILED\t0\t1\t31536000\tNULL\tNULL\tNULL");
    server.sql("SET GLOBAL wait_timeout = 70, SESSION autocommit = 1");
    assert_eq!(of(&server, "wait_timeout"), "DYNAMIC\t0\t1\t31536000\troot\tlocalhost\t1");
    server.sql("SET PERSIST wait_timeout = 71");
    assert_eq!(of(&server, "wait_timeout"), "DYNAMIC\t0\t1\t31536000\troot\tlocalhost\t1");
    let counts = "SELECT COUNT(*), COUNT(DISTINCT VARIABLE_NAME) = COUNT(*) FROM performance_schema.variables_info";
    let all = "SELECT COUNT(*), 1 FROM performance_schema.session_variables";
    assert_eq!(server.sql(counts), server.sql(all));
    server.stop();
    let server = Server::start(folder.path());
    assert_eq!(of(&server, "wait_timeout"), "PERSISTED\t1\t1\t31536000\tNULL\tNULL\tNULL");
}
