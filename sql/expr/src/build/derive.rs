//! What functions ask and do while they derive their result type.

use super::Settings;
use super::common::common;
use super::widths;
use crate::SqlError;
use crate::functions::{AS_ALIKE, AS_CHARSET, CAST, CONVERT_CHARSET, Function, number_of_bits};
use crate::refused::Refused;
use crate::tree::{CallSite, Expr, Extra, OwnedDatum, Typed};
use value::collation::aggregate::{Claim, Coercibility, Purpose, aggregate};
use value::types::NOT_FIXED;
use value::{Charset, Collation, ColumnType, Kind};

/// A call whose type is being derived.
pub struct Derive<'a> {
    /// The function.
    pub name: &'static str,
    /// Its arguments; wrapped in conversions where need be.
    pub args: &'a mut Vec<Typed>,
    /// What else was written.
    pub extra: Extra,
    /// The session.
    pub settings: &'a Settings,
    /// Collation of the arguments' text, once asked for.
    pub collation: Collation,
    /// The result's claim, when it is not that of its type.
    pub coercibility: Option<Coercibility>,
}

impl<'a> Derive<'a> {
    pub(crate) fn new(
        name: &'static str,
        args: &'a mut Vec<Typed>,
        extra: Extra,
        settings: &'a Settings,
    ) -> Derive<'a> {
        // Characters of a single text argument are those of its own character set.
        let first = args.iter().find(|a| is_stringy(&a.ty)).map(|a| a.ty.collation);
        let collation = first.unwrap_or(settings.collation);
        Derive { name, args, extra, settings, collation, coercibility: None }
    }

    /// Whether an argument may be NULL.
    pub fn nullable(&self) -> bool {
        self.args.iter().any(|a| a.ty.nullable)
    }

    /// Type of argument `n`.
    pub fn ty(&self, n: usize) -> ColumnType {
        self.args.get(n).map_or(ColumnType::varbinary(0), |a| a.ty)
    }

    /// BIGINT of so many characters.
    pub fn int(&self, width: u32) -> ColumnType {
        let ty = ColumnType::int(Kind::BigInt, false);
        ColumnType { length: width, nullable: self.nullable(), ..ty }
    }

    /// BIGINT UNSIGNED of so many characters.
    pub fn uint(&self, width: u32) -> ColumnType {
        ColumnType { unsigned: true, ..self.int(width) }
    }

    /// DOUBLE.
    pub fn double(&self) -> ColumnType {
        let ty = ColumnType::double();
        ColumnType { length: widths::DOUBLE_CHARS, nullable: self.nullable(), ..ty }
    }

    /// Characters of argument `n` as text.
    pub fn chars(&self, n: usize) -> u32 {
        widths::chars(&self.ty(n))
    }

    /// Characters of all arguments from `first` on, as text.
    pub fn chars_from(&self, first: usize) -> u32 {
        (first..self.args.len()).map(|n| self.chars(n)).fold(0, u32::saturating_add)
    }

    /// Argument `n` as an integer, when it is a constant.
    pub fn constant_int(&self, n: usize) -> Option<i64> {
        match self.args.get(n)?.constant()? {
            OwnedDatum::Int(v) => Some(*v),
            OwnedDatum::UInt(v) => Some(i64::try_from(*v).unwrap_or(i64::MAX)),
            OwnedDatum::Null => None,
            OwnedDatum::Bytes(text) => {
                let v = crate::functions::leading_integer(text).0;
                Some(v.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
            }
            other => Some(crate::functions::round(&other.datum()) as i64),
        }
    }

    /// Brings the arguments from `first` on to one collation and character set; the call's.
    ///
    /// # Errors
    /// 1267 and its kin.
    pub fn text(&mut self, first: usize) -> Result<Collation, SqlError> {
        self.text_of(first..self.args.len())
    }

    /// As [`Derive::text`], for some of the arguments.
    ///
    /// # Errors
    /// 1267 and its kin.
    pub fn text_of(&mut self, range: std::ops::Range<usize>) -> Result<Collation, SqlError> {
        for value in &mut self.args[range.clone()] {
            match value.ty.kind {
                Kind::Decimal => *value = super::conversion::as_text(value.clone()),
                Kind::Year => *value = super::conversion::year_as_text(value.clone()),
                _ => {}
            }
        }
        let claim = meet(&mut self.args[range], self.name, Purpose::Result, self.settings)?;
        self.collation = claim.collation;
        self.coercibility = Some(claim.coercibility);
        Ok(claim.collation)
    }

    /// Lets text `leader` alone choose the collation; the others follow it into its character set: 3854 for what that
    /// lacks.
    ///
    /// # Errors
    /// 1267 and its kin.
    pub fn text_led_by(&mut self, leader: usize, others: &[usize]) -> Result<(), SqlError> {
        // The literal NULL has nothing to say, and all is NULL.
        if self.args.get(leader).is_some_and(Typed::is_null) {
            self.collation = Collation::Binary;
            self.coercibility = Some(Coercibility::Ignorable);
            return Ok(());
        }
        let collation = self.text_of(leader..leader + 1)?;
        for &n in others {
            let Some(value) = self.args.get_mut(n) else { continue };
            if value.ty.kind == Kind::Decimal {
                *value = super::conversion::as_text(value.clone());
            }
            let (from, to) = (value.ty.collation.charset(), collation.charset());
            if is_stringy(&value.ty) && !value.is_null() && !stands_in(from, to) {
                *value = converted(&AS_CHARSET, value.clone(), collation);
            }
        }
        Ok(())
    }

    /// As [`Derive::text_of`], for a comparison.
    ///
    /// # Errors
    /// 1267 and its kin.
    pub fn compared(&mut self, range: std::ops::Range<usize>) -> Result<Collation, SqlError> {
        let claim = meet(&mut self.args[range], self.name, Purpose::Compare, self.settings)?;
        self.collation = claim.collation;
        Ok(claim.collation)
    }

    /// Makes text of argument `n` if it is bytes: 3854 where they are none.
    pub fn bytes_as_text(&mut self, n: usize, collation: Collation) {
        let Some(value) = self.args.get_mut(n) else { return };
        let bytes = value.ty.kind.is_string() && value.ty.collation == Collation::Binary;
        if bytes && collation != Collation::Binary && !value.is_null() {
            *value = converted(&AS_CHARSET, value.clone(), collation);
        }
    }

    /// Text of so many characters in the call's collation, or bytes; perhaps NULL whatever the
    /// arguments are.
    pub fn string(&self, chars: u32) -> ColumnType {
        string(chars, self.collation)
    }

    /// Text in the connection's collation: what information functions and numbers' texts are.
    pub fn own_string(&mut self, chars: u32) -> ColumnType {
        self.collation = self.settings.collation;
        self.coercibility = Some(Coercibility::Coercible);
        string(chars, self.settings.collation)
    }

    /// Bytes.
    pub fn bytes(&mut self, length: u32) -> ColumnType {
        self.coercibility = Some(Coercibility::Coercible);
        ColumnType { decimals: NOT_FIXED, ..ColumnType::varbinary(length) }
    }

    /// The one type of some arguments, which are converted to it.
    ///
    /// # Errors
    /// 1267 and its kin.
    pub fn common(&mut self, range: std::ops::Range<usize>) -> Result<ColumnType, SqlError> {
        let (ty, claim) = unify(&mut self.args[range], self.name, self.settings)?;
        if let Some(claim) = claim {
            self.collation = claim.collation;
            self.coercibility = Some(claim.coercibility);
        }
        Ok(ty)
    }

    /// 1582: a number of arguments that the function does not take.
    pub fn wrong_count(&self) -> SqlError {
        super::wrong_count(self.name)
    }

    /// A refusal: 1210.
    pub fn incorrect(&self) -> SqlError {
        Refused::WrongArguments(self.name).into()
    }
}

