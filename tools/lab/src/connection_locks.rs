//! What one connection's metadata locks cost: instructions of a select in a transaction over many tables, beside those of the same
//! select in a transaction over one.
//!
//! The transaction over one table takes one lock and meets it again; what the other costs more is a lock, its way back, and the handle
//! of a table of its own, for each select.

use crate::counted::Counted;
use crate::data::{SCHEMA, Wanted, table};
use crate::experiments::Aim;
use crate::outcome::{Drawn, Outcome, Table};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::server::Subject;
use crate::stats::Estimate;
use crate::{counted, interrupt, verdict};
use chart::{Chart, Series, XTicks};
use client::{Client, Failure, Parameter, Statement};

/// Tables of a transaction.
const TABLES: [u32; 6] = [1, 2, 8, 16, 32, 100];
const ROWS: u32 = 100;

/// Runs it.
///
/// # Errors
/// Callgrind is missing; a server that does not start; an interrupt.
pub fn run(plan: &Plan, outcome: &mut Outcome, progress: &Progress) -> Result<(), String> {
    if let Err(why) = counted::look() {
        outcome.skip(format!("instructions skipped: {why}"));
        return Ok(());
    }
    for subject in &plan.subjects {
        let name = subject.name();
        if matches!(subject, Subject::Peer(_)) {
            outcome.skip(format!("{name}: a server that runs already is not counted"));
            continue;
        }
        progress.expect(TABLES.len() as u64);
        progress.say(&format!("{name}: start under callgrind"));
        let wanted = Wanted::of(TABLES[TABLES.len() - 1], ROWS, &[]);
        let mut counted = Counted::start(subject, &plan.scratch.join("locks"), &[], wanted)?;
        let told = |e: Failure| format!("{name}: {e}");
        let mut client = counted.server.connect()?;
        let mut statements = prepared(&mut client, wanted.tables).map_err(told)?;
        let mut found = Vec::new();
        for tables in TABLES {
            if interrupt::is_asked() {
                return Err(interrupt::WORD.into());
            }
            progress.say(&format!("{name}: transactions over {tables} tables"));
            let mut of = |many: bool| {
                let each = counted.each(&mut |runs| {
                    (0..runs).try_for_each(|_| {
                        transact(&mut client, &mut statements, tables, many).map_err(told)
                    })
                });
                each.map(|counts| counts.instructions / f64::from(tables))
            };
            found.push([of(true)?, of(false)?]);
            progress.step();
        }
        tell(outcome, &name, &found);
    }
    Ok(())
}

fn prepared(client: &mut Client, tables: u32) -> Result<Vec<Statement>, Failure> {
    client.run(&format!("USE {SCHEMA}"))?;
    let text = |n| format!("SELECT c FROM {} WHERE id = ?", table(n));
    (1..=tables).map(|n| client.prepare(&text(n))).collect()
}

/// So many selects in a transaction, of as many tables or of one.
fn transact(
    client: &mut Client,
    statements: &mut [Statement],
    selects: u32,
    many: bool,
) -> Result<(), Failure> {
    client.run("BEGIN")?;
    for n in 0..selects {
        let statement = &mut statements[if many { n as usize } else { 0 }];
        client.execute(statement, &[Parameter::Int(1)])?;
    }
    client.run("COMMIT").map(drop)
}

fn tell(outcome: &mut Outcome, name: &str, found: &[[f64; 2]]) {
    let beyond: Vec<f64> = found.iter().map(|[many, one]| many - one).collect();
    for (tables, beyond) in TABLES.iter().zip(&beyond).skip(1) {
        let what = format!(
            "instructions of a table's lock and handle beyond the first's, {tables} tables"
        );
        let finding = verdict::find(0, name, &what, Ok(Estimate::counted(*beyond)), Aim::None);
        outcome.findings.push(finding);
    }
    let line = |((tables, [many, one]), beyond): ((&u32, &[f64; 2]), &f64)| {
        vec![tables.to_string(), format!("{many:.0}"), format!("{one:.0}"), format!("{beyond:.0}")]
    };
    let heads = [
        "selects of a transaction",
        "a select, each of its own table",
        "all of one table",
        "difference",
    ];
    outcome.tables.push(Table {
        title: format!("{name}: instructions"),
        heads: heads.map(str::to_string).to_vec(),
        lines: TABLES.iter().zip(found).zip(&beyond).map(line).collect(),
    });
    let points = |of: &dyn Fn(usize) -> f64| (0..TABLES.len()).map(|n| (n as f64, of(n))).collect();
    let chart = Chart {
        title: format!("{name}: instructions of a select in a transaction"),
        y_label: "instructions".into(),
        x_ticks: XTicks::Names(TABLES.iter().map(|n| format!("{n} selects")).collect()),
        series: vec![
            Series { name: "each of its own table".into(), points: points(&|n| found[n][0]) },
            Series { name: "all of one table".into(), points: points(&|n| found[n][1]) },
        ],
        ..Chart::default()
    };
    let file = format!("locks-{name}.svg");
    outcome.charts.push(Drawn { file, title: chart.title.clone(), svg: chart.bars() });
}
