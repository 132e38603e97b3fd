//! A server whose user instructions are counted, by callgrind: what a statement costs, whatever the machine does besides.

use crate::{Server, ServerBuilder, TempDir};
use std::path::Path;
use std::process::Command;

/// No statement has fewer instructions.
const INSTRUCTIONS_MIN: f64 = 500.0;
/// How long a connection takes to end, under callgrind.
const ENDS_MS: u64 = 500;
/// sysbench's tables.
const SHAPE: [&str; 2] = ["--tables=8", "--table-size=10000"];

/// A server under callgrind.
#[derive(Debug)]
pub struct CountedServer {
    /// The server.
    pub server: Server,
    folder: TempDir,
    /// callgrind's dumps so far.
    dumps: usize,
    counts: Counts,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Instructions,
    /// Of those, what is done inside of a function.
    Inside(&'static str),
    /// Reads and writes that miss the first-level data cache.
    Misses,
}

impl Counts {
    fn options(self) -> Vec<String> {
        match self {
            Counts::Instructions => Vec::new(),
            Counts::Inside(function) => vec![format!("--toggle-collect={function}")],
            Counts::Misses => {
                ["--cache-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64"].map(String::from).into()
            }
        }
    }

    /// A statement has more, if anything was counted.
    fn least(self) -> f64 {
        match self {
            Counts::Misses => 20.0,
            _ => INSTRUCTIONS_MIN,
        }
    }

    /// From the totals of a dump.
    fn of(self, totals: &[f64]) -> f64 {
        let one = |n: usize| totals.get(n).copied().unwrap_or(0.0);
        match self {
            Counts::Misses => one(4) + one(5),
            _ => one(0),
        }
    }
}

/// Instructions of one event, or misses.
#[derive(Debug, Clone, Copy)]
pub struct Instructions {
    /// Of the threads that run statements.
    pub statement: f64,
    /// Of the others. Those work by time, not by statement, and under callgrind time is long.
    pub background: f64,
}

fn control(argument: &str, pid: u32) {
    let arguments = [argument.to_string(), pid.to_string()];
    let done = crate::run(Command::new("callgrind_control").args(arguments));
    assert!(done.ok, "callgrind_control: {}", done.err);
}

impl CountedServer {
    /// A server over sysbench's tables, warm, that counts from now on.
    ///
    /// # Panics
    /// When it cannot be started, or sysbench cannot fill its tables.
    pub fn start(with: &ServerBuilder) -> CountedServer {
        Self::start_with(with, Counts::Instructions)
    }

    /// As [`Self::start`]: what the server does outside of a function of its sessions, by its path, is not counted. So waiting for a
    /// client that is late, and the upkeep of other threads, are not.
    ///
    /// # Panics
    /// As it does.
    pub fn start_inside(with: &ServerBuilder, function: &'static str) -> CountedServer {
        Self::start_with(with, Counts::Inside(function))
    }

    /// As [`Self::start`]: reads and writes that miss a data cache of 48 KB in 12 ways are counted, not instructions.
    ///
    /// # Panics
    /// As it does.
    pub fn start_misses(with: &ServerBuilder) -> CountedServer {
        Self::start_with(with, Counts::Misses)
    }

    fn start_with(with: &ServerBuilder, counts: Counts) -> CountedServer {
        let fill = |plain: &Server| {
            plain.sql("CREATE DATABASE sbtest");
            let prepare = [&["oltp_point_select"], &SHAPE[..], &["prepare"]].concat();
            let made = plain.sysbench(false, &prepare);
            assert!(made.ok, "{}", made.err);
            plain.sql("CREATE USER reader");
            for table in 1..=8 {
                plain.sql(&format!("GRANT SELECT ON sbtest.sbtest{table} TO reader"));
            }
        };
        let warm = |server: &Server| {
            for table in 1..=8 {
                server.sql(&format!("SELECT SUM(k), COUNT(c) FROM sbtest.sbtest{table}"));
            }
        };
        Self::begun(with, counts, fill, warm)
    }

    /// A server over what `fill` makes, which is not counted; what it does from the end of `warm` on is.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn over(
        with: &ServerBuilder,
        fill: impl FnOnce(&Server),
        warm: impl FnOnce(&Server),
    ) -> CountedServer {
        Self::begun(with, Counts::Instructions, fill, warm)
    }

