//! The outside world: files, clock and threads, real and simulated.
