//! The charts of an experiment: throughput by users; over the steps of load, a panel for each setting, waits and latches by class, and
//! the table cache.

use crate::outcome::{Cell, Drawn, Outcome};
use crate::sampler::{Growth, is_rest};
use crate::verdict::{holds, qps, tps};
use chart::{Chart, Kind, Mark, Series, XTicks};
use std::collections::BTreeMap;

/// Classes that have a layer of their own; the others are added up.
const CLASSES_MAX: usize = 10;
const REST: &str = "others";
/// Width of one of two or more charts beside each other, and height, in pixels.
const PANEL_PX: (u32, u32) = (520, 360);
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
        for panels in &PANELS {
            drawn.extend(panels.drawn(outcome, place, name, &cells));
        }
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

/// Figures by name that samples have, second by second: a panel for each setting.
struct Panels {
    /// What is between the workload and the number of the picture in a file's name.
    file: &'static str,
    what: &'static str,
    y_label: &'static str,
    y_unit: &'static str,
    kind: Kind,
    /// A setting of which nothing was sampled has a panel, too.
    of_all: bool,
    /// What a second has, by name.
    figures: fn(&Growth) -> Vec<(&str, f64)>,
}

const PANELS: [Panels; 4] = [
    Panels {
        file: "waits",
        what: "wait-seconds a second by class",
        y_label: "wait-seconds a second",
        y_unit: "s",
        kind: Kind::StackedArea,
        of_all: true,
        figures: |second| waits(second, 1),
    },
    Panels {
        file: "wait-counts",
        what: "waits a second by class (numbers, no time)",
        y_label: "waits a second",
        y_unit: "",
        kind: Kind::StackedArea,
        of_all: true,
        figures: |second| waits(second, 0),
    },
    Panels {
        file: "acquisitions",
        what: "acquisitions of latches a second by class",
        y_label: "acquisitions a second",
        y_unit: "",
        kind: Kind::StackedArea,
        of_all: false,
        figures: |second| holds(second).map(|(class, rate, _)| (class, rate)).collect(),
    },
    Panels {
        file: "held",
        what: "share of the time that latches are held, by class",
        y_label: "% of the time",
        y_unit: "",
        kind: Kind::Lines,
        of_all: false,
        figures: |second| holds(second).map(|(class, _, percent)| (class, percent)).collect(),
    },
];

/// Counts or seconds of what waits, by class, a second.
fn waits(second: &Growth, place: usize) -> Vec<(&str, f64)> {
    let work = second.classes.iter().filter(|(class, _)| !is_rest(class));
    work.map(|(class, wait)| (class.as_str(), second.rate(wait[place]).max(0.0))).collect()
}

impl Panels {
    /// Pictures of a workload; none where nothing was sampled.
    fn drawn(&self, outcome: &Outcome, workload: usize, name: &str, cells: &[&Cell]) -> Vec<Drawn> {
        let named = self.largest(cells);
        if named.is_empty() {
            return Vec::new();
        }
        let is_sampled = |column: usize| {
            let mut own = cells.iter().filter(|cell| cell.column == column);
            own.any(|cell| !(self.figures)(&cell.growth).is_empty())
        };
        let columns = (0..outcome.columns.len()).filter(|c| self.of_all || is_sampled(*c));
        let panels: Vec<Chart> =
            columns.map(|column| self.panel(outcome, column, workload, &named)).collect();
        let title = format!("{name}: {}", self.what);
        pairs(&panels, self.kind, &format!("{name}-{}", self.file), &title)
    }

