//! INSERT, REPLACE, UPDATE, DELETE, DO.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn insert(&mut self) -> Result<Statement> {
        let replace = self.bump().kw == Kw::REPLACE;
        self.hint();
        let priority = match self.eat_any(&[Kw::LOW_PRIORITY, Kw::DELAYED, Kw::HIGH_PRIORITY]) {
            Some(Kw::LOW_PRIORITY) => Priority::Low,
            Some(Kw::DELAYED) => Priority::Delayed,
            Some(_) => Priority::High,
            None => Priority::Normal,
        };
        let ignore = self.eat_kw(Kw::IGNORE);
        self.eat_kw(Kw::INTO);
        let table = self.object_name()?;
        let partitions =
            if self.eat_kw(Kw::PARTITION) { self.parenthesised(Self::ident)? } else { Vec::new() };
        let mut insert = Insert {
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
        self.insert_source(&mut insert)?;
        if !replace {
            self.insert_tail(&mut insert)?;
        }
        Ok(Statement::Insert(Box::new(insert)))
    }

    fn insert_source(&mut self, insert: &mut Insert) -> Result<()> {
        if self.eat_kw(Kw::SET) {
            let assignments = self.comma_list(Self::assignment)?;
            let (columns, values) = assignments.into_iter().map(|a| (a.column, a.value)).unzip();
            insert.columns = Some(columns);
            insert.source = InsertSource::Values(vec![values]);
            return Ok(());
        }
        if self.kind() == TokenKind::Open && !self.query_in_parentheses() {
            self.bump();
            let mut columns = Vec::new();
            if self.kind() != TokenKind::Close {
                columns = self.comma_list(Self::column_ref)?;
            }
            self.expect(TokenKind::Close)?;
            insert.columns = Some(columns);
        }
        if self.eat_any(&[Kw::VALUES, Kw::VALUE]).is_some() {
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
            return Ok(());
        }
        insert.source = InsertSource::Query(Box::new(self.query_without_into()?));
        Ok(())
    }

    fn insert_tail(&mut self, insert: &mut Insert) -> Result<()> {
        if self.eat_kw(Kw::AS) {
            let name = self.ident()?;
            let columns = if self.kind() == TokenKind::Open {
                self.parenthesised(Self::ident)?
            } else {
                Vec::new()
            };
            insert.row_alias = Some((name, columns));
        }
        if self.eat_kws(&[Kw::ON, Kw::DUPLICATE, Kw::KEY, Kw::UPDATE]) {
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
        self.expr()
    }

    pub(crate) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_ref()?;
        if !self.eat(TokenKind::Assign) {
            self.expect(TokenKind::Eq)?;
        }
        Ok(Assignment { column, value: self.value_or_default()? })
    }

    fn hint(&mut self) {
        self.eat(TokenKind::Hint);
    }

    pub(crate) fn update(&mut self, with: Option<With>) -> Result<Statement> {
        self.expect_kw(Kw::UPDATE)?;
        self.hint();
        let low_priority = self.eat_kw(Kw::LOW_PRIORITY);
        let ignore = self.eat_kw(Kw::IGNORE);
        let tables = self.comma_list(Self::table_ref)?;
        self.expect_kw(Kw::SET)?;
        let assignments = self.comma_list(Self::assignment)?;
        let (filter, order_by, limit) = self.change_tail()?;
        let update =
            Update { with, low_priority, ignore, tables, assignments, filter, order_by, limit };
        Ok(Statement::Update(Box::new(update)))
    }

    pub(crate) fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        self.expect_kw(Kw::DELETE)?;
        self.hint();
        let low_priority = self.eat_kw(Kw::LOW_PRIORITY);
        let quick = self.eat_kw(Kw::QUICK);
        let ignore = self.eat_kw(Kw::IGNORE);
        let (mut targets, tables);
        if self.eat_kw(Kw::FROM) {
            let factor = self.comma_list(Self::table_ref)?;
            if self.eat_kw(Kw::USING) {
                targets = factor.iter().filter_map(plain_name).collect();
                tables = self.comma_list(Self::table_ref)?;
            } else {
                targets = Vec::new();
                tables = factor;
            }
        } else {
            targets = self.comma_list(|p| {
                let name = p.object_name()?;
                if p.eat(TokenKind::Dot) {
                    p.expect(TokenKind::Star)?;
                }
                Ok(name)
            })?;
            self.expect_kw(Kw::FROM)?;
            tables = self.comma_list(Self::table_ref)?;
        }
        targets.dedup();
        let (filter, order_by, limit) = self.change_tail()?;
        let delete =
            Delete { with, low_priority, quick, ignore, targets, tables, filter, order_by, limit };
        Ok(Statement::Delete(Box::new(delete)))
    }

    fn change_tail(&mut self) -> Result<(Option<Expr>, Vec<OrderItem>, Option<Limit>)> {
        let filter = if self.eat_kw(Kw::WHERE) { Some(self.expr()?) } else { None };
        let order_by = if self.eat_kws(&[Kw::ORDER, Kw::BY]) {
            self.comma_list(Self::order_item)?
        } else {
            Vec::new()
        };
        Ok((filter, order_by, self.limit_clause()?))
    }
}

fn plain_name(table: &TableRef) -> Option<ObjectName> {
    match table {
        TableRef::Table(factor) => Some(factor.name.clone()),
        _ => None,
    }
}
