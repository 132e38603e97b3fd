//! The bits of `sql_mode` that change how text is read.

/// A set of `sql_mode` bits; only those that reach the lexer or the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SqlMode(u8);

impl SqlMode {
    /// No bit set: MySQL's default mode as far as the parser can tell.
    pub const DEFAULT: SqlMode = SqlMode(0);
    /// `"x"` is an identifier, not a string.
    pub const ANSI_QUOTES: SqlMode = SqlMode(1);
    /// A backslash in a string is a plain character.
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(2);
    /// `||` concatenates strings.
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(4);
    /// NOT binds as tightly as `!`.
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(8);
    /// Spaces may stand between a built-in function's name and its parenthesis.
    pub const IGNORE_SPACE: SqlMode = SqlMode(16);
    /// The text was converted from latin1 to UTF-8: the bytes behind an introducer were others.
    pub const FROM_LATIN1: SqlMode = SqlMode(32);
    /// REAL is FLOAT, not DOUBLE.
    pub const REAL_AS_FLOAT: SqlMode = SqlMode(64);

    /// Of the bits that `sql_mode` is made of.
    pub const fn of_bits(sql_mode: u64) -> SqlMode {
        const BITS: [(u64, SqlMode); 6] = [
            (1 << 0, SqlMode::REAL_AS_FLOAT),
            (1 << 1, SqlMode::PIPES_AS_CONCAT),
            (1 << 2, SqlMode::ANSI_QUOTES),
            (1 << 3, SqlMode::IGNORE_SPACE),
            (1 << 20, SqlMode::NO_BACKSLASH_ESCAPES),
            (1 << 29, SqlMode::HIGH_NOT_PRECEDENCE),
        ];
        let mut mode = SqlMode::DEFAULT;
        let mut at = 0;
        while at < BITS.len() {
            if sql_mode & BITS[at].0 != 0 {
                mode = mode.with(BITS[at].1);
            }
            at += 1;
        }
        mode
    }

    /// Both sets together.
    pub const fn with(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }

    /// Every bit of `other` is set.
    pub const fn has(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits, for use in a cache key.
    pub const fn bits(self) -> u8 {
        self.0
    }
}
