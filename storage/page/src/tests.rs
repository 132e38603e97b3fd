//! Model, garbage and scribbler tests of the page crate.

use crate::header::{self, PageKind};
use crate::{Node, PageOp, RacyNode, apply, check_node, entry_bytes};
use base::{Error, IndexId, Lsn, PAGE_BYTES, PageBuf, PageId, PageNo, SpaceId, TrxId};
use std::collections::BTreeMap;
use stdx::rng::Rng;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn fresh(low: &[u8], high: Option<&[u8]>) -> Box<PageBuf> {
    let mut page = Box::new([0; PAGE_BYTES]);
    header::set_page_id(&mut page, PageId::new(SpaceId(16), PageNo(7)));
    header::set_lsn(&mut page, Lsn(4711));
    page[..4].copy_from_slice(&[1, 2, 3, 4]);
    let op = PageOp::Init {
        kind: PageKind::Leaf,
        level: 0,
        index_id: IndexId(5),
        low_fence: low,
        high_fence: high,
    };
    apply(&mut page, &op).unwrap();
    page
}

fn with_racy<T>(page: &PageBuf, f: impl FnOnce(RacyNode<'_>) -> T) -> T {
    // A copy that is aligned to words, as frames are.
    let words: Vec<u64> = page.as_chunks::<8>().0.iter().map(|c| u64::from_ne_bytes(*c)).collect();
    // SAFETY: `words` is a whole page, aligned, and outlives the call.
    f(unsafe { RacyNode::new(words.as_ptr().cast()) })
}

fn random_bytes(rng: &mut Rng, max: u64) -> Vec<u8> {
    let mut v = vec![0; rng.below(max + 1) as usize];
    rng.fill(&mut v);
    v
}

/// Keys that share heads often, end early, and hold zero bytes.
fn random_key(rng: &mut Rng, prefix: &[u8]) -> Vec<u8> {
    let mut key = prefix.to_vec();
    for _ in 0..rng.below(9) {
        key.push([0, 0, 1, 2, 0xff][rng.below(5) as usize]);
    }
    key
}

/// Applies through the log's form, on two pages: both must agree byte for byte.
fn apply_twice(page: &mut PageBuf, twin: &mut PageBuf, op: &PageOp<'_>) -> Result<(), Error> {
    let mut bytes = vec![];
    op.encode(&mut bytes);
    let (decoded, n) = PageOp::decode(&bytes).unwrap();
    assert_eq!((&decoded, n), (op, bytes.len()));
    let before = *page;
    let done = apply(page, op);
    let again = apply(twin, &decoded);
    assert_eq!(done.is_ok(), again.is_ok());
    if done.is_err() {
        assert!(before == *page, "a refused op changed the page: {op:?}");
    }
    assert!(*page == *twin, "redo differs after {op:?}");
    done
}

/// Packed, a page is what the same entries make of a new one: nothing of its history is left.
fn compare_packed(page: &PageBuf) {
    let node = Node::new(page).unwrap();
    let mut made = fresh(node.low_fence(), node.high_fence());
    let mut entries = crate::AppendBuf::new();
    for i in 0..node.count() {
        let (suffix, payload) = node.suffix_and_payload(i).unwrap();
        entries.push(suffix, payload);
    }
    apply(&mut made, &entries.op(node.prefix())).unwrap();
    let mut packed = *page;
    apply(&mut packed, &PageOp::Compact).unwrap();
    assert!(packed == *made, "a packed page remembers its history");
}

fn compare(page: &PageBuf, model: &Model, probes: &[Vec<u8>]) {
    check_node(page).unwrap();
    compare_packed(page);
    let node = Node::new(page).unwrap();
    assert_eq!(usize::from(node.count()), model.len());
    let mut key = vec![];
    for (i, (k, v)) in model.iter().enumerate() {
        node.copy_key(i as u16, &mut key).unwrap();
        assert_eq!(&key, k);
        assert_eq!(node.payload(i as u16).unwrap(), v);
    }
    let mut out = vec![];
    with_racy(page, |racy| {
        for probe in probes.iter().chain(model.keys()) {
            let want_slot = model.range::<Vec<u8>, _>(..probe).count() as u16;
            let found = node.search(probe).unwrap();
            assert_eq!((found.slot, found.exact), (want_slot, model.contains_key(probe)));
            assert_eq!(racy.search(probe), Some(found), "probe {probe:?}");
            if found.exact {
                racy.copy_payload(found.slot, &mut out).unwrap();
                assert_eq!(out, model[probe]);
                racy.copy_key(found.slot, &mut out).unwrap();
                assert_eq!(&out, probe);
            }
        }
        assert_eq!(racy.copy_key(node.count(), &mut out), None);
        let mut copy = [0; PAGE_BYTES];
        racy.copy_page(&mut copy);
        assert!(copy == *page);
        for from in (0..=node.count()).step_by(3) {
            let to = node.count().min(from + 1 + from % 7);
            let mut part = [0xa5; PAGE_BYTES];
            racy.copy_entries(from, to, &mut part).unwrap();
            let part = Node::new(&part).unwrap();
            assert_eq!(
                (part.low_fence(), part.high_fence()),
                (node.low_fence(), node.high_fence())
            );
            for slot in from..to {
                let copied = part.suffix_and_payload(slot).unwrap();
                assert_eq!(copied, node.suffix_and_payload(slot).unwrap());
            }
        }
        assert_eq!(racy.copy_high_fence(&mut out), Some(node.high_fence().is_some()));
        assert_eq!(out, node.high_fence().unwrap_or_default());
    });
}

#[test]
fn random_ops_agree_with_a_map() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let (low, high): (Vec<u8>, Option<Vec<u8>>) = match seed % 3 {
            0 => (vec![], None),
            1 => (vec![7, 7, 1], Some(vec![7, 7, 9])),
            _ => (vec![3; 40], Some([vec![3; 40], vec![9]].concat())),
        };
        let prefix = match &high {
            Some(high) => low[..crate::common_prefix(&low, high)].to_vec(),
            None => vec![],
        };
        let mut page = fresh(&low, high.as_deref());
        let mut twin = page.clone();
        let mut model = Model::new();
        for step in 0..400 {
            one_op(&mut rng, &prefix, &mut page, &mut twin, &mut model);
            if step % 20 == 19 {
                let probes: Vec<_> = (0..10).map(|_| random_key(&mut rng, &prefix)).collect();
                compare(&page, &model, &probes);
            }
        }
    }
}

