//! Kinds of threads, and what is collected of those that begin: `setup_threads`.
//!
//! 1. A class that MySQL has is there from the start; one of this server's own, from its first thread on. 2. What a class says is
//! looked at once, when a thread begins; of sessions, `setup_actors` decides instead.

// The list is the process's, as that of `thread`.
#[allow(clippy::disallowed_types)]
use std::sync::{Mutex, MutexGuard};

/// The class of sessions.
pub const SESSIONS: &str = "thread/sql/one_connection";

/// What MySQL calls a thread of this name, with what comes behind the last underline left out if it is a number.
const NAMES: &[(&str, &str)] = &[
    ("main", "thread/sql/main"),
    ("signal", "thread/sql/signal_handler"),
    ("checkpointer", "thread/innodb/log_checkpointer_thread"),
    ("log_timer", "thread/innodb/log_flusher_thread"),
    ("log_governor", "thread/innodb/log_files_governor_thread"),
    ("statistics", "thread/innodb/dict_stats_thread"),
    ("purge", "thread/innodb/srv_purge_thread"),
    ("cleaner", "thread/innodb/page_flush_coordinator_thread"),
    ("read_ahead", "thread/innodb/io_read_thread"),
    ("buf_dump", "thread/innodb/buf_dump_thread"),
    ("buf_load", "thread/innodb/buf_dump_thread"),
    ("buf_resize", "thread/innodb/buf_resize_thread"),
    ("rollback", "thread/innodb/trx_recovery_rollback_thread"),
];

/// A kind of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadClass {
    /// Name, `thread/...`.
    pub name: String,
    /// [`sync::MONITORED`] and [`sync::HISTORY`] of threads that begin.
    pub monitoring: u8,
}

#[allow(clippy::disallowed_types)]
static CLASSES: Mutex<Vec<ThreadClass>> = Mutex::new(Vec::new());

#[allow(clippy::disallowed_types)]
fn locked() -> MutexGuard<'static, Vec<ThreadClass>> {
    let mut classes = stdx::lock(&CLASSES);
    if classes.is_empty() {
        let names = NAMES.iter().map(|(_, class)| *class).chain([SESSIONS]);
        names.for_each(|name| {
            known(&mut classes, name);
        });
    }
    classes
}

/// The class of a name, which is added unless it is there.
fn known<'c>(classes: &'c mut Vec<ThreadClass>, name: &str) -> &'c mut ThreadClass {
    let at = classes.iter().position(|class| class.name == name).unwrap_or_else(|| {
        let monitoring = sync::MONITORED | sync::HISTORY;
        classes.push(ThreadClass { name: name.to_string(), monitoring });
        classes.len() - 1
    });
    &mut classes[at]
}

/// The class of a thread of this name.
pub fn class_of(name: &str) -> String {
    let kind = match name.rsplit_once('_') {
        Some((kind, number)) if number.bytes().all(|b| b.is_ascii_digit()) => kind,
        _ => name,
    };
    match NAMES.iter().find(|(own, _)| *own == kind) {
        Some((_, mysqls)) => (*mysqls).to_string(),
        None => format!("thread/limpid/{kind}"),
    }
}

/// What is to be collected of a thread of this name that begins.
pub(crate) fn begin(name: &str) -> u8 {
    known(&mut locked(), &class_of(name)).monitoring
}

/// The classes, in the order in which they became known.
pub fn all() -> Vec<ThreadClass> {
    locked().clone()
}

/// Switches what is collected of threads of a class that begin from now on.
pub fn switch(class: &str, monitoring: u8) {
    if let Some(known) = locked().iter_mut().find(|known| known.name == class) {
        known.monitoring = monitoring;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_called_as_mysqls_or_as_they_are() {
        assert_eq!(class_of("cleaner_3"), "thread/innodb/page_flush_coordinator_thread");
        assert_eq!(class_of("read_ahead_0"), "thread/innodb/io_read_thread");
        assert_eq!(class_of("log_timer"), "thread/innodb/log_flusher_thread");
        assert_eq!(class_of("horizon"), "thread/limpid/horizon");
        assert_eq!(class_of("redo_reader"), "thread/limpid/redo_reader");
    }

    #[test]
    fn a_class_decides_of_threads_that_begin() {
        let of = |listed: &str| {
            let threads = crate::thread::background();
            threads.iter().find(|t| t.name == listed).map(|t| t.monitoring)
        };
        let before = crate::thread::list("weaver_1");
        switch("thread/limpid/weaver", sync::HISTORY);
        switch("thread/limpid/nosuch", 0);
        let after = crate::thread::list("weaver_2");
        assert_eq!(of("weaver_1"), Some(sync::MONITORED | sync::HISTORY));
        assert_eq!(of("weaver_2"), Some(sync::HISTORY));
        drop((before, after));
        let names: Vec<String> = all().into_iter().map(|class| class.name).collect();
        assert!(names.iter().any(|name| name == "thread/limpid/weaver"));
        assert_eq!(names.iter().filter(|name| name.ends_with("buf_dump_thread")).count(), 1);
    }
}
