//! What SHOW CREATE, SHOW COLUMNS and SHOW INDEX print of a definition.
//!
//! 1. The text of SHOW CREATE TABLE, run again, makes the same definition. 2. What MySQL puts into version
//! comments is in the same ones here: dump files are read by others.

use crate::foreign;
use crate::quoting::Quoting;
use catalog::{ColumnDef, DefaultValue, IndexDef, SchemaDef, TableDef, ViewDef};
use std::fmt::Write;
use value::{Collation, Kind, OwnedDatum};

fn string(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n");
    format!("'{}'", escaped.replace('\r', "\\r").replace('\0', "\\0"))
}

/// ` COLLATE name`; nothing for a character set's default, but for that of utf8mb4, which used to be
/// another.
fn collate(collation: Collation) -> String {
    if collation.is_default() && collation != Collation::Utf8mb4_0900AiCi {
        String::new()
    } else {
        format!(" COLLATE {}", collation.name())
    }
}

/// SHOW CREATE DATABASE.
pub fn create_database(schema: &SchemaDef, if_not_exists: bool, quoting: &Quoting) -> String {
    let exists = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    format!(
        "CREATE DATABASE {exists}{} /*!40100 DEFAULT CHARACTER SET {}{} */ /*!80016 DEFAULT \
         ENCRYPTION='N' */",
        quoting.name(&schema.name),
        schema.collation.charset(),
        collate(schema.collation),
    )
}

/// SHOW CREATE VIEW; what lies in the current schema is named without it.
pub fn create_view(
    def: &TableDef,
    view: &ViewDef,
    current: Option<&str>,
    quoting: &Quoting,
) -> String {
    let mut name = quoting.name(&def.name);
    if current != Some(&def.schema) {
        name = format!("{}.{name}", quoting.name(&def.schema));
    }
    if view.listed {
        let columns: Vec<String> = def.columns.iter().map(|c| quoting.name(&c.name)).collect();
        let _ = write!(name, " ({})", columns.join(","));
    }
    let mut out = String::from("CREATE ");
    if !quoting.portable {
        let security = if view.invoker { "INVOKER" } else { "DEFINER" };
        let (user, host) = (quoting.name(&view.definer.0), quoting.name(&view.definer.1));
        let algorithm = &view.algorithm;
        let _ = write!(out, "ALGORITHM={algorithm} DEFINER={user}@{host} SQL SECURITY {security} ");
    }
    let text = if current == Some(&view.database) { &view.text } else { &view.query };
    let _ = write!(out, "VIEW {name} AS {}", quoting.text(text));
    if let Some(check) = &view.check {
        let _ = write!(out, " WITH {check} CHECK OPTION");
    }
    out
}

/// SHOW CREATE TABLE; `autoinc_next` is the counter, if there is one.
pub fn create_table(def: &TableDef, autoinc_next: Option<u64>, quoting: &Quoting) -> String {
    let shown = def.columns.iter().filter(|c| !c.hidden);
    let mut lines: Vec<String> = shown.map(|c| create_column(def, c, quoting)).collect();
    lines.extend(def.indexes.iter().map(|i| create_index(def, i, quoting)));
    let mut keys: Vec<_> = def.foreign_keys.iter().collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    lines.extend(keys.into_iter().map(|key| foreign::text::constraint(def, key, quoting)));
    let mut checks: Vec<_> = def.checks.iter().collect();
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    lines.extend(checks.into_iter().map(|check| {
        let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
        format!("CONSTRAINT {} CHECK ({}){enforced}", quoting.name(&check.name), check.text)
    }));
    let temporary = if def.temporary { "TEMPORARY " } else { "" };
    let name = quoting.name(&def.name);
    let mut out = format!("CREATE {temporary}TABLE {name} (\n  {}\n)", lines.join(",\n  "));
    if quoting.portable {
        return out;
    }
    let _ = write!(out, " ENGINE={}", def.engine());
    if let Some(next) = autoinc_next.filter(|next| *next > 1) {
        let _ = write!(out, " AUTO_INCREMENT={next}");
    }
    let _ = write!(
        out,
        " DEFAULT CHARSET={}{}",
        def.collation.charset(),
        collate(def.collation).replace("COLLATE ", "COLLATE=")
    );
    for (name, value) in &def.options {
        let _ = write!(out, " {name}={value}");
    }
    if !def.comment.is_empty() {
        let _ = write!(out, " COMMENT={}", string(&def.comment));
    }
    out
}

fn create_column(def: &TableDef, column: &ColumnDef, quoting: &Quoting) -> String {
    let mut out = format!("{} {}", quoting.name(&column.name), column.ty.to_sql());
    if column.ty.is_text() || column.ty.kind.has_members() {
        let collation = column.ty.collation;
        let other = collation != def.collation;
        if column.own_collation || other {
            let _ = write!(out, " CHARACTER SET {}", collation.charset());
        }
        let server = other && collation == Collation::Utf8mb4_0900AiCi;
        if column.own_collation || !collation.is_default() || server {
            let _ = write!(out, " COLLATE {}", collation.name());
        }
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let _ =
            write!(out, " GENERATED ALWAYS AS ({}) {kind}", quoting.expression(&generated.text));
    }
    if !column.ty.nullable {
        out.push_str(" NOT NULL");
    } else if column.ty.kind == Kind::Timestamp {
        out.push_str(" NULL");
    }
    if let Some(default) = default_clause(column, quoting) {
        let _ = write!(out, " DEFAULT {default}");
    }
    if let Some(digits) = column.on_update {
        let _ = write!(out, " ON UPDATE {}", now(digits));
    }
    if column.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if column.invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", string(&column.comment));
    }
    out
}

