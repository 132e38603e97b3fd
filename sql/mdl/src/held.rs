//! A caller's list of its own grants: what one transaction, statement or LOCK TABLES holds.

use crate::mode::{Mode, Modes};
use crate::object::{Id, Object};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Grants in the order they were taken. Reuse the list: it then allocates nothing.
///
/// It holds no handles: [`crate::Mdl::release_all`] finds the objects by number.
///
/// 1. Beyond [`WALKED_MAX`] grants there is an index of the modes of each object, so that nobody walks a long list.
/// 2. `seen` has the bit of each object in the list, and may have others: an object without it has no grant here.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Held {
    words: Vec<u64>,
    seen: u64,
    index: HashMap<Id, Modes, BuildHasherDefault<Spread>>,
}

/// Grants that are looked through one by one.
const WALKED_MAX: usize = 16;

/// Whether a grant makes one of `mode` of the same object needless.
fn suffices(word: u64, mode: Mode) -> bool {
    let Some((id, has)) = Id::of_grant(word) else { return false };
    has == mode || has.covers(mode, id.namespace())
}

/// The bit of an object in [`Held::seen`].
#[inline]
fn bit_of(id: Id) -> u64 {
    1 << (id.number() % u64::from(u64::BITS))
}

/// Objects have numbers of their own: they need to be spread, not to be hashed.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Held {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a grant in the list makes one of `mode` needless.
    #[inline]
    #[must_use]
    pub fn covers(&self, object: &Object, mode: Mode) -> bool {
        self.covers_id(object.id(), mode)
    }

    #[inline]
    pub(crate) fn covers_id(&self, id: Id, mode: Mode) -> bool {
        self.seen & bit_of(id) != 0 && self.has(id, mode)
    }

    fn has(&self, id: Id, mode: Mode) -> bool {
        if self.words.len() > WALKED_MAX {
            return self.indexed(id, mode);
        }
        self.words.iter().any(|&w| id.is_of(w) && suffices(w, mode))
    }

    #[cold]
    fn indexed(&self, id: Id, mode: Mode) -> bool {
        let Some(&has) = self.index.get(&id) else { return false };
        let each = || Mode::ALL.into_iter().filter(|m| m.bit() & has != 0);
        has & mode.bit() != 0 || each().any(|m| m.covers(mode, id.namespace()))
    }

    /// Makes the index what the list says.
    #[cold]
    fn index_anew(&mut self) {
        self.index.clear();
        if self.words.len() > WALKED_MAX {
            for (id, mode) in self.words.iter().filter_map(|&w| Id::of_grant(w)) {
                *self.index.entry(id).or_default() |= mode.bit();
            }
        }
    }

    /// The place to go back to with [`crate::Mdl::release_since`].
    #[inline]
    #[must_use]
    pub fn mark(&self) -> usize {
        self.words.len()
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// After [`crate::Mdl::downgrade`]: the last grant of `from` is one of `to` now.
    pub fn downgraded(&mut self, object: &Object, from: Mode, to: Mode) {
        let (old, new) = (object.id().grant(from), object.id().grant(to));
        if let Some(word) = self.words.iter_mut().rfind(|w| **w == old) {
            *word = new;
            self.index_anew();
        }
    }

    /// Takes a grant out of the list, which the caller keeps or gives back by itself; whether it was there.
    pub fn forget(&mut self, object: &Object, mode: Mode) -> bool {
        let word = object.id().grant(mode);
        let at = self.words.iter().rposition(|w| *w == word);
        at.map(|at| self.words.remove(at)).is_some_and(|_| {
            self.index_anew();
            true
        })
    }

    /// Takes grants of several objects out of the list, one of each object, as [`Self::forget`] does; the objects whose grants
    /// were there.
    pub fn forget_all(&mut self, objects: Vec<Arc<Object>>, mode: Mode) -> Vec<Arc<Object>> {
        let mut left: HashSet<u64> = objects.iter().map(|o| o.id().grant(mode)).collect();
        // The last one of each goes.
        let mut kept: Vec<u64> = self.words.drain(..).rev().filter(|w| !left.remove(w)).collect();
        kept.reverse();
        self.words = kept;
        self.index_anew();
        objects.into_iter().filter(|o| !left.contains(&o.id().grant(mode))).collect()
    }

    /// Adds a grant that the session has.
    pub fn note(&mut self, object: &Object, mode: Mode) {
        self.push(object.id().grant(mode));
    }

    #[inline]
    pub(crate) fn push(&mut self, word: u64) {
        self.seen |= bit_of(Id::in_grant(word));
        self.words.push(word);
        if self.words.len() > WALKED_MAX {
            self.index_last();
        }
    }

    #[cold]
    fn index_last(&mut self) {
        if self.index.is_empty() {
            self.index_anew();
        } else if let Some((id, mode)) = self.words.last().and_then(|&w| Id::of_grant(w)) {
            *self.index.entry(id).or_default() |= mode.bit();
        }
    }

    /// The grants noted after `mark` was taken.
    #[inline]
    pub(crate) fn since(&self, mark: usize) -> &[u64] {
        self.words.get(mark..).unwrap_or(&[])
    }

    /// Forgets them.
    #[inline]
    pub(crate) fn shorten(&mut self, mark: usize) {
        self.words.truncate(mark);
        if mark == 0 {
            self.seen = 0;
        }
        if !self.index.is_empty() {
            self.index_anew();
        }
    }
}
