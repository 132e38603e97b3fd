//! Plans of SELECT over one table or none; what needs more answers 1235.

use crate::PlanContext;
use crate::access::{self, IndexChoice};
use crate::bind::Scope;
use crate::plan::{Access, KeyFlags, Output, ResultColumn, SelectPlan, SortKey};
use catalog::{DefaultValue, TableDef, TableRef, VirtualRef};
use expr::SqlError;
use expr::tree::{AggregateCall, Column, Expr, OwnedDatum, Typed, columns_of};
use mdl::Mode;
use parser::ast::{self, Query, QueryBody, Select, SelectItem, TableFactor};

/// A query with its result columns.
pub fn plan_query(context: &mut PlanContext<'_>, query: &Query) -> Result<SelectPlan, SqlError> {
    if query.with.is_some() {
        return Err(SqlError::unsupported("WITH"));
    }
    if query.into.is_some() {
        return Err(SqlError::unsupported("SELECT ... INTO"));
    }
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::SetOperation { op, .. } => {
            return Err(SqlError::unsupported(format!("{op:?}").to_ascii_uppercase()));
        }
        QueryBody::Nested(_) => {
            return Err(SqlError::unsupported("parenthesised query expression"));
        }
        QueryBody::Values(_) => return Err(SqlError::unsupported("VALUES statement")),
        QueryBody::Table(_) => return Err(SqlError::unsupported("TABLE statement")),
    };
    refuse_unplanned(select)?;
    let locking = query.locking.iter().any(|l| l.update);
    if query.locking.iter().any(|l| !l.update || l.wait != ast::LockWait::Wait) {
        return Err(SqlError::unsupported("FOR SHARE, NOWAIT and SKIP LOCKED"));
    }
    let factor = single_table(&select.from)?;
    let mode = if locking { Mode::SW } else { Mode::SR };
    let made = factor.map(|f| context.virtual_table(&f.name)).transpose()?.flatten();
    let stored = factor.filter(|_| made.is_none());
    let table = stored.map(|f| context.open(&f.name, mode)).transpose()?;
    let collation = context.collation;
    let def = table.map(|t| context.tables.def(t)).or(made.as_ref().map(VirtualRef::def));
    let alias = factor.map(|f| f.alias.as_deref().unwrap_or(&f.name.name));
    let choice = factor.map(|f| index_choice(def.expect("opened above"), f)).transpose()?;
    let named = def.zip(alias);
    Builder { query, select, table, made: made.as_ref(), named, locking, collation }
        .build(&choice.unwrap_or_default())
}

fn refuse_unplanned(select: &Select) -> Result<(), SqlError> {
    if select.rollup {
        return Err(SqlError::unsupported("WITH ROLLUP"));
    }
    if !select.windows.is_empty() {
        return Err(SqlError::unsupported("WINDOW"));
    }
    if select.options.calc_found_rows {
        return Err(SqlError::unsupported("SQL_CALC_FOUND_ROWS"));
    }
    Ok(())
}

/// The one base table of a FROM clause.
pub fn single_table(from: &[ast::TableRef]) -> Result<Option<&TableFactor>, SqlError> {
    match from {
        [] => Ok(None),
        [ast::TableRef::Table(factor)] if factor.partitions.is_empty() => {
            let dual =
                factor.name.schema.is_none() && factor.name.name.eq_ignore_ascii_case("dual");
            Ok((!dual).then_some(factor))
        }
        [ast::TableRef::Table(_)] => Err(SqlError::unsupported("PARTITION")),
        [ast::TableRef::Derived { .. }] => Err(SqlError::unsupported("derived table")),
        [ast::TableRef::JsonTable { .. }] => Err(SqlError::unsupported("JSON_TABLE")),
        [ast::TableRef::List(list)] => single_table(list),
        _ => Err(SqlError::unsupported("JOIN")),
    }
}

/// What index hints leave; a hint for a missing index is error 1176.
pub fn index_choice(def: &TableDef, factor: &TableFactor) -> Result<IndexChoice, SqlError> {
    let mut choice = IndexChoice::default();
    for hint in &factor.index_hints {
        for name in &hint.indexes {
            let is_usable = |i: &catalog::IndexDef| {
                !i.attributes.invisible && value::name::same_name(&i.name, name)
            };
            if !def.indexes.iter().any(is_usable) {
                let text = format!("Key '{name}' doesn't exist in table '{}'", def.name);
                return Err(SqlError::Other(1176, "42000", text));
            }
        }
        match hint.kind {
            ast::IndexHintKind::Ignore => choice.never.extend(hint.indexes.iter().cloned()),
            _ => choice.only.get_or_insert_default().extend(hint.indexes.iter().cloned()),
        }
    }
    Ok(choice)
}

