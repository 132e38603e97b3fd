//! Conditions on one stored row that need no more than its bytes: they are checked where the row lies,
//! before it is copied.
//!
//! 1. A test holds exactly where its condition is true; what cannot be tested this way is left to the
//!    filter. 2. The other side of a comparison is constant: it is evaluated once per execution. 3. A test
//!    decodes the columns that it looks at, and nothing else.

use super::Run;
use crate::SqlError;
use expr::eval::compare;
use expr::functions::Purity;
use expr::tree::{Column, Comparison};
use expr::{Expr, Frame, OwnedDatum};
use std::cmp::Ordering;
use value::{Collation, Kind, RowError, RowLayout};

/// A condition that can be tested, as it is planned.
enum Shape<'p> {
    Compare(Comparison, usize, &'p Expr, Collation),
    Columns(Comparison, usize, usize, Collation),
    In(usize, &'p [Expr], Collation, bool),
    Like(usize, &'p Expr, u8, Collation, bool),
}

/// A condition with its constants.
enum Test {
    Compare(Comparison, usize, OwnedDatum, Collation),
    Columns(Comparison, usize, usize, Collation),
    In(usize, Vec<OwnedDatum>, Collation, bool),
    Like(usize, OwnedDatum, u8, Collation, bool),
}

/// The filter of a read, in two parts.
pub struct Sift<'p> {
    shapes: Vec<Shape<'p>>,
    /// Made from `shapes` when the read is opened for the first time.
    tests: Option<Vec<Test>>,
    rest: Vec<&'p Expr>,
}

impl<'p> Sift<'p> {
    /// Of a filter over the leaf's rows.
    pub fn new(filter: Option<&'p Expr>, leaf: u16, layout: &RowLayout) -> Sift<'p> {
        let mut sift = Sift { shapes: Vec::new(), tests: None, rest: Vec::new() };
        if let Some(filter) = filter {
            sift.split(filter, leaf, layout);
        }
        sift
    }

    fn split(&mut self, filter: &'p Expr, leaf: u16, layout: &RowLayout) {
        if let Expr::And(a, b) = filter {
            self.split(a, leaf, layout);
            self.split(b, leaf, layout);
            return;
        }
        match shape(filter, false, leaf, layout) {
            Some(shape) => self.shapes.push(shape),
            None => self.rest.push(filter),
        }
    }

    /// Evaluates the constants, unless that was done.
    ///
    /// # Errors
    /// Those of evaluating them.
    pub fn open(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<(), SqlError> {
        if self.tests.is_some() {
            return Ok(());
        }
        let mut tests = Vec::with_capacity(self.shapes.len());
        for shape in &self.shapes {
            let mut constant = |e: &Expr| Ok::<_, SqlError>(run.eval(e, frame)?.into_owned());
            tests.push(match *shape {
                Shape::Compare(op, column, e, collation) => {
                    Test::Compare(op, column, constant(e)?, collation)
                }
                Shape::Columns(op, a, b, collation) => Test::Columns(op, a, b, collation),
                Shape::In(column, list, collation, negated) => {
                    let list = list.iter().map(constant).collect::<Result<_, _>>()?;
                    Test::In(column, list, collation, negated)
                }
                Shape::Like(column, e, escape, collation, negated) => {
                    Test::Like(column, constant(e)?, escape, collation, negated)
                }
            });
        }
        self.tests = Some(tests);
        Ok(())
    }

    /// Whether every test holds for a row.
    ///
    /// # Errors
    /// The row is damaged.
    #[inline]
    pub fn holds(&self, layout: &RowLayout, row: &[u8]) -> Result<bool, RowError> {
        for test in self.tests.iter().flatten() {
            if !test.holds(layout, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the conditions that are no tests are true for the frame's row.
    ///
    /// # Errors
    /// As [`Run::holds`].
    #[inline]
    pub fn rest_holds(&self, run: &mut Run<'_>, frame: &Frame) -> Result<bool, SqlError> {
        for condition in &self.rest {
            if !run.holds(condition, frame)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Test {
    #[inline]
    fn holds(&self, layout: &RowLayout, row: &[u8]) -> Result<bool, RowError> {
        Ok(match self {
            Test::Compare(op, column, constant, collation) => {
                let value = layout.decode(row, *column)?;
                compare(*op, &value, &constant.datum(), *collation) == Some(true)
            }
            Test::Columns(op, a, b, collation) => {
                let (a, b) = (layout.decode(row, *a)?, layout.decode(row, *b)?);
                compare(*op, &a, &b, *collation) == Some(true)
            }
            Test::In(column, list, collation, negated) => {
                let value = layout.decode(row, *column)?;
                let order = |c: &OwnedDatum| value::compare(&value, &c.datum(), *collation);
                match list.iter().any(|c| order(c) == Some(Ordering::Equal)) {
                    true => !negated,
                    // Beside a NULL nothing is known to be different.
                    false => *negated && !value.is_null() && !list.contains(&OwnedDatum::Null),
                }
            }
            Test::Like(column, pattern, escape, collation, negated) => {
                let value = layout.decode(row, *column)?;
                let like = expr::like(&value, &pattern.datum(), *escape, *collation);
                like == Some(!negated)
            }
        })
    }
}

fn shape<'p>(e: &'p Expr, negated: bool, leaf: u16, layout: &RowLayout) -> Option<Shape<'p>> {
    let column = |e: &Expr| match e {
        Expr::Column(Column { depth: 0, leaf: l, column }) if *l == leaf => {
            let column = usize::from(*column);
            // Expressions see a TIMESTAMP in local time.
            let ty = layout.column_type(column)?;
            (ty.kind != Kind::Timestamp).then_some(column)
        }
        _ => None,
    };
    Some(match e {
        Expr::Not(e) if !negated && matches!(**e, Expr::In(..) | Expr::Like(..)) => {
            return shape(e, true, leaf, layout);
        }
        Expr::Compare(op, a, b, collation) if !negated => match (column(a), column(b)) {
            (Some(a), Some(b)) => Shape::Columns(*op, a, b, *collation),
            (Some(a), None) if is_constant(b) => Shape::Compare(*op, a, b, *collation),
            (None, Some(b)) if is_constant(a) => Shape::Compare(op.flipped(), b, a, *collation),
            _ => return None,
        },
        Expr::In(value, list, collation) if list.iter().all(is_constant) => {
            Shape::In(column(value)?, list, *collation, negated)
        }
        Expr::Like(value, pattern, escape, collation) if is_constant(pattern) => {
            Shape::Like(column(value)?, pattern, *escape, *collation, negated)
        }
        _ => return None,
    })
}

/// A value that is the same for every row of one execution, and that may be computed also where there is
/// none.
pub fn is_constant(e: &Expr) -> bool {
    let mut constant = true;
    e.visit(&mut |e| {
        constant &= match e {
            Expr::Const(_) | Expr::Param(_) | Expr::Arith(..) | Expr::Neg(_) => true,
            Expr::Call(site) => site.function.purity == Purity::Constant,
            _ => false,
        };
    });
    constant
}
