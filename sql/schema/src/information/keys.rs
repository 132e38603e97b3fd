//! Indexes and constraints.

use super::dictionary::each_table;
use super::{Cell, Rows, cells};
use catalog::{
    ColumnDef, ForeignKeyDef, Histogram, IndexDef, ReadContext, Referential, TableDef, listed,
};
use value::json::{JsonValue, parse_tree};

pub(super) fn statistics(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (1, 2), &mut |def, definition| {
        let rows_now = definition.map(|d| context.size(d).rows);
        let figures = definition.and_then(|d| d.statistics().figures);
        for index in &def.indexes {
            let known = figures.as_ref().and_then(|f| f.index(index.id));
            for at in 0..index.parts.len() {
                let distinct = known.and_then(|i| i.distinct.get(at)).map(|n| n.round() as u64);
                rows.push(&statistics_row(def, index, at, distinct.or(rows_now)));
            }
        }
    });
}

fn statistics_row<'a>(
    def: &'a TableDef,
    index: &'a IndexDef,
    at: usize,
    distinct: Option<u64>,
) -> [Cell<'a>; 18] {
    let part = &index.parts[at];
    let column = &def.columns[part.column];
    let expression = column.hidden.then(|| column.generated.as_ref().map(|g| listed(&g.text)));
    let ordered = def.index_type() == "BTREE";
    let order = if part.descending { "D" } else { "A" };
    cells![
        "def",
        &def.schema,
        &def.name,
        i64::from(!index.unique),
        &def.schema,
        &index.name,
        at as u64 + 1,
        (!column.hidden).then_some(column.name.as_str()),
        ordered.then_some(order),
        distinct,
        part.prefix_chars.map(|n| n as u64),
        Cell::Null,
        if column.ty.nullable { "YES" } else { "" },
        def.index_type(),
        "",
        &index.comment,
        if index.attributes.invisible { "NO" } else { "YES" },
        expression.flatten(),
    ]
}

/// Histograms.
pub(super) fn column_statistics(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (0, 1), &mut |def, definition| {
        let Some(definition) = definition else { return };
        for (column, histogram) in definition.statistics().histograms.iter() {
            let updated = value::TimeZone::utc().to_local(histogram.updated_us, 6);
            let updated = updated.map_or(String::new(), |t| t.to_string());
            // A text that is no JSON would be a fault of the histogram: then nothing is shown of it.
            let Ok(mut document) = parse_tree(histogram.json(&updated).as_bytes()) else {
                continue;
            };
            if histogram.data_type == "decimal" {
                exact_ends(&mut document, histogram);
            }
            let document = Cell::Json(document.to_bytes());
            rows.push(&[(&def.schema).into(), (&def.name).into(), column.into(), document]);
        }
    });
}

/// Ends of buckets that are decimals: JSON's text would make doubles of them.
fn exact_ends(document: &mut JsonValue, histogram: &Histogram) {
    let JsonValue::Object(object) = document else { return };
    let Some(JsonValue::Array(buckets)) = object.get_mut(b"buckets") else { return };
    for (shown, bucket) in buckets.iter_mut().zip(&histogram.buckets) {
        let JsonValue::Array(shown) = shown else { continue };
        let ends = [&bucket.low, &bucket.high];
        let ends = if histogram.singleton { &ends[..1] } else { &ends };
        for (shown, end) in shown.iter_mut().zip(ends) {
            if let Some(exact) = value::Decimal::parse(&end.json) {
                *shown = JsonValue::Decimal(exact);
            }
        }
    }
}

pub(super) fn key_column_usage(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let rights = context.viewer.rights();
    each_table(context, (4, 5), &mut |def, _| {
        let seen = |column: &ColumnDef| rights.sees_column(&def.schema, &def.name, &column.name);
        for index in def.indexes.iter().filter(|i| i.unique) {
            for (at, part) in index.parts.iter().enumerate() {
                let column = &def.columns[part.column];
                if column.hidden || !seen(column) {
                    continue;
                }
                let null = || Cell::Null;
                rows.push(&cells![
                    "def",
                    &def.schema,
                    &index.name,
                    "def",
                    &def.schema,
                    &def.name,
                    &column.name,
                    at as u64 + 1,
                    null(),
                    null(),
                    null(),
                    null(),
                ]);
            }
        }
        for key in by_name(def) {
            for (at, column) in key.columns.iter().enumerate() {
                let column = &def.columns[*column];
                if !seen(column) {
                    continue;
                }
                rows.push(&cells![
                    "def",
                    &def.schema,
                    &key.name,
                    "def",
                    &def.schema,
                    &def.name,
                    &column.name,
                    at as u64 + 1,
                    at as u64 + 1,
                    &key.parent.0,
                    &key.parent.1,
                    &key.parent_columns[at],
                ]);
            }
        }
    });
}

