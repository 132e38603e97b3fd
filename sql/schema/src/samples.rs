//! `limpid_session_samples`: the active session history, one row for each active session and second.

use crate::information::{Cell, Information, Rows, cells};
use crate::performance::hex;
use crate::table::{Type, performance};
use catalog::{ReadContext, VirtualTable};
use instrument::{SessionSample, WaitObject, each_session_sample};
use std::sync::Arc;

const COLUMNS: &[(&str, Type)] = &[
    ("SAMPLE_TIME", Type::Moment),
    ("THREAD_ID", Type::Unsigned),
    ("PROCESSLIST_ID", Type::Unsigned),
    ("USER", Type::Text(32)),
    ("DB", Type::NullableText(64)),
    ("COMMAND", Type::Text(16)),
    ("STATE", Type::Text(64)),
    ("COMMAND_SECONDS", Type::Double),
    ("EVENT_NAME", Type::NullableText(128)),
    ("WAIT_SECONDS", Type::NullableDouble),
    ("OBJECT_TYPE", Type::NullableText(64)),
    ("OBJECT_SCHEMA", Type::NullableText(64)),
    ("OBJECT_NAME", Type::NullableText(512)),
    ("INDEX_NAME", Type::NullableText(64)),
    ("OBJECT_INSTANCE_BEGIN", Type::NullableUnsigned),
    ("BLOCKING_THREAD_ID", Type::NullableUnsigned),
    ("BLOCKING_PROCESSLIST_ID", Type::NullableUnsigned),
    ("TRANSACTION_SECONDS", Type::NullableDouble),
    ("DIGEST", Type::NullableText(64)),
    ("SQL_TEXT", Type::NullableText(1024)),
];

/// The table; without a Performance Schema nobody samples.
pub(crate) fn table() -> Arc<dyn VirtualTable> {
    let def = performance("limpid_session_samples", COLUMNS, false);
    let table = Information::new(def, rows);
    Arc::new(table.truncated_by(Some(|_| instrument::empty_session_samples())))
}

fn rows(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    each_session_sample(|time_us, sample| rows.push(&row(time_us, sample)));
}

fn row(time_us: u64, sample: &SessionSample) -> Vec<Cell<'_>> {
    let wait = sample.wait.as_ref();
    let nameless = WaitObject::default();
    let of = wait.and_then(|wait| wait.object.as_deref()).cloned().unwrap_or(nameless);
    let text = |name: &Option<Arc<str>>| Cell::from(name.as_deref().map(str::to_string));
    let mut row = Vec::from(cells![
        Cell::Time(time_us as i64),
        sample.thread_id,
        sample.session_id,
        &*sample.user,
        sample.db.as_deref(),
        sample.command,
        sample.state,
        seconds(sample.command_ns),
        wait.map(|wait| wait.class.name()),
        wait.map(|wait| seconds(wait.ns)),
        of.kind,
    ]);
    row.extend([text(&of.schema), text(&of.name), text(&of.index)]);
    row.extend(cells![
        wait.map(|wait| wait.number).filter(|number| *number != 0),
        sample.blocker.map(|(thread_id, _)| thread_id).filter(|id| *id != 0),
        sample.blocker.map(|(_, session_id)| session_id),
        sample.transaction_ns.map(seconds),
        sample.digest.as_ref().map(hex),
        (!sample.text.is_empty()).then(|| String::from_utf8_lossy(&sample.text).into_owned()),
    ]);
    row
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
