//! User variables: what is kept of a value, and the type under which a statement reads it.
//!
//! 1. A value is kept as an integer, a double, a decimal or text; dates, times and documents are their text. 2. A
//! statement reads a variable under the type that it had when the statement was planned, whatever is assigned
//! meanwhile. 3. A variable that was never set has no type of its own: it takes that of its surroundings, or is text.

use crate::functions::{Purity, call};
use crate::tree::{Expr, Typed};
use std::hash::{DefaultHasher, Hash, Hasher};
use value::{Charset, Collation, ColumnType, Datum, Kind, OwnedDatum, number};

/// Characters of text in a variable, per byte that a character may have.
const TEXT_LENGTH: u32 = 16_777_215;

/// Characters that a variable's integer may have.
const INTEGER_LENGTH: u32 = 21;

/// Characters of a variable that was never set; no other has a text of this length.
const UNSET_LENGTH: u32 = 16_383;

/// The type of a variable that was never set, where nothing around it says another.
#[must_use]
pub fn unset_type(collation: Collation) -> ColumnType {
    let text = ColumnType::varchar(UNSET_LENGTH, collation);
    ColumnType { decimals: value::types::NOT_FIXED, ..text }
}

/// Whether an expression is a user variable that was never set.
#[must_use]
pub fn is_unset(expr: &Expr) -> bool {
    matches!(expr, Expr::UserVar(_, ty) if ty.kind == Kind::VarChar && ty.length == UNSET_LENGTH)
}

/// A user variable that was never set takes the type of a number beside it; everything else stays.
#[must_use]
pub fn typed_as(value: Typed, other: &ColumnType) -> Typed {
    let ty = match other.kind {
        kind if kind.is_number() => variable_type(other),
        _ => return value,
    };
    match value.expr {
        Expr::UserVar(name, _) if is_unset(&Expr::UserVar(name.clone(), value.ty)) => {
            Typed::new(Expr::UserVar(name, ty), ty)
        }
        _ => value,
    }
}

/// A value that is compared several times but computed once: as it is computed, and where it is found afterwards.
#[must_use]
pub fn once(value: Typed) -> (Typed, Option<(Expr, Expr)>) {
    let mut changes = false;
    value.expr.visit(&mut |e| {
        changes |= match e {
            Expr::AssignUserVar(..) => true,
            Expr::Call(site) => site.function.purity == Purity::Volatile,
            _ => false,
        };
    });
    let kept = variable_type(&value.ty);
    // A date would be text afterwards.
    let same = value.ty.kind.is_string() || !kept.kind.is_string();
    if !changes || !same {
        return (value, None);
    }
    let (computed, name) = match value.expr {
        Expr::AssignUserVar(ref name, ..) => (value.expr.clone(), name.clone()),
        expr => {
            // No user can write such a name.
            let mut hasher = DefaultHasher::new();
            expr.hash(&mut hasher);
            let name = format!("\0{:x}", hasher.finish());
            (Expr::AssignUserVar(name.clone(), Box::new(expr), value.ty), name)
        }
    };
    let read = Expr::UserVar(name, kept);
    (Typed { expr: computed.clone(), ..value }, Some((computed, read)))
}

/// An expression with what [`once`] computes read where it is found afterwards.
#[must_use]
pub fn again_of(expr: &Expr, (computed, read): &(Expr, Expr)) -> Expr {
    let mut again = expr.clone();
    again.rewrite(&mut |e| {
        let found = e == computed;
        if found {
            *e = read.clone();
        }
        found
    });
    again
}

/// What user and system variables are while a statement is planned.
pub trait Variables {
    /// The type of a user variable; `None` if it was never set.
    fn user_variable_type(&self, name: &str) -> Option<ColumnType>;
    /// The type of a system variable; `None` if there is none of that name.
    fn system_variable_type(&self, name: &str) -> Option<ColumnType>;
}

/// Variables that nobody has set.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoVariables;

impl Variables for NoVariables {
    fn user_variable_type(&self, _: &str) -> Option<ColumnType> {
        None
    }

    fn system_variable_type(&self, _: &str) -> Option<ColumnType> {
        None
    }
}

/// The value of a user variable with its type.
#[derive(Debug, Clone, PartialEq)]
pub struct UserVariable {
    value: OwnedDatum,
    ty: ColumnType,
}

/// The type of a variable that keeps values of type `ty`.
#[must_use]
pub fn variable_type(ty: &ColumnType) -> ColumnType {
    match ty.kind {
        Kind::Double | Kind::Float => ColumnType::double(),
        Kind::Decimal => ColumnType::decimal(65, 30),
        Kind::Json => text_type(Collation::Utf8mb4Bin),
        kind if kind.is_int() || matches!(kind, Kind::Year | Kind::Bit) => {
            ColumnType { length: INTEGER_LENGTH, ..ColumnType::int(Kind::BigInt, ty.unsigned) }
        }
        kind if kind.is_temporal() => text_type(Charset::Latin1.default_collation()),
        _ => text_type(ty.collation),
    }
}

fn text_type(collation: Collation) -> ColumnType {
    let ty = match collation {
        Collation::Binary => ColumnType::varbinary(TEXT_LENGTH),
        _ => {
            let bytes = collation.charset().bytes_per_char_max();
            ColumnType::varchar(TEXT_LENGTH * bytes, collation)
        }
    };
    ColumnType { decimals: value::types::NOT_FIXED, ..ty }
}

