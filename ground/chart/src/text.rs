//! Any text as a piece of SVG: what XML forbids is replaced, what it reads as markup is escaped, what is long is cut.

/// The text without what XML cannot hold: control characters and noncharacters become U+FFFD, line ends and tabs
/// blanks. Texts of bytes come here through [`String::from_utf8_lossy`].
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' | '\n' | '\r' => ' ',
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
            // Marks that turn the direction of what follows would reorder the words beside the name.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// The text cleaned, and with what XML and HTML read as markup written as entities; fit for an element and for an
/// attribute in either quote.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// At most `chars_max` characters, the last one `…` if more were there.
pub fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_string();
    }
    text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect()
}

/// Pixels that a text of a size takes, about: its font is the browser's.
pub fn width_px(text: &str, font_px: f64) -> f64 {
    text.chars().count() as f64 * font_px * 0.6
}
