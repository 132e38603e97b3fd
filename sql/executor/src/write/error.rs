//! Why a row is not written: MySQL's numbers, states and texts, each in one place.

use crate::{Context, Environment, SqlError, WarningLevel};

/// What is wrong with a row. Columns, views and constraints come by name, rows by number, from 1.
#[derive(Debug, Clone, Copy)]
pub enum RowError<'n> {
    /// 1364: a column has no default and is given nothing.
    NoDefault(&'n str),
    /// 1423: the same, where this view is written.
    NoDefaultInView(&'n str),
    /// 1048: NULL where none may be.
    Null(&'n str),
    /// 1138: NULL in a row that there is already.
    NullFound,
    /// 1263: NULL in a file, for this column in this row.
    NullLoaded(&'n str, u64),
    /// 1265: a value that does not fit this column in this row.
    Truncated(&'n str, u64),
    /// 1292: a `date` or `datetime` as it is shown, which is none under the SQL mode, for this column in this row.
    NoDate(&'static str, &'n str, (&'n str, u64)),
    /// 1261: a line of a file has too few fields.
    FewFields(u64),
    /// 1262: a line of a file has too many fields.
    ManyFields(u64),
    /// 3819: this CHECK is false.
    Check(&'n str),
    /// 1369: the check option of this view.
    ViewCheck(&'n str),
    /// 3059: REPLACE met a row that the view does not show.
    NotInView,
    /// 1452: this foreign key, with its table before it, has no such parent.
    NoParent(&'n str),
    /// 1451: by this foreign key, with its table before it, the row has children, which stay.
    HasChildren(&'n str),
    /// 1761: the parent's new values would be in the child twice.
    DuplicateChild {
        /// Table of the parent.
        parent: &'n str,
        /// The values, joined by `-`.
        record: &'n str,
        /// Table of the child.
        child: &'n str,
        /// The child's unique index.
        index: &'n str,
    },
    /// 3008: a cascade is longer than this.
    TooDeep(usize),
    /// 1296: the same in the words of InnoDB, of this foreign key, with its table before it.
    TooDeepFor(&'n str),
}

impl RowError<'_> {
    /// Number, SQLSTATE and text.
    fn parts(&self) -> (u16, &'static str, String) {
        use RowError as E;
        let (number, state) = match self {
            E::NoDefault(_) => (1364, "HY000"),
            E::NoDefaultInView(_) => (1423, "HY000"),
            E::Null(_) => (1048, "23000"),
            E::NullFound => (1138, "22004"),
            E::NullLoaded(..) => (1263, "22004"),
            E::Truncated(..) => (1265, "01000"),
            E::NoDate(..) => (1292, "22007"),
            E::FewFields(_) => (1261, "01000"),
            E::ManyFields(_) => (1262, "01000"),
            E::Check(_) => (3819, "HY000"),
            E::ViewCheck(_) => (1369, "HY000"),
            E::NotInView => (3059, "HY000"),
            E::NoParent(_) => (1452, "23000"),
            E::HasChildren(_) => (1451, "23000"),
            E::DuplicateChild { .. } => (1761, "23000"),
            E::TooDeep(_) => (3008, "HY000"),
            E::TooDeepFor(_) => (1296, "HY000"),
        };
        (number, state, self.to_string())
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

impl std::fmt::Display for RowError<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use RowError as E;
        match *self {
            E::NoDefault(column) => write!(f, "Field '{column}' doesn't have a default value"),
            E::NoDefaultInView(view) => {
                write!(f, "Field of view '{view}' underlying table doesn't have a default value")
            }
            E::Null(column) => write!(f, "Column '{column}' cannot be null"),
            E::NullFound => f.write_str("Invalid use of NULL value"),
            E::NullLoaded(column, row) => write!(
                f,
                "Column set to default value; NULL supplied to NOT NULL column '{column}' at row {row}"
            ),
            E::Truncated(column, row) => {
                write!(f, "Data truncated for column '{column}' at row {row}")
            }
            E::NoDate(kind, value, (column, row)) => {
                write!(f, "Incorrect {kind} value: '{value}' for column '{column}' at row {row}")
            }
            E::FewFields(row) => write!(f, "Row {row} doesn't contain data for all columns"),
            E::ManyFields(row) => write!(
                f,
                "Row {row} was truncated; it contained more data than there were input columns"
            ),
            E::Check(name) => write!(f, "Check constraint '{name}' is violated."),
            E::ViewCheck(view) => write!(f, "CHECK OPTION failed '{view}'"),
            E::NotInView => f.write_str(
                "REPLACE cannot be executed as it requires deleting rows that are not in the view",
            ),
            E::NoParent(key) => write!(
                f,
                "Cannot add or update a child row: a foreign key constraint fails ({key})"
            ),
            E::HasChildren(key) => write!(
                f,
                "Cannot delete or update a parent row: a foreign key constraint fails ({key})"
            ),
            E::DuplicateChild { parent, record, child, index } => write!(
                f,
                "Foreign key constraint for table '{parent}', record '{record}' would lead to a duplicate \
                 entry in table '{child}', key '{index}'"
            ),
            E::TooDeep(levels) => {
                write!(f, "Foreign key cascade delete/update exceeds max depth of {levels}.")
            }
            E::TooDeepFor(key) => write!(f, "Got error 192 '{key}' from InnoDB"),
        }
    }
}

impl From<RowError<'_>> for SqlError {
    fn from(error: RowError<'_>) -> SqlError {
        let (number, state, text) = error.parts();
        SqlError::Other(number, state, text)
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