/// The type of what an assignment comes to: that of its value, as a variable keeps it.
#[must_use]
pub fn assigned_type(ty: &ColumnType) -> ColumnType {
    let kept = variable_type(ty);
    let length = match ty.kind {
        Kind::Decimal => return *ty,
        kind if kind.is_int() => ty.display_width(),
        Kind::Year | Kind::Bit => ty.display_width(),
        kind if kind.is_string() || kind.has_members() => ty.length,
        _ => kept.length,
    };
    ColumnType { length, nullable: ty.nullable, ..kept }
}

impl UserVariable {
    /// What is kept of a value of type `ty`.
    #[must_use]
    pub fn of(value: OwnedDatum, ty: &ColumnType) -> UserVariable {
        let kept = variable_type(ty);
        let value = match (value, kept.kind) {
            (OwnedDatum::Null, _) => OwnedDatum::Null,
            (value @ OwnedDatum::Bytes(_), Kind::VarChar | Kind::VarBinary) => value,
            (value, kind) if kind.is_string() => {
                let mut text = Vec::new();
                call::append_text(&value.datum(), ty, &mut text);
                OwnedDatum::Bytes(text)
            }
            (value, _) => number_as(&value.datum(), &kept),
        };
        UserVariable { value, ty: kept }
    }

    /// Its type.
    #[must_use]
    pub fn ty(&self) -> ColumnType {
        self.ty
    }

    /// The value as it is kept.
    #[must_use]
    pub fn value(&self) -> &OwnedDatum {
        &self.value
    }

    /// The value under the type by which a statement knows the variable.
    #[must_use]
    pub fn read(&self, ty: &ColumnType) -> OwnedDatum {
        match &self.value {
            OwnedDatum::Null => OwnedDatum::Null,
            value if !ty.kind.is_string() => number_as(&value.datum(), ty),
            OwnedDatum::Bytes(bytes) => {
                let (from, to) = (self.ty.collation.charset(), ty.collation.charset());
                if from == to || from == Charset::Binary || to == Charset::Binary {
                    return OwnedDatum::Bytes(bytes.clone());
                }
                let mut text = Vec::with_capacity(bytes.len());
                value::charset::convert(bytes, from, to, &mut text);
                OwnedDatum::Bytes(text)
            }
            number => {
                let mut text = Vec::new();
                call::append_text(&number.datum(), &self.ty, &mut text);
                OwnedDatum::Bytes(text)
            }
        }
    }
}

/// A value as the number that a type of BIGINT, DOUBLE or DECIMAL holds; nothing warns of what is cut.
fn number_as(value: &Datum<'_>, ty: &ColumnType) -> OwnedDatum {
    match (ty.kind, *value) {
        (Kind::Double, Datum::Bytes(text)) => OwnedDatum::Double(number::double_of_text(text).0),
        (Kind::Double, _) => OwnedDatum::Double(value::compare::to_double(value)),
        (Kind::Decimal, _) => OwnedDatum::Decimal(call::decimal_of(value).0),
        (_, Datum::Int(v)) => OwnedDatum::Int(v),
        (_, Datum::UInt(v)) => OwnedDatum::UInt(v),
        (_, Datum::Bytes(text)) => whole(call::leading_integer(text).0),
        (_, Datum::Bits(bits, _)) => OwnedDatum::UInt(bits),
        // Towards zero, as a double is read where an integer is wanted.
        (_, Datum::Double(v)) => whole(v.trunc() as i128),
        (_, other) => whole(call::round(&other)),
    }
}

fn whole(v: i128) -> OwnedDatum {
    match (i64::try_from(v), u64::try_from(v)) {
        (Ok(v), _) => OwnedDatum::Int(v),
        (_, Ok(v)) => OwnedDatum::UInt(v),
        (..) if v < 0 => OwnedDatum::Int(i64::MIN),
        (..) => OwnedDatum::UInt(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> OwnedDatum {
        OwnedDatum::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn dates_are_kept_as_text_and_years_as_numbers() {
        let date = value::Date::new(2024, 1, 31).map(OwnedDatum::Date).unwrap_or_default();
        let kept = UserVariable::of(date, &ColumnType::temporal(Kind::Date, 0));
        assert_eq!(kept.value(), &text("2024-01-31"));
        assert_eq!(kept.ty().collation, Collation::Latin1SwedishCi);
        let kept = UserVariable::of(OwnedDatum::Year(1999), &ColumnType::of(Kind::Year));
        assert_eq!(kept.value(), &OwnedDatum::Int(1999));
    }

    #[test]
    fn a_value_is_read_under_the_type_that_the_statement_knows() {
        let kept = UserVariable::of(text("12abc"), &ColumnType::varchar(5, Collation::Utf8mb4Bin));
        assert_eq!(kept.read(&ColumnType::int(Kind::BigInt, false)), OwnedDatum::Int(12));
        assert_eq!(kept.read(&ColumnType::double()), OwnedDatum::Double(12.0));
        let number = UserVariable::of(OwnedDatum::Double(1.5), &ColumnType::double());
        assert_eq!(number.read(&kept.ty()), text("1.5"));
        assert_eq!(number.read(&ColumnType::int(Kind::BigInt, false)), OwnedDatum::Int(1));
    }

    #[test]
    fn text_is_read_in_the_character_set_that_the_statement_knows() {
        let latin = ColumnType::varchar(1, Collation::Latin1SwedishCi);
        let kept = UserVariable::of(OwnedDatum::Bytes(vec![0xE4]), &latin);
        assert_eq!(kept.read(&text_type(Collation::Utf8mb4Bin)), text("ä"));
        assert_eq!(kept.read(&text_type(Collation::Binary)), OwnedDatum::Bytes(vec![0xE4]));
    }
}
