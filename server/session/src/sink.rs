//! Result rows on their way to the client: from the executor's values into the send buffer.
//!
//! 1. A row is written straight into the buffer. Large results are sent in pieces, so memory stays bounded
//!    and a client that has gone away ends the statement.
//! 2. An error before anything of the result was sent replaces it; later it follows the rows.

use crate::charsets::Charsets;
use crate::errors;
use executor::{HeaderMemo, ResultColumn, RowSink, SqlError};
use std::borrow::Cow;
use value::{Charset, Datum, Kind};
use wire::Outbox;
use wire::constants::{COLLATION_BINARY, Capabilities, ColumnCode, ColumnFlags, StatusFlags};
use wire::reply::{self, Column};
use wire::row::{BinaryRow, TextRow};

/// Bytes that may gather before they are sent.
const SEND_AT_BYTES: usize = 64 * 1024;

/// The way to the client.
pub trait Net {
    /// Sends bytes; blocks up to `net_write_timeout`. An error means that the client is gone.
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()>;
}

/// Sends the rows of one statement.
pub struct Rows<'a> {
    /// Send buffer.
    pub out: &'a mut Outbox,
    /// The client.
    pub net: &'a mut dyn Net,
    /// What the client understands.
    pub caps: Capabilities,
    /// Status for the EOF after the columns.
    pub status: StatusFlags,
    /// Character sets of the session.
    pub charsets: Charsets,
    /// Binary rows rather than text.
    pub binary: bool,
    /// Column types, for binary rows; reused between statements.
    pub codes: &'a mut Vec<ColumnCode>,
    /// Some column's text is converted: `sources` has every column's character set.
    pub converts: bool,
    /// See `converts`.
    pub sources: Vec<Charset>,
    /// The header was written.
    pub started: bool,
    /// Something was sent already.
    pub flushed: bool,
    /// The client is gone.
    pub gone: bool,
    /// Bytes sent here rather than at the end of the statement.
    pub bytes_sent: u64,
}

impl Rows<'_> {
    /// The number of columns and their definitions.
    fn describe_all(&mut self, columns: &[ResultColumn]) {
        reply::column_count(self.out, columns.len());
        for c in columns {
            put_column(self.out, c, &self.charsets, None);
        }
    }

    /// Looks whether something has to be converted.
    fn prepare_text(&mut self, columns: &[ResultColumn]) {
        let converts = |c: &ResultColumn| c.ty.is_text() && self.charsets.converts(c.ty.collation);
        self.converts = columns.iter().any(converts);
        if self.converts {
            self.sources = columns.iter().map(|c| c.ty.collation.charset()).collect();
        }
    }

    #[inline]
    fn end_header(&mut self, columns: &[ResultColumn]) {
        self.started = true;
        reply::end_of_columns(self.out, self.caps, self.status, 0);
        if self.binary {
            self.codes.clear();
            self.codes.extend(columns.iter().map(code_of));
        }
    }

    /// Sends a row whose text has to be converted.
    #[cold]
    fn converted_row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError> {
        let texts: Vec<Cow<'_, [u8]>> = values
            .iter()
            .zip(&self.sources)
            .map(|(v, from)| {
                v.as_bytes().map_or(Cow::default(), |s| self.charsets.result(s, *from))
            })
            .collect();
        let converted: Vec<Datum<'_>> = values
            .iter()
            .zip(&texts)
            .map(|(v, text)| if v.as_bytes().is_some() { Datum::Bytes(text) } else { *v })
            .collect();
        if self.binary {
            binary_row(self.out, self.codes, &converted);
        } else {
            text_row(self.out, &converted);
        }
        if self.out.len() >= SEND_AT_BYTES { self.flush() } else { Ok(()) }
    }

    #[cold]
    fn flush(&mut self) -> Result<(), SqlError> {
        self.bytes_sent += self.out.len() as u64;
        self.flushed = true;
        let sent = self.net.send(self.out.bytes());
        self.out.clear();
        sent.map_err(|_| {
            self.gone = true;
            errors::cannot_send()
        })
    }
}

