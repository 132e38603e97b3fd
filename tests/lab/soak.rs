//! What takes minutes or looks at a clock: every experiment, and the lab's own driver beside sysbench.

use super::{assert_nothing_is_left, assert_ok, assert_there_and_back, csv, lab, series, text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;
use testkit::callgrind::CountedServer;
use testkit::{Server, TempDir, run};

/// What is compared by the clock.
const WORKLOADS_BY_CLOCK: &str =
    "--workload=point-select,point-select-hot,read-only,random-points,random-ranges";

/// Queries a second of the cells of a run, by workload. The client has cores of its own, so that the server's are the limit: the own
/// driver takes a third of the user time that sysbench does.
fn driven(folder: &Path, driver: &str) -> BTreeMap<String, f64> {
    let words = [
        WORKLOADS_BY_CLOCK,
        "--pin=apart",
        "--users=8",
        "--seconds=4",
        "--warm-up=1",
        "--rounds=1",
        "--rows=10000",
    ];
    let driver = format!("--driver={driver}");
    let words = [&["run", "hot-table", &driver], &words[..]].concat();
    assert_ok(&run(&mut lab(folder, &words)));
    let mut lines = csv(&text(folder, "hot-table/cells.csv"));
    let heads = lines.remove(0);
    let place = |name: &str| heads.iter().position(|head| head == name).unwrap();
    let (workload, qps) = (place("workload"), place("qps"));
    lines.iter().map(|line| (line[workload].clone(), line[qps].parse().unwrap())).collect()
}

/// The same cells, driven by the lab's own threads and by sysbench in turns.
#[test]
#[ignore = "a benchmark; soak runs it"]
fn the_own_driver_agrees_with_sysbench() {
    const ROUNDS: usize = 6;
    if std::thread::available_parallelism().unwrap().get() < 2 {
        testkit::skip("client and server apart take two cores");
        return;
    }
    let folder = TempDir::new();
    let (mut own, mut stock) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut order = [("own", &mut own), ("sysbench", &mut stock)];
        if round % 2 == 1 {
            order.reverse();
        }
        for (driver, runs) in order {
            runs.push(driven(folder.path(), driver));
        }
    }
    let median = |runs: &[BTreeMap<String, f64>], workload: &str| {
        let mut all: Vec<f64> = runs.iter().map(|run| run[workload]).collect();
        all.sort_by(f64::total_cmp);
        f64::midpoint(all[ROUNDS / 2 - 1], all[ROUNDS / 2])
    };
    let ratio = |workload: &String| {
        let ratio = median(&own, workload) / median(&stock, workload);
        println!("{workload}: own driver by sysbench: QPS {ratio:.3}");
        ratio
    };
    let ratios: Vec<f64> = own[0].keys().map(ratio).collect();
    assert!(
        ratios.len() == 5 && ratios.iter().all(|ratio| (0.9..=1.1).contains(ratio)),
        "{ratios:?}\n{own:?}\n{stock:?}"
    );
}

/// Instructions of the server for an event of a script of sysbench's: what two numbers of them differ by, the least of each. What a
/// connection costs is another number each time, so there are many events of what is cheap.
fn event(counted: &mut CountedServer, script: &str, least_events: u32) -> f64 {
    let numbers = [least_events, 5 * least_events];
    let least = numbers.map(|events| {
        let events = format!("--events={events}");
        let shape = ["--tables=8", "--table-size=10000", "--rand-type=uniform", "--threads=1"];
        let words = [&[script, "--time=0", &events], &shape[..], &["run"]].concat();
        let each = (0..2).map(|_| {
            let run = |server: &Server| {
                assert_ok(&server.sysbench(false, &words));
                // The end of its connection is part of it.
                testkit::pause(500);
            };
            counted.during(run).statement
        });
        each.fold(f64::MAX, f64::min)
    });
    (least[1] - least[0]) / f64::from(numbers[1] - numbers[0])
}

