//! What a statement needs is checked where its names are found, and written down for its program.
//!
//! 1. A table is asked for before it is opened: who may not see it does not learn whether it is there. 2. Inside of a view the
//! rights of its definer count, unless it says INVOKER; what is missing there is the view's fault (1356). 3. Who makes a view needs to
//! read what its query looks at; of what it only shows any privilege will do ([`Privileges::OF_SHOWN`]).

use crate::PlanContext;
use crate::error::PlanError;
use access::need::{ColumnNeed, Definer};
use access::{AccountName, Denied, Need, Privileges, Rights};
use catalog::{INFORMATION_SCHEMA, ViewDef};
use expr::SqlError;
use std::borrow::Cow;

/// Tables of `information_schema` that tell of the whole server.
fn tells_of_the_server(schema: &str, table: &str) -> bool {
    let table = table.to_ascii_uppercase();
    schema == INFORMATION_SCHEMA
        && (table == "FILES" || table.starts_with("INNODB_"))
        && table != "INNODB_FT_DEFAULT_STOPWORD"
}

/// Whose rights count inside of a view.
pub(crate) fn definer_of(view: &ViewDef, (schema, name): (&str, &str)) -> Definer {
    let (user, host) = &view.definer;
    let account = (!view.invoker).then(|| AccountName::new(user, host));
    Definer { account, view: format!("{schema}.{name}") }
}

