//! DDL: syntax to definitions, with MySQL's checks; the catalog does the work.

use crate::rows::{self, Source};
use crate::{Context, Outcome, SqlError, WarningLevel};
use catalog::{CatalogError, ColumnDef, DefaultValue, NewIndex, NewTable, SchemaDef};
use parser::ast::{self, IndexKind, Literal, Statement, TableOption, TypeKind};
use planner::plan::Access;
use std::ops::ControlFlow;
use std::sync::Arc;
use value::{Collation, ColumnType, KeyPart, KeySpec, Kind};

const KEY_PARTS_MAX: usize = 16;
const INDEXES_MAX: usize = 64;
const COLUMNS_MAX: usize = 1017;
const KEY_BYTES_MAX: u32 = 3072;
const NAME_CHARS_MAX: usize = 64;

/// Refuses what neither this module nor the session runs.
pub fn check(statement: &Statement) -> Result<(), SqlError> {
    match statement {
        Statement::CreateDatabase(_)
        | Statement::DropDatabase(_)
        | Statement::CreateTable(_)
        | Statement::DropTable(_)
        | Statement::Truncate(_)
        | Statement::CreateIndex(_) => Ok(()),
        Statement::Unsupported(what) => Err(SqlError::unsupported(what.construct.clone())),
        other => Err(SqlError::unsupported(construct(other))),
    }
}

/// The leading words of a statement, from the name of its tree node.
pub fn construct(statement: &Statement) -> String {
    words_of(&format!("{statement:?}"))
}

/// `CreateTable(..)` as `CREATE TABLE`: the words of a tree node's name.
pub fn words_of(debug: &str) -> String {
    let mut words = String::new();
    for c in debug.chars().take_while(|c| c.is_alphanumeric()) {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_uppercase());
    }
    words
}

/// Runs a DDL statement; the session has committed the open transaction before.
///
/// # Errors
/// MySQL's errors of the statement.
pub fn run(statement: &Statement, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    match statement {
        Statement::CreateDatabase(create) => create_database(create, context),
        Statement::DropDatabase(drop) => drop_database(drop, context),
        Statement::CreateTable(create) => create_table(create, context),
        Statement::DropTable(drop) => drop_table(drop, context),
        Statement::Truncate(name) => truncate(name, context),
        Statement::CreateIndex(create) => create_index(create, context),
        other => Err(SqlError::unsupported(construct(other))),
    }
}

fn create_database(
    create: &ast::CreateDatabase,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    check_name(&create.name, 1102, "Incorrect database name")?;
    let fallback = context.env.server_collation();
    let options = &create.options;
    let collation =
        collation_of(options.charset.as_deref(), options.collation.as_deref(), fallback)?;
    let def = SchemaDef { name: create.name.clone(), collation };
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    match catalog.create_schema(context.client, context.tables, def, deadline) {
        Err(CatalogError::DatabaseExists(name)) if create.if_not_exists => {
            note(context, CatalogError::DatabaseExists(name));
            Ok(Outcome { affected_rows: 1, ..Outcome::default() })
        }
        other => {
            other.map(|()| Outcome { affected_rows: 1, ..Outcome::default() }).map_err(Into::into)
        }
    }
}

fn drop_database(drop: &ast::DropDatabase, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    match catalog.drop_schema(context.client, context.tables, &drop.name, deadline) {
        Ok(tables) => Ok(Outcome { affected_rows: tables, ..Outcome::default() }),
        Err(CatalogError::DropMissingDatabase(name)) if drop.if_exists => {
            note(context, CatalogError::DropMissingDatabase(name));
            Ok(Outcome::default())
        }
        Err(error) => Err(error.into()),
    }
}

