//! Small missing batteries: shared/local atomics, byte cursor, seeded random.
