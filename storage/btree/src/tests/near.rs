//! Writers that look first where they were last, and entries that come in order.

use super::env::{Env, put};
use crate::{Near, Tree};
use page::AppendBuf;
use pool::Mtr;
use std::collections::BTreeMap;
use std::ops::Bound;
use stdx::rng::Rng;

fn content(tree: &Tree) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut range = tree.range(Bound::Unbounded, Bound::Unbounded);
    while let Some((key, payload)) = range.next().unwrap() {
        all.insert(key.to_vec(), payload.to_vec());
    }
    all
}

#[test]
fn near_positions_are_those_of_the_way_down() {
    let env = Env::new(600);
    let worker = env.worker();
    let trees = [env.tree(21), env.tree(22)];
    let (mut near, mut rng) = (Near::default(), Rng::new(5));
    let mut models = [BTreeMap::new(), BTreeMap::new()];
    let mut base = 0;
    for round in 0..20_000u32 {
        // Runs of keys that go on, back, or elsewhere, in one tree or the other.
        if rng.chance(1, 30) {
            base = rng.below(1 << 20) as u32;
        }
        base = base.wrapping_add(rng.below(5) as u32);
        let which = usize::from(rng.chance(1, 50));
        let (tree, key) = (&trees[which], base.to_be_bytes());
        let payload = vec![round as u8; rng.below(60) as usize];
        loop {
            let mut mtr = Mtr::new(&env.pool, &worker);
            let pos = tree.position_near(&mut mtr, &key, &mut near).unwrap();
            assert_eq!(pos.found, models[which].contains_key(&key[..]));
            let fit = match pos.found {
                true => tree.replace_at(&mut mtr, &pos, &payload).unwrap(),
                false => tree.insert_at(&mut mtr, &pos, &key, &payload).unwrap(),
            };
            if fit == crate::Fit::Done {
                mtr.commit().unwrap();
                break;
            }
            drop(mtr);
            tree.split(&env.pool, &worker, &key, payload.len()).unwrap();
        }
        models[which].insert(key.to_vec(), payload);
        env.tend();
    }
    for (tree, model) in trees.iter().zip(&models) {
        assert!(tree.verify(1).unwrap().problems.is_empty());
        assert!(content(tree) == *model);
    }
}

#[test]
fn another_space_is_another_place() {
    let env = Env::new(600);
    let (worker, tree) = (env.worker(), env.tree(1));
    let ts = env.pool.create_tablespace(base::SpaceId(17), "u").unwrap();
    // As a table that is copied: the same index, fewer pages.
    let copied = env.tree_in(&ts, 1);
    for key in 0..5000u32 {
        put(&env, &tree, &worker, &key.to_be_bytes(), &[7; 200]);
        env.tend();
    }
    put(&env, &copied, &worker, &4999u32.to_be_bytes(), &[8; 20]);
    let mut near = Near::default();
    let mut find = |tree: &Tree| {
        let mut mtr = Mtr::new(&env.pool, &worker);
        let pos = tree.position_near(&mut mtr, &4999u32.to_be_bytes(), &mut near).unwrap();
        (pos.found, pos.page_no)
    };
    let (far, small) = ([0; 3].map(|_| find(&tree)), [0; 3].map(|_| find(&copied)));
    assert_eq!((far[2].0, small), (true, [(true, copied.root); 3]));
    assert!(far[2].1 > copied.root, "{far:?}");
}

#[test]
fn batches_in_order_agree_with_a_map() {
    let env = Env::new(600);
    let worker = env.worker();
    let tree = env.tree(23);
    let (mut near, mut append) = (Near::default(), AppendBuf::new());
    let (mut model, mut rng) = (BTreeMap::new(), Rng::new(6));
    for batch in 0..8u64 {
        let mut entries = BTreeMap::new();
        for _ in 0..3000 {
            let mut key = (rng.below(1 << 24) as u32).to_be_bytes().to_vec();
            key.resize(4 + rng.below(40) as usize, b'k');
            if !model.contains_key(&key) {
                entries.insert(key, vec![batch as u8; 1 + rng.below(9) as usize]);
            }
        }
        let sorted: Vec<(&[u8], &[u8])> = entries.iter().map(|(k, p)| (&k[..], &p[..])).collect();
        let mut done = 0;
        while done < sorted.len() {
            let mut mtr = Mtr::new(&env.pool, &worker);
            let rest = sorted[done..].iter().copied();
            let (added, _) = tree.add_in_order(&mut mtr, rest, &mut near, &mut append).unwrap();
            match added {
                0 => {
                    drop(mtr);
                    let (key, payload) = sorted[done];
                    tree.split(&env.pool, &worker, key, payload.len()).unwrap();
                }
                _ => drop(mtr.commit().unwrap()),
            }
            done += added;
            env.tend();
        }
        model.append(&mut entries);
        assert!(content(&tree) == model, "batch {batch}");
    }
}
