//! Conditions on one stored row that need no more than its bytes: they are checked where the row lies,
//! before it is copied.
//!
//! 1. A test holds exactly where its condition is true; what cannot be tested this way is left to the filter,
//!    and so is what stands behind a condition that is left and may complain. 2. The other side of a comparison
//!    is constant: it is evaluated once per execution; of a scan also a column of another leaf, whose row does not change meanwhile: it
//!    is evaluated whenever the scan begins. 3. A test decodes the columns that it looks at, and
//!    nothing else; where the order of a column's values is that of numbers of 64 bits, comparisons with
//!    constants are spans of those.

use super::Run;
use super::lists::List;
use crate::SqlError;
use expr::eval::compare;
use expr::functions::Purity;
use expr::tree::{Column, Comparison, Truth};
use expr::{Expr, Frame, OwnedDatum};
use std::sync::Arc;
use value::row::gather::Ranked;
use value::{Collation, ColumnType, Datum, Kind, RowError, RowLayout};

/// A condition that can be tested, as it is planned.
enum Shape<'p> {
    Compare(Comparison, usize, &'p Expr, Collation),
    Columns(Comparison, usize, usize, Collation),
    In(usize, &'p [Expr], Collation),
    Like(usize, &'p Expr, u8, Collation),
    IsNull(usize),
    Not(Box<Shape<'p>>),
    And(Box<(Shape<'p>, Shape<'p>)>),
    Or(Box<(Shape<'p>, Shape<'p>)>),
}

/// A condition with its constants.
enum Test {
    Span(Span),
    Compare(Comparison, usize, OwnedDatum, Collation),
    Columns(Comparison, usize, usize, Collation),
    In(Box<List>),
    Like(usize, OwnedDatum, u8, Collation),
    IsNull(usize),
    Not(Box<Test>),
    And(Box<(Test, Test)>),
    Or(Box<(Test, Test)>),
}

/// Values of a column between two others, by their ranks.
struct Span {
    column: usize,
    ranked: Ranked,
    low: u64,
    high: u64,
}

/// The filter of a read, in two parts.
pub struct PushedPredicate<'p> {
    shapes: Vec<Shape<'p>>,
    /// Made from `shapes` when the read is opened for the first time in a statement.
    tests: Vec<Test>,
    is_open: bool,
    /// Of a scan: those with columns of other leaves.
    shapes_beside: Vec<Shape<'p>>,
    /// Made from `shapes_beside` whenever the scan begins.
    tests_beside: Vec<Test>,
    rest: Vec<&'p Expr>,
    layout: Arc<RowLayout>,
}

impl<'p> PushedPredicate<'p> {
    /// Of a filter over the leaf's rows.
    pub fn new(
        filter: Option<&'p Expr>,
        leaf: u16,
        layout: &Arc<RowLayout>,
    ) -> PushedPredicate<'p> {
        PushedPredicate::of(filter, (leaf, false), layout)
    }

    /// As [`Self::new`], of a scan: of many rows while those of other leaves stay.
    pub fn of_scan(
        filter: Option<&'p Expr>,
        leaf: u16,
        layout: &Arc<RowLayout>,
    ) -> PushedPredicate<'p> {
        PushedPredicate::of(filter, (leaf, true), layout)
    }

    fn of(
        filter: Option<&'p Expr>,
        (leaf, scans): (u16, bool),
        layout: &Arc<RowLayout>,
    ) -> PushedPredicate<'p> {
        let mut predicate = PushedPredicate {
            shapes: Vec::new(),
            tests: Vec::new(),
            is_open: false,
            shapes_beside: Vec::new(),
            tests_beside: Vec::new(),
            rest: Vec::new(),
            layout: Arc::clone(layout),
        };
        if let Some(filter) = filter {
            predicate.split(filter, (leaf, scans));
        }
        predicate
    }

    fn split(&mut self, filter: &'p Expr, (leaf, scans): (u16, bool)) {
        if let Expr::And(a, b) = filter {
            self.split(a, (leaf, scans));
            self.split(b, (leaf, scans));
            return;
        }
        // A condition that may end in an error or a warning is met by every row that passes those before it.
        let first = self.rest.iter().all(|e| is_harmless(e));
        let of = Leaf { number: leaf, layout: &self.layout, scans };
        match of.shape(filter, is_constant).filter(|_| first) {
            Some(shape) => {
                let mut is_beside = false;
                filter.visit(&mut |e| is_beside |= of_another(e, leaf));
                match is_beside {
                    true => self.shapes_beside.push(shape),
                    false => self.shapes.push(shape),
                }
            }
            None => self.rest.push(filter),
        }
    }

    /// Whether it says no more than that an integer column lies between two bounds, as the range of an index does; each
    /// bound with whether it belongs to the range.
    pub fn is_between(
        &self,
        column: usize,
        low: Option<&(Expr, bool)>,
        high: Option<&(Expr, bool)>,
    ) -> bool {
        let is_bound = |shape: &Shape<'_>| {
            let Shape::Compare(op, of, value, _) = shape else { return false };
            let is = |bound: Option<&(Expr, bool)>, belongs: bool| {
                bound.is_some_and(|(b, inclusive)| b == *value && *inclusive == belongs)
            };
            *of == column
                && match op {
                    Comparison::Ge => is(low, true),
                    Comparison::Gt => is(low, false),
                    Comparison::Le => is(high, true),
                    Comparison::Lt => is(high, false),
                    _ => false,
                }
        };
        let ty = self.layout.column_type(column);
        self.rest.is_empty()
            && ty.is_some_and(|ty| ty.kind.is_int())
            && self.shapes.iter().all(is_bound)
    }

    /// Whether it says no more than that an integer column has one of some values, to which this one belongs.
    pub fn is_listed(&self, column: usize, value: &Expr) -> bool {
        let ty = self.layout.column_type(column);
        let lists = match &self.shapes[..] {
            [Shape::In(of, list, _)] => *of == column && list.contains(value),
            [Shape::Compare(Comparison::Eq, of, one, _)] => *of == column && *one == value,
            _ => false,
        };
        lists && self.rest.is_empty() && ty.is_some_and(|ty| ty.kind.is_int())
    }

    /// Evaluates the constants, unless that was done, and what is constant for a scan.
    ///
    /// # Errors
    /// Those of evaluating them.
    pub fn open(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<(), SqlError> {
        if !self.shapes_beside.is_empty() {
            make(&self.shapes_beside, &mut self.tests_beside, &self.layout, (run, frame))?;
        }
        if !self.is_open {
            make(&self.shapes, &mut self.tests, &self.layout, (run, frame))?;
            self.is_open = true;
        }
        Ok(())
    }

    /// Forgets the constants.
    pub fn close(&mut self) {
        self.tests.clear();
        self.tests_beside.clear();
        self.is_open = false;
    }

    /// Whether every test holds for a row.
    ///
    /// # Errors
    /// The row is damaged.
    #[inline]
    pub fn holds(&self, row: &[u8]) -> Result<bool, RowError> {
        match self.tests.is_empty() && self.tests_beside.is_empty() {
            true => Ok(true),
            false => self.all_hold(row),
        }
    }

    // Rows that pass without a test need none of its registers.
    #[inline(never)]
    fn all_hold(&self, row: &[u8]) -> Result<bool, RowError> {
        for test in self.tests.iter().chain(&self.tests_beside) {
            let holds = match test {
                Test::Span(span) => span.holds(&self.layout, row)?,
                test => test.holds(&self.layout, row)?,
            };
            if holds != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether conditions are left that are no tests.
    pub fn has_rest(&self) -> bool {
        !self.rest.is_empty()
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

/// Makes the tests of conditions.
fn make(
    shapes: &[Shape<'_>],
    tests: &mut Vec<Test>,
    layout: &RowLayout,
    (run, frame): (&mut Run<'_>, &Frame),
) -> Result<(), SqlError> {
    tests.clear();
    tests.reserve_exact(shapes.len());
    for shape in shapes {
        let mut constant = |e: &Expr| Ok::<_, SqlError>(run.eval(e, frame)?.into_owned());
        match shape.test(layout, &mut constant)? {
            Test::Span(span) => add_span(span, tests),
            test => tests.push(test),
        }
    }
    Ok(())
}

impl Test {
    /// As [`expr::condition`]: true, false or unknown.
    fn holds(&self, layout: &RowLayout, row: &[u8]) -> Result<Option<bool>, RowError> {
        Ok(match self {
            Test::Span(span) => span.holds(layout, row)?,
            Test::Compare(op, column, constant, collation) => {
                let value = layout.decode(row, *column)?;
                compare(*op, &value, &constant.datum(), *collation)
            }
            Test::Columns(op, a, b, collation) => {
                let (a, b) = (layout.decode(row, *a)?, layout.decode(row, *b)?);
                compare(*op, &a, &b, *collation)
            }
            Test::In(list) => list.holds(layout, row)?,
            Test::Like(column, pattern, escape, collation) => {
                let value = layout.decode(row, *column)?;
                expr::like(&value, &pattern.datum(), *escape, *collation)
            }
            Test::IsNull(column) => Some(layout.decode(row, *column)?.is_null()),
            Test::Not(test) => test.holds(layout, row)?.map(|holds| !holds),
            Test::And(both) => match both.0.holds(layout, row)? {
                Some(false) => Some(false),
                Some(true) => both.1.holds(layout, row)?,
                None => both.1.holds(layout, row)?.filter(|b| !b),
            },
            Test::Or(both) => match both.0.holds(layout, row)? {
                Some(true) => Some(true),
                Some(false) => both.1.holds(layout, row)?,
                None => both.1.holds(layout, row)?.filter(|b| *b),
            },
        })
    }
}

impl Span {
    /// The values that compare with a constant as wanted; `None`: the column cannot hold the constant, or its
    /// values have no ranks.
    fn new(
        op: Comparison,
        column: usize,
        constant: &OwnedDatum,
        layout: &RowLayout,
    ) -> Option<Span> {
        let ranked = layout.ranked(column)?;
        let rank = ranked.rank_of(&exactly(&constant.datum(), ranked.column_type())?)?;
        let (low, high) = match op {
            Comparison::Eq => (rank, rank),
            Comparison::Le => (0, rank),
            Comparison::Ge => (rank, u64::MAX),
            Comparison::Lt => (0, rank.checked_sub(1)?),
            Comparison::Gt => (rank.checked_add(1)?, u64::MAX),
            Comparison::Ne | Comparison::NullSafeEq => return None,
        };
        Some(Span { column, ranked, low, high })
    }

    #[inline]
    fn holds(&self, layout: &RowLayout, row: &[u8]) -> Result<Option<bool>, RowError> {
        match self.ranked.rank(row) {
            Some(rank) => Ok(rank.map(|rank| self.low <= rank && rank <= self.high)),
            None => {
                layout.decode(row, self.column)?;
                let (column, what) = (self.column, "a column without a rank");
                Err(RowError { column, offset: 0, what })
            }
        }
    }
}

/// A value as one of the type that compares as equal to it, with everything in the same order; `None`: there
/// is none.
pub fn exactly(value: &Datum<'_>, ty: &ColumnType) -> Option<Datum<'static>> {
    Some(match (ty.kind, *value) {
        (kind, Datum::Int(v)) if kind.is_int() => Datum::Int(v),
        (kind, Datum::UInt(v)) if kind.is_int() => Datum::UInt(v),
        (Kind::Decimal, _) => {
            let exact = match *value {
                Datum::Int(v) => v.into(),
                Datum::UInt(v) => v.into(),
                Datum::Decimal(v) => v,
                _ => return None,
            };
            let rounded = exact.round(i32::from(ty.decimals))?;
            rounded.compare(&exact).is_eq().then_some(Datum::Decimal(rounded))?
        }
        (Kind::Date, Datum::Date(v)) => Datum::Date(v),
        (Kind::Date, Datum::DateTime(v)) => {
            let date = v.date();
            (date.midnight().packed() == v.packed()).then_some(Datum::Date(date))?
        }
        (Kind::DateTime, Datum::Date(v)) => Datum::DateTime(v.midnight()),
        (Kind::DateTime, Datum::DateTime(v)) => Datum::DateTime(v),
        _ => return None,
    })
}

/// Adds a test of a span; two of one column become one.
fn add_span(span: Span, tests: &mut Vec<Test>) {
    let known = tests.iter_mut().find_map(|test| match test {
        Test::Span(known) if known.column == span.column => Some(known),
        _ => None,
    });
    match known {
        Some(known) => {
            known.low = known.low.max(span.low);
            known.high = known.high.min(span.high);
        }
        None => tests.push(Test::Span(span)),
    }
}

impl Shape<'_> {
    /// The condition with its constants.
    fn test(
        &self,
        layout: &RowLayout,
        constant: &mut impl FnMut(&Expr) -> Result<OwnedDatum, SqlError>,
    ) -> Result<Test, SqlError> {
        Ok(match *self {
            Shape::Compare(op, column, e, collation) => {
                let value = constant(e)?;
                match Span::new(op, column, &value, layout) {
                    Some(span) => Test::Span(span),
                    None => Test::Compare(op, column, value, collation),
                }
            }
            Shape::Columns(op, a, b, collation) => Test::Columns(op, a, b, collation),
            Shape::In(column, list, collation) => {
                let values = list.iter().map(constant).collect::<Result<_, _>>()?;
                Test::In(Box::new(List::new(column, values, collation, layout)))
            }
            Shape::Like(column, e, escape, collation) => {
                Test::Like(column, constant(e)?, escape, collation)
            }
            Shape::IsNull(column) => Test::IsNull(column),
            Shape::Not(ref shape) => Test::Not(Box::new(shape.test(layout, constant)?)),
            Shape::And(ref both) => Test::And(Box::new((
                both.0.test(layout, constant)?,
                both.1.test(layout, constant)?,
            ))),
            Shape::Or(ref both) => {
                Test::Or(Box::new((both.0.test(layout, constant)?, both.1.test(layout, constant)?)))
            }
        })
    }
}

/// A leaf whose rows are tested.
struct Leaf<'l> {
    number: u16,
    layout: &'l RowLayout,
    /// Columns of other leaves are constants.
    scans: bool,
}

impl Leaf<'_> {
    fn column(&self, e: &Expr) -> Option<usize> {
        match e {
            Expr::Column(Column { depth: 0, leaf, column }) if *leaf == self.number => {
                let column = usize::from(*column);
                // Expressions see a TIMESTAMP in local time.
                let ty = self.layout.column_type(column)?;
                (ty.kind != Kind::Timestamp).then_some(column)
            }
            _ => None,
        }
    }

    /// Whether it is a column that has one value for all rows of a scan.
    fn stays(&self, e: &Expr) -> bool {
        self.scans && of_another(e, self.number)
    }

    /// A condition as a test; `constant` says what is constant.
    fn shape<'p>(&self, e: &'p Expr, constant: fn(&Expr) -> bool) -> Option<Shape<'p>> {
        let both = |a, b| Some(Box::new((self.shape(a, is_plain)?, self.shape(b, is_plain)?)));
        Some(match e {
            Expr::Not(a) if matches!(**a, Expr::In(..) | Expr::Like(..)) => {
                Shape::Not(Box::new(self.shape(a, constant)?))
            }
            // What stands behind an OR need not be evaluated at all: only what has its value is.
            Expr::Not(a) if is_condition(a) => Shape::Not(Box::new(self.shape(a, is_plain)?)),
            Expr::And(a, b) => Shape::And(both(a, b)?),
            Expr::Or(a, b) => Shape::Or(both(a, b)?),
            Expr::Is(a, Truth::Null, negated) => {
                let test = Shape::IsNull(self.column(a)?);
                if *negated { Shape::Not(Box::new(test)) } else { test }
            }
            Expr::Compare(op, a, b, collation) => match (self.column(a), self.column(b)) {
                (Some(a), Some(b)) => Shape::Columns(*op, a, b, *collation),
                (Some(a), None) if constant(b) || self.stays(b) => {
                    Shape::Compare(*op, a, b, *collation)
                }
                (None, Some(b)) if constant(a) || self.stays(a) => {
                    Shape::Compare(op.flipped(), b, a, *collation)
                }
                _ => return None,
            },
            Expr::In(value, list, collation) if list.iter().all(constant) => {
                Shape::In(self.column(value)?, list, *collation)
            }
            Expr::Like(value, pattern, escape, collation) if constant(pattern) => {
                Shape::Like(self.column(value)?, pattern, *escape, *collation)
            }
            _ => return None,
        })
    }
}

/// Whether a condition may as well be left out for rows that others do not hold for. What subqueries end in
/// is not looked at: they are worth being left out.
fn is_harmless(e: &Expr) -> bool {
    let mut harmless = true;
    e.visit(&mut |e| {
        use Expr::{Arith, AssignUserVar, Call, Neg};
        harmless &= !matches!(e, Arith(..) | Neg(_) | Call(_) | AssignUserVar(..));
    });
    harmless
}

fn is_condition(e: &Expr) -> bool {
    matches!(
        e,
        Expr::Not(_)
            | Expr::And(..)
            | Expr::Or(..)
            | Expr::Is(..)
            | Expr::Compare(..)
            | Expr::In(..)
            | Expr::Like(..)
    )
}

/// Whether an expression is a column of another leaf than this.
fn of_another(e: &Expr, number: u16) -> bool {
    matches!(e, Expr::Column(c) if c.depth > 0 || c.leaf != number)
}

/// A constant that has its value already.
fn is_plain(e: &Expr) -> bool {
    matches!(e, Expr::Const(_) | Expr::Param(_))
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
