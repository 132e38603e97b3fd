//! Arithmetic of decimals: 128 bits where they do, 512 where not.

use super::wide::Wide;
use super::{Decimal, PRECISION_MAX, SCALE_MAX};

impl Decimal {
    /// `self + other` with the larger scale (fewer digits behind the point when 65 do not hold all);
    /// `None`: too large.
    #[must_use]
    #[inline]
    pub fn add(&self, other: &Decimal) -> Option<Decimal> {
        if let Some((a, b, scale)) = aligned(self, other)
            && let Some(sum) = a.checked_add(b)
        {
            return Some(Decimal::narrow(sum, scale));
        }
        self.add_wide(other)
    }

    fn add_wide(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale().max(other.scale());
        let up = |d: &Decimal| d.magnitude().scale_up(u32::from(scale - d.scale()));
        let (a, b) = (up(self), up(other));
        if self.is_negative() == other.is_negative() {
            return fitted(self.is_negative(), a.add(&b), scale);
        }
        match a.compare(&b) {
            std::cmp::Ordering::Less => fitted(other.is_negative(), b.sub(&a), scale),
            _ => fitted(self.is_negative(), a.sub(&b), scale),
        }
    }

    /// `self - other`; as [`Decimal::add`].
    #[must_use]
    pub fn sub(&self, other: &Decimal) -> Option<Decimal> {
        self.add(&other.neg())
    }

    /// `self * other` with both scales together, 30 at most; `None`: too large.
    #[must_use]
    pub fn mul(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale() + other.scale();
        if scale <= SCALE_MAX
            && let (Some(a), Some(b)) = (self.unscaled(), other.unscaled())
            && let Some(product) = product(a, b)
        {
            return Some(Decimal::narrow(product, scale));
        }
        let product = self.magnitude().mul(&other.magnitude());
        fitted(self.is_negative() != other.is_negative(), product, scale)
    }

    /// `self / other` with `increment` more digits behind the point than `self`, 30 at most; `None`:
    /// too large or the divisor is zero (ask [`Decimal::is_zero`] first).
    #[must_use]
    pub fn div_with(&self, other: &Decimal, increment: u8) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().saturating_add(increment).min(SCALE_MAX);
        // a/10^as / (b/10^bs) * 10^scale = a * 10^(scale + bs - as) / b; the exponent is negative
        // only when the scale was cut to 30.
        let up = i32::from(scale) + i32::from(other.scale()) - i32::from(self.scale());
        if let Some(quotient) = short_quotient(self, other, up) {
            return Some(Decimal::narrow(quotient, scale));
        }
        let negative = self.is_negative() != other.is_negative();
        let n = self.magnitude().scale_up(up.max(0).unsigned_abs());
        let d = other.magnitude().scale_up((-up).max(0).unsigned_abs());
        if let (Some(n), Some(d)) = (n.narrow(), d.narrow()) {
            let rest = n % d;
            let q = n / d + u128::from(rest >= d - rest);
            return fitted(negative, Wide::of(q), scale);
        }
        let (q, rest) = n.div_rem(&d);
        let up = rest.compare(&d.sub(&rest)).is_ge();
        let q = if up { q.add(&Wide::of(1)) } else { q };
        fitted(negative, q, scale)
    }

    /// The whole part of `self / other`; `None` as [`Decimal::div_with`].
    #[must_use]
    pub fn int_div(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale().max(other.scale());
        let up = |d: &Decimal| d.magnitude().scale_up(u32::from(scale - d.scale()));
        if other.is_zero() {
            return None;
        }
        let (q, _) = up(self).div_rem(&up(other));
        Decimal::wide(self.is_negative() != other.is_negative(), &q, 0)
    }

    /// What remains of `self / other`, with the sign of `self` and the larger scale; `None` only when
    /// the divisor is zero.
    #[must_use]
    pub fn rem(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        if let Some((a, b, scale)) = aligned(self, other) {
            return Some(Decimal::narrow(a % b, scale));
        }
        let scale = self.scale().max(other.scale());
        let up = |d: &Decimal| d.magnitude().scale_up(u32::from(scale - d.scale()));
        let (_, rest) = up(self).div_rem(&up(other));
        fitted(self.is_negative(), rest, scale)
    }

    /// Rounded half away from zero to `scale` digits behind the point (before it when negative); the
    /// result has that scale, 0 to 30. `None`: more than 65 digits.
    #[must_use]
    pub fn round(&self, scale: i32) -> Option<Decimal> {
        self.short_cut(scale, true).or_else(|| self.rescaled(scale, round_off))
    }

    /// As [`Decimal::round`], cut off.
    #[must_use]
    pub fn truncate(&self, scale: i32) -> Decimal {
        if let Some(cut) = self.short_cut(scale, false) {
            return cut;
        }
        let cut = scale.min(i32::from(self.scale()));
        self.rescaled(cut, Wide::scale_down).unwrap_or(*self)
    }

    /// As [`Decimal::round`] or [`Decimal::truncate`] of a value of 64 bits, which most columns have, with fewer digits behind the point,
    /// without the 512 bits of the general way; `None`: it is another case.
    fn short_cut(&self, scale: i32, rounds: bool) -> Option<Decimal> {
        /// Powers of ten that have room in 64 bits, twice what remains of them too.
        const DIGITS_MAX: u32 = 18;
        let kept = u8::try_from(scale).ok()?;
        let dropped = u32::from(self.scale().checked_sub(kept)?);
        if dropped == 0 || dropped > DIGITS_MAX {
            return None;
        }
        let v = i64::try_from(self.unscaled()?).ok()?;
        let unit = 10i64.pow(dropped);
        let (q, r) = (v / unit, v % unit);
        let away = i64::from(rounds && 2 * r.unsigned_abs() >= unit.unsigned_abs());
        Some(Decimal::narrow(i128::from(q + away * r.signum()), kept))
    }

    fn rescaled(&self, scale: i32, cut: fn(Wide, u32) -> Wide) -> Option<Decimal> {
        let scale = scale.min(i32::from(SCALE_MAX));
        let drop = i32::from(self.scale()) - scale;
        let kept = scale.max(0) as u8;
        if drop == 0 {
            return Some(*self);
        }
        if drop < 0 {
            let up = self.magnitude().scale_up(drop.unsigned_abs());
            return Decimal::wide(self.is_negative(), &up, kept);
        }
        if drop > i32::from(PRECISION_MAX) {
            return Some(Decimal::narrow(0, kept));
        }
        let v = cut(self.magnitude(), drop.unsigned_abs());
        let v = v.scale_up((-scale).max(0).unsigned_abs());
        Decimal::wide(self.is_negative(), &v, kept)
    }

    /// The smallest integer that is not below the value.
    #[must_use]
    pub fn ceil(&self) -> Option<Decimal> {
        let whole = self.truncate(0);
        let up = !self.is_negative() && whole.compare(self).is_ne();
        if up { whole.add(&Decimal::from(1i64)) } else { Some(whole) }
    }

    /// The largest integer that is not above the value.
    #[must_use]
    pub fn floor(&self) -> Option<Decimal> {
        self.neg().ceil().map(Decimal::neg)
    }

    /// Whether DECIMAL(`precision`, `scale`) holds the value exactly or after rounding.
    #[must_use]
    pub fn fits(&self, precision: u8, scale: u8) -> bool {
        let rounded = self.round(i32::from(scale));
        rounded.is_some_and(|v| v.digits() <= u32::from(precision))
    }

    /// The value with exactly `scale` digits behind the point, rounded, and the nearest one of
    /// DECIMAL(`precision`, `scale`) when it is beyond (then `true`).
    #[must_use]
    pub fn saturated(&self, precision: u8, scale: u8) -> (Decimal, bool) {
        match self.round(i32::from(scale)) {
            Some(v) if v.digits() <= u32::from(precision) => (v, false),
            _ => {
                let largest = Decimal::largest(precision, scale);
                (if self.is_negative() { largest.neg() } else { largest }, true)
            }
        }
    }
}