    fn begun(
        with: &ServerBuilder,
        counts: Counts,
        fill: impl FnOnce(&Server),
        warm: impl FnOnce(&Server),
    ) -> CountedServer {
        let folder = TempDir::new();
        let mut plain = with.start(folder.path());
        fill(&plain);
        plain.stop();
        let out = format!("--callgrind-out-file={}", folder.path().join("cg.out").display());
        let options = counts.options();
        let mut valgrind = vec![
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--dump-instr=no",
            "--separate-threads=yes",
            // Each connection has a thread; without it there is room for 500.
            "--max-threads=1500",
            "--quiet",
            &out,
        ];
        valgrind.extend(options.iter().map(String::as_str));
        let server = with.clone().under(&valgrind).start(folder.path());
        warm(&server);
        control("--instr=on", server.pid());
        CountedServer { server, folder, dumps: 0, counts }
    }

    /// Instructions during `work`.
    pub fn during(&mut self, work: impl FnOnce(&Server)) -> Instructions {
        control("--zero", self.server.pid());
        work(&self.server);
        control("--dump", self.server.pid());
        self.dumps += 1;
        dumped(self.folder.path(), self.dumps, self.counts)
    }

    /// Instructions of one event of a script of sysbench's, behind whose name options may stand, as `user` (root, or `reader`, who
    /// may read sysbench's tables and nothing else) in one of sysbench's modes of prepared statements.
    /// `events`: how many a short run and a long one have, which differ by the cost of events alone.
    pub fn sysbench_event(
        &mut self,
        (user, script, mode): (&str, &str, &str),
        events: (u64, u64),
        most: f64,
    ) -> Instructions {
        load(&self.server, user, script, events.0, mode);
        let mut background = 0.0;
        let statement = each_above(self.counts.least(), events, most, |events| {
            let run = self.during(|server| load(server, user, script, events, mode));
            background = run.background / events as f64;
            run.statement
        });
        Instructions { statement, background }
    }
}

fn load(server: &Server, user: &str, script: &str, events: u64, mode: &str) {
    let user = format!("--mysql-user={user}");
    let (events, mode) = (format!("--events={events}"), format!("--db-ps-mode={mode}"));
    let script: Vec<&str> = script.split(' ').collect();
    let run = ["--threads=1", "--time=0", "--rand-type=uniform", &events, &mode, &user];
    let (name, options) = script.split_at(1);
    let answer = server.sysbench(false, &[name, &run, &SHAPE, options, &["run"]].concat());
    assert!(answer.ok, "{}\n{}", answer.out, answer.err);
    // The end of its connection is part of it.
    crate::pause(ENDS_MS);
}

/// What a dump says, which has a file for each thread.
fn dumped(folder: &Path, number: usize, counts: Counts) -> Instructions {
    let mut sum = Instructions { statement: 0.0, background: 0.0 };
    let prefix = format!("cg.out.{number}-");
    let entries = std::fs::read_dir(folder).expect("the folder of the server");
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(&prefix) {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a dump");
        let total = text.lines().rfind(|l| l.starts_with("totals:") || l.starts_with("summary:"));
        let total =
            total.map(|line| line.split_whitespace().filter_map(|n| n.parse().ok()).collect());
        let total: Vec<f64> = total.unwrap_or_default();
        // The dashboard's thread runs statements of its own.
        let is_session =
            text.contains("session::core::Core") && !text.contains("dashboard::sample::");
        let of = if is_session { &mut sum.statement } else { &mut sum.background };
        *of += counts.of(&total);
    }
    sum
}

/// Instructions of one event, by the totals of a run of few and of one of many: again until it is within its budget, or more
/// runs bring nothing.
///
/// On a busy machine a session finds nothing to read more often and waits, and the server's upkeep falls into the time: both add
/// instructions that are not the statement's. So of each run the least counts, and the small one, whose excess would make an event
/// look cheaper than it is, is run twice before anything is said.
///
/// # Panics
/// When callgrind saw nothing.
pub fn each(events: (u64, u64), most: f64, total: impl FnMut(u64) -> f64) -> f64 {
    each_above(INSTRUCTIONS_MIN, events, most, total)
}

/// As [`each`], of what an event has more than `least` of.
fn each_above(
    least: f64,
    (few, many): (u64, u64),
    most: f64,
    mut total: impl FnMut(u64) -> f64,
) -> f64 {
    const TRIES: [u32; 2] = [3, 8];
    let (mut least_few, mut least_many) = (total(few), f64::MAX);
    let mut each = f64::MAX;
    for n in 1..=TRIES[1] {
        let before = each;
        least_few = least_few.min(total(few));
        least_many = least_many.min(total(many));
        each = (least_many - least_few) / (many - few) as f64;
        if each <= most || n >= TRIES[0] && before - each < before / 500.0 {
            break;
        }
    }
    assert!(each > least, "callgrind saw nothing: {least_few}, {least_many}");
    each
}
