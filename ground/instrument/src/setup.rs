//! `setup_actors` and `setup_objects`: of whom and of which objects events are collected.
//!
//! 1. Both lists are short, read when a session begins or an object is opened, and changed by hand. 2. The row that says
//! most decides: a name before `%`, and of two the one whose first name is given. 3. Where there is no room for the rows that are
//! there at the start, they are not there: nothing is collected of whom no row is about.

use crate::note_switch;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use stdx::lock;

/// Any name.
pub const ANY: &str = "%";

/// Rows of either list for which there is room where nobody says it.
const ROWS_MAX: usize = 10_000;
/// `performance_schema_setup_actors_size`.
static ACTORS_MAX: AtomicUsize = AtomicUsize::new(ROWS_MAX);
/// `performance_schema_setup_objects_size`.
static OBJECTS_MAX: AtomicUsize = AtomicUsize::new(ROWS_MAX);

/// A row of `setup_actors`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Host, or [`ANY`].
    pub host: String,
    /// User, or [`ANY`].
    pub user: String,
    /// Role; it is not looked at.
    pub role: String,
    /// Whether its sessions are instrumented.
    pub enabled: bool,
    /// Whether their histories are kept.
    pub history: bool,
}

impl Actor {
    fn key(&self) -> (&str, &str, &str) {
        (&self.host, &self.user, &self.role)
    }
}

/// What kind of object a row of `setup_objects` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum ObjectType {
    Event,
    Function,
    Procedure,
    Table,
    Trigger,
}

impl ObjectType {
    /// All, by name.
    pub const ALL: [ObjectType; 5] =
        [Self::Event, Self::Function, Self::Procedure, Self::Table, Self::Trigger];

    /// As it is shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Event => "EVENT",
            Self::Function => "FUNCTION",
            Self::Procedure => "PROCEDURE",
            Self::Table => "TABLE",
            Self::Trigger => "TRIGGER",
        }
    }
}

/// A row of `setup_objects`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Type.
    pub object_type: ObjectType,
    /// Schema, or [`ANY`]; NULL is nothing's.
    pub schema: Option<String>,
    /// Name, or [`ANY`].
    pub name: String,
    /// Whether events of it are collected.
    pub enabled: bool,
    /// Whether they are timed.
    pub timed: bool,
}

impl Object {
    fn key(&self) -> (ObjectType, Option<&str>, &str) {
        (self.object_type, self.schema.as_deref(), &self.name)
    }
}

/// There is a row of this key already, or no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdded {
    /// There is one.
    Duplicate,
    /// There is no room.
    Full,
}

static ACTORS: Mutex<Option<Vec<Actor>>> = Mutex::new(None);
static OBJECTS: Mutex<Option<Vec<Object>>> = Mutex::new(None);

fn locked<T>(list: &'static Mutex<Option<Vec<T>>>) -> MutexGuard<'static, Option<Vec<T>>> {
    lock(list)
}

fn with_actors<R>(f: impl FnOnce(&mut Vec<Actor>) -> R) -> R {
    f(locked(&ACTORS).get_or_insert_with(|| {
        let any = || ANY.to_string();
        vec![Actor { host: any(), user: any(), role: any(), enabled: true, history: true }]
    }))
}

fn with_objects<R>(f: impl FnOnce(&mut Vec<Object>) -> R) -> R {
    f(locked(&OBJECTS).get_or_insert_with(|| {
        let of = |object_type| {
            let schemas =
                [("mysql", false), ("performance_schema", false), ("information_schema", false)];
            schemas.into_iter().chain([(ANY, true)]).map(move |(schema, on)| Object {
                object_type,
                schema: Some(schema.to_string()),
                name: ANY.to_string(),
                enabled: on,
                timed: on,
            })
        };
        ObjectType::ALL.into_iter().flat_map(of).collect()
    }))
}

fn change_objects<R>(f: impl FnOnce(&mut Vec<Object>) -> R) -> R {
    with_objects(|objects| {
        let done = f(objects);
        // Whoever knows which tables are watched is to ask again.
        note_switch();
        done
    })
}

/// For how many rows of `setup_actors` and of `setup_objects` there is room; those behind them go.
pub fn set_setup_limits(actors: u64, objects: u64) {
    let rows = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX).min(ROWS_MAX);
    ACTORS_MAX.store(rows(actors), Relaxed);
    OBJECTS_MAX.store(rows(objects), Relaxed);
    with_actors(|list| list.truncate(rows(actors)));
    change_objects(|list| list.truncate(rows(objects)));
}

/// The rows of `setup_actors`.
pub fn actors() -> Vec<Actor> {
    with_actors(|actors| actors.clone())
}

/// Whether sessions of this account that begin now are instrumented, and whether they keep histories.
pub fn actor_switches(user: &str, host: &str) -> (bool, bool) {
    with_actors(|actors| {
        let find =
            |user: &str, host: &str| actors.iter().find(|a| a.user == user && a.host == host);
        let found = find(user, host)
            .or_else(|| find(user, ANY))
            .or_else(|| find(ANY, host))
            .or_else(|| find(ANY, ANY));
        found.map_or((false, false), |a| (a.enabled, a.history))
    })
}

