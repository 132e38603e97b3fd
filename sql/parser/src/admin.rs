//! Transactions, SET, SHOW, accounts and the rest of administration.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(crate) fn start_transaction(&mut self) -> Result<Statement> {
        if self.eat_kw(Kw::BEGIN) {
            self.eat_kw(Kw::WORK);
            return Ok(Statement::StartTransaction(StartTransaction::default()));
        }
        self.expect_kw(Kw::START)?;
        self.expect_kw(Kw::TRANSACTION)?;
        let mut start = StartTransaction::default();
        if self.at_end() {
            return Ok(Statement::StartTransaction(start));
        }
        loop {
            if self.eat_kws(&[Kw::WITH, Kw::CONSISTENT, Kw::SNAPSHOT]) {
                start.consistent_snapshot = true;
            } else {
                if start.read_only.is_some() {
                    return self.fail();
                }
                self.expect_kw(Kw::READ)?;
                start.read_only = Some(self.expect_any(&[Kw::ONLY, Kw::WRITE])? == Kw::ONLY);
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(Statement::StartTransaction(start));
            }
        }
    }

    pub(crate) fn completion(&mut self) -> Result<Completion> {
        self.eat_kw(Kw::WORK);
        let mut completion = Completion::default();
        if self.eat_kw(Kw::AND) {
            let no = self.eat_kw(Kw::NO);
            self.expect_kw(Kw::CHAIN)?;
            completion.chain = Some(!no);
        }
        let no = self.kw() == Kw::NO && self.nth(1).kw == Kw::RELEASE;
        if no {
            self.bump();
        }
        if self.eat_kw(Kw::RELEASE) {
            if !no && completion.chain == Some(true) {
                return self.fail();
            }
            completion.release = Some(!no);
        }
        Ok(completion)
    }

    pub(crate) fn rollback(&mut self) -> Result<Statement> {
        self.bump();
        self.eat_kw(Kw::WORK);
        if self.eat_kw(Kw::TO) {
            self.eat_kw(Kw::SAVEPOINT);
            return Ok(Statement::RollbackTo(self.ident()?));
        }
        Ok(Statement::Rollback(self.completion()?))
    }

    pub(crate) fn set(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::SET)?;
        let scoped = usize::from(self.scope_word().is_some());
        if self.nth(scoped).kw == Kw::TRANSACTION {
            return self.set_transaction();
        }
        if self.kw() == Kw::PASSWORD && !matches!(self.nth(1).kind, TokenKind::Dot) {
            return self.set_password();
        }
        if matches!(self.kw(), Kw::ROLE) || (self.kw() == Kw::DEFAULT && self.nth(1).kw == Kw::ROLE)
        {
            return self.unsupported("SET ROLE");
        }
        if self.kw() == Kw::RESOURCE {
            return self.unsupported("SET RESOURCE GROUP");
        }
        Ok(Statement::Set(self.comma_list(Self::set_item)?))
    }

    fn set_item(&mut self) -> Result<SetItem> {
        if self.kind() == TokenKind::UserVar {
            let name = self.user_var_name()?;
            self.assign_sign()?;
            return Ok(SetItem::User(name, self.expr()?));
        }
        if self.eat_kw(Kw::NAMES) {
            if self.eat_kw(Kw::DEFAULT) {
                return Ok(SetItem::Names(None));
            }
            let charset =
                if self.eat_kw(Kw::BINARY) { "binary".to_string() } else { self.ident_or_text()? };
            let collation =
                if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
            return Ok(SetItem::Names(Some((charset, collation))));
        }
        if self.eat_kws(&[Kw::CHARACTER, Kw::SET])
            || (self.kw() == Kw::CHARSET
                && self.nth(1).kind != TokenKind::Eq
                && self.eat_kw(Kw::CHARSET))
        {
            if self.eat_kw(Kw::DEFAULT) {
                return Ok(SetItem::Charset(None));
            }
            return Ok(SetItem::Charset(Some(if self.eat_kw(Kw::BINARY) {
                "binary".into()
            } else {
                self.ident_or_text()?
            })));
        }
        let var = if self.kind() == TokenKind::SystemAt {
            self.system_var()?
        } else {
            let scoped =
                self.nth(1).kind == TokenKind::Word || self.nth(1).kind == TokenKind::Quoted;
            let scope = self.scope_word().filter(|_| scoped);
            if scope.is_some() {
                self.bump();
            }
            let first = self.variable_word()?;
            let (component, name) =
                if self.eat(TokenKind::Dot) { (Some(first), self.ident()?) } else { (None, first) };
            SystemVar { scope: scope.unwrap_or(Scope::Unspecified), component, name }
        };
        self.assign_sign()?;
        Ok(SetItem::System(var, self.set_value()?))
    }

    fn assign_sign(&mut self) -> Result<()> {
        if self.eat(TokenKind::Assign) { Ok(()) } else { self.expect(TokenKind::Eq) }
    }

    /// An expression, or a word: ON, ALL, BINARY, ROW, SYSTEM, a bare name.
    fn set_value(&mut self) -> Result<Expr> {
        if self.kw() == Kw::DEFAULT && self.nth(1).kind != TokenKind::Open {
            self.bump();
            return Ok(Expr::Default);
        }
        let ends = matches!(self.nth(1).kind, TokenKind::End | TokenKind::Comma);
        if ends && matches!(self.kw(), Kw::ON | Kw::ALL | Kw::BINARY | Kw::ROW | Kw::SYSTEM) {
            let column = String::from_utf8_lossy(self.bump().text(self.sql)).into_owned();
            return Ok(Expr::Column(ColumnRef { schema: None, table: None, column }));
        }
        self.expr()
    }

    fn set_transaction(&mut self) -> Result<Statement> {
        let scope = self.scope_word();
        if scope.is_some() {
            self.bump();
        }
        self.expect_kw(Kw::TRANSACTION)?;
        let mut set = SetTransaction {
            scope: scope.unwrap_or(Scope::Unspecified),
            isolation: None,
            read_only: None,
        };
        loop {
            if self.eat_kws(&[Kw::ISOLATION, Kw::LEVEL]) {
                set.isolation = Some(if self.eat_kws(&[Kw::READ, Kw::UNCOMMITTED]) {
                    Isolation::ReadUncommitted
                } else if self.eat_kws(&[Kw::READ, Kw::COMMITTED]) {
                    Isolation::ReadCommitted
                } else if self.eat_kws(&[Kw::REPEATABLE, Kw::READ]) {
                    Isolation::RepeatableRead
                } else {
                    self.expect_kw(Kw::SERIALIZABLE)?;
                    Isolation::Serializable
                });
            } else {
                self.expect_kw(Kw::READ)?;
                set.read_only = Some(self.expect_any(&[Kw::ONLY, Kw::WRITE])? == Kw::ONLY);
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(Statement::SetTransaction(set));
            }
        }
    }

    fn set_password(&mut self) -> Result<Statement> {
        self.bump();
        let account = if self.eat_kw(Kw::FOR) { Some(self.account()?) } else { None };
        let password = if self.eat_kws(&[Kw::TO, Kw::RANDOM]) {
            None
        } else {
            self.assign_sign()?;
            Some(self.string()?)
        };
        let replace = if self.eat_kw(Kw::REPLACE) { Some(self.string()?) } else { None };
        let retain_current = self.eat_kws(&[Kw::RETAIN, Kw::CURRENT, Kw::PASSWORD]);
        Ok(Statement::SetPassword(SetPassword { account, password, replace, retain_current }))
    }

    /// `user@host`, `CURRENT_USER`.
    pub(crate) fn account(&mut self) -> Result<Account> {
        if self.eat_kw(Kw::CURRENT_USER)
            || (self.kw() == Kw::USER
                && self.nth(1).kind == TokenKind::Open
                && self.eat_kw(Kw::USER))
        {
            if self.eat(TokenKind::Open) {
                self.expect(TokenKind::Close)?;
            }
            return Ok(Account::Current);
        }
        let user = self.ident_or_text()?;
        let host =
            if self.kind() == TokenKind::UserVar { self.user_var_name()? } else { "%".to_string() };
        Ok(Account::Named { user, host })
    }

    fn account_spec(&mut self) -> Result<AccountSpec> {
        let account = self.account()?;
        let mut spec = AccountSpec {
            account,
            identified: None,
            replace: None,
            retain_current: false,
            discard_old: false,
        };
        if self.eat_kw(Kw::IDENTIFIED) {
            let plugin = if self.eat_kw(Kw::WITH) { Some(self.ident_or_text()?) } else { None };
            let secret = if self.eat_kw(Kw::BY) {
                if self.eat_kws(&[Kw::RANDOM, Kw::PASSWORD]) {
                    Secret::Random
                } else {
                    Secret::Password(self.string()?)
                }
            } else if plugin.is_some() && self.eat_kw(Kw::AS) {
                Secret::Hash(self.string()?)
            } else if plugin.is_some() {
                Secret::None
            } else {
                return self.fail();
            };
            spec.identified = Some(Identified { plugin, secret });
        }
        if self.eat_kw(Kw::REPLACE) {
            spec.replace = Some(self.string()?);
        }
        spec.retain_current = self.eat_kws(&[Kw::RETAIN, Kw::CURRENT, Kw::PASSWORD]);
        spec.discard_old = self.eat_kws(&[Kw::DISCARD, Kw::OLD, Kw::PASSWORD]);
        Ok(spec)
    }

    pub(crate) fn create_user(&mut self) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.eat_kws(&[Kw::IF, Kw::NOT, Kw::EXISTS]);
        let accounts = self.comma_list(Self::account_spec)?;
        let mut create =
            CreateUser { if_not_exists, accounts, default_roles: Vec::new(), options: Vec::new() };
        if self.eat_kws(&[Kw::DEFAULT, Kw::ROLE]) {
            create.default_roles = self.comma_list(Self::account)?;
        }
        create.options = self.account_options()?;
        Ok(Statement::CreateUser(create))
    }

    fn account_options(&mut self) -> Result<Vec<AccountOption>> {
        let mut options = Vec::new();
        while !self.at_end() {
            options.push(if self.eat_kws(&[Kw::ACCOUNT, Kw::LOCK]) {
                AccountOption::Lock
            } else if self.eat_kws(&[Kw::ACCOUNT, Kw::UNLOCK]) {
                AccountOption::Unlock
            } else if self.eat_kw(Kw::COMMENT) {
                AccountOption::Comment(self.string()?)
            } else if matches!(
                self.kw(),
                Kw::PASSWORD
                    | Kw::REQUIRE
                    | Kw::WITH
                    | Kw::FAILED_LOGIN_ATTEMPTS
                    | Kw::PASSWORD_LOCK_TIME
                    | Kw::ATTRIBUTE
            ) {
                let word = String::from_utf8_lossy(self.peek().text(self.sql)).into_owned();
                self.skip_rest()?;
                AccountOption::Other(word)
            } else {
                return self.fail();
            });
        }
        Ok(options)
    }

    /// `ALTER ...`
    pub(crate) fn alter(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::ALTER)?;
        if matches!(self.nth(1).kind, TokenKind::End) {
            self.bump();
            return self.fail();
        }
        match self.kw() {
            Kw::USER => {
                self.bump();
                let if_exists = self.if_exists();
                let accounts = self.comma_list(Self::account_spec)?;
                if self.eat_kws(&[Kw::DEFAULT, Kw::ROLE]) {
                    return self.unsupported("DEFAULT ROLE");
                }
                let options = self.account_options()?;
                Ok(Statement::AlterUser(AlterUser {
                    if_exists,
                    accounts,
                    default_role: None,
                    options,
                }))
            }
            Kw::TABLE => self.unsupported("ALTER TABLE"),
            Kw::DATABASE | Kw::SCHEMA => self.unsupported("ALTER DATABASE"),
            Kw::VIEW | Kw::ALGORITHM | Kw::DEFINER | Kw::SQL => self.unsupported("ALTER VIEW"),
            Kw::EVENT => self.unsupported("ALTER EVENT"),
            Kw::PROCEDURE => self.unsupported("ALTER PROCEDURE"),
            Kw::FUNCTION => self.unsupported("ALTER FUNCTION"),
            Kw::INSTANCE => self.unsupported("ALTER INSTANCE"),
            Kw::TABLESPACE | Kw::UNDO => self.unsupported("ALTER TABLESPACE"),
            Kw::SERVER => self.unsupported("ALTER SERVER"),
            Kw::RESOURCE => self.unsupported("ALTER RESOURCE GROUP"),
            _ => self.fail(),
        }
    }

    pub(crate) fn kill(&mut self) -> Result<Statement> {
        self.bump();
        let query = self.eat_any(&[Kw::CONNECTION, Kw::QUERY]) == Some(Kw::QUERY);
        Ok(Statement::Kill(Kill { query, id: self.expr()? }))
    }

    pub(crate) fn flush(&mut self) -> Result<Statement> {
        self.bump();
        let local = self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some();
        let targets = self.comma_list(|p| {
            let word = p.bump();
            Ok(match word.kw {
                Kw::TABLES | Kw::TABLE => {
                    let named = p.at_name() && p.kw() != Kw::WITH;
                    let tables = if named { p.comma_list(Self::object_name)? } else { Vec::new() };
                    let read_lock = p.eat_kws(&[Kw::WITH, Kw::READ, Kw::LOCK]);
                    let for_export = p.eat_kws(&[Kw::FOR, Kw::EXPORT]);
                    FlushTarget::Tables { tables, read_lock, for_export }
                }
                Kw::PRIVILEGES => FlushTarget::Privileges,
                Kw::STATUS => FlushTarget::Status,
                _ if word.kind == TokenKind::Word => {
                    let mut text = String::from_utf8_lossy(word.text(p.sql)).to_ascii_uppercase();
                    if p.eat_kw(Kw::LOGS) {
                        text.push_str(" LOGS");
                    }
                    FlushTarget::Other(text)
                }
                _ => return p.fail(),
            })
        })?;
        Ok(Statement::Flush(Flush { local, targets }))
    }

    pub(crate) fn lock_tables(&mut self) -> Result<Statement> {
        self.bump();
        if self.kw() == Kw::INSTANCE {
            return self.unsupported("LOCK INSTANCE FOR BACKUP");
        }
        self.expect_any(&[Kw::TABLES, Kw::TABLE])?;
        let tables = self.comma_list(|p| {
            let table = p.object_name()?;
            p.eat_kw(Kw::AS);
            let alias = if p.at_name() && !matches!(p.kw(), Kw::READ | Kw::WRITE) {
                Some(p.alias()?)
            } else {
                None
            };
            p.eat_kw(Kw::LOW_PRIORITY);
            let kind = match p.expect_any(&[Kw::READ, Kw::WRITE])? {
                Kw::WRITE => LockKind::Write,
                _ if p.eat_kw(Kw::LOCAL) => LockKind::ReadLocal,
                _ => LockKind::Read,
            };
            Ok(LockTable { table, alias, kind })
        })?;
        Ok(Statement::LockTables(tables))
    }

    pub(crate) fn maintain(&mut self, verb: MaintainVerb) -> Result<Statement> {
        self.bump();
        let logged = matches!(verb, MaintainVerb::Check | MaintainVerb::Checksum);
        let local = !logged && self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some();
        self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
        let tables = self.comma_list(Self::object_name)?;
        let options = self.maintain_options(verb)?;
        Ok(Statement::Maintain(Maintain { verb, local, tables, options }))
    }

    /// The words behind the table list; each verb has its own.
    fn maintain_options(&mut self, verb: MaintainVerb) -> Result<Vec<String>> {
        let words: &[Kw] = match verb {
            MaintainVerb::Check => {
                &[Kw::QUICK, Kw::FAST, Kw::MEDIUM, Kw::EXTENDED, Kw::CHANGED, Kw::FOR]
            }
            MaintainVerb::Checksum => &[Kw::QUICK, Kw::EXTENDED],
            MaintainVerb::Repair => &[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM],
            MaintainVerb::Analyze => &[Kw::UPDATE, Kw::DROP],
            MaintainVerb::Optimize => &[],
        };
        let mut options = Vec::new();
        while words.contains(&self.kw()) {
            let word = self.bump();
            options.push(String::from_utf8_lossy(word.text(self.sql)).to_ascii_uppercase());
            match word.kw {
                Kw::FOR => {
                    self.expect_kw(Kw::UPGRADE)?;
                }
                Kw::UPDATE | Kw::DROP => {
                    self.expect_kw(Kw::HISTOGRAM)?;
                    self.skip_rest()?;
                }
                _ if verb == MaintainVerb::Checksum => break,
                _ => {}
            }
        }
        Ok(options)
    }

    pub(crate) fn explain(&mut self) -> Result<Statement> {
        self.bump();
        let analyze = self.eat_kw(Kw::ANALYZE);
        let mut format = None;
        if self.eat_kw(Kw::FORMAT) {
            self.expect(TokenKind::Eq)?;
            format = Some(self.ident_or_text()?);
        }
        if self.eat_kws(&[Kw::FOR, Kw::CONNECTION]) {
            return Ok(Statement::Explain(Box::new(Explain::Connection {
                format,
                id: self.expr()?,
            })));
        }
        let explained = matches!(
            self.kw(),
            Kw::SELECT
                | Kw::INSERT
                | Kw::UPDATE
                | Kw::DELETE
                | Kw::REPLACE
                | Kw::WITH
                | Kw::TABLE
                | Kw::VALUES
        ) || self.kind() == TokenKind::Open;
        if explained {
            let statement = Box::new(self.nested(Self::statement)?);
            return Ok(Statement::Explain(Box::new(Explain::Statement {
                analyze,
                format,
                statement,
            })));
        }
        let table = self.object_name()?;
        let pattern = if self.kind() == TokenKind::String {
            Some(self.string()?)
        } else if self.at_name() {
            Some(self.ident()?.into_bytes())
        } else {
            None
        };
        Ok(Statement::Explain(Box::new(Explain::Table { table, pattern })))
    }

    fn show_filter(&mut self) -> Result<Option<ShowFilter>> {
        if self.eat_kw(Kw::LIKE) {
            return Ok(Some(ShowFilter::Like(self.string()?)));
        }
        if self.eat_kw(Kw::WHERE) {
            return Ok(Some(ShowFilter::Where(self.expr()?)));
        }
        Ok(None)
    }

    fn schema_clause(&mut self) -> Result<Option<String>> {
        if self.eat_any(&[Kw::FROM, Kw::IN]).is_some() { self.ident().map(Some) } else { Ok(None) }
    }

    /// `FROM table [FROM schema]`.
    fn table_clause(&mut self) -> Result<ObjectName> {
        self.expect_any(&[Kw::FROM, Kw::IN])?;
        let mut table = self.object_name()?;
        if let Some(schema) = self.schema_clause()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    pub(crate) fn show(&mut self) -> Result<Statement> {
        self.bump();
        Ok(Statement::Show(Box::new(self.show_what()?)))
    }

    fn show_what(&mut self) -> Result<Show> {
        let extended = self.eat_kw(Kw::EXTENDED);
        let full = self.eat_kw(Kw::FULL);
        let scope =
            self.scope_word().filter(|_| matches!(self.nth(1).kw, Kw::STATUS | Kw::VARIABLES));
        if scope.is_some() {
            self.bump();
        }
        let global = scope == Some(Scope::Global);
        if self.kw() == Kw::COUNT {
            self.bump();
            self.expect(TokenKind::Open)?;
            self.expect(TokenKind::Star)?;
            self.expect(TokenKind::Close)?;
            let warnings = self.expect_any(&[Kw::WARNINGS, Kw::ERRORS])? == Kw::WARNINGS;
            return Ok(if warnings { Show::CountWarnings } else { Show::CountErrors });
        }
        let word = self.bump();
        Ok(match word.kw {
            Kw::DATABASES | Kw::SCHEMAS => Show::Databases(self.show_filter()?),
            Kw::TABLES => Show::Tables {
                extended,
                full,
                schema: self.schema_clause()?,
                filter: self.show_filter()?,
            },
            Kw::TABLE => {
                self.expect_kw(Kw::STATUS)?;
                Show::TableStatus { schema: self.schema_clause()?, filter: self.show_filter()? }
            }
            Kw::OPEN => {
                self.expect_kw(Kw::TABLES)?;
                Show::OpenTables { schema: self.schema_clause()?, filter: self.show_filter()? }
            }
            Kw::COLUMNS | Kw::FIELDS => {
                let table = self.table_clause()?;
                Show::Columns { extended, full, table, filter: self.show_filter()? }
            }
            Kw::INDEX | Kw::INDEXES | Kw::KEYS => {
                let table = self.table_clause()?;
                let filter = if self.eat_kw(Kw::WHERE) { Some(self.expr()?) } else { None };
                Show::Index { extended, table, filter }
            }
            Kw::PROCESSLIST => Show::ProcessList { full },
            Kw::STATUS => Show::Status { global, filter: self.show_filter()? },
            Kw::VARIABLES => Show::Variables { global, filter: self.show_filter()? },
            Kw::WARNINGS => Show::Warnings(self.limit_clause()?),
            Kw::ERRORS => Show::Errors(self.limit_clause()?),
            Kw::CREATE => self.show_create()?,
            Kw::STORAGE => {
                self.expect_kw(Kw::ENGINES)?;
                Show::Engines
            }
            Kw::ENGINES => Show::Engines,
            Kw::ENGINE => {
                let engine = self.ident_or_text()?;
                let what = String::from_utf8_lossy(self.bump().text(self.sql)).to_ascii_uppercase();
                Show::Engine(engine, what)
            }
            Kw::COLLATION => Show::Collation(self.show_filter()?),
            Kw::CHARSET => Show::Charset(self.show_filter()?),
            Kw::CHARACTER => {
                self.expect_kw(Kw::SET)?;
                Show::Charset(self.show_filter()?)
            }
            Kw::GRANTS => {
                let account = if self.eat_kw(Kw::FOR) { Some(self.account()?) } else { None };
                Show::Grants(account)
            }
            Kw::PRIVILEGES => Show::Privileges,
            Kw::PLUGINS => Show::Plugins,
            Kw::TRIGGERS => {
                Show::Triggers { schema: self.schema_clause()?, filter: self.show_filter()? }
            }
            Kw::EVENTS => {
                Show::Events { schema: self.schema_clause()?, filter: self.show_filter()? }
            }
            Kw::PROCEDURE if self.eat_kw(Kw::STATUS) => Show::ProcedureStatus(self.show_filter()?),
            Kw::FUNCTION if self.eat_kw(Kw::STATUS) => Show::FunctionStatus(self.show_filter()?),
            Kw::BINARY => match self.expect_any(&[Kw::LOG, Kw::LOGS])? {
                Kw::LOGS => Show::BinaryLogs,
                _ => {
                    self.expect_kw(Kw::STATUS)?;
                    Show::BinaryLogStatus
                }
            },
            Kw::MASTER => match self.expect_any(&[Kw::STATUS, Kw::LOGS])? {
                Kw::LOGS => Show::BinaryLogs,
                _ => Show::BinaryLogStatus,
            },
            Kw::REPLICA | Kw::SLAVE => {
                self.expect_any(&[Kw::STATUS, Kw::HOSTS])?;
                if self.eat_kws(&[Kw::FOR, Kw::CHANNEL]) {
                    self.text()?;
                }
                Show::ReplicaStatus
            }
            Kw::REPLICAS => Show::Replicas,
            Kw::PROFILES => Show::Profiles,
            Kw::PROFILE => {
                self.skip_rest()?;
                Show::Profile
            }
            _ if word.kind == TokenKind::Word && word.kw != Kw::None => {
                let text = String::from_utf8_lossy(word.text(self.sql)).to_ascii_uppercase();
                self.skip_rest()?;
                Show::Other(text)
            }
            _ => {
                if word.kind != TokenKind::End {
                    self.rewind(self.place().saturating_sub(1));
                }
                return self.fail();
            }
        })
    }

    fn show_create(&mut self) -> Result<Show> {
        let word = self.bump();
        Ok(match word.kw {
            Kw::TABLE => Show::CreateTable(self.object_name()?),
            Kw::DATABASE | Kw::SCHEMA => {
                let if_not_exists = self.eat_kws(&[Kw::IF, Kw::NOT, Kw::EXISTS]);
                Show::CreateDatabase { if_not_exists, name: self.ident()? }
            }
            Kw::USER => Show::CreateUser(self.account()?),
            Kw::VIEW | Kw::TRIGGER | Kw::PROCEDURE | Kw::FUNCTION | Kw::EVENT => {
                let kind = String::from_utf8_lossy(word.text(self.sql)).to_ascii_uppercase();
                Show::CreateOther(kind, self.object_name()?)
            }
            _ => return self.fail(),
        })
    }
}
