//! `cargo xtask bench point-select --peer DSN`: Limpid beside a peer, interleaved, as ratios.

/// Runs the named benchmark.
pub fn run(_arguments: &[String]) -> Result<(), String> {
    Err("usage: cargo xtask bench point-select --peer DSN".into())
}
