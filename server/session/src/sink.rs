//! Result rows on their way to the client: from the executor's values into the send buffer.
//!
//! 1. A row is written straight into the buffer. Large results are sent in pieces, so memory stays bounded
//!    and a client that has gone away ends the statement.
//! 2. An error before anything of the result was sent replaces it; later it follows the rows.

mod forms;

use crate::charsets::Charsets;
use crate::errors::SessionError;
use crate::local_file::{LOCAL_FILE_REQUEST, LocalFile};
use crate::net::Net;
use executor::{HeaderMemo, ResultColumn, RowSink, SqlError, send_decoded};
use expr::damaged;
use forms::{binary_row, is_formatted, is_padded, stored_binary_row, stored_text_row, text_row};
use std::borrow::Cow;
use std::io::Read;
use value::{Charset, ColumnType, Datum, Kind, RowLayout};
use wire::Outbox;
use wire::constants::{COLLATION_BINARY, Capabilities, ColumnCode, ColumnFlags, StatusFlags};
use wire::reply::{self, Column, Metadata};

/// Bytes that may gather before they are sent.
const SEND_AT_BYTES: usize = 64 * 1024;

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
    /// What it is told of the columns.
    pub metadata: Metadata,
    /// Character sets of the session.
    pub charsets: Charsets,
    /// Binary rows rather than text.
    pub binary: bool,
    /// Column types, for binary rows; reused between statements.
    pub codes: &'a mut Vec<ColumnCode>,
    /// Some column's values are not sent as they are: `types` has every column's type.
    pub converts: bool,
    /// See `converts`.
    pub types: Vec<ColumnType>,
    /// Something was sent already.
    pub flushed: bool,
    /// The client is gone.
    pub gone: bool,
    /// Bytes sent here rather than at the end of the statement.
    pub bytes_sent: u64,
    /// Rows sent.
    pub rows_sent: &'a mut u64,
}

impl<'a> Rows<'a> {
    /// Rows of a session, in binary form or as text.
    pub fn new(
        (out, rows_sent): (&'a mut Outbox, &'a mut u64),
        net: &'a mut dyn Net,
        env: &crate::env::Env,
        codes: &'a mut Vec<ColumnCode>,
        binary: bool,
    ) -> Rows<'a> {
        Rows {
            out,
            net,
            caps: env.link.caps,
            status: env.link.status,
            metadata: env.link.metadata,
            charsets: env.cached.charsets,
            binary,
            codes,
            converts: false,
            types: Vec::new(),
            flushed: false,
            gone: false,
            bytes_sent: 0,
            rows_sent,
        }
    }

    /// Rows of these columns follow, whose definitions were written elsewhere.
    pub fn begin_described(&mut self, columns: &[ResultColumn]) {
        self.prepare_text(columns);
        self.announce(columns);
    }

    #[inline(always)]
    fn announce(&mut self, columns: &[ResultColumn]) {
        self.codes.clear();
        for column in columns {
            self.codes.push(code_of(column));
        }
    }
}

