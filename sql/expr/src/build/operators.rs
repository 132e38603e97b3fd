//! Operators: arithmetic, logic, bits.

use super::conversion::as_number;
use super::operand_coercion::is_column;
use super::widths::{decimal, precision, scale};
use super::{Builder, one_column};
use crate::SqlError;
use crate::functions::json::STORED_JSON;
use crate::functions::moments::mode;
use crate::functions::number_of_bits;
use crate::tree::{Arithmetic, CallSite, Comparison, Expr, Extra, OwnedDatum, Truth, Typed};
use crate::variables::typed_as;
use parser::ast::{BinaryOp, IsWhat, UnaryOp};
use value::types::NOT_FIXED;
use value::{ColumnType, Decimal, Kind};

impl Builder {
    /// A prefix operator.
    ///
    /// # Errors
    /// 1241 for rows.
    pub fn unary(&self, op: UnaryOp, value: Typed) -> Result<Typed, SqlError> {
        if value.is_row() {
            return Err(one_column());
        }
        match op {
            UnaryOp::Plus => Ok(value),
            UnaryOp::Not | UnaryOp::Bang => {
                let value = self.truth_of(value);
                let nullable = value.ty.nullable;
                Ok(truth(Expr::Not(Box::new(value.expr)), nullable))
            }
            UnaryOp::BitNot => self.named("~", vec![value]),
            UnaryOp::Neg => Ok(self.negate(value)),
        }
    }

    fn negate(&self, value: Typed) -> Typed {
        let number = bits_as_number(value.clone());
        if let (Some(OwnedDatum::Bytes(_)), Some(bits)) = (value.constant(), number.constant())
            && let OwnedDatum::UInt(bits) = *bits
        {
            // Minus of what is written as bits is a double.
            let length = super::widths::DOUBLE_CHARS;
            let ty = ColumnType { length, decimals: 0, ..ColumnType::double() };
            return Typed::new(Expr::Const(OwnedDatum::Double(-(bits as f64))), ty.not_null());
        }
        let constant = match number.ty.kind.is_int() {
            true => super::folded(&number, &self.settings),
            false => None,
        };
        let decimal = constant.and_then(|constant| negated_decimal(&number, &constant));
        decimal.unwrap_or_else(|| negate(number))
    }

