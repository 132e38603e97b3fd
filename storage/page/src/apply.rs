//! Applying one operation to one page, live and at recovery.
//!
//! 1. A refused op leaves the page as it was: what may be refused is checked before anything is written, or put
//!    back. Guard: `apply_twice` and `garbage_pages_and_ops_never_panic`, which compare all bytes.
//! 2. The id, the LSN and the checksum are never touched. Guard: the debug assertion in [`apply`], in every
//!    debug campaign.
//! 3. Keys stay in order, inside the fences: an op that would break this is refused. Guard: the checks of
//!    `insert`, `append`, `truncate`; [`check_node`], which the cleaner asserts of every page in debug builds.

use crate::header::{self, PageKind};
use crate::node::{Node, slot_at};
use crate::op::{Entries, PageOp};
use crate::rebuild::{fence_bytes, prefix_len, put_entry, put_heap, rebuild, reset};
use crate::{BODY_AT, ENTRY_HEADER_BYTES, SLOT_BYTES, check_node, entry_bytes};
use base::{Error, IndexId, Lsn, PAGE_BYTES, PageBuf, PageId, Result};
use stdx::bytes::Reader;

/// Applies `op`. Errors: [`Error::Corrupt`] when the op does not fit the page, which then is unchanged.
pub fn apply(page: &mut PageBuf, op: &PageOp<'_>) -> Result<()> {
    let before = identity(page);
    let done = change(page, op);
    debug_assert_eq!(identity(page), before, "an op has touched the id, the LSN or the checksum");
    done
}

/// What no op touches.
fn identity(page: &PageBuf) -> (u32, PageId, Lsn) {
    (header::read_u32(page, 0), header::page_id(page), header::lsn(page))
}

fn change(page: &mut PageBuf, op: &PageOp<'_>) -> Result<()> {
    match *op {
        PageOp::Init { kind, level, index_id, low_fence, high_fence } => {
            init(page, kind, level, index_id, low_fence, high_fence)
        }
        PageOp::Insert { slot, key, payload } => insert(page, slot, key, payload),
        PageOp::Append { prefix, entries } => append(page, prefix, entries),
        PageOp::Remove { slot } => remove(page, slot),
        PageOp::Replace { slot, payload } => replace(page, slot, payload),
        PageOp::Patch { slot, at, bytes } => patch(page, slot, at, bytes),
        PageOp::Compact => compact(page),
        PageOp::Truncate { slot, high_fence } => truncate(page, slot, high_fence),
        PageOp::SetMaxTrxId { trx } => {
            if !header::kind(page).is_some_and(PageKind::is_node) {
                return Err(refuse(page, header::KIND, "a page that is no node names no writer"));
            }
            header::put_u64(page, header::MAX_TRX, trx.0);
            Ok(())
        }
        PageOp::Image { bytes } => image(page, bytes),
        PageOp::Write { at, bytes } => write(page, at, bytes),
    }
}

/// The op and the page do not belong together.
fn refuse(page: &PageBuf, at: usize, what: &'static str) -> Error {
    Error::Corrupt { page: header::page_id(page), offset: at as u32, what }
}

fn init(
    page: &mut PageBuf,
    kind: PageKind,
    level: u8,
    index_id: IndexId,
    low: &[u8],
    high: Option<&[u8]>,
) -> Result<()> {
    if fence_bytes(low, high).is_none() {
        return Err(refuse(page, header::LOW_OFF, "fences too long or out of order"));
    }
    if (kind == PageKind::Inner) != (level > 0) {
        return Err(refuse(page, header::LEVEL, "level does not suit the page kind"));
    }
    if !kind.is_node() && (!low.is_empty() || high.is_some()) {
        return Err(refuse(page, header::KIND, "fences of a page that is no node"));
    }
    page[header::KIND] = kind as u8;
    page[header::LEVEL] = level;
    page[header::FORMAT] = base::FORMAT_VERSION as u8;
    header::put_u64(page, header::INDEX, index_id.0);
    header::put_u64(page, header::MAX_TRX, 0);
    reset(page, low, high);
    if !kind.is_node() {
        // Other kinds own these bytes' meaning: they start as zeroes.
        page[header::SLOTS..BODY_AT].fill(0);
    }
    Ok(())
}

/// The suffix that a key gets in this node; `Err` when the key is outside the fences.
fn suffix_of<'k>(page: &PageBuf, node: &Node<'_>, key: &'k [u8]) -> Result<&'k [u8]> {
    if !node.covers(key) {
        return Err(refuse(page, header::LOW_OFF, "key outside the fences"));
    }
    key.strip_prefix(node.prefix())
        .ok_or_else(|| refuse(page, header::PREFIX_LEN, "key without the node's prefix"))
}

