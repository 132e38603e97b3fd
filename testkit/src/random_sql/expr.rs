//! Random expressions over columns that are in scope.

use super::{Family, Table, pick};
use stdx::rng::Rng;

/// Tables in scope with the alias each goes by.
pub(super) type Scope<'t> = Vec<(String, &'t Table)>;

const FAMILIES: [Family; 6] =
    [Family::Integer, Family::Decimal, Family::Float, Family::Text, Family::Date, Family::Time];

/// An expression of any family; `depth` bounds its nesting.
pub(super) fn any(rng: &mut Rng, scope: &Scope<'_>, depth: u32) -> String {
    if rng.chance(1, 12) {
        return of(rng, scope, Family::Json, depth);
    }
    let family = *pick(rng, &FAMILIES);
    of(rng, scope, family, depth)
}

/// An expression that mostly has this family.
pub(super) fn of(rng: &mut Rng, scope: &Scope<'_>, family: Family, depth: u32) -> String {
    if depth == 0 || rng.chance(1, 3) {
        return leaf(rng, scope, family);
    }
    if rng.chance(1, 8) {
        return control(rng, scope, family, depth - 1);
    }
    let templates: &[&str] = match family {
        Family::Integer => INTEGER,
        Family::Decimal => NUMBER,
        Family::Float => FLOATING,
        Family::Text => TEXT,
        Family::Date => DATE,
        Family::Time => TIME,
        Family::Json => JSON,
    };
    let template: &str = pick::<&str>(rng, templates);
    filled(rng, scope, template, depth - 1)
}

/// A template with its letters in `#` filled in: I, N(umber), F(loat), T(ext), D(ate), M (time), J(son),
/// A(ny), C(ondition); `#k` is a small constant, `#u` a unit of INTERVAL.
fn filled(rng: &mut Rng, scope: &Scope<'_>, template: &str, depth: u32) -> String {
    let mut out = String::new();
    let mut rest = template.chars();
    while let Some(c) = rest.next() {
        if c != '#' {
            out.push(c);
            continue;
        }
        let sub = |rng: &mut Rng, family| of(rng, scope, family, depth);
        out.push_str(&match rest.next() {
            Some('I') => sub(rng, Family::Integer),
            Some('N') => sub(rng, Family::Decimal),
            Some('F') => sub(rng, Family::Float),
            Some('T') => sub(rng, Family::Text),
            Some('D') => sub(rng, Family::Date),
            Some('M') => sub(rng, Family::Time),
            Some('J') => sub(rng, Family::Json),
            Some('C') => condition(rng, scope, depth),
            Some('k') => pick(rng, &["0", "1", "2", "3", "-1", "5"]).to_string(),
            Some('u') => (*pick(rng, UNITS)).to_string(),
            _ => any(rng, scope, depth),
        });
    }
    out
}

const UNITS: &[&str] =
    &["MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"];

const INTEGER: &[&str] = &[
    "LENGTH(#T)",
    "CHAR_LENGTH(#T)",
    "BIT_LENGTH(#T)",
    "(#I DIV #I)",
    "(#I % #I)",
    "MOD(#N, #N)",
    "YEAR(#D)",
    "MONTH(#D)",
    "DAYOFMONTH(#D)",
    "DAYOFWEEK(#D)",
    "DAYOFYEAR(#D)",
    "WEEKDAY(#D)",
    "WEEK(#D, #k)",
    "YEARWEEK(#D)",
    "QUARTER(#D)",
    "HOUR(#M)",
    "MINUTE(#M)",
    "SECOND(#M)",
    "MICROSECOND(#M)",
    "TO_DAYS(#D)",
    "TO_SECONDS(#D)",
    "TIME_TO_SEC(#M)",
    "DATEDIFF(#D, #D)",
    "TIMESTAMPDIFF(#u, #D, #D)",
    "EXTRACT(YEAR_MONTH FROM #D)",
    "EXTRACT(#u FROM #D)",
    "LOCATE(#T, #T)",
    "INSTR(#T, #T)",
    "SIGN(#N)",
    "(#I & #I)",
    "(#I | #I)",
    "(#I ^ #I)",
    "(~#I)",
    "(#I << #k)",
    "(#I >> #k)",
    "(#C)",
    "COALESCE(#I, #I)",
    "CAST(#A AS SIGNED)",
    "CAST(#A AS UNSIGNED)",
    "CAST(#A AS YEAR)",
    "ASCII(#T)",
    "ORD(#T)",
    "STRCMP(#T, #T)",
    "FIND_IN_SET(#T, #T)",
    "FIELD(#T, #T, #T)",
    "INTERVAL(#I, 0, 5, 10)",
    "BIT_COUNT(#I)",
    "CRC32(#T)",
    "INET_ATON(#T)",
    "REGEXP_INSTR(#T, 'a|b+')",
    "REGEXP_LIKE(#T, '^a')",
    "(#I + #I)",
    "(#I - #I)",
    "(#I * #I)",
    "-#I",
    "ISNULL(#A)",
    "COERCIBILITY(#T)",
    "PERIOD_DIFF(202401, 202312)",
    "JSON_LENGTH(#J)",
    "JSON_VALID(#A)",
    "JSON_DEPTH(#J)",
    "JSON_CONTAINS(#J, '1')",
    "IS_UUID(#T)",
    "GREATEST(#I, #I)",
    "LEAST(#I, #I, #I)",
];

