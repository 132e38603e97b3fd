//! Expressions.

use super::{JsonValue, ObjectName, Query};

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// A parameter marker `?`, or a lifted literal; counted from 0 in text order.
    Param(u32),
    /// A literal that was cut out of its text, by its number: another text with the same key may have another value here.
    Lifted(u32, Literal),
    /// A column.
    Column(ColumnRef),
    /// `@name`.
    UserVar(String),
    /// `@name := value`.
    AssignUserVar(String, Box<Expr>),
    /// `@@name`.
    SystemVar(SystemVar),
    /// A prefix operator.
    Unary(UnaryOp, Box<Expr>),
    /// An infix operator.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `x IS [NOT] NULL / TRUE / FALSE / UNKNOWN`.
    Is {
        /// Operand.
        expr: Box<Expr>,
        /// What it is compared with.
        what: IsWhat,
        /// NOT was written.
        negated: bool,
    },
    /// `x [NOT] BETWEEN low AND high`.
    Between {
        /// Operand.
        expr: Box<Expr>,
        /// Lower bound, inclusive.
        low: Box<Expr>,
        /// Upper bound, inclusive.
        high: Box<Expr>,
        /// NOT was written.
        negated: bool,
    },
    /// `x [NOT] IN (a, b)`.
    In {
        /// Operand, possibly a [`Expr::Row`].
        expr: Box<Expr>,
        /// Candidates, at least one.
        list: Vec<Expr>,
        /// NOT was written.
        negated: bool,
    },
    /// `x [NOT] IN (SELECT ...)`.
    InQuery {
        /// Operand.
        expr: Box<Expr>,
        /// Subquery.
        query: Box<Query>,
        /// NOT was written.
        negated: bool,
    },
    /// `x [NOT] LIKE pattern [ESCAPE c]`.
    Like {
        /// Operand.
        expr: Box<Expr>,
        /// Pattern.
        pattern: Box<Expr>,
        /// ESCAPE operand.
        escape: Option<Box<Expr>>,
        /// NOT was written.
        negated: bool,
    },
    /// `x [NOT] REGEXP pattern` (also RLIKE).
    Regexp {
        /// Operand.
        expr: Box<Expr>,
        /// Pattern.
        pattern: Box<Expr>,
        /// NOT was written.
        negated: bool,
    },
    /// `x MEMBER OF (json)`.
    MemberOf(Box<Expr>, Box<Expr>),
    /// `x op ANY/ALL (SELECT ...)`.
    Quantified {
        /// Comparison.
        op: BinaryOp,
        /// Left side.
        expr: Box<Expr>,
        /// ALL rather than ANY/SOME.
        all: bool,
        /// Subquery.
        query: Box<Query>,
    },
    /// `EXISTS (SELECT ...)`.
    Exists(Box<Query>),
    /// `(SELECT ...)` as a value or row.
    Subquery(Box<Query>),
    /// `(a, b)` or `ROW(a, b)`, two or more parts.
    Row(Vec<Expr>),
    /// CASE.
    Case {
        /// `CASE operand WHEN ...`; none for a searched CASE.
        operand: Option<Box<Expr>>,
        /// WHEN and THEN pairs, at least one.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// A function call that is not an aggregate.
    Call(Call),
    /// An aggregate or window function.
    Aggregate(Box<Aggregate>),
    /// CAST, CONVERT(x, type) and BINARY x.
    Cast {
        /// Operand.
        expr: Box<Expr>,
        /// Target.
        to: CastType,
        /// ARRAY was written (multi-valued index).
        array: bool,
        /// AT TIME ZONE text, when written.
        at_time_zone: Option<String>,
    },
    /// `CONVERT(x USING charset)`.
    ConvertUsing(Box<Expr>, String),
    /// `x COLLATE name`.
    Collate(Box<Expr>, String),
    /// `INTERVAL n unit`, inside `+`, `-` and date functions only.
    Interval(Box<Expr>, IntervalUnit),
    /// `MATCH (a, b) AGAINST (x mode)`.
    Match {
        /// Columns.
        columns: Vec<ColumnRef>,
        /// Search string.
        against: Box<Expr>,
        /// Mode.
        mode: MatchMode,
    },
    /// `DEFAULT(column)`.
    DefaultOf(ColumnRef),
    /// `DEFAULT` as a value in INSERT, REPLACE, UPDATE and SET.
    Default,
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE.
    ValuesOf(ColumnRef),
    /// `column->path` (`unquote` false) or `column->>path`.
    JsonPath {
        /// Column.
        column: ColumnRef,
        /// Path text.
        path: String,
        /// `->>`.
        unquote: bool,
    },
    /// `{d '...'}`-style ODBC escape whose identifier is not d, t or ts: MySQL yields the operand.
    Odbc(String, Box<Expr>),
    /// JSON_VALUE(..).
    JsonValue(Box<JsonValue>),
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// An integer that fits i64 (a sign directly before the digits is folded in).
    Int(i64),
    /// An integer above `i64::MAX` that fits u64.
    UInt(u64),
    /// Digits with a decimal point, or an integer too long for 64 bits; text as written, with sign.
    Decimal(String),
    /// A number with an exponent.
    Float(f64),
    /// A character string.
    String(StringLiteral),
    /// `x'..'` or `0x..`: bytes, binary string by default.
    Hex(Vec<u8>),
    /// `b'..'` or `0b..`: bytes, most significant first.
    Bit(Vec<u8>),
    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'`.
    Temporal(TemporalKind, Vec<u8>),
}

