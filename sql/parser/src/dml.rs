//! INSERT, REPLACE, UPDATE, DELETE, DO.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn insert(&mut self) -> Result<Statement> {
        let replace = self.bump().kw == Kw::REPLACE;
        let hints = self.hints();
        let words = [Kw::LOW_PRIORITY, Kw::DELAYED, Kw::HIGH_PRIORITY];
        let priority = match self.eat_any(&words[..if replace { 2 } else { 3 }]) {
            Some(Kw::LOW_PRIORITY) => Priority::Low,
            Some(Kw::DELAYED) => Priority::Delayed,
            Some(_) => Priority::High,
            None => Priority::Normal,
        };
        let ignore = !replace && self.eat_kw(Kw::IGNORE);
        self.eat_kw(Kw::INTO);
        let table = self.object_name()?;
        let partitions =
            if self.eat_kw(Kw::PARTITION) { self.parenthesised(Self::ident)? } else { Vec::new() };
        let mut insert = Insert {
            hints,
            replace,
            priority,
            ignore,
            table,
            partitions,
            columns: None,
            source: InsertSource::Values(Vec::new()),
            row_alias: None,
            on_duplicate: Vec::new(),
        };
        let aliased = self.insert_source(&mut insert)?;
        if !replace {
            self.insert_tail(&mut insert, aliased)?;
        }
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// What is inserted; whether an alias may follow, as behind SET and `VALUES (...)` only.
    fn insert_source(&mut self, insert: &mut Insert) -> Result<bool> {
        if self.eat_kw(Kw::SET) {
            let assignments = self.comma_list(Self::assignment)?;
            let (columns, values) = assignments.into_iter().map(|a| (a.column, a.value)).unzip();
            insert.columns = Some(columns);
            insert.source = InsertSource::Values(vec![values]);
            return Ok(true);
        }
        if self.kind() == TokenKind::Open && !self.query_at_parenthesis() {
            self.bump();
            let mut columns = Vec::new();
            if self.kind() != TokenKind::Close {
                columns = self.comma_list(Self::column_ref)?;
            }
            self.expect(TokenKind::Close)?;
            insert.columns = Some(columns);
        }
        if !self.constructor_in_query() && self.eat_any(&[Kw::VALUES, Kw::VALUE]).is_some() {
            let constructor = self.kw() == Kw::ROW;
            let rows = self.comma_list(|p| {
                p.eat_kw(Kw::ROW);
                p.expect(TokenKind::Open)?;
                let mut row = Vec::new();
                if p.kind() != TokenKind::Close {
                    row = p.comma_list(Self::value_or_default)?;
                }
                p.expect(TokenKind::Close)?;
                Ok(row)
            })?;
            insert.source = InsertSource::Values(rows);
            return Ok(!constructor);
        }
        let query = self.query_without_into()?;
        // MySQL inserts all rows of a table value constructor: their order and a limit are for nothing.
        insert.source = match constructed(&query) {
            Some(rows) => InsertSource::Values(rows.clone()),
            None => InsertSource::Query(Box::new(query)),
        };
        Ok(false)
    }

    /// Behind `VALUES ROW(...), ...`, which stands here, a query goes on.
    fn constructor_in_query(&self) -> bool {
        let mut at = 0;
        if self.kw() != Kw::VALUES {
            return false;
        }
        while self.nth(at + 1).kw == Kw::ROW {
            at = self.after_matching(at + 2);
            if self.nth(at).kind != TokenKind::Comma {
                break;
            }
        }
        let goes_on = [Kw::UNION, Kw::EXCEPT, Kw::INTERSECT, Kw::ORDER, Kw::LIMIT];
        at > 0 && goes_on.contains(&self.nth(at).kw)
    }

    fn insert_tail(&mut self, insert: &mut Insert, aliased: bool) -> Result<()> {
        if aliased && self.eat_kw(Kw::AS) {
            let name = self.ident()?;
            let columns = if self.kind() == TokenKind::Open {
                self.parenthesised(Self::ident)?
            } else {
                Vec::new()
            };
            insert.row_alias = Some((name, columns));
        }
        if self.eat_phrase(&[Kw::ON, Kw::DUPLICATE, Kw::KEY, Kw::UPDATE])? {
            insert.on_duplicate = self.comma_list(Self::assignment)?;
        }
        Ok(())
    }

    /// An expression, or DEFAULT alone.
    pub(crate) fn value_or_default(&mut self) -> Result<Expr> {
        if self.kw() == Kw::DEFAULT && self.nth(1).kind != TokenKind::Open {
            self.bump();
            return Ok(Expr::Default);
        }
        self.lifted_expr()
    }

    pub(crate) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_ref()?;
        if !self.eat(TokenKind::Assign) {
            self.expect(TokenKind::Eq)?;
        }
        Ok(Assignment { column, value: self.value_or_default()? })
    }

    pub(crate) fn update(&mut self, with: Option<With>) -> Result<Statement> {
        self.expect_kw(Kw::UPDATE)?;
        let hints = self.hints();
        let low_priority = self.eat_kw(Kw::LOW_PRIORITY);
        let ignore = self.eat_kw(Kw::IGNORE);
        let tables = self.comma_list(Self::table_ref)?;
        self.expect_kw(Kw::SET)?;
        let assignments = self.comma_list(Self::assignment)?;
        let (filter, order_by, limit) = self.change_tail()?;
        let update = Update {
            hints,
            with,
            low_priority,
            ignore,
            tables,
            assignments,
            filter,
            order_by,
            limit,
        };
        Ok(Statement::Update(Box::new(update)))
    }

    pub(crate) fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        self.expect_kw(Kw::DELETE)?;
        let hints = self.hints();
        let (mut low_priority, mut quick, mut ignore) = (false, false, false);
        loop {
            match self.kw() {
                Kw::LOW_PRIORITY => low_priority = true,
                Kw::QUICK if self.delete_word_follows() => quick = true,
                Kw::IGNORE => ignore = true,
                _ => break,
            }
            self.bump();
        }
        let mut delete = Delete {
            hints,
            with,
            low_priority,
            quick,
            ignore,
            targets: Vec::new(),
            tables: Vec::new(),
            filter: None,
            order_by: Vec::new(),
            limit: None,
        };
        if self.eat_kw(Kw::FROM) {
            let (first, star) = self.delete_target()?;
            if star || self.kind() == TokenKind::Comma || self.kw() == Kw::USING {
                delete.targets = vec![first];
                self.more_delete_targets(&mut delete.targets)?;
                self.expect_kw(Kw::USING)?;
            } else {
                let table = TableRef::Table(self.delete_from(first)?);
                delete.tables = vec![table];
                (delete.filter, delete.order_by, delete.limit) = self.change_tail()?;
                return Ok(Statement::Delete(Box::new(delete)));
            }
        } else {
            delete.targets = vec![self.delete_target()?.0];
            self.more_delete_targets(&mut delete.targets)?;
            self.expect_kw(Kw::FROM)?;
        }
        delete.tables = self.comma_list(Self::table_ref)?;
        if self.eat_kw(Kw::WHERE) {
            delete.filter = Some(self.expr()?);
        }
        Ok(Statement::Delete(Box::new(delete)))
    }

    /// QUICK is the word, not a table of that name: something that may follow it follows.
    fn delete_word_follows(&self) -> bool {
        let next = self.nth(1);
        !matches!(next.kind, TokenKind::Dot | TokenKind::Comma)
            && (next.kw != Kw::FROM || self.nth(2).kind != TokenKind::End)
    }

    /// `name` or `name.*`; true for the star.
    fn delete_target(&mut self) -> Result<(ObjectName, bool)> {
        let first = self.ident()?;
        let mut name = ObjectName { schema: None, name: first };
        while self.eat(TokenKind::Dot) {
            if self.eat(TokenKind::Star) {
                return Ok((name, true));
            }
            if name.schema.is_some() {
                return self.fail();
            }
            let table = self.ident()?;
            name = ObjectName { schema: Some(name.name), name: table };
        }
        Ok((name, false))
    }

    fn more_delete_targets(&mut self, targets: &mut Vec<ObjectName>) -> Result<()> {
        while self.eat(TokenKind::Comma) {
            targets.push(self.delete_target()?.0);
        }
        Ok(())
    }

    /// The single table of DELETE: its alias stands before PARTITION.
    fn delete_from(&mut self, name: ObjectName) -> Result<TableFactor> {
        let alias = self.optional_alias(false)?;
        let partitions =
            if self.eat_kw(Kw::PARTITION) { self.parenthesised(Self::ident)? } else { Vec::new() };
        Ok(TableFactor { name, alias, partitions, index_hints: Vec::new() })
    }

    fn change_tail(&mut self) -> Result<(Option<Expr>, Vec<OrderItem>, Option<Limit>)> {
        let filter = if self.eat_kw(Kw::WHERE) { Some(self.expr()?) } else { None };
        let order_by = if self.eat_phrase(&[Kw::ORDER, Kw::BY])? {
            self.comma_list(Self::order_item)?
        } else {
            Vec::new()
        };
        let mut limit = None;
        if self.eat_kw(Kw::LIMIT) {
            limit = Some(Limit { count: self.limit_number()?, offset: None });
        }
        Ok((filter, order_by, limit))
    }
}

/// The rows of a query that is a table value constructor, in parentheses or not.
fn constructed(query: &Query) -> Option<&Vec<Vec<Expr>>> {
    match &query.body {
        QueryBody::Values(rows) if query.with.is_none() => Some(rows),
        QueryBody::Nested(inner) if query.with.is_none() => constructed(inner),
        _ => None,
    }
}
