//! What a session tells others of its variables: `variables_by_thread`, `user_variables_by_thread`.
//!
//! 1. The session writes here what it changes, under a mutex that nobody else takes but who reads those tables: reading a variable
//!    of one's own takes nothing. 2. What changes with every statement (LAST_INSERT_ID(), the diagnostics area) is not told.

use super::{Effect, Scope, Values, VarId, sorted};
use expr::UserVariable;
use std::collections::HashMap;
use sync::Mutex;
use value::ColumnType;

instrument::classes! {
    static TOLD: MutexClass = "wait/synch/mutex/sql/THD::LOCK_thd_sysvar";
}

/// The variables of a session, to the others.
#[derive(Debug)]
pub struct Told(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// `None`: the session has not begun.
    system: Option<Values>,
    /// `SET timestamp`.
    timestamp_us: Option<i64>,
    /// By lower-case name: the name as it was written first, and the value.
    user: HashMap<String, (Box<str>, UserVariable)>,
}

/// A user variable's name and what it comes to as text; `None` is NULL.
pub type UserText = (Box<str>, Option<Vec<u8>>);

impl Default for Told {
    fn default() -> Self {
        Told(Mutex::new(&TOLD, Inner::default()))
    }
}

impl Told {
    /// The session's variables are those of the server.
    pub(super) fn begin(&self, values: Values) {
        self.0.lock().system = Some(values);
    }

    /// One has another value.
    pub(super) fn set(&self, id: VarId, value: super::Value) {
        if let Some(values) = self.0.lock().system.as_mut() {
            values.set(id, value);
        }
    }

    /// NOW() stands still, or goes on.
    pub fn set_timestamp(&self, us: Option<i64>) {
        self.0.lock().timestamp_us = us;
    }

    /// A user variable, by its lower-case name and as it was written, has this value now.
    pub fn set_user(&self, lower: &str, written: &str, value: &UserVariable) {
        let mut inner = self.0.lock();
        match inner.user.get_mut(lower) {
            Some((_, known)) => known.clone_from(value),
            None => {
                inner.user.insert(lower.to_string(), (written.into(), value.clone()));
            }
        }
    }

    /// There are no user variables any more.
    pub fn clear_user(&self) {
        self.0.lock().user.clear();
    }

    /// The user variables, ordered by name.
    pub fn user(&self) -> Vec<UserText> {
        let mut list: Vec<(Box<str>, UserVariable)> =
            self.0.lock().user.values().cloned().collect();
        list.sort_by(|a, b| a.0.cmp(&b.0));
        let text = |value: UserVariable| match value.read(&ColumnType::varbinary(u32::MAX)) {
            executor::OwnedDatum::Bytes(text) => Some(text),
            _ => None,
        };
        list.into_iter().map(|(name, value)| (name, text(value))).collect()
    }

    /// The variables that sessions have, ordered by name; `None` is the value of those that are not told. `id` is the
    /// session's connection.
    pub fn list(&self, id: u64) -> Vec<(&'static str, Option<String>)> {
        let (values, timestamp_us) = {
            let inner = self.0.lock();
            let Some(values) = &inner.system else { return Vec::new() };
            (values.clone(), inner.timestamp_us)
        };
        let now_us = host::clock::now_us;
        let one = |var: VarId| {
            let v = var.get();
            let value = match v.effect {
                Effect::ConnectionId => super::Value::UInt(id),
                Effect::Timestamp => {
                    super::Value::Double(timestamp_us.unwrap_or_else(now_us) as f64 / 1e6)
                }
                Effect::WarningCount | Effect::ErrorCount => return (v.name, None),
                Effect::LastInsertId | Effect::InsertId => return (v.name, None),
                _ => values.value(var).clone(),
            };
            (v.name, Some(v.kind.show(&value)))
        };
        sorted().filter(|var| var.get().scope != Scope::Global).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Globals, SessionVars, Value, id};
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    #[test]
    fn others_see_what_a_session_took_over_and_what_it_changed() {
        let globals = Globals::new(&[], BTreeMap::new(), None);
        let told = Arc::new(Told::default());
        assert_eq!(told.list(7), []);
        let mut vars = SessionVars::new(&globals, &told);
        globals.set(id("lock_wait_timeout"), Value::UInt(5));
        vars.set(id("wait_timeout"), Value::UInt(9));
        let shown = |name: &str| {
            let list = told.list(7);
            assert!(list.is_sorted());
            list.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
        };
        let is = |text: &str| Some(Some(text.to_string()));
        assert_eq!(shown("wait_timeout"), is("9"));
        assert_eq!(shown("lock_wait_timeout"), is("31536000"), "as it was");
        assert_eq!(shown("pseudo_thread_id"), is("7"));
        assert_eq!(shown("warning_count"), Some(None));
        assert_eq!(shown("max_connections"), None, "no session has one");
        told.set_timestamp(Some(1_500_000));
        assert!(shown("timestamp").flatten().is_some_and(|t| t.starts_with("1.5")));
    }

    #[test]
    fn user_variables_are_called_as_they_were_first() {
        let told = Told::default();
        let number = |n| {
            UserVariable::of(
                executor::OwnedDatum::Int(n),
                &ColumnType::int(value::Kind::BigInt, false),
            )
        };
        told.set_user("abc", "aBc", &number(1));
        told.set_user("abc", "ABC", &number(2));
        told.set_user(
            "a",
            "a",
            &UserVariable::of(
                executor::OwnedDatum::Null,
                &ColumnType::int(value::Kind::BigInt, false),
            ),
        );
        let expected: [UserText; 2] = [("a".into(), None), ("aBc".into(), Some(b"2".to_vec()))];
        assert_eq!(told.user(), expected);
        told.clear_user();
        assert_eq!(told.user(), []);
    }
}
