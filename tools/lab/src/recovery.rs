//! Recovery (row 30): a server is killed with n and 4n bytes of redo, and started again.
//!
//! Time is told by byte of redo that the server says it read, since the amounts are not exactly 1 to 4.

use crate::data::{SCHEMA, Wanted, table};
use crate::experiments::Aim;
use crate::outcome::{Described, Drawn, Outcome, Table};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::server::{Server, Subject};
use crate::stats::Estimate;
use crate::{interrupt, verdict};
use chart::{Chart, Series, XTicks};
use std::time::Duration;

const MIB: f64 = (1u64 << 20) as f64;
/// A log so large that nothing presses the server to write pages.
const OPTIONS: [&str; 5] = [
    "--innodb-buffer-pool-size=2G",
    "--innodb-redo-log-capacity=8G",
    "--innodb-max-dirty-pages-pct=99",
    "--innodb-max-dirty-pages-pct-lwm=0",
    "--innodb-flush-log-at-trx-commit=2",
];
const TABLES: u32 = 4;
/// n, in MiB: whole, with `--quick`, in runs shorter than a second.
const REDO_MIB: [f64; 3] = [256.0, 32.0, 4.0];
const TIMES: f64 = 4.0;
/// Four times the redo may take so much longer.
const GROWTH_MAX: f64 = 4.5;
const FIRST_ANSWER_S_MAX: f64 = 2.0;
/// 0.2 GB a second, of so much redo that the start of the server is little of it.
const RATE_MIB_MIN: f64 = 190.7;
/// Memory that is touched before a server starts again, and a page of it.
const WARM_BYTES: usize = 4 << 30;
const PAGE_BYTES: usize = 4096;
const LOOK: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(600);

/// One recovery.
struct Recovered {
    redo_mib: f64,
    first_answer_s: f64,
    whole_s: f64,
}

/// Runs all rounds; what was recovered before one that fails is told.
///
/// # Errors
/// A server that does not come back; rows that differ afterwards; an interrupt.
pub fn run(plan: &Plan, outcome: &mut Outcome, progress: &Progress) -> Result<(), String> {
    let n = match plan.length.as_secs_f64() {
        short if short < 1.0 => REDO_MIB[2],
        _ if plan.quick => REDO_MIB[1],
        _ => REDO_MIB[0],
    };
    for subject in &plan.subjects {
        let Subject::Binary { name, path } = subject else {
            let why = "a server that runs already is not killed";
            outcome.skip(format!("{}: {why}", subject.name()));
            continue;
        };
        progress.expect(u64::from(plan.rounds) * 2);
        let mut rounds: [Vec<Recovered>; 2] = Default::default();
        let went: Result<(), String> = (1..=plan.rounds).try_for_each(|round| {
            let order = if round % 2 == 1 { [0, 1] } else { [1, 0] };
            order.into_iter().try_for_each(|place| {
                let mib = if place == 0 { n } else { TIMES * n };
                progress.say(&format!("{name}: recovery of {mib} MiB of redo, round {round}"));
                let options = Options { plan, name, mib };
                rounds[place].push(recover(&options, path, outcome)?);
                progress.step();
                Ok(())
            })
        });
        if rounds.iter().any(|of| !of.is_empty()) {
            tell(outcome, name, n, &rounds);
        }
        went?;
    }
    Ok(())
}

struct Options<'a> {
    plan: &'a Plan,
    name: &'a str,
    mib: f64,
}

