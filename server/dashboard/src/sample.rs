//! What is read each second, by statements of a session of the server's own, and what is kept of it.
//!
//! 1. Nothing is read while nobody looks, and the session ends soon after. 2. Five minutes are kept, at most one sample
//! a second, each with at most [`DIGESTS_MAX`] statements. 3. A sample has counters as they were; rates are made of two
//! of them, so what a chart shows of an interval is what the counters moved in it.

use crate::history::Range;
use crate::locks::{self, Waiter};
use crate::{findings, history};
use client::Rows;
use session::{Inside, Server, inside};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name under which the process list shows the session.
pub const USER: &str = "limpid_dashboard";
/// Seconds that are kept.
pub const KEPT_S: f64 = 300.0;
/// Samples that are kept, should somebody's calls bring more than one a second.
const SAMPLES_MAX: usize = 600;
/// Statements that are looked at in each sample: those that ran last.
const DIGESTS_MAX: usize = 100;
/// Between two looks at the history, and two of the doctor.
const HISTORY_PERIOD: Duration = Duration::from_secs(10);
const FINDINGS_PERIOD: Duration = Duration::from_secs(60);
/// Statements that are remembered.
const KNOWN_MAX: usize = 500;
/// Picoseconds, in which `performance_schema` counts.
const SECOND_PS: f64 = 1e12;

/// Background threads wait in these for something to do: that is rest, and no chart of waits shows it.
pub const RESTS: [&str; 9] = [
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

/// Status variables that a panel shows.
const FIGURES: [&str; 24] = [
    "Innodb_buffer_pool_pages_data",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_pages_total",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_log_waits",
    "Innodb_os_log_fsyncs",
    "Innodb_os_log_written",
    "Innodb_pages_read",
    "Innodb_pages_written",
    "Innodb_redo_log_capacity_resized",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_redo_log_current_lsn",
    "Innodb_row_lock_waits",
    "Limpid_purged_rows",
    "Open_tables",
    "Questions",
    "Table_open_cache_hits",
    "Table_open_cache_misses",
    "Table_open_cache_overflows",
    "Threads_connected",
    "Threads_running",
    "Uptime",
];
/// The length of the history list, which is no status variable.
pub const HISTORY: &str = "history";

/// Waits of a class since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Waits {
    /// How many.
    pub count: f64,
    /// How long, in seconds.
    pub seconds: f64,
}

/// What the executions of a statement came to since the sample before.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Executions {
    /// How many.
    pub calls: f64,
    /// How long, in seconds.
    pub seconds: f64,
    /// Rows looked at.
    pub examined: f64,
    /// Rows sent.
    pub sent: f64,
    /// Those that failed.
    pub errors: f64,
}

/// Schema and digest.
pub type Key = (String, String);

/// What was read at a time.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Seconds since 1970.
    pub at_s: f64,
    /// By class: the first three parts of an event's name.
    pub waits: BTreeMap<String, Waits>,
    /// By name.
    pub figures: HashMap<&'static str, f64>,
    /// Statements that ran since the sample before.
    pub statements: Vec<(Arc<Key>, Executions)>,
}

impl Sample {
    /// A status variable; 0 where there is none.
    pub fn figure(&self, name: &str) -> f64 {
        self.figures.get(name).copied().unwrap_or(0.0)
    }
}

/// A statement that ran while somebody looked.
struct Known {
    key: Arc<Key>,
    text: String,
    /// As it was last seen.
    total: Executions,
}

/// Reads, and keeps what it has read.
pub struct Sampler {
    server: Arc<Server>,
    inside: Option<Inside>,
    samples: VecDeque<Sample>,
    known: HashMap<Key, Known>,
    waiters: Vec<Waiter>,
    history: Slow,
    findings: Slow,
    error: Option<String>,
}

/// A panel that is read now and then.
#[derive(Default)]
struct Slow {
    read: Option<Instant>,
    html: String,
}

