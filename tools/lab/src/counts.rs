//! What is counted on request beside the rounds: instructions, allocations and system calls of a query, processor time by function.
//!
//! What cannot be counted on this machine, or of a server that runs already, is skipped and named.

use crate::cells::{apply, is_for};
use crate::counted::{Counted, Counts};
use crate::data::Wanted;
use crate::driver::{self, Load};
use crate::experiments::{Cells, Setting};
use crate::outcome::{Outcome, PerQuery, Table};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::server::{Server, Subject};
use crate::workload::{User, Workload};
use crate::{counted, functions, interrupt, pin, report, trace};
use std::path::Path;
use std::time::Duration;

/// Rows of a table of which one user is counted: under callgrind they are made there.
const ROWS: u32 = 1_000;
/// Transactions while system calls are counted: what two runs differ by is theirs, and what others do meanwhile.
const TRACED: [u32; 2] = [200, 1_200];
/// Pairs of such runs, of which the median counts: behind the filling others have something to do now and then.
const PAIRS: usize = 3;
/// How long perf may take until it samples, and the shortest time that it samples for.
const ATTACH: Duration = Duration::from_secs(1);

/// What can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Count {
    /// User instructions of a query, by callgrind.
    Instructions,
    /// Allocations of a query, by callgrind.
    Allocations,
    /// System calls of a query, by strace.
    SystemCalls,
    /// Processor time by function, by perf.
    Functions,
}

/// A setting of a build, and a workload on it.
struct Case<'a> {
    subject: &'a Subject,
    setting: Setting,
    workload: Workload,
    wanted: Wanted,
}

impl Case<'_> {
    fn words(&self) -> String {
        format!("{}: {}, {}", self.subject.name(), self.setting.name, self.workload.name())
    }

    /// Its line before anything is counted.
    fn nothing(&self) -> PerQuery {
        PerQuery {
            subject: self.subject.name(),
            setting: self.setting.name.into(),
            workload: self.workload.name(),
            ..PerQuery::default()
        }
    }

    /// Its user on a server that is as its setting says; the inner error is what this build does not have.
    fn user(&self, server: &mut Server, seed: u64) -> Result<Result<User, String>, String> {
        let mut control = server.connect()?;
        if let Err(why) = apply(server, &mut control, &self.setting)? {
            return Ok(Err(why));
        }
        let shape = [self.wanted.tables, self.wanted.rows];
        let user = User::new(server.connect()?, self.workload, 0, shape, seed);
        user.map(Ok).map_err(|e| self.told(&e))
    }

    fn told(&self, failure: &client::Failure) -> String {
        format!("{}: {failure}", self.words())
    }
}

/// Counts what was asked for, for every setting and workload of an experiment.
///
/// # Errors
/// A server that does not start; an interrupt.
pub fn run(
    plan: &Plan,
    cells: &Cells,
    outcome: &mut Outcome,
    folder: &Path,
    progress: &Progress,
) -> Result<(), String> {
    let asks = |count: Count| plan.counts.contains(&count);
    let instructions = asks(Count::Instructions) || asks(Count::Allocations);
    let [instructions, system_calls, functions] = [
        instructions && is_there("instructions and allocations", counted::look(), outcome),
        asks(Count::SystemCalls)
            && is_there("system calls", trace::look(Some(0)).map(drop), outcome),
        asks(Count::Functions)
            && is_there("functions", functions::look(Some(0)).map(drop), outcome),
    ];
    for subject in plan.subjects.iter().filter(|_| instructions || system_calls || functions) {
        if matches!(subject, Subject::Peer(_)) {
            outcome.skip(format!("{}: counts skipped: it runs already", subject.name()));
            continue;
        }
        for setting in cells.settings.iter().filter(|setting| is_for(setting, subject)) {
            for workload in plan.workloads(cells) {
                let wanted = Wanted::of(cells.tables, ROWS, &[workload]);
                let case = Case { subject, setting: *setting, workload, wanted };
                progress.say(&format!("{}: counts", case.words()));
                let mut found = case.nothing();
                if instructions {
                    match count(plan, &case)? {
                        Ok(counts) => {
                            found.instructions = Some(counts.instructions);
                            found.allocations = Some(counts.allocations);
                        }
                        Err(why) => outcome.skip(format!("{}: {why}", case.words())),
                    }
                }
                if system_calls {
                    match traced(plan, &case)? {
                        Ok(calls) => found.system_calls = Some(calls),
                        Err(why) => outcome.skip(format!("{}: {why}", case.words())),
                    }
                }
                if found != case.nothing() {
                    outcome.per_query.push(found);
                }
                if functions {
                    let wanted = Wanted { rows: plan.rows(cells), ..case.wanted };
                    let case = Case { wanted, ..case };
                    match profile(plan, cells, &case)? {
                        Ok(table) => outcome.tables.push(table),
                        Err(why) => outcome.skip(format!("{}: {why}", case.words())),
                    }
                }
            }
        }
    }
    if !outcome.per_query.is_empty() {
        let heads = ["build", "setting", "workload", "instructions", "allocations", "system calls"];
        let table = Table {
            title: "Of a query, of one user: instructions and allocations by callgrind, system calls by strace".into(),
            heads: heads.map(str::to_string).to_vec(),
            lines: outcome.per_query.iter().map(line).collect(),
        };
        write_csv(&table, &folder.join("counts.csv"))?;
        outcome.tables.push(table);
    }
    Ok(())
}

