//! Digests, AES, compression, random bytes, statement digests.

use super::call::{Answer, Call, NULL};
use super::{Function, function};
use crate::build::Derive;
use crate::refused::Refused;
use crate::tree::OwnedDatum;
use crate::{SqlError, WarningLevel};
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use sha2::Digest;
use std::io::{Read, Write};
use value::{Collation, ColumnType, Kind};

pub static FUNCTIONS: &[Function] = &[
    function("md5", (1, 1), md5_type, md5, "MD5 in hexadecimal digits"),
    function("sha", (1, 1), sha1_type, sha1, "SHA-1 in hexadecimal digits"),
    function("sha1", (1, 1), sha1_type, sha1, "SHA-1 in hexadecimal digits"),
    function("sha2", (2, 2), sha2_type, sha2, "SHA-224, 256, 384 or 512 in hexadecimal digits")
        .sees_null(),
    function("aes_encrypt", (2, 6), encrypt_type, aes_encrypt, "the text encrypted by AES")
        .sees_null(),
    function("aes_decrypt", (2, 6), decrypt_type, aes_decrypt, "the text that AES encrypted")
        .sees_null(),
    function("random_bytes", (1, 1), random_type, random_bytes, "so many random bytes").volatile(),
    function(
        "compress",
        (1, 1),
        compress_type,
        compress,
        "the text compressed by zlib behind its length",
    ),
    function(
        "uncompress",
        (1, 1),
        uncompress_type,
        uncompress,
        "the text that COMPRESS compressed",
    ),
    function(
        "uncompressed_length",
        (1, 1),
        length_type,
        uncompressed_length,
        "the length of the text that COMPRESS compressed",
    ),
    function(
        "statement_digest",
        (1, 1),
        digest_type,
        statement_digest,
        "the digest of a statement",
    ),
    function(
        "statement_digest_text",
        (1, 1),
        text_type,
        statement_digest_text,
        "the normalised text of a statement",
    ),
    function(
        "validate_password_strength",
        (1, 1),
        length_type,
        password_strength,
        "how strong a password is, from 0 to 100: 0 without the component validate_password",
    )
    .per_statement(),
];

type Derived = Result<ColumnType, SqlError>;

fn md5_type(d: &mut Derive<'_>) -> Derived {
    let nullable = d.nullable();
    Ok(ColumnType { nullable, ..d.own_string(32) })
}

fn sha1_type(d: &mut Derive<'_>) -> Derived {
    let nullable = d.nullable();
    Ok(ColumnType { nullable, ..d.own_string(40) })
}

fn sha2_type(d: &mut Derive<'_>) -> Derived {
    let chars = match d.constant_int(1) {
        Some(224) => 56,
        Some(384) => 96,
        Some(512) => 128,
        Some(0 | 256) => 64,
        _ => 128,
    };
    Ok(d.own_string(chars))
}

fn bytes_of(d: &Derive<'_>, n: usize) -> u32 {
    d.chars(n).saturating_mul(d.ty(n).collation.bytes_per_char_max())
}

fn encrypt_type(d: &mut Derive<'_>) -> Derived {
    let bytes = (bytes_of(d, 0) / 16).saturating_add(1).saturating_mul(16);
    Ok(d.bytes(bytes))
}

fn decrypt_type(d: &mut Derive<'_>) -> Derived {
    let bytes = bytes_of(d, 0);
    Ok(d.bytes(bytes))
}

fn random_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.bytes(1024))
}

fn compress_type(d: &mut Derive<'_>) -> Derived {
    let bytes = bytes_of(d, 0);
    Ok(d.bytes(bytes.saturating_add(bytes / 5).saturating_add(12)))
}

fn uncompress_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.bytes(16_777_216))
}

fn length_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.int(10))
}

fn digest_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.own_string(64))
}

fn text_type(d: &mut Derive<'_>) -> Derived {
    let longest = ColumnType::large(Kind::LongText, Collation::Utf8mb4_0900AiCi);
    Ok(ColumnType { nullable: d.nullable(), ..longest })
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    let mut digits = super::string::hex_of(bytes);
    digits.make_ascii_lowercase();
    digits
}

fn md5<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(hex(&md5::Md5::digest(c.text(0))).into())
}

fn sha1<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(hex(&sha1::Sha1::digest(c.text(0))).into())
}

fn sha2<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let bits = if c.is_null(1) { -1 } else { c.int(1) };
    if c.is_null(0) {
        return Ok(NULL);
    }
    let text = c.text(0);
    let digest = match bits {
        224 => sha2::Sha224::digest(&text).to_vec(),
        0 | 256 => sha2::Sha256::digest(&text).to_vec(),
        384 => sha2::Sha384::digest(&text).to_vec(),
        512 => sha2::Sha512::digest(&text).to_vec(),
        _ => {
            let text = "Incorrect parameters in the call to native function 'sha2'";
            c.env.warn(WarningLevel::Warning, 1583, text.into());
            return Ok(NULL);
        }
    };
    Ok(hex(&digest).into())
}

