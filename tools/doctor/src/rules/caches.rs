//! Caches that are too small, and instances of which one does the work of all.

use super::{Asks, Found, Rule, Values};

/// Of so many look-ups one that overflows is too many.
const LOOKUPS_PER_OVERFLOW: f64 = 100.0;
const OVERFLOWS_MIN: f64 = 10.0;

pub(super) const TABLE_CACHE: Rule = Rule {
    name: "table-cache",
    about: "the table cache overflows",
    asks: Asks::Figures {
        status: &["Table_open_cache_hits", "Table_open_cache_misses", "Table_open_cache_overflows"],
        variables: &["table_open_cache"],
        judge: |f| {
            let overflows = f.number("Table_open_cache_overflows");
            let lookups = f.number("Table_open_cache_hits") + f.number("Table_open_cache_misses");
            if overflows < OVERFLOWS_MIN || overflows * LOOKUPS_PER_OVERFLOW < lookups {
                return Vec::new();
            }
            vec![Found {
                what: "Tables are closed to make room in the table cache, and opened again.".into(),
                figures: vec![
                    f.told("Table_open_cache_overflows"),
                    f.told("Table_open_cache_misses"),
                    f.told("Table_open_cache_hits"),
                    f.told("table_open_cache"),
                ],
                change: format!(
                    "SET PERSIST table_open_cache = {}",
                    2.0 * f.number("table_open_cache")
                ),
            }]
        },
    },
};

pub(super) const DEFINITION_CACHE: Rule = Rule {
    name: "definition-cache",
    about: "the definition cache is full, and definitions are read again and again",
    asks: Asks::Figures {
        status: &["Open_table_definitions", "Opened_table_definitions"],
        variables: &["table_definition_cache"],
        judge: |f| {
            /// How often each is read until that is too often.
            const READS_MAX: f64 = 2.0;
            let room = f.number("table_definition_cache");
            let is_full = f.number("Open_table_definitions") >= 0.9 * room;
            if !is_full || f.number("Opened_table_definitions") <= READS_MAX * room {
                return Vec::new();
            }
            vec![Found {
                what: "Definitions of tables go to make room for others, and are read again."
                    .into(),
                figures: vec![
                    f.told("Open_table_definitions"),
                    f.told("Opened_table_definitions"),
                    f.told("table_definition_cache"),
                ],
                change: format!("SET PERSIST table_definition_cache = {}", 2.0 * room),
            }]
        },
    },
};

/// An instance that does so many times its share is too much.
const SHARE_MAX: f64 = 2.0;

/// The largest of a column's values, and their sum, if the largest is out of proportion among so many instances.
fn skewed(rows: &[Values], column: usize, instances: usize, sum_min: f64) -> Option<(f64, f64)> {
    let values = rows.iter().map(|row| row.number(column));
    let (largest, sum) =
        values.fold((0.0, 0.0), |(most, sum): (f64, f64), n| (most.max(n), sum + n));
    let share = sum / instances as f64;
    // Of two, one can have no more than twice its share.
    let limit = if instances == 2 { 1.8 } else { SHARE_MAX };
    (instances > 1 && sum >= sum_min && largest > limit * share).then_some((largest, sum))
}

pub(super) const TABLE_CACHE_INSTANCES: Rule = Rule {
    name: "table-cache-instances",
    about: "one instance of the table cache does the work of all",
    asks: Asks::Rows {
        sql: "SELECT OBJECT_INSTANCE_BEGIN, COUNT_STAR,
                (SELECT v.VARIABLE_VALUE FROM performance_schema.global_variables v WHERE v.VARIABLE_NAME = 'limpid_table_cache_local'),
                (SELECT v.VARIABLE_VALUE FROM performance_schema.global_variables v WHERE v.VARIABLE_NAME = 'table_open_cache_instances')
              FROM performance_schema.events_waits_summary_by_instance
              WHERE EVENT_NAME = 'wait/synch/mutex/sql/LOCK_table_cache'",
        judge: |rows| {
            const ACQUISITIONS_MIN: f64 = 1000.0;
            // Those that nobody has used yet may be missing.
            let all = rows.first().map_or(0.0, |row| row.number(3)) as usize;
            let instances = rows.len().max(all);
            let found = skewed(rows, 1, instances, ACQUISITIONS_MIN).map(|(largest, sum)| Found {
                what: "Most sessions use one instance of the table cache.".into(),
                figures: vec![
                    ("instances", instances.to_string()),
                    ("acquisitions of the busiest", largest.to_string()),
                    ("acquisitions of all", sum.to_string()),
                ],
                change: match rows.iter().any(|row| row.text(2) == "OFF") {
                    true => "SET PERSIST limpid_table_cache_local = ON".into(),
                    false => format!("SET PERSIST_ONLY table_open_cache_instances = {}", 2 * instances),
                },
            });
            found.into_iter().collect()
        },
    },
};

pub(super) const POOL_INSTANCES: Rule = Rule {
    name: "buffer-pool-instances",
    about: "one instance of the buffer pool does the work of all",
    asks: Asks::Rows {
        sql: "SELECT POOL_ID, DATABASE_PAGES FROM information_schema.INNODB_BUFFER_POOL_STATS",
        judge: |rows| {
            /// Pages go to instances by extents: so many of each, on an average, lie evenly.
            const PAGES_MIN: f64 = 512.0;
            let found =
                skewed(rows, 1, rows.len(), PAGES_MIN * rows.len() as f64).map(|(largest, sum)| {
                    Found {
                        what: "Most pages lie in one instance of the buffer pool.".into(),
                        figures: vec![
                            ("instances", rows.len().to_string()),
                            ("pages of the fullest", largest.to_string()),
                            ("pages of all", sum.to_string()),
                        ],
                        change: "SET PERSIST_ONLY innodb_buffer_pool_instances = 1".into(),
                    }
                });
            found.into_iter().collect()
        },
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_out_of_proportion_beside_others_alone() {
        let rows = |values: &[u32]| -> Vec<Values> {
            values.iter().map(|n| Values(vec![None, Some(n.to_string().into())])).collect()
        };
        let of = |values: &[u32]| skewed(&rows(values), 1, values.len(), 100.0).is_some();
        assert_eq!(
            [of(&[1000]), of(&[500, 500]), of(&[950, 50]), of(&[60, 0])],
            [false, false, true, false]
        );
        assert_eq!([of(&[100, 100, 100, 150]), of(&[900, 20, 30, 50])], [false, true]);
    }

    /// What a real server is told is in `tests/doctor.rs`; these are the limits.
    #[test]
    fn uneven_instances_of_the_pool_are_told() {
        let pages = |all: [u32; 4]| {
            let row = |(n, pages): (usize, u32)| {
                vec![Some(n.to_string().into()), Some(pages.to_string().into())]
            };
            let rows = all.into_iter().enumerate().map(row).collect();
            let asked = POOL_INSTANCES.ask(&mut crate::rules::tests::Answers(Ok(rows)));
            asked.unwrap_or_default()
        };
        assert!(pages([900, 1000, 1100, 1500]).is_empty() && pages([1, 1, 1, 900]).is_empty());
        let found = pages([100, 100, 100, 5000]);
        assert_eq!(found[0].change, "SET PERSIST_ONLY innodb_buffer_pool_instances = 1");
        assert_eq!(found[0].figures[1], ("pages of the fullest", "5000".to_string()));
    }
}
