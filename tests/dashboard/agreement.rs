//! Every chart of the page, in a real browser, beside what the server's tables say of the same time: under sysbench and a pile-up.
//!
//! 1. Tables are read when the server is quiet, before the load and behind it. A series may be off by 5 % of what moved, and by what
//! moves in two seconds of quiet: the samples at the ends are up to a second away. 2. A level that is drawn lies among those that were
//! read around its time.

use super::{Browser, address, builder, now_s, points, sum};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::{Conversation, Server, TempDir, TextClient};

/// Most that a series may be off.
const SHARE_MAX: f64 = 0.05;
/// Seconds of quiet that the ends of a range may be off by.
const ENDS_S: f64 = 2.0;
/// In these background threads wait for something to do: no chart shows them.
const RESTS: [&str; 9] = [
    "wait/synch/cond/innodb/log_governor",
    "wait/synch/cond/innodb/log_wants_checkpoint",
    "wait/synch/cond/innodb/page_cleaner_cond",
    "wait/synch/cond/innodb/read_ahead_cond",
    "wait/synch/cond/limpid/background_stop",
    "wait/synch/cond/limpid/recovery_feed",
    "wait/synch/cond/limpid/redo_read_ahead",
    "wait/synch/cond/limpid/ticker",
    "wait/synch/cond/sql/COND_thread_cache",
];
/// Rates: panel, series, status variable.
const RATES: [(&str, &str, &str); 10] = [
    ("pool", "read from files", "Innodb_pages_read"),
    ("pool", "written", "Innodb_pages_written"),
    ("pool", "asked for and not there", "Innodb_buffer_pool_reads"),
    ("redo", "written", "Innodb_os_log_written"),
    ("redo", "fsyncs", "Innodb_os_log_fsyncs"),
    ("redo", "waits for room", "Innodb_log_waits"),
    ("purge", "rows purged", "Limpid_purged_rows"),
    ("tables", "hits", "Table_open_cache_hits"),
    ("tables", "misses", "Table_open_cache_misses"),
    ("tables", "overflows", "Table_open_cache_overflows"),
];
/// Levels: panel, series, and what is added and taken away for it; the length of the history list is read with the variables.
const LEVELS: [(&str, &str, &str, &str); 6] = [
    ("pool", "dirty", "Innodb_buffer_pool_pages_dirty", ""),
    ("pool", "clean", "Innodb_buffer_pool_pages_data", "Innodb_buffer_pool_pages_dirty"),
    ("pool", "free", "Innodb_buffer_pool_pages_free", ""),
    (
        "redo",
        "since the checkpoint",
        "Innodb_redo_log_current_lsn",
        "Innodb_redo_log_checkpoint_lsn",
    ),
    ("redo", "capacity", "Innodb_redo_log_capacity_resized", ""),
    ("purge", "history list", "history", ""),
];
/// Panels that have charts, as the page names their places.
const PANELS: [&str; 8] =
    ["waits", "wait-seconds", "statements", "pool", "redo", "purge", "tables", "history"];

type Points = BTreeMap<String, Vec<(f64, f64)>>;

/// Rows of a statement as text.
fn rows(client: &mut TextClient, sql: &str) -> Vec<Vec<String>> {
    let text = |cell: Option<Vec<u8>>| String::from_utf8(cell.unwrap_or_default()).unwrap();
    let answer = client.query(sql).unwrap();
    answer.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()
}

/// Status variables, with the length of the history list.
fn figures(client: &mut TextClient) -> BTreeMap<String, f64> {
    let all = rows(
        client,
        "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_status UNION ALL \
         SELECT 'history', COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'",
    );
    all.into_iter().filter_map(|row| Some((row[0].clone(), row[1].parse().ok()?))).collect()
}

/// What every series of rates has come to until now: by panel and series.
fn totals(client: &mut TextClient) -> BTreeMap<(String, String), f64> {
    let mut all = BTreeMap::new();
    for row in rows(
        client,
        "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name",
    ) {
        if row[0].starts_with("wait/") && !RESTS.contains(&&*row[0]) {
            let class = row[0].splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            let (count, ps): (f64, f64) = (row[1].parse().unwrap(), row[2].parse().unwrap());
            *all.entry(("waits".to_string(), class.clone())).or_default() += count;
            *all.entry(("wait-seconds".to_string(), class)).or_default() += ps / 1e12;
        }
    }
    for row in rows(
        client,
        "SELECT LEFT(DIGEST, 6), SUM(SUM_TIMER_WAIT) / 1e12 FROM performance_schema.events_statements_summary_by_digest \
         WHERE SCHEMA_NAME = 'sbtest' GROUP BY SCHEMA_NAME, DIGEST",
    ) {
        let series = format!("({})", row[0]);
        *all.entry(("statements".to_string(), series)).or_default() +=
            row[1].parse::<f64>().unwrap();
    }
    let status = figures(client);
    for (panel, series, variable) in RATES {
        all.insert((panel.to_string(), series.to_string()), status[variable]);
    }
    all
}

