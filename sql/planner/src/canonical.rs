//! A query as MySQL rewrites it in the definition of a view: every name resolved and quoted, `*` written out,
//! joins and expressions in full parentheses.
//!
//! 1. The text parses to a query of the same meaning. 2. Where something has no printed form, or a name is not
//! found, there is no text at all: whoever asks keeps the written one. 3. The query was planned before: names are
//! unambiguous, and what is looked up here exists.

use crate::PlanContext;
use parser::ast::{self, Expr, QueryBody, SelectItem, TableRef};
use parser::print::{Printed, Printer, Unprintable, quoted};
use std::cell::RefCell;
use std::fmt::Write;
use value::name::same_name;

/// The longest name of a column; longer ones are numbered.
const NAME_CHARS_MAX: usize = 64;

/// A query's texts: with the schemas of its tables, and without if all tables lie in one; that schema, or none. A
/// text that would not be the same if it was written is none. With `unique` columns that are called after their
/// texts get other names where two would have the same.
///
/// # Errors
/// What has no printed form.
pub fn query_texts(
    context: &PlanContext<'_>,
    query: &ast::Query,
    unique: bool,
) -> Result<QueryTexts, Unprintable> {
    let listed = if unique { Listed::Unique } else { Listed::Named };
    let (full, names, schemas) = query_text(context, query, None, listed)?;
    let again = parser::parse(full.as_bytes(), parser::SqlMode::DEFAULT);
    let Ok(ast::Statement::Query(again)) = again else { return Err(missing("itself")) };
    if query_text(context, &again, None, Listed::Named)?.0 != full {
        return Err(missing("itself"));
    }
    Ok(match schemas.split_first() {
        Some((home, rest)) if rest.iter().all(|schema| schema == home) => {
            let shown = query_text(context, query, Some(home), listed)?.0;
            QueryTexts { full, shown, home: home.clone(), names }
        }
        _ => QueryTexts { shown: full.clone(), full, home: String::new(), names },
    })
}

/// A query as the note of EXPLAIN (1003) shows it: every column with its schema, every SELECT with its number. What
/// MySQL shows has gone through its optimiser, this has not.
///
/// # Errors
/// What has no printed form.
pub fn explained_text(
    context: &PlanContext<'_>,
    query: &ast::Query,
) -> Result<String, Unprintable> {
    let names = || Names { explained: true, ..Names::new(context, None) };
    let text = names().query(query, Listed::Named)?.0;
    // A WITH stands before the outermost SELECT, which is the first for all that.
    let with = query.with.as_ref().map(|with| names().with(with)).transpose()?;
    let first = with.map_or(0, |with| with.matches(BLOCK).count());
    let number = |n: usize| match n {
        n if n == first => 1,
        n if n < first => n + 2,
        n => n + 1,
    };
    let mut out = String::with_capacity(text.len());
    for (n, part) in text.split(BLOCK).enumerate() {
        if let Some(before) = n.checked_sub(1) {
            let _ = write!(out, "/* select#{} */ ", number(before));
        }
        out.push_str(part);
    }
    Ok(out)
}

/// Stands for the number of a SELECT until all are known; printed literals have no such byte.
const BLOCK: &str = "\0";

/// What [`query_texts`] makes.
pub struct QueryTexts {
    /// With the schemas of its tables.
    pub full: String,
    /// Without them if all lie in one.
    pub shown: String,
    /// That schema; empty for none.
    pub home: String,
    /// Names of its columns.
    pub names: Vec<String>,
}

/// A query's text, the names of its columns and the schemas of its tables; the tables of `home` are named without it.
fn query_text(
    context: &PlanContext<'_>,
    query: &ast::Query,
    home: Option<&str>,
    listed: Listed,
) -> Result<(String, Vec<String>, Vec<String>), Unprintable> {
    let names = Names::new(context, home);
    let (text, columns) = names.query(query, listed)?;
    Ok((text, columns, names.schemas.into_inner()))
}

/// How the outputs of a SELECT are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    /// Each with its name, no two the same.
    Unique,
    /// Each with its name.
    Named,
    /// In an expression: with the names that were written.
    Plain,
}

/// A source of rows.
#[derive(Debug, Clone)]
struct Source {
    alias: String,
    schema: String,
    /// What its columns are qualified with.
    qualifier: String,
    columns: Vec<String>,
    /// How many of them `*` shows: those of a table may be invisible.
    hidden: Vec<usize>,
}

