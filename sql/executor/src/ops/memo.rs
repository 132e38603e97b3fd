//! Answers of a correlated subquery, by the values of the rows around that they depend on.
//!
//! 1. The values are told apart by all of their bytes: a collation that calls them equal does not make the answers so. 2. Nothing is
//! remembered for the first [`RUNS_FIRST`] runs, nor any more once few of those asked for were there: rows that have another value each
//! cost a look-up at most. 3. Answers are of one statement, over one state of the data.

use super::Statement;
use super::table::{KeyTable, hash};
use crate::memory::Charge;
use value::{Datum, format};

/// Runs before answers are remembered.
const RUNS_FIRST: u64 = 64;
/// Whether it is worth it is looked at after so many questions, and so many again: a question costs little beside a run.
const ASKED_EACH: u64 = 4096;
/// Of so many questions one is answered at least, or nothing is remembered any more.
const ONE_OF: u64 = 5;
/// Memory of the answers at most.
const BYTES_MAX: usize = 4 << 20;

/// Remembered answers.
pub struct Memo<A> {
    keys: KeyTable,
    answers: Vec<A>,
    runs: u64,
    asked: u64,
    found: u64,
    is_off: bool,
    /// The values that were asked for last, unless they are remembered.
    key: Vec<u8>,
    charge: Option<Charge>,
}

impl<A> Default for Memo<A> {
    fn default() -> Memo<A> {
        Memo {
            keys: KeyTable::default(),
            answers: Vec::new(),
            runs: 0,
            asked: 0,
            found: 0,
            is_off: false,
            key: Vec::new(),
            charge: None,
        }
    }
}

impl<A> Memo<A> {
    /// The subquery is to run: whether it is worth asking for its answer.
    pub fn is_worth_asking(&mut self) -> bool {
        self.runs += 1;
        !self.is_off && self.runs > RUNS_FIRST
    }

    /// The answer for these values, if it is remembered.
    pub fn find<'d>(&mut self, values: impl Iterator<Item = Datum<'d>>) -> Option<&A> {
        self.key.clear();
        values.for_each(|value| append(&value, &mut self.key));
        self.asked += 1;
        let n = self.keys.find(&self.key, hash(&self.key))?;
        self.found += 1;
        self.key.clear();
        self.answers.get(n)
    }

    /// Remembers the answer for the values that were asked for last; `bytes`: what it takes besides its own size.
    pub fn remember(&mut self, st: &Statement<'_>, answer: A, bytes: usize) {
        if self.asked.is_multiple_of(ASKED_EACH) && self.found * ONE_OF < self.asked {
            *self = Memo { is_off: true, ..Memo::default() };
            return;
        }
        let charge = self.charge.get_or_insert_with(|| st.budget.charge());
        let bytes = self.keys.bytes() + size_of::<A>() * self.answers.len() + bytes;
        if bytes > BYTES_MAX || charge.is_over() {
            return;
        }
        charge.set(bytes);
        if self.keys.insert(&self.key, hash(&self.key)).1 {
            self.answers.push(answer);
        }
    }
}

/// Appends all that tells a value from others of its column.
fn append(value: &Datum<'_>, out: &mut Vec<u8>) {
    let mut number = |kind: u8, v: u64| {
        out.push(kind);
        out.extend_from_slice(&v.to_le_bytes());
    };
    match *value {
        Datum::Null => out.push(0),
        Datum::Int(v) => number(1, v as u64),
        Datum::UInt(v) | Datum::Bits(v, _) | Datum::Set(_, v) => number(2, v),
        Datum::Double(v) => number(3, v.to_bits()),
        Datum::Date(v) => number(4, v.packed().into()),
        Datum::DateTime(v) => number(5, v.packed()),
        Datum::Time(v) => number(6, v.micros() as u64),
        Datum::Year(v) | Datum::Enum(_, v) => number(7, v.into()),
        Datum::Timestamp(v, _) => number(8, v as u64),
        Datum::Bytes(bytes) | Datum::Json(bytes) => {
            number(9, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        Datum::Decimal(_) => {
            let mut text = Vec::new();
            format::append_text(value, &mut text);
            append(&Datum::Bytes(&text), out);
        }
    }
}
