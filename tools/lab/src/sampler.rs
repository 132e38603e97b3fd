//! Samples of a server under load, once a second: status, waits by class and instance, latches held, history, processor, bytes, context
//! switches.
//!
//! 1. Figures are absolute; a [`Growth`] is what lies between two samples. 2. What a server does not have is named once, and its step
//! is skipped. 3. The server's own threads that rest are no waits of users: [`is_rest`].

use crate::driver::Counts;
use crate::machine::{Spent, Threads};
use client::{Client, Failure};
use std::collections::BTreeMap;
use std::time::Instant;

const STATUS: &str = "SHOW GLOBAL STATUS";
const CLASSES: &str = "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT / 1e12 \
    FROM performance_schema.events_waits_summary_global_by_event_name WHERE COUNT_STAR > 0";
const INSTANCES: &str = "SELECT CONCAT(EVENT_NAME, '@', OBJECT_INSTANCE_BEGIN), COUNT_STAR, SUM_TIMER_WAIT / 1e12 \
    FROM performance_schema.events_waits_summary_by_instance WHERE COUNT_STAR > 0";
const HOLDS: &str = "SELECT EVENT_NAME, ACQUISITIONS, HOLD_NS_SUM / 1e9 \
    FROM performance_schema.limpid_latch_holds WHERE ACQUISITIONS > 0";
/// How many transactions have left old versions that are not purged.
pub const HISTORY: &str =
    "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";

/// Threads of the server's own that rest, clients that think, and reading rows, which is work.
const RESTS: [&str; 12] = [
    "idle",
    "wait/io/table",
    "cond/host/sleep",
    "log_governor",
    "log_wants_checkpoint",
    "page_cleaner_cond",
    "read_ahead_cond",
    "background_stop",
    "cond/limpid/ticker",
    "COND_thread_cache",
    "wait/io/socket",
    "log_checkpointer",
];

/// Whether a class of waits is rest, not work that waits.
pub fn is_rest(class: &str) -> bool {
    RESTS.iter().any(|rest| class.contains(rest))
}

/// Count and seconds of a wait.
pub type Wait = [f64; 2];

/// What a server and its client had done at a moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// Seconds since the cell began.
    pub at_s: f64,
    /// Status variables that are numbers.
    pub status: BTreeMap<String, f64>,
    /// Waits by class.
    pub classes: BTreeMap<String, Wait>,
    /// Waits by instance, `CLASS@ADDRESS`.
    pub instances: BTreeMap<String, Wait>,
    /// Latches by class: acquisitions, and the seconds that they were held. None where the level counts none.
    pub holds: BTreeMap<String, Wait>,
    /// Transactions whose old versions are not purged.
    pub history_len: Option<f64>,
    /// What the server's threads did.
    pub threads: Option<Threads>,
    /// What the server's process spent.
    pub server: Option<Spent>,
    /// What the client's process spent.
    pub client: Option<Spent>,
    /// What the driver counted.
    pub counts: Counts,
}

/// What lies between two samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Growth {
    /// When it ends, in seconds since the cell began.
    pub at_s: f64,
    /// How long it is.
    pub seconds: f64,
    /// As in [`Sample`].
    pub status: BTreeMap<String, f64>,
    /// As in [`Sample`].
    pub classes: BTreeMap<String, Wait>,
    /// As in [`Sample`].
    pub instances: BTreeMap<String, Wait>,
    /// As in [`Sample`].
    pub holds: BTreeMap<String, Wait>,
    /// As in [`Sample`]; less than nothing where more was purged than came.
    pub history_len: Option<f64>,
    /// Context switches of the server's threads: own wish, and others'; nothing where threads that ended took theirs with them.
    pub switches: Option<[f64; 2]>,
    /// Seconds of processor of the server's thread that samples sessions.
    pub session_sampler_s: Option<f64>,
    /// As in [`Sample`]; nothing where it could not be told.
    pub server: Option<Spent>,
    /// As in [`Sample`].
    pub client: Option<Spent>,
    /// As in [`Sample`].
    pub counts: Counts,
}

