//! B+trees: search, cursor, insert, split, check.
