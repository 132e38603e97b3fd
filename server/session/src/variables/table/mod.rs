//! The system variables, one line each: name, scope, type and range, default, effect.
//!
//! 1. A line is one of three: its value acts, because code names the variable where it reads it; or it is
//!    `ignored`, or has its default `only`, with a sentence that says why. 2. What is in none of the lists does not
//!    exist. `docs/variables.md` is written from here.
//!
//! `F` marks what can only be given at start-up (command line or option file).

mod absent;
mod innodb;
mod performance;
mod server;
mod statements;

use super::Effect as E;
use super::kind::{Kind, Kind::*, OPTIMIZER_SWITCHES};
use super::{Scope::*, Variable};

const G: u64 = 1 << 30;
const M: u64 = 1 << 20;
const K: u64 = 1 << 10;
const U32: u64 = u32::MAX as u64;
const ALL: u64 = u64::MAX;
/// MySQL's longest time-outs: one year.
const YEAR: u64 = 31_536_000;
/// What `lock_wait_timeout` is unless somebody sets it: for ever.
pub const LOCK_WAIT_TIMEOUT_S: u64 = YEAR;

const ISOLATIONS: Kind =
    Enum(&["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]);
const SWITCH: Kind = Switches(OPTIMIZER_SWITCHES);

const NO_REPLICATION: &str = "There is no replication.";
const NO_ENCRYPTION: &str = "Files are not encrypted.";
const ONE_FOLDER: &str = "All files lie in the data folder.";
const CACHES: &str = "Its cache grows by need.";
const FACT: &str = "It tells what the server is.";

const fn v(name: &'static str, scope: super::Scope, kind: Kind, default: &'static str) -> Variable {
    Variable { name, scope, kind, default, fixed: false, effect: E::Read }
}

/// Not changeable at run time.
#[allow(non_snake_case)]
const fn F(name: &'static str, kind: Kind, default: &'static str) -> Variable {
    Variable { name, scope: Global, kind, default, fixed: true, effect: E::Read }
}

const fn e(
    name: &'static str,
    scope: super::Scope,
    kind: Kind,
    default: &'static str,
    effect: E,
) -> Variable {
    Variable { name, scope, kind, default, fixed: false, effect }
}

/// A number of the session that is computed when read.
const fn session(name: &'static str, effect: E) -> Variable {
    Variable { name, scope: Session, kind: Int(0, ALL), default: "0", fixed: true, effect }
}

/// A text of the session that no SET changes.
const fn told(name: &'static str, default: &'static str) -> Variable {
    Variable { name, scope: Session, kind: Text, default, fixed: true, effect: E::Read }
}

impl Variable {
    /// Its value is kept and shown, and changes nothing, for this reason.
    const fn ignored(self, reason: &'static str) -> Variable {
        Variable { effect: E::Ignored(reason), ..self }
    }

    /// No other value than its default can be had, for this reason.
    const fn only(self, reason: &'static str) -> Variable {
        Variable { effect: E::DefaultOnly(reason), ..self }
    }
}

const LISTS: [&[Variable]; 5] =
    [server::LIST, statements::LIST, innodb::LIST, performance::LIST, absent::LIST];

const COUNT: usize = {
    let (mut count, mut list) = (0, 0);
    while list < LISTS.len() {
        count += LISTS[list].len();
        list += 1;
    }
    count
};

/// Every variable.
pub const VARIABLES: &[Variable] = &{
    let mut all = [LISTS[0][0]; COUNT];
    let (mut at, mut list) = (0, 0);
    while list < LISTS.len() {
        let mut i = 0;
        while i < LISTS[list].len() {
            all[at] = LISTS[list][i];
            (at, i) = (at + 1, i + 1);
        }
        list += 1;
    }
    all
};
