//! Recovery after a kill: time to the first query and to the end, and how it grows with the redo; the lab's experiment.
//!
//! Gates: 1 GB of redo answers its first query in under 2 s; redo is applied at 0.2 GB/s or more; four times the redo takes at most
//! 4.5 times as long.

use super::{Settings, lab};

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let folder = lab::run("recovery", &[format!("--rounds={}", settings.rounds)])?;
    lab::tell(&folder, "")
}
