//! `limpid lab`: the experiments and charts of the literature, repeated with one command.
//!
//! Reading order: [`cli`] and [`plan`] (what is asked for), [`seeds`] (40 figures of the literature), [`experiments`] (a table of
//! declarations), [`cells`] (rounds of load on servers), [`counts`] (what is counted on request), [`loops`], [`recovery`],
//! [`connection_locks`] and [`kinds`] (programs of their own); below them [`server`], [`counted`], [`functions`], [`data`],
//! [`workload`], [`beside`] and [`trace`], [`driver`] and [`sysbench`], [`sampler`], [`machine`], [`pin`]; above them [`stats`], [`verdict`], [`report`].
//!
//! 1. Servers that are started are ended, whatever happens; their folders go with them. 2. A report on disk is valid at any time, also
//! after Ctrl-C, a server that died, or a disk that was full while the next one was written. 3. Nothing is claimed within twice the noise.

mod beside;
mod cells;
mod cli;
mod connection_locks;
mod counted;
mod counts;
mod data;
mod driver;
mod experiments;
mod functions;
mod interrupt;
mod kinds;
mod loops;
mod machine;
mod outcome;
mod pin;
mod plan;
mod progress;
mod recovery;
mod report;
mod sampler;
mod seeds;
mod server;
mod stats;
mod sysbench;
mod trace;
mod verdict;
mod workload;

use clap::Parser;
use cli::{Cli, What};
use experiments::{Experiment, Kind, Measure, Program};
use machine::Machine;
use outcome::Outcome;
use plan::{Driver, Plan};
use progress::Progress;
use report::Report;
use report::csv::Csv;
use rustix::process::{Resource, Rlimit};
use server::Subject;
use std::io::Write;
use std::process::ExitCode;

/// What was asked for is not there, or is no option.
const USAGE: u8 = 2;
/// An experiment ended early, or a report could not be written.
const FAILED: u8 = 1;
/// Files that this process and a server with 1,024 users have open.
const FILES: u64 = 65_536;
/// Files of a process besides one for each user.
const FILES_BESIDES: u64 = 256;

/// Runs `limpid lab` with the arguments that follow these words. Exit code 0; 1 when an experiment ended early or the report could not
/// be written; 2 for wrong arguments and experiments that are not there; 130 after Ctrl-C.
pub fn main(arguments: &[String]) -> ExitCode {
    let words = std::iter::once("limpid lab".to_string()).chain(arguments.iter().cloned());
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(e) => {
            let _closed = e.print();
            return ExitCode::from(e.exit_code() as u8);
        }
    };
    ExitCode::from(answer(&cli, cli::shown(arguments)))
}

/// Does what is asked for; the exit code.
fn answer(cli: &Cli, command: String) -> u8 {
    let (chosen, how) = match &cli.what {
        What::List => {
            return match writeln!(std::io::stdout(), "{}", list()) {
                Ok(()) => 0,
                Err(_) => FAILED,
            };
        }
        What::Run { name, how } => match wanted(name) {
            Ok(experiment) => (vec![experiment], how),
            Err(why) => return fail(&why, USAGE),
        },
        What::All { how } => {
            (experiments::all().filter(|e| !matches!(e.kind, Kind::Absent(_))).collect(), how)
        }
    };
    let plan = match how.plan(command).and_then(checked) {
        Ok(plan) => plan,
        Err(why) => return fail(&why, USAGE),
    };
    match run(&plan, &chosen) {
        Ok(()) => 0,
        Err(why) if interrupt::is_asked() => fail(&why, interrupt::EXIT_CODE),
        Err(why) => fail(&why, FAILED),
    }
}

fn fail(why: &str, code: u8) -> u8 {
    let _closed = writeln!(std::io::stderr(), "limpid lab: {why}");
    code
}

/// The experiment of a name.
fn wanted(name: &str) -> Result<&'static Experiment, String> {
    let experiment = experiments::find(name).ok_or_else(|| {
        format!("there is no experiment {name:?}: `limpid lab list` has them all")
    })?;
    match experiment.kind {
        Kind::Absent(why) => Err(format!("{name} cannot be run: {why}")),
        _ => Ok(experiment),
    }
}

/// A plan whose programs and servers are there.
fn checked(plan: Plan) -> Result<Plan, String> {
    if plan.driver == Driver::Sysbench {
        sysbench::look()?;
    }
    for subject in &plan.subjects {
        match subject {
            Subject::Binary { path, .. } if !path.is_file() => {
                return Err(format!("{}: there is no such file", path.display()));
            }
            Subject::Peer(dsn) => drop(server::Server::running(dsn)?),
            Subject::Binary { .. } => {}
        }
    }
    Ok(plan)
}

