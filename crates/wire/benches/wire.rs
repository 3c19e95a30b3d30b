//! Benchmarks of parsing and building packets.
fn main() {}
