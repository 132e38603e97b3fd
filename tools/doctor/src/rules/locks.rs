//! Who is in whose way: latches, rows, views, transactions, DDL.

use super::{Asks, Found, Rule};

/// The log's writer is left out: it holds its mutex while it writes and syncs for everybody who waits, by design.
pub(super) const HELD_LATCH: Rule = Rule {
    name: "held-latch",
    about: "a latch is held most of the time",
    asks: Asks::Rows {
        sql: "SELECT EVENT_NAME, HELD_PERCENT, ACQUISITIONS_PER_SECOND, CONTENDED, WINDOW_SECONDS
              FROM performance_schema.limpid_latch_holds
              WHERE HELD_PERCENT >= 50 AND WINDOW_SECONDS >= 1 AND EVENT_NAME NOT LIKE '%/log_writer_mutex'
              ORDER BY HELD_PERCENT DESC LIMIT 5",
        judge: |rows| {
            let found = rows.iter().map(|row| Found {
                what: format!("{} is held most of the time: who needs it waits, and more cores do not help.", row.text(0)),
                figures: vec![
                    ("HELD_PERCENT", row.text(1)),
                    ("ACQUISITIONS_PER_SECOND", row.text(2)),
                    ("CONTENDED", row.text(3)),
                    ("WINDOW_SECONDS", row.text(4)),
                ],
                change: "SELECT EVENT_NAME, SQL_TEXT, COUNT(*) FROM performance_schema.limpid_session_samples \
                         WHERE EVENT_NAME LIKE 'wait/synch/%' GROUP BY 1, 2 ORDER BY 3 DESC"
                    .into(),
            });
            found.collect()
        },
    },
};

pub(super) const HOT_ROWS: Rule = Rule {
    name: "hot-rows",
    about: "sessions wait for rows of each other much of the time",
    asks: Asks::Figures {
        status: &[
            "Innodb_row_lock_waits",
            "Innodb_row_lock_time",
            "Innodb_row_lock_time_max",
            "Uptime",
        ],
        variables: &[],
        judge: |f| {
            /// Sessions that wait for rows, on an average of all the time.
            const WAITERS_MAX: f64 = 0.1;
            const WAITS_MIN: f64 = 5.0;
            let waited_s = f.number("Innodb_row_lock_time") / 1000.0;
            let waiters = waited_s / f.number("Uptime").max(1.0);
            if f.number("Innodb_row_lock_waits") < WAITS_MIN || waiters < WAITERS_MAX {
                return Vec::new();
            }
            vec![Found {
                what: format!("{waiters:.1} sessions wait for locked rows on an average."),
                figures: vec![
                    f.told("Innodb_row_lock_waits"),
                    f.told("Innodb_row_lock_time"),
                    f.told("Innodb_row_lock_time_max"),
                    f.told("Uptime"),
                ],
                change: "SELECT locked_table, locked_index, blocking_pid, blocking_query, COUNT(*) FROM sys.innodb_lock_waits \
                         GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC"
                    .into(),
            }]
        },
    },
};

pub(super) const OLD_VIEW: Rule = Rule {
    name: "old-view",
    about: "an old transaction keeps the history of changes from being purged",
    asks: Asks::Rows {
        sql: "SELECT h.COUNT, t.trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()), t.trx_query
              FROM information_schema.INNODB_METRICS h
              LEFT JOIN (SELECT * FROM information_schema.INNODB_TRX ORDER BY trx_started LIMIT 1) t ON TRUE
              WHERE h.NAME = 'trx_rseg_history_len'",
        judge: |rows| {
            /// A history so long is too long, or one so long beside a transaction that is so old.
            const CHANGES_MAX: f64 = 10_000.0;
            const CHANGES_BESIDE_OLD: f64 = 1000.0;
            const AGE_S: f64 = 60.0;
            let is_wrong = |changes: f64, age_s: f64| {
                changes >= CHANGES_MAX || (changes >= CHANGES_BESIDE_OLD && age_s >= AGE_S)
            };
            let wrong = rows.iter().filter(|row| is_wrong(row.number(0), row.number(2)));
            let found = wrong.map(|row| {
                let id = row.text(1);
                Found {
                    what: match id.as_str() {
                        "" => "Purge does not follow the changes.".into(),
                        _ => "Changes are kept that the oldest transaction could ask for.".into(),
                    },
                    figures: vec![
                        ("trx_rseg_history_len", row.text(0)),
                        ("connection of the oldest transaction", id.clone()),
                        ("its age in seconds", row.text(2)),
                        ("its statement", row.text(3)),
                    ],
                    change: match id.as_str() {
                        "" => "SET PERSIST_ONLY innodb_purge_threads = 8".into(),
                        id => format!("KILL {id}"),
                    },
                }
            });
            found.collect()
        },
    },
};

