//! What the server as a whole says of itself: its timers, its logs, its redo files.

use crate::information::{Cell, Rows, cells};
use catalog::{ReadContext, ServerList};
use value::json::parse_tree;

/// `performance_timers`: one clock times everything; the others that MySQL has are not used, so that nothing is known of them.
pub(super) fn timers(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for name in ["CYCLE", "NANOSECOND", "MICROSECOND", "MILLISECOND", "THREAD_CPU"] {
        let used = name == "NANOSECOND";
        let (frequency, resolution) = (used.then_some(1_000_000_000_i64), used.then_some(1_i64));
        rows.push(&cells![name, frequency, resolution, Cell::Null]);
    }
}

/// `innodb_redo_log_files`: the files that the redo log consists of.
pub(super) fn redo_log_files(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for file in context.catalog.engine().log().files() {
        rows.push(&cells![
            file.file_id,
            format!("./{}", file.file_name),
            file.start_lsn.0,
            file.end_lsn.0,
            file.size_in_bytes,
            i64::from(file.is_full),
            i64::from(file.consumer_level),
        ]);
    }
}

/// `error_log`: the latest lines; no session's thread is told.
pub(super) fn error_log(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for line in context.viewer.error_log() {
        let logged = Cell::Time(line.logged_us as i64);
        rows.push(&cells![logged, 0_u64, line.severity, line.code, "Server", line.text]);
    }
}

/// `log_status`: where a backup would begin to copy. There is neither a binary log nor replication.
pub(super) fn log_status(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let variables = context.viewer.list(ServerList::GlobalVariables);
    let uuid = variables.into_iter().find(|(name, _)| name == "server_uuid");
    let log = context.catalog.engine().log();
    // Before the end of the log: a checkpoint is never behind it.
    let checkpoint = log.checkpoint_lsn().0;
    let engines = format!(
        r#"{{"InnoDB": {{"LSN": {}, "LSN_checkpoint": {checkpoint}}}}}"#,
        log.tail().0.max(checkpoint)
    );
    let json = |text: &str| {
        parse_tree(text.as_bytes()).map_or(Cell::Null, |tree| Cell::Json(tree.to_bytes()))
    };
    rows.push(&[
        uuid.map_or_else(String::new, |(_, uuid)| uuid).into(),
        json(r#"{"gtid_executed": ""}"#),
        json(r#"{"channels": []}"#),
        json(&engines),
    ]);
}
