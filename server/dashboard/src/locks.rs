//! Who waits for whom: the graph of waits, with what `performance_schema` knows of each session in it.
//!
//! 1. The graph has waits for rows and for metadata; its nodes are session slots. 2. A wait that ends between the look at
//! the graph and the statements behind it loses its words, not its place.

use client::Rows;
use session::{Inside, Server};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Sessions that are shown.
const SHOWN_MAX: usize = 200;

/// A session that waits, or holds up somebody.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Waiter {
    /// Its slot: what the graph calls it.
    pub slot: u64,
    /// Its connection; 0 of a prepared transaction (XA) without one.
    pub connection: u64,
    /// Slots that it waits for; none of who waits for nobody.
    pub blockers: Vec<u64>,
    /// `user@host`.
    pub account: String,
    /// `Query`, `Sleep`.
    pub command: String,
    /// Seconds in that.
    pub since_s: f64,
    /// Age of its transaction in seconds, if it has one.
    pub transaction_s: Option<f64>,
    /// What it runs, or ran last.
    pub statement: String,
    /// The locks that it waits for, or (of who waits for nobody) nothing.
    pub waits_for: Vec<String>,
}

/// The sessions of the graph as it is now.
///
/// # Errors
/// Those of the statements.
pub fn read(server: &Server, inside: &mut Inside) -> Result<Vec<Waiter>, String> {
    let edges = server.engine.waits().edges();
    let mut blockers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (waiter, blocker) in edges {
        blockers.entry(waiter).or_default().insert(blocker);
        blockers.entry(blocker).or_default();
    }
    if blockers.is_empty() {
        return Ok(Vec::new());
    }
    let slots = server.engine.slots();
    let connection = |slot: u64| {
        let index = usize::try_from(slot).ok().filter(|index| *index < slots.sessions_max());
        index.map_or(0, |index| slots.session(index).session_id.load(stdx::Ordering::Relaxed))
    };
    // Who waits for nobody comes first, so that a pile-up does not hide its cause.
    let (first, then): (Vec<_>, Vec<_>) = blockers.into_iter().partition(|(_, of)| of.is_empty());
    let shown = first.into_iter().chain(then).take(SHOWN_MAX);
    let mut waiters: Vec<Waiter> = shown
        .map(|(slot, of)| Waiter {
            slot,
            connection: connection(slot),
            blockers: of.into_iter().collect(),
            ..Waiter::default()
        })
        .collect();
    describe(&mut waiters, inside)?;
    Ok(waiters)
}

fn describe(waiters: &mut [Waiter], inside: &mut Inside) -> Result<(), String> {
    let ids: Vec<String> = waiters.iter().map(|w| w.connection.to_string()).collect();
    let sessions = inside.query(&format!(
        "SELECT t.PROCESSLIST_ID, t.THREAD_ID, CONCAT(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST), t.PROCESSLIST_COMMAND, \
         t.PROCESSLIST_TIME, COALESCE(t.PROCESSLIST_INFO, s.SQL_TEXT) FROM performance_schema.threads t \
         LEFT JOIN performance_schema.events_statements_current s ON s.THREAD_ID = t.THREAD_ID \
         AND (s.NESTING_EVENT_TYPE IS NULL OR s.NESTING_EVENT_TYPE = 'TRANSACTION') \
         WHERE t.PROCESSLIST_ID IN ({})",
        ids.join(", ")
    ))?;
    let ages = inside.query(
        "SELECT trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) FROM information_schema.INNODB_TRX",
    )?;
    let ages: HashMap<u64, f64> =
        (0..ages.rows.len()).map(|row| (ages.number(row, 0) as u64, ages.number(row, 1))).collect();
    let awaited = awaited(inside)?;
    for row in 0..sessions.rows.len() {
        let id = sessions.number(row, 0) as u64;
        let Some(waiter) = waiters.iter_mut().find(|w| w.connection == id) else { continue };
        waiter.account = sessions.text(row, 2);
        waiter.command = sessions.text(row, 3);
        waiter.since_s = sessions.number(row, 4);
        waiter.statement = sessions.text(row, 5);
        waiter.transaction_s = ages.get(&id).copied();
        let thread = sessions.number(row, 1) as u64;
        waiter.waits_for = awaited.get(&thread).cloned().unwrap_or_default();
    }
    Ok(())
}

/// The locks that are waited for, by thread.
fn awaited(inside: &mut Inside) -> Result<HashMap<u64, Vec<String>>, String> {
    let rows = inside.query(
        "SELECT THREAD_ID, CONCAT(LOCK_MODE, ' on a row of ', OBJECT_SCHEMA, '.', OBJECT_NAME, ', index ', INDEX_NAME, \
         COALESCE(CONCAT(', key ', LOCK_DATA), '')) FROM performance_schema.data_locks WHERE LOCK_STATUS = 'WAITING'",
    )?;
    let metadata = inside.query(
        "SELECT OWNER_THREAD_ID, CONCAT(LOCK_TYPE, ' on ', LOWER(OBJECT_TYPE), ' ', COALESCE(CONCAT(OBJECT_SCHEMA, '.'), ''), \
         COALESCE(OBJECT_NAME, '')) FROM performance_schema.metadata_locks WHERE LOCK_STATUS = 'PENDING'",
    )?;
    let mut all: HashMap<u64, Vec<String>> = HashMap::new();
    let mut take = |table: &Rows| {
        for row in 0..table.rows.len() {
            all.entry(table.number(row, 0) as u64).or_default().push(table.text(row, 1));
        }
    };
    take(&rows);
    take(&metadata);
    Ok(all)
}
