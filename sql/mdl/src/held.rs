//! A caller's list of its own grants: what one transaction, statement or LOCK TABLES holds.

use crate::mode::Mode;
use crate::object::{Id, Object};

/// Grants in the order they were taken. Reuse the list: it then allocates nothing.
///
/// It holds no handles: [`crate::Mdl::release_all`] finds the objects by number.
#[derive(Debug, Default)]
pub struct Held {
    words: Vec<u64>,
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
        let id = object.id();
        self.words
            .iter()
            .filter_map(|&w| Id::of_grant(w))
            .any(|(held, has)| held == id && (has == mode || has.covers(mode, id.namespace())))
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
        }
    }

    /// Takes a grant out of the list, which the caller keeps or gives back by itself; whether it was there.
    pub fn forget(&mut self, object: &Object, mode: Mode) -> bool {
        let word = object.id().grant(mode);
        let at = self.words.iter().rposition(|w| *w == word);
        at.map(|at| self.words.remove(at)).is_some()
    }

    /// Adds a grant that the session has.
    pub fn note(&mut self, object: &Object, mode: Mode) {
        self.push(object.id().grant(mode));
    }

    #[inline]
    pub(crate) fn push(&mut self, word: u64) {
        self.words.push(word);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u64> {
        self.words.pop()
    }
}
