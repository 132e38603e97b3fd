//! Kinds of threads, and what is collected of those that begin: `setup_threads`.
//!
//! 1. A class that MySQL has is there from the start; one of this server's own, from its first thread on. 2. What a class says is
//! looked at once, when a thread begins; of sessions, `setup_actors` decides instead.

// The list is the process's, as that of `thread`.
#[allow(clippy::disallowed_types)]
use std::sync::Mutex;

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

/// For how many classes there is room, until somebody says less.
const CLASSES_MAX: usize = 100;

/// What is known of classes.
struct Known {
    classes: Vec<ThreadClass>,
    /// For how many there is room.
    classes_max: usize,
    /// Names of those that found none.
    lost: Vec<String>,
}

#[allow(clippy::disallowed_types)]
static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn with_known<R>(f: impl FnOnce(&mut Known) -> R) -> R {
    f(stdx::lock(&KNOWN).get_or_insert_with(Known::new))
}

impl Known {
    /// Those that MySQL has.
    fn new() -> Known {
        let mut known = Known { classes: Vec::new(), classes_max: CLASSES_MAX, lost: Vec::new() };
        let names = NAMES.iter().map(|(_, class)| *class).chain([SESSIONS]);
        names.for_each(|name| {
            known.class(name);
        });
        known
    }

    /// Leaves room for so many; those behind them are lost.
    fn limit(&mut self, classes: u64) {
        self.classes_max = usize::try_from(classes).unwrap_or(usize::MAX).min(CLASSES_MAX);
        let kept = self.classes_max.min(self.classes.len());
        for class in self.classes.split_off(kept) {
            self.lose(class.name);
        }
    }

    /// The class of a name, which is added unless it is there; `None`: there is no room for it.
    fn class(&mut self, name: &str) -> Option<&mut ThreadClass> {
        let known = self.classes.iter().position(|class| class.name == name);
        if known.is_none() && self.classes.len() >= self.classes_max {
            self.lose(name.to_string());
            return None;
        }
        let at = known.unwrap_or_else(|| {
            let monitoring = sync::MONITORED | sync::HISTORY;
            self.classes.push(ThreadClass { name: name.to_string(), monitoring });
            self.classes.len() - 1
        });
        self.classes.get_mut(at)
    }

    fn lose(&mut self, name: String) {
        if !self.lost.contains(&name) {
            self.lost.push(name);
        }
    }
}

/// Leaves room for so many classes (`performance_schema_max_thread_classes`).
pub fn set_max(classes: u64) {
    with_known(|known| known.limit(classes));
}

/// How many classes found no room: `Performance_schema_thread_classes_lost`.
pub fn lost() -> u64 {
    with_known(|known| known.lost.len() as u64)
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

/// What is to be collected of a thread of this name that begins; of one whose class is lost: nothing.
pub(crate) fn begin(name: &str) -> u8 {
    with_known(|known| known.class(&class_of(name)).map_or(0, |class| class.monitoring))
}

/// The classes, in the order in which they became known.
pub fn all() -> Vec<ThreadClass> {
    with_known(|known| known.classes.clone())
}

/// Switches what is collected of threads of a class that begin from now on.
pub fn switch(class: &str, monitoring: u8) {
    with_known(|known| {
        if let Some(known) = known.classes.iter_mut().find(|known| known.name == class) {
            known.monitoring = monitoring;
        }
    });
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

    #[test]
    fn a_class_without_room_is_lost_once() {
        let mut known = Known::new();
        let (all, first) = (known.classes.len(), known.classes[0].name.clone());
        known.limit(1);
        let names = |known: &Known| -> Vec<String> {
            known.classes.iter().map(|class| class.name.clone()).collect()
        };
        assert_eq!((names(&known), known.lost.len()), (vec![first.clone()], all - 1));
        assert!(known.class("thread/limpid/spinner").is_none() && known.class(&first).is_some());
        assert!(known.class("thread/limpid/spinner").is_none() && known.class(SESSIONS).is_none());
        assert_eq!((names(&known), known.lost.len()), (vec![first], all));
        known.limit(2);
        assert!(known.class("thread/limpid/weaver").is_some());
        known.limit(0);
        assert_eq!((known.classes.len(), known.lost.len()), (0, all + 2));
    }
}
