//! For how much the Performance Schema has room: what options leave it, and what is lost beyond that.

use super::until_rows;
use crate::with_table;
use testkit::raw::RawClient;
use testkit::{Conversation, Server, TempDir};

/// A server with these sizes, without `performance_schema_`.
fn start(folder: &TempDir, sizes: &[(&str, i64)]) -> Server {
    let option = |(name, size): &(&str, i64)| format!("--performance_schema_{name}={size}");
    sizes.iter().map(option).fold(Server::with(), |with, o| with.option(o)).start(folder.path())
}

fn number(server: &Server, query: &str) -> i64 {
    let answer = server.sql(query);
    answer.parse().unwrap_or_else(|_| panic!("{query}: {answer}"))
}

fn rows(server: &Server, table: &str) -> i64 {
    number(server, &format!("SELECT COUNT(*) FROM performance_schema.{table}"))
}

fn lost(server: &Server, what: &str) -> i64 {
    let name = format!("Performance_schema_{what}_lost");
    number(
        server,
        &format!(
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = '{name}'"
        ),
    )
}

/// A size, the table whose rows it is about, and the counter of those that are lost.
const ROOMS: [(&str, &str, &str); 15] = [
    ("accounts_size", "accounts", "accounts"),
    ("users_size", "users", "users"),
    ("hosts_size", "hosts", "hosts"),
    ("digests_size", "events_statements_summary_by_digest", "digest"),
    ("max_prepared_statements_instances", "prepared_statements_instances", "prepared_statements"),
    ("max_mutex_instances", "mutex_instances", "mutex_instances"),
    ("max_rwlock_instances", "rwlock_instances", "rwlock_instances"),
    ("max_cond_instances", "cond_instances", "cond_instances"),
    ("max_socket_instances", "socket_instances", "socket_instances"),
    ("max_file_instances", "file_instances", "file_instances"),
    ("max_table_instances", "table_io_waits_summary_by_table", "table_instances"),
    ("max_table_instances", "objects_summary_global_by_type", "table_instances"),
    ("max_table_lock_stat", "table_lock_waits_summary_by_table", "table_lock_stat"),
    ("max_index_stat", "table_io_waits_summary_by_index_usage", "index_stat"),
    ("session_connect_attrs_size", "session_connect_attrs", "session_connect_attrs"),
];

/// Something for each of [`ROOMS`].
fn use_all(server: &Server) {
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT, KEY (c))");
    let mut session = server.converse();
    session.ask("PREPARE p FROM 'SELECT c FROM d.t WHERE id = ?'");
    session.ask("INSERT INTO d.t VALUES (1, 1), (2, 2)");
    session.ask("SET @id = 2");
    assert_eq!(session.ask("EXECUTE p USING @id"), ["2"]);
    for (_, table, _) in ROOMS {
        session.ask(&format!("SELECT COUNT(*) FROM performance_schema.{table}"));
    }
    server.sql("SET GLOBAL limpid_instrument_level = default");
}

#[test]
fn a_size_of_0_leaves_an_empty_table_and_counts_what_is_lost() {
    let folder = TempDir::new();
    let server = start(&folder, &ROOMS.map(|(size, ..)| (size, 0_i64)));
    use_all(&server);
    for (size, table, what) in ROOMS {
        assert_eq!(rows(&server, table), 0, "{size}");
        assert!(lost(&server, what) > 0, "{size}");
        assert_eq!(number(&server, &format!("SELECT @@performance_schema_{size}")), 0);
    }
    assert_eq!(rows(&server, "events_statements_summary_by_account_by_event_name"), 0);
    let selects = "SELECT COUNT_STAR > 10 FROM performance_schema.events_statements_summary_global_by_event_name WHERE EVENT_NAME = 'statement/sql/select'";
    assert_eq!(number(&server, selects), 1, "what all do together is counted");
    server.sql("FLUSH STATUS");
    for what in ["table_instances", "index_stat", "table_lock_stat"] {
        assert_eq!(lost(&server, what), 0, "{what}");
    }
}

#[test]
fn without_sizes_nothing_is_lost() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    use_all(&server);
    let of_sessions = ["prepared_statements_instances"];
    for (_, table, what) in ROOMS {
        assert!(of_sessions.contains(&table) || rows(&server, table) > 0, "{table}");
        assert_eq!(lost(&server, what), 0, "{what}");
    }
}

