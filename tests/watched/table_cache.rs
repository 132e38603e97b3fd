//! The table cache as its users see it: hits, misses, overflows, what is open, and who makes it anew. The figures are MySQL 9.7's, but
//! for the tables of its own dictionary, which it counts with them.

use testkit::{Conversation, Server, TempDir};

/// A server whose table cache holds so many tables, in one instance.
fn with_cache(folder: &TempDir, tables: u32, options: &[&str]) -> Server {
    let cache = format!("--table_open_cache={tables}");
    let start = Server::with().option(cache).option("--table_open_cache_instances=1");
    options.iter().fold(start, |start, option| start.option(*option)).start(folder.path())
}

/// Hits, misses and overflows of a session.
fn counted(session: &mut Conversation) -> [u64; 3] {
    ["hits", "misses", "overflows"].map(|of| {
        let name = format!("Table_open_cache_{of}");
        status(session, &name)
    })
}

fn status(session: &mut Conversation, name: &str) -> u64 {
    let answer = session.ask(&format!("SHOW SESSION STATUS LIKE '{name}'"));
    let value = answer.iter().filter_map(|line| line.split('\t').nth(1)?.parse().ok()).next();
    value.unwrap_or_else(|| panic!("{name}: {answer:?}"))
}

/// What statements add to hits, misses and overflows.
fn costs(session: &mut Conversation, statements: &[&str]) -> [u64; 3] {
    let before = counted(session);
    statements.iter().for_each(|statement| drop(session.ask(statement)));
    let after = counted(session);
    [0, 1, 2].map(|n| after[n] - before[n])
}

fn tables(server: &Server, count: u32) {
    let created: Vec<_> =
        (1..=count).map(|n| format!("CREATE TABLE d.t{n} (a INT PRIMARY KEY, b INT)")).collect();
    server.sql(&format!("CREATE DATABASE d; {}", created.join("; ")));
}

#[test]
fn a_small_cache_overflows_and_a_large_one_does_not() {
    let folder = TempDir::new();
    let server = with_cache(&folder, 10, &[]);
    tables(&server, 20);
    let mut session = server.converse();
    let each: Vec<_> = (1..=20).map(|n| format!("SELECT a FROM d.t{n}")).collect();
    let each: Vec<_> = each.iter().map(String::as_str).collect();
    assert_eq!(costs(&mut session, &each), [0, 20, 10]);
    assert_eq!(status(&mut session, "Open_tables"), 10);
    // The oldest go first: who goes round finds nothing, who turns back finds the last ones.
    assert_eq!(costs(&mut session, &each), [0, 20, 20]);
    assert_eq!(costs(&mut session, &["SELECT a FROM d.t20", "SELECT a FROM d.t11"]), [2, 0, 0]);
    // Prepared statements find their tables again without being prepared again.
    session.ask("PREPARE p FROM 'SELECT a FROM d.t11'");
    costs(&mut session, &each);
    assert_eq!(costs(&mut session, &["EXECUTE p", "EXECUTE p"]), [2, 0, 0]);
    costs(&mut session, &each[..10]);
    assert_eq!(costs(&mut session, &["EXECUTE p", "EXECUTE p"]), [1, 1, 1]);
    assert_eq!(status(&mut session, "Com_stmt_reprepare"), 0);
    // A larger one is enough.
    server.sql("SET GLOBAL table_open_cache = 100");
    costs(&mut session, &each);
    assert_eq!(costs(&mut session, &each), [20, 0, 0]);
    assert_eq!(status(&mut session, "Open_tables"), 20);
    // A smaller one acts when the next table is opened; what a statement uses stays while it goes on.
    server.sql("SET GLOBAL table_open_cache = 3");
    let join = "SELECT COUNT(*) FROM d.t1, d.t2, d.t3, d.t4, d.t5, d.t6";
    session.ask(join);
    session.ask("FLUSH TABLES d.t6");
    session.ask(join);
    assert_eq!(status(&mut session, "Open_tables"), 3);
    let [hits, misses, overflows] = costs(&mut session, &[join, join]);
    assert_eq!((hits + misses, misses), (12, overflows));
    assert_eq!(status(&mut session, "Open_tables"), 3);
}

