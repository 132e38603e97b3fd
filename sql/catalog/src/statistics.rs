//! What is known about a table's rows: figures gathered by ANALYZE TABLE or in the background, and
//! histograms.
//!
//! 1. They hang on the table's definition and never change: others take their place, and the name's
//! version is raised, so that plans are made anew. 2. They are kept under the table's id: a table that is
//! made anew (TRUNCATE, ALTER that copies) has none. 3. Stored bytes that make no sense are as good as
//! none. 4. In the background a table's figures are gathered again when more than a tenth of its rows
//! changed since ([`engine::Look`]).

use crate::definition::Definition;
use crate::dictionary::System;
use crate::{Catalog, CatalogError, Histogram, NameEntry, TableCache, TableDef, TableRef};
use base::{IndexId, PAGE_BYTES, TableId, TrxId};
use engine::{Client, Look, TableSample};
use mdl::Mode;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stdx::bytes::{Put, Reader, Truncated};
use stdx::{LocalAtomic, Ordering};
use sync::Deadline;
use value::Datum;

/// How often the background looks for tables that changed.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Share of the rows that may change before the figures are gathered again.
const CHANGED_MAX: f64 = 0.1;
/// Leaves that are read of an index, where the table does not say otherwise.
const SAMPLE_PAGES: u32 = 20;
/// The same, of figures that do not outlive the server.
const TRANSIENT_SAMPLE_PAGES: u32 = 8;
const VERSION: u8 = 1;

/// Figures of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexFigures {
    /// Which.
    pub id: IndexId,
    /// Different values of the first part, of the first two and so on; behind its own parts come those of
    /// the clustered key.
    pub distinct: Vec<f64>,
    /// Leaves.
    pub leaf_pages: u64,
    /// All pages.
    pub pages: u64,
    /// Leaves that were read; 0 for all.
    pub sampled: u64,
}

/// Figures of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFigures {
    /// Rows.
    pub rows: f64,
    /// When they were gathered, in microseconds since 1970.
    pub gathered_us: i64,
    /// Its indexes, the clustered one first.
    pub indexes: Vec<IndexFigures>,
    mark: u64,
    looked: f64,
}

/// What is known about a table.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// Figures, if they were ever gathered.
    pub figures: Option<Arc<TableFigures>>,
    /// Histograms by column.
    pub histograms: Arc<BTreeMap<String, Arc<Histogram>>>,
}

impl Statistics {
    /// Rows of the table, as far as one knows.
    pub fn rows(&self) -> u64 {
        self.figures.as_ref().map_or(0, |figures| figures.rows as u64)
    }
}

impl TableFigures {
    fn of(sample: &TableSample) -> TableFigures {
        let index = |(id, s): &(IndexId, engine::IndexSample)| IndexFigures {
            id: *id,
            distinct: s.distinct.clone(),
            leaf_pages: s.leaf_pages,
            pages: s.pages,
            sampled: s.sampled,
        };
        TableFigures {
            rows: sample.indexes.first().map_or(0.0, |(_, s)| s.entries.round()),
            gathered_us: host::clock::unix_micros() as i64,
            indexes: sample.indexes.iter().map(index).collect(),
            mark: sample.mark,
            looked: sample.looked,
        }
    }

    /// Figures of an index.
    pub fn index(&self, id: IndexId) -> Option<&IndexFigures> {
        self.indexes.iter().find(|i| i.id == id)
    }

    /// Bytes of the clustered index, and of the others.
    pub fn bytes(&self) -> (u64, u64) {
        let bytes =
            |list: &[IndexFigures]| list.iter().map(|i| i.pages).sum::<u64>() * PAGE_BYTES as u64;
        match self.indexes.split_at_checked(1) {
            Some((clustered, others)) => (bytes(clustered), bytes(others)),
            None => (0, 0),
        }
    }

    fn outdated(&self, look: Look) -> bool {
        let (more, less) = (look.rows.max(self.looked), look.rows.min(self.looked));
        look.changed > CHANGED_MAX || more - less > CHANGED_MAX * less
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        let number = |v: f64, out: &mut Vec<u8>| out.put_u64_le(v.to_bits());
        number(self.rows, &mut out);
        out.put_u64_le(self.gathered_us as u64);
        out.put_u64_le(self.mark);
        number(self.looked, &mut out);
        out.put_u16_le(self.indexes.len() as u16);
        for index in &self.indexes {
            out.put_u64_le(index.id.0);
            out.put_u64_le(index.leaf_pages);
            out.put_u64_le(index.pages);
            out.put_u64_le(index.sampled);
            out.put_u16_le(index.distinct.len() as u16);
            index.distinct.iter().for_each(|v| number(*v, &mut out));
        }
        out
    }

