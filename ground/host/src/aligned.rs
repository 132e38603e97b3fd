//! Memory for block I/O: a byte vector that starts on a block boundary.
//!
//! 1. The memory is `capacity` bytes, all initialised (zeroed when allocated), aligned to
//!    [`BLOCK_BYTES`](crate::BLOCK_BYTES); `capacity` is a multiple of it.
//! 2. `len <= capacity`.
//! 3. A buffer of whole huge pages begins on one and has a mapping of its own, for which the kernel
//!    is asked for them: its first touch costs a fraction (one page fault instead of 512).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::disk::BLOCK_BYTES;

/// A huge page of x86-64 and, mostly, of AArch64.
const HUGE_BYTES: usize = 2 << 20;

/// A growable byte buffer aligned to [`BLOCK_BYTES`](crate::BLOCK_BYTES).
pub struct AlignedBuf {
    start: NonNull<u8>,
    len: usize,
    capacity: usize,
}

// SAFETY: the buffer owns its memory alone, as a Vec<u8> does.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared references give only shared slices.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// An empty buffer that owns no memory.
    #[must_use]
    pub const fn new() -> AlignedBuf {
        // Dangling but block-aligned, so that even an empty slice passes the alignment check.
        let start = NonNull::without_provenance(
            std::num::NonZeroUsize::new(BLOCK_BYTES).expect("a block has bytes"),
        );
        AlignedBuf { start, len: 0, capacity: 0 }
    }

    /// A buffer of `len` zero bytes.
    #[must_use]
    pub fn zeroed(len: usize) -> AlignedBuf {
        let capacity = len.next_multiple_of(BLOCK_BYTES);
        if capacity == 0 {
            return AlignedBuf::new();
        }
        let layout = Self::layout(capacity);
        let raw = match Self::is_huge(capacity) {
            true => map_huge(capacity),
            // SAFETY: the layout has a size above zero.
            false => unsafe { alloc_zeroed(layout) },
        };
        let Some(start) = NonNull::new(raw) else { handle_alloc_error(layout) };
        AlignedBuf { start, len, capacity }
    }

    fn is_huge(capacity: usize) -> bool {
        capacity.is_multiple_of(HUGE_BYTES)
    }

    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, BLOCK_BYTES).expect("a buffer is below isize::MAX bytes")
    }

    /// Bytes it can hold without a new allocation.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Makes it `len` bytes long; bytes that appear are zero.
    pub fn resize(&mut self, len: usize) {
        let old = self.len;
        if len > self.capacity {
            let mut larger = AlignedBuf::zeroed(len.max(self.capacity * 2));
            larger[..old].copy_from_slice(self);
            larger.len = len;
            *self = larger;
            return;
        }
        self.len = len;
        if len > old {
            self[old..].fill(0);
        }
    }

    /// Makes it empty; the memory stays.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let old = self.len;
        self.resize(old + bytes.len());
        self[old..].copy_from_slice(bytes);
    }

    /// Appends zero bytes up to the next block boundary.
    pub fn pad_to_block(&mut self) {
        self.resize(self.len.next_multiple_of(BLOCK_BYTES));
    }
}

/// A mapping of `bytes` zero bytes, whole huge pages; null when there is no room.
fn map_huge(bytes: usize) -> *mut u8 {
    let (prot, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping somewhere touches nobody's memory.
    let raw = unsafe { libc::mmap(std::ptr::null_mut(), bytes + HUGE_BYTES, prot, flags, -1, 0) };
    if raw == libc::MAP_FAILED {
        return std::ptr::null_mut();
    }
    let raw: *mut u8 = raw.cast();
    let skip = raw.align_offset(HUGE_BYTES);
    // SAFETY: `skip` is below HUGE_BYTES, by which the mapping is longer than wanted. Nobody knows it
    // yet, so its ends can go; the advice changes no byte, and a kernel without huge pages refuses it.
    unsafe {
        let start = raw.add(skip);
        if skip > 0 {
            libc::munmap(raw.cast(), skip);
        }
        libc::munmap(start.add(bytes).cast(), HUGE_BYTES - skip);
        libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE);
        start
    }
}

impl Default for AlignedBuf {
    fn default() -> AlignedBuf {
        AlignedBuf::new()
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        match self.capacity {
            0 => {}
            // SAFETY: this is the whole of a mapping that nobody else knows.
            n if Self::is_huge(n) => unsafe {
                libc::munmap(self.start.as_ptr().cast(), n);
            },
            // SAFETY: `start` came from alloc_zeroed with this layout (invariant 1).
            n => unsafe { dealloc(self.start.as_ptr(), Self::layout(n)) },
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: invariants 1 and 2: `len` initialised bytes from `start`, owned by self.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for deref; &mut self makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> AlignedBuf {
        let mut copy = AlignedBuf::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} of {} bytes)", self.len, self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_buffers_are_zeroes_aligned_and_their_own() {
        let mut all: Vec<AlignedBuf> =
            (1..6).map(|n| AlignedBuf::zeroed(n * HUGE_BYTES - n % 2)).collect();
        for (i, buf) in all.iter_mut().enumerate() {
            assert!(buf.as_ptr().addr().is_multiple_of(HUGE_BYTES));
            assert!(buf.iter().all(|b| *b == 0));
            buf.fill(i as u8 + 1);
        }
        all.remove(2);
        all[0].resize(3 * HUGE_BYTES);
        for buf in &all {
            let same = buf.iter().take_while(|b| **b == buf[0]).count();
            assert!(same == buf.len() || same == HUGE_BYTES - 1, "{same} of {buf:?}");
        }
    }

    #[test]
    fn stays_aligned_and_keeps_its_bytes_while_it_grows() {
        let mut buf = AlignedBuf::new();
        assert!(buf.is_empty());
        for round in 0..50u8 {
            buf.extend_from_slice(&[round; 777]);
            assert_eq!(buf.as_ptr() as usize % BLOCK_BYTES, 0);
        }
        assert_eq!(buf.len(), 50 * 777);
        for round in 0..50u8 {
            let at = usize::from(round) * 777;
            assert!(buf[at..at + 777].iter().all(|b| *b == round));
        }
        buf.pad_to_block();
        assert_eq!(buf.len() % BLOCK_BYTES, 0);
        assert_eq!(buf.clone()[..], buf[..]);
    }

    #[test]
    fn bytes_that_appear_again_are_zero() {
        let mut buf = AlignedBuf::zeroed(100);
        buf.fill(7);
        buf.clear();
        buf.resize(100);
        assert!(buf.iter().all(|b| *b == 0));
    }
}
