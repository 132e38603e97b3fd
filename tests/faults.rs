//! Disks that fail under a real server: failed fsyncs and writes, damaged, cut and missing files.
//!
//! Failing system calls are injected by strace, which stands in for a bad disk.

#![allow(clippy::unwrap_used)] // tests

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use testkit::{Server, TempDir};

/// The exit code of a server whose log or data could not be written.
const STORAGE_FAILED: i32 = 3;

/// Starts a server whose every system call `call` after the first `good` fails with EIO.
fn under_a_bad_disk(folder: &TempDir, call: &str, good: u32) -> Server {
    let inject = format!("inject={call}:error=EIO:when={}+", good + 1);
    let trace = format!("trace={call}");
    let log = folder.path().join("strace").display().to_string();
    let strace = ["strace", "-f", "-qq", "-o", &log, "-e", &trace, "-e", &inject];
    Server::with().under(&strace).start(folder.path())
}

/// Inserts rows one by one until the server is gone; how many were acknowledged.
fn insert_until_it_dies(server: &Server) -> u64 {
    for id in 1..100_000 {
        let insert = format!("INSERT INTO d.t VALUES ({id}, REPEAT('x', 200))");
        if !server.try_sql(&insert).ok {
            return id - 1;
        }
    }
    panic!("the server outlived its disk");
}

fn a_failed_call_ends_the_server_and_loses_nothing(call: &str) {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c VARCHAR(200))");
    assert!(server.stop().success());
    let mut server = under_a_bad_disk(&folder, call, 60);
    let acknowledged = insert_until_it_dies(&server);
    let status = server.wait();
    assert_eq!(status.code(), Some(STORAGE_FAILED), "{status} after a failed {call}");
    assert!(server.log().contains("Input/output error"), "no reason in the log: {}", server.log());
    let server = Server::start(folder.path());
    let rows: u64 = server.sql("SELECT COUNT(*) FROM d.t").trim().parse().unwrap();
    // The insert that failed may or may not have become durable.
    assert!(rows == acknowledged || rows == acknowledged + 1, "{rows} of {acknowledged} rows");
}

#[test]
fn a_failed_fsync_ends_the_server_with_the_reason_and_loses_nothing() {
    a_failed_call_ends_the_server_and_loses_nothing("fdatasync");
}

#[test]
fn a_failed_write_ends_the_server_with_the_reason_and_loses_nothing() {
    a_failed_call_ends_the_server_and_loses_nothing("pwrite64");
}

/// A stopped server with a damaged table among sound ones.
struct Damaged {
    folder: TempDir,
    /// The damaged table's file.
    file: PathBuf,
}

impl Damaged {
    fn new() -> Damaged {
        let folder = TempDir::new();
        let mut server = Server::start(folder.path());
        server.sql(
            "CREATE DATABASE d; USE d;
             CREATE TABLE good (id INT PRIMARY KEY, c VARCHAR(200));
             CREATE TABLE bad (id INT PRIMARY KEY, c VARCHAR(200), KEY c (c));
             INSERT INTO good VALUES (1, 'sound')",
        );
        let rows: Vec<String> = (0..2000).map(|i| format!("({i}, REPEAT('{i}', 20))")).collect();
        server.sql(&format!("INSERT INTO d.bad VALUES {}", rows.join(",")));
        assert!(server.stop().success());
        let files = |prefix: &str| {
            let names = std::fs::read_dir(folder.path().join("data")).unwrap();
            let paths = names.map(|e| e.unwrap().path());
            let named = |p: &PathBuf| p.file_name().unwrap().to_string_lossy().starts_with(prefix);
            paths.filter(named).collect::<Vec<_>>()
        };
        // The start would repair the pages written last from their copies.
        files("doublewrite").iter().for_each(|copies| std::fs::remove_file(copies).unwrap());
        // The newest tablespace is the table made last.
        let file = files("space_").into_iter().max().unwrap();
        Damaged { folder, file }
    }

    fn start(&self) -> Server {
        Server::start(self.folder.path())
    }

    /// Flips a bit of every page from `first` on whose body is not empty.
    fn flip(&self, first: u64) {
        let file = OpenOptions::new().read(true).write(true).open(&self.file).unwrap();
        let pages = file.metadata().unwrap().len() / 16384;
        for page in first..pages {
            let mut byte = [0];
            file.read_exact_at(&mut byte, page * 16384 + 12_345).unwrap();
            file.write_all_at(&[byte[0] ^ 4], page * 16384 + 12_345).unwrap();
        }
    }
}

/// The others go on, and the damaged table's errors name it.
fn only_the_damaged_table_suffers(server: &Server) {
    assert_eq!(server.sql("SELECT c FROM d.good").trim(), "sound");
    server.sql("INSERT INTO d.good VALUES (2, 'more')");
    server.sql("DROP TABLE d.bad");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.good").trim(), "2");
}

