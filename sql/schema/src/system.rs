//! The `mysql` schema: the tables of it that clients look at, to be read only.
//!
//! 1. `user` and its kin show the accounts and their grants ([`grants`]), `innodb_table_stats` and `innodb_index_stats` the
//!    figures, `component` what is installed. The other tables are of things that this server does not have (help texts, loaded time
//!    zones, plugins, log tables): no rows.
//! 2. Tables whose rows would say something that this server does not say yet are not there.

use crate::grants;
use crate::information::{Fill, Information, Rows, cells, definition, innodb};
use catalog::{IndexDef, MYSQL_SCHEMA, ReadContext, TableDef, VirtualTable};
use std::sync::Arc;
use value::{Collation, KeyPart};

const COLUMNS: &str = include_str!("system.tsv");

/// Table, how many of its first columns are the primary key, collation, comment; as MySQL has them.
const TABLES: &[(&str, usize, &str, &str)] = &[
    ("columns_priv", 5, "utf8mb3_bin", "Column privileges"),
    ("component", 1, "utf8mb3_general_ci", "Components"),
    ("db", 3, "utf8mb3_bin", "Database privileges"),
    ("default_roles", 4, "utf8mb3_bin", "Default roles"),
    ("func", 1, "utf8mb3_bin", "User defined functions"),
    ("general_log", 0, "utf8mb3_general_ci", "General log"),
    ("global_grants", 3, "utf8mb3_bin", "Extended global grants"),
    ("help_category", 1, "utf8mb3_general_ci", "help categories"),
    ("help_keyword", 1, "utf8mb3_general_ci", "help keywords"),
    ("help_relation", 2, "utf8mb3_general_ci", "keyword-topic relation"),
    ("help_topic", 1, "utf8mb3_general_ci", "help topics"),
    ("innodb_index_stats", 4, "utf8mb3_bin", ""),
    ("innodb_table_stats", 2, "utf8mb3_bin", ""),
    ("password_history", 3, "utf8mb3_bin", "Password history for user accounts"),
    ("plugin", 1, "utf8mb3_general_ci", "MySQL plugins"),
    ("procs_priv", 5, "utf8mb3_bin", "Procedure privileges"),
    ("proxies_priv", 4, "utf8mb3_bin", "User proxy privileges"),
    ("role_edges", 4, "utf8mb3_bin", "Role hierarchy and role grants"),
    ("servers", 1, "utf8mb3_general_ci", "MySQL Foreign Servers table"),
    ("slow_log", 0, "utf8mb3_general_ci", "Slow log"),
    ("tables_priv", 4, "utf8mb3_bin", "Table privileges"),
    ("time_zone", 1, "utf8mb3_general_ci", "Time zones"),
    ("time_zone_leap_second", 1, "utf8mb3_general_ci", "Leap seconds information for time zones"),
    ("time_zone_name", 1, "utf8mb3_general_ci", "Time zone names"),
    ("time_zone_transition", 2, "utf8mb3_general_ci", "Time zone transitions"),
    ("time_zone_transition_type", 2, "utf8mb3_general_ci", "Time zone transition types"),
    ("user", 2, "utf8mb3_bin", "Users and global privileges"),
];

/// Components that are installed, each in a group of its own.
fn components(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    // What cannot be read is told by those who need it.
    for (number, urn) in context.catalog.components().unwrap_or_default() {
        rows.push(&cells![number, number, urn]);
    }
}

/// The tables of the `mysql` schema.
pub(crate) fn tables() -> Vec<Arc<dyn VirtualTable>> {
    let table = |mut def: TableDef| -> Arc<dyn VirtualTable> {
        if let Some((_, keys, collation, comment)) = TABLES.iter().find(|(n, ..)| *n == def.name) {
            def.collation = Collation::from_name(collation).unwrap_or(def.collation);
            def.comment = (*comment).to_string();
            if *keys > 0 {
                let parts = (0..*keys).map(KeyPart::whole).collect();
                def.indexes.push(IndexDef::new("PRIMARY", true, true, parts));
            }
        }
        let fill: Fill = match def.name.as_str() {
            "innodb_table_stats" => innodb::table_stats,
            "innodb_index_stats" => innodb::index_stats,
            "component" => components,
            name => grants::SYSTEM_FILLS
                .iter()
                .find(|(filled, _)| *filled == name)
                .map_or(|_, _| (), |(_, fill)| *fill),
        };
        Arc::new(Information::new(def, fill))
    };
    definition::parse(COLUMNS, MYSQL_SCHEMA).into_iter().map(table).collect()
}
