//! Why a row is not written: MySQL's numbers, states and texts, each in one place.

use crate::{Context, Environment, SqlError, WarningLevel};

base::error_table! {
    /// What is wrong with a row. Columns, views and constraints come by name, rows by number, from 1.
    pub enum RowError for SqlError {
        /// A column has no default and is given nothing.
        NoDefault(column) = 1364 "HY000" "Field '{column}' doesn't have a default value";
        /// The same, where this view is written.
        NoDefaultInView(view) =
            1423 "HY000" "Field of view '{view}' underlying table doesn't have a default value";
        /// NULL where none may be.
        Null(column) = 1048 "23000" "Column '{column}' cannot be null";
        /// NULL in a row that there is already.
        NullFound = 1138 "22004" "Invalid use of NULL value";
        /// NULL in a file.
        NullLoaded(column, row: u64) =
            1263 "22004" "Column set to default value; NULL supplied to NOT NULL column '{column}' at row {row}";
        /// A value that does not fit.
        Truncated(column, row: u64) = 1265 "01000" "Data truncated for column '{column}' at row {row}";
        /// A `date` or `datetime` as it is shown, which is none under the SQL mode.
        NoDate(kind, value, column, row: u64) =
            1292 "22007" "Incorrect {kind} value: '{value}' for column '{column}' at row {row}";
        /// A line of a file has too few fields.
        FewFields(row: u64) = 1261 "01000" "Row {row} doesn't contain data for all columns";
        /// A line of a file has too many fields.
        ManyFields(row: u64) =
            1262 "01000" "Row {row} was truncated; it contained more data than there were input columns";
        /// This CHECK is false.
        Check(name) = 3819 "HY000" "Check constraint '{name}' is violated.";
        /// The check option of this view.
        ViewCheck(view) = 1369 "HY000" "CHECK OPTION failed '{view}'";
        /// REPLACE met a row that the view does not show.
        NotInView =
            3059 "HY000" "REPLACE cannot be executed as it requires deleting rows that are not in the view";
        /// This foreign key, with its table before it, has no such parent.
        NoParent(key) =
            1452 "23000" "Cannot add or update a child row: a foreign key constraint fails ({key})";
        /// By this foreign key, with its table before it, the row has children, which stay.
        HasChildren(key) =
            1451 "23000" "Cannot delete or update a parent row: a foreign key constraint fails ({key})";
        /// As [`RowError::NoParent`], to who has no privilege of the parent.
        NoHiddenParent =
            1452 "23000" "Cannot add or update a child row: a foreign key constraint fails";
        /// As [`RowError::HasChildren`], to who has no privilege of the child.
        HasHiddenChildren =
            1451 "23000" "Cannot delete or update a parent row: a foreign key constraint fails";
        /// The parent's new values, joined by `-`, would be in the child's unique index twice.
        DuplicateChild(parent, record, child, index) =
            1761 "23000" "Foreign key constraint for table '{parent}', record '{record}' would lead to a duplicate \
                          entry in table '{child}', key '{index}'";
        /// A cascade is longer than this.
        TooDeep(levels: usize) =
            3008 "HY000" "Foreign key cascade delete/update exceeds max depth of {levels}.";
        /// The same in the words of InnoDB, of this foreign key, with its table before it.
        TooDeepFor(key) = 1296 "HY000" "Got error 192 '{key}' from InnoDB";
    }
}

impl RowError<'_> {
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

/// Whether the error concerns a row alone.
fn forgivable(number: u16) -> bool {
    matches!(number, 1048 | 1062 | 1264 | 1292 | 1364 | 1366 | 1369 | 1406 | 1451 | 1452 | 3819)
}

/// What became of a row; with IGNORE, an error that concerns it alone is a warning, of this number.
///
/// # Errors
/// Any other error.
pub fn forgive<T>(
    ignore: bool,
    done: Result<T, SqlError>,
    env: &mut dyn Environment,
) -> Result<Result<T, u16>, SqlError> {
    done.map(Ok).or_else(|error| {
        let (number, _, text) = error.parts();
        if !ignore || !forgivable(number) {
            return Err(error);
        }
        env.warn(WarningLevel::Warning, number, text);
        Ok(Err(number))
    })
}

/// Runs a change of rows; `ignore`: as lenient as without strict mode.
///
/// # Errors
/// Those of `run`.
pub fn leniently<T>(
    ignore: bool,
    context: &mut Context<'_>,
    run: impl FnOnce(&mut Context<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    if !ignore {
        return run(context);
    }
    context.env.set_lenient(true);
    let done = run(context);
    context.env.set_lenient(false);
    done
}
