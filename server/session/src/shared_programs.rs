//! Programs that all sessions can take over.
//!
//! 1. Only a session that has no program of its own for a text looks here, and PREPARE: before a miss lies the making of
//! one, beside which the short mutex of a shard costs nothing. 2. What is here is immutable; a stale program is replaced by
//! whoever finds it so. 3. Each shard keeps to its part of the bytes: what was not looked for longest goes.

use executor::{Parameter, Prepared, Program};
use expr::build::Settings;
use parser::cut::CutLiteral;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::mem::size_of;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static PROGRAMS: MutexClass = "wait/synch/mutex/sql/plan_cache";
}

instrument::classes! {
    static PROGRAM_MEMORY: MemoryUse = "memory/sql/plan_cache";
}

const SHARDS: usize = 16;
/// Programs of one key: for other constants, or other estimates.
pub(crate) const VARIANTS_MAX: usize = 4;

/// What planning looks at besides the text and the tables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Surroundings {
    pub settings: Settings,
    pub database: Option<String>,
}

/// What a program is found by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The text, byte for byte: without its literals, or whole where it has markers.
    pub text: Arc<[u8]>,
    /// Whether its literals were cut out.
    pub is_cut: bool,
    /// What the parameters are planned for where values or changed tables asked for it; none: as PREPARE found.
    pub parameters: Box<[Parameter]>,
    pub surroundings: Surroundings,
}

/// Literals that a program depends on, by number, as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pinned(Box<[(usize, Box<[u8]>)]>);

impl Pinned {
    /// Those of a text that are no parameters.
    pub fn of(prepared: &Prepared, sql: &[u8], literals: &[CutLiteral]) -> Pinned {
        let bound = literals.iter().enumerate().filter(|(n, _)| !prepared.is_free(*n));
        Pinned(bound.map(|(n, literal)| (n, literal.written(sql).into())).collect())
    }

    /// Whether a text has the same.
    #[inline]
    pub fn are_in(&self, sql: &[u8], literals: &[CutLiteral]) -> bool {
        self.0
            .iter()
            .all(|(n, written)| literals.get(*n).is_some_and(|l| l.written(sql) == &**written))
    }

    /// Memory, in bytes.
    fn bytes(&self) -> usize {
        self.0.iter().map(|(_, written)| written.len() + size_of::<(usize, Box<[u8]>)>()).sum()
    }
}

/// A program, and the literals that it was made for.
pub(crate) struct SharedProgram {
    pub pinned: Pinned,
    pub program: Arc<Program>,
    /// The text of a prepared statement, which has so many markers.
    pub text: Arc<[u8]>,
    pub params: usize,
}

struct Text {
    programs: Vec<(Size, Arc<SharedProgram>)>,
    /// When it was looked for last, counted in look-ups of the shard.
    used: u64,
}

impl Text {
    fn bytes(&self) -> usize {
        self.programs.iter().map(|(size, _)| size.bytes).sum()
    }
}

/// Memory of a program, in bytes, counted as long as this is there.
struct Size {
    bytes: usize,
    /// Of these, how many the instrument counted.
    counted: usize,
}

impl Size {
    fn new(bytes: usize) -> Size {
        Size { bytes, counted: PROGRAM_MEMORY.set(0, bytes) }
    }
}

impl Drop for Size {
    fn drop(&mut self) {
        self.counted = PROGRAM_MEMORY.set(self.counted, 0);
    }
}

#[derive(Default)]
struct Shard {
    texts: HashMap<Key, Text>,
    bytes: usize,
    lookups: u64,
}

impl Shard {
    /// Removes texts until the rest takes no more than `bytes_max`; how many programs went.
    fn shrink(&mut self, bytes_max: usize) -> u64 {
        let mut evicted = 0;
        while self.bytes > bytes_max {
            let oldest = self.texts.iter().min_by_key(|(_, text)| text.used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            if let Some(text) = self.texts.remove(&key) {
                self.bytes -= text.bytes();
                evicted += text.programs.len() as u64;
            }
        }
        evicted
    }
}

/// The programs of a server.
pub(crate) struct SharedPrograms {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    /// `limpid_plan_cache_size`; 0: no program of a text is kept anywhere.
    bytes_max: SharedAtomic<u64, { class::SESSION }>,
}

impl SharedPrograms {
    pub fn new() -> SharedPrograms {
        SharedPrograms {
            shards: std::array::from_fn(|_| Mutex::new(&PROGRAMS, Shard::default())),
            hasher: RandomState::new(),
            bytes_max: SharedAtomic::new(0),
        }
    }

    /// Whether no programs are kept.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.bytes_max.load(Ordering::Relaxed) == 0
    }

    /// Changes how much memory programs may take, in bytes.
    pub fn set_bytes_max(&self, bytes: u64) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
        for shard in &self.shards {
            shard.lock().shrink(self.shard_bytes_max());
        }
    }

    fn shard_bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed) as usize / SHARDS
    }

    /// Memory that programs take, in bytes, estimated.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().bytes as u64).sum()
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// Programs of a key, the newest first, as far as `fits` agrees.
    pub fn find(&self, key: &Key, fits: impl Fn(&Pinned) -> bool) -> Vec<Arc<SharedProgram>> {
        let mut shard = self.shard(key).lock();
        shard.lookups += 1;
        let now = shard.lookups;
        let Some(text) = shard.texts.get_mut(key) else { return Vec::new() };
        text.used = now;
        let fitting = text.programs.iter().rev().filter(|(_, shared)| fits(&shared.pinned));
        fitting.map(|(_, shared)| Arc::clone(shared)).collect()
    }

    /// Adds a program of a text so long, instead of those that were found stale; how many others had to go.
    pub fn publish(
        &self,
        key: &Key,
        new: SharedProgram,
        text_bytes: usize,
        stale: &[Arc<SharedProgram>],
    ) -> u64 {
        let bytes = key.text.len() + new.pinned.bytes() + new.program.bytes(text_bytes);
        let bytes_max = self.shard_bytes_max();
        let mut guard = self.shard(key).lock();
        let shard = &mut *guard;
        shard.lookups += 1;
        let text = shard
            .texts
            .entry(key.clone())
            .or_insert_with(|| Text { programs: Vec::new(), used: 0 });
        text.used = shard.lookups;
        let before = text.bytes();
        // Somebody else may have made the same one meanwhile.
        let same = |old: &SharedProgram| {
            old.pinned == new.pinned && !old.program.is_measured() && !new.program.is_measured()
        };
        text.programs.retain(|(_, old)| !stale.iter().any(|s| Arc::ptr_eq(s, old)) && !same(old));
        let mut evicted = 0;
        if text.programs.len() == VARIANTS_MAX {
            text.programs.remove(0);
            evicted += 1;
        }
        text.programs.push((Size::new(bytes), Arc::new(new)));
        let after = text.bytes();
        shard.bytes = shard.bytes + after - before;
        evicted + shard.shrink(bytes_max)
    }
}
