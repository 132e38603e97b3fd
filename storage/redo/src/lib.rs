//! Redo log: ring, group commit, checkpoints, reader.
