//! Every cell of the compatibility and coverage matrices, against InnoDB's rules written down as flags.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use lock::{Kind, Mode, Shape};
use support::must_wait;

const KINDS: [Kind; 3] = [Kind::Record, Kind::Gap, Kind::NextKey];

fn shapes() -> Vec<Shape> {
    let modes = [Mode::Shared, Mode::Exclusive];
    let plain = modes.iter().flat_map(|m| KINDS.iter().map(|k| Shape::new(*m, *k)));
    plain.chain([Shape::INSERT]).collect()
}

#[test]
fn every_pair_conflicts_as_the_rules_say() {
    for supremum in [false, true] {
        for new in shapes() {
            for old in shapes() {
                let (says, must) = (new.waits_for(old, supremum), must_wait(new, old, supremum));
                assert_eq!(says, must, "{new} after {old}, supremum {supremum}");
            }
        }
    }
}

#[test]
fn what_covers_a_lock_conflicts_with_whatever_that_conflicts_with() {
    for supremum in [false, true] {
        for held in shapes() {
            for wanted in shapes().into_iter().filter(|w| held.covers(*w, supremum)) {
                for other in shapes() {
                    let kept_out = !other.waits_for(wanted, supremum);
                    assert!(kept_out || other.waits_for(held, supremum), "{held} {wanted} {other}");
                }
            }
        }
    }
    let (s, x) = (Mode::Shared, Mode::Exclusive);
    let covers = |a, b| Shape::covers(a, b, false);
    assert!(covers(Shape::new(x, Kind::NextKey), Shape::new(s, Kind::Record)));
    assert!(covers(Shape::new(x, Kind::NextKey), Shape::new(s, Kind::Gap)));
    assert!(!covers(Shape::new(s, Kind::NextKey), Shape::new(x, Kind::Record)));
    assert!(!covers(Shape::new(x, Kind::Record), Shape::new(x, Kind::NextKey)));
    assert!(!covers(Shape::new(x, Kind::NextKey), Shape::INSERT));
}

#[test]
fn locks_have_the_names_of_data_locks() {
    let name = |m, k, sup| Shape::new(m, k).name(sup);
    assert_eq!(name(Mode::Shared, Kind::Record, false), "S,REC_NOT_GAP");
    assert_eq!(name(Mode::Exclusive, Kind::Gap, false), "X,GAP");
    assert_eq!(name(Mode::Exclusive, Kind::NextKey, true), "X");
    assert_eq!(Shape::INSERT.name(false), "X,GAP,INSERT_INTENTION");
    assert_eq!(Shape::INSERT.name(true), "X,INSERT_INTENTION");
}
