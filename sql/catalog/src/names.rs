//! Names of tables: which there are, and what is published for them.
//!
//! 1. A name has one entry while somebody has it or it means something, so a session may cache it; what means nothing and
//!    is nobody's goes ([`sync::Directory`]). 2. What is published changes only under an X lock on the name (`entry`).
//! 3. A published definition lists the tables that refer to it as they are published.
//! 4. A publication touches its own names and those that its foreign keys join to them, however many others there are; no
//!    latch is held for a walk through all.

use crate::FullName;
use crate::brief::Brief;
use crate::constraints::Kind;
use crate::definition::Definition;
use crate::definition_cache::DefinitionCache;
use crate::entry::NameEntry;
use crate::index::Index;
use crate::open::OpenHandles;
use base::{SpaceId, TableId};
use mdl::{Mdl, Namespace};
use std::collections::BTreeSet;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Directory, Mutex};

instrument::classes! {
    static NAMES: MutexClass = "wait/synch/mutex/sql/table_names";
    static PUBLISHED: MutexClass = "wait/synch/mutex/sql/table_publication";
}

type Published = (Arc<NameEntry>, Option<Arc<Definition>>);

/// All names; the directory is touched when a session meets a name for the first time, and by SHOW.
pub struct Names {
    mdl: Arc<Mdl>,
    entries: Directory<FullName, NameEntry>,
    published: Mutex<Index>,
    /// Raised when a publication of several names begins and when it ends.
    moves: SharedAtomic<u64, { class::DICT }>,
    /// How many handles of tables there are.
    pub(crate) open: Arc<OpenHandles>,
    cache: DefinitionCache,
}

/// Parts of the directory.
const SHARDS: usize = 64;
/// How often a list is made anew because names were exchanged meanwhile.
const LISTS_MAX: usize = 16;

impl Names {
    /// No names.
    pub fn new(mdl: Arc<Mdl>) -> Self {
        Names {
            mdl,
            entries: Directory::new(&NAMES, SHARDS),
            published: Mutex::new(&PUBLISHED, Index::default()),
            moves: SharedAtomic::new(0),
            open: Arc::default(),
            cache: DefinitionCache::default(),
        }
    }

    pub(crate) fn mdl(&self) -> &Arc<Mdl> {
        &self.mdl
    }

    /// Which definitions stay in memory.
    pub(crate) fn cache(&self) -> &DefinitionCache {
        &self.cache
    }

    /// The entry of a name, made at first sight.
    pub fn entry(&self, schema: &str, name: &str) -> Arc<NameEntry> {
        let key = (schema.to_string(), name.to_string());
        self.entries.entry(&key, || {
            NameEntry::new(self, (schema, name), self.mdl.intern(Namespace::Table, schema, name))
        })
    }

    /// A name that means nothing and that nobody looks up.
    pub(crate) fn nobody(&self) -> Arc<NameEntry> {
        let object = self.mdl.intern(Namespace::Table, "#temporary", "#");
        Arc::new(NameEntry::new(self, ("", ""), object))
    }

    /// The table or view published with an id.
    pub(crate) fn by_id(&self, id: TableId) -> Option<Arc<Brief>> {
        self.published.lock().by_id(id)
    }

    /// The table whose rows lie in a tablespace.
    pub(crate) fn by_space(&self, space: SpaceId) -> Option<Arc<Brief>> {
        self.published.lock().by_space(space)
    }

    /// The server starts: these names have definitions, which are read when they are needed.
    pub(crate) fn begin(&self, all: Vec<Brief>) {
        let mut published = self.published.lock();
        for brief in all {
            let brief = Arc::new(brief);
            published.add(&brief);
            self.entry(&brief.name.0, &brief.name.1).begin(brief);
        }
    }

    /// Names of the tables whose foreign keys refer to a name.
    pub fn children(&self, parent: &FullName) -> Vec<FullName> {
        self.published.lock().children(parent)
    }

    /// Whether a table of the schema has a constraint of that name, other than those that `goes` names.
    pub(crate) fn has_constraint(
        &self,
        kind: Kind,
        named: (&str, &str),
        goes: &dyn Fn(&str) -> bool,
    ) -> bool {
        self.published.lock().has_constraint(kind, named, goes)
    }

