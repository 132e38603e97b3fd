//! Numbers, conditions and choices between them over many rows at once: arithmetic here and in [`numbers`], comparisons,
//! AND, OR, NOT, CASE, IF, COALESCE and the parts of dates in [`logic`].
//!
//! 1. A vector's values are those of [`crate::eval`], of the same type and scale; where CASE has results of several
//!    scales, all of them have the largest. What is true is 1, what is false 0, what is unknown NULL. 2. Nothing here can end in an
//!    error or a warning: where the digits of the operands' types do not say that every result fits 128 bits,
//!    their values do; where a result does not, or may lie outside of BIGINT or DOUBLE, [`Program::run`]
//!    answers `false`, and the rows are to be evaluated one by one. 3. What two expressions have in common is computed once. 4. All
//!    results of a CASE are computed for all rows: by rule 2 that is not seen.

mod logic;
mod numbers;

use crate::tree::{Arithmetic, Column, Comparison, Expr};
use logic::Part;
use numbers::{arithmetic, exact, fits, greatest};
use value::row::gather::{
    NARROW_DIGITS, Nulls, Numbers, Vector, WIDE_DIGITS, digits_of, vector_of,
};
use value::{Date, Datum, Decimal, Kind, RowLayout};

/// Most digits behind the point of a decimal.
const SCALE_MAX: u8 = value::decimal::SCALE_MAX;

/// What the numbers of a vector stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Signed integers.
    Int,
    /// Unsigned integers.
    UInt,
    /// Decimals with so many digits behind the point.
    Decimal(u8),
    /// Doubles.
    Double,
    /// Packed dates.
    Date,
}

/// How one vector is made; operands are vectors before it.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Column(usize),
    Exact(i128),
    Double(f64),
    /// Times a power of ten.
    Scale(usize, u32),
    Arith(Arithmetic, usize, usize),
    /// The remainder of division by a number that is not 0.
    Remainder(usize, i128),
    /// A part of a date.
    Part(Part, usize),
    /// Of numbers with equally many digits behind the point, of doubles, or of dates.
    Compare(Comparison, usize, usize),
    And(usize, usize),
    Or(usize, usize),
    Not(usize),
    /// Whether a number is not 0.
    Truth(usize),
    /// Whether it is NULL, or with `true` whether it is not.
    IsNull(usize, bool),
    /// The second where the first is true, elsewhere the third; `None` is NULL.
    Choice(usize, usize, Option<usize>),
}

/// What is known of a vector before it is there.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    form: Form,
    /// Digits that a number may have.
    digits: u32,
}

impl Shape {
    fn scale(self) -> u8 {
        if let Form::Decimal(scale) = self.form { scale } else { 0 }
    }

    fn numbers(self) -> Numbers {
        match self.form {
            Form::Double => Numbers::Doubles(Vec::new()),
            _ if self.digits <= NARROW_DIGITS => Numbers::Narrow(Vec::new()),
            _ => Numbers::Wide(Vec::new()),
        }
    }
}

/// Expressions over the rows of one leaf, and their values.
#[derive(Debug)]
pub struct Program {
    leaf: u16,
    steps: Vec<(Step, Shape)>,
    vectors: Vec<Vector>,
    /// Vectors of choices between kinds of numbers: row by row each is of the kind that was chosen, which decides how it is
    /// computed with.
    mixed: Vec<usize>,
    /// A parameter was looked at.
    has_params: bool,
}

/// Memory of a vector above this is given back when a statement ends, in bytes.
const SPARE_BYTES_MAX: usize = 4 << 10;

impl Program {
    /// Without expressions, over this leaf of the block.
    pub fn new(leaf: u16) -> Program {
        let (steps, vectors, mixed) = Default::default();
        Program { leaf, steps, vectors, mixed, has_params: false }
    }

    /// The statement is over; whether the program holds for its next run, whatever the parameters will be.
    pub fn rest(&mut self) -> bool {
        if self.bytes() > SPARE_BYTES_MAX * self.vectors.len() {
            for (vector, (_, shape)) in self.vectors.iter_mut().zip(&self.steps) {
                *vector = Vector { numbers: shape.numbers(), nulls: Nulls::default() };
            }
        }
        !self.has_params
    }

