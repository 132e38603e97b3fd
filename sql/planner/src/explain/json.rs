//! JSON as EXPLAIN writes it: indented by two spaces, names in the order of their making.

/// A value of the document.
pub(super) enum Json {
    /// JSON text.
    Raw(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Fields),
}

/// Names and values in order.
pub(super) type Fields = Vec<(&'static str, Json)>;

pub(super) fn text(value: &str) -> Json {
    Json::Raw(quoted(value))
}

pub(super) fn truth(value: bool) -> Json {
    Json::Raw(value.to_string())
}

pub(super) fn number(value: u64) -> Json {
    Json::Raw(value.to_string())
}

pub(super) fn cost(value: f64) -> Json {
    text(&format!("{value:.2}"))
}

pub(super) fn list<'s>(values: impl Iterator<Item = &'s str>) -> Json {
    Json::List(values.map(text).collect())
}

impl Json {
    /// Appends the text; the value stands at a depth of indentation.
    pub(super) fn write(&self, depth: usize, out: &mut String) {
        let pad = "  ".repeat(depth + 1);
        let end = "  ".repeat(depth);
        match self {
            Json::Raw(text) => out.push_str(text),
            Json::List(items) => {
                out.push_str("[\n");
                for (at, item) in items.iter().enumerate() {
                    out.push_str(&pad);
                    item.write(depth + 1, out);
                    out.push_str(if at + 1 < items.len() { ",\n" } else { "\n" });
                }
                out.push_str(&format!("{end}]"));
            }
            Json::Object(fields) => {
                out.push_str("{\n");
                for (at, (name, value)) in fields.iter().enumerate() {
                    out.push_str(&format!("{pad}\"{name}\": "));
                    value.write(depth + 1, out);
                    out.push_str(if at + 1 < fields.len() { ",\n" } else { "\n" });
                }
                out.push_str(&format!("{end}}}"));
            }
        }
    }
}

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
