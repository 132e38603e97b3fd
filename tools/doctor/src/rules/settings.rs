//! The redo log, what instruments have lost, and settings that lose commits.

use super::{Asks, Found, Rule};

pub(super) const REDO_PACING: Rule = Rule {
    name: "redo-pacing",
    about: "the redo log is too small: writers wait for it, or for checkpoints",
    asks: Asks::Figures {
        status: &[
            "Innodb_log_waits",
            "Innodb_redo_log_current_lsn",
            "Innodb_redo_log_checkpoint_lsn",
            "Uptime",
        ],
        variables: &["innodb_redo_log_capacity", "innodb_log_buffer_size"],
        judge: |f| {
            /// Part of the log that may lie behind the last checkpoint.
            const AGE_MAX: f64 = 0.75;
            const WAITS_PER_HOUR_MAX: f64 = 10.0;
            let capacity = f.number("innodb_redo_log_capacity");
            let age = f.number("Innodb_redo_log_current_lsn")
                - f.number("Innodb_redo_log_checkpoint_lsn");
            let hours = (f.number("Uptime") / 3600.0).max(1.0);
            let (waits, is_full) = (f.number("Innodb_log_waits"), age >= AGE_MAX * capacity);
            if !is_full && waits < WAITS_PER_HOUR_MAX * hours {
                return Vec::new();
            }
            vec![Found {
                what: "Writers wait for the redo log.".into(),
                figures: vec![
                    ("checkpoint age", age.to_string()),
                    f.told("innodb_redo_log_capacity"),
                    f.told("Innodb_log_waits"),
                    f.told("innodb_log_buffer_size"),
                ],
                change: format!("SET PERSIST innodb_redo_log_capacity = {}", 2.0 * capacity),
            }]
        },
    },
};

pub(super) const LOST_INSTRUMENTS: Rule = Rule {
    name: "lost-instruments",
    about: "the Performance Schema had no room for something",
    asks: Asks::Rows {
        sql:
            "SELECT s.VARIABLE_NAME, s.VARIABLE_VALUE,
                (SELECT v.VARIABLE_VALUE FROM performance_schema.global_variables v
                 WHERE v.VARIABLE_NAME = 'performance_schema_memory_limit'),
                IFNULL(v.VARIABLE_NAME, ''), IFNULL(v.VARIABLE_VALUE, '-1')
              FROM (SELECT VARIABLE_NAME, VARIABLE_VALUE,
                           REPLACE(REPLACE(LOWER(VARIABLE_NAME), 'performance_schema_', ''), '_lost', '') AS lost
                    FROM performance_schema.global_status
                    WHERE VARIABLE_NAME LIKE 'Performance\\_schema\\_%\\_lost' AND VARIABLE_VALUE + 0 > 0) AS s
              LEFT JOIN performance_schema.global_variables v ON v.VARIABLE_NAME IN (
                CONCAT('performance_schema_', s.lost, '_size'), CONCAT('performance_schema_', s.lost, 's_size'),
                CONCAT('performance_schema_max_', s.lost), CONCAT('performance_schema_max_', s.lost, 's'),
                CONCAT('performance_schema_max_', s.lost, '_instances'))",
        judge: |rows| {
            let found = rows.iter().map(|row| Found {
                what: format!("Figures are incomplete: {} is not zero.", row.text(0)),
                figures: vec![
                    ("lost", row.text(1)),
                    ("performance_schema_memory_limit", row.text(2)),
                    ("size", row.text(4)),
                ],
                change: format!("SET PERSIST_ONLY {}", enough(&row.text(3), row.number(4))),
            });
            found.collect()
        },
    },
};

