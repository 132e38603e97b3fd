//! A B+tree page that another thread may be writing: search and copy out.
//!
//! 1. All bytes are read by relaxed atomic loads of whole aligned words; nothing hands out a reference to them.
//!    Guard: the compiler: `words` is the only way to the page, and `word` alone reads it.
//! 2. Every offset read is checked against the page before it is used, so garbage gives a wrong answer or
//!    `None`, never an access outside the page, a panic or an endless loop. Guard: `word` (the remainder),
//!    `compare`; `garbage_pages_and_ops_never_panic`.
//! 3. An answer means something only after the caller has validated the page's version word. Guard:
//!    `readers_survive_a_scribbler`; `sync`'s model `optimistic_reader_never_validates_a_torn_page`.

use crate::header::{self, HAS_HIGH, PageKind};
use crate::node::{Found, Slot, slot_at};
use crate::{BODY_AT, ENTRY_HEADER_BYTES, SLOT_BYTES};
use base::{IndexId, PAGE_BYTES, PageBuf, PageNo};
use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::marker::PhantomData;
use stdx::LocalAtomic;
use stdx::bytes::be_head;

const WORDS: usize = PAGE_BYTES / 8;

/// What is copied at once.
const BLOCK_BYTES: usize = 16;

/// Entries that are copied one by one; more of them cost as much as the whole page.
const FEW_ENTRIES: u16 = 32;

/// Slots behind the one that a search begins at that are looked at before all of the page is.
const NEAR_SLOTS: u16 = 4;

/// View of a frame's bytes that may change at any moment.
#[derive(Clone, Copy)]
pub struct RacyNode<'a> {
    words: *const LocalAtomic<u64>,
    life: PhantomData<&'a [LocalAtomic<u64>]>,
}

/// The header words that a search needs, read once.
#[derive(Clone, Copy)]
struct Head {
    count: u16,
    prefix_len: u16,
    low_off: u16,
}

