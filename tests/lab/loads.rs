//! Loads as users know them: every workload of sysbench's, more data than memory, a queue.

use super::{SHORT, assert_nothing_is_left, assert_ok, assert_whole, csv, lab, text};
use testkit::{TempDir, run};

#[test]
fn every_workload_of_sysbenchs_by_the_own_driver() {
    const WORKLOADS: [&str; 10] = [
        "point-select",
        "read-only",
        "random-points",
        "random-ranges",
        "update-non-index",
        "update-index",
        "read-write",
        "write-only",
        "insert",
        "delete",
    ];
    let folder = TempDir::new();
    let words = [&["run", "sysbench", "--users=2"], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let charts = ["random-points-users.svg", "random-ranges-load.svg", "delete-users.svg"];
    assert_eq!(assert_whole(folder.path(), "sysbench", &charts).len(), 1);
    let cells = csv(&text(folder.path(), "sysbench/cells.csv"));
    let place = |name: &str| cells[0].iter().position(|head| head == name).unwrap();
    // Those that leave as many rows as there were take turns, the others wait for all rounds of them.
    let order: Vec<&str> = cells[1..].iter().map(|cell| cell[place("workload")].as_str()).collect();
    let turns = [&WORKLOADS[..8], &WORKLOADS[..8], &["insert"; 2], &["delete"; 2]].concat();
    assert_eq!(order, turns);
    for cell in &cells[1..] {
        let number = |name: &str| cell[place(name)].parse::<f64>().unwrap();
        let queries = match cell[place("workload")].as_str() {
            "read-only" => 16.0,
            "read-write" => 20.0,
            "write-only" => 6.0,
            _ => 1.0,
        };
        assert!((number("qps") / number("tps") / queries - 1.0).abs() < 0.2, "{cell:?}");
        if cell[place("workload")] == "insert" {
            assert!(number("fsyncs_per_transaction") > 0.0, "{cell:?}");
        }
    }
    let findings = csv(&text(folder.path(), "sysbench/findings.csv"));
    assert_eq!(findings.len(), 2, "nothing is said of a peer that was not given: {findings:?}");
    assert_nothing_is_left(folder.path());
}

#[test]
fn memory_is_measured_and_a_queue_is_driven() {
    let folder = TempDir::new();
    let words = [&["run", "larger-than-pool", "--users=2"], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let charts = ["point-select-users.svg", "point-select-load.svg"];
    assert_eq!(assert_whole(folder.path(), "larger-than-pool", &charts).len(), 1);
    let md = text(folder.path(), "report.md");
    assert!(md.contains("| small pool | --innodb-buffer-pool-size=8M |"), "{md}");
    let findings = csv(&text(folder.path(), "larger-than-pool/findings.csv"));
    let figure = |what: &str| -> f64 {
        let line = findings.iter().find(|line| line[2].contains(what)).unwrap();
        line[3].parse().unwrap()
    };
    assert!((8.0..384.0).contains(&figure("memory of the server in MiB")), "{findings:?}");
    assert!(figure("its growth from the first round").abs() < 384.0, "{findings:?}");
    // Every other user puts jobs, the others take them.
    let words = [&["run", "hot-table", "--workload=queue", "--users=2"], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let samples = text(folder.path(), "hot-table/samples.csv");
    for name in [",status,Innodb_rows_inserted,", ",status,Innodb_rows_deleted,"] {
        assert!(samples.contains(name), "no {name}");
    }
    assert_nothing_is_left(folder.path());
}
