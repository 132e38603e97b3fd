//! The rows of a table become rows of its new definition.
//!
//! 1. Values are converted as an INSERT would convert them, with the same errors and warnings. 2. A new
//! column has its default, or what MySQL gives where there is none: zero or the empty string.

use crate::rows::check_killed;
use crate::write::convert::{convert, default_of, implicit_default};
use crate::write::error::RowError;
use crate::write::fill::TableFiller;
use crate::{Environment, SqlError};
use catalog::{ColumnDef, DefaultValue, TableDef};
use engine::{Client, Direction, Reader, Steps, Table};
use expr::OwnedDatum;
use std::ops::Bound;
use sync::Stage;
use value::{Datum, Kind};

instrument::classes! {
    static COPY: StageClass = "stage/sql/copy to tmp table";
}

/// Copies rows from one definition to another.
pub struct Copier<'a> {
    /// The definition of the rows there are.
    pub old: &'a TableDef,
    /// The definition they get.
    pub new: &'a TableDef,
    /// For each new column, the old one that it comes from.
    pub origins: &'a [Option<usize>],
    /// MySQL copies the rows, too: it speaks of NULL as an INSERT does.
    pub copies: bool,
    /// The session.
    pub env: &'a mut dyn Environment,
    /// Rows that there are, as far as one knows.
    pub rows_estimated: u64,
    /// Rows copied so far.
    pub rows: u64,
}

impl Copier<'_> {
    /// Copies all rows.
    ///
    /// # Errors
    /// Those of conversion and of checks, duplicates, storage errors.
    pub fn run(&mut self, client: &mut Client, from: &Table, to: &Table) -> Result<(), SqlError> {
        let omitted = (0..self.origins.len()).filter(|c| self.origins[*c].is_none());
        let mut filler = TableFiller::new(self.new, omitted.collect())?;
        let stage = Stage::begin(&COPY, self.rows_estimated);
        let everything = (Bound::Unbounded, Bound::Unbounded);
        let (mut reader, mut bytes) = (Reader::new(), Vec::new());
        reader.open(client, from, 0, everything, Direction::Forward)?;
        while reader.next(client, from, &mut bytes)? {
            self.rows += 1;
            if self.rows.is_multiple_of(1024) {
                check_killed()?;
                stage.has_done(self.rows);
            }
            let mut values = self.values(client, from, to, &bytes)?;
            filler.append((client, to), (self.rows, &mut values), self.env)?;
        }
        Ok(())
    }

    fn values(
        &mut self,
        client: &mut Client,
        from: &Table,
        to: &Table,
        row: &[u8],
    ) -> Result<Vec<OwnedDatum>, SqlError> {
        let mut values = Vec::with_capacity(self.origins.len());
        for (column, origin) in self.new.columns.iter().zip(self.origins) {
            let value = match origin {
                Some(at) => {
                    let old = from.layout().decode(row, *at).map_err(expr::damaged)?;
                    self.converted(&old, &self.old.columns[*at], column)?
                }
                None if column.auto_increment => {
                    let next = client.reserve_autoinc(to, 1, Steps::default())?;
                    i64::try_from(next).map_or(OwnedDatum::UInt(next), OwnedDatum::Int)
                }
                None => value_of_new(column, self.rows, self.env)?,
            };
            if column.auto_increment
                && let Some(number) = value.datum().as_u64()
            {
                client.note_autoinc(to, number)?;
            }
            values.push(value);
        }
        Ok(values)
    }

    fn converted(
        &mut self,
        value: &Datum<'_>,
        old: &ColumnDef,
        new: &ColumnDef,
    ) -> Result<OwnedDatum, SqlError> {
        if value.is_null() && !new.ty.nullable {
            if self.env.strict() && !self.copies {
                return Err(RowError::NullFound.into());
            }
            RowError::Truncated(&new.name, self.rows).unless_lenient(self.env)?;
            return Ok(implicit_default(&new.ty));
        }
        let nullable = value::ColumnType { nullable: new.ty.nullable, ..old.ty };
        if nullable == new.ty {
            return Ok(OwnedDatum::of(value));
        }
        let value = self.time_of(value, new);
        convert((&value, Some(&old.ty)), &self.new.name, new, self.rows, self.env)
    }

    /// A moment that becomes a TIME is its time of day; nobody is told of the date that is lost. Seconds that become an
    /// integer are rounded first, whatever the SQL mode: it counts where an INSERT stores them, not here.
    fn time_of<'v>(&self, value: &Datum<'v>, new: &ColumnDef) -> Datum<'v> {
        let shown = match *value {
            Datum::Timestamp(micros, fsp) => {
                Datum::DateTime(self.env.convert_mode().time_zone.shown(micros, fsp))
            }
            other => other,
        };
        let integer = new.ty.kind.is_int() || new.ty.kind == Kind::Bit;
        match shown {
            Datum::DateTime(moment) if new.ty.kind == Kind::Time => Datum::Time(moment.time()),
            Datum::DateTime(moment) if integer => moment.round(0).map_or(shown, Datum::DateTime),
            Datum::Time(span) if integer => Datum::Time(span.round(0)),
            _ => *value,
        }
    }
}

/// The value of a new column in a row that is there, number `row`; what is computed is not known yet.
///
/// # Errors
/// 1292: there is no date for it.
pub fn value_of_new(
    column: &ColumnDef,
    row: u64,
    env: &mut dyn Environment,
) -> Result<OwnedDatum, SqlError> {
    match &column.default {
        DefaultValue::None if !column.ty.nullable && column.generated.is_none() => {
            if matches!(column.ty.kind, Kind::Date | Kind::DateTime | Kind::Timestamp)
                && env.strict()
            {
                let (kind, value) = match column.ty.kind {
                    Kind::Date => ("date", "0000-00-00"),
                    _ => ("datetime", "0000-00-00 00:00:00"),
                };
                return Err(RowError::NoDate(kind, value, &column.name, row).into());
            }
            Ok(implicit_default(&column.ty))
        }
        DefaultValue::None | DefaultValue::Expr(_) => Ok(OwnedDatum::Null),
        _ => default_of(column, env),
    }
}
