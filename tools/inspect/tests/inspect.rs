//! A real data folder, looked at whole and damaged.

#![allow(clippy::unwrap_used)] // tests

use engine::{Engine, EngineConfig, TableSpec};
use host::{AlignedBuf, Disk, OpenMode, RealDisk};
use std::path::{Path, PathBuf};
use value::{ColumnType, KeyPart};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("limpid-inspect-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// An instance with one table of 1,000 rows; its file's name.
fn make(path: &Path) -> String {
    let disk = RealDisk::open(path).unwrap();
    let config = EngineConfig { redo_capacity_bytes: 8 << 20, ..EngineConfig::default() };
    let (engine, _) = Engine::open(config, disk).unwrap();
    let mut client = engine.client().unwrap();
    let spec = TableSpec {
        id: engine.new_table_id().unwrap(),
        name: "t".into(),
        columns: vec![ColumnType::int(value::Kind::Int, false)],
        clustered_id: engine.new_index_id().unwrap(),
        clustered: vec![KeyPart::whole(0)],
        secondaries: Vec::new(),
        autoinc_column: None,
        older: Vec::new(),
        private: false,
    };
    client.begin();
    let table = engine.create_table(&mut client, &spec).unwrap();
    let space = table.storage().space;
    client.commit().unwrap();
    let mut row = Vec::new();
    for id in 0..1000 {
        row.clear();
        table.layout().encode(&[value::Datum::Int(id)], &mut row).unwrap();
        client.insert(&table, &row).unwrap();
    }
    client.commit().unwrap();
    drop((client, table));
    engine.shutdown().unwrap();
    engine::space_name(space)
}

fn inspect(path: &Path, words: &[&str]) -> (bool, String) {
    let mut arguments = vec![path.display().to_string()];
    arguments.extend(words.iter().map(ToString::to_string));
    let mut out = Vec::new();
    let code = inspect::answer(&arguments, &mut out);
    (code == 0, String::from_utf8(out).unwrap())
}

#[test]
fn a_sound_folder_is_shown_and_a_flipped_bit_is_found() {
    let path = folder("bit");
    let name = make(&path);
    let space = name.trim_start_matches("space_").trim_end_matches(".lim");
    for (words, says) in [
        (&["files"][..], "tablespace 1,"),
        (&["check"], "0 damaged"),
        (&["undo", "--records"], "free segments"),
        (&["redo"], "0 mini-transactions"),
        (&["pages", "0"], "SpaceHeader"),
        (&["page", space, "0"], "auto_increment"),
        (&["page", space, "1"], "level"),
        (&["page", space, "1", "--hex"], "00000  "),
    ] {
        let (sound, text) = inspect(&path, words);
        assert!(sound && text.contains(says), "{words:?}: {text}");
    }
    let disk = RealDisk::open(&path).unwrap();
    let file = disk.open(&name, OpenMode::ReadWrite).unwrap();
    let mut block = AlignedBuf::zeroed(host::BLOCK_BYTES);
    let at = base::PAGE_BYTES as u64;
    file.read_exact_at(&mut block, at).unwrap();
    block[100] ^= 1;
    file.write_at(&block, at).unwrap();
    drop((file, disk));
    let (sound, text) = inspect(&path, &["check"]);
    assert!(!sound && text.contains(&format!("{name} page 1: ")), "{text}");
    let (sound, text) = inspect(&path, &["page", space, "1"]);
    assert!(!sound && text.contains("DAMAGED"), "{text}");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn what_is_no_stopped_server_is_refused() {
    let path = folder("none");
    assert!(!inspect(&path, &["files"]).0);
    assert!(!path.exists(), "looking made a folder");
    std::fs::create_dir(&path).unwrap();
    assert!(!inspect(&path, &["files"]).0);
    std::fs::remove_dir_all(&path).unwrap();
    let path = folder("running");
    make(&path);
    let _running = RealDisk::open(&path).unwrap();
    assert!(!inspect(&path, &["files"]).0);
    std::fs::remove_dir_all(&path).unwrap();
}
