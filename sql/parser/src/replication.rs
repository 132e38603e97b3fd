//! Replication statements and XA.

use crate::ast::*;
use crate::cursor::{Parser, Result};
use crate::keywords::Kw;
use crate::token::TokenKind;

/// What an option of CHANGE REPLICATION SOURCE takes.
enum Takes {
    Text,
    TextOrNull,
    Number,
    Decimal,
    Ids,
    User,
    PrimaryKeyCheck,
    GtidAssignment,
}

impl Parser<'_> {
    /// `CHANGE REPLICATION ...`
    pub(crate) fn change(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_kw(Kw::REPLICATION)?;
        let replication = if self.expect_any(&[Kw::SOURCE, Kw::FILTER])? == Kw::SOURCE {
            self.expect_kw(Kw::TO)?;
            let options = self.comma_list(Self::source_option)?;
            Replication::ChangeSource { options, channel: self.channel()? }
        } else {
            let rules = self.comma_list(Self::filter_rule)?;
            Replication::ChangeFilter { rules, channel: self.channel()? }
        };
        Ok(Statement::Replication(Box::new(replication)))
    }

    /// `FOR CHANNEL name`, when it stands here.
    pub(crate) fn channel(&mut self) -> Result<Option<String>> {
        if !self.eat_kw(Kw::FOR) {
            return Ok(None);
        }
        self.expect_kw(Kw::CHANNEL)?;
        self.text().map(Some)
    }

    fn source_option(&mut self) -> Result<(String, String)> {
        let word = self.kw();
        let Some(takes) = source_option_takes(word) else {
            return self.fail();
        };
        self.bump();
        self.expect(TokenKind::Eq)?;
        let value = match takes {
            Takes::Text => self.text()?,
            Takes::TextOrNull if self.eat_kw(Kw::NULL) => "NULL".to_string(),
            Takes::TextOrNull => self.text()?,
            Takes::Number => self.unsigned()?.to_string(),
            Takes::Decimal => self.number_text()?,
            Takes::Ids => {
                self.expect(TokenKind::Open)?;
                let ids = match self.kind() {
                    TokenKind::Close => Vec::new(),
                    _ => self.comma_list(Self::unsigned)?,
                };
                self.expect(TokenKind::Close)?;
                ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
            }
            Takes::User => match self.eat_kw(Kw::NULL) {
                true => "NULL".to_string(),
                false => match self.account()? {
                    Account::Named { user, host } => format!("{user}@{host}"),
                    Account::Current => "CURRENT_USER".to_string(),
                },
            },
            Takes::PrimaryKeyCheck => {
                let words = [Kw::STREAM, Kw::ON, Kw::OFF, Kw::GENERATE];
                self.expect_any(&words)?.text().to_string()
            }
            Takes::GtidAssignment => match self.eat_any(&[Kw::OFF, Kw::LOCAL]) {
                Some(word) => word.text().to_string(),
                None => self.text()?,
            },
        };
        Ok((word.text().to_string(), value))
    }

    /// A number of any kind, as written.
    fn number_text(&mut self) -> Result<String> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => {
                let token = self.bump();
                Ok(String::from_utf8_lossy(token.text(self.sql)).into_owned())
            }
            _ => self.fail(),
        }
    }

    fn filter_rule(&mut self) -> Result<(String, Vec<String>)> {
        let word = self.expect_any(&[
            Kw::REPLICATE_DO_DB,
            Kw::REPLICATE_IGNORE_DB,
            Kw::REPLICATE_DO_TABLE,
            Kw::REPLICATE_IGNORE_TABLE,
            Kw::REPLICATE_WILD_DO_TABLE,
            Kw::REPLICATE_WILD_IGNORE_TABLE,
            Kw::REPLICATE_REWRITE_DB,
        ])?;
        self.expect(TokenKind::Eq)?;
        self.expect(TokenKind::Open)?;
        let mut elements = Vec::new();
        if self.kind() != TokenKind::Close {
            elements = self.comma_list(|p| match word {
                Kw::REPLICATE_DO_DB | Kw::REPLICATE_IGNORE_DB => p.ident(),
                Kw::REPLICATE_DO_TABLE | Kw::REPLICATE_IGNORE_TABLE => {
                    let schema = p.ident()?;
                    p.expect(TokenKind::Dot)?;
                    Ok(format!("{schema}.{}", p.ident()?))
                }
                Kw::REPLICATE_REWRITE_DB => {
                    let pair = p.parenthesised(Self::ident)?;
                    if pair.len() == 2 { Ok(pair.join("->")) } else { p.fail() }
                }
                _ => p.text(),
            })?;
        }
        self.expect(TokenKind::Close)?;
        Ok((word.text().to_string(), elements))
    }

    /// `START REPLICA` and `START GROUP_REPLICATION`; START stands here.
    pub(crate) fn start_replication(&mut self) -> Result<Statement> {
        self.bump();
        let replication = if self.bump().kw == Kw::GROUP_REPLICATION {
            let words = [Kw::USER, Kw::PASSWORD, Kw::DEFAULT_AUTH];
            let mut options = Vec::new();
            while let Some(word) = self.eat_any(&words) {
                self.expect(TokenKind::Eq)?;
                options.push((word.text().to_string(), self.text()?));
                if !self.eat(TokenKind::Comma) {
                    break;
                }
                if !words.contains(&self.kw()) {
                    return self.fail();
                }
            }
            Replication::StartGroup(options)
        } else {
            let threads = self.replica_threads()?;
            let mut until = Vec::new();
            if self.eat_kw(Kw::UNTIL) {
                until = self.comma_list(Self::until_condition)?;
            }
            let mut options = Vec::new();
            for word in [Kw::USER, Kw::PASSWORD, Kw::DEFAULT_AUTH, Kw::PLUGIN_DIR] {
                if self.eat_kw(word) {
                    self.expect(TokenKind::Eq)?;
                    options.push((word.text().to_string(), self.text()?));
                }
            }
            Replication::StartReplica { threads, until, options, channel: self.channel()? }
        };
        Ok(Statement::Replication(Box::new(replication)))
    }

    fn replica_threads(&mut self) -> Result<Vec<String>> {
        let words = [Kw::SQL_THREAD, Kw::IO_THREAD, Kw::RELAY_THREAD];
        if !words.contains(&self.kw()) {
            return Ok(Vec::new());
        }
        self.comma_list(|p| Ok(p.expect_any(&words)?.text().to_string()))
    }

    fn until_condition(&mut self) -> Result<(String, String)> {
        let word = self.expect_any(&[
            Kw::SOURCE_LOG_FILE,
            Kw::SOURCE_LOG_POS,
            Kw::RELAY_LOG_FILE,
            Kw::RELAY_LOG_POS,
            Kw::SQL_BEFORE_GTIDS,
            Kw::SQL_AFTER_GTIDS,
            Kw::SQL_AFTER_MTS_GAPS,
        ])?;
        if word == Kw::SQL_AFTER_MTS_GAPS {
            return Ok((word.text().to_string(), String::new()));
        }
        self.expect(TokenKind::Eq)?;
        let value = match word {
            Kw::SOURCE_LOG_POS | Kw::RELAY_LOG_POS => self.unsigned()?.to_string(),
            _ => self.text()?,
        };
        Ok((word.text().to_string(), value))
    }

    /// `STOP ...`
    pub(crate) fn stop(&mut self) -> Result<Statement> {
        self.bump();
        let replication = match self.expect_any(&[Kw::REPLICA, Kw::GROUP_REPLICATION])? {
            Kw::REPLICA => {
                let threads = self.replica_threads()?;
                Replication::StopReplica { threads, channel: self.channel()? }
            }
            _ => Replication::StopGroup,
        };
        Ok(Statement::Replication(Box::new(replication)))
    }

    /// `PURGE BINARY LOGS ...`
    pub(crate) fn purge(&mut self) -> Result<Statement> {
        self.bump();
        self.expect_kw(Kw::BINARY)?;
        self.expect_kw(Kw::LOGS)?;
        let replication = match self.expect_any(&[Kw::TO, Kw::BEFORE])? {
            Kw::TO => Replication::PurgeTo(self.string()?),
            _ => Replication::PurgeBefore(self.expr()?),
        };
        Ok(Statement::Replication(Box::new(replication)))
    }

    /// `BINLOG 'events'`
    pub(crate) fn binlog(&mut self) -> Result<Statement> {
        self.bump();
        Ok(Statement::Replication(Box::new(Replication::Binlog(self.string()?))))
    }

    /// `RESET ...`
    pub(crate) fn reset(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_kw(Kw::PERSIST) {
            let if_exists = self.if_exists()?;
            let mut name = None;
            if if_exists || self.at_name() {
                let mut text = self.ident()?;
                if self.eat(TokenKind::Dot) {
                    text.push('.');
                    text.push_str(&self.ident()?);
                }
                name = Some(text);
            }
            return Ok(Statement::ResetPersist(ResetPersist { if_exists, name }));
        }
        let mut resets = self.comma_list(|p| {
            if p.expect_any(&[Kw::REPLICA, Kw::BINARY])? == Kw::REPLICA {
                let all = p.eat_kw(Kw::ALL);
                return Ok(Replication::ResetReplica { all, channel: p.channel()? });
            }
            for word in [Kw::LOGS, Kw::AND, Kw::GTIDS] {
                p.expect_kw(word)?;
            }
            let to = if p.eat_kw(Kw::TO) { Some(p.whole_number()?) } else { None };
            Ok(Replication::ResetBinaryLogs(to))
        })?;
        let reset = match resets.len() {
            1 => resets.remove(0),
            _ => Replication::ResetMany(resets),
        };
        Ok(Statement::Replication(Box::new(reset)))
    }

    /// `XA ...`
    pub(crate) fn xa(&mut self) -> Result<Statement> {
        self.bump();
        let words =
            [Kw::START, Kw::BEGIN, Kw::END, Kw::PREPARE, Kw::COMMIT, Kw::ROLLBACK, Kw::RECOVER];
        let xa = match self.expect_any(&words)? {
            Kw::START | Kw::BEGIN => {
                let xid = self.xid()?;
                let how = self.eat_any(&[Kw::JOIN, Kw::RESUME]);
                Xa::Start(xid, how.map(|word| word.text().to_string()))
            }
            Kw::END => {
                let xid = self.xid()?;
                let mut how = None;
                if self.eat_kw(Kw::SUSPEND) {
                    how = Some("SUSPEND".to_string());
                    if self.eat_kw(Kw::FOR) {
                        self.expect_kw(Kw::MIGRATE)?;
                        how = Some("SUSPEND FOR MIGRATE".to_string());
                    }
                }
                Xa::End(xid, how)
            }
            Kw::PREPARE => Xa::Prepare(self.xid()?),
            Kw::COMMIT => {
                let xid = self.xid()?;
                let one = self.eat_kw(Kw::ONE);
                if one {
                    self.expect_kw(Kw::PHASE)?;
                }
                Xa::Commit(xid, one)
            }
            Kw::ROLLBACK => Xa::Rollback(self.xid()?),
            _ => {
                let convert = self.eat_kw(Kw::CONVERT);
                if convert {
                    self.expect_kw(Kw::XID)?;
                }
                Xa::Recover(convert)
            }
        };
        Ok(Statement::Xa(xa))
    }

    fn xid(&mut self) -> Result<Xid> {
        let mut xid = Xid { gtrid: self.text_string()?, bqual: Vec::new(), format: 1 };
        if self.eat(TokenKind::Comma) {
            xid.bqual = self.text_string()?;
            if self.eat(TokenKind::Comma) {
                let place = self.place();
                xid.format = self.unsigned()?;
                if !xid.is_valid() {
                    // The number is what the error points at, whichever part is too long.
                    self.rewind(place);
                }
            }
        }
        if xid.is_valid() { Ok(xid) } else { self.fail() }
    }
}

