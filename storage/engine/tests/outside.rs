//! Rows with values outside of their page: every way they come and go, and that no page is lost.

#![allow(clippy::unwrap_used)] // tests

use engine::{
    Client, ColumnType, Engine, EngineConfig, Error, IndexSpec, KeyPart, RowLock, Table, TableSpec,
};
use host::{Disk, SimDisk};
use std::ops::Bound;
use std::sync::Arc;
use stdx::rng::Rng;
use stdx::{Ordering, SharedAtomic, class};
use value::{Collation, Datum, KeySpec, Kind, RowLayout};

const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

struct Bench {
    engine: Arc<Engine>,
    table: Arc<Table>,
    client: Client,
}

/// id BIGINT PRIMARY KEY, a INT, big LONGBLOB, text TEXT, short VARBINARY(3000);
/// INDEX (a, big(10)), INDEX (big(10)), UNIQUE (text(20)).
fn columns() -> Vec<ColumnType> {
    vec![
        ColumnType::int(Kind::BigInt, false).not_null(),
        ColumnType::int(Kind::Int, false),
        ColumnType::large(Kind::LongBlob, Collation::Binary),
        ColumnType::large(Kind::Text, Collation::Utf8mb4_0900AiCi),
        ColumnType::varbinary(3000),
    ]
}

fn config() -> EngineConfig {
    EngineConfig {
        pool_bytes: 128 * base::PAGE_BYTES,
        log_ring_bytes: 256 << 10,
        redo_capacity_bytes: 4 << 20,
        sessions_max: 8,
        workers_max: 8,
        trx_states: 4096,
        ..EngineConfig::default()
    }
}

fn open() -> Bench {
    open_on(&SimDisk::new(1))
}

fn open_on(disk: &Arc<SimDisk>) -> Bench {
    let (engine, _) = Engine::open(config(), Arc::clone(disk) as Arc<dyn Disk>).unwrap();
    let index = |name: &str, unique, parts: &[KeyPart]| IndexSpec {
        id: engine.new_index_id().unwrap(),
        name: name.into(),
        unique,
        parts: parts.to_vec(),
    };
    let prefix = KeyPart::prefix;
    let spec = TableSpec {
        id: engine.new_table_id().unwrap(),
        name: "t".into(),
        columns: columns(),
        clustered_id: engine.new_index_id().unwrap(),
        clustered: vec![KeyPart::whole(0)],
        secondaries: vec![
            index("a", false, &[KeyPart::whole(1), prefix(2, 10)]),
            index("big", false, &[prefix(2, 10)]),
            index("text", true, &[prefix(3, 20)]),
        ],
        autoinc_column: None,
        older: Vec::new(),
        private: false,
    };
    let mut client = engine.client().unwrap();
    let table = engine.create_table(&mut client, &spec).unwrap();
    client.commit().unwrap();
    Bench { engine, table, client }
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    id: i64,
    a: Option<i64>,
    big: Option<Vec<u8>>,
    text: Option<Vec<u8>>,
    short: Vec<u8>,
}

impl Row {
    fn new(id: i64, big: usize, text: usize) -> Row {
        let text = (text > 0).then(|| format!("{id:8}").into_bytes().repeat(text.div_ceil(8)));
        Row { id, a: Some(id % 7), big: Some(pattern(id as u8, big)), text, short: b"s".to_vec() }
    }

    fn encode(&self, layout: &RowLayout) -> Vec<u8> {
        let mut out = Vec::new();
        let some = |b| Option::map_or(b, Datum::Null, |b: &Vec<u8>| Datum::Bytes(b));
        let a = self.a.map_or(Datum::Null, Datum::Int);
        let values = [
            Datum::Int(self.id),
            a,
            some(self.big.as_ref()),
            some(self.text.as_ref()),
            Datum::Bytes(&self.short),
        ];
        layout.encode(&values, &mut out).unwrap();
        out
    }

    fn decode(layout: &RowLayout, row: &[u8]) -> Row {
        let mut d = Vec::new();
        layout.decode_all(row, &mut d).unwrap();
        let bytes = |d: Datum| d.as_bytes().map(<[u8]>::to_vec);
        Row {
            id: d[0].as_i64().unwrap(),
            a: d[1].as_i64(),
            big: bytes(d[2]),
            text: bytes(d[3]),
            short: bytes(d[4]).unwrap(),
        }
    }
}

