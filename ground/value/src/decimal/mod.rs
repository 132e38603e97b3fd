//! DECIMAL: exact numbers of at most 65 digits, 30 of them behind the point.
//!
//! Invariants
//! 1. A value is `±magnitude / 10^scale`, magnitude < 10^65, scale <= 30; zero is never negative.
//! 2. 28 bytes, aligned to 4, so that a [`crate::Datum`] has 32.
//! 3. Rounding is half away from zero, as MySQL's.
//! 4. `==` is identity (1.0 and 1.00 differ); numbers compare with [`Decimal::compare`].
//! 5. What has no result (more than 65 digits before and behind the point, a zero divisor) is `None`:
//!    nothing wraps.

mod arith;
#[cfg(test)]
mod tests;
mod text;
mod wide;

pub use text::DecimalText;

use std::cmp::Ordering;
use wide::Wide;

/// Most digits of a decimal.
pub const PRECISION_MAX: u8 = 65;
/// Most digits behind the point of a decimal.
pub const SCALE_MAX: u8 = 30;

const WORDS: usize = 7;
const NEGATIVE: u32 = 1 << 31;
const SCALE_SHIFT: u32 = 24;
const HIGH_MASK: u32 = (1 << SCALE_SHIFT) - 1;

/// An exact number. See the module for its range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Decimal {
    /// The magnitude's 216 bits, lowest first; the last word's top byte is the sign and the scale.
    words: [u32; WORDS],
}

impl std::fmt::Debug for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Decimal {
    /// 0 with scale 0.
    pub const ZERO: Decimal = Decimal { words: [0; WORDS] };

    /// `unscaled / 10^scale`; `None` when the scale is above 30 (i128 has at most 39 digits).
    #[inline]
    #[must_use]
    pub fn new(unscaled: i128, scale: u8) -> Option<Decimal> {
        (scale <= SCALE_MAX).then(|| Decimal::narrow(unscaled, scale))
    }

    /// As [`Decimal::new`]; a larger scale than 30 is rounded to 30.
    #[must_use]
    pub fn from_i128(unscaled: i128, scale: u8) -> Decimal {
        match Decimal::new(unscaled, scale) {
            Some(v) => v,
            None => {
                let cut = u32::from(scale - SCALE_MAX);
                let wide = arith::round_off(Wide::of(unscaled.unsigned_abs()), cut.min(60));
                Decimal::wide(unscaled < 0, &wide, SCALE_MAX).unwrap_or(Decimal::ZERO)
            }
        }
    }

    /// `unscaled / 10^scale` of a scale known to be good.
    #[inline]
    fn narrow(unscaled: i128, scale: u8) -> Decimal {
        let v = unscaled.unsigned_abs();
        let sign = if unscaled < 0 { NEGATIVE } else { 0 };
        let meta = sign | u32::from(scale) << SCALE_SHIFT;
        let word = |n: u32| (v >> (32 * n)) as u32;
        Decimal { words: [word(0), word(1), word(2), word(3), 0, 0, meta] }
    }

    /// `None` when the magnitude has more than 65 digits.
    fn wide(negative: bool, magnitude: &Wide, scale: u8) -> Option<Decimal> {
        if scale > SCALE_MAX || magnitude.digits() > u32::from(PRECISION_MAX) {
            return None;
        }
        let mut words = [0u32; WORDS];
        for (n, word) in words.iter_mut().enumerate() {
            *word = (magnitude.0[n / 2] >> (32 * (n % 2))) as u32;
        }
        let sign = if negative && !magnitude.is_zero() { NEGATIVE } else { 0 };
        words[WORDS - 1] |= sign | u32::from(scale) << SCALE_SHIFT;
        Some(Decimal { words })
    }

    fn magnitude(&self) -> Wide {
        let mut limbs = Wide::ZERO;
        for (n, &word) in self.words.iter().enumerate() {
            let word = if n == WORDS - 1 { word & HIGH_MASK } else { word };
            limbs.0[n / 2] |= u64::from(word) << (32 * (n % 2));
        }
        limbs
    }

    /// The unscaled value if it fits.
    #[inline]
    #[must_use]
    pub fn unscaled(&self) -> Option<i128> {
        let w = &self.words;
        if w[4] | w[5] | (w[6] & HIGH_MASK) != 0 || w[3] >> 31 != 0 {
            return None;
        }
        let low = u64::from(w[0]) | u64::from(w[1]) << 32;
        let high = u64::from(w[2]) | u64::from(w[3]) << 32;
        let v = (u128::from(low) | u128::from(high) << 64) as i128;
        Some(if self.is_negative() { -v } else { v })
    }

