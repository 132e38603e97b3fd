//! How many entries a tree has, guessed from a few ways down.
//!
//! 1. Nothing is latched and nothing shared is written; a race lost is a sample less. 2. Inner nodes are
//!    about alike, so the product of the counts on a way down is about the number of entries.

use crate::Tree;
use crate::descend::LEVELS_MAX;
use base::Result;

/// Ways down that are looked at.
const SAMPLES: u32 = 8;

impl Tree {
    /// About how many entries there are; exact for a tree of one leaf.
    ///
    /// # Errors
    /// Failed reads.
    pub fn estimate_entries(&self) -> Result<u64> {
        let (mut sum, mut samples) = (0.0, 0u32);
        for number in 0..SAMPLES {
            let Some((entries, levels)) = self.sample(number)? else { continue };
            sum += entries;
            samples += 1;
            if levels == 1 {
                break;
            }
        }
        Ok(if samples == 0 { 1 } else { (sum / f64::from(samples)).round() as u64 })
    }

    /// The product of the counts on one way down, and the levels; `None` after a lost race.
    fn sample(&self, number: u32) -> Result<Option<(f64, u8)>> {
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
            let (Some(level), true) = (level, count > 0) else {
                return Ok(level.map(|_| (0.0, levels)));
            };
            if level == 0 {
                return Ok(Some((entries, levels)));
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
}
