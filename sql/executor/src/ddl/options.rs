//! Table options: what they mean for a definition, and how SHOW CREATE TABLE prints them.

use super::error::DdlError;
use super::{Owner, collation_of, comment};
use crate::{Environment, SqlError, WarningLevel};
use catalog::TableDef;
use parser::ast::TableOption;
use value::{Charset, Collation};

/// Options that SHOW CREATE TABLE prints, in its order.
const SHOWN: [&str; 11] = [
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
];

/// What options say besides other words in the definition.
#[derive(Debug, Default, Clone, Copy)]
pub struct AppliedOptions {
    /// AUTO_INCREMENT = n.
    pub autoinc: Option<u64>,
    /// ENGINE was written: ALTER TABLE makes the table anew.
    pub engine: bool,
    /// The engine written is one that ignores foreign keys in MySQL.
    pub no_foreign_keys: bool,
}

/// Applies options to a definition.
///
/// # Errors
/// 1286, 1115, 1273, 1253, 3184, 3185.
pub fn apply(
    options: &[TableOption],
    def: &mut TableDef,
    env: &mut dyn Environment,
) -> Result<AppliedOptions, SqlError> {
    let (mut charset, mut collate, mut applied) = (None, None, AppliedOptions::default());
    for option in options {
        match option {
            TableOption::Engine(name) => {
                applied.no_foreign_keys = check_engine(name, def, env)?;
                applied.engine = true;
            }
            TableOption::AutoIncrement(v) => applied.autoinc = Some((*v).max(1)),
            TableOption::Charset(name) => charset = Some(name.as_str()),
            TableOption::Collation(name) => collate = Some(name.as_str()),
            TableOption::Comment(text) => {
                def.comment = comment(text, Owner::Table(&def.name), env)?;
            }
            TableOption::Other(name, _) if name.ends_with(" DIRECTORY") => {
                let text = format!("<{name}> option ignored");
                env.warn(WarningLevel::Warning, 1618, text);
            }
            TableOption::Other(name, value) if name.eq_ignore_ascii_case("ENCRYPTION") => {
                encryption(value)?;
            }
            TableOption::Other(name, value) => set(def, name, value),
        }
    }
    def.collation = collation_of(charset, collate, def.collation)?;
    Ok(applied)
}

/// ENCRYPTION of a table or a database. There is no keyring, so nothing that is asked to be encrypted is made.
///
/// # Errors
/// 3184, 3185.
pub fn encryption(value: &str) -> Result<(), SqlError> {
    if value.eq_ignore_ascii_case("N") {
        return Ok(());
    }
    if value.eq_ignore_ascii_case("Y") {
        return Err(DdlError::NoMasterKey.into());
    }
    Err(DdlError::EncryptionOption.into())
}

/// Character sets and collations of a table as they are written, one after the other.
#[derive(Debug, Default)]
pub struct Charsets(Option<Charset>);

impl Charsets {
    /// CHARACTER SET.
    ///
    /// # Errors
    /// 1302: another one was written before; 1115.
    pub fn charset(&mut self, name: &str) -> Result<(), SqlError> {
        let charset = Charset::named(name)?;
        if let Some(before) = self.0.replace(charset).filter(|before| *before != charset) {
            return Err(DdlError::ConflictingCharsets(before.name(), charset.name()).into());
        }
        Ok(())
    }

    /// COLLATE.
    ///
    /// # Errors
    /// 1253: of another character set; 1273.
    pub fn collation(&mut self, name: &str) -> Result<(), SqlError> {
        let collation = match self.0 {
            Some(charset) => Collation::named_for(name, charset)?,
            None => Collation::named(name)?,
        };
        self.0 = Some(collation.charset());
        Ok(())
    }

    /// An option of a table.
    ///
    /// # Errors
    /// Those of the two.
    pub fn option(&mut self, option: &TableOption) -> Result<(), SqlError> {
        match option {
            TableOption::Charset(name) => self.charset(name),
            TableOption::Collation(name) => self.collation(name),
            _ => Ok(()),
        }
    }
}

/// Whether an option is looked at by [`super::row_format`].
pub fn shapes_rows(option: &TableOption) -> bool {
    let named = |name: &String| {
        ["ROW_FORMAT", "KEY_BLOCK_SIZE"].iter().any(|n| name.eq_ignore_ascii_case(n))
    };
    matches!(option, TableOption::Other(name, _) if named(name))
}

/// Whether it is an engine without foreign keys.
fn check_engine(name: &str, def: &TableDef, env: &mut dyn Environment) -> Result<bool, SqlError> {
    if name.eq_ignore_ascii_case("innodb") {
        return Ok(false);
    }
    let instead = format!("Using storage engine InnoDB for table '{}'", def.name);
    // Engines that every MySQL has: dump tools and test suites ask for them, and InnoDB does all they do. Foreign
    // keys they ignore, and so their tables are without.
    if ["myisam", "memory", "heap"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
        env.warn(WarningLevel::Warning, 1266, instead);
        return Ok(true);
    }
    let mode = env.system_variable(false, "sql_mode")?;
    let mode = mode
        .datum()
        .as_bytes()
        .map_or_else(String::new, |b| String::from_utf8_lossy(b).into_owned());
    let unknown = DdlError::UnknownEngine(name);
    if mode.contains("NO_ENGINE_SUBSTITUTION") {
        return Err(unknown.into());
    }
    env.warn(WarningLevel::Warning, 1286, unknown.to_string());
    // A table that is there keeps the engine it has.
    if def.columns.is_empty() {
        env.warn(WarningLevel::Warning, 1266, instead);
    }
    Ok(false)
}

fn set(def: &mut TableDef, name: &str, value: &str) {
    let name = name.to_ascii_uppercase();
    let name = if name == "TABLE_CHECKSUM" { "CHECKSUM".to_string() } else { name };
    let Some(rank) = SHOWN.iter().position(|n| *n == name) else { return };
    def.options.retain(|(n, _)| *n != name);
    let value = value.to_ascii_uppercase();
    // What is the default is not shown, but for the row format.
    if value == "DEFAULT" || (value == "0" && !matches!(rank, 3..=5)) {
        return;
    }
    def.options.push((name, value));
    let rank = |name: &str| SHOWN.iter().position(|n| *n == name);
    def.options.sort_by_key(|(name, _)| rank(name));
}
