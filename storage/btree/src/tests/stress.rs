//! Several threads on one tree, and the warm read's promises.

use super::env::{Env, del, put};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::{Duration, Instant};
use stdx::rng::Rng;

const WRITERS: u64 = 3;

/// Writers own every third key each and know what must be there; a scanner sees order and no stranger's bytes.
#[test]
fn writers_and_readers_share_a_tree() {
    let env = Env::new(64);
    let tree = env.tree(9);
    let end = Instant::now() + Duration::from_millis(1500);
    let models: Vec<BTreeMap<u32, u8>> = std::thread::scope(|s| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                let (env, tree) = (&env, &tree);
                s.spawn(move || write_until(env, tree, w, end))
            })
            .collect();
        let scanner = s.spawn(|| {
            let mut scans = 0;
            let mut rng = Rng::new(77);
            while Instant::now() < end || scans == 0 {
                let all = (Bound::Unbounded, Bound::Unbounded);
                scan_once(tree.range(all.0, all.1), scans % 2 == 1);
                for _ in 0..300 {
                    let low = rng.below(3000 * WRITERS) as u32;
                    let (low, high) = (low.to_be_bytes(), (low + 12).to_be_bytes());
                    let range = tree.range(Bound::Included(&low), Bound::Excluded(&high));
                    scan_once(range, rng.chance(1, 2));
                }
                scans += 1;
            }
        });
        let models = writers.into_iter().map(|w| w.join().unwrap()).collect();
        scanner.join().unwrap();
        models
    });
    let report = tree.check().unwrap();
    assert_eq!(report.entries as usize, models.iter().map(BTreeMap::len).sum::<usize>());
    let mut out = vec![];
    for (key, value) in models.iter().flatten() {
        assert!(tree.get(&key.to_be_bytes(), &mut out).unwrap());
        assert!(out.iter().all(|b| b == value));
    }
}

fn write_until(env: &Env, tree: &crate::Tree, w: u64, end: Instant) -> BTreeMap<u32, u8> {
    let worker = env.worker();
    let mut rng = Rng::new(w);
    let mut model = BTreeMap::new();
    let mut out = vec![];
    let mut next = 0;
    while Instant::now() < end {
        for _ in 0..50 {
            // A third of the inserts ascends, so that the right edge is fought over.
            let n = if rng.chance(1, 3) { next } else { rng.below(3000) };
            next = (next + 1) % 3000;
            let key = (n * WRITERS + w) as u32;
            let bytes = key.to_be_bytes();
            match rng.below(5) {
                0..2 => {
                    let value = rng.next_u64() as u8;
                    put(env, tree, &worker, &bytes, &vec![value; rng.below(700) as usize]);
                    model.insert(key, value);
                }
                2 if rng.chance(1, 5) => {
                    let mut mtr = pool::Mtr::new(&env.pool, &worker);
                    let (held, page_no) = tree.exclusive_leaf(&mut mtr, &bytes).unwrap();
                    let leaf = page::Node::new(mtr.page(held)).unwrap();
                    assert!(leaf.is_leaf() && leaf.covers(&bytes), "page {page_no}");
                }
                2 => {
                    let was = del(env, tree, &worker, &bytes);
                    assert_eq!(was, model.remove(&key).is_some(), "key {key}");
                }
                _ => {
                    // The way of a reader that lost every race must answer the same.
                    let found = if rng.chance(1, 5) {
                        tree.get_latched(&bytes, &mut out).unwrap()
                    } else {
                        tree.get(&bytes, &mut out).unwrap()
                    };
                    assert_eq!(found, model.contains_key(&key), "key {key}");
                    if let Some(value) = model.get(&key) {
                        assert!(out.iter().all(|b| b == value), "key {key}");
                    }
                }
            }
        }
    }
    model
}

fn scan_once(mut range: crate::Range<'_>, back: bool) {
    let mut last: Option<Vec<u8>> = None;
    loop {
        let step = if back { range.prev() } else { range.next() };
        let Some((key, payload)) = step.unwrap() else { break };
        assert!(payload.windows(2).all(|w| w[0] == w[1]), "torn payload");
        if let Some(last) = &last {
            assert!(if back { key < &last[..] } else { key > &last[..] });
        }
        last = Some(key.to_vec());
    }
}

/// Counted when stdx is built with `count-shared`; without it this only checks the answers.
#[test]
fn a_warm_get_writes_nothing_shared_and_keeps_its_buffer() {
    let env = Env::new(600);
    let worker = env.worker();
    let tree = env.tree(10);
    for k in 0..20_000u32 {
        put(&env, &tree, &worker, &k.to_be_bytes(), &[k as u8; 190]);
    }
    let mut out = Vec::with_capacity(256);
    for k in 0..20_000u32 {
        assert!(tree.get(&k.to_be_bytes(), &mut out).unwrap());
    }
    let (before, at) = (stdx::shared_writes(), out.as_ptr());
    for k in 0..20_000u32 {
        assert!(tree.get(&k.to_be_bytes(), &mut out).unwrap());
        assert_eq!(out, [k as u8; 190]);
    }
    assert_eq!(stdx::shared_writes(), before);
    assert_eq!(out.as_ptr(), at, "the buffer was replaced");
}
