//! Why a statement cannot be planned: MySQL's numbers, SQLSTATEs and texts, each in one place.

use expr::SqlError;

base::error_table! {
    /// What is wrong with a statement, known before it runs.
    pub enum PlanError for SqlError {
        // Names of tables and views.
        /// One name for two tables of a statement, or a table named twice in a list.
        NotUniqueTable(name) = 1066 "42000" "Not unique table/alias: '{name}'";
        /// `t.*` of no table of the FROM clause.
        NoSuchTable(name) = 1051 "42S02" "Unknown table '{name}'";
        /// DELETE of a table that its FROM clause has not.
        NotInMultiDelete(name) = 1109 "42S02" "Unknown table '{name}' in MULTI DELETE";
        /// FROM without a table.
        EmptyTableList = 1064 "42000" "empty table list";
        /// `*` without a table.
        NoTables = 1096 "HY000" "No tables used";
        /// More tables than a join has.
        TooManyTables(max: usize) = 1116 "HY000" "Too many tables; MySQL can only use {max} tables in a join";
        /// A view whose query cannot be planned any more.
        InvalidView(schema, name) =
            1356 "HY000" "View '{schema}.{name}' references invalid table(s) or column(s) or function(s) or \
                          definer/invoker of view lack rights to use them";
        /// EXPLAIN of a view that may not be shown.
        ViewNotExplained =
            1345 "HY000" "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table";
        /// A view's definer who is not there.
        NoSuchDefiner(account) = 1449 "HY000" "The user specified as a definer ({account}) does not exist";
        /// A function of a schema whose functions may not be run.
        RoutineDenied(who, routine) =
            1370 "42000" "execute command denied to user {who} for routine '{routine}'";
        /// A stored definition that does not parse.
        UnreadableDefinition(text) = 1812 "HY000" "Definition of '{text}' cannot be read";
        /// An index hint, or ALTER INDEX, of an index that is not there.
        UnknownKey(name, table) = 1176 "42000" "Key '{name}' doesn't exist in table '{table}'";

        // Names of columns.
        /// Two columns of one name.
        DuplicateColumn(name) = 1060 "42S21" "Duplicate column name '{name}'";
        /// A column that the clause or table has not.
        UnknownColumn(name, clause) = 1054 "42S22" "Unknown column '{name}' in '{clause}'";
        /// A field of LOAD DATA that is no column.
        UnknownField = 1054 "42S22" "Unknown column in 'field list'";
        /// A name that several tables have.
        AmbiguousColumn(name, clause) = 1052 "23000" "Column '{name}' in {clause} is ambiguous";
        /// A table of one side of a UNION in its ORDER BY.
        TableInGlobalOrder(table) =
            1250 "42000" "Table '{table}' from one of the SELECTs cannot be used in global ORDER clause";
        /// An alias that is used before it has a value.
        ReferenceNotSupported(name, why) = 1247 "42S22" "Reference '{name}' not supported ({why})";
        /// An alias of a window function where none may stand.
        WindowAlias(name) =
            3594 "HY000" "You cannot use the alias '{name}' of an expression containing a window function in \
                          this context.'";
        /// LIMIT by a variable that nobody declared.
        UndeclaredVariable(name) = 1327 "42000" "Undeclared variable: {name}";

        // Numbers of columns.
        /// Sides of a set operation that differ.
        DifferentColumnCounts =
            1222 "21000" "The used SELECT statements have a different number of columns";
        /// A row of values that is too short or too long.
        ValueCount(row: usize) = 1136 "21S01" "Column count doesn't match value count at row {row}";
        /// A view or derived table with another number of names than its query has columns.
        ColumnListCount =
            1353 "HY000" "In definition of view, derived table or common table expression, SELECT list and \
                          column names list have different column counts";
        /// A row where another number of columns is needed.
        OperandColumns(count: usize) = 1241 "21000" "Operand should contain {count} column(s)";

        // Types of columns.
        /// CHAR and VARCHAR beyond their lengths.
        LengthTooBig(column, max: u32) =
            1074 "42000" "Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead";
        /// A width that is too large.
        WidthTooBig(column, max: u32) =
            1439 "42000" "Display width out of range for column '{column}' (max = {max})";
        /// A scale that is too large.
        ScaleTooBig(scale: u32, column, max: u32) =
            1425 "42000" "Too big scale {scale} specified for column '{column}'. Maximum is {max}.";
        /// A precision that is too large.
        PrecisionTooBig(precision: u32, column, max: u32) =
            1426 "42000" "Too-big precision {precision} specified for '{column}'. Maximum is {max}.";
        /// More digits behind the point than in all.
        ScaleAbovePrecision(column) =
            1427 "42000" "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').";
        /// AUTO_INCREMENT or UNSIGNED of what is no number.
        WrongSpecifier(column) = 1063 "42000" "Incorrect column specifier for column '{column}'";
        /// BIT(0).
        InvalidSize(column) = 3013 "HY000" "Invalid size for column '{column}'.";
        /// YEAR of another width than 4.
        YearWidth = 1818 "HY000" "Invalid display width. Use YEAR instead.";
        /// ENUM and SET beyond their members.
        TooManyMembers(column, word) = 1097 "HY000" "Too many strings for column {column} and {word}";
        /// A SET's member with a comma.
        IllegalMember(shown) = 1367 "22007" "Illegal set '{shown}' value found during parsing";
        /// A member beyond its length.
        MemberTooLong(column) = 3505 "HY000" "Too long enumeration/set value for column {column}.";
        /// Two members of one text.
        DuplicateMember(column, value, word) =
            1291 "HY000" "Column '{column}' has duplicated value '{value}' in {word}";
        /// A default that the column's type cannot have.
        InvalidDefault(column) = 1067 "42000" "Invalid default value for '{column}'";

        // Values and functions.
        /// DEFAULT(c) of a default that is an expression.
        DefaultOfExpression =
            3773 "HY000" "DEFAULT function cannot be used with default value expressions";
        /// DEFAULT of a column that has none.
        NoDefault(column) = 1364 "HY000" "Field '{column}' doesn't have a default value";
        /// A function's arguments, or those of a clause.
        WrongArguments(function) = 1210 "HY000" "Incorrect arguments to {function}";
        /// A native function's number of arguments.
        ParameterCount(name) =
            1582 "42000" "Incorrect parameter count in the call to native function '{name}'";
        /// NAME_CONST of what is no constant.
        ReservedSyntax =
            1382 "HY000" "The 'NAME_CONST' syntax is reserved for purposes internal to the MySQL server";
        /// Collations of a set operation that do not mix.
        UnionCollations = 1271 "HY000" "Illegal mix of collations for operation 'UNION'";

        // Groups, orders, nesting.
        /// An aggregate where none may stand.
        InvalidGroupFunction = 1111 "HY000" "Invalid use of group function";
        /// GROUP BY of an aggregate.
        WrongGroupField(name) = 1056 "42000" "Can't group on '{name}'";
        /// ONLY_FULL_GROUP_BY, with one group.
        MixedWithAggregates(number: usize, clause, column) =
            1140 "42000" "In aggregated query without GROUP BY, expression #{number} of {clause} contains \
                          nonaggregated column '{column}'; this is incompatible with \
                          sql_mode=only_full_group_by";
        /// ONLY_FULL_GROUP_BY.
        NotGrouped(number: usize, clause, column) =
            1055 "42000" "Expression #{number} of {clause} is not in GROUP BY clause and contains \
                          nonaggregated column '{column}' which is not functionally dependent on columns in \
                          GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
        /// ORDER BY of what DISTINCT has dropped.
        OrderNotSelected(number: usize, column) =
            3065 "HY000" "Expression #{number} of ORDER BY clause is not in SELECT list, references column \
                          '{column}' which is not in SELECT list; this is incompatible with DISTINCT";
        /// GROUPING of what is not grouped by.
        GroupingNotGrouped(number: usize) =
            3602 "HY000" "Argument #{number} of GROUPING function is not in GROUP BY";
        /// SQL_CALC_FOUND_ROWS below the outermost query.
        CalcFoundRowsPlace = 1234 "42000" "Incorrect usage/placement of 'SQL_CALC_FOUND_ROWS'";
        /// Queries in queries beyond the limit.
        TooManyLevels = 1473 "HY000" "Too high level of nesting for select";

        // Recursive common table expressions.
        /// No UNION.
        RecursiveWithoutUnion(name) =
            3573 "HY000" "Recursive Common Table Expression '{name}' should contain a UNION";
        /// No query block that starts it.
        RecursiveWithoutSeed(name) =
            3574 "HY000" "Recursive Common Table Expression '{name}' should have one or more non-recursive query \
                          blocks followed by one or more recursive ones";
        /// Aggregates or windows.
        RecursiveAggregate(name) =
            3575 "HY000" "Recursive Common Table Expression '{name}' can contain neither aggregation nor window \
                          functions in recursive query block";
        /// The inner side of an outer join.
        RecursiveOuterJoin(name) =
            3576 "HY000" "In recursive query block of Recursive Common Table Expression '{name}', the recursive \
                          table must neither be in the right argument of a LEFT JOIN, nor be forced to be \
                          non-first with join order hints";
        /// Itself twice, or in a subquery.
        RecursiveTwice(name) =
            3577 "HY000" "In recursive query block of Recursive Common Table Expression '{name}', the recursive \
                          table must be referenced only once, and not in any subquery";
        /// EXCEPT and INTERSECT.
        RecursiveOperand =
            4114 "HY000" "Recursive table reference in EXCEPT or INTERSECT operand is not allowed.";

        // Windows.
        /// OVER w of no window.
        UnknownWindow(name) = 3579 "HY000" "Window name '{name}' is not defined.";
        /// Windows that are of each other.
        CircularWindows = 3580 "HY000" "There is a circularity in the window dependency graph.";
        /// PARTITION BY of a window that has another's.
        WindowPartition = 3581 "HY000" "A window which depends on another cannot define partitioning.";
        /// A frame that would be inherited.
        WindowFrameInherited(name) =
            3582 "HY000" "Window '{name}' has a frame definition, so cannot be referenced by another window.";
        /// Two orders.
        WindowOrderInherited(name) =
            3583 "HY000" "Window '<unnamed window>' cannot inherit '{name}' since both contain an ORDER BY \
                          clause.";
        /// A frame that starts at the end.
        FrameStart =
            3584 "HY000" "Window '<unnamed window>': frame start cannot be UNBOUNDED FOLLOWING.";
        /// A frame that ends at the start.
        FrameEnd = 3585 "HY000" "Window '<unnamed window>': frame end cannot be UNBOUNDED PRECEDING.";
        /// A frame's bound that is no number.
        FrameBound(window) =
            3586 "HY000" "Window '{window}': frame start or end is negative, NULL or of non-integral type";
        /// RANGE without one order.
        RangeOrder(window) =
            3587 "HY000" "Window '{window}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one deterministic \
                          ORDER BY expression, of numeric or temporal type";
        /// RANGE INTERVAL over numbers.
        RangeInterval =
            3589 "HY000" "Window '<unnamed window>' with RANGE frame has ORDER BY expression of numeric type, \
                          INTERVAL bound value not allowed.";
        /// ORDER BY 1 of a window.
        WindowPosition(shown) =
            3592 "HY000" "Window '{shown}': ORDER BY or PARTITION BY uses legacy position indication which is not \
                          supported, use expression.";
        /// A window function where none may stand.
        WindowPlace(name) =
            3593 "HY000" "You cannot use the window function '{name}' in this context.'";

        // Locking clauses.
        /// OF a table that is not there.
        UnresolvedLock(name) = 3568 "HY000" "Unresolved table name {name} in locking clause.";
        /// OF a table in two clauses.
        LockedTwice(name) = 3569 "HY000" "Table {name} appears in multiple locking clauses.";
        /// FOR SHARE of a view of information_schema.
        SharedInformation = 3550 "HY000"
            "Information schema queries do not support the 'LOCK IN SHARE MODE' clause.";

        // Changes.
        /// Clauses that exclude each other.
        IncorrectUsage(one, other) = 1221 "HY000" "Incorrect usage of {one} and {other}";
        /// A column that is given two values.
        SpecifiedTwice(name) = 1110 "42000" "Column '{name}' specified twice";
        /// A view, or derived table, that is no target.
        NotUpdatable(name, verb) =
            1288 "HY000" "The target table {name} of the {verb} is not updatable";
        /// A view that takes no new rows.
        NotInsertable(view) =
            1471 "HY000" "The target table {view} of the INSERT is not insertable-into";
        /// A view's column that is an expression.
        ColumnNotUpdatable(name) = 1348 "HY000" "Column '{name}' is not updatable";
        /// Columns of two tables of a view.
        JoinViewManyTables(name) =
            1393 "HY000" "Can not modify more than one base table through a join view '{name}'";
        /// INSERT into a join without columns.
        JoinViewWithoutFields(view) =
            1394 "HY000" "Can not insert into join view '{view}' without fields list";
        /// DELETE from a join.
        JoinViewDelete(view) = 1395 "HY000" "Can not delete from join view '{view}'";
        /// A target that is read by the statement, too.
        TargetRead(name) =
            1093 "HY000" "You can't specify target table '{name}' for update in FROM clause";
        /// The same through a view.
        ViewPrevents(view, verb, name) =
            1443 "HY000" "The definition of table '{view}' prevents operation {verb} on table '{name}'.";
        /// A generated column that is given a value.
        GeneratedValue(column, table) =
            3105 "HY000" "The value specified for generated column '{column}' in table '{table}' is not allowed.";
        /// A key that is changed under two names.
        KeyUpdateTwice(one, other) =
            1706 "HY000" "Primary key/partition key update is not allowed since the table is updated both as \
                          '{one}' and '{other}'.";
        /// SHOW BINARY LOGS.
        NoBinaryLog = 1381 "HY000" "You are not using binary logging";
    }
}
