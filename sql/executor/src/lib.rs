//! Runs plans: point programs and row operators.
