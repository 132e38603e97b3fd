//! `cargo xtask test`: the rings 0 and 1 of the architecture, in the order in which they fail fastest.
//!
//! 1. rustfmt and clippy (lints are errors), 2. the tests are built, both beside the release binary, 3. every unit, golden,
//!    litmus, crash and end-to-end test with `count-shared` on, 4. the loom models in their own target folder.
//!
//! What counts instructions runs first and alone, then what looks at a server beside a load, beside the models alone, which give way
//! to it. Of the others much is waiting: those of the server as a whole run beside those of the crates ([`lanes`]). The
//! output of what runs beside comes in one piece at the end.
//!
//! The end-to-end tests find the release binary through `LIMPID_BINARY`.

use crate::shell::{self, Tally};
use crate::{lanes, packages, tidy};
use std::ffi::OsString;
use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Crates that hold loom models in `tests/models.rs`.
const MODEL_CRATES: [&str; 4] = ["sync", "redo", "mdl", "trx"];

/// Cargo with arguments, in the root of the tree.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_program());
    command.args(arguments).current_dir(shell::root());
    command
}

fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Everything CI runs; `filter` arguments go to the test harnesses.
pub fn run(filter: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let mut phases = Phases::default();
    packages::install()?;
    tidy::run()?;
    shell::run(&mut cargo(&["fmt", "--all", "--check"]))?;
    let harnesses = ["test", "--workspace", "--no-fail-fast", "--features", "stdx/count-shared"];
    // The release build links for minutes with half a processor, while the other has much to look at and to compile.
    let (release, beside) = std::thread::scope(|scope| {
        let release = scope.spawn(|| shell::run_collecting(&mut cargo(&["build", "--release"])));
        let beside = clippy().and_then(|()| {
            phases.end("checks");
            shell::run(cargo(&harnesses).arg("--no-run"))
        });
        (release.join(), beside)
    });
    beside?;
    let (output, _, good) = release.map_err(|_| "the release build panicked")??;
    if !good {
        return Err(format!("{output}\nthe release build failed"));
    }
    phases.end("builds");
    let lane = |selection: &[String]| {
        let mut tests = cargo(&harnesses);
        tests.args(selection);
        tests.env("LIMPID_BINARY", shell::root().join("target/release/limpid"));
        // The hot path's test then fails where it would otherwise skip a part.
        tests.env("LIMPID_COUNT_SHARED", "1");
        if !filter.is_empty() {
            tests.arg("--").args(filter);
        }
        tests
    };
    let lanes = lanes::find()?;
    let counting = shell::run_counting(&mut lane(&lanes.counting));
    phases.end("tests that count");
    let models = std::thread::spawn(|| shell::run_collecting(&mut models_command()));
    let alone = shell::run_counting(&mut lane(&lanes.alone));
    phases.end("tests alone");
    let beside = [lane(&lanes.crates), lane(&["--doc".into()])];
    let beside = std::thread::spawn(move || beside.map(|mut c| shell::run_collecting(&mut c)));
    let whole = shell::run_counting(&mut lane(&lanes.whole));
    let beside = beside.join().map_err(|_| "the tests of the crates panicked")?;
    let models = models.join().map_err(|_| "the models panicked")?;
    let (mut tally, mut good) = counting?;
    let (tally_alone, good_alone) = alone?;
    tally.add(tally_alone);
    good &= good_alone;
    for outcome in beside.into_iter().chain([models]) {
        let (output, tally_beside, good_beside) = outcome?;
        println!("{output}");
        tally.add(tally_beside);
        good &= good_beside;
    }
    let (tally_whole, good_whole) = whole?;
    tally.add(tally_whole);
    good &= good_whole;
    phases.end("other tests and models");
    println!("\n{phases}");
    close(tally, good, start)
}

/// Lints are errors.
fn clippy() -> Result<(), String> {
    let look = ["clippy", "--workspace", "--all-targets", "--features", "stdx/count-shared"];
    shell::run(cargo(&look).args(["--", "-D", "warnings"]))
}

/// What a run's parts took, and which share of the machine's processors was busy meanwhile.
struct Phases {
    since: (Instant, Ticks),
    ended: Vec<(&'static str, Duration, Option<f64>)>,
}

impl Default for Phases {
    fn default() -> Phases {
        Phases { since: (Instant::now(), Ticks::now()), ended: Vec::new() }
    }
}

impl Phases {
    /// The part that ran since the last one ended is over.
    fn end(&mut self, name: &'static str) {
        let ticks = Ticks::now();
        self.ended.push((name, self.since.0.elapsed(), ticks.busy_since(self.since.1)));
        self.since = (Instant::now(), ticks);
    }
}

impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |(name, took, busy): &(&str, Duration, Option<f64>)| {
            let busy = busy.map_or(String::new(), |busy| format!(" ({:.0} % busy)", 100.0 * busy));
            format!("{name} {:.1}{busy}", took.as_secs_f64() / 60.0)
        };
        write!(f, "minutes: {}", self.ended.iter().map(part).collect::<Vec<_>>().join(", "))
    }
}

/// Time of all processors since the start of the machine, of it idle: `/proc/stat`; zeros where Linux does not tell.
#[derive(Clone, Copy, Default)]
struct Ticks {
    all: u64,
    idle: u64,
}

impl Ticks {
    fn now() -> Ticks {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let fields = text.lines().next().unwrap_or_default().split_whitespace().skip(1);
        let fields: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
        // user, nice, system, idle, waiting for a disk, interrupts, taken by other machines; what follows is in the first.
        let idle = fields.iter().skip(3).take(2).sum();
        Ticks { all: fields.iter().take(8).sum(), idle }
    }

    fn busy_since(self, before: Ticks) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        let idle = self.idle.checked_sub(before.idle)?;
        Some(1.0 - idle as f64 / all as f64)
    }
}

/// The loom models alone.
pub fn models() -> Result<(), String> {
    let start = Instant::now();
    let (tally, good) = shell::run_counting(&mut models_command())?;
    close(tally, good, start)
}

fn models_command() -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(cargo_program()).current_dir(shell::root());
    command.args(["test", "--release", "--test", "models"]);
    for name in MODEL_CRATES {
        command.args(["-p", name]);
    }
    // What the server's build takes minutes for, makes models no faster.
    command
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", shell::root().join("target/loom"));
    command
}

/// Prints the closing lines; an error unless all is well and something ran.
pub fn close(tally: Tally, good: bool, start: Instant) -> Result<(), String> {
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    println!("\n{} in {minutes:.1} minutes", if good { "all green" } else { "NOT green" });
    println!("{tally}");
    if good && tally.passed > 0 { Ok(()) } else { Err("the test run failed".into()) }
}
