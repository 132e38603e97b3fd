use super::*;

fn set(name: &str, v: Assign<'_>) -> Result<String, VarError> {
    let kind = find(name).unwrap().get().kind;
    kind.check(name, &v).map(|(v, _)| kind.show(&v))
}

#[test]
fn names_are_unique_and_defaults_are_valid() {
    let mut names: Vec<_> = VARIABLES.iter().map(|v| v.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    for v in VARIABLES {
        let (value, warning) = v.kind.parse(v.name, v.default).expect(v.name);
        assert_eq!(warning, None, "{}", v.name);
        if !matches!(v.kind, Kind::Switches(_)) {
            let shown = v.kind.show(&value);
            let again = v.kind.parse(v.name, &shown).expect(v.name).0;
            assert_eq!(again, value, "{} = {shown}", v.name);
        }
    }
}

#[test]
fn names_of_the_captured_statements_exist() {
    for name in [
        "version_comment",
        "autocommit",
        "character_set_results",
        "NET-READ-TIMEOUT",
        "lower_case_table_names",
        "sql_quote_show_create",
        "server_uuid",
        "log_bin",
        "optimizer_switch",
    ] {
        assert!(find(name).is_some(), "{name}");
    }
}

#[test]
fn ranges_cut_and_types_are_checked() {
    assert_eq!(set("max_connections", Assign::Int(0)).unwrap(), "1");
    let (_, warning) =
        id("wait_timeout").get().kind.check("wait_timeout", &Assign::Int(-5)).unwrap();
    assert_eq!(warning.unwrap(), "Truncated incorrect wait_timeout value: '-5'");
    assert_eq!(
        set("wait_timeout", Assign::Text("x")),
        Err(VarError::WrongType("wait_timeout".into()))
    );
    assert_eq!(
        set("autocommit", Assign::Int(2)),
        Err(VarError::WrongValue("autocommit".into(), "2".into()))
    );
    assert_eq!(set("autocommit", Assign::Text("off")).unwrap(), "OFF");
    assert_eq!(set("character_set_results", Assign::Null).unwrap(), "");
}

#[test]
fn steps_and_fractions_are_cut_with_a_warning() {
    let check = |name: &'static str, v| {
        let kind = id(name).get().kind;
        kind.check(name, &v).map(|(v, warning)| (kind.show(&v), warning))
    };
    let cut = |name: &str, n: &str| Some(format!("Truncated incorrect {name} value: '{n}'"));
    let capacity = "innodb_redo_log_capacity";
    assert_eq!(
        check(capacity, Assign::Int(20_000_001)),
        Ok(("19922944".into(), cut(capacity, "20000001")))
    );
    assert_eq!(check(capacity, Assign::Int(-1)), Ok(("8388608".into(), cut(capacity, "-1"))));
    assert_eq!(check(capacity, Assign::UInt(16 << 20)), Ok(("16777216".into(), None)));
    let dirty = "innodb_max_dirty_pages_pct";
    assert_eq!(check(dirty, Assign::Int(100)), Ok(("99.999000".into(), cut(dirty, "100"))));
    assert_eq!(check(dirty, Assign::Double(12.5)), Ok(("12.500000".into(), None)));
}

#[test]
fn sizes_take_suffixes() {
    let size = |t| id("innodb_buffer_pool_size").get().kind.parse("x", t).map(|(v, _)| v.as_u64());
    assert_eq!(size("2G"), Ok(2 << 30));
    assert_eq!(size("64m"), Ok(64 << 20));
    assert!(size("2X").is_err());
    assert!(size("").is_err());
    assert!(size("99999999999G").is_err());
}

#[test]
fn modes_expand_and_restore() {
    assert!(set("sql_mode", Assign::Text("ansi")).unwrap().contains("ANSI_QUOTES"));
    assert!(set("sql_mode", Assign::Text("TRADITIONAL")).unwrap().contains("STRICT_ALL_TABLES"));
    assert_eq!(set("sql_mode", Assign::Text("")).unwrap(), "");
    assert!(set("sql_mode", Assign::Text("nonsense")).is_err());
    assert!(set("optimizer_switch", Assign::Text("mrr=off")).unwrap().contains("mrr=off"));
}

