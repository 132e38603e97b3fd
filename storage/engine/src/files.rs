//! Names of the engine's files, and the file that says that the folder is an engine's.
//!
//! 1. The format file is written last when an instance is made, by a rename: without it there is no
//!    instance, and what lies around of ours is left from a creation that a crash cut off. Guard:
//!    `a_creation_that_a_crash_cuts_off_is_begun_anew`.

use base::{Error, FORMAT_VERSION, Result, SYSTEM_SPACE, SpaceId, UNDO_SPACE};
use host::{AlignedBuf, Disk, OpenMode};

const FORMAT_NAME: &str = "limpid.format";
const FORMAT_TEMPORARY: &str = "limpid.format.new";
const FORMAT_BYTES: usize = 4096;
const MAGIC: &str = "limpid data folder, format ";
const SPACE_PREFIX: &str = "space_";
const SPACE_SUFFIX: &str = ".lim";
const SYSTEM_NAME: &str = "system.lim";
const UNDO_NAME: &str = "undo.lim";

/// The first id of spaces other than the engine's own.
pub(crate) const FIRST_USER_SPACE: SpaceId = SpaceId(16);

/// The file of a tablespace.
pub fn space_name(id: SpaceId) -> String {
    match id {
        SYSTEM_SPACE => SYSTEM_NAME.into(),
        UNDO_SPACE => UNDO_NAME.into(),
        SpaceId(n) => format!("{SPACE_PREFIX}{n:08}{SPACE_SUFFIX}"),
    }
}

/// The user tablespace that a file name stands for.
pub fn space_of_name(name: &str) -> Option<SpaceId> {
    let digits = name.strip_prefix(SPACE_PREFIX)?.strip_suffix(SPACE_SUFFIX)?;
    let id = SpaceId(digits.parse().ok()?);
    (id >= FIRST_USER_SPACE && space_name(id) == name).then_some(id)
}

/// Whether the folder holds an instance. Errors: [`Error::Foreign`] when it holds something else.
pub fn has_instance(disk: &dyn Disk) -> Result<bool> {
    if !disk.exists(FORMAT_NAME).map_err(|e| Error::io("look for", FORMAT_NAME, e))? {
        return Ok(false);
    }
    let io = |op| move |e| Error::io(op, FORMAT_NAME, e);
    let file = disk.open(FORMAT_NAME, OpenMode::Read).map_err(io("open"))?;
    let mut block = AlignedBuf::zeroed(FORMAT_BYTES);
    let got = file.read_at(&mut block, 0).map_err(io("read"))?;
    let text = std::str::from_utf8(&block[..got]).unwrap_or("");
    let version = text.strip_prefix(MAGIC).and_then(|rest| rest.lines().next());
    let Some(version) = version.and_then(|v| v.trim().parse::<u32>().ok()) else {
        let what = "this is not a Limpid data folder's format file".into();
        return Err(Error::Foreign { path: FORMAT_NAME.into(), what });
    };
    if version != FORMAT_VERSION {
        let age = if version > FORMAT_VERSION { "newer" } else { "older" };
        let what = format!(
            "format {version} of the data is {age} than format {FORMAT_VERSION}, which this server reads"
        );
        return Err(Error::Foreign { path: FORMAT_NAME.into(), what });
    }
    Ok(true)
}

/// Says that the folder holds a whole instance from now on.
pub(crate) fn write_format(disk: &dyn Disk) -> Result<()> {
    let io = |op| move |e| Error::io(op, FORMAT_TEMPORARY, e);
    let file = disk.open(FORMAT_TEMPORARY, OpenMode::Create).map_err(io("create"))?;
    let mut block = AlignedBuf::zeroed(FORMAT_BYTES);
    let text = format!("{MAGIC}{FORMAT_VERSION}\n");
    block[..text.len()].copy_from_slice(text.as_bytes());
    file.write_at(&block, 0).map_err(io("write"))?;
    file.sync_data().map_err(io("fdatasync"))?;
    disk.rename(FORMAT_TEMPORARY, FORMAT_NAME).map_err(io("rename"))?;
    disk.sync_dir().map_err(|e| Error::io("sync", "the data folder", e))
}

/// Removes what a creation that was cut off has left; refuses a folder with somebody else's files.
pub(crate) fn clear_leftovers(disk: &dyn Disk) -> Result<()> {
    let names = disk.list().map_err(|e| Error::io("list", "the data folder", e))?;
    if let Some(name) = names.iter().find(|n| !is_ours(n) && !is_beside(n)) {
        let what = "the data folder is not empty and no Limpid instance".into();
        return Err(Error::Foreign { path: name.clone(), what });
    }
    for name in names.iter().filter(|n| is_ours(n)) {
        disk.remove(name).map_err(|e| Error::io("remove", name, e))?;
    }
    disk.sync_dir().map_err(|e| Error::io("sync", "the data folder", e))
}

/// The first of a folder's names (not those inside its folders) that shows that it belongs to
/// something else: for a check before anything is written there.
pub fn foreign_name(names: &[String]) -> Option<&String> {
    if names.iter().any(|n| n == FORMAT_NAME) {
        return None;
    }
    names.iter().find(|n| *n != "redo" && !is_ours(n) && !is_beside(n))
}

fn is_ours(name: &str) -> bool {
    matches!(name, FORMAT_TEMPORARY | SYSTEM_NAME | UNDO_NAME)
        || name.starts_with("redo/")
        || name.starts_with("doublewrite")
        || space_of_name(name).is_some()
}

/// What a server may keep in its data folder beside the engine.
fn is_beside(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, e)| e);
    name.starts_with('.')
        || name.starts_with("limpid")
        || name.starts_with("lost+found")
        || matches!(extension, "pid" | "err" | "log" | "sock" | "lock" | "cnf" | "json" | "pem")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_belong_together() {
        assert_eq!(space_of_name(&space_name(SpaceId(16))), Some(SpaceId(16)));
        assert_eq!(space_of_name(&space_name(SpaceId(u32::MAX))), Some(SpaceId(u32::MAX)));
        for name in ["system.lim", "space_1.lim", "space_00000001.lim", "space_x.lim"] {
            assert_eq!(space_of_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_foreign_folder_and_a_newer_format_are_refused() {
        let disk = host::SimDisk::new(1);
        write_format(&*disk).unwrap();
        assert!(has_instance(&*disk).unwrap());
        disk.open("ibdata1", OpenMode::Create).unwrap();
        assert!(matches!(clear_leftovers(&*disk), Err(Error::Foreign { .. })));
        let names = ["redo", "limpid.log", "ibdata1"].map(String::from);
        assert_eq!(foreign_name(&names), Some(&names[2]));
        assert_eq!(foreign_name(&names[..2]), None);
        let file = disk.open(FORMAT_NAME, OpenMode::ReadWrite).unwrap();
        let mut block = AlignedBuf::zeroed(FORMAT_BYTES);
        let text = format!("{MAGIC}{}\n", FORMAT_VERSION + 1);
        block[..text.len()].copy_from_slice(text.as_bytes());
        file.write_at(&block, 0).unwrap();
        assert!(matches!(has_instance(&*disk), Err(Error::Foreign { .. })));
    }
}
