//! Real programs against the server: dump tools, drivers, suites of drivers and ORMs, the exporter of metrics.
//!
//! 1. Each does with the server what it does with MySQL; what MySQL does with it is recorded in `tests/compat`.
//! 2. Suites run with an account that has the rights that their documentation asks for and no others: mostly all of the
//!    schemas that they work in, and nothing elsewhere.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "compat/django.rs"]
mod django;
#[path = "compat/drivers.rs"]
mod drivers;
#[path = "compat/exporter.rs"]
mod exporter;
#[path = "compat/go_suite.rs"]
mod go_suite;
#[path = "compat/pypi.rs"]
mod pypi;
#[path = "compat/sqlalchemy.rs"]
mod sqlalchemy;
#[path = "compat/sqlx.rs"]
mod sqlx;
#[path = "compat/tls.rs"]
mod tls;
#[path = "compat/xa.rs"]
mod xa;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{Answer, Server, TempDir, run};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat")
}

/// Where programs from PyPI are kept between runs.
fn kept() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("target")).join("compat")
}

fn good(answer: Answer) -> Answer {
    assert!(answer.ok, "{}\n{}", answer.out, answer.err);
    answer
}

/// An account that may do everything in these schemas, which are made, and nothing anywhere else; its name is its password.
fn owner(server: &Server, name: &str, schemas: &[&str]) {
    server.sql(&format!("CREATE USER {name} IDENTIFIED BY '{name}'"));
    for schema in schemas {
        server.sql(&format!("CREATE DATABASE {schema}; GRANT ALL ON {schema}.* TO {name}"));
    }
}

/// Names of a list of `tests/compat`: what stands before a tab, the reason behind it.
fn list(name: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
    let names = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    names.map(|l| l.split('\t').next().unwrap_or(l).to_string()).collect()
}

/// The database `dumped` with the schema of every type in it.
fn filled(server: &Server) {
    server.sql("DROP DATABASE IF EXISTS dumped; CREATE DATABASE dumped");
    let script = std::fs::File::open(folder().join("every_type.sql")).unwrap();
    good(run(server.client().args(["--default-character-set=utf8mb4", "dumped"]).stdin(script)));
}

fn dump(server: &Server) -> String {
    let mut command = Command::new("mariadb-dump");
    command.envs(testkit::client::LOCALE);
    command.arg("--no-defaults").arg(format!("--socket={}", server.socket().display()));
    command.args(["--user=root", "--skip-dump-date", "--no-tablespaces", "--hex-blob"]);
    command.args(["--default-character-set=utf8mb4", "--single-transaction"]);
    command.arg("dumped");
    // MariaDB's tool gives generated columns values, which MySQL refuses (3105).
    command.arg("--ignore-table=dumped.derived_columns");
    good(run(&mut command)).out
}

#[test]
fn mariadb_dump_of_every_type_comes_back_byte_for_byte() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    filled(&server);
    let first = dump(&server);
    let file = data.path().join("dump.sql");
    std::fs::write(&file, &first).unwrap();
    server.sql("DROP DATABASE dumped; CREATE DATABASE dumped");
    let script = std::fs::File::open(&file).unwrap();
    good(run(server.client().arg("dumped").stdin(script)));
    assert_eq!(first, dump(&server));
}

/// What mydumper writes, by file name; its own notes about the run left out.
fn mydumper(server: &Server, to: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut command = Command::new("mydumper");
    command.arg(format!("--socket={}", server.socket().display()));
    command.args(["--user=root", "--database=dumped", "--threads=2", "--outputdir"]);
    command.arg(to);
    good(run(&mut command));
    let files = std::fs::read_dir(to).unwrap().map(|e| e.unwrap().path());
    let files = files.filter(|p| !p.ends_with("metadata"));
    files
        .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(p).unwrap()))
        .collect()
}

#[test]
fn mydumper_of_every_type_comes_back_byte_for_byte() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    filled(&server);
    let first = mydumper(&server, &data.path().join("first"));
    assert!(first.len() > 5, "{:?}", first.keys());
    server.sql("DROP DATABASE dumped");
    let mut load = Command::new("myloader");
    load.arg(format!("--socket={}", server.socket().display()));
    load.args(["--user=root", "--database=dumped", "--threads=2", "--directory"]);
    good(run(load.arg(data.path().join("first"))));
    assert_eq!(first, mydumper(&server, &data.path().join("second")));
}
