//! Page and record layouts as typed views over bytes; no I/O.
