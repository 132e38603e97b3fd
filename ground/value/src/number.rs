//! Reading numbers out of text, as MySQL converts strings.
