//! Ranges and ticks: from the numbers of a chart to places between 0 and 1 and labels beside them.
//!
//! A number is placed by its *position*: itself, its logarithm to base 2, or for bars the index of its group. Ranges
//! and ticks are of positions; only labels speak of numbers.

use crate::model::{Chart, Kind, XTicks};

/// A larger number is taken as not finite: sums and ranges of numbers stay finite.
const MAGNITUDE_MAX: f64 = 1e290;
/// Steps of a time axis in seconds; above them whole days.
const TIME_STEPS_S: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
    10800.0, 21600.0, 43200.0,
];

/// A range of positions and its ticks.
#[derive(Clone)]
pub struct Axis {
    /// First position.
    pub from: f64,
    /// Last position, above the first.
    pub to: f64,
    /// Position and label.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// The label of the tick at a position.
    pub fn label(&self, position: f64) -> String {
        let tick = self.ticks.iter().find(|(at, _)| *at == position);
        tick.map(|(_, label)| label.clone()).unwrap_or_default()
    }

    /// The part of the range below a position.
    pub fn share(&self, position: f64) -> f64 {
        (position - self.from) / (self.to - self.from)
    }
}

/// Whether a number can be drawn.
pub fn drawable(number: f64) -> bool {
    number.abs() <= MAGNITUDE_MAX
}

/// The points that a chart can show: finite, and above 0 where the axis is logarithmic.
pub fn points<'a>(
    chart: &'a Chart,
    series: &'a [(f64, f64)],
) -> impl Iterator<Item = (f64, f64)> + 'a {
    series.iter().copied().filter(|(x, y)| drawable(*y) && position(chart, *x).is_some())
}

/// Where on the axis a number lies; none where it has no place.
pub fn position(chart: &Chart, x: f64) -> Option<f64> {
    match &chart.x_ticks {
        XTicks::Log2 => (x > 0.0 && drawable(x)).then(|| x.log2()),
        XTicks::Names(names) => (x >= 0.0 && x < names.len() as f64).then_some(x),
        _ => drawable(x).then_some(x),
    }
}

