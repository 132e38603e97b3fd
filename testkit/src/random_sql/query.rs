//! Random queries.

use super::expr::{Scope, any, condition, of};
use super::{Family, Table, pick};
use stdx::rng::Rng;

/// One query of any kind.
pub(super) fn select(rng: &mut Rng, tables: &[Table]) -> String {
    match rng.below(12) {
        0..=3 => plain(rng, tables),
        4..=5 => grouped(rng, tables),
        6 => ordered(rng, tables),
        7 => with_subquery(rng, tables),
        8 => set_operation(rng, tables),
        9 => derived(rng, tables),
        10 => windowed(rng, tables),
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
        let kind = *pick(rng, &["JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN"]);
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
    let key = any(rng, &scope, 1);
    let (filter, limit) = (filter(rng, &scope), rng.below(9));
    let name = &table.name;
    // The primary key decides between equal keys.
    format!(
        "SELECT {outputs} FROM {name} AS a{filter} ORDER BY {key}{direction}, a.id LIMIT {limit}"
    )
}

fn aggregate(rng: &mut Rng, scope: &Scope<'_>) -> String {
    let family = *pick(rng, &[Family::Integer, Family::Decimal, Family::Text, Family::Date]);
    let value = of(rng, scope, family, 1);
    let distinct = *pick(rng, &["", "DISTINCT "]);
    match rng.below(7) {
        0 => "COUNT(*)".into(),
        1 => format!("COUNT({distinct}{value})"),
        2 => format!("MIN({value})"),
        3 => format!("MAX({value})"),
        4 => format!("SUM({distinct}{})", of(rng, scope, Family::Decimal, 1)),
        5 => format!("AVG({})", of(rng, scope, Family::Integer, 1)),
        _ => format!("BIT_OR({})", of(rng, scope, Family::Integer, 1)),
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
    let rollup = *pick(rng, &["", "", " WITH ROLLUP"]);
    let having = match rng.below(3) {
        0 => format!(" HAVING {} > 1", aggregate(rng, &scope)),
        _ => String::new(),
    };
    let filter = filter(rng, &scope);
    format!(
        "SELECT COUNT(*), {aggregate_shown} FROM {from}{filter} GROUP BY {keys}{rollup}{having}"
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
    let condition = match rng.below(5) {
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
    format!("{left} {op} {right}")
}

fn derived(rng: &mut Rng, tables: &[Table]) -> String {
    let (from, scope) = from(rng, tables);
    let (x, y) = (any(rng, &scope, 1), any(rng, &scope, 1));
    let filter = filter(rng, &scope);
    let inner = format!("SELECT {x} AS x, {y} AS y FROM {from}{filter}");
    match rng.below(2) {
        0 => format!("SELECT x, COUNT(y) FROM ({inner}) AS d WHERE y IS NOT NULL GROUP BY x"),
        _ => format!("WITH d AS ({inner}) SELECT d.x, e.y FROM d JOIN d AS e ON d.x = e.x"),
    }
}

fn windowed(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let scope: Scope<'_> = vec![("a".into(), table)];
    let partition = pick(rng, &table.columns).name.clone();
    let call = match rng.below(5) {
        0 => "ROW_NUMBER()".to_string(),
        1 => "RANK()".into(),
        2 => format!("SUM({})", of(rng, &scope, Family::Decimal, 1)),
        3 => format!("LAG(a.{})", pick(rng, &table.columns).name),
        _ => "COUNT(*)".into(),
    };
    let frame = match call.starts_with("SUM") {
        true => *pick(rng, &["", " ROWS 1 PRECEDING", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"]),
        false => "",
    };
    let name = &table.name;
    format!(
        "SELECT a.id, {call} OVER (PARTITION BY a.{partition} ORDER BY a.id{frame}) FROM {name} AS a"
    )
}