#[test]
fn a_flipped_bit_is_an_error_that_names_table_index_and_page() {
    let damaged = Damaged::new();
    damaged.flip(1);
    let server = damaged.start();
    let error = server.sql_error("SELECT * FROM d.bad WHERE id = 77");
    assert!(error.contains("1712") && error.contains("`d`.`bad`"), "{error}");
    assert!(error.contains("PRIMARY") && error.contains("page"), "{error}");
    let check = server.sql("CHECK TABLE d.bad");
    assert!(check.contains("Corrupt"), "{check}");
    assert!(server.sql("CHECK TABLE d.good").contains("OK"));
    only_the_damaged_table_suffers(&server);
}

#[test]
fn a_table_file_cut_short_is_an_error_and_not_a_wrong_answer() {
    let damaged = Damaged::new();
    let file = OpenOptions::new().write(true).open(&damaged.file).unwrap();
    file.set_len(2 * 16384).unwrap();
    let server = damaged.start();
    let error = server.sql_error("SELECT COUNT(*), SUM(LENGTH(c)) FROM d.bad");
    assert!(error.contains("ERROR"), "{error}");
    only_the_damaged_table_suffers(&server);
}

#[test]
fn a_table_file_that_is_gone_or_foreign_is_an_error() {
    for foreign in [false, true] {
        let damaged = Damaged::new();
        std::fs::remove_file(&damaged.file).unwrap();
        if foreign {
            std::fs::write(&damaged.file, vec![b'f'; 5 * 16384]).unwrap();
        }
        let server = damaged.start();
        let error = server.sql_error("SELECT * FROM d.bad WHERE id = 1");
        assert!(error.contains("ERROR"), "{error}");
        only_the_damaged_table_suffers(&server);
    }
}

#[test]
fn a_damaged_log_is_refused_with_a_sentence() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    server.kill();
    for entry in std::fs::read_dir(folder.path().join("data/redo")).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().contains("control") {
            // Its header says whose it is.
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            file.write_all_at(b"garbage", 0).unwrap();
        }
    }
    let mut server = Server::with().spawn(folder.path());
    assert!(!server.wait().success());
    assert!(server.log().contains("redo/"), "the file is not named: {}", server.log());
}

/// The bytes of page 0 of a table's file that a start looks at.
fn spoil_page_0(file: &PathBuf) {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 100).unwrap();
    file.write_all_at(&[byte[0] ^ 4], 100).unwrap();
}

#[test]
fn redo_of_a_damaged_table_file_is_kept_and_the_start_refused_with_its_name() {
    let damaged = Damaged::new();
    let mut server = damaged.start();
    server.sql("INSERT INTO d.bad VALUES (5000, 'new'); INSERT INTO d.good VALUES (7, 'new')");
    server.kill();
    // What was written may have copies.
    for entry in std::fs::read_dir(damaged.folder.path().join("data")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("doublewrite") {
            std::fs::remove_file(path).unwrap();
        }
    }
    spoil_page_0(&damaged.file);
    let mut refused = Server::with().spawn(damaged.folder.path());
    assert!(!refused.wait().success());
    let log = refused.log();
    assert!(log.contains("`d`.`bad`") && log.contains("innodb_force_recovery=1"), "{log}");
    spoil_page_0(&damaged.file);
    let mut server = damaged.start();
    assert_eq!(server.sql("SELECT c FROM d.bad WHERE id = 5000").trim(), "new");
    server.sql("INSERT INTO d.bad VALUES (5001, 'newer')");
    server.kill();
    spoil_page_0(&damaged.file);
    let server = Server::with().option("--innodb_force_recovery=1").start(damaged.folder.path());
    assert_eq!(server.sql("SELECT c FROM d.good WHERE id = 7").trim(), "new");
    assert!(server.sql_error("SELECT * FROM d.bad").contains("ERROR"));
    server.sql("DROP TABLE d.bad");
}