fn one_op(rng: &mut Rng, prefix: &[u8], page: &mut PageBuf, twin: &mut PageBuf, model: &mut Model) {
    let node = Node::new(page).unwrap();
    let key = random_key(rng, prefix);
    let found = node.search(&key).unwrap();
    let slot = found.slot;
    let payload_max = if rng.chance(1, 10) { 4000 } else { 120 };
    let payload = random_bytes(rng, payload_max);
    match rng.below(12) {
        0..6 => {
            let possible = !found.exact && node.covers(&key) && node.fits(&key, payload.len());
            let done =
                apply_twice(page, twin, &PageOp::Insert { slot, key: &key, payload: &payload });
            assert_eq!(done.is_ok(), possible, "{done:?}");
            if done.is_ok() {
                model.insert(key, payload);
            }
        }
        6 | 7 => {
            let done = apply_twice(page, twin, &PageOp::Remove { slot });
            let victim = model.keys().nth(usize::from(slot)).cloned();
            assert_eq!(done.is_ok(), victim.is_some());
            victim.map(|k| model.remove(&k));
        }
        8 | 9 => {
            let fits = node.fits_replace(slot, payload.len()).unwrap_or(false);
            let done = apply_twice(page, twin, &PageOp::Replace { slot, payload: &payload });
            assert_eq!(done.is_ok(), fits, "{done:?}");
            if done.is_ok() {
                *model.values_mut().nth(usize::from(slot)).unwrap() = payload;
            }
        }
        10 => {
            let at = rng.below(100) as u16;
            let done = apply_twice(page, twin, &PageOp::Patch { slot, at, bytes: &payload });
            if done.is_ok() {
                let old = model.values_mut().nth(usize::from(slot)).unwrap();
                old[usize::from(at)..usize::from(at) + payload.len()].copy_from_slice(&payload);
            }
        }
        _ => apply_twice(page, twin, &PageOp::Compact).unwrap(),
    }
}

