//! Many readers over one client: forwards, backwards, side by side, and while the client writes.

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{create_table, decode, encode, key, row};
use engine::{Client, Direction, Reader, Table};
use host::SimDisk;
use std::ops::Bound;
use std::sync::Arc;

const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);
const ROWS: i64 = 400;

fn filled() -> (Arc<engine::Engine>, Client, Arc<Table>) {
    let (engine, ..) = common::open(&SimDisk::new(1)).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    for id in 0..ROWS {
        client.insert(&table, &encode(&table, &row(id, id % 20, id, 200))).unwrap();
    }
    client.commit().unwrap();
    (engine, client, table)
}

fn ids(reader: &mut Reader, client: &Client, table: &Table) -> Vec<i64> {
    let (mut out, mut found) = (Vec::new(), Vec::new());
    while reader.next(client, table, &mut out).unwrap() {
        found.push(decode(table.layout(), &out).id);
    }
    found
}

#[test]
fn a_range_backwards_is_the_range_forwards_reversed_in_every_index() {
    let (_engine, client, table) = filled();
    let mut reader = Reader::new();
    for index in 0..table.indexes() {
        reader.open(&client, &table, index, ALL, Direction::Forward).unwrap();
        let mut forward = ids(&mut reader, &client, &table);
        reader.open(&client, &table, index, ALL, Direction::Backward).unwrap();
        let backward = ids(&mut reader, &client, &table);
        assert_eq!(forward.len(), ROWS as usize);
        forward.reverse();
        assert_eq!(forward, backward, "index {index}");
    }
    let (low, high) = (key(&table, 100), key(&table, 105));
    let range = (Bound::Excluded(&low[..]), Bound::Included(&high[..]));
    reader.open(&client, &table, 0, range, Direction::Backward).unwrap();
    assert_eq!(ids(&mut reader, &client, &table), [105, 104, 103, 102, 101]);
}

#[test]
fn readers_of_one_client_do_not_disturb_each_other() {
    let (_engine, client, table) = filled();
    let (mut outer, mut inner, mut point) = (Reader::new(), Reader::new(), Reader::new());
    outer.open(&client, &table, 0, ALL, Direction::Forward).unwrap();
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    let mut pairs = 0;
    for id in 0..40 {
        assert!(outer.next(&client, &table, &mut a).unwrap());
        assert_eq!(decode(table.layout(), &a).id, id);
        assert_eq!(outer.key(), key(&table, id));
        inner.open(&client, &table, 1, ALL, Direction::Backward).unwrap();
        while inner.next(&client, &table, &mut b).unwrap() {
            pairs += 1;
        }
        assert!(point.get(&client, &table, &key(&table, ROWS - 1 - id), &mut c).unwrap());
        assert_eq!(decode(table.layout(), &c).id, ROWS - 1 - id);
    }
    assert_eq!(pairs, 40 * ROWS);
    assert!(!point.get(&client, &table, &key(&table, ROWS), &mut c).unwrap());
}

#[test]
fn a_client_writes_while_its_readers_are_open() {
    let (_engine, mut client, table) = filled();
    let mut reader = Reader::new();
    reader.open(&client, &table, 0, ALL, Direction::Forward).unwrap();
    let (mut out, mut seen) = (Vec::new(), Vec::new());
    while reader.next(&client, &table, &mut out).unwrap() {
        let id = decode(table.layout(), &out).id;
        seen.push(id);
        // Behind the reader: never seen again. The row itself changes its secondary keys.
        let changed = encode(&table, &row(id, -1, ROWS + id, 10));
        assert!(client.update(&table, reader.key(), &changed).unwrap());
    }
    assert_eq!(seen, (0..ROWS).collect::<Vec<_>>());
    reader.open(&client, &table, 2, ALL, Direction::Backward).unwrap();
    assert_eq!(ids(&mut reader, &client, &table), (0..ROWS).rev().collect::<Vec<_>>());
    client.rollback().unwrap();
}

#[test]
fn the_number_of_rows_is_estimated_to_a_factor_of_two() {
    let (_engine, _client, table) = filled();
    let estimate = table.estimated_rows().unwrap();
    assert!((ROWS as u64 / 2..=ROWS as u64 * 2).contains(&estimate), "{estimate}");
}
