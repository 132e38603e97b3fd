//! Charts and tables of what was read.
//!
//! 1. A rate is what a counter moved between two samples, by the seconds between them, and stands at the later one.
//! 2. A panel is a piece of HTML in which everything that came from outside is text.

use crate::locks::Waiter;
use crate::markup::{Table, age, line};
use crate::sample::{Executions, HISTORY, KEPT_S, Key, Sample, Sampler};
use chart::{Chart, Series, XTicks, escape, si};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Statements of the table, and of the chart beside it.
const STATEMENTS_SHOWN: usize = 12;
const STATEMENTS_DRAWN: usize = 8;
/// Seconds that the table of statements is of.
const RECENT_S: f64 = 10.0;
const STATEMENT_CHARS_MAX: usize = 160;
const SIZE: (u32, u32) = (760, 300);

/// What the page shows, by name.
pub struct Panels(Vec<(&'static str, String)>);

impl Panels {
    /// The names, in the order of the page.
    pub const NAMES: [&str; 11] = [
        "now",
        "waits",
        "wait-seconds",
        "statements",
        "locks",
        "pool",
        "redo",
        "purge",
        "tables",
        "history",
        "findings",
    ];

    /// Before anything was read.
    pub fn empty() -> Panels {
        let said = |name| (name, "<p class=\"none\">Nothing is read yet.</p>".to_string());
        Panels(Self::NAMES.map(said).into())
    }

    /// So many bytes.
    #[cfg(test)]
    pub fn of_bytes(count: usize) -> Panels {
        Panels(vec![("now", "x".repeat(count))])
    }

    /// What the sampler has read.
    pub fn of(sampler: &Sampler) -> Panels {
        let all: Vec<&Sample> = sampler.samples().iter().collect();
        let drawn: [String; 11] = [
            now(sampler, &all),
            waits(&all, "Waits per second", "waits/s", "", |w| w.count),
            waits(&all, "Seconds waited per second", "seconds/s", "s", |w| w.seconds),
            statements(sampler, &all),
            lock_tree(sampler.waiters()),
            pool(&all),
            redo(&all),
            purge(&all),
            tables(&all),
            sampler.history().to_string() + "<p><a href=\"/history\">another time</a></p>",
            sampler.findings().to_string(),
        ];
        Panels(Self::NAMES.into_iter().zip(drawn).collect())
    }

    /// A panel's HTML.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, html)| html.as_str())
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, html)| (*name, html.as_str()))
    }
}

/// What a counter moved in a second, at each sample but the first. A counter that began anew moved nothing.
fn rates(all: &[&Sample], value: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    let pairs = all.windows(2).filter(|pair| pair[1].at_s > pair[0].at_s);
    let rate = |pair: &[&Sample]| {
        let moved = (value(pair[1]) - value(pair[0])).max(0.0);
        (at(pair[1]), rounded(moved / (pair[1].at_s - pair[0].at_s)))
    };
    pairs.map(rate).collect()
}

/// A value at each sample.
fn levels(all: &[&Sample], value: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    all.iter().map(|sample| (at(sample), rounded(value(sample)))).collect()
}

/// Its time, to the millisecond: what is written is shorter.
fn at(sample: &Sample) -> f64 {
    (sample.at_s * 1000.0).round() / 1000.0
}

/// A number of events in a second: a tenth of one is 0.1, not 100 m.
fn per_second(number: f64) -> String {
    match number < 1.0 {
        true => format!("{}", (number * 100.0).round() / 100.0),
        false => si(number, ""),
    }
}

/// Five digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.4e}").parse().unwrap_or(number)
}

/// A chart of the last minutes.
fn chart(all: &[&Sample], title: &str, y: (&str, &str), series: Vec<Series>) -> Chart {
    let end_s = all.last().map_or(0.0, |sample| at(sample));
    let begin_s = all.first().map_or(0.0, |sample| at(sample)).max(end_s - KEPT_S);
    Chart {
        title: title.to_string(),
        y_label: y.0.to_string(),
        y_unit: y.1.to_string(),
        x_ticks: XTicks::TimeOfDay { utc_offset_s: 0 },
        // A minute at least, so that the first seconds are not drawn across the whole.
        x_range: Some((begin_s.min(end_s - 60.0), end_s)),
        series,
        size: SIZE,
        ..Chart::default()
    }
}

fn series(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_string(), points }
}