const NUMBER: &[&str] = &[
    "(#N + #N)",
    "(#N - #I)",
    "(#N * #N)",
    "(#I / #I)",
    "(#N / #N)",
    "ABS(#N)",
    "ROUND(#N, #k)",
    "ROUND(#N)",
    "TRUNCATE(#N, #k)",
    "-#N",
    "CAST(#A AS DECIMAL(20,4))",
    "FLOOR(#N)",
    "CEILING(#N)",
    "IFNULL(#N, #N)",
    "GREATEST(#N, #I)",
    "LEAST(#N, #N)",
    "(#N % #N)",
    "UNIX_TIMESTAMP(#D)",
    "(#D + 0)",
    "(#M + 0)",
    "NULLIF(#N, #N)",
    "CAST(#A AS DECIMAL(10))",
];

const FLOATING: &[&str] = &[
    "(#F + #N)",
    "(#F - #F)",
    "(#F * #I)",
    "(#F / #F)",
    "ABS(#F)",
    "ROUND(#F, #k)",
    "FLOOR(#F)",
    "SQRT(#N)",
    "POW(#k, #k)",
    "CAST(#A AS DOUBLE)",
    "CAST(#A AS FLOAT)",
    "(#T + 0)",
    "(#T * #I)",
    "-#F",
    "IFNULL(#F, #I)",
    "GREATEST(#F, #N)",
    "TRUNCATE(#F, #k)",
    "PI()",
    "DEGREES(#k)",
    "LOG2(8)",
];

const TEXT: &[&str] = &[
    "CONCAT(#T, #A)",
    "CONCAT_WS(#T, #A, #A)",
    "UPPER(#T)",
    "LOWER(#T)",
    "LEFT(#T, #k)",
    "RIGHT(#T, #k)",
    "SUBSTRING(#T, #k, 3)",
    "SUBSTRING(#T, #k)",
    "SUBSTRING_INDEX(#T, 'a', #k)",
    "TRIM(#T)",
    "TRIM(LEADING 'a' FROM #T)",
    "TRIM(BOTH #T FROM #T)",
    "LTRIM(#T)",
    "RTRIM(#T)",
    "REPLACE(#T, 'a', 'bc')",
    "REPLACE(#T, #T, #T)",
    "REVERSE(#T)",
    "HEX(#A)",
    "UNHEX(#T)",
    "CAST(#A AS CHAR)",
    "CAST(#A AS CHAR(3))",
    "CAST(#A AS BINARY)",
    "LPAD(#T, 6, 'xy')",
    "RPAD(#T, #k, #T)",
    "REPEAT(#T, #k)",
    "SPACE(#k)",
    "INSERT(#T, #k, #k, #T)",
    "ELT(#k, #T, #A)",
    "MAKE_SET(5, #T, #T, #T)",
    "EXPORT_SET(5, 'Y', 'N', ',', 4)",
    "QUOTE(#T)",
    "SOUNDEX(#T)",
    "FORMAT(#N, #k)",
    "CHAR(77, 121 USING utf8mb4)",
    "SHA2(#T, 256)",
    "TO_BASE64(#T)",
    "FROM_BASE64(#T)",
    "BIN(#I)",
    "OCT(#I)",
    "CONV(#I, 10, 16)",
    "NULLIF(#T, #T)",
    "CHARSET(#A)",
    "COLLATION(#A)",
    "CONVERT(#T USING latin1)",
    "CONVERT(#T USING utf8mb4)",
    "HEX(WEIGHT_STRING(#T))",
    "REGEXP_REPLACE(#T, 'a', 'X')",
    "REGEXP_SUBSTR(#T, '[a-z]+')",
    "INET_NTOA(#I)",
    "DAYNAME(#D)",
    "MONTHNAME(#D)",
    "DATE_FORMAT(#D, '%W %M %Y %j %U %v %H:%i:%s.%f %p %e %a %b')",
    "TIME_FORMAT(#M, '%H-%k-%h-%i-%s-%f')",
    "(#T COLLATE utf8mb4_bin)",
    "GREATEST(#T, #T)",
    "LEAST(#T, #T)",
    "COALESCE(#T, #A)",
    "IFNULL(#T, #T)",
    "IF(#C, #T, #T)",
    "JSON_TYPE(#J)",
    "JSON_UNQUOTE(#J)",
    "JSON_QUOTE(#T)",
    "JSON_PRETTY(#J)",
    "CAST(#J AS CHAR)",
];

