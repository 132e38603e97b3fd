//! Memory for copies of pages, outside of the frames.
//!
//! It comes from the thread and goes back to it: a statement that copies a leaf neither allocates nor clears 16 KiB,
//! which would cost more than all that it does with the copy.
//!
//! 1. A thread keeps [`KEPT_MAX`] of them at most. Guard: `a_thread_keeps_few_copies_and_uses_them_again`.

use base::{PAGE_BYTES, PageBuf};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// What a thread keeps for the copies to come.
const KEPT_MAX: usize = 8;

thread_local! {
    static KEPT: RefCell<Vec<Box<PageBuf>>> = const { RefCell::new(Vec::new()) };
}

/// Memory for one page. What is in it at first has no meaning.
#[derive(Debug)]
pub struct PageCopy(ManuallyDrop<Box<PageBuf>>);

impl PageCopy {
    /// Memory that this thread has kept, or new one.
    pub fn new() -> PageCopy {
        let kept = KEPT.try_with(|kept| kept.borrow_mut().pop()).ok().flatten();
        PageCopy(ManuallyDrop::new(kept.unwrap_or_else(|| Box::new([0; PAGE_BYTES]))))
    }
}

impl Default for PageCopy {
    fn default() -> PageCopy {
        PageCopy::new()
    }
}

impl Deref for PageCopy {
    type Target = PageBuf;

    fn deref(&self) -> &PageBuf {
        &self.0
    }
}

impl DerefMut for PageCopy {
    fn deref_mut(&mut self) -> &mut PageBuf {
        &mut self.0
    }
}

impl Drop for PageCopy {
    fn drop(&mut self) {
        // SAFETY: nobody uses or drops the field after this.
        let page = unsafe { ManuallyDrop::take(&mut self.0) };
        // Where the thread is about to end, it is freed.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < KEPT_MAX {
                kept.push(page);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_few_copies_and_uses_them_again() {
        let copy = PageCopy::new();
        let place = copy.as_ptr();
        drop(copy);
        let mut copies: Vec<PageCopy> = (0..KEPT_MAX + 2).map(|_| PageCopy::new()).collect();
        assert_eq!(copies[0].as_ptr(), place);
        copies.clear();
        assert_eq!(KEPT.with_borrow(Vec::len), KEPT_MAX);
    }
}