/// Whether it can be had; else it is named.
fn is_there(what: &str, looked: Result<(), String>, outcome: &mut Outcome) -> bool {
    match looked {
        Ok(()) => true,
        Err(why) => {
            outcome.skip(format!("{what} skipped: {why}"));
            false
        }
    }
}

fn line(found: &PerQuery) -> Vec<String> {
    let told = |figure: Option<f64>, digits: usize| {
        figure.map_or_else(String::new, |figure| format!("{figure:.digits$}"))
    };
    vec![
        found.subject.clone(),
        found.setting.clone(),
        found.workload.clone(),
        told(found.instructions, 0),
        told(found.allocations, 2),
        told(found.system_calls, 2),
    ]
}

fn write_csv(table: &Table, path: &Path) -> Result<(), String> {
    let lines = std::iter::once(&table.heads).chain(&table.lines);
    // Names of settings may have commas.
    let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
    let text = lines.map(|line| line.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n");
    report::write(path, &text.collect::<String>())
}

/// Instructions and allocations of a query; the inner error is what this build does not have.
fn count(plan: &Plan, case: &Case<'_>) -> Result<Result<Counts, String>, String> {
    if interrupt::is_asked() {
        return Err(interrupt::WORD.into());
    }
    let folder = plan.scratch.join("counted");
    let mut counted = Counted::start(case.subject, &folder, case.setting.options, case.wanted)?;
    let mut user = match case.user(&mut counted.server, plan.seed)? {
        Ok(user) => user,
        Err(why) => return Ok(Err(why)),
    };
    let mut queries = 0;
    let each = counted.each(&mut |runs| {
        for _ in 0..runs {
            queries = user.transact().map_err(|e| case.told(&e))?;
        }
        Ok(())
    })?;
    // Each transaction of a workload has as many queries.
    let by = queries.max(1) as f64;
    Ok(Ok(Counts { instructions: each.instructions / by, allocations: each.allocations / by }))
}

/// System calls of a query; the inner error is what this build does not have.
fn traced(plan: &Plan, case: &Case<'_>) -> Result<Result<f64, String>, String> {
    let Subject::Binary { path, .. } = case.subject else { return Ok(Err("runs already".into())) };
    let folder = plan.scratch.join("traced");
    let mut server = Server::start(path, &folder, case.setting.options)?;
    server.fill(case.wanted, &mut || ())?;
    let mut user = match case.user(&mut server, plan.seed)? {
        Ok(user) => user,
        Err(why) => return Ok(Err(why)),
    };
    let pid = trace::look(server.pid)?;
    let (mut queries, mut added) = (0, [0.0; PAIRS]);
    for added in &mut added {
        let mut calls = [0.0; 2];
        for (calls, runs) in calls.iter_mut().zip(TRACED) {
            let mut tracer = match trace::Tracer::begin(pid) {
                Ok(tracer) => tracer,
                Err(why) => return Ok(Err(why)),
            };
            for _ in 0..runs {
                queries = user.transact().map_err(|e| case.told(&e))?;
            }
            *calls = tracer.finish()?;
        }
        *added = calls[1] - calls[0];
    }
    added.sort_by(f64::total_cmp);
    Ok(Ok(added[PAIRS / 2] / f64::from(TRACED[1] - TRACED[0]) / queries.max(1) as f64))
}

/// Processor time by function under the most users of a plan.
fn profile(plan: &Plan, cells: &Cells, case: &Case<'_>) -> Result<Result<Table, String>, String> {
    let Subject::Binary { path, .. } = case.subject else { return Ok(Err("runs already".into())) };
    let folder = plan.scratch.join("profiled");
    let mut server = Server::start(path, &folder, case.setting.options)?;
    server.fill(case.wanted, &mut || ())?;
    let mut control = server.connect()?;
    if let Err(why) = apply(&mut server, &mut control, &case.setting)? {
        return Ok(Err(why));
    }
    let users = plan.users(cells).into_iter().max().unwrap_or(1);
    let load = Load {
        dsn: server.dsn.clone(),
        workload: case.workload,
        users,
        wanted: case.wanted,
        seed: plan.seed,
        cores: pin::available(),
        warm_up: plan.warm_up,
        length: plan.length.max(ATTACH) + ATTACH,
    };
    let pid = functions::look(server.pid)?;
    let mut sampler = None;
    driver::drive(&load, &mut |_| {
        if sampler.is_none() {
            let (folder, length) = (folder.clone(), load.length - ATTACH);
            let work = move || functions::sample(pid, length, &folder);
            sampler = host::thread::spawn("lab_perf", work).ok();
        }
    })?;
    let sampled = sampler.ok_or("no thread for perf")?.join();
    let table = |shares: Vec<functions::Share>| Table {
        title: format!("{}, {users} users: processor time by function", case.words()),
        heads: vec!["function".into(), "%".into()],
        lines: shares.into_iter().map(|(name, share)| vec![name, format!("{share:.2}")]).collect(),
    };
    Ok(sampled.map_err(|_| "the thread of perf panicked".to_string())?.map(table))
}
