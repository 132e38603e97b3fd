//! Rows of a result, written straight into the send buffer.
//!
//! 1. A text row is a sequence of length-encoded strings, 0xFB for NULL.
//! 2. A binary row is `00 | NULL bitmap from bit 2 | values`; the bitmap's bytes are reserved first and a
//!    NULL sets its bit in place.

use crate::constants::ColumnCode;
use crate::number::{self, Digits};
use crate::prepared::{DateTime, Time};
use crate::{Outbox, lenenc};

/// Writes one text row; dropping it before [`TextRow::end`] leaves a broken packet, so always end it.
#[derive(Debug)]
pub struct TextRow<'o>(&'o mut Outbox);

impl<'o> TextRow<'o> {
    /// Starts a row.
    #[inline]
    pub fn begin(out: &'o mut Outbox) -> Self {
        out.begin();
        Self(out)
    }

    /// NULL.
    #[inline]
    pub fn null(&mut self) {
        self.0.body().push(lenenc::NULL);
    }

    /// A string. A short one is put here, where its row is written.
    #[inline]
    pub fn bytes(&mut self, v: &[u8]) {
        let body = self.0.body();
        match v.len() {
            len @ 0..=lenenc::BYTE_MAX => {
                body.push(len as u8);
                body.extend_from_slice(v);
            }
            _ => lenenc::put_bytes(body, v),
        }
    }

    /// A signed integer.
    #[inline]
    pub fn int(&mut self, v: i64) {
        match u64::try_from(v) {
            Ok(v) => self.uint(v),
            Err(_) => self.bytes(Digits::signed(v).as_bytes()),
        }
    }

    /// An unsigned integer. Most are short: their digits are put behind their count at once.
    #[inline]
    pub fn uint(&mut self, v: u64) {
        let body = self.0.body();
        let digit = |v: u64| b'0' + (v % 10) as u8;
        match v {
            0..10 => body.extend_from_slice(&[1, digit(v)]),
            10..100 => body.extend_from_slice(&[2, digit(v / 10), digit(v)]),
            100..1000 => {
                body.extend_from_slice(&[3, digit(v / 100), digit(v / 10), digit(v)]);
            }
            1000..10_000 => {
                let digits = [digit(v / 1000), digit(v / 100), digit(v / 10), digit(v)];
                body.extend_from_slice(&[4, digits[0], digits[1], digits[2], digits[3]]);
            }
            _ => self.bytes(Digits::unsigned(v).as_bytes()),
        }
    }

    /// A double.
    pub fn double(&mut self, v: f64) {
        let body = self.0.body();
        let at = body.len();
        // The text is shorter than 251 bytes, so its length has one byte.
        body.push(0);
        number::put_double(body, v);
        body[at] = (body.len() - at - 1) as u8;
    }

    /// Ends the row.
    #[inline]
    pub fn end(self) {
        self.0.end();
    }
}

/// Writes one binary row.
#[derive(Debug)]
pub struct BinaryRow<'o> {
    out: &'o mut Outbox,
    bitmap_at: usize,
    column: usize,
}

impl<'o> BinaryRow<'o> {
    /// Starts a row of `columns` columns.
    #[inline]
    pub fn begin(out: &'o mut Outbox, columns: usize) -> Self {
        let bitmap_bytes = (columns + 2).div_ceil(8);
        let body = match bitmap_bytes {
            1 => out.begin_zeroed::<2>(),
            _ => {
                let body = out.begin();
                body.resize(body.len() + 1 + bitmap_bytes, 0);
                body
            }
        };
        let bitmap_at = body.len() - bitmap_bytes;
        Self { out, bitmap_at, column: 0 }
    }

    /// NULL.
    #[inline]
    pub fn null(&mut self) {
        let bit = self.column + 2;
        self.out.body()[self.bitmap_at + bit / 8] |= 1 << (bit % 8);
        self.column += 1;
    }

    /// A string.
    #[inline]
    pub fn bytes(&mut self, v: &[u8]) {
        lenenc::put_bytes(self.out.body(), v);
        self.column += 1;
    }

    /// An integer (two's complement) in the width of its column's type.
    #[inline]
    pub fn int(&mut self, v: i64, code: ColumnCode) {
        let body = self.out.body();
        match code {
            ColumnCode::Tiny => body.push(v as u8),
            ColumnCode::Short | ColumnCode::Year => {
                body.extend_from_slice(&(v as u16).to_le_bytes());
            }
            ColumnCode::Long | ColumnCode::Int24 => {
                body.extend_from_slice(&(v as u32).to_le_bytes());
            }
            _ => body.extend_from_slice(&v.to_le_bytes()),
        }
        self.column += 1;
    }

    /// A double.
    pub fn double(&mut self, v: f64) {
        self.out.body().extend_from_slice(&v.to_le_bytes());
        self.column += 1;
    }

    /// A float.
    pub fn float(&mut self, v: f32) {
        self.out.body().extend_from_slice(&v.to_le_bytes());
        self.column += 1;
    }