    /// Publishes several definitions; who looks through all names sees all of them or none. The tables that they
    /// refer to, or referred to, learn of it; the caller holds X on all of these names.
    pub fn publish_all(&self, list: Vec<Published>) {
        let mut published = self.published.lock();
        let mut concerned = BTreeSet::new();
        for (entry, new) in &list {
            concerned.insert((entry.schema.clone(), entry.name.clone()));
            let new = new.as_ref().map(|d| Arc::new(Brief::of(&d.def)));
            for brief in entry.brief().into_iter().chain(new) {
                concerned.extend(brief.keys.iter().map(|(_, parent)| parent.clone()));
            }
        }
        let moves = list.len() > 1;
        if moves {
            self.moves.fetch_add(1, Ordering::AcqRel);
        }
        // What goes first, and then what comes: it may be the same table under another name.
        let mut come = Vec::new();
        for (entry, new) in &list {
            if let Some(old) = entry.brief() {
                published.remove(&old);
            }
            come.extend(entry.publish(new.as_ref(), &self.cache));
        }
        come.iter().for_each(|new| published.add(new));
        for name in &concerned {
            self.relate(&mut published, name);
        }
        if moves {
            self.moves.fetch_add(1, Ordering::AcqRel);
        }
        drop(published);
        for (entry, _) in list.iter().filter(|(_, new)| new.is_none()) {
            self.entries.is_void(&(entry.schema.clone(), entry.name.clone()));
        }
        self.cache.trim();
    }

    /// Brings the list of children of a name up to date.
    fn relate(&self, published: &mut Index, name: &FullName) {
        let Some(entry) = self.entries.get(name) else { return };
        let Some(brief) = entry.brief() else { return };
        let Some(known) = entry.in_memory() else { return entry.outdate() };
        let children = published.children(name);
        if known.children() != children {
            let related = Arc::new(known.related(children));
            published.remove(&brief);
            let brief = entry.publish(Some(&related), &self.cache);
            brief.iter().for_each(|brief| published.add(brief));
        }
    }

    /// The entry of a name that means something.
    pub(crate) fn known(&self, schema: &str, name: &str) -> Option<Arc<NameEntry>> {
        let entry = self.entries.get(&(schema.to_string(), name.to_string()))?;
        entry.brief().is_some().then_some(entry)
    }

    /// What `of` makes of each name that means something, ordered by name.
    pub(crate) fn all<T>(&self, of: impl Fn(&Arc<NameEntry>) -> Option<T>) -> Vec<T> {
        self.list(|found| {
            self.entries.each_from(None, |key, entry| {
                found.extend(of(&entry).map(|made| (key.clone(), made)));
                true
            });
        })
    }

    /// As [`Self::all`], of the names of a schema.
    pub(crate) fn of_schema<T>(
        &self,
        schema: &str,
        of: impl Fn(&Arc<NameEntry>) -> Option<T>,
    ) -> Vec<T> {
        let from = (schema.to_string(), String::new());
        self.list(|found| {
            self.entries.each_from(Some(&from), |key, entry| {
                let is_in = key.0 == schema;
                let made = if is_in { of(&entry) } else { None };
                found.extend(made.map(|made| (key.clone(), made)));
                is_in
            });
        })
    }

