//! CHECK TABLE sees what is wrong, and where; dropped tables give their bytes back.

#![allow(clippy::unwrap_used)] // tests

mod common;

use base::{PAGE_BYTES, PageBuf};
use common::{Row, create_table, drop_table, encode, row};
use engine::{Engine, Finding, IndexId, Table};
use host::{AlignedBuf, Disk, OpenMode, RealDisk, SimDisk};
use page::{PageKind, PageOp, header};
use std::sync::Arc;

const ROWS: i64 = 3000;

/// A table of several levels in the files of a stopped server.
fn stopped() -> (Arc<SimDisk>, i64) {
    let disk = SimDisk::new(7);
    let (engine, _, _) = common::open(&disk).unwrap();
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    for id in 0..ROWS {
        c.insert(&table, &encode(&table, &row(id, id % 7, -id, 300))).unwrap();
        if id % 100 == 0 {
            c.commit().unwrap();
        }
    }
    c.commit().unwrap();
    let check = engine.check_table(&table).unwrap();
    assert_eq!((check.rows, check.entries), (ROWS as u64, 2 * ROWS as u64));
    let id = table.id().0 as i64;
    drop(c);
    engine.shutdown().unwrap();
    (disk, id)
}

fn page_of(buf: &mut AlignedBuf) -> &mut PageBuf {
    (&mut buf[..]).try_into().unwrap()
}

/// Changes the pages of a file that `pick` says, at most `count`; their checksums fit if `reseal`.
fn harm(
    disk: &SimDisk,
    name: &str,
    (count, reseal): (usize, bool),
    pick: impl Fn(&PageBuf) -> bool,
    change: impl Fn(&mut PageBuf),
) -> Vec<u32> {
    // Nothing repairs what is about to be damaged.
    for copies in disk.list().unwrap().iter().filter(|n| n.starts_with("doublewrite")) {
        disk.remove(copies).unwrap();
    }
    let file = disk.open(name, OpenMode::ReadWrite).unwrap();
    let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
    let mut changed = Vec::new();
    for no in 0..file.len().unwrap() / PAGE_BYTES as u64 {
        file.read_exact_at(&mut buf, no * PAGE_BYTES as u64).unwrap();
        let page = page_of(&mut buf);
        if changed.len() == count || !pick(page) {
            continue;
        }
        change(page);
        if reseal {
            header::seal(page);
        }
        file.write_at(&buf, no * PAGE_BYTES as u64).unwrap();
        changed.push(no as u32);
    }
    file.sync_data().unwrap();
    changed
}

fn user_file(disk: &SimDisk) -> String {
    disk.list().unwrap().into_iter().find(|n| n.starts_with("space_")).unwrap()
}

fn leaf_of(index: IndexId) -> impl Fn(&PageBuf) -> bool {
    move |page| header::kind(page) == Some(PageKind::Leaf) && header::index_id(page) == index
}

fn open(disk: &Arc<SimDisk>, id: i64) -> (Arc<Engine>, Arc<Table>) {
    let (engine, tables, _) = common::open(disk).unwrap();
    (engine, Arc::clone(&tables[&id]))
}

fn names(problems: &[Finding]) -> Vec<(Option<IndexId>, &'static str)> {
    problems.iter().map(|p| (p.index, p.what)).collect()
}

#[test]
fn bad_checksums_are_listed_by_index_and_page() {
    let (disk, id) = stopped();
    let (engine, table) = open(&disk, id);
    let [clustered, a] = [0, 1].map(|i| table.storage().roots[i].0);
    engine.shutdown().unwrap();
    drop((engine, table));
    let name = user_file(&disk);
    let in_rows = harm(&disk, &name, (3, false), leaf_of(clustered), |p| p[9000] ^= 1);
    let in_a = harm(&disk, &name, (1, false), leaf_of(a), |p| p[9000] ^= 1);
    let (engine, table) = open(&disk, id);
    let found = engine.verify_table(&table, 100).unwrap().problems;
    let mut pages: Vec<_> =
        found.iter().map(|p| (p.index.unwrap(), p.place.unwrap().0.page.0)).collect();
    pages.sort_unstable();
    let mut want: Vec<_> = in_rows.iter().map(|p| (clustered, *p)).collect();
    want.extend(in_a.iter().map(|p| (a, *p)));
    want.sort_unstable();
    assert_eq!(pages, want);
    assert!(found.iter().all(|p| p.what == "checksum mismatch"));
    assert_eq!(engine.verify_table(&table, 2).unwrap().problems.len(), 2);
    assert!(matches!(engine.check_table(&table), Err(engine::Error::Corrupt { .. })));
}