fn drop_table(drop: &ast::DropTable, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    if drop.temporary {
        return Err(SqlError::unsupported("DROP TEMPORARY TABLE"));
    }
    let names = drop
        .tables
        .iter()
        .map(|name| Ok((context.schema_of(name)?, name.name.clone())))
        .collect::<Result<Vec<_>, SqlError>>()?;
    if let Some((_, name)) = names.iter().enumerate().find(|(i, n)| names[..*i].contains(n)) {
        return Err(SqlError::Other(
            1066,
            "42000",
            format!("Not unique table/alias: '{}'", name.1),
        ));
    }
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let missing =
        catalog.drop_tables(context.client, context.tables, &names, drop.if_exists, deadline)?;
    for name in missing {
        note(context, CatalogError::UnknownTables(name));
    }
    Ok(Outcome::default())
}

fn truncate(name: &ast::ObjectName, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    let schema = context.schema_of(name)?;
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    catalog.truncate_table(context.client, context.tables, &schema, &name.name, deadline)?;
    Ok(Outcome::default())
}

fn note(context: &mut Context<'_>, error: CatalogError) {
    let (number, _, text) = SqlError::from(error).parts();
    context.env.warn(WarningLevel::Note, number, text);
}

fn check_name(name: &str, number: u16, what: &str) -> Result<(), SqlError> {
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(SqlError::Other(
            1059,
            "42000",
            format!("Identifier name '{name}' is too long"),
        ));
    }
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::Other(number, "42000", format!("{what} '{name}'")));
    }
    Ok(())
}

/// The collation that CHARACTER SET and COLLATE options name together.
fn collation_of(
    charset: Option<&str>,
    collation: Option<&str>,
    fallback: Collation,
) -> Result<Collation, SqlError> {
    let by_charset = match charset.map(str::to_ascii_lowercase).as_deref() {
        None => None,
        Some("utf8" | "utf8mb3") => return Err(SqlError::unsupported("character set utf8mb3")),
        Some(
            name @ ("latin1" | "ascii" | "ucs2" | "utf16" | "utf32" | "gbk" | "big5" | "sjis"
            | "cp1251"),
        ) => {
            return Err(SqlError::unsupported(format!("character set {name}")));
        }
        Some(name) => Some(Collation::default_of(name).ok_or_else(|| {
            SqlError::Other(1115, "42000", format!("Unknown character set: '{name}'"))
        })?),
    };
    let Some(name) = collation else { return Ok(by_charset.unwrap_or(fallback)) };
    let found = Collation::from_name(name)
        .ok_or_else(|| SqlError::Other(1273, "HY000", format!("Unknown collation: '{name}'")))?;
    match by_charset.filter(|c| c.charset() != found.charset()) {
        Some(other) => {
            let text =
                format!("COLLATION '{name}' is not valid for CHARACTER SET '{}'", other.charset());
            Err(SqlError::Other(1253, "42000", text))
        }
        None => Ok(found),
    }
}

fn create_table(create: &ast::CreateTable, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    refuse_unsupported(create)?;
    check_name(&create.name.name, 1103, "Incorrect table name")?;
    let schema = context.schema_of(&create.name)?;
    let catalog = Arc::clone(context.tables.catalog());
    let fallback = catalog.schema(&schema).map_or(context.env.server_collation(), |s| s.collation);
    let mut new = define_table(create, schema, fallback)?;
    new.created_us = context.env.now_us();
    let deadline = context.env.lock_deadline();
    match catalog.create_table(context.client, context.tables, new, deadline) {
        Err(CatalogError::TableExists(name)) if create.if_not_exists => {
            note(context, CatalogError::TableExists(name));
            Ok(Outcome::default())
        }
        other => other.map(|()| Outcome::default()).map_err(Into::into),
    }
}

fn refuse_unsupported(create: &ast::CreateTable) -> Result<(), SqlError> {
    let refused = [
        (create.temporary, "CREATE TEMPORARY TABLE"),
        (create.like.is_some(), "CREATE TABLE ... LIKE"),
        (create.query.is_some(), "CREATE TABLE ... SELECT"),
        (create.partitioned, "PARTITION BY"),
    ];
    match refused.iter().find(|(written, _)| *written) {
        Some((_, what)) => Err(SqlError::unsupported(*what)),
        None => Ok(()),
    }
}

