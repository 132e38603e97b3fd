//! UUIDs, addresses, waiting, and what fits nowhere else.

use super::call::{Answer, Call, NULL};
use super::string::byte_of_hex;
use super::{Function, function};
use crate::SqlError;
use crate::build::Derive;
use crate::refused::Refused;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;
use value::ColumnType;

pub static FUNCTIONS: &[Function] = &[
    function("uuid", (0, 0), uuid_type, uuid, "a new UUID of version 1").volatile(),
    function("uuid_short", (0, 0), id_type, uuid_short, "a new number of 64 bits").volatile(),
    function(
        "uuid_to_bin",
        (1, 2),
        to_bin_type,
        uuid_to_bin,
        "a UUID's 16 bytes, time parts exchanged if asked",
    )
    .sees_null(),
    function("bin_to_uuid", (1, 2), of_bin_type, bin_to_uuid, "the UUID of 16 bytes").sees_null(),
    function("is_uuid", (1, 1), truth_type, is_uuid, "whether a text is a UUID"),
    function("inet_aton", (1, 1), aton_type, inet_aton, "the number of an IPv4 address"),
    function("inet_ntoa", (1, 1), ntoa_type, inet_ntoa, "the IPv4 address with that number"),
    function("inet6_aton", (1, 1), aton6_type, inet6_aton, "the bytes of an IPv4 or IPv6 address"),
    function("inet6_ntoa", (1, 1), ntoa6_type, inet6_ntoa, "the address that the bytes are"),
    function("is_ipv4", (1, 1), truth_type, is_ipv4, "whether a text is an IPv4 address"),
    function("is_ipv6", (1, 1), truth_type, is_ipv6, "whether a text is an IPv6 address"),
    function(
        "is_ipv4_compat",
        (1, 1),
        sure_type,
        is_ipv4_compat,
        "whether bytes are an IPv4-compatible IPv6 address",
    )
    .sees_null(),
    function(
        "is_ipv4_mapped",
        (1, 1),
        sure_type,
        is_ipv4_mapped,
        "whether bytes are an IPv4-mapped IPv6 address",
    )
    .sees_null(),
    function(
        "sleep",
        (1, 1),
        sleep_type,
        sleep,
        "waits that many seconds; 0, or 1 when interrupted",
    )
    .sees_null()
    .volatile(),
    function(
        "name_const",
        (2, 2),
        second_type,
        name_const,
        "the second argument, named by the first",
    )
    .sees_null(),
    function("format_bytes", (1, 1), unit_type, format_bytes, "a number of bytes with its unit"),
    function(
        "format_pico_time",
        (1, 1),
        unit_type,
        format_pico_time,
        "a number of picoseconds with its unit",
    ),
];

type Derived = Result<ColumnType, SqlError>;

fn uuid_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.own_string(36).not_null())
}

fn id_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.uint(21))
}

fn to_bin_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.bytes(16))
}

fn of_bin_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.own_string(36))
}

fn truth_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.int(1))
}

fn sure_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: d.nullable(), ..d.int(1) })
}

fn aton_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: true, ..d.uint(21) })
}

fn ntoa_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.own_string(31))
}

fn aton6_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.bytes(16))
}

fn ntoa6_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.own_string(39))
}

fn sleep_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: false, ..d.int(21) })
}

fn second_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.ty(1))
}

fn unit_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.own_string(17))
}

/// Fills bytes from the system's random source.
pub(super) fn fill_random(bytes: &mut [u8]) -> Result<(), SqlError> {
    let failed = |_| SqlError::from(Refused::NoRandomness);
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags).map_err(failed)?;
    }
    Ok(())
}

/// State of UUID(): the last time given, and what stands for the node.
struct Uuids {
    last: u64,
    node: [u8; 8],
}

instrument::classes! {
    static UUID_STATE: MutexClass = "wait/synch/mutex/sql/LOCK_uuid_generator";
}
static UUIDS: LazyLock<sync::Mutex<Uuids>> =
    LazyLock::new(|| sync::Mutex::new(&UUID_STATE, Uuids { last: 0, node: [0; 8] }));