impl Growth {
    /// From one sample to a later one; figures that did not grow are left out.
    pub fn between(from: &Sample, to: &Sample) -> Growth {
        let waits = |from: &BTreeMap<String, Wait>, to: &BTreeMap<String, Wait>| {
            let grown = |(name, wait): (&String, &Wait)| {
                let before = from.get(name).copied().unwrap_or_default();
                let grown = [wait[0] - before[0], wait[1] - before[1]];
                (grown[0] > 0.0 || grown[1] > 0.0).then(|| (name.clone(), grown))
            };
            to.iter().filter_map(grown).collect()
        };
        let status = to.status.iter().filter_map(|(name, value)| {
            let grown = value - from.status.get(name)?;
            (grown != 0.0).then(|| (name.clone(), grown))
        });
        let spent = |from: Option<Spent>, to: Option<Spent>| {
            let (from, to) = (from?, to?);
            Some(Spent {
                user_s: to.user_s - from.user_s,
                kernel_s: to.kernel_s - from.kernel_s,
                bytes_read: to.bytes_read - from.bytes_read,
                bytes_written: to.bytes_written - from.bytes_written,
            })
        };
        let both = from.threads.zip(to.threads);
        let switches = both.map(|(from, to)| {
            [to.switches[0] - from.switches[0], to.switches[1] - from.switches[1]]
        });
        let session_sampler_s =
            both.and_then(|(from, to)| Some(to.session_sampler_s? - from.session_sampler_s?));
        Growth {
            at_s: to.at_s,
            seconds: to.at_s - from.at_s,
            status: status.collect(),
            classes: waits(&from.classes, &to.classes),
            instances: waits(&from.instances, &to.instances),
            holds: waits(&from.holds, &to.holds),
            history_len: from.history_len.zip(to.history_len).map(|(from, to)| to - from),
            switches: switches.filter(|grown| grown.iter().all(|n| *n >= 0.0)),
            session_sampler_s: session_sampler_s.filter(|grown| *grown >= 0.0),
            server: spent(from.server, to.server),
            client: spent(from.client, to.client),
            counts: Counts {
                queries: to.counts.queries - from.counts.queries,
                transactions: to.counts.transactions - from.counts.transactions,
                errors: to.counts.errors - from.counts.errors,
            },
        }
    }

    /// A second's share of what grew.
    pub fn rate(&self, grown: f64) -> f64 {
        if self.seconds > 0.0 { grown / self.seconds } else { 0.0 }
    }
}

