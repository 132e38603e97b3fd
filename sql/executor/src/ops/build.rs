//! From plan nodes to operators.

use super::batch::{Batches, Source};
use super::block::Block;
use super::cells::Cells;
use super::derived::{Derived, Keep, Leaf, Project, Shared, Values, Working};
use super::ends::Ends;
use super::filter::{Filter, Limit, Nothing, One};
use super::group::SortedGroup;
use super::hash_group::{HashGroup, Input};
use super::hash_join::{HashJoin, State};
use super::join::NestedLoop;
use super::json_table::JsonTable;
use super::keys::Rule;
use super::loose::ReadGroups;
use super::measure::Measured;
use super::merge::ReadMerged;
use super::pack::Packer;
use super::read::{ReadTable, ReadVirtual};
use super::recursive::{Recursive, Unique, goes_on};
use super::sets::{Distinct, Seen, SetLeaf, SetOp};
use super::sort::Sort;
use super::tally;
use super::window::Windows;
use super::{Operator, Statement};
use crate::SqlError;
use expr::{Expr, Frame, Typed};
use planner::plan::SortKey;
use planner::query_plan::{Group, GroupStrategy, LeafLayout, Node, QueryPlan, Read, ReadAccess};
use std::cell::Cell;
use value::ColumnType;

/// What operators of a block are made with.
struct Builder<'b, 'p> {
    plan: &'p QueryPlan,
    frame: &'b Frame,
    st: &'b Statement<'b>,
    /// Sorts keep all rows.
    unlimited: bool,
    /// Temporary tables that the operators are.
    temporary: Cell<u64>,
}

/// The operator of a node, and how many temporary tables those of it are; `again`: it may be opened more than once in a
/// statement; `unlimited`: sorts keep all rows.
///
/// # Errors
/// 1235 for what cannot run yet.
pub fn build<'p>(
    node: &'p Node,
    plan: &'p QueryPlan,
    frame: &Frame,
    st: &Statement<'_>,
    (again, unlimited): (bool, bool),
) -> Result<(Box<dyn Operator + 'p>, u64), SqlError> {
    let builder = Builder { plan, frame, st, unlimited, temporary: Cell::new(0) };
    let root = builder.node(node, again)?;
    Ok((root, builder.temporary.get()))
}

