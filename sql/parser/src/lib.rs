//! Text to syntax tree and digest; no catalog.