#[derive(Debug, Clone)]
struct Output {
    name: String,
    /// The name was written behind AS.
    aliased: bool,
    /// The name is the text that was written.
    by_text: bool,
    text: String,
}

/// Gives outputs that are called after their texts other names where two have the same, as MySQL does for views.
fn make_unique(outputs: &mut [Output]) {
    let written: Vec<String> = outputs.iter().map(|o| o.name.clone()).collect();
    for last in 1..outputs.len() {
        for earlier in 0..last {
            if !same_name(&outputs[earlier].name, &outputs[last].name) {
                continue;
            }
            let Some(renamed) = [last, earlier].into_iter().find(|n| outputs[*n].by_text) else {
                return;
            };
            let taken = |name: &str| {
                let others = outputs[..=last].iter().enumerate().filter(|(n, _)| *n != renamed);
                others.into_iter().any(|(_, other)| same_name(&other.name, name))
            };
            let numbered = (1..).map(|n| format!("Name_exp_{n}_{}", written[renamed]));
            let names = std::iter::once(format!("Name_exp_{}", written[renamed])).chain(numbered);
            let name = names.map(|name| name.chars().take(NAME_CHARS_MAX).collect::<String>());
            let free = name.take(outputs.len() + 1).find(|name| !taken(name));
            outputs[renamed].name = free.unwrap_or_else(|| format!("Name_exp_{}", renamed + 1));
        }
    }
}

/// A block while it is printed.
#[derive(Debug, Default)]
struct Block {
    sources: Vec<Source>,
    /// Columns by their unqualified names: source and position.
    visible: Vec<(String, usize, usize)>,
    outputs: Vec<Output>,
    /// Which clause looks for names.
    clause: Clause,
    grouped: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Clause {
    #[default]
    Columns,
    Group,
    Having,
    Order,
}

struct Names<'c> {
    context: &'c PlanContext<'c>,
    /// Its tables are named without it.
    home: Option<&'c str>,
    /// Where tables lie.
    schemas: RefCell<Vec<String>>,
    scopes: RefCell<Vec<Block>>,
    ctes: RefCell<Vec<(String, Vec<String>)>>,
    charset: &'c str,
    /// For EXPLAIN, see [`explained_text`].
    explained: bool,
}

type Columns = Vec<(String, usize, usize)>;

fn missing(name: &str) -> Unprintable {
    Unprintable(format!("name {name}"))
}

