//! One thread against a map, crashes, full disks.

use super::*;

/// Segments of all sorts; the last one stays small.
fn segments() -> Vec<Segment> {
    let mut all: Vec<_> = [SegmentKind::Inner, SegmentKind::Leaf, SegmentKind::Blob]
        .into_iter()
        .flat_map(|kind| [1, 1 << 40].map(|index| Segment::new(IndexId(index), kind)))
        .collect();
    all.push(Segment::ROLLBACK);
    all
}

/// A crash takes page and use back together: what is found is the model at the end of the log.
#[test]
fn pages_are_handed_out_once_and_come_back_over_a_crash() {
    for seed in 0..6 {
        let (disk, world, ts) = World::create(seed);
        let mut rng = Rng::new(seed);
        let segments = segments();
        let mut model = Model::new();
        let mut history = vec![(world.log.tail(), model.clone())];
        for round in 0..900 {
            // It grows, it shrinks, and it grows again.
            let takes = if (300..600).contains(&round) { 1 } else { 4 };
            if rng.chance(takes, 5) || model.is_empty() {
                let segment = segments[rng.below(segments.len() as u64) as usize];
                let near = match model.keys().nth(rng.below(1 + model.len() as u64) as usize) {
                    Some(page) => PageNo(*page),
                    None => PageNo::NONE,
                };
                let page = world.allocate(&ts, segment, near).unwrap();
                assert!(model.insert(page.0, segment).is_none(), "{page} was handed out twice");
            } else {
                let nth = rng.below(model.len() as u64) as usize;
                let (page, segment) = model.iter().nth(nth).map(|(p, s)| (*p, *s)).unwrap();
                model.remove(&page);
                world.free(&ts, segment, PageNo(page));
            }
            history.push((world.log.tail(), model.clone()));
            if round % 100 == 0 {
                check(&ts, &model);
                world.pool.clean_some(10).unwrap();
                world.pool.checkpoint(b"").unwrap();
            }
            if rng.chance(1, 50) {
                world.log.flush_to(world.log.tail()).unwrap();
            }
        }
        check(&ts, &model);
        let (again, ts) = World::recover(disk.crash());
        let tail = again.tail;
        let (_, model) = history.iter().rfind(|(lsn, _)| *lsn <= tail).unwrap();
        check(&ts, model);
    }
}

/// Replay equivalence of everything that describes the space.
#[test]
fn redo_makes_the_same_descriptions() {
    let (disk, world, ts) = World::create(9);
    let mut rng = Rng::new(9);
    let segments = segments();
    let mut all = Vec::new();
    for _ in 0..700 {
        if rng.chance(2, 3) {
            let segment = segments[rng.below(segments.len() as u64) as usize];
            all.push((segment, world.allocate(&ts, segment, PageNo::NONE).unwrap()));
        } else if !all.is_empty() {
            let (segment, page) = all.swap_remove(rng.below(all.len() as u64) as usize);
            world.free(&ts, segment, page);
        }
    }
    world.log.flush_to(world.log.tail()).unwrap();
    let (_again, redone) = World::recover(disk.crash());
    let (live, redone) = (ts.shared(HEADER).unwrap(), redone.shared(HEADER).unwrap());
    assert!(live[4..] == redone[4..]);
}

