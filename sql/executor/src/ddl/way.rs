//! How a table comes to its new definition: what MySQL would do, what ALGORITHM and LOCK permit, and what becomes of the
//! rows here.
//!
//! 1. Rows stay as they are ([`Rows::Stay`]) when words only change, or secondary indexes come and go (unless background
//! work of recovery may still touch the table), or a column takes more than before in the same bytes. 2. They stay, too,
//! when columns come or go ([`Rows::Relaid`]), as often as [`ROW_VERSIONS_MAX`] says. 3. Else they are copied,
//! also to lower the AUTO_INCREMENT counter: that of a table only grows, and a copy counts anew. 4. Affected
//! rows, and what ALGORITHM and LOCK permit, are those of the way that MySQL goes ([`Way`]).

use super::actions::AlterRequest;
use super::error::DdlError;
use super::shape::Shape;
use crate::SqlError;
use catalog::{ColumnDef, DefaultValue, ROW_VERSIONS_MAX, TableDef};
use parser::ast::AlterHow;
use planner::PlanError;
use value::name::same_name;
use value::{ColumnType, KeyPart, Kind};

/// How MySQL would do it, from the cheapest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The dictionary alone changes.
    Instant,
    /// The engine does it; nobody writes meanwhile, for this reason, if there is one.
    InPlace(&'static str),
    /// Rows are copied, for this reason, if it is told.
    Copy(&'static str),
    /// The table is one session's own: rows are copied.
    Temporary,
}

impl Way {
    /// Rows are copied.
    pub fn is_copy(self) -> bool {
        matches!(self, Way::Copy(_) | Way::Temporary)
    }
}

/// What becomes of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// They are as before.
    Stay,
    /// They stay where they are, and are read under the new layout.
    Relaid,
    /// They are, but the table has had as many layouts as it can: they are copied.
    Exhausted,
    /// They are written anew.
    Copied,
}

impl Rows {
    /// They are not written anew.
    pub fn are_kept(self) -> bool {
        matches!(self, Rows::Stay | Rows::Relaid)
    }
}

/// What becomes of the rows. `settled`: nothing is left to do in the background; `strict`: the session's mode is.
pub fn rows_of(
    (old, new): (&TableDef, &TableDef),
    shape: &Shape,
    (request, way): (&AlterRequest, Way),
    (settled, strict): (bool, bool),
) -> Rows {
    let origins = shape.origins();
    let builds = new.indexes.iter().any(|i| i.id == base::IndexId(0));
    let dropped = old.indexes.iter().any(|o| !new.indexes.iter().any(|i| i.id == o.id));
    if asks_for_new_default(old, new)
        || old.temporary
        || !keeps_keys(old, new, &origins)
        || has_new_check(old, new)
        || (dropped && !settled)
        || request.force
        || request.lowers
        || request.options.engine
        || old.options != new.options
    {
        return Rows::Copied;
    }
    let survivors: Vec<usize> = origins.iter().flatten().copied().collect();
    let same = survivors.len() == old.columns.len() && survivors.len() == new.columns.len();
    let mut columns = new.columns.iter().zip(&origins);
    if same && survivors.is_sorted() {
        let is_same = |(column, from): (&ColumnDef, &ColumnDef)| {
            from.ty == column.ty && is_computed_alike(from, column)
        };
        let same = new.columns.iter().zip(&old.columns).all(is_same);
        let fits = columns.all(|(column, origin)| keeps_form(old, column, *origin));
        return if same || fits && !way.is_copy() { Rows::Stay } else { Rows::Copied };
    }
    let stay = columns.all(|(column, origin)| match origin {
        Some(_) => keeps_form(old, column, *origin),
        None => comes_instantly(column, strict),
    });
    match stay && survivors.is_sorted() && !builds && !way.is_copy() {
        true if old.older.len() >= ROW_VERSIONS_MAX => Rows::Exhausted,
        true => Rows::Relaid,
        false => Rows::Copied,
    }
}

/// Whether rows lie in the same order, by the same keys, and secondary indexes that stay are the same.
fn keeps_keys(old: &TableDef, new: &TableDef, origins: &[Option<usize>]) -> bool {
    let before = |part: &KeyPart| {
        let column = origins.get(part.column).copied().flatten()?;
        Some(KeyPart { column, ..*part })
    };
    let parts =
        |index: &catalog::IndexDef| index.parts.iter().map(before).collect::<Option<Vec<_>>>();
    let is_as = |index: &catalog::IndexDef, before: &catalog::IndexDef| {
        before.id == index.id
            && before.unique == index.unique
            && parts(index).is_some_and(|parts| parts == before.parts)
    };
    let kept = |index: &catalog::IndexDef| {
        index.id == base::IndexId(0) || old.indexes.iter().any(|before| is_as(index, before))
    };
    let clustered = match (old.clustered(), new.clustered()) {
        (None, None) => true,
        (Some(before), Some(index)) => is_as(index, before),
        _ => false,
    };
    let automatic = new.autoinc_column().map(|at| origins.get(at).copied().flatten());
    clustered && new.indexes.iter().all(kept) && automatic == old.autoinc_column().map(Some)
}

