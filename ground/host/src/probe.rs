//! Test support: an allocator that counts each thread's allocations and can serve one thread from
//! memory that nothing else uses, for the tests of the hot path.
//!
//! ```text
//! #[global_allocator]
//! static ALLOCATOR: host::probe::Probe = host::probe::Probe;
//!
//! let before = host::probe::allocations();          // of this thread
//! let heap = host::probe::PrivateHeap::enter(64 << 20)?;   // from here this thread allocates there
//! let armed = host::trap::arm(&[heap.range()])?;    // its own heap may be written, others' may not
//! ```
//!
//! 1. A private heap has one thread: the one that entered it. Whoever else frees a block of it leaks
//!    the block, so its bookkeeping (on its first page) has one writer.
//! 2. The region is never unmapped: blocks may live longer than the guard.
//! 3. What several threads write must not be allocated while a thread is in its private heap, or a
//!    write trap lets it through: shared structures are made before.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;
use std::ops::Range;

use stdx::{LocalAtomic, Ordering};

/// Blocks are powers of two; this many sizes, from [`LEAST`] up.
const SIZES: usize = 32;
const LEAST: usize = 16;
const PAGE: usize = 4096;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    /// Where this thread's private heap begins; 0 while it has none.
    static PRIVATE: Cell<usize> = const { Cell::new(0) };
}

/// Where the process's private heap begins and ends; 0 until there is one. Written once.
static START: LocalAtomic<usize> = LocalAtomic::new(0);
static END: LocalAtomic<usize> = LocalAtomic::new(0);

/// Calls of `alloc` and `realloc` by this thread since it began.
#[must_use]
pub fn allocations() -> u64 {
    COUNT.get()
}

/// Bytes that this thread has allocated and not freed; what another thread frees for it is counted there.
#[must_use]
pub fn live_bytes() -> i64 {
    LIVE.get()
}

fn live(bytes: usize, freed: usize) {
    LIVE.set(LIVE.get() + bytes as i64 - freed as i64);
}

/// The system's allocator, counted; see the module.
pub struct Probe;

/// The bookkeeping of a private heap, at its beginning.
struct Header {
    /// First byte never given away.
    next: usize,
    /// Freed blocks by size; each block holds the address of the next one.
    free: [usize; SIZES],
}

/// Makes the calling thread allocate from memory of its own until it is dropped.
#[derive(Debug)]
pub struct PrivateHeap {
    range: Range<usize>,
    /// The guard belongs to its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl PrivateHeap {
    /// Maps a heap of `bytes` (address space; memory comes with use) and enters it.
    ///
    /// # Errors
    /// There is one already in this process, or the system has no such address space.
    pub fn enter(bytes: usize) -> io::Result<PrivateHeap> {
        let bytes = bytes.next_multiple_of(PAGE).max(2 * PAGE);
        if START.load(Ordering::Relaxed) != 0 {
            return Err(io::Error::from(io::ErrorKind::ResourceBusy));
        }
        // SAFETY: a fresh anonymous mapping.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let range = at as usize..at as usize + bytes;
        // SAFETY: the mapping is larger than a header, page-aligned, and nobody else knows it yet.
        unsafe {
            at.cast::<Header>().write(Header { next: range.start + PAGE, free: [0; SIZES] });
        }
        END.store(range.end, Ordering::Relaxed);
        START.store(range.start, Ordering::Release);
        PRIVATE.set(range.start);
        Ok(PrivateHeap { range, _thread: std::marker::PhantomData })
    }

    /// The heap's addresses: whole pages, its bookkeeping included.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Bytes given away so far, freed ones included.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        // SAFETY: the guard does not leave its thread, which is the header's only user.
        unsafe { (*(self.range.start as *const Header)).next - self.range.start }
    }
}

impl Drop for PrivateHeap {
    fn drop(&mut self) {
        PRIVATE.set(0);
    }
}

/// The number of the block size that holds `layout`.
fn size_of_block(layout: Layout) -> usize {
    let bytes = layout.size().max(LEAST).next_power_of_two();
    (bytes / LEAST).trailing_zeros() as usize
}

/// A block of the calling thread's heap at `heap`; null when it is full.
fn take(heap: usize, layout: Layout) -> *mut u8 {
    // SAFETY: PRIVATE holds the address of a heap whose header only this thread uses (invariant 1).
    let header = unsafe { &mut *(heap as *mut Header) };
    let size = size_of_block(layout);
    // A freed block is only sure to be aligned to the least size.
    if let Some(free) = header.free.get_mut(size).filter(|f| **f != 0 && layout.align() <= LEAST) {
        let block = *free;
        // SAFETY: a block in the list is free, and its first word was written by `give`.
        *free = unsafe { *(block as *const usize) };
        return block as *mut u8;
    }
    let at = header.next.next_multiple_of(layout.align().max(LEAST));
    let end = at.saturating_add(LEAST << size);
    if end > END.load(Ordering::Relaxed) {
        return std::ptr::null_mut();
    }
    header.next = end;
    at as *mut u8
}

/// Takes a block of the private heap back, when its owner gives it.
fn give(block: *mut u8, layout: Layout) {
    let heap = PRIVATE.get();
    if heap == 0 {
        return;
    }
    // SAFETY: as in `take`.
    let header = unsafe { &mut *(heap as *mut Header) };
    if let Some(free) = header.free.get_mut(size_of_block(layout)) {
        // SAFETY: the block was given away by `take`, has room for a word and is not used any more.
        unsafe { *block.cast::<usize>() = *free };
        *free = block as usize;
    }
}

fn is_private(block: *mut u8) -> bool {
    let start = START.load(Ordering::Relaxed);
    start != 0 && (start..END.load(Ordering::Relaxed)).contains(&(block as usize))
}

// SAFETY: blocks come from the system's allocator, or from `take`, which gives each byte of the
// region to one block at a time, large and aligned enough; `dealloc` tells them apart by address.
unsafe impl GlobalAlloc for Probe {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        live(layout.size(), 0);
        match PRIVATE.get() {
            // SAFETY: the caller's promise is passed on.
            0 => unsafe { System.alloc(layout) },
            heap => take(heap, layout),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        live(0, layout.size());
        if is_private(block) {
            return give(block, layout);
        }
        // SAFETY: the block is not of the private heap, so the system gave it.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if PRIVATE.get() == 0 && !is_private(block) {
            COUNT.set(COUNT.get() + 1);
            live(bytes, layout.size());
            // SAFETY: the system gave the block; the caller's promise is passed on.
            return unsafe { System.realloc(block, layout, bytes) };
        }
        // SAFETY: the caller promises that `bytes`, rounded up to the alignment, is a valid size.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: both blocks are valid for what is copied, and the old one is freed once.
        unsafe {
            let new = self.alloc(wanted);
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
            new
        }
    }
}