fn insert(page: &mut PageBuf, slot: u16, key: &[u8], payload: &[u8]) -> Result<()> {
    let node = Node::new(page)?;
    let suffix = suffix_of(page, &node, key)?;
    if slot > node.count() {
        return Err(refuse(page, header::SLOTS, "insert beyond the last slot"));
    }
    if slot > 0 && node.suffix(slot - 1)? >= suffix {
        return Err(refuse(page, slot_at(slot), "key not above its left neighbour"));
    }
    if slot < node.count() && node.suffix(slot)? <= suffix {
        return Err(refuse(page, slot_at(slot), "key not below its right neighbour"));
    }
    let need = entry_bytes(suffix.len(), payload.len());
    if need > node.free_bytes() {
        return Err(refuse(page, header::HEAP_LOW, "no room for the entry"));
    }
    if need > node.gap() {
        let before = *page;
        compact(page)?;
        if need > Node::new(page)?.gap() {
            *page = before;
            return Err(refuse(page, header::GARBAGE, "less garbage than the header says"));
        }
    }
    put_entry(page, slot, suffix, payload);
    Ok(())
}

/// Calls `each` with the suffix (in this node) and payload of every appended entry, in order.
fn each_appended<'a>(
    page: &PageBuf,
    cut: &[u8],
    entries: &'a [u8],
    mut each: impl FnMut(&'a [u8], &'a [u8]) -> Result<()>,
) -> Result<()> {
    for entry in Entries(Reader::new(entries)) {
        let (key, payload) =
            entry.ok_or_else(|| refuse(page, BODY_AT, "appended entries are cut short"))?;
        let suffix = key
            .strip_prefix(cut)
            .ok_or_else(|| refuse(page, header::PREFIX_LEN, "key without the node's prefix"))?;
        each(suffix, payload)?;
    }
    Ok(())
}

fn append(page: &mut PageBuf, prefix: &[u8], entries: &[u8]) -> Result<()> {
    let node = Node::new(page)?;
    let cut = node
        .prefix()
        .strip_prefix(prefix)
        .ok_or_else(|| refuse(page, header::PREFIX_LEN, "appended keys have another prefix"))?
        .to_vec();
    let mut last = match node.count() {
        0 => None,
        n => Some(node.suffix(n - 1)?),
    };
    let mut need = 0;
    let outside = || refuse(page, header::LOW_OFF, "appended key outside the fences");
    each_appended(page, &cut, entries, |suffix, payload| {
        if last.is_some_and(|last| last >= suffix) {
            return Err(refuse(page, BODY_AT, "appended keys are not in order"));
        }
        if last.is_none() && suffix < &node.low_fence()[node.prefix().len()..] {
            return Err(outside());
        }
        last = Some(suffix);
        need += entry_bytes(suffix.len(), payload.len());
        Ok(())
    })?;
    if let (Some(last), Some(high)) = (last, node.high_fence())
        && last >= &high[node.prefix().len()..]
    {
        return Err(outside());
    }
    if need > node.gap() {
        return Err(refuse(page, header::HEAP_LOW, "no room for the appended entries"));
    }
    let mut slot = node.count();
    let source: &PageBuf = &[0; PAGE_BYTES];
    each_appended(source, &cut, entries, |suffix, payload| {
        put_entry(page, slot, suffix, payload);
        slot += 1;
        Ok(())
    })
}

fn remove(page: &mut PageBuf, slot: u16) -> Result<()> {
    let node = Node::new(page)?;
    let s = node.slot(slot)?;
    let (suffix, payload) = node.suffix_and_payload(slot)?;
    let bytes = ENTRY_HEADER_BYTES + suffix.len() + payload.len();
    let count = node.count();
    if s.off == header::read_u16(page, header::HEAP_LOW) {
        header::put_u16(page, header::HEAP_LOW, s.off + bytes as u16);
    } else {
        add_garbage(page, bytes)?;
    }
    let at = slot_at(slot);
    let end = slot_at(count);
    page.copy_within(at + SLOT_BYTES..end, at);
    page[end - SLOT_BYTES..end].fill(0);
    header::put_u16(page, header::SLOTS, count - 1);
    Ok(())
}

fn add_garbage(page: &mut PageBuf, bytes: usize) -> Result<()> {
    let garbage = usize::from(header::read_u16(page, header::GARBAGE)) + bytes;
    if garbage > PAGE_BYTES {
        return Err(refuse(page, header::GARBAGE, "more garbage than page"));
    }
    header::put_u16(page, header::GARBAGE, garbage as u16);
    Ok(())
}

