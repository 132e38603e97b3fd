//! What the engine's tests share: a dictionary of one table, rows of one shape, and checks.
#![allow(dead_code, clippy::disallowed_types)] // every test file uses its own part

use engine::{
    Client, ColumnType, Direction, Engine, EngineConfig, Error, IndexId, IndexSpec, KeyPart,
    OlderRows, PageNo, Reader, RecoveryReport, Result, SpaceId, Table, TableId, TableSpec,
    TableStorage,
};
use host::{Disk, SimDisk};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};
use value::row::Origin;
use value::{Collation, Datum, KeySpec, Kind, OwnedDatum, RowLayout};

/// A row of a test table: key, indexed number, unique number, padding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub id: i64,
    pub a: Option<i64>,
    pub u: Option<i64>,
    pub pad: Vec<u8>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Row({} {:?} {:?} {} bytes)", self.id, self.a, self.u, self.pad.len())
    }
}

pub fn columns() -> Vec<ColumnType> {
    vec![
        ColumnType::int(Kind::BigInt, false).not_null(),
        ColumnType::int(Kind::Int, false),
        ColumnType::int(Kind::BigInt, false),
        ColumnType::large(Kind::LongBlob, Collation::Binary).not_null(),
    ]
}

/// The table's present layout and those before: columns come with each odd one, and go with the next.
fn lay_out(spec: &mut TableSpec, version: usize) {
    let columns_of = |version: usize| {
        let mut columns = columns();
        if version % 2 == 1 {
            columns.push(ColumnType::int(Kind::BigInt, false).not_null());
            columns.push(ColumnType::large(Kind::LongBlob, Collation::Binary));
        }
        columns
    };
    spec.columns = columns_of(version);
    let added = [OwnedDatum::Int(ADDED), OwnedDatum::Bytes(b"added".to_vec())];
    let kept = (0..columns().len()).map(Origin::Column);
    let new = added.into_iter().map(Origin::Value);
    let origins: Vec<Origin> = kept.chain(new).take(spec.columns.len()).collect();
    let older = |v| OlderRows { columns: columns_of(v), origins: origins.clone() };
    spec.older = (0..version).map(older).collect();
}

/// What the number column that came later has in rows of before.
const ADDED: i64 = -7;
/// A row with as long a padding has it in the other column that came later, too.
const DOUBLED_BYTES: usize = 3000;

pub fn encode(table: &Table, row: &Row) -> Vec<u8> {
    let number = |n: Option<i64>| n.map_or(Datum::Null, Datum::Int);
    let mut datums = vec![Datum::Int(row.id), number(row.a), number(row.u), Datum::Bytes(&row.pad)];
    if table.layout().columns() > datums.len() {
        let doubled = row.pad.len() >= DOUBLED_BYTES;
        datums.push(Datum::Int(row.id));
        datums.push(if doubled { Datum::Bytes(&row.pad) } else { Datum::Null });
    }
    let mut out = Vec::new();
    table.layout().encode(&datums, &mut out).expect("the row fits its columns");
    out
}

pub fn decode(layout: &RowLayout, bytes: &[u8]) -> Row {
    let number = |i| match layout.decode(bytes, i).expect("a whole row") {
        Datum::Int(n) => Some(n),
        Datum::Null => None,
        other => panic!("{other:?} in column {i}"),
    };
    let Datum::Bytes(pad) = layout.decode(bytes, 3).expect("a whole row") else {
        panic!("padding is bytes")
    };
    if layout.columns() > columns().len() {
        let of = |column| layout.decode(bytes, column).expect("a whole row");
        let doubled = if pad.len() >= DOUBLED_BYTES { Datum::Bytes(pad) } else { Datum::Null };
        match of(4) {
            Datum::Int(ADDED) => assert_eq!(of(5), Datum::Bytes(b"added")),
            of_row => assert_eq!((of_row, of(5)), (of(0), doubled)),
        }
    }
    Row { id: number(0).expect("not null"), a: number(1), u: number(2), pad: pad.to_vec() }
}

pub fn key(table: &Table, id: i64) -> Vec<u8> {
    let mut out = Vec::new();
    KeySpec::new(vec![KeyPart::whole(0)])
        .encode_prefix(&table.spec().columns, &[Datum::Int(id)], &mut out)
        .expect("a key");
    out
}