/// The header promises garbage that is not there: packing does not make room, and must leave no trace.
#[test]
fn an_insert_that_finds_less_garbage_than_promised_changes_nothing() {
    let mut page = fresh(&[], None);
    for i in 0..140u8 {
        apply(&mut page, &PageOp::Insert { slot: 0, key: &[200 - i], payload: &[i; 90] }).unwrap();
    }
    apply(&mut page, &PageOp::Remove { slot: 9 }).unwrap();
    header::put_u16(&mut page, header::GARBAGE, 4000);
    let before = page.clone();
    let insert = PageOp::Insert { slot: 0, key: &[1], payload: &[0; 3500] };
    let refused = apply(&mut page, &insert);
    let what = "less garbage than the header says";
    assert!(matches!(refused, Err(Error::Corrupt { what: w, .. }) if w == what), "{refused:?}");
    assert!(page == before, "a refused op changed the page");
}

#[test]
fn truncate_and_append_split_a_page() {
    let mut rng = Rng::new(1);
    for round in 0..40 {
        let mut page = fresh(b"k", if round % 2 == 0 { None } else { Some(b"kz") });
        let mut model = Model::new();
        while model.len() < 60 {
            let key = [b"kk", &random_bytes(&mut rng, 9)[..]].concat();
            let slot = Node::new(&page).unwrap().search(&key).unwrap().slot;
            let payload = random_bytes(&mut rng, 100);
            if apply(&mut page, &PageOp::Insert { slot, key: &key, payload: &payload }).is_ok() {
                model.insert(key, payload);
            }
        }
        let at = 1 + rng.below(58) as u16;
        let keys: Vec<_> = model.keys().cloned().collect();
        let separator = keys[usize::from(at)].clone();
        let old = page.clone();
        let node = Node::new(&old).unwrap();
        let mut right = fresh(&separator, node.high_fence());
        let mut entries = crate::AppendBuf::new();
        for i in at..node.count() {
            let (suffix, payload) = node.suffix_and_payload(i).unwrap();
            entries.push(suffix, payload);
        }
        let mut twin = right.clone();
        apply_twice(&mut right, &mut twin, &entries.op(node.prefix())).unwrap();
        let mut twin = page.clone();
        let low = PageOp::Truncate { slot: at, high_fence: &keys[usize::from(at) - 1] };
        assert!(apply_twice(&mut page, &mut twin, &low).is_err(), "a fence below a key");
        let cut = PageOp::Truncate { slot: at, high_fence: &separator };
        apply_twice(&mut page, &mut twin, &cut).unwrap();
        let upper = model.split_off(&separator);
        compare(&page, &model, &keys);
        compare(&right, &upper, &keys);
    }
}

#[test]
fn garbage_pages_and_ops_never_panic() {
    let mut rng = Rng::new(99);
    let mut good = fresh(b"a", Some(b"q"));
    for i in 0..80u16 {
        let key = [b"b".as_slice(), &i.to_be_bytes()].concat();
        apply(&mut good, &PageOp::Insert { slot: i, key: &key, payload: &[1; 90] }).unwrap();
    }
    let mut out = vec![];
    for round in 0..20_000 {
        let mut page = good.clone();
        let flips = 1 + rng.below(if round % 2 == 0 { 4 } else { 200 });
        for _ in 0..flips {
            // Mostly the header and the slots: that is where wrong numbers hurt.
            let span = if rng.chance(3, 4) { 64 + 80 * 8 } else { PAGE_BYTES as u64 };
            let at = rng.below(span) as usize;
            page[at] = rng.next_u64() as u8;
        }
        poke(&mut rng, &mut page, &mut out);
    }
    for _ in 0..200 {
        let mut page = good.clone();
        rng.fill(&mut page[4..]);
        page[header::KIND] = 1;
        poke(&mut rng, &mut page, &mut out);
    }
}