fn is_computed_alike(from: &ColumnDef, column: &ColumnDef) -> bool {
    let text = |column: &ColumnDef| column.generated.as_ref().map(|g| g.text.clone());
    text(from) == text(column)
}

/// Whether what rows hold of a column is what they would hold after the change.
fn keeps_form(old: &TableDef, column: &ColumnDef, origin: Option<usize>) -> bool {
    let Some(from) = origin.and_then(|at| old.columns.get(at)) else { return false };
    let longer = from.ty.kind == Kind::VarChar
        && ColumnType { length: column.ty.length, ..from.ty } == column.ty
        && column.ty.length >= from.ty.length;
    let same = from.ty == column.ty || longer || has_more_members(&from.ty, &column.ty);
    same && from.ty.nullable == column.ty.nullable && is_computed_alike(from, column)
}

/// Whether every row that is there has the same value of a new column.
fn comes_instantly(column: &ColumnDef, strict: bool) -> bool {
    let moment = matches!(column.ty.kind, Kind::Date | Kind::DateTime | Kind::Timestamp);
    let no_date = moment && column.default == DefaultValue::None && !column.ty.nullable && strict;
    !column.auto_increment
        && !column.hidden
        && column.generated.is_none()
        && !matches!(column.default, DefaultValue::Expr(_))
        && !no_date
}

/// Whether a generated column asks for the default of a column whose default is another now.
fn asks_for_new_default(old: &TableDef, new: &TableDef) -> bool {
    let changed = new.columns.iter().filter(|column| {
        let before = old.columns.iter().find(|c| same_name(&c.name, &column.name));
        before.is_some_and(|before| before.default != column.default)
    });
    let mut calls = changed.map(|c| format!("default({})", parser::print::quoted(&c.name)));
    calls.any(|call| {
        let asks = |c: &ColumnDef| c.generated.as_ref().is_some_and(|g| g.text.contains(&call));
        new.columns.iter().any(asks)
    })
}

/// How MySQL would do it. `strict`: the session's mode is.
pub fn way_of(
    old: &TableDef,
    new: &TableDef,
    shape: &Shape,
    request: &AlterRequest,
    strict: bool,
) -> Way {
    if old.temporary {
        return Way::Temporary;
    }
    let origins = shape.origins();
    let columns = new.columns.iter().zip(&origins).map(|(column, origin)| match origin {
        Some(at) => way_of_changed(&old.columns[*at], column, strict),
        None => way_of_added(column),
    });
    let way = columns.fold(way_of_keys(old, new), Way::max);
    let survivors: Vec<usize> = origins.iter().flatten().copied().collect();
    let rebuilt = request.force || request.options.engine || old.options != new.options;
    let in_place = rebuilt || request.options.autoinc.is_some() || !survivors.is_sorted();
    let retyped = has_new_check(old, new) || !request.order_by.is_empty();
    way.max(if in_place { Way::InPlace("") } else { Way::Instant })
        .max(if asks_for_new_default(old, new) { Way::Copy("") } else { Way::Instant })
        .max(if retyped { RETYPED } else { Way::Instant })
}

/// What MySQL says of most of what it copies.
const RETYPED: Way = Way::Copy("Cannot change column type INPLACE");

/// How MySQL would bring the indexes about.
fn way_of_keys(old: &TableDef, new: &TableDef) -> Way {
    let (had_primary, has_primary) = (old.clustered().map(|p| p.id), new.clustered().map(|p| p.id));
    let lost = old.primary().is_some() && new.primary().is_none();
    if lost || (had_primary.is_some() && has_primary.is_none()) {
        return Way::Copy(
            "Dropping a primary key is not allowed without also adding a new primary key",
        );
    }
    let is_new = new.indexes.iter().any(|i| i.id == base::IndexId(0));
    let dropped = old.indexes.iter().any(|o| !new.indexes.iter().any(|i| i.id == o.id));
    match had_primary != has_primary || is_new || dropped {
        true => Way::InPlace(""),
        false => Way::Instant,
    }
}

/// How MySQL would add a column.
fn way_of_added(column: &ColumnDef) -> Way {
    match column.generated.as_ref().is_some_and(|g| g.stored) {
        true => Way::Copy(""),
        false if column.auto_increment => {
            Way::InPlace("Adding an auto-increment column requires a lock")
        }
        false => Way::Instant,
    }
}