/// The dictionary: table id and definition.
pub fn system_spec() -> TableSpec {
    TableSpec {
        id: TableId(1),
        name: "dictionary".into(),
        columns: vec![
            ColumnType::int(Kind::BigInt, false).not_null(),
            ColumnType::varbinary(2000).not_null(),
        ],
        clustered_id: IndexId(1),
        clustered: vec![KeyPart::whole(0)],
        secondaries: Vec::new(),
        autoinc_column: None,
        older: Vec::new(),
        private: false,
    }
}

pub fn config() -> EngineConfig {
    EngineConfig {
        pool_bytes: 64 * base::PAGE_BYTES,
        log_ring_bytes: 256 << 10,
        redo_capacity_bytes: 2 << 20,
        sessions_max: 16,
        workers_max: 16,
        trx_states: 4096,
        system_tables: vec![system_spec()],
        // A seed must replay: no threads.
        recovery_threads: 1,
        ..EngineConfig::default()
    }
}

/// Columns of the index that a test makes later.
pub fn extra_index(id: IndexId, unique: bool) -> IndexSpec {
    let parts = vec![KeyPart::whole(1), KeyPart::whole(2)];
    IndexSpec { id, name: "extra".into(), unique, parts }
}

/// INDEX a (a, pad(12)), UNIQUE u (u).
fn secondaries(a: IndexId, u: IndexId) -> Vec<IndexSpec> {
    let parts = vec![KeyPart::whole(1), KeyPart::prefix(3, 12)];
    let a = IndexSpec { id: a, name: "a".into(), unique: false, parts };
    let parts = vec![KeyPart::whole(2)];
    vec![a, IndexSpec { id: u, name: "u".into(), unique: true, parts }]
}

pub fn spec(engine: &Engine, hidden: bool) -> Result<TableSpec> {
    Ok(TableSpec {
        id: engine.new_table_id()?,
        name: "t".into(),
        columns: columns(),
        clustered_id: engine.new_index_id()?,
        clustered: if hidden { Vec::new() } else { vec![KeyPart::whole(0)] },
        secondaries: secondaries(engine.new_index_id()?, engine.new_index_id()?),
        autoinc_column: (!hidden).then_some(0),
        older: Vec::new(),
        private: false,
    })
}

/// What the dictionary keeps of a table.
fn definition(spec: &TableSpec, storage: &TableStorage) -> Vec<u8> {
    let mut out = storage.space.0.to_le_bytes().to_vec();
    out.push(u8::from(spec.clustered.is_empty()));
    let unique = u8::from(spec.secondaries.get(2).is_some_and(|s| s.unique));
    out.push(unique | (spec.older.len() as u8) << 1);
    for (index, root) in &storage.roots {
        out.extend_from_slice(&index.0.to_le_bytes());
        out.extend_from_slice(&root.0.to_le_bytes());
    }
    out
}

fn parse_definition(id: i64, d: &[u8]) -> (TableSpec, TableStorage) {
    let space = SpaceId(u32::from_le_bytes(d[..4].try_into().unwrap()));
    let roots: Vec<(IndexId, PageNo)> = d[6..]
        .chunks_exact(12)
        .map(|c| {
            let index = IndexId(u64::from_le_bytes(c[..8].try_into().unwrap()));
            (index, PageNo(u32::from_le_bytes(c[8..].try_into().unwrap())))
        })
        .collect();
    let mut secondaries = secondaries(roots[1].0, roots[2].0);
    if let Some((index, _)) = roots.get(3) {
        secondaries.push(extra_index(*index, d[5] & 1 == 1));
    }
    let mut spec = TableSpec {
        id: TableId(id as u64),
        name: "t".into(),
        columns: columns(),
        clustered_id: roots[0].0,
        clustered: if d[4] == 1 { Vec::new() } else { vec![KeyPart::whole(0)] },
        secondaries,
        autoinc_column: (d[4] == 0).then_some(0),
        older: Vec::new(),
        private: false,
    };
    lay_out(&mut spec, usize::from(d[5] >> 1));
    (spec, TableStorage { space, roots })
}

