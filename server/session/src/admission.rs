//! How a client comes in: its login is carried on packet by packet, then the session becomes its user's, and
//! `init_connect` runs before its first command.

use crate::charsets::of_handshake;
use crate::core::{Core, Phase, Written};
use crate::errors::SessionError;
use crate::hosts::Came;
use crate::login::{Login, Progress};
use crate::net::NoClient;
use crate::variables::{self, Value};
use access::{AccountName, Client, Privileges, Rights};
use executor::SqlError;
use instrument::{Counter, count};
use std::sync::Arc;
use wire::constants::Capabilities;

impl Core {
    /// Takes a packet of a client that has to prove who it is.
    pub fn login_packet(&mut self, payload: &[u8]) {
        let phase = std::mem::replace(&mut self.identity.phase, Phase::Commands);
        let (mut login, changing) = match phase {
            Phase::Login(login) => (login, false),
            Phase::ChangingUser(login) => (login, true),
            Phase::Commands => return,
        };
        let server = Arc::clone(&self.env.server);
        if !changing && !self.is_secure() && server.globals.number("require_secure_transport") != 0
        {
            return self.reject(&SessionError::InsecureTransport.into(), changing);
        }
        let step = login.step(payload, &mut self.env.link.caps, &server, &mut self.reply.out);
        self.login_went(login, step, changing);
    }

    /// Whether nobody can listen, in the sense of `require_secure_transport`.
    fn is_secure(&self) -> bool {
        self.env.link.secured.is_some() || self.identity.peer.is_socket()
    }

    /// COM_CHANGE_USER.
    pub fn change_user(&mut self, body: &[u8]) {
        let server = Arc::clone(&self.env.server);
        let mut login = Box::new(Login::new(self.identity.scramble, &self.identity.peer));
        login.expect_switch();
        login.is_open(!self.identity.is_near && self.env.link.secured.is_none());
        let step = login.change_user(body, self.env.link.caps, &server, &mut self.reply.out);
        self.login_went(login, step, true);
    }

    fn login_went(&mut self, login: Box<Login>, step: Result<Progress, SqlError>, changing: bool) {
        match step {
            Ok(Progress::More) => {
                self.identity.phase =
                    if changing { Phase::ChangingUser(login) } else { Phase::Login(login) };
            }
            Ok(Progress::Done) => {
                if let Err(error) = self.admit(*login, changing) {
                    self.reject(&error, changing);
                }
            }
            Err(error) => {
                self.env.login.user = login.user.clone();
                self.reject(&error, changing);
            }
        }
    }

    /// Refuses a client that comes in, or, `changing`, one that has.
    pub fn reject(&mut self, error: &SqlError, changing: bool) {
        count(Counter::AbortedConnects, 1);
        if !changing {
            self.env.server.came(self.identity.peer.address(), Came::Refused(error.parts().0));
        }
        self.send_error(error);
        self.reply.close();
    }

    fn admit(&mut self, login: Login, changing: bool) -> Result<(), SqlError> {
        if changing {
            self.reset();
        }
        self.take_rights(&login)?;
        if self.identity.over_limit && !self.is_super() {
            return Err(SessionError::TooManyConnections.into());
        }
        if self.identity.administrative {
            const NEEDED: &str = "SERVICE_CONNECTION_ADMIN";
            self.env.login.rights.check_global(Privileges::NONE, &[NEEDED], NEEDED)?;
        }
        if !changing {
            let offer = self.identity.compressions;
            self.env.link.compression = offer.accept(self.env.link.caps, login.zstd_level)?;
        }
        self.env.link.tracker.begin(self.env.link.caps.has(Capabilities::SESSION_TRACK));
        self.env.login.user = login.user;
        let external = login.external_user.into();
        self.env.vars.set(variables::id("external_user"), Value::Text(external));
        self.admit_account(login.account.as_deref())?;
        let collation =
            of_handshake(login.collation, executor::Environment::server_collation(&self.env));
        self.env.take_names(collation);
        if self.env.link.caps.has(Capabilities::INTERACTIVE) {
            let seconds = self.env.vars.value(variables::id("interactive_timeout")).clone();
            self.env.vars.set(variables::id("wait_timeout"), seconds);
        }
        self.protocol.multi_statements = self.env.link.caps.has(Capabilities::MULTI_STATEMENTS);
        self.env.database = None;
        self.env.database_changes += 1;
        self.env.rights_in_schema();
        if let Some(schema) = login.schema {
            self.use_schema(&schema)?;
        }
        self.publish_identity();
        let secured = self.env.link.secured.is_some();
        self.env.server.registry.describe(self.slot, secured, login.attributes);
        self.identity.phase = Phase::Commands;
        self.identity.offered = None;
        self.refresh();
        self.log_connect();
        self.init_connect()?;
        self.send_ok();
        if !changing {
            self.identity.compresses = self.env.link.compression;
            self.env.server.came(self.identity.peer.address(), Came::In);
        }
        self.publish_sleep();
        Ok(())
    }

    /// The session has the rights of its client's account from now on.
    fn take_rights(&mut self, login: &Login) -> Result<(), SqlError> {
        let (host, address) = (self.env.login.host.clone(), self.identity.peer.address());
        if self.env.server.skips_grants() {
            let name = AccountName::new(&login.user, &host);
            self.env.set_rights(Rights::unlimited(name, &host));
            return Ok(());
        }
        let accounts = self.env.server.catalog.accounts();
        // It may have changed since the client was asked for its password.
        let account = login.account.as_ref().and_then(|account| accounts.find(&account.name));
        let account = account.ok_or(SessionError::Internal("a login without an account"))?;
        let client = Client { host: &host, address };
        let mut rights = Rights::new(&accounts, account, &login.user, client);
        rights.used_password = login.used_password;
        self.env.set_rights(rights);
        let roles = self.roles_at_login(&accounts, account);
        self.env.activate_roles(&accounts, roles);
        Ok(())
    }

    /// Runs `init_connect`. A client whose statements fail is not served.
    ///
    /// # Errors
    /// 1184.
    fn init_connect(&mut self) -> Result<(), SqlError> {
        let id = variables::id("init_connect");
        let text = id.get().kind.show(&self.env.server.globals.value(id));
        if text.is_empty() || self.is_super() || self.env.login.password_expired {
            return Ok(());
        }
        let before = Written::at(&self.reply.out);
        let multi = std::mem::replace(&mut self.protocol.multi_statements, true);
        self.query(text.as_bytes(), &mut NoClient);
        self.protocol.multi_statements = multi;
        self.reply.withdraw(&before);
        if self.env.diagnostics.counts().1 > 0 {
            return Err(SessionError::InitConnectFailed(&self.env.who()).into());
        }
        self.env.diagnostics.clear();
        Ok(())
    }
}