/// Adds a row to `setup_actors`.
///
/// # Errors
/// There is one of its key, or no room.
pub fn add_actor(actor: Actor) -> Result<(), NotAdded> {
    with_actors(|actors| {
        if actors.iter().any(|a| a.key() == actor.key()) {
            return Err(NotAdded::Duplicate);
        }
        if actors.len() >= ACTORS_MAX.load(Relaxed) {
            return Err(NotAdded::Full);
        }
        actors.push(actor);
        Ok(())
    })
}

/// Changes the row of this key, if it is there.
pub fn set_actor(actor: &Actor) {
    with_actors(|actors| {
        if let Some(found) = actors.iter_mut().find(|a| a.key() == actor.key()) {
            found.clone_from(actor);
        }
    });
}

/// Removes the row of this key.
pub fn remove_actor(actor: &Actor) {
    with_actors(|actors| actors.retain(|a| a.key() != actor.key()));
}

/// Removes all rows of `setup_actors`.
pub fn clear_actors() {
    with_actors(Vec::clear);
}

/// The rows of `setup_objects`.
pub fn objects() -> Vec<Object> {
    with_objects(|objects| objects.clone())
}

/// Whether events of this object are collected, and whether they are timed.
pub fn object_switches(object_type: ObjectType, schema: &str, name: &str) -> (bool, bool) {
    with_objects(|objects| {
        let find = |schema: &str, name: &str| {
            objects.iter().find(|o| {
                (o.object_type, o.schema.as_deref(), &*o.name) == (object_type, Some(schema), name)
            })
        };
        let found = find(schema, name).or_else(|| find(schema, ANY)).or_else(|| find(ANY, ANY));
        found.map_or((false, false), |o| (o.enabled, o.timed))
    })
}

/// Adds a row to `setup_objects`.
///
/// # Errors
/// There is one of its key, or no room.
pub fn add_object(object: Object) -> Result<(), NotAdded> {
    change_objects(|objects| {
        if objects.iter().any(|o| o.key() == object.key()) {
            return Err(NotAdded::Duplicate);
        }
        if objects.len() >= OBJECTS_MAX.load(Relaxed) {
            return Err(NotAdded::Full);
        }
        objects.push(object);
        Ok(())
    })
}

/// Changes the row of this key, if it is there.
pub fn set_object(object: &Object) {
    change_objects(|objects| {
        if let Some(found) = objects.iter_mut().find(|o| o.key() == object.key()) {
            found.clone_from(object);
        }
    });
}

/// Removes the row of this key.
pub fn remove_object(object: &Object) {
    change_objects(|objects| objects.retain(|o| o.key() != object.key()));
}

/// Removes all rows of `setup_objects`.
pub fn clear_objects() {
    change_objects(Vec::clear);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_that_says_most_decides() {
        let row = |host: &str, user: &str, enabled, history| Actor {
            host: host.into(),
            user: user.into(),
            role: ANY.into(),
            enabled,
            history,
        };
        assert_eq!(actor_switches("joe", "h"), (true, true));
        add_actor(row("h", ANY, false, true)).unwrap();
        assert_eq!(actor_switches("joe", "h"), (false, true));
        add_actor(row(ANY, "joe", true, false)).unwrap();
        assert_eq!(actor_switches("joe", "h"), (true, false));
        add_actor(row("h", "joe", false, false)).unwrap();
        assert_eq!(add_actor(row("h", "joe", true, true)), Err(NotAdded::Duplicate));
        assert_eq!(actor_switches("joe", "h"), (false, false));
        set_actor(&row("h", "joe", true, true));
        assert_eq!(actor_switches("joe", "h"), (true, true));
        clear_actors();
        assert_eq!(actor_switches("joe", "h"), (false, false));

        let before = crate::switched();
        let table = |schema, name| object_switches(ObjectType::Table, schema, name);
        assert_eq!((table("d", "t"), table("mysql", "user")), ((true, true), (false, false)));
        let object = |schema: &str, name: &str| Object {
            object_type: ObjectType::Table,
            schema: Some(schema.into()),
            name: name.into(),
            enabled: true,
            timed: false,
        };
        add_object(object("d", ANY)).unwrap();
        assert_eq!((table("d", "t"), table("e", "t")), ((true, false), (true, true)));
        remove_object(&object(ANY, ANY));
        assert_eq!((table("d", "t"), table("e", "t")), ((true, false), (false, false)));
        assert!(crate::switched() > before);

        add_actor(row("h", ANY, true, true)).unwrap();
        set_setup_limits(2, 0);
        add_actor(row(ANY, ANY, true, true)).unwrap();
        assert_eq!(add_actor(row("i", ANY, true, true)), Err(NotAdded::Full));
        assert_eq!((objects().len(), table("d", "t")), (0, (false, false)));
        assert_eq!(add_object(object("d", ANY)), Err(NotAdded::Full));
        set_setup_limits(0, u64::MAX);
        assert_eq!((actors().len(), actor_switches("joe", "h")), (0, (false, false)));
        set_setup_limits(u64::MAX, u64::MAX);
        add_object(object("d", ANY)).unwrap();
        assert_eq!(table("d", "t"), (true, false));
    }
}