/// Every x of the chart's points once, in order.
pub fn distinct_x(chart: &Chart) -> Vec<f64> {
    let mut all: Vec<f64> =
        chart.series.iter().flat_map(|s| points(chart, &s.points)).map(|(x, _)| x).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// The axis of x for lines and areas.
pub fn x_axis(chart: &Chart) -> Axis {
    if let XTicks::Names(names) = &chart.x_ticks {
        return groups(chart, &(0..names.len()).map(|at| at as f64).collect::<Vec<_>>());
    }
    let given = chart.x_range.map(|(from, to)| vec![from, to]);
    let all = given.unwrap_or_else(|| distinct_x(chart));
    let positions: Vec<f64> = all.iter().filter_map(|x| position(chart, *x)).collect();
    let (from, to) = widened(
        positions.iter().copied().fold(f64::INFINITY, f64::min),
        positions.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    Axis { from, to, ticks: x_ticks(chart, from, to) }
}

/// The axis of groups of bars: positions are indexes of `all`.
pub fn groups(chart: &Chart, all: &[f64]) -> Axis {
    let to = all.len().max(1) as f64 - 0.5;
    let step = all.len().div_ceil(16).max(1);
    let ticks = all.iter().enumerate().step_by(step);
    let ticks = ticks.map(|(at, x)| (at as f64, x_label(chart, *x, 60.0))).collect();
    Axis { from: -0.5, to, ticks }
}

/// The largest y that the chart draws.
pub fn y_max(chart: &Chart, kind: Kind) -> f64 {
    let all = chart.series.iter().flat_map(|s| points(chart, &s.points)).map(|(_, y)| y);
    if kind != Kind::StackedArea {
        return all.fold(0.0, f64::max);
    }
    let xs = distinct_x(chart);
    let mut sums = vec![0.0; xs.len()];
    for series in &chart.series {
        for (sum, y) in sums.iter_mut().zip(at_each(chart, &series.points, &xs)) {
            *sum += y;
        }
    }
    sums.into_iter().fold(0.0, f64::max)
}

/// The y of a series at each of `xs`, in order; 0 where it has none, the last one where it has several. A stack
/// cannot show less than nothing: negative numbers count 0.
pub fn at_each(chart: &Chart, series: &[(f64, f64)], xs: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; xs.len()];
    for (x, y) in points(chart, series) {
        if let Ok(at) = xs.binary_search_by(|other| other.total_cmp(&x)) {
            sums[at] = f64::max(y, 0.0);
        }
    }
    sums
}

/// The axis of y: from 0, or from the least number below it, to a round number.
pub fn y_axis(chart: &Chart, kind: Kind, y_max: f64) -> Axis {
    let all = chart.series.iter().flat_map(|s| points(chart, &s.points)).map(|(_, y)| y);
    let least = if kind == Kind::StackedArea { 0.0 } else { all.fold(0.0, f64::min) };
    let most = if y_max > least { y_max } else { least + 1.0 };
    let step = round_step((most - least) / 5.0);
    let (from, to) = ((least / step).floor() * step, (most / step).ceil() * step);
    let ticks = multiples(from, to, step).into_iter().map(|y| (y, si(y, &chart.y_unit)));
    Axis { from, to, ticks: ticks.collect() }
}

fn x_ticks(chart: &Chart, from: f64, to: f64) -> Vec<(f64, String)> {
    let step = match &chart.x_ticks {
        XTicks::Log2 => ((to - from) / 12.0).ceil().max(1.0),
        XTicks::TimeOfDay { .. } => time_step(to - from),
        _ => round_step((to - from) / 8.0),
    };
    let number = |position: f64| match chart.x_ticks {
        XTicks::Log2 => position.exp2(),
        _ => position,
    };
    let all = multiples(from, to, step).into_iter();
    all.map(|position| (position, x_label(chart, number(position), step))).collect()
}

/// The label of an x; with a step of less than a minute times show seconds.
fn x_label(chart: &Chart, x: f64, step: f64) -> String {
    match &chart.x_ticks {
        XTicks::Numbers => si(x, ""),
        // Users are counted: 1024, not 1.02 k.
        XTicks::Log2 => format!("{}", (x * 1000.0).round() / 1000.0),
        XTicks::Names(names) => names.get(x as usize).cloned().unwrap_or_default(),
        XTicks::TimeOfDay { utc_offset_s } => {
            time_of_day(x + f64::from(*utc_offset_s), step < 60.0)
        }
    }
}

fn time_of_day(seconds: f64, with_seconds: bool) -> String {
    let of_day = seconds.rem_euclid(86400.0) as u32;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    if with_seconds {
        format!("{hour:02}:{minute:02}:{second:02}")
    } else {
        format!("{hour:02}:{minute:02}")
    }
}

fn time_step(range_s: f64) -> f64 {
    let fits = TIME_STEPS_S.iter().copied().find(|step| range_s / step <= 8.0);
    fits.unwrap_or_else(|| (range_s / 8.0 / 86400.0).ceil() * 86400.0)
}

/// A range with width: one that has none, or is not there, gets 1.
fn widened(from: f64, to: f64) -> (f64, f64) {
    if from > to {
        return (0.0, 1.0);
    }
    let room = f64::max(0.5, to.abs() * 1e-9);
    if to - from > room * 1e-6 { (from, to) } else { (from - room, to + room) }
}

/// The next of 1, 2, 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powi(step.max(f64::MIN_POSITIVE).log10().floor().max(-290.0) as i32);
    let part = step / power;
    let round = if part <= 1.0 {
        1.0
    } else if part <= 2.0 {
        2.0
    } else if part <= 5.0 {
        5.0
    } else {
        10.0
    };
    round * power
}

/// Multiples of a step inside a range; at most a hundred.
fn multiples(from: f64, to: f64, step: f64) -> Vec<f64> {
    let first = (from / step - 1e-9).ceil();
    let all = (0..100).map(|at| (first + f64::from(at)) * step);
    all.take_while(|at| *at <= to + step * 1e-9).collect()
}

/// A number with the prefix that leaves one to three digits before its point: `12.5 k`, `20 ms` with a unit of `s`.
pub fn si(number: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 8] = [
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
        (1.0, ""),
        (1e-3, "m"),
        (1e-6, "µ"),
        (1e-9, "n"),
    ];
    // What rounds up to the next prefix has that one: 999.96 is 1 k.
    let size = number.abs() * 1.0001;
    let found = PREFIXES.iter().find(|(factor, _)| size >= *factor);
    let (factor, prefix) = match found {
        _ if number == 0.0 || !number.is_finite() => (1.0, ""),
        Some(found) => *found,
        None => (1e-9, "n"),
    };
    let digits = format!("{:.2}", number / factor);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let digits = if digits == "-0" { "0" } else { digits };
    let space = if prefix.is_empty() && unit.is_empty() { "" } else { " " };
    format!("{digits}{space}{prefix}{unit}")
}
