//! Memory for copies of pages, outside of the frames.
//!
//! It comes from the thread and goes back to it: a statement that copies a leaf neither allocates nor clears 16 KiB,
//! which would cost more than all that it does with the copy.
//!
//! 1. A thread keeps [`KEPT_MAX`] of them at most. Guard: `a_thread_keeps_few_copies_and_uses_them_again`.

use base::{PAGE_BYTES, PageBuf};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// What a thread keeps for the copies to come.
const KEPT_MAX: usize = 8;

thread_local! {
    static KEPT: RefCell<Vec<Box<PageBuf>>> = const { RefCell::new(Vec::new()) };
}

/// What a copy is read as before anything is in it.
static EMPTY: PageBuf = [0; PAGE_BYTES];

/// Memory for one page, from the first time that it is written on. What is in it at first has no meaning.
#[derive(Debug, Default)]
pub struct PageCopy(Option<Box<PageBuf>>);

impl PageCopy {
    /// No memory yet.
    pub fn new() -> PageCopy {
        PageCopy::default()
    }

    /// Gives the memory back to the thread.
    pub fn release(&mut self) {
        let Some(page) = self.0.take() else { return };
        // Where the thread is about to end, it is freed.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < KEPT_MAX {
                kept.push(page);
            }
        });
    }
}

/// Memory that this thread has kept, or new one.
#[cold]
fn taken() -> Box<PageBuf> {
    let kept = KEPT.try_with(|kept| kept.borrow_mut().pop()).ok().flatten();
    kept.unwrap_or_else(|| Box::new([0; PAGE_BYTES]))
}

impl Deref for PageCopy {
    type Target = PageBuf;

    #[inline]
    fn deref(&self) -> &PageBuf {
        self.0.as_deref().unwrap_or(&EMPTY)
    }
}

impl DerefMut for PageCopy {
    #[inline]
    fn deref_mut(&mut self) -> &mut PageBuf {
        self.0.get_or_insert_with(taken)
    }
}

impl Drop for PageCopy {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_few_copies_and_uses_them_again() {
        let mut copy = PageCopy::new();
        copy[0] = 1;
        let place = copy.as_ptr();
        drop(copy);
        let mut copies: Vec<PageCopy> = (0..KEPT_MAX + 2).map(|_| PageCopy::new()).collect();
        copies.iter_mut().for_each(|copy| copy[0] = 1);
        assert_eq!(copies[0].as_ptr(), place);
        copies.clear();
        assert_eq!(KEPT.with_borrow(Vec::len), KEPT_MAX);
    }
}
