//! As much of a certificate's form as tells from when to when it holds.

use std::fmt::Write;

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The next element: its tag and contents; the rest stays in `bytes`.
fn next<'b>(bytes: &mut &'b [u8]) -> Option<(u8, &'b [u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7F => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
            (digits.iter().fold(0, |n, d| n << 8 | usize::from(*d)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some((tag, contents))
}

fn inside<'b>(bytes: &mut &'b [u8], tag: u8) -> Option<&'b [u8]> {
    next(bytes).filter(|(found, _)| *found == tag).map(|(_, contents)| contents)
}

/// From when to when a certificate holds, as OpenSSL prints it; `None` for what is no certificate.
pub fn validity(certificate: &[u8]) -> Option<(String, String)> {
    let mut certificate = certificate;
    let mut whole = inside(&mut certificate, SEQUENCE)?;
    let mut signed = inside(&mut whole, SEQUENCE)?;
    // A version, if there is one; serial number, algorithm, issuer.
    if signed.first() == Some(&0xA0) {
        next(&mut signed)?;
    }
    for _ in 0..3 {
        next(&mut signed)?;
    }
    let mut validity = inside(&mut signed, SEQUENCE)?;
    Some((time(next(&mut validity)?)?, time(next(&mut validity)?)?))
}

fn time((tag, digits): (u8, &[u8])) -> Option<String> {
    let text = std::str::from_utf8(digits).ok()?.strip_suffix('Z')?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year: u32 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let mut numbers = [0_usize; 5];
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = rest.get(2 * at..2 * at + 2)?.parse().ok()?;
    }
    let [month, day, hour, minute, second] = numbers;
    let month = MONTHS.get(month.checked_sub(1)?)?;
    let mut shown = String::new();
    write!(shown, "{month} {day:2} {hour:02}:{minute:02}:{second:02} {year} GMT").ok()?;
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_as_openssl_does() {
        assert_eq!(time((UTC_TIME, b"261124131500Z")).unwrap(), "Nov 24 13:15:00 2026 GMT");
        assert_eq!(time((UTC_TIME, b"991231235959Z")).unwrap(), "Dec 31 23:59:59 1999 GMT");
        assert_eq!(
            time((GENERALIZED_TIME, b"20500102030405Z")).unwrap(),
            "Jan  2 03:04:05 2050 GMT"
        );
        for wrong in [&b"261324131500Z"[..], b"2611241315Z", b"261124131500", b"", b"\xFF"] {
            assert_eq!(time((UTC_TIME, wrong)), None);
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        let made = crate::certificates::make("x", &[]).unwrap();
        let der = made.server.0.der().to_vec();
        let (from, to) = validity(&der).unwrap();
        assert!(from.ends_with(" GMT") && to.ends_with(" GMT") && from != to);
        for cut in 0..der.len() {
            validity(&der[..cut]);
        }
        let mut rng = stdx::rng::Rng::new(5);
        for _ in 0..2000 {
            let mut damaged = der.clone();
            let at = rng.below(damaged.len() as u64) as usize;
            damaged[at] = rng.next_u64() as u8;
            validity(&damaged);
        }
    }
}
