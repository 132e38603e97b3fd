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
}

/// Conditions of the last statement that was not itself about diagnostics.
#[derive(Debug, Default)]
pub struct Diagnostics {
    kept: Vec<Condition>,
    warnings: u64,
    errors: u64,
    /// Most conditions that are kept (`max_error_count`); all are counted.
    kept_max: usize,
}

impl Diagnostics {
    /// An empty area that keeps up to `kept_max` conditions.
    pub fn new(kept_max: usize) -> Self {
        Self { kept_max, ..Self::default() }
    }

    /// Forgets everything: a new statement begins.
    #[inline]
    pub fn clear(&mut self) {
        if self.warnings != 0 {
            self.kept.clear();
            self.warnings = 0;
            self.errors = 0;
        }
    }

    /// Sets how many conditions are kept.
    pub fn set_kept_max(&mut self, n: usize) {
        self.kept_max = n;
    }

    /// How many conditions are kept.
    pub fn kept_max(&self) -> usize {
        self.kept_max
    }

    /// Adds a condition.
    pub fn add(&mut self, level: Level, code: u16, text: String) {
        self.warnings += 1;
        self.errors += u64::from(level == Level::Error);
        if self.kept.len() < self.kept_max {
            self.kept.push(Condition { level, code, text });
        }
    }

    /// The first condition that ends a change of rows in strict mode: number, SQLSTATE, text.
    pub fn first_strict(&self) -> Option<(u16, &'static str, String)> {
        self.kept.iter().filter(|c| c.level == Level::Warning).find_map(|c| {
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
        &self.kept
    }

    /// Conditions of every level: `warning_count`.
    pub fn warning_count(&self) -> u64 {
        self.warnings
    }

    /// Errors: `error_count`.
    pub fn error_count(&self) -> u64 {
        self.errors
    }

    /// The count of an OK packet.
    #[inline]
    pub fn wire_count(&self) -> u16 {
        self.warnings.min(u64::from(u16::MAX)) as u16
    }
}
