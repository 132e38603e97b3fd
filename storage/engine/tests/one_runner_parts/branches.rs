//! Branches of clients: one of them prepares a transaction, any of them ends it, perhaps after a crash.

use super::client::{Actor, End};
use super::oracle::Trx;
use engine::{Branch, Xid};
use std::sync::Arc;

/// So many are prepared at a time: they are in slots that clients could have.
const BRANCHES_MAX: usize = 4;

/// A prepared branch, and its number in the oracle.
pub struct Held {
    pub trx: Trx,
    pub branch: Branch,
}

/// A branch's name by a number.
fn xid(name: u64) -> Xid {
    Xid::new(name, &name.to_be_bytes(), b"").expect("a short name")
}

/// The number that its name was made of.
pub fn name_of(branch: &Branch) -> u64 {
    branch.xid().format()
}

impl Actor {
    /// Whether this transaction is to be prepared. Who owns tables changes what they are, so its transactions are over by then.
    pub fn prepares(&mut self) -> bool {
        let may = self.world.prepares && !self.is_owner;
        may && self.world.branches().len() < BRANCHES_MAX && self.rng.chance(1, 4)
    }

    /// Prepares the transaction. `Err`: the power is off.
    pub fn prepare(&mut self) -> Result<(), ()> {
        let (trx, name) = (self.trx, self.rng.next_u64());
        self.world.oracle().preparing(trx, name);
        match self.client.prepare(xid(name)) {
            // It has written nothing, and is over.
            Ok(branch) if branch.trx_id().is_none() => self.world.oracle().committed(trx),
            Ok(branch) => {
                self.world.oracle().prepared(trx);
                self.world.count(|t| t.prepared += 1);
                self.world.branches().push(Held { trx, branch });
            }
            Err(e) => match self.end(e) {
                End::Off => return Err(()),
                End::Victim => {
                    self.world.oracle().not_prepared(trx);
                    return self.rollback();
                }
            },
        }
        Ok(())
    }

    /// Ends some branch, if there is one. `Err`: the power is off.
    pub fn end_a_branch(&mut self) -> Result<(), ()> {
        let world = Arc::clone(&self.world);
        let many = world.branches().len() as u64;
        if many == 0 {
            return Ok(());
        }
        let at = self.rng.below(many) as usize;
        let Held { trx, mut branch } = world.branches().swap_remove(at);
        let commit = self.rng.chance(1, 2);
        self.world.oracle().ending(trx, commit);
        let ended = match commit {
            true => self.client.commit_branch(&mut branch),
            false => self.client.rollback_branch(&mut branch),
        };
        match ended.map_err(|e| self.end(e)) {
            Ok(()) => {
                self.world.oracle().ended(trx, commit);
                self.world.count(|t| match commit {
                    true => t.branches_committed += 1,
                    false => t.branches_rolled_back += 1,
                });
            }
            Err(End::Off) => return Err(()),
            Err(End::Victim) => {
                assert!(branch.trx_id().is_some(), "a branch is gone, and its end was refused");
                self.world.oracle().prepared(trx);
                self.world.branches().push(Held { trx, branch });
            }
        }
        Ok(())
    }
}
