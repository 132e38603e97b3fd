//! Character sets and collations.

use super::{Rows, cells};
use catalog::ReadContext;
use value::{Collation, charset};

pub(super) fn character_sets(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for set in charset::all() {
        let width = u64::from(set.bytes_per_char_max());
        let default = set.default_collation().name();
        rows.push(&cells![set.name(), default, set.description(), width]);
    }
}

pub(super) fn collations(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for collation in Collation::all() {
        rows.push(&cells![
            collation.name(),
            collation.charset().name(),
            u64::from(collation.id()),
            if collation.is_default() { "Yes" } else { "" },
            "Yes",
            u64::from(collation.sort_len()),
            if collation.pads_space() { "PAD SPACE" } else { "NO PAD" },
        ]);
    }
}

pub(super) fn applicability(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for collation in Collation::all() {
        rows.push(&cells![collation.name(), collation.charset().name()]);
    }
}