struct Builder<'a> {
    query: &'a Query,
    select: &'a Select,
    table: Option<TableRef>,
    made: Option<&'a VirtualRef>,
    named: Option<(&'a TableDef, &'a str)>,
    locking: bool,
    collation: value::Collation,
}

impl<'a> Builder<'a> {
    fn build(self, choice: &IndexChoice) -> Result<SelectPlan, SqlError> {
        let mut aggregates = Vec::new();
        let outputs = self.outputs(&mut aggregates)?;
        let filter = self.bind_optional(self.select.filter.as_ref(), "where clause")?;
        let group_by = self
            .select
            .group_by
            .iter()
            .map(|item| self.bind_key(&item.expr, &outputs, "group statement", &mut Vec::new()))
            .collect::<Result<Vec<_>, _>>()?;
        let having = match &self.select.having {
            None => None,
            Some(expr) => {
                Some(self.bind_key(expr, &outputs, "having clause", &mut aggregates)?.expr)
            }
        };
        let mut order_by = Vec::new();
        for item in &self.query.order_by {
            let value = self.bind_key(&item.expr, &outputs, "order clause", &mut aggregates)?;
            order_by.push(SortKey { value, descending: item.descending });
        }
        let grouped = !aggregates.is_empty() || !group_by.is_empty();
        if grouped {
            require_grouped(&outputs, &group_by, self.named.map(|(def, _)| def))?;
        } else if having.is_some() {
            return Err(SqlError::unsupported("HAVING without GROUP BY"));
        }
        let access = match self.named {
            None => Access::NoTable,
            Some(_) if self.made.is_some() => Access::All,
            Some((def, _)) => access::choose(def, filter.as_ref(), choice),
        };
        let values = outputs.iter().map(|o| &o.value.expr);
        let keys = group_by.iter().chain(order_by.iter().map(|k| &k.value)).map(|k| &k.expr);
        let arguments = aggregates.iter().map(|a| &a.argument);
        let columns = columns_of(values.chain(keys).chain(arguments).chain(&filter).chain(&having));
        Ok(SelectPlan {
            columns,
            table: self.table,
            made: self.made.cloned(),
            access,
            filter,
            outputs,
            aggregates,
            group_by,
            grouped,
            having,
            distinct: self.select.options.distinct,
            order_by,
            limit: self.query.limit.as_ref().map(bind_limit).transpose()?,
            locking: self.locking,
        })
    }

    fn bind_optional(
        &self,
        expr: Option<&ast::Expr>,
        clause: &'static str,
    ) -> Result<Option<Expr>, SqlError> {
        let mut scope = Scope::new(self.named, clause).collated(self.collation);
        expr.map(|e| scope.bind(e).map(|typed| typed.expr)).transpose()
    }

    fn outputs(&self, aggregates: &mut Vec<AggregateCall>) -> Result<Vec<Output>, SqlError> {
        let mut outputs = Vec::new();
        for item in &self.select.items {
            match item {
                SelectItem::Wildcard(name) => self.wildcard(name.as_ref(), &mut outputs)?,
                SelectItem::Expr { expr, alias, text } => {
                    let mut scope = Scope::new(self.named, "field list").collated(self.collation);
                    scope.aggregates = Some(aggregates);
                    let value = scope.bind(expr)?;
                    // A column is called as it was written, a wildcard's as it was defined.
                    let written = match expr {
                        ast::Expr::Column(column) => &column.column,
                        _ => text,
                    };
                    outputs.push(self.output(value, alias.as_deref().unwrap_or(written)));
                }
            }
        }
        Ok(outputs)
    }

    fn output(&self, value: Typed, name: &str) -> Output {
        let column = match (&value.expr, self.named) {
            (Expr::Column(place), Some((def, table))) => {
                table_column(def, table, usize::from(place.column), name)
            }
            _ => ResultColumn {
                null_literal: value.expr == Expr::Const(OwnedDatum::Null),
                ..ResultColumn::computed(name, value.ty, value.ty.decimals)
            },
        };
        Output { value, column }
    }

    fn wildcard(
        &self,
        of: Option<&ast::ObjectName>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), SqlError> {
        let Some((def, alias)) = self.named else {
            return Err(SqlError::Other(1096, "HY000", "No tables used".into()));
        };
        if let Some(name) = of.filter(|n| n.name != alias) {
            return Err(SqlError::Other(1051, "42S02", format!("Unknown table '{}'", name.name)));
        }
        let listed = def.columns.iter().enumerate().filter(|(_, c)| c.is_listed());
        for (position, column) in listed {
            let value = Typed::new(Expr::Column(Column::first(position)), column.ty);
            outputs
                .push(Output { value, column: table_column(def, alias, position, &column.name) });
        }
        Ok(())
    }