/// Bytes that differ from page to page.
fn pattern(seed: u8, n: usize) -> Vec<u8> {
    (0..n).map(|i| (i as u8).wrapping_mul(31) ^ (i >> 8) as u8 ^ (i >> 16) as u8 ^ seed).collect()
}

fn key(id: i64) -> Vec<u8> {
    let mut out = Vec::new();
    let spec = KeySpec::new(vec![KeyPart::whole(0)]);
    spec.encode_prefix(&columns(), &[Datum::Int(id)], &mut out).unwrap();
    out
}

impl Bench {
    fn insert(&mut self, row: &Row) -> engine::Result<()> {
        self.client.insert(&self.table, &row.encode(self.table.layout()))
    }

    fn update(&mut self, row: &Row) -> bool {
        let bytes = row.encode(self.table.layout());
        self.client.update(&self.table, &key(row.id), &bytes).unwrap()
    }

    fn get(&mut self, id: i64) -> Option<Row> {
        let mut out = Vec::new();
        let found = self.client.get(&self.table, &key(id), &mut out).unwrap();
        found.then(|| Row::decode(self.table.layout(), &out))
    }

    /// What every index shows is `rows`; the table is sound; the overflow pages in use.
    fn check(&mut self, rows: &[Row]) -> u64 {
        for index in 0..self.table.indexes() {
            let mut scan = self.client.scan(&self.table, index, ALL.0, ALL.1).unwrap();
            let mut found = Vec::new();
            while let Some(row) = scan.next().unwrap() {
                found.push(Row::decode(self.table.layout(), row));
            }
            found.sort_by_key(|r| r.id);
            assert_eq!(found, rows, "index {index}");
        }
        let check = self.engine.check_table(&self.table).unwrap();
        assert_eq!(check.rows, rows.len() as u64);
        check.blob_pages
    }
}

fn pages(bytes: usize) -> u64 {
    bytes.div_ceil(base::PAGE_BYTES - 64 - 22) as u64
}

#[test]
fn rows_of_every_length_come_back() {
    let mut b = open();
    let mut rows = Vec::new();
    let lengths =
        [0, 20, 7000, 8050, 8090, 8100, 8110, 9000, 16_298, 16_299, 40_000, 65_535, 65_536];
    let lengths = lengths.into_iter().chain([200_000, 3_000_000]);
    for (id, n) in lengths.enumerate() {
        let row = Row::new(id as i64, n, if id % 2 == 0 { 0 } else { 5000 * id });
        b.insert(&row).unwrap();
        assert_eq!(b.get(row.id).as_ref(), Some(&row), "in the transaction");
        rows.push(row);
    }
    b.client.commit().unwrap();
    let used = b.check(&rows);
    assert!(used > pages(3_000_000) && used < pages(3_000_000) + 60, "{used}");
    for row in &rows {
        assert_eq!(b.get(row.id).as_ref(), Some(row));
        assert!(b.client.delete(&b.table, &key(row.id)).unwrap());
    }
    assert_eq!(b.get(3), None);
    b.client.commit().unwrap();
    assert_eq!(b.check(&[]), 0);
}

#[test]
fn a_row_that_fits_keeps_its_bytes_in_the_page() {
    let mut b = open();
    b.insert(&Row::new(1, 8000, 0)).unwrap();
    b.client.commit().unwrap();
    let row = b.get(1).unwrap();
    assert_eq!(b.check(&[row]), 0);
}

#[test]
fn an_update_shares_what_it_does_not_change() {
    let mut b = open();
    let mut row = Row::new(1, 100_000, 30_000);
    b.insert(&row).unwrap();
    b.client.commit().unwrap();
    let used = b.check(std::slice::from_ref(&row));
    assert_eq!(used, pages(100_000) + pages(30_000));
    for i in 0..50 {
        row.a = Some(i);
        assert!(b.update(&row));
        b.client.commit().unwrap();
    }
    assert_eq!(b.check(std::slice::from_ref(&row)), used);
    // One value goes, the other stays.
    row.text = Some(b"short now".to_vec());
    assert!(b.update(&row));
    assert_eq!(b.get(1).as_ref(), Some(&row));
    b.client.commit().unwrap();
    assert_eq!(b.check(std::slice::from_ref(&row)), pages(100_000));
    row.big = Some(pattern(9, 100_000));
    assert!(b.update(&row));
    b.client.commit().unwrap();
    assert_eq!(b.check(std::slice::from_ref(&row)), pages(100_000));
    // Everything fits again.
    row.big = None;
    assert!(b.update(&row));
    b.client.commit().unwrap();
    assert_eq!(b.check(std::slice::from_ref(&row)), 0);
}