/// Points of all charts, as the browser has them.
fn drawn(browser: &mut Browser) -> BTreeMap<&'static str, Points> {
    let of = |panel: &str| format!("document.getElementById('{panel}').innerHTML");
    PANELS.into_iter().map(|panel| (panel, points(&browser.text(&of(panel))))).collect()
}

/// Waits until neither pages are written nor rows purged.
fn settle(client: &mut TextClient) {
    let until = Instant::now() + Duration::from_secs(90);
    let moving = |client: &mut TextClient| {
        let now = figures(client);
        ["Innodb_pages_written", "Limpid_purged_rows", "history"].map(|name| now[name])
    };
    let mut before = moving(client);
    loop {
        testkit::pause(3000);
        let now = moving(client);
        if now == before {
            return;
        }
        assert!(Instant::now() < until, "the server does not come to rest: {before:?} {now:?}");
        before = now;
    }
}

/// A server whose pool, table cache and redo log are small, so that every chart has something to show, with sysbench's tables.
fn filled(folder: &TempDir) -> Server {
    let server = builder()
        .option("--innodb-buffer-pool-size=16M")
        .option("--table-open-cache=4")
        .option("--table-open-cache-instances=1")
        .option("--innodb-lock-wait-timeout=300")
        .option("--innodb-stats-auto-recalc=OFF")
        .start(folder.path());
    server.sql("CREATE DATABASE sbtest");
    let made =
        server.sysbench(false, &["--tables=8", "--table-size=10000", "oltp_read_write", "prepare"]);
    assert!(made.ok, "{}\n{}", made.out, made.err);
    server
}

/// Levels that were read, with their times.
type Readings = Vec<(f64, BTreeMap<String, f64>)>;

/// sysbench's transactions for a while; levels that were read meanwhile. A view is open, so that the history list grows: its length
/// would else be another one a moment later.
fn load(server: &Server, client: &mut TextClient) -> Readings {
    let mut viewer = TextClient::connect(server.socket());
    viewer.query("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let run = ["--tables=8", "--table-size=10000", "--threads=4", "--time=15"];
            let errors = "--mysql-ignore-errors=1213,1205";
            let words = [&run[..], &[errors, "oltp_read_write", "run"]].concat();
            let answer = server.sysbench(false, &words);
            ended.store(true, Ordering::Relaxed);
            assert!(answer.ok, "{}\n{}", answer.out, answer.err);
        });
        let mut readings = Vec::new();
        while !ended.load(Ordering::Relaxed) {
            readings.push((now_s(), figures(client)));
            testkit::pause(20);
        }
        viewer.query("ROLLBACK").unwrap();
        readings
    })
}

/// Four sessions behind one that does not commit, until the page shows them and the doctor has said so.
fn pile_up(server: &Server, browser: &mut Browser) {
    let mut blocker = TextClient::connect(server.socket());
    blocker.query("BEGIN").unwrap();
    blocker.query("UPDATE sbtest.sbtest1 SET k = 0 WHERE id = 1").unwrap();
    let mut waiters: Vec<Conversation> = (0..4).map(|_| server.converse()).collect();
    waiters
        .iter_mut()
        .for_each(|waiter| waiter.send("UPDATE sbtest.sbtest1 SET k = k + 1 WHERE id = 1"));
    let until = Instant::now() + Duration::from_secs(90);
    for (panel, shown) in [("locks", "data-holds-up=\"4\""), ("findings", "idle-blocker")] {
        let html = format!("document.getElementById('{panel}').innerHTML");
        while !browser.text(&html).contains(shown) {
            assert!(Instant::now() < until, "{panel}: {}", browser.text(&html));
            testkit::pause(300);
        }
    }
    blocker.query("ROLLBACK").unwrap();
    waiters.iter_mut().for_each(|waiter| drop(waiter.receive()));
}

