//! User-level locks: GET_LOCK and its kin.
//!
//! 1. A lock is a metadata lock of the session ([`mdl::UserLocks`]). 2. Names are of 1 to 64 characters and compare
//! without case.

use super::call::{Answer, Call, NULL};
use super::{Function, function};
use crate::SqlError;
use crate::build::Derive;
use crate::refused::Refused;
use catalog::CatalogError;
use mdl::{MdlError, UserLocks};
use std::time::Duration;
use sync::{Deadline, SessionSlot};
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

/// The lock's name, folded.
fn name(c: &mut Call<'_, '_>) -> Result<String, SqlError> {
    let shown = c.text(0);
    let text = String::from_utf8_lossy(&shown).to_lowercase();
    if text.is_empty() {
        return Err(bad_name(""));
    }
    if text.chars().count() > 64 {
        return Err(Refused::LockNameTooLong(&String::from_utf8_lossy(&shown)).into());
    }
    Ok(text)
}

fn null_name() -> SqlError {
    bad_name("NULL")
}

fn bad_name(shown: &str) -> SqlError {
    Refused::BadLockName(shown).into()
}

/// The locks of this session.
fn locks<'c>(c: &'c mut Call<'_, '_>) -> Result<&'c mut UserLocks, SqlError> {
    c.env.user_locks().ok_or_else(|| Refused::NobodysLock.into())
}

/// Runs something with the slot of this session.
fn in_slot<T>(run: impl FnOnce(&SessionSlot) -> T) -> Result<T, SqlError> {
    sync::with_current(|slot| slot.map(run)).ok_or_else(|| Refused::NobodysLock.into())
}

fn get_lock<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    /// What MySQL waits at most, in seconds: a year.
    const FOREVER_S: i64 = 31_536_000;
    if c.is_null(0) {
        return Err(null_name());
    }
    let seconds = if c.is_null(1) { 0 } else { c.int(1) };
    let deadline = match seconds {
        s @ 0..FOREVER_S => Deadline::after(Duration::from_secs(s.unsigned_abs())),
        _ => Deadline::Never,
    };
    let name = name(c)?;
    let locks = locks(c)?;
    match in_slot(|slot| locks.get(slot, &name, deadline))? {
        Ok(got) => Ok(got.into()),
        Err(MdlError::Deadlock) => Err(Refused::LockDeadlock.into()),
        Err(error) => Err(CatalogError::from(error).into()),
    }
}

fn release_lock<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Err(null_name());
    }
    let name = name(c)?;
    let locks = locks(c)?;
    Ok(in_slot(|slot| locks.release(slot, &name))?.map_or(NULL, Into::into))
}

fn release_all_locks<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let locks = locks(c)?;
    Ok(in_slot(|slot| locks.release_all(slot))?.into())
}

fn is_free_lock<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(owner(c)?.is_none().into())
}

fn is_used_lock<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(owner(c)?.map_or(NULL, Into::into))
}

fn owner(c: &mut Call<'_, '_>) -> Result<Option<u64>, SqlError> {
    if c.is_null(0) {
        return Err(null_name());
    }
    let name = name(c)?;
    Ok(locks(c)?.owner(&name))
}
