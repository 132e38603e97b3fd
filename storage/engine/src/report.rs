//! What lists of locks and transactions ask of the engine.
//!
//! 1. Nothing here waits, and nothing is promised to be true any more when it is shown.

use crate::blob::Fetched;
use crate::engine::Engine;
use crate::row::{RowHeader, row_bytes};
use crate::table::{Table, split_entry};
use base::Result;

impl Engine {
    /// Puts the newest version of the row that an index's entry stands for into `out`; `false`: there is none,
    /// or it has another key by now. `index` as in [`crate::Client::scan`], `key` the whole key.
    ///
    /// # Errors
    /// Damage, failed reads.
    pub fn row_of_entry(
        &self,
        table: &Table,
        index: usize,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(tree) = table.tree(index) else { return Ok(false) };
        let mut payload = Vec::new();
        if !tree.get(key, &mut payload)? {
            return Ok(false);
        }
        if let Some(number) = index.checked_sub(1) {
            let (parts, row) = split_entry(key, &payload)?;
            let (parts, row) = (parts.to_vec(), row.to_vec());
            if !table.clustered.get(&row, &mut payload)? {
                return Ok(false);
            }
            let mut now = Vec::new();
            let secondary = &table.secondaries[number];
            let made = self.entry_prefix(table, secondary, row_bytes(&payload), &mut now)?;
            if !matches!(made, Fetched::Done) || now != parts {
                return Ok(false);
            }
        }
        RowHeader::read(&payload)?;
        out.clear();
        out.extend_from_slice(row_bytes(&payload));
        Ok(true)
    }
}