fn replace(page: &mut PageBuf, slot: u16, payload: &[u8]) -> Result<()> {
    let node = Node::new(page)?;
    let s = node.slot(slot)?;
    let (suffix, old) = node.suffix_and_payload(slot)?;
    let at = node.payload_at(slot)?;
    if payload.len() <= old.len() {
        add_garbage(page, old.len() - payload.len())?;
        header::put_u16(page, usize::from(s.off), payload.len() as u16);
        page[at..at + payload.len()].copy_from_slice(payload);
        return Ok(());
    }
    if payload.len() > old.len() + node.free_bytes() {
        return Err(refuse(page, header::HEAP_LOW, "no room for the longer payload"));
    }
    let bytes = ENTRY_HEADER_BYTES + suffix.len();
    if bytes + payload.len() <= node.gap() {
        let (suffix, old_len) = (suffix.to_vec(), old.len());
        add_garbage(page, bytes + old_len)?;
        let off = put_heap(page, &suffix, payload);
        let word = crate::node::Slot { off, ..s }.to_word();
        header::put_u64(page, slot_at(slot), word);
        return Ok(());
    }
    let high = node.high_fence().map(<[u8]>::to_vec);
    let count = node.count();
    if rebuild(page, count, high.as_deref(), Some((slot, payload)))? {
        return Ok(());
    }
    Err(refuse(page, header::GARBAGE, "less garbage than the header says"))
}

fn patch(page: &mut PageBuf, slot: u16, at: u16, bytes: &[u8]) -> Result<()> {
    let node = Node::new(page)?;
    let payload_at = node.payload_at(slot)?;
    if usize::from(at) + bytes.len() > node.payload(slot)?.len() {
        return Err(refuse(page, payload_at, "patch beyond the payload"));
    }
    let from = payload_at + usize::from(at);
    page[from..from + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

fn compact(page: &mut PageBuf) -> Result<()> {
    let node = Node::new(page)?;
    let high = node.high_fence().map(<[u8]>::to_vec);
    let count = node.count();
    if rebuild(page, count, high.as_deref(), None)? {
        return Ok(());
    }
    Err(refuse(page, header::HEAP_LOW, "entries overlap or lie outside the fences"))
}

fn truncate(page: &mut PageBuf, slot: u16, high: &[u8]) -> Result<()> {
    let node = Node::new(page)?;
    if slot > node.count() {
        return Err(refuse(page, header::SLOTS, "truncate beyond the last slot"));
    }
    if high <= node.low_fence() || node.high_fence().is_some_and(|old| high > old) {
        return Err(refuse(page, header::HIGH_OFF, "new high fence outside the old fences"));
    }
    if slot > 0 {
        let last = node.suffix(slot - 1)?;
        let prefix = node.prefix();
        // The new fence lies inside the old ones, so it has their common prefix.
        if high.strip_prefix(prefix).is_none_or(|rest| last >= rest) {
            return Err(refuse(page, slot_at(slot), "new high fence not above the keys"));
        }
    }
    if rebuild(page, slot, Some(high), None)? {
        return Ok(());
    }
    Err(refuse(page, header::HEAP_LOW, "no room for the new high fence"))
}

fn image(page: &mut PageBuf, bytes: &[u8]) -> Result<()> {
    let Ok(new) = <&PageBuf>::try_from(bytes) else {
        return Err(refuse(page, 0, "page image of another size"));
    };
    match header::kind(new) {
        None => return Err(refuse(page, header::KIND, "page image of unknown kind")),
        Some(kind) if kind.is_node() => check_node(new)?,
        Some(_) => {}
    }
    page[header::KIND..header::LSN].copy_from_slice(&new[header::KIND..header::LSN]);
    page[header::INDEX..].copy_from_slice(&new[header::INDEX..]);
    Ok(())
}

fn write(page: &mut PageBuf, at: u16, bytes: &[u8]) -> Result<()> {
    let at = usize::from(at);
    if header::kind(page).is_none_or(PageKind::is_node) {
        return Err(refuse(page, header::KIND, "raw write to a B+tree node"));
    }
    if at < BODY_AT || at + bytes.len() > PAGE_BYTES {
        return Err(refuse(page, at.min(PAGE_BYTES), "raw write outside the body"));
    }
    page[at..at + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

/// Length of the prefix that these fences would give a node (for split planning).
pub fn node_prefix_len(low: &[u8], high: Option<&[u8]>) -> usize {
    prefix_len(low, high)
}