#[test]
fn scopes_are_kept_apart() {
    assert_eq!(settable("port", true, false), Err(VarError::ReadOnly("port".into())));
    assert!(settable("port", true, true).is_ok());
    assert_eq!(
        settable("max_connections", false, false),
        Err(VarError::GlobalOnly("max_connections".into()))
    );
    assert_eq!(settable("nosuch", false, false), Err(VarError::Unknown("nosuch".into())));
    let globals = Globals::new(&[], BTreeMap::new(), None);
    let mut session = SessionVars::new(&globals, &Arc::default());
    globals.set(id("wait_timeout"), Value::UInt(7));
    assert_eq!(session.number("wait_timeout"), 28800);
    assert_eq!(SessionVars::new(&globals, &Arc::default()).number("wait_timeout"), 7);
    session.set(id("wait_timeout"), Value::UInt(9));
    assert_eq!((session.number("wait_timeout"), globals.number("wait_timeout")), (9, 7));
}

/// The sizes of a history, of a long one and of digests, and how many definitions stay.
fn chosen(given: &[(&'static str, u64)]) -> [u64; 4] {
    let values: Vec<_> = given.iter().map(|(name, n)| (id(name), Value::UInt(*n))).collect();
    let globals = Globals::new(&values, BTreeMap::new(), None);
    for (id, _) in &values {
        globals.came_from(*id, Origin::of(Source::CommandLine, ""));
    }
    globals.choose_sizes();
    // What was chosen is not chosen again.
    globals.set(id("max_connections"), Value::UInt(100_000));
    globals.choose_sizes();
    [
        "performance_schema_events_waits_history_size",
        "performance_schema_events_statements_history_long_size",
        "performance_schema_digests_size",
        "table_definition_cache",
    ]
    .map(|name| globals.number(name))
}

#[test]
fn sizes_that_nobody_gave_follow_connections_and_tables() {
    let caches = |definitions, open| {
        [
            ("max_connections", 151),
            ("table_definition_cache", definitions),
            ("table_open_cache", open),
        ]
    };
    assert_eq!(chosen(&[]), [10, 10_000, 10_000, 2000]);
    assert_eq!(chosen(&caches(400, 4000)), [5, 100, 1000, 400]);
    assert_eq!(chosen(&caches(400, 4001)), [10, 1000, 5000, 400]);
    assert_eq!(chosen(&caches(401, 10)), [10, 1000, 5000, 401]);
    assert_eq!(chosen(&caches(800, 8000)), [10, 1000, 5000, 800]);
    assert_eq!(chosen(&caches(801, 10)), [10, 10_000, 10_000, 801]);
    assert_eq!(chosen(&[("table_open_cache", 400)]), [10, 1000, 5000, 600]);
    assert_eq!(chosen(&[("table_open_cache", 1)]), [5, 100, 1000, 400]);
    let many = [("max_connections", 303), ("table_open_cache", 1)];
    assert_eq!(chosen(&many), [10, 10_000, 10_000, 400]);
    let mut some = caches(400, 400).to_vec();
    some.extend([
        ("performance_schema_events_waits_history_size", 0),
        ("performance_schema_digests_size", kind::NO_LIMIT),
    ]);
    assert_eq!(chosen(&some), [0, 100, 1000, 400], "what is given stays, but for -1");
}

#[derive(Default)]
struct Kept(Arc<OnceLock<String>>);

impl PersistStore for Kept {
    fn save(&self, text: &str) -> std::io::Result<()> {
        let _ = self.0.set(text.to_string());
        Ok(())
    }
}

#[test]
fn persisted_values_come_back_at_the_next_start() {
    let kept = Kept::default();
    let text = Arc::clone(&kept.0);
    let globals = Globals::new(&[], BTreeMap::new(), Some(Box::new(kept)));
    globals.persist(id("wait_timeout"), &Value::UInt(77)).unwrap();
    assert!(text.get().unwrap().contains("wait_timeout = \"77\""));
    let next = Globals::new(&[], BTreeMap::from([("wait_timeout", "77".to_string())]), None);
    assert_eq!(next.number("wait_timeout"), 77);
    assert_eq!(next.initial(id("wait_timeout")), Value::UInt(28800));
    assert!(next.reset_persist(Some("port")).is_err());
    assert!(next.reset_persist(Some("wait_timeout")).is_ok());
}