#[test]
fn rows_and_entries_without_each_other_are_found() {
    let remove_first = |page: &mut PageBuf| page::apply(page, &PageOp::Remove { slot: 0 }).unwrap();
    for (tree, what, times) in [
        (1, "a row without its entry in the index", 1),
        (0, "an entry of the index without its row", 2),
    ] {
        let (disk, id) = stopped();
        let (engine, table) = open(&disk, id);
        let roots = table.storage().roots;
        engine.shutdown().unwrap();
        drop((engine, table));
        harm(&disk, &user_file(&disk), (1, true), leaf_of(roots[tree].0), remove_first);
        let (engine, table) = open(&disk, id);
        let verdict = engine.verify_table(&table, 100).unwrap();
        let indexes = if tree == 0 { &roots[1..] } else { &roots[1..2] };
        let want: Vec<_> = indexes.iter().map(|(index, _)| (Some(*index), what)).collect();
        assert_eq!(names(&verdict.problems), want);
        assert_eq!(want.len(), times);
        assert!(engine.check_table(&table).is_err());
    }
}

#[test]
fn marks_that_are_not_the_rows_are_found() {
    let mark = |page: &mut PageBuf| {
        page::apply(page, &PageOp::Patch { slot: 3, at: 0, bytes: &[1] }).unwrap();
    };
    let raise = |page: &mut PageBuf| {
        page::apply(page, &PageOp::SetMaxTrxId { trx: base::TrxId(1 << 40) }).unwrap();
    };
    let strange = |page: &mut PageBuf| {
        page::apply(page, &PageOp::Patch { slot: 3, at: 0, bytes: &[2] }).unwrap();
    };
    let cases: [(fn(&mut PageBuf), _); 3] = [
        (mark, "the entry of a row has a delete mark"),
        (raise, "a leaf names a transaction that is still to come"),
        (strange, "a secondary entry's payload contradicts its key"),
    ];
    for (change, what) in cases {
        let (disk, id) = stopped();
        let (engine, table) = open(&disk, id);
        let a = table.storage().roots[1].0;
        engine.shutdown().unwrap();
        drop((engine, table));
        harm(&disk, &user_file(&disk), (1, true), leaf_of(a), change);
        let (engine, table) = open(&disk, id);
        assert_eq!(names(&engine.verify_table(&table, 9).unwrap().problems), [(Some(a), what)]);
    }
}

#[test]
fn rows_that_are_not_what_they_should_be_are_found() {
    type Harm = fn(&mut PageBuf);
    let cases: [(Harm, &str); 3] = [
        // The fourth row takes the fifth one's place, too.
        (
            |page| {
                let payload = page::Node::new(page).unwrap().payload(4).unwrap().to_vec();
                page::apply(page, &PageOp::Replace { slot: 3, payload: &payload }).unwrap();
            },
            "a row lies under another row's key",
        ),
        (
            |page| page::apply(page, &PageOp::Patch { slot: 3, at: 0, bytes: &[0xff; 6] }).unwrap(),
            "a row names a transaction that is still to come",
        ),
        (
            |page| page::apply(page, &PageOp::Patch { slot: 3, at: 14, bytes: &[2] }).unwrap(),
            "a row does not say whether values of it lie outside",
        ),
    ];
    for (change, what) in cases {
        let (disk, id) = stopped();
        let (engine, table) = open(&disk, id);
        let clustered = table.storage().roots[0].0;
        engine.shutdown().unwrap();
        drop((engine, table));
        harm(&disk, &user_file(&disk), (1, true), leaf_of(clustered), change);
        let (engine, table) = open(&disk, id);
        let found = names(&engine.verify_table(&table, 9).unwrap().problems);
        assert!(found.contains(&(Some(clustered), what)), "{what}: {found:?}");
    }
}

#[test]
fn two_rows_of_a_unique_key_are_found_and_nulls_are_none() {
    let (disk, id) = stopped();
    let (engine, table) = open(&disk, id);
    // Seven numbers, and prefixes that are all alike: none of them is a unique key.
    let mut spec = table.spec().clone();
    spec.secondaries[0].unique = true;
    let wrong = engine.open_table(&spec, table.storage()).unwrap();
    let a = spec.secondaries[0].id;
    let found = names(&engine.verify_table(&wrong, 2).unwrap().problems);
    assert_eq!(found, [(Some(a), "two rows have the same unique key"); 2]);
    let mut c = engine.client().unwrap();
    for id in ROWS..ROWS + 3 {
        let null = Row { u: None, ..row(id, 0, 0, 5) };
        c.insert(&table, &encode(&table, &null)).unwrap();
    }
    c.commit().unwrap();
    assert_eq!(engine.check_table(&table).unwrap().rows, ROWS as u64 + 3);
}

