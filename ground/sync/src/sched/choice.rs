//! Who goes on: the seed's choice among the threads that can.
//!
//! 1. A strategy is asked at a point whether the turn ends, and at the end of a turn who goes on; its
//!    answers depend on the seed and on earlier questions alone.
//! 2. `Random` ends turns after random lengths and picks anyone: it mixes everything a little.
//!    `Priorities` (as in PCT: Burckhardt and others, 2010) lets the thread of the highest priority run
//!    until one of a few random points takes its priority away: it finds bugs that need one thread to stay
//!    away for long at one exact moment.
//! 3. Nobody runs for ever while others could: after `TURN_MAX` points a turn ends in either strategy, and
//!    a thread that yields comes after all others.

use stdx::rng::Rng;

/// Longest turn while others could run, in points.
const TURN_MAX: u64 = 20_000;

/// How the next thread is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// One of the others, and its parameters, by the seed.
    Seeded,
    /// Turns of random length, in points on average; then anybody.
    Random {
        /// Average length of a turn.
        turn: u64,
    },
    /// Priorities with so many changes among the first `within` points.
    Priorities {
        /// How many points take the running thread's priority away.
        changes: u32,
        /// They lie among so many first points.
        within: u64,
    },
}

pub(crate) struct Choice {
    rng: Rng,
    strategy: Strategy,
    /// Points until the turn ends (random), or since it began (priorities).
    left: u64,
    /// Per thread; the higher the sooner. Only of use with priorities.
    priorities: Vec<i64>,
    lowest: i64,
    /// Steps at which the running thread falls behind all others, the next one last.
    changes: Vec<u64>,
}

impl Choice {
    pub(crate) fn new(seed: u64, strategy: Strategy) -> Choice {
        let mut rng = Rng::new(seed ^ 0x5EED_0F5C_8ED0_1E55);
        let strategy = match strategy {
            Strategy::Seeded if rng.chance(1, 3) => {
                let within = 1 << (8 + rng.below(10));
                Strategy::Priorities { changes: 1 + rng.below(6) as u32, within }
            }
            Strategy::Seeded => Strategy::Random { turn: 1 << rng.below(10) },
            given => given,
        };
        let mut changes = Vec::new();
        if let Strategy::Priorities { changes: n, within } = strategy {
            changes.extend((0..n).map(|_| rng.below(within.max(1))));
            changes.sort_unstable_by(|a, b| b.cmp(a));
        }
        Choice { rng, strategy, left: 0, priorities: Vec::new(), lowest: 0, changes }
    }

    /// The strategy that the seed came to.
    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy
    }

    pub(crate) fn add_thread(&mut self) {
        self.priorities.push(self.rng.below(1 << 40) as i64 + 1);
    }

    /// Whether `running`'s turn ends at this point.
    pub(crate) fn ends_turn(&mut self, step: u64, running: usize) -> bool {
        match self.strategy {
            Strategy::Priorities { .. } => {
                self.left += 1;
                let change = self.changes.last().is_some_and(|at| *at <= step);
                if change {
                    self.changes.pop();
                }
                if change || self.left > TURN_MAX {
                    self.fall_behind(running);
                    return true;
                }
                false
            }
            _ if self.left == 0 => true,
            _ => {
                self.left -= 1;
                false
            }
        }
    }

    /// The thread has nothing to do before others have done something.
    pub(crate) fn fall_behind(&mut self, thread: usize) {
        self.lowest -= 1;
        self.priorities[thread] = self.lowest;
    }

    /// Whether a thread that was just woken takes the turn at once.
    pub(crate) fn overtakes(&self, woken: usize, running: usize) -> bool {
        matches!(self.strategy, Strategy::Priorities { .. })
            && self.priorities[woken] > self.priorities[running]
    }

    /// Who of `able` (not empty, ascending) goes on.
    pub(crate) fn next(&mut self, able: &[usize]) -> usize {
        match self.strategy {
            Strategy::Priorities { .. } => {
                self.left = 0;
                let best = able.iter().copied().max_by_key(|t| self.priorities[*t]);
                best.unwrap_or(able[0])
            }
            Strategy::Random { turn } => {
                self.left = self.rng.below(2 * turn).min(TURN_MAX);
                able[self.rng.below(able.len() as u64) as usize]
            }
            Strategy::Seeded => able[0],
        }
    }
}
