//! `setup_actors`, `setup_consumers`, `setup_instruments`, `setup_objects`, `setup_threads`: what is collected, and of whom.
//!
//! A change takes effect at once, on everything that is there already; of actors and threads, on those that begin.

use crate::information::{Cell, Rows, cells};
use catalog::{Changes, ReadContext, Unchanged};
use host::thread_classes;
use instrument::{Actor, Class, ClassKind, Consumer, NotAdded, Object, ObjectType};
use sync::{HISTORY, MONITORED};
use value::Datum;

type Row<'a> = &'a [Datum<'a>];

/// YES and NO are the members of each ENUM of switches; none of them is taken for NO.
pub(super) fn is_yes(value: &Datum<'_>) -> bool {
    matches!(value, Datum::Enum(_, 1))
}

pub(super) fn yes_no(on: bool) -> &'static str {
    if on { "YES" } else { "NO" }
}

fn text(value: &Datum<'_>) -> String {
    match value {
        Datum::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

/// An INSERT with an ENUM that is none of its members is refused.
fn members_only(row: Row<'_>) -> Result<(), Unchanged> {
    match row.iter().any(|value| matches!(value, Datum::Enum(_, 0))) {
        true => Err(Unchanged::NoMember),
        false => Ok(()),
    }
}

fn added(done: Result<(), NotAdded>) -> Result<(), Unchanged> {
    done.map_err(|why| match why {
        NotAdded::Duplicate => Unchanged::Duplicate,
        NotAdded::Full => Unchanged::Full,
    })
}

pub(super) fn consumers(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let all = instrument::consumers();
    for consumer in Consumer::ALL {
        rows.push(&cells![consumer.name(), yes_no(all.has(*consumer))]);
    }
}

pub(super) const CONSUMERS: Changes = Changes {
    columns: &["ENABLED"],
    update: |_, old, new| {
        let name = text(&old[0]);
        if let Some(consumer) = Consumer::ALL.iter().find(|c| c.name() == name) {
            instrument::switch_consumer(*consumer, is_yes(&new[1]));
        }
        Ok(())
    },
    insert: None,
    delete: None,
};

/// The instruments by kind; of one kind in the order of their registration.
fn classes() -> Vec<&'static Class> {
    let mut all = instrument::classes();
    all.retain(|class| class.kind() != ClassKind::Thread);
    all.sort_by_key(|class| class.kind() as u8);
    all
}

pub(super) fn instruments(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for class in classes() {
        let (enabled, timed) = class.setting();
        let timed = class.can_be_timed().then(|| yes_no(timed));
        rows.push(&cells![
            class.name(),
            yes_no(enabled),
            timed,
            properties(class),
            Cell::Null,
            0_i64,
            Cell::Null,
        ]);
    }
}

fn properties(class: &Class) -> &'static str {
    match class.kind() {
        ClassKind::Statement if class.name().starts_with("statement/abstract/") => "mutable",
        ClassKind::Idle => "user",
        ClassKind::Stage => "progress",
        ClassKind::Memory => "global_statistics",
        _ => "",
    }
}

pub(super) const INSTRUMENTS: Changes = Changes {
    // FLAGS says something of memory only: elsewhere it is taken and forgotten.
    columns: &["ENABLED", "TIMED", "FLAGS"],
    update: |_, old, new| {
        let name = text(&old[0]);
        if let Some(class) = classes().into_iter().find(|c| c.name() == name) {
            // NULL changes nothing.
            let timed = if new[2].is_null() { &old[2] } else { &new[2] };
            instrument::switch(class, is_yes(&new[1]), is_yes(timed), sync::now_ns());
        }
        Ok(())
    },
    insert: None,
    delete: None,
};

pub(super) fn actors(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for actor in instrument::actors() {
        let switches = (yes_no(actor.enabled), yes_no(actor.history));
        rows.push(&cells![actor.host, actor.user, actor.role, switches.0, switches.1]);
    }
}

fn actor(row: Row<'_>) -> Actor {
    Actor {
        host: text(&row[0]),
        user: text(&row[1]),
        role: text(&row[2]),
        enabled: is_yes(&row[3]),
        history: is_yes(&row[4]),
    }
}

pub(super) const ACTORS: Changes = Changes {
    columns: &["ENABLED", "HISTORY"],
    update: |_, _, new| {
        instrument::set_actor(&actor(new));
        Ok(())
    },
    insert: Some(|_, row| {
        members_only(row)?;
        added(instrument::add_actor(actor(row)))
    }),
    delete: Some(|_, row| {
        instrument::remove_actor(&actor(row));
        Ok(())
    }),
};

pub(super) fn objects(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for object in instrument::objects() {
        rows.push(&cells![
            object.object_type.name(),
            object.schema,
            object.name,
            yes_no(object.enabled),
            yes_no(object.timed),
        ]);
    }
}

fn object(row: Row<'_>) -> Object {
    let number = match row[0] {
        Datum::Enum(_, number) => usize::from(number),
        _ => 0,
    };
    Object {
        // The members of the ENUM are these, in this order.
        object_type: ObjectType::ALL[number.saturating_sub(1).min(ObjectType::ALL.len() - 1)],
        schema: (!row[1].is_null()).then(|| text(&row[1])),
        name: text(&row[2]),
        enabled: is_yes(&row[3]),
        timed: is_yes(&row[4]),
    }
}

pub(super) const OBJECTS: Changes = Changes {
    columns: &["ENABLED", "TIMED"],
    update: |_, _, new| {
        instrument::set_object(&object(new));
        Ok(())
    },
    insert: Some(|_, row| {
        members_only(row)?;
        added(instrument::add_object(object(row)))
    }),
    delete: Some(|_, row| {
        instrument::remove_object(&object(row));
        Ok(())
    }),
};

pub(super) fn threads(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for class in thread_classes::all() {
        let on = |bit| yes_no(class.monitoring & bit != 0);
        let properties = match class.name.as_str() {
            thread_classes::SESSIONS => "user",
            "thread/sql/main" | "thread/sql/signal_handler" => "singleton",
            _ => "",
        };
        rows.push(&cells![
            class.name.as_str(),
            on(MONITORED),
            on(HISTORY),
            properties,
            0_i64,
            Cell::Null
        ]);
    }
}

pub(super) const THREADS: Changes = Changes {
    columns: &["ENABLED", "HISTORY"],
    update: |_, old, new| {
        let bit = |column: usize, bit| if is_yes(&new[column]) { bit } else { 0 };
        thread_classes::switch(&text(&old[0]), bit(1, MONITORED) | bit(2, HISTORY));
        Ok(())
    },
    insert: None,
    delete: None,
};
