//! Names of tables: the lock object of each, its version, its current definition.
//!
//! 1. A name has one entry while somebody has it or it means something, so a session may cache it; what means nothing and
//!    is nobody's goes ([`sync::Directory`]). 2. What is published changes only under an X lock on the name; `version` is
//!    raised then, and when new statistics ask for new plans; a reader that holds any
//!    lock on the name and sees its cached version again may use its cached definition.
//! 3. A published definition lists the tables that refer to it as they are published.
//! 4. A publication touches its own names and those that its foreign keys join to them, however many others there are; no
//!    latch is held for a walk through all.

pub use crate::definition::Definition;
use crate::index::Index;
use crate::open::OpenHandles;
use crate::{FullName, TableRef};
use base::{SpaceId, TableId};
use instrument::{Counter, TableFigures};
use mdl::{Mdl, Namespace, Object};
use std::collections::BTreeSet;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Directory, Entry, Mutex};

instrument::classes! {
    static NAMES: MutexClass = "wait/synch/mutex/sql/table_names";
    static DEFINITION: MutexClass = "wait/synch/mutex/sql/table_definition";
    static PUBLISHED: MutexClass = "wait/synch/mutex/sql/table_publication";
}

/// The number of a name, by which plans of all sessions refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NameId(pub(crate) u64);

/// Names that were met so far, each temporary table's among them.
static MET: SharedAtomic<u64, { class::DICT }> = SharedAtomic::new(0);

impl NameId {
    fn next() -> NameId {
        NameId(MET.fetch_add(1, Ordering::Relaxed))
    }
}

/// Versions of one publication: as many changes of statistics ask for new plans before it counts as a publication.
const TOUCHES: u64 = 1 << 20;

/// The publication that a version belongs to: open tables are good as long as it is the same.
#[inline]
pub(crate) fn publication(version: u64) -> u64 {
    version / TOUCHES
}

/// What a name means, and who has it open.
struct Current {
    definition: Option<Arc<Definition>>,
    /// How many handles of this publication are open, by instance of the table cache.
    handles: Vec<(usize, u64)>,
    /// It was opened: it counts as a definition that is in memory.
    cached: bool,
}

/// A name with its lock object and what it means at the moment.
pub struct NameEntry {
    /// Its number.
    pub id: NameId,
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub name: String,
    /// Metadata lock object of the name.
    pub object: Arc<Object>,
    version: SharedAtomic<u64, { class::DICT }>,
    current: Mutex<Current>,
    open: Arc<OpenHandles>,
    /// It is a temporary table's, and in no directory.
    private: bool,
    /// What was done to the rows of its tables.
    pub io: Arc<TableFigures>,
}

impl Entry for NameEntry {
    fn is_void(&self) -> bool {
        self.current.lock().definition.is_none()
    }
}

impl NameEntry {
    fn new(names: &Names, (schema, name): (&str, &str), object: Arc<Object>) -> Self {
        NameEntry {
            id: NameId::next(),
            schema: schema.to_string(),
            name: name.to_string(),
            object,
            version: SharedAtomic::new(TOUCHES),
            current: Mutex::new(
                &DEFINITION,
                Current { definition: None, handles: Vec::new(), cached: false },
            ),
            open: Arc::clone(&names.open),
            private: false,
            io: Arc::default(),
        }
    }

    /// Whether it is a temporary table's.
    pub(crate) fn is_private(&self) -> bool {
        self.private
    }

    /// Whether another definition was published, or the table flushed, since a plan was made.
    pub fn has_changed(&self, since: TableRef) -> bool {
        publication(self.version()) != publication(since.version())
    }

    /// Version of the published definition; one load.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The published definition, with the version it belongs to. The caller holds a metadata lock.
    pub fn current(&self) -> (u64, Option<Arc<Definition>>) {
        let current = self.current.lock();
        (self.version(), current.definition.clone())
    }