#[test]
fn rollback_frees_what_is_new_and_keeps_what_was() {
    let mut b = open();
    let row = Row::new(1, 50_000, 20_000);
    b.insert(&row).unwrap();
    b.client.commit().unwrap();
    let used = b.check(std::slice::from_ref(&row));
    let mut other = row.clone();
    for step in 0..6 {
        other.a = Some(100 + step);
        if step % 2 == 0 {
            other.big = Some(pattern(step as u8, 60_000 + step as usize));
        }
        assert!(b.update(&other));
    }
    assert_eq!(b.get(1).as_ref(), Some(&other));
    b.insert(&Row::new(2, 70_000, 0)).unwrap();
    b.client.rollback().unwrap();
    assert_eq!(b.check(std::slice::from_ref(&row)), used);
    // Deleted, put over, changed, deleted; then all undone.
    assert!(b.client.delete(&b.table, &key(1)).unwrap());
    b.insert(&other).unwrap();
    assert!(b.update(&row));
    assert!(b.client.delete(&b.table, &key(1)).unwrap());
    b.client.rollback().unwrap();
    assert_eq!(b.check(std::slice::from_ref(&row)), used);
    // The same, kept.
    assert!(b.client.delete(&b.table, &key(1)).unwrap());
    b.insert(&other).unwrap();
    assert!(b.update(&row));
    b.client.commit().unwrap();
    assert_eq!(b.check(std::slice::from_ref(&row)), used);
}

#[test]
fn a_failed_statement_leaves_no_pages() {
    let mut b = open();
    let row = Row::new(1, 50_000, 20_000);
    b.insert(&row).unwrap();
    b.client.commit().unwrap();
    let used = b.check(std::slice::from_ref(&row));
    b.client.begin();
    let again = b.insert(&Row::new(1, 90_000, 0));
    assert!(matches!(again, Err(Error::Duplicate { .. })), "{again:?}");
    // The unique text: equal in its first 20 characters.
    let mut same_text = Row::new(2, 90_000, 0);
    same_text.text = row.text.as_ref().map(|t| t[..25_000.min(t.len())].to_vec());
    let again = b.insert(&same_text);
    assert!(matches!(again, Err(Error::Duplicate { .. })), "{again:?}");
    let mark = b.client.mark();
    b.insert(&Row::new(3, 90_000, 9000)).unwrap();
    b.client.rollback_to(mark).unwrap();
    b.client.commit().unwrap();
    assert_eq!(b.check(std::slice::from_ref(&row)), used);
}

#[test]
fn a_new_primary_key_takes_its_values_along() {
    let mut b = open();
    let mut row = Row::new(1, 50_000, 20_000);
    b.insert(&row).unwrap();
    b.client.commit().unwrap();
    let used = b.check(std::slice::from_ref(&row));
    let (mut seen, mut changed) = (Vec::new(), Vec::new());
    for id in 2..5 {
        let layout = b.table.layout();
        assert!(
            b.client
                .get_locked(&b.table, &key(id - 1), Some(&[1]), RowLock::UPDATE, &mut seen)
                .unwrap()
        );
        changed.clear();
        layout.encode_changed(&seen, &[(0, Datum::Int(id))], &mut changed).unwrap();
        assert!(b.client.update(&b.table, &key(id - 1), &changed).unwrap());
        row.id = id;
        assert_eq!(b.get(id).as_ref(), Some(&row));
        b.client.commit().unwrap();
        assert_eq!(b.check(std::slice::from_ref(&row)), used);
    }
}

