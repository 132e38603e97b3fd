//! Runs an experiment of cells: servers and columns first, then rounds.
//!
//! 1. Rounds go A B B A: each second one backwards through the settings, at each level of users. 2. Workloads take turns in the rounds;
//! one that changes how many rows there are waits for all rounds of the others. 3. Whatever ends a run early leaves the cells that are
//! whole, and the reason. 4. A setting that a server does not have is skipped and named, on that server.

use crate::beside::{Beside, Others};
use crate::data::Wanted;
use crate::driver::{self, Load};
use crate::experiments::{Cells, Kind, Setting, all};
use crate::machine;
use crate::outcome::{Cell, Column, Described, Outcome};
use crate::pin::{self, Cores};
use crate::plan::{Driver, Plan};
use crate::progress::Progress;
use crate::report::csv::Csv;
use crate::sampler::{Growth, Sampler};
use crate::server::{Server, Subject};
use crate::workload::Workload;
use crate::{interrupt, sysbench};
use client::Client;

/// Instruments that count waits: those that are on, and here all of them.
const INSTRUMENTS: &str = "SELECT NAME FROM performance_schema.setup_instruments \
    WHERE ENABLED = 'YES' OR @@version_comment LIKE 'Limpid%'";
/// A server has no variable of this name.
const UNKNOWN_VARIABLE: u16 = 1193;

/// A server with what the lab holds of it.
struct Started {
    subject: String,
    options: &'static [&'static str],
    server: Server,
    control: Client,
    sampler: Sampler,
}

/// What a column's cells do.
struct Plot {
    server: usize,
    setting: Setting,
    cores: Cores,
}

/// An experiment that runs.
struct Run<'a> {
    plan: &'a Plan,
    cells: &'static Cells,
    progress: &'a Progress,
    workloads: Vec<Workload>,
    servers: Vec<Started>,
    plots: Vec<Plot>,
    wanted: Wanted,
}

/// Runs all cells of an experiment into its outcome, and each one into `csv`.
///
/// # Errors
/// What ends it early; the outcome has what came before.
pub fn run(
    plan: &Plan,
    cells: &'static Cells,
    outcome: &mut Outcome,
    csv: &mut Csv,
    progress: &Progress,
) -> Result<(), String> {
    let workloads = plan.workloads(cells);
    let wanted = Wanted::of(cells.tables, plan.rows(cells), &workloads);
    outcome.workloads = workloads.iter().map(|workload| workload.name()).collect();
    let (servers, plots) = (Vec::new(), Vec::new());
    let mut run = Run { plan, cells, progress, workloads, servers, plots, wanted };
    run.columns(outcome)?;
    if run.plots.is_empty() {
        return Err("no setting of it can be had".into());
    }
    let went = run.rounds(outcome, csv);
    for started in &run.servers {
        for (sql, why) in started.sampler.skipped.told() {
            outcome.skip(format!("{}: sampling by `{sql}` skipped: {why}", started.subject));
        }
    }
    went
}

/// Whether it is a name that experiments ask for as builds of their own.
pub fn is_build(name: &str) -> bool {
    let cells = all().filter_map(|e| match &e.kind {
        Kind::Cells(cells) => Some(cells),
        _ => None,
    });
    cells.flat_map(|cells| cells.settings).any(|setting| setting.build == name)
}