/// Counters by name, each a line of its rates.
fn counters(all: &[&Sample], names: &[(&str, &'static str)]) -> Vec<Series> {
    names.iter().map(|(name, figure)| series(name, rates(all, |s| s.figure(figure)))).collect()
}

fn waits(
    all: &[&Sample],
    title: &str,
    y_label: &str,
    unit: &str,
    value: impl Fn(&crate::sample::Waits) -> f64,
) -> String {
    let classes: BTreeSet<&String> = all.iter().flat_map(|sample| sample.waits.keys()).collect();
    let series = classes.into_iter().map(|class| {
        let of = |sample: &Sample| sample.waits.get(class).map_or(0.0, &value);
        series(class, rates(all, of))
    });
    // A class in which nobody waited takes no room.
    let series = series.filter(|s| s.points.iter().any(|(_, y)| *y > 0.0)).collect();
    chart(all, title, (y_label, unit), series).stacked_area()
}

/// Figures of the last second, as a list.
fn now(sampler: &Sampler, all: &[&Sample]) -> String {
    if let Some(error) = sampler.error() {
        return format!("<p class=\"error\">The server could not be read: {}</p>", escape(error));
    }
    let Some(last) = all.last() else { return String::new() };
    let last_rate = |name: &'static str| {
        let recent = &all[all.len().saturating_sub(2)..];
        rates(recent, |s| s.figure(name)).last().map_or(0.0, |(_, y)| *y)
    };
    let waiting = sampler.waiters().iter().filter(|w| !w.blockers.is_empty()).count();
    let figures = [
        ("statements/s", per_second(last_rate("Questions"))),
        ("row lock waits/s", per_second(last_rate("Innodb_row_lock_waits"))),
        ("connections", si(last.figure("Threads_connected"), "")),
        ("running", si(last.figure("Threads_running"), "")),
        ("waiting for locks", si(waiting as f64, "")),
        ("up", age(last.figure("Uptime"))),
    ];
    let items = figures
        .iter()
        .map(|(name, value)| format!("<li><b>{}</b> {}</li>", escape(value), escape(name)));
    format!("<ul class=\"figures\">{}</ul>", items.collect::<String>())
}

fn statements(sampler: &Sampler, all: &[&Sample]) -> String {
    let drawn = heaviest(all.iter().copied()).into_iter().take(STATEMENTS_DRAWN);
    let series = drawn.map(|(key, _)| {
        let points = all.windows(2).map(|pair| {
            let ran = pair[1].statements.iter().find(|(other, _)| *other == key);
            let seconds = ran.map_or(0.0, |(_, executions)| executions.seconds);
            (at(pair[1]), rounded(seconds / (pair[1].at_s - pair[0].at_s)))
        });
        let digest = key.1.get(..6).unwrap_or(&key.1);
        series(&format!("{} ({digest})", line(sampler.text(&key), 40)), points.collect())
    });
    let chart = chart(all, "Statements: seconds per second", ("seconds/s", "s"), series.collect());
    chart.stacked_area() + &statement_table(sampler, all)
}

/// The statements of the last seconds, those that took longest first.
fn statement_table(sampler: &Sampler, all: &[&Sample]) -> String {
    let end_s = all.last().map_or(0.0, |sample| sample.at_s);
    let recent: Vec<&Sample> = all.iter().copied().filter(|s| s.at_s > end_s - RECENT_S).collect();
    // What is in the first of them ran since the one before it.
    let before = all.len().checked_sub(recent.len() + 1).and_then(|at| all.get(at));
    let begin_s = before.or(all.first()).map_or(0.0, |sample| sample.at_s);
    let span_s = (end_s - begin_s).max(f64::MIN_POSITIVE);
    let columns = [
        "schema",
        "statement",
        "calls/s",
        "seconds/s",
        "mean",
        "rows examined/s",
        "rows sent/s",
        "errors/s",
    ];
    let mut table = Table::new(&columns);
    let of_recent = heaviest(recent.into_iter());
    let none = of_recent.is_empty();
    for (key, ran) in of_recent.into_iter().take(STATEMENTS_SHOWN) {
        let rate = |n: f64| per_second(n / span_s);
        table.row(&[
            key.0.clone(),
            line(sampler.text(&key), STATEMENT_CHARS_MAX),
            rate(ran.calls),
            si(rounded(ran.seconds / span_s), "s"),
            si(ran.seconds / ran.calls, "s"),
            rate(ran.examined),
            rate(ran.sent),
            rate(ran.errors),
        ]);
    }
    match none {
        true => "<p class=\"none\">No statement ended in the last ten seconds.</p>".into(),
        false => table.end(),
    }
}

/// Statements by the time that they took in these samples.
fn heaviest<'a>(samples: impl Iterator<Item = &'a Sample>) -> Vec<(Arc<Key>, Executions)> {
    let mut sums: HashMap<Arc<Key>, Executions> = HashMap::new();
    for (key, ran) in samples.flat_map(|sample| &sample.statements) {
        let sum = sums.entry(Arc::clone(key)).or_default();
        sum.calls += ran.calls;
        sum.seconds += ran.seconds;
        sum.examined += ran.examined;
        sum.sent += ran.sent;
        sum.errors += ran.errors;
    }
    let mut all: Vec<_> = sums.into_iter().collect();
    all.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds).then_with(|| a.0.cmp(&b.0)));
    all
}