    /// An infix operator.
    ///
    /// # Errors
    /// 1241 for rows that do not match, 1267 for collations that do not meet.
    pub fn binary(&self, op: BinaryOp, a: Typed, b: Typed) -> Result<Typed, SqlError> {
        if let Some(comparison) = comparison(op) {
            return self.compare(comparison, a, b);
        }
        if let (BinaryOp::Add | BinaryOp::Sub, Expr::Interval(n, unit)) = (op, &b.expr) {
            return self.add_interval(a, (**n).clone(), *unit, op == BinaryOp::Sub);
        }
        if let (BinaryOp::Add, Expr::Interval(n, unit)) = (op, &a.expr) {
            return self.add_interval(b, (**n).clone(), *unit, false);
        }
        if [&a, &b].into_iter().any(Typed::is_row) {
            return Err(one_column());
        }
        let increment = self.settings.div_increment;
        match op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                Ok(logic(op, self.truth_of(a), self.truth_of(b)))
            }
            BinaryOp::Add => Ok(self.arithmetic(Arithmetic::Add, a, b)),
            BinaryOp::Sub if self.settings.has_mode(mode::NO_UNSIGNED_SUBTRACTION) => {
                let difference = self.arithmetic(Arithmetic::SubSigned, a, b);
                let ty = ColumnType { unsigned: false, ..difference.ty };
                Ok(Typed { ty, ..difference })
            }
            BinaryOp::Sub => Ok(self.arithmetic(Arithmetic::Sub, a, b)),
            BinaryOp::Mul => Ok(self.arithmetic(Arithmetic::Mul, a, b)),
            BinaryOp::Div => Ok(self.arithmetic(Arithmetic::Div(increment), a, b)),
            BinaryOp::IntDiv => Ok(self.arithmetic(Arithmetic::IntDiv, a, b)),
            BinaryOp::Mod => Ok(self.arithmetic(Arithmetic::Mod, a, b)),
            BinaryOp::Concat => self.named("concat", vec![a, b]),
            BinaryOp::BitOr => self.named("|", vec![a, b]),
            BinaryOp::BitAnd => self.named("&", vec![a, b]),
            BinaryOp::BitXor => self.named("^", vec![a, b]),
            BinaryOp::ShiftLeft => self.named("<<", vec![a, b]),
            BinaryOp::ShiftRight => self.named(">>", vec![a, b]),
            BinaryOp::SoundsLike => {
                let (a, b) = (self.named("soundex", vec![a])?, self.named("soundex", vec![b])?);
                self.compare(Comparison::Eq, a, b)
            }
            other => Err(SqlError::unsupported(format!("operator {}", other.construct()))),
        }
    }

    /// `value IS [NOT] what`.
    ///
    /// # Errors
    /// 1241 for rows.
    pub fn is(&self, value: Typed, what: IsWhat, negated: bool) -> Result<Typed, SqlError> {
        if value.is_row() {
            return Err(one_column());
        }
        let what = match what {
            IsWhat::Null => Truth::Null,
            IsWhat::True => Truth::True,
            IsWhat::False => Truth::False,
            IsWhat::Unknown => Truth::Unknown,
        };
        let of_null = matches!(what, Truth::Null | Truth::Unknown);
        if of_null && (is_never_null(&value.expr) || !negated && is_place(&value.expr)) {
            return Ok(truth(Expr::int(i64::from(negated)), false));
        }
        if of_null
            && self.settings.changes
            && let Some(unknown) = unknown_operands(&value.expr)
        {
            return Ok(if negated { not(unknown) } else { unknown });
        }
        let value = if what == Truth::Null { value } else { self.truth_of(value) };
        Ok(truth(Expr::Is(Box::new(value.expr), what, negated), false))
    }

    /// A value as a condition: a JSON value is true if it is not the number 0.
    pub fn truth_of(&self, value: Typed) -> Typed {
        if value.ty.kind != Kind::Json {
            return as_number(value);
        }
        let nullable = value.ty.nullable;
        let zero = Box::new(Expr::int(0));
        let ne = Comparison::Ne;
        truth(Expr::Compare(ne, Box::new(value.expr), zero, value::Collation::Binary), nullable)
    }

    /// Arithmetic over two numbers.
    pub fn arithmetic(&self, op: Arithmetic, a: Typed, b: Typed) -> Typed {
        let (x, y) = (a.ty, b.ty);
        let (a, b) = (typed_as(a, &y), typed_as(b, &x));
        let (a, b) = (as_number(bits_as_number(a)), as_number(bits_as_number(b)));
        let zero_divides = matches!(op, Arithmetic::Div(_) | Arithmetic::IntDiv | Arithmetic::Mod);
        let nullable = zero_divides || a.ty.nullable || b.ty.nullable;
        let ty = ColumnType { nullable, ..arithmetic_type(op, &a.ty, &b.ty) };
        let ty = match ty.kind {
            Kind::Double => ColumnType { decimals: real_digits(op, &a, &b), ..ty },
            _ => ty,
        };
        // The place of a member is an integer, with which MySQL computes as a double.
        let double = |v: Typed| match ty.kind == Kind::Double && v.ty.kind.has_members() {
            true => Typed { expr: super::derive::call(&crate::functions::CAST, &v, ty), ..v },
            false => v,
        };
        let (a, b) = (double(a), double(b));
        Typed::new(Expr::Arith(op, Box::new(a.expr), Box::new(b.expr)), ty)
    }

    /// `value MEMBER OF (array)`.
    ///
    /// # Errors
    /// As [`Builder::invoke`].
    pub fn member_of(&self, value: Typed, array: Typed) -> Result<Typed, SqlError> {
        self.named("member of", vec![value, array])
    }

    /// `INTERVAL n unit`, an operand of `+`, `-` and date functions.
    pub fn interval(&self, n: Typed, unit: parser::ast::IntervalUnit) -> Typed {
        let ty = n.ty;
        Typed::new(Expr::Interval(Box::new(n), super::temporal::unit(unit)), ty)
    }

    /// `(a, b)`.
    pub fn row(&self, parts: Vec<Typed>) -> Typed {
        Typed::new(Expr::Row(parts), ColumnType::varbinary(0))
    }

    /// `value [NOT] REGEXP pattern`.
    ///
    /// # Errors
    /// As [`Builder::invoke`].
    pub fn regexp(&self, value: Typed, pattern: Typed, negated: bool) -> Result<Typed, SqlError> {
        let call = self.invoke(
            crate::functions::known("regexp_like")?,
            vec![value, pattern],
            Extra::None,
        )?;
        Ok(if negated { not(call) } else { call })
    }
}