#[test]
fn a_table_is_opened_as_often_as_a_statement_names_it() {
    let folder = TempDir::new();
    let server = with_cache(&folder, 100, &[]);
    tables(&server, 2);
    server.sql("CREATE VIEW d.v AS SELECT a FROM d.t1");
    let mut session = server.converse();
    let join = "SELECT COUNT(*) FROM d.t1 AS x, d.t1 AS y";
    assert_eq!(costs(&mut session, &[join]), [0, 2, 0]);
    assert_eq!(costs(&mut session, &[join]), [2, 0, 0]);
    assert_eq!(costs(&mut session, &[join, join]), [4, 0, 0]);
    assert_eq!(status(&mut session, "Opened_tables"), 2);
    // The view has no handle, its table has.
    assert_eq!(costs(&mut session, &["SELECT * FROM d.v", "SELECT * FROM d.v"]), [2, 0, 0]);
    assert_eq!(costs(&mut session, &["INSERT INTO d.t2 SELECT a + 1, 1 FROM d.t2"]), [0, 2, 0]);
    // A temporary table is opened, but not in the cache.
    let opened = status(&mut session, "Opened_tables");
    let own = ["CREATE TEMPORARY TABLE d.own (a INT)", "SELECT * FROM d.own"];
    assert_eq!(costs(&mut session, &own), [0, 0, 0]);
    assert_eq!(status(&mut session, "Opened_tables"), opened + 1);
    assert_eq!(costs(&mut session, &["SELECT * FROM d.missing"]), [0, 0, 0]);
    // LOCK TABLES keeps what it opens.
    session.ask("LOCK TABLES d.t1 READ");
    assert_eq!(costs(&mut session, &["SELECT a FROM d.t1", "SELECT a FROM d.t1"]), [0, 0, 0]);
    session.ask("UNLOCK TABLES");
    assert_eq!(costs(&mut session, &["SELECT a FROM d.t1"]), [1, 0, 0]);
    // Prepared: PREPARE misses, EXECUTE hits.
    let mut other = server.converse();
    assert_eq!(costs(&mut other, &["PREPARE p FROM 'SELECT a FROM d.t1'"]), [0, 1, 0]);
    assert_eq!(costs(&mut other, &["EXECUTE p"]), [1, 0, 0]);
    assert_eq!(costs(&mut other, &["ANALYZE TABLE d.t1", "EXECUTE p"])[1], 0);
    assert_eq!(status(&mut other, "Com_stmt_reprepare"), 0);
    session.ask("ALTER TABLE d.t1 ADD COLUMN c INT");
    assert_eq!(costs(&mut other, &["EXECUTE p"])[1], 1);
    assert_eq!(status(&mut other, "Com_stmt_reprepare"), 1);
    session.ask("FLUSH TABLES d.t1");
    assert_eq!(costs(&mut other, &["EXECUTE p"])[1], 1);
    assert_eq!(status(&mut other, "Com_stmt_reprepare"), 2);
    // A session's figures begin anew; those of all do not.
    let all = |server: &Server| server.sql("SHOW GLOBAL STATUS LIKE 'Table_open_cache_misses'");
    let before = all(&server);
    other.ask("FLUSH STATUS");
    assert_eq!((counted(&mut other), all(&server)), ([0, 0, 0], before));
}

#[test]
fn open_tables_are_listed_and_flushed() {
    let folder = TempDir::new();
    let server = with_cache(&folder, 100, &[]);
    tables(&server, 3);
    server.sql("CREATE VIEW d.v AS SELECT a FROM d.t1");
    server.sql("FLUSH TABLES");
    assert_eq!(server.sql("SHOW OPEN TABLES"), "");
    let mut session = server.converse();
    session.ask("SELECT * FROM d.v");
    session.ask("SELECT * FROM d.t2");
    let all = "d\tt1\t0\t0\nd\tt2\t0\t0\nd\tv\t0\t0";
    assert_eq!(server.sql("SHOW OPEN TABLES"), all);
    assert_eq!(server.sql("SHOW OPEN TABLES FROM d"), all);
    assert_eq!(server.sql("SHOW OPEN TABLES FROM e"), "");
    assert_eq!(server.sql("SHOW OPEN TABLES LIKE 't%'"), "d\tt1\t0\t0\nd\tt2\t0\t0");
    let open = |server: &Server| server.sql("SHOW GLOBAL STATUS LIKE 'Open_table%'");
    assert_eq!(open(&server), "Open_table_definitions\t3\nOpen_tables\t2");
    session.ask("LOCK TABLES d.t1 WRITE, d.t3 READ");
    let used = "SHOW OPEN TABLES FROM d WHERE In_use > 0";
    assert_eq!(server.sql(used), "d\tt1\t1\t0\nd\tt3\t1\t0");
    session.ask("UNLOCK TABLES");
    session.ask("BEGIN");
    session.ask("SELECT * FROM d.t2");
    assert_eq!(server.sql(used), "");
    session.ask("COMMIT");
    server.sql("FLUSH TABLES d.t1");
    assert_eq!(server.sql("SHOW OPEN TABLES LIKE 't%'"), "d\tt2\t0\t0\nd\tt3\t0\t0");
    server.sql("FLUSH TABLES");
    assert_eq!(open(&server), "Open_table_definitions\t0\nOpen_tables\t0");
    assert_eq!(costs(&mut session, &["SELECT * FROM d.t2", "SELECT * FROM d.t2"]), [1, 1, 0]);
    assert_eq!(server.sql("SHOW OPEN TABLES"), "d\tt2\t0\t0");
    server.sql("DROP TABLE d.t2");
    assert_eq!(open(&server), "Open_table_definitions\t0\nOpen_tables\t0");
    // Who goes takes his tables along.
    session.ask("SELECT * FROM d.t3");
    assert_eq!(open(&server), "Open_table_definitions\t1\nOpen_tables\t1");
    drop(session);
    testkit::pause(300);
    assert_eq!(open(&server), "Open_table_definitions\t1\nOpen_tables\t0");
}

