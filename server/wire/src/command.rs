//! Commands: the first byte of a packet and what follows it.

use crate::constants::Capabilities;
use crate::{Malformed, OrMalformed, attributes, lenenc};
use stdx::bytes::Reader;

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// COM_QUIT: no answer.
    Quit,
    /// COM_INIT_DB: use this schema.
    InitDb(&'a [u8]),
    /// COM_QUERY: run this text.
    Query(&'a [u8]),
    /// COM_FIELD_LIST: columns of a table that match a pattern.
    FieldList {
        /// Table.
        table: &'a [u8],
        /// LIKE pattern, maybe empty.
        pattern: &'a [u8],
    },
    /// COM_STATISTICS: one line about the server.
    Statistics,
    /// COM_DEBUG: state into the error log.
    Debug,
    /// COM_PING.
    Ping,
    /// COM_CHANGE_USER; the body is parsed by [`crate::handshake::ChangeUser`].
    ChangeUser(&'a [u8]),
    /// COM_RESET_CONNECTION.
    ResetConnection,
    /// COM_SET_OPTION: multi-statements on (true) or off.
    SetMultiStatements(bool),
    /// COM_STMT_PREPARE: this text.
    Prepare(&'a [u8]),
    /// COM_STMT_EXECUTE; the rest is decoded by [`crate::prepared`].
    Execute {
        /// Statement.
        id: u32,
        /// Cursor flags.
        flags: u8,
        /// NULL bitmap, types, values.
        rest: &'a [u8],
    },
    /// COM_STMT_SEND_LONG_DATA: no answer.
    SendLongData {
        /// Statement.
        id: u32,
        /// Parameter.
        param: u16,
        /// A piece of its value.
        data: &'a [u8],
    },
    /// COM_STMT_CLOSE: no answer.
    CloseStatement(u32),
    /// COM_STMT_RESET.
    ResetStatement(u32),
    /// COM_STMT_FETCH: rows of a cursor.
    Fetch {
        /// Statement.
        id: u32,
        /// Rows wanted.
        rows: u32,
    },
    /// A byte that is no command, or one this server does not know: error 1047.
    Unknown(u8),
}

/// Decodes a command packet of a client that can do this. [`Malformed`] means that the command is known and its body broken.
#[inline]
pub fn decode(payload: &[u8], caps: Capabilities) -> Result<Command<'_>, Malformed> {
    let Some((&head, body)) = payload.split_first() else { return Ok(Command::Unknown(0)) };
    let mut r = Reader::new(body);
    Ok(match head {
        0x03 if caps.has(Capabilities::QUERY_ATTRIBUTES) => Command::Query(attributes::skip(body)?),
        0x03 => Command::Query(body),
        0x17 => {
            let id = r.u32_le().or_malformed("statement id")?;
            let flags = r.u8().or_malformed("cursor flags")?;
            r.u32_le().or_malformed("iteration count")?;
            Command::Execute { id, flags, rest: r.rest() }
        }
        _ => return decode_rare(head, body),
    })
}

fn decode_rare(head: u8, body: &[u8]) -> Result<Command<'_>, Malformed> {
    let mut r = Reader::new(body);
    Ok(match head {
        0x01 => Command::Quit,
        0x02 => Command::InitDb(body),
        0x04 => {
            let table = lenenc::zero_terminated(&mut r)?;
            Command::FieldList { table, pattern: r.rest() }
        }
        0x09 => Command::Statistics,
        0x0D => Command::Debug,
        0x0E => Command::Ping,
        0x11 => Command::ChangeUser(body),
        0x16 => Command::Prepare(body),
        0x18 => {
            let id = r.u32_le().or_malformed("statement id")?;
            let param = r.u16_le().or_malformed("parameter number")?;
            Command::SendLongData { id, param, data: r.rest() }
        }
        0x19 => Command::CloseStatement(r.u32_le().or_malformed("statement id")?),
        0x1A => Command::ResetStatement(r.u32_le().or_malformed("statement id")?),
        0x1B => match r.u16_le().or_malformed("option")? {
            0 => Command::SetMultiStatements(true),
            1 => Command::SetMultiStatements(false),
            _ => return Ok(Command::Unknown(head)),
        },
        0x1C => {
            let id = r.u32_le().or_malformed("statement id")?;
            Command::Fetch { id, rows: r.u32_le().or_malformed("row count")? }
        }
        0x1F => Command::ResetConnection,
        other => Command::Unknown(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Capabilities = Capabilities::EMPTY;

    #[test]
    fn every_command_is_recognised() {
        assert_eq!(decode(b"\x03select 1", NONE), Ok(Command::Query(b"select 1")));
        assert_eq!(decode(b"\x02db", NONE), Ok(Command::InitDb(b"db")));
        assert_eq!(decode(b"\x1B\0\0", NONE), Ok(Command::SetMultiStatements(true)));
        assert_eq!(
            decode(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01", NONE),
            Ok(Command::Execute { id: 1, flags: 0, rest: b"\0\x01" })
        );
        assert_eq!(
            decode(b"\x18\x01\0\0\0\x02\0xyz", NONE),
            Ok(Command::SendLongData { id: 1, param: 2, data: b"xyz" })
        );
        assert_eq!(
            decode(b"\x04t\0a%", NONE),
            Ok(Command::FieldList { table: b"t", pattern: b"a%" })
        );
        assert_eq!(decode(b"\x1F", NONE), Ok(Command::ResetConnection));
        assert_eq!(decode(b"\xEE", NONE), Ok(Command::Unknown(0xEE)));
    }

    /// Databases made and dropped, refresh, shutdown, process list and kill: statements do that since MySQL 8.
    #[test]
    fn commands_that_mysql_has_no_more_are_unknown() {
        for head in [0x00, 0x05, 0x06, 0x07, 0x08, 0x0A, 0x0B, 0x0C, 0x0F, 0x10, 0x14] {
            assert_eq!(decode(&[head, 1, 0, 0, 0], NONE), Ok(Command::Unknown(head)));
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        assert_eq!(decode(b"", NONE), Ok(Command::Unknown(0)));
        let mut rng = stdx::rng::Rng::new(7);
        let mut buf = [0u8; 24];
        for head in 0..=255u8 {
            for len in 0..buf.len() {
                rng.fill(&mut buf);
                buf[0] = head;
                let _ = decode(&buf[..len], NONE);
            }
        }
    }
}
