//! Random queries.

use super::expr::{Scope, any, condition, of};
use super::{Family, Table, pick};
use stdx::rng::Rng;

/// One query of any kind.
pub(super) fn select(rng: &mut Rng, tables: &[Table]) -> String {
    match rng.below(19) {
        0..=3 => plain(rng, tables),
        4..=5 => grouped(rng, tables),
        6..=7 => ordered(rng, tables),
        8 => with_subquery(rng, tables),
        9 => set_operation(rng, tables),
        10 => derived(rng, tables),
        11..=12 => windowed(rng, tables),
        13 => constants(rng),
        14 => recursive(rng),
        15 => named_join(rng, tables),
        16 => lateral(rng, tables),
        17 => scalar_subquery(rng, tables),
        _ => aggregated(rng, tables),
    }
}

/// FROM with one to three tables joined in some way, and what is in scope then.
fn from<'t>(rng: &mut Rng, tables: &'t [Table]) -> (String, Scope<'t>) {
    let mut scope: Scope<'t> = vec![("a".into(), pick(rng, tables))];
    let mut text = format!("{} AS a", scope[0].1.name);
    for alias in ["b", "c"] {
        if rng.chance(1, 2) {
            break;
        }
        let table = pick(rng, tables);
        let kind = *pick(rng, &["JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN", "STRAIGHT_JOIN"]);
        scope.push((alias.to_string(), table));
        let on = match kind {
            "CROSS JOIN" => String::new(),
            _ if rng.chance(2, 3) => format!(" ON a.id = {alias}.id"),
            _ => format!(" ON {}", condition(rng, &scope, 1)),
        };
        text = format!("{text} {kind} {} AS {alias}{on}", table.name);
    }
    (text, scope)
}

/// Expressions of constants alone: what is computed when the query is made.
fn constants(rng: &mut Rng) -> String {
    let scope: Scope<'_> = Vec::new();
    format!("SELECT {}", outputs(rng, &scope).join(", "))
}

fn recursive(rng: &mut Rng) -> String {
    let scope: Scope<'_> = Vec::new();
    let (first, last) = (rng.below(3), 3 + rng.below(5));
    let value = of(rng, &scope, Family::Integer, 1);
    match rng.below(3) {
        0 => format!(
            "WITH RECURSIVE r (n, v) AS (SELECT {first}, {value} UNION ALL SELECT n + 1, v FROM r WHERE n < {last}) \
             SELECT * FROM r ORDER BY n"
        ),
        1 => format!(
            "WITH RECURSIVE r AS (SELECT {first} AS n, CAST('x' AS CHAR(20)) AS s UNION DISTINCT \
             SELECT n + 1, CONCAT(s, n) FROM r WHERE n < {last}) SELECT n, s, LENGTH(s) FROM r ORDER BY n DESC"
        ),
        _ => format!(
            "WITH RECURSIVE d AS (SELECT DATE'2024-02-27' AS d UNION ALL SELECT d + INTERVAL 1 DAY FROM d \
             WHERE d < '2024-03-0{last}') SELECT d, DAYNAME(d), {value} FROM d ORDER BY d"
        ),
    }
}

/// Joins by names: NATURAL and USING.
fn named_join(rng: &mut Rng, tables: &[Table]) -> String {
    let (a, b) = (&pick(rng, tables).name, &pick(rng, tables).name);
    let side = *pick(rng, &["", "LEFT ", "RIGHT "]);
    match rng.below(3) {
        0 => format!("SELECT * FROM {a} AS a {side}JOIN {b} AS b USING (id)"),
        1 => format!("SELECT id, a.c0, b.c1 FROM {a} AS a {side}JOIN {b} AS b USING (id)"),
        _ => {
            format!(
                "SELECT * FROM (SELECT id, c0 FROM {a}) AS a NATURAL {side}JOIN (SELECT id, c1 FROM {b}) AS b"
            )
        }
    }
}

fn lateral(rng: &mut Rng, tables: &[Table]) -> String {
    let (outer, inner) = (pick(rng, tables), pick(rng, tables));
    let both: Scope<'_> = vec![("a".into(), outer), ("s".into(), inner)];
    let (value, filter) = (aggregate(rng, &both[1..].to_vec()), condition(rng, &both, 1));
    format!(
        "SELECT a.id, l.v FROM {} AS a, LATERAL (SELECT {value} AS v FROM {} AS s WHERE {filter}) AS l",
        outer.name, inner.name
    )
}

fn scalar_subquery(rng: &mut Rng, tables: &[Table]) -> String {
    let (outer, inner) = (pick(rng, tables), pick(rng, tables));
    let own: Scope<'_> = vec![("s".into(), inner)];
    let both: Scope<'_> = vec![("a".into(), outer), ("s".into(), inner)];
    let (value, key) = (any(rng, &both, 1), any(rng, &own, 1));
    let (from, aggregated) = (&inner.name, aggregate(rng, &own));
    let shown = match rng.below(3) {
        0 => format!("(SELECT {value} FROM {from} AS s WHERE s.id = a.id)"),
        1 => format!("(SELECT {value} FROM {from} AS s ORDER BY {key}, s.id LIMIT 1)"),
        _ => format!("(SELECT {aggregated} FROM {from} AS s WHERE {})", condition(rng, &both, 1)),
    };
    format!("SELECT a.id, {shown} FROM {} AS a", outer.name)
}

