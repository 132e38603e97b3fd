//! The page in HTML: one file, no script, nothing from elsewhere; its charts are in it.

use super::content::Part;
use crate::outcome::Table;
use chart::escape;

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>limpid lab</title>\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<style>\n\
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1100px; padding: 0 1em; color: #222; }\n\
table { border-collapse: collapse; margin: 0 0 1.2em; font-size: 13px; }\n\
th, td { border: 1px solid #ccc; padding: 3px 7px; text-align: left; vertical-align: top; }\n\
th { background: #f3f3f3; }\n\
tr.holds td:last-child { color: #0a6b2d; } tr.fails td:last-child { color: #b00020; font-weight: 600; }\n\
.chart { overflow-x: auto; margin: 0 0 1.2em; }\n\
</style></head><body>\n";

/// Writes the page.
pub fn page(parts: &[Part]) -> String {
    let mut page = String::from(HEAD);
    for part in parts {
        match part {
            Part::Heading(level, text) => {
                page.push_str(&format!("<h{level}>{}</h{level}>\n", escape(text)));
            }
            Part::Text(text) => page.push_str(&format!("<p>{}</p>\n", escape(text))),
            Part::Table(of) => {
                if !of.title.is_empty() {
                    page.push_str(&format!("<h3>{}</h3>\n", escape(&of.title)));
                }
                table(&mut page, of);
            }
            Part::Chart(_, title, svg) => {
                page.push_str(&format!(
                    "<h3>{}</h3>\n<div class=\"chart\">{svg}</div>\n",
                    escape(title)
                ));
            }
            Part::Folded(of) => {
                page.push_str(&format!("<details><summary>{}</summary>\n", escape(&of.title)));
                table(&mut page, of);
                page.push_str("</details>\n");
            }
        }
    }
    page.push_str("</body></html>\n");
    page
}

fn table(page: &mut String, table: &Table) {
    let row = |cells: &[String], tag: &str| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    page.push_str("<table>\n");
    if table.heads.iter().any(|head| !head.is_empty()) {
        page.push_str(&format!("<tr>{}</tr>\n", row(&table.heads, "th")));
    }
    for cells in &table.lines {
        let class = match cells.last().map(String::as_str) {
            Some("holds") => " class=\"holds\"",
            Some("does not hold") => " class=\"fails\"",
            _ => "",
        };
        page.push_str(&format!("<tr{class}>{}</tr>\n", row(cells, "td")));
    }
    page.push_str("</table>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_nothing_comes_from_elsewhere() {
        let lines = vec![vec!["<script>alert(1)</script>".into(), "does not hold".into()]];
        let table = Table { title: "a & b".into(), heads: vec!["h".into()], lines };
        let page = page(&[Part::Table(table), Part::Text("\"<b>".into())]);
        assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"), "{page}");
        assert!(page.contains("class=\"fails\"") && page.contains("a &amp; b"));
        assert!(!page.contains("http:") && !page.contains("src=") && !page.contains("<b>"));
    }
}
