//! FOREIGN KEY while rows change: every row is checked as it changes, and what it pulls along changes with it.
//!
//! 1. A row is written first, then the rows that refer to what it was are looked for, key by key in the order of
//!    their names, then its own keys are checked against their parents. The writer undoes the row when that fails.
//! 2. Rows are looked at as they are now, not as a view shows them, and stay as they are until the transaction
//!    ends: a parent that was found is locked shared, and who changes a parent waits for that ([`place`]).
//! 3. What a CASCADE or SET NULL changes is checked and followed in turn, 15 levels deep. A table whose rows a
//!    chain of these updates is not updated by it again: that would be without end, and is refused.
//! 4. Nothing is known of a table before its first row asks; a table without foreign keys has no [`ForeignKeys`].

mod fit;
mod place;
pub mod text;

use crate::write::compute::RowShape;
use crate::write::encode;
use crate::write::{RowChange, Version};
use crate::{Context, SqlError};
use catalog::{ForeignKeyDef, FullName, Referential, TableRef};
use engine::RowLock;
use expr::OwnedDatum;
use mdl::Mode;
use place::Place;
use std::cell::OnceCell;
use std::rc::Rc;
use value::RowLayout;

pub use place::Verifier;

/// Levels of a cascade, the statement's own change included.
const DEPTH_MAX: usize = 15;

/// The foreign keys that a statement's changes touch.
pub struct ForeignKeys {
    tables: Vec<TableKeys>,
}

/// The foreign keys of a table and those that refer to it, as far as they are known.
struct TableKeys {
    table: TableRef,
    own: Option<Rc<[OwnKey]>>,
    /// For updates, and for deletions: a child is locked for what may happen to it.
    referring: [Option<Rc<[ReferringKey]>>; 2],
}

/// A foreign key of a table.
struct OwnKey {
    key: ForeignKeyDef,
    /// Where its parents are found, once somebody has asked; `None`: there is no such table.
    parents: OnceCell<Option<Place>>,
}

impl OwnKey {
    /// Where its parents are found; their table is opened when that is asked first.
    fn parents(&self, context: &mut Context<'_>) -> Result<Option<&Place>, SqlError> {
        if let Some(known) = self.parents.get() {
            return Ok(known.as_ref());
        }
        let parent = open(&self.key.parent, Mode::SR, context)?;
        let place = parent.and_then(|parent| {
            let def = context.tables.def(parent);
            let columns = def.positions(&self.key.parent_columns).ok()?;
            Place::of(parent, def, &columns)
        });
        Ok(self.parents.get_or_init(|| place).as_ref())
    }
}

/// A foreign key that refers to a table.
struct ReferringKey {
    key: ForeignKeyDef,
    child: TableRef,
    /// The columns that it refers to.
    referenced: Vec<usize>,
    /// Where its children are found.
    children: Place,
}

/// A change, and the one that caused it.
struct Link<'c> {
    table: TableRef,
    delete: bool,
    cause: Option<&'c Link<'c>>,
}

impl Link<'_> {
    fn chain(&self) -> impl Iterator<Item = &Link<'_>> {
        std::iter::successors(Some(self), |link| link.cause)
    }
}

/// `foreign_key_checks`.
///
/// # Errors
/// None.
pub fn checked(context: &Context<'_>) -> Result<bool, SqlError> {
    Ok(context.env.system_variable(false, "foreign_key_checks")? != OwnedDatum::Int(0))
}

impl ForeignKeys {
    /// Those of a table that is going to change; `None` when no change of its rows concerns any.
    ///
    /// # Errors
    /// None.
    #[inline]
    pub fn of(table: TableRef, context: &Context<'_>) -> Result<Option<ForeignKeys>, SqlError> {
        let tables = &*context.tables;
        if tables.def(table).foreign_keys.is_empty() && tables.children(table).is_empty() {
            return Ok(None);
        }
        Ok(checked(context)?.then_some(ForeignKeys { tables: Vec::new() }))
    }