/// A character string constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StringLiteral {
    /// Contents, unescaped, adjacent strings joined.
    pub bytes: Vec<u8>,
    /// Character set of an introducer (`_utf8mb4'x'`), or `utf8mb3` for `N'x'`.
    pub charset: Option<String>,
}

/// Kind of a temporal literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalKind {
    /// DATE '...'.
    Date,
    /// TIME '...'.
    Time,
    /// TIMESTAMP '...'.
    Timestamp,
}

/// A column by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    /// Schema, when written.
    pub schema: Option<String>,
    /// Table or alias, when written.
    pub table: Option<String>,
    /// Column.
    pub column: String,
}

/// Scope of a system variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Not written: the session value, or the global one where there is no other.
    Unspecified,
    /// SESSION or LOCAL.
    Session,
    /// GLOBAL.
    Global,
    /// PERSIST.
    Persist,
    /// PERSIST_ONLY.
    PersistOnly,
}

/// `@@scope.component.name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemVar {
    /// Scope as written.
    pub scope: Scope,
    /// Instance or component before a dot (`hot_cache.key_buffer_size`).
    pub component: Option<String>,
    /// Variable, as spelled.
    pub name: String,
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`.
    Neg,
    /// `+`.
    Plus,
    /// `~`.
    BitNot,
    /// `NOT`.
    Not,
    /// `!`.
    Bang,
}

/// Infix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// OR, `||` without PIPES_AS_CONCAT.
    Or,
    /// XOR.
    Xor,
    /// AND, `&&`.
    And,
    /// `=`.
    Eq,
    /// `<=>`.
    NullSafeEq,
    /// `<>`, `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// SOUNDS LIKE.
    SoundsLike,
    /// `|`.
    BitOr,
    /// `&`.
    BitAnd,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`.
    Div,
    /// DIV.
    IntDiv,
    /// `%`, MOD.
    Mod,
    /// `^`.
    BitXor,
    /// `||` with PIPES_AS_CONCAT.
    Concat,
}

/// Right side of IS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsWhat {
    /// NULL.
    Null,
    /// TRUE.
    True,
    /// FALSE.
    False,
    /// UNKNOWN.
    Unknown,
}

/// A function call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Name, qualified for a stored function; built-in names are upper case, others as spelled.
    pub name: ObjectName,
    /// Arguments in order; keyword arguments (`TRIM(LEADING ..)`, `EXTRACT(YEAR FROM ..)`) see `keyword`.
    pub args: Vec<Expr>,
    /// The keyword inside the parentheses: LEADING, TRAILING, BOTH, a unit of EXTRACT, TIMESTAMPADD,
    /// TIMESTAMPDIFF, DATE/TIME/DATETIME of GET_FORMAT, or a character set of CHAR(.. USING x).
    pub keyword: Option<String>,
    /// An OVER clause (window function).
    pub over: Option<Box<Window>>,
    /// `FROM LAST`, `IGNORE NULLS` or another modifier MySQL itself refuses to run.
    pub modifier: Option<String>,
    /// The name of a built-in function that is one only right before its parenthesis, which stands apart here:
    /// a stored function is meant.
    pub apart: bool,
}

/// An aggregate function call.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// Which.
    pub kind: AggregateKind,
    /// DISTINCT was written.
    pub distinct: bool,
    /// Arguments; empty for `COUNT(*)`.
    pub args: Vec<Expr>,
    /// ORDER BY inside GROUP_CONCAT.
    pub order_by: Vec<OrderItem>,
    /// SEPARATOR of GROUP_CONCAT.
    pub separator: Option<Vec<u8>>,
    /// An OVER clause.
    pub over: Option<Box<Window>>,
}

/// Aggregate functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateKind {
    /// COUNT.
    Count,
    /// SUM.
    Sum,
    /// MIN.
    Min,
    /// MAX.
    Max,
    /// AVG.
    Avg,
    /// BIT_AND.
    BitAnd,
    /// BIT_OR.
    BitOr,
    /// BIT_XOR.
    BitXor,
    /// GROUP_CONCAT.
    GroupConcat,
    /// JSON_ARRAYAGG.
    JsonArrayAgg,
    /// JSON_OBJECTAGG.
    JsonObjectAgg,
    /// STD, STDDEV, STDDEV_POP.
    StddevPop,
    /// STDDEV_SAMP.
    StddevSamp,
    /// VARIANCE, VAR_POP.
    VarPop,
    /// VAR_SAMP.
    VarSamp,
    /// ST_COLLECT.
    StCollect,
}

/// `OVER name` or `OVER (...)`, and the body of a WINDOW clause.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Referenced window.
    pub base: Option<String>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// Frame.
    pub frame: Option<Frame>,
}

/// A window frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// ROWS rather than RANGE (GROUPS is refused by MySQL).
    pub rows: bool,
    /// Start.
    pub start: FrameBound,
    /// End, when BETWEEN was written.
    pub end: Option<FrameBound>,
}

/// One end of a window frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING.
    UnboundedPreceding,
    /// UNBOUNDED FOLLOWING.
    UnboundedFollowing,
    /// CURRENT ROW.
    CurrentRow,
    /// n PRECEDING.
    Preceding(Box<Expr>),
    /// n FOLLOWING.
    Following(Box<Expr>),
}

/// One key of ORDER BY or GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// Key; a plain integer constant is a select-list position.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
}

/// Target of CAST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CastType {
    /// BINARY[(n)].
    Binary(Option<u32>),
    /// CHAR[(n)] with an optional character set.
    Char(Option<u32>, Option<String>),
    /// NCHAR[(n)].
    NChar(Option<u32>),
    /// SIGNED [INTEGER].
    Signed,
    /// UNSIGNED [INTEGER].
    Unsigned,
    /// DATE.
    Date,
    /// TIME[(fsp)].
    Time(u32),
    /// DATETIME[(fsp)].
    Datetime(u32),
    /// DECIMAL[(precision[, scale])].
    Decimal(Option<u32>, Option<u32>),
    /// YEAR.
    Year,
    /// JSON.
    Json,
    /// FLOAT, REAL, DOUBLE: true for DOUBLE and REAL.
    Float(bool),
    /// POINT, LINESTRING and the other spatial types.
    Spatial(String),
}

/// Unit of an INTERVAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

/// Mode of a full-text search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// IN NATURAL LANGUAGE MODE, the default.
    Natural,
    /// IN NATURAL LANGUAGE MODE WITH QUERY EXPANSION, or WITH QUERY EXPANSION.
    Expansion,
    /// IN BOOLEAN MODE.
    Boolean,
}
