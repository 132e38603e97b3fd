//! The redo log from the checkpoint on.

use crate::Failure;
use crate::folder::Folder;
use crate::page_text::shown;
use base::{Lsn, PageId};
use page::PageOp;
use redo::body::{Record, records};
use redo::{Log, LogConfig, Replay};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use sync::SlotTable;

/// Which mini-transactions are asked for.
pub struct Wanted {
    pub from: u64,
    pub limit: u64,
    pub page: Option<PageId>,
}

/// The log and its reader; nothing is written before [`Log::resume`], which nobody calls here.
pub fn open_log(folder: &Folder) -> Result<(Arc<Log>, Replay), Failure> {
    Ok(Log::open(&folder.disk, &LogConfig::default(), SlotTable::new(1, 1))?)
}

/// Lists or counts them.
pub fn redo(
    folder: &Folder,
    wanted: &Wanted,
    summary: bool,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let (log, mut replay) = open_log(folder)?;
    writeln!(out, "checkpoint at LSN {}", log.checkpoint_lsn())?;
    let (mut frames, mut bytes, mut shown_frames) = (0u64, 0u64, 0u64);
    let mut by_kind: BTreeMap<&'static str, u64> = BTreeMap::new();
    for frame in replay.frames() {
        let (start, end, body) = match frame {
            Ok(frame) => frame,
            Err(e) => {
                writeln!(out, "DAMAGED: {e}")?;
                return Ok(false);
            }
        };
        frames += 1;
        bytes += end.0 - start.0;
        for record in records(&body, start).filter_map(Result::ok) {
            *by_kind.entry(kind_of(&record)).or_default() += 1;
        }
        if !summary && shown_frames < wanted.limit && is_wanted(wanted, start, end, &body) {
            shown_frames += 1;
            tell(start, end, &body, out)?;
        }
    }
    writeln!(out, "{frames} mini-transactions, {bytes} bytes")?;
    for (kind, count) in by_kind {
        writeln!(out, "{count:>10} {kind}")?;
    }
    Ok(true)
}

fn is_wanted(wanted: &Wanted, start: Lsn, end: Lsn, body: &[u8]) -> bool {
    let touches = |id| {
        records(body, start)
            .filter_map(Result::ok)
            .any(|r| matches!(r, Record::Page { page, .. } if page == id))
    };
    end.0 > wanted.from && wanted.page.is_none_or(touches)
}

fn tell(start: Lsn, end: Lsn, body: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "LSN {start} to {end}")?;
    for record in records(body, start) {
        match record {
            Ok(Record::Logical { kind, bytes }) => {
                writeln!(out, "  logical record of kind {kind}: {}", shown(bytes))?;
            }
            Ok(Record::Page { page, op }) => match PageOp::decode(op) {
                Ok((op, _)) => writeln!(out, "  page {page}: {}", op_text(&op))?,
                Err(e) => writeln!(out, "  page {page}: {e}")?,
            },
            Err(e) => writeln!(out, "  {e}")?,
        }
    }
    Ok(())
}

fn op_text(op: &PageOp<'_>) -> String {
    match op {
        PageOp::Insert { slot, key, payload } => {
            format!("insert at {slot}: {} = {}", shown(key), shown(payload))
        }
        PageOp::Replace { slot, payload } => format!("replace {slot}: {}", shown(payload)),
        PageOp::Patch { slot, at, bytes } => format!("patch {slot} at {at}: {}", shown(bytes)),
        PageOp::Write { at, bytes } => format!("write at {at}: {}", shown(bytes)),
        PageOp::Image { .. } => "image".into(),
        PageOp::Append { entries, .. } => format!("append {} bytes of entries", entries.len()),
        PageOp::Init { kind, level, index_id, .. } => {
            format!("init as {kind:?}, level {level}, index {index_id}")
        }
        other => format!("{other:?}"),
    }
}

fn kind_of(record: &Record<'_>) -> &'static str {
    let Record::Page { op, .. } = record else { return "logical" };
    match PageOp::decode(op) {
        Ok((PageOp::Init { .. }, _)) => "init",
        Ok((PageOp::Insert { .. }, _)) => "insert",
        Ok((PageOp::Append { .. }, _)) => "append",
        Ok((PageOp::Remove { .. }, _)) => "remove",
        Ok((PageOp::Replace { .. }, _)) => "replace",
        Ok((PageOp::Patch { .. }, _)) => "patch",
        Ok((PageOp::Compact, _)) => "compact",
        Ok((PageOp::Truncate { .. }, _)) => "truncate",
        Ok((PageOp::Image { .. }, _)) => "image",
        Ok((PageOp::Write { .. }, _)) => "write",
        Ok(_) => "other",
        Err(_) => "unreadable",
    }
}