fn define_table(
    create: &ast::CreateTable,
    schema: String,
    fallback: Collation,
) -> Result<NewTable, SqlError> {
    let (mut charset, mut collate, mut comment, mut autoinc_start) = (None, None, String::new(), 1);
    for option in &create.options {
        match option {
            TableOption::Engine(name) if name.eq_ignore_ascii_case("innodb") => {}
            TableOption::Engine(name) => {
                return Err(SqlError::Other(
                    1286,
                    "42000",
                    format!("Unknown storage engine '{name}'"),
                ));
            }
            TableOption::AutoIncrement(v) => autoinc_start = (*v).max(1),
            TableOption::Charset(name) => charset = Some(name.as_str()),
            TableOption::Collation(name) => collate = Some(name.as_str()),
            TableOption::Comment(text) => comment = String::from_utf8_lossy(text).into_owned(),
            TableOption::Other(..) => {}
        }
    }
    let collation = collation_of(charset, collate, fallback)?;
    let mut columns = Vec::new();
    for column in &create.columns {
        let defined = define_column(column, collation)?;
        if columns.iter().any(|c: &ColumnDef| value::name::same_name(&c.name, &defined.name)) {
            return Err(SqlError::Other(
                1060,
                "42S21",
                format!("Duplicate column name '{}'", defined.name),
            ));
        }
        columns.push(defined);
    }
    if columns.is_empty() {
        return Err(SqlError::Other(1113, "42000", "A table must have at least 1 column".into()));
    }
    if columns.len() > COLUMNS_MAX {
        return Err(SqlError::Other(1117, "HY000", "Too many columns".into()));
    }
    let indexes = define_indexes(create, &mut columns)?;
    check_autoinc(&columns, &indexes)?;
    let name = create.name.name.clone();
    Ok(NewTable {
        schema,
        name,
        columns,
        indexes,
        collation,
        comment,
        autoinc_start,
        created_us: 0,
    })
}

fn define_column(
    column: &ast::ColumnDef,
    table_collation: Collation,
) -> Result<ColumnDef, SqlError> {
    check_name(&column.name, 1166, "Incorrect column name")?;
    let refused = [
        (column.generated.is_some(), "generated column"),
        (!column.checks.is_empty(), "CHECK"),
        (column.references.is_some(), "REFERENCES"),
        (column.on_update.is_some(), "ON UPDATE"),
        (column.invisible, "INVISIBLE"),
        (column.ty.zerofill, "ZEROFILL"),
    ];
    if let Some((_, what)) = refused.iter().find(|(written, _)| *written) {
        return Err(SqlError::unsupported(*what));
    }
    let collation =
        collation_of(column.ty.charset.as_deref(), column.collation.as_deref(), table_collation)?;
    let mut ty = column_type(&column.ty, &column.name, collation)?;
    let serial = column.ty.kind == TypeKind::Serial;
    ty.nullable = column.nullable.unwrap_or(!serial && !column.primary);
    let auto_increment = column.auto_increment || serial;
    if auto_increment && !ty.kind.is_int() {
        let text = format!("Incorrect column specifier for column '{}'", column.name);
        return Err(SqlError::Other(1063, "42000", text));
    }
    if auto_increment {
        ty.nullable = false;
    }
    let default = define_default(column, &ty)?;
    let comment = column.comment.as_deref().unwrap_or_default();
    let comment = String::from_utf8_lossy(comment).into_owned();
    Ok(ColumnDef { name: column.name.clone(), ty, default, auto_increment, comment })
}

