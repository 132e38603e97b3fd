//! Figures of tables: gathered from whole trees, from samples, and found out of date.

#![allow(clippy::unwrap_used)] // tests

mod common;

use base::TrxId;
use common::{create_table, encode, key, row};
use engine::{Client, Engine, IndexSample, Table};
use host::SimDisk;
use std::sync::Arc;

const PAGES: u32 = 20;

fn filled(rows: i64) -> (Arc<Engine>, Client, Arc<Table>) {
    let (engine, ..) = common::open(&SimDisk::new(1)).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    for id in 0..rows {
        client.insert(&table, &encode(&table, &row(id, id * 7 / rows, id, 150))).unwrap();
        if id % 500 == 499 {
            client.commit().unwrap();
        }
    }
    client.commit().unwrap();
    (engine, client, table)
}

fn near(value: f64, expected: f64) -> bool {
    (expected * 0.8..=expected * 1.25).contains(&value)
}

fn by_number(engine: &Engine, table: &Table) -> Vec<IndexSample> {
    let sample = engine.analyze_table(table, PAGES).unwrap();
    sample.indexes.into_iter().map(|(_, index)| index).collect()
}

#[test]
fn a_small_table_is_counted_and_rows_marked_deleted_are_not() {
    let (engine, mut client, table) = filled(70);
    let all = by_number(&engine, &table);
    assert_eq!(all[0].distinct, [70.0]);
    assert_eq!((all[0].entries, all[0].sampled), (70.0, 0));
    // Index 1 has a column of seven values, one that is always the same, and the primary key behind them.
    assert_eq!(all[1].distinct, [7.0, 7.0, 70.0]);
    client.delete(&table, &key(&table, 3)).unwrap();
    assert_eq!(by_number(&engine, &table)[0].entries, 69.0);
    client.rollback().unwrap();
}

#[test]
fn a_large_table_is_sampled() {
    const ROWS: i64 = 20_000;
    let (engine, _client, table) = filled(ROWS);
    let sample = engine.analyze_table(&table, 10).unwrap();
    let all: Vec<IndexSample> = sample.indexes.into_iter().map(|(_, index)| index).collect();
    assert!(all[0].leaf_pages > 100 && all[0].sampled >= 10, "{:?}", all[0]);
    assert!(near(all[0].distinct[0], ROWS as f64), "{:?}", all[0]);
    assert!(all[1].sampled >= 5 && near(all[1].distinct[2], ROWS as f64), "{:?}", all[1]);
    assert!((5.0..=15.0).contains(&all[1].distinct[0]), "{:?}", all[1]);
    let pages = engine.table_pages(&table).unwrap();
    assert!(pages.clustered >= all[0].leaf_pages && pages.others > 0, "{pages:?}");
}

#[test]
fn a_look_finds_what_was_written_since() {
    let (engine, mut client, table) = filled(5000);
    let sample = engine.analyze_table(&table, PAGES).unwrap();
    let look = |engine: &Engine| engine.look_at_table(&table, TrxId(sample.mark)).unwrap();
    assert_eq!((look(&engine).changed, look(&engine).rows), (0.0, sample.looked));
    for id in (0..5000).step_by(3) {
        client.update(&table, &key(&table, id), &encode(&table, &row(id, -1, id, 150))).unwrap();
    }
    client.commit().unwrap();
    assert!((0.25..0.42).contains(&look(&engine).changed), "{:?}", look(&engine));
}
