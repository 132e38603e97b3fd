//! What came of an experiment: cells, findings, tables, what was skipped.

use crate::driver::Driven;
use crate::experiments::{Aim, Experiment};
use crate::sampler::Growth;
use crate::stats::Estimate;

/// A setting of a subject: what a cell measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What it is called in tables and charts.
    pub label: String,
    /// Name of the subject.
    pub subject: String,
    /// The subject is a server that runs already.
    pub is_peer: bool,
    /// Name of the setting.
    pub setting: String,
    /// What it sets, in words.
    pub words: String,
    /// Place of its server.
    pub server: usize,
}

/// One measured run.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// Place of its column.
    pub column: usize,
    /// Place of its workload.
    pub workload: usize,
    /// Users.
    pub users: u32,
    /// Round, from 1.
    pub round: u32,
    /// What the driver counted.
    pub driven: Driven,
    /// All of it.
    pub growth: Growth,
    /// Second by second.
    pub seconds: Vec<Growth>,
    /// System calls of the server, where they were counted.
    pub system_calls: Option<f64>,
    /// Memory of the server, in MiB.
    pub resident_mib: Option<f64>,
}

/// Counts of a query of one user, of a setting and a workload of a build; `None` is what was not asked for, or could not be had.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PerQuery {
    /// Name of the subject.
    pub subject: String,
    /// Name of the setting.
    pub setting: String,
    /// Name of the workload.
    pub workload: String,
    /// User instructions.
    pub instructions: Option<f64>,
    /// Allocations.
    pub allocations: Option<f64>,
    /// System calls.
    pub system_calls: Option<f64>,
}

/// A judgement.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The figure is as it should be.
    Holds,
    /// It is not.
    Fails,
    /// It lies within twice the noise of what it should be.
    NoClaim,
    /// There is no aim.
    Told,
    /// It was not measured; the reason.
    NotMeasured(String),
}

impl Verdict {
    /// Words for tables.
    pub fn words(&self) -> String {
        match self {
            Verdict::Holds => "holds".into(),
            Verdict::Fails => "does not hold".into(),
            Verdict::NoClaim => "no claim: within twice the noise".into(),
            Verdict::Told => "-".into(),
            Verdict::NotMeasured(why) => format!("not measured: {why}"),
        }
    }
}

/// A figure beside that of the literature.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The row; 0 for what is beyond the literature.
    pub row: u8,
    /// Name of the subject.
    pub subject: String,
    /// What the figure is.
    pub what: String,
    /// The figure.
    pub estimate: Option<Estimate>,
    /// What it should be.
    pub aim: Aim,
    /// The judgement.
    pub verdict: Verdict,
}

/// A table of the report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Above it.
    pub title: String,
    /// Its heads.
    pub heads: Vec<String>,
    /// Its lines.
    pub lines: Vec<Vec<String>>,
}

/// A chart of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// Name of its file.
    pub file: String,
    /// Above it.
    pub title: String,
    /// The picture.
    pub svg: String,
}

/// A server, as the report describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Described {
    /// Name of the subject, and the options that it was started with.
    pub name: String,
    /// What it calls itself.
    pub version: String,
    /// All its variables.
    pub variables: Vec<(String, String)>,
    /// Names of its instruments that count waits; none where it has no Performance Schema.
    pub instruments: Vec<String>,
}

impl Described {
    /// It is one of ours, not another that speaks the protocol.
    pub fn is_limpid(&self) -> bool {
        let is_it = |(name, value): &(String, String)| {
            name == "version_comment" && value.starts_with("Limpid")
        };
        self.variables.iter().any(is_it)
    }
}

/// What came of an experiment.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// What was measured beside each other.
    pub columns: Vec<Column>,
    /// Names of the workloads.
    pub workloads: Vec<String>,
    /// All runs, in their order.
    pub cells: Vec<Cell>,
    /// What was counted on request.
    pub per_query: Vec<PerQuery>,
    /// Judgements.
    pub findings: Vec<Finding>,
    /// Tables beside those of the cells.
    pub tables: Vec<Table>,
    /// Charts beside those of the cells.
    pub charts: Vec<Drawn>,
    /// Steps that were skipped, each with its reason.
    pub skipped: Vec<String>,
    /// The servers.
    pub servers: Vec<Described>,
    /// Why it ended early.
    pub ended: Option<String>,
}

impl Outcome {
    /// Nothing yet.
    pub fn of(experiment: &'static Experiment) -> Outcome {
        Outcome {
            experiment,
            columns: Vec::new(),
            workloads: Vec::new(),
            cells: Vec::new(),
            per_query: Vec::new(),
            findings: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
            skipped: Vec::new(),
            servers: Vec::new(),
            ended: None,
        }
    }

    /// Levels of users that were run, in order.
    pub fn levels(&self) -> Vec<u32> {
        let mut levels: Vec<u32> = self.cells.iter().map(|cell| cell.users).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// Cells of a column, a workload, a level of users, by round.
    pub fn at(&self, column: usize, workload: usize, users: u32) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| {
            (cell.column, cell.workload, cell.users) == (column, workload, users)
        })
    }

    /// Names a step that was skipped, once.
    pub fn skip(&mut self, step: impl Into<String>) {
        let step = step.into();
        if !self.skipped.contains(&step) {
            self.skipped.push(step);
        }
    }
}
