//! Vocabulary: page, LSN, transaction and table ids, limits, storage error kinds, [`error_table!`] of the crates above.
//!
//! 1. Every id is a newtype: a page number never stands where a table id is meant.
//! 2. Nothing here does I/O or touches memory that other threads see.
//! 3. Numbers written to disk are little-endian and fixed once [`FORMAT_VERSION`] is released.

mod error;
mod error_table;
mod ids;

pub use error::{Error, Result};
pub use ids::{IndexId, Isolation, Lsn, PageId, PageNo, RollPtr, SpaceId, TableId, TrxId};

/// Size of every page, in memory and on disk, in bytes.
pub const PAGE_BYTES: usize = 16384;

/// One page's bytes.
pub type PageBuf = [u8; PAGE_BYTES];

/// Version of every file format of the storage engine; a newer one is refused.
pub const FORMAT_VERSION: u32 = 7;

/// The dictionary's tablespace.
pub const SYSTEM_SPACE: SpaceId = SpaceId(0);

/// The tablespace of rollback segments and undo pages.
pub const UNDO_SPACE: SpaceId = SpaceId(1);

/// The first id given to a table's own tablespace; those below are reserved.
pub const FIRST_USER_SPACE: SpaceId = SpaceId(16);
