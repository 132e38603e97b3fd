//! Indexes that nobody needs, and statements that need one, or more memory.

use super::{Asks, Found, Rule, Values};
use crate::text::quoted;

/// `schema`.`table` out of two columns.
fn table_of(row: &Values, schema: usize) -> String {
    format!("{}.{}", quoted(row.bytes(schema)), quoted(row.bytes(schema + 1)))
}

pub(super) const UNUSED_INDEX: Rule = Rule {
    name: "unused-index",
    about: "a table is read, and one of its indexes never",
    asks: Asks::Rows {
        sql: "SELECT u.OBJECT_SCHEMA, u.OBJECT_NAME, u.INDEX_NAME, t.COUNT_FETCH, t.COUNT_WRITE
              FROM performance_schema.table_io_waits_summary_by_index_usage u
              JOIN performance_schema.table_io_waits_summary_by_table t
                ON t.OBJECT_SCHEMA = u.OBJECT_SCHEMA AND t.OBJECT_NAME = u.OBJECT_NAME
              WHERE u.INDEX_NAME IS NOT NULL AND u.INDEX_NAME <> 'PRIMARY' AND u.COUNT_STAR = 0 AND t.COUNT_FETCH >= 1000
                AND u.OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema')
                AND EXISTS (SELECT 1 FROM information_schema.STATISTICS s WHERE s.TABLE_SCHEMA = u.OBJECT_SCHEMA
                    AND s.TABLE_NAME = u.OBJECT_NAME AND s.INDEX_NAME = u.INDEX_NAME AND s.NON_UNIQUE = 1 AND s.IS_VISIBLE = 'YES')
              ORDER BY t.COUNT_WRITE DESC LIMIT 5",
        judge: |rows| {
            let found = rows.iter().map(|row| Found {
                what: format!("Nobody has read by the index {} since the server started.", row.text(2)),
                figures: vec![
                    ("table", table_of(row, 0)),
                    ("rows read of the table", row.text(3)),
                    ("rows written, into the index, too", row.text(4)),
                ],
                change: format!(
                    "ALTER TABLE {} ALTER INDEX {} INVISIBLE",
                    table_of(row, 0),
                    quoted(row.bytes(2))
                ),
            });
            found.collect()
        },
    },
};

pub(super) const DUPLICATE_INDEX: Rule = Rule {
    name: "duplicate-index",
    about: "an index is the beginning of another one",
    asks: Asks::Rows {
        sql: "SELECT table_schema, table_name, redundant_index_name, redundant_index_columns, dominant_index_name, dominant_index_columns
              FROM sys.schema_redundant_indexes ORDER BY 1, 2, 3 LIMIT 5",
        judge: |rows| {
            let found = rows.iter().map(|row| Found {
                what: format!("What the index {} can do, {} does.", row.text(2), row.text(4)),
                figures: vec![
                    ("table", table_of(row, 0)),
                    ("its columns", row.text(3)),
                    ("the other's columns", row.text(5)),
                ],
                change: format!("ALTER TABLE {} DROP INDEX {}", table_of(row, 0), quoted(row.bytes(2))),
            });
            found.collect()
        },
    },
};

pub(super) const NO_INDEX: Rule = Rule {
    name: "no-index",
    about: "statements read many rows without an index, for few",
    asks: Asks::Rows {
        sql: "SELECT SCHEMA_NAME, DIGEST_TEXT, COUNT_STAR, SUM_NO_INDEX_USED, SUM_ROWS_EXAMINED, SUM_ROWS_SENT, QUERY_SAMPLE_TEXT
              FROM performance_schema.events_statements_summary_by_digest
              WHERE SUM_NO_INDEX_USED > 0 AND SUM_ROWS_EXAMINED >= 100000 AND SUM_ROWS_EXAMINED >= 100 * SUM_ROWS_SENT
                AND (SCHEMA_NAME IS NULL OR SCHEMA_NAME NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema'))
                AND DIGEST_TEXT NOT LIKE '%`performance\\_schema`%' AND DIGEST_TEXT NOT LIKE '%`information\\_schema`%'
              ORDER BY SUM_ROWS_EXAMINED DESC LIMIT 5",
        judge: |rows| {
            let found = rows.iter().map(|row| Found {
                what: format!("A statement reads whole tables: {}", row.text(1)),
                figures: vec![
                    ("schema", row.text(0)),
                    ("executions", row.text(2)),
                    ("without an index", row.text(3)),
                    ("rows read", row.text(4)),
                    ("rows sent", row.text(5)),
                ],
                change: format!("EXPLAIN {}", row.text(6)),
            });
            found.collect()
        },
    },
};

pub(super) const TEMPORARY_FILES: Rule = Rule {
    name: "temporary-files",
    about: "statements sort or group in files",
    asks: Asks::Rows {
        sql: "SELECT SCHEMA_NAME, DIGEST_TEXT, COUNT_STAR, SUM_SORT_MERGE_PASSES, SUM_CREATED_TMP_DISK_TABLES,
                (SELECT v.VARIABLE_VALUE FROM performance_schema.global_variables v WHERE v.VARIABLE_NAME = 'sort_buffer_size'),
                (SELECT v.VARIABLE_VALUE FROM performance_schema.global_variables v WHERE v.VARIABLE_NAME = 'tmp_table_size')
              FROM performance_schema.events_statements_summary_by_digest
              WHERE SUM_SORT_MERGE_PASSES + SUM_CREATED_TMP_DISK_TABLES > 0
                AND (SCHEMA_NAME IS NULL OR SCHEMA_NAME NOT IN ('mysql', 'performance_schema', 'sys', 'information_schema'))
              ORDER BY SUM_SORT_MERGE_PASSES + SUM_CREATED_TMP_DISK_TABLES DESC LIMIT 5",
        judge: |rows| {
            let found = rows.iter().map(|row| {
                let sorts = row.number(3) > 0.0;
                let (variable, column) = if sorts { ("sort_buffer_size", 5) } else { ("tmp_table_size", 6) };
                Found {
                    what: format!("A statement has more rows than memory for them: {}", row.text(1)),
                    figures: vec![
                        ("schema", row.text(0)),
                        ("executions", row.text(2)),
                        ("merge passes", row.text(3)),
                        ("temporary tables in files", row.text(4)),
                        (variable, row.text(column)),
                    ],
                    change: format!("SET PERSIST {variable} = {}", 2.0 * row.number(column)),
                }
            });
            found.collect()
        },
    },
};
