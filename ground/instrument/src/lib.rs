//! The write side of the Performance Schema: class registry, counter pages, flags.
