//! System variables: one declarative table serves SET, SHOW VARIABLES, `@@x`, the command line, option
//! files and SET PERSIST.
//!
//! 1. Global values are an immutable list that SET GLOBAL replaces; a session takes the list as it is when
//!    it connects and keeps its own changes beside it. Reading never copies the list.
//! 2. A variable without session scope is always read from the present list.
//! 3. What a change does (its [`Effect`]) is done by the session, after the value was checked.

mod chosen;
pub mod kind;
mod origin;
mod table;
mod told;

pub use kind::{Kind, mode_warnings, switches};
pub use origin::{Origin, Source, range};
pub use table::{LOCK_WAIT_TIMEOUT_S, VARIABLES};
pub use told::Told;

mod exceptions;

pub use exceptions::{has_default, is_restricted, is_session_fixed, is_set_by_super, set_warning};

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static GLOBALS: MutexClass = "wait/synch/mutex/sql/LOCK_global_system_variables";
}

/// Where a variable can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The server only.
    Global,
    /// The server, as the default of new sessions, and each session.
    Both,
    /// Sessions only.
    Session,
}

/// What a change of a variable, or reading it, does beyond storing a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Whoever needs the value reads it, by the variable's name.
    Read,
    /// Begins and ends transactions.
    Autocommit,
    /// Changes what the parser accepts.
    SqlMode,
    /// Character set or collation of the connection.
    Names,
    /// Isolation level.
    Isolation,
    /// READ ONLY transactions.
    ReadOnly,
    /// Row lock waits of this session.
    LockWaitTimeout,
    /// Durability of commits; global.
    FlushLogAtTrxCommit,
    /// A setting of the engine or the instruments; given to them at start, too.
    Setting,
    /// Something that the engine does.
    Engine,
    /// Who may connect, and who may write.
    Access,
    /// The general and the slow log.
    Logs,
    /// The rules of the component `validate_password`.
    Passwords,
    /// Nothing, for this reason: it is kept and shown for those who set it.
    Ignored(&'static str),
    /// Only its default is there, for this reason: another value answers 1235, and is refused at start.
    DefaultOnly(&'static str),
    /// The clock of NOW().
    Timestamp,
    /// LAST_INSERT_ID().
    LastInsertId,
    /// The next generated AUTO_INCREMENT value.
    InsertId,
    /// Computed: conditions in the diagnostics area.
    WarningCount,
    /// Computed: errors in the diagnostics area.
    ErrorCount,
    /// Computed: the connection's id.
    ConnectionId,
}

/// One system variable.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// Name, lower case.
    pub name: &'static str,
    /// Where it can be set.
    pub scope: Scope,
    /// Type and range.
    pub kind: Kind,
    /// Default, as the command line would write it.
    pub default: &'static str,
    /// Set at start-up only.
    pub fixed: bool,
    /// What a change does.
    pub effect: Effect,
}

impl Variable {
    /// Whether it comes and goes with a component.
    pub fn is_of_component(&self) -> bool {
        self.effect == Effect::Passwords
    }

    /// Why a value that MySQL takes cannot be had here, if so.
    pub fn lacks(&self, value: &Value) -> Option<&'static str> {
        let Effect::DefaultOnly(reason) = self.effect else { return None };
        let default = self.kind.parse(self.name, self.default).map(|(default, _)| default);
        (default.as_ref() != Ok(value) && self.kind.show(value) != self.default).then_some(reason)
    }
}

/// Position of a variable in [`VARIABLES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(u16);

impl VarId {
    /// The variable.
    #[inline]
    pub fn get(self) -> &'static Variable {
        &VARIABLES[usize::from(self.0)]
    }
}

/// Finds a variable by name: any case, dashes as underscores.
pub fn find(name: &str) -> Option<VarId> {
    static BY_NAME: OnceLock<HashMap<&'static str, VarId>> = OnceLock::new();
    let map = BY_NAME.get_or_init(|| {
        VARIABLES.iter().enumerate().map(|(i, v)| (v.name, VarId(i as u16))).collect()
    });
    let lower = name.to_ascii_lowercase().replace('-', "_");
    map.get(lower.as_str()).copied()
}

