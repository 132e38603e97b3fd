//! COM_STMT_PREPARE: its answer says how many columns and parameters there are, and their types.

use crate::core::{Core, PreparedStatement, Runner, StatementCode, instruments};
use crate::events::without_secrets;
use crate::prepared_list::Listed;
use crate::registry::Activity;
use crate::sink;
use executor::{Environment, ParameterType, ResultColumn};
use instrument::{Counter, PreparedOf, PreparedRow, STATEMENTS, count, statement_of};
use std::sync::Arc;
use value::{ColumnType, Kind};
use wire::reply;

impl Core {
    /// COM_STMT_PREPARE.
    pub fn prepare_command(&mut self, sql: &[u8]) {
        count(Counter::Questions, 1);
        count(Counter::ComStmtPrepare, 1);
        let now_ns = sync::now_ns();
        self.statements.shows_other();
        self.show_text(Activity::Prepare, now_ns, sql);
        self.looks_for_secrets(sql);
        let text = self.env.cached.charsets.statement(sql);
        match self.make(text.as_ref()) {
            Ok(one) => self.announce(one, now_ns),
            Err(error) => self.send_error(&error),
        }
    }

    /// Answers COM_STMT_PREPARE.
    fn announce(&mut self, one: PreparedStatement, begun_ns: u64) {
        let columns: Vec<ResultColumn> = match &one.program {
            StatementCode::Compiled(p) => p.columns().to_vec(),
            StatementCode::Session(statement) => match one.kind.runner {
                Runner::Rows(columns, _) => columns(self, statement).unwrap_or_default(),
                _ => Vec::new(),
            },
        };
        let params = one.params();
        let types = self.announced(&one);
        let id = self.statements.add(one);
        self.list(id, begun_ns);
        self.env.server.count_statements(1);
        let (caps, status) = (self.env.link.caps, self.env.link.status);
        let warnings = self.env.diagnostics.wire_count();
        let (numbers, metadata) = ((columns.len() as u16, params as u16), self.env.link.metadata);
        reply::prepared(&mut self.reply.out, id, numbers, warnings, metadata);
        if !metadata.is_sent() {
            return;
        }
        if params > 0 {
            for ty in &types {
                let marker = ResultColumn::computed("?", *ty, decimals_of(ty));
                sink::put_column(&mut self.reply.out, &marker, &self.env.cached.charsets, None);
            }
            reply::end_of_columns(&mut self.reply.out, caps, status, 0);
        }
        if !columns.is_empty() {
            for c in &columns {
                sink::put_column(&mut self.reply.out, c, &self.env.cached.charsets, None);
            }
            reply::end_of_columns(&mut self.reply.out, caps, status, 0);
        }
    }

    /// Shows a statement of the protocol to those who look at all.
    fn list(&mut self, id: u32, begun_ns: u64) {
        let Some(mut one) = self.statements.place(id).and_then(Option::take) else { return };
        one.listed = self.listed(&one, (u64::from(id), None), begun_ns).map(Box::new);
        if let Some(place) = self.statements.place(id) {
            *place = Some(one);
        }
    }

    pub(super) fn listed(
        &self,
        one: &PreparedStatement,
        (id, name): (u64, Option<&str>),
        begun_ns: u64,
    ) -> Option<Listed> {
        let secret = match one.program {
            StatementCode::Compiled(_) => None,
            StatementCode::Session(_) => without_secrets(&one.sql),
        };
        let of = PreparedOf {
            id,
            name: name.map(Into::into),
            text: secret.map_or_else(|| Arc::clone(&one.sql), Into::into),
            event_id: self.events.event_id(),
        };
        let instrument = match name {
            Some(_) => statement_of(Counter::ComPrepareSql),
            None => instruments::PREPARE,
        };
        let is_timed = STATEMENTS[usize::from(instrument)].timed();
        let took_ns = if is_timed { sync::now_ns().saturating_sub(begun_ns) } else { 0 };
        PreparedRow::new(of, took_ns).map(|row| self.statements.figures.add(row))
    }

    /// Types of the parameters, as clients are told.
    fn announced(&self, one: &PreparedStatement) -> Vec<ColumnType> {
        let known = match &one.program {
            StatementCode::Compiled(prepared) => prepared.parameters(),
            StatementCode::Session(_) => &[],
        };
        let collation = self.env.connection_collation();
        let known = known.iter().map(|p| p.announced);
        let all = known.chain(std::iter::repeat(ParameterType::Text));
        all.map(|ty| ty.column_type(collation)).take(one.params()).collect()
    }
}

/// Digits behind the point, as a parameter is announced.
fn decimals_of(ty: &ColumnType) -> u8 {
    let open = ty.is_text() || ty.kind == Kind::Json;
    if open { value::types::NOT_FIXED } else { ty.decimals }
}
