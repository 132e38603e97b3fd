//! Where a range that is read with locks is.
//!
//! 1. [`Place`] changes here alone, and the spot is looked at only where that says [`Place::At`] (or, before a range that
//!    is read backwards, behind it). Guard: `Walk::entry` asserts it.
//! 2. Nothing before the entry passed last is come to again, whatever was waited for meanwhile. Guard: `Walk::note_passed`
//!    asserts that keys go the range's way.
//! 3. A range ends without a lock behind it only if its spot is current then. Guard:
//!    `a_phantom_does_not_come_into_a_locked_range` of this crate's `--test locks`; no test makes the race itself.

use super::Ask;
use crate::row::RowHeader;
use crate::scan::Direction;
use base::Result;
use btree::{Spot, Tree};
use std::ops::Bound;

/// How far a range is.
#[derive(Default)]
enum Place {
    /// Nothing of it is locked, the gap behind it neither.
    #[default]
    Unopened,
    /// What is to be dealt with next is looked for: the first entry after the one passed last, or the first of all.
    Lost,
    /// This entry was waited for, without gap locks: it is next, or what follows it. What came in before it meanwhile is
    /// not looked at, as in InnoDB, whose cursor stays where it waits.
    Waited(Vec<u8>),
    /// The spot stands on what is to be dealt with next, or behind the last entry of the index.
    At,
    /// There is nothing more.
    Done,
}

/// What is copied to go on from an entry.
#[derive(Default, PartialEq, Eq)]
enum Copies {
    #[default]
    Leaves,
    /// The rows that are answered are changed before the next one is asked for, so that a copied leaf would be old by
    /// then: entries are copied one by one.
    Entries,
}

/// The way along a range; its memory is used again by the next one.
#[derive(Default)]
pub(crate) struct Walk {
    place: Place,
    spot: Spot,
    /// The entry that was dealt with last; empty (as no entry is): none.
    passed: Vec<u8>,
    copies: Copies,
}

impl Walk {
    /// Another range begins.
    pub fn begin(&mut self, empty: bool) {
        self.place = if empty { Place::Done } else { Place::Unopened };
        self.passed.clear();
        self.copies = Copies::Leaves;
    }

    #[inline]
    pub fn is_done(&self) -> bool {
        matches!(self.place, Place::Done)
    }

    #[inline]
    pub fn is_unopened(&self) -> bool {
        matches!(self.place, Place::Unopened)
    }

    /// Whether the spot stands on what is to be dealt with next.
    #[inline]
    pub fn is_at(&self) -> bool {
        matches!(self.place, Place::At)
    }

    /// What the spot stands on: key and payload; `None` behind the last entry.
    #[inline]
    pub fn entry(&self) -> Result<Option<(&[u8], &[u8])>> {
        debug_assert!(self.is_at() || self.is_unopened(), "a spot that is not to be used");
        self.spot.entry()
    }

    /// The entry that was dealt with last; empty: none.
    #[inline]
    pub fn passed(&self) -> &[u8] {
        &self.passed
    }

    /// Whether rows are changed behind the walk's back, so that it goes from entry to entry.
    #[inline]
    pub fn goes_by_entries(&self) -> bool {
        self.copies == Copies::Entries
    }

    /// As [`Spot::is_current`].
    #[inline]
    pub fn is_current(&self, tree: &Tree) -> Result<bool> {
        self.spot.is_current(tree)
    }

    /// As [`Spot::leaf_is_below`].
    pub fn leaf_is_below(&self, key: &[u8]) -> Result<bool> {
        self.spot.leaf_is_below(key)
    }

    /// Looks, forwards and in the clustered index, whether the leaf has changed since its row was answered; if so, its
    /// copy is not asked for a lock in vain.
    pub fn look_back(&mut self, tree: &Tree) -> Result<()> {
        if self.passed.is_empty() {
            return Ok(());
        }
        self.copies = Copies::Leaves;
        if !self.spot.seems_current(tree)? {
            self.copies = Copies::Entries;
            if self.is_at() {
                self.place = Place::Lost;
            }
        }
        Ok(())
    }