#[test]
fn what_comes_finds_room_when_others_went() {
    let folder = TempDir::new();
    let server = start(&folder, &[("max_table_instances", 2), ("accounts_size", 2)]);
    server.sql("CREATE DATABASE d; CREATE USER u");
    for table in ["a", "b", "c"] {
        server
            .sql(&format!("CREATE TABLE d.{table} (id INT PRIMARY KEY); SELECT * FROM d.{table}"));
    }
    let tables = "SELECT GROUP_CONCAT(OBJECT_NAME ORDER BY OBJECT_NAME) FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_SCHEMA = 'd'";
    let [told, not_told] = [server.sql(tables), lost(&server, "table_instances").to_string()];
    assert_eq!((told.as_str(), not_told.as_str()), ("a,b", "1"));
    server.sql("DROP TABLE d.a; CREATE TABLE d.e (id INT PRIMARY KEY); SELECT * FROM d.e");
    assert_eq!(server.sql(tables), "b,e", "what was lost is not asked for again");
    let accounts =
        "SELECT GROUP_CONCAT(IFNULL(USER, '-') ORDER BY USER) FROM performance_schema.accounts";
    assert_eq!(server.sql(accounts), "-,root");
}

#[test]
fn transactions_of_single_statements_are_kept_without_their_statements() {
    let folder = TempDir::new();
    let sizes = [("events_statements_history_size", 0), ("events_transactions_history_size", 4)];
    let server = start(&folder, &sizes);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    let mut session = server.converse();
    let thread = session.ask("SELECT PS_CURRENT_THREAD_ID()").concat();
    for n in 0..9 {
        session.ask(&format!("INSERT INTO d.t VALUES ({n})"));
    }
    assert_eq!(rows(&server, "events_statements_history"), 0);
    let kept = server.sql(&format!(
        "SELECT COUNT(*), COUNT(DISTINCT EVENT_ID), MIN(STATE = 'COMMITTED' AND AUTOCOMMIT = 'YES' AND NESTING_EVENT_ID = EVENT_ID - 1),
                MIN(TIMER_WAIT > 0)
         FROM performance_schema.events_transactions_history WHERE THREAD_ID = {thread}"
    ));
    assert_eq!(kept, "4\t4\t1\t1");
    let last = server.sql(&format!(
        "SELECT EVENT_ID = (SELECT MAX(EVENT_ID) FROM performance_schema.events_transactions_history h WHERE h.THREAD_ID = {thread})
         FROM performance_schema.events_transactions_current WHERE THREAD_ID = {thread}"
    ));
    assert_eq!(last, "1");
    assert_eq!(lost(&server, "locker"), 0);
}

#[test]
fn actors_and_objects_that_are_not_listed_are_not_instrumented() {
    let folder = TempDir::new();
    let server = start(&folder, &[("setup_actors_size", 0), ("setup_objects_size", 1)]);
    assert_eq!((rows(&server, "setup_actors"), rows(&server, "setup_objects")), (0, 1));
    let own = "SELECT INSTRUMENTED FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
    assert_eq!(server.sql(own), "NO");
    for full in [
        "INSERT INTO performance_schema.setup_actors (HOST, USER) VALUES ('h', 'u')",
        "INSERT INTO performance_schema.setup_objects (OBJECT_SCHEMA, OBJECT_NAME) VALUES ('d', 't')",
    ] {
        let error = server.sql_error(full);
        assert!(error.contains("1114"), "{error}");
    }
    server.sql("TRUNCATE performance_schema.setup_objects");
    server.sql("INSERT INTO performance_schema.setup_objects (OBJECT_SCHEMA, OBJECT_NAME) VALUES ('d', 't')");
    assert_eq!(rows(&server, "setup_objects"), 1);
}

#[test]
fn errors_without_a_row_count_together() {
    let folder = TempDir::new();
    let by_error = "events_errors_summary_global_by_error";
    let server = start(&folder, &[("error_size", 3)]);
    assert!(server.sql_error("SELECT nothing").contains("1054"));
    assert_eq!(rows(&server, by_error), 4);
    let others = format!(
        "SELECT SUM_ERROR_RAISED > 0 FROM performance_schema.{by_error} WHERE ERROR_NAME IS NULL"
    );
    assert_eq!(number(&server, &others), 1);
    drop(server);
    let server = start(&folder, &[("error_size", 0)]);
    assert!(server.sql_error("SELECT nothing").contains("1054"));
    assert_eq!(
        (rows(&server, by_error), rows(&server, "events_errors_summary_by_thread_by_error")),
        (0, 0)
    );
}

