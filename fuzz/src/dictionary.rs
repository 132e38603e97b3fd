//! Rows of the dictionary's own tables as a start finds them: schemata, definitions, accounts and statistics that may be anything.
//!
//! 1. A start comes back with a dictionary, or says what is damaged. 2. Of what it comes back with there is one of each name, and it
//! is stored as it was read. 3. All inputs have one engine: the rows of one are gone before the next.

use super::login::new_engine;
use access::text;
use catalog::{Catalog, CatalogError, TableDef};
use engine::{Client, Engine, Table};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use stdx::bytes::{Reader, Truncated};
use value::{Datum, KeySpec};

/// What the columns of each table have: a number, or at most so many bytes.
const COLUMNS: [&[Option<usize>]; 4] = [
    &[Some(256), None],
    &[Some(256), Some(256), None, Some(3000)],
    &[Some(256), Some(256), Some(64), Some(1024)],
    &[None, Some(256), None, Some(3000)],
];
/// How many of them are its key.
const KEYS: [usize; 4] = [1, 3, 2, 3];
/// Where accounts are, among what is known of tables.
const STATISTICS: usize = 3;
const ROWS_MAX: usize = 40;

/// A table's number, and a key in it.
type Place = (usize, Vec<u8>);

fn engine() -> &'static Arc<Engine> {
    static ENGINE: OnceLock<Arc<Engine>> = OnceLock::new();
    ENGINE.get_or_init(new_engine)
}

/// The next row: its table, then four bytes for each number, and two with the length before other values.
fn next_row<'a>(r: &mut Reader<'a>) -> Result<(usize, Vec<Datum<'a>>), Truncated> {
    let table = usize::from(r.u8()? & 3);
    let mut values = Vec::new();
    for longest in COLUMNS[table] {
        values.push(match longest {
            None => Datum::UInt(r.u32_le()?.into()),
            Some(longest) => {
                let n = usize::from(r.u16_le()?).min(r.remaining()).min(*longest);
                Datum::Bytes(r.take(n)?)
            }
        });
    }
    Ok((table, values))
}

fn key_of(table: &Table, values: &[Datum<'_>]) -> Vec<u8> {
    let (spec, mut key) = (table.spec(), Vec::new());
    let parts = KeySpec::new(spec.clustered.clone());
    parts.encode_prefix(&spec.columns, values, &mut key).expect("values of its columns");
    key
}

/// Stores a row in the place of the one of its key.
fn put(client: &mut Client, number: usize, values: &[Datum<'_>]) -> Place {
    let table = engine().system_table(number);
    let mut row = Vec::new();
    table.layout().encode(values, &mut row).expect("values of its columns");
    let key = key_of(&table, &values[..KEYS[number]]);
    if !client.update(&table, &key, &row).expect("nobody else is there") {
        client.insert(&table, &row).expect("nobody else is there");
    }
    (number, key)
}

/// See the module.
pub fn dictionary_rows(bytes: &[u8]) {
    let mut client = engine().client().expect("a client");
    let (mut r, mut places) = (Reader::new(bytes), BTreeSet::new());
    client.begin();
    while places.len() < ROWS_MAX
        && let Ok((number, values)) = next_row(&mut r)
    {
        places.insert(put(&mut client, number, &values));
    }
    client.commit().expect("they are stored");
    let mdl = Arc::new(mdl::Mdl::new(Arc::clone(engine().slots())));
    match Catalog::open(Arc::clone(engine()), mdl) {
        Ok(catalog) => look(&catalog),
        Err(CatalogError::BadDefinition { .. }) => {}
        Err(other) => panic!("nothing else is wrong: {other:?}"),
    }
    forget(&mut client, places);
}

fn look(catalog: &Catalog) {
    let accounts = catalog.accounts();
    let names: BTreeSet<_> = accounts.all().iter().map(|account| &account.name).collect();
    assert_eq!(names.len(), accounts.all().len(), "an account that is there twice");
    for account in accounts.all() {
        let roles: BTreeSet<_> = account.roles.keys().cloned().collect();
        assert!(!text::grants(&accounts, account, &roles).is_empty());
        assert!(text::create_user(account, "").starts_with("CREATE USER "));
    }
    for (entry, definition) in catalog.defined() {
        let def = &definition.def;
        assert_eq!((&entry.schema, &entry.name), (&def.schema, &def.name));
        assert_eq!(TableDef::decode(&def.encode()).as_ref(), Ok(def), "it is not read as it is");
        let _ = definition.statistics().rows();
    }
}

/// Deletes these rows, and those of the accounts that a start has made.
fn forget(client: &mut Client, mut places: BTreeSet<Place>) {
    let statistics = engine().system_table(STATISTICS);
    for n in 1..=ROWS_MAX + 1 {
        let name = format!("account {n}");
        let values = [Datum::UInt(0), Datum::Bytes(name.as_bytes()), Datum::UInt(0)];
        places.insert((STATISTICS, key_of(&statistics, &values)));
    }
    client.begin();
    for (number, key) in places {
        client.delete(&engine().system_table(number), &key).expect("nobody else is there");
    }
    client.commit().expect("they are gone");
}
