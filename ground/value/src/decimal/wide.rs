//! Unsigned integers of 512 bits: what decimals are computed in when 128 bits do not hold them.
//!
//! 1. Limbs are little-endian: limb 0 holds the lowest 64 bits. 2. The largest value ever needed is a
//! dividend of 65 + 60 digits or a product of 130; 512 bits hold 154.

use std::cmp::Ordering;

const LIMBS: usize = 8;

/// The largest power of ten in one limb, and its exponent.
const CHUNK: u64 = 10u64.pow(CHUNK_DIGITS);
const CHUNK_DIGITS: u32 = 19;

/// An unsigned integer below 2^512.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wide(pub [u64; LIMBS]);

impl Wide {
    pub const ZERO: Wide = Wide([0; LIMBS]);

    pub fn of(v: u128) -> Wide {
        let mut limbs = [0; LIMBS];
        (limbs[0], limbs[1]) = (v as u64, (v >> 64) as u64);
        Wide(limbs)
    }

    /// The value if it is below 2^128.
    pub fn narrow(&self) -> Option<u128> {
        let high = self.0[2..].iter().all(|&l| l == 0);
        high.then(|| u128::from(self.0[0]) | u128::from(self.0[1]) << 64)
    }

    pub fn is_zero(&self) -> bool {
        *self == Wide::ZERO
    }

    pub fn compare(&self, other: &Wide) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }

    pub fn add(mut self, other: &Wide) -> Wide {
        let mut carry = false;
        for (a, b) in self.0.iter_mut().zip(other.0) {
            let (sum, over) = a.overflowing_add(b);
            let (sum, again) = sum.overflowing_add(u64::from(carry));
            (*a, carry) = (sum, over || again);
        }
        self
    }

    /// `self - other`, which must not be larger.
    pub fn sub(mut self, other: &Wide) -> Wide {
        let mut borrow = false;
        for (a, b) in self.0.iter_mut().zip(other.0) {
            let (rest, under) = a.overflowing_sub(b);
            let (rest, again) = rest.overflowing_sub(u64::from(borrow));
            (*a, borrow) = (rest, under || again);
        }
        self
    }

    /// `self * factor + addend`.
    pub fn mul_small(mut self, factor: u64, addend: u64) -> Wide {
        let mut carry = u128::from(addend);
        for a in &mut self.0 {
            let v = u128::from(*a) * u128::from(factor) + carry;
            (*a, carry) = (v as u64, v >> 64);
        }
        self
    }

    /// The quotient by `divisor`, and the remainder.
    pub fn div_small(mut self, divisor: u64) -> (Wide, u64) {
        let mut rest = 0u64;
        for a in self.0.iter_mut().rev() {
            let v = u128::from(rest) << 64 | u128::from(*a);
            (*a, rest) = ((v / u128::from(divisor)) as u64, (v % u128::from(divisor)) as u64);
        }
        (self, rest)
    }

    /// The product; both factors together must stay below 2^512.
    pub fn mul(&self, other: &Wide) -> Wide {
        let mut out = [0u64; LIMBS];
        for (i, &a) in self.0.iter().enumerate().filter(|(_, a)| **a != 0) {
            let mut carry = 0u128;
            for j in 0..LIMBS - i {
                let v = u128::from(a) * u128::from(other.0[j]) + u128::from(out[i + j]) + carry;
                (out[i + j], carry) = (v as u64, v >> 64);
            }
        }
        Wide(out)
    }

    /// `self * 10^digits`.
    pub fn scale_up(mut self, mut digits: u32) -> Wide {
        while digits >= CHUNK_DIGITS {
            self = self.mul_small(CHUNK, 0);
            digits -= CHUNK_DIGITS;
        }
        self.mul_small(10u64.pow(digits), 0)
    }

    /// `self / 10^digits` without the fraction.
    pub fn scale_down(mut self, mut digits: u32) -> Wide {
        while digits >= CHUNK_DIGITS {
            self = self.div_small(CHUNK).0;
            digits -= CHUNK_DIGITS;
        }
        self.div_small(10u64.pow(digits)).0
    }

    /// Quotient and remainder; the divisor is not zero (Knuth's algorithm D).
    pub fn div_rem(&self, divisor: &Wide) -> (Wide, Wide) {
        let n = LIMBS - divisor.0.iter().rev().take_while(|&&l| l == 0).count();
        if n <= 1 {
            let (q, r) = self.div_small(divisor.0[0].max(1));
            return (q, Wide::of(u128::from(r)));
        }
        let shift = divisor.0[n - 1].leading_zeros();
        let d = divisor.shl(shift);
        let mut rest = [0u64; LIMBS + 1];
        rest[..LIMBS].copy_from_slice(&self.shl(shift).0);
        rest[LIMBS] = if shift == 0 { 0 } else { self.0[LIMBS - 1] >> (64 - shift) };
        let mut quotient = [0u64; LIMBS];
        for j in (0..=LIMBS - n).rev() {
            quotient[j] = quotient_limb(&mut rest[j..=j + n], &d.0[..n]);
        }
        let mut remainder = [0; LIMBS];
        remainder.copy_from_slice(&rest[..LIMBS]);
        (Wide(quotient), Wide(remainder).shr(shift))
    }

    fn shl(&self, bits: u32) -> Wide {
        if bits == 0 { *self } else { self.mul_small(1 << bits, 0) }
    }

    fn shr(&self, bits: u32) -> Wide {
        if bits == 0 { *self } else { self.div_small(1 << bits).0 }
    }

    /// How many decimal digits; 0 for zero.
    pub fn digits(&self) -> u32 {
        let (mut v, mut digits) = (*self, 0);
        while v.0[1..].iter().any(|&l| l != 0) {
            v = v.div_small(CHUNK).0;
            digits += CHUNK_DIGITS;
        }
        digits + v.0[0].checked_ilog10().map_or(0, |log| log + 1)
    }

    /// The decimal digits at the end of `buf`, without leading zeros; returns where they begin.
    pub fn put_digits(&self, buf: &mut [u8]) -> usize {
        let (mut v, mut at) = (*self, buf.len());
        while !v.is_zero() {
            let (q, mut chunk) = v.div_small(CHUNK);
            v = q;
            let mut left = CHUNK_DIGITS;
            while left > 0 && (chunk > 0 || !v.is_zero()) {
                at -= 1;
                buf[at] = b'0' + (chunk % 10) as u8;
                chunk /= 10;
                left -= 1;
            }
        }
        at
    }
}

