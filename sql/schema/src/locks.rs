//! `data_locks`, `data_lock_waits` and `INNODB_TRX`: who holds which row locks, and who waits for whom.
//!
//! 1. A row that its transaction has inserted is locked without a lock that could be listed, until somebody
//!    wants it, as in MySQL. One that it has updated or deleted has no lock here either, where MySQL has one: those
//!    are listed by what undo says. 2. A table is locked by intention wherever a row of it is
//!    locked or written; nobody waits for such a lock. 3. Lock ids are opaque.

use crate::information::{Cell, Rows};
use catalog::{Catalog, Definition, ProcessRow, ReadContext, TransactionRow};
use engine::{
    Abandoned, Engine, LockInfo, OwnerInfo, Parked, Snapshot, Table, TrxProgress, Undoing,
};
use mdl::Namespace;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;
use value::{KeyPart, Kind};

/// Whoever has written nothing has no id; InnoDB shows such large ones then.
const UNNAMED: u64 = 1 << 48;

/// Tables and indexes by the ids that locks name.
pub struct LockNames {
    /// Definition and number of an index.
    indexes: HashMap<u64, (Arc<Definition>, usize)>,
    tables: HashMap<u64, Arc<Definition>>,
}

impl LockNames {
    /// Of all stored tables that are open, or that a transaction has used.
    pub fn of(catalog: &Catalog) -> LockNames {
        let mut names = LockNames { indexes: HashMap::new(), tables: HashMap::new() };
        for lock in catalog.mdl().locks() {
            if lock.namespace == Namespace::Table
                && let Ok(Some(definition)) = catalog.definition(&lock.schema, &lock.name)
                && definition.def.view.is_none()
                && definition.open(catalog.engine()).is_ok()
            {
                names.add(&definition);
            }
        }
        catalog.in_memory().iter().for_each(|definition| names.add(definition));
        names
    }

    fn add(&mut self, definition: &Arc<Definition>) {
        let Some(table) = definition.table() else { return };
        let clustered = (table.spec().clustered_id.0, 0);
        let others =
            (1..table.indexes()).filter_map(|n| table.index_spec(n).map(|spec| (spec.id.0, n)));
        for (id, number) in std::iter::once(clustered).chain(others) {
            self.indexes.insert(id, (Arc::clone(definition), number));
        }
        self.tables.insert(table.id().0, Arc::clone(definition));
    }

    /// `index PRIMARY of table `d`.`t``, for the monitor's text.
    pub fn words(&self, index: base::IndexId) -> String {
        match self.indexes.get(&index.0) {
            None => format!("index {} of a table that is gone", index.0),
            Some((definition, number)) => {
                let def = &definition.def;
                let name = index_name(definition, *number);
                format!("index {name} of table `{}`.`{}`", def.schema, def.name)
            }
        }
    }
}

/// What an index of a table in memory is called: schema, table, name.
pub fn names_of_index(catalog: &Catalog, index: base::IndexId) -> Option<[String; 3]> {
    catalog.in_memory().iter().find_map(|definition| {
        let table = definition.table()?;
        let number = match table.spec().clustered_id == index {
            true => 0,
            false => (1..table.indexes())
                .find(|n| table.index_spec(*n).is_some_and(|spec| spec.id == index))?,
        };
        let (schema, name) = (definition.def.schema.clone(), definition.def.name.clone());
        Some([schema, name, index_name(definition, number)])
    })
}

fn index_name(definition: &Definition, number: usize) -> String {
    let def = &definition.def;
    let id = definition.table().and_then(|t| t.index_spec(number)).map(|spec| spec.id);
    let found = def.indexes.iter().find(|i| match number {
        0 => i.clustered,
        _ => Some(i.id) == id,
    });
    found.map_or_else(|| "GEN_CLUST_INDEX".to_string(), |i| i.name.clone())
}

/// What a lock is of.
#[derive(Clone, Copy)]
enum Of<'s> {
    Table { exclusive: bool },
    Record(&'s LockInfo),
}

