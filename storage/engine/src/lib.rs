//! The storage boundary: tables, DML, commit, recovery.
