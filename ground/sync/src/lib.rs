//! Instrumented blocking primitives, slots and asymmetric publication.
