//! A session's programs of texts.
//!
//! 1. A text finds a program by its key (the text without its literals), byte for byte, in the surroundings that planning
//! looks at; then the literals that are no parameters must be the same. Who takes it compares its tables and what was
//! measured. 2. A session owns its use of the programs that it runs: a statement that it has run before writes nothing that
//! another session reads. 3. The texts that came last are recognised by what lies between their literals, before anything
//! of them is read ([`Templates`]).

use super::{Descriptor, Digested};
use crate::shared_programs::{Key, Pinned, Surroundings, VARIANTS_MAX};
use executor::Prepared;
use expr::build::Settings;
use instrument::{Counter, Piece, count};
use parser::SqlMode;
use parser::cut::{self, Cut, CutLiteral};
use parser::template::Templates;
use std::collections::HashMap;

/// Texts whose programs a session keeps.
const TEXTS_MAX: usize = 64;

/// A program of a text.
pub(crate) struct CachedProgram {
    pub pinned: Pinned,
    pub prepared: Prepared,
    pub kind: &'static Descriptor,
    /// Where its statements' figures belong.
    pub digest: Digested,
}

impl CachedProgram {
    /// A program that a session keeps.
    pub fn new(pinned: Pinned, prepared: Prepared, kind: &'static Descriptor) -> CachedProgram {
        let digest = Digested::of(prepared.digest().cloned());
        CachedProgram { pinned, prepared, kind, digest }
    }
}

/// The programs of one key.
struct Text {
    key: Box<[u8]>,
    // One is taken out for its run: a pointer moves.
    #[allow(clippy::vec_box)]
    programs: Vec<Box<CachedProgram>>,
    /// When it was looked for last, counted in look-ups.
    used: u64,
    memory: Piece,
}

instrument::classes! {
    static MEMORY: SessionMemory = "memory/sql/session_programs";
}

impl Text {
    /// Counts its memory as it is now, without that of the programs that sessions share.
    fn tell(&mut self) {
        let cached = self.programs.len() * size_of::<CachedProgram>();
        self.memory.set(size_of::<Text>() + 2 * self.key.len() + cached);
    }
}

/// Programs of a session's texts.
#[derive(Default)]
pub(crate) struct Programs {
    positions: HashMap<Box<[u8]>, usize>,
    texts: Vec<Text>,
    templates: Templates,
    lookups: u64,
    /// Those in which all of these were made.
    surroundings: Surroundings,
    /// Settings as the variables are.
    pub settings: Settings,
}

/// What a text was found to be.
#[derive(Default)]
pub(crate) struct Scan {
    cut: Cut,
    /// The literals were found by a template: there is no key.
    is_recognised: bool,
    /// Where the programs of its key are, if there are any.
    pub place: Option<usize>,
}

impl Scan {
    /// The literals.
    #[inline]
    pub fn literals(&self) -> &[CutLiteral] {
        self.cut.literals()
    }
}

impl Programs {
    /// Forgets everything unless it was made in these surroundings.
    #[inline]
    pub fn keep_for(&mut self, settings: Settings, database: Option<&str>) {
        let now = &self.surroundings;
        if now.settings != settings || now.database.as_deref() != database {
            self.positions.clear();
            self.texts.clear();
            self.templates.clear();
            self.surroundings = Surroundings { settings, database: database.map(str::to_string) };
        }
    }

    /// Finds the programs of a text; false when it has no key.
    #[inline]
    pub fn scan(&mut self, sql: &[u8], mode: SqlMode, scan: &mut Scan) -> bool {
        let literals = scan.cut.literals_mut();
        let known = self.templates.find(sql, literals);
        scan.is_recognised = known.is_some();
        if let Some(place) = known {
            self.lookups += 1;
            self.texts[place].used = self.lookups;
            scan.place = known;
            return true;
        }
        self.read(sql, mode, scan)
    }

    /// Reads the tokens of a text for its key.
    fn read(&mut self, sql: &[u8], mode: SqlMode, scan: &mut Scan) -> bool {
        scan.is_recognised = false;
        if !cut::cut(sql, mode, &mut scan.cut) {
            return false;
        }
        scan.place = self.find(scan.cut.key());
        if let Some(place) = scan.place {
            self.templates.add(sql, scan.cut.literals(), place);
        }
        true
    }

    /// The key of a text among all sessions. A text that was recognised is read for it.
    pub fn key(&mut self, sql: &[u8], mode: SqlMode, scan: &mut Scan) -> Key {
        if scan.is_recognised {
            self.read(sql, mode, scan);
        }
        let surroundings = self.surroundings.clone();
        Key { text: scan.cut.key().into(), is_cut: true, parameters: Box::default(), surroundings }
    }

    /// Position of a key's programs.
    fn find(&mut self, key: &[u8]) -> Option<usize> {
        let place = *self.positions.get(key)?;
        self.lookups += 1;
        self.texts[place].used = self.lookups;
        Some(place)
    }

    /// Removes and returns a program for a text's literals, of those from the `from`th on; where it was.
    #[inline]
    pub fn take(
        &mut self,
        place: usize,
        from: usize,
        sql: &[u8],
        literals: &[CutLiteral],
    ) -> Option<(usize, Box<CachedProgram>)> {
        let programs = &mut self.texts[place].programs;
        let mut rest = programs.iter().skip(from);
        let found = rest.position(|cached| cached.pinned.are_in(sql, literals))? + from;
        Some((found, programs.swap_remove(found)))
    }

    /// Puts a program back that was right; it is looked at last from now on.
    #[inline]
    pub fn put_back(&mut self, place: usize, cached: Box<CachedProgram>) {
        self.texts[place].programs.push(cached);
    }

    /// Puts a program back where it was.
    pub fn put_back_at(&mut self, place: usize, at: usize, cached: Box<CachedProgram>) {
        let programs = &mut self.texts[place].programs;
        programs.push(cached);
        let last = programs.len() - 1;
        programs.swap(at, last);
    }

    /// Keeps a program; the least recently used text goes when there are too many, the oldest program of a text.
    pub fn keep(&mut self, key: &[u8], cached: Box<CachedProgram>) {
        let place = self.find(key).unwrap_or_else(|| self.add(key));
        let programs = &mut self.texts[place].programs;
        if programs.len() == VARIANTS_MAX {
            programs.remove(0);
            count(Counter::LimpidPlanCacheEvictions, 1);
        }
        programs.push(cached);
        self.texts[place].tell();
    }

    fn add(&mut self, key: &[u8]) -> usize {
        self.lookups += 1;
        let (programs, memory) = (Vec::new(), Piece::new(&MEMORY));
        let text = Text { key: key.into(), programs, used: self.lookups, memory };
        let place = if self.texts.len() < TEXTS_MAX {
            self.texts.push(text);
            self.texts.len() - 1
        } else {
            let oldest = self.texts.iter().enumerate().min_by_key(|(_, text)| text.used);
            let place = oldest.map_or(0, |(place, _)| place);
            let old = std::mem::replace(&mut self.texts[place], text);
            self.positions.remove(&old.key);
            self.templates.forget(place);
            count(Counter::LimpidPlanCacheEvictions, old.programs.len() as u64);
            place
        };
        self.positions.insert(key.into(), place);
        place
    }
}
