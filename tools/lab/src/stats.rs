//! What rounds say together: medians, bootstrap intervals, noise.
//!
//! 1. An interval is that of 95 % of the medians of resampled rounds; the generator is seeded, so the same rounds give the same
//!    interval.
//! 2. Noise is the standard deviation of rounds by their mean, widened where rounds are few: two of them may agree by chance. With one
//! round it is not known, and nothing is claimed.

use stdx::rng::Rng;

/// Resamplings of a bootstrap.
const RESAMPLINGS: usize = 2_000;
const SEED: u64 = 0x1ab;
/// How much wider 95 % are with so many rounds than with very many: Student's quantile by the normal one, from 2 rounds on.
const WIDER: [f64; 9] = [6.48, 2.20, 1.62, 1.42, 1.31, 1.25, 1.21, 1.18, 1.15];

/// A figure of several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The median, or what was computed of medians.
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Deviation from round to round, as a share of the value; infinite where there was one round.
    pub noise: f64,
}

impl Estimate {
    /// A figure that was counted, not measured by a clock: it has no noise.
    pub fn counted(value: f64) -> Estimate {
        Estimate { value, low: value, high: value, noise: 0.0 }
    }

    /// The median of rounds; `None` without one.
    pub fn of(rounds: &[f64]) -> Option<Estimate> {
        let [low, high] = interval(|rng| median(&resampled(rounds, rng)));
        Some(Estimate { value: median(rounds)?, low, high, noise: noise(rounds) })
    }

    /// The median of some rounds by that of others; `None` without both.
    pub fn ratio(above: &[f64], below: &[f64]) -> Option<Estimate> {
        let divided = |a: Option<f64>, b: Option<f64>| Some(a? / b?).filter(|r| r.is_finite());
        let value = divided(median(above), median(below))?;
        let [low, high] =
            interval(|rng| divided(median(&resampled(above, rng)), median(&resampled(below, rng))));
        Some(Estimate { value, low, high, noise: noise(above).max(noise(below)) })
    }

    /// Whether it lies farther from a limit than twice the noise.
    pub fn is_clear_of(&self, limit: f64) -> bool {
        (self.value - limit).abs() > 2.0 * self.noise * self.value.abs()
    }
}

/// The middle value, or the mean of the two in the middle; `None` without any.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => sorted.get(middle).copied(),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Standard deviation by the mean; infinite for less than two values.
pub fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if values.len() < 2 {
        return f64::INFINITY;
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    match mean == 0.0 {
        true => 0.0,
        false => (variance.sqrt() / mean).abs(),
    }
}

/// What a figure of these rounds may differ by when nothing differs, as a share of it.
fn noise(rounds: &[f64]) -> f64 {
    let few = rounds.len().checked_sub(2).and_then(|n| WIDER.get(n));
    deviation(rounds) * few.copied().unwrap_or(1.0)
}

fn resampled(values: &[f64], rng: &mut Rng) -> Vec<f64> {
    values.iter().map(|_| values[rng.below(values.len() as u64) as usize]).collect()
}

/// The middle 95 % of what resampling gives; not numbers where it gives nothing.
fn interval(mut again: impl FnMut(&mut Rng) -> Option<f64>) -> [f64; 2] {
    let mut rng = Rng::new(SEED);
    let mut found: Vec<f64> = (0..RESAMPLINGS).filter_map(|_| again(&mut rng)).collect();
    found.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (found.len() as f64 * share) as usize;
        found.get(place.min(found.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    };
    [at(0.025), at(0.975)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_their_intervals() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let rounds: Vec<f64> = (0..100).map(|n| 100.0 + f64::from(n % 10)).collect();
        let of = Estimate::of(&rounds).unwrap();
        assert!(of.low <= of.value && of.value <= of.high, "{of:?}");
        assert!(of.high - of.low < 5.0 && of.low > 100.0 && of.high < 109.0, "{of:?}");
        assert_eq!(Estimate::of(&rounds), Some(of), "the generator is seeded");
    }

    #[test]
    fn nothing_is_claimed_within_twice_the_noise() {
        let noisy = Estimate::ratio(&[110.0, 90.0, 130.0], &[100.0, 100.0, 100.0]).unwrap();
        assert!(!noisy.is_clear_of(1.0), "{noisy:?}");
        let quiet = Estimate::ratio(&[120.0, 121.0, 119.0], &[100.0, 100.0, 101.0]).unwrap();
        assert!(quiet.is_clear_of(1.0) && !quiet.is_clear_of(1.2), "{quiet:?}");
        let twice = Estimate::ratio(&[120.0, 121.0], &[100.0, 103.0]).unwrap();
        assert!(!twice.is_clear_of(1.0), "two rounds may agree by chance: {twice:?}");
        let once = Estimate::ratio(&[120.0], &[100.0]).unwrap();
        assert!(!once.is_clear_of(1.0), "one round has no noise that is known");
        assert!(
            Estimate::ratio(&[], &[1.0]).is_none() && Estimate::ratio(&[1.0], &[0.0]).is_none()
        );
        assert!(Estimate::counted(1.3).is_clear_of(1.2));
    }
}
