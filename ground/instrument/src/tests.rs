//! Tests over the whole crate: what threads count is found again, once.

use super::*;

static SILENT: MutexClass = MutexClass::new("wait/synch/mutex/test/silent");
static LOUD: FileClass = FileClass::new("wait/io/file/test/loud");

/// The level and the window of holds are the process's: tests of them run one after the other.
fn level_alone() -> std::sync::MutexGuard<'static, ()> {
    static LEVEL: std::sync::Mutex<()> = std::sync::Mutex::new(());
    LEVEL.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn a_class_with_flags_off_is_registered_by_its_first_hit_and_not_counted() {
    static OFF: MutexClass = MutexClass::new("wait/synch/mutex/test/off");
    assert!(OFF.noticed() && OFF.flags() == 0);
    hit(&OFF);
    assert!(!OFF.noticed());
    assert!(classes().iter().any(|c| c.name() == OFF.name()));
    assert_eq!(totals().class(&OFF).count, 0);
    OFF.set_flags(ENABLED | TIMED | 0x80);
    assert_eq!(OFF.flags(), ENABLED | TIMED);
    hit(&OFF);
    assert_eq!(totals().class(&OFF).count, 1);
}

#[test]
fn contended_counts_whatever_the_flags_and_threads_fold_when_they_end() {
    let _alone = stdx::lock(&crate::EMPTIES);
    #[expect(clippy::disallowed_methods, reason = "host::thread is above this crate")]
    let threads: Vec<_> = (1..=4u64)
        .map(|n| {
            std::thread::spawn(move || {
                contended(&SILENT, n * 1000);
                completed(&LOUD, Some(n));
                count(Counter::InnodbDblwrWrites, n);
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    let sums = totals();
    let silent = sums.class(&SILENT);
    // Who waits uses it, whether uses are counted or not.
    assert_eq!((silent.count, silent.waits), (4, 4));
    assert_eq!((silent.wait_ns_sum, silent.wait_ns_max), (10_000, 4000));
    assert_eq!(sums.class(&LOUD).count, 4);
    assert_eq!(sums.counter(Counter::InnodbDblwrWrites), 10);
}

#[test]
fn the_current_page_can_be_swapped_and_a_page_that_ends_is_kept_in_the_totals() {
    let page = CounterPage::boxed();
    let before = totals().counter(Counter::InnodbLogWaits);
    // SAFETY: the box outlives both the registration and its time as current page.
    let registration = unsafe { attach(&*page) };
    // SAFETY: as above; this thread alone uses it.
    let old = unsafe { set_current(&*page) };
    count(Counter::InnodbLogWaits, 5);
    // SAFETY: the previous pointer of this same thread.
    unsafe { set_current(old) };
    count(Counter::InnodbLogWaits, 1);
    assert_eq!(page.counter(Counter::InnodbLogWaits), 5);
    assert_eq!(totals().counter(Counter::InnodbLogWaits), before + 6);
    drop(registration);
    assert_eq!(page.counter(Counter::InnodbLogWaits), 0);
    assert_eq!(totals().counter(Counter::InnodbLogWaits), before + 6);
}

#[test]
fn register_lists_classes_once_with_their_defaults() {
    let _alone = stdx::lock(&crate::EMPTIES);
    static STATEMENT: StatementClass = StatementClass::new("statement/test/select");
    register(&[&STATEMENT, &STATEMENT]);
    assert_eq!(classes().iter().filter(|c| c.name() == STATEMENT.name()).count(), 1);
    assert!(STATEMENT.timed());
    let numbered =
        |c: &&Class| c.kind() == STATEMENT.kind() && c.id_if_registered() == Some(STATEMENT.id());
    assert_eq!(classes().into_iter().filter(numbered).count(), 1);
    assert_eq!(Counter::from_name("com_select"), Some(Counter::ComSelect));
    assert_eq!(Counter::ComSelect.name(), "Com_select");
}

#[test]
fn holds_of_pages_that_live_and_pages_that_ended_add_up_and_older_windows_do_not_count() {
    let _alone = level_alone();
    static LATCH: RwLockClass = RwLockClass::new("wait/synch/rwlock/test/holds");
    fn of_latch() -> HoldTotals {
        let found = holds().classes.into_iter().find(|(c, _)| c.name() == LATCH.name());
        found.map_or_else(HoldTotals::default, |(_, t)| t)
    }
    LATCH.set_flags(ENABLED);
    reset_holds(1000);
    let before = window();
    #[expect(clippy::disallowed_methods, reason = "host::thread is above this crate")]
    let ended = std::thread::spawn(|| held(&LATCH, window(), 5, 10));
    ended.join().unwrap();
    held(&LATCH, window(), 0, 30);
    let expected = HoldTotals {
        acquisitions: 2,
        contended: 1,
        wait_ns_sum: 5,
        wait_ns_max: 5,
        hold_ns_sum: 40,
        hold_ns_max: 30,
    };
    assert_eq!(of_latch(), expected);
    assert_eq!((holds().since_ns, holds().elapsed_ns(5000)), (1000, 0), "not at synch level: over");
    reset_holds(2000);
    assert_eq!(of_latch(), HoldTotals::default());
    // A hold that began in the old window and is counted late makes its page one of the old window.
    held(&LATCH, before, 0, 99);
    assert_eq!(of_latch(), HoldTotals::default());
    held(&LATCH, window(), 0, 1);
    assert_eq!((of_latch().acquisitions, of_latch().hold_ns_max), (1, 1));
}

#[test]
fn levels_and_rules_set_instruments() {
    let _alone = stdx::lock(&crate::EMPTIES);
    let _alone = level_alone();
    static SELECT: StatementClass = StatementClass::new("statement/levels/select");
    static FILE: FileClass = FileClass::new("wait/io/file/levels/data");
    static TABLE: TableIoClass = TableIoClass::new("wait/io/table/levels/handler");
    static COND: CondClass = CondClass::new("wait/synch/cond/levels/c");
    let own: [&'static Class; 4] = [SELECT.class(), FILE.class(), TABLE.class(), COND.class()];
    register(&own);
    let settings = || own.map(|class| class.setting());
    let (on, off, counted) = ((true, true), (false, false), (true, false));
    for (level, wanted) in [
        (Level::None, [off, off, off, off]),
        (Level::Tables, [off, on, on, off]),
        (Level::Statements, [on, off, off, off]),
        (Level::Synch, [on, on, on, on]),
        (Level::Default, [on, on, on, off]),
    ] {
        set_level(level, 0);
        assert_eq!(settings(), wanted, "{level:?}");
        assert_eq!(consumers(), level.consumers());
        // With the consumer of everything nothing happens, though the setting stays.
        switch_consumer(Consumer::Global, false);
        assert_eq!((settings(), SELECT.enabled()), (wanted, false));
        switch_consumer(Consumer::Global, level != Level::None);
        assert_eq!(SELECT.enabled(), wanted[0] == on);
    }
    let rule = |pattern: &str, enabled, timed| Rule { pattern: pattern.into(), enabled, timed };
    set_rules(
        vec![
            rule("%/levels/c", true, false),
            rule("%levels%", false, false),
            rule("statement/LEVELS/s_lect", true, true),
        ],
        0,
    );
    assert_eq!(settings(), [on, off, off, counted]);
    switch(FILE.class(), true, false, 0);
    assert_eq!(settings(), [on, counted, off, counted]);
    set_level(Level::Default, 0);
    assert_eq!(settings(), [on, on, on, off]);
}
