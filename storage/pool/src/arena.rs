//! The memory of all frames and of what the pool knows about each: mapped once, for the largest
//! size that the pool may ever have, and never unmapped while anyone can reach it.
//!
//! 1. Frame `n` occupies bytes `n * PAGE_BYTES ..` of the mapping. Once opened it stays readable for the
//!    arena's whole life, so a reader that lost its page reads garbage and never faults; what was given back to
//!    the system reads as zeroes. Guard: the assertions in `frame`, `header` and `range`;
//!    `memory_given_back_reads_as_zeroes_and_can_be_used_again`.
//! 2. Address space is not memory: what was never touched takes none, nor does a header (32 bytes a frame) of a
//!    frame that was never used. Guard: the constant assertion of [`Frame`]'s size;
//!    `memory_of_withdrawn_frames_goes_back_to_the_system`.
//!
//! The arena hands out raw pointers only; who may read or write a frame is decided by the page word that names
//! it (`lib.rs`).

use crate::frames::Frame;
use base::{Error, PAGE_BYTES, PageBuf, Result};
use std::ptr::NonNull;

/// Size of a transparent huge page; the arena starts on such a boundary, in bytes.
const HUGE_BYTES: usize = 2 << 20;

/// A private anonymous mapping.
struct Mapping {
    at: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize, protection: libc::c_int) -> Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh private anonymous mapping touches no memory in use.
        let raw = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if raw == libc::MAP_FAILED {
            return Err(last_error("map memory for"));
        }
        let at = NonNull::new(raw.cast::<u8>()).expect("mmap does not map address 0");
        Ok(Mapping { at, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and, being dropped, nobody can reach it.
        unsafe {
            libc::munmap(self.at.as_ptr().cast(), self.bytes);
        }
    }
}

fn last_error(op: &'static str) -> Error {
    Error::io(op, "the buffer pool", std::io::Error::last_os_error())
}

/// The machine's memory, in bytes; 0 when the system does not tell.
pub(crate) fn machine_bytes() -> usize {
    // SAFETY: sysconf takes a number and returns a number.
    let (pages, bytes) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).unwrap_or(0).saturating_mul(usize::try_from(bytes).unwrap_or(0))
}

/// All frames of a pool.
pub(crate) struct Arena {
    base: NonNull<u8>,
    frames: u32,
    headers: NonNull<Frame>,
    // Held for their memory.
    _pages: Mapping,
    _headers: Mapping,
}

