//! What both pages say: headings, paragraphs, tables, charts, in order.

use super::{Report, charts};
use crate::experiments::Aim;
use crate::outcome::{Column, Described, Finding, Outcome, Table};
use crate::plan::Driver;
use crate::seeds;
use crate::stats::Estimate;
use crate::verdict::{cpu_us, longest_waits, qps, tps};
use chart::si;

/// A part of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A heading of a level, from 1.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// A chart: its file by its folder, its title, the picture.
    Chart(String, String, String),
    /// A table that is long and seldom wanted.
    Folded(Table),
}

/// Longest waits that are listed for an experiment.
const WAITS_MAX: usize = 10;

/// The whole page.
pub fn parts(report: &Report<'_>) -> Vec<Part> {
    let mut parts = vec![
        Part::Heading(1, "limpid lab".into()),
        Part::Table(circumstances(report)),
        Part::Text(
            "Medians of rounds that go forwards and backwards through the settings (A B B A), with 95 % intervals by bootstrap. \
             Nothing is claimed within twice the noise, which is the standard deviation from round to round. The literature's figures \
             are of other machines: ratios compare, absolute numbers do not."
                .into(),
        ),
    ];
    if report.machine.is_busy() {
        let load = &report.machine.load;
        parts.push(Part::Text(format!(
            "The machine was busy with something else when the run began (load {load}): figures by the clock mean little."
        )));
    }
    for outcome in report.outcomes {
        parts.extend(of_outcome(outcome));
    }
    parts
}

fn table(title: &str, heads: &[&str], lines: Vec<Vec<String>>) -> Table {
    Table { title: title.into(), heads: heads.iter().map(|h| (*h).to_string()).collect(), lines }
}

fn circumstances(report: &Report<'_>) -> Table {
    let (plan, machine) = (report.plan, report.machine);
    let driver = match plan.driver {
        Driver::Own => "the lab's own",
        Driver::Sysbench => "sysbench",
    };
    let line = |name: &str, value: String| vec![name.to_string(), value];
    let mut lines = vec![
        line("date", report.date.clone()),
        line("command", plan.command.clone()),
        line("kernel", machine.kernel.clone()),
        line("processor", format!("{}, {} cores", machine.processor, machine.cores)),
        line("memory", format!("{} MiB", machine.memory_mib)),
        line("load of the machine when the run began", machine.load.clone()),
        line("driver", driver.into()),
        line(
            "rounds",
            format!("{} of {:?} after {:?} of warm-up", plan.rounds, plan.length, plan.warm_up),
        ),
    ];
    lines.extend(
        report.builds.iter().map(|(name, build)| line(&format!("build of {name}"), build.clone())),
    );
    lines.retain(|line| !line[1].is_empty());
    table("", &["", ""], lines)
}

