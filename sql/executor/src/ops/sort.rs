//! ORDER BY, and DISTINCT of the same values.
//!
//! 1. Rows of one leaf whose keys are columns of it come and go as they are stored ([`super::stored`]); others are packed out
//!    of the frame and unpacked into it.

use super::filter::limit_value;
use super::keys::Rule;
use super::pack::Packer;
use super::sort_keys::StoredKeys;
use super::sorter::Sorter;
use super::stored::{StoredLeaf, TakeRow, pass_each};
use super::{Operator, Run, tally, trim};
use crate::SqlError;
use expr::{Expr, Frame};
use planner::plan::SortKey;
use planner::query_plan::Node;
use std::sync::Arc;

/// Appends the keys of the frame's row.
///
/// # Errors
/// Those of evaluating them.
pub fn append_sort_keys(
    keys: &[SortKey],
    run: &mut Run<'_>,
    frame: &Frame,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    for key in keys {
        let value = run.eval(&key.value.expr, frame)?;
        Rule::of(&key.value.ty).append(&value.get(), key.descending, out);
    }
    Ok(())
}

/// Rows in order.
pub struct Sort<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [SortKey],
    limit: Option<&'p (Expr, Expr)>,
    /// Where its rows come from.
    source: &'p Node,
    packer: Packer,
    /// All keys are stored columns of the only leaf.
    stored_keys: Option<Arc<StoredKeys>>,
    /// One row of each key.
    distinct: bool,
    sorter: Option<Sorter>,
    /// The rows have come as they are stored.
    passes: bool,
    key: Vec<u8>,
    row: Vec<u8>,
}

impl<'p> Sort<'p> {
    /// The rows of `input`, which is `source`, by `keys`; with `distinct` one row of each key.
    pub fn new(
        (input, source): (Box<dyn Operator + 'p>, &'p Node),
        (keys, distinct): (&'p [SortKey], bool),
        limit: Option<&'p (Expr, Expr)>,
        packer: Packer,
    ) -> Sort<'p> {
        let stored_keys = packer
            .stored_leaf()
            .and_then(|(leaf, full, packed)| StoredKeys::new(keys, leaf, full, packed));
        let stored_keys = stored_keys.map(Arc::new);
        Sort {
            input,
            keys,
            limit,
            source,
            packer,
            stored_keys,
            distinct,
            sorter: None,
            passes: false,
            key: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Adds all rows of the input; answers how many that were.
    fn take_all(
        &mut self,
        sorter: &mut Sorter,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<u64, SqlError> {
        let mut rows = 0;
        while self.input.next(run, frame)? {
            run.tick()?;
            rows += 1;
            let (st, keys, packer) = (run.st, self.keys, &self.packer);
            let make_key = |out: &mut Vec<u8>| append_sort_keys(keys, run, frame, out);
            sorter.add_made(st, make_key, |out| packer.pack(frame, out))?;
        }
        Ok(rows)
    }

    /// As [`Sort::take_all`], of rows as they are stored.
    fn take_stored(
        &mut self,
        sorter: &mut Sorter,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<u64, SqlError> {
        let Some(keys) = self.stored_keys.as_deref() else {
            return Err(super::internal("keys of a sort that are not stored"));
        };
        let (st, mut rows) = (run.st, 0);
        pass_each(&mut *self.input, run, frame, |row| {
            rows += 1;
            let pack = |out: &mut Vec<u8>| self.packer.pack_stored(row, out);
            sorter.add_stored(st, (row, keys), pack)?;
            Ok(false)
        })?;
        Ok(rows)
    }

    /// Whether the rows of the input, which is open, come as they are stored.
    fn comes_stored(&self) -> bool {
        match (self.input.stored(), self.packer.stored_leaf()) {
            (Some((of, _)), Some((leaf, ..))) => of == leaf && self.stored_keys.is_some(),
            _ => false,
        }
    }
}

impl Operator for Sort<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.sorter = None;
        let top = match self.limit {
            Some((skip, count)) => {
                let skip = limit_value(skip, run, frame)?;
                Some(skip.saturating_add(limit_value(count, run, frame)?))
            }
            None => None,
        };
        self.input.open(run, frame)?;
        let mut sorter = Sorter::new(run.st, top);
        if self.distinct {
            sorter = sorter.distinct();
        }
        self.passes = self.comes_stored();
        if let Some(keys) = self.stored_keys.as_ref().filter(|_| self.passes) {
            sorter = sorter.of_stored(Arc::clone(keys));
        }
        let rows = match self.passes {
            true => self.take_stored(&mut sorter, run, frame)?,
            false => self.take_all(&mut sorter, run, frame)?,
        };
        sorter.finish(run.st)?;
        let kept = sorter.rows().unwrap_or(rows);
        tally::sorted(self.source, kept.min(top.unwrap_or(u64::MAX)));
        self.packer.begin(frame);
        self.sorter = Some(sorter);
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let Some(sorter) = &mut self.sorter else { return Ok(false) };
        run.tick()?;
        if !sorter.next(&mut self.key, &mut self.row)? {
            self.sorter = None;
            return Ok(false);
        }
        self.packer.unpack(&self.row, frame)?;
        Ok(true)
    }

    fn stored(&self) -> Option<StoredLeaf<'_>> {
        let (leaf, _, layout) = self.packer.stored_leaf()?;
        self.passes.then_some((leaf, layout))
    }

    fn pass(
        &mut self,
        run: &mut Run<'_>,
        _: &mut Frame,
        take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        let Some(sorter) = &mut self.sorter else { return Ok(false) };
        loop {
            run.tick()?;
            let Some(row) = sorter.next_in_place(&mut self.key, &mut self.row)? else { break };
            if take(Packer::stored_row(row)?) {
                return Ok(true);
            }
        }
        self.sorter = None;
        Ok(false)
    }

    fn close(&mut self) {
        self.sorter = None;
        trim(&mut self.key);
        trim(&mut self.row);
        self.input.close();
    }
}
