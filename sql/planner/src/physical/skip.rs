//! Ranges of an index whose first parts are not asked for, looked up for each of their values: MySQL's skip scan.
//!
//! 1. It is used where MySQL does: one table that would be read as a whole, and an index that has all that is needed.
//! 2. Rows come in the order of the index.

use super::access::{Choice, ENTRY_COST, FETCH_COST, OPEN_COST, Target};
use super::loose::WAY_COST;
use super::{Leaves, Planner, order};
use crate::logical::conjuncts;
use crate::query_plan::{
    Estimate, GroupProbe, GroupPurpose, GroupScan, KeyRange, LastPart, Node, Read, ReadAccess,
};
use catalog::IndexDef;
use expr::tree::Expr;

impl Planner<'_> {
    /// Makes a read of a whole table one of ranges behind the first parts of an index, if that is cheaper.
    pub(super) fn skipping(&self, node: &mut Node, leaves: &mut Leaves) {
        let Node::Read(read) = node else { return };
        let source = &leaves.list[usize::from(read.leaf)];
        let locks = read.lock.is_some() || self.locks || !leaves.targets.is_empty();
        let whole = matches!(read.access, ReadAccess::Index(_));
        let (true, false, true, Some(filter)) =
            (leaves.list.len() == 1, locks, whole, &read.filter)
        else {
            return;
        };
        let mut conds = Vec::new();
        conjuncts(filter.clone(), &mut conds);
        let conds: Vec<(usize, &Expr)> = conds.iter().enumerate().collect();
        let def = self.tables.def(read.table);
        let target = Target::new((read.leaf, read.table), self.tables, leaves);
        let allowed = |i: &IndexDef| !i.attributes.invisible && source.hints.join.allows(&i.name);
        let indexes = def.indexes.iter().enumerate().filter(|(_, index)| allowed(index));
        let ways = indexes.filter_map(|(position, index)| {
            let scan = scan(&target, (position, index), &conds)?;
            let covers = leaves.covers(read.leaf, def, index);
            Some(self.skip_choice(read, position, scan, covers))
        });
        let best = ways.min_by(|a, b| a.cost.total_cmp(&b.cost));
        let Some(choice) = best.filter(|choice| choice.cost < read.estimate.cost) else { return };
        if let ReadAccess::Groups(scan) = &choice.access {
            // The values of the first parts tell where the next group begins.
            let index = &def.indexes[scan.index - usize::from(def.clustered().is_none())];
            let first = order::parts(def, index).into_iter().take(scan.parts);
            leaves.needed[usize::from(read.leaf)].extend(first.map(|(column, _)| column));
        }
        read.estimate = Estimate { rows: choice.rows, cost: choice.cost, filtered: 1.0 };
        (read.access, read.covering) = (choice.access, choice.covering);
    }

    fn skip_choice(&self, read: &Read, position: usize, scan: GroupScan, covering: bool) -> Choice {
        let groups = self.statistics.distinct(read.table, position, scan.parts);
        let rows = (read.estimate.rows * read.estimate.filtered).floor().max(1.0);
        let per_row = if covering { ENTRY_COST } else { FETCH_COST };
        let cost = OPEN_COST + groups * (2.0 * WAY_COST + per_row) + rows * per_row;
        let access = ReadAccess::Groups(Box::new(scan));
        Choice { access, rows, cost, covering, used: Vec::new() }
    }
}

/// How an index is read for conditions on parts behind its first ones.
fn scan(
    target: &Target<'_>,
    (position, index): (usize, &IndexDef),
    conds: &[(usize, &Expr)],
) -> Option<GroupScan> {
    let columns: Vec<usize> =
        order::parts(target.def, index).iter().map(|(column, _)| *column).collect();
    let parts = columns.iter().take_while(|column| target.is_free(**column, conds)).count();
    if parts == 0 || parts == columns.len() || !target.has_all(index) {
        return None;
    }
    let mut range = KeyRange { equal: Vec::new(), last: LastPart::Any };
    for column in &columns[parts..] {
        if let Some((value, _)) = target.equality(*column, conds) {
            range.equal.push(value);
            continue;
        }
        if let Some((last, _)) = target.bounds(*column, conds) {
            range.last = last;
        }
        break;
    }
    let asked = !range.equal.is_empty() || range.last != LastPart::Any;
    let hidden = usize::from(target.def.clustered().is_none());
    asked.then(|| GroupScan {
        index: position + hidden,
        parts,
        ranges: Vec::new(),
        first: false,
        probes: vec![GroupProbe { range, last: false }],
        purpose: GroupPurpose::Rows,
    })
}
