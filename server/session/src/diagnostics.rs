//! The diagnostics area: what SHOW WARNINGS and SHOW ERRORS list.

/// How bad a condition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Note.
    Note,
    /// Warning.
    Warning,
    /// Error.
    Error,
}

impl Level {
    /// As SHOW WARNINGS writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Level.
    pub level: Level,
    /// MySQL's number.
    pub code: u16,
    /// Text.
    pub text: String,
    /// SQLSTATE.
    pub state: [u8; 5],
    /// What SIGNAL gave it besides.
    pub signalled: Option<Box<SignalItems>>,
}

/// What a signalled condition carries besides its number and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalItems {
    /// SQLSTATE.
    pub state: [u8; 5],
    /// Other items: upper-case name and value.
    pub items: Vec<(String, String)>,
}

/// SQLSTATEs of conditions that come as warnings and notes.
fn state_of(code: u16) -> &'static [u8; 5] {
    match code {
        1048 | 1062 | 1451 | 1452 => b"23000",
        1264 => b"22003",
        1265 => b"01000",
        1292 => b"22007",
        1365 => b"22012",
        1406 => b"22001",
        1441 => b"22008",
        1050 => b"42S01",
        1051 | 1109 | 1146 => b"42S02",
        1054 => b"42S22",
        1060 => b"42S21",
        1044 | 1049 | 1061 | 1064 | 1068 | 1069 | 1070 | 1071 | 1091 | 1101 | 1286 | 1305 => {
            b"42000"
        }
        1242 => b"21000",
        3020 => b"2201E",
        3156 => b"22018",
        _ => b"HY000",
    }
}

/// Conditions of the last statement that was not itself about diagnostics. What each statement looks at comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Diagnostics {
    warnings: u64,
    /// Counts of the statement before, as long as the one that asks for them has no condition of its own.
    before: Option<(u64, u64)>,
    conditions: Vec<Condition>,
    errors: u64,
    /// Where the error is, if it is kept, that the statement was answered with: one that is told behind it is another.
    answered: Option<usize>,
    /// Most conditions that are kept (`max_error_count`); all are counted.
    conditions_max: usize,
}

impl Diagnostics {
    /// An empty area that keeps up to `conditions_max` conditions.
    pub fn new(conditions_max: usize) -> Self {
        Self { conditions_max, ..Self::default() }
    }

    /// Forgets everything: a new statement begins.
    #[inline]
    pub fn clear(&mut self) {
        self.before = None;
        if self.warnings != 0 {
            self.conditions.clear();
            self.answered = None;
            self.warnings = 0;
            self.errors = 0;
        }
    }

    /// Forgets the conditions for a statement that asks how many there were.
    pub fn clear_keeping_counts(&mut self) {
        let counts = self.counts();
        self.clear();
        self.before = Some(counts);
    }

    /// Conditions and errors: `warning_count` and `error_count`.
    pub fn counts(&self) -> (u64, u64) {
        self.before.filter(|_| self.warnings == 0).unwrap_or((self.warnings, self.errors))
    }

    /// Forgets the conditions after the first so many; there is no error among them.
    pub fn forget_after(&mut self, first: u64) {
        self.warnings = self.warnings.min(first);
        self.conditions.truncate(self.warnings as usize);
    }

    /// Sets how many conditions are kept.
    pub fn set_conditions_max(&mut self, n: usize) {
        self.conditions_max = n;
    }

    /// How many conditions are kept.
    pub fn conditions_max(&self) -> usize {
        self.conditions_max
    }

    /// Adds a condition.
    pub fn add(&mut self, level: Level, code: u16, text: String) {
        self.warnings += 1;
        self.errors += u64::from(level == Level::Error);
        self.push(level, code, text, (*state_of(code), None));
    }

    /// Adds the error that the statement is answered with, with its SQLSTATE, and with what SIGNAL gave it.
    pub fn add_error(
        &mut self,
        code: u16,
        text: String,
        (state, signalled): ([u8; 5], Option<Box<SignalItems>>),
    ) {
        self.warnings += 1;
        self.errors += 1;
        self.answered = Some(self.conditions.len());
        self.push(Level::Error, code, text, (state, signalled));
    }

    /// Adds a signalled condition that is no error.
    pub fn add_signalled(
        &mut self,
        level: Level,
        code: u16,
        text: String,
        signalled: Box<SignalItems>,
    ) {
        self.warnings += 1;
        self.push(level, code, text, (signalled.state, Some(signalled)));
    }

    fn push(
        &mut self,
        level: Level,
        code: u16,
        text: String,
        (state, signalled): ([u8; 5], Option<Box<SignalItems>>),
    ) {
        instrument::raise(code, host::clock::unix_micros());
        if self.conditions.len() < self.conditions_max {
            self.conditions.push(Condition { level, code, text, state, signalled });
        }
    }

    /// The first condition that ends a change of rows in strict mode: number, SQLSTATE, text.
    pub fn first_strict(&self) -> Option<(u16, &'static str, String)> {
        self.conditions.iter().filter(|c| c.level == Level::Warning).find_map(|c| {
            let state = match c.code {
                1292 => "22007",
                1365 => "22012",
                1264 => "22003",
                3156 => "22018",
                1260 | 1301 | 1411 => "HY000",
                1441 => "22008",
                3020 => "2201E",
                _ => return None,
            };
            Some((c.code, state, c.text.clone()))
        })
    }

    /// Conditions that were kept.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The error that the statement was answered with: number, SQLSTATE, text.
    pub fn answered(&self) -> Option<(u16, [u8; 5], &str)> {
        let error = self.conditions.get(self.answered?)?;
        Some((error.code, error.state, &error.text))
    }

    /// Conditions of every level.
    pub fn warning_count(&self) -> u64 {
        self.warnings
    }

    /// Errors.
    pub fn error_count(&self) -> u64 {
        self.errors
    }

    /// How many conditions there are, those included for which there is no room.
    #[inline]
    pub fn total(&self) -> u64 {
        self.warnings
    }

    /// The count of an OK packet.
    #[inline]
    pub fn wire_count(&self) -> u16 {
        self.warnings.min(u64::from(u16::MAX)) as u16
    }
}