fn filter(rng: &mut Rng, scope: &Scope<'_>) -> String {
    if rng.chance(1, 3) { String::new() } else { format!(" WHERE {}", condition(rng, scope, 2)) }
}

fn outputs(rng: &mut Rng, scope: &Scope<'_>) -> Vec<String> {
    (0..1 + rng.below(3)).map(|_| any(rng, scope, 3)).collect()
}

fn plain(rng: &mut Rng, tables: &[Table]) -> String {
    let (from, scope) = from(rng, tables);
    let distinct = *pick(rng, &["", "", "", "DISTINCT "]);
    let outputs = outputs(rng, &scope).join(", ");
    format!("SELECT {distinct}{outputs} FROM {from}{}", filter(rng, &scope))
}

fn ordered(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let scope: Scope<'_> = vec![("a".into(), table)];
    let outputs = outputs(rng, &scope).join(", ");
    let direction = *pick(rng, &["", " DESC"]);
    let key = match rng.below(3) {
        0 => "1".into(),
        1 => format!("a.{}", pick(rng, &table.columns).name),
        _ => any(rng, &scope, 1),
    };
    let (filter, limit) = (filter(rng, &scope), rng.below(9));
    let limit = match rng.below(3) {
        0 => String::new(),
        1 => format!(" LIMIT {limit}"),
        _ => format!(" LIMIT {limit} OFFSET {}", rng.below(4)),
    };
    let name = &table.name;
    // The primary key decides between equal keys.
    format!("SELECT {outputs} FROM {name} AS a{filter} ORDER BY {key}{direction}, a.id{limit}")
}

fn aggregate(rng: &mut Rng, scope: &Scope<'_>) -> String {
    let family = *pick(rng, &[Family::Integer, Family::Decimal, Family::Text, Family::Date]);
    let value = of(rng, scope, family, 1);
    let distinct = *pick(rng, &["", "", "DISTINCT "]);
    match rng.below(14) {
        0 => "COUNT(*)".into(),
        1 => format!("COUNT({distinct}{value})"),
        2 => format!("MIN({})", any(rng, scope, 1)),
        3 => format!("MAX({})", any(rng, scope, 1)),
        4 | 5 => format!("SUM({distinct}{})", of(rng, scope, Family::Decimal, 1)),
        6 => format!("AVG({distinct}{})", of(rng, scope, Family::Integer, 1)),
        7 => format!("BIT_OR({})", of(rng, scope, Family::Integer, 1)),
        8 => format!("BIT_AND({})", of(rng, scope, Family::Integer, 1)),
        9 => format!("BIT_XOR({})", of(rng, scope, Family::Integer, 1)),
        10 => format!("GROUP_CONCAT(DISTINCT {value} ORDER BY 1)"),
        11 => format!("GROUP_CONCAT({value} ORDER BY HEX({value}) DESC SEPARATOR ';')"),
        12 => format!("ROUND(STD({}), 3)", of(rng, scope, Family::Integer, 0)),
        _ => format!("COUNT(DISTINCT {value}, {})", of(rng, scope, Family::Integer, 1)),
    }
}

fn aggregated(rng: &mut Rng, tables: &[Table]) -> String {
    let (from, scope) = from(rng, tables);
    let list: Vec<_> = (0..1 + rng.below(3)).map(|_| aggregate(rng, &scope)).collect();
    format!("SELECT {} FROM {from}{}", list.join(", "), filter(rng, &scope))
}

fn grouped(rng: &mut Rng, tables: &[Table]) -> String {
    let (from, scope) = from(rng, tables);
    let (alias, table) = pick(rng, &scope).clone();
    let keys: Vec<_> = (0..1 + rng.below(2))
        .map(|_| format!("{alias}.{}", pick(rng, &table.columns).name))
        .collect();
    let keys = keys.join(", ");
    let aggregate_shown = aggregate(rng, &scope);
    let shown = *pick(rng, &[true, false]);
    let rollup = *pick(rng, &["", "", " WITH ROLLUP"]);
    let having = match rng.below(3) {
        0 => format!(" HAVING {} > 1", aggregate(rng, &scope)),
        _ => String::new(),
    };
    let filter = filter(rng, &scope);
    // Keys that are equal under their collation may be written in several ways: shown as numbers.
    let shown_keys = if shown { format!(", COUNT(DISTINCT {keys})") } else { String::new() };
    format!(
        "SELECT COUNT(*){shown_keys}, {aggregate_shown} FROM {from}{filter} GROUP BY {keys}{rollup}{having}"
    )
}

