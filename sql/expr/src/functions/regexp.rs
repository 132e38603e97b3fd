//! Regular expressions, by fancy-regex.
//!
//! 1. A pattern is compiled once and kept with its flags, for every session. 2. Text that is not
//! UTF-8 is read with replacement characters. 3. Who looks for many matches looks whether the statement was
//! killed. Guard: `tests/killed.rs` of the server.

use super::call::{Answer, Call, NULL, check_killed};
use super::{Function, function};
use crate::SqlError;
use crate::build::Derive;
use crate::eval::Value;
use crate::refused::Refused;
use crate::tree::Typed;
use fancy_regex::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use value::{Charset, ColumnType, Datum, Kind};

/// So many matches are looked for before it is asked whether the statement was killed.
const MATCHES_UNASKED: i128 = 256;

pub static FUNCTIONS: &[Function] = &[
    function("regexp_like", (2, 3), like_type, like, "whether the pattern matches somewhere"),
    function(
        "regexp_instr",
        (2, 6),
        position_type,
        instr,
        "where the pattern matches; 0 if nowhere",
    ),
    function(
        "regexp_substr",
        (2, 5),
        substr_type,
        substr,
        "what the pattern matches; NULL if nothing",
    ),
    function("regexp_replace", (3, 6), replace_type, replace, "the text with matches replaced"),
];

type Derived = Result<ColumnType, SqlError>;

/// Text and pattern in one character set. VARBINARY beside text is refused, as MySQL does; other bytes are not.
fn texts(d: &mut Derive<'_>, count: usize) -> Result<(), SqlError> {
    let given = d.args[..count].iter().filter(|a| !a.is_null());
    let is_bytes = |a: &&Typed| a.ty.kind == Kind::VarBinary;
    let bytes = given.clone().position(|a| is_bytes(&a));
    let text = given.clone().position(|a| a.ty.is_text());
    if let (Some(bytes), Some(text)) = (bytes, text) {
        let name = given.clone().nth(text).map_or("", |a| a.ty.collation.name());
        let (first, second) = if bytes < text { ("binary", name) } else { (name, "binary") };
        return Err(Refused::MixedPattern(first, second, d.name).into());
    }
    d.compared(0..count)?;
    Ok(())
}

fn like_type(d: &mut Derive<'_>) -> Derived {
    texts(d, 2)?;
    claims_as_its_texts(d, 2);
    Ok(d.int(1))
}

fn position_type(d: &mut Derive<'_>) -> Derived {
    texts(d, 2)?;
    claims_as_its_texts(d, 2);
    Ok(d.int(11))
}

/// What is made or found has the strongest claim of the texts that it is made of or found in, numbers too.
fn claims_as_its_texts(d: &mut Derive<'_>, count: usize) {
    d.coercibility = d.args.iter().take(count).map(|text| text.coercibility).min();
}

fn substr_type(d: &mut Derive<'_>) -> Derived {
    texts(d, 2)?;
    claims_as_its_texts(d, 2);
    Ok(d.string(d.chars(0)))
}

fn replace_type(d: &mut Derive<'_>) -> Derived {
    texts(d, 3)?;
    claims_as_its_texts(d, 3);
    Ok(d.string(16_777_216))
}

/// MySQL's number and text for a pattern that cannot be compiled.
fn bad_pattern(problem: &fancy_regex::Error, pattern: &str) -> SqlError {
    let shown = problem.to_string();
    let has = |what: &str| shown.contains(what);
    if has("unclosed character class")
        || has("Invalid character class")
        || has("unclosed open bracket")
    {
        return Refused::PatternBracket.into();
    }
    if (has("range") && has("invalid") || has("bounds")) && pattern.contains('[') {
        return Refused::PatternRange.into();
    }
    if has("Unclosed") || has("unclosed group") || has("unopened group") || has("parenthes") {
        return Refused::PatternParenthesis.into();
    }
    if has("backref") || has("back reference") {
        return Refused::PatternReference.into();
    }
    if has("look-behind") || has("ookbehind") {
        return Refused::PatternLookBehind.into();
    }
    if has("escape") {
        return Refused::PatternEscape.into();
    }
    Refused::PatternSyntax.into()
}

