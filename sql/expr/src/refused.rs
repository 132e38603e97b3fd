//! What expressions and functions refuse: MySQL's numbers, SQLSTATEs and texts, each in one place.

use crate::SqlError;

base::error_table! {
    /// Why an expression cannot be compiled or computed.
    pub enum Refused for SqlError {
        // Names.
        /// A function that is not there.
        NoFunction(name) = 1305 "42000" "FUNCTION {name} does not exist";
        /// A function of a schema, by the name of a built-in one.
        NotBuiltIn(name) =
            1630 "42000" "FUNCTION {name} does not exist. Check the 'Function Name Parsing and Resolution' section in \
                          the Reference Manual";
        /// A function that information_schema alone calls.
        InternalFunction(name) =
            3566 "HY000" "Access to native function '{name}' is rejected.";
        /// No such collation.
        UnknownCollation(name) = 1273 "HY000" "Unknown collation: '{name}'";
        /// No such character set.
        UnknownCharset(name) = 1115 "42000" "Unknown character set: '{name}'";
        /// A collation of another character set.
        ForeignCollation(collation, charset) =
            1253 "42000" "COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'";

        // Arguments.
        /// More or fewer than a function takes.
        WrongCount(name) =
            1582 "42000" "Incorrect parameter count in the call to native function '{name}'";
        /// Others than a function takes.
        WrongParameters(name) =
            1583 "42000" "Incorrect parameters in the call to native function '{name}'";
        /// Those that make no sense.
        WrongArguments(name) = 1210 "HY000" "Incorrect arguments to {name}";
        /// A row in the place of a value, or the other way round.
        WrongColumns(count: usize) = 1241 "21000" "Operand should contain {count} column(s)";
        /// A literal that is none of its type.
        WrongLiteral(kind, text) = 1525 "HY000" "Incorrect {kind} value: '{text}'";

        // Types.
        /// More digits than there can be.
        TooPrecise(precision: i64, of, most: u8) =
            1426 "42000" "Too-big precision {precision} specified for '{of}'. Maximum is {most}.";
        /// More digits behind the point than there can be.
        TooBigScale(scale: u32) =
            1425 "42000" "Too big scale {scale} specified for column 'CAST'. Maximum is 30.";
        /// More digits behind the point than there are.
        ScaleAbovePrecision =
            1427 "42000" "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column 'CAST').";
        /// Text that the other character set has no place for.
        NotConvertible(shown, from, to) =
            3854 "HY000" "Cannot convert string '{shown}' from {from} to {to}";
        /// Bytes of two lengths.
        UnequalOperands =
            3513 "HY000" "Binary operands of bitwise operators must be of equal length";

        // Single functions.
        /// A vector of AES.
        ShortVector(name) =
            1882 "HY000" "The initialization vector supplied to {name} is too short. Must be at least 16 bytes long";
        /// The digest of what is no statement.
        NoDigest(why) =
            3676 "HY000" "Could not parse argument to digest function: \"{why}\".";
        /// The system has no randomness.
        NoRandomness = 3177 "HY000" "random source failed";
        /// Text that is no UUID.
        NoUuid(text, name) = 1411 "HY000" "Incorrect string value: '{text}' for function {name}";
        /// The name of a lock.
        LockNameTooLong(name) =
            4163 "42000" "User-level lock name '{name}' should not exceed 64 characters.";
        /// The same.
        BadLockName(name) =
            3057 "42000" "Incorrect user-level lock name '{name}'. The name is empty, NULL, or can not be expressed in \
                          the current character-set.";
        /// GET_LOCK() outside of a session.
        NobodysLock = 1105 "HY000" "User-level locks are a session's";
        /// GET_LOCK() of sessions that wait for each other.
        LockDeadlock =
            3058 "HY000" "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing \
                          locks and restarting lock acquisition.";
        /// Text and bytes in one regular expression.
        MixedPattern(first, second, name) =
            3995 "HY000" "Character set '{first}' cannot be used in conjunction with '{second}' in call to {name}.";

        // JSON_TABLE.
        /// A container for a scalar column.
        NoScalar(column) =
            3666 "2203F" "Can't store an array or an object in the scalar JSON_TABLE column '{column}'";
        /// A number that a column has no room for.
        JsonOutOfRange(ty, column) =
            3155 "22018" "Out of range JSON value for CAST to {ty} from column {column} at row 1";
        /// What is no number.
        JsonInvalid(ty, column) =
            3156 "22018" "Invalid JSON value for CAST to {ty} from column {column} at row 1";
        /// What follows both.
        JsonColumnRange(column) =
            3669 "22003" "Value is out of range for JSON_TABLE's column '{column}'";

        // JSON.
        /// Text that is no JSON.
        InvalidJson(n: usize, name, what, at: usize) =
            3141 "22032" "Invalid JSON text in argument {n} to function {name}: \"{what}\" at position {at}.";
        /// What is neither text nor JSON.
        NoJson(n: usize, name) =
            3146 "22032" "Invalid data type for JSON data in argument {n} to function {name}; a JSON string or JSON \
                          type is required.";
        /// Bytes.
        JsonOfBytes =
            3144 "22032" "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
        /// Too many containers in each other.
        JsonTooDeep = 3157 "22032" "The JSON document exceeds the maximum depth.";
        /// A member without a name.
        NullMember = 3158 "22032" "JSON documents may not contain NULL member names.";
        /// A schema that is no object.
        NoJsonObject(name) =
            3853 "22032" "Invalid JSON type in argument 1 to function {name}; an object is required.";
        /// JSON_UNQUOTE() and its like of what is no text.
        NoJsonText(name) = 3064 "HY000" "Incorrect type for argument 1 in function {name}.";
        /// A path that cannot be read.
        BadPath(at: usize) =
            3143 "42000" "Invalid JSON path expression. The error is around character position {at}.";
        /// A path that may mean several places.
        ManyPaths =
            3149 "42000" "In this situation, path expressions may not contain the * and ** tokens or an array range.";
        /// The path of the whole document.
        WholePath = 3153 "42000" "The path expression '$' is not allowed in this context.";
        /// A path of no cell.
        NoCell = 3165 "42000" "A path expression is not a path to a cell in an array.";
        /// JSON_SEARCH() of how many.
        OneOrAll(name) =
            3154 "42000" "The oneOrAll argument to {name} may take these values: 'one' or 'all'.";
        /// JSON_VALUE() that found none.
        NoneFound(name) =
            3966 "22035" "No value was found by '{name}' on the specified path.";
        /// JSON_VALUE() that found several.
        ManyFound =
            3967 "22034" "More than one value was found by 'json_value' on the specified path.";
        /// A default of JSON_VALUE() that is none of its type.
        TruncatedDefault(kind, text) =
            1292 "22007" "Truncated incorrect {kind} value: '{text}'";
        /// The same, of a date with a time.
        IncorrectDateTime(text) = 1292 "22007" "Incorrect datetime value: '{text}'";

        // Regular expressions.
        /// What is wrong with one is not said.
        PatternSyntax =
            3688 "HY000" "Syntax error in regular expression on line 1, character 1.";
        /// A bracket that nothing closes.
        PatternBracket =
            3696 "HY000" "The regular expression contains an unclosed bracket expression.";
        /// A range from the end.
        PatternRange =
            3697 "HY000" "The regular expression contains an [x-y] character range where x comes after y.";
        /// A parenthesis that nothing closes, or opens.
        PatternParenthesis = 3691 "HY000" "Mismatched parenthesis in regular expression.";
        /// A group that is not there.
        PatternReference = 3694 "HY000" "Invalid back-reference in regular expression.";
        /// A look behind without an end.
        PatternLookBehind =
            3695 "HY000" "The look-behind assertion exceeds the limit in regular expression.";
        /// An escape that means nothing.
        PatternEscape = 3689 "HY000" "Unrecognized escape sequence in regular expression.";
        /// An empty pattern, or a class that is not there.
        PatternArgument = 3685 "HY000" "Illegal argument to a regular expression.";
        /// A place outside of the text, a group that is not there.
        PatternBounds = 3686 "HY000" "Index out of bounds in regular expression search.";
        /// A group's name.
        PatternGroup = 3887 "HY000" "A capture group has an invalid name.";
        /// `{` and no numbers.
        PatternInterval =
            3692 "HY000" "Incorrect description of a {{min,max}} interval.";
        /// `{2,1}`.
        PatternMaximum =
            3693 "HY000" "The maximum is less than the minumum in a {{min,max}} interval.";
        /// A number of many digits.
        PatternNumber = 4007 "HY000" "Decimal number in regular expression is too large.";
        /// A search that takes too many steps.
        PatternTimeout = 3699 "HY000" "Timeout exceeded in regular expression match.";

        // Aggregates.
        /// Bits of long bytes.
        LongBits =
            3514 "HY000" "Aggregate bitwise functions cannot accept arguments longer than 511 bytes; consider using the \
                          SUBSTRING() function";

        // Storage.
        /// A stored row that cannot be decoded.
        DamagedRow(column: usize, offset: usize, what) =
            1712 "HY000" "Index is corrupted: column {column}, offset {offset}: {what}";
    }
}