impl Slow {
    /// Reads it anew if it is older than that.
    fn read(
        &mut self,
        period: Duration,
        inside: &mut Inside,
        read: impl FnOnce(&mut Inside) -> Result<String, String>,
    ) -> Result<(), String> {
        if self.read.is_none_or(|at| at.elapsed() >= period) {
            self.html = read(inside)?;
            self.read = Some(Instant::now());
        }
        Ok(())
    }
}

impl Sampler {
    /// One that has read nothing.
    pub fn new(server: &Arc<Server>) -> Sampler {
        Sampler {
            server: Arc::clone(server),
            inside: None,
            samples: VecDeque::new(),
            known: HashMap::new(),
            waiters: Vec::new(),
            history: Slow::default(),
            findings: Slow::default(),
            error: None,
        }
    }

    /// Nobody looks: the session ends.
    pub fn rest(&mut self) {
        self.inside = None;
    }

    /// What is kept, the oldest first.
    pub fn samples(&self) -> &VecDeque<Sample> {
        &self.samples
    }

    /// Who waited for a lock at the last sample, or held up somebody.
    pub fn waiters(&self) -> &[Waiter] {
        &self.waiters
    }

    /// The panel of the active session history.
    pub fn history(&self) -> &str {
        &self.history.html
    }

    /// The panel of the doctor's findings.
    pub fn findings(&self) -> &str {
        &self.findings.html
    }

    /// Why the last sample is not there.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The normalized text of a statement.
    pub fn text(&self, key: &Key) -> &str {
        self.known.get(key).map_or("", |known| &known.text)
    }

    /// Reads once.
    pub fn sample(&mut self) {
        let read = self.read();
        self.error = read.as_ref().err().cloned();
        match read {
            Ok(sample) => self.keep(sample),
            // It may have been killed: the next second has a new one.
            Err(_) => self.inside = None,
        }
    }

    fn keep(&mut self, sample: Sample) {
        let from_s = sample.at_s - KEPT_S;
        self.samples.push_back(sample);
        let is_old = |sample: &Sample| sample.at_s < from_s;
        while self.samples.len() > SAMPLES_MAX || self.samples.front().is_some_and(is_old) {
            self.samples.pop_front();
        }
        if self.known.len() > KNOWN_MAX {
            let kept: Vec<_> = self
                .samples
                .iter()
                .flat_map(|s| &s.statements)
                .map(|(key, _)| Arc::clone(key))
                .collect();
            self.known.retain(|_, known| kept.iter().any(|key| Arc::ptr_eq(key, &known.key)));
        }
    }

    fn read(&mut self) -> Result<Sample, String> {
        let mut inside = match self.inside.take() {
            Some(inside) => inside,
            None => inside::unlimited(&self.server, USER)?,
        };
        let waits = inside.query(
            "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name \
             WHERE COUNT_STAR > 0",
        )?;
        let at_s = host::clock::unix_micros() as f64 / 1e6;
        let figures = figures(&mut inside)?;
        let digests = inside.query(&format!(
            "SELECT SCHEMA_NAME, DIGEST, DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED, SUM_ROWS_SENT, \
             SUM_ERRORS, UNIX_TIMESTAMP(FIRST_SEEN) FROM performance_schema.events_statements_summary_by_digest \
             ORDER BY LAST_SEEN DESC LIMIT {DIGESTS_MAX}"
        ))?;
        let statements = self.statements(&digests);
        self.waiters = locks::read(&self.server, &mut inside)?;
        self.history
            .read(HISTORY_PERIOD, &mut inside, |inside| history::panel(inside, Range::USUAL))?;
        self.findings.read(FINDINGS_PERIOD, &mut inside, findings::panel)?;
        self.inside = Some(inside);
        Ok(Sample { at_s, waits: by_class(&waits), figures, statements })
    }

