//! GROUP_CONCAT.
//!
//! 1. Without ORDER BY rows are joined as they come; with it they are kept, and joined at the end. 2. The
//! result is at most `group_concat_max_len` bytes long and ends with a whole character; a row that had to be
//! cut is warning 1260, once per group, and rows are counted through all groups.

use super::{Accumulator, Aggregate, AggregateCall, aggregate};
use crate::build::{Derive, is_stringy, string};
use crate::functions::{MANY, append_text};
use crate::tree::OwnedDatum;
use crate::{Environment, SqlError, WarningLevel};
use value::types::NOT_FIXED;
use value::{Charset, ColumnType, Datum, Kind};

pub(super) static GROUP_CONCAT: Aggregate = Aggregate {
    wants_sorted: true,
    over_windows: false,
    ..aggregate(
        "group_concat",
        (1, MANY),
        joined_type,
        |_| Accumulator::Joined(Box::default()),
        "the values as text, one behind the other",
    )
};

pub(super) static AGGREGATES: &[&Aggregate] = &[&GROUP_CONCAT];

/// Longer results are announced as LONGTEXT.
const VARCHAR_MAX: u64 = 512;

fn joined_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    let collation = match (0..d.args.len()).any(|n| d.ty(n).kind == Kind::Bit) {
        true => {
            d.collation = value::Collation::Binary;
            d.collation
        }
        false => {
            // What is joined was kept before: decimals have the digits of their type.
            let written = d.args.clone();
            let met = d.text(0)?;
            for (value, kept) in d.args.iter_mut().zip(written) {
                if kept.ty.kind == value::Kind::Decimal {
                    *value = kept;
                }
            }
            met
        }
    };
    let most = d.settings.group_concat_max_len;
    if most <= VARCHAR_MAX {
        return Ok(string(most as u32, collation));
    }
    let widest = u64::from(collation.bytes_per_char_max());
    let length = u32::try_from(most.saturating_mul(widest * widest)).unwrap_or(u32::MAX);
    let binary = collation == value::Collation::Binary;
    let kind = if binary { Kind::LongBlob } else { Kind::LongText };
    Ok(ColumnType { length, decimals: NOT_FIXED, ..ColumnType::large(kind, collation) })
}

/// The rows of a group.
#[derive(Debug, Default)]
pub struct Joined {
    /// Joined rows.
    text: Vec<u8>,
    /// How many of them there are.
    rows: u64,
    /// The last one was cut.
    cut: bool,
    /// Rows that are still to be sorted: key and text.
    kept: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The text of a row's values, each in the result's character set.
fn append_row(call: &AggregateCall, values: &[Datum<'_>], out: &mut Vec<u8>) {
    let to = call.collation.charset();
    for (value, argument) in values.iter().zip(&call.arguments) {
        if is_stringy(&argument.ty) || matches!(to, Charset::Utf8mb4 | Charset::Binary) {
            append_text(value, &argument.ty, out);
        } else {
            let mut text = Vec::new();
            append_text(value, &argument.ty, &mut text);
            value::charset::convert(&text, Charset::Utf8mb4, to, out);
        }
    }
}

impl Joined {
    /// How many bytes more are kept.
    pub(super) fn add(&mut self, call: &AggregateCall, values: &[Datum<'_>]) -> usize {
        if self.cut {
            return 0;
        }
        let before = self.text.capacity();
        if self.rows > 0 {
            self.text.extend_from_slice(&call.separator);
        }
        append_row(call, values, &mut self.text);
        self.finish_row(call);
        self.text.capacity() - before
    }

    pub(super) fn add_ordered(
        &mut self,
        call: &AggregateCall,
        key: Vec<u8>,
        values: &[Datum<'_>],
    ) -> usize {
        let mut text = Vec::new();
        append_row(call, values, &mut text);
        let grown = key.capacity() + text.capacity() + size_of::<(Vec<u8>, Vec<u8>)>();
        self.kept.push((key, text));
        grown
    }

    fn finish_row(&mut self, call: &AggregateCall) {
        self.rows += 1;
        let most = usize::try_from(call.settings.group_concat_max_len).unwrap_or(usize::MAX);
        if self.text.len() > most {
            self.cut = true;
            self.text.truncate(most);
            // No half character.
            let whole = call.collation.charset().valid_len(&self.text);
            self.text.truncate(whole);
        }
    }

    pub(super) fn result(
        &mut self,
        call: &AggregateCall,
        env: &mut dyn Environment,
        joined: &mut u64,
    ) -> OwnedDatum {
        // Of rows with equal keys the last comes first, as in MySQL's tree.
        self.kept.reverse();
        self.kept.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, text) in std::mem::take(&mut self.kept) {
            if self.cut {
                break;
            }
            if self.rows > 0 {
                self.text.extend_from_slice(&call.separator);
            }
            self.text.extend_from_slice(&text);
            self.finish_row(call);
        }
        if self.rows == 0 {
            return OwnedDatum::Null;
        }
        *joined += self.rows;
        if self.cut {
            let text = format!("Row {joined} was cut by GROUP_CONCAT()");
            env.warn(WarningLevel::Warning, 1260, text);
        }
        OwnedDatum::Bytes(std::mem::take(&mut self.text))
    }
}