/// Finds a variable that acts: all code that reads one does so by this.
///
/// # Panics
/// When the table has no such name, or says that nothing reads it: bugs that the tests of the caller show.
pub fn id(name: &'static str) -> VarId {
    let id = find(name).expect("the name is in the table");
    debug_assert!(!matches!(id.get().effect, Effect::Ignored(_)), "{name} is said to be ignored");
    id
}

/// Every variable, ordered by name.
pub fn sorted() -> impl Iterator<Item = VarId> {
    static ORDER: OnceLock<Vec<VarId>> = OnceLock::new();
    let order = ORDER.get_or_init(|| {
        let mut ids: Vec<VarId> = (0..VARIABLES.len()).map(|i| VarId(i as u16)).collect();
        ids.sort_by_key(|i| i.get().name);
        ids
    });
    order.iter().copied()
}

/// A value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A number; of a boolean 0 or 1; of an enumeration the word's position; of flags a bit mask.
    UInt(u64),
    /// A number with digits after the point.
    Double(f64),
    /// Text.
    Text(Arc<str>),
}

impl Value {
    /// The number; 0 for anything else.
    #[inline]
    pub fn as_u64(&self) -> u64 {
        match self {
            Value::UInt(n) => *n,
            Value::Double(n) => *n as u64,
            _ => 0,
        }
    }
}

/// A value that is to be assigned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Assign<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A number with digits after the point.
    Double(f64),
    /// Text, or a bare word.
    Text(&'a str),
}

impl Assign<'_> {
    /// How messages write it.
    pub fn to_text(&self) -> String {
        match self {
            Assign::Null => "NULL".into(),
            Assign::Int(n) => n.to_string(),
            Assign::UInt(n) => n.to_string(),
            Assign::Double(n) => value::format::to_text(&value::Datum::Double(*n)),
            Assign::Text(t) => (*t).to_string(),
        }
    }
}

/// Why a variable cannot be read or set so; `crate::error` gives each its MySQL number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VarError {
    /// No such variable (1193).
    Unknown(String),
    /// The value is none it can have (1231).
    WrongValue(String, String),
    /// Bits of `sql_mode` that no mode here has (3899).
    ForeignMode(u64),
    /// The value has the wrong type (1232).
    WrongType(String),
    /// Set at start-up only (1238, "read only").
    ReadOnly(String),
    /// Not even SET PERSIST_ONLY sets it (1238, "non persistent read only").
    NotPersistent(String),
    /// Has no global value (1228 to set, 1238 to read).
    SessionOnly(String),
    /// Has no session value (1229 to set, 1238 to read).
    GlobalOnly(String),
    /// RESET PERSIST of what is not persisted (3615).
    NotPersisted(String),
    /// The persisted file cannot be written.
    Io(String),
}

/// Where persisted variables are kept.
pub trait PersistStore: Send + Sync {
    /// Replaces the stored text durably.
    fn save(&self, text: &str) -> std::io::Result<()>;
}

/// The global values.
pub struct Globals {
    inner: Mutex<Inner>,
    /// Whether the component `validate_password` is installed.
    validates_passwords: SharedAtomic<bool, { class::SESSION }>,
    store: Option<Box<dyn PersistStore>>,
}

struct Inner {
    values: Arc<Vec<Value>>,
    /// What an option file or the command line said, else the compiled-in default: SET GLOBAL x = DEFAULT.
    initial: Vec<Value>,
    persisted: BTreeMap<&'static str, String>,
    /// Of variables whose value is none that was compiled in.
    origins: BTreeMap<VarId, Origin>,
}

/// The compiled-in default of a variable.
pub fn compiled_default(id: VarId) -> Value {
    let v = id.get();
    let (value, _) = v.kind.parse(v.name, v.default).expect("the table's defaults are tested");
    value
}

