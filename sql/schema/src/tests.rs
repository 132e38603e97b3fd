//! Every table makes rows of the columns it describes.

use super::*;
use catalog::{Catalog, ProcessRow, ReadContext, ServerList, SessionOrder, Viewer};
use engine::EngineConfig;
use host::SimDisk;

struct Nobody;

impl Viewer for Nobody {
    fn list(&self, which: ServerList) -> Vec<(String, String)> {
        vec![(format!("{which:?}"), "x".repeat(3000))]
    }

    fn account(&self) -> String {
        "''@''".into()
    }

    fn each_process(&self, _: SessionOrder, _: &mut dyn FnMut(&ProcessRow)) {}
}

fn catalog() -> Arc<Catalog> {
    let config = EngineConfig {
        pool_bytes: 8 << 20,
        system_tables: catalog::system_tables(),
        ..EngineConfig::default()
    };
    let (engine, _) = Engine::open(config, SimDisk::new(1)).unwrap();
    let mdl = Arc::new(mdl::Mdl::new(Arc::clone(engine.slots())));
    let catalog = Catalog::open(Arc::clone(&engine), mdl).unwrap();
    catalog.register_virtual(tables(&engine));
    catalog
}

#[test]
fn rows_fit_their_columns_and_names_are_found_as_mysql_finds_them() {
    let catalog = catalog();
    for schema in [catalog::INFORMATION_SCHEMA, catalog::PERFORMANCE_SCHEMA, catalog::MYSQL_SCHEMA]
    {
        let names = catalog.table_names(schema);
        assert!(!names.is_empty() && names.is_sorted());
        for name in names {
            let table = catalog.virtual_table(schema, &name).unwrap().unwrap();
            let context = ReadContext { viewer: &Nobody, catalog: &catalog, equal: &[] };
            let rows = table.rows(&context).expect(&name);
            for row in rows.iter() {
                let mut values = Vec::new();
                table.layout().decode_all(row, &mut values).unwrap();
                assert_eq!(values.len(), table.def().columns.len());
            }
        }
    }
    let found = |schema, name| catalog.virtual_table(schema, name).map(|t| t.is_some()).ok();
    assert_eq!(found("Information_Schema", "innodb_buffer_pool_stats"), Some(true));
    assert_eq!(found("performance_schema", "global_status"), Some(true));
    assert_eq!(found("performance_schema", "GLOBAL_STATUS"), None);
    assert_eq!(found("Performance_Schema", "global_status"), Some(false));
    assert_eq!(found("information_schema", "nope"), None);
}