#[test]
fn instruments_beyond_their_number_are_lost() {
    let kinds = [
        ("mutex", "wait/synch/mutex/", 5),
        ("rwlock", "wait/synch/", 0),
        ("cond", "wait/synch/cond/", 1),
        ("file", "wait/io/file/", 2),
        ("socket", "wait/io/socket/", 0),
        ("stage", "stage/", 0),
        ("statement", "statement/", 3),
        ("memory", "memory/", 0),
    ];
    let sizes: Vec<(String, i64)> =
        kinds.iter().map(|(kind, _, n)| (format!("max_{kind}_classes"), *n)).collect();
    let mut sizes: Vec<(&str, i64)> = sizes.iter().map(|(name, n)| (&**name, *n)).collect();
    sizes.push(("max_thread_classes", 1));
    let folder = TempDir::new();
    let server = start(&folder, &sizes);
    for (kind, names, most) in kinds {
        let condition = match kind {
            "rwlock" => "NAME LIKE 'wait/synch/rwlock/%' OR NAME LIKE 'wait/synch/sxlock/%'".into(),
            _ => format!("NAME LIKE '{names}%'"),
        };
        let listed =
            format!("SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE {condition}");
        assert_eq!(number(&server, &listed), most, "{kind}");
        assert!(lost(&server, &format!("{kind}_classes")) > 0, "{kind}");
    }
    assert_eq!(rows(&server, "setup_threads"), 1);
    assert!(lost(&server, "thread_classes") > 0);
    assert_eq!(rows(&server, "events_statements_summary_global_by_event_name"), 3);
    for table in
        ["events_stages_summary_global_by_event_name", "memory_summary_global_by_event_name"]
    {
        assert_eq!(rows(&server, table), 0, "{table}");
    }
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 1)");
    server.sql("ALTER TABLE d.t ADD KEY (c), ALGORITHM = COPY");
    assert_eq!(server.sql("SELECT c FROM d.t"), "1");
    assert_eq!(server.sql("SELECT @@limpid_instrument_level"), "synch");
}

#[test]
fn what_is_persisted_limits_the_next_start() {
    let folder = TempDir::new();
    let mut server = with_table(&folder);
    server.sql("SET PERSIST_ONLY performance_schema_memory_limit = 0");
    server.sql("SET PERSIST_ONLY performance_schema_max_table_instances = 0");
    server.stop();
    drop(server);
    let server = Server::start(folder.path());
    server.sql("SELECT 1; SELECT c FROM d.t");
    assert_eq!(rows(&server, "events_statements_summary_by_digest"), 0);
    assert_eq!(rows(&server, "table_io_waits_summary_by_table"), 0);
    assert!(lost(&server, "digest") > 0 && lost(&server, "table_instances") > 0);
}

/// Tables whose rows are about threads.
const OF_THREADS: [&str; 11] = [
    "threads",
    "processlist",
    "session_connect_attrs",
    "status_by_thread",
    "variables_by_thread",
    "user_variables_by_thread",
    "events_statements_current",
    "events_statements_history",
    "events_statements_summary_by_thread_by_event_name",
    "events_statements_summary_by_digest",
    "prepared_statements_instances",
];

/// Rows for each of [`OF_THREADS`].
fn use_a_thread(server: &Server) -> Conversation {
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    let mut session = server.converse();
    session.ask("PREPARE p FROM 'SELECT id FROM d.t'");
    session.ask("SET @u = 1");
    session.ask("BEGIN");
    assert!(session.ask("SELECT id FROM d.t").is_empty());
    session
}

#[test]
fn sessions_without_room_among_threads_have_none() {
    let folder = TempDir::new();
    let server = start(&folder, &[("max_thread_instances", 0)]);
    let mut session = use_a_thread(&server);
    let own = "SELECT PS_CURRENT_THREAD_ID() IS NULL, PS_THREAD_ID(CONNECTION_ID()) IS NULL";
    assert_eq!(session.ask(own), ["1\t1"]);
    for table in OF_THREADS {
        assert_eq!(rows(&server, table), 0, "{table}");
    }
    for (table, owner) in [("metadata_locks", "OWNER_THREAD_ID"), ("socket_instances", "THREAD_ID")]
    {
        let with = format!("SELECT COUNT({owner}) FROM performance_schema.{table}");
        assert_eq!((rows(&server, table) > 0, number(&server, &with)), (true, 0), "{table}");
    }
    assert_eq!(number(&server, "SELECT COUNT(USER) FROM performance_schema.accounts"), 0);
    let connected = number(&server, "SELECT COUNT(*) FROM information_schema.PROCESSLIST");
    assert!(connected >= 2, "who is connected is shown all the same");
    assert!(lost(&server, "thread_instances") > 0);
}

