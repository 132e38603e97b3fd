//! FOR UPDATE and FOR SHARE: which tables a locking clause is about.
//!
//! 1. A clause is about the tables of its own query block and, through a view that is merged into it, about the
//!    tables of that; never about those of derived tables, common table expressions and subqueries. 2. Behind a set
//!    operation it belongs to the last block, behind parentheses to the block in them. 3. What is wrong with a
//!    clause is said before any table is opened, as MySQL says it when it parses.

use super::Resolver;
use crate::error::PlanError;
use crate::query_plan::RowLock;
use catalog::{INFORMATION_SCHEMA, VirtualRef};
use expr::SqlError;
use parser::ast::{self, Locking, QueryBody, TableRef};

/// Row locks that locking clauses request of the tables of a FROM.
#[derive(Default)]
pub(super) struct RequestedLocks {
    /// The clauses of its query.
    clauses: Vec<Locking>,
    /// What is requested of the view whose query it is.
    of_view: Option<RowLock>,
}

impl RequestedLocks {
    /// What is requested of a view is requested of its tables.
    pub(super) fn of_view(lock: Option<RowLock>) -> RequestedLocks {
        RequestedLocks { clauses: Vec::new(), of_view: lock }
    }
}

/// A table of FROM as locking clauses see it.
struct Named<'a> {
    schema: Option<&'a str>,
    name: &'a str,
    kind: Kind,
}

#[derive(PartialEq)]
enum Kind {
    Table,
    Derived,
    /// JSON_TABLE, which MySQL takes for locked already.
    Function,
}

impl Resolver<'_, '_> {
    /// Takes over the locking clauses of a SELECT.
    ///
    /// # Errors
    /// 3568 of a table that is not in FROM, 3569 of one that two clauses are about.
    pub(super) fn enter_locking(
        &mut self,
        from: &[TableRef],
        clauses: &[Locking],
    ) -> Result<(), SqlError> {
        self.locking.clauses.clear();
        if clauses.is_empty() {
            return Ok(());
        }
        let mut tables = Vec::new();
        from.iter().for_each(|table| collect(table, &mut tables));
        let mut locked: Vec<bool> = tables.iter().map(|t| t.kind != Kind::Table).collect();
        for clause in clauses {
            if clause.of.is_empty() {
                for (table, locked) in tables.iter().zip(&mut locked) {
                    if table.kind != Kind::Derived && std::mem::replace(locked, true) {
                        return Err(twice(table.name));
                    }
                }
            }
            for name in &clause.of {
                let found = tables.iter().position(|t| self.is_called(t, name));
                let Some(found) = found else { return Err(unresolved(name)) };
                if std::mem::replace(&mut locked[found], true) {
                    return Err(twice(&quoted(name)));
                }
            }
        }
        self.locking.clauses.extend_from_slice(clauses);
        Ok(())
    }

    fn is_called(&self, table: &Named<'_>, name: &ast::ObjectName) -> bool {
        let schema = table.schema.or(self.context.database);
        table.name == name.name && name.schema.as_deref().is_none_or(|s| Some(s) == schema)
    }

    /// The row lock that is requested of a table of FROM.
    pub(super) fn lock_of(&self, alias: &str) -> Option<RowLock> {
        self.locking.of_view.or_else(|| {
            let of = |l: &&Locking| l.of.is_empty() || l.of.iter().any(|name| name.name == alias);
            let clause = self.locking.clauses.iter().find(of)?;
            Some(RowLock { exclusive: clause.update, wait: clause.wait })
        })
    }

    /// Whether a clause may be about a virtual table: FOR UPDATE where its rows can be changed; FOR SHARE has nothing to lock
    /// there.
    ///
    /// # Errors
    /// 1142; 3550 for FOR SHARE of a view of information_schema.
    pub(super) fn refuse_lock_of(&self, table: &VirtualRef, alias: &str) -> Result<(), SqlError> {
        let Some(lock) = self.lock_of(alias) else { return Ok(()) };
        let def = table.def();
        if lock.exclusive && table.table().changes().is_none() {
            let verb = "SELECT with locking clause".to_string();
            return Err(self.context.rights.denied_table(verb, &def.name).into());
        }
        match def.schema == INFORMATION_SCHEMA && table.is_view() {
            true => Err(PlanError::SharedInformation.into()),
            false => Ok(()),
        }
    }
}

/// The query with its locking clauses where they belong, when that is not where they are written.
pub(super) fn moved_inside(query: &ast::Query) -> Option<ast::Query> {
    if query.locking.is_empty() {
        return None;
    }
    let mut query = query.clone();
    let locking = std::mem::take(&mut query.locking);
    match &mut query.body {
        QueryBody::Nested(nested) => nested.locking.extend(locking),
        QueryBody::SetOperation { right, .. } => match &mut **right {
            QueryBody::Nested(nested) => nested.locking.extend(locking),
            other => {
                let body = std::mem::replace(other, QueryBody::Values(Vec::new()));
                let last = ast::Query { locking, ..ast::Query::of(body) };
                *other = QueryBody::Nested(Box::new(last));
            }
        },
        QueryBody::Values(_) => {}
        QueryBody::Select(_) | QueryBody::Table(_) => return None,
    }
    Some(query)
}

fn collect<'a>(table: &'a TableRef, out: &mut Vec<Named<'a>>) {
    match table {
        TableRef::Table(factor) => out.push(Named {
            schema: factor.name.schema.as_deref(),
            name: factor.alias.as_deref().unwrap_or(&factor.name.name),
            kind: Kind::Table,
        }),
        TableRef::Derived { alias, .. } => {
            out.push(Named { schema: None, name: alias, kind: Kind::Derived });
        }
        TableRef::JsonTable(json) => {
            out.push(Named { schema: None, name: &json.alias, kind: Kind::Function });
        }
        TableRef::Join(join) => {
            collect(&join.left, out);
            collect(&join.right, out);
        }
        TableRef::List(list) => list.iter().for_each(|table| collect(table, out)),
    }
}

fn quoted(name: &ast::ObjectName) -> String {
    match &name.schema {
        Some(schema) => format!("`{schema}`.`{}`", name.name),
        None => format!("`{}`", name.name),
    }
}

fn unresolved(name: &ast::ObjectName) -> SqlError {
    PlanError::UnresolvedLock(&quoted(name)).into()
}

fn twice(name: &str) -> SqlError {
    PlanError::LockedTwice(name).into()
}