/// What a transaction did to the entries is undone with its rows.
#[test]
fn marks_follow_the_rows() {
    let (disk, id) = stopped();
    let (engine, table) = open(&disk, id);
    let mut c = engine.client().unwrap();
    let entries = |rows: i64| {
        let verdict = engine.verify_table(&table, 9).unwrap();
        assert_eq!(names(&verdict.problems), []);
        assert_eq!(verdict.counts.entries, 2 * rows as u64);
    };
    let update = |c: &mut engine::Client, id: i64, a: i64| {
        let row = encode(&table, &row(id, a, -id, 300));
        assert!(c.update(&table, &common::key(&table, id), &row).unwrap());
    };
    let before = c.mark();
    update(&mut c, 6, 9);
    entries(ROWS);
    update(&mut c, 6, 6);
    entries(ROWS);
    c.rollback_to(before).unwrap();
    entries(ROWS);
    assert!(c.delete(&table, &common::key(&table, 7)).unwrap());
    entries(ROWS - 1);
    let gone = c.mark();
    c.insert(&table, &encode(&table, &row(7, 0, -7, 300))).unwrap();
    entries(ROWS);
    c.rollback_to(gone).unwrap();
    entries(ROWS - 1);
    c.insert(&table, &encode(&table, &row(7, 5, 70_000, 300))).unwrap();
    entries(ROWS);
    c.rollback().unwrap();
    entries(ROWS);
    assert_eq!(engine.check_table(&table).unwrap().rows, ROWS as u64);
    update(&mut c, 6, 9);
    assert!(c.delete(&table, &common::key(&table, 7)).unwrap());
    c.commit().unwrap();
    entries(ROWS - 1);
}

#[test]
fn pages_that_nobody_has_are_found() {
    let (disk, id) = stopped();
    let is_first = |page: &PageBuf| header::kind(page) == Some(PageKind::SpaceHeader);
    // The last extent gets another page in use, or one less.
    let at = |page: &PageBuf| {
        let extents = page::header::read_u32(page, pool::spacefile::EXTENTS_AT) as usize;
        pool::spacefile::MAP_AT + (extents - 1) * pool::spacefile::EXTENT_BYTES
    };
    let name = user_file(&disk);
    harm(&disk, &name, (1, true), is_first, |page| page[at(page)] ^= 1);
    harm(&disk, &name, (1, true), is_first, |page| page[at(page) + 7] ^= 0x80);
    let (engine, table) = open(&disk, id);
    let found = engine.verify_table(&table, 100).unwrap().problems;
    for what in
        ["a page is referred to and not in use", "a page is in use and nothing refers to it"]
    {
        assert!(found.iter().any(|p| p.what == what && p.index.is_none()), "{what}: {found:?}");
    }
}

#[test]
fn what_is_not_settled_is_no_damage() {
    let (disk, id) = stopped();
    let (engine, table) = open(&disk, id);
    let mut c = engine.client().unwrap();
    assert!(c.delete(&table, &common::key(&table, 5)).unwrap());
    assert!(c.update(&table, &common::key(&table, 6), &encode(&table, &row(6, 9, 9, 5))).unwrap());
    c.insert(&table, &encode(&table, &row(ROWS, 1, 1, 5))).unwrap();
    let verdict = engine.verify_table(&table, 100).unwrap();
    assert_eq!(names(&verdict.problems), []);
    assert!(verdict.counts.pending >= 3);
    assert!(engine.check_table(&table).is_err());
    c.rollback().unwrap();
    assert_eq!(engine.check_table(&table).unwrap().rows, ROWS as u64);
}

/// The bytes go back to the file system, even while somebody keeps a handle of the dropped table.
#[test]
fn a_dropped_table_takes_no_room() {
    let root = std::env::temp_dir().join(format!("limpid-drop-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    let disk = RealDisk::open(&root).unwrap();
    let (engine, _) = Engine::open(common::config(), disk).unwrap();
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    for id in 0..1000 {
        c.insert(&table, &encode(&table, &row(id, id, id, 3000))).unwrap();
        c.commit().unwrap();
    }
    let file = root.join(format!("space_{:08}.lim", table.storage().space.0));
    assert!(std::fs::metadata(&file).unwrap().len() > 3_000_000);
    drop_table(&engine, &mut c, &table).unwrap();
    c.commit().unwrap();
    engine.drop_table_storage(table.storage().space).unwrap();
    assert!(!file.exists());
    let kept: u64 = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let to = std::fs::read_link(&path).ok()?;
            let is_ours = to.to_str()?.starts_with(file.to_str()?);
            is_ours.then(|| std::fs::metadata(&path).map_or(0, |m| m.len()))
        })
        .sum();
    assert_eq!(kept, 0, "a removed file is kept alive with its bytes");
    drop((c, table, engine));
    std::fs::remove_dir_all(&root).unwrap();
}
