//! What MySQL says about each collation: number, name, character set, padding, `Sortlen`.

use super::Collation;
use crate::charset::Charset;

/// A row of SHOW COLLATION.
pub(super) struct Info {
    pub(super) id: u16,
    pub(super) name: &'static str,
    pub(super) charset: Charset,
    pub(super) pads_space: bool,
    pub(super) sort_len: u8,
}

const fn info(
    id: u16,
    name: &'static str,
    charset: Charset,
    pads_space: bool,
    sort_len: u8,
) -> Info {
    Info { id, name, charset, pads_space, sort_len }
}

/// By discriminant: the order of [`Collation`], which is that of the names.
static INFO: [Info; Collation::COUNT] = {
    use Charset::{Ascii, Binary, Latin1, Utf8mb3, Utf8mb4};
    [
        info(65, "ascii_bin", Ascii, true, 1),
        info(11, "ascii_general_ci", Ascii, true, 1),
        info(63, "binary", Binary, false, 1),
        info(47, "latin1_bin", Latin1, true, 1),
        info(48, "latin1_general_ci", Latin1, true, 1),
        info(49, "latin1_general_cs", Latin1, true, 1),
        info(5, "latin1_german1_ci", Latin1, true, 1),
        info(8, "latin1_swedish_ci", Latin1, true, 1),
        info(83, "utf8mb3_bin", Utf8mb3, true, 1),
        info(33, "utf8mb3_general_ci", Utf8mb3, true, 1),
        info(214, "utf8mb3_unicode_520_ci", Utf8mb3, true, 8),
        info(192, "utf8mb3_unicode_ci", Utf8mb3, true, 8),
        info(255, "utf8mb4_0900_ai_ci", Utf8mb4, false, 0),
        info(305, "utf8mb4_0900_as_ci", Utf8mb4, false, 0),
        info(278, "utf8mb4_0900_as_cs", Utf8mb4, false, 0),
        info(309, "utf8mb4_0900_bin", Utf8mb4, false, 1),
        info(46, "utf8mb4_bin", Utf8mb4, true, 1),
        info(45, "utf8mb4_general_ci", Utf8mb4, true, 1),
        info(246, "utf8mb4_unicode_520_ci", Utf8mb4, true, 8),
        info(224, "utf8mb4_unicode_ci", Utf8mb4, true, 8),
    ]
};

impl Collation {
    #[inline]
    pub(super) const fn info(self) -> &'static Info {
        &INFO[self as usize]
    }
}
