//! The first packets of a connection: greeting, response, change of user.

use crate::constants::{Capabilities, SERVER_CAPABILITIES, StatusFlags};
use crate::{Malformed, OrMalformed, Outbox, lenenc};
use stdx::bytes::{Put, Reader};

/// Bytes of the random challenge.
pub const SCRAMBLE_BYTES: usize = 20;
/// Longest user name that is taken, in bytes (32 characters of up to 4 bytes).
pub const USER_BYTES_MAX: usize = 128;
/// Longest schema name that is taken, in bytes (64 characters of up to 4 bytes).
pub const SCHEMA_BYTES_MAX: usize = 256;
/// Most bytes of connection attributes that are kept.
pub const ATTRIBUTES_BYTES_MAX: usize = 64 * 1024;

/// A random challenge: printable and without zero bytes, as clients expect.
pub type Scramble = [u8; SCRAMBLE_BYTES];

/// Makes a challenge from random bytes.
pub fn scramble_of(random: [u8; SCRAMBLE_BYTES]) -> Scramble {
    random.map(|b| {
        let printable = b & 0x7F;
        // Zero ends a string and '$' separates the parts of a stored digest.
        if printable == 0 || printable == b'$' { printable + 1 } else { printable }
    })
}

/// Writes the greeting (protocol version 10), which offers `extras` besides what every server does. Its sequence number must be 0.
pub fn greeting(
    out: &mut Outbox,
    version: &str,
    connection_id: u32,
    scramble: &Scramble,
    collation: u16,
    (plugin, extras): (&str, Capabilities),
) {
    let caps = SERVER_CAPABILITIES.with(extras).0;
    let body = out.begin();
    body.push(10);
    body.put_bytes(version.as_bytes());
    body.push(0);
    body.put_u32_le(connection_id);
    body.put_bytes(&scramble[..8]);
    body.push(0);
    body.put_u16_le(caps as u16);
    body.push(collation as u8);
    body.put_u16_le(StatusFlags::AUTOCOMMIT.0);
    body.put_u16_le((caps >> 16) as u16);
    body.push(SCRAMBLE_BYTES as u8 + 1);
    body.put_bytes(&[0; 10]);
    body.put_bytes(&scramble[8..]);
    body.push(0);
    body.put_bytes(plugin.as_bytes());
    body.push(0);
    out.end();
}

/// What a client answers to the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response<'a> {
    /// What both sides can.
    pub caps: Capabilities,
    /// Largest packet the client takes.
    pub packet_bytes_max: u32,
    /// Collation number of the connection.
    pub collation: u8,
    /// User name.
    pub user: &'a [u8],
    /// Answer to the challenge.
    pub auth: &'a [u8],
    /// Schema, when one is named.
    pub schema: Option<&'a [u8]>,
    /// Plugin that `auth` is for, when named.
    pub plugin: Option<&'a [u8]>,
    /// Connection attributes, undecoded: see [`attributes`].
    pub attributes: &'a [u8],
    /// The level of zstd that the client asks for.
    pub zstd_level: Option<u8>,
}

/// Whether the client answers the greeting by asking for TLS: its real answer comes encrypted.
pub fn is_tls_request(payload: &[u8]) -> bool {
    payload.len() == TLS_REQUEST_BYTES
        && Reader::new(payload).u32_le().is_ok_and(|caps| Capabilities(caps).has(Capabilities::SSL))
}

/// Capabilities, packet size, collation and filler, and nothing else.
const TLS_REQUEST_BYTES: usize = 32;

