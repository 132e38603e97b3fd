//! Accounts, roles and privileges.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::error::ErrorKind;
use crate::keywords::Kw;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `user@host`, `CURRENT_USER`.
    pub(crate) fn account(&mut self) -> Result<Account> {
        if self.eat_kw(Kw::CURRENT_USER) {
            if self.eat(TokenKind::Open) {
                self.expect(TokenKind::Close)?;
            }
            return Ok(Account::Current);
        }
        self.role()
    }

    /// An account that DEFINER names.
    pub(crate) fn named_account(&mut self) -> Result<Account> {
        self.account()
    }

    /// A role or an account by name.
    pub(crate) fn role(&mut self) -> Result<Account> {
        let user = self.ident_or_text()?;
        let host =
            if self.kind() == TokenKind::UserVar { self.user_var_name()? } else { "%".to_string() };
        Ok(Account::Named { user, host })
    }

    pub(crate) fn create_role(&mut self) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        Ok(Statement::CreateRole(if_not_exists, self.comma_list(Self::role)?))
    }

    pub(crate) fn create_user(&mut self) -> Result<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let accounts = self.comma_list(|p| {
            let account = p.account()?;
            p.account_spec(account, false)
        })?;
        let mut default_roles = Vec::new();
        if self.eat_kw(Kw::DEFAULT) {
            self.expect_kw(Kw::ROLE)?;
            default_roles = self.comma_list(Self::role)?;
        }
        let options = self.account_options()?;
        Ok(Statement::CreateUser(CreateUser { if_not_exists, accounts, default_roles, options }))
    }

    pub(crate) fn alter_user(&mut self) -> Result<Statement> {
        self.bump();
        let if_exists = self.if_exists()?;
        let mut alter =
            AlterUser { if_exists, accounts: Vec::new(), default_role: None, options: Vec::new() };
        if self.kw() == Kw::USER && self.nth(1).kind == TokenKind::Open {
            self.bump();
            self.bump();
            self.expect(TokenKind::Close)?;
            if self.kw() == Kw::IDENTIFIED && self.nth(1).kw == Kw::WITH {
                self.bump();
                return self.fail();
            }
            alter.accounts.push(self.account_spec(Account::Current, true)?);
            return Ok(Statement::AlterUser(alter));
        }
        let first = self.account()?;
        if self.eat_kw(Kw::DEFAULT) {
            self.expect_kw(Kw::ROLE)?;
            alter.default_role = Some(match self.eat_any(&[Kw::ALL, Kw::NONE]) {
                Some(Kw::ALL) => RoleSet::All(Vec::new()),
                Some(_) => RoleSet::None,
                None => RoleSet::Roles(self.comma_list(Self::role)?),
            });
            alter.accounts.push(plain_spec(first));
            return Ok(Statement::AlterUser(alter));
        }
        alter.accounts.push(self.account_spec(first, true)?);
        while self.eat(TokenKind::Comma) {
            let account = self.account()?;
            alter.accounts.push(self.account_spec(account, true)?);
        }
        alter.options = self.account_options()?;
        Ok(Statement::AlterUser(alter))
    }

    fn account_spec(&mut self, account: Account, alter: bool) -> Result<AccountSpec> {
        let mut spec = plain_spec(account);
        if self.kw() == Kw::IDENTIFIED {
            let identified = self.identified()?;
            let by = matches!(identified.secret, Secret::Password(_) | Secret::Random);
            let says_secret = identified.secret != Secret::None;
            spec.identified = Some(identified);
            if alter && by && self.eat_kw(Kw::REPLACE) {
                spec.replace = Some(self.string()?.into());
            }
            if alter && says_secret && self.eat_kw(Kw::RETAIN) {
                self.expect_kw(Kw::CURRENT)?;
                self.expect_kw(Kw::PASSWORD)?;
                spec.retain_current = true;
            }
            while !alter && spec.factors.len() < 2 && self.eat_kw(Kw::AND) {
                let start = self.peek().start as usize;
                self.identified()?;
                spec.factors.push(format!("AND {}", self.text_since(start)));
            }
            if !alter && self.kw() == Kw::INITIAL {
                let start = self.peek().start as usize;
                self.bump();
                self.expect_kw(Kw::AUTHENTICATION)?;
                self.identified()?;
                spec.factors.push(self.text_since(start));
            }
        } else if alter && self.eat_kw(Kw::DISCARD) {
            self.expect_kw(Kw::OLD)?;
            self.expect_kw(Kw::PASSWORD)?;
            spec.discard_old = true;
        } else if alter {
            self.factor_changes(&mut spec)?;
        }
        Ok(spec)
    }

    fn text_since(&self, start: usize) -> String {
        String::from_utf8_lossy(&self.sql[start..self.taken_end().max(start)]).into_owned()
    }

    /// `ADD 2 FACTOR ..`, `MODIFY`, `DROP`, and `2 FACTOR INITIATE REGISTRATION` and its kin.
    fn factor_changes(&mut self, spec: &mut AccountSpec) -> Result<()> {
        let verb = self.kw();
        while spec.factors.len() < 2 {
            let start = self.peek().start as usize;
            match self.kw() {
                _ if !spec.factors.is_empty() && self.kw() != verb => return Ok(()),
                Kw::ADD | Kw::MODIFY => {
                    self.bump();
                    self.factor_number()?;
                    self.identified()?;
                }
                Kw::DROP => {
                    self.bump();
                    self.factor_number()?;
                }
                _ if self.kind() == TokenKind::Integer && spec.factors.is_empty() => {
                    self.factor_number()?;
                    match self.expect_any(&[Kw::INITIATE, Kw::FINISH, Kw::UNREGISTER])? {
                        Kw::INITIATE => self.expect_kw(Kw::REGISTRATION)?,
                        Kw::FINISH => {
                            for word in [Kw::REGISTRATION, Kw::SET, Kw::CHALLENGE_RESPONSE, Kw::AS]
                            {
                                self.expect_kw(word)?;
                            }
                            self.string()?;
                        }
                        _ => {}
                    }
                    spec.factors.push(self.text_since(start));
                    return Ok(());
                }
                _ => return Ok(()),
            }
            spec.factors.push(self.text_since(start));
        }
        Ok(())
    }

    fn factor_number(&mut self) -> Result<()> {
        self.unsigned()?;
        self.expect_kw(Kw::FACTOR)
    }

    /// `IDENTIFIED [WITH plugin] [BY .. | AS ..]`.
    fn identified(&mut self) -> Result<Identified> {
        self.expect_kw(Kw::IDENTIFIED)?;
        let plugin = if self.eat_kw(Kw::WITH) { Some(self.ident_or_text()?) } else { None };
        let secret = if self.eat_kw(Kw::BY) {
            if self.eat_kw(Kw::RANDOM) {
                self.expect_kw(Kw::PASSWORD)?;
                Secret::Random
            } else {
                Secret::Password(self.string()?.into())
            }
        } else if plugin.is_none() {
            return self.fail();
        } else if self.eat_kw(Kw::AS) {
            let hash = self.kind() == TokenKind::HexNumber || self.kind() == TokenKind::HexString;
            Secret::Hash(if hash { self.text_string()? } else { self.string()? })
        } else {
            Secret::None
        };
        Ok(Identified { plugin, secret })
    }

    /// REQUIRE, WITH limits, PASSWORD and ACCOUNT options, ATTRIBUTE or COMMENT, in this order.
    fn account_options(&mut self) -> Result<Vec<AccountOption>> {
        let mut options = Vec::new();
        if self.eat_kw(Kw::REQUIRE) {
            options.push(AccountOption::Require(self.require()?));
        }
        if self.eat_kw(Kw::WITH) {
            let limits = [
                (Kw::MAX_QUERIES_PER_HOUR, LimitKind::Queries),
                (Kw::MAX_UPDATES_PER_HOUR, LimitKind::Updates),
                (Kw::MAX_CONNECTIONS_PER_HOUR, LimitKind::Connections),
                (Kw::MAX_USER_CONNECTIONS, LimitKind::AtOnce),
            ];
            let words = limits.map(|(word, _)| word);
            let mut next = Some(self.expect_any(&words)?);
            while let Some(word) = next {
                let value = self.unsigned()?;
                let kinds = limits.iter().filter(|(known, _)| *known == word);
                options.extend(kinds.map(|(_, kind)| AccountOption::Limit(*kind, value)));
                next = self.eat_any(&words);
            }
        }
        while let Some(option) = self.password_option()? {
            options.push(option);
        }
        match self.eat_any(&[Kw::COMMENT, Kw::ATTRIBUTE]) {
            Some(Kw::COMMENT) => options.push(AccountOption::Comment(self.string()?)),
            Some(_) => options.push(AccountOption::Attribute(self.string()?)),
            None => {}
        }
        Ok(options)
    }

    fn require(&mut self) -> Result<Require> {
        match self.eat_any(&[Kw::NONE, Kw::SSL, Kw::X509]) {
            Some(Kw::NONE) => return Ok(Require::None),
            Some(Kw::SSL) => return Ok(Require::Ssl),
            Some(_) => return Ok(Require::X509),
            None => {}
        }
        let (mut subject, mut issuer, mut cipher) = (None, None, None);
        let mut left = vec![Kw::SUBJECT, Kw::ISSUER, Kw::CIPHER];
        loop {
            let word = self.expect_any(&left)?;
            left.retain(|&other| other != word);
            let value = Some(self.string()?);
            match word {
                Kw::SUBJECT => subject = value,
                Kw::ISSUER => issuer = value,
                _ => cipher = value,
            }
            let and = self.eat_kw(Kw::AND);
            if !and && !left.contains(&self.kw()) {
                return Ok(Require::Specified { subject, issuer, cipher });
            }
        }
    }

    fn password_option(&mut self) -> Result<Option<AccountOption>> {
        use AccountOption as O;
        let words = [Kw::ACCOUNT, Kw::FAILED_LOGIN_ATTEMPTS, Kw::PASSWORD_LOCK_TIME, Kw::PASSWORD];
        let Some(word) = self.eat_any(&words) else { return Ok(None) };
        let option = match word {
            Kw::ACCOUNT => O::Lock(self.expect_any(&[Kw::LOCK, Kw::UNLOCK])? == Kw::LOCK),
            Kw::FAILED_LOGIN_ATTEMPTS => O::Attempts(self.whole_number()?),
            Kw::PASSWORD_LOCK_TIME => O::LockDays(match self.eat_kw(Kw::UNBOUNDED) {
                true => None,
                false => Some(self.whole_number()?),
            }),
            _ => match self.expect_any(&[Kw::EXPIRE, Kw::HISTORY, Kw::REUSE, Kw::REQUIRE])? {
                Kw::EXPIRE => match self.eat_any(&[Kw::INTERVAL, Kw::NEVER, Kw::DEFAULT]) {
                    None => O::Expire,
                    Some(Kw::INTERVAL) => O::Lifetime(Lifetime::Days(self.days()?)),
                    Some(Kw::NEVER) => O::Lifetime(Lifetime::Never),
                    Some(_) => O::Lifetime(Lifetime::Default),
                },
                Kw::HISTORY => O::History(match self.eat_kw(Kw::DEFAULT) {
                    true => None,
                    false => Some(self.whole_number()?),
                }),
                Kw::REUSE => {
                    self.expect_kw(Kw::INTERVAL)?;
                    O::ReuseDays(match self.eat_kw(Kw::DEFAULT) {
                        true => None,
                        false => Some(self.days()?),
                    })
                }
                _ => {
                    self.expect_kw(Kw::CURRENT)?;
                    O::RequireCurrent(match self.eat_any(&[Kw::DEFAULT, Kw::OPTIONAL]) {
                        None => Some(true),
                        Some(Kw::DEFAULT) => None,
                        Some(_) => Some(false),
                    })
                }
            },
        };
        Ok(Some(option))
    }

    fn days(&mut self) -> Result<u64> {
        let days = self.whole_number()?;
        self.expect_kw(Kw::DAY)?;
        Ok(days)
    }

    pub(crate) fn grant(&mut self) -> Result<Statement> {
        self.bump();
        let mut grant = Grant {
            privileges: Vec::new(),
            proxy: None,
            on: None,
            to: Vec::new(),
            with_grant_option: false,
            as_user: None,
            as_role: None,
        };
        if self.kw() == Kw::PROXY && self.nth(1).kw == Kw::ON {
            self.bump();
            self.bump();
            grant.privileges.push(Privilege::Named("PROXY".to_string(), Vec::new()));
            grant.proxy = Some(self.account()?);
        } else {
            let place = self.place();
            grant.privileges = self.privileges()?;
            self.only_roles(place, &grant.privileges, Kw::TO)?;
            let all = grant.privileges == [Privilege::All];
            if all || self.kw() == Kw::ON {
                self.expect_kw(Kw::ON)?;
                grant.on = Some(self.grant_object()?);
            }
        }
        self.expect_kw(Kw::TO)?;
        grant.to = self.comma_list(Self::account)?;
        let roles = grant.on.is_none() && grant.proxy.is_none();
        if self.eat_kw(Kw::WITH) {
            self.expect_kw(if roles { Kw::ADMIN } else { Kw::GRANT })?;
            self.expect_kw(Kw::OPTION)?;
            grant.with_grant_option = true;
        }
        if grant.on.is_some() && self.eat_kw(Kw::AS) {
            grant.as_user = Some(self.account()?);
            if self.eat_kw(Kw::WITH) {
                self.expect_kw(Kw::ROLE)?;
                grant.as_role = Some(self.role_set()?);
            }
        }
        Ok(Statement::Grant(Box::new(grant)))
    }

    pub(crate) fn revoke(&mut self) -> Result<Statement> {
        self.bump();
        let if_exists = self.if_exists()?;
        let mut revoke = Revoke {
            if_exists,
            privileges: Vec::new(),
            proxy: None,
            on: None,
            from: Vec::new(),
            ignore_unknown: false,
        };
        if self.kw() == Kw::PROXY && self.nth(1).kw == Kw::ON {
            self.bump();
            self.bump();
            revoke.privileges.push(Privilege::Named("PROXY".to_string(), Vec::new()));
            revoke.proxy = Some(self.account()?);
        } else {
            let place = self.place();
            revoke.privileges = self.privileges()?;
            self.only_roles(place, &revoke.privileges, Kw::FROM)?;
            if revoke.privileges == [Privilege::All] && self.eat(TokenKind::Comma) {
                self.expect_kw(Kw::GRANT)?;
                self.expect_kw(Kw::OPTION)?;
                revoke.privileges.push(Privilege::Named("GRANT OPTION".to_string(), Vec::new()));
            } else if revoke.privileges == [Privilege::All] || self.kw() == Kw::ON {
                self.expect_kw(Kw::ON)?;
                revoke.on = Some(self.grant_object()?);
            }
        }
        self.expect_kw(Kw::FROM)?;
        revoke.from = self.comma_list(Self::account)?;
        if self.eat_kw(Kw::IGNORE) {
            self.expect_kw(Kw::UNKNOWN)?;
            self.expect_kw(Kw::USER)?;
            revoke.ignore_unknown = true;
        }
        Ok(Statement::Revoke(Box::new(revoke)))
    }

    fn privileges(&mut self) -> Result<Vec<Privilege>> {
        if self.eat_kw(Kw::ALL) {
            self.eat_kw(Kw::PRIVILEGES);
            return Ok(vec![Privilege::All]);
        }
        self.comma_list(Self::privilege)
    }

    /// Privileges without ON are roles: a static privilege is none. `place` is where the list starts.
    fn only_roles(&mut self, place: usize, list: &[Privilege], end: Kw) -> Result<()> {
        if self.kw() != end || list == [Privilege::All] {
            return Ok(());
        }
        self.rewind(place);
        loop {
            if self.kw() == Kw::GRANT || !self.at_name_or_text() || is_static(self.kw()) {
                let why = "Illegal authorization identifier";
                return self.fail_with(ErrorKind::SyntaxBecause(why));
            }
            self.privilege()?;
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn at_name_or_text(&self) -> bool {
        self.at_name() || self.kind() == TokenKind::String
    }

    fn privilege(&mut self) -> Result<Privilege> {
        let word = self.kw();
        // Words that a second word may or must follow.
        let seconds: &[Kw] = match word {
            Kw::GRANT => &[Kw::OPTION],
            Kw::SHOW => &[Kw::DATABASES, Kw::SCHEMAS, Kw::VIEW],
            Kw::LOCK => &[Kw::TABLES],
            Kw::REPLICATION => &[Kw::SLAVE, Kw::CLIENT],
            Kw::CREATE => {
                &[Kw::TEMPORARY, Kw::VIEW, Kw::ROUTINE, Kw::USER, Kw::TABLESPACE, Kw::ROLE]
            }
            Kw::ALTER => &[Kw::ROUTINE],
            Kw::DROP => &[Kw::ROLE],
            _ => &[],
        };
        let single = matches!(
            word,
            Kw::SELECT
                | Kw::INSERT
                | Kw::UPDATE
                | Kw::REFERENCES
                | Kw::DELETE
                | Kw::USAGE
                | Kw::INDEX
                | Kw::EXECUTE
                | Kw::RELOAD
                | Kw::SHUTDOWN
                | Kw::PROCESS
                | Kw::FILE
                | Kw::SUPER
                | Kw::EVENT
                | Kw::TRIGGER
        );
        if !single && seconds.is_empty() {
            return self.role_or_dynamic();
        }
        self.bump();
        let mut name = word.text().to_string();
        match self.eat_any(seconds) {
            Some(second) => {
                let text = if second == Kw::SCHEMAS { "DATABASES" } else { second.text() };
                name = format!("{name} {text}");
                if second == Kw::TEMPORARY {
                    self.expect_kw(Kw::TABLES)?;
                    name.push_str(" TABLES");
                }
            }
            None if matches!(word, Kw::GRANT | Kw::SHOW | Kw::LOCK | Kw::REPLICATION) => {
                return self.fail();
            }
            None => {}
        }
        let with_columns = matches!(word, Kw::SELECT | Kw::INSERT | Kw::UPDATE | Kw::REFERENCES);
        let listed = with_columns && self.kind() == TokenKind::Open;
        let columns = if listed { self.parenthesised(Self::ident)? } else { Vec::new() };
        Ok(Privilege::Named(name, columns))
    }

    fn role_or_dynamic(&mut self) -> Result<Privilege> {
        let user = self.ident_or_text()?;
        if self.kind() == TokenKind::UserVar {
            let host = self.user_var_name()?;
            return Ok(Privilege::Role(Account::Named { user, host }));
        }
        let listed = self.kind() == TokenKind::Open;
        let columns = if listed { self.parenthesised(Self::ident)? } else { Vec::new() };
        Ok(Privilege::Named(user, columns))
    }

    fn grant_object(&mut self) -> Result<GrantObject> {
        let kind = self.eat_any(&[Kw::TABLE, Kw::FUNCTION, Kw::PROCEDURE]);
        if self.eat(TokenKind::Star) {
            if !self.eat(TokenKind::Dot) {
                return Ok(GrantObject::CurrentSchema);
            }
            self.expect(TokenKind::Star)?;
            return Ok(GrantObject::Global);
        }
        let first = self.ident()?;
        let name = if !self.eat(TokenKind::Dot) {
            ObjectName { schema: None, name: first }
        } else if self.eat(TokenKind::Star) {
            return Ok(GrantObject::Schema(first));
        } else {
            ObjectName { schema: Some(first), name: self.ident()? }
        };
        Ok(match kind {
            Some(Kw::FUNCTION) => GrantObject::Function(name),
            Some(Kw::PROCEDURE) => GrantObject::Procedure(name),
            _ => GrantObject::Table(name),
        })
    }

    /// `DEFAULT | NONE | ALL [EXCEPT roles] | roles`.
    pub(crate) fn role_set(&mut self) -> Result<RoleSet> {
        Ok(match self.eat_any(&[Kw::DEFAULT, Kw::NONE, Kw::ALL]) {
            Some(Kw::DEFAULT) => RoleSet::Default,
            Some(Kw::NONE) => RoleSet::None,
            Some(_) if self.eat_kw(Kw::EXCEPT) => RoleSet::All(self.comma_list(Self::role)?),
            Some(_) => RoleSet::All(Vec::new()),
            None => RoleSet::Roles(self.comma_list(Self::role)?),
        })
    }
}

fn plain_spec(account: Account) -> AccountSpec {
    AccountSpec {
        account,
        identified: None,
        replace: None,
        retain_current: false,
        discard_old: false,
        factors: Vec::new(),
    }
}

/// Words of static privileges that are no reserved ones.
fn is_static(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::EXECUTE
            | Kw::RELOAD
            | Kw::SHUTDOWN
            | Kw::PROCESS
            | Kw::FILE
            | Kw::SUPER
            | Kw::EVENT
            | Kw::REPLICATION
    )
}
