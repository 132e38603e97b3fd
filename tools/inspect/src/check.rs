//! Reads every page of every tablespace.

use crate::Failure;
use crate::folder::{Folder, Soundness, as_page};
use base::{PAGE_BYTES, PageBuf, PageNo};
use host::AlignedBuf;
use page::{Node, PageKind, header};
use std::io::Write;

/// A line for each damaged page, then one for each tablespace; false when any is damaged.
pub fn check(folder: &Folder, out: &mut dyn Write) -> Result<bool, Failure> {
    let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
    let mut sound = true;
    for space in folder.spaces()? {
        let (mut written, mut damaged) = (0u32, 0u32);
        for no in 0..space.pages {
            let problem = match space.read(PageNo(no), &mut buf)? {
                Soundness::NeverWritten => continue,
                Soundness::Damaged(what) => Some(what),
                Soundness::Sound => inside(as_page(&buf)),
            };
            written += 1;
            if let Some(what) = problem {
                damaged += 1;
                writeln!(out, "{} page {no}: {what}", space.name)?;
            }
        }
        sound &= damaged == 0;
        writeln!(out, "{}: {written} pages, {damaged} damaged", space.name)?;
    }
    Ok(sound)
}

/// What is wrong inside a page whose checksum is right.
fn inside(page: &PageBuf) -> Option<String> {
    if !matches!(header::kind(page)?, PageKind::Leaf | PageKind::Inner) {
        return None;
    }
    let node = match Node::new(page) {
        Ok(node) => node,
        Err(e) => return Some(e.to_string()),
    };
    let (mut key, mut before) = (Vec::new(), None::<Vec<u8>>);
    for slot in 0..node.count() {
        key.clear();
        if let Err(e) = node.copy_key(slot, &mut key).and_then(|()| node.payload(slot).map(drop)) {
            return Some(e.to_string());
        }
        if !node.covers(&key) {
            return Some(format!("entry {slot} lies outside the fences"));
        }
        if before.as_ref().is_some_and(|b| *b >= key) {
            return Some(format!("entry {slot} is out of order"));
        }
        before = Some(key.clone());
    }
    None
}
