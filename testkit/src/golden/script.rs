//! A script of a recorded conversation, and what it says of answers that are Limpid's own.
//!
//! 1. A line `-- limpid: REASON` before a statement: both servers run it, the answer on record is Limpid's.
//!    `-- limpid only: REASON`: no peer runs it. A reason that opens with FAULT names what is wrong here.
//! 2. A first line `-- limpid throughout: REASON`: no peer runs the script. 3. A marked statement ends with the
//!    first line that ends in `;`. 4. The client numbers its errors by lines: no line is added or taken away.

use std::fmt::Write as _;

/// What opens a fault's reason.
pub(super) const FAULT: &str = "FAULT";
const SENT: &str = "-- limpid: ";
const KEPT: &str = "-- limpid only: ";
const THROUGHOUT: &str = "-- limpid throughout: ";
/// What the client prints where a marked statement begins and ends; its number follows.
const BEGIN: &str = "limpid-own-begins-";
const END: &str = "limpid-own-ends";
/// Statements that would end a server that others use, or change it for good, by how they begin.
const HARMFUL: [&str; 6] = [
    "SHUTDOWN",
    "RESTART",
    "SET PERSIST",
    "SET PASSWORD =",
    "SET PASSWORD TO",
    "ALTER USER USER()",
];
/// Statements that would if they name root: accounts that do not exist harm nobody.
const OF_ACCOUNTS: [&str; 6] =
    ["ALTER USER", "DROP USER", "RENAME USER", "GRANT", "REVOKE", "SET DEFAULT ROLE"];
/// Settings that would, wherever they stand.
const LOCKING_OUT: [&str; 2] = ["SUPER_READ_ONLY = ON", "OFFLINE_MODE = ON"];

/// A statement whose answer on record is Limpid's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// The line as it stands in the script.
    pub(super) line: String,
    /// Why the answer is not MySQL's.
    pub(super) reason: String,
    /// A peer runs the statement too.
    is_sent: bool,
    /// The statement's first and last line, from 0.
    lines: (usize, usize),
}

/// A script as it is written.
#[derive(Debug)]
pub(super) struct Script {
    /// Its lines; a string may hold bytes that are no text.
    lines: Vec<Vec<u8>>,
    /// Why no answer is MySQL's, where none is.
    pub(super) throughout: Option<String>,
    /// Statements whose answers are Limpid's own.
    pub(super) marks: Vec<Mark>,
}

/// Who runs a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Limpid,
    Peer,
}

impl Script {
    /// Reads its marks.
    pub(super) fn parse(bytes: &[u8]) -> Result<Script, String> {
        let lines: Vec<Vec<u8>> = bytes.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        let mut script = Script { lines, throughout: None, marks: Vec::new() };
        for number in 0..script.lines.len() {
            let line = String::from_utf8_lossy(&script.lines[number]).into_owned();
            if let (0, Some(reason)) = (number, line.strip_prefix(THROUGHOUT)) {
                script.throughout = Some(reason.into());
            } else if line.starts_with("-- limpid") {
                let mark = script.mark(number, &line)?;
                script.marks.push(mark);
            }
        }
        Ok(script)
    }

    fn mark(&self, number: usize, line: &str) -> Result<Mark, String> {
        let at = number + 1;
        let (is_sent, reason) = match (line.strip_prefix(SENT), line.strip_prefix(KEPT)) {
            (Some(reason), _) => (true, reason),
            (_, Some(reason)) => (false, reason),
            _ => return Err(format!("line {at}: {SENT}REASON or {KEPT}REASON")),
        };
        if reason.trim().is_empty() {
            return Err(format!("line {at}: a mark has a reason"));
        }
        let end = self.lines[at..].iter().position(|l| l.trim_ascii_end().ends_with(b";"));
        let end = end.ok_or_else(|| format!("line {at}: no statement ends behind the mark"))?;
        let (line, reason) = (line.to_string(), reason.to_string());
        Ok(Mark { line, reason, is_sent, lines: (at, at + end) })
    }

    /// What the client reads: marks print a line, and a peer does not see what is not for it.
    pub(super) fn text_for(&self, runner: Runner) -> Vec<u8> {
        let mut lines = self.lines.clone();
        for (number, mark) in self.marks.iter().enumerate() {
            let (first, last) = mark.lines;
            lines[first - 1] = format!("\\! echo {BEGIN}{number}").into_bytes();
            if runner == Runner::Peer && !mark.is_sent {
                lines[first..=last].iter_mut().for_each(Vec::clear);
            }
            lines[last].extend(format!(" \\! echo {END}").bytes());
        }
        lines.join(&b'\n')
    }

