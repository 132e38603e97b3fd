//! Warm point selects, prepared and text.

use super::Settings;
use super::rounds::compare;
use super::target::Own;

const TABLES: u32 = 8;
const ROWS: u32 = 100_000;

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--innodb-buffer-pool-size=1G"])?;
    let mut targets = vec![own.target()];
    targets.extend(settings.peer()?);
    targets.iter().try_for_each(|t| t.prepare(TABLES, ROWS))?;
    for mode in ["auto", "disable"] {
        let title = format!("point select, ps-mode {mode}");
        compare(&title, &targets, &load(TABLES, ROWS, mode), settings)?;
    }
    Ok(())
}

/// sysbench's options of a uniform point select load.
pub fn load(tables: u32, rows: u32, mode: &str) -> Vec<String> {
    vec![
        format!("--tables={tables}"),
        format!("--table-size={rows}"),
        format!("--db-ps-mode={mode}"),
        "--rand-type=uniform".to_string(),
    ]
}
