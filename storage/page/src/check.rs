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
    let mut heap = Heap::of_fences(page, &node).map_err(|(at, what)| bad(at, what))?;
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
        let bytes = ENTRY_HEADER_BYTES + suffix.len() + payload.len();
        heap.take(usize::from(slot.off), bytes).map_err(|(at, what)| bad(at, what))?;
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
    heap.check(&node).map_err(|(at, what)| bad(at, what))
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

/// Which bytes of a page something lies in.
struct Heap {
    taken: [u64; PAGE_BYTES / 64],
    bytes: usize,
}

impl Heap {
    /// What lies in the heap besides entries: the fences.
    fn of_fences(page: &PageBuf, node: &Node<'_>) -> std::result::Result<Heap, Fault> {
        let mut heap = Heap { taken: [0; PAGE_BYTES / 64], bytes: 0 };
        let low_at = usize::from(header::read_u16(page, header::LOW_OFF));
        heap.take(low_at, node.low_fence().len())?;
        if let Some(high) = node.high_fence() {
            heap.take(usize::from(header::read_u16(page, header::HIGH_OFF)), high.len())?;
        }
        Ok(heap)
    }

    /// Something lies in so many bytes from here on, where nothing else does; they are inside the page.
    fn take(&mut self, at: usize, len: usize) -> std::result::Result<(), Fault> {
        let (mut from, end) = (at, at + len);
        while from < end {
            // As far as the word goes.
            let to = end.min((from / 64 + 1) * 64);
            let bits = u64::MAX >> (64 - (to - from)) << (from % 64);
            let word = self.taken.get_mut(from / 64).ok_or((at, "entry outside the page"))?;
            if *word & bits != 0 {
                return Err((at, "entries overlap"));
            }
            *word |= bits;
            from = to;
        }
        self.bytes += len;
        Ok(())
    }

    /// What is left is the garbage that the header counts.
    fn check(&self, node: &Node<'_>) -> std::result::Result<(), Fault> {
        let slots = BODY_AT + SLOT_BYTES * usize::from(node.count());
        if slots + node.free_bytes() + self.bytes != PAGE_BYTES {
            return Err((header::GARBAGE, "garbage count is wrong"));
        }
        Ok(())
    }
}
