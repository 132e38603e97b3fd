//! Why a statement that is planned fails: MySQL's numbers, SQLSTATEs and texts, each in one place. What is wrong with a
//! row is a [`RowError`](crate::write::RowError), with a definition a [`DdlError`](crate::ddl::error::DdlError).

use crate::SqlError;

base::error_table! {
    /// What a statement can end in while it runs.
    pub enum ExecError for SqlError {
        // Limits.
        /// `sql_safe_updates`.
        SafeUpdate =
            1175 "HY000" "You are using safe update mode and you tried to update a table without a WHERE that \
                          uses a KEY column. ";
        /// `max_join_size`.
        TooBigSelect =
            1104 "42000" "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET \
                          SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay";
        /// `max_execution_time`.
        TimedOut =
            3024 "HY000" "Query execution was interrupted, maximum statement execution time exceeded";
        /// `cte_max_recursion_depth`.
        TooManyRounds(rounds: u64) =
            3636 "HY000" "Recursive query aborted after {rounds} iterations. Try increasing \
                          @@cte_max_recursion_depth to a larger value.";
        /// A table that has no room, in memory or on disk.
        TableFull(name) = 1114 "HY000" "The table '{name}' is full";

        // Results.
        /// A scalar subquery of several rows.
        SubqueryRows = 1242 "21000" "Subquery returns more than 1 row";
        /// INTO of several rows.
        TooManyRows = 1172 "42000" "Result consisted of more than one row";
        /// ERROR ON EMPTY.
        MissingJsonValue(name) = 3665 "22035" "Missing value for JSON_TABLE column '{name}'";

        // EXPLAIN and ANALYZE.
        /// FORMAT of a name that is none.
        UnknownExplainFormat(name) = 1791 "HY000" "Unknown EXPLAIN format name: '{name}'";
        /// INTO without FORMAT.
        ExplainIntoImplicit = 6006 "0A000" "EXPLAIN INTO does not support implicit FORMAT.";
        /// INTO with a FORMAT that is not JSON.
        ExplainIntoFormat(name) = 6007 "0A000" "EXPLAIN INTO does not support FORMAT={name}.";
        /// ANALYZE with the first version of JSON.
        ExplainAnalyzeJson =
            6412 "0A000" "EXPLAIN ANALYZE does not support FORMAT=JSON with explain_json_format_version=1.";
        /// A histogram's number of buckets.
        Buckets = 1690 "22003" "Number of buckets value is out of range in 'ANALYZE TABLE'";

        // Rights, schemas that are views.
        /// A system schema that nobody changes.
        SystemSchema(schema) = 3552 "HY000" "Access to system schema '{schema}' is rejected.";
        /// A schema of views.
        SchemaDenied(account, schema) =
            1044 "42000" "Access denied for user {account} to database '{schema}'";
        /// A change that a table of performance_schema does not know.
        PerfschemaUsage = 1683 "HY000" "Invalid performance_schema usage.";
        /// A row that a table of performance_schema has already.
        DuplicateKeyIn(name) = 1022 "23000" "Can't write; duplicate key in table '{name}'";

        // Files.
        /// `secure_file_priv`.
        SecureFile =
            1290 "HY000" "The MySQL server is running with the --secure-file-priv option so it cannot execute \
                          this statement";
        /// A file that cannot be read: its path, the system's number and words.
        CannotStat(path, errno: i32, text) =
            13 "HY000" "Can't get stat of '{path}' (OS errno {errno} - {text})";
        /// A file that cannot be made.
        CannotCreate(path, errno: i32, text) =
            1 "HY000" "Can't create/write to file '{path}' (OS errno {errno} - {text})";
        /// A file that cannot be written.
        CannotWrite(path, errno: i32, text) =
            3 "HY000" "Error writing file '{path}' (OS errno {errno} - {text})";
        /// A file that cannot be read on.
        CannotRead(error: &'n std::io::Error) = 2 "HY000" "Error reading file ({error})";
        /// INTO a file that there is.
        FileExists(name) = 1086 "HY000" "File '{name}' already exists";
        /// ENCLOSED BY and ESCAPED BY of several characters.
        FieldSeparator =
            1083 "42000" "Field separator argument is not what is expected; check the manual";
        /// A line beyond what is kept in memory.
        LineTooLong = 1105 "HY000" "A line of the file is too long";
        /// `local_infile`.
        LocalDisabled =
            3948 "42000" "Loading local data is disabled; this must be enabled on both the client and server \
                          sides";
        /// A character set that is none.
        UnknownCharset(name) = 1115 "42000" "Unknown character set: '{name}'";

        // Damage.
        /// A page of an index that does not hold.
        CorruptIndex(index, place) = 1712 "HY000" "Index {index} ({place}) is corrupted";
        /// A table's file that is not there.
        MissingTablespace(schema, name) =
            1812 "HY000" "Tablespace is missing for table `{schema}`.`{name}`.";
        /// A view's name that does not parse.
        ViewName(text) = 1105 "HY000" "A view's name: {text}";
    }
}
