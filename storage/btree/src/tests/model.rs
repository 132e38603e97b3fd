//! One thread against a map.

use super::env::{Env, del, put};
use crate::{Cursor, ENTRY_BYTES_MAX, KEY_BYTES_MAX, ROW_KEY_BYTES_MAX, Spot, Tree};
use base::{Error, PageNo};
use page::{Node, PageOp};
use pool::Mtr;
use std::collections::BTreeMap;
use std::ops::Bound;
use stdx::rng::Rng;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys of many lengths that share prefixes.
fn random_key(rng: &mut Rng, style: u64) -> Vec<u8> {
    match style {
        0 => (rng.below(4000) as u32 | 1 << 31).to_be_bytes().to_vec(),
        1 => format!("user/{:05}/{}", rng.below(700), "x".repeat(rng.below(30) as usize)).into(),
        2 => {
            let mut key = vec![rng.below(3) as u8; rng.below(600) as usize];
            key.extend_from_slice(&(rng.below(3000) as u16).to_be_bytes());
            key
        }
        _ => {
            let mut key = vec![0; rng.below(5) as usize];
            rng.fill(&mut key);
            key
        }
    }
}

fn random_payload(rng: &mut Rng) -> Vec<u8> {
    let max = if rng.chance(1, 40) { 5000 } else { 250 };
    let mut payload = vec![0; rng.below(max) as usize];
    rng.fill(&mut payload);
    payload
}

fn collect(tree: &Tree, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut range = tree.range(low, high);
    let mut all = vec![];
    while let Some((k, v)) = range.next().unwrap() {
        all.push((k.to_vec(), v.to_vec()));
    }
    assert!(range.next().unwrap().is_none(), "the end stays the end");
    all
}

fn collect_back(tree: &Tree, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut range = tree.range(low, high);
    let mut all = vec![];
    while let Some((k, v)) = range.prev().unwrap() {
        all.push((k.to_vec(), v.to_vec()));
    }
    all.reverse();
    all
}

/// An entry that is copied alone is the one above the key, and its neighbours are found from there.
fn compare_spots(tree: &Tree, model: &Model, rng: &mut Rng, style: u64) {
    let mut spot = Spot::default();
    for _ in 0..200 {
        let key = match model.len() {
            0 => random_key(rng, style),
            n if rng.chance(1, 2) => {
                model.keys().nth(rng.below(n as u64) as usize).unwrap().clone()
            }
            _ => random_key(rng, style),
        };
        spot.seek_alone(tree, &key).unwrap();
        let mut above = model.range::<Vec<u8>, _>((Bound::Excluded(&key), Bound::Unbounded));
        let stands_on = |spot: &Spot, at: Option<(&Vec<u8>, &Vec<u8>)>| {
            assert_eq!(spot.entry().unwrap(), at.map(|(k, v)| (&k[..], &v[..])));
            assert!(spot.is_current(tree).unwrap());
        };
        let first = above.next();
        stands_on(&spot, first);
        let Some((first, _)) = first else { continue };
        if rng.chance(1, 2) {
            spot.next(tree).unwrap();
            stands_on(&spot, above.next());
        } else {
            let below = model.range::<Vec<u8>, _>(..first).next_back();
            assert_eq!(spot.prev(tree).unwrap(), below.is_some());
            if below.is_some() {
                stands_on(&spot, below);
            }
        }
    }
}

fn compare(tree: &Tree, model: &Model, rng: &mut Rng, style: u64) {
    let report = tree.check().unwrap();
    assert_eq!(report.entries as usize, model.len());
    let mut out = vec![];
    for (k, v) in model {
        assert!(tree.get(k, &mut out).unwrap());
        assert_eq!(&out, v);
    }
    for _ in 0..200 {
        let key = random_key(rng, style);
        assert_eq!(tree.get(&key, &mut out).unwrap(), model.contains_key(&key));
    }
    compare_spots(tree, model, rng, style);
    for _ in 0..12 {
        let (a, b) = (random_key(rng, style), random_key(rng, style));
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        let edge = |k: &mut Rng, key| match k.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(key),
            _ => Bound::Excluded(key),
        };
        let (low, high) = (edge(rng, &a[..]), edge(rng, &b[..]));
        let want: Vec<_> = match (low, high) {
            (Bound::Excluded(x), Bound::Excluded(y)) if x == y => vec![],
            _ => model.range::<[u8], _>((low, high)).map(|(k, v)| (k.clone(), v.clone())).collect(),
        };
        assert_eq!(collect(tree, low, high), want);
        assert_eq!(collect_back(tree, low, high), want);
    }
}

