//! From syntax trees to plans: names bound, types derived, access paths chosen.
//!
//! Reading order: [`query`] (the whole way of a query), [`resolve`] (names), [`logical`] (what a query means),
//! `transform`, `physical` (how it runs), [`query_plan`] and [`plan`] (what the executor gets), [`definition`] (what a table computes),
//! [`explain`].
//!
//! 1. A plan names tables by [`catalog::TableRef`]: it is valid while the versions agree. 2. Ranges
//! only narrow what is read: the filter is always checked again, so a range may be too wide, never
//! too narrow. 3. What is grammatical but not planned yet is [`SqlError::Unsupported`] naming the
//! construct, never a different result.

pub mod bind;
pub mod canonical;
pub mod column_types;
mod defaults;
pub mod definition;
pub mod dml;
mod error;
pub mod explain;
pub mod hints;
pub mod literals;
pub mod logical;
mod make;
mod needs;
pub mod parameters;
mod physical;
pub mod plan;
pub mod query;
pub mod query_plan;
mod read_access;
pub mod resolve;
mod selectivity;
pub mod show;
mod size;
pub mod stats;
mod transform;
mod virtual_change;

#[cfg(test)]
mod tests;

pub use error::PlanError;
pub use plan::{ChangePlan, InsertPlan, InsertValue, Output, Plan, ResultColumn};
pub use transform::assigns;

use expr::SqlError;

use catalog::{TableCache, TableRef};
use engine::Client;
use sync::Deadline;

/// What the planner needs to know of the session.
pub struct PlanContext<'a> {
    /// Locks names and opens tables.
    pub client: &'a Client,
    /// Open tables of the session.
    pub tables: &'a mut TableCache,
    /// Current database.
    pub database: Option<&'a str>,
    /// What of the session counts while expressions are built.
    pub settings: expr::build::Settings,
    /// What variables are.
    pub variables: &'a dyn expr::Variables,
    /// User variables that the statement assigns, as far as it has been resolved, in small letters.
    pub assigned: Vec<String>,
    /// Literals of the text that may become parameters.
    pub literals: literals::Literals,
    /// Types of the parameters, or what is found of them.
    pub parameters: parameters::Parameters,
    /// Warnings about what is written: number and text.
    pub warnings: Vec<(u16, String)>,
    /// Until when to wait for metadata locks.
    pub deadline: Deadline,
    /// What the session may do.
    pub rights: &'a access::Rights,
    /// What the statement needs, as far as it has been resolved.
    pub needs: Vec<access::Need>,
    /// How tables are locked whose rows the statement reads.
    pub read_mode: mdl::Mode,
    /// How those are that it changes.
    pub write_mode: mdl::Mode,
    /// The query is that of a view that is made.
    pub makes_view: bool,
    /// What is resolved is no more than a column, in the select list of the statement's own query.
    pub in_select_list: bool,
    /// EXPLAIN: outer references are noted (1276).
    pub explains: bool,
    /// FROM has something in it, as far as the statement has been resolved: stored, virtual or derived.
    pub opens: bool,
}

impl PlanContext<'_> {
    /// LOW_PRIORITY of a change: `LOCK TABLES ... READ` that waits goes first.
    pub(crate) fn set_low_priority(&mut self, low: bool) {
        if low {
            self.write_mode = mdl::Mode::SWLP;
        }
    }

    /// Notes warning 1287: something that is written will not be understood for ever.
    pub(crate) fn deprecated(&mut self, text: &str) {
        self.warnings.push((1287, text.to_string()));
    }

    /// Schema of a written name: its own or the current database (1046 without one).
    pub fn schema_of(&self, name: &parser::ast::ObjectName) -> Result<String, SqlError> {
        match (&name.schema, self.database) {
            (Some(schema), _) => Ok(schema.clone()),
            (None, Some(database)) => Ok(database.to_string()),
            (None, None) => Err(SqlError::NoDatabase),
        }
    }

    /// The virtual table of a written name, if its schema is a virtual one.
    pub fn virtual_table(
        &self,
        name: &parser::ast::ObjectName,
    ) -> Result<Option<catalog::VirtualRef>, SqlError> {
        let schema = self.schema_of(name)?;
        Ok(self.tables.catalog().virtual_table(&schema, &name.name)?)
    }

    /// Opens a table under the given metadata lock mode.
    pub fn open(
        &mut self,
        name: &parser::ast::ObjectName,
        mode: mdl::Mode,
    ) -> Result<TableRef, SqlError> {
        let schema = self.schema_of(name)?;
        Ok(self.tables.open(self.client, &schema, &name.name, mode, self.deadline)?)
    }

    /// As [`PlanContext::open`], of a table that the statement calls otherwise.
    pub fn open_as(
        &mut self,
        name: &parser::ast::ObjectName,
        alias: catalog::Alias<'_>,
        mode: mdl::Mode,
    ) -> Result<TableRef, SqlError> {
        let schema = self.schema_of(name)?;
        let name = (&schema[..], &name.name[..]);
        Ok(self.tables.open_as(self.client, name, alias, mode, self.deadline)?)
    }
}
