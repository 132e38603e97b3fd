//! The sessions as lists show them.
//!
//! 1. Who sleeps is told by two lines of his own entry, without a lock: what he does, and his badge. First all keys are read, one
//!    session independent of the other, so that the processor fetches many entries at a time; then row by row what lies at hand.
//! 2. One row is filled anew for each session: a list allocates its keys, and the texts of those that run something.
//! 3. Whoever came into a slot after its key was read is in no list: it began later.

use super::{Entry, Process, Registry};
use catalog::SessionOrder;

impl Registry {
    /// Calls `each` with every session, also with those that are leaving.
    pub fn each_process(&self, order: SessionOrder, mut each: impl FnMut(&mut Process)) {
        let now_ns = sync::now_ns();
        let key = |entry: &Entry| entry.badge.key(order);
        let mut sessions: Vec<_> =
            self.live().map(|(number, slot, entry)| (key(entry), number, slot, entry)).collect();
        sessions.sort_unstable_by_key(|session| session.0);
        let mut process = Process::default();
        for (key, number, slot, entry) in sessions {
            entry.show(&mut process);
            let Process { line, is_idle, .. } = &mut process;
            if line.id == 0 || order.key(line) != key {
                continue;
            }
            line.slot = number;
            line.time_s = now_ns.saturating_sub(line.since_ns) / 1_000_000_000;
            line.state = None;
            *is_idle &= !line.leaves;
            // Who is idle waits for his client, and is in no stage: his slot need not be fetched to learn that.
            let busy = (!*is_idle).then_some(slot);
            let ends = |slot: &sync::SessionSlot| slot.kill_level() == sync::KILL_CONNECTION;
            if entry.badge.is_killed() || busy.is_some_and(ends) {
                line.command = "Killed";
            }
            let waits = busy.and_then(sync::SessionSlot::live_wait);
            let class = waits.and_then(|wait| instrument::class_numbered(wait.class));
            process.wait = class.map(instrument::Class::name);
            let stage = busy.and_then(|slot| instrument::stage_of(&slot.counters));
            process.stage = stage.map(|stage| stage.name);
            each(&mut process);
        }
    }

    /// The process list, ordered by connection id, and the sessions that are leaving.
    pub fn processes(&self) -> Vec<Process> {
        let mut all = Vec::new();
        self.each_process(SessionOrder::Connection, |process| all.push(process.clone()));
        all
    }
}

impl Entry {
    /// Shows who the session is and what it does, both of one session; connection id 0: nobody is there. What its slot says
    /// stays as it is.
    fn show(&self, process: &mut Process) {
        const TRIES: usize = 100;
        for _ in 0..TRIES {
            let Some(written) = self.badge.written() else {
                sync::spin_wait();
                continue;
            };
            if !self.badge.show(&mut process.line) {
                break;
            }
            self.show_activity(process);
            if self.badge.is_still(written) {
                return;
            }
        }
        // Who writes the badge has this.
        let identity = self.identity.lock();
        self.badge.show(&mut process.line);
        if let Some(identity) = &*identity {
            process.line.who.set(&identity.client);
        }
        self.show_activity(process);
    }
}
