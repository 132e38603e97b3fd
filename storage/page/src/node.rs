//! A B+tree page that nobody writes meanwhile: search and look.
//!
//! 1. Entries are in key order, inside [low fence, high fence); all keys share the node's prefix, which is the
//!    common prefix of the two fences and is not stored again. Guard: [`crate::check_node`]: CHECK TABLE, and
//!    the cleaner's assertion in debug builds.
//! 2. A slot's head is the first four bytes of its suffix as a big-endian number, zero-padded: heads order like
//!    the suffixes they begin, so most comparisons touch the slot array only. Guard: [`crate::check_node`], as
//!    above.
//! 3. The bytes of the page may be wrong in any way: every access answers `Err`, never panics. Guard:
//!    `garbage_pages_and_ops_never_panic`.

use crate::header::{self, HAS_HIGH, PageKind};
use crate::{BODY_AT, ENTRY_HEADER_BYTES, SLOT_BYTES, entry_bytes};
use base::{Error, IndexId, PAGE_BYTES, PageBuf, PageNo, Result, TrxId};
use std::cmp::Ordering;

/// Where a key is, or would go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Slot of the first entry whose key is not smaller.
    pub slot: u16,
    /// That entry has exactly this key.
    pub exact: bool,
}

/// Length of the common prefix, in bytes.
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The head of a suffix: its first four bytes, zero-padded, as a big-endian number.
#[inline]
pub fn head_of(suffix: &[u8]) -> u32 {
    if let Some(four) = suffix.first_chunk::<4>() {
        return u32::from_be_bytes(*four);
    }
    match *suffix {
        [] => 0,
        [a] => u32::from_be_bytes([a, 0, 0, 0]),
        [a, b] => u32::from_be_bytes([a, b, 0, 0]),
        [a, b, c, ..] => u32::from_be_bytes([a, b, c, 0]),
    }
}

/// First byte of a slot inside the page.
pub(crate) const fn slot_at(slot: u16) -> usize {
    BODY_AT + SLOT_BYTES * slot as usize
}

/// One slot's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub head: u32,
    pub off: u16,
    pub len: u16,
}

impl Slot {
    pub(crate) fn from_word(w: u64) -> Slot {
        Slot { head: w as u32, off: (w >> 32) as u16, len: (w >> 48) as u16 }
    }

    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.head) | u64::from(self.off) << 32 | u64::from(self.len) << 48
    }
}

/// First byte and length.
type Span = (u16, u16);

/// What the header of a slotted page says, checked: with it a page that nobody has changed since is looked at for
/// nothing. Kept for another page it leads to wrong bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    count: u16,
    heap_low: u16,
    prefix: u16,
    low: Span,
    high: Option<Span>,
}

/// Checked view of a slotted page.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    page: &'a PageBuf,
    layout: Layout,
}

impl Layout {
    /// Checks the header in constant time; [`crate::check_node`] checks all of the page.
    ///
    /// Errors: [`Error::Corrupt`] when it is no node or its header contradicts itself.
    pub fn of(page: &PageBuf) -> Result<Layout> {
        let bad = |at: usize, what| Error::Corrupt {
            page: header::page_id(page),
            offset: at as u32,
            what,
        };
        if !header::kind(page).is_some_and(PageKind::is_node) {
            return Err(bad(header::KIND, "not a B+tree node"));
        }
        let count = header::read_u16(page, header::SLOTS);
        let heap_low = header::read_u16(page, header::HEAP_LOW);
        let slots_end = BODY_AT + SLOT_BYTES * usize::from(count);
        if slots_end > usize::from(heap_low) || usize::from(heap_low) > PAGE_BYTES {
            return Err(bad(header::SLOTS, "slots and heap overlap"));
        }
        let fence = |off_at: usize, len_at: usize| {
            let (off, len) = (header::read_u16(page, off_at), header::read_u16(page, len_at));
            let inside = off >= heap_low && usize::from(off) + usize::from(len) <= PAGE_BYTES;
            inside.then_some((off, len))
        };
        let low = fence(header::LOW_OFF, header::LOW_LEN)
            .ok_or_else(|| bad(header::LOW_OFF, "low fence outside the heap"))?;
        let high = if page[header::FLAGS] & HAS_HIGH != 0 {
            let high = fence(header::HIGH_OFF, header::HIGH_LEN);
            Some(high.ok_or_else(|| bad(header::HIGH_OFF, "high fence outside the heap"))?)
        } else {
            None
        };
        let prefix = header::read_u16(page, header::PREFIX_LEN);
        if prefix > 0 && high.is_none_or(|high| prefix > low.1.min(high.1)) {
            return Err(bad(header::PREFIX_LEN, "prefix longer than the fences"));
        }
        Ok(Layout { count, heap_low, prefix, low, high })
    }

