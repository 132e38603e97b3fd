//! JSON documents in binary form.

/// Why text is no JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong, in MySQL's words.
    pub what: String,
    /// The byte where it is.
    pub at: usize,
}

/// Appends the text of a document in binary form as MySQL prints it.
pub fn append_text(bytes: &[u8], out: &mut Vec<u8>) {
    let _ = (bytes, out);
}

/// Appends the document `null`.
pub fn append_null(out: &mut Vec<u8>) {
    out.push(0);
}

/// Appends the binary form of a text.
///
/// # Errors
/// It is no JSON text.
pub fn parse(text: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError> {
    let _ = (text, out);
    Err(JsonError { what: "not a JSON text, may need CAST".into(), at: 0 })
}