/// Makes redo that no checkpoint covers, kills the server, measures its next start.
fn recover(
    options: &Options<'_>,
    binary: &std::path::Path,
    outcome: &mut Outcome,
) -> Result<Recovered, String> {
    let Options { plan, name, mib } = options;
    let folder = plan.scratch.join("recovery");
    let mut server =
        Server::start(binary, &folder, &OPTIONS).map_err(|e| format!("{name}: {e}"))?;
    let rows = if plan.quick { 10_000 } else { 50_000 };
    server.fill(Wanted::of(TABLES, rows, &[]), &mut || ())?;
    let mut client = server.connect()?;
    let told = |e: client::Failure| format!("{name}: {e}");
    if outcome.servers.iter().all(|known| known.name != *name) {
        let variables = client.query("SHOW GLOBAL VARIABLES").map_err(told)?;
        let pairs = variables.texts().filter_map(|row| <[String; 2]>::try_from(row).ok());
        let variables = pairs.map(|[name, value]| (name, value)).collect();
        outcome.servers.push(Described {
            name: (*name).to_string(),
            version: server.version.clone(),
            instruments: Vec::new(),
            variables,
        });
    }
    let lsn = "SELECT MAX(CASE VARIABLE_NAME WHEN 'Innodb_redo_log_current_lsn' THEN VARIABLE_VALUE + 0 END) - \
        MAX(CASE VARIABLE_NAME WHEN 'Innodb_redo_log_checkpoint_lsn' THEN VARIABLE_VALUE + 0 END) \
        FROM performance_schema.global_status WHERE VARIABLE_NAME LIKE 'Innodb_redo_log_c%_lsn'";
    let mut number = 0;
    while client.value(lsn).map_err(told)?.parse::<f64>().unwrap_or(f64::MAX) < mib * MIB {
        if interrupt::is_asked() {
            return Err(interrupt::WORD.into());
        }
        number = number % TABLES + 1;
        let sql =
            format!("UPDATE {SCHEMA}.{} SET k = k + 1 WHERE id % 10 = {}", table(number), number);
        client.run(&sql).map_err(told)?;
    }
    let sums = format!("SELECT COUNT(*), SUM(k) FROM {SCHEMA}.{}", table(1));
    let before = client.query(&sums).map_err(told)?;
    server.kill();
    if *mib >= REDO_MIB[0] {
        warm_up_memory();
    }
    let begin = host::clock::now();
    server.start_again()?;
    let mut client = server.connect()?;
    client.run(&format!("SELECT c FROM {SCHEMA}.{} WHERE id = 1", table(1))).map_err(told)?;
    let first_answer_s = begin.elapsed().as_secs_f64();
    let phase = "SELECT phase, redo_bytes_total FROM performance_schema.limpid_recovery";
    let mut state = client.query(phase).map_err(told)?;
    while state.text(0, 0) != "done" {
        if begin.elapsed() > LONGEST {
            return Err(format!("{name}: not recovered within {LONGEST:?}"));
        }
        if interrupt::is_asked() {
            return Err(interrupt::WORD.into());
        }
        interrupt::pause(LOOK);
        state = client.query(phase).map_err(told)?;
    }
    let whole_s = begin.elapsed().as_secs_f64();
    let redo_mib = state.text(0, 1).parse::<f64>().map_err(|_| "the server tells no redo")? / MIB;
    match client.query(&sums).map_err(told)? == before {
        true => Ok(Recovered { redo_mib, first_answer_s, whole_s }),
        false => Err(format!("{name}: the table differs after recovery")),
    }
}

/// Touches as much memory as a recovery does, in huge pages as it does: a virtual machine whose host has taken idle memory back gets it
/// again at 3 to 4 s a GiB (measured), at 0.1 s when it was touched a moment ago.
fn warm_up_memory() {
    let mut memory = host::AlignedBuf::zeroed(WARM_BYTES);
    memory.chunks_mut(PAGE_BYTES).for_each(|page| page[0] = 1);
    drop(std::hint::black_box(memory));
}

fn tell(outcome: &mut Outcome, name: &str, n: f64, rounds: &[Vec<Recovered>; 2]) {
    let by_byte =
        |of: &[Recovered]| -> Vec<f64> { of.iter().map(|r| r.whole_s / r.redo_mib).collect() };
    let ratio = Estimate::ratio(&by_byte(&rounds[1]), &by_byte(&rounds[0]));
    let growth = ratio.map(|e| Estimate {
        value: e.value * TIMES,
        low: e.low * TIMES,
        high: e.high * TIMES,
        noise: e.noise,
    });
    let first: Vec<f64> = rounds[1].iter().map(|r| r.first_answer_s).collect();
    let rate_aim = if n < REDO_MIB[0] { Aim::None } else { Aim::AtLeast(RATE_MIB_MIN) };
    let rate: Vec<f64> = rounds[1].iter().map(|r| r.redo_mib / r.whole_s).collect();
    for (what, estimate, aim) in [
        ("time of 4 times the redo by time of it", growth, Aim::AtMost(GROWTH_MAX)),
        ("seconds to the first answer, 4n", Estimate::of(&first), Aim::AtMost(FIRST_ANSWER_S_MAX)),
        ("MiB of redo a second, 4n", Estimate::of(&rate), rate_aim),
    ] {
        let measured = estimate.ok_or_else(|| "no rounds".to_string());
        outcome.findings.push(verdict::find(30, name, what, measured, aim));
    }
    let all = || rounds.iter().flatten();
    let line = |r: &Recovered| {
        vec![
            format!("{:.1}", r.redo_mib),
            format!("{:.3}", r.first_answer_s),
            format!("{:.3}", r.whole_s),
        ]
    };
    let heads = ["MiB of redo", "seconds to the first answer", "seconds to the end"];
    let heads = heads.map(str::to_string).to_vec();
    let title = format!("Recoveries of {name}");
    outcome.tables.push(Table { title, heads, lines: all().map(line).collect() });
    let series = |label: &str, of: fn(&Recovered) -> f64| {
        let points = all().enumerate().map(|(n, r)| (n as f64, of(r))).collect();
        Series { name: label.into(), points }
    };
    let chart = Chart {
        title: format!("Recoveries of {name}"),
        y_label: "seconds".into(),
        y_unit: "s".into(),
        x_ticks: XTicks::Names(all().map(|r| format!("{:.0} MiB", r.redo_mib)).collect()),
        series: vec![series("first answer", |r| r.first_answer_s), series("whole", |r| r.whole_s)],
        ..Chart::default()
    };
    let file = format!("recovery-{name}.svg");
    outcome.charts.push(Drawn { file, title: chart.title.clone(), svg: chart.bars() });
}
