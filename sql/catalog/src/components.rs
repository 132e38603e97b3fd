//! Components that were installed, in the dictionary.
//!
//! 1. Each is one row of `mysql.statistics` under the number of no table, beside the accounts: its number, and its URN.
//! 2. Who installs or uninstalls has the ACL CACHE metadata lock.

use crate::accounts::NO_TABLE;
use crate::dictionary::System;
use crate::{Catalog, CatalogError};
use engine::Client;
use value::Datum;

const PREFIX: &str = "component ";

impl Catalog {
    /// Components by their numbers.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub fn components(&self) -> Result<Vec<(u64, String)>, CatalogError> {
        let mut found = Vec::new();
        self.each_row_of(System::Statistics, &[Datum::UInt(NO_TABLE)], |c, row| {
            let name = c.column_text(System::Statistics, row, 1)?;
            let number = name.strip_prefix(PREFIX).and_then(|n| n.parse().ok());
            let Some(number) = number else { return Ok(()) };
            let urn = c.column(System::Statistics, row, 3)?;
            let urn = String::from_utf8_lossy(urn.as_bytes().unwrap_or_default()).into_owned();
            found.push((number, urn));
            Ok(())
        })?;
        found.sort();
        Ok(found)
    }

    /// Stores that a component is installed; durable on return.
    ///
    /// # Errors
    /// Those of writing the dictionary.
    pub fn add_component(&self, client: &mut Client, urn: &str) -> Result<(), CatalogError> {
        let number = self.components()?.last().map_or(1, |(last, _)| last + 1);
        let name = format!("{PREFIX}{number}");
        let (name, urn) = (Datum::Bytes(name.as_bytes()), Datum::Bytes(urn.as_bytes()));
        self.transact(client, |catalog, client| {
            let row = [Datum::UInt(NO_TABLE), name, Datum::UInt(0), urn];
            catalog.put(client, System::Statistics, &row)
        })
    }

    /// Stores that it is not any more.
    ///
    /// # Errors
    /// Those of writing the dictionary.
    pub fn remove_component(&self, client: &mut Client, urn: &str) -> Result<(), CatalogError> {
        let known = self.components()?;
        self.transact(client, |catalog, client| {
            for (number, _) in known.iter().filter(|(_, known)| known == urn) {
                let name = format!("{PREFIX}{number}");
                let name = Datum::Bytes(name.as_bytes());
                let key = [Datum::UInt(NO_TABLE), name, Datum::UInt(0)];
                catalog.delete(client, System::Statistics, &key)?;
            }
            Ok(())
        })
    }
}