fn column_type(
    ty: &ast::DataType,
    column: &str,
    collation: Collation,
) -> Result<ColumnType, SqlError> {
    let int = |kind| Ok(ColumnType::int(kind, ty.unsigned));
    let text = |length: Option<u32>, kind| {
        let length = length.unwrap_or(1);
        let max = if kind == Kind::Char { 255 } else { 65_535 / collation.bytes_per_char_max() };
        if length > max {
            let text = format!(
                "Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead"
            );
            return Err(SqlError::Other(1074, "42000", text));
        }
        Ok(if collation == Collation::Binary {
            // CHARACTER SET binary makes a binary type of a text type.
            if kind == Kind::Char {
                ColumnType::binary(length)
            } else {
                ColumnType::varbinary(length)
            }
        } else if kind == Kind::Char {
            ColumnType::char(length, collation)
        } else {
            ColumnType::varchar(length, collation)
        })
    };
    match ty.kind {
        TypeKind::TinyInt => int(Kind::TinyInt),
        TypeKind::Bool => Ok(ColumnType::int(Kind::TinyInt, false)),
        TypeKind::SmallInt => int(Kind::SmallInt),
        TypeKind::MediumInt => int(Kind::MediumInt),
        TypeKind::Int => int(Kind::Int),
        TypeKind::BigInt => int(Kind::BigInt),
        TypeKind::Serial => Ok(ColumnType::int(Kind::BigInt, true)),
        TypeKind::Char => text(ty.length, Kind::Char),
        TypeKind::VarChar => text(ty.length, Kind::VarChar),
        TypeKind::Binary => Ok(ColumnType::binary(ty.length.unwrap_or(1))),
        TypeKind::VarBinary => Ok(ColumnType::varbinary(ty.length.unwrap_or(1))),
        other => Err(SqlError::unsupported(format!("{other:?}").to_ascii_uppercase())),
    }
}

fn define_default(column: &ast::ColumnDef, ty: &ColumnType) -> Result<DefaultValue, SqlError> {
    let invalid =
        || SqlError::Other(1067, "42000", format!("Invalid default value for '{}'", column.name));
    let Some(expr) = &column.default else {
        return Ok(if ty.nullable { DefaultValue::Null } else { DefaultValue::None });
    };
    if column.auto_increment {
        return Err(invalid());
    }
    let given = match expr {
        ast::Expr::Literal(Literal::Null) if ty.nullable => return Ok(DefaultValue::Null),
        ast::Expr::Literal(Literal::Null) => return Err(invalid()),
        _ => planner::bind::Scope::new(None, "default").bind(expr)?.expr,
    };
    let constant = match &given {
        planner::Expr::Const(value) => value.clone(),
        planner::Expr::Neg(inner) => match inner.as_ref() {
            planner::Expr::Const(value) => planner::OwnedDatum::of(&value::neg(value.datum())?),
            _ => return Err(SqlError::unsupported("DEFAULT expression")),
        },
        _ => return Err(SqlError::unsupported("DEFAULT expression")),
    };
    let mut scratch = Vec::new();
    let coerced = value::coerce(constant.datum(), ty, true, &mut scratch).map_err(|_| invalid())?;
    match planner::OwnedDatum::of(&coerced.value) {
        planner::OwnedDatum::Int(v) => Ok(DefaultValue::Int(i128::from(v))),
        planner::OwnedDatum::UInt(v) => Ok(DefaultValue::Int(i128::from(v))),
        planner::OwnedDatum::Bytes(bytes) => Ok(DefaultValue::Bytes(bytes)),
        _ => Err(invalid()),
    }
}

