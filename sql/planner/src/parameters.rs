//! Types of a prepared statement's parameters.
//!
//! 1. Where it is prepared a parameter has the type of what stands beside it; text where nothing tells. When values
//!    of other types come, the statement is planned anew for the types of the values, which it keeps until others come.
//! 2. The types are found by resolving: the first pass takes every parameter for text and notes what stands beside it
//!    ([`crate::resolve`]), the next ones take it for that, until nothing changes; then a query is planned.

use std::collections::HashMap;
use value::{Collation, ColumnType, Kind};

/// What a parameter is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ParameterType {
    /// Text in the connection's collation.
    #[default]
    Text,
    /// BIGINT.
    Int,
    /// BIGINT UNSIGNED.
    UInt,
    /// DECIMAL(65, 30).
    Decimal,
    /// DOUBLE.
    Double,
    /// DATE.
    Date,
    /// DATETIME(6).
    DateTime,
    /// TIME(6).
    Time,
    /// A JSON document.
    Json,
}

impl ParameterType {
    /// What is compared or computed with a value of this type.
    pub fn for_operand(ty: &ColumnType) -> ParameterType {
        match ty.kind {
            kind if kind.is_int() && ty.unsigned => ParameterType::UInt,
            kind if kind.is_int() => ParameterType::Int,
            Kind::Year => ParameterType::Int,
            Kind::Decimal => ParameterType::Decimal,
            Kind::Float | Kind::Double => ParameterType::Double,
            Kind::Date => ParameterType::Date,
            Kind::DateTime | Kind::Timestamp => ParameterType::DateTime,
            Kind::Time => ParameterType::Time,
            Kind::Json => ParameterType::Json,
            _ => ParameterType::Text,
        }
    }

    /// The type of its values, text in this collation.
    pub fn column_type(self, collation: Collation) -> ColumnType {
        /// Digits of a BIGINT with its sign.
        const INT_CHARS: u32 = 21;
        let int =
            |unsigned| ColumnType { length: INT_CHARS, ..ColumnType::int(Kind::BigInt, unsigned) };
        match self {
            ParameterType::Text => expr::build::string(TEXT_CHARS, collation),
            ParameterType::Int => int(false),
            ParameterType::UInt => int(true),
            ParameterType::Decimal => ColumnType::decimal(65, DECIMALS),
            ParameterType::Double => ColumnType::double(),
            ParameterType::Date => ColumnType::of(Kind::Date),
            ParameterType::DateTime => ColumnType::temporal(Kind::DateTime, value::time::FSP_MAX),
            ParameterType::Time => ColumnType::temporal(Kind::Time, value::time::FSP_MAX),
            ParameterType::Json => ColumnType::json(),
        }
    }

    /// A number.
    pub fn is_number(self) -> bool {
        use ParameterType::{Decimal, Double, Int, UInt};
        matches!(self, Int | UInt | Decimal | Double)
    }

    /// A date or a time.
    pub fn is_temporal(self) -> bool {
        use ParameterType::{Date, DateTime, Time};
        matches!(self, Date | DateTime | Time)
    }
}

/// Characters that a text may have, for its type.
const TEXT_CHARS: u32 = 16_383;
/// Digits behind the point of a decimal parameter.
pub const DECIMALS: u8 = 30;

/// A parameter of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Parameter {
    /// What clients are told where it is prepared.
    pub announced: ParameterType,
    /// What the plan takes it for.
    pub planned: ParameterType,
    /// What becomes of values of other types.
    pub takes: Takes,
}

/// What becomes of values of another type than the one that is planned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Takes {
    /// They are converted, or the statement is planned for their type from then on.
    #[default]
    Typed,
    /// The same, and a decimal keeps the digits that it has: nothing is computed of it.
    Shown,
    /// The statement is planned for each value's own type: where it stands, text is not what numbers are.
    Own,
    /// They are taken as they are, and converted where the parameter stands.
    All,
    /// As they are, but text is read as a number: of a LIMIT.
    Count,
}

/// The parameters of the statement that is being planned.
#[derive(Debug, Default)]
pub struct Parameters {
    list: Vec<Parameter>,
    search: Option<Box<Search>>,
}

/// What is known so far of parameters whose types are being found.
#[derive(Debug, Default)]
struct Search {
    found: Vec<Option<Parameter>>,
    otherwise: Vec<Option<ParameterType>>,
    /// Types of expressions that are bound, by their places in memory: an operand's is noted right before its
    /// operator is looked at.
    bound: HashMap<usize, ColumnType>,
}

impl Search {
    fn result(&self) -> impl Iterator<Item = Parameter> + '_ {
        self.found.iter().zip(&self.otherwise).map(|both| match both {
            (Some(found), _) => *found,
            (None, Some(otherwise)) => typed(*otherwise),
            (None, None) => Parameter { takes: Takes::Shown, ..Parameter::default() },
        })
    }
}

