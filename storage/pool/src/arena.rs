//! The memory of all frames: one mapping, never unmapped while anyone can reach it.
//!
//! 1. Frame `n` occupies bytes `n * PAGE_BYTES ..` of the mapping; every frame stays readable for
//!    the arena's whole life, so a reader that lost its page reads garbage and never faults.
//! 2. The arena hands out raw pointers only; who may read or write a frame is decided by the page
//!    word that names it (`lib.rs`).

use base::{Error, PAGE_BYTES, PageBuf, Result};
use std::ptr::NonNull;

/// Size of a transparent huge page; the arena starts on such a boundary, in bytes.
const HUGE_BYTES: usize = 2 << 20;

/// All frames of a pool.
pub(crate) struct Arena {
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    base: NonNull<u8>,
    frames: u32,
}

// SAFETY: the arena only computes addresses; the bytes behind them are guarded by page words.
unsafe impl Send for Arena {}
// SAFETY: as above, no method reads or writes the memory.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps zeroed memory for `frames` frames; it is only touched when a frame is first used.
    pub(crate) fn new(frames: u32) -> Result<Arena> {
        let bytes = frames as usize * PAGE_BYTES;
        let mapping_bytes = bytes.next_multiple_of(HUGE_BYTES) + HUGE_BYTES;
        // SAFETY: a fresh private anonymous mapping touches no memory in use.
        let raw = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapping_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if raw == libc::MAP_FAILED {
            let e = std::io::Error::last_os_error();
            return Err(Error::io("map memory for", "the buffer pool", e));
        }
        let mapping = NonNull::new(raw.cast::<u8>()).expect("mmap does not map address 0");
        let skip = mapping.as_ptr().align_offset(HUGE_BYTES);
        // SAFETY: `skip` is below HUGE_BYTES, by which the mapping is longer than the frames.
        let base = unsafe { mapping.add(skip) };
        // SAFETY: the range lies inside the mapping; the advice changes no byte of it. A kernel
        // without huge pages refuses, which costs speed only.
        unsafe {
            let len = mapping_bytes - skip;
            libc::madvise(base.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
        }
        Ok(Arena { mapping, mapping_bytes, base, frames })
    }

    /// The address of a frame's bytes. Panics for a frame that does not exist: frame
    /// numbers come from page words, which only the pool writes.
    #[inline]
    pub(crate) fn frame(&self, no: u32) -> NonNull<PageBuf> {
        assert!(no < self.frames, "a page word names a frame that does not exist");
        // SAFETY: the frame lies inside the mapping (invariant 1).
        unsafe { self.base.add(no as usize * PAGE_BYTES).cast() }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and, the arena being dropped, nobody can reach a frame.
        unsafe {
            libc::munmap(self.mapping.as_ptr().cast(), self.mapping_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_aligned_for_direct_io_and_start_zeroed() {
        let arena = Arena::new(3).expect("48 KiB fit");
        for no in 0..3 {
            let at = arena.frame(no);
            assert_eq!(at.as_ptr() as usize % host::BLOCK_BYTES, 0);
            // SAFETY: nobody else has this arena.
            assert!(unsafe { at.as_ref() }.iter().all(|&b| b == 0));
        }
        assert_eq!(arena.frame(1).as_ptr() as usize - arena.frame(0).as_ptr() as usize, PAGE_BYTES);
    }
}