    /// A row was changed: stage 5 of [`crate::write`].
    ///
    /// # Errors
    /// 1451, 1452, 1761, 3008, lock and storage errors.
    pub fn changed(
        &mut self,
        table: TableRef,
        change: &RowChange<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let delete = matches!(change, RowChange::Delete { .. });
        self.settle(&Link { table, delete, cause: None }, change, None, context)
    }

    /// What refers to the old row follows it, and the new row has parents; `done` is a foreign key that needs no look.
    fn settle(
        &mut self,
        link: &Link<'_>,
        change: &RowChange<'_>,
        done: Option<&ForeignKeyDef>,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        self.follow(link, change, context)?;
        self.check_parents(link, change, done, context)
    }

    /// The new row's foreign keys have parents; `done` is one that needs no look.
    fn check_parents(
        &mut self,
        link: &Link<'_>,
        change: &RowChange<'_>,
        done: Option<&ForeignKeyDef>,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let Some(new) = change.after() else { return Ok(()) };
        let table = link.table;
        let own_keys = self.own_keys(table, context);
        // What the statement itself changes has all its parents locked, as in MySQL; what it pulls along those that are asked.
        if link.cause.is_none() {
            own_keys.iter().try_for_each(|own| own.parents(context).map(drop))?;
        }
        for own in own_keys.iter().filter(|own| done != Some(&own.key)) {
            let layout = context.tables.table(table).layout();
            let Some(values) = known(layout, new, &own.key.columns)? else { continue };
            if let Some(old) = change.before()
                && !is_moved(context, table, (old, new), &own.key.columns)?
            {
                continue;
            }
            let parents = own.parents(context)?;
            let types = &context.tables.table(table).spec().columns;
            let found = match parents {
                Some(parents) => match parents.prefix(types, &own.key.columns, &values, context) {
                    Some(prefix) => parents.lock_any(&prefix, context)?,
                    None => false,
                },
                None => false,
            };
            if !found {
                let rights = context.env.rights();
                return Err(text::no_parent(context.tables.def(table), &own.key, rights));
            }
        }
        Ok(())
    }

    /// What refers to the old row is looked for, and does what its foreign key says.
    fn follow(
        &mut self,
        link: &Link<'_>,
        change: &RowChange<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let Some(old) = change.before() else { return Ok(()) };
        if context.tables.children(link.table).is_empty() {
            return Ok(());
        }
        let referring_keys = self.referring_keys(link.table, link.delete, context)?;
        for referring in referring_keys.iter() {
            let layout = context.tables.table(link.table).layout();
            let Some(before) = known(layout, old, &referring.referenced)? else { continue };
            let after = match change.after() {
                Some(new) => Some(decode(layout, new, &referring.referenced)?),
                None => None,
            };
            if after.as_ref() == Some(&before) {
                continue;
            }
            let types = &context.tables.table(link.table).spec().columns;
            let prefix = referring.children.prefix(types, &referring.referenced, &before, context);
            let Some(prefix) = prefix else { continue };
            self.cascade(link, referring, (change, &prefix, after.as_deref()), context)?;
        }
        Ok(())
    }

