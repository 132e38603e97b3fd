//! JSON_ARRAYAGG, JSON_OBJECTAGG.
//!
//! 1. The elements of an array lie in binary form until the result is made. 2. Of a key given twice the last
//! value counts.

use super::{Accumulator, Aggregate, AggregateCall, Nulls, aggregate};
use crate::SqlError;
use crate::functions::json::is_truth;
use crate::refused::Refused;
use crate::tree::{OwnedDatum, Typed};
use value::json::tree::Object;
use value::json::{JsonRef, JsonValue};
use value::{ColumnType, Datum};

pub(super) static JSON_ARRAYAGG: Aggregate = Aggregate {
    nulls: Nulls::Own,
    wants_sorted: true,
    ..aggregate(
        "json_arrayagg",
        (1, 1),
        |_| Ok(ColumnType::json()),
        |_| Accumulator::Array(Box::default()),
        "the values as a JSON array",
    )
};
pub(super) static JSON_OBJECTAGG: Aggregate = Aggregate {
    nulls: Nulls::Own,
    wants_sorted: true,
    ..aggregate(
        "json_objectagg",
        (2, 2),
        |_| Ok(ColumnType::json()),
        |_| Accumulator::Object(Box::default()),
        "keys and values as a JSON object",
    )
};

pub(super) static AGGREGATES: &[&Aggregate] = &[&JSON_ARRAYAGG, &JSON_OBJECTAGG];

/// A value as an element of a document.
fn element(value: &Datum<'_>, of: &Typed) -> JsonValue {
    let ty = if is_truth(of) { ColumnType::json() } else { of.ty };
    JsonValue::of_datum(value, Some(&ty))
}

/// The elements of an array.
#[derive(Debug, Default)]
pub struct ArrayOf {
    /// In binary form, one behind the other.
    elements: Vec<u8>,
    ends: Vec<usize>,
}

impl ArrayOf {
    pub(super) fn add(
        &mut self,
        call: &AggregateCall,
        value: &Datum<'_>,
    ) -> Result<usize, SqlError> {
        let Some(argument) = call.arguments.first() else { return Ok(0) };
        let before = self.elements.len();
        element(value, argument).encode(&mut self.elements);
        self.ends.push(self.elements.len());
        Ok(self.elements.len() - before + size_of::<usize>())
    }

    pub(super) fn result(&self) -> OwnedDatum {
        if self.ends.is_empty() {
            return OwnedDatum::Null;
        }
        let mut start = 0;
        let elements = self.ends.iter().map(|end| {
            let bytes = &self.elements[start..*end];
            start = *end;
            JsonValue::of(JsonRef::new(bytes))
        });
        OwnedDatum::Json(JsonValue::Array(elements.collect()).to_bytes())
    }
}

/// The members of an object.
#[derive(Debug, Default)]
pub struct ObjectOf(Vec<(Vec<u8>, JsonValue)>);

impl ObjectOf {
    pub(super) fn add(
        &mut self,
        call: &AggregateCall,
        values: &[Datum<'_>],
    ) -> Result<usize, SqlError> {
        let ([key, value], [key_of, value_of]) = (values, &call.arguments[..]) else {
            return Ok(0);
        };
        if key.is_null() {
            return Err(Refused::NullMember.into());
        }
        if key_of.ty.kind.is_binary_string() {
            return Err(Refused::JsonOfBytes.into());
        }
        let key = crate::text(key);
        let grown = key.len() + size_of::<(Vec<u8>, JsonValue)>();
        let grown = grown + value.as_stored_bytes().map_or(0, <[u8]>::len);
        self.0.push((key, element(value, value_of)));
        Ok(grown)
    }

    pub(super) fn result(&self) -> OwnedDatum {
        match self.0.is_empty() {
            true => OwnedDatum::Null,
            false => OwnedDatum::Json(JsonValue::Object(Object::of(self.0.clone())).to_bytes()),
        }
    }
}
