//! Views: their query is kept as text and planned anew whenever the view is used.
//!
//! 1. A view's query is planned when the view is made: names must exist then, and its columns and types are
//! what the plan yields. 2. Unqualified names lie in the schema that was current then.

use super::error::DdlError;
use super::names::check_name;
use super::note;
use crate::{Context, Outcome, SqlError, WarningLevel};
use access::{Account, AccountName, Privileges};
use catalog::{CatalogError, ColumnDef, DefaultValue, FullName, TableDef, ViewDef};
use parser::ast::{self, CheckOption, ViewAlgorithm};
use parser::token::TokenKind;
use planner::PlanError;
use planner::canonical::QueryTexts;
use planner::query_plan::QueryStatement;
use std::sync::Arc;
use value::{ColumnType, Kind};

/// CREATE [OR REPLACE] VIEW; with `must_exist`, ALTER VIEW.
///
/// # Errors
/// MySQL's errors of the query and of the name.
pub fn create_view(
    create: &ast::CreateView,
    must_exist: bool,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    check_name(&create.name.name, DdlError::TableName)?;
    let schema = context.schema_of(&create.name)?;
    let catalog = Arc::clone(context.tables.catalog());
    if catalog.schema(&schema).is_none() {
        return Err(CatalogError::UnknownDatabase(schema).into());
    }
    let text = String::from_utf8_lossy(&create.text).trim().to_string();
    refuse(create, &text)?;
    let create = &match must_exist {
        true => with_what_was(create, &schema, &catalog)?,
        false => create.clone(),
    };
    let definer = definer(create, context);
    if create.definer.is_some() {
        check_definer(&definer, context)?;
    }
    let plan = planner::query::plan_query(&mut of_view(context), &create.query)?;
    for (table, _) in &plan.tables {
        let def = context.tables.def(*table);
        if def.temporary {
            return Err(DdlError::ViewOfTemporary(&def.name).into());
        }
    }
    // What MySQL's printed form is not known of stays as it is written.
    let current = context.env.database().map_or_else(|| schema.clone(), str::to_string);
    let own_names = create.columns.is_empty();
    let texts = planner::canonical::query_texts(&context.planning(), &create.query, own_names);
    let texts = texts.unwrap_or_else(|_| QueryTexts {
        full: text.clone(),
        shown: text,
        home: current,
        names: Vec::new(),
    });
    let names = if own_names { &texts.names } else { &create.columns };
    let columns = result_columns(names, &plan, true, context)?;
    let block = planner::resolve::resolve(&mut of_view(context), &create.query)?.block;
    let updatable =
        create.algorithm != ViewAlgorithm::TempTable && planner::resolve::is_updatable(&block);
    if create.check.is_some() && !updatable {
        return Err(DdlError::CheckOption(&schema, &create.name.name).into());
    }
    let collation = catalog.schema(&schema).map_or(context.env.server_collation(), |s| s.collation);
    let mut def = TableDef::new(&schema, &create.name.name, columns, collation);
    def.comment = "VIEW".into();
    def.created_us = context.env.now_us();
    let mut view = view_def(create, texts, (definer, updatable), context);
    if create.algorithm == ViewAlgorithm::Merge && !planner::resolve::is_mergeable(&block) {
        view.algorithm = "UNDEFINED".into();
        let text = "View merge algorithm can't be used here for now (assumed undefined algorithm)";
        context.env.warn(WarningLevel::Warning, 1354, text.into());
    }
    def.view = Some(Box::new(view));
    let deadline = context.env.lock_deadline();
    let how = (create.or_replace, must_exist);
    catalog.create_view(context.client, context.tables, def, how, deadline)?;
    Ok(Outcome::default())
}

/// Planning of the query of a view that is made.
fn of_view<'c>(context: &'c mut Context<'_>) -> planner::PlanContext<'c> {
    planner::PlanContext { makes_view: true, ..context.planning() }
}

