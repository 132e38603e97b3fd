//! The PROXY protocol: what a proxy says before the client's first packet of where that comes from, versions 1 and 2.
//!
//! 1. No packet begins like a header: its sequence number would be wrong. 2. A header is at most [`HEADER_BYTES_MAX`] long,
//! whatever it says of its own length. 3. Only what is said of addresses is believed, and by who asks for it: a header of a
//! connection that the proxy made itself, or of another kind of address, says nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use stdx::bytes::Reader;

/// The longest header that is taken.
pub const HEADER_BYTES_MAX: usize = 4096;
/// The longest of version 1, with its end.
const LINE_BYTES_MAX: usize = 107;
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const WORD: &[u8] = b"PROXY ";

/// What the first bytes of a client are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// No header.
    Packet,
    /// There must be more of them.
    More,
    /// A header of so many bytes, and the client that it names, if any.
    Header(usize, Option<SocketAddr>),
    /// They begin as a header, and are none.
    Malformed,
}

/// Looks at the first bytes of a client.
pub fn first(bytes: &[u8]) -> First {
    let begins_as = |what: &[u8]| bytes.iter().zip(what).all(|(a, b)| a == b);
    if begins_as(SIGNATURE) {
        return if bytes.len() < SIGNATURE.len() { First::More } else { second_version(bytes) };
    }
    if begins_as(WORD) {
        return if bytes.len() < WORD.len() { First::More } else { first_version(bytes) };
    }
    First::Packet
}

fn first_version(bytes: &[u8]) -> First {
    let line = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    let Some(end) = line.windows(2).position(|two| two == b"\r\n") else {
        return if line.len() < LINE_BYTES_MAX { First::More } else { First::Malformed };
    };
    let Ok(text) = std::str::from_utf8(&line[WORD.len()..end]) else { return First::Malformed };
    let mut words = text.split(' ');
    let kind = words.next();
    if kind == Some("UNKNOWN") {
        return First::Header(end + 2, None);
    }
    let [Some(source), Some(target), Some(port), Some(to), None] =
        std::array::from_fn(|_| words.next())
    else {
        return First::Malformed;
    };
    let (source, target) = (source.parse::<IpAddr>(), target.parse::<IpAddr>());
    let (Ok(source), Ok(target), Some(port), Some(_)) = (source, target, number(port), number(to))
    else {
        return First::Malformed;
    };
    let is_as_said = match kind {
        Some("TCP4") => source.is_ipv4() && target.is_ipv4(),
        Some("TCP6") => source.is_ipv6() && target.is_ipv6(),
        _ => false,
    };
    match is_as_said {
        true => First::Header(end + 2, Some(SocketAddr::new(source.to_canonical(), port))),
        false => First::Malformed,
    }
}

/// A port as the protocol writes it.
fn number(text: &str) -> Option<u16> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn second_version(bytes: &[u8]) -> First {
    const LOCAL: u8 = 0x20;
    const PROXY: u8 = 0x21;
    const TCP_OVER_4: u8 = 0x11;
    const TCP_OVER_6: u8 = 0x21;
    let mut r = Reader::new(&bytes[SIGNATURE.len()..]);
    let (Ok(command), Ok(family), Ok([high, low])) = (r.u8(), r.u8(), r.array::<2>()) else {
        return First::More;
    };
    let len = usize::from(u16::from_be_bytes([high, low]));
    let whole = SIGNATURE.len() + 4 + len;
    if !matches!(command, LOCAL | PROXY) || whole > HEADER_BYTES_MAX {
        return First::Malformed;
    }
    let Ok(body) = r.take(len) else { return First::More };
    let mut body = Reader::new(body);
    let source: Option<IpAddr> = match (command, family) {
        (PROXY, TCP_OVER_4) => {
            body.array::<8>().ok().map(|[a, b, c, d, ..]| Ipv4Addr::from([a, b, c, d]).into())
        }
        (PROXY, TCP_OVER_6) => {
            let both = body.array::<16>().and_then(|source| body.array::<16>().map(|_| source));
            both.ok().map(|source| Ipv6Addr::from(source).to_canonical())
        }
        // Itself, a datagram, a socket of its own machine, or nothing that it knows.
        _ => return First::Header(whole, None),
    };
    match (source, body.array::<2>(), body.array::<2>()) {
        (Some(source), Ok(port), Ok(_)) => {
            let client = SocketAddr::new(source, u16::from_be_bytes(port));
            First::Header(whole, Some(client))
        }
        _ => First::Malformed,
    }
}

/// Who may send a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks {
    all: bool,
    socket: bool,
    list: Vec<(IpAddr, u8)>,
}

impl Networks {
    /// Those of a list: addresses, networks as `10.0.0.0/8`, `localhost` for the Unix socket, `*` for all; `None`: it is none.
    pub fn of(text: &str) -> Option<Networks> {
        let mut networks = Networks::default();
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            match word {
                "*" => networks.all = true,
                "localhost" => networks.socket = true,
                _ => networks.list.push(network(word)?),
            }
        }
        Some(networks)
    }

    /// Whether a text is a list of them.
    pub fn is_list(text: &str) -> bool {
        Networks::of(text).is_some()
    }

    /// Whether a client from this address may; `None` is the Unix socket.
    pub fn have(&self, from: Option<IpAddr>) -> bool {
        self.all
            || match from {
                None => self.socket,
                Some(from) => self.list.iter().any(|(net, bits)| is_within(from, *net, *bits)),
            }
    }
}