/// A lock with its names.
struct Shown<'s> {
    slot: usize,
    definition: Arc<Definition>,
    of: Of<'s>,
}

/// A session and how far its transaction is.
struct Owner {
    process: ProcessRow,
    progress: TrxProgress,
}

impl Owner {
    fn transaction(&self) -> u64 {
        match self.progress.trx.0 {
            0 => UNNAMED + self.process.id,
            id => id,
        }
    }
}

/// Who is who, ordered by slot.
struct Owners(Vec<Owner>);

/// What stands for the session of a prepared transaction (XA), which has none.
fn parked(of: Parked) -> ProcessRow {
    let transaction = TransactionRow {
        since_us: of.since_us as i64,
        read_only: false,
        unique_checks: true,
        foreign_key_checks: true,
        isolation: "REPEATABLE READ",
    };
    ProcessRow { slot: of.slot, transaction, ..ProcessRow::default() }
}

impl Owners {
    fn of(context: &ReadContext<'_>) -> Owners {
        let engine = context.catalog.engine();
        let owner =
            |process: ProcessRow| Owner { progress: engine.progress(process.slot), process };
        let sessions = context.viewer.processes().into_iter();
        let parked = engine.parked().into_iter().map(parked);
        let mut owners: Vec<Owner> = sessions.chain(parked).map(owner).collect();
        owners.sort_by_key(|o| o.process.slot);
        Owners(owners)
    }

    fn find(&self, slot: usize) -> Option<&Owner> {
        let at = self.0.binary_search_by_key(&slot, |o| o.process.slot).ok()?;
        self.0.get(at)
    }

    fn thread(&self, slot: usize) -> Option<u64> {
        self.find(slot).map(|o| o.process.thread_id).filter(|id| *id != 0)
    }

    fn transaction(&self, slot: usize) -> u64 {
        self.find(slot).map_or(UNNAMED, Owner::transaction)
    }
}

/// All locks: first those of tables, then those of records.
fn shown<'s>(
    snapshot: &'s Snapshot,
    owners: &Owners,
    names: &LockNames,
) -> (Vec<Shown<'s>>, Vec<Shown<'s>>) {
    let mut tables: BTreeSet<(usize, u64, bool)> = BTreeSet::new();
    let mut records = Vec::new();
    let is_exclusive = |mode| mode == engine::LockMode::Exclusive;
    for Owner { process, progress } in &owners.0 {
        let intended = progress.tables.iter();
        tables.extend(intended.map(|i| (process.slot, i.table.0, is_exclusive(i.mode))));
    }
    for lock in &snapshot.locks {
        let Some((definition, _)) = names.indexes.get(&lock.index.0) else { continue };
        if let Some(table) = definition.table() {
            // Of a transaction that has ended meanwhile, or has more tables than are shown.
            let (slot, table) = (lock.slot, table.id().0);
            if tables.range((slot, table, false)..=(slot, table, true)).next().is_none() {
                tables.insert((slot, table, is_exclusive(lock.shape.mode)));
            }
        }
        let of = Of::Record(lock);
        records.push(Shown { slot: lock.slot, definition: Arc::clone(definition), of });
    }
    let table = |(slot, id, exclusive): (usize, u64, bool)| {
        let definition = Arc::clone(names.tables.get(&id)?);
        Some(Shown { slot, definition, of: Of::Table { exclusive } })
    };
    (tables.into_iter().filter_map(table).collect(), records)
}

fn intention(exclusive: bool) -> &'static str {
    if exclusive { "IX" } else { "IS" }
}

