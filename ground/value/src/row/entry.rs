//! Rows from the entries of an index, without the rows they are of.
//!
//! 1. A column comes back when its key part is its value in another form: integers, the other fixed
//!    kinds, strings that are compared byte by byte. A sort key of text is not, nor is a part that
//!    keeps a prefix, nor a VARCHAR of a PAD SPACE collation, whose trailing spaces are in no key.
//! 2. A row made here has the wanted columns; what its others hold is of no meaning.
//! 3. The key comes from disk: `false` when it is none of this index's.

use super::{NOT_NULL, Place, RowLayout, VARIABLE};
use crate::collation::{bits, pad};
use crate::key::ends::part_length;
use crate::{Collation, ColumnType, KeyPart, KeySpec, Kind};

/// What a key part holds of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Big-endian, the sign turned.
    Int,
    /// The bytes that a row has.
    Stored,
    /// In nine bits a byte.
    Bits,
    /// Bytes, each space with a mark.
    Padded,
    /// Nothing that it could be made of.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    column: usize,
    place: Place,
    form: Form,
    /// What every byte of the part is turned by.
    flip: u8,
    /// What an integer of the column's width is turned by: that, and its sign.
    mask: u64,
}

/// How columns come back from one index's entries.
#[derive(Clone, Debug)]
pub struct EntryRows {
    /// The index's parts, then those of the clustered key.
    steps: Vec<Step>,
    /// Number of the index's parts.
    own: usize,
    /// A row without columns: all it has is NULL, zero or empty.
    empty: Vec<u8>,
    ends_at: usize,
}

/// Which columns an [`EntryRows`] is asked for, and memory for making rows.
#[derive(Clone, Debug, Default)]
pub struct EntryColumns {
    /// One bit per step.
    steps: u64,
    /// Of a variable column wanted: its number and its bytes in `held`.
    texts: Vec<(u32, usize, usize)>,
    held: Vec<u8>,
}

fn form(ty: &ColumnType, part: &KeyPart) -> Form {
    if part.prefix_chars.is_some() {
        return Form::Lost;
    }
    if !ty.kind.is_string() {
        return if ty.kind.is_int() { Form::Int } else { Form::Stored };
    }
    match (ty.collation, ty.kind) {
        (Collation::Binary | Collation::Utf8mb4_0900Bin, _) => Form::Bits,
        (collation, Kind::Char) if collation.is_bin() => Form::Padded,
        _ => Form::Lost,
    }
}

impl KeyPart {
    /// Whether a column of type `ty` can be made of this part of its key.
    #[must_use]
    pub fn gives_back(&self, ty: &ColumnType) -> bool {
        form(ty, self) != Form::Lost
    }
}

impl EntryRows {
    /// For entries of the parts of `own` and the clustered key behind them; `None`: that is a hidden
    /// row id.
    #[must_use]
    pub fn new(layout: &RowLayout, own: &KeySpec, clustered: Option<&KeySpec>) -> EntryRows {
        let parts = own.parts.iter().chain(clustered.iter().flat_map(|c| &c.parts));
        let step = |part: &KeyPart| {
            let place = *layout.places.get(part.column)?;
            let (flip, form) = (if part.descending { 0xFF } else { 0 }, form(&place.ty, part));
            let sign = match form == Form::Int && !place.ty.unsigned {
                true => 1 << (8 * place.width - 1),
                false => 0,
            };
            let mask = sign ^ if part.descending { u64::MAX } else { 0 };
            Some(Step { column: part.column, place, form, flip, mask })
        };
        let mut empty = vec![0; layout.bytes_min()];
        let end = layout.bytes_min() as u16;
        let (ends, _) = empty[layout.ends_at..].as_chunks_mut();
        ends.iter_mut().for_each(|e| *e = end.to_le_bytes());
        // No row with values in it is so long without them; the bits of `EntryColumns` are enough.
        let fits = layout.bytes_min() < super::STORED_BYTES_MAX;
        let steps = parts.map_while(step).take(if fits { 64 } else { 0 }).collect();
        EntryRows { steps, own: own.parts.len(), empty, ends_at: layout.ends_at }
    }