pub(super) const IDLE_BLOCKER: Rule = Rule {
    name: "idle-blocker",
    about: "an idle session keeps locks that others wait for",
    asks: Asks::Rows {
        sql: "SELECT b.PROCESSLIST_ID, b.PROCESSLIST_USER, b.PROCESSLIST_TIME, COUNT(*) FROM (
                SELECT BLOCKING_THREAD_ID AS id, REQUESTING_THREAD_ID AS waiter FROM performance_schema.data_lock_waits
                UNION SELECT blocking_thread_id, waiting_thread_id FROM sys.schema_table_lock_waits) w
              JOIN performance_schema.threads b ON b.THREAD_ID = w.id
              WHERE b.PROCESSLIST_COMMAND = 'Sleep' AND b.PROCESSLIST_TIME >= 2 AND w.id <> w.waiter
              GROUP BY 1, 2, 3 ORDER BY 4 DESC, 3 DESC LIMIT 5",
        judge: |rows| {
            let found = rows.iter().map(|row| Found {
                what: format!("Connection {} is idle within a transaction, and others wait for it.", row.text(0)),
                figures: vec![
                    ("connection", row.text(0)),
                    ("user", row.text(1)),
                    ("idle seconds", row.text(2)),
                    ("waiting sessions", row.text(3)),
                ],
                change: format!("KILL {}", row.text(0)),
            });
            found.collect()
        },
    },
};

pub(super) const WAITING_DDL: Rule = Rule {
    name: "waiting-ddl",
    about: "a change of a table waits for who uses it",
    asks: Asks::Rows {
        sql: "SELECT m.OBJECT_SCHEMA, m.OBJECT_NAME, t.PROCESSLIST_ID, t.PROCESSLIST_TIME, t.PROCESSLIST_INFO,
                (SELECT MIN(b.blocking_pid) FROM sys.schema_table_lock_waits b
                 WHERE b.waiting_pid = t.PROCESSLIST_ID AND b.blocking_pid <> b.waiting_pid)
              FROM performance_schema.metadata_locks m JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID
              WHERE m.OBJECT_TYPE = 'TABLE' AND m.LOCK_STATUS = 'PENDING' AND t.PROCESSLIST_TIME >= 2
                AND m.LOCK_TYPE IN ('EXCLUSIVE', 'SHARED_NO_WRITE', 'SHARED_NO_READ_WRITE', 'SHARED_UPGRADABLE')
              ORDER BY t.PROCESSLIST_TIME DESC LIMIT 5",
        judge: |rows| {
            let found = rows.iter().map(|row| Found {
                what: format!("A statement waits for all who use {}.{}.", row.text(0), row.text(1)),
                figures: vec![
                    ("connection", row.text(2)),
                    ("seconds", row.text(3)),
                    ("statement", row.text(4)),
                    ("connection in its way", row.text(5)),
                ],
                change: match row.text(5).as_str() {
                    "" => format!("KILL QUERY {}", row.text(2)),
                    blocker => format!("KILL {blocker}"),
                },
            });
            found.collect()
        },
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    /// No latch of a server in good order is held so long.
    #[test]
    fn a_latch_that_is_held_is_told() {
        let row = ["wait/synch/mutex/limpid/x", "87.5", "1200", "900", "10.0"];
        let row = row.map(|cell| Some(cell.into())).to_vec();
        let asked = HELD_LATCH.ask(&mut crate::rules::tests::Answers(Ok(vec![row])));
        let found = asked.unwrap_or_default();
        assert!(found[0].what.starts_with("wait/synch/mutex/limpid/x is held"), "{found:?}");
        assert_eq!(found[0].figures[0], ("HELD_PERCENT", "87.5".to_string()));
        let none = HELD_LATCH.ask(&mut crate::rules::tests::Answers(Ok(Vec::new())));
        assert!(none.unwrap_or_default().is_empty());
    }
}
