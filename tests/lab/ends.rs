//! What ends a run early, and what it leaves then; servers that run already.

use super::{
    LONGEST, SHORT, assert_nothing_is_left, assert_ok, code, csv, lab, processes, series, servers,
    text,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use testkit::{Server, TempDir, run};

#[test]
fn a_full_disk_under_the_report_ends_the_run() {
    let folder = TempDir::new();
    let of_experiment = folder.path().join("out/hot-table");
    std::fs::create_dir_all(&of_experiment).unwrap();
    // What is written there finds no room.
    std::os::unix::fs::symlink("/dev/full", of_experiment.join("samples.csv")).unwrap();
    let words = [&["run", "hot-table", "--users=2"], &SHORT[..]].concat();
    let answer = run(&mut lab(folder.path(), &words));
    assert!(!answer.ok && answer.err.contains("samples.csv: No space left"), "{}", answer.err);
    assert!(text(folder.path(), "report.md").contains("ended early: out/hot-table/samples.csv"));
    assert_nothing_is_left(folder.path());
    // A page for which there is no room leaves the former ones.
    let pages = || ["report.md", "report.html"].map(|page| text(folder.path(), page));
    let before = pages();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("out/report.md.part")).unwrap();
    let words = [&["run", "pfs-loop"], &SHORT[..]].concat();
    let answer = run(&mut lab(folder.path(), &words));
    assert!(!answer.ok && answer.err.contains("report.md: No space left"), "{}", answer.err);
    assert_eq!(pages(), before);
}

/// The most users that there may be; with too few files for them, that is said before a server starts.
#[test]
fn a_thousand_users_and_too_few_files_for_them() {
    let folder = TempDir::new();
    let words = [
        "run",
        "hot-table",
        "--quick",
        "--workload=point-select",
        "--users=1024",
        "--rounds=1",
        "--seconds=1",
        "--rows=500",
    ];
    let of_lab = lab(folder.path(), &words);
    let mut few = Command::new("sh");
    few.args(["-c", "ulimit -n 1000 && exec \"$@\"", "sh"]).arg(of_lab.get_program());
    let refused = run(few.args(of_lab.get_args()).current_dir(folder.path()));
    let why = "1024 users take 1280 open files, and 1000 are allowed here";
    assert!(!refused.ok && refused.err.contains(why), "{}", refused.err);
    assert!(text(folder.path(), "report.md").contains(why));
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let cells = csv(&text(folder.path(), "hot-table/cells.csv"));
    let [heads, cell] = &cells[..] else { panic!("{cells:?}") };
    let figure = |name: &str| {
        let place = heads.iter().position(|head| head == name).unwrap();
        cell[place].parse::<f64>().unwrap()
    };
    assert_eq!((figure("users"), figure("errors")), (1024.0, 0.0), "{cell:?}");
    assert!(figure("qps") > 0.0, "{cell:?}");
    assert_nothing_is_left(folder.path());
}

/// Begins a run and waits until its first cell is measured.
fn begun(command: &mut Command, folder: &Path) -> Child {
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (begin, cells) = (Instant::now(), folder.join("out/hot-table/cells.csv"));
    while std::fs::read_to_string(&cells).unwrap_or_default().lines().count() < 2 {
        assert!(begin.elapsed() < LONGEST, "no cell");
        testkit::pause(20);
    }
    child
}

/// Exit code and standard error of a run that was begun.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < LONGEST, "the run does not end");
        testkit::pause(20);
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

const LONG: [&str; 7] =
    ["run", "hot-table", "--quick", "--seconds=0.5", "--rounds=500", "--users=2", "--rows=500"];

#[test]
fn ctrl_c_leaves_a_valid_report_and_no_process() {
    let folder = TempDir::new();
    let child = begun(&mut lab(folder.path(), &LONG), folder.path());
    assert!(testkit::signal(child.id(), "INT"));
    let (code, error) = ended(child);
    assert_eq!(code, Some(130), "{error}");
    let (md, html) = (text(folder.path(), "report.md"), text(folder.path(), "report.html"));
    assert!(md.contains("ended early: interrupted") && md.contains("| point-select | 2 |"), "{md}");
    assert!(html.ends_with("</html>\n"));
    let users = text(folder.path(), "hot-table/point-select-users.svg");
    assert_eq!(series(&users), ["default".to_string()].into());
    assert_nothing_is_left(folder.path());
}