#[test]
fn columns_that_are_not_needed_stay_outside_and_come_back_unread() {
    let mut b = open();
    let mut row = Row::new(1, 50_000, 20_000);
    b.insert(&row).unwrap();
    b.client.commit().unwrap();
    let used = b.check(std::slice::from_ref(&row));
    let layout = b.table.layout();
    let mut out = Vec::new();
    assert!(b.client.get_columns(&b.table, &key(1), &[1, 3], &mut out).unwrap());
    assert_eq!(layout.decode(&out, 3).unwrap().as_bytes(), row.text.as_deref());
    assert!(layout.decode(&out, 2).is_err());
    let mut scan = b.client.scan(&b.table, 1, ALL.0, ALL.1).unwrap();
    scan.need(&[1]);
    let found = scan.next().unwrap().unwrap();
    assert_eq!(layout.decode(found, 1), Ok(Datum::Int(1)));
    assert!(layout.decode(found, 2).is_err() && layout.decode(found, 3).is_err());
    assert!(found.len() < 500);
    // An UPDATE of one column of a row read that way.
    assert!(b.client.get_locked(&b.table, &key(1), Some(&[1]), RowLock::UPDATE, &mut out).unwrap());
    let mut changed = Vec::new();
    layout.encode_changed(&out, &[(1, Datum::Int(44))], &mut changed).unwrap();
    assert!(b.client.update(&b.table, &key(1), &changed).unwrap());
    row.a = Some(44);
    b.client.commit().unwrap();
    assert_eq!(b.check(std::slice::from_ref(&row)), used);
    // A row that was read before another change is refused, never mixed.
    let mut stale = Vec::new();
    assert!(b.client.get_columns(&b.table, &key(1), &[1], &mut stale).unwrap());
    row.big = Some(pattern(77, 30_000));
    assert!(b.update(&row));
    assert!(b.client.update(&b.table, &key(1), &stale).is_err());
    assert_eq!(b.get(1).as_ref(), Some(&row));
    b.client.rollback().unwrap();
}

#[test]
fn an_index_is_built_over_values_outside() {
    let mut b = open();
    let rows: Vec<Row> = (0..20).map(|id| Row::new(id, 3000 * id as usize, 400)).collect();
    rows.iter().for_each(|row| b.insert(row).unwrap());
    b.client.commit().unwrap();
    let parts = vec![KeyPart::prefix(2, 3000), KeyPart::whole(1)];
    let id = b.engine.new_index_id().unwrap();
    let index = IndexSpec { id, name: "big".into(), unique: false, parts };
    let root = b.engine.create_index(&mut b.client, &b.table, (&index, 0)).unwrap();
    let (mut spec, mut storage) = (b.table.spec().clone(), b.table.storage());
    storage.roots.push((id, root));
    spec.secondaries.push(index);
    b.client.commit().unwrap();
    b.table = b.engine.open_table(&spec, storage).unwrap();
    b.check(&rows);
    for row in &rows {
        assert!(b.client.delete(&b.table, &key(row.id)).unwrap());
    }
    b.client.commit().unwrap();
    assert_eq!(b.check(&[]), 0);
}

#[test]
fn random_changes_against_a_model() {
    let mut b = open();
    let mut rng = Rng::new(77);
    let mut model = std::collections::BTreeMap::<i64, Row>::new();
    for round in 0..120 {
        let mut next = model.clone();
        for _ in 0..=rng.below(6) {
            let id = rng.below(12) as i64;
            let n = [0, 5000, 9000, 20_000, 70_000][rng.below(5) as usize] + rng.below(50) as usize;
            let mut row = Row::new(id, n, [0, 30, 3000, 9000][rng.below(4) as usize]);
            row.short = vec![7; rng.below(3000) as usize];
            match (next.contains_key(&id), rng.below(4)) {
                (true, 0) => {
                    assert!(b.client.delete(&b.table, &key(id)).unwrap());
                    next.remove(&id);
                    continue;
                }
                (true, n) => {
                    if n > 1 {
                        row.big.clone_from(&next[&id].big);
                    }
                    assert!(b.update(&row));
                }
                (false, _) => b.insert(&row).unwrap(),
            }
            next.insert(id, row);
        }
        if rng.chance(1, 3) {
            b.client.rollback().unwrap();
        } else {
            b.client.commit().unwrap();
            model = next;
        }
        if round % 10 == 0 {
            let rows: Vec<Row> = model.values().cloned().collect();
            b.check(&rows);
        }
    }
}

