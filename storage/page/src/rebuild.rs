//! Writing a node afresh: fences, then entries from the top down, no garbage.
//!
//! 1. The result depends only on fences, entries and the header fields named here. Guard: `compare_packed` in
//!    the tests: any page, packed, is what its entries make of a new one.
//! 2. Sizes are checked before anything is written. Guard: `apply_twice`,
//!    `an_insert_that_finds_less_garbage_than_promised_changes_nothing`; slices end the process before a byte
//!    lies outside.

use crate::header::{self, BYTES, HAS_HIGH};
use crate::node::{Node, Slot, common_prefix, head_of};
use crate::{BODY_AT, ENTRY_HEADER_BYTES, SLOT_BYTES, entry_bytes};
use base::{PAGE_BYTES, PageBuf, Result};

/// Bytes that the fences take; `None` when they cannot be a node's fences.
pub(crate) fn fence_bytes(low: &[u8], high: Option<&[u8]>) -> Option<usize> {
    let high_len = match high {
        Some(high) if high <= low => return None,
        Some(high) => high.len(),
        None => 0,
    };
    let total = low.len() + high_len;
    (total <= PAGE_BYTES - BODY_AT).then_some(total)
}

/// Length of the prefix that fences give.
pub(crate) fn prefix_len(low: &[u8], high: Option<&[u8]>) -> usize {
    high.map_or(0, |high| common_prefix(low, high))
}

/// Empties the body and writes fences; kind, level, index and the rest of the header stay.
/// The fences were checked with [`fence_bytes`].
pub(crate) fn reset(page: &mut PageBuf, low: &[u8], high: Option<&[u8]>) {
    page[BYTES..].fill(0);
    put_fences(page, low, high);
}

/// As [`reset`], but what is not written stays: for who clears it when the entries are there.
fn put_fences(page: &mut PageBuf, low: &[u8], high: Option<&[u8]>) {
    let low_off = PAGE_BYTES - low.len();
    page[low_off..].copy_from_slice(low);
    let high_bytes = high.unwrap_or_default();
    let high_off = low_off - high_bytes.len();
    page[high_off..low_off].copy_from_slice(high_bytes);
    page[header::FLAGS] = if high.is_some() { HAS_HIGH } else { 0 };
    header::put_u16(page, header::SLOTS, 0);
    header::put_u16(page, header::HEAP_LOW, high_off as u16);
    header::put_u16(page, header::GARBAGE, 0);
    header::put_u16(page, header::PREFIX_LEN, prefix_len(low, high) as u16);
    header::put_u16(page, header::LOW_OFF, low_off as u16);
    header::put_u16(page, header::LOW_LEN, low.len() as u16);
    header::put_u16(page, header::HIGH_OFF, high_off as u16);
    header::put_u16(page, header::HIGH_LEN, high_bytes.len() as u16);
}

/// Writes an entry at the heap's low end and its slot; the gap is large enough.
pub(crate) fn put_entry(page: &mut PageBuf, slot: u16, suffix: &[u8], payload: &[u8]) {
    let count = header::read_u16(page, header::SLOTS);
    let off = put_heap(page, suffix, payload);
    let at = BODY_AT + SLOT_BYTES * usize::from(slot);
    let end = BODY_AT + SLOT_BYTES * usize::from(count);
    page.copy_within(at..end, at + SLOT_BYTES);
    let word = Slot { head: head_of(suffix), off, len: suffix.len() as u16 }.to_word();
    header::put_u64(page, at, word);
    header::put_u16(page, header::SLOTS, count + 1);
}

/// Writes an entry's bytes at the heap's low end; the gap is large enough. Answers where.
pub(crate) fn put_heap(page: &mut PageBuf, suffix: &[u8], payload: &[u8]) -> u16 {
    let bytes = ENTRY_HEADER_BYTES + suffix.len() + payload.len();
    let off = usize::from(header::read_u16(page, header::HEAP_LOW)) - bytes;
    header::put_u16(page, off, payload.len() as u16);
    let key_at = off + ENTRY_HEADER_BYTES;
    let payload_at = key_at + suffix.len();
    page[key_at..payload_at].copy_from_slice(suffix);
    page[payload_at..payload_at + payload.len()].copy_from_slice(payload);
    header::put_u16(page, header::HEAP_LOW, off as u16);
    off as u16
}

/// Rewrites the node with its first `keep` entries and a new high fence; the entry named by `replace` gets that
/// payload. `Ok(false)`: it would not fit or the keys are not below the fence, nothing was done.
pub(crate) fn rebuild(
    page: &mut PageBuf,
    keep: u16,
    high: Option<&[u8]>,
    replace: Option<(u16, &[u8])>,
) -> Result<bool> {
    let old: PageBuf = *page;
    let node = Node::new(&old)?;
    let low = node.low_fence();
    let Some(fences) = fence_bytes(low, high) else { return Ok(false) };
    let old_prefix = node.prefix();
    let new_len = prefix_len(low, high);
    // A longer prefix is stripped from each suffix; a shorter one is given back.
    let grown = new_len.saturating_sub(old_prefix.len());
    let given_back = &old_prefix[new_len.min(old_prefix.len())..];
    let entry = |i: u16| -> Result<(&[u8], &[u8])> {
        let (suffix, payload) = node.suffix_and_payload(i)?;
        Ok((suffix, replace.filter(|r| r.0 == i).map_or(payload, |r| r.1)))
    };
    let mut bytes = fences;
    for i in 0..keep {
        let (suffix, payload) = entry(i)?;
        if suffix.len() < grown || suffix[..grown] != low[old_prefix.len()..][..grown] {
            return Ok(false);
        }
        bytes += entry_bytes(suffix.len() - grown + given_back.len(), payload.len());
    }
    if bytes > PAGE_BYTES - BODY_AT {
        return Ok(false);
    }
    put_fences(page, low, high);
    let mut whole = Vec::new();
    for i in 0..keep {
        let (suffix, payload) = entry(i)?;
        if given_back.is_empty() {
            put_entry(page, i, &suffix[grown..], payload);
        } else {
            whole.clear();
            whole.extend_from_slice(given_back);
            whole.extend_from_slice(suffix);
            put_entry(page, i, &whole, payload);
        }
    }
    let heap = usize::from(header::read_u16(page, header::HEAP_LOW));
    page[BODY_AT + SLOT_BYTES * usize::from(keep)..heap].fill(0);
    Ok(true)
}