#[test]
fn the_first_pages_are_shared_and_the_others_in_order() {
    let (_disk, world, ts) = World::create(1);
    let (a, b) = (leaf(1), leaf(2));
    let mut model = Model::new();
    let mut take = |segment, near| {
        let page = world.allocate(&ts, segment, near).unwrap();
        model.insert(page.0, segment);
        page
    };
    // Small indexes share an extent, in order of demand.
    assert_eq!([a, b, a].map(|s| take(s, PageNo::NONE)), [PageNo(1), PageNo(2), PageNo(3)]);
    let mut last = PageNo(3);
    for _ in 2..32 {
        last = take(a, last);
    }
    assert_eq!(last, PageNo(33));
    // An ascending load fills extent after extent, though another segment grows as well.
    let mut other = PageNo(2);
    for _ in 1..32 {
        other = take(b, other);
    }
    let mut firsts = Vec::new();
    for _ in 0..3 {
        for (segment, last) in [(a, &mut last), (b, &mut other)] {
            let first = take(segment, *last);
            *last = (1..EXTENT_PAGES).fold(first, |near, _| take(segment, near));
            assert_eq!((first.0 % EXTENT_PAGES, last.0), (0, first.0 + 63));
            firsts.push(first.0 / EXTENT_PAGES);
        }
    }
    // All of the first extent is used, and one page more.
    assert_eq!(firsts, [2, 3, 4, 5, 6, 7]);
    // The place next to its neighbour comes first, then the rest of the neighbour's extent.
    for page in [130, 160, 260] {
        world.free(&ts, a, PageNo(page));
        model.remove(&page);
    }
    for (near, page) in [(159, 160), (170, 130), (140, 260)] {
        assert_eq!(world.allocate(&ts, a, PageNo(near)).unwrap(), PageNo(page));
        model.insert(page, a);
    }
    let found = check(&ts, &model);
    assert_eq!((found.extents, found.extents_shared, found.extents_owned), (8, 2, 6));
}

#[test]
fn an_extent_is_free_when_its_last_page_is() {
    let (_disk, world, ts) = World::create(5);
    // More segments than page 0 has entries for, one after the other.
    for index in 0..600 {
        let mut m = Mtr::new(&world.pool, &world.worker);
        let segment = leaf(index);
        let pages: Vec<_> = (0..100).map(|_| allocate(&mut m, &ts, segment).unwrap()).collect();
        for page in pages {
            free(&mut m, &ts, segment, page).unwrap();
        }
        m.commit().unwrap();
        world.tend();
    }
    let found = check(&ts, &Model::new());
    assert_eq!((found.extents, found.extents_free, found.segments.len()), (3, 2, 0));
}

#[test]
fn wrong_frees_are_refused() {
    let (_disk, world, ts) = World::create(5);
    let page = world.allocate(&ts, leaf(1), PageNo::NONE).unwrap();
    let owned = {
        let take = |near, _| world.allocate(&ts, leaf(2), near).unwrap();
        (0..33).fold(PageNo::NONE, take)
    };
    let mut m = Mtr::new(&world.pool, &world.worker);
    for (segment, page) in [
        (leaf(1), PageNo(0)),
        (leaf(1), PageNo(60)),
        (leaf(1), PageNo(99_999)),
        (leaf(1), owned),
        (leaf(2), PageNo(owned.0 + 1)),
    ] {
        let refused = free(&mut m, &ts, segment, page);
        assert!(matches!(refused, Err(Error::Internal(_))), "{page} {refused:?}");
    }
    free(&mut m, &ts, leaf(1), page).unwrap();
    // Taken again in the same mini-transaction.
    assert_eq!(allocate(&mut m, &ts, leaf(3)).unwrap(), page);
    m.commit().unwrap();
    let mut m = Mtr::new(&world.pool, &world.worker);
    let refused = allocate(&mut m, &ts, leaf(1 << 56));
    assert!(matches!(refused, Err(Error::Internal(_))) && !m.has_changes());
}

/// Whenever the disk gets full: nothing is changed by the refusal, and all that the file has is
/// still given out.
#[test]
fn a_full_disk_is_reported_and_nothing_is_changed() {
    for pages in (0..150).step_by(7) {
        let (disk, world, ts) = World::create(2);
        let mut model = Model::new();
        // The log's room comes first: it shares the disk.
        world.log.flush_to(world.log.tail()).unwrap();
        disk.enospc_after(pages * PAGE_BYTES as u64);
        let segments = [leaf(1), leaf(2), Segment::new(IndexId(1), SegmentKind::Inner)];
        let mut last = [PageNo::NONE; 3];
        let full = 'full: loop {
            for (segment, last) in segments.iter().zip(&mut last) {
                match world.allocate(&ts, *segment, *last) {
                    Ok(page) => {
                        assert!(model.insert(page.0, *segment).is_none());
                        *last = page;
                    }
                    Err(e) => break 'full e,
                }
            }
        };
        assert!(matches!(&full, Error::NoSpace { path } if path == NAME), "{full}");
        let found = check(&ts, &model);
        // What an owned extent holds is its segment's alone; everything else is used up.
        let unused = u64::from(found.pages_in_file) - found.pages_used;
        let reserved: u64 = found.segments.iter().map(|s| s.pages_free).sum();
        assert!(unused <= reserved, "{unused} pages of {found:?}");
        // A page given back is there for the next one.
        let (page, segment) = model.iter().next_back().map(|(p, s)| (*p, *s)).unwrap();
        world.free(&ts, segment, PageNo(page));
        assert_eq!(world.allocate(&ts, segment, PageNo::NONE).unwrap(), PageNo(page));
        disk.heal();
        for segment in segments {
            model.insert(world.allocate(&ts, segment, PageNo::NONE).unwrap().0, segment);
        }
        check(&ts, &model);
    }
}

