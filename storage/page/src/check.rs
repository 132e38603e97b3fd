//! The slow, whole check of one node.
//!
//! 1. A node that passes gives no error from any [`Node`] access and takes any op that its free bytes allow.
//!    Guard: `random_ops_agree_with_a_map` (what fits is taken), `garbage_pages_and_ops_never_panic` (sound
//!    stays sound).

use crate::header;
use crate::node::{Node, common_prefix, head_of, slot_at};
use crate::{BODY_AT, ENTRY_HEADER_BYTES, SLOT_BYTES};
use base::{Error, PAGE_BYTES, PageBuf, Result};

/// Checks everything one page can tell about itself: order, heads, fences, prefix, heap without overlaps,
/// exact garbage count, child pointers.
///
/// Errors: [`Error::Corrupt`] with the first contradiction.
pub fn check_node(page: &PageBuf) -> Result<()> {
    let node = Node::new(page)?;
    let bad =
        |at: usize, what| Error::Corrupt { page: header::page_id(page), offset: at as u32, what };
    if node.is_leaf() != (node.level() == 0) {
        return Err(bad(header::LEVEL, "level does not suit the page kind"));
    }
    check_fences(&node).map_err(|(at, what)| bad(at, what))?;
    let mut parts = fence_parts(page, &node);
    let mut last: Option<&[u8]> = None;
    for i in 0..node.count() {
        let (suffix, payload) = node.suffix_and_payload(i)?;
        let slot = node.slot(i)?;
        if slot.head != head_of(suffix) {
            return Err(bad(slot_at(i), "head is not the key's beginning"));
        }
        if last.is_some_and(|last| last >= suffix) {
            return Err(bad(slot_at(i), "keys are not in order"));
        }
        if !node.is_leaf() {
            node.child(i)?;
        }
        last = Some(suffix);
        parts.push((usize::from(slot.off), ENTRY_HEADER_BYTES + suffix.len() + payload.len()));
    }
    if node.count() > 0 {
        let first = node.suffix(0)?;
        if first < &node.low_fence()[node.prefix().len()..] {
            return Err(bad(slot_at(0), "first key below the low fence"));
        }
    }
    if let (Some(last), Some(high)) = (last, node.high_fence())
        && last >= &high[node.prefix().len()..]
    {
        return Err(bad(slot_at(node.count()), "last key not below the high fence"));
    }
    check_heap(&node, parts).map_err(|(at, what)| bad(at, what))
}

type Fault = (usize, &'static str);

fn check_fences(node: &Node<'_>) -> std::result::Result<(), Fault> {
    let low = node.low_fence();
    let Some(high) = node.high_fence() else {
        return if node.prefix().is_empty() {
            Ok(())
        } else {
            Err((header::PREFIX_LEN, "prefix without a high fence"))
        };
    };
    if low >= high {
        return Err((header::LOW_OFF, "fences are not in order"));
    }
    if common_prefix(low, high) != node.prefix().len() {
        return Err((header::PREFIX_LEN, "prefix is not the fences' common one"));
    }
    Ok(())
}

/// (offset, bytes) of the fences in the heap.
fn fence_parts(page: &PageBuf, node: &Node<'_>) -> Vec<(usize, usize)> {
    let mut parts = Vec::with_capacity(usize::from(node.count()) + 2);
    parts.push((usize::from(header::read_u16(page, header::LOW_OFF)), node.low_fence().len()));
    if let Some(high) = node.high_fence() {
        parts.push((usize::from(header::read_u16(page, header::HIGH_OFF)), high.len()));
    }
    parts
}

/// No two parts of the heap overlap, and what they leave is the garbage that the header counts.
fn check_heap(node: &Node<'_>, mut parts: Vec<(usize, usize)>) -> std::result::Result<(), Fault> {
    parts.retain(|p| p.1 > 0);
    parts.sort_unstable();
    if let Some(w) = parts.windows(2).find(|w| w[0].0 + w[0].1 > w[1].0) {
        return Err((w[1].0, "entries overlap"));
    }
    let used: usize = parts.iter().map(|p| p.1).sum();
    let slots = BODY_AT + SLOT_BYTES * usize::from(node.count());
    if slots + node.free_bytes() + used != PAGE_BYTES {
        return Err((header::GARBAGE, "garbage count is wrong"));
    }
    Ok(())
}
