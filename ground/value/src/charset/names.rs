//! Names of character sets and collations as statements write them.
//!
//! 1. A name that MySQL knows and this server does not is told apart from one that nobody knows.

use super::Charset;
use crate::Collation;

/// A name that names nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// 1115: no such character set.
    Charset(String),
    /// 1273: no such collation.
    Collation(String),
    /// 1253: the collation belongs to another character set than the text.
    Mismatch(&'static str, &'static str),
    /// 1235: MySQL has it, this server does not yet.
    NotYet(String),
}

impl NameError {
    /// MySQL's error number, SQLSTATE and text; of [`NameError::NotYet`] the text is the construct's
    /// name.
    #[must_use]
    pub fn parts(&self) -> (u16, &'static str, String) {
        match self {
            NameError::Charset(name) => (1115, "42000", format!("Unknown character set: '{name}'")),
            NameError::Collation(name) => (1273, "HY000", format!("Unknown collation: '{name}'")),
            NameError::Mismatch(collation, charset) => {
                let text =
                    format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'");
                (1253, "42000", text)
            }
            NameError::NotYet(what) => (1235, "42000", what.clone()),
        }
    }
}

/// Character sets of MySQL that are not here.
const OTHERS: &str = "armscii8 big5 cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 cp932 dec8 eucjpms euckr \
                      gb18030 gb2312 gbk geostd8 greek hebrew hp8 keybcs2 koi8r koi8u latin2 latin5 latin7 \
                      macce macroman sjis swe7 tis620 ucs2 ujis utf16 utf16le utf32";
/// What follows the name of a Unicode character set in collations that are not here.
const LANGUAGES: &str = "unicode icelandic latvian romanian slovenian polish estonian spanish swedish \
                         turkish czech danish lithuanian slovak spanish2 roman persian esperanto hungarian \
                         sinhala german2 croatian vietnamese tolower general_mysql500";
/// What follows `utf8mb4_` in collations of UCA 9.0.0 that are not here, before `_0900_`.
const LANGUAGES_900: &str = "bg bs cs da de_pb eo es es_trad et gl hr hu is ja la lt lv mn_cyrl nb nn pl \
                             ro ru sk sl sr_latn sv tr vi zh";
const OF_LATIN1: &str = "danish german2 spanish";

fn among(list: &str, word: &str) -> bool {
    list.split(' ').any(|w| w == word)
}

fn is_mysqls(collation: &str) -> bool {
    let Some((charset, rest)) = collation.split_once('_') else { return false };
    match charset {
        "utf8mb4" | "utf8mb3" | "utf8" | "latin1" => {
            let list = if charset == "latin1" { OF_LATIN1 } else { LANGUAGES };
            rest.strip_suffix("_ci").is_some_and(|language| among(list, language))
                || rest.split_once("_0900_").is_some_and(|(language, _)| {
                    charset == "utf8mb4" && among(LANGUAGES_900, language)
                })
        }
        other => among(OTHERS, other) && (rest.ends_with("_ci") || rest == "bin"),
    }
}

/// What MySQL warns of when a statement names the old Unicode character set: number and text.
pub fn deprecation(name: &str) -> Option<(u16, String)> {
    let name = name.to_ascii_lowercase();
    if name == "utf8" {
        let text = "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for \
                    UTF8MB4 in a future release. Please consider using UTF8MB4 in order to be unambiguous.";
        return Some((3719, text.into()));
    }
    if name == "utf8mb3" {
        let text = "'utf8mb3' is deprecated and will be removed in a future release. Please use \
                    utf8mb4 instead";
        return Some((1287, text.into()));
    }
    let collation = Collation::from_name(&name).filter(|c| c.charset() == Charset::Utf8mb3)?;
    let text = format!(
        "'{}' is a collation of the deprecated character set UTF8MB3. Please consider using UTF8MB4 \
         with an appropriate collation instead.",
        collation.name()
    );
    Some((3778, text))
}

impl Charset {
    /// The character set that a statement names.
    ///
    /// # Errors
    /// [`NameError::Charset`], [`NameError::NotYet`].
    pub fn named(name: &str) -> Result<Self, NameError> {
        let missing = || match among(OTHERS, &name.to_ascii_lowercase()) {
            true => NameError::NotYet(format!("character set {}", name.to_ascii_lowercase())),
            false => NameError::Charset(name.to_string()),
        };
        Self::from_name(name).ok_or_else(missing)
    }
}

impl Collation {
    /// The collation that a statement names.
    ///
    /// # Errors
    /// [`NameError::Collation`], [`NameError::NotYet`].
    pub fn named(name: &str) -> Result<Self, NameError> {
        let missing = || match is_mysqls(&name.to_ascii_lowercase()) {
            true => NameError::NotYet(format!("collation {}", name.to_ascii_lowercase())),
            false => NameError::Collation(name.to_string()),
        };
        Self::from_name(name).ok_or_else(missing)
    }

    /// The collation that a statement names for text of `charset`, as `COLLATE` does.
    ///
    /// # Errors
    /// Those of [`Collation::named`], and [`NameError::Mismatch`].
    pub fn named_for(name: &str, charset: Charset) -> Result<Self, NameError> {
        let collation = Self::named(name)?;
        if collation.charset() == charset {
            return Ok(collation);
        }
        Err(NameError::Mismatch(collation.name(), charset.name()))
    }

    /// The collation of `[CHARACTER SET charset] [COLLATE collation]` in a definition, where `default`
    /// is what holds without either.
    ///
    /// # Errors
    /// Those of [`Charset::named`] and [`Collation::named_for`].
    pub fn of_clauses(
        charset: Option<&str>,
        collation: Option<&str>,
        default: Collation,
    ) -> Result<Self, NameError> {
        match (charset.map(Charset::named).transpose()?, collation) {
            (Some(charset), Some(name)) => Self::named_for(name, charset),
            (None, Some(name)) => Self::named(name),
            (Some(charset), None) => Ok(charset.default_collation()),
            (None, None) => Ok(default),
        }
    }
}
