//! Where to split a node: pure arithmetic over its entries.
//!
//! 1. Both halves fit their page with their new fences, and the insert that asked gets closer to fitting. Guard: the
//!    asserts of [`plan_leaf`] and `split::assert_split`.
//! 2. A leaf's separator is the shortest key above everything left and not above anything right. Guard: the assert of
//!    [`shortest_separator`], `separators_are_short_and_between`.
//! 3. An insert after the last entry leaves the left half nearly full: ascending loads fill leaves ~15/16. Guard:
//!    `ascending_loads_fill_leaves_and_random_ones_do_not_waste`.

use base::{Error, PAGE_BYTES, Result};
use page::{BODY_AT, Node, common_prefix, entry_bytes};

/// What a node's body holds.
const CAPACITY: usize = PAGE_BYTES - BODY_AT;

/// How full an ascending split leaves the left half.
const ASCENDING_FILL: usize = CAPACITY / 16 * 15;

/// Below this the entries are so large that the left half keeps all of them instead.
const ASCENDING_FILL_MIN: usize = CAPACITY / 8 * 7;

/// A split: entries from `slot` on go right; `separator` becomes the right half's low fence.
#[derive(Debug)]
pub(crate) struct Plan {
    pub slot: u16,
    pub separator: Vec<u8>,
}

/// The shortest key `s` with `left < s <= right`.
pub(crate) fn shortest_separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    let n = common_prefix(left, right) + 1;
    let separator = right[..n.min(right.len())].to_vec();
    assert!(left < &separator[..] && &separator[..] <= right, "no key separates the halves");
    separator
}

/// Running sums of entry sizes: `sums[i]` is the bytes of the first `i` entries.
fn sums(node: &Node<'_>) -> Result<Vec<usize>> {
    let mut sums = Vec::with_capacity(usize::from(node.count()) + 1);
    let mut total = 0;
    sums.push(0);
    for i in 0..node.count() {
        let (suffix, payload) = node.suffix_and_payload(i)?;
        total += entry_bytes(suffix.len(), payload.len());
        sums.push(total);
    }
    Ok(sums)
}

/// The slot next to which the bytes left and right are most even, and not 0.
fn middle(sums: &[usize]) -> u16 {
    let half = sums.last().copied().unwrap_or(0) / 2;
    sums.iter().position(|&s| s >= half).unwrap_or(1).max(1) as u16
}

/// Plans a leaf's split for an insert of `key`, or for its payload's growth.
pub(crate) fn plan_leaf(node: &Node<'_>, key: &[u8]) -> Result<Plan> {
    let found = node.search(key)?;
    let n = node.count();
    let sums = sums(node)?;
    let (first, last) = match (n, found.exact) {
        (0, _) | (1, true) => return Err(Error::Internal("one entry does not fit an empty leaf")),
        (1, false) => (found.slot, found.slot),
        _ if !found.exact && found.slot == n => (1, n),
        _ => (1, n - 1),
    };
    let target = if last == n { ascending(node, &sums) } else { middle(&sums).clamp(first, last) };
    let plan = nearest(node, &sums, target, first, last, |slot| leaf_separator(node, slot, key))?;
    let beside = if key < &plan.separator[..] { plan.slot } else { n - plan.slot };
    assert!(beside < n, "after a split its asker's half has all {n} entries");
    Ok(plan)
}

/// The largest left half that leaves some room for rows to grow.
fn ascending(node: &Node<'_>, sums: &[usize]) -> u16 {
    let n = node.count();
    let low = node.low_fence().len();
    let within = (1..=n).rev().find(|&s| sums[usize::from(s)] + low <= ASCENDING_FILL);
    match within {
        Some(s) if sums[usize::from(s)] + low >= ASCENDING_FILL_MIN => s,
        _ => n,
    }
}

fn leaf_separator(node: &Node<'_>, slot: u16, key: &[u8]) -> Result<Vec<u8>> {
    let (mut left, mut right) = (key.to_vec(), key.to_vec());
    if slot > 0 {
        node.copy_key(slot - 1, &mut left)?;
    }
    if slot < node.count() {
        node.copy_key(slot, &mut right)?;
    }
    Ok(shortest_separator(&left, &right))
}

/// Plans an inner node's split for a new separator next to the child that covers `key`.
pub(crate) fn plan_inner(node: &Node<'_>, key: &[u8]) -> Result<Plan> {
    let n = node.count();
    if n < 2 {
        return Err(Error::Internal("an inner node of one child has no room"));
    }
    let sums = sums(node)?;
    let at_end = node.child_slot(key)? == n - 1;
    let target = if at_end { n - 1 } else { middle(&sums).clamp(1, n - 1) };
    nearest(node, &sums, target, 1, n - 1, |slot| {
        let mut key = Vec::new();
        node.copy_key(slot, &mut key)?;
        Ok(key)
    })
}

/// The slot nearest to `target` at which both halves fit.
fn nearest(
    node: &Node<'_>,
    sums: &[usize],
    target: u16,
    first: u16,
    last: u16,
    separator: impl Fn(u16) -> Result<Vec<u8>>,
) -> Result<Plan> {
    let total = sums.last().copied().unwrap_or(0);
    let high = node.high_fence().map_or(0, <[u8]>::len);
    for distance in 0..=(last - first) {
        let below = target.checked_sub(distance);
        let above = target.checked_add(distance);
        for slot in [below, above].into_iter().flatten() {
            if slot < first || slot > last {
                continue;
            }
            let separator = separator(slot)?;
            let left = sums[usize::from(slot)];
            // Prefixes only get longer, so these are upper bounds.
            if left + node.low_fence().len() + separator.len() <= CAPACITY
                && total - left + separator.len() + high <= CAPACITY
            {
                return Ok(Plan { slot, separator });
            }
        }
    }
    Err(Error::Internal("no split leaves both halves in their pages"))
}