/// Decodes the client's answer to the greeting.
pub fn response(payload: &[u8]) -> Result<Response<'_>, Malformed> {
    let mut r = Reader::new(payload);
    let asked = Capabilities(r.u32_le().or_malformed("capabilities")?);
    if !asked.has(Capabilities::PROTOCOL_41) {
        return Err(Malformed("a client older than MySQL 4.1"));
    }
    let compressions = Capabilities::COMPRESS.with(Capabilities::ZSTD_COMPRESSION);
    let caps = asked & SERVER_CAPABILITIES.with(compressions);
    let packet_bytes_max = r.u32_le().or_malformed("packet size")?;
    let collation = r.u8().or_malformed("collation")?;
    r.take(23).or_malformed("filler")?;
    if asked.has(Capabilities::SSL) && r.is_empty() {
        return Err(Malformed("a TLS request where none can be"));
    }
    let user = checked_len(lenenc::zero_terminated(&mut r)?, USER_BYTES_MAX, "user name")?;
    let auth = if asked.has(Capabilities::PLUGIN_AUTH_LENENC) {
        lenenc::bytes(&mut r)?
    } else if asked.has(Capabilities::SECURE_CONNECTION) {
        let n = r.u8().or_malformed("authentication data")?;
        r.take(usize::from(n)).or_malformed("authentication data")?
    } else {
        lenenc::zero_terminated(&mut r)?
    };
    let schema = match asked.has(Capabilities::CONNECT_WITH_DB) {
        true => Some(checked_len(lenenc::zero_terminated(&mut r)?, SCHEMA_BYTES_MAX, "schema")?),
        false => None,
    };
    let plugin = plugin_name(asked, &mut r)?;
    let attributes = attribute_bytes(asked, &mut r)?;
    let zstd_level = match asked.has(Capabilities::ZSTD_COMPRESSION) {
        true => r.u8().ok(),
        false => None,
    };
    Ok(Response {
        caps,
        packet_bytes_max,
        collation,
        user,
        auth,
        schema: schema.filter(|s| !s.is_empty()),
        plugin,
        attributes,
        zstd_level,
    })
}

fn checked_len<'a>(text: &'a [u8], max: usize, part: &'static str) -> Result<&'a [u8], Malformed> {
    if text.len() <= max { Ok(text) } else { Err(Malformed(part)) }
}

fn plugin_name<'a>(caps: Capabilities, r: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    if !caps.has(Capabilities::PLUGIN_AUTH) || r.is_empty() {
        return Ok(None);
    }
    // Some clients leave out the last zero byte when nothing follows.
    let mut ahead = *r;
    match lenenc::zero_terminated(&mut ahead) {
        Ok(name) => {
            *r = ahead;
            Ok(Some(name))
        }
        Err(_) => Ok(Some(r.rest())),
    }
}

fn attribute_bytes<'a>(caps: Capabilities, r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    if !caps.has(Capabilities::CONNECT_ATTRS) || r.is_empty() {
        return Ok(b"");
    }
    checked_len(lenenc::bytes(r)?, ATTRIBUTES_BYTES_MAX, "connection attributes")
}

/// A connection attribute: name and value.
pub type Attribute<'a> = (&'a [u8], &'a [u8]);

/// Decodes connection attributes.
pub fn attributes(bytes: &[u8]) -> Result<Vec<Attribute<'_>>, Malformed> {
    let mut r = Reader::new(bytes);
    let mut out = Vec::new();
    while !r.is_empty() {
        let name = lenenc::bytes(&mut r)?;
        out.push((name, lenenc::bytes(&mut r)?));
    }
    Ok(out)
}

/// Body of COM_CHANGE_USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// User name.
    pub user: &'a [u8],
    /// Answer to the last challenge.
    pub auth: &'a [u8],
    /// Schema, when one is named.
    pub schema: Option<&'a [u8]>,
    /// Collation number, when named.
    pub collation: Option<u16>,
    /// Plugin that `auth` is for, when named.
    pub plugin: Option<&'a [u8]>,
    /// Connection attributes, undecoded.
    pub attributes: &'a [u8],
}

/// Decodes the body of COM_CHANGE_USER.
pub fn change_user(body: &[u8], caps: Capabilities) -> Result<ChangeUser<'_>, Malformed> {
    let mut r = Reader::new(body);
    let user = checked_len(lenenc::zero_terminated(&mut r)?, USER_BYTES_MAX, "user name")?;
    let n = r.u8().or_malformed("authentication data")?;
    let auth = r.take(usize::from(n)).or_malformed("authentication data")?;
    let schema = checked_len(lenenc::zero_terminated(&mut r)?, SCHEMA_BYTES_MAX, "schema")?;
    let collation = if r.is_empty() { None } else { Some(r.u16_le().or_malformed("collation")?) };
    let plugin = plugin_name(caps, &mut r)?;
    let attributes = attribute_bytes(caps, &mut r)?;
    let schema = Some(schema).filter(|s| !s.is_empty());
    Ok(ChangeUser { user, auth, schema, collation, plugin, attributes })
}

/// Writes a request to authenticate by another plugin, with a challenge.
pub fn auth_switch(out: &mut Outbox, plugin: &str, scramble: &Scramble) {
    let body = out.begin();
    body.push(0xFE);
    body.put_bytes(plugin.as_bytes());
    body.push(0);
    body.put_bytes(scramble);
    body.push(0);
    out.end();
}

