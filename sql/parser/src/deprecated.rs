//! What the grammar still takes and MySQL warns of while it reads: numbers and texts.
//!
//! 1. A warning is raised where the construct has been read to its end, so operands' warnings come before those of
//!    their operator. 2. Tokens that are read again do not warn twice.

use crate::ast::{DataType, TypeKind};
use crate::cursor::Parser;
use std::borrow::Cow;

/// A warning about what is written: number and text.
pub type Warning = (u16, Cow<'static, str>);

type Fixed = (u16, &'static str);

pub(crate) const AMPS: Fixed =
    (1287, "'&&' is deprecated and will be removed in a future release. Please use AND instead");
pub(crate) const PIPES: Fixed = (
    1287,
    "'|| as a synonym for OR' is deprecated and will be removed in a future release. Please use OR \
     instead",
);
pub(crate) const BANG: Fixed =
    (1287, "'!' is deprecated and will be removed in a future release. Please use NOT instead");
pub(crate) const BINARY: Fixed = (
    1287,
    "'BINARY expr' is deprecated and will be removed in a future release. Please use CAST instead",
);
pub(crate) const ASSIGN: Fixed = (
    1287,
    "Setting user variables within expressions is deprecated and will be removed in a future \
     release. Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO \
     variables(s)'.",
);
pub(crate) const CALC_FOUND_ROWS: Fixed = (
    1287,
    "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. Consider using two \
     separate queries instead.",
);
pub(crate) const NO_CACHE: Fixed =
    (1681, "'SQL_NO_CACHE' is deprecated and will be removed in a future release.");
pub(crate) const ASCII: Fixed = (
    1287,
    "'ASCII' is deprecated and will be removed in a future release. Please use CHARACTER SET \
     charset_name instead",
);
pub(crate) const UNICODE: Fixed = (
    1287,
    "'UNICODE' is deprecated and will be removed in a future release. Please use CHARACTER SET \
     charset_name instead",
);
pub(crate) const NATIONAL: Fixed = (
    3720,
    "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 \
     in a future release. Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be \
     unambiguous.",
);
pub(crate) const BINARY_ATTRIBUTE: Fixed = (
    1287,
    "'BINARY as attribute of a type' is deprecated and will be removed in a future release. Please \
     use a CHARACTER SET clause with _bin collation instead",
);

pub(crate) const SHOW_PROFILES: Fixed = (
    1287,
    "'SHOW PROFILES' is deprecated and will be removed in a future release. Please use Performance \
     Schema instead",
);
pub(crate) const SHOW_PROFILE: Fixed = (
    1287,
    "'SHOW PROFILE' is deprecated and will be removed in a future release. Please use Performance \
     Schema instead",
);

const WIDTH: Fixed =
    (1681, "Integer display width is deprecated and will be removed in a future release.");
const ZEROFILL: Fixed = (
    1681,
    "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD \
     function to zero-pad numbers, or store the formatted numbers in a CHAR column.",
);
const DIGITS: Fixed = (
    1681,
    "Specifying number of digits for floating point data types is deprecated and will be removed in \
     a future release.",
);
const UNSIGNED: Fixed = (
    1681,
    "UNSIGNED for decimal and floating point data types is deprecated and support for it will be \
     removed in a future release.",
);
const YEAR4: Fixed = (
    1287,
    "'YEAR(4)' is deprecated and will be removed in a future release. Please use YEAR instead",
);

/// What a number's type should not say any more.
pub(crate) fn of_number(ty: &DataType) -> impl Iterator<Item = Fixed> {
    use TypeKind::*;
    let whole = matches!(ty.kind, TinyInt | SmallInt | MediumInt | Int | BigInt);
    let (float, year) = (matches!(ty.kind, Float | Double), ty.kind == Year);
    let fraction = float || ty.kind == Decimal;
    [
        (float && ty.scale.is_some(), DIGITS),
        ((whole || fraction) && ty.zerofill, ZEROFILL),
        (fraction && ty.unsigned, UNSIGNED),
        (whole && ty.length.is_some(), WIDTH),
        (year && ty.length == Some(4), YEAR4),
    ]
    .into_iter()
    .filter_map(|(written, warning)| written.then_some(warning))
}

/// What CREATE TABLE ... LIKE says of a column that has digits (FLOAT(M,D)), is an unsigned fraction, has zeros.
pub fn of_copied(digits: bool, unsigned: bool, zerofill: bool) -> impl Iterator<Item = Fixed> {
    [(digits, DIGITS), (unsigned, UNSIGNED), (zerofill, ZEROFILL)]
        .into_iter()
        .filter_map(|(has, warning)| has.then_some(warning))
}

impl Parser<'_> {
    /// Notes a warning about what ends here.
    pub fn warn(&mut self, (number, text): Fixed) {
        self.warnings.push((self.place(), (number, Cow::Borrowed(text))));
    }

    /// Notes the warning about the name of a character set or a collation, if there is one.
    pub fn warn_name(&mut self, name: &str) {
        if let Some((number, text)) = value::charset::deprecation(name) {
            self.warnings.push((self.place(), (number, Cow::Owned(text))));
        }
    }
}
