//! A JSON document in memory: to build, to change, to write in binary form.

use super::{
    ARRAY, DATE, DATETIME, DECIMAL, DOUBLE, FALSE, INT, JsonRef, NULL, OBJECT, OPAQUE, STRING,
    TIME, TIMESTAMP, TRUE, UINT, View, key_order,
};
use crate::types::NOT_FIXED;
use crate::{Charset, ColumnType, Date, DateTime, Datum, Decimal, Kind, Time, charset};

/// Room for what most elements take: their place, their key, their value.
const ELEMENT_ROOM_BYTES: usize = 32;

/// A JSON value that owns everything it is made of.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // See `View`.
pub enum JsonValue {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Timestamp(DateTime),
    String(Vec<u8>),
    Opaque(u8, Vec<u8>),
    Array(Vec<JsonValue>),
    Object(Object),
}

/// The members of an object in the order of their keys, each key once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Vec<(Vec<u8>, JsonValue)>);

impl Object {
    /// How many members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, key: &[u8]) -> Result<usize, usize> {
        self.0.binary_search_by(|(k, _)| key_order(k, key))
    }

    /// The member with this key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&JsonValue> {
        self.place(key).ok().map(|at| &self.0[at].1)
    }

    /// The member with this key, to change it.
    #[must_use]
    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut JsonValue> {
        self.place(key).ok().map(|at| &mut self.0[at].1)
    }

    /// Sets a member; the value it had before.
    pub fn insert(&mut self, key: Vec<u8>, value: JsonValue) -> Option<JsonValue> {
        match self.place(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &[u8]) -> Option<JsonValue> {
        self.place(key).ok().map(|at| self.0.remove(at).1)
    }

    /// All members in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &JsonValue)> {
        self.0.iter().map(|(k, v)| (k.as_slice(), v))
    }

    /// All members in the order of their keys, taken out.
    pub fn into_members(self) -> impl Iterator<Item = (Vec<u8>, JsonValue)> {
        self.0.into_iter()
    }

    /// An object of these members; of a key given twice the last counts.
    #[must_use]
    pub fn of(mut members: Vec<(Vec<u8>, JsonValue)>) -> Object {
        // Stable, so that the last of equal keys is the last of its run.
        members.sort_by(|a, b| key_order(&a.0, &b.0));
        let mut kept: Vec<(Vec<u8>, JsonValue)> = Vec::with_capacity(members.len());
        for member in members {
            match kept.last_mut().filter(|last| last.0 == member.0) {
                Some(last) => *last = member,
                None => kept.push(member),
            }
        }
        Object(kept)
    }
}

impl JsonValue {
    /// A copy of a value in binary form.
    #[must_use]
    pub fn of(value: JsonRef<'_>) -> JsonValue {
        match value.view() {
            View::Null => JsonValue::Null,
            View::Bool(v) => JsonValue::Bool(v),
            View::Int(v) => JsonValue::Int(v),
            View::UInt(v) => JsonValue::UInt(v),
            View::Double(v) => JsonValue::Double(v),
            View::Decimal(v) => JsonValue::Decimal(v),
            View::Date(v) => JsonValue::Date(v),
            View::Time(v) => JsonValue::Time(v),
            View::DateTime(v) => JsonValue::DateTime(v),
            View::Timestamp(v) => JsonValue::Timestamp(v),
            View::String(v) => JsonValue::String(v.to_vec()),
            View::Opaque(kind, v) => JsonValue::Opaque(kind, v.to_vec()),
            View::Array(items) => JsonValue::Array(items.iter().map(JsonValue::of).collect()),
            View::Object(members) => {
                let members = members.iter().map(|(k, v)| (k.to_vec(), JsonValue::of(v)));
                JsonValue::Object(Object::of(members.collect()))
            }
        }
    }

    /// The JSON value of an SQL value of a type; without one text is utf8mb4. Text is a JSON string,
    /// bytes without a character set are [`JsonValue::Opaque`]. An integer said to be of type JSON is a
    /// truth value.
    #[must_use]
    pub fn of_datum(value: &Datum<'_>, ty: Option<&ColumnType>) -> JsonValue {
        const BIT: u8 = 16;
        let kind = ty.map(|ty| ty.kind);
        match *value {
            Datum::Null => JsonValue::Null,
            Datum::Int(v) if kind == Some(Kind::Json) => JsonValue::Bool(v != 0),
            Datum::Int(v) => JsonValue::Int(v),
            Datum::UInt(v) => JsonValue::UInt(v),
            Datum::Year(v) => JsonValue::UInt(u64::from(v)),
            Datum::Double(v) => JsonValue::Double(v),
            Datum::Decimal(v) => JsonValue::Decimal(v),
            Datum::Date(v) => JsonValue::Date(v),
            Datum::Time(v) => JsonValue::Time(Time::saturated(v.micros(), 6).0),
            Datum::DateTime(v) => {
                let v = DateTime::from_packed(v.packed(), 6).unwrap_or(v);
                match kind {
                    Some(Kind::Timestamp) => JsonValue::Timestamp(v),
                    _ => JsonValue::DateTime(v),
                }
            }
            Datum::Json(bytes) => JsonValue::of(JsonRef::new(bytes)),
            Datum::Bytes(bytes) => match ty {
                Some(ty) if ty.kind.is_binary_string() => {
                    JsonValue::Opaque(bytes_number(ty), bytes.to_vec())
                }
                Some(ty) => {
                    let from = ty.collation.charset();
                    let text = charset::converted(bytes, from, Charset::Utf8mb4).0;
                    JsonValue::String(text.into_owned())
                }
                None => JsonValue::String(bytes.to_vec()),
            },
            Datum::Bits(..) => {
                let mut bytes = Vec::new();
                crate::format::append_text(value, &mut bytes);
                JsonValue::Opaque(BIT, bytes)
            }
            Datum::Enum(..) | Datum::Set(..) | Datum::Timestamp(..) => {
                let mut bytes = Vec::new();
                crate::format::append_text(value, &mut bytes);
                JsonValue::String(bytes)
            }
        }
    }