#[test]
fn sessions_have_threads_without_a_size() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    let _session = use_a_thread(&server);
    for table in OF_THREADS {
        assert!(rows(&server, table) > 0, "{table}");
    }
    assert!(number(&server, "SELECT COUNT(USER) FROM performance_schema.accounts") > 0);
    assert_eq!(lost(&server, "thread_instances"), 0);
}

#[test]
fn a_session_finds_room_among_threads_when_others_went() {
    let folder = TempDir::new();
    let server = start(&folder, &[("max_thread_instances", 60)]);
    let mut clients: Vec<RawClient> = (0..60).map(|_| RawClient::connect(&server)).collect();
    clients.iter_mut().for_each(RawClient::login);
    // The server's own threads came before.
    assert!(rows(&server, "threads") <= 60 && lost(&server, "thread_instances") > 0);
    drop(clients);
    let has_one = "SELECT 'told' FROM DUAL WHERE PS_CURRENT_THREAD_ID() > 0";
    assert_eq!(until_rows(&server, has_one), "told");
}

/// Rows of `metadata_locks` and `table_handles` while a transaction has two tables in use, and what of them was lost.
fn locks_and_handles(sizes: &[(&str, i64)]) -> [(i64, bool); 2] {
    let folder = TempDir::new();
    let server = start(&folder, sizes);
    server.sql("CREATE DATABASE d");
    let mut session = server.converse();
    for table in ["a", "b"] {
        session.ask(&format!("CREATE TABLE d.{table} (id INT PRIMARY KEY)"));
    }
    session.ask("BEGIN");
    for table in ["a", "b"] {
        assert!(session.ask(&format!("SELECT * FROM d.{table}")).is_empty());
    }
    let found = [("metadata_locks", "metadata_lock"), ("table_handles", "table_handles")]
        .map(|(table, what)| (rows(&server, table), lost(&server, what) > 0));
    server.sql("FLUSH STATUS");
    assert_eq!((lost(&server, "metadata_lock"), lost(&server, "table_handles")), (0, 0));
    found
}

#[test]
fn readers_are_told_of_as_many_locks_and_handles_as_there_is_room_for() {
    assert!(locks_and_handles(&[]).into_iter().all(|(rows, lost)| rows >= 2 && !lost));
    for room in [0, 1] {
        let sizes = [("max_metadata_locks", room), ("max_table_handles", room)];
        assert_eq!(locks_and_handles(&sizes), [(room, true); 2]);
    }
}

#[test]
fn texts_of_digests_are_told_as_far_as_there_is_room() {
    let digests = "SELECT COUNT(*), COUNT(DISTINCT DIGEST) FROM performance_schema.events_statements_summary_by_digest";
    for (room, text) in [(13, "SELECT ? AS `aaa`"), (12, "SELECT ? AS")] {
        let folder = TempDir::new();
        let server = start(&folder, &[("max_digest_length", room)]);
        server.sql("SELECT 1 AS aaa, 2 AS bbb");
        server.sql("SELECT 1 AS aaa, 2 AS ccc");
        let of_text = format!("{digests} WHERE DIGEST_TEXT = '{text}'");
        assert_eq!(server.sql(&of_text), "2\t2", "two statements, though they are told alike");
    }
    let folder = TempDir::new();
    let server = start(&folder, &[("max_digest_length", 0)]);
    let mut session = server.converse();
    assert_eq!(session.ask("SELECT 1 AS aaa"), ["1"]);
    let told = format!("{digests} WHERE DIGEST IS NOT NULL OR DIGEST_TEXT IS NOT NULL");
    assert_eq!(server.sql(&told), "0\t0");
    let kept = "SELECT COUNT(*) > 0, COUNT(DIGEST), COUNT(DIGEST_TEXT) FROM performance_schema.events_statements_history WHERE SQL_TEXT = 'SELECT 1 AS aaa'";
    assert_eq!(session.ask(kept), ["1\t0\t0"]);
    assert!(rows(&server, "events_statements_summary_by_digest") > 0);
}

#[test]
fn a_size_that_changes_nothing_is_told() {
    let folder = TempDir::new();
    let sizes =
        [("max_program_instances", 5), ("max_metadata_locks", 500), ("max_statement_stack", 20)];
    let server = start(&folder, &sizes);
    assert_eq!(number(&server, "SELECT @@performance_schema_max_program_instances"), 5);
    let told = |name: &str| {
        let text = format!("[Warning] [MY-011068] [Server] performance_schema_{name} = ");
        server.log().lines().filter(|line| line.contains(&text)).count()
    };
    assert_eq!(
        ["max_program_instances", "max_metadata_locks", "max_statement_stack"].map(told),
        [1, 0, 1]
    );
}
