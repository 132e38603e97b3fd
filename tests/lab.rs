//! `limpid lab`: experiments end with all their files, and what goes wrong says so and leaves nothing behind.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::callgrind::CountedServer;
use testkit::{Answer, Server, TempDir, run};

const LONGEST: Duration = Duration::from_secs(60);
/// As short as a cell can be.
const SHORT: [&str; 7] = [
    "--quick",
    "--seconds=0.2",
    "--warm-up=0.05",
    "--rounds=2",
    "--rows=500",
    "--seed=7",
    "--driver=own",
];

/// The lab, with its report and its servers in folders of the test.
fn lab(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(testkit::server::binary());
    command.arg("lab").args(arguments).current_dir(folder);
    let runs = arguments.first().is_some_and(|word| matches!(*word, "run" | "all"));
    if runs {
        command.args(["--out=out", "--scratch", &folder.display().to_string()]);
    }
    command
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join("out").join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// Series of a chart, as their attributes name them.
fn series(svg: &str) -> BTreeSet<String> {
    let names = svg.split("data-series=\"").skip(1);
    names.map(|rest| rest.split('"').next().unwrap().to_string()).collect()
}

fn code(answer: &Command) -> Option<i32> {
    let mut command = Command::new(answer.get_program());
    command.args(answer.get_args()).current_dir(answer.get_current_dir().unwrap());
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code()
}

/// No server of the folder runs any more, and none left a folder.
fn assert_nothing_is_left(folder: &Path) {
    let mark = folder.display().to_string();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        assert!(!(words.contains(&mark) && words.contains("--datadir")), "left: {words}");
    }
    let left =
        |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("limpid-lab");
    assert_eq!(std::fs::read_dir(folder).unwrap().flatten().filter(left).count(), 0);
}

/// Checks all files of an experiment of cells; the settings that were measured.
fn assert_whole(folder: &Path, experiment: &str, charts: &[&str]) -> BTreeSet<String> {
    let cells = text(folder, &format!("{experiment}/cells.csv"));
    let mut lines = csv(&cells);
    let heads = lines.remove(0);
    let place = |name: &str| heads.iter().position(|head| head == name).unwrap();
    let settings: BTreeSet<String> = lines.iter().map(|l| l[place("setting")].clone()).collect();
    for line in &lines {
        let qps: f64 = line[place("qps")].parse().unwrap();
        assert!(qps > 0.0, "{experiment}: {line:?}");
    }
    let samples = text(folder, &format!("{experiment}/samples.csv"));
    let sampled: BTreeSet<&str> =
        samples.lines().skip(1).filter_map(|l| l.split(',').next()).collect();
    assert_eq!(sampled.len(), lines.len(), "each cell has samples");
    for kind in [",load,queries,", ",server,cpu_", ",status,Bytes_sent,"] {
        assert!(samples.contains(kind), "{experiment}: no {kind} in the samples");
    }
    for chart in charts {
        let found = series(&text(folder, &format!("{experiment}/{chart}")));
        assert_eq!(found, settings, "{experiment}/{chart}");
    }
    let (md, html) = (text(folder, "report.md"), text(folder, "report.html"));
    for page in [&md, &html] {
        for word in [
            experiment,
            "kernel",
            "processor",
            "limpid lab run",
            "innodb_buffer_pool_size",
            "verdict",
        ] {
            assert!(page.contains(word), "{experiment}: no {word} in the report");
        }
        assert!(!page.contains("ended early"), "{page}");
    }
    assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href="));
    assert!(html.matches("<svg").count() >= charts.len());
    settings
}

/// Lines of a CSV, whose fields may be in quotes.
fn csv(text: &str) -> Vec<Vec<String>> {
    let fields = |line: &str| {
        let (mut fields, mut quoted) = (vec![String::new()], false);
        for letter in line.chars() {
            match letter {
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                _ => fields.last_mut().unwrap().push(letter),
            }
        }
        fields
    };
    text.lines().map(fields).collect()
}

fn assert_ok(answer: &Answer) {
    assert!(answer.ok, "{}\n{}", answer.out, answer.err);
}

#[test]
fn the_list_has_each_row_of_the_literature_once() {
    let folder = TempDir::new();
    let list = run(&mut lab(folder.path(), &["list"]));
    assert_ok(&list);
    let of_line = |line: &str| line.split_whitespace().nth(1).unwrap().to_string();
    let mut rows: Vec<u8> = Vec::new();
    for line in list.out.lines().skip(1) {
        rows.extend(of_line(line).split(',').filter_map(|row| row.parse::<u8>().ok()));
    }
    rows.sort_unstable();
    assert_eq!(rows, (1..=40).collect::<Vec<u8>>(), "{}", list.out);
    assert!(list.out.contains("[not there without a change buffer]"));
}

