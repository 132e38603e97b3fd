//! Random expressions over columns that are in scope.

use super::{Family, Table, pick};
use stdx::rng::Rng;

/// Tables in scope with the alias each goes by.
pub(super) type Scope<'t> = Vec<(String, &'t Table)>;

/// An expression of any family; `depth` bounds its nesting.
pub(super) fn any(rng: &mut Rng, scope: &Scope<'_>, depth: u32) -> String {
    let families =
        [Family::Integer, Family::Decimal, Family::Float, Family::Text, Family::Date, Family::Time];
    let family = *pick(rng, &families);
    of(rng, scope, family, depth)
}

/// An expression that mostly has this family.
pub(super) fn of(rng: &mut Rng, scope: &Scope<'_>, family: Family, depth: u32) -> String {
    if depth == 0 || rng.chance(1, 3) {
        return leaf(rng, scope, family);
    }
    let deeper = depth - 1;
    match family {
        Family::Integer => integer(rng, scope, deeper),
        Family::Decimal | Family::Float => number(rng, scope, family, deeper),
        Family::Text | Family::Json => text(rng, scope, deeper),
        Family::Date => date(rng, scope, deeper),
        Family::Time => time(rng, scope, deeper),
    }
}

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
        Family::Integer => &["0", "1", "-1", "7", "NULL", "255", "9223372036854775807"],
        Family::Decimal => &["0.0", "1.25", "-3.7", "100.001", "NULL"],
        Family::Float => &["0e0", "1.5e0", "-2e3", "1e-3"],
        Family::Text | Family::Json => &["''", "'a'", "'AB'", "'1.5x'", "'é'", "NULL", "'10'"],
        Family::Date => &["DATE'2024-02-29'", "TIMESTAMP'2023-12-31 23:59:59'", "'2024-01-01'"],
        Family::Time => &["TIME'12:34:56'", "TIME'-00:00:01.5'", "'10:11:12'"],
    };
    (*pick(rng, literals)).to_string()
}

fn integer(rng: &mut Rng, scope: &Scope<'_>, depth: u32) -> String {
    let sub = |rng: &mut Rng, family| of(rng, scope, family, depth);
    match rng.below(14) {
        0 => format!("LENGTH({})", sub(rng, Family::Text)),
        1 => format!("CHAR_LENGTH({})", sub(rng, Family::Text)),
        2 => format!("({} DIV {})", sub(rng, Family::Integer), sub(rng, Family::Integer)),
        3 => format!("({} % {})", sub(rng, Family::Integer), sub(rng, Family::Integer)),
        4 => format!("YEAR({})", sub(rng, Family::Date)),
        5 => format!("DATEDIFF({}, {})", sub(rng, Family::Date), sub(rng, Family::Date)),
        6 => format!("LOCATE({}, {})", sub(rng, Family::Text), sub(rng, Family::Text)),
        7 => format!("SIGN({})", sub(rng, Family::Decimal)),
        8 => format!("({} & {})", sub(rng, Family::Integer), sub(rng, Family::Integer)),
        9 => condition(rng, scope, depth),
        10 => format!("COALESCE({}, {})", sub(rng, Family::Integer), sub(rng, Family::Integer)),
        11 => format!("CAST({} AS SIGNED)", any(rng, scope, depth)),
        12 => format!("ASCII({})", sub(rng, Family::Text)),
        _ => format!(
            "IF({}, {}, {})",
            condition(rng, scope, depth),
            sub(rng, Family::Integer),
            sub(rng, Family::Integer)
        ),
    }
}

fn number(rng: &mut Rng, scope: &Scope<'_>, family: Family, depth: u32) -> String {
    let sub = |rng: &mut Rng, family| of(rng, scope, family, depth);
    match rng.below(10) {
        0..=3 => {
            let op = *pick(rng, &["+", "-", "*", "/"]);
            let other = *pick(rng, &[family, Family::Integer, Family::Decimal]);
            format!("({} {op} {})", sub(rng, family), sub(rng, other))
        }
        4 => format!("ABS({})", sub(rng, family)),
        5 => format!("ROUND({}, {})", sub(rng, family), *pick(rng, &["0", "1", "-1", "3"])),
        6 => format!("-{}", sub(rng, family)),
        7 => format!("CAST({} AS DECIMAL(20,4))", any(rng, scope, depth)),
        8 => format!("FLOOR({})", sub(rng, family)),
        _ => format!("IFNULL({}, {})", sub(rng, family), sub(rng, family)),
    }
}

