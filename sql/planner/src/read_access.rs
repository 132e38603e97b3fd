//! How the rows of a stored table are found.
//!
//! 1. A path may find too many rows, never too few: filters check the conditions. 2. Expressions are evaluated when
//!    the read is opened: they look at parameters, at outer blocks, and at leaves that the outer sides of joins
//!    around it have filled.

use crate::query_plan::Estimate;
use expr::tree::Expr;

/// How rows of a stored table are found.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadAccess {
    /// All rows of an index (0 is the clustered one), in its order.
    Index(usize),
    /// At most one row: every part of a unique index, none of them NULL.
    Point {
        /// Engine index.
        index: usize,
        /// One value per part.
        key: Vec<KeyValue>,
    },
    /// The rows that agree with values for the first parts of an index, in the order of the others.
    Lookup {
        /// Engine index.
        index: usize,
        /// Values of the first parts.
        key: Vec<KeyValue>,
    },
    /// Ranges of an index. They may overlap; every row is found once, in the order of the index.
    Ranges {
        /// Engine index.
        index: usize,
        /// At least one.
        ranges: Vec<KeyRange>,
    },
    /// Rows that several indexes name, each once.
    Merge(Box<Merge>),
    /// Some rows of each group of entries that agree in the first parts of an index, in its order.
    Groups(Box<GroupScan>),
}

/// What is read of the groups of entries that agree in the first parts of an index: MySQL's loose index scan, and its
/// skip scan. From one group to the next there is a way down the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupScan {
    /// Engine index.
    pub index: usize,
    /// How many first parts the entries of a group agree in.
    pub parts: usize,
    /// Which groups: ranges over these parts; none is all of them.
    pub ranges: Vec<KeyRange>,
    /// The first row of each group that satisfies the read's condition is wanted.
    pub first: bool,
    /// What is looked up in each group.
    pub probes: Vec<GroupProbe>,
    /// What for.
    pub purpose: GroupPurpose,
}

/// Rows that are looked up in a group: one that satisfies the read's condition.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupProbe {
    /// Where in the group: a range over the parts behind those that the group agrees in.
    pub range: KeyRange,
    /// The last row rather than the first.
    pub last: bool,
}

/// What groups of entries are read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupPurpose {
    /// MIN and MAX of each group.
    Extremes,
    /// That there is such a group.
    Distinct,
    /// All rows of the probes.
    Rows,
}

impl GroupScan {
    /// Whether each group gives at most one row.
    pub fn is_single(&self) -> bool {
        self.purpose != GroupPurpose::Rows && self.probes.len() + usize::from(self.first) == 1
    }
}

/// Several indexes that are read together.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// At least one: a row is found that one of them names.
    pub inputs: Vec<MergeInput>,
    /// The clustered keys of all inputs are sorted before the first row is read; otherwise each input comes in their
    /// order, as long as its values are keys.
    pub sorted: bool,
}

/// Ranges of indexes that together name rows: those that all of them have. The clustered index is never read beside
/// others, its ranges only tell which of their rows count.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeInput {
    /// At least one.
    pub parts: Vec<MergePart>,
    /// What is expected of all of them.
    pub estimate: Estimate,
}

/// Ranges of one index among several.
#[derive(Debug, Clone, PartialEq)]
pub struct MergePart {
    /// Engine index.
    pub index: usize,
    /// At least one.
    pub ranges: Vec<KeyRange>,
    /// What is expected.
    pub estimate: Estimate,
}

impl Merge {
    /// Whether values hang on other tables' rows.
    pub fn is_bound(&self) -> bool {
        let mut bound = false;
        let mut look = |e: &Expr| e.visit(&mut |e| bound |= matches!(e, Expr::Column(_)));
        for range in self.parts().flat_map(|part| &part.ranges) {
            range.equal.iter().for_each(|key| look(&key.value));
            if let LastPart::Between { low, high } = &range.last {
                low.iter().chain(high).for_each(|(bound, _)| look(bound));
            }
            if let LastPart::Like { pattern, .. } = &range.last {
                look(pattern);
            }
        }
        bound
    }

    /// The indexes' ranges in the order in which they are read.
    pub fn parts(&self) -> impl Iterator<Item = &MergePart> {
        self.inputs.iter().flat_map(|input| &input.parts)
    }
}

impl ReadAccess {
    /// The engine's number of the index that is read; of several, that of the rows themselves.
    pub fn index(&self) -> usize {
        match self {
            ReadAccess::Index(index)
            | ReadAccess::Point { index, .. }
            | ReadAccess::Lookup { index, .. }
            | ReadAccess::Ranges { index, .. } => *index,
            ReadAccess::Groups(scan) => scan.index,
            ReadAccess::Merge(_) => 0,
        }
    }

    /// The engine's numbers of all indexes that are read.
    pub fn indexes(&self) -> Vec<usize> {
        match self {
            ReadAccess::Merge(merge) => merge.parts().map(|part| part.index).collect(),
            other => vec![other.index()],
        }
    }
}

/// A value that a part of a key must have.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyValue {
    /// The value.
    pub value: Expr,
    /// NULL stands for itself (`<=>`, IS NULL); otherwise a NULL finds nothing.
    pub null_safe: bool,
}

/// A range of keys: equal values for the first parts, then something of the part after them.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRange {
    /// Values of the first parts, perhaps of none.
    pub equal: Vec<KeyValue>,
    /// What is asked of the next part.
    pub last: LastPart,
}

/// What a range asks of the last part that it looks at. That part may keep a prefix only.
#[derive(Debug, Clone, PartialEq)]
pub enum LastPart {
    /// Nothing.
    Any,
    /// A value between bounds; at least one bound is there, and NULL is outside.
    Between {
        /// Lower bound and whether it belongs to the range; a NULL makes the range empty.
        low: Option<(Expr, bool)>,
        /// Upper bound, likewise.
        high: Option<(Expr, bool)>,
    },
    /// Anything but NULL.
    NotNull,
    /// Text that begins like a pattern.
    Like {
        /// The pattern.
        pattern: Expr,
        /// Escape character; 0 for none.
        escape: u8,
    },
}