    /// An entry that no other session finds.
    pub(crate) fn private(names: &Names, (schema, name): (&str, &str), made: Definition) -> Self {
        // No table name begins with a number sign and a schema's name.
        let id = format!("#{}", made.def.id.0);
        let object = names.mdl.intern(Namespace::Table, "#temporary", &id);
        let new = NameEntry::new(names, (schema, name), object);
        let entry = NameEntry { private: true, ..new };
        entry.publish(Some(Arc::new(made)));
        entry
    }

    /// Plans for the name are made anew: more is known about its table. No lock is needed, since the
    /// definition stays.
    pub fn touch(&self) {
        let _nobody_publishes = self.current.lock();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Publishes a definition (or none); the caller holds X on the name. Nobody has it open any more.
    pub fn publish(&self, definition: Option<Arc<Definition>>) {
        let mut current = self.current.lock();
        current.definition = definition;
        self.close_all(&mut current);
    }

    /// FLUSH: nobody has the table open any more; it is opened anew, and plans are made anew.
    pub(crate) fn flush(&self) {
        let mut current = self.current.lock();
        if current.cached {
            self.close_all(&mut current);
        }
    }

    /// It is opened: definitions are loaded at first use, and after each publication and FLUSH.
    pub(crate) fn load(&self) {
        let mut current = self.current.lock();
        if !std::mem::replace(&mut current.cached, true) {
            self.open.add_definition();
            instrument::count(Counter::OpenedTableDefinitions, 1);
        }
    }

    /// Whether it was opened since the last publication and FLUSH.
    pub fn is_loaded(&self) -> bool {
        self.current.lock().cached
    }

    fn close_all(&self, current: &mut Current) {
        let next = (publication(self.version()) + 1) * TOUCHES;
        self.version.store(next, Ordering::Release);
        for (instance, handles) in current.handles.drain(..) {
            self.open.remove(instance, handles);
        }
        if std::mem::replace(&mut current.cached, false) {
            self.open.remove_definition();
        }
    }

    /// Counts a handle in that a session opens of the definition of `version`; false when that is another one by now.
    pub(crate) fn add_handle(&self, instance: usize, version: u64) -> bool {
        let mut current = self.current.lock();
        if publication(self.version()) != publication(version) {
            return false;
        }
        match current.handles.iter_mut().find(|(of, _)| *of == instance) {
            Some((_, handles)) => *handles += 1,
            None => current.handles.push((instance, 1)),
        }
        self.open.add(instance);
        true
    }

    /// Counts handles out that were opened of the definition of `version`, unless its end has done so.
    pub(crate) fn remove_handles(&self, instance: usize, version: u64, handles: u64) {
        let mut current = self.current.lock();
        if publication(self.version()) != publication(version) {
            return;
        }
        let Some(at) = current.handles.iter().position(|(of, _)| *of == instance) else { return };
        current.handles[at].1 -= handles;
        if current.handles[at].1 == 0 {
            current.handles.swap_remove(at);
        }
        self.open.remove(instance, handles);
    }
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
        }
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

    /// The definition published with a table id.
    pub fn by_id(&self, id: TableId) -> Option<Arc<Definition>> {
        self.published.lock().by_id(id)
    }

    /// The table whose rows lie in a tablespace.
    pub fn by_space(&self, space: SpaceId) -> Option<Arc<Definition>> {
        self.published.lock().by_space(space)
    }

    /// Names of the tables whose foreign keys refer to a name.
    pub fn children(&self, parent: &FullName) -> Vec<FullName> {
        self.published.lock().children(parent)
    }

    /// Whether a table of the schema other than `table` has a foreign key of that (folded) name.
    pub fn has_foreign_key(&self, schema: &str, key: &str, table: Option<&str>) -> bool {
        self.published.lock().has_foreign_key(schema, key, table)
    }

