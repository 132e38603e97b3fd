//! `max_write_lock_count`: that many grants to the strong, while the weak wait, and the weak go first.
//!
//! 1. Hogs are SNW, SNRW and X; a hog's grant counts while a request waits that is none. A piglet is SW; its grant counts
//!    while SRO waits. When a count reaches the limit, who waited goes first until none of them waits any more.
//! 2. Of two requests at most one queues behind the other, whatever is counted, and only behind what it conflicts with:
//!    the order has no cycle.
//! 3. The matrices of [`crate::mode`] hold while nothing is counted, and in scopes always.

use crate::mode::{Mode, Modes, Namespace, set};
use Mode::{SNRW, SNW, SRO, SW, SWLP, X};

const HOGS: Modes = set(&[SNW, SNRW, X]);
const PIGLETS: Modes = set(&[SW, SWLP]);

/// Whose turn it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tired {
    pub(crate) hogs: bool,
    pub(crate) piglets: bool,
}

impl Tired {
    /// The pending modes of others that a request queues behind.
    #[must_use]
    pub(crate) const fn behind(self, mode: Mode, namespace: Namespace) -> Modes {
        let usual = mode.conflicts_pending(namespace);
        if namespace.scoped() || (!self.hogs && !self.piglets) {
            return usual;
        }
        let is_hog = mode.bit() & HOGS != 0;
        let is_piglet = mode.bit() & PIGLETS != 0;
        let conflicts = mode.conflicts_granted(namespace);
        // With both counts at the limit it is SRO's turn before the piglets', so these do not pass the hogs either.
        let passing = if self.piglets { HOGS | PIGLETS } else { HOGS };
        let mut behind = match (self.hogs, is_hog) {
            (true, true) => usual | conflicts & !passing,
            (true, false) if !(self.piglets && is_piglet) => usual & !HOGS,
            _ => usual,
        };
        if self.piglets {
            if is_piglet {
                behind |= SRO.bit();
            } else if matches!(mode, SRO) {
                behind &= !PIGLETS;
            }
        }
        behind
    }
}

/// What an object has granted in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fair {
    hogs: u64,
    piglets: u64,
    pub(crate) tired: Tired,
}

impl Fair {
    /// A mode was granted while these wait; whether others go first from now on.
    pub(crate) fn granted(&mut self, mode: Mode, waiting: Modes, limit: u64) -> bool {
        let before = self.tired;
        if mode.bit() & HOGS != 0 && waiting & !HOGS != 0 {
            self.hogs += 1;
            self.tired.hogs = self.hogs >= limit;
        } else if mode == SW && waiting & SRO.bit() != 0 {
            self.piglets += 1;
            self.tired.piglets = self.piglets >= limit;
        }
        self.tired != before
    }

    /// These wait now; whether the usual order holds again for somebody.
    pub(crate) fn wait_now(&mut self, waiting: Modes) -> bool {
        let before = self.tired;
        let both = before.hogs && before.piglets;
        let passed = if both { HOGS | PIGLETS } else { HOGS };
        if waiting & !passed == 0 {
            (self.hogs, self.tired.hogs) = (0, false);
        }
        // With both at the limit, the one ends with the other.
        if waiting & SRO.bit() == 0 && (!both || !self.tired.hogs) {
            (self.piglets, self.tired.piglets) = (0, false);
        }
        self.tired != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_requests_queue_behind_each_other_and_none_without_a_conflict() {
        let all = [(false, false), (true, false), (false, true), (true, true)];
        for (hogs, piglets) in all {
            let tired = Tired { hogs, piglets };
            for namespace in [Namespace::Table, Namespace::Schema, Namespace::UserLevelLock] {
                let modes = || Mode::ALL.into_iter().filter(|m| m.valid_in(namespace));
                for a in modes() {
                    let behind = tired.behind(a, namespace);
                    assert_eq!(behind & !a.conflicts_granted(namespace), 0, "{a:?} {tired:?}");
                    for b in modes().filter(|b| behind & b.bit() != 0) {
                        let back = tired.behind(b, namespace) & a.bit();
                        assert!(back == 0, "{a:?} and {b:?} in {namespace:?}, {tired:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn who_waited_goes_first_at_the_limit_until_none_of_them_waits() {
        let mut fair = Fair::default();
        let (readers, none) = (Mode::SR.bit(), 0);
        assert!(!fair.granted(X, none, 1), "nobody waits");
        assert!(!fair.granted(X, X.bit(), 1), "hogs alone wait");
        assert!(!fair.granted(X, readers, 2));
        assert!(fair.granted(SNW, readers | X.bit(), 2));
        assert_eq!(fair.tired.behind(Mode::SR, Namespace::Table), 0);
        assert!(fair.tired.behind(X, Namespace::Table) & readers != 0);
        assert!(!fair.wait_now(readers));
        assert!(fair.wait_now(X.bit()));
        assert_eq!(fair.tired, Tired::default());
        assert!(fair.granted(SW, SRO.bit(), 1));
        assert!(fair.tired.behind(SW, Namespace::Table) & SRO.bit() != 0);
        assert!(fair.granted(X, SRO.bit(), 1));
        // Both: writers do not pass the hogs, and all ends together.
        assert!(fair.tired.behind(SW, Namespace::Table) & X.bit() != 0);
        assert!(!fair.wait_now(SRO.bit() | SW.bit()));
        assert!(fair.wait_now(SW.bit()));
        assert_eq!(fair.tired, Tired::default());
    }
}