/// What ICU refuses and this library takes, or words otherwise: found before the pattern is compiled.
///
/// # Errors
/// 3685, 3689, 3693, 3697, 3887, 4007.
fn check(pattern: &str) -> Result<(), SqlError> {
    let mut rest = pattern;
    // The last character of a bracket expression that may begin a range.
    let (mut inside, mut low) = (false, None);
    let mut groups = 0;
    while let Some(ch) = rest.chars().next() {
        let behind = &rest[ch.len_utf8()..];
        let taken = match ch {
            '\\' => match behind.chars().next() {
                None => {
                    return Err(Refused::PatternEscape.into());
                }
                Some(escaped) => {
                    low = None;
                    1 + escaped.len_utf8() + property(escaped, behind)
                }
            },
            '[' if behind.starts_with(':') && inside => {
                let (name, _) = behind[1..].split_once(":]").unwrap_or((behind, ""));
                if !POSIX.contains(&name.trim_start_matches('^')) {
                    return Err(Refused::PatternArgument.into());
                }
                1 + 1 + name.len() + 2
            }
            '[' if !inside => {
                (inside, low) = (true, None);
                // A bracket that closes may stand first.
                1 + behind.len() - behind.strip_prefix('^').unwrap_or(behind).len()
            }
            ']' => {
                inside = false;
                1
            }
            '-' if inside && low.is_some() => {
                let high = behind.chars().next().filter(|c| !matches!(c, ']' | '[' | '\\'));
                if high.is_some_and(|high| Some(high) < low) {
                    return Err(Refused::PatternRange.into());
                }
                low = None;
                1 + high.map_or(0, char::len_utf8)
            }
            '{' if !inside => {
                interval(behind)?;
                1
            }
            ')' if !inside && groups == 0 => {
                return Err(Refused::PatternParenthesis.into());
            }
            ')' if !inside => {
                groups -= 1;
                1
            }
            '(' if !inside => {
                groups += 1;
                group(behind)?;
                1
            }
            ch => {
                low = inside.then_some(ch);
                ch.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(())
}

/// How long the braces are that belong to an escape: `\p{L}`, `\x{41}`.
fn property(escaped: char, behind: &str) -> usize {
    let braces = behind.get(1..).filter(|b| "pPxN".contains(escaped) && b.starts_with('{'));
    braces.and_then(|b| b.find('}')).map_or(0, |end| end + 1)
}

/// The name of a group behind its parenthesis, if it has one.
fn group(behind: &str) -> Result<(), SqlError> {
    let Some(name) = behind.strip_prefix("?<") else { return Ok(()) };
    let look = name.starts_with(['=', '!']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    if !look && (end == 0 || !name[end..].starts_with('>')) {
        return Err(Refused::PatternGroup.into());
    }
    Ok(())
}

/// Names between `[:` and `:]`.
const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// `{min}`, `{min,}` or `{min,max}` behind its bracket.
fn interval(text: &str) -> Result<(), SqlError> {
    const DIGITS_MAX: usize = 8;
    let incorrect = || SqlError::from(Refused::PatternInterval);
    let (inner, _) = text.split_once('}').ok_or_else(incorrect)?;
    let (min, max) = inner.split_once(',').unwrap_or((inner, ""));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if min.is_empty() || !is_number(min) || !is_number(max) {
        return Err(incorrect());
    }
    if min.len().max(max.len()) > DIGITS_MAX {
        return Err(Refused::PatternNumber.into());
    }
    match (min.parse::<u32>(), max.parse::<u32>()) {
        (Ok(min), Ok(max)) if max < min => Err(Refused::PatternMaximum.into()),
        _ => Ok(()),
    }
}

fn bad_run(problem: &fancy_regex::Error) -> SqlError {
    let _ = problem;
    Refused::PatternTimeout.into()
}

/// Pattern, flags and whether cases differ.
type Key = (Vec<u8>, Vec<u8>, bool);

instrument::classes! {
    static LATCH: MutexClass = "wait/synch/mutex/sql/LOCK_regexp";
}
/// The patterns compiled last; emptied when it is full.
static COMPILED: LazyLock<sync::Mutex<HashMap<Key, Arc<Regex>>>> =
    LazyLock::new(|| sync::Mutex::new(&LATCH, HashMap::new()));
const COMPILED_MAX: usize = 64;

/// The compiled pattern of a call, with its match type.
fn pattern(c: &mut Call<'_, '_>, flags: Option<usize>) -> Result<Arc<Regex>, SqlError> {
    let flags = match flags.filter(|n| *n < c.len()) {
        Some(n) => c.text(n).into_owned(),
        None => Vec::new(),
    };
    let text = decoded(c, 1);
    let sensitive = is_case_sensitive(c.collation());
    let key = (text.clone().into_bytes(), flags, sensitive);
    let found = COMPILED.lock().get(&key).cloned();
    if let Some(found) = found {
        return Ok(found);
    }
    if text.is_empty() {
        return Err(Refused::PatternArgument.into());
    }
    let (mut insensitive, mut lines, mut dot) = (!sensitive, false, false);
    for flag in &key.1 {
        match flag {
            b'c' => insensitive = false,
            b'i' => insensitive = true,
            b'm' => lines = true,
            b'n' => dot = true,
            b'u' => {}
            _ => {
                let name = c.site.function.name;
                return Err(Refused::WrongArguments(name).into());
            }
        }
    }
    check(&text)?;
    let mut flags_text = String::new();
    for (set, flag) in [(insensitive, 'i'), (lines, 'm'), (dot, 's')] {
        if set {
            flags_text.push(flag);
        }
    }
    let whole = if flags_text.is_empty() { text.clone() } else { format!("(?{flags_text}){text}") };
    let regex = RegexBuilder::new(&whole).backtrack_limit(1_000_000).build();
    let regex = Arc::new(regex.map_err(|e| bad_pattern(&e, &text))?);
    let mut compiled = COMPILED.lock();
    if compiled.len() >= COMPILED_MAX {
        compiled.clear();
    }
    compiled.insert(key, regex.clone());
    Ok(regex)
}

/// `_bin` and `_cs` collations tell cases apart.
fn is_case_sensitive(collation: value::Collation) -> bool {
    let name = collation.name();
    name == "binary" || name.ends_with("_bin") || name.ends_with("_cs")
}

/// An argument's text, which is of the call's character set.
fn decoded(c: &mut Call<'_, '_>, n: usize) -> String {
    let charset = c.collation().charset();
    let text = c.text(n);
    let text = match charset {
        Charset::Binary => text,
        from => Cow::Owned(value::charset::converted(&text, from, Charset::Utf8mb4).0.into_owned()),
    };
    String::from_utf8_lossy(&text).into_owned()
}

/// What was made of [`decoded`] text, in the call's character set again.
fn encoded<'v>(c: &Call<'_, 'v>, text: &str) -> Value<'v> {
    match c.collation().charset() {
        Charset::Binary => text.as_bytes().to_vec().into(),
        to => {
            let bytes = value::charset::converted(text.as_bytes(), Charset::Utf8mb4, to);
            bytes.0.into_owned().into()
        }
    }
}

fn like<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let regex = pattern(c, Some(2))?;
    let found = match c.collation().charset() {
        Charset::Utf8mb4 => regex.is_match(String::from_utf8_lossy(&c.text(0)).as_ref()),
        _ => regex.is_match(&decoded(c, 0)),
    };
    Ok(found.map_err(|e| bad_run(&e))?.into())
}

/// Where matching starts: the byte of character `n` (an argument, from 1).
fn start(c: &mut Call<'_, '_>, n: usize, text: &str) -> Result<usize, SqlError> {
    let position = if n < c.len() { c.integer(n) } else { 1 };
    let name = c.site.function.name;
    if position < 1 && name != "regexp_instr" {
        return Err(Refused::WrongParameters(name).into());
    }
    let chars = text.chars().count() as i128;
    let empty_start = position == 1;
    if position < 1 || (position > chars && !empty_start) {
        if position == chars + 1 {
            return Ok(text.len());
        }
        return Err(Refused::PatternBounds.into());
    }
    let at = text.char_indices().nth((position - 1) as usize);
    Ok(at.map_or(text.len(), |(at, _)| at))
}

/// Between two matches: 1317 once the statement was killed.
fn go_on(matches: i128) -> Result<(), SqlError> {
    match matches % MATCHES_UNASKED {
        0 => check_killed(),
        _ => Ok(()),
    }
}

/// The n-th match from a byte on.
fn nth(
    regex: &Regex,
    text: &str,
    start: usize,
    n: i128,
) -> Result<Option<(usize, usize)>, SqlError> {
    let mut at = start;
    for number in 1.. {
        go_on(number)?;
        let Some(found) = regex.find_from_pos(text, at).map_err(|e| bad_run(&e))? else {
            return Ok(None);
        };
        if number >= n {
            return Ok(Some((found.start(), found.end())));
        }
        at = next(text, found.start(), found.end());
        if at > text.len() {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Where the next match may start: behind an empty one, one character further.
fn next(text: &str, start: usize, end: usize) -> usize {
    match end > start {
        true => end,
        false => end + text[end..].chars().next().map_or(1, char::len_utf8),
    }
}

fn instr<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let regex = pattern(c, Some(5))?;
    let text = decoded(c, 0);
    let at = start(c, 2, &text)?;
    let occurrence = if c.len() > 3 { c.integer(3) } else { 1 };
    let behind = if c.len() > 4 { c.integer(4) } else { 0 };
    if !(0..=1).contains(&behind) {
        let what = "regexp_instr: return_option must be 1 or 0.";
        return Err(Refused::WrongArguments(what).into());
    }
    Ok(match nth(&regex, &text, at, occurrence)? {
        Some((start, end)) => {
            let byte = if behind == 1 { end } else { start };
            (text[..byte].chars().count() as i64 + 1).into()
        }
        None => 0i64.into(),
    })
}

fn substr<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let regex = pattern(c, Some(4))?;
    let text = decoded(c, 0);
    let at = start(c, 2, &text)?;
    let occurrence = if c.len() > 3 { c.integer(3) } else { 1 };
    Ok(match nth(&regex, &text, at, occurrence)? {
        Some((start, end)) => encoded(c, &text[start..end]),
        None => NULL,
    })
}

/// Appends a replacement, `$n` being a group and `\` an escape.
fn append(
    found: &fancy_regex::Captures<'_, str>,
    replacement: &str,
    out: &mut String,
) -> Result<(), SqlError> {
    let mut rest = replacement.chars().peekable();
    while let Some(ch) = rest.next() {
        match ch {
            '\\' => out.extend(rest.next()),
            '$' => {
                let mut group: Option<usize> = None;
                while let Some(digit) = rest.peek().and_then(|d| d.to_digit(10)) {
                    let longer = group.unwrap_or(0) * 10 + digit as usize;
                    if group.is_some() && longer >= found.len() {
                        break;
                    }
                    group = Some(longer);
                    rest.next();
                }
                let group = group.ok_or(Refused::PatternGroup)?;
                if group >= found.len() {
                    return Err(Refused::PatternBounds.into());
                }
                out.push_str(found.get(group).map_or("", |m| m.as_str()));
            }
            other => out.push(other),
        }
    }
    Ok(())
}

fn replace<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let regex = pattern(c, Some(5))?;
    let text = decoded(c, 0);
    let replacement = decoded(c, 2);
    let at = start(c, 3, &text)?;
    let occurrence = if c.len() > 4 { c.integer(4) } else { 0 };
    let most = c.bytes_max((text.len() + 1).saturating_mul(replacement.len() + 1));
    let mut out = text[..at].to_string();
    let mut from = at;
    let mut kept = at;
    let mut number = 0;
    while from <= text.len() && out.len() <= most {
        let found = regex.captures_from_pos(text.as_str(), from).map_err(|e| bad_run(&e))?;
        let Some((found, whole)) = found.and_then(|f| f.get(0).map(|w| (f, w))) else { break };
        number += 1;
        go_on(number)?;
        if occurrence <= 0 || number == occurrence {
            out.push_str(&text[kept..whole.start()]);
            append(&found, &replacement, &mut out)?;
            kept = whole.end();
            if number == occurrence {
                break;
            }
        }
        from = next(&text, whole.start(), whole.end());
    }
    out.push_str(&text[kept.min(text.len())..]);
    Ok(if c.fits(out.len()) { encoded(c, &out) } else { Value::Datum(Datum::Null) })
}