/// `a * 10^up / b` of their digits, rounded half away from zero, if both have 64 bits, which most columns have: without the
/// 512 bits of the general way. `None`: it is another case.
fn short_quotient(a: &Decimal, b: &Decimal, up: i32) -> Option<i128> {
    /// Powers of ten that have room in 64 bits, so that the product has in 128.
    const UP_MAX: u32 = 18;
    let up = u32::try_from(up).ok().filter(|up| *up <= UP_MAX)?;
    let (a, b) = (i64::try_from(a.unscaled()?).ok()?, i64::try_from(b.unscaled()?).ok()?);
    let unit = 10i64.pow(up);
    let away = |rest: u128, divisor: u128| i128::from(rest >= divisor - rest);
    let negative = (a < 0) != (b < 0);
    let (dividend, divisor) =
        (u128::from(a.unsigned_abs()) * u128::from(unit.unsigned_abs()), b.unsigned_abs());
    let quotient = match u64::try_from(dividend) {
        // A machine's own division: that of 128 bits takes five times as long.
        Ok(dividend) => {
            i128::from(dividend / divisor)
                + away(u128::from(dividend % divisor), u128::from(divisor))
        }
        Err(_) => {
            let divisor = u128::from(divisor);
            (dividend / divisor) as i128 + away(dividend % divisor, divisor)
        }
    };
    Some(if negative { -quotient } else { quotient })
}

#[inline]
fn product(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// Both values at the larger scale when 128 bits hold them.
#[inline]
pub(super) fn aligned(a: &Decimal, b: &Decimal) -> Option<(i128, i128, u8)> {
    let scale = a.scale().max(b.scale());
    let up = |d: &Decimal| -> Option<i128> {
        let v = d.unscaled()?;
        let by = u32::from(scale - d.scale());
        match (by, i64::try_from(v)) {
            (0, _) => Some(v),
            // 64 bits by 64 bits never overflow 128.
            (1..=18, Ok(v)) => Some(i128::from(v) * i128::from(10i64.pow(by))),
            _ => v.checked_mul(10i128.pow(by)),
        }
    };
    Some((up(a)?, up(b)?, scale))
}

/// Drops `digits` digits, rounding half away from zero.
pub(super) fn round_off(v: Wide, digits: u32) -> Wide {
    if digits == 0 {
        return v;
    }
    let kept = v.scale_down(digits - 1);
    let (q, last) = kept.div_small(10);
    if last >= 5 { q.add(&Wide::of(1)) } else { q }
}

/// A result with as many of its digits behind the point as 65 digits and scale 30 allow.
fn fitted(negative: bool, v: Wide, scale: u8) -> Option<Decimal> {
    let digits = v.digits();
    let over = digits.saturating_sub(u32::from(PRECISION_MAX)) as u8;
    let cut = over.max(scale.saturating_sub(SCALE_MAX));
    if cut > scale {
        return None;
    }
    let rounded = round_off(v, u32::from(cut));
    Decimal::wide(negative, &rounded, scale - cut)
}