#[test]
fn random_work_agrees_with_a_map() {
    for style in 0..4 {
        let env = Env::new(400);
        let worker = env.worker();
        let tree = env.tree(40 + style);
        let mut rng = Rng::new(style + 10);
        let mut model = Model::new();
        compare(&tree, &model, &mut rng, style);
        for step in 1..=6000u32 {
            let key = random_key(&mut rng, style);
            // The second half removes more than it inserts: leaves get empty.
            let remove = if step > 4000 { 3 } else { 1 };
            if rng.chance(remove, 4) {
                assert_eq!(del(&env, &tree, &worker, &key), model.remove(&key).is_some());
            } else {
                let payload = random_payload(&mut rng);
                put(&env, &tree, &worker, &key, &payload);
                model.insert(key, payload);
            }
            if step % 2000 == 0 {
                compare(&tree, &model, &mut rng, style);
            }
        }
        let keys: Vec<_> = model.keys().cloned().collect();
        for key in keys {
            assert!(del(&env, &tree, &worker, &key));
        }
        compare(&tree, &Model::new(), &mut rng, style);
    }
}

#[test]
fn ascending_loads_fill_leaves_and_random_ones_do_not_waste() {
    let env = Env::new(1000);
    let worker = env.worker();
    let (up, random) = (env.tree(1), env.tree(2));
    let mut keys: Vec<u32> = (0..10_000).collect();
    for k in &keys {
        put(&env, &up, &worker, &k.to_be_bytes(), &[7; 180]);
    }
    Rng::new(4).shuffle(&mut keys);
    for k in &keys {
        put(&env, &random, &worker, &k.to_be_bytes(), &[7; 180]);
    }
    for (tree, fill_min) in [(&up, 0.9), (&random, 0.6)] {
        let report = tree.check().unwrap();
        let space = (report.leaves * (base::PAGE_BYTES - page::BODY_AT)) as f64;
        let fill = 1.0 - report.leaf_free_bytes as f64 / space;
        assert!(fill > fill_min, "fill {fill:.3} of {} leaves", report.leaves);
        assert_eq!(report.entries, 10_000);
    }
    assert_eq!(up.check().unwrap().levels, 2);
}

/// Keys of up to `bytes` bytes that differ at their ends only, in groups that have nothing in common:
/// fences and separators get as long as they can.
fn long_key(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    let group = rng.below(12) as u8;
    let mut key = vec![group * 20; bytes - 4 - rng.below(3) as usize];
    key.extend_from_slice(&(rng.below(300) as u16).to_be_bytes());
    if rng.chance(1, 10) {
        key.truncate(rng.below(bytes as u64) as usize);
    }
    key
}

#[test]
fn the_largest_rows_find_their_place() {
    for seed in 0..4 {
        let env = Env::new(2000);
        let worker = env.worker();
        let tree = env.tree(3);
        let mut model = Model::new();
        let mut rng = Rng::new(seed);
        for _ in 0..900 {
            let key = long_key(&mut rng, ROW_KEY_BYTES_MAX);
            let payload = match rng.below(4) {
                0 => vec![1; ENTRY_BYTES_MAX - key.len()],
                1 => vec![],
                _ => vec![2; rng.below(5000) as usize],
            };
            put(&env, &tree, &worker, &key, &payload);
            model.insert(key, payload);
        }
        let grow: Vec<_> = model.keys().step_by(5).cloned().collect();
        for key in grow {
            let payload = vec![9; ENTRY_BYTES_MAX - key.len()];
            put(&env, &tree, &worker, &key, &payload);
            model.insert(key, payload);
        }
        compare(&tree, &model, &mut rng, 3);
        assert!(tree.check().unwrap().levels > 3, "large separators make a high tree");
    }
}

