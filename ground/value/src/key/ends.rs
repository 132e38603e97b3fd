//! Where the parts of an encoded key end.
//!
//! 1. Nothing is decoded: every part's form says by itself where it ends (the rules of [`crate::key`]).
//! 2. The bytes may be cut short, or be no key at all: then the parts that are whole are found.

use super::KeySpec;
use crate::ColumnType;

impl KeySpec {
    /// Replaces `ends` by the positions behind the parts that are whole in `key`, in order.
    pub fn part_ends(&self, types: &[ColumnType], key: &[u8], ends: &mut Vec<usize>) {
        ends.clear();
        let mut at = 0;
        for part in &self.parts {
            let Some(ty) = types.get(part.column) else { return };
            let flip = if part.descending { 0xFF } else { 0 };
            let Some(length) = part_length(ty, flip, &key[at..]) else { return };
            at += length;
            ends.push(at);
        }
    }
}

/// Bytes of the first part of `key`, every byte of which was turned by `flip`.
pub(crate) fn part_length(ty: &ColumnType, flip: u8, key: &[u8]) -> Option<usize> {
    let mut head = 0;
    if ty.nullable {
        head = 1;
        if key.first()? ^ flip == 0 {
            return Some(1);
        }
    }
    let rest = &key[head..];
    let length = if ty.kind.is_string() {
        ty.collation.key_part_length(rest, flip)?
    } else {
        match ty.kind.int_bytes() {
            Some(bytes) => bytes,
            None => ty.fixed_bytes()? as usize,
        }
    };
    (length <= rest.len()).then_some(head + length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collation, Datum, KeyPart, Kind};

    const COLLATIONS: [&str; 9] = [
        "binary",
        "utf8mb4_0900_ai_ci",
        "utf8mb4_0900_as_cs",
        "utf8mb4_0900_bin",
        "utf8mb4_bin",
        "utf8mb4_general_ci",
        "utf8mb4_unicode_520_ci",
        "utf8mb4_unicode_ci",
        "latin1_swedish_ci",
    ];

    #[test]
    fn every_part_ends_where_the_next_one_begins() {
        let texts = ["", " ", "a", "abc", "a b  ", "   x", "12345678", "123456789", "\t", "é ü"];
        for name in COLLATIONS {
            let Some(collation) = Collation::from_name(name) else { continue };
            let types = [
                ColumnType::varchar(40, collation),
                ColumnType::int(Kind::Int, false).not_null(),
                ColumnType::varchar(40, collation).not_null(),
            ];
            for descending in [false, true] {
                let parts = [0, 1, 2, 0].map(|c| KeyPart { descending, ..KeyPart::whole(c) });
                let spec = KeySpec::new(parts.to_vec());
                for text in texts {
                    let text = text.as_bytes();
                    for first in [Datum::Null, Datum::Bytes(text)] {
                        let row = [first, Datum::Int(-7), Datum::Bytes(text)];
                        let mut expected = Vec::new();
                        let mut key = Vec::new();
                        for part in &spec.parts {
                            let one = KeySpec::new(vec![*part]);
                            one.encode(&types, &row, &mut key).unwrap();
                            expected.push(key.len());
                        }
                        let mut ends = Vec::new();
                        spec.part_ends(&types, &key, &mut ends);
                        assert_eq!(ends, expected, "{name} {text:?} {descending}");
                        spec.part_ends(&types, &key[..key.len() - 1], &mut ends);
                        assert_eq!(ends, expected[..3], "{name} {text:?} cut");
                    }
                }
            }
        }
    }
}
