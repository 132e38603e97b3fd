//! Threads of connections, for status: how many may wait, how many do, and how many were started.

use stdx::{Ordering, SharedAtomic, class};

/// What is known of them; whoever has the threads writes it.
#[derive(Debug, Default)]
pub struct ThreadCounts {
    size: SharedAtomic<u64, { class::OTHER }>,
    cached: SharedAtomic<u64, { class::OTHER }>,
    created: SharedAtomic<u64, { class::OTHER }>,
}

impl ThreadCounts {
    /// How many may wait: `thread_cache_size`.
    pub fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed) as usize
    }

    /// `thread_cache_size` has changed.
    pub fn set_size(&self, size: u64) {
        self.size.store(size, Ordering::Relaxed);
    }

    /// How many wait: `Threads_cached`.
    pub fn cached(&self) -> u64 {
        self.cached.load(Ordering::Relaxed)
    }

    /// So many wait now.
    pub fn set_cached(&self, threads: usize) {
        self.cached.store(threads as u64, Ordering::Relaxed);
    }

    /// How many were started: `Threads_created`.
    pub fn created(&self) -> u64 {
        self.created.load(Ordering::Relaxed)
    }

    /// Another one was started.
    pub fn count_created(&self) {
        self.created.fetch_add(1, Ordering::Relaxed);
    }
}