/// Who holds up whom, as a tree: below each session those that wait for it. One that waits for several stands below the first.
fn lock_tree(waiters: &[Waiter]) -> String {
    if waiters.is_empty() {
        return "<h2>Lock tree</h2><p class=\"none\">Nobody waits for a lock.</p>".into();
    }
    let mut below: HashMap<u64, Vec<&Waiter>> = HashMap::new();
    let mut shown = HashSet::new();
    let known: HashSet<u64> = waiters.iter().map(|w| w.slot).collect();
    for waiter in waiters {
        let first = waiter.blockers.iter().find(|slot| known.contains(slot));
        if let Some(blocker) = first {
            below.entry(*blocker).or_default().push(waiter);
        }
    }
    let mut html = String::from("<h2>Lock tree</h2><ul class=\"tree\">");
    for waiter in waiters.iter().filter(|w| !w.blockers.iter().any(|slot| known.contains(slot))) {
        branch(&mut html, waiter, &below, &mut shown);
    }
    html + "</ul>"
}

/// A session and all that wait for it; each once.
fn branch<'a>(
    html: &mut String,
    waiter: &'a Waiter,
    below: &HashMap<u64, Vec<&'a Waiter>>,
    shown: &mut HashSet<u64>,
) {
    if !shown.insert(waiter.slot) {
        return;
    }
    let held_up = below.get(&waiter.slot).map_or(&[][..], |all| all);
    html.push_str(&format!(
        "<li data-connection=\"{}\" data-holds-up=\"{}\">{}",
        waiter.connection,
        held_up.len(),
        described(waiter, held_up.len())
    ));
    if !held_up.is_empty() {
        html.push_str("<ul>");
        held_up.iter().for_each(|other| branch(html, other, below, shown));
        html.push_str("</ul>");
    }
    html.push_str("</li>\n");
}

fn described(waiter: &Waiter, held_up: usize) -> String {
    let who = match waiter.connection {
        0 => "a prepared transaction without a connection".to_string(),
        id => format!("connection {id}, {}", waiter.account),
    };
    let mut parts = Vec::new();
    if !waiter.command.is_empty() {
        parts.push(format!("{} for {}", waiter.command, age(waiter.since_s)));
    }
    if let Some(seconds) = waiter.transaction_s {
        parts.push(format!("transaction open for {}", age(seconds)));
    }
    if held_up > 0 {
        parts.push(format!("holds up {held_up}"));
    }
    let awaited = waiter
        .waits_for
        .iter()
        .map(|lock| format!("waits for {}", line(lock, STATEMENT_CHARS_MAX)));
    parts.extend(awaited);
    if waiter.blockers.len() > 1 {
        parts.push(format!("{} are in its way", waiter.blockers.len()));
    }
    let statement = line(&waiter.statement, STATEMENT_CHARS_MAX);
    let statement = if statement.is_empty() {
        String::new()
    } else {
        format!("<code>{}</code>", escape(&statement))
    };
    format!("<b>{}</b> {} {statement}", escape(&who), escape(&parts.join("; ")))
}

fn pool(all: &[&Sample]) -> String {
    let page = |figure: &'static str| levels(all, |s| s.figure(figure));
    let clean = levels(all, |s| {
        s.figure("Innodb_buffer_pool_pages_data") - s.figure("Innodb_buffer_pool_pages_dirty")
    });
    let pages = vec![
        series("dirty", page("Innodb_buffer_pool_pages_dirty")),
        series("clean", clean),
        series("free", page("Innodb_buffer_pool_pages_free")),
    ];
    let moves = [
        ("read from files", "Innodb_pages_read"),
        ("written", "Innodb_pages_written"),
        ("asked for and not there", "Innodb_buffer_pool_reads"),
    ];
    chart(all, "Buffer pool: pages", ("pages", ""), pages).stacked_area()
        + &chart(all, "Buffer pool: pages per second", ("pages/s", ""), counters(all, &moves))
            .lines()
}