/// Whether a condition is true or false whatever it is about.
fn is_never_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Is(..) | Expr::Compare(Comparison::NullSafeEq, ..))
}

/// Whether one of the operands is NULL that a comparison would compare: UPDATE and DELETE do not compare to find out
/// whether the result is, and so have no error of operands that are no numbers or dates.
fn unknown_operands(expr: &Expr) -> Option<Typed> {
    let (a, b) = match expr {
        Expr::Not(inner) => return unknown_operands(inner),
        Expr::Compare(op, a, b, _) if *op != Comparison::NullSafeEq => (a, b),
        Expr::Xor(a, b) => (a, b),
        _ => return None,
    };
    let is_null = |operand: &Expr| {
        Box::new(Expr::Is(Box::new(operand.unconverted().clone()), Truth::Null, false))
    };
    Some(truth(Expr::Or(is_null(a), is_null(b)), false))
}

/// Whether a value is the place that FIELD gives, 0 if there is none: IS NULL does not compute it.
fn is_place(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(site) if site.function.name == "field")
}

/// NOT of a condition.
pub(crate) fn not(value: Typed) -> Typed {
    let nullable = value.ty.nullable;
    truth(Expr::Not(Box::new(value.expr)), nullable)
}

/// A condition's type.
pub(crate) fn truth(expr: Expr, nullable: bool) -> Typed {
    let ty = ColumnType { length: 1, nullable, ..ColumnType::int(Kind::BigInt, false) };
    Typed::new(expr, ty)
}

fn logic(op: BinaryOp, a: Typed, b: Typed) -> Typed {
    let nullable = a.ty.nullable || b.ty.nullable;
    let (a, b) = (Box::new(a.expr), Box::new(b.expr));
    let expr = match op {
        BinaryOp::And => Expr::And(a, b),
        BinaryOp::Or => Expr::Or(a, b),
        _ => Expr::Xor(a, b),
    };
    truth(expr, nullable)
}

/// A constant integer whose sign MySQL takes for one of BIGINT's limits: minus of it is a decimal.
fn negated_decimal(value: &Typed, constant: &OwnedDatum) -> Option<Typed> {
    let number = match *constant {
        OwnedDatum::Int(v) if v < 0 => i128::from(v),
        OwnedDatum::UInt(v) if v > i64::MAX as u64 => i128::from(v),
        _ => return None,
    };
    let literal = value.constant().is_some();
    if literal && number == i128::from(i64::MIN).abs() {
        return None;
    }
    let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::decimal(20, 0) };
    let ty = ColumnType { length: precision(&value.ty).clamp(1, 20), ..ty };
    let negated = value::Decimal::from_i128(-number, 0);
    Some(Typed::new(Expr::Const(OwnedDatum::Decimal(negated)), ty))
}

fn negate(value: Typed) -> Typed {
    let value = as_number(bits_as_number(value));
    let value = match value.ty.kind {
        // Dates and times are doubles here, unlike in arithmetic.
        kind if kind.has_date() || kind == Kind::Time => {
            let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::double() };
            Typed { expr: super::derive::call(&crate::functions::CAST, &value, ty), ..value }
        }
        _ => value,
    };
    let ty = value.ty;
    let signed = |ty: ColumnType| ColumnType { unsigned: false, zerofill: false, ..ty };
    // A literal is folded, so that it has the length of what was written.
    if let Some(constant) = value.constant()
        && let Ok(folded) = value::neg(constant.datum())
        && (ty.kind.is_int() || ty.kind == Kind::Decimal || ty.kind == Kind::Double)
    {
        let sign = u32::from(ty.unsigned || ty.kind == Kind::Double);
        let ty = signed(ColumnType { length: ty.length + sign, ..ty });
        return Typed { expr: Expr::Const(OwnedDatum::of(&folded)), ty, ..value };
    }
    let minimum = matches!(value.constant(), Some(OwnedDatum::Int(i64::MIN)));
    let result = match ty.kind {
        _ if minimum => ColumnType { nullable: false, ..ColumnType::decimal(19, 0) },
        kind if kind.is_int() || matches!(kind, Kind::Year | Kind::Bit) => {
            let length = precision(&ty) + 1;
            signed(ColumnType { kind: Kind::BigInt, length, ..ty })
        }
        Kind::Decimal => signed(ty),
        _ => {
            let decimals = value_digits(&value);
            ColumnType { length: 23, decimals, nullable: ty.nullable, ..ColumnType::double() }
        }
    };
    let expr = if minimum {
        Expr::Const(OwnedDatum::Decimal(value::Decimal::from_i128(-i128::from(i64::MIN), 0)))
    } else {
        Expr::Neg(Box::new(value.expr))
    };
    Typed::new(expr, result)
}

