//! OK, EOF, ERR and column definitions.

use crate::constants::{Capabilities, ColumnCode, ColumnFlags, StatusFlags};
use crate::{Outbox, lenenc};
use stdx::bytes::Put;

/// What an OK packet says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ok<'a> {
    /// Rows changed (or found, as the client asked).
    pub affected_rows: u64,
    /// First generated AUTO_INCREMENT value, or 0.
    pub last_insert_id: u64,
    /// State of the session.
    pub status: StatusFlags,
    /// Warnings of the statement.
    pub warnings: u16,
    /// Text for people.
    pub info: &'a [u8],
    /// Changes of the session's state, each as [`Change`] writes it, for a client that tracks them.
    pub changes: &'a [u8],
}

/// Writes an OK packet.
pub fn ok(out: &mut Outbox, caps: Capabilities, ok: &Ok<'_>) {
    put_ok(out, caps, 0x00, ok);
}

fn put_ok(out: &mut Outbox, caps: Capabilities, head: u8, ok: &Ok<'_>) {
    let tracked = caps.has(Capabilities::SESSION_TRACK) && !ok.changes.is_empty();
    let mut status = ok.status;
    status.set(StatusFlags::SESSION_STATE_CHANGED, tracked);
    let body = out.begin();
    body.push(head);
    lenenc::put_int(body, ok.affected_rows);
    lenenc::put_int(body, ok.last_insert_id);
    body.put_u16_le(status.0);
    body.put_u16_le(ok.warnings);
    // The protocol's description has text up to the packet's end for old clients; MySQL sends its length to all, and
    // clients expect that.
    if tracked || !ok.info.is_empty() {
        lenenc::put_bytes(body, ok.info);
    }
    if tracked {
        lenenc::put_bytes(body, ok.changes);
    }
    out.end();
}

/// A change of the session's state that a client is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A variable has this value.
    Variable(&'a [u8], &'a [u8]),
    /// This is the schema now.
    Schema(&'a [u8]),
    /// Something is not what it was in a new session.
    State,
    /// What SQL makes the present transaction, or the next one, what it is.
    Characteristics(&'a [u8]),
    /// What the transaction has done, in eight characters.
    Transaction(&'a [u8]),
}

impl Change<'_> {
    /// Appends it to others.
    pub fn put(self, to: &mut Vec<u8>) {
        let mut data = Vec::new();
        let kind = match self {
            Change::Variable(name, value) => {
                lenenc::put_bytes(&mut data, name);
                lenenc::put_bytes(&mut data, value);
                0
            }
            Change::Schema(name) => {
                lenenc::put_bytes(&mut data, name);
                1
            }
            Change::State => {
                data.push(b'1');
                2
            }
            Change::Characteristics(text) => {
                lenenc::put_bytes(&mut data, text);
                4
            }
            Change::Transaction(text) => {
                lenenc::put_bytes(&mut data, text);
                5
            }
        };
        to.push(kind);
        lenenc::put_bytes(to, &data);
    }
}

/// As [`end_of_rows`], with changes of the session's state; only clients that no longer know EOF are told of them.
pub fn end_of_rows_changed(out: &mut Outbox, caps: Capabilities, ok: &Ok<'_>) {
    put_ok(out, caps, 0xFE, ok);
}

/// Ends the rows of a result: EOF, or OK for clients that no longer know EOF.
#[inline]
pub fn end_of_rows(out: &mut Outbox, caps: Capabilities, status: StatusFlags, warnings: u16) {
    if caps.has(Capabilities::DEPRECATE_EOF) {
        let ([s, t], [w, x]) = (status.0.to_le_bytes(), warnings.to_le_bytes());
        // No rows changed, no identifier.
        return out.put([0, 0, 0, 0, 0xFE, 0, 0, s, t, w, x]);
    }
    eof(out, status, warnings);
}

#[inline]
fn eof(out: &mut Outbox, status: StatusFlags, warnings: u16) {
    let ([s, t], [w, x]) = (status.0.to_le_bytes(), warnings.to_le_bytes());
    out.put([0, 0, 0, 0, 0xFE, w, x, s, t]);
}

/// Ends column or parameter definitions: an EOF, or nothing for clients that no longer know it.
#[inline]
pub fn end_of_columns(out: &mut Outbox, caps: Capabilities, status: StatusFlags, warnings: u16) {
    if !caps.has(Capabilities::DEPRECATE_EOF) {
        eof(out, status, warnings);
    }
}

/// Writes an error packet. Before the handshake is complete clients expect no SQLSTATE: `sqlstate` none.
pub fn error(out: &mut Outbox, code: u16, sqlstate: Option<&[u8; 5]>, text: &[u8]) {
    const TEXT_BYTES_MAX: usize = 512;
    let body = out.begin();
    body.push(0xFF);
    body.put_u16_le(code);
    if let Some(state) = sqlstate {
        body.push(b'#');
        body.put_bytes(state);
    }
    body.put_bytes(&text[..char_boundary(text, TEXT_BYTES_MAX)]);
    out.end();
}

/// At most `max` bytes of `text`, not cutting a UTF-8 character.
fn char_boundary(text: &[u8], max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    (max.saturating_sub(3)..=max).rev().find(|&n| text[n] & 0xC0 != 0x80).unwrap_or(max)
}

/// What a client is told about a result column or parameter.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// Schema, or empty.
    pub schema: &'a [u8],
    /// Table alias, or empty.
    pub table: &'a [u8],
    /// Table, or empty.
    pub org_table: &'a [u8],
    /// Column alias.
    pub name: &'a [u8],
    /// Column, or empty.
    pub org_name: &'a [u8],
    /// Collation number: 63 for numbers and binary strings.
    pub collation: u16,
    /// Display length, in bytes.
    pub length: u32,
    /// Type.
    pub code: ColumnCode,
    /// Properties.
    pub flags: ColumnFlags,
    /// Digits after the point; 0x1F when dynamic.
    pub decimals: u8,
}

