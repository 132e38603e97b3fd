//! Names of accounts, and which clients they mean.

use std::fmt;
use std::net::IpAddr;

/// User and host of an account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AccountName {
    /// User; empty for everybody.
    pub user: String,
    /// A host, a pattern with `%` and `_`, an address with a mask; in small letters.
    pub host: String,
}

impl AccountName {
    /// A name; hosts ignore case.
    pub fn new(user: &str, host: &str) -> AccountName {
        AccountName { user: user.to_string(), host: host.to_ascii_lowercase() }
    }

    /// In backquotes, as definitions write it.
    pub fn quoted(&self) -> String {
        format!("{}@{}", quoted(&self.user), quoted(&self.host))
    }
}

/// A name in backquotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `'user'@'host'`, as messages write it.
impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'@'{}'", self.user, self.host)
    }
}

/// Where a client comes from.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    /// As messages name it: an address, or `localhost`.
    pub host: &'a str,
    /// Its address; none of the Unix socket.
    pub address: Option<IpAddr>,
}

/// Whether an account's host means this client.
pub fn means(pattern: &str, client: Client<'_>) -> bool {
    if pattern.is_empty() || like(pattern, client.host) {
        return true;
    }
    let Some(address) = client.address else { return false };
    match pattern.split_once('/') {
        Some((network, mask)) => in_network(address, network, mask),
        None => like(pattern, &address.to_string()),
    }
}

fn in_network(address: IpAddr, network: &str, mask: &str) -> bool {
    match (address, network.parse()) {
        (IpAddr::V4(address), Ok(IpAddr::V4(network))) => {
            let bits = match (mask.parse::<u32>(), mask.parse::<std::net::Ipv4Addr>()) {
                (Ok(n), _) if n <= 32 => u32::MAX.checked_shl(32 - n).unwrap_or(0),
                (_, Ok(mask)) => mask.to_bits(),
                _ => return false,
            };
            address.to_bits() & bits == network.to_bits()
        }
        (IpAddr::V6(address), Ok(IpAddr::V6(network))) => {
            let Some(n) = mask.parse::<u32>().ok().filter(|n| *n <= 128) else { return false };
            let bits = u128::MAX.checked_shl(128 - n).unwrap_or(0);
            address.to_bits() & bits == network.to_bits()
        }
        _ => false,
    }
}

/// The order in which hosts are tried: what is told most exactly first.
pub fn order_of(host: &str) -> (u8, i64) {
    let wild = host.find(['%', '_']);
    match wild {
        _ if host.is_empty() => (3, 0),
        None if host.contains('/') => (1, 0),
        None => (0, 0),
        Some(at) => (2, -(at as i64)),
    }
}

/// The order in which patterns of schemas are tried.
pub fn schema_order(pattern: &str) -> (bool, i64) {
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '%' | '_' => return (true, -(at as i64)),
            _ => {}
        }
    }
    (false, 0)
}

/// LIKE with `%`, `_` and `\`; ASCII letters ignore case.
pub fn like(pattern: &str, text: &str) -> bool {
    matches(pattern.as_bytes(), text.as_bytes(), |_| true, |a, b| a.eq_ignore_ascii_case(b))
}

/// LIKE with `%`, `_` and `\`, byte for byte: schemas.
pub fn like_schema(pattern: &str, text: &str) -> bool {
    matches(pattern.as_bytes(), text.as_bytes(), |_| true, |a, b| a == *b)
}

/// Whether a pattern of schemas names all that another one does: a letter of it stands for itself alone, `_` for a letter or
/// another `_`, `%` for anything.
pub fn covers_schemas(pattern: &str, other: &str) -> bool {
    let mut letters = Vec::with_capacity(other.len());
    let mut bytes = other.bytes().peekable();
    while let Some(byte) = bytes.next() {
        letters.push(match byte {
            b'%' => Letter::Many,
            b'_' => Letter::One,
            b'\\' => Letter::Itself(bytes.next().unwrap_or(byte)),
            _ => Letter::Itself(byte),
        });
    }
    let is_one = |letter: &Letter| *letter != Letter::Many;
    matches(pattern.as_bytes(), &letters, is_one, |a, b| *b == Letter::Itself(a))
}