/// Writes more data for the client's authentication plugin.
pub fn auth_more_data(out: &mut Outbox, data: &[u8]) {
    let body = out.begin();
    body.push(0x01);
    body.put_bytes(data);
    out.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_response() -> Vec<u8> {
        let caps = Capabilities::PROTOCOL_41
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC
            | Capabilities::CONNECT_ATTRS;
        let mut v = Vec::new();
        v.put_u32_le(caps.0);
        v.put_u32_le(1 << 24);
        v.push(45);
        v.put_bytes(&[0; 23]);
        v.put_bytes(b"root\0");
        v.put_bytes(b"\x03abc");
        v.put_bytes(b"sbtest\0");
        v.put_bytes(b"mysql_native_password\0");
        v.put_bytes(b"\x0A\x03_os\x05Linux");
        v
    }

    #[test]
    fn a_full_response_is_decoded() {
        let bytes = client_response();
        let r = response(&bytes).unwrap();
        assert_eq!((r.user, r.auth), (&b"root"[..], &b"abc"[..]));
        assert_eq!(r.schema, Some(&b"sbtest"[..]));
        assert_eq!(r.plugin, Some(&b"mysql_native_password"[..]));
        assert_eq!(attributes(r.attributes), Ok(vec![(&b"_os"[..], &b"Linux"[..])]));
        assert_eq!(r.zstd_level, None);
    }

    #[test]
    fn the_level_of_zstd_comes_last() {
        let mut bytes = client_response();
        bytes[3] |= (Capabilities::ZSTD_COMPRESSION.0 >> 24) as u8;
        assert_eq!(response(&bytes).unwrap().zstd_level, None);
        bytes.push(7);
        let r = response(&bytes).unwrap();
        assert_eq!(r.zstd_level, Some(7));
        assert!(r.caps.has(Capabilities::ZSTD_COMPRESSION));
    }

    #[test]
    fn a_cut_or_damaged_response_never_panics() {
        let bytes = client_response();
        for cut in 0..bytes.len() {
            let _ = response(&bytes[..cut]).map(|r| attributes(r.attributes).map(|a| a.len()));
        }
        assert!(response(&bytes[..31]).is_err());
        let mut rng = stdx::rng::Rng::new(3);
        for _ in 0..2000 {
            let mut damaged = bytes.clone();
            let at = rng.below(damaged.len() as u64) as usize;
            damaged[at] = rng.next_u64() as u8;
            let _ = response(&damaged).map(|r| attributes(r.attributes).map(|a| a.len()));
            let _ = change_user(&damaged, SERVER_CAPABILITIES);
        }
    }

    #[test]
    fn a_change_of_user_is_decoded() {
        let body = b"bob\0\x02xydb\0\x2D\0mysql_native_password\0";
        let c = change_user(body, SERVER_CAPABILITIES).unwrap();
        assert_eq!((c.user, c.auth, c.collation), (&b"bob"[..], &b"xy"[..], Some(45)));
        assert_eq!(c.schema, Some(&b"db"[..]));
        assert_eq!(c.plugin, Some(&b"mysql_native_password"[..]));
    }

    #[test]
    fn the_greeting_has_the_layout_clients_expect() {
        let mut out = Outbox::new();
        let scramble = scramble_of([0; 20]);
        let plugin = "caching_sha2_password";
        greeting(&mut out, "8.4.0-x", 7, &scramble, 255, (plugin, Capabilities::EMPTY));
        let b = &out.bytes()[4..];
        assert!(b.starts_with(b"\x0A8.4.0-x\0\x07\0\0\0\x01\x01\x01\x01\x01\x01\x01\x01\0"));
        assert!(b.ends_with(b"\0caching_sha2_password\0"));
        // The low half of the capabilities lies behind the first part of the challenge.
        let offers_tls = |b: &[u8]| b[5 + 8 + 4 + 9 + 1 - 4] & 0x08 != 0;
        assert!(!offers_tls(b));
        out.clear();
        greeting(&mut out, "8.4.0-x", 7, &scramble, 255, (plugin, Capabilities::SSL));
        assert!(offers_tls(&out.bytes()[4..]));
        assert!(scramble_of([b'$'; 20]).iter().all(|&c| c != b'$' && c != 0));
    }
}
