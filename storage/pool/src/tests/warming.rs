//! Dump and load of the warm set.

use super::*;
use crate::DUMP_FILE_NAME;
use host::{AlignedBuf, OpenMode};
use std::collections::BTreeSet;

fn text(disk: &SimDisk) -> String {
    let file = disk.open(DUMP_FILE_NAME, OpenMode::Read).unwrap();
    let bytes = file.len().unwrap() as usize;
    let mut buf = AlignedBuf::zeroed(bytes.next_multiple_of(host::BLOCK_BYTES));
    let got = file.read_at(&mut buf, 0).unwrap();
    String::from_utf8(buf[..got].to_vec()).unwrap()
}

fn resident(world: &World, ts: &Tablespace, pages: u32) -> BTreeSet<u32> {
    let _ = world;
    let here = |p: &u32| ts.word_made(*p).is_some_and(|w| !w.load().evicted());
    (0..pages).filter(here).collect()
}

#[test]
fn what_was_hot_before_a_restart_is_in_memory_after_it() {
    let (disk, world) = sim(81, 512);
    let ts = counters_on_disk(&world, 400);
    for page in (10..30).chain(200..300) {
        value(&ts, page).unwrap();
    }
    assert_eq!(world.pool.dump_status(), "Dumping of buffer pool not started");
    world.pool.settings().set_dump_pct(100);
    world.pool.dump(DUMP_FILE_NAME).unwrap();
    assert!(world.pool.dump_status().starts_with("Buffer pool(s) dump completed at "));
    let lines: BTreeSet<String> = text(&disk).lines().map(str::to_string).collect();
    assert_eq!(lines.len(), 120);
    assert!(lines.contains("16,10") && lines.contains("16,299"));

    let (world, ts) = World::recover(disk.crash(), 512).unwrap();
    let before = resident(&world, &ts, 401).len();
    assert!(before < 20);
    assert_eq!(world.pool.load_status(), "Loading of buffer pool not started");
    world.pool.load(DUMP_FILE_NAME, &|id| world.pool.tablespace(id)).unwrap();
    assert!(world.pool.load_status().starts_with("Buffer pool(s) load completed at "));
    let loaded = resident(&world, &ts, 401);
    assert!((10..30).chain(200..300).all(|p| loaded.contains(&p)));
    // Loaded pages are no guests.
    assert_eq!(world.pool.instance_stats()[0].old_database_pages, 0);
}

#[test]
fn a_part_of_the_pages_is_the_hotter_part() {
    let (disk, world) = sim(82, 256);
    let ts = counters(&world, 1000);
    world.pool.flush_all().unwrap();
    // Passed by the hand and not used since, except these.
    for page in (1..=1000).chain(950..1000) {
        value(&ts, page).unwrap();
    }
    for page in 1..=40 {
        ts.optimistic_scan(PageNo(page)).unwrap();
    }
    world.pool.settings().set_dump_pct(25);
    world.pool.dump(DUMP_FILE_NAME).unwrap();
    let pages: Vec<u32> =
        text(&disk).lines().map(|l| l.split_once(',').unwrap().1.parse().unwrap()).collect();
    assert!((56..=64).contains(&pages.len()), "a quarter of what is in memory");
    assert!(pages.iter().all(|p| *p > 40), "pages on probation come last: {pages:?}");
    // Again, over the old file.
    world.pool.settings().set_dump_pct(1);
    world.pool.dump(DUMP_FILE_NAME).unwrap();
    assert!((2..=3).contains(&text(&disk).lines().count()));
}

#[test]
fn nonsense_in_the_file_is_passed_over_and_loading_evicts_nothing() {
    let (disk, world) = sim(83, 64);
    let ts = counters_on_disk(&world, 300);
    for page in 100..140 {
        value(&ts, page).unwrap();
    }
    let mut lines = String::from("not a line\n99,1\n16,4000000\n16,4294967295\n,\n16,-1\n");
    (1..90).for_each(|p| lines.push_str(&format!("16,{p}\n")));
    lines.push_str("16,299");
    let mut buf = AlignedBuf::new();
    buf.extend_from_slice(lines.as_bytes());
    buf.pad_to_block();
    let file = disk.open(DUMP_FILE_NAME, OpenMode::Create).unwrap();
    file.write_at(&buf, 0).unwrap();
    world.pool.load(DUMP_FILE_NAME, &|id| world.pool.tablespace(id)).unwrap();
    let there = resident(&world, &ts, 301);
    assert!((100..140).all(|p| there.contains(&p)), "{there:?}");
    assert_eq!(there.len(), 64, "what was free is used: {there:?}");
}

#[test]
fn a_missing_file_is_an_error_and_a_load_can_be_called_off() {
    let (_disk, world) = sim(84, 256);
    let ts = counters(&world, 200);
    world.pool.flush_all().unwrap();
    assert!(world.pool.load("nothing", &|_| None).is_err());
    assert!(world.pool.load_status().starts_with("Cannot open 'nothing' for reading: "));
    world.pool.settings().set_dump_pct(100);
    world.pool.dump(DUMP_FILE_NAME).unwrap();
    world.pool.discard(&ts).unwrap();
    let abort = |id| {
        world.pool.load_abort();
        world.pool.tablespace(id)
    };
    world.pool.load(DUMP_FILE_NAME, &abort).unwrap();
    assert!(world.pool.load_status().starts_with("Buffer pool(s) load aborted on request"));
    assert!(resident(&world, &ts, 201).is_empty());
}
