use super::*;

/// metadata_locking.md 3.1: request (row) against granted (column).
const GRANTED: &str = "
      S SH SR SW SWLP SU SRO SNW SNRW X
S     + + + + + + + + + -
SH    + + + + + + + + + -
SR    + + + + + + + + - -
SW    + + + + + + - - - -
SWLP  + + + + + + - - - -
SU    + + + + + - + - - -
SRO   + + + - - + + + - -
SNW   + + + - - - + - - -
SNRW  + + - - - - - - - -
X     - - - - - - - - - -";

/// 3.2: request against pending.
const PENDING: &str = "
      S SH SR SW SWLP SU SRO SNW SNRW X
S     + + + + + + + + + -
SH    + + + + + + + + + +
SR    + + + + + + + + - -
SW    + + + + + + + - - -
SWLP  + + + + + + - - - -
SU    + + + + + + + + + -
SRO   + + + - + + + + - -
SNW   + + + + + + + + + -
SNRW  + + + + + + + + + -
X     + + + + + + + + + +";

/// 3.3.
const SCOPED_GRANTED: &str = "
      IX S X
IX    + - -
S     - + -
X     - - -";

const SCOPED_PENDING: &str = "
      IX S X
IX    + - -
S     + + -
X     + + +";

type Conflicts = fn(Mode, Namespace) -> Modes;

fn print(namespace: Namespace, conflicts: Conflicts, order: &[Mode]) -> String {
    let names: Vec<String> = order.iter().map(|m| format!("{m:?}")).collect();
    let mut out = format!("\n      {}", names.join(" "));
    for (row, name) in order.iter().zip(&names) {
        let bits = conflicts(*row, namespace);
        let cells: Vec<&str> =
            order.iter().map(|c| if bits & c.bit() == 0 { "+" } else { "-" }).collect();
        out.push_str(&format!("\n{name:<6}{}", cells.join(" ")));
    }
    out
}

fn modes(namespace: Namespace) -> Vec<Mode> {
    Mode::ALL.into_iter().filter(|m| m.valid_in(namespace)).collect()
}

#[test]
fn matrices_are_the_specifications() {
    let object = modes(Namespace::Table);
    assert_eq!(print(Namespace::Table, Mode::conflicts_granted, &object), GRANTED);
    assert_eq!(print(Namespace::Table, Mode::conflicts_pending, &object), PENDING);
    let scoped = [Mode::IX, Mode::S, Mode::X];
    assert_eq!(print(Namespace::Schema, Mode::conflicts_granted, &scoped), SCOPED_GRANTED);
    assert_eq!(print(Namespace::Schema, Mode::conflicts_pending, &scoped), SCOPED_PENDING);
}

#[test]
fn rules_1_and_2_and_the_closed_masks() {
    for namespace in [Namespace::Table, Namespace::Schema] {
        for m in modes(namespace) {
            let (granted, pending) =
                (m.conflicts_granted(namespace), m.conflicts_pending(namespace));
            assert_eq!(pending & !granted, 0, "rule 1 for {m:?}");
            for w in modes(namespace).into_iter().filter(|w| w.weak_in(namespace)) {
                let both = w.weak_in(namespace) && m.weak_in(namespace);
                assert!(!both || (granted | pending) & w.bit() == 0, "rule 2 for {m:?} {w:?}");
            }
        }
    }
    // engine.md amendment 3.
    let closed = |m: Mode| m.closes(Namespace::Table);
    assert_eq!(closed(SU), 0);
    assert_eq!(closed(SRO), set(&[SW, SWLP]));
    assert_eq!(closed(SNW), set(&[SW, SWLP]));
    assert_eq!(closed(SNRW), set(&[SR, SW, SWLP]));
    assert_eq!(closed(X), set(&[S, SH, SR, SW, SWLP]));
    assert_eq!(S.closes(Namespace::Schema), set(&[IX]));
    assert_eq!(X.closes(Namespace::Schema), set(&[IX]));
}

#[test]
fn stronger_covers_weaker() {
    let t = Namespace::Table;
    assert!(Mode::ALL.iter().all(|m| !m.valid_in(t) || X.covers(*m, t)));
    assert!(SNRW.covers(SW, t) && SW.covers(SR, t).eq(&true) && SR.covers(S, t));
    assert!(!SR.covers(SW, t) && !SU.covers(SNW, t) && !SNW.covers(X, t));
    assert_eq!(Namespace::from_u8(14), Some(Namespace::AclCache));
    assert_eq!((Namespace::from_u8(0), Namespace::from_u8(15)), (None, None));
    assert_eq!((Mode::from_u8(0), Mode::from_u8(11), Mode::from_u8(12)), (None, Some(IX), None));
}

#[test]
fn the_documentation_says_of_each_namespace_whether_it_is_active() {
    let lines = include_str!("../../../../docs/locking.md").lines();
    let section = lines.skip_while(|l| *l != "## Namespaces").skip(1);
    let rows = section.take_while(|l| !l.starts_with("## ")).filter_map(|l| l.strip_prefix("| "));
    let listed: Vec<(&str, &str)> =
        rows.filter_map(|l| l.strip_suffix(" |")?.split_once(" | ")).collect();
    let state = |name: &str| {
        let row = listed.iter().find(|(names, _)| names.split(", ").any(|n| n == name));
        row.unwrap_or_else(|| panic!("{name} is not listed")).1.rsplit(" | ").next()
    };
    let others = ["LOCKING SERVICE", "SRID", "COLUMN STATISTICS", "RESOURCE GROUPS"];
    for name in NAMESPACES.map(Namespace::object_type).into_iter().chain(others) {
        let state = state(name).unwrap_or_default();
        assert!(
            state == "active" || state.starts_with("with ") || state.starts_with("when "),
            "{name}"
        );
    }
}
