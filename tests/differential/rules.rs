//! Differences of a kind, each with its reason: what a whole kind of statements has otherwise than MySQL.
//!
//! 1. No rule excuses a warning, an error or rows by itself: those of versions look at what the statement calls or at
//!    what a server itself says of its reading. 2. A rule says how often it was used; one that a full run never
//!    uses fails it. 3. What is of single statements is in `known.txt`.

use super::compare::{Difference, Said, alone};

/// Announcements of columns: what differs, by its kind, and why.
const ANNOUNCED: [(&str, &[&str]); 24] = [
    (
        "GROUP_CONCAT of numbers out of a temporary table is announced as binary",
        &["collation 255, MySQL 63 (type 251)"],
    ),
    (
        "JSON beside text, JSON_UNQUOTE and JSON_PRETTY are LONGTEXT in MySQL; BLOB here",
        &["type 252, MySQL 251 (type 251)"],
    ),
    (
        "JSON of DISTINCT and MIN is announced as binary where MySQL reads it from a temporary table",
        &["collation 255, MySQL 63 (type 245)"],
    ),
    ("MIN and MAX of a YEAR column show its ZEROFILL flag", &["flags 32, MySQL 96 (type 13)"]),
    (
        "MySQL announces CHAR for texts of date functions and for what CASE and temporary tables make of them",
        &["type 253, MySQL 254 (type 254)", "type 254, MySQL 253 (type 253)"],
    ),
    (
        "MySQL announces NULL out of a subquery or an aggregate as NULL",
        &["type 253, MySQL 6 (type 6)"],
    ),
    (
        "MySQL announces digits behind the point where an operand is the literal NULL or a constant",
        &["decimals 31, MySQL 0 (type 5)", "decimals 31, MySQL 4 (type 5)"],
    ),
    (
        "MySQL chooses VARCHAR or a size of TEXT by the length that it sums up for an expression",
        &[
            "type 250, MySQL 251 (type 251)",
            "type 250, MySQL 252 (type 252)",
            "type 251, MySQL 250 (type 250)",
            "type 251, MySQL 252 (type 252)",
            "type 251, MySQL 253 (type 253)",
            "type 252, MySQL 250 (type 250)",
            "type 252, MySQL 253 (type 253)",
            "type 253, MySQL 250 (type 250)",
            "type 253, MySQL 251 (type 251)",
            "type 253, MySQL 252 (type 252)",
        ],
    ),
    ("MySQL counts more whole digits of a decimal", &["type 8, MySQL 246 (type 246)"]),
    (
        "MySQL keeps INT in temporary tables of functions that we announce as BIGINT",
        &["type 8, MySQL 3 (type 3)"],
    ),
    ("MySQL keeps MIN and MAX of a computed FLOAT as DOUBLE", &["type 4, MySQL 5 (type 5)"]),
    ("MySQL keeps YEAR as INT in temporary tables", &["type 13, MySQL 3 (type 3)"]),
    ("MySQL keeps an UNSIGNED flag in derived tables", &["flags 0, MySQL 32 (type 5)"]),
    (
        "MySQL keeps the BLOB flag in temporary tables of functions",
        &["flags 0, MySQL 16 (type 252)"],
    ),
    ("MySQL keeps the wider integer in windows and derived tables", &["type 3, MySQL 8 (type 8)"]),
    (
        "MySQL knows that constants of a time function have fewer digits",
        &[
            "decimals 6, MySQL 0 (type 11)",
            "decimals 6, MySQL 0 (type 12)",
            "decimals 6, MySQL 1 (type 11)",
            "decimals 6, MySQL 2 (type 11)",
            "decimals 6, MySQL 3 (type 11)",
        ],
    ),
    ("MySQL takes ROUND of a whole DECIMAL for BIGINT", &["type 246, MySQL 8 (type 8)"]),
    (
        "MySQL takes some results of functions and of INTERSECT/EXCEPT for NOT NULL",
        &["flags 0, MySQL 1 (type 253)", "flags 0, MySQL 1 (type 8)"],
    ),
    (
        "ZEROFILL is lost in MySQL's windows",
        &[
            "flags 96, MySQL 32 (type 13)",
            "flags 96, MySQL 32 (type 3)",
            "flags 96, MySQL 32 (type 8)",
        ],
    ),
    (
        "a TEXT or BLOB column of a derived table or set operation has no BLOB flag",
        &[
            "flags 16, MySQL 0 (type 245)",
            "flags 16, MySQL 0 (type 252)",
            "flags 17, MySQL 1 (type 252)",
        ],
    ),
    (
        "bits and unsigned columns have an UNSIGNED flag, MySQL's lose it in temporary tables",
        &[
            "flags 32, MySQL 0 (type 246)",
            "flags 32, MySQL 0 (type 253)",
            "flags 32, MySQL 0 (type 5)",
        ],
    ),
    (
        "bits written as such have an UNSIGNED flag, MySQL's lose it in temporary tables",
        &["flags 33, MySQL 1 (type 253)"],
    ),
    (
        "bytes beside texts: MySQL announces the connection's collation",
        &["collation 255, MySQL 63 (type 253)", "collation 63, MySQL 255 (type 253)"],
    ),
    (
        "columns of the inner side of some joins and windows are announced NOT NULL",
        &[
            "flags 1, MySQL 0 (type 253)",
            "flags 1, MySQL 0 (type 3)",
            "flags 1, MySQL 0 (type 5)",
            "flags 1, MySQL 0 (type 8)",
        ],
    ),
];

