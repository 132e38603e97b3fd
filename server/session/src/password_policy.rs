//! The component `validate_password`: who is asked what of a password.
//!
//! 1. Until it is installed nobody is asked: its variables are not there, and every strength is 0. 2. Who gives a password, or
//! none, is asked; what is stored already (`AS`) and what the server makes is not. 3. What is compared with a name is a name of
//! who gives the password, not of whom it is for.

use crate::env::Env;
use crate::errors::SessionError;
use crate::password_rules::{LENGTH, MIXED, NUMBERS, Rules, SPECIAL, is_name, new_characters};
use crate::process::Severity;
use crate::server::Server;
use crate::variables::{self, Value};
use executor::SqlError;
use std::collections::HashSet;

const FILE: &str = "validate_password.dictionary_file";
const NAMES: &str = "validate_password.check_user_name";
const CHANGED: &str = "validate_password.changed_characters_percentage";

/// A larger dictionary is none.
const FILE_BYTES_MAX: usize = 1 << 20;

impl Env {
    fn is_own_name(&self, password: &str) -> bool {
        let names = [&self.login.user, &self.login.rights.name.user];
        self.server.globals.number(NAMES) != 0 && names.iter().any(|name| is_name(password, name))
    }

    /// VALIDATE_PASSWORD_STRENGTH().
    pub(crate) fn strength_of(&self, password: &[u8]) -> i64 {
        let server = &self.server;
        let password = String::from_utf8_lossy(password);
        match !server.globals.validates_passwords() || self.is_own_name(&password) {
            true => 0,
            false => Rules::of(&server.globals).strength(&password, &server.dictionary),
        }
    }

    /// Whether a password may be given; `replaced`: the one that it comes instead of, if the client says it.
    ///
    /// # Errors
    /// 1819, 4165.
    pub(crate) fn check_policy(
        &self,
        password: &[u8],
        replaced: Option<&[u8]>,
    ) -> Result<(), SqlError> {
        let server = &self.server;
        if !server.globals.validates_passwords() {
            return Ok(());
        }
        let password = String::from_utf8_lossy(password);
        let rules = Rules::of(&server.globals);
        if self.is_own_name(&password) || !rules.fits(&password, &server.dictionary) {
            return Err(SessionError::WeakPassword.into());
        }
        let Some(old) = replaced.map(String::from_utf8_lossy) else { return Ok(()) };
        let percent = server.globals.number(CHANGED) as usize;
        let (needed, new) = (old.chars().count() * percent / 100, new_characters(&old, &password));
        match new < needed {
            true => Err(SessionError::TooFewChanged(&needed.to_string(), &new.to_string()).into()),
            false => Ok(()),
        }
    }
}

impl Server {
    /// The component is installed from now on.
    pub(crate) fn begin_validation(&self) {
        self.globals.begin_component();
        self.globals.set_validates_passwords(true);
        self.dictionary.set(HashSet::new());
        self.lengthen();
        self.read_dictionary();
    }

    /// A variable of the component has another value.
    pub(crate) fn password_rules_changed(&self, name: &str) {
        match name {
            FILE => self.read_dictionary(),
            LENGTH | MIXED | NUMBERS | SPECIAL => self.lengthen(),
            _ => {}
        }
    }

    /// A password is as long as all that has to be in it.
    fn lengthen(&self) {
        let rules = Rules::of(&self.globals);
        // As 32 bits count it.
        let least = (rules.mixed as i32).wrapping_mul(2);
        let least = least.wrapping_add(rules.numbers as i32).wrapping_add(rules.special as i32);
        if (rules.length as i64) < i64::from(least) {
            self.globals.set(variables::id(LENGTH), Value::UInt(least as u64));
            let text = format!(
                "Effective value of validate_password_length is changed. New value is {least}"
            );
            self.host.log(Severity::Warning, &text);
        }
    }

    /// Reads `validate_password.dictionary_file`.
    fn read_dictionary(&self) {
        let file = self.globals.word(FILE);
        if file.is_empty() {
            return;
        }
        match self.host.read_file(&file) {
            Err(_) => self.host.log(Severity::Warning, "Dictionary file open failed"),
            Ok(bytes) if bytes.len() > FILE_BYTES_MAX => {
                let text = "Dictionary file size exceeded MAX_DICTIONARY_FILE_LENGTH, not loaded";
                self.host.log(Severity::Warning, text);
            }
            Ok(bytes) => {
                let lines = bytes.strip_suffix(b"\n").unwrap_or(&bytes).split(|b| *b == b'\n');
                let words = lines.map(<[u8]>::to_vec).collect();
                self.dictionary.set(words);
            }
        }
    }
}
