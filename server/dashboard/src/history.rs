//! What the server waited for before: the active session history, over a range of time.
//!
//! It is read when somebody asks, from `performance_schema.limpid_session_samples`: who runs or blocks is one row a second, so
//! that a number of rows is a number of seconds of sessions.

use crate::markup::{Table as Html, age, line};
use crate::sample::class_of;
use chart::{Chart, Series, XTicks, si};
use client::Rows;
use session::Inside;
use std::collections::BTreeMap;

/// Longest range, in minutes: what the history keeps.
const MINUTES_MAX: u32 = 60;
/// Range of the panel.
const MINUTES_USUAL: u32 = 15;
/// Points of a chart.
const POINTS: u32 = 120;
/// Rows of a table.
const ROWS: usize = 15;
const TEXT_CHARS_MAX: usize = 140;

/// A range of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Its length.
    pub minutes: u32,
    /// Its end, in seconds since 1970; `None` is now.
    pub until_s: Option<u64>,
}

impl Range {
    /// That of the panel.
    pub const USUAL: Range = Range { minutes: MINUTES_USUAL, until_s: None };

    /// The range of a query string such as `minutes=5&until=1700000000`; what is no number, or not there, is as usual.
    pub fn of_query(query: &str) -> Range {
        let get = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse::<u64>().ok())
        };
        let minutes =
            get("minutes").map_or(MINUTES_USUAL, |n| n.clamp(1, MINUTES_MAX.into()) as u32);
        Range { minutes, until_s: get("until") }
    }

    fn seconds(self) -> u64 {
        u64::from(self.minutes) * 60
    }

    fn ends(self) -> u64 {
        self.until_s.unwrap_or_else(|| host::clock::unix_micros() / 1_000_000)
    }
}

/// The page of a range: links to others, then [`panel`].
///
/// # Errors
/// The server's, as text.
pub fn page(inside: &mut Inside, range: Range) -> Result<String, String> {
    let end = range.ends();
    let link = |minutes: u32, until: u64, text: &str| {
        format!("<a href=\"/history?minutes={minutes}&amp;until={until}\">{text}</a> ")
    };
    let mut html = String::from("<p><a href=\"/\">Now</a> | ");
    for minutes in [5, 15, MINUTES_MAX] {
        html.push_str(&link(minutes, end, &format!("{minutes} minutes")));
    }
    html.push_str("| ");
    html.push_str(&link(range.minutes, end.saturating_sub(range.seconds()), "earlier"));
    html.push_str(&link(range.minutes, end.saturating_add(range.seconds()), "later"));
    Ok(html + "</p>" + &panel(inside, Range { until_s: Some(end), ..range })?)
}

/// Sessions by what they waited for, and who was in whose way.
///
/// # Errors
/// The server's, as text.
pub fn panel(inside: &mut Inside, range: Range) -> Result<String, String> {
    let end = range.ends();
    let begin = end.saturating_sub(range.seconds());
    let step = (range.seconds() / u64::from(POINTS)).max(1);
    let of_range =
        format!("SAMPLE_TIME > FROM_UNIXTIME({begin}) AND SAMPLE_TIME <= FROM_UNIXTIME({end})");
    let counts = inside.query(&format!(
        "SELECT CEILING(UNIX_TIMESTAMP(SAMPLE_TIME) / {step}) * {step}, COALESCE(EVENT_NAME, ''), COUNT(*) / {step} \
         FROM performance_schema.limpid_session_samples WHERE {of_range} GROUP BY 1, 2"
    ))?;
    if counts.rows.is_empty() {
        return Ok(format!(
            "<h2>Active sessions, {} minutes</h2><p class=\"none\">No session was active, or nobody noted it \
             (limpid_session_history).</p>",
            range.minutes
        ));
    }
    let waits = inside.query(&format!(
        "SELECT COUNT(*), COALESCE(EVENT_NAME, 'running'), CONCAT_WS('.', OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME), \
         MAX(SQL_TEXT) FROM performance_schema.limpid_session_samples WHERE {of_range} \
         GROUP BY EVENT_NAME, OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, DIGEST ORDER BY 1 DESC LIMIT {ROWS}"
    ))?;
    let blockers = inside.query(&format!(
        "SELECT COUNT(*), COUNT(DISTINCT v.PROCESSLIST_ID), b.PROCESSLIST_ID, b.USER, b.COMMAND, \
         MAX(b.TRANSACTION_SECONDS), MAX(b.SQL_TEXT) FROM performance_schema.limpid_session_samples v \
         JOIN performance_schema.limpid_session_samples b \
         ON b.THREAD_ID = v.BLOCKING_THREAD_ID AND b.SAMPLE_TIME = v.SAMPLE_TIME \
         WHERE v.{of_range} GROUP BY b.PROCESSLIST_ID, b.USER, b.COMMAND ORDER BY 1 DESC LIMIT {ROWS}",
        of_range = of_range.replace("AND SAMPLE_TIME", "AND v.SAMPLE_TIME")
    ))?;
    Ok(drawn(&counts, range.minutes, (begin, end, step))
        + &wait_table(&waits)
        + &blocker_table(&blockers))
}