#[test]
fn metadata_lock_shards() {
    let folder = TempDir::new();
    let words = [&["run", "mdl-shards", "--users=2,16"], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let settings = assert_whole(
        folder.path(),
        "mdl-shards",
        &["point-select-users.svg", "point-select-load.svg"],
    );
    assert_eq!(settings.len(), 8);
    // What does not depend on a clock.
    let md = text(folder.path(), "report.md");
    let line = |what: &str| md.lines().find(|line| line.contains(what)).unwrap().to_string();
    assert!(line("shards that are used, of 8, bad hash").contains("| 1.000 |"), "{md}");
    assert!(line("shards that are used, of 8 ").contains("| 8.000 |"), "{md}");
    assert!(line("wait-seconds a second for the shards' mutexes, none").ends_with("| holds |"));
    let waits = text(folder.path(), "mdl-shards/point-select-waits-1.svg");
    assert!(series(&waits).iter().any(|class| class.starts_with("wait/")), "{waits}");
    assert_nothing_is_left(folder.path());
}

#[test]
fn levels_of_the_performance_schema() {
    let folder = TempDir::new();
    let words = [&["run", "pfs-levels", "--users=4"], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let settings = assert_whole(
        folder.path(),
        "pfs-levels",
        &["point-select-users.svg", "point-select-load.svg"],
    );
    let apart = settings.iter().filter(|name| name.ends_with("other cores")).count();
    let is_one_core = std::thread::available_parallelism().unwrap().get() == 1;
    assert_eq!(apart, if is_one_core { 0 } else { 6 });
    assert_nothing_is_left(folder.path());
}

#[test]
fn the_table_cache() {
    let folder = TempDir::new();
    let words = [&["run", "table-cache", "--users=30"], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let charts = [
        "read-only-users.svg",
        "read-only-load.svg",
        "point-select-users.svg",
        "point-select-load.svg",
    ];
    assert_eq!(assert_whole(folder.path(), "table-cache", &charts).len(), 7);
    let cache = series(&text(folder.path(), "table-cache/point-select-cache-1.svg"));
    assert_eq!(cache, ["hits", "misses", "overflows"].map(str::to_string).into());
    assert_nothing_is_left(folder.path());
}

#[test]
fn counts_are_told_or_named() {
    let folder = TempDir::new();
    let words = [
        "run",
        "hot-table",
        "--quick",
        "--rounds=0",
        "--count=instructions,allocations,functions",
        "--workload=point-select",
        "--rows=500",
        "--seconds=0.5",
        "--users=2",
    ];
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let mut lines = csv(&text(folder.path(), "hot-table/counts.csv"));
    assert_eq!(lines.remove(0), ["build", "setting", "workload", "instructions", "allocations"]);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let (instructions, allocations): (f64, f64) =
        (line[3].parse().unwrap(), line[4].parse().unwrap());
    assert!((1_000.0..1_000_000.0).contains(&instructions), "{line:?}");
    assert!((0.0..100.0).contains(&allocations), "{line:?}");
    let md = text(folder.path(), "report.md");
    // Not every machine lets perf look.
    assert!(
        md.contains("processor time by function") || md.contains("functions skipped: "),
        "{md}"
    );
    // Without the programs nothing is counted, and that is said.
    let mut command = lab(folder.path(), &words);
    assert_ok(&run(command.env("PATH", "/nowhere")));
    let md = text(folder.path(), "report.md");
    assert!(md.contains("skipped: valgrind is not on this machine"), "{md}");
    assert!(md.contains("functions skipped: perf is not on this machine"), "{md}");
    let mut command = lab(folder.path(), &["run", "connection-locks", "--quick"]);
    assert_ok(&run(command.env("PATH", "/nowhere")));
    assert!(text(folder.path(), "report.md").contains("skipped: valgrind is not on this machine"));
    let nothing = run(&mut lab(folder.path(), &["run", "hot-table", "--rounds=0"]));
    assert!(!nothing.ok && nothing.err.contains("without --count"), "{}", nothing.err);
    assert_nothing_is_left(folder.path());
}

#[test]
fn kinds_of_latches() {
    let folder = TempDir::new();
    let words = [&["run", "latch-kinds", "--users=1,3"], &SHORT[..]].concat();
    assert_ok(&run(&mut lab(folder.path(), &words)));
    for chart in ["latch-kinds/kinds-0.svg", "latch-kinds/kinds-1.svg"] {
        assert_eq!(series(&text(folder.path(), chart)).len(), 5, "{chart}");
    }
    let findings = csv(&text(folder.path(), "latch-kinds/findings.csv"));
    assert_eq!(findings.len(), 9, "{findings:?}");
}

#[test]
fn what_is_not_there_is_refused_with_its_reason() {
    let folder = TempDir::new();
    for (arguments, reason) in [
        (&["run", "buffered-deletes"][..], "not there without a change buffer"),
        (&["run", "mdl-shard"], "there is no experiment \"mdl-shard\""),
        (&["run", "hot-table", "--dsn", "socket=/nowhere/s.sock"], "/nowhere/s.sock"),
        (&["run", "hot-table", "--dsn", "user=root"], "names no socket"),
        (
            &["run", "hot-table", "--binary", "/nowhere/limpid"],
            "/nowhere/limpid: there is no such file",
        ),
        (&["run", "hot-table", "--users", "0"], "--users"),
    ] {
        let mut command = lab(folder.path(), arguments);
        let answer = run(&mut command);
        assert!(!answer.ok && answer.err.contains(reason), "{arguments:?}: {}", answer.err);
        assert_eq!(code(&command), Some(2), "{arguments:?}");
    }
    let mut command = lab(folder.path(), &["run", "hot-table", "--driver=sysbench"]);
    let answer = run(command.env("PATH", "/nowhere"));
    assert!(!answer.ok && answer.err.contains("apt-get install sysbench"), "{}", answer.err);
    assert!(!folder.path().join("out").exists(), "nothing was begun");
}

#[test]
fn one_core_skips_what_takes_two() {
    let folder = TempDir::new();
    let words = [&["run", "cores", "--users=2"], &SHORT[..]].concat();
    let of_lab = lab(folder.path(), &words);
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(of_lab.get_program()).args(of_lab.get_args());
    assert_ok(&run(command.current_dir(folder.path())));
    let md = text(folder.path(), "report.md");
    assert!(md.contains("setting \"1 core\" skipped: 1 of the cores takes more than that"), "{md}");
    assert!(md.contains("not measured: there is no setting \"1 core\""), "{md}");
}

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

/// Queries a second of the cells of a run, by workload. The client has cores of its own, so that the server's are the limit: the own
/// driver takes a third of the user time that sysbench does.
fn driven(folder: &Path, driver: &str) -> BTreeMap<String, f64> {
    let words = [
        "--workload=point-select,point-select-hot,read-only",
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
    let ratios = ["point-select", "point-select-hot", "read-only"].map(|workload| {
        let ratio = median(&own, workload) / median(&stock, workload);
        println!("{workload}: own driver by sysbench: QPS {ratio:.3}");
        ratio
    });
    assert!(
        ratios.iter().all(|ratio| (0.9..=1.1).contains(ratio)),
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
    const WORKLOADS: [(&str, &str, f64, u32); 4] = [
        ("point-select", "oltp_point_select", 1.0, 500),
        ("read-only", "oltp_read_only", 16.0, 50),
        ("read-write", "oltp_read_write", 20.0, 50),
        ("update-index", "oltp_update_index", 1.0, 200),
    ];
    let folder = TempDir::new();
    let names = WORKLOADS.map(|(workload, ..)| workload).join(",");
    let words = ["run", "hot-table", "--rounds=0", "--count=instructions", "--workload", &names];
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let lines = csv(&text(folder.path(), "hot-table/counts.csv"));
    let mut stock = CountedServer::start(&Server::with());
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

/// All of them: minutes. In the soak.
#[test]
#[ignore = "takes minutes; soak runs it"]
fn every_experiment_ends_with_all_its_files() {
    let folder = TempDir::new();
    let answer = run(&mut lab(folder.path(), &["all", "--quick"]));
    assert_ok(&answer);
    let list = run(&mut lab(folder.path(), &["list"]));
    let names = list.out.lines().skip(1).filter(|line| !line.ends_with(']'));
    let (mut experiments, md) = (0, text(folder.path(), "report.md"));
    for name in names.map(|line| line.split_whitespace().next().unwrap()) {
        experiments += 1;
        assert!(md.contains(&format!("\n## {name}\n")), "{name} is not in the report");
        let files = std::fs::read_dir(folder.path().join("out").join(name)).unwrap().flatten();
        let svgs = files.filter(|f| f.path().extension().is_some_and(|e| e == "svg"));
        let mut charts = 0;
        for svg in svgs {
            let text = std::fs::read_to_string(svg.path()).unwrap();
            assert!(!series(&text).is_empty(), "{}", svg.path().display());
            charts += 1;
        }
        assert!(charts > 0, "{name} has no chart");
    }
    assert!(experiments > 10 && !md.contains("ended early"), "{md}");
    assert_nothing_is_left(folder.path());
}
