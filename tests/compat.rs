//! Real programs against the server: dump tools, an ORM's own compliance suite, the exporter of metrics.
//!
//! 1. Each driver does with the server what it does with MySQL; what MySQL does with it is recorded in
//!    `tests/compat`. 2. `LIMPID_BLESS=1` writes the list of what is missing anew; the list only gets shorter.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "compat/drivers.rs"]
mod drivers;
#[path = "compat/exporter.rs"]
mod exporter;
#[path = "compat/tls.rs"]
mod tls;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
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

/// SQLAlchemy's version; its sdist brings the compliance suite.
const SQLALCHEMY: &str = "sqlalchemy-2.0.44";

/// The Python with everything installed, and the suite's folder.
fn sqlalchemy() -> (PathBuf, PathBuf) {
    static INSTALLED: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    INSTALLED.get_or_init(install).clone()
}

fn install() -> (PathBuf, PathBuf) {
    let kept = kept();
    let (python, suite) = (kept.join("venv/bin/python"), kept.join(SQLALCHEMY));
    let ready = kept.join("ready");
    if ready.exists() {
        return (python, suite);
    }
    std::fs::create_dir_all(&kept).unwrap();
    good(run(Command::new("python3").args(["-m", "venv"]).arg(kept.join("venv"))));
    let pip = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        // Without its C extensions: nothing has to be compiled.
        command.env("DISABLE_SQLALCHEMY_CEXT", "1").args(["-m", "pip"]).args(arguments);
        good(run(command.current_dir(&kept)));
    };
    let wanted = SQLALCHEMY.replacen('-', "==", 1);
    pip(&["install", "-q", &wanted, "PyMySQL==1.2.4", "pytest==9.2.0", "cryptography"]);
    pip(&["download", "-q", "--no-deps", "--no-binary", "sqlalchemy", &wanted]);
    let archive = format!("{SQLALCHEMY}.tar.gz");
    good(run(Command::new("tar").args(["xzf", &archive]).current_dir(&kept)));
    std::fs::write(ready, "").unwrap();
    (python, suite)
}

/// A test of a JUnit report.
struct Case<'r> {
    /// `Class::name`; the server's version is part of a class's name there, and is left out.
    name: String,
    passed: bool,
    /// What the report says of it.
    said: &'r str,
}

fn cases(report: &str) -> Vec<Case<'_>> {
    let attribute = |case: &str, name: &str| {
        let from = case.split_once(&format!(" {name}=\""))?.1;
        Some(from.split_once('"')?.0.to_string())
    };
    let mut found = Vec::new();
    for said in report.split("<testcase").skip(1) {
        let head = said.split_once('>').map_or(said, |(head, _)| head);
        let (Some(class), Some(name)) = (attribute(head, "classname"), attribute(head, "name"))
        else {
            continue;
        };
        let class = class.rsplit('.').next().unwrap_or_default();
        let class = class.split_once("_mysql+").map_or(class, |(class, _)| class);
        // With something inside it failed, or was passed over.
        found.push(Case { name: format!("{class}::{name}"), passed: head.ends_with('/'), said });
    }
    found
}

/// What the server answered 1235 for.
fn construct(said: &str) -> Option<String> {
    let rest = said.split("(1235, ").nth(1)?;
    let rest = rest.split_once("yet support ")?.1;
    let rest =
        rest.trim_start_matches("&#39;").trim_start_matches("&apos;").trim_start_matches('\'');
    let end = rest.find(['\'', '&', '"'])?;
    Some(rest[..end].to_string())
}

fn list(name: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
    let names = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    names.map(|l| l.split('\t').next().unwrap_or(l).to_string()).collect()
}

#[test]
fn sqlalchemys_dialect_suite_passes_what_it_passes_on_mysql() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    server.sql("CREATE DATABASE test; CREATE DATABASE test_schema");
    let (python, suite) = sqlalchemy();
    let report = data.path().join("report.xml");
    let address =
        format!("mysql+pymysql://root@localhost/test?unix_socket={}", server.socket().display());
    let mut pytest = Command::new("timeout");
    pytest.arg("600").arg(python).args(["-m", "pytest", "test/dialect/test_suite.py", "-q"]);
    pytest.args(["-p", "no:cacheprovider", "--maxfail=100000", "--dburi", &address]);
    pytest.arg(format!("--junitxml={}", report.display()));
    let answer = run(pytest.current_dir(suite));
    let report = std::fs::read_to_string(&report).unwrap_or_else(|e| {
        panic!("{e}: {}\n{}", answer.out, answer.err);
    });
    let cases = cases(&report);
    let here: BTreeSet<_> = cases.iter().filter(|c| c.passed).map(|c| c.name.clone()).collect();
    let there = list("sqlalchemy_mysql.txt");
    assert!(there.len() > 1000, "what passes on MySQL is recorded");
    let missing: BTreeSet<_> = there.difference(&here).cloned().collect();
    println!("SQLAlchemy: {} of {} pass", there.len() - missing.len(), there.len());
    // A class whose tables cannot be made fails as a whole, in the first of its tests or in all of them.
    let class = |name: &str| name.split("::").next().unwrap_or_default().to_string();
    let mut reasons: BTreeMap<String, String> = BTreeMap::new();
    for case in cases.iter().filter(|c| !c.passed) {
        if let Some(reason) = construct(case.said) {
            reasons.entry(class(&case.name)).or_insert_with(|| reason.clone());
            reasons.insert(case.name.clone(), reason);
        }
    }
    let reason = |name: &String| reasons.get(name).or_else(|| reasons.get(&class(name)));
    let unexplained: Vec<_> = missing.iter().filter(|name| reason(name).is_none()).collect();
    assert!(unexplained.is_empty(), "fail here for another reason than 1235: {unexplained:#?}");
    if std::env::var_os("LIMPID_BLESS").is_some() {
        let line = |name| format!("{name}\t{}\n", reason(name).map_or("", String::as_str));
        let lines: String = missing.iter().map(line).collect();
        let head =
            "# Tests that pass on MySQL 9.7.4 and not here yet; what answers 1235 in each.\n";
        std::fs::write(folder().join("sqlalchemy_missing.txt"), head.to_string() + &lines).unwrap();
        return;
    }
    let known = list("sqlalchemy_missing.txt");
    let lost: Vec<_> = missing.difference(&known).collect();
    assert!(lost.is_empty(), "passed before: {lost:#?}");
}