/// Text or bytes of so many characters.
pub fn string(chars: u32, collation: Collation) -> ColumnType {
    let ty = match collation {
        Collation::Binary => ColumnType::varbinary(chars),
        _ => ColumnType::varchar(chars, collation),
    };
    ColumnType { decimals: NOT_FIXED, ..ty }
}

/// Whether values have a character set of their own, `binary` included.
pub fn is_stringy(ty: &ColumnType) -> bool {
    ty.kind.is_string() || ty.kind.has_members()
}

/// A value's claim to its collation.
pub fn claim(value: &Typed, settings: &Settings) -> Claim {
    if value.is_null() {
        return Claim { ascii: true, ..Claim::new(Collation::Binary, Coercibility::Ignorable) };
    }
    if crate::variables::is_unset(&value.expr) {
        return Claim::new(value.ty.collation, Coercibility::Coercible);
    }
    if value.ty.kind == Kind::Json {
        return Claim::new(Collation::Utf8mb4Bin, value.coercibility);
    }
    if value.ty.kind == Kind::Bit {
        return Claim::new(Collation::Binary, value.coercibility);
    }
    if !is_stringy(&value.ty) {
        // REGEXP_LIKE and REGEXP_INSTR keep the collation that they search in.
        let claim = match &value.expr {
            Expr::Call(site) if value.coercibility != Coercibility::Numeric => {
                Claim::new(site.collation, value.coercibility)
            }
            _ => Claim::new(settings.collation, Coercibility::Numeric),
        };
        return Claim { ascii: true, ..claim };
    }
    match value.constant() {
        Some(OwnedDatum::Bytes(bytes)) => {
            Claim::of_constant(value.ty.collation, value.coercibility, bytes)
        }
        _ => Claim::new(value.ty.collation, value.coercibility),
    }
}

