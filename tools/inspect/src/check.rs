//! Reads every page of every tablespace.
//!
//! 1. A page of a free extent is not damaged, whatever it holds: a crash may have left it half given back to
//!    the file system.

use crate::Failure;
use crate::folder::{Folder, Soundness, SpaceFile, as_page};
use base::{Error, PAGE_BYTES, PageBuf, PageId, PageNo};
use host::AlignedBuf;
use page::{Node, PageKind, header};
use pool::spacefile::EXTENT_PAGES;
use std::io::Write;

/// A line for each damaged page, then one for each tablespace; false when any is damaged.
pub fn check(folder: &Folder, out: &mut dyn Write) -> Result<bool, Failure> {
    let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
    let mut sound = true;
    for space in folder.spaces()? {
        let (mut written, mut damaged) = (0u32, 0u32);
        let report = report(&space, &mut buf)?;
        let free = report.as_ref().map_or(&[][..], |r| &r.free);
        for no in 0..space.pages {
            let problem = match space.read(PageNo(no), &mut buf)? {
                Soundness::NeverWritten => continue,
                Soundness::Damaged(_) if free.binary_search(&(no / EXTENT_PAGES)).is_ok() => {
                    continue;
                }
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
        extents(&space, report, out)?;
        writeln!(out, "{}: {written} pages, {damaged} damaged", space.name)?;
    }
    Ok(sound)
}

/// What describes the extents; an error of it is told in its place.
fn report(
    space: &SpaceFile,
    buf: &mut AlignedBuf,
) -> Result<Result<space::SpaceReport, Error>, Failure> {
    let mut failed = None;
    let report = space::report_file(space.id, space.pages, |page, into| {
        let bad = |what| Err(Error::corrupt(PageId::new(space.id, page), what));
        match space.read(page, buf) {
            Ok(Soundness::Sound) => into.copy_from_slice(buf),
            Ok(Soundness::NeverWritten) => return bad("a page of descriptions was never written"),
            Ok(Soundness::Damaged(_)) => return bad("a page of descriptions is damaged"),
            Err(e) => {
                failed = Some(e);
                return Err(Error::Shutdown);
            }
        }
        Ok(())
    });
    match failed {
        Some(failure) => Err(failure),
        None => Ok(report),
    }
}

/// A line for each segment and each contradiction of what describes the extents. Those are no damage:
/// pages of different age, which a crash leaves, contradict each other until recovery has run.
fn extents(
    space: &SpaceFile,
    report: Result<space::SpaceReport, Error>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let report = match report {
        Ok(report) => report,
        Err(e) => {
            return Ok(writeln!(out, "{}: {e}", space.name)?);
        }
    };
    for problem in &report.problems {
        writeln!(out, "{} page {}: {}", space.name, problem.page.page, problem.what)?;
    }
    let r = &report;
    writeln!(
        out,
        "{}: {} extents ({} free, {} shared), {} pages in use, {} unused",
        space.name, r.extents, r.extents_free, r.extents_shared, r.pages_used, r.pages_free
    )?;
    for s in &report.segments {
        writeln!(
            out,
            "{}: index {} {:?}: {} extents and {} pages of shared ones, {} in use, {} unused",
            space.name,
            s.segment.index,
            s.segment.kind,
            s.extents,
            s.fragments,
            s.pages_used,
            s.pages_free
        )?;
    }
    Ok(())
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