fn of_outcome(outcome: &Outcome) -> Vec<Part> {
    let experiment = outcome.experiment;
    let mut parts = vec![
        Part::Heading(2, experiment.name.into()),
        Part::Text(format!("{}.", sentence(experiment.title))),
    ];
    if let Some(why) = &outcome.ended {
        parts.push(Part::Text(format!(
            "This experiment ended early: {why}. What follows is what came before."
        )));
    }
    if !outcome.findings.is_empty() {
        parts.push(Part::Table(findings(&outcome.findings)));
    }
    for skipped in &outcome.skipped {
        parts.push(Part::Text(format!("Skipped: {skipped}")));
    }
    parts.extend(outcome.tables.iter().cloned().map(Part::Table));
    for chart in charts::of(outcome) {
        parts.push(Part::Chart(
            format!("{}/{}", experiment.name, chart.file),
            chart.title,
            chart.svg,
        ));
    }
    if !outcome.cells.is_empty() {
        parts.push(Part::Table(settings(&outcome.columns)));
        parts.push(Part::Table(cells(outcome)));
        parts.extend(waits(outcome).map(Part::Table));
        parts.push(Part::Text(format!(
            "All samples are in {0}/samples.csv, all cells in {0}/cells.csv.",
            experiment.name
        )));
    }
    parts.extend(variables(&outcome.servers).into_iter().map(Part::Folded));
    parts
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The figures of the literature beside ours.
fn findings(findings: &[Finding]) -> Table {
    let line = |finding: &Finding| {
        let row = seeds::row_of(finding.row);
        vec![
            row.map_or_else(|| "-".into(), |row| row.number.to_string()),
            row.map_or_else(String::new, |row| format!("{}: {}", row.claim, row.figure)),
            finding.subject.clone(),
            finding.what.clone(),
            finding.estimate.as_ref().map_or_else(|| "-".into(), shown),
            aim(finding.aim),
            finding.verdict.words(),
        ]
    };
    let heads = ["row", "the literature's figure", "server", "ours is", "ours", "aim", "verdict"];
    table("Rows of the literature", &heads, findings.iter().map(line).collect())
}

fn aim(aim: Aim) -> String {
    match aim {
        Aim::AtLeast(limit) => format!("at least {limit}"),
        Aim::AtMost(limit) => format!("at most {limit}"),
        Aim::None => "-".into(),
    }
}

/// A figure with its interval and noise.
fn shown(estimate: &Estimate) -> String {
    let Estimate { value, low, high, noise } = *estimate;
    let value = number(value);
    match (noise == 0.0, noise.is_finite()) {
        (true, _) => value,
        (false, true) => {
            format!("{value} ({} to {}; noise {:.1} %)", number(low), number(high), noise * 100.0)
        }
        (false, false) => format!("{value} (one round)"),
    }
}

/// Three digits or so, with a prefix above a thousand.
fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => si(value, ""),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.001 || v == 0.0 => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

fn settings(columns: &[Column]) -> Table {
    let line = |c: &Column| {
        vec![c.label.clone(), if c.words.is_empty() { "default".into() } else { c.words.clone() }]
    };
    table("Settings", &["setting", "sets"], columns.iter().map(line).collect())
}

/// Medians of each setting, workload and level of users.
fn cells(outcome: &Outcome) -> Table {
    let mut lines = Vec::new();
    for (workload, name) in outcome.workloads.iter().enumerate() {
        for users in outcome.levels() {
            for (column, labelled) in outcome.columns.iter().enumerate() {
                let cells: Vec<_> = outcome.at(column, workload, users).collect();
                let of = |figure: &dyn Fn(&crate::outcome::Cell) -> Option<f64>| {
                    let rounds: Vec<f64> = cells.iter().filter_map(|c| figure(c)).collect();
                    Estimate::of(&rounds)
                };
                let median = |figure: &dyn Fn(&crate::outcome::Cell) -> Option<f64>| {
                    of(figure).map_or_else(|| "-".into(), |e| number(e.value))
                };
                let Some(rate) = of(&|c| Some(qps(c))) else { continue };
                lines.push(vec![
                    name.clone(),
                    users.to_string(),
                    labelled.label.clone(),
                    shown(&rate),
                    median(&|c| Some(tps(c))),
                    median(&|c| Some(c.driven.p95_ms)),
                    median(&cpu_us),
                    median(&|c| {
                        let spent = c.growth.client?;
                        Some(spent.cpu_s() * 1e6 / c.driven.counts.queries)
                    }),
                    median(&|c| {
                        Some(c.growth.switches?.iter().sum::<f64>() / c.driven.counts.queries)
                    }),
                    median(&|c| Some(c.driven.counts.errors)),
                ]);
            }
        }
    }
    let heads = [
        "workload",
        "users",
        "setting",
        "QPS",
        "TPS",
        "p95 ms",
        "server CPU us a query",
        "client CPU us a query",
        "switches a query",
        "taken back",
    ];
    table("Medians", &heads, lines)
}

/// The longest waits of each setting, over all levels; none where nothing waited.
fn waits(outcome: &Outcome) -> Option<Table> {
    let all: Vec<_> = outcome.cells.iter().collect();
    let longest = longest_waits(&all);
    let classes: Vec<&String> = longest.iter().take(WAITS_MAX).map(|(class, _)| class).collect();
    if classes.is_empty() {
        return None;
    }
    let mut heads = vec!["class".to_string()];
    heads.extend(outcome.columns.iter().map(|column| column.label.clone()));
    let line = |class: &String| {
        let mut line = vec![class.clone()];
        for column in 0..outcome.columns.len() {
            let of = |place: usize| {
                let of_column = outcome.cells.iter().filter(|cell| cell.column == column);
                let (sum, seconds) = of_column.fold((0.0, 0.0), |(sum, seconds), cell| {
                    let wait = cell.growth.classes.get(class).copied().unwrap_or_default();
                    (sum + wait[place], seconds + cell.growth.seconds)
                });
                if seconds > 0.0 { sum / seconds } else { 0.0 }
            };
            line.push(format!("{} waits/s, {} s/s", number(of(0)), number(of(1))));
        }
        line
    };
    let lines = classes.into_iter().map(line).collect();
    Some(Table { title: "Longest waits, over all levels of users".into(), heads, lines })
}

/// All variables of the first server, and what others have otherwise.
fn variables(servers: &[Described]) -> Vec<Table> {
    let Some(first) = servers.first() else { return Vec::new() };
    let lines = |pairs: &[(String, String)]| {
        pairs.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect()
    };
    let of = |server: &Described, title: &str, pairs: &[(String, String)]| {
        let title = format!("{title} of {} ({})", server.name, server.version);
        table(&title, &["variable", "value"], lines(pairs))
    };
    let mut tables = vec![of(first, "All variables", &first.variables)];
    for server in &servers[1..] {
        let others = server.variables.iter().filter(|pair| !first.variables.contains(pair));
        let others: Vec<_> = others.cloned().collect();
        tables.push(of(server, "Variables that differ,", &others));
    }
    tables
}