    /// The first line that a peer would run and that harms it.
    pub(super) fn harm(&self) -> Option<String> {
        let kept = |n: usize| {
            let of = |m: &Mark| !m.is_sent && (m.lines.0..=m.lines.1).contains(&n);
            self.marks.iter().any(of)
        };
        let harms = |line: &[u8]| {
            let line = String::from_utf8_lossy(line).trim_start().to_ascii_uppercase();
            let opens = |words: &[&str]| words.iter().any(|w| line.starts_with(w));
            opens(&HARMFUL)
                || opens(&OF_ACCOUNTS) && line.contains("ROOT@")
                || LOCKING_OUT.iter().any(|setting| line.contains(setting))
        };
        let found = self.lines.iter().enumerate().find(|(n, line)| harms(line) && !kept(*n));
        found.map(|(n, line)| format!("line {}: {}", n + 1, String::from_utf8_lossy(line)))
    }

    /// Splits what the client printed at the marks.
    ///
    /// # Errors
    /// When not every mark was reached.
    pub(super) fn pieces(&self, printed: &str) -> Result<Vec<Piece>, String> {
        let mut pieces = vec![Piece { mark: None, text: String::new() }];
        let mut seen = 0;
        for line in printed.split_inclusive('\n') {
            let word = line.trim_end();
            if let Some(number) = word.strip_prefix(BEGIN) {
                pieces.push(Piece { mark: number.parse().ok(), text: String::new() });
                seen += 1;
            } else if word == END {
                pieces.push(Piece { mark: None, text: String::new() });
            } else {
                pieces.last_mut().expect("one from the start").text.push_str(line);
            }
        }
        match seen == self.marks.len() {
            true => Ok(pieces),
            false => Err(format!("only {seen} of {} marks were reached", self.marks.len())),
        }
    }

    /// The result as it is kept: each mark stands before its statement's answer.
    pub(super) fn joined(&self, pieces: &[Piece]) -> String {
        let mut text = String::new();
        for piece in pieces {
            if let Some(mark) = piece.mark.and_then(|n| self.marks.get(n)) {
                let _ = writeln!(text, "{}", mark.line);
            }
            text.push_str(&piece.text);
        }
        text
    }
}

/// What was printed between two marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The number of the mark whose statement it answers.
    pub(super) mark: Option<usize>,
    /// Lines.
    pub(super) text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "SELECT 1;\n-- limpid: FAULT wrong\nSELECT\n2;\n-- limpid only: harms\n\
                          SHUTDOWN;\nSELECT 3;\n";

    #[test]
    fn marks_keep_the_lines_where_they_are() {
        let script = Script::parse(SCRIPT.as_bytes()).unwrap();
        let text = |runner| String::from_utf8(script.text_for(runner)).unwrap();
        assert_eq!(
            text(Runner::Limpid),
            "SELECT 1;\n\\! echo limpid-own-begins-0\nSELECT\n2; \\! echo limpid-own-ends\n\
             \\! echo limpid-own-begins-1\nSHUTDOWN; \\! echo limpid-own-ends\nSELECT 3;\n"
        );
        assert!(text(Runner::Peer).contains("begins-1\n \\! echo limpid-own-ends\nSELECT 3"));
        assert_eq!(script.marks[0].reason, "FAULT wrong");
    }

    #[test]
    fn what_harms_a_peer_is_found_unless_it_is_kept_from_it() {
        assert_eq!(Script::parse(SCRIPT.as_bytes()).unwrap().harm(), None);
        for harmful in
            ["shutdown;", "set global super_read_only = ON;", "drop user root@localhost;"]
        {
            assert!(Script::parse(harmful.as_bytes()).unwrap().harm().is_some(), "{harmful}");
        }
        let harmless =
            Script::parse(b"-- root@\nSELECT 'root@localhost';\nDROP USER nope;\n").unwrap();
        assert_eq!(harmless.harm(), None);
    }

    #[test]
    fn what_is_printed_is_split_and_joined_at_the_marks() {
        let script = Script::parse(SCRIPT.as_bytes()).unwrap();
        let printed = "a\nlimpid-own-begins-0\nb\nlimpid-own-ends\nlimpid-own-begins-1\nc\n\
                       limpid-own-ends\nd\n";
        let pieces = script.pieces(printed).unwrap();
        assert_eq!(
            script.joined(&pieces),
            "a\n-- limpid: FAULT wrong\nb\n-- limpid only: harms\nc\nd\n"
        );
        assert!(script.pieces("a\n").is_err());
    }

    #[test]
    fn a_mark_needs_a_reason_and_a_statement() {
        for wrong in ["-- limpid: \nSELECT 1;", "-- limpid SELECT 1;\n", "-- limpid: x\nSELECT"] {
            assert!(Script::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let all = Script::parse(b"-- limpid throughout: ours\nSELECT 1;\n").unwrap();
        assert_eq!(all.throughout.as_deref(), Some("ours"));
    }
}
