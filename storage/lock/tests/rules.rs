//! Every cell of the compatibility and coverage matrices, against InnoDB's rules written down as flags.

use lock::{Kind, Mode, Shape};

const KINDS: [Kind; 3] = [Kind::Record, Kind::Gap, Kind::NextKey];

fn shapes() -> Vec<Shape> {
    let modes = [Mode::Shared, Mode::Exclusive];
    let plain = modes.iter().flat_map(|m| KINDS.iter().map(|k| Shape::new(*m, *k)));
    plain.chain([Shape::INSERT]).collect()
}

/// The documented rules, one after the other, as they are usually told.
fn must_wait(new: Shape, old: Shape, supremum: bool) -> bool {
    let insert = |s: Shape| s.kind == Kind::InsertIntention;
    let gap_only = |s: Shape| matches!(s.kind, Kind::Gap | Kind::InsertIntention);
    if new.mode == Mode::Shared && old.mode == Mode::Shared {
        return false;
    }
    // A gap lock that is no insert intention waits for nothing.
    if (supremum || gap_only(new)) && !insert(new) {
        return false;
    }
    // A lock on a record does not wait for a gap lock.
    if !insert(new) && gap_only(old) {
        return false;
    }
    // A lock on a gap does not wait for one on a record alone.
    if gap_only(new) && old.kind == Kind::Record && !supremum {
        return false;
    }
    !insert(old)
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
