//! Answers of a correlated subquery, by the values of the rows around that they depend on.
//!
//! 1. The values are told apart by all of their bytes: a collation that calls them equal does not make the answers so. 2. Nothing is
//! remembered for the first [`RUNS_FIRST`] runs, nor any more once few of those asked for were there, or their values are long: rows that
//! have another value each cost [`ASKED_EACH`] questions and copies at most. 3. Answers are of one statement, over one state of the
//! data. 4. All of them, texts included, are counted against the statement's memory and stay below [`BYTES_MAX`].

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
/// Values that are longer are not asked for.
const KEY_BYTES_MAX: usize = 4 << 10;

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
    /// What the answers take besides their own size.
    kept_bytes: usize,
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
            kept_bytes: 0,
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
        let looks = self.asked.is_multiple_of(ASKED_EACH);
        if self.key.len() > KEY_BYTES_MAX || looks && self.found * ONE_OF < self.asked {
            *self = Memo { is_off: true, ..Memo::default() };
            return None;
        }
        self.asked += 1;
        let n = self.keys.find(&self.key, hash(&self.key))?;
        self.found += 1;
        self.key.clear();
        self.answers.get(n)
    }

    /// Remembers the answer for the values that were asked for last; `bytes`: what it takes besides its own size.
    pub fn remember(&mut self, st: &Statement<'_>, answer: A, bytes: usize) {
        self.remember_in(&|| st.budget.charge(), answer, bytes);
    }

    fn remember_in(&mut self, charge: &impl Fn() -> Charge, answer: A, bytes: usize) {
        if self.is_off {
            return;
        }
        let charge = self.charge.get_or_insert_with(charge);
        let kept_bytes = self.kept_bytes + bytes;
        let own = self.keys.bytes() + self.key.len() + size_of::<A>() * (self.answers.len() + 1);
        if own + kept_bytes > BYTES_MAX || charge.is_over() {
            return;
        }
        if self.keys.insert(&self.key, hash(&self.key)).1 {
            self.answers.push(answer);
            self.kept_bytes = kept_bytes;
            charge.set(own + kept_bytes);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Budget;

    /// Asks for numbers, and remembers what was not there; how many were.
    fn ask(
        memo: &mut Memo<u64>,
        charge: impl Fn() -> Charge,
        numbers: u64,
        of: u64,
        bytes: usize,
    ) -> u64 {
        let mut found = 0;
        for n in 0..numbers {
            if !memo.is_worth_asking() {
                continue;
            }
            match memo.find([Datum::UInt(n % of)].into_iter()) {
                Some(answer) => {
                    assert_eq!(*answer, n % of);
                    found += 1;
                }
                None => memo.remember_in(&charge, n % of, bytes),
            }
        }
        found
    }

    #[test]
    fn answers_stay_within_their_memory_and_end_where_few_come_again() {
        let budget = Budget::new(1 << 30, 1 << 30);
        let charge = || budget.charge();
        let mut memo = Memo::default();
        assert_eq!(ask(&mut memo, charge, RUNS_FIRST, 1, 0), 0, "the first ones");
        assert_eq!(ask(&mut memo, charge, 10_000, 100, 10), 9_900);
        // Long answers: those that fit.
        let mut memo = Memo::default();
        ask(&mut memo, charge, 1_000 + RUNS_FIRST, u64::MAX, 1 << 20);
        assert_eq!(memo.answers.len(), 3);
        assert!(memo.kept_bytes == 3 << 20 && memo.answers.len() == memo.keys.len());
        // None comes again.
        let mut memo = Memo::default();
        ask(&mut memo, charge, 3 * ASKED_EACH, u64::MAX, 10);
        assert!(memo.is_off && memo.answers.is_empty());
        // A long value.
        let mut memo: Memo<u64> = Memo::default();
        let long = vec![b'x'; KEY_BYTES_MAX + 1];
        assert!(memo.find([Datum::Bytes(&long)].into_iter()).is_none());
        assert!(!(0..100).any(|_| memo.is_worth_asking()));
    }

    #[test]
    fn values_are_told_apart_by_their_bytes() {
        let key = |values: &[Datum<'_>]| {
            let mut out = Vec::new();
            values.iter().for_each(|value| append(value, &mut out));
            out
        };
        let texts = [&b"a"[..], b"A", b"", b"a "].map(Datum::Bytes);
        let zeros = [Datum::Null, Datum::Double(0.0), Datum::Double(-0.0), Datum::Int(0)];
        let all: Vec<_> = texts.iter().chain(&zeros).map(|v| key(&[*v])).collect();
        for (n, one) in all.iter().enumerate() {
            assert!(all.iter().skip(n + 1).all(|other| other != one));
        }
        let (ab, c) = (Datum::Bytes(b"ab"), Datum::Bytes(b"c"));
        assert!(key(&[ab, c]) != key(&[Datum::Bytes(b"a"), Datum::Bytes(b"bc")]));
    }
}
