//! `sys`: views over `performance_schema` that operators ask first, as queries: `sys/views.sql`. Those of MySQL that are not there are
//! not found.
//!
//! 1. A view stands there as a line `# name` and its query. 2. Where the query formats something (`{time:...}`, `{bytes:...}`,
//! `{statement:...}`, `{path:...}`) there are two views: `x$name` gives it as it is. 3. A view whose name has `@who` is one of hosts
//! and one of users; `@WHO` is that column, `@other` the other of the two. 4. Their columns are those of MySQL 9.7, as its
//! `information_schema.COLUMNS` tells them (`columns.tsv`): what a query gives is checked against them by a test. Columns of our own
//! stand behind them.

use crate::information::definition;
use catalog::{MadeRows, ReadContext, SYS_SCHEMA, TableDef, ViewDef, VirtualTable};
use std::collections::HashMap;
use std::sync::Arc;

const VIEWS: &str = include_str!("sys/views.sql");
const COLUMNS: &str = include_str!("sys/columns.tsv");

/// Characters of a statement that is shown whole; of a longer one the begin and the end are.
const STATEMENT_CHARS: usize = 64;

/// A view of the file.
struct View(TableDef);

impl VirtualTable for View {
    fn def(&self) -> &TableDef {
        &self.0
    }

    // Its query is run instead.
    fn rows(&self, _: &ReadContext<'_>, _: &mut MadeRows<'_>) {}
}

/// All of them.
pub(crate) fn tables() -> Vec<Arc<dyn VirtualTable>> {
    let defs = definition::parse(COLUMNS, SYS_SCHEMA).into_iter();
    let mut defs: HashMap<String, TableDef> = defs.map(|def| (def.name.clone(), def)).collect();
    let mut views: Vec<Arc<dyn VirtualTable>> = Vec::new();
    for (name, query) in queries() {
        let Some(mut def) = defs.remove(&name) else { continue };
        def.view = Some(Box::new(defined(query)));
        views.push(Arc::new(View(def)));
    }
    views
}

/// Names and queries.
fn queries() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for written in VIEWS.split("# ").filter(|part| !part.is_empty()) {
        let Some((name, query)) = written.split_once('\n') else { continue };
        for (name, query) in by_who(name, query.trim_end()) {
            let (raw, formatted) = (forms(&query, false), forms(&query, true));
            if raw != formatted {
                all.push((format!("x${name}"), raw));
            }
            all.push((name, formatted));
        }
    }
    all
}

/// A view of hosts and one of users, or the one that is neither.
fn by_who(name: &str, query: &str) -> Vec<(String, String)> {
    if !name.contains("@who") {
        return vec![(name.to_string(), query.to_string())];
    }
    let of = |text: &str, who: &str, other: &str| {
        let text = text.replace("@who", who).replace("@WHO", &who.to_uppercase());
        text.replace("@OTHER", &other.to_uppercase()).replace("@other", other)
    };
    let pairs = [("host", "user"), ("user", "host")];
    pairs.map(|(who, other)| (of(name, who, other), of(query, who, other))).into()
}

/// A query with its formats, or without.
fn forms(query: &str, formatted: bool) -> String {
    let mut made = String::with_capacity(query.len() * 2);
    let mut rest = query;
    while let Some((before, marked)) = rest.split_once('{') {
        made += before;
        let (inside, after) = marked.split_once('}').unwrap_or((marked, ""));
        made += &match inside.split_once(':') {
            Some((kind, expression)) if formatted => format(kind, expression),
            Some((_, expression)) => expression.to_string(),
            // What another view is called of the same form.
            None if formatted => String::new(),
            None => format!("{inside}$"),
        };
        rest = after;
    }
    made + rest
}

fn format(kind: &str, expression: &str) -> String {
    match kind {
        "time" => format!("FORMAT_PICO_TIME({expression})"),
        "bytes" => format!("FORMAT_BYTES({expression})"),
        // A column of the other form alone.
        "raw" => String::new(),
        "path" => format!("REPLACE({expression}, @@datadir, '@@datadir/')"),
        _ => {
            let (text, part) =
                (format!("REPLACE({expression}, '\\n', ' ')"), STATEMENT_CHARS / 2 - 2);
            format!(
                "IF(CHAR_LENGTH({text}) > {STATEMENT_CHARS}, CONCAT(LEFT({text}, {part}), ' ... ', RIGHT({text}, {part})), {text})"
            )
        }
    }
}

fn defined(query: String) -> ViewDef {
    ViewDef {
        text: query.clone(),
        query,
        database: SYS_SCHEMA.into(),
        algorithm: "UNDEFINED".into(),
        definer: ("mysql.sys".into(), "localhost".into()),
        invoker: true,
        check: None,
        updatable: false,
        listed: false,
        client_charset: "utf8mb4".into(),
        connection_collation: "utf8mb4_0900_ai_ci".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_a_form_for_people_and_one_of_figures() {
        let query = "SELECT {time:t} AS a, {bytes:b} AS b FROM sys.{x}other";
        assert_eq!(forms(query, false), "SELECT t AS a, b AS b FROM sys.x$other");
        assert_eq!(
            forms(query, true),
            "SELECT FORMAT_PICO_TIME(t) AS a, FORMAT_BYTES(b) AS b FROM sys.other"
        );
    }

    #[test]
    fn each_view_has_its_columns_and_each_columns_their_view() {
        let mut queries: Vec<String> = queries().into_iter().map(|(name, _)| name).collect();
        let defs = definition::parse(COLUMNS, SYS_SCHEMA).into_iter();
        let mut defs: Vec<String> = defs.map(|def| def.name).collect();
        queries.sort();
        defs.sort();
        assert_eq!(queries, defs);
        assert_eq!(tables().len(), queries.len());
    }
}