fn define_indexes(
    create: &ast::CreateTable,
    columns: &mut [ColumnDef],
) -> Result<Vec<NewIndex>, SqlError> {
    let mut primary: Vec<NewIndex> = Vec::new();
    let mut others: Vec<NewIndex> = Vec::new();
    for (position, column) in create.columns.iter().enumerate() {
        let parts = vec![KeyPart::whole(position)];
        if column.primary {
            primary.push(new_index("PRIMARY", true, true, parts.clone()));
        }
        if column.unique || column.ty.kind == TypeKind::Serial {
            others.push(new_index("", true, false, parts));
        }
    }
    for key in &create.keys {
        match key {
            ast::KeyDef::Index(index) => {
                let defined = define_index(index, columns)?;
                if defined.primary { primary.push(defined) } else { others.push(defined) }
            }
            ast::KeyDef::Check(_) => return Err(SqlError::unsupported("CHECK")),
            ast::KeyDef::Foreign { .. } => return Err(SqlError::unsupported("FOREIGN KEY")),
        }
    }
    if primary.len() > 1 {
        return Err(SqlError::Other(1068, "42000", "Multiple primary key defined".into()));
    }
    for part in primary.iter().flat_map(|p| &p.parts) {
        columns[part.column].ty.nullable = false;
        if columns[part.column].default == DefaultValue::Null {
            columns[part.column].default = DefaultValue::None;
        }
    }
    // Unique indexes stand before the others, as in MySQL.
    others.sort_by_key(|index| !index.unique);
    primary.append(&mut others);
    name_indexes(&mut primary, columns)?;
    if primary.len() > INDEXES_MAX {
        return Err(SqlError::Other(
            1069,
            "42000",
            format!("Too many keys specified; max {INDEXES_MAX} keys allowed"),
        ));
    }
    Ok(primary)
}

fn new_index(name: &str, unique: bool, primary: bool, parts: Vec<KeyPart>) -> NewIndex {
    NewIndex { name: name.to_string(), unique, primary, parts, comment: String::new() }
}

fn define_index(index: &ast::IndexDef, columns: &[ColumnDef]) -> Result<NewIndex, SqlError> {
    match index.kind {
        IndexKind::FullText => return Err(SqlError::unsupported("FULLTEXT")),
        IndexKind::Spatial => return Err(SqlError::unsupported("SPATIAL")),
        IndexKind::Primary | IndexKind::Unique | IndexKind::Plain => {}
    }
    if index.options.invisible {
        return Err(SqlError::unsupported("INVISIBLE"));
    }
    let primary = index.kind == IndexKind::Primary;
    let mut parts = Vec::new();
    for column in &index.columns {
        if column.descending {
            return Err(SqlError::unsupported("descending index"));
        }
        parts.push(define_part(&column.part, columns, &parts)?);
    }
    if parts.len() > KEY_PARTS_MAX {
        let text = format!("Too many key parts specified; max {KEY_PARTS_MAX} parts allowed");
        return Err(SqlError::Other(1070, "42000", text));
    }
    let bytes: u32 = parts
        .iter()
        .map(|p| {
            let ty = &columns[p.column].ty;
            p.prefix_chars.map_or(ty.bytes_max(), |n| n * ty.collation.bytes_per_char_max())
        })
        .sum();
    if bytes > KEY_BYTES_MAX {
        return Err(SqlError::Storage(base::Error::KeyTooLong {
            bytes: bytes as usize,
            limit: KEY_BYTES_MAX as usize,
        }));
    }
    let name = if primary { "PRIMARY" } else { index.name.as_deref().unwrap_or_default() };
    let comment = index.options.comment.as_deref().unwrap_or_default();
    Ok(NewIndex {
        comment: String::from_utf8_lossy(comment).into_owned(),
        ..new_index(name, primary || index.kind == IndexKind::Unique, primary, parts)
    })
}

fn define_part(
    part: &ast::KeyPart,
    columns: &[ColumnDef],
    before: &[KeyPart],
) -> Result<KeyPart, SqlError> {
    let ast::KeyPart::Column(name, prefix) = part else {
        return Err(SqlError::unsupported("functional index"));
    };
    let missing =
        || SqlError::Other(1072, "42000", format!("Key column '{name}' doesn't exist in table"));
    let column =
        columns.iter().position(|c| value::name::same_name(&c.name, name)).ok_or_else(missing)?;
    if before.iter().any(|p| p.column == column) {
        return Err(SqlError::Other(1060, "42S21", format!("Duplicate column name '{name}'")));
    }
    let ty = &columns[column].ty;
    match prefix {
        None => Ok(KeyPart::whole(column)),
        Some(length) if !ty.kind.is_string() || *length > ty.length => Err(SqlError::Other(
            1089,
            "HY000",
            "Incorrect prefix key; the used key part isn't a string, the used length is longer than the \
             key part, or the storage engine doesn't support unique prefix keys"
                .into(),
        )),
        Some(length) => Ok(KeyPart { column, prefix_chars: (*length < ty.length).then_some(*length) }),
    }
}

