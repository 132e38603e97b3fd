//! Hash join: the build side is kept by its keys, the probe side streams past it.
//!
//! 1. Build rows lie in one byte string; those of one key are a chain in the order in which they came.
//! 2. Beyond the limit both sides are parted by hash into temporary files, and the parts are joined one
//!    after the other. 3. A NULL in a key meets nothing, unless its equality is null-safe.

use super::keys::Rule;
use super::pack::Packer;
use super::table::{KeyTable, hash};
use super::{Operator, Run, Statement};
use crate::SqlError;
use crate::memory::Charge;
use crate::spill::{SpillFile, SpillReader};
use expr::{Expr, Frame};
use planner::query_plan::{JoinKey, JoinKind};

/// Parts of a join that does not fit.
const PARTS: usize = 32;
/// Less than this is not parted, in bytes.
const LEAST_BYTES: usize = 64 << 10;
/// The end of a chain.
const END: u32 = u32::MAX;

/// The kept rows of the build side.
struct Built {
    table: KeyTable,
    /// First and last row of each key.
    chains: Vec<(u32, u32)>,
    /// The row after each one with the same key.
    following: Vec<u32>,
    /// Where each row ends.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    charge: Charge,
}

impl Built {
    fn new(st: &Statement<'_>) -> Built {
        Built {
            table: KeyTable::default(),
            chains: Vec::new(),
            following: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
            charge: st.budget.charge(),
        }
    }

    fn add(&mut self, key: &[u8], row: &[u8]) {
        let n = self.ends.len() as u32;
        let (number, new) = self.table.insert(key, hash(key));
        if new {
            self.chains.push((n, n));
        } else {
            let chain = &mut self.chains[number];
            self.following[chain.1 as usize] = n;
            chain.1 = n;
        }
        self.following.push(END);
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
        let kept = self.table.bytes() + 12 * self.ends.len() + 8 * self.chains.len();
        self.charge.set(kept + self.bytes.len());
    }

    fn row(&self, n: u32) -> &[u8] {
        let n = n as usize;
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.bytes[start..self.ends[n]]
    }

    fn first(&self, key: &[u8]) -> u32 {
        self.table.find(key, hash(key)).map_or(END, |n| self.chains[n].0)
    }

    fn clear(&mut self) {
        self.table.clear();
        self.chains.clear();
        self.following.clear();
        self.ends.clear();
        self.bytes.clear();
        self.charge.set(0);
    }
}

/// Both sides in files, by the hash of the key.
struct Parts {
    build: Vec<SpillFile>,
    probe: Vec<SpillFile>,
    /// The part that is joined now, and the probe rows that are left of it.
    at: usize,
    reader: Option<SpillReader>,
}

fn part_of(key: &[u8]) -> usize {
    // Other bits than those that the table looks at first.
    (hash(key) >> 40) as usize % PARTS
}

/// A hash join.
pub struct HashJoin<'p> {
    pub(super) kind: JoinKind,
    pub(super) probe: Box<dyn Operator + 'p>,
    pub(super) build: Box<dyn Operator + 'p>,
    pub(super) keys: &'p [JoinKey],
    pub(super) on: Option<&'p Expr>,
    pub(super) probe_packer: Packer,
    pub(super) build_packer: Packer,
    pub(super) state: State,
}

/// What a hash join keeps while it runs.
#[derive(Default)]
pub struct State {
    built: Option<Built>,
    parts: Option<Parts>,
    /// The next row of the chain of the present probe row, and whether it had a partner already;
    /// `None`: the next probe row is wanted.
    chain: Option<(u32, bool)>,
    key: Vec<u8>,
    row: Vec<u8>,
    record: Vec<u8>,
}

impl<'p> HashJoin<'p> {
    /// Puts the key of the frame's row into `self.state.key`; `false`: it meets nothing.
    fn key(&mut self, run: &mut Run<'_>, frame: &Frame, build: bool) -> Result<bool, SqlError> {
        let key = &mut self.state.key;
        key.clear();
        for part in self.keys {
            let side = if build { &part.build } else { &part.probe };
            let value = run.eval(&side.expr, frame)?;
            let value = value.get();
            if value.is_null() && !part.null_safe {
                return Ok(false);
            }
            let rule = Rule::both(&part.probe.ty, &part.build.ty, part.collation);
            rule.append(&value, false, key);
        }
        Ok(true)
    }

    fn read_build_side(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        let mut built = Built::new(run.st);
        self.build.open(run, frame)?;
        while self.build.next(run, frame)? {
            run.tick()?;
            if !self.key(run, frame, true)? {
                continue;
            }
            self.state.row.clear();
            self.build_packer.pack(frame, &mut self.state.row)?;
            if let Some(parts) = &mut self.state.parts {
                let file = &mut parts.build[part_of(&self.state.key)];
                file.append_record(&[&self.state.key])?;
                file.append_record(&[&self.state.row])?;
                continue;
            }
            built.add(&self.state.key, &self.state.row);
            if built.charge.is_over() && built.bytes.len() >= LEAST_BYTES {
                self.state.parts = Some(part(run.st, &mut built)?);
            }
        }
        self.state.built = Some(built);
        Ok(())
    }

