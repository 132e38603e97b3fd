//! HTML of tables: every cell is text.

use chart::{clean, escape};

/// A table's head and rows; a cell that begins as a number is set to the right.
#[derive(Default)]
pub struct Table {
    html: String,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[&str]) -> Table {
        let head: String =
            columns.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
        Table { html: format!("<table><thead><tr>{head}</tr></thead><tbody>\n") }
    }

    /// Adds a row.
    pub fn row<T: AsRef<str>>(&mut self, cells: &[T]) {
        self.html.push_str("<tr>");
        for cell in cells {
            let text = cell.as_ref();
            let is_number = text.starts_with(|c: char| c.is_ascii_digit());
            let class = if is_number { " class=\"number\"" } else { "" };
            self.html.push_str(&format!("<td{class}>{}</td>", escape(text)));
        }
        self.html.push_str("</tr>\n");
    }

    /// The whole.
    pub fn end(self) -> String {
        self.html + "</tbody></table>\n"
    }
}

/// A text in one line of at most so many characters.
pub fn line(text: &str, chars_max: usize) -> String {
    let words = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match words.chars().count() > chars_max {
        true => words.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
        false => words,
    }
}

/// Seconds as a person reads them: `3.2 s`, `12 min`, `5 h`.
pub fn age(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => chart::si((s * 10.0).round() / 10.0, "s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_text() {
        let mut table = Table::new(&["<b>"]);
        table.row(&["<script>alert(1)</script>\u{0}", "12 k"]);
        let html = table.end();
        assert!(
            !html.contains("<script>") && !html.contains("<b>") && !html.contains('\0'),
            "{html}"
        );
        assert!(html.contains("<td class=\"number\">12 k</td>"));
    }

    #[test]
    fn lines_are_cut() {
        assert_eq!(line("a\n  b\tc", 9), "a b c");
        assert_eq!(line("abcdef", 4), "abc…");
        assert_eq!(
            (age(3.21), age(600.0), age(7200.0)),
            ("3.2 s".into(), "10 min".into(), "2 h".into())
        );
    }
}