/// What the dictionary keeps of a view besides its columns.
fn view_def(
    create: &ast::CreateView,
    texts: QueryTexts,
    (definer, updatable): ((String, String), bool),
    context: &Context<'_>,
) -> ViewDef {
    let QueryTexts { full: query, shown: text, home: database, .. } = texts;
    let connection = context.env.connection_collation();
    let algorithm = match create.algorithm {
        ViewAlgorithm::Undefined => "UNDEFINED",
        ViewAlgorithm::Merge => "MERGE",
        ViewAlgorithm::TempTable => "TEMPTABLE",
    };
    let check = create.check.map(|check| match check {
        CheckOption::Cascaded => "CASCADED".into(),
        CheckOption::Local => "LOCAL".into(),
    });
    ViewDef {
        query,
        text,
        database,
        algorithm: algorithm.into(),
        definer,
        invoker: create.invoker.unwrap_or(false),
        check,
        updatable,
        listed: !create.columns.is_empty(),
        client_charset: connection.charset().name().into(),
        connection_collation: connection.name().into(),
    }
}

/// DROP VIEW.
///
/// # Errors
/// 1051, 1347, 1227.
pub fn drop_view(drop: &ast::DropView, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    let full = |name: &ast::ObjectName| -> Result<FullName, SqlError> {
        Ok((context.schema_of(name)?, name.name.clone()))
    };
    let names = drop.views.iter().map(full).collect::<Result<Vec<_>, _>>()?;
    let catalog = Arc::clone(context.tables.catalog());
    for (schema, name) in &names {
        let found = catalog.definition(schema, name)?;
        if let Some(view) = found.as_ref().and_then(|found| found.def.view.as_deref()) {
            check_system_user(&view.definer, context)?;
        }
    }
    let deadline = context.env.lock_deadline();
    let missing =
        catalog.drop_views(context.client, context.tables, &names, drop.if_exists, deadline)?;
    for name in missing {
        note(context, CatalogError::UnknownTables(name));
    }
    Ok(Outcome::default())
}

/// What a view's query may not hold.
fn refuse(create: &ast::CreateView, text: &str) -> Result<(), SqlError> {
    if create.query.into.is_some() {
        return Err(DdlError::ViewClause("INTO").into());
    }
    let mut lexer = parser::lex::Lexer::new(text.as_bytes(), 0, parser::SqlMode::default());
    loop {
        match lexer.next_token().kind {
            TokenKind::End | TokenKind::Bad => return Ok(()),
            TokenKind::UserVar | TokenKind::SystemAt => {
                return Err(DdlError::ViewVariable.into());
            }
            _ => {}
        }
    }
}