/// One limb of a quotient: subtracts that often `d` from `rest`, which is one limb longer.
fn quotient_limb(rest: &mut [u64], d: &[u64]) -> u64 {
    let n = d.len();
    let high = u128::from(rest[n]) << 64 | u128::from(rest[n - 1]);
    let top = u128::from(d[n - 1]);
    let mut guess = (high / top).min(u128::from(u64::MAX));
    let mut left = high - guess * top;
    while left <= u128::from(u64::MAX)
        && guess * u128::from(d[n - 2]) > (left << 64 | u128::from(rest[n - 2]))
    {
        guess -= 1;
        left += top;
    }
    let (mut carry, mut borrow) = (0u128, false);
    for (i, limb) in rest.iter_mut().enumerate() {
        let product = guess * u128::from(d.get(i).copied().unwrap_or(0)) + carry;
        carry = product >> 64;
        let (v, under) = limb.overflowing_sub(product as u64);
        let (v, again) = v.overflowing_sub(u64::from(borrow));
        (*limb, borrow) = (v, under || again);
    }
    if borrow {
        // The guess was one too large: add the divisor back.
        guess -= 1;
        let mut carry = false;
        for (i, limb) in rest.iter_mut().enumerate() {
            let (v, over) = limb.overflowing_add(d.get(i).copied().unwrap_or(0));
            let (v, again) = v.overflowing_add(u64::from(carry));
            (*limb, carry) = (v, over || again);
        }
    }
    guess as u64
}
