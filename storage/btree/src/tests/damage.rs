//! Trees with wrong bytes in them: an answer or an error, never a panic, an abort or an endless loop.

use super::env::Env;
use crate::{Fit, Tree};
use base::{Error, PAGE_BYTES, PageNo, Result};
use host::{AlignedBuf, Disk, OpenMode};
use pool::Mtr;
use std::ops::Bound;
use stdx::rng::Rng;
use sync::WorkerSlotRef;

/// Overwrites a page on the disk. `reseal`: the checksum is right again, as if the server had written it so.
fn harm(env: &Env, page: PageNo, reseal: bool, change: impl FnOnce(&mut [u8; PAGE_BYTES])) {
    let file = env.disk.open("t", OpenMode::ReadWrite).unwrap();
    let at = u64::from(page.0) * PAGE_BYTES as u64;
    let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
    file.read_exact_at(&mut buf, at).unwrap();
    let bytes: &mut [u8; PAGE_BYTES] = (&mut buf[..]).try_into().unwrap();
    change(bytes);
    if reseal {
        page::header::seal(bytes);
    }
    file.write_at(&buf, at).unwrap();
    file.sync_data().unwrap();
}

fn try_put(env: &Env, tree: &Tree, worker: &WorkerSlotRef, key: &[u8], bytes: usize) -> Result<()> {
    for _ in 0..20 {
        let mut mtr = Mtr::new(&env.pool, worker);
        let pos = tree.position(&mut mtr, key)?;
        let payload = vec![3; bytes];
        let fit = match pos.found {
            true => tree.replace_at(&mut mtr, &pos, &payload)?,
            false => tree.insert_at(&mut mtr, &pos, key, &payload)?,
        };
        if fit == Fit::Done {
            mtr.commit()?;
            return Ok(());
        }
        drop(mtr);
        tree.split(&env.pool, worker, key, bytes)?;
    }
    Err(Error::Internal("no room after twenty splits"))
}

fn try_del(env: &Env, tree: &Tree, worker: &WorkerSlotRef, key: &[u8]) -> Result<()> {
    let mut mtr = Mtr::new(&env.pool, worker);
    let pos = tree.position(&mut mtr, key)?;
    if pos.found {
        tree.remove_at(&mut mtr, &pos)?;
        mtr.commit()?;
    }
    Ok(())
}

/// Reads all, up to an error; more steps than there can be entries are an endless loop.
fn scan(tree: &Tree, back: bool) -> Result<u32> {
    let mut range = tree.range(Bound::Unbounded, Bound::Unbounded);
    for n in 0..1_000_000 {
        let step = if back { range.prev()? } else { range.next()? };
        if step.is_none() {
            return Ok(n);
        }
    }
    panic!("a scan without an end");
}

fn key_of(k: u64, style: u64) -> Vec<u8> {
    match style {
        0 => (k as u32).to_be_bytes().to_vec(),
        _ => [&vec![b'k'; 300][..], &(k as u16).to_be_bytes()].concat(),
    }
}

/// A tree of three levels (or two), all on the disk, and nothing in the log.
fn grown(style: u64) -> (Env, PageNo, Vec<PageNo>) {
    let env = Env::new(400);
    let worker = env.worker();
    let tree = env.tree(1);
    for k in 0..2000 {
        try_put(&env, &tree, &worker, &key_of(k * 7 % 2000, style), 60 + k as usize % 200).unwrap();
    }
    let pages = tree.check().unwrap().pages();
    env.log.flush_to(env.log.tail()).unwrap();
    env.pool.flush_all().unwrap();
    env.pool.checkpoint(b"").unwrap();
    (env, tree.root, pages)
}

fn use_everything(env: &Env, root: PageNo, style: u64, rng: &mut Rng) -> usize {
    let tree = env.tree_at(root, 1);
    let found = tree.verify(1000).unwrap().problems.len();
    let worker = env.worker();
    let mut out = Vec::new();
    let _ = (scan(&tree, false), scan(&tree, true));
    for _ in 0..60 {
        let key = key_of(rng.below(2100), style);
        let _ = (tree.get(&key, &mut out), tree.get_latched(&key, &mut out));
        let _ = match rng.below(3) {
            0 => try_del(env, &tree, &worker, &key),
            1 => try_put(env, &tree, &worker, &key, 9000),
            _ => try_put(env, &tree, &worker, &key, rng.below(2000) as usize),
        };
    }
    let _ = (scan(&tree, false), scan(&tree, true), tree.check());
    let _ =
        tree.free_below_root(&env.pool, &worker, &mut crate::Release::default(), &mut { u64::MAX });
    found
}

#[test]
fn flipped_bits_and_bytes_never_panic() {
    let mut seen = 0;
    const ROUNDS: u64 = 150;
    for style in 0..2 {
        let (grown, root, pages) = grown(style);
        for seed in 0..ROUNDS {
            let mut rng = Rng::new(seed * 2 + style);
            let env = grown.recovered(200);
            for _ in 0..1 + rng.below(3) {
                let page = match rng.chance(1, 3) {
                    true => root,
                    false => pages[rng.below(pages.len() as u64) as usize],
                };
                harm(&env, page, rng.chance(9, 10), |bytes| {
                    for _ in 0..1 + rng.below(4) {
                        // Mostly the header and the slots: that is where wrong numbers hurt.
                        let span = if rng.chance(3, 4) { 64 + 8 * 40 } else { PAGE_BYTES as u64 };
                        let at = rng.below(span) as usize;
                        match rng.chance(1, 2) {
                            true => bytes[at] ^= 1 << rng.below(8),
                            false => bytes[at] = rng.next_u64() as u8,
                        }
                    }
                });
            }
            seen += usize::from(use_everything(&env, root, style, &mut rng) > 0);
        }
    }
    // Not all damage can be seen: bytes of payloads, unused bytes, a byte replaced by itself.
    assert!(seen > ROUNDS as usize, "damage was seen {seen} times only");
}

#[test]
fn pages_that_changed_places_never_panic() {
    for style in 0..2 {
        let (grown, root, pages) = grown(style);
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let env = grown.recovered(200);
            let mut copies = Vec::new();
            let mut pick = || pages[rng.below(pages.len() as u64) as usize];
            let (from, to) = (pick(), if seed % 4 == 0 { root } else { pick() });
            harm(&env, from, true, |bytes| copies.push(*bytes));
            harm(&env, to, true, |bytes| {
                *bytes = copies[0];
                page::header::set_page_id(bytes, base::PageId::new(env.ts.id(), to));
            });
            let problems = use_everything(&env, root, style, &mut rng);
            assert_eq!(problems > 0, from != to, "page {from} over page {to}");
        }
    }
}

#[test]
fn damage_is_listed_page_by_page() {
    let (grown, root, pages) = grown(0);
    let env = grown.recovered(200);
    let leaves: Vec<_> = pages.iter().copied().filter(|p| *p != root).take(5).collect();
    for page in &leaves {
        harm(&env, *page, false, |bytes| bytes[5000] ^= 1);
    }
    let tree = env.tree_at(root, 1);
    let report = tree.verify(100).unwrap();
    let mut found: Vec<_> = report.problems.iter().map(|p| (p.page.page, p.what)).collect();
    found.sort();
    assert_eq!(found, leaves.iter().map(|p| (*p, "checksum mismatch")).collect::<Vec<_>>());
    assert_eq!(report.leaves, pages.len() - 1 - leaves.len(), "the other leaves were looked at");
    assert_eq!(tree.verify(2).unwrap().problems.len(), 2);
    assert!(matches!(tree.check(), Err(Error::Corrupt { .. })));
}
