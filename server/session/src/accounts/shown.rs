//! SHOW GRANTS and SHOW CREATE USER.

use super::{no_such_grant, operation_failed};
use crate::core::Core;
use crate::show::{send_texts, texts};
use access::{Account, Privileges, text};
use executor::{ResultColumn, RowSink, SqlError};
use parser::ast;
use std::sync::Arc;

impl Core {
    /// The column of SHOW GRANTS.
    pub(crate) fn grant_columns(
        &self,
        written: Option<&ast::Account>,
    ) -> Result<Vec<ResultColumn>, SqlError> {
        let account = self.granted(written)?;
        Ok(texts(&[&format!("Grants for {}@{}", account.name.user, account.name.host)]))
    }

    /// The rows of SHOW GRANTS; of the session itself its active roles count.
    pub(crate) fn show_grants(
        &self,
        written: Option<&ast::Account>,
        using: &[ast::Account],
        sink: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        let account = self.granted(written)?;
        let accounts = self.all_accounts();
        let own = matches!(written, None | Some(ast::Account::Current));
        let roles = match using.is_empty() {
            true if own => self.env.login.rights.active().clone(),
            _ => self.roles_used(&accounts, &account, using)?,
        };
        let lines = text::grants(&accounts, &account, &roles);
        lines.iter().try_for_each(|line| send_texts([&**line], sink))
    }

    fn granted(&self, written: Option<&ast::Account>) -> Result<Arc<Account>, SqlError> {
        let name = self.account_name(written.unwrap_or(&ast::Account::Current));
        self.sees_grants(&name)?;
        let accounts = self.all_accounts();
        accounts.find(&name).cloned().ok_or_else(|| no_such_grant(&name))
    }

    /// The column of SHOW CREATE USER.
    pub(crate) fn create_user_columns(
        &self,
        written: &ast::Account,
    ) -> Result<Vec<ResultColumn>, SqlError> {
        let account = self.created(written)?;
        Ok(texts(&[&format!("CREATE USER for {}@{}", account.name.user, account.name.host)]))
    }

    /// The row of SHOW CREATE USER. Who may not read `mysql.user` sees its own without the digest.
    pub(crate) fn show_create_user(
        &self,
        written: &ast::Account,
        sink: &mut dyn RowSink,
    ) -> Result<(), SqlError> {
        let account = self.created(written)?;
        let reads = self.env.login.rights.of_table("mysql", "user").has(Privileges::SELECT);
        let as_hex = self.env.vars.number("print_identified_with_as_hex") != 0;
        let secret = match std::str::from_utf8(&account.secret) {
            Ok("") => String::new(),
            _ if !reads => "'<secret>'".to_string(),
            Ok(secret) if !as_hex => text::literal(secret),
            _ => {
                let digits: String = account.secret.iter().map(|b| format!("{b:02X}")).collect();
                format!("0x{digits}")
            }
        };
        send_texts([&*text::create_user(&account, &secret)], sink)
    }

    fn created(&self, written: &ast::Account) -> Result<Arc<Account>, SqlError> {
        let name = self.account_name(written);
        let rights = &self.env.login.rights;
        if name != rights.name && !rights.of_schema("mysql").has(Privileges::SELECT) {
            return Err(rights.denied_schema("mysql").into());
        }
        let accounts = self.all_accounts();
        let found = accounts.find(&name).cloned();
        found.ok_or_else(|| operation_failed("SHOW CREATE USER", &[name]))
    }
}