/// The active sessions by class of wait, on an average of each step.
fn drawn(counts: &Rows, minutes: u32, (begin, end, step): (u64, u64, u64)) -> String {
    let mut classes: BTreeMap<String, BTreeMap<u64, f64>> = BTreeMap::new();
    for row in 0..counts.rows.len() {
        let event = counts.text(row, 1);
        let class = match event.as_str() {
            "" => "running",
            "idle" => "idle, in somebody's way",
            event => class_of(event).unwrap_or(event),
        };
        let at = counts.number(row, 0) as u64;
        let sum = classes.entry(class.to_string()).or_default().entry(at).or_default();
        *sum += counts.number(row, 2);
    }
    let steps = || (begin / step + 1..=end.div_ceil(step)).map(|n| n * step);
    let series = classes.into_iter().map(|(name, by_step)| {
        let points = steps().map(|at| (at as f64, by_step.get(&at).copied().unwrap_or(0.0)));
        Series { name, points: points.collect() }
    });
    let chart = Chart {
        title: format!("Active sessions, {minutes} minutes"),
        y_label: "sessions".into(),
        x_ticks: XTicks::TimeOfDay { utc_offset_s: 0 },
        x_range: Some((begin as f64, end as f64)),
        series: series.collect(),
        size: (1200, 300),
        ..Chart::default()
    };
    chart.stacked_area()
}

fn wait_table(waits: &Rows) -> String {
    let mut table = Html::new(&["seconds", "waited for", "of", "statement"]);
    for row in 0..waits.rows.len() {
        table.row(&[
            si(waits.number(row, 0), ""),
            waits.text(row, 1),
            waits.text(row, 2),
            line(&waits.text(row, 3), TEXT_CHARS_MAX),
        ]);
    }
    table.end()
}

fn blocker_table(blockers: &Rows) -> String {
    if blockers.rows.is_empty() {
        return "<p class=\"none\">Nobody was in another's way.</p>".into();
    }
    let columns =
        ["seconds held up", "sessions", "blocker", "user", "at", "transaction", "its statement"];
    let mut table = Html::new(&columns);
    for row in 0..blockers.rows.len() {
        table.row(&[
            si(blockers.number(row, 0), ""),
            blockers.text(row, 1),
            format!("connection {}", blockers.text(row, 2)),
            blockers.text(row, 3),
            blockers.text(row, 4),
            age(blockers.number(row, 5)),
            line(&blockers.text(row, 6), TEXT_CHARS_MAX),
        ]);
    }
    table.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_within_the_hour() {
        assert_eq!(Range::of_query(""), Range::USUAL);
        assert_eq!(Range::of_query("minutes=5&until=17"), Range { minutes: 5, until_s: Some(17) });
        assert_eq!(Range::of_query("minutes=999&until=x").minutes, MINUTES_MAX);
        assert_eq!(Range::of_query("minutes=0&minutes"), Range { minutes: 1, until_s: None });
    }

    #[test]
    fn each_class_has_a_point_for_each_step() {
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        let row = |at: &str, event: &str, n: &str| vec![cell(at), cell(event), cell(n)];
        let rows = vec![
            row("130", "", "2"),
            row("130", "wait/io/file/a/b", "1"),
            row("130", "wait/io/file/a/c", "0.5"),
            row("120", "idle", "1"),
        ];
        let svg = drawn(&Rows { rows, ..Rows::default() }, 1, (100, 130, 10));
        assert!(svg.contains("data-points=\"110,0 120,0 130,1.5\""), "{svg}");
        assert!(svg.contains("data-points=\"110,0 120,0 130,2\""), "{svg}");
        assert!(svg.contains("idle, in somebody"), "{svg}");
    }
}
