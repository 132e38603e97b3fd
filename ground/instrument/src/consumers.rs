//! Consumers: where events go, each switched on or off for the whole process.
//!
//! One word that is seldom written: the low half has a bit for each consumer that is on, the high half one for each that is in
//! effect, which it is if those that stand above it are on too.

use crate::{note_switch, registry};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

macro_rules! consumers {
    ($($name:ident = $text:literal, $on:literal, $above:expr;)*) => {
        /// A destination of events.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)] // The names are MySQL's.
        pub enum Consumer {
            $($name,)*
        }

        impl Consumer {
            /// All, in MySQL's order.
            pub const ALL: &[Consumer] = &[$(Consumer::$name),*];

            /// Its name in `setup_consumers`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Consumer::$name => $text,)*
                }
            }

            /// Whether it is on when the server starts.
            pub const fn default(self) -> bool {
                match self {
                    $(Consumer::$name => $on,)*
                }
            }

            /// The one that must be on for it to have an effect.
            pub const fn above(self) -> Option<Consumer> {
                match self {
                    $(Consumer::$name => $above,)*
                }
            }
        }
    };
}

use Consumer as C;

consumers! {
    StagesCurrent = "events_stages_current", false, Some(C::Threads);
    StagesHistory = "events_stages_history", false, Some(C::StagesCurrent);
    StagesHistoryLong = "events_stages_history_long", false, Some(C::StagesCurrent);
    StatementsCpu = "events_statements_cpu", false, Some(C::StatementsCurrent);
    StatementsCurrent = "events_statements_current", true, Some(C::Threads);
    StatementsHistory = "events_statements_history", true, Some(C::StatementsCurrent);
    StatementsHistoryLong = "events_statements_history_long", false, Some(C::StatementsCurrent);
    TransactionsCurrent = "events_transactions_current", true, Some(C::Threads);
    TransactionsHistory = "events_transactions_history", true, Some(C::TransactionsCurrent);
    TransactionsHistoryLong = "events_transactions_history_long", false, Some(C::TransactionsCurrent);
    WaitsCurrent = "events_waits_current", false, Some(C::Threads);
    WaitsHistory = "events_waits_history", false, Some(C::WaitsCurrent);
    WaitsHistoryLong = "events_waits_history_long", false, Some(C::WaitsCurrent);
    Global = "global_instrumentation", true, None;
    Threads = "thread_instrumentation", true, Some(C::Global);
    StatementsDigest = "statements_digest", true, Some(C::Global);
}

/// Which consumers are on, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumers(u16);

impl Consumers {
    /// None at all.
    pub const NONE: Consumers = Consumers(0);

    /// Those that are on when the server starts.
    pub const fn at_start() -> Consumers {
        let mut bits = 0;
        let mut n = 0;
        while n < Consumer::ALL.len() {
            if Consumer::ALL[n].default() {
                bits |= 1 << n;
            }
            n += 1;
        }
        Consumers(bits)
    }

    /// Exactly these.
    pub fn of(list: &[Consumer]) -> Consumers {
        Consumers(list.iter().fold(0, |bits, consumer| bits | 1 << *consumer as u16))
    }

    /// Whether the consumer is on.
    pub const fn has(self, consumer: Consumer) -> bool {
        self.0 & 1 << consumer as u16 != 0
    }

    const fn in_effect(self) -> u16 {
        let mut bits = 0;
        let mut n = 0;
        while n < Consumer::ALL.len() {
            let mut on = true;
            let mut next = Some(Consumer::ALL[n]);
            while let Some(consumer) = next {
                on &= self.has(consumer);
                next = consumer.above();
            }
            if on {
                bits |= 1 << n;
            }
            n += 1;
        }
        bits
    }

    const fn word(self) -> u32 {
        self.0 as u32 | (self.in_effect() as u32) << 16
    }
}

static SWITCHES: AtomicU32 = AtomicU32::new(Consumers::at_start().word());

/// Whether events go there: the consumer and those above it are on. One relaxed load.
#[inline(always)]
pub fn consumes(consumer: Consumer) -> bool {
    crate::INSTRUMENTS && SWITCHES.load(Relaxed) & 1 << (16 + consumer as u32) != 0
}

/// The consumers that are on, whether or not those above them are.
pub fn consumers() -> Consumers {
    Consumers(SWITCHES.load(Relaxed) as u16)
}

/// Switches a consumer; threads notice at their next event.
pub fn switch_consumer(consumer: Consumer, on: bool) {
    registry::locked(|registry| {
        if !registry::is_on() {
            return;
        }
        let bit = 1 << consumer as u16;
        let now = consumers().0;
        store(registry, Consumers(if on { now | bit } else { now & !bit }));
    });
}

/// Sets all consumers. The registry is locked.
pub(crate) fn store(registry: &mut registry::Registry, all: Consumers) {
    let are_told = all.in_effect() & 1 << Consumer::Threads as u16 != 0;
    let changes = consumes(Consumer::Threads) != are_told;
    if changes {
        registry.part_threads();
    }
    SWITCHES.store(all.word(), Relaxed);
    registry.take_effect();
    note_switch();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_above_must_be_on() {
        let in_effect = |list: &[Consumer]| {
            let bits = Consumers::of(list).in_effect();
            Consumer::ALL.iter().copied().filter(|c| bits & 1 << *c as u16 != 0).collect::<Vec<_>>()
        };
        assert_eq!(in_effect(&[C::WaitsHistory, C::WaitsCurrent, C::Threads]), []);
        assert_eq!(
            in_effect(&[C::WaitsHistory, C::Threads, C::Global, C::StatementsDigest]),
            [C::Global, C::Threads, C::StatementsDigest]
        );
        let all = in_effect(&[C::Global, C::Threads, C::WaitsCurrent, C::WaitsHistoryLong]);
        assert_eq!(all, [C::WaitsCurrent, C::WaitsHistoryLong, C::Global, C::Threads]);
        assert_eq!(Consumers::at_start().in_effect(), Consumers::at_start().0);
        assert_eq!(Consumer::ALL.len(), 16);
    }
}
