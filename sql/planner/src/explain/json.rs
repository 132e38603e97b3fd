//! The lines of FORMAT=TREE as FORMAT=JSON.

use super::tree::Item;

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The document.
pub(crate) fn json(items: &[Item], query: &str) -> String {
    let mut out = String::from("{\n");
    out.push_str(&format!("  \"query\": {},\n", quoted(query)));
    if let Some(item) = items.first() {
        out.push_str("  \"query_plan\": ");
        write(item, 1, &mut out);
        out.push_str(",\n");
    }
    out.push_str("  \"query_type\": \"select\",\n  \"json_schema_version\": \"2.0\"\n}");
    out
}

fn write(item: &Item, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth + 1);
    let mut fields: Vec<String> = Vec::new();
    if !item.inputs.is_empty() {
        let mut inputs = String::from("\"inputs\": [\n");
        for (number, input) in item.inputs.iter().enumerate() {
            inputs.push_str(&"  ".repeat(depth + 2));
            write(input, depth + 2, &mut inputs);
            inputs.push_str(if number + 1 < item.inputs.len() { ",\n" } else { "\n" });
        }
        inputs.push_str(&format!("{pad}]"));
        fields.push(inputs);
    }
    fields.extend(item.facts.iter().map(|(name, value)| format!("\"{name}\": {value}")));
    fields.push(format!("\"operation\": {}", quoted(&item.text)));
    if let Some((cost, rows)) = item.estimate {
        fields.push(format!("\"estimated_rows\": {rows:?}"));
        fields.push(format!("\"estimated_total_cost\": {cost:?}"));
    }
    out.push_str("{\n");
    let fields: Vec<String> = fields.into_iter().map(|f| format!("{pad}{f}")).collect();
    out.push_str(&fields.join(",\n"));
    out.push_str(&format!("\n{}}}", "  ".repeat(depth)));
}