const DATE: &[&str] = &[
    "(#D + INTERVAL #k #u)",
    "DATE_SUB(#D, INTERVAL #I #u)",
    "DATE_ADD(#D, INTERVAL '1:2' HOUR_MINUTE)",
    "DATE_ADD(#D, INTERVAL '1 2:3:4.5' DAY_MICROSECOND)",
    "LAST_DAY(#D)",
    "DATE(#D)",
    "CAST(#A AS DATE)",
    "CAST(#D AS DATETIME(2))",
    "CAST(#A AS DATETIME)",
    "COALESCE(#D, #D)",
    "FROM_DAYS(738000)",
    "MAKEDATE(2024, #I)",
    "TIMESTAMP(#D)",
    "TIMESTAMP(#D, #M)",
    "TIMESTAMPADD(#u, #k, #D)",
    "STR_TO_DATE(#T, '%Y-%m-%d')",
    "STR_TO_DATE('2024-03-04 05:06:07', '%Y-%m-%d %H:%i:%s')",
    "FROM_UNIXTIME(#k)",
    "FROM_UNIXTIME(1700000000.25)",
    "CONVERT_TZ(#D, '+00:00', '+05:30')",
    "ADDTIME(#D, '01:00:00')",
    "GREATEST(#D, #D)",
    "LEAST(#D, #D)",
    "IFNULL(#D, #D)",
    "NULLIF(#D, #D)",
];

const TIME: &[&str] = &[
    "SEC_TO_TIME(#I)",
    "TIME(#D)",
    "TIME(#M)",
    "ADDTIME(#M, '01:00:00')",
    "SUBTIME(#M, #M)",
    "CAST(#A AS TIME)",
    "CAST(#M AS TIME(3))",
    "TIMEDIFF(#M, #M)",
    "TIMEDIFF(#D, #D)",
    "MAKETIME(#k, #k, #k)",
    "COALESCE(#M, #M)",
    "GREATEST(#M, #M)",
    "IFNULL(#M, #M)",
    "(#M + INTERVAL #k MINUTE)",
];

const JSON: &[&str] = &[
    "JSON_EXTRACT(#J, '$.a')",
    "JSON_EXTRACT(#J, '$[0]')",
    "JSON_EXTRACT(#J, '$.b[2].c')",
    "JSON_ARRAY(#A, #A)",
    "JSON_OBJECT('k', #A)",
    "JSON_KEYS(#J)",
    "JSON_SET(#J, '$.a', #A)",
    "JSON_REMOVE(#J, '$.a')",
    "JSON_MERGE_PRESERVE(#J, #J)",
    "JSON_MERGE_PATCH(#J, #J)",
    "JSON_ARRAY_APPEND(#J, '$', #A)",
    "CAST(#A AS JSON)",
    "JSON_SEARCH(#J, 'one', 'x')",
    "JSON_INSERT(#J, '$.z', #I)",
    "JSON_REPLACE(#J, '$.a', #I)",
];

