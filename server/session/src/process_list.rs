//! SHOW PROCESSLIST: from what sessions publish to the packet, row by row, as monitors ask for it again and again.

use crate::env::Env;
use crate::show;
use catalog::{SessionOrder, Viewer};
use executor::{ResultColumn, RowSink, SqlError};
use value::types::NOT_FIXED;
use value::{Collation, ColumnType, Datum, Kind};

/// Characters of a statement that the short form shows.
const INFO_CHARS_MAX: usize = 100;

/// Its columns, with the lengths that MySQL tells.
pub(crate) fn columns(full: bool) -> Vec<ResultColumn> {
    let integer = |name, kind, length| {
        show::integer(name, ColumnType { length, ..ColumnType::int(kind, false) }.not_null())
    };
    let text =
        |name, chars| ResultColumn { decimals: NOT_FIXED, ..ResultColumn::text(name, chars) };
    let present = |column: ResultColumn| ResultColumn { ty: column.ty.not_null(), ..column };
    let info = match full {
        true => {
            let ty = ColumnType::large(Kind::LongText, Collation::default());
            ResultColumn::computed("Info", ty, NOT_FIXED)
        }
        false => text("Info", INFO_CHARS_MAX as u32),
    };
    vec![
        integer("Id", Kind::BigInt, 22),
        present(text("User", 32)),
        present(text("Host", 255)),
        text("db", 64),
        present(text("Command", 16)),
        integer("Time", Kind::Int, 8),
        text("State", 30),
        info,
    ]
}

/// Its rows. They are sent while the list is read, one by one.
pub(crate) fn send(env: &Env, full: bool, sink: &mut dyn RowSink) -> Result<(), SqlError> {
    let chars_max = if full { usize::MAX } else { INFO_CHARS_MAX };
    let mut sent = Ok(());
    env.each_process(SessionOrder::Connection, &mut |row| {
        if row.leaves || sent.is_err() {
            return;
        }
        let info = row.info.as_deref().map(|info| first(info, chars_max));
        sent = sink.row(&[
            Datum::Int(i64::try_from(row.id).unwrap_or(i64::MAX)),
            Datum::Bytes(row.who.user()),
            Datum::Bytes(row.who.host()),
            bytes(row.who.db()),
            Datum::Bytes(row.command.as_bytes()),
            Datum::Int(i64::try_from(row.time_s).unwrap_or(i64::MAX)),
            bytes(row.state.map(str::as_bytes)),
            bytes(info.map(str::as_bytes)),
        ]);
    });
    sent
}

fn bytes(bytes: Option<&[u8]>) -> Datum<'_> {
    bytes.map_or(Datum::Null, Datum::Bytes)
}

/// The first characters of a text.
fn first(text: &str, chars_max: usize) -> &str {
    if text.len() <= chars_max {
        return text;
    }
    text.char_indices().nth(chars_max).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((first("äöü", 2), first("äöü", 3), first("", 1)), ("äö", "äöü", ""));
        assert_eq!(first("äöü", usize::MAX), "äöü");
    }
}