/// What loses nothing of that whose size this is, where the size is to blame.
fn enough(size: &str, rows: f64) -> String {
    // These are never -1.
    let is_counted = |end: &&str| size.ends_with(*end);
    let counted = ["_classes", "_handles", "_connect_attrs_size"].iter().any(is_counted);
    match size {
        "performance_schema_digests_size" if rows >= 0.0 => {
            format!("{size} = {}", (rows * 2.0).max(100_000.0))
        }
        _ if rows < 0.0 => "performance_schema_memory_limit = -1".into(),
        _ if counted => format!("{size} = {}", (rows * 2.0).max(100.0)),
        _ => format!("{size} = -1"),
    }
}

/// Variable, the value that loses nothing, what others lose.
const SAFE: &[(&str, &str, &str)] = &[
    (
        "innodb_flush_log_at_trx_commit",
        "1",
        "The last second of commits is lost when the machine fails.",
    ),
    ("innodb_doublewrite", "ON", "A page that was half written when the machine failed is lost."),
    ("sync_binlog", "1", "The binary log may lack commits when the machine fails."),
];

pub(super) const LOST_COMMITS: Rule = Rule {
    name: "lost-commits",
    about: "a setting lets commits be lost",
    asks: Asks::Rows {
        sql: "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_variables
              WHERE VARIABLE_NAME = 'innodb_flush_log_at_trx_commit' AND VARIABLE_VALUE <> '1'
                 OR VARIABLE_NAME = 'innodb_doublewrite' AND VARIABLE_VALUE IN ('OFF', 'DETECT_ONLY', 'FALSE', '0')
                 OR VARIABLE_NAME = 'sync_binlog' AND VARIABLE_VALUE <> '1' AND EXISTS (
                    SELECT 1 FROM performance_schema.global_variables l WHERE l.VARIABLE_NAME = 'log_bin' AND l.VARIABLE_VALUE IN ('ON', '1'))",
        judge: |rows| {
            let found = rows.iter().filter_map(|row| {
                let name = row.text(0);
                let (name, value, what) = SAFE.iter().find(|(safe, ..)| name.eq_ignore_ascii_case(safe))?;
                let set = if *name == "innodb_doublewrite" { "PERSIST_ONLY" } else { "PERSIST" };
                Some(Found {
                    what: (*what).into(),
                    figures: vec![(*name, row.text(1))],
                    change: format!("SET {set} {name} = {value}"),
                })
            });
            found.collect()
        },
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::Answers;

    #[test]
    fn the_size_that_was_too_small_is_named() {
        let change = |size: &str, rows: &str| {
            let row = ["Performance_schema_x_lost", "7", "1000", size, rows];
            let row = row.map(|cell| Some(cell.into())).to_vec();
            let found = LOST_INSTRUMENTS.ask(&mut Answers(Ok(vec![row]))).unwrap_or_default();
            found[0].change.strip_prefix("SET PERSIST_ONLY ").unwrap_or_default().to_string()
        };
        let size = |name: &str| format!("performance_schema_{name}");
        assert_eq!(change("", "-1"), "performance_schema_memory_limit = -1");
        assert_eq!(change(&size("users_size"), "-1"), "performance_schema_memory_limit = -1");
        assert_eq!(change(&size("users_size"), "5"), size("users_size = -1"));
        assert_eq!(change(&size("digests_size"), "0"), size("digests_size = 100000"));
        let attributes = "session_connect_attrs_size";
        assert_eq!(change(&size(attributes), "512"), size(&format!("{attributes} = 1024")));
        assert_eq!(change(&size("max_mutex_classes"), "0"), size("max_mutex_classes = 100"));
    }

    /// Only a server with a binary log has this one.
    #[test]
    fn a_binary_log_that_is_not_synced_is_told() {
        let row = ["sync_binlog", "0"].map(|cell| Some(cell.into())).to_vec();
        let found = LOST_COMMITS.ask(&mut Answers(Ok(vec![row]))).unwrap_or_default();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "The binary log may lack commits when the machine fails.");
        assert_eq!(found[0].figures, [("sync_binlog", "0".to_string())]);
        assert_eq!(found[0].change, "SET PERSIST sync_binlog = 1");
    }
}
