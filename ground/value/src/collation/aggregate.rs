//! Which collation an operation on several strings works in: MySQL's coercibility rules.
//!
//! 1. The stronger claim wins (a smaller coercibility); equal claims of different collations of one
//!    character set meet in its `_bin` collation, or not at all when both are explicit.
//! 2. Strings of different character sets meet in one that holds both: Unicode holds the others and
//!    utf8mb4 holds utf8mb3, and everything holds ASCII text.

use super::Collation;
use crate::charset::Charset;

/// How strongly a string claims its collation; numbers are those of `COERCIBILITY()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coercibility {
    /// `COLLATE` was written.
    Explicit = 0,
    /// A column, a stored routine's variable, a user variable.
    Implicit = 2,
    /// `USER()`, `VERSION()` and the like.
    SysConst = 3,
    /// A literal.
    Coercible = 4,
    /// A number or a date as text.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
    /// Two collations met and neither won. (8.4's manual numbers it 1; the oracle, 9.7, says 7.)
    None = 7,
}

impl Coercibility {
    /// The name in error messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SysConst => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "NULL",
        }
    }
}

/// A string's claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its collation.
    pub collation: Collation,
    /// How strongly.
    pub coercibility: Coercibility,
    /// It has only ASCII characters whatever its value: a literal without others, a number, text of the
    /// character set `ascii`.
    pub ascii: bool,
}

impl Claim {
    /// A claim; `ascii` when the character set says so.
    #[must_use]
    pub fn new(collation: Collation, coercibility: Coercibility) -> Self {
        Self { collation, coercibility, ascii: collation.charset() == Charset::Ascii }
    }

    /// The claim of a literal or another constant: `bytes` in the collation's character set.
    #[must_use]
    pub fn of_constant(collation: Collation, coercibility: Coercibility, bytes: &[u8]) -> Self {
        Self { collation, coercibility, ascii: bytes.is_ascii() }
    }
}

/// What the operation does with its strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It compares them: without a winner there is an error.
    Compare,
    /// It makes a string of them: a result without a winner may be used where nothing is compared.
    Result,
}

/// No collation holds all the strings: errors 1267, 1270, 1271.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The strings' claims, as they were given.
    pub claims: Vec<Claim>,
}

impl Conflict {
    /// MySQL's error number and text for an operation (`=`, `concat`, ` IN `); the SQLSTATE is `HY000`.
    #[must_use]
    pub fn error(&self, operation: &str) -> (u16, String) {
        let one = |c: &Claim| {
            // A number's text is ASCII whatever the connection's character set: MySQL says latin1.
            let collation = match c.coercibility {
                Coercibility::Numeric => Collation::Latin1SwedishCi,
                _ => c.collation,
            };
            format!("({},{})", collation.name(), c.coercibility.name())
        };
        match self.claims.as_slice() {
            [a, b] => {
                let (a, b) = (one(a), one(b));
                (1267, format!("Illegal mix of collations {a} and {b} for operation '{operation}'"))
            }
            [a, b, c] => {
                let (a, b, c) = (one(a), one(b), one(c));
                let text =
                    format!("Illegal mix of collations {a}, {b}, {c} for operation '{operation}'");
                (1270, text)
            }
            _ => (1271, format!("Illegal mix of collations for operation '{operation}'")),
        }
    }
}