/// What the server does for a transaction, counted: no clock says whether both drivers ask the same.
#[test]
#[ignore = "a benchmark; soak runs it"]
fn the_own_driver_asks_what_sysbench_asks() {
    // A workload, sysbench's script of it, the queries of a transaction, and the least number of those.
    const WORKLOADS: [(&str, &str, f64, u32); 10] = [
        ("point-select", "oltp_point_select", 1.0, 500),
        ("read-only", "oltp_read_only", 16.0, 50),
        ("random-points", "select_random_points", 1.0, 200),
        ("random-ranges", "select_random_ranges", 1.0, 100),
        ("update-non-index", "oltp_update_non_index", 1.0, 200),
        ("update-index", "oltp_update_index", 1.0, 200),
        ("read-write", "oltp_read_write", 20.0, 50),
        ("write-only", "oltp_write_only", 6.0, 50),
        // These change how many rows there are.
        ("insert", "oltp_insert", 1.0, 200),
        ("delete", "oltp_delete", 1.0, 200),
    ];
    let folder = TempDir::new();
    let names = WORKLOADS.map(|(workload, ..)| workload).join(",");
    let words = ["run", "hot-table", "--rounds=0", "--count=instructions", "--workload", &names];
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let lines = csv(&text(folder.path(), "hot-table/counts.csv"));
    // Values of `k` are spread evenly, as the lab's are.
    let fill = |server: &Server| {
        server.sql("CREATE DATABASE sbtest");
        let shape = ["--tables=8", "--table-size=10000", "--rand-type=uniform", "prepare"];
        assert_ok(&server.sysbench(false, &[&["oltp_point_select"], &shape[..]].concat()));
    };
    let warm = |server: &Server| {
        for table in 1..=8 {
            server.sql(&format!("SELECT SUM(k), COUNT(c) FROM sbtest.sbtest{table}"));
        }
    };
    let mut stock = CountedServer::over(&Server::with(), fill, warm);
    for (workload, script, queries, events) in WORKLOADS {
        let line = lines.iter().find(|line| line[2] == workload).unwrap();
        let own: f64 = line[3].parse().unwrap();
        let stock = event(&mut stock, script, events) / queries;
        let ratio = own / stock;
        println!(
            "{workload}: instructions of a query: own {own:.0}, sysbench {stock:.0}: {ratio:.3}"
        );
        assert!((0.9..=1.1).contains(&ratio), "{workload}: {own} {stock}");
    }
}

/// All of them, with every setting, workload and level of users that `--quick` has: some 330 cells and 45 servers, 10 minutes on two
/// cores. Two rounds instead of its four: there and back, and nothing here asks how sure the figures are. Most of the time goes into
/// cells of 300 and 1,000 users, who connect and prepare for two seconds before each.
#[test]
#[ignore = "takes minutes; soak runs it"]
fn every_experiment_ends_with_all_its_files() {
    let folder = TempDir::new();
    let begun = Instant::now();
    let words = ["all", "--quick", "--rounds=2", "--seconds=0.6", "--warm-up=0.1"];
    let answer = run(&mut lab(folder.path(), &words));
    assert_ok(&answer);
    println!("every experiment: {} s", begun.elapsed().as_secs());
    let list = run(&mut lab(folder.path(), &["list"]));
    let names = list.out.lines().skip(1).filter(|line| !line.ends_with(']'));
    let (mut experiments, md) = (0, text(folder.path(), "report.md"));
    let mut rows: Vec<u8> = Vec::new();
    for name in names.map(|line| line.split_whitespace().next().unwrap()) {
        experiments += 1;
        assert!(md.contains(&format!("\n## {name}\n")), "{name} is not in the report");
        let file = |file: &str| folder.path().join("out").join(name).join(file);
        let findings = csv(&std::fs::read_to_string(file("findings.csv")).unwrap());
        let told: BTreeSet<u8> =
            findings[1..].iter().map(|line| line[0].parse().unwrap()).collect();
        assert!(findings.len() > 1, "{name} finds nothing");
        rows.extend(told.iter().filter(|row| **row > 0));
        let mut settings = BTreeSet::new();
        if file("cells.csv").exists() {
            let cells = csv(&std::fs::read_to_string(file("cells.csv")).unwrap());
            let place = |name: &str| cells[0].iter().position(|head| head == name).unwrap();
            assert_there_and_back(
                &cells[1..],
                ["round", "workload", "users", "setting"].map(place),
            );
            settings.extend(cells[1..].iter().map(|cell| cell[place("setting")].clone()));
            let samples = std::fs::read_to_string(file("samples.csv")).unwrap();
            assert!(samples.lines().count() > cells.len(), "{name} has no samples");
        }
        let files = std::fs::read_dir(file(".")).unwrap().flatten();
        let svgs = files.filter(|f| f.path().extension().is_some_and(|e| e == "svg"));
        let mut charts = 0;
        for svg in svgs {
            let found = series(&std::fs::read_to_string(svg.path()).unwrap());
            let svg = svg.file_name().to_string_lossy().into_owned();
            assert!(!found.is_empty(), "{name}/{svg}");
            if !settings.is_empty() && (svg.ends_with("-users.svg") || svg.ends_with("-load.svg")) {
                assert_eq!(found, settings, "{name}/{svg}");
            }
            charts += 1;
        }
        assert!(charts > 0, "{name} has no chart");
    }
    let of_history =
        std::fs::read_to_string(folder.path().join("out/session-history/findings.csv"));
    for line in csv(&of_history.unwrap()).iter().filter(|line| line[7].starts_with("at most")) {
        assert!(line[3].parse::<f64>().is_ok(), "the thread that samples was found: {line:?}");
    }
    rows.sort_unstable();
    let there: Vec<u8> = (1..=40).filter(|row| *row != 31).collect();
    assert_eq!(rows, there, "each row is told by one experiment");
    assert!(text(folder.path(), "report.html").ends_with("</html>\n"));
    assert!(experiments > 10 && !md.contains("ended early"), "{md}");
    assert_nothing_is_left(folder.path());
}
