//! The charts of an experiment: throughput by users, waits by class over the steps of load, the table cache.

use crate::outcome::{Cell, Drawn, Outcome};
use crate::sampler::{Growth, is_rest};
use crate::verdict::{longest_waits, qps, tps};
use chart::{Chart, Kind, Mark, Series, XTicks};

/// Classes that have a layer of their own; the others are added up.
const CLASSES_MAX: usize = 10;
const REST: &str = "others";
/// Width of one of two or more charts beside each other, and height, in pixels.
const PANEL_PX: (u32, u32) = (520, 360);
/// Settings that have panels, two in a picture.
const PANELS_MAX: usize = 8;
/// A second's figure holds from just behind its begin, as a share of it, to its end.
const BEHIND: f64 = 0.001;
const CACHE: [(&str, &str); 3] = [
    ("hits", "Table_open_cache_hits"),
    ("misses", "Table_open_cache_misses"),
    ("overflows", "Table_open_cache_overflows"),
];

/// All charts of an outcome.
pub fn of(outcome: &Outcome) -> Vec<Drawn> {
    let mut drawn = outcome.charts.clone();
    for (place, name) in outcome.workloads.iter().enumerate() {
        let cells: Vec<&Cell> = outcome.cells.iter().filter(|c| c.workload == place).collect();
        if cells.is_empty() {
            continue;
        }
        drawn.push(by_users(outcome, place, name));
        drawn.push(over_time(outcome, place, name, &cells));
        drawn.extend(waits(outcome, place, name, &cells));
        drawn.extend(cache(outcome, place, name));
    }
    drawn
}

/// Median throughput of each setting by users.
fn by_users(outcome: &Outcome, workload: usize, name: &str) -> Drawn {
    let counts_transactions = outcome.cells.iter().any(|c| {
        c.workload == workload && c.driven.counts.queries > 1.5 * c.driven.counts.transactions
    });
    let (unit, of): (_, fn(&Cell) -> f64) =
        if counts_transactions { ("transactions", tps) } else { ("queries", qps) };
    let series = outcome.columns.iter().enumerate().map(|(column, labelled)| {
        let point = |users: u32| {
            let rounds: Vec<f64> = outcome.at(column, workload, users).map(of).collect();
            crate::stats::median(&rounds).map(|median| (f64::from(users), median))
        };
        let points = outcome.levels().into_iter().filter_map(point).collect();
        Series { name: labelled.label.clone(), points }
    });
    let chart = Chart {
        title: format!("{name}: {unit} a second by users"),
        subtitle: "medians of the rounds".into(),
        x_label: "users".into(),
        y_label: format!("{unit} a second"),
        x_ticks: XTicks::Log2,
        series: series.collect(),
        size: (800, 420),
        ..Chart::default()
    };
    Drawn { file: format!("{name}-users.svg"), title: chart.title.clone(), svg: chart.lines() }
}

/// The first round of a column, level after level: seconds on one axis, and where levels begin.
#[derive(Default)]
struct Timeline<'a> {
    seconds: Vec<(f64, &'a Growth)>,
    marks: Vec<Mark>,
    end: f64,
}

fn timeline(outcome: &Outcome, column: usize, workload: usize) -> Timeline<'_> {
    let mut line = Timeline::default();
    for users in outcome.levels() {
        let Some(cell) = outcome.at(column, workload, users).next() else { continue };
        let begin = line.end;
        line.marks.push(Mark { x: begin, label: format!("{users} users") });
        line.seconds.extend(cell.seconds.iter().flat_map(|second| {
            let end = begin + second.at_s;
            [(end - second.seconds * (1.0 - BEHIND), second), (end, second)]
        }));
        line.end += cell.growth.at_s;
    }
    line
}

/// Queries a second over the steps of load, a line for each setting.
fn over_time(outcome: &Outcome, workload: usize, name: &str, cells: &[&Cell]) -> Drawn {
    let (mut marks, mut end) = (Vec::new(), 0.0_f64);
    let series = outcome.columns.iter().enumerate().map(|(column, labelled)| {
        let line = timeline(outcome, column, workload);
        let is_counted = cells.iter().any(|c| c.seconds.iter().any(|s| s.counts.queries > 0.0));
        // sysbench tells no counts meanwhile; the server's own are near.
        let queries = |s: &Growth| match is_counted {
            true => s.counts.queries,
            false => s.status.get("Questions").copied().unwrap_or(0.0),
        };
        let points = line.seconds.iter().map(|(x, s)| (*x, s.rate(queries(s)))).collect();
        (marks, end) = (line.marks, end.max(line.end));
        Series { name: labelled.label.clone(), points }
    });
    let series = series.collect();
    let chart = Chart {
        x_range: Some((0.0, end)),
        title: format!("{name}: queries a second over the steps of load"),
        subtitle: "the first round".into(),
        x_label: "seconds of measurement".into(),
        y_label: "queries a second".into(),
        series,
        marks,
        size: (800, 360),
        ..Chart::default()
    };
    Drawn { file: format!("{name}-load.svg"), title: chart.title.clone(), svg: chart.lines() }
}