fn dictionary_row(engine: &Engine, id: i64, definition: &[u8]) -> Vec<u8> {
    let mut row = Vec::new();
    let datums = [Datum::Int(id), Datum::Bytes(definition)];
    engine.system_table(0).layout().encode(&datums, &mut row).expect("fits");
    row
}

pub type Tables = BTreeMap<i64, Arc<Table>>;

/// Opens the engine and every table of its dictionary.
pub fn open(disk: &Arc<SimDisk>) -> Result<(Arc<Engine>, Tables, RecoveryReport)> {
    open_with(config(), disk)
}

pub fn open_with(
    config: EngineConfig,
    disk: &Arc<SimDisk>,
) -> Result<(Arc<Engine>, Tables, RecoveryReport)> {
    let (engine, mut report) = Engine::open(config, Arc::clone(disk) as Arc<dyn Disk>)?;
    let tables = open_tables(&engine)?;
    let live: BTreeSet<SpaceId> = tables.values().map(|t| t.storage().space).collect();
    let rest = engine.finish_recovery(&|id| Ok(tables.get(&(id.0 as i64)).cloned()), &live)?;
    report.losers += rest.losers;
    report.purged += rest.purged;
    report.damaged_pages += rest.damaged_pages;
    report.orphans.extend(rest.orphans);
    Ok((engine, tables, report))
}

/// As [`open_with`], with recovery going on in the background.
pub fn open_at_once(config: EngineConfig, disk: &Arc<SimDisk>) -> Result<(Arc<Engine>, Tables)> {
    let (engine, _) = Engine::open(config, Arc::clone(disk) as Arc<dyn Disk>)?;
    let tables = open_tables(&engine)?;
    Ok((engine, tables))
}

/// Lets recovery go on in threads, as the dictionary of a server does: a dropped table is not found.
pub fn start_recovery(engine: &Arc<Engine>, tables: &Tables) -> Result<()> {
    let live = tables.values().map(|t| t.storage().space).collect();
    let (weak, tables) = (Arc::downgrade(engine), tables.clone());
    let find = move |id: TableId| {
        let engine = weak.upgrade().ok_or(Error::Shutdown)?;
        let known = dictionary(&engine)?.contains_key(&(id.0 as i64));
        Ok(tables.get(&(id.0 as i64)).filter(|_| known).cloned())
    };
    engine.start_recovery(Arc::new(find), live)
}

/// Opens the engine and the tables of its dictionary, and leaves what is left of recovery to threads.
/// They find a table in `Registry`, from which a dropped one must be taken.
pub fn open_in_background(
    config: EngineConfig,
    disk: &Arc<SimDisk>,
) -> Result<(Arc<Engine>, Registry, RecoveryReport)> {
    let (engine, report) = Engine::open(config, Arc::clone(disk) as Arc<dyn Disk>)?;
    engine.start_background()?;
    let tables = open_tables(&engine)?;
    let live: BTreeSet<SpaceId> = tables.values().map(|t| t.storage().space).collect();
    let registry = Registry::new(tables);
    let known = registry.clone();
    let find = move |id: TableId| Ok(known.tables().get(&(id.0 as i64)).cloned());
    engine.start_recovery(Arc::new(find), live)?;
    Ok((engine, registry, report))
}

/// The tables there are, for recovery in the background.
#[derive(Clone)]
pub struct Registry(Arc<Mutex<Tables>>);