impl Rows<'_> {
    /// The number of columns and their definitions.
    fn describe_all(&mut self, columns: &[ResultColumn]) {
        reply::column_count(self.out, columns.len(), self.metadata);
        if self.metadata.is_sent() {
            for c in columns {
                put_column(self.out, c, &self.charsets, None);
            }
        }
    }

    /// Looks whether something has to be converted.
    fn prepare_text(&mut self, columns: &[ResultColumn]) {
        let converts = |c: &ResultColumn| {
            let text = c.ty.is_text() || c.ty.kind.has_members();
            let is_own = !c.org_table.is_empty();
            // A column's own values have all digits of their fractions, and its ASCII is what each character set has; a literal
            // may be malformed.
            let padded = !is_own && is_padded(&c.ty);
            let ascii = is_own && c.ty.collation.charset() == Charset::Ascii;
            let converts = text && !ascii && self.charsets.converts(c.ty.collation);
            converts || is_formatted(&c.ty) || padded
        };
        self.converts = columns.iter().any(converts);
        if self.converts {
            self.types = columns.iter().map(|c| c.ty).collect();
        }
    }

    #[inline]
    fn end_header(&mut self, columns: &[ResultColumn]) {
        reply::end_of_columns(self.out, self.caps, self.status, 0);
        if self.binary {
            self.announce(columns);
        }
    }

    /// Sends a row whose text has to be converted.
    #[cold]
    fn converted_row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError> {
        let texts: Vec<Option<Cow<'_, [u8]>>> =
            values.iter().zip(&self.types).map(|(v, ty)| self.converted(v, ty)).collect();
        let converted: Vec<Datum<'_>> = values
            .iter()
            .zip(&texts)
            .map(|(v, text)| text.as_ref().map_or(*v, |text| Datum::Bytes(text)))
            .collect();
        if self.binary {
            binary_row(self.out, self.codes, &converted);
        } else {
            text_row(self.out, &converted);
        }
        if self.out.len() >= SEND_AT_BYTES { self.flush() } else { Ok(()) }
    }

    /// What is sent instead of a value: text in the client's character set, a number formatted by its
    /// type.
    fn converted<'d>(&self, value: &Datum<'d>, ty: &ColumnType) -> Option<Cow<'d, [u8]>> {
        let charset = ty.collation.charset();
        match *value {
            Datum::Bytes(s) => Some(self.charsets.result(s, charset)),
            Datum::Enum(..) | Datum::Set(..) => {
                let mut text = Vec::new();
                value::format::append_text(value, &mut text);
                Some(Cow::Owned(self.charsets.result(&text, charset).into_owned()))
            }
            Datum::Null => None,
            _ if !self.binary && (is_formatted(ty) || is_padded(ty)) => {
                let mut text = Vec::new();
                value::format::append_typed(value, Some(ty), &mut text);
                Some(Cow::Owned(text))
            }
            _ => None,
        }
    }

    #[cold]
    fn flush(&mut self) -> Result<(), SqlError> {
        self.bytes_sent += self.out.len() as u64;
        self.flushed = true;
        let sent = self.net.send(self.out.bytes());
        self.out.clear();
        sent.map_err(|_| {
            self.gone = true;
            SqlError::from(SessionError::CannotSend)
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
        if self.metadata != Metadata::Always {
            return self.header(columns);
        }
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

    fn local_file(&mut self, name: &[u8]) -> Result<Box<dyn Read + '_>, SqlError> {
        if !self.caps.has(Capabilities::LOCAL_FILES) {
            return Err(executor::local_disabled());
        }
        let body = self.out.begin();
        body.push(LOCAL_FILE_REQUEST);
        body.extend_from_slice(name);
        self.out.end();
        self.flush()?;
        Ok(Box::new(LocalFile::new(&mut *self.net, self.out, &mut self.gone)))
    }

    fn stored_row(
        &mut self,
        layout: &RowLayout,
        columns: &[usize],
        row: &[u8],
    ) -> Result<bool, SqlError> {
        if self.converts {
            send_decoded(self, layout, columns, row)?;
            return Ok(false);
        }
        *self.rows_sent += 1;
        let stored = (layout, columns, row);
        let put = match self.binary {
            true => stored_binary_row(self.out, self.codes, stored),
            false => stored_text_row(self.out, stored),
        };
        if let Err(error) = put {
            self.out.abandon();
            return Err(damaged(error));
        }
        Ok(self.out.len() >= SEND_AT_BYTES)
    }

    fn make_room(&mut self) -> Result<(), SqlError> {
        if self.out.len() >= SEND_AT_BYTES { self.flush() } else { Ok(()) }
    }

    #[inline]
    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError> {
        *self.rows_sent += 1;
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
        // What is computed is announced by its length.
        Kind::LongText | Kind::LongBlob if !is_stored(c) => ColumnCode::LongBlob,
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

/// Whether a value lies in a table, if only a temporary one.
fn is_stored(c: &ResultColumn) -> bool {
    c.is_materialized || !c.org_table.is_empty()
}

/// Whether a temporary table keeps a string outside of its rows.
fn is_long(c: &ResultColumn) -> bool {
    const CHARS_MAX: u32 = 512;
    let varying = matches!(c.ty.kind, Kind::VarChar | Kind::VarBinary);
    c.is_materialized && varying && c.ty.length > CHARS_MAX
}

/// Computed strings are announced by how long they may become.
#[inline]
fn by_length(c: &ResultColumn) -> ColumnCode {
    const MEDIUM_BYTES_MAX: u32 = (1 << 24) - 1;
    let per_char = match c.ty.kind.is_text() {
        true => c.ty.collation.bytes_per_char_max(),
        false => 1,
    };
    let bytes = c.ty.length.saturating_mul(per_char);
    if is_long(c) {
        ColumnCode::Blob
    } else if bytes <= value::types::VAR_BYTES_MAX {
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
    let text = c.ty.is_text() || c.ty.kind.has_members();
    let mut flags = ColumnFlags::EMPTY;
    flags.set(ColumnFlags::NOT_NULL, !c.ty.nullable);
    flags.set(ColumnFlags::UNSIGNED, c.ty.unsigned);
    flags.set(ColumnFlags::PRIMARY_KEY, c.keys.primary);
    flags.set(ColumnFlags::UNIQUE_KEY, c.keys.unique);
    flags.set(ColumnFlags::MULTIPLE_KEY, c.keys.multiple);
    flags.set(ColumnFlags::AUTO_INCREMENT, c.keys.auto_increment);
    flags.set(ColumnFlags::NO_DEFAULT, c.keys.no_default);
    // A table's numbers have no collation at all.
    let number = c.ty.kind.is_number() && is_stored(c);
    let number = number || c.ty.kind == Kind::Bit;
    flags.set(ColumnFlags::BINARY, !text && !number || text && c.ty.collation.is_bin());
    flags.set(ColumnFlags::ZEROFILL, c.ty.zerofill);
    flags.set(ColumnFlags::ENUM, c.ty.kind == Kind::Enum && is_stored(c));
    flags.set(ColumnFlags::SET, c.ty.kind == Kind::Set && is_stored(c));
    let document = c.ty.kind == Kind::Json && (c.is_materialized || c.org_table.is_empty());
    let blob = c.ty.kind.is_large() || c.ty.kind == Kind::Json || is_long(c);
    flags.set(ColumnFlags::BLOB, blob && is_stored(c));
    let keyed = c.keys.primary || c.keys.unique || c.keys.multiple;
    flags.set(ColumnFlags::PART_OF_KEY, keyed);
    Column {
        schema: c.schema.as_bytes(),
        table: c.table.as_bytes(),
        org_table: c.org_table.as_bytes(),
        name: c.name.as_bytes(),
        org_name: c.org_name.as_bytes(),
        collation: match (text, document) {
            (true, _) => charsets.shown(c.ty.collation).id(),
            (_, true) => charsets.shown(value::Collation::Utf8mb4Bin).id(),
            _ => COLLATION_BINARY,
        },
        length: display_length(c, charsets),
        code: code_of(c),
        flags,
        decimals: if document { value::types::NOT_FIXED } else { c.decimals },
    }
}

fn display_length(c: &ResultColumn, charsets: &Charsets) -> u32 {
    match c.ty.kind {
        Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt => {
            c.ty.display_width()
        }
        // Sent as it is, a table's text has the bytes that fit.
        Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText
            if charsets.results.is_none() && !c.org_table.is_empty() =>
        {
            c.ty.length
        }
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
        // A computed document is text.
        Kind::Json if c.org_table.is_empty() => u32::MAX - 3,
        Kind::Double if c.org_table.is_empty() && c.ty.length == 0 => 23,
        Kind::Decimal if c.ty.length == 0 => 10,
        Kind::Double | Kind::Float | Kind::Decimal | Kind::Year => c.ty.display_width(),
        Kind::Bit => c.ty.length,
        Kind::Enum | Kind::Set => {
            members_length(&c.ty) * charsets.shown(c.ty.collation).bytes_per_char_max()
        }
        Kind::Date => 10,
        Kind::Time => 10 + fraction_length(&c.ty),
        Kind::DateTime | Kind::Timestamp => 19 + fraction_length(&c.ty),
        Kind::Json | Kind::Geometry => u32::MAX,
    }
}

/// Characters of a second's fraction with its point.
fn fraction_length(ty: &ColumnType) -> u32 {
    u32::from(ty.decimals) + u32::from(ty.decimals > 0)
}

/// Characters of the longest member of an ENUM, or of all members of a SET between commas.
fn members_length(ty: &ColumnType) -> u32 {
    let Some(members) = ty.members else { return 0 };
    let lengths = members.names().map(|n| ty.collation.char_count(n) as u32);
    match ty.kind {
        Kind::Enum => lengths.max().unwrap_or(0),
        _ => lengths.sum::<u32>() + members.len().saturating_sub(1) as u32,
    }
}