impl Globals {
    /// Defaults, overlaid with what was given at start-up and then what was persisted.
    pub fn new(
        given: &[(VarId, Value)],
        persisted: BTreeMap<&'static str, String>,
        store: Option<Box<dyn PersistStore>>,
    ) -> Self {
        let mut values: Vec<Value> =
            (0..VARIABLES.len()).map(|i| compiled_default(VarId(i as u16))).collect();
        for (id, value) in given {
            values[usize::from(id.0)] = value.clone();
        }
        let initial = values.clone();
        for (name, text) in &persisted {
            if let Some(id) = find(name)
                && let Ok((value, _)) = id.get().kind.parse(name, text)
            {
                values[usize::from(id.0)] = value;
            }
        }
        let origins = BTreeMap::new();
        let inner = Inner { values: Arc::new(values), initial, persisted, origins };
        let validates_passwords = SharedAtomic::new(false);
        Self { inner: Mutex::new(&GLOBALS, inner), validates_passwords, store }
    }

    /// Whether a component checks passwords.
    pub fn validates_passwords(&self) -> bool {
        self.validates_passwords.load(Ordering::Acquire)
    }

    /// It is installed, or not any more.
    pub fn set_validates_passwords(&self, on: bool) {
        self.validates_passwords.store(on, Ordering::Release);
    }

    /// Whether a variable is there: those of a component come and go with it.
    pub fn has(&self, id: VarId) -> bool {
        !id.get().is_of_component() || self.validates_passwords()
    }

    /// The variables of a component are as they are persisted, or as an option said.
    pub fn begin_component(&self) {
        let mut inner = self.inner.lock();
        for id in sorted().filter(|id| id.get().is_of_component()) {
            let v = id.get();
            let persisted = inner.persisted.get(v.name);
            let persisted = persisted.and_then(|text| v.kind.parse(v.name, text).ok());
            let value = persisted
                .map_or_else(|| inner.initial[usize::from(id.0)].clone(), |(value, _)| value);
            Arc::make_mut(&mut inner.values)[usize::from(id.0)] = value;
        }
    }

    /// The present list.
    pub fn snapshot(&self) -> Arc<Vec<Value>> {
        Arc::clone(&self.inner.lock().values)
    }

    /// The present value of one variable.
    pub fn value(&self, id: VarId) -> Value {
        self.inner.lock().values[usize::from(id.0)].clone()
    }

    /// The present number of one variable.
    pub fn number(&self, name: &'static str) -> u64 {
        self.value(id(name)).as_u64()
    }

    /// The present text of one variable.
    pub fn word(&self, name: &'static str) -> String {
        let id = id(name);
        id.get().kind.show(&self.value(id))
    }

    /// Stores a checked value.
    pub fn set(&self, id: VarId, value: Value) {
        let mut inner = self.inner.lock();
        Arc::make_mut(&mut inner.values)[usize::from(id.0)] = value;
    }

    /// The value of SET GLOBAL x = DEFAULT.
    pub fn initial(&self, id: VarId) -> Value {
        self.inner.lock().initial[usize::from(id.0)].clone()
    }

    /// Keeps a value for the next start (SET PERSIST, SET PERSIST_ONLY).
    pub fn persist(&self, id: VarId, value: &Value) -> Result<(), VarError> {
        let mut inner = self.inner.lock();
        let mut next = inner.persisted.clone();
        next.insert(id.get().name, id.get().kind.show(value));
        self.save(&next)?;
        inner.persisted = next;
        Ok(())
    }

    /// RESET PERSIST of one variable or of all.
    pub fn reset_persist(&self, name: Option<&str>) -> Result<(), VarError> {
        let mut inner = self.inner.lock();
        let mut next = inner.persisted.clone();
        match name {
            None => next.clear(),
            Some(name) => {
                let known = find(name).and_then(|id| next.remove(id.get().name));
                known.ok_or_else(|| VarError::NotPersisted(name.to_string()))?;
            }
        }
        self.save(&next)?;
        inner.persisted = next;
        Ok(())
    }

