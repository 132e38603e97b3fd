//! The two file formats: `NAME.conv`, written by hand, and `NAME.result`, recorded.
//!
//! 1. A script's lines: `# comment`; `levels: RU RC RR SER` (each runs the whole script); `alone: REASON` (no other one runs
//!    meanwhile, since it keeps everybody away); `setup: SQL` (before the sessions, must succeed); `NAME: SQL` (a session says something); `await NAME` (until it answers);
//!    `pause MILLISECONDS`. `{NAME}` in SQL is that session's connection id.
//! 2. `part: NAME` begins a conversation of its own; what stands before the first part is said in each.
//! 3. A result: `# where from`, then per part and level `== PART, LEVEL`, each step as a line, and below it,
//!    indented, `NAME = answer` of whoever answers by then, `NAME waits` of a speaker who does not, and
//!    `NAME is not free` where it waits already and is left out.

use std::fmt::Write as _;

/// A transaction isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl Level {
    /// All of them, the weakest first.
    pub const ALL: [Level; 4] =
        [Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

    /// As SET TRANSACTION ISOLATION LEVEL takes it.
    pub fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        }
    }

    /// As scripts and lists of known differences write it.
    pub fn short(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "RU",
            Level::ReadCommitted => "RC",
            Level::RepeatableRead => "RR",
            Level::Serializable => "SER",
        }
    }

    /// The level of a short name.
    pub fn of_short(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|l| l.short() == word)
    }
}

/// One line of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A session sends a statement.
    Say {
        /// The session's name.
        who: String,
        /// The statement.
        sql: String,
    },
    /// Until a waiting session answers.
    Await(String),
    /// Nobody says anything for some milliseconds.
    Pause(u64),
}

impl Step {
    /// The line that shows it in a result.
    pub fn shown(&self) -> String {
        match self {
            Step::Say { who, sql } => format!("{who}: {sql}"),
            Step::Await(who) => format!("await {who}"),
            Step::Pause(milliseconds) => format!("pause {milliseconds}"),
        }
    }
}

/// A conversation as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// File name without its ending.
    pub file: String,
    /// Name of the part; empty in a file without parts.
    pub part: String,
    /// Where it runs.
    pub levels: Vec<Level>,
    /// No other conversation runs meanwhile.
    pub alone: bool,
    /// Statements before the sessions come.
    pub setup: Vec<String>,
    /// The conversation.
    pub steps: Vec<Step>,
}

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    /// The first line that cannot be understood, and conversations without steps.
    pub fn parse(file: &str, text: &str) -> Result<Vec<Script>, String> {
        let common = Script { file: file.into(), ..Script::default() };
        let mut scripts = vec![common];
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(part) = line.strip_prefix("part: ") {
                scripts.push(Script { part: part.into(), ..scripts[0].clone() });
                continue;
            }
            let script = scripts.last_mut().expect("the common part is there");
            script.take(line).ok_or_else(|| format!("{file}.conv:{}: {line}", number + 1))?;
        }
        if scripts.len() > 1 {
            scripts.remove(0);
        }
        for script in &mut scripts {
            if script.levels.is_empty() {
                script.levels = Level::ALL.to_vec();
            }
            if script.steps.is_empty() {
                return Err(format!("{}: no steps", script.label()));
            }
        }
        Ok(scripts)
    }

    /// As the list of known differences names it: `FILE` or `FILE.PART`.
    pub fn label(&self) -> String {
        match self.part.as_str() {
            "" => self.file.clone(),
            part => format!("{}.{part}", self.file),
        }
    }

    fn take(&mut self, line: &str) -> Option<()> {
        if let Some(who) = line.strip_prefix("await ") {
            self.steps.push(Step::Await(who.trim().into()));
            return Some(());
        }
        if let Some(time) = line.strip_prefix("pause ") {
            self.steps.push(Step::Pause(time.trim().parse().ok()?));
            return Some(());
        }
        let (who, rest) = line.split_once(": ")?;
        match who {
            "levels" => {
                self.levels =
                    rest.split_whitespace().map(Level::of_short).collect::<Option<_>>()?;
            }
            "alone" => self.alone = true,
            "setup" => self.setup.push(rest.into()),
            _ if who.chars().all(|c| c.is_ascii_alphanumeric()) => {
                self.steps.push(Step::Say { who: who.into(), sql: rest.into() });
            }
            _ => return None,
        }
        Some(())
    }

    /// Names of the sessions, in the order in which they first speak.
    pub fn sessions(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for step in &self.steps {
            if let Step::Say { who, .. } = step
                && !names.contains(who)
            {
                names.push(who.clone());
            }
        }
        names
    }
}

/// What came of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The step.
    pub head: String,
    /// `NAME = answer` and `NAME waits`.
    pub answers: Vec<String>,
}

impl Block {
    /// Sessions that answered.
    pub fn answering(&self) -> impl Iterator<Item = &str> {
        self.answers.iter().filter_map(|a| a.split_once(" = ").map(|(who, _)| who))
    }
}

