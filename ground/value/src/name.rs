//! Identifiers: column, index and alias names compare without regard to case.

/// Whether two identifiers are the same name (column, index, alias; not table names on Linux).
#[must_use]
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}
