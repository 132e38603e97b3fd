//! `limpid lab`: experiments end with all their files, and what goes wrong says so and leaves nothing behind.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "lab/cores.rs"]
mod cores;
#[path = "lab/ends.rs"]
mod ends;
#[path = "lab/loads.rs"]
mod loads;
#[path = "lab/soak.rs"]
mod soak;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use testkit::{Answer, TempDir, run};

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

/// Processes that have to do with what is in the folder, and their words.
fn processes(folder: &Path) -> Vec<(u32, String)> {
    let mark = format!("{}/", folder.display());
    let words = |process: std::fs::DirEntry| {
        let number: u32 = process.file_name().to_string_lossy().parse().ok()?;
        let words = std::fs::read(process.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        words.contains(&mark).then_some((number, words))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(words).collect()
}

/// Processes of the folder's servers.
fn servers(folder: &Path) -> Vec<u32> {
    let servers = processes(folder).into_iter().filter(|(_, words)| words.contains("--datadir"));
    servers.map(|(number, _)| number).collect()
}

/// Nothing of the folder runs any more, and no server left a folder.
fn assert_nothing_is_left(folder: &Path) {
    let left = processes(folder);
    assert!(left.is_empty(), "{left:?}");
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
    assert_there_and_back(&lines, ["round", "workload", "users", "setting"].map(place));
    for line in &lines {
        let qps: f64 = line[place("qps")].parse().unwrap();
        assert!(qps > 0.0, "{experiment}: {line:?}");
    }
    let samples = text(folder, &format!("{experiment}/samples.csv"));
    let sampled: BTreeSet<&str> =
        samples.lines().skip(1).filter_map(|l| l.split(',').next()).collect();
    assert_eq!(sampled.len(), lines.len(), "each cell has samples");
    for kind in
        [",load,queries,", ",server,cpu_", ",server,voluntary_switches,", ",status,Bytes_sent,"]
    {
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
            "build of limpid",
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

/// Rounds go A B B A: the settings of each level of users in the order of the first round, then backwards.
fn assert_there_and_back(lines: &[Vec<String>], [round, workload, users, setting]: [usize; 4]) {
    let mut orders: BTreeMap<[&str; 3], Vec<&str>> = BTreeMap::new();
    for line in lines {
        let level = [&line[round], &line[workload], &line[users]].map(String::as_str);
        orders.entry(level).or_default().push(&line[setting]);
    }
    let mut backwards = 0;
    for ([round, workload, users], order) in &orders {
        let mut first = orders[&["1", workload, users]].clone();
        if round.parse::<u32>().unwrap() % 2 == 0 {
            first.reverse();
            backwards += 1;
        }
        assert_eq!(*order, first, "round {round}, {workload}, {users} users");
    }
    assert!(backwards > 0, "there was one round");
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
    assert_eq!(settings.len(), 9);
    // What does not depend on a clock.
    let md = text(folder.path(), "report.md");
    let line = |what: &str| md.lines().find(|line| line.contains(what)).unwrap().to_string();
    assert!(line("shards that are used, of 8, bad hash").contains("| 1.000 |"), "{md}");
    assert!(line("shards that are used, of 8 ").contains("| 8.000 |"), "{md}");
    assert!(line("shards that are used, of 256, bad hash").contains("| 1.000 |"), "{md}");
    assert!(line("shards that are used, of 256 ").contains("| 8.000 |"), "{md}");
    assert!(line("wait-seconds a second for the shards' mutexes, none").ends_with("| holds |"));
    let waits = text(folder.path(), "mdl-shards/point-select-waits-1.svg");
    assert!(series(&waits).iter().any(|class| class.starts_with("wait/")), "{waits}");
    let counts = text(folder.path(), "mdl-shards/point-select-wait-counts-1.svg");
    assert!(series(&counts).iter().any(|class| class.starts_with("wait/")), "{counts}");
    // The ninth setting is alone in its picture.
    let last = text(folder.path(), "mdl-shards/point-select-waits-5.svg");
    assert_eq!(last.matches("class=\"plot\"").count(), 1);
    // Two settings beside each other, each with a mark where a step of load begins.
    assert_eq!(waits.matches("class=\"plot\"").count(), 2);
    for step in ["2 users", "16 users"] {
        let marks = waits.split("class=\"mark\"").skip(1);
        let of_step = marks.filter(|mark| mark.split("</g>").next().unwrap().contains(step));
        assert_eq!(of_step.count(), 2, "{step}: {waits}");
    }
    assert_nothing_is_left(folder.path());
}

#[test]
fn levels_of_the_performance_schema() {
    let folder = TempDir::new();
    let mut words = [&["run", "pfs-levels", "--users=4", "--seconds=0.1"], &SHORT[..]].concat();
    // There are many.
    words.retain(|word| *word != "--seconds=0.2");
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let settings = assert_whole(
        folder.path(),
        "pfs-levels",
        &["point-select-users.svg", "point-select-load.svg"],
    );
    let apart = settings.iter().filter(|name| name.ends_with("other cores")).count();
    let is_one_core = std::thread::available_parallelism().unwrap().get() == 1;
    assert_eq!(apart, if is_one_core { 0 } else { 6 });
    for way in ["1 shard", "8 shards", "8 shards, same cores", "8 shards, client on all"] {
        assert_eq!(settings.iter().filter(|name| name.ends_with(way)).count(), 6, "{way}");
    }
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
fn latches_are_counted_each_second() {
    let folder = TempDir::new();
    let mut words = [&["run", "latches", "--users=2"], &SHORT[..]].concat();
    words.retain(|word| !word.starts_with("--seconds"));
    words.push("--seconds=1.2");
    assert_ok(&run(&mut lab(folder.path(), &words)));
    assert_whole(folder.path(), "latches", &["read-write-users.svg"]);
    let findings = csv(&text(folder.path(), "latches/findings.csv"));
    let told = findings.iter().filter(|line| line[2].starts_with("acquisitions a second"));
    let figures: Vec<f64> = told.map(|line| line[3].parse().unwrap()).collect();
    // Of the log, of the pool, which cached pages do not need, and of rollback segments.
    let [log, pool, segments] = figures[..] else { panic!("{findings:?}") };
    assert!(log > 0.0 && pool >= 0.0 && segments > 0.0, "{findings:?}");
    let samples = text(folder.path(), "latches/samples.csv");
    for kind in [",latch_acquisitions,wait/synch/", ",latch_held_seconds,wait/synch/"] {
        assert!(samples.contains(kind), "no {kind}");
    }
    for chart in ["acquisitions", "held"] {
        let classes = series(&text(folder.path(), &format!("latches/read-write-{chart}-1.svg")));
        assert!(classes.iter().any(|class| class.starts_with("wait/synch/")), "{classes:?}");
    }
    let cells = csv(&text(folder.path(), "latches/cells.csv"));
    let place = |name: &str| cells[0].iter().position(|head| head == name).unwrap();
    for cell in &cells[1..] {
        let number = |name: &str| cell[place(name)].parse::<f64>().unwrap();
        assert!(number("latch_acquisitions_per_second") > 1_000.0, "{cell:?}");
        assert!(number("most_held_percent") > 0.0, "{cell:?}");
        assert!(number("voluntary_switches_per_query") > 0.0, "{cell:?}");
        assert!(cell[place("most_held_latch")].starts_with("wait/synch/"), "{cell:?}");
    }
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    let folder = TempDir::new();
    let own = ["run", "hot-table", "--users=2", "--workload=point-select,stress-read-write"];
    let words = [&own[..], &SHORT[..]].concat();
    let plain = run(&mut lab(folder.path(), &words));
    assert!(plain.ok && !plain.err.contains("(left "), "{}", plain.err);
    // What changes rows makes history, which is sampled.
    assert!(text(folder.path(), "hot-table/samples.csv").contains(",status,trx_rseg_history_len,"));
    let plain = lab(folder.path(), &words);
    let words = std::iter::once(plain.get_program()).chain(plain.get_args());
    let line: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = Command::new("script");
    command.args(["-qec", &line.join(" "), "/dev/null"]).current_dir(folder.path());
    let shown = run(command.env("TERM", "xterm"));
    assert!(shown.ok, "{}", shown.err);
    for part in ["default, point-select", " 1/4 ", "(left "] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
}

#[test]
fn counts_are_told_or_named() {
    let folder = TempDir::new();
    let words = [
        "run",
        "hot-table",
        "--quick",
        "--rounds=0",
        "--count=instructions,allocations,system-calls,functions",
        "--workload=point-select",
        "--rows=500",
        "--seconds=0.5",
        "--users=2",
    ];
    assert_ok(&run(&mut lab(folder.path(), &words)));
    let mut lines = csv(&text(folder.path(), "hot-table/counts.csv"));
    let heads = ["build", "setting", "workload", "instructions", "allocations", "system calls"];
    assert_eq!(lines.remove(0), heads);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let [instructions, allocations, calls] = [3, 4, 5].map(|n| line[n].parse::<f64>().unwrap());
    assert!((1_000.0..1_000_000.0).contains(&instructions), "{line:?}");
    assert!((0.0..100.0).contains(&allocations), "{line:?}");
    // One that receives and one that sends; where the client is late, one that finds nothing and one that waits.
    assert!((1.9..6.0).contains(&calls), "{line:?}");
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
    assert!(md.contains("system calls skipped: strace is not on this machine"), "{md}");
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
    assert!(
        md.contains("setting \"2 cores\" skipped: it takes 2 cores, this machine has 1"),
        "{md}"
    );
    assert!(md.contains("not measured: there is no setting \"2 cores\""), "{md}");
}