/// Sysbench ends with the lab, too. Its password is in no list of processes and in no report.
#[test]
fn ctrl_c_ends_sysbench_and_no_password_is_seen() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE USER asker IDENTIFIED BY 'sesame'; GRANT ALL ON limpid_lab.* TO asker");
    let dsn = format!("socket={} user=asker password=sesame name=other", server.socket().display());
    let own = ["--driver=sysbench", "--workload=point-select", "--dsn", &dsn];
    let mut child = begun(&mut lab(folder.path(), &[&LONG[..], &own[..]].concat()), folder.path());
    let (begin, mut is_seen) = (Instant::now(), false);
    while !is_seen || !text(folder.path(), "hot-table/cells.csv").contains(",other,") {
        let is_over = child.try_wait().unwrap().is_some();
        assert!(!is_over && begin.elapsed() < LONGEST, "{is_over}, {is_seen}");
        for (_, words) in processes(folder.path()) {
            if words.contains("sysbench --db-driver") && words.contains("--mysql-user=asker") {
                assert!(!words.contains("sesame"), "{words}");
                is_seen = true;
            }
        }
        testkit::pause(20);
    }
    assert!(testkit::signal(child.id(), "INT"));
    let (code, error) = ended(child);
    assert_eq!(code, Some(130), "{error}");
    for page in ["report.md", "report.html"].map(|page| text(folder.path(), page)) {
        assert!(page.contains("ended early: interrupted") && page.contains("password=***"));
        assert!(!page.contains("sesame"), "{page}");
    }
    drop(server);
    assert_nothing_is_left(folder.path());
}

#[test]
fn ctrl_c_ends_a_recovery_and_those_before_it_are_told() {
    let folder = TempDir::new();
    let words = ["run", "recovery", "--quick", "--seconds=0.5", "--rounds=100"];
    let mut command = lab(folder.path(), &words);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // A server that was killed, the same again, and the next one.
    let (begin, mut seen) = (Instant::now(), BTreeSet::new());
    while seen.len() < 3 {
        assert!(begin.elapsed() < LONGEST, "{seen:?}");
        seen.extend(servers(folder.path()));
        testkit::pause(20);
    }
    assert!(testkit::signal(child.id(), "INT"));
    let (code, error) = ended(child);
    assert_eq!(code, Some(130), "{error}");
    let md = text(folder.path(), "report.md");
    assert!(
        md.contains("ended early: limpid: interrupted") && md.contains("Recoveries of limpid"),
        "{md}"
    );
    let chart = series(&text(folder.path(), "recovery/recovery-limpid.svg"));
    assert_eq!(chart, ["first answer", "whole"].map(str::to_string).into());
    assert_nothing_is_left(folder.path());
}

#[test]
fn a_server_that_runs_already_is_measured_and_its_death_is_told() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    let before =
        server.sql("SELECT @@limpid_mdl_fast_path, @@limpid_mdl_hash, @@limpid_instrument_level");
    let dsn = format!("socket={} name=other", server.socket().display());
    // Settings that need a start are skipped and named; those of others are set back.
    let words = [&["run", "shared-counter", "--users=2", "--dsn", &dsn], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let md = text(folder.path(), "report.md");
    assert!(md.contains("other: with the latch") && md.contains("limpid: with the latch"), "{md}");
    // What only others have.
    let userstat = "other: setting \"userstat ON\" skipped: `SET GLOBAL userstat = ON`: 1193";
    assert!(md.contains(userstat), "{md}");
    assert_eq!(server.sql("SELECT @@limpid_grant_lock"), "0");
    let after =
        server.sql("SELECT @@limpid_mdl_fast_path, @@limpid_mdl_hash, @@limpid_instrument_level");
    assert_eq!(before, after);
    let words = [&LONG[..], &["--dsn", &dsn]].concat();
    let child = begun(&mut lab(folder.path(), &words), folder.path());
    server.kill();
    let (code, error) = ended(child);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("2013") || error.contains("2002"), "{error}");
    assert!(text(folder.path(), "report.md").contains("ended early"));
    assert_nothing_is_left(folder.path());
}

#[test]
fn what_a_peer_does_not_have_or_let_is_named() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE USER asker; GRANT ALL ON limpid_lab.* TO asker");
    let at = format!("socket={}", server.socket().display());
    // Whom it does not let in is told so before anything begins.
    for (login, using) in [("user=stranger", "NO"), ("user=asker password=wrong", "YES")] {
        let mut command =
            lab(folder.path(), &["run", "table-cache", "--dsn", &format!("{at} {login}")]);
        let answer = run(&mut command);
        let denied = answer.err.contains(": 1045 (28000): Access denied for user '")
            && answer.err.contains(&format!("(using password: {using})"));
        assert!(denied && !answer.err.contains("wrong"), "{}", answer.err);
        assert_eq!(code(&command), Some(2));
    }
    assert!(!folder.path().join("out").exists(), "nothing was begun");
    let dsn = format!("{at} user=asker name=other");
    let words = [&["run", "table-cache", "--users=4", "--dsn", &dsn], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let md = text(folder.path(), "report.md");
    for said in [
        "other: setting \"16 instances, shared\" skipped: it is set at a start, and this server runs already",
        "other: sampling by `SELECT EVENT_NAME, COUNT_STAR, ",
        "other: sampling by `SELECT EVENT_NAME, ACQUISITIONS, ",
        "1142 (42000)",
        "other: as it is",
    ] {
        assert!(md.contains(said), "{said}: {md}");
    }
    drop(server);
    assert_nothing_is_left(folder.path());
}
