//! Tablespaces: page allocation inside a data file.
