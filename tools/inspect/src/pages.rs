//! Lists: the files of the folder, the pages of a tablespace.

use crate::Failure;
use crate::folder::{Folder, Soundness, as_page};
use base::{PAGE_BYTES, PageBuf, PageNo, SpaceId};
use host::{AlignedBuf, OpenMode};
use page::PageKind;
use page::header;
use std::io::Write;

/// One line for each file.
pub fn files(folder: &Folder, out: &mut dyn Write) -> Result<bool, Failure> {
    for name in folder.names()? {
        let space = match name.as_str() {
            n if n == engine::space_name(base::SYSTEM_SPACE) => Some(base::SYSTEM_SPACE),
            n if n == engine::space_name(base::UNDO_SPACE) => Some(base::UNDO_SPACE),
            n => engine::space_of_name(n),
        };
        match space {
            Some(id) => {
                let space = folder.space(id)?;
                writeln!(out, "{name}\ttablespace {id}, {} pages", space.pages)?;
            }
            None => {
                let file = folder.disk.open(&name, OpenMode::Read);
                match file.and_then(|f| f.len()) {
                    Ok(bytes) => writeln!(out, "{name}\t{bytes} bytes")?,
                    Err(e) => writeln!(out, "{name}\tcannot be read: {e}")?,
                }
            }
        }
    }
    let (log, _) = crate::redo_text::open_log(folder)?;
    writeln!(
        out,
        "checkpoint at LSN {}, redo capacity {}",
        log.checkpoint_lsn(),
        log.capacity_bytes()
    )?;
    Ok(true)
}

/// One line for each page of a tablespace, runs of pages that were never written as one.
pub fn pages(folder: &Folder, id: SpaceId, out: &mut dyn Write) -> Result<bool, Failure> {
    let space = folder.space(id)?;
    let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
    let (mut sound, mut unwritten) = (true, 0u32);
    for no in 0..space.pages {
        let found = space.read(PageNo(no), &mut buf)?;
        if matches!(found, Soundness::NeverWritten) {
            unwritten += 1;
            continue;
        }
        tell_unwritten(out, no, &mut unwritten)?;
        match found {
            Soundness::Damaged(what) => {
                sound = false;
                writeln!(out, "{no}\tDAMAGED: {what}")?;
            }
            _ => writeln!(out, "{no}\t{}", summary(as_page(&buf)))?,
        }
    }
    tell_unwritten(out, space.pages, &mut unwritten)?;
    Ok(sound)
}

fn tell_unwritten(out: &mut dyn Write, before: u32, count: &mut u32) -> Result<(), Failure> {
    match std::mem::take(count) {
        0 => {}
        1 => writeln!(out, "{}\tnever written", before - 1)?,
        n => writeln!(out, "{}-{}\tnever written", before - n, before - 1)?,
    }
    Ok(())
}

/// What a sound page is, in a line.
pub fn summary(page: &PageBuf) -> String {
    let lsn = header::lsn(page);
    let Some(kind) = header::kind(page) else {
        return format!("unknown kind {}, LSN {lsn}", page[12]);
    };
    match kind {
        PageKind::Leaf | PageKind::Inner => match page::Node::new(page) {
            Ok(node) => format!(
                "{} of index {}, level {}, {} entries, {} bytes free, LSN {lsn}",
                if node.is_leaf() { "leaf" } else { "inner node" },
                node.index_id(),
                node.level(),
                node.count(),
                node.free_bytes(),
            ),
            Err(e) => format!("{kind:?}, but {e}"),
        },
        _ => format!("{kind:?}, LSN {lsn}"),
    }
}