#[test]
fn forced_recovery_reads_and_drops_tables_and_refuses_changes() {
    const SCHEMA: &str = "CREATE DATABASE d; USE d;
        CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, b INT, KEY (b));
        INSERT INTO t (b) VALUES (1), (2), (3);
        CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (1);
        CREATE TABLE child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES parent (id) ON DELETE CASCADE);
        INSERT INTO child VALUES (1);
        CREATE TABLE gone (id INT PRIMARY KEY); INSERT INTO gone VALUES (1);
        CREATE VIEW v AS SELECT * FROM t";
    // As MySQL 9.7 answers it at level 1.
    const REFUSED: [(&str, &str); 28] = [
        ("1881", "INSERT INTO t (b) VALUES (5)"),
        ("1881", "INSERT INTO t (b) SELECT b FROM t"),
        ("1881", "INSERT IGNORE INTO t VALUES (1, 1)"),
        ("1881", "INSERT INTO v (b) VALUES (5)"),
        ("1881", "REPLACE INTO t VALUES (1, 2)"),
        ("1881", "INSERT INTO t VALUES (1, 1) ON DUPLICATE KEY UPDATE b = 9"),
        ("1881", "UPDATE t SET b = 9"),
        ("1881", "UPDATE IGNORE t SET b = 9 WHERE id = 1"),
        ("1881", "DELETE FROM t"),
        ("1881", "DELETE FROM t WHERE id = 1"),
        ("1881", "DELETE t FROM t JOIN child ON child.id = t.id"),
        ("1881", "DELETE FROM parent"),
        ("1881", "LOCK TABLES t WRITE; DELETE FROM t"),
        ("1881", "START TRANSACTION; DELETE FROM t"),
        ("1881", "CREATE TABLE made AS SELECT * FROM t"),
        ("1881", "CREATE TEMPORARY TABLE own (id INT); INSERT INTO own VALUES (1)"),
        ("1881", "ALTER TABLE t ADD COLUMN c INT"),
        ("1881", "ALTER TABLE t ADD COLUMN c INT, RENAME TO u"),
        ("1881", "ALTER TABLE t COMMENT 'x'"),
        ("1881", "ALTER TABLE t ENGINE = InnoDB"),
        ("1881", "CREATE INDEX k ON t (b, id)"),
        ("1881", "DROP INDEX b ON t"),
        ("1091", "DROP INDEX k ON t"),
        ("1025", "RENAME TABLE t TO u"),
        ("1025", "ALTER TABLE t RENAME TO u"),
        ("1836", "CREATE DATABASE e"),
        ("1836", "DROP DATABASE d"),
        ("1366", "INSERT INTO t (b) VALUES ('x')"),
    ];
    const ALLOWED: [&str; 16] = [
        "UPDATE t SET b = b",
        "UPDATE t SET b = 9 WHERE id = 77",
        "DELETE FROM t WHERE id = 77",
        "INSERT INTO t SELECT * FROM t WHERE id = 77",
        "SELECT * FROM t FOR UPDATE",
        "CHECK TABLE t",
        "ANALYZE TABLE t",
        "CREATE DATABASE IF NOT EXISTS d",
        "CREATE TEMPORARY TABLE own (id INT); ALTER TABLE own ADD COLUMN c INT",
        "CREATE TABLE made (id INT PRIMARY KEY AUTO_INCREMENT) AUTO_INCREMENT = 10; TRUNCATE TABLE made",
        "CREATE TABLE like_t LIKE t; DROP TABLE like_t",
        "CREATE VIEW w AS SELECT 1; RENAME TABLE w TO x; DROP VIEW x",
        "ALTER TABLE t",
        "ALTER TABLE t DISABLE KEYS",
        "ALTER DATABASE d CHARACTER SET latin1",
        "DROP TABLE gone",
    ];
    const ROWS: &str =
        "SELECT GROUP_CONCAT(id, ':', b ORDER BY id), (SELECT COUNT(*) FROM d.child) FROM d.t";
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql(SCHEMA);
    let rows = server.sql(ROWS);
    assert!(server.stop().success());
    let mut server = Server::with().option("--innodb_force_recovery=1").start(folder.path());
    for (number, statement) in REFUSED {
        let error = server.sql_error(&format!("USE d; {statement}"));
        assert!(error.contains(&format!("ERROR {number} ")), "{statement}: {error}");
    }
    ALLOWED.iter().for_each(|statement| drop(server.sql(&format!("USE d; {statement}"))));
    let optimized = server.sql("OPTIMIZE TABLE d.t");
    assert!(
        optimized.contains("Operation not allowed when innodb_force_recovery > 0."),
        "{optimized}"
    );
    assert_eq!(server.sql(ROWS), rows);
    assert!(server.stop().success());
    // What was refused left nothing behind, and nothing is refused any more.
    let server = Server::start(folder.path());
    let tables = server.sql("SHOW TABLES FROM d");
    assert_eq!(
        tables.split_whitespace().collect::<Vec<_>>(),
        ["child", "made", "parent", "t", "v"]
    );
    assert_eq!(server.sql(ROWS), rows);
    server.sql("INSERT INTO d.t (b) VALUES (4); DELETE FROM d.parent; DROP DATABASE d");
}

#[test]
fn levels_of_forced_recovery_that_mean_nothing_here_are_refused() {
    for level in 2..=6 {
        let folder = TempDir::new();
        let option = format!("--innodb_force_recovery={level}");
        let mut server = Server::with().option(&option).spawn(folder.path());
        assert!(!server.wait().success());
        let log = server.log();
        assert!(log.contains(&format!("innodb_force_recovery={level} is not supported")), "{log}");
    }
}
