//! The sqllogictest files that MySQL itself passes: `tests/sqllogictest` (its README names the origin).

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use testkit::sqllogic::{Report, run_file};
use testkit::{Peer, Server, TempDir, TextClient};

/// Records that hold today in each file, of those that hold on MySQL. A number only ever grows; the file is
/// done when the second number is reached.
const FILES: &[(&str, usize, usize)] = &[
    ("evidence/in1.test", 128, 128),
    ("evidence/in2.test", 45, 45),
    ("evidence/slt_lang_aggfunc.test", 55, 55),
    ("evidence/slt_lang_createview.test", 13, 13),
    ("evidence/slt_lang_dropindex.test", 8, 8),
    ("evidence/slt_lang_droptable.test", 12, 12),
    ("evidence/slt_lang_dropview.test", 13, 13),
    ("evidence/slt_lang_reindex.test", 6, 6),
    ("evidence/slt_lang_replace.test", 10, 10),
    ("evidence/slt_lang_update.test", 27, 27),
    ("select1.test", 1031, 1031),
    ("select2.test", 1031, 1031),
    ("select3.test", 3351, 3351),
];

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sqllogictest")
}

fn run(client: &mut TextClient, name: &str) -> Report {
    let not_mysql = std::fs::read_to_string(files().join("not-mysql.txt")).unwrap();
    let excused: Vec<&str> =
        not_mysql.lines().filter_map(|l| l.strip_prefix(name)?.strip_prefix('\t')).collect();
    let file = name.rsplit('/').next().unwrap().replace(".test", "");
    let database = format!("slt_{}_{file}", std::process::id());
    for sql in [
        format!("CREATE DATABASE {database}"),
        format!("USE {database}"),
        // The files were made for servers without strict mode.
        "SET sql_mode = ''".into(),
    ] {
        client.query(&sql).unwrap();
    }
    let report = run_file(client, &files().join(name), &|line| excused.contains(&line));
    client.query(&format!("DROP DATABASE {database}")).unwrap();
    report
}

#[test]
fn records_that_mysql_passes_pass() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    all_hold_on(&server.socket().into());
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask soak"]
fn the_records_hold_on_a_peer() {
    all_hold_on(&Peer::of_environment());
}

fn all_hold_on(server: &Peer) {
    let mut wrong = Vec::new();
    for (name, least, all) in FILES {
        let mut client = TextClient::connect(server);
        let report = run(&mut client, name);
        println!("{name}: {} of {all} hold", report.passed);
        for (sql, what) in report.failed.iter().take(200) {
            println!("  {sql}\n      {what}");
        }
        if report.passed < *least {
            wrong.push(format!("{name}: {} hold, {least} did before", report.passed));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