fn network(word: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match word.split_once('/') {
        Some((address, bits)) => (address, Some(number(bits)?)),
        None => (word, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    (bits <= most).then_some((address, bits as u8))
}

fn is_within(address: IpAddr, net: IpAddr, bits: u8) -> bool {
    let differing = match (address, net) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => return false,
    };
    differing >= u32::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version_2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let len = (body.len() as u16).to_be_bytes();
        [SIGNATURE, &[command, family], &len, body].concat()
    }

    const FOUR: &[u8] = &[203, 0, 113, 7, 10, 0, 0, 1, 0x1F, 0x90, 0x0C, 0xEA];

    #[test]
    fn both_versions_name_the_client() {
        let client: SocketAddr = "203.0.113.7:8080".parse().unwrap();
        let header = version_2(0x21, 0x11, FOUR);
        assert_eq!(first(&header), First::Header(28, Some(client)));
        let with_more = version_2(0x21, 0x11, &[FOUR, &[4, 0, 1, 0]].concat());
        assert_eq!(first(&[&with_more[..], b"rest"].concat()), First::Header(32, Some(client)));
        let line = b"PROXY TCP4 203.0.113.7 10.0.0.1 8080 3306\r\nrest";
        assert_eq!(first(line), First::Header(43, Some(client)));
        let six = [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[1], &[0; 16], &[0, 1, 0, 2]].concat();
        let client: SocketAddr = "[2001:db8::1]:1".parse().unwrap();
        assert_eq!(first(&version_2(0x21, 0x21, &six)), First::Header(52, Some(client)));
        assert_eq!(first(b"PROXY UNKNOWN what ever\r\n"), First::Header(25, None));
        assert_eq!(first(&version_2(0x20, 0, b"")), First::Header(16, None));
        assert_eq!(first(&version_2(0x21, 0x31, &[0; 216])), First::Header(232, None));
    }

    #[test]
    fn a_header_that_comes_in_pieces_is_waited_for() {
        for header in [version_2(0x21, 0x11, FOUR), b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n".to_vec()]
        {
            for cut in 0..header.len() {
                assert_eq!(first(&header[..cut]), First::More, "{cut}");
            }
        }
        // Packets of a login and of TLS.
        for packet in [&[0x20, 0, 0, 1][..], &[0xA0, 0, 0, 1], &[0x0D, 0, 0, 1], b"PR\0\x01"] {
            assert_eq!(first(packet), First::Packet);
        }
    }

    #[test]
    fn what_is_malformed_is_told() {
        for line in [
            &b"PROXY \r\n"[..],
            b"PROXY TCP4 203.0.113.7 10.0.0.1 8080\r\n",
            b"PROXY TCP4 203.0.113.7 10.0.0.1 8080 70000\r\n",
            b"PROXY TCP4 203.0.113.7 10.0.0.1 +1 3306\r\n",
            b"PROXY TCP6 203.0.113.7 10.0.0.1 8080 3306\r\n",
            b"PROXY TCP4 host 10.0.0.1 8080 3306\r\n",
            b"PROXY TCP4 203.0.113.7 10.0.0.1 8080 3306 1\r\n",
            b"PROXY \xff\xff\r\n",
        ] {
            assert_eq!(first(line), First::Malformed, "{line:?}");
        }
        let endless = [WORD, &[b'x'; 200]].concat();
        assert_eq!(first(&endless), First::Malformed);
        for header in [
            version_2(0x11, 0x11, FOUR),
            version_2(0x22, 0x11, FOUR),
            version_2(0x21, 0x11, &FOUR[..11]),
            version_2(0x21, 0x21, FOUR),
            [SIGNATURE, &[0x21, 0x11, 0xFF, 0xFF]].concat(),
        ] {
            assert_eq!(first(&header), First::Malformed);
        }
    }

    #[test]
    fn networks_have_the_addresses_of_their_bits() {
        let have = |list: &str, from: &str| Networks::of(list).unwrap().have(from.parse().ok());
        assert!(have("10.0.0.0/8, 192.168.1.5", "10.200.0.1"));
        assert!(have("10.0.0.0/8,192.168.1.5", "192.168.1.5"));
        assert!(!have("10.0.0.0/8,192.168.1.5", "192.168.1.6"));
        assert!(have("2001:db8::/32", "2001:db8:1::1") && !have("2001:db8::/32", "10.0.0.1"));
        assert!(have("0.0.0.0/0", "1.2.3.4") && have("*", "::1"));
        assert!(!have("", "127.0.0.1") && !have("", "socket") && have("*", "socket"));
        assert!(have("localhost", "socket") && !have("localhost", "127.0.0.1"));
        for bad in ["10.0.0.0/33", "host", "10.0.0.0/", "::/129", "10.0.0.0/-1", "*.1"] {
            assert!(!Networks::is_list(bad), "{bad}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut rng = stdx::rng::Rng::new(5);
        for seed in [version_2(0x21, 0x11, FOUR), b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n".to_vec()] {
            for _ in 0..5_000 {
                let mut bytes = seed.clone();
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = rng.next_u64() as u8;
                bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
                if let First::Header(len, _) = first(&bytes) {
                    assert!(len <= bytes.len());
                }
            }
        }
    }
}