/// The columns that a query's result makes; `names` are given ones, or none are.
///
/// # Errors
/// 1353, 1060, 1166.
pub fn result_columns(
    names: &[String],
    plan: &QueryStatement,
    of_view: bool,
    context: &Context<'_>,
) -> Result<Vec<ColumnDef>, SqlError> {
    let outputs = &plan.query.outputs;
    if !names.is_empty() && names.len() != outputs.len() {
        return Err(PlanError::ColumnListCount.into());
    }
    let mut columns: Vec<ColumnDef> = Vec::with_capacity(outputs.len());
    for (position, output) in outputs.iter().enumerate() {
        let result = &output.column;
        let name = match names.get(position) {
            Some(name) => name.clone(),
            None if result.name.chars().count() > 64 => format!("Name_exp_{}", position + 1),
            None => result.name.clone(),
        };
        check_name(&name, DdlError::ColumnName)?;
        let tables = plan.tables.iter().map(|(table, _)| context.tables.def(*table));
        let source = tables
            .filter(|def| def.name == result.org_table && def.schema == result.schema)
            .find_map(|def| def.columns.get(def.column(&result.org_name)?));
        let mut ty = output.value.ty;
        // A column of an outer join's inner side may be NULL although its table's column never is.
        ty.nullable = match source {
            Some(column) => column.ty.nullable || ty.nullable,
            None => result.ty.nullable,
        };
        if source.is_none() && !has_own_kind(&output.value.expr, &ty) {
            ty = column_type_of(ty, if of_view { 9 } else { 11 });
        }
        if of_view && ty.kind.is_large() {
            // What is computed says how long it may be: a column does not.
            ty = ColumnType { nullable: ty.nullable, ..ColumnType::large(ty.kind, ty.collation) };
        }
        let default = match source {
            Some(column) if column.auto_increment => DefaultValue::Int(0),
            // MySQL forgets what was given for bits.
            Some(column) if column.ty.kind == Kind::Bit && ty.nullable => DefaultValue::Null,
            Some(column) if column.ty.kind == Kind::Bit => DefaultValue::Bytes(vec![0]),
            Some(column) if column.generated.is_none() => column.default.clone(),
            Some(_) => DefaultValue::Null,
            None if ty.nullable => DefaultValue::Null,
            None => zero(&ty, if of_view { 0 } else { context.env.sql_mode() }),
        };
        let mut column = ColumnDef { default, ..ColumnDef::new(name, ty) };
        if let Some(source) = source.filter(|s| s.ty.kind != Kind::Bit) {
            column.comment.clone_from(&source.comment);
        }
        if let Some(source) = source.filter(|_| !of_view) {
            column.on_update = source.on_update;
            column.own_collation = source.own_collation;
        }
        columns.push(column);
    }
    super::names::check_columns(&columns)?;
    Ok(columns)
}

/// Whether a value is of the kind of the column, or of one of the arguments, that it comes from; of integers that is so
/// for columns and IFNULL alone.
fn has_own_kind(value: &expr::Expr, ty: &ColumnType) -> bool {
    const CHOOSING: &[&str] =
        &["coalesce", "ifnull", "if", "nullif", "greatest", "least", "any_value"];
    match value {
        expr::Expr::Column(_) => true,
        expr::Expr::Call(site) if ty.kind.is_int() => site.function.name == "ifnull",
        _ if ty.kind.is_int() => false,
        expr::Expr::Case(..) | expr::Expr::Subquery(..) => true,
        expr::Expr::Call(site) => CHOOSING.contains(&site.function.name),
        _ => false,
    }
}

/// The type of the column that an expression's values are kept in: an integer that is not known to be longer than so
/// many characters is an INT, a longer one a BIGINT.
fn column_type_of(ty: ColumnType, int_chars: u32) -> ColumnType {
    if !ty.kind.is_int() {
        return ty;
    }
    let chars = match ty.kind {
        Kind::BigInt => ty.length,
        _ => expr::build::widths::int_width(&ty),
    };
    let kind = if (1..=int_chars).contains(&chars) { Kind::Int } else { Kind::BigInt };
    ColumnType { nullable: ty.nullable, ..ColumnType::int(kind, ty.unsigned) }
}

/// The default of a column that is never NULL and comes from an expression.
fn zero(ty: &ColumnType, sql_mode: u64) -> DefaultValue {
    use expr::functions::moments::mode::NO_ZERO_DATE;
    let text = |text: String| DefaultValue::Bytes(text.into_bytes());
    match ty.kind {
        kind if kind.is_int() => DefaultValue::Int(0),
        Kind::Decimal => text(format!("{:.*}", usize::from(ty.decimals), 0.0)),
        Kind::Double | Kind::Float if ty.decimals < value::types::NOT_FIXED => {
            text(format!("{:.*}", usize::from(ty.decimals), 0.0))
        }
        Kind::Double | Kind::Float => text("0".into()),
        Kind::Year => text("0000".into()),
        Kind::Bit => DefaultValue::Bytes(vec![0]),
        Kind::Time => text(value::Time::ZERO.round(ty.decimals).to_string()),
        Kind::Json => DefaultValue::None,
        kind if kind.is_large() => DefaultValue::None,
        kind if kind.has_date() && sql_mode & NO_ZERO_DATE != 0 => DefaultValue::None,
        Kind::Date => text(value::Date::ZERO.to_string()),
        Kind::DateTime | Kind::Timestamp => {
            text(value::DateTime::ZERO.with_fsp(ty.decimals).to_string())
        }
        _ => DefaultValue::Bytes(Vec::new()),
    }
}