/// Hundreds of nanoseconds since 1582 that were not given yet, and the node's bytes.
fn next_uuid() -> Result<(u64, [u8; 8]), SqlError> {
    const TO_1582: u64 = 0x01B2_1DD2_1381_4000;
    let mut state = UUIDS.lock();
    if state.node == [0; 8] {
        fill_random(&mut state.node)?;
        // The multicast bit says that it is no hardware address.
        state.node[2] |= 1;
    }
    let now = host::clock::unix_micros() as u64 * 10 + TO_1582;
    state.last = now.max(state.last + 1);
    Ok((state.last, state.node))
}

fn uuid<'v>(_: &mut Call<'_, 'v>) -> Answer<'v> {
    let (time, node) = next_uuid()?;
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(time as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((time >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((time >> 48) as u16 & 0x0FFF | 0x1000).to_be_bytes());
    bytes[8..].copy_from_slice(&node);
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Ok(uuid_text(&bytes).into())
}

fn uuid_short<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (time, _) = next_uuid()?;
    let server = c.env.system_variable(false, "server_id").ok();
    let server = server.and_then(|v| v.datum().as_u64()).unwrap_or(1) & 0xFF;
    Ok((server << 56 | time >> 3 & 0x00FF_FFFF_FFFF_FFFF).into())
}

fn uuid_text(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The bytes of a UUID in one of its three forms.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let inner = match text {
        [b'{', inner @ .., b'}'] => inner,
        other => other,
    };
    let mut out = [0; 16];
    let parts: &[(usize, usize)] = match inner.len() {
        32 if inner.len() == text.len() => &[(0, 32)],
        36 if [8, 13, 18, 23].iter().all(|n| inner[*n] == b'-') => {
            &[(0, 8), (9, 13), (14, 18), (19, 23), (24, 36)]
        }
        _ => return None,
    };
    let digits = parts.iter().flat_map(|(start, end)| inner[*start..*end].chunks_exact(2));
    for (byte, pair) in out.iter_mut().zip(digits) {
        *byte = byte_of_hex(pair[0], pair[1])?;
    }
    Some(out)
}

fn bad_uuid(text: &[u8], function: &str) -> SqlError {
    Refused::NoUuid(&String::from_utf8_lossy(text), function).into()
}

/// The time's low and high parts exchanged, so that UUIDs ascend in time.
fn exchanged(b: [u8; 16]) -> [u8; 16] {
    let mut out = b;
    out[..2].copy_from_slice(&b[6..8]);
    out[2..4].copy_from_slice(&b[4..6]);
    out[4..8].copy_from_slice(&b[..4]);
    out
}

fn restored(b: [u8; 16]) -> [u8; 16] {
    let mut out = b;
    out[..4].copy_from_slice(&b[4..8]);
    out[4..6].copy_from_slice(&b[2..4]);
    out[6..8].copy_from_slice(&b[..2]);
    out
}

fn uuid_to_bin<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(NULL);
    }
    let swap = c.len() > 1 && !c.is_null(1) && c.integer(1) != 0;
    let text = c.text(0);
    let bytes = parse_uuid(&text).ok_or_else(|| bad_uuid(&text, "uuid_to_bin"))?;
    Ok(if swap { exchanged(bytes) } else { bytes }.to_vec().into())
}

fn bin_to_uuid<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(NULL);
    }
    let swap = c.len() > 1 && !c.is_null(1) && c.integer(1) != 0;
    let text = c.text(0);
    let bytes: [u8; 16] = text[..].try_into().map_err(|_| bad_uuid(&text, "bin_to_uuid"))?;
    Ok(uuid_text(&if swap { restored(bytes) } else { bytes }).into())
}

fn is_uuid<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(parse_uuid(&c.text(0)).is_some().into())
}

fn incorrect<'v>(c: &mut Call<'_, 'v>, text: &[u8]) -> Answer<'v> {
    let name = c.site.function.name;
    let shown = c.written(0, String::from_utf8_lossy(text).into_owned());
    c.incorrect_value("string", shown.as_bytes(), name);
    Ok(NULL)
}

fn inet_aton<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    // Short forms are taken: 127.1 is 127.0.0.1.
    let parts: Vec<&[u8]> = text.split(|b| *b == b'.').collect();
    let number = |part: &&[u8]| -> Option<u64> {
        let digits = !part.is_empty() && part.len() <= 3 && part.iter().all(u8::is_ascii_digit);
        let value = || part.iter().fold(0, |v, d| v * 10 + u64::from(d - b'0'));
        digits.then(value).filter(|v| *v <= 255)
    };
    let numbers: Option<Vec<u64>> = parts.iter().map(number).collect();
    match numbers.as_deref() {
        Some([a]) => Ok((*a).into()),
        Some([a, b]) => Ok((a << 24 | b).into()),
        Some([a, b, d]) => Ok((a << 24 | b << 16 | d).into()),
        Some([a, b, d, e]) => Ok((a << 24 | b << 16 | d << 8 | e).into()),
        _ => incorrect(c, &text),
    }
}