impl Column<'_> {
    /// A column that came from no table.
    pub const fn computed(name: &[u8], code: ColumnCode, length: u32) -> Column<'_> {
        Column {
            schema: b"",
            table: b"",
            org_table: b"",
            name,
            org_name: b"",
            collation: crate::constants::COLLATION_BINARY,
            length,
            code,
            flags: ColumnFlags::EMPTY,
            decimals: 0,
        }
    }
}

/// What a client is told of a result's columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Metadata {
    /// Their definitions: it knows nothing else.
    #[default]
    Always,
    /// Their definitions, which it could do without.
    Full,
    /// Their number alone.
    None,
}

impl Metadata {
    /// Whether the definitions are sent.
    #[inline]
    pub fn is_sent(self) -> bool {
        self != Metadata::None
    }

    /// The byte that says so to clients that know of it.
    fn put(self, body: &mut Vec<u8>) {
        if self != Metadata::Always {
            body.push(u8::from(self.is_sent()));
        }
    }
}

/// Writes the number of columns, whose definitions follow as `metadata` says.
pub fn column_count(out: &mut Outbox, columns: usize, metadata: Metadata) {
    let body = out.begin();
    lenenc::put_int(body, columns as u64);
    metadata.put(body);
    out.end();
}

/// Writes a column definition; `default` (COM_FIELD_LIST only) is the column's default value: the outer
/// option says whether to write one, the inner is none for NULL.
pub fn column(out: &mut Outbox, c: &Column<'_>, default: Option<Option<&[u8]>>) {
    let body = out.begin();
    for text in [&b"def"[..], c.schema, c.table, c.org_table, c.name, c.org_name] {
        lenenc::put_bytes(body, text);
    }
    body.push(0x0C);
    body.put_u16_le(c.collation);
    body.put_u32_le(c.length);
    body.push(c.code as u8);
    body.put_u16_le(c.flags.0);
    body.push(c.decimals);
    body.extend_from_slice(&[0, 0]);
    match default {
        Some(Some(text)) => lenenc::put_bytes(body, text),
        Some(None) => body.push(lenenc::NULL),
        None => {}
    }
    out.end();
}