impl Registry {
    pub fn new(tables: Tables) -> Registry {
        Registry(Arc::new(Mutex::new(tables)))
    }

    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

pub fn open_tables(engine: &Arc<Engine>) -> Result<Tables> {
    let mut tables = Tables::new();
    for (id, definition) in dictionary(engine)? {
        let (spec, storage) = parse_definition(id, &definition);
        tables.insert(id, engine.open_table(&spec, storage)?);
    }
    Ok(tables)
}

pub fn dictionary(engine: &Arc<Engine>) -> Result<BTreeMap<i64, Vec<u8>>> {
    let table = engine.system_table(0);
    let mut client = engine.client()?;
    let mut scan = client.scan(&table, 0, Bound::Unbounded, Bound::Unbounded)?;
    let mut found = BTreeMap::new();
    while let Some(row) = scan.next()? {
        let Datum::Int(id) = table.layout().decode(row, 0).expect("a row") else { panic!("an id") };
        let Datum::Bytes(d) = table.layout().decode(row, 1).expect("a row") else {
            panic!("bytes")
        };
        found.insert(id, d.to_vec());
    }
    Ok(found)
}

/// CREATE TABLE up to the commit, which is the caller's.
pub fn create_table(engine: &Engine, client: &mut Client, hidden: bool) -> Result<Arc<Table>> {
    let spec = spec(engine, hidden)?;
    let table = engine.create_table(client, &spec)?;
    let id = spec.id.0 as i64;
    let row = dictionary_row(engine, id, &definition(&spec, &table.storage()));
    client.insert(&engine.system_table(0), &row)?;
    Ok(table)
}

/// CREATE INDEX up to the commit; the table as it is after the commit.
pub fn create_index(
    engine: &Engine,
    client: &mut Client,
    table: &Arc<Table>,
    unique: bool,
) -> Result<Arc<Table>> {
    let index = extra_index(engine.new_index_id()?, unique);
    let root = engine.create_index(client, table, (&index, 0))?;
    let mut spec = table.spec().clone();
    let mut storage = table.storage();
    storage.roots.push((index.id, root));
    spec.secondaries.push(index);
    let id = spec.id.0 as i64;
    let row = dictionary_row(engine, id, &definition(&spec, &storage));
    let system = engine.system_table(0);
    assert!(client.update(&system, &key(&system, id), &row)?);
    engine.open_table(&spec, storage)
}

/// Columns come or go instantly, up to the commit; what the table is to be opened with after it ([`relaid`]).
pub fn relay(engine: &Engine, client: &mut Client, table: &Table) -> Result<TableSpec> {
    let mut spec = table.spec().clone();
    let version = spec.older.len() + 1;
    lay_out(&mut spec, version);
    let id = spec.id.0 as i64;
    let row = dictionary_row(engine, id, &definition(&spec, &table.storage()));
    let system = engine.system_table(0);
    assert!(client.update(&system, &key(&system, id), &row)?);
    Ok(spec)
}

/// The table as it is after the commit.
pub fn relaid(engine: &Engine, table: &Table, spec: &TableSpec) -> Result<Arc<Table>> {
    engine.open_relaid(spec, table.storage())
}

/// DROP TABLE up to the commit; afterwards the storage is dropped.
pub fn drop_table(engine: &Engine, client: &mut Client, table: &Table) -> Result<()> {
    let system = engine.system_table(0);
    assert!(client.delete(&system, &key(&system, table.id().0 as i64))?);
    Ok(())
}

/// All rows in the order of an index.
pub fn rows(client: &mut Client, table: &Table, index: usize) -> Result<Vec<Row>> {
    let mut scan = client.scan(table, index, Bound::Unbounded, Bound::Unbounded)?;
    let mut found = Vec::new();
    while let Some(row) = scan.next()? {
        found.push(decode(table.layout(), row));
    }
    Ok(found)
}

/// All rows that the client's view sees, by way of an index, sorted.
pub fn seen(client: &Client, table: &Table, index: usize) -> Result<Vec<Row>> {
    let mut reader = Reader::new();
    let all = (Bound::Unbounded, Bound::Unbounded);
    reader.open(client, table, index, all, Direction::Forward)?;
    let (mut out, mut found) = (Vec::new(), Vec::new());
    while reader.next(client, table, &mut out)? {
        found.push(decode(table.layout(), &out));
    }
    found.sort();
    Ok(found)
}

/// A client with an open read view that outlives its statements.
pub fn viewer(engine: &Arc<Engine>) -> Result<Client> {
    let mut client = engine.client()?;
    client.set_isolation(base::Isolation::RepeatableRead);
    client.set_spans_statements(true);
    client.open_view();
    Ok(client)
}

pub fn get(client: &mut Client, table: &Table, id: i64) -> Result<Option<Row>> {
    let mut out = Vec::new();
    let found = client.get(table, &key(table, id), &mut out)?;
    Ok(found.then(|| decode(table.layout(), &out)))
}

pub fn row(id: i64, a: i64, u: i64, pad: usize) -> Row {
    Row { id, a: Some(a), u: Some(u), pad: vec![b'x'; pad] }
}

pub fn is_duplicate(result: &Result<()>) -> bool {
    matches!(result, Err(Error::Duplicate { .. }))
}
