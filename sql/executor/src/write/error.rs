//! Why a row is not written: MySQL's numbers, states and texts, each in one place.

use crate::{Environment, SqlError, WarningLevel};

/// What is wrong with a row.
#[derive(Debug, Clone, Copy)]
pub enum RowError<'n> {
    /// 1364: a column has no default and is given nothing.
    NoDefault {
        /// The column.
        column: &'n str,
    },
    /// 1423: the same, where a view is written.
    NoDefaultInView {
        /// The view.
        view: &'n str,
    },
    /// 1048: NULL where none may be.
    Null {
        /// The column.
        column: &'n str,
    },
    /// 1138: NULL in a row that there is already.
    NullFound,
    /// 1263: NULL in a file.
    NullLoaded {
        /// The column.
        column: &'n str,
        /// Number of the row, from 1.
        row: u64,
    },
    /// 1265: a value that does not fit.
    Truncated {
        /// The column.
        column: &'n str,
        /// Number of the row, from 1.
        row: u64,
    },
    /// 1292: a date that is none under the SQL mode.
    NoDate {
        /// `date` or `datetime`.
        kind: &'static str,
        /// As it is shown.
        value: &'n str,
        /// The column.
        column: &'n str,
        /// Number of the row, from 1.
        row: u64,
    },
    /// 1261: a line of a file has too few fields.
    FewFields {
        /// Number of the row, from 1.
        row: u64,
    },
    /// 1262: a line of a file has too many fields.
    ManyFields {
        /// Number of the row, from 1.
        row: u64,
    },
    /// 3819: a CHECK is false.
    Check {
        /// Name of the constraint.
        name: &'n str,
    },
    /// 1369: the check option of a view.
    ViewCheck {
        /// `schema.name` of the view.
        view: &'n str,
    },
    /// 3059: REPLACE met a row that the view does not show.
    NotInView,
}

impl RowError<'_> {
    /// Number, SQLSTATE and text.
    fn parts(&self) -> (u16, &'static str, String) {
        use RowError as E;
        match *self {
            E::NoDefault { column } => {
                (1364, "HY000", format!("Field '{column}' doesn't have a default value"))
            }
            E::NoDefaultInView { view } => {
                let what = "underlying table doesn't have a default value";
                (1423, "HY000", format!("Field of view '{view}' {what}"))
            }
            E::Null { column } => (1048, "23000", format!("Column '{column}' cannot be null")),
            E::NullFound => (1138, "22004", "Invalid use of NULL value".into()),
            E::NullLoaded { column, row } => {
                let what = "Column set to default value; NULL supplied to NOT NULL column";
                (1263, "22004", format!("{what} '{column}' at row {row}"))
            }
            E::Truncated { column, row } => {
                (1265, "01000", format!("Data truncated for column '{column}' at row {row}"))
            }
            E::NoDate { kind, value, column, row } => {
                let place = format!("for column '{column}' at row {row}");
                (1292, "22007", format!("Incorrect {kind} value: '{value}' {place}"))
            }
            E::FewFields { row } => {
                (1261, "01000", format!("Row {row} doesn't contain data for all columns"))
            }
            E::ManyFields { row } => {
                let what = "was truncated; it contained more data than there were input columns";
                (1262, "01000", format!("Row {row} {what}"))
            }
            E::Check { name } => (3819, "HY000", format!("Check constraint '{name}' is violated.")),
            E::ViewCheck { view } => (1369, "HY000", format!("CHECK OPTION failed '{view}'")),
            E::NotInView => {
                let what = "it requires deleting rows that are not in the view";
                (3059, "HY000", format!("REPLACE cannot be executed as {what}"))
            }
        }
    }

    /// An error in strict mode, a warning otherwise.
    ///
    /// # Errors
    /// This one.
    pub fn unless_lenient(self, env: &mut dyn Environment) -> Result<(), SqlError> {
        if env.strict() {
            return Err(self.into());
        }
        let (number, _, text) = self.parts();
        env.warn(WarningLevel::Warning, number, text);
        Ok(())
    }
}

impl From<RowError<'_>> for SqlError {
    fn from(error: RowError<'_>) -> SqlError {
        let (number, state, text) = error.parts();
        SqlError::Other(number, state, text)
    }
}

/// Whether the error concerns a row alone: with IGNORE it is a warning.
pub fn forgivable(number: u16) -> bool {
    matches!(number, 1048 | 1062 | 1264 | 1292 | 1364 | 1366 | 1369 | 1406 | 1451 | 1452 | 3819)
}
