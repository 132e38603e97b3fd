//! One statement from bytes to result: variables, transactions, errors.

pub mod variables;