impl Run<'_> {
    /// Finds what can be measured, and starts the servers for it.
    fn columns(&mut self, outcome: &mut Outcome) -> Result<(), String> {
        for subject in &self.plan.subjects {
            let before = self.plots.len();
            for setting in self.cells.settings {
                if is_for(setting, subject) {
                    self.column(subject, *setting, outcome)?;
                }
            }
            if self.plots.len() == before && !is_build(&subject.name()) {
                self.column(subject, Setting::named("as it is"), outcome)?;
            }
        }
        let has = |build: &str| self.plan.subjects.iter().any(|subject| subject.name() == build);
        for setting in self.cells.settings.iter().filter(|s| !s.build.is_empty() && !has(s.build)) {
            let (name, build) = (setting.name, setting.build);
            outcome.skip(format!("setting {name:?} skipped: no --binary {build}=PATH was given (docs/lab.md says how it is built)"));
        }
        Ok(())
    }

    /// A setting of a subject, unless it cannot be had there.
    fn column(
        &mut self,
        subject: &Subject,
        setting: Setting,
        outcome: &mut Outcome,
    ) -> Result<(), String> {
        let setting = setting.with_quick(self.plan.quick);
        let setting = Setting { pin: self.plan.pin.unwrap_or(setting.pin), ..setting };
        let (name, skipped) =
            (subject.name(), format!("{}: setting {:?} skipped", subject.name(), setting.name));
        let cores = match setting.pin.cores(&pin::available()) {
            Ok(cores) => cores,
            Err(why) => {
                outcome.skip(format!("{skipped}: {why}"));
                return Ok(());
            }
        };
        if matches!(subject, Subject::Peer(_)) && !setting.options.is_empty() {
            outcome.skip(format!("{skipped}: it is set at a start, and this server runs already"));
            return Ok(());
        }
        let server = self.server(subject, setting.options, outcome)?;
        let can_trace = setting.beside.look(self.servers[server].server.pid);
        if let Err(why) = can_trace.and(self.set(server, &setting)?) {
            outcome.skip(format!("{skipped}: {why}"));
            return Ok(());
        }
        let several = self.plan.subjects.len() > 1;
        outcome.columns.push(Column {
            label: if several { format!("{name}: {}", setting.name) } else { setting.name.into() },
            subject: name,
            is_peer: matches!(subject, Subject::Peer(_)),
            setting: setting.name.into(),
            words: words(&setting),
            server,
        });
        self.plots.push(Plot { server, setting, cores });
        Ok(())
    }

    /// The place of a server with these options, started if it is not there yet.
    fn server(
        &mut self,
        subject: &Subject,
        options: &'static [&'static str],
        outcome: &mut Outcome,
    ) -> Result<usize, String> {
        let name = subject.name();
        let is_it = |s: &Started| s.subject == name && s.options == options;
        if let Some(place) = self.servers.iter().position(is_it) {
            return Ok(place);
        }
        self.progress.say(&format!(
            "{name} {}: start, {} tables of {} rows",
            options.join(" "),
            self.wanted.tables,
            self.wanted.rows
        ));
        let server = match subject {
            Subject::Binary { path, .. } => {
                let folder = self.plan.scratch.join(format!("s{}", self.servers.len()));
                Server::start(path, &folder, options)
            }
            Subject::Peer(dsn) => Server::running(dsn),
        };
        let mut server = server.map_err(|why| format!("{name}: {why}"))?;
        let tick = &mut || self.progress.say(&format!("{name}: tables"));
        server.fill(self.wanted, tick).map_err(|why| format!("{name}: {why}"))?;
        let mut control = server.connect()?;
        let sampler = Sampler::new(server.connect()?, server.pid);
        outcome.servers.push(described(&name, options, &server, &mut control));
        self.servers.push(Started { subject: name, options, server, control, sampler });
        Ok(self.servers.len() - 1)
    }

    fn set(&mut self, server: usize, setting: &Setting) -> Result<Result<(), String>, String> {
        let Started { server, control, .. } = &mut self.servers[server];
        apply(server, control, setting)
    }

    fn rounds(&mut self, outcome: &mut Outcome, csv: &mut Csv) -> Result<(), String> {
        let users = self.plan.users(self.cells);
        let steps =
            users.len() * self.workloads.len() * self.plots.len() * self.plan.rounds as usize;
        self.progress.expect(steps as u64);
        for together in in_turns(&self.workloads) {
            for round in 1..=self.plan.rounds {
                for workload in &together {
                    for users in &users {
                        let (workload, users) = (*workload, *users);
                        let cell = Cell { workload, users, round, ..Cell::default() };
                        self.settings(&cell, outcome, csv)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A cell of each setting, like this one.
    fn settings(
        &mut self,
        like: &Cell,
        outcome: &mut Outcome,
        csv: &mut Csv,
    ) -> Result<(), String> {
        let mut order: Vec<usize> = (0..self.plots.len()).collect();
        if like.round.is_multiple_of(2) {
            order.reverse();
        }
        for column in order {
            let cell = self.cell(Cell { column, ..like.clone() }, outcome)?;
            csv.cell(outcome, &cell)?;
            outcome.cells.push(cell);
            self.progress.step();
        }
        Ok(())
    }

    /// Measures one cell.
    fn cell(&mut self, mut cell: Cell, outcome: &Outcome) -> Result<Cell, String> {
        let label = &outcome.columns[cell.column].label;
        let workload = self.workloads[cell.workload];
        self.progress.say(&format!(
            "{label}, {}, {} users, round {}",
            workload.name(),
            cell.users,
            cell.round
        ));
        let Plot { server, setting, cores } = &self.plots[cell.column];
        let (server, setting, cores) = (*server, *setting, cores.clone());
        if let Err(why) = self.set(server, &setting)? {
            return Err(format!("{label}: {why}"));
        }
        let Started { server, sampler, .. } = &mut self.servers[server];
        if let Some(pid) = server.pid
            && (cores.server.len() < pin::available().len()
                || self.cells.settings.iter().any(|s| s.pin != setting.pin))
        {
            pin::pin_process(pid, &cores.server)?;
        }
        let age = setting.beside.age(self.plan.quick);
        let load = Load {
            dsn: server.dsn.clone(),
            workload,
            users: cell.users,
            wanted: self.wanted,
            seed: self.plan.seed + u64::from(cell.round),
            cores: cores.client,
            warm_up: self.plan.warm_up.max(age.unwrap_or_default()),
            length: self.plan.length,
        };
        let begin = || setting.beside.begin(&load.dsn, server.pid, load.length);
        let (mut samples, mut others) = (Vec::new(), age.map_or(Ok(None), |_| begin()));
        let mut tick = |counts| {
            if samples.is_empty() {
                sampler.begin();
                if age.is_none() {
                    others = begin();
                }
            }
            samples.push(sampler.sample(counts));
        };
        let driven = match self.plan.driver {
            Driver::Own => driver::drive(&load, &mut tick),
            Driver::Sysbench => sysbench::drive(&load, &mut tick),
        };
        let others = others.and_then(|others| others.map_or(Ok(None), Others::end));
        cell.driven = driven.map_err(|why| match why == interrupt::WORD {
            true => why,
            false => format!("{label}, {}, {} users: {why}", workload.name(), cell.users),
        })?;
        cell.system_calls = others.map_err(|why| format!("{label}: {why}"))?;
        cell.resident_mib = server.pid.and_then(machine::resident_mib);
        if let [first, .., last] = &samples[..] {
            cell.growth = Growth::between(first, last);
        }
        cell.seconds = samples.windows(2).map(|pair| Growth::between(&pair[0], &pair[1])).collect();
        Ok(cell)
    }
}

/// Workloads by place, as they take turns in the rounds: those that leave as many rows as there were together, each of the others alone.
fn in_turns(workloads: &[Workload]) -> Vec<Vec<usize>> {
    let (others, together): (Vec<usize>, Vec<usize>) =
        (0..workloads.len()).partition(|place| workloads[*place].changes_rows());
    std::iter::once(together).chain(others.into_iter().map(|place| vec![place])).collect()
}

/// Does what a setting says; the inner error is what the server does not have.
///
/// # Errors
/// The server went away.
pub fn apply(
    server: &mut Server,
    control: &mut Client,
    setting: &Setting,
) -> Result<Result<(), String>, String> {
    let resets = setting.resets.iter().map(|sql| (sql, true));
    for (sql, is_reset) in resets.chain(setting.sql.iter().map(|sql| (sql, false))) {
        if let Some(variable) = variable_of(sql) {
            server.remember(control, variable);
        }
        match control.run(sql) {
            Ok(_) => {}
            Err(failure) if failure.is_lost() => return Err(server.told(&failure)),
            Err(failure) if is_reset && failure.number == UNKNOWN_VARIABLE => {}
            Err(failure) => return Ok(Err(format!("`{sql}`: {failure}"))),
        }
    }
    Ok(Ok(()))
}

/// Whether a setting is one of a subject: a build of its own, or whatever is measured.
pub fn is_for(setting: &Setting, subject: &Subject) -> bool {
    let name = subject.name();
    match setting.build {
        "" => !is_build(&name),
        build => build == name,
    }
}

/// The variable of a `SET GLOBAL name = value`.
fn variable_of(sql: &str) -> Option<&str> {
    sql.strip_prefix("SET GLOBAL ")?.split([' ', '=']).next()
}

/// A setting in words.
fn words(setting: &Setting) -> String {
    let mut words: Vec<String> = setting.options.iter().map(|o| (*o).to_string()).collect();
    let sql = setting.resets.iter().chain(setting.sql);
    words.extend(sql.map(|sql| sql.trim_start_matches("SET GLOBAL ").to_string()));
    if setting.pin != pin::Pin::All {
        words.push(setting.pin.words());
    }
    if setting.beside != Beside::Nothing {
        words.push(setting.beside.words().into());
    }
    words.join("; ")
}

fn described(name: &str, options: &[&str], server: &Server, control: &mut Client) -> Described {
    let rows = control.query("SHOW GLOBAL VARIABLES").unwrap_or_default();
    let pairs = rows.texts().filter_map(|row| <[String; 2]>::try_from(row).ok());
    let known = control.query(INSTRUMENTS);
    Described {
        instruments: known.unwrap_or_default().texts().flatten().collect(),
        name: [&[name], options].concat().join(" "),
        version: server.version.clone(),
        variables: pairs.map(|[name, value]| (name, value)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::find;

    #[test]
    fn builds_are_measured_by_their_settings_alone() {
        assert!(is_build("bare") && !is_build("limpid"));
        let Kind::Cells(cells) = &find("pfs-builds").unwrap().kind else { panic!("cells") };
        let (own, bare) = (Subject::binary("/a/limpid"), Subject::binary("bare=/b/limpid"));
        let without = cells.settings.iter().find(|s| s.build == "bare").unwrap();
        let def = cells.settings.iter().find(|s| s.name == "def").unwrap();
        assert!(is_for(without, &bare) && !is_for(without, &own));
        assert!(!is_for(def, &bare) && is_for(def, &own));
    }

    #[test]
    fn what_changes_how_many_rows_there_are_comes_last() {
        use Workload::{Delete, Insert, PointSelect, ReadWrite};
        let turns = in_turns(&[Insert, PointSelect, Delete, ReadWrite]);
        assert_eq!(turns, [vec![1, 3], vec![0], vec![2]]);
    }

    #[test]
    fn variables_are_found_in_settings() {
        assert_eq!(variable_of("SET GLOBAL limpid_mdl_hash = bad"), Some("limpid_mdl_hash"));
        assert_eq!(variable_of("SELECT 1"), None);
    }
}