    /// ORDER BY, GROUP BY and HAVING see output aliases and, as bare numbers, output positions.
    fn bind_key(
        &self,
        expr: &ast::Expr,
        outputs: &[Output],
        clause: &'static str,
        aggregates: &mut Vec<AggregateCall>,
    ) -> Result<Typed, SqlError> {
        if let ast::Expr::Literal(ast::Literal::Int(position)) = expr
            && clause != "having clause"
        {
            let output =
                usize::try_from(*position).ok().and_then(|p| outputs.get(p.checked_sub(1)?));
            let unknown = || SqlError::UnknownColumn { name: position.to_string(), clause };
            return Ok(output.ok_or_else(unknown)?.value.clone());
        }
        if let ast::Expr::Column(ast::ColumnRef { schema: None, table: None, column }) = expr
            && let Some(output) =
                outputs.iter().find(|o| value::name::same_name(&o.column.name, column))
        {
            return Ok(output.value.clone());
        }
        let mut scope = Scope::new(self.named, clause).collated(self.collation);
        scope.aggregates = Some(aggregates);
        if clause != "group statement" {
            scope.aliases = outputs;
        }
        scope.bind(expr)
    }
}

/// Result column of a table's column.
pub fn table_column(def: &TableDef, alias: &str, position: usize, name: &str) -> ResultColumn {
    let column = &def.columns[position];
    let first_of = |unique: bool| {
        def.secondaries().iter().any(|i| {
            i.parts.first().is_some_and(|p| p.column == position)
                && (i.unique && i.parts.len() == 1) == unique
        })
    };
    ResultColumn {
        schema: def.schema.clone(),
        table: alias.to_string(),
        org_table: def.name.clone(),
        name: name.to_string(),
        org_name: column.name.clone(),
        ty: column.ty,
        decimals: column.ty.decimals,
        null_literal: false,
        keys: KeyFlags {
            primary: def
                .primary()
                .is_some_and(|p| p.parts.iter().any(|part| part.column == position)),
            unique: first_of(true),
            multiple: first_of(false),
            auto_increment: column.auto_increment,
            no_default: !column.ty.nullable
                && column.default == DefaultValue::None
                && !column.auto_increment,
        },
    }
}

/// ONLY_FULL_GROUP_BY: an output that is neither grouped nor aggregated is error 1055 or 1140.
fn require_grouped(
    outputs: &[Output],
    group_by: &[Typed],
    def: Option<&TableDef>,
) -> Result<(), SqlError> {
    let grouped_by =
        |column: usize| group_by.iter().any(|g| g.expr == Expr::Column(Column::first(column)));
    let primary = def.and_then(TableDef::primary);
    if primary.is_some_and(|p| p.parts.iter().all(|part| grouped_by(part.column))) {
        // Every column depends on the primary key.
        return Ok(());
    }
    for (position, output) in outputs.iter().enumerate() {
        let expr = &output.value.expr;
        let grouped = group_by.iter().any(|g| g.expr == *expr);
        if grouped || !has_free_column(expr, group_by) {
            continue;
        }
        let name = def.map_or_else(String::new, |d| format!("{}.{}.", d.schema, d.name));
        let name = format!("{name}{}", output.column.org_name);
        return Err(if group_by.is_empty() {
            let text = format!(
                "In aggregated query without GROUP BY, expression #{} of SELECT list contains \
                 nonaggregated column '{name}'; this is incompatible with sql_mode=only_full_group_by",
                position + 1
            );
            SqlError::Other(1140, "42000", text)
        } else {
            let text = format!(
                "Expression #{} of SELECT list is not in GROUP BY clause and contains nonaggregated \
                 column '{name}' which is not functionally dependent on columns in GROUP BY clause; \
                 this is incompatible with sql_mode=only_full_group_by",
                position + 1
            );
            SqlError::Other(1055, "42000", text)
        });
    }
    Ok(())
}

fn has_free_column(expr: &Expr, group_by: &[Typed]) -> bool {
    let mut free = false;
    expr.visit(&mut |e| {
        free |= matches!(e, Expr::Column(_)) && !group_by.iter().any(|g| g.expr == *e);
    });
    free
}

/// LIMIT as (rows to skip, rows to send); both are integers or parameters.
pub fn bind_limit(limit: &ast::Limit) -> Result<(Expr, Expr), SqlError> {
    let mut scope = Scope::new(None, "limit clause");
    let count = scope.bind(&limit.count)?.expr;
    let offset = limit.offset.as_ref().map(|o| scope.bind(o)).transpose()?;
    Ok((offset.map_or(Expr::int(0), |o| o.expr), count))
}