fn leaf(rng: &mut Rng, scope: &Scope<'_>, family: Family) -> String {
    // Now and then a column of another family: conversions are where servers differ.
    let strict = rng.chance(5, 6);
    let columns: Vec<String> = scope
        .iter()
        .flat_map(|(alias, table)| table.columns.iter().map(move |c| (alias, c)))
        .filter(|(_, c)| c.family == family || !strict && c.family != Family::Json)
        .map(|(alias, c)| format!("{alias}.{}", c.name))
        .collect();
    if !columns.is_empty() && rng.chance(3, 4) {
        return pick(rng, &columns).clone();
    }
    let literals: &[&str] = match family {
        Family::Integer => {
            &["0", "1", "-1", "7", "NULL", "255", "TRUE", "x'41'", "9223372036854775807"]
        }
        Family::Decimal => &["0.0", "1.25", "-3.7", "100.001", "NULL"],
        Family::Float => &["0e0", "1.5e0", "-2e3", "1e-3"],
        Family::Text => &[
            "''",
            "'a'",
            "'AB'",
            "'1.5x'",
            "'é'",
            "NULL",
            "'10'",
            "_latin1'z'",
            "N'n'",
            "_binary'b'",
        ],
        Family::Json => &[
            "CAST('[1, \"a\"]' AS JSON)",
            "CAST('{\"a\": 1.5}' AS JSON)",
            "'{\"a\": [1]}'",
            "'[]'",
            "'null'",
        ],
        Family::Date => {
            &["DATE'2024-02-29'", "TIMESTAMP'2023-12-31 23:59:59'", "'2024-01-01'", "20240315"]
        }
        Family::Time => &["TIME'12:34:56'", "TIME'-00:00:01.5'", "'10:11:12'"],
    };
    (*pick(rng, literals)).to_string()
}

/// CASE, IF and their kin, whose type is made of several.
fn control(rng: &mut Rng, scope: &Scope<'_>, family: Family, depth: u32) -> String {
    // Mostly of one family; else the type of different ones together.
    let other = if rng.chance(1, 4) { *pick(rng, &FAMILIES) } else { family };
    let (a, b) = (of(rng, scope, family, depth), of(rng, scope, other, depth));
    match rng.below(4) {
        0 => format!("IF({}, {a}, {b})", condition(rng, scope, depth)),
        1 => format!("CASE WHEN {} THEN {a} ELSE {b} END", condition(rng, scope, depth)),
        2 => {
            let operand = of(rng, scope, Family::Integer, depth);
            format!("CASE {operand} WHEN 1 THEN {a} WHEN 7 THEN {b} END")
        }
        _ => format!("COALESCE({a}, {b})"),
    }
}

/// A condition.
pub(super) fn condition(rng: &mut Rng, scope: &Scope<'_>, depth: u32) -> String {
    let deeper = depth.saturating_sub(1);
    let families = [Family::Integer, Family::Decimal, Family::Text, Family::Date, Family::Time];
    let family = *pick(rng, &families);
    match rng.below(if depth == 0 { 6 } else { 12 }) {
        0..=2 => {
            let op = *pick(rng, &["=", "<", ">", "<=", ">=", "<>", "<=>"]);
            // Sometimes values of different families.
            let other = if rng.chance(1, 5) { *pick(rng, &families) } else { family };
            format!("({} {op} {})", of(rng, scope, family, deeper), of(rng, scope, other, deeper))
        }
        3 => {
            let not = *pick(rng, &["", "NOT "]);
            format!("({} IS {not}NULL)", of(rng, scope, family, deeper))
        }
        4 => {
            let list: Vec<_> = (0..3).map(|_| leaf(rng, scope, family)).collect();
            let not = *pick(rng, &["", "NOT "]);
            format!("({} {not}IN ({}))", of(rng, scope, family, deeper), list.join(", "))
        }
        5 => format!(
            "({} BETWEEN {} AND {})",
            of(rng, scope, family, deeper),
            leaf(rng, scope, family),
            leaf(rng, scope, family)
        ),
        6 => {
            let pattern = *pick(rng, &["'a%'", "'%b%'", "'_'", "'%'", "'A_%'", "'z!%' ESCAPE '!'"]);
            let not = *pick(rng, &["", "NOT "]);
            format!("({} {not}LIKE {pattern})", of(rng, scope, Family::Text, deeper))
        }
        7 | 8 => {
            let op = *pick(rng, &["AND", "OR", "XOR"]);
            format!("({} {op} {})", condition(rng, scope, deeper), condition(rng, scope, deeper))
        }
        9 => format!("({} REGEXP '^[a-m]')", of(rng, scope, Family::Text, deeper)),
        10 => {
            let what = *pick(rng, &["TRUE", "FALSE", "UNKNOWN", "NOT TRUE"]);
            format!("({} IS {what})", condition(rng, scope, deeper))
        }
        _ => format!("(NOT {})", condition(rng, scope, deeper)),
    }
}
