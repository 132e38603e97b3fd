//! Why a definition is refused: MySQL's numbers, SQLSTATEs and texts, each in one place.

use crate::SqlError;

base::error_table! {
    /// What is wrong with a definition, or with a change of one.
    pub enum DdlError for SqlError {
        // Names.
        /// A name beyond 64 characters.
        NameTooLong(name) = 1059 "42000" "Identifier name '{name}' is too long";
        /// A table's name.
        TableName(name) = 1103 "42000" "Incorrect table name '{name}'";
        /// A database's name.
        DatabaseName(name) = 1102 "42000" "Incorrect database name '{name}'";
        /// A column's name.
        ColumnName(name) = 1166 "42000" "Incorrect column name '{name}'";
        /// An index's name.
        IndexName(name) = 1280 "42000" "Incorrect index name '{name}'";
        /// A database that is not there.
        NoSuchDatabase(name) = 3503 "42Y07" "Database '{name}' doesn't exist";
        /// DROP of what is not there.
        CannotDrop(name) = 1091 "42000" "Can't DROP '{name}'; check that column/key exists";
        /// Two indexes of one name.
        DuplicateKeyName(name) = 1061 "42000" "Duplicate key name '{name}'";
        /// A comment of a table.
        TableComment(name, max: usize) =
            1628 "HY000" "Comment for table '{name}' is too long (max = {max})";
        /// A comment of a column.
        FieldComment(name, max: usize) =
            1629 "HY000" "The maximum supported character limit for the field, '{name}', has been exceeded \
                          (max = {max})";
        /// A comment of an index.
        IndexComment(name, max: usize) =
            1688 "HY000" "Comment for index '{name}' is too long (max = {max})";

        // Columns.
        /// CREATE TABLE without one.
        NoColumns = 1113 "42000" "A table must have at least 1 column";
        /// ALTER TABLE that drops the last.
        AllColumnsDropped =
            1090 "42000" "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
        /// A default of what has none.
        DefaultOfBlob(column) =
            1101 "42000" "BLOB, TEXT, GEOMETRY or JSON column '{column}' can't have a default value";
        /// ON UPDATE of what is no time, or of another precision.
        OnUpdate(column) = 1294 "HY000" "Invalid ON UPDATE clause for '{column}' column";
        /// AUTO_INCREMENT twice, or without an index.
        WrongAutoColumn =
            1075 "42000" "Incorrect table definition; there can be only one auto column and it must be defined \
                          as a key";
        /// A functional index keeps the column.
        IndexUsesColumn(column) =
            3837 "HY000" "Column '{column}' has a functional index dependency and cannot be dropped or renamed.";
        /// A generated column keeps it.
        GeneratedUsesColumn(column) = 3108 "HY000" "Column '{column}' has a generated column dependency.";
        /// A default keeps it.
        DefaultUsesColumn(of, column) =
            3772 "HY000" "Default value expression of column '{of}' refers to column '{column}'.";
        /// A check keeps it.
        CheckUsesColumn(check, column) =
            3959 "HY000" "Check constraint '{check}' uses column '{column}', hence column cannot be dropped or \
                          renamed.";

        // Expressions of columns.
        /// A generated column of AUTO_INCREMENT.
        GeneratedOfAuto(column) =
            3109 "HY000" "Generated column '{column}' cannot refer to auto-increment column.";
        /// A default of AUTO_INCREMENT.
        DefaultOfAuto(column) =
            3768 "HY000" "Default value expression of column '{column}' cannot refer to an auto-increment column.";
        /// A generated column of a later one.
        GeneratedOrder =
            3107 "HY000" "Generated column can refer only to generated columns defined prior to it.";
        /// A default of a later column.
        DefaultOrder(column) =
            3767 "HY000" "Default value expression of column '{column}' cannot refer to a column defined after it if \
                          that column is a generated column or has an expression as default value.";
        /// A function that a generated column cannot have.
        GeneratedFunction(column, function) =
            3763 "HY000" "Expression of generated column '{column}' contains a disallowed function: {function}.";
        /// NAME_CONST in a generated column.
        GeneratedNameConst(column) =
            3102 "HY000" "Expression of generated column '{column}' contains a disallowed function.";
        /// A function that a default cannot have.
        DefaultFunction(column, function) =
            3770 "HY000" "Default value expression of column '{column}' contains a disallowed function: {function}.";
        /// NAME_CONST in a default.
        DefaultNameConst(column) =
            3769 "HY000" "Default value expression of column '{column}' contains a disallowed function.";
        /// A variable in a default, in a generated column or in a functional index.
        DefaultVariable(column) =
            3772 "HY000" "Default value expression of column '{column}' cannot refer user or system variables.";

        // Checks.
        /// A check that is not there.
        UnknownCheck(name) = 3821 "HY000" "Check constraint '{name}' is not found in the table.";
        /// A column of another table.
        CheckQualified(column, check) =
            1054 "42S22" "Unknown column '{column}' in 'check constraint {check} expression'";
        /// A column that is not there.
        CheckColumn(check, column) =
            3820 "HY000" "Check constraint '{check}' refers to non-existing column '{column}'.";
        /// A column's check of another column.
        ColumnCheckOfOther(check) =
            3813 "HY000" "Column check constraint '{check}' references other column.";
        /// A check of AUTO_INCREMENT.
        CheckOfAuto(check) =
            3818 "HY000" "Check constraint '{check}' cannot refer to an auto-increment column.";
        /// A check that is no condition.
        CheckType(check) =
            3812 "HY000" "An expression of non-boolean type specified to a check constraint '{check}'.";
        /// A check of a variable.
        CheckVariable(check) =
            3816 "HY000" "An expression of a check constraint '{check}' cannot refer to a user or system variable.";
        /// A function that a check cannot have.
        CheckFunction(check, function) =
            3814 "HY000" "An expression of a check constraint '{check}' contains disallowed function: {function}.";
        /// NAME_CONST in a check.
        CheckNameConst(check) =
            3815 "HY000" "An expression of a check constraint '{check}' contains disallowed function.";
        /// DROP or ALTER CONSTRAINT of none.
        UnknownConstraint(name) = 3940 "HY000" "Constraint '{name}' does not exist.";
        /// DROP CONSTRAINT of several.
        SeveralConstraints(name) =
            3939 "HY000" "Table has multiple constraints with the name '{name}'. Please use constraint specific \
                          'DROP' clause.";

        // Indexes.
        /// A second primary key.
        SecondPrimaryKey = 1068 "42000" "Multiple primary key defined";
        /// `sql_require_primary_key`.
        PrimaryKeyRequired =
            3750 "HY000" "Unable to create or change a table without a primary key, when the system variable \
                          'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to \
                          avoid this message. Note that tables without a primary key can cause performance problems \
                          in row-based replication, so please consult your DBA before changing this setting.";
        /// INVISIBLE of the primary key.
        InvisiblePrimaryKey = 3522 "HY000" "A primary key index cannot be invisible";
        /// A key's column that is not there.
        NoKeyColumn(name) = 1072 "42000" "Key column '{name}' doesn't exist in table";
        /// A prefix of nothing.
        EmptyKeyPart(name) = 1391 "HY000" "Key part '{name}' length cannot be 0";
        /// A prefix of what has none.
        WrongPrefix =
            1089 "HY000" "Incorrect prefix key; the used key part isn't a string, the used length is longer than \
                          the key part, or the storage engine doesn't support unique prefix keys";
        /// A key of JSON.
        JsonKey(name) =
            3152 "42000" "JSON column '{name}' supports indexing only via generated columns on a specified JSON \
                          path.";
        /// A key of a large value without a prefix.
        BlobKey(name) =
            1170 "42000" "BLOB/TEXT column '{name}' used in key specification without a key length";
        /// A primary key of an expression.
        FunctionalPrimaryKey = 3756 "HY000" "The primary key cannot be a functional index";
        /// An expression that is a column.
        FunctionalOfColumn =
            3762 "HY000" "Functional index on a column is not supported. Consider using a regular index instead.";
        /// An expression of AUTO_INCREMENT.
        FunctionalOfAuto(index) =
            3754 "HY000" "Functional index '{index}' cannot refer to an auto-increment column.";
        /// An expression of a large type.
        FunctionalBlob =
            3757 "HY000" "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please \
                          consider using CAST.";
        /// A function that a functional index cannot have.
        FunctionalFunction(index) =
            3758 "HY000" "Expression of functional index '{index}' contains a disallowed function.";

        // Foreign keys.
        /// Another number of columns than the parent's.
        ForeignColumnCount(name) =
            1239 "42000" "Incorrect foreign key definition for '{name}': Key reference and table reference don't match";
        /// No more is said.
        CannotAddForeignKey = 1215 "HY000" "Cannot add foreign key constraint";
        /// A parent that is not there.
        CannotOpenParent(name) = 1824 "HY000" "Failed to open the referenced table '{name}'";
        /// An action on a generated column.
        ActionOnGenerated(clause) =
            3104 "HY000" "Cannot define foreign key with {clause} clause on a generated column.";
        /// SET NULL of NOT NULL.
        SetNullOfNotNull(column, key) =
            1830 "HY000" "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{key}' SET NULL";
        /// An action on a column that a check has.
        ActionOnChecked(column, check, key) =
            3823 "HY000" "Column '{column}' cannot be used in a check constraint '{check}': needed in a foreign key \
                          constraint '{key}' referential action.";
        /// A virtual column of a key.
        ForeignVirtual(key, column) =
            3733 "HY000" "Foreign key '{key}' uses virtual column '{column}' which is not supported.";
        /// A column that the parent has not.
        NoParentColumn(column, key, parent) =
            3734 "HY000" "Failed to add the foreign key constraint. Missing column '{column}' for constraint '{key}' \
                          in the referenced table '{parent}'";
        /// No unique key of the parent's columns.
        NoParentUniqueKey(key, parent) =
            6125 "HY000" "Failed to add the foreign key constraint. Missing unique key for constraint '{key}' in the \
                          referenced table '{parent}'";
        /// No index of the parent's columns.
        NoParentIndex(key, parent) =
            1822 "HY000" "Failed to add the foreign key constraint. Missing index for constraint '{key}' in the \
                          referenced table '{parent}'";
        /// Types that differ.
        IncompatibleColumns(column, parent, key) =
            3780 "HY000" "Referencing column '{column}' and referenced column '{parent}' in foreign key constraint \
                          '{key}' are incompatible.";
        /// DROP COLUMN of a child.
        ForeignNeedsColumn(column, key) =
            1828 "HY000" "Cannot drop column '{column}': needed in a foreign key constraint '{key}'";
        /// DROP COLUMN of a parent.
        ChildNeedsColumn(column, key, child) =
            1829 "HY000" "Cannot drop column '{column}': needed in a foreign key constraint '{key}' of table '{child}'";
        /// MODIFY of a child's column.
        ForeignUsesColumn(column, key) =
            1832 "HY000" "Cannot change column '{column}': used in a foreign key constraint '{key}'";
        /// MODIFY of a parent's column.
        ChildUsesColumn(column, key, child) =
            1833 "HY000" "Cannot change column '{column}': used in a foreign key constraint '{key}' of table '{child}'";
        /// DROP INDEX of a key.
        ForeignNeedsIndex(name) =
            1553 "HY000" "Cannot drop index '{name}': needed in a foreign key constraint";

        // Options of tables.
        /// ENCRYPTION without a keyring.
        NoMasterKey =
            3185 "HY000" "Can't find master key from keyring, please check in the server log if a keyring is loaded \
                          and initialized successfully.";
        /// ENCRYPTION of neither Y nor N.
        EncryptionOption = 3184 "HY000" "Invalid encryption option.";
        /// Two character sets.
        ConflictingCharsets(one, other) =
            1302 "HY000" "Conflicting declarations: 'CHARACTER SET {one}' and 'CHARACTER SET {other}'";
        /// A storage engine that is not there.
        UnknownEngine(name) = 1286 "42000" "Unknown storage engine '{name}'";
        /// An option that the engine has not.
        NoSuchOption(table) = 1031 "HY000" "Table storage engine for '{table}' doesn't have this option";
        /// An option that the engine does not take together with others.
        CreateOption(option) =
            1478 "HY000" "Table storage engine 'InnoDB' does not support the create option '{option}'";
        /// A temporary table that is compressed.
        CompressedTemporary =
            3500 "HY000" "CREATE TEMPORARY TABLE is not allowed with ROW_FORMAT=COMPRESSED or KEY_BLOCK_SIZE.";

        // ALGORITHM and LOCK.
        /// What the statement asks for cannot be, and what can.
        NotSupported(what, other) =
            1845 "0A000" "{what} is not supported for this operation. Try {other}.";
        /// The same, and why.
        NotSupportedBecause(what, reason, other) =
            1846 "0A000" "{what} is not supported. Reason: {reason}. Try {other}.";
        /// A table that has had all its layouts.
        TooManyVersions(schema, name) =
            4092 "HY000" "Maximum row versions reached for table {schema}/{name}. No more columns can be added or \
                          dropped instantly. Please use COPY/INPLACE.";

        // Views.
        /// A temporary table below.
        ViewOfTemporary(name) = 1352 "HY000" "View's SELECT refers to a temporary table '{name}'";
        /// A check option of what is not changed.
        CheckOption(schema, name) = 1368 "HY000" "CHECK OPTION on non-updatable view '{schema}.{name}'";
        /// INTO below.
        ViewClause(clause) = 1350 "HY000" "View's SELECT contains a '{clause}' clause";
        /// A variable below.
        ViewVariable = 1351 "HY000" "View's SELECT contains a variable or parameter";
    }
}
