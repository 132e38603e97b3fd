//! Binding and physical plans.