fn now(digits: u8) -> String {
    match digits {
        0 => "CURRENT_TIMESTAMP".into(),
        n => format!("CURRENT_TIMESTAMP({n})"),
    }
}

fn default_clause(column: &ColumnDef, quoting: &Quoting) -> Option<String> {
    match &column.default {
        _ if column.generated.is_some() => None,
        DefaultValue::Null if column.ty.kind.is_large() => None,
        DefaultValue::None => None,
        DefaultValue::Null => Some("NULL".into()),
        DefaultValue::Int(v) => Some(format!("'{v}'")),
        DefaultValue::Bytes(_) if column.ty.kind == Kind::Timestamp => {
            let moment = match column.stored_default()? {
                OwnedDatum::Timestamp(0, fsp) => value::DateTime::ZERO.with_fsp(fsp),
                OwnedDatum::Timestamp(micros, fsp) => quoting.zone.to_local(micros, fsp)?,
                _ => return None,
            };
            Some(format!("'{moment}'"))
        }
        DefaultValue::Bytes(bytes) => Some(default_bytes(column, bytes)),
        DefaultValue::Now(digits) => Some(now(*digits)),
        DefaultValue::Expr(text) => Some(format!("({})", quoting.expression(text))),
    }
}

fn default_bytes(column: &ColumnDef, bytes: &[u8]) -> String {
    if column.ty.kind == Kind::Bit {
        let bits = bytes.iter().fold(0u64, |v, b| v << 8 | u64::from(*b));
        return format!("b'{bits:b}'");
    }
    match std::str::from_utf8(&column.shown_default(bytes)) {
        Ok(text) => string(text),
        _ => digits(bytes),
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::from("0x"), |mut out, b| {
        let _ = write!(out, "{b:02X}");
        out
    })
}

/// Bytes that are a column's default as the lists of columns print them: without the zeros that BINARY adds.
fn hex(column: &ColumnDef, bytes: &[u8]) -> String {
    let added = |b: &u8| column.ty.kind == Kind::Binary && *b == 0;
    let kept = bytes.iter().rposition(|b| !added(b)).map_or(0, |last| last + 1);
    digits(&bytes[..kept])
}

fn create_index(def: &TableDef, index: &IndexDef, quoting: &Quoting) -> String {
    let part = |part: &value::KeyPart| {
        let column = &def.columns[part.column];
        let mut out = match &column.generated {
            Some(generated) if column.hidden => {
                format!("({})", quoting.expression(&generated.text))
            }
            _ => quoting.name(&column.name),
        };
        if let Some(length) = part.prefix_chars {
            let _ = write!(out, "({length})");
        }
        if part.descending {
            out.push_str(" DESC");
        }
        out
    };
    let parts: Vec<_> = index.parts.iter().map(part).collect();
    let head = match (index.primary, index.unique) {
        (true, _) => "PRIMARY KEY".to_string(),
        (_, true) => format!("UNIQUE KEY {}", quoting.name(&index.name)),
        _ => format!("KEY {}", quoting.name(&index.name)),
    };
    let mut out = format!("{head} ({})", parts.join(","));
    if index.attributes.using_btree && !quoting.portable {
        out.push_str(" USING BTREE");
    }
    if index.attributes.key_block_size > 0 && !quoting.portable {
        let _ = write!(out, " KEY_BLOCK_SIZE={}", index.attributes.key_block_size);
    }
    if !index.comment.is_empty() && !quoting.portable {
        let _ = write!(out, " COMMENT {}", string(&index.comment));
    }
    if index.attributes.invisible && !quoting.portable {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    out
}

/// The Default column of SHOW COLUMNS.
pub fn default_text(column: &ColumnDef) -> Option<String> {
    match &column.default {
        _ if column.generated.is_some() => None,
        DefaultValue::None | DefaultValue::Null => None,
        DefaultValue::Int(v) => Some(v.to_string()),
        DefaultValue::Bytes(bytes) if column.ty.kind == Kind::Bit => {
            Some(default_bytes(column, bytes))
        }
        DefaultValue::Bytes(bytes) if column.ty.kind.is_binary_string() => Some(hex(column, bytes)),
        DefaultValue::Bytes(bytes) => {
            Some(String::from_utf8_lossy(&column.shown_default(bytes)).into_owned())
        }
        DefaultValue::Now(digits) => Some(now(*digits)),
        DefaultValue::Expr(text) => Some(catalog::listed(text)),
    }
}

/// The Extra column of SHOW COLUMNS.
pub fn extra(column: &ColumnDef) -> String {
    let mut words: Vec<String> = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".into());
    }
    if matches!(column.default, DefaultValue::Now(_) | DefaultValue::Expr(_)) {
        words.push("DEFAULT_GENERATED".into());
    }
    if let Some(digits) = column.on_update {
        words.push(format!("on update {}", now(digits)));
    }
    if let Some(generated) = &column.generated {
        words.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.into());
    }
    if column.invisible {
        words.push("INVISIBLE".into());
    }
    words.join(" ")
}