/// All experiments, with their rows and what of them is not there.
fn list() -> String {
    let line = |experiment: &Experiment| {
        let rows: Vec<String> = experiment.rows.iter().map(u8::to_string).collect();
        let rows = if rows.is_empty() { "-".to_string() } else { rows.join(",") };
        let why = match experiment.kind {
            Kind::Absent(why) => format!(" [{why}]"),
            _ => String::new(),
        };
        format!("{:18} {:20} {}{why}", experiment.name, rows, experiment.title)
    };
    let lines: Vec<String> = experiments::all().map(line).collect();
    format!("{:18} {:20} {}\n{}", "experiment", "rows", "what it shows", lines.join("\n"))
}

/// Runs experiments one after another, and writes the report after each.
fn run(plan: &Plan, chosen: &[&'static Experiment]) -> Result<(), String> {
    interrupt::listen().map_err(|e| format!("a thread for signals: {e}"))?;
    // With fewer files large levels of users are refused.
    let _fewer = rustix::process::setrlimit(Resource::Nofile, more_files());
    let machine = Machine::here();
    let builds: Vec<(String, String)> =
        plan.subjects.iter().map(|subject| (subject.name(), subject.build())).collect();
    let mut outcomes = Vec::new();
    let progress = Progress::new(0);
    let _scratch = Scratch(plan);
    let mut failed = Vec::new();
    for experiment in chosen {
        let folder = plan.out.join(experiment.name);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut outcome = Outcome::of(experiment);
        let went = one(plan, &mut outcome, &folder, &progress);
        outcome.ended = went.err();
        failed.extend(outcome.ended.iter().map(|why| format!("{}: {why}", experiment.name)));
        judge(plan, &mut outcome);
        outcomes.push(outcome);
        let (machine, outcomes, builds, date) = (&machine, &outcomes[..], &builds[..], date());
        report::write_all(&Report { plan, machine, outcomes, date, builds })?;
        if interrupt::is_asked() {
            break;
        }
    }
    drop(progress);
    let _closed = writeln!(std::io::stdout(), "{}", plan.out.join("report.html").display());
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Runs one experiment.
fn one(
    plan: &Plan,
    outcome: &mut Outcome,
    folder: &std::path::Path,
    progress: &Progress,
) -> Result<(), String> {
    match &outcome.experiment.kind {
        Kind::Cells(cells) => {
            let mut csv = Csv::open(folder)?;
            has_files(plan.users(cells).into_iter().max().unwrap_or(0))?;
            if plan.rounds > 0 {
                cells::run(plan, cells, outcome, &mut csv, progress)?;
            }
            counts::run(plan, cells, outcome, folder, progress)
        }
        Kind::Own(Program::Loop) => loops::run(plan, outcome, progress),
        Kind::Own(Program::Recovery) => recovery::run(plan, outcome, progress),
        Kind::Own(Program::ConnectionLocks) => connection_locks::run(plan, outcome, progress),
        Kind::Own(Program::LatchKinds) => kinds::run(plan, outcome, progress),
        Kind::Absent(why) => Err((*why).into()),
    }
}

/// Judges the rows of an experiment of cells: for builds all of them, for servers that run already what they have.
fn judge(plan: &Plan, outcome: &mut Outcome) {
    let Kind::Cells(cells) = &outcome.experiment.kind else { return };
    // Of other workloads, and of counts alone, nothing is concluded.
    if plan.workloads.is_some() || plan.rounds == 0 {
        return;
    }
    let has_peer = plan.subjects.iter().any(|subject| matches!(subject, Subject::Peer(_)));
    for subject in &plan.subjects {
        let name = subject.name();
        if cells::is_build(&name) {
            continue;
        }
        for check in cells.checks {
            // The literature's rows say what they lack.
            if check.row == 0 && !has_peer && matches!(check.measure, Measure::BesidePeer(..)) {
                continue;
            }
            let finding = verdict::judge(outcome, check, &name);
            if matches!(subject, Subject::Binary { .. }) || finding.estimate.is_some() {
                outcome.findings.push(finding);
            }
        }
    }
}

/// The folder of the servers, which goes with the run.
struct Scratch<'a>(&'a Plan);

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.0.scratch);
    }
}

fn more_files() -> Rlimit {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES, |maximum| maximum.min(FILES));
    Rlimit { current: Some(limit.current.map_or(wanted, |now| now.max(wanted))), ..limit }
}

/// Whether this process, and a server that it starts, may open a file for each user.
fn has_files(users: u32) -> Result<(), String> {
    let wanted = u64::from(users) + FILES_BESIDES;
    match rustix::process::getrlimit(Resource::Nofile).current {
        Some(limit) if limit < wanted => Err(format!(
            "{users} users take {wanted} open files, and {limit} are allowed here (ulimit -n)"
        )),
        _ => Ok(()),
    }
}

/// Now, as text in UTC.
fn date() -> String {
    let seconds = host::clock::unix_micros() / 1_000_000;
    let (year, month, day) = host::clock::date_of(seconds / 86_400);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}
