//! A stage of a statement that takes long: what it does now, and how far it is.
//!
//! 1. A thread has one stage at a time. It lies in the thread's counter page: begun, told on and ended by plain stores.

use crate::now_ns;
use instrument::StageClass;

/// A stage of the calling thread's statement; it ends with this value.
#[derive(Debug)]
#[must_use]
pub struct Stage {
    class: &'static StageClass,
    begin_ns: u64,
}

impl Stage {
    /// Begins a stage of so many units of work, as far as one knows.
    pub fn begin(class: &'static StageClass, work_estimated: u64) -> Stage {
        let begin_ns = now_ns();
        instrument::begin_stage(class, begin_ns, work_estimated);
        Stage { class, begin_ns }
    }

    /// So many units of work are done.
    #[inline]
    pub fn has_done(&self, work_completed: u64) {
        instrument::set_work_completed(work_completed);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        instrument::end_stage(self.class, now_ns().saturating_sub(self.begin_ns));
    }
}
