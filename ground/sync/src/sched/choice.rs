//! Who goes on: the seed's choice among the threads that can.
//!
//! 1. A strategy is asked at a point whether the turn ends, and at the end of a turn who goes on; its
//!    answers depend on the seed and on earlier questions alone.
//! 2. `Random` ends turns after random lengths and picks anyone: it mixes everything a little.
//!    `Priorities` (as in PCT: Burckhardt and others, 2010) lets the thread of the highest priority run
//!    until one of a few random points takes its priority away: it finds bugs that need one thread to stay
//!    away for long at one exact moment.
//! 3. Nobody runs for ever while others could: turns have an end in either strategy, with priorities the
//!    thread that has waited longest becomes the first every `FAIR_EVERY` points, or `FAIR_NS` where points
//!    take long, and a thread that yields comes after all others.

use stdx::rng::Rng;

/// Points after which, with priorities, the thread that has waited longest has its turn.
const FAIR_EVERY: u64 = 8_000;
/// The same as virtual time: no machine keeps a thread that spins from its next try for half a second.
const FAIR_NS: u64 = 10_000_000;

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

/// Threads begin with a random priority up to this.
const PRIORITIES: u64 = 1 << 40;

pub(crate) struct Choice {
    rng: Rng,
    strategy: Strategy,
    /// [`FAIR_EVERY`] for points of this length.
    fair_every: u64,
    /// Points until the turn ends (random), or until somebody's turn has come (priorities).
    left: u64,
    /// Per thread; the higher the sooner. Only of use with priorities.
    priorities: Vec<i64>,
    lowest: i64,
    highest: i64,
    /// Per thread the number of its last turn.
    turns: Vec<u64>,
    turn: u64,
    /// Steps at which the running thread falls behind all others, the next one last.
    changes: Vec<u64>,
}

impl Choice {
    pub(crate) fn new(seed: u64, strategy: Strategy, step_ns: u64) -> Choice {
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
        Choice {
            rng,
            strategy,
            fair_every: FAIR_EVERY.min(FAIR_NS / step_ns.max(1)).max(1),
            left: 0,
            priorities: Vec::new(),
            lowest: 0,
            highest: PRIORITIES as i64,
            turns: Vec::new(),
            turn: 0,
            changes,
        }
    }

    /// The strategy that the seed came to.
    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy
    }

    pub(crate) fn add_thread(&mut self) {
        self.priorities.push(self.rng.below(PRIORITIES) as i64 + 1);
        self.turns.push(self.turn);
    }

    /// Whether `running`'s turn ends at this point.
    pub(crate) fn ends_turn(&mut self, step: u64, running: usize) -> bool {
        match self.strategy {
            Strategy::Priorities { .. } => {
                let change = self.changes.last().is_some_and(|at| *at <= step);
                if change {
                    self.changes.pop();
                    self.fall_behind(running);
                }
                self.left = self.left.saturating_sub(1);
                change || self.left == 0
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
        let next = self.pick(able);
        self.turn += 1;
        self.turns[next] = self.turn;
        next
    }

    fn pick(&mut self, able: &[usize]) -> usize {
        match self.strategy {
            Strategy::Priorities { .. } => {
                if self.left == 0 {
                    self.left = self.fair_every;
                    let longest = able.iter().copied().min_by_key(|t| self.turns[*t]);
                    self.highest += 1;
                    self.priorities[longest.unwrap_or(able[0])] = self.highest;
                }
                let best = able.iter().copied().max_by_key(|t| self.priorities[*t]);
                best.unwrap_or(able[0])
            }
            Strategy::Random { turn } => {
                self.left = self.rng.below(2 * turn);
                able[self.rng.below(able.len() as u64) as usize]
            }
            Strategy::Seeded => able[0],
        }
    }
}
