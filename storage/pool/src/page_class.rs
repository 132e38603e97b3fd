//! Latch classes of pages, by what is on them: only at synch level does anybody ask.
//!
//! A page that is none of these keeps the class of its word, and so do waits of readers without a latch.

use page::PageKind;
use sync::PageWord;

instrument::classes! {
    static LEAF: RwLockClass = "wait/synch/sxlock/innodb/index_leaf_latch";
    static INNER: RwLockClass = "wait/synch/sxlock/innodb/index_inner_latch";
    static UNDO: RwLockClass = "wait/synch/sxlock/innodb/undo_page_latch";
    static SPACE: RwLockClass = "wait/synch/sxlock/innodb/space_page_latch";
    static BLOB: RwLockClass = "wait/synch/sxlock/innodb/blob_page_latch";
}

/// Tells the hold of `word` by this thread what kind of page it is of.
#[cold]
pub(crate) fn tell(word: &PageWord, kind: Option<PageKind>) {
    let class = match kind {
        Some(PageKind::Leaf) => &LEAF,
        Some(PageKind::Inner) => &INNER,
        Some(PageKind::Undo | PageKind::RollbackSegment) => &UNDO,
        Some(PageKind::SpaceHeader | PageKind::ExtentMap) => &SPACE,
        Some(PageKind::Blob) => &BLOB,
        Some(PageKind::Free | PageKind::Raw) | None => return,
    };
    word.hold_is_of(class);
}
