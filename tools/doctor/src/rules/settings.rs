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
            "SELECT VARIABLE_NAME, VARIABLE_VALUE,
                (SELECT v.VARIABLE_VALUE FROM performance_schema.global_variables v
                 WHERE v.VARIABLE_NAME = 'performance_schema_memory_limit')
              FROM performance_schema.global_status
              WHERE VARIABLE_NAME LIKE 'Performance\\_schema\\_%\\_lost' AND VARIABLE_VALUE + 0 > 0",
        judge: |rows| {
            let found = rows.iter().map(|row| Found {
                what: format!("Figures are incomplete: {} is not zero.", row.text(0)),
                figures: vec![
                    ("lost", row.text(1)),
                    ("performance_schema_memory_limit", row.text(2)),
                ],
                change: match row.text(0).as_str() {
                    "Performance_schema_digest_lost" => {
                        "SET PERSIST_ONLY performance_schema_digests_size = 100000".into()
                    }
                    _ => "SET PERSIST_ONLY performance_schema_memory_limit = -1".into(),
                },
            });
            found.collect()
        },
    },
};

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