/// Steps that are skipped from now on, by their statements.
#[derive(Debug, Default)]
pub struct Skipped(BTreeMap<&'static str, Option<String>>);

impl Skipped {
    /// Whether this one is.
    fn has(&self, sql: &str) -> bool {
        self.0.contains_key(sql)
    }

    /// It failed: what the server said is told, and that the connection ended is not, since the load notices that, too, and ends.
    fn add(&mut self, sql: &'static str, failure: &Failure) {
        self.0.insert(sql, (!failure.is_lost()).then(|| failure.to_string()));
    }

    /// Those that the server does not know or let, and what it said.
    pub fn told(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().filter_map(|(sql, why)| Some((*sql, why.as_deref()?)))
    }
}

/// Takes samples of a server.
pub struct Sampler {
    client: Client,
    pid: Option<u32>,
    begun: Instant,
    /// What it does not ask any more.
    pub skipped: Skipped,
}

impl Sampler {
    /// Over a connection of its own; `pid` is the server's process where it is here.
    pub fn new(client: Client, pid: Option<u32>) -> Sampler {
        let begun = host::clock::now();
        Sampler { client, pid, begun, skipped: Skipped::default() }
    }

    /// A new cell begins.
    pub fn begin(&mut self) {
        self.begun = host::clock::now();
    }

    /// How the server is at this moment.
    pub fn sample(&mut self, counts: Counts) -> Sample {
        let mut sample = Sample { counts, ..Sample::default() };
        sample.at_s = self.begun.elapsed().as_secs_f64();
        sample.server = self.pid.and_then(Spent::of);
        sample.client = Spent::of(std::process::id());
        sample.threads = self.pid.and_then(Threads::of);
        self.rows(STATUS, |row| {
            if let [name, value] = row
                && let Ok(value) = value.parse()
            {
                sample.status.insert(name.clone(), value);
            }
        });
        let wait = |into: &mut BTreeMap<String, Wait>, row: &[String]| {
            if let [name, count, seconds] = row
                && let (Ok(count), Ok(seconds)) = (count.parse(), seconds.parse())
            {
                into.insert(name.clone(), [count, seconds]);
            }
        };
        self.rows(CLASSES, |row| wait(&mut sample.classes, row));
        self.rows(INSTANCES, |row| wait(&mut sample.instances, row));
        self.rows(HOLDS, |row| wait(&mut sample.holds, row));
        self.rows(HISTORY, |row| sample.history_len = row.first().and_then(|n| n.parse().ok()));
        sample
    }

    fn rows(&mut self, sql: &'static str, mut row: impl FnMut(&[String])) {
        if self.skipped.has(sql) {
            return;
        }
        match self.client.query(sql) {
            Ok(rows) => rows.texts().for_each(|texts| row(&texts)),
            Err(failure) => self.skipped.add(sql, &failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_between_two_samples() {
        let mut from = Sample { at_s: 1.0, ..Sample::default() };
        from.status.insert("Questions".into(), 10.0);
        from.status.insert("Uptime_since".into(), 1.0);
        from.classes.insert("wait/a".into(), [5.0, 0.5]);
        let mut to = from.clone();
        to.at_s = 3.0;
        to.status.insert("Questions".into(), 30.0);
        to.classes.insert("wait/b".into(), [1.0, 0.25]);
        to.holds.insert("wait/synch/mutex/c".into(), [8.0, 1.0]);
        let threads = |switches, session_sampler_s| Some(Threads { switches, session_sampler_s });
        from.threads = threads([5.0, 1.0], Some(0.5));
        to.threads = threads([9.0, 1.0], Some(0.75));
        (from.history_len, to.history_len) = (Some(8.0), Some(5.0));
        let growth = Growth::between(&from, &to);
        assert_eq!(growth.status, [("Questions".to_string(), 20.0)].into());
        assert_eq!(growth.classes, [("wait/b".to_string(), [1.0, 0.25])].into());
        assert_eq!(growth.rate(growth.status["Questions"]), 10.0);
        assert_eq!(growth.holds["wait/synch/mutex/c"], [8.0, 1.0]);
        assert_eq!(growth.switches, Some([4.0, 0.0]));
        assert_eq!((growth.history_len, growth.session_sampler_s), (Some(-3.0), Some(0.25)));
        to.threads = threads([4.0, 1.0], None);
        let growth = Growth::between(&from, &to);
        assert_eq!((growth.switches, growth.session_sampler_s), (None, None), "threads ended");
        assert!(is_rest("idle") && !is_rest("wait/synch/mutex/sql/MDL_map::mutex"));
    }

    #[test]
    fn what_a_server_does_not_have_or_let_is_named_and_skipped() {
        let failure =
            |number, state: &str| Failure { number, state: state.into(), text: "no".into() };
        let mut skipped = Skipped::default();
        for (sql, number, state) in
            [(HOLDS, 1146, "42S02"), (CLASSES, 1142, "42000"), (HISTORY, 1193, "HY000")]
        {
            assert!(!skipped.has(sql));
            skipped.add(sql, &failure(number, state));
            assert!(skipped.has(sql) && skipped.told().any(|(told, _)| told == sql), "{number}");
        }
        assert!(skipped.told().any(|told| told == (HOLDS, "1146 (42S02): no")));
        // The end of a connection is not the step's.
        skipped.add(STATUS, &failure(2013, "HY000"));
        assert!(skipped.has(STATUS) && skipped.told().count() == 3);
    }
}