impl RowSink for Rows<'_> {
    fn header(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError> {
        self.describe_all(columns);
        self.prepare_text(columns);
        self.end_header(columns);
        Ok(())
    }

    #[inline]
    fn header_again(
        &mut self,
        columns: &[ResultColumn],
        memo: &mut HeaderMemo,
    ) -> Result<(), SqlError> {
        // The definitions depend on nothing else of the session. What has to be converted is rare, and
        // not remembered.
        let key = self.charsets.header_key();
        if memo.key == key {
            self.out.replay(&memo.bytes);
        } else {
            let start = self.out.len();
            self.describe_all(columns);
            self.prepare_text(columns);
            memo.bytes.clear();
            memo.bytes.extend_from_slice(&self.out.bytes()[start..]);
            memo.key = if self.converts { 0 } else { key };
        }
        self.end_header(columns);
        Ok(())
    }

    #[inline]
    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError> {
        if self.converts {
            return self.converted_row(values);
        }
        if self.binary {
            binary_row(self.out, self.codes, values);
        } else {
            text_row(self.out, values);
        }
        if self.out.len() >= SEND_AT_BYTES { self.flush() } else { Ok(()) }
    }
}

#[inline]
fn text_row(out: &mut Outbox, values: &[Datum<'_>]) {
    let mut row = TextRow::begin(out);
    for v in values {
        match v {
            Datum::Null => row.null(),
            Datum::Bytes(b) => row.bytes(b),
            Datum::Int(n) => row.int(*n),
            Datum::UInt(n) => row.uint(*n),
            other => row.bytes(value::format::to_text(other).as_bytes()),
        }
    }
    row.end();
}

#[inline]
fn binary_row(out: &mut Outbox, codes: &[ColumnCode], values: &[Datum<'_>]) {
    let mut row = BinaryRow::begin(out, values.len());
    for (v, code) in values.iter().zip(codes) {
        match v {
            Datum::Null => row.null(),
            Datum::Bytes(b) if !is_number(*code) => row.bytes(b),
            Datum::Int(n) if is_integer(*code) => row.int(*n, *code),
            Datum::UInt(n) if is_integer(*code) => row.int(*n as i64, *code),
            other => convert(&mut row, other, *code),
        }
    }
    row.end();
}

/// A value of another type than its column was announced with.
#[cold]
fn convert(row: &mut BinaryRow<'_>, v: &Datum<'_>, code: ColumnCode) {
    let text = value::format::to_text(v);
    match code {
        ColumnCode::Double => row.double(text.parse().unwrap_or(0.0)),
        code if is_integer(code) => {
            let n = text.parse::<i64>().or_else(|_| text.parse::<u64>().map(|n| n as i64));
            row.int(n.unwrap_or(0), code);
        }
        _ => row.bytes(text.as_bytes()),
    }
}

const fn is_integer(code: ColumnCode) -> bool {
    matches!(
        code,
        ColumnCode::Tiny
            | ColumnCode::Short
            | ColumnCode::Int24
            | ColumnCode::Long
            | ColumnCode::LongLong
    )
}

const fn is_number(code: ColumnCode) -> bool {
    is_integer(code) || matches!(code, ColumnCode::Double)
}

/// Wire type of a column.
#[inline]
pub fn code_of(c: &ResultColumn) -> ColumnCode {
    if c.null_literal {
        return ColumnCode::Null;
    }
    match c.ty.kind {
        Kind::TinyInt => ColumnCode::Tiny,
        Kind::SmallInt => ColumnCode::Short,
        Kind::MediumInt => ColumnCode::Int24,
        Kind::Int => ColumnCode::Long,
        Kind::BigInt => ColumnCode::LongLong,
        Kind::Char | Kind::Binary => ColumnCode::String,
        Kind::VarChar | Kind::VarBinary => by_length(c),
        Kind::TinyText
        | Kind::Text
        | Kind::MediumText
        | Kind::LongText
        | Kind::TinyBlob
        | Kind::Blob
        | Kind::MediumBlob
        | Kind::LongBlob => ColumnCode::Blob,
        Kind::Double => ColumnCode::Double,
        Kind::Decimal => ColumnCode::NewDecimal,
        Kind::Float => ColumnCode::Float,
        Kind::Bit => ColumnCode::Bit,
        Kind::Enum | Kind::Set => ColumnCode::String,
        Kind::Date => ColumnCode::Date,
        Kind::Time => ColumnCode::Time,
        Kind::DateTime => ColumnCode::DateTime,
        Kind::Timestamp => ColumnCode::Timestamp,
        Kind::Year => ColumnCode::Year,
        Kind::Json => ColumnCode::Json,
        Kind::Geometry => ColumnCode::Geometry,
    }
}

/// Computed strings are announced by how long they may become.
#[inline]
fn by_length(c: &ResultColumn) -> ColumnCode {
    const MEDIUM_BYTES_MAX: u32 = (1 << 24) - 1;
    let bytes = display_length(c, &Charsets::default());
    if bytes <= value::types::VAR_BYTES_MAX {
        ColumnCode::VarString
    } else if bytes <= MEDIUM_BYTES_MAX {
        ColumnCode::MediumBlob
    } else {
        ColumnCode::LongBlob
    }
}

/// Writes a column's definition; `list` as [`reply::column`] has it.
pub fn put_column(
    out: &mut Outbox,
    c: &ResultColumn,
    charsets: &Charsets,
    list: Option<Option<&[u8]>>,
) {
    let described = describe(c, charsets);
    let names = [
        described.schema,
        described.table,
        described.org_table,
        described.name,
        described.org_name,
    ];
    if names.iter().all(|n| n.is_ascii()) {
        return reply::column(out, &described, list);
    }
    let [schema, table, org_table, name, org_name] =
        names.map(|n| charsets.result(n, Charset::Utf8mb4));
    let converted = Column {
        schema: &schema,
        table: &table,
        org_table: &org_table,
        name: &name,
        org_name: &org_name,
        ..described
    };
    reply::column(out, &converted, list);
}

/// What the client is told about a column, but for the character set of its names.
#[inline]
fn describe<'c>(c: &'c ResultColumn, charsets: &Charsets) -> Column<'c> {
    let text = c.ty.is_text();
    let mut flags = ColumnFlags::EMPTY;
    flags.set(ColumnFlags::NOT_NULL, !c.ty.nullable);
    flags.set(ColumnFlags::UNSIGNED, c.ty.unsigned);
    flags.set(ColumnFlags::PRIMARY_KEY, c.keys.primary);
    flags.set(ColumnFlags::UNIQUE_KEY, c.keys.unique);
    flags.set(ColumnFlags::MULTIPLE_KEY, c.keys.multiple);
    flags.set(ColumnFlags::AUTO_INCREMENT, c.keys.auto_increment);
    flags.set(ColumnFlags::NO_DEFAULT, c.keys.no_default);
    flags.set(ColumnFlags::BINARY, !text || c.ty.collation.is_bin());
    flags.set(ColumnFlags::BLOB, c.ty.kind.is_large() && !c.org_table.is_empty());
    let keyed = c.keys.primary || c.keys.unique || c.keys.multiple;
    flags.set(ColumnFlags::PART_OF_KEY, keyed);
    Column {
        schema: c.schema.as_bytes(),
        table: c.table.as_bytes(),
        org_table: c.org_table.as_bytes(),
        name: c.name.as_bytes(),
        org_name: c.org_name.as_bytes(),
        collation: if text { charsets.shown(c.ty.collation).id() } else { COLLATION_BINARY },
        length: display_length(c, charsets),
        code: code_of(c),
        flags,
        decimals: c.decimals,
    }
}

fn display_length(c: &ResultColumn, charsets: &Charsets) -> u32 {
    match c.ty.kind {
        Kind::TinyInt => 4,
        Kind::SmallInt => 6,
        Kind::MediumInt => 9,
        Kind::Int if c.ty.unsigned => 10,
        Kind::Int => 11,
        Kind::BigInt => 20,
        Kind::Char
        | Kind::VarChar
        | Kind::TinyText
        | Kind::Text
        | Kind::MediumText
        | Kind::LongText => {
            c.ty.length.saturating_mul(charsets.shown(c.ty.collation).bytes_per_char_max())
        }
        Kind::Binary
        | Kind::VarBinary
        | Kind::TinyBlob
        | Kind::Blob
        | Kind::MediumBlob
        | Kind::LongBlob => c.ty.length,
        Kind::Double => 23,
        Kind::Decimal => c.ty.length.max(10),
        Kind::Float => 12,
        Kind::Bit => c.ty.length,
        Kind::Enum | Kind::Set => 0,
        Kind::Date => 10,
        Kind::Time => 10,
        Kind::DateTime | Kind::Timestamp => 19,
        Kind::Year => 4,
        Kind::Json | Kind::Geometry => u32::MAX,
    }
}
