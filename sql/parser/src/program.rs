//! Stored programs: heads of procedures, functions, triggers and events.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::primary::unit;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn create_procedure(&mut self, definer: Option<Account>) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let params = self.routine_params(true)?;
        let characteristics = self.characteristics(true)?;
        let (body, text) = self.program_body(false)?;
        Ok(Statement::CreateRoutine(Box::new(CreateRoutine {
            definer,
            if_not_exists,
            name,
            params,
            returns: None,
            characteristics,
            body,
            text,
        })))
    }

    pub(crate) fn create_function(&mut self, definer: Option<Account>) -> Result<Statement> {
        self.expect_kw(Kw::FUNCTION)?;
        let place = self.place();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        if definer.is_none() && name.schema.is_none() && self.kw() == Kw::RETURNS {
            self.rewind(place);
            return self.create_loadable(false);
        }
        let params = self.routine_params(false)?;
        self.expect_kw(Kw::RETURNS)?;
        let returns = Some((self.data_type()?, self.optional_collation()?));
        let characteristics = self.characteristics(true)?;
        let (body, text) = self.program_body(true)?;
        Ok(Statement::CreateRoutine(Box::new(CreateRoutine {
            definer,
            if_not_exists,
            name,
            params,
            returns,
            characteristics,
            body,
            text,
        })))
    }

    /// `[IF NOT EXISTS] name RETURNS type SONAME 'library'`.
    pub(crate) fn create_loadable(&mut self, aggregate: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        self.expect_kw(Kw::RETURNS)?;
        let types = [Kw::STRING, Kw::REAL, Kw::DECIMAL, Kw::DEC, Kw::INT, Kw::INTEGER, Kw::INT4];
        let returns = match self.expect_any(&types)? {
            Kw::INT | Kw::INT4 => Kw::INTEGER,
            Kw::DEC => Kw::DECIMAL,
            other => other,
        };
        self.expect_kw(Kw::SONAME)?;
        let library = self.text()?;
        let returns = returns.text().to_string();
        let loadable = CreateLoadable { aggregate, if_not_exists, name, returns, library };
        Ok(Statement::CreateLoadable(loadable))
    }

    fn routine_params(&mut self, with_mode: bool) -> Result<Vec<RoutineParam>> {
        self.expect(TokenKind::Open)?;
        if self.eat(TokenKind::Close) {
            return Ok(Vec::new());
        }
        let params = self.comma_list(|p| {
            let word = if with_mode { p.eat_any(&[Kw::IN, Kw::OUT, Kw::INOUT]) } else { None };
            let mode = match word {
                Some(Kw::OUT) => ParamMode::Out,
                Some(Kw::INOUT) => ParamMode::InOut,
                _ => ParamMode::In,
            };
            let name = p.ident()?;
            let ty = p.data_type()?;
            Ok(RoutineParam { mode, name, ty, collation: p.optional_collation()? })
        })?;
        self.expect(TokenKind::Close)?;
        Ok(params)
    }

    /// COMMENT, LANGUAGE and so on; DETERMINISTIC only where a routine is made.
    fn characteristics(&mut self, creating: bool) -> Result<Vec<Characteristic>> {
        let mut list = Vec::new();
        loop {
            list.push(match self.kw() {
                Kw::COMMENT => {
                    self.bump();
                    Characteristic::Comment(self.string()?)
                }
                Kw::LANGUAGE => {
                    self.bump();
                    let sql = self.eat_kw(Kw::SQL);
                    Characteristic::Language(if sql { "SQL".into() } else { self.ident()? })
                }
                Kw::NOT if creating => {
                    self.bump();
                    self.expect_kw(Kw::DETERMINISTIC)?;
                    Characteristic::Deterministic(false)
                }
                Kw::DETERMINISTIC if creating => {
                    self.bump();
                    Characteristic::Deterministic(true)
                }
                Kw::NO | Kw::CONTAINS => {
                    let no = self.bump().kw == Kw::NO;
                    self.expect_kw(Kw::SQL)?;
                    Characteristic::Data(if no { "NO SQL" } else { "CONTAINS SQL" })
                }
                Kw::READS | Kw::MODIFIES => {
                    let reads = self.bump().kw == Kw::READS;
                    self.expect_kw(Kw::SQL)?;
                    self.expect_kw(Kw::DATA)?;
                    Characteristic::Data(if reads { "READS SQL DATA" } else { "MODIFIES SQL DATA" })
                }
                Kw::SQL => {
                    self.bump();
                    self.expect_kw(Kw::SECURITY)?;
                    let word = self.expect_any(&[Kw::DEFINER, Kw::INVOKER])?;
                    Characteristic::Invoker(word == Kw::INVOKER)
                }
                _ => return Ok(list),
            });
        }
    }

    pub(crate) fn alter_routine(&mut self) -> Result<Statement> {
        let function = self.bump().kw == Kw::FUNCTION;
        let name = self.object_name()?;
        let characteristics = self.characteristics(false)?;
        Ok(Statement::AlterRoutine(AlterRoutine { function, name, characteristics }))
    }

    pub(crate) fn create_trigger(&mut self, definer: Option<Account>) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let before = self.expect_any(&[Kw::BEFORE, Kw::AFTER])? == Kw::BEFORE;
        let event = match self.expect_any(&[Kw::INSERT, Kw::UPDATE, Kw::DELETE])? {
            Kw::INSERT => TriggerEvent::Insert,
            Kw::UPDATE => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        for word in [Kw::FOR, Kw::EACH, Kw::ROW] {
            self.expect_kw(word)?;
        }
        let mut order = None;
        // FOLLOWS and PRECEDES may also be labels.
        if matches!(self.kw(), Kw::FOLLOWS | Kw::PRECEDES) && self.nth(1).kind != TokenKind::Colon {
            let follows = self.bump().kw == Kw::FOLLOWS;
            order = Some((follows, self.ident_or_text()?));
        }
        let (body, text) = self.program_body(false)?;
        Ok(Statement::CreateTrigger(Box::new(CreateTrigger {
            definer,
            if_not_exists,
            name,
            before,
            event,
            table,
            order,
            body,
            text,
        })))
    }

    pub(crate) fn create_event(&mut self, definer: Option<Account>) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let mut event = new_event(definer, name);
        event.if_not_exists = if_not_exists;
        self.expect_kw(Kw::ON)?;
        self.expect_kw(Kw::SCHEDULE)?;
        event.schedule = Some(self.schedule()?);
        if self.eat_kw(Kw::ON) {
            event.preserve = Some(self.on_completion()?);
        }
        self.event_status_and_comment(&mut event)?;
        if self.kw() != Kw::DO {
            return self.fail();
        }
        self.event_body(&mut event)?;
        Ok(Statement::CreateEvent(Box::new(event)))
    }

    pub(crate) fn alter_event(&mut self, definer: Option<Account>) -> Result<Statement> {
        self.bump();
        let name = self.object_name()?;
        let place = self.place();
        let mut event = new_event(definer, name);
        if self.kw() == Kw::ON && self.nth(1).kw == Kw::SCHEDULE {
            self.bump();
            self.bump();
            event.schedule = Some(self.schedule()?);
        }
        if self.eat_kw(Kw::ON) {
            event.preserve = Some(self.on_completion()?);
        }
        if self.eat_kw(Kw::RENAME) {
            self.expect_kw(Kw::TO)?;
            event.rename = Some(self.object_name()?);
        }
        self.event_status_and_comment(&mut event)?;
        self.event_body(&mut event)?;
        if self.place() == place {
            return self.fail();
        }
        Ok(Statement::AlterEvent(Box::new(event)))
    }

    fn schedule(&mut self) -> Result<Schedule> {
        if self.expect_any(&[Kw::AT, Kw::EVERY])? == Kw::AT {
            return Ok(Schedule::At(self.expr()?));
        }
        let quantity = self.expr()?;
        let Some(unit) = unit(self.kw()) else {
            return self.fail();
        };
        self.bump();
        let starts = if self.eat_kw(Kw::STARTS) { Some(self.expr()?) } else { None };
        let ends = if self.eat_kw(Kw::ENDS) { Some(self.expr()?) } else { None };
        Ok(Schedule::Every { quantity, unit, starts, ends })
    }

    fn on_completion(&mut self) -> Result<bool> {
        self.expect_kw(Kw::COMPLETION)?;
        let preserve = !self.eat_kw(Kw::NOT);
        self.expect_kw(Kw::PRESERVE)?;
        Ok(preserve)
    }

    fn event_status_and_comment(&mut self, event: &mut EventDef) -> Result<()> {
        if self.eat_kw(Kw::ENABLE) {
            event.status = Some(EventStatus::Enable);
        } else if self.eat_kw(Kw::DISABLE) {
            event.status = Some(EventStatus::Disable);
            if self.eat_kw(Kw::ON) {
                self.expect_any(&[Kw::REPLICA, Kw::SLAVE])?;
                event.status = Some(EventStatus::DisableOnReplica);
            }
        }
        if self.eat_kw(Kw::COMMENT) {
            event.comment = Some(self.string()?);
        }
        Ok(())
    }

    fn event_body(&mut self, event: &mut EventDef) -> Result<()> {
        if self.eat_kw(Kw::DO) {
            let (body, text) = self.program_body(false)?;
            event.body = Some(body);
            event.text = text;
        }
        Ok(())
    }

    /// The body of a stored program and its text; RETURN is allowed in a function only.
    fn program_body(&mut self, function: bool) -> Result<(Box<Program>, Vec<u8>)> {
        let start = self.peek().start as usize;
        self.begin_program(function);
        let body = Box::new(self.program_statement()?);
        self.end_program()?;
        let text = self.sql[start..self.taken_end().max(start)].to_vec();
        Ok((body, text))
    }

    /// `CALL name [(args)]`.
    pub(crate) fn call_procedure(&mut self) -> Result<Statement> {
        self.bump();
        let name = self.object_name()?;
        let mut args = Vec::new();
        if self.eat(TokenKind::Open) {
            if self.kind() != TokenKind::Close {
                args = self.comma_list(Self::expr)?;
            }
            self.expect(TokenKind::Close)?;
        }
        Ok(Statement::Call(CallProcedure { name, args }))
    }
}

fn new_event(definer: Option<Account>, name: ObjectName) -> EventDef {
    EventDef {
        definer,
        if_not_exists: false,
        name,
        schedule: None,
        preserve: None,
        rename: None,
        status: None,
        comment: None,
        body: None,
        text: Vec::new(),
    }
}
