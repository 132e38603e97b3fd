//! Project chores: tidy, test, bench, soak.
fn main() {}