#[test]
fn lock_tables_opens_each_table_once_and_unlock_parks_them() {
    let folder = TempDir::new();
    let server = with_cache(&folder, 3, &[]);
    tables(&server, 6);
    let mut session = server.converse();
    session.ask("FLUSH TABLES");
    let lock = "LOCK TABLES d.t1 READ, d.t2 READ, d.t3 READ, d.t4 READ, d.t5 READ, d.t6 READ";
    assert_eq!(costs(&mut session, &[lock]), [0, 6, 0]);
    assert_eq!(status(&mut session, "Open_tables"), 6);
    assert_eq!(costs(&mut session, &["UNLOCK TABLES"]), [0, 0, 3]);
    assert_eq!(status(&mut session, "Open_tables"), 3);
}

#[test]
fn what_was_parked_before_the_switch_makes_room() {
    let folder = TempDir::new();
    let server = with_cache(&folder, 3, &["--limpid_table_cache_local=OFF"]);
    tables(&server, 4);
    server.sql("FLUSH TABLES; SELECT * FROM d.t1; SELECT * FROM d.t2; SELECT * FROM d.t3");
    server.sql("SET GLOBAL limpid_table_cache_local = ON");
    let mut session = server.converse();
    let select = "SELECT * FROM d.t4";
    assert_eq!(costs(&mut session, &[select, select, select]), [2, 1, 1]);
}

#[test]
fn sessions_of_an_instance_share_their_tables_when_told_so() {
    let folder = TempDir::new();
    let server = with_cache(&folder, 10, &["--limpid_table_cache_local=OFF"]);
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    tables(&server, 20);
    let (mut one, mut other) = (server.converse(), server.converse());
    let select = "SELECT a FROM d.t1";
    assert_eq!(costs(&mut one, &[select, select]), [1, 1, 0]);
    assert_eq!(costs(&mut other, &[select, select]), [2, 0, 0]);
    let join = "SELECT COUNT(*) FROM d.t1 AS x, d.t1 AS y";
    assert_eq!(costs(&mut other, &[join]), [1, 1, 0]);
    assert_eq!(costs(&mut one, &[join, join]), [4, 0, 0]);
    let each: Vec<_> = (1..=20).map(|n| format!("SELECT a FROM d.t{n}")).collect();
    let each: Vec<_> = each.iter().map(String::as_str).collect();
    // Two of t1 are there; each of the nineteen others comes, and all but ten go.
    assert_eq!(costs(&mut one, &each), [1, 19, 11]);
    assert_eq!(costs(&mut other, &each[10..]), [10, 0, 0]);
    assert_eq!(status(&mut other, "Open_tables"), 10);
    server.sql("ALTER TABLE d.t20 ADD COLUMN c INT");
    assert_eq!(costs(&mut one, &["SELECT a FROM d.t20"])[1], 1);
    assert_eq!(costs(&mut other, &["SELECT a FROM d.t20"]), [1, 0, 0]);
    let taken = server.sql(
        "SELECT SUM(COUNT_STAR) > 50 FROM performance_schema.events_waits_summary_by_instance \
         WHERE EVENT_NAME LIKE '%LOCK_table_cache%'",
    );
    assert_eq!(taken.trim(), "1");
}

#[test]
fn definitions_beyond_the_limit_go_and_are_read_again() {
    let folder = TempDir::new();
    let server = with_cache(&folder, 10, &["--table_definition_cache=400"]);
    tables(&server, 450);
    let mut session = server.converse();
    let definitions = |session: &mut Conversation| {
        ["Open_table_definitions", "Opened_table_definitions"].map(|name| status(session, name))
    };
    for n in 1..=450 {
        session.ask(&format!("SELECT a FROM d.t{n}"));
    }
    let [open, opened] = definitions(&mut session);
    assert!((380..=400).contains(&open), "{open} definitions of 450 tables are in memory");
    assert_eq!(opened, 450);
    session.ask("SELECT a FROM d.t450");
    assert_eq!(definitions(&mut session)[1], opened, "it was there");
    session.ask("SELECT a FROM d.t1");
    assert_eq!(definitions(&mut session)[1], opened + 1, "it was gone");
    // What shows definitions keeps none.
    let columns = "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'd'";
    assert_eq!(server.sql(columns), "900");
    assert_eq!(definitions(&mut session), [open, opened + 1]);
    // A start reads none.
    let mut server = server;
    assert!(server.stop().success());
    let server = with_cache(&folder, 10, &[]);
    let mut session = server.converse();
    assert_eq!(definitions(&mut session), [0, 0]);
    session.ask("SELECT a FROM d.t7");
    assert_eq!(definitions(&mut session), [1, 1]);
}
