//! Metadata locks by name, granted in session slots.