    /// The children of one key.
    fn cascade(
        &mut self,
        link: &Link<'_>,
        referring: &ReferringKey,
        (change, prefix, after): (&RowChange<'_>, &[u8], Option<&[OwnedDatum]>),
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let (Some(old), new) = (change.before(), change.after()) else { return Ok(()) };
        let action = referring.key.action(link.delete);
        let refused = |context: &Context<'_>| {
            let child = context.tables.def(referring.child);
            Err(text::has_children(child, &referring.key, context.env.rights()))
        };
        // A row that refers to itself is its own child, though it is changed by now.
        let to_itself = referring.child == link.table;
        let itself = to_itself && referring.children.leads_to(old, prefix, context)?;
        if itself && (!link.delete || !action.changes()) {
            return refused(context);
        }
        let mut present = Vec::new();
        if let Some(new) = new.filter(|_| to_itself) {
            let table = context.tables.table(link.table);
            if let Some(spec) = table.key(0) {
                let encoded = spec.encode_from_row(table.layout(), new, &mut present);
                encoded.map_err(|_| base::Error::Internal("a stored row has no key"))?;
            }
        }
        let mut row = Vec::new();
        // To refuse, one child is enough; what the row has become is none: it needs a parent, which is asked for later.
        let wanted = match action.changes() {
            true => (RowLock::UPDATE, usize::MAX),
            false => (RowLock::SHARE, 2),
        };
        let delete = link.delete && action == Referential::Cascade;
        let again = |l: &Link<'_>| l.table == referring.child && !l.delete;
        let refuses = !action.changes() || (!delete && link.chain().any(again));
        for key in referring.children.keys(prefix, wanted, context)? {
            crate::rows::check_killed()?;
            if key == present {
                continue;
            }
            if refuses {
                return refused(context);
            }
            // A child of this very change may have changed it since.
            if !referring.children.lock(&key, prefix, &mut row, context)? {
                continue;
            }
            if link.chain().count() >= DEPTH_MAX {
                return Err(text::too_deep(context.tables.def(referring.child), &referring.key));
            }
            let next = Link { table: referring.child, delete, cause: Some(link) };
            let done = CascadedChild { referring, link: &next, key: &key, row: &row };
            match delete {
                true => self.delete_child(&done, context)?,
                false => self.update_child(
                    &done,
                    after.filter(|_| action == Referential::Cascade),
                    context,
                )?,
            }
        }
        Ok(())
    }

    fn delete_child(
        &mut self,
        child: &CascadedChild<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let CascadedChild { referring, link, key, row } = *child;
        let change = RowChange::Delete { key, before: row, version: Version::Locked };
        if change.make_timed(referring.child, context.client, context.tables)? {
            self.settle(link, &change, None, context)?;
        }
        Ok(())
    }

    /// Gives a child the values of its parent, or NULL.
    fn update_child(
        &mut self,
        child: &CascadedChild<'_>,
        values: Option<&[OwnedDatum]>,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let CascadedChild { referring, link, key, row } = *child;
        let def = context.tables.def(referring.child);
        let table = context.tables.table(referring.child);
        let mut new = Vec::new();
        encode::decode(table.layout(), row, &mut new)?;
        for (n, column) in referring.key.columns.iter().enumerate() {
            let parent = context.tables.table(link.cause.map_or(referring.child, |l| l.table));
            new[*column] = match values {
                None => OwnedDatum::Null,
                Some(values) => {
                    let from = &parent.spec().columns[referring.referenced[n]];
                    match fit::stored(&values[n], from, &def.columns[*column].ty) {
                        Some(value) => value,
                        None => {
                            let rights = context.env.rights();
                            return Err(text::has_children(def, &referring.key, rights));
                        }
                    }
                }
            };
        }
        let mut bytes = Vec::new();
        let shape = RowShape::of(context.tables, referring.child)?;
        shape.finish((&[], 1), &mut new, &mut bytes, context.env)?;
        let change =
            RowChange::Update { key, before: row, after: &bytes, version: Version::Locked };
        match change.make_timed(referring.child, context.client, context.tables) {
            Err(base::Error::Duplicate { index, .. }) => {
                let parent = context.tables.def(link.cause.map_or(referring.child, |l| l.table));
                let values = values.unwrap_or_default();
                let zone = context.env.convert_mode().time_zone;
                return Err(text::duplicate_child(parent, (values, zone), def, index));
            }
            done => done?,
        };
        self.settle(link, &change, Some(&referring.key), context)
    }

    fn keys_of(&mut self, table: TableRef) -> &mut TableKeys {
        let at = self.tables.iter().position(|k| k.table == table);
        let at = at.unwrap_or_else(|| {
            self.tables.push(TableKeys { table, own: None, referring: [None, None] });
            self.tables.len() - 1
        });
        &mut self.tables[at]
    }

    fn own_keys(&mut self, table: TableRef, context: &Context<'_>) -> Rc<[OwnKey]> {
        let known = &mut self.keys_of(table).own;
        Rc::clone(known.get_or_insert_with(|| own_keys(table, context)))
    }