// SAFETY: the arena computes addresses of bytes that are guarded by page words, and gives shared
// references to headers, which are atomics.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves address space for `frames` frames; none of them is open.
    pub(crate) fn reserve(frames: u32) -> Result<Arena> {
        let bytes = frames as usize * PAGE_BYTES;
        let pages = Mapping::new(bytes.next_multiple_of(HUGE_BYTES) + HUGE_BYTES, libc::PROT_NONE)?;
        let skip = pages.at.as_ptr().align_offset(HUGE_BYTES);
        // SAFETY: `skip` is below HUGE_BYTES, by which the mapping is longer than the frames.
        let base = unsafe { pages.at.add(skip) };
        // SAFETY: the range lies inside the mapping; neither advice changes a byte of it. A kernel
        // without huge pages refuses the first, which costs speed only.
        unsafe {
            libc::madvise(base.as_ptr().cast(), pages.bytes - skip, libc::MADV_HUGEPAGE);
            // What a core file of a server with much memory is not wanted for.
            libc::madvise(base.as_ptr().cast(), pages.bytes - skip, libc::MADV_DONTDUMP);
        }
        let header_bytes = frames as usize * size_of::<Frame>();
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let headers = Mapping::new(header_bytes.next_multiple_of(HUGE_BYTES), writable)?;
        Ok(Arena { base, frames, headers: headers.at.cast(), _pages: pages, _headers: headers })
    }

    /// Makes frames `from..to` usable: zeroes that take memory when they are first touched.
    pub(crate) fn open(&self, from: u32, to: u32) -> Result<()> {
        let (at, bytes) = self.range(from, to);
        // SAFETY: the range lies inside the mapping; opening it takes no right from anyone.
        let done = unsafe { libc::mprotect(at, bytes, libc::PROT_READ | libc::PROT_WRITE) };
        if done == 0 { Ok(()) } else { Err(last_error("open memory for")) }
    }

    /// Gives the memory of frames `from..to` back to the system; they stay readable, as zeroes.
    /// Nobody may have one of them.
    pub(crate) fn release(&self, from: u32, to: u32) -> Result<()> {
        let (at, bytes) = self.range(from, to);
        // SAFETY: the range lies inside the mapping and holds no page; readers that still have an
        // address of it read by atomic loads and do not validate.
        let done = unsafe { libc::madvise(at, bytes, libc::MADV_DONTNEED) };
        if done == 0 { Ok(()) } else { Err(last_error("give back memory of")) }
    }

    fn range(&self, from: u32, to: u32) -> (*mut libc::c_void, usize) {
        assert!(from <= to && to <= self.frames, "frames are opened within the reserved range");
        // SAFETY: the frame lies inside the mapping, or at its end.
        let at = unsafe { self.base.add(from as usize * PAGE_BYTES) };
        (at.as_ptr().cast(), (to - from) as usize * PAGE_BYTES)
    }

    /// The addresses of all frames.
    pub(crate) fn addresses(&self) -> std::ops::Range<usize> {
        let (at, bytes) = self.range(0, self.frames);
        at.addr()..at.addr() + bytes
    }

    /// How many frames there is address space for.
    pub(crate) fn frames(&self) -> u32 {
        self.frames
    }

    /// The address of a frame's bytes. Panics for a frame that does not exist: frame
    /// numbers come from page words, which only the pool writes.
    #[inline]
    pub(crate) fn frame(&self, no: u32) -> NonNull<PageBuf> {
        assert!(no < self.frames, "a page word names a frame that does not exist");
        // SAFETY: the frame lies inside the mapping (invariant 1).
        unsafe { self.base.add(no as usize * PAGE_BYTES).cast() }
    }

    /// What is known about a frame. Panics as [`Arena::frame`].
    #[inline]
    pub(crate) fn header(&self, no: u32) -> &Frame {
        assert!(no < self.frames, "a header of a frame that does not exist");
        // SAFETY: the header lies inside its mapping, which is aligned to more than a header and
        // lives as long as the arena; zeroes are a valid header (`frames.rs` 4), and all access
        // to it is atomic.
        unsafe { self.headers.add(no as usize).as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_aligned_for_direct_io_and_start_zeroed() {
        let arena = Arena::reserve(7).expect("112 KiB fit");
        arena.open(0, 3).unwrap();
        for no in 0..3 {
            let at = arena.frame(no);
            assert_eq!(at.as_ptr() as usize % host::BLOCK_BYTES, 0);
            // SAFETY: nobody else has this arena.
            assert!(unsafe { at.as_ref() }.iter().all(|&b| b == 0));
            assert!(arena.header(no).page().is_none() && arena.header(no).is_clean());
        }
        assert_eq!(arena.frame(1).as_ptr() as usize - arena.frame(0).as_ptr() as usize, PAGE_BYTES);
    }

    #[test]
    fn memory_given_back_reads_as_zeroes_and_can_be_used_again() {
        let arena = Arena::reserve(600).expect("10 MB fit");
        arena.open(0, 300).unwrap();
        arena.open(300, 600).unwrap();
        for no in [0, 299, 300, 599] {
            // SAFETY: nobody else has this arena.
            unsafe { arena.frame(no).as_mut() }.fill(7);
        }
        arena.release(200, 600).unwrap();
        // SAFETY: as above.
        let bytes = |no| unsafe { arena.frame(no).as_mut() };
        assert!(bytes(0)[9] == 7 && bytes(299)[9] == 0 && bytes(599)[9] == 0);
        bytes(599).fill(8);
        assert_eq!(bytes(599)[9], 8);
    }
}