    /// A list that was made while no names were exchanged. They may be all the time: then it is as it was found.
    fn list<T>(&self, mut make: impl FnMut(&mut Vec<(FullName, T)>)) -> Vec<T> {
        let mut found = Vec::new();
        for _ in 0..LISTS_MAX {
            let before = self.moves.load(Ordering::Acquire);
            found.clear();
            make(&mut found);
            if before.is_multiple_of(2) && before == self.moves.load(Ordering::Acquire) {
                break;
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found.into_iter().map(|(_, made)| made).collect()
    }

    /// FLUSH TABLES: nobody has the tables open any more; no names are all of them.
    pub fn flush(&self, names: &[FullName]) {
        if names.is_empty() {
            self.entries.each_from(None, |_, entry| {
                entry.flush();
                true
            });
        }
        names.iter().filter_map(|name| self.entries.get(name)).for_each(|entry| entry.flush());
    }

    /// How many names there are, of tables or not.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.cache.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableDef;
    use sync::SlotTable;
    use value::Collation;

    fn names() -> Names {
        Names::new(Arc::new(Mdl::new(SlotTable::new(2, 1))))
    }

    /// A table with an id and a file; `parent`: what its foreign key refers to.
    fn table(n: u64, parent: Option<&str>) -> Option<Arc<Definition>> {
        let mut def = TableDef::new("d", format!("t{n}"), Vec::new(), Collation::Utf8mb4_0900AiCi);
        def.id = TableId(n);
        def.storage.space = SpaceId(n as u32);
        if let Some(parent) = parent {
            def.foreign_keys.push(crate::ForeignKeyDef {
                name: "k".into(),
                columns: Vec::new(),
                parent: ("d".into(), parent.into()),
                parent_columns: Vec::new(),
                on_delete: Default::default(),
                on_update: Default::default(),
            });
        }
        Some(Arc::new(Definition::closed(def)))
    }

    fn create(names: &Names, n: u64, parent: Option<&str>) -> Arc<NameEntry> {
        let entry = names.entry("d", &format!("t{n}"));
        names.publish_all(vec![(Arc::clone(&entry), table(n, parent))]);
        entry
    }

    /// How many tables refer to one whose definition is in memory.
    fn children(names: &Names, table: &str) -> Option<usize> {
        Some(names.known("d", table)?.in_memory()?.children().len())
    }

    #[test]
    fn names_that_come_and_go_leave_nothing() {
        let names = names();
        for n in 0..20_000 {
            let entry = create(&names, n, Some("parent"));
            assert_eq!(names.children(&("d".into(), "parent".into())).len(), 1);
            names.publish_all(vec![(entry, None)]);
            assert!(
                names.by_id(TableId(n)).is_none() && names.by_space(SpaceId(n as u32)).is_none()
            );
            assert!(names.len() < 4 * SHARDS, "{} names after {n} tables", names.len());
        }
        assert!(names.all(|entry| entry.brief()).is_empty());
    }

    #[test]
    fn definitions_beyond_the_limit_go_unless_somebody_has_them() {
        let names = names();
        names.cache().set_limit(4);
        let held = create(&names, 0, None).in_memory();
        for n in 1..100 {
            create(&names, n, None);
            assert!(names.cache().len() <= 6, "{} definitions are kept", names.cache().len());
        }
        let alive = names.all(|entry| entry.in_memory());
        assert!(alive.len() <= 6, "{} definitions are in memory", alive.len());
        let entry = names.known("d", "t0").expect("a table");
        assert!(entry.in_memory().is_some() && held.is_some());
        // It is read again by several, and is there once.
        drop((held, alive));
        for n in 0..20 {
            create(&names, 200 + n, None);
        }
        assert!(entry.in_memory().is_none(), "nobody has it, and it stays");
        let (version, _) = entry.look();
        let read: Vec<_> = (0..2).filter_map(|_| entry.settle(version, &table(0, None)?)).collect();
        assert!(Arc::ptr_eq(&read[0], &read[1]));
        // What was read under another version is none of it.
        entry.touch();
        assert!(entry.settle(version, &table(0, None).expect("a table")).is_none());
    }

    /// What a thread writes to what is shared while a table is created beside so many others, with a foreign key to one
    /// of them, renamed and dropped: the cost of latches, and so of looks at others.
    fn writes_of_ddl_beside(others: u64) -> u64 {
        let names = names();
        // Who refers to it has it.
        let parent = create(&names, 1, None).in_memory();
        for n in 2..others {
            create(&names, n, None);
        }
        let before: u64 = stdx::shared_writes().iter().sum();
        let entry = create(&names, 1_000_000, Some("t1"));
        assert_eq!(children(&names, "t1"), Some(1));
        assert!(names.has_constraint(Kind::ForeignKey, ("d", "K"), &|_| false));
        assert!(!names.has_constraint(Kind::ForeignKey, ("d", "K"), &|table| table == "t1000000"));
        assert!(!names.has_constraint(Kind::Check, ("d", "K"), &|_| false));
        let to = names.entry("d", "renamed");
        let moved = entry.in_memory().map(|d| Arc::new(d.redefined(d.def.clone())));
        names.publish_all(vec![(Arc::clone(&to), moved), (entry, None)]);
        assert!(names.by_id(TableId(1_000_000)).is_some());
        names.publish_all(vec![(to, None)]);
        assert_eq!(children(&names, "t1"), Some(0));
        let writes = stdx::shared_writes().iter().sum::<u64>() - before;
        drop(parent);
        writes
    }

    #[test]
    fn a_publication_costs_the_same_beside_many_tables() {
        let (few, many) = (writes_of_ddl_beside(10), writes_of_ddl_beside(10_000));
        assert!(few > 0, "this build counts shared writes");
        assert!(many <= 2 * few, "{many} shared writes beside 10,000 tables, {few} beside 10");
    }

    #[test]
    fn an_exchange_of_names_is_seen_whole() {
        let names = names();
        let (a, b) = (create(&names, 1, None), create(&names, 2, None));
        let (one, two) = (table(1, None), table(2, None));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..2_000 {
                    let (x, y) = if n % 2 == 0 { (&two, &one) } else { (&one, &two) };
                    names.publish_all(vec![
                        (Arc::clone(&a), x.clone()),
                        (Arc::clone(&b), y.clone()),
                    ]);
                }
            });
            for _ in 0..2_000 {
                assert!(names.by_id(TableId(1)).is_some() && names.by_id(TableId(2)).is_some());
                assert_eq!(names.of_schema("d", |entry| entry.in_memory()).len(), 2);
            }
        });
    }
}
