//! What the Performance Schema keeps that it can do without, and how much that may be.
//!
//! 1. All of it together stays below `performance_schema_memory_limit`: who wants to keep more asks first, and goes without
//! where there is no room ([`OwnMemory::try_take`]). What is lost is counted where it is lost. 2. What is there stays when the
//! limit is lowered.

use crate::Class;
use crate::memory::MemoryUse;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// `performance_schema_memory_limit`, in bytes.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// What is kept.
static KEPT: AtomicU64 = AtomicU64::new(0);

crate::classes! {
    static TEXTS: OwnMemory = "memory/performance_schema/statement_texts";
}

/// How much may be kept, in bytes.
pub fn set_memory_limit(bytes: u64) {
    LIMIT.store(bytes, Relaxed);
}

/// An instrument of memory of the Performance Schema's own, declared as a `static`.
#[derive(Debug)]
pub struct OwnMemory(MemoryUse);

impl OwnMemory {
    /// One that has counted nothing.
    pub const fn new(name: &'static str) -> OwnMemory {
        OwnMemory(MemoryUse::new(name))
    }

    /// Its class.
    pub const fn class(&self) -> &Class {
        self.0.class()
    }

    /// Takes a piece, if there is room for it.
    #[must_use = "where there is no room, nothing may be kept"]
    pub fn try_take(&'static self, bytes: usize) -> bool {
        let before = KEPT.fetch_add(bytes as u64, Relaxed);
        if before.saturating_add(bytes as u64) > LIMIT.load(Relaxed) {
            KEPT.fetch_sub(bytes as u64, Relaxed);
            return false;
        }
        self.0.take(bytes);
        true
    }

    /// Gives a piece back.
    pub fn give_back(&'static self, bytes: usize) {
        KEPT.fetch_sub(bytes as u64, Relaxed);
        self.0.give_back(bytes);
    }
}

/// A statement's text that is kept as far as there is room.
#[derive(Debug, Default)]
pub struct TextBuffer {
    bytes: Vec<u8>,
    /// Memory that was taken for it.
    taken: usize,
}

impl TextBuffer {
    /// Keeps another text, in the same memory if it is large enough; `room`: how much more to take otherwise, since the next ones are
    /// a little longer as a rule.
    #[inline]
    pub(crate) fn assign(&mut self, text: &[u8], room: usize) {
        self.bytes.clear();
        let fits = self.bytes.capacity() >= text.len() || self.grow(text.len() + room);
        if fits {
            self.bytes.extend_from_slice(text);
        }
    }

    /// Whether there is room for so many bytes now.
    #[cold]
    fn grow(&mut self, bytes: usize) -> bool {
        self.free();
        if !TEXTS.try_take(bytes) {
            return false;
        }
        self.taken = bytes;
        self.bytes = Vec::with_capacity(bytes);
        true
    }

    /// How much memory was taken for it.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.taken
    }

    fn free(&mut self) {
        self.bytes = Vec::new();
        if self.taken > 0 {
            TEXTS.give_back(self.taken);
            self.taken = 0;
        }
    }
}

impl Drop for TextBuffer {
    fn drop(&mut self) {
        self.free();
    }
}

/// A copy is a reader's: it is not counted.
impl Clone for TextBuffer {
    fn clone(&self) -> TextBuffer {
        TextBuffer { bytes: self.bytes.clone(), taken: 0 }
    }
}

impl PartialEq for TextBuffer {
    fn eq(&self, other: &TextBuffer) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for TextBuffer {}

impl Deref for TextBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