fn source_option_takes(word: Kw) -> Option<Takes> {
    Some(match word {
        Kw::SOURCE_HOST
        | Kw::SOURCE_USER
        | Kw::SOURCE_PASSWORD
        | Kw::SOURCE_BIND
        | Kw::NETWORK_NAMESPACE
        | Kw::SOURCE_SSL_CA
        | Kw::SOURCE_SSL_CAPATH
        | Kw::SOURCE_TLS_VERSION
        | Kw::SOURCE_SSL_CERT
        | Kw::SOURCE_SSL_CIPHER
        | Kw::SOURCE_SSL_KEY
        | Kw::SOURCE_SSL_CRL
        | Kw::SOURCE_SSL_CRLPATH
        | Kw::SOURCE_PUBLIC_KEY_PATH
        | Kw::SOURCE_COMPRESSION_ALGORITHMS
        | Kw::SOURCE_LOG_FILE
        | Kw::RELAY_LOG_FILE => Takes::Text,
        Kw::SOURCE_TLS_CIPHERSUITES => Takes::TextOrNull,
        Kw::SOURCE_PORT
        | Kw::SOURCE_CONNECT_RETRY
        | Kw::SOURCE_RETRY_COUNT
        | Kw::SOURCE_DELAY
        | Kw::SOURCE_SSL
        | Kw::SOURCE_SSL_VERIFY_SERVER_CERT
        | Kw::GET_SOURCE_PUBLIC_KEY
        | Kw::SOURCE_ZSTD_COMPRESSION_LEVEL
        | Kw::SOURCE_AUTO_POSITION
        | Kw::SOURCE_CONNECTION_AUTO_FAILOVER
        | Kw::REQUIRE_ROW_FORMAT
        | Kw::GTID_ONLY
        | Kw::SOURCE_LOG_POS
        | Kw::RELAY_LOG_POS => Takes::Number,
        Kw::SOURCE_HEARTBEAT_PERIOD => Takes::Decimal,
        Kw::IGNORE_SERVER_IDS => Takes::Ids,
        Kw::PRIVILEGE_CHECKS_USER => Takes::User,
        Kw::REQUIRE_TABLE_PRIMARY_KEY_CHECK => Takes::PrimaryKeyCheck,
        Kw::ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS => Takes::GtidAssignment,
        _ => return None,
    })
}