    /// A date, with its time of day unless it is midnight.
    pub fn date_time(&mut self, v: DateTime) {
        let body = self.out.body();
        let time = (v.hour, v.minute, v.second) != (0, 0, 0);
        let date = (v.year, v.month, v.day) != (0, 0, 0);
        let len = match () {
            () if v.micros > 0 => 11,
            () if time => 7,
            () if date => 4,
            () => 0,
        };
        body.push(len);
        if len >= 4 {
            body.extend_from_slice(&v.year.to_le_bytes());
            body.extend_from_slice(&[v.month, v.day]);
        }
        if len >= 7 {
            body.extend_from_slice(&[v.hour, v.minute, v.second]);
        }
        if len == 11 {
            body.extend_from_slice(&v.micros.to_le_bytes());
        }
        self.column += 1;
    }

    /// A time span.
    pub fn time(&mut self, v: Time) {
        let body = self.out.body();
        let zero = v.days == 0 && (v.hour, v.minute, v.second) == (0, 0, 0);
        let len = match () {
            () if v.micros > 0 => 12,
            () if zero => 0,
            () => 8,
        };
        body.push(len);
        if len >= 8 {
            body.push(u8::from(v.negative));
            body.extend_from_slice(&v.days.to_le_bytes());
            body.extend_from_slice(&[v.hour, v.minute, v.second]);
        }
        if len == 12 {
            body.extend_from_slice(&v.micros.to_le_bytes());
        }
        self.column += 1;
    }

    /// Ends the row.
    #[inline]
    pub fn end(self) {
        self.out.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_row() {
        let mut out = Outbox::new();
        let mut row = TextRow::begin(&mut out);
        row.bytes(b"abc");
        row.null();
        row.int(-12);
        row.uint(7);
        row.double(1.5);
        row.end();
        assert_eq!(out.bytes(), b"\x0F\0\0\0\x03abc\xFB\x03-12\x017\x031.5");
    }

    #[test]
    fn strings_of_a_text_row_have_their_lengths_before_them() {
        for len in [0, 1, lenenc::BYTE_MAX, lenenc::BYTE_MAX + 1, 70_000] {
            let text = vec![b'x'; len];
            let mut out = Outbox::new();
            let mut row = TextRow::begin(&mut out);
            row.bytes(&text);
            row.end();
            let mut want = Vec::new();
            lenenc::put_bytes(&mut want, &text);
            assert_eq!(out.bytes()[4..], want, "{len}");
        }
    }

    #[test]
    fn integers_of_a_text_row_are_their_decimal_digits() {
        let limits = [99_999, u64::from(u32::MAX), i64::MAX as u64, u64::MAX];
        for v in (0..=10_001).chain(limits) {
            let mut out = Outbox::new();
            let mut row = TextRow::begin(&mut out);
            row.uint(v);
            row.int(v as i64);
            row.int((v as i64).wrapping_neg());
            row.end();
            let texts =
                [v.to_string(), (v as i64).to_string(), (v as i64).wrapping_neg().to_string()];
            let want: Vec<u8> =
                texts.iter().flat_map(|t| [&[t.len() as u8][..], t.as_bytes()].concat()).collect();
            assert_eq!(out.bytes()[4..], want, "{v}");
        }
    }

    #[test]
    fn a_binary_row_with_nulls() {
        let mut out = Outbox::new();
        let mut row = BinaryRow::begin(&mut out, 8);
        row.int(-1, ColumnCode::Long);
        row.null();
        row.bytes(b"x");
        row.int(2, ColumnCode::Tiny);
        row.int(3, ColumnCode::Short);
        row.int(4, ColumnCode::LongLong);
        row.null();
        row.null();
        row.end();
        let want = [
            &[22u8, 0, 0, 0, 0, 0b0000_1000, 0b0000_0011][..],
            &[0xFF, 0xFF, 0xFF, 0xFF, 1, b'x', 2, 3, 0],
            &[4, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        // header 4 + 00 + bitmap 2 + 4 + 2 + 1 + 2 + 8
        assert_eq!(out.bytes()[3..], want[3..]);
        assert_eq!(usize::from(out.bytes()[0]), out.len() - 4);
    }

    #[test]
    fn dates_and_times_leave_out_what_is_zero() {
        let mut out = Outbox::new();
        let mut row = BinaryRow::begin(&mut out, 4);
        let date = DateTime { year: 2024, month: 2, day: 3, ..DateTime::default() };
        row.date_time(date);
        row.date_time(DateTime { hour: 4, micros: 1000, ..date });
        row.date_time(DateTime::default());
        row.time(Time { negative: true, days: 1, second: 2, ..Time::default() });
        row.end();
        let want = [
            &[4u8, 0xE8, 7, 2, 3][..],
            &[11, 0xE8, 7, 2, 3, 4, 0, 0, 0xE8, 3, 0, 0],
            &[0],
            &[8, 1, 1, 0, 0, 0, 0, 0, 2],
        ]
        .concat();
        assert_eq!(out.bytes()[6..], want);
    }

    #[test]
    fn a_warm_row_does_not_grow_the_buffer() {
        let mut out = Outbox::new();
        let mut capacity = 0;
        for round in 0..10 {
            out.clear();
            let mut row = BinaryRow::begin(&mut out, 1);
            row.bytes(&[b'x'; 120]);
            row.end();
            let now = out.bytes().as_ptr() as usize;
            assert!(round == 0 || now == capacity);
            capacity = now;
        }
    }
}
