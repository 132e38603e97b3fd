//! Statements, parsed and planned over a small catalog: their EXPLAIN texts and errors, as recorded in
//! `plans.txt` (run with `PLANS_RECORD=1` to record anew, then read the difference).

use crate::parameters::{Parameter, ParameterType, Parameters};
use crate::{PlanContext, explain, query};
use catalog::{Catalog, ColumnDef, IndexDef, SchemaDef, TableCache, TableDef};
use engine::{Client, Engine, EngineConfig};
use host::SimDisk;
use parser::ast::{Query, Statement};
use std::sync::Arc;
use sync::Deadline;
use value::{Collation, ColumnType, KeyPart, Kind};

const PLANS: &str = include_str!("plans.txt");

/// Every table has as many rows.
struct Alike;

impl crate::stats::Statistics for Alike {
    fn rows(&self, _: catalog::TableRef) -> f64 {
        10_000.0
    }

    fn distinct(&self, _: catalog::TableRef, index: usize, parts: usize) -> f64 {
        match (index, parts) {
            (0, _) => 10_000.0,
            _ => 100.0 * parts as f64,
        }
    }
}

struct Fixture {
    client: Client,
    tables: TableCache,
}

fn deadline() -> Deadline {
    Deadline::after(std::time::Duration::from_secs(10))
}

fn column(name: &str, ty: ColumnType) -> ColumnDef {
    ColumnDef::new(name, ty)
}

fn index(name: &str, unique: bool, columns: &[usize]) -> IndexDef {
    let parts = columns.iter().map(|c| KeyPart::whole(*c)).collect();
    IndexDef::new(name, unique, name == "PRIMARY", parts)
}

impl Fixture {
    fn new() -> Fixture {
        let config = EngineConfig {
            pool_bytes: 8 << 20,
            system_tables: catalog::system_tables(),
            ..EngineConfig::default()
        };
        let (engine, _) = Engine::open(config, SimDisk::new(1)).unwrap();
        let mdl = Arc::new(mdl::Mdl::new(Arc::clone(engine.slots())));
        let catalog = Catalog::open(Arc::clone(&engine), mdl).unwrap();
        let client = engine.client().unwrap();
        let tables = TableCache::new(catalog);
        let mut fixture = Fixture { client, tables };
        fixture.fill();
        fixture
    }

    fn fill(&mut self) {
        let int = ColumnType::int(Kind::Int, false);
        let key = int.not_null();
        let text = ColumnType::varchar(20, Collation::Utf8mb4_0900AiCi);
        let catalog = Arc::clone(self.tables.catalog());
        let schema = SchemaDef { name: "d".into(), collation: Collation::Utf8mb4_0900AiCi };
        catalog.create_schema(&mut self.client, &mut self.tables, schema, deadline()).unwrap();
        self.table(
            "a",
            vec![column("id", key), column("x", int), column("y", text)],
            vec![index("PRIMARY", true, &[0]), index("x", false, &[1])],
        );
        self.table(
            "b",
            vec![column("id", key), column("aid", int), column("z", int), column("w", key)],
            vec![
                index("PRIMARY", true, &[0]),
                index("aid", false, &[1, 2]),
                index("w", true, &[3]),
            ],
        );
        self.table("c", vec![column("bid", int), column("v", text)], Vec::new());
    }

    fn table(&mut self, name: &str, columns: Vec<ColumnDef>, indexes: Vec<IndexDef>) {
        let catalog = Arc::clone(self.tables.catalog());
        let mut new = TableDef::new("d", name, columns, Collation::Utf8mb4_0900AiCi);
        new.indexes = indexes;
        catalog.create_table(&mut self.client, &mut self.tables, new, 1, deadline()).unwrap();
        self.tables.release_all(self.client.slot());
    }

    /// EXPLAIN FORMAT=TREE and the traditional rows, or the error.
    fn explain(&mut self, sql: &str) -> String {
        let statement = match parser::parse(sql.as_bytes(), parser::SqlMode::DEFAULT) {
            Ok(Statement::Query(query)) => query,
            other => return format!("not a query: {other:?}\n"),
        };
        self.explain_query(&statement, Parameters::default())
    }

    fn explain_query(&mut self, statement: &Query, parameters: Parameters) -> String {
        let mut context = PlanContext {
            parameters,
            client: &self.client,
            tables: &mut self.tables,
            database: Some("d"),
            warnings: Vec::new(),
            variables: &expr::variables::NoVariables,
            assigned: Vec::new(),
            literals: crate::literals::Literals::default(),
            settings: expr::build::Settings {
                sql_mode: expr::functions::moments::mode::ONLY_FULL_GROUP_BY,
                ..expr::build::Settings::collated(Collation::Utf8mb4_0900AiCi)
            },
            deadline: deadline(),
            rights: access::Rights::of_server(),
            needs: Vec::new(),
            read_mode: mdl::Mode::SR,
            write_mode: mdl::Mode::SW,
            makes_view: false,
            in_select_list: false,
            explains: false,
            opens: false,
        };
        let planned = query::plan_query_with(&mut context, statement, &Alike);
        let text = match planned {
            Ok(plan) => {
                let mut text = explain::tree(&plan, &self.tables, &|_| None);
                for row in explain::traditional(&plan, &self.tables) {
                    let id = row.id.map_or("NULL".to_string(), |id| id.to_string());
                    let show = |v: &Option<String>| v.clone().unwrap_or_else(|| "NULL".into());
                    text.push_str(&format!(
                        "{id} {} {} {} {} {} {} {} | {}\n",
                        row.select_type,
                        show(&row.table),
                        show(&row.access),
                        show(&row.possible_keys),
                        show(&row.key),
                        show(&row.key_len),
                        show(&row.reference),
                        show(&row.extra),
                    ));
                }
                text
            }
            Err(error) => {
                let (number, state, text) = error.parts();
                format!("ERROR {number} ({state}): {text}\n")
            }
        };
        self.tables.release_all(self.client.slot());
        text
    }
}

/// A statement ends in `;` at the end of a line; what follows up to an empty line is expected.
#[test]
fn plans_are_as_recorded() {
    let mut fixture = Fixture::new();
    let mut recorded = String::new();
    let mut wrong = Vec::new();
    for case in PLANS.split("\n\n").map(str::trim).filter(|c| !c.is_empty()) {
        let (sql, expected) = case.split_once(";\n").unwrap_or((case.trim_end_matches(';'), ""));
        let found = fixture.explain(sql);
        if found.trim_end() != expected.trim_end() {
            wrong.push(format!("{sql};\nexpected:\n{expected}\nfound:\n{found}"));
        }
        recorded.push_str(&format!("{sql};\n{found}\n"));
    }
    if std::env::var_os("PLANS_RECORD").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/plans.txt");
        std::fs::write(path, recorded).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_planned_before_the_types_of_parameters_are_found() {
    let sql = b"SELECT x FROM a WHERE id = ?";
    let parsed = parser::parse_next(sql, 0, parser::SqlMode::DEFAULT, true).unwrap();
    let Statement::Query(query) = parsed.statement else { panic!("a query") };
    let mut fixture = Fixture::new();
    let mut plan = |planned| {
        let parameter = Parameter { planned, ..Parameter::default() };
        fixture.explain_query(&query, Parameters::open(vec![parameter]))
    };
    let reads = "lookup on a using PRIMARY";
    let (first, second) = (plan(ParameterType::Text), plan(ParameterType::Int));
    assert!(!first.contains(reads) && second.contains(reads), "{first}\n{second}");
}
