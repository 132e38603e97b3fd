//! The memory of slots: fresh anonymous pages, reserved at once and backed when touched.
//!
//! 1. The memory lives as long as the `Slots`, starts as zero bytes, and is aligned to pages.

use crate::{SessionSlot, WorkerSlot};

/// A slot type for which zero bytes are valid.
///
/// # Safety
/// The type consists of atomics of integers only, and needs no more than page alignment.
pub(crate) unsafe trait Slot: Sync {
    #[cfg(loom)]
    fn fresh() -> Self;
}

// SAFETY: grants, flags and counters are all atomics of integers; the alignment is one page.
unsafe impl Slot for SessionSlot {
    #[cfg(loom)]
    fn fresh() -> Self {
        Self::new()
    }
}

// SAFETY: three atomics of integers.
unsafe impl Slot for WorkerSlot {
    #[cfg(loom)]
    fn fresh() -> Self {
        Self::new()
    }
}

/// A slot of a table that whoever has this keeps: it is found without its number.
#[derive(Debug)]
pub(crate) struct Kept<T>(std::ptr::NonNull<T>);

// SAFETY: it gives shared references alone, to a `T` that is `Sync` (see `Slot`).
unsafe impl<T: Slot> Send for Kept<T> {}
// SAFETY: as above.
unsafe impl<T: Slot> Sync for Kept<T> {}

impl<T: Slot> Kept<T> {
    /// # Safety
    /// The slot's table lives as long as this does.
    pub unsafe fn new(slot: &T) -> Kept<T> {
        Kept(slot.into())
    }

    #[inline(always)]
    pub fn get(&self) -> &T {
        // SAFETY: it points at a slot, whose table lives (`new`).
        unsafe { self.0.as_ref() }
    }
}

#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Slots<T>(Vec<T>);

#[cfg(loom)]
impl<T: Slot> Slots<T> {
    pub(crate) fn new(len: usize) -> Self {
        Self((0..len).map(|_| T::fresh()).collect())
    }

    pub(crate) fn get(&self, index: usize) -> &T {
        &self.0[index]
    }
}

#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Slots<T> {
    start: std::ptr::NonNull<T>,
    len: usize,
}

// SAFETY: `Slots` owns the memory, hands out shared references only, and `T` is `Sync` (see `Slot`).
#[cfg(not(loom))]
unsafe impl<T: Slot> Send for Slots<T> {}
// SAFETY: as above.
#[cfg(not(loom))]
unsafe impl<T: Slot> Sync for Slots<T> {}

#[cfg(not(loom))]
impl<T: Slot> Slots<T> {
    pub(crate) fn new(len: usize) -> Self {
        const { assert!(align_of::<T>() <= 4096) };
        let bytes = (len * size_of::<T>()).max(1);
        // SAFETY: a private anonymous mapping at an address of the kernel's choice touches nothing else.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert!(start != libc::MAP_FAILED, "no address space for {len} slots of {bytes} bytes");
        // One session's counters lie far apart and are mostly untouched: huge pages would back it all.
        // SAFETY: the range was just mapped; the advice changes no contents.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        let start = std::ptr::NonNull::new(start.cast()).expect("mmap succeeded");
        Self { start, len }
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> &T {
        assert!(index < self.len, "a slot number is below its table's size");
        // SAFETY: inside the mapping, which lives as long as `self`; zero bytes are valid (`Slot`).
        unsafe { self.start.add(index).as_ref() }
    }
}

#[cfg(not(loom))]
impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; nothing borrows from it any more. Atomics need no drop.
        unsafe { libc::munmap(self.start.as_ptr().cast(), (self.len * size_of::<T>()).max(1)) };
    }
}