/// What stands in a pattern.
#[derive(PartialEq, Eq)]
enum Letter {
    Itself(u8),
    One,
    Many,
}

/// Goes back to the last `%` only: time is at most the product of both lengths. `one` says what `_` stands for.
fn matches<T>(
    pattern: &[u8],
    text: &[T],
    one: impl Fn(&T) -> bool,
    same: impl Fn(u8, &T) -> bool,
) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some(b'%') => {
                back = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'_') => one(&text[t]).then_some(1),
            Some(b'\\') if p + 1 < pattern.len() => same(pattern[p + 1], &text[t]).then_some(2),
            Some(c) => same(*c, &text[t]).then_some(1),
            None => None,
        };
        match (step, back) {
            (Some(step), _) => {
                p += step;
                t += 1;
            }
            (None, Some((after, from))) => {
                p = after;
                t = from + 1;
                back = Some((after, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(host: &str) -> Client<'_> {
        Client { host, address: host.parse().ok() }
    }

    #[test]
    fn a_pattern_covers_what_names_no_schema_beyond_it() {
        for (pattern, other, covers) in [
            (r"rv\_%", r"rv\_%", true),
            (r"rv\_%", r"rv\_1", true),
            (r"rv\_%", "rv_1", false),
            (r"rv\_%", "rv_%", false),
            (r"rv\_%", "%", false),
            ("rv_%", "rv_%", true),
            ("rv_%", r"rv\_%", true),
            ("rv_%", "rv%", false),
            ("rv%", "rv_%", true),
            ("%", "%a_%", true),
            ("%a%", "_a%", true),
            ("%a%", "_%", false),
            ("a", r"a", true),
            ("", "", true),
            ("", "%", false),
        ] {
            assert_eq!(covers_schemas(pattern, other), covers, "{pattern} {other}");
        }
    }

    #[test]
    fn hosts_mean_clients() {
        assert!(means("%", from("10.0.0.7")) && means("", from("localhost")));
        assert!(means("10.0.%", from("10.0.3.4")) && !means("10.0.%", from("10.1.3.4")));
        assert!(means("LOCALHOST", from("localhost")));
        assert!(means("10.0.0.0/255.255.255.0", from("10.0.0.9")));
        assert!(!means("10.0.0.0/255.255.255.0", from("10.0.1.9")));
        assert!(means("10.0.0.0/8", from("10.200.1.9")) && !means("10.0.0.0/99", from("10.0.0.1")));
        assert!(means("fe80::/10", from("fe80::1")) && means("0.0.0.0/0", from("1.2.3.4")));
        assert!(!means("10.0.0.1", from("localhost")));
        let local = Client { host: "localhost", address: "127.0.0.1".parse().ok() };
        assert!(means("127.0.0.1", local) && means("localhost", local));
    }

    #[test]
    fn patterns_of_schemas() {
        assert!(like_schema("a\\_b%", "a_bcd") && !like_schema("a\\_b%", "axbcd"));
        assert!(like_schema("%x%y", "axbxcy") && !like_schema("%x%y", "axbxc"));
        assert!(like_schema("a_c", "abc") && !like_schema("A_c", "abc"));
        let mut patterns = vec!["%", "a%", "a\\_b", "ab%", "abc"];
        patterns.sort_by_key(|p| schema_order(p));
        assert_eq!(patterns, ["a\\_b", "abc", "ab%", "a%", "%"]);
        let mut hosts = vec!["%", "", "10.%", "10.0.0.1", "10.0.0.0/8", "10.0.%"];
        hosts.sort_by_key(|h| order_of(h));
        assert_eq!(hosts, ["10.0.0.1", "10.0.0.0/8", "10.0.%", "10.%", "%", ""]);
    }
}