    /// Names and texts of what is persisted, ordered by name.
    pub fn persisted(&self) -> Vec<(String, String)> {
        let inner = self.inner.lock();
        inner.persisted.iter().map(|(name, text)| (name.to_string(), text.clone())).collect()
    }

    fn save(&self, persisted: &BTreeMap<&'static str, String>) -> Result<(), VarError> {
        let Some(store) = &self.store else { return Ok(()) };
        store.save(&persisted_text(persisted)).map_err(|e| VarError::Io(e.to_string()))
    }
}

/// The persisted file: an option file that the option reader reads back.
fn persisted_text(persisted: &BTreeMap<&'static str, String>) -> String {
    let mut text =
        String::from("# Written by SET PERSIST; do not edit while the server runs.\n[mysqld]\n");
    for (name, value) in persisted {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        text += &format!("{name} = \"{escaped}\"\n");
    }
    text
}

/// The global list as a session connected, and the session's changes.
#[derive(Debug, Clone)]
struct Values {
    base: Arc<Vec<Value>>,
    changes: Vec<(VarId, Value)>,
}

impl Values {
    fn value(&self, id: VarId) -> &Value {
        let changed = self.changes.iter().find(|(i, _)| *i == id).map(|(_, v)| v);
        changed.unwrap_or(&self.base[usize::from(id.0)])
    }

    fn set(&mut self, id: VarId, value: Value) {
        match self.changes.iter_mut().find(|(i, _)| *i == id) {
            Some((_, v)) => *v = value,
            None => self.changes.push((id, value)),
        }
    }
}

/// A session's values, of which it tells the others.
#[derive(Debug)]
pub struct SessionVars {
    values: Values,
    told: Arc<Told>,
}

impl SessionVars {
    /// Values of a new session.
    pub fn new(globals: &Globals, told: &Arc<Told>) -> Self {
        let values = Values { base: globals.snapshot(), changes: Vec::new() };
        told.begin(values.clone());
        Self { values, told: Arc::clone(told) }
    }

    /// The session's value.
    pub fn value(&self, id: VarId) -> &Value {
        self.values.value(id)
    }

    /// The session's number.
    pub fn number(&self, name: &'static str) -> u64 {
        self.value(id(name)).as_u64()
    }

    /// The session's number, with digits after the point.
    pub fn double(&self, name: &'static str) -> f64 {
        match self.value(id(name)) {
            Value::Double(n) => *n,
            other => other.as_u64() as f64,
        }
    }

    /// Stores a checked value.
    pub fn set(&mut self, id: VarId, value: Value) {
        self.told.set(id, value.clone());
        self.values.set(id, value);
    }
}

/// Finds a variable for reading `@@[scope.]name`; `global` and `session` say what was written.
pub fn readable(name: &str, global: bool, session: bool) -> Result<VarId, VarError> {
    let id = find(name).ok_or_else(|| VarError::Unknown(name.to_string()))?;
    match id.get().scope {
        Scope::Session if global => Err(VarError::SessionOnly(id.get().name.into())),
        Scope::Global if session => Err(VarError::GlobalOnly(id.get().name.into())),
        _ => Ok(id),
    }
}

/// Finds a variable for SET; `persist_only` may set what is fixed while the server runs.
pub fn settable(name: &str, global: bool, persist_only: bool) -> Result<VarId, VarError> {
    let id = find(name).ok_or_else(|| VarError::Unknown(name.to_string()))?;
    let v = id.get();
    if persist_only && v.fixed && v.scope == Scope::Global && exceptions::is_not_persistent(v.name)
    {
        return Err(VarError::NotPersistent(v.name.into()));
    }
    if v.fixed && !persist_only {
        return Err(VarError::ReadOnly(v.name.into()));
    }
    match v.scope {
        Scope::Session if global => Err(VarError::SessionOnly(v.name.into())),
        Scope::Global if !global => Err(VarError::GlobalOnly(v.name.into())),
        _ => Ok(id),
    }
}

#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod tests;
