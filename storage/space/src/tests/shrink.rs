//! Room that is given back: what it saves, who gets it again, and what crashes leave of it.

use super::*;
use std::time::Duration;

const NOW: Limits = Limits { reserve: 0, rest: Duration::ZERO };

impl World {
    fn give_back(&self, ts: &Tablespace, limits: Limits) -> GivenBack {
        give_back(&self.pool, &self.worker, ts, limits).unwrap()
    }

    fn checkpoint(&self) {
        self.pool.flush_all().unwrap();
        self.pool.checkpoint(b"").unwrap();
    }

    /// As often as it gives; how many extents, and how it ended.
    fn give_all_back(&self, ts: &Tablespace, limits: Limits) -> (u32, GivenBack) {
        let mut given = 0;
        for _ in 0..1000 {
            match self.give_back(ts, limits) {
                GivenBack::Bytes(bytes) => given += u32::from(bytes > 0),
                // There was a page of descriptions to be looked at.
                GivenBack::NotYet if given == 0 => {
                    let again = self.give_back(ts, limits);
                    let GivenBack::Bytes(_) = again else { return (0, again) };
                    given = 1;
                }
                end => return (given, end),
            }
        }
        panic!("it gives without an end");
    }
}

/// Pages of extents of their own, in the order in which they were given out.
fn fill(world: &World, ts: &Tablespace, extents: u32) -> Vec<PageNo> {
    let pages = crate::alloc::FRAGMENTS_MAX + extents * EXTENT_PAGES;
    let take = |_| world.allocate(ts, leaf(1), PageNo::NONE).unwrap();
    let all = (0..pages).map(|n| {
        if n % 100 == 0 {
            world.tend();
        }
        take(n)
    });
    all.collect()
}

fn free_all(world: &World, ts: &Tablespace, pages: &[PageNo]) {
    for (n, page) in pages.iter().enumerate() {
        if n % 100 == 0 {
            world.tend();
        }
        world.free(ts, leaf(1), *page);
    }
}

#[test]
fn an_extent_goes_when_it_has_rested_and_the_checkpoint_has_passed() {
    let (disk, world, ts) = World::create(1);
    let pages = fill(&world, &ts, 5);
    free_all(&world, &ts, &pages);
    let before = ts.allocated_bytes().unwrap();
    // The first look starts the rest; the redo is not behind the checkpoint.
    assert_eq!(world.give_all_back(&ts, NOW), (0, GivenBack::NotYet));
    world.checkpoint();
    let long = Limits { rest: Duration::from_secs(3600), ..NOW };
    assert_eq!(world.give_all_back(&ts, long), (0, GivenBack::NotYet));
    let five = Limits { reserve: 5, ..NOW };
    assert_eq!(world.give_all_back(&ts, five), (0, GivenBack::Nothing));
    let two = Limits { reserve: 2, ..NOW };
    assert_eq!(world.give_all_back(&ts, two), (3, GivenBack::Nothing));
    let extent_bytes = u64::from(EXTENT_PAGES) * PAGE_BYTES as u64;
    assert_eq!(ts.allocated_bytes().unwrap(), before - 3 * extent_bytes);
    assert_eq!(disk.stats().blocks_given_back * 4096, 3 * extent_bytes);
    // Nobody has the pages; others are in use.
    assert!(!is_in_use(&ts, pages[pages.len() - 1]).unwrap());
    assert!(is_in_use(&ts, HEADER).unwrap() && !is_in_use(&ts, PageNo(1 << 20)).unwrap());
    // Those that have room are taken first, then the others, and the file does not grow.
    let length = ts.pages_in_file();
    let again = fill(&world, &ts, 5);
    assert_eq!((again.len(), ts.pages_in_file()), (pages.len(), length));
    assert_eq!(ts.allocated_bytes().unwrap(), before);
    world.checkpoint();
    drop((ts, world));
    let (_again, ts) = World::recover(disk.crash());
    for page in again {
        let found = ts.shared(page).unwrap();
        assert_eq!(page::header::index_id(&found), IndexId(1));
    }
}

