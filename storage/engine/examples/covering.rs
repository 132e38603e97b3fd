//! Instructions of a row that an index range reads, in the three ways there are:
//! `valgrind --tool=callgrind --toggle-collect='*covering::WAY*'` with WAY one of `by_entries` (the index
//! alone), `by_rows` (the index and its rows) and `by_table` (the rows, in their own order) over
//! `covering [rounds]`; the total divided by 20,000 times the rounds is one row.

use base::Isolation;
use engine::{Client, Direction, Engine, EngineConfig, Error, IndexId, IndexSpec, KeyPart};
use engine::{Reader, Result, Table, TableId, TableSpec};
use host::SimDisk;
use std::ops::Bound;
use value::{Collation, ColumnType, Datum, Kind};

const ROWS: i64 = 20_000;
/// `id` and `k`.
const NEEDED: [usize; 2] = [0, 1];

/// Sysbench's table.
fn spec() -> TableSpec {
    let int = ColumnType::int(Kind::Int, false).not_null();
    let char = |n| ColumnType::char(n, Collation::default()).not_null();
    let k = IndexSpec {
        id: IndexId(2),
        name: "k".into(),
        unique: false,
        parts: vec![KeyPart::whole(1)],
    };
    TableSpec {
        id: TableId(1),
        name: "sbtest".into(),
        columns: vec![int, int, char(120), char(60)],
        clustered_id: IndexId(1),
        clustered: vec![KeyPart::whole(0)],
        secondaries: vec![k],
        autoinc_column: None,
        older: Vec::new(),
        private: false,
    }
}

/// Reads a whole index; the sum of the numbers.
fn read(client: &Client, table: &Table, index: usize, alone: bool) -> Result<i64> {
    let mut reader = Reader::new();
    let all = (Bound::Unbounded, Bound::Unbounded);
    reader.open(client, table, index, all, Direction::Forward)?;
    match alone {
        true => reader.need_only(table, &NEEDED),
        false => reader.need(&NEEDED),
    }
    let (mut row, mut sum, mut rows) = (Vec::new(), 0, 0);
    while reader.next_where(client, table, &mut row, &mut |_| true)? {
        rows += 1;
        if let Ok(Datum::Int(k)) = table.layout().decode(&row, 1) {
            sum += k;
        }
    }
    if rows == ROWS { Ok(sum) } else { Err(Error::Internal("rows are missing")) }
}

#[inline(never)]
fn by_entries(client: &Client, table: &Table) -> Result<i64> {
    read(client, table, 1, true)
}

#[inline(never)]
fn by_rows(client: &Client, table: &Table) -> Result<i64> {
    read(client, table, 1, false)
}

#[inline(never)]
fn by_table(client: &Client, table: &Table) -> Result<i64> {
    read(client, table, 0, false)
}

fn main() -> Result<()> {
    let rounds: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(5);
    let config = EngineConfig {
        pool_bytes: 64 << 20,
        system_tables: vec![spec()],
        ..EngineConfig::default()
    };
    let (engine, _) = Engine::open(config, SimDisk::new(1))?;
    let table = engine.system_table(0);
    let mut client = engine.client()?;
    let (c, pad, mut row) = ([b'c'; 119], [b'p'; 59], Vec::new());
    for id in 0..ROWS {
        let values =
            [Datum::Int(id), Datum::Int(id * 7919 % ROWS), Datum::Bytes(&c), Datum::Bytes(&pad)];
        row.clear();
        let encoded = table.layout().encode(&values, &mut row);
        encoded.map_err(|_| Error::Internal("a row of the example"))?;
        client.insert(&table, &row)?;
    }
    client.commit()?;
    engine.refresh_views();
    client.set_isolation(Isolation::RepeatableRead);
    client.set_spans_statements(true);
    for _ in 0..rounds {
        let sums =
            [by_entries(&client, &table)?, by_rows(&client, &table)?, by_table(&client, &table)?];
        if sums != [sums[0]; 3] {
            return Err(Error::Internal("the ways do not agree"));
        }
    }
    Ok(())
}