/// What was recorded of a file: its head line and what came of each part at each level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The server that said so.
    pub source: String,
    /// Part, level, steps.
    pub parts: Vec<(String, Level, Vec<Block>)>,
}

impl Recorded {
    /// Reads a result file.
    pub fn parse(text: &str) -> Recorded {
        let mut recorded = Recorded::default();
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            if let Some(source) = line.strip_prefix("# ") {
                recorded.source = source.into();
            } else if let Some(head) = line.strip_prefix("== ") {
                let (part, name) = head.split_once(", ").unwrap_or(("", head));
                let level = Level::ALL.into_iter().find(|l| l.name() == name);
                recorded.parts.extend(level.map(|l| (part.to_string(), l, Vec::new())));
            } else if let Some((_, _, blocks)) = recorded.parts.last_mut() {
                match (line.strip_prefix("    "), blocks.last_mut()) {
                    (Some(answer), Some(block)) => block.answers.push(answer.into()),
                    _ => blocks.push(Block { head: line.into(), answers: Vec::new() }),
                }
            }
        }
        recorded
    }

    /// Writes a result file.
    pub fn print(&self) -> String {
        let mut text = format!("# {}\n", self.source);
        for (part, level, blocks) in &self.parts {
            let comma = if part.is_empty() { "" } else { ", " };
            let _ = writeln!(text, "\n== {part}{comma}{}", level.name());
            for block in blocks {
                let _ = writeln!(text, "{}", block.head);
                for answer in &block.answers {
                    let _ = writeln!(text, "    {answer}");
                }
            }
        }
        text
    }

    /// What was recorded of a script at a level; empty when it never was.
    pub fn of(&self, script: &Script, level: Level) -> &[Block] {
        let found = self.parts.iter().find(|(p, l, _)| *p == script.part && *l == level);
        found.map_or(&[], |(_, _, blocks)| blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_and_a_bad_line_is_named() {
        let text = "# why\nlevels: RC RR\nsetup: CREATE TABLE t (a INT)\n\ns1: BEGIN\ns2: SELECT ': '\npause 20\nawait s2\n";
        let script = Script::parse("x", text).unwrap().remove(0);
        assert_eq!(
            (script.label(), script.sessions()),
            ("x".into(), vec!["s1".into(), "s2".into()])
        );
        assert_eq!(script.levels, [Level::ReadCommitted, Level::RepeatableRead]);
        assert_eq!(script.setup, ["CREATE TABLE t (a INT)"]);
        assert_eq!(script.steps[1], Step::Say { who: "s2".into(), sql: "SELECT ': '".into() });
        assert_eq!(script.steps[2..], [Step::Pause(20), Step::Await("s2".into())]);
        assert_eq!(Script::parse("x", "s1: BEGIN\nwhat").unwrap_err(), "x.conv:2: what");
        assert!(Script::parse("x", "levels: RR NO\ns1: BEGIN").is_err());
        assert_eq!(Script::parse("x", "s1: BEGIN\nsetup: SELECT 1").unwrap()[0].setup.len(), 1);
        assert!(Script::parse("x", "part: a\ns1: BEGIN\npart: b").is_err());
    }

    #[test]
    fn parts_share_what_stands_before_them() {
        let text =
            "levels: RR\nsetup: A\ns1: BEGIN\npart: one\ns1: X\npart: two\nsetup: B\ns2: Y\n";
        let scripts = Script::parse("x", text).unwrap();
        let labels: Vec<String> = scripts.iter().map(Script::label).collect();
        assert_eq!(labels, ["x.one", "x.two"]);
        assert_eq!(scripts[0].sessions(), ["s1"]);
        assert_eq!(scripts[1].setup, ["A", "B"]);
        assert_eq!(scripts[1].steps.len(), 2);
    }

    #[test]
    fn a_result_is_read_as_it_was_written() {
        let block = |head: &str, answers: &[&str]| Block {
            head: head.into(),
            answers: answers.iter().map(ToString::to_string).collect(),
        };
        let blocks = vec![
            block("s1: BEGIN", &["s1 = ok"]),
            block("s2: UPDATE t SET a = 1", &["s2 waits"]),
            block("s1: COMMIT", &["s1 = ok", "s2 = ok, 1 affected"]),
        ];
        let recorded = Recorded {
            source: "recorded from MySQL".into(),
            parts: vec![
                (String::new(), Level::ReadCommitted, Vec::new()),
                ("p".into(), Level::Serializable, blocks),
            ],
        };
        assert_eq!(Recorded::parse(&recorded.print()), recorded);
        let script = Script { part: "p".into(), ..Script::default() };
        let part = recorded.of(&script, Level::Serializable);
        assert_eq!(part[2].answering().collect::<Vec<_>>(), ["s1", "s2"]);
        assert_eq!(part[1].answering().count(), 0);
        assert!(recorded.of(&script, Level::ReadCommitted).is_empty());
    }
}