/// Everything that can be asked of a page; only panics count.
fn poke(rng: &mut Rng, page: &mut PageBuf, out: &mut Vec<u8>) {
    let key = random_key(rng, b"b");
    let sound = check_node(page).is_ok();
    if let Ok(node) = Node::new(page) {
        let _ = (node.search(&key), node.child_slot(&key), node.covers(&key));
        for slot in [0, 1, 79, 80, rng.next_u64() as u16] {
            let _ = (node.payload(slot), node.child(slot), node.copy_key(slot, out));
        }
    }
    with_racy(page, |racy| {
        let _ = (racy.search(&key), racy.child(&key), racy.node_level());
        let _ = (racy.copy_high_fence(out), racy.copy_low_fence(out));
        let _ = racy.copy_payload(rng.below(90) as u16, out);
        let _ = racy.copy_key(rng.below(90) as u16, out);
        let (from, mut part) = (rng.below(90) as u16, [0; PAGE_BYTES]);
        let _ = racy.copy_entries(from, rng.below(90) as u16, &mut part);
        if let Ok(node) = Node::new(&part) {
            let _ = (node.payload(from), node.copy_key(from, out));
        }
        let _ = racy.copy_entries(rng.next_u64() as u16, rng.next_u64() as u16, &mut part);
    });
    let payload = random_bytes(rng, 300);
    let (slot, at) = (rng.below(82) as u16, rng.below(100) as u16);
    let before = *page;
    let op = match rng.below(8) {
        0 => PageOp::Insert { slot, key: &key, payload: &payload },
        1 => PageOp::Remove { slot },
        2 => PageOp::Replace { slot, payload: &payload },
        3 => PageOp::Patch { slot, at, bytes: &payload },
        4 => PageOp::Compact,
        5 => PageOp::Truncate { slot, high_fence: &key },
        6 => PageOp::Append { prefix: &[], entries: &payload },
        _ => PageOp::Image { bytes: &before },
    };
    match apply(page, &op) {
        Err(_) => assert!(before == *page, "a refused op changed the page: {op:?}"),
        Ok(()) if sound => check_node(page).unwrap(),
        Ok(()) => {}
    }
}

#[test]
fn garbage_ops_decode_or_fail() {
    let mut rng = Rng::new(3);
    let mut page = fresh(&[], None);
    for _ in 0..50_000 {
        let mut bytes = random_bytes(&mut rng, 40);
        if let Some(first) = bytes.first_mut() {
            *first = rng.below(14) as u8;
        }
        if let Ok((op, n)) = PageOp::decode(&bytes) {
            assert!(n <= bytes.len());
            let mut again = vec![];
            op.encode(&mut again);
            assert_eq!(again, bytes[..n]);
            let _ = apply(&mut page, &op);
        }
    }
}

