//! Properties of the whole crate: what is written is read back, and no bytes make the parser panic.

mod hostile;
mod reemit;
mod round_trip;
mod spec;