impl PlanContext<'_> {
    /// Asks for a table, or any of its columns; the number of what is written down. Everybody reads most of
    /// `information_schema`: nothing is written down then.
    ///
    /// # Errors
    /// 1142, 1227, 1449.
    pub(crate) fn need_table(
        &mut self,
        definer: Option<&Definer>,
        table: (&str, &str),
        privileges: Privileges,
    ) -> Result<Option<usize>, SqlError> {
        self.need_table_or_read(definer, table, (privileges, false))
    }

    /// As [`Self::need_table`]; with `or_read` it will do to read the table.
    ///
    /// # Errors
    /// As [`Self::need_table`].
    pub(crate) fn need_table_or_read(
        &mut self,
        definer: Option<&Definer>,
        (schema, table): (&str, &str),
        (privileges, or_read): (Privileges, bool),
    ) -> Result<Option<usize>, SqlError> {
        let server = tells_of_the_server(schema, table);
        // What SHOW reads has a name that nobody can write.
        if (schema == INFORMATION_SCHEMA && !server) || table.starts_with('#') {
            return Ok(None);
        }
        let rights = self.rights;
        let shown = || rights.of_table(schema, table) | rights.of_columns(schema, table);
        let is_shown = self.makes_view && definer.is_none() && !server;
        let privileges = match is_shown && shown().has_any(Privileges::OF_SHOWN) {
            true => Privileges::NONE,
            false => privileges,
        };
        let need = Need {
            definer: definer.cloned(),
            schema: if server { String::new() } else { schema.to_string() },
            table: table.to_string(),
            privileges: if server { Privileges::PROCESS } else { privileges },
            or_read: or_read && !server,
            columns: Vec::new(),
            locks: false,
        };
        let checked = need.check(self.rights_of(&need)?.as_ref());
        checked.map_err(|denied| if is_shown { self.any_of_table(denied) } else { denied })?;
        self.needs.push(need);
        Ok((!server).then_some(self.needs.len() - 1))
    }

    /// Asks for more of a table.
    ///
    /// # Errors
    /// 1142.
    pub(crate) fn need_more(&mut self, at: usize, more: Privileges) -> Result<(), SqlError> {
        let need = Need { privileges: more, columns: Vec::new(), ..self.needs[at].clone() };
        need.check(self.rights_of(&need)?.as_ref())?;
        self.needs[at].privileges |= more;
        Ok(())
    }

    /// A view's definer is there, even where nothing of a table is needed.
    ///
    /// # Errors
    /// 1449; 1045 of who may not name definers.
    pub(crate) fn need_definer(&self, account: &AccountName) -> Result<(), SqlError> {
        self.rights_of_definer(account).map(|_| ())
    }

    /// EXPLAIN shows what is inside of a view: to who may see its query.
    ///
    /// # Errors
    /// 1345.
    pub(crate) fn need_sight_of_view(&self, schema: &str, view: &str) -> Result<(), SqlError> {
        let shows = !self.explains || self.rights.of_table(schema, view).has(Privileges::SHOW_VIEW);
        if shows { Ok(()) } else { Err(PlanError::ViewNotExplained.into()) }
    }

    /// EXPLAIN shows which tables a view reads: to who may read one of their columns.
    ///
    /// # Errors
    /// 1345.
    pub(crate) fn need_sight_below_view(&self, schema: &str, table: &str) -> Result<(), SqlError> {
        let shows =
            !self.explains || self.rights.check_table(schema, table, Privileges::SELECT).is_ok();
        if shows { Ok(()) } else { Err(PlanError::ViewNotExplained.into()) }
    }

    /// Asks to lock rows of a table that are only shown.
    ///
    /// # Errors
    /// 1142.
    pub(crate) fn need_locking(&mut self, at: usize) -> Result<(), SqlError> {
        let need = &self.needs[at];
        if !self.rights.are_all() {
            need.check_locking(self.rights_of(need)?.as_ref())?;
        }
        self.needs[at].locks = true;
        Ok(())
    }

    /// Asks for a global privilege.
    ///
    /// # Errors
    /// 1227.
    pub(crate) fn need_global(&mut self, privileges: Privileges) -> Result<(), SqlError> {
        let (schema, table) = (String::new(), String::new());
        let need = Need { schema, table, privileges, ..Need::default() };
        need.check(self.rights)?;
        self.needs.push(need);
        Ok(())
    }

    /// Asks for a column of a table; `by_star`: nobody named it.
    ///
    /// # Errors
    /// 1143, or 1142 where its name is not to be told.
    pub(crate) fn need_column(
        &mut self,
        at: usize,
        name: &str,
        privileges: Privileges,
        by_star: bool,
    ) -> Result<(), SqlError> {
        let need = &self.needs[at];
        let known = |c: &&ColumnNeed| c.name == name && c.privileges.has(privileges);
        if need.columns.iter().find(known).is_some() {
            return Ok(());
        }
        let is_shown = self.makes_view && self.in_select_list && need.definer.is_none();
        let of_column = || self.rights.of_column(&need.schema, &need.table, name);
        if is_shown && of_column().has_any(Privileges::OF_SHOWN) {
            return Ok(());
        }
        let column = ColumnNeed { name: name.to_string(), privileges, by_star };
        let checked = need.check_column(self.rights_of(need)?.as_ref(), &column);
        checked.map_err(|denied| if is_shown { any_of_column(denied) } else { denied })?;
        self.needs[at].columns.push(column);
        Ok(())
    }

    /// Why a column of a table may not be read.
    pub(crate) fn denied_column(&self, at: usize, name: &str) -> Option<SqlError> {
        let need = &self.needs[at];
        let (name, privileges) = (name.to_string(), Privileges::SELECT);
        let column = ColumnNeed { name, privileges, by_star: false };
        let rights = self.rights_of(need).ok()?;
        need.check_column(rights.as_ref(), &column).err().map(SqlError::from)
    }

    /// Who makes a view of a table has no privilege of it, in MySQL's words.
    fn any_of_table(&self, denied: Denied) -> Denied {
        match denied {
            Denied::Table { table, .. } => {
                let who = self.rights.name.to_string();
                Denied::Table { command: "ANY".into(), who, table }
            }
            other => other,
        }
    }

    fn rights_of(&self, need: &Need) -> Result<Cow<'_, Rights>, SqlError> {
        match need.definer.as_ref().and_then(|definer| definer.account.as_ref()) {
            Some(account) => self.rights_of_definer(account).map(Cow::Owned),
            None => Ok(Cow::Borrowed(self.rights)),
        }
    }

    fn rights_of_definer(&self, account: &AccountName) -> Result<Rights, SqlError> {
        let rights = Rights::of_account(&self.tables.catalog().accounts(), account);
        rights.ok_or_else(|| match self.rights.is_super_or("SET_ANY_DEFINER") {
            true => PlanError::NoSuchDefiner(&account.to_string()).into(),
            false => self.rights.denied_client().into(),
        })
    }
}

/// As [`PlanContext::any_of_table`], of a column.
fn any_of_column(denied: Denied) -> Denied {
    match denied {
        Denied::Column { who, column, table, .. } => {
            Denied::Column { command: "ANY".into(), who, column, table }
        }
        other => other,
    }
}