fn text(rng: &mut Rng, scope: &Scope<'_>, depth: u32) -> String {
    let sub = |rng: &mut Rng, family| of(rng, scope, family, depth);
    match rng.below(13) {
        0 => format!("CONCAT({}, {})", sub(rng, Family::Text), any(rng, scope, depth)),
        1 => format!("UPPER({})", sub(rng, Family::Text)),
        2 => format!("LOWER({})", sub(rng, Family::Text)),
        3 => format!("LEFT({}, 2)", sub(rng, Family::Text)),
        4 => format!("SUBSTRING({}, 2, 3)", sub(rng, Family::Text)),
        5 => format!("TRIM({})", sub(rng, Family::Text)),
        6 => format!("REPLACE({}, 'a', 'bc')", sub(rng, Family::Text)),
        7 => format!("REVERSE({})", sub(rng, Family::Text)),
        8 => format!("HEX({})", any(rng, scope, depth)),
        9 => format!("CAST({} AS CHAR)", any(rng, scope, depth)),
        10 => format!("LPAD({}, 6, 'xy')", sub(rng, Family::Text)),
        11 => format!("NULLIF({}, {})", sub(rng, Family::Text), sub(rng, Family::Text)),
        _ => format!(
            "CASE WHEN {} THEN {} ELSE {} END",
            condition(rng, scope, depth),
            sub(rng, Family::Text),
            any(rng, scope, depth)
        ),
    }
}

fn date(rng: &mut Rng, scope: &Scope<'_>, depth: u32) -> String {
    let sub = of(rng, scope, Family::Date, depth);
    match rng.below(6) {
        0 => format!("({sub} + INTERVAL 1 DAY)"),
        1 => format!("DATE_SUB({sub}, INTERVAL 1 MONTH)"),
        2 => format!("LAST_DAY({sub})"),
        3 => format!("DATE({sub})"),
        4 => format!("CAST({sub} AS DATETIME(2))"),
        _ => format!("COALESCE({sub}, {})", leaf(rng, scope, Family::Date)),
    }
}

fn time(rng: &mut Rng, scope: &Scope<'_>, depth: u32) -> String {
    match rng.below(4) {
        0 => format!("SEC_TO_TIME({})", of(rng, scope, Family::Integer, depth)),
        1 => format!("TIME({})", of(rng, scope, Family::Date, depth)),
        2 => format!("ADDTIME({}, '01:00:00')", of(rng, scope, Family::Time, depth)),
        _ => format!("CAST({} AS TIME)", of(rng, scope, Family::Time, depth)),
    }
}

/// A condition.
pub(super) fn condition(rng: &mut Rng, scope: &Scope<'_>, depth: u32) -> String {
    let deeper = depth.saturating_sub(1);
    let families = [Family::Integer, Family::Decimal, Family::Text, Family::Date, Family::Time];
    let family = *pick(rng, &families);
    match rng.below(if depth == 0 { 6 } else { 9 }) {
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
            format!("({} IN ({}))", of(rng, scope, family, deeper), list.join(", "))
        }
        5 => format!(
            "({} BETWEEN {} AND {})",
            of(rng, scope, family, deeper),
            leaf(rng, scope, family),
            leaf(rng, scope, family)
        ),
        6 => {
            let pattern = *pick(rng, &["'a%'", "'%b%'", "'_'", "'%'", "'A_%'"]);
            format!("({} LIKE {pattern})", of(rng, scope, Family::Text, deeper))
        }
        7 => {
            let op = *pick(rng, &["AND", "OR", "XOR"]);
            format!("({} {op} {})", condition(rng, scope, deeper), condition(rng, scope, deeper))
        }
        _ => format!("(NOT {})", condition(rng, scope, deeper)),
    }
}
