//! One page in full: header, then what its kind holds.

use crate::Failure;
use crate::folder::{Folder, Soundness, as_page};
use crate::pages::summary;
use base::{PAGE_BYTES, PageBuf, PageId};
use host::AlignedBuf;
use page::{Node, PageKind, header};
use pool::spacefile;
use std::io::Write;

/// Bytes of a key or payload that are shown.
const SHOWN_MAX: usize = 48;

/// Describes a page; false when it is damaged.
pub fn page(folder: &Folder, id: PageId, hex: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
    let found = folder.space(id.space)?.read(id.page, &mut buf)?;
    let page = as_page(&buf);
    let sound = match found {
        Soundness::NeverWritten => {
            writeln!(out, "page {id} was never written")?;
            return Ok(true);
        }
        Soundness::Damaged(what) => {
            writeln!(out, "DAMAGED: {what}")?;
            false
        }
        Soundness::Sound => {
            writeln!(out, "page {id}: {}", summary(page))?;
            true
        }
    };
    if hex {
        dump(page, out)?;
        return Ok(sound);
    }
    match header::kind(page) {
        Some(PageKind::Leaf | PageKind::Inner) => node(page, out)?,
        Some(PageKind::SpaceHeader) if id.page.0 == 0 => space_header(page, out)?,
        _ => dump(page, out)?,
    }
    Ok(sound)
}

fn space_header(page: &PageBuf, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "format {}", header::read_u32(page, spacefile::FORMAT_AT))?;
    writeln!(out, "space {}", header::read_u32(page, spacefile::SPACE_ID_AT))?;
    writeln!(out, "auto_increment {}", header::read_u64(page, spacefile::AUTOINC_AT))?;
    Ok(())
}

fn node(page: &PageBuf, out: &mut dyn Write) -> Result<(), Failure> {
    let node = match Node::new(page) {
        Ok(node) => node,
        Err(e) => return Ok(writeln!(out, "{e}")?),
    };
    let high = node.high_fence().map_or("none".to_string(), shown);
    writeln!(out, "fences {} .. {high}", shown(node.low_fence()))?;
    writeln!(out, "prefix {}, max trx id {}", shown(node.prefix()), node.max_trx_id())?;
    let mut key = Vec::new();
    for slot in 0..node.count() {
        key.clear();
        let entry = node.copy_key(slot, &mut key).and_then(|()| node.payload(slot));
        match entry {
            Err(e) => writeln!(out, "{slot}\t{e}")?,
            Ok(payload) if node.is_leaf() => {
                writeln!(out, "{slot}\t{}\t{}", shown(&key), shown(payload))?;
            }
            Ok(_) => match node.child(slot) {
                Ok(child) => writeln!(out, "{slot}\t{}\t-> page {child}", shown(&key))?,
                Err(e) => writeln!(out, "{slot}\t{}\t{e}", shown(&key))?,
            },
        }
    }
    Ok(())
}

/// Bytes in hexadecimal, long ones cut.
pub fn shown(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".into();
    }
    let mut text: String = bytes.iter().take(SHOWN_MAX).map(|b| format!("{b:02x}")).collect();
    if bytes.len() > SHOWN_MAX {
        text.push_str(&format!("... ({} bytes)", bytes.len()));
    }
    text
}

/// Sixteen bytes a line; runs of equal lines are told once.
fn dump(page: &PageBuf, out: &mut dyn Write) -> Result<(), Failure> {
    let mut last: Option<&[u8]> = None;
    let mut skipping = false;
    for (i, line) in page.chunks(16).enumerate() {
        if last == Some(line) {
            if !skipping {
                writeln!(out, "*")?;
            }
            skipping = true;
            continue;
        }
        (last, skipping) = (Some(line), false);
        let hex: String = line.iter().map(|b| format!("{b:02x} ")).collect();
        let text: String =
            line.iter().map(|&b| if b.is_ascii_graphic() { b as char } else { '.' }).collect();
        writeln!(out, "{:05x}  {hex} {text}", i * 16)?;
    }
    Ok(())
}