/// Whether text of one character set is text of another as it stands.
fn stands_in(from: Charset, to: Charset) -> bool {
    let widened = from == Charset::Utf8mb3 && to == Charset::Utf8mb4;
    widened || from == to || to == Charset::Binary
}

/// Brings values to one collation, converting those of other character sets.
pub fn meet(
    values: &mut [Typed],
    operation: &str,
    purpose: Purpose,
    settings: &Settings,
) -> Result<Claim, SqlError> {
    let claims: Vec<Claim> = values.iter().map(|v| claim(v, settings)).collect();
    let met = aggregate(&claims, purpose, settings.collation).map_err(|conflict| {
        let (number, text) = conflict.error(operation);
        SqlError::Other(number, "HY000", text)
    })?;
    let to = met.collation.charset();
    for value in values.iter_mut() {
        let from = value.ty.collation.charset();
        if let Some(OwnedDatum::Bytes(bytes)) = value.constant()
            && from == Charset::Binary
            && is_stringy(&value.ty)
            && !to.is_valid(bytes)
        {
            return Err(crate::functions::not_convertible(bytes, from, to));
        }
        let plain = stands_in(from, to) || from == Charset::Binary;
        if is_stringy(&value.ty) && !value.is_null() && !plain {
            *value = converted(&AS_CHARSET, value.clone(), met.collation);
        }
    }
    Ok(met)
}

/// Text in another character set; `?` stands for what that lacks.
pub fn convert(value: Typed, collation: Collation) -> Typed {
    converted(&CONVERT_CHARSET, value, collation)
}

fn converted(function: &'static Function, value: Typed, collation: Collation) -> Typed {
    let chars = widths::chars(&value.ty);
    let bytes = value.ty.collation == Collation::Binary;
    let ty = ColumnType { nullable: value.ty.nullable || bytes, ..string(chars, collation) };
    let (from, to) = (value.ty.collation.charset(), collation.charset());
    if let Some(OwnedDatum::Bytes(bytes)) = value.constant()
        && from != Charset::Binary
        && to != Charset::Binary
    {
        let mut out = Vec::new();
        if !value::charset::convert(bytes, from, to, &mut out).any() {
            return Typed { expr: Expr::Const(OwnedDatum::Bytes(out)), ty, ..value };
        }
    }
    Typed { expr: call(function, &value, ty), ty, ..value }
}

/// A call of one argument that needs no derivation.
pub fn call(function: &'static Function, value: &Typed, ty: ColumnType) -> Expr {
    let site = CallSite {
        function,
        arguments: vec![value.expr.clone()],
        types: vec![value.ty],
        ty,
        collation: ty.collation,
        extra: Extra::None,
    };
    Expr::Call(Box::new(site))
}