/// Writes the answer to COM_STMT_PREPARE; definitions of `params` and `columns` follow.
pub fn prepared(
    out: &mut Outbox,
    id: u32,
    (columns, params): (u16, u16),
    warnings: u16,
    metadata: Metadata,
) {
    let body = out.begin();
    body.push(0);
    body.put_u32_le(id);
    body.put_u16_le(columns);
    body.put_u16_le(params);
    body.push(0);
    body.put_u16_le(warnings);
    metadata.put(body);
    out.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Capabilities =
        Capabilities(Capabilities::PROTOCOL_41.0 | Capabilities::DEPRECATE_EOF.0);
    const OLD: Capabilities = Capabilities::PROTOCOL_41;

    fn payload(f: impl FnOnce(&mut Outbox)) -> Vec<u8> {
        let mut out = Outbox::new();
        f(&mut out);
        out.bytes().get(4..).unwrap_or_default().to_vec()
    }

    #[test]
    fn ok_with_and_without_session_state() {
        let reply = Ok {
            affected_rows: 1,
            last_insert_id: 300,
            status: StatusFlags::AUTOCOMMIT,
            warnings: 2,
            info: b"Records: 1",
            changes: b"\x01\x03\x02db",
        };
        let mut changes = Vec::new();
        Change::Schema(b"db").put(&mut changes);
        assert_eq!(changes, reply.changes);
        assert_eq!(
            payload(|o| ok(o, OLD, &reply)),
            b"\0\x01\xFC\x2C\x01\x02\0\x02\0\x0ARecords: 1"
        );
        assert_eq!(
            payload(|o| ok(o, OLD.with(Capabilities::SESSION_TRACK), &reply)),
            b"\0\x01\xFC\x2C\x01\x02\x40\x02\0\x0ARecords: 1\x05\x01\x03\x02db"
        );
    }

    #[test]
    fn ends_of_rows_and_columns() {
        let status = StatusFlags::AUTOCOMMIT;
        assert_eq!(payload(|o| end_of_rows(o, NEW, status, 1)), [0xFE, 0, 0, 2, 0, 1, 0]);
        assert_eq!(payload(|o| end_of_rows(o, OLD, status, 1)), [0xFE, 1, 0, 2, 0]);
        assert_eq!(payload(|o| end_of_columns(o, OLD, status, 0)), [0xFE, 0, 0, 2, 0]);
        assert!(payload(|o| end_of_columns(o, NEW, status, 0)).is_empty());
    }

    #[test]
    fn errors_with_and_without_sqlstate() {
        assert_eq!(payload(|o| error(o, 1064, Some(b"42000"), b"bad")), b"\xFF\x28\x04#42000bad");
        assert_eq!(payload(|o| error(o, 1040, None, b"Too many")), b"\xFF\x10\x04Too many");
        let long = "\u{e4}".repeat(300);
        let sent = payload(|o| error(o, 1, Some(b"HY000"), &[b"x", long.as_bytes()].concat()));
        assert!(std::str::from_utf8(&sent[9..]).is_ok());
    }

    #[test]
    fn a_column_definition() {
        let c = Column {
            schema: b"sbtest",
            table: b"t",
            org_table: b"sbtest1",
            org_name: b"c",
            collation: 255,
            flags: ColumnFlags::NOT_NULL,
            ..Column::computed(b"c", ColumnCode::String, 480)
        };
        assert_eq!(
            payload(|o| column(o, &c, None)),
            b"\x03def\x06sbtest\x01t\x07sbtest1\x01c\x01c\x0C\xFF\0\xE0\x01\0\0\xFE\x01\0\0\0\0"
        );
        let listed = payload(|o| column(o, &c, Some(Some(b"7"))));
        assert!(listed.ends_with(b"\0\0\x017"));
    }
}