impl<'c> Names<'c> {
    fn new(context: &'c PlanContext<'c>, home: Option<&'c str>) -> Names<'c> {
        Names {
            context,
            home,
            scopes: RefCell::default(),
            ctes: RefCell::default(),
            schemas: RefCell::default(),
            charset: context.settings.collation.charset().name(),
            explained: false,
        }
    }

    /// A query's text and the names of its columns.
    fn query(
        &self,
        query: &ast::Query,
        listed: Listed,
    ) -> Result<(String, Vec<String>), Unprintable> {
        if query.into.is_some() {
            return Err(Unprintable("INTO".into()));
        }
        let before = self.ctes.borrow().len();
        let mut out = String::new();
        if let Some(with) = &query.with {
            out.push_str(&self.with(with)?);
        }
        let body = self.body(query, listed);
        self.ctes.borrow_mut().truncate(before);
        let (text, names) = body?;
        out.push_str(&text);
        for lock in &query.locking {
            if !lock.of.is_empty() || lock.wait != ast::LockWait::Wait {
                return Err(Unprintable("FOR UPDATE OF".into()));
            }
            out.push_str(if lock.update { " for update" } else { " for share" });
        }
        Ok((out, names))
    }

    fn with(&self, with: &ast::With) -> Printed {
        let mut parts = Vec::new();
        for cte in &with.tables {
            if with.recursive {
                // Its own query looks at it: by the names of its first SELECT.
                let names = match cte.columns.is_empty() {
                    true => self.query(&first_part(&cte.query), Listed::Named)?.1,
                    false => cte.columns.clone(),
                };
                self.ctes.borrow_mut().push((cte.name.clone(), names));
            }
            let (text, names) = self.query(&cte.query, Listed::Named)?;
            let names = if cte.columns.is_empty() { names } else { cte.columns.clone() };
            if !with.recursive {
                self.ctes.borrow_mut().push((cte.name.clone(), names));
            }
            parts.push(format!("{}{} as ({text})", quoted(&cte.name), column_list(&cte.columns)));
        }
        let recursive = if with.recursive { "recursive " } else { "" };
        Ok(format!("with {recursive}{} ", parts.join(", ")))
    }

    /// A query without its WITH and locks.
    fn body(
        &self,
        query: &ast::Query,
        listed: Listed,
    ) -> Result<(String, Vec<String>), Unprintable> {
        match &query.body {
            QueryBody::Select(select) => self.select(select, query, listed),
            QueryBody::Nested(inner) => {
                let bare = inner.order_by.is_empty() && inner.limit.is_none();
                if !bare || inner.with.is_some() || !inner.locking.is_empty() {
                    return Err(Unprintable("parenthesised query".into()));
                }
                let query = ast::Query { body: inner.body.clone(), with: None, ..query.clone() };
                self.body(&query, listed)
            }
            QueryBody::SetOperation { .. } => {
                let (mut text, names) = self.operation(&query.body, listed)?;
                let outputs = names.iter().map(|name| Output {
                    name: name.clone(),
                    aliased: false,
                    by_text: false,
                    text: quoted(name),
                });
                let visible = Vec::new();
                let block = Block { outputs: outputs.collect(), visible, ..Block::default() };
                self.scopes.borrow_mut().push(block);
                let tail = self.tail(query);
                self.scopes.borrow_mut().pop();
                text.push_str(&tail?);
                Ok((text, names))
            }
            QueryBody::Values(rows) => {
                let rows = rows.iter().map(|row| Ok(format!("row({})", self.list(row)?)));
                let rows = rows.collect::<Result<Vec<_>, Unprintable>>()?;
                if !query.order_by.is_empty() || query.limit.is_some() {
                    return Err(Unprintable("VALUES with ORDER BY".into()));
                }
                let width = match &query.body {
                    QueryBody::Values(rows) => rows.first().map_or(0, Vec::len),
                    _ => 0,
                };
                let names = (0..width).map(|n| format!("column_{n}")).collect();
                Ok((format!("values {}", rows.join(",")), names))
            }
            QueryBody::Table(name) => {
                let select = ast::Select::of_table(name.clone());
                self.select(&select, query, listed)
            }
        }
    }

    fn operation(
        &self,
        body: &QueryBody,
        listed: Listed,
    ) -> Result<(String, Vec<String>), Unprintable> {
        match body {
            QueryBody::SetOperation { op, all, left, right } => {
                let (left, names) = self.operation(left, listed)?;
                let listed = if listed == Listed::Unique { Listed::Named } else { listed };
                let right = match &**right {
                    nested @ QueryBody::SetOperation { .. } => {
                        format!("({})", self.operation(nested, listed)?.0)
                    }
                    other => self.operation(other, listed)?.0,
                };
                let word = match op {
                    ast::SetOperator::Union => "union",
                    ast::SetOperator::Except => "except",
                    ast::SetOperator::Intersect => "intersect",
                };
                let all = if *all { " all" } else { "" };
                Ok((format!("{left} {word}{all} {right}"), names))
            }
            QueryBody::Nested(query) => {
                let plain = query.order_by.is_empty() && query.limit.is_none();
                let operation = matches!(query.body, QueryBody::SetOperation { .. });
                let (text, names) = self.query(query, listed)?;
                let text = if plain && !operation { text } else { format!("({text})") };
                Ok((text, names))
            }
            other => self.body(&ast::Query::of(other.clone()), listed),
        }
    }

    fn select(
        &self,
        select: &ast::Select,
        query: &ast::Query,
        listed: Listed,
    ) -> Result<(String, Vec<String>), Unprintable> {
        self.scopes.borrow_mut().push(Block::default());
        let done = self.select_in_scope(select, query, listed);
        let block = self.scopes.borrow_mut().pop().unwrap_or_default();
        Ok((done?, block.outputs.into_iter().map(|o| o.name).collect()))
    }

    fn select_in_scope(&self, select: &ast::Select, query: &ast::Query, listed: Listed) -> Printed {
        let block = if self.explained { BLOCK } else { "" };
        let mut out = format!("{block}select {}", words(&select.options)?);
        let from = self.from(&select.from)?;
        let mut outputs = self.outputs(&select.items)?;
        if listed == Listed::Unique {
            make_unique(&mut outputs);
        }
        let shown: Vec<String> = outputs
            .iter()
            .map(|o| match listed != Listed::Plain || o.aliased {
                true => format!("{} AS {}", o.text, quoted(&o.name)),
                false => o.text.clone(),
            })
            .collect();
        out.push_str(&shown.join(","));
        if let Some(from) = from {
            let _ = write!(out, " from {from}");
        }
        if let Some(filter) = &select.filter {
            let _ = write!(out, " where {}", self.condition(filter)?);
        }
        self.with_block(|b| b.outputs = outputs);
        if !select.group_by.is_empty() {
            let keys = self.keys(&select.group_by, Clause::Group)?;
            let rollup = if select.rollup { " with rollup" } else { "" };
            let _ = write!(out, " group by {keys}{rollup}");
        }
        self.with_block(|b| b.grouped = !select.group_by.is_empty());
        if let Some(having) = &select.having {
            self.with_block(|b| b.clause = Clause::Having);
            let _ = write!(out, " having {}", self.condition(having)?);
        }
        if !select.windows.is_empty() {
            let window = |(name, window): &(String, ast::Window)| {
                let text = self.printed(|p| p.window(window))?;
                Ok(format!("{} AS {text}", quoted(name)))
            };
            let windows = select.windows.iter().map(window);
            let windows = windows.collect::<Result<Vec<_>, Unprintable>>()?;
            let _ = write!(out, " window {}", windows.join(","));
        }
        out.push_str(&self.tail(query)?);
        Ok(out)
    }

    /// ORDER BY and LIMIT.
    fn tail(&self, query: &ast::Query) -> Printed {
        let mut out = String::new();
        if !query.order_by.is_empty() {
            let _ = write!(out, " order by {}", self.keys(&query.order_by, Clause::Order)?);
        }
        if let Some(limit) = &query.limit {
            let count = self.expr(&limit.count)?;
            let _ = match &limit.offset {
                Some(offset) => write!(out, " limit {},{count}", self.expr(offset)?),
                None => write!(out, " limit {count}"),
            };
        }
        Ok(out)
    }

    fn keys(&self, items: &[ast::OrderItem], clause: Clause) -> Printed {
        let mut keys = Vec::new();
        for item in items {
            let position = match &item.expr {
                Expr::Literal(ast::Literal::Int(n)) => usize::try_from(*n - 1).ok(),
                _ => None,
            };
            let text = match position {
                Some(n) => {
                    let scopes = self.scopes.borrow();
                    let output = scopes.last().and_then(|b| b.outputs.get(n));
                    output.map(|o| o.text.clone()).ok_or_else(|| missing("position"))?
                }
                None => {
                    self.with_block(|b| b.clause = clause);
                    self.expr(&item.expr)?
                }
            };
            keys.push(if item.descending { format!("{text} desc") } else { text });
        }
        Ok(keys.join(","))
    }

    fn with_block(&self, change: impl FnOnce(&mut Block)) {
        if let Some(block) = self.scopes.borrow_mut().last_mut() {
            change(block);
        }
    }

    fn outputs(&self, items: &[SelectItem]) -> Result<Vec<Output>, Unprintable> {
        let mut outputs: Vec<Output> = Vec::new();
        for item in items {
            match item {
                SelectItem::Wildcard(of) => self.wildcard(of.as_ref(), &mut outputs)?,
                SelectItem::Expr { expr, alias, text } => {
                    let own = match expr {
                        Expr::Column(column) => &column.column,
                        _ => text,
                    };
                    let name = alias.as_ref().unwrap_or(own);
                    let name = match name.chars().count() > NAME_CHARS_MAX {
                        true => format!("Name_exp_{}", outputs.len() + 1),
                        false => name.clone(),
                    };
                    let by_text = alias.is_none() && !matches!(expr, Expr::Column(_));
                    let text = self.expr(expr)?;
                    outputs.push(Output { name, aliased: alias.is_some(), by_text, text });
                }
            }
        }
        Ok(outputs)
    }

    fn wildcard(
        &self,
        of: Option<&ast::ObjectName>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), Unprintable> {
        let scopes = self.scopes.borrow();
        let block = scopes.last().ok_or_else(|| missing("*"))?;
        let mut put = |source: usize, column: usize| {
            let source = &block.sources[source];
            let name = source.columns[column].clone();
            let text = format!("{}.{}", source.qualifier, quoted(&name));
            outputs.push(Output { name, aliased: false, by_text: false, text });
        };
        let listed = |source: usize, column: &usize| !block.sources[source].hidden.contains(column);
        let Some(of) = of else {
            let shown = block.visible.iter().filter(|(_, source, column)| listed(*source, column));
            shown.for_each(|(_, source, column)| put(*source, *column));
            return Ok(());
        };
        let fits = |s: &Source| {
            s.alias == of.name && of.schema.as_ref().is_none_or(|schema| *schema == s.schema)
        };
        let source = block.sources.iter().position(fits).ok_or_else(|| missing(&of.name))?;
        let columns = 0..block.sources[source].columns.len();
        columns.filter(|c| listed(source, c)).for_each(|c| put(source, c));
        Ok(())
    }

    /// FROM; `None` when there is none.
    fn from(&self, tables: &[TableRef]) -> Result<Option<String>, Unprintable> {
        let mut all: Option<String> = None;
        for table in tables {
            let (text, columns) = self.table(table)?;
            self.with_block(|b| b.visible.extend(columns));
            all = Some(match all {
                None => text,
                Some(left) => self.joined(&left, "join", &self.operand(table, text), ""),
            });
        }
        Ok(all.filter(|_| !tables.is_empty()))
    }

    fn table(&self, table: &TableRef) -> Result<(String, Columns), Unprintable> {
        match table {
            TableRef::Table(factor) => self.factor(factor),
            TableRef::Derived { lateral, query, alias, columns } => {
                // What stands to the left is in sight of LATERAL only, and nothing of it else.
                let hidden = match lateral {
                    true => Vec::new(),
                    false => std::mem::take(&mut *self.scopes.borrow_mut()),
                };
                let done = self.query(query, Listed::Named);
                if !lateral {
                    *self.scopes.borrow_mut() = hidden;
                }
                let (text, names) = done?;
                let names = if columns.is_empty() { names } else { columns.clone() };
                let word = if *lateral { "lateral " } else { "" };
                let text = format!("{word}({text}) {}{}", quoted(alias), column_list(columns));
                Ok((text, self.add(alias, "", quoted(alias), names, Vec::new())))
            }
            TableRef::Join(join) => self.join(join),
            TableRef::List(list) => {
                let mut all: Option<String> = None;
                let mut columns = Vec::new();
                for table in list {
                    let (text, more) = self.table(table)?;
                    columns.extend(more);
                    all = Some(match all {
                        None => text,
                        Some(left) => self.joined(&left, "join", &self.operand(table, text), ""),
                    });
                }
                Ok((all.ok_or_else(|| missing("table"))?, columns))
            }
            TableRef::JsonTable(_) => Err(Unprintable("JSON_TABLE".into())),
        }
    }

    /// Adds a source of rows; its columns.
    fn add(
        &self,
        alias: &str,
        schema: &str,
        qualifier: String,
        columns: Vec<String>,
        hidden: Vec<usize>,
    ) -> Columns {
        let mut scopes = self.scopes.borrow_mut();
        let Some(block) = scopes.last_mut() else { return Vec::new() };
        let number = block.sources.len();
        let names = columns.iter().enumerate().map(|(n, name)| (name.clone(), number, n)).collect();
        let (alias, schema) = (alias.to_string(), schema.to_string());
        block.sources.push(Source { alias, schema, qualifier, columns, hidden });
        names
    }

    fn factor(&self, factor: &ast::TableFactor) -> Result<(String, Columns), Unprintable> {
        let alias = factor.alias.as_deref().unwrap_or(&factor.name.name);
        let shown_alias = match factor.alias.as_deref() {
            Some(alias) if alias != factor.name.name => format!(" {}", quoted(alias)),
            _ => String::new(),
        };
        if factor.name.schema.is_none() {
            let ctes = self.ctes.borrow();
            if let Some((name, columns)) =
                ctes.iter().rev().find(|(name, _)| *name == factor.name.name)
            {
                let text = format!("{}{shown_alias}", quoted(name));
                let columns = columns.clone();
                return Ok((text, self.add(alias, "", quoted(alias), columns, Vec::new())));
            }
        }
        let schema = self.context.schema_of(&factor.name).map_err(|_| missing(alias))?;
        let catalog = self.context.tables.catalog();
        let found = catalog.definition(&schema, &factor.name.name).map_err(|_| missing(alias))?;
        let (columns, hidden) = match found {
            Some(found) => {
                let def = &found.def;
                let columns = def.columns.iter().map(|c| c.name.clone()).collect();
                let hidden = (0..def.columns.len()).filter(|n| !def.columns[*n].is_listed());
                (columns, hidden.collect())
            }
            // A virtual table is called as it is written nowhere.
            None => return Err(missing(alias)),
        };
        self.schemas.borrow_mut().push(schema.clone());
        let full = match self.home == Some(schema.as_str()) {
            true => quoted(&factor.name.name),
            false => format!("{}.{}", quoted(&schema), quoted(&factor.name.name)),
        };
        let qualifier = match shown_alias.is_empty() {
            true => full.clone(),
            false if self.explained => format!("{}.{}", quoted(&schema), quoted(alias)),
            false => quoted(alias),
        };
        let text = format!("{full}{shown_alias}{}", index_hints(&factor.index_hints));
        Ok((text, self.add(alias, &schema, qualifier, columns, hidden)))
    }

    fn join(&self, join: &ast::Join) -> Result<(String, Columns), Unprintable> {
        let (left, left_columns) = self.table(&join.left)?;
        let (right, right_columns) = self.table(&join.right)?;
        let swapped = join.kind == ast::JoinKind::Right;
        let common = join.natural || !join.using.is_empty();
        let (first, second) = match swapped && common {
            true => (&right_columns, &left_columns),
            false => (&left_columns, &right_columns),
        };
        let mut on = None;
        let columns = if common {
            let (condition, columns) = self.common(first, second, &join.using)?;
            on = condition;
            columns
        } else {
            left_columns.iter().chain(&right_columns).cloned().collect()
        };
        if let Some(condition) = &join.on {
            let mine = left_columns.iter().chain(&right_columns).cloned().collect();
            let before = {
                let mut scopes = self.scopes.borrow_mut();
                scopes.last_mut().map(|b| std::mem::replace(&mut b.visible, mine))
            };
            let text = self.condition(condition);
            self.with_block(|b| b.visible = before.unwrap_or_default());
            on = Some(text?);
        }
        let on = on.map_or_else(String::new, |on| format!(" on({on})"));
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        let right = self.operand(if swapped { &join.left } else { &join.right }, right);
        let word = match join.kind {
            ast::JoinKind::Inner => "join",
            ast::JoinKind::Straight => "straight_join",
            ast::JoinKind::Left | ast::JoinKind::Right => "left join",
        };
        Ok((self.joined(&left, word, &right, &on), columns))
    }

    /// A join's text; EXPLAIN leaves out the parentheses that mean nothing.
    fn joined(&self, left: &str, word: &str, right: &str, on: &str) -> String {
        match self.explained {
            true => format!("{left} {word} {right}{on}"),
            false => format!("({left} {word} {right}{on})"),
        }
    }

    /// The text of a join's right side.
    fn operand(&self, table: &TableRef, text: String) -> String {
        let joined = matches!(table, TableRef::Join(_) | TableRef::List(_));
        if self.explained && joined { format!("({text})") } else { text }
    }

    /// NATURAL and USING: the condition, and the columns with common ones once.
    fn common(
        &self,
        first: &Columns,
        second: &Columns,
        using: &[String],
    ) -> Result<(Option<String>, Columns), Unprintable> {
        let scopes = self.scopes.borrow();
        let block = scopes.last().ok_or_else(|| missing("join"))?;
        let shown = |(name, source, _): &(String, usize, usize)| {
            format!("{}.{}", block.sources[*source].qualifier, quoted(name))
        };
        let other = |name: &str| second.iter().find(|c| same_name(&c.0, name));
        let wanted = |name: &str| match using.is_empty() {
            true => other(name).is_some(),
            false => using.iter().any(|u| same_name(u, name)),
        };
        let mut equal = Vec::new();
        let mut columns = Vec::new();
        for column in first.iter().filter(|c| wanted(&c.0)) {
            let twin = other(&column.0).ok_or_else(|| missing(&column.0))?;
            equal.push(format!("({} = {})", shown(column), shown(twin)));
            columns.push(column.clone());
        }
        for column in first.iter().chain(second) {
            if !columns.iter().any(|c| same_name(&c.0, &column.0)) || !wanted(&column.0) {
                columns.push(column.clone());
            }
        }
        let on = match equal.len() {
            0 => None,
            1 => equal.pop(),
            _ => Some(format!("({})", equal.join(" and "))),
        };
        Ok((on, columns))
    }

    fn printed(&self, print: impl FnOnce(&Printer<'_>) -> Printed) -> Printed {
        let column = |c: &ast::ColumnRef| self.column(c);
        let query = |q: &ast::Query| self.query(q, Listed::Plain).map(|(text, _)| text);
        let charset = self.charset;
        print(&Printer { column: &column, charset, introducers: false, query: &query })
    }

    fn expr(&self, e: &Expr) -> Printed {
        self.printed(|p| p.expr(e))
    }

    fn list(&self, list: &[Expr]) -> Printed {
        Ok(list.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>, _>>()?.join(","))
    }

    fn condition(&self, e: &Expr) -> Printed {
        self.printed(|p| p.condition(e))
    }

    /// A column: blocks are searched from the inside out.
    fn column(&self, column: &ast::ColumnRef) -> Printed {
        let scopes = self.scopes.borrow();
        let found = scopes.iter().rev().find_map(|block| block.column(column));
        found.ok_or_else(|| missing(&column.column))
    }
}

impl Block {
    fn column(&self, column: &ast::ColumnRef) -> Option<String> {
        let of = |source: &Source, name: &str| format!("{}.{}", source.qualifier, quoted(name));
        if let Some(table) = &column.table {
            let fits = |s: &&Source| {
                s.alias == *table && column.schema.as_ref().is_none_or(|name| *name == s.schema)
            };
            let source = self.sources.iter().find(fits)?;
            let name = source.columns.iter().find(|n| same_name(n, &column.column))?;
            return Some(of(source, name));
        }
        let aliased = || {
            let named = |o: &&Output| same_name(&o.name, &column.column);
            let output = self.outputs.iter().find(named)?;
            let shown = output.aliased && (self.grouped || self.clause != Clause::Order);
            Some(if shown { quoted(&output.name) } else { output.text.clone() })
        };
        let own = || {
            let visible = |v: &&(String, usize, usize)| same_name(&v.0, &column.column);
            let (name, source, _) = self.visible.iter().find(visible)?;
            Some(of(&self.sources[*source], name))
        };
        match self.clause {
            Clause::Columns => own(),
            Clause::Group => own().or_else(aliased),
            Clause::Having => aliased().or_else(own),
            // A name alone is an output's first.
            Clause::Order => aliased().or_else(own),
        }
    }
}

fn column_list(columns: &[String]) -> String {
    match columns {
        [] => String::new(),
        columns => {
            let names: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
            format!(" ({})", names.join(","))
        }
    }
}

fn index_hints(hints: &[ast::IndexHint]) -> String {
    let mut out = String::new();
    for hint in hints {
        let word = match hint.kind {
            ast::IndexHintKind::Use => "USE",
            ast::IndexHintKind::Force => "FORCE",
            ast::IndexHintKind::Ignore => "IGNORE",
        };
        let scope = match hint.scope {
            ast::IndexHintScope::All => "",
            ast::IndexHintScope::Join => "FOR JOIN ",
            ast::IndexHintScope::OrderBy => "FOR ORDER BY ",
            ast::IndexHintScope::GroupBy => "FOR GROUP BY ",
        };
        let names: Vec<String> = hint.indexes.iter().map(|n| quoted(n)).collect();
        let _ = write!(out, " {word} INDEX {scope}({})", names.join(","));
    }
    out
}

/// The words behind SELECT.
fn words(options: &ast::SelectOptions) -> Printed {
    if options.hints.is_some() || options.calc_found_rows {
        return Err(Unprintable("hints".into()));
    }
    let mut out = String::new();
    for (on, word) in [
        (options.straight_join, "straight_join "),
        (options.high_priority, "high_priority "),
        (options.distinct, "distinct "),
        (options.small_result, "sql_small_result "),
        (options.big_result, "sql_big_result "),
        (options.buffer_result, "sql_buffer_result "),
        (options.no_cache, "sql_no_cache "),
    ] {
        if on {
            out.push_str(word);
        }
    }
    Ok(out)
}

/// The part of a recursive query that gives the names: the first operand.
fn first_part(query: &ast::Query) -> ast::Query {
    let mut body = &query.body;
    while let QueryBody::SetOperation { left, .. } = body {
        body = left;
    }
    let body = body.clone();
    ast::Query { body, order_by: Vec::new(), limit: None, ..query.clone() }
}