    /// Names whose figures are the largest over all cells.
    fn largest<'a>(&self, cells: &[&'a Cell]) -> Vec<&'a str> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for cell in cells {
            for (name, figure) in (self.figures)(&cell.growth) {
                *sums.entry(name).or_default() += figure;
            }
        }
        let mut sums: Vec<(&str, f64)> = sums.into_iter().filter(|(_, sum)| *sum > 0.0).collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        sums.into_iter().take(CLASSES_MAX).map(|(name, _)| name).collect()
    }

    fn panel(&self, outcome: &Outcome, column: usize, workload: usize, named: &[&str]) -> Chart {
        let line = timeline(outcome, column, workload);
        let at: Vec<(f64, Vec<f64>)> = line
            .seconds
            .iter()
            .map(|(x, second)| (rounded(*x), self.layers(second, named)))
            .collect();
        // What is left over is a layer of a stack; shares of the time do not add up.
        let rest = (self.kind == Kind::StackedArea).then_some(REST);
        let series = named.iter().copied().chain(rest).enumerate().map(|(layer, name)| {
            let points = at.iter().map(|(x, layers)| (*x, layers[layer])).collect();
            Series { name: name.into(), points }
        });
        Chart {
            title: outcome.columns[column].label.clone(),
            subtitle: self.what.into(),
            x_label: "seconds of measurement".into(),
            y_label: self.y_label.into(),
            y_unit: self.y_unit.into(),
            series: series.collect(),
            marks: line.marks,
            x_range: Some((0.0, line.end)),
            size: PANEL_PX,
            ..Chart::default()
        }
    }

    /// The figures of these names in a second, and what the others have together.
    fn layers(&self, second: &Growth, named: &[&str]) -> Vec<f64> {
        let mut layers = vec![0.0; named.len() + 1];
        for (name, figure) in (self.figures)(second) {
            let layer = named.iter().position(|own| *own == name).unwrap_or(named.len());
            layers[layer] += figure;
        }
        layers.into_iter().map(rounded).collect()
    }
}

/// As exact as can be seen: long numbers make long files.
fn rounded(figure: f64) -> f64 {
    (figure * 1e6).round() / 1e6
}

/// Two panels in a picture, left and right.
fn pairs(panels: &[Chart], kind: Kind, file: &str, title: &str) -> Vec<Drawn> {
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
    let panels: Vec<Chart> = (0..outcome.columns.len()).map(panel).collect();
    pairs(&panels, Kind::Lines, &format!("{name}-cache"), &title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::find;
    use crate::outcome::Column;

    const SETTINGS: usize = 11;
    const MUTEX: &str = "wait/synch/mutex/a";

    /// Each setting has waits in both of its seconds, every second one latches that are counted.
    fn outcome() -> Outcome {
        let mut outcome = Outcome::of(find("hot-table").unwrap());
        outcome.workloads.push("load".into());
        for column in 0..SETTINGS {
            outcome.columns.push(Column {
                label: format!("setting {column}"),
                subject: "limpid".into(),
                is_peer: false,
                setting: format!("setting {column}"),
                words: String::new(),
                server: 0,
            });
            let second = |at_s| {
                let mut second = Growth { at_s, seconds: 1.0, ..Growth::default() };
                second.classes.insert(MUTEX.into(), [10.0, 0.5]);
                second.classes.insert("idle".into(), [1.0, 9.0]);
                if column % 2 == 0 {
                    second.holds.insert(MUTEX.into(), [300.0, 0.25]);
                }
                second
            };
            let (seconds, growth) = (vec![second(1.0), second(2.0)], second(2.0));
            outcome.cells.push(Cell { column, users: 8, seconds, growth, ..Cell::default() });
        }
        outcome
    }

    #[test]
    fn every_setting_has_its_panel() {
        let drawn = of(&outcome());
        let panels = |file: &str| {
            let of_file = drawn.iter().filter(|d| d.file.starts_with(&format!("load-{file}-")));
            let svgs: Vec<&str> = of_file.map(|d| d.svg.as_str()).collect();
            (svgs.len(), svgs.concat())
        };
        for (file, pictures, settings, series) in [
            ("waits", 6, SETTINGS, 2 * SETTINGS),
            ("wait-counts", 6, SETTINGS, 2 * SETTINGS),
            ("acquisitions", 3, 6, 12),
            ("held", 3, 6, 6),
        ] {
            let (count, svg) = panels(file);
            assert_eq!(count, pictures, "{file}");
            assert_eq!(svg.matches("class=\"plot\"").count(), settings, "{file}");
            assert_eq!(svg.matches("data-series=").count(), series, "{file}");
            assert!(!svg.contains("data-series=\"idle\""), "{file}");
        }
        // Seconds and numbers, a second; held for so much of it.
        for (file, figure) in [("waits", 0.5), ("wait-counts", 10.0), ("acquisitions", 300.0)] {
            assert!(panels(file).1.contains(&format!("1,{figure} 1.001,{figure} 2,{figure}\"")));
        }
        assert!(panels("held").1.contains(" 2,25\""));
    }
}