/// What both servers were asked and said.
pub struct Case<'a> {
    /// The statement.
    pub sql: &'a str,
    /// What Limpid said.
    pub own: &'a Said,
    /// What MySQL said.
    pub peer: &'a Said,
    /// How the two differ.
    pub what: &'a Difference,
    /// The major version of the oracle.
    pub version: u32,
}

/// Functions whose reading of dates, and of sums out of range, 9.7 changed.
const SUMS_OF_TIMES: [&str; 3] = ["ADDTIME(", "SUBTIME(", "TIMEDIFF("];

/// 9.7, the oracle, beside 8.4, the specification: the reason, and whether it is that of a case.
type OfVersion = (&'static str, fn(&Case<'_>) -> bool);
const OF_VERSIONS: [OfVersion; 5] = [
    ("9.7 has a number of its own for times out of range (6527); 8.4 has 1441 and 1292", |case| {
        case.what.kind.contains("6527")
    }),
    (
        "9.7 gives NULL where a sum of times is out of range, and says so; 8.4 the longest time",
        |case| {
            case.what.kind == "rows"
                && said_alone(case, true, |text| text.starts_with("TIME value is out of"))
        },
    ),
    ("9.7 reads numbers of one to four digits as dates and times, 8.4 warns", |case| {
        case.what.kind == "rows" && said_alone(case, false, is_of_few_digits)
    }),
    ("9.7 reads dates in sums of times as moments, and prints their digits otherwise", |case| {
        is_of_values(case) && SUMS_OF_TIMES.iter().any(|call| case.sql.contains(call))
    }),
    ("9.7 takes a negative mode of WEEK for 0, 8.4 its last three bits", |case| {
        is_of_values(case) && case.sql.contains("WEEK(") && case.sql.contains(", -1)")
    }),
];

/// Rows, rows changed, or values that one of them refuses.
fn is_of_values(case: &Case<'_>) -> bool {
    let is_refused = ["1292", "1441", "6527"].iter().any(|n| case.what.kind.ends_with(n));
    match case.what.kind.as_str() {
        "rows" | "affected" => true,
        kind => kind.contains("error ") && is_refused,
    }
}

