//! Undo segments as the undo file holds them.

use crate::Failure;
use crate::folder::{Folder, Soundness, as_page};
use crate::page_text::shown;
use base::{Error, PAGE_BYTES, PageId, UNDO_SPACE};
use host::AlignedBuf;
use std::io::Write;
use trx::{State, UndoReader};

/// One line for each segment that is not free, its records too when asked.
pub fn undo(folder: &Folder, records: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let space = folder.space(UNDO_SPACE)?;
    let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
    let mut read = |no| {
        let corrupt = |what| Error::corrupt(PageId::new(UNDO_SPACE, no), what);
        match space.read(no, &mut buf) {
            Ok(Soundness::Sound) => Ok(Box::new(*as_page(&buf))),
            Ok(Soundness::NeverWritten) => Err(corrupt("the page was never written")),
            Ok(Soundness::Damaged(_)) => Err(corrupt("the page is damaged")),
            Err(_) => Err(corrupt("the page cannot be read")),
        }
    };
    let mut reader = UndoReader::new(&mut read);
    let (mut free, mut sound) = (0u64, true);
    for found in reader.segments() {
        let segment = match found {
            Ok(segment) => segment,
            Err(e) => {
                sound = false;
                writeln!(out, "DAMAGED: {e}")?;
                continue;
            }
        };
        if segment.state == State::Free && segment.unpurged.is_none() {
            free += 1;
            continue;
        }
        writeln!(
            out,
            "rollback segment {} slot {}: transaction {}, {:?}, {} pages from page {}",
            segment.rseg, segment.slot, segment.trx, segment.state, segment.pages, segment.first
        )?;
        if records && segment.state != State::Free {
            sound &= tell_records(&mut reader, segment.last, out)?;
        }
        match reader.history(&segment) {
            Ok(history) => {
                for (trx, last) in history {
                    writeln!(out, " transaction {trx}, committed, not purged")?;
                    if records {
                        sound &= tell_records(&mut reader, last, out)?;
                    }
                }
            }
            Err(e) => {
                sound = false;
                writeln!(out, " DAMAGED: {e}")?;
            }
        }
    }
    writeln!(out, "{free} free segments")?;
    Ok(sound)
}

fn tell_records(
    reader: &mut UndoReader<'_>,
    last: trx::UndoPos,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let mut at = last;
    while !at.is_none() {
        let told = reader.record(at, &mut |record| {
            let purge = if record.purge { ", to be purged" } else { "" };
            format!(
                "  {:?} table {} key {} body {} bytes{purge}",
                record.kind,
                record.table,
                shown(record.key),
                record.body.len()
            )
        });
        match told {
            Ok((line, previous)) => {
                writeln!(out, "{line}")?;
                // Records are appended only: a chain that does not go back is damaged.
                if previous == at {
                    writeln!(out, "  DAMAGED: a record names itself as the one before it")?;
                    return Ok(false);
                }
                at = previous;
            }
            Err(e) => {
                writeln!(out, "  DAMAGED: {e}")?;
                return Ok(false);
            }
        }
    }
    Ok(true)
}
