use super::*;
use bigdecimal::{BigDecimal, RoundingMode};
use proptest::prelude::*;
use std::str::FromStr;

fn dec(s: &str) -> Decimal {
    Decimal::parse(s).unwrap()
}

fn big(d: &Decimal) -> BigDecimal {
    BigDecimal::from_str(&d.to_string()).unwrap()
}

/// The text of an exact result when MySQL's limits hold it.
fn text(v: &BigDecimal, scale: u8) -> String {
    let v = v.with_scale_round(i64::from(scale), RoundingMode::HalfUp);
    // BigDecimal writes a small number with an exponent; its digits are what counts.
    let (digits, _) = v.as_bigint_and_exponent();
    let (sign, digits) = match digits.to_string().strip_prefix('-') {
        Some(rest) => ("-", rest.to_owned()),
        None => ("", digits.to_string()),
    };
    let width = usize::from(scale) + 1;
    let padded = format!("{digits:0>width$}");
    let (whole, fraction) = padded.split_at(padded.len() - usize::from(scale));
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Decimals of every size: up to 65 digits, up to 30 behind the point.
fn any_decimal() -> impl Strategy<Value = Decimal> {
    (any::<bool>(), "[0-9]{1,65}", 0u8..=30).prop_map(|(negative, digits, scale)| {
        let scale = usize::from(scale).min(digits.len() - 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let sign = if negative { "-" } else { "" };
        Decimal::from_text(format!("{sign}{whole}.{fraction}").as_bytes()).value
    })
}

fn small_decimal() -> impl Strategy<Value = Decimal> {
    (any::<i64>(), 0u8..=12).prop_map(|(v, scale)| Decimal::from_i128(i128::from(v), scale))
}

/// Of few digits: halves, and remainders of nothing, are met.
fn tiny_decimal() -> impl Strategy<Value = Decimal> {
    (-2000i64..2000, 0u8..=3).prop_map(|(v, scale)| Decimal::from_i128(i128::from(v), scale))
}

fn mixed() -> impl Strategy<Value = Decimal> {
    prop_oneof![any_decimal(), small_decimal(), tiny_decimal()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn text_comes_back(d in mixed()) {
        prop_assert_eq!(Decimal::parse(&d.to_string()), Some(d));
        prop_assert_eq!(Decimal::from_bytes(&d.to_bytes()), Some(d));
        prop_assert_eq!(d.to_f64(), d.to_string().parse::<f64>().unwrap());
        let digits = d.to_string().chars().filter(char::is_ascii_digit).collect::<String>();
        prop_assert_eq!(d.digits() as usize, digits.trim_start_matches('0').len());
    }

    #[test]
    fn sums_and_products_are_exact_within_65_digits(a in mixed(), b in mixed()) {
        let scale = a.scale().max(b.scale());
        for (got, want) in [(a.add(&b), big(&a) + big(&b)), (a.sub(&b), big(&a) - big(&b))] {
            match got {
                Some(v) if v.scale() == scale => prop_assert_eq!(v.to_string(), text(&want, scale)),
                Some(v) => prop_assert_eq!(v.digits(), 65, "fewer digits only when 65 are full"),
                None => prop_assert!(want.abs() >= BigDecimal::from_str("1e64").unwrap()),
            }
        }
        let scale = (a.scale() + b.scale()).min(30);
        if let Some(v) = a.mul(&b).filter(|v| v.scale() == scale) {
            prop_assert_eq!(v.to_string(), text(&(big(&a) * big(&b)), scale));
        }
    }

    #[test]
    fn quotients_round_half_away_and_remainders_fit(a in mixed(), b in mixed(), more in 0u8..10) {
        prop_assume!(!b.is_zero());
        let scale = (a.scale() + more).min(30);
        if let Some(q) = a.div_with(&b, more).filter(|q| q.scale() == scale) {
            // |a - q*b| <= |b| * 10^-scale / 2
            let error = (big(&a) - big(&q) * big(&b)).abs() * BigDecimal::from(2);
            let unit = BigDecimal::from_str(&format!("1e-{scale}")).unwrap();
            prop_assert!(error <= big(&b).abs() * unit);
        }
        let rest = a.rem(&b).unwrap();
        prop_assert!(big(&rest).abs() < big(&b).abs());
        prop_assert!(rest.is_zero() || rest.is_negative() == a.is_negative());
        if let Some(q) = a.int_div(&b) {
            prop_assert_eq!(big(&q) * big(&b) + big(&rest), big(&a));
        }
    }

    #[test]
    fn order_is_numeric(a in mixed(), b in mixed()) {
        prop_assert_eq!(a.compare(&b), big(&a).cmp(&big(&b)));
        prop_assert_eq!(a.compare(&a), Ordering::Equal);
        if let Some(wider) = a.round(30) {
            prop_assert_eq!(a.compare(&wider), Ordering::Equal);
        }
    }

    #[test]
    fn rounding_is_half_away_from_zero(a in mixed(), scale in -40i32..=30) {
        if let Some(v) = a.round(scale) {
            let want = big(&a).with_scale_round(i64::from(scale), RoundingMode::HalfUp);
            prop_assert_eq!(v.to_string(), text(&want, scale.max(0) as u8));
        }
        let cut = a.truncate(scale);
        prop_assert!(big(&cut).abs() <= big(&a).abs());
    }

    #[test]
    fn short_values_are_rounded_and_cut_as_all_are(
        v in prop_oneof![any::<i64>(), -2000i64..2000, (-99i64..99, 0u32..16).prop_map(|(n, k)| 5 * n * 10i64.pow(k))],
        scale in 0u8..=30,
        to in 0i32..=30,
    ) {
        let a = Decimal::from_i128(v.into(), scale);
        let as_text = |mode| text(&big(&a).with_scale_round(i64::from(to), mode), to as u8);
        if let Some(rounded) = a.round(to) {
            prop_assert_eq!(rounded.to_string(), as_text(RoundingMode::HalfUp));
        }
        if to <= i32::from(scale) {
            prop_assert_eq!(a.truncate(to).to_string(), as_text(RoundingMode::Down));
        }
    }

    #[test]
    fn no_text_panics(s in "[-+ 0-9.eE]{0,90}") {
        let _ = Decimal::from_text(s.as_bytes());
    }

    #[test]
    fn doubles_come_back(v in any::<f64>()) {
        let (d, beyond) = Decimal::from_f64(v);
        if v.is_finite() && (1e-10..1e40).contains(&v.abs()) {
            prop_assert!(!beyond);
            prop_assert_eq!(d.to_f64(), v);
        }
    }
}

#[test]
fn text_is_read_as_mysql_reads_it() {
    for (s, want) in [
        ("1.50", "1.50"),
        (" -0.0", "0.0"),
        ("1e3", "1000"),
        ("12e-3", "0.012"),
        (".5", "0.5"),
        ("1e-40", "0.000000000000000000000000000000"),
        ("x", "0"),
    ] {
        assert_eq!(Decimal::from_text(s.as_bytes()).value.to_string(), want, "{s:?}");
    }
    let nines = "9".repeat(65);
    let read = Decimal::from_text(format!("{nines}9").as_bytes());
    assert!(read.overflow);
    assert_eq!(read.value.to_string(), nines);
    assert_eq!(Decimal::largest(5, 2).to_string(), "999.99");
}

#[test]
fn columns_saturate() {
    assert_eq!(dec("1.005").saturated(10, 2), (dec("1.01"), false));
    assert_eq!(dec("-1000").saturated(5, 2), (dec("-999.99"), true));
    assert_eq!(dec("999.995").saturated(5, 2), (dec("999.99"), true));
    assert!(dec("999.994").fits(5, 2) && !dec("999.995").fits(5, 2));
}

#[test]
fn whole_numbers() {
    for (s, ceil, floor) in [("1.2", "2", "1"), ("-1.2", "-1", "-2"), ("3", "3", "3")] {
        assert_eq!(dec(s).ceil(), Some(dec(ceil)));
        assert_eq!(dec(s).floor(), Some(dec(floor)));
    }
    assert_eq!(dec("-2.5").round_to_i128(), Some(-3));
    assert_eq!(Decimal::largest(65, 0).add(&Decimal::from(1i64)), None);
    assert_eq!(dec("1").div_with(&dec("0.00"), 4), None);
}