#[test]
#[ignore = "runs Chromium: cargo xtask soak"]
fn every_chart_agrees_with_the_servers_tables() {
    let folder = TempDir::new();
    let server = filled(&folder);
    let at = address(&server);
    let mut client = TextClient::connect(server.socket());
    let mut browser = Browser::start(1600, 2600);
    browser.open(&format!("http://{at}/"));
    settle(&mut client);
    let quiet = (now_s(), totals(&mut client));
    testkit::pause(4000);
    let (from, before) = (now_s(), totals(&mut client));
    // The sample after the tables were read is one of quiet.
    testkit::pause(2000);
    let readings = load(&server, &mut client);
    pile_up(&server, &mut browser);
    settle(&mut client);
    let (to, after) = (now_s(), totals(&mut client));
    // The sample behind the end has come.
    testkit::pause(2500);
    let charts = drawn(&mut browser);
    let mut wrong = Vec::new();
    for (key, total) in &after {
        let at_key = |of: &BTreeMap<(String, String), f64>| of.get(key).copied().unwrap_or(0.0);
        let moved = total - at_key(&before);
        let in_quiet = (at_key(&before) - at_key(&quiet.1)) / (from - quiet.0);
        let (panel, series) = (&key.0, &key.1);
        let of_series = charts[panel.as_str()].iter().find(|(name, _)| match panel.as_str() {
            "statements" => name.ends_with(series.as_str()),
            _ => *name == series,
        });
        // Only the statements that took longest are drawn.
        if of_series.is_none() && panel == "statements" {
            continue;
        }
        let shown = of_series.map_or(0.0, |(_, points)| sum(points, from, to));
        println!(
            "{panel}, {series}: {shown:.3} drawn, {moved:.3} counted, {in_quiet:.3} a second in quiet"
        );
        if (shown - moved).abs() > SHARE_MAX * moved + in_quiet * ENDS_S {
            wrong.push(format!("{panel}, {series}: {shown} drawn, {moved} counted"));
        }
    }
    wrong.extend(levels_wrong(&charts, &readings));
    browser.keep("under-load");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let statements = charts["statements"].len();
    assert!(statements >= 8, "{statements} statements are drawn");
    history_agrees(&mut browser, &format!("http://{at}"), &mut client);
    assert_eq!(browser.console(), [""; 0], "no error");
    let own = format!("http://{at}/");
    let requests = browser.requests();
    assert!(
        requests.len() >= 5 && requests.iter().all(|url| url.starts_with(&own)),
        "{requests:?}"
    );
}

/// Levels that lie outside of what was read around their times.
fn levels_wrong(charts: &BTreeMap<&str, Points>, readings: &Readings) -> Vec<String> {
    let (first, last) = (readings[0].0 + 1.0, readings[readings.len() - 1].0 - 1.0);
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (panel, series, plus, minus) in LEVELS {
        let value = |of: &BTreeMap<String, f64>| of[plus] - of.get(minus).copied().unwrap_or(0.0);
        for (at, drawn) in charts[panel][series].iter().filter(|(at, _)| (first..last).contains(at))
        {
            let near: Vec<f64> = readings
                .iter()
                .filter(|(time, _)| (time - at).abs() < 0.7)
                .map(|(_, of)| value(of))
                .collect();
            assert!(!near.is_empty(), "nothing was read around {at}");
            let low = near.iter().copied().fold(f64::MAX, f64::min) * (1.0 - SHARE_MAX);
            let high = near.iter().copied().fold(0.0, f64::max) * (1.0 + SHARE_MAX);
            seen += 1;
            if !(low..=high).contains(drawn) {
                wrong.push(format!(
                    "{panel}, {series}: {drawn} drawn at {at}, {low} to {high} read"
                ));
            }
        }
    }
    assert!(seen >= 6 * 8, "{seen} points of levels under load");
    wrong
}

/// The page of the history, over a range that is over, beside the table that it is of: sessions of each class, by the second.
fn history_agrees(browser: &mut Browser, page: &str, client: &mut TextClient) {
    const MINUTES: u64 = 5;
    let until = now_s() as u64 - 2;
    let (begin, step) = (until - MINUTES * 60, MINUTES * 60 / 120);
    browser.open(&format!("{page}/history?minutes={MINUTES}&until={until}"));
    let ready = Instant::now() + Duration::from_secs(20);
    while !browser.document().contains("data-series") {
        assert!(Instant::now() < ready, "{}", browser.document());
        testkit::pause(200);
    }
    let document = browser.document();
    let mut counted: BTreeMap<String, f64> = BTreeMap::new();
    for row in rows(
        client,
        &format!(
            "SELECT COALESCE(EVENT_NAME, 'running'), COUNT(*) FROM performance_schema.limpid_session_samples \
             WHERE SAMPLE_TIME > FROM_UNIXTIME({begin}) AND SAMPLE_TIME <= FROM_UNIXTIME({until}) GROUP BY 1"
        ),
    ) {
        let class = match &*row[0] {
            "idle" => "idle, in somebody's way".to_string(),
            event => event.splitn(4, '/').take(3).collect::<Vec<_>>().join("/"),
        };
        *counted.entry(class).or_default() += row[1].parse::<f64>().unwrap();
    }
    let charts = points(&document.replace("&#39;", "'"));
    for (class, counted) in &counted {
        let points = charts.get(class).unwrap_or_else(|| panic!("{class} is not drawn"));
        let drawn: f64 = points.iter().map(|(_, sessions)| sessions * step as f64).sum();
        println!("history, {class}: {drawn:.1} drawn, {counted:.1} counted");
        assert!((drawn - counted).abs() <= SHARE_MAX * counted, "{class}: {drawn} {counted}");
    }
    assert!(counted["wait/lock/innodb"] > 40.0, "{counted:?}");
    assert!(document.contains("sbtest.sbtest1.PRIMARY"), "what was waited for");
}