fn lock_id(slot: usize, of: Of<'_>, definition: &Definition) -> String {
    let table = definition.table().map_or(0, |t| t.id().0);
    match of {
        Of::Table { exclusive } => format!("{slot}:{table}:{}", intention(exclusive)),
        Of::Record(lock) => {
            let mut id = format!("{slot}:{table}:{}:", lock.index.0);
            match &lock.key {
                None => id.push_str("supremum"),
                Some(key) => id.push_str(&format!("{:016x}", hash(key))),
            }
            let _ = write!(id, ":{}", lock.shape.name(lock.key.is_none()));
            if lock.waiting {
                id.push_str(":waiting");
            }
            id
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

/// Adds the rows that were updated and deleted without a lock.
fn add_changed_rows(snapshot: &mut Snapshot, engine: &Engine, names: &LockNames) {
    // A list of locks is no place to tell of damage.
    let Ok(changed) = engine.changed_rows() else { return };
    let has_record = |l: &&LockInfo| {
        !l.waiting && matches!(l.shape.name(l.key.is_none()), "X" | "X,REC_NOT_GAP")
    };
    let listed = snapshot.locks.iter().filter(has_record);
    let mut listed: HashSet<_> =
        listed.filter_map(|l| Some((l.slot, l.index, l.key.clone()?))).collect();
    for row in changed {
        let definition = names.tables.get(&row.table.0);
        let Some(table) = definition.and_then(|d| d.table()) else { continue };
        let index = table.spec().clustered_id;
        if listed.insert((row.slot, index, row.key.clone())) {
            snapshot.locks.push(row.lock(index));
        }
    }
}

/// Adds the locks that are kept as runs, row by row, as MySQL shows them.
fn add_runs(snapshot: &mut Snapshot, engine: &Engine, names: &LockNames) {
    for run in std::mem::take(&mut snapshot.runs) {
        let Some((definition, number)) = names.indexes.get(&run.index.0) else { continue };
        let Some(table) = definition.table() else { continue };
        let mut found = |lock| snapshot.locks.push(lock);
        // A list of locks is no place to tell of damage.
        if engine.locks_of_run(table, *number, &run, &mut found).is_err() {
            return;
        }
    }
}

pub(crate) fn data_locks(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let names = LockNames::of(context.catalog);
    let owners = Owners::of(context);
    let mut snapshot = context.catalog.engine().locks().snapshot();
    add_runs(&mut snapshot, context.catalog.engine(), &names);
    add_changed_rows(&mut snapshot, context.catalog.engine(), &names);
    let (tables, records) = shown(&snapshot, &owners, &names);
    for lock in tables.iter().chain(&records) {
        let def = &lock.definition.def;
        let (index, ty, mode, waiting, data) = match lock.of {
            Of::Table { exclusive } => (None, "TABLE", intention(exclusive), false, None),
            Of::Record(info) if info.key.as_deref() == Some(&[]) => {
                (None, "TABLE", "AUTO_INC", info.waiting, None)
            }
            Of::Record(info) => {
                let number = names.indexes.get(&info.index.0).map_or(0, |(_, n)| *n);
                let data = match &info.key {
                    None => Some("supremum pseudo-record".to_string()),
                    Some(key) => key_text(context.catalog, &lock.definition, number, key),
                };
                let index = Some(index_name(&lock.definition, number));
                (index, "RECORD", info.shape.name(info.key.is_none()), info.waiting, data)
            }
        };
        rows.push(&[
            "INNODB".into(),
            lock_id(lock.slot, lock.of, &lock.definition).into(),
            owners.transaction(lock.slot).into(),
            owners.thread(lock.slot).into(),
            1_u64.into(),
            (&def.schema).into(),
            (&def.name).into(),
            Cell::Null,
            Cell::Null,
            index.into(),
            (lock.slot as u64 + 1).into(),
            ty.into(),
            mode.into(),
            if waiting { "WAITING" } else { "GRANTED" }.into(),
            data.into(),
        ]);
    }
}

pub(crate) fn data_lock_waits(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let names = LockNames::of(context.catalog);
    let owners = Owners::of(context);
    let snapshot = context.catalog.engine().locks().snapshot();
    for (waiting, blocking) in &snapshot.waits {
        let side = |position: usize| {
            let lock = snapshot.locks.get(position)?;
            let (definition, _) = names.indexes.get(&lock.index.0)?;
            Some([
                lock_id(lock.slot, Of::Record(lock), definition).into(),
                owners.transaction(lock.slot).into(),
                owners.thread(lock.slot).into(),
                1_u64.into(),
                (lock.slot as u64 + 1).into(),
            ])
        };
        let (Some(waiting), Some(blocking)) = (side(*waiting), side(*blocking)) else { continue };
        let cells: Vec<Cell<'_>> =
            std::iter::once("INNODB".into()).chain(waiting).chain(blocking).collect();
        rows.push(&cells);
    }
}

/// The values of a key as InnoDB writes them; `None`: its row is gone or has another key by now.
fn key_text(
    catalog: &Catalog,
    definition: &Definition,
    number: usize,
    key: &[u8],
) -> Option<String> {
    let table: &Table = definition.table()?;
    let spec = table.spec();
    let parts_of = |n: usize| table.key(n).map_or(&[][..], |spec| &spec.parts);
    let mut parts: Vec<KeyPart> = parts_of(number).to_vec();
    let own = parts.len();
    let is_new = |p: &&KeyPart| number > 0 && parts_of(number).iter().all(|o| o.column != p.column);
    let behind: Vec<KeyPart> = parts_of(0).iter().filter(is_new).copied().collect();
    parts.extend(behind);
    let hidden = table.key(0).is_none().then(|| &key[key.len().saturating_sub(6)..]);
    let mut ends = Vec::new();
    value::KeySpec::new(parts[..own].to_vec()).part_ends(&spec.columns, key, &mut ends);
    let mut row = Vec::new();
    let known = catalog.engine().row_of_entry(table, number, key, &mut row).unwrap_or(false);
    let mut text = String::new();
    for (n, part) in parts.iter().enumerate() {
        let from = n.checked_sub(1).and_then(|n| ends.get(n)).copied().unwrap_or(0);
        let bytes = ends.get(n).and_then(|end| key.get(from..*end));
        let ty = &spec.columns[part.column];
        let whole = bytes.and_then(|bytes| integer(ty, part, bytes));
        let value = match whole {
            Some(text) => text,
            None if known => printed(table, &row, part)?,
            None => return None,
        };
        let _ = write!(text, "{}{value}", if text.is_empty() { "" } else { ", " });
    }
    if let Some(id) = hidden {
        text.push_str(if text.is_empty() { "" } else { ", " });
        hex(id, &mut text);
    }
    Some(text)
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push_str("0x");
    for byte in bytes {
        let _ = write!(out, "{byte:02X}");
    }
}

/// An integer out of its key.
fn integer(ty: &value::ColumnType, part: &KeyPart, bytes: &[u8]) -> Option<String> {
    let flip = if part.descending { 0xFF } else { 0 };
    let mut bytes: Vec<u8> = bytes.iter().map(|b| b ^ flip).collect();
    if ty.nullable && bytes.remove(0) == 0 {
        return Some("NULL".into());
    }
    let width = ty.kind.int_bytes().filter(|width| *width == bytes.len())?;
    if !matches!(
        ty.kind,
        Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt
    ) {
        return None;
    }
    let raw = bytes.iter().fold(0_i128, |n, b| n << 8 | i128::from(*b));
    let half = 1_i128 << (8 * width - 1);
    Some(if ty.unsigned { raw } else { raw - half }.to_string())
}

/// A part's value out of a row.
fn printed(table: &Table, row: &[u8], part: &KeyPart) -> Option<String> {
    let value = table.layout().decode(row, part.column).ok()?;
    let ty = &table.spec().columns[part.column];
    Some(match value {
        value::Datum::Null => "NULL".into(),
        value::Datum::Bytes(bytes) if ty.kind.is_binary_string() => {
            let mut text = String::new();
            hex(bytes, &mut text);
            text
        }
        value::Datum::Bytes(bytes) => {
            let bytes = match part.prefix_chars {
                Some(chars) => ty.collation.prefix(bytes, chars as usize),
                None => bytes,
            };
            format!("'{}'", String::from_utf8_lossy(bytes).replace('\'', "''"))
        }
        other => value::format::to_text(&other),
    })
}

/// `INNODB_TRX`: transactions that go on, statements that are one and have locks or have written, and what is rolled
/// back without a session.
pub(crate) fn transactions(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let engine = context.catalog.engine();
    let names = LockNames::of(context.catalog);
    let owners = Owners::of(context);
    let snapshot = engine.locks().snapshot();
    let mut lines: Vec<(i64, Vec<Cell<'_>>)> = Vec::new();
    for owner in &owners.0 {
        let progress = &owner.progress;
        let info = engine.lock_figures(owner.process.slot, progress);
        let since_us = owner.process.transaction.since_us;
        if since_us == 0 && info.structs == 0 && progress.trx == engine::TrxId::NONE {
            continue;
        }
        let started = if since_us != 0 { since_us } else { at_us(owner.process.since_ns) };
        lines.push((started, line((owner, started), info, (&snapshot, &names))));
    }
    let abandoned = engine.abandoned();
    lines.extend(abandoned.iter().map(|a| (a.since_us as i64, abandoned_line(a))));
    lines.sort_by_key(|(started, _)| std::cmp::Reverse(*started));
    lines.iter().for_each(|(_, cells)| rows.push(cells));
}

/// A time of [`sync::now_ns`] in microseconds since 1970.
fn at_us(ns: u64) -> i64 {
    let ago_us = sync::now_ns().saturating_sub(ns) / 1000;
    host::clock::unix_micros().saturating_sub(ago_us) as i64
}

/// A session's line.
fn line(
    (owner, started_us): (&Owner, i64),
    info: OwnerInfo,
    (snapshot, names): (&Snapshot, &LockNames),
) -> Vec<Cell<'static>> {
    let Owner { process, progress } = owner;
    let trx = &process.transaction;
    let wanted = snapshot.locks.iter().find(|l| l.slot == process.slot && l.waiting);
    let wanted = wanted.and_then(|lock| {
        let (definition, _) = names.indexes.get(&lock.index.0)?;
        Some(lock_id(process.slot, Of::Record(lock), definition))
    });
    let waits = info.waiting_since_ns.is_some();
    let (state, operation) = match progress.undoing {
        // A statement that stands alone is a whole transaction.
        Some(Undoing::Statement) if trx.since_us == 0 => ("ROLLING BACK", "rollback".into()),
        Some(what) => ("ROLLING BACK", what.words().into()),
        None if waits => ("LOCK WAIT", "starting index read".into()),
        None => ("RUNNING", Cell::Null),
    };
    let (intended, structs) = (progress.tables.len() as u64, info.structs);
    vec![
        owner.transaction().into(),
        state.into(),
        Cell::Time(started_us),
        wanted.into(),
        info.waiting_since_ns.map_or(Cell::Null, |ns| Cell::Time(at_us(ns))),
        (progress.changes + structs).into(),
        process.id.into(),
        process.info.clone().into(),
        operation,
        0_u64.into(),
        if process.info.is_some() { intended } else { 0 }.into(),
        structs.into(),
        1128_u64.into(),
        info.row_locks.into(),
        progress.changes.into(),
        0_u64.into(),
        trx.isolation.into(),
        i64::from(trx.unique_checks).into(),
        i64::from(trx.foreign_key_checks).into(),
        Cell::Null,
        0_i64.into(),
        0_u64.into(),
        i64::from(trx.read_only).into(),
        0_i64.into(),
        if waits { 1_u64.into() } else { Cell::Null },
    ]
}

/// The line of a transaction that no session has.
fn abandoned_line(of: &Abandoned) -> Vec<Cell<'static>> {
    vec![
        of.trx.0.into(),
        "ROLLING BACK".into(),
        Cell::Time(of.since_us as i64),
        Cell::Null,
        Cell::Null,
        of.changes.into(),
        0_u64.into(),
        Cell::Null,
        Undoing::Transaction.words().into(),
        0_u64.into(),
        0_u64.into(),
        0_u64.into(),
        1128_u64.into(),
        0_u64.into(),
        of.changes.into(),
        0_u64.into(),
        "REPEATABLE READ".into(),
        1_i64.into(),
        1_i64.into(),
        Cell::Null,
        0_i64.into(),
        0_u64.into(),
        0_i64.into(),
        0_i64.into(),
        Cell::Null,
    ]
}