    fn decode(bytes: &[u8]) -> Result<Option<TableFigures>, Truncated> {
        fn number(r: &mut Reader<'_>) -> Result<f64, Truncated> {
            let v = f64::from_bits(r.u64_le()?);
            Ok(if v.is_finite() { v.max(0.0) } else { 0.0 })
        }
        let mut r = Reader::new(bytes);
        if r.u8()? != VERSION {
            return Ok(None);
        }
        let rows = number(&mut r)?;
        let gathered_us = r.u64_le()? as i64;
        let mark = r.u64_le()?;
        let looked = number(&mut r)?;
        let mut indexes = Vec::new();
        for _ in 0..r.u16_le()? {
            let id = IndexId(r.u64_le()?);
            let (leaf_pages, pages, sampled) = (r.u64_le()?, r.u64_le()?, r.u64_le()?);
            let parts = r.u16_le()?;
            let distinct = (0..parts).map(|_| number(&mut r)).collect::<Result<_, _>>()?;
            indexes.push(IndexFigures { id, distinct, leaf_pages, pages, sampled });
        }
        Ok(Some(TableFigures { rows, gathered_us, indexes, mark, looked }))
    }
}

/// How figures are kept of tables that do not say so themselves.
pub struct Upkeep {
    auto_recalc: LocalAtomic<u32>,
    persistent: LocalAtomic<u32>,
    sample_pages: LocalAtomic<u32>,
    transient_sample_pages: LocalAtomic<u32>,
}

impl Default for Upkeep {
    fn default() -> Upkeep {
        Upkeep {
            auto_recalc: LocalAtomic::new(1),
            persistent: LocalAtomic::new(1),
            sample_pages: LocalAtomic::new(SAMPLE_PAGES),
            transient_sample_pages: LocalAtomic::new(TRANSIENT_SAMPLE_PAGES),
        }
    }
}

impl Upkeep {
    /// `innodb_stats_auto_recalc`: the background gathers the figures of tables that changed.
    pub fn set_auto_recalc(&self, on: bool) {
        self.auto_recalc.store(u32::from(on), Ordering::Relaxed);
    }

    /// `innodb_stats_persistent`: figures outlive the server.
    pub fn set_persistent(&self, on: bool) {
        self.persistent.store(u32::from(on), Ordering::Relaxed);
    }

    /// `innodb_stats_persistent_sample_pages`: leaves that are read of a larger index.
    pub fn set_sample_pages(&self, pages: u32) {
        self.sample_pages.store(pages, Ordering::Relaxed);
    }

    /// `innodb_stats_transient_sample_pages`: the same, of figures that do not outlive the server.
    pub fn set_transient_sample_pages(&self, pages: u32) {
        self.transient_sample_pages.store(pages, Ordering::Relaxed);
    }

    fn pages_of(&self, def: &TableDef) -> u32 {
        match self.is_persistent(def) {
            true => self.sample_pages.load(Ordering::Relaxed),
            false => self.transient_sample_pages.load(Ordering::Relaxed),
        }
    }

    fn says(&self, def: &TableDef, name: &str, default: &LocalAtomic<u32>) -> bool {
        match option(def, name) {
            Some(value) if value != "DEFAULT" => value != "0",
            _ => default.load(Ordering::Relaxed) != 0,
        }
    }

    /// Whether a table's figures outlive the server.
    pub fn is_persistent(&self, def: &TableDef) -> bool {
        !def.temporary && self.says(def, "STATS_PERSISTENT", &self.persistent)
    }

    /// Whether the background looks after a table. Figures that do not outlive the server are always renewed.
    fn looks_after(&self, def: &TableDef) -> bool {
        def.view.is_none()
            && (!self.is_persistent(def) || self.says(def, "STATS_AUTO_RECALC", &self.auto_recalc))
    }
}

impl Catalog {
    /// How figures are kept.
    pub fn upkeep(&self) -> &Upkeep {
        &self.upkeep
    }