impl<'p> Builder<'_, 'p> {
    fn packer(&self, leaves: &[u16]) -> Packer {
        Packer::new(leaves, &self.plan.leaves, self.frame)
    }

    fn block(&self, plan: &'p QueryPlan, again: bool) -> Result<Block<'p>, SqlError> {
        let mut block = Block::new(plan, self.st, again)?;
        self.temporary.set(self.temporary.get() + block.take_temporary());
        Ok(block)
    }

    fn blocks(&self, plans: &'p [QueryPlan], again: bool) -> Result<Vec<Block<'p>>, SqlError> {
        plans.iter().map(|plan| self.block(plan, again)).collect()
    }

    fn set_leaf(&self, leaf: u16) -> SetLeaf {
        let types: &[ColumnType] = match &self.plan.leaves[usize::from(leaf)].layout {
            LeafLayout::Made(types) => types,
            _ => &[],
        };
        SetLeaf::new(leaf, types, self.frame)
    }

    fn node(&self, node: &'p Node, again: bool) -> Result<Box<dyn Operator + 'p>, SqlError> {
        let operator = self.operator(node, again)?;
        self.count_temporary(node);
        Ok(match &self.st.measures {
            Some(_) => Box::new(Measured::new(operator, node)),
            None => operator,
        })
    }

    fn count_temporary(&self, node: &Node) {
        self.temporary.set(self.temporary.get() + u64::from(tally::is_temporary(node)));
    }

    fn operator(&self, node: &'p Node, again: bool) -> Result<Box<dyn Operator + 'p>, SqlError> {
        let frame = self.frame;
        Ok(match node {
            Node::Join { .. } | Node::HashJoin { .. } => self.join(node, again)?,
            Node::SetOp { .. } | Node::Recursive { .. } => self.set(node, again)?,
            Node::Group(group) => self.group(group, again)?,
            Node::Filter { input, filter } => {
                Box::new(Filter { input: self.node(input, again)?, filter })
            }
            Node::Limit { input, skip, count } => Box::new(Limit {
                input: self.node(input, again)?,
                skip,
                count,
                to_skip: 0,
                left: 0,
            }),
            Node::Sort { input, keys, limit } => {
                let limit = limit.as_ref().filter(|_| !self.unlimited);
                let (source, distinct) = self.sorted(input, keys);
                let packer = self.packer(&source.leaves());
                let input = (self.node(source, again)?, source);
                Box::new(Sort::new(input, (keys, distinct), limit, packer))
            }
            Node::Project { input, leaf, values } => Box::new(Project {
                leaf: Leaf::new(*leaf, None, frame),
                input: self.node(input, again)?,
                values,
                cells: Cells::default(),
            }),
            Node::Distinct { input, keys, sorted } => Box::new(Distinct {
                sorted: *sorted,
                packer: self.packer(&input.leaves()),
                input: self.node(input, again)?,
                keys,
                seen: Seen::default(),
                part: None,
                ended: false,
                key: Vec::new(),
                last: None,
                row: Vec::new(),
            }),
            Node::Window(window) => {
                let input = self.node(&window.input, again)?;
                let packer = self.packer(&window.input.leaves());
                Box::new(Windows::new(window, input, packer, frame))
            }
            source => self.source(source, again)?,
        })
    }

    /// What a sort takes its rows from, and whether one row of each key is all that it gives: it does the work of a DISTINCT
    /// of the same columns.
    fn sorted(&self, input: &'p Node, keys: &[SortKey]) -> (&'p Node, bool) {
        let Node::Distinct { input: all, keys: distinct, sorted: false } = input else {
            return (input, false);
        };
        let is_column = |key: &SortKey| matches!(key.value.expr, Expr::Column(c) if c.depth == 0);
        let same = |a: &Typed, b: &Typed| a.expr == b.expr && Rule::of(&a.ty) == Rule::of(&b.ty);
        let is_sorted = |d: &Typed| keys.iter().any(|key| same(&key.value, d));
        let is_distinct = |key: &SortKey| distinct.iter().any(|d| same(&key.value, d));
        let merges = self.st.measures.is_none()
            && keys.iter().all(|key| is_column(key) && is_distinct(key))
            && distinct.iter().all(is_sorted);
        if merges {
            // It still is what MySQL has a temporary table for.
            self.count_temporary(input);
        }
        if merges { (all, true) } else { (input, false) }
    }

    /// What fills a leaf without looking at other leaves of its block.
    fn source(&self, node: &'p Node, again: bool) -> Result<Box<dyn Operator + 'p>, SqlError> {
        let frame = self.frame;
        Ok(match node {
            Node::One => Box::new(One { left: false }),
            Node::Nothing { .. } => Box::new(Nothing),
            Node::Read(read) => {
                let leaf = &self.plan.leaves[usize::from(read.leaf)];
                match &read.access {
                    ReadAccess::Merge(merge) => {
                        Box::new(ReadMerged::new((read, merge), leaf, frame))
                    }
                    ReadAccess::Groups(scan) => {
                        Box::new(ReadGroups::new((read, scan), leaf, frame))
                    }
                    _ => Box::new(self.read(read)),
                }
            }
            Node::Virtual { leaf, table, filter } => {
                Box::new(ReadVirtual::new(*leaf, table, filter.as_ref(), frame))
            }
            Node::Derived { leaf, query, lateral, filter } => {
                Box::new(self.derived((*leaf, query, *lateral), filter.as_ref(), again)?)
            }
            Node::Shared { leaf, shared, filter, .. } => Box::new(Shared {
                leaf: Leaf::new(*leaf, filter.as_ref(), frame),
                shared: *shared,
                at: 0,
            }),
            Node::Working { leaf, recursion, filter, .. } => Box::new(Working {
                leaf: Leaf::new(*leaf, filter.as_ref(), frame),
                recursion: *recursion,
            }),
            Node::Values { leaf, rows } => Box::new(Values {
                leaf: Leaf::new(*leaf, None, frame),
                rows,
                at: 0,
                cells: Cells::default(),
            }),
            Node::JsonTable { leaf, document, columns } => Box::new(JsonTable {
                leaf: Leaf::new(*leaf, None, frame),
                document,
                columns,
                rows: None,
                at: 0,
                cells: Cells::default(),
            }),
            _ => return Err(super::internal("not a source of rows")),
        })
    }

    fn group(&self, group: &'p Group, again: bool) -> Result<Box<dyn Operator + 'p>, SqlError> {
        if !group.ends.is_empty() {
            let reads = group.ends.iter().map(|read| self.read(read));
            return Ok(Box::new(Ends::new(group, reads.collect(), self.frame)));
        }
        let input = match self.group_input(group, again)? {
            Input::Rows(input) if group.strategy == GroupStrategy::Sorted => {
                return Ok(Box::new(SortedGroup::new(group, input, self.frame)));
            }
            input => input,
        };
        let packer = self.packer(&group.input.leaves());
        Ok(Box::new(HashGroup::new(group, input, packer, self.frame)))
    }

    fn read(&self, read: &'p Read) -> ReadTable<'p> {
        let leaf = &self.plan.leaves[usize::from(read.leaf)];
        ReadTable::new(read, leaf, self.st, self.frame)
    }

    /// The rows of a group: in batches over a table or a nested query. Where operators are measured each stands for itself.
    fn group_input(&self, group: &'p Group, again: bool) -> Result<Input<'p>, SqlError> {
        let source = match &group.input {
            Node::Read(read)
                if self.st.lock_of(read).is_none()
                    && self.st.measures.is_none()
                    && !matches!(read.access, ReadAccess::Merge(_) | ReadAccess::Groups(_)) =>
            {
                let leaf = &self.plan.leaves[usize::from(read.leaf)];
                (!leaf.keyed).then(|| Source::Table(Box::new(self.read(read))))
            }
            Node::Derived { leaf, query, lateral, filter }
                if self.st.measures.is_none() && group.strategy != GroupStrategy::Sorted =>
            {
                self.count_temporary(&group.input);
                let derived = self.derived((*leaf, query, *lateral), filter.as_ref(), again)?;
                Some(Source::Derived(Box::new(derived)))
            }
            _ => None,
        };
        let Some(source) = source else { return self.node(&group.input, again).map(Input::Rows) };
        Ok(match Batches::new(group, source, self.st.params) {
            Ok(batches) => Input::Batches(Box::new(batches)),
            Err(source) => Input::Rows(source.into_operator()),
        })
    }

    fn derived(
        &self,
        (leaf, query, lateral): (u16, &'p QueryPlan, bool),
        filter: Option<&'p Expr>,
        again: bool,
    ) -> Result<Derived<'p>, SqlError> {
        Ok(Derived {
            leaf: Leaf::new(leaf, filter, self.frame),
            block: self.block(query, again)?,
            keep: Keep::of(query, again && !lateral && query.outer_depth == 0),
            rows: None,
            at: 0,
            cells: Cells::default(),
            row: Vec::new(),
        })
    }

    fn join(&self, node: &'p Node, again: bool) -> Result<Box<dyn Operator + 'p>, SqlError> {
        Ok(match node {
            Node::Join { kind, outer, inner, on } => Box::new(NestedLoop {
                kind: *kind,
                outer: self.node(outer, again)?,
                inner: self.node(inner, true)?,
                on: on.as_ref(),
                inner_leaves: inner.leaves(),
                row: None,
            }),
            Node::HashJoin { kind, probe, build, keys, on } => Box::new(HashJoin {
                kind: *kind,
                probe_packer: self.packer(&probe.leaves()),
                build_packer: self.packer(&build.leaves()),
                probe: self.node(probe, again)?,
                build: self.node(build, again)?,
                keys,
                on: on.as_ref(),
                state: State::default(),
            }),
            _ => return Err(super::internal("not a join")),
        })
    }

    fn set(&self, node: &'p Node, again: bool) -> Result<Box<dyn Operator + 'p>, SqlError> {
        Ok(match node {
            Node::SetOp { leaf, op, all, inputs } => Box::new(SetOp {
                leaf: self.set_leaf(*leaf),
                op: *op,
                all: *all,
                inputs: self.blocks(inputs, again)?,
                at: 0,
                seen: Seen::default(),
                part: None,
                counts: Vec::new(),
                first: None,
            }),
            Node::Recursive { leaf, recursion, seeds, steps, distinct, columns } => {
                Box::new(Recursive {
                    leaf: self.set_leaf(*leaf),
                    recursion: *recursion,
                    seeds: self.blocks(seeds, again)?,
                    steps: self
                        .blocks(steps, true)?
                        .into_iter()
                        .zip(steps.iter().map(goes_on))
                        .collect(),
                    opened: false,
                    unique: distinct.then(Unique::default),
                    name: &self.plan.leaves[usize::from(*leaf)].name,
                    columns,
                    rows: None,
                    at: 0,
                    rounds: 0,
                    rounds_max: 0,
                })
            }
            _ => return Err(super::internal("not a set operation")),
        })
    }
}
