//! What redo makes of a tree.

use super::env::{Env, del, put};
use base::PageBuf;
use stdx::rng::Rng;

/// Every page that redo leaves equals the live one, byte for byte but for the checksum stamp.
#[test]
fn redo_makes_the_same_pages() {
    for seed in 0..3 {
        let env = Env::new(64);
        let worker = env.worker();
        let tree = env.tree(11);
        let mut rng = Rng::new(seed);
        for _ in 0..4000 {
            let key = vec![b'k'; rng.below(60) as usize];
            let key = [&key[..], &(rng.below(900) as u16).to_be_bytes()].concat();
            if rng.chance(1, 3) {
                del(&env, &tree, &worker, &key);
            } else {
                let payload = vec![seed as u8; rng.below(900) as usize];
                put(&env, &tree, &worker, &key, &payload);
            }
        }
        let report = tree.check().unwrap();
        let again = env.recovered(64);
        let tree_again = again.tree_at(tree.root, 11);
        assert_eq!(tree_again.check().unwrap(), report);
        for page in report.pages() {
            let live: PageBuf = *env.ts.shared(page).unwrap();
            let redone: PageBuf = *again.ts.shared(page).unwrap();
            assert!(live[4..] == redone[4..], "page {page}, seed {seed}");
        }
        // And it is a tree to go on with.
        let worker = again.worker();
        for k in 0..500u16 {
            put(&again, &tree_again, &worker, &k.to_be_bytes(), &[8; 300]);
        }
        tree_again.check().unwrap();
    }
}

/// A crash between a split and the insert that wanted it leaves a correct tree.
#[test]
fn a_split_alone_is_a_correct_tree() {
    let env = Env::new(64);
    let worker = env.worker();
    let tree = env.tree(12);
    for k in 0..200u16 {
        put(&env, &tree, &worker, &k.to_be_bytes(), &[1; 300]);
    }
    let before = tree.check().unwrap();
    for k in 0..200u16 {
        tree.split(&env.pool, &worker, &[&k.to_be_bytes()[..], &[1]].concat(), 9000).unwrap();
    }
    let after = tree.check().unwrap();
    assert!(after.leaves >= 2 * before.leaves && after.entries == before.entries);
    let again = env.recovered(64);
    assert_eq!(again.tree_at(tree.root, 12).check().unwrap(), after);
    // Who wrote an entry may be found in either half.
    for page in after.leaf_pages.iter() {
        let page: PageBuf = *again.ts.shared(page).unwrap();
        assert_eq!(page::header::max_trx_id(&page), base::TrxId(3));
    }
}

/// A full disk refuses the split and changes nothing.
#[test]
fn a_full_disk_leaves_the_tree_as_it_was() {
    let env = Env::new(400);
    let worker = env.worker();
    let tree = env.tree(13);
    let mut k = 0u32;
    let refused = loop {
        if k == 300 {
            env.disk.enospc_after(0);
        }
        let (key, payload) = (k.to_be_bytes(), [1; 2000]);
        let mut mtr = pool::Mtr::new(&env.pool, &worker);
        let pos = tree.position(&mut mtr, &key).unwrap();
        if tree.insert_at(&mut mtr, &pos, &key, &payload).unwrap() == crate::Fit::Done {
            mtr.commit().unwrap();
            k += 1;
            continue;
        }
        drop(mtr);
        if let Err(e) = tree.split(&env.pool, &worker, &key, payload.len()) {
            break e;
        }
        assert!(k < 100_000, "the disk never got full");
    };
    assert!(matches!(refused, base::Error::NoSpace { .. }), "{refused}");
    assert_eq!(tree.check().unwrap().entries, u64::from(k));
    env.disk.heal();
    put(&env, &tree, &worker, &k.to_be_bytes(), &[1; 2000]);
    assert_eq!(tree.check().unwrap().entries, u64::from(k) + 1);
}