    /// Gathers the figures of an open table and keeps them.
    ///
    /// # Errors
    /// Failed reads, damage, those of writing the dictionary.
    pub fn analyze(&self, cache: &TableCache, table: TableRef) -> Result<(), CatalogError> {
        let definition = cache.definition_of(table);
        let asked = option(&definition.def, "STATS_SAMPLE_PAGES").and_then(|n| n.parse().ok());
        let pages = asked.unwrap_or_else(|| self.upkeep.pages_of(&definition.def));
        let sample = self.engine().analyze_table(definition.open(self.engine())?, pages)?;
        let figures = TableFigures::of(&sample);
        if self.upkeep.is_persistent(&definition.def) {
            self.keep(definition.def.id, "", Some(&figures.encode()))?;
        } else if !definition.def.temporary {
            self.keep(definition.def.id, "", None)?;
        }
        let known = definition.statistics();
        definition.set_statistics(Statistics { figures: Some(Arc::new(figures)), ..known });
        cache.entry_of(table).touch();
        Ok(())
    }

    /// Keeps a histogram of a column, or takes it away; false if there was none to take.
    ///
    /// # Errors
    /// Those of writing the dictionary.
    pub fn set_histogram(
        &self,
        cache: &TableCache,
        table: TableRef,
        column: &str,
        histogram: Option<Histogram>,
    ) -> Result<bool, CatalogError> {
        let definition = cache.definition_of(table);
        let known = definition.statistics();
        let mut all = (*known.histograms).clone();
        let stored = histogram.as_ref().map(Histogram::encode);
        let there = match histogram {
            Some(histogram) => all.insert(column.to_string(), Arc::new(histogram)).is_some(),
            None => all.remove(column).is_some(),
        };
        if stored.is_none() && !there {
            return Ok(false);
        }
        if !definition.def.temporary {
            self.keep(definition.def.id, column, stored.as_deref())?;
        }
        definition.set_statistics(Statistics { histograms: Arc::new(all), ..known });
        cache.entry_of(table).touch();
        Ok(true)
    }

    /// Writes what is known under a name in a transaction of its own.
    fn keep(&self, id: TableId, name: &str, body: Option<&[u8]>) -> Result<(), CatalogError> {
        let mut client = self.engine().client()?;
        self.transact(&mut client, |c, client| {
            c.erase_body(client, id, name)?;
            c.put_body(client, id, name, body.unwrap_or_default())
        })
    }

    fn put_body(
        &self,
        client: &mut Client,
        id: TableId,
        name: &str,
        body: &[u8],
    ) -> Result<(), CatalogError> {
        for (chunk, body) in (0_u64..).zip(body.chunks(crate::dictionary::CHUNK_BYTES)) {
            let name = Datum::Bytes(name.as_bytes());
            let row = [Datum::UInt(id.0), name, Datum::UInt(chunk), Datum::Bytes(body)];
            self.put(client, System::Statistics, &row)?;
        }
        Ok(())
    }

    fn erase_body(&self, client: &mut Client, id: TableId, name: &str) -> Result<(), CatalogError> {
        for chunk in 0_u64.. {
            let parts = [Datum::UInt(id.0), Datum::Bytes(name.as_bytes()), Datum::UInt(chunk)];
            if !self.delete(client, System::Statistics, &parts)? {
                break;
            }
        }
        Ok(())
    }

    /// Deletes all that is kept about a table that goes.
    pub(crate) fn erase_statistics(
        &self,
        client: &mut Client,
        definition: &Definition,
    ) -> Result<(), CatalogError> {
        if definition.def.view.is_some() || definition.def.temporary {
            return Ok(());
        }
        let known = definition.statistics();
        let names = known.histograms.keys().map(String::as_str).chain([""]);
        names.into_iter().try_for_each(|name| self.erase_body(client, definition.def.id, name))
    }

    /// What is known of a table goes on for its new definition over the same rows; histograms of columns that are gone, or
    /// are others now, go.
    pub(crate) fn carry_statistics(
        &self,
        client: &mut Client,
        old: &Definition,
        new: &TableDef,
    ) -> Result<Statistics, CatalogError> {
        let mut known = old.statistics();
        let of = |def: &TableDef, name: &str| def.column(name).map(|at| def.columns[at].ty);
        let is_same = |name: &str| of(&old.def, name) == of(new, name);
        let gone: Vec<String> =
            known.histograms.keys().filter(|name| !is_same(name)).cloned().collect();
        for name in &gone {
            if !new.temporary {
                self.erase_body(client, new.id, name)?;
            }
            Arc::make_mut(&mut known.histograms).remove(name);
        }
        Ok(known)
    }