impl Parameters {
    /// Parameters whose types are to be found; they are taken for what is known of them so far.
    pub fn open(list: Vec<Parameter>) -> Parameters {
        let count = list.len();
        let search = Search {
            found: vec![None; count],
            otherwise: vec![None; count],
            bound: HashMap::new(),
        };
        let search = (count > 0).then(|| Box::new(search));
        Parameters { list, search }
    }

    /// With types.
    pub fn of(list: Vec<Parameter>) -> Parameters {
        Parameters { list, search: None }
    }

    /// The parameters, with what was found of them.
    pub fn finish(self) -> Vec<Parameter> {
        match &self.search {
            Some(search) => search.result().collect(),
            None => self.list,
        }
    }

    /// What was found is not what the parameters are taken for: a plan would be thrown away.
    pub(crate) fn unsettled(&self) -> bool {
        let found = self.search.iter().flat_map(|search| search.result());
        found.zip(&self.list).any(|(found, taken)| found.planned != taken.planned)
    }

    /// What a parameter is taken for.
    pub(crate) fn planned(&self, number: u32) -> ParameterType {
        self.list.get(number as usize).map_or(ParameterType::Text, |p| p.planned)
    }

    /// Types are being found.
    pub(crate) fn searches(&self) -> bool {
        self.search.is_some()
    }

    /// Nothing is known of a parameter yet.
    pub(crate) fn is_open(&self, number: u32) -> bool {
        self.search.as_ref().is_some_and(|s| s.found.get(number as usize) == Some(&None))
    }

    /// What was found of a parameter.
    pub(crate) fn found(&self, number: u32) -> Parameter {
        let found = self.search.as_ref().and_then(|s| *s.found.get(number as usize)?);
        found.unwrap_or_default()
    }

    /// Gives an open parameter its type.
    pub(crate) fn set(&mut self, number: u32, parameter: Parameter) {
        let found = self.search.as_mut().and_then(|s| s.found.get_mut(number as usize));
        if let Some(found @ None) = found {
            *found = Some(parameter);
        }
    }

    /// A value is stored in a column of this type: converted there if it is a parameter.
    pub(crate) fn stored(&mut self, value: &parser::ast::Expr, column: &ColumnType) {
        if let parser::ast::Expr::Param(number) = value {
            self.set(*number, converted(ParameterType::for_operand(column)));
        }
    }

    /// A value is selected to be stored in a column of this type: what selects it is planned for its own type.
    pub(crate) fn selected(&mut self, value: &parser::ast::Expr, column: &ColumnType) {
        if let parser::ast::Expr::Param(number) = value {
            self.set(*number, own(ParameterType::for_operand(column)));
        }
    }

    /// What a parameter is if nothing else tells.
    pub(crate) fn otherwise(&mut self, number: u32, ty: ParameterType) {
        let known = self.search.as_mut().and_then(|s| s.otherwise.get_mut(number as usize));
        if let Some(known @ None) = known {
            *known = Some(ty);
        }
    }

    /// Notes the type of what an expression became.
    pub(crate) fn note<T>(&mut self, expression: &T, ty: ColumnType) {
        if let Some(search) = &mut self.search {
            search.bound.insert(std::ptr::from_ref(expression).addr(), ty);
        }
    }

    /// The type of what an expression became.
    pub(crate) fn noted<T>(&self, expression: &T) -> Option<ColumnType> {
        let search = self.search.as_ref()?;
        search.bound.get(&std::ptr::from_ref(expression).addr()).copied()
    }
}

/// A parameter whose values are converted to a type, or that makes the statement planned for another one. Dates and
/// documents are announced, and planned as the text that they mostly come as: what stands beside it converts them.
pub(crate) fn typed(ty: ParameterType) -> Parameter {
    let planned = if ty.is_number() { ty } else { ParameterType::Text };
    let takes = if ty.is_temporal() { Takes::All } else { Takes::Typed };
    Parameter { announced: ty, planned, takes }
}

/// A parameter that is planned for a date or a time: the result's type depends on it.
pub(crate) fn moment(ty: ParameterType) -> Parameter {
    Parameter { announced: ty, planned: ty, takes: Takes::Typed }
}

/// A parameter whose values are converted one by one where it stands.
pub(crate) fn converted(announced: ParameterType) -> Parameter {
    Parameter { announced, planned: ParameterType::Text, takes: Takes::All }
}

/// A parameter that is planned for the type of each value.
pub(crate) fn own(announced: ParameterType) -> Parameter {
    Parameter { announced, planned: ParameterType::Text, takes: Takes::Own }
}

/// The number of rows of a LIMIT.
pub(crate) fn count() -> Parameter {
    Parameter { takes: Takes::Count, ..converted(ParameterType::UInt) }
}
