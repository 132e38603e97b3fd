//! Tests of the simulated disk itself: each fault can happen, and what must not happen does not.
