//! How many entries lie between two keys, guessed from the ways down to both.
//!
//! Nothing is latched and nothing shared is written. The range is measured where the ways part: below, what lies
//! between them is as full as the two nodes on the ways.

use crate::Tree;
use crate::descend::{LEVELS_MAX, RESTARTS_MAX, lost_race};
use base::Result;
use page::RacyNode;

impl Tree {
    /// About how many entries have keys from `low` to below `high` (`None`: to the end); exact where one
    /// leaf or two neighbours hold them. `None`: somebody else changed the tree all the while.
    ///
    /// # Errors
    /// Failed reads.
    pub fn estimate_between(&self, low: &[u8], high: Option<&[u8]>) -> Result<Option<u64>> {
        for _ in 0..RESTARTS_MAX {
            if let Some(entries) = self.try_between(low, high)? {
                return Ok(Some(entries.max(0.0).round() as u64));
            }
            lost_race();
        }
        Ok(None)
    }

    fn try_between(&self, low: &[u8], high: Option<&[u8]>) -> Result<Option<f64>> {
        let (mut left, mut right) =
            (self.ts.optimistic(self.root)?, self.ts.optimistic(self.root)?);
        // Nodes from the left way to the right one on this level; the root itself.
        let mut apart = 0.0;
        for _ in 0..LEVELS_MAX {
            let (from, to) = (place(left.node(), Some(low)), place(right.node(), high));
            if !left.validate() || !right.validate() {
                return Ok(None);
            }
            let (Some(from), Some(to)) = (from, to) else { return Ok(None) };
            let inside = match apart > 0.0 {
                true => {
                    let full = (from.count + to.count) / 2.0;
                    (apart - 1.0) * full + from.count - from.slot + to.slot
                }
                false => to.slot - from.slot,
            };
            let (Some(first), Some(last)) = (from.child, to.child) else {
                return Ok(from.leaf.then_some(inside));
            };
            if inside < 0.0 {
                return Ok(Some(0.0));
            }
            let (next_left, next_right) = (self.ts.optimistic(first)?, self.ts.optimistic(last)?);
            if !left.validate() || !right.validate() {
                return Ok(None);
            }
            (left, right, apart) = (next_left, next_right, inside);
        }
        Ok(None)
    }
}

/// Where a way goes on in a node.
struct Place {
    slot: f64,
    count: f64,
    leaf: bool,
    child: Option<base::PageNo>,
}

/// The first entry of a leaf that is not below `key`, or the child that covers it; without a key the end.
fn place(node: RacyNode<'_>, key: Option<&[u8]>) -> Option<Place> {
    let (leaf, count) = (node.node_level()? == 0, node.count());
    let slot = match key {
        Some(key) => {
            let found = node.search(key)?;
            let over = u16::from(!leaf && !found.exact);
            found.slot.saturating_sub(over)
        }
        None => count.saturating_sub(u16::from(!leaf)),
    };
    let child = if leaf { None } else { Some(node.child_at(slot)?) };
    Some(Place { slot: f64::from(slot), count: f64::from(count), leaf, child })
}

#[cfg(test)]
mod tests {
    use crate::tests::env::{Env, put};

    #[test]
    fn ranges_are_measured_about_right() {
        let env = Env::new(800);
        let worker = env.worker();
        let tree = env.tree(1);
        for k in 0..20_000u32 {
            put(&env, &tree, &worker, &(2 * k).to_be_bytes(), &[7; 300]);
        }
        let key = |n: u32| (2 * n).to_be_bytes();
        let entries = |low: u32, high: Option<u32>| {
            let high = high.map(key);
            tree.estimate_between(&key(low), high.as_ref().map(|h| &h[..])).unwrap().unwrap()
        };
        // In one leaf and across a border: exact; else near.
        for low in [0, 17, 4_711, 19_000] {
            assert_eq!(entries(low, Some(low + 20)), 20);
            assert_eq!(entries(low, Some(low)), 0);
        }
        for (low, high) in [(0, 20_000), (500, 3_000), (1_000, 19_999)] {
            let (found, wanted) =
                (f64::from(entries(low, Some(high)) as u32), f64::from(high - low));
            assert!((found / wanted - 1.0).abs() < 0.2, "{low}..{high}: {found}");
        }
        assert!((entries(10_000, None) as f64 / 10_000.0 - 1.0).abs() < 0.2);
        assert_eq!(entries(300, Some(200)), 0);
    }
}
