//! Query expressions: SELECT and what surrounds it.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::deprecated;
use crate::keywords::Kw;
use crate::refused::Refused;
use crate::token::TokenKind;

impl Parser<'_> {
    /// A query stands inside the parenthesis that opens here.
    pub(crate) fn query_in_parentheses(&self) -> bool {
        let mut ahead = 0;
        while self.nth(ahead).kind == TokenKind::Open {
            ahead += 1;
        }
        let begins = matches!(self.nth(ahead).kw, Kw::SELECT | Kw::WITH | Kw::VALUES | Kw::TABLE);
        ahead > 0 && begins && self.is_wholly_a_query(ahead)
    }

    /// Behind so many parentheses a query begins: whether it fills the outermost one too, or is a derived table
    /// within a list of tables.
    fn is_wholly_a_query(&self, opened: usize) -> bool {
        let mut depth = opened;
        let mut at = opened;
        while depth > 1 {
            match self.nth(at).kind {
                TokenKind::Open => depth += 1,
                TokenKind::End | TokenKind::Bad => return true,
                TokenKind::Close => {
                    depth -= 1;
                    let next = self.nth(at + 1);
                    let query = matches!(
                        next.kw,
                        Kw::UNION | Kw::EXCEPT | Kw::INTERSECT | Kw::ORDER | Kw::LIMIT | Kw::FOR
                    );
                    if depth < opened && next.kind != TokenKind::Close {
                        return query;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        true
    }

    /// The parenthesis that stands here opens a query, or it opens another one, which only a query may do.
    pub(crate) fn query_at_parenthesis(&self) -> bool {
        self.nth(1).kind == TokenKind::Open
            || matches!(self.nth(1).kw, Kw::SELECT | Kw::WITH | Kw::VALUES | Kw::TABLE)
    }

    /// `( query )`.
    pub(crate) fn subquery(&mut self) -> Result<Box<Query>> {
        self.expect(TokenKind::Open)?;
        let query = self.nested(Self::query_without_into)?;
        self.expect(TokenKind::Close)?;
        Ok(Box::new(query))
    }

    /// A query that is part of a statement: INTO is refused.
    pub(crate) fn query_without_into(&mut self) -> Result<Query> {
        let saved = std::mem::take(&mut self.into_allowed);
        let query = self.query();
        self.into_allowed = saved;
        query
    }

    /// A query that is a statement: it may end in INTO.
    pub(crate) fn query_statement(&mut self) -> Result<Statement> {
        let saved = std::mem::replace(&mut self.into_allowed, true);
        let query = self.query();
        self.into_allowed = saved;
        Ok(Statement::Query(Box::new(query?)))
    }

    /// A whole query expression.
    fn query(&mut self) -> Result<Query> {
        let with = self.with_clause()?;
        let body = self.query_body(0)?;
        let mut query = Query { with, into: self.pending_into.take(), ..Query::of(body) };
        if self.eat_kw(Kw::ORDER) {
            self.expect_kw(Kw::BY)?;
            query.order_by = self.comma_list(Self::order_item)?;
        }
        query.limit = self.limit_clause()?;
        while let Some(locking) = self.locking_clause()? {
            query.locking.push(locking);
        }
        if self.into_allowed && query.into.is_none() && self.kw() == Kw::INTO {
            query.into = Some(self.target_clause()?);
            while let Some(locking) = self.locking_clause()? {
                query.locking.push(locking);
            }
        }
        Ok(query)
    }

    pub(crate) fn with_clause(&mut self) -> Result<Option<With>> {
        if !self.eat_kw(Kw::WITH) {
            return Ok(None);
        }
        let recursive = self.eat_kw(Kw::RECURSIVE);
        let tables = self.comma_list(|p| {
            let name = p.ident()?;
            let columns = if p.kind() == TokenKind::Open {
                p.parenthesised(Self::ident)?
            } else {
                Vec::new()
            };
            p.expect_kw(Kw::AS)?;
            Ok(Cte { name, columns, query: p.subquery()? })
        })?;
        Ok(Some(With { recursive, tables }))
    }

    /// UNION and EXCEPT bind alike, INTERSECT tighter.
    fn query_body(&mut self, level: u8) -> Result<QueryBody> {
        let mut left = if level == 0 { self.query_body(1)? } else { self.query_primary()? };
        loop {
            let op = match self.kw() {
                Kw::UNION if level == 0 => SetOperator::Union,
                Kw::EXCEPT if level == 0 => SetOperator::Except,
                Kw::INTERSECT if level == 1 => SetOperator::Intersect,
                _ => return Ok(left),
            };
            self.bump();
            self.grow()?;
            let all = self.eat_kw(Kw::ALL) || {
                self.eat_kw(Kw::DISTINCT);
                false
            };
            let right = if level == 0 { self.query_body(1)? } else { self.query_primary()? };
            left =
                QueryBody::SetOperation { op, all, left: Box::new(left), right: Box::new(right) };
        }
    }

    fn query_primary(&mut self) -> Result<QueryBody> {
        match self.kw() {
            Kw::SELECT => Ok(QueryBody::Select(Box::new(self.select()?))),
            Kw::VALUES => {
                self.bump();
                let rows = self.comma_list(|p| {
                    p.expect_kw(Kw::ROW)?;
                    p.parenthesised(Self::value_or_default)
                })?;
                Ok(QueryBody::Values(rows))
            }
            Kw::TABLE => {
                self.bump();
                Ok(QueryBody::Table(self.object_name()?))
            }
            _ if self.kind() == TokenKind::Open => Ok(QueryBody::Nested(self.subquery()?)),
            _ => self.fail(),
        }
    }

    fn select(&mut self) -> Result<Select> {
        self.expect_kw(Kw::SELECT)?;
        let options = self.select_options()?;
        let mut items = Vec::with_capacity(1);
        if self.eat(TokenKind::Star) {
            items.push(SelectItem::Wildcard(None));
        } else {
            items.push(self.select_item()?);
        }
        while self.eat(TokenKind::Comma) {
            items.push(self.select_item()?);
        }
        if self.kw() == Kw::INTO {
            self.pending_into = Some(self.target_clause()?);
        }
        let from = if !self.eat_kw(Kw::FROM) {
            Vec::new()
        } else if self.eat_kw(Kw::DUAL) {
            vec![dual()]
        } else {
            self.comma_list(Self::table_ref)?
        };
        let filter = if self.eat_kw(Kw::WHERE) { Some(self.expr()?) } else { None };
        let mut group_by = Vec::new();
        let mut rollup = false;
        if self.eat_phrase(&[Kw::GROUP, Kw::BY])? {
            group_by = self.comma_list(Self::group_item)?;
            rollup = self.eat_kws(&[Kw::WITH, Kw::ROLLUP]);
        }
        let having = if self.eat_kw(Kw::HAVING) { Some(self.expr()?) } else { None };
        let mut windows = Vec::new();
        if self.eat_kw(Kw::WINDOW) {
            windows = self.comma_list(|p| {
                let name = p.ident()?;
                p.expect_kw(Kw::AS)?;
                Ok((name, p.window()?))
            })?;
        }
        Ok(Select { options, items, from, filter, group_by, rollup, having, windows })
    }

    fn select_options(&mut self) -> Result<SelectOptions> {
        let mut options = SelectOptions { hints: self.hints(), ..SelectOptions::default() };
        let mut all = false;
        loop {
            let flag = match self.kw() {
                Kw::ALL if !options.distinct => {
                    self.bump();
                    all = true;
                    continue;
                }
                Kw::ALL | Kw::DISTINCT | Kw::DISTINCTROW if all || self.kw() == Kw::ALL => {
                    return self.fail_with(Refused::AllAndDistinct);
                }
                Kw::DISTINCT | Kw::DISTINCTROW => &mut options.distinct,
                Kw::HIGH_PRIORITY => &mut options.high_priority,
                Kw::STRAIGHT_JOIN => &mut options.straight_join,
                Kw::SQL_SMALL_RESULT => &mut options.small_result,
                Kw::SQL_BIG_RESULT => &mut options.big_result,
                Kw::SQL_BUFFER_RESULT => &mut options.buffer_result,
                Kw::SQL_NO_CACHE => &mut options.no_cache,
                Kw::SQL_CALC_FOUND_ROWS => &mut options.calc_found_rows,
                _ => return Ok(options),
            };
            *flag = true;
            match self.bump().kw {
                Kw::SQL_CALC_FOUND_ROWS => self.warn(deprecated::CALC_FOUND_ROWS),
                Kw::SQL_NO_CACHE => self.warn(deprecated::NO_CACHE),
                _ => {}
            }
        }
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if let Some(name) = self.qualified_star()? {
            return Ok(SelectItem::Wildcard(Some(name)));
        }
        let start = self.peek().start as usize;
        let expr = self.expr()?;
        let text = self.item_text(start, &expr);
        let alias = self.optional_alias(true)?;
        Ok(SelectItem::Expr { expr, alias, text })
    }

    /// The column's name: the text as written; of a plain string its value.
    fn item_text(&self, start: usize, expr: &Expr) -> String {
        if let Expr::Literal(Literal::String(literal)) = expr {
            // Of adjacent strings, MySQL names the column after the first.
            if self.sql[start] == b'\'' || self.sql[start] == b'"' {
                let first = crate::lex::Lexer::new(self.sql, start, self.mode).next_token();
                let bytes = crate::literal::literal_value(first.text(self.sql), self.mode);
                return String::from_utf8_lossy(&bytes).into_owned();
            }
            return String::from_utf8_lossy(&literal.bytes).into_owned();
        }
        let text = String::from_utf8_lossy(&self.sql[start..self.taken_end().max(start)]);
        match expr {
            Expr::Odbc(_, inner) if let Expr::Literal(Literal::String(text)) = &**inner => {
                String::from_utf8_lossy(&text.bytes).into_owned()
            }
            Expr::Literal(Literal::Null) => "NULL".into(),
            Expr::Literal(_) => text.trim_matches(['(', ')', '+', ' ']).to_string(),
            Expr::Unary(UnaryOp::Plus, operand) if matches!(**operand, Expr::Literal(_)) => {
                text.trim_matches(['(', ')', '+', ' ']).to_string()
            }
            _ if text.contains("*/") || text.contains("/*!") => {
                crate::lex::without_version_comments(&text)
            }
            _ => text.into_owned(),
        }
    }

    /// `name.*` or `schema.name.*`.
    fn qualified_star(&mut self) -> Result<Option<ObjectName>> {
        let star_at = |p: &Self, n: usize| {
            p.nth(n).kind == TokenKind::Dot && p.nth(n + 1).kind == TokenKind::Star
        };
        let qualified =
            star_at(self, 1) || (self.nth(1).kind == TokenKind::Dot && star_at(self, 3));
        if !qualified || !self.at_name() {
            return Ok(None);
        }
        let first = self.ident()?;
        self.expect(TokenKind::Dot)?;
        if self.eat(TokenKind::Star) {
            return Ok(Some(ObjectName { schema: None, name: first }));
        }
        let name = self.ident()?;
        self.expect(TokenKind::Dot)?;
        self.expect(TokenKind::Star)?;
        Ok(Some(ObjectName { schema: Some(first), name }))
    }

    pub(crate) fn optional_alias(&mut self, text_allowed: bool) -> Result<Option<String>> {
        let quoted = self.kind() == TokenKind::String && text_allowed;
        if self.eat_kw(Kw::AS) {
            return if self.kind() == TokenKind::String {
                self.text().map(Some)
            } else {
                self.alias().map(Some)
            };
        }
        if quoted {
            return self.text().map(Some);
        }
        if self.at_name() { self.alias().map(Some) } else { Ok(None) }
    }

    /// An element of GROUP BY: no direction.
    fn group_item(&mut self) -> Result<OrderItem> {
        let expr = self.position_or_value()?;
        Ok(OrderItem { expr, descending: false })
    }

    pub(crate) fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.position_or_value()?;
        Ok(OrderItem { expr, descending: self.direction() })
    }

    fn position_or_value(&mut self) -> Result<Expr> {
        let place = self.place();
        let expr = self.expr()?;
        if self.place() == place + 1 && matches!(expr, Expr::Literal(Literal::Int(_))) {
            self.mark(place);
        }
        Ok(expr)
    }

    pub(crate) fn limit_clause(&mut self) -> Result<Option<Limit>> {
        if !self.eat_kw(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_number()?;
        if self.eat(TokenKind::Comma) {
            return Ok(Some(Limit { count: self.limit_number()?, offset: Some(first) }));
        }
        let offset = if self.eat_kw(Kw::OFFSET) { Some(self.limit_number()?) } else { None };
        Ok(Some(Limit { count: first, offset }))
    }

    pub(crate) fn limit_number(&mut self) -> Result<Expr> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Param => self.primary(),
            _ if self.at_name() && self.program.is_some() => {
                let column = self.ident()?;
                Ok(Expr::Column(ColumnRef { schema: None, table: None, column }))
            }
            _ => self.fail(),
        }
    }

    pub(crate) fn locking_clause(&mut self) -> Result<Option<Locking>> {
        if self.eat_phrase(&[Kw::LOCK, Kw::IN, Kw::SHARE, Kw::MODE])? {
            return Ok(Some(Locking { update: false, of: Vec::new(), wait: LockWait::Wait }));
        }
        if !self.eat_kw(Kw::FOR) {
            return Ok(None);
        }
        let update = self.expect_any(&[Kw::UPDATE, Kw::SHARE])? == Kw::UPDATE;
        let of = if self.eat_kw(Kw::OF) { self.comma_list(Self::object_name)? } else { Vec::new() };
        let wait = if self.eat_kw(Kw::NOWAIT) {
            LockWait::NoWait
        } else if self.eat_phrase(&[Kw::SKIP, Kw::LOCKED])? {
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(Some(Locking { update, of, wait }))
    }

    fn target_clause(&mut self) -> Result<Into> {
        self.expect_kw(Kw::INTO)?;
        if self.eat_kw(Kw::OUTFILE) {
            let file = self.string()?;
            let charset = self.charset_attribute()?;
            return Ok(Into::Outfile { file, charset, format: self.file_format()? });
        }
        if self.eat_kw(Kw::DUMPFILE) {
            return Ok(Into::Dumpfile(self.string()?));
        }
        Ok(Into::Variables(self.comma_list(|p| match p.kind() {
            TokenKind::UserVar => Ok(Expr::UserVar(p.assigned_var_name()?)),
            _ => {
                let column = p.ident()?;
                Ok(Expr::Column(ColumnRef { schema: None, table: None, column }))
            }
        })?))
    }

    /// A table reference with its joins.
    pub(crate) fn table_ref(&mut self) -> Result<TableRef> {
        let mut left = self.table_factor()?;
        while let Some((kind, natural)) = self.join_kind()? {
            self.grow()?;
            left = self.join_tail(left, kind, natural)?;
        }
        Ok(left)
    }

    /// The words of a join, when they stand here.
    fn join_kind(&mut self) -> Result<Option<(JoinKind, bool)>> {
        let natural = self.eat_kw(Kw::NATURAL);
        let kind = match self.kw() {
            Kw::JOIN => JoinKind::Inner,
            Kw::INNER => {
                self.bump();
                JoinKind::Inner
            }
            Kw::CROSS if !natural => {
                self.bump();
                JoinKind::Inner
            }
            Kw::STRAIGHT_JOIN if !natural => {
                self.bump();
                return Ok(Some((JoinKind::Straight, false)));
            }
            Kw::LEFT | Kw::RIGHT => {
                let left = self.bump().kw == Kw::LEFT;
                self.eat_kw(Kw::OUTER);
                if left { JoinKind::Left } else { JoinKind::Right }
            }
            _ if natural => return self.fail(),
            _ => return Ok(None),
        };
        self.expect_kw(Kw::JOIN)?;
        Ok(Some((kind, natural)))
    }

    /// The right side of a join and its condition. Joins that follow the right side belong to it when a condition for this
    /// join follows them; otherwise this join has none and goes first.
    fn join_tail(&mut self, left: TableRef, kind: JoinKind, natural: bool) -> Result<TableRef> {
        let mut right = self.nested(Self::table_factor)?;
        let (mut on, mut using) = (None, Vec::new());
        if !natural {
            while !matches!(self.kw(), Kw::ON | Kw::USING)
                && let Some((kind, natural)) = self.join_kind()?
            {
                self.grow()?;
                right = self.nested(|p| p.join_tail(right, kind, natural))?;
            }
            if self.eat_kw(Kw::ON) {
                on = Some(self.expr()?);
            } else if self.eat_kw(Kw::USING) {
                using = self.parenthesised(Self::ident)?;
            } else if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return self.fail();
            } else {
                return Ok(join_first(left, right, kind));
            }
        }
        Ok(TableRef::Join(Box::new(Join { left, right, kind, natural, on, using })))
    }

    fn table_factor(&mut self) -> Result<TableRef> {
        let lateral = self.eat_kw(Kw::LATERAL);
        if lateral && self.kind() != TokenKind::Open {
            return self.fail();
        }
        if lateral || self.query_in_parentheses() {
            let query = self.subquery()?;
            let alias = self.derived_alias(Refused::NoDerivedAlias)?;
            let columns = if self.kind() == TokenKind::Open {
                self.parenthesised(Self::ident)?
            } else {
                Vec::new()
            };
            return Ok(TableRef::Derived { lateral, query, alias, columns });
        }
        if self.eat(TokenKind::Open) {
            let list = self.nested(|p| p.comma_list(Self::table_ref))?;
            self.expect(TokenKind::Close)?;
            return Ok(TableRef::List(list));
        }
        if self.kw() == Kw::JSON_TABLE {
            return self.json_table();
        }
        if self.eat(TokenKind::OpenBrace) {
            // {OJ a LEFT JOIN b ON ..}: any word will do.
            self.ident()?;
            let table = self.nested(Self::table_ref)?;
            self.expect(TokenKind::CloseBrace)?;
            return Ok(TableRef::List(vec![table]));
        }
        Ok(TableRef::Table(self.table_name_factor()?))
    }

    /// The alias of a table that has no name; MySQL demands one, else this is the answer.
    pub(crate) fn derived_alias(&mut self, missing: Refused<'_>) -> Result<String> {
        if self.eat_kw(Kw::AS) || self.at_name() {
            return self.alias();
        }
        self.fail_with(missing)
    }

    pub(crate) fn table_name_factor(&mut self) -> Result<TableFactor> {
        let name = self.object_name()?;
        let partitions =
            if self.eat_kw(Kw::PARTITION) { self.parenthesised(Self::ident)? } else { Vec::new() };
        let alias = self.optional_alias(false)?;
        let mut index_hints = Vec::new();
        while let Some(kind) = self.index_hint_kind() {
            self.bump();
            self.expect_any(&[Kw::INDEX, Kw::KEY])?;
            let scope = self.index_hint_scope()?;
            self.expect(TokenKind::Open)?;
            let mut indexes = Vec::new();
            if self.kind() != TokenKind::Close || kind != IndexHintKind::Use {
                indexes = self.comma_list(|p| {
                    if p.eat_kw(Kw::PRIMARY) { Ok("PRIMARY".to_string()) } else { p.ident() }
                })?;
            }
            self.expect(TokenKind::Close)?;
            index_hints.push(IndexHint { kind, scope, indexes });
        }
        Ok(TableFactor { name, alias, partitions, index_hints })
    }

    fn index_hint_kind(&self) -> Option<IndexHintKind> {
        if !matches!(self.nth(1).kw, Kw::INDEX | Kw::KEY) {
            return None;
        }
        match self.kw() {
            Kw::USE => Some(IndexHintKind::Use),
            Kw::FORCE => Some(IndexHintKind::Force),
            Kw::IGNORE => Some(IndexHintKind::Ignore),
            _ => None,
        }
    }

    fn index_hint_scope(&mut self) -> Result<IndexHintScope> {
        if !self.eat_kw(Kw::FOR) {
            return Ok(IndexHintScope::All);
        }
        Ok(match self.expect_any(&[Kw::JOIN, Kw::ORDER, Kw::GROUP])? {
            Kw::JOIN => IndexHintScope::Join,
            word => {
                self.expect_kw(Kw::BY)?;
                if word == Kw::ORDER { IndexHintScope::OrderBy } else { IndexHintScope::GroupBy }
            }
        })
    }

    /// `(window specification)`.
    pub(crate) fn window(&mut self) -> Result<Window> {
        self.expect(TokenKind::Open)?;
        let mut window =
            Window { base: None, partition_by: Vec::new(), order_by: Vec::new(), frame: None };
        if self.at_name() {
            window.base = Some(self.ident()?);
        }
        if self.eat_phrase(&[Kw::PARTITION, Kw::BY])? {
            window.partition_by = self.comma_list(Self::expr)?;
        }
        if self.eat_phrase(&[Kw::ORDER, Kw::BY])? {
            window.order_by = self.comma_list(Self::order_item)?;
        }
        if let Some(unit) = self.eat_any(&[Kw::ROWS, Kw::RANGE]) {
            let between = self.eat_kw(Kw::BETWEEN);
            let start = self.frame_bound()?;
            let end = if between {
                self.expect_kw(Kw::AND)?;
                Some(self.frame_bound()?)
            } else {
                None
            };
            window.frame = Some(Frame { rows: unit == Kw::ROWS, start, end });
        }
        self.expect(TokenKind::Close)?;
        Ok(window)
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_kw(Kw::UNBOUNDED) {
            let preceding = self.expect_any(&[Kw::PRECEDING, Kw::FOLLOWING])? == Kw::PRECEDING;
            return Ok(if preceding {
                FrameBound::UnboundedPreceding
            } else {
                FrameBound::UnboundedFollowing
            });
        }
        if self.eat_phrase(&[Kw::CURRENT, Kw::ROW])? {
            return Ok(FrameBound::CurrentRow);
        }
        let distance = Box::new(match self.kind() {
            _ if self.kw() == Kw::INTERVAL => self.interval()?,
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float | TokenKind::Param => {
                self.primary()?
            }
            _ => return self.fail(),
        });
        let preceding = self.expect_any(&[Kw::PRECEDING, Kw::FOLLOWING])? == Kw::PRECEDING;
        Ok(if preceding {
            FrameBound::Preceding(distance)
        } else {
            FrameBound::Following(distance)
        })
    }
}

/// FROM DUAL.
fn dual() -> TableRef {
    let name = ObjectName { schema: None, name: "dual".to_string() };
    TableRef::Table(TableFactor::named(name))
}

/// Joins `left`, without a condition, to the first table of `right`.
fn join_first(left: TableRef, right: TableRef, kind: JoinKind) -> TableRef {
    if let TableRef::Join(mut join) = right {
        join.left = join_first(left, join.left, kind);
        return TableRef::Join(join);
    }
    let (natural, on, using) = (false, None, Vec::new());
    TableRef::Join(Box::new(Join { left, right, kind, natural, on, using }))
}