/// The collation of an operation on strings, and its own claim. Numbers and NULL alone come to
/// `connection` (the collation of literals).
///
/// # Errors
/// [`Conflict`] when they do not meet.
pub fn aggregate(
    claims: &[Claim],
    purpose: Purpose,
    connection: Collation,
) -> Result<Claim, Conflict> {
    let conflict = || Conflict { claims: claims.to_vec() };
    let Some((first, rest)) = claims.split_first() else {
        return Ok(Claim { ascii: true, ..Claim::new(connection, Coercibility::Coercible) });
    };
    let mut all = *first;
    let mut unmet = false;
    for claim in rest {
        match meet(all, *claim, purpose) {
            Ok(met) => {
                all = met;
                // What did not meet is not compared, whatever else there is.
                unmet |= purpose == Purpose::Compare && met.coercibility == Coercibility::None;
            }
            Err(Unmet::Charsets) => {
                // A later explicit collation may still decide.
                let ascii = all.ascii && claim.ascii;
                all =
                    Claim { collation: Collation::Binary, coercibility: Coercibility::None, ascii };
                unmet = true;
            }
            Err(Unmet::Explicit) => return Err(conflict()),
        }
    }
    let no_winner = purpose == Purpose::Compare && all.coercibility == Coercibility::None;
    if (unmet && all.coercibility != Coercibility::Explicit) || no_winner {
        return Err(conflict());
    }
    if purpose == Purpose::Result && all.coercibility == Coercibility::Numeric {
        return Ok(Claim {
            collation: connection,
            coercibility: Coercibility::Coercible,
            ascii: all.ascii,
        });
    }
    Ok(all)
}

/// Why two claims do not meet.
enum Unmet {
    Charsets,
    Explicit,
}

fn meet(a: Claim, b: Claim, purpose: Purpose) -> Result<Claim, Unmet> {
    let ascii = a.ascii && b.ascii;
    let met = |winner: Claim| {
        let ascii = ascii || winner.collation.charset() == Charset::Ascii;
        Ok(Claim { ascii, ..winner })
    };
    let (left, right) = (a.collation.charset(), b.collation.charset());
    let explicit = Coercibility::Explicit;
    if a.coercibility == explicit && b.coercibility == explicit && a.collation != b.collation {
        return Err(Unmet::Explicit);
    }
    if left != right {
        // Whether the first's claim is strong enough, and the second's weak enough, for its text to be
        // converted.
        let yields = |a: Claim, b: Claim| {
            let weak = b.coercibility >= Coercibility::SysConst;
            let asked = a.coercibility == explicit && purpose == Purpose::Result;
            a.coercibility < b.coercibility && (weak || asked)
        };
        return if left == Charset::Binary {
            met(if a.coercibility <= b.coercibility { a } else { b })
        } else if right == Charset::Binary {
            met(if b.coercibility <= a.coercibility { b } else { a })
        } else if holds(a, b) {
            met(a)
        } else if holds(b, a) {
            met(b)
        } else if holds_ascii(a, b) || yields(a, b) {
            met(a)
        } else if holds_ascii(b, a) || yields(b, a) {
            met(b)
        } else {
            Err(Unmet::Charsets)
        };
    }
    if a.coercibility != b.coercibility || a.collation == b.collation {
        return met(if a.coercibility <= b.coercibility { a } else { b });
    }
    // Two orders by code, that of `_bin` with its blanks and that without, are none that both could be.
    if a.collation.is_bin() && b.collation.is_bin() {
        return Err(Unmet::Charsets);
    }
    if a.collation.is_bin() {
        return met(a);
    }
    if b.collation.is_bin() {
        return met(b);
    }
    met(Claim { collation: left.bin_collation(), coercibility: Coercibility::None, ascii })
}

/// Rule 2: whether every string of `b` has a place in `a`'s Unicode, and `a` may ask for it.
fn holds(a: Claim, b: Claim) -> bool {
    let (left, right) = (a.collation.charset(), b.collation.charset());
    let wider = left == Charset::Utf8mb4 && right == Charset::Utf8mb3;
    let equal = a.coercibility == b.coercibility && (!right.is_unicode() || wider);
    left.is_unicode() && (a.coercibility < b.coercibility || equal)
}

/// The same for a string that has only ASCII characters.
fn holds_ascii(a: Claim, b: Claim) -> bool {
    let equal = a.coercibility == b.coercibility && !a.ascii;
    b.ascii && (a.coercibility < b.coercibility || equal)
}