/// ALTER VIEW as if it said what it leaves as it was: the definer, whose rights count, the algorithm.
///
/// # Errors
/// Those of the dictionary; whether there is such a view is the business of who changes it.
fn with_what_was(
    alter: &ast::CreateView,
    schema: &str,
    catalog: &catalog::Catalog,
) -> Result<ast::CreateView, SqlError> {
    let mut filled = alter.clone();
    let found = catalog.definition(schema, &alter.name.name)?;
    let Some(was) = found.as_ref().and_then(|found| found.def.view.as_deref()) else {
        return Ok(filled);
    };
    let (user, host) = was.definer.clone();
    filled.definer.get_or_insert(ast::Account::Named { user, host });
    filled.invoker.get_or_insert(was.invoker);
    if filled.algorithm == ViewAlgorithm::Undefined {
        filled.algorithm = match was.algorithm.as_str() {
            "MERGE" => ViewAlgorithm::Merge,
            "TEMPTABLE" => ViewAlgorithm::TempTable,
            _ => ViewAlgorithm::Undefined,
        };
    }
    Ok(filled)
}

/// Whether the session may make a view that acts as this account. One that is not there is noted.
///
/// # Errors
/// 1227.
fn check_definer(definer: &(String, String), context: &mut Context<'_>) -> Result<(), SqlError> {
    let name = AccountName::new(&definer.0, &definer.1);
    let rights = context.env.rights();
    if name == rights.name {
        return Ok(());
    }
    rights.check_global(Privileges::SUPER, &["SET_ANY_DEFINER"], "SUPER or SET_ANY_DEFINER")?;
    if context.tables.catalog().accounts().find(&name).is_some() {
        return check_system_user(definer, context);
    }
    let words = "SUPER or ALLOW_NONEXISTENT_DEFINER";
    rights.check_global(Privileges::SUPER, &["ALLOW_NONEXISTENT_DEFINER"], words)?;
    let account = name.to_string();
    let (number, _, text) = SqlError::from(PlanError::NoSuchDefiner(&account)).parts();
    context.env.warn(WarningLevel::Note, number, text);
    Ok(())
}

/// What acts as an account that has SYSTEM_USER, or a role that has it, is made, altered and dropped by such sessions alone.
///
/// # Errors
/// 1227.
fn check_system_user(definer: &(String, String), context: &Context<'_>) -> Result<(), SqlError> {
    const SYSTEM_USER: &str = "SYSTEM_USER";
    let accounts = context.tables.catalog().accounts();
    let Some(found) = accounts.find(&AccountName::new(&definer.0, &definer.1)) else {
        return Ok(());
    };
    let has = |account: &Arc<Account>| account.grants.dynamic.contains_key(SYSTEM_USER);
    match has(found) || accounts.closure(found.roles.keys()).iter().any(has) {
        true => {
            let rights = context.env.rights();
            Ok(rights.check_global(Privileges::NONE, &[SYSTEM_USER], SYSTEM_USER)?)
        }
        false => Ok(()),
    }
}

/// User and host: as written, else the session's account.
fn definer(create: &ast::CreateView, context: &Context<'_>) -> (String, String) {
    if let Some(ast::Account::Named { user, host }) = &create.definer {
        return (user.clone(), host.clone());
    }
    let account = &context.env.rights().name;
    (account.user.clone(), account.host.clone())
}