    /// All of the value in 28 bytes, the scale included; their order is not the values'.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 28] {
        let mut out = [0; 28];
        for (to, word) in out.chunks_exact_mut(4).zip(self.words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// The value of [`Decimal::to_bytes`]; `None` for other bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 28]) -> Option<Decimal> {
        let mut words = [0u32; WORDS];
        for (word, from) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes([from[0], from[1], from[2], from[3]]);
        }
        let raw = Decimal { words };
        Decimal::wide(raw.is_negative(), &raw.magnitude(), raw.scale())
    }

    /// Writes the magnitude big-endian into `to`, which must have room for it.
    pub fn put_magnitude(&self, to: &mut [u8]) {
        let limbs = self.magnitude().0;
        for (at, byte) in to.iter_mut().rev().enumerate() {
            *byte = limbs.get(at / 8).map_or(0, |limb| (limb >> (8 * (at % 8))) as u8);
        }
    }

    /// The value of a big-endian magnitude; `None` when that has more than 65 digits.
    #[must_use]
    pub fn from_magnitude(negative: bool, bytes: &[u8; 28], scale: u8) -> Option<Decimal> {
        let mut limbs = Wide::ZERO;
        for (at, &byte) in bytes.iter().rev().enumerate() {
            limbs.0[at / 8] |= u64::from(byte) << (8 * (at % 8));
        }
        Decimal::wide(negative, &limbs, scale)
    }

    /// Digits behind the point.
    #[inline]
    #[must_use]
    pub const fn scale(&self) -> u8 {
        (self.words[WORDS - 1] >> SCALE_SHIFT) as u8 & 31
    }

    /// Whether the value is below zero.
    #[inline]
    #[must_use]
    pub const fn is_negative(&self) -> bool {
        self.words[WORDS - 1] & NEGATIVE != 0
    }

    /// Whether the value is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.words[..WORDS - 1].iter().all(|&w| w == 0) && self.words[WORDS - 1] & HIGH_MASK == 0
    }

    /// Digits without leading zeros, those behind the point included; 0 for zero.
    #[must_use]
    pub fn digits(&self) -> u32 {
        self.magnitude().digits()
    }

    /// Digits before the point without leading zeros.
    #[must_use]
    pub fn whole_digits(&self) -> u32 {
        self.digits().saturating_sub(u32::from(self.scale()))
    }

    /// The largest value of DECIMAL(`precision`, `scale`): all nines.
    #[must_use]
    pub fn largest(precision: u8, scale: u8) -> Decimal {
        let nines = Wide::of(1).scale_up(u32::from(precision.min(PRECISION_MAX)));
        let nines = nines.sub(&Wide::of(1));
        Decimal::wide(false, &nines, scale.min(SCALE_MAX)).unwrap_or(Decimal::ZERO)
    }

    /// The value turned round its sign.
    // A method like `add` and `sub`, whose results make them no operators.
    #[allow(clippy::should_implement_trait)]
    #[must_use]
    pub fn neg(mut self) -> Decimal {
        if !self.is_zero() {
            self.words[WORDS - 1] ^= NEGATIVE;
        }
        self
    }

    /// The value without its sign.
    #[must_use]
    pub fn abs(self) -> Decimal {
        if self.is_negative() { self.neg() } else { self }
    }

    /// The whole part; `None` beyond i128.
    #[must_use]
    pub fn trunc_to_i128(&self) -> Option<i128> {
        let whole = self.truncate(0);
        whole.unscaled()
    }

    /// The value rounded to an integer; `None` beyond i128.
    #[must_use]
    pub fn round_to_i128(&self) -> Option<i128> {
        self.round(0)?.unscaled()
    }

    /// Numeric order.
    #[inline]
    #[must_use]
    pub fn compare(&self, other: &Decimal) -> Ordering {
        if self.scale() == other.scale()
            && let (Some(a), Some(b)) = (self.unscaled(), other.unscaled())
        {
            return a.cmp(&b);
        }
        if let Some((a, b, _)) = arith::aligned(self, other) {
            return a.cmp(&b);
        }
        if self.is_negative() != other.is_negative() {
            return other.is_negative().cmp(&self.is_negative());
        }
        let scale = self.scale().max(other.scale());
        let up = |d: &Decimal| d.magnitude().scale_up(u32::from(scale - d.scale()));
        let order = up(self).compare(&up(other));
        if self.is_negative() { order.reverse() } else { order }
    }
}

impl From<i64> for Decimal {
    fn from(v: i64) -> Decimal {
        Decimal::narrow(i128::from(v), 0)
    }
}

impl From<u64> for Decimal {
    fn from(v: u64) -> Decimal {
        Decimal::narrow(i128::from(v), 0)
    }
}
