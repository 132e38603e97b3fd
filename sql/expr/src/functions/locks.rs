//! User-level locks: GET_LOCK and its kin.
//!
//! 1. A lock is a name in one table of the process, held by a connection so and so often. 2. Names are of
//! 1 to 64 characters and compare without case. 3. Who waits is woken when a lock goes, and looks again.

use super::call::{Answer, Call, NULL};
use super::{Function, function};
use crate::SqlError;
use crate::build::Derive;
use std::collections::HashMap;
use std::sync::LazyLock;
use value::ColumnType;

pub static FUNCTIONS: &[Function] = &[
    function(
        "get_lock",
        (2, 2),
        truth_type,
        get_lock,
        "takes a lock by name: 1, or 0 when that takes too long",
    )
    .sees_null()
    .volatile(),
    function(
        "release_lock",
        (1, 1),
        truth_type,
        release_lock,
        "gives a lock back: 1; 0 of another connection; NULL if there is none",
    )
    .sees_null()
    .volatile(),
    function(
        "release_all_locks",
        (0, 0),
        count_type,
        release_all_locks,
        "gives back all locks of this connection",
    )
    .volatile(),
    function("is_free_lock", (1, 1), truth_type, is_free_lock, "whether nobody has the lock")
        .sees_null()
        .volatile(),
    function("is_used_lock", (1, 1), id_type, is_used_lock, "the connection that has the lock")
        .sees_null()
        .volatile(),
];

type Derived = Result<ColumnType, SqlError>;

fn truth_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: true, ..d.int(1) })
}

fn count_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.uint(21))
}

fn id_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: true, ..d.uint(21) })
}

struct Held {
    connection: u64,
    count: u64,
}

instrument::classes! {
    static LATCH: MutexClass = "wait/synch/mutex/sql/LOCK_user_level";
}
static HELD: LazyLock<sync::Mutex<HashMap<String, Held>>> =
    LazyLock::new(|| sync::Mutex::new(&LATCH, HashMap::new()));

/// Gives back every lock of a connection; how many.
pub fn release_all(connection: u64) -> u64 {
    let mut released = 0;
    HELD.lock().retain(|_, held| {
        let own = held.connection == connection;
        released += if own { held.count } else { 0 };
        !own
    });
    released
}

/// Every lock that is held: its name, and the connection that has it.
pub fn held() -> Vec<(String, u64)> {
    let held = HELD.lock();
    let mut list: Vec<_> = held.iter().map(|(name, by)| (name.clone(), by.connection)).collect();
    list.sort();
    list
}

/// The lock's name, folded.
fn name(c: &mut Call<'_, '_>) -> Result<String, SqlError> {
    let shown = c.text(0);
    let text = String::from_utf8_lossy(&shown).to_lowercase();
    if text.is_empty() {
        return Err(bad_name(""));
    }
    if text.chars().count() > 64 {
        let shown = String::from_utf8_lossy(&shown);
        let text = format!("User-level lock name '{shown}' should not exceed 64 characters.");
        return Err(SqlError::Other(4163, "42000", text));
    }
    Ok(text)
}

fn null_name() -> SqlError {
    bad_name("NULL")
}

fn bad_name(shown: &str) -> SqlError {
    let text = format!(
        "Incorrect user-level lock name '{shown}'. The name is empty, NULL, or can not be expressed \
         in the current character-set."
    );
    SqlError::Other(3057, "42000", text)
}

fn get_lock<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    /// How often a waiter looks again, in seconds: locks go by the second, not by the row.
    const LOOK_S: f64 = 0.02;
    if c.is_null(0) {
        return Err(null_name());
    }
    let mut left = if c.is_null(1) { 0.0 } else { c.double(1) };
    let forever = left < 0.0;
    let name = name(c)?;
    let connection = c.env.connection_id();
    loop {
        {
            let mut held = HELD.lock();
            match held.get_mut(&name) {
                None => {
                    held.insert(name, Held { connection, count: 1 });
                    return Ok(1i64.into());
                }
                Some(lock) if lock.connection == connection => {
                    lock.count += 1;
                    return Ok(1i64.into());
                }
                Some(_) => {}
            }
        }
        if !forever && left <= 0.0 {
            return Ok(0i64.into());
        }
        if !c.env.sleep(if forever { LOOK_S } else { left.min(LOOK_S) }) {
            return Err(SqlError::Storage(base::Error::Killed));
        }
        left -= LOOK_S;
    }
}

fn release_lock<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Err(null_name());
    }
    let name = name(c)?;
    let connection = c.env.connection_id();
    let mut held = HELD.lock();
    match held.get_mut(&name) {
        None => Ok(NULL),
        Some(lock) if lock.connection != connection => Ok(0i64.into()),
        Some(lock) => {
            lock.count -= 1;
            if lock.count == 0 {
                held.remove(&name);
            }
            Ok(1i64.into())
        }
    }
}

fn release_all_locks<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(release_all(c.env.connection_id()).into())
}

fn is_free_lock<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Err(null_name());
    }
    let name = name(c)?;
    Ok((!HELD.lock().contains_key(&name)).into())
}

fn is_used_lock<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Err(null_name());
    }
    let name = name(c)?;
    Ok(HELD.lock().get(&name).map_or(NULL, |lock| lock.connection.into()))
}
