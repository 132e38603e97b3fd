//! The page in Markdown; its charts are the files beside it.

use super::content::Part;
use crate::outcome::Table;

/// Writes the page.
pub fn page(parts: &[Part]) -> String {
    let mut page = String::new();
    for part in parts {
        match part {
            Part::Heading(level, text) => {
                page.push_str(&"#".repeat(usize::from(*level)));
                page.push_str(&format!(" {}\n\n", inline(text)));
            }
            Part::Text(text) => page.push_str(&format!("{}\n\n", inline(text))),
            Part::Table(of) => table(&mut page, of),
            Part::Chart(file, title, _) => {
                page.push_str(&format!("![{}]({file})\n\n", inline(title)))
            }
            Part::Folded(of) => {
                page.push_str(&format!(
                    "<details><summary>{}</summary>\n\n",
                    chart::escape(&of.title)
                ));
                table(&mut page, &Table { title: String::new(), ..of.clone() });
                page.push_str("</details>\n\n");
            }
        }
    }
    page
}

fn table(page: &mut String, table: &Table) {
    if !table.title.is_empty() {
        page.push_str(&format!("**{}**\n\n", inline(&table.title)));
    }
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| inline(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    page.push_str(&line(&table.heads));
    page.push_str(&format!("|{}\n", "---|".repeat(table.heads.len())));
    table.lines.iter().for_each(|cells| page.push_str(&line(cells)));
    page.push('\n');
}

/// Text on one line, without what Markdown or a table would take for its own.
fn inline(text: &str) -> String {
    let text = chart::clean(text).replace('&', "&amp;").replace('<', "&lt;");
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text() {
        let lines = vec![vec!["a|b".into(), "<script>\nx".into()]];
        let table = Table { title: "t".into(), heads: vec!["h".into(), "i".into()], lines };
        let page = page(&[Part::Table(table)]);
        assert!(page.contains("| a\\|b | &lt;script> x |"), "{page}");
    }
}
