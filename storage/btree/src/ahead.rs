//! Reading leaves in a row: the way to the next one, and asking for those after it.
//!
//! The leaves of such a range are read in passing: they push nothing else out of memory. Inner nodes, and the leaves
//! of short ranges, are read as by anybody.
//!
//! 1. Nothing is asked for before a range has gone through three leaves; then twice as many leaves each time, up to
//!    [`WINDOW_MAX`], as long as the range goes on in one direction. Guard: `the_window_grows_while_the_range_goes_on`.
//! 2. Only children of the same parent are asked for, each once, and none beyond the range's end. Guard:
//!    `leaves_are_asked_for_once_and_before_they_are_read`.

use crate::Tree;
use crate::descend::Way;
use base::{PageNo, Result};
use page::RacyNode;
use pool::Optimistic;

/// Leaves that are asked for at most, ahead of the one being read.
const WINDOW_MAX: u32 = 64;

/// Leaves in a row before the first are asked for.
const RUN_MIN: u32 = 2;

/// How far a range has come, and what it has asked for.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Leaves read in this direction since the range was placed, the first one not counted.
    run: u32,
    backward: bool,
    /// Leaves after the current one that were asked for.
    asked: u32,
}

impl Ahead {
    /// The range begins somewhere: no leaf follows another yet.
    pub fn place(&mut self) {
        *self = Ahead::default();
    }

    /// The range goes on to the next leaf.
    pub fn go_on(&mut self, backward: bool) {
        if self.backward != backward {
            *self = Ahead { backward, ..Ahead::default() };
        }
        self.run = self.run.saturating_add(1);
        self.asked = self.asked.saturating_sub(1);
    }

    /// The leaf was come to from the one behind it.
    pub fn is_backward(&self) -> bool {
        self.backward
    }

    /// Leaves that should be on their way.
    fn window(&self) -> u32 {
        match self.run.checked_sub(RUN_MIN) {
            Some(more) => {
                4u32.checked_shl(more).filter(|w| *w != 0).unwrap_or(WINDOW_MAX).min(WINDOW_MAX)
            }
            None => 0,
        }
    }

    /// The children of `parent` to ask for, when the range is at child `slot` and ends at `limit`.
    fn wanted(
        &self,
        parent: RacyNode<'_>,
        slot: u16,
        limit: Option<&[u8]>,
        pages: &mut [PageNo; WINDOW_MAX as usize],
    ) -> usize {
        let (slot, window) = (u32::from(slot), self.window());
        if self.asked > window / 2 || window == 0 {
            return 0;
        }
        let end = limit.and_then(|key| child_slot(parent, key)).map(u32::from);
        let room = match self.backward {
            true => slot.saturating_sub(end.unwrap_or(0)),
            false => end
                .unwrap_or_else(|| u32::from(parent.count()).saturating_sub(1))
                .saturating_sub(slot),
        };
        let mut found = 0;
        for step in self.asked + 1..=window.min(room) {
            let at = if self.backward { slot - step } else { slot + step };
            let Some(child) = parent.child_at(at as u16) else { break };
            pages[found] = child;
            found += 1;
        }
        found
    }
}

/// The slot of the child that covers a key.
fn child_slot(node: RacyNode<'_>, key: &[u8]) -> Option<u16> {
    let found = node.search(key)?;
    Some(if found.exact { found.slot } else { found.slot.saturating_sub(1) })
}

impl Tree {
    /// As [`Tree::try_descend`], for a range that ends at `limit`.
    pub(crate) fn try_descend_in_passing(
        &self,
        way: Way<'_>,
        limit: Option<&[u8]>,
        ahead: &mut Ahead,
    ) -> Result<Option<Optimistic<'_>>> {
        let Some(parent) = self.try_descend_to::<1>(way)? else { return Ok(None) };
        let node = parent.node();
        if node.node_level() != Some(1) {
            // The root is a leaf, or the page has changed, which the caller finds out.
            return Ok(Some(parent));
        }
        let slot = way.racy_slot(node);
        let child = slot.and_then(|slot| node.child_at(slot));
        let mut pages = [PageNo::NONE; WINDOW_MAX as usize];
        let wanted = slot.map_or(0, |slot| ahead.wanted(node, slot, limit, &mut pages));
        if !parent.validate() {
            return Ok(None);
        }
        let Some(child) = child else {
            return Err(self.corrupt(parent.page_no(), "not a node of this level"));
        };
        if wanted > 0 {
            self.ts.prefetch(&pages[..wanted]);
            ahead.asked += wanted as u32;
        }
        let leaf = match ahead.run {
            0..RUN_MIN => self.ts.optimistic(child)?,
            _ => self.ts.optimistic_scan(child)?,
        };
        let level = leaf.node().node_level();
        if !parent.validate() || !leaf.validate() {
            return Ok(None);
        }
        match level {
            Some(0) => Ok(Some(leaf)),
            _ => Err(self.corrupt(child, "not a node of this level")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::env::{Env, put};

    #[test]
    fn the_window_grows_while_the_range_goes_on() {
        let mut ahead = Ahead::default();
        let mut windows = vec![ahead.window()];
        for _ in 0..40 {
            ahead.go_on(false);
            windows.push(ahead.window());
        }
        assert_eq!(windows[..8], [0, 0, 4, 8, 16, 32, 64, 64]);
        assert_eq!(windows[40], 64);
        ahead.asked = 7;
        ahead.go_on(true);
        assert_eq!((ahead.window(), ahead.asked), (0, 0));
        ahead.place();
        assert_eq!(ahead.run, 0);
    }

    /// Every leaf after the first few is asked for once, before it is read, and none beyond the range's end.
    #[test]
    fn leaves_are_asked_for_once_and_before_they_are_read() {
        let env = Env::new(400);
        let worker = env.worker();
        let tree = env.tree(1);
        for k in 0..3000u32 {
            put(&env, &tree, &worker, &k.to_be_bytes(), &[7; 1000]);
        }
        let root = env.ts.optimistic(tree.root).unwrap();
        let node = root.node();
        assert_eq!(node.node_level(), Some(1));
        let children: Vec<_> = (0..node.count()).map(|s| node.child_at(s).unwrap()).collect();
        assert!(children.len() > 150);
        let limit = 2000u32.to_be_bytes();
        let last = child_slot(node, &limit).unwrap();
        for (backward, limit) in
            [(false, None), (true, None), (false, Some(&limit[..])), (true, Some(&limit[..]))]
        {
            let end = if backward {
                limit.map_or(0, |_| last)
            } else {
                limit.map_or(node.count() - 1, |_| last)
            };
            let first = if backward { node.count() - 1 } else { 0 };
            let mut ahead = Ahead::default();
            let mut asked = vec![];
            let mut slot = first;
            while slot != end {
                slot = if backward { slot - 1 } else { slot + 1 };
                ahead.go_on(backward);
                let read = usize::from(slot.abs_diff(first));
                assert!(read < 3 || asked.contains(&children[usize::from(slot)]), "slot {slot}");
                let mut pages = [PageNo::NONE; WINDOW_MAX as usize];
                let n = ahead.wanted(node, slot, limit, &mut pages);
                ahead.asked += n as u32;
                asked.extend_from_slice(&pages[..n]);
            }
            let mut want = match backward {
                true => children[usize::from(end)..usize::from(first) - 2].to_vec(),
                false => children[3..=usize::from(end)].to_vec(),
            };
            if backward {
                want.reverse();
            }
            assert_eq!(asked, want, "{backward} {limit:?}");
        }
    }
}