fn inet_ntoa<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let given = c.integer(0);
    match u32::try_from(given) {
        Ok(v) => {
            let mut text = Vec::with_capacity("255.255.255.255".len());
            for (n, byte) in v.to_be_bytes().into_iter().enumerate() {
                if n > 0 {
                    text.push(b'.');
                }
                value::format::append_uint(byte.into(), &mut text);
            }
            Ok(text.into())
        }
        Err(_) => {
            let shown = c.written(0, given.to_string());
            c.incorrect_value("integer", shown.as_bytes(), "inet_ntoa");
            Ok(NULL)
        }
    }
}

fn ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn inet6_aton<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    match (ipv4(&text), ipv6(&text)) {
        (Some(v), _) => Ok(v.octets().to_vec().into()),
        (None, Some(v)) => Ok(v.octets().to_vec().into()),
        _ => incorrect(c, &text),
    }
}

fn inet6_ntoa<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    if let Ok(four) = <[u8; 4]>::try_from(&text[..]) {
        return Ok(Ipv4Addr::from(four).to_string().into());
    }
    match <[u8; 16]>::try_from(&text[..]) {
        Ok(sixteen) => Ok(Ipv6Addr::from(sixteen).to_string().into()),
        Err(_) => incorrect(c, &text),
    }
}

fn is_ipv4<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(ipv4(&c.text(0)).is_some().into())
}

fn is_ipv6<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(ipv6(&c.text(0)).is_some().into())
}

fn is_ipv4_compat<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let compat = |b: &[u8]| b.len() == 16 && b[..12] == [0; 12] && b[12..] > [0, 0, 0, 1][..];
    Ok((!c.is_null(0) && compat(&c.text(0))).into())
}

fn is_ipv4_mapped<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let mapped = |b: &[u8]| b.len() == 16 && b[..10] == [0; 10] && b[10..12] == [0xFF, 0xFF];
    Ok((!c.is_null(0) && mapped(&c.text(0))).into())
}

fn sleep<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) || c.double(0) < 0.0 {
        return Err(Refused::WrongArguments("sleep.").into());
    }
    let seconds = c.double(0);
    Ok((!c.env.sleep(seconds)).into())
}

fn name_const<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(c.take(1))
}

fn with_unit(v: f64, units: &[(f64, &str)]) -> String {
    let found = units.iter().rev().find(|(size, _)| v.abs() >= *size);
    match found {
        Some((size, unit)) => {
            let scaled = v / size;
            if scaled.abs() >= 100_000.0 {
                format!("{} {unit}", exponent(scaled))
            } else {
                format!("{scaled:.2} {unit}")
            }
        }
        None => format!("{:4} {}", v as i64, units.first().map_or("", |_| "")),
    }
}

/// Two digits behind the point and an exponent of at least two.
fn exponent(v: f64) -> String {
    let text = format!("{v:.2e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}e+{power:0>2}")
}

fn format_bytes<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    const UNITS: &[(f64, &str)] = &[
        (1024.0, "KiB"),
        (1048576.0, "MiB"),
        (1073741824.0, "GiB"),
        (1099511627776.0, "TiB"),
        (1125899906842624.0, "PiB"),
        (1152921504606846976.0, "EiB"),
    ];
    let v = c.double(0);
    if v.abs() < 1024.0 {
        return Ok(format!("{:4} bytes", v as i64).into());
    }
    Ok(with_unit(v, UNITS).into())
}

fn format_pico_time<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    const UNITS: &[(f64, &str)] = &[
        (1e3, "ns"),
        (1e6, "us"),
        (1e9, "ms"),
        (1e12, "s"),
        (60e12, "min"),
        (3600e12, "h"),
        (86400e12, "d"),
    ];
    let v = c.double(0);
    if v.abs() < 1e3 {
        return Ok(format!("{:3} ps", v as i64).into());
    }
    Ok(with_unit(v, UNITS).into())
}
