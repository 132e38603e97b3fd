//! `cargo xtask record`: what a real MySQL answers, written into the tree or compared with what is there.
//!
//! One command for every kind of record; each is an ignored test of the kind's test program, `recorded_from_a_peer`
//! or `checked_against_a_peer`, which finds the server in `LIMPID_PEER`.

use crate::shell;
use crate::test::cargo;

/// A kind of record: its name here, its test program, whether it can also be checked.
const KINDS: [(&str, &str); 5] = [
    ("sql", "golden"),
    ("isolation", "isolation"),
    ("tpch", "tpch"),
    ("grammar", "oracle_grammar"),
    ("differential", "differential"),
];

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    peer: Option<String>,
    is_check: bool,
    kind: Option<String>,
    name: Option<String>,
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Request, String> {
        let mut request = Request::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--peer" => request.peer = Some(rest.next().ok_or("--peer DSN")?.clone()),
                "--check" => request.is_check = true,
                word if word.starts_with('-') => return Err(format!("{word}: not an option")),
                word if request.kind.is_none() && KINDS.iter().any(|(kind, _)| *kind == word) => {
                    request.kind = Some(word.into());
                }
                word if request.name.is_none() => request.name = Some(word.into()),
                word => return Err(format!("{word}: one name at a time")),
            }
        }
        Ok(request)
    }

    fn program(&self) -> &'static str {
        let kind = self.kind.as_deref().unwrap_or("sql");
        KINDS.iter().find(|(name, _)| *name == kind).map_or("golden", |(_, program)| program)
    }
}

/// Records or checks.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let request = Request::parse(arguments)?;
    let program = request.program();
    if request.peer.is_none() && (program != "golden" || request.is_check) {
        return Err("this needs --peer \"socket=... user=... password=...\"".into());
    }
    let test = if request.is_check { "checked_against_a_peer" } else { "recorded_from_a_peer" };
    let mut command = cargo(&["test", "--test", program, "--", "--ignored", "--nocapture", test]);
    command.envs(request.peer.map(|peer| ("LIMPID_PEER", peer)));
    command.envs(request.name.map(|name| ("LIMPID_ONLY", name)));
    match shell::run_counting(&mut command)? {
        (tally, true) if tally.passed == 1 => Ok(()),
        (_, true) => Err(format!("tests/{program}.rs has no test {test}")),
        _ => Err("not recorded as it stands".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Request, String> {
        let words: Vec<String> = words.split(' ').map(str::to_string).collect();
        Request::parse(&words)
    }

    #[test]
    fn a_request_names_a_kind_and_a_script() {
        let all = parse("--peer socket=/s isolation waits --check").unwrap();
        assert_eq!(all.program(), "isolation");
        assert_eq!((all.name.as_deref(), all.is_check), (Some("waits"), true));
        let script = parse("views --peer socket=/s").unwrap();
        assert_eq!((script.program(), script.name.as_deref()), ("golden", Some("views")));
        assert!(parse("a b").is_err() && parse("--bless").is_err() && parse("--peer").is_err());
    }
}