/// Readers beside a writer who changes, deletes and inserts: each sees one version, whole.
#[test]
fn readers_see_one_version_or_another_never_a_mixture() {
    let mut b = open();
    let whole = |row: &Row| {
        let big = row.big.as_ref().unwrap();
        let a = row.a.unwrap();
        assert_eq!(big.len(), 20_000 + 1000 * (a as usize % 50), "of version {a}");
        assert_eq!(*big, pattern(a as u8, big.len()), "of version {a}");
    };
    let version = |id: i64, a: i64| {
        let mut row = Row::new(id, 0, 0);
        row.a = Some(a);
        row.big = Some(pattern(a as u8, 20_000 + 1000 * (a as usize % 50)));
        row
    };
    for id in 0..4 {
        b.insert(&version(id, 0)).unwrap();
    }
    b.client.commit().unwrap();
    let stop = Arc::new(SharedAtomic::<bool, { class::POOL }>::new(false));
    let readers: Vec<_> = (0..2)
        .map(|n| {
            let (engine, table, stop) =
                (Arc::clone(&b.engine), Arc::clone(&b.table), Arc::clone(&stop));
            host::thread::spawn(&format!("reader {n}"), move || {
                let mut client = engine.client().unwrap();
                let (mut out, mut seen) = (Vec::new(), 0u64);
                while !stop.load(Ordering::Relaxed) {
                    for id in 0..4 {
                        if client.get(&table, &key(id), &mut out).unwrap() {
                            whole(&Row::decode(table.layout(), &out));
                            seen += 1;
                        }
                    }
                    for index in [0, 2] {
                        let mut scan = client.scan(&table, index, ALL.0, ALL.1).unwrap();
                        while let Some(row) = scan.next().unwrap() {
                            whole(&Row::decode(table.layout(), row));
                        }
                    }
                }
                assert!(seen > 10, "readers read: {seen}");
            })
            .unwrap()
        })
        .collect();
    let mut rng = Rng::new(3);
    for a in 1..400 {
        let id = rng.below(4) as i64;
        match rng.below(6) {
            0 => {
                assert!(b.client.delete(&b.table, &key(id)).unwrap());
                b.client.commit().unwrap();
                b.insert(&version(id, a)).unwrap();
            }
            _ => assert!(b.update(&version(id, a))),
        }
        if rng.chance(1, 4) {
            b.client.rollback().unwrap();
            if b.get(id).is_none() {
                b.insert(&version(id, a)).unwrap();
            }
        }
        b.client.commit().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    readers.into_iter().for_each(|r| r.join().unwrap());
    b.engine.check_table(&b.table).unwrap();
}

#[test]
fn entries_of_all_versions_go_before_the_value_they_share() {
    let mut b = open();
    let mut row = Row::new(1, 50_000, 0);
    b.insert(&row).unwrap();
    b.client.commit().unwrap();
    // INDEX (a, big(10)) needs the value that the versions share, and changes with each.
    for a in 10..13 {
        row.a = Some(a);
        assert!(b.update(&row));
    }
    row.big.as_mut().unwrap()[0] ^= 1;
    assert!(b.update(&row));
    row.a = Some(14);
    assert!(b.update(&row));
    assert!(b.client.delete(&b.table, &key(1)).unwrap());
    b.client.commit().unwrap();
    assert_eq!(b.check(&[]), 0);
}

/// A crash cuts off the purge of an update. Before it goes on, the row is locked and the undo of that is
/// written over, then the row is deleted: its purge frees the value that the updated version needs.
#[test]
fn a_purge_after_others_finds_its_entries_removed() {
    let disk = SimDisk::new(1);
    let mut b = open_on(&disk);
    let mut row = Row::new(1, 50_000, 0);
    b.insert(&row).unwrap();
    b.client.commit().unwrap();
    row.a = Some(10);
    assert!(b.update(&row));
    b.client.commit().unwrap();
    let (spec, storage) = (b.table.spec().clone(), b.table.storage());
    let disk = disk.crash();
    let (engine, _) = Engine::open(config(), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    let table = engine.open_table(&spec, storage.clone()).unwrap();
    let client = engine.client().unwrap();
    let mut b = Bench { engine, table, client };
    assert!(
        b.client.get_locked(&b.table, &key(1), None, RowLock::UPDATE, &mut Vec::new()).unwrap()
    );
    b.client.commit().unwrap();
    let other = Row::new(2, 100, 0);
    b.insert(&other).unwrap();
    b.client.commit().unwrap();
    assert!(b.client.delete(&b.table, &key(1)).unwrap());
    b.client.commit().unwrap();
    let (table, live) = (Arc::clone(&b.table), [storage.space].into());
    let report = b.engine.finish_recovery(&|_| Ok(Some(Arc::clone(&table))), &live).unwrap();
    assert_eq!(report.purged, 1, "the crash was to cut a purge off");
    assert_eq!(b.check(&[other]), 0);
}

/// Changes one byte of every overflow page in turn, and mends the page's checksum: only what the row
/// and the pages say of each other is left to notice it.
/// Purge frees values of many pages while the table is looked at: without being kept out it makes about every
/// second round fail.
#[test]
fn a_check_while_values_are_purged_finds_nothing_wrong() {
    let mut b = open();
    b.engine.start_background().unwrap();
    for round in 0..40 {
        for id in 0..6 {
            b.insert(&Row::new(id, 100_000 + 70_000 * id as usize, 9_000)).unwrap();
        }
        b.client.commit().unwrap();
        b.client.delete(&b.table, &key(round % 6)).unwrap();
        b.client.commit().unwrap();
        for id in (0..6).filter(|id| *id != round % 6) {
            b.client.delete(&b.table, &key(id)).unwrap();
        }
        b.client.commit().unwrap();
        for look in 0..4 {
            let found = b.engine.examine_table(&b.table).unwrap();
            assert_eq!(found, [], "round {round}, look {look}");
        }
    }
    b.check(&[]);
}

#[test]
fn a_damaged_overflow_page_is_an_error_that_names_it() {
    let disk = SimDisk::new(1);
    let mut b = open_on(&disk);
    let row = Row::new(1, 50_000, 0);
    b.insert(&row).unwrap();
    b.client.commit().unwrap();
    let (spec, storage) = (b.table.spec().clone(), b.table.storage());
    b.engine.shutdown().unwrap();
    drop(b);
    let names = disk.list().unwrap();
    let name = names.iter().rfind(|n| n.starts_with("space_")).unwrap();
    let mut damaged = 0;
    for no in 0..1000 {
        let file = disk.open(name, host::OpenMode::ReadWrite).unwrap();
        let at = no * base::PAGE_BYTES as u64;
        let mut page = host::AlignedBuf::zeroed(base::PAGE_BYTES);
        if file.read_at(&mut page, at).unwrap() < base::PAGE_BYTES {
            break;
        }
        let sound = page.to_vec();
        if page[12] != page::PageKind::Blob as u8 {
            continue;
        }
        for byte in [24, 64, 69, 72, 76, 80, 1000] {
            damaged += 1;
            page.copy_from_slice(&sound);
            page[byte] ^= 1;
            page::header::seal((&mut page[..]).try_into().unwrap());
            file.write_at(&page, at).unwrap();
            // Its copies there would repair the page.
            let copies = disk.list().unwrap().into_iter().filter(|n| n.starts_with("doublewrite"));
            copies.for_each(|n| disk.remove(&n).unwrap());
            let (engine, _) = Engine::open(config(), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
            let table = engine.open_table(&spec, storage.clone()).unwrap();
            let mut client = engine.client().unwrap();
            let mut out = Vec::new();
            let got = client.get(&table, &key(1), &mut out);
            let error = got.expect_err(&format!("page {no} byte {byte}"));
            assert!(matches!(error, Error::Corrupt { .. }), "page {no} byte {byte}: {error}");
            assert!(out.is_empty());
            assert!(engine.check_table(&table).is_err());
            // What does not need the value is not disturbed.
            assert!(client.get_columns(&table, &key(1), &[1], &mut out).unwrap());
            drop(client);
            engine.shutdown().unwrap();
        }
        file.write_at(&sound_buf(&sound), at).unwrap();
    }
    assert_eq!(damaged, 7 * pages(50_000));
}

fn sound_buf(bytes: &[u8]) -> host::AlignedBuf {
    let mut out = host::AlignedBuf::zeroed(bytes.len());
    out.copy_from_slice(bytes);
    out
}