    /// The page that this is the layout of.
    #[inline]
    pub fn node(self, page: &PageBuf) -> Node<'_> {
        Node { page, layout: self }
    }
}

impl<'a> Node<'a> {
    /// Looks at a page as a node. Errors: as [`Layout::of`].
    pub fn new(page: &'a PageBuf) -> Result<Node<'a>> {
        Ok(Node { page, layout: Layout::of(page)? })
    }

    #[inline]
    fn bytes(&self, (off, len): Span) -> &'a [u8] {
        self.page
            .get(usize::from(off)..)
            .and_then(|b| b.get(..usize::from(len)))
            .unwrap_or_default()
    }

    fn bad(&self, at: usize, what: &'static str) -> Error {
        Error::Corrupt { page: header::page_id(self.page), offset: at as u32, what }
    }

    /// Entries.
    #[inline]
    pub fn count(&self) -> u16 {
        self.layout.count
    }

    /// Height above the leaves.
    #[inline]
    pub fn level(&self) -> u8 {
        header::level(self.page)
    }

    /// Holds rows, not children.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.page[header::KIND] == PageKind::Leaf as u8
    }

    /// The index it belongs to.
    pub fn index_id(&self) -> IndexId {
        header::index_id(self.page)
    }

    /// See [`header::max_trx_id`].
    pub fn max_trx_id(&self) -> TrxId {
        header::max_trx_id(self.page)
    }

    /// What every key begins with and entries leave out.
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        self.bytes((self.layout.low.0, self.layout.prefix))
    }

    /// No key here is smaller; empty at the left edge.
    pub fn low_fence(&self) -> &'a [u8] {
        self.bytes(self.layout.low)
    }

    /// Every key here is smaller; `None` at the right edge.
    pub fn high_fence(&self) -> Option<&'a [u8]> {
        self.layout.high.map(|high| self.bytes(high))
    }

    /// Whether a key belongs to this node.
    pub fn covers(&self, key: &[u8]) -> bool {
        self.low_fence() <= key && self.high_fence().is_none_or(|high| key < high)
    }

    #[inline]
    pub(crate) fn slot(&self, slot: u16) -> Result<Slot> {
        if slot >= self.count() {
            return Err(self.bad(header::SLOTS, "slot beyond the last"));
        }
        let at = slot_at(slot);
        Ok(Slot::from_word(header::read_u64(self.page, at)))
    }

    /// Suffix and payload of a slot, bounds checked.
    #[inline]
    fn entry(&self, s: Slot) -> Result<(&'a [u8], &'a [u8])> {
        let off = usize::from(s.off);
        let key_at = off + ENTRY_HEADER_BYTES;
        let payload_at = key_at + usize::from(s.len);
        if s.off < self.layout.heap_low || payload_at > PAGE_BYTES {
            return Err(self.bad(off, "entry outside the heap"));
        }
        let end = payload_at + usize::from(header::read_u16(self.page, off));
        if end > PAGE_BYTES {
            return Err(self.bad(off, "payload outside the heap"));
        }
        Ok((&self.page[key_at..payload_at], &self.page[payload_at..end]))
    }

    /// An entry's key without the prefix.
    pub fn suffix(&self, slot: u16) -> Result<&'a [u8]> {
        Ok(self.entry(self.slot(slot)?)?.0)
    }

    /// An entry's payload.
    #[inline]
    pub fn payload(&self, slot: u16) -> Result<&'a [u8]> {
        Ok(self.entry(self.slot(slot)?)?.1)
    }

    /// An entry's suffix and payload.
    pub fn suffix_and_payload(&self, slot: u16) -> Result<(&'a [u8], &'a [u8])> {
        self.entry(self.slot(slot)?)
    }

    /// First byte of an entry's payload inside the page.
    pub fn payload_at(&self, slot: u16) -> Result<usize> {
        let s = self.slot(slot)?;
        self.entry(s)?;
        Ok(usize::from(s.off) + ENTRY_HEADER_BYTES + usize::from(s.len))
    }

    /// Puts an entry's whole key into `out` (cleared first).
    pub fn copy_key(&self, slot: u16, out: &mut Vec<u8>) -> Result<()> {
        let suffix = self.suffix(slot)?;
        out.clear();
        out.extend_from_slice(self.prefix());
        out.extend_from_slice(suffix);
        Ok(())
    }

    /// Free bytes, garbage included; an entry takes [`entry_bytes`] of them.
    pub fn free_bytes(&self) -> usize {
        self.gap() + usize::from(header::read_u16(self.page, header::GARBAGE))
    }

    /// Free bytes between slots and heap.
    pub fn gap(&self) -> usize {
        usize::from(self.layout.heap_low) - slot_at(self.count())
    }

    /// Whether an entry with this whole key and a payload of `payload` bytes can be inserted.
    pub fn fits(&self, key: &[u8], payload: usize) -> bool {
        let suffix = key.len().saturating_sub(self.prefix().len());
        entry_bytes(suffix, payload) <= self.free_bytes()
    }

    /// Whether entry `slot` can be given a payload of `payload` bytes.
    pub fn fits_replace(&self, slot: u16, payload: usize) -> Result<bool> {
        let old = self.payload(slot)?.len();
        Ok(payload <= old + self.free_bytes())
    }

    /// First entry whose key is not smaller than `key`.
    pub fn search(&self, key: &[u8]) -> Result<Found> {
        let Some(suffix) = key.strip_prefix(self.prefix()) else {
            return Ok(self.search_outside(key));
        };
        let head = head_of(suffix);
        let (mut lo, mut hi) = (0, self.count());
        while lo < hi {
            let mid = lo + (hi - lo) / 2;
            let s = self.slot(mid)?;
            let order = match s.head.cmp(&head) {
                Ordering::Equal => self.entry(s)?.0.cmp(suffix),
                other => other,
            };
            match order {
                Ordering::Less => lo = mid + 1,
                Ordering::Equal => return Ok(Found { slot: mid, exact: true }),
                Ordering::Greater => hi = mid,
            }
        }
        Ok(Found { slot: lo, exact: false })
    }

    /// A key without the prefix is below or above all entries.
    fn search_outside(&self, key: &[u8]) -> Found {
        let slot = if key < self.prefix() { 0 } else { self.count() };
        Found { slot, exact: false }
    }

    /// The slot of the child that covers `key`: the last one whose key is not larger, at least 0.
    pub fn child_slot(&self, key: &[u8]) -> Result<u16> {
        let found = self.search(key)?;
        Ok(if found.exact { found.slot } else { found.slot.saturating_sub(1) })
    }

    /// The child page in an inner node's slot.
    pub fn child(&self, slot: u16) -> Result<PageNo> {
        let payload = self.payload(slot)?;
        match payload.try_into() {
            Ok(four) => Ok(PageNo(u32::from_le_bytes(four))),
            Err(_) => Err(self.bad(header::SLOTS, "child pointer is not four bytes")),
        }
    }
}
