//! Short ranges, which have a part of a leaf copied.

use super::env::{Env, del, put};
use crate::{Cursor, Tree};
use std::collections::BTreeMap;
use std::ops::Bound;
use stdx::rng::Rng;

type Model = BTreeMap<u32, Vec<u8>>;

/// Keys of which a range may begin and end, there or not.
const KEYS: u64 = 4000;

fn random_bound(rng: &mut Rng, key: u32) -> Bound<[u8; 4]> {
    match rng.below(9) {
        0..4 => Bound::Included(key.to_be_bytes()),
        4..8 => Bound::Excluded(key.to_be_bytes()),
        _ => Bound::Unbounded,
    }
}

fn is_in(key: u32, low: Bound<[u8; 4]>, high: Bound<[u8; 4]>) -> bool {
    use std::ops::RangeBounds;
    (low, high).contains(&key.to_be_bytes())
}

/// Goes to and fro in a range; where no end is known, from the end that it began at.
fn walk(cursor: &mut Cursor, tree: &Tree, inside: &[(&u32, &Vec<u8>)], rng: &mut Rng) {
    let mut at: Option<usize> = None;
    for _ in 0..1 + rng.below(40) {
        let forward = rng.chance(1, 2);
        let before = at.unwrap_or(if forward { 0 } else { inside.len() });
        let wanted = match forward {
            true => inside.get(before),
            false => before.checked_sub(1).map(|i| &inside[i]),
        };
        let got = if forward { cursor.next(tree) } else { cursor.prev(tree) }.unwrap();
        let wanted_bytes = wanted.map(|(k, v)| (k.to_be_bytes(), &v[..]));
        assert_eq!(got, wanted_bytes.as_ref().map(|(k, v)| (&k[..], *v)));
        let step = usize::from(wanted.is_some());
        at = Some(if forward { before + step } else { before - step });
    }
}

#[test]
fn short_ranges_agree_with_a_map() {
    let env = Env::new(600);
    let worker = env.worker();
    let tree = env.tree(11);
    let mut rng = Rng::new(20);
    let mut model = Model::new();
    let mut cursor = Cursor::new();
    for round in 0..30_000 {
        // Entries come in no order and are replaced by longer ones, so neighbours lie apart in their leaf.
        if round < 3000 || rng.chance(1, 20) {
            let key = rng.below(KEYS) as u32;
            let payload = vec![key as u8; rng.below(200) as usize];
            put(&env, &tree, &worker, &key.to_be_bytes(), &payload);
            model.insert(key, payload);
            let gone = rng.below(KEYS) as u32;
            if rng.chance(1, 3) {
                assert_eq!(
                    del(&env, &tree, &worker, &gone.to_be_bytes()),
                    model.remove(&gone).is_some()
                );
            }
        }
        let low = rng.below(KEYS) as u32;
        // Sometimes the ends are crossed.
        let length = if rng.chance(1, 10) { rng.below(300) } else { rng.below(12) };
        let high = (low + length as u32).saturating_sub(2);
        let (low, high) = (random_bound(&mut rng, low), random_bound(&mut rng, high));
        let inside: Vec<_> = model.iter().filter(|(k, _)| is_in(**k, low, high)).collect();
        // Ranges beside each other are read from one copy.
        for _ in 0..1 + rng.below(4) {
            cursor.open(low.as_ref().map(|k| &k[..]), high.as_ref().map(|k| &k[..]));
            walk(&mut cursor, &tree, &inside, &mut rng);
        }
    }
}
