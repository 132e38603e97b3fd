//! Descriptions that are wrong: refused or reported, never believed blindly.

use super::*;
use crate::extent::{Entry, map_at};

/// Overwrites bytes of page 0, as rot that its checksum did not see.
fn harm(world: &World, ts: &Tablespace, at: usize, bytes: &[u8]) {
    let mut m = Mtr::new(&world.pool, &world.worker);
    let page0 = m.exclusive(ts, HEADER).unwrap();
    write(&mut m, page0, at, bytes).unwrap();
    m.commit().unwrap();
}

#[test]
fn wrong_bytes_are_reported_and_never_a_panic() {
    for seed in 0..60 {
        let (_disk, world, ts) = World::create(seed);
        let mut rng = Rng::new(seed);
        let segments = [leaf(1), leaf(2), Segment::new(IndexId(1), SegmentKind::Inner)];
        let mut model = Model::new();
        for _ in 0..200 {
            let segment = segments[rng.below(3) as usize];
            model.insert(world.allocate(&ts, segment, PageNo::NONE).unwrap().0, segment);
        }
        for _ in 0..1 + rng.below(4) {
            let at = match rng.below(4) {
                // Its higher bytes would make the file grow by gigabytes.
                0 => EXTENTS_AT,
                1 => Entry::at(0) + rng.below(48) as usize,
                _ => map_at(0) + rng.below(16 * 8) as usize,
            };
            let byte = ts.shared(HEADER).unwrap()[at] ^ 1 << rng.below(8);
            harm(&world, &ts, at, &[byte]);
        }
        for _ in 0..20 {
            let segment = segments[rng.below(3) as usize];
            let near = PageNo(rng.below(500) as u32);
            if let Ok(page) = world.allocate(&ts, segment, near) {
                model.insert(page.0, segment);
            }
            let nth = rng.below(model.len() as u64) as usize;
            let (page, segment) = model.iter().nth(nth).map(|(p, s)| (*p, *s)).unwrap();
            let mut m = Mtr::new(&world.pool, &world.worker);
            if free(&mut m, &ts, segment, PageNo(page)).is_ok() {
                model.remove(&page);
            }
            m.commit().unwrap();
        }
        let _ = report(&ts).map(|r| r.problems.len());
        let _ = audit(&ts, &[], 1000);
        let _ = free_segments(&world.pool, &world.worker, &ts, IndexId(1), PageNo(1));
    }
}

#[test]
fn every_kind_of_damage_has_its_name() {
    let cases: [(usize, &[u8], &str); 6] = [
        (map_at(1) + 15, &[99], "an impossible extent"),
        (map_at(0), &[0xfe], "a page of descriptions is not in use"),
        (map_at(0), &[0xf7], "page 0 miscounts the pages of shared extents"),
        (Entry::at(0) + 7, &[99], "an impossible segment"),
        (Entry::at(0) + 8, &[9], "page 0 miscounts the extents of a segment"),
        (Entry::at(0) + 12, &[9], "page 0 miscounts the pages of shared extents"),
    ];
    for (at, bytes, what) in cases {
        let (_disk, world, ts) = World::create(1);
        let mut pages = PageSet::new();
        for _ in 0..40 {
            pages.insert(world.allocate(&ts, leaf(1), PageNo::NONE).unwrap());
        }
        assert_eq!(report(&ts).unwrap().problems, []);
        assert_eq!(audit(&ts, &[claim(leaf(1), &pages)], 9).unwrap(), []);
        harm(&world, &ts, at, bytes);
        let found = report(&ts).unwrap().problems;
        assert!(found.iter().any(|p| p.what == what), "{what}: {found:?}");
    }
}

#[test]
fn what_only_the_pages_owners_can_tell() {
    let (_disk, world, ts) = World::create(1);
    let mut pages = PageSet::new();
    for _ in 0..40 {
        pages.insert(world.allocate(&ts, leaf(1), PageNo::NONE).unwrap());
    }
    let says = |claims: &[Claim<'_>], what| {
        let found = audit(&ts, claims, 1000).unwrap();
        assert!(found.iter().any(|p| p.what == what), "{what}: {found:?}");
    };
    says(&[], "a page is in use and nothing refers to it");
    says(&[claim(leaf(1), &pages), claim(leaf(1), &pages)], "a page is referred to twice");
    says(&[claim(leaf(2), &pages)], "a page lies in another segment's extent");
    let (empty, some) = (PageSet::new(), |pages| Claim { is_complete: false, ..pages });
    assert_eq!(audit(&ts, &[some(claim(leaf(1), &empty))], 9).unwrap(), [], "there may be others");
    pages.insert(PageNo(50));
    says(&[claim(leaf(1), &pages)], "a page is referred to and not in use");
    pages.insert(PageNo(5000));
    says(&[claim(leaf(1), &pages)], "pages are referred to that were never allocated");
    assert_eq!(audit(&ts, &[], 3).unwrap().len(), 3, "no more than asked for");
}
