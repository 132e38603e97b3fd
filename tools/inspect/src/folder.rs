//! The data folder of a stopped server, opened for reading.

use crate::Failure;
use base::{Error, PAGE_BYTES, PageBuf, PageId, PageNo, SpaceId};
use host::{AlignedBuf, Disk, File, OpenMode, RealDisk};
use std::path::Path;
use std::sync::Arc;

/// A locked data folder.
pub struct Folder {
    pub disk: Arc<dyn Disk>,
}

/// A tablespace's file.
pub struct SpaceFile {
    pub id: SpaceId,
    pub name: String,
    pub pages: u32,
    file: Arc<dyn File>,
}

/// What a page's checksum and address say.
#[derive(Debug)]
pub enum Soundness {
    Sound,
    /// Zeroes only.
    NeverWritten,
    Damaged(String),
}

impl Folder {
    /// Locks the folder; refuses one that is missing, in use or not Limpid's.
    pub fn open(path: &Path) -> Result<Folder, Failure> {
        // Opening for a server makes a missing folder; looking must not.
        if !path.is_dir() {
            return Err(Failure::Other(format!("{} is no folder", path.display())));
        }
        let disk = RealDisk::open(path).map_err(|e| Failure::Other(e.to_string()))?;
        let folder = Folder { disk };
        if !engine::has_instance(&*folder.disk)? {
            let what = format!("{} is no Limpid data folder", path.display());
            return Err(Failure::Other(what));
        }
        Ok(folder)
    }

    /// Names of all files.
    pub fn names(&self) -> Result<Vec<String>, Failure> {
        Ok(self.disk.list().map_err(|e| Error::io("list", "the data folder", e))?)
    }

    /// Every tablespace that has a file, by number.
    pub fn spaces(&self) -> Result<Vec<SpaceFile>, Failure> {
        let names = self.names()?;
        let mut ids: Vec<SpaceId> = names.iter().filter_map(|n| engine::space_of_name(n)).collect();
        ids.extend([base::SYSTEM_SPACE, base::UNDO_SPACE]);
        ids.sort_unstable();
        ids.into_iter().map(|id| self.space(id)).collect()
    }

    /// One tablespace's file.
    pub fn space(&self, id: SpaceId) -> Result<SpaceFile, Failure> {
        let name = engine::space_name(id);
        let io = |op| {
            let name = name.clone();
            move |e| Error::io(op, name, e)
        };
        let file = self.disk.open(&name, OpenMode::Read).map_err(io("open"))?;
        let bytes = file.len().map_err(io("measure"))?;
        let pages = u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
        Ok(SpaceFile { id, name, pages, file })
    }
}

impl SpaceFile {
    /// Reads a page into `buf` and checks its checksum and address.
    pub fn read(&self, page: PageNo, buf: &mut AlignedBuf) -> Result<Soundness, Failure> {
        if page.0 >= self.pages {
            let what = format!("{} has {} pages, no page {page}", self.name, self.pages);
            return Err(Failure::Other(what));
        }
        buf.clear();
        buf.resize(PAGE_BYTES);
        let at = u64::from(page.0) * PAGE_BYTES as u64;
        self.file.read_exact_at(buf, at).map_err(|e| Error::io("read", &*self.name, e))?;
        Ok(match page::header::verify(as_page(buf), PageId::new(self.id, page)) {
            Ok(true) => Soundness::Sound,
            Ok(false) => Soundness::NeverWritten,
            Err(e) => Soundness::Damaged(e.to_string()),
        })
    }
}

/// The bytes of a buffer that holds one page.
pub fn as_page(buf: &AlignedBuf) -> &PageBuf {
    buf[..].try_into().expect("`SpaceFile::read` makes it one page long")
}
