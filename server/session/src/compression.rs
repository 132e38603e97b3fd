//! How connections are compressed: what the server offers, and what a client that comes in gets.
//!
//! 1. The bytes of a compressed connection are the business of whoever has its socket ([`wire::compressed`]); the session
//! settles with the client how, and goes on with packets as before. 2. A client of both algorithms gets zlib, as from MySQL. 3.
//! What was offered in the greeting counts, whatever the variable says when the client answers.

use crate::errors::SessionError;
use executor::SqlError;
use wire::Capabilities;
use wire::compressed::Algorithm;

/// What a greeting offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    zlib: bool,
    zstd: bool,
    uncompressed: bool,
}

impl Offer {
    /// That of a list of algorithms.
    pub fn of(list: &str) -> Offer {
        let has = |name: &str| list.split(',').any(|word| word == name);
        Offer { zlib: has("zlib"), zstd: has("zstd"), uncompressed: has("uncompressed") }
    }

    /// How the greeting says it.
    pub fn capabilities(self) -> Capabilities {
        let mut caps = Capabilities::EMPTY;
        caps.set(Capabilities::COMPRESS, self.zlib);
        caps.set(Capabilities::ZSTD_COMPRESSION, self.zstd);
        caps
    }

    /// What a client gets that can do this, and asks for this level of zstd; `None`: it goes on in clear.
    ///
    /// # Errors
    /// 3922, 3923.
    pub fn accept(
        self,
        caps: Capabilities,
        zstd_level: Option<u8>,
    ) -> Result<Option<Algorithm>, SqlError> {
        let both = caps & self.capabilities();
        if both.has(Capabilities::COMPRESS) {
            return Ok(Some(Algorithm::Zlib));
        }
        if both.has(Capabilities::ZSTD_COMPRESSION) {
            let level = zstd_level.filter(|level| Algorithm::ZSTD_LEVELS.contains(level));
            return Ok(Some(Algorithm::Zstd(level.ok_or(SessionError::WrongZstdLevel)?)));
        }
        match self.uncompressed {
            true => Ok(None),
            false => Err(SessionError::WrongCompression("uncompressed").into()),
        }
    }
}

/// What SHOW STATUS has of the connection that asks.
pub(crate) fn status(how: Option<Algorithm>) -> [(&'static str, String); 3] {
    [
        ("Compression", how.map_or("OFF", |_| "ON").to_string()),
        ("Compression_algorithm", how.map_or("", Algorithm::name).to_string()),
        ("Compression_level", how.map_or(0, Algorithm::level).to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_both_can() {
        const ZLIB: Capabilities = Capabilities::COMPRESS;
        const ZSTD: Capabilities = Capabilities::ZSTD_COMPRESSION;
        let get = |list: &str, caps, level| match Offer::of(list).accept(caps, level) {
            Ok(None) => "clear".to_string(),
            Ok(Some(how)) => format!("{} {}", how.name(), how.level()),
            Err(error) => error.parts().0.to_string(),
        };
        assert_eq!(get("zlib,zstd,uncompressed", ZLIB.with(ZSTD), Some(3)), "zlib 6");
        assert_eq!(get("zstd,uncompressed", ZLIB.with(ZSTD), Some(3)), "zstd 3");
        assert_eq!(get("zstd,uncompressed", ZLIB, None), "clear");
        assert_eq!(get("zstd", ZLIB, None), "3922");
        assert_eq!(get("zstd", Capabilities::EMPTY, None), "3922");
        for level in [None, Some(0), Some(23), Some(255)] {
            assert_eq!(get("zstd", ZSTD, level), "3923", "{level:?}");
        }
    }
}
