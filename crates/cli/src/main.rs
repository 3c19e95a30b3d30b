//! The `tresse` command.
fn main() {}
