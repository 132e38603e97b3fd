//! Random changes of rows. Every statement ends in the same rows on two right servers: what it changes hangs on
//! no order, or the order is total.

use super::expr::{Scope, any, condition, of};
use super::{Column, Table, names, pick, value};
use stdx::rng::Rng;

/// An INSERT, REPLACE, UPDATE or DELETE of any form.
pub(super) fn change(rng: &mut Rng, tables: &[Table]) -> String {
    match rng.below(14) {
        0..=2 => update(rng, tables),
        3 => delete(rng, tables),
        4 => update_joined(rng, tables),
        5 => delete_joined(rng, tables),
        6 => insert_select(rng, tables),
        7..=8 => insert_or_update(rng, tables),
        9 => replace(rng, tables),
        10 => insert_ignore(rng, tables),
        11 => insert_expressions(rng, tables),
        12 => insert_set(rng, tables),
        _ => update_ordered(rng, tables),
    }
}

fn scope_of(table: &Table) -> Scope<'_> {
    vec![("a".into(), table)]
}

/// A column that is not the key.
fn column<'t>(rng: &mut Rng, table: &'t Table) -> &'t Column {
    pick(rng, &table.columns[1..])
}

fn assigned(rng: &mut Rng, table: &Table, scope: &Scope<'_>) -> String {
    let column = column(rng, table);
    match rng.below(4) {
        0 => value(rng, column),
        1 => any(rng, scope, 2),
        2 => "DEFAULT".into(),
        _ => of(rng, scope, column.family, 1),
    }
}

fn update(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let scope = scope_of(table);
    let ignore = *pick(rng, &["", "", "IGNORE "]);
    let (set, new) = (column(rng, table), assigned(rng, table, &scope));
    let filter = condition(rng, &scope, 1);
    format!("UPDATE {ignore}{} AS a SET a.{} = {new} WHERE {filter}", table.name, set.name)
}

fn update_ordered(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let (set, key) = (column(rng, table), column(rng, table));
    let (new, limit) = (value(rng, set), rng.below(5));
    let direction = *pick(rng, &["", " DESC"]);
    format!(
        "UPDATE {} SET {} = {new} ORDER BY {}{direction}, id LIMIT {limit}",
        table.name, set.name, key.name
    )
}

fn update_joined(rng: &mut Rng, tables: &[Table]) -> String {
    let (a, b) = (pick(rng, tables), pick(rng, tables));
    let both: Scope<'_> = vec![("a".into(), a), ("b".into(), b)];
    let (set, filter) = (column(rng, a), condition(rng, &both, 1));
    // One row of b for each of a: no row is changed twice.
    let new = of(rng, &vec![("b".into(), b)], set.family, 1);
    let join = *pick(rng, &["JOIN", "LEFT JOIN"]);
    format!(
        "UPDATE {} AS a {join} {} AS b ON a.id = b.id SET a.{} = {new} WHERE {filter}",
        a.name, b.name, set.name
    )
}

fn delete(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let filter = condition(rng, &scope_of(table), 1);
    match rng.below(2) {
        0 => format!("DELETE FROM {} AS a WHERE {filter} AND a.id % 3 = 0", table.name),
        _ => format!("DELETE FROM {} ORDER BY id DESC LIMIT 1", table.name),
    }
}

fn delete_joined(rng: &mut Rng, tables: &[Table]) -> String {
    let (a, b) = (pick(rng, tables), pick(rng, tables));
    let both: Scope<'_> = vec![("a".into(), a), ("b".into(), b)];
    let filter = condition(rng, &both, 1);
    let list = *pick(rng, &["a", "a, b"]);
    format!(
        "DELETE {list} FROM {} AS a JOIN {} AS b ON a.id = b.id WHERE {filter} AND a.id % 4 = 0",
        a.name, b.name
    )
}

fn insert_select(rng: &mut Rng, tables: &[Table]) -> String {
    let (to, from) = (pick(rng, tables), pick(rng, tables));
    let scope = scope_of(from);
    let set = column(rng, to);
    let (shown, filter) = (any(rng, &scope, 1), condition(rng, &scope, 1));
    let ignore = *pick(rng, &["", "IGNORE "]);
    let base = 100 * (1 + rng.below(4));
    format!(
        "INSERT {ignore}INTO {} (id, {}) SELECT a.id + {base}, {shown} FROM {} AS a WHERE {filter} ORDER BY a.id",
        to.name, set.name, from.name
    )
}

fn row(rng: &mut Rng, table: &Table) -> String {
    let id = rng.below(70).to_string();
    let rest: Vec<_> = table.columns[1..].iter().map(|c| value(rng, c)).collect();
    format!("({id}, {})", rest.join(", "))
}

fn insert_or_update(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let rows = [row(rng, table), row(rng, table)].join(", ");
    let set = &column(rng, table).name;
    let new = match rng.below(3) {
        0 => format!("VALUES({set})"),
        1 => format!("n.{set}"),
        _ => set.clone(),
    };
    let alias = if new.starts_with("n.") { " AS n" } else { "" };
    format!(
        "INSERT INTO {} ({}) VALUES {rows}{alias} ON DUPLICATE KEY UPDATE {set} = {new}",
        table.name,
        names(table)
    )
}

fn replace(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let rows = [row(rng, table), row(rng, table)].join(", ");
    format!("REPLACE INTO {} ({}) VALUES {rows}", table.name, names(table))
}

fn insert_ignore(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let other = &pick(rng, tables).columns[1..];
    // Values of another column: truncated, out of range, of a wrong kind.
    let values: Vec<_> = table.columns[1..]
        .iter()
        .map(|_| {
            let like = pick(rng, other);
            value(rng, like)
        })
        .collect();
    format!(
        "INSERT IGNORE INTO {} ({}) VALUES ({}, {})",
        table.name,
        names(table),
        rng.below(90),
        values.join(", ")
    )
}

fn insert_expressions(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let nothing: Scope<'_> = Vec::new();
    let values: Vec<_> =
        table.columns[1..].iter().map(|c| of(rng, &nothing, c.family, 1)).collect();
    format!(
        "INSERT INTO {} ({}) VALUES ({}, {})",
        table.name,
        names(table),
        200 + rng.below(600),
        values.join(", ")
    )
}

fn insert_set(rng: &mut Rng, tables: &[Table]) -> String {
    let table = pick(rng, tables);
    let set = column(rng, table);
    let new = value(rng, set);
    format!("INSERT INTO {} SET id = {}, {} = {new}", table.name, 800 + rng.below(190), set.name)
}
