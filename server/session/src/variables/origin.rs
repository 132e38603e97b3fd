//! Where values of variables come from: `variables_info`.
//!
//! 1. The origin is that of the global value: what a session sets for itself is none. 2. Of a variable that nothing is known of,
//! the default is the value.

use super::{Globals, Kind, VarId, Variable, sorted};

/// What gave a variable its value, as MySQL calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// Nothing did: it is the default.
    #[default]
    Compiled,
    /// An option file that every server reads.
    Global,
    /// That of `--defaults-file`.
    Explicit,
    /// That of `--defaults-extra-file`.
    Extra,
    /// That of the user's home.
    User,
    /// An option.
    CommandLine,
    /// SET PERSIST, before this start.
    Persisted,
    /// SET GLOBAL or SET PERSIST, since the start.
    Dynamic,
}

impl Source {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Compiled => "COMPILED",
            Source::Global => "GLOBAL",
            Source::Explicit => "EXPLICIT",
            Source::Extra => "EXTRA",
            Source::User => "USER",
            Source::CommandLine => "COMMAND_LINE",
            Source::Persisted => "PERSISTED",
            Source::Dynamic => "DYNAMIC",
        }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// What gave it.
    pub source: Source,
    /// The file; empty where it was none.
    pub path: String,
    /// When it was set while the server ran, in microseconds since 1970, and by which user on which host.
    pub set: Option<(u64, String, String)>,
}

impl Origin {
    /// A value that a file or an option gave.
    pub fn of(source: Source, path: &str) -> Origin {
        Origin { source, path: path.to_string(), set: None }
    }
}

/// The least and the greatest value, without digits behind the point; 0 of what has none.
pub fn range(v: &Variable) -> (String, String) {
    match v.kind {
        Kind::Int(min, max) | Kind::Steps(min, max, _) => (min.to_string(), max.to_string()),
        Kind::Sized(max, _) => ("-1".into(), max.to_string()),
        Kind::Double(min, max) => ((min as u64).to_string(), (max as u64).to_string()),
        _ => ("0".into(), "0".into()),
    }
}

impl Globals {
    /// Tells where the value of a variable comes from.
    pub fn came_from(&self, id: VarId, origin: Origin) {
        self.inner.lock().origins.insert(id, origin);
    }

    /// A client has set the value of a variable.
    pub fn was_set_by(&self, id: VarId, user: &str, host: &str) {
        let set = (host::clock::unix_micros(), user.to_string(), host.to_string());
        let origin = Origin { source: Source::Dynamic, path: String::new(), set: Some(set) };
        self.came_from(id, origin);
    }

    /// Every variable with where its value comes from, ordered by name.
    pub fn origins(&self) -> Vec<(VarId, Origin)> {
        let known = self.inner.lock().origins.clone();
        sorted()
            .filter(|id| self.has(*id))
            .map(|id| (id, known.get(&id).cloned().unwrap_or_default()))
            .collect()
    }
}