#[test]
fn checksum_and_identity_are_verified() {
    let id = PageId::new(SpaceId(16), PageNo(7));
    let mut page = fresh(&[], None);
    header::set_lsn(&mut page, Lsn(77));
    header::seal(&mut page);
    assert!(header::verify(&page, id).unwrap());
    assert!(!header::verify(&[0; PAGE_BYTES], id).unwrap());
    let other = PageId::new(SpaceId(16), PageNo(8));
    assert!(matches!(header::verify(&page, other), Err(Error::Corrupt { offset: 4, .. })));
    for bit in [32, 8 * 20, 8 * 9000, 8 * PAGE_BYTES - 1] {
        page[bit / 8] ^= 1 << (bit % 8);
        assert!(header::verify(&page, id).is_err(), "bit {bit}");
        page[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(header::verify(&page, id).unwrap());
}

#[test]
fn raw_writes_and_headers() {
    let mut page = fresh(&[], None);
    assert!(apply(&mut page, &PageOp::Write { at: 100, bytes: b"x" }).is_err(), "it is a node");
    let init = PageOp::Init {
        kind: PageKind::Undo,
        level: 0,
        index_id: IndexId(0),
        low_fence: &[],
        high_fence: None,
    };
    apply(&mut page, &init).unwrap();
    assert!(page[crate::BODY_AT..].iter().all(|&b| b == 0));
    apply(&mut page, &PageOp::Write { at: 64, bytes: b"undo" }).unwrap();
    assert_eq!(&page[64..68], b"undo");
    for (at, n) in [(63, 1), (16383, 2), (16384, 1), (65535, 1)] {
        let op = PageOp::Write { at, bytes: &[1, 2][..n] };
        assert!(apply(&mut page, &op).is_err(), "{at}");
    }
    let mut page = fresh(&[], None);
    apply(&mut page, &PageOp::SetMaxTrxId { trx: TrxId(9) }).unwrap();
    assert_eq!(Node::new(&page).unwrap().max_trx_id(), TrxId(9));
    assert_eq!(header::page_id(&page).page, PageNo(7), "ops keep the page's id");
}

#[test]
fn an_image_brings_everything_but_identity() {
    let mut from = fresh(b"b", Some(b"c"));
    apply(&mut from, &PageOp::Insert { slot: 0, key: b"bb", payload: b"p" }).unwrap();
    let mut to = fresh(&[], None);
    header::set_page_id(&mut to, PageId::new(SpaceId(16), PageNo(8)));
    header::set_lsn(&mut to, Lsn(5));
    apply(&mut to, &PageOp::Image { bytes: &from[..] }).unwrap();
    assert_eq!(Node::new(&to).unwrap().payload(0).unwrap(), b"p");
    assert_eq!((header::page_id(&to).page, header::lsn(&to)), (PageNo(8), Lsn(5)));
    from[header::SLOTS] = 9;
    let before = to.clone();
    assert!(apply(&mut to, &PageOp::Image { bytes: &from[..] }).is_err());
    assert!(to == before);
}

#[test]
fn a_page_of_largest_entries() {
    let low = vec![1; crate::ROW_KEY_BYTES_MAX];
    let high = vec![2; crate::ROW_KEY_BYTES_MAX];
    let mut page = fresh(&low, Some(&high));
    let key = [&[1, 9][..], &[7; 98]].concat();
    let payload = vec![3; crate::ENTRY_BYTES_MAX - key.len()];
    apply(&mut page, &PageOp::Insert { slot: 0, key: &key, payload: &payload }).unwrap();
    check_node(&page).unwrap();
    let free = Node::new(&page).unwrap().free_bytes();
    assert!(free < entry_bytes(1, 0), "the limit is exact: {free} bytes left");
}

/// Readers over a page that a writer changes all the while: nothing panics, and a search on a page whose
/// version did not change is right.
#[test]
fn readers_survive_a_scribbler() {
    use stdx::{Ordering, SharedAtomic};
    #[repr(align(8))]
    struct Frame(std::cell::UnsafeCell<PageBuf>);
    // SAFETY: the test races on purpose, through RacyNode only.
    unsafe impl Sync for Frame {}
    let page = fresh(b"a", Some(b"z"));
    let frame = &Frame(std::cell::UnsafeCell::new(*page));
    let version: SharedAtomic<u64, 31> = SharedAtomic::new(0);
    let stop: SharedAtomic<bool, 31> = SharedAtomic::new(false);
    let mut confirmed = 0u64;
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut rng = Rng::new(5);
            let mut local = page.clone();
            while !stop.load(Ordering::Relaxed) {
                let key = [b"b", &[rng.below(40) as u8][..]].concat();
                let found = Node::new(&local).unwrap().search(&key).unwrap();
                let payload = vec![key[1]; 20 + rng.below(80) as usize];
                let op = match (found.exact, rng.chance(1, 2)) {
                    (false, _) => PageOp::Insert { slot: found.slot, key: &key, payload: &payload },
                    (true, true) => PageOp::Remove { slot: found.slot },
                    (true, false) => PageOp::Replace { slot: found.slot, payload: &payload },
                };
                apply(&mut local, &op).unwrap();
                version.fetch_add(1, Ordering::AcqRel);
                stdx::fence(Ordering::SeqCst);
                // SAFETY: the only writer; readers go through RacyNode.
                let words = frame.0.get().cast::<u64>();
                for (i, eight) in local.as_chunks::<8>().0.iter().enumerate() {
                    // SAFETY: inside the page, which is aligned to words.
                    unsafe { words.add(i).write_volatile(u64::from_ne_bytes(*eight)) };
                }
                version.fetch_add(1, Ordering::AcqRel);
                // A page at rest now and then, so that reads are confirmed too.
                (0..rng.below(3000)).for_each(|_| std::hint::spin_loop());
            }
        });
        let mut rng = Rng::new(6);
        let mut out = vec![];
        let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
        let mut disturbed = 0u64;
        while (confirmed < 2000 || disturbed < 2000) && std::time::Instant::now() < end {
            let key = [b"b", &[rng.below(40) as u8][..]].concat();
            let before = version.load(Ordering::Acquire);
            // SAFETY: the frame outlives the scope and is aligned.
            let racy = unsafe { RacyNode::new(frame.0.get().cast()) };
            let found = racy.search(&key);
            let copied = found.and_then(|f| racy.copy_payload(f.slot, &mut out));
            stdx::fence(Ordering::Acquire);
            if before.is_multiple_of(2) && version.load(Ordering::Relaxed) == before {
                let found = found.expect("a page at rest is consistent");
                if found.exact {
                    copied.expect("a page at rest is consistent");
                    assert!(out.iter().all(|&b| b == key[1]));
                    confirmed += 1;
                }
            } else {
                disturbed += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(confirmed > 0, "no read was ever undisturbed");
}