/// A warning that one server has alone, MySQL or Limpid, is of the kind.
fn said_alone(case: &Case<'_>, by_peer: bool, is_it: fn(&str) -> bool) -> bool {
    let (own, peer) = (&case.own.warnings, &case.peer.warnings);
    let texts = if by_peer { alone(peer, own) } else { alone(own, peer) };
    texts.split(" | ").any(is_it)
}

/// As `Incorrect datetime value: '1999'`.
fn is_of_few_digits(text: &str) -> bool {
    let opens = ["Incorrect datetime value: '", "Truncated incorrect time value: '"];
    let value = opens.iter().find_map(|open| text.strip_prefix(open)?.strip_suffix('\''));
    value.is_some_and(|v| (1..=4).contains(&v.len()) && v.bytes().all(|b| b.is_ascii_digit()))
}

/// The reason of the rule that a case falls under.
pub fn reason(case: &Case<'_>) -> Option<&'static str> {
    let announced = ANNOUNCED.iter().find(|(_, kinds)| kinds.contains(&case.what.kind.as_str()));
    let of_version = || match case.version >= 9 {
        true => OF_VERSIONS.iter().find(|(_, is_it)| is_it(case)).map(|(reason, _)| *reason),
        false => None,
    };
    announced.map(|(reason, _)| *reason).or_else(of_version)
}

/// All reasons that an oracle of the version can need.
pub fn all(version: u32) -> Vec<&'static str> {
    let of_versions = OF_VERSIONS.iter().filter(|_| version >= 9).map(|(reason, _)| *reason);
    ANNOUNCED.iter().map(|(reason, _)| *reason).chain(of_versions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::text::Rows;

    fn said(warning: &str) -> Said {
        let row = ["Warning", "1292", warning].map(|word| Some(word.as_bytes().to_vec()));
        let warnings = if warning.is_empty() { Vec::new() } else { vec![row.to_vec()] };
        Said { answer: Ok(Rows::default()), warnings }
    }

    fn reason_of(
        kind: &str,
        sql: &str,
        own: &str,
        peer: &str,
        version: u32,
    ) -> Option<&'static str> {
        let what = Difference::new(kind, String::new());
        reason(&Case { sql, own: &said(own), peer: &said(peer), what: &what, version })
    }

    #[test]
    fn announcements_are_excused_by_their_exact_kind() {
        assert!(reason_of("type 8, MySQL 3 (type 3)", "SELECT 1", "", "", 8).is_some());
        assert_eq!(reason_of("type 3, MySQL 5 (type 5)", "SELECT 1", "", "", 8), None);
    }

    #[test]
    fn a_newer_servers_reading_is_known_by_its_words_or_the_call() {
        let out = "TIME value is out of range in 'x'";
        let (year, text) = ("Incorrect datetime value: '1999'", "Incorrect datetime value: 'abcd'");
        for (kind, sql, own, peer, is_version) in [
            ("rows", "SELECT a", "", out, true),
            ("rows", "SELECT a", out, out, false),
            ("rows", "SELECT YEAR(a)", year, "", true),
            ("rows", "SELECT YEAR(a)", text, "", false),
            ("rows", "SELECT ADDTIME(a, b)", "", "", true),
            ("rows", "SELECT a", "", "", false),
            ("rows", "SELECT WEEK(a, -1)", "", "", true),
            ("rows", "SELECT WEEK(a, 1)", "", "", false),
            ("warnings +Warning1441 -Warning6527", "SELECT a", "", "", true),
            ("warnings +Warning1292", "SELECT ADDTIME(a, b)", year, "", false),
            ("error 1292", "SELECT SUBTIME(a, b)", "", "", true),
            ("error 1235", "SELECT SUBTIME(a, b)", "", "", false),
        ] {
            assert_eq!(reason_of(kind, sql, own, peer, 9).is_some(), is_version, "{kind}: {sql}");
            assert_eq!(reason_of(kind, sql, own, peer, 8), None, "{kind}: {sql}");
        }
    }
}