    /// Moves the probe side into the parts.
    fn part_probe_side(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        while self.probe.next(run, frame)? {
            run.tick()?;
            // What meets nothing has the empty key, which no build row has.
            if !self.key(run, frame, false)? {
                self.state.key.clear();
            }
            self.state.row.clear();
            self.probe_packer.pack(frame, &mut self.state.row)?;
            if let Some(parts) = &mut self.state.parts {
                let file = &mut parts.probe[part_of(&self.state.key)];
                file.append_record(&[&self.state.key])?;
                file.append_record(&[&self.state.row])?;
            }
        }
        self.probe_packer.begin(frame);
        Ok(())
    }

    /// Reads the next probe row out of the parts.
    fn next_parted(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let (Some(parts), Some(built)) = (&mut self.state.parts, &mut self.state.built) else {
            return Ok(false);
        };
        loop {
            if let Some(reader) = &mut parts.reader {
                if reader.next(&mut self.state.key)? {
                    reader.next(&mut self.state.row)?;
                    self.probe_packer.unpack(&self.state.row, frame)?;
                    return Ok(true);
                }
                parts.reader = None;
                parts.at += 1;
            }
            if parts.at >= PARTS {
                return Ok(false);
            }
            built.clear();
            let mut reader = parts.build[parts.at].reader(0)?;
            while reader.next(&mut self.state.record)? {
                run.tick()?;
                reader.next(&mut self.state.row)?;
                built.add(&self.state.record, &self.state.row);
                built.charge.check()?;
            }
            parts.reader = Some(parts.probe[parts.at].reader(0)?);
        }
    }

    /// The next probe row: its leaves are filled and its chain is known.
    fn next_probe(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let found = match self.state.parts {
            Some(_) => {
                let found = self.next_parted(run, frame)?;
                found.then_some(!self.state.key.is_empty())
            }
            None if self.probe.next(run, frame)? => Some(self.key(run, frame, false)?),
            None => None,
        };
        let Some(meets) = found else { return Ok(false) };
        let built = self.state.built.as_ref().filter(|_| meets);
        let first = built.map_or(END, |built| built.first(&self.state.key));
        self.state.chain = Some((first, false));
        Ok(true)
    }
}

/// Moves what was kept into files.
fn part(st: &Statement<'_>, built: &mut Built) -> Result<Parts, SqlError> {
    let files = || (0..PARTS).map(|_| SpillFile::new(st.client)).collect::<Result<Vec<_>, _>>();
    let mut parts = Parts { build: files()?, probe: files()?, at: 0, reader: None };
    for n in 0..built.table.len() {
        let key = built.table.key(n);
        let file = &mut parts.build[part_of(key)];
        let mut row = built.chains[n].0;
        while row != END {
            file.append_record(&[key])?;
            file.append_record(&[built.row(row)])?;
            row = built.following[row as usize];
        }
    }
    built.clear();
    Ok(parts)
}

impl Operator for HashJoin<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.state = State::default();
        self.read_build_side(run, frame)?;
        let empty = self.state.built.as_ref().is_none_or(|built| built.ends.is_empty());
        self.build_packer.begin(frame);
        if empty
            && self.state.parts.is_none()
            && matches!(self.kind, JoinKind::Inner | JoinKind::Semi)
        {
            // Nothing will be found: the probe side need not be read.
            self.state.built = None;
            return Ok(());
        }
        self.probe.open(run, frame)?;
        if self.state.parts.is_some() {
            self.part_probe_side(run, frame)?;
        }
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        if self.state.built.is_none() {
            return Ok(false);
        }
        loop {
            let Some((mut row, had_partner)) = self.state.chain.take() else {
                if !self.next_probe(run, frame)? {
                    self.state = State::default();
                    return Ok(false);
                }
                continue;
            };
            run.tick()?;
            let mut found = false;
            while row != END && !found {
                let Some(built) = &self.state.built else { return Ok(false) };
                if self.on.is_some() || matches!(self.kind, JoinKind::Inner | JoinKind::Left) {
                    self.build_packer.unpack(built.row(row), frame)?;
                }
                row = built.following[row as usize];
                found = run.passes(self.on, frame)?;
            }
            match self.kind {
                JoinKind::Inner | JoinKind::Left if found => {
                    self.state.chain = Some((row, true));
                    return Ok(true);
                }
                JoinKind::Semi if found => return Ok(true),
                JoinKind::Anti if !found => return Ok(true),
                JoinKind::Left if !had_partner => {
                    self.build_packer.make_null(frame);
                    return Ok(true);
                }
                _ => {}
            }
        }
    }

    fn close(&mut self) {
        self.state = State::default();
        self.probe.close();
        self.build.close();
    }
}