fn with_subquery(rng: &mut Rng, tables: &[Table]) -> String {
    let (outer, inner) = (pick(rng, tables), pick(rng, tables));
    let scope: Scope<'_> = vec![("a".into(), outer)];
    let both: Scope<'_> = vec![("a".into(), outer), ("s".into(), inner)];
    let (on, shown) = (condition(rng, &both, 1), any(rng, &scope, 2));
    let inner_name = &inner.name;
    let column = pick(rng, &inner.columns[..]).name.clone();
    let own = pick(rng, &outer.columns[..]).name.clone();
    let condition = match rng.below(8) {
        5 => format!("a.id > ALL (SELECT s.id FROM {inner_name} AS s WHERE {on})"),
        6 => format!("a.id <= ANY (SELECT s.id FROM {inner_name} AS s WHERE {on})"),
        7 => format!("(a.id, a.{own}) IN (SELECT s.id, s.{column} FROM {inner_name} AS s)"),
        0 => format!("EXISTS (SELECT 1 FROM {inner_name} AS s WHERE {on})"),
        1 => format!("NOT EXISTS (SELECT 1 FROM {inner_name} AS s WHERE {on})"),
        2 => format!("a.{own} IN (SELECT s.{column} FROM {inner_name} AS s WHERE {on})"),
        3 => format!("a.id NOT IN (SELECT s.id FROM {inner_name} AS s WHERE {on})"),
        _ => format!("a.id > (SELECT COUNT(*) FROM {inner_name} AS s WHERE {on})"),
    };
    format!("SELECT a.id, {shown} FROM {} AS a WHERE {condition}", outer.name)
}

fn set_operation(rng: &mut Rng, tables: &[Table]) -> String {
    let op = *pick(rng, &["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
    let side = |rng: &mut Rng| {
        let table = pick(rng, tables);
        let scope: Scope<'_> = vec![("a".into(), table)];
        let value = any(rng, &scope, 1);
        format!("SELECT {value} AS v FROM {} AS a{}", table.name, filter(rng, &scope))
    };
    let (left, right) = (side(rng), side(rng));
    match rng.below(3) {
        0 => format!("({left}) {op} ({right}) {op} ({})", side(rng)),
        1 => format!("SELECT COUNT(*), MIN(v), MAX(v) FROM ({left} {op} {right}) AS u"),
        _ => format!("{left} {op} {right}"),
    }
}

fn derived(rng: &mut Rng, tables: &[Table]) -> String {
    let (from, scope) = from(rng, tables);
    let (x, y) = (any(rng, &scope, 1), any(rng, &scope, 1));
    let filter = filter(rng, &scope);
    let inner = format!("SELECT {x} AS x, {y} AS y FROM {from}{filter}");
    match (rng.below(2), scope.len()) {
        // Thousands of rows joined with themselves would be all that a run does.
        (0, _) | (_, 3..) => {
            format!("SELECT x, COUNT(y) FROM ({inner}) AS d WHERE y IS NOT NULL GROUP BY x")
        }
        _ => format!("WITH d AS ({inner}) SELECT d.x, e.y FROM d JOIN d AS e ON d.x = e.x"),
    }
}

fn windowed(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let scope: Scope<'_> = vec![("a".into(), table)];
    let partition = match rng.below(3) {
        0 => String::new(),
        _ => format!("PARTITION BY a.{} ", pick(rng, &table.columns).name),
    };
    let column = &pick(rng, &table.columns).name;
    let call = match rng.below(14) {
        0 => "ROW_NUMBER()".to_string(),
        1 => "RANK()".into(),
        2 => "DENSE_RANK()".into(),
        3 => "PERCENT_RANK()".into(),
        4 => "CUME_DIST()".into(),
        5 => "NTILE(3)".into(),
        6 => format!("SUM({})", of(rng, &scope, Family::Decimal, 1)),
        7 => format!("AVG({})", of(rng, &scope, Family::Integer, 1)),
        8 => format!("LAG(a.{column})"),
        9 => format!("LEAD(a.{column}, 2, {})", any(rng, &scope, 0)),
        10 => format!("FIRST_VALUE({})", any(rng, &scope, 1)),
        11 => format!("LAST_VALUE(a.{column})"),
        12 => format!("NTH_VALUE(a.{column}, 2)"),
        _ => format!("MIN({})", any(rng, &scope, 1)),
    };
    let is_framed =
        ["SUM", "AVG", "FIRST", "LAST", "NTH", "MIN"].iter().any(|f| call.starts_with(f));
    let frames = [
        "",
        " ROWS 1 PRECEDING",
        " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
        " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
        " RANGE BETWEEN 2 PRECEDING AND CURRENT ROW",
        " ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING",
    ];
    let frame = if is_framed { *pick(rng, &frames) } else { "" };
    let name = &table.name;
    format!("SELECT a.id, {call} OVER ({partition}ORDER BY a.id{frame}) AS w FROM {name} AS a")
}