/// An index is freed in steps; after a crash at any of them the next attempt frees the rest.
#[test]
fn segments_are_freed_again_after_a_crash() {
    for cut in [0, 1, 2, 3, 4, 1000] {
        let (disk, world, ts) = World::create(cut);
        let mut model = Model::new();
        let take = |model: &mut Model, segment, count| {
            for _ in 0..count {
                let page = world.allocate(&ts, segment, PageNo::NONE).unwrap();
                model.insert(page.0, segment);
            }
        };
        let inner = Segment::new(IndexId(1), SegmentKind::Inner);
        take(&mut model, inner, 1);
        let root = PageNo(*model.keys().next().unwrap());
        take(&mut model, leaf(1), 64 * 5);
        take(&mut model, leaf(2), 50);
        take(&mut model, inner, 20);
        take(&mut model, Segment::new(IndexId(1), SegmentKind::Blob), 100);
        world.log.flush_to(world.log.tail()).unwrap();
        world.pool.flush_all().unwrap();
        world.pool.checkpoint(b"").unwrap();
        check(&ts, &model);
        let before = model.clone();
        free_segments(&world.pool, &world.worker, &ts, IndexId(1), root).unwrap();
        model.retain(|page, segment| segment.index != IndexId(1) || *page == root.0);
        check(&ts, &model);
        // A log that ends after some of the steps.
        world.log.flush_to(world.log.tail()).unwrap();
        let (again, ts) = World::recover_until(disk.crash(), cut);
        let found = report(&ts).unwrap();
        assert_eq!(found.problems, []);
        let left = found.pages_used as usize - 1;
        match cut {
            0 => assert_eq!(left, before.len()),
            1000 => assert_eq!(left, model.len()),
            _ => assert!(left >= model.len() && left < before.len(), "{left}"),
        }
        free_segments(&again.pool, &again.worker, &ts, IndexId(1), root).unwrap();
        check(&ts, &model);
        again.free(&ts, inner, root);
        model.remove(&root.0);
        let found = check(&ts, &model);
        assert_eq!(found.segments.len(), 1);
    }
}

/// However large an index is, a step frees a part of it only; somebody may be waiting for the step's end.
#[test]
fn an_index_is_freed_in_bounded_steps() {
    const PIECES: u64 = 3;
    let (_disk, world, ts) = World::create(1);
    let mut model = Model::new();
    let inner = Segment::new(IndexId(1), SegmentKind::Inner);
    for (segment, count) in [(inner, 1), (leaf(1), 64 * 30), (leaf(2), 200), (inner, 20)] {
        for _ in 0..count {
            let page = world.allocate(&ts, segment, PageNo::NONE).unwrap();
            model.insert(page.0, segment);
        }
    }
    let root = *model.iter().find(|(_, segment)| **segment == inner).unwrap().0;
    let (mut release, mut steps, mut used) = (Release::default(), 0, model.len());
    loop {
        let of = (IndexId(1), PageNo(root));
        let done = release.step(&world.pool, &world.worker, &ts, of, &mut { PIECES }).unwrap();
        let left = report(&ts).unwrap().pages_used as usize - 1;
        // The last extent that a step looks at may be a shared one, whose pages are looked at one by one.
        assert!(used - left <= PIECES as usize * 64, "{} pages in a step", used - left);
        (used, steps) = (left, steps + 1);
        if done {
            break;
        }
    }
    assert!(steps >= 10, "{steps} steps");
    model.retain(|page, segment| segment.index != IndexId(1) || *page == root);
    check(&ts, &model);
}
