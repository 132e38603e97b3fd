//! Plans of texts that all sessions can take over.
//!
//! 1. Only a session that has no plan of its own for a text looks here: behind a hit lies a copy of the whole
//!    plan, before a miss the making of one, beside which the short mutex of a shard costs nothing. 2. What is
//!    here is immutable; a stale plan is replaced by whoever finds it so. 3. Each shard keeps to its part of
//!    the bytes: what was not looked for longest goes.

use crate::text_plans::{Pinned, VARIANTS_MAX};
use executor::kept::SharedPlan;
use instrument::MutexClass;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

static PLANS: MutexClass = MutexClass::new("wait/synch/mutex/sql/plan_cache");

const SHARDS: usize = 16;

/// A plan, and the literals that it was made for.
pub(crate) struct SharedText {
    pub pinned: Pinned,
    pub plan: SharedPlan,
}

struct Text {
    plans: Vec<(usize, Arc<SharedText>)>,
    /// When it was looked for last, counted in look-ups of the shard.
    used: u64,
}

#[derive(Default)]
struct Shard {
    texts: HashMap<Box<[u8]>, Text>,
    bytes: usize,
    lookups: u64,
}

impl Shard {
    /// Removes texts until the rest takes no more than `bytes_max`; how many plans went.
    fn shrink(&mut self, bytes_max: usize) -> u64 {
        let mut evicted = 0;
        while self.bytes > bytes_max {
            let oldest = self.texts.iter().min_by_key(|(_, text)| text.used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            if let Some(text) = self.texts.remove(&key) {
                self.bytes -= text.plans.iter().map(|(bytes, _)| bytes).sum::<usize>();
                evicted += text.plans.len() as u64;
            }
        }
        evicted
    }
}

/// The plans of a server.
pub(crate) struct SharedPlans {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    /// `limpid_plan_cache_size`; 0: no plan of a text is kept anywhere.
    bytes_max: SharedAtomic<u64, { class::SESSION }>,
}

impl SharedPlans {
    pub fn new() -> SharedPlans {
        SharedPlans {
            shards: std::array::from_fn(|_| Mutex::new(&PLANS, Shard::default())),
            hasher: RandomState::new(),
            bytes_max: SharedAtomic::new(0),
        }
    }

    /// Whether no plans are kept.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.bytes_max.load(Ordering::Relaxed) == 0
    }

    /// Changes how much memory plans may take, in bytes.
    pub fn set_bytes_max(&self, bytes: u64) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
        for shard in &self.shards {
            shard.lock().shrink(self.shard_bytes_max());
        }
    }

    fn shard_bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed) as usize / SHARDS
    }

    /// Memory that plans take, in bytes, estimated.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().bytes as u64).sum()
    }

    fn shard(&self, key: &[u8]) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// Plans of a text, the newest first, as far as `fits` agrees.
    pub fn find(&self, key: &[u8], fits: impl Fn(&Pinned) -> bool) -> Vec<Arc<SharedText>> {
        let mut shard = self.shard(key).lock();
        shard.lookups += 1;
        let now = shard.lookups;
        let Some(text) = shard.texts.get_mut(key) else { return Vec::new() };
        text.used = now;
        let fitting = text.plans.iter().rev().filter(|(_, plan)| fits(&plan.pinned));
        fitting.map(|(_, plan)| Arc::clone(plan)).collect()
    }

    /// Adds a plan of a text so long, instead of those that were found stale; how many others had to go.
    pub fn publish(
        &self,
        key: &[u8],
        plan: SharedText,
        text_bytes: usize,
        stale: &[Arc<SharedText>],
    ) -> u64 {
        let bytes = key.len() + plan.pinned.bytes() + plan.plan.bytes(text_bytes);
        let bytes_max = self.shard_bytes_max();
        let mut guard = self.shard(key).lock();
        let shard = &mut *guard;
        shard.lookups += 1;
        let text =
            shard.texts.entry(key.into()).or_insert_with(|| Text { plans: Vec::new(), used: 0 });
        text.used = shard.lookups;
        let before: usize = text.plans.iter().map(|(bytes, _)| bytes).sum();
        // Somebody else may have made the same one meanwhile.
        let same = |old: &SharedText| {
            old.pinned == plan.pinned && !old.plan.is_measured() && !plan.plan.is_measured()
        };
        text.plans.retain(|(_, old)| !stale.iter().any(|s| Arc::ptr_eq(s, old)) && !same(old));
        let mut evicted = 0;
        if text.plans.len() == VARIANTS_MAX {
            text.plans.remove(0);
            evicted += 1;
        }
        text.plans.push((bytes, Arc::new(plan)));
        let after: usize = text.plans.iter().map(|(bytes, _)| bytes).sum();
        shard.bytes = shard.bytes + after - before;
        evicted + shard.shrink(bytes_max)
    }
}