const BLOCK: usize = 16;

/// AES with a key of 128, 192 or 256 bits; a block cipher as `block_encryption_mode` names it.
struct Cipher {
    key: Vec<u8>,
    /// The bytes before the first block of CBC; `None` for ECB.
    chained: Option<[u8; BLOCK]>,
}

impl Cipher {
    /// MySQL folds a key of any length into the cipher's by exclusive OR.
    fn folded(key: &[u8], bits: usize) -> Vec<u8> {
        let mut folded = vec![0; bits / 8];
        key.iter().enumerate().for_each(|(n, b)| folded[n % (bits / 8)] ^= b);
        folded
    }

    fn block(&self, encrypt: bool, block: &mut [u8; BLOCK]) {
        fn run<C: BlockEncrypt + BlockDecrypt + KeyInit>(
            key: &[u8],
            encrypt: bool,
            block: &mut [u8],
        ) {
            let Ok(cipher) = C::new_from_slice(key) else { return };
            let block = aes::cipher::generic_array::GenericArray::from_mut_slice(block);
            if encrypt { cipher.encrypt_block(block) } else { cipher.decrypt_block(block) }
        }
        match self.key.len() {
            16 => run::<aes::Aes128>(&self.key, encrypt, block),
            24 => run::<aes::Aes192>(&self.key, encrypt, block),
            _ => run::<aes::Aes256>(&self.key, encrypt, block),
        }
    }

    fn encrypt(&self, text: &[u8]) -> Vec<u8> {
        let padding = BLOCK - text.len() % BLOCK;
        let mut out = text.to_vec();
        out.resize(text.len() + padding, padding as u8);
        let mut before = self.chained;
        for chunk in out.as_chunks_mut::<BLOCK>().0 {
            if let Some(before) = &before {
                chunk.iter_mut().zip(before).for_each(|(b, x)| *b ^= x);
            }
            self.block(true, chunk);
            before = before.map(|_| *chunk);
        }
        out
    }

    fn decrypt(&self, text: &[u8]) -> Option<Vec<u8>> {
        if text.is_empty() || !text.len().is_multiple_of(BLOCK) {
            return None;
        }
        let mut out = text.to_vec();
        let mut before = self.chained;
        for chunk in out.as_chunks_mut::<BLOCK>().0 {
            let cipher_text = *chunk;
            self.block(false, chunk);
            if let Some(before) = &before {
                chunk.iter_mut().zip(before).for_each(|(b, x)| *b ^= x);
            }
            before = before.map(|_| cipher_text);
        }
        let padding = usize::from(*out.last()?);
        let valid = (1..=BLOCK).contains(&padding)
            && out[out.len() - padding..].iter().all(|b| usize::from(*b) == padding);
        valid.then(|| {
            out.truncate(out.len() - padding);
            out
        })
    }
}

/// The cipher of a call, and a refusal when it cannot be had; `None` is NULL.
fn cipher(c: &mut Call<'_, '_>, name: &str) -> Result<Option<Cipher>, SqlError> {
    if c.is_null(0) || c.is_null(1) {
        return Ok(None);
    }
    let mode = c.env.system_variable(false, "block_encryption_mode");
    let mode = mode.map_or_else(|_| "aes-128-ecb".into(), |v| value::format::to_text(&v.datum()));
    let mode = mode.to_ascii_lowercase();
    let bits = match mode.get(4..7) {
        Some("192") => 192,
        Some("256") => 256,
        _ => 128,
    };
    let chained = match mode.get(8..) {
        Some("cbc") => true,
        None | Some("ecb") => false,
        Some(other) => {
            return Err(SqlError::unsupported(format!("block_encryption_mode {other}")));
        }
    };
    if c.len() > 3 {
        return Err(SqlError::unsupported(format!("key derivation in {name}")));
    }
    let chained = if chained {
        if c.len() < 3 {
            return Err(Refused::WrongCount(name).into());
        }
        let vector = c.text(2);
        let first = vector.first_chunk::<BLOCK>();
        Some(*first.ok_or(Refused::ShortVector(name))?)
    } else {
        if c.len() > 2 {
            c.env.warn(WarningLevel::Warning, 1618, "<IV> option ignored".into());
        }
        None
    };
    let key = Cipher::folded(&c.text(1), bits);
    Ok(Some(Cipher { key, chained }))
}