/// A literal written as bits, as the number that it is in arithmetic: its last eight bytes.
pub(crate) fn bits_as_number(value: Typed) -> Typed {
    let Some(OwnedDatum::Bytes(bytes)) = value.constant() else { return value };
    let Some(number) = number_of_bits(&value.ty, bytes) else { return value };
    let ty = ColumnType::int(Kind::BigInt, true).not_null();
    Typed::new(Expr::Const(OwnedDatum::UInt(number)), ty)
}

/// A value that is stored in a column of that kind: bits that are written as such are a number among numbers,
/// JSON is converted with its own warnings. Dates and times that IF, CASE, GREATEST and their kin choose are texts
/// there, and so is JSON in a column of bits.
pub fn stored(value: &Typed, kind: Kind) -> Typed {
    let scalar = matches!(kind, Kind::Decimal | Kind::Date | Kind::DateTime | Kind::Timestamp);
    let scalar = scalar || kind.is_int() || kind.is_float() || kind == Kind::Time;
    if value.ty.kind == Kind::Json && scalar {
        let ty = ColumnType { decimals: 6, ..ColumnType::of(kind) };
        return Typed::new(super::derive::call(&STORED_JSON, value, ty), ty);
    }
    let moment = value.ty.kind.has_date() || value.ty.kind == Kind::Time;
    // A year is made of the digits of a column of moments or times, which hardly ever are one.
    if kind == Kind::Year && moment && value.ty.kind != Kind::Date && is_column(value) {
        return super::operand_coercion::digits(value.clone());
    }
    // A moment gives its time of day; what is chosen is read as text, with a note.
    let dated = moment && !matches!(value.ty.kind, Kind::Date | Kind::Time);
    if kind == Kind::Time && dated && !is_kept_as_text(&value.expr) {
        return super::operand_coercion::time_part(value.clone());
    }
    let through_text = moment && kind.is_number() && is_kept_as_text(&value.expr);
    if through_text || value.ty.kind == Kind::Json && kind == Kind::Bit {
        let ty = super::string(super::widths::chars(&value.ty), value::Collation::Utf8mb4Bin);
        let ty = ColumnType { nullable: value.ty.nullable, ..ty };
        return Typed::new(super::derive::call(&crate::functions::AS_ALIKE, value, ty), ty);
    }
    // What CAST makes a FLOAT has all digits of the double.
    if value.ty.kind == Kind::Float && kind.is_string() && matches!(value.expr, Expr::Call(_)) {
        let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::double() };
        return Typed { ty, ..value.clone() };
    }
    // As text a column of texts has all digits of a double, however many are shown.
    if value.ty.kind.is_float() && kind.is_string() {
        let ty = ColumnType { decimals: value::types::NOT_FIXED, ..value.ty };
        return Typed { ty, ..value.clone() };
    }
    match kind.is_number() || kind == Kind::Year {
        true if kind.is_int() && is_beyond_numbers(value) => {
            let beyond = Decimal::from_i128(1 << 65, 0);
            let ty = ColumnType::decimal(20, 0).not_null();
            Typed::new(Expr::Const(OwnedDatum::Decimal(beyond)), ty)
        }
        true => bits_as_number(value.clone()),
        false if kind == Kind::Json => in_document(value.clone()),
        false if kind.is_string() => {
            in_document(super::conversion::kept_number(value.clone(), kind.is_large()))
        }
        false => value.clone(),
    }
}

/// Whether a literal is written as more bits than an integer has.
fn is_beyond_numbers(value: &Typed) -> bool {
    let written = value.ty.kind == Kind::VarBinary && value.ty.decimals == 0;
    written && matches!(value.constant(), Some(OwnedDatum::Bytes(bytes)) if bytes.len() > 8)
}

