//! Dumps of the stock program, restored into a fresh server: what comes out of that one is the same dump.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::{Server, TempDir};

/// Sets of options; the first are the program's defaults, which lock tables.
const OPTIONS: [&[&str]; 9] = [
    &[],
    &["--single-transaction"],
    &["--lock-all-tables"],
    &["--skip-extended-insert", "--order-by-primary"],
    &["--complete-insert", "--hex-blob", "--replace"],
    &["--no-autocommit", "--insert-ignore"],
    &["--compatible=ansi", "--no-tablespaces", "--default-character-set=utf8mb4"],
    &["--routines", "--triggers", "--events"],
    &["--no-data"],
];

/// Rows of the table whose columns came, went and were renamed while its rows stayed: what a dump of them wrote, and a fresh
/// server has read.
const INSTANT: [&str; 5] = [
    "f'1\t1\t2020-01-02 03:04:05.678\tone\ta\tfirst\t7.50\tNULL",
    "f'1\t2\t2020-01-02 03:04:05.678\tNULL\tb\tNULL\t7.50\tNULL",
    "f'1\t3\t2020-01-02 03:04:05.678\tthree\ta\tNULL\t7.50\tNULL",
    "new\t4\t2020-01-02 03:04:05.678\tfour\tc\tNULL\t7.50\tNULL",
    "f'1\t5\t2020-01-02 03:04:05.678\tNULL\tc\tNULL\t0.00\t[1]",
];

fn dump(server: &Server, options: &[&str], file: &Path) {
    let mut command = Command::new("mariadb-dump");
    command.envs(testkit::client::LOCALE);
    command.args(["--no-defaults", "--user=root", "--skip-dump-date"]);
    command.arg(format!("--socket={}", server.socket().display())).args(options).arg("d");
    let done = command.stdout(File::create(file).unwrap()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{options:?}: {said}");
}

fn restore(server: &Server, file: &Path) {
    server.sql("DROP DATABASE IF EXISTS d; CREATE DATABASE d");
    let mut client = server.client();
    client.args(["--default-character-set=utf8mb4", "d"]);
    let done = client.stdin(Stdio::from(File::open(file).unwrap())).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_dump_that_is_restored_is_the_same_dump() {
    let folders = [TempDir::new(), TempDir::new()];
    let servers = folders.each_ref().map(|folder| Server::start(folder.path()));
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps/schema.sql");
    restore(&servers[0], &schema);
    let versions = "SELECT total_row_versions >= 3 FROM information_schema.innodb_tables WHERE name = 'd/instant'";
    assert_eq!(servers[0].sql(versions), "1", "its rows are of several layouts");
    for options in OPTIONS {
        let files = folders.each_ref().map(|folder| folder.path().join("dump.sql"));
        dump(&servers[0], options, &files[0]);
        restore(&servers[1], &files[0]);
        dump(&servers[1], options, &files[1]);
        let texts = files.each_ref().map(|file| std::fs::read(file).unwrap());
        assert!(texts[0].len() > 5_000, "{options:?}: a short dump");
        assert!(texts[0] == texts[1], "{options:?}: another dump came out of the copy");
        if !options.contains(&"--no-data") {
            let rows = servers[1].sql("SELECT * FROM d.instant ORDER BY id");
            assert_eq!(rows.lines().collect::<Vec<_>>(), INSTANT, "{options:?}");
        }
    }
}