#[test]
fn the_longest_keys_of_indexes_find_their_place() {
    for seed in 0..4 {
        let env = Env::new(2000);
        let worker = env.worker();
        let tree = env.tree(3);
        let mut model = Model::new();
        let mut rng = Rng::new(seed);
        for i in 0..1500 {
            let key = long_key(&mut rng, KEY_BYTES_MAX);
            if i > 1000 && rng.chance(1, 2) {
                assert_eq!(del(&env, &tree, &worker, &key), model.remove(&key).is_some());
                continue;
            }
            let payload = vec![i as u8; rng.below(9) as usize];
            put(&env, &tree, &worker, &key, &payload);
            model.insert(key, payload);
        }
        compare(&tree, &model, &mut rng, 3);
        assert!(tree.check().unwrap().levels > 5, "large separators make a high tree");
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let env = Env::new(100);
    let worker = env.worker();
    let tree = env.tree(3);
    let mut mtr = Mtr::new(&env.pool, &worker);
    let pos = tree.position(&mut mtr, b"z").unwrap();
    for (key, payload, is_key) in [
        (KEY_BYTES_MAX + 1, 0, true),
        (ROW_KEY_BYTES_MAX + 1, 9, true),
        (ROW_KEY_BYTES_MAX, ENTRY_BYTES_MAX - ROW_KEY_BYTES_MAX + 1, false),
        (2, ENTRY_BYTES_MAX - 1, false),
    ] {
        let refused = tree.insert_at(&mut mtr, &pos, &vec![b'z'; key], &vec![0; payload]);
        match refused {
            Err(Error::KeyTooLong { bytes, .. }) if is_key => assert_eq!(bytes, key),
            Err(Error::RowTooLarge { bytes, .. }) if !is_key => assert_eq!(bytes, key + payload),
            other => panic!("{key} {payload}: {other:?}"),
        }
    }
}

#[test]
fn a_cursor_turns_around_and_is_reused() {
    let env = Env::new(400);
    let worker = env.worker();
    let tree = env.tree(4);
    for i in 0..3000u16 {
        put(&env, &tree, &worker, &i.to_be_bytes(), &[1; 60]);
    }
    let mut cursor = Cursor::new();
    let mut rng = Rng::new(77);
    for _ in 0..20 {
        let (from, to) = (rng.below(1000) as u16, 1500 + rng.below(1000) as u16);
        cursor
            .open(Bound::Included(&from.to_be_bytes()[..]), Bound::Excluded(&to.to_be_bytes()[..]));
        // `at`: the entry after the cursor, which a first prev puts at the end.
        let mut at = from;
        for step in 0..4000 {
            let forward = if at == from || step == 0 { true } else { rng.chance(11, 20) };
            let got = if forward { cursor.next(&tree) } else { cursor.prev(&tree) };
            let got = got.unwrap().map(|(k, _)| u16::from_be_bytes(k.try_into().unwrap()));
            if forward {
                assert_eq!(got, (at < to).then_some(at));
                at += u16::from(got.is_some());
            } else {
                at -= 1;
                assert_eq!(got, Some(at));
            }
        }
    }
    // Entries that come and go between leaves are seen or not, the others once.
    let mut range = tree.range(Bound::Unbounded, Bound::Unbounded);
    let mut seen = 0;
    while let Some((k, _)) = range.next().unwrap() {
        let k = u16::from_be_bytes(k.try_into().unwrap());
        assert_eq!(k, seen);
        seen += 1;
        if k % 100 == 0 {
            put(&env, &tree, &worker, &k.to_be_bytes(), &[2; 3000]);
        }
    }
    assert_eq!(seen, 3000);
}

#[test]
fn one_transaction_changes_several_entries_of_a_leaf() {
    let env = Env::new(100);
    let worker = env.worker();
    let tree = env.tree(5);
    let mut mtr = Mtr::new(&env.pool, &worker);
    let pos = tree.position(&mut mtr, b"a").unwrap();
    assert_eq!(tree.insert_at(&mut mtr, &pos, b"a", b"first").unwrap(), crate::Fit::Done);
    assert_eq!(pos.payload(&mtr).unwrap(), b"first");
    let pos = tree.reposition(&mtr, &pos, b"b").unwrap().unwrap();
    assert!(!pos.found && pos.slot == 1);
    assert_eq!(tree.insert_at(&mut mtr, &pos, b"b", b"second").unwrap(), crate::Fit::Done);
    tree.patch_at(&mut mtr, &pos, 0, b"S").unwrap();
    assert!(tree.patch_at(&mut mtr, &pos, 5, b"xx").is_err(), "beyond the payload");
    let pos = tree.reposition(&mtr, &pos, b"a").unwrap().unwrap();
    tree.remove_at(&mut mtr, &pos).unwrap();
    mtr.commit().unwrap();
    let mut out = vec![];
    assert!(!tree.get(b"a", &mut out).unwrap());
    assert!(tree.get(b"b", &mut out).unwrap());
    assert_eq!(out, b"Second");
}

#[test]
fn the_verifier_sees_damage() {
    let damage: [fn(&mut Mtr<'_>, pool::Held, PageNo); 4] = [
        // A child that another slot has too.
        |mtr, root, _| {
            let child = Node::new(mtr.page(root)).unwrap().payload(0).unwrap().to_vec();
            mtr.apply(root, &PageOp::Replace { slot: 1, payload: &child }).unwrap();
        },
        // A lost separator.
        |mtr, root, _| mtr.apply(root, &PageOp::Remove { slot: 1 }).unwrap(),
        // A separator that is not the child's low fence.
        |mtr, root, _| {
            let node = Node::new(mtr.page(root)).unwrap();
            let (mut key, child) = (vec![], node.payload(1).unwrap().to_vec());
            node.copy_key(1, &mut key).unwrap();
            key.push(0);
            mtr.apply(root, &PageOp::Remove { slot: 1 }).unwrap();
            mtr.apply(root, &PageOp::Insert { slot: 1, key: &key, payload: &child }).unwrap();
        },
        // The root as its own child.
        |mtr, root, no| {
            mtr.apply(root, &PageOp::Replace { slot: 1, payload: &no.0.to_le_bytes() }).unwrap();
        },
    ];
    for (i, harm) in damage.iter().enumerate() {
        let env = Env::new(200);
        let worker = env.worker();
        let tree = env.tree(6);
        for k in 0..500u32 {
            put(&env, &tree, &worker, &k.to_be_bytes(), &[1; 200]);
        }
        tree.check().unwrap();
        let mut mtr = Mtr::new(&env.pool, &worker);
        let root = mtr.exclusive(&env.ts, tree.root).unwrap();
        harm(&mut mtr, root, tree.root);
        mtr.commit().unwrap();
        assert!(matches!(tree.check(), Err(Error::Corrupt { .. })), "damage {i}");
        // Readers of a damaged tree answer or fail; they do not hang or panic.
        let mut out = vec![];
        for k in 0..500u32 {
            let _ = tree.get(&k.to_be_bytes(), &mut out);
        }
    }
}

#[test]
fn freeing_a_tree_gives_every_page_back() {
    let env = Env::new(600);
    let worker = env.worker();
    let fill = |tree: &Tree| {
        for k in 0..4000u32 {
            let key = [&[b'k'; 200][..], &k.to_be_bytes()].concat();
            put(&env, tree, &worker, &key, &[1; 60]);
        }
        tree.check().unwrap().pages()
    };
    let tree = env.tree(7);
    let first = fill(&tree);
    assert!(first.len() > 30);
    tree.free_all(&env.pool, &worker).unwrap();
    // The same work again finds room in the freed pages alone.
    let again = fill(&env.tree(8));
    assert_eq!(first, again);
}
