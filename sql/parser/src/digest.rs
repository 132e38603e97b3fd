//! Statement digests: not built yet; the hook is where the lexing pass would feed it.

use crate::mode::SqlMode;
use crate::token::Token;

/// A statement's digest text and hash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest;

/// Collects tokens into a digest.
pub struct DigestBuilder;

impl DigestBuilder {
    /// A digest of at most so many bytes.
    pub fn new(_mode: SqlMode, _bytes_max: usize) -> DigestBuilder {
        DigestBuilder
    }

    /// Adds a token.
    pub fn add(&mut self, _sql: &[u8], _token: Token) {}

    /// The digest of the tokens added.
    pub fn finish(self) -> Digest {
        Digest
    }
}