    fn step_of(&self, column: usize) -> Option<usize> {
        self.steps.iter().position(|s| s.column == column && s.form != Form::Lost)
    }

    /// Makes `wanted` ask for these columns; `false`: some of them do not come back.
    #[must_use]
    pub fn want(&self, columns: &[usize], wanted: &mut EntryColumns) -> bool {
        wanted.steps = 0;
        wanted.texts.clear();
        wanted.held.clear();
        let mut all = columns.iter().map(|c| self.step_of(*c));
        all.all(|step| step.map(|step| wanted.steps |= 1 << step).is_some())
    }

    /// Puts the row of an entry into `out` (cleared first): `key` is the entry's, and the clustered
    /// key in it begins at `clustered_at`.
    #[must_use]
    pub fn make(
        &self,
        (key, clustered_at): (&[u8], usize),
        wanted: &mut EntryColumns,
        out: &mut Vec<u8>,
    ) -> bool {
        out.clear();
        out.extend_from_slice(&self.empty);
        if wanted.steps == 0 {
            return true;
        }
        let (mut left, mut steps, mut rest) = (wanted.steps, &self.steps[..], key);
        if left.trailing_zeros() as usize >= self.own {
            // Nothing of the index's own parts.
            let Some(clustered) = key.get(clustered_at..) else { return false };
            rest = clustered;
            left = left.unbounded_shr(self.own as u32);
            steps = self.steps.get(self.own..).unwrap_or_default();
        }
        for step in steps {
            if left == 0 {
                break;
            }
            let Some(behind) = step.go_on(rest, left & 1 != 0, wanted, out) else {
                wanted.texts.clear();
                return false;
            };
            rest = behind;
            left >>= 1;
        }
        if !wanted.texts.is_empty() {
            self.put_texts(wanted, out);
            wanted.texts.clear();
            wanted.held.clear();
        }
        true
    }

    /// Appends the variable columns, in their order.
    fn put_texts(&self, wanted: &mut EntryColumns, out: &mut Vec<u8>) {
        wanted.texts.sort_unstable();
        let mut texts = wanted.texts.iter().peekable();
        for (number, at) in (self.ends_at..self.empty.len()).step_by(2).enumerate() {
            if let Some((_, begin, end)) = texts.next_if(|(n, ..)| *n as usize == number) {
                out.extend_from_slice(&wanted.held[*begin..*end]);
            }
            // Keys are shorter than a page.
            let end = out.len() as u16;
            out[at..at + 2].copy_from_slice(&end.to_le_bytes());
        }
    }
}