/// A decimal as a document has it: with the digits that it is computed with.
pub fn in_document(value: Typed) -> Typed {
    /// Digits of a second's fraction.
    const MICROS: u8 = 6;
    super::conversion::with_own_digits(value, MICROS)
}

/// Whether a date or time that an expression gives is text when it is stored.
fn is_kept_as_text(expr: &Expr) -> bool {
    let extreme = |site: &CallSite| matches!(site.function.name, "greatest" | "least");
    super::conversion::chooses(expr) || matches!(expr, Expr::Call(site) if extreme(site))
}

/// Whether a value takes part in arithmetic as a double.
fn is_double(ty: &ColumnType) -> bool {
    ty.kind.is_float() || ty.kind.is_string() || ty.kind.has_members() || ty.kind == Kind::Json
}

fn is_exact_int(ty: &ColumnType) -> bool {
    let whole_time = ty.kind.is_temporal() && ty.decimals == 0;
    ty.kind.is_int() || whole_time || matches!(ty.kind, Kind::Bit | Kind::Year)
}

/// Digits behind the point of a double that is computed from two values: fixed where both have so many.
fn real_digits(op: Arithmetic, a: &Typed, b: &Typed) -> u8 {
    let (x, y) = (value_digits(a), value_digits(b));
    match op {
        _ if x.max(y) >= NOT_FIXED => NOT_FIXED,
        Arithmetic::Div(increment) => (x.max(y) + increment).min(NOT_FIXED),
        _ => x.max(y),
    }
}

/// Digits behind the point of a value as a double; the literal NULL has none.
pub(crate) fn value_digits(value: &Typed) -> u8 {
    match value.ty.kind {
        _ if value.is_null() => 0,
        kind if kind.is_int() => 0,
        kind if kind.is_float() || kind == Kind::Decimal => value.ty.decimals,
        kind if kind.has_date() || kind == Kind::Time => value.ty.decimals,
        Kind::Year | Kind::Bit => 0,
        _ => NOT_FIXED,
    }
}

fn arithmetic_type(op: Arithmetic, a: &ColumnType, b: &ColumnType) -> ColumnType {
    let unsigned = a.unsigned || b.unsigned;
    let int = |digits: u32, unsigned: bool| {
        let length = digits + u32::from(!unsigned);
        ColumnType { length, ..ColumnType::int(Kind::BigInt, unsigned) }
    };
    if op == Arithmetic::IntDiv {
        let digits = precision(a).saturating_sub(scale(a)).clamp(1, 20);
        return int(digits, unsigned);
    }
    if is_double(a) || is_double(b) {
        return ColumnType { length: super::widths::DOUBLE_CHARS, ..ColumnType::double() };
    }
    let (pa, pb, sa, sb) = (precision(a), precision(b), scale(a), scale(b));
    if let Arithmetic::Div(increment) = op {
        let (increment, scale) = (u32::from(increment), (sa + u32::from(increment)).min(30));
        let digits = (pa + increment + sb).min(65);
        return decimal(digits.saturating_sub(scale), scale, a.unsigned && b.unsigned);
    }
    if is_exact_int(a) && is_exact_int(b) {
        return match op {
            Arithmetic::Mul => int((pa + pb).min(20), unsigned),
            Arithmetic::Mod => int(pa.max(pb.min(pa)), a.unsigned),
            _ => int(pa.max(pb).min(20) + 1, unsigned),
        };
    }
    let (wa, wb) = (pa - sa.min(pa), pb - sb.min(pb));
    let both = a.unsigned && b.unsigned;
    match op {
        Arithmetic::Mul => decimal((pa + pb).saturating_sub(sa + sb), sa + sb, both),
        Arithmetic::Mod => decimal(wa.max(wb), sa.max(sb), a.unsigned),
        _ => decimal(wa.max(wb) + 1, sa.max(sb), both),
    }
}

fn comparison(op: BinaryOp) -> Option<Comparison> {
    Some(match op {
        BinaryOp::Eq => Comparison::Eq,
        BinaryOp::NullSafeEq => Comparison::NullSafeEq,
        BinaryOp::Ne => Comparison::Ne,
        BinaryOp::Lt => Comparison::Lt,
        BinaryOp::Le => Comparison::Le,
        BinaryOp::Gt => Comparison::Gt,
        BinaryOp::Ge => Comparison::Ge,
        _ => return None,
    })
}