    /// Adds an expression; answers the number of its vector, or `None`: it is evaluated row by row.
    pub fn add(&mut self, expr: &Expr, layout: &RowLayout, params: &[Datum<'_>]) -> Option<usize> {
        let before = self.steps.len();
        let found = self.compile(expr, layout, params);
        if found.is_none() {
            self.steps.truncate(before);
            self.vectors.truncate(before);
            self.mixed.retain(|n| *n < before);
        }
        found
    }

    fn compile(&mut self, expr: &Expr, layout: &RowLayout, params: &[Datum<'_>]) -> Option<usize> {
        match expr {
            Expr::Column(Column { depth: 0, leaf, column }) if *leaf == self.leaf => {
                self.column(usize::from(*column), layout)
            }
            Expr::Const(value) => self.constant(&value.datum()),
            Expr::Param(n) => {
                self.has_params = true;
                self.constant(params.get(*n)?)
            }
            Expr::Arith(op @ (Arithmetic::Add | Arithmetic::Sub | Arithmetic::Mul), a, b) => {
                let a = self.compile(a, layout, params)?;
                let b = self.compile(b, layout, params)?;
                self.arithmetic(*op, a, b)
            }
            _ => self.other(expr, layout, params),
        }
    }

    fn push(&mut self, step: Step, shape: Shape) -> usize {
        if let Some(known) = self.steps.iter().position(|(s, _)| *s == step) {
            return known;
        }
        self.vectors.push(Vector { numbers: shape.numbers(), nulls: Nulls::default() });
        self.steps.push((step, shape));
        self.steps.len() - 1
    }

    fn column(&mut self, column: usize, layout: &RowLayout) -> Option<usize> {
        let ty = layout.column_type(column)?;
        vector_of(ty)?;
        let form = match ty.kind {
            Kind::Decimal => Form::Decimal(ty.decimals),
            Kind::Double | Kind::Float => Form::Double,
            Kind::Date => Form::Date,
            _ if ty.unsigned => Form::UInt,
            _ => Form::Int,
        };
        let digits = digits_of(ty).unwrap_or_default();
        Some(self.push(Step::Column(column), Shape { form, digits }))
    }

    fn constant(&mut self, value: &Datum<'_>) -> Option<usize> {
        let (form, v) = match *value {
            Datum::Int(v) => (Form::Int, i128::from(v)),
            Datum::UInt(v) => (Form::UInt, i128::from(v)),
            Datum::Decimal(v) => (Form::Decimal(v.scale()), v.unscaled()?),
            Datum::Date(v) => (Form::Date, v.packed().into()),
            Datum::Double(v) => {
                let shape = Shape { form: Form::Double, digits: 0 };
                return Some(self.push(Step::Double(v), shape));
            }
            _ => return None,
        };
        self.exact(v, form)
    }

    fn exact(&mut self, v: i128, form: Form) -> Option<usize> {
        let digits = v.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
        // The form tells constants apart: 1 and 1.0 are two.
        let shape = Shape { form, digits };
        let known = self.steps.iter().position(|(s, of)| *s == Step::Exact(v) && *of == shape);
        if known.is_some() || digits > WIDE_DIGITS {
            return known;
        }
        self.vectors.push(Vector { numbers: shape.numbers(), nulls: Nulls::default() });
        self.steps.push((Step::Exact(v), shape));
        Some(self.steps.len() - 1)
    }

    fn arithmetic(&mut self, op: Arithmetic, a: usize, b: usize) -> Option<usize> {
        let (x, y) = (self.steps[a].1, self.steps[b].1);
        if self.mixed.contains(&a) || self.mixed.contains(&b) {
            return None;
        }
        let form = match (x.form, y.form) {
            (Form::Double, Form::Double) => {
                let shape = Shape { form: Form::Double, digits: 0 };
                return Some(self.push(Step::Arith(op, a, b), shape));
            }
            (Form::Double | Form::Date, _) | (_, Form::Double | Form::Date) => return None,
            (Form::Decimal(s), Form::Decimal(t)) if op == Arithmetic::Mul => Form::Decimal(s + t),
            (Form::Decimal(s), Form::Decimal(t)) => Form::Decimal(s.max(t)),
            (Form::Decimal(s), _) | (_, Form::Decimal(s)) => Form::Decimal(s),
            (Form::Int, Form::Int) => Form::Int,
            _ => Form::UInt,
        };
        let digits = match op {
            Arithmetic::Mul => x.digits + y.digits,
            _ => {
                let scale = u32::from(x.scale().max(y.scale()));
                let whole = |s: Shape| s.digits.saturating_sub(u32::from(s.scale()));
                whole(x).max(whole(y)) + 1 + scale
            }
        };
        let shape = Shape { form, digits };
        if shape.scale() > SCALE_MAX {
            return None;
        }
        let (a, b) = match op {
            Arithmetic::Mul => (a, b),
            _ => (self.scaled(a, shape.scale())?, self.scaled(b, shape.scale())?),
        };
        Some(self.push(Step::Arith(op, a, b), shape))
    }

    /// The vector with more digits behind the point.
    fn scaled(&mut self, n: usize, scale: u8) -> Option<usize> {
        let (step, shape) = self.steps[n].clone();
        let by = u32::from(scale - shape.scale());
        if by == 0 {
            return Some(n);
        }
        let form = Form::Decimal(scale);
        if let Step::Exact(v) = step {
            return self.exact(v.checked_mul(10i128.checked_pow(by)?)?, form);
        }
        let shape = Shape { form, digits: shape.digits + by };
        Some(self.push(Step::Scale(n, by), shape))
    }

    /// Computes every vector for some rows; `false`: the rows are to be evaluated one by one.
    #[must_use]
    pub fn run<'r>(
        &mut self,
        layout: &RowLayout,
        rows: impl Iterator<Item = &'r [u8]> + Clone,
        count: usize,
    ) -> bool {
        (0..self.steps.len()).all(|n| self.step(n, layout, rows.clone(), count).is_some())
    }

    fn step<'r>(
        &mut self,
        n: usize,
        layout: &RowLayout,
        rows: impl Iterator<Item = &'r [u8]>,
        count: usize,
    ) -> Option<()> {
        let (step, shape) = &self.steps[n];
        let (before, out) = self.vectors.split_at_mut(n);
        let out = &mut out[0];
        out.nulls.clear(count);
        match *step {
            Step::Column(column) => layout.gather(column, rows, out)?,
            Step::Exact(v) => match &mut out.numbers {
                Numbers::Narrow(numbers) => numbers.resize(count, v as i64),
                Numbers::Wide(numbers) => numbers.resize(count, v),
                Numbers::Doubles(_) => return None,
            },
            Step::Double(v) => match &mut out.numbers {
                Numbers::Doubles(numbers) => numbers.resize(count, v),
                _ => return None,
            },
            Step::Scale(from, by) => {
                let factor = 10i128.pow(by);
                let from = &before[from];
                if shape.digits > WIDE_DIGITS {
                    greatest(&from.numbers).checked_mul(factor)?;
                }
                out.nulls.unite(&from.nulls, &from.nulls);
                exact(&from.numbers, &from.numbers, |v, _| v.wrapping_mul(factor), out)?;
            }
            Step::Arith(op, a, b) => {
                let (a, b) = (&before[a], &before[b]);
                out.nulls.unite(&a.nulls, &b.nulls);
                if shape.digits > WIDE_DIGITS {
                    let (a, b) = (greatest(&a.numbers), greatest(&b.numbers));
                    if op == Arithmetic::Mul {
                        a.checked_mul(b)?
                    } else {
                        a.checked_add(b)?
                    };
                }
                match op {
                    Arithmetic::Add => arithmetic(a, b, i128::wrapping_add, |x, y| x + y, out)?,
                    Arithmetic::Sub => arithmetic(a, b, i128::wrapping_sub, |x, y| x - y, out)?,
                    _ => arithmetic(a, b, i128::wrapping_mul, |x, y| x * y, out)?,
                }
                return fits(out, *shape).then_some(());
            }
            ref step => logic::compute(step, before, out)?,
        }
        Some(())
    }

    /// The values of a vector.
    pub fn vector(&self, n: usize) -> &Vector {
        &self.vectors[n]
    }

    /// What its numbers stand for.
    pub fn form(&self, n: usize) -> Form {
        self.steps[n].1.form
    }

    /// One value of a vector.
    pub fn datum(&self, n: usize, row: usize) -> Datum<'static> {
        let vector = &self.vectors[n];
        if vector.nulls.get(row) {
            return Datum::Null;
        }
        let v = match &vector.numbers {
            Numbers::Narrow(v) => i128::from(v[row]),
            Numbers::Wide(v) => v[row],
            Numbers::Doubles(v) => return Datum::Double(v[row]),
        };
        match self.form(n) {
            Form::UInt => Datum::UInt(v as u64),
            Form::Decimal(scale) => Datum::Decimal(Decimal::from_i128(v, scale)),
            Form::Date => Datum::Date(Date::from_packed(v as u32).unwrap_or(Date::ZERO)),
            Form::Int | Form::Double => Datum::Int(v as i64),
        }
    }

    /// Memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.vectors.iter().map(Vector::bytes).sum()
    }
}
