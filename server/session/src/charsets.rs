//! The character sets of a session: what its statements are written in, what its literals become, and
//! what the client gets.
//!
//! 1. Inside the session statements, names and messages are utf8mb4. A statement of a latin1 client is
//!    converted before it is parsed; what stands behind an introducer is converted back by the parser
//!    ([`parser::SqlMode::FROM_LATIN1`]). Other clients' statements are taken as they are.
//! 2. A result's text is converted from its column's character set; with `character_set_results` NULL or
//!    `binary` it is sent as it is.

use crate::variables::Assign;
use executor::SqlError;
use std::borrow::Cow;
use value::charset::{self, NameError};
use value::{Charset, Collation};

/// What a session's variables say, taken out of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charsets {
    /// `character_set_client`.
    pub client: Charset,
    /// `collation_connection`: that of literals.
    pub connection: Collation,
    /// A literal's bytes are those of the text, so that they need not be looked at.
    pub keeps_literals: bool,
    /// `character_set_results`, with the collation that the client was given for it; none for NULL.
    pub results: Option<Collation>,
}

impl Default for Charsets {
    fn default() -> Self {
        let collation = Collation::default();
        Self {
            client: Charset::default(),
            connection: collation,
            keeps_literals: true,
            results: Some(collation),
        }
    }
}

impl Charsets {
    /// A statement's text as utf8mb4 (rule 1).
    #[inline]
    pub fn statement<'s>(&self, sql: &'s [u8]) -> Cow<'s, [u8]> {
        match self.client {
            Charset::Latin1 => charset::converted(sql, Charset::Latin1, Charset::Utf8mb4).0,
            _ => Cow::Borrowed(sql),
        }
    }

    /// A parameter's text, which comes in the client's character set, as a literal.
    pub fn parameter<'s>(&self, s: &'s [u8]) -> Cow<'s, [u8]> {
        charset::converted(s, self.client, self.connection.charset()).0
    }

    /// The collation that the client is told for text of `collation`.
    #[inline]
    pub fn shown(&self, collation: Collation) -> Collation {
        self.results.unwrap_or(collation)
    }

    /// What a header depends on; never 0.
    #[inline]
    pub fn header_key(&self) -> u64 {
        // No collation has number 1 here.
        self.results.map_or(1, |c| u64::from(c.id()))
    }

    /// Whether a result's text of `collation` is other bytes for the client.
    #[inline]
    pub fn converts(&self, collation: Collation) -> bool {
        use Charset::{Binary, Utf8mb3, Utf8mb4};
        let Some(results) = self.results else { return false };
        let (from, to) = (collation.charset(), results.charset());
        from != to && !matches!((from, to), (Binary, _) | (_, Binary) | (Utf8mb3, Utf8mb4))
    }

    /// A result's text for the client.
    pub fn result<'s>(&self, s: &'s [u8], from: Charset) -> Cow<'s, [u8]> {
        match self.results {
            Some(to) => charset::converted(s, from, to.charset()).0,
            None => Cow::Borrowed(s),
        }
    }

    /// A message as the client reads it.
    pub fn message<'s>(&self, text: &'s str) -> Cow<'s, [u8]> {
        charset::message(text, self.results.map_or(Charset::Utf8mb4, Collation::charset))
    }
}

/// The collation of a connection whose handshake asks for collation `id`. Of collations that are not here
/// the default of their character set stands in; a number that is none is the server's default.
pub fn of_handshake(id: u16, server: Collation) -> Collation {
    let charset = match id {
        15 | 31 | 94 => Charset::Latin1,
        76 | 192..=215 | 223 => Charset::Utf8mb3,
        224..=247 | 255..=323 => Charset::Utf8mb4,
        _ => return Collation::from_id(id).unwrap_or(server),
    };
    Collation::from_id(id).unwrap_or(charset.default_collation())
}

/// The word that `SET variable = word` stores: a character set's or a collation's name, by name or by
/// collation number.
///
/// # Errors
/// 1115, 1273, 1235.
pub fn canonical(variable: &str, assigned: &Assign<'_>) -> Result<Option<&'static str>, SqlError> {
    let collation = variable.starts_with("collation") || variable.starts_with("default_collation");
    let by_number = |id: i128| {
        let found = u16::try_from(id).ok().and_then(Collation::from_id);
        let missing = match collation {
            true => NameError::Collation(id.to_string()),
            false => NameError::Charset(id.to_string()),
        };
        found.ok_or(missing)
    };
    let found = match assigned {
        Assign::Text(name) if collation => Collation::named(name),
        Assign::Text(name) => Charset::named(name).map(Charset::default_collation),
        Assign::Int(id) => by_number(i128::from(*id)),
        Assign::UInt(id) => by_number(i128::from(*id)),
        Assign::Null | Assign::Double(_) => return Ok(None),
    };
    let found = found?;
    Ok(Some(if collation { found.name() } else { found.charset().name() }))
}

/// The variable that changes with `variable`, and its word: of a character set its default collation, of a
/// collation its character set.
pub fn partner(variable: &str, word: &str) -> Option<(&'static str, &'static str)> {
    const PAIRS: [(&str, &str); 3] = [
        ("character_set_connection", "collation_connection"),
        ("character_set_database", "collation_database"),
        ("character_set_server", "collation_server"),
    ];
    let (charset, collation) = PAIRS.iter().find(|(a, b)| [a, b].contains(&&variable))?;
    if variable == *charset {
        Some((collation, Charset::from_name(word)?.default_collation().name()))
    } else {
        Some((charset, Collation::from_name(word)?.charset().name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_gets_a_collation_of_its_character_set() {
        let server = Collation::Utf8mb4_0900AiCi;
        assert_eq!(of_handshake(8, server), Collation::Latin1SwedishCi);
        assert_eq!(of_handshake(46, server), Collation::Utf8mb4Bin);
        assert_eq!(of_handshake(224, server), Collation::Utf8mb4UnicodeCi);
        assert_eq!(of_handshake(192, server), Collation::Utf8mb3UnicodeCi);
        assert_eq!(of_handshake(225, server), Collation::Utf8mb4_0900AiCi);
        assert_eq!(of_handshake(193, server), Collation::Utf8mb3GeneralCi);
        assert_eq!(of_handshake(31, server), Collation::Latin1SwedishCi);
        assert_eq!(of_handshake(0, server), server);
    }

    #[test]
    fn a_variable_and_its_partner() {
        let partner_of = |v, w| partner(v, w).unwrap();
        let latin1 = ("collation_connection", "latin1_swedish_ci");
        assert_eq!(partner_of("character_set_connection", "latin1"), latin1);
        assert_eq!(partner_of("collation_server", "ascii_bin"), ("character_set_server", "ascii"));
        assert_eq!(partner("character_set_client", "latin1"), None);
        let number = canonical("collation_connection", &Assign::Int(33)).unwrap();
        assert_eq!(number, Some("utf8mb3_general_ci"));
        assert_eq!(
            canonical("character_set_client", &Assign::Text("UTF8")).unwrap(),
            Some("utf8mb3")
        );
        assert!(canonical("character_set_client", &Assign::Text("ucs2")).is_err());
    }

    #[test]
    fn a_latin1_statement_is_converted() {
        let latin1 = Charsets { client: Charset::Latin1, ..Charsets::default() };
        assert_eq!(latin1.statement(b"'\xe9'").as_ref(), "'é'".as_bytes());
        assert_eq!(Charsets::default().statement(b"'\xe9'").as_ref(), b"'\xe9'");
    }
}
