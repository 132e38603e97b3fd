//! JSON_TABLE in FROM: a leaf over a document that may come from what stands left of it.
//!
//! 1. Paths and defaults are read here, so that the executor meets none that is wrong. 2. EXISTS in a JSON
//! column is refused here, MySQL refuses it at the first row.

use super::Resolver;
use crate::column_types::{self, Notes};
use crate::error::PlanError;
use crate::hints::IndexChoice;
use crate::logical::{Leaf, LeafColumn, Source};
use crate::plan::ResultColumn;
use crate::query_plan::{JsonColumn, JsonColumns, JsonOtherwise};
use expr::functions::json;
use expr::{SqlError, WarningLevel};
use parser::ast;
use value::json::{JsonRef, View};
use value::name::same_name;
use value::{Collation, ColumnType, ConvertError, ConvertMode, Kind, TimeZone};

impl Resolver<'_, '_> {
    /// The leaf of a JSON_TABLE.
    ///
    /// # Errors
    /// 3143 for paths, 1067, 3141, 3156 and 3669 for defaults, those of types, 1060 for a name given twice,
    /// those of the document.
    pub(crate) fn json_table(&mut self, table: &ast::JsonTable) -> Result<Leaf, SqlError> {
        let clause = std::mem::replace(&mut self.scope().clause, "a table function argument");
        let document = self.bind(&table.document);
        self.scope().clause = clause;
        let mut columns = Columns {
            alias: &table.alias,
            collation: self.context.settings.collation,
            warnings: &mut self.context.warnings,
            list: Vec::new(),
        };
        let found = columns.read(&table.path, &table.columns)?;
        Ok(Leaf {
            name: table.alias.clone(),
            schema: String::new(),
            columns: columns.list,
            source: Source::JsonTable { document: document?, columns: Box::new(found) },
            null_row: false,
            need: None,
            hints: IndexChoice::default(),
            lock: None,
            keys: Vec::new(),
        })
    }
}

/// The columns of a JSON_TABLE, collected from all its levels.
struct Columns<'a> {
    alias: &'a str,
    collation: Collation,
    warnings: &'a mut Vec<(u16, String)>,
    list: Vec<LeafColumn>,
}

impl Columns<'_> {
    fn read(&mut self, path: &[u8], columns: &[ast::JsonColumn]) -> Result<JsonColumns, SqlError> {
        let path = json::parse_path(path)?;
        let columns = columns.iter().map(|c| self.column(c)).collect::<Result<_, _>>()?;
        Ok(JsonColumns { path, columns })
    }

    fn column(&mut self, column: &ast::JsonColumn) -> Result<JsonColumn, SqlError> {
        Ok(match column {
            ast::JsonColumn::Ordinality(name) => {
                JsonColumn::Ordinality(self.add(name, ColumnType::int(Kind::BigInt, false))?)
            }
            ast::JsonColumn::Nested { path, columns } => {
                JsonColumn::Nested(self.read(path, columns)?)
            }
            ast::JsonColumn::Path { name, ty, collation, exists, path, on_empty, on_error } => {
                let ty = self.column_type(name, ty, collation.as_deref())?;
                if *exists && ty.kind == Kind::Json {
                    return Err(self.no_json(name));
                }
                JsonColumn::Path {
                    column: self.add(name, ty)?,
                    name: name.clone(),
                    ty,
                    path: json::parse_path(path)?,
                    exists: *exists,
                    on_empty: otherwise(on_empty.as_ref(), (name, &ty))?,
                    on_error: otherwise(on_error.as_ref(), (name, &ty))?,
                }
            }
        })
    }

    /// EXISTS with a JSON column: its number is no document.
    fn no_json(&self, name: &str) -> SqlError {
        let what = "not a JSON text, may need CAST".to_string();
        let error = ConvertError::InvalidJson { what, at: 0 };
        expr::convert_error(&error, (self.alias, name), 1)
    }

    fn add(&mut self, name: &str, ty: ColumnType) -> Result<u16, SqlError> {
        if self.list.iter().any(|c| same_name(&c.result.name, name)) {
            return Err(PlanError::DuplicateColumn(name).into());
        }
        let result = ResultColumn {
            table: self.alias.to_string(),
            org_name: name.to_string(),
            ..ResultColumn::computed(name.to_string(), ty, ty.decimals)
        };
        self.list.push(LeafColumn { ty, decimals: ty.decimals, listed: true, result });
        Ok(self.list.len() as u16 - 1)
    }

    /// The type of a column; text is of the connection's collation unless something else is written.
    fn column_type(
        &mut self,
        name: &str,
        ty: &ast::DataType,
        collation: Option<&str>,
    ) -> Result<ColumnType, SqlError> {
        let text = Collation::of_clauses(ty.charset.as_deref(), collation, self.collation)?;
        // Not strict: text too long for VARCHAR becomes TEXT, and nothing is said of it.
        let mut notes = Notes::default();
        let made = column_types::column_type(ty, name, text, &mut notes);
        let said = notes.list.into_iter().filter(|(level, ..)| *level == WarningLevel::Warning);
        self.warnings.extend(said.map(|(_, number, text)| (number, text)));
        // Nothing is stored, and zeros are not shown.
        let made = made?;
        // A YEAR has its zeros all the same.
        Ok(ColumnType { nullable: true, zerofill: made.kind == value::Kind::Year, ..made })
    }
}

/// What stands before ON EMPTY or ON ERROR; a default is a value of the column from here on.
fn otherwise(
    on: Option<&ast::JsonOn>,
    column: (&str, &ColumnType),
) -> Result<JsonOtherwise, SqlError> {
    let text = match on {
        None | Some(ast::JsonOn::Null) => return Ok(JsonOtherwise::Null),
        Some(ast::JsonOn::Error) => return Ok(JsonOtherwise::Error),
        Some(ast::JsonOn::Default(ast::Expr::Literal(ast::Literal::String(text)))) => &text.bytes,
        Some(ast::JsonOn::Default(_)) => {
            let what = "non-string DEFAULT value for a column in a JSON_TABLE expression";
            return Err(SqlError::unsupported(what));
        }
    };
    let invalid = || SqlError::from(PlanError::InvalidDefault(column.0));
    if column.1.kind == Kind::Timestamp {
        return Err(SqlError::unsupported("DEFAULT of a TIMESTAMP column in JSON_TABLE"));
    }
    let mut document = Vec::new();
    value::json::parse(text, &mut document)
        .map_err(|e| json::invalid_text(&e, 0, "JSON_TABLE").followed_by(&invalid()))?;
    let document = JsonRef::new(&document);
    if column.1.kind != Kind::Json && matches!(document.view(), View::Array(_) | View::Object(_)) {
        return Err(invalid());
    }
    let utc = TimeZone::utc();
    match json::column_value(document, column, &ConvertMode::new(true, &utc)) {
        Ok((value, _)) => Ok(JsonOtherwise::Default(value)),
        Err(misfit) => Err(misfit.error),
    }
}
