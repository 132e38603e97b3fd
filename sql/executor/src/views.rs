//! Virtual tables: their rows as a source of SELECT, and MySQL's refusals of everything else.

use crate::ExecError;
use crate::kind::Kind;
use crate::{Context, SqlError};
use catalog::{INFORMATION_SCHEMA, MYSQL_SCHEMA, PERFORMANCE_SCHEMA, VirtualRef, virtual_schema};
use expr::tree::Comparison;
use expr::{Environment, Expr, Row, eval};
use parser::ast::{Ddl, ObjectName, TableRef};
use planner::dml::Dml;
use value::Datum;

/// Columns of a virtual table (leaf `leaf`) that every row the filter lets through has equal to a text: the
/// table need not make other rows.
///
/// # Errors
/// Those of evaluating the texts.
pub fn collect_equal(
    filter: &Expr,
    leaf: u16,
    row: &Row<'_>,
    env: &mut dyn Environment,
    out: &mut Vec<(usize, String)>,
) -> Result<(), SqlError> {
    match filter {
        Expr::And(a, b) => {
            collect_equal(a, leaf, row, env, out)?;
            collect_equal(b, leaf, row, env, out)?;
        }
        Expr::Compare(Comparison::Eq, a, b, _) => {
            let (column, value) = match (&**a, &**b) {
                (Expr::Column(c), value) | (value, Expr::Column(c)) => (c, value),
                _ => return Ok(()),
            };
            if column.depth == 0
                && column.leaf == leaf
                && is_constant(value)
                && let Datum::Bytes(text) = eval(value, row, env)?.get()
                && let Ok(text) = std::str::from_utf8(text)
            {
                out.push((usize::from(column.column), text.to_string()));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Neither a column nor a subquery is inside.
fn is_constant(expr: &Expr) -> bool {
    let mut constant = expr.is_row_constant();
    expr.visit(&mut |e| {
        constant &= !matches!(e, Expr::Subquery(..) | Expr::Exists(_) | Expr::Quantified(_));
    });
    constant
}

/// Refuses a statement that would change a virtual table or schema, as MySQL does: by privilege.
///
/// # Errors
/// 1044 for `information_schema` and for definitions, 1142 for rows of the others, 3552 for the schema `mysql`, 1109, 1146
/// and 1051 for tables that do not exist.
pub(crate) fn refuse(kind: Kind<'_>, context: &Context<'_>) -> Result<(), SqlError> {
    match kind {
        Kind::Dml(dml) => refuse_dml(dml, context),
        Kind::Ddl(ddl) => refuse_ddl(ddl, context),
        Kind::Show(_) | Kind::Explain(_) | Kind::Maintain(_) => Ok(()),
    }
}

fn refuse_dml(dml: Dml<'_>, context: &Context<'_>) -> Result<(), SqlError> {
    match dml {
        Dml::Insert(insert) if insert.replace => {
            refuse_change(&insert.table, "INSERT, DELETE", context)
        }
        Dml::Insert(insert) => refuse_change(&insert.table, "INSERT", context),
        Dml::Update(update) => refuse_changes(&update.tables, "UPDATE", context),
        Dml::Delete(delete) => refuse_changes(&delete.tables, "DELETE", context),
        // The planner refuses LOAD DATA.
        Dml::Query(_) | Dml::Load(_) | Dml::Do(_) => Ok(()),
    }
}

fn refuse_ddl(ddl: &Ddl, context: &Context<'_>) -> Result<(), SqlError> {
    let change = |name: &ObjectName, verb| refuse_change(name, verb, context);
    let define = |name: &ObjectName| match schema_of(name, context) {
        Some(schema) => Err(denied_schema(schema, context)),
        None => Ok(()),
    };
    let define_schema = |name: &str| match virtual_schema(name) {
        Some(MYSQL_SCHEMA) => Err(ExecError::SystemSchema(MYSQL_SCHEMA).into()),
        Some(schema) => Err(denied_schema(schema, context)),
        None => Ok(()),
    };
    match ddl {
        Ddl::Truncate(name, _) => match truncatable(name, context)? {
            Some(_) => Ok(()),
            None => change(name, "DROP"),
        },
        Ddl::DropTable(drop) => drop.tables.iter().try_for_each(|name| {
            match change(name, "DROP") {
                // DROP TABLE has its own words for what is not there.
                Err(SqlError::Catalog(_)) => Ok(()),
                other => other,
            }
        }),
        Ddl::CreateTable(create) => define(&create.name),
        Ddl::AlterTable(alter) => define(&alter.table),
        Ddl::CreateView(create) | Ddl::AlterView(create) => define(&create.name),
        Ddl::CreateIndex(create) => define(&create.table),
        Ddl::DropIndex(drop) => define(&drop.table),
        Ddl::RenameTable(pairs, _) => {
            pairs.iter().try_for_each(|(from, to)| define(from).and_then(|()| define(to)))
        }
        // It exists; the statement says so.
        Ddl::CreateDatabase(create) if create.if_not_exists && create.name == MYSQL_SCHEMA => {
            Ok(())
        }
        Ddl::CreateDatabase(create) => define_schema(&create.name),
        Ddl::AlterDatabase(alter) => {
            let name = alter.name.as_deref().or(context.env.database());
            name.map_or(Ok(()), define_schema)
        }
        Ddl::DropDatabase(drop) => define_schema(&drop.name),
        // Its views are looked up by the statement itself.
        Ddl::DropView(_) => Ok(()),
    }
}

/// The virtual table that TRUNCATE empties.
pub fn truncatable(
    name: &ObjectName,
    context: &Context<'_>,
) -> Result<Option<VirtualRef>, SqlError> {
    match schema_of(name, context) {
        Some(PERFORMANCE_SCHEMA) => {
            let found = context.tables.catalog().virtual_table(PERFORMANCE_SCHEMA, &name.name)?;
            Ok(found.filter(|view| view.table().truncatable()))
        }
        _ => Ok(None),
    }
}

/// The virtual schema that a name lies in.
fn schema_of(name: &ObjectName, context: &Context<'_>) -> Option<&'static str> {
    virtual_schema(name.schema.as_deref().or(context.env.database())?)
}

fn refuse_changes(tables: &[TableRef], verb: &str, context: &Context<'_>) -> Result<(), SqlError> {
    tables.iter().try_for_each(|table| match table {
        TableRef::Table(factor) => refuse_change(&factor.name, verb, context),
        TableRef::List(list) => refuse_changes(list, verb, context),
        // More than one table is refused by the planner.
        _ => Ok(()),
    })
}

fn refuse_change(name: &ObjectName, verb: &str, context: &Context<'_>) -> Result<(), SqlError> {
    match schema_of(name, context) {
        None => Ok(()),
        Some(INFORMATION_SCHEMA) => Err(denied_schema(INFORMATION_SCHEMA, context)),
        Some(schema) => match context.tables.catalog().virtual_table(schema, &name.name)? {
            Some(table) if may(verb, &table) => Ok(()),
            Some(table) => Err(denied(verb, &table.def().name, context)),
            None => Ok(()),
        },
    }
}

/// Whether the table's rows can be changed so.
fn may(verb: &str, table: &VirtualRef) -> bool {
    let Some(changes) = table.table().changes() else { return false };
    match verb {
        "UPDATE" => true,
        "INSERT" => changes.insert.is_some(),
        "DELETE" => changes.delete.is_some(),
        "INSERT, DELETE" => changes.insert.is_some() && changes.delete.is_some(),
        _ => false,
    }
}

pub(crate) fn denied_schema(schema: &str, context: &Context<'_>) -> SqlError {
    ExecError::SchemaDenied(&context.env.account(), schema).into()
}

pub(crate) fn denied(verb: &str, table: &str, context: &Context<'_>) -> SqlError {
    context.env.rights().denied_table(verb.to_string(), table).into()
}
