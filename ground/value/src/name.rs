//! Identifiers: column, index and alias names compare without regard to case (but to accents).

/// Whether two identifiers are the same name (column, index, alias; not table names on Linux).
#[must_use]
pub fn same_name(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() {
        return a.eq_ignore_ascii_case(b);
    }
    a.chars().map(fold).eq(b.chars().map(fold))
}

/// The name in the form under which equal names are equal strings: a key for maps.
#[must_use]
pub fn folded_name(name: &str) -> String {
    name.chars().map(fold).collect()
}

/// Simple lower case: characters whose lower case is several characters stay as they are.
fn fold(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(l), None) => l,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_by_accent_not_by_case() {
        for (a, b, same) in
            [("Id", "iD", true), ("Größe", "GRÖßE", true), ("a", "á", false), ("a", "ab", false)]
        {
            assert_eq!(same_name(a, b), same, "{a} {b}");
            assert_eq!(folded_name(a) == folded_name(b), same, "{a} {b}");
        }
    }
}