#[test]
fn a_full_disk_refuses_an_extent_without_room_and_takes_one_that_has_some() {
    let (disk, world, ts) = World::create(2);
    let pages = fill(&world, &ts, 3);
    free_all(&world, &ts, &pages);
    world.checkpoint();
    let one = Limits { reserve: 1, ..NOW };
    assert_eq!(world.give_all_back(&ts, one), (2, GivenBack::Nothing));
    disk.enospc_after(0);
    let mut taken = 0;
    let full = loop {
        match world.allocate(&ts, leaf(1), PageNo::NONE) {
            Ok(_) => taken += 1,
            Err(e) => break e,
        }
    };
    assert!(matches!(full, Error::NoSpace { .. }), "{full}");
    // Fragments in the first extent, an extent, and what is left of the first.
    assert!(taken >= crate::alloc::FRAGMENTS_MAX + EXTENT_PAGES, "{taken}");
    // All that was given out can be written.
    world.pool.flush_all().unwrap();
    disk.heal();
    world.allocate(&ts, leaf(1), PageNo::NONE).unwrap();
}

/// Random traffic and crashes: what is in use is there, and recovery meets no damage.
#[test]
fn nothing_in_use_is_lost_over_crashes() {
    let (mut given, mut taken_again) = (0, 0);
    for seed in 0..12 {
        let (mut disk, mut world, mut ts) = World::create(seed);
        let mut rng = Rng::new(seed);
        // Page, and what its index id says.
        let mut model: BTreeMap<u32, u64> = BTreeMap::new();
        // What became of which page, and where the log was then.
        let mut history: Vec<(Lsn, u32, Option<u64>)> = Vec::new();
        for round in 0..120 {
            match rng.below(8) {
                // Extents are filled and emptied as a whole, by index.
                0..=2 => {
                    let index = 1 + rng.below(6);
                    for _ in 0..10 + rng.below(190) {
                        let page = world.allocate(&ts, leaf(index), PageNo::NONE).unwrap();
                        assert!(model.insert(page.0, index).is_none(), "seed {seed}: {page} twice");
                        history.push((world.log.tail(), page.0, Some(index)));
                    }
                }
                3 | 4 => {
                    let index = 1 + rng.below(6);
                    let mine: Vec<u32> =
                        model.iter().filter(|(_, i)| **i == index).map(|(p, _)| *p).collect();
                    for page in mine {
                        model.remove(&page);
                        world.free(&ts, leaf(index), PageNo(page));
                        history.push((world.log.tail(), page, None));
                    }
                }
                5 => {
                    for _ in 0..rng.below(12) {
                        world.pool.clean_some(64).unwrap();
                    }
                    world.pool.checkpoint(b"").unwrap();
                }
                _ => {
                    let reserve = rng.below(3) as usize;
                    for _ in 0..rng.below(6) {
                        let limits = Limits { reserve, ..NOW };
                        given += u32::from(matches!(
                            world.give_back(&ts, limits),
                            GivenBack::Bytes(1..)
                        ));
                    }
                }
            }
            world.tend();
            if round % 40 == 39 {
                if rng.chance(1, 2) {
                    world.log.flush_to(world.log.tail()).unwrap();
                }
                let before = disk.stats().blocks_given_back;
                drop((ts, world));
                disk = if rng.chance(1, 4) { disk.kill() } else { disk.crash() };
                taken_again += u32::from(before > 0);
                (world, ts) = World::recover(disk.clone());
                world.pool.sweep_all(1).unwrap();
                let damage = world.pool.take_damage();
                assert!(damage.is_empty(), "seed {seed} round {round}: {damage:?}");
                history.retain(|(lsn, ..)| *lsn <= world.tail);
                model.clear();
                for (_, page, index) in &history {
                    match index {
                        Some(index) => drop(model.insert(*page, *index)),
                        None => drop(model.remove(page)),
                    }
                }
                let segments = model.iter().map(|(page, index)| (*page, leaf(*index)));
                check(&ts, &segments.collect());
                for (page, index) in &model {
                    let found = ts.shared(PageNo(*page)).unwrap();
                    assert_eq!(page::header::index_id(&found).0, *index, "seed {seed}: {page}");
                }
            }
        }
    }
    assert!(given > 40 && taken_again > 10, "{given} given back, {taken_again} crashes behind one");
}