    /// The binary form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let room = match self {
            JsonValue::Array(items) => ELEMENT_ROOM_BYTES * items.len(),
            JsonValue::Object(object) => 2 * ELEMENT_ROOM_BYTES * object.len(),
            JsonValue::String(text) => text.len(),
            _ => 0,
        };
        let mut out = Vec::with_capacity(room + ELEMENT_ROOM_BYTES);
        self.encode(&mut out);
        out
    }

    /// Appends the binary form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            JsonValue::Null => out.push(NULL),
            JsonValue::Bool(v) => out.push(if *v { TRUE } else { FALSE }),
            JsonValue::Int(v) => put(INT, &v.to_le_bytes(), out),
            JsonValue::UInt(v) => put(UINT, &v.to_le_bytes(), out),
            JsonValue::Double(v) => put(DOUBLE, &v.to_le_bytes(), out),
            JsonValue::Decimal(v) => put(DECIMAL, &v.to_bytes(), out),
            JsonValue::Date(v) => put(DATE, &v.packed().to_le_bytes(), out),
            JsonValue::Time(v) => put(TIME, &v.micros().to_le_bytes(), out),
            JsonValue::DateTime(v) => put(DATETIME, &v.packed().to_le_bytes(), out),
            JsonValue::Timestamp(v) => put(TIMESTAMP, &v.packed().to_le_bytes(), out),
            JsonValue::String(v) => {
                put(STRING, &(v.len() as u32).to_le_bytes(), out);
                out.extend_from_slice(v);
            }
            JsonValue::Opaque(kind, v) => {
                put(OPAQUE, &[*kind], out);
                out.extend_from_slice(&(v.len() as u32).to_le_bytes());
                out.extend_from_slice(v);
            }
            JsonValue::Array(items) => {
                let mut table = TableWriter::begin(ARRAY, items.len(), items.len(), out);
                for item in items {
                    item.encode(out);
                    table.end(out);
                }
                table.finish(out);
            }
            JsonValue::Object(object) => {
                let mut table = TableWriter::begin(OBJECT, object.len(), 2 * object.len(), out);
                for (key, value) in object.iter() {
                    out.extend_from_slice(key);
                    table.end(out);
                    value.encode(out);
                    table.end(out);
                }
                table.finish(out);
            }
        }
    }

    /// JSON_DEPTH.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            JsonValue::Array(items) => 1 + items.iter().map(JsonValue::depth).max().unwrap_or(0),
            JsonValue::Object(o) => 1 + o.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
            _ => 1,
        }
    }
}

/// The wire's number of a type of bytes. What is computed is VARBINARY, whatever its length.
fn bytes_number(ty: &ColumnType) -> u8 {
    match ty.kind {
        Kind::Binary if ty.decimals != NOT_FIXED => 254,
        Kind::TinyBlob => 249,
        Kind::MediumBlob => 250,
        Kind::LongBlob => 251,
        Kind::Blob => 252,
        _ => 15,
    }
}

fn put(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

/// Fills in an array's or object's table while the elements are written behind it.
struct TableWriter {
    start: usize,
    /// Where the next end goes.
    at: usize,
    body: usize,
}

impl TableWriter {
    fn begin(tag: u8, count: usize, slots: usize, out: &mut Vec<u8>) -> TableWriter {
        let start = out.len();
        out.push(tag);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(count as u32).to_le_bytes());
        let at = out.len();
        out.resize(at + 4 * slots, 0);
        TableWriter { start, at, body: at + 4 * slots }
    }

    fn end(&mut self, out: &mut [u8]) {
        let end = (out.len() - self.body) as u32;
        out[self.at..self.at + 4].copy_from_slice(&end.to_le_bytes());
        self.at += 4;
    }

    fn finish(self, out: &mut [u8]) {
        let all = (out.len() - self.start) as u32;
        out[self.start + 1..self.start + 5].copy_from_slice(&all.to_le_bytes());
    }
}
