//! Compiled expressions: columns are places in a row of the query block, functions are entries of the registry.

use crate::functions::{self, Function};
use value::collation::aggregate::Coercibility;
use value::time::Unit;
use value::{Collation, ColumnType, Kind};

pub use value::OwnedDatum;

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<=>`
    NullSafeEq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Comparison {
    /// The operator with its operands exchanged.
    pub fn flipped(self) -> Comparison {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::Le => Comparison::Ge,
            Comparison::Gt => Comparison::Lt,
            Comparison::Ge => Comparison::Le,
            same => same,
        }
    }
}

/// Arithmetic operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names say it.
pub enum Arithmetic {
    Add,
    Sub,
    /// Subtraction whose result is signed: under NO_UNSIGNED_SUBTRACTION.
    SubSigned,
    Mul,
    /// Digits that the quotient has beyond the dividend's.
    Div(u8),
    IntDiv,
    Mod,
}

/// What `IS` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are SQL's.
pub enum Truth {
    Null,
    True,
    False,
    Unknown,
}

/// Where a column's value lies while a row is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column {
    /// Query blocks further out: 0 is the expression's own block.
    pub depth: u8,
    /// Leaf of that block's rows: a table, a derived table, the result of grouping.
    pub leaf: u16,
    /// Position in the leaf's row.
    pub column: u16,
}

impl Column {
    /// A column of the first leaf of the expression's own block.
    pub fn first(column: usize) -> Column {
        Column { depth: 0, leaf: 0, column: column as u16 }
    }
}

/// A compiled expression.
#[derive(Debug, Clone, PartialEq, Hash)]
pub enum Expr {
    /// A constant.
    Const(OwnedDatum),
    /// A parameter of a prepared statement, or a literal lifted out of a cached text statement.
    Param(usize),
    /// A column of a row.
    Column(Column),
    /// `@@name`; scope `true` is global; `@@session.name` has its scope in the name.
    SystemVar(bool, String),
    /// `@name`, read under a type.
    UserVar(String, ColumnType),
    /// `@name := value`, with the value's type.
    AssignUserVar(String, Box<Expr>, ColumnType),
    /// Arithmetic.
    Arith(Arithmetic, Box<Expr>, Box<Expr>),
    /// Unary minus.
    Neg(Box<Expr>),
    /// A comparison under a collation.
    Compare(Comparison, Box<Expr>, Box<Expr>, Collation),
    /// AND.
    And(Box<Expr>, Box<Expr>),
    /// OR.
    Or(Box<Expr>, Box<Expr>),
    /// XOR.
    Xor(Box<Expr>, Box<Expr>),
    /// NOT.
    Not(Box<Expr>),
    /// IS [NOT] NULL and its kin.
    Is(Box<Expr>, Truth, bool),
    /// expr IN (list).
    In(Box<Expr>, Vec<Expr>, Collation),
    /// expr LIKE pattern, with the escape character.
    Like(Box<Expr>, Box<Expr>, u8, Collation),
    /// CASE with conditions; the simple form is rewritten to it.
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    /// A function of the registry.
    Call(Box<CallSite>),
    /// A row of values; only while expressions are built ([`crate::build`]).
    Row(Vec<Typed>),
    /// `INTERVAL n unit`; only while expressions are built.
    Interval(Box<Typed>, Unit),
    /// One value of a subplan's one row, by its place in it; NULL without a row, error 1242 with several.
    Subquery(usize, u16),
    /// Whether a subplan has a row.
    Exists(usize),
    /// A row of values against the rows of a subplan.
    Quantified(Box<Quantified>),
}

/// `left op ANY (subplan)` and `left op ALL (subplan)`; IN is `= ANY`, NOT IN is `<> ALL`.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Quantified {
    /// How the values are compared.
    pub op: Comparison,
    /// ALL instead of ANY.
    pub all: bool,
    /// The left side: one value, or those of a row.
    pub left: Vec<Expr>,
    /// The right side.
    pub subplan: usize,
    /// Collation of each comparison.
    pub collations: Vec<Collation>,
}

/// A call of a function: what it is called with, and what was derived from that.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct CallSite {
    /// The registry's entry.
    pub function: &'static Function,
    /// What it is called with.
    pub arguments: Vec<Expr>,
    /// Types of the arguments.
    pub types: Vec<ColumnType>,
    /// Type of the result.
    pub ty: ColumnType,
    /// The collation that the arguments' text has in common: characters are those of its character set,
    /// comparisons its.
    pub collation: Collation,
    /// What was written besides arguments.
    pub extra: Extra,
}

/// What is written in a call besides arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extra {
    /// Nothing.
    None,
    /// Unit of an interval.
    Unit(Unit),
    /// Which ends TRIM looks at: the start, the end.
    Ends(bool, bool),
    /// GET_FORMAT's kind; the collation of CHAR(.. USING ..) is the site's.
    Word(&'static str),
    /// JSON_VALUE's ON EMPTY and ON ERROR.
    Otherwise(Otherwise, Otherwise),
}

/// What JSON_VALUE and JSON_TABLE give where they have no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Otherwise {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// What stands behind DEFAULT.
    Default,
}

impl Expr {
    /// An integer constant.
    pub fn int(v: i64) -> Expr {
        Expr::Const(OwnedDatum::Int(v))
    }

    /// True when the value does not depend on a row: no column inside.
    pub fn is_row_constant(&self) -> bool {
        let mut constant = true;
        self.visit(&mut |e| constant &= !matches!(e, Expr::Column(_) | Expr::AssignUserVar(..)));
        constant
    }

    /// True when a plain column is inside.
    #[inline]
    pub fn has_column(&self) -> bool {
        match self {
            Expr::Const(_) | Expr::Param(_) => false,
            Expr::Column(_) => true,
            other => other.has_inner_column(),
        }
    }

    fn has_inner_column(&self) -> bool {
        let mut found = false;
        self.visit(&mut |e| found |= matches!(e, Expr::Column(_)));
        found
    }

    /// The expression without the conversion that a comparison made of it.
    pub fn unconverted(&self) -> &Expr {
        match self {
            Expr::Call(site) if functions::is_conversion(site.function) => &site.arguments[0],
            other => other,
        }
    }

    /// Calls `f` for this expression and everything below it.
    pub fn visit(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Const(_) | Expr::Param(_) | Expr::Column(_) => {}
            Expr::SystemVar(..) | Expr::UserVar(..) => {}
            Expr::AssignUserVar(_, e, _) | Expr::Neg(e) | Expr::Not(e) | Expr::Is(e, ..) => {
                e.visit(f)
            }
            Expr::Arith(_, a, b) | Expr::Compare(_, a, b, _) | Expr::Like(a, b, ..) => {
                a.visit(f);
                b.visit(f);
            }
            Expr::And(a, b) | Expr::Or(a, b) | Expr::Xor(a, b) => {
                a.visit(f);
                b.visit(f);
            }
            Expr::In(e, list, _) => {
                e.visit(f);
                list.iter().for_each(|x| x.visit(f));
            }
            Expr::Case(branches, otherwise) => {
                branches.iter().for_each(|(when, then)| {
                    when.visit(f);
                    then.visit(f);
                });
                otherwise.iter().for_each(|e| e.visit(f));
            }
            Expr::Call(site) => site.arguments.iter().for_each(|x| x.visit(f)),
            Expr::Row(parts) => parts.iter().for_each(|x| x.expr.visit(f)),
            Expr::Interval(n, _) => n.expr.visit(f),
            Expr::Subquery(..) | Expr::Exists(_) => {}
            Expr::Quantified(q) => q.left.iter().for_each(|x| x.visit(f)),
        }
    }
}

/// The columns of the block's first leaf that expressions look at, ascending.
pub fn columns_of<'e>(expressions: impl IntoIterator<Item = &'e Expr>) -> Vec<usize> {
    let mut found = std::collections::BTreeSet::new();
    for expr in expressions {
        expr.visit(&mut |e| {
            if let Expr::Column(Column { depth: 0, leaf: 0, column }) = e {
                found.insert(usize::from(*column));
            }
        });
    }
    found.into_iter().collect()
}

/// An expression with its result type.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Typed {
    /// The expression.
    pub expr: Expr,
    /// Result type; computed text has [`value::types::NOT_FIXED`] decimals.
    pub ty: ColumnType,
    /// How strongly it claims its collation.
    pub coercibility: Coercibility,
}

/// A sort key.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// What is sorted by.
    pub value: Typed,
    /// DESC.
    pub descending: bool,
}

impl Typed {
    /// Whether it is a row of values rather than one.
    pub fn is_row(&self) -> bool {
        matches!(self.expr, Expr::Row(_))
    }

    /// An expression with the claim of a column (text) or a number.
    pub fn new(expr: Expr, ty: ColumnType) -> Typed {
        let named = ty.kind.is_string()
            || ty.kind.has_members()
            || matches!(ty.kind, Kind::Json | Kind::Bit);
        let coercibility = if named { Coercibility::Implicit } else { Coercibility::Numeric };
        Typed { expr, ty, coercibility }
    }

    /// A BIGINT, perhaps NULL.
    pub fn bigint(expr: Expr) -> Typed {
        Typed::new(expr, ColumnType::int(Kind::BigInt, false))
    }

    /// The constant's value, if it is one.
    pub fn constant(&self) -> Option<&OwnedDatum> {
        match &self.expr {
            Expr::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The literal NULL.
    pub fn is_null(&self) -> bool {
        matches!(self.expr, Expr::Const(OwnedDatum::Null))
    }
}