    /// What is kept about a table.
    pub(crate) fn read_statistics(&self, id: TableId) -> Result<Statistics, CatalogError> {
        let mut stored: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        self.each_row_of(System::Statistics, &[Datum::UInt(id.0)], |c, row| {
            let name = c.column_text(System::Statistics, row, 1)?;
            let body = c.column(System::Statistics, row, 3)?;
            let body = body.as_bytes().unwrap_or_default();
            stored.entry(name).or_default().extend_from_slice(body);
            Ok(())
        })?;
        let mut known = Statistics::default();
        for (name, body) in stored {
            if name.is_empty() {
                known.figures = TableFigures::decode(&body).ok().flatten().map(Arc::new);
            } else if let Some(histogram) = Histogram::decode(&body) {
                Arc::make_mut(&mut known.histograms).insert(name, Arc::new(histogram));
            }
        }
        Ok(known)
    }

    /// Lets the background gather figures of tables that changed.
    pub(crate) fn start_statistics(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        let seen = LocalAtomic::<u64>::new(0);
        let tick = move |stopped: &dyn Fn() -> bool| {
            let Some(catalog) = weak.upgrade() else { return };
            // Without new log nothing has changed.
            let now = catalog.engine().log().tail().0;
            if seen.load(Ordering::Relaxed) != now {
                catalog.statistics_round(stopped);
                seen.store(now, Ordering::Relaxed);
            }
        };
        self.engine().set_periodic(LOOK_EVERY, Arc::new(tick));
    }

    /// Looks at every open table; an error in one is that table's matter, and met again by who reads it.
    fn statistics_round(self: &Arc<Self>, stopped: &dyn Fn() -> bool) {
        let Ok(client) = self.engine().client() else { return };
        let mut cache = TableCache::new(Arc::clone(self));
        let wanted = |d: &Definition| d.table().is_some() && self.upkeep.looks_after(&d.def);
        let open = |entry: &Arc<NameEntry>| entry.in_memory().filter(|d| wanted(d));
        for definition in self.names().all(open) {
            if stopped() {
                break;
            }
            let _ = self.refresh_figures(&client, &mut cache, &definition.def);
            cache.release_all(client.slot());
        }
    }

    fn refresh_figures(
        &self,
        client: &Client,
        cache: &mut TableCache,
        def: &TableDef,
    ) -> Result<(), CatalogError> {
        // Who waits for the table goes first: it is looked at again soon.
        let now = Deadline::after(Duration::ZERO);
        let table = cache.open(client, &def.schema, &def.name, Mode::SR, now)?;
        let definition = cache.definition_of(table);
        if let Some(figures) = definition.statistics().figures {
            let opened = definition.open(self.engine())?;
            let look = self.engine().look_at_table(opened, TrxId(figures.mark))?;
            let is_known = |i: &crate::IndexDef| figures.index(i.id).is_some();
            if !figures.outdated(look) && definition.def.indexes.iter().all(is_known) {
                return Ok(());
            }
        }
        self.analyze(cache, table)
    }
}

/// The value of a table option, `STATS_AUTO_RECALC` for one.
fn option<'d>(def: &'d TableDef, name: &str) -> Option<&'d str> {
    def.options.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_back_and_cut_ones_do_not() {
        let index = IndexFigures {
            id: IndexId(7),
            distinct: vec![3.0, 1e9],
            leaf_pages: 4,
            pages: 64,
            sampled: 20,
        };
        let figures = TableFigures {
            rows: 12.0,
            gathered_us: 5,
            indexes: vec![index],
            mark: 99,
            looked: 11.5,
        };
        let bytes = figures.encode();
        assert_eq!(TableFigures::decode(&bytes), Ok(Some(figures.clone())));
        for length in 0..bytes.len() {
            assert!(TableFigures::decode(&bytes[..length]).is_err());
        }
        let look = |rows, changed| Look { rows, changed };
        assert!(!figures.outdated(look(11.5, 0.0)));
        assert!(figures.outdated(look(13.0, 0.0)));
        assert!(figures.outdated(look(10.0, 0.0)));
        assert!(figures.outdated(look(11.5, 0.2)));
    }
}