    /// What each statement did since it was seen last; of one that is new, all that it did since the sample before.
    fn statements(&mut self, digests: &Rows) -> Vec<(Arc<Key>, Executions)> {
        let before_s = self.samples.back().map(|sample| sample.at_s);
        let mut ran = Vec::new();
        for row in 0..digests.rows.len() {
            let total = Executions {
                calls: digests.number(row, 3),
                seconds: digests.number(row, 4) / SECOND_PS,
                examined: digests.number(row, 5),
                sent: digests.number(row, 6),
                errors: digests.number(row, 7),
            };
            let key = (digests.text(row, 0), digests.text(row, 1));
            let is_new = before_s.is_some_and(|before_s| digests.number(row, 8) >= before_s);
            let known = self.known.entry(key).or_insert_with_key(|key| Known {
                key: Arc::new(key.clone()),
                text: digests.text(row, 2),
                total: if is_new { Executions::default() } else { total },
            });
            let moved = since(&known.total, &total);
            if moved.calls > 0.0 {
                ran.push((Arc::clone(&known.key), moved));
            }
            known.total = total;
        }
        ran
    }
}

/// Status variables of the panels, with the length of the history list.
fn figures(inside: &mut Inside) -> Result<HashMap<&'static str, f64>, String> {
    let names = FIGURES.join("', '");
    let table = inside.query(&format!(
        "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME IN ('{names}')"
    ))?;
    let mut figures = HashMap::new();
    for row in 0..table.rows.len() {
        let name = table.text(row, 0);
        if let Some(name) = FIGURES.iter().find(|own| own.eq_ignore_ascii_case(&name)) {
            figures.insert(*name, table.number(row, 1));
        }
    }
    let history = inside.query(
        "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'",
    )?;
    figures.insert(HISTORY, history.number(0, 0));
    Ok(figures)
}

/// The waits of each class, without rests.
fn by_class(table: &Rows) -> BTreeMap<String, Waits> {
    let mut classes: BTreeMap<String, Waits> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let name = table.text(row, 0);
        if let Some(class) = class_of(&name) {
            let waits = classes.entry(class.to_string()).or_default();
            waits.count += table.number(row, 1);
            waits.seconds += table.number(row, 2) / SECOND_PS;
        }
    }
    classes
}

/// `wait/io/file` of `wait/io/file/sql/general_log`; none of what is rest, and of sessions whose clients say nothing.
pub fn class_of(event: &str) -> Option<&str> {
    if !event.starts_with("wait/") || RESTS.contains(&event) {
        return None;
    }
    let end = event.match_indices('/').nth(2).map_or(event.len(), |(at, _)| at);
    Some(&event[..end])
}

/// What moved; nothing where counters began anew.
fn since(before: &Executions, now: &Executions) -> Executions {
    if now.calls < before.calls {
        return Executions::default();
    }
    Executions {
        calls: now.calls - before.calls,
        seconds: (now.seconds - before.seconds).max(0.0),
        examined: (now.examined - before.examined).max(0.0),
        sent: (now.sent - before.sent).max(0.0),
        errors: (now.errors - before.errors).max(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_the_first_three_parts() {
        assert_eq!(class_of("wait/io/file/sql/general_log"), Some("wait/io/file"));
        assert_eq!(class_of("wait/lock/innodb/row"), Some("wait/lock/innodb"));
        assert_eq!(class_of("wait/lock/table"), Some("wait/lock/table"));
        assert_eq!(class_of("idle"), None);
        assert_eq!(class_of("wait/synch/cond/limpid/background_stop"), None);
        assert_eq!(class_of("wait/synch/cond/innodb/log_flushed"), Some("wait/synch/cond"));
    }

    #[test]
    fn counters_that_began_anew_moved_nothing() {
        let total = |calls, seconds| Executions { calls, seconds, ..Executions::default() };
        assert_eq!(since(&total(5.0, 1.0), &total(8.0, 1.5)), total(3.0, 0.5));
        assert_eq!(since(&total(5.0, 1.0), &total(1.0, 0.1)), Executions::default());
    }
}