fn aes_encrypt<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(cipher) = cipher(c, "aes_encrypt")? else { return Ok(NULL) };
    Ok(cipher.encrypt(&c.text(0)).into())
}

fn aes_decrypt<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(cipher) = cipher(c, "aes_decrypt")? else { return Ok(NULL) };
    Ok(cipher.decrypt(&c.text(0)).map_or(NULL, Into::into))
}

fn random_bytes<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let count = c.int(0);
    if !(1..=1024).contains(&count) {
        return Err(SqlError::OutOfRange("length".into(), "random_bytes".into()));
    }
    let mut bytes = vec![0; count as usize];
    super::misc::fill_random(&mut bytes)?;
    Ok(bytes.into())
}

fn compress<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    if text.is_empty() {
        return Ok(Vec::new().into());
    }
    let mut out = (text.len() as u32).to_le_bytes().to_vec();
    let mut encoder = ZlibEncoder::new(&mut out, Compression::default());
    let done = encoder.write_all(&text).and_then(|()| encoder.finish().map(drop));
    if done.is_err() {
        return Ok(NULL);
    }
    // A last space would be cut from a CHAR column.
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(out.into())
}

fn uncompress<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    if text.is_empty() {
        return Ok(Vec::new().into());
    }
    let corrupted = |c: &mut Call<'_, 'v>| {
        let text = "ZLIB: Input data corrupted";
        c.env.warn(WarningLevel::Warning, 1259, text.into());
        Ok(NULL)
    };
    let Some((size, body)) = text.split_first_chunk::<4>().filter(|(_, b)| !b.is_empty()) else {
        return corrupted(c);
    };
    let size = (u32::from_le_bytes(*size) & 0x3FFF_FFFF) as usize;
    let limit = c.env.system_variable(false, "max_allowed_packet");
    let limit = limit.ok().and_then(|v| v.datum().as_u64()).unwrap_or(u64::MAX);
    if size as u64 > limit {
        let text = format!(
            "Uncompressed data size too large; the maximum size is {limit} (probably, length of \
             uncompressed data was corrupted)"
        );
        c.env.warn(WarningLevel::Warning, 1256, text);
        return Ok(NULL);
    }
    let mut out = Vec::new();
    // What claims a size is believed only as far as bytes come.
    let read = ZlibDecoder::new(body).take(size as u64 + 1).read_to_end(&mut out);
    match read {
        Ok(_) if out.len() <= size => Ok(out.into()),
        _ => corrupted(c),
    }
}

fn uncompressed_length<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    let Some(size) = text.first_chunk::<4>().filter(|_| text.len() > 4) else {
        if !text.is_empty() {
            c.env.warn(WarningLevel::Warning, 1259, "ZLIB: Input data corrupted".into());
        }
        return Ok(0i64.into());
    };
    Ok(i64::from(u32::from_le_bytes(*size) & 0x3FFF_FFFF).into())
}

fn statement_digest<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let digest = statement(c)?;
    Ok(hex(&digest.hash).into())
}

fn statement_digest_text<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(statement(c)?.text.into_bytes().into())
}

/// The digest of the statement that the argument is, read as the session's mode says.
fn statement(c: &mut Call<'_, '_>) -> Result<parser::digest::Digest, SqlError> {
    let text = c.text(0);
    let mode = parser::SqlMode::of_bits(c.env.sql_mode());
    let bytes_max = match c.env.system_variable(true, "max_digest_length")? {
        OwnedDatum::Int(v) => usize::try_from(v).unwrap_or(0),
        OwnedDatum::UInt(v) => usize::try_from(v).unwrap_or(0),
        _ => 0,
    };
    let failed = |error: parser::ParseError| {
        let text = crate::parse_error(&error, &text).parts().2;
        SqlError::from(Refused::NoDigest(&text))
    };
    let limits = parser::digest::DigestLimits::whole(bytes_max);
    match parser::parse_digested(&text, 0, mode, false, limits) {
        Ok(parsed) => {
            let follows = parser::lex::Lexer::new(&text, parsed.next, mode).next_token();
            if follows.kind != parser::token::TokenKind::End {
                let (kind, offset) = (parser::ErrorKind::Syntax, follows.start as usize);
                return Err(failed(parser::ParseError { kind, offset, line: 1 }));
            }
            Ok(parsed.digest.unwrap_or_default())
        }
        // Comments alone have an empty digest.
        Err(error) if error.kind == parser::ErrorKind::Empty && !text.trim_ascii().is_empty() => {
            Ok(parser::digest::Digest::default())
        }
        Err(error) => Err(failed(error)),
    }
}

fn password_strength<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let password = c.text(0);
    Ok(c.env.password_strength(&password).into())
}