    /// Publishes several definitions; who looks through all names sees all of them or none. The tables that they
    /// refer to, or referred to, learn of it; the caller holds X on all of these names.
    pub fn publish_all(&self, list: Vec<Published>) {
        let mut published = self.published.lock();
        let mut concerned = BTreeSet::new();
        for (entry, new) in &list {
            concerned.insert((entry.schema.clone(), entry.name.clone()));
            for definition in [&entry.current().1, new].into_iter().flatten() {
                concerned.extend(definition.def.foreign_keys.iter().map(|k| k.parent.clone()));
            }
        }
        let moves = list.len() > 1;
        if moves {
            self.moves.fetch_add(1, Ordering::AcqRel);
        }
        // What goes first, and then what comes: it may be the same table under another name.
        for (entry, new) in &list {
            if let Some(old) = entry.current().1 {
                published.remove(&old);
            }
            entry.publish(new.clone());
        }
        list.iter().filter_map(|(_, new)| new.as_ref()).for_each(|new| published.add(new));
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
    }

    /// Brings the list of children of a name up to date.
    fn relate(&self, published: &mut Index, name: &FullName) {
        let Some(entry) = self.entries.get(name) else { return };
        let Some(known) = entry.current().1 else { return };
        let children = published.children(name);
        if known.children() != children {
            let related = Arc::new(known.related(children));
            published.remove(&known);
            published.add(&related);
            entry.publish(Some(related));
        }
    }

    /// The published definition of a name, if there is one.
    pub fn known(&self, schema: &str, name: &str) -> Option<Arc<Definition>> {
        self.entries.get(&(schema.to_string(), name.to_string()))?.current().1
    }

    /// The names that have a definition which is wanted, with it; ordered.
    pub fn defined(&self, wanted: impl Fn(&Definition) -> bool) -> Vec<Defined> {
        self.list(|found| {
            self.entries.each_from(None, |_, entry| {
                found.extend(definition_of(entry).filter(|(_, d)| wanted(d)));
                true
            });
        })
    }

    /// Definitions published for a schema, ordered by name.
    pub fn of_schema(&self, schema: &str) -> Vec<Arc<Definition>> {
        let from = (schema.to_string(), String::new());
        let found = self.list(|found| {
            self.entries.each_from(Some(&from), |(of, _), entry| {
                let is_in = of == schema;
                found.extend(definition_of(entry).filter(|_| is_in));
                is_in
            });
        });
        found.into_iter().map(|(_, definition)| definition).collect()
    }

    /// A list that was made while no names were exchanged. They may be all the time: then it is as it was found.
    fn list(&self, mut make: impl FnMut(&mut Vec<Defined>)) -> Vec<Defined> {
        let mut found = Vec::new();
        for _ in 0..LISTS_MAX {
            let before = self.moves.load(Ordering::Acquire);
            found.clear();
            make(&mut found);
            if before.is_multiple_of(2) && before == self.moves.load(Ordering::Acquire) {
                break;
            }
        }
        found.sort_by(|(a, _), (b, _)| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        found
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

/// A name and what it means.
pub type Defined = (Arc<NameEntry>, Arc<Definition>);

fn definition_of(entry: Arc<NameEntry>) -> Option<Defined> {
    entry.current().1.map(|definition| (entry, definition))
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
        assert!(names.defined(|_| true).is_empty());
    }

    /// What a thread writes to what is shared while a table is created beside so many others, with a foreign key to one
    /// of them, renamed and dropped: the cost of latches, and so of looks at others.
    fn writes_of_ddl_beside(others: u64) -> u64 {
        let names = names();
        for n in 0..others {
            create(&names, n, None);
        }
        let before: u64 = stdx::shared_writes().iter().sum();
        let entry = create(&names, 1_000_000, Some("t1"));
        assert_eq!(names.known("d", "t1").map(|d| d.children().len()), Some(1));
        assert!(names.has_foreign_key("d", "K", None));
        let to = names.entry("d", "renamed");
        let moved = entry.current().1.map(|d| Arc::new(d.redefined(d.def.clone())));
        names.publish_all(vec![(Arc::clone(&to), moved), (entry, None)]);
        assert!(names.by_id(TableId(1_000_000)).is_some());
        names.publish_all(vec![(to, None)]);
        assert_eq!(names.known("d", "t1").map(|d| d.children().len()), Some(0));
        stdx::shared_writes().iter().sum::<u64>() - before
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
                assert_eq!(names.of_schema("d").len(), 2);
            }
        });
    }
}