/// The one type of several values, which are converted to it, and its claim when it is text.
pub fn unify(
    values: &mut [Typed],
    operation: &str,
    settings: &Settings,
) -> Result<(ColumnType, Option<Claim>), SqlError> {
    let all: Vec<&Typed> = values.iter().collect();
    let mut ty = common(&all, settings.collation);
    let mut claim = None;
    if ty.kind.is_string() {
        let met = meet(values, operation, Purpose::Result, settings)?;
        let all: Vec<&Typed> = values.iter().collect();
        ty = common(&all, met.collation);
        claim = Some(met);
    }
    for value in values.iter_mut() {
        *value = crate::variables::typed_as(value.clone(), &ty);
        // Bits keep their wrapping, which knows that they may be wanted as a number.
        let bits = ty.kind.is_string() && is_bits(value);
        if ty.kind.is_string() && value.ty.kind == Kind::Decimal {
            *value = super::conversion::as_text(value.clone());
        }
        if !value.is_null() && (bits || differs(&value.ty, &ty)) {
            let to = ColumnType { nullable: value.ty.nullable, ..ty };
            *value = Typed::new(call(&AS_ALIKE, value, to), to);
        }
    }
    Ok((ty, claim))
}

/// A value of a set operation as one of the column's type: as [`alike`], and bits among texts are a number.
pub fn united(value: &mut Typed, ty: &ColumnType) {
    if ty.kind.is_string() {
        *value = super::conversion::kept_number(value.clone(), ty.kind.is_large());
        *value = super::conversion::kept_float(value.clone(), ty);
    }
    if ty.kind.is_string() && value.ty.kind.has_members() {
        // Members are the texts of their names from here on: that of an error value is empty.
        let (nullable, collation) = (value.ty.nullable, value.ty.collation);
        let to = ColumnType { nullable, collation, ..*ty };
        *value = Typed { expr: call(&CAST, value, to), ty: to, ..value.clone() };
    }
    alike(value, ty);
}

/// A value as one of the type that several have, where another type shows: numbers, decimals among texts, and times
/// among moments.
pub fn alike(value: &mut Typed, ty: &ColumnType) {
    /// Of UNIX_TIMESTAMP, with the point.
    const UNIX_SECONDS_CHARS: u32 = 11;
    if ty.kind.is_string() && value.ty.kind == Kind::Decimal {
        // UNIX_TIMESTAMP shows as many digits as the column has room for.
        let micros = ty.length.saturating_sub(UNIX_SECONDS_CHARS).min(6) as u8;
        *value = super::conversion::with_own_digits(value.clone(), micros);
    }
    if ty.kind.is_string() && value.ty.kind == Kind::Year {
        // Its zero is one digit among texts.
        let int = ColumnType { nullable: value.ty.nullable, ..ColumnType::int(Kind::Int, true) };
        *value = Typed::new(call(&AS_ALIKE, value, int), int);
    }
    let (from, to) = (value.ty.collation.charset(), ty.collation.charset());
    let convertible = is_stringy(&value.ty) && ty.kind.is_string() && !value.is_null();
    let same = from == to || from == Charset::Utf8mb3 && to == Charset::Utf8mb4;
    if convertible && !same && from != Charset::Binary && to != Charset::Binary {
        *value = converted(&AS_CHARSET, value.clone(), ty.collation);
    }
    let bits = matches!(value.ty.kind, Kind::Year | Kind::Bit);
    let inexact = ty.kind == Kind::Double || ty.kind == Kind::Decimal;
    let told = inexact && value.ty.kind.is_number() || bits && ty.kind.is_number();
    let dated = value.ty.kind == Kind::Time && ty.kind == Kind::DateTime;
    if (told || dated) && differs(&value.ty, ty) {
        let to = ColumnType { nullable: value.ty.nullable, ..*ty };
        *value = Typed::new(call(&AS_ALIKE, value, to), to);
    }
}

/// A literal that is written as bits.
fn is_bits(value: &Typed) -> bool {
    match value.constant() {
        Some(OwnedDatum::Bytes(bytes)) => number_of_bits(&value.ty, bytes).is_some(),
        _ => false,
    }
}

/// Whether a value of one type has to change its kind to be one of the other.
fn differs(from: &ColumnType, to: &ColumnType) -> bool {
    let class = |t: &ColumnType| match t.kind {
        kind if kind.is_int() => (0, t.unsigned, 0),
        Kind::Double | Kind::Float => (1, false, 0),
        Kind::Decimal => (2, false, t.decimals),
        kind if kind.is_string() => (3, false, 0),
        Kind::DateTime | Kind::Timestamp => (4, false, t.decimals),
        Kind::Time => (5, false, t.decimals),
        other => (6 + other as u8, false, 0),
    };
    class(from) != class(to)
}