/// A table's foreign keys in the order in which they are listed.
fn by_name(def: &TableDef) -> Vec<&ForeignKeyDef> {
    let mut keys: Vec<_> = def.foreign_keys.iter().collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    keys
}

pub(super) fn referential_constraints(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (1, 9), &mut |def, _| {
        for key in by_name(def) {
            let parent = context.catalog.definition(&key.parent.0, &key.parent.1).ok().flatten();
            let unique = parent.as_ref().and_then(|parent| {
                let columns = parent.def.positions(&key.parent_columns).ok()?;
                Some(parent.def.indexes[parent.def.unique_over(&columns)?].name.as_str())
            });
            rows.push(&cells![
                "def",
                &def.schema,
                &key.name,
                "def",
                &key.parent.0,
                unique,
                "NONE",
                key.on_update.words(),
                key.on_delete.words(),
                &def.name,
                &key.parent.1,
            ]);
        }
    });
}

/// Bits of InnoDB's TYPE.
fn kind_of(key: &ForeignKeyDef) -> u64 {
    let bits = |action, cascade: u64, no_action: u64| match action {
        Referential::Cascade => cascade,
        Referential::SetNull => cascade << 1,
        Referential::NoAction => no_action,
        Referential::Restrict | Referential::SetDefault => 0,
    };
    bits(key.on_delete, 1, 16) | bits(key.on_update, 4, 32)
}

pub(super) fn innodb_foreign(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (usize::MAX, usize::MAX), &mut |def, _| {
        for key in by_name(def) {
            rows.push(&cells![
                format!("{}/{}", def.schema, key.name),
                format!("{}/{}", def.schema, def.name),
                format!("{}/{}", key.parent.0, key.parent.1),
                key.columns.len() as u64,
                kind_of(key),
            ]);
        }
    });
}

pub(super) fn innodb_foreign_cols(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (usize::MAX, usize::MAX), &mut |def, _| {
        for key in by_name(def) {
            for (at, (column, parent)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                let id = format!("{}/{}", def.schema, key.name);
                rows.push(&cells![id, &def.columns[*column].name, parent, at as u64 + 1]);
            }
        }
    });
}

pub(super) fn table_constraints(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (3, 4), &mut |def, _| {
        for index in def.indexes.iter().filter(|i| i.unique) {
            let kind = if index.primary { "PRIMARY KEY" } else { "UNIQUE" };
            rows.push(&cells![
                "def",
                &def.schema,
                &index.name,
                &def.schema,
                &def.name,
                kind,
                "YES"
            ]);
        }
        for key in by_name(def) {
            let (schema, name) = (&def.schema, &key.name);
            rows.push(&cells!["def", schema, name, schema, &def.name, "FOREIGN KEY", "YES"]);
        }
        for check in &def.checks {
            let enforced = if check.enforced { "YES" } else { "NO" };
            let (schema, name) = (&def.schema, &check.name);
            rows.push(&cells!["def", schema, name, schema, &def.name, "CHECK", enforced]);
        }
    });
}

pub(super) fn table_constraints_extensions(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_table(context, (1, 3), &mut |def, _| {
        for index in def.indexes.iter().filter(|i| i.unique) {
            let null = || Cell::Null;
            rows.push(&cells!["def", &def.schema, &index.name, &def.name, null(), null()]);
        }
    });
}

pub(super) fn check_constraints(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    // The table of a constraint is not a column here.
    each_table(context, (1, usize::MAX), &mut |def, _| {
        for check in &def.checks {
            rows.push(&cells!["def", &def.schema, &check.name, listed(&check.text)]);
        }
    });
}