/// Wait-seconds a second by class, settings beside each other; none where nothing waited.
fn waits(outcome: &Outcome, workload: usize, name: &str, cells: &[&Cell]) -> Vec<Drawn> {
    let longest = longest_waits(cells);
    let named: Vec<&str> =
        longest.iter().take(CLASSES_MAX).filter(|w| w.1 > 0.0).map(|w| w.0.as_str()).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let layers = |second: &Growth| -> Vec<f64> {
        let of = |class: &str| second.classes.get(class).map_or(0.0, |wait| wait[1]);
        let all: f64 =
            second.classes.iter().filter(|(class, _)| !is_rest(class)).map(|(_, w)| w[1]).sum();
        let mut layers: Vec<f64> = named.iter().map(|class| of(class)).collect();
        layers.push(all - layers.iter().sum::<f64>());
        layers.into_iter().map(|seconds| second.rate(seconds.max(0.0))).collect()
    };
    let panel = |column: usize| {
        let line = timeline(outcome, column, workload);
        let at: Vec<(f64, Vec<f64>)> = line.seconds.iter().map(|(x, s)| (*x, layers(s))).collect();
        let series = named.iter().copied().chain([REST]).enumerate().map(|(layer, class)| {
            let points = at.iter().map(|(x, layers)| (*x, layers[layer])).collect();
            Series { name: class.into(), points }
        });
        Chart {
            title: outcome.columns[column].label.clone(),
            subtitle: "wait-seconds a second by class".into(),
            x_label: "seconds of measurement".into(),
            y_label: "wait-seconds a second".into(),
            y_unit: "s".into(),
            series: series.collect(),
            marks: line.marks,
            x_range: Some((0.0, line.end)),
            size: PANEL_PX,
            ..Chart::default()
        }
    };
    let title = format!("{name}: wait-seconds a second by class");
    pairs(outcome, Kind::StackedArea, &format!("{name}-waits"), &title, panel)
}

/// A panel for each of the first settings, two in a picture, left and right.
fn pairs(
    outcome: &Outcome,
    kind: Kind,
    file: &str,
    title: &str,
    panel: impl Fn(usize) -> Chart,
) -> Vec<Drawn> {
    let panels: Vec<Chart> = (0..outcome.columns.len().min(PANELS_MAX)).map(panel).collect();
    let picture = |(n, pair): (usize, &[Chart])| {
        let settings: Vec<&str> = pair.iter().map(|chart| chart.title.as_str()).collect();
        Drawn {
            file: format!("{file}-{}.svg", n + 1),
            title: format!("{title}: {}", settings.join(", and ")),
            svg: chart::panels(kind, pair),
        }
    };
    panels.chunks(2).enumerate().map(picture).collect()
}

/// Hits, misses and overflows of the table cache, for experiments about it.
fn cache(outcome: &Outcome, workload: usize, name: &str) -> Vec<Drawn> {
    if outcome.experiment.name != "table-cache" {
        return Vec::new();
    }
    let panel = |column: usize| {
        let line = timeline(outcome, column, workload);
        let series = CACHE.iter().map(|(label, variable)| {
            let rate = |s: &Growth| s.rate(s.status.get(*variable).copied().unwrap_or(0.0));
            let points = line.seconds.iter().map(|(x, s)| (*x, rate(s))).collect();
            Series { name: (*label).into(), points }
        });
        Chart {
            title: outcome.columns[column].label.clone(),
            subtitle: "table cache, a second".into(),
            x_label: "seconds of measurement".into(),
            y_label: "handles a second".into(),
            series: series.collect(),
            marks: line.marks.clone(),
            x_range: Some((0.0, line.end)),
            size: PANEL_PX,
            ..Chart::default()
        }
    };
    let title = format!("{name}: hits, misses, overflows of the table cache");
    pairs(outcome, Kind::Lines, &format!("{name}-cache"), &title, panel)
}