    /// Goes to what is to be dealt with next. (A range that is read backwards is entered by [`Self::seek_behind`] and
    /// [`Self::go_back`].)
    pub fn find(&mut self, tree: &Tree, ask: &Ask) -> Result<()> {
        match (std::mem::replace(&mut self.place, Place::At), ask.direction) {
            (Place::At, _) => Ok(()),
            (Place::Done, _) => {
                self.place = Place::Done;
                Ok(())
            }
            (Place::Waited(key), direction) => {
                self.spot.seek(tree, Bound::Included(&key))?;
                let there = self.spot.entry()?.is_some_and(|(entry, _)| entry == key);
                if there || direction == Direction::Forward { Ok(()) } else { self.go_back(tree) }
            }
            (Place::Unopened | Place::Lost, Direction::Forward) => self.seek_next(tree, ask),
            (Place::Unopened | Place::Lost, Direction::Backward) => {
                self.seek_behind(tree, ask)?;
                self.go_back(tree)
            }
        }
    }

    fn seek_next(&mut self, tree: &Tree, ask: &Ask) -> Result<()> {
        if self.passed.is_empty() {
            return self.spot.seek(tree, Bound::Included(&ask.low));
        }
        if self.goes_by_entries() {
            self.spot.seek_alone(tree, &self.passed)?;
            let row = self.spot.entry()?.map(|(_, payload)| RowHeader::read(payload));
            if !row.transpose()?.is_some_and(|h| h.deleted()) {
                return Ok(());
            }
            // Others like it may follow, and be passed over in their leaf.
        }
        self.spot.seek(tree, Bound::Excluded(&self.passed))
    }

    /// Goes to the entry passed last, or behind a range that is read backwards.
    pub fn seek_behind(&mut self, tree: &Tree, ask: &Ask) -> Result<()> {
        match (&self.passed[..], &ask.high) {
            ([], high) if high.open => self.spot.seek_end(tree),
            ([], high) => self.spot.seek(tree, Bound::Included(&high.key)),
            (passed, _) => self.spot.seek(tree, Bound::Included(passed)),
        }
    }

    /// Goes to the entry before the spot.
    pub fn go_back(&mut self, tree: &Tree) -> Result<()> {
        self.place = if self.spot.prev(tree)? { Place::At } else { Place::Done };
        Ok(())
    }

    /// What the spot stands on is dealt with.
    #[inline]
    pub fn pass(&mut self, tree: &Tree, direction: Direction, entry: &[u8]) -> Result<()> {
        self.note_passed(direction, entry);
        match direction {
            Direction::Forward => self.spot.next(tree),
            Direction::Backward if self.spot.prev(tree)? => Ok(()),
            Direction::Backward => self.end_unlocked(tree),
        }
    }

    /// Forwards: what the spot stands on is dealt with, and what follows it in its leaf as long as `pass` says yes to
    /// payloads.
    pub fn pass_while(&mut self, tree: &Tree, pass: impl Fn(&[u8]) -> bool) -> Result<()> {
        self.spot.next_while(tree, &mut self.passed, pass)
    }

    /// The entry is dealt with; what follows it is looked for when it is asked for.
    pub fn leave(&mut self, direction: Direction, entry: &[u8]) {
        self.note_passed(direction, entry);
        self.place = Place::Lost;
    }

    #[inline]
    fn note_passed(&mut self, direction: Direction, entry: &[u8]) {
        let on = match direction {
            Direction::Forward => *entry > self.passed[..],
            Direction::Backward => self.passed.is_empty() || *entry < self.passed[..],
        };
        debug_assert!(on, "a range goes its way");
        self.passed.clear();
        self.passed.extend_from_slice(entry);
    }

    /// The spot's leaf has changed.
    pub fn lose(&mut self) {
        if !self.is_unopened() {
            self.place = Place::Lost;
        }
    }

    /// The entry that the spot stands on was waited for, without gap locks.
    pub fn lose_at(&mut self, entry: &[u8]) {
        self.place = Place::Waited(entry.to_vec());
    }

    /// Ends a range without a lock behind it, unless something may have come in while its last row was waited
    /// for: then it is looked at again.
    pub fn end_unlocked(&mut self, tree: &Tree) -> Result<()> {
        self.place = if self.spot.is_current(tree)? { Place::Done } else { Place::Lost };
        Ok(())
    }

    /// There is nothing more.
    pub fn finish(&mut self) {
        self.place = Place::Done;
    }
}
