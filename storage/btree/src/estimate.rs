//! How many entries a tree has, guessed from a few ways down, and leaves as samples of all.
//!
//! Nothing is latched and nothing shared is written; a race lost is a sample less. Inner nodes are about alike, so the
//! product of the counts on a way down is about the number of entries. Two looks at a tree that has not changed go the
//! same ways.

use crate::Tree;
use crate::descend::{LEVELS_MAX, RESTARTS_MAX, Way, lost_race};
use base::{PAGE_BYTES, PageBuf, Result};
use page::Node;

/// Ways down that are looked at.
const SAMPLES: u32 = 8;

/// Looks at the low and the high fence of a leaf.
type EachLeaf<'f> = dyn FnMut(&[u8], Option<&[u8]>) + 'f;

impl Tree {
    /// About how many entries there are; exact for a tree of one leaf.
    ///
    /// # Errors
    /// Failed reads.
    pub fn estimate_entries(&self) -> Result<u64> {
        let guess = self.sample(&mut |_| Ok(()), None)?;
        Ok(if guess.is_nan() { 1 } else { guess.round() as u64 })
    }

    /// Calls `f` with a few leaves, spread over the tree; returns about how many entries there are.
    ///
    /// # Errors
    /// Failed reads and those of `f`.
    pub fn sample_leaves(&self, f: &mut dyn FnMut(&Node<'_>) -> Result<()>) -> Result<f64> {
        let mut leaf = Box::new([0; PAGE_BYTES]);
        let guess = self.sample(f, Some(&mut leaf))?;
        Ok(if guess.is_nan() { 1.0 } else { guess })
    }

    /// The mean guess of several ways down; no number if every race was lost.
    fn sample(
        &self,
        f: &mut dyn FnMut(&Node<'_>) -> Result<()>,
        mut leaf: Option<&mut PageBuf>,
    ) -> Result<f64> {
        let (mut sum, mut samples) = (0.0, 0u32);
        for number in 0..SAMPLES {
            let way_down = self.sample_one(number, leaf.as_deref_mut())?;
            let Some((entries, levels)) = way_down else { continue };
            if let Some(leaf) = &leaf {
                f(&Node::new(leaf)?)?;
            }
            sum += entries;
            samples += 1;
            if levels == 1 {
                break;
            }
        }
        Ok(sum / f64::from(samples))
    }

    /// The product of the counts on one way down, and the levels; `None` after a lost race. The leaf is
    /// copied.
    fn sample_one(&self, number: u32, leaf: Option<&mut PageBuf>) -> Result<Option<(f64, u8)>> {
        let mut page = self.ts.optimistic(self.root)?;
        let mut entries = 1.0;
        for levels in 1..=LEVELS_MAX {
            let node = page.node();
            let (level, count) = (node.node_level(), node.count());
            // In the middle of the sample's share: the first and last child may be special.
            let slot = (u32::from(count) * (2 * number + 1) / (2 * SAMPLES)) as u16;
            let child = node.child_at(slot);
            if !page.validate() {
                return Ok(None);
            }
            entries *= f64::from(count);
            let Some(level) = level else { return Ok(None) };
            if level == 0 {
                if let Some(leaf) = leaf {
                    node.copy_page(leaf);
                }
                return Ok(page.validate().then_some((entries, levels)));
            }
            let Some(child) = child else {
                return Err(self.corrupt(page.page_no(), "not a node of this level"));
            };
            let next = self.ts.optimistic(child)?;
            if !page.validate() {
                return Ok(None);
            }
            page = next;
        }
        Ok(None)
    }

    /// Calls `f` with the low and the high fence of each leaf in order, read off the level above; stops
    /// after `nodes_max` nodes of that level, or when too many races were lost. Returns whether all
    /// leaves were told.
    ///
    /// # Errors
    /// Failed reads, damage.
    pub fn each_leaf(&self, nodes_max: usize, f: &mut EachLeaf<'_>) -> Result<bool> {
        let mut page = Box::new([0; PAGE_BYTES]);
        let (mut from, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..nodes_max {
            if !self.copy_node::<1>(&from, &mut page)? {
                return Ok(false);
            }
            let node = Node::new(&page)?;
            if node.is_leaf() {
                f(&[], None);
                return Ok(true);
            }
            let end = node.high_fence();
            low.clone_from(&from);
            for slot in 1..node.count() {
                node.copy_key(slot, &mut high)?;
                f(&low, Some(&high));
                std::mem::swap(&mut low, &mut high);
            }
            f(&low, end);
            let Some(end) = end else { return Ok(true) };
            if end <= &from[..] {
                return Err(self.corrupt(self.root, "a node ends before it begins"));
            }
            from = end.to_vec();
        }
        Ok(false)
    }

    /// Copies the leaf that covers a key; `false` after too many lost races.
    ///
    /// # Errors
    /// Failed reads.
    pub fn copy_leaf(&self, key: &[u8], into: &mut PageBuf) -> Result<bool> {
        self.copy_node::<0>(key, into)
    }

    /// Copies the node of `LEVEL`, or the root of a lower tree, that covers a key.
    fn copy_node<const LEVEL: u8>(&self, key: &[u8], into: &mut PageBuf) -> Result<bool> {
        for _ in 0..RESTARTS_MAX {
            if let Some(page) = self.try_descend_to::<LEVEL>(Way::To(key))? {
                page.node().copy_page(into);
                if page.validate() {
                    return Ok(true);
                }
            }
            lost_race();
        }
        Ok(false)
    }
}