fn redo(all: &[&Sample]) -> String {
    let age_bytes = levels(all, |s| {
        s.figure("Innodb_redo_log_current_lsn") - s.figure("Innodb_redo_log_checkpoint_lsn")
    });
    let capacity = levels(all, |s| s.figure("Innodb_redo_log_capacity_resized"));
    let used = vec![series("since the checkpoint", age_bytes), series("capacity", capacity)];
    let written = counters(all, &[("written", "Innodb_os_log_written")]);
    let calls = counters(
        all,
        &[("fsyncs", "Innodb_os_log_fsyncs"), ("waits for room", "Innodb_log_waits")],
    );
    chart(all, "Redo: bytes per second", ("bytes/s", "B"), written).lines()
        + &chart(all, "Redo: bytes in use", ("bytes", "B"), used).lines()
        + &chart(all, "Redo: calls per second", ("calls/s", ""), calls).lines()
}

fn purge(all: &[&Sample]) -> String {
    let history = vec![series("history list", levels(all, |s| s.figure(HISTORY)))];
    let rows = counters(all, &[("rows purged", "Limpid_purged_rows")]);
    chart(all, "Purge: transactions in the history list", ("transactions", ""), history).lines()
        + &chart(all, "Purge: rows per second", ("rows/s", ""), rows).lines()
}

fn tables(all: &[&Sample]) -> String {
    let names = [
        ("hits", "Table_open_cache_hits"),
        ("misses", "Table_open_cache_misses"),
        ("overflows", "Table_open_cache_overflows"),
    ];
    chart(all, "Table cache: lookups per second", ("lookups/s", ""), counters(all, &names)).lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Waits;

    fn sample(at_s: f64, count: f64) -> Sample {
        let waits = [("wait/io/file".to_string(), Waits { count, seconds: count / 10.0 })];
        Sample { at_s, waits: waits.into(), ..Sample::default() }
    }

    #[test]
    fn rates_are_what_moved_in_the_seconds_between() {
        let (a, b, c) = (sample(10.0, 100.0), sample(12.0, 130.0), sample(13.0, 5.0));
        let count = |s: &Sample| s.waits["wait/io/file"].count;
        assert_eq!(rates(&[&a, &b, &c], count), [(12.0, 15.0), (13.0, 0.0)]);
        let svg = waits(&[&a, &b], "t", "waits/s", "", |w| w.count);
        assert!(
            svg.contains("data-series=\"wait/io/file\"") && svg.contains("data-points=\"12,15\""),
            "{svg}"
        );
    }

    fn waiter(slot: u64, blockers: &[u64]) -> Waiter {
        Waiter {
            slot,
            connection: slot + 100,
            blockers: blockers.into(),
            account: "<i>u</i>@h".into(),
            command: "Query".into(),
            since_s: 3.0,
            statement: "SELECT '<script>alert(1)</script>'".into(),
            ..Waiter::default()
        }
    }

    #[test]
    fn a_tree_has_each_session_once_below_its_blocker() {
        let html =
            lock_tree(&[waiter(1, &[]), waiter(2, &[1]), waiter(3, &[1, 2]), waiter(4, &[2])]);
        for id in 101..=104 {
            assert_eq!(html.matches(&format!("data-connection=\"{id}\"")).count(), 1, "{html}");
        }
        let root = html.find("data-connection=\"101\" data-holds-up=\"2\"");
        assert!(root < html.find("data-connection=\"102\"") && root.is_some(), "{html}");
        assert!(!html.contains("<script>") && !html.contains("<i>"), "{html}");
        assert_eq!(html.matches("<ul").count(), html.matches("</ul>").count());
        assert_eq!(html.matches("<li").count(), html.matches("</li>").count());
    }

    #[test]
    fn a_snapshot_that_is_no_tree_ends() {
        let html = lock_tree(&[waiter(1, &[2]), waiter(2, &[1]), waiter(3, &[99])]);
        assert!(html.contains("data-connection=\"103\""));
    }
}
