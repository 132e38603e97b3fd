//! What MySQL's grammar refuses with a number of its own: numbers, SQLSTATEs and texts, each in one place.

use crate::ErrorKind;

base::error_table! {
    /// Why a text is refused, where the answer is not that it is no SQL.
    pub enum Refused for ErrorKind {
        // Names.
        /// Above 64 characters.
        LongName(name) = 1059 "42000" "Identifier name '{name}' is too long";
        /// Not UTF-8.
        BadName = 1300 "HY000" "Invalid utf8mb4 character string in identifier";
        /// The empty name of a schema.
        NoDatabaseName = 1102 "42000" "Incorrect database name ''";
        /// The same, of a table.
        NoTableName = 1103 "42000" "Incorrect table name ''";
        /// The same, of a column.
        NoColumnName = 1166 "42000" "Incorrect column name ''";
        /// The name of a user variable that is given a value.
        VariableName(name) = 3061 "42000" "User variable name '{name}' is illegal";
        /// No such character set.
        UnknownCharset(name) = 1115 "42000" "Unknown character set: '{name}'";
        /// Two character sets for one database.
        TwoCharsets(one, other) =
            1302 "HY000" "Conflicting declarations: 'CHARACTER SET {one}' and 'CHARACTER SET {other}'";

        // Queries.
        /// More parameter markers than there can be.
        TooManyParams = 1390 "HY000" "Prepared statement contains too many placeholders";
        /// A subquery of FROM without a name.
        NoDerivedAlias = 1248 "42000" "Every derived table must have its own alias";
        /// The same, of JSON_TABLE.
        NoFunctionAlias = 3667 "42000" "Every table function must have an alias";
        /// Both.
        AllAndDistinct = 1221 "HY000" "Incorrect usage of ALL and DISTINCT";
        /// DO of all columns.
        NoTables = 1096 "HY000" "No tables used";
        /// A number beyond all doubles.
        IllegalDouble(text) = 1367 "22007" "Illegal double '{text}' value found during parsing";
        /// An argument with an alias.
        NamedArgument(name) =
            1583 "42000" "Incorrect parameters in the call to native function '{name}'";
        /// The same, of a function that may be a stored one.
        NamedStoredArgument(name) =
            1584 "42000" "Incorrect parameters in the call to stored function `{name}`";

        // ALTER TABLE.
        /// `ALGORITHM` of something else.
        UnknownAlgorithm(name) = 1800 "HY000" "Unknown ALGORITHM '{name}'";
        /// `LOCK` of something else.
        UnknownLock(name) = 1801 "HY000" "Unknown LOCK type '{name}'";

        // Stored programs.
        /// LEAVE or ITERATE of nothing around it.
        NoLabel(verb, label) = 1308 "42000" "{verb} with no matching label: {label}";
        /// One label in another that is the same.
        SameLabel(label) = 1309 "42000" "Redefining label {label}";
        /// Behind END stands another label than before BEGIN.
        EndLabel(label) = 1310 "42000" "End-label {label} without match";
        /// RETURN of a procedure.
        NoFunction = 1313 "42000" "RETURN is only allowed in a FUNCTION";
        /// A condition that nobody declared.
        NoCondition(name) = 1319 "42000" "Undefined CONDITION: {name}";
        /// A condition of number 0.
        ZeroCondition = 1525 "HY000" "Incorrect CONDITION value: '0'";
        /// A SQLSTATE that there cannot be.
        BadState(state) = 1407 "42000" "Bad SQLSTATE: '{state}'";
    }
}