impl<'a> RacyNode<'a> {
    /// Looks at the page at `frame`.
    ///
    /// # Safety
    /// `frame` is aligned to 8 and `PAGE_BYTES` bytes from it stay mapped and readable for `'a`. Other threads
    /// may write them meanwhile: the project accepts that such plain writes race with these atomic loads.
    #[inline]
    pub unsafe fn new(frame: *const u8) -> RacyNode<'a> {
        debug_assert!(frame.cast::<u64>().is_aligned());
        RacyNode { words: frame.cast(), life: PhantomData }
    }

    /// The word at index `i`; beyond the page's end, some word of the page.
    #[inline(always)]
    fn word(self, i: usize) -> u64 {
        // SAFETY: the remainder is inside the page, which `new`'s caller promised to be mapped and aligned for `'a`.
        let word = unsafe { &*self.words.add(i % WORDS) };
        u64::from_le(word.load(stdx::Ordering::Relaxed))
    }

    /// Eight bytes from any offset; those past the page's end are any of its bytes.
    #[inline(always)]
    fn word_at(self, off: usize) -> u64 {
        let (i, shift) = (off / 8, (off % 8) * 8);
        let low = self.word(i);
        if shift == 0 { low } else { low >> shift | self.word(i + 1) << (64 - shift) }
    }

    #[inline(always)]
    fn u16_at(self, off: usize) -> u16 {
        self.word_at(off) as u16
    }

    #[inline(always)]
    fn slot(self, slot: u16) -> Slot {
        Slot::from_word(self.word(BODY_AT / 8 + usize::from(slot)))
    }

    #[inline(always)]
    fn head(self) -> Head {
        let w = self.word(header::SLOTS / 8);
        let count = w as u16;
        let fits = BODY_AT + SLOT_BYTES * usize::from(count) <= PAGE_BYTES;
        let count = if fits { count } else { 0 };
        let low_off = self.word(header::LOW_OFF / 8) as u16;
        Head { count, prefix_len: (w >> 48) as u16, low_off }
    }

    /// Level above the leaves, if the page is a B+tree node.
    #[inline]
    pub fn node_level(self) -> Option<u8> {
        let w = self.word(1) >> 32;
        let (kind, level) = (w as u8, (w >> 8) as u8);
        (kind == PageKind::Leaf as u8 && level == 0 || kind == PageKind::Inner as u8 && level > 0)
            .then_some(level)
    }

    /// The index that the node belongs to.
    #[inline]
    pub fn index_id(self) -> IndexId {
        IndexId(self.word(header::INDEX / 8))
    }

    /// Entries.
    #[inline]
    pub fn count(self) -> u16 {
        self.head().count
    }

    /// Compares page bytes `off..off + len` with `key`; `None` outside the page.
    #[inline]
    fn compare(self, off: usize, len: usize, key: &[u8]) -> Option<Ordering> {
        if off + len > PAGE_BYTES {
            return None;
        }
        let common = len.min(key.len());
        let mut at = 0;
        while at + 8 <= common {
            let mine = self.word_at(off + at).swap_bytes();
            let theirs = be_head(&key[at..]);
            if mine != theirs {
                return Some(mine.cmp(&theirs));
            }
            at += 8;
        }
        if at < common {
            let keep = u64::MAX << (64 - 8 * (common - at));
            let mine = self.word_at(off + at).swap_bytes() & keep;
            let theirs = be_head(&key[at..common]);
            if mine != theirs {
                return Some(mine.cmp(&theirs));
            }
        }
        Some(len.cmp(&key.len()))
    }

    /// First entry whose key is not smaller than `key`; `None` when the bytes contradict themselves.
    #[inline]
    pub fn search(self, key: &[u8]) -> Option<Found> {
        self.search_from(0, key)
    }

    /// As [`RacyNode::search`], of a key that no entry before slot `from` reaches: often it is one of the next.
    #[inline]
    pub fn search_from(self, from: u16, key: &[u8]) -> Option<Found> {
        let h = self.head();
        let prefix_len = usize::from(h.prefix_len);
        if prefix_len > 0 {
            let low = usize::from(h.low_off);
            let n = prefix_len.min(key.len());
            match self.compare(low, prefix_len, &key[..n])? {
                Ordering::Equal => {}
                // The prefix is above the key (or longer): so are all entries.
                Ordering::Greater => return Some(Found { slot: 0, exact: false }),
                Ordering::Less => return Some(Found { slot: h.count, exact: false }),
            }
        }
        self.search_suffix((from, h.count), &key[prefix_len..])
    }

    #[inline]
    fn search_suffix(self, (from, count): (u16, u16), suffix: &[u8]) -> Option<Found> {
        let head = crate::head_of(suffix);
        let near = from.saturating_add(NEAR_SLOTS);
        let is_near = from > 0 && near < count && self.slot(near).head >= head;
        let lo = self.lower_bound(from, if is_near { near } else { count }, head);
        let first = self.slot(lo);
        if lo == count || first.head != head {
            return Some(Found { slot: lo, exact: false });
        }
        match self.compare_slot(first, suffix)? {
            Ordering::Equal => return Some(Found { slot: lo, exact: true }),
            Ordering::Greater => return Some(Found { slot: lo, exact: false }),
            Ordering::Less => {}
        }
        let hi = match head.checked_add(1) {
            Some(next) => self.lower_bound(lo + 1, count, next),
            None => count,
        };
        self.search_equal_heads(lo + 1, hi, suffix)
    }

    /// First slot in `lo..hi` whose head is not smaller. Heads in order are halved without branches.
    #[inline(always)]
    fn lower_bound(self, lo: u16, hi: u16, head: u32) -> u16 {
        let hi = usize::from(hi).min(WORDS - BODY_AT / 8);
        let (mut at, mut len) = (usize::from(lo), hi.saturating_sub(usize::from(lo)));
        let slots = self.words.wrapping_add(BODY_AT / 8);
        let below = |slot: usize| {
            // SAFETY: `slot < hi`, as `at + len <= hi` always and a probe is below that; `hi` slots are inside the
            // page, which `new`'s caller promised to be mapped and aligned for `'a`.
            let word = unsafe { &*slots.add(slot) };
            (u64::from_le(word.load(stdx::Ordering::Relaxed)) as u32) < head
        };
        while len > 1 {
            let half = len / 2;
            at = select_unpredictable(below(at + half - 1), at + half, at);
            len -= half;
        }
        if len == 1 && below(at) {
            at += 1;
        }
        at as u16
    }

    #[cold]
    fn search_equal_heads(self, mut lo: u16, mut hi: u16, suffix: &[u8]) -> Option<Found> {
        while lo < hi {
            let mid = lo + (hi - lo) / 2;
            match self.compare_slot(self.slot(mid), suffix)? {
                Ordering::Less => lo = mid + 1,
                Ordering::Equal => return Some(Found { slot: mid, exact: true }),
                Ordering::Greater => hi = mid,
            }
        }
        Some(Found { slot: lo, exact: false })
    }

    #[inline(always)]
    fn compare_slot(self, s: Slot, suffix: &[u8]) -> Option<Ordering> {
        let len = usize::from(s.len);
        if len.min(suffix.len()) <= 4 {
            // Heads are equal, so the shorter one ends here and the length decides.
            return Some(len.cmp(&suffix.len()));
        }
        self.compare(usize::from(s.off) + ENTRY_HEADER_BYTES, len, suffix)
    }

    /// The child page that covers `key`; `None` when the bytes contradict themselves.
    #[inline]
    pub fn child(self, key: &[u8]) -> Option<PageNo> {
        let found = self.search(key)?;
        let slot = if found.exact { found.slot } else { found.slot.saturating_sub(1) };
        self.child_at(slot)
    }

    /// The child page in a slot.
    #[inline]
    pub fn child_at(self, slot: u16) -> Option<PageNo> {
        let (at, len) = self.payload_range(slot)?;
        (len == 4).then(|| PageNo(self.word_at(at) as u32))
    }

    /// First byte and length of a payload, inside the page.
    #[inline]
    fn payload_range(self, slot: u16) -> Option<(usize, usize)> {
        if slot >= self.head().count {
            return None;
        }
        let s = self.slot(slot);
        let off = usize::from(s.off);
        if off < BODY_AT || off + ENTRY_HEADER_BYTES > PAGE_BYTES {
            return None;
        }
        let at = off + ENTRY_HEADER_BYTES + usize::from(s.len);
        let len = usize::from(self.u16_at(off));
        (at + len <= PAGE_BYTES).then_some((at, len))
    }

    /// Replaces `out` by an entry's payload; `None` when the bytes contradict themselves.
    #[inline]
    pub fn copy_payload(self, slot: u16, out: &mut Vec<u8>) -> Option<()> {
        let (at, len) = self.payload_range(slot)?;
        self.copy_bytes(at, len, out);
        Some(())
    }

    /// Replaces `out` by an entry's whole key; `None` when the bytes contradict themselves.
    #[inline]
    pub fn copy_key(self, slot: u16, out: &mut Vec<u8>) -> Option<()> {
        let h = self.head();
        if slot >= h.count {
            return None;
        }
        let (low, prefix_len) = (usize::from(h.low_off), usize::from(h.prefix_len));
        let s = self.slot(slot);
        let (at, len) = (usize::from(s.off) + ENTRY_HEADER_BYTES, usize::from(s.len));
        if low + prefix_len > PAGE_BYTES || at + len > PAGE_BYTES {
            return None;
        }
        self.copy_bytes(low, prefix_len, out);
        self.append_bytes(at, len, out);
        Some(())
    }

    /// Replaces `out` by `len` bytes from `at`; the range is inside the page.
    #[inline]
    fn copy_bytes(self, at: usize, len: usize, out: &mut Vec<u8>) {
        out.clear();
        self.append_bytes(at, len, out);
    }

    /// Appends `len` bytes from `at`; the range is inside the page.
    #[inline]
    fn append_bytes(self, at: usize, len: usize, out: &mut Vec<u8>) {
        debug_assert!(at + len <= PAGE_BYTES);
        let before = out.len();
        // Whole words are written: up to seven bytes more than are kept.
        out.reserve(len + 8);
        // SAFETY: inside the vector's memory, which has room for `len + 8` bytes from here on.
        let to = unsafe { out.as_mut_ptr().add(before) };
        let done = self.copy_blocks(at, len, to);
        let mut i = done;
        while i < len {
            let eight = self.word_at(at + i).to_le_bytes();
            // SAFETY: `i < len` and `len + 8` bytes are reserved.
            unsafe { to.add(i).cast::<[u8; 8]>().write(eight) };
            i += 8;
        }
        // SAFETY: all of `len` bytes were written and are within the capacity.
        unsafe { out.set_len(before + len) };
    }

    /// Copies as many bytes as come in whole blocks of 16, by unaligned loads; answers how many.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    fn copy_blocks(self, at: usize, len: usize, to: *mut u8) -> usize {
        let (long, blocks) = (len / 64 * 64, len / 16 * 16);
        let from = self.words.cast::<u8>().wrapping_add(at);
        let mut i = 0usize;
        if long > 0 {
            // SAFETY: as below, for `long <= blocks`.
            unsafe {
                std::arch::asm!(
                    "2:",
                    "movdqu {a}, [{from} + {i}]",
                    "movdqu {b}, [{from} + {i} + 16]",
                    "movdqu {c}, [{from} + {i} + 32]",
                    "movdqu {d}, [{from} + {i} + 48]",
                    "movdqu [{to} + {i}], {a}",
                    "movdqu [{to} + {i} + 16], {b}",
                    "movdqu [{to} + {i} + 32], {c}",
                    "movdqu [{to} + {i} + 48], {d}",
                    "add {i}, 64",
                    "cmp {i}, {long}",
                    "jb 2b",
                    a = out(xmm_reg) _,
                    b = out(xmm_reg) _,
                    c = out(xmm_reg) _,
                    d = out(xmm_reg) _,
                    from = in(reg) from,
                    to = in(reg) to,
                    i = inout(reg) i,
                    long = in(reg) long,
                    options(nostack),
                );
            }
        }
        if i < blocks {
            // SAFETY: reads `blocks <= len` bytes from `at`, inside the page, and writes as many to `to`, which has
            // room for `len`. The compiler sees no plain load of the racing bytes; the loop ends as `i` reaches
            // `blocks`.
            unsafe {
                std::arch::asm!(
                    "2:",
                    "movdqu {x}, [{from} + {i}]",
                    "movdqu [{to} + {i}], {x}",
                    "add {i}, 16",
                    "cmp {i}, {blocks}",
                    "jb 2b",
                    x = out(xmm_reg) _,
                    from = in(reg) from,
                    to = in(reg) to,
                    i = inout(reg) i => _,
                    blocks = in(reg) blocks,
                    options(nostack),
                );
            }
        }
        blocks
    }

    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    fn copy_blocks(self, _at: usize, _len: usize, _to: *mut u8) -> usize {
        0
    }

    /// Replaces `out` by the high fence. `Some(false)`: there is none, this is the right edge.
    pub fn copy_high_fence(self, out: &mut Vec<u8>) -> Option<bool> {
        out.clear();
        if (self.word(1) >> 56) as u8 & HAS_HIGH == 0 {
            return Some(false);
        }
        let w = self.word(header::LOW_OFF / 8);
        self.copy_fence((w >> 32) as u16, (w >> 48) as u16, out)
    }

    /// Replaces `out` by the low fence, empty at the left edge.
    pub fn copy_low_fence(self, out: &mut Vec<u8>) -> Option<()> {
        let w = self.word(header::LOW_OFF / 8);
        self.copy_fence(w as u16, (w >> 16) as u16, out).map(|_| ())
    }

    fn copy_fence(self, off: u16, len: u16, out: &mut Vec<u8>) -> Option<bool> {
        let (off, len) = (usize::from(off), usize::from(len));
        if off + len > PAGE_BYTES {
            return None;
        }
        self.copy_bytes(off, len, out);
        Some(true)
    }

    /// Copies the whole page.
    pub fn copy_page(self, out: &mut PageBuf) {
        let _ = self.copy_span(0, PAGE_BYTES, out);
    }

    /// Whether the slots from `from` to below `to` are copied one by one.
    #[inline]
    pub fn is_few(self, from: u16, to: u16) -> bool {
        to.saturating_sub(from) <= FEW_ENTRIES.min(self.count() / 2)
    }

    /// Copies the header, the fences, and the entries of the slots from `from` to below `to`, each to where it lies: as
    /// [`crate::Node`], `out` can be asked for these entries and for nothing about others. Many are copied with the
    /// whole page, and one that is alone, too; answers whether. `None` when the bytes contradict themselves.
    #[inline]
    pub fn copy_entries(self, from: u16, to: u16, out: &mut PageBuf) -> Option<bool> {
        if !self.is_few(from, to) {
            self.copy_page(out);
            return Some(true);
        }
        if cfg!(debug_assertions) {
            // Nothing that was there before may look like this page's.
            out.fill(0xa5);
        }
        self.copy_span(0, BODY_AT, out)?;
        let fences = self.word(header::LOW_OFF / 8);
        for fence in [fences, fences >> 32] {
            let (off, len) = (usize::from(fence as u16), usize::from((fence >> 16) as u16));
            self.copy_span(off, off + len, out)?;
        }
        self.copy_other_entries(from, to, out)?;
        Some(false)
    }

    /// Copies these entries beside a header and fences that were copied before, by [`RacyNode::copy_entries`] of the same
    /// version of the page; those that were copied with them mean nothing any more. `None` as there.
    #[inline]
    pub fn copy_other_entries(self, from: u16, to: u16, out: &mut PageBuf) -> Option<()> {
        self.copy_span(slot_at(from), slot_at(to), out)?;
        for slot in from..to {
            let (payload_at, len) = self.payload_range(slot)?;
            self.copy_span(usize::from(self.slot(slot).off), payload_at + len, out)?;
        }
        Some(())
    }

    /// Copies the bytes from `from` to below `to`, and those of their words beside them; `None` outside the page.
    #[inline]
    fn copy_span(self, from: usize, to: usize, out: &mut PageBuf) -> Option<()> {
        let from = from / BLOCK_BYTES * BLOCK_BYTES;
        let out = out.get_mut(from..to.next_multiple_of(BLOCK_BYTES))?;
        let done = self.copy_blocks(from, out.len(), out.as_mut_ptr());
        for (i, eight) in out.as_chunks_mut::<8>().0.iter_mut().enumerate().skip(done / 8) {
            *eight = self.word(from / 8 + i).to_le_bytes();
        }
        Some(())
    }
}
