//! Stages: what statements that take long do now, and how far they are.
//!
//! 1. A thread's stage lies in its page and is written by the thread alone; a reader may see it one step behind, but never
//! the work of one stage as that of another. 2. Every stage tells its progress, so all are on when the server starts, as
//! MySQL's that do so.

use crate::page::CounterPage;
use crate::past::record_stage;
use crate::registry::page;
use crate::stat::Tally;
use crate::{ENABLED, RECORDED, StageClass, TIMED, class_numbered};
use std::sync::atomic::{Ordering, fence};

/// The words of the stage that goes on; all zero: none does.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct StageWords {
    /// Its class's number and 1.
    class: Tally,
    begin_ns: Tally,
    work_completed: Tally,
    work_estimated: Tally,
}

/// A stage that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveStage {
    /// The thread that is in it.
    pub thread_id: u64,
    /// Its instrument's name.
    pub name: &'static str,
    /// When it began, in nanoseconds of the callers' clock; `None`: it is not timed.
    pub begin_ns: Option<u64>,
    /// Units of work that are done.
    pub work_completed: u64,
    /// And that there are, as far as one knew when it began.
    pub work_estimated: u64,
}

impl StageWords {
    fn begin(&self, id: u16, begin_ns: u64, work_estimated: u64) {
        self.class.set(0);
        fence(Ordering::Release);
        self.begin_ns.set(begin_ns);
        self.work_completed.set(0);
        self.work_estimated.set(work_estimated);
        // What a reader finds behind the class is the class's.
        self.class.publish(u64::from(id) + 1);
    }

    /// Whether a stage goes on.
    pub fn is_on(&self) -> bool {
        self.class.get() != 0
    }

    fn read(&self, thread_id: u64) -> Option<LiveStage> {
        let class = self.class.acquire();
        let id = u16::try_from(class.checked_sub(1)?).ok()?;
        let found = class_numbered(id)?;
        let stage = LiveStage {
            thread_id,
            name: found.name(),
            begin_ns: found.timed().then(|| self.begin_ns.get()),
            work_completed: self.work_completed.get(),
            work_estimated: self.work_estimated.get(),
        };
        fence(Ordering::Acquire);
        (self.class.get() == class).then_some(stage)
    }
}

/// The calling thread's statement is in a stage from now on.
pub fn begin_stage(class: &'static StageClass, begin_ns: u64, work_estimated: u64) {
    let id = class.id();
    if class.enabled() && page().is_instrumented() {
        page().stage().begin(id, begin_ns, work_estimated);
    }
}

/// So much of the present stage's work is done.
#[inline]
pub fn set_work_completed(work_completed: u64) {
    page().stage().work_completed.set(work_completed);
}

/// The stage took so long, and is over.
pub fn end_stage(class: &'static StageClass, ns: u64) {
    let (page, flags) = (page(), class.flags());
    let stage = page.stage();
    let was_seen = stage.class.take() != 0;
    if flags & ENABLED != 0
        && page.is_instrumented()
        && let Some(number) = class.stage_number()
    {
        let ns = (flags & TIMED != 0).then_some(ns);
        page.add_stage(number, ns);
        if flags & RECORDED != 0 && was_seen {
            record_stage(class, ns, (stage.work_completed.get(), stage.work_estimated.get()));
        }
    }
}

/// The stage that the writer of a page is in.
pub fn stage_of(page: &CounterPage) -> Option<LiveStage> {
    page.stage().read(page.thread_id())
}

#[cfg(test)]
mod tests {
    use super::*;

    static COPY: StageClass = StageClass::new("stage/test/copy");

    #[test]
    fn a_stage_is_seen_until_it_ends_and_counted_then() {
        let own = CounterPage::boxed();
        // SAFETY: the page outlives its being the current one.
        let before = unsafe { crate::set_current(&*own) };
        begin_stage(&COPY, 100, 70);
        set_work_completed(7);
        let stage = stage_of(&own).expect("a stage");
        let (name, begin_ns) = ("stage/test/copy", Some(100));
        let (work_completed, work_estimated) = (7, 70);
        let expected = LiveStage { thread_id: 0, name, begin_ns, work_completed, work_estimated };
        assert_eq!(stage, expected);
        end_stage(&COPY, 30);
        assert_eq!(stage_of(&own), None);
        let counted: Vec<_> =
            own.used_stages().map(|(_, stat)| (stat.count, stat.ns_sum)).collect();
        assert_eq!(counted, [(1, 30)]);
        // SAFETY: it was this thread's.
        unsafe { crate::set_current(before) };
    }
}