/// How MySQL would make `column` of `from`.
fn way_of_changed(from: &ColumnDef, column: &ColumnDef, strict: bool) -> Way {
    let like = ColumnType { nullable: column.ty.nullable, ..from.ty };
    let same = like == column.ty;
    let longer = from.ty.kind == Kind::VarChar
        && ColumnType { length: column.ty.length, ..like } == column.ty
        && column.ty.length >= from.ty.length
        && (from.ty.bytes_max() > 255) == (column.ty.bytes_max() > 255);
    let more_members = has_more_members(&from.ty, &column.ty);
    let retyped = from.auto_increment != column.auto_increment
        || !(same || longer || more_members)
        || !is_computed_alike(from, column);
    let refuses_null = from.ty.nullable && !column.ty.nullable && !strict;
    match retyped {
        // Of two reasons, the one that comes last in the alphabet.
        _ if refuses_null => {
            Way::Copy("cannot silently convert NULL values, as required in this SQL_MODE")
        }
        true => RETYPED,
        false if !(same || more_members) || from.ty.nullable != column.ty.nullable => {
            Way::InPlace("")
        }
        false => Way::Instant,
    }
}

/// Whether rows must be looked at for a check. Names tell nothing: they follow the table's.
fn has_new_check(old: &TableDef, new: &TableDef) -> bool {
    let count = |def: &TableDef, text: &str| {
        def.checks.iter().filter(|c| c.enforced && c.text == text).count()
    };
    new.checks.iter().any(|c| c.enforced && count(new, &c.text) > count(old, &c.text))
}

/// An ENUM or SET with other members behind those it had, in as many bytes.
fn has_more_members(from: &ColumnType, to: &ColumnType) -> bool {
    let (Some(before), Some(after)) = (from.members, to.members) else { return false };
    let like = ColumnType { members: to.members, nullable: to.nullable, ..*from };
    like == *to
        && from.fixed_bytes() == to.fixed_bytes()
        && before.len() <= after.len()
        && before.names().zip(after.names()).all(|(a, b)| a == b)
}

/// What ALGORITHM says.
pub trait How {
    /// ALGORITHM=COPY.
    fn is_copy(&self) -> bool;
}

impl How for AlterHow {
    fn is_copy(&self) -> bool {
        self.algorithm.as_deref() == Some("COPY")
    }
}

/// What ALGORITHM and LOCK promise against what this server does: rows that MySQL leaves alone are copied here, and
/// nobody writes while rows are copied or an index is built.
pub fn check_work(how: &AlterHow, rows: Rows, new: &TableDef) -> Result<(), SqlError> {
    let builds = new.indexes.iter().any(|i| i.id == base::IndexId(0));
    if rows.are_kept() && !builds {
        return Ok(());
    }
    let refuse = |what: &str, other: &str| Err(DdlError::NotSupported(what, other).into());
    if how.algorithm.as_deref() == Some("INSTANT") {
        if rows == Rows::Exhausted {
            return Err(DdlError::TooManyVersions(&new.schema, &new.name).into());
        }
        return refuse("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE");
    }
    match how.lock.as_deref() {
        Some("NONE") => refuse("LOCK=NONE", "LOCK=SHARED"),
        _ => Ok(()),
    }
}

/// ALGORITHM and LOCK against the way that it takes.
pub fn check_how(how: &AlterHow, way: Way) -> Result<(), SqlError> {
    let algorithm = how.algorithm.as_deref().unwrap_or("DEFAULT");
    let lock = how.lock.as_deref().unwrap_or("DEFAULT");
    let refuse = |what: &str, reason: &str, other: &str| {
        if reason.is_empty() {
            return Err(DdlError::NotSupported(what, other).into());
        }
        Err(DdlError::NotSupportedBecause(what, reason, other).into())
    };
    match (algorithm, way) {
        ("INSTANT", _) if lock != "DEFAULT" => {
            Err(PlanError::IncorrectUsage("ALGORITHM=INSTANT", "LOCK=NONE/SHARED/EXCLUSIVE").into())
        }
        ("INSTANT" | "INPLACE", Way::Temporary) => {
            refuse(&format!("ALGORITHM={algorithm}"), "", "ALGORITHM=COPY")
        }
        ("INSTANT", RETYPED) => {
            let reason = "Need to rebuild the table to change column type";
            refuse("ALGORITHM=INSTANT", reason, "ALGORITHM=COPY/INPLACE")
        }
        ("INSTANT", Way::Copy(reason) | Way::InPlace(reason)) => {
            refuse("ALGORITHM=INSTANT", reason, "ALGORITHM=COPY/INPLACE")
        }
        ("INPLACE", Way::Copy(reason)) => refuse("ALGORITHM=INPLACE", reason, "ALGORITHM=COPY"),
        ("COPY", _) if lock == "NONE" => {
            refuse("LOCK=NONE", "COPY algorithm requires a lock", "LOCK=SHARED")
        }
        (_, Way::Copy(reason)) if lock == "NONE" => refuse("LOCK=NONE", reason, "LOCK=SHARED"),
        (_, Way::InPlace(reason)) if lock == "NONE" && !reason.is_empty() => {
            refuse("LOCK=NONE", reason, "LOCK=SHARED")
        }
        _ => Ok(()),
    }
}