impl Step {
    /// Steps over the part that `key` begins with, and takes its column into the row if `take`; what
    /// is behind it. `None`: the bytes are no such part.
    #[inline]
    fn go_on<'k>(
        &self,
        key: &'k [u8],
        take: bool,
        wanted: &mut EntryColumns,
        out: &mut [u8],
    ) -> Option<&'k [u8]> {
        let place = &self.place;
        let fixed = matches!(self.form, Form::Int | Form::Stored);
        if !take && !fixed {
            return key.get(part_length(&place.ty, self.flip, key)?..);
        }
        let mut rest = key;
        if place.null_bit != NOT_NULL {
            let (flag, behind) = key.split_first()?;
            rest = behind;
            if flag ^ self.flip == 0 {
                if take {
                    out[(place.null_bit / 8) as usize] |= 1 << (place.null_bit % 8);
                }
                return Some(rest);
            }
        }
        if fixed {
            let (part, behind) = rest.split_at_checked(place.width as usize)?;
            if take {
                let at = place.at as usize;
                self.put(part, &mut out[at..at + part.len()]);
            }
            return Some(behind);
        }
        let begin = wanted.held.len();
        let length = match self.form {
            Form::Bits => bits::unkey(rest, self.flip, &mut wanted.held)?,
            _ => pad::unkey(rest, self.flip, &mut wanted.held)?,
        };
        self.put_text(begin, wanted, out)?;
        rest.get(length..)
    }

    /// A fixed column's bytes.
    #[inline]
    fn put(&self, part: &[u8], to: &mut [u8]) {
        if self.form == Form::Int {
            if let (Ok(part), Ok(to)) = (part.try_into(), <&mut [u8; 8]>::try_from(&mut *to)) {
                *to = (u64::from_be_bytes(part) ^ self.mask).to_le_bytes();
            } else if let (Ok(part), Ok(to)) = (part.try_into(), <&mut [u8; 4]>::try_from(&mut *to))
            {
                *to = (u32::from_be_bytes(part) ^ self.mask as u32).to_le_bytes();
            } else {
                let value = part.iter().fold(0, |v, b| v << 8 | u64::from(*b)) ^ self.mask;
                to.copy_from_slice(&value.to_le_bytes()[..to.len()]);
            }
            return;
        }
        to.copy_from_slice(part);
        if self.flip != 0 {
            to.iter_mut().for_each(|b| *b = !*b);
        }
    }

    /// A string that lies in `held` from `begin` on.
    fn put_text(&self, begin: usize, wanted: &mut EntryColumns, out: &mut [u8]) -> Option<()> {
        let (place, end) = (&self.place, wanted.held.len());
        if place.width == VARIABLE {
            wanted.texts.push((place.at, begin, end));
            return Some(());
        }
        let at = place.at as usize;
        let text = wanted.held.get(begin..end).filter(|t| t.len() == place.width as usize)?;
        out[at..at + text.len()].copy_from_slice(text);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Date, DateTime, Datum, Decimal, Members};
    use stdx::rng::Rng;

    fn types(rng: &mut Rng) -> Vec<ColumnType> {
        let bin = |name| Collation::from_name(name).unwrap();
        let members = Members::intern(vec![b"a".to_vec(), b"b".to_vec()], Collation::default());
        let mut types = vec![
            ColumnType::decimal(11, 3),
            ColumnType::double(),
            ColumnType::of(Kind::Date),
            ColumnType::temporal(Kind::DateTime, 2),
            ColumnType::with_members(Kind::Enum, members),
            ColumnType::bit(13),
            ColumnType::binary(6),
            ColumnType::varbinary(50),
            ColumnType::varchar(20, bin("utf8mb4_0900_bin")),
            ColumnType::char(20, bin("utf8mb4_bin")),
            ColumnType::varchar(20, Collation::default()),
            ColumnType::varchar(20, bin("utf8mb4_bin")),
        ];
        let ints = [Kind::TinyInt, Kind::SmallInt, Kind::MediumInt, Kind::Int, Kind::BigInt];
        for kind in ints {
            types.extend([ColumnType::int(kind, false), ColumnType::int(kind, true)]);
        }
        types.iter().map(|t| if rng.chance(1, 2) { *t } else { t.not_null() }).collect()
    }

    fn value<'a>(rng: &mut Rng, ty: &ColumnType, text: &'a mut Vec<u8>) -> Datum<'a> {
        if ty.nullable && rng.chance(1, 5) {
            return Datum::Null;
        }
        let n = rng.below(1 << 12);
        match ty.kind {
            Kind::Decimal => {
                let digits = i128::from(rng.below(99_999_999_999)) - 50_000_000_000;
                Datum::Decimal(Decimal::new(digits, 3).unwrap())
            }
            Kind::Double => Datum::Double(n as f64 - 2000.5),
            Kind::Date => Datum::Date(Date::new(n as u16, 12, 31).unwrap()),
            Kind::DateTime => {
                let date = Date::new(n as u16, 1, 2).unwrap();
                Datum::DateTime(DateTime::of_day(date, n as i64 * 10_000, 2).unwrap())
            }
            Kind::Enum => ty.members.map_or(Datum::Null, |m| Datum::Enum(m, n as u16 % 3)),
            Kind::Bit => Datum::Bits(n, 13),
            kind if kind.is_int() => {
                let (low, high) = ty.int_range();
                let edges = [low, low + 1, low / 2, 0.max(low), 1, high / 3, high - 1, high];
                let v = edges[n as usize % 8];
                if ty.unsigned { Datum::UInt(v as u64) } else { Datum::Int(v as i64) }
            }
            _ => {
                const PIECES: [&[u8]; 6] = [b"a", b" ", b"\0", b"\t", "é".as_bytes(), b"zzzzzzz"];
                text.extend((0..n % 7).flat_map(|_| PIECES[rng.below(6) as usize]));
                match ty.kind {
                    Kind::Binary => text.resize(6, 0),
                    Kind::Char => text.truncate(super::super::strip_spaces(text).len()),
                    _ => {}
                }
                Datum::Bytes(text)
            }
        }
    }

    #[test]
    fn what_comes_back_is_what_the_row_has() {
        let mut rng = Rng::new(3);
        let (mut made, mut refused) = (0, 0);
        for _ in 0..4000 {
            let types = types(&mut rng);
            let layout = RowLayout::new(&types);
            let mut texts = vec![Vec::new(); types.len()];
            let values: Vec<_> =
                types.iter().zip(&mut texts).map(|(t, b)| value(&mut rng, t, b)).collect();
            let mut row = Vec::new();
            layout.encode(&values, &mut row).unwrap();
            let mut spec = || {
                let part = |_| {
                    let descending = rng.chance(1, 3);
                    KeyPart { descending, ..KeyPart::whole(rng.below(22) as usize) }
                };
                KeySpec::new((0..5).map(part).collect())
            };
            let (own, clustered) = (spec(), spec());
            let mut key = Vec::new();
            own.encode_from_row(&layout, &row, &mut key).unwrap();
            let at = key.len();
            clustered.encode_from_row(&layout, &row, &mut key).unwrap();
            let rows = EntryRows::new(&layout, &own, Some(&clustered));
            let all = || own.parts.iter().chain(&clustered.parts);
            let columns: Vec<_> = all().map(|p| p.column).filter(|_| rng.chance(1, 3)).collect();
            let exact = |c: &usize| all().any(|p| p.column == *c && p.gives_back(&types[*c]));
            let (mut wanted, mut out) = (EntryColumns::default(), Vec::new());
            assert_eq!(rows.want(&columns, &mut wanted), columns.iter().all(exact));
            if !columns.iter().all(exact) {
                refused += 1;
                continue;
            }
            made += 1;
            assert!(rows.make((&key, at), &mut wanted, &mut out));
            layout.check_length(&out).unwrap();
            for column in columns {
                assert_eq!(layout.decode(&out, column), layout.decode(&row, column), "{types:?}");
            }
            // Bytes that are no such key end in an answer, whichever.
            let cut = rng.below(key.len() as u64 + 1) as usize;
            key.truncate(cut);
            let _ = rows.make((&key, at), &mut wanted, &mut out);
            key.iter_mut().for_each(|b| *b = rng.next_u64() as u8);
            let _ = rows.make((&key, at), &mut wanted, &mut out);
        }
        assert!(made > 1000 && refused > 200, "{made} {refused}");
    }

    #[test]
    fn text_under_a_sort_key_does_not_come_back() {
        let ty = |kind, name| match kind {
            Kind::Char => ColumnType::char(9, Collation::from_name(name).unwrap()),
            _ => ColumnType::varchar(9, Collation::from_name(name).unwrap()),
        };
        let whole = KeyPart::whole(0);
        assert!(!whole.gives_back(&ty(Kind::VarChar, "utf8mb4_0900_ai_ci")));
        assert!(!whole.gives_back(&ty(Kind::Char, "latin1_swedish_ci")));
        assert!(!whole.gives_back(&ty(Kind::VarChar, "utf8mb4_bin")));
        assert!(whole.gives_back(&ty(Kind::Char, "utf8mb4_bin")));
        assert!(whole.gives_back(&ColumnType::varbinary(9)));
        assert!(!KeyPart::prefix(0, 3).gives_back(&ColumnType::varbinary(9)));
    }
}