/// Unnamed indexes take their first column's name, with `_2`, `_3`, ... when it is taken.
fn name_indexes(indexes: &mut [NewIndex], columns: &[ColumnDef]) -> Result<(), SqlError> {
    for i in 0..indexes.len() {
        if indexes[i].name.is_empty() {
            let base = columns[indexes[i].parts[0].column].name.clone();
            let taken = |name: &str| indexes.iter().any(|x| value::name::same_name(&x.name, name));
            let numbered = (2..).map(|n| format!("{base}_{n}"));
            let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name));
            indexes[i].name = name.unwrap_or(base);
        } else if indexes[..i].iter().any(|x| value::name::same_name(&x.name, &indexes[i].name)) {
            let text = format!("Duplicate key name '{}'", indexes[i].name);
            return Err(SqlError::Other(1061, "42000", text));
        }
    }
    Ok(())
}

fn check_autoinc(columns: &[ColumnDef], indexes: &[NewIndex]) -> Result<(), SqlError> {
    let automatic: Vec<usize> =
        columns.iter().enumerate().filter(|(_, c)| c.auto_increment).map(|(i, _)| i).collect();
    let is_key = |column| indexes.iter().any(|i| i.parts[0].column == column);
    if automatic.len() > 1 || !automatic.iter().all(|c| is_key(*c)) {
        let text = "Incorrect table definition; there can be only one auto column and it must be defined as a key";
        return Err(SqlError::Other(1075, "42000", text.into()));
    }
    Ok(())
}

fn create_index(create: &ast::CreateIndex, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    let schema = context.schema_of(&create.table)?;
    let deadline = context.env.lock_deadline();
    let table =
        context.tables.open(context.client, &schema, &create.table.name, mdl::Mode::X, deadline)?;
    let index = define_index(&create.index, &context.tables.def(table).columns)?;
    check_name(&index.name, 1280, "Incorrect index name")?;
    let catalog = Arc::clone(context.tables.catalog());
    let name = (schema.as_str(), create.table.name.as_str());
    match catalog.create_index(context.client, context.tables, name, index.clone(), deadline) {
        Err(CatalogError::Storage(base::Error::Duplicate { key, .. })) => {
            Err(explain_duplicate(context, table, &index, &key))
        }
        other => {
            other?;
            let info = "Records: 0  Duplicates: 0  Warnings: 0".to_string();
            Ok(Outcome { info, ..Outcome::default() })
        }
    }
}

/// Finds a row with the duplicate key, so that the message can quote its values.
fn explain_duplicate(
    context: &mut Context<'_>,
    table: catalog::TableRef,
    index: &NewIndex,
    duplicate: &[u8],
) -> SqlError {
    let def = context.tables.def(table);
    let key = format!("{}.{}", def.name, index.name);
    let spec = KeySpec::new(index.parts.clone());
    let source = Source { table, access: &Access::All, filter: None, params: &[] };
    let mut value = String::new();
    let mut encoded = Vec::new();
    let scanned = rows::each(context, source, &mut |row, _| {
        encoded.clear();
        if let Some((layout, bytes)) = row.stored
            && spec.encode_from_row(layout, bytes, &mut encoded).is_ok()
            && duplicate.starts_with(&encoded)
        {
            let parts = index.parts.iter().filter_map(|p| layout.decode(bytes, p.column).ok());
            let texts: Vec<_> = parts
                .map(|d| String::from_utf8_lossy(&crate::eval::text(&d)).into_owned())
                .collect();
            value = texts.join("-");
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    });
    scanned.err().unwrap_or(SqlError::DuplicateEntry { value, key })
}