    fn referring_keys(
        &mut self,
        table: TableRef,
        delete: bool,
        context: &mut Context<'_>,
    ) -> Result<Rc<[ReferringKey]>, SqlError> {
        let known = &mut self.keys_of(table).referring[usize::from(delete)];
        if let Some(known) = known {
            return Ok(Rc::clone(known));
        }
        Ok(Rc::clone(known.insert(referring_keys(table, delete, context)?.into())))
    }
}

/// The foreign keys of a table, in the order of their names.
fn own_keys(table: TableRef, context: &Context<'_>) -> Rc<[OwnKey]> {
    let mut keys = context.tables.def(table).foreign_keys.clone();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    keys.into_iter().map(|key| OwnKey { key, parents: OnceCell::new() }).collect()
}

/// The foreign keys that refer to a table of which rows are deleted, or updated.
fn referring_keys(
    table: TableRef,
    delete: bool,
    context: &mut Context<'_>,
) -> Result<Vec<ReferringKey>, SqlError> {
    let parent = context.tables.def(table).full_name();
    let mut made = Vec::new();
    for name in context.tables.children(table).to_vec() {
        let mut child = open(&name, Mode::SR, context)?;
        let changes = |child: TableRef, context: &Context<'_>| {
            context.tables.def(child).referring(&parent).any(|key| key.action(delete).changes())
        };
        if child.is_some_and(|child| changes(child, context)) {
            child = open(&name, Mode::SW, context)?;
        }
        let Some(child) = child else { continue };
        let def = context.tables.def(child);
        for key in def.referring(&parent) {
            let referenced = context.tables.def(table).positions(&key.parent_columns).ok();
            let (Some(referenced), Some(children)) =
                (referenced, Place::of(child, def, &key.columns))
            else {
                continue;
            };
            made.push(ReferringKey { key: key.clone(), child, referenced, children });
        }
    }
    made.sort_by(|a, b| {
        let schema = |d: &ReferringKey| context.tables.def(d.child).schema.clone();
        (schema(a), &a.key.name).cmp(&(schema(b), &b.key.name))
    });
    Ok(made)
}

/// A child that an action takes.
#[derive(Clone, Copy)]
struct CascadedChild<'p> {
    referring: &'p ReferringKey,
    link: &'p Link<'p>,
    key: &'p [u8],
    row: &'p [u8],
}

fn open(
    (schema, name): &FullName,
    mode: Mode,
    context: &mut Context<'_>,
) -> Result<Option<TableRef>, SqlError> {
    let deadline = context.env.lock_deadline();
    let slot = context.client.slot();
    Ok(context.tables.open_relative(slot, (schema, name), mode, deadline)?)
}

/// Whether an update moves a row among the entries of these columns: they change, or the row's own key does.
fn is_moved(
    context: &Context<'_>,
    table: TableRef,
    (old, new): (&[u8], &[u8]),
    columns: &[usize],
) -> Result<bool, SqlError> {
    let layout = context.tables.table(table).layout();
    let key = context.tables.def(table).clustered();
    let key = key.into_iter().flat_map(|index| index.parts.iter().map(|p| p.column));
    for column in columns.iter().copied().chain(key) {
        let value = |row| layout.decode(row, column).map_err(expr::damaged);
        if value(old)? != value(new)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn decode(layout: &RowLayout, row: &[u8], columns: &[usize]) -> Result<Vec<OwnedDatum>, SqlError> {
    let value = |c: &usize| layout.decode(row, *c).map(|d| OwnedDatum::of(&d));
    columns.iter().map(|c| value(c).map_err(expr::damaged)).collect()
}

/// The values of columns, if none is NULL (MATCH SIMPLE).
fn known(
    layout: &RowLayout,
    row: &[u8],
    columns: &[usize],
) -> Result<Option<Vec<OwnedDatum>>, SqlError> {
    let values = decode(layout, row, columns)?;
    Ok((!values.contains(&OwnedDatum::Null)).then_some(values))
}
